/* Shapes of operators as one line of text, with the specification's names.
 * Called by target.c, check and run. */
#define _POSIX_C_SOURCE 200809L
#include "shape.h"

#include <stdarg.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const char *const groups[] = {"kernel", "stride", "padding", "output_padding"};
#define GROUPS (sizeof groups / sizeof *groups)

static bool is_group(const char *name) {
    for (size_t i = 0; i < GROUPS; i++)
        if (!strcmp(name, groups[i]))
            return true;
    return false;
}

size_t shape_parameters(const signature *s, const char *name,
                        const parameter *found[SHAPE_MOST_DIMS]) {
    size_t count = 0;
    if (!is_group(name)) { /* "kernel" is a tensor's name too: there it is the group that counts */
        found[0] = signature_parameter(s, name);
        return found[0] && (found[0]->kind == PARAMETER_SIZE || found[0]->kind == PARAMETER_REAL);
    }
    for (const char *dim = "dhw"; *dim; dim++) {
        char full[32];
        snprintf(full, sizeof full, "%s_%c", name, *dim);
        const parameter *p = signature_parameter(s, full);
        if (p)
            found[count++] = p;
    }
    return count;
}

/* The words between separators; an empty one is an error of the caller's syntax. */
static bool next_size(const char *subcommand, const char *name, const char **text, size_t *size) {
    char word[24];
    const size_t length = strcspn(*text, "x,");
    snprintf(word, sizeof word, "%.*s", (int)(length < 23 ? length : 23), *text);
    *text += length;
    return cli_size(subcommand, name, word, size);
}

/* One size for all of count, or count of them. */
static bool read_sizes(const char *subcommand, const char *name, const char *value, size_t *sizes,
                       size_t count) {
    size_t given = 0;
    const char *at = value;
    do {
        size_t size;
        if (!next_size(subcommand, name, &at, &size))
            return false;
        if (given < count)
            sizes[given] = size;
        given++;
    } while (*at++);
    if (given != 1 && given != count) {
        cli_usage(subcommand, "%s takes one size, or %zu of them (got '%s')", name, count, value);
        return false;
    }
    for (size_t i = given; i < count; i++)
        sizes[i] = sizes[0];
    return true;
}

bool shape_set(const char *subcommand, const signature *s, const char *name, const char *value,
               uc_operator_params *params) {
    const parameter *found[SHAPE_MOST_DIMS];
    size_t sizes[SHAPE_MOST_DIMS];
    const size_t count = shape_parameters(s, name, found);
    if (!count) {
        cli_usage(subcommand, "%s has no parameter '%s'; 'upconv show %s' lists them", s->slug,
                  name, s->slug);
        return false;
    }
    if (found[0]->kind == PARAMETER_REAL)
        return cli_real(subcommand, name, value, parameter_real(params, found[0]));
    if (!read_sizes(subcommand, name, value, sizes, count))
        return false;
    for (size_t i = 0; i < count; i++)
        *parameter_size(params, found[i]) = sizes[i];
    return true;
}

/* ---- The line -------------------------------------------------------------------------- */

static const char *const input_names[] = {"batch_size", "in_channels", "depth", "height", "width"};
#define INPUT_NAMES (sizeof input_names / sizeof *input_names)

/* The parameters that the input's shape gives, in its order. */
static size_t input_parameters(const signature *s, const parameter *found[INPUT_NAMES]) {
    size_t count = 0;
    for (size_t i = 0; i < INPUT_NAMES; i++) {
        const parameter *p = signature_parameter(s, input_names[i]);
        if (p)
            found[count++] = p;
    }
    return count;
}

static bool set_input(const char *subcommand, const signature *s, const char *word,
                      uc_operator_params *params) {
    const parameter *found[INPUT_NAMES];
    size_t sizes[INPUT_NAMES], given = 1;
    const size_t count = input_parameters(s, found);
    for (const char *c = word; *c; c++)
        given += *c == 'x';
    if (given != count) {
        cli_usage(subcommand, "the input of %s has %zu dimensions, %s (got '%s')", s->slug, count,
                  count == 5 ? "BxCxDxHxW" : "BxCxHxW", word);
        return false;
    }
    if (!read_sizes(subcommand, "the input's shape", word, sizes, count))
        return false;
    for (size_t i = 0; i < count; i++)
        *parameter_size(params, found[i]) = sizes[i];
    return true;
}

bool shape_read(const char *subcommand, const signature *s, const char *text,
                uc_operator_params *params) {
    char *copy = strdup(text), *rest = NULL;
    bool good = copy != NULL, first = true;
    for (char *word = copy ? strtok_r(copy, " \t\n", &rest) : NULL; good && word;
         word = strtok_r(NULL, " \t\n", &rest)) {
        char *equals = strchr(word, '=');
        if (equals) {
            *equals = 0;
            good = shape_set(subcommand, s, word, equals + 1, params);
        } else if (first) {
            good = set_input(subcommand, s, word, params);
        } else {
            cli_usage(subcommand, "'%s' in the shape is not NAME=VALUE", word);
            good = false;
        }
        first = false;
    }
    free(copy);
    return good;
}

typedef struct writer {
    char *text;
    size_t bytes, used;
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(w->used < w->bytes ? w->text + w->used : NULL,
                                 w->used < w->bytes ? w->bytes - w->used : 0, format, arguments);
    va_end(arguments);
    w->used += (size_t)length;
}

static void put_sizes(writer *w, uc_operator_params *params, const parameter *const found[],
                      size_t count) {
    bool all = true;
    for (size_t i = 1; i < count; i++)
        all = all && *parameter_size(params, found[i]) == *parameter_size(params, found[0]);
    for (size_t i = 0; i < (all ? 1 : count); i++)
        put(w, "%s%zu", i ? "x" : "", *parameter_size(params, found[i]));
}

size_t shape_text(const signature *s, const uc_operator_params *params, char *text, size_t bytes) {
    static const char *const others[] = {"pool_kernel", "clamp_min", "clamp_max", "sum_weight",
                                         "scaling_factor"};
    uc_operator_params p = *params;
    const parameter *found[INPUT_NAMES];
    writer w = {text, bytes, 0};
    const size_t dims = input_parameters(s, found);
    for (size_t i = 0; i < dims; i++)
        put(&w, "%s%zu", i ? "x" : "", *parameter_size(&p, found[i]));
    put(&w, " out_channels=%zu", p.out_channels);
    for (size_t i = 0; i < GROUPS; i++) {
        const parameter *group[SHAPE_MOST_DIMS];
        const size_t count = shape_parameters(s, groups[i], group);
        if (count) {
            put(&w, " %s=", groups[i]);
            put_sizes(&w, &p, group, count);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const parameter *o = signature_parameter(s, others[i]);
        if (o && o->kind == PARAMETER_SIZE)
            put(&w, " %s=%zu", o->name, *parameter_size(&p, o));
        else if (o)
            put(&w, " %s=%.17g", o->name, *parameter_real(&p, o));
    }
    return w.used;
}
