/* The twenty typed operator functions behind one call, so that a table of values proves the
 * parameter order of each. Called by every test that runs operators. */
#ifndef UC_TEST_CALL_H
#define UC_TEST_CALL_H

#include "upconv.h"

/* operands: kernel, then the others as the specification lists them. */
uc_status call_operator(const char *slug, uc_dtype dtype, const uc_operator_params *params,
                        const void *input, const void *const operands[], void *output);

#endif
