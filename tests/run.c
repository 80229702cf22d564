/* Problems through the library: text to chain, oracle, plan and execution, with every step checked.
 * Called by every test that runs plans. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool check_status(const char *label, uc_status expected, uc_status got) {
    return CHECK(got == expected, "%s: expected %s, got %s (%s)", label, uc_status_string(expected),
                 uc_status_string(got), got == UC_OK ? "" : uc_last_error());
}

uc_chain *run_parse(const struct problem *problem) {
    char *text = problem_text(problem);
    uc_chain *chain = NULL;
    check_status(text, UC_OK, uc_chain_parse(text, &chain));
    free(text);
    return chain;
}

char *run_text(const uc_chain *chain) {
    const size_t bytes = uc_chain_text(chain, NULL, 0) + 1;
    char *text = check_alloc(bytes);
    CHECK(uc_chain_text(chain, text, bytes) == bytes - 1, "the text's length changed");
    return text;
}

static size_t shape_elems(uc_shape shape) {
    size_t elems = 1;
    for (size_t i = 0; i < shape.ndim; i++)
        elems *= shape.dim[i];
    return elems;
}

double *run_reference(const uc_chain *chain, const struct data *data) {
    const size_t elems = shape_elems(uc_chain_output(chain));
    double *output = check_alloc(elems * sizeof *output);
    for (size_t i = 0; i < elems; i++)
        output[i] = 0;
    check_status("uc_chain_reference", UC_OK,
                 uc_chain_reference(chain, data->input.data, data->operands, output));
    return output;
}

bool run_plan(const uc_chain *chain, const struct data *data, size_t threads, enum guard guard,
              struct buffer *output) {
    uc_options options = UC_OPTIONS_INIT;
    options.threads = threads;
    return run_plan_with(chain, data, &options, guard, output);
}

bool run_plan_with(const uc_chain *chain, const struct data *data, const uc_options *options,
                   enum guard guard, struct buffer *output) {
    uc_plan *plan;
    if (!check_status("uc_plan_create", UC_OK,
                      uc_plan_create(chain, data->operands, options, &plan)))
        return false;
    struct buffer workspace = buffer_new(uc_plan_workspace_bytes(plan), 1, guard);
    const bool is_done =
        check_status("uc_plan_execute", UC_OK,
                     uc_plan_execute(plan, data->input.data, output->data, workspace.data));
    CHECK(buffer_intact(&workspace), "written outside the workspace of %zu bytes", workspace.bytes);
    CHECK(buffer_intact(output), "written outside the output of %zu bytes", output->bytes);
    buffer_free(&workspace);
    uc_plan_destroy(plan);
    return is_done;
}

char *run_description(const uc_plan *plan) {
    FILE *file = tmpfile();
    if (!file)
        abort();
    uc_plan_print(plan, file);
    const long bytes = ftell(file);
    if (bytes < 0)
        abort();
    char *text = check_alloc((size_t)bytes + 1);
    rewind(file);
    text[fread(text, 1, (size_t)bytes, file)] = 0;
    fclose(file);
    return text;
}

bool run_says(const uc_chain *chain, const struct data *data, const char *words) {
    return run_says_with(chain, data, NULL, words);
}

bool run_says_with(const uc_chain *chain, const struct data *data, const uc_options *options,
                   const char *words) {
    uc_plan *plan = NULL;
    check_status("uc_plan_create", UC_OK, uc_plan_create(chain, data->operands, options, &plan));
    char *text = run_description(plan);
    const bool said = strstr(text, words);
    free(text);
    uc_plan_destroy(plan);
    return said;
}

double *run_noise(const struct problem *problem, const uc_chain *chain, const struct data *data,
                  const double *reference) {
    double *noise = noise_of(problem, data, reference);
    const struct extent out = problem_output(problem);
    if (run_says(chain, data, "algorithm: winograd"))
        for (size_t slice = 0; slice < out.batch * out.channels; slice++)
            noise[slice] *= 3;
    return noise;
}
