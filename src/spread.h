/* The direct convolution to few output channels: taps take the place of channels.
 * Called by plan.c and direct.c (whether it pays), pack.c (weights) and fill.c (rows).
 *
 * With one to three output channels an input vector that is loaded meets as many weights, and loads
 * decide. But it meets the weights of all taps along the width too, for outputs next to each other:
 * so a row of inputs is multiplied by all of them at once, as if by a convolution of one tap to
 * channels x taps channels, and the products are then spread over the outputs: shifted, and added
 * up. Taps along depth and height, of which a row of outputs has inputs of its own each, come one
 * after the other. */
#ifndef UC_SPREAD_H
#define UC_SPREAD_H

#include "kernels/kernels.h"
#include "phase.h"

/* Whether it should be quicker. */
bool uc_spread_pays(const uc_kernels *kernels, const uc_stage *conv);

/* About how long it takes for one batch item of `flops`, in half cycles. */
double uc_spread_cost(const uc_kernels *kernels, const uc_stage *conv, double flops,
                      const size_t space[UC_SPACE]);

/* Products of one row of inputs and one tap along depth and height: [tap][out channel]. */
static inline size_t uc_spread_products(const uc_stage *conv) {
    return conv->conv.kernel[2] * conv->out.channels;
}

/* Input channels go so many at a time: a few rows of them should stay in L2. */
#define UC_SPREAD_CHANNELS 128

/* An input of this size is in no cache of one core. */
#define UC_SPREAD_FAR_BYTES ((size_t)8 << 20)

/* Whether an input had better be packed than read where it is. */
bool uc_spread_packs(const uc_kernels *kernels, const uc_stage *conv);

/* Where the weights of one tap along depth and height and of the input channels from one on start,
 * in reals: for each panel of products [in channel][product]. */
static inline size_t uc_spread_offset(const uc_stage *conv, size_t tap_depth, size_t tap_height,
                                      size_t in_channel) {
    return ((tap_depth * conv->conv.kernel[1] + tap_height) * conv->in.channels + in_channel) *
           uc_spread_products(conv);
}

/* Puts one input channel's weights into place, from [out channel][taps]. */
void uc_spread_place(const uc_kernels *kernels, const uc_stage *conv, size_t in_channel,
                     const void *reals, void *weights);

/* How many rows a run should have. */
size_t uc_spread_rows(const uc_kernels *kernels, const uc_stage *conv);

#endif
