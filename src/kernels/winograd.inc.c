/* The two loops of a Winograd convolution: sums of a few rows, and products at points.
 * Included by kernels.inc.c; called by winograd.c as kernels->combine() and kernels->toom().
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

/* The outputs of one vector of each product, plus `start` unless that is NULL. All but the vectors
 * are constants where this is expanded; sums and differences of opposite points serve several
 * outputs. */
INLINE vec NAME(plus)(vec value, const vec *start) {
    return start ? value + *start : value;
}

INLINE void NAME(outputs_of)(const uc_points points, const size_t outputs, const vec *m,
                             const vec *start, vec y[UC_TOOM_OUTPUTS]) {
    const REAL a = (REAL)UC_POINT_A, b = (REAL)UC_POINT_B;
    if (points == UC_POINTS_PLAIN) {
        UNROLL for (size_t j = 0; j < outputs; j++) y[j] = NAME(plus)(m[j], start);
        return;
    }
    if (points == UC_POINTS_3_WITH_0) {
        const vec both = NAME(plus)(m[1], start);
        y[0] = m[0] + both;
        y[1] = both + m[2];
        return;
    }
    const bool zero = points == UC_POINTS_4 || points == UC_POINTS_5;
    const vec *rest = m + zero;
    const vec even = rest[0] + rest[1], odd = rest[0] - rest[1];
    y[0] = zero ? NAME(plus)(m[0], start) + even : NAME(plus)(even, start);
    if (points != UC_POINTS_5 && points != UC_POINTS_5_WITHOUT_0) {
        const vec last = NAME(plus)(rest[2], start); /* infinity */
        y[1] = outputs == 2 ? odd + last : NAME(plus)(odd, start);
        y[2] = even + last;
        return;
    }
    const vec even_b = rest[2] + rest[3], odd_b = rest[2] - rest[3];
    y[0] += even_b;
    y[1] = a * odd + NAME(plus)(b * odd_b, start);
    y[2] = a * a * even + NAME(plus)(b * b * even_b, start);
    y[3] = a * a * a * odd + NAME(plus)(b * b * b * odd_b, start);
}

/* Along two dimensions at once, so that what comes between them stays in registers; or along one,
 * the other being plain with one output. */
INLINE void NAME(interpolate_by)(const uc_points outer, const size_t outer_outputs,
                                 const uc_points inner, const size_t outputs,
                                 const uc_interpolate *by) {
    const size_t outer_points = uc_point_count(outer, outer_outputs),
                 points = uc_point_count(inner, outputs);
    const REAL *in = by->in, *bias = by->bias;
    REAL *out = by->out;
    const size_t in_point = by->in_point, out_outer = by->out_outer, out_output = by->out_output,
                 lanes = by->lanes;
    for (size_t o = 0; o < by->count; o++, in += lanes, out += by->out_step) {
        const vec start = splat(bias ? bias[o] : 0);
        for (size_t i = 0; i < lanes; i += LANES) {
            vec y[UC_TOOM_POINTS][UC_TOOM_OUTPUTS];
            UNROLL for (size_t p = 0; p < outer_points; p++) {
                vec m[UC_TOOM_POINTS];
                UNROLL for (size_t q = 0; q < points; q++) m[q] =
                    load_vector(in + (p * points + q) * in_point + i);
                NAME(outputs_of)(inner, outputs, m, outer_points > 1 ? NULL : &start, y[p]);
            }
            UNROLL for (size_t k = 0; k < outputs; k++) {
                vec m[UC_TOOM_POINTS], z[UC_TOOM_OUTPUTS];
                UNROLL for (size_t p = 0; p < outer_points; p++) m[p] = y[p][k];
                NAME(outputs_of)(outer, outer_outputs, m, outer_points > 1 ? &start : NULL, z);
                UNROLL for (size_t j = 0; j < outer_outputs; j++)
                    store_vector(out + j * out_outer + k * out_output + i, z[j]);
            }
        }
    }
}

/* Along one dimension, by points and outputs. */
#define LINE(points, outputs)                                                                      \
    static void NAME(line_##points##_##outputs)(const uc_interpolate *by) {                        \
        NAME(interpolate_by)(UC_POINTS_PLAIN, 1, UC_POINTS_##points, outputs, by);                 \
    }
LINE(PLAIN, 1)
LINE(PLAIN, 2)
LINE(PLAIN, 3)
LINE(PLAIN, 4)
LINE(3, 2)
LINE(3_WITH_0, 2)
LINE(4, 2)
LINE(4, 3)
LINE(5, 2)
LINE(5, 3)
LINE(5, 4)
LINE(5_WITHOUT_0, 2)
LINE(5_WITHOUT_0, 3)
#undef LINE

typedef void NAME(interpolation)(const uc_interpolate *by);
static NAME(interpolation) *const NAME(line)[][UC_TOOM_OUTPUTS] = {
    [UC_POINTS_PLAIN] = {NAME(line_PLAIN_1), NAME(line_PLAIN_2), NAME(line_PLAIN_3),
                         NAME(line_PLAIN_4)},
    [UC_POINTS_3] = {NULL, NAME(line_3_2)},
    [UC_POINTS_3_WITH_0] = {NULL, NAME(line_3_WITH_0_2)},
    [UC_POINTS_4] = {NULL, NAME(line_4_2), NAME(line_4_3)},
    [UC_POINTS_5] = {NULL, NAME(line_5_2), NAME(line_5_3), NAME(line_5_4)},
    [UC_POINTS_5_WITHOUT_0] = {NULL, NAME(line_5_WITHOUT_0_2), NAME(line_5_WITHOUT_0_3)},
};

/* Along height and width, where what comes between fits the registers. */
#define PLANE(height, heights, width, widths)                                                      \
    static void NAME(plane_##height##_##heights##_##width##_##widths)(const uc_interpolate *by) {  \
        NAME(interpolate_by)(UC_POINTS_##height, heights, UC_POINTS_##width, widths, by);          \
    }
#define PLANES(height, heights)                                                                    \
    PLANE(height, heights, 3, 2)                                                                   \
    PLANE(height, heights, 3_WITH_0, 2)
#define MORE_PLANES(height, heights)                                                               \
    PLANES(height, heights)                                                                        \
    PLANE(height, heights, 4, 2)                                                                   \
    PLANE(height, heights, 4, 3)
MORE_PLANES(3, 2)
MORE_PLANES(3_WITH_0, 2)
MORE_PLANES(4, 2)
MORE_PLANES(4, 3)
PLANES(5, 2)
PLANES(5, 3)
PLANES(5, 4)
#undef MORE_PLANES
#undef PLANES
#undef PLANE

/* NULL where there is none. */
static NAME(interpolation) *
    NAME(plane)(const uc_points kind[UC_SPACE], const size_t outputs[UC_SPACE]) {
#define PLANES(height, heights)                                                                    \
    NAME(plane_##height##_##heights##_3_2), NAME(plane_##height##_##heights##_3_WITH_0_2)
#define MORE_PLANES(height, heights)                                                               \
    PLANES(height, heights), NAME(plane_##height##_##heights##_4_2),                               \
        NAME(plane_##height##_##heights##_4_3)
    static NAME(interpolation) *const planes[][4] = {
        {MORE_PLANES(3, 2)}, {MORE_PLANES(3_WITH_0, 2)},
        {MORE_PLANES(4, 2)}, {MORE_PLANES(4, 3)},
        {PLANES(5, 2)},      {PLANES(5, 3)},
        {PLANES(5, 4)}};
#undef MORE_PLANES
#undef PLANES
    if (!uc_points_fit(kind[1], kind[2]))
        return NULL;
    size_t at[2];
    for (size_t i = 0; i < 2; i++)
        at[i] = kind[1 + i] == UC_POINTS_5 ? 2 + outputs[1 + i]
                                           : kind[1 + i] - UC_POINTS_3 + (outputs[1 + i] == 3);
    return planes[at[0]][at[1]];
}

/* Fetches what the next product reads. With wider vectors inputs take twice as much of L1, and
 * leave it before they are read again. */
INLINE void NAME(fetch_inputs)(const size_t vectors, const REAL *next) {
#if VECTOR_BYTES == 64
    UNROLL for (size_t v = 0; v < vectors; v++) __builtin_prefetch(next + v * LANES);
#else
    (void)vectors;
    (void)next;
#endif
}

/* The products of some input channels, added up. Four channels a turn: the end of a short loop is
 * foreseen, that of a long one costs as much as several channels. next: inputs of the product
 * behind this one, from its own on. */
INLINE void NAME(multiply_channels)(const size_t rows, const size_t vectors, size_t channels,
                                    const REAL *v, ptrdiff_t next, size_t step, const REAL *u,
                                    vec sum[SUMS]) {
    NAME(fetch_inputs)(vectors, v + next);
    NAME(step)(rows, vectors, true, v, u, sum);
    for (channels--; channels % 4; channels--) {
        v += step;
        NAME(fetch_inputs)(vectors, v + next);
        NAME(step)(rows, vectors, false, v, u += rows, sum);
    }
    for (; channels; channels -= 4)
        UNROLL for (size_t ci = 0; ci < 4; ci++) {
            v += step;
            NAME(fetch_inputs)(vectors, v + next);
            NAME(step)(rows, vectors, false, v, u += rows, sum);
        }
}

/* One product, for `vectors` vectors of lanes: its sum is made of parts, each of about
 * `part` input channels. end: of all reads. */
INLINE void NAME(multiply_point)(const size_t rows, const size_t vectors, const uc_toom_run *run,
                                 const size_t *read, const size_t *end, const REAL *v,
                                 const REAL *u, REAL *m) {
    bool more = false;
    for (size_t s = 0; s < run->segments; s++) {
        const REAL *from = v + read[s];
        const ptrdiff_t next = &read[s + 1] < end ? (ptrdiff_t)(read[s + 1] - read[s]) : 0;
        for (size_t left = run->in_channels; left;) {
            const size_t some = left < run->part * 3 / 2 ? left : run->part;
            vec sum[SUMS];
            NAME(multiply_channels)(rows, vectors, some, from, next, run->v_step, u, sum);
            from += some * run->v_step;
            u += some * rows;
            left -= some;
            NAME(put_sums)(rows, vectors, more, sum, m, vectors * LANES);
            more = true;
        }
    }
}

/* All products of one or two vectors of lanes, and the outputs they make: along the width after
 * each row of points and along the height after each plane of them, or along both at once; along
 * the depth at the end. What is plain is its own output: it goes where that belongs, and the last
 * dimension that is not plain, or else the width, puts outputs into place with their bias. */
INLINE void NAME(toom_lanes)(const size_t rows, const size_t vectors, const uc_toom_run *run,
                             size_t first) {
    const size_t tile = rows * vectors * LANES; /* reals of one product */
    const size_t row = run->outputs[2] * tile, plane = run->outputs[1] * row;
    const bool plain_depth = run->kind[0] == UC_POINTS_PLAIN,
               plain_height = run->kind[1] == UC_POINTS_PLAIN,
               plain_width = run->kind[2] == UC_POINTS_PLAIN,
               width_last = plain_depth && plain_height;
    NAME(interpolation) *const along_both = NAME(plane)(run->kind, run->outputs);
    REAL *products = run->scratch, *by_width = products + UC_TOOM_POINTS * UC_TOOM_POINTS * tile,
         *by_height = by_width + UC_TOOM_POINTS * row, *out = (REAL *)run->out + first;
    const REAL *v = (const REAL *)run->v + first / (2 * LANES) * run->v_pair;
    const size_t *read = run->read, *const end = read + run->points[0] * run->points[1] *
                                                            run->points[2] * run->segments;
    /* Weights of a point, a row of points and a plane of them; from one of each to the next. */
    const size_t u_point = run->segments * run->in_channels * rows,
                 u_row = uc_weight_count(run->kind[2], run->points[2]) * u_point,
                 u_plane = uc_weight_count(run->kind[1], run->points[1]) * u_row;
    const size_t u_step[UC_SPACE] = {plain_depth ? 0 : u_plane, plain_height ? 0 : u_row,
                                     plain_width ? 0 : u_point};
    const uc_interpolate between = {.in = products,
                                    .in_point = tile,
                                    .out_outer = row,
                                    .out_output = tile,
                                    .count = 1,
                                    .lanes = tile},
                         last = {.in = products,
                                 .in_point = tile,
                                 .out_outer = run->out_output[1],
                                 .out_output = run->out_output[2],
                                 .count = rows,
                                 .out_step = run->out_channel,
                                 .lanes = vectors * LANES,
                                 .bias = run->bias};
    for (size_t d = 0; d < run->points[0]; d++) {
        REAL *heights = by_height + d * plane, *place = out + d * run->out_output[0];
        for (size_t h = 0; h < run->points[1]; h++) {
            REAL *widths = (plain_height ? heights : by_width) + h * row,
                 *m = along_both                   ? products + h * run->points[2] * tile
                      : plain_width && !width_last ? widths
                                                   : products;
            const REAL *u = (const REAL *)run->u + d * u_step[0] + h * u_step[1];
            for (size_t w = 0; w < run->points[2]; w++, read += run->segments, u += u_step[2])
                NAME(multiply_point)(rows, vectors, run, read, end, v, u, m + w * tile);
            if (along_both || m == widths)
                continue;
            uc_interpolate by = width_last ? last : between;
            by.out = width_last ? place + h * run->out_output[1] : widths;
            NAME(line)[run->kind[2]][run->outputs[2] - 1](&by);
        }
        uc_interpolate by = plain_depth ? last : between;
        by.out = plain_depth ? place : heights;
        if (along_both)
            along_both(&by);
        by.in_point = row;
        by.out_output = by.out_outer;
        for (size_t k = 0; !along_both && !plain_height && k < run->outputs[2]; k++) {
            by.in = by_width + k * tile;
            by.out = plain_depth ? place + k * run->out_output[2] : heights + k * tile;
            NAME(line)[run->kind[1]][run->outputs[1] - 1](&by);
        }
    }
    uc_interpolate by = last;
    by.in_point = plane;
    by.out_output = run->out_output[0];
    for (size_t j = 0; !plain_depth && j < run->outputs[1]; j++)
        for (size_t k = 0; k < run->outputs[2]; k++) {
            by.in = by_height + j * row + k * tile;
            by.out = out + j * run->out_output[1] + k * run->out_output[2];
            NAME(line)[run->kind[0]][run->outputs[0] - 1](&by);
        }
}

#define LARGE_TOOM(rows, none) TOOM(rows)
#define TOOM(rows)                                                                                 \
    static void NAME(toom_##rows##x2)(const uc_toom_run *run, size_t first) {                      \
        NAME(toom_lanes)(rows, 2, run, first);                                                     \
    }                                                                                              \
    static void NAME(toom_##rows##x1)(const uc_toom_run *run, size_t first) {                      \
        NAME(toom_lanes)(rows, 1, run, first);                                                     \
    }
TOOM(1)
TOOM(2)
TOOM(3)
TOOM(4)
TOOM(5)
TOOM(6)
LARGE_SIZES(LARGE_TOOM, )
#undef LARGE_TOOM
#undef TOOM

#define LARGE_TOOM(rows, vectors) NAME(toom_##rows##x##vectors),
static void NAME(toom)(const uc_toom_run *run) {
    static void (*const pairs[PANEL])(const uc_toom_run *, size_t) = {NAME(toom_1x2),
                                                                      NAME(toom_2x2),
                                                                      NAME(toom_3x2),
                                                                      NAME(toom_4x2),
                                                                      NAME(toom_5x2),
                                                                      NAME(toom_6x2),
                                                                      LARGE_SIZES(LARGE_TOOM, 2)};
    static void (*const singles[PANEL])(const uc_toom_run *, size_t) = {NAME(toom_1x1),
                                                                        NAME(toom_2x1),
                                                                        NAME(toom_3x1),
                                                                        NAME(toom_4x1),
                                                                        NAME(toom_5x1),
                                                                        NAME(toom_6x1),
                                                                        LARGE_SIZES(LARGE_TOOM, 1)};
    size_t first = 0;
    for (; first + 2 * LANES <= run->lanes; first += 2 * LANES)
        pairs[run->rows - 1](run, first);
    if (first < run->lanes)
        singles[run->rows - 1](run, first);
}
#undef LARGE_TOOM

/* Four channels by four taps are turned in registers; the last four channels may have some of those
 * before them again. */
static void NAME(by_tap)(const void *reals, size_t channels, size_t taps, double *to, size_t step) {
    typedef REAL narrow __attribute__((vector_size(4 * sizeof(REAL))));
    typedef double wide __attribute__((vector_size(4 * sizeof(double))));
    const REAL *from = reals;
    size_t t = 0;
    for (; channels >= 4 && t + 4 <= taps; t += 4)
        for (size_t i = 0; i < channels; i += 4) {
            const size_t c = i + 4 <= channels ? i : channels - 4;
            wide of_channel[4], pair[4];
            UNROLL for (size_t k = 0; k < 4; k++) {
                narrow some;
                memcpy(&some, from + (c + k) * taps + t, sizeof some);
                of_channel[k] = __builtin_convertvector(some, wide);
            }
            UNROLL for (size_t k = 0; k < 4; k += 2) {
                pair[k] = __builtin_shufflevector(of_channel[k], of_channel[k + 1], 0, 4, 2, 6);
                pair[k + 1] = __builtin_shufflevector(of_channel[k], of_channel[k + 1], 1, 5, 3, 7);
            }
            UNROLL for (size_t k = 0; k < 2; k++) {
                const wide low = __builtin_shufflevector(pair[k], pair[k + 2], 0, 1, 4, 5),
                           high = __builtin_shufflevector(pair[k], pair[k + 2], 2, 3, 6, 7);
                memcpy(to + (t + k) * step + c, &low, sizeof low);
                memcpy(to + (t + k + 2) * step + c, &high, sizeof high);
            }
        }
    for (; t < taps; t++)
        for (size_t c = 0; c < channels; c++)
            to[t * step + c] = from[c * taps + t];
}

/* Sums of weights for a number of terms that is a constant where this is expanded, to doubles or to
 * reals. */
#define TRANSFORM(terms, type)                                                                     \
    for (size_t i = 0; i < count; i++) {                                                           \
        double sum = factor[0] * from[i];                                                          \
        UNROLL for (size_t t = 1; t < (terms); t++) sum += factor[t] * from[t * step + i];         \
        ((type *)to)[i] = (type)sum;                                                               \
    }
#define TRANSFORMS(type)                                                                           \
    if (terms == 1) {                                                                              \
        TRANSFORM(1, type)                                                                         \
    } else if (terms == 2) {                                                                       \
        TRANSFORM(2, type)                                                                         \
    } else if (terms == 3) {                                                                       \
        TRANSFORM(3, type)                                                                         \
    } else {                                                                                       \
        TRANSFORM(terms, type)                                                                     \
    }

static void NAME(transform)(const double *factor, size_t terms, const double *restrict from,
                            size_t step, double *restrict to, size_t count) {
    TRANSFORMS(double)
}

static void NAME(transform_last)(const double *factor, size_t terms, const double *restrict from,
                                 size_t step, void *restrict to, size_t count) {
    TRANSFORMS(REAL)
}
#undef TRANSFORMS
#undef TRANSFORM

/* Of 2 or 3 vectors of columns, every second or third. */
#define THIRD_OF_TWO(q) (3 * (q) < 2 * LANE_COUNT ? 3 * (q) : -1)
#define THIRD_OF_ALL(q) (3 * (q) < 2 * LANE_COUNT ? (q) : 3 * (q)-LANE_COUNT)
INLINE vec NAME(every)(const size_t planes, const REAL *from) {
    const vec a = load_vector(from), b = load_vector(from + LANES);
    if (planes == 2)
        return __builtin_shufflevector(a, b, EVEN_LANES);
    return __builtin_shufflevector(__builtin_shufflevector(a, b, EACH_LANE(THIRD_OF_TWO, 0)),
                                   load_vector(from + 2 * LANES), EACH_LANE(THIRD_OF_ALL, 0));
}

/* Columns i, i + planes, ... to one plane, as long as there are whole vectors of them: returns how
 * many. `planes` is a constant where this is expanded. */
INLINE size_t NAME(split_plane)(const size_t planes, const REAL *from, size_t i, size_t count,
                                REAL *to) {
    const size_t whole = planes * LANES;
    size_t j = 0;
    for (; i + whole <= count; i += whole, j += LANES)
        store_vector(to + j, NAME(every)(planes, from + i));
    /* The last vector may do some of those before it again. */
    const size_t back = (i + whole - count + planes - 1) / planes;
    if (!j || back >= LANES)
        return j;
    j -= back;
    store_vector(to + j, NAME(every)(planes, from + i - back * planes));
    return j + LANES;
}

static void NAME(split)(const void *columns, size_t count, ptrdiff_t first, size_t planes, void *to,
                        size_t plane_step) {
    const REAL *from = columns;
    const size_t past = first < 0 ? (size_t)-first : 0, skipped = first > 0 ? (size_t)first : 0;
    /* Where padding is wider than the kernel, the last columns are not read, nor is there room. */
    const size_t room = planes * plane_step, end = past < room ? skipped + room - past : 0;
    count = count < end ? count : end;
    for (size_t p = 0; p < planes; p++) {
        REAL *plane = (REAL *)to + p * plane_step;
        size_t j = past > p ? (past - p - 1) / planes + 1 : 0;
        for (size_t i = 0; i < j; i++)
            plane[i] = 0;
        const size_t i = j * planes + p - past + skipped;
        size_t done = 0;
        if (planes == 2)
            done = NAME(split_plane)(2, from, i, count, plane + j);
        else if (planes == 3)
            done = NAME(split_plane)(3, from, i, count, plane + j);
        j += done;
        for (size_t k = i + done * planes; k < count; k += planes)
            plane[j++] = from[k];
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
