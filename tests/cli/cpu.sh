#!/bin/sh
# upconv cpu: this machine, measured.
. "$(dirname "$0")/common.sh"
json=$BUILD/tests/cli/json-tool

upconv 0 cpu --threads 1
for part in CPU instructions "L1 data cache" cores threads "FMA peak" memory portable; do
    says "$part"
done
upconv 0 cpu --json --threads 1
"$json" out machine.cpu machine.isa machine.threads machine.cores machine.caches.l1d_bytes \
    machine.caches.l2_bytes machine.caches.l3_bytes machine.peak_gflops machine.peak_f64_gflops \
    machine.read_gbs machine.write_gbs machine.instruction_sets.0 date >values ||
    fail "the JSON lacks something"
[ "$("$json" out machine.threads)" = 1 ] || fail "the threads"
[ "$("$json" out machine.instruction_sets.0)" = portable ] || fail "every machine has portable"
"$json" out machine.peak_gflops machine.peak_f64_gflops machine.read_gbs machine.write_gbs |
    awk '!($1 > 0.01 && $1 < 1e6) { exit 1 }' || fail "no such machine"

# What it says the library can use, it can; and nothing else.
for isa in portable avx2 avx512; do
    code=2
    ! grep '"instruction_sets"' out | grep -q "\"$isa\"" || code=0
    cp out cpu
    upconv $code plan conv-transpose3d-max-max-sum --batch 1 --isa $isa
    mv cpu out
done
upconv 2 cpu now
complains "one argument too many"
