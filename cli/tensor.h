/* Memory and numbers for measurements.
 * Called by machine.c, the subcommands that measure, and the programs in bench/. */
#ifndef UC_CLI_TENSOR_H
#define UC_CLI_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "upconv.h"

size_t elems_of(const uc_shape *shape);

/* Memory on huge pages where the system has them, all of it touched; NULL if there is none. Never
 * freed by callers that measure to the end of the process; else with free(). */
void *huge_pages(size_t bytes);

/* Numbers in (-scale, scale), the same every time; of any element type, from huge_pages(). */
void *random_tensor(uc_dtype dtype, const uc_shape *shape, double scale);

/* More than a chain's stages can ask for. */
#define MOST_OPERANDS 40

/* The operands of a chain in their order, with weights that keep the convolution's values near 1;
 * each to be freed. False: no memory; those that are there are to be freed all the same. */
bool random_operands(const uc_chain *chain, void *operands[MOST_OPERANDS]);

/* Doubles in their order, for qsort(). */
int by_size(const void *a, const void *b);

#endif
