/* The direct convolution with channels in lanes: products of some inputs with one tap's weights.
 * Included by kernels.inc.c; called by cast.c as kernels->cast() and kernels->turn().
 *
 * An input is broadcast and meets a vector or two of weights, so any inputs may share those: none
 * need be neighbours, and there are no lanes without an output. */

/* `rows` inputs x `vectors` vectors of channels; these are constants where this is expanded. */
INLINE void NAME(cast_block)(const size_t rows, const size_t vectors, const uc_cast *cast,
                             const size_t *from, const size_t *to, size_t first, size_t count) {
    const size_t x_channel = cast->x_channel;
    const REAL *w = (const REAL *)cast->weights + first * vectors * LANES;
    const REAL *x[PANEL];
    UNROLL for (size_t r = 0; r < rows; r++) x[r] =
        (const REAL *)cast->x + from[r] + first * x_channel;
    vec sum[SUMS];
    UNROLL for (size_t i = 0; i < rows * vectors; i++) sum[i] = (vec){0};
    for (size_t left = count, at = 0; left; left--, w += vectors * LANES) {
        vec weight[2];
        UNROLL for (size_t v = 0; v < vectors; v++) {
            weight[v] = load_vector(w + v * LANES);
            PIN(weight[v]);
        }
        UNROLL for (size_t r = 0; r < rows; r++) {
            vec input = splat(x[r][at]);
            PIN(input);
            UNROLL for (size_t v = 0; v < vectors; v++)
                ADD_PRODUCT(sum[r * vectors + v], weight[v], input);
        }
        at += x_channel;
    }
    UNROLL for (size_t r = 0; r < rows; r++) UNROLL for (size_t v = 0; v < vectors; v++) {
        REAL *y = (REAL *)cast->y + to[r] + v * LANES;
        store_vector(y, load_vector(y) + sum[r * vectors + v]);
    }
}

typedef void NAME(cast_function)(const uc_cast *cast, const size_t *from, const size_t *to,
                                 size_t first, size_t count);

#define CAST(rows, vectors)                                                                        \
    static void NAME(cast_##rows##x##vectors)(const uc_cast *cast, const size_t *from,             \
                                              const size_t *to, size_t first, size_t count) {      \
        NAME(cast_block)(rows, vectors, cast, from, to, first, count);                             \
    }
#define CASTS(vectors)                                                                             \
    CAST(1, vectors)                                                                               \
    CAST(2, vectors)                                                                               \
    CAST(3, vectors)                                                                               \
    CAST(4, vectors)                                                                               \
    CAST(5, vectors)                                                                               \
    CAST(6, vectors)
CASTS(1)
CASTS(2)
LARGE_SIZES(CAST, 1)
LARGE_SIZES(CAST, 2)
#define LARGE_CAST(rows, vectors) NAME(cast_##rows##x##vectors),
#define CASTS_OF(vectors)                                                                          \
    {                                                                                              \
        NAME(cast_1x##vectors), NAME(cast_2x##vectors), NAME(cast_3x##vectors),                    \
            NAME(cast_4x##vectors), NAME(cast_5x##vectors), NAME(cast_6x##vectors),                \
            LARGE_SIZES(LARGE_CAST, vectors)                                                       \
    }
static NAME(cast_function) *const NAME(cast_of)[2][PANEL] = {CASTS_OF(1), CASTS_OF(2)};
#undef CASTS_OF
#undef LARGE_CAST
#undef CASTS
#undef CAST

/* Long sums are made of parts, and the weights of one stay in L1 for all inputs. */
static void NAME(cast)(const uc_cast *cast) {
    const uc_panels parts = uc_panels_of(cast->in_channels, UC_CHAIN_PRODUCTS),
                    groups = uc_panels_of(cast->count, PANEL);
    for (size_t p = 0; p < parts.count; p++) {
        for (size_t g = 0, i = 0; g < groups.count; g++) {
            const size_t rows = uc_panel_size(groups, g);
            NAME(cast_of)
            [cast->vectors - 1][rows - 1](cast, cast->from + i, cast->to + i,
                                          uc_panel_begin(parts, p), uc_panel_size(parts, p));
            i += rows;
        }
    }
}

/* Rows and columns of a square of vectors, swapped. */
INLINE void NAME(turn_square)(vec v[LANES]) {
    vec t[LANES];
#if VECTOR_BYTES == 32
    /* First inside of halves, whose lanes a shuffle moves at once; then these change places. */
#if REAL_IS_DOUBLE
    UNROLL for (size_t i = 0; i < LANES; i += 2) {
        t[i] = __builtin_shufflevector(v[i], v[i + 1], ZIP_LOW);
        t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], ZIP_HIGH);
    }
#else
    UNROLL for (size_t i = 0; i < LANES; i += 4) {
        const vec a = __builtin_shufflevector(v[i], v[i + 2], ZIP_LOW),
                  b = __builtin_shufflevector(v[i], v[i + 2], ZIP_HIGH),
                  c = __builtin_shufflevector(v[i + 1], v[i + 3], ZIP_LOW),
                  d = __builtin_shufflevector(v[i + 1], v[i + 3], ZIP_HIGH);
        t[i] = __builtin_shufflevector(a, c, ZIP_LOW);
        t[i + 1] = __builtin_shufflevector(a, c, ZIP_HIGH);
        t[i + 2] = __builtin_shufflevector(b, d, ZIP_LOW);
        t[i + 3] = __builtin_shufflevector(b, d, ZIP_HIGH);
    }
#endif
    UNROLL for (size_t i = 0; i < LANES / 2; i++) {
        v[i] = __builtin_shufflevector(t[i], t[i + LANES / 2], FIRST_HALVES);
        v[i + LANES / 2] = __builtin_shufflevector(t[i], t[i + LANES / 2], SECOND_HALVES);
    }
#else
    for (size_t step = 1; step < LANES; step *= 2) {
        UNROLL for (size_t i = 0; i < LANES / 2; i++) {
            t[2 * i] = __builtin_shufflevector(v[i], v[i + LANES / 2], ZIP_FIRST);
            t[2 * i + 1] = __builtin_shufflevector(v[i], v[i + LANES / 2], ZIP_SECOND);
        }
        UNROLL for (size_t i = 0; i < LANES; i++) v[i] = t[i];
    }
#endif
}

static void NAME(turn)(const void *from, size_t from_step, size_t channels, size_t count,
                       const void *bias, void *to, size_t to_step) {
    for (size_t c = 0; c < channels; c += LANES)
        for (size_t i = 0; i < count; i += LANES) {
            const size_t left = channels - c, some = left < LANES ? left : LANES;
            vec v[LANES];
            UNROLL for (size_t k = 0; k < LANES; k++) v[k] =
                load_vector((const REAL *)from + (i + k) * from_step + c);
            NAME(turn_square)(v);
            const REAL *add = (const REAL *)bias + c;
            REAL *at = (REAL *)to + c * to_step + i;
            if (some == LANES)
                UNROLL for (size_t k = 0; k < LANES; k++)
                    store_vector(at + k * to_step, v[k] + splat(add[k]));
            else
                for (size_t k = 0; k < some; k++)
                    store_vector(at + k * to_step, v[k] + splat(add[k]));
        }
}
