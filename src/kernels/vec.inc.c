/* The vector vocabulary for one real type: what every kernel is written in.
 * Included first by kernels.inc.c. The compiler's own vector types: they lower themselves to what
 * the instruction set has, so a wide kernel also runs, slowly, on a narrow machine. */

#define LANES (VECTOR_BYTES / sizeof(REAL))
#define LANE_COUNT (VECTOR_BYTES / 4 >> REAL_IS_DOUBLE) /* the same, for the preprocessor */
#define vec NAME(vector)
#define ivec NAME(integers)
#define INLINE static inline __attribute__((always_inline))

typedef REAL vec __attribute__((vector_size(VECTOR_BYTES)));
typedef INTEGER ivec __attribute__((vector_size(VECTOR_BYTES)));
typedef REAL NAME(vector_unaligned)
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
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

INLINE vec NAME(load_vector)(const REAL *from) {
    return *(const NAME(vector_unaligned) *)from;
}

INLINE void NAME(store_vector)(REAL *to, vec v) {
    *(NAME(vector_unaligned) *)to = v;
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

/* The lanes of a and b in turn: of their first halves, and of their second ones; and the way back.
 */
#if LANE_COUNT == 2
#define ZIP_FIRST 0, 2
#define ZIP_SECOND 1, 3
#define EVEN_LANES 0, 2
#define ODD_LANES 1, 3
#elif LANE_COUNT == 4
#define ZIP_FIRST 0, 4, 1, 5
#define ZIP_SECOND 2, 6, 3, 7
#define EVEN_LANES 0, 2, 4, 6
#define ODD_LANES 1, 3, 5, 7
#elif LANE_COUNT == 8
#define ZIP_FIRST 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_SECOND 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15
#elif LANE_COUNT == 16
#define ZIP_FIRST 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_SECOND 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN_LANES 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_LANES 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#endif

INLINE void NAME(store_zipped)(REAL *to, vec a, vec b, bool stream) {
    const vec first = __builtin_shufflevector(a, b, ZIP_FIRST),
              second = __builtin_shufflevector(a, b, ZIP_SECOND);
    if (stream) {
        NAME(stream_vector)(to, first);
        NAME(stream_vector)(to + LANES, second);
    } else {
        NAME(store_vector)(to, first);
        NAME(store_vector)(to + LANES, second);
    }
}

#define load_vector NAME(load_vector)
#define store_vector NAME(store_vector)
#define store_zipped NAME(store_zipped)
#define splat NAME(splat)
#define choose NAME(choose)
#define lesser NAME(lesser)
#define greater NAME(greater)
#define absolute NAME(absolute)
