/* Everything that a run of the bench has measured, and the bars it is held against.
 * Filled by bench.c, shown by table.c and json.c. */
#ifndef UC_BENCH_RESULTS_H
#define UC_BENCH_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "machine.h"
#include "peer.h"
#include "subject.h"

#define MAX_PEERS 8
#define OPERATORS 5
#define DTYPES 4

typedef struct results {
    size_t threads, batch, repetitions, peer_count;
    const char *only; /* part of a slug: measure these alone */
    machine machine;
    subject ours[OPERATORS][DTYPES]; /* f32 has all three times, the others one-shot alone */
    peer peers[MAX_PEERS];
    double peer_seconds[MAX_PEERS][OPERATORS]; /* INFINITY: none */
} results;

/* What the project has promised for one-shot calls at batch 2 on 2 threads. */
typedef struct bars {
    double bare_ratio; /* at most: the whole operator's time by oneDNN's bare convolution's */
    double peak;       /* at least: needed FLOPs by what the FMA units could do */
} bars;

#define BAR_PACKING 0.03 /* at most: making the plan, by the whole call */
#define BAR_HALF 0.95    /* at least: f16's and bf16's speed by f32's */
#define BAR_F64 0.45     /* at least: f64's GFLOP/s by f32's */

bars bars_of(const char *slug);
bool measured(const results *r, size_t op);

/* Derived figures. A ratio that can't be had is 0. */
double gflops(const subject *s, double seconds);
double fraction_of_peak(const results *r, size_t op);
double bare_seconds(const results *r, size_t op); /* the fastest bare peer's, or INFINITY */
double bare_ratio(const results *r, size_t op);
double speed_by_f32(const results *r, size_t op, uc_dtype dtype);

/* Whether all bars that could be measured are met. */
bool all_met(const results *r);

void print_tables(const results *r);
bool write_json(const results *r, const char *path);

#endif
