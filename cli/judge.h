/* What the files of the judge share: a test's memory, the process that runs the solution, results.
 * Included by judge*.c only. */
#ifndef UC_CLI_JUDGE_H
#define UC_CLI_JUDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cases.h"
#include "cli.h"
#include "compare.h"
#include "engine.h"
#include "machine.h"
#include "signature.h"

#define JUDGE_ROUNDS 3 /* calls of the solution in one process: enough to see threads pile up */

typedef enum judge_mode { MODE_STRICT, MODE_SITE } judge_mode;

typedef struct judge_settings {
    const signature *signature;
    const char *solution; /* as the user named it */
    const char *library;  /* the shared library: the same, or what was compiled from it */
    const char *symbol;
    const char *cflags;  /* NULL: none */
    const char *problem; /* the problem file that named the operator, or NULL */
    engine engine;
    judge_mode mode;
    uint64_t seed;
    bool has_seed, quick, json;
    const char *only; /* one case, or NULL */
    size_t batch;     /* of the default shape */
    double time_limit, default_time_limit, timing_budget;
    size_t memory_limit_mib;
} judge_settings;

/* ---- Memory that a test shares with the solution (judge_arena.c) ------------------------ */

#define ARENA_MOST_BLOCKS (JUDGE_ROUNDS * (SIGNATURE_MOST_INPUTS + 1))
#define ARENA_CANARY 0xA5

/* Whole pages of the shared file; what the tensor leaves of them holds canaries. Around them the
 * solution has pages that can't be touched. */
typedef struct arena_block {
    size_t file_offset, pages_bytes; /* of its pages */
    size_t offset, bytes;            /* of the tensor, in its pages */
} arena_block;

/* At the beginning of the shared file: what the solution's process has to know. For each round the
 * inputs, then the output. */
typedef struct arena_header {
    char slug[64];
    uc_operator_params params;
    size_t rounds, inputs;
    arena_block blocks[ARENA_MOST_BLOCKS];
} arena_header;

typedef struct arena {
    int file;
    size_t bytes;
    arena_header *header; /* the mapping begins with it */
} arena;

/* Tensors end at a page that can't be touched in even rounds, begin at one in odd rounds. */
bool arena_new(arena *a, const signature *s, const uc_operator_params *params, const data *shape,
               size_t output_bytes, size_t rounds);
void arena_free(arena *a);
void *arena_input(const arena *a, size_t round, size_t input);
void *arena_output(const arena *a, size_t round);

/* Copies the inputs in, poisons the output with NaN, sets the canaries. */
void arena_fill(arena *a, size_t round, const data *d);

/* The input that is no longer what it was (its index), or -1. */
int arena_changed_input(const arena *a, size_t round, const data *d);

/* The block whose canaries are no longer what they were: an input's index, the number of inputs
 * for the output, or -1. */
int arena_trampled(const arena *a, size_t round);

/* ---- The solution's process (judge_child.c) and ours (judge_host.c) --------------------- */

#define CHILD_ARENA_FD 3
#define CHILD_ORDERS_FD 4
#define CHILD_RECORDS_FD 5
#define NONCE_BYTES 16

/* First of all over the orders pipe. */
typedef struct child_opening {
    unsigned char nonce[NONCE_BYTES];
    size_t memory_limit_bytes; /* 0: none */
} child_opening;

/* The solution's process says these; only it knows the nonce. */
typedef enum record_kind {
    RECORD_LOADED,
    RECORD_NOT_LOADED,
    RECORD_DONE,    /* the call has come back */
    RECORD_THREADS, /* and so many threads are left */
    RECORD_FAULT
} record_kind;
typedef struct child_record {
    unsigned char nonce[NONCE_BYTES];
    record_kind kind;
    size_t round, threads;
    int signal;
    char text[200]; /* why it was not loaded, what was touched */
} child_record;

/* The main() of the process that runs the solution: argv is {"judge-child", library, symbol}. */
int judge_child(int argc, char **argv);

typedef enum child_event {
    CHILD_GOOD,
    CHILD_NOT_LOADED,
    CHILD_DIED,   /* by a signal */
    CHILD_EXITED, /* without coming back from the call */
    CHILD_TIMED_OUT,
    CHILD_FAILED /* the judge itself could not do it */
} child_event;

typedef struct child {
    pid_t pid;
    int orders, records, out;
    unsigned char nonce[NONCE_BYTES];
    unsigned char unread[2 * sizeof(child_record)]; /* from records */
    size_t unread_bytes;
    child_record record; /* the last */
    size_t threads;      /* after the last call */
    int status;          /* of waitpid(), once it has ended */
    bool has_ended;
    char said[4096]; /* what it wrote on standard output and error, closed by a 0 */
    size_t said_bytes, said_more;
} child;

/* Starts a process, loads the library in it. */
child_event child_start(child *c, const judge_settings *with, const arena *a, double time_limit);
/* One call of the solution; seconds from the order to the answer. */
child_event child_call(child *c, size_t round, double time_limit, double *seconds);
/* Ends it, its process group and whatever it has started; collects what it said. */
void child_end(child *c);

/* ---- Results ---------------------------------------------------------------------------- */

typedef enum verdict {
    VERDICT_ACCEPTED,
    VERDICT_WRONG,
    VERDICT_OUTSIDE,
    VERDICT_CHANGED_INPUT,
    VERDICT_CRASH,
    VERDICT_EXITED,
    VERDICT_HANG,
    VERDICT_LEAKED_THREADS,
    VERDICT_TOO_SLOW,
    VERDICT_NOT_COMPILED,
    VERDICT_NOT_LOADED,
    VERDICT_CHEATS, /* right when tested, wrong when timed */
    VERDICT_NOT_RUN
} verdict;
const char *verdict_name(verdict v);

typedef struct test_result {
    const test_case *test;
    verdict verdict, other_mode; /* other_mode: what the strict comparison says in site mode */
    char detail[256], hint[256];
    uc_shape shape; /* of the output */
    comparison comparison;
    double seconds;        /* of the slowest call */
    double relative_noise; /* what plain arithmetic loses here at most, relative to its slice */
    char said[4096];
    size_t said_more;
} test_result;

/* Runs one case. False: the judge itself can't (memory, processes), with the user told. */
bool judge_test(const judge_settings *with, const test_case *c, test_result *r);

/* Says what it means that the process did not come back. False as above. */
bool judge_describe(const judge_settings *with, const child *c, child_event event,
                    const test_case *test, test_result *r);

/* What the wrong output looks like; "" where nothing is known. */
typedef struct hint_facts {
    const judge_settings *with;
    const test_case *test;
    const uc_chain *chain;
    const data *data;
    const double *expected;
    const void *got;
    const double *previous; /* what the call before should have given, or NULL */
} hint_facts;
void judge_hint(const hint_facts *facts, char *hint, size_t bytes);

typedef struct timing_result {
    bool was_run, below_limit;
    double solution_seconds, ours_seconds, cv, limit_seconds, gflops, peak_percent;
    size_t repetitions;
    test_result check; /* the verification afterwards */
} timing_result;

/* Times the solution beside ours at the default shape. False as above. */
bool judge_timing(const judge_settings *with, const test_case *c, double relative_noise,
                  const machine *peaks, size_t cache_bytes, timing_result *result);

/* ---- Reports (judge_report.c) ----------------------------------------------------------- */

/* The command line that runs one test again; everything with the timing where name is NULL. */
void report_reproducer(const judge_settings *with, const char *name, char *line, size_t bytes);

typedef struct judge_results {
    verdict verdict; /* the first failure's, or accepted */
    size_t count, failed;
    test_result results[CASES_MOST];
    timing_result timing;
    machine machine; /* zeros where nothing was measured */
} judge_results;

void report_opening(const judge_settings *with, size_t tests);
void report_test(const judge_settings *with, const test_result *r, size_t number, size_t tests);
void report_closing(const judge_settings *with, const judge_results *all);

/* False: nobody takes the output. */
bool report_json(const judge_settings *with, const judge_results *all);

#endif
