/* The functions that touch numbers: one table per instruction set and arithmetic type.
 * Filled by the stubs beside this file from the *.inc.c sources; called by the rooms of walk.h,
 * winograd.c and pack.c.
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
    size_t rows, pitch;    /* pitch: lanes from one row of a phase to the next */
    size_t sets, set_step; /* 0, or rows of so many sets in turn: see uc_row_at() */
    size_t columns;        /* of a row */
    size_t first_lane;     /* of a phase, where `reals` are those of a later row */
    size_t behind;         /* channels that are stored right after these, in the next call */
} uc_rows;

/* The first lane of a row in each phase. */
static inline size_t uc_row_at(const uc_rows *rows, size_t row) {
    return rows->sets ? row % rows->sets * rows->set_step + row / rows->sets * rows->pitch
                      : row * rows->pitch;
}

/* What an EVERYTHING op knows of the values of one channel. For a softmax: the largest value, and
 * the sum of exp(value - largest). */
typedef struct uc_summary {
    double largest, sum;
} uc_summary;

/* A curve that is not straight. Of floats it is a polynomial of degree UC_CURVE_DEGREE. For doubles
 * that would be long and inexact: it is v = a polynomial of degree UC_CURVE_DEGREE_F64 of the
 * distance from 1/2, then 1 / (1 + v). */
#define UC_CURVE_DEGREE 10
#define UC_CURVE_DEGREE_F64 18

/* What an op gets besides its rows. */
typedef struct uc_finish {
    const uc_stage *stage;
    const void *per_channel;     /* reals of its operand; NULL: stage->number[0] is the value.
                                  * softmax_space: reals that it multiplies by, or NULL */
    const uc_summary *summaries; /* EVERYTHING: one per channel */
    const uc_summary *measured;  /* of these rows alone, where they are as measure() left them */
    size_t first_channel;        /* of the rows, in per_channel and summaries */
    const void *curve;           /* CHANNEL: NULL, or for each channel a polynomial of its results,
                                  * the constant coefficient first, */
    size_t curve_degree;         /* of degree 1 or, softmax_channel, UC_CURVE_DEGREE and what is
                                  * said there */
    bool centred;                /* layernorm_channel: the channels' mean is 0 already */
    void *sums;                  /* layernorm_channel: NULL, or rows of the same shape to which its
                                  * results are added, instead of being left in place */
} uc_finish;

/* Sets of rows that are measured and laid down at once: set i lies i * step reals after the first,
 * and its first channel goes to to[i] as store() would put it, but in reals. Or, where elements
 * have 16 bits, in parts: the upper halves of all reals there, the lower ones to rest[i]. there:
 * how many rows of each are there. */
#define UC_SETS 16
typedef struct uc_sets {
    uc_rows rows; /* of the first */
    size_t count, step;
    bool in_parts;
    void *to[UC_SETS], *rest[UC_SETS];
    size_t there[UC_SETS];
    size_t channel_step, row_step;
    bool stream;
} uc_sets;

/* Whether output goes past the caches, because nobody reads it soon: rows that fill cache lines, or
 * also those that do so with their neighbours, where there is more of it than caches hold. */
typedef enum uc_stream { UC_STREAM_NOT, UC_STREAM_LINES, UC_STREAM_JOINED } uc_stream;

/* Output channels are cut into panels of about the same size: `count` of them, of `size` channels
 * each or, the first ones, `larger` of them, of one more. */
typedef struct uc_panels {
    size_t count, size, larger;
} uc_panels;

/* With at most `most` channels a panel. */
static inline uc_panels uc_panels_of(size_t channels, size_t most) {
    const size_t count = (channels - 1) / most + 1;
    return (uc_panels){count, channels / count, channels % count};
}

/* The first channel of panel p, and how many it has. */
static inline size_t uc_panel_begin(uc_panels panels, size_t p) {
    return p * panels.size + (p < panels.larger ? p : panels.larger);
}

static inline size_t uc_panel_size(uc_panels panels, size_t p) {
    return panels.size + (p < panels.larger);
}

/* The panel that has a channel. */
static inline size_t uc_panel_of(uc_panels panels, size_t channel) {
    const size_t in_larger = panels.larger * (panels.size + 1);
    return channel < in_larger ? channel / (panels.size + 1)
                               : panels.larger + (channel - in_larger) / panels.size;
}

/* Sums of about this many products are added up apart, so that the error of a long sum grows with
 * the number of its parts, not of its terms. */
#define UC_CHAIN_PRODUCTS 256

/* The lanes of one phase of some rows, for a range of channels: for each channel c and lane j
 *     y[c][j] = bias[c] + sum over taps (td, th, tw) and ci of w[c][td][th][ci][tw] *
 *               x[ci * x_channel - td * x_depth - th * x_row - tw * x_tap + j]
 * and the same for rows - 1 more that have the same taps: x lies x_row further, y y_row. */
typedef struct uc_conv_run {
    const void *x;
    size_t x_depth, x_row, x_tap, x_channel;
    const void *weights, *bias;
    size_t first[2], end[2]; /* taps along depth and height that have an input */
    size_t taps[UC_SPACE];   /* of this phase */
    size_t in_channels, out_channels;
    uc_panels cut;              /* of all output channels */
    size_t first_panel, panels; /* the range */
    void *y;
    size_t y_channel, y_row, rows, lanes; /* lanes are rounded up to whole vectors */
    size_t source,
        in_columns; /* exact: the column that tap 0 of lane 0 reads, and how many exist */
} uc_conv_run;

/* The products of a short sum of such a run, listed so that one loop does them all: where each has
 * its input, so many reals before x, and its weights among those of a panel's channels. */
#define UC_FEW_PRODUCTS 32
typedef struct uc_products {
    size_t count, input[UC_FEW_PRODUCTS], weight[UC_FEW_PRODUCTS];
} uc_products;

static inline void uc_list_products(const uc_conv_run *run, uc_products *list) {
    const size_t in_channels = run->in_channels, taps = run->taps[2];
    size_t count = 0;
    for (size_t td = run->first[0]; td < run->end[0]; td++)
        for (size_t th = run->first[1]; th < run->end[1]; th++)
            for (size_t ci = 0; ci < in_channels; ci++)
                for (size_t t = 0; t < taps; t++, count++) {
                    /* unsigned, so it may go round: the input may also lie behind x */
                    list->input[count] =
                        td * run->x_depth + th * run->x_row + t * run->x_tap - ci * run->x_channel;
                    list->weight[count] = ((td * run->taps[1] + th) * in_channels + ci) * taps + t;
                }
    list->count = count;
}

/* Rows of short sums that follow each other in the output, in some channels: they go there as they
 * are made, past the caches. A line is one phase of a row; all of them are read as far as the
 * longest, in whole vectors. */
#define UC_POUR_PHASES 4
typedef struct uc_pour_line {
    const void *x, *weights;
    size_t per_channel; /* weights, those of missing taps too */
    uc_products products;
} uc_pour_line;

typedef struct uc_pour {
    const uc_pour_line *lines; /* [row][phase] */
    size_t rows, phases, columns;
    const void *bias;
    uc_panels cut;
    size_t first_panel, panels; /* of it */
    void *elements;             /* reals, of the first channel of all */
    size_t channel_step;
} uc_pour;

/* Products of some inputs with one tap's weights, added to outputs; channels lie in lanes. For each
 * i of count and each lane c of so many vectors, one or two,
 *     y[to[i] + c] += sum over ci of w[ci][c] * x[from[i] + ci * x_channel] */
typedef struct uc_cast {
    const void *x, *weights;
    size_t x_channel, in_channels, vectors;
    void *y;
    size_t count;
    const size_t *from, *to;
} uc_cast;

/* Sums of a few rows, each times a number: for each o of count and each lane i
 *     out[o][i] = sum over t of factor[t] * in[t][o][i]
 * Lanes are rounded up to whole vectors. */
#define UC_COMBINE_TERMS 5
typedef struct uc_combine {
    size_t terms;
    const void *in[UC_COMBINE_TERMS];
    double factor[UC_COMBINE_TERMS];
    void *out;
    size_t count, in_step, out_step, lanes;
} uc_combine;

/* From the products at points to outputs, by the points. PLAIN: there are none, the products are
 * the outputs. */
typedef enum uc_points {
    UC_POINTS_PLAIN,
    UC_POINTS_3,        /* +-1, infinity */
    UC_POINTS_3_WITH_0, /* 0, 1, infinity */
    UC_POINTS_4,        /* 0, +-1, infinity */
    UC_POINTS_5,        /* 0, +-UC_POINT_A, +-UC_POINT_B */
    UC_POINTS_5_WITHOUT_0
} uc_points;

#define UC_POINT_A 0.75
#define UC_POINT_B 2.5

#define UC_TOOM_POINTS 5 /* at most */
#define UC_TOOM_OUTPUTS 4

/* The products that so many outputs are made of. */
static inline size_t uc_point_count(uc_points points, size_t outputs) {
    return points == UC_POINTS_PLAIN ? outputs
           : points < UC_POINTS_4    ? 3
           : points == UC_POINTS_5   ? 5
                                     : 4;
}

/* The weights that so many products have: those of outputs as they are are all the same. */
static inline size_t uc_weight_count(uc_points points, size_t count) {
    return points == UC_POINTS_PLAIN ? 1 : count;
}

/* Whether what lies between two dimensions of such points fits the registers: for each of the outer
 * ones all outputs of the inner. */
static inline bool uc_points_fit(uc_points outer, uc_points inner) {
    return outer != UC_POINTS_PLAIN && inner != UC_POINTS_PLAIN &&
           ((outer <= UC_POINTS_4 && inner <= UC_POINTS_4) ||
            (outer == UC_POINTS_5 && inner < UC_POINTS_4));
}

/* For each o of count and each lane i
 *     out[j][k][o][i] = bias[o] + sum over p and q of
 *         (point p to the power of j) * (point q to the power of k) * in[p][q][o][i]
 * where infinity's product counts for the last output alone. Lanes are whole vectors. */
typedef struct uc_interpolate {
    const void *in;
    void *out;
    size_t in_point;              /* from one q to the next; those of the next p lie behind them */
    size_t out_outer, out_output; /* from one j, or k, to the next */
    size_t count, out_step, lanes;
    const void *bias; /* NULL: none */
} uc_interpolate;

/* Products of a panel of channels at points (d, h, w), and the outputs they make: the product of a
 * channel c and lane i is the sum over segments s and ci of
 *     u[d][h][w][s][ci][c] * v[read[d][h][w][s] + ci * v_step + i]
 * where along a dimension that is PLAIN u has one point for all, each two vectors of lanes have a v
 * of their own, v_pair reals after the one before, and output (j, k, l) goes to out + j, k, l times
 * out_output + c * out_channel + i. */
typedef struct uc_toom_run {
    uc_points kind[UC_SPACE];
    size_t points[UC_SPACE], outputs[UC_SPACE];
    size_t segments, in_channels;
    size_t part; /* sums of about this many products are added up apart */
    const size_t *read;
    const void *v, *u, *bias;
    size_t v_step, v_pair;
    size_t rows, lanes; /* rows: channels of the panel; lanes: whole vectors */
    void *scratch;      /* UC_TOOM_SCRATCH(rows, lanes of two vectors, outputs) reals */
    void *out;
    size_t out_output[UC_SPACE], out_channel;
} uc_toom_run;

/* Products of one plane of points; outputs along its width; and those along the height too, of all.
 */
#define UC_TOOM_SCRATCH(rows, lanes, outputs)                                                      \
    ((rows) * (lanes)*UC_TOOM_POINTS * (UC_TOOM_POINTS + (outputs)[2] * (1 + (outputs)[1])))

typedef struct uc_kernels {
    const char *name;
    size_t real_bytes;
    size_t panel;        /* at most this many output channels have their weights together */
    size_t vector_lanes; /* of one vector */

    /* Elements of the chain's type to reals; and back, rows of all channels with their phases
     * zipped, rounded once to nearest even. Channels lie channel_step elements apart, rows
     * row_step. All lanes of a phase may be read. scales: what each channel is multiplied by first,
     * or NULL. What streams another thread may read only behind end_stream() of this one. */
    void (*load)(uc_dtype dtype, const void *elements, void *reals, size_t count);
    void (*store)(uc_dtype dtype, const uc_rows *rows, const void *scales, void *elements,
                  size_t channel_step, size_t row_step, uc_stream stream);
    void (*end_stream)(void);

    /* The convolution; and the same without a multiplication by the zeros around the input, for
     * weights that are not all finite: an infinity times such a zero would be a NaN that no tap
     * makes. */
    void (*conv)(const uc_conv_run *run);
    void (*conv_exact)(const uc_conv_run *run);
    void (*pour)(const uc_pour *pour);

    /* The convolution with channels in lanes, see uc_cast; and what it makes, turned, for whole
     * vectors of i: to[c * to_step + i] = from[i * from_step + c] + bias[c]. */
    void (*cast)(const uc_cast *cast);
    void (*turn)(const void *from, size_t from_step, size_t channels, size_t count,
                 const void *bias, void *to, size_t to_step);

    /* The Winograd convolution. split: columns from `first` on, zeros where there are none, to
     * planes of every so-many-th: lane j of plane p is column first + j * planes + p. */
    void (*combine)(const uc_combine *combine);
    void (*toom)(const uc_toom_run *run);
    void (*split)(const void *columns, size_t count, ptrdiff_t first, size_t planes, void *to,
                  size_t plane_step);

    /* Its weights, in double. by_tap: to[t * step + c] = reals[c * taps + t]. transform: to[i] =
     * sum over t of factor[t] * from[t * step + i], for i of count; and the same rounded to reals.
     */
    void (*by_tap)(const void *reals, size_t channels, size_t taps, double *to, size_t step);
    void (*transform)(const double *factor, size_t terms, const double *from, size_t step,
                      double *to, size_t count);
    void (*transform_last)(const double *factor, size_t terms, const double *from, size_t step,
                           void *to, size_t count);

    /* The largest magnitude, or NaN if there is one, of each vector of columns in all channels. */
    void (*magnitudes)(const void *reals, size_t step, size_t channels, size_t columns,
                       void *cells);

    /* ELEMENT, CHANNEL and EVERYTHING ops: in place, but sum_channel leaves one channel. */
    void (*finish[UC_OP_COUNT])(const uc_finish *finish, const uc_rows *rows);

    /* WINDOW ops: into = into op from, or the first time into = from, for `count` reals of each
     * channel; then along the width, from the phases to one row. */
    void (*merge[UC_OP_COUNT])(void *into, size_t into_step, const void *from, size_t from_step,
                               size_t channels, size_t count, bool first);
    void (*fold[UC_OP_COUNT])(const uc_finish *finish, const uc_rows *in, const uc_rows *out);

    /* The same at once, for windows of two columns of the input: `columns` results of a row of one
     * channel, from elements whose depths and heights lie so far apart. */
    void (*gather[UC_OP_COUNT])(const uc_finish *finish, uc_dtype dtype, const void *elements,
                                const size_t step[2], void *reals, size_t columns);

    /* EVERYTHING ops: the summary of each channel, from the columns of all rows. It leaves in the
     * rows what finish() can go on from. bounds: NULL, or the least and the largest value, to which
     * values are clamped first; the largest counts as if it were there. */
    void (*measure[UC_OP_COUNT])(const uc_rows *rows, const double *bounds, uc_summary *summaries);

    /* The same with bounds, of all sets together; and what it leaves is laid down. */
    void (*lay[UC_OP_COUNT])(const uc_sets *sets, const double *bounds, uc_summary *summaries);

    /* Multiplies what was laid down, and leaves elements in its place. rest: NULL unless it is in
     * parts. */
    void (*multiply_laid)(uc_dtype dtype, void *elements, const void *rest, size_t count,
                          const void *times);

    /* The same ops: what finish() would multiply the channels of measured rows by. */
    void (*scales[UC_OP_COUNT])(const uc_finish *finish, size_t channels, void *scales);
} uc_kernels;

static inline size_t uc_vector_bytes(const uc_kernels *kernels) {
    return kernels->vector_lanes * kernels->real_bytes;
}

/* Clears lanes [first, end) of `count` rows that lie a step apart, whole vectors from `first` on.
 * Ops and products take whole vectors, and what a buffer held before may be denormals: some CPUs
 * take a hundred cycles for each product of one, also in lanes that nobody looks at. */
static inline void uc_clear_lanes(const uc_kernels *kernels, void *reals, size_t first, size_t end,
                                  size_t step, size_t count) {
    if (first < end)
        kernels->combine(&(uc_combine){.out = (char *)reals + first * kernels->real_bytes,
                                       .count = count,
                                       .out_step = step,
                                       .lanes = end - first});
}

extern const uc_kernels uc_kernels_portable_f32, uc_kernels_portable_f64;
extern const uc_kernels uc_kernels_avx2_f32, uc_kernels_avx2_f64;
extern const uc_kernels uc_kernels_avx512_f32, uc_kernels_avx512_f64;

/* A real as a number, whatever their type. */
static inline double uc_real_at(const uc_kernels *kernels, const void *reals, size_t i) {
    return kernels->real_bytes == sizeof(double) ? ((const double *)reals)[i]
                                                 : ((const float *)reals)[i];
}

/* About how long a kernel takes for a number of lanes, in vectors: pairs share the loads of
 * weights, a last single one has too few accumulators to hide the latency of a multiply-add. */
static inline double uc_lanes_cost(size_t lanes, size_t vector_lanes) {
    const size_t vectors = (lanes - 1) / vector_lanes + 1;
    return (double)(vectors / 2 * 2) + (double)(vectors % 2) * 1.4;
}

#endif
