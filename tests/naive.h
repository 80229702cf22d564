/* Unfused plain arithmetic: each stage in its own loop, stored before the next begins. Its error
 * is the accuracy contract, and with a fault built in it is what the comparison must reject. */
#ifndef UC_TEST_NAIVE_H
#define UC_TEST_NAIVE_H

#include "data.h"

enum fault {
    FAULT_NONE,
    FAULT_ZERO_FILL,
    FAULT_CONSTANT_FILL, /* the mean of each (b, c) slice everywhere in it */
    FAULT_NO_SOFTMAX,
    FAULT_SOFTMAX_AXIS,
    FAULT_SOFTMAX_NO_MAX, /* exponentials of the values as they are */
    FAULT_EVEN_PHASES,    /* outputs of odd phases stay at the bias */
    FAULT_FLIPPED_TAPS,
    FAULT_TANH_GELU,
    FAULT_UNBIASED_VARIANCE,
    FAULT_MAX_FROM_ZERO,
    FAULT_REMAINDER_KEPT, /* the last window of a pool takes the remainder in */
    FAULT_NO_OUTPUT_PADDING,
    FAULT_NO_CONV_BIAS,
    FAULT_NO_CHANNEL_ADD,
    FAULT_NO_LAST_ROW,
    FAULT_NO_LAST_COLUMN,
    FAULT_NO_CLAMP,
    FAULT_LAYERNORM_ROW, /* over the last dimension */
    FAULT_NO_EPS,
    FAULT_NO_SCALE,
    FAULT_LOW_PRECISION, /* convolution values keep 11 bits */
    FAULT_NAN_DROPPED,   /* maximum and clamp prefer numbers to NaN */
    FAULT_INF_LEAKS,     /* taps that don't exist count as zero times a neighbour */
    FAULTS
};
const char *fault_name(enum fault fault);

/* Whether a problem has the stage that the fault is in. */
bool fault_applies(enum fault fault, const struct problem *problem);

/* In which order sums are taken: any is as right as any other. */
enum order { ORDER_FORWARDS, ORDER_BACKWARDS, ORDER_EVENS_FIRST, ORDERS };

/* How to run. jitter_seed: not 0 moves one stored value in four by one unit in the last place, so
 * that errors which happen to cancel on this very data show themselves. */
struct naive_mode {
    enum fault fault;
    enum order order;
    uint64_t jitter_seed;
};

/* Runs the problem in float or double arithmetic; the output is widened. */
void naive_f32(const struct problem *problem, const struct data *data, struct naive_mode mode,
               double *output);
void naive_f64(const struct problem *problem, const struct data *data, struct naive_mode mode,
               double *output);

#endif
