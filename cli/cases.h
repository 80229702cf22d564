/* The judge's cases: shapes and data that show each part of an operator's semantics.
 * Called by judge, and by what checks our own implementation. */
#ifndef UC_CLI_CASES_H
#define UC_CLI_CASES_H

#include "data.h"
#include "signature.h"

/* What is done to the data once it is filled. */
typedef enum plant {
    PLANT_NOTHING,
    PLANT_PARITY,        /* in channel c the taps of one of the 8 (4) phases are the largest */
    PLANT_BIAS_BELOW,    /* every output of the convolution far below 0 */
    PLANT_TAIL,          /* huge values where only what pooling drops sees them */
    PLANT_ONE_CHANNEL,   /* one output channel outweighs the others: far out in GELU's tails */
    PLANT_SAME_CHANNELS, /* all output channels are nearly the same: eps is all that is left */
    PLANT_ITEM_SCALES,   /* batch items of very different size */
    PLANT_SCALE_SIGNS    /* scale and biases negative, zero and large */
} plant;

typedef struct test_case {
    char name[32];
    const char *why; /* what it is to show */
    uc_operator_params params;
    family family;
    plant plant;
    bool is_default_shape;
} test_case;

#define CASES_MOST 40

/* All cases of an operator, the small ones first, the default shape (with that batch) last. Returns
 * how many there are. */
size_t cases_list(const char *slug, size_t default_batch, test_case cases[CASES_MOST]);

/* The public site's one test: uniform numbers in [0, 1) at the default shape. */
test_case cases_site(const char *slug, size_t batch);

/* Fills the data of a case; what it gives depends on the case, the seed and the round alone. */
void cases_fill(const signature *s, const test_case *c, uint64_t seed, size_t round, data *d);

#endif
