/* The results of `upconv bench`: a table for people, an object for machines.
 * Called by bench.c. */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "cli.h"
#include "json.h"

#define NAME_WIDTH 49

/* A chain is as long as it is: the numbers come on a line of their own. */
static void print_name(const bench_case *c) {
    const char *name = c->t.slug ? c->t.slug : c->t.text;
    if (strlen(name) <= NAME_WIDTH)
        printf("%-*s", NAME_WIDTH, name);
    else
        printf("%s\n%*s", name, NAME_WIDTH, "");
}

static void print_machine(const bench *b) {
    const machine *m = &b->machine;
    const uc_isa asked = b->with.options.isa;
    printf("%s, %s, %zu thread%s; %zu interleaved repetitions\n", b->facts.cpu,
           isa_names[asked ? asked : facts_best_isa(&b->facts)], b->threads,
           b->threads == 1 ? "" : "s", b->repetitions * BENCH_RUNS_PER_TURN);
    printf("FMA peak: f32 %.1f GFLOP/s, f64 %.1f. Memory: read %.1f GB/s, write %.1f, write past "
           "the cache %.1f\n\n",
           m->gflops_f32, m->gflops_f64, m->read_gbs, m->write_gbs, m->nt_write_gbs);
}

static void print_check(const bench_case *c) {
    printf(" %9.2e  %s%s%s", c->error, cli_colour_on(stdout, c->right ? CLI_GREEN : CLI_RED),
           c->right ? "PASS" : "FAIL", cli_colour_off(stdout));
}

static void print_peers(const bench *b) {
    printf("\n%-31s", "milliseconds, minimum");
    for (size_t i = 0; i < b->count; i++)
        printf(" %13.13s", b->cases[i].t.slug ? b->cases[i].t.slug + strlen("conv-transpose")
                                              : b->cases[i].t.text);
    printf("\n%-31s", "upconv");
    for (size_t i = 0; i < b->count; i++)
        printf(" %13.2f", samples_min(&b->cases[i].ours) * 1e3);
    for (size_t p = 0; p < b->peer_count; p++) {
        printf("\n%-25.25s %-5s", b->peers[p].name, b->peers[p].bare ? "bare" : "whole");
        for (size_t i = 0; i < b->count; i++) {
            const double least = samples_min(&b->cases[i].peers[p]);
            if (isfinite(least))
                printf(" %13.2f", least * 1e3);
            else
                printf(" %13s", "-");
        }
    }
    printf("\nbare: the convolution alone; whole: the whole operator\n");
}

void bench_print(const bench *b) {
    bool checked = false;
    for (size_t i = 0; i < b->count; i++)
        checked = checked || b->cases[i].checked;
    print_machine(b);
    printf("%-*s %9s %9s %8s %6s %6s %9s", NAME_WIDTH, "operator", "min ms", "median", "GFLOP/s",
           "peak", "memory", "limit ms");
    printf(checked ? " %9s\n" : "\n", "error");
    for (size_t i = 0; i < b->count; i++) {
        const bench_case *c = &b->cases[i];
        const double least = samples_min(&c->ours);
        print_name(c);
        printf(" %9.3f %9.3f %8.1f %5.1f%% %5.1f%% %9.3f", least * 1e3,
               samples_median(&c->ours) * 1e3, 1e-9 * c->flops / least,
               100 * bench_compute_seconds(b, c) / least, 100 * bench_memory_seconds(b, c) / least,
               1e3 * bench_limit_seconds(b, c));
        if (c->checked)
            print_check(c);
        printf("\n");
    }
    if (checked)
        printf("error: of the first item, against float64, relative to each channel's largest "
               "value\n");
    if (b->peer_count)
        print_peers(b);
}

void bench_print_changes(const bench *b, const char *path, double tolerance) {
    printf("\n%-*s %9s %9s %9s\n", NAME_WIDTH, "of the machine's limit, measured in each run",
           "then", "now", "change");
    for (size_t i = 0; i < b->count; i++) {
        const bench_case *c = &b->cases[i];
        const bool slower = bench_slower(b, c, tolerance);
        const double change = bench_change(b, c);
        print_name(c);
        if (isfinite(change))
            printf(" %8.1f%% %8.1f%% %+8.1f%%  %s%s%s\n", 100 * c->baseline,
                   100 * c->baseline * change, 100 * (change - 1),
                   cli_colour_on(stdout, slower ? CLI_RED : CLI_GREEN), slower ? "SLOWER" : "ok",
                   cli_colour_off(stdout));
        else
            printf(" not in %s\n", path);
    }
    printf("slower: by more than %g %%\n", 100 * tolerance);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static cJSON *peers_json(const bench *b, const bench_case *c) {
    cJSON *peers = cJSON_CreateArray();
    for (size_t p = 0; p < b->peer_count; p++) {
        if (!c->peers[p].count)
            continue;
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "name", b->peers[p].name);
        cJSON_AddBoolToObject(object, "whole", !b->peers[p].bare);
        json_number(object, "min_ms", samples_min(&c->peers[p]) * 1e3);
        json_number(object, "median_ms", samples_median(&c->peers[p]) * 1e3);
        cJSON_AddItemToArray(peers, object);
    }
    return peers;
}

static cJSON *case_json(const bench *b, const bench_case *c) {
    cJSON *object = cJSON_CreateObject();
    const double least = samples_min(&c->ours);
    if (c->t.slug)
        cJSON_AddStringToObject(object, "operator", c->t.slug);
    else
        cJSON_AddNullToObject(object, "operator");
    cJSON_AddStringToObject(object, "chain", c->t.text);
    cJSON_AddStringToObject(object, "dtype", uc_dtype_name(uc_chain_dtype(c->t.chain)));
    json_number(object, "flops", c->flops);
    json_number(object, "bytes", c->read_bytes + c->write_bytes);
    json_number(object, "min_ms", least * 1e3);
    json_number(object, "median_ms", samples_median(&c->ours) * 1e3);
    json_number(object, "repetitions", (double)c->ours.count);
    json_number(object, "gflops", 1e-9 * c->flops / least);
    json_number(object, "peak_percent", 100 * bench_compute_seconds(b, c) / least);
    json_number(object, "bandwidth_percent", 100 * bench_memory_seconds(b, c) / least);
    json_number(object, "limit_ms", 1e3 * bench_limit_seconds(b, c));
    if (c->checked) {
        json_number(object, "error", c->error);
        cJSON_AddBoolToObject(object, "pass", c->right);
    }
    if (isfinite(c->baseline))
        json_number(object, "change_percent", 100 * (bench_change(b, c) - 1));
    cJSON_AddItemToObject(object, "peers", peers_json(b, c));
    return object;
}

cJSON *bench_json(const bench *b) {
    cJSON *object = json_opening("bench", true);
    const bench_case *first = &b->cases[0];
    const uc_dtype dtype = uc_chain_dtype(first->t.chain);
    cJSON_AddItemToObject(object, "machine", facts_json(&b->facts, &b->machine, dtype, b->threads));
    cJSON *settings = cJSON_AddObjectToObject(object, "settings");
    json_number(settings, "batch", (double)uc_chain_input(first->t.chain).dim[0]);
    json_number(settings, "threads", (double)b->threads);
    cJSON_AddStringToObject(settings, "dtype", uc_dtype_name(dtype));
    cJSON *results = cJSON_AddArrayToObject(object, "results");
    for (size_t i = 0; i < b->count; i++)
        cJSON_AddItemToArray(results, case_json(b, &b->cases[i]));
    return object;
}
