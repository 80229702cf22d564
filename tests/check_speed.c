/* No operator has become slow: each at its default shape, on one thread, as a fraction of the
 * multiply-add peak of the same core, measured in turn with it. The bars leave a generous margin
 * below what is expected (docs/performance.md), so that a busy machine passes and a lost
 * optimisation does not. Run by `make test-long`; `check_speed N` takes the best of N rounds. */
#define _DEFAULT_SOURCE
#include "check.h"
#include "upconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct {
    const char *slug;
    double least; /* fraction of peak */
} bars[] = {
    {"conv-transpose3d-avgpool-clamp-softmax-multiply", 0.55},
    {"conv-transpose3d-max-max-sum", 0.55},
    {"conv-transpose3d-sum-layernorm-avgpool-gelu", 0.60},
    {"conv-transpose2d-softmax-biasadd-scaling-sigmoid", 0.55},
    {"conv-transpose3d-layernorm-gelu-scaling", 0.60},
};
enum { OPERATORS = sizeof bars / sizeof *bars };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- The peak: multiply-adds on registers alone, as wide as the kernels that run here ---- */

enum { CHAINS = 12, ROUNDS = 400000 };

/* FLOP per second. Twelve chains hide the latency of a multiply-add on any core of today. */
#define PEAK(name, bytes, target)                                                                  \
    typedef float name##_vector __attribute__((vector_size(bytes)));                               \
    target static double name(void) {                                                              \
        const float start = (float)rand() / (float)RAND_MAX;                                       \
        name##_vector sum[CHAINS], factor = start - (name##_vector){0}, term = factor;             \
        for (int i = 0; i < CHAINS; i++)                                                           \
            sum[i] = factor * (float)i;                                                            \
        const double begin = seconds();                                                            \
        for (int round = 0; round < ROUNDS; round++)                                               \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) sum[i] =                     \
                sum[i] * factor + term;                                                            \
        const double taken = seconds() - begin;                                                    \
        for (int i = 1; i < CHAINS; i++)                                                           \
            sum[0] += sum[i];                                                                      \
        volatile float used = sum[0][0];                                                           \
        (void)used;                                                                                \
        return 2.0 * CHAINS * ROUNDS * (bytes / sizeof(float)) / taken;                            \
    }

PEAK(peak_128, 16, )
#if defined(__x86_64__)
PEAK(peak_256, 32, __attribute__((target("avx2,fma"))))
PEAK(peak_512, 64, __attribute__((target("avx512f"))))
#endif

static double peak(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        return peak_512();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return peak_256();
#endif
    return peak_128();
}

/* ---- The operators ---- */

struct job {
    uc_chain *chain;
    uc_plan *plan;
    float *input, *output, *operand[4];
    void *workspace;
    double best; /* seconds */
};

static float *tensor_new(uc_shape shape) {
    size_t elems = 1;
    for (size_t i = 0; i < shape.ndim; i++)
        elems *= shape.dim[i];
    float *tensor = check_alloc(elems * sizeof *tensor);
    struct rng rng = {elems};
    for (size_t i = 0; i < elems; i++)
        tensor[i] = (float)(rng_unit(&rng) - 0.5);
    return tensor;
}

static struct job job_new(const char *slug) {
    struct job job = {.best = 1e9};
    uc_operator_params params;
    CHECK(uc_operator_defaults(slug, &params) == UC_OK, "%s", uc_last_error());
    params.batch_size = 1;
    CHECK(uc_operator_chain(slug, UC_F32, &params, &job.chain) == UC_OK, "%s", uc_last_error());
    job.input = tensor_new(uc_chain_input(job.chain));
    job.output = tensor_new(uc_chain_output(job.chain));
    const void *operands[4] = {NULL};
    for (size_t i = 0; i < uc_chain_operand_count(job.chain); i++)
        operands[i] = job.operand[i] = tensor_new(uc_chain_operand(job.chain, i).shape);
    uc_options options = UC_OPTIONS_INIT;
    options.threads = 1;
    CHECK(uc_plan_create(job.chain, operands, &options, &job.plan) == UC_OK, "%s", uc_last_error());
    job.workspace = check_alloc(uc_plan_workspace_bytes(job.plan));
    return job;
}

static void job_run(struct job *job) {
    const double begin = seconds();
    CHECK(uc_plan_execute(job->plan, job->input, job->output, job->workspace) == UC_OK, "%s",
          uc_last_error());
    const double taken = seconds() - begin;
    job->best = taken < job->best ? taken : job->best;
}

static void job_free(struct job *job) {
    uc_plan_destroy(job->plan);
    uc_chain_destroy(job->chain);
    free(job->input);
    free(job->output);
    for (size_t i = 0; i < 4; i++)
        free(job->operand[i]);
    free(job->workspace);
}

int main(int argc, char **argv) {
    const size_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
    struct job job[OPERATORS];
    double best_peak = 0;
    for (size_t i = 0; i < OPERATORS; i++)
        job[i] = job_new(bars[i].slug);
    /* In turn, so that whatever slows the machine down for a while slows all of them down. */
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < OPERATORS; i++) {
            const double now = peak();
            best_peak = now > best_peak ? now : best_peak;
            job_run(&job[i]);
        }
    printf("peak: %.1f GFLOP/s on one thread\n", best_peak * 1e-9);
    for (size_t i = 0; i < OPERATORS; i++) {
        const double rate = uc_chain_flops(job[i].chain) / job[i].best;
        printf("%-50s %7.2f ms %6.1f GFLOP/s, %.0f %% of peak\n", bars[i].slug, job[i].best * 1e3,
               rate * 1e-9, 100 * rate / best_peak);
        CHECK(rate >= bars[i].least * best_peak, "%s: %.0f %% of peak, not %.0f %%", bars[i].slug,
              100 * rate / best_peak, 100 * bars[i].least);
        job_free(&job[i]);
    }
    return check_done();
}
