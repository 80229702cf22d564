/* What machines read: JSON in and out, with the same opening for all.
 * Called by the subcommands for --json, and for the files that they keep. */
#define _POSIX_C_SOURCE 200809L
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

#define MOST_BYTES ((size_t)64 << 20) /* results have kilobytes */

cJSON *json_opening(const char *kind, bool dated) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kind", kind);
    cJSON_AddStringToObject(object, "version", uc_version());
    if (dated) {
        char date[32] = "";
        struct tm parts;
        const time_t today = time(NULL);
        if (gmtime_r(&today, &parts))
            strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &parts);
        cJSON_AddStringToObject(object, "date", date);
    }
    return object;
}

void json_number(cJSON *object, const char *name, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

bool json_print(cJSON *object) {
    char *text = cJSON_Print(object);
    const bool good = text && puts(text) >= 0 && fflush(stdout) == 0;
    cJSON_free(text);
    cJSON_Delete(object);
    return good;
}

bool json_write(const cJSON *object, newfile *file) {
    char *text = cJSON_Print(object);
    if (!text) {
        newfile_discard(file);
        errno = ENOMEM;
        return false;
    }
    fprintf(file->stream, "%s\n", text);
    cJSON_free(text);
    return newfile_commit(file);
}

/* All that a stream has, closed by a 0, for the caller to free. NULL with *why set. */
static char *read_all(FILE *file, size_t *bytes, const char **why) {
    char *text = NULL;
    size_t room = 0, got = 1;
    for (*bytes = 0; got; *bytes += got) {
        if (*bytes + 1 >= room) {
            room = room ? 2 * room : 1 << 16;
            char *more = *bytes <= MOST_BYTES ? realloc(text, room) : NULL;
            if (!more) {
                *why = *bytes > MOST_BYTES ? "too large for a file of results" : "out of memory";
                break;
            }
            text = more;
        }
        got = fread(text + *bytes, 1, room - 1 - *bytes, file);
    }
    if (!*why && ferror(file))
        *why = strerror(errno);
    if (*why) {
        free(text);
        return NULL;
    }
    text[*bytes] = 0;
    return text;
}

cJSON *json_read(const char *path) {
    const char *why = NULL, *end = NULL;
    size_t bytes = 0, line = 1, column = 1;
    FILE *file = fopen(path, "rb");
    if (!file)
        why = strerror(errno);
    char *text = file ? read_all(file, &bytes, &why) : NULL;
    if (file)
        fclose(file);
    if (!text) {
        fprintf(stderr, "upconv: %s: %s\n", path, why);
        return NULL;
    }
    cJSON *json = cJSON_ParseWithLengthOpts(text, bytes + 1, &end, true);
    if (!json) {
        for (const char *at = text; end && at < end && at < text + bytes; at++) {
            column = *at == '\n' ? 1 : column + 1;
            line += *at == '\n';
        }
        fprintf(stderr, "upconv: %s:%zu: %s (at column %zu)\n", path, line,
                bytes ? "this is not JSON" : "the file is empty", column);
    }
    free(text);
    return json;
}
