/* Reads .npy files: version 1, little-endian float32 or float64, C order, nothing else.
 * golden.c calls it. */
#ifndef UC_TEST_NPY_H
#define UC_TEST_NPY_H

#include <stddef.h>

/* The elements widened to double, for the caller to free, or NULL after saying why on stderr. */
double *npy_read(const char *path, size_t *elems);

#endif
