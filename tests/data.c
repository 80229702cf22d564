/* The tensors of a problem: input and operands in guarded buffers, filled from a seed.
 * Every test that runs something calls it. */
#include "data.h"
#include "element.h"

#include <math.h>
#include <string.h>

static const char *const names[FAMILIES] = {"normal",    "uniform",       "integer",
                                            "large",     "constant",      "non-finite",
                                            "first-nan", "minus-infinity"};

bool family_is_finite(enum family family) {
    return family < FAMILY_NON_FINITE;
}

const char *family_name(enum family family) {
    return names[family];
}

bool family_find(const char *name, enum family *family) {
    for (int i = 0; i < FAMILIES; i++)
        if (strcmp(name, names[i]) == 0) {
            *family = (enum family)i;
            return true;
        }
    return false;
}

struct data data_new(const struct problem *problem, enum guard guard) {
    const size_t element_bytes = uc_dtype_bytes(problem->dtype);
    const size_t input_elems = extent_elems(problem_extent(problem, 0));
    size_t elems[MOST_OPERANDS];
    struct data data = {.operand_count = problem_operands(problem, elems)};
    data.input = buffer_new(input_elems * element_bytes, element_bytes, guard);
    for (size_t i = 0; i < data.operand_count; i++) {
        data.operand[i] = buffer_new(elems[i] * element_bytes, element_bytes, guard);
        data.operands[i] = data.operand[i].data;
    }
    return data;
}

static double draw(struct rng *rng, enum family family) {
    switch (family) {
    case FAMILY_UNIFORM:
    case FAMILY_MINUS_INFINITY:
        return rng_unit(rng);
    case FAMILY_INTEGER:
        return (double)rng_below(rng, 9) - 4;
    case FAMILY_CONSTANT:
        return 0.375;
    default:
        return rng_normal(rng);
    }
}

static void fill(struct buffer *buffer, uc_dtype dtype, struct rng *rng, enum family family) {
    const size_t elems = buffer->bytes / uc_dtype_bytes(dtype);
    for (size_t i = 0; i < elems; i++)
        element_set(dtype, buffer->data, i, draw(rng, family));
}

/* What a family does to the input once it is filled. */
static void spoil(struct buffer *input, uc_dtype dtype, struct rng *rng, enum family family) {
    static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const size_t elems = input->bytes / uc_dtype_bytes(dtype);
    void *at = input->data;
    if (family == FAMILY_LARGE)
        for (size_t i = 0; i < elems; i++)
            element_set(dtype, at, i, 30 * element_get(dtype, at, i));
    if (family == FAMILY_NON_FINITE) /* one in a hundred, and one at least */
        for (size_t i = 0; elems && i <= elems / 100; i++)
            element_set(dtype, at, rng_below(rng, elems), odd[rng_below(rng, 3)]);
    if (family == FAMILY_FIRST_NAN && elems)
        element_set(dtype, at, 0, (double)NAN);
    if (family == FAMILY_MINUS_INFINITY)
        for (size_t i = 0; i < elems * 2 / 3; i++)
            element_set(dtype, at, i, -(double)INFINITY);
}

void data_fill(struct data *data, const struct problem *problem, uint64_t seed,
               enum family family) {
    struct rng rng = {seed};
    fill(&data->input, problem->dtype, &rng, family);
    spoil(&data->input, problem->dtype, &rng, family);
    for (size_t i = 0; i < data->operand_count; i++)
        fill(&data->operand[i], problem->dtype, &rng, family);
}

void data_free(struct data *data) {
    buffer_free(&data->input);
    for (size_t i = 0; i < data->operand_count; i++)
        buffer_free(&data->operand[i]);
}

bool data_intact(const struct data *data) {
    bool is_intact = buffer_intact(&data->input);
    for (size_t i = 0; i < data->operand_count; i++)
        is_intact = is_intact && buffer_intact(&data->operand[i]);
    return is_intact;
}

static uint64_t hash_more(uint64_t hash, const struct buffer *buffer) {
    const unsigned char *bytes = buffer->data;
    for (size_t i = 0; i < buffer->bytes; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    return hash;
}

uint64_t data_hash(const struct data *data) {
    uint64_t hash = hash_more(0xCBF29CE484222325u, &data->input);
    for (size_t i = 0; i < data->operand_count; i++)
        hash = hash_more(hash, &data->operand[i]);
    return hash;
}

struct buffer output_new(const struct problem *problem, enum guard guard) {
    const size_t element_bytes = uc_dtype_bytes(problem->dtype);
    return buffer_new(extent_elems(problem_output(problem)) * element_bytes, element_bytes, guard);
}
