/* Stores: rows of all channels with their phases zipped, as reals or in 16 bits.
 * Included by kernels.inc.c; called by run.c as kernels->store(). */

/* Where the columns of a row come from, and how many there are: `lanes` of all phases, and then
 * perhaps one more of some. `room`: lanes of a phase that may be read. */
typedef struct NAME(row) {
    const REAL *from;
    size_t phases, phase_step;
    REAL times;
    size_t lanes, columns, room;
} NAME(row);

/* From a lane of a channel on: the rest of the phase, and of all phases of the channels behind it.
 */
INLINE size_t NAME(room_from)(const uc_rows *rows, size_t channel, size_t lane) {
    return (rows->channels - channel - 1) * rows->lanes + rows->phase_step - rows->first_lane -
           lane;
}

/* A vector of 1, 2, 3, 4, 6, 8 or 12 phases, zipped; `phases` is a constant where this is expanded.
 */
INLINE void NAME(put_zipped)(const size_t phases, NAME(place) place, size_t at, const vec v[12]) {
    if (phases == 1)
        NAME(put_vector)(place, at, v[0]);
    else if (phases == 2)
        NAME(put_zipped_2)(place, at, v[0], v[1]);
    else if (phases == 3)
        NAME(put_zipped_3)(place, at, v);
    else if (phases == 4)
        NAME(put_zipped_4)(place, at, v);
    else if (phases == 6)
        NAME(put_zipped_6)(place, at, v);
    else
        NAME(put_zipped_twice)(phases / 2, place, at, v);
}

/* The same of a row, times its number. */
INLINE void NAME(zip_vector)(const size_t phases, const NAME(row) * row, size_t lane,
                             NAME(place) place, size_t at) {
    vec v[12];
    UNROLL for (size_t e = 0; e < phases; e++) v[e] =
        load_vector(row->from + e * row->phase_step + lane) * row->times;
    NAME(put_zipped)(phases, place, at, v);
}

INLINE void NAME(put_one)(NAME(place) place, size_t at, REAL value) {
    if (place.form == FORM_REAL)
        ((REAL *)place.to)[at] = value;
    else if (place.form == FORM_F16)
        ((uc_half *)place.to)[at] = uc_f32_to_f16((float)value);
    else if (place.form == FORM_BF16)
        ((uc_half *)place.to)[at] = uc_f32_to_bf16((float)value);
    else {
        const float real = (float)value;
        uint32_t bits;
        memcpy(&bits, &real, sizeof bits);
        ((uc_half *)place.to)[at] = (uc_half)(bits >> 16);
        ((uc_half *)place.rest)[at] = (uc_half)bits;
    }
}

/* Narrow rows have less than a vector: 16 bytes of 1 or 2 phases, from lane j on. */
#define QUAD (16 / sizeof(REAL))
typedef REAL NAME(quad) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));

INLINE void NAME(zip_quad)(const size_t phases, const REAL *from, size_t phase_step, REAL times,
                           REAL *to) {
    const NAME(quad) a = *(const NAME(quad) *)from * times;
    NAME(quad) *at = (NAME(quad) *)to;
    if (phases == 1) {
        at[0] = a;
        return;
    }
    const NAME(quad) b = *(const NAME(quad) *)(from + phase_step) * times;
#if REAL_IS_DOUBLE
    at[0] = __builtin_shufflevector(a, b, 0, 2);
    at[1] = __builtin_shufflevector(a, b, 1, 3);
#else
    at[0] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    at[1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}

INLINE size_t NAME(zip_quads)(const size_t phases, const NAME(row) * row, REAL *to, size_t j) {
    for (; j + QUAD <= row->lanes; j += QUAD)
        NAME(zip_quad)(phases, row->from + j, row->phase_step, row->times, to + j * phases);
    return j;
}

/* All lanes that fill vectors, and the columns behind them if they fill one. Returns how many lanes
 * it took. */
INLINE size_t NAME(zip_vectors)(const size_t phases, const NAME(row) * row, NAME(place) place) {
    size_t j = 0;
    for (; j + LANES <= row->lanes; j += LANES)
        NAME(zip_vector)(phases, row, j, place, j * phases);
    /* More than such a piece and less than a vector: one that does some of those before it again.
     */
    const size_t some = row->lanes - j;
    if (phases <= 2 && j && some > 2 && some % QUAD && !place.stream) {
        NAME(zip_vector)(phases, row, row->lanes - LANES, place, (row->lanes - LANES) * phases);
        return row->lanes;
    }
    const size_t begin = j * phases, left = row->columns - begin;
    const bool masked = HAS_MASKS && place.form == FORM_REAL && !place.stream;
    if (masked && left && j + LANES <= row->room) {
        REAL last[12 * LANES];
        NAME(zip_vector)(phases, row, j, (NAME(place)){last, FORM_REAL, false, NULL}, 0);
        for (size_t i = 0; i < left && i < phases * LANES; i += LANES)
            NAME(store_some)((REAL *)place.to + begin + i, load_vector(last + i), left - i);
        return row->lanes + 1;
    }
    if (phases <= 2 && place.form == FORM_REAL)
        return NAME(zip_quads)(phases, row, place.to, j);
    if (left < LANES || j + LANES > row->room)
        return j;
    REAL last[12 * LANES];
    NAME(zip_vector)(phases, row, j, (NAME(place)){last, FORM_REAL, false, NULL}, 0);
    size_t i = 0;
    for (; i + LANES <= left && i < phases * LANES; i += LANES)
        NAME(put_vector)(place, begin + i, load_vector(last + i));
    for (; i < left && i < phases * LANES; i++)
        NAME(put_one)(place, begin + i, last[i]);
    return row->lanes + 1;
}

/* A row's columns, zipped, into a place. */
INLINE void NAME(zip)(const NAME(row) * row, NAME(place) place) {
    size_t j = 0;
#define ZIP_PHASES(count)                                                                          \
    case count:                                                                                    \
        j = NAME(zip_vectors)(count, row, place);                                                  \
        break;
    if (place.form != FORM_F16 || HAS_F16)
        switch (row->phases) {
            ZIP_PHASES(1)
            ZIP_PHASES(2)
            ZIP_PHASES(3)
            ZIP_PHASES(4)
            ZIP_PHASES(6)
            ZIP_PHASES(8)
            ZIP_PHASES(12)
        }
#undef ZIP_PHASES
    for (size_t e = 0; j * row->phases < row->columns && e < row->phases; e++)
        for (size_t i = j * row->phases + e, lane = j; i < row->columns; i += row->phases, lane++)
            NAME(put_one)(place, i, row->from[e * row->phase_step + lane] * row->times);
}

/* Rows of a few columns: where each of those comes from and goes to is found once for all channels,
 * of some rows at a time. */
#define NARROW_LANES 4 /* less than that, or than a vector where it has no quicker way */
#define NARROW_ELEMS 256
static void NAME(store_narrow)(const uc_rows *rows, const REAL *scales, REAL *elements,
                               size_t channel_step, size_t row_step) {
    size_t from[NARROW_ELEMS], to[NARROW_ELEMS];
    const size_t most = NARROW_ELEMS / rows->columns;
    for (size_t first = 0, some; first < rows->rows; first += some) {
        some = most < rows->rows - first ? most : rows->rows - first;
        size_t count = 0;
        for (size_t r = first; r < first + some; r++)
            for (size_t i = 0; i < rows->columns; i++, count++) {
                from[count] =
                    uc_row_at(rows, r) + i % rows->phases * rows->phase_step + i / rows->phases;
                to[count] = r * row_step + i;
            }
        for (size_t c = 0; c < rows->channels; c++) {
            const REAL *reals = (const REAL *)rows->reals + c * rows->lanes;
            const REAL times = scales ? scales[c] : 1;
            REAL *channel = elements + c * channel_step;
            if (c + 2 < rows->channels + rows->behind) /* every channel is a page of its own */
                for (size_t i = 0; i < count; i += rows->columns)
                    __builtin_prefetch(channel + 2 * channel_step + to[i], 1);
            for (size_t i = 0; i < count; i++)
                channel[to[i]] = reals[from[i]] * times;
        }
    }
}

/* Rows in one form; it and `stream` are constants where this is expanded. */
INLINE void NAME(store_as)(const uc_form form, const bool stream, const uc_rows *rows,
                           const REAL *scales, void *elements, void *rest, size_t channel_step,
                           size_t row_step) {
    const size_t bytes = form == FORM_REAL ? sizeof(REAL) : sizeof(uc_half),
                 lanes = rows->columns / rows->phases;
    /* Rows of one such piece are so short that the way to them would take longer. */
    if (form == FORM_REAL && rows->phases == 2 && rows->columns == 2 * QUAD) {
        for (size_t c = 0; c < rows->channels; c++)
            for (size_t r = 0; r < rows->rows; r++)
                NAME(zip_quad)
        (2, (const REAL *)rows->reals + c * rows->lanes + uc_row_at(rows, r), rows->phase_step,
         scales ? scales[c] : 1, (REAL *)elements + c * channel_step + r * row_step);
        return;
    }
    const bool narrow = (rows->phases <= 4 && lanes < NARROW_LANES) ||
                        (!HAS_MASKS && rows->phases <= 2 && lanes < LANES && lanes % QUAD);
    if (form == FORM_REAL && !stream && narrow && rows->columns <= NARROW_ELEMS) {
        NAME(store_narrow)(rows, scales, elements, channel_step, row_step);
        return;
    }
    for (size_t c = 0; c < rows->channels; c++)
        for (size_t r = 0; r < rows->rows; r++) {
            const size_t lane = uc_row_at(rows, r);
            const NAME(row) row = {(const REAL *)rows->reals + c * rows->lanes + lane,
                                   rows->phases,
                                   rows->phase_step,
                                   scales ? scales[c] : 1,
                                   lanes,
                                   rows->columns,
                                   NAME(room_from)(rows, c, lane)};
            const size_t at = (c * channel_step + r * row_step) * bytes;
            char *to = (char *)elements + at;
            /* every channel is a page of its own */
            if (!stream && c + 2 < rows->channels + rows->behind)
                for (size_t i = 0; i < rows->columns * bytes; i += 64)
                    __builtin_prefetch(to + 2 * channel_step * bytes + i, 1);
            if (scales) /* rows that were kept come from afar */
                for (size_t e = 0; e < rows->phases; e++)
                    for (size_t i = 0; i < lanes; i += 64 / sizeof(REAL))
                        __builtin_prefetch(row.from + rows->lanes + e * rows->phase_step + i);
            NAME(zip)(&row, (NAME(place)){to, form, stream, rest ? (char *)rest + at : NULL});
        }
}

/* Lines go past the caches from where they were put together. Their first `skipped` bytes are not
 * ours: then the first goes through the caches, as the last one does. */
#define LINE_BYTES ((size_t)64)
INLINE char *NAME(stream_lines)(char *to, char *staged, size_t *filled, size_t *skipped) {
    size_t done = 0;
    if (*skipped && *filled >= LINE_BYTES) {
        memcpy(to + *skipped, staged + *skipped, LINE_BYTES - *skipped);
        *skipped = 0;
        done = LINE_BYTES;
    }
    for (; done + LINE_BYTES <= *filled; done += LINE_BYTES)
        UNROLL for (size_t i = 0; i < LINE_BYTES; i += VECTOR_BYTES)
            NAME(stream_vector)((REAL *)(void *)(to + done + i),
                                load_vector((const REAL *)(void *)(staged + done + i)));
    *filled -= done;
    if (done) /* a line of no fixed size would take a call */
        memcpy(staged, staged + done, LINE_BYTES);
    return to + done;
}

/* A row in any form, for those without a quicker way: of more phases, long ones, and the last ones,
 * behind which there may be no whole vector to read. */
static __attribute__((noinline)) void NAME(zip_any)(const NAME(row) * row, uc_form form, char *to) {
    NAME(zip)(row, (NAME(place)){to, form, false, NULL});
}

/* Some rows of a channel, one after the other. Behind each may be written: whole vectors, with up
 * to ZIPPED_OVER phases of one too many. `phases` is a constant where this is expanded, or 0. */
#define ZIPPED_OVER 4
INLINE void NAME(zip_rows_of)(const size_t phases, const uc_form form, const uc_rows *rows,
                              size_t channel, REAL times, size_t first, size_t count, char *to) {
    const size_t bytes = form == FORM_REAL ? sizeof(REAL) : sizeof(uc_half),
                 sets = rows->sets ? rows->sets : 1,
                 lanes = phases ? (rows->columns - 1) / phases / LANES * LANES + LANES : 0;
    const REAL *reals = (const REAL *)rows->reals + channel * rows->lanes;
    size_t set = first % sets, lane = uc_row_at(rows, first);
    for (size_t r = 0; r < count; r++, to += rows->columns * bytes) {
        const NAME(row) row = {reals + lane,
                               rows->phases,
                               rows->phase_step,
                               times,
                               rows->columns / rows->phases,
                               rows->columns,
                               NAME(room_from)(rows, channel, lane)};
        const NAME(place) place = {to, form, false, NULL};
        if (phases && lanes <= row.room)
            for (size_t j = 0; j < lanes; j += LANES)
                NAME(zip_vector)(phases, &row, j, place, j * phases);
        else
            NAME(zip_any)(&row, form, to);
        /* uc_row_at() of the next one, without a division */
        set++;
        lane += set < sets ? rows->set_step : rows->pitch - (sets - 1) * rows->set_step;
        set = set < sets ? set : 0;
    }
}

INLINE void NAME(zip_rows)(const uc_form form, const uc_rows *rows, size_t channel, REAL times,
                           size_t first, size_t count, char *to) {
    switch (form != FORM_F16 || HAS_F16 ? rows->phases : 0) {
#define ZIP_PHASES(phases)                                                                         \
    case phases:                                                                                   \
        NAME(zip_rows_of)(phases, form, rows, channel, times, first, count, to);                   \
        break;
        ZIP_PHASES(1)
        ZIP_PHASES(2)
        ZIP_PHASES(3)
        ZIP_PHASES(4)
#undef ZIP_PHASES
    default:
        NAME(zip_rows_of)(0, form, rows, channel, times, first, count, to);
    }
}

/* Rows of one channel that follow each other in memory, and are some lines together: they are put
 * into those before they are streamed. */
#define STAGED_BYTES ((size_t)4096)
INLINE void NAME(store_joined)(const uc_form form, const uc_rows *rows, size_t channel,
                               size_t first, size_t end, REAL times, char *to) {
    const size_t bytes = form == FORM_REAL ? sizeof(REAL) : sizeof(uc_half),
                 row = rows->columns * bytes,
                 most = STAGED_BYTES / 2 / bytes / rows->phases * rows->phases;
    const REAL *reals = (const REAL *)rows->reals + channel * rows->lanes;
    _Alignas(64) char staged[STAGED_BYTES + LINE_BYTES + ZIPPED_OVER * VECTOR_BYTES];
    size_t skipped = (uintptr_t)to % LINE_BYTES, filled = skipped;
    to -= skipped;
    for (size_t r = first, count; row <= STAGED_BYTES / 2 && r < end; r += count) {
        const size_t fit = (STAGED_BYTES - filled) / row;
        count = fit < end - r ? fit : end - r;
        NAME(zip_rows)(form, rows, channel, times, r, count, staged + filled);
        filled += count * row;
        to = NAME(stream_lines)(to, staged, &filled, &skipped);
    }
    /* Long rows go piece by piece. */
    for (size_t r = first; row > STAGED_BYTES / 2 && r < end; r++)
        for (size_t begin = 0, count; begin < rows->columns; begin += count) {
            count = rows->columns - begin < most ? rows->columns - begin : most;
            const size_t lane = uc_row_at(rows, r) + begin / rows->phases;
            const NAME(row) piece = {reals + lane,
                                     rows->phases,
                                     rows->phase_step,
                                     times,
                                     count / rows->phases,
                                     count,
                                     NAME(room_from)(rows, channel, lane)};
            NAME(zip_any)(&piece, form, staged + filled);
            filled += count * bytes;
            to = NAME(stream_lines)(to, staged, &filled, &skipped);
        }
    memcpy(to, staged, filled);
}

/* Streaming needs whole cache lines. Where a line's other part goes through the caches, or past
 * them later, its memory is read and written for each: that takes as long as many rows. */
INLINE bool NAME(whole_lines)(size_t bytes, const uc_rows *rows, uintptr_t elements,
                              size_t channel_step, size_t row_step) {
    const size_t line = LINE_BYTES / bytes;
    return rows->columns % line == 0 && elements % LINE_BYTES == 0 &&
           (rows->channels == 1 || channel_step % line == 0) &&
           (rows->rows == 1 || row_step % line == 0);
}

/* How many rows are put together, if that is worth it, or 0: the lines at both ends are shared with
 * others. */
#define JOINED_BYTES ((size_t)1200)
INLINE size_t NAME(joins)(size_t bytes, const uc_rows *rows, size_t row_step) {
    const size_t together = row_step == rows->columns ? rows->rows : 1;
    return rows->phases <= 32 && together * rows->columns * bytes >= JOINED_BYTES ? together : 0;
}

/* Rows that follow each other without a gap both here and in memory are one. */
INLINE uc_rows NAME(merge_rows)(const uc_rows *rows, size_t row_step) {
    uc_rows merged = *rows;
    if (rows->rows > 1 && !rows->sets && rows->pitch * rows->phases == rows->columns &&
        row_step == rows->columns) {
        merged.columns *= rows->rows;
        merged.rows = 1;
    }
    return merged;
}

#define STORED_AHEAD 2 /* channels */
INLINE void NAME(store_in)(const uc_form form, const uc_rows *some, const REAL *scales,
                           void *elements, size_t channel_step, size_t row_step, uc_stream stream) {
    const uc_rows merged = NAME(merge_rows)(some, row_step), *rows = &merged;
    const size_t bytes = form == FORM_REAL ? sizeof(REAL) : sizeof(uc_half),
                 together = NAME(joins)(bytes, rows, row_step);
    if (stream && NAME(whole_lines)(bytes, rows, (uintptr_t)elements, channel_step, row_step))
        NAME(store_as)(form, true, rows, scales, elements, NULL, channel_step, row_step);
    else if (stream != UC_STREAM_JOINED || !together)
        NAME(store_as)(form, false, rows, scales, elements, NULL, channel_step, row_step);
    else
        for (size_t c = 0; c < rows->channels; c++)
            for (size_t r = 0; r < rows->rows; r += together) {
                char *to = (char *)elements + (c * channel_step + r * row_step) * bytes;
                /* The lines at both ends go through the caches, and others wait for them. */
                if (c + STORED_AHEAD < rows->channels + rows->behind) {
                    char *next = to + STORED_AHEAD * channel_step * bytes;
                    __builtin_prefetch(next, 1);
                    __builtin_prefetch(next + together * rows->columns * bytes, 1);
                }
                NAME(store_joined)
                (form, rows, c, r, r + together, scales ? scales[c] : 1, to);
            }
}

#define STORE(name, form)                                                                          \
    static void NAME(store_##name)(const uc_rows *rows, const REAL *scales, void *elements,        \
                                   size_t channel_step, size_t row_step, uc_stream stream) {       \
        NAME(store_in)(form, rows, scales, elements, channel_step, row_step, stream);              \
    }
STORE(reals, FORM_REAL)
#if !REAL_IS_DOUBLE
STORE(f16, FORM_F16)
STORE(bf16, FORM_BF16)
#endif
#undef STORE

static void NAME(store)(uc_dtype dtype, const uc_rows *rows, const void *scales, void *elements,
                        size_t channel_step, size_t row_step, uc_stream stream) {
#if !REAL_IS_DOUBLE
    if (dtype == UC_F16)
        NAME(store_f16)(rows, scales, elements, channel_step, row_step, stream);
    else if (dtype == UC_BF16)
        NAME(store_bf16)(rows, scales, elements, channel_step, row_step, stream);
    else
#endif
    {
        (void)dtype;
        NAME(store_reals)(rows, scales, elements, channel_step, row_step, stream);
    }
}
