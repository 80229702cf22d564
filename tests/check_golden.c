/* All golden cases: the oracle to 1e-11, the typed calls as closely as their element type allows.
 * Run by CTest; `check_golden N` takes each N-th case only. */
#include "call.h"
#include "compare.h"
#include "golden.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The chain that uc_operator_chain() gives is the one that the specification's table says. */
static void check_text_of(const char *label, const uc_chain *chain, const struct problem *problem) {
    uc_chain *twin = run_parse(problem);
    char *text = run_text(chain), *expected = run_text(twin);
    CHECK(strcmp(text, expected) == 0, "%s: '%s' is not '%s'", label, text, expected);
    free(text);
    free(expected);
    uc_chain_destroy(twin);
}

static void check_operands_of(const char *label, const uc_chain *chain,
                              const struct operator_info *op) {
    CHECK(uc_chain_operand_count(chain) == op->operand_count, "%s: %zu operands", label,
          uc_chain_operand_count(chain));
    for (size_t i = 0; i < op->operand_count; i++) {
        const char *name = uc_chain_operand(chain, i).name;
        CHECK(name && strcmp(name, op->operand[i]) == 0, "%s: operand %zu is %s, not %s", label, i,
              name ? name : "missing", op->operand[i]);
    }
}

static void check_case(const struct golden *golden, uc_dtype dtype) {
    const struct problem problem = problem_of_operator(golden->op->slug, dtype, &golden->params);
    const struct extent extent = problem_output(&problem);
    const bool is_exact_input = dtype == UC_F32 || dtype == UC_F64;
    char *label = check_text("%s %s", golden->name, uc_dtype_name(dtype));
    uc_chain *chain = NULL;
    if (!check_status(label, UC_OK,
                      uc_operator_chain(golden->op->slug, dtype, &golden->params, &chain)))
        return;
    check_text_of(label, chain, &problem);
    check_operands_of(label, chain, golden->op);

    struct data data = golden_data(golden, &problem);
    double *oracle = run_reference(chain, &data);
    /* Where the inputs had to be rounded, the oracle on the rounded ones takes golden's place. */
    const double *reference = is_exact_input ? golden->output : oracle;
    double *noise = run_noise(&problem, chain, &data, reference);
    if (dtype == UC_F64)
        check_close("oracle", extent, golden->output, UC_F64, oracle,
                    (struct tolerance){1e-11, noise});

    struct buffer called = output_new(&problem, GUARD_MISALIGNED);
    struct buffer planned = output_new(&problem, GUARD_ALIGNED);
    check_status(label, UC_OK,
                 call_operator(golden->op->slug, dtype, &golden->params, data.input.data,
                               data.operands, called.data));
    check_close(label, extent, reference, dtype, called.data,
                (struct tolerance){relative_of(dtype), noise});
    CHECK(buffer_intact(&called) && data_intact(&data), "%s: written outside a buffer", label);
    if (run_plan(chain, &data, 0, GUARD_MISALIGNED, &planned))
        check_same("plan and typed call", &called, &planned);

    buffer_free(&called);
    buffer_free(&planned);
    free(noise);
    free(oracle);
    data_free(&data);
    uc_chain_destroy(chain);
    free(label);
}

/* A shortened run takes only each n-th case. */
static size_t every = 1, seen;

static void visit(const struct golden *golden) {
    if (seen++ % every)
        return;
    const size_t before = check_failures();
    for (int dtype = UC_F32; dtype <= UC_BF16; dtype++)
        check_case(golden, (uc_dtype)dtype);
    if (check_failures() > before)
        printf("in %s\n", golden->name);
}

int main(int argc, char **argv) {
    if (argc > 1)
        every = strtoull(argv[1], NULL, 10);
    CHECK(every > 0, "each 0th case is none");
    CHECK(uc_operator_count() == operator_total, "%zu operators", uc_operator_count());
    for (size_t i = 0; i < operator_total; i++) {
        const char *slug = uc_operator_slug(i);
        CHECK(slug && operator_find(slug), "unknown operator %zu", i);
    }
    CHECK(!uc_operator_slug(operator_total), "an operator past the last");
    const size_t cases = every ? golden_each(visit) : 0;
    CHECK(cases == 66, "%zu golden cases, not 66", cases);
    return check_done();
}
