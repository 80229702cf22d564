/* The user's own files for `upconv run`: opened, and held against the shapes that are needed.
 * Called by run.c. */
#ifndef UC_CLI_RUN_FILES_H
#define UC_CLI_RUN_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"
#include "npy.h"
#include "signature.h"
#include "tensor.h"
#include "upconv.h"

/* A tensor that the user has named, by an option, with a file. */
typedef struct tensor_file {
    const char *name; /* the option's: "input", "kernel", "conv_bias", ... */
    const char *path; /* NULL: not given */
    npy file;
} tensor_file;

typedef struct run_files {
    tensor_file all[1 + MOST_OPERANDS]; /* the input first */
    size_t count;
} run_files;

/* Opens every file that is named. False with the user told. */
bool files_open(run_files *files);
void files_close(run_files *files);

/* The element type of the input's file, or as the options say where they agree with it. */
bool files_dtype(const run_files *files, const engine *with, uc_dtype *dtype);

/* What the input and the kernel tell of an operator: batch, channels, sizes, kernel sizes. A
 * parameter in given, which the user has named, has to be the same. */
bool files_params(const run_files *files, const signature *s, const bool *given,
                  uc_operator_params *params);

/* Whether all tensors of the chain are there, with its element type and shapes; operands then are
 * their data in the chain's order. */
bool files_operands(const run_files *files, const uc_chain *chain,
                    const void *operands[MOST_OPERANDS]);

#endif
