/* Compiles a solution that is one C file, with the C compiler found.
 * Called by judge. */
#ifndef UC_CLI_COMPILE_H
#define UC_CLI_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum compile_outcome { COMPILE_GOOD, COMPILE_REFUSED, COMPILE_IMPOSSIBLE } compile_outcome;

/* Makes FOLDER/solution.so in a new private folder, which goes when the command ends. Prints the
 * command, and what the compiler says, on standard error. REFUSED: the compiler found it wrong.
 * IMPOSSIBLE: there is no compiler or no folder, and the user was told. flags may be NULL; they
 * come last, so that they can name libraries. */
compile_outcome compile_solution(const char *source, const char *flags, char *library,
                                 size_t library_bytes);

#endif
