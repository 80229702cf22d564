/* What this machine can do at most: multiply-adds per second, bytes per second.
 * Called by cpu, bench and judge, and by bench/. machine.inc.c has the loops over vectors, once per
 * width. */
#define _GNU_SOURCE
#include "machine.h"

#include <stdio.h>
#include <string.h>

#include "tensor.h"
#include "timer.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Twelve are enough for every CPU (latency 4 or 5, two per cycle) and leave registers for the
 * factor and the term. */
#define ACCUMULATORS 12
#define PEAK_ROUNDS 400000 /* 4.8 million vector instructions: less than a millisecond */
#define PEAK_BURSTS 4

#define REAL float
#define BYTES 16
#define FN(name) name##_f32_128
#include "machine.inc.c"
#define REAL double
#define BYTES 16
#define FN(name) name##_f64_128
#include "machine.inc.c"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define REAL float
#define BYTES 32
#define FN(name) name##_f32_256
#include "machine.inc.c"
#define TARGET __attribute__((target("avx2,fma")))
#define REAL double
#define BYTES 32
#define FN(name) name##_f64_256
#include "machine.inc.c"
#define TARGET __attribute__((target("avx512f,fma")))
#define REAL float
#define BYTES 64
#define FN(name) name##_f32_512
#include "machine.inc.c"
#define TARGET __attribute__((target("avx512f,fma")))
#define REAL double
#define BYTES 64
#define FN(name) name##_f64_512
#include "machine.inc.c"
#endif

typedef struct isa {
    const char *name;
    size_t bytes;
    double (*peak_f32)(void), (*peak_f64)(void);
} isa;

static isa widest(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (isa){"avx512", 64, peak_f32_512, peak_f64_512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (isa){"avx2", 32, peak_f32_256, peak_f64_256};
#endif
    return (isa){"portable", 16, peak_f32_128, peak_f64_128};
}

const char *machine_isa(void) {
    return widest().name;
}

const char *machine_cpu(void) {
    static char name[128];
    char line[256];
    FILE *file = name[0] ? NULL : fopen("/proc/cpuinfo", "r");
    while (file && !name[0] && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(name, sizeof name, "%.120s", strchr(line, ':') + 2);
            name[strcspn(name, "\n")] = 0;
        }
    if (file)
        fclose(file);
    return name[0] ? name : "unknown CPU";
}

/* ---- Arithmetic ------------------------------------------------------------------------ */

static volatile double kept; /* so that no loop is without consequences */

/* The time to wake threads that sleep isn't arithmetic. */
static void wake(size_t threads) {
    double sum = 0;
#pragma omp parallel for num_threads((int)threads) schedule(static, 1) reduction(+ : sum)
    for (size_t t = 0; t < threads; t++)
        sum += (double)t;
    kept = sum;
}

/* All threads at once, each with a clock of its own: bursts shorter than a time slice, so that on a
 * shared machine some are not interrupted. Without OpenMP this is one thread. */
static double flops_of(double (*peak)(void), size_t lanes, size_t threads) {
    (void)threads;
    const double work = 2.0 * ACCUMULATORS * PEAK_ROUNDS * (double)lanes;
    double best = 0;
    for (size_t burst = 0; burst < PEAK_BURSTS; burst++) {
        double sum = 0, rate = 0;
#pragma omp parallel num_threads((int)threads) reduction(+ : sum, rate)
        {
#pragma omp barrier
            const double start = now();
            sum += peak();
            rate += work / (now() - start);
        }
        kept = sum;
        keep_most(&best, rate);
    }
    return best;
}

void machine_peaks(machine *best, size_t threads) {
    const isa with = widest();
    keep_most(&best->gflops_f32, 1e-9 * flops_of(with.peak_f32, with.bytes / 4, threads));
    keep_most(&best->gflops_f64, 1e-9 * flops_of(with.peak_f64, with.bytes / 8, threads));
}

/* ---- Memory ---------------------------------------------------------------------------- */

#define BUFFER_BYTES ((size_t)256 << 20) /* far more than any cache */
#define LINE 16                          /* floats */

/* Plain 128-bit operations: a core can wait for memory with these as well as with wider ones. */
typedef float line4 __attribute__((vector_size(16)));

static float read_lines(float *from, size_t count) {
    line4 sum[4] = {{0}};
    for (size_t i = 0; i < count; i += LINE)
        for (size_t k = 0; k < 4; k++)
            sum[k] += *(const line4 *)(from + i + 4 * k);
    const line4 all = sum[0] + sum[1] + sum[2] + sum[3];
    return all[0] + all[1] + all[2] + all[3];
}

static float write_lines(float *to, size_t count) {
    for (size_t i = 0; i < count; i += LINE) {
        for (size_t k = 0; k < 4; k++)
            *(line4 *)(to + i + 4 * k) = (line4){1, 2, 3, 4};
        __asm__ volatile("" ::: "memory"); /* or it becomes memset(), which picks its own stores */
    }
    return to[0];
}

static float write_lines_past_cache(float *to, size_t count) {
#if defined(__x86_64__)
    for (size_t i = 0; i < count; i += LINE)
        for (size_t k = 0; k < LINE; k += 4)
            _mm_stream_ps(to + i + k, _mm_set_ps(4, 3, 2, 1));
    _mm_sfence();
    return to[0];
#else
    return write_lines(to, count);
#endif
}

static double bytes_per_second(float (*pass)(float *, size_t), float *buffer, size_t threads) {
    const size_t each = BUFFER_BYTES / sizeof *buffer / threads / LINE * LINE;
    double sum = 0;
    wake(threads);
    const double start = now();
#pragma omp parallel for num_threads((int)threads) schedule(static, 1) reduction(+ : sum)
    for (size_t t = 0; t < threads; t++)
        sum += (double)pass(buffer + t * each, each);
    const double seconds = now() - start;
    kept = sum;
    return (double)(each * threads * sizeof *buffer) / seconds;
}

void machine_bandwidth(machine *best, size_t threads) {
    static float *buffer;
    if (!buffer && !(buffer = huge_pages(BUFFER_BYTES)))
        return;
    keep_most(&best->read_gbs, 1e-9 * bytes_per_second(read_lines, buffer, threads));
    keep_most(&best->write_gbs, 1e-9 * bytes_per_second(write_lines, buffer, threads));
    keep_most(&best->nt_write_gbs,
              1e-9 * bytes_per_second(write_lines_past_cache, buffer, threads));
}
