/* What machines read: JSON in and out, with the same opening for all.
 * Called by the subcommands for --json, and for the files that they keep. */
#ifndef UC_CLI_JSON_H
#define UC_CLI_JSON_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "newfile.h"

/* An object with "kind", "version" and, if dated, the "date" of now in UTC. */
cJSON *json_opening(const char *kind, bool dated);

/* Adds a number; null where it is none that JSON knows. */
void json_number(cJSON *object, const char *name, double value);

/* Prints it on standard output, and frees it. False: no memory, or nobody takes the output. */
bool json_print(cJSON *object);

/* Writes it into a file that was opened, and puts that in its place. False with errno set. */
bool json_write(const cJSON *object, newfile *file);

/* The JSON of a file, to be freed with cJSON_Delete(). NULL where there is none; what is wrong, and
 * in which line, is said on standard error. */
cJSON *json_read(const char *path);

#endif
