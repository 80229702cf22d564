/* Makes .npy files for the tests of the command, whole or broken, and prints their values:
 *     npy make FILE DESCR SHAPE [SEED]   elements from a seed; SHAPE as Python writes it
 *     npy raw FILE VERSION HEADER BYTES  any header text, then so many bytes
 *     npy print FILE                     a value a line
 *     npy cast FROM TO DESCR             the same values in another element type
 *     npy compare FILE FILE TOLERANCE    largest difference, relative to the largest value
 * Called by the scripts in tests/cli. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"

typedef struct array {
    char descr[16], shape[128];
    size_t elems;
    uc_dtype dtype;
    unsigned char *data;
} array;

static int fail(const char *what, const char *which) {
    fprintf(stderr, "npy: %s: %s\n", what, which);
    exit(1);
}

static uc_dtype dtype_of(const char *descr) {
    if (!strcmp(descr, "<f4"))
        return UC_F32;
    if (!strcmp(descr, "<f8"))
        return UC_F64;
    if (!strcmp(descr, "<f2"))
        return UC_F16;
    if (!strcmp(descr, "<u2"))
        return UC_BF16;
    fail("no such type", descr);
    return UC_F32;
}

static size_t elems_of(const char *shape) {
    size_t elems = 1;
    for (const char *c = shape; *c;) {
        if (*c >= '0' && *c <= '9') {
            char *end;
            elems *= strtoull(c, &end, 10);
            c = end;
        } else {
            c++;
        }
    }
    return elems;
}

static FILE *open_file(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (!file)
        fail("can't be opened", path);
    return file;
}

/* Versions 2 and 3 have a longer length. No padding: NumPy's alignment is a custom, not a rule. */
static void write_header(FILE *file, unsigned version, const char *header) {
    const size_t length = strlen(header);
    fwrite("\x93NUMPY", 1, 6, file);
    fputc((int)version, file);
    fputc(0, file);
    for (size_t i = 0; i < (version == 1 ? 2 : 4); i++)
        fputc((int)(length >> (8 * i) & 255), file);
    fputs(header, file);
}

static void write_array(const char *path, const array *a) {
    char header[256];
    const int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                 a->descr, a->shape);
    snprintf(header + length, sizeof header - (size_t)length, "%*s\n",
             (int)(127 - (10 + length) % 64) % 64, "");
    FILE *file = open_file(path, "wb");
    write_header(file, 1, header);
    fwrite(a->data, uc_dtype_bytes(a->dtype), a->elems, file);
    if (fclose(file) != 0)
        fail("can't be written", path);
}

static array new_array(const char *descr, const char *shape) {
    array a = {.dtype = dtype_of(descr), .elems = elems_of(shape)};
    snprintf(a.descr, sizeof a.descr, "%s", descr);
    snprintf(a.shape, sizeof a.shape, "%s", shape);
    a.data = malloc(a.elems * uc_dtype_bytes(a.dtype) + 1);
    if (!a.data)
        fail("no memory for", shape);
    return a;
}

/* Only what the command and this program write: the command's own reader has tests of its own. */
static array read_array(const char *path) {
    unsigned char prefix[10];
    char header[1024] = "", descr[16], shape[128];
    FILE *file = open_file(path, "rb");
    const bool good = fread(prefix, 1, 10, file) == 10 && !memcmp(prefix, "\x93NUMPY\x01\x00", 8);
    const size_t length = prefix[8] + 256u * prefix[9];
    if (!good || length >= sizeof header || fread(header, 1, length, file) != length ||
        sscanf(header, "{'descr': '%15[^']', 'fortran_order': False, 'shape': %127[^)]", descr,
               shape) != 2)
        fail("not as expected", path);
    strncat(shape, ")", sizeof shape - strlen(shape) - 1);
    array a = new_array(descr, shape);
    if (fread(a.data, uc_dtype_bytes(a.dtype), a.elems, file) != a.elems || fgetc(file) != EOF)
        fail("not as long as expected", path);
    fclose(file);
    return a;
}

static void make(const char *path, const char *descr, const char *shape, uint64_t state) {
    array a = new_array(descr, shape);
    for (size_t i = 0; i < a.elems; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        element_set(a.dtype, a.data, i, (double)(state >> 40) * 0x1p-23 - 1);
    }
    write_array(path, &a);
    free(a.data);
}

static void raw(const char *path, unsigned version, const char *header, size_t bytes) {
    FILE *file = open_file(path, "wb");
    write_header(file, version, header);
    for (size_t i = 0; i < bytes; i++)
        fputc(0, file);
    if (fclose(file) != 0)
        fail("can't be written", path);
}

static void print(const char *path) {
    array a = read_array(path);
    printf("%s %s\n", a.descr, a.shape);
    for (size_t i = 0; i < a.elems; i++)
        printf("%.17g\n", element_get(a.dtype, a.data, i));
    free(a.data);
}

static void cast(const char *from, const char *to, const char *descr) {
    array a = read_array(from), b = new_array(descr, a.shape);
    for (size_t i = 0; i < a.elems; i++)
        element_set(b.dtype, b.data, i, element_get(a.dtype, a.data, i));
    write_array(to, &b);
    free(a.data);
    free(b.data);
}

static int compare(const char *first, const char *second, double tolerance) {
    array a = read_array(first), b = read_array(second);
    double scale = 1e-5,
           worst = 0; /* below that it is rounding: a layer norm of one channel is 0 */
    bool same = a.elems == b.elems && !strcmp(a.shape, b.shape);
    for (size_t i = 0; same && i < a.elems; i++) {
        const double x = element_get(a.dtype, a.data, i), y = element_get(b.dtype, b.data, i);
        if (!isfinite(x) || !isfinite(y)) {
            same = isnan(x) ? isnan(y) != 0 : x == y;
            continue;
        }
        scale = fabs(x) > scale ? fabs(x) : scale;
        worst = fabs(x - y) > worst ? fabs(x - y) : worst;
    }
    same = same && worst <= tolerance * scale;
    if (!same)
        printf("%s %s and %s %s differ: %g of %g\n", first, a.shape, second, b.shape, worst, scale);
    free(a.data);
    free(b.data);
    return same ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "make") && argc >= 5)
        make(argv[2], argv[3], argv[4], argc > 5 ? strtoull(argv[5], NULL, 10) : 1);
    else if (!strcmp(what, "raw") && argc == 6)
        raw(argv[2], (unsigned)atoi(argv[3]), argv[4], strtoull(argv[5], NULL, 10));
    else if (!strcmp(what, "print") && argc == 3)
        print(argv[2]);
    else if (!strcmp(what, "cast") && argc == 5)
        cast(argv[2], argv[3], argv[4]);
    else if (!strcmp(what, "compare") && argc == 5)
        return compare(argv[2], argv[3], atof(argv[4]));
    else
        return fail("use", "make|raw|print|cast|compare");
    return 0;
}
