/* A plan's operands in the order and type in which the kernels read them.
 * Called by plan.c. */
#ifndef UC_PACK_H
#define UC_PACK_H

#include "kernels/kernels.h"

/* Reals of a packed kernel: whole panels of output channels. False where that overflows. */
bool uc_pack_weights_elems(const uc_stage *conv, size_t panel, size_t *elems);

/* Kernel (in channel, out channel, taps) to [phase d][phase h][phase w] of
 * [panel][tap d][tap h][in channel][tap w][panel channel], zeros past the last channel. */
void uc_pack_weights(const uc_kernels *kernels, const uc_stage *conv, uc_dtype dtype,
                     const void *kernel, void *weights);

/* Where the weights of a phase start, in reals. */
size_t uc_pack_phase_offset(const uc_stage *conv, size_t panel, const uc_axis axis[UC_SPACE],
                            const size_t phase[UC_SPACE]);

#endif
