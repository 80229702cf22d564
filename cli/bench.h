/* What `upconv bench` measures and shows.
 * Shared by bench.c, bench_case.c, bench_peers.c, bench_show.c and baseline.c. */
#ifndef UC_CLI_BENCH_H
#define UC_CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "engine.h"
#include "facts.h"
#include "machine.h"
#include "peer.h"
#include "target.h"
#include "tensor.h"

#define BENCH_MOST_PEERS 8
/* Whoever follows another finds the caches full of strange data: the second run counts too. */
#define BENCH_RUNS_PER_TURN 2

typedef struct samples {
    double *seconds;
    size_t count, room;
} samples;

/* INFINITY where there are none. */
double samples_min(const samples *s);
double samples_median(const samples *s);

/* One operator or chain, with everything it needs, and its times. */
typedef struct bench_case {
    target t;
    uc_plan *plan;
    void *input, *output, *operands[MOST_OPERANDS], *workspace;
    double flops, read_bytes, write_bytes; /* needed at least */
    samples ours, peers[BENCH_MOST_PEERS];
    bool checked, right;
    double error;    /* of the first item, relative to its channels' largest values */
    double baseline; /* how near to the limit it was; NAN: not compared */
} bench_case;

typedef struct bench {
    engine with;
    size_t threads, repetitions, count, peer_count;
    bench_case *cases;
    facts facts;
    machine machine;
    peer peers[BENCH_MOST_PEERS];
    int pids[BENCH_MOST_PEERS]; /* theirs, to be forgotten at the end; a peer may end earlier */
} bench;

/* bench_case.c: false, with the user told, where there is no memory or the library says no. */
bool bench_case_open(bench_case *c, const bench *b);
bool bench_case_run(bench_case *c);                   /* once, and keeps the time */
bool bench_case_check(bench_case *c, const bench *b); /* the first item against the oracle */
void bench_case_close(bench_case *c);
double bench_case_bytes(const bench_case *c); /* of memory that it will take */

/* The least time that the machine could take: for the arithmetic, for the memory, for both. */
double bench_compute_seconds(const bench *b, const bench_case *c);
double bench_memory_seconds(const bench *b, const bench_case *c);
double bench_limit_seconds(const bench *b, const bench_case *c);

/* bench_peers.c: starts those that are found and those that are given, and says so where there are
 * none; runs those that can do this case. */
void bench_peers_start(bench *b, bool find, const char *const commands[], size_t count);
bool bench_peers_run(bench *b, bench_case *c, size_t round);
void bench_peers_end(bench *b);

/* baseline.c: what a file that --save wrote says of the cases; false with the user told if it is
 * none, or has nothing in common. After the measurement, bench_change() is how near to the limit a
 * case comes now by then, NAN where there is no baseline, and bench_slower() whether that is a loss
 * of more than the tolerance. */
bool bench_read_baseline(bench *b, const char *path);
double bench_change(const bench *b, const bench_case *c);
bool bench_slower(const bench *b, const bench_case *c, double tolerance);

/* bench_show.c */
cJSON *bench_json(const bench *b);
void bench_print(const bench *b);
void bench_print_changes(const bench *b, const char *path, double tolerance);

#endif
