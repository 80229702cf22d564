/* How exact the exponential, GELU and sigmoid of every kernel table are, from one end of the type
 * to the other, and a sigmoid that a softmax takes along; the worst errors are printed, and
 * bounded. Run by CTest; `check_math N` looks at about N values. */
#include "run.h"
#include "table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t wanted = 200000;

enum { MOST_VALUES = 4096 };

/* A function of one value, as the kernels compute and as the C library does in long double. */
struct function {
    const char *name;
    void (*run)(const uc_kernels *kernels, void *reals, size_t count);
    long double (*twin)(long double x);
    double lowest[2], highest[2]; /* beyond these the result is 0, inf, 1 or x: f32, f64 */
    double units[2];              /* how far off a normal result may be, in units of it: f32, f64 */
};

static void run_finish(const uc_kernels *kernels, const uc_finish *finish, uc_op op, void *reals,
                       size_t count) {
    const uc_rows rows = {.reals = reals,
                          .channels = 1,
                          .lanes = count,
                          .width = count,
                          .phases = 1,
                          .phase_step = count,
                          .rows = 1,
                          .pitch = count,
                          .columns = count};
    kernels->finish[op](finish, &rows);
}

/* A softmax whose largest value is 0 and whose sum is 1 is the exponential itself, of values up to
 * 0: here of -|x|. */
static void run_exp(const uc_kernels *kernels, void *reals, size_t count) {
    for (size_t i = 0; i < count; i++)
        real_set(kernels, reals, i, -fabs(real_get(kernels, reals, i)));
    const uc_summary summary = {0, 1};
    const uc_stage stage = {.op = UC_OP_softmax_space};
    run_finish(kernels, &(uc_finish){.stage = &stage, .summaries = &summary}, UC_OP_softmax_space,
               reals, count);
}

static void run_gelu(const uc_kernels *kernels, void *reals, size_t count) {
    const uc_stage stage = {.op = UC_OP_gelu};
    run_finish(kernels, &(uc_finish){.stage = &stage}, UC_OP_gelu, reals, count);
}

static void run_sigmoid(const uc_kernels *kernels, void *reals, size_t count) {
    const uc_stage stage = {.op = UC_OP_sigmoid};
    run_finish(kernels, &(uc_finish){.stage = &stage}, UC_OP_sigmoid, reals, count);
}

static long double twin_gelu(long double x) {
    return x * 0.5L * erfcl(-x * sqrtl(0.5L));
}

static long double twin_exp(long double x) {
    return expl(-fabsl(x));
}

static long double twin_sigmoid(long double x) {
    return 1 / (1 + expl(-x));
}

/* The bounds are what was measured, with a little room; DBL_EPSILON is 2.2e-16, FLT_EPSILON
 * 1.2e-7. GELU's are 3.3e-6 and 7.1e-15 relative, down to where the type ends. */
static const struct function functions[] = {
    {"exp", run_exp, twin_exp, {-104, -746}, {89, 710}, {2, 2}},
    {"gelu", run_gelu, twin_gelu, {-15, -39}, {15, 39}, {16, 28}},
    {"sigmoid", run_sigmoid, twin_sigmoid, {-104, -746}, {89, 710}, {4, 4}},
};

/* The worst of many results. */
struct worst {
    double normal, normal_at;       /* in units of a normal result */
    double subnormal, subnormal_at; /* in steps of subnormal ones */
    size_t wrong;                   /* NaN and infinities in the wrong place */
    double wrong_at, wrong_got;
};

static void look_at(const uc_kernels *kernels, const struct function *function, double x,
                    double got, struct worst *worst) {
    const long double value = function->twin(x), smallest = table_smallest(kernels),
                      unit = table_unit(kernels), least_normal = smallest / unit;
    const long double largest = table_largest(kernels);
    const long double error = fabsl((long double)got - value);
    /* Half a unit past the largest value it rounds to infinity; next to that, both are fine. */
    const bool overflows = fabsl(value) > largest * (1 + unit / 4);
    const bool may_overflow = fabsl(value) > largest * (1 - 4 * unit);
    bool right = true;
    if (isnan(value))
        right = isnan(got);
    else if (isinf(got))
        right = (isinf(value) || may_overflow) && (got > 0) == (value > 0);
    else
        right = !isnan(got) && (!overflows || fabsl(value) < largest * (1 + 4 * unit));
    if (!right) {
        if (!worst->wrong++) {
            worst->wrong_at = x;
            worst->wrong_got = got;
        }
        return;
    }
    if (isnan(value) || isinf(got))
        return;
    if (fabsl(value) >= least_normal) {
        const double units = (double)(error / (unit * fabsl(value)));
        if (units > worst->normal) {
            worst->normal = units;
            worst->normal_at = x;
        }
    } else if ((double)(error / smallest) > worst->subnormal) {
        worst->subnormal = (double)(error / smallest);
        worst->subnormal_at = x;
    }
}

/* Values from a generator, a buffer full at a time. */
static void look_at_all(const uc_kernels *kernels, const struct function *function,
                        const double *values, size_t count, struct worst *worst) {
    struct buffer reals = reals_new(kernels, MOST_VALUES, GUARD_MISALIGNED);
    for (size_t begin = 0; begin < count; begin += MOST_VALUES) {
        const size_t some = count - begin < MOST_VALUES ? count - begin : MOST_VALUES;
        for (size_t i = 0; i < MOST_VALUES; i++) /* the rest, up to a whole vector, are zeros */
            real_set(kernels, reals.data, i, i < some ? values[begin + i] : 0);
        struct buffer results = reals_new(kernels, MOST_VALUES, GUARD_MISALIGNED);
        memcpy(results.data, reals.data, reals.bytes);
        function->run(kernels, results.data, MOST_VALUES);
        for (size_t i = 0; i < some; i++)
            look_at(kernels, function, real_get(kernels, reals.data, i),
                    real_get(kernels, results.data, i), worst);
        CHECK(buffer_intact(&results), "%s: %s: written outside", kernels->name, function->name);
        buffer_free(&results);
    }
    buffer_free(&reals);
}

/* Evenly over the range in which anything happens and beyond its ends, at every magnitude down to
 * the smallest, close to the ends, and what is no number. */
static double *draw_values(const uc_kernels *kernels, const struct function *function,
                           size_t *count) {
    const size_t wide = table_real(kernels) == UC_F64;
    const double low = function->lowest[wide], high = function->highest[wide];
    const double special[] = {0.0,
                              -0.0,
                              (double)NAN,
                              (double)INFINITY,
                              -(double)INFINITY,
                              table_largest(kernels),
                              -table_largest(kernels),
                              table_smallest(kernels),
                              -table_smallest(kernels),
                              low,
                              high,
                              1,
                              -1};
    const size_t specials = sizeof special / sizeof *special;
    double *values = check_alloc((wanted + specials) * sizeof *values);
    struct rng rng = {5};
    memcpy(values, special, sizeof special);
    for (size_t i = 0; i < wanted; i++) {
        double value = low * 1.05 + (high - low) * 1.1 * rng_unit(&rng);
        if (i % 4 == 1)
            value = ldexp(rng_normal(&rng), -(int)rng_below(&rng, wide ? 1070 : 145));
        if (i % 4 == 2) /* where results end */
            value = (rng_below(&rng, 2) ? low : high) * (1 - 0.2 * rng_unit(&rng));
        if (i % 4 == 3)
            value = 4 * rng_normal(&rng);
        values[specials + i] = value;
    }
    *count = wanted + specials;
    return values;
}

static void check_function(const uc_kernels *kernels, const struct function *function) {
    const size_t wide = table_real(kernels) == UC_F64;
    size_t count;
    double *values = draw_values(kernels, function, &count);
    struct worst worst = {0};
    look_at_all(kernels, function, values, count, &worst);
    printf("%s: %s: at worst %.2f units at %.17g, subnormal ones %.2f steps at %.17g\n",
           kernels->name, function->name, worst.normal, worst.normal_at, worst.subnormal,
           worst.subnormal_at);
    CHECK(worst.wrong == 0, "%s: %s: %zu not what IEEE says; the first: %.17g gives %.17g",
          kernels->name, function->name, worst.wrong, worst.wrong_at, worst.wrong_got);
    CHECK(worst.normal <= function->units[wide], "%s: %s(%.17g) is off by %.2f units",
          kernels->name, function->name, worst.normal_at, worst.normal);
    /* A subnormal result may be off by one step more for each multiplication that made it. */
    CHECK(worst.subnormal <= 2 * function->units[wide], "%s: %s(%.17g) is off by %.2f steps",
          kernels->name, function->name, worst.subnormal_at, worst.subnormal);
    free(values);
}

static void check_table(const uc_kernels *kernels) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        check_function(kernels, &functions[i]);
}

/* A softmax over two channels, of inputs that are its logits, and what it takes along: a polynomial
 * where the factor is from 0 to 2, a sigmoid of its own where not. How far off the worst result is,
 * in units of it. */
static double worst_behind_softmax(bool wide, double factor, double term) {
    enum { COLUMNS = 201 };
    uc_chain *chain;
    uc_plan *plan;
    char *text = check_text("%s 1x2x1x%d, conv_transpose 2 kernel 1, softmax_channel, add b, "
                            "mul %.17g, sigmoid",
                            wide ? "f64" : "f32", COLUMNS, factor);
    /* All of these are floats, too. */
    static double wide_input[2 * COLUMNS], wide_output[2 * COLUMNS];
    static float narrow_input[2 * COLUMNS], narrow_output[2 * COLUMNS];
    const double weights[] = {1, 0, 0, 1}, terms[] = {term, -term};
    const float narrow_weights[] = {1, 0, 0, 1}, narrow_terms[] = {(float)term, (float)-term};
    const void *const operands[] = {wide ? (const void *)weights : narrow_weights,
                                    wide ? (const void *)terms : narrow_terms};
    void *input = wide ? (void *)wide_input : narrow_input,
         *output = wide ? (void *)wide_output : narrow_output;
    double worst = 0;
    for (int i = 0; i < COLUMNS; i++)
        narrow_input[i] = (float)(wide_input[i] = (double)(i - COLUMNS / 2) / 4);
    if (check_status(text, UC_OK, uc_chain_parse(text, &chain)) &&
        check_status(text, UC_OK, uc_plan_create(chain, operands, NULL, &plan))) {
        void *workspace = check_alloc(uc_plan_workspace_bytes(plan));
        check_status(text, UC_OK, uc_plan_execute(plan, input, output, workspace));
        for (int i = 0; i < 2 * COLUMNS; i++) {
            const long double x = wide_input[i % COLUMNS],
                              part = 1 / (1 + expl(i < COLUMNS ? -x : x)),
                              value = 1 / (1 + expl(-factor * (part + terms[i / COLUMNS]))),
                              got = wide ? wide_output[i] : narrow_output[i];
            const double units =
                (double)(fabsl(got - value) / value / (wide ? DBL_EPSILON : FLT_EPSILON));
            worst = units > worst ? units : worst;
        }
        free(workspace);
        uc_plan_destroy(plan);
        uc_chain_destroy(chain);
    }
    free(text);
    return worst;
}

static void check_behind_softmax(void) {
    static const double factors[] = {0, 0.01, 1, 1.7, 2, 2.01, 3, 5, -1, -2};
    for (size_t i = 0; i < 2 * (sizeof factors / sizeof *factors); i++)
        for (double term = 0; term <= 12; term += 0.375) {
            const bool wide = i % 2;
            const double factor = factors[i / 2], worst = worst_behind_softmax(wide, factor, term);
            /* A sigmoid of its own gets its argument rounded, and so does an exponential. */
            const bool along = factor >= 0 && factor <= 2 && !wide;
            CHECK(worst <= 3 + (along ? 0 : fabs(factor) * term),
                  "%s: sigmoid of %g (part + %g): %.2f units", wide ? "f64" : "f32", factor, term,
                  worst);
        }
}

int main(int argc, char **argv) {
    if (argc > 1)
        wanted = strtoull(argv[1], NULL, 10);
    table_each(check_table);
    check_behind_softmax();
    return check_done();
}
