/* One operator or chain that is measured: its memory, its runs, its check.
 * Called by bench.c. */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "data.h"
#include "timer.h"

/* What a right result may be off by at these shapes, relative to each channel's largest value. A
 * wrong one is off by 1e-3 and more, and is not found by the last of them; how exact we are is for
 * `upconv check` to say. */
static const double tolerances[] = {
    [UC_ACCURACY_STRICT] = 1e-5, [UC_ACCURACY_X3] = 1e-4, [UC_ACCURACY_BF16] = 5e-2};
#define TOLERANCE_F64 1e-12

/* ---- Samples --------------------------------------------------------------------------- */

double samples_min(const samples *s) {
    double least = INFINITY;
    for (size_t i = 0; i < s->count; i++)
        keep_least(&least, s->seconds[i]);
    return least;
}

double samples_median(const samples *s) {
    double *sorted = s->count ? malloc(s->count * sizeof *sorted) : NULL;
    if (!sorted)
        return INFINITY;
    memcpy(sorted, s->seconds, s->count * sizeof *sorted);
    qsort(sorted, s->count, sizeof *sorted, by_size);
    const double median = (sorted[(s->count - 1) / 2] + sorted[s->count / 2]) / 2;
    free(sorted);
    return median;
}

static bool samples_new(samples *s, size_t room) {
    *s = (samples){malloc((room + 1) * sizeof *s->seconds), 0, room};
    return s->seconds != NULL;
}

/* ---- The case -------------------------------------------------------------------------- */

static double tensor_bytes(const uc_chain *chain, const uc_shape *shape) {
    double bytes = (double)uc_dtype_bytes(uc_chain_dtype(chain));
    for (size_t i = 0; i < shape->ndim; i++)
        bytes *= (double)shape->dim[i];
    return bytes;
}

static void count_bytes(bench_case *c) {
    const uc_shape in = uc_chain_input(c->t.chain), out = uc_chain_output(c->t.chain);
    c->flops = uc_chain_flops(c->t.chain);
    c->read_bytes = tensor_bytes(c->t.chain, &in);
    c->write_bytes = tensor_bytes(c->t.chain, &out);
    for (size_t i = 0; i < uc_chain_operand_count(c->t.chain); i++) {
        const uc_shape shape = uc_chain_operand(c->t.chain, i).shape;
        c->read_bytes += tensor_bytes(c->t.chain, &shape);
    }
}

double bench_case_bytes(const bench_case *c) {
    const uc_shape in = uc_chain_input(c->t.chain), out = uc_chain_output(c->t.chain);
    return tensor_bytes(c->t.chain, &in) + tensor_bytes(c->t.chain, &out);
}

bool bench_case_open(bench_case *c, const bench *b) {
    const uc_dtype dtype = uc_chain_dtype(c->t.chain);
    const uc_shape in = uc_chain_input(c->t.chain), out = uc_chain_output(c->t.chain);
    count_bytes(c);
    c->input = random_tensor(dtype, &in, 1);
    c->output = huge_pages(elems_of(&out) * uc_dtype_bytes(dtype));
    bool enough = c->input && c->output && random_operands(c->t.chain, c->operands) &&
                  samples_new(&c->ours, b->repetitions * BENCH_RUNS_PER_TURN);
    for (size_t i = 0; enough && i < BENCH_MOST_PEERS; i++)
        enough = samples_new(&c->peers[i], b->repetitions * BENCH_RUNS_PER_TURN);
    uc_status status = enough ? UC_OK : UC_NO_MEMORY;
    if (status == UC_OK)
        status = uc_plan_create(c->t.chain, (const void *const *)c->operands, &b->with.options,
                                &c->plan);
    if (status == UC_OK && !(c->workspace = huge_pages(uc_plan_workspace_bytes(c->plan))))
        status = UC_NO_MEMORY;
    if (status != UC_OK)
        target_failed("bench", c->t.slug ? c->t.slug : c->t.text, status);
    return status == UC_OK;
}

bool bench_case_run(bench_case *c) {
    const double start = now();
    const uc_status status = uc_plan_execute(c->plan, c->input, c->output, c->workspace);
    const double seconds = now() - start;
    if (status != UC_OK) {
        target_failed("bench", c->t.slug ? c->t.slug : c->t.text, status);
        return false;
    }
    if (c->ours.count < c->ours.room)
        c->ours.seconds[c->ours.count++] = seconds;
    return true;
}

void bench_case_close(bench_case *c) {
    for (size_t i = 0; i < BENCH_MOST_PEERS; i++)
        free(c->peers[i].seconds);
    free(c->ours.seconds);
    free(c->workspace);
    uc_plan_destroy(c->plan);
    for (size_t i = 0; i < MOST_OPERANDS; i++)
        free(c->operands[i]);
    free(c->output);
    free(c->input);
    target_close(&c->t);
    *c = (bench_case){0};
}

/* ---- The check ------------------------------------------------------------------------- */

bool bench_case_check(bench_case *c, const bench *b) {
    const size_t one = 1;
    const uc_dtype dtype = uc_chain_dtype(c->t.chain);
    uc_chain *item = NULL;
    double *expected = NULL, *noise = NULL;
    uc_status status = chain_changed(c->t.chain, &one, NULL, &item);
    if (status == UC_OK) {
        const uc_shape shape = uc_chain_output(item);
        expected = malloc(elems_of(&shape) * sizeof *expected);
        status = expected ? uc_chain_reference(item, c->input, (const void *const *)c->operands,
                                               expected)
                          : UC_NO_MEMORY;
        /* As if plain arithmetic had an error that makes the tolerance: it will be multiplied. */
        const double tolerance =
            dtype == UC_F64 ? TOLERANCE_F64 : tolerances[b->with.options.accuracy];
        if (status == UC_OK &&
            !(noise = compare_level_noise(&shape, expected, tolerance / STRICT_MULTIPLE)))
            status = UC_NO_MEMORY;
        if (status == UC_OK) {
            const comparison result = compare_strict(&shape, dtype, expected, noise, c->output);
            c->checked = true;
            c->right = result.wrong == 0;
            c->error = result.error;
        }
    }
    if (status != UC_OK)
        target_failed("bench", c->t.slug ? c->t.slug : c->t.text, status);
    free(noise);
    free(expected);
    uc_chain_destroy(item);
    return status == UC_OK;
}

/* ---- The limits ------------------------------------------------------------------------ */

double bench_compute_seconds(const bench *b, const bench_case *c) {
    return c->flops / (1e9 * machine_peak(&b->machine, uc_chain_dtype(c->t.chain)));
}

double bench_memory_seconds(const bench *b, const bench_case *c) {
    const machine *m = &b->machine;
    const double write = m->write_gbs > m->nt_write_gbs ? m->write_gbs : m->nt_write_gbs;
    return 1e-9 * (c->read_bytes / m->read_gbs + c->write_bytes / write);
}

double bench_limit_seconds(const bench *b, const bench_case *c) {
    const double compute = bench_compute_seconds(b, c), memory = bench_memory_seconds(b, c);
    /* What fits into the caches stays there from one repetition to the next. */
    const facts *f = &b->facts;
    const size_t cache = f->l3_bytes > f->l2_bytes ? f->l3_bytes : f->l2_bytes;
    const bool cached = c->read_bytes + c->write_bytes <= (double)cache;
    return cached || compute > memory ? compute : memory;
}
