/* The options that say how the library computes: --threads, --isa, --algorithm,
 * --accuracy, --dtype. One parser for all.
 * Called by the subcommands that run something. */
#include "engine.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "facts.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static const char *const algorithm_names[] = {"auto", "direct", "winograd", NULL};
static const char *const accuracy_names[] = {"strict", "x3", "bf16", NULL};

/* The index of a word among the names of an enumeration, -1 and a message where it is none. */
static int index_of(const char *subcommand, const char *option, const char *word,
                    const char *const *names) {
    char list[96] = "";
    for (int i = 0; names[i]; i++) {
        if (!strcmp(word, names[i]))
            return i;
        const char *between = !i ? "" : names[i + 1] ? ", " : " or ";
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", between, names[i]);
    }
    cli_usage(subcommand, "%s is %s (got '%s')", option, list, word);
    return -1;
}

/* As the library has it; what measures the machine has no limit of its own. */
#define MOST_THREADS 1024

static bool take_threads(const char *subcommand, const char *argument, size_t *threads) {
    if (!cli_size(subcommand, "--threads", argument, threads))
        return false;
    if (*threads <= MOST_THREADS)
        return true;
    cli_usage(subcommand, "--threads is at most %d (got %s)", MOST_THREADS, argument);
    return false;
}

bool engine_option(const char *subcommand, int option, const char *argument, engine *with) {
    int index;
    switch (option) {
    case ENGINE_THREADS:
        return take_threads(subcommand, argument, &with->options.threads);
    case ENGINE_ISA:
        index = index_of(subcommand, "--isa", argument, isa_names);
        with->options.isa = (uc_isa)index;
        return index >= 0;
    case ENGINE_ALGORITHM:
        index = index_of(subcommand, "--algorithm", argument, algorithm_names);
        with->options.algorithm = (uc_algorithm)index;
        return index >= 0;
    case ENGINE_ACCURACY:
        index = index_of(subcommand, "--accuracy", argument, accuracy_names);
        with->options.accuracy = (uc_accuracy)index;
        return index >= 0;
    case ENGINE_DTYPE:
        with->has_dtype = true;
        return cli_dtype(subcommand, argument, &with->dtype);
    default:
        return false;
    }
}

void engine_words(const engine *with, char *words, size_t bytes) {
    const uc_options *o = &with->options;
    char threads[32] = "";
    if (o->threads)
        snprintf(threads, sizeof threads, " --threads %zu", o->threads);
    snprintf(words, bytes, "%s%s%s%s%s%s%s", threads, o->isa ? " --isa " : "",
             o->isa ? isa_names[o->isa] : "", o->algorithm ? " --algorithm " : "",
             o->algorithm ? algorithm_names[o->algorithm] : "", o->accuracy ? " --accuracy " : "",
             o->accuracy ? accuracy_names[o->accuracy] : "");
}

double engine_slack(const engine *with) {
    /* x3 has errors 11 to 18 times the strict ones, bf16 6000 to 9000 times; clamps, norms and
     * exponentials stretch that. */
    static const double slack[] = {1, 0x1p+6, 0x1p+15};
    return slack[with->options.accuracy];
}

size_t engine_threads(const engine *with) {
#ifdef _OPENMP
    return with->options.threads ? with->options.threads : (size_t)omp_get_max_threads();
#else
    (void)with;
    return 1;
#endif
}
