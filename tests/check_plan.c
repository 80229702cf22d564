/* Plans: what options and calls they refuse, what they survive, and the small calls of part 1.
 * Run by CTest. */
#include "data.h"
#include "params.h"
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A chain with its data, ready to be planned. */
struct scene {
    struct problem problem;
    uc_chain *chain;
    struct data data;
};

static struct scene scene_new(const char *text) {
    struct scene scene = {.chain = NULL};
    CHECK(problem_parse(text, &scene.problem), "'%s' can't be read", text);
    scene.chain = run_parse(&scene.problem);
    scene.data = data_new(&scene.problem, GUARD_ALIGNED);
    data_fill(&scene.data, &scene.problem, 1, FAMILY_NORMAL);
    return scene;
}

static void scene_free(struct scene *scene) {
    uc_chain_destroy(scene->chain);
    data_free(&scene->data);
}

/* Tries to plan; where that must fail, the message has to name what was wrong. */
static void expect_plan(const char *label, const struct scene *scene, const uc_options *options,
                        uc_status expected, const char *name) {
    uc_plan *plan = (uc_plan *)&plan;
    if (check_status(label, expected,
                     uc_plan_create(scene->chain, scene->data.operands, options, &plan)) &&
        expected != UC_OK) {
        CHECK(!plan, "%s: *plan is not NULL", label);
        CHECK(strstr(uc_last_error(), name), "%s: '%s' does not name %s", label, uc_last_error(),
              name);
    }
    if (expected == UC_OK)
        uc_plan_destroy(plan);
}

static void check_options(const struct scene *scene) {
    const uc_options good = UC_OPTIONS_INIT;
    uc_options options = good;
    expect_plan("defaults", scene, NULL, UC_OK, "");
    expect_plan("UC_OPTIONS_INIT", scene, &good, UC_OK, "");
    options.isa = UC_ISA_PORTABLE;
    options.threads = 3;
    expect_plan("portable", scene, &options, UC_OK, "");
    options = good;
    options.threads = SIZE_MAX;
    expect_plan("threads", scene, &options, UC_INVALID, "threads");
    options = good;
    options.accuracy = (uc_accuracy)77;
    expect_plan("accuracy", scene, &options, UC_INVALID, "accuracy");
    options = good;
    options.isa = (uc_isa)77;
    expect_plan("isa", scene, &options, UC_INVALID, "isa");
    options = good;
    options.algorithm = (uc_algorithm)77;
    expect_plan("algorithm", scene, &options, UC_INVALID, "algorithm");
    options = good;
    options.struct_bytes = offsetof(uc_options, algorithm); /* what came after it is not read */
    options.algorithm = (uc_algorithm)77;
    expect_plan("the first version's options", scene, &options, UC_OK, "");
    const size_t wrong_bytes[] = {0, 1, sizeof good - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong_bytes / sizeof *wrong_bytes; i++) {
        options = good;
        options.struct_bytes = wrong_bytes[i];
        expect_plan("struct_bytes", scene, &options, UC_INVALID, "struct_bytes");
    }
}

/* A later header may have more fields: fine as long as they are 0, which means default. */
static void check_longer_options(const struct scene *scene) {
    struct {
        uc_options options;
        size_t later[4];
    } longer = {UC_OPTIONS_INIT, {0}};
    longer.options.struct_bytes = sizeof longer;
    expect_plan("longer options", scene, &longer.options, UC_OK, "");
    longer.later[3] = 1;
    expect_plan("options from the future", scene, &longer.options, UC_UNSUPPORTED, "options");
}

static void check_plan_arguments(const struct scene *scene) {
    const struct data *data = &scene->data;
    uc_plan *plan = (uc_plan *)&plan;
    check_status("no chain", UC_INVALID, uc_plan_create(NULL, data->operands, NULL, &plan));
    CHECK(!plan, "no chain: *plan is not NULL");
    check_status("no operands", UC_INVALID, uc_plan_create(scene->chain, NULL, NULL, &plan));
    check_status("no plan", UC_INVALID, uc_plan_create(scene->chain, data->operands, NULL, NULL));
    for (size_t i = 0; i < data->operand_count; i++) {
        const void *operands[MOST_OPERANDS];
        memcpy(operands, data->operands, sizeof operands);
        operands[i] = NULL;
        plan = (uc_plan *)&plan;
        check_status("NULL operand", UC_INVALID,
                     uc_plan_create(scene->chain, operands, NULL, &plan));
        CHECK(!plan, "NULL operand: *plan is not NULL");
        CHECK(strstr(uc_last_error(), uc_chain_operand(scene->chain, i).name), "'%s'",
              uc_last_error());
    }
    /* A chain without its convolution can be built, but says nothing that could be run. */
    const uc_shape shape = {4, {1, 2, 3, 4}};
    uc_chain *bare = NULL;
    double output[24];
    check_status("bare chain", UC_OK, uc_chain_create(UC_F32, &shape, &bare));
    check_status("bare chain", UC_INVALID, uc_plan_create(bare, data->operands, NULL, &plan));
    check_status("bare chain", UC_INVALID,
                 uc_chain_reference(bare, data->input.data, data->operands, output));
    uc_chain_destroy(bare);
}

static void expect_refused(const char *label, const struct buffer *output, uc_status status,
                           const char *name) {
    const unsigned char *bytes = output->data;
    size_t changed = 0;
    for (size_t i = 0; i < output->bytes; i++)
        changed += bytes[i] != 0x5A;
    check_status(label, UC_INVALID, status);
    CHECK(strstr(uc_last_error(), name), "%s: '%s' does not name %s", label, uc_last_error(), name);
    CHECK(changed == 0, "%s: %zu bytes of the output were touched", label, changed);
}

static void check_execute_arguments(const struct scene *scene) {
    struct buffer output = output_new(&scene->problem, GUARD_ALIGNED);
    void *input = scene->data.input.data;
    uc_plan *plan = NULL;
    check_status("plan", UC_OK, uc_plan_create(scene->chain, scene->data.operands, NULL, &plan));
    struct buffer workspace = buffer_new(uc_plan_workspace_bytes(plan), 1, GUARD_ALIGNED);
    memset(output.data, 0x5A, output.bytes);
    CHECK(workspace.bytes > 0, "no workspace at all");
    CHECK(uc_plan_workspace_bytes(NULL) == 0, "workspace of no plan");

    expect_refused("no plan", &output, uc_plan_execute(NULL, input, output.data, workspace.data),
                   "plan");
    expect_refused("no input", &output, uc_plan_execute(plan, NULL, output.data, workspace.data),
                   "input");
    expect_refused("no output", &output, uc_plan_execute(plan, input, NULL, workspace.data),
                   "output");
    expect_refused("no workspace", &output, uc_plan_execute(plan, input, output.data, NULL),
                   "workspace");
    expect_refused("output is the input", &output,
                   uc_plan_execute(plan, output.data, output.data, workspace.data), "overlap");
    expect_refused("output is the workspace", &output,
                   uc_plan_execute(plan, input, output.data, output.data), "overlap");
    check_status("all there", UC_OK, uc_plan_execute(plan, input, output.data, workspace.data));
    uc_plan_destroy(plan);
    uc_plan_destroy(NULL);
    buffer_free(&workspace);
    buffer_free(&output);
}

static void check_reference_arguments(const struct scene *scene) {
    const size_t elems = extent_elems(problem_output(&scene->problem));
    struct buffer output = buffer_new(elems * sizeof(double), sizeof(double), GUARD_ALIGNED);
    const void *input = scene->data.input.data, *const *operands = scene->data.operands;
    const void *none[MOST_OPERANDS] = {NULL};
    memset(output.data, 0x5A, output.bytes);
    expect_refused("no chain", &output, uc_chain_reference(NULL, input, operands, output.data),
                   "chain");
    expect_refused("no input", &output,
                   uc_chain_reference(scene->chain, NULL, operands, output.data), "input");
    expect_refused("no operands", &output,
                   uc_chain_reference(scene->chain, input, NULL, output.data), "operands");
    expect_refused("no kernel", &output, uc_chain_reference(scene->chain, input, none, output.data),
                   "kernel");
    expect_refused("no output", &output, uc_chain_reference(scene->chain, input, operands, NULL),
                   "output");
    expect_refused("output is the input", &output,
                   uc_chain_reference(scene->chain, output.data, operands, output.data), "overlap");
    buffer_free(&output);
}

/* A batch of nothing is planned and run like any other. */
static void check_empty_batch(void) {
    struct scene scene = scene_new("f32 0x2x5x5, conv_transpose 3 kernel 3, softmax_space, gelu");
    uc_plan *plan = NULL;
    double *reference = run_reference(scene.chain, &scene.data);
    check_status("plan", UC_OK, uc_plan_create(scene.chain, scene.data.operands, NULL, &plan));
    check_status("nothing to do", UC_OK, uc_plan_execute(plan, NULL, NULL, NULL));
    check_status("nothing to do", UC_OK,
                 uc_chain_reference(scene.chain, NULL, scene.data.operands, NULL));
    uc_plan_destroy(plan);
    free(reference);
    scene_free(&scene);
}

static void check_print(const struct scene *scene) {
    uc_plan *plan = NULL;
    FILE *file = tmpfile();
    check_status("plan", UC_OK, uc_plan_create(scene->chain, scene->data.operands, NULL, &plan));
    if (CHECK(file, "no temporary file")) {
        char line[4096] = "";
        char *text = run_text(scene->chain);
        uc_plan_print(plan, file);
        rewind(file);
        CHECK(fgets(line, sizeof line, file) && strstr(line, text),
              "'%s' does not begin with the chain", line);
        free(text);
        fclose(file);
    }
    uc_plan_print(NULL, stdout);
    uc_plan_print(plan, NULL);
    uc_plan_destroy(plan);
}

/* Part 1 of the header. */
static void check_small_calls(void) {
    static const struct {
        const char *name;
        size_t bytes;
    } dtypes[] = {{"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}};
    for (int i = 0; i < 4; i++) {
        CHECK(strcmp(uc_dtype_name((uc_dtype)i), dtypes[i].name) == 0, "type %d", i);
        CHECK(uc_dtype_bytes((uc_dtype)i) == dtypes[i].bytes, "type %d", i);
    }
    CHECK(!uc_dtype_name((uc_dtype)4) && uc_dtype_bytes((uc_dtype)4) == 0, "a fifth type");
    CHECK(!uc_dtype_name((uc_dtype)-1) && uc_dtype_bytes((uc_dtype)-1) == 0, "type -1");
    for (int status = -1; status <= UC_DEVICE + 1; status++)
        CHECK(uc_status_string((uc_status)status)[0], "status %d has no text", status);
    for (int status = UC_OK; status < UC_DEVICE; status++)
        CHECK(
            strcmp(uc_status_string((uc_status)status), uc_status_string((uc_status)(status + 1))),
            "status %d and the next have the same text", status);
    char *version = check_text("%d.%d.%d", UC_VERSION_MAJOR, UC_VERSION_MINOR, UC_VERSION_PATCH);
    CHECK(strcmp(uc_version(), version) == 0, "version %s is not %s", uc_version(), version);
    free(version);
}

/* One weight of many that is not finite is found wherever it is, by one thread or by several. */
static void check_weights_not_finite(void) {
    struct scene scene = scene_new("f32 1x64x12x16, conv_transpose 128 kernel 3 padding 1");
    const uc_operand kernel = uc_chain_operand(scene.chain, 0);
    size_t elems = 1;
    for (size_t i = 0; i < kernel.shape.ndim; i++)
        elems *= kernel.shape.dim[i];
    float *weights = malloc(elems * sizeof *weights);
    memcpy(weights, scene.data.operands[0], elems * sizeof *weights);
    struct scene planted = scene;
    planted.data.operands[0] = weights;
    const size_t places[] = {0, elems / 2 - 1, elems / 2, elems - 1};
    for (size_t i = 0; i < 4 * 2 * 2; i++) {
        float *weight = &weights[places[i % 4]];
        const float before = *weight;
        const uc_options options = {sizeof options, 1 + i / 4 % 2, UC_ACCURACY_STRICT, UC_ISA_AUTO,
                                    UC_ALGORITHM_WINOGRAD};
        expect_plan("finite weights", &planted, &options, UC_OK, "");
        *weight = i / 8 ? NAN : -INFINITY;
        expect_plan("a weight that is not finite", &planted, &options, UC_UNSUPPORTED, "finite");
        *weight = before;
    }
    free(weights);
    scene_free(&scene);
}

/* Success leaves the message of the last failure alone. */
static void check_last_error(const struct scene *scene) {
    check_status("no text", UC_INVALID, uc_chain_parse(NULL, &(uc_chain *){NULL}));
    char *before = check_text("%s", uc_last_error());
    expect_plan("good plan", scene, NULL, UC_OK, "");
    CHECK(strcmp(before, uc_last_error()) == 0, "'%s' became '%s'", before, uc_last_error());
    free(before);
}

int main(void) {
    struct scene scene =
        scene_new("f32 2x3x5x4, avgpool 2x1, conv_transpose 4 kernel 3 stride 2 bias, "
                  "add shift, softmax_space, mul scale");
    check_small_calls();
    check_options(&scene);
    check_longer_options(&scene);
    check_plan_arguments(&scene);
    check_execute_arguments(&scene);
    check_reference_arguments(&scene);
    check_empty_batch();
    check_print(&scene);
    check_weights_not_finite();
    check_last_error(&scene);
    scene_free(&scene);
    return check_done();
}
