/* Elements of the four types as doubles: slow, plain, and apart from the library's conversions.
 * The command and the tests read and write tensors through it. */
#ifndef UC_CLI_ELEMENT_H
#define UC_CLI_ELEMENT_H

#include "upconv.h"

double element_get(uc_dtype dtype, const void *array, size_t index);

/* Stores value rounded once, to nearest even. */
void element_set(uc_dtype dtype, void *array, size_t index, double value);

/* The value that storing would give. */
double element_round(uc_dtype dtype, double value);

#endif
