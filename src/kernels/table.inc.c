/* Loads, stores, and the table of all kernels for one real type.
 * Included last by kernels.inc.c. */

static void NAME(load)(uc_dtype dtype, const void *elements, void *reals, size_t count) {
    REAL *to = reals;
    const char *from = elements;
    uint16_t half;
    switch (dtype) {
    case UC_F32:
    case UC_F64: /* the real type is the element type */
        memcpy(to, from, count * sizeof *to);
        break;
    case UC_F16:
        for (size_t i = 0; i < count; i++) {
            memcpy(&half, from + i * sizeof half, sizeof half);
            to[i] = uc_f16_to_f32(half);
        }
        break;
    case UC_BF16:
        for (size_t i = 0; i < count; i++) {
            memcpy(&half, from + i * sizeof half, sizeof half);
            to[i] = uc_bf16_to_f32(half);
        }
        break;
    }
}

static void NAME(store)(uc_dtype dtype, const void *reals, void *elements, size_t count) {
    const REAL *from = reals;
    char *to = elements;
    uint16_t half;
    switch (dtype) {
    case UC_F32:
    case UC_F64:
        memcpy(to, from, count * sizeof *from);
        break;
    case UC_F16:
        for (size_t i = 0; i < count; i++) {
            half = uc_f32_to_f16((float)from[i]);
            memcpy(to + i * sizeof half, &half, sizeof half);
        }
        break;
    case UC_BF16:
        for (size_t i = 0; i < count; i++) {
            half = uc_f32_to_bf16((float)from[i]);
            memcpy(to + i * sizeof half, &half, sizeof half);
        }
        break;
    }
}

const uc_kernels TABLE = {
    .name = TABLE_TEXT,
    .real_bytes = sizeof(REAL),
    .panel = PANEL,
    .load = NAME(load),
    .store = NAME(store),
    .conv_row = NAME(conv_row),
    .finish =
        {
#define OP(name, needs, arguments) FINISH_##needs(name),
#include "ops.def"
#undef OP
        },
    .measure =
        {
#define OP(name, needs, arguments) MEASURE_##needs(name),
#include "ops.def"
#undef OP
        },
};
