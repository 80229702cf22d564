/* Memory: nothing outside the buffers is read or written, inputs stay as they are, every output
 * element is written, at any alignment that the element allows. Run by CTest. */
#include "call.h"
#include "generate.h"
#include "params.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum guard guards[] = {GUARD_ALIGNED, GUARD_MISALIGNED, GUARD_PAGE_END,
                                    GUARD_PAGE_START};
enum { GUARDS = sizeof guards / sizeof *guards };

/* The same bits whatever was in the output before and wherever the buffers lie: then each element
 * was written, and nothing that came from outside an input got in. */
static void compare_runs(const char *label, const struct buffer outputs[], size_t count) {
    for (size_t i = 1; i < count; i++)
        CHECK(memcmp(outputs[0].data, outputs[i].data, outputs[0].bytes) == 0,
              "%s: run %zu differs from run 0", label, i);
}

static void check_inputs(const char *label, const struct data *data, uint64_t hash_before) {
    CHECK(data_intact(data), "%s: written next to an input", label);
    CHECK(data_hash(data) == hash_before, "%s: an input changed", label);
}

static void check_operator(const struct operator_info *op, uc_dtype dtype) {
    const uc_operator_params values = params_small();
    const struct problem problem = problem_of_operator(op->slug, dtype, &values);
    char *label = check_text("%s %s", op->slug, uc_dtype_name(dtype));
    struct buffer outputs[GUARDS];
    for (size_t i = 0; i < GUARDS; i++) {
        struct data data = data_new(&problem, guards[i]);
        data_fill(&data, &problem, 7, FAMILY_NORMAL);
        const uint64_t hash = data_hash(&data);
        outputs[i] = output_new(&problem, guards[i]);
        memset(outputs[i].data, i % 2 ? 0x00 : 0xFF, outputs[i].bytes);
        check_status(label, UC_OK,
                     call_operator(op->slug, dtype, &values, data.input.data, data.operands,
                                   outputs[i].data));
        CHECK(buffer_intact(&outputs[i]), "%s: written outside the output", label);
        check_inputs(label, &data, hash);
        data_free(&data);
    }
    compare_runs(label, outputs, GUARDS);
    for (size_t i = 0; i < GUARDS; i++)
        buffer_free(&outputs[i]);
    free(label);
}

/* Plans own what they need: operands are unmapped before the plan runs, and the workspace is
 * exactly as large as was asked for. */
static void check_plan(const struct problem *problem) {
    char *text = problem_text(problem);
    struct buffer outputs[GUARDS];
    for (size_t i = 0; i < GUARDS; i++) {
        struct data data = data_new(problem, guards[i]);
        data_fill(&data, problem, 11, FAMILY_NORMAL);
        const uint64_t hash = data_hash(&data);
        outputs[i] = output_new(problem, guards[i]);
        memset(outputs[i].data, i % 2 ? 0x00 : 0xFF, outputs[i].bytes);
        uc_chain *chain = run_parse(problem);
        uc_plan *plan = NULL;
        check_status(text, UC_OK, uc_plan_create(chain, data.operands, NULL, &plan));
        uc_chain_destroy(chain);
        check_inputs(text, &data, hash);
        for (size_t k = 0; k < data.operand_count; k++)
            buffer_free(&data.operand[k]);
        data.operand_count = 0;
        const uint64_t input_hash = data_hash(&data);

        struct buffer workspace = buffer_new(uc_plan_workspace_bytes(plan), 1, guards[i]);
        memset(workspace.data, 0xFF, workspace.bytes);
        check_status(text, UC_OK,
                     uc_plan_execute(plan, data.input.data, outputs[i].data, workspace.data));
        CHECK(buffer_intact(&outputs[i]), "%s: written outside the output", text);
        CHECK(buffer_intact(&workspace), "%s: written outside the workspace", text);
        check_inputs(text, &data, input_hash);
        buffer_free(&workspace);
        uc_plan_destroy(plan);
        data_free(&data);
    }
    compare_runs(text, outputs, GUARDS);
    for (size_t i = 0; i < GUARDS; i++)
        buffer_free(&outputs[i]);
    free(text);
}

/* The oracle keeps within its buffers too. */
static void check_oracle(const struct problem *problem) {
    struct data data = data_new(problem, GUARD_PAGE_END);
    data_fill(&data, problem, 13, FAMILY_NORMAL);
    const uint64_t hash = data_hash(&data);
    uc_chain *chain = run_parse(problem);
    struct buffer output = buffer_new(extent_elems(problem_output(problem)) * sizeof(double),
                                      sizeof(double), GUARD_PAGE_START);
    check_status("uc_chain_reference", UC_OK,
                 uc_chain_reference(chain, data.input.data, data.operands, output.data));
    CHECK(buffer_intact(&output), "the oracle wrote outside its output");
    check_inputs("oracle", &data, hash);
    buffer_free(&output);
    uc_chain_destroy(chain);
    data_free(&data);
}

/* The input read where it is, and elements that are loaded and stored one by one. */
static const char *const chains[] = {
    "f32 2x20x9x21, conv_transpose 1 kernel 4 stride 2 padding 1 bias",
    "f64 1x17x3x5x19, conv_transpose 3 kernel 3x2x5 stride 2x1x3 padding 1x0x2",
    "f32 1x130x1x8, conv_transpose 2 kernel 1x3",
    "f32 1x16x19261, conv_transpose 1 kernel 3, avgpool 64",
    "f32 1x3x2x4, avgpool 1, conv_transpose 2 kernel 3",
    "f32 2x3x20x40, conv_transpose 20 kernel 4 stride 2 padding 1, gelu",
    "bf16 1x48x6x18x34, avgpool 2, conv_transpose 48 kernel 4 stride 2 padding 1",
    "f32 1x3x4x2, maxpool 1, conv_transpose 2 kernel 3",
    "f64 1x3x2x2, maxpool 1x2, conv_transpose 2 kernel 3",
    "f32 1x1x1x1, conv_transpose 1 kernel 2x1000 stride 1x1152921504606846976, avgpool 2x1",
    "f16 1x40x60x1, conv_transpose 24 kernel 4 stride 2 padding 1",
    "f32 1x16x65x48, conv_transpose 180 kernel 4 stride 2 padding 1, clamp 0 1, softmax_space",
    "f16 1x1x400x401, conv_transpose 1 kernel 2 stride 2, clamp 0 2, softmax_space, mul scale",
};

int main(int argc, char **argv) {
    const size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    struct rng rng = {3};
    for (size_t i = 0; i < operator_total; i++)
        for (int dtype = UC_F32; dtype <= UC_BF16; dtype++)
            check_operator(&operators[i], (uc_dtype)dtype);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct problem problem;
        if (CHECK(problem_parse(chains[i], &problem), "'%s'", chains[i]))
            check_plan(&problem);
    }
    for (size_t i = 0; i < count; i++) {
        const struct problem problem = problem_random(&rng);
        check_plan(&problem);
        check_oracle(&problem);
    }
    return check_done();
}
