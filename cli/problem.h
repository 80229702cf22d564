/* Problem files: Markdown with YAML front matter, read and checked against the specification.
 * Included by show and judge, which take such files, and by list, for the five that are built in.
 */
#ifndef UC_CLI_PROBLEM_H
#define UC_CLI_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>

#include "embedded.h"

#define PROBLEM_MAX_BYTES (1024 * 1024)
#define PROBLEM_MAX_PARAMETERS 64
#define PROBLEM_MAX_TAGS 32

typedef struct problem_parameter {
    char *name, *type; /* type is "[VAR]", "size_t" or "double" */
    bool pointer, constant;
    size_t line; /* where it begins in the file */
} problem_parameter;

typedef struct problem {
    char *slug, *title, *difficulty, *author;
    char *tags[PROBLEM_MAX_TAGS];
    size_t tag_count;
    problem_parameter parameters[PROBLEM_MAX_PARAMETERS];
    size_t parameter_count;
    char *text;       /* the whole file, as it was read */
    const char *body; /* in it, the Markdown below the front matter */
} problem;

/* Reads a file ("-" is standard input). What is right has the parameter list of its slug, so
 * callers need only the slug. Otherwise says "FILE:LINE: what is wrong" on standard error and
 * returns false, with nothing to free. */
bool problem_read(const char *path, problem *p);

/* The same from memory; name is what messages call it. */
bool problem_parse(const char *name, const char *text, size_t bytes, problem *p);

void problem_free(problem *p);

/* The problem files that are built in, as they are in problems/; the one of a slug, or NULL. */
extern const embedded_file problem_files[];
const embedded_file *problem_find(const char *slug);

#endif
