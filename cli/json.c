/* What machines read: JSON in and out, with the same opening for all.
 * Called by the subcommands for --json, and for the files that they keep. */
#define _POSIX_C_SOURCE 200809L
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "upconv.h"

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

cJSON *json_read(const char *path, const char **why) {
    cJSON *object = NULL;
    char *text = NULL;
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about) != 0) {
        *why = strerror(errno);
    } else if (!S_ISREG(about.st_mode) || (size_t)about.st_size > MOST_BYTES) {
        *why = "it is not a file of results";
    } else if (!(text = malloc((size_t)about.st_size + 1))) {
        *why = "not enough memory";
    } else {
        const size_t bytes = fread(text, 1, (size_t)about.st_size, file);
        if (!(object = cJSON_ParseWithLength(text, bytes)))
            *why = "it is not JSON";
    }
    free(text);
    if (file)
        fclose(file);
    return object;
}
