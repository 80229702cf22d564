/* Instruction sets by name: the option and UPCONV_ISA force one, what the CPU lacks and what is no
 * name at all is UC_UNSUPPORTED with a message, and no set changes what comes out by more than
 * rounding. Run by CTest. */
#define _DEFAULT_SOURCE
#include "compare.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uc_isa isa;
    const char *name;
} sets[] = {{UC_ISA_PORTABLE, "portable"}, {UC_ISA_AVX2, "avx2"}, {UC_ISA_AVX512, "avx512"}};
enum { SETS = sizeof sets / sizeof *sets };

/* One chain with its data, and what the oracle says. */
static struct problem problem;
static struct data data;
static uc_chain *chain;
static double *reference, *noise;

static uc_status plan_with(uc_isa isa, uc_plan **plan) {
    uc_options options = UC_OPTIONS_INIT;
    options.isa = isa;
    return uc_plan_create(chain, data.operands, &options, plan);
}

/* What a plan says of itself names the set that it uses. */
static bool plan_names(const uc_plan *plan, const char *name) {
    char text[4096] = "";
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    uc_plan_print(plan, file);
    fclose(file);
    const char *line = strstr(text, "kernel:");
    const char *found = line ? strstr(line, name) : NULL;
    return found && found < strchr(line, '\n');
}

static void check_results(const char *name, const uc_plan *plan) {
    struct buffer output = output_new(&problem, GUARD_MISALIGNED);
    struct buffer workspace = buffer_new(uc_plan_workspace_bytes(plan), 1, GUARD_MISALIGNED);
    check_status(name, UC_OK, uc_plan_execute(plan, data.input.data, output.data, workspace.data));
    check_close(name, problem_output(&problem), reference, problem.dtype, output.data,
                (struct tolerance){relative_of(problem.dtype), noise});
    CHECK(buffer_intact(&output) && buffer_intact(&workspace), "%s: written outside", name);
    buffer_free(&output);
    buffer_free(&workspace);
}

/* A set by the option and by the environment: either both work, or both say why not. */
static bool check_set(uc_isa isa, const char *name) {
    uc_plan *plan = NULL;
    unsetenv("UPCONV_ISA");
    const uc_status status = plan_with(isa, &plan);
    if (status == UC_OK) {
        CHECK(plan_names(plan, name), "a plan for %s does not say so", name);
        check_results(name, plan);
        uc_plan_destroy(plan);
    } else {
        check_status(name, UC_UNSUPPORTED, status);
        CHECK(!plan, "%s: a plan all the same", name);
        printf("%s: %s\n", name, uc_last_error());
        CHECK(strlen(uc_last_error()) > 10, "%s: no message", name);
    }

    setenv("UPCONV_ISA", name, 1);
    plan = NULL;
    check_status(name, status, plan_with(UC_ISA_AUTO, &plan));
    if (status == UC_OK)
        CHECK(plan_names(plan, name), "UPCONV_ISA=%s is not heard", name);
    else
        CHECK(!plan && strstr(uc_last_error(), name) && strstr(uc_last_error(), "UPCONV_ISA"),
              "UPCONV_ISA=%s: '%s' does not say it", name, uc_last_error());
    uc_plan_destroy(plan);
    unsetenv("UPCONV_ISA");
    return status == UC_OK;
}

/* The option comes first: the environment can't break what a program has chosen. */
static void check_precedence(void) {
    static const char *const values[] = {"avx2", "avx512", "nonsense"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uc_plan *plan = NULL;
        setenv("UPCONV_ISA", values[i], 1);
        if (check_status("the option", UC_OK, plan_with(UC_ISA_PORTABLE, &plan)))
            CHECK(plan_names(plan, "portable"), "UPCONV_ISA=%s overrules the option", values[i]);
        uc_plan_destroy(plan);
    }
    unsetenv("UPCONV_ISA");
}

static void check_names(void) {
    static const char *const fine[] = {"", "auto"};
    static const char *const nonsense[] = {"sse9",
                                           "AVX2",
                                           "avx2 ",
                                           "avx",
                                           "1",
                                           "portable,avx2",
                                           "a name that is much longer than those of the sets"};
    uc_plan *best = NULL;
    check_status("no UPCONV_ISA", UC_OK, plan_with(UC_ISA_AUTO, &best));
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        uc_plan *plan = NULL;
        setenv("UPCONV_ISA", fine[i], 1);
        check_status(fine[i], UC_OK, plan_with(UC_ISA_AUTO, &plan));
        for (size_t s = 0; s < SETS; s++)
            CHECK(plan_names(plan, sets[s].name) == plan_names(best, sets[s].name),
                  "UPCONV_ISA='%s' is not the same as none", fine[i]);
        uc_plan_destroy(plan);
    }
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        uc_plan *plan = NULL;
        setenv("UPCONV_ISA", nonsense[i], 1);
        check_status(nonsense[i], UC_UNSUPPORTED, plan_with(UC_ISA_AUTO, &plan));
        char shown[16];
        snprintf(shown, sizeof shown, "%s", nonsense[i]);
        CHECK(!plan && strstr(uc_last_error(), "UPCONV_ISA") && strstr(uc_last_error(), shown),
              "'%s' does not say what is wrong with '%s'", uc_last_error(), nonsense[i]);
        uc_plan_destroy(plan);
    }
    unsetenv("UPCONV_ISA");
    uc_plan_destroy(best);
}

int main(void) {
    const char *text = "f32 2x5x6x7, conv_transpose 9 kernel 4 stride 2 padding 1 bias, "
                       "layernorm_channel 1e-05, gelu, maxpool 2, softmax_channel";
    CHECK(problem_parse(text, &problem), "the test's own text");
    data = data_new(&problem, GUARD_MISALIGNED);
    data_fill(&data, &problem, 1, FAMILY_NORMAL);
    chain = run_parse(&problem);
    reference = run_reference(chain, &data);
    noise = noise_of(&problem, &data, reference);

    size_t there = 0;
    for (size_t i = 0; i < SETS; i++)
        there += check_set(sets[i].isa, sets[i].name);
    CHECK(check_set(UC_ISA_PORTABLE, "portable"), "no portable kernels");
    printf("%zu of %d instruction sets\n", there, SETS);
    check_precedence();
    check_names();

    free(noise);
    free(reference);
    uc_chain_destroy(chain);
    data_free(&data);
    return check_done();
}
