/* The user's own files for `upconv run`: opened, and held against the shapes that are needed.
 * Called by run.c. */
#include "run_files.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"

#define SHAPE_TEXT 160

bool files_open(run_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        tensor_file *f = &files->all[i];
        if (f->path && !npy_open(&f->file, f->path)) {
            cli_usage("run", "%s (%s): %s", f->path, f->name, f->file.why);
            return false;
        }
    }
    return true;
}

void files_close(run_files *files) {
    for (size_t i = 0; i < files->count; i++)
        npy_close(&files->all[i].file);
}

static const tensor_file *find(const run_files *files, const char *name) {
    for (size_t i = 0; i < files->count; i++)
        if (!strcmp(files->all[i].name, name))
            return &files->all[i];
    return NULL;
}

/* "x.npy (input) has the shape (3, 4), and (2, 3, 4) is needed" */
static bool misshapen(const tensor_file *f, const char *needed) {
    char have[SHAPE_TEXT];
    npy_shape_text(f->file.dim, f->file.ndim, have, sizeof have);
    cli_usage("run", "%s (%s) has the shape %s, and %s is needed", f->path, f->name, have, needed);
    return false;
}

/* ---- Element types --------------------------------------------------------------------- */

static npy_type type_of(uc_dtype dtype) {
    static const npy_type types[] = {
        [UC_F32] = NPY_F32, [UC_F64] = NPY_F64, [UC_F16] = NPY_F16, [UC_BF16] = NPY_U16};
    return types[dtype];
}

static bool has_type(const tensor_file *f, uc_dtype dtype) {
    if (f->file.type == type_of(dtype))
        return true;
    cli_usage("run", "%s (%s) holds %s, and %s%s is needed; all files have one element type",
              f->path, f->name, npy_type_name(f->file.type), uc_dtype_name(dtype),
              dtype == UC_BF16 ? ", as u16," : "");
    return false;
}

bool files_dtype(const run_files *files, const engine *with, uc_dtype *dtype) {
    const tensor_file *input = &files->all[0];
    if (with->has_dtype) {
        *dtype = with->dtype;
        return has_type(input, *dtype);
    }
    if (input->file.type == NPY_U16) {
        cli_usage("run", "%s (%s) holds u16: if that is bf16, say --dtype bf16", input->path,
                  input->name);
        return false;
    }
    *dtype = input->file.type == NPY_F64 ? UC_F64 : input->file.type == NPY_F16 ? UC_F16 : UC_F32;
    return true;
}

/* ---- What the files tell of an operator ------------------------------------------------ */

/* A parameter from a file's shape; one that the user has given as well has to agree. */
static bool tell(const tensor_file *f, size_t dim, const signature *s, const char *name,
                 const bool *given, uc_operator_params *params) {
    const parameter *p = signature_parameter(s, name);
    size_t *value = parameter_size(params, p);
    if (given[p - s->parameters] && *value != f->file.dim[dim]) {
        cli_usage("run", "%s (%s) has %s %zu; --%s says %zu", f->path, f->name, name,
                  f->file.dim[dim], name, *value);
        return false;
    }
    *value = f->file.dim[dim];
    return true;
}

bool files_params(const run_files *files, const signature *s, const bool *given,
                  uc_operator_params *params) {
    static const char *const of_input[] = {"batch_size", "in_channels", "depth", "height", "width"};
    static const char *const of_kernel[] = {NULL, "out_channels", "kernel_d", "kernel_h",
                                            "kernel_w"};
    const tensor_file *input = &files->all[0], *kernel = find(files, "kernel");
    const bool flat = !signature_parameter(s, "depth");
    const size_t ndim = flat ? 4 : 5;
    if (!input->path || !kernel->path) {
        cli_usage("run", "%s needs --input FILE.npy and --kernel FILE.npy", s->slug);
        return false;
    }
    if (input->file.ndim != ndim)
        return misshapen(input, flat ? "(batch_size, in_channels, height, width)"
                                     : "(batch_size, in_channels, depth, height, width)");
    if (kernel->file.ndim != ndim)
        return misshapen(kernel, flat ? "(in_channels, out_channels, kernel_h, kernel_w)"
                                      : "(in_channels, out_channels, kernel_d, kernel_h, "
                                        "kernel_w)");
    for (size_t i = 0; i < ndim; i++) {
        const size_t name = i < 2 || !flat ? i : i + 1; /* a plane has no depth */
        if (!tell(input, i, s, of_input[name], given, params) ||
            (of_kernel[name] && !tell(kernel, i, s, of_kernel[name], given, params)))
            return false;
    }
    return true;
}

/* ---- What a chain needs ---------------------------------------------------------------- */

/* A value per channel may come as (C,) or, as frameworks keep it, as (C, 1, 1) or (1, C, 1, 1): the
 * elements are the same in the same order. */
static bool same_shape(const npy *file, const uc_shape *shape) {
    if (file->ndim == shape->ndim)
        return !memcmp(file->dim, shape->dim, shape->ndim * sizeof *shape->dim);
    size_t wide = 0;
    for (size_t i = 0; i < file->ndim; i++)
        wide += file->dim[i] != 1;
    return shape->ndim == 1 && file->ndim && wide <= 1 && file->elems == shape->dim[0];
}

static bool fits(const tensor_file *f, const char *name, uc_dtype dtype, const uc_shape *shape) {
    char needed[SHAPE_TEXT];
    npy_shape_text(shape->dim, shape->ndim, needed, sizeof needed);
    if (!f || !f->path) {
        cli_usage("run", "%s is missing: give it as --%s FILE.npy, of the shape %s", name, name,
                  needed);
        return false;
    }
    if (!has_type(f, dtype))
        return false;
    return same_shape(&f->file, shape) || misshapen(f, needed);
}

bool files_operands(const run_files *files, const uc_chain *chain,
                    const void *operands[MOST_OPERANDS]) {
    const uc_dtype dtype = uc_chain_dtype(chain);
    const uc_shape input = uc_chain_input(chain);
    if (!fits(&files->all[0], "input", dtype, &input))
        return false;
    for (size_t i = 0; i < uc_chain_operand_count(chain); i++) {
        const uc_operand operand = uc_chain_operand(chain, i);
        const tensor_file *f = find(files, operand.name);
        if (!fits(f, operand.name, dtype, &operand.shape))
            return false;
        operands[i] = f->file.data;
    }
    return true;
}
