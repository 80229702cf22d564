/* The ops of a chain on rows of a tile: one function per line of ops.def, pools two.
 * Included by kernels.inc.c; called by rows.c, run.c and block.c through the table.
 *
 * Ops that need one element or the channels of a position take whole vectors of a channel's lanes
 * and don't care which columns they are. */

INLINE REAL NAME(value_for)(const uc_finish *finish, size_t c) {
    const REAL *per_channel = finish->per_channel;
    return per_channel ? per_channel[finish->first_channel + c] : (REAL)finish->stage->number[0];
}

/* Every element op is this loop around an expression of a vector of channel c. */
#define FOR_EACH_CHANNEL(rows) for (size_t c = 0; c < (rows)->channels; c++)
#define FOR_EACH_VECTOR(rows)                                                                      \
    for (REAL *at = (REAL *)(rows)->reals + c * (rows)->lanes, *end = at + (rows)->width;          \
         at < end; at += LANES)

static void NAME(add)(const uc_finish *finish, const uc_rows *rows) {
    FOR_EACH_CHANNEL(rows) {
        const vec value = splat(NAME(value_for)(finish, c));
        FOR_EACH_VECTOR(rows)
        store_vector(at, load_vector(at) + value);
    }
}

static void NAME(mul)(const uc_finish *finish, const uc_rows *rows) {
    FOR_EACH_CHANNEL(rows) {
        const vec value = splat(NAME(value_for)(finish, c));
        FOR_EACH_VECTOR(rows)
        store_vector(at, load_vector(at) * value);
    }
}

/* A NaN bound makes everything NaN, a NaN value stays. */
static void NAME(clamp)(const uc_finish *finish, const uc_rows *rows) {
    const double *bounds = finish->stage->number;
    const bool none = isnan(bounds[0]) || isnan(bounds[1]);
    const vec low = splat((REAL)bounds[0]), high = splat((REAL)bounds[1]);
    FOR_EACH_CHANNEL(rows)
    FOR_EACH_VECTOR(rows)
    store_vector(at, none ? splat((REAL)NAN) : lesser(high, greater(low, load_vector(at))));
}

/* Some vectors share the test for values far from 0, which are rare behind a norm. */
INLINE void NAME(gelu_group)(REAL *at, const size_t vectors) {
    vec x[4], root[4];
    ivec far = {0};
    UNROLL for (size_t i = 0; i < vectors; i++) {
        x[i] = load_vector(at + i * LANES);
        far |= ~(absolute(x[i]) <= NEAR_END);
    }
    NAME(near_roots)(vectors, x, root);
    UNROLL for (size_t i = 0; i < vectors; i++)
        store_vector(at + i * LANES, NAME(gelu_near)(x[i], root[i]));
    if (!NAME(none)(far))
        for (size_t i = 0; i < vectors; i++)
            store_vector(at + i * LANES, NAME(gelu_of)(x[i]));
}

static void NAME(gelu)(const uc_finish *finish, const uc_rows *rows) {
    (void)finish;
    const bool whole = rows->width == rows->lanes; /* channels lie one behind the other */
    const size_t pieces = whole ? 1 : rows->channels,
                 width = whole ? rows->channels * rows->lanes : rows->width;
    for (size_t c = 0; c < pieces; c++) {
        REAL *at = (REAL *)rows->reals + c * rows->lanes, *end = at + width;
        for (; at + 4 * LANES <= end; at += 4 * LANES)
            NAME(gelu_group)(at, 4);
        for (; at < end; at += LANES)
            NAME(gelu_group)(at, 1);
    }
}

static void NAME(sigmoid)(const uc_finish *finish, const uc_rows *rows) {
    (void)finish;
    FOR_EACH_CHANNEL(rows)
    FOR_EACH_VECTOR(rows)
    store_vector(at, NAME(sigmoid_of)(load_vector(at)));
}

/* Long sums are made of sums of this many terms: equal terms are all rounded the same way, and that
 * adds up. */
#define SUM_TERMS 8

/* Channel ops take STRIP vectors of lanes down all channels, or one where fewer are left. */
#define STRIP 4
#define FOR_EACH_STRIP(rows, strip_op)                                                             \
    size_t begin = 0;                                                                              \
    for (; begin + STRIP * LANES <= (rows)->width; begin += STRIP * LANES)                         \
        strip_op(finish, rows, begin, STRIP);                                                      \
    for (; begin < (rows)->width; begin += LANES)                                                  \
        strip_op(finish, rows, begin, 1);

/* `strip`, `centred` and `adds` are constants where this is expanded. Unless it is known to be 0,
 * the mean is taken off in two steps: what the first one missed by rounding is small beside the
 * mean but need not be beside the deviation, and shows in the second pass. */
INLINE void NAME(layernorm_lanes)(const uc_finish *finish, const uc_rows *rows, size_t begin,
                                  const size_t strip, const bool centred, const bool adds) {
    const size_t channels = rows->channels, lanes = rows->lanes;
    const REAL share = (REAL)(1 / (double)channels), eps = (REAL)finish->stage->number[0];
    REAL *column = (REAL *)rows->reals + begin;
    vec mean[STRIP] = {{0}}, missed[STRIP] = {{0}}, scale[STRIP] = {{0}};
    if (!centred) {
        for (size_t c = 0; c < channels; c++)
            UNROLL for (size_t v = 0; v < strip; v++) mean[v] +=
                load_vector(column + c * lanes + v * LANES);
        UNROLL for (size_t v = 0; v < strip; v++) mean[v] *= share;
    }
    for (size_t c = 0; c < channels; c++)
        UNROLL for (size_t v = 0; v < strip; v++) {
            vec away = load_vector(column + c * lanes + v * LANES);
            if (!centred) {
                away -= mean[v];
                missed[v] += away;
            }
            scale[v] += away * away;
        }
    UNROLL for (size_t v = 0; v < strip; v++) {
        REAL each[LANES];
        missed[v] *= share;
        store_vector(each, scale[v] * share - missed[v] * missed[v] + eps);
        for (size_t i = 0; i < LANES; i++)
            each[i] = REAL_SQRT(each[i]);
        scale[v] = 1 / load_vector(each);
    }
    REAL *out = adds ? (REAL *)finish->sums + begin : column;
    const REAL *line = finish->curve;
    for (size_t c = 0; c < channels; c++) {
        const vec factor = splat(line ? line[2 * c + 1] : 1), term = splat(line ? line[2 * c] : 0);
        UNROLL for (size_t v = 0; v < strip; v++) {
            const size_t at = c * lanes + v * LANES;
            vec away = load_vector(column + at);
            if (!centred)
                away = away - mean[v] - missed[v];
            away = away * scale[v] * factor + term;
            store_vector(out + at, adds ? load_vector(out + at) + away : away);
        }
    }
}

INLINE void NAME(layernorm_strip)(const uc_finish *finish, const uc_rows *rows, size_t begin,
                                  const size_t strip) {
    if (finish->sums)
        finish->centred ? NAME(layernorm_lanes)(finish, rows, begin, strip, true, true)
                        : NAME(layernorm_lanes)(finish, rows, begin, strip, false, true);
    else
        finish->centred ? NAME(layernorm_lanes)(finish, rows, begin, strip, true, false)
                        : NAME(layernorm_lanes)(finish, rows, begin, strip, false, false);
}

static void NAME(layernorm_channel)(const uc_finish *finish, const uc_rows *rows){
    FOR_EACH_STRIP(rows, NAME(layernorm_strip))}

/* A NaN is not looked for among the largest: it makes the sum NaN, and so all channels. */
INLINE void NAME(softmax_strip)(const uc_finish *finish, const uc_rows *rows, size_t begin,
                                const size_t strip) {
    const size_t channels = rows->channels, lanes = rows->lanes;
    REAL *column = (REAL *)rows->reals + begin;
    vec largest[STRIP], part[STRIP] = {{0}}, sum[STRIP] = {{0}};
    UNROLL for (size_t v = 0; v < strip; v++) largest[v] = load_vector(column + v * LANES);
    for (size_t c = 1; c < channels; c++)
        UNROLL for (size_t v = 0; v < strip; v++) largest[v] =
            greater(load_vector(column + c * lanes + v * LANES), largest[v]);
    for (size_t c = 0; c < channels; c++) {
        UNROLL for (size_t v = 0; v < strip; v++) {
            REAL *at = column + c * lanes + v * LANES;
            const vec power = NAME(exp)(load_vector(at) - largest[v]);
            store_vector(at, power);
            part[v] += power;
        }
        if (c % SUM_TERMS == SUM_TERMS - 1 || c + 1 == channels)
            UNROLL for (size_t v = 0; v < strip; v++) {
                sum[v] += part[v];
                part[v] = (vec){0};
            }
    }
    UNROLL for (size_t v = 0; v < strip; v++) sum[v] = 1 / sum[v];
    const REAL *curve = finish->curve;
    const bool straight = !curve || finish->curve_degree == 1;
    for (size_t c = 0; straight && c < channels; c++) {
        const vec factor = splat(curve ? curve[2 * c + 1] : 1),
                  term = splat(curve ? curve[2 * c] : 0);
        UNROLL for (size_t v = 0; v < strip; v++) {
            REAL *at = column + c * lanes + v * LANES;
            store_vector(at, load_vector(at) * sum[v] * factor + term);
        }
    }
    const size_t degree = REAL_IS_DOUBLE ? UC_CURVE_DEGREE_F64 : UC_CURVE_DEGREE;
    for (size_t c = 0; !straight && c < channels; c++, curve += degree + 1) {
        vec x[STRIP], value[STRIP];
        UNROLL for (size_t v = 0; v < strip; v++) {
            x[v] = load_vector(column + c * lanes + v * LANES) * sum[v];
            if (REAL_IS_DOUBLE)
                x[v] -= (REAL)0.5;
            value[v] = splat(curve[degree]);
        }
        UNROLL for (size_t i = degree; i-- > 0;) {
            const vec coefficient = splat(curve[i]);
            UNROLL for (size_t v = 0; v < strip; v++) value[v] = value[v] * x[v] + coefficient;
        }
        UNROLL for (size_t v = 0; v < strip; v++) store_vector(
            column + c * lanes + v * LANES, REAL_IS_DOUBLE ? 1 / (1 + value[v]) : value[v]);
    }
}

static void NAME(softmax_channel)(const uc_finish *finish, const uc_rows *rows) {
    FOR_EACH_STRIP(rows, NAME(softmax_strip))
}

static void NAME(sum_channel)(const uc_finish *finish, const uc_rows *rows) {
    (void)finish;
    for (size_t i = 0; i < rows->width; i += LANES) {
        REAL *column = (REAL *)rows->reals + i;
        vec total = {0};
        for (size_t c = 0; c < rows->channels;) {
            vec part = load_vector(column + c++ * rows->lanes);
            for (; c < rows->channels && c % SUM_TERMS; c++)
                part += load_vector(column + c * rows->lanes);
            total += part;
        }
        store_vector(column, total);
    }
}

/* ---- Pools: down rows lane by lane, then along the width ---- */

INLINE vec NAME(sum_of)(vec a, vec b) {
    return a + b;
}

/* The larger lanes; NaN where either is. */
INLINE vec NAME(larger_of)(vec a, vec b) {
    return choose(a != a, a, greater(a, b));
}

/* Both pools are these loops around a way to fold two vectors into one. Buffers end in whole
 * vectors, so the last one may reach past what counts. */
INLINE void NAME(merge)(vec (*fold)(vec, vec), REAL *into, size_t into_step, const REAL *from,
                        size_t from_step, size_t channels, size_t count, bool first) {
    for (size_t c = 0; c < channels; c++, into += into_step, from += from_step) {
        size_t i = 0;
        if (c + 4 < channels) /* the input's channels are a page each */
            for (size_t k = 0; k < count; k += 64 / sizeof *from)
                __builtin_prefetch(from + 4 * from_step + k);
        if (first)
            for (; i + LANES <= count; i += LANES)
                store_vector(into + i, load_vector(from + i));
        for (; i + LANES <= count; i += LANES)
            store_vector(into + i, fold(load_vector(into + i), load_vector(from + i)));
        if (HAS_MASKS && i < count) {
            const vec value = NAME(load_some)(from + i, count - i);
            NAME(store_some)
            (into + i, first ? value : fold(NAME(load_some)(into + i, count - i), value),
             count - i);
            continue;
        }
        for (; i < count; i++) {
            const vec folded = fold(splat(into[i]), splat(from[i]));
            into[i] = first ? from[i] : folded[0];
        }
    }
}

/* Windows of 2 in a row of one phase, a vector of them at a time; returns how many. */
INLINE size_t NAME(fold_pairs)(vec (*fold)(vec, vec), REAL share, const REAL *from, REAL *to,
                               size_t columns) {
    size_t o = 0;
    for (; o + LANES <= columns; o += LANES) {
        const vec a = load_vector(from + 2 * o), b = load_vector(from + 2 * o + LANES);
        store_vector(to + o, fold(__builtin_shufflevector(a, b, EVEN_LANES),
                                  __builtin_shufflevector(a, b, ODD_LANES)) *
                                 share);
    }
    return o;
}

/* Where windows are whole phases, lanes stay lanes: of all rows at once. */
INLINE void NAME(fold_phases)(vec (*fold)(vec, vec), size_t window, REAL share, const REAL *from,
                              size_t from_step, REAL *to, size_t lanes) {
    for (size_t i = 0; i < lanes; i += LANES) {
        vec folded = load_vector(from + i);
        for (size_t e = 1; e < window; e++)
            folded = fold(folded, load_vector(from + e * from_step + i));
        store_vector(to + i, folded * share);
    }
}

INLINE void NAME(fold)(vec (*fold)(vec, vec), size_t window, REAL share, const uc_rows *in,
                       const uc_rows *out) {
    for (size_t c = 0; c < in->channels; c++) {
        const REAL *channel = (const REAL *)in->reals + c * in->lanes;
        REAL *made = (REAL *)out->reals + c * out->lanes;
        if (window * out->phases == in->phases && in->pitch == out->pitch &&
            in->phase_step >= out->phase_step) {
            for (size_t e = 0; e < out->phases; e++) {
                const REAL *first = channel + e * window * in->phase_step;
                REAL *to = made + e * out->phase_step;
                NAME(fold_phases)(fold, window, share, first, in->phase_step, to, out->phase_step);
            }
            continue;
        }
        for (size_t r = 0; r < out->rows; r++) {
            const REAL *from = channel + r * in->pitch;
            REAL *to = made + r * out->pitch;
            size_t o = 0;
            if (window == 2 && in->phases == 1)
                o = NAME(fold_pairs)(fold, share, from, to, out->columns);
            /* The rest goes column by column, wherever its phases are. */
            size_t e = o * window % in->phases, lane = o * window / in->phases;
            for (; o < out->columns; o++) {
                vec folded = splat(from[e * in->phase_step + lane]);
                for (size_t k = 0; k < window; k++) {
                    if (k)
                        folded = fold(folded, splat(from[e * in->phase_step + lane]));
                    if (++e == in->phases) {
                        e = 0;
                        lane++;
                    }
                }
                to[o] = folded[0] * share;
            }
        }
    }
}

/* Rows of windows and both columns at once, from elements in a form that is a constant where this
 * is expanded. */
INLINE void NAME(gather)(vec (*fold)(vec, vec), const uc_form form, const size_t window[2],
                         REAL share, const void *elements, const size_t step[2], REAL *to,
                         size_t columns) {
    size_t o = 0;
    /* The last vector may do some of those before it again. */
    for (; (form != FORM_F16 || HAS_F16) && columns >= LANES && o < columns; o += LANES) {
        const size_t first = o + LANES <= columns ? o : columns - LANES;
        vec a = NAME(load_elements)(form, elements, 2 * first),
            b = NAME(load_elements)(form, elements, 2 * first + LANES);
        for (size_t d = 0; d < window[0]; d++)
            for (size_t h = d == 0; h < window[1]; h++) {
                const size_t at = d * step[0] + h * step[1] + 2 * first;
                a = fold(a, NAME(load_elements)(form, elements, at));
                b = fold(b, NAME(load_elements)(form, elements, at + LANES));
            }
        store_vector(to + first, fold(__builtin_shufflevector(a, b, EVEN_LANES),
                                      __builtin_shufflevector(a, b, ODD_LANES)) *
                                     share);
    }
    if (HAS_MASKS && form == FORM_REAL && o < columns) {
        /* Less than a vector of them. */
        const size_t left = 2 * columns, second = left > LANES ? left - LANES : 0;
        const REAL *from = elements;
        vec a = NAME(load_some)(from, left), b = NAME(load_some)(from + LANES, second);
        for (size_t d = 0; d < window[0]; d++)
            for (size_t h = d == 0; h < window[1]; h++) {
                const REAL *at = from + d * step[0] + h * step[1];
                a = fold(a, NAME(load_some)(at, left));
                b = fold(b, NAME(load_some)(at + LANES, second));
            }
        const vec folded = fold(__builtin_shufflevector(a, b, EVEN_LANES),
                                __builtin_shufflevector(a, b, ODD_LANES)) *
                           share;
        NAME(store_some)(to, folded, columns);
        return;
    }
    for (; o < columns; o++) {
        vec column[2];
        for (size_t k = 0; k < 2; k++)
            for (size_t d = 0; d < window[0]; d++)
                for (size_t h = 0; h < window[1]; h++) {
                    const vec value = splat(
                        NAME(load_one)(form, elements, d * step[0] + h * step[1] + 2 * o + k));
                    column[k] = d + h ? fold(column[k], value) : value;
                }
        to[o] = fold(column[0], column[1])[0] * share;
    }
}

INLINE void NAME(gather_form)(vec (*fold)(vec, vec), uc_dtype dtype, const size_t window[2],
                              REAL share, const void *elements, const size_t step[2], REAL *to,
                              size_t columns) {
    if (dtype == UC_F16)
        NAME(gather)(fold, FORM_F16, window, share, elements, step, to, columns);
    else if (dtype == UC_BF16)
        NAME(gather)(fold, FORM_BF16, window, share, elements, step, to, columns);
    else
        NAME(gather)(fold, FORM_REAL, window, share, elements, step, to, columns);
}

INLINE REAL NAME(share_of)(const size_t window[UC_SPACE]) {
    return (REAL)(1 / ((double)window[0] * (double)window[1] * (double)window[2]));
}

static void NAME(gather_avgpool)(const uc_finish *finish, uc_dtype dtype, const void *elements,
                                 const size_t step[2], void *reals, size_t columns) {
    const size_t *window = finish->stage->window;
    NAME(gather_form)
    (NAME(sum_of), dtype, window, NAME(share_of)(window), elements, step, reals, columns);
}

static void NAME(gather_maxpool)(const uc_finish *finish, uc_dtype dtype, const void *elements,
                                 const size_t step[2], void *reals, size_t columns) {
    NAME(gather_form)
    (NAME(larger_of), dtype, finish->stage->window, 1, elements, step, reals, columns);
}

static void NAME(merge_avgpool)(void *into, size_t into_step, const void *from, size_t from_step,
                                size_t channels, size_t count, bool first) {
    NAME(merge)(NAME(sum_of), into, into_step, from, from_step, channels, count, first);
}

static void NAME(merge_maxpool)(void *into, size_t into_step, const void *from, size_t from_step,
                                size_t channels, size_t count, bool first) {
    NAME(merge)(NAME(larger_of), into, into_step, from, from_step, channels, count, first);
}

static void NAME(fold_avgpool)(const uc_finish *finish, const uc_rows *in, const uc_rows *out) {
    const size_t *window = finish->stage->window;
    NAME(fold)(NAME(sum_of), window[2], NAME(share_of)(window), in, out);
}

static void NAME(fold_maxpool)(const uc_finish *finish, const uc_rows *in, const uc_rows *out) {
    NAME(fold)(NAME(larger_of), finish->stage->window[2], 1, in, out);
}
