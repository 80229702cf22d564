/* Statuses, the last error of each thread, and the version.
 * Called from everywhere through uc_fail(), and by users to read what it kept. */
#include "status.h"

#include <stdarg.h>

#define LAST_ERROR_BYTES 512

static _Thread_local char last_error[LAST_ERROR_BYTES];

uc_status uc_fail(uc_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    /* Messages quote what users typed: keep them one printable line. */
    for (char *at = last_error; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    return status;
}

const char *uc_last_error(void) {
    return last_error;
}

const char *uc_status_string(uc_status status) {
    switch (status) {
    case UC_OK:
        return "ok";
    case UC_INVALID:
        return "invalid argument";
    case UC_UNSUPPORTED:
        return "unsupported";
    case UC_NO_MEMORY:
        return "out of memory";
    case UC_DEVICE:
        return "device error";
    }
    return "unknown status";
}

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *uc_version(void) {
    return VERSION_TEXT(UC_VERSION_MAJOR, UC_VERSION_MINOR, UC_VERSION_PATCH);
}
