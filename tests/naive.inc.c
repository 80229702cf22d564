/* The plain implementation for the element type T, whose names are FN(stem).
 * Included by naive.c once per element type; <tgmath.h> picks the function of the type. */

struct FN(tensor) {
    struct extent extent;
    T *at;
};

static struct FN(tensor) FN(tensor_new)(struct extent extent) {
    return (struct FN(tensor)){extent, check_alloc(extent_elems(extent) * sizeof(T))};
}

static T FN(jitter)(struct run *run, T value) {
    if (!run->rng.state || value == 0 || !isfinite(value))
        return value;
    const unsigned choice = (unsigned)(rng_next(&run->rng) >> 61);
    return choice > 1 ? value : nextafter(value, choice ? (T)INFINITY : -(T)INFINITY);
}

/* Sum of n values, each `step` after the one before, in eight lanes as any vectorised loop. */
static T FN(sum)(struct run *run, const T *at, size_t n, size_t step) {
    enum { LANES = 8 };
    T lane[LANES] = {0}, sum = 0;
    for (size_t i = 0; i < n; i++)
        lane[i % LANES] = FN(jitter)(run, lane[i % LANES] + at[in_order(run, i, n) * step]);
    for (size_t i = 0; i < LANES; i++)
        sum = FN(jitter)(run, sum + lane[i]);
    return sum;
}

/* One position: for all taps that reach it, for all input channels, into all output channels. */
static void FN(conv_at)(struct run *run, const struct taps *taps, const struct stage *stage,
                        const struct FN(tensor) * in, const T *kernel, size_t b, T *sums) {
    const size_t positions = extent_positions(in->extent), channels = in->extent.channels;
    const size_t kernel_elems = stage->kernel[0] * stage->kernel[1] * stage->kernel[2];
    const bool has_jitter = run->rng.state;
    for (size_t t = 0; t < taps->count; t++) {
        const struct tap tap = taps->at[in_order(run, t, taps->count)];
        for (size_t c = 0; c < channels; c++) {
            const size_t ci = in_order(run, c, channels);
            const T x = in->at[(b * channels + ci) * positions + tap.input];
            const T *weights = kernel + ci * stage->out_channels * kernel_elems + tap.kernel;
            for (size_t co = 0; co < stage->out_channels; co++)
                sums[co] += x * (tap.is_real ? weights[co * kernel_elems] : 0);
            for (size_t co = 0; has_jitter && co < stage->out_channels; co++)
                sums[co] = FN(jitter)(run, sums[co]);
        }
    }
}

static void FN(conv)(struct run *run, const struct stage *stage, const struct FN(tensor) * in,
                     struct FN(tensor) * out, T *const operands[]) {
    const size_t positions = extent_positions(out->extent), channels = out->extent.channels;
    const bool has_bias = stage->has_bias && run->fault != FAULT_NO_CONV_BIAS;
    struct taps taps = taps_new(stage);
    T *sums = check_alloc(channels * sizeof *sums);
    for (size_t o = 0; o < positions; o++) {
        taps_find(run->fault, stage, in->extent, out->extent, o, &taps);
        for (size_t b = 0; b < out->extent.batch; b++) {
            for (size_t co = 0; co < channels; co++)
                sums[co] = has_bias ? operands[1][co] : 0;
            FN(conv_at)(run, &taps, stage, in, operands[0], b, sums);
            for (size_t co = 0; co < channels; co++)
                out->at[(b * channels + co) * positions + o] =
                    run->fault == FAULT_LOW_PRECISION ? (T)keep_11_bits(sums[co]) : sums[co];
        }
    }
    free(sums);
    free(taps.at);
}

static T FN(gelu)(struct run *run, T x) {
    const T root_half = (T)0.70710678118654752440;
    if (run->fault == FAULT_TANH_GELU)
        return x / 2 * (1 + tanh((T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x)));
    return x / 2 * FN(jitter)(run, 1 + erf(x * root_half));
}

static T FN(clamp)(struct run *run, T x, T low, T high) {
    if (isnan(x))
        return run->fault == FAULT_NAN_DROPPED ? low : x;
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
}

static T FN(element)(struct run *run, const struct stage *stage, T x, T operand) {
    switch (stage->kind) {
    case STAGE_ADD:
        return x + (T)stage->low;
    case STAGE_ADD_CHANNEL:
        return run->fault == FAULT_NO_CHANNEL_ADD ? x : x + operand;
    case STAGE_MUL:
        return run->fault == FAULT_NO_SCALE ? x : x * (T)stage->low;
    case STAGE_MUL_CHANNEL:
        return run->fault == FAULT_NO_SCALE ? x : x * operand;
    case STAGE_CLAMP:
        return run->fault == FAULT_NO_CLAMP ? x : FN(clamp)(run, x, (T)stage->low, (T)stage->high);
    case STAGE_GELU:
        return FN(gelu)(run, x);
    default:
        return 1 / FN(jitter)(run, 1 + exp(-x));
    }
}

static void FN(elements)(struct run *run, const struct stage *stage, const struct FN(tensor) * in,
                         struct FN(tensor) * out, const T *operand) {
    const size_t positions = extent_positions(in->extent), elems = extent_elems(in->extent);
    for (size_t i = 0; i < elems; i++) {
        const T per_channel = operand ? operand[i / positions % in->extent.channels] : 0;
        out->at[i] = FN(jitter)(run, FN(element)(run, stage, in->at[i], per_channel));
    }
}

static void FN(softmax)(struct run *run, const struct stage *stage, const T *x, T *y, size_t n,
                        size_t step) {
    (void)stage;
    T most = run->fault == FAULT_SOFTMAX_NO_MAX ? 0 : x[0];
    for (size_t i = 0; i < n && run->fault != FAULT_SOFTMAX_NO_MAX; i++)
        if (x[i * step] > most || isnan(x[i * step]))
            most = x[i * step];
    for (size_t i = 0; i < n; i++)
        y[i * step] = FN(jitter)(run, exp(FN(jitter)(run, x[i * step] - most)));
    const T sum = FN(sum)(run, y, n, step);
    for (size_t i = 0; i < n; i++)
        y[i * step] = FN(jitter)(run, y[i * step] / sum);
}

static void FN(layernorm)(struct run *run, const struct stage *stage, const T *x, T *y, size_t n,
                          size_t step) {
    const T eps = run->fault == FAULT_NO_EPS ? 0 : (T)stage->low;
    const T divisor = (T)(run->fault == FAULT_UNBIASED_VARIANCE ? n - 1 : n);
    const T mean = FN(jitter)(run, FN(sum)(run, x, n, step) / (T)n);
    for (size_t i = 0; i < n; i++)
        y[i * step] = (x[i * step] - mean) * (x[i * step] - mean);
    const T variance = FN(jitter)(run, FN(sum)(run, y, n, step) / divisor);
    const T root = FN(jitter)(run, sqrt(variance + eps));
    for (size_t i = 0; i < n; i++)
        y[i * step] = FN(jitter)(run, (x[i * step] - mean) / root);
}

/* Calls set() for every set of n values that lie `step` apart: (C, positions) gives the channels
 * of each position, (positions, 1) the positions of each slice, (W, 1) each row. */
static void FN(each_set)(struct run *run, const struct stage *stage, const struct FN(tensor) * in,
                         struct FN(tensor) * out, size_t n, size_t step,
                         void (*set)(struct run *, const struct stage *, const T *, T *, size_t,
                                     size_t)) {
    const size_t elems = extent_elems(in->extent);
    for (size_t start = 0; start < elems; start += n * step)
        for (size_t i = start; i < start + step; i++)
            set(run, stage, in->at + i, out->at + i, n, step);
}

static T FN(pool_at)(struct run *run, bool is_max, const struct FN(tensor) * in, const T *slice,
                     const size_t from[3], const size_t to[3]) {
    T sum = 0, most = -(T)INFINITY;
    size_t count = 0;
    bool has_nan = false;
    for (size_t d = from[0]; d < to[0]; d++)
        for (size_t h = from[1]; h < to[1]; h++)
            for (size_t w = from[2]; w < to[2]; w++, count++) {
                const T x = slice[(d * in->extent.size[1] + h) * in->extent.size[2] + w];
                sum = FN(jitter)(run, sum + x);
                most = x > most ? x : most;
                has_nan |= isnan(x);
            }
    if (!is_max)
        return FN(jitter)(run, sum / (T)count);
    if (has_nan && run->fault != FAULT_NAN_DROPPED)
        return (T)NAN;
    return run->fault == FAULT_MAX_FROM_ZERO && most < 0 ? 0 : most;
}

static void FN(pool)(struct run *run, const struct stage *stage, const struct FN(tensor) * in,
                     struct FN(tensor) * out) {
    const struct extent e = out->extent;
    const size_t positions = extent_positions(e);
    for (size_t i = 0; i < extent_elems(e); i++) {
        size_t o[3], from[3], to[3];
        split(i % positions, e.size, o);
        for (int d = 0; d < 3; d++) {
            from[d] = o[d] * stage->kernel[d];
            to[d] = from[d] + stage->kernel[d];
            if (run->fault == FAULT_REMAINDER_KEPT && o[d] + 1 == e.size[d])
                to[d] = in->extent.size[d];
        }
        const T *slice = in->at + i / positions * extent_positions(in->extent);
        out->at[i] = FN(pool_at)(run, stage->kind == STAGE_MAXPOOL, in, slice, from, to);
    }
}

static void FN(sum_channel)(struct run *run, const struct FN(tensor) * in,
                            struct FN(tensor) * out) {
    const size_t positions = extent_positions(in->extent), channels = in->extent.channels;
    for (size_t i = 0; i < extent_elems(out->extent); i++) {
        const T *first = in->at + i / positions * channels * positions + i % positions;
        out->at[i] = FN(sum)(run, first, channels, positions);
    }
}

/* Returns how many operands the stage took. */
static size_t FN(stage)(struct run *run, const struct stage *stage, const struct FN(tensor) * in,
                        struct FN(tensor) * out, T *const operands[]) {
    const size_t positions = extent_positions(in->extent), channels = in->extent.channels;
    bool is_over_space = stage->kind == STAGE_SOFTMAX_SPACE;
    switch (stage->kind) {
    case STAGE_CONV:
        FN(conv)(run, stage, in, out, operands);
        return stage->has_bias ? 2 : 1;
    case STAGE_AVGPOOL:
    case STAGE_MAXPOOL:
        FN(pool)(run, stage, in, out);
        return 0;
    case STAGE_SUM_CHANNEL:
        FN(sum_channel)(run, in, out);
        return 0;
    case STAGE_SOFTMAX_CHANNEL:
    case STAGE_SOFTMAX_SPACE:
        is_over_space ^= run->fault == FAULT_SOFTMAX_AXIS;
        if (run->fault == FAULT_NO_SOFTMAX)
            memcpy(out->at, in->at, extent_elems(in->extent) * sizeof(T));
        else
            FN(each_set)
        (run, stage, in, out, is_over_space ? positions : channels, is_over_space ? 1 : positions,
         FN(softmax));
        return 0;
    case STAGE_LAYERNORM_CHANNEL:
        if (run->fault == FAULT_LAYERNORM_ROW)
            FN(each_set)(run, stage, in, out, in->extent.size[2], 1, FN(layernorm));
        else
            FN(each_set)(run, stage, in, out, channels, positions, FN(layernorm));
        return 0;
    case STAGE_ADD_CHANNEL:
    case STAGE_MUL_CHANNEL:
        FN(elements)(run, stage, in, out, operands[0]);
        return 1;
    default:
        FN(elements)(run, stage, in, out, NULL);
        return 0;
    }
}

static T *FN(widened)(uc_dtype dtype, const struct buffer *buffer) {
    const size_t elems = buffer->bytes / uc_dtype_bytes(dtype);
    T *values = check_alloc(elems * sizeof *values);
    for (size_t i = 0; i < elems; i++)
        values[i] = (T)element_get(dtype, buffer->data, i);
    return values;
}

void FN(naive)(const struct problem *problem, const struct data *data, struct naive_mode mode,
               double *output) {
    struct run run = {mode.fault, mode.order, {mode.jitter_seed}};
    struct FN(tensor) now = {problem_extent(problem, 0), FN(widened)(problem->dtype, &data->input)};
    T *operands[MOST_OPERANDS];
    for (size_t i = 0; i < data->operand_count; i++)
        operands[i] = FN(widened)(problem->dtype, &data->operand[i]);
    for (size_t i = 0, used = 0; i < problem->stage_count; i++) {
        struct FN(tensor) next = FN(tensor_new)(problem_extent(problem, i + 1));
        used += FN(stage)(&run, &problem->stage[i], &now, &next, operands + used);
        free(now.at);
        now = next;
    }
    for (size_t i = 0; i < extent_elems(now.extent); i++)
        output[i] = now.at[i];
    spoil_output(mode.fault, now.extent, output);
    free(now.at);
    for (size_t i = 0; i < data->operand_count; i++)
        free(operands[i]);
}
