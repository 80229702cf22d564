/* The options that say how the library computes: --threads, --isa, --algorithm,
 * --accuracy, --dtype. One parser for all.
 * Called by the subcommands that run something. */
#ifndef UC_CLI_ENGINE_H
#define UC_CLI_ENGINE_H

#include <getopt.h>
#include <stdbool.h>

#include "upconv.h"

typedef struct engine {
    uc_options options;
    uc_dtype dtype;
    bool has_dtype; /* the user has said which */
} engine;

/* clang-format off */
#define ENGINE_INIT {UC_OPTIONS_INIT, UC_F32, false}

/* For the tables of cli_option(): numbers past all letters. */
enum { ENGINE_THREADS = 1000, ENGINE_ISA, ENGINE_ALGORITHM, ENGINE_ACCURACY, ENGINE_DTYPE };
#define ENGINE_OPTIONS                                                                             \
    {"threads", required_argument, NULL, ENGINE_THREADS},                                          \
    {"isa", required_argument, NULL, ENGINE_ISA},                                                  \
    {"algorithm", required_argument, NULL, ENGINE_ALGORITHM},                                      \
    {"accuracy", required_argument, NULL, ENGINE_ACCURACY},                                        \
    {"dtype", required_argument, NULL, ENGINE_DTYPE}
/* clang-format on */

#define ENGINE_HELP                                                                                \
    "  --threads N      at most this many threads (default: OMP_NUM_THREADS, else all)\n"          \
    "  --isa NAME       auto, portable, avx2 or avx512 (default: UPCONV_ISA, else the best)\n"     \
    "  --algorithm NAME auto, direct or winograd (default: UPCONV_ALGORITHM, else the quickest)\n" \
    "  --accuracy NAME  strict (default); with AMX less exact: x3 (about 4e-6) or bf16 (2e-3)\n"

/* Takes one of these options; false for a bad value, with the user told, and for CLI_BAD_OPTION. */
bool engine_option(const char *subcommand, int option, const char *argument, engine *with);

/* The options among these that were given, --dtype apart, each with a space before it: for lines
 * that are to be run again. */
#define ENGINE_MOST_WORDS 128
void engine_words(const engine *with, char *words, size_t bytes);

/* How many times what strict results may be off by results may be off with these options. */
double engine_slack(const engine *with);

/* The number of threads that these options will give. */
size_t engine_threads(const engine *with);

#endif
