#!/bin/sh
# The default shape: the site's way of judging, timing, and solutions that cheat while timed.
. "$(dirname "$0")/common.sh"

# As the public site: zeros pass where all values are small, and we say so.
slug=conv-transpose3d-avgpool-clamp-softmax-multiply
upconv 0 init $slug zeros
sed 's/y\[o\] \/ sum \* scale\[c\]/0/; s/^ *conv_transpose(pooled.*/if (0) &/' zeros/solution.c >zeros.c
upconv 0 judge $slug zeros.c --mode site --quick --cflags -w
says "as the site"
says "the site would accept it, the strict comparison says: wrong answer"
says "hint: all zero"
says "verdict: accepted (1 test)"
says "by the site, wrong answer strictly"
# Also with the timing, where the site's tolerance is the measure as well.
upconv 0 judge $slug zeros.c --mode site --timing 0.5 --cflags -w --json
says '"strict_verdict":	"wrong answer"'
says '"solution_ms"'
cp out judge.json
upconv 0 report judge.json -o report.html
grep -q "The strict comparison disagrees: wrong answer" report.html ||
    fail "the page does not tell that the two disagree"

# A wrapper of the library that turns to nonsense after some calls.
slug=conv-transpose3d-sum-layernorm-avgpool-gelu
cat >wrapper.c <<'END'
#include "upconv.h"
#ifndef HONEST_CALLS
#define HONEST_CALLS ((size_t)-1)
#endif
void solution(const float *input, const float *kernel, float *output, size_t b, size_t ci,
              size_t co, size_t d, size_t h, size_t w, size_t kd, size_t kh, size_t kw, size_t sd,
              size_t sh, size_t sw, size_t pd, size_t ph, size_t pw, size_t opd, size_t oph,
              size_t opw, double sum_weight) {
    static size_t calls;
    if (calls++ < HONEST_CALLS)
        uc_conv_transpose3d_sum_layernorm_avgpool_gelu_f32(input, kernel, output, b, ci, co, d, h,
                                                           w, kd, kh, kw, sd, sh, sw, pd, ph, pw,
                                                           opd, oph, opw, sum_weight);
    else
        output[0] = 0;
}
END
library="-I$SOURCE/include -L$BUILD -Wl,-rpath,$BUILD -lupconv"
upconv 1 judge $slug wrapper.c --timing 60 --cflags "$library -DHONEST_CALLS=4" --json
says '"verdict":	"wrong when timed"'
says "right when tested, wrong in repetition 4 of the timing"
says '"below_limit":	true'
says "--timing 60"
cp out judge.json
upconv 0 report judge.json -o report.html
grep -q "<svg" report.html || fail "no drawing of the judge's result"
grep -q "wrong when timed" report.html || fail "the page does not tell the verdict"

# Speed under sanitizers says nothing.
[ -z "${SANITIZE:-}" ] || exit 0

# The honest one passes, and its time is in the report.
upconv 0 judge $slug wrapper.c --timing 1 --cflags "$library"
says "verdict: accepted"
says "default-shape"
says "time at the default shape, batch 1: "
says "GFLOP/s"
! grep -q "below the physical limit" out || fail "our own library is faster than the machine"
