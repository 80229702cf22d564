/* What a workspace held before never gets into arithmetic, not even into lanes that nobody looks
 * at: denormals there would let a product take a hundred times as long on many CPUs, and no result
 * would tell. x86 CPUs note that they met one. Run by CTest. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#define DENORMAL_MET 2u
static void forget(void) {
    _mm_setcsr(_mm_getcsr() & ~DENORMAL_MET);
}
static bool met(void) {
    return _mm_getcsr() & DENORMAL_MET;
}
#else /* no such note: then this only runs the plans */
static void forget(void) {}
static bool met(void) {
    return false;
}
#endif

/* Denormals as f32, and every two of them as f64. */
static void fill_with_denormals(struct buffer *workspace) {
    const uint32_t denormal = 0x00012345;
    for (size_t at = 0; at + sizeof denormal <= workspace->bytes; at += sizeof denormal)
        memcpy((char *)workspace->data + at, &denormal, sizeof denormal);
}

static void check_problem(const struct problem *problem, uc_isa isa, uc_algorithm algorithm) {
    char *text = problem_text(problem);
    struct data data = data_new(problem, GUARD_ALIGNED);
    data_fill(&data, problem, 17, FAMILY_UNIFORM);
    struct buffer output = output_new(problem, GUARD_ALIGNED);
    uc_chain *chain = run_parse(problem);
    uc_options options = UC_OPTIONS_INIT;
    options.threads = 1; /* the note is this thread's */
    options.isa = isa;
    options.algorithm = algorithm;
    uc_plan *plan = NULL;
    if (uc_plan_create(chain, data.operands, &options, &plan) == UC_OK) {
        struct buffer workspace =
            buffer_new(uc_plan_workspace_bytes(plan), sizeof(double), GUARD_ALIGNED);
        fill_with_denormals(&workspace);
        forget();
        check_status(text, UC_OK,
                     uc_plan_execute(plan, data.input.data, output.data, workspace.data));
        CHECK(!met(), "%s: computed with a denormal", text);
        buffer_free(&workspace);
    }
    CHECK(plan || isa != UC_ISA_PORTABLE || algorithm != UC_ALGORITHM_DIRECT, "%s: %s", text,
          uc_last_error()); /* that much works on every CPU and for every chain */
    uc_plan_destroy(plan);
    uc_chain_destroy(chain);
    buffer_free(&output);
    data_free(&data);
    free(text);
}

/* Rows of tiles that end before a vector does, of every number of lanes; pools and few channels. No
 * GELU of large values: its own tail has denormals. */
static const char *const chains[] = {
    "f32 1x64x16x64, conv_transpose 24 kernel 4 stride 2 padding 1 output_padding 1 bias, "
    "softmax_channel",
    "f32 1x16x6x20x20, conv_transpose 20 kernel 5 stride 2 padding 2 bias, maxpool 6, sum_channel",
    "f32 1x16x6x22x22, conv_transpose 16 kernel 3 stride 2 padding 1 output_padding 1, "
    "layernorm_channel 1e-05, avgpool 2, gelu",
    "f64 1x16x5x14x14, conv_transpose 16 kernel 4 stride 2 padding 1, layernorm_channel 1e-05, "
    "gelu",
    "f32 1x24x4x18x30, avgpool 2, conv_transpose 16 kernel 3 stride 2 padding 1, clamp 0 1, "
    "softmax_space",
    "f32 1x48x30x30, conv_transpose 3 kernel 4 stride 2 padding 1, sigmoid",
    "f32 1x64x6x6, conv_transpose 64 kernel 5 stride 2 padding 2, clamp 0 1",
    "f32 1x3x200x200, conv_transpose 40 kernel 3 stride 2 padding 1",
    "f32 1x20x40x3, conv_transpose 20 kernel 3 stride 2",
    "f32 1x64x48x11, conv_transpose 64 kernel 4 stride 2 padding 1",
    "f32 1x33x40x17, conv_transpose 64 kernel 4 stride 2 padding 1, sigmoid",
    "f32 1x33x6x16x16, conv_transpose 64 kernel 3 stride 2 padding 1 output_padding 1, sigmoid",
    "f64 1x16x200, conv_transpose 17 kernel 3 stride 2, sigmoid",
    "f32 3x16x5, softmax_channel, conv_transpose 24 kernel 6 stride 5 padding 7, avgpool 1",
};

int main(void) {
    static const uc_isa isas[] = {UC_ISA_PORTABLE, UC_ISA_AVX2, UC_ISA_AVX512};
    static const uc_algorithm algorithms[] = {UC_ALGORITHM_DIRECT, UC_ALGORITHM_WINOGRAD,
                                              UC_ALGORITHM_AUTO};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct problem problem;
        if (!CHECK(problem_parse(chains[i], &problem), "'%s'", chains[i]))
            continue;
        for (size_t k = 0; k < 9; k++)
            check_problem(&problem, isas[k / 3], algorithms[k % 3]);
    }
    return check_done();
}
