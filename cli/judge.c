/* upconv judge: is somebody's implementation of an operator right, and how fast is it?
 * Called by main.c. */
#define _GNU_SOURCE
#include "compile.h"
#include "facts.h"
#include "json.h"
#include "judge.h"
#include "problem.h"
#include "ticker.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "Usage: upconv judge SLUG FILE [OPTION...]\n"
    "       upconv judge --problem FILE.md FILE [OPTION...]\n\n"
    "Judges FILE, a shared library or one C file (which is compiled with $CC, cc, gcc or clang): "
    "its\n"
    "function `solution` has the operator's C parameter list ('upconv show SLUG --signature') and\n"
    "host pointers; what it returns is not looked at. Each test runs in a process of its own, "
    "with\n"
    "guarded memory and limits, three calls with different data. Right means: as near to float64 "
    "as\n"
    "four times the error of plain unfused arithmetic, relative to each (b, c) slice. A solution\n"
    "that passes is timed beside ours, on inputs that change, and its outputs are looked at "
    "again.\n\n"
    "  --quick                 only the small tests, no timing: seconds\n"
    "  --mode strict|site      site: one uniform [0, 1) test with rtol 2e-4, atol 5e-3, as the "
    "public\n"
    "                          site had it, and where the strict comparison disagrees\n"
    "  --dtype TYPE            f32 (default), f64, f16 or bf16 (these two as uint16_t)\n"
    "  --symbol NAME           the function's name (default solution)\n"
    "  --cflags TEXT           more words for the compiler: options, libraries\n"
    "  --case NAME             one test only (--test is the same), without timing; --list names "
    "them\n"
    "  --seed N                the data of an earlier run (default: fresh data each time)\n"
    "  --list                  list the tests and what they are to show\n"
    "  --problem FILE.md       take the operator from a problem file\n"
    "  --batch N               batch of the default shape (default 1)\n"
    "  --time-limit S          seconds for a call in a small test (default 5)\n"
    "  --default-time-limit S  seconds for a call at the default shape (default 120)\n"
    "  --timing S              seconds for the timing (default 10; 0: none)\n"
    "  --memory-limit MIB      what the solution may have (default 8192; 0: no limit)\n"
    "  --threads N             threads of ours, and OMP_NUM_THREADS of the solution (default: as "
    "the\n"
    "                          environment says, else all)\n"
    "  --isa NAME              instructions of ours: auto (default), portable, avx2, avx512\n"
    "  --algorithm NAME        of ours: auto (default), direct, winograd\n"
    "  --accuracy NAME         of ours: strict (default), x3, bf16\n"
    "  --json                  print one JSON object\n"
    "  --help                  show this\n\n"
    "Exit codes: 0 accepted; 1 not, also where it does not compile or load; 2 a usage error, or "
    "no\n"
    "such file. A time is flagged as below the physical limit where it is less than an eighth of\n"
    "the operations take at this machine's peak, or than memory traffic that no cache holds: no\n"
    "honest algorithm gets there.\n\n"
    "Example: upconv judge conv-transpose3d-max-max-sum solution.c --quick\n";

/* Each hang costs its time limit: after so many the rest is not run. */
#define MOST_HANGS 5

enum { OPTION_SYMBOL = 1, OPTION_CFLAGS, OPTION_DEFAULT_LIMIT, OPTION_TIMING, OPTION_LIST };

static const struct option options[] = {
    {"quick", no_argument, NULL, 'q'},
    {"mode", required_argument, NULL, 'm'},
    {"symbol", required_argument, NULL, OPTION_SYMBOL},
    {"cflags", required_argument, NULL, OPTION_CFLAGS},
    {"case", required_argument, NULL, 'c'},
    {"test", required_argument, NULL, 'c'},
    {"seed", required_argument, NULL, 's'},
    {"list", no_argument, NULL, OPTION_LIST},
    {"problem", required_argument, NULL, 'p'},
    {"batch", required_argument, NULL, 'b'},
    {"time-limit", required_argument, NULL, 't'},
    {"default-time-limit", required_argument, NULL, OPTION_DEFAULT_LIMIT},
    {"timing", required_argument, NULL, OPTION_TIMING},
    {"memory-limit", required_argument, NULL, 'M'},
    ENGINE_OPTIONS,
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

static bool seconds_option(const char *name, bool may_be_zero, double *value) {
    if (!cli_real("judge", name, optarg, value))
        return false;
    if (*value > 0 || (may_be_zero && *value == 0))
        return true;
    cli_usage("judge", "%s must be above 0 (got %s)", name, optarg);
    return false;
}

static bool mode_option(judge_mode *mode) {
    *mode = strcmp(optarg, "site") == 0 ? MODE_SITE : MODE_STRICT;
    if (*mode == MODE_SITE || strcmp(optarg, "strict") == 0)
        return true;
    cli_usage("judge", "--mode is strict or site (got '%s')", optarg);
    return false;
}

static bool take_option(int option, judge_settings *with, bool *list) {
    size_t seed;
    switch (option) {
    case 'q':
        return with->quick = true;
    case 'm':
        return mode_option(&with->mode);
    case OPTION_SYMBOL:
        with->symbol = optarg;
        return true;
    case OPTION_CFLAGS:
        with->cflags = optarg;
        return true;
    case 'c':
        with->only = optarg;
        return true;
    case 's':
        with->has_seed = cli_size("judge", "--seed", optarg, &seed);
        with->seed = with->has_seed ? seed : 0;
        return with->has_seed;
    case OPTION_LIST:
        return *list = true;
    case 'p':
        with->problem = optarg;
        return true;
    case 'b':
        if (!cli_size("judge", "--batch", optarg, &with->batch))
            return false;
        if (!with->batch)
            cli_usage("judge", "--batch must be at least 1 (got 0)");
        return with->batch;
    case 't':
        return seconds_option("--time-limit", false, &with->time_limit);
    case OPTION_DEFAULT_LIMIT:
        return seconds_option("--default-time-limit", false, &with->default_time_limit);
    case OPTION_TIMING:
        return seconds_option("--timing", true, &with->timing_budget);
    case 'M':
        return cli_size("judge", "--memory-limit", optarg, &with->memory_limit_mib);
    case 'j':
        return with->json = true;
    default:
        return engine_option("judge", option, optarg, &with->engine);
    }
}

/* ---- Which tests ------------------------------------------------------------------------ */

static const char *nth_case(const void *from, size_t index) {
    const test_case *cases = from;
    return index < CASES_MOST && cases[index].name[0] ? cases[index].name : NULL;
}

/* The cases that these settings ask for; 0 with the user told. */
static size_t choose_cases(const judge_settings *with, test_case cases[CASES_MOST]) {
    size_t count = cases_list(with->signature->slug, with->batch, cases);
    if (with->mode == MODE_SITE && (!with->only || strcmp(with->only, "site") == 0)) {
        cases[0] = cases_site(with->signature->slug, with->batch);
        return 1;
    }
    if (!with->only)
        return with->quick ? count - 1 : count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, with->only) == 0) {
            cases[0] = cases[i];
            return 1;
        }
    const char *nearest = cli_nearest(with->only, nth_case, cases);
    if (nearest)
        cli_usage("judge", "there is no test '%s'; did you mean '%s'?", with->only, nearest);
    else
        cli_usage("judge", "there is no test '%s'; --list names them", with->only);
    return 0;
}

static int list_cases(const judge_settings *with) {
    test_case cases[CASES_MOST] = {0};
    const size_t count = cases_list(with->signature->slug, with->batch, cases);
    if (!with->json) {
        for (size_t i = 0; i < count; i++)
            printf("%-20s %s\n", cases[i].name, cases[i].why);
        return EXIT_GOOD;
    }
    cJSON *object = json_opening("cases", false), *list = cJSON_AddArrayToObject(object, "cases");
    for (size_t i = 0; i < count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToArray(list, item);
        cJSON_AddStringToObject(item, "name", cases[i].name);
        cJSON_AddStringToObject(item, "shows", cases[i].why);
    }
    return json_print(object) ? EXIT_GOOD : EXIT_USAGE;
}

/* ---- Judging ---------------------------------------------------------------------------- */

static void note(judge_results *all, const test_result *r) {
    if (r->verdict == VERDICT_ACCEPTED)
        return;
    all->failed++;
    if (all->verdict == VERDICT_ACCEPTED)
        all->verdict = r->verdict;
}

static double flops_of(const judge_settings *with, const test_case *c) {
    uc_chain *chain;
    if (uc_operator_chain(with->signature->slug, with->engine.dtype, &c->params, &chain) != UC_OK)
        return 0;
    const double flops = uc_chain_flops(chain);
    uc_chain_destroy(chain);
    return flops;
}

/* How long the test at the default shape may take, for a line of progress: the solution as in the
 * small test with the most to do, the oracle and plain arithmetic as on a usual machine. */
static double guess_seconds(const judge_settings *with, const test_case *cases, size_t index,
                            const test_result *results) {
    const double flops = flops_of(with, &cases[index]);
    double most = 0, seconds = 0;
    for (size_t i = 0; i < index; i++)
        if (flops_of(with, &cases[i]) > most) {
            most = flops_of(with, &cases[i]);
            seconds = results[i].seconds;
        }
    return (most > 0 ? flops / most * seconds : 0) + 1e-9 * flops;
}

/* False: the judge itself can't go on. */
static bool run_tests(const judge_settings *with, const test_case *cases, judge_results *all) {
    size_t hangs = 0;
    for (size_t i = 0; i < all->count; i++) {
        test_result *r = &all->results[i];
        /* It will not load, or hang, in every test. */
        if (all->verdict == VERDICT_NOT_LOADED || hangs >= MOST_HANGS) {
            *r = (test_result){.test = &cases[i], .verdict = VERDICT_NOT_RUN};
        } else {
            char what[128];
            snprintf(what, sizeof what, "%s: %.31s, %zu of %zu", with->signature->slug,
                     cases[i].name, i + 1, all->count);
            if (cases[i].is_default_shape)
                ticker_start(what, guess_seconds(with, cases, i, all->results));
            else
                cli_progress_step(with->signature->slug, cases[i].name, i, all->count);
            const bool good = judge_test(with, &cases[i], r);
            if (cases[i].is_default_shape)
                ticker_stop();
            cli_progress(NULL);
            if (!good)
                return false;
        }
        hangs += r->verdict == VERDICT_HANG;
        note(all, r);
        if (!with->json)
            report_test(with, r, i + 1, all->count);
    }
    return true;
}

static bool run_timing(const judge_settings *with, const test_case *cases, judge_results *all) {
    const bool has_default = cases[all->count - 1].is_default_shape;
    if (all->verdict != VERDICT_ACCEPTED || with->quick || with->only || !has_default ||
        with->timing_budget <= 0)
        return true;
    const facts f = facts_of_machine();
    const size_t threads = engine_threads(&with->engine);
    cli_progress("%s: measuring what this machine can do", with->signature->slug);
    for (int i = 0; i < 3; i++)
        machine_peaks(&all->machine, threads);
    machine_bandwidth(&all->machine, threads);
    if (!judge_timing(with, &cases[all->count - 1], all->results[all->count - 1].relative_noise,
                      &all->machine, f.l3_bytes > f.l2_bytes ? f.l3_bytes : f.l2_bytes,
                      &all->timing))
        return false;
    note(all, &all->timing.check);
    all->failed -= all->timing.check.verdict != VERDICT_ACCEPTED; /* it is none of the tests */
    return true;
}

static int judge(const judge_settings *with, const test_case *cases, size_t count) {
    judge_results *all = calloc(1, sizeof *all); /* large for a stack */
    if (!all) {
        fprintf(stderr, "upconv: out of memory\n");
        return EXIT_USAGE;
    }
    all->count = count;
    if (!with->json)
        report_opening(with, count);
    int code = EXIT_USAGE;
    if (run_tests(with, cases, all) && run_timing(with, cases, all)) {
        code = all->verdict == VERDICT_ACCEPTED ? EXIT_GOOD : EXIT_WRONG;
        if (!with->json)
            report_closing(with, all);
        else if (!report_json(with, all))
            code = EXIT_USAGE;
    }
    free(all);
    return code;
}

/* ---- The solution ----------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static int not_compiled(const judge_settings *with, const test_case *cases) {
    judge_results *all = calloc(1, sizeof *all);
    if (!all)
        return EXIT_USAGE;
    all->verdict = VERDICT_NOT_COMPILED;
    all->timing.check.test = cases;
    if (!with->json)
        printf("verdict: %s\n", verdict_name(all->verdict));
    else
        report_json(with, all);
    free(all);
    return EXIT_WRONG;
}

static int judge_file(judge_settings *with) {
    test_case cases[CASES_MOST] = {0};
    char library[PATH_MAX];
    struct stat status;
    const size_t count = choose_cases(with, cases);
    if (!count)
        return EXIT_USAGE;
    const bool exists = stat(with->solution, &status) == 0;
    if (!exists || !S_ISREG(status.st_mode)) {
        fprintf(stderr, "upconv: can't read '%s': %s\n", with->solution,
                exists ? "it is no file" : strerror(errno));
        return EXIT_USAGE;
    }
    if (ends_with(with->solution, ".c")) {
        switch (compile_solution(with->solution, with->cflags, library, sizeof library)) {
        case COMPILE_GOOD:
            break;
        case COMPILE_REFUSED:
            return not_compiled(with, cases);
        case COMPILE_IMPOSSIBLE:
            return EXIT_USAGE;
        }
    } else if (!realpath(with->solution, library)) { /* without a slash, dlopen() would search */
        fprintf(stderr, "upconv: can't read '%s': %s\n", with->solution, strerror(errno));
        return EXIT_USAGE;
    }
    with->library = library;
    return judge(with, cases, count);
}

/* The slug from the problem file or the arguments, then the solution. */
static bool take_arguments(int argc, char **argv, bool list, judge_settings *with,
                           problem *described) {
    const char *slug;
    if (with->problem) {
        if (!problem_read(with->problem, described))
            return false;
        slug = described->slug;
        /* Naming the operator as well is fine, if it is the same. */
        if (optind + 1 < argc && strcmp(argv[optind], slug) == 0)
            optind++;
    } else if (optind == argc) {
        cli_usage("judge", "which operator? 'upconv list' names them");
        return false;
    } else if (!cli_slug("judge", argv[optind++], &slug)) {
        return false;
    }
    with->signature = signature_find(slug);
    if (optind == argc && !list)
        cli_usage("judge", "which solution? Name a shared library or a C file");
    else if (optind + 1 < argc)
        cli_usage("judge", "'%s' is one argument too many", argv[optind + 1]);
    else {
        with->solution = argv[optind];
        return true;
    }
    return false;
}

int cli_judge(int argc, char **argv) {
    judge_settings with = {.symbol = "solution",
                           .engine = ENGINE_INIT,
                           .batch = 1,
                           .time_limit = 5,
                           .default_time_limit = 120,
                           .timing_budget = 10,
                           .memory_limit_mib = 8192};
    bool list = false;
    for (int option; (option = cli_option("judge", argc, argv, options)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_GOOD;
        }
        if (option == CLI_BAD_OPTION || !take_option(option, &with, &list))
            return EXIT_USAGE;
    }
    problem described = {0};
    int code = EXIT_USAGE;
    if (take_arguments(argc, argv, list, &with, &described)) {
        if (!with.has_seed)
            with.seed = rng_fresh_seed();
        if (with.engine.options.threads) { /* the solution's OpenMP threads, too */
            char threads[32];
            snprintf(threads, sizeof threads, "%zu", with.engine.options.threads);
            setenv("OMP_NUM_THREADS", threads, 1);
        }
        code = list ? list_cases(&with) : judge_file(&with);
    }
    if (described.slug)
        problem_free(&described);
    return code;
}
