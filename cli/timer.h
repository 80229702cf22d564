/* A clock, and a pause that lets threads which still spin after a parallel region go to sleep.
 * Included by everything that measures, here and in bench/; they define _GNU_SOURCE first. */
#ifndef UC_CLI_TIMER_H
#define UC_CLI_TIMER_H

#include <time.h>

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void settle(void) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static inline void keep_least(double *least, double value) {
    if (value < *least)
        *least = value;
}

static inline void keep_most(double *most, double value) {
    if (value > *most)
        *most = value;
}

#endif
