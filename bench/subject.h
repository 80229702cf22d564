/* What is measured of ours: a chain with its operands, a plan and touched memory.
 * Called by bench for the five operators and by sweep for any chain. */
#ifndef UC_BENCH_SUBJECT_H
#define UC_BENCH_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor.h"
#include "upconv.h"

typedef struct subject {
    const char *slug; /* NULL: a chain that has no call of its own */
    uc_operator_params params;
    size_t threads;
    uc_chain *chain;
    uc_plan *plan;
    void *input, *output, *operands[MOST_OPERANDS], *workspace;
    double flops;
    /* The least seconds so far; INFINITY before the first. */
    double one_shot, create, execute;
} subject;

/* Opens one of the five operators at its default shape with another batch size (or at these
 * params), or the chain of a text. False: uc_last_error() or memory; the subject is closed. */
bool subject_open(subject *s, const char *slug, uc_dtype dtype, const uc_operator_params *params,
                  size_t threads);
bool subject_open_text(subject *s, const char *text, size_t threads);
void subject_close(subject *s);

/* Each runs once and keeps the least time; false if the library reports an error. */
bool subject_one_shot(subject *s);
bool subject_create(subject *s);
bool subject_execute(subject *s);

#endif
