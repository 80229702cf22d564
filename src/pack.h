/* The kernel in the order and type in which the convolution reads it.
 * Called by plan.c, once per plan; fill.c asks where a phase starts. */
#ifndef UC_PACK_H
#define UC_PACK_H

#include "kernels/kernels.h"
#include "phase.h"

/* Kernel (in channel, out channel, taps) and bias to reals: [phase d][phase h][phase w] of
 * [panel][tap d][tap h][in channel][tap w][panel channel], as many reals as the kernel has
 * elements. Centred: with the mean over the output channels taken off, in double. */
typedef struct uc_pack {
    const uc_kernels *kernels;
    const uc_stage *conv;
    uc_dtype dtype;
    const void *kernel, *conv_bias; /* NULL: no bias */
    bool centred;
    void *weights, *bias;
    const struct uc_spread *spread;       /* NULL, or in the order of spread.h instead */
    bool casts;                           /* or in that of cast.h */
    const struct uc_winograd *transforms; /* NULL, or two instead of the order above */
    void *transformed[2];
    size_t threads;
} uc_pack;

/* Needs memory for a while: UC_OK or UC_NO_MEMORY. */
uc_status uc_pack_run(const uc_pack *pack);

/* The largest magnitude of all weights; infinity where they are not all finite. */
double uc_pack_largest(const uc_kernels *kernels, uc_dtype dtype, const void *kernel, size_t elems,
                       size_t threads);

/* Where the weights of a phase start, in reals: behind the taps of all phases before it, which are
 * ordered d, h, w. */
static inline size_t uc_pack_phase_offset(const uc_stage *conv, const uc_axis axis[UC_SPACE],
                                          const size_t phase[UC_SPACE]) {
    size_t taps = 0, inner = 1;
    for (size_t i = UC_SPACE; i-- > 0;) {
        taps = uc_axis_phase_taps(&axis[i], phase[i]) * taps +
               uc_axis_taps_before(&axis[i], phase[i]) * inner;
        inner *= axis[i].kernel;
    }
    return taps * conv->in.channels * conv->out.channels;
}

#endif
