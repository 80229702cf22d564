/* Unfused plain arithmetic: each stage in its own loop, stored before the next begins. Its error
 * is the accuracy contract, and with a fault built in it is what the comparison must reject. */
#include "naive.h"
#include "element.h"

#include <stdlib.h>
#include <string.h>
#include <tgmath.h>

#define IN(kind) (1u << (kind))
#define EVERYWHERE 0xFFFFFFFFu
#define SOFTMAXES (IN(STAGE_SOFTMAX_CHANNEL) | IN(STAGE_SOFTMAX_SPACE))

/* A fault is in a stage of one of these kinds. */
static const struct {
    const char *name;
    unsigned kinds;
} faults[FAULTS] = {
    [FAULT_NONE] = {"none", 0},
    [FAULT_ZERO_FILL] = {"zero fill", EVERYWHERE},
    [FAULT_CONSTANT_FILL] = {"constant fill", EVERYWHERE},
    [FAULT_NO_SOFTMAX] = {"missing softmax", SOFTMAXES},
    [FAULT_SOFTMAX_AXIS] = {"softmax over the wrong axis", SOFTMAXES},
    [FAULT_SOFTMAX_NO_MAX] = {"softmax without its maximum", SOFTMAXES},
    [FAULT_EVEN_PHASES] = {"only even phases", IN(STAGE_CONV)},
    [FAULT_FLIPPED_TAPS] = {"taps flipped", IN(STAGE_CONV)},
    [FAULT_TANH_GELU] = {"tanh GELU", IN(STAGE_GELU)},
    [FAULT_UNBIASED_VARIANCE] = {"unbiased variance", IN(STAGE_LAYERNORM_CHANNEL)},
    [FAULT_MAX_FROM_ZERO] = {"max started at 0", IN(STAGE_MAXPOOL)},
    [FAULT_REMAINDER_KEPT] = {"remainder not dropped", IN(STAGE_MAXPOOL) | IN(STAGE_AVGPOOL)},
    [FAULT_NO_OUTPUT_PADDING] = {"output_padding ignored", IN(STAGE_CONV)},
    [FAULT_NO_CONV_BIAS] = {"conv_bias forgotten", IN(STAGE_CONV)},
    [FAULT_NO_CHANNEL_ADD] = {"add_bias forgotten", IN(STAGE_ADD_CHANNEL)},
    [FAULT_NO_LAST_ROW] = {"last row left out", EVERYWHERE},
    [FAULT_NO_LAST_COLUMN] = {"last column left out", EVERYWHERE},
    [FAULT_NO_CLAMP] = {"clamp forgotten", IN(STAGE_CLAMP)},
    [FAULT_LAYERNORM_ROW] = {"layernorm over the last dimension", IN(STAGE_LAYERNORM_CHANNEL)},
    [FAULT_NO_EPS] = {"eps forgotten", IN(STAGE_LAYERNORM_CHANNEL)},
    [FAULT_NO_SCALE] = {"scale forgotten", IN(STAGE_MUL) | IN(STAGE_MUL_CHANNEL)},
    [FAULT_LOW_PRECISION] = {"convolution kept in 11 bits", IN(STAGE_CONV)},
    [FAULT_NAN_DROPPED] = {"NaN dropped", IN(STAGE_MAXPOOL) | IN(STAGE_CLAMP)},
    [FAULT_INF_LEAKS] = {"infinity leaks to neighbours", IN(STAGE_CONV)},
};

const char *fault_name(enum fault fault) {
    return faults[fault].name;
}

bool fault_applies(enum fault fault, const struct problem *problem) {
    for (size_t i = 0; i < problem->stage_count; i++) {
        const struct stage *stage = &problem->stage[i];
        const size_t *extra = stage->output_padding;
        if (!(faults[fault].kinds & IN(stage->kind)))
            continue;
        if (fault == FAULT_NO_CONV_BIAS && !stage->has_bias)
            continue;
        if (fault == FAULT_NO_OUTPUT_PADDING && extra[0] + extra[1] + extra[2] == 0)
            continue;
        return true;
    }
    return false;
}

struct run {
    enum fault fault;
    enum order order;
    struct rng rng;
};

/* The i-th of n to be added. */
static size_t in_order(const struct run *run, size_t i, size_t n) {
    const size_t evens = (n + 1) / 2;
    switch (run->order) {
    case ORDER_BACKWARDS:
        return n - 1 - i;
    case ORDER_EVENS_FIRST:
        return i < evens ? 2 * i : 2 * (i - evens) + 1;
    default:
        return i;
    }
}

/* A position as its three indices in a box of this size. */
static void split(size_t position, const size_t size[3], size_t index[3]) {
    index[0] = position / (size[1] * size[2]);
    index[1] = position / size[2] % size[1];
    index[2] = position % size[2];
}

/* The taps that reach one output: which element of a kernel, which position of the input. */
struct taps {
    size_t count;
    struct tap {
        size_t kernel, input;
        bool is_real;
    } * at;
};

static struct taps taps_new(const struct stage *stage) {
    const size_t most = stage->kernel[0] * stage->kernel[1] * stage->kernel[2];
    return (struct taps){0, check_alloc(most * sizeof(struct tap))};
}

/* Whether a faulty convolution leaves this output at its bias. */
static bool is_skipped(enum fault fault, const struct stage *stage, struct extent out,
                       const size_t o[3]) {
    bool is_skipped = false;
    for (int d = 0; d < 3; d++) {
        const size_t phase = (o[d] + stage->padding[d]) % stage->stride[d];
        is_skipped |= fault == FAULT_EVEN_PHASES && phase % 2 == 1;
        is_skipped |=
            fault == FAULT_NO_OUTPUT_PADDING && o[d] + stage->output_padding[d] >= out.size[d];
    }
    return is_skipped;
}

/* for each tap k: if some i has o = i * stride - padding + k, then (k, i) is one */
static void taps_find(enum fault fault, const struct stage *stage, struct extent in,
                      struct extent out, size_t position, struct taps *taps) {
    const size_t kernel_elems = stage->kernel[0] * stage->kernel[1] * stage->kernel[2];
    size_t o[3], k[3], i[3];
    split(position, out.size, o);
    taps->count = 0;
    for (size_t t = 0; t < kernel_elems && !is_skipped(fault, stage, out, o); t++) {
        bool is_inside = true, is_real = true;
        split(t, stage->kernel, k);
        for (int d = 0; d < 3; d++) {
            const size_t ahead = o[d] + stage->padding[d];
            i[d] = ahead < k[d] ? 0 : (ahead - k[d]) / stage->stride[d];
            is_inside = is_inside && ahead >= k[d] && i[d] < in.size[d];
            is_real = is_real && is_inside && (ahead - k[d]) % stage->stride[d] == 0;
        }
        if (is_real || (is_inside && fault == FAULT_INF_LEAKS))
            taps->at[taps->count++] =
                (struct tap){fault == FAULT_FLIPPED_TAPS ? kernel_elems - 1 - t : t,
                             (i[0] * in.size[1] + i[1]) * in.size[2] + i[2], is_real};
    }
}

static double keep_11_bits(double value) {
    if (value == 0 || !isfinite(value))
        return value;
    const int shift = 10 - ilogb(value);
    return scalbn(nearbyint(scalbn(value, shift)), -shift);
}

/* The faults of whatever writes the output. What it leaves out is 0. */
static void spoil_output(enum fault fault, struct extent extent, double *output) {
    const size_t positions = extent_positions(extent), elems = extent_elems(extent);
    const size_t height = extent.size[1], width = extent.size[2];
    for (size_t start = 0; start < elems; start += positions) {
        double mean = 0;
        for (size_t i = 0; i < positions; i++)
            mean += output[start + i] / (double)positions;
        for (size_t i = 0; i < positions; i++) {
            const bool is_last_row = i / width % height == height - 1;
            const bool is_last_column = i % width == width - 1;
            double *at = &output[start + i];
            if (fault == FAULT_CONSTANT_FILL)
                *at = mean;
            if (fault == FAULT_ZERO_FILL || (fault == FAULT_NO_LAST_ROW && is_last_row) ||
                (fault == FAULT_NO_LAST_COLUMN && is_last_column))
                *at = 0;
        }
    }
}

#define T float
#define FN(stem) stem##_f32
#include "naive.inc.c"
#undef T
#undef FN

#define T double
#define FN(stem) stem##_f64
#include "naive.inc.c"
