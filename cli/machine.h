/* What this machine can do at most: multiply-adds per second, bytes per second.
 * Called by cpu, bench and judge, and by the programs in bench/: how close does the library come?
 */
#ifndef UC_CLI_MACHINE_H
#define UC_CLI_MACHINE_H

#include <stddef.h>

typedef struct machine {
    double gflops_f32, gflops_f64;            /* all threads together */
    double read_gbs, write_gbs, nt_write_gbs; /* nt: stores that go past the cache */
} machine;

/* The CPU's name, and the instruction set that the arithmetic peak is measured with. */
const char *machine_cpu(void);
const char *machine_isa(void);

/* Measures once, on this many threads, and keeps the best of all measurements so far (start with
 * zeros). The peaks take a few milliseconds each; the bandwidths have memory of their own. */
void machine_peaks(machine *best, size_t threads);
void machine_bandwidth(machine *best, size_t threads);

#endif
