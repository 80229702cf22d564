/* The strict comparison: against float64, every (b, c) slice by its own scale, NaN and infinities
 * exactly; and the public site's, one absolute and one relative tolerance for everything.
 * Called by judge, and by what checks our own implementation. */
#define _POSIX_C_SOURCE 200809L
#include "compare.h"
#include "element.h"
#include "unfused.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What plain arithmetic loses ------------------------------------------------------- */

static size_t slices_of(const uc_shape *output) {
    return output->dim[0] * output->dim[1];
}

static size_t positions_of(const uc_shape *output) {
    return slices_of(output) ? elems_of(output) / slices_of(output) : 0;
}

static double unit_of(uc_dtype dtype) {
    return dtype == UC_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

double compare_scale(const double *values, size_t count) {
    double scale = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) && fabs(values[i]) > scale)
            scale = fabs(values[i]);
    return scale;
}

/* A copy in float, or in long double; in float every value is moved by a unit or none where r is
 * given. */
static void *converted(const data *d, size_t index, bool wide, rng *r) {
    float *narrow = wide ? NULL : malloc((d->elems[index] + 1) * sizeof *narrow);
    long double *exact = wide ? malloc((d->elems[index] + 1) * sizeof *exact) : NULL;
    for (size_t i = 0; (narrow || exact) && i < d->elems[index]; i++) {
        double value = element_get(d->dtype, d->tensor[index], i);
        if (r && isfinite(value) && value != 0)
            value *= 1 + ((double)rng_below(r, 3) - 1) * (double)FLT_EPSILON;
        if (exact)
            exact[i] = value;
        else
            narrow[i] = (float)value;
    }
    return wide ? (void *)exact : narrow;
}

/* One run of plain arithmetic in float, or in long double; false: out of memory. */
static bool run_plain(const signature *s, const uc_operator_params *params, const data *d,
                      bool wide, rng *r, void *output) {
    void *inputs[DATA_MOST_TENSORS] = {0};
    bool enough = true;
    for (size_t i = 0; i < d->count; i++)
        enough = (inputs[i] = converted(d, i, wide, r)) && enough;
    if (enough)
        signature_call(s, wide ? unfused_long(s->slug) : unfused_f32(s->slug), params,
                       (const void *const *)inputs, output);
    for (size_t i = 0; i < d->count; i++)
        free(inputs[i]);
    return enough;
}

/* Raises what was lucky to what three in four slices don't exceed, relative to their scales. */
static bool raise_lucky(const double *expected, size_t slices, size_t positions, double *noise) {
    double *relative = malloc((slices + 1) * sizeof *relative);
    if (!relative)
        return false;
    for (size_t i = 0; i < slices; i++) {
        const double scale = compare_scale(expected + i * positions, positions);
        relative[i] = scale > 0 ? noise[i] / scale : 0;
    }
    qsort(relative, slices, sizeof *relative, by_size);
    for (size_t i = 0; i < slices; i++) {
        const double usual =
            relative[slices * 3 / 4] * compare_scale(expected + i * positions, positions);
        noise[i] = noise[i] > usual ? noise[i] : usual;
    }
    free(relative);
    return true;
}

/* The oracle computes in double, so it can't tell what plain double loses: that is what plain float
 * loses, less the bits that double has more. */
#define F64_NOISE (DBL_EPSILON / (double)FLT_EPSILON)

/* And what is expected is off by as much: long double shows by how much (where it is wider than
 * double), for a layer norm of equal channels, say, whose mean is not quite their value. */
static bool add_oracle_noise(const signature *s, const uc_operator_params *params, const data *d,
                             const double *expected, size_t slices, size_t positions,
                             double *noise) {
    long double *exact = malloc((slices * positions + 1) * sizeof *exact);
    const bool enough = exact && run_plain(s, params, d, true, NULL, exact);
    for (size_t i = 0; enough && i < slices; i++) {
        double most = 0;
        for (size_t k = i * positions; k < (i + 1) * positions; k++) {
            const double error = (double)fabsl(expected[k] - exact[k]);
            most = isfinite(error) && error > most ? error : most;
        }
        noise[i] = noise[i] * F64_NOISE + most;
    }
    free(exact);
    return enough;
}

/* The largest error that plain unfused float arithmetic makes in each slice (b, c) of the output
 * (for f64: as much smaller as double is finer): once on the data, and `nudged` times on data whose
 * every value is nudged by a unit or none, so that no slice is judged by one lucky rounding; slices
 * that were lucky all the same get the relative error that three in four don't exceed. For the
 * caller to free; NULL: out of memory. */
static double *noise_of(const signature *s, const uc_operator_params *params, const data *d,
                        const uc_shape *output, const double *expected, size_t nudged) {
    const size_t slices = slices_of(output), positions = positions_of(output);
    double *noise = calloc(slices + 1, sizeof *noise);
    float *plain = malloc((elems_of(output) + 1) * sizeof *plain);
    bool enough = noise && plain;
    for (size_t run = 0; enough && run <= nudged; run++) {
        rng r = {run};
        enough = run_plain(s, params, d, false, run ? &r : NULL, plain);
        for (size_t i = 0; enough && i < slices * positions; i++) {
            const double error = fabs((double)plain[i] - expected[i]);
            if (isfinite(error) && error > noise[i / positions])
                noise[i / positions] = error;
        }
    }
    if (d->dtype == UC_F64)
        enough = enough && add_oracle_noise(s, params, d, expected, slices, positions, noise);
    enough = enough && raise_lucky(expected, slices, positions, noise);
    free(plain);
    if (enough)
        return noise;
    free(noise);
    return NULL;
}

double *compare_level_noise(const uc_shape *output, const double *expected, double relative) {
    const size_t slices = slices_of(output), positions = positions_of(output);
    double *noise = malloc((slices + 1) * sizeof *noise);
    for (size_t i = 0; noise && i < slices; i++)
        noise[i] = relative * compare_scale(expected + i * positions, positions);
    return noise;
}

double compare_relative_noise(const uc_shape *output, const double *expected, const double *noise) {
    const size_t slices = slices_of(output), positions = positions_of(output);
    double most = 0;
    for (size_t i = 0; i < slices; i++) {
        const double scale = compare_scale(expected + i * positions, positions);
        most = scale > 0 ? fmax(most, noise[i] / scale) : most;
    }
    return most;
}

/* ---- Comparing ------------------------------------------------------------------------- */

/* How bad an element is; a NaN or infinity where none belongs, or the reverse, is worst. */
static double badness(double expected, double got, double scale) {
    const double error = fabs(expected - got);
    if (isfinite(error))
        return error == 0 ? 0 : error / (scale > 0 ? scale : 1);
    const bool same = isnan(expected) ? isnan(got) : expected == got;
    return same ? 0 : (double)INFINITY;
}

/* Keeps the worst few in order. */
static void note_wrong(comparison *c, double *badnesses, size_t index, double expected, double got,
                       double how_bad) {
    c->wrong++;
    size_t at = c->worst_count < COMPARISON_WORST ? c->worst_count++ : COMPARISON_WORST;
    if (at == COMPARISON_WORST) {
        if (how_bad <= badnesses[at - 1])
            return;
        at--;
    }
    for (; at > 0 && how_bad > badnesses[at - 1]; at--) {
        c->worst[at] = c->worst[at - 1];
        badnesses[at] = badnesses[at - 1];
    }
    c->worst[at] = (wrong_element){index, expected, got};
    badnesses[at] = how_bad;
}

typedef struct tolerance {
    double relative;     /* to the element */
    double absolute;     /* where there is no noise */
    const double *noise; /* per slice, or NULL */
    double units;        /* the least noise, relative to the slice's scale */
} tolerance;

/* Between the roundings of the ends of what is allowed: being monotone, rounding takes care of
 * subnormal numbers and of overflow. */
static bool is_close(double expected, double got, uc_dtype dtype, double allowed) {
    if (!isfinite(expected))
        return isnan(expected) ? isnan(got) : got == expected;
    return fabs(expected - got) <= allowed || (got >= element_round(dtype, expected - allowed) &&
                                               got <= element_round(dtype, expected + allowed));
}

static comparison compare(const uc_shape *output, uc_dtype dtype, const double *expected,
                          const void *got, tolerance t) {
    const size_t positions = positions_of(output);
    comparison c = {.elements = elems_of(output)};
    double badnesses[COMPARISON_WORST], nearest_to_wrong = -1;
    for (size_t slice = 0; slice < slices_of(output); slice++) {
        const double scale = compare_scale(expected + slice * positions, positions);
        double allowed = t.absolute;
        if (t.noise) {
            const double noise = t.noise[slice], least = t.units * scale;
            allowed = STRICT_MULTIPLE * (noise > least ? noise : least);
        }
        for (size_t i = slice * positions; i < (slice + 1) * positions; i++) {
            const double value = element_get(dtype, got, i);
            const double here =
                isfinite(expected[i]) ? allowed + t.relative * fabs(expected[i]) : 0;
            const double bad = badness(expected[i], value, scale);
            const double relative = here / (scale > 0 ? scale : 1);
            const double used = bad > 0 ? bad / (relative > 0 ? relative : DBL_MIN) : 0;
            if (used > nearest_to_wrong) {
                nearest_to_wrong = used;
                c.error = bad;
                c.allowed = relative;
            }
            if (!is_close(expected[i], value, dtype, here))
                note_wrong(&c, badnesses, i, expected[i], value, bad);
        }
    }
    return c;
}

comparison compare_strict(const uc_shape *output, uc_dtype dtype, const double *expected,
                          const double *noise, const void *got) {
    const double last_place = dtype == UC_F16 ? 0x1p-10 : dtype == UC_BF16 ? 0x1p-7 : 0;
    return compare(output, dtype, expected, got,
                   (tolerance){.relative = last_place,
                               .noise = noise,
                               .units = STRICT_UNITS * unit_of(dtype)});
}

/* A small test has few elements, which show less of what plain arithmetic loses than many do; a
 * large one has more, and takes its time. */
#define SMALL_FLOPS 1e8
#define NUDGED_SMALL 7
#define NUDGED_SMALL_IN_DOUBT 63
#define NUDGED_LARGE_IN_DOUBT 2
#define DOUBTFUL 4 /* times what is allowed; more than that is no bad luck */

static bool is_small(const signature *s, const uc_operator_params *params, uc_dtype dtype) {
    uc_chain *chain = NULL;
    const bool small = uc_operator_chain(s->slug, dtype, params, &chain) == UC_OK &&
                       uc_chain_flops(chain) < SMALL_FLOPS;
    uc_chain_destroy(chain);
    return small;
}

bool compare_fairly(const signature *s, const uc_operator_params *params, const data *d,
                    const uc_shape *output, const double *expected, double slack, const void *got,
                    double **noise, comparison *result) {
    const bool small = is_small(s, params, d->dtype);
    const size_t nudged[] = {small ? NUDGED_SMALL : 0,
                             small ? NUDGED_SMALL_IN_DOUBT : NUDGED_LARGE_IN_DOUBT};
    *noise = NULL;
    for (size_t i = 0; i < 2; i++) {
        free(*noise);
        if (!(*noise = noise_of(s, params, d, output, expected, nudged[i])))
            return false;
        for (size_t k = 0; k < slices_of(output); k++)
            (*noise)[k] *= slack;
        *result = compare_strict(output, d->dtype, expected, *noise, got);
        if (!result->wrong || !(result->error < DOUBTFUL * result->allowed))
            break;
    }
    return true;
}

comparison compare_site(const uc_shape *output, uc_dtype dtype, const double *expected,
                        const void *got) {
    return compare(output, dtype, expected, got,
                   (tolerance){.relative = SITE_RELATIVE, .absolute = SITE_ABSOLUTE});
}

const char *compare_index(const uc_shape *output, size_t index, char *text, size_t bytes) {
    size_t at[UC_MAX_DIMS] = {0}, used = 0;
    for (size_t i = output->ndim; i-- > 0; index /= output->dim[i])
        at[i] = index % output->dim[i];
    text[0] = 0;
    for (size_t i = 0; i < output->ndim && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%zu%s", i ? ", " : "[", at[i],
                                 i + 1 < output->ndim ? "" : "]");
    return text;
}
