/* One dimension of a Winograd (Toom-Cook) convolution: fewer products for several outputs at once.
 * Made by winograd.c at plan time, in double; docs/winograd.md derives it.
 *
 * A tile has `outputs` outputs of every phase along the dimension. The inputs it reads, the window,
 * are combined into rows; every phase multiplies some rows by transformed weights, one product a
 * point, and combines the products into its outputs. Where that does not pay a phase is computed as
 * it is: its rows are inputs, and a point is the sum over the taps. */
#ifndef UC_TOOM_H
#define UC_TOOM_H

#include "kernels/kernels.h"
#include "phase.h"

#define UC_TOOM_TAPS 8
#define UC_TOOM_STRIDE 4
#define UC_TOOM_ROWS (UC_TOOM_STRIDE * UC_TOOM_POINTS + UC_TOOM_TAPS)

/* A sum of a few values, each times a number. */
typedef struct uc_terms {
    size_t count;
    size_t index[UC_TOOM_POINTS];
    double factor[UC_TOOM_POINTS];
} uc_terms;

typedef struct uc_toom_phase {
    size_t taps, points;
    uc_points kind;
    size_t segments;                           /* of a point: products that are added up */
    size_t rows, row[UC_TOOM_ROWS];            /* that it reads, of the dimension's */
    size_t read[UC_TOOM_POINTS][UC_TOOM_TAPS]; /* by a segment: which of them */
    double weight[UC_TOOM_POINTS][UC_TOOM_TAPS][UC_TOOM_TAPS]; /* of a segment, from the taps */
    uc_terms output[UC_TOOM_OUTPUTS];                          /* from the points */
} uc_toom_phase;

typedef struct uc_toom {
    size_t outputs, stride;
    ptrdiff_t first; /* the input at which the first tile's window starts */
    size_t window;
    size_t rows;
    uc_terms row[UC_TOOM_ROWS];          /* from the window */
    uc_toom_phase phase[UC_TOOM_STRIDE]; /* by output modulo stride */
    double error;                        /* variance of rounding errors, relative to one output's */
    double gain; /* the largest a value can become in it, relative to the inputs */
} uc_toom;

/* Plans a dimension with this many outputs a tile. NULL, or why it can't be. */
const char *uc_toom_plan(const uc_axis *axis, size_t outputs, uc_toom *toom);

/* The outputs that one tile has along the dimension. */
static inline size_t uc_toom_tile(const uc_toom *toom) {
    return toom->outputs * toom->stride;
}

#endif
