/* Loads, and the table of all kernels for one real type.
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
    .lay =
        {
#define OP(name, needs, arguments) LAY_##needs(name),
#include "ops.def"
#undef OP
        },
    .multiply_laid = NAME(multiply_laid),
    .scales =
        {
#define OP(name, needs, arguments) SCALES_##needs(name),
#include "ops.def"
#undef OP
        },
};
