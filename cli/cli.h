/* What the subcommands share: one function each, exit codes, and words for the user.
 * Included by every file of the command. */
#ifndef UC_CLI_H
#define UC_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "upconv.h"

enum {
    EXIT_GOOD = 0,
    EXIT_WRONG = 1, /* what was checked is wrong */
    EXIT_USAGE = 2  /* the call or its input is */
};

/* A subcommand gets its own name as argv[0]. */
int cli_demo(int argc, char **argv);
int cli_list(int argc, char **argv);

/* Says on standard error what is wrong and what to do next. Returns EXIT_USAGE. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int cli_usage(const char *subcommand, const char *format, ...);

/* A size from an option's argument; false, with cli_usage() called, where it is not one. */
bool cli_size(const char *subcommand, const char *option, const char *text, size_t *value);

/* A line that is replaced by the next one, on a terminal only; NULL wipes it. */
void cli_progress(const char *format, ...);

#endif
