/* Elements of the four types as doubles: slow, plain, and apart from the library's conversions.
 * The command and the tests read and write tensors through it. */
#include "element.h"

#include <math.h>

/* A 16-bit format: sign, exponent, mantissa_bits. min_exponent is that of the smallest normal. */
struct format {
    int mantissa_bits, min_exponent;
};
static const struct format f16 = {10, -14}, bf16 = {7, -126};

static uint16_t infinity_bits(struct format format) {
    return (uint16_t)(0x7FFF >> format.mantissa_bits << format.mantissa_bits);
}

static double decode(struct format format, uint16_t bits) {
    const int magnitude = bits & 0x7FFF, one = 1 << format.mantissa_bits;
    const int exponent = magnitude >> format.mantissa_bits, mantissa = magnitude & (one - 1);
    double value;
    if (magnitude >= infinity_bits(format))
        value = mantissa ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, format.min_exponent - format.mantissa_bits);
    else
        value = ldexp(one + mantissa, format.min_exponent + exponent - 1 - format.mantissa_bits);
    return bits & 0x8000 ? -value : value;
}

/* nearbyint() rounds to nearest even; a carry out of the mantissa runs into the exponent, which is
 * where it belongs. */
static uint16_t encode(struct format format, double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0, infinite = infinity_bits(format);
    if (isnan(value))
        return sign | infinite | 1;
    if (isinf(value))
        return sign | infinite;
    int exponent = format.min_exponent;
    if (value != 0 && ilogb(value) > exponent)
        exponent = ilogb(value);
    const double units = nearbyint(ldexp(fabs(value), format.mantissa_bits - exponent));
    const double bits = ldexp(exponent - format.min_exponent, format.mantissa_bits) + units;
    return sign | (bits < infinite ? (uint16_t)bits : infinite);
}

double element_get(uc_dtype dtype, const void *array, size_t index) {
    switch (dtype) {
    case UC_F32:
        return ((const float *)array)[index];
    case UC_F64:
        return ((const double *)array)[index];
    case UC_F16:
        return decode(f16, ((const uint16_t *)array)[index]);
    default:
        return decode(bf16, ((const uint16_t *)array)[index]);
    }
}

void element_set(uc_dtype dtype, void *array, size_t index, double value) {
    switch (dtype) {
    case UC_F32:
        ((float *)array)[index] = (float)value;
        break;
    case UC_F64:
        ((double *)array)[index] = value;
        break;
    case UC_F16:
        ((uint16_t *)array)[index] = encode(f16, value);
        break;
    default:
        ((uint16_t *)array)[index] = encode(bf16, value);
        break;
    }
}

double element_round(uc_dtype dtype, double value) {
    double storage;
    element_set(dtype, &storage, 0, value);
    return element_get(dtype, &storage, 0);
}
