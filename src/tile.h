/* The tile loop: load, fill, finish, store.
 * Called by plan.c. */
#ifndef UC_TILE_H
#define UC_TILE_H

#include "plan.h"

/* The box of positions that each stage of a pass reads for one tile, worked back from the tile
 * itself: box[stages] is the tile, box[0] is what is loaded. */
typedef struct uc_box {
    uc_span span[UC_SPACE];
} uc_box;

void uc_tile_boxes(const uc_chain *chain, size_t stages, const uc_box *tile,
                   uc_box boxes[UC_MAX_STAGES + 1]);

/* Runs every pass of a plan. The workspace is aligned. */
void uc_tile_run(const uc_plan *plan, const void *input, void *output, char *workspace);

#endif
