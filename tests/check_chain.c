/* Chains: what the text form takes and refuses, exact round trips, shapes, operands, FLOPs.
 * Run by CTest. */
#include "generate.h"
#include "params.h"
#include "run.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONV ", conv_transpose 2 kernel 3"

static const char *const malformed[] = {
    /* no input, or half of one */
    "",
    " ",
    ",",
    "f32",
    "1x2x3x4",
    "f32 " CONV,
    "f32,",
    "f32 1x2x3x4, ,",
    CONV,
    "conv_transpose",
    "f31 1x2x3" CONV,
    "F32 1x2x3" CONV,
    "float 1x2x3" CONV,
    "f32f64 1x2x3" CONV,
    "f321x2x3" CONV,
    "f32 f32 1x2x3" CONV,
    "f32 1x2x3 4" CONV,
    /* shapes that aren't */
    "f32 1x2" CONV,
    "f32 1" CONV,
    "f32 1x2x3x4x5x6" CONV,
    "f32 1x2x" CONV,
    "f32 x1x2x3" CONV,
    "f32 1xx2x3" CONV,
    "f32 1x-2x3" CONV,
    "f32 1x+2x3" CONV,
    "f32 1x2.0x3" CONV,
    "f32 1x2e1x3" CONV,
    "f32 1X2X3" CONV,
    "f32 1 x 2 x 3" CONV,
    "f32 1x0x3" CONV,
    "f32 1x2x0" CONV,
    "f32 1x2x3x0x4" CONV,
    "f32 1x2x99999999999999999999" CONV,
    "f32 1x0x10x3x3" CONV,
    "f32 0x1x18446744073709551615" CONV,
    "f32 1x2x0b3" CONV,
    /* no convolution, two of them, one that says too little or too much */
    "f32 1x2x3",
    "f32 1x2x3, gelu",
    "f32 1x2x9" CONV CONV,
    "f32 1x2x3, conv_transpose",
    "f32 1x2x3, conv_transpose 2",
    "f32 1x2x3, conv_transpose kernel 3",
    "f32 1x2x3, conv_transpose 0 kernel 3",
    "f32 1x2x3, conv_transpose -2 kernel 3",
    "f32 1x2x3, conv_transpose 2.5 kernel 3",
    "f32 1x2x3, conv_transpose 2 kernel",
    "f32 1x2x3, conv_transpose 2 kernel 0",
    "f32 1x2x3, conv_transpose 2 kernel 3 kernel 3",
    "f32 1x2x3" CONV " stride",
    "f32 1x2x3" CONV " stride 0",
    "f32 1x2x3" CONV " stride 2 stride 2",
    "f32 1x2x3" CONV " padding x",
    "f32 1x2x3" CONV " padding -1",
    "f32 1x2x3" CONV " padding 9",
    "f32 1x2x3" CONV " output_padding 1",
    "f32 1x2x3" CONV " stride 2 output_padding 2",
    "f32 1x2x3" CONV " bias bias",
    "f32 1x2x3" CONV " bias b",
    "f32 1x2x3" CONV " dilation 2",
    "f32 1x2x3" CONV " kernel3",
    "f32 1x2x3, conv_transpose 2 kernel 3x3",
    "f32 1x2x3x4, conv_transpose 2 kernel 3x3x3",
    "f32 1x2x3x4x5, conv_transpose 2 kernel 3x3",
    "f32 1x2x3" CONV " padding 9223372036854775808",
    "f32 1x2x3, conv_transpose 2 3",
    "f32 1x2x3, conv_transpose 2 kernel 4611686018427387904",
    "f32 1x2x3" CONV " stride 9223372036854775807",
    /* ops that are unknown, or have the wrong arguments */
    "f32 1x2x3, relu6" CONV,
    "f32 1x2x3, GELU" CONV,
    "f32 1x2x3" CONV ", ",
    "f32 1x2x3" CONV ",,gelu",
    "f32 1x2x3" CONV ", gelu 1",
    "f32 1x2x3" CONV ", gelu,",
    "f32 1x2x3" CONV ", sigmoid x",
    "f32 1x2x3" CONV " gelu",
    "f32 1x2x3" CONV "; gelu",
    "f32 1x2x3" CONV ", add",
    "f32 1x2x3" CONV ", add 1 2",
    "f32 1x2x3" CONV ", add 1,5",
    "f32 1x2x3" CONV ", add 1.2.3",
    "f32 1x2x3" CONV ", add a-b",
    "f32 1x2x3" CONV ", add 1e",
    "f32 1x2x3" CONV ", mul",
    "f32 1x2x3" CONV ", mul 9z",
    "f32 1x2x3" CONV ", mul a b",
    "f32 1x2x3" CONV ", clamp",
    "f32 1x2x3" CONV ", clamp 1",
    "f32 1x2x3" CONV ", clamp 1 2 3",
    "f32 1x2x3" CONV ", clamp a 2",
    "f32 1x2x3" CONV ", layernorm_channel",
    "f32 1x2x3" CONV ", layernorm_channel eps",
    "f32 1x2x3" CONV ", layernorm_channel 1e-5 2",
    "f32 1x2x3" CONV ", avgpool",
    "f32 1x2x3" CONV ", avgpool 0",
    "f32 1x2x3" CONV ", avgpool 6",
    "f32 1x2x3" CONV ", avgpool 2x2",
    "f32 1x2x3" CONV ", avgpool -1",
    "f32 1x2x3" CONV ", maxpool 0",
    "f32 1x2x3" CONV ", maxpool 99",
    "f32 1x2x3" CONV ", maxpool 1.5",
    "f32 1x2x3" CONV ", maxpool 2 2",
    "f32 1x2x3, maxpool 4" CONV,
    "f32 1x2x3, avgpool 2, avgpool 2" CONV,
    "f32 1x2x3" CONV ", softmax",
    "f32 1x2x3" CONV ", softmax_channel 1",
    "f32 1x2x3" CONV ", softmax_space 2",
    "f32 1x2x3" CONV ", sum_channel 0",
    /* operands */
    "f32 1x2x3" CONV ", add b, mul b",
    "f32 1x2x3" CONV ", add kernel",
    "f32 1x2x3" CONV ", add input",
    "f32 1x2x3" CONV ", mul output",
    "f32 1x2x3" CONV " bias, add conv_bias",
    "f32 1x2x3, add conv_bias" CONV " bias",
    "f32 1x2x3" CONV ", add \xC3\xA4",
    "f32 1x2x3" CONV ", add nan(1)",
    "f32 1x2x3" CONV ", add a_name_that_is_much_too_long_to_be_of_any_use_to_anybody",
};

static void check_malformed(void) {
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        uc_chain *chain = (uc_chain *)&chain;
        const uc_status status = uc_chain_parse(malformed[i], &chain);
        CHECK(status == UC_INVALID, "'%s': %s", malformed[i], uc_status_string(status));
        CHECK(!chain, "'%s': *chain is not NULL", malformed[i]);
        CHECK(uc_last_error()[0] && !strchr(uc_last_error(), '\n'), "'%s': '%s'", malformed[i],
              uc_last_error());
    }
}

/* As many stages as it takes: refused at some point, and never a crash. */
static void check_long_texts(void) {
    enum { STAGES = 5000 };
    char *text = check_alloc(64 + STAGES * 8);
    strcpy(text, "f32 1x2x3" CONV);
    for (int i = 0; i < STAGES; i++)
        strcat(text, ", gelu");
    uc_chain *chain = NULL;
    check_status("5000 stages", UC_INVALID, uc_chain_parse(text, &chain));
    memset(text, '9', 64 + STAGES * 8 - 1);
    text[64 + STAGES * 8 - 1] = 0;
    check_status("40000 digits", UC_INVALID, uc_chain_parse(text, &chain));
    CHECK(!chain, "a chain of nonsense");
    free(text);
}

/* Spaces and lines don't matter, sizes may be one or one each, defaults may be said. */
static void check_spellings(void) {
    static const char *const same[][2] = {
        {"f32 1x2x3x4, conv_transpose 2 kernel 3", "f32 1x2x3x4,conv_transpose 2 kernel 3x3"},
        {"f32 1x2x3x4, conv_transpose 2 kernel 3",
         " f32\n1x2x3x4 ,\tconv_transpose  2 kernel 3 stride 1 padding 0x0 output_padding 0 "},
        {"f32 1x2x9, conv_transpose 2 kernel 3 stride 2 padding 1 output_padding 1 bias",
         "f32 1x2x9, conv_transpose 2 bias output_padding 1 padding 1 stride 2 kernel 3"},
        {"f64 1x2x9, conv_transpose 2 kernel 3, add 100", "f64 1x2x9, conv_transpose 2 kernel 3, "
                                                          "add 1e2"},
        {"f16 1x2x9, conv_transpose 2 kernel 3, avgpool 2",
         "f16 1x2x9, conv_transpose 2 kernel 3, avgpool 02"},
        {"f16 1x2x4x4x4, conv_transpose 2 kernel 3, maxpool 1x2x3",
         "f16 1x2x4x4x4, conv_transpose 2 kernel 3x3x3, maxpool 1x2x3"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        uc_chain *first = NULL, *second = NULL;
        check_status(same[i][0], UC_OK, uc_chain_parse(same[i][0], &first));
        check_status(same[i][1], UC_OK, uc_chain_parse(same[i][1], &second));
        char *one = run_text(first), *other = run_text(second);
        CHECK(strcmp(one, same[i][0]) == 0, "'%s' prints as '%s'", same[i][0], one);
        CHECK(strcmp(one, other) == 0, "'%s' is not '%s'", one, other);
        free(one);
        free(other);
        uc_chain_destroy(first);
        uc_chain_destroy(second);
    }
}

/* parse(print(chain)) prints the same, and says what the problem says. */
static void check_round_trip(const struct problem *problem) {
    size_t elems[MOST_OPERANDS];
    const size_t operands = problem_operands(problem, elems);
    const struct extent extent = problem_output(problem);
    uc_chain *chain = run_parse(problem), *again = NULL;
    if (!chain)
        return;
    char *text = run_text(chain);
    check_status(text, UC_OK, uc_chain_parse(text, &again));
    char *second = run_text(again);
    CHECK(strcmp(text, second) == 0, "'%s' comes back as '%s'", text, second);

    const uc_shape out = uc_chain_output(again), in = uc_chain_input(again);
    CHECK(uc_chain_dtype(again) == problem->dtype, "%s: the element type changed", text);
    CHECK(in.ndim == 2 + problem->dims && out.ndim == in.ndim, "%s: dimensions", text);
    CHECK(in.dim[0] == problem->batch && in.dim[1] == problem->channels, "%s: input", text);
    CHECK(out.dim[0] == problem->batch && out.dim[1] == extent.channels, "%s: output", text);
    for (size_t d = 0; d < problem->dims; d++) {
        CHECK(in.dim[2 + d] == problem->size[3 - problem->dims + d], "%s: input size %zu", text, d);
        CHECK(out.dim[2 + d] == extent.size[3 - problem->dims + d], "%s: output size %zu", text, d);
    }
    CHECK(uc_chain_operand_count(again) == operands, "%s: %zu operands", text,
          uc_chain_operand_count(again));
    for (size_t i = 0; i < operands; i++) {
        const uc_operand operand = uc_chain_operand(again, i);
        size_t product = 1;
        for (size_t d = 0; d < operand.shape.ndim; d++)
            product *= operand.shape.dim[d];
        CHECK(operand.name && product == elems[i], "%s: operand %zu has %zu elements", text, i,
              product);
    }
    CHECK(!uc_chain_operand(again, operands).name, "%s: an operand past the last", text);
    free(second);
    free(text);
    uc_chain_destroy(chain);
    uc_chain_destroy(again);
}

/* A number comes back with every bit. */
static void check_number(double value) {
    char *text = check_text("f64 1x2x3" CONV ", add %.17g", value);
    uc_chain *chain = NULL;
    if (check_status(text, UC_OK, uc_chain_parse(text, &chain))) {
        char *printed = run_text(chain);
        const double got = strtod(strstr(printed, "add ") + 4, NULL);
        CHECK(isnan(value) ? isnan(got) : got == value && signbit(got) == signbit(value),
              "%.17g comes back as '%s'", value, printed);
        free(printed);
    }
    uc_chain_destroy(chain);
    free(text);
}

static void check_numbers(void) {
    const double values[] = {0,
                             -0.0,
                             1,
                             0.1,
                             1e-5,
                             1.0 / 3,
                             1e-300,
                             1e300,
                             DBL_MIN,
                             DBL_MAX,
                             DBL_EPSILON,
                             DBL_TRUE_MIN,
                             -DBL_MAX,
                             (double)INFINITY,
                             -(double)INFINITY,
                             (double)NAN,
                             123456789012345678.0,
                             5e-324};
    struct rng rng = {17};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        check_number(values[i]);
    for (int i = 0; i < 2000; i++) {
        const uint64_t bits = rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        check_number(value);
    }
}

/* A user's locale must not change the text. CMake makes one with a decimal comma where it can, and
 * says so by LOCPATH; where the machine has none, only the C locale is tried, and the line below
 * says so. */
static void check_locale(void) {
    static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                             "fr_FR.utf8",  "cs_CZ.utf8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof with_comma / sizeof *with_comma && !found; i++)
        found = setlocale(LC_ALL, with_comma[i]);
    CHECK(found || !getenv("LOCPATH"), "no locale with a comma, though LOCPATH is set");
    CHECK(!found || *localeconv()->decimal_point == ',', "no comma in %s", found ? found : "C");
    uc_chain *chain = NULL;
    check_status("0.5", UC_OK, uc_chain_parse("f32 1x2x3" CONV ", add 0.5", &chain));
    char *text = run_text(chain);
    CHECK(strcmp(text, "f32 1x2x3" CONV ", add 0.5") == 0, "'%s' in locale %s", text,
          found ? found : "C");
    printf("decimal comma: %s\n", found ? found : "no such locale on this machine");
    setlocale(LC_ALL, "C");
    free(text);
    uc_chain_destroy(chain);
}

/* Like snprintf: any buffer size, always closed, never beyond. */
static void check_short_buffers(void) {
    uc_chain *chain = NULL;
    check_status("parse", UC_OK, uc_chain_parse("bf16 1x2x3x4" CONV " bias, add b, gelu", &chain));
    char *whole = run_text(chain);
    const size_t length = strlen(whole);
    for (size_t bytes = 0; bytes <= length + 2; bytes++) {
        struct buffer buffer = buffer_new(bytes, 1, GUARD_PAGE_END);
        CHECK(uc_chain_text(chain, buffer.data, bytes) == length, "another length at %zu", bytes);
        CHECK(buffer_intact(&buffer), "written before the buffer");
        const size_t kept = bytes > length ? length : bytes ? bytes - 1 : 0;
        CHECK(bytes == 0 || (strlen(buffer.data) == kept && !memcmp(buffer.data, whole, kept)),
              "wrong text in %zu bytes", bytes);
        buffer_free(&buffer);
    }
    CHECK(uc_chain_text(chain, NULL, 100) == length, "no buffer at all");
    free(whole);
    uc_chain_destroy(chain);
}

static void check_create(void) {
    const uc_shape good = {4, {1, 2, 3, 4}};
    const uc_shape bad[] = {{2, {1, 2}},
                            {0, {0}},
                            {6, {1, 2, 3, 4, 5}},
                            {SIZE_MAX, {1, 2, 3}},
                            {4, {1, 0, 3, 4}},
                            {4, {1, 2, 0, 4}},
                            {4, {1, 2, 3, 0}},
                            {4, {SIZE_MAX, 2, 3, 4}},
                            {5, {1, 2, 3, 4, SIZE_MAX / 2}}};
    uc_chain *chain = NULL;
    check_status("no chain pointer", UC_INVALID, uc_chain_create(UC_F32, &good, NULL));
    check_status("no shape", UC_INVALID, uc_chain_create(UC_F32, NULL, &chain));
    check_status("no such type", UC_INVALID, uc_chain_create((uc_dtype)4, &good, &chain));
    check_status("no such type", UC_INVALID, uc_chain_create((uc_dtype)-1, &good, &chain));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        chain = (uc_chain *)&chain;
        check_status("bad shape", UC_INVALID, uc_chain_create(UC_F32, &bad[i], &chain));
        CHECK(!chain, "bad shape %zu: *chain is not NULL", i);
    }
    check_status("no text", UC_INVALID, uc_chain_parse(NULL, &chain));
    check_status("no chain pointer", UC_INVALID, uc_chain_parse("f32 1x2x3" CONV, NULL));
}

/* Stages one by one give what parsing gives; a bad one leaves the chain as it was. */
static void check_add(void) {
    static const char *const bad[] = {"",       "gelu, gelu", "gelu,", "conv_transpose 4 kernel 2",
                                      "add b",  "maxpool 50", "add",   "tanh",
                                      ", gelu", "f32 1x2x3"};
    const uc_shape shape = {4, {1, 2, 3, 4}};
    uc_chain *chain = NULL;
    check_status("create", UC_OK, uc_chain_create(UC_F32, &shape, &chain));
    check_status("conv", UC_OK, uc_chain_add(chain, "conv_transpose 3 kernel 3 stride 2 bias"));
    check_status("add", UC_OK, uc_chain_add(chain, " add b "));
    char *before = run_text(chain);
    CHECK(strcmp(before, "f32 1x2x3x4, conv_transpose 3 kernel 3 stride 2 bias, add b") == 0,
          "'%s'", before);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_status(bad[i], UC_INVALID, uc_chain_add(chain, bad[i]));
        char *after = run_text(chain);
        CHECK(strcmp(before, after) == 0, "'%s' made '%s'", bad[i], after);
        CHECK(uc_chain_operand_count(chain) == 3, "'%s' left an operand", bad[i]);
        free(after);
    }
    check_status("no stage", UC_INVALID, uc_chain_add(chain, NULL));
    check_status("no chain", UC_INVALID, uc_chain_add(NULL, "gelu"));
    free(before);
    uc_chain_destroy(chain);
}

static void check_null_chain(void) {
    char text[4] = "abc";
    CHECK(uc_chain_text(NULL, text, sizeof text) == 0, "text of no chain");
    CHECK(uc_chain_input(NULL).ndim == 0 && uc_chain_output(NULL).ndim == 0, "shape of no chain");
    CHECK(uc_chain_operand_count(NULL) == 0 && !uc_chain_operand(NULL, 0).name, "operand of none");
    CHECK(uc_chain_flops(NULL) == 0, "FLOPs of no chain");
    uc_chain_dtype(NULL);
    uc_chain_destroy(NULL);
}

/* Pairs (i, k) along one dimension that reach an output below `needed`, counted one by one. */
static double count_taps(const struct stage *conv, size_t d, size_t in, size_t needed) {
    size_t count = 0;
    for (size_t i = 0; i < in; i++)
        for (size_t k = 0; k < conv->kernel[d]; k++) {
            const size_t o = i * conv->stride[d] + k;
            count += o >= conv->padding[d] && o - conv->padding[d] < needed;
        }
    return (double)count;
}

static void check_flops(const struct problem *problem) {
    size_t at = 0;
    while (problem->stage[at].kind != STAGE_CONV)
        at++;
    const struct extent in = problem_extent(problem, at), out = problem_output(problem);
    const struct stage *conv = &problem->stage[at];
    double expected = 2 * (double)problem->batch * (double)in.channels * (double)conv->out_channels;
    for (size_t d = 0; d < 3; d++) {
        size_t needed = out.size[d];
        for (size_t i = at + 1; i < problem->stage_count; i++)
            if (problem->stage[i].kind == STAGE_AVGPOOL || problem->stage[i].kind == STAGE_MAXPOOL)
                needed *= problem->stage[i].kernel[d];
        expected *= count_taps(conv, d, in.size[d], needed);
    }
    uc_chain *chain = run_parse(problem);
    char *text = run_text(chain);
    CHECK(uc_chain_flops(chain) == expected, "%s: %.17g FLOPs, not %.17g", text,
          uc_chain_flops(chain), expected);
    free(text);
    uc_chain_destroy(chain);
}

/* The specification's table of default shapes. */
static void check_defaults(void) {
    static const struct {
        const char *slug, *output;
        double gflop;
    } table[] = {
        {"conv-transpose3d-avgpool-clamp-softmax-multiply", "32x64x32x64x64", 55.6},
        {"conv-transpose3d-max-max-sum", "16x1x10x10x10", 216.8},
        {"conv-transpose3d-sum-layernorm-avgpool-gelu", "32x64x16x32x32", 55.6},
        {"conv-transpose2d-softmax-biasadd-scaling-sigmoid", "128x128x129x129", 136.4},
        {"conv-transpose3d-layernorm-gelu-scaling", "32x64x32x64x64", 129.0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uc_operator_params values;
        uc_chain *chain = NULL;
        check_status(table[i].slug, UC_OK, uc_operator_defaults(table[i].slug, &values));
        check_status(table[i].slug, UC_OK,
                     uc_operator_chain(table[i].slug, UC_F32, &values, &chain));
        const uc_shape out = uc_chain_output(chain);
        char shape[100] = "";
        for (size_t d = 0; d < out.ndim; d++)
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%zu", d ? "x" : "",
                     out.dim[d]);
        CHECK(strcmp(shape, table[i].output) == 0, "%s: output %s", table[i].slug, shape);
        CHECK(fabs(uc_chain_flops(chain) / 1e9 - table[i].gflop) <= 0.051, "%s: %g GFLOP, not %g",
              table[i].slug, uc_chain_flops(chain) / 1e9, table[i].gflop);
        uc_chain_destroy(chain);
    }
}

static void check_slugs(void) {
    uc_operator_params values = params_small();
    uc_chain *chain = NULL;
    const char *slug = operators[0].slug;
    check_status("slug", UC_INVALID, uc_operator_defaults("conv-transpose4d", &values));
    CHECK(strstr(uc_last_error(), "conv-transpose4d"), "'%s'", uc_last_error());
    check_status("no slug", UC_INVALID, uc_operator_defaults(NULL, &values));
    check_status("no params", UC_INVALID, uc_operator_defaults(slug, NULL));
    check_status("slug", UC_INVALID, uc_operator_chain("gelu", UC_F32, &values, &chain));
    check_status("no slug", UC_INVALID, uc_operator_chain(NULL, UC_F32, &values, &chain));
    check_status("no params", UC_INVALID, uc_operator_chain(slug, UC_F32, NULL, &chain));
    check_status("no chain", UC_INVALID, uc_operator_chain(slug, UC_F32, &values, NULL));
    check_status("type", UC_INVALID, uc_operator_chain(slug, (uc_dtype)9, &values, &chain));
    CHECK(!chain, "a chain although it failed");
}

int main(void) {
    struct rng rng = {23};
    check_malformed();
    check_long_texts();
    check_spellings();
    check_numbers();
    check_locale();
    check_short_buffers();
    check_create();
    check_add();
    check_null_chain();
    check_defaults();
    check_slugs();
    for (int i = 0; i < 500; i++) {
        const struct problem problem = problem_random(&rng);
        check_round_trip(&problem);
        check_flops(&problem);
    }
    return check_done();
}
