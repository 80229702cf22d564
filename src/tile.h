/* The tile loop: pack, then fill, finish and store rows.
 * Called by plan.c. */
#ifndef UC_TILE_H
#define UC_TILE_H

#include "plan.h"

/* Runs every pass of a plan. The workspace is aligned. */
void uc_tile_run(const uc_plan *plan, const void *input, void *output, char *workspace);

#endif
