/* Loads, and the table of all kernels for one real type.
 * Included last by kernels.inc.c. */

/* `form` is a constant where this is expanded. */
INLINE void NAME(load_as)(const uc_form form, const void *elements, REAL *to, size_t count) {
    size_t i = 0;
    for (; (form != FORM_F16 || HAS_F16) && i + LANES <= count; i += LANES)
        store_vector(to + i, NAME(load_elements)(form, elements, i));
    if (HAS_MASKS && form == FORM_REAL) {
        NAME(store_some)(to + i, NAME(load_some)((const REAL *)elements + i, count - i), count - i);
        return;
    }
    for (; i < count; i++)
        to[i] = NAME(load_one)(form, elements, i);
}

static void NAME(load)(uc_dtype dtype, const void *elements, void *reals, size_t count) {
    if (dtype == UC_F16)
        NAME(load_as)(FORM_F16, elements, reals, count);
    else if (dtype == UC_BF16)
        NAME(load_as)(FORM_BF16, elements, reals, count);
    else /* the real type is the element type */
        NAME(load_as)(FORM_REAL, elements, reals, count);
}

const uc_kernels TABLE = {
    .name = TABLE_NAME,
    .real_bytes = sizeof(REAL),
    .panel = PANEL,
    .vector_lanes = LANES,
    .load = NAME(load),
    .store = NAME(store),
    .end_stream = NAME(end_stream),
    .conv = NAME(conv),
    .conv_exact = NAME(conv_exact),
    .pour = NAME(pour),
    .cast = NAME(cast),
    .turn = NAME(turn),
    .combine = NAME(combine),
    .toom = NAME(toom),
    .split = NAME(split),
    .by_tap = NAME(by_tap),
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
    .gather =
        {
#define OP(name, needs, arguments) GATHER_##needs(name),
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
