/* The direct convolution to few output channels: taps take the place of channels.
 * Called by plan.c and direct.c (whether it pays), pass.c (rows), pack.c (weights) and fill.c.
 *
 * With one to three output channels an input vector that is loaded meets as many weights, and loads
 * decide; with a few more, packing the input does. But it meets the weights of all taps along
 * height and width too, for outputs around it: so inputs are multiplied by those of a row of the
 * kernel at once, or of all its rows, as if by a convolution of one tap to channels x taps
 * channels, and the products are then spread over the outputs: shifted, and added up. Taps along
 * the depth come one after the other. */
#ifndef UC_SPREAD_H
#define UC_SPREAD_H

#include "kernels/kernels.h"
#include "phase.h"

/* Whether it should be quicker. */
bool uc_spread_pays(const uc_kernels *kernels, const uc_stage *conv);

/* About how long it takes for one batch item of `flops`, in half cycles. */
double uc_spread_cost(const uc_kernels *kernels, const uc_stage *conv, double flops,
                      const size_t space[UC_SPACE]);

/* Whether an input had better be packed than read where it is. */
bool uc_spread_packs(const uc_kernels *kernels, const uc_stage *conv);

/* Whether inputs that are read where they are must be gathered first: then the taps of all rows of
 * the kernel share them. */
bool uc_spread_gathers(const uc_kernels *kernels, const uc_stage *conv);

/* How it goes: `taps` along the height at a time, one or all of them, by which inputs have so many
 * products: [tap along the height][along the width][out channel]. */
typedef struct uc_spread {
    size_t taps, products;
    uc_panels panels; /* of products */
    size_t lanes;     /* of inputs that are multiplied at a time, at most: whole vectors */
    bool gathers;
} uc_spread;

/* runs: outputs are made several rows at a time. */
uc_spread uc_spread_of(const uc_kernels *kernels, const uc_stage *conv, bool runs, bool gathers);

/* Puts one input channel's weights into place, from [out channel][taps]. */
void uc_spread_place(const uc_spread *s, const uc_kernels *kernels, const uc_stage *conv,
                     size_t in_channel, const void *reals, void *weights);

/* How many rows of outputs a run should have, if all runs have so many together. */
size_t uc_spread_rows(const uc_spread *s, const uc_kernels *kernels, const uc_stage *conv,
                      double rows);

/* Reals that a thread needs; false where they are too many. */
bool uc_spread_elems(const uc_spread *s, const uc_kernels *kernels, size_t *elems);

#endif
