/* The tensors that a chain reads, filled with random numbers of a kind, from a seed.
 * Called by judge, and by what checks our own implementation. */
#ifndef UC_CLI_DATA_H
#define UC_CLI_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor.h"
#include "upconv.h"

/* splitmix64: any seed will do, and it gives the same numbers everywhere. */
typedef struct rng {
    uint64_t state;
} rng;
uint64_t rng_next(rng *r);
size_t rng_below(rng *r, size_t limit);
double rng_unit(rng *r);   /* in [0, 1) */
double rng_normal(rng *r); /* mean 0, variance 1, within ±6 */

/* A seed that nobody can foresee. */
uint64_t rng_fresh_seed(void);

/* What the values are like. SITE: uniform in [0, 1), everywhere. NORMAL: signed, about 1, and
 * kernels that keep the convolution's values about 1, too. INTEGER: small whole numbers, so that
 * sums are exact in any order. LARGE: inputs about 60. TINY: about 1e-6. NEGATIVE: inputs below 0,
 * kernels above, so that every product is below 0. CONSTANT: the same number everywhere.
 * NON_FINITE: NaN and infinities here and there in the input; ONE_INFINITY: just one of them. */
typedef enum family {
    FAMILY_SITE,
    FAMILY_NORMAL,
    FAMILY_INTEGER,
    FAMILY_LARGE,
    FAMILY_TINY,
    FAMILY_NEGATIVE,
    FAMILY_CONSTANT,
    FAMILY_NON_FINITE,
    FAMILY_ONE_INFINITY,
    FAMILIES
} family;
const char *family_name(family f);

#define DATA_MOST_TENSORS 8

/* tensor[0] is the input, the others are the operands in the chain's order. */
typedef struct data {
    uc_dtype dtype;
    size_t count;
    const char *name[DATA_MOST_TENSORS]; /* "input", "kernel", ...; live as long as the chain */
    uc_shape shape[DATA_MOST_TENSORS];
    size_t elems[DATA_MOST_TENSORS];
    void *tensor[DATA_MOST_TENSORS];
} data;

/* Allocates, without values. False: out of memory, or more operands than DATA_MOST_TENSORS. */
bool data_new(const uc_chain *chain, data *d);
void data_free(data *d);

/* The values depend on the seed and the family alone. */
void data_fill(data *d, uint64_t seed, family f);

/* As uc_chain_reference() and uc_plan_create() take the operands. */
const void *const *data_operands(const data *d);

#endif
