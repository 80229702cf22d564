#!/bin/sh
# upconv plan: what would run, and why.
. "$(dirname "$0")/common.sh"
json=$BUILD/tests/cli/json-tool
slug=conv-transpose3d-max-max-sum

# Every operator, in every type.
"$UPCONV" list | awk '{ print $1 }' >slugs
[ "$(wc -l <slugs)" -ge 5 ] || fail "the list of operators"
while read -r name; do
    for dtype in f32 f64 f16 bf16; do
        upconv 0 plan "$name" --batch 1 --dtype $dtype
        for part in chain: algorithm: kernel: "pass 1:" tile: rejected: threads: workspace:; do
            says "$part"
        done
        says "$dtype 1x"
    done
done <slugs

# Shapes, batches, threads, instruction sets.
upconv 0 plan $slug --shape "3x4x9x8x7 out_channels=5 kernel=3 stride=2x1x2 padding_h=0" \
    --threads 1 --isa portable
says "f32 3x4x9x8x7, conv_transpose 5 kernel 3 stride 2x1x2 padding 2x0x2"
says "portable f32"
says "at most 1"
upconv 0 plan $slug --shape "out_channels=5" --batch 7
says "f32 7x32x32x32x32, conv_transpose 5"
upconv 0 plan "f32 1x8x16x16, conv_transpose 4 kernel 4 stride 2 padding 1, gelu" --dtype f64 --batch 3
says "f64 3x8x16x16"

upconv 0 plan $slug --algorithm direct
says "algorithm: direct"
says "rejected:  winograd: it was not asked for"
upconv 0 plan $slug --algorithm winograd
says "algorithm: winograd"
upconv 2 plan $slug --shape kernel=1 --algorithm winograd
complains winograd
upconv 2 plan $slug --algorithm winogard
complains "--algorithm is auto, direct or winograd (got 'winogard')"
# What an accuracy allows: AMX, where there is one and it is asked for.
upconv 0 plan $slug --accuracy strict
says "rejected:  amx: strict results need inputs that are bf16"
for accuracy in x3 bf16; do
    upconv 0 plan $slug --accuracy $accuracy
    grep -q "^algorithm: amx, $accuracy" out || says "rejected:  amx: this CPU, or its system, does not"
    upconv 0 plan $slug --accuracy $accuracy --algorithm direct
    says "rejected:  amx: it was not asked for"
done
upconv 2 plan $slug --accuracy x4
complains "--accuracy is strict, x3 or bf16 (got 'x4')"
upconv 2 plan $slug --isa sse
complains "--isa is auto, portable, avx2 or avx512 (got 'sse')"

# For machines.
upconv 0 plan conv-transpose3d-avgpool-clamp-softmax-multiply --batch 1 --json
[ "$("$json" out kind operator dtype passes.# | tr '\n' ' ')" = \
    "plan conv-transpose3d-avgpool-clamp-softmax-multiply f32 1 " ] || fail "the JSON's values"
"$json" out chain algorithm kernel text rejected.0 passes.0.tile flops workspace_bytes >values ||
    fail "the JSON lacks something"
[ "$("$json" out workspace)" = "$("$json" out workspace_bytes) bytes" ] || fail "the workspace"
upconv 0 plan "f32 1x8x16, conv_transpose 4 kernel 4" --json
[ "$("$json" out operator)" = null ] || fail "a chain is no operator"

# Wrong calls.
upconv 2 plan
complains "which operator, or chain?"
upconv 2 plan max-max-sum
complains "did you mean '$slug'?"
upconv 2 plan f32 1x8x16, conv_transpose 4 kernel 4
complains "in quotes"
upconv 2 plan "f32 1x8x16, gelu"
complains "the chain: "
upconv 2 plan "f32 1x8x16, conv_transpose 4 kernel 4" --shape "1x8x16"
complains "no --shape"
upconv 2 plan $slug --shape "3x4x9x8"
complains "has 5 dimensions, BxCxDxHxW (got '3x4x9x8')"
upconv 2 plan $slug --shape "3x4x9x8x7 pool_kernel=2"
complains "has no parameter 'pool_kernel'"
upconv 2 plan $slug --shape "3x4x9x8x7 16"
complains "'16' in the shape is not NAME=VALUE"
upconv 2 plan $slug --shape "kernel=3x3"
complains "takes one size, or 3 of them"
upconv 2 plan $slug --shape "stride=0"
complains "stride_d must be at least 1 (got 0)"
upconv 2 plan $slug --shape "depth=99999999999999999999"
complains "takes a whole number"
upconv 2 plan $slug --dtype f31
complains "--dtype is f32, f64, f16 or bf16"
upconv 2 plan $slug --threads 100000
complains "--threads is at most 1024"
