/* NumPy's .npy files: mapped for reading, and written beside their place and moved there.
 * Called by run. */
#ifndef UC_CLI_NPY_H
#define UC_CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "newfile.h"
#include "upconv.h"

/* More dimensions than NumPy allows are an error; more than uc_shape has are just not ours. */
#define NPY_MAX_DIMS 64

/* What the elements are. U16 is how bf16 comes: NumPy has no name for it. */
typedef enum npy_type { NPY_F16, NPY_F32, NPY_F64, NPY_U16 } npy_type;

typedef struct npy {
    npy_type type;
    size_t ndim, dim[NPY_MAX_DIMS];
    size_t elems;
    const void *data; /* aligned for its elements */
    /* What data is in: the mapped file, or a copy where the file has it misaligned. */
    void *map, *copy;
    size_t map_bytes;
    char why[192]; /* what is wrong with the file, without its name */
} npy;

/* Maps a file: versions 1 to 3, little-endian, C order, and not a byte more or less than its header
 * says. False with .why set (and nothing to close) if it is anything else. The file must not be
 * truncated by others while it is open: the system ends programs that read past the end. */
bool npy_open(npy *file, const char *path);
void npy_close(npy *file);

/* "f16", "f32", "f64" or "u16". */
const char *npy_type_name(npy_type type);

/* "(2, 8, 5)" as Python writes it, cut where the buffer ends. */
void npy_shape_text(const size_t *dim, size_t ndim, char *text, size_t bytes);

/* A file in the making: in the folder of its final path, under a name of its own, with all of its
 * disk space taken, mapped. Only npy_commit() touches the final path. */
typedef struct npy_output {
    newfile place;
    void *map;
    size_t map_bytes;
    void *data; /* the elements, aligned to 64 bytes */
    char why[192];
} npy_output;

/* False with .why set, and nothing left behind. bf16 is written as u16. */
bool npy_create(npy_output *file, const char *path, uc_dtype dtype, const uc_shape *shape);
bool npy_commit(npy_output *file);
void npy_discard(npy_output *file); /* also after npy_commit(), and of zeros */

#endif
