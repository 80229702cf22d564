/* The convolution in AMX tiles of bf16, for CPUs that have them beside AVX-512.
 * Filled by amx.c; called by ../amx.c, and by tests.
 *
 * Inputs lie in pairs: the bf16 numbers of two channels at one position, 32 bits, the first channel
 * in the low half. So a slab of pairs looks like one of floats with half as many channels. */
#ifndef UC_KERNELS_AMX_H
#define UC_KERNELS_AMX_H

#include <stdint.h>

#include "kernels.h"

typedef uint32_t uc_pair;

#define UC_AMX_TILE 16 /* rows of a tile: channels, or pairs; and its columns of 32 bits: lanes */
#define UC_AMX_PARTS 2 /* that a number may be split into */

/* How large numbers are, by the bits of their magnitudes, which are ordered as they are. Zeros
 * don't count: the least is kept less one, so that 0 becomes the largest of all. */
typedef struct uc_amx_range {
    uint32_t least_less_1, most;
} uc_amx_range;

#define UC_AMX_RANGE_INIT                                                                          \
    { UINT32_MAX, 0 }

static inline void uc_amx_widen(uc_amx_range *range, uint32_t bits) {
    const uint32_t magnitude = bits & 0x7fffffff, less_1 = magnitude - 1;
    range->most = magnitude > range->most ? magnitude : range->most;
    range->least_less_1 = less_1 < range->least_less_1 ? less_1 : range->least_less_1;
}

/* A uc_conv_run whose x and steps count pairs, whose bias has UC_AMX_TILE times the same real for
 * each channel, and whose weights are [taps][slice][part][out channel][pair]. Pairs of input
 * channels are cut into slices of at most UC_AMX_TILE pairs and of one size. With two parts three
 * products are added up: all but that of the low parts. It has one row. */
typedef struct uc_amx_run {
    const uc_conv_run *run;
    size_t parts, x_part; /* x_part: from the pairs of one part to those of the next */
    size_t slices, pairs; /* pairs: of a slice */
    size_t first_channel, channels;
} uc_amx_run;

typedef struct uc_amx_kernels {
    /* Rows of two channels (NULL: zeros) to a row of pairs, to nearest even; the second part, a
     * step behind the first, is what the first one leaves. Widens the range. */
    void (*split)(const float *even, const float *odd, size_t count, uc_pair *to, size_t parts,
                  size_t part_step, uc_amx_range *range);

    /* The convolution. Lanes are rounded up to whole tiles. Leaves no tile configured. */
    void (*conv)(const uc_amx_run *run);
} uc_amx_kernels;

extern const uc_amx_kernels uc_kernels_amx;

#endif
