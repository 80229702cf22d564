/* The strict comparison: every (b, c) slice by its own scale, NaN and infinities exactly.
 * All tests that look at values call it. */
#include "compare.h"
#include "element.h"
#include "naive.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE_SAMPLES = 64, LEAST_JITTERED_RUNS = 2, MOST_JITTERED_RUNS = 16 };

double relative_of(uc_dtype dtype) {
    return dtype == UC_F64 ? 1e-12 : 4 * (double)FLT_EPSILON;
}

double *noise_of(const struct problem *problem, const struct data *data, const double *reference) {
    const struct extent extent = problem_output(problem);
    const size_t positions = extent_positions(extent), elems = extent_elems(extent);
    const size_t wanted = NOISE_SAMPLES / (positions ? positions : 1);
    const size_t most = wanted < MOST_JITTERED_RUNS ? wanted : MOST_JITTERED_RUNS;
    const size_t jittered = most > LEAST_JITTERED_RUNS ? most : LEAST_JITTERED_RUNS;
    double *noise = check_alloc(extent.batch * extent.channels * sizeof *noise);
    double *plain = check_alloc(elems * sizeof *plain);
    for (size_t i = 0; i < extent.batch * extent.channels; i++)
        noise[i] = 0;
    /* Run 0 has no jitter: it is the plain computation itself. */
    for (size_t run = 0; run <= jittered; run++) {
        const struct naive_mode mode = {.jitter_seed = run * 0x5DEECE66Du};
        (problem->dtype == UC_F64 ? naive_f64 : naive_f32)(problem, data, mode, plain);
        for (size_t i = 0; i < elems; i++) {
            const double error = fabs(plain[i] - reference[i]);
            if (isfinite(error) && error > noise[i / positions])
                noise[i / positions] = error;
        }
    }
    free(plain);
    return noise;
}

static double slice_scale(const double *slice, size_t positions) {
    double scale = 0;
    for (size_t i = 0; i < positions; i++)
        if (isfinite(slice[i]) && fabs(slice[i]) > scale)
            scale = fabs(slice[i]);
    return scale;
}

static bool is_close(double expected, double got, uc_dtype dtype, double allowed) {
    if (isnan(expected))
        return isnan(got);
    if (isinf(expected))
        return got == expected;
    return got >= element_round(dtype, expected - allowed) &&
           got <= element_round(dtype, expected + allowed);
}

/* How bad a wrong element is; a NaN or infinity where none belongs is worst. */
static double badness(double expected, double got, double scale) {
    const double error = fabs(expected - got);
    return isfinite(error) ? error / (scale > 0 ? scale : 1) : (double)INFINITY;
}

struct verdict compare(struct extent extent, const double *reference, uc_dtype dtype,
                       const void *got, struct tolerance tolerance) {
    const size_t positions = extent_positions(extent);
    struct verdict verdict = {0};
    double worst = -1;
    for (size_t slice = 0; slice < extent.batch * extent.channels; slice++) {
        const double scale = slice_scale(reference + slice * positions, positions);
        const double allowed =
            tolerance.relative * scale + (tolerance.noise ? 3 * tolerance.noise[slice] : 0);
        for (size_t i = slice * positions; i < (slice + 1) * positions; i++) {
            const double value = element_get(dtype, got, i);
            if (is_close(reference[i], value, dtype, allowed))
                continue;
            verdict.wrong++;
            if (badness(reference[i], value, scale) > worst) {
                worst = badness(reference[i], value, scale);
                verdict.index = i;
                verdict.expected = reference[i];
                verdict.got = value;
                verdict.allowed = allowed;
            }
        }
    }
    return verdict;
}

bool check_close(const char *label, struct extent extent, const double *reference, uc_dtype dtype,
                 const void *got, struct tolerance tolerance) {
    const struct verdict verdict = compare(extent, reference, dtype, got, tolerance);
    return CHECK(verdict.wrong == 0,
                 "%s: %zu of %zu elements wrong; worst [%zu]: expected %.9g, got %.9g, allowed "
                 "±%.3g",
                 label, verdict.wrong, extent_elems(extent), verdict.index, verdict.expected,
                 verdict.got, verdict.allowed);
}

bool check_same(const char *label, const struct buffer *expected, const struct buffer *got) {
    const unsigned char *a = expected->data, *b = got->data;
    size_t at = 0;
    while (at < expected->bytes && at < got->bytes && a[at] == b[at])
        at++;
    return CHECK(expected->bytes == got->bytes && at == expected->bytes,
                 "%s: byte %zu of %zu differs", label, at, expected->bytes);
}
