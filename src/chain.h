/* What to compute: an input, one transposed convolution, and the ops before and after it.
 * Built by operators.c and chain_text.c; read by the oracle, the plan and the tile loop. */
#ifndef UC_CHAIN_H
#define UC_CHAIN_H

#include <stdbool.h>

#include "upconv.h"

/* Inside, space always has three dimensions, right-aligned: depth, height, width. The missing ones
 * of a 1- or 2-dimensional chain have size, kernel and stride 1. */
#define UC_SPACE 3

#define UC_MAX_STAGES 32
#define UC_MAX_OPERANDS (UC_MAX_STAGES + 1) /* one a stage, and a convolution's bias */
#define UC_NAME_BYTES 32

typedef enum uc_op {
#define OP(name, needs, arguments) UC_OP_##name,
#include "ops.def"
#undef OP
    UC_OP_COUNT
} uc_op;

typedef enum uc_needs {
    UC_NEEDS_ELEMENT,
    UC_NEEDS_CHANNEL,
    UC_NEEDS_WINDOW,
    UC_NEEDS_EVERYTHING,
    UC_NEEDS_TAPS
} uc_needs;

typedef enum uc_arguments {
    UC_ARGUMENTS_NONE,
    UC_ARGUMENTS_VALUE,
    UC_ARGUMENTS_NUMBER,
    UC_ARGUMENTS_RANGE,
    UC_ARGUMENTS_SIZES,
    UC_ARGUMENTS_CONV
} uc_arguments;

typedef struct uc_op_info {
    const char *name;
    uc_needs needs;
    uc_arguments arguments;
} uc_op_info;

extern const uc_op_info uc_ops[UC_OP_COUNT];

/* The shape of one batch item. */
typedef struct uc_extent {
    size_t channels;
    size_t size[UC_SPACE];
} uc_extent;

typedef struct uc_conv {
    size_t out_channels;
    size_t kernel[UC_SPACE], stride[UC_SPACE], padding[UC_SPACE], output_padding[UC_SPACE];
    bool bias;
} uc_conv;

/* One step of a chain. The op says which of the fields below count. */
typedef struct uc_stage {
    uc_op op;
    double number[2];            /* the value, eps, or the range */
    char operand[UC_NAME_BYTES]; /* VALUE: the operand's name, "" where number[0] is the value */
    size_t window[UC_SPACE];     /* SIZES */
    uc_conv conv;                /* CONV */
    uc_extent in, out;           /* set by uc_chain_push */
    size_t first_operand;        /* set by uc_chain_push: index of the first one, if any */
} uc_stage;

struct uc_chain {
    uc_dtype dtype;
    size_t space; /* 1, 2 or 3 dimensions */
    size_t batch_size;
    uc_extent in, out;
    size_t stage_count;
    uc_stage stage[UC_MAX_STAGES];
    size_t conv_stage; /* index of the convolution; UC_MAX_STAGES while there is none */
    size_t operand_count;
    struct {
        char name[UC_NAME_BYTES];
        uc_shape shape;
    } operand[UC_MAX_OPERANDS];
};

/* Checks a stage against what the chain gives it, and appends it. On failure the chain is as it
 * was. */
uc_status uc_chain_push(uc_chain *chain, const uc_stage *stage);

/* UC_OK for a chain that can be run: it has its convolution. */
uc_status uc_chain_check(const uc_chain *chain);

/* No NULL for a tensor that has elements. Names are those of the parameters: "input", "output". */
uc_status uc_check_tensor(const char *name, const void *tensor, size_t elems);

/* The same for every operand of a chain. */
uc_status uc_check_operands(const uc_chain *chain, const void *const operands[]);

/* Nothing that is read shares memory with what is written. */
uc_status uc_check_apart(const char *name, const void *tensor, size_t bytes, const void *output,
                         size_t output_bytes);
uc_status uc_check_operands_apart(const uc_chain *chain, const void *const operands[],
                                  const void *output, size_t output_bytes);

/* Elements of a tensor; checked for overflow when the chain was built. */
size_t uc_shape_elems(const uc_shape *shape);

/* uc_chain_flops() of one batch item. How many there are must not decide how one is computed. */
double uc_chain_item_flops(const uc_chain *chain);

/* Positions of an extent in one channel. */
static inline size_t uc_extent_positions(const uc_extent *extent) {
    return extent->size[0] * extent->size[1] * extent->size[2];
}

#endif
