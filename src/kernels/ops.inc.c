/* The ops of a chain on a tile, in place but for pools: one function per line of ops.def.
 * Included by kernels.inc.c; called by tile.c as kernels->finish[op]().
 *
 * Sums over channels, windows and space run in double whatever the real type is: they cost little
 * beside the convolution, and the result is as exact as its inputs. */

#define STRIP 64 /* positions that a channel op takes at a time: its statistics stay in L1 */

/* NaN if either is. */
static inline REAL NAME(larger)(REAL a, REAL b) {
    return a > b || a != a ? a : b;
}

static inline REAL NAME(value_for)(const uc_finish *finish, size_t c) {
    const REAL *per_channel = finish->per_channel;
    return per_channel ? per_channel[c] : (REAL)finish->stage->number[0];
}

static void NAME(add)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    const size_t positions = uc_tile_positions(in);
    REAL *row = out->reals;
    for (size_t c = 0; c < in->channels; c++, row += positions) {
        const REAL value = NAME(value_for)(finish, c);
        for (size_t i = 0; i < positions; i++)
            row[i] += value;
    }
}

static void NAME(mul)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    const size_t positions = uc_tile_positions(in);
    REAL *row = out->reals;
    for (size_t c = 0; c < in->channels; c++, row += positions) {
        const REAL value = NAME(value_for)(finish, c);
        for (size_t i = 0; i < positions; i++)
            row[i] *= value;
    }
}

/* A NaN bound makes everything NaN, a NaN value stays. */
static void NAME(clamp)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    const REAL low = (REAL)finish->stage->number[0], high = (REAL)finish->stage->number[1];
    REAL *reals = out->reals;
    for (size_t i = 0; i < in->channels * uc_tile_positions(in); i++) {
        const REAL raised = reals[i] < low || low != low ? low : reals[i];
        reals[i] = raised > high || high != high ? high : raised;
    }
}

/* x * Phi(x). In double and with erfc, for the far negative tail: there a rounding of the argument
 * is multiplied by x * x. */
static void NAME(gelu)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    (void)finish;
    REAL *reals = out->reals;
    for (size_t i = 0; i < in->channels * uc_tile_positions(in); i++) {
        const double x = reals[i];
        reals[i] = (REAL)(0.5 * x * erfc(-x * 0.70710678118654752440));
    }
}

static void NAME(sigmoid)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    (void)finish;
    REAL *reals = out->reals;
    for (size_t i = 0; i < in->channels * uc_tile_positions(in); i++) {
        const REAL x = reals[i], power = REAL_EXP(x < 0 ? x : -x); /* at most 1: no overflow */
        reals[i] = (x < 0 ? power : 1) / (1 + power);
    }
}

static void NAME(layernorm_channel)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    const size_t positions = uc_tile_positions(in), channels = in->channels;
    for (size_t begin = 0; begin < positions; begin += STRIP) {
        const size_t count = positions - begin < STRIP ? positions - begin : STRIP;
        REAL *strip = (REAL *)out->reals + begin;
        double mean[STRIP] = {0}, scale[STRIP] = {0};
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < count; i++)
                mean[i] += strip[c * positions + i];
        for (size_t i = 0; i < count; i++)
            mean[i] /= (double)channels;
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < count; i++) {
                const double away = strip[c * positions + i] - mean[i];
                scale[i] += away * away;
            }
        for (size_t i = 0; i < count; i++)
            scale[i] = 1 / sqrt(scale[i] / (double)channels + finish->stage->number[0]);
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < count; i++)
                strip[c * positions + i] = (REAL)((strip[c * positions + i] - mean[i]) * scale[i]);
    }
}

static void NAME(softmax_channel)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    (void)finish;
    const size_t positions = uc_tile_positions(in), channels = in->channels;
    for (size_t begin = 0; begin < positions; begin += STRIP) {
        const size_t count = positions - begin < STRIP ? positions - begin : STRIP;
        REAL *strip = (REAL *)out->reals + begin;
        REAL largest[STRIP];
        double sum[STRIP] = {0};
        memcpy(largest, strip, count * sizeof *largest);
        for (size_t c = 1; c < channels; c++)
            for (size_t i = 0; i < count; i++)
                largest[i] = NAME(larger)(largest[i], strip[c * positions + i]);
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < count; i++) {
                const REAL power = REAL_EXP(strip[c * positions + i] - largest[i]);
                strip[c * positions + i] = power;
                sum[i] += power;
            }
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < count; i++)
                strip[c * positions + i] = (REAL)(strip[c * positions + i] / sum[i]);
    }
}

static void NAME(sum_channel)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    (void)finish;
    const size_t positions = uc_tile_positions(in);
    REAL *reals = out->reals;
    for (size_t i = 0; i < positions; i++) {
        double sum = 0;
        for (size_t c = 0; c < in->channels; c++)
            sum += reals[c * positions + i];
        reals[i] = (REAL)sum;
    }
}

/* Where each window of a pool starts in its input tile, and a plain walk over it. */
static inline const REAL *NAME(window_at)(const uc_tile *in, const uc_tile *out,
                                          const size_t window[UC_SPACE], size_t c, size_t o) {
    const size_t w = o % out->size[2], h = o / out->size[2] % out->size[1],
                 d = o / out->size[2] / out->size[1];
    return (const REAL *)in->reals + c * uc_tile_positions(in) +
           (d * window[0] * in->size[1] + h * window[1]) * in->size[2] + w * window[2];
}

static void NAME(avgpool)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    const size_t *window = finish->stage->window, positions = uc_tile_positions(out);
    const double count = (double)(window[0] * window[1] * window[2]);
    REAL *pooled = out->reals;
    for (size_t c = 0; c < in->channels; c++)
        for (size_t o = 0; o < positions; o++) {
            const REAL *from = NAME(window_at)(in, out, window, c, o);
            double sum = 0;
            for (size_t d = 0; d < window[0]; d++)
                for (size_t h = 0; h < window[1]; h++)
                    for (size_t w = 0; w < window[2]; w++)
                        sum += from[(d * in->size[1] + h) * in->size[2] + w];
            pooled[c * positions + o] = (REAL)(sum / count);
        }
}

static void NAME(maxpool)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    const size_t *window = finish->stage->window, positions = uc_tile_positions(out);
    REAL *pooled = out->reals;
    for (size_t c = 0; c < in->channels; c++)
        for (size_t o = 0; o < positions; o++) {
            const REAL *from = NAME(window_at)(in, out, window, c, o);
            REAL largest = *from;
            for (size_t d = 0; d < window[0]; d++)
                for (size_t h = 0; h < window[1]; h++)
                    for (size_t w = 0; w < window[2]; w++)
                        largest =
                            NAME(larger)(largest, from[(d * in->size[1] + h) * in->size[2] + w]);
            pooled[c * positions + o] = largest;
        }
}

static void NAME(measure_softmax_space)(const uc_tile *tile, uc_summary *summaries) {
    const size_t positions = uc_tile_positions(tile);
    const REAL *row = tile->reals;
    for (size_t c = 0; c < tile->channels; c++, row += positions) {
        REAL largest = row[0];
        double sum = 0;
        for (size_t i = 1; i < positions; i++)
            largest = NAME(larger)(largest, row[i]);
        for (size_t i = 0; i < positions; i++)
            sum += REAL_EXP(row[i] - largest);
        summaries[c] = (uc_summary){largest, sum};
    }
}

static void NAME(softmax_space)(const uc_finish *finish, const uc_tile *in, uc_tile *out) {
    const size_t positions = uc_tile_positions(in);
    REAL *row = out->reals;
    for (size_t c = 0; c < in->channels; c++, row += positions) {
        const REAL largest = (REAL)finish->summaries[c].largest;
        const double sum = finish->summaries[c].sum;
        for (size_t i = 0; i < positions; i++)
            row[i] = (REAL)(REAL_EXP(row[i] - largest) / sum);
    }
}
