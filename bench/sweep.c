/* The shape sweep: every chain of a file against this machine's peak, so that no shape is a cliff,
 * and the latency of the smallest calls. Called by `make sweep`. */
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "subject.h"
#include "tensor.h"
#include "threads.h"
#include "timer.h"

static const char help[] = "Usage: sweep [--threads N] [--seconds S] FILE\n\n"
                           "FILE has a chain per line ('#' begins a comment). In each of twenty "
                           "rounds, each is executed for\n"
                           "S seconds (default 0.06), at least seven times; the least time counts. "
                           "A line is marked 'below'\n"
                           "under 40 % of the FMA peak; where an output has fewer than 16 "
                           "multiply-adds, under 50 % of the\n"
                           "bandwidth.\n\n"
                           "Example: build/bench/sweep --seconds 0.05 bench/sweep.txt\n";

#define ROUNDS 20 /* many short ones: what disturbs a shared machine lasts for seconds */
#define BANDWIDTH_EVERY 16
#define MAX_ROWS 256
#define LEAST_RUNS 7
#define BAR_PEAK 0.40
#define BAR_BANDWIDTH 0.50
#define FEW_PRODUCTS 16 /* an output with fewer is bound by memory */
#define BAR_CALL_US 15
#define BAR_EXECUTE_US 5

typedef struct row {
    char text[256];
    bool bound_by_memory;
    uc_dtype dtype;
    double flops, seconds, bytes_in, bytes_out;
} row;

/* The smallest call of an operator: microseconds. */
typedef struct small_call {
    double call, execute;
} small_call;

#define MAX_OPERATORS 16

typedef struct sweep {
    size_t threads, count;
    double seconds;
    machine machine;
    row rows[MAX_ROWS];
    small_call small[MAX_OPERATORS];
} sweep;

/* Moves to the next size of "WORD 3x4x5" and reads it; the last one stays. */
static void next_size(const char **at, const char *word, size_t *size) {
    if (!*at)
        return;
    *at += strncmp(*at, word, strlen(word)) == 0 ? strlen(word) : strspn(*at, "0123456789");
    if (**at == 'x')
        ++*at;
    if (strspn(*at, "0123456789"))
        *size = strtoul(*at, NULL, 10);
}

/* Multiply-adds of one element of the convolution's output, about: input channels by the taps of a
 * phase. From the text, since a chain doesn't tell its strides: the first "kernel" and "stride". */
static double products_per_output(const subject *s, const char *text) {
    const uc_shape in = uc_chain_input(s->chain);
    const char *kernel = strstr(text, "kernel "), *stride = strstr(text, "stride ");
    double products = (double)in.dim[1];
    size_t taps = 1, step = 1;
    for (size_t i = 2; i < in.ndim; i++) {
        /* "3" is for all dimensions, "3x4x5" for one each. */
        next_size(&kernel, "kernel ", &taps);
        next_size(&stride, "stride ", &step);
        products *= ceil((double)taps / (double)step);
    }
    return products;
}

static bool measure(sweep *all, row *r) {
    subject s;
    if (!subject_open_text(&s, r->text, all->threads)) {
        fprintf(stderr, "sweep: %s: %s\n", r->text, uc_last_error());
        return false;
    }
    const uc_shape in = uc_chain_input(s.chain), out = uc_chain_output(s.chain);
    r->dtype = uc_chain_dtype(s.chain);
    r->bytes_in = (double)(elems_of(&in) * uc_dtype_bytes(r->dtype));
    r->bytes_out = (double)(elems_of(&out) * uc_dtype_bytes(r->dtype));
    r->bound_by_memory = products_per_output(&s, r->text) < FEW_PRODUCTS;
    r->flops = s.flops;

    machine_peaks(&all->machine, all->threads);
    bool good = true;
    const double start = now();
    for (size_t i = 0; good && (i < LEAST_RUNS || now() - start < all->seconds); i++)
        good = subject_execute(&s);
    keep_least(&r->seconds, s.execute);
    subject_close(&s);
    return good;
}

/* Microseconds of a call: the least of some groups, each the mean of many calls in a row. */
static double microseconds(subject *s, bool (*call)(subject *)) {
    enum { GROUPS = 20, CALLS = 100 };
    double least = INFINITY;
    for (size_t group = 0; group < GROUPS; group++) {
        const double start = now();
        for (size_t i = 0; i < CALLS; i++)
            if (!call(s))
                return INFINITY;
        keep_least(&least, (now() - start) / CALLS);
    }
    return least * 1e6;
}

static bool measure_small(sweep *all, size_t op) {
    subject s;
    uc_operator_params p;
    const char *slug = uc_operator_slug(op);
    bool good = uc_operator_defaults(slug, &p) == UC_OK;
    p.batch_size = 1;
    p.in_channels = 2;
    p.out_channels = 3;
    p.depth = p.depth ? 4 : 0;
    p.height = p.width = 4;
    if (!good || !subject_open(&s, slug, UC_F32, &p, all->threads)) {
        fprintf(stderr, "sweep: %s: %s\n", slug, uc_last_error());
        return false;
    }
    keep_least(&all->small[op].call, microseconds(&s, subject_one_shot));
    keep_least(&all->small[op].execute, microseconds(&s, subject_execute));
    subject_close(&s);
    return true;
}

static bool measure_all(sweep *all) {
    for (size_t op = 0; op < uc_operator_count(); op++)
        all->small[op] = (small_call){INFINITY, INFINITY};
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < all->count; i++) {
            if (i % BANDWIDTH_EVERY == 0)
                machine_bandwidth(&all->machine, all->threads);
            if (!measure(all, &all->rows[i]))
                return false;
        }
        for (size_t op = 0; op < uc_operator_count(); op++)
            if (!measure_small(all, op))
                return false;
    }
    return true;
}

static bool read_rows(sweep *all, const char *path) {
    char line[1024];
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    while (all->count < MAX_ROWS && fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = 0;
        if (!line[strspn(line, " \t")])
            continue;
        row *r = &all->rows[all->count++];
        snprintf(r->text, sizeof r->text, "%.255s", line);
        r->seconds = INFINITY;
    }
    fclose(file);
    return true;
}

/* Whether the row meets its bar. The bandwidth's share is of the time that reading the input and
 * writing the output take at the least. */
static bool print_row(const row *r, const machine *m) {
    const double speed = 1e-9 * r->flops / r->seconds;
    const double peak = speed / (r->dtype == UC_F64 ? m->gflops_f64 : m->gflops_f32);
    const double memory =
        1e-9 * (r->bytes_in / m->read_gbs + r->bytes_out / fmax(m->write_gbs, m->nt_write_gbs)) /
        r->seconds;
    const bool met = r->bound_by_memory ? memory >= BAR_BANDWIDTH : peak >= BAR_PEAK;
    printf("%8.1f %9.3f %8.1f %5.1f%% %5.1f%% %-6s %-5s %s\n", 1e-6 * r->flops, r->seconds * 1e3,
           speed, 100 * peak, 100 * memory, r->bound_by_memory ? "memory" : "peak",
           met ? "" : "below", r->text);
    return met;
}

static void print_all(const sweep *all) {
    const machine *m = &all->machine;
    size_t below = 0;
    printf("%8s %9s %8s %6s %6s %s\n", "MFLOP", "ms", "GFLOP/s", "peak", "memory", "bar");
    for (size_t i = 0; i < all->count; i++)
        below += !print_row(&all->rows[i], m);
    printf("%s, %s, %zu threads: FMA peak f32 %.1f GFLOP/s; read %.1f GB/s, write %.1f\n",
           machine_cpu(), machine_isa(), all->threads, m->gflops_f32, m->read_gbs,
           fmax(m->write_gbs, m->nt_write_gbs));
    printf("%zu shapes, %zu below their bar\n", all->count, below);
}

static void print_small(const sweep *all) {
    printf("\n%-50s %9s %9s\n", "batch 1, 2 to 3 channels, 4 in each dimension", "call us",
           "plan us");
    for (size_t op = 0; op < uc_operator_count(); op++) {
        const small_call *s = &all->small[op];
        printf("%-50s %9.2f %9.2f %s\n", uc_operator_slug(op), s->call, s->execute,
               s->call <= BAR_CALL_US && s->execute <= BAR_EXECUTE_US ? "PASS" : "below");
    }
    printf("bars: %d us a call, %d us an execution\n", BAR_CALL_US, BAR_EXECUTE_US);
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"threads", required_argument, NULL, 't'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    static sweep all = {.threads = 2, .seconds = 0.06};
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        if (option == 't' && count_of(optarg))
            all.threads = count_of(optarg);
        else if (option == 's')
            all.seconds = strtod(optarg, NULL);
        else {
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    if (optind + 1 != argc || !use_threads(all.threads)) {
        fputs(help, stderr);
        return 2;
    }
    if (!read_rows(&all, argv[optind]) || !measure_all(&all))
        return 1;
    print_all(&all);
    print_small(&all);
    return 0;
}
