/* A saved run of `upconv bench` to compare with.
 * Called by bench.c for --against. */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "cli.h"
#include "json.h"

/* What is compared is how near a run came to its machine's limit, as measured in the same run: so a
 * machine that is slower today, or another one, makes no difference by itself. */
static double nearness(const cJSON *result) {
    const cJSON *least = cJSON_GetObjectItem(result, "min_ms");
    const cJSON *limit = cJSON_GetObjectItem(result, "limit_ms");
    if (!cJSON_IsNumber(least) || !cJSON_IsNumber(limit) || !(least->valuedouble > 0) ||
        !(limit->valuedouble > 0))
        return NAN;
    return limit->valuedouble / least->valuedouble;
}

/* The same chain: the text has the shape, the batch and the element type. */
static const cJSON *find(const cJSON *results, const char *text) {
    const cJSON *result;
    cJSON_ArrayForEach(result, results) {
        const cJSON *chain = cJSON_GetObjectItem(result, "chain");
        if (cJSON_IsString(chain) && !strcmp(chain->valuestring, text))
            return result;
    }
    return NULL;
}

bool bench_read_baseline(bench *b, const char *path) {
    size_t common = 0;
    cJSON *file = json_read(path);
    if (!file)
        return false;
    const cJSON *kind = cJSON_GetObjectItem(file, "kind");
    const cJSON *results = cJSON_GetObjectItem(file, "results");
    if (!cJSON_IsString(kind) || strcmp(kind->valuestring, "bench") != 0 ||
        !cJSON_IsArray(results)) {
        cli_usage("bench",
                  "%s: it has no results of 'upconv bench'; 'upconv bench --save FILE' makes one",
                  path);
        cJSON_Delete(file);
        return false;
    }
    for (size_t i = 0; i < b->count; i++) {
        const cJSON *then = find(results, b->cases[i].t.text);
        b->cases[i].baseline = then ? nearness(then) : NAN;
        common += isfinite(b->cases[i].baseline) != 0;
    }
    const cJSON *threads = cJSON_GetObjectItem(cJSON_GetObjectItem(file, "settings"), "threads");
    if (cJSON_IsNumber(threads) && threads->valuedouble != (double)b->threads)
        fprintf(stderr, "upconv: %s was measured on %.0f threads, and this is %zu\n", path,
                threads->valuedouble, b->threads);
    cJSON_Delete(file);
    if (!common)
        cli_usage("bench",
                  "%s has nothing in common with this run; the operators, shapes, batch "
                  "and element type have to be the same",
                  path);
    return common > 0;
}

double bench_change(const bench *b, const bench_case *c) {
    return bench_limit_seconds(b, c) / samples_min(&c->ours) / c->baseline;
}

bool bench_slower(const bench *b, const bench_case *c, double tolerance) {
    return bench_change(b, c) < 1 - tolerance;
}
