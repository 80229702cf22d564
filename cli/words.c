/* Words between the user and the subcommands: options, numbers, names, and what was probably meant.
 * Called by every subcommand. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int cli_usage(const char *subcommand, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("upconv: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nTry 'upconv%s%s --help'.\n", subcommand ? " " : "",
            subcommand ? subcommand : "");
    return EXIT_USAGE;
}

/* ---- What was meant --------------------------------------------------------------------- */

#define MOST_LETTERS 80

/* How many letters must be inserted, removed, replaced or swapped with their neighbour. */
static size_t edit_distance(const char *a, const char *b) {
    const size_t m = strlen(a), n = strlen(b);
    if (m > MOST_LETTERS || n > MOST_LETTERS)
        return SIZE_MAX;
    size_t rows[3][MOST_LETTERS + 1];
    for (size_t i = 0; i <= m; i++)
        for (size_t j = 0; j <= n; j++) {
            size_t *row = rows[i % 3];
            const size_t *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];
            if (!i || !j) {
                row[j] = i + j;
                continue;
            }
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = higher[j - 2] + 1 < best ? higher[j - 2] + 1 : best;
            row[j] = best;
        }
    return rows[m % 3][n];
}

const char *cli_nearest(const char *word, const char *(*nth)(const void *from, size_t index),
                        const void *from) {
    const char *best = NULL, *whole = NULL, *candidate;
    size_t least = SIZE_MAX, containing = 0;
    for (size_t i = 0; (candidate = nth(from, i)); i++) {
        const size_t distance = edit_distance(word, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
        if (strstr(candidate, word))
            whole = containing++ ? whole : candidate;
    }
    /* A third of the letters may be wrong. A part of a word ("max-max-sum", "bias") is nearer to it
     * than to another that has two letters wrong. */
    const bool near = best && least <= strlen(best) / 3 + (strlen(best) < 6);
    if (strlen(word) > 2 && least > 1 && (containing == 1 || (containing && near)))
        return whole;
    return near ? best : NULL;
}

static const char *nth_option(const void *from, size_t index) {
    return ((const struct option *)from)[index].name;
}

static const char *nth_slug(const void *from, size_t index) {
    (void)from;
    return uc_operator_slug(index);
}

/* ---- Options ---------------------------------------------------------------------------- */

static int unknown_option(const char *subcommand, const char *argument,
                          const struct option *options) {
    char name[MOST_LETTERS + 1] = "";
    if (strncmp(argument, "--", 2) == 0)
        snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    size_t matching = 0;
    for (const struct option *o = options; *name && o->name; o++) {
        if (strcmp(o->name, name) == 0) {
            cli_usage(subcommand, "option '--%s' takes no value", name);
            return CLI_BAD_OPTION;
        }
        matching += strncmp(o->name, name, strlen(name)) == 0;
    }
    const char *nearest = *name ? cli_nearest(name, nth_option, options) : NULL;
    if (matching > 1)
        cli_usage(subcommand, "option '--%s' is the beginning of %zu options", name, matching);
    else if (nearest)
        cli_usage(subcommand, "unknown option '--%s'; did you mean '--%s'?", name, nearest);
    else
        cli_usage(subcommand, "unknown option '%s'", argument);
    return CLI_BAD_OPTION;
}

int cli_option(const char *subcommand, int argc, char **argv, const struct option *options) {
    opterr = 0;
    const int before = optind;
    int by_name = -1; /* stays so for a short option */
    int option = getopt_long(argc, argv, ":ho:", options, &by_name);
    const char *argument = argv[optind > before && optind > 0 ? optind - 1 : before];
    if (option == 'o' && by_name < 0) { /* short for --output, where there is one */
        const struct option *o = options;
        while (o->name && strcmp(o->name, "output") != 0)
            o++;
        option = o->name ? o->val : '?';
        argument = "-o";
    }
    if (option == ':') {
        cli_usage(subcommand, "option '%s' needs a value", argument);
        return CLI_BAD_OPTION;
    }
    return option == '?' ? unknown_option(subcommand, argument, options) : option;
}

bool cli_size(const char *subcommand, const char *option, const char *text, size_t *value) {
    char *end = NULL;
    errno = 0;
    const unsigned long long parsed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || parsed > SIZE_MAX) {
        cli_usage(subcommand, "%s takes a whole number (got '%s')", option, text);
        return false;
    }
    *value = (size_t)parsed;
    return true;
}

bool cli_real(const char *subcommand, const char *option, const char *text, double *value) {
    char *end = NULL;
    *value = strtod(text, &end);
    if (end == text || *end) {
        cli_usage(subcommand, "%s takes a number (got '%s')", option, text);
        return false;
    }
    return true;
}

bool cli_dtype(const char *subcommand, const char *text, uc_dtype *dtype) {
    for (int i = 0; uc_dtype_name((uc_dtype)i); i++)
        if (strcmp(text, uc_dtype_name((uc_dtype)i)) == 0) {
            *dtype = (uc_dtype)i;
            return true;
        }
    cli_usage(subcommand, "--dtype is f32, f64, f16 or bf16 (got '%s')", text);
    return false;
}

bool cli_slug(const char *subcommand, const char *text, const char **slug) {
    for (size_t i = 0; (*slug = uc_operator_slug(i)); i++)
        if (strcmp(text, *slug) == 0)
            return true;
    const char *nearest = cli_nearest(text, nth_slug, NULL);
    if (nearest)
        cli_usage(subcommand, "there is no operator '%s'; did you mean '%s'?", text, nearest);
    else
        cli_usage(subcommand, "there is no operator '%s'; 'upconv list' names them", text);
    return false;
}
