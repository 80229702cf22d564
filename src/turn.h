/* Which dimension lies along the lanes: the width, or one that takes its place.
 * Called by plan.c; rows.c loads and run.c stores rows accordingly.
 *
 * Rows of one or two columns fill few lanes and meet little but the zeros around them. Where the
 * height or depth is longer, the plan swaps it with the width: inside, it is the width, and only
 * the first load and the last store know better. */
#ifndef UC_TURN_H
#define UC_TURN_H

#include "kernels/kernels.h"

/* The dimension that should take the width's place; the width itself where none should. */
size_t uc_turn_choose(const uc_kernels *kernels, const uc_chain *chain);

/* Swaps a dimension with the width in all of a chain's stages. Twice is as it was. */
void uc_turn_chain(uc_chain *chain, size_t dimension);

/* The elements of a convolution's kernel in the order that the turned chain has them: a copy to be
 * freed, or NULL if there is no memory, which is said. conv: as turned. */
void *uc_turn_kernel(const uc_stage *conv, size_t dimension, size_t element_bytes,
                     const void *kernel);

/* Elements of a tensor from one depth, height or column to the next, where the extent is turned. */
void uc_turn_steps(const uc_extent *extent, size_t dimension, size_t step[UC_SPACE]);

/* `count` elements that lie `step` apart, one after the other; and the other way round. */
void uc_turn_gather(void *to, const void *from, size_t step, size_t count, size_t element_bytes);
void uc_turn_scatter(void *to, size_t step, const void *from, size_t count, size_t element_bytes);

#endif
