/* The parameters of the five operators by name: which operator has which, and where it is stored.
 * Golden cases are read through it, and error tests go through all of them. */
#ifndef UC_TEST_PARAMS_H
#define UC_TEST_PARAMS_H

#include "upconv.h"

#include <stdbool.h>

struct param {
    const char *name;
    size_t offset;         /* in uc_operator_params */
    const char *operators; /* letters: a avgpool-…, m max-max-sum, s sum-…, t 2-D, l layernorm-… */
    bool is_real;          /* double, else size_t */
    bool may_be_zero;
};
extern const struct param params[];
extern const size_t param_count;

/* The operators with the operands that their calls take, kernel first. */
struct operator_info {
    const char *slug;
    char letter;
    size_t operand_count;
    const char *operand[3];
};
extern const struct operator_info operators[];
extern const size_t operator_total;

const struct operator_info *operator_find(const char *slug);
bool operator_has(const struct operator_info *op, const struct param *param);

size_t *param_size(uc_operator_params *values, const struct param *param);
double *param_real(uc_operator_params *values, const struct param *param);

/* Sets the parameter called by the first length bytes of name from text; false: no such one. */
bool param_set(uc_operator_params *values, const char *name, size_t length, const char *text);

/* A small shape that every operator accepts, with every size different where that can be. */
uc_operator_params params_small(void);

#endif
