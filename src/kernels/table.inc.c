/* Loads, stores, and the table of all kernels for one real type.
 * Included last by kernels.inc.c. */

static void NAME(load)(uc_dtype dtype, const void *elements, void *reals, size_t count) {
    REAL *restrict to = reals;
    const uc_half *restrict from = elements;
    size_t i = 0;
    switch (dtype) {
    case UC_F32:
    case UC_F64:                               /* the real type is the element type */
        for (; i + LANES <= count; i += LANES) /* rows are short: quicker than a call */
            store_vector(to + i, load_vector((const REAL *)elements + i));
        memcpy(to + i, (const REAL *)elements + i, (count - i) * sizeof *to);
        break;
    case UC_F16:
#if defined(__F16C__) && !REAL_IS_DOUBLE
        for (; i + 8 <= count; i += 8)
            _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                         (const __m128i *)(const void *)(from + i))));
#endif
        for (; i < count; i++)
            to[i] = uc_f16_to_f32(from[i]);
        break;
    case UC_BF16:
        for (; i < count; i++)
            to[i] = uc_bf16_to_f32(from[i]);
        break;
    }
}

/* A vector of 1, 2, 3, 4, 6, 8 or 12 phases, times a number and zipped; `phases` and `stream` are
 * constants where this is expanded. */
INLINE void NAME(zip_vector)(const size_t phases, const bool stream, const REAL *from,
                             size_t phase_step, REAL times, REAL *to) {
    vec v[12];
    UNROLL for (size_t e = 0; e < phases; e++) v[e] = load_vector(from + e * phase_step) * times;
    if (phases == 1)
        NAME(put_vector)(to, v[0], stream);
    else if (phases == 2)
        NAME(put_zipped_2)(to, v[0], v[1], stream);
    else if (phases == 3)
        NAME(put_zipped_3)(to, v, stream);
    else if (phases == 4)
        NAME(put_zipped_4)(to, v, stream);
    else if (phases == 6)
        NAME(put_zipped_6)(to, v, stream);
    else
        NAME(put_zipped_twice)(phases / 2, to, v, stream);
}

/* Where the columns of a row come from, and how many there are: `lanes` of all phases, and then
 * perhaps one more of some. `room`: lanes of a phase that may be read. */
typedef struct NAME(row) {
    const REAL *from;
    size_t phases, phase_step;
    REAL times;
    size_t lanes, columns, room;
} NAME(row);

/* All lanes that fill vectors, and, of many phases, the columns behind them if they fill a vector.
 * Returns how many lanes it took. */
INLINE size_t NAME(zip_vectors)(const size_t phases, const bool stream, const NAME(row) * row,
                                REAL *to) {
    size_t j = 0;
    for (; j + LANES <= row->lanes; j += LANES)
        NAME(zip_vector)
    (phases, stream, row->from + j, row->phase_step, row->times, to + j * phases);
    const size_t left = row->columns - j * phases;
    if (phases <= 2 || left < LANES || j + LANES > row->room)
        return j;
    REAL last[12 * LANES];
    NAME(zip_vector)(phases, false, row->from + j, row->phase_step, row->times, last);
    to += j * phases;
    size_t i = 0;
    for (; i + LANES <= left; i += LANES)
        NAME(put_vector)(to + i, load_vector(last + i), stream);
    for (; i < left; i++)
        to[i] = last[i];
    return row->lanes + 1;
}

/* The same for 16 bytes of 1 or 2 phases, from lane j on: narrow rows have no more. */
#define QUAD (16 / sizeof(REAL))
typedef REAL NAME(quad) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));

INLINE size_t NAME(zip_quads)(const size_t phases, const NAME(row) * row, REAL *to, size_t j) {
    for (; j + QUAD <= row->lanes; j += QUAD) {
        const NAME(quad) a = *(const NAME(quad) *)(row->from + j) * row->times;
        NAME(quad) *at = (NAME(quad) *)(to + j * phases);
        if (phases == 1) {
            at[0] = a;
            continue;
        }
        const NAME(quad) b = *(const NAME(quad) *)(row->from + row->phase_step + j) * row->times;
#if REAL_IS_DOUBLE
        at[0] = __builtin_shufflevector(a, b, 0, 2);
        at[1] = __builtin_shufflevector(a, b, 1, 3);
#else
        at[0] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        at[1] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
    }
    return j;
}

/* A row's columns, zipped, into `to`. Streamed where that is worth it. */
INLINE void NAME(zip)(const NAME(row) * row, REAL *to, bool stream) {
    size_t j = 0;
#define ZIP_PHASES(count)                                                                          \
    case count:                                                                                    \
        j = stream ? NAME(zip_vectors)(count, true, row, to)                                       \
                   : NAME(zip_vectors)(count, false, row, to);                                     \
        if (count <= 2)                                                                            \
            j = NAME(zip_quads)(count, row, to, j);                                                \
        break;
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
            to[i] = row->from[e * row->phase_step + lane] * row->times;
}

/* Columns that are zipped at a time before they are converted. */
#define ZIP 512

#if !REAL_IS_DOUBLE
/* A vector in 16 bits. */
typedef uint16_t NAME(halves) __attribute__((vector_size(LANES * 2)));
typedef uint16_t NAME(halves_unaligned)
    __attribute__((vector_size(LANES * 2), aligned(2), may_alias));

INLINE NAME(halves) NAME(halves_of)(const bool brain, vec x) {
    const uvec bits = (uvec)x;
#if defined(__F16C__)
    if (!brain) {
#if VECTOR_BYTES == 64
        return (NAME(halves))_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif VECTOR_BYTES == 32
        return (NAME(halves))_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#endif
    }
#else
    (void)brain;
#endif
    /* As uc_f32_to_bf16() does. */
    const uvec number = (uvec)(x == x), rounded = bits + 0x7fff + (bits >> 16 & 1),
               nan = bits | 0x400000, chosen = (rounded & number) | (nan & ~number);
    return __builtin_convertvector(chosen >> 16, NAME(halves));
}

INLINE void NAME(stream_halves)(uc_half *to, NAME(halves) v) {
#if defined(__AVX__) && VECTOR_BYTES > 16
    __asm__("vmovntps %1, %0" : "=m"(*(NAME(halves_unaligned) *)to) : "x"(v));
#else
    *(NAME(halves_unaligned) *)to = v;
#endif
}

/* Whole vectors in 16 bits; `brain` and `stream` are constants where this is expanded. Returns how
 * many reals it took. */
INLINE size_t NAME(put_halves)(const bool brain, const bool stream, const REAL *from, uc_half *to,
                               size_t count) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const NAME(halves) v = NAME(halves_of)(brain, load_vector(from + i));
        if (stream)
            NAME(stream_halves)(to + i, v);
        else
            *(NAME(halves_unaligned) *)(to + i) = v;
    }
    return i;
}
#endif

static void NAME(store_half)(uc_dtype dtype, const REAL *restrict from, uc_half *restrict to,
                             size_t count, bool stream) {
    size_t i = 0;
    const bool brain = dtype == UC_BF16;
#if REAL_IS_DOUBLE
    (void)stream;
#else
    if (brain)
        i = stream ? NAME(put_halves)(true, true, from, to, count)
                   : NAME(put_halves)(true, false, from, to, count);
#if defined(__F16C__) && VECTOR_BYTES > 16
    else
        i = stream ? NAME(put_halves)(false, true, from, to, count)
                   : NAME(put_halves)(false, false, from, to, count);
#endif
#endif
    for (; i < count; i++)
        to[i] = brain ? uc_f32_to_bf16((float)from[i]) : uc_f32_to_f16((float)from[i]);
}

/* One row of one channel in 16 bits. */
static void NAME(store_half_row)(uc_dtype dtype, NAME(row) row, uc_half *to, bool stream) {
    REAL zipped[ZIP];
    const size_t phases = row.phases,
                 most = phases < ZIP ? ZIP / phases / LANES * LANES : 0; /* lanes at a time */
    for (size_t lane = 0; most && lane * phases < row.columns; lane += most) {
        const size_t begin = lane * phases, left = row.columns - begin;
        NAME(row) some = row;
        some.from += lane;
        some.columns = left < most * phases ? left : most * phases;
        some.lanes = some.columns / phases;
        some.room -= lane;
        NAME(zip)(&some, zipped, false);
        NAME(store_half)(dtype, zipped, to + begin, some.columns, stream);
    }
    for (size_t i = 0; !most && i < row.columns; i++) { /* columns far apart: one by one */
        zipped[0] = row.from[i % phases * row.phase_step + i / phases] * row.times;
        NAME(store_half)(dtype, zipped, to + i, 1, false);
    }
}

static void NAME(store)(uc_dtype dtype, const uc_rows *rows, const void *scales, void *elements,
                        size_t channel_step, size_t row_step, bool stream) {
    const size_t phases = rows->phases, columns = rows->columns, lanes = columns / phases;
    const bool half = dtype == UC_F16 || dtype == UC_BF16;
    /* Streaming needs whole vectors at whole addresses. */
    const size_t bytes = half ? sizeof(uc_half) : sizeof(REAL);
    stream = stream && (uintptr_t)elements % (LANES * bytes) == 0 && channel_step % LANES == 0 &&
             (rows->rows == 1 || row_step % LANES == 0);
    for (size_t c = 0; c < rows->channels; c++)
        for (size_t r = 0; r < rows->rows; r++) {
            const NAME(row) row = {(const REAL *)rows->reals + c * rows->lanes + r * rows->pitch,
                                   phases,
                                   rows->phase_step,
                                   scales ? ((const REAL *)scales)[c] : 1,
                                   lanes,
                                   columns,
                                   rows->phase_step - r * rows->pitch};
            const size_t at = c * channel_step + r * row_step;
            if (!stream && c + 2 < rows->channels) /* every channel is a page of its own */
                for (size_t i = 0; i < columns * bytes; i += 64)
                    __builtin_prefetch((char *)elements + (at + 2 * channel_step) * bytes + i, 1);
            if (half)
                NAME(store_half_row)(dtype, row, (uc_half *)elements + at, stream);
            else /* the real type is the element type */
                NAME(zip)(&row, (REAL *)elements + at, stream);
        }
#if defined(__x86_64__)
    if (stream)
        __asm__ volatile("sfence" ::: "memory"); /* streamed stores are not ordered otherwise */
#endif
}

const uc_kernels TABLE = {
    .name = TABLE_NAME,
    .real_bytes = sizeof(REAL),
    .panel = PANEL,
    .vector_lanes = LANES,
    .load = NAME(load),
    .store = NAME(store),
    .conv = NAME(conv),
    .conv_exact = NAME(conv_exact),
    .combine = NAME(combine),
    .toom = NAME(toom),
    .split = NAME(split),
    .transform = NAME(transform),
    .transform_last = NAME(transform_last),
    .magnitudes = NAME(magnitudes),
    .finish =
        {
#define OP(name, needs, arguments) FINISH_##needs(name),
#include "ops.def"
#undef OP
        },
    .merge =
        {
#define OP(name, needs, arguments) MERGE_##needs(name),
#include "ops.def"
#undef OP
        },
    .fold =
        {
#define OP(name, needs, arguments) FOLD_##needs(name),
#include "ops.def"
#undef OP
        },
    .measure =
        {
#define OP(name, needs, arguments) MEASURE_##needs(name),
#include "ops.def"
#undef OP
        },
    .scales =
        {
#define OP(name, needs, arguments) SCALES_##needs(name),
#include "ops.def"
#undef OP
        },
};
