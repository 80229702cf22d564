/* upconv demo: the five operators at their default shape, timed, and checked against the oracle.
 * Called by main.c; `make run` is this. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "Usage: upconv demo [--batch N] [--threads N] [--json]\n\n"
    "Runs the five operators in f32 at their default shape with a small batch: the best time of a\n"
    "few executions, GFLOP/s on the multiply-adds that are needed, and the largest error of the\n"
    "first batch item against the float64 oracle, relative to the largest value of its channel.\n"
    "Exits with 1 if any is wrong.\n\n"
    "  --batch N    batch size (default 2)\n"
    "  --threads N  at most this many threads (default: OMP_NUM_THREADS, else all)\n"
    "  --json       print one JSON object instead of a table\n"
    "  --help       show this\n\n"
    "Example: upconv demo --batch 1 --threads 1\n";

/* f32 rounding leaves a few 1e-7 on these shapes; a wrong value is off by 1e-3 and more. */
#define TOLERANCE 1e-5

#define MIN_EXECUTIONS 3
#define SECONDS_EACH 1.0 /* keep executing this long, for a minimum that means something */

typedef struct settings {
    size_t batch_size, threads;
    bool json;
} settings;

typedef struct outcome {
    double seconds, gflops, error;
} outcome;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t elems_of(const uc_shape *shape) {
    size_t elems = 1;
    for (size_t i = 0; i < shape->ndim; i++)
        elems *= shape->dim[i];
    return elems;
}

/* Zero-mean numbers in (-scale, scale), the same every time. */
static float *random_tensor(const uc_shape *shape, float scale, uint64_t *state) {
    const size_t elems = elems_of(shape);
    float *values = malloc(elems * sizeof *values);
    for (size_t i = 0; values && i < elems; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        values[i] = scale * ((float)(*state >> 40) * 0x1p-23f - 1);
    }
    return values;
}

/* The largest error of the first item, relative to the largest value of its channel. NaN counts as
 * infinitely wrong. */
static double largest_error(const float *output, const double *expected, const uc_shape *shape) {
    const size_t channels = shape->dim[1], positions = elems_of(shape) / channels / shape->dim[0];
    double worst = 0;
    for (size_t c = 0; c < channels; c++) {
        double scale = 0, error = 0;
        for (size_t i = c * positions; i < (c + 1) * positions; i++) {
            const double off = fabs(output[i] - expected[i]);
            if (!(off <= error))
                error = isnan(off) ? INFINITY : off;
            if (fabs(expected[i]) > scale)
                scale = fabs(expected[i]);
        }
        if (error / scale > worst)
            worst = error / scale;
    }
    return worst;
}

/* Everything that one operator's run holds; all NULL at first, all freed at the end. */
typedef struct run {
    uc_chain *chain, *first_item;
    uc_plan *plan;
    float *input, *output, *operand[4];
    double *expected;
    void *workspace;
} run;

static uc_status prepare(const char *slug, const settings *with, run *r) {
    uc_operator_params params;
    uc_status status = uc_operator_defaults(slug, &params);
    params.batch_size = with->batch_size;
    if (status != UC_OK || (status = uc_operator_chain(slug, UC_F32, &params, &r->chain)) != UC_OK)
        return status;
    params.batch_size = 1;
    if ((status = uc_operator_chain(slug, UC_F32, &params, &r->first_item)) != UC_OK)
        return status;

    uint64_t state = 1;
    const uc_shape in = uc_chain_input(r->chain), out = uc_chain_output(r->chain);
    r->input = random_tensor(&in, 1, &state);
    bool enough = r->input != NULL;
    for (size_t i = 0; i < uc_chain_operand_count(r->chain); i++) {
        const uc_operand operand = uc_chain_operand(r->chain, i);
        /* Weights that keep the convolution's values near 1: channels and taps add up. */
        const double sum = operand.shape.ndim > 1
                               ? (double)elems_of(&operand.shape) / (double)operand.shape.dim[1] / 4
                               : 1;
        r->operand[i] = random_tensor(&operand.shape, (float)(2 / sqrt(sum)), &state);
        enough = enough && r->operand[i];
    }
    r->output = calloc(elems_of(&out), sizeof *r->output); /* touched below by the first run */
    r->expected = malloc(elems_of(&out) / out.dim[0] * sizeof *r->expected);
    if (!enough || !r->output || !r->expected)
        return UC_NO_MEMORY;

    uc_options options = UC_OPTIONS_INIT;
    options.threads = with->threads;
    status = uc_plan_create(r->chain, (const void *const *)r->operand, &options, &r->plan);
    if (status == UC_OK && !(r->workspace = malloc(uc_plan_workspace_bytes(r->plan))))
        status = UC_NO_MEMORY;
    return status;
}

static uc_status measure(const char *slug, const settings *with, outcome *o) {
    run r = {0};
    cli_progress("%s: preparing", slug);
    uc_status status = prepare(slug, with, &r);
    const double start = now();
    o->seconds = INFINITY;
    for (size_t i = 0; status == UC_OK && (i < MIN_EXECUTIONS || now() - start < SECONDS_EACH);
         i++) {
        cli_progress("%s: execution %zu", slug, i + 1);
        const double before = now();
        status = uc_plan_execute(r.plan, r.input, r.output, r.workspace);
        const double seconds = now() - before;
        o->seconds = seconds < o->seconds ? seconds : o->seconds;
    }
    if (status == UC_OK) {
        cli_progress("%s: checking against float64", slug);
        status =
            uc_chain_reference(r.first_item, r.input, (const void *const *)r.operand, r.expected);
    }
    if (status == UC_OK) {
        const uc_shape out = uc_chain_output(r.chain);
        o->gflops = uc_chain_flops(r.chain) / o->seconds * 1e-9;
        o->error = largest_error(r.output, r.expected, &out);
    }
    cli_progress(NULL);

    free(r.workspace);
    uc_plan_destroy(r.plan);
    free(r.expected);
    free(r.output);
    for (size_t i = 0; i < sizeof r.operand / sizeof *r.operand; i++)
        free(r.operand[i]);
    free(r.input);
    uc_chain_destroy(r.first_item);
    uc_chain_destroy(r.chain);
    return status;
}

static void print_outcome(const char *slug, const settings *with, const outcome *o, bool first) {
    const bool right = o->error <= TOLERANCE;
    if (with->json)
        printf("%s\n  {\"operator\": \"%s\", \"milliseconds\": %.3f, \"gflops\": %.2f, "
               "\"error\": %.3g, \"pass\": %s}",
               first ? "" : ",", slug, o->seconds * 1e3, o->gflops,
               isfinite(o->error) ? o->error : -1.0, right ? "true" : "false");
    else
        printf("%-50s %10.2f %9.2f %10.2e  %s\n", slug, o->seconds * 1e3, o->gflops, o->error,
               right ? "PASS" : "FAIL");
    fflush(stdout);
}

static int run_all(const settings *with) {
    if (with->json)
        printf("{\"version\": \"%s\", \"batch\": %zu, \"tolerance\": %g, \"operators\": [",
               uc_version(), with->batch_size, TOLERANCE);
    else
        printf("%-50s %10s %9s %10s\n", "operator, f32, default shape", "ms", "GFLOP/s", "error");
    int code = EXIT_GOOD;
    for (size_t i = 0; i < uc_operator_count(); i++) {
        outcome o = {0};
        const uc_status status = measure(uc_operator_slug(i), with, &o);
        if (status != UC_OK) {
            fprintf(stderr, "upconv: %s: %s\n", uc_operator_slug(i),
                    status == UC_NO_MEMORY ? "out of memory; try a smaller --batch"
                                           : uc_last_error());
            return status == UC_NO_MEMORY ? EXIT_WRONG : EXIT_USAGE;
        }
        print_outcome(uc_operator_slug(i), with, &o, i == 0);
        if (!(o.error <= TOLERANCE))
            code = EXIT_WRONG;
    }
    if (with->json)
        printf("\n]}\n");
    else
        printf("batch %zu; error against float64, relative to each channel's largest value; "
               "allowed: %g\n",
               with->batch_size, TOLERANCE);
    return code;
}

int cli_demo(int argc, char **argv) {
    static const struct option options[] = {{"batch", required_argument, NULL, 'b'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    settings with = {.batch_size = 2};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;)
        switch (option) {
        case 'b':
            if (!cli_size("demo", "--batch", optarg, &with.batch_size))
                return EXIT_USAGE;
            break;
        case 't':
            if (!cli_size("demo", "--threads", optarg, &with.threads))
                return EXIT_USAGE;
            break;
        case 'j':
            with.json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_GOOD;
        case ':':
            return cli_usage("demo", "option '%s' needs a value", argv[optind - 1]);
        default:
            return cli_usage("demo", "unknown option '%s'", argv[optind - 1]);
        }
    if (optind < argc)
        return cli_usage("demo", "'%s' is one argument too many", argv[optind]);
    if (!with.batch_size)
        return cli_usage("demo", "--batch must be at least 1 (got 0)");
    return run_all(&with);
}
