/* Allocation failure at every allocation site: a clean UC_NO_MEMORY, no leak, no partial write.
 * Run by CTest; the linker sends the library's allocations here (--wrap). */
#include "call.h"
#include "check.h"
#include "data.h"
#include "params.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *memory);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);

/* Only what one thread does between arm() and disarm() counts. */
static bool is_armed;
static size_t calls, failing_call; /* failing_call 0: none fails */
static long live;                  /* allocated less freed */

static void arm(size_t fail_at) {
    calls = 0;
    live = 0;
    failing_call = fail_at;
    is_armed = true;
}

static void disarm(void) {
    is_armed = false;
}

static bool must_fail(void) {
    return is_armed && ++calls == failing_call;
}

static void *counted(void *memory) {
    live += is_armed && memory;
    return memory;
}

void *__wrap_malloc(size_t bytes) {
    return must_fail() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return must_fail() ? NULL : counted(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes) {
    if (must_fail())
        return NULL;
    return memory ? __real_realloc(memory, bytes) : counted(__real_realloc(memory, bytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return must_fail() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
    const int status = must_fail() ? 1 : __real_posix_memalign(memory, alignment, bytes);
    live += is_armed && status == 0;
    return status;
}

char *__wrap_strdup(const char *text) {
    return must_fail() ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *memory) {
    live -= is_armed && memory;
    __real_free(memory);
}

/* Everything a call may need, and what it made. */
struct scene {
    const struct operator_info *op;
    uc_operator_params params;
    struct problem problem;
    char *text;
    struct data data;
    uc_chain *chain;
    struct buffer output, reference;
    uc_chain *made_chain;
    uc_plan *made_plan;
};

static uc_status do_operator(struct scene *scene) {
    return call_operator(scene->op->slug, scene->problem.dtype, &scene->params,
                         scene->data.input.data, scene->data.operands, scene->output.data);
}

static uc_status do_parse(struct scene *scene) {
    return uc_chain_parse(scene->text, &scene->made_chain);
}

static uc_status do_create(struct scene *scene) {
    const uc_shape shape = uc_chain_input(scene->chain);
    return uc_chain_create(scene->problem.dtype, &shape, &scene->made_chain);
}

static uc_status do_operator_chain(struct scene *scene) {
    return uc_operator_chain(scene->op->slug, scene->problem.dtype, &scene->params,
                             &scene->made_chain);
}

static uc_status do_plan(struct scene *scene) {
    return uc_plan_create(scene->chain, scene->data.operands, NULL, &scene->made_plan);
}

static uc_status do_reference(struct scene *scene) {
    return uc_chain_reference(scene->chain, scene->data.input.data, scene->data.operands,
                              scene->reference.data);
}

enum makes { MAKES_OUTPUT, MAKES_CHAIN, MAKES_PLAN };

static const struct call {
    const char *name;
    uc_status (*run)(struct scene *);
    enum makes makes;
} all_calls[] = {
    {"operator", do_operator, MAKES_OUTPUT},
    {"uc_chain_parse", do_parse, MAKES_CHAIN},
    {"uc_chain_create", do_create, MAKES_CHAIN},
    {"uc_operator_chain", do_operator_chain, MAKES_CHAIN},
    {"uc_plan_create", do_plan, MAKES_PLAN},
    {"uc_chain_reference", do_reference, MAKES_OUTPUT},
};

enum { UNTOUCHED = 0x5A };

static void prepare(struct scene *scene, enum makes makes) {
    memset(scene->output.data, UNTOUCHED, scene->output.bytes);
    memset(scene->reference.data, UNTOUCHED, scene->reference.bytes);
    /* A call that makes something must set it to NULL when it fails. */
    scene->made_chain = makes == MAKES_CHAIN ? (uc_chain *)scene : NULL;
    scene->made_plan = makes == MAKES_PLAN ? (uc_plan *)scene : NULL;
}

static bool is_untouched(const struct buffer *buffer) {
    const unsigned char *bytes = buffer->data;
    for (size_t i = 0; i < buffer->bytes; i++)
        if (bytes[i] != UNTOUCHED)
            return false;
    return true;
}

/* Runs the call with its n-th allocation failing, and takes back what it made. Whether it failed
 * or not, nothing is left allocated. */
static uc_status run_failing(struct scene *scene, const struct call *call, size_t n,
                             const char *label) {
    prepare(scene, call->makes);
    arm(n);
    const uc_status status = call->run(scene);
    const bool is_reached = calls >= n;
    if (status == UC_OK) {
        uc_chain_destroy(scene->made_chain);
        uc_plan_destroy(scene->made_plan);
    }
    disarm();
    CHECK(live == 0, "%s: %ld blocks leak when allocation %zu fails", label, live, n);
    CHECK(status == UC_OK || status == UC_NO_MEMORY, "%s: allocation %zu: %s", label, n,
          uc_status_string(status));
    CHECK(is_reached == (status != UC_OK), "%s: allocation %zu failed unnoticed", label, n);
    if (status != UC_OK) {
        CHECK(uc_last_error()[0], "%s: no message", label);
        CHECK(is_untouched(&scene->output) && is_untouched(&scene->reference),
              "%s: output written although allocation %zu failed", label, n);
        CHECK(!scene->made_chain && !scene->made_plan, "%s: the result is not NULL", label);
    }
    return status;
}

/* Fails the first allocation, then the second, and so on, until the call has no more of them. */
static void check_call(struct scene *scene, const struct call *call) {
    enum { MOST_SITES = 1000 };
    char *label = check_text("%s: %s", call->name, scene->text);
    size_t n = 1;
    while (n < MOST_SITES && run_failing(scene, call, n, label) != UC_OK)
        n++;
    CHECK(n > 1, "%s: no allocation was made to fail", label);
    CHECK(n < MOST_SITES, "%s: never succeeds", label);
    free(label);
}

/* Whatever happens while adding a stage, a failed one leaves the chain's text as it was. */
static void check_add(struct scene *scene) {
    const uc_shape shape = uc_chain_input(scene->chain);
    for (size_t fail_at = 1; fail_at < 1000; fail_at++) {
        uc_chain *chain;
        uc_chain_create(scene->problem.dtype, &shape, &chain);
        char *before = run_text(chain);
        arm(fail_at);
        const uc_status status = uc_chain_add(chain, "conv_transpose 3 kernel 2 bias");
        disarm();
        char *after = run_text(chain);
        CHECK(status == UC_OK || (status == UC_NO_MEMORY && strcmp(before, after) == 0),
              "uc_chain_add: %s, '%s'", uc_status_string(status), after);
        free(before);
        free(after);
        uc_chain_destroy(chain);
        if (status == UC_OK)
            return;
    }
}

static void check_execute_allocates_nothing(struct scene *scene) {
    if (!check_status("uc_plan_create", UC_OK, do_plan(scene)))
        return;
    struct buffer workspace =
        buffer_new(uc_plan_workspace_bytes(scene->made_plan), 1, GUARD_ALIGNED);
    arm(1);
    const uc_status status = uc_plan_execute(scene->made_plan, scene->data.input.data,
                                             scene->output.data, workspace.data);
    disarm();
    check_status("uc_plan_execute", UC_OK, status);
    CHECK(calls == 0, "uc_plan_execute allocates %zu times", calls);
    buffer_free(&workspace);
    uc_plan_destroy(scene->made_plan);
}

static void check_operator(const struct operator_info *op, uc_dtype dtype) {
    struct scene scene = {.op = op, .params = params_small()};
    scene.problem = problem_of_operator(op->slug, dtype, &scene.params);
    scene.text = problem_text(&scene.problem);
    scene.data = data_new(&scene.problem, GUARD_ALIGNED);
    data_fill(&scene.data, &scene.problem, 1, FAMILY_NORMAL);
    scene.chain = run_parse(&scene.problem);
    scene.output = output_new(&scene.problem, GUARD_ALIGNED);
    scene.reference = buffer_new(extent_elems(problem_output(&scene.problem)) * sizeof(double),
                                 sizeof(double), GUARD_ALIGNED);
    for (size_t i = 0; i < sizeof all_calls / sizeof *all_calls; i++)
        check_call(&scene, &all_calls[i]);
    check_add(&scene);
    check_execute_allocates_nothing(&scene);

    buffer_free(&scene.reference);
    buffer_free(&scene.output);
    uc_chain_destroy(scene.chain);
    data_free(&scene.data);
    free(scene.text);
}

int main(void) {
    for (size_t i = 0; i < operator_total; i++)
        for (int dtype = UC_F32; dtype <= UC_BF16; dtype++)
            check_operator(&operators[i], (uc_dtype)dtype);
    return check_done();
}
