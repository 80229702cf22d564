/* The Winograd convolution: a second way to fill a tile, with fewer multiplications.
 * Chosen by plan.c, run by block.c; docs/winograd.md tells how it works.
 *
 * Every dimension is one of toom.h; together they make a block of outputs from a block of inputs:
 * the inputs' rows are combined along depth, height and width, multiplied by transformed weights
 * point by point over the input channels, and the products combined into outputs. Tiles lie in
 * lanes, so what comes out are rows as the direct convolution makes them, with more phases. */
#ifndef UC_WINOGRAD_H
#define UC_WINOGRAD_H

#include "kernels/kernels.h"
#include "pack.h"
#include "toom.h"

/* The transforms, and the weights they make: [phase d][phase h] of [panel][phase w][points][
 * segments][in channel][panel channel]. */
typedef struct uc_winograd {
    const uc_kernels *kernels;
    const uc_stage *conv;
    const uc_toom *dim[UC_SPACE];
    size_t rows_bytes; /* that a block may make for one phase */
    size_t part;       /* sums of about this many products are added up apart */
    bool one_depth;    /* a block must not go on from one depth to the next */
    bool parts;        /* rows may be cut: nothing looks at all of one */
    const size_t
        *reads; /* of all products: which combined inputs, from those of a pair of vectors */
    const void *weights, *bias;
} uc_winograd;

/* Products of all phases for one input and one output channel; and the reads of each. */
size_t uc_winograd_products(const uc_winograd *winograd);
void uc_winograd_find_reads(const uc_winograd *winograd, size_t *reads);

/* Reals of the transformed weights; false where that overflows. */
bool uc_winograd_weights(const uc_winograd *winograd, size_t *elems);

/* Puts one panel's weights into place, by two transforms of one convolution, from all of them as
 * reals in the order [in channel][out channel][taps], with `scratch`; false where its size
 * overflows. */
bool uc_winograd_scratch_bytes(const uc_winograd *winograd, size_t *bytes);
void uc_winograd_place(const uc_winograd transforms[2], size_t panel, const void *reals,
                       void *const weights[2], double *scratch);

/* What the combined inputs of a block may take. */
#define UC_WINOGRAD_INPUT_BYTES ((size_t)3 << 20)

/* How a space is cut into blocks: rows of tiles as wide as the space, `tile_rows` of them, one
 * after the other along the height and, where a block goes across depths, on to the next depth. The
 * tiles of a row lie in lanes one after the other, and rows too. A block's lanes are made chunk by
 * chunk.
 *
 * Or rows are cut in two parts, which have blocks of their own: one of whole vectors, and what is
 * left, of which several rows share a vector.
 */
#define UC_BLOCK_PARTS 2

typedef struct uc_blocks {
    size_t tiles[UC_SPACE]; /* of the space; along the width of the part, 0 where there is none */
    size_t first_tile;      /* of the part, along the width */
    size_t tile_rows;
    bool across;
    size_t groups;          /* blocks of a depth, if not */
    size_t lanes;           /* of a row set: whole vectors */
    size_t plane_lanes;     /* of its combined inputs on the way: with room for a last vector */
    size_t chunk;           /* lanes of a chunk at most */
    size_t pair, pair_step; /* lanes of two vectors; reals of the combined inputs of so many */
    size_t plane_step;      /* of the slab: lanes of a plane, */
    size_t plane_reads;     /* of which a row of tiles reads so many */
    size_t rows_bytes, input_bytes; /* of a block's rows of one phase, and of its combined inputs */
    size_t scratch_elems;
} uc_blocks;

/* How many blocks some depths of tiles have. */
static inline size_t uc_blocks_count(const uc_blocks *blocks, size_t depths) {
    return blocks->across ? (depths * blocks->tiles[1] - 1) / blocks->tile_rows + 1
                          : depths * blocks->groups;
}

/* Plans the blocks of a space of this size. */
void uc_winograd_blocks(const uc_winograd *winograd, const size_t space[UC_SPACE],
                        uc_blocks blocks[UC_BLOCK_PARTS]);

/* Twice the multiplications at points for one batch item; and about how long all of it takes, in
 * half cycles of a core with two multiply-adds a cycle. */
double uc_winograd_flops(const uc_winograd *winograd, const uc_blocks blocks[UC_BLOCK_PARTS]);
double uc_winograd_cost(const uc_winograd *winograd, const uc_blocks blocks[UC_BLOCK_PARTS]);

/* What the phase along depth and height that takes longest would take alone, by a whole block. */
double uc_winograd_share(const uc_winograd *winograd, const uc_blocks *blocks);

/* What a block is made from. The slab has rows [depth][height][channel], each in as many planes as
 * a tile has outputs along the width; behind it is a row of zeros. */
typedef struct uc_block {
    const uc_winograd *winograd, *plain; /* plain: one output a tile, no points */
    const uc_blocks *blocks;
    const void *slab, *zeros;
    const void *magnitudes; /* of the slab's rows, `cells` of each */
    size_t cells;
    double limit, least; /* of them, beyond and below which sums or products spoil values */
    ptrdiff_t source[2]; /* of the slab's first depth and height */
    size_t sources[2], depth_step, row_step, channel_step;
    size_t row, rows; /* of tiles, counted depth by depth: the first, and how many */
    size_t first_panel, panels;
    void *scratch;
    bool by_taps; /* its inputs are such that sums at points would spoil them */
} uc_block;

/* Combines a block's inputs, for some of its phases along depth and height, counted one depth after
 * the other. */
void uc_winograd_combine(uc_block *block, size_t first_phase, size_t phases);

/* Fills the rows of one phase along depth and height: for each output (d, h) of a tile a set of
 * rows [channel][phase][lane] of `row_set` reals. */
void uc_winograd_fill(const uc_block *block, size_t phase_d, size_t phase_h, void *rows,
                      size_t row_set);

#endif
