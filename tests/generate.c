/* Random problems: the five operators and chains of any ops, at sizes where bugs live.
 * check_properties and check_errors draw from it. */
#include "generate.h"
#include "params.h"

#include <stdio.h>

/* How large the largest tensor of a problem may be, and how many products it may take. */
struct bounds {
    size_t least_elems, most_elems, most_products;
};
static const struct bounds small = {1, 30000, 600000};
static const struct bounds large = {300000, 900000, 8000000};

#define PICK(rng, ...)                                                                             \
    pick(rng, (const size_t[]){__VA_ARGS__}, sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

static size_t pick(struct rng *rng, const size_t *choices, size_t count) {
    return choices[rng_below(rng, count)];
}

static size_t random_channels(struct rng *rng) {
    return PICK(rng, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 24, 33);
}

static size_t random_size(struct rng *rng, size_t dims) {
    return dims == 1 ? PICK(rng, 1, 2, 5, 16, 31, 64, 200) : PICK(rng, 1, 1, 2, 3, 4, 5, 7, 9, 12);
}

/* Half of the windows and convolutions are the same in every dimension, half are not. */
static void random_dimension(struct rng *rng, struct stage *conv, size_t d) {
    conv->kernel[d] = PICK(rng, 1, 2, 3, 3, 4, 5, 6, 9);
    conv->stride[d] = PICK(rng, 1, 1, 2, 2, 2, 3, 4, 5, 7, 50);
    conv->padding[d] = PICK(rng, 0, 0, 1, 1, 2, conv->kernel[d], conv->kernel[d] + 1);
    conv->output_padding[d] = rng_below(rng, 2) ? rng_below(rng, conv->stride[d]) : 0;
}

static struct stage random_conv(struct rng *rng, size_t dims) {
    struct stage conv = {.kind = STAGE_CONV,
                         .has_bias = rng_below(rng, 2),
                         .out_channels = random_channels(rng),
                         .kernel = {1, 1, 1},
                         .stride = {1, 1, 1}};
    const bool is_same = rng_below(rng, 2);
    for (size_t d = 3 - dims; d < 3; d++) {
        random_dimension(rng, &conv, d);
        if (is_same && d > 3 - dims) {
            conv.kernel[d] = conv.kernel[d - 1];
            conv.stride[d] = conv.stride[d - 1];
            conv.padding[d] = conv.padding[d - 1];
            conv.output_padding[d] = conv.output_padding[d - 1];
        }
    }
    return conv;
}

static double random_number(struct rng *rng) {
    static const double plain[] = {1, -0.5, 2, 0.1, -1.25};
    return rng_below(rng, 2) ? plain[rng_below(rng, 5)] : rng_normal(rng);
}

static struct stage random_op(struct rng *rng, size_t dims, size_t index) {
    struct stage op = {.kind = (enum stage_kind)(1 + rng_below(rng, STAGE_SUM_CHANNEL)),
                       .low = random_number(rng),
                       .kernel = {1, 1, 1}};
    const bool is_same = rng_below(rng, 2);
    snprintf(op.name, sizeof op.name, "operand_%zu", index);
    if (op.kind == STAGE_CLAMP)
        op.high = op.low + (rng_below(rng, 8) ? 1.5 : -1);
    if (op.kind == STAGE_LAYERNORM_CHANNEL)
        op.low = rng_below(rng, 2) ? 1e-5 : 1e-3;
    for (size_t d = 3 - dims; d < 3; d++)
        op.kernel[d] = is_same && d > 3 - dims ? op.kernel[d - 1] : 1 + rng_below(rng, 3);
    return op;
}

/* Every stage has elements, and neither too many nor too few of them. */
static bool is_within(const struct problem *problem, struct bounds bounds) {
    size_t most = 0;
    for (size_t i = 0; i <= problem->stage_count; i++) {
        const struct extent extent = problem_extent(problem, i);
        const size_t elems = extent_elems(extent);
        if (elems == 0 || elems > bounds.most_elems)
            return false;
        most = elems > most ? elems : most;
        if (i == problem->stage_count || problem->stage[i].kind != STAGE_CONV)
            continue;
        const struct stage *conv = &problem->stage[i];
        const size_t taps = conv->kernel[0] * conv->kernel[1] * conv->kernel[2];
        if (elems * conv->out_channels * taps > bounds.most_products)
            return false;
    }
    return most >= bounds.least_elems;
}

static struct problem random_input(struct rng *rng) {
    struct problem problem = {.dtype = (uc_dtype)rng_below(rng, 4),
                              .dims = 1 + rng_below(rng, 3),
                              .batch = 1 + rng_below(rng, 3),
                              .channels = random_channels(rng),
                              .size = {1, 1, 1}};
    for (size_t d = 3 - problem.dims; d < 3; d++)
        problem.size[d] = random_size(rng, problem.dims);
    return problem;
}

static struct problem random_chain(struct rng *rng) {
    struct problem problem = random_input(rng);
    const size_t before = rng_below(rng, 3), after = rng_below(rng, 5);
    for (size_t i = 0; i <= before + after; i++)
        problem.stage[problem.stage_count++] =
            i == before ? random_conv(rng, problem.dims) : random_op(rng, problem.dims, i);
    return problem;
}

/* The operator's stages around a random convolution. */
static struct problem random_operator(struct rng *rng) {
    const struct operator_info *op = &operators[rng_below(rng, operator_total)];
    uc_operator_params values = params_small();
    values.pool_kernel = 1 + rng_below(rng, 3);
    values.sum_weight = random_number(rng);
    values.scaling_factor = random_number(rng);
    struct problem shape = random_input(rng);
    struct problem problem = problem_of_operator(op->slug, shape.dtype, &values);
    problem.batch = shape.batch;
    problem.channels = shape.channels;
    for (size_t d = 3 - problem.dims; d < 3; d++)
        problem.size[d] = random_size(rng, problem.dims);
    for (size_t i = 0; i < problem.stage_count; i++)
        if (problem.stage[i].kind == STAGE_CONV) {
            const bool has_bias = problem.stage[i].has_bias;
            problem.stage[i] = random_conv(rng, problem.dims);
            problem.stage[i].has_bias = has_bias;
        }
    return problem;
}

struct problem problem_random(struct rng *rng) {
    for (;;) {
        const struct problem problem = rng_below(rng, 2) ? random_operator(rng) : random_chain(rng);
        if (is_within(&problem, small))
            return problem;
    }
}

/* Small problems made long, wide and many-channelled until one is large enough. */
struct problem problem_random_large(struct rng *rng) {
    for (;;) {
        struct problem problem = rng_below(rng, 2) ? random_operator(rng) : random_chain(rng);
        problem.batch = 1;
        problem.channels = 1 + rng_below(rng, 4);
        for (size_t d = 3 - problem.dims; d < 3; d++)
            problem.size[d] = problem.dims == 1   ? 1000 + rng_below(rng, 9000)
                              : problem.dims == 2 ? 1 + rng_below(rng, 150)
                                                  : 1 + rng_below(rng, 40);
        if (is_within(&problem, large))
            return problem;
    }
}

struct problem problem_random_exact(struct rng *rng) {
    for (;;) {
        struct problem problem = random_input(rng);
        problem.stage[problem.stage_count++] = random_conv(rng, problem.dims);
        if (rng_below(rng, 3) == 0) {
            struct stage pool = random_op(rng, problem.dims, 0);
            pool.kind = STAGE_MAXPOOL;
            problem.stage[problem.stage_count++] = pool;
        }
        if (rng_below(rng, 3) == 0)
            problem.stage[problem.stage_count++] = (struct stage){.kind = STAGE_SUM_CHANNEL};
        if (is_within(&problem, small))
            return problem;
    }
}

bool problem_is_exact(const struct problem *problem) {
    for (size_t i = 0; i < problem->stage_count; i++)
        if (problem->stage[i].kind != STAGE_CONV && problem->stage[i].kind != STAGE_MAXPOOL &&
            problem->stage[i].kind != STAGE_SUM_CHANNEL)
            return false;
    return true;
}
