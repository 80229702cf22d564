/* One dimension of a transposed convolution, split by stride into phases.
 * Used by pack.c (the order of the weights), plan.c, fill.c and others (which taps reach which
 * output).
 *
 * Output o is reached by the inputs i and taps k with i * stride + k = o + padding. So o belongs to
 * the phase r = (o + padding) mod stride, whose taps are k = r, r + stride, r + 2 * stride, ...:
 * the t-th of them reads input (o + padding) / stride - t. A phase is an ordinary convolution with
 * stride 1, and nothing is ever multiplied by an inserted zero. */
#ifndef UC_PHASE_H
#define UC_PHASE_H

#include <stddef.h>

#include "chain.h"

typedef struct uc_axis {
    size_t in, kernel, stride, padding;
    size_t whole,
        rest; /* kernel / stride and kernel % stride: a phase has whole taps or one more */
} uc_axis;

uc_axis uc_axis_of(const uc_stage *conv, size_t dimension);

/* The taps that reach one output: t in [first, end), each reading input `source - t`. */
typedef struct uc_taps {
    size_t phase, source;
    size_t first, end;
} uc_taps;

uc_taps uc_axis_taps(const uc_axis *axis, size_t output);

/* Those of the next output of the same phase. */
uc_taps uc_axis_next_taps(const uc_axis *axis, uc_taps taps);

/* How many phases have taps: those from kernel on have none. */
static inline size_t uc_axis_phases(const uc_axis *axis) {
    return axis->stride < axis->kernel ? axis->stride : axis->kernel;
}

/* How many taps a phase has, and how many the phases before it have together. */
static inline size_t uc_axis_phase_taps(const uc_axis *axis, size_t phase) {
    return axis->whole + (phase < axis->rest);
}

static inline size_t uc_axis_taps_before(const uc_axis *axis, size_t phase) {
    return phase * axis->whole + (phase < axis->rest ? phase : axis->rest);
}

typedef struct uc_span {
    size_t begin, count;
} uc_span;

/* Cuts `all` into parts of `size`, the last of which has what is left too: so none is smaller. How
 * many there are, and part i. */
static inline size_t uc_parts(size_t all, size_t size) {
    return all < 2 * size ? 1 : all / size;
}

static inline uc_span uc_part(size_t all, size_t size, size_t i) {
    return (uc_span){i * size, i + 1 == uc_parts(all, size) ? all - i * size : size};
}

/* The inputs that some output of a span reads. */
uc_span uc_axis_sources(const uc_axis *axis, uc_span outputs);

#endif
