/* Memory as the operating system sees it: a run takes what it reads, writes, packs, and the
 * workspace that its plan asks for, and nothing else. Run by CTest; starts itself again for each
 * case, because a process has but one peak. Linux only. */
#define _DEFAULT_SOURCE
#include "call.h"
#include "check.h"
#include "params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static const double megabyte = 1 << 20;

/* What a plan may ask for, besides packed weights, whatever the output's size: per thread; and for
 * a softmax over all of space, what is kept of it until it has been measured. */
static const size_t workspace_per_thread = (size_t)8 << 20, workspace_kept = (size_t)8 << 20;

/* Threads' stacks, the allocator's rounding, and one input channel's weights in packing. */
static const size_t slack = (size_t)2 << 20;

/* A line of /proc/self/status, in bytes; 0 where there is none. */
static size_t status_bytes(const char *field) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    size_t kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, field, strlen(field)) == 0)
            kilobytes = strtoull(line + strlen(field), NULL, 10);
    if (file)
        fclose(file);
    return kilobytes << 10;
}

static size_t elems_of(uc_shape shape) {
    size_t elems = 1;
    for (size_t i = 0; i < shape.ndim; i++)
        elems *= shape.dim[i];
    return elems;
}

static float *tensor_new(uc_shape shape, size_t *total) {
    const size_t elems = elems_of(shape);
    float *tensor = check_alloc(elems * sizeof(double)); /* of f32, but f64 may read it */
    struct rng rng = {1};
    for (size_t i = 0; i < elems; i++)
        tensor[i] = (float)(rng_unit(&rng) - 0.5);
    *total += elems * sizeof *tensor;
    return tensor;
}

/* One operator with some parameters: everything that it takes. */
struct job {
    const struct operator_info *op;
    uc_operator_params params;
    uc_chain *chain;
    float *input, *output, *tensors[4];
    const void *operands[4];
    size_t tensor_bytes, operand_bytes;
};

static struct job job_new(const char *slug, const uc_operator_params *params) {
    struct job job = {.op = operator_find(slug), .params = *params};
    CHECK(uc_operator_chain(slug, UC_F32, params, &job.chain) == UC_OK, "%s", uc_last_error());
    job.input = tensor_new(uc_chain_input(job.chain), &job.tensor_bytes);
    job.output = tensor_new(uc_chain_output(job.chain), &job.tensor_bytes);
    for (size_t i = 0; i < uc_chain_operand_count(job.chain); i++) {
        job.tensors[i] = tensor_new(uc_chain_operand(job.chain, i).shape, &job.operand_bytes);
        job.operands[i] = job.tensors[i];
    }
    return job;
}

static void job_free(struct job *job) {
    free(job->input);
    free(job->output);
    for (size_t i = 0; i < 4; i++)
        free(job->tensors[i]);
    uc_chain_destroy(job->chain);
}

static void job_call(const struct job *job) {
    CHECK(call_operator(job->op->slug, UC_F32, &job->params, job->input, job->operands,
                        job->output) == UC_OK,
          "%s", uc_last_error());
}

static size_t workspace_of(const struct job *job, size_t threads) {
    uc_options options = UC_OPTIONS_INIT;
    options.threads = threads;
    uc_plan *plan = NULL;
    CHECK(uc_plan_create(job->chain, job->operands, &options, &plan) == UC_OK, "%s",
          uc_last_error());
    const size_t bytes = uc_plan_workspace_bytes(plan);
    uc_plan_destroy(plan);
    return bytes;
}

/* In the child: a small run first, so that code, stacks and the threads are there already. */
static int measure(const char *slug, size_t batch_size) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* huge pages would count what nobody asked for */
    uc_operator_params params;
    CHECK(uc_operator_defaults(slug, &params) == UC_OK, "%s", uc_last_error());
    params.batch_size = batch_size;
    uc_operator_params small = params;
    small.in_channels = small.out_channels = 6;
    struct job warm_up = job_new(slug, &small);
    job_call(&warm_up);
    job_free(&warm_up);

    const size_t before = status_bytes("VmRSS:");
    struct job job = job_new(slug, &params);
    const size_t weights = job.operand_bytes;
    const size_t workspace = workspace_of(&job, 0);
#if defined(__GLIBC__)
    malloc_trim(0); /* what that plan has left in the heap is not the call's */
#endif
    /* Winograd's weights are several times as many: nine points for five taps, three times over. */
    const size_t most = job.tensor_bytes + 10 * weights + workspace + slack;
    job_call(&job);
    const size_t peak = status_bytes("VmHWM:");
    if (!before || !peak) {
        printf("no /proc/self/status here\n");
        return SKIPPED;
    }
    const size_t taken = peak - before;
    printf("%s, batch %zu: %.1f MB taken; tensors %.1f, operands %.2f, workspace %.1f\n", slug,
           batch_size, (double)taken / megabyte, (double)job.tensor_bytes / megabyte,
           (double)weights / megabyte, (double)workspace / megabyte);
    CHECK(taken <= most, "%s, batch %zu: %.1f MB taken, %.1f expected at most", slug, batch_size,
          (double)taken / megabyte, (double)most / megabyte);
    job_free(&job);
    return check_done();
}

static void measure_in_child(const char *self, const char *slug, size_t batch_size) {
    char batch[32];
    snprintf(batch, sizeof batch, "%zu", batch_size);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execl(self, self, slug, batch, (char *)NULL);
        _exit(1);
    }
    int status = 0;
    const bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    CHECK(ended && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SKIPPED),
          "%s, batch %zu (above)", slug, batch_size);
}

/* The workspace alone, for more threads than there are: it grows by a buffer each. */
static void check_workspace(const char *slug, size_t threads) {
    uc_operator_params params;
    CHECK(uc_operator_defaults(slug, &params) == UC_OK, "%s", uc_last_error());
    params.batch_size = 1;
    struct job job = job_new(slug, &params);
    const bool keeps = strstr(slug, "clamp-softmax") != NULL;
    const size_t most = threads * workspace_per_thread + (keeps ? workspace_kept : 0),
                 bytes = workspace_of(&job, threads);
    printf("%s, %zu threads: workspace %.2f MB\n", slug, threads, (double)bytes / megabyte);
    CHECK(bytes <= most, "%s: %zu bytes for %zu threads, %zu at most", slug, bytes, threads, most);
    job_free(&job);
}

/* 16-bit elements: a softmax over space may lay one item down in reals. */
static void check_laid(const char *slug, size_t threads) {
    uc_operator_params params;
    CHECK(uc_operator_defaults(slug, &params) == UC_OK, "%s", uc_last_error());
    struct job job = {.op = operator_find(slug)};
    CHECK(uc_operator_chain(slug, UC_F16, &params, &job.chain) == UC_OK, "%s", uc_last_error());
    for (size_t i = 0; i < uc_chain_operand_count(job.chain); i++) {
        const uc_shape shape = uc_chain_operand(job.chain, i).shape;
        job.tensors[i] = tensor_new(shape, &job.operand_bytes);
        memset(job.tensors[i], 0x38, elems_of(shape) * 2); /* about a half, in f16 */
        job.operands[i] = job.tensors[i];
    }
    const size_t item = elems_of(uc_chain_output(job.chain)) / params.batch_size * sizeof(float),
                 most = threads * workspace_per_thread + item, bytes = workspace_of(&job, threads);
    printf("%s f16, %zu threads: workspace %.2f MB\n", slug, threads, (double)bytes / megabyte);
    CHECK(bytes <= most, "%s f16: %zu bytes for %zu threads, %zu at most", slug, bytes, threads,
          most);
    job_free(&job);
}

/* Rows that are much longer than a cache, and many channels: the same. */
static const char *const wide[] = {
    "f32 1x256x100000, conv_transpose 128 kernel 4 stride 2 padding 1",
    "f32 1x64x100000, gelu, conv_transpose 256 kernel 16 stride 8 padding 4, layernorm_channel "
    "1e-5",
    "f16 1x512x30000, avgpool 2, conv_transpose 512 kernel 3, softmax_channel, maxpool 2",
    "f64 1x64x2x20000, conv_transpose 64 kernel 4 stride 2 padding 1",
    "f32 1x600x6x20000, conv_transpose 2 kernel 5 padding 2",
    "bf16 1x64x4x4x9000, conv_transpose 100 kernel 3 stride 2 padding 1, gelu",
    "f32 1x64x100000x1, conv_transpose 64 kernel 4 stride 2 padding 1",
};

static void check_wide(const char *text, size_t threads) {
    uc_chain *chain = NULL;
    if (!CHECK(uc_chain_parse(text, &chain) == UC_OK, "%s", uc_last_error()))
        return;
    struct job job = {.chain = chain};
    for (size_t i = 0; i < uc_chain_operand_count(chain); i++) {
        job.tensors[i] = tensor_new(uc_chain_operand(chain, i).shape, &job.operand_bytes);
        job.operands[i] = job.tensors[i]; /* whatever their type makes of it */
    }
    const size_t bytes = workspace_of(&job, threads), most = threads * workspace_per_thread;
    printf("%s, %zu threads: workspace %.2f MB\n", text, threads, (double)bytes / megabyte);
    CHECK(bytes <= most, "%s: %zu bytes for %zu threads, %zu at most", text, bytes, threads, most);
    job_free(&job);
}

int main(int argc, char **argv) {
    if (argc > 2)
        return measure(argv[1], strtoull(argv[2], NULL, 10));
    for (size_t i = 0; i < operator_total; i++) {
        const char *slug = operators[i].slug;
        for (size_t threads = 1; threads <= 64; threads *= 8)
            check_workspace(slug, threads);
        for (size_t batch_size = 1; batch_size <= 2; batch_size++)
            measure_in_child(argv[0], slug, batch_size);
    }
    check_laid("conv-transpose3d-avgpool-clamp-softmax-multiply", 1);
    check_laid("conv-transpose3d-avgpool-clamp-softmax-multiply", 64);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        for (size_t threads = 1; threads <= 64; threads *= 8)
            check_wide(wide[i], threads);
    return check_done();
}
