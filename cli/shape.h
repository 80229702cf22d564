/* Shapes of operators as one line of text, with the specification's names:
 *
 *     2x8x5x6x7 out_channels=16 kernel=3 stride=2x2x1 padding_w=0 clamp_max=2.5
 *
 * The first word, which may be missing, is the input's shape: batch_size, in_channels and the
 * sizes. Then come parameters by their names, or kernel, stride, padding and output_padding for all
 * dimensions at once. What is not named keeps the value that it has.
 * Called by target.c, check and run. */
#ifndef UC_CLI_SHAPE_H
#define UC_CLI_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "signature.h"
#include "upconv.h"

#define SHAPE_MOST_DIMS 3

/* The parameters that a name stands for: one, or the three (two) of a group. 0: there is none. */
size_t shape_parameters(const signature *s, const char *name,
                        const parameter *found[SHAPE_MOST_DIMS]);

/* Gives them a value, "2" or "2x2x1" or "2,2,1". False with the user told. */
bool shape_set(const char *subcommand, const signature *s, const char *name, const char *value,
               uc_operator_params *params);

/* Reads such a line over the params. False with the user told. */
bool shape_read(const char *subcommand, const signature *s, const char *text,
                uc_operator_params *params);

/* Writes the line that gives these params, whatever the defaults are; like snprintf. */
size_t shape_text(const signature *s, const uc_operator_params *params, char *text, size_t bytes);

#endif
