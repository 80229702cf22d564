/* Files that are built into the command, by cmake/embed.cmake.
 * Included by what it makes, and by the subcommands that print or write them. */
#ifndef UC_CLI_EMBEDDED_H
#define UC_CLI_EMBEDDED_H

#include <stddef.h>

typedef struct embedded_file {
    const char *name; /* without folders; NULL behind the last */
    const char *text; /* closed by a 0 that bytes does not count */
    size_t bytes;
} embedded_file;

extern const embedded_file starter_files[];

#endif
