/* What the subcommands share: one function each, exit codes, options, and words for the user.
 * Included by every file of the command. */
#ifndef UC_CLI_H
#define UC_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "upconv.h"

enum {
    EXIT_GOOD = 0,
    EXIT_WRONG = 1, /* what was checked is wrong, or too slow */
    EXIT_USAGE = 2  /* the call or its input is */
};

/* How the user has called this program, for command lines that are to be run again. */
extern const char *cli_program;

/* A subcommand gets its own name as argv[0]. */
int cli_bench(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_cpu(int argc, char **argv);
int cli_init(int argc, char **argv);
int cli_judge(int argc, char **argv);
int cli_list(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_show(int argc, char **argv);

/* ---- Words (words.c) -------------------------------------------------------------------- */

/* Says on standard error what is wrong and what to do next. Returns EXIT_USAGE. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int cli_usage(const char *subcommand, const char *format, ...);

/* The word nearest to a mistyped one, where one is near enough to be meant; else NULL. Words are
 * asked for by index until NULL. */
const char *cli_nearest(const char *word, const char *(*nth)(const void *from, size_t index),
                        const void *from);

/* getopt_long() with messages: returns the option's val, -1 at the end, and CLI_BAD_OPTION where
 * cli_usage() was called because the option is unknown, lacks its value or has one too many.
 * Options and other arguments come in any order. */
#define CLI_BAD_OPTION '?'
int cli_option(const char *subcommand, int argc, char **argv, const struct option *options);

/* A number from an option's argument; false, with cli_usage() called, where it is not one. */
bool cli_size(const char *subcommand, const char *option, const char *text, size_t *value);
bool cli_real(const char *subcommand, const char *option, const char *text, double *value);

/* The same for "f32", "f64", "f16", "bf16", and for a slug (which is then uc_operator_slug()'s). */
bool cli_dtype(const char *subcommand, const char *text, uc_dtype *dtype);
bool cli_slug(const char *subcommand, const char *text, const char **slug);

/* ---- Terminal (terminal.c) -------------------------------------------------------------- */

/* Colours of words on a stream: empty strings unless it is a terminal and NO_COLOR is not set. */
typedef enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_GREEN, CLI_RED, CLI_YELLOW, CLI_DIM } cli_colour;
const char *cli_colour_on(FILE *stream, cli_colour colour);
const char *cli_colour_off(FILE *stream);

/* A line on standard error that is replaced by the next one, on a terminal only; NULL wipes it. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void cli_progress(const char *format, ...);

/* The same for one of many steps: "what: step i of n, elapsed, about so much left". Shown from the
 * second second on; begin with i = 0. i counts from 0, so it is also how many are done. */
void cli_progress_step(const char *what, const char *step, size_t i, size_t n);

/* ---- Cleaning up (cleanup.c) ------------------------------------------------------------ */

/* SIGINT, SIGTERM and SIGHUP from here on remove what is registered, end the processes that are,
 * and then end this one by the same signal. main() calls it. */
void cli_catch_signals(void);

/* A temporary file or folder that must not stay (a folder goes with the files in it, but not with
 * folders in it), and a child process whose group must not survive. At most CLI_MOST_CLEANUPS of
 * each at a time; false where there are more. cli_forget_*() undoes it, once a file is renamed or
 * removed, a child waited for. Normal ends and exit() remove what is left, too. */
#define CLI_MOST_CLEANUPS 16
bool cli_remember_file(const char *path);
void cli_forget_file(const char *path);
bool cli_remember_child(int pid);
void cli_forget_child(int pid);

/* fork() of a child that is remembered before a signal can come between. */
int cli_fork(void);

/* Removes one now and forgets it. */
void cli_remove_file(const char *path);

#endif
