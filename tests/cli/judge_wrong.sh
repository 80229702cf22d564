#!/bin/sh
# Solutions that compute something else: the starters with one thing changed, each a mistake that
# people make. All are rejected as wrong, and where the judge can know the mistake, it names it.
. "$(dirname "$0")/common.sh"

avgpool=conv-transpose3d-avgpool-clamp-softmax-multiply
maxmax=conv-transpose3d-max-max-sum
sumnorm=conv-transpose3d-sum-layernorm-avgpool-gelu
softmax=conv-transpose2d-softmax-biasadd-scaling-sigmoid
layernorm=conv-transpose3d-layernorm-gelu-scaling
for slug in $avgpool $maxmax $sumnorm $softmax $layernorm; do
    upconv 0 init $slug $slug
done

# The data are the same every time: a hint that some data don't give would fail the test now and then.
# mutant SLUG CASE HINT SED: the starter after an edit is wrong in that test
mutant() {
    sed "$4" "$1/solution.c" >mutant.c
    ! cmp -s "$1/solution.c" mutant.c || fail "nothing was edited by $4"
    upconv 1 judge "$1" mutant.c --quick --seed 1 --cflags "-w -O1" --case "$2"
    says "verdict: wrong answer"
    says "$3"
    says "again: "
    grep -q '^ *\[[0-9, ]*\] *expected .* got ' out || fail "no worst elements"
}

gelu='s/x \/ 2 \* (1 + erf(x \* (T)0.70710678118654752440))'
tanh="$gelu/x \/ 2 * (1 + tanh((T)0.7978845608 * (x + (T)0.044715 * x * x * x)))/"

# Everything zero, or one value.
mutant $avgpool signed "hint: all zero" 's/y\[o\] \/ sum \* scale\[c\]/0/'
mutant $maxmax signed "hint: all zero" 's/+= by_3\[o\]/+= 0/'
mutant $sumnorm signed "hint: all zero" "$gelu/0/"
mutant $softmax signed "hint: all zero" 's/1 \/ (1 + exp(-x))/0/'
mutant $layernorm signed "hint: all zero" "$gelu/0/"
mutant $softmax signed "hint: the same value everywhere" 's/1 \/ (1 + exp(-x))/(T)0.75/'

# The convolution.
mutant $layernorm signed "hint: looks like the kernel's taps are flipped" \
    's/const T weight = weights\[k\]/const T weight = weights[(ptrdiff_t)(0 - k)]/
     s/weights + (kd \* taps\[1\] + kh) \* taps\[2\],/weights + taps[0] * taps[1] * taps[2] - 1 - (kd * taps[1] + kh) * taps[2],/'
mutant $layernorm signed "hint: looks like the kernel is read as (out_channels, in_channels, ...)" \
    's/(ci \* out_channels + co)/(co * in_channels + ci)/'
mutant $softmax signed "phases (positions by odd and even) are wrong" \
    's/to\[i \* stride + k - padding\] += /if ((i * stride + k - padding) % 2 == 0) &/'
mutant $maxmax signed "hint: looks like conv_bias is missing" 's/bias ? bias\[co\] : 0/0/'
mutant $layernorm signed "hint: only the last column is wrong or untouched" 's/out + padding)/out - 1 + padding)/'

# What comes after it.
mutant $maxmax all-negative "hint: looks like the max started at 0" 's/largest = -(T)INFINITY/largest = 0/'
mutant $maxmax non-finite "NaN is lost" 's/ || isnan(value)//'
mutant $sumnorm signed "hint: looks like GELU by its tanh formula" "$tanh"
mutant $layernorm signed "hint: looks like GELU by its tanh formula" "$tanh"
mutant $layernorm tiny "hint: looks like the layer norm has no eps" 's/variance + (T)1e-5/variance/'
mutant $layernorm signed "expected" 's/variance \/= (T)out_channels/variance \/= (T)(out_channels - 1)/'
mutant $layernorm scaling-negative "hint: looks like the last factor is missing" 's/ \* (T)scaling_factor//'
mutant $avgpool signed "hint: looks like the clamp is missing" '/y\[o\] [<>] \(low\|high\)/d'
mutant $avgpool signed "hint: looks like the scale is missing" 's/ \* scale\[c\]//'
mutant $avgpool signed "hint: looks like the softmax is missing" \
    's/y\[o\] = exp(y\[o\] - largest);//; s/y\[o\] \/ sum/y[o]/'
mutant $avgpool clamp-wide "a softmax takes its largest value off first" 's/exp(y\[o\] - largest)/exp(y[o])/'
mutant $avgpool signed "expected" 's/(T)(p \* p \* p)/(T)(p * p)/'
mutant $softmax signed "hint: looks like add_bias is missing" 's/ + add_bias\[c\]//'
mutant $softmax signed "hint: looks like the sigmoid is missing" 's/1 \/ (1 + exp(-x))/x/'
mutant $softmax logits-100 "a softmax takes its largest value off first" 's/ - largest);/);/'

# Parts of the output.
mutant $avgpool signed "hint: only the last column is wrong or untouched" \
    's/y\[o\] = y\[o\] \/ sum \* scale\[c\]/y[o] = o % out[2] + 1 == out[2] ? (T)NAN : y[o] \/ sum * scale[c]/'
mutant $softmax signed "hint: only the last row is wrong or untouched" \
    's/= 1 \/ (1 + exp(-x))/= o \/ out[2] + 1 == out[1] ? (T)0 : 1 \/ (1 + exp(-x))/'
mutant $softmax signed "hint: only the last channel is wrong or untouched" \
    's/= 1 \/ (1 + exp(-x))/= c + 1 == out_channels ? (T)0 : 1 \/ (1 + exp(-x))/'
mutant $softmax stride-1 "hint: looks like height and width are transposed" \
    's/^    for (size_t b = 0; b < batch_size; b++) {/    T *result = output; output = new_tensor(batch_size * out_channels * positions);\n&/
     s/^}$/&/
     $s/^}$/    for (size_t i = 0; i < batch_size * out_channels * positions; i++) result[i] = output[i \/ positions * positions + i % out[1] * out[2] + i % positions \/ out[1]];\n}/'

# All tests of one mutant: the failures are counted, the others pass.
sed "$tanh" $layernorm/solution.c >mutant.c
upconv 1 judge $layernorm mutant.c --quick --seed 1 --cflags "-w -O1" --json
says '"kind":	"judge"'
says '"hint":	"looks like GELU by its tanh formula'
says '"verdict":	"accepted"'

# One of the tests as the site would compare it, and the line that repeats it.
upconv 1 judge $avgpool $maxmax/solution.c --quick --seed 1 --mode site --case signed --cflags -w
says "--mode site --case signed"
