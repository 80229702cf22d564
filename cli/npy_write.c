/* Writes NumPy's .npy files: into a file beside the final one, which then takes its place.
 * Called by run; npy.c has the other direction. */
#define _POSIX_C_SOURCE 200809L
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HEADER_BYTES 192 /* a multiple of 64, and enough for five sizes of 20 digits */

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

/* All of the space is taken now: a disk that is full later would end the program without a word. */
static bool map(npy_output *file) {
    const int descriptor = fileno(file->place.stream);
    const int full = posix_fallocate(descriptor, 0, (off_t)file->map_bytes);
    if (full)
        return fail(file, "no room for its %zu bytes: %s", file->map_bytes, strerror(full));
    file->map = mmap(NULL, file->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (file->map == MAP_FAILED) {
        file->map = NULL;
        return fail(file, "it can't be mapped: %s", strerror(errno));
    }
    return true;
}

bool npy_create(npy_output *file, const char *path, uc_dtype dtype, const uc_shape *shape) {
    struct stat about;
    size_t elems = 1;
    *file = (npy_output){0};
    for (size_t i = 0; i < shape->ndim; i++)
        elems *= shape->dim[i]; /* fits: the chain has checked it */
    file->map_bytes = HEADER_BYTES + elems * uc_dtype_bytes(dtype);
    if (!strcmp(path, "-") || (stat(path, &about) == 0 && !S_ISREG(about.st_mode)))
        return fail(file, "it is not a regular file, and only such can be mapped");
    if (!newfile_open(&file->place, path))
        return fail(file, "no file can be made in its folder: %s", strerror(errno));
    if (!map(file)) {
        npy_discard(file);
        return false;
    }
    write_header(file->map, dtype, shape);
    file->data = (char *)file->map + HEADER_BYTES;
    return true;
}

bool npy_commit(npy_output *file) {
    if (munmap(file->map, file->map_bytes) != 0)
        return fail(file, "%s", strerror(errno));
    file->map = NULL;
    return newfile_commit(&file->place) ||
           fail(file, "it can't be put in place: %s", strerror(errno));
}

void npy_discard(npy_output *file) {
    if (file->map)
        munmap(file->map, file->map_bytes);
    newfile_discard(&file->place);
    file->map = file->data = NULL;
}
