/* What only a terminal gets: colours, and a line of progress.
 * Called by the subcommands; piped output has neither. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool has_colour(FILE *stream) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(stream)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

const char *cli_colour_on(FILE *stream, cli_colour colour) {
    static const char *const codes[] = {"",           "\033[1m",  "\033[32m",
                                        "\033[1;31m", "\033[33m", "\033[2m"};
    return has_colour(stream) ? codes[colour] : "";
}

const char *cli_colour_off(FILE *stream) {
    return has_colour(stream) ? "\033[0m" : "";
}

static void progress(const char *format, va_list arguments) {
    if (!isatty(STDERR_FILENO) || !isatty(STDOUT_FILENO)) /* none where the output is piped */
        return;
    fputs("\r\033[K", stderr);
    if (format)
        vfprintf(stderr, format, arguments);
    fflush(stderr);
}

void cli_progress(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    progress(format, arguments);
    va_end(arguments);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_progress_step(const char *what, const char *step, size_t i, size_t n) {
    static double start;
    if (i == 0)
        start = now();
    const double elapsed = now() - start;
    if (elapsed < 1)
        return;
    const double left = i ? elapsed / (double)i * (double)(n - i) : 0;
    if (i)
        cli_progress("%s: %s, %zu of %zu, %.0f s, about %.0f s left", what, step, i + 1, n, elapsed,
                     left);
    else
        cli_progress("%s: %s, %zu of %zu, %.0f s", what, step, i + 1, n, elapsed);
}
