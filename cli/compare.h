/* The strict comparison: against float64, every (b, c) slice by its own scale, NaN and infinities
 * exactly; and the public site's, one absolute and one relative tolerance for everything.
 * Called by judge, and by what checks our own implementation. */
#ifndef UC_CLI_COMPARE_H
#define UC_CLI_COMPARE_H

#include "data.h"
#include "signature.h"

/* STRICT_MULTIPLE times the error of plain unfused arithmetic is allowed, and that error counts as
 * STRICT_UNITS units in the last place of the slice's largest value at least. */
#define STRICT_MULTIPLE 4
#define STRICT_UNITS 2

#define SITE_RELATIVE 2e-4
#define SITE_ABSOLUTE 5e-3

#define COMPARISON_WORST 5

typedef struct wrong_element {
    size_t index;
    double expected, got;
} wrong_element;

typedef struct comparison {
    size_t elements, wrong;
    double
        error; /* the largest, relative to the largest |expected| of its slice; may be INFINITY */
    double allowed; /* there, relative to the same */
    size_t worst_count;
    wrong_element worst[COMPARISON_WORST]; /* of the wrong ones, the worst first */
} comparison;

/* What everybody is judged by, ourselves too: compare_strict() with the error that plain arithmetic
 * makes here, `slack` times, which is tried on more data before anything is called wrong. *noise
 * becomes that error for each slice (b, c), for the caller to free. False: out of memory. */
bool compare_fairly(const signature *s, const uc_operator_params *params, const data *d,
                    const uc_shape *output, const double *expected, double slack, const void *got,
                    double **noise, comparison *result);

/* The largest finite magnitude of some values: a slice's scale. */
double compare_scale(const double *values, size_t count);

/* Noise of one size relative to each slice's scale, for the caller to free (NULL: out of memory);
 * and the largest such size of some noise. */
double *compare_level_noise(const uc_shape *output, const double *expected, double relative);
double compare_relative_noise(const uc_shape *output, const double *expected, const double *noise);

/* got has elements of dtype. 16-bit types may be one unit of theirs off on top. */
comparison compare_strict(const uc_shape *output, uc_dtype dtype, const double *expected,
                          const double *noise, const void *got);
comparison compare_site(const uc_shape *output, uc_dtype dtype, const double *expected,
                        const void *got);

/* "[0, 3, 12, 5]" into text, which is returned. */
const char *compare_index(const uc_shape *output, size_t index, char *text, size_t bytes);

#endif
