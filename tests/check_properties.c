/* What must hold for any shape and any data, on random ones: against the oracle, and without it.
 *     check_properties [--count N] [--seed S]            runs a campaign (CTest does)
 *     check_properties 'CHAIN TEXT' SEED [FAMILY]        runs one case again */
#include "compare.h"
#include "element.h"
#include "generate.h"
#include "run.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One case: the problem, its data, and the output that all properties look at. */
struct trial {
    struct problem problem;
    enum family family;
    uint64_t seed;
    uc_chain *chain;
    struct data data;
    struct buffer output;
};

/* Runs another problem on the trial's data; the buffer is for the caller to free. */
static struct buffer run_other(const struct problem *problem, const struct data *data,
                               size_t threads) {
    struct buffer output = output_new(problem, GUARD_MISALIGNED);
    uc_chain *chain = run_parse(problem);
    if (chain)
        run_plan(chain, data, threads, GUARD_MISALIGNED, &output);
    uc_chain_destroy(chain);
    return output;
}

/* Whole numbers stay exact, but at points with fractions they are not whole any more. */
static bool stays_exact(const struct trial *trial) {
    return trial->family == FAMILY_INTEGER && problem_is_exact(&trial->problem) &&
           !run_says(trial->chain, &trial->data, "points with fractions");
}

/* The oracle is right, and so is the plan, as far as plain arithmetic lets one tell. Whole numbers
 * leave nothing to tell. */
static void check_oracle(const struct trial *trial) {
    const struct problem *problem = &trial->problem;
    const bool is_exact = stays_exact(trial);
    double *reference = run_reference(trial->chain, &trial->data);
    double *noise = run_noise(problem, trial->chain, &trial->data, reference);
    const struct tolerance tolerance = {is_exact ? 0 : relative_of(problem->dtype),
                                        is_exact ? NULL : noise};
    check_close(is_exact ? "exact" : "oracle", problem_output(problem), reference, problem->dtype,
                trial->output.data, tolerance);
    free(noise);
    free(reference);
}

/* Twice the same call, any number of threads: the same bits. */
static void check_threads(const struct trial *trial) {
    const size_t threads[] = {0, 1, 2, 3, 8};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct buffer again = output_new(&trial->problem, GUARD_ALIGNED);
        char *label = check_text("%zu threads", threads[i]);
        run_plan(trial->chain, &trial->data, threads[i], GUARD_ALIGNED, &again);
        check_same(label, &trial->output, &again);
        free(label);
        buffer_free(&again);
    }
}

/* One item of the batch alone is the item in the batch. */
static void check_batch(const struct trial *trial) {
    struct problem alone = trial->problem;
    const size_t item = trial->seed % alone.batch;
    alone.batch = 1;
    struct data data = trial->data;
    data.input.bytes /= trial->problem.batch;
    data.input.data = (char *)trial->data.input.data + item * data.input.bytes;
    struct buffer got = run_other(&alone, &data, 0), expected = trial->output;
    expected.bytes /= trial->problem.batch;
    expected.data = (char *)trial->output.data + item * expected.bytes;
    check_same("one item alone", &expected, &got);
    buffer_free(&got);
}

struct worker {
    const uc_plan *plan;
    const void *input;
    struct buffer output, workspace;
    uc_status status;
};

static void *work(void *argument) {
    struct worker *worker = argument;
    worker->status =
        uc_plan_execute(worker->plan, worker->input, worker->output.data, worker->workspace.data);
    return NULL;
}

/* Several threads share one plan; each gets the same bits. */
static void check_sharing(const struct trial *trial) {
    enum { WORKERS = 3 };
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    uc_plan *plan;
    if (!check_status("uc_plan_create", UC_OK,
                      uc_plan_create(trial->chain, trial->data.operands, NULL, &plan)))
        return;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){
            plan, trial->data.input.data, output_new(&trial->problem, GUARD_MISALIGNED),
            buffer_new(uc_plan_workspace_bytes(plan), 1, GUARD_ALIGNED), UC_DEVICE};
        if (pthread_create(&threads[i], NULL, work, &workers[i]))
            abort();
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        check_status("shared plan", UC_OK, workers[i].status);
        check_same("shared plan", &trial->output, &workers[i].output);
        buffer_free(&workers[i].output);
        buffer_free(&workers[i].workspace);
    }
    uc_plan_destroy(plan);
}

/* f(2x + 3y) = 2 f(x) + 3 f(y), exactly on whole numbers. */
static void check_linearity(const struct trial *trial) {
    const struct problem *problem = &trial->problem;
    const uc_dtype dtype = problem->dtype;
    struct data other = data_new(problem, GUARD_ALIGNED), mixed = trial->data;
    data_fill(&other, problem, trial->seed + 1, FAMILY_INTEGER);
    mixed.input = buffer_new(trial->data.input.bytes, uc_dtype_bytes(dtype), GUARD_ALIGNED);
    for (size_t i = 0; i < mixed.input.bytes / uc_dtype_bytes(dtype); i++)
        element_set(dtype, mixed.input.data, i,
                    2 * element_get(dtype, trial->data.input.data, i) +
                        3 * element_get(dtype, other.input.data, i));
    memcpy(other.operand[0].data, trial->data.operand[0].data, other.operand[0].bytes);
    struct buffer of_other = run_other(problem, &other, 0), of_mix = run_other(problem, &mixed, 0);
    size_t wrong = 0;
    for (size_t i = 0; i < of_mix.bytes / uc_dtype_bytes(dtype); i++)
        wrong +=
            element_get(dtype, of_mix.data, i) != 2 * element_get(dtype, trial->output.data, i) +
                                                      3 * element_get(dtype, of_other.data, i);
    CHECK(wrong == 0, "not linear in %zu elements", wrong);
    buffer_free(&of_other);
    buffer_free(&of_mix);
    buffer_free(&mixed.input);
    data_free(&other);
}

/* What a slice of a chain that ends in softmax_space, or in that and a factor, adds up to. */
static bool slice_total(const struct trial *trial, size_t channel, double *total) {
    const struct problem *problem = &trial->problem;
    const struct stage *last = &problem->stage[problem->stage_count - 1];
    *total = 1;
    if (last->kind == STAGE_SOFTMAX_SPACE)
        return true;
    if (problem->stage_count < 2 || last[-1].kind != STAGE_SOFTMAX_SPACE)
        return false;
    if (last->kind == STAGE_MUL)
        *total = last->low;
    else if (last->kind == STAGE_MUL_CHANNEL)
        *total = element_get(problem->dtype, trial->data.operands[trial->data.operand_count - 1],
                             channel);
    else
        return false;
    return true;
}

/* Softmax slices add up to 1 times their scale: to 1e-12 in f64, and in f32 as far as rounding n
 * values lets one see, which is about sqrt(n) units. */
static void check_softmax_sums(const struct trial *trial) {
    const uc_dtype dtype = trial->problem.dtype;
    const struct extent extent = problem_output(&trial->problem);
    const size_t positions = extent_positions(extent);
    const double allowed = dtype == UC_F64 ? 1e-12 : (8 + sqrt((double)positions)) * FLT_EPSILON;
    for (size_t slice = 0; slice < extent.batch * extent.channels; slice++) {
        long double sum = 0; /* no error of its own */
        double total;
        if (!slice_total(trial, slice % extent.channels, &total))
            return;
        for (size_t i = 0; i < positions; i++)
            sum += element_get(dtype, trial->output.data, slice * positions + i);
        CHECK(fabsl(sum - total) <= allowed * fabs(total), "slice %zu adds up to %.17Lg, not %.17g",
              slice, sum, total);
    }
}

/* The same number added to all channels before a layer norm over them changes nothing. */
static void check_shift(const struct trial *trial) {
    const struct problem *problem = &trial->problem;
    size_t norm = 0;
    while (norm < problem->stage_count && problem->stage[norm].kind != STAGE_LAYERNORM_CHANNEL)
        norm++;
    if (norm == problem->stage_count || problem->stage_count == MOST_STAGES)
        return;
    struct problem shifted = *problem;
    memmove(&shifted.stage[norm + 1], &shifted.stage[norm],
            (problem->stage_count - norm) * sizeof *shifted.stage);
    shifted.stage[norm] = (struct stage){.kind = STAGE_ADD, .low = 3.5};
    shifted.stage_count++;
    double *reference = run_reference(trial->chain, &trial->data);
    double *noise = noise_of(&shifted, &trial->data, reference);
    struct buffer got = run_other(&shifted, &trial->data, 0);
    check_close("shifted before layernorm_channel", problem_output(problem), reference,
                problem->dtype, got.data, (struct tolerance){relative_of(problem->dtype), noise});
    buffer_free(&got);
    free(noise);
    free(reference);
}

static void check_all(const struct trial *trial) {
    const struct problem *problem = &trial->problem;
    const bool is_wide = problem->dtype == UC_F32 || problem->dtype == UC_F64;
    const bool is_bare = problem->stage_count == 1 && !problem->stage[0].has_bias;
    check_oracle(trial);
    check_threads(trial);
    check_sharing(trial);
    check_shift(trial);
    if (problem->batch > 1)
        check_batch(trial);
    if (is_wide && is_bare && stays_exact(trial))
        check_linearity(trial);
    if (is_wide && family_is_finite(trial->family))
        check_softmax_sums(trial);
}

/* All properties of one case; a failure prints how to run it again. */
static void run_trial(const struct problem *problem, uint64_t seed, enum family family) {
    const size_t before = check_failures();
    struct trial trial = {.problem = *problem, .family = family, .seed = seed};
    trial.chain = run_parse(problem);
    trial.data = data_new(problem, GUARD_MISALIGNED);
    trial.output = output_new(problem, GUARD_MISALIGNED);
    data_fill(&trial.data, problem, seed, family);
    if (trial.chain && run_plan(trial.chain, &trial.data, 1, GUARD_MISALIGNED, &trial.output))
        check_all(&trial);
    CHECK(data_intact(&trial.data), "written outside an input");
    if (check_failures() > before) {
        char *text = problem_text(problem);
        printf("again: check_properties '%s' %llu %s\n", text, (unsigned long long)seed,
               family_name(family));
        free(text);
    }
    buffer_free(&trial.output);
    data_free(&trial.data);
    uc_chain_destroy(trial.chain);
}

/* The plan says which way it takes. With portable kernels, since others may choose otherwise. */
static void check_says(const struct problem *problem, const char *text, const char *words) {
    uc_chain *chain = run_parse(problem);
    struct data data = data_new(problem, GUARD_ALIGNED);
    data_fill(&data, problem, 1, FAMILY_NORMAL);
    uc_options options = UC_OPTIONS_INIT;
    options.isa = UC_ISA_PORTABLE;
    if (!getenv("UPCONV_ALGORITHM")) /* which may ask for another */
        CHECK(chain && run_says_with(chain, &data, &options, words), "'%s': no %s", text, words);
    data_free(&data);
    uc_chain_destroy(chain);
}

/* Cases that chance would need long to find: a softmax over space whose tiles differ in their
 * maximum, begin with NaN, or hold -inf alone; and each way to cut space into tiles. */
static const struct {
    const char *text;
    enum family family;
} directed[] = {
    {"f32 1x1x9000, conv_transpose 40 kernel 2 stride 2, softmax_space", FAMILY_LARGE},
    {"f32 1x1x9000, conv_transpose 40 kernel 2 stride 2, softmax_space", FAMILY_FIRST_NAN},
    {"f32 1x1x9000, conv_transpose 40 kernel 2 stride 2, softmax_space", FAMILY_MINUS_INFINITY},
    {"f64 2x2x30x30, conv_transpose 64 kernel 3 stride 2, softmax_space, mul scale, softmax_space",
     FAMILY_NORMAL},
    {"f16 1x2x12x20x20, conv_transpose 16 kernel 3 stride 2 padding 1 output_padding 1, "
     "softmax_space, mul 100",
     FAMILY_NORMAL},
    {"bf16 1x3x11x21x19, conv_transpose 24 kernel 5x4x3 stride 2 padding 1 bias, maxpool 2, "
     "layernorm_channel 1e-5, gelu",
     FAMILY_UNIFORM},
    {"f32 2x3x7x9, conv_transpose 11 kernel 3 stride 2, layernorm_channel 1e-5, mul gamma, add "
     "beta, "
     "mul 0.5, gelu",
     FAMILY_NORMAL},
    {"f64 2x3x7x9, conv_transpose 11 kernel 3 stride 2, softmax_channel, add shift, mul 3",
     FAMILY_UNIFORM},
    {"f32 2x3x7x9, conv_transpose 11 kernel 3 stride 2, layernorm_channel 1e-5, add 1, mul inf",
     FAMILY_NORMAL}, /* factor and term would both be infinite */
    {"f32 2x33x8x3x2, conv_transpose 12 kernel 6 stride 2 padding 2, avgpool 2",
     FAMILY_NORMAL}, /* enough work for Winograd, but not one item alone */
    /* Rows that no tap reaches. */
    {"f32 2x5x17x9, conv_transpose 6 kernel 2x1 stride 4x2 padding 1x0 bias, gelu, "
     "layernorm_channel 1e-5",
     FAMILY_NORMAL},
    {"f64 2x3x4x5x7, conv_transpose 4 kernel 2x3x3 stride 3x2x2 bias, sum_channel", FAMILY_UNIFORM},
    {"f16 1x3x6x40, conv_transpose 9 kernel 1 stride 3 bias, softmax_space, mul scale",
     FAMILY_LARGE},
    {"f32 1x24x30x40, conv_transpose 2 kernel 3x4 stride 5x1 padding 1 bias, sigmoid",
     FAMILY_NON_FINITE},
    /* Wide rows: in segments, and some in bands of columns too. */
    {"f32 1x260x4200, gelu, conv_transpose 5 kernel 2 stride 2 bias, sigmoid", FAMILY_NORMAL},
    {"f16 1x260x4200, conv_transpose 2 kernel 3 padding 1", FAMILY_UNIFORM},
    {"f64 2x40x1x3000, conv_transpose 2 kernel 1x5 stride 1x2 padding 0x2 bias", FAMILY_NORMAL},
    {"f32 1x6x2x2000, conv_transpose 12 kernel 3 stride 2, softmax_space, mul scale", FAMILY_LARGE},
    {"bf16 1x12x4000, maxpool 3, conv_transpose 8 kernel 7 stride 3 padding 2, maxpool 2, "
     "softmax_channel",
     FAMILY_NORMAL},
    {"f16 1x12x4001, maxpool 2, conv_transpose 8 kernel 7 stride 3 padding 2, maxpool 2",
     FAMILY_NON_FINITE},
    {"f32 1x17x1x200, conv_transpose 2 kernel 1x9 stride 1x2 padding 0x60",
     FAMILY_NORMAL}, /* most inputs are not read, and one segment is all */
    {"f32 1x9x3x2000, conv_transpose 4 kernel 3x5 stride 1x3 padding 1x2", FAMILY_NON_FINITE},
    {"f32 1x20x3000x1, conv_transpose 6 kernel 3x1 padding 1x0", FAMILY_INTEGER},
    {"f32 1x64x12x16, conv_transpose 128 kernel 3 padding 1", FAMILY_NON_FINITE}, /* many weights */
};

/* Ways that the plan says it takes: narrow spaces, whose height or depth lies along the lanes; few
 * output channels, whose inputs may lie in each other's way; narrow rows that run on into each
 * other; small inputs, whose channels lie in lanes; spaces that are too large to be kept; channels
 * that are stored some at a time; and rows of a large output that share cache lines. */
#define TURNED "turned:"
#define SPREAD "taps in the place of channels"
#define GATHERED "inputs gathered"
#define CAST "channels in lanes"
#define COPIES(count) "slab:      " #count " copies"
#define LAID "laid down and multiplied"
#define PANELS "channels at a time"
#define WOVEN "of all phases in turn"
#define POURED "poured into the output"
static const struct {
    const char *says, *text;
    enum family family;
} said[] = {
    {TURNED, "f32 2x16x60x1, conv_transpose 12 kernel 4 stride 2 padding 1 bias, gelu, sum_channel",
     FAMILY_NORMAL},
    {TURNED,
     "f32 1x16x60x1, conv_transpose 12 kernel 4x3 stride 2x1 padding 1 bias, softmax_channel",
     FAMILY_NON_FINITE},
    {TURNED,
     "f16 1x8x40x9x2, avgpool 2x1x1, conv_transpose 16 kernel 3x2x3 stride 2x1x2 padding 1x0x1, "
     "layernorm_channel 1e-5, avgpool 3x1x1",
     FAMILY_NORMAL},
    {TURNED,
     "bf16 1x8x3x50x1, conv_transpose 16 kernel 3x5x2 stride 1x3x1 padding 0x2x0, "
     "softmax_channel, maxpool 1x2x2",
     FAMILY_UNIFORM},
    {TURNED,
     "f64 2x48x140x1, conv_transpose 24 kernel 4 stride 2 padding 1, softmax_space, mul scale",
     FAMILY_LARGE},
    {TURNED,
     "f32 1x24x90x1, conv_transpose 24 kernel 3, softmax_space, layernorm_channel 1e-5, "
     "softmax_space",
     FAMILY_NORMAL},
    {TURNED, "f32 1x48x100x2, conv_transpose 40 kernel 3 padding 1, add shift", FAMILY_INTEGER},
    {SPREAD, "f32 2x20x9x21, conv_transpose 1 kernel 4 stride 2 padding 1 bias", FAMILY_NORMAL},
    {SPREAD, "f32 1x150x6x8, conv_transpose 3 kernel 3 padding 1, sigmoid", FAMILY_UNIFORM},
    {SPREAD,
     "f64 2x21x4x5x19, conv_transpose 2 kernel 3x2x5 stride 2x1x3 padding 1x0x2, softmax_space",
     FAMILY_NORMAL},
    {SPREAD,
     "f16 1x130x7x17, gelu, conv_transpose 3 kernel 5 stride 3 padding 2 output_padding 1 "
     "bias, layernorm_channel 1e-5, avgpool 2",
     FAMILY_NORMAL},
    {SPREAD, "bf16 1x16x2x9x24, maxpool 1x2x2, conv_transpose 1 kernel 3 padding 1, maxpool 2x1x3",
     FAMILY_LARGE},
    {SPREAD, "f32 1x24x30x40, conv_transpose 2 kernel 1x7 stride 1x2 padding 0x3", FAMILY_INTEGER},
    {SPREAD, "f32 1x24x5x16, conv_transpose 1 kernel 3x4 stride 5x1", FAMILY_FIRST_NAN},
    /* runs whose first row no tap reaches */
    {SPREAD, "f32 1x24x12x16, conv_transpose 2 kernel 3x4 stride 8x1 padding 3x1", FAMILY_NORMAL},
    /* Taps along the height together; depths of a stride side by side, the last ones fewer. */
    {SPREAD, "f32 2x20x5x6x19, conv_transpose 2 kernel 2 stride 3 padding 1 bias, gelu",
     FAMILY_NORMAL},
    {SPREAD,
     "f64 1x17x3x7x21, conv_transpose 1 kernel 3x2x2 stride 4x2x3 padding 0 output_padding 2x1x0",
     FAMILY_INTEGER},
    {SPREAD, "f32 1x18x4x50x18, conv_transpose 3 kernel 2 stride 2, softmax_space", FAMILY_UNIFORM},
    {GATHERED, "f32 2x20x16x64, conv_transpose 1 kernel 4 stride 2 padding 1 bias", FAMILY_NORMAL},
    {GATHERED, "f32 1x150x32x32, conv_transpose 3 kernel 3 padding 1, sigmoid", FAMILY_UNIFORM},
    {GATHERED,
     "f64 2x21x4x8x16, conv_transpose 2 kernel 3x2x5 stride 2x1x3 padding 1x0x2, softmax_space",
     FAMILY_NORMAL},
    {GATHERED, "f32 1x24x128x24, conv_transpose 2 kernel 5x7 stride 3x2 padding 2x3",
     FAMILY_INTEGER},
    {GATHERED, "f32 1x24x64x16, conv_transpose 1 kernel 3x4 stride 5x1", FAMILY_FIRST_NAN},
    {GATHERED, "f32 1x41x2x1536, conv_transpose 3 kernel 3 stride 2 padding 1, clamp -1 1",
     FAMILY_NORMAL}, /* rows in segments */
    {GATHERED, "f32 1x24x64x16, conv_transpose 2 kernel 3x4 stride 8x1 padding 3x1", FAMILY_NORMAL},
    {GATHERED, "f32 2x20x16x64, conv_transpose 2 kernel 4 stride 2 padding 1, softmax_space",
     FAMILY_NORMAL},
    /* strides that products of sizes must not wrap by */
    {GATHERED, "f32 1x20x1x1024, conv_transpose 1 kernel 3 stride 9223372036854775808x1",
     FAMILY_UNIFORM},
    {SPREAD, "f64 1x20x1x40, conv_transpose 1 kernel 3 stride 9223372036854775808x1",
     FAMILY_UNIFORM},
    /* a row's columns in parts */
    {SPREAD, "f32 1x41x3x1030, conv_transpose 3 kernel 1x66, mul scale", FAMILY_NORMAL},
    {SPREAD, "f32 1x20x16x64, conv_transpose 1 kernel 4 stride 2 padding 1, maxpool 1x2",
     FAMILY_NORMAL},
    {CAST, "f32 2x40x3x5, conv_transpose 21 kernel 5 bias, mul scale", FAMILY_NORMAL},
    {CAST, "f32 1x24x3x3x2, conv_transpose 33 kernel 4x3x5 stride 2x3x1 padding 1x0x2, gelu",
     FAMILY_INTEGER},
    {CAST, "f64 2x20x3x3, conv_transpose 9 kernel 7 bias", FAMILY_LARGE},
    {CAST, "f16 1x33x4x6, avgpool 1x2, conv_transpose 12 kernel 7 stride 2 padding 3",
     FAMILY_UNIFORM}, /* packed, behind a pool */
    {CAST, "bf16 2x17x3x4x3, gelu, conv_transpose 40 kernel 2 stride 3 padding 1 bias, add shift",
     FAMILY_NORMAL}, /* depths, rows and columns without taps */
    {CAST, "f32 1x300x3x3, conv_transpose 7 kernel 5 padding 2", FAMILY_NON_FINITE},
    {CAST, "f32 1x20x16x8x4, conv_transpose 16 kernel 3, sigmoid",
     FAMILY_NORMAL}, /* packed, as its channels clash, and several runs */
    {CAST, "f32 1x19x1x2, conv_transpose 8 kernel 3 stride 9223372036854775808x1 padding 0x1",
     FAMILY_UNIFORM},
    {COPIES(3), "f32 2x2x4x4x4, conv_transpose 3 kernel 4 stride 2 padding 1, gelu", FAMILY_NORMAL},
    {COPIES(2), "f64 2x3x5x6, conv_transpose 7 kernel 3 stride 2 padding 1 output_padding 1 bias",
     FAMILY_INTEGER},
    {COPIES(3), "f16 1x5x7x5, conv_transpose 4 kernel 3 padding 1, softmax_space", FAMILY_NORMAL},
    {COPIES(3),
     "bf16 2x4x6x10x10, avgpool 2, conv_transpose 9 kernel 4x4x5 stride 2 padding 1x1x2, maxpool 3",
     FAMILY_UNIFORM}, /* rows end before the inputs do */
    {COPIES(4), "f32 1x3x9x3, gelu, conv_transpose 4 kernel 4 padding 3x1", FAMILY_NON_FINITE},
    {COPIES(5), "f32 1x2x8x10, conv_transpose 5 kernel 3x5 padding 0x5",
     FAMILY_NORMAL}, /* the first and the last inputs are not read, */
    {COPIES(7), "f32 1x2x5x2, conv_transpose 5 kernel 7 padding 3",
     FAMILY_NORMAL}, /* and the first tap reads none at all */
    {LAID,
     "f32 2x2x301x303, conv_transpose 3 kernel 3 stride 2 padding 1, clamp 0 1, softmax_space",
     FAMILY_NORMAL},
    {LAID,
     "f16 1x2x290x307, conv_transpose 2 kernel 5x3 stride 2 padding 1 bias, clamp -1 1, "
     "softmax_space, mul scale",
     FAMILY_UNIFORM},
    {LAID, "f32 2x6x520x521, conv_transpose 4 kernel 2, clamp 0 1, softmax_space, mul scale",
     FAMILY_UNIFORM}, /* with two bands of the input */
    {LAID,
     "f32 2x5x9x11, conv_transpose 6 kernel 3 stride 2, sum_channel, clamp 0 1, softmax_space",
     FAMILY_NORMAL}, /* or behind ops that need all channels */
    {LAID,
     "f16 1x16x9x24, conv_transpose 12 kernel 4 stride 2 padding 1 bias, sum_channel, gelu, "
     "clamp -1 1, softmax_space, mul scale",
     FAMILY_NON_FINITE},
    {LAID,
     "f64 2x16x3x9x11, conv_transpose 7 kernel 3 stride 2 padding 1, layernorm_channel 1e-5, "
     "clamp -2 2, softmax_space",
     FAMILY_UNIFORM},
    {"8 rows a run of all phases in turn, 1 of the convolution",
     "f32 1x1x37x71, conv_transpose 332 kernel 2x3 stride 2 bias, mul 2", FAMILY_UNIFORM},
    {WOVEN, "f32 1x33x3x40x60, conv_transpose 30 kernel 1x2x3 stride 2x3x3 bias", FAMILY_NORMAL},
    {POURED, "f32 1x1x3x40x60, conv_transpose 30 kernel 1x2x3 stride 2x3x3 bias",
     FAMILY_NORMAL}, /* rows and depths without taps */
    {POURED, "f64 1x1x120x131, conv_transpose 101 kernel 3 padding 1 bias", FAMILY_UNIFORM},
    {POURED, "f32 2x3x64x64, conv_transpose 33 kernel 4 stride 2 padding 1", FAMILY_INTEGER},
    {POURED, "f32 1x3x52x63, conv_transpose 165 kernel 5 stride 2 padding 2 bias", FAMILY_NORMAL},
    {POURED, "f32 1x2x70x90, conv_transpose 36 kernel 5 stride 4 padding 1 bias",
     FAMILY_NORMAL},                                                              /* long rows */
    {POURED, "f32 1x12x400x700, conv_transpose 8 kernel 1 bias", FAMILY_INTEGER}, /* bands */
    {POURED, "f32 2x3x160x480, maxpool 2x1, avgpool 1x3, conv_transpose 21 kernel 2 stride 2 bias",
     FAMILY_NORMAL}, /* pools before */
    {POURED, "f32 1x1x5x33x33, conv_transpose 100 kernel 4x3x3 stride 2 padding 2x1x0",
     FAMILY_UNIFORM},
    {WOVEN, "f64 1x1x100x60, conv_transpose 30 kernel 4 stride 3 padding 1, gelu",
     FAMILY_NON_FINITE},
    {WOVEN,
     "f16 1x2x62x90, conv_transpose 72 kernel 5 stride 4 padding 1 output_padding 1 bias, "
     "mul scale",
     FAMILY_INTEGER},
    {PANELS,
     "f32 2x3x20x40, conv_transpose 20 kernel 4 stride 2 padding 1 bias, mul scale, add shift, "
     "gelu",
     FAMILY_NORMAL},
    {PANELS, "f16 1x2x24x33, conv_transpose 19 kernel 3 stride 2 padding 1 bias, add shift",
     FAMILY_NON_FINITE},
    {PANELS, "bf16 1x3x4x10x21, conv_transpose 31 kernel 3 stride 3, clamp -0.5 0.5",
     FAMILY_UNIFORM},
    {PANELS, "f64 1x2x900, conv_transpose 25 kernel 3 stride 2", FAMILY_INTEGER},
    {PANELS, "f32 1x16x600x1, conv_transpose 20 kernel 4x3 stride 2x1 padding 1 bias",
     FAMILY_NORMAL},
    {PANELS, "f32 1x2x3x3000, conv_transpose 23 kernel 3x4 stride 1x2, mul scale",
     FAMILY_NORMAL}, /* rows in segments */
};

static void run_directed(void) {
    struct problem problem;
    for (size_t i = 0; i < sizeof directed / sizeof *directed; i++)
        if (CHECK(problem_parse(directed[i].text, &problem), "'%s'", directed[i].text))
            run_trial(&problem, i, directed[i].family);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (CHECK(problem_parse(said[i].text, &problem), "'%s'", said[i].text)) {
            run_trial(&problem, i, said[i].family);
            check_says(&problem, said[i].text, said[i].says);
        }
}

static void run_campaign(size_t count, uint64_t seed) {
    struct rng rng = {seed};
    for (size_t i = 0; i < count; i++) {
        const bool is_exact = i % 5 == 0, is_large = i % 20 == 19;
        const struct problem problem = is_exact   ? problem_random_exact(&rng)
                                       : is_large ? problem_random_large(&rng)
                                                  : problem_random(&rng);
        run_trial(&problem, rng_next(&rng) % 1000000,
                  is_exact ? FAMILY_INTEGER : (enum family)rng_below(&rng, FAMILIES));
    }
}

static int usage(void) {
    fprintf(stderr, "usage: check_properties [--count N] [--seed S]\n"
                    "       check_properties 'CHAIN TEXT' SEED [FAMILY]\n");
    return EXIT_FAILURE;
}

static int run_again(int argc, char **argv) {
    enum family family = FAMILY_NORMAL;
    struct problem problem;
    if (argc < 3 || !problem_parse(argv[1], &problem) ||
        (argc > 3 && !family_find(argv[3], &family)))
        return usage();
    run_trial(&problem, strtoull(argv[2], NULL, 10), family);
    return check_done();
}

int main(int argc, char **argv) {
    size_t count = 200;
    uint64_t seed = 1;
    if (argc > 1 && argv[1][0] != '-')
        return run_again(argc, argv);
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--count") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else
            return usage();
    }
    run_directed();
    run_campaign(count, seed);
    return check_done();
}
