/* What there is to know about this machine without measuring: CPU, caches, instructions, threads.
 * Called by cpu, bench and judge. */
#ifndef UC_CLI_FACTS_H
#define UC_CLI_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "machine.h"
#include "upconv.h"

/* The instruction sets that the library knows, plainest first: UC_ISA_PORTABLE and on. */
#define FACTS_ISAS 3

typedef struct facts {
    const char *cpu;                      /* "unknown CPU" where the system does not say */
    size_t cores, threads;                /* this process may use; runs when not told otherwise */
    size_t l1d_bytes, l2_bytes, l3_bytes; /* of the first core; 0: unknown, or none */
    bool has_isa[FACTS_ISAS];
} facts;

facts facts_of_machine(void);

/* "auto", "portable", "avx2", "avx512", by uc_isa; then NULL. */
extern const char *const isa_names[];

/* The best instruction set that the library can use here. */
uc_isa facts_best_isa(const facts *f);

/* The arithmetic peak for an element type: f16 and bf16 are computed in f32. */
double machine_peak(const machine *m, uc_dtype dtype);

/* The object "machine" that every result file carries: what was found, and what was measured on
 * so many threads. Numbers that nobody knows are null. */
cJSON *facts_json(const facts *f, const machine *m, uc_dtype dtype, size_t threads);

#endif
