/* The direct convolution: how its rows share vectors, and about how long it takes.
 * Called by plan.c and algorithm.c; fill.c runs it. */
#ifndef UC_DIRECT_H
#define UC_DIRECT_H

#include "kernels/kernels.h"
#include "phase.h"

#define UC_MAX_ROWS 32 /* of one run */

/* How far apart rows lie that run on into each other: where zeros between them serve the end of one
 * and the begin of the next, `joined` lanes; with none between them, as far as there are lanes.
 * That needs a copy of the input for each place along the width where a tap may read, at most
 * UC_MOST_COPIES. */
#define UC_MOST_COPIES 8
size_t uc_direct_pitch(const uc_stage *conv, size_t lanes, size_t joined, size_t copies);

/* How many of `heights` rows run on into each other, so that narrow rows fill vectors. `lanes` of a
 * row and phase are needed; where rows run on they lie `pitch` lanes apart. cost: about how long a
 * row then takes, in vectors of its lanes. */
size_t uc_direct_rows(const uc_kernels *kernels, const uc_stage *conv, size_t heights, size_t lanes,
                      size_t pitch, double *cost);

/* About how long the convolution takes for one batch item of `flops` whose outputs of `space` are
 * needed, in half cycles of a core with two multiply-adds a cycle. casts: channels may lie in
 * lanes, see cast.h. */
double uc_direct_cost(const uc_kernels *kernels, const uc_stage *conv, double flops,
                      const size_t space[UC_SPACE], bool casts);

/* Whether channels had better lie in lanes. */
bool uc_direct_casts(const uc_kernels *kernels, const uc_stage *conv, double flops);

#endif
