/* The direct convolution with channels in lanes: inputs are cast through taps onto outputs.
 * Called by plan.c and direct.c (whether it pays), pass.c (rows), pack.c (weights) and fill.c.
 *
 * Where positions lie in lanes, narrow rows fill few of them, vectors run over the ends of rows
 * into zeros, and phases are zipped into rows at the end. With channels in lanes none of this
 * matters: each tap takes its inputs, wherever they lie, to the outputs that they reach, and
 * nothing else is multiplied. Only the results must be turned. So small inputs and kernels no
 * larger than the stride take less time, where there are channels enough. */
#ifndef UC_CAST_H
#define UC_CAST_H

#include "kernels/kernels.h"
#include "phase.h"

/* Whether it can serve a chain: nothing behind the convolution looks further than an element. */
bool uc_cast_serves(const uc_chain *chain);

/* About how long it takes for one batch item whose outputs of `space` are needed, in half cycles.
 * That others zip phases along the width, which takes time too, is taken off. */
double uc_cast_cost(const uc_kernels *kernels, const uc_stage *conv, const size_t space[UC_SPACE]);

/* The panels of channels that it goes by: a panel's channels are in one or two vectors. */
uc_panels uc_cast_panels(const uc_kernels *kernels, size_t channels);

/* Whether an input had better be packed than read where it is. */
bool uc_cast_packs(const uc_kernels *kernels, const uc_stage *conv);

/* Rows of outputs that a run should have, of so many columns each. */
size_t uc_cast_rows(size_t heights, size_t columns);

/* Lanes of all panels together. */
size_t uc_cast_lanes(const uc_kernels *kernels, size_t channels);

/* Reals of all weights; false where they are too many. */
bool uc_cast_weights(const uc_kernels *kernels, const uc_stage *conv, size_t *elems);

/* Puts one input channel's weights into place, from [out channel][taps]. */
void uc_cast_place(const uc_kernels *kernels, const uc_stage *conv, size_t in_channel,
                   const void *reals, void *weights);

/* Reals that a thread needs for so many panels of so many outputs; false where they are too many.
 */
bool uc_cast_elems(const uc_kernels *kernels, size_t panels, size_t outputs, size_t *elems);

#endif
