/* How a call fails: a status for the caller and one line of text for this thread.
 * Used by every file that can refuse something. */
#ifndef UC_STATUS_H
#define UC_STATUS_H

#include "upconv.h"

/* Keeps the formatted message for uc_last_error() and returns the status, so that a check is one
 * line: return uc_fail(UC_INVALID, "stride_h must be at least 1 (got %zu)", stride); */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
uc_status
uc_fail(uc_status status, const char *format, ...);

#endif
