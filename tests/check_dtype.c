/* The 16-bit conversions: every pattern there and back, and rounding to nearest even against the
 * slow twin in element.c. Run by CTest. */
#include "check.h"
#include "dtype.h"
#include "element.h"

#include <math.h>

/* One of the two types: the library's pair of conversions. */
struct conversion {
    uc_dtype dtype;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
};

static uint16_t expected_bits(uc_dtype dtype, double value) {
    uint16_t bits;
    element_set(dtype, &bits, 0, value);
    return bits;
}

/* The infinity of the type has no mantissa; all patterns above it are NaN. */
static bool is_nan_pattern(uc_dtype dtype, uint16_t bits) {
    return (bits & 0x7FFF) > expected_bits(dtype, (double)INFINITY);
}

static void check_patterns(struct conversion c) {
    for (unsigned pattern = 0; pattern < 65536; pattern++) {
        const uint16_t bits = (uint16_t)pattern;
        const float wide = c.widen(bits);
        if (is_nan_pattern(c.dtype, bits)) {
            CHECK(isnan(wide), "%s %04x is not NaN", uc_dtype_name(c.dtype), pattern);
            CHECK(is_nan_pattern(c.dtype, c.narrow(wide)), "%s %04x: NaN is lost",
                  uc_dtype_name(c.dtype), pattern);
        } else {
            CHECK((double)wide == element_get(c.dtype, &bits, 0), "%s %04x reads as %g",
                  uc_dtype_name(c.dtype), pattern, (double)wide);
            CHECK(c.narrow(wide) == bits, "%s %04x comes back as %04x", uc_dtype_name(c.dtype),
                  pattern, (unsigned)c.narrow(wide));
        }
    }
}

static void check_rounding(struct conversion c, float value) {
    const uint16_t expected = expected_bits(c.dtype, value), got = c.narrow(value);
    CHECK(isnan(value) ? is_nan_pattern(c.dtype, got) : got == expected,
          "%s: %a rounds to %04x, not %04x", uc_dtype_name(c.dtype), (double)value, (unsigned)got,
          (unsigned)expected);
}

/* Between neighbours: the tie itself and the floats on both sides of it. */
static void check_ties(struct conversion c) {
    const unsigned infinity = expected_bits(c.dtype, (double)INFINITY);
    for (unsigned pattern = 0; pattern < infinity; pattern++) {
        const uint16_t low = (uint16_t)pattern, high = (uint16_t)(pattern + 1);
        const double a = element_get(c.dtype, &low, 0), b = element_get(c.dtype, &high, 0);
        const float tie =
            (float)(isinf(b) ? a + (a - element_get(c.dtype, &(uint16_t){low - 1}, 0)) / 2
                             : (a + b) / 2);
        const float near_tie[] = {nextafterf(tie, 0), tie, nextafterf(tie, INFINITY)};
        for (int i = 0; i < 3; i++) {
            check_rounding(c, near_tie[i]);
            check_rounding(c, -near_tie[i]);
        }
    }
}

static void check_random(struct conversion c, size_t count) {
    struct rng rng = {1};
    for (size_t i = 0; i < count; i++)
        check_rounding(c, uc_f32_from_bits((uint32_t)rng_next(&rng)));
}

int main(void) {
    const struct conversion conversions[] = {{UC_F16, uc_f16_to_f32, uc_f32_to_f16},
                                             {UC_BF16, uc_bf16_to_f32, uc_f32_to_bf16}};
    for (int i = 0; i < 2; i++) {
        check_patterns(conversions[i]);
        check_ties(conversions[i]);
        check_random(conversions[i], 2000000);
    }
    return check_done();
}
