/* Chains through the Winograd convolution: values against the oracle, numbers that are not finite,
 * very large and very small ones, and what may choose it. Run by CTest. check_points.c has its
 * parts, check_accuracy.c its rounding errors. */
#define _DEFAULT_SOURCE
#include "compare.h"
#include "element.h"
#include "params.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One chain with its data, and what the oracle says. */
struct scene {
    char *text;
    struct problem problem;
    uc_chain *chain;
    struct data data;
    double *reference, *noise;
};

static struct scene scene_new(const char *text, enum family family) {
    struct scene scene = {.text = check_text("%s", text)};
    CHECK(problem_parse(text, &scene.problem), "'%s' can't be read", text);
    scene.chain = run_parse(&scene.problem);
    scene.data = data_new(&scene.problem, GUARD_MISALIGNED);
    data_fill(&scene.data, &scene.problem, 3, family);
    return scene;
}

/* What is expected of the data as it is now; exact: whole numbers. Rounding errors come from all
 * inputs of a tile, so the worst may be twice as large as where every output has its own products.
 */
static void scene_expect(struct scene *scene, bool exact) {
    const struct extent extent = problem_output(&scene->problem);
    free(scene->reference);
    free(scene->noise);
    scene->noise = NULL;
    scene->reference = run_reference(scene->chain, &scene->data);
    if (exact)
        return;
    scene->noise = noise_of(&scene->problem, &scene->data, scene->reference);
    for (size_t i = 0; i < extent.batch * extent.channels; i++)
        scene->noise[i] *= 2;
}

static void scene_free(struct scene *scene) {
    uc_chain_destroy(scene->chain);
    data_free(&scene->data);
    free(scene->reference);
    free(scene->noise);
    free(scene->text);
}

static uc_options options_for(uc_algorithm algorithm) {
    uc_options options = UC_OPTIONS_INIT;
    options.algorithm = algorithm;
    return options;
}

/* What a plan for this algorithm says of itself, for the caller to free; NULL where there is none.
 */
static char *description_of(const struct scene *scene, uc_algorithm algorithm) {
    const uc_options options = options_for(algorithm);
    uc_plan *plan = NULL;
    if (uc_plan_create(scene->chain, scene->data.operands, &options, &plan) != UC_OK)
        return NULL;
    char *text = run_description(plan);
    uc_plan_destroy(plan);
    return text;
}

/* Runs with Winograd where that can be, and compares with what was expected. */
static void check_values(const struct scene *scene, const char *what) {
    const uc_options options = UC_OPTIONS_INIT;
    struct buffer output = output_new(&scene->problem, GUARD_MISALIGNED);
    char *label = check_text("%s, %s", scene->text, what);
    setenv("UPCONV_ALGORITHM", "winograd", 1);
    if (run_plan_with(scene->chain, &scene->data, &options, GUARD_MISALIGNED, &output))
        check_close(
            label, problem_output(&scene->problem), scene->reference, scene->problem.dtype,
            output.data,
            (struct tolerance){scene->noise ? relative_of(scene->problem.dtype) : 0, scene->noise});
    unsetenv("UPCONV_ALGORITHM");
    free(label);
    buffer_free(&output);
}

/* ---- Chains ---- */

static const char *const chains[] = {
    /* One, two and three dimensions; mixed kernels and strides. */
    "f32 1x32x37, conv_transpose 5 kernel 3",
    "f32 2x24x300, conv_transpose 7 kernel 4 stride 2 padding 1 bias",
    "f32 1x32x61, conv_transpose 13 kernel 5 stride 2 padding 2 output_padding 1",
    "f32 1x16x19x17, conv_transpose 9 kernel 2",
    "f32 2x17x13x21, conv_transpose 6 kernel 3 padding 1 bias",
    "f32 1x16x9x33, conv_transpose 11 kernel 4 stride 2 padding 1",
    "f32 1x20x14x15, conv_transpose 8 kernel 6 stride 3 padding 2 output_padding 1 bias",
    "f32 1x24x12x12, conv_transpose 4 kernel 7 stride 3 padding 0",
    "f32 1x32x15x11, conv_transpose 7 kernel 8 stride 3 padding 1 bias",
    "f32 1x16x11x40, conv_transpose 6 kernel 3x5 stride 1x2 padding 1x2",
    "f32 1x16x8x17, conv_transpose 5 kernel 7x2 stride 2x1 padding 3x0",
    "f32 1x16x5x7x9, conv_transpose 7 kernel 4 stride 2 padding 1",
    "f32 2x32x4x6x11, conv_transpose 9 kernel 5 stride 2 padding 2 bias",
    "f32 1x16x5x6x7, conv_transpose 13 kernel 3 padding 1",
    "f32 1x19x3x8x10, conv_transpose 6 kernel 1x4x6 stride 1x2x3 padding 0x1x1",
    "f32 1x16x4x5x6, conv_transpose 5 kernel 5x3x2 stride 3x1x1 padding 1x1x0",
    "f32 1x33x2x3x4, conv_transpose 17 kernel 4 stride 2 padding 1 bias",
    /* Rows of 300, and rows of so few columns that several share vectors. */
    "f32 1x16x4x300, conv_transpose 6 kernel 4 stride 2 padding 1 bias",
    "f32 1x16x3x3x300, conv_transpose 3 kernel 3 padding 1",
    "f32 1x16x40x3, conv_transpose 8 kernel 4 stride 2 padding 1",
    "f32 1x16x6x30x2, conv_transpose 7 kernel 4 stride 2 padding 1",
    "f32 1x300x5x9, conv_transpose 3 kernel 4 stride 2 padding 1",
    /* Padding wider than the kernel: some inputs are not read. */
    "f32 1x16x8x34, conv_transpose 5 kernel 3x5 padding 0x12",
    "f32 1x2x8x10, conv_transpose 5 kernel 3x5 padding 0x5",
    /* Ops behind it, pools that tiles are made of, ops that need everything. */
    "f32 1x16x6x6x6, conv_transpose 6 kernel 4 stride 2 padding 1 bias, maxpool 2",
    "f32 1x32x6x7x8, conv_transpose 6 kernel 5 stride 2 padding 2, maxpool 6, sum_channel",
    "f32 1x16x7x9, conv_transpose 6 kernel 3 padding 1, avgpool 2, gelu",
    "f32 1x16x9x14, conv_transpose 12 kernel 4 stride 2 padding 1, layernorm_channel 1e-05, gelu",
    "f32 1x18x8x19, conv_transpose 7 kernel 4 stride 2 padding 1 bias, softmax_channel, add 0.5",
    "f32 2x16x8x9x10, conv_transpose 5 kernel 3 padding 1 bias, softmax_space, mul 2",
    "f32 1x16x30x41, conv_transpose 9 kernel 4 stride 2 padding 1, clamp -1 1, softmax_space",
    "f32 1x16x8x8x8, avgpool 2, conv_transpose 9 kernel 3 stride 1 padding 1, sigmoid",
    /* The other types. */
    "f64 1x16x9x33, conv_transpose 11 kernel 4 stride 2 padding 1 bias",
    "f64 1x32x4x6x7, conv_transpose 5 kernel 5 stride 2 padding 2, gelu",
    "f16 1x16x9x33, conv_transpose 11 kernel 4 stride 2 padding 1 bias",
    "f16 1x32x4x6x7, conv_transpose 5 kernel 5 stride 2 padding 2, layernorm_channel 1e-05",
    "bf16 1x16x5x7x9, conv_transpose 7 kernel 4 stride 2 padding 1, maxpool 2",
    "bf16 1x32x61, conv_transpose 13 kernel 5 stride 2 padding 2",
};

/* Spaces that are too large to be kept: whole vectors of 6 and of 4 phases, and rows that don't end
 * with a vector. (check_space.c has more of them, in f64 too.) */
static const char *const laid[] = {
    "f32 1x8x33x48, conv_transpose 300 kernel 4x4 stride 2 padding 1, clamp 0 1, softmax_space, "
    "mul scale",
    "f16 1x8x6x20x16, conv_transpose 134 kernel 3 stride 2 padding 1 output_padding 1, gelu, "
    "clamp -0.5 3, softmax_space, mul scale",
    "bf16 1x8x31x47, conv_transpose 340 kernel 4 stride 2 padding 1 bias, clamp 0 1, softmax_space",
};

static bool is_exact(const struct problem *problem) {
    for (size_t i = 0; i < problem->stage_count; i++)
        if (problem->stage[i].kind != STAGE_CONV && problem->stage[i].kind != STAGE_MAXPOOL &&
            problem->stage[i].kind != STAGE_SUM_CHANNEL)
            return false;
    return problem->dtype == UC_F32 || problem->dtype == UC_F64;
}

/* Any number of threads: the same bits. */
static void check_threads(const struct scene *scene) {
    static const size_t threads[] = {1, 2, 3, 8};
    struct buffer outputs[sizeof threads / sizeof *threads];
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        uc_options options = options_for(UC_ALGORITHM_WINOGRAD);
        options.threads = threads[i];
        outputs[i] = output_new(&scene->problem, GUARD_PAGE_END);
        run_plan_with(scene->chain, &scene->data, &options, GUARD_PAGE_END, &outputs[i]);
        check_same(scene->text, &outputs[0], &outputs[i]);
    }
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        buffer_free(&outputs[i]);
}

/* The first so many families. words: what the plan says, too. */
static void check_chain(const char *text, size_t count, const char *words) {
    static const enum family families[] = {FAMILY_NORMAL, FAMILY_INTEGER, FAMILY_NON_FINITE};
    for (size_t i = 0; i < count; i++) {
        struct scene scene = scene_new(text, families[i]);
        char *says = description_of(&scene, UC_ALGORITHM_WINOGRAD);
        if (CHECK(says && strstr(says, "algorithm: winograd") && strstr(says, words), "%s: %s",
                  text, says ? says : uc_last_error())) {
            /* At points with fractions whole numbers are not whole any more: sums of 0.75 and 2.5
             * times powers of them round. The plan says where it has such points. */
            const bool exact = families[i] == FAMILY_INTEGER && is_exact(&scene.problem) &&
                               !strstr(says, "points with fractions");
            scene_expect(&scene, exact);
            check_values(&scene, family_name(families[i]));
            if (i == 0)
                check_threads(&scene);
        }
        free(says);
        scene_free(&scene);
    }
}

/* Whole numbers at whole points stay exact: the same bits as the direct way's, which takes far less
 * time than what is expected in float64. */
static void check_direct(const char *text, const char *words) {
    struct scene scene = scene_new(text, FAMILY_INTEGER);
    char *says = description_of(&scene, UC_ALGORITHM_WINOGRAD);
    CHECK(says && strstr(says, words) && !strstr(says, "points with fractions"), "%s: %s", text,
          says ? says : uc_last_error());
    struct buffer outputs[2];
    for (size_t i = 0; i < 2; i++) {
        const uc_options options = options_for(i ? UC_ALGORITHM_WINOGRAD : UC_ALGORITHM_DIRECT);
        outputs[i] = output_new(&scene.problem, GUARD_PAGE_END);
        run_plan_with(scene.chain, &scene.data, &options, GUARD_PAGE_END, &outputs[i]);
    }
    check_same(text, &outputs[0], &outputs[1]);
    for (size_t i = 0; i < 2; i++)
        buffer_free(&outputs[i]);
    free(says);
    scene_free(&scene);
}

static void check_chains(void) {
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        check_chain(chains[i], i % 3 ? 2 : 3, ""); /* check_planted() has more not finite */
    for (size_t i = 0; i < sizeof laid / sizeof *laid; i++)
        check_chain(laid[i], 1, "laid down and multiplied");
    /* Rows of 65 tiles, of vectors of any width: 64, and one that several rows share. */
    check_chain("f32 1x16x24x64, conv_transpose 128 kernel 4 stride 2 padding 1 output_padding 1 "
                "bias, gelu",
                3, "of 1 tiles");
    /* The same where bands cut the height, so that no block may go on to the next depth. */
    check_direct("f32 1x64x4x54x99, conv_transpose 8 kernel 4 stride 2 padding 1", "2 x 2 bands");
}

/* Where it can't be used: asked for, that is UC_UNSUPPORTED with the reason; else the plan is
 * direct, and gives the reason too. */
static void check_refusals(void) {
    static const struct {
        const char *text, *reason;
    } refusals[] = {
        {"f32 1x16x9x9x9, conv_transpose 6 kernel 5 stride 2 padding 2, maxpool 5", "pool"},
        {"f32 1x16x9x9, conv_transpose 6 kernel 4 stride 2 padding 1, maxpool 2, avgpool 2",
         "more than one pool"},
        {"f32 1x16x9x9, conv_transpose 6 kernel 2 stride 3", "smaller than the stride"},
        {"f32 1x16x9x9, conv_transpose 6 kernel 10 stride 5", "stride is more than 4"},
        {"f32 1x16x9x19, conv_transpose 6 kernel 9", "more than 8 taps"},
        {"f32 1x16x9x9, conv_transpose 6 kernel 1", "taps"},
        {"f32 1x16x9x9, conv_transpose 6 kernel 2 stride 2", "tap"},
        {"f32 1x1x9x9, conv_transpose 6 kernel 3", "rounding errors"},
        {"f32 1x16x1x1, conv_transpose 6 kernel 3 stride 2 padding 1", "larger than the output"},
        {"f32 1x512x2x9000, conv_transpose 64 kernel 3 padding 1", "does not fit"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct scene scene = scene_new(refusals[i].text, FAMILY_NORMAL);
        const uc_options options = options_for(UC_ALGORITHM_WINOGRAD);
        uc_plan *plan = NULL;
        check_status(scene.text, UC_UNSUPPORTED,
                     uc_plan_create(scene.chain, scene.data.operands, &options, &plan));
        CHECK(!plan && strstr(uc_last_error(), refusals[i].reason),
              "%s: '%s' does not say that '%s'", scene.text, uc_last_error(), refusals[i].reason);
        uc_plan_destroy(plan);
        setenv("UPCONV_ALGORITHM", "winograd", 1);
        char *says = description_of(&scene, UC_ALGORITHM_AUTO);
        unsetenv("UPCONV_ALGORITHM");
        const char *line = says ? strstr(says, "rejected:  winograd: ") : NULL;
        CHECK(says && strstr(says, "algorithm: direct") && line && strstr(line, refusals[i].reason),
              "%s: the plan does not say why it is direct: %s", scene.text, says ? says : "");
        free(says);
        scene_free(&scene);
    }
}

/* ---- Numbers that sums at points would spoil ---- */

static void set_all(struct buffer *tensor, uc_dtype dtype, double factor) {
    for (size_t i = 0; i < tensor->bytes / uc_dtype_bytes(dtype); i++)
        element_set(dtype, tensor->data, i, factor * element_get(dtype, tensor->data, i));
}

/* One element that is not finite: where no tap connects it to, everything is as the oracle says. */
static void check_planted(const char *text) {
    static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    struct scene scene = scene_new(text, FAMILY_NORMAL);
    scene_expect(&scene, false);
    const struct extent in = problem_extent(&scene.problem, 0);
    const size_t elems = extent_elems(in), positions = extent_positions(in);
    struct rng rng = {5};
    for (size_t i = 0; i < 16; i++) {
        /* The corners of the first and of the last channel, then anywhere. */
        const size_t corners[] = {0, positions - 1, in.size[2] - 1, elems - positions, elems - 1};
        const size_t at = i < 5 ? corners[i] : rng_below(&rng, elems);
        const double was = element_get(scene.problem.dtype, scene.data.input.data, at);
        element_set(scene.problem.dtype, scene.data.input.data, at, odd[i % 3]);
        free(scene.reference); /* the noise stays that of finite data */
        scene.reference = run_reference(scene.chain, &scene.data);
        char *what = check_text("%g at %zu", odd[i % 3], at);
        check_values(&scene, what);
        free(what);
        element_set(scene.problem.dtype, scene.data.input.data, at, was);
    }
    scene_free(&scene);
}

/* Data times these numbers: all outputs are finite, but at points some would not be, or would have
 * lost their digits. Plans find that out from the weights, and tiles from the inputs. */
static void check_scaled(const char *text) {
    static const struct {
        double input, weights;
        enum family family; /* of the weights */
        bool direct;        /* the plan must say so */
    } scales[] = {
        {5e37, 1e-3, FAMILY_NORMAL, false},   /* sums of inputs overflow */
        {1e33, 1e-3, FAMILY_NORMAL, false},   /* a few are too large */
        {1e-3, 1e25, FAMILY_NORMAL, false},   /* large weights */
        {1e11, 1e25, FAMILY_NORMAL, false},   /* sums of products overflow */
        {1e-4, 1e36, FAMILY_NORMAL, true},    /* sums of weights might overflow */
        {1e-9, 8e38, FAMILY_CONSTANT, true},  /* and do: they are 3e38 each */
        {1e-39, 1, FAMILY_NORMAL, false},     /* denormal inputs and outputs */
        {1e-39, 1e10, FAMILY_NORMAL, false},  /* denormal inputs */
        {1e10, 1e-39, FAMILY_NORMAL, true},   /* denormal weights */
        {1e-30, 1e-12, FAMILY_NORMAL, false}, /* denormal products */
        {1, 0, FAMILY_NORMAL, false},
    };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        struct scene scene = scene_new(text, FAMILY_NORMAL);
        struct data weights = data_new(&scene.problem, GUARD_ALIGNED);
        data_fill(&weights, &scene.problem, 4, scales[i].family);
        memcpy(scene.data.operand[0].data, weights.operand[0].data, weights.operand[0].bytes);
        data_free(&weights);
        set_all(&scene.data.input, scene.problem.dtype, scales[i].input);
        set_all(&scene.data.operand[0], scene.problem.dtype, scales[i].weights);
        for (size_t o = 1; o < scene.data.operand_count; o++)
            set_all(&scene.data.operand[o], scene.problem.dtype,
                    scales[i].input * scales[i].weights);
        scene_expect(&scene, false);
        char *what = check_text("inputs %g, weights %g", scales[i].input, scales[i].weights);
        char *says = description_of(&scene, UC_ALGORITHM_WINOGRAD);
        CHECK(!says == scales[i].direct && (says || strstr(uc_last_error(), "the weights are too")),
              "%s, %s: %s", text, what, says ? says : uc_last_error());
        free(says);
        check_values(&scene, what);
        free(what);
        scene_free(&scene);
    }
}

static void check_extremes(void) {
    static const char *const few[] = {
        "f32 1x16x9x33, conv_transpose 7 kernel 4 stride 2 padding 1",
        "f32 1x16x5x6x11, conv_transpose 7 kernel 5 stride 2 padding 2 bias",
        "f32 1x16x12x5, conv_transpose 6 kernel 3 padding 1",
        "f32 1x16x8x12, conv_transpose 4 kernel 3 padding 1, maxpool 2", /* 4 points */
    };
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        check_planted(few[i]);
        check_scaled(few[i]);
    }
    /* Weights that are not finite go tap by tap. */
    struct scene scene = scene_new(few[0], FAMILY_NORMAL);
    const uc_options options = options_for(UC_ALGORITHM_WINOGRAD);
    uc_plan *plan = NULL;
    element_set(UC_F32, scene.data.operand[0].data, 5, (double)INFINITY);
    check_status("an infinite weight", UC_UNSUPPORTED,
                 uc_plan_create(scene.chain, scene.data.operands, &options, &plan));
    CHECK(strstr(uc_last_error(), "not finite"), "'%s'", uc_last_error());
    scene_free(&scene);
}

/* ---- Who chooses ---- */

/* NULL: the variable is not set. What the plan then says, or why there is none. */
static void check_choice(const struct scene *scene, const char *variable, uc_algorithm option,
                         uc_status expected, const char *words) {
    const uc_options options = options_for(option);
    uc_plan *plan = NULL;
    if (variable)
        setenv("UPCONV_ALGORITHM", variable, 1);
    const uc_status status = uc_plan_create(scene->chain, scene->data.operands, &options, &plan);
    unsetenv("UPCONV_ALGORITHM");
    char *label = check_text("%s, UPCONV_ALGORITHM=%s, option %d", scene->text,
                             variable ? variable : "(none)", (int)option);
    check_status(label, expected, status);
    char *says = plan ? run_description(plan) : check_text("%s", uc_last_error());
    CHECK(!plan == (expected != UC_OK) && strstr(says, words), "%s: '%s' is not in: %s", label,
          words, says);
    free(says);
    free(label);
    uc_plan_destroy(plan);
}

static void check_choices(void) {
    static const char *const nonsense[] = {
        "fft",       "Winograd",
        "winograd ", "direct,winograd",
        "1",         "a name that is much longer than any of the three are"};
    static const char winograd[] = "algorithm: winograd, ", direct[] = "algorithm: direct";
    struct scene small = scene_new("f32 1x16x9x9, conv_transpose 6 kernel 4 stride 2 padding 1",
                                   FAMILY_NORMAL),
                 large = scene_new("f32 1x32x64x64, conv_transpose 64 kernel 4 stride 2 padding 1",
                                   FAMILY_NORMAL),
                 never = scene_new("f32 1x16x9x9, conv_transpose 6 kernel 1", FAMILY_NORMAL);
    check_choice(&large, NULL, UC_ALGORITHM_AUTO, UC_OK, winograd);
    check_choice(&small, NULL, UC_ALGORITHM_AUTO, UC_OK,
                 "rejected:  winograd: there is little to compute");
    check_choice(&small, "", UC_ALGORITHM_AUTO, UC_OK, direct);
    check_choice(&small, "auto", UC_ALGORITHM_AUTO, UC_OK, direct);
    check_choice(&small, "winograd", UC_ALGORITHM_AUTO, UC_OK, winograd);
    check_choice(&large, "direct", UC_ALGORITHM_AUTO, UC_OK,
                 "rejected:  winograd: it was not asked for");
    /* The variable is a wish, the option an order. */
    check_choice(&never, "winograd", UC_ALGORITHM_AUTO, UC_OK, "rejected:  winograd: ");
    check_choice(&never, NULL, UC_ALGORITHM_WINOGRAD, UC_UNSUPPORTED, "winograd can't be used");
    check_choice(&small, "winograd", UC_ALGORITHM_DIRECT, UC_OK, direct);
    check_choice(&small, "direct", UC_ALGORITHM_WINOGRAD, UC_OK, winograd);
    check_choice(&small, "nonsense", UC_ALGORITHM_DIRECT, UC_OK, direct);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        char *quoted = check_text("UPCONV_ALGORITHM must be auto, direct or winograd (got '%.40s')",
                                  nonsense[i]);
        check_choice(&small, nonsense[i], UC_ALGORITHM_AUTO, UC_UNSUPPORTED, quoted);
        free(quoted);
    }
    scene_free(&small);
    scene_free(&large);
    scene_free(&never);
}

int main(void) {
    unsetenv("UPCONV_ALGORITHM");
    check_chains();
    check_refusals();
    check_extremes();
    check_choices();
    return check_done();
}
