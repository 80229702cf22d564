/* Element types: names, sizes, and the 16-bit conversions, to nearest even.
 * Used by the chain (names, sizes), packing, the kernels' load and store, and the oracle. */
#ifndef UC_DTYPE_H
#define UC_DTYPE_H

#include <stdint.h>
#include <string.h>

#include "upconv.h"

static inline uint32_t uc_f32_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float uc_f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float uc_bf16_to_f32(uint16_t half) {
    return uc_f32_from_bits((uint32_t)half << 16);
}

static inline uint16_t uc_f32_to_bf16(float value) {
    const uint32_t bits = uc_f32_bits(value);
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40); /* rounding could carry a NaN into infinity */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float uc_f16_to_f32(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) /* infinity and NaN */
        return uc_f32_from_bits(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x0400)
        return uc_f32_from_bits(sign | ((magnitude << 13) + ((127 - 15) << 23)));
    const float subnormal = (float)magnitude * 0x1p-24f; /* exact */
    return sign ? -subnormal : subnormal;
}

static inline uint16_t uc_f32_to_f16(float value) {
    const uint32_t bits = uc_f32_bits(value), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff)); /* NaN stays NaN */
    if (magnitude >= 0x477ff000)                                      /* 65520 rounds to infinity */
        return sign | 0x7c00;
    if (magnitude < 0x38800000) {
        /* Subnormal in f16: adding 0.5 leaves the value in units of 2^-24, rounded by the FPU. */
        const float rounded = uc_f32_from_bits(magnitude) + 0.5f;
        return (uint16_t)(sign | (uc_f32_bits(rounded) - uc_f32_bits(0.5f)));
    }
    const uint32_t rebiased = magnitude - ((127 - 15) << 23);
    return (uint16_t)(sign | (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13);
}

/* One element of any type as a double, exactly: the oracle's way to read. */
double uc_dtype_read(uc_dtype dtype, const void *elements, size_t index);

#endif
