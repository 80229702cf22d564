/* The JSON that a report is made of: reads a file and checks all that the page relies on.
 * Called by report.c for each file; the other parts of the report ask for fields here. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <math.h>
#include <string.h>

#include "json.h"

#define MOST_PATH 200

typedef enum kind { TEXT, NUMBER, POSITIVE, BOOLEAN, OBJECT, LIST } kind;
static const char *const kind_names[] = {"a text",        "a number, 0 or more", "a number above 0",
                                         "true or false", "an object",           "a list"};

/* What a field must be; `fields` are those of an object, or of each object of a list. */
typedef struct field {
    const char *name;
    kind kind;
    bool needed;
    const struct field *fields;
} field;

static const field caches[] = {{"l1d_bytes", NUMBER, false, NULL},
                               {"l2_bytes", NUMBER, false, NULL},
                               {"l3_bytes", NUMBER, false, NULL},
                               {NULL, TEXT, false, NULL}};
static const field machine[] = {
    {"cpu", TEXT, false, NULL},        {"isa", TEXT, false, NULL},
    {"threads", NUMBER, false, NULL},  {"cores", NUMBER, false, NULL},
    {"caches", OBJECT, false, caches}, {"peak_gflops", NUMBER, false, NULL},
    {"read_gbs", NUMBER, false, NULL}, {"write_gbs", NUMBER, false, NULL},
    {NULL, TEXT, false, NULL}};
static const field settings[] = {{"batch", NUMBER, false, NULL},
                                 {"threads", NUMBER, false, NULL},
                                 {"dtype", TEXT, false, NULL},
                                 {NULL, TEXT, false, NULL}};
static const field peers[] = {{"name", TEXT, true, NULL},
                              {"whole", BOOLEAN, false, NULL},
                              {"min_ms", POSITIVE, false, NULL},
                              {"median_ms", POSITIVE, false, NULL},
                              {NULL, TEXT, false, NULL}};
static const field results[] = {{"operator", TEXT, false, NULL},
                                {"chain", TEXT, false, NULL},
                                {"dtype", TEXT, false, NULL},
                                {"flops", NUMBER, false, NULL},
                                {"bytes", NUMBER, false, NULL},
                                {"min_ms", POSITIVE, true, NULL},
                                {"median_ms", POSITIVE, false, NULL},
                                {"repetitions", NUMBER, false, NULL},
                                {"gflops", NUMBER, false, NULL},
                                {"peak_percent", NUMBER, false, NULL},
                                {"bandwidth_percent", NUMBER, false, NULL},
                                {"limit_ms", POSITIVE, false, NULL},
                                {"peers", LIST, false, peers},
                                {NULL, TEXT, false, NULL}};
static const field bench[] = {
    {"version", TEXT, false, NULL},      {"date", TEXT, false, NULL},
    {"machine", OBJECT, false, machine}, {"settings", OBJECT, false, settings},
    {"results", LIST, true, results},    {NULL, TEXT, false, NULL}};

/* expected and got are any number, or null where they are none. */
static const field worst[] = {{"index", TEXT, true, NULL}, {NULL, TEXT, false, NULL}};
static const field tests[] = {{"name", TEXT, true, NULL},
                              {"verdict", TEXT, true, NULL},
                              {"error", NUMBER, false, NULL},
                              {"allowed", NUMBER, false, NULL},
                              {"wrong", NUMBER, false, NULL},
                              {"elements", NUMBER, false, NULL},
                              {"worst", LIST, false, worst},
                              {"detail", TEXT, false, NULL},
                              {"hint", TEXT, false, NULL},
                              {"reproduce", TEXT, false, NULL},
                              {"strict_verdict", TEXT, false, NULL},
                              {NULL, TEXT, false, NULL}};
static const field timing[] = {
    {"solution_ms", POSITIVE, true, NULL}, {"ours_ms", POSITIVE, false, NULL},
    {"ratio", NUMBER, false, NULL},        {"gflops", NUMBER, false, NULL},
    {"peak_percent", NUMBER, false, NULL}, {"limit_ms", POSITIVE, false, NULL},
    {"repetitions", NUMBER, false, NULL},  {"cv", NUMBER, false, NULL},
    {"below_limit", BOOLEAN, false, NULL}, {NULL, TEXT, false, NULL}};
static const field judge[] = {{"version", TEXT, false, NULL},
                              {"date", TEXT, false, NULL},
                              {"machine", OBJECT, false, machine},
                              {"operator", TEXT, true, NULL},
                              {"solution", TEXT, true, NULL},
                              {"mode", TEXT, false, NULL},
                              {"dtype", TEXT, false, NULL},
                              {"verdict", TEXT, true, NULL},
                              {"tests", LIST, true, tests},
                              {"timing", OBJECT, false, timing},
                              {NULL, TEXT, false, NULL}};

static bool is_kind(const cJSON *item, kind wanted) {
    switch (wanted) {
    case TEXT:
        return cJSON_IsString(item);
    case NUMBER:
        return cJSON_IsNumber(item) && isfinite(item->valuedouble) && item->valuedouble >= 0;
    case POSITIVE:
        return cJSON_IsNumber(item) && isfinite(item->valuedouble) && item->valuedouble > 0;
    case BOOLEAN:
        return cJSON_IsBool(item);
    case OBJECT:
        return cJSON_IsObject(item);
    default:
        return cJSON_IsArray(item);
    }
}

static bool check(const char *path, const char *where, const cJSON *object, const field *fields);

/* An optional field may be missing or null. */
static bool check_field(const char *path, const char *where, const cJSON *object, const field *f) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, f->name);
    if (!item && f->needed) {
        fprintf(stderr, "upconv: %s: %s%s is missing\n", path, where, f->name);
        return false;
    }
    if (!item || (cJSON_IsNull(item) && !f->needed))
        return true;
    if (!is_kind(item, f->kind)) {
        fprintf(stderr, "upconv: %s: %s%s must be %s\n", path, where, f->name, kind_names[f->kind]);
        return false;
    }
    char below[MOST_PATH];
    if (f->kind == OBJECT) {
        snprintf(below, sizeof below, "%s%s.", where, f->name);
        return check(path, below, item, f->fields);
    }
    size_t index = 0;
    for (const cJSON *child = f->kind == LIST ? item->child : NULL; child; child = child->next) {
        snprintf(below, sizeof below, "%s%s[%zu].", where, f->name, index++);
        if (!cJSON_IsObject(child)) {
            fprintf(stderr, "upconv: %s: %s must be an object\n", path, below);
            return false;
        }
        if (!check(path, below, child, f->fields))
            return false;
    }
    return true;
}

static bool check(const char *path, const char *where, const cJSON *object, const field *fields) {
    for (const field *f = fields; f->name; f++)
        if (!check_field(path, where, object, f))
            return false;
    return true;
}

static bool check_source(report_source *source) {
    const char *path = source->path;
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(source->json, "kind");
    const char *name = cJSON_GetStringValue(kind);
    source->judge = name && !strcmp(name, "judge");
    if (!source->judge && !(name && !strcmp(name, "bench"))) {
        fprintf(stderr,
                "upconv: %s: this JSON is neither from 'upconv bench --json' nor from 'upconv "
                "judge --json'\n",
                path);
        return false;
    }
    if (!check(path, "", source->json, source->judge ? judge : bench))
        return false;
    const cJSON *first = source->judge ? NULL : report_first(source->json, "results");
    if (!source->judge && !first) {
        fprintf(stderr, "upconv: %s: results is empty: there is nothing to draw\n", path);
        return false;
    }
    for (const cJSON *r = first; r; r = r->next)
        if (!report_text(r, "operator") && !report_text(r, "chain")) {
            fprintf(stderr, "upconv: %s: a result has neither operator nor chain\n", path);
            return false;
        }
    return true;
}

bool report_read(const char *path, report_source *source) {
    *source = (report_source){.path = path, .json = json_read(path)};
    if (source->json && check_source(source))
        return true;
    cJSON_Delete(source->json);
    return false;
}

const cJSON *report_item(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

const cJSON *report_first(const cJSON *object, const char *name) {
    const cJSON *list = report_item(object, name);
    return list ? list->child : NULL;
}

const char *report_text(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

double report_number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}
