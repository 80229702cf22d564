/* The strict comparison: every (b, c) slice by its own scale, NaN and infinities exactly.
 * All tests that look at values call it. */
#ifndef UC_TEST_COMPARE_H
#define UC_TEST_COMPARE_H

#include "data.h"

/* What may differ. relative: of the largest finite |reference| of the slice. noise: the error of
 * plain unfused arithmetic for each slice, as noise_of() measures it; thrice that is allowed, so a
 * slice whose exact value is 0 (layer norm of equal channels) is held to what arithmetic in that
 * precision can know about it, not to an absolute number. NULL: none is allowed. */
struct tolerance {
    double relative;
    const double *noise;
};

/* 1e-12 in f64; in f32, and before the one rounding of f16 and bf16, four units. */
double relative_of(uc_dtype dtype);

/* The largest error in each slice of plain f32 (f64: f64) arithmetic on this data, over enough
 * jittered runs that even a slice of one element is not judged by one lucky rounding. For the
 * caller to free. */
double *noise_of(const struct problem *problem, const struct data *data, const double *reference);

struct verdict {
    size_t wrong;         /* elements */
    size_t index;         /* of the worst of them */
    double expected, got; /* there */
    double allowed;       /* half the width of what was allowed there, before rounding */
};

/* got has elements of dtype; each must lie between the roundings to dtype of reference - allowed
 * and reference + allowed. Being monotone, rounding takes care of ties, subnormals and overflow. */
struct verdict compare(struct extent extent, const double *reference, uc_dtype dtype,
                       const void *got, struct tolerance tolerance);

/* compare() as a check; label says what was compared. */
bool check_close(const char *label, struct extent extent, const double *reference, uc_dtype dtype,
                 const void *got, struct tolerance tolerance);

/* The same bits. */
bool check_same(const char *label, const struct buffer *expected, const struct buffer *got);

#endif
