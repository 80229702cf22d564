/* What is measured of ours: a chain with its operands, a plan and touched memory.
 * Called by bench for the five operators and by sweep for any chain. */
#define _GNU_SOURCE
#include "subject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "tensor.h"
#include "timer.h"

static const void *const *operands_of(const subject *s) {
    return (const void *const *)s->operands;
}

static bool make_plan(const subject *s, uc_plan **plan) {
    uc_options options = UC_OPTIONS_INIT;
    options.threads = s->threads;
    return uc_plan_create(s->chain, operands_of(s), &options, plan) == UC_OK;
}

/* Everything but the chain, which is there. */
static bool equip(subject *s) {
    const uc_dtype dtype = uc_chain_dtype(s->chain);
    const uc_shape in = uc_chain_input(s->chain), out = uc_chain_output(s->chain);
    s->flops = uc_chain_flops(s->chain);
    s->one_shot = s->create = s->execute = INFINITY;
    s->input = random_tensor(dtype, &in, 1);
    s->output = huge_pages(elems_of(&out) * uc_dtype_bytes(dtype));
    if (!s->input || !s->output || !random_operands(s->chain, s->operands) ||
        !make_plan(s, &s->plan))
        return false;
    s->workspace = malloc(uc_plan_workspace_bytes(s->plan) + 1);
    return s->workspace != NULL;
}

bool subject_open(subject *s, const char *slug, uc_dtype dtype, const uc_operator_params *params,
                  size_t threads) {
    *s = (subject){.slug = slug, .params = *params, .threads = threads};
    if (uc_operator_chain(slug, dtype, params, &s->chain) == UC_OK && equip(s))
        return true;
    subject_close(s);
    return false;
}

bool subject_open_text(subject *s, const char *text, size_t threads) {
    *s = (subject){.threads = threads};
    if (uc_chain_parse(text, &s->chain) == UC_OK && equip(s))
        return true;
    subject_close(s);
    return false;
}

void subject_close(subject *s) {
    free(s->workspace);
    uc_plan_destroy(s->plan);
    for (size_t i = 0; i < MOST_OPERANDS; i++)
        free(s->operands[i]);
    free(s->output);
    free(s->input);
    uc_chain_destroy(s->chain);
    memset(s, 0, sizeof *s);
}

bool subject_one_shot(subject *s) {
    const double start = now();
    const uc_status status = call_operator(s->slug, uc_chain_dtype(s->chain), &s->params, s->input,
                                           operands_of(s), s->output);
    keep_least(&s->one_shot, now() - start);
    return status == UC_OK;
}

bool subject_create(subject *s) {
    uc_plan *plan;
    const double start = now();
    const bool made = make_plan(s, &plan);
    keep_least(&s->create, now() - start);
    uc_plan_destroy(plan);
    return made;
}

bool subject_execute(subject *s) {
    const double start = now();
    const uc_status status = uc_plan_execute(s->plan, s->input, s->output, s->workspace);
    keep_least(&s->execute, now() - start);
    return status == UC_OK;
}
