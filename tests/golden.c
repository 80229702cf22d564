/* The golden cases: parameters, tensors and outputs that PyTorch computed in float64.
 * check_golden and check_mutants go through all of them. */
#include "golden.h"
#include "element.h"
#include "npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *read_tensor(const struct golden *golden, const char *tensor, size_t *elems) {
    char *path = check_text("%s/%s/%s.npy", UC_GOLDEN_DIR, golden->name, tensor);
    double *values = npy_read(path, elems);
    free(path);
    if (!values)
        exit(EXIT_FAILURE);
    return values;
}

/* "slug/name key=value key=value ..." */
static bool parse_case(const char *line, struct golden *golden) {
    const size_t length = strcspn(line, " \n"), slug_length = strcspn(line, "/");
    char slug[sizeof golden->name];
    *golden = (struct golden){0};
    snprintf(golden->name, sizeof golden->name, "%.*s", (int)length, line);
    snprintf(slug, sizeof slug, "%.*s", (int)slug_length, line);
    golden->op = operator_find(slug);
    bool is_good = golden->op;
    for (const char *word = line + length; *word == ' ' && is_good;) {
        word++;
        const size_t name_length = strcspn(word, "=");
        is_good = word[name_length] == '=' &&
                  param_set(&golden->params, word, name_length, word + name_length + 1);
        word += strcspn(word, " \n");
    }
    return is_good;
}

size_t golden_each(void (*visit)(const struct golden *golden)) {
    char line[1024];
    size_t count = 0;
    FILE *file = fopen(UC_GOLDEN_DIR "/cases.txt", "r");
    if (!CHECK(file, "%s/cases.txt can't be opened", UC_GOLDEN_DIR))
        return 0;
    while (fgets(line, sizeof line, file)) {
        struct golden golden;
        if (!CHECK(parse_case(line, &golden), "not a case: %s", line))
            continue;
        golden.output = read_tensor(&golden, "output", &golden.output_elems);
        visit(&golden);
        free(golden.output);
        count++;
    }
    fclose(file);
    return count;
}

static void load(const struct golden *golden, const char *tensor, uc_dtype dtype,
                 struct buffer *buffer) {
    size_t elems;
    double *values = read_tensor(golden, tensor, &elems);
    if (CHECK(elems * uc_dtype_bytes(dtype) == buffer->bytes, "%s: %s has %zu elements",
              golden->name, tensor, elems))
        for (size_t i = 0; i < elems; i++)
            element_set(dtype, buffer->data, i, values[i]);
    free(values);
}

struct data golden_data(const struct golden *golden, const struct problem *problem) {
    struct data data = data_new(problem, GUARD_MISALIGNED);
    load(golden, "input", problem->dtype, &data.input);
    for (size_t i = 0; i < data.operand_count; i++)
        load(golden, golden->op->operand[i], problem->dtype, &data.operand[i]);
    return data;
}
