/* As many threads, and as many cores, for everything that is measured.
 * Called by bench, and by the programs in bench/, before anything else. */
#ifndef UC_CLI_THREADS_H
#define UC_CLI_THREADS_H

#include <stdbool.h>
#include <stddef.h>

/* Sets it for this process and those it starts: cores, OpenMP and OMP_NUM_THREADS. False if there
 * are fewer cores, or no OpenMP for more than one. */
bool use_threads(size_t threads);

/* A number of at least 1 from an option's argument; 0 if it is none. */
size_t count_of(const char *text);

#endif
