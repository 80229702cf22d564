/* Which way to fill tiles: direct, by AMX, or Winograd with so many outputs a tile.
 * Called by plan.c once the kernels are known. */
#ifndef UC_ALGORITHM_H
#define UC_ALGORITHM_H

#include "plan.h"

/* Sets plan->amx; plan->winograd and its transforms, or plan->why_direct. The largest weight tells
 * whether all are finite, and how large inputs may be before sums at points overflow. */
uc_status uc_algorithm_choose(uc_plan *plan, const uc_options *options,
                              const void *const operands[], double largest_weight);

#endif
