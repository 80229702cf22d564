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

/* These have no branches: loops over them become vectors. */

static inline uint16_t uc_f32_to_bf16(float value) {
    const uint32_t bits = uc_f32_bits(value);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const uint32_t nan = bits >> 16 | 0x40; /* rounding could carry a NaN into infinity */
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

static inline float uc_f16_to_f32(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    const uint32_t normal = (magnitude << 13) + ((127 - 15) << 23);
    const uint32_t special = magnitude << 13 | 0x7f800000;                        /* inf, NaN */
    const uint32_t subnormal = uc_f32_bits((float)(int32_t)magnitude * 0x1p-24f); /* exact */
    const uint32_t finite = magnitude < 0x0400 ? subnormal : normal;
    return uc_f32_from_bits(sign | (magnitude < 0x7c00 ? finite : special));
}

static inline uint16_t uc_f32_to_f16(float value) {
    const uint32_t bits = uc_f32_bits(value), magnitude = bits & 0x7fffffff;
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t rebiased = magnitude - ((127 - 15) << 23);
    const uint32_t normal = (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13;
    /* Adding 0.5 leaves a small value in units of 2^-24, the subnormals' own, rounded by the FPU.
     */
    const uint32_t subnormal = uc_f32_bits(uc_f32_from_bits(magnitude) + 0.5f) - uc_f32_bits(0.5f);
    const uint32_t finite = magnitude < 0x38800000 ? subnormal : normal;
    const uint32_t or_infinite = magnitude < 0x477ff000 ? finite : 0x7c00; /* from 65520 on */
    const uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
    return (uint16_t)(sign | (magnitude > 0x7f800000 ? nan : or_infinite));
}

/* One element of any type as a double, exactly: the oracle's way to read. */
double uc_dtype_read(uc_dtype dtype, const void *elements, size_t index);

#endif
