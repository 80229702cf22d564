/* What follows a norm or softmax over channels element by element, as a polynomial for each
 * channel: add and mul are one of degree 1, and what a softmax leaves lies between 0 and 1, where a
 * few products come as near to a sigmoid as rounding does. Called by plan.c. */
#ifndef UC_CURVE_H
#define UC_CURVE_H

#include "plan.h"

/* Reals that the curve of a stage may take: 0 where it takes nothing along. */
size_t uc_curve_elems(const uc_plan *plan, size_t stage);

/* Makes it, if it can be; then the stages that it stands for have nothing left to do. */
void uc_curve_plan(uc_plan *plan, size_t stage, void *reals);

#endif
