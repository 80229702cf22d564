/* The two loops of a Winograd convolution: sums of a few rows, and products at points.
 * Included by kernels.inc.c; called by winograd.c as kernels->combine() and kernels->multiply().
 *
 * Tiles lie in lanes, so transforms are plain sums of vectors and need no shuffles. */

/* `terms`, and `vectors` where it is not 0, are constants where this is expanded: many rows have
 * one or two vectors, and then the loop over them would take as long as the sums. */
INLINE void NAME(combine_terms)(const size_t terms, const size_t vectors,
                                const uc_combine *combine) {
    const REAL *in[UC_COMBINE_TERMS];
    vec factor[UC_COMBINE_TERMS];
    UNROLL for (size_t t = 0; t < terms; t++) {
        in[t] = combine->in[t];
        factor[t] = splat((REAL)combine->factor[t]);
    }
    REAL *out = combine->out;
    const size_t in_step = combine->in_step, out_step = combine->out_step,
                 lanes = vectors ? vectors * LANES : combine->lanes;
    size_t at = 0; /* one offset for all terms */
    for (size_t o = combine->count; o; o--, at += in_step, out += out_step)
        for (size_t i = 0; i < lanes; i += LANES) {
            vec sum = {0};
            UNROLL for (size_t t = 0; t < terms; t++) {
                const vec value = load_vector(in[t] + at + i);
                sum = t ? sum + factor[t] * value : factor[t] * value;
            }
            store_vector(out + i, sum);
        }
}

#define COMBINE(terms)                                                                             \
    static void NAME(combine_##terms)(const uc_combine *combine) {                                 \
        const size_t vectors = (combine->lanes - 1) / LANES + 1;                                   \
        if (vectors == 1)                                                                          \
            NAME(combine_terms)(terms, 1, combine);                                                \
        else if (vectors == 2)                                                                     \
            NAME(combine_terms)(terms, 2, combine);                                                \
        else if (vectors == 3)                                                                     \
            NAME(combine_terms)(terms, 3, combine);                                                \
        else                                                                                       \
            NAME(combine_terms)(terms, 0, combine);                                                \
    }
COMBINE(0)
COMBINE(1)
COMBINE(2)
COMBINE(3)
COMBINE(4)
COMBINE(5)
#undef COMBINE

static void NAME(combine)(const uc_combine *combine) {
    static void (*const by_terms[])(const uc_combine *) = {NAME(combine_0), NAME(combine_1),
                                                           NAME(combine_2), NAME(combine_3),
                                                           NAME(combine_4), NAME(combine_5)};
    by_terms[combine->terms](combine);
}

/* The outputs of one vector of products. `points` and `outputs` are constants where this is
 * expanded; sums and differences of opposite points serve several outputs. */
INLINE void NAME(outputs_of)(const uc_points points, const size_t outputs, const REAL *in,
                             size_t step, vec start, vec y[UC_COMBINE_TERMS]) {
    const REAL a = (REAL)UC_POINT_A, b = (REAL)UC_POINT_B;
    if (points == UC_POINTS_PLAIN) {
        UNROLL for (size_t j = 0; j < outputs; j++) y[j] = load_vector(in + j * step) + start;
        return;
    }
    const bool zero = points == UC_POINTS_4 || points == UC_POINTS_5;
    const vec none = zero ? load_vector(in) + start : start; /* what counts for output 0 alone */
    const REAL *rest = in + (zero ? step : 0);
    const vec m1 = load_vector(rest), m2 = load_vector(rest + step);
    const vec even = m1 + m2, odd = m1 - m2;
    if (points != UC_POINTS_5 && points != UC_POINTS_5_WITHOUT_0) {
        const vec last = load_vector(rest + 2 * step) + start; /* infinity */
        y[0] = none + even;
        y[1] = outputs == 2 ? odd + last : odd + start;
        y[2] = even + last;
        return;
    }
    const vec m3 = load_vector(rest + 2 * step), m4 = load_vector(rest + 3 * step);
    const vec even_b = m3 + m4, odd_b = m3 - m4;
    y[0] = none + even + even_b;
    y[1] = a * odd + (b * odd_b + start);
    y[2] = a * a * even + (b * b * even_b + start);
}

INLINE void NAME(interpolate_by)(const uc_points points, const size_t outputs,
                                 const uc_interpolate *by) {
    const REAL *in = by->in, *bias = by->bias;
    REAL *out = by->out;
    const size_t in_point = by->in_point, out_output = by->out_output, lanes = by->lanes;
    for (size_t o = 0; o < by->count; o++, in += by->in_step, out += by->out_step) {
        const vec start = splat(bias ? bias[o] : 0);
        for (size_t i = 0; i < lanes; i += LANES) {
            vec y[UC_COMBINE_TERMS];
            NAME(outputs_of)(points, outputs, in + i, in_point, start, y);
            UNROLL for (size_t j = 0; j < outputs; j++)
                store_vector(out + j * out_output + i, y[j]);
        }
    }
}

#define INTERPOLATE(points, outputs)                                                               \
    static void NAME(interpolate_##points##_##outputs)(const uc_interpolate *by) {                 \
        NAME(interpolate_by)(UC_POINTS_##points, outputs, by);                                     \
    }
INTERPOLATE(PLAIN, 1)
INTERPOLATE(PLAIN, 2)
INTERPOLATE(PLAIN, 3)
INTERPOLATE(3, 2)
INTERPOLATE(4, 2)
INTERPOLATE(4, 3)
INTERPOLATE(5, 2)
INTERPOLATE(5, 3)
INTERPOLATE(5_WITHOUT_0, 2)
INTERPOLATE(5_WITHOUT_0, 3)
#undef INTERPOLATE

static void NAME(interpolate)(const uc_interpolate *by) {
    static void (*const functions[][3])(const uc_interpolate *) = {
        [UC_POINTS_PLAIN] = {NAME(interpolate_PLAIN_1), NAME(interpolate_PLAIN_2),
                             NAME(interpolate_PLAIN_3)},
        [UC_POINTS_3] = {NULL, NAME(interpolate_3_2)},
        [UC_POINTS_4] = {NULL, NAME(interpolate_4_2), NAME(interpolate_4_3)},
        [UC_POINTS_5] = {NULL, NAME(interpolate_5_2), NAME(interpolate_5_3)},
        [UC_POINTS_5_WITHOUT_0] = {NULL, NAME(interpolate_5_WITHOUT_0_2),
                                   NAME(interpolate_5_WITHOUT_0_3)},
    };
    functions[by->points][by->outputs - 1](by);
}

/* One input channel of a product: `rows` weights, each times `vectors` vectors. These, and whether
 * it is the first, are constants where this is expanded: the first one starts the sums, since
 * adding it to zeros would take longer. */
INLINE void NAME(multiply_step)(const size_t rows, const size_t vectors, const bool first,
                                const REAL *v, const REAL *u, vec sum[PANEL][2]) {
    vec input[2];
    UNROLL for (size_t i = 0; i < vectors; i++) {
        input[i] = load_vector(v + i * LANES);
        PIN(input[i]);
    }
    UNROLL for (size_t c = 0; c < rows; c++) {
        vec weight = splat(u[c]);
        PIN(weight);
        UNROLL for (size_t i = 0; i < vectors; i++) sum[c][i] =
            first ? weight * input[i] : sum[c][i] + weight * input[i];
    }
}

/* One product. Its sum is made of parts, each of at most UC_POINT_PRODUCTS input channels or about
 * as many. */
INLINE void NAME(multiply_block)(const size_t rows, const size_t vectors,
                                 const uc_multiply *multiply, const size_t *panel, const REAL *v,
                                 const REAL *u, REAL *m) {
    const size_t lanes = multiply->lanes, step = multiply->v_step;
    bool more = false;
    for (size_t s = 0; s < multiply->segments; s++) {
        const REAL *from = v + panel[s];
        for (size_t left = multiply->in_channels; left;) {
            const size_t some = left < UC_POINT_PRODUCTS * 3 / 2 ? left : UC_POINT_PRODUCTS;
            vec sum[PANEL][2];
            NAME(multiply_step)(rows, vectors, true, from, u, sum);
            for (size_t ci = some - 1; ci; ci--)
                NAME(multiply_step)(rows, vectors, false, from += step, u += rows, sum);
            from += step;
            u += rows;
            left -= some;
            UNROLL for (size_t c = 0; c < rows; c++) UNROLL for (size_t i = 0; i < vectors; i++) {
                REAL *at = m + c * lanes + i * LANES;
                store_vector(at, more ? load_vector(at) + sum[c][i] : sum[c][i]);
            }
            more = true;
        }
    }
}

typedef void NAME(multiply_function)(const uc_multiply *multiply, const size_t *panel,
                                     const REAL *v, const REAL *u, REAL *m);

/* All points of a row of them, for one panel of channels. */
INLINE void NAME(multiply_panel)(const size_t rows, const uc_multiply *multiply,
                                 NAME(multiply_function) * pair, NAME(multiply_function) * single) {
    const REAL *u = multiply->u, *v = multiply->v;
    REAL *m = multiply->m;
    const size_t lanes = multiply->lanes, segments = multiply->segments;
    const size_t products = segments * multiply->in_channels * rows;
    const size_t *panel = multiply->panel;
    for (size_t p = 0; p < multiply->points; p++) {
        size_t i = 0;
        for (; i + 2 * LANES <= lanes; i += 2 * LANES)
            pair(multiply, panel, v + i, u, m + i);
        if (i < lanes)
            single(multiply, panel, v + i, u, m + i);
        m += rows * lanes;
        u += products;
        panel += segments;
    }
}

#define MULTIPLY(rows)                                                                             \
    static __attribute__((noinline)) void NAME(multiply_##rows##x2)(                               \
        const uc_multiply *multiply, const size_t *panel, const REAL *v, const REAL *u, REAL *m) { \
        NAME(multiply_block)(rows, 2, multiply, panel, v, u, m);                                   \
    }                                                                                              \
    static __attribute__((noinline)) void NAME(multiply_##rows##x1)(                               \
        const uc_multiply *multiply, const size_t *panel, const REAL *v, const REAL *u, REAL *m) { \
        NAME(multiply_block)(rows, 1, multiply, panel, v, u, m);                                   \
    }                                                                                              \
    static void NAME(multiply_##rows)(const uc_multiply *multiply) {                               \
        NAME(multiply_panel)                                                                       \
        (rows, multiply, NAME(multiply_##rows##x2), NAME(multiply_##rows##x1));                    \
    }
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
MULTIPLY(5)
MULTIPLY(6)
#if PANEL == 8
MULTIPLY(7)
MULTIPLY(8)
#endif
#undef MULTIPLY

static void NAME(multiply)(const uc_multiply *multiply) {
    static void (*const by_rows[PANEL])(const uc_multiply *) = {
        NAME(multiply_1),
        NAME(multiply_2),
        NAME(multiply_3),
        NAME(multiply_4),
        NAME(multiply_5),
        NAME(multiply_6),
#if PANEL == 8
        NAME(multiply_7),
        NAME(multiply_8),
#endif
    };
    by_rows[multiply->rows - 1](multiply);
}

static void NAME(split)(const void *columns, size_t count, ptrdiff_t first, size_t planes, void *to,
                        size_t plane_step) {
    const REAL *from = columns;
    const size_t past = first < 0 ? (size_t)-first : 0, skipped = first > 0 ? (size_t)first : 0;
    for (size_t p = 0; p < planes; p++) {
        REAL *plane = (REAL *)to + p * plane_step;
        size_t j = past > p ? (past - p - 1) / planes + 1 : 0;
        for (size_t i = 0; i < j; i++)
            plane[i] = 0;
        size_t i = j * planes + p - past + skipped;
        for (; planes == 2 && i + 2 * LANES <= count; i += 2 * LANES, j += LANES)
            store_vector(plane + j,
                         __builtin_shufflevector(load_vector(from + i),
                                                 load_vector(from + i + LANES), EVEN_LANES));
        for (; i < count; i += planes, j++)
            plane[j] = from[i];
        for (; j < plane_step; j++)
            plane[j] = 0;
    }
}

/* Bits of a magnitude, which are ordered like it, NaN behind infinity. */
static void NAME(magnitudes)(const void *reals, size_t step, size_t channels, size_t columns,
                             void *cells) {
    const REAL *from = reals;
    REAL *to = cells;
    for (size_t i = 0; i < columns; i += LANES) {
        INTEGER largest = 0, each[LANES] = {0};
        if (i + LANES <= columns) {
            ivec most = {0};
            for (size_t c = 0; c < channels; c++) {
                const ivec bits = (ivec)absolute(load_vector(from + c * step + i));
                const ivec larger = bits > most;
                most = (bits & larger) | (most & ~larger);
            }
            memcpy(each, &most, sizeof each);
        }
        for (size_t c = 0; i + LANES > columns && c < channels; c++)
            for (size_t k = i; k < columns; k++) {
                INTEGER bits;
                memcpy(&bits, from + c * step + k, sizeof bits);
                bits &= INTEGER_MAX;
                each[k - i] = bits > each[k - i] ? bits : each[k - i];
            }
        for (size_t k = 0; k < LANES; k++)
            largest = each[k] > largest ? each[k] : largest;
        memcpy(to++, &largest, sizeof largest);
    }
}
