/* The upconv command: finds the subcommand and hands over.
 * Called by the user's shell. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} subcommands[] = {
    {"demo", cli_demo, "run the five operators at their default shape, checked and timed"},
    {"list", cli_list, "list the operators, or print their chains"},
};

#define SUBCOMMAND_COUNT (sizeof subcommands / sizeof *subcommands)

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

void cli_progress(const char *format, ...) {
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
    }
    fflush(stderr);
}

static void print_help(void) {
    printf("upconv %s: fused transposed convolution\n\nUsage: upconv SUBCOMMAND [OPTION...]\n\n",
           uc_version());
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        printf("  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
    printf("\n  --help     show this, or a subcommand's help after its name\n"
           "  --version  show the version\n\nExample: upconv demo --batch 1\n");
}

int main(int argc, char **argv) {
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_help();
        return argc < 2 ? EXIT_USAGE : EXIT_GOOD;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("upconv %s\n", uc_version());
        return EXIT_GOOD;
    }
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        if (!strcmp(argv[1], subcommands[i].name))
            return subcommands[i].run(argc - 1, argv + 1);
    return cli_usage(NULL, "there is no subcommand '%s'", argv[1]);
}
