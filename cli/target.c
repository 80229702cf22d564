/* What a subcommand works on: one of the operators, at some shape, or a chain in its text form.
 * Called by plan, bench, check and run. */
#define _POSIX_C_SOURCE 200809L
#include "target.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "shape.h"

bool is_chain_text(const char *word) {
    return strpbrk(word, ", ") != NULL;
}

char *chain_text(const uc_chain *chain) {
    const size_t bytes = uc_chain_text(chain, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (text)
        uc_chain_text(chain, text, bytes);
    return text;
}

int target_failed(const char *subcommand, const char *what, uc_status status) {
    if (status == UC_NO_MEMORY)
        return cli_usage(subcommand, "%s: not enough memory; try a smaller batch", what);
    return cli_usage(subcommand, "%s: %s", what, uc_last_error());
}

/* Both are at the beginning of its text. */
uc_status chain_changed(const uc_chain *chain, const size_t *batch, const uc_dtype *dtype,
                        uc_chain **changed) {
    *changed = NULL;
    char *text = chain_text(chain), *rest = text ? strchr(text, 'x') : NULL;
    const size_t bytes = rest ? strlen(rest) + 48 : 0;
    char *new_text = rest ? malloc(bytes) : NULL;
    uc_status status = UC_NO_MEMORY;
    if (new_text) {
        snprintf(new_text, bytes, "%s %zu%s", uc_dtype_name(dtype ? *dtype : uc_chain_dtype(chain)),
                 batch ? *batch : uc_chain_input(chain).dim[0], rest);
        status = uc_chain_parse(new_text, changed);
    }
    free(new_text);
    free(text);
    return status;
}

static bool open_chain(const char *subcommand, const char *word, const size_t *batch,
                       const engine *with, target *t) {
    uc_status status = uc_chain_parse(word, &t->chain);
    if (status == UC_OK && (batch || with->has_dtype)) {
        uc_chain *parsed = t->chain;
        status = chain_changed(parsed, batch, with->has_dtype ? &with->dtype : NULL, &t->chain);
        uc_chain_destroy(parsed);
    }
    if (status != UC_OK)
        target_failed(subcommand, "the chain", status);
    return status == UC_OK;
}

static bool open_operator(const char *subcommand, const char *word, const char *shape,
                          const size_t *batch, const engine *with, target *t) {
    if (!cli_slug(subcommand, word, &t->slug))
        return false;
    uc_status status = uc_operator_defaults(t->slug, &t->params);
    if (shape && !shape_read(subcommand, signature_find(t->slug), shape, &t->params))
        return false;
    if (batch)
        t->params.batch_size = *batch;
    if (status == UC_OK)
        status = uc_operator_chain(t->slug, with->dtype, &t->params, &t->chain);
    if (status != UC_OK)
        target_failed(subcommand, t->slug, status);
    return status == UC_OK;
}

bool target_open(const char *subcommand, const char *word, const char *shape, const size_t *batch,
                 const engine *with, target *t) {
    *t = (target){0};
    if (shape && is_chain_text(word)) {
        cli_usage(subcommand, "a chain has its shape in its text: no --shape with it");
        return false;
    }
    const bool good = is_chain_text(word) ? open_chain(subcommand, word, batch, with, t)
                                          : open_operator(subcommand, word, shape, batch, with, t);
    if (good && (t->text = chain_text(t->chain)))
        return true;
    if (good)
        target_failed(subcommand, word, UC_NO_MEMORY);
    target_close(t);
    return false;
}

void target_close(target *t) {
    free(t->text);
    uc_chain_destroy(t->chain);
    *t = (target){0};
}
