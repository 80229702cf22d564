/* upconv bench: how fast operators and chains are, by what this machine can do at most.
 * Called by main.c; `make run` is this with --check. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "threads.h"
#include "timer.h"

static const char help[] =
    "Usage: upconv bench [SLUG|CHAIN...] [OPTION...]\n\n"
    "Measures operators (default: all five, at their default shape) and chains: minimum and "
    "median\n"
    "time, GFLOP/s on the multiply-adds that are needed, and both by what this machine can do, "
    "the\n"
    "peak of its multiply-adds and its memory bandwidth, measured in the same run. All take "
    "turns,\n"
    "round after round, so that a busy moment hits them alike. Plans are made beforehand. The "
    "limit "
    "is\n"
    "direct arithmetic at the peak, or the memory traffic, whichever takes longer; an algorithm "
    "with\n"
    "fewer multiplications (--algorithm) may be beyond 100 % of the peak.\n\n"
    "  --batch N        batch size (default 2, or what a chain says)\n"
    "  --shape TEXT     another shape for the operators: \"1x8x5x6x7 kernel=3 stride=2x2x1\"\n"
    "  --dtype TYPE     f32, f64, f16 or bf16 (default f32, or what a chain says)\n" ENGINE_HELP
    "  --repetitions N  rounds, of two executions each (default 10)\n"
    "  --check          check the first item of each output against the oracle; wrong: exit 1\n"
    "  --save FILE      keep the results, as JSON, for --against and 'upconv report'\n"
    "  -o, --output FILE  the same\n"
    "  --against FILE   compare with kept results; slower: exit 1. Compared is how near each run\n"
    "                   came to its machine's limit, so the machines may differ\n"
    "  --tolerance P    how many percent slower is still fine (default 10)\n"
    "  --peers          measure the other libraries that 'make peers' has installed, too\n"
    "  --peer COMMAND   measure a program that speaks the protocol of cli/peer.h, too\n"
    "  --json           print one JSON object, the same as --save writes\n"
    "  --help           show this\n\n"
    "Example: upconv bench --save before.json\n"
    "         upconv bench conv-transpose3d-max-max-sum --batch 1 --against before.json\n";

#define PEAKS_AT_START 20 /* a peak that something disturbed would flatter us */
#define MOST_REPETITIONS 100000
#define MEMORY_SHARE 0.8

typedef struct settings {
    const char *shape, *save, *against, *peer[BENCH_MOST_PEERS];
    size_t batch, peer_count;
    bool has_batch, check, find_peers, json, help;
    double tolerance;
} settings;

/* ---- The command line ------------------------------------------------------------------ */

static bool take_option(int option, const char *value, settings *with, bench *b) {
    double percent;
    switch (option) {
    case 'b':
        with->has_batch = true;
        if (!cli_size("bench", "--batch", value, &with->batch))
            return false;
        return with->batch || (cli_usage("bench", "--batch must be at least 1 (got 0)"), false);
    case 's':
        with->shape = value;
        return true;
    case 'r':
        if (!cli_size("bench", "--repetitions", value, &b->repetitions))
            return false;
        if (b->repetitions >= 1 && b->repetitions <= MOST_REPETITIONS)
            return true;
        cli_usage("bench", "--repetitions is 1 to %d (got %s)", MOST_REPETITIONS, value);
        return false;
    case 'S':
        with->save = value;
        return true;
    case 'a':
        with->against = value;
        return true;
    case 't':
        if (!cli_real("bench", "--tolerance", value, &percent))
            return false;
        with->tolerance = percent / 100;
        if (percent >= 0 && percent < 100)
            return true;
        cli_usage("bench", "--tolerance is a percentage below 100 (got %s)", value);
        return false;
    case 'p':
        if (with->peer_count == BENCH_MOST_PEERS) {
            cli_usage("bench", "more than %d peers", BENCH_MOST_PEERS);
            return false;
        }
        with->peer[with->peer_count++] = value;
        return true;
    case 'P':
        return with->find_peers = true;
    case 'c':
        return with->check = true;
    case 'j':
        return with->json = true;
    case 'h':
        return with->help = true;
    default:
        return engine_option("bench", option, value, &b->with);
    }
}

static bool read_options(int argc, char **argv, settings *with, bench *b) {
    static const struct option options[] = {{"batch", required_argument, NULL, 'b'},
                                            {"shape", required_argument, NULL, 's'},
                                            ENGINE_OPTIONS,
                                            {"repetitions", required_argument, NULL, 'r'},
                                            {"check", no_argument, NULL, 'c'},
                                            {"save", required_argument, NULL, 'S'},
                                            {"output", required_argument, NULL, 'S'},
                                            {"against", required_argument, NULL, 'a'},
                                            {"tolerance", required_argument, NULL, 't'},
                                            {"peers", no_argument, NULL, 'P'},
                                            {"peer", required_argument, NULL, 'p'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    for (int option; (option = cli_option("bench", argc, argv, options)) != -1;)
        if (!take_option(option, optarg, with, b))
            return false;
    return true;
}

/* ---- The cases ------------------------------------------------------------------------- */

/* All of them are in memory at once, and touched: more than there is would end us without a word.
 */
static bool fits_memory(const bench *b) {
    double need = 0, kilobytes = 0;
    char line[128];
    for (size_t i = 0; i < b->count; i++)
        need += bench_case_bytes(&b->cases[i]);
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && !(kilobytes > 0) && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) != 1)
            kilobytes = 0;
    if (file)
        fclose(file);
    if (!(kilobytes > 0) || need < MEMORY_SHARE * 1024 * kilobytes)
        return true;
    cli_usage("bench",
              "this takes %.1f GB, and %.1f GB are free; try a smaller --batch, or one "
              "operator at a time",
              1e-9 * need, 1.024e-6 * kilobytes);
    return false;
}

static bool open_targets(int count, char **words, const settings *with, bench *b) {
    const size_t two = 2;
    const size_t wanted = count ? (size_t)count : uc_operator_count();
    if (!(b->cases = calloc(wanted, sizeof *b->cases))) {
        target_failed("bench", "the results", UC_NO_MEMORY);
        return false;
    }
    for (size_t i = 0; i < wanted; i++) {
        const char *word = count ? words[i] : uc_operator_slug(i);
        const bool chain = is_chain_text(word);
        /* A shape that is spelled out has its batch; the default shape's is for large machines. */
        const size_t *batch = with->has_batch ? &with->batch : chain || with->shape ? NULL : &two;
        if (!target_open("bench", word, chain ? NULL : with->shape, batch, &b->with,
                         &b->cases[b->count].t))
            return false;
        b->cases[b->count++].baseline = NAN;
        if (!uc_chain_input(b->cases[i].t.chain).dim[0]) {
            cli_usage("bench", "a batch of 0 has nothing to measure");
            return false;
        }
    }
    return true;
}

static bool open_cases(bench *b) {
    if (!fits_memory(b))
        return false;
    for (size_t i = 0; i < b->count; i++)
        if (!bench_case_open(&b->cases[i], b))
            return false;
    return true;
}

/* ---- The rounds ------------------------------------------------------------------------ */

static bool measure(bench *b) {
    const size_t steps = b->repetitions * b->count;
    size_t step = 0;
    bool all_asked = true;
    for (size_t i = 0; i < PEAKS_AT_START; i++)
        machine_peaks(&b->machine, b->threads);
    for (size_t round = 0; round < b->repetitions; round++) {
        machine_bandwidth(&b->machine, b->threads);
        for (size_t i = 0; i < b->count; i++, step++) {
            bench_case *c = &b->cases[i];
            cli_progress_step("bench", c->t.slug ? c->t.slug : "chain", step, steps);
            machine_peaks(&b->machine, b->threads);
            for (size_t run = 0; run < BENCH_RUNS_PER_TURN; run++)
                if (!bench_case_run(c))
                    return false;
            if (b->peer_count) {
                settle();
                all_asked = bench_peers_run(b, c, round) && all_asked;
            }
        }
    }
    cli_progress(NULL);
    if (!all_asked)
        fputs("upconv: peers do f32 operators with the same sizes in all dimensions alone\n",
              stderr);
    return true;
}

static bool check_all(bench *b, bool *right) {
    *right = true;
    for (size_t i = 0; i < b->count; i++) {
        bench_case *c = &b->cases[i];
        cli_progress_step("checking against float64", c->t.slug ? c->t.slug : "chain", i, b->count);
        if (!bench_case_check(c, b))
            return false;
        *right = *right && c->right;
    }
    cli_progress(NULL);
    return true;
}

static int finish(const settings *with, bench *b, newfile *save) {
    bool right = true, slower = false;
    if (with->check && !check_all(b, &right))
        return EXIT_USAGE;
    for (size_t i = 0; with->against && i < b->count; i++)
        slower = slower || bench_slower(b, &b->cases[i], with->tolerance);
    int code = right && !slower ? EXIT_GOOD : EXIT_WRONG;

    cJSON *object = bench_json(b);
    if (with->save && !json_write(object, save))
        code = cli_usage("bench", "%s: %s", with->save, strerror(errno));
    if (with->json) {
        if (!json_print(object))
            code = EXIT_USAGE;
    } else {
        cJSON_Delete(object);
        bench_print(b);
        if (with->against)
            bench_print_changes(b, with->against, with->tolerance);
    }
    return code;
}

/* What can be wrong is found out before anything is measured. */
static bool prepare(int count, char **words, const settings *with, bench *b) {
    b->threads = engine_threads(&b->with);
    b->facts = facts_of_machine();
    /* The peers get the same cores and threads as we do. */
    if ((with->find_peers || with->peer_count) && !use_threads(b->threads)) {
        cli_usage("bench", "there are %zu cores, fewer than the %zu threads; try --threads %zu",
                  b->facts.cores, b->threads, b->facts.cores);
        return false;
    }
    return open_targets(count, words, with, b) &&
           (!with->against || bench_read_baseline(b, with->against)) && open_cases(b);
}

static int work(int count, char **words, const settings *with, bench *b) {
    newfile save = {0};
    if (!prepare(count, words, with, b))
        return EXIT_USAGE;
    if (with->save && !newfile_open(&save, with->save))
        return cli_usage("bench", "%s: %s", with->save, strerror(errno));
    if (with->find_peers || with->peer_count)
        bench_peers_start(b, with->find_peers, with->peer, with->peer_count);
    const bool measured = measure(b);
    bench_peers_end(b);
    const int code = measured ? finish(with, b, &save) : EXIT_USAGE;
    newfile_discard(&save);
    return code;
}

int cli_bench(int argc, char **argv) {
    static bench b = {.with = ENGINE_INIT, .repetitions = 10};
    settings with = {.tolerance = 0.1};
    if (!read_options(argc, argv, &with, &b))
        return EXIT_USAGE;
    if (with.help) {
        fputs(help, stdout);
        return EXIT_GOOD;
    }
    const int code = work(argc - optind, argv + optind, &with, &b);
    for (size_t i = 0; i < b.count; i++)
        bench_case_close(&b.cases[i]);
    free(b.cases);
    return code;
}
