#!/bin/sh
# upconv bench: numbers that make sense, a baseline, peers. On a busy machine, so no speed is asked
# for here but such as no machine can have.
. "$(dirname "$0")/common.sh"
json=$BUILD/tests/cli/json-tool
small="--shape 1x4x8x8x8 --repetitions 2 --threads 1"
slug=conv-transpose3d-layernorm-gelu-scaling

# ---- The table, and the JSON behind it
# shellcheck disable=SC2086 # words
upconv 0 bench $slug conv-transpose3d-max-max-sum $small --check
says "min ms"
says "GFLOP/s"
says "FMA peak"
[ "$(grep -c PASS out)" = 2 ] || fail "two operators, two marks"
# shellcheck disable=SC2086 # words
upconv 0 bench $slug "f64 2x4x16, conv_transpose 3 kernel 4 stride 2" $small --json --save kept.json
cmp -s out kept.json || fail "--save and --json differ"
for i in 0 1; do
    for key in operator chain dtype flops bytes min_ms median_ms repetitions gflops peak_percent \
        bandwidth_percent limit_ms peers.#; do
        "$json" out results.$i.$key >>values || fail "no results.$i.$key"
    done
done
"$json" out kind version date machine.cpu machine.isa machine.threads machine.cores \
    machine.caches.l2_bytes machine.peak_gflops machine.read_gbs machine.write_gbs settings.batch \
    settings.threads settings.dtype >values || fail "the JSON lacks something"
[ "$("$json" out results.#)" = 2 ] || fail "two results"
[ "$("$json" out results.0.operator results.1.operator results.1.dtype results.0.repetitions |
    tr '\n' ' ')" = "$slug null f64 4 " ] || fail "the results' values"
"$json" out date | grep -Eqx '20[0-9-]{8}T[0-9:]{8}Z' || fail "the date"
# gflops = flops / time, percentages from the same numbers, minimum <= median
"$json" out results.0.flops results.0.min_ms results.0.gflops machine.peak_gflops \
    results.0.peak_percent results.0.median_ms results.0.limit_ms | tr '\n' ' ' | awk '{
    g = $1 / $2 * 1e-6
    if (g / $3 > 1.001 || g / $3 < 0.999 || $3 / $4 * 100 / $5 > 1.001 || $6 < $2 || $7 <= 0)
        exit 1 }' || fail "the numbers contradict each other"

# Other types.
for dtype in f64 f16 bf16; do
    # shellcheck disable=SC2086 # words
    upconv 0 bench $slug $small --dtype $dtype --check
    says PASS
done

# ---- A baseline
# shellcheck disable=SC2086 # words
{
    upconv 0 bench $slug $small -o before.json
    upconv 0 bench $slug $small --against before.json --tolerance 99
    says "then"
    says "slower: by more than 99 %"
    # One that was much nearer to its machine's limit.
    sed 's/"min_ms":.*/"min_ms": 1e-9,/' before.json >fast.json
    upconv 1 bench $slug $small --against fast.json
    says SLOWER
    upconv 1 bench $slug $small --against fast.json --json
    "$json" out results.0.change_percent | grep -q '^-99' || fail "the change in JSON"
    # And one that was much slower, on another number of threads.
    sed 's/"min_ms":.*/"min_ms": 1e9,/; s/"threads":.*/"threads": 64,/' before.json >slow.json
    upconv 0 bench $slug $small --against slow.json
    says "ok"
    complains "on 64 threads"
    upconv 0 bench $slug "f32 1x2x8, conv_transpose 3 kernel 2" $small --against slow.json
    says "not in slow.json"
    upconv 2 bench $slug $small --dtype f64 --against before.json
    complains "nothing in common"
    upconv 2 bench $slug $small --against missing.json
    complains "missing.json: No such file"
    echo '{"kind": "judge"}' >other.json
    upconv 2 bench $slug $small --against other.json
    complains "no results of 'upconv bench'"
    echo 'not json' >other.json
    upconv 2 bench $slug $small --against other.json
    complains "not JSON"
    upconv 2 bench $slug $small --save no/such/folder.json
    complains "no/such/folder.json"
}

# ---- Peers: programs that speak the protocol
cat >peer.sh <<'P'
echo "$1 $2"
while read -r slug parameters; do
    case $parameters in *"in_channels=4 "*"kernel=4 "*) echo 0.000125 ;; *) echo "failed: $slug" ;; esac
done
P
# shellcheck disable=SC2086 # words
{
    upconv 0 bench $slug $small --peer "sh peer.sh whole 'Slow 1.0'" --peer "sh peer.sh bare Fast" \
        --json
    [ "$("$json" out results.0.peers.0.name results.0.peers.0.whole results.0.peers.1.whole \
        results.0.peers.0.min_ms | tr '\n' ' ')" = "Slow 1.0 true false 0.125 " ] ||
        fail "the peers in JSON"
    upconv 0 bench $slug $small --peer "sh peer.sh bare Fast"
    says "Fast                      bare"
    says "0.12"
    upconv 0 bench conv-transpose3d-max-max-sum $small --peer "sh peer.sh bare Fast"
    complains "Fast: failed: conv-transpose3d-max-max-sum"
    upconv 0 bench $slug $small --peer "exit 3"
    complains "without the peer 'exit 3'"
    upconv 0 bench $slug $small --dtype f64 --peer "sh peer.sh bare Fast"
    complains "peers do f32 operators"
    # Away from the build folder no peers are found, and that is no error.
    cp "$UPCONV" ./upconv
    ./upconv bench $slug $small --peers >out 2>err || fail "--peers without peers"
    complains "no peers found. 'make peers'"
}

# An interruption leaves no peer behind.
"$UPCONV" bench $slug --repetitions 1000 --threads 1 \
    --peer "echo \$\$ >pid; echo bare Sleeper; exec sleep 300" >out 2>err &
pid=$!
eventually "the peer did not start" test -s pid
sleep 0.5
kill -TERM $pid
wait $pid || :
# (One that nobody has waited for is a number with a Z, and no process any more.)
peer_is_gone() {
    state=$(sed 's/.*) //; s/ .*//' "/proc/$(cat pid)/stat" 2>/dev/null || echo gone)
    case $state in gone | Z) ;; *) false ;; esac
}
eventually "the peer is still there" peer_is_gone

# ---- Wrong calls
upconv 2 bench no-such-operator
complains "there is no operator"
upconv 2 bench --repetitions 0
complains "--repetitions is 1 to"
upconv 2 bench --batch 0
complains "--batch must be at least 1"
upconv 2 bench --tolerance 100
complains "--tolerance"
upconv 2 bench --batch 100000
complains "try a smaller --batch"
upconv 2 bench "f32 0x2x8, conv_transpose 3 kernel 2"
complains "nothing to measure"
