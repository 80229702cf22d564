/* Many threads at once: one plan shared, one-shot calls, chains and errors side by side.
 * Run by CTest, and under ThreadSanitizer: small on purpose. */
#include "call.h"
#include "params.h"
#include "run.h"
#include "team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORKERS = 6, ROUNDS = 3 };

/* What all workers share, and the one expected output. Without op there are no one-shot calls. */
struct shared {
    const struct operator_info *op;
    uc_operator_params params;
    struct problem problem;
    struct data data;
    uc_plan *plan;
    struct buffer expected;
};

struct worker {
    const struct shared *shared;
    size_t index;
    pthread_t thread;
};

static void check_output(const struct shared *shared, const char *label, uc_status status,
                         const struct buffer *output) {
    check_status(label, UC_OK, status);
    CHECK(memcmp(output->data, shared->expected.data, output->bytes) == 0, "%s: wrong output",
          label);
}

static void execute_shared(const struct shared *shared) {
    struct buffer output = output_new(&shared->problem, GUARD_MISALIGNED);
    struct buffer workspace = buffer_new(uc_plan_workspace_bytes(shared->plan), 1, GUARD_ALIGNED);
    const uc_status status =
        uc_plan_execute(shared->plan, shared->data.input.data, output.data, workspace.data);
    check_output(shared, "shared plan", status, &output);
    buffer_free(&workspace);
    buffer_free(&output);
}

static void call_once(const struct shared *shared) {
    struct buffer output = output_new(&shared->problem, GUARD_MISALIGNED);
    const uc_status status =
        call_operator(shared->op->slug, shared->problem.dtype, &shared->params,
                      shared->data.input.data, shared->data.operands, output.data);
    check_output(shared, "one-shot call", status, &output);
    buffer_free(&output);
}

/* The message is this thread's own: it names the stride that this thread got wrong. */
static void fail_once(const struct shared *shared, size_t index) {
    uc_operator_params wrong = shared->params;
    char *expected = check_text("%zu", 100 + index);
    wrong.output_padding_h = 100 + index;
    uc_chain *chain = NULL;
    check_status(
        "wrong output_padding_h", UC_INVALID,
        uc_operator_chain("conv-transpose3d-layernorm-gelu-scaling", UC_F32, &wrong, &chain));
    CHECK(!chain, "a chain although it failed");
    CHECK(strstr(uc_last_error(), expected), "'%s' does not name %s", uc_last_error(), expected);
    free(expected);
}

static void *work(void *argument) {
    const struct worker *worker = argument;
    CHECK(uc_last_error()[0] == 0, "a new thread starts with '%s'", uc_last_error());
    for (size_t round = 0; round < ROUNDS; round++) {
        fail_once(worker->shared, worker->index * ROUNDS + round);
        execute_shared(worker->shared);
        if (worker->shared->op)
            call_once(worker->shared);
    }
    return NULL;
}

/* Runs the problem alone, then by many threads on one plan. */
static void check_problem(struct shared *shared, size_t worker_count) {
    struct worker workers[MOST_WORKERS];
    shared->data = data_new(&shared->problem, GUARD_MISALIGNED);
    data_fill(&shared->data, &shared->problem, 5, FAMILY_NORMAL);
    shared->expected = output_new(&shared->problem, GUARD_ALIGNED);
    uc_chain *chain = run_parse(&shared->problem);
    run_plan(chain, &shared->data, 1, GUARD_ALIGNED, &shared->expected);
    check_status("plan", UC_OK, uc_plan_create(chain, shared->data.operands, NULL, &shared->plan));
    uc_chain_destroy(chain);

    for (size_t i = 0; i < worker_count; i++) {
        workers[i] = (struct worker){.shared = shared, .index = i};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            abort();
    }
    for (size_t i = 0; i < worker_count; i++)
        pthread_join(workers[i].thread, NULL);
    CHECK(data_intact(&shared->data), "written next to an input");

    uc_plan_destroy(shared->plan);
    buffer_free(&shared->expected);
    data_free(&shared->data);
}

static void check_operator(const struct operator_info *op, uc_dtype dtype) {
    struct shared shared = {.op = op, .params = params_small()};
    shared.problem = problem_of_operator(op->slug, dtype, &shared.params);
    check_problem(&shared, MOST_WORKERS);
}

/* Large enough for several tiles, so that the threads of one execution meet as well. */
static void check_tiles(void) {
    struct shared shared = {.params = params_small()};
    if (CHECK(problem_parse("f32 1x1x60x60, conv_transpose 32 kernel 2 stride 2, softmax_space",
                            &shared.problem),
              "not a problem"))
        check_problem(&shared, 2);
}

/* A team: everything is done once, and when a step ends all members have published their work. */
enum { STEPS = 4, THINGS = 37 };
static atomic_size_t joined, published, done[STEPS][THINGS], too_early;

static void publish(void) {
    atomic_fetch_add(&published, 1);
}

static void take_steps(uc_member *member, void *context) {
    (void)context;
    atomic_fetch_add(&joined, 1);
    for (size_t step = 0; step < STEPS; step++) {
        for (size_t i; uc_team_take(member, THINGS, &i);)
            atomic_fetch_add(&done[step][i], 1);
        if (atomic_load(&published) < (step + 1) * atomic_load(&joined))
            atomic_fetch_add(&too_early, 1);
    }
}

static void check_team(size_t threads) {
    joined = published = too_early = 0;
    memset(done, 0, sizeof done);
    uc_team_run(threads, publish, take_steps, NULL);
    CHECK(joined >= 1 && joined <= threads, "%zu of %zu threads", (size_t)joined, threads);
    CHECK(published == STEPS * joined && !too_early, "%zu threads: %zu published, %zu too early",
          threads, (size_t)published, (size_t)too_early);
    for (size_t i = 0; i < STEPS * THINGS; i++)
        CHECK(done[i / THINGS][i % THINGS] == 1, "%zu threads: thing %zu done %zu times", threads,
              i, (size_t)done[i / THINGS][i % THINGS]);
}

int main(void) {
    for (size_t threads = 1; threads <= 5; threads++)
        check_team(threads);
    for (size_t i = 0; i < operator_total; i++)
        check_operator(&operators[i], (uc_dtype)(i % 4));
    check_tiles();
    return check_done();
}
