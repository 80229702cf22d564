/* What there is to know about this machine without measuring: CPU, caches, instructions, threads.
 * Called by cpu, bench and judge. */
#define _GNU_SOURCE
#include "facts.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- Instruction sets ------------------------------------------------------------------ */

const char *const isa_names[] = {"auto", "portable", "avx2", "avx512", NULL};

/* The library is asked, not the CPU: it may want more than the name says, or be built without. */
static bool can_plan(const uc_chain *chain, uc_isa isa) {
    const float kernel[1] = {1};
    uc_options options = UC_OPTIONS_INIT;
    options.isa = isa;
    options.algorithm = UC_ALGORITHM_DIRECT; /* the environment's does not matter here */
    uc_plan *plan = NULL;
    const bool can = uc_plan_create(chain, (const void *[]){kernel}, &options, &plan) == UC_OK;
    uc_plan_destroy(plan);
    return can;
}

uc_isa facts_best_isa(const facts *f) {
    size_t best = 0;
    for (size_t i = 0; i < FACTS_ISAS; i++)
        if (f->has_isa[i])
            best = i;
    return (uc_isa)(UC_ISA_PORTABLE + best);
}

/* ---- Caches, cores, threads ------------------------------------------------------------ */

static bool read_word(const char *folder, const char *name, char *word, size_t bytes) {
    char path[128];
    snprintf(path, sizeof path, "%.90s/%.30s", folder, name);
    FILE *file = fopen(path, "r");
    const bool good = file && fgets(word, (int)bytes, file);
    if (file)
        fclose(file);
    if (good)
        word[strcspn(word, "\n")] = 0;
    return good;
}

/* "48K", "1024K", "32M"; 0 for anything else. */
static size_t bytes_of_word(const char *word) {
    size_t count;
    char unit;
    if (sscanf(word, "%zu%c", &count, &unit) != 2)
        return 0;
    return unit == 'K' ? count << 10 : unit == 'M' ? count << 20 : 0;
}

static void read_caches(facts *f) {
    for (size_t index = 0; index < 16; index++) {
        char folder[64], level[16], type[32], size[32];
        snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu0/cache/index%zu", index);
        if (!read_word(folder, "level", level, sizeof level) ||
            !read_word(folder, "type", type, sizeof type) ||
            !read_word(folder, "size", size, sizeof size) || !strcmp(type, "Instruction"))
            continue;
        const size_t bytes = bytes_of_word(size);
        if (level[0] == '1')
            f->l1d_bytes = bytes;
        else if (level[0] == '2')
            f->l2_bytes = bytes;
        else if (level[0] == '3')
            f->l3_bytes = bytes;
    }
}

facts facts_of_machine(void) {
    facts f = {.cpu = machine_cpu(), .cores = 1, .threads = 1};
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        f.cores = (size_t)CPU_COUNT(&set);
#ifdef _OPENMP
    f.threads = (size_t)omp_get_max_threads();
#endif
    read_caches(&f);
    uc_chain *chain = NULL;
    if (uc_chain_parse("f32 1x1x1, conv_transpose 1 kernel 1", &chain) == UC_OK)
        for (size_t i = 0; i < FACTS_ISAS; i++)
            f.has_isa[i] = can_plan(chain, (uc_isa)(UC_ISA_PORTABLE + i));
    uc_chain_destroy(chain);
    return f;
}

/* ---- For the machine-readable results -------------------------------------------------- */

double machine_peak(const machine *m, uc_dtype dtype) {
    return dtype == UC_F64 ? m->gflops_f64 : m->gflops_f32;
}

/* 0 is what was not found, or not measured. */
static void add_known(cJSON *object, const char *name, double value) {
    json_number(object, name, value > 0 ? value : (double)NAN);
}

cJSON *facts_json(const facts *f, const machine *m, uc_dtype dtype, size_t threads) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "cpu", f->cpu);
    cJSON_AddStringToObject(object, "isa", isa_names[facts_best_isa(f)]);
    cJSON_AddNumberToObject(object, "threads", (double)threads);
    cJSON_AddNumberToObject(object, "cores", (double)f->cores);
    cJSON *caches = cJSON_AddObjectToObject(object, "caches");
    add_known(caches, "l1d_bytes", (double)f->l1d_bytes);
    add_known(caches, "l2_bytes", (double)f->l2_bytes);
    add_known(caches, "l3_bytes", (double)f->l3_bytes);
    add_known(object, "peak_gflops", machine_peak(m, dtype));
    add_known(object, "read_gbs", m->read_gbs);
    add_known(object, "write_gbs", m->write_gbs > m->nt_write_gbs ? m->write_gbs : m->nt_write_gbs);
    return object;
}
