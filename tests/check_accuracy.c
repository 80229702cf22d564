/* Rounding errors of the Winograd convolution beside the direct one's: of the five operators'
 * convolutions and of the whole operators. Run by CTest; docs/numerics.md has the bars. */
#define _DEFAULT_SOURCE
#include "compare.h"
#include "params.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of every (b, c) slice relative to its largest value: root mean square, and the worst. */
struct errors {
    double rms, worst;
};

static struct errors errors_of(const struct extent extent, const double *expected,
                               const float *got) {
    const size_t positions = extent_positions(extent);
    struct errors errors = {0, 0};
    for (size_t s = 0; s < extent.batch * extent.channels; s++) {
        double scale = 0;
        for (size_t i = s * positions; i < (s + 1) * positions; i++)
            scale = fmax(scale, fabs(expected[i]));
        for (size_t i = s * positions; i < (s + 1) * positions; i++) {
            const double off = fabs(got[i] - expected[i]) / scale;
            errors.rms += off * off;
            errors.worst = fmax(errors.worst, off);
        }
    }
    errors.rms = sqrt(errors.rms / (double)extent_elems(extent));
    return errors;
}

/* An operator's channels and taps decide its errors: its space is a small one here. */
static struct problem small_operator(const char *slug, bool whole) {
    uc_operator_params params;
    check_status(slug, UC_OK, uc_operator_defaults(slug, &params));
    const size_t pool = params.pool_kernel ? params.pool_kernel : 1;
    params.batch_size = 1;
    params.depth = 9 * pool; /* 17 outputs: three tiles of 6, where max-max-sum has them */
    params.height = 12 * pool;
    params.width =
        33 * pool; /* wide enough for positions in lanes: in short sums, channels in lanes
                    * are more exact, and what to compare with should be the same */
    struct problem problem = problem_of_operator(slug, UC_F32, &params);
    if (whole)
        return problem;
    /* The convolution alone, on what comes to it. */
    size_t conv = 0;
    while (problem.stage[conv].kind != STAGE_CONV)
        conv++;
    const struct extent in = problem_extent(&problem, conv);
    problem.channels = in.channels;
    memcpy(problem.size, in.size, sizeof problem.size);
    problem.stage[0] = problem.stage[conv];
    problem.stage_count = 1;
    return problem;
}

/* The same data in double, through plans: much quicker than the oracle, and just as exact beside
 * f32 (other tests hold them to 1e-12). */
static double *expected_of(const struct problem *problem, const struct data *data) {
    struct problem wide = *problem;
    wide.dtype = UC_F64;
    struct data exact = data_new(&wide, GUARD_ALIGNED);
    const struct buffer *from = &data->input;
    struct buffer *to = &exact.input;
    for (size_t o = 0; o <= data->operand_count; from = &data->operand[o], to = &exact.operand[o++])
        for (size_t i = 0; i < to->bytes / sizeof(double); i++)
            ((double *)to->data)[i] = ((const float *)from->data)[i];
    uc_chain *chain = run_parse(&wide);
    struct buffer output = output_new(&wide, GUARD_ALIGNED);
    uc_options options = UC_OPTIONS_INIT;
    options.algorithm = UC_ALGORITHM_DIRECT;
    run_plan_with(chain, &exact, &options, GUARD_ALIGNED, &output);
    double *expected = check_alloc(output.bytes);
    memcpy(expected, output.data, output.bytes);
    buffer_free(&output);
    uc_chain_destroy(chain);
    data_free(&exact);
    return expected;
}

/* The errors of both ways with one draw of data, added to `by`: squares, and the worst. */
static void measure_accuracy(const struct problem *problem, enum family family, double scale,
                             uint64_t seed, struct errors by[2]) {
    struct data data = data_new(problem, GUARD_ALIGNED);
    data_fill(&data, problem, seed, family);
    struct rng rng = {seed + 1}; /* weights of both signs whatever the data, like trained ones */
    for (size_t i = 0; i < data.operand[0].bytes / sizeof(float); i++)
        ((float *)data.operand[0].data)[i] = (float)(rng_normal(&rng) / 16);
    const size_t positions = problem->size[0] * problem->size[1] * problem->size[2];
    float *input = data.input.data;
    for (size_t i = 0; scale == 0 && i < data.input.bytes / sizeof(float); i++)
        input[i] *= i % positions >= positions / 2;
    input[positions / 2 + 5] *= (float)(scale != 0 ? scale : 1);
    uc_chain *chain = run_parse(problem);
    double *expected = expected_of(problem, &data);
    struct buffer output = output_new(problem, GUARD_ALIGNED);
    for (size_t i = 0; i < 2; i++) {
        uc_options options = UC_OPTIONS_INIT;
        options.algorithm = i ? UC_ALGORITHM_WINOGRAD : UC_ALGORITHM_DIRECT;
        run_plan_with(chain, &data, &options, GUARD_ALIGNED, &output);
        const struct errors errors = errors_of(problem_output(problem), expected, output.data);
        by[i].rms += errors.rms * errors.rms;
        by[i].worst = fmax(by[i].worst, errors.worst);
    }
    buffer_free(&output);
    free(expected);
    uc_chain_destroy(chain);
    data_free(&data);
}

/* scale: of one input, and of all in the upper half of every channel if it is 0. Errors of rounded
 * weights are the same everywhere: few outputs need several draws of them. */
static void check_accuracy(const char *name, const struct problem *problem, enum family family,
                           double scale, double most) {
    const size_t draws = extent_elems(problem_output(problem)) < 1000 ? 16 : 1;
    struct errors by[2] = {{0, 0}, {0, 0}};
    for (size_t draw = 0; draw < draws; draw++)
        measure_accuracy(problem, family, scale, 9 + draw, by);
    for (size_t i = 0; i < 2; i++)
        by[i].rms = sqrt(by[i].rms / (double)draws);
    char *label =
        check_text("%s, %s times %g: rms %.2e direct, %.2e winograd (%.2f times); worst %.2e, "
                   "%.2e (%.2f times)",
                   name, family_name(family), scale, by[0].rms, by[1].rms, by[1].rms / by[0].rms,
                   by[0].worst, by[1].worst, by[1].worst / by[0].worst);
    printf("%s\n", label);
    CHECK(by[1].rms <= most * by[0].rms, "%s", label);
    CHECK(by[1].worst <= fmax(2, 1.5 * most) * by[0].worst, "%s", label);
    free(label);
}

int main(void) {
    unsetenv("UPCONV_ALGORITHM");
    /* max-max-sum comes nearest, with five points along three dimensions: 1.05 to 1.2 times the
     * direct one, which adds up long sums in parts and is better than one sum of f32 products. */
    const double most = 1.3;
    for (size_t i = 0; i < operator_total; i++)
        for (size_t whole = 0; whole < 2; whole++) {
            const struct problem problem = small_operator(operators[i].slug, whole);
            char *name = check_text("%s%s", operators[i].slug, whole ? "" : ": convolution");
            check_accuracy(name, &problem, FAMILY_NORMAL, 1, most);
            check_accuracy(name, &problem, FAMILY_UNIFORM, 1, most);
            /* Norms over channels would show what an outlier spoils nearby, or leaves of zeros. */
            check_accuracy(name, &problem, FAMILY_NORMAL, 1e4, most);
            check_accuracy(name, &problem, FAMILY_NORMAL, 0, most);
            free(name);
        }
    /* Errors may be larger in sums over so many positions that those of plain f32, 3e-5 with
     * PyTorch, leave them far behind. */
    const char *text = "f32 1x32x16x32x32, conv_transpose 2 kernel 3 stride 2 padding 1 "
                       "output_padding 1, clamp 0 1, softmax_space";
    struct problem large;
    CHECK(problem_parse(text, &large), "%s", text);
    check_accuracy(text, &large, FAMILY_NORMAL, 1, 2);
    check_accuracy(text, &large, FAMILY_UNIFORM, 1, 2);
    return check_done();
}
