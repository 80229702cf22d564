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
#if defined(__x86_64__)
#define PIN(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
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

/* The larger lanes; NaN where either is. */
INLINE vec NAME(larger)(vec a, vec b) {
    return NAME(choose)((a > b) | (a != a), a, b);
}

/* The lanes of a and b in turn: of their first halves, and of their second ones. */
#if LANE_COUNT == 2
#define ZIP_FIRST 0, 2
#define ZIP_SECOND 1, 3
#elif LANE_COUNT == 4
#define ZIP_FIRST 0, 4, 1, 5
#define ZIP_SECOND 2, 6, 3, 7
#elif LANE_COUNT == 8
#define ZIP_FIRST 0, 8, 1, 9, 2, 10, 3, 11
#define ZIP_SECOND 4, 12, 5, 13, 6, 14, 7, 15
#elif LANE_COUNT == 16
#define ZIP_FIRST 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_SECOND 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#endif

INLINE void NAME(store_zipped)(REAL *to, vec a, vec b) {
    NAME(store_vector)(to, __builtin_shufflevector(a, b, ZIP_FIRST));
    NAME(store_vector)(to + LANES, __builtin_shufflevector(a, b, ZIP_SECOND));
}

#define load_vector NAME(load_vector)
#define store_vector NAME(store_vector)
#define splat NAME(splat)
#define choose NAME(choose)
#define larger NAME(larger)
