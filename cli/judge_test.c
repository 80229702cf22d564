/* One case of the judge: makes the data, runs the solution on it, and says what came of it.
 * Called by judge.c. */
#define _GNU_SOURCE
#include "judge.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

const char *verdict_name(verdict v) {
    static const char *const names[] = {
        "accepted", "wrong answer",     "out of bounds", "changed its input",
        "crash",    "exited",           "hang",          "leaked threads",
        "too slow", "does not compile", "does not load", "wrong when timed",
        "not run"};
    return names[v];
}

/* Everything that a test holds; all NULL at first, all freed at the end. */
typedef struct test {
    size_t rounds;
    uc_chain *chain;
    uc_shape shape;
    data data[JUDGE_ROUNDS];
    double *expected[JUDGE_ROUNDS], *noise[JUDGE_ROUNDS];
    arena arena;
    bool has_arena;
} test;

static void free_test(test *t) {
    for (size_t i = 0; i < t->rounds; i++) {
        data_free(&t->data[i]);
        free(t->expected[i]);
        free(t->noise[i]);
    }
    if (t->has_arena)
        arena_free(&t->arena);
    uc_chain_destroy(t->chain);
}

static bool out_of_memory(const test_case *c) {
    fprintf(stderr, "upconv: %s: out of memory\n", c->name);
    return false;
}

/* The data, and the memory that the solution gets. */
static bool prepare(const judge_settings *with, const test_case *c, test *t) {
    if (uc_operator_chain(with->signature->slug, with->engine.dtype, &c->params, &t->chain) !=
        UC_OK) {
        fprintf(stderr, "upconv: %s: %s\n", c->name, uc_last_error());
        return false;
    }
    t->shape = uc_chain_output(t->chain);
    t->rounds = c->is_default_shape ? 1 : JUDGE_ROUNDS;
    for (size_t round = 0; round < t->rounds; round++) {
        if (!data_new(t->chain, &t->data[round]))
            return out_of_memory(c);
        cases_fill(with->signature, c, with->seed, round, &t->data[round]);
    }
    t->has_arena = arena_new(&t->arena, with->signature, &c->params, &t->data[0],
                             elems_of(&t->shape) * uc_dtype_bytes(with->engine.dtype), t->rounds);
    if (!t->has_arena)
        return out_of_memory(c);
    for (size_t round = 0; round < t->rounds; round++)
        arena_fill(&t->arena, round, &t->data[round]);
    return true;
}

/* What should have come out: only for a solution that came back, for it takes its time. */
static bool compute_expected(const test_case *c, test *t) {
    for (size_t round = 0; round < t->rounds; round++) {
        const data *d = &t->data[round];
        t->expected[round] = malloc((elems_of(&t->shape) + 1) * sizeof(double));
        if (!t->expected[round] || uc_chain_reference(t->chain, d->tensor[0], data_operands(d),
                                                      t->expected[round]) != UC_OK)
            return out_of_memory(c);
    }
    return true;
}

/* ---- What happened to the process ------------------------------------------------------- */

static const char *signal_name(int number) {
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV, a bad address";
    case SIGBUS:
        return "SIGBUS, a bad address";
    case SIGFPE:
        return "SIGFPE, a division by zero";
    case SIGILL:
        return "SIGILL, an instruction that this CPU lacks";
    case SIGABRT:
        return "SIGABRT, abort()";
    case SIGKILL:
        return "SIGKILL, perhaps out of memory";
    default:
        return strsignal(number);
    }
}

static void describe_death(const judge_settings *with, const child *c, test_result *r) {
    const char *touched = c->record.kind == RECORD_FAULT ? c->record.text : "";
    r->verdict = VERDICT_CRASH;
    if (strncmp(touched, "wrote to", 8) == 0)
        r->verdict = VERDICT_CHANGED_INPUT;
    else if (strncmp(touched, "touched", 7) == 0)
        r->verdict = VERDICT_OUTSIDE;
    snprintf(r->detail, sizeof r->detail, "%s%s%s", signal_name(WTERMSIG(c->status)),
             *touched ? ": " : "", touched);
    if (strstr(c->said, "stack smashing"))
        snprintf(r->detail, sizeof r->detail, "SIGABRT: it smashed its stack");
    if (r->verdict == VERDICT_CRASH && strstr(touched, "null") && with->memory_limit_mib)
        snprintf(r->hint, sizeof r->hint,
                 "perhaps malloc() gave NULL: the limit is %zu MiB (--memory-limit)",
                 with->memory_limit_mib);
}

static double limit_of(const judge_settings *with, const test_case *test) {
    return test->is_default_shape ? with->default_time_limit : with->time_limit;
}

bool judge_describe(const judge_settings *with, const child *c, child_event event,
                    const test_case *test, test_result *r) {
    switch (event) {
    case CHILD_GOOD:
        break;
    case CHILD_NOT_LOADED:
        r->verdict = VERDICT_NOT_LOADED;
        snprintf(r->detail, sizeof r->detail, "%s", c->record.text);
        break;
    case CHILD_DIED:
        describe_death(with, c, r);
        break;
    case CHILD_EXITED:
        r->verdict = VERDICT_EXITED;
        snprintf(r->detail, sizeof r->detail,
                 "the process left with exit code %d instead of coming back from the call",
                 WEXITSTATUS(c->status));
        break;
    case CHILD_TIMED_OUT:
        r->verdict = test->is_default_shape ? VERDICT_TOO_SLOW : VERDICT_HANG;
        snprintf(r->detail, sizeof r->detail, "no answer within %g s (%s)", limit_of(with, test),
                 test->is_default_shape ? "--default-time-limit" : "--time-limit");
        break;
    case CHILD_FAILED:
        fprintf(stderr, "upconv: can't start a process for the solution\n");
        return false;
    }
    return true;
}

/* ---- What it left behind ---------------------------------------------------------------- */

static void check_memory(const test *t, size_t round, test_result *r) {
    const int trampled = arena_trampled(&t->arena, round);
    const int changed = arena_changed_input(&t->arena, round, &t->data[round]);
    if (trampled >= 0) {
        const bool is_output = (size_t)trampled == t->data[round].count;
        r->verdict = VERDICT_OUTSIDE;
        snprintf(r->detail, sizeof r->detail, "call %zu wrote outside '%s', into the bytes %s it",
                 round + 1, is_output ? "output" : t->data[round].name[trampled],
                 round % 2 ? "behind" : "before");
    } else if (changed >= 0) {
        r->verdict = VERDICT_CHANGED_INPUT;
        snprintf(r->detail, sizeof r->detail, "call %zu wrote to its const input '%s'", round + 1,
                 t->data[round].name[changed]);
    }
}

/* False: out of memory. */
static bool check_values(const judge_settings *with, const test_case *c, test *t, size_t round,
                         test_result *r) {
    const void *got = arena_output(&t->arena, round);
    comparison strict;
    if (!compare_fairly(with->signature, &c->params, &t->data[round], &t->shape, t->expected[round],
                        1, got, &t->noise[round], &strict))
        return out_of_memory(c);
    comparison used = strict;
    r->other_mode = strict.wrong ? VERDICT_WRONG : VERDICT_ACCEPTED;
    if (with->mode == MODE_SITE)
        used = compare_site(&t->shape, with->engine.dtype, t->expected[round], got);
    if (round == 0 || used.wrong || used.error > r->comparison.error)
        r->comparison = used;
    if (!used.wrong && !strict.wrong)
        return true;
    judge_hint(&(hint_facts){with, c, t->chain, &t->data[round], t->expected[round], got,
                             round ? t->expected[round - 1] : NULL},
               r->hint, sizeof r->hint);
    if (!used.wrong)
        return true;
    r->verdict = VERDICT_WRONG;
    if (round)
        snprintf(r->detail, sizeof r->detail, "in call %zu of %zu in one process", round + 1,
                 t->rounds);
    return true;
}

typedef struct run {
    child process;
    child_event event;
    size_t threads[JUDGE_ROUNDS]; /* after each call */
} run;

static void run_solution(const judge_settings *with, const test_case *c, const test *t, run *it,
                         test_result *r) {
    it->event = child_start(&it->process, with, &t->arena, with->time_limit);
    for (size_t round = 0; it->event == CHILD_GOOD && round < t->rounds; round++) {
        double seconds;
        it->event = child_call(&it->process, round, limit_of(with, c), &seconds);
        it->threads[round] = it->process.threads;
        r->seconds = seconds > r->seconds ? seconds : r->seconds;
    }
    child_end(&it->process);
    memcpy(r->said, it->process.said, sizeof r->said);
    r->said_more = it->process.said_more;
}

/* A pool of threads that stays as it is, is fine. */
static void check_threads(const test *t, const size_t *threads, test_result *r) {
    if (t->rounds < JUDGE_ROUNDS || threads[0] >= threads[1] || threads[1] >= threads[2])
        return;
    r->verdict = VERDICT_LEAKED_THREADS;
    snprintf(r->detail, sizeof r->detail,
             "%zu threads after the first call, %zu after the second, %zu after the third",
             threads[0], threads[1], threads[2]);
}

/* Says what came of it. False: the judge itself failed. */
static bool examine(const judge_settings *with, const test_case *c, test *t, const run *it,
                    test_result *r) {
    if (it->event != CHILD_GOOD)
        return judge_describe(with, &it->process, it->event, c, r);
    for (size_t round = 0; round < t->rounds && r->verdict == VERDICT_ACCEPTED; round++)
        check_memory(t, round, r);
    if (r->verdict != VERDICT_ACCEPTED)
        return true;
    if (!compute_expected(c, t))
        return false;
    for (size_t round = 0; round < t->rounds && r->verdict == VERDICT_ACCEPTED; round++)
        if (!check_values(with, c, t, round, r))
            return false;
    r->relative_noise = compare_relative_noise(&t->shape, t->expected[0], t->noise[0]);
    if (r->verdict == VERDICT_ACCEPTED)
        check_threads(t, it->threads, r);
    return true;
}

bool judge_test(const judge_settings *with, const test_case *c, test_result *r) {
    test t = {0};
    run it = {0};
    *r = (test_result){.test = c};
    bool good = prepare(with, c, &t);
    if (good) {
        r->shape = t.shape;
        run_solution(with, c, &t, &it, r);
        good = examine(with, c, &t, &it, r);
    }
    free_test(&t);
    return good;
}
