/* Loads, stores, and the table of all kernels for one real type.
 * Included last by kernels.inc.c. */

static void NAME(load)(uc_dtype dtype, const void *elements, void *reals, size_t count) {
    REAL *to = reals;
    const uc_half *from = elements;
    switch (dtype) {
    case UC_F32:
    case UC_F64: /* the real type is the element type */
        memcpy(to, elements, count * sizeof *to);
        break;
    case UC_F16:
        for (size_t i = 0; i < count; i++)
            to[i] = uc_f16_to_f32(from[i]);
        break;
    case UC_BF16:
        for (size_t i = 0; i < count; i++)
            to[i] = uc_bf16_to_f32(from[i]);
        break;
    }
}

/* A row's phases zipped into `zipped`, or the row itself where there is one phase. */
INLINE const REAL *NAME(zip)(const REAL *from, size_t phases, size_t phase_step, size_t columns,
                             REAL *zipped) {
    if (phases == 1)
        return from;
    if (phases == 2) {
        const size_t pairs = columns / 2;
        size_t j = 0;
        for (; j + LANES <= pairs; j += LANES)
            NAME(store_zipped)
        (zipped + 2 * j, load_vector(from + j), load_vector(from + phase_step + j));
        for (; j < pairs; j++) {
            zipped[2 * j] = from[j];
            zipped[2 * j + 1] = from[phase_step + j];
        }
        if (columns % 2)
            zipped[columns - 1] = from[columns / 2];
        return zipped;
    }
    for (size_t e = 0; e < phases && e < columns; e++)
        for (size_t i = e, j = 0; i < columns; i += phases, j++)
            zipped[i] = from[e * phase_step + j];
    return zipped;
}

/* Columns that are zipped at a time, on the stack: a multiple of the phases, or less than that. */
#define ZIP 512

static void NAME(store)(uc_dtype dtype, const void *reals, size_t phases, size_t phase_step,
                        void *elements, size_t columns) {
    REAL buffer[ZIP];
    if (phases > ZIP) { /* columns far apart: one by one */
        for (size_t i = 0; i < columns; i++)
            NAME(store)
        (dtype, (const REAL *)reals + i % phases * phase_step + i / phases, 1, 0,
         (char *)elements + i * uc_dtype_bytes(dtype), 1);
        return;
    }
    const size_t most = ZIP / phases * phases;
    for (size_t begin = 0; begin < columns; begin += most) {
        const size_t some = columns - begin < most ? columns - begin : most;
        const bool direct = phases == 2 && sizeof(REAL) == uc_dtype_bytes(dtype);
        REAL *target = direct ? (REAL *)elements + begin : buffer;
        const REAL *from =
            NAME(zip)((const REAL *)reals + begin / phases, phases, phase_step, some, target);
        uc_half *to = (uc_half *)elements + begin;
        switch (dtype) {
        case UC_F32:
        case UC_F64:
            if (!direct)
                memcpy((REAL *)elements + begin, from, some * sizeof *from);
            break;
        case UC_F16:
            for (size_t i = 0; i < some; i++)
                to[i] = uc_f32_to_f16((float)from[i]);
            break;
        case UC_BF16:
            for (size_t i = 0; i < some; i++)
                to[i] = uc_f32_to_bf16((float)from[i]);
            break;
        }
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
};
