/* The upconv command: finds the subcommand and hands over.
 * Called by the user's shell. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "judge.h"

#include <errno.h>
#include <string.h>

const char *cli_program = "upconv";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} subcommands[] = {
    {"list", cli_list, "list the operators, or print their chains"},
    {"show", cli_show, "show a problem: semantics, parameters, prototype, problem file"},
    {"init", cli_init, "write a starter: solution.c, Makefile, README"},
    {"run", cli_run, "run an operator or a chain on your own .npy files"},
    {"check", cli_check, "check our own implementation against the float64 oracle"},
    {"judge", cli_judge, "judge your own implementation: is it right, and how fast"},
    {"bench", cli_bench, "measure how fast operators and chains are here"},
    {"plan", cli_plan, "tell what would run, and why"},
    {"cpu", cli_cpu, "show this machine, and measure what it can do at most"},
    {"report", cli_report, "make a web page of the results of bench and judge"},
};

#define SUBCOMMAND_COUNT (sizeof subcommands / sizeof *subcommands)

static const char *nth_subcommand(const void *from, size_t index) {
    (void)from;
    return index < SUBCOMMAND_COUNT ? subcommands[index].name : NULL;
}

static void print_help(FILE *stream) {
    fprintf(stream,
            "upconv %s: fused transposed convolution\n\nUsage: upconv SUBCOMMAND [OPTION...]\n\n",
            uc_version());
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(stream, "  %-8s %s\n", subcommands[i].name, subcommands[i].summary);
    fprintf(stream, "\n  --help     show this, or a subcommand's help after its name\n"
                    "  --version  show the version\n\n"
                    "Exit codes: 0 good, 1 what was checked is wrong or too slow, 2 a usage or "
                    "input error.\n\nExample: upconv judge conv-transpose3d-max-max-sum "
                    "solution.c\n");
}

/* What a subcommand returned, unless its output did not get where it should: a full disk must not
 * look like a success. */
static int all_written(int code) {
    const bool failed = fflush(stdout) != 0;
    if (!failed && !ferror(stdout))
        return code;
    fprintf(stderr, "upconv: standard output: %s\n",
            failed ? strerror(errno) : "not everything could be written");
    return code == EXIT_GOOD ? EXIT_USAGE : code;
}

int main(int argc, char **argv) {
    cli_catch_signals();
    cli_program = argv[0];
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        print_help(stdout);
        return EXIT_GOOD;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("upconv %s\n", uc_version());
        return EXIT_GOOD;
    }
    if (!strcmp(argv[1], "judge-child")) /* not for people: the judge starts it */
        return judge_child(argc - 1, argv + 1);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        if (!strcmp(argv[1], subcommands[i].name))
            return all_written(subcommands[i].run(argc - 1, argv + 1));
    const char *nearest = cli_nearest(argv[1], nth_subcommand, NULL);
    if (nearest)
        return cli_usage(NULL, "there is no subcommand '%s'; did you mean '%s'?", argv[1], nearest);
    return cli_usage(NULL, "there is no subcommand '%s'", argv[1]);
}
