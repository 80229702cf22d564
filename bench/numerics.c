/* How exact the ways to compute are: errors against float64 by operator and family of data, of the
 * convolution alone and of the whole operator. Run by `make numerics`, which prints the table of
 * docs/numerics.md. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tensor.h"
#include "upconv.h"

/* Channels and taps decide the errors, so the space is a small one. */
enum { DEPTH = 8, HEIGHT = 16, WIDTH = 16 };

/* The chain of fmaf() is slow: so many channels will do. */
enum { CHAIN_CHANNELS = 8 };

/* The i-th input. */
static double in_normal(struct rng *rng, size_t i) {
    (void)i;
    return rng_normal(rng);
}
static double in_uniform(struct rng *rng, size_t i) {
    (void)i;
    return rng_unit(rng);
}
static double in_outlier(struct rng *rng, size_t i) {
    return i == 1234 ? 1e4 : rng_normal(rng);
}
static double in_alternating(struct rng *rng, size_t i) {
    return (i % 2 ? -1 : 1) * (1 + rng_unit(rng));
}
static double in_tiny(struct rng *rng, size_t i) {
    (void)i;
    return 1e-30 * rng_normal(rng);
}
static double in_large(struct rng *rng, size_t i) {
    (void)i;
    return 1e30 * rng_normal(rng);
}
static double in_denormal(struct rng *rng, size_t i) {
    (void)i;
    return 1e-39 * rng_normal(rng);
}

static const struct family {
    const char *name;
    double (*value)(struct rng *rng, size_t i);
} families[] = {
    {"normal", in_normal},           {"uniform [0, 1)", in_uniform},
    {"one outlier 1e4", in_outlier}, {"alternating sign", in_alternating},
    {"tiny 1e-30", in_tiny},         {"large 1e30", in_large},
    {"denormals", in_denormal},
};

/* A convolution with the same sizes along all dimensions, right-aligned in three. */
typedef struct conv {
    size_t in_channels, out_channels, in[3], out[3], kernel[3], stride[3], padding[3];
    bool has_bias;
} conv;

/* A chain, its data, and what float64 says. */
typedef struct subject {
    const char *slug;
    bool whole;
    conv conv;
    uc_chain *chain;
    uc_shape out;
    float *input, *operand[MOST_OPERANDS], *output;
    double *expected;
} subject;

/* Errors of every (b, c) slice relative to its largest value: their root mean square and the worst.
 */
typedef struct errors {
    double rms, worst;
    bool same; /* infinities and NaN are where they should be */
} errors;

/* Of the first `slices` slices. */
static errors compare(const subject *s, size_t slices) {
    const size_t each = elems_of(&s->out) / (s->out.dim[0] * s->out.dim[1]);
    errors e = {0, 0, true};
    size_t counted = 0;
    for (size_t slice = 0; slice < slices; slice++) {
        const float *got = s->output + slice * each;
        const double *expected = s->expected + slice * each;
        double scale = 0;
        for (size_t i = 0; i < each; i++)
            if (isfinite(expected[i]))
                scale = fmax(scale, fabs(expected[i]));
        if (scale == 0)
            scale = 1;                        /* zeros: the error as it is */
        scale = fmax(scale, (double)FLT_MIN); /* below, f32 has fewer digits */
        for (size_t i = 0; i < each; i++) {
            const bool finite = isfinite(expected[i]) && fabs(expected[i]) <= (double)FLT_MAX;
            e.same = e.same && finite == (bool)isfinite(got[i]);
            if (!finite || !isfinite(got[i]))
                continue;
            const double off = fabs((double)got[i] - expected[i]) / scale;
            e.rms += off * off;
            e.worst = fmax(e.worst, off);
            counted++;
        }
    }
    e.rms = counted ? sqrt(e.rms / (double)counted) : 0;
    return e;
}

/* ---- The three ways ---- */

/* One output as one float sum over taps and channels: what a plain loop makes. */
static float chain_output(const subject *s, size_t channel, const size_t at[3]) {
    const conv *c = &s->conv;
    const float *kernel = s->operand[0];
    float sum = c->has_bias ? s->operand[1][channel] : 0;
    for (size_t ci = 0; ci < c->in_channels; ci++)
        for (size_t kd = (at[0] + c->padding[0]) % c->stride[0]; kd < c->kernel[0];
             kd += c->stride[0])
            for (size_t kh = (at[1] + c->padding[1]) % c->stride[1]; kh < c->kernel[1];
                 kh += c->stride[1])
                for (size_t kw = (at[2] + c->padding[2]) % c->stride[2]; kw < c->kernel[2];
                     kw += c->stride[2]) {
                    /* Before the first input the difference wraps and is past the last one. */
                    const size_t d = (at[0] + c->padding[0] - kd) / c->stride[0],
                                 h = (at[1] + c->padding[1] - kh) / c->stride[1],
                                 w = (at[2] + c->padding[2] - kw) / c->stride[2];
                    if (d < c->in[0] && h < c->in[1] && w < c->in[2])
                        sum = fmaf(s->input[((ci * c->in[0] + d) * c->in[1] + h) * c->in[2] + w],
                                   kernel[(((ci * c->out_channels + channel) * c->kernel[0] + kd) *
                                               c->kernel[1] +
                                           kh) *
                                              c->kernel[2] +
                                          kw],
                                   sum);
                }
    return sum;
}

static errors by_chain(const subject *s) {
    const size_t *out = s->conv.out;
    float *to = s->output;
    size_t at[3];
    for (size_t c = 0; c < CHAIN_CHANNELS; c++)
        for (at[0] = 0; at[0] < out[0]; at[0]++)
            for (at[1] = 0; at[1] < out[1]; at[1]++)
                for (at[2] = 0; at[2] < out[2]; at[2]++)
                    *to++ = chain_output(s, c, at);
    return compare(s, CHAIN_CHANNELS);
}

static bool by_plan(const subject *s, uc_algorithm algorithm, errors *e) {
    uc_options options = UC_OPTIONS_INIT;
    options.algorithm = algorithm;
    uc_plan *plan;
    if (uc_plan_create(s->chain, (const void *const *)s->operand, &options, &plan) != UC_OK)
        return false;
    void *workspace = malloc(uc_plan_workspace_bytes(plan) + 1);
    const bool good = workspace && uc_plan_execute(plan, s->input, s->output, workspace) == UC_OK;
    free(workspace);
    uc_plan_destroy(plan);
    *e = compare(s, s->out.dim[0] * s->out.dim[1]);
    return good;
}

/* ---- Subjects ---- */

static conv conv_of(const uc_operator_params *params, bool flat) {
    conv c = {.in_channels = params->in_channels,
              .out_channels = params->out_channels,
              .in = {flat ? 1 : DEPTH, HEIGHT, WIDTH},
              .kernel = {flat ? 1 : params->kernel_d, params->kernel_h, params->kernel_w},
              .stride = {flat ? 1 : params->stride_d, params->stride_h, params->stride_w},
              .padding = {flat ? 0 : params->padding_d, params->padding_h, params->padding_w}};
    for (size_t i = 0; i < 3; i++)
        c.out[i] = (c.in[i] - 1) * c.stride[i] + c.kernel[i] - 2 * c.padding[i];
    return c;
}

/* The convolution alone, of what comes to it. */
static uc_status conv_chain(const conv *c, bool flat, uc_chain **chain) {
    char text[256];
    snprintf(text, sizeof text,
             "f32 1x%zux%s%dx%d, conv_transpose %zu kernel %zu stride %zu padding %zu",
             c->in_channels, flat ? "" : "8x", HEIGHT, WIDTH, c->out_channels, c->kernel[2],
             c->stride[2], c->padding[2]);
    return uc_chain_parse(text, chain);
}

static void subject_close(subject *s) {
    uc_chain_destroy(s->chain);
    free(s->input);
    for (size_t o = 0; o < MOST_OPERANDS; o++)
        free(s->operand[o]);
    free(s->output);
    free(s->expected);
}

static bool subject_open(subject *s, const char *slug, bool whole) {
    const bool flat = strstr(slug, "2d") != NULL;
    uc_operator_params params;
    *s = (subject){.slug = slug, .whole = whole};
    if (uc_operator_defaults(slug, &params) != UC_OK)
        return false;
    s->conv = conv_of(&params, flat);
    const size_t pool = params.pool_kernel ? params.pool_kernel : 1; /* before the convolution */
    params.batch_size = 1;
    params.depth = DEPTH * pool;
    params.height = HEIGHT * pool;
    params.width = WIDTH * pool;
    params.output_padding_d = params.output_padding_h = params.output_padding_w = 0;
    if ((whole ? uc_operator_chain(slug, UC_F32, &params, &s->chain)
               : conv_chain(&s->conv, flat, &s->chain)) != UC_OK)
        return false;
    const uc_shape in = uc_chain_input(s->chain);
    s->out = uc_chain_output(s->chain);
    s->input = malloc(elems_of(&in) * sizeof *s->input);
    s->output = malloc(elems_of(&s->out) * sizeof *s->output);
    s->expected = malloc(elems_of(&s->out) * sizeof *s->expected);
    bool good = s->input && s->output && s->expected;
    for (size_t o = 0; o < uc_chain_operand_count(s->chain); o++) {
        const uc_operand operand = uc_chain_operand(s->chain, o);
        s->operand[o] = malloc(elems_of(&operand.shape) * sizeof *s->operand[o]);
        good = good && s->operand[o];
    }
    return good;
}

/* Weights about as large as trained ones, whatever the input is like. */
static bool subject_fill(subject *s, size_t family) {
    struct rng rng = {7 + family};
    const uc_shape in = uc_chain_input(s->chain);
    for (size_t i = 0; i < elems_of(&in); i++)
        s->input[i] = (float)families[family].value(&rng, i);
    for (size_t o = 0; o < uc_chain_operand_count(s->chain); o++) {
        const uc_shape shape = uc_chain_operand(s->chain, o).shape;
        for (size_t i = 0; i < elems_of(&shape); i++)
            s->operand[o][i] = (float)(rng_normal(&rng) / (shape.ndim > 1 ? 16 : 1));
    }
    return uc_chain_reference(s->chain, s->input, (const void *const *)s->operand, s->expected) ==
           UC_OK;
}

static double ratio(double a, double b) {
    return b > 0 ? a / b : 1;
}

/* One line of the table. */
static bool measure(subject *s, size_t family) {
    errors direct, winograd;
    if (!subject_fill(s, family) || !by_plan(s, UC_ALGORITHM_DIRECT, &direct) ||
        !by_plan(s, UC_ALGORITHM_WINOGRAD, &winograd))
        return false;
    char chain[16] = "";
    if (!s->whole)
        snprintf(chain, sizeof chain, "%.1e", by_chain(s).rms);
    printf("| %s | %s | %.1e | %.1e | %.2f | %.1e | %.1e | %.2f | %s |\n", families[family].name,
           chain, direct.rms, winograd.rms, ratio(winograd.rms, direct.rms), direct.worst,
           winograd.worst, ratio(winograd.worst, direct.worst),
           direct.same && winograd.same ? "yes" : "NO");
    fflush(stdout);
    return true;
}

int main(void) {
    bool good = true;
    for (size_t i = 0; good && i < uc_operator_count(); i++)
        for (size_t whole = 0; good && whole < 2; whole++) {
            subject s;
            good = subject_open(&s, uc_operator_slug(i), whole);
            printf("%s### %s%s\n\n"
                   "| input | FMA chain rms | direct rms | winograd rms | ratio | direct worst | "
                   "winograd worst | ratio | non-finite alike |\n"
                   "|---|---|---|---|---|---|---|---|---|\n",
                   i || whole ? "\n" : "", uc_operator_slug(i), whole ? "" : ": its convolution");
            for (size_t f = 0; good && f < sizeof families / sizeof *families; f++)
                good = measure(&s, f);
            subject_close(&s);
        }
    if (!good)
        fprintf(stderr, "numerics: %s\n", uc_last_error());
    return good ? 0 : 1;
}
