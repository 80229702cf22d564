/* The functions that touch numbers: one table per instruction set and arithmetic type.
 * Filled by the stubs beside this file from the *.inc.c sources; called by tile.c and pack.c.
 *
 * "Real" is the type of the arithmetic: double for f64, float for everything else. */
#ifndef UC_KERNELS_H
#define UC_KERNELS_H

#include "chain.h"

/* Some rows of one depth with all their channels, in cache. A row of a convolution with stride s
 * along the width is split into s phases: column j * s + e lies at lane j of phase e. Everything
 * else has one phase. An op that does not look sideways takes the first `width` lanes of every
 * channel, whole vectors, and need not know more: so it also works on a strip of the lanes. Lanes
 * between rows hold harmless garbage. */
typedef struct uc_rows {
    void *reals;
    size_t channels, lanes; /* lanes: phases * phase_step, the distance between channels */
    size_t width;           /* lanes, or those of a strip */
    size_t phases, phase_step;
    size_t rows, pitch; /* pitch: lanes from one row of a phase to the next */
    size_t columns;     /* of a row */
} uc_rows;

/* What an EVERYTHING op knows of the values of one channel. For a softmax: the largest value, and
 * the sum of exp(value - largest). */
typedef struct uc_summary {
    double largest, sum;
} uc_summary;

/* What an op gets besides its rows. */
typedef struct uc_finish {
    const uc_stage *stage;
    const void *per_channel;     /* reals of its operand; NULL: stage->number[0] is the value.
                                  * softmax_space: reals that it multiplies by, or NULL */
    const uc_summary *summaries; /* EVERYTHING: one per channel */
    const uc_summary *measured;  /* of these rows alone, where they are as measure() left them */
    size_t first_channel;        /* of the rows, in per_channel and summaries */
    bool centred;                /* layernorm_channel: the channels' mean is 0 already */
} uc_finish;

/* The lanes of one phase of some rows, for a range of channels: for each channel c and lane j
 *     y[c][j] = bias[c] + sum over taps (td, th, tw) and ci of
 *               w[c][td][th][ci][tw] * x[ci * x_channel - td * x_depth - th * x_row - tw + j] */
typedef struct uc_conv_run {
    const void *x;
    size_t x_depth, x_row, x_channel;
    const void *weights, *bias;
    size_t first[2], end[2]; /* taps along depth and height that have an input */
    size_t taps[UC_SPACE];   /* of this phase */
    size_t in_channels, out_channels;
    size_t first_panel, panels; /* the range */
    void *y;
    size_t y_channel, lanes; /* lanes are rounded up to whole vectors */
    size_t source,
        in_columns; /* exact: the column that tap 0 of lane 0 reads, and how many exist */
} uc_conv_run;

typedef struct uc_kernels {
    const char *name;
    size_t real_bytes;
    size_t panel;        /* at most this many output channels have their weights together */
    size_t vector_lanes; /* of one vector */

    /* Elements of the chain's type to reals; and back, one row of all channels with its phases
     * zipped, rounded once to nearest even. Channels lie channel_step elements apart. stream:
     * nobody reads them soon. */
    void (*load)(uc_dtype dtype, const void *elements, void *reals, size_t count);
    void (*store)(uc_dtype dtype, const uc_rows *rows, size_t row, void *elements,
                  size_t channel_step, bool stream);

    /* The convolution; and the same without a multiplication by the zeros around the input, for
     * weights that are not all finite: an infinity times such a zero would be a NaN that no tap
     * makes. */
    void (*conv)(const uc_conv_run *run);
    void (*conv_exact)(const uc_conv_run *run);

    /* ELEMENT, CHANNEL and EVERYTHING ops: in place, but sum_channel leaves one channel. */
    void (*finish[UC_OP_COUNT])(const uc_finish *finish, const uc_rows *rows);

    /* WINDOW ops: into = into op from, or the first time into = from, for `count` reals of each
     * channel; then along the width, from the phases to one row. */
    void (*merge[UC_OP_COUNT])(void *into, size_t into_step, const void *from, size_t from_step,
                               size_t channels, size_t count, bool first);
    void (*fold[UC_OP_COUNT])(const uc_finish *finish, const uc_rows *in, const uc_rows *out);

    /* EVERYTHING ops: the summary of each channel, from the columns of all rows. It leaves in the
     * rows what finish() can go on from. */
    void (*measure[UC_OP_COUNT])(const uc_rows *rows, uc_summary *summaries);
} uc_kernels;

extern const uc_kernels uc_kernels_portable_f32, uc_kernels_portable_f64;
extern const uc_kernels uc_kernels_avx2_f32, uc_kernels_avx2_f64;
extern const uc_kernels uc_kernels_avx512_f32, uc_kernels_avx512_f64;

/* Output channels are cut into panels of at most `panel` channels and about the same size: the
 * first channel of panel p of `count`. */
static inline size_t uc_panel_count(size_t channels, size_t panel) {
    return (channels - 1) / panel + 1;
}

static inline size_t uc_panel_begin(size_t channels, size_t count, size_t p) {
    const size_t larger = channels % count, size = channels / count;
    return p * size + (p < larger ? p : larger);
}

#endif
