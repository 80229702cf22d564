/* The five operators: parameters to chain, chain to plan, run. Nothing else.
 * Called by users: the typed calls are in operators.inc.c, written once for four element types. */
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "memory.h"
#include "status.h"

#define EPSILON 1e-5 /* of every layer norm here */

/* Stages are pushed one after the other; the first that fails decides. */
typedef struct builder {
    uc_chain *chain;
    uc_status status;
} builder;

static void push(builder *b, uc_stage stage) {
    if (b->status == UC_OK)
        b->status = uc_chain_push(b->chain, &stage);
}

static void conv_transpose(builder *b, const uc_operator_params *p, bool bias) {
    push(b, (uc_stage){.op = UC_OP_conv_transpose,
                       .conv = {.out_channels = p->out_channels,
                                .kernel = {p->kernel_d, p->kernel_h, p->kernel_w},
                                .stride = {p->stride_d, p->stride_h, p->stride_w},
                                .padding = {p->padding_d, p->padding_h, p->padding_w},
                                .output_padding = {p->output_padding_d, p->output_padding_h,
                                                   p->output_padding_w},
                                .bias = bias}});
}

static void pool(builder *b, uc_op op, size_t window) {
    push(b, (uc_stage){.op = op, .window = {window, window, window}});
}

static void avgpool_clamp_softmax_multiply(builder *b, const uc_operator_params *p) {
    pool(b, UC_OP_avgpool, p->pool_kernel);
    conv_transpose(b, p, false);
    push(b, (uc_stage){.op = UC_OP_clamp, .number = {p->clamp_min, p->clamp_max}});
    push(b, (uc_stage){.op = UC_OP_softmax_space});
    push(b, (uc_stage){.op = UC_OP_mul, .operand = "scale"});
}

static void max_max_sum(builder *b, const uc_operator_params *p) {
    uc_operator_params unpadded = *p;
    unpadded.output_padding_d = unpadded.output_padding_h = unpadded.output_padding_w = 0;
    conv_transpose(b, &unpadded, true);
    pool(b, UC_OP_maxpool, 2);
    pool(b, UC_OP_maxpool, 3);
    push(b, (uc_stage){.op = UC_OP_sum_channel});
}

static void sum_layernorm_avgpool_gelu(builder *b, const uc_operator_params *p) {
    conv_transpose(b, p, false);
    push(b, (uc_stage){.op = UC_OP_add, .number = {p->sum_weight}});
    push(b, (uc_stage){.op = UC_OP_layernorm_channel, .number = {EPSILON}});
    pool(b, UC_OP_avgpool, 2);
    push(b, (uc_stage){.op = UC_OP_gelu});
}

static void softmax_biasadd_scaling_sigmoid(builder *b, const uc_operator_params *p) {
    conv_transpose(b, p, true);
    push(b, (uc_stage){.op = UC_OP_softmax_channel});
    push(b, (uc_stage){.op = UC_OP_add, .operand = "add_bias"});
    push(b, (uc_stage){.op = UC_OP_mul, .number = {p->scaling_factor}});
    push(b, (uc_stage){.op = UC_OP_sigmoid});
}

static void layernorm_gelu_scaling(builder *b, const uc_operator_params *p) {
    conv_transpose(b, p, false);
    push(b, (uc_stage){.op = UC_OP_layernorm_channel, .number = {EPSILON}});
    push(b, (uc_stage){.op = UC_OP_gelu});
    push(b, (uc_stage){.op = UC_OP_mul, .number = {p->scaling_factor}});
}

typedef enum operator_index {
    AVGPOOL_CLAMP_SOFTMAX_MULTIPLY,
    MAX_MAX_SUM,
    SUM_LAYERNORM_AVGPOOL_GELU,
    SOFTMAX_BIASADD_SCALING_SIGMOID,
    LAYERNORM_GELU_SCALING,
    OPERATOR_COUNT
} operator_index;

#define EACH(name, value) .name##_d = value, .name##_h = value, .name##_w = value

static const struct {
    const char *slug;
    size_t space; /* dimensions */
    void (*build)(builder *, const uc_operator_params *);
    uc_operator_params defaults;
} operators[OPERATOR_COUNT] = {
    [AVGPOOL_CLAMP_SOFTMAX_MULTIPLY] = {"conv-transpose3d-avgpool-clamp-softmax-multiply",
                                        3,
                                        avgpool_clamp_softmax_multiply,
                                        {.batch_size = 32,
                                         .in_channels = 32,
                                         .out_channels = 64,
                                         .depth = 32,
                                         .height = 64,
                                         .width = 64,
                                         EACH(kernel, 3),
                                         EACH(stride, 2),
                                         EACH(padding, 1),
                                         EACH(output_padding, 1),
                                         .pool_kernel = 2,
                                         .clamp_min = 0,
                                         .clamp_max = 1}},
    [MAX_MAX_SUM] = {"conv-transpose3d-max-max-sum",
                     3,
                     max_max_sum,
                     {.batch_size = 16,
                      .in_channels = 32,
                      .out_channels = 64,
                      .depth = 32,
                      .height = 32,
                      .width = 32,
                      EACH(kernel, 5),
                      EACH(stride, 2),
                      EACH(padding, 2)}},
    [SUM_LAYERNORM_AVGPOOL_GELU] = {"conv-transpose3d-sum-layernorm-avgpool-gelu",
                                    3,
                                    sum_layernorm_avgpool_gelu,
                                    {.batch_size = 32,
                                     .in_channels = 32,
                                     .out_channels = 64,
                                     .depth = 16,
                                     .height = 32,
                                     .width = 32,
                                     EACH(kernel, 3),
                                     EACH(stride, 2),
                                     EACH(padding, 1),
                                     EACH(output_padding, 1),
                                     .sum_weight = 1}},
    [SOFTMAX_BIASADD_SCALING_SIGMOID] = {"conv-transpose2d-softmax-biasadd-scaling-sigmoid",
                                         2,
                                         softmax_biasadd_scaling_sigmoid,
                                         {.batch_size = 128,
                                          .in_channels = 64,
                                          .out_channels = 128,
                                          .height = 64,
                                          .width = 64,
                                          .kernel_h = 4,
                                          .kernel_w = 4,
                                          .stride_h = 2,
                                          .stride_w = 2,
                                          .padding_h = 1,
                                          .padding_w = 1,
                                          .output_padding_h = 1,
                                          .output_padding_w = 1,
                                          .scaling_factor = 2}},
    [LAYERNORM_GELU_SCALING] = {"conv-transpose3d-layernorm-gelu-scaling",
                                3,
                                layernorm_gelu_scaling,
                                {.batch_size = 32,
                                 .in_channels = 32,
                                 .out_channels = 64,
                                 .depth = 16,
                                 .height = 32,
                                 .width = 32,
                                 EACH(kernel, 4),
                                 EACH(stride, 2),
                                 EACH(padding, 1),
                                 .scaling_factor = 1}},
};

static uc_status build_chain(operator_index index, uc_dtype dtype, const uc_operator_params *p,
                             uc_chain **chain) {
    const bool flat = operators[index].space == 2;
    const uc_shape input = {.ndim = flat ? 4 : 5,
                            .dim = {p->batch_size, p->in_channels, flat ? p->height : p->depth,
                                    flat ? p->width : p->height, flat ? 0 : p->width}};
    builder b = {0};
    b.status = uc_chain_create(dtype, &input, &b.chain);
    operators[index].build(&b, p);
    if (b.status != UC_OK) {
        uc_chain_destroy(b.chain);
        b.chain = NULL;
    }
    *chain = b.chain;
    return b.status;
}

/* Plans and runs a chain once. */
static uc_status run_once(const uc_chain *chain, const void *input, const void *const operands[],
                          void *output) {
    const uc_shape out = uc_chain_output(chain);
    uc_plan *plan = NULL;
    void *workspace = NULL;
    uc_status status = uc_plan_create(chain, operands, NULL, &plan);
    if (status == UC_OK)
        status = uc_check_operands_apart(chain, operands, output,
                                         uc_shape_elems(&out) * uc_dtype_bytes(chain->dtype));
    if (status == UC_OK && !(workspace = uc_alloc(uc_plan_workspace_bytes(plan))))
        status = UC_NO_MEMORY;
    if (status == UC_OK)
        status = uc_plan_execute(plan, input, output, workspace);
    free(workspace);
    uc_plan_destroy(plan);
    return status;
}

static uc_status run_operator(operator_index index, uc_dtype dtype, const uc_operator_params *p,
                              const void *input, const void *const operands[], void *output) {
    uc_chain *chain;
    uc_status status = build_chain(index, dtype, p, &chain);
    if (status == UC_OK)
        status = run_once(chain, input, operands, output);
    uc_chain_destroy(chain);
    return status;
}

/* The parameters that calls have in common, by name. */
#define CONV_2D                                                                                    \
    .batch_size = batch_size, .in_channels = in_channels, .out_channels = out_channels,            \
    .height = height, .width = width, .kernel_h = kernel_h, .kernel_w = kernel_w,                  \
    .stride_h = stride_h, .stride_w = stride_w, .padding_h = padding_h, .padding_w = padding_w
#define CONV_3D                                                                                    \
    CONV_2D, .depth = depth, .kernel_d = kernel_d, .stride_d = stride_d, .padding_d = padding_d
#define OUTPUT_PADDING_2D .output_padding_h = output_padding_h, .output_padding_w = output_padding_w
#define OUTPUT_PADDING_3D OUTPUT_PADDING_2D, .output_padding_d = output_padding_d

#define ELEMENT float
#define DTYPE UC_F32
#define NAME(operator) uc_##operator##_f32
#include "operators.inc.c"

#define ELEMENT double
#define DTYPE UC_F64
#define NAME(operator) uc_##operator##_f64
#include "operators.inc.c"

#define ELEMENT uc_f16
#define DTYPE UC_F16
#define NAME(operator) uc_##operator##_f16
#include "operators.inc.c"

#define ELEMENT uc_bf16
#define DTYPE UC_BF16
#define NAME(operator) uc_##operator##_bf16
#include "operators.inc.c"

/* ---- The five as data ---- */

/* OPERATOR_COUNT, with uc_last_error() set, where there is none of that name. */
static operator_index find_operator(const char *slug) {
    int index = 0;
    while (index < OPERATOR_COUNT && slug && strcmp(slug, operators[index].slug))
        index++;
    if (!slug || index == OPERATOR_COUNT) {
        uc_fail(UC_INVALID, "unknown operator '%.60s' (uc_operator_slug() lists them)",
                slug ? slug : "NULL");
        return OPERATOR_COUNT;
    }
    return (operator_index)index;
}

size_t uc_operator_count(void) {
    return OPERATOR_COUNT;
}

const char *uc_operator_slug(size_t index) {
    return index < OPERATOR_COUNT ? operators[index].slug : NULL;
}

uc_status uc_operator_defaults(const char *slug, uc_operator_params *params) {
    const operator_index index = find_operator(slug);
    if (index == OPERATOR_COUNT)
        return UC_INVALID;
    if (!params)
        return uc_fail(UC_INVALID, "params must not be NULL");
    *params = operators[index].defaults;
    return UC_OK;
}

uc_status uc_operator_chain(const char *slug, uc_dtype dtype, const uc_operator_params *params,
                            uc_chain **chain) {
    if (!chain)
        return uc_fail(UC_INVALID, "chain must not be NULL");
    *chain = NULL;
    const operator_index index = find_operator(slug);
    if (index == OPERATOR_COUNT)
        return UC_INVALID;
    if (!params)
        return uc_fail(UC_INVALID, "params must not be NULL");
    return build_chain(index, dtype, params, chain);
}
