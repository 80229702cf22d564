/* The ops of a chain on rows of a tile: one function per line of ops.def, pools two.
 * Included by kernels.inc.c; called by tile.c through the table.
 *
 * Ops that need one element or the channels of a position take whole vectors of a channel's lanes
 * and don't care which columns they are: `lanes` is a multiple of the vector. */

INLINE REAL NAME(value_for)(const uc_finish *finish, size_t c) {
    const REAL *per_channel = finish->per_channel;
    return per_channel ? per_channel[finish->first_channel + c] : (REAL)finish->stage->number[0];
}

/* Every element op is this loop around an expression of x, a vector of channel c. */
#define FOR_EACH_VECTOR(rows)                                                                      \
    for (size_t c = 0; c < (rows)->channels; c++)                                                  \
        for (REAL *at = (REAL *)(rows)->reals + c * (rows)->lanes, *end = at + (rows)->lanes;      \
             at < end; at += LANES)

static void NAME(add)(const uc_finish *finish, const uc_rows *rows) {
    FOR_EACH_VECTOR(rows)
    store_vector(at, load_vector(at) + NAME(value_for)(finish, c));
}

static void NAME(mul)(const uc_finish *finish, const uc_rows *rows) {
    FOR_EACH_VECTOR(rows)
    store_vector(at, load_vector(at) * NAME(value_for)(finish, c));
}

/* A NaN bound makes everything NaN, a NaN value stays. */
static void NAME(clamp)(const uc_finish *finish, const uc_rows *rows) {
    const vec low = splat((REAL)finish->stage->number[0]),
              high = splat((REAL)finish->stage->number[1]);
    FOR_EACH_VECTOR(rows) {
        const vec x = load_vector(at);
        const vec raised = choose((x < low) | (low != low), low, x);
        store_vector(at, choose((raised > high) | (high != high), high, raised));
    }
}

static void NAME(gelu)(const uc_finish *finish, const uc_rows *rows) {
    (void)finish;
    REAL *at = rows->reals, *end = at + rows->channels * rows->lanes;
#if !REAL_IS_DOUBLE
    /* Four at a time share the test for values far from 0, which are rare behind a norm. */
    for (; at + 4 * LANES <= end; at += 4 * LANES) {
        vec x[4];
        ivec far = {0};
        UNROLL
        for (size_t i = 0; i < 4; i++) {
            x[i] = load_vector(at + i * LANES);
            far |= ~((x[i] <= NEAR_END) & (x[i] >= -NEAR_END));
        }
        UNROLL
        for (size_t i = 0; i < 4; i++)
            store_vector(at + i * LANES, NAME(gelu_near)(x[i]));
        if (!NAME(none)(far))
            for (size_t i = 0; i < 4; i++)
                store_vector(at + i * LANES, NAME(gelu_of)(x[i]));
    }
#endif
    for (; at < end; at += LANES)
        store_vector(at, NAME(gelu_of)(load_vector(at)));
}

static void NAME(sigmoid)(const uc_finish *finish, const uc_rows *rows) {
    (void)finish;
    FOR_EACH_VECTOR(rows)
    store_vector(at, NAME(sigmoid_of)(load_vector(at)));
}

/* Channel ops take STRIP vectors of lanes down all channels, then the next ones. */
#define STRIP 4
#define FOR_EACH_STRIP(rows)                                                                       \
    for (size_t begin = 0, strip = 0; begin < (rows)->lanes; begin += strip * LANES)               \
        if ((strip = ((rows)->lanes - begin) / LANES) > STRIP ? (strip = STRIP) : strip)

static void NAME(layernorm_channel)(const uc_finish *finish, const uc_rows *rows) {
    const size_t channels = rows->channels, lanes = rows->lanes;
    const REAL share = (REAL)(1 / (double)channels), eps = (REAL)finish->stage->number[0];
    FOR_EACH_STRIP(rows) {
        REAL *column = (REAL *)rows->reals + begin;
        vec mean[STRIP] = {{0}}, scale[STRIP] = {{0}};
        if (!finish->centred) {
            for (size_t c = 0; c < channels; c++)
                for (size_t v = 0; v < strip; v++)
                    mean[v] += load_vector(column + c * lanes + v * LANES);
            for (size_t v = 0; v < strip; v++)
                mean[v] *= share;
        }
        for (size_t c = 0; c < channels; c++)
            for (size_t v = 0; v < strip; v++) {
                const vec away = load_vector(column + c * lanes + v * LANES) - mean[v];
                scale[v] += away * away;
            }
        for (size_t v = 0; v < strip; v++) {
            REAL each[LANES];
            scale[v] = scale[v] * share + eps;
            memcpy(each, &scale[v], sizeof each);
            for (size_t i = 0; i < LANES; i++)
                each[i] = 1 / REAL_SQRT(each[i]);
            memcpy(&scale[v], each, sizeof each);
        }
        for (size_t c = 0; c < channels; c++)
            for (size_t v = 0; v < strip; v++) {
                REAL *at = column + c * lanes + v * LANES;
                store_vector(at, (load_vector(at) - mean[v]) * scale[v]);
            }
    }
}

static void NAME(softmax_channel)(const uc_finish *finish, const uc_rows *rows) {
    (void)finish;
    const size_t channels = rows->channels, lanes = rows->lanes;
    FOR_EACH_STRIP(rows) {
        REAL *column = (REAL *)rows->reals + begin;
        vec largest[STRIP], sum[STRIP] = {{0}};
        for (size_t v = 0; v < strip; v++)
            largest[v] = load_vector(column + v * LANES);
        for (size_t c = 1; c < channels; c++)
            for (size_t v = 0; v < strip; v++)
                largest[v] = larger(largest[v], load_vector(column + c * lanes + v * LANES));
        for (size_t c = 0; c < channels; c++)
            for (size_t v = 0; v < strip; v++) {
                REAL *at = column + c * lanes + v * LANES;
                const vec power = NAME(exp)(load_vector(at) - largest[v]);
                store_vector(at, power);
                sum[v] += power;
            }
        for (size_t v = 0; v < strip; v++)
            sum[v] = 1 / sum[v];
        for (size_t c = 0; c < channels; c++)
            for (size_t v = 0; v < strip; v++) {
                REAL *at = column + c * lanes + v * LANES;
                store_vector(at, load_vector(at) * sum[v]);
            }
    }
}

static void NAME(sum_channel)(const uc_finish *finish, const uc_rows *rows) {
    (void)finish;
    REAL *reals = rows->reals;
    for (size_t c = 1; c < rows->channels; c++)
        for (size_t i = 0; i < rows->lanes; i += LANES)
            store_vector(reals + i,
                         load_vector(reals + i) + load_vector(reals + c * rows->lanes + i));
}

/* ---- Pools: down rows lane by lane, then along the width ---- */

static void NAME(merge_avgpool)(void *into, size_t into_step, const void *from, size_t from_step,
                                size_t channels, size_t count) {
    for (size_t c = 0; c < channels; c++) {
        REAL *to = (REAL *)into + c * into_step;
        const REAL *with = (const REAL *)from + c * from_step;
        for (size_t i = 0; i < count; i++)
            to[i] += with[i];
    }
}

static void NAME(merge_maxpool)(void *into, size_t into_step, const void *from, size_t from_step,
                                size_t channels, size_t count) {
    for (size_t c = 0; c < channels; c++) {
        REAL *to = (REAL *)into + c * into_step;
        const REAL *with = (const REAL *)from + c * from_step;
        for (size_t i = 0; i < count; i++)
            to[i] = to[i] > with[i] || to[i] != to[i] ? to[i] : with[i];
    }
}

/* Each window of a row is folded by FOLD(so far, next) and ends as LAST(folded). */
#define FOLD_ALONG_WIDTH(FOLD, LAST)                                                               \
    const size_t window = finish->stage->window[2];                                                \
    for (size_t c = 0; c < in->channels; c++)                                                      \
        for (size_t r = 0; r < out->rows; r++) {                                                   \
            const REAL *from = (const REAL *)in->reals + c * in->lanes + r * in->pitch;            \
            REAL *to = (REAL *)out->reals + c * out->lanes + r * out->pitch;                       \
            if (window == in->phases) { /* the phases of a lane are a window */                    \
                for (size_t o = 0; o < out->columns; o++) {                                        \
                    REAL folded = from[o];                                                         \
                    for (size_t e = 1; e < window; e++)                                            \
                        folded = FOLD(folded, from[e * in->phase_step + o]);                       \
                    to[o] = LAST(folded);                                                          \
                }                                                                                  \
                continue;                                                                          \
            }                                                                                      \
            size_t e = 0, lane = 0;                                                                \
            for (size_t o = 0; o < out->columns; o++) {                                            \
                REAL folded = from[e * in->phase_step + lane];                                     \
                for (size_t k = 0; k < window; k++) {                                              \
                    if (k)                                                                         \
                        folded = FOLD(folded, from[e * in->phase_step + lane]);                    \
                    if (++e == in->phases) {                                                       \
                        e = 0;                                                                     \
                        lane++;                                                                    \
                    }                                                                              \
                }                                                                                  \
                to[o] = LAST(folded);                                                              \
            }                                                                                      \
        }

static void NAME(fold_avgpool)(const uc_finish *finish, const uc_rows *in, const uc_rows *out) {
    const size_t *size = finish->stage->window;
    const REAL share = (REAL)(1 / ((double)size[0] * (double)size[1] * (double)size[2]));
#define SUM(a, b) ((a) + (b))
#define SHARE(a) ((a)*share)
    FOLD_ALONG_WIDTH(SUM, SHARE)
#undef SUM
#undef SHARE
}

static void NAME(fold_maxpool)(const uc_finish *finish, const uc_rows *in, const uc_rows *out){
#define LARGER(a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define SAME(a) (a)
    FOLD_ALONG_WIDTH(LARGER, SAME)
#undef LARGER
#undef SAME
}

/* ---- Softmax over space ---- */

/* The columns of one phase. */
INLINE size_t NAME(phase_columns)(const uc_rows *rows, size_t phase) {
    return phase < rows->columns ? (rows->columns - phase - 1) / rows->phases + 1 : 0;
}

/* Leaves exp(value - largest) in the rows, with the largest value of these rows. */
static void NAME(measure_softmax_space)(const uc_rows *rows, uc_summary *summaries) {
    for (size_t c = 0; c < rows->channels; c++) {
        REAL *channel = (REAL *)rows->reals + c * rows->lanes;
        REAL most[LANES], largest = channel[0];
        double sum = 0;
        for (size_t e = 0; e < rows->phases; e++)
            for (size_t r = 0; r < rows->rows; r++) {
                const REAL *row = channel + e * rows->phase_step + r * rows->pitch;
                const size_t columns = NAME(phase_columns)(rows, e),
                             whole = columns / LANES * LANES;
                if (whole) {
                    vec so_far = load_vector(row);
                    for (size_t i = LANES; i < whole; i += LANES)
                        so_far = larger(so_far, load_vector(row + i));
                    store_vector(most, so_far);
                    for (size_t i = 0; i < LANES; i++)
                        largest = largest > most[i] || largest != largest ? largest : most[i];
                }
                for (size_t i = whole; i < columns; i++)
                    largest = largest > row[i] || largest != largest ? largest : row[i];
            }
        for (size_t i = 0; i < rows->lanes; i += LANES)
            store_vector(channel + i, NAME(exp)(load_vector(channel + i) - largest));
        for (size_t e = 0; e < rows->phases; e++)
            for (size_t r = 0; r < rows->rows; r++) {
                const REAL *row = channel + e * rows->phase_step + r * rows->pitch;
                const size_t columns = NAME(phase_columns)(rows, e),
                             whole = columns / LANES * LANES;
                vec some = {0};
                for (size_t i = 0; i < whole; i += LANES)
                    some += load_vector(row + i);
                store_vector(most, some);
                for (size_t i = 0; i < LANES; i++)
                    sum += most[i];
                for (size_t i = whole; i < columns; i++)
                    sum += row[i];
            }
        summaries[c] = (uc_summary){largest, sum};
    }
}

static void NAME(softmax_space)(const uc_finish *finish, const uc_rows *rows) {
    for (size_t c = 0; c < rows->channels; c++) {
        REAL *channel = (REAL *)rows->reals + c * rows->lanes;
        const uc_summary all = finish->summaries[finish->first_channel + c];
        if (finish->measured) {
            /* Rows of -inf alone have no largest value to relate to: they are 0. */
            const double here = finish->measured[c].largest;
            const REAL scale = (REAL)(exp(here - all.largest) / all.sum);
            const bool none = here == -INFINITY && all.largest > here;
            for (size_t i = 0; i < rows->lanes; i += LANES)
                store_vector(channel + i, none ? splat(0) : load_vector(channel + i) * scale);
        } else {
            const REAL scale = (REAL)(1 / all.sum), largest = (REAL)all.largest;
            for (size_t i = 0; i < rows->lanes; i += LANES)
                store_vector(channel + i, NAME(exp)(load_vector(channel + i) - largest) * scale);
        }
    }
}
