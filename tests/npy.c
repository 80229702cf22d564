/* Reads .npy files: version 1, little-endian float32 or float64, C order, nothing else.
 * golden.c calls it. */
#include "npy.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_BYTES = 10, MOST_HEADER_BYTES = 1024 };

/* The product of "(2, 3, 10,)"; 0 if that is not what it is. */
static size_t read_shape(const char *text) {
    size_t elems = 1;
    if (*text++ != '(')
        return 0;
    while (*text != ')') {
        char *end;
        elems *= strtoull(text, &end, 10);
        if (end == text)
            return 0;
        text = end + strspn(end, ", ");
    }
    return elems;
}

static const char *value_of(const char *header, const char *key) {
    const char *found = strstr(header, key);
    return found ? found + strlen(key) : "";
}

/* Element size and count from the header's Python dictionary; false if it is anything unusual. */
static bool read_header(FILE *file, size_t *element_bytes, size_t *elems) {
    unsigned char prefix[PREFIX_BYTES];
    char header[MOST_HEADER_BYTES + 1];
    if (fread(prefix, 1, PREFIX_BYTES, file) != PREFIX_BYTES ||
        memcmp(prefix, "\x93NUMPY\x01\x00", 8) != 0)
        return false;
    const size_t length = prefix[8] + 256u * prefix[9];
    if (length > MOST_HEADER_BYTES || fread(header, 1, length, file) != length)
        return false;
    header[length] = 0;
    const char *type = value_of(header, "'descr': ");
    *element_bytes = strncmp(type, "'<f4'", 5) == 0 ? 4 : strncmp(type, "'<f8'", 5) == 0 ? 8 : 0;
    *elems = read_shape(value_of(header, "'shape': "));
    return *element_bytes && *elems &&
           strncmp(value_of(header, "'fortran_order': "), "False", 5) == 0;
}

double *npy_read(const char *path, size_t *elems) {
    FILE *file = fopen(path, "rb");
    double *values = NULL;
    size_t element_bytes = 0;
    if (!file || !read_header(file, &element_bytes, elems))
        goto cleanup;
    values = check_alloc(*elems * sizeof *values);
    bool is_whole = true;
    for (size_t i = 0; i < *elems && is_whole; i++) {
        float single;
        is_whole = fread(element_bytes == 4 ? (void *)&single : (void *)&values[i], element_bytes,
                         1, file) == 1;
        if (element_bytes == 4 && is_whole)
            values[i] = single;
    }
    if (!is_whole || fgetc(file) != EOF) {
        free(values);
        values = NULL;
    }
cleanup:
    if (!values)
        fprintf(stderr, "%s: can't be read as .npy\n", path);
    if (file)
        fclose(file);
    return values;
}
