/* The options that say how the library computes: --threads, --isa, --dtype. One parser for all.
 * Called by the subcommands that run something. */
#include "engine.h"

#include "cli.h"
#include "facts.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static bool take_isa(const char *subcommand, const char *argument, uc_isa *isa) {
    if (isa_of_name(argument, isa))
        return true;
    cli_usage(subcommand, "--isa is auto, portable, avx2 or avx512 (got '%s')", argument);
    return false;
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
    switch (option) {
    case ENGINE_THREADS:
        return take_threads(subcommand, argument, &with->options.threads);
    case ENGINE_ISA:
        return take_isa(subcommand, argument, &with->options.isa);
    case ENGINE_DTYPE:
        with->has_dtype = true;
        return cli_dtype(subcommand, argument, &with->dtype);
    default:
        return false;
    }
}

size_t engine_threads(const engine *with) {
#ifdef _OPENMP
    return with->options.threads ? with->options.threads : (size_t)omp_get_max_threads();
#else
    (void)with;
    return 1;
#endif
}
