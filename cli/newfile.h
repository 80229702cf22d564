/* A text file that appears whole or not at all.
 * Called by the subcommands that write files for people to keep. */
#ifndef UC_CLI_NEWFILE_H
#define UC_CLI_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

/* Write into the stream; until newfile_commit() the path has what it had before, also if the
 * command is interrupted. "-" is standard output, and what is no regular file (a pipe, /dev/null)
 * is written directly, because it can't be replaced. */
typedef struct newfile {
    FILE *stream;
    char *path, *partial; /* partial NULL: written directly */
} newfile;

/* False with errno set. A file that was opened needs one of the other two. */
bool newfile_open(newfile *file, const char *path);
bool newfile_commit(newfile *file);
void newfile_discard(newfile *file);

#endif
