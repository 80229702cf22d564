/* The functions that touch numbers, one table per arithmetic type (and, later, instruction set).
 * Filled by the stubs beside this file from the *.inc.c sources; called by tile.c and pack.c.
 *
 * "Real" is the type of the arithmetic: double for f64, float for everything else. */
#ifndef UC_KERNELS_H
#define UC_KERNELS_H

#include "chain.h"
#include "phase.h"

/* A box of positions with all its channels, in cache: reals in the order [channel][d][h][w]. */
typedef struct uc_tile {
    void *reals;
    size_t channels;
    size_t size[UC_SPACE];
    size_t begin[UC_SPACE]; /* where the box starts in its tensor */
} uc_tile;

static inline size_t uc_tile_positions(const uc_tile *tile) {
    return tile->size[0] * tile->size[1] * tile->size[2];
}

/* What an EVERYTHING op knows of the values of one channel. For a softmax: the largest value, and
 * the sum of exp(value - largest). */
typedef struct uc_summary {
    double largest, sum;
} uc_summary;

/* What an op gets besides its tiles. */
typedef struct uc_finish {
    const uc_stage *stage;
    const void *per_channel;     /* reals of its operand; NULL: stage->number[0] is the value */
    const uc_summary *summaries; /* EVERYTHING: one per channel */
} uc_finish;

/* Outputs of one row that belong to one phase along the width: `count` of them, from `output` on,
 * `output_step` apart, for all channels. */
typedef struct uc_conv_row {
    const uc_tile *in;
    const void
        *weights;     /* of this phase: [panel][tap d][tap h][in channel][tap w][panel channel] */
    const void *bias; /* one real per channel, padded to whole panels */
    uc_taps d, h;     /* of this row */
    size_t taps[UC_SPACE];   /* of this phase */
    size_t in_width, source; /* inputs along the width; the one that tap 0 of output 0 reads */
    void *output;
    size_t output_step, output_channel_step, count, out_channels;
} uc_conv_row;

typedef struct uc_kernels {
    const char *name;
    size_t real_bytes;
    size_t panel; /* output channels whose weights lie together */

    /* Elements of the chain's type to reals and back, rounded once to nearest even. */
    void (*load)(uc_dtype dtype, const void *elements, void *reals, size_t count);
    void (*store)(uc_dtype dtype, const void *reals, void *elements, size_t count);

    void (*conv_row)(const uc_conv_row *row);

    /* One per op: from tile `in` to tile `out`, which are the same but for WINDOW ops. */
    void (*finish[UC_OP_COUNT])(const uc_finish *finish, const uc_tile *in, uc_tile *out);

    /* EVERYTHING ops: the summary of each channel of a tile. */
    void (*measure[UC_OP_COUNT])(const uc_tile *tile, uc_summary *summaries);
} uc_kernels;

extern const uc_kernels uc_kernels_portable_f32, uc_kernels_portable_f64;

/* The summary of two sets of values together. */
uc_summary uc_summary_merge(uc_summary a, uc_summary b);

#endif
