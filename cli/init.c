/* upconv init: writes a starter for one's own implementation of an operator.
 * Called by main.c. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "embedded.h"
#include "newfile.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "Usage: upconv init SLUG [DIR] [--dtype TYPE] [--force] [--json]\n\n"
    "Writes a starter into DIR (default: the current folder), which is made if need be:\n"
    "  solution.c   the function `solution`, right and slow\n"
    "  Makefile     make builds solution.so, make judge judges it\n"
    "  README.md    what to do next\n\n"
    "  --dtype TYPE  element type of the starter: f32 (default) or f64\n"
    "  --force       replace files that are there\n"
    "  --json        print one JSON object: the folder and the files\n"
    "  --help        show this\n\n"
    "Example: upconv init conv-transpose3d-max-max-sum fast && make -C fast judge\n";

/* Text that grows; running out of memory is reported once, at the end. */
typedef struct text {
    char *at;
    size_t bytes;
    bool failed;
} text;

static void append(text *t, const char *more, size_t bytes) {
    char *grown = realloc(t->at, t->bytes + bytes + 1);
    if (!grown) {
        t->failed = true;
        return;
    }
    memcpy(grown + t->bytes, more, bytes);
    t->at = grown;
    t->bytes += bytes;
    t->at[t->bytes] = 0;
}

static const embedded_file *starter(const char *name) {
    const embedded_file *file = starter_files;
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    return file->name ? file : NULL;
}

/* Appends a built-in file, with each of the words replaced: {from, to, from, to, ..., NULL}. */
static void append_file(text *t, const char *name, const char *const words[]) {
    const embedded_file *file = starter(name);
    if (!file) {
        t->failed = true;
        return;
    }
    for (const char *at = file->text; *at;) {
        size_t length = 1;
        const char *what = at;
        for (const char *const *word = words; *word; word += 2)
            if (strncmp(at, word[0], strlen(word[0])) == 0) {
                what = word[1];
                length = strlen(word[0]);
                break;
            }
        append(t, what, what == at ? 1 : strlen(what));
        at += length;
    }
}

static bool write_text(const char *path, const text *t) {
    newfile file;
    if (!newfile_open(&file, path))
        return false;
    if (fwrite(t->at, 1, t->bytes, file.stream) == t->bytes)
        return newfile_commit(&file);
    newfile_discard(&file);
    return false;
}

static bool make_folders(const char *path) {
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(part, 0777);
        *slash = '/';
    }
    if (mkdir(part, 0777) == 0)
        return true;
    struct stat status;
    if (stat(part, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    errno = errno == EEXIST ? ENOTDIR : errno;
    return false;
}

static const char *const outputs[] = {"solution.c", "Makefile", "README.md"};
#define OUTPUTS (sizeof outputs / sizeof *outputs)

static text make_output(const char *name, const char *slug, uc_dtype dtype) {
    char body[128];
    snprintf(body, sizeof body, "%s.c", slug);
    const char *const words[] = {"@SLUG@",
                                 slug,
                                 "@DTYPE@",
                                 uc_dtype_name(dtype),
                                 dtype == UC_F64 ? "#define T float" : NULL,
                                 "#define T double",
                                 NULL};
    text t = {0};
    if (strcmp(name, "solution.c") != 0) {
        append_file(&t, name, words);
    } else {
        append_file(&t, "convolution.c", words);
        append(&t, "\n", 1);
        append_file(&t, body, words);
    }
    return t;
}

static void print_done(const char *slug, const char *folder, bool json) {
    if (json) {
        cJSON *object = cJSON_CreateObject(), *files = cJSON_AddArrayToObject(object, "files");
        cJSON_AddStringToObject(object, "kind", "init");
        cJSON_AddStringToObject(object, "operator", slug);
        cJSON_AddStringToObject(object, "folder", folder);
        for (size_t i = 0; i < OUTPUTS; i++)
            cJSON_AddItemToArray(files, cJSON_CreateString(outputs[i]));
        char *printed = cJSON_Print(object);
        puts(printed ? printed : "{}");
        cJSON_free(printed);
        cJSON_Delete(object);
        return;
    }
    for (size_t i = 0; i < OUTPUTS; i++)
        printf("wrote %s/%s\n", folder, outputs[i]);
    printf("Next: make -C %s judge\n", folder);
}

static int write_starter(const char *slug, const char *folder, uc_dtype dtype, bool force,
                         bool json) {
    char path[PATH_MAX];
    if (!make_folders(folder)) {
        fprintf(stderr, "upconv: can't make the folder '%s': %s\n", folder, strerror(errno));
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < OUTPUTS && !force; i++) /* before anything is written */
        if (snprintf(path, sizeof path, "%s/%s", folder, outputs[i]) < (int)sizeof path &&
            access(path, F_OK) == 0) {
            fprintf(stderr, "upconv: '%s' is there already; --force replaces it\n", path);
            return EXIT_USAGE;
        }
    for (size_t i = 0; i < OUTPUTS; i++) {
        text t = make_output(outputs[i], slug, dtype);
        errno = ENAMETOOLONG;
        const bool good =
            !t.failed &&
            snprintf(path, sizeof path, "%s/%s", folder, outputs[i]) < (int)sizeof path &&
            write_text(path, &t);
        free(t.at);
        if (!good) {
            fprintf(stderr, "upconv: can't write '%s/%s': %s\n", folder, outputs[i],
                    strerror(t.failed ? ENOMEM : errno));
            return EXIT_USAGE;
        }
    }
    print_done(slug, folder, json);
    return EXIT_GOOD;
}

int cli_init(int argc, char **argv) {
    static const struct option options[] = {{"dtype", required_argument, NULL, 'd'},
                                            {"force", no_argument, NULL, 'f'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    uc_dtype dtype = UC_F32;
    bool force = false, json = false;
    const char *slug;
    for (int option; (option = cli_option("init", argc, argv, options)) != -1;)
        switch (option) {
        case 'd':
            if (!cli_dtype("init", optarg, &dtype))
                return EXIT_USAGE;
            break;
        case 'f':
            force = true;
            break;
        case 'j':
            json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return EXIT_GOOD;
        default:
            return EXIT_USAGE;
        }
    if (dtype != UC_F32 && dtype != UC_F64)
        return cli_usage("init", "starters are in plain C: f32 or f64 (got %s)",
                         uc_dtype_name(dtype));
    if (optind == argc)
        return cli_usage("init", "which operator? 'upconv list' names them");
    if (optind + 2 < argc)
        return cli_usage("init", "'%s' is one argument too many", argv[optind + 2]);
    if (!cli_slug("init", argv[optind], &slug))
        return EXIT_USAGE;
    return write_starter(slug, optind + 1 < argc ? argv[optind + 1] : ".", dtype, force, json);
}
