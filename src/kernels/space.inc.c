/* The softmax over space: rows are measured, and what that leaves is multiplied.
 * Included by kernels.inc.c; called by rows.c, run.c and block.c through the table. */

/* The columns of one phase. */
INLINE size_t NAME(phase_columns)(const uc_rows *rows, size_t phase) {
    return phase < rows->columns ? (rows->columns - phase - 1) / rows->phases + 1 : 0;
}

INLINE double NAME(sum_of_lanes)(vec v) {
    double each[LANES];
    UNROLL for (size_t i = 0; i < LANES; i++) each[i] = v[i];
    UNROLL for (size_t half = LANES / 2; half; half /= 2) UNROLL for (size_t i = 0; i < half; i++)
        each[i] += each[i + half];
    return each[0];
}

/* Rows with nothing between them are one long row. */
INLINE uc_rows NAME(joined)(const uc_rows *rows) {
    uc_rows joined = *rows;
    if (rows->columns % rows->phases == 0 && rows->pitch == rows->columns / rows->phases &&
        rows->phase_step == rows->rows * rows->pitch) {
        joined.columns = rows->phases * rows->phase_step;
        joined.rows = joined.phases = 1;
    }
    return joined;
}

/* The largest value of a channel. A NaN is not looked for: it makes the sum NaN. */
INLINE REAL NAME(largest_of)(const uc_rows *rows, const REAL *channel) {
    REAL each[LANES], largest = channel[0];
    vec most = splat(largest);
    for (size_t e = 0; e < rows->phases; e++)
        for (size_t r = 0; r < rows->rows; r++) {
            const REAL *row = channel + e * rows->phase_step + r * rows->pitch;
            const size_t columns = NAME(phase_columns)(rows, e);
            size_t i = 0;
            for (; i + LANES <= columns; i += LANES)
                most = greater(load_vector(row + i), most);
            for (; i < columns; i++)
                largest = row[i] > largest ? row[i] : largest;
        }
    store_vector(each, most);
    for (size_t i = 0; i < LANES; i++)
        largest = each[i] > largest ? each[i] : largest;
    /* Rows of -inf alone are left out where others count: a NaN among them must not be. */
    for (size_t e = 0; largest == -INFINITY && e < rows->phases; e++)
        for (size_t r = 0; r < rows->rows; r++) {
            const REAL *row = channel + e * rows->phase_step + r * rows->pitch;
            for (size_t i = 0; i < NAME(phase_columns)(rows, e); i++)
                largest = row[i] != row[i] ? row[i] : largest;
        }
    return largest;
}

/* A sum over space: of so many terms in reals, and of as many of those, then in double. */
typedef struct NAME(long_sum) {
    vec part, total;
    double sum;
    size_t terms;
} NAME(long_sum);

INLINE void NAME(add_term)(NAME(long_sum) * s, vec x) {
    s->part += x;
    if (++s->terms % SUM_TERMS)
        return;
    s->total += s->part;
    s->part = (vec){0};
    if (s->terms % (SUM_TERMS * SUM_TERMS))
        return;
    s->sum += NAME(sum_of_lanes)(s->total);
    s->total = (vec){0};
}

/* What a channel's values lie between, if that is known: then they are clamped to it first. */
typedef struct NAME(range) {
    bool known, narrow; /* narrow: no wider than 1 */
    REAL least, largest;
} NAME(range);

/* exp(value - largest) of some vectors, side by side. Their number and what is known of the range
 * are constants where this is expanded. */
INLINE void NAME(exponentials_of)(const size_t count, vec *x, const NAME(range) range) {
    const REAL centre = range.narrow ? range.largest - (REAL)0.5 : range.largest;
    if (range.known)
        UNROLL for (size_t v = 0; v < count; v++) x[v] =
            lesser(splat(range.largest), greater(splat(range.least), x[v]));
    /* What this rounds is the same for all of them. */
    UNROLL for (size_t v = 0; v < count; v++) x[v] -= centre;
    if (range.narrow)
        NAME(exp_narrow)(count, x);
    else
        UNROLL for (size_t v = 0; v < count; v++) x[v] = NAME(exp)(x[v]);
}

INLINE vec NAME(exponential)(vec x, const NAME(range) range) {
    NAME(exponentials_of)(1, &x, range);
    return x;
}

/* Short rows that follow each other are taken as one, with what lies between them: which lanes of a
 * phase count. Phases have as many columns as the first one, or one less. */
#define MASK_LANES 512
#define SHORT_ROW (4 * LANES)
typedef struct NAME(masks) {
    bool used;
    size_t lanes; /* whole vectors */
    INTEGER counts[2][MASK_LANES];
} NAME(masks);

INLINE void NAME(find_masks)(const uc_rows *rows, NAME(masks) * masks) {
    const size_t columns = NAME(phase_columns)(rows, 0),
                 lanes = (((rows->rows - 1) * rows->pitch + columns - 1) / LANES + 1) * LANES;
    masks->used = rows->rows > 1 && columns < SHORT_ROW && lanes <= MASK_LANES;
    masks->lanes = lanes;
    if (!masks->used)
        return;
    for (size_t k = 0; k < 2; k++)
        memset(masks->counts[k], 0, lanes * sizeof **masks->counts);
    for (size_t r = 0; r < rows->rows; r++)
        for (size_t i = 0; i < columns; i++) {
            masks->counts[0][r * rows->pitch + i] = -1;
            masks->counts[1][r * rows->pitch + i] = i + 1 < columns ? -1 : 0;
        }
}

INLINE double NAME(masked_exponentials)(const uc_rows *rows, REAL *channel, const NAME(range) range,
                                        const NAME(masks) * masks) {
    const size_t columns = NAME(phase_columns)(rows, 0);
    NAME(long_sum) sum = {.sum = 0};
    for (size_t e = 0; e < rows->phases; e++) {
        const INTEGER *counts = masks->counts[NAME(phase_columns)(rows, e) < columns];
        REAL *at = channel + e * rows->phase_step;
        for (size_t i = 0; i < masks->lanes; i += LANES) {
            ivec mask;
            memcpy(&mask, counts + i, sizeof mask);
            const vec x = (vec)((ivec)NAME(exponential)(load_vector(at + i), range) & mask);
            store_vector(at + i, x);
            NAME(add_term)(&sum, x);
        }
    }
    return sum.sum + NAME(sum_of_lanes)(sum.total + sum.part);
}

/* Turns a channel's values into exponentials and returns their sum. */
INLINE double NAME(exponentials)(const uc_rows *rows, REAL *channel, const NAME(range) range,
                                 const NAME(masks) * masks) {
    if (masks->used)
        return NAME(masked_exponentials)(rows, channel, range, masks);
    REAL mask[2 * LANES]; /* from lane n on: the last n lanes count */
    store_vector(mask, (vec){0});
    store_vector(mask + LANES, splat(1));
    NAME(long_sum) sum = {.sum = 0};
    for (size_t e = 0; e < rows->phases; e++)
        for (size_t r = 0; r < rows->rows; r++) {
            REAL *row = channel + e * rows->phase_step + r * rows->pitch;
            const size_t columns = NAME(phase_columns)(rows, e);
            size_t i = 0;
            if (columns >= LANES) {
                /* The last vector does some of those before it again, from what they were. */
                REAL *end = row + columns - LANES;
                const vec last = load_vector(end);
                for (; i + LANES <= columns; i += LANES) {
                    const vec x = NAME(exponential)(load_vector(row + i), range);
                    store_vector(row + i, x);
                    NAME(add_term)(&sum, x);
                }
                if (i < columns) {
                    const vec x = NAME(exponential)(last, range);
                    store_vector(end, x);
                    NAME(add_term)(&sum, x * load_vector(mask + columns - i));
                }
                continue;
            }
            for (; i < columns; i++) {
                const vec x = NAME(exponential)(splat(row[i]), range);
                row[i] = x[0];
                sum.sum += x[0];
            }
        }
    return sum.sum + NAME(sum_of_lanes)(sum.total + sum.part);
}

static void NAME(measure_softmax_space)(const uc_rows *rows, const double *bounds,
                                        uc_summary *summaries) {
    const uc_rows joined = NAME(joined)(rows);
    NAME(masks) masks;
    NAME(find_masks)(&joined, &masks);
    for (size_t c = 0; c < rows->channels; c++) {
        REAL *channel = (REAL *)rows->reals + c * rows->lanes;
        const REAL least = bounds ? (REAL)bounds[0] : -INFINITY,
                   largest = bounds ? (REAL)bounds[1] : NAME(largest_of)(&joined, channel);
        const bool narrow = bounds && largest - least <= 1;
        const double sum =
            narrow ? NAME(exponentials)(&joined, channel, (NAME(range)){true, true, least, largest},
                                        &masks)
            : bounds ? NAME(exponentials)(&joined, channel,
                                          (NAME(range)){true, false, least, largest}, &masks)
                     : NAME(exponentials)(&joined, channel,
                                          (NAME(range)){false, false, least, largest}, &masks);
        summaries[c] = (uc_summary){largest, sum};
        if (largest == -INFINITY) /* exponentials of nothing but -inf: 0 where others count */
            memset(channel, 0, rows->lanes * sizeof *channel);
    }
}

/* ---- Laid down as they are measured ---- */

/* Whole vectors of a row, at most SUM_TERMS, and where those of the first channel go. Rows are
 * short: all that is the same for every channel is found once. */
#define PIECES 32
typedef struct NAME(piece) {
    const REAL *from;
    char *to, *rest;
    size_t lanes;
} NAME(piece);

/* Zips a piece and puts it into its place; returns the sum of each lane. `phases`, what is known of
 * the range, and whether to stream are constants where this is expanded. */
INLINE vec NAME(lay_piece)(const size_t phases, const NAME(range) range, const REAL *from,
                           size_t phase_step, size_t lanes, NAME(place) place) {
    vec sum = {0};
    for (size_t j = 0; j < lanes; j += LANES) {
        vec v[12], all = {0};
        UNROLL for (size_t e = 0; e < phases; e++) v[e] = load_vector(from + e * phase_step + j);
        NAME(exponentials_of)(phases, v, range);
        UNROLL for (size_t e = 0; e < phases; e++) all = e ? all + v[e] : v[e];
        sum += all;
#if !REAL_IS_DOUBLE
        if (place.form == FORM_PARTS) {
            REAL zipped[12 * LANES];
            NAME(put_zipped)(phases, (NAME(place)){zipped, FORM_REAL, false, NULL}, 0, v);
            UNROLL for (size_t e = 0; e < phases; e += 2)
                NAME(put_parts)(place, j * phases + e * LANES, load_vector(zipped + e * LANES),
                                load_vector(zipped + (e + 1) * LANES));
            continue;
        }
#endif
        NAME(put_zipped)(phases, place, j * phases, v);
    }
    return sum;
}

/* Channels outside: the rows of one channel lie near each other in memory. */
INLINE void NAME(lay_pieces)(const size_t phases, const NAME(range) range, const uc_form form,
                             const bool stream, const uc_sets *sets, const NAME(piece) * pieces,
                             size_t count, uc_summary *summaries) {
    const uc_rows *rows = &sets->rows;
    const size_t step = sets->channel_step * (form == FORM_REAL ? sizeof(REAL) : sizeof(uc_half));
    for (size_t c = 0; c < rows->channels; c++) {
        double sum = 0;
        vec part = {0};
        for (size_t k = 0; k < count; k++) {
            const NAME(piece) *piece = &pieces[k];
            const NAME(place) place = {piece->to + c * step, form, stream,
                                       form == FORM_PARTS ? piece->rest + c * step : NULL};
            part += NAME(lay_piece)(phases, range, piece->from + c * rows->lanes, rows->phase_step,
                                    piece->lanes, place);
            if ((k + 1) % SUM_TERMS)
                continue;
            sum += NAME(sum_of_lanes)(part);
            part = (vec){0};
        }
        summaries[c].sum += sum + NAME(sum_of_lanes)(part);
    }
}

INLINE void NAME(lay_sets)(const size_t phases, const NAME(range) range, const uc_form form,
                           const bool stream, const uc_sets *sets, uc_summary *summaries) {
    const uc_rows *rows = &sets->rows;
    const size_t bytes = form == FORM_REAL ? sizeof(REAL) : sizeof(uc_half),
                 lanes = rows->columns / phases;
    NAME(piece) pieces[PIECES];
    size_t count = 0;
    for (size_t c = 0; c < rows->channels; c++)
        summaries[c] = (uc_summary){range.largest, 0};
    for (size_t i = 0; i < sets->count; i++)
        for (size_t r = 0; r < sets->there[i]; r++)
            for (size_t j = 0; j < lanes; j += SUM_TERMS * LANES) {
                if (count == PIECES) {
                    NAME(lay_pieces)(phases, range, form, stream, sets, pieces, count, summaries);
                    count = 0;
                }
                const size_t at = (r * sets->row_step + j * phases) * bytes;
                pieces[count++] =
                    (NAME(piece)){(const REAL *)rows->reals + i * sets->step + r * rows->pitch + j,
                                  (char *)sets->to[i] + at, (char *)sets->rest[i] + at,
                                  lanes - j < SUM_TERMS * LANES ? lanes - j : SUM_TERMS * LANES};
            }
    NAME(lay_pieces)(phases, range, form, stream, sets, pieces, count, summaries);
}

/* By what is known of the range, and whether it is streamed. */
#define LAY(name, phases, form)                                                                    \
    static void NAME(lay_##name##_##phases)(const NAME(range) range, const bool stream,            \
                                            const uc_sets *sets, uc_summary *summaries) {          \
        const NAME(range) narrow = {true, true, range.least, range.largest},                       \
                          wide = {true, false, range.least, range.largest};                        \
        if (range.narrow && stream)                                                                \
            NAME(lay_sets)(phases, narrow, form, true, sets, summaries);                           \
        else if (range.narrow)                                                                     \
            NAME(lay_sets)(phases, narrow, form, false, sets, summaries);                          \
        else if (stream)                                                                           \
            NAME(lay_sets)(phases, wide, form, true, sets, summaries);                             \
        else                                                                                       \
            NAME(lay_sets)(phases, wide, form, false, sets, summaries);                            \
    }
LAY(reals, 2, FORM_REAL)
LAY(reals, 4, FORM_REAL)
LAY(reals, 6, FORM_REAL)
#if !REAL_IS_DOUBLE
LAY(parts, 2, FORM_PARTS)
LAY(parts, 4, FORM_PARTS)
LAY(parts, 6, FORM_PARTS)
#define LAY_OF(phases) (sets->in_parts ? NAME(lay_parts_##phases) : NAME(lay_reals_##phases))
#else
#define LAY_OF(phases) NAME(lay_reals_##phases)
#endif
#undef LAY

/* Rows that are not whole vectors are measured first, and then stored. */
static void NAME(lay_apart)(const uc_sets *sets, const double *bounds, bool stream,
                            uc_summary *summaries) {
    for (size_t c = 0; c < sets->rows.channels; c++)
        summaries[c] = (uc_summary){(REAL)bounds[1], 0};
    for (size_t i = 0; i < sets->count; i++) {
        uc_rows rows = sets->rows;
        rows.reals = (REAL *)rows.reals + i * sets->step;
        rows.rows = sets->there[i];
        if (!rows.rows)
            continue;
        for (size_t c = 0; c < sets->rows.channels; c++) {
            uc_summary of_set;
            uc_rows channel = rows;
            channel.reals = (REAL *)rows.reals + c * rows.lanes;
            channel.channels = 1;
            NAME(measure_softmax_space)(&channel, bounds, &of_set);
            summaries[c].sum += of_set.sum;
        }
#if !REAL_IS_DOUBLE
        if (sets->in_parts) {
            stream ? NAME(store_as)(FORM_PARTS, true, &rows, NULL, sets->to[i], sets->rest[i],
                                    sets->channel_step, sets->row_step)
                   : NAME(store_as)(FORM_PARTS, false, &rows, NULL, sets->to[i], sets->rest[i],
                                    sets->channel_step, sets->row_step);
            continue;
        }
#endif
        NAME(store_reals)
        (&rows, NULL, sets->to[i], sets->channel_step, sets->row_step,
         stream ? UC_STREAM_LINES : UC_STREAM_NOT);
    }
}

static bool NAME(streams_to)(const uc_sets *sets) {
    const size_t bytes = sets->in_parts ? sizeof(uc_half) : sizeof(REAL);
    bool stream = sets->stream;
    for (size_t i = 0; stream && i < sets->count; i++) {
        const uintptr_t either = (uintptr_t)sets->to[i] | (uintptr_t)sets->rest[i];
        stream = !sets->there[i] ||
                 NAME(whole_lines)(bytes, &sets->rows, either, sets->channel_step, sets->row_step);
    }
    return stream;
}

/* Addresses must not decide how sums are rounded, only the shape. */
static void NAME(lay_softmax_space)(const uc_sets *sets, const double *bounds,
                                    uc_summary *summaries) {
    const REAL least = (REAL)bounds[0], largest = (REAL)bounds[1];
    const NAME(range) range = {true, largest - least <= 1, least, largest};
    const bool stream = NAME(streams_to)(sets);
    const size_t phases = sets->rows.columns % (sets->rows.phases * LANES) ? 0 : sets->rows.phases;
    if (phases == 2)
        LAY_OF(2)(range, stream, sets, summaries);
    else if (phases == 4)
        LAY_OF(4)(range, stream, sets, summaries);
    else if (phases == 6)
        LAY_OF(6)(range, stream, sets, summaries);
    else
        NAME(lay_apart)(sets, bounds, stream, summaries);
}
#undef LAY_OF

/* ---- Multiplied where they lie ---- */

/* What was laid down is fetched so many elements ahead. */
#define LAID_AHEAD 1024

/* Through the caches: lines that were just read are written where they are. `form`, of elements, is
 * a constant where this is expanded. */
INLINE void NAME(multiply_as)(const uc_form form, void *elements, const void *rest, size_t count,
                              REAL times) {
    const NAME(place) place = {elements, form, false, NULL};
    size_t i = 0;
    for (; (form != FORM_F16 || HAS_F16) && i + LANES <= count; i += LANES) {
        vec v;
#if !REAL_IS_DOUBLE
        if (form != FORM_REAL) {
            NAME(halves) upper, lower;
            memcpy(&upper, (const uc_half *)elements + i, sizeof upper);
            memcpy(&lower, (const uc_half *)rest + i, sizeof lower);
            __builtin_prefetch((const uc_half *)elements + i + LAID_AHEAD);
            __builtin_prefetch((const uc_half *)rest + i + LAID_AHEAD);
            v = (vec)(__builtin_convertvector(upper, uvec) << 16 |
                      __builtin_convertvector(lower, uvec));
        } else
#endif
        {
            __builtin_prefetch((const REAL *)elements + i + LAID_AHEAD);
            v = load_vector((const REAL *)elements + i);
        }
        NAME(put_vector)(place, i, v * times);
    }
    for (; i < count; i++) {
        REAL value;
        if (form == FORM_REAL)
            value = ((const REAL *)elements)[i];
        else {
            const uint32_t bits =
                (uint32_t)((const uc_half *)elements)[i] << 16 | ((const uc_half *)rest)[i];
            float real;
            memcpy(&real, &bits, sizeof real);
            value = real;
        }
        NAME(put_one)(place, i, value * times);
    }
}

static void NAME(multiply_laid)(uc_dtype dtype, void *elements, const void *rest, size_t count,
                                const void *times) {
    const REAL by = *(const REAL *)times;
    if (dtype == UC_F16)
        NAME(multiply_as)(FORM_F16, elements, rest, count, by);
    else if (dtype == UC_BF16)
        NAME(multiply_as)(FORM_BF16, elements, rest, count, by);
    else
        NAME(multiply_as)(FORM_REAL, elements, rest, count, by);
}
#undef LAID_AHEAD

/* What measured rows of channel c are multiplied by. */
INLINE REAL NAME(scale_for)(const uc_finish *finish, size_t c) {
    const uc_summary all = finish->summaries[finish->first_channel + c];
    const REAL *per_channel = finish->per_channel;
    const double times = per_channel ? per_channel[finish->first_channel + c] : 1,
                 here = finish->measured ? finish->measured[c].largest : all.largest;
    return (REAL)((here == all.largest ? 1 : exp(here - all.largest)) / all.sum * times);
}

static void NAME(scales_softmax_space)(const uc_finish *finish, size_t channels, void *scales) {
    for (size_t c = 0; c < channels; c++)
        ((REAL *)scales)[c] = NAME(scale_for)(finish, c);
}

static void NAME(softmax_space)(const uc_finish *finish, const uc_rows *rows) {
    FOR_EACH_CHANNEL(rows) {
        const vec scale = splat(NAME(scale_for)(finish, c)),
                  largest = splat((REAL)finish->summaries[finish->first_channel + c].largest);
        if (finish->measured)
            FOR_EACH_VECTOR(rows)
        store_vector(at, load_vector(at) * scale);
        else FOR_EACH_VECTOR(rows) store_vector(at, NAME(exp)(load_vector(at) - largest) * scale);
    }
}
