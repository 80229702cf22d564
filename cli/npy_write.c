/* Writes NumPy's .npy files: into a file beside the final one, which then takes its place.
 * Called by run; npy.c has the other direction. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* realpath() of any length */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#define HEADER_BYTES 192 /* a multiple of 64, and enough for five sizes of 20 digits */
#define TEMPORARY ".upconv-XXXXXX"

__attribute__((format(printf, 2, 3))) static bool fail(npy_output *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file->why, sizeof file->why, format, arguments);
    va_end(arguments);
    return false;
}

/* Version 1.0, with spaces so that the data is aligned. */
static void write_header(unsigned char *header, uc_dtype dtype, const uc_shape *shape) {
    static const char *const codes[] = {
        [UC_F32] = "<f4", [UC_F64] = "<f8", [UC_F16] = "<f2", [UC_BF16] = "<u2"};
    char dims[128], text[HEADER_BYTES];
    npy_shape_text(shape->dim, shape->ndim, dims, sizeof dims);
    const int length =
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                 codes[dtype], dims);
    memset(header, ' ', HEADER_BYTES);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = HEADER_BYTES - 10;
    header[9] = 0;
    memcpy(header + 10, text, (size_t)length);
    header[HEADER_BYTES - 1] = '\n';
}

/* Where the file will be, and the permissions it will have: those of the file that is there now, or
 * what the user's mask leaves. */
static bool find_place(npy_output *file, const char *path, mode_t *mode) {
    struct stat about;
    if (stat(path, &about) == 0) {
        if (!S_ISREG(about.st_mode))
            return fail(file, "it is not a regular file; nothing else can be replaced");
        *mode = about.st_mode & 0777;
        file->path = realpath(path, NULL);
    } else if (errno == ENOENT) {
        const mode_t mask = umask(0);
        umask(mask);
        *mode = 0666 & ~mask;
        file->path = strdup(path);
    }
    return file->path || fail(file, "%s", strerror(errno));
}

/* The new file, open, in the same folder; -1 if it can't be. */
static int open_partial(npy_output *file) {
    const char *slash = strrchr(file->path, '/');
    const size_t folder = slash ? (size_t)(slash - file->path) + 1 : 0;
    if (!(file->partial = malloc(folder + sizeof TEMPORARY))) {
        fail(file, "%s", strerror(errno));
        return -1;
    }
    memcpy(file->partial, file->path, folder);
    memcpy(file->partial + folder, TEMPORARY, sizeof TEMPORARY);
    /* An interruption must find the file either not there or remembered. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const int descriptor = mkstemp(file->partial);
    const int problem = errno;
    if (descriptor >= 0)
        cli_remember_file(file->partial);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (descriptor < 0) {
        fail(file, "no file can be made in its folder: %s", strerror(problem));
        free(file->partial);
        file->partial = NULL;
    }
    return descriptor;
}

/* All of the space is taken now: a disk that is full later would end the program without a word. */
static bool map_partial(npy_output *file, int descriptor, mode_t mode) {
    const int full = posix_fallocate(descriptor, 0, (off_t)file->map_bytes);
    if (full)
        return fail(file, "no room for its %zu bytes: %s", file->map_bytes, strerror(full));
    if (fchmod(descriptor, mode) != 0)
        return fail(file, "%s", strerror(errno));
    file->map = mmap(NULL, file->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (file->map == MAP_FAILED) {
        file->map = NULL;
        return fail(file, "it can't be mapped: %s", strerror(errno));
    }
    return true;
}

bool npy_create(npy_output *file, const char *path, uc_dtype dtype, const uc_shape *shape) {
    mode_t mode = 0;
    size_t elems = 1;
    *file = (npy_output){0};
    for (size_t i = 0; i < shape->ndim; i++)
        elems *= shape->dim[i]; /* fits: the chain has checked it */
    file->map_bytes = HEADER_BYTES + elems * uc_dtype_bytes(dtype);
    const int descriptor = find_place(file, path, &mode) ? open_partial(file) : -1;
    if (descriptor >= 0 && map_partial(file, descriptor, mode)) {
        close(descriptor);
        write_header(file->map, dtype, shape);
        file->data = (char *)file->map + HEADER_BYTES;
        return true;
    }
    if (descriptor >= 0)
        close(descriptor);
    npy_discard(file);
    return false;
}

bool npy_commit(npy_output *file) {
    if (munmap(file->map, file->map_bytes) != 0)
        return fail(file, "%s", strerror(errno));
    file->map = NULL;
    if (rename(file->partial, file->path) != 0)
        return fail(file, "it can't be put in place: %s", strerror(errno));
    cli_forget_file(file->partial);
    free(file->partial);
    file->partial = NULL;
    return true;
}

void npy_discard(npy_output *file) {
    if (file->map)
        munmap(file->map, file->map_bytes);
    if (file->partial)
        cli_remove_file(file->partial);
    free(file->partial);
    free(file->path);
    file->map = file->data = NULL;
    file->partial = file->path = NULL;
}
