/* Unfused plain arithmetic: the starters that `upconv init` writes, built in. What is lost in it is
 * what the strict comparison measures others by. Called by compare.c. */
#ifndef UC_CLI_UNFUSED_H
#define UC_CLI_UNFUSED_H

#include "signature.h"

/* The starter of a slug in float, or in long double; to be called by signature_call(). */
solution_function unfused_f32(const char *slug);
solution_function unfused_long(const char *slug);

#endif
