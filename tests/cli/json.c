/* Looks into JSON for the tests of the command: json-tool FILE PATH... prints the value at each
 * path ("results.0.min_ms"; the size of arrays as "results.#"), and fails where there is none.
 * Called by the scripts in tests/cli. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    size_t bytes = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text) {
        bytes += fread(text + bytes, 1, room - 1 - bytes, file);
        if (bytes < room - 1)
            break;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (text)
        text[bytes] = 0;
    fclose(file);
    return text;
}

/* One value on a line of its own; 0 where it is not there. */
static int print_value(const cJSON *item, const char *path) {
    char step[64];
    for (; item && *path; path += *path == '.') {
        const size_t length = strcspn(path, ".");
        snprintf(step, sizeof step, "%.*s", (int)length, path);
        path += length;
        if (!strcmp(step, "#"))
            return printf("%d\n", cJSON_GetArraySize(item));
        item = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, atoi(step))
                                   : cJSON_GetObjectItemCaseSensitive(item, step);
    }
    if (!item)
        return 0;
    if (cJSON_IsString(item))
        return printf("%s\n", item->valuestring);
    char *text = cJSON_PrintUnformatted(item);
    const int printed = text ? printf("%s\n", text) : 0;
    cJSON_free(text);
    return printed;
}

int main(int argc, char **argv) {
    char *text = argc > 1 ? read_all(argv[1]) : NULL;
    const char *end = NULL;
    cJSON *root = text ? cJSON_ParseWithOpts(text, &end, 0) : NULL;
    int code = root && end[strspn(end, " \n")] == 0 ? 0 : 1;
    if (code)
        fprintf(stderr, "json: %s is not one JSON value\n", argc > 1 ? argv[1] : "nothing");
    for (int i = 2; i < argc && !code; i++)
        if (!print_value(root, argv[i])) {
            fprintf(stderr, "json: %s has no %s\n", argv[1], argv[i]);
            code = 1;
        }
    cJSON_Delete(root);
    free(text);
    return code;
}
