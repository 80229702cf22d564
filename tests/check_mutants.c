/* Proves the comparison on the golden data: right implementations pass it, each of the wrong ones
 * fails it somewhere. Run by CTest; prints the table operator x fault. */
#include "compare.h"
#include "element.h"
#include "golden.h"
#include "naive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_OPERATORS = 5 };

/* How many cases a fault applies to, and how many of them noticed. */
static struct tally { size_t applied, rejected; } tallies[MOST_OPERATORS][FAULTS];

/* A golden case as it is, and twins of it that show what no golden case does, whose reference is
 * then the plain f64 computation that the case itself has just vouched for. NEGATED: with the input
 * of spec-like data negated, every maximum is below 0. INFINITE: one infinity alone, which a clamp
 * makes finite again before a softmax can spread it. */
enum twin { TWIN_NONE, TWIN_NEGATED, TWIN_INFINITE, TWINS };
static const int shown_by[TWINS] = {FAULT_NONE, FAULT_MAX_FROM_ZERO, FAULT_INF_LEAKS};

struct trial {
    const char *name;
    struct problem problem;
    struct data data;
    const double *reference;
    double *noise;
};

static struct verdict judge(const struct trial *trial, struct naive_mode mode) {
    const struct extent extent = problem_output(&trial->problem);
    const uc_dtype dtype = trial->problem.dtype;
    double *output = check_alloc(extent_elems(extent) * sizeof *output);
    (dtype == UC_F64 ? naive_f64 : naive_f32)(&trial->problem, &trial->data, mode, output);
    const struct tolerance tolerance = {relative_of(dtype), trial->noise};
    const struct verdict verdict = compare(extent, trial->reference, UC_F64, output, tolerance);
    free(output);
    return verdict;
}

/* Sums in any order are right. */
static void accept_sound(const struct trial *trial) {
    for (int order = 0; order < ORDERS; order++) {
        const struct verdict verdict =
            judge(trial, (struct naive_mode){.order = (enum order)order});
        CHECK(verdict.wrong == 0,
              "%s in %s, order %d: %zu elements wrong; [%zu] expected %.9g, got %.9g", trial->name,
              uc_dtype_name(trial->problem.dtype), order, verdict.wrong, verdict.index,
              verdict.expected, verdict.got);
    }
}

static void reject_faulty(const struct trial *trial, enum twin twin, struct tally *row) {
    for (int fault = FAULT_NONE + 1; fault < FAULTS; fault++)
        if (fault_applies((enum fault)fault, &trial->problem) &&
            (twin == TWIN_NONE || fault == shown_by[twin])) {
            row[fault].applied++;
            row[fault].rejected +=
                judge(trial, (struct naive_mode){.fault = (enum fault)fault}).wrong > 0;
        }
}

static void turn_into(enum twin twin, struct buffer *input, uc_dtype dtype) {
    if (twin == TWIN_INFINITE)
        element_set(dtype, input->data, 0, (double)INFINITY);
    for (size_t i = 0; twin == TWIN_NEGATED && i < input->bytes / uc_dtype_bytes(dtype); i++)
        element_set(dtype, input->data, i, -element_get(dtype, input->data, i));
}

static void visit_twin(const struct golden *golden, uc_dtype dtype, enum twin twin) {
    struct trial trial = {.name = golden->name, .reference = golden->output};
    trial.problem = problem_of_operator(golden->op->slug, dtype, &golden->params);
    if (!CHECK(extent_elems(problem_output(&trial.problem)) == golden->output_elems,
               "%s: wrong output size", golden->name))
        return;
    trial.data = golden_data(golden, &trial.problem);
    double *output = check_alloc(golden->output_elems * sizeof *output);
    if (twin != TWIN_NONE) {
        turn_into(twin, &trial.data.input, dtype);
        naive_f64(&trial.problem, &trial.data, (struct naive_mode){0}, output);
        trial.reference = output;
    }
    trial.noise = noise_of(&trial.problem, &trial.data, trial.reference);
    accept_sound(&trial);
    if (dtype == UC_F32)
        reject_faulty(&trial, twin, tallies[golden->op - operators]);
    free(trial.noise);
    free(output);
    data_free(&trial.data);
}

static void visit(const struct golden *golden) {
    visit_twin(golden, UC_F64, TWIN_NONE);
    for (int twin = 0; twin < TWINS; twin++)
        visit_twin(golden, UC_F32, (enum twin)twin);
}

int main(void) {
    CHECK(golden_each(visit) == 66, "not all golden cases are there");
    printf("%-50s %-34s %s\n", "operator", "fault", "rejected by");
    for (int fault = FAULT_NONE + 1; fault < FAULTS; fault++) {
        bool is_used = false;
        for (size_t op = 0; op < operator_total; op++) {
            const struct tally tally = tallies[op][fault];
            if (!tally.applied)
                continue;
            is_used = true;
            printf("%-50s %-34s %zu of %zu cases\n", operators[op].slug,
                   fault_name((enum fault)fault), tally.rejected, tally.applied);
            CHECK(tally.rejected, "%s: the mutant '%s' survives", operators[op].slug,
                  fault_name((enum fault)fault));
        }
        CHECK(is_used, "no operator has a stage for '%s'", fault_name((enum fault)fault));
    }
    return check_done();
}
