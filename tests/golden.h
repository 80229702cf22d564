/* The golden cases: parameters, tensors and outputs that PyTorch computed in float64.
 * check_golden and check_mutants go through all of them. */
#ifndef UC_TEST_GOLDEN_H
#define UC_TEST_GOLDEN_H

#include "data.h"
#include "params.h"

struct golden {
    char name[128]; /* slug/case */
    const struct operator_info *op;
    uc_operator_params params;
    size_t output_elems;
    double *output;
};

/* Calls visit() for each case and returns how many there were. */
size_t golden_each(void (*visit)(const struct golden *golden));

/* The case's tensors, rounded to the element type of the problem made from it. */
struct data golden_data(const struct golden *golden, const struct problem *problem);

#endif
