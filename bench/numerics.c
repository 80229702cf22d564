/* How exact the ways to compute are: errors against float64 by operator and family of data, of the
 * convolution alone and of the whole operator. Run by `make numerics`; the table is for
 * docs/numerics.md. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upconv.h"

static uint64_t state;

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static double normal(void) {
    const double radius = sqrt(-2 * log(1 - uniform()));
    return radius * cos(6.283185307179586 * uniform());
}

/* The i-th value of a tensor. */
static double in_normal(size_t i) {
    (void)i;
    return normal();
}
static double in_uniform(size_t i) {
    (void)i;
    return uniform();
}
static double in_outlier(size_t i) {
    return i == 1234 ? 1e4 : normal();
}
static double in_alternating(size_t i) {
    return (i % 2 ? -1 : 1) * (1 + uniform());
}
static double in_tiny(size_t i) {
    (void)i;
    return 1e-30 * normal();
}
static double in_large(size_t i) {
    (void)i;
    return 1e30 * normal();
}
static double in_denormal(size_t i) {
    (void)i;
    return 1e-39 * normal();
}

static const struct {
    const char *name;
    double (*value)(size_t i);
} families[] = {
    {"normal", in_normal},           {"uniform [0, 1)", in_uniform},
    {"one outlier 1e4", in_outlier}, {"alternating sign", in_alternating},
    {"tiny 1e-30", in_tiny},         {"large 1e30", in_large},
    {"denormals", in_denormal},
};

static size_t elems_of(const uc_shape *shape) {
    size_t elems = 1;
    for (size_t i = 0; i < shape->ndim; i++)
        elems *= shape->dim[i];
    return elems;
}

/* Errors of every (b, c) slice relative to its largest value: their root mean square and the worst.
 */
typedef struct errors {
    double rms, worst;
    bool same; /* infinities and NaN are where they should be */
} errors;

static errors compare(const float *got, const double *expected, const uc_shape *shape) {
    const size_t slices = shape->dim[0] * shape->dim[1], each = elems_of(shape) / slices;
    errors e = {0, 0, true};
    size_t counted = 0;
    for (size_t s = 0; s < slices; s++) {
        double scale = 0;
        for (size_t i = s * each; i < (s + 1) * each; i++)
            if (isfinite(expected[i]))
                scale = fmax(scale, fabs(expected[i]));
        if (scale < FLT_MIN) /* a slice of zeros, or below what f32 holds in full */
            scale = FLT_MIN;
        for (size_t i = s * each; i < (s + 1) * each; i++) {
            const double most = FLT_MAX;
            if (!isfinite(expected[i]) || fabs(expected[i]) > most) {
                e.same = e.same && !isfinite(got[i]);
                continue;
            }
            const double off = fabs(got[i] - expected[i]) / scale;
            e.same = e.same && isfinite(got[i]);
            e.rms += off * off;
            e.worst = fmax(e.worst, off);
            counted++;
        }
    }
    e.rms = counted ? sqrt(e.rms / (double)counted) : 0;
    return e;
}

/* One chain on one family, direct and Winograd. */
static bool measure(const char *label, const uc_chain *chain, size_t family) {
    const uc_shape in = uc_chain_input(chain), out = uc_chain_output(chain);
    float *input = malloc(elems_of(&in) * sizeof *input), *operand[8] = {NULL},
          *output = malloc(elems_of(&out) * sizeof *output);
    double *expected = malloc(elems_of(&out) * sizeof *expected);
    bool good = input && output && expected;
    state = 7 + family;
    for (size_t i = 0; good && i < elems_of(&in); i++)
        input[i] = (float)families[family].value(i);
    for (size_t o = 0; good && o < uc_chain_operand_count(chain); o++) {
        const uc_operand op = uc_chain_operand(chain, o);
        const size_t elems = elems_of(&op.shape);
        operand[o] = malloc(elems * sizeof *operand[o]);
        good = operand[o] != NULL;
        for (size_t i = 0; good && i < elems; i++)
            operand[o][i] = (float)(op.shape.ndim > 1 ? normal() / 16 : normal());
    }
    good =
        good && uc_chain_reference(chain, input, (const void *const *)operand, expected) == UC_OK;
    errors by[2] = {{0}};
    static const uc_algorithm algorithms[2] = {UC_ALGORITHM_DIRECT, UC_ALGORITHM_WINOGRAD};
    bool there[2] = {false};
    for (size_t a = 0; good && a < 2; a++) {
        uc_options options = UC_OPTIONS_INIT;
        options.algorithm = algorithms[a];
        uc_plan *plan;
        const uc_status status =
            uc_plan_create(chain, (const void *const *)operand, &options, &plan);
        if (status != UC_OK) {
            if (a && status == UC_UNSUPPORTED)
                break;
            good = false;
            break;
        }
        void *workspace = malloc(uc_plan_workspace_bytes(plan));
        good = workspace && uc_plan_execute(plan, input, output, workspace) == UC_OK;
        free(workspace);
        uc_plan_destroy(plan);
        if (good) {
            by[a] = compare(output, expected, &out);
            there[a] = true;
        }
    }
    if (good && there[1])
        printf("| %-62s | %-16s | %9.2e | %9.2e | %5.2f | %9.2e | %9.2e | %5.2f | %s |\n", label,
               families[family].name, by[0].rms, by[1].rms,
               by[0].rms > 0 ? by[1].rms / by[0].rms : 1, by[0].worst, by[1].worst,
               by[0].worst > 0 ? by[1].worst / by[0].worst : 1,
               by[0].same && by[1].same ? "yes" : "NO");
    else if (good)
        printf("| %-62s | %-16s | winograd can't be used: %s |\n", label, families[family].name,
               uc_last_error());
    fflush(stdout);
    for (size_t o = 0; o < 8; o++)
        free(operand[o]);
    free(expected);
    free(output);
    free(input);
    return good;
}

/* An operator with a smaller space: its channels and taps decide the errors. */
static uc_chain *small_chain(const char *slug, bool whole) {
    uc_operator_params params;
    if (uc_operator_defaults(slug, &params) != UC_OK)
        return NULL;
    const size_t pool = params.pool_kernel ? params.pool_kernel : 1;
    params.batch_size = 1;
    params.depth = 8 * pool;
    params.height = params.width = 16 * pool;
    uc_chain *chain = NULL;
    if (uc_operator_chain(slug, UC_F32, &params, &chain) != UC_OK || whole)
        return chain;
    /* The convolution alone, of the same shape: pooling the input comes before it. */
    char text[256];
    const bool flat = strstr(slug, "2d") != NULL;
    snprintf(text, sizeof text,
             "f32 1x%zux%s%zux%zu, conv_transpose %zu kernel %zu stride %zu padding %zu",
             params.in_channels, flat ? "" : "8x", (size_t)16, (size_t)16, params.out_channels,
             params.kernel_h, params.stride_h, params.padding_h);
    uc_chain_destroy(chain);
    return uc_chain_parse(text, &chain) == UC_OK ? chain : NULL;
}

int main(void) {
    printf("| chain | data | direct rms | winograd rms | ratio | direct worst | winograd worst | "
           "ratio | non-finite alike |\n|---|---|---|---|---|---|---|---|---|\n");
    bool good = true;
    for (size_t i = 0; i < uc_operator_count(); i++)
        for (size_t whole = 0; whole < 2; whole++) {
            uc_chain *chain = small_chain(uc_operator_slug(i), whole);
            char label[128];
            snprintf(label, sizeof label, "%s%s", uc_operator_slug(i),
                     whole ? "" : ": convolution");
            for (size_t f = 0; f < sizeof families / sizeof *families; f++)
                good = chain && measure(label, chain, f) && good;
            uc_chain_destroy(chain);
        }
    if (!good)
        fprintf(stderr, "numerics: %s\n", uc_last_error());
    return good ? 0 : 1;
}
