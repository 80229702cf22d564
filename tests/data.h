/* The tensors of a problem: input and operands in guarded buffers, filled from a seed.
 * Every test that runs something calls it. */
#ifndef UC_TEST_DATA_H
#define UC_TEST_DATA_H

#include "check.h"
#include "problem.h"

/* What the values are like. INTEGER: small whole numbers, so that a convolution is exact in any
 * order. LARGE: inputs about 30, where an exponential without its maximum overflows. NON_FINITE:
 * NaN and infinities here and there in the input. FIRST_NAN: a NaN at its very beginning.
 * MINUS_INFINITY: nothing else for its first two thirds, and only positive operands, so that whole
 * tiles are -inf beside others that are not. */
enum family {
    FAMILY_NORMAL,
    FAMILY_UNIFORM,
    FAMILY_INTEGER,
    FAMILY_LARGE,
    FAMILY_CONSTANT,
    FAMILY_NON_FINITE,
    FAMILY_FIRST_NAN,
    FAMILY_MINUS_INFINITY,
    FAMILIES
};
const char *family_name(enum family family);
bool family_is_finite(enum family family);
bool family_find(const char *name, enum family *family);

struct data {
    struct buffer input;
    struct buffer operand[MOST_OPERANDS];
    const void *operands[MOST_OPERANDS]; /* the same, as plans take them */
    size_t operand_count;
};

/* Makes the buffers; data_fill() then gives them values that depend on seed and family alone. */
struct data data_new(const struct problem *problem, enum guard guard);
void data_fill(struct data *data, const struct problem *problem, uint64_t seed, enum family family);
void data_free(struct data *data);

bool data_intact(const struct data *data);

/* A number that changes when any bit of the data does (FNV-1a): inputs must stay as they are. */
uint64_t data_hash(const struct data *data);

struct buffer output_new(const struct problem *problem, enum guard guard);

#endif
