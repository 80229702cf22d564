/* The tests' own idea of a chain: enough to run, cost and print it without the library.
 * naive.c executes problems; property tests make random ones and hand their text to the library. */
#ifndef UC_TEST_PROBLEM_H
#define UC_TEST_PROBLEM_H

#include "upconv.h"

#include <stdbool.h>

enum stage_kind {
    STAGE_CONV,
    STAGE_ADD, /* of a number */
    STAGE_ADD_CHANNEL,
    STAGE_MUL,
    STAGE_MUL_CHANNEL,
    STAGE_CLAMP,
    STAGE_GELU,
    STAGE_SIGMOID,
    STAGE_SOFTMAX_CHANNEL,
    STAGE_SOFTMAX_SPACE,
    STAGE_LAYERNORM_CHANNEL,
    STAGE_AVGPOOL,
    STAGE_MAXPOOL,
    STAGE_SUM_CHANNEL
};

enum { MOST_STAGES = 12, MOST_OPERANDS = 8, MOST_NAME_BYTES = 24 };

struct stage {
    enum stage_kind kind;
    double low, high;           /* the number of add and mul, eps, the bounds of clamp */
    char name[MOST_NAME_BYTES]; /* the operand of ADD_CHANNEL and MUL_CHANNEL */
    bool has_bias;
    size_t out_channels;
    size_t kernel[3], stride[3], padding[3], output_padding[3]; /* a pool's window is its kernel */
};

/* Sizes are always three; a problem of fewer dimensions has 1 in front. */
struct problem {
    uc_dtype dtype;
    size_t dims, batch, channels, size[3];
    size_t stage_count;
    struct stage stage[MOST_STAGES];
};

/* The tensor between two stages. */
struct extent {
    size_t batch, channels, size[3];
};
struct extent problem_extent(const struct problem *problem, size_t stages_done);
struct extent problem_output(const struct problem *problem);
size_t extent_positions(struct extent extent); /* 0 also where a size would be below 1 */
size_t extent_elems(struct extent extent);

/* How many elements each operand has, in the order in which plans take them. */
size_t problem_operands(const struct problem *problem, size_t elems[MOST_OPERANDS]);

bool problem_has(const struct problem *problem, enum stage_kind kind);

/* Text for uc_chain_parse(), for the caller to free, and back. */
char *problem_text(const struct problem *problem);
bool problem_parse(const char *text, struct problem *problem);

/* One of the five operators, as the specification lists its stages. */
struct problem problem_of_operator(const char *slug, uc_dtype dtype,
                                   const uc_operator_params *params);

#endif
