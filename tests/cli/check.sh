#!/bin/sh
# upconv check: our own implementation is right, and one that is not is found out.
. "$(dirname "$0")/common.sh"
json=$BUILD/tests/cli/json-tool
slug=conv-transpose3d-sum-layernorm-avgpool-gelu
count=3
[ -z "${SANITIZE:-}" ] || count=0 # seconds become minutes

if [ -z "${SANITIZE:-}" ]; then
    upconv 0 check all --count $count --seed 1
    says "seed 1"
    cases=$(grep -c '^PASS ' out)
    [ "$cases" -ge 500 ] || fail "only $cases cases"
    says "$cases cases, 0 wrong"
    for name in signed parity random-3 non-finite; do
        says " $name"
    done
    for dtype in f32 f64 f16 bf16; do
        says " $dtype "
    done
fi

# One shape, every family; one family; one case; fewer threads; another instruction set.
upconv 0 check $slug --seed 1 --shape "2x3x4x5x6 out_channels=5 kernel=3x2x4 stride=2x1x3 padding=0 \
output_padding=0" --seed 2
[ "$(grep -c '^PASS' out)" -ge 32 ] || fail "every family in every type"
upconv 0 check $slug --seed 1 --shape "1x3x4x4x4 out_channels=5" --family large --dtype f16 --threads 1 \
    --isa portable
[ "$(grep -c '^PASS' out)" = 1 ] || fail "one family, one type"
upconv 0 check $slug --seed 1 --case channels-3 --dtype f32 --algorithm winograd --json
[ "$("$json" out cases skipped | tr '\n' ' ')" = "1 0 " ] || fail "winograd can't be used"
upconv 0 check $slug --dtype f32 --seed 4 --algorithm winograd
grep -q '^[0-9]* cases, 0 wrong, [0-9]* skipped$' out || fail "not every shape goes by winograd"
grep -q '^SKIP .*winograd' out || fail "no reason why"
upconv 0 check $slug --seed 1 --case tiny --count 0 --dtype f32 --json
[ "$("$json" out kind cases failed results.# results.0.name results.0.pass | tr '\n' ' ')" = \
    "check 1 0 1 tiny true " ] || fail "the JSON's values"
"$json" out seed results.0.error results.0.allowed results.0.shape results.0.reproduce \
    results.0.family results.0.dtype results.0.elements >values || fail "the JSON lacks something"

# A seed is the whole of it.
upconv 0 check $slug --case signed --count 2 --dtype f32 --seed 77
cp out first
upconv 0 check $slug --case signed --count 2 --dtype f32 --seed 77
cmp -s first out || fail "the same seed, another result"

# What is to be run again has the options that change what runs.
upconv 0 check $slug --seed 1 --case signed --dtype f32 --threads 1 --isa portable --algorithm direct \
    --accuracy x3 --json
case $("$json" out results.0.reproduce) in
*" --threads 1 --isa portable --algorithm direct --accuracy x3") ;;
*) fail "the line that runs it again" ;;
esac

# A mistake of a thousandth in one element: found, shown, and reproduced by the line that is shown.
good=$UPCONV
UPCONV=$BUILD/tests/cli/upconv-broken
upconv 1 check $slug --dtype f32 --count 2 --seed 3
says "FAIL $slug f32"
says "1 of "
says "[0, 0, 0, 0, 0]: expected "
grep 'again: ' out >again
[ "$(wc -l <again)" -ge 20 ] || fail "a mistake goes unnoticed: $(wc -l <again) cases of some 25"
for which in --case --shape; do
    # The command line as it is printed, run by a shell.
    line=$(grep -e "$which" again | head -n 1 | sed 's/.*again: upconv //')
    [ -n "$line" ] || fail "no reproducer with $which"
    eval "upconv 1 $line"
    [ "$(grep -c '^FAIL' out)" = 1 ] || fail "not reproduced: $line"
done
upconv 1 check conv-transpose3d-max-max-sum --dtype f32 --case signed --json
[ "$("$json" out failed results.0.pass results.0.wrong | tr '\n' ' ')" = "1 false 1 " ] ||
    fail "the JSON of a failure"
upconv 1 bench $slug --shape 1x4x8x8x8 --repetitions 1 --threads 1 --check
says FAIL
UPCONV=$good

# Wrong calls.
upconv 2 check
complains "which operator?"
upconv 2 check conv-transpose3d-max-max-smu
complains "did you mean"
upconv 2 check $slug --family strange
complains "there is no family 'strange'"
upconv 2 check $slug --case strange
complains "no case is left"
upconv 2 check $slug --shape "1x2x3"
complains "dimensions"
upconv 2 check $slug --shape "stride=0"
complains "stride_d must be at least 1"
upconv 2 check $slug --shape "0x3x4x4x4"
complains "nothing to check"
upconv 2 check $slug --seed x
complains "--seed takes a whole number"
