/* The operators' parameter lists, in the order of the specification, as data.
 * Called by show, init, judge, run, and by the reader of problem files. */
#ifndef UC_CLI_SIGNATURE_H
#define UC_CLI_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "upconv.h"

typedef enum parameter_kind {
    PARAMETER_INPUT,  /* pointer to const elements */
    PARAMETER_OUTPUT, /* pointer to elements */
    PARAMETER_SIZE,   /* size_t */
    PARAMETER_REAL    /* double */
} parameter_kind;

typedef struct parameter {
    const char *name;
    parameter_kind kind;
    size_t offset; /* of a size or a real, in uc_operator_params */
} parameter;

#define SIGNATURE_MOST_INPUTS 4

typedef struct signature {
    const char *slug;
    const parameter *parameters;
    size_t count;
} signature;

/* NULL where there is no such operator. */
const signature *signature_find(const char *slug);

/* The parameter of that name, or NULL. */
const parameter *signature_parameter(const signature *s, const char *name);

size_t *parameter_size(uc_operator_params *params, const parameter *p);
double *parameter_real(uc_operator_params *params, const parameter *p);

/* How C spells an element: "float", "double", and "uint16_t", the bits, for f16 and bf16. */
const char *signature_element(uc_dtype dtype);

/* Prints "void FUNCTION(const ELEMENT *input, ...)", in lines of at most 100 characters, without
 * anything behind the closing parenthesis. */
void signature_print(FILE *stream, const signature *s, const char *function, const char *element);

/* Calls a function of that signature; whether it returns nothing or a status makes no difference
 * to its caller. inputs: the input, then the operands as the chain (and the signature) lists them.
 */
typedef void (*solution_function)(void);
void signature_call(const signature *s, solution_function solution, const uc_operator_params *p,
                    const void *const inputs[], void *output);

#endif
