/* One dimension of a transposed convolution, split by stride into phases.
 * Called by pack.c, plan.c and the rooms of walk.h. */
#include "phase.h"

#include "memory.h"

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

uc_axis uc_axis_of(const uc_stage *conv, size_t dimension) {
    const size_t kernel = conv->conv.kernel[dimension], stride = conv->conv.stride[dimension];
    return (uc_axis){.in = conv->in.size[dimension],
                     .kernel = kernel,
                     .stride = stride,
                     .padding = conv->conv.padding[dimension],
                     .whole = kernel / stride,
                     .rest = kernel % stride};
}

/* The taps of a phase that have an input. */
static uc_taps find_taps(const uc_axis *axis, size_t phase, size_t source) {
    uc_taps taps = {.phase = phase, .source = source};
    taps.first = taps.source >= axis->in ? taps.source - axis->in + 1 : 0;
    taps.end = smaller(uc_axis_phase_taps(axis, taps.phase), taps.source + 1);
    if (taps.first > taps.end)
        taps.first = taps.end;
    return taps;
}

uc_taps uc_axis_taps(const uc_axis *axis, size_t output) {
    size_t phase;
    const size_t source = uc_divide(output + axis->padding, axis->stride, &phase);
    return find_taps(axis, phase, source);
}

uc_taps uc_axis_next_taps(const uc_axis *axis, uc_taps taps) {
    return find_taps(axis, taps.phase, taps.source + 1);
}

uc_span uc_axis_sources(const uc_axis *axis, uc_span outputs) {
    /* i * stride + k = o + padding with k in [0, kernel) and o in the span. */
    const size_t low = outputs.begin + axis->padding, high = low + outputs.count - 1;
    const size_t begin =
        low < axis->kernel ? 0 : (low - axis->kernel + axis->stride) / axis->stride;
    const size_t end = smaller(high / axis->stride + 1, axis->in);
    return begin < end ? (uc_span){begin, end - begin} : (uc_span){0, 0};
}
