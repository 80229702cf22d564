/* Whether automatic is the better choice: every chain of a file direct, by Winograd and automatic,
 * in turns. Called by `make algorithms`. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor.h"
#include "timer.h"

#define ROUNDS 7          /* many short ones: what disturbs a shared machine lasts for seconds */
#define SECONDS_EACH 0.02 /* of a round and algorithm */
#define MARGIN 1.03       /* automatic may be this much slower than the better one */
#define SHARE 0.95        /* in this share of the chains */

enum { DIRECT, WINOGRAD, AUTOMATIC, WAYS };
static const uc_algorithm algorithms[WAYS] = {UC_ALGORITHM_DIRECT, UC_ALGORITHM_WINOGRAD,
                                              UC_ALGORITHM_AUTO};

typedef struct way {
    uc_plan *plan; /* NULL: it can't be done that way */
    void *workspace;
    double seconds;
} way;

/* All three ways of one chain, or false where something is amiss. */
static bool make_ways(const uc_chain *chain, const void *const operands[], size_t threads,
                      way ways[WAYS]) {
    for (size_t i = 0; i < WAYS; i++) {
        uc_options options = UC_OPTIONS_INIT;
        options.threads = threads;
        options.algorithm = algorithms[i];
        ways[i] = (way){.seconds = INFINITY};
        const uc_status status = uc_plan_create(chain, operands, &options, &ways[i].plan);
        if (status != UC_OK && !(i == WINOGRAD && status == UC_UNSUPPORTED))
            return false;
        if (ways[i].plan &&
            !(ways[i].workspace = huge_pages(uc_plan_workspace_bytes(ways[i].plan))))
            return false;
    }
    return true;
}

static void time_ways(way ways[WAYS], const void *input, void *output) {
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < WAYS; i++) {
            const double begin = now();
            for (double before = begin; ways[i].plan && before - begin < SECONDS_EACH;) {
                uc_plan_execute(ways[i].plan, input, output, ways[i].workspace);
                const double after = now();
                keep_least(&ways[i].seconds, after - before);
                before = after;
            }
        }
}

/* Automatic is one of the other two: each has then been timed twice, and the least time counts. */
static void merge_automatic(way ways[WAYS]) {
    char text[4096] = "";
    FILE *file = fmemopen(text, sizeof text - 1, "w");
    if (!file)
        return;
    uc_plan_print(ways[AUTOMATIC].plan, file);
    fclose(file);
    way *chosen = &ways[strstr(text, "algorithm: winograd") ? WINOGRAD : DIRECT];
    keep_least(&chosen->seconds, ways[AUTOMATIC].seconds);
    ways[AUTOMATIC].seconds = chosen->seconds;
}

/* How much slower automatic is than the better way; a line about it. 0 where something is amiss. */
static double compare(const char *text, size_t threads) {
    uc_chain *chain = NULL;
    void *input = NULL, *output = NULL, *operands[MOST_OPERANDS] = {NULL};
    way ways[WAYS] = {{0}};
    double slower = 0;
    if (uc_chain_parse(text, &chain) == UC_OK) {
        const uc_shape in = uc_chain_input(chain), out = uc_chain_output(chain);
        const uc_dtype dtype = uc_chain_dtype(chain);
        input = random_tensor(dtype, &in, 1);
        output = huge_pages(elems_of(&out) * uc_dtype_bytes(dtype));
        const bool good = input && output && random_operands(chain, operands);
        if (good && make_ways(chain, (const void *const *)operands, threads, ways)) {
            time_ways(ways, input, output);
            merge_automatic(ways);
            slower = ways[AUTOMATIC].seconds / fmin(ways[DIRECT].seconds, ways[WINOGRAD].seconds);
            printf("%9.3f %9.3f %9.3f %6.2f%s  %s\n", ways[DIRECT].seconds * 1e3,
                   ways[WINOGRAD].seconds * 1e3, ways[AUTOMATIC].seconds * 1e3, slower,
                   slower > MARGIN ? " slower" : "       ", text);
            fflush(stdout);
        }
    }
    if (!(slower > 0))
        fprintf(stderr, "algorithms: %s: %s\n", text, uc_last_error());
    for (size_t i = 0; i < WAYS; i++) {
        uc_plan_destroy(ways[i].plan);
        free(ways[i].workspace);
    }
    for (size_t i = 0; i < MOST_OPERANDS; i++)
        free(operands[i]);
    free(output);
    free(input);
    uc_chain_destroy(chain);
    return slower;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 || argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "Usage: algorithms FILE [THREADS]\n\n"
                        "FILE has a chain per line ('#' begins a comment), as bench/sweep.txt has. "
                        "Each is executed direct,\nby Winograd and automatic, in turns; the least "
                        "time counts. Exits with 1 if automatic is more than\n3 %% slower than the "
                        "better one in more than 5 %% of them.\n");
        return 2;
    }
    const size_t threads = argc == 3 ? strtoul(argv[2], NULL, 10) : 1;
    size_t count = 0, slower = 0;
    printf("%9s %9s %9s %6s\n", "direct ms", "winograd", "automatic", "ratio");
    for (char line[512]; fgets(line, sizeof line, file);) {
        line[strcspn(line, "#\n")] = 0;
        if (!*line)
            continue;
        const double ratio = compare(line, threads);
        count += ratio > 0;
        slower += ratio > MARGIN;
    }
    fclose(file);
    printf("automatic is the better way, or at most 3 %% slower, in %zu of %zu chains\n",
           count - slower, count);
    return (double)(count - slower) < SHARE * (double)count;
}
