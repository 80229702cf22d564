/* upconv cpu: what this machine is, and what it can do at most, measured.
 * Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <stdlib.h>

#include "engine.h"
#include "facts.h"
#include "json.h"
#include "machine.h"

static const char help[] =
    "Usage: upconv cpu [--threads N] [--json]\n\n"
    "Shows the CPU, its caches, the instruction sets that the library can use, threads, and what\n"
    "is measured in about a second: the peak of multiply-adds in registers and the bandwidth of\n"
    "memory, on all threads. Speeds are given by these elsewhere.\n\n"
    "  --threads N      measure on this many threads (default: OMP_NUM_THREADS, else all)\n"
    "  --json           print one JSON object\n"
    "  --help           show this\n\n"
    "Example: upconv cpu --threads 1\n";

/* The best of a few: a shared machine is not always ours. */
#define ROUNDS 5

static void print_bytes(const char *what, size_t bytes) {
    if (!bytes)
        printf("%-14s unknown\n", what);
    else if (bytes % ((size_t)1 << 20) == 0)
        printf("%-14s %zu MB\n", what, bytes >> 20);
    else
        printf("%-14s %zu KB\n", what, bytes >> 10);
}

static void print_text(const facts *f, const machine *m, size_t threads) {
    printf("%-14s %s\n%-14s", "CPU", f->cpu, "instructions");
    for (size_t i = 0; i < FACTS_ISAS; i++) {
        const uc_isa isa = (uc_isa)(UC_ISA_PORTABLE + i);
        printf("%s%s%s", i ? ", " : " ", f->has_isa[i] ? "" : "no ", isa_names[isa]);
    }
    printf("; used: %s\n", isa_names[facts_best_isa(f)]);
    print_bytes("L1 data cache", f->l1d_bytes);
    print_bytes("L2 cache", f->l2_bytes);
    print_bytes("L3 cache", f->l3_bytes);
    printf("%-14s %zu\n%-14s %zu by default; measured on %zu\n", "cores", f->cores, "threads",
           f->threads, threads);
    printf("%-14s f32 %.1f GFLOP/s, f64 %.1f GFLOP/s\n", "FMA peak", m->gflops_f32, m->gflops_f64);
    printf("%-14s read %.1f GB/s, write %.1f GB/s, write past the cache %.1f GB/s\n", "memory",
           m->read_gbs, m->write_gbs, m->nt_write_gbs);
}

static int print_json(const facts *f, const machine *m, size_t threads) {
    cJSON *object = json_opening("cpu", true);
    cJSON *about = facts_json(f, m, UC_F32, threads);
    cJSON_AddItemToObject(object, "machine", about);
    cJSON_AddNumberToObject(about, "default_threads", (double)f->threads);
    cJSON_AddNumberToObject(about, "peak_f64_gflops", m->gflops_f64);
    cJSON_AddNumberToObject(about, "cached_write_gbs", m->write_gbs);
    cJSON *sets = cJSON_AddArrayToObject(about, "instruction_sets");
    for (size_t i = 0; i < FACTS_ISAS; i++)
        if (f->has_isa[i])
            cJSON_AddItemToArray(sets, cJSON_CreateString(isa_names[UC_ISA_PORTABLE + i]));
    return json_print(object) ? EXIT_GOOD : EXIT_USAGE;
}

int cli_cpu(int argc, char **argv) {
    static const struct option options[] = {{"threads", required_argument, NULL, ENGINE_THREADS},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    engine with = ENGINE_INIT;
    bool json = false;
    for (int option; (option = cli_option("cpu", argc, argv, options)) != -1;)
        switch (option) {
        case 'j':
            json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_GOOD;
        default:
            if (!engine_option("cpu", option, optarg, &with))
                return EXIT_USAGE;
        }
    if (optind < argc)
        return cli_usage("cpu", "'%s' is one argument too many", argv[optind]);

    const facts f = facts_of_machine();
    const size_t threads = engine_threads(&with);
    machine m = {0};
    for (size_t i = 0; i < ROUNDS; i++) {
        cli_progress_step("cpu", "measuring", i, ROUNDS);
        machine_peaks(&m, threads);
        machine_bandwidth(&m, threads);
    }
    cli_progress(NULL);
    if (json)
        return print_json(&f, &m, threads);
    print_text(&f, &m, threads);
    return EXIT_GOOD;
}
