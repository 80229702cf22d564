/* How to compute a chain: kernels, packed operands, passes and their tiles.
 * Made by plan.c, run by tile.c. */
#ifndef UC_PLAN_H
#define UC_PLAN_H

#include "kernels/kernels.h"

/* One walk over the tiles of the space that a stage gives. It runs the stages [0, stages) on each
 * tile; then the last pass stores it, and every other one measures it for stage `stages`, which
 * needs everything. */
typedef struct uc_pass {
    size_t stages;
    uc_extent extent;       /* of the space it walks over */
    size_t tile[UC_SPACE];  /* positions of a full tile */
    size_t tiles[UC_SPACE]; /* how many along each dimension */
    size_t buffer_elems;    /* reals of each of a tile's two buffers */
} uc_pass;

struct uc_plan {
    uc_chain chain;
    const uc_kernels *kernels;
    size_t threads;

    void *weights, *bias;             /* of the convolution */
    void *per_channel[UC_MAX_STAGES]; /* operand of a stage as reals, or NULL */
    void *operand_memory;             /* where all of them live */

    size_t pass_count;
    uc_pass pass[UC_MAX_STAGES + 1];

    /* The workspace: two buffers per thread, a summary for every channel of every EVERYTHING stage
     * of an item, and one for every channel of every tile of a measuring pass. */
    size_t buffer_bytes;
    size_t summary_offset[UC_MAX_STAGES];
    size_t measures_offset;
    size_t workspace_bytes;
};

#endif
