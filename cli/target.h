/* What a subcommand works on: one of the operators, at some shape, or a chain in its text form.
 * Called by plan, bench, check and run. */
#ifndef UC_CLI_TARGET_H
#define UC_CLI_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"
#include "upconv.h"

typedef struct target {
    const char *slug;          /* NULL: a chain */
    uc_operator_params params; /* of an operator */
    uc_chain *chain;
    char *text; /* the chain's */
} target;

/* Whether a word is a chain's text and no slug: it has spaces or commas. */
bool is_chain_text(const char *word);

/* Opens what the user has named. An operator has its default shape, changed by shape (NULL: not;
 * shape.h says how it reads) and by *batch (NULL: not). A chain's own batch and element type are
 * replaced by those that are given. False with the user told. */
bool target_open(const char *subcommand, const char *word, const char *shape, const size_t *batch,
                 const engine *with, target *t);
void target_close(target *t);

/* The chain's text; the caller frees it. NULL: no memory. */
char *chain_text(const uc_chain *chain);

/* The same chain with another batch or element type (NULL: as it is). On failure *changed is NULL.
 */
uc_status chain_changed(const uc_chain *chain, const size_t *batch, const uc_dtype *dtype,
                        uc_chain **changed);

/* Says what the library has found wrong, or that there is no memory. Returns EXIT_USAGE. */
int target_failed(const char *subcommand, const char *what, uc_status status);

#endif
