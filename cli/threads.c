/* As many threads, and as many cores, for everything that is measured.
 * Called by bench, and by the programs in bench/, before anything else. */
#define _GNU_SOURCE
#include "threads.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#endif

bool use_threads(size_t threads) {
    cpu_set_t all, few;
    CPU_ZERO(&few);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    size_t taken = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && taken < threads; cpu++)
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &few);
            taken++;
        }
    /* Not every peer has a setting for threads, but all of them count the cores they may use. */
    if (taken < threads || sched_setaffinity(0, sizeof few, &few) != 0)
        return false;
    char text[24];
    snprintf(text, sizeof text, "%zu", threads);
    setenv("OMP_NUM_THREADS", text, 1); /* for the peers: our own OpenMP has read it already */
#ifdef _OPENMP
    omp_set_num_threads((int)threads);
    return true;
#else
    return threads == 1;
#endif
}

size_t count_of(const char *text) {
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    return errno || *end || end == text || value > 100000 ? 0 : value;
}
