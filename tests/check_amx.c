/* AMX: its kernels against plain twins; chains in every accuracy against the oracle, with numbers
 * that AMX would spoil; and what plans say of it. Where this CPU has no AMX, accuracies change
 * nothing. Run by CTest; packaging.emulate runs it where tiles are emulated. */
#define _DEFAULT_SOURCE
#include "amx.h"
#include "compare.h"
#include "cpu.h"
#include "dtype.h"
#include "element.h"
#include "generate.h"
#include "golden.h"
#include "params.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uc_accuracy accuracy;
    const char *name, *says; /* says: of an f32 chain */
    double factor;           /* of what strict errors may be */
    double least, most;      /* rms errors of a convolution on normal data */
} accuracies[] = {
    {UC_ACCURACY_STRICT, "strict", "algorithm: direct", 1, 0, 5e-7},
    {UC_ACCURACY_X3, "x3", "algorithm: amx, x3", 64, 1e-6, 6e-6},
    {UC_ACCURACY_BF16, "bf16", "algorithm: amx, bf16", 32768, 1.5e-3, 3.5e-3},
};
enum { ACCURACIES = sizeof accuracies / sizeof *accuracies };

static const uc_amx_kernels *kernels; /* NULL: there are none here */

/* ---- Kernels ---- */

/* What a bf16 is, of a small whole number. */
static uint16_t whole_half(struct rng *rng) {
    return uc_f32_to_bf16((float)rng_below(rng, 17) - 8);
}

static void fill_pairs(struct buffer *pairs, struct rng *rng) {
    for (size_t i = 0; i < pairs->bytes / 2; i++)
        ((uint16_t *)pairs->data)[i] = whole_half(rng);
}

static double half_of(const struct buffer *pairs, size_t pair, size_t half) {
    return uc_bf16_to_f32(((const uint16_t *)pairs->data)[2 * pair + half]);
}

/* One run of whole numbers, which are exact in any order: each product counts, and no other one. */
static void check_conv(struct rng *rng) {
    const size_t taps[UC_SPACE] = {1 + rng_below(rng, 2), 1 + rng_below(rng, 3), rng_below(rng, 4)};
    const size_t all_taps = taps[0] * taps[1] * taps[2];
    const size_t parts = 1 + rng_below(rng, 2), slices = 1 + rng_below(rng, 3),
                 pairs = 1 + rng_below(rng, UC_AMX_TILE), out_channels = 1 + rng_below(rng, 80);
    const size_t first = rng_below(rng, out_channels),
                 channels = 1 + rng_below(rng, out_channels - first);
    const size_t tiles = 1 + rng_below(rng, 5), lanes = tiles * UC_AMX_TILE;
    const size_t used = lanes - rng_below(rng, UC_AMX_TILE); /* it rounds up itself */
    /* [depth][row][pair][column], with as many columns before the first lane as taps reach. */
    const size_t lead = 3, columns = lead + lanes + rng_below(rng, 3), rows = taps[1] + 1,
                 row_step = slices * pairs * columns, depth_step = rows * row_step,
                 x_part = taps[0] * depth_step, y_channel = lanes + rng_below(rng, 20);
    struct buffer x = buffer_new(parts * x_part * sizeof(uc_pair), 4, GUARD_PAGE_END),
                  w = buffer_new((all_taps ? all_taps : 1) * slices * parts * out_channels * pairs *
                                     sizeof(uc_pair),
                                 4, GUARD_PAGE_END),
                  bias = buffer_new(out_channels * UC_AMX_TILE * sizeof(float), 4, GUARD_PAGE_END),
                  y = buffer_new(((channels - 1) * y_channel + lanes) * sizeof(float), 4,
                                 GUARD_PAGE_END);
    fill_pairs(&x, rng);
    fill_pairs(&w, rng);
    for (size_t i = 0; i < out_channels * UC_AMX_TILE; i++)
        ((float *)bias.data)[i] = (float)(i / UC_AMX_TILE);
    for (size_t i = 0; i < y.bytes / sizeof(float); i++)
        ((float *)y.data)[i] = (float)NAN;
    const size_t origin = (taps[0] - 1) * depth_step + (taps[1] - 1) * row_step + lead;
    uc_conv_run run = {.x = (const uc_pair *)x.data + origin,
                       .x_depth = depth_step,
                       .x_row = row_step,
                       .x_channel = columns,
                       .weights = w.data,
                       .bias = bias.data,
                       .first = {rng_below(rng, taps[0] + 1), rng_below(rng, taps[1] + 1)},
                       .end = {taps[0], taps[1]},
                       .taps = {taps[0], taps[1], taps[2]},
                       .out_channels = out_channels,
                       .y = y.data,
                       .y_channel = y_channel,
                       .lanes = used};
    kernels->conv(&(uc_amx_run){.run = &run,
                                .parts = parts,
                                .x_part = x_part,
                                .slices = slices,
                                .pairs = pairs,
                                .first_channel = first,
                                .channels = channels});
    size_t wrong = 0;
    for (size_t c = 0; c < channels; c++)
        for (size_t j = 0; j < lanes; j++) {
            double sum = (double)(first + c);
            for (size_t td = run.first[0]; td < taps[0]; td++)
                for (size_t th = run.first[1]; th < taps[1]; th++)
                    for (size_t tw = 0; tw < taps[2]; tw++)
                        for (size_t p = 0; p < slices * pairs; p++) {
                            const size_t tap = (td * taps[1] + th) * taps[2] + tw;
                            const size_t at =
                                origin + j - td * depth_step - th * row_step - tw + p * columns;
                            const size_t weight =
                                ((tap * slices + p / pairs) * parts * out_channels + first + c) *
                                    pairs +
                                p % pairs;
                            for (size_t h = 0; h < 2; h++) {
                                const double a = half_of(&w, weight, h), b = half_of(&x, at, h);
                                sum += a * b;
                                if (parts == 2)
                                    sum += a * half_of(&x, x_part + at, h) +
                                           b * half_of(&w, weight + out_channels * pairs, h);
                            }
                        }
            wrong += ((const float *)y.data)[c * y_channel + j] != (float)sum;
        }
    CHECK(!wrong,
          "%zu wrong: %zu parts, %zu slices of %zu pairs, channels %zu to %zu of %zu, %zu lanes, "
          "taps %zux%zux%zu",
          wrong, parts, slices, pairs, first, first + channels, out_channels, used, taps[0],
          taps[1], taps[2]);
    CHECK(buffer_intact(&x) && buffer_intact(&w) && buffer_intact(&bias) && buffer_intact(&y),
          "written outside");
    for (size_t c = 0; c + 1 < channels; c++)
        for (size_t j = lanes; j < y_channel; j++)
            wrong += !isnan(((const float *)y.data)[c * y_channel + j]);
    CHECK(!wrong, "%zu lanes behind the last were written", wrong);
    buffer_free(&x);
    buffer_free(&w);
    buffer_free(&bias);
    buffer_free(&y);
}

/* What one product of two numbers and a bias comes out as. Here AMX differs from IEEE arithmetic:
 * rows with such numbers must not come to it. */
static void check_product(float a, float b, float start, float expected) {
    const uc_pair weight = uc_f32_to_bf16(a);
    uc_pair inputs[UC_AMX_TILE];
    float bias[UC_AMX_TILE], y[UC_AMX_TILE];
    for (size_t i = 0; i < UC_AMX_TILE; i++) {
        inputs[i] = uc_f32_to_bf16(b);
        bias[i] = start;
    }
    const uc_conv_run run = {.x = inputs,
                             .x_channel = UC_AMX_TILE,
                             .weights = &weight,
                             .bias = bias,
                             .end = {1, 1},
                             .taps = {1, 1, 1},
                             .out_channels = 1,
                             .y = y,
                             .y_channel = UC_AMX_TILE,
                             .lanes = UC_AMX_TILE};
    kernels->conv(&(uc_amx_run){.run = &run, .parts = 1, .slices = 1, .pairs = 1, .channels = 1});
    for (size_t i = 0; i < UC_AMX_TILE; i++)
        CHECK(y[i] == expected || (isnan(y[i]) && isnan(expected)), "%g * %g + %g is %g, not %g",
              (double)a, (double)b, (double)start, (double)y[i], (double)expected);
}

static void check_products(void) {
    check_product(3, 5, 7, 22);
    check_product(0x1p-130f, 0x1p+20f, 0, 0); /* denormals that are read */
    check_product(0x1p+20f, 0x1p-130f, 1, 1);
    check_product(0x1p-70f, 0x1p-70f, 0, 0); /* that come out */
    check_product(1, 1, 0x1p-130f, 1);
    check_product(0x1p-63f, 0x1p-63f, 0, 0x1p-126f);
    check_product(0x1p+100f, 0x1p+100f, 0, INFINITY);
    check_product(INFINITY, 0, 0, NAN);
    /* Rounded to nearest even. */
    check_product(1, 1, 0x1p+24f, 0x1p+24f);
    check_product(1, 3, 0x1p+24f, 0x1p+24f + 4);
}

/* Two channels to pairs: the parts, and how large numbers are. */
static void check_split(struct rng *rng) {
    enum { MOST = 70 };
    float from[2][MOST];
    uc_pair to[2][MOST];
    const size_t count = 1 + rng_below(rng, MOST), parts = 1 + rng_below(rng, 2);
    const bool one = rng_below(rng, 4) == 0;
    double least = INFINITY, most = 0;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < count; i++) {
            const double value =
                rng_below(rng, 5) ? ldexp(rng_normal(rng), (int)rng_below(rng, 60)) : 0;
            from[c][i] = (float)value;
            if (c && one)
                continue;
            most = fmax(most, fabs((double)from[c][i]));
            if (from[c][i] != 0)
                least = fmin(least, fabs((double)from[c][i]));
        }
    uc_amx_range range = UC_AMX_RANGE_INIT;
    kernels->split(from[0], one ? NULL : from[1], count, to[0], parts, MOST, &range);
    size_t wrong = 0;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < count; i++) {
            const double value = c && one ? 0 : (double)from[c][i],
                         high = element_round(UC_BF16, value),
                         low = element_round(UC_BF16, value - high);
            const double got = uc_bf16_to_f32((uint16_t)(to[0][i] >> 16 * c)),
                         rest = uc_bf16_to_f32((uint16_t)(to[1][i] >> 16 * c));
            wrong += got != high || (parts == 2 && rest != low);
        }
    CHECK(!wrong, "%zu of %zu pairs in %zu parts are wrong", wrong, count, parts);
    CHECK(uc_f32_from_bits(range.most) == (float)most, "the largest is not %g", most);
    if (isfinite(least))
        CHECK(uc_f32_from_bits(range.least_less_1 + 1) == (float)least, "the least is not %g",
              least);
    else
        CHECK(range.least_less_1 == UINT32_MAX, "zeros are not 0");
}

static void check_kernels(void) {
    struct rng rng = {1};
    for (size_t i = 0; i < 150; i++)
        check_conv(&rng);
    for (size_t i = 0; i < 200; i++)
        check_split(&rng);
    check_products();
}

/* ---- Chains ---- */

/* One chain with its data, and what the oracle says. */
struct scene {
    char *text;
    struct problem problem;
    uc_chain *chain;
    struct data data;
    double *reference, *noise; /* noise: of strict arithmetic */
};

static void scene_expect(struct scene *scene) {
    free(scene->reference);
    free(scene->noise);
    scene->reference = run_reference(scene->chain, &scene->data);
    scene->noise = noise_of(&scene->problem, &scene->data, scene->reference);
}

static struct scene scene_of(const struct problem *problem, enum family family) {
    struct scene scene = {.text = problem_text(problem), .problem = *problem};
    scene.chain = run_parse(problem);
    scene.data = data_new(problem, GUARD_MISALIGNED);
    data_fill(&scene.data, problem, 3, family);
    return scene;
}

static struct scene scene_new(const char *text, enum family family) {
    struct problem problem;
    CHECK(problem_parse(text, &problem), "'%s' can't be read", text);
    return scene_of(&problem, family);
}

static void scene_free(struct scene *scene) {
    uc_chain_destroy(scene->chain);
    data_free(&scene->data);
    free(scene->reference);
    free(scene->noise);
    free(scene->text);
}

static uc_options options_for(uc_accuracy accuracy, uc_algorithm algorithm) {
    uc_options options = UC_OPTIONS_INIT;
    options.accuracy = accuracy;
    options.algorithm = algorithm;
    return options;
}

static char *description_of(const struct scene *scene, const uc_options *options) {
    uc_plan *plan = NULL;
    check_status(scene->text, UC_OK,
                 uc_plan_create(scene->chain, scene->data.operands, options, &plan));
    char *text = run_description(plan);
    uc_plan_destroy(plan);
    return text;
}

static void scene_says(const struct scene *scene, const uc_options *options, const char *words) {
    char *says = description_of(scene, options);
    CHECK(strstr(says, words), "%s: '%s' is not in: %s", scene->text, words, says);
    CHECK(!strstr(says, "algorithm: amx") == !!strstr(says, "rejected:  amx: "),
          "%s: AMX is neither used nor rejected, or both: %s", scene->text, says);
    free(says);
}

static struct buffer output_of(const struct scene *scene, const uc_options *options) {
    struct buffer output = output_new(&scene->problem, GUARD_MISALIGNED);
    run_plan_with(scene->chain, &scene->data, options, GUARD_PAGE_END, &output);
    return output;
}

/* Values in an accuracy. Where bf16 inputs are multiplied as they are, every accuracy is strict. */
static void check_values(const struct scene *scene, size_t accuracy, const char *what) {
    const uc_options options = options_for(accuracies[accuracy].accuracy, UC_ALGORITHM_AUTO);
    const struct extent extent = problem_output(&scene->problem);
    const size_t slices = extent.batch * extent.channels;
    char *says = description_of(scene, &options);
    const bool strict = !strstr(says, "amx, x3") && !strstr(says, "amx, bf16");
    /* Winograd's errors come from all inputs of a tile. */
    const double factor =
        strict ? (strstr(says, "winograd,") ? 2 : 1) : accuracies[accuracy].factor;
    double *noise = check_alloc(slices * sizeof *noise);
    for (size_t i = 0; i < slices; i++)
        noise[i] = factor * scene->noise[i];
    struct buffer output = output_of(scene, &options);
    char *label = check_text("%s, %s, %s", scene->text, accuracies[accuracy].name, what);
    check_close(label, extent, scene->reference, scene->problem.dtype, output.data,
                (struct tolerance){factor * relative_of(scene->problem.dtype), noise});
    free(label);
    free(noise);
    free(says);
    buffer_free(&output);
}

/* Small whole numbers are bf16 already: nothing is lost in any accuracy. */
static void check_exact(const struct problem *problem) {
    struct scene scene = scene_of(problem, FAMILY_INTEGER);
    scene.reference = run_reference(scene.chain, &scene.data);
    for (size_t a = 0; a < ACCURACIES; a++) {
        const uc_options options = options_for(accuracies[a].accuracy, UC_ALGORITHM_AUTO);
        struct buffer output = output_of(&scene, &options);
        char *label = check_text("%s, %s, whole numbers", scene.text, accuracies[a].name);
        check_close(label, problem_output(problem), scene.reference, problem->dtype, output.data,
                    (struct tolerance){0, NULL});
        free(label);
        buffer_free(&output);
    }
    scene_free(&scene);
}

static size_t pick(struct rng *rng, const size_t *from, size_t count) {
    return from[rng_below(rng, count)];
}

/* A convolution with channels, widths and strides around the edges of tiles, and perhaps ops that
 * whole numbers stay whole in. */
static struct problem random_problem(struct rng *rng) {
    static const size_t inputs[] = {1, 3, 16, 17, 31, 32, 33, 64, 130},
                        outputs[] = {1, 3, 15, 16, 17, 31, 32, 33, 64, 130};
    struct problem problem = {.dtype = UC_F32,
                              .dims = 1 + rng_below(rng, 3),
                              .batch = 1 + rng_below(rng, 2),
                              .channels = pick(rng, inputs, sizeof inputs / sizeof *inputs),
                              .size = {1, 1, 1 + rng_below(rng, 70)},
                              .stage_count = 1};
    struct stage *conv = &problem.stage[0];
    *conv = (struct stage){.kind = STAGE_CONV,
                           .has_bias = rng_below(rng, 2),
                           .out_channels = pick(rng, outputs, sizeof outputs / sizeof *outputs),
                           .kernel = {1, 1, 1},
                           .stride = {1, 1, 1}};
    for (size_t i = 3 - problem.dims; i < 3; i++) {
        if (i < 2)
            problem.size[i] = 1 + rng_below(rng, 4);
        conv->kernel[i] = 1 + rng_below(rng, i < 2 ? 3 : 5);
        conv->stride[i] = 1 + rng_below(rng, 3);
        conv->padding[i] = rng_below(rng, conv->kernel[i]);
        conv->output_padding[i] = rng_below(rng, conv->stride[i]);
    }
    const struct extent out = problem_output(&problem);
    if (rng_below(rng, 3) == 0) {
        problem.stage[1] = (struct stage){.kind = STAGE_MAXPOOL, .kernel = {1, 1, 1}};
        for (size_t i = 3 - problem.dims; i < 3; i++)
            problem.stage[1].kernel[i] = 1 + rng_below(rng, out.size[i] < 3 ? 1 : 3);
        problem.stage[2] = (struct stage){.kind = STAGE_SUM_CHANNEL};
        problem.stage_count = 2 + rng_below(rng, 2);
    }
    return problem;
}

/* What a convolution multiplies, nearly. */
static double products_of(const struct problem *problem) {
    const struct stage *conv = &problem->stage[0];
    double products = (double)(problem->batch * problem->channels * conv->out_channels);
    for (size_t i = 0; i < 3; i++)
        products *= (double)(problem->size[i] * conv->kernel[i]);
    return products;
}

static void check_exact_chains(void) {
    struct rng rng = {2};
    for (size_t done = 0; done < 80;) {
        const struct problem problem = random_problem(&rng);
        if (!extent_positions(problem_output(&problem)) || products_of(&problem) > 2e6)
            continue;
        check_exact(&problem);
        done++;
    }
}

static const char *const chains[] = {
    "f32 1x17x40, conv_transpose 33 kernel 5 stride 3 padding 2 bias",
    "f32 2x32x5x19, conv_transpose 17 kernel 4 stride 2 padding 1 bias, gelu",
    "f32 1x33x6x5, conv_transpose 9 kernel 3 padding 1, layernorm_channel 1e-05",
    "f32 1x24x4x5x6, conv_transpose 6 kernel 3 stride 2 padding 1 bias, maxpool 2, sum_channel",
    "f32 1x16x3x4x9, conv_transpose 20 kernel 3 stride 2 padding 1, avgpool 2, gelu",
    "f32 1x20x6x17, conv_transpose 40 kernel 4 stride 2 padding 1 bias, softmax_channel, mul 2",
    "f32 2x16x6x9, conv_transpose 35 kernel 3 padding 1 bias, clamp -2 2, softmax_space, mul 2",
    "f32 1x16x8x8x8, avgpool 2, conv_transpose 9 kernel 3 stride 2 padding 1, softmax_space",
    "f16 1x17x5x19, conv_transpose 17 kernel 4 stride 2 padding 1 bias, sigmoid",
    "f64 1x17x5x9, conv_transpose 5 kernel 4 stride 2 padding 1 bias",
    "bf16 1x17x40, conv_transpose 33 kernel 5 stride 3 padding 2 bias",
    "bf16 2x32x5x19, conv_transpose 17 kernel 4 stride 2 padding 1 bias, gelu",
    "bf16 1x33x6x5, conv_transpose 9 kernel 3 padding 1, add 2, layernorm_channel 1e-05",
    "bf16 1x16x3x4x9, conv_transpose 20 kernel 3 stride 2 padding 1, avgpool 2, gelu",
    "bf16 1x16x8x8, avgpool 2, conv_transpose 9 kernel 3 stride 2 padding 1, softmax_space",
    "bf16 1x64x9, conv_transpose 5 kernel 3, softmax_space",
};

/* Any number of threads: the same bits. */
static void check_threads(const struct scene *scene, uc_accuracy accuracy) {
    uc_options options = options_for(accuracy, UC_ALGORITHM_AUTO);
    options.threads = 1;
    struct buffer one = output_of(scene, &options);
    options.threads = 3;
    struct buffer three = output_of(scene, &options);
    check_same(scene->text, &one, &three);
    buffer_free(&one);
    buffer_free(&three);
}

static void check_chains(void) {
    static const enum family families[] = {FAMILY_NORMAL, FAMILY_UNIFORM, FAMILY_NON_FINITE,
                                           FAMILY_MINUS_INFINITY};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
        for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
            struct scene scene = scene_new(chains[i], families[f]);
            scene_expect(&scene);
            for (size_t a = 0; a < ACCURACIES; a++) {
                check_values(&scene, a, family_name(families[f]));
                if (families[f] == FAMILY_NORMAL)
                    check_threads(&scene, accuracies[a].accuracy);
            }
            scene_free(&scene);
        }
}

/* Rows that are kept for a softmax over a space so large that its channels are made in blocks. */
static void check_blocks(void) {
    struct scene scene = scene_new(
        "f32 1x16x120x128, conv_transpose 40 kernel 2 stride 2, clamp -1 1, softmax_space",
        FAMILY_UNIFORM);
    scene_expect(&scene);
    for (size_t a = 1; a < ACCURACIES; a++)
        check_values(&scene, a, "blocks of channels");
    scene_free(&scene);
}

/* Random chains of any ops, with enough input channels. */
static void check_random(void) {
    struct rng rng = {4};
    for (size_t i = 0; i < 60; i++) {
        struct problem problem = problem_random(&rng);
        problem.channels = problem.channels < 16 ? 16 + rng_below(&rng, 20) : problem.channels;
        struct scene scene = scene_of(&problem, i % 4 ? FAMILY_NORMAL : FAMILY_NON_FINITE);
        scene_expect(&scene);
        for (size_t a = 0; a < ACCURACIES; a++)
            check_values(&scene, a, "random");
        scene_free(&scene);
    }
}

/* The golden cases, in f32 and bf16. */
static size_t seen;

static void visit_golden(const struct golden *golden) {
    static const uc_dtype dtypes[] = {UC_F32, UC_BF16};
    if (seen++ % 3)
        return;
    for (size_t i = 0; i < 2; i++) {
        const struct problem problem =
            problem_of_operator(golden->op->slug, dtypes[i], &golden->params);
        struct scene scene = {.text = check_text("%s", golden->name), .problem = problem};
        scene.chain = run_parse(&problem);
        scene.data = golden_data(golden, &problem);
        scene_expect(&scene);
        for (size_t a = 0; a < ACCURACIES; a++)
            check_values(&scene, a, "golden");
        scene_free(&scene);
    }
}

/* ---- Rounding errors ---- */

/* The convolution of an operator with its own channels, kernel and strides, or all of it, on a
 * small space. */
static struct problem small_operator(const char *slug, uc_dtype dtype, bool whole) {
    uc_operator_params params;
    check_status(slug, UC_OK, uc_operator_defaults(slug, &params));
    const size_t pool = params.pool_kernel ? params.pool_kernel : 1;
    params.batch_size = 1;
    params.depth = 3 * pool;
    params.height = 5 * pool;
    params.width = 9 * pool;
    struct problem problem = problem_of_operator(slug, dtype, &params);
    for (size_t i = 0; !whole && i < problem.stage_count; i++)
        if (problem.stage[i].kind == STAGE_CONV) {
            const struct extent in = problem_extent(&problem, i);
            memcpy(problem.size, in.size, sizeof problem.size);
            problem.stage[0] = problem.stage[i];
            problem.stage_count = 1;
        }
    return problem;
}

/* Errors relative to the results: not larger than what the accuracy's name promises, and where it
 * is AMX not smaller than it can be either. */
static void check_errors(const char *slug) {
    const struct problem problem = small_operator(slug, UC_F32, false);
    struct scene scene = scene_of(&problem, FAMILY_NORMAL);
    scene.reference = run_reference(scene.chain, &scene.data);
    const size_t elems = extent_elems(problem_output(&problem));
    for (size_t a = 0; a < ACCURACIES; a++) {
        const uc_options options = options_for(accuracies[a].accuracy, UC_ALGORITHM_AUTO);
        struct buffer output = output_of(&scene, &options);
        double errors = 0, values = 0;
        for (size_t i = 0; i < elems; i++) {
            errors += pow(((const float *)output.data)[i] - scene.reference[i], 2);
            values += pow(scene.reference[i], 2);
        }
        const double rms = sqrt(errors / values);
        const size_t as = kernels ? a : 0; /* strict all the same where there is no AMX */
        printf("%s: convolution, %s: rms %.2e\n", slug, accuracies[a].name, rms);
        CHECK(rms >= accuracies[as].least && rms <= accuracies[as].most,
              "%s, %s: rms %.2e is not in %.0e to %.0e", slug, accuracies[a].name, rms,
              accuracies[as].least, accuracies[as].most);
        buffer_free(&output);
    }
    scene_free(&scene);
}

static void check_operators(void) {
    for (size_t i = 0; i < operator_total; i++) {
        check_errors(operators[i].slug);
        for (int dtype = UC_F32; dtype <= UC_BF16; dtype++) {
            const struct problem problem = small_operator(operators[i].slug, (uc_dtype)dtype, true);
            if (!extent_positions(problem_output(&problem)))
                continue;
            struct scene scene = scene_of(&problem, FAMILY_NORMAL);
            scene_expect(&scene);
            for (size_t a = 0; a < ACCURACIES; a++)
                check_values(&scene, a, "operator");
            scene_free(&scene);
        }
    }
}

/* ---- Numbers that AMX would spoil ---- */

static void scale_all(struct buffer *tensor, uc_dtype dtype, double factor) {
    for (size_t i = 0; i < tensor->bytes / uc_dtype_bytes(dtype); i++)
        element_set(dtype, tensor->data, i, factor * element_get(dtype, tensor->data, i));
}

/* Data times these numbers: rows, or whole chains, that must be filled directly, bit by bit. */
static void check_scaled(const char *text) {
    static const struct {
        double input, weights;
        const char *says; /* NULL: the plan is AMX's, and no row of it */
    } scales[] = {
        {1e-39, 1, NULL},       {1e-36, 1e-2, NULL},       {1e-20, 1e-12, NULL},
        {1e38, 1, NULL},        {1e20, 1e25, NULL},        {1e10, 1e-33, "so small"},
        {1, 1e-40, "so small"}, {1e-9, 3e37, "too large"},
    };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        struct scene scene = scene_new(text, FAMILY_NORMAL);
        const uc_dtype dtype = scene.problem.dtype;
        scale_all(&scene.data.input, dtype, scales[i].input);
        scale_all(&scene.data.operand[0], dtype, scales[i].weights);
        const uc_options direct = options_for(UC_ACCURACY_STRICT, UC_ALGORITHM_DIRECT);
        struct buffer expected = output_of(&scene, &direct);
        for (size_t a = dtype == UC_BF16 ? 0 : 1; a < ACCURACIES; a++) {
            const uc_options options = options_for(accuracies[a].accuracy, UC_ALGORITHM_AUTO);
            struct buffer output = output_of(&scene, &options);
            char *label = check_text("%s, %s, inputs %g, weights %g", text, accuracies[a].name,
                                     scales[i].input, scales[i].weights);
            check_same(label, &expected, &output);
            if (kernels)
                scene_says(&scene, &options, scales[i].says ? scales[i].says : "algorithm: amx");
            free(label);
            buffer_free(&output);
        }
        buffer_free(&expected);
        scene_free(&scene);
    }
}

/* One odd element: the rows that read it are filled directly, the others as if it were not there.
 */
static void check_planted(const char *text) {
    static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY,
                                 3e38,        0x1p-120,         0x1p-130};
    struct scene scene = scene_new(text, FAMILY_NORMAL);
    scene_expect(&scene);
    const uc_dtype dtype = scene.problem.dtype;
    const struct extent in = problem_extent(&scene.problem, 0);
    const size_t elems = extent_elems(in), positions = extent_positions(in);
    struct rng rng = {5};
    for (size_t i = 0; i < 18; i++) {
        const size_t corners[] = {0, positions - 1, in.size[2] - 1, elems - positions, elems - 1};
        const size_t at = i < 5 ? corners[i] : rng_below(&rng, elems);
        const double was = element_get(dtype, scene.data.input.data, at);
        element_set(dtype, scene.data.input.data, at, odd[i % 6]);
        free(scene.reference); /* the noise stays that of ordinary data */
        scene.reference = run_reference(scene.chain, &scene.data);
        char *what = check_text("%g at %zu", odd[i % 6], at);
        for (size_t a = 0; a < ACCURACIES; a++)
            check_values(&scene, a, what);
        free(what);
        element_set(dtype, scene.data.input.data, at, was);
    }
    scene_free(&scene);
}

/* A number far below the others is still a number: an output that it alone makes has all its
 * digits. */
static void check_lonely(void) {
    struct scene scene = scene_new("bf16 1x16x6x20, conv_transpose 4 kernel 3", FAMILY_INTEGER);
    memset(scene.data.input.data, 0, scene.data.input.bytes);
    element_set(UC_BF16, scene.data.input.data, 25, 0x1.8p-120);
    scale_all(&scene.data.operand[0], UC_BF16, 0x1p-8);
    scene_expect(&scene);
    check_values(&scene, 0, "one number alone");
    scene_free(&scene);
}

static void check_extremes(void) {
    static const char *const few[] = {
        "f32 1x16x9x33, conv_transpose 7 kernel 4 stride 2 padding 1",
        "f32 1x18x4x5x11, conv_transpose 7 kernel 5 stride 2 padding 2",
        "bf16 1x16x12x5, conv_transpose 6 kernel 3 padding 1",
        "bf16 1x33x8x12, conv_transpose 4 kernel 3 padding 1, maxpool 2",
    };
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        check_scaled(few[i]);
        check_planted(few[i]);
    }
    check_lonely();
}

/* ---- Who chooses ---- */

/* What a plan says in an accuracy; there: with AMX. */
static void check_choice(const char *text, uc_accuracy accuracy, uc_algorithm algorithm, uc_isa isa,
                         bool there, const char *words) {
    if (there == !kernels)
        return;
    struct scene scene = scene_new(text, FAMILY_NORMAL);
    uc_options options = options_for(accuracy, algorithm);
    options.isa = isa;
    scene_says(&scene, &options, words);
    scene_free(&scene);
}

static void check_choices(void) {
    static const char chain[] = "f32 1x16x9x9, conv_transpose 6 kernel 4 stride 2 padding 1",
                      bf16[] = "bf16 1x16x9x9, conv_transpose 6 kernel 4 stride 2 padding 1",
                      missing[] = "rejected:  amx: this CPU, or its system, does not have it";
    for (size_t a = 0; a < ACCURACIES; a++) {
        const uc_accuracy accuracy = accuracies[a].accuracy;
        check_choice(chain, accuracy, 0, 0, true, accuracies[a].says);
        check_choice(chain, accuracy, UC_ALGORITHM_DIRECT, 0, true, "amx: it was not asked for");
        check_choice(chain, accuracy, UC_ALGORITHM_DIRECT, 0, false, "amx: it was not asked for");
        check_choice(chain, accuracy, UC_ALGORITHM_WINOGRAD, 0, true, "amx: it was not asked for");
        check_choice(bf16, accuracy, 0, 0, true, "algorithm: amx, of bf16 as it is");
        check_choice(bf16, accuracy, 0, 0, true, "rejected:  winograd: AMX is there");
        check_choice(bf16, accuracy, 0, 0, true, "rejected:  direct: AMX is there");
        check_choice(bf16, accuracy, 0, UC_ISA_AVX512, true, "algorithm: amx");
        check_choice(bf16, accuracy, 0, UC_ISA_PORTABLE, true, "amx: it goes with avx512 kernels");
        check_choice(bf16, accuracy, 0, 0, false, missing);
        check_choice("f64 1x16x9x9, conv_transpose 6 kernel 4", accuracy, 0, 0, true,
                     "amx: it does not compute in f64");
        check_choice("bf16 1x15x9x9, conv_transpose 6 kernel 4", accuracy, 0, 0, true,
                     "amx: there are few input channels");
    }
    check_choice(chain, UC_ACCURACY_STRICT, 0, 0, true, "amx: strict results need inputs that are");
    check_choice(chain, UC_ACCURACY_STRICT, 0, 0, false, "amx: strict results need inputs that");
    check_choice("bf16 1x16x9x9, gelu, conv_transpose 6 kernel 4", UC_ACCURACY_STRICT, 0, 0, true,
                 "amx: strict results need inputs that are bf16");
    check_choice("bf16 1x16x9x9, gelu, conv_transpose 6 kernel 4", UC_ACCURACY_X3, 0, 0, true,
                 "algorithm: amx, x3");
    check_choice(chain, UC_ACCURACY_X3, 0, 0, false, missing);
    /* Weights with the channels' mean taken off would be no bf16. */
    static const char norm[] = "1x16x9x9, conv_transpose 6 kernel 4, layernorm_channel 1e-05";
    char *wide = check_text("f32 %s", norm), *half = check_text("bf16 %s", norm);
    check_choice(wide, UC_ACCURACY_X3, 0, 0, true, "amx, x3, by phases, weights centred");
    check_choice(half, UC_ACCURACY_STRICT, 0, 0, true, "amx, of bf16 as it is, by phases\n");
    free(wide);
    free(half);
    setenv("UPCONV_ALGORITHM", "direct", 1);
    check_choice(bf16, UC_ACCURACY_BF16, 0, 0, true, "amx: it was not asked for");
    setenv("UPCONV_ALGORITHM", "winograd", 1);
    check_choice(bf16, UC_ACCURACY_BF16, 0, 0, true, "amx: it was not asked for");
    unsetenv("UPCONV_ALGORITHM");
}

/* Weights that are not finite are multiplied by what taps read alone; and a bias may be so small
 * that AMX would take it for 0. */
static void check_weights(void) {
    struct scene scene = scene_new("bf16 1x16x5x6, conv_transpose 4 kernel 3", FAMILY_NORMAL);
    element_set(UC_BF16, scene.data.operand[0].data, 5, (double)INFINITY);
    scene_expect(&scene);
    const uc_options options = UC_OPTIONS_INIT;
    if (kernels)
        scene_says(&scene, &options, "rejected:  amx: some weights are not finite");
    check_values(&scene, 0, "an infinite weight");
    scene_free(&scene);
    scene = scene_new("bf16 1x16x5x6, conv_transpose 4 kernel 3 bias", FAMILY_NORMAL);
    scale_all(&scene.data.operand[0], UC_BF16, 0);
    scale_all(&scene.data.operand[1], UC_BF16, 1e-39);
    scene_expect(&scene);
    check_values(&scene, 0, "a denormal bias");
    scene_free(&scene);
}

/* Without AMX an accuracy is a permission that nobody uses. */
static void check_without(void) {
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct scene scene = scene_new(chains[i], FAMILY_NORMAL);
        const uc_options strict = UC_OPTIONS_INIT;
        struct buffer expected = output_of(&scene, &strict);
        for (size_t a = 1; a < ACCURACIES; a++) {
            const uc_options options = options_for(accuracies[a].accuracy, UC_ALGORITHM_AUTO);
            struct buffer output = output_of(&scene, &options);
            check_same(scene.text, &expected, &output);
            scene_says(&scene, &options, "rejected:  amx: ");
            buffer_free(&output);
        }
        buffer_free(&expected);
        scene_free(&scene);
    }
}

int main(void) {
    unsetenv("UPCONV_ALGORITHM");
    unsetenv("UPCONV_ISA");
    kernels = uc_cpu_amx();
    printf("AMX: %s\n", kernels ? "here" : "left out, this CPU does not have it");
    if (kernels)
        check_kernels();
    else
        check_without();
    check_exact_chains();
    check_chains();
    check_blocks();
    check_random();
    golden_each(visit_golden);
    check_operators();
    check_extremes();
    check_weights();
    check_choices();
    return check_done();
}
