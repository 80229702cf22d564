/* The judge's stopwatch: the solution beside our own implementation, on inputs that change each
 * time, with every output looked at. Called by judge.c once all tests are passed. */
#define _GNU_SOURCE
#include "element.h"
#include "judge.h"
#include "machine.h"
#include "timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REPETITIONS 200
#define LEAST_REPETITIONS 5
#define LOW_VARIATION 0.01 /* of the faster half: the slower one is what else the machine does */
#define LOOKED_AT 16       /* slices of each output, compared with ours */

/* No algorithm known for these shapes needs fewer than an eighth of the direct one's operations, so
 * a time below that at the machine's peak is no honest one. */
#define LEAST_WORK (1.0 / 8)

typedef struct stopwatch {
    const judge_settings *with;
    const test_case *test;
    uc_chain *chain;
    uc_shape shape;
    data base, fresh;
    arena arena;
    bool has_arena, has_child;
    child child;
    void *ours; /* our output */
    rng rng;
    double solution[MOST_REPETITIONS], ours_best;
    size_t count;
} stopwatch;

/* The numbers of base, begun at a place that nobody can foresee: as good as new ones, and quick. */
static void refresh(stopwatch *w) {
    const size_t bytes = uc_dtype_bytes(w->base.dtype);
    for (size_t i = 0; i < w->base.count; i++) {
        const size_t shift = rng_below(&w->rng, w->base.elems[i]) * bytes;
        const size_t rest = w->base.elems[i] * bytes - shift;
        memcpy(w->fresh.tensor[i], (char *)w->base.tensor[i] + shift, rest);
        memcpy((char *)w->fresh.tensor[i] + rest, w->base.tensor[i], shift);
    }
    arena_fill(&w->arena, 0, &w->fresh);
}

/* All of it, as the solution's call is all of it: planning, packing, execution. */
static uc_status run_ours(stopwatch *w, double *seconds) {
    const double start = now();
    uc_plan *plan;
    uc_status status =
        uc_plan_create(w->chain, data_operands(&w->fresh), &w->with->engine.options, &plan);
    if (status != UC_OK)
        return status;
    void *workspace = malloc(uc_plan_workspace_bytes(plan) + 1);
    status =
        workspace ? uc_plan_execute(plan, w->fresh.tensor[0], w->ours, workspace) : UC_NO_MEMORY;
    free(workspace);
    uc_plan_destroy(plan);
    *seconds = now() - start;
    return status;
}

/* A look at some slices, to see cheating: far coarser than the check at the end, and as the site
 * looks where it is asked. */
static bool looks_like_ours(stopwatch *w) {
    const uc_dtype dtype = w->base.dtype;
    const double relative = dtype == UC_F16 ? 1e-2 : dtype == UC_BF16 ? 5e-2 : 1e-3;
    const double absolute = w->with->mode == MODE_SITE ? SITE_ABSOLUTE : 0;
    const size_t slices = w->shape.dim[0] * w->shape.dim[1],
                 positions = elems_of(&w->shape) / slices;
    const void *got = arena_output(&w->arena, 0);
    for (size_t n = 0; n < LOOKED_AT; n++) {
        const size_t first = rng_below(&w->rng, slices) * positions;
        double scale = 0, off = 0;
        for (size_t i = first; i < first + positions; i++) {
            const double ours = element_get(dtype, w->ours, i), it = element_get(dtype, got, i);
            scale = fmax(scale, fabs(ours));
            off = isnan(it) ? (double)INFINITY : fmax(off, fabs(ours - it));
        }
        if (!(off <= relative * scale + absolute))
            return false;
    }
    return true;
}

/* The coefficient of variation of the faster half. */
static double variation(const stopwatch *w) {
    double sorted[MOST_REPETITIONS], sum = 0, squares = 0;
    memcpy(sorted, w->solution, w->count * sizeof *sorted);
    qsort(sorted, w->count, sizeof *sorted, by_size);
    const size_t half = (w->count + 1) / 2;
    for (size_t i = 0; i < half; i++)
        sum += sorted[i];
    for (size_t i = 0; i < half; i++)
        squares += (sorted[i] - sum / (double)half) * (sorted[i] - sum / (double)half);
    return half > 1 ? sqrt(squares / (double)(half - 1)) / (sum / (double)half) : 0;
}

/* One call of each on the same fresh inputs, in changing order. False: the judge itself failed. */
static bool repeat(stopwatch *w, bool is_warm_up, test_result *check) {
    const bool solution_first = rng_below(&w->rng, 2);
    double seconds = 0, ours = 0;
    child_event event = CHILD_GOOD;
    refresh(w);
    for (int turn = 0; turn < 2 && event == CHILD_GOOD; turn++) {
        settle();
        if ((turn == 0) == solution_first)
            event = child_call(&w->child, 0, w->with->default_time_limit, &seconds);
        else if (run_ours(w, &ours) != UC_OK) {
            fprintf(stderr, "upconv: our own implementation: %s\n", uc_last_error());
            return false;
        }
    }
    if (event != CHILD_GOOD)
        return judge_describe(w->with, &w->child, event, w->test, check);
    const int changed = arena_changed_input(&w->arena, 0, &w->fresh);
    if (arena_trampled(&w->arena, 0) >= 0 || changed >= 0) {
        check->verdict = changed >= 0 ? VERDICT_CHANGED_INPUT : VERDICT_OUTSIDE;
        snprintf(check->detail, sizeof check->detail, "while it was timed, in repetition %zu",
                 w->count + 1);
    } else if (check->verdict == VERDICT_ACCEPTED && !looks_like_ours(w)) {
        check->verdict = VERDICT_CHEATS;
        snprintf(check->detail, sizeof check->detail,
                 "right when tested, wrong in repetition %zu of the timing", w->count + 1);
    }
    if (!is_warm_up) {
        w->solution[w->count++] = seconds;
        w->ours_best = fmin(w->ours_best, ours);
    }
    return true;
}

/* The last output, all of it, against the oracle. */
static bool verify(stopwatch *w, double relative_noise, test_result *check) {
    double *expected = malloc((elems_of(&w->shape) + 1) * sizeof *expected), *noise = NULL;
    const bool good = expected &&
                      uc_chain_reference(w->chain, w->fresh.tensor[0], data_operands(&w->fresh),
                                         expected) == UC_OK &&
                      (noise = compare_level_noise(&w->shape, expected, relative_noise));
    if (good) {
        const void *got = arena_output(&w->arena, 0);
        check->comparison = w->with->mode == MODE_SITE
                                ? compare_site(&w->shape, w->base.dtype, expected, got)
                                : compare_strict(&w->shape, w->base.dtype, expected, noise, got);
        if (check->comparison.wrong) {
            check->verdict = VERDICT_CHEATS;
            snprintf(check->detail, sizeof check->detail,
                     "right when tested, wrong in the last repetition of the timing");
            judge_hint(&(hint_facts){w->with, w->test, w->chain, &w->fresh, expected, got, NULL},
                       check->hint, sizeof check->hint);
        }
    } else {
        fprintf(stderr, "upconv: out of memory\n");
    }
    free(noise);
    free(expected);
    return good;
}

static bool prepare(stopwatch *w) {
    const signature *s = w->with->signature;
    if (uc_operator_chain(s->slug, w->with->engine.dtype, &w->test->params, &w->chain) != UC_OK)
        return false;
    w->shape = uc_chain_output(w->chain);
    const size_t bytes = elems_of(&w->shape) * uc_dtype_bytes(w->with->engine.dtype);
    if (!data_new(w->chain, &w->base) || !data_new(w->chain, &w->fresh) ||
        !(w->ours = malloc(bytes + 1)))
        return false;
    memset(w->ours, 0, bytes); /* no page faults while it is timed */
    cases_fill(s, w->test, w->with->seed, 1, &w->base);
    return w->has_arena = arena_new(&w->arena, s, &w->test->params, &w->base, bytes, 1);
}

static void finish(stopwatch *w) {
    if (w->has_child)
        child_end(&w->child);
    if (w->has_arena)
        arena_free(&w->arena);
    data_free(&w->base);
    data_free(&w->fresh);
    free(w->ours);
    uc_chain_destroy(w->chain);
}

/* Until the times vary little or the budget is used, but once at least. A cheat is watched a little
 * longer, for its time. */
static bool goes_on(const stopwatch *w, const test_result *check, double elapsed) {
    if (check->verdict == VERDICT_CHEATS)
        return w->count < 2 * LEAST_REPETITIONS && elapsed < w->with->timing_budget;
    if (check->verdict != VERDICT_ACCEPTED || w->count >= MOST_REPETITIONS)
        return false;
    if (w->count == 0)
        return true;
    return elapsed < w->with->timing_budget &&
           (w->count < LEAST_REPETITIONS || variation(w) > LOW_VARIATION);
}

static bool measure(stopwatch *w, double relative_noise, timing_result *t) {
    test_result *check = &t->check;
    const double start = now();
    w->has_child = true;
    const child_event event = child_start(&w->child, w->with, &w->arena, w->with->time_limit);
    if (event != CHILD_GOOD)
        return judge_describe(w->with, &w->child, event, w->test, check);
    bool good = repeat(w, true, check);
    while (good && goes_on(w, check, now() - start)) {
        cli_progress("%s: timing, repetition %zu, %.0f of at most %.0f s", w->with->signature->slug,
                     w->count + 1, now() - start, w->with->timing_budget);
        good = repeat(w, false, check);
    }
    cli_progress("%s: checking the last output", w->with->signature->slug);
    if (good && check->verdict == VERDICT_ACCEPTED)
        good = verify(w, relative_noise, check);
    cli_progress(NULL);
    return good;
}

bool judge_timing(const judge_settings *with, const test_case *c, double relative_noise,
                  const machine *peaks, size_t cache_bytes, timing_result *t) {
    stopwatch w = {.with = with, .test = c, .rng = {rng_fresh_seed()}, .ours_best = INFINITY};
    *t = (timing_result){.check.test = c};
    bool good = prepare(&w);
    if (!good)
        fprintf(stderr, "upconv: out of memory for the timing\n");
    else
        good = measure(&w, relative_noise, t);
    if (good && w.count) {
        t->was_run = true;
        t->check.shape = w.shape;
        t->repetitions = w.count;
        t->cv = variation(&w);
        t->solution_seconds = INFINITY;
        for (size_t i = 0; i < w.count; i++)
            keep_least(&t->solution_seconds, w.solution[i]);
        t->ours_seconds = w.ours_best;
        const double flops = uc_chain_flops(w.chain);
        const double peak =
            1e9 * (with->engine.dtype == UC_F64 ? peaks->gflops_f64 : peaks->gflops_f32);
        double bytes = (double)w.arena.bytes - (double)cache_bytes; /* the rest may be cached */
        bytes = bytes > 0 ? bytes : 0;
        t->limit_seconds = fmax(LEAST_WORK * flops / peak,
                                bytes / (1e9 * fmax(peaks->read_gbs, peaks->nt_write_gbs)));
        t->below_limit = t->solution_seconds < t->limit_seconds;
        t->gflops = 1e-9 * flops / t->solution_seconds;
        t->peak_percent = 100 * flops / t->solution_seconds / peak;
    }
    if (w.has_child)
        memcpy(t->check.said, w.child.said, sizeof t->check.said);
    finish(&w);
    return good;
}
