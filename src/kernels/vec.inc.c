/* The vector vocabulary for one real type: what every kernel is written in.
 * Included first by kernels.inc.c. The compiler's own vector types: they lower themselves to what
 * the instruction set has, so a wide kernel also runs, slowly, on a narrow machine. */

#define LANES (VECTOR_BYTES / sizeof(REAL))
#define LANE_COUNT (VECTOR_BYTES / 4 >> REAL_IS_DOUBLE) /* the same, for the preprocessor */
#define vec NAME(vector)
#define ivec NAME(integers)
#define uvec NAME(unsigned_integers)
#define INLINE static inline __attribute__((always_inline))

typedef REAL vec __attribute__((vector_size(VECTOR_BYTES)));
typedef INTEGER ivec __attribute__((vector_size(VECTOR_BYTES)));
typedef UNSIGNED uvec __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL NAME(vector_unaligned)
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

#if defined(__SANITIZE_ADDRESS__)
#define UNROLL /* gcc would take minutes to check every access of what is unrolled */
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* Keeps a loaded vector in a register. Left to itself, gcc may fold one load into several
 * multiply-adds and load it again each time (78 % of peak instead of 94 %). */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define PIN(v) __asm__("" : "+v"(v)) /* x would be the first 16 registers alone */
#elif (VECTOR_BYTES == 32 && defined(__AVX__)) || (VECTOR_BYTES == 16 && defined(__x86_64__))
#define PIN(v) __asm__("" : "+x"(v))
#elif VECTOR_BYTES == 16 && defined(__aarch64__)
#define PIN(v) __asm__("" : "+w"(v))
#else
#define PIN(v) (void)(v)
#endif

/* sum += a * b, in sum's own register. Left to itself, gcc lets the sums of a long loop change
 * places, and spills one of them. */
#if REAL_IS_DOUBLE
#define MULTIPLY_ADD "vfmadd231pd %2, %1, %0"
#else
#define MULTIPLY_ADD "vfmadd231ps %2, %1, %0"
#endif
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define ADD_PRODUCT(sum, a, b) __asm__(MULTIPLY_ADD : "+v"(sum) : "v"(a), "v"(b))
#elif VECTOR_BYTES == 32 && defined(__FMA__)
#define ADD_PRODUCT(sum, a, b) __asm__(MULTIPLY_ADD : "+x"(sum) : "x"(a), "x"(b))
#else
#define ADD_PRODUCT(sum, a, b) ((sum) += (a) * (b))
#endif

/* sum += number * b, for a number in memory that serves no other sum. Where the multiply-add itself
 * can load it, that is quicker than two instructions (AMD Zen 5: 512 to 512 channels of 8 x 8 0.96
 * of the time). */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#if REAL_IS_DOUBLE
#define MULTIPLY_ADD_NUMBER "vfmadd231pd %2%{1to8%}, %1, %0"
#else
#define MULTIPLY_ADD_NUMBER "vfmadd231ps %2%{1to16%}, %1, %0"
#endif
#define ADD_NUMBER_PRODUCT(sum, number, b)                                                         \
    __asm__(MULTIPLY_ADD_NUMBER : "+v"(sum) : "v"(b), "m"(number))
#else
#define ADD_NUMBER_PRODUCT(sum, number, b) ADD_PRODUCT(sum, splat(number), b)
#endif

INLINE vec NAME(load_vector)(const REAL *from) {
    return *(const NAME(vector_unaligned) *)from;
}

INLINE void NAME(store_vector)(REAL *to, vec v) {
    *(NAME(vector_unaligned) *)to = v;
}

/* The first lanes of a vector alone, `count` of them at most; the others are loaded as 0. Quick
 * where HAS_MASKS. */
INLINE vec NAME(load_some)(const REAL *from, size_t count) {
#if HAS_MASKS && REAL_IS_DOUBLE
    return (vec)_mm512_maskz_loadu_pd((__mmask8)FIRST_LANES(count), from);
#elif HAS_MASKS
    return (vec)_mm512_maskz_loadu_ps((__mmask16)FIRST_LANES(count), from);
#else
    vec v = {0};
    for (size_t i = 0; i < count && i < LANES; i++)
        v[i] = from[i];
    return v;
#endif
}

INLINE void NAME(store_some)(REAL *to, vec v, size_t count) {
#if HAS_MASKS && REAL_IS_DOUBLE
    _mm512_mask_storeu_pd(to, (__mmask8)FIRST_LANES(count), (__m512d)v);
#elif HAS_MASKS
    _mm512_mask_storeu_ps(to, (__mmask16)FIRST_LANES(count), (__m512)v);
#else
    for (size_t i = 0; i < count && i < LANES; i++)
        to[i] = v[i];
#endif
}

INLINE vec NAME(splat)(REAL value) {
    return value - (vec){0}; /* folds away: x - 0 is x, and x + 0 would not be for -0 */
}

/* Lanes of a where the mask is set, of b elsewhere. */
INLINE vec NAME(choose)(ivec mask, vec a, vec b) {
    return (vec)(((ivec)a & mask) | ((ivec)b & ~mask));
}

/* a < b ? a : b and a > b ? a : b, so b where either is NaN. Compilers miss the instruction. */
#if VECTOR_BYTES == 16 && defined(__SSE2__)
#define MINMAX(op) REAL_INTRINSIC(__builtin_ia32_##op##ps, __builtin_ia32_##op##pd)
#elif VECTOR_BYTES == 32 && defined(__AVX__)
#define MINMAX(op) REAL_INTRINSIC(__builtin_ia32_##op##ps256, __builtin_ia32_##op##pd256)
#elif VECTOR_BYTES == 64 && defined(__AVX512F__)
#define MINMAX(op) REAL_INTRINSIC(_mm512_##op##_ps, _mm512_##op##_pd)
#endif
#if REAL_IS_DOUBLE
#define REAL_INTRINSIC(f32, f64) f64
#else
#define REAL_INTRINSIC(f32, f64) f32
#endif
#if defined(MINMAX)
#define LESSER(a, b) (vec) MINMAX(min)((a), (b))
#define GREATER(a, b) (vec) MINMAX(max)((a), (b))
#else
#define LESSER(a, b) NAME(choose)((a) < (b), (a), (b))
#define GREATER(a, b) NAME(choose)((a) > (b), (a), (b))
#endif

INLINE vec NAME(lesser)(vec a, vec b) {
    return LESSER(a, b);
}

INLINE vec NAME(greater)(vec a, vec b) {
    return GREATER(a, b);
}

INLINE vec NAME(absolute)(vec v) {
    return (vec)((ivec)v & INTEGER_MAX);
}

/* Past the caches, for output that nobody reads soon. `to` is aligned to the vector. */
INLINE void NAME(stream_vector)(REAL *to, vec v) {
#if defined(__x86_64__) && VECTOR_BYTES == 16
    __asm__("movntps %1, %0" : "=m"(*(vec *)(void *)to) : "x"(v));
#elif (VECTOR_BYTES == 32 && defined(__AVX__)) || (VECTOR_BYTES == 64 && defined(__AVX512F__))
    __asm__("vmovntps %1, %0" : "=m"(*(vec *)(void *)to) : "x"(v));
#else
    NAME(store_vector)(to, v);
#endif
}

/* Streamed stores are not ordered otherwise. */
static void NAME(end_stream)(void) {
#if defined(__x86_64__)
    __asm__ volatile("sfence" ::: "memory");
#endif
}

/* The lanes of a and b in turn: of their first halves, and of their second ones; and the way back.
 */
#if LANE_COUNT == 2
#define EACH_LANE(index, first) index(first), index((first) + 1)
#define ZIP_FIRST 0, 2
#define ZIP_SECOND 1, 3
#define EVEN_LANES 0, 2
#define ODD_LANES 1, 3
#elif LANE_COUNT == 4
#define EACH_LANE(index, first)                                                                    \
    index(first), index((first) + 1), index((first) + 2), index((first) + 3)
#define ZIP_FIRST 0, 4, 1, 5
#define ZIP_SECOND 2, 6, 3, 7
#define EVEN_LANES 0, 2, 4, 6
#define ODD_LANES 1, 3, 5, 7
#define ZIP_LOW 0, 4, 2, 6 /* inside of either half of a vector of 32 bytes */
#define ZIP_HIGH 1, 5, 3, 7
#define FIRST_HALVES 0, 1, 4, 5
#define SECOND_HALVES 2, 3, 6, 7
#elif LANE_COUNT == 8
#define EACH_LANE(index, first)                                                                    \
    index(first), index((first) + 1), index((first) + 2), index((first) + 3), index((first) + 4),  \
        index((first) + 5), index((first) + 6), index((first) + 7)
#define ZIP_FIRST 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_SECOND 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15
#define ZIP_LOW 0, 8, 1, 9, 4, 12, 5, 13
#define ZIP_HIGH 2, 10, 3, 11, 6, 14, 7, 15
#define FIRST_HALVES 0, 1, 2, 3, 8, 9, 10, 11
#define SECOND_HALVES 4, 5, 6, 7, 12, 13, 14, 15
#elif LANE_COUNT == 16
#define EACH_LANE(index, first)                                                                    \
    index(first), index((first) + 1), index((first) + 2), index((first) + 3), index((first) + 4),  \
        index((first) + 5), index((first) + 6), index((first) + 7), index((first) + 8),            \
        index((first) + 9), index((first) + 10), index((first) + 11), index((first) + 12),         \
        index((first) + 13), index((first) + 14), index((first) + 15)
#define ZIP_FIRST 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_SECOND 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#endif

#if !REAL_IS_DOUBLE
/* A vector in 16 bits. */
typedef uint16_t NAME(halves) __attribute__((vector_size(LANES * 2)));
typedef uint16_t NAME(halves_unaligned)
    __attribute__((vector_size(LANES * 2), aligned(2), may_alias));

INLINE NAME(halves) NAME(halves_of)(const uc_form form, vec x) {
    const uvec bits = (uvec)x;
#if HAS_F16
    if (form == FORM_F16)
#if VECTOR_BYTES == 64
        return (NAME(halves))_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#else
        return (NAME(halves))_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#endif
#else
    (void)form;
#endif
    /* As uc_f32_to_bf16() does. */
    const uvec rounded = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000,
               chosen = (uvec)NAME(choose)(x == x, (vec)rounded, (vec)nan);
    return __builtin_convertvector(chosen >> 16, NAME(halves));
}

INLINE void NAME(put_halves)(const bool stream, uc_half *to, NAME(halves) v) {
#if defined(__AVX__) && VECTOR_BYTES > 16
    if (stream) {
        __asm__("vmovntps %1, %0" : "=m"(*(NAME(halves_unaligned) *)to) : "x"(v));
        return;
    }
#else
    (void)stream;
#endif
    *(NAME(halves_unaligned) *)to = v;
}
#endif

/* A vector of elements, which can be loaded as one, and a single one. */
INLINE vec NAME(load_elements)(const uc_form form, const void *elements, size_t at) {
#if !REAL_IS_DOUBLE
    if (form != FORM_REAL) {
        NAME(halves) halves;
        memcpy(&halves, (const uc_half *)elements + at, sizeof halves);
#if HAS_F16
        if (form == FORM_F16)
#if VECTOR_BYTES == 64
            return (vec)_mm512_cvtph_ps((__m256i)halves);
#else
            return (vec)_mm256_cvtph_ps((__m128i)halves);
#endif
#endif
        return (vec)(__builtin_convertvector(halves, uvec) << 16);
    }
#else
    (void)form;
#endif
    return NAME(load_vector)((const REAL *)elements + at);
}

INLINE REAL NAME(load_one)(const uc_form form, const void *elements, size_t at) {
    return form == FORM_REAL  ? ((const REAL *)elements)[at]
           : form == FORM_F16 ? (REAL)uc_f16_to_f32(((const uc_half *)elements)[at])
                              : (REAL)uc_bf16_to_f32(((const uc_half *)elements)[at]);
}

/* Where columns go: in which form, and past the caches or not. These two are constants where this
 * is expanded. rest: in parts, where the lower ones go. */
typedef struct NAME(place) {
    void *to;
    uc_form form;
    bool stream;
    void *rest;
} NAME(place);

/* Stores a vector `at` elements after the place's first. */
INLINE void NAME(put_vector)(NAME(place) place, size_t at, vec v) {
#if !REAL_IS_DOUBLE
    if (place.form == FORM_PARTS) {
        const uvec bits = (uvec)v;
        NAME(put_halves)
        (place.stream, (uc_half *)place.to + at, __builtin_convertvector(bits >> 16, NAME(halves)));
        NAME(put_halves)
        (place.stream, (uc_half *)place.rest + at,
         __builtin_convertvector(bits & 0xffff, NAME(halves)));
        return;
    }
    if (place.form != FORM_REAL) {
        NAME(put_halves)(place.stream, (uc_half *)place.to + at, NAME(halves_of)(place.form, v));
        return;
    }
#endif
    if (place.stream)
        NAME(stream_vector)((REAL *)place.to + at, v);
    else
        NAME(store_vector)((REAL *)place.to + at, v);
}

#if !REAL_IS_DOUBLE
/* Two vectors in parts, whole vectors of them. */
#define UPPER_HALF(q) (2 * (q) + 1)
#define LOWER_HALF(q) (2 * (q))
#define BOTH(index) EACH_LANE(index, 0), EACH_LANE(index, LANE_COUNT)
INLINE void NAME(put_parts)(NAME(place) place, size_t at, vec a, vec b) {
    typedef uint16_t all __attribute__((vector_size(VECTOR_BYTES)));
    const vec upper = (vec)__builtin_shufflevector((all)a, (all)b, BOTH(UPPER_HALF)),
              lower = (vec)__builtin_shufflevector((all)a, (all)b, BOTH(LOWER_HALF));
    uc_half *to = (uc_half *)place.to + at, *rest = (uc_half *)place.rest + at;
    if (place.stream) {
        NAME(stream_vector)((REAL *)(void *)to, upper);
        NAME(stream_vector)((REAL *)(void *)rest, lower);
    } else { /* at any address */
        memcpy(to, &upper, sizeof upper);
        memcpy(rest, &lower, sizeof lower);
    }
}
#undef UPPER_HALF
#undef LOWER_HALF
#undef BOTH
#endif

/* The lanes of 2, 3, 4, 6, 8 or 12 vectors in turn. */
INLINE void NAME(put_zipped_2)(NAME(place) place, size_t at, vec a, vec b) {
    NAME(put_vector)(place, at, __builtin_shufflevector(a, b, ZIP_FIRST));
    NAME(put_vector)(place, at + LANES, __builtin_shufflevector(a, b, ZIP_SECOND));
}

INLINE void NAME(put_zipped_4)(NAME(place) place, size_t at, const vec v[4]) {
#if VECTOR_BYTES == 32
    /* Inside of halves first, then those change places: a quarter fewer shuffles, or half. */
#if LANE_COUNT == 8
    const vec a = __builtin_shufflevector(v[0], v[2], ZIP_LOW),
              b = __builtin_shufflevector(v[0], v[2], ZIP_HIGH),
              c = __builtin_shufflevector(v[1], v[3], ZIP_LOW),
              d = __builtin_shufflevector(v[1], v[3], ZIP_HIGH);
    const vec zipped[4] = {
        __builtin_shufflevector(a, c, ZIP_LOW), __builtin_shufflevector(a, c, ZIP_HIGH),
        __builtin_shufflevector(b, d, ZIP_LOW), __builtin_shufflevector(b, d, ZIP_HIGH)};
#else
    const vec zipped[4] = {__builtin_shufflevector(v[0], v[1], ZIP_LOW),
                           __builtin_shufflevector(v[2], v[3], ZIP_LOW),
                           __builtin_shufflevector(v[0], v[1], ZIP_HIGH),
                           __builtin_shufflevector(v[2], v[3], ZIP_HIGH)};
#endif
    /* Two cache lines in turn, since a half of each comes from the same two vectors. */
    UNROLL for (size_t i = 0; i < 2; i++) {
        const vec a = zipped[2 * i], b = zipped[2 * i + 1];
        NAME(put_vector)(place, at + i * LANES, __builtin_shufflevector(a, b, FIRST_HALVES));
        NAME(put_vector)(place, at + (2 + i) * LANES, __builtin_shufflevector(a, b, SECOND_HALVES));
    }
#else
    NAME(put_zipped_2)
    (place, at, __builtin_shufflevector(v[0], v[2], ZIP_FIRST),
     __builtin_shufflevector(v[1], v[3], ZIP_FIRST));
    NAME(put_zipped_2)
    (place, at + 2 * LANES, __builtin_shufflevector(v[0], v[2], ZIP_SECOND),
     __builtin_shufflevector(v[1], v[3], ZIP_SECOND));
#endif
}

/* Of three vectors of pairs, pairs in turn: lane q of the result, first from a and b, then from
 * those and c. */
#define PAIR_OF(q) ((q) / 6 * 2 + (q) % 2)
#define TWO_OF_3(q) ((q) / 2 % 3 == 2 ? -1 : (q) / 2 % 3 * LANE_COUNT + PAIR_OF(q))
#define ALL_3(q) ((q) / 2 % 3 == 2 ? LANE_COUNT + PAIR_OF(q) : (q) % LANE_COUNT)
#define PAIRS_OF_3(k, a, b, c)                                                                     \
    __builtin_shufflevector(__builtin_shufflevector(a, b, EACH_LANE(TWO_OF_3, (k)*LANE_COUNT)), c, \
                            EACH_LANE(ALL_3, (k)*LANE_COUNT))

INLINE void NAME(put_pairs_3)(NAME(place) place, size_t at, vec a, vec b, vec c) {
    NAME(put_vector)(place, at, PAIRS_OF_3(0, a, b, c));
    NAME(put_vector)(place, at + LANES, PAIRS_OF_3(1, a, b, c));
    NAME(put_vector)(place, at + 2 * LANES, PAIRS_OF_3(2, a, b, c));
}

INLINE void NAME(put_zipped_6)(NAME(place) place, size_t at, const vec v[6]) {
    NAME(put_pairs_3)
    (place, at, __builtin_shufflevector(v[0], v[1], ZIP_FIRST),
     __builtin_shufflevector(v[2], v[3], ZIP_FIRST),
     __builtin_shufflevector(v[4], v[5], ZIP_FIRST));
    NAME(put_pairs_3)
    (place, at + 3 * LANES, __builtin_shufflevector(v[0], v[1], ZIP_SECOND),
     __builtin_shufflevector(v[2], v[3], ZIP_SECOND),
     __builtin_shufflevector(v[4], v[5], ZIP_SECOND));
}

/* Of three vectors, lanes in turn: the same for lane q of all that comes out. */
#define TWO_LANES_OF_3(q) ((q) % 3 == 2 ? -1 : (q) % 3 * LANE_COUNT + (q) / 3)
#define ALL_LANES_OF_3(q) ((q) % 3 == 2 ? LANE_COUNT + (q) / 3 : (q) % LANE_COUNT)
#define LANES_OF_3(k, v)                                                                           \
    __builtin_shufflevector(                                                                       \
        __builtin_shufflevector((v)[0], (v)[1], EACH_LANE(TWO_LANES_OF_3, (k)*LANE_COUNT)),        \
        (v)[2], EACH_LANE(ALL_LANES_OF_3, (k)*LANE_COUNT))

INLINE void NAME(put_zipped_3)(NAME(place) place, size_t at, const vec v[3]) {
    NAME(put_vector)(place, at, LANES_OF_3(0, v));
    NAME(put_vector)(place, at + LANES, LANES_OF_3(1, v));
    NAME(put_vector)(place, at + 2 * LANES, LANES_OF_3(2, v));
}

/* Twice 4 or 6: each vector zipped with the one that comes half of them later, then all. `half` is
 * a constant where this is expanded. */
INLINE void NAME(put_zipped_twice)(const size_t half, NAME(place) place, size_t at, const vec *v) {
    vec first[6], second[6];
    UNROLL for (size_t i = 0; i < half; i++) {
        first[i] = __builtin_shufflevector(v[i], v[i + half], ZIP_FIRST);
        second[i] = __builtin_shufflevector(v[i], v[i + half], ZIP_SECOND);
    }
    if (half == 4) {
        NAME(put_zipped_4)(place, at, first);
        NAME(put_zipped_4)(place, at + half * LANES, second);
    } else {
        NAME(put_zipped_6)(place, at, first);
        NAME(put_zipped_6)(place, at + half * LANES, second);
    }
}

#define load_vector NAME(load_vector)
#define store_vector NAME(store_vector)
#define splat NAME(splat)
#define choose NAME(choose)
#define lesser NAME(lesser)
#define greater NAME(greater)
#define absolute NAME(absolute)
