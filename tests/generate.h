/* Random problems: the five operators and chains of any ops, at sizes where bugs live.
 * check_properties and check_errors draw from it. */
#ifndef UC_TEST_GENERATE_H
#define UC_TEST_GENERATE_H

#include "check.h"
#include "problem.h"

/* One of the five operators with random parameters, or a chain of random ops. Kernels smaller than
 * the stride and larger than the input, padding beyond the kernel, strides of 7 and 50, single
 * elements and odd channel counts all turn up. Small enough for the oracle to take milliseconds. */
struct problem problem_random(struct rng *rng);

/* The same, with a tensor of more than a megabyte: no implementation takes that as one tile. */
struct problem problem_random_large(struct rng *rng);

/* Only a convolution, and perhaps maxpool and sum_channel: exact on whole numbers. */
struct problem problem_random_exact(struct rng *rng);
bool problem_is_exact(const struct problem *problem);

#endif
