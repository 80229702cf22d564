/* A text file that appears whole or not at all.
 * Called by the subcommands that write files for people to keep. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "newfile.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#define TEMPORARY ".upconv-XXXXXX"

static void release(newfile *file) {
    const int kept = errno;
    free(file->path);
    free(file->partial);
    *file = (newfile){0};
    errno = kept;
}

/* Makes the temporary file beside the path, with the rights that the new file is to have. */
static bool open_partial(newfile *file, mode_t mode) {
    const char *slash = strrchr(file->path, '/');
    const size_t folder = slash ? (size_t)(slash - file->path) + 1 : 0;
    if (!(file->partial = malloc(folder + sizeof TEMPORARY)))
        return false;
    memcpy(file->partial, file->path, folder);
    memcpy(file->partial + folder, TEMPORARY, sizeof TEMPORARY);
    /* No signal between the file and the note that it must go. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const int descriptor = mkstemp(file->partial);
    if (descriptor >= 0)
        cli_remember_file(file->partial);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (descriptor < 0)
        return false;
    if (fchmod(descriptor, mode) == 0 && (file->stream = fdopen(descriptor, "w")))
        return true;
    const int kept = errno;
    close(descriptor);
    cli_remove_file(file->partial);
    errno = kept;
    return false;
}

bool newfile_open(newfile *file, const char *path) {
    *file = (newfile){0};
    struct stat about;
    if (!strcmp(path, "-")) {
        file->stream = stdout;
        return true;
    }
    const bool exists = stat(path, &about) == 0;
    if (exists && !S_ISREG(about.st_mode))
        return (file->stream = fopen(path, "w"));
    const mode_t mask = umask(0);
    umask(mask);
    /* What a link points to is replaced, not the link. */
    file->path = exists ? realpath(path, NULL) : strdup(path);
    if (file->path && open_partial(file, exists ? about.st_mode & 0777 : 0666 & ~mask))
        return true;
    release(file);
    return false;
}

bool newfile_commit(newfile *file) {
    bool good = !ferror(file->stream);
    good = (file->stream == stdout ? fflush(stdout) : fclose(file->stream)) == 0 && good;
    file->stream = NULL;
    if (file->partial && good)
        good = rename(file->partial, file->path) == 0;
    if (good && file->partial)
        cli_forget_file(file->partial);
    if (good)
        release(file);
    else
        newfile_discard(file);
    return good;
}

void newfile_discard(newfile *file) {
    const int kept = errno;
    if (file->stream && file->stream != stdout)
        fclose(file->stream);
    if (file->partial)
        cli_remove_file(file->partial);
    errno = kept;
    release(file);
}
