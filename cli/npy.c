/* Reads NumPy's .npy files: a strict parser of their header, and a mapping of the rest.
 * Called by run; npy_write.c has the other direction. */
#define _POSIX_C_SOURCE 200809L
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* NumPy itself refuses to evaluate headers of more than 10000 bytes. */
#define MOST_HEADER_BYTES 10000
#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6

static const struct {
    const char *name, *code;
    size_t bytes;
} types[] = {
    [NPY_F16] = {"f16", "f2", 2},
    [NPY_F32] = {"f32", "f4", 4},
    [NPY_F64] = {"f64", "f8", 8},
    [NPY_U16] = {"u16", "u2", 2},
};

const char *npy_type_name(npy_type type) {
    return types[type].name;
}

void npy_shape_text(const size_t *dim, size_t ndim, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "(");
    for (size_t i = 0; i < ndim && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%zu", i ? ", " : "", dim[i]);
    if (used < bytes)
        snprintf(text + used, bytes - used, ndim == 1 ? ",)" : ")");
}

__attribute__((format(printf, 2, 3))) static bool fail(npy *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file->why, sizeof file->why, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- The header: a Python dictionary with three keys ----------------------------------- */

typedef struct reader {
    const char *at, *end;
} reader;

static void skip_space(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool take(reader *r, char wanted) {
    skip_space(r);
    if (r->at == r->end || *r->at != wanted)
        return false;
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *wanted) {
    const size_t length = strlen(wanted);
    skip_space(r);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, wanted, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* A quoted string of printable characters without escapes. */
static bool take_string(reader *r, char *text, size_t bytes) {
    skip_space(r);
    if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
        return false;
    const char quote = *r->at++;
    size_t length = 0;
    for (; r->at < r->end && *r->at != quote; r->at++) {
        if (*r->at < ' ' || *r->at > '~' || *r->at == '\\' || length + 1 == bytes)
            return false;
        text[length++] = *r->at;
    }
    text[length] = 0;
    return take(r, quote);
}

static bool read_size(npy *file, reader *r, size_t *size) {
    skip_space(r);
    if (r->at < r->end && *r->at == '-')
        return fail(file, "its shape has a negative size");
    if (r->at == r->end || *r->at < '0' || *r->at > '9')
        return fail(file, "its shape is not a tuple of whole numbers");
    for (*size = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        const size_t digit = (size_t)(*r->at - '0');
        if (*size > (SIZE_MAX - digit) / 10)
            return fail(file, "its shape has a size that is too large for this machine");
        *size = *size * 10 + digit;
    }
    if (r->at < r->end && *r->at == 'L') /* as Python 2 wrote it */
        r->at++;
    return true;
}

/* "(2, 3)", "(2,)", "()"; but "(2)" is a number. */
static bool read_shape(npy *file, reader *r) {
    bool comma = true;
    if (!take(r, '('))
        return fail(file, "its shape is not a tuple");
    file->ndim = 0;
    while (!take(r, ')')) {
        if (!comma)
            return fail(file, "its shape is not a tuple of whole numbers");
        if (file->ndim == NPY_MAX_DIMS)
            return fail(file, "its shape has more than %d dimensions", NPY_MAX_DIMS);
        if (!read_size(file, r, &file->dim[file->ndim]))
            return false;
        file->ndim++;
        comma = take(r, ',');
    }
    if (file->ndim == 1 && !comma)
        return fail(file, "its shape is a number, not a tuple");
    return true;
}

static bool read_type(npy *file, reader *r) {
    char code[32];
    skip_space(r);
    if (r->at < r->end && *r->at == '[')
        return fail(file, "it is a structured array; give a plain one of f2, f4 or f8");
    if (!take_string(r, code, sizeof code))
        return fail(file, "its 'descr' is not a string");
    if (strchr(code, 'O'))
        return fail(file, "it holds Python objects; give a plain array of f2, f4 or f8");
    const bool opaque_pair = !strcmp(code, "|V2") || !strcmp(code, "<V2");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!strcmp(code + (code[0] != 0), types[i].code)) {
            if (code[0] == '>')
                return fail(file, "it is big-endian; convert it with x.astype('<%s')",
                            types[i].code);
            if (code[0] != '<')
                return fail(file, "its element type '%s' has no byte order", code);
        }
        if ((i == NPY_U16 && opaque_pair) || (code[0] == '<' && !strcmp(code + 1, types[i].code))) {
            file->type = (npy_type)i;
            return true;
        }
    }
    return fail(file, "its element type '%s' is not one of <f2, <f4, <f8 (or <u2 for bf16)", code);
}

static bool read_order(npy *file, reader *r) {
    if (take_word(r, "False"))
        return true;
    if (take_word(r, "True"))
        return fail(file, "it is in Fortran order; convert it with numpy.ascontiguousarray(x)");
    return fail(file, "its 'fortran_order' is neither True nor False");
}

static bool read_dictionary(npy *file, const char *text, size_t length) {
    static const struct {
        const char *key;
        bool (*read)(npy *file, reader *r);
    } entries[] = {{"descr", read_type}, {"fortran_order", read_order}, {"shape", read_shape}};
    enum { ENTRIES = sizeof entries / sizeof *entries };
    bool seen[ENTRIES] = {false}, comma = true;
    reader r = {text, text + length};
    if (!take(&r, '{'))
        return fail(file, "its header is not a dictionary");
    while (!take(&r, '}')) {
        char key[32];
        size_t i = 0;
        if (!comma || !take_string(&r, key, sizeof key) || !take(&r, ':'))
            return fail(file, "its header is not a dictionary of keys and values");
        while (i < ENTRIES && strcmp(key, entries[i].key) != 0)
            i++;
        if (i == ENTRIES)
            return fail(file, "its header has an unknown key '%s'", key);
        if (seen[i])
            return fail(file, "its header has the key '%s' twice", key);
        if (!entries[i].read(file, &r))
            return false;
        seen[i] = true;
        comma = take(&r, ',');
    }
    for (size_t i = 0; i < ENTRIES; i++)
        if (!seen[i])
            return fail(file, "its header has no '%s'", entries[i].key);
    skip_space(&r);
    if (r.at != r.end)
        return fail(file, "its header goes on after the dictionary");
    return true;
}

/* ---- The file -------------------------------------------------------------------------- */

/* Where the header starts and how long it is. */
static bool read_prefix(npy *file, size_t *start, size_t *length) {
    const unsigned char *bytes = file->map;
    if (file->map_bytes < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return fail(file, "it is not a .npy file (those start with \\x93NUMPY)");
    if (file->map_bytes < 12)
        return fail(file, "it is cut off in its header");
    const unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0)
        return fail(file, "its format version is %u.%u; known are 1.0, 2.0 and 3.0", major, minor);
    *start = major == 1 ? 10 : 12;
    *length = bytes[8] | (size_t)bytes[9] << 8;
    if (major > 1)
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (*length > MOST_HEADER_BYTES)
        return fail(file, "its header claims %zu bytes; more than %d are refused", *length,
                    MOST_HEADER_BYTES);
    if (file->map_bytes - *start < *length)
        return fail(file, "it is cut off in its header");
    return true;
}

/* The shape's elements, checked against the bytes that follow the header. */
static bool find_data(npy *file, size_t offset) {
    const size_t element = types[file->type].bytes, have = file->map_bytes - offset;
    size_t most = PTRDIFF_MAX / element;
    file->elems = 1;
    /* Sizes beside a 0 have to fit as well: the library multiplies them too. */
    for (size_t i = 0; i < file->ndim; i++) {
        if (file->dim[i] > most)
            return fail(file, "its shape has more elements than this machine can address");
        if (file->dim[i])
            most /= file->dim[i];
        file->elems *= file->dim[i];
    }
    const size_t need = file->elems * element;
    if (have < need)
        return fail(file, "it is cut off: its shape needs %zu bytes of data, and %zu are there",
                    need, have);
    if (have > need)
        return fail(file, "it has %zu bytes after the %zu that its shape needs", have - need, need);
    file->data = (const char *)file->map + offset;
    if (offset % element == 0)
        return true;
    if (!(file->copy = malloc(need + 1)))
        return fail(file, "no memory for a copy of %zu bytes (its data is not aligned)", need);
    memcpy(file->copy, file->data, need);
    file->data = file->copy;
    return true;
}

static bool map_file(npy *file, const char *path) {
    struct stat about;
    /* O_NONBLOCK: opening a pipe would wait for somebody to write into it. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return fail(file, "%s", strerror(errno));
    bool good = false;
    if (fstat(descriptor, &about) != 0)
        fail(file, "%s", strerror(errno));
    else if (!S_ISREG(about.st_mode))
        fail(file, "it is not a regular file");
    else if (about.st_size == 0)
        fail(file, "it is empty");
    else if ((uintmax_t)about.st_size > PTRDIFF_MAX)
        fail(file, "it is larger than this machine can address");
    else {
        file->map_bytes = (size_t)about.st_size;
        file->map = mmap(NULL, file->map_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        good = file->map != MAP_FAILED;
        if (!good) {
            file->map = NULL;
            fail(file, "it can't be mapped: %s", strerror(errno));
        }
    }
    close(descriptor);
    return good;
}

bool npy_open(npy *file, const char *path) {
    size_t start = 0, length = 0;
    *file = (npy){0};
    if (map_file(file, path) && read_prefix(file, &start, &length) &&
        read_dictionary(file, (const char *)file->map + start, length) &&
        find_data(file, start + length))
        return true;
    npy_close(file);
    return false;
}

void npy_close(npy *file) {
    if (file->map)
        munmap(file->map, file->map_bytes);
    free(file->copy);
    file->map = file->copy = NULL;
    file->data = NULL;
}
