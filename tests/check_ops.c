/* Every op of every kernel table against its plain twin: finish, merge and fold, measure and
 * finish, on rows with phases, gaps and NaN between them. Run by CTest; `check_ops N` takes N
 * random cases of each op. An op of ops.def without a twin_NAME() here does not compile. */
#include "element.h"
#include "table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t cases = 150;

/* ---- Twins: one function per op, in long double ---- */

/* What a twin needs to know: the table's arithmetic and the op's arguments. */
struct context {
    const uc_kernels *kernels;
    const uc_finish *finish;
    long double unit, smallest; /* of the table's reals */
};

static struct expected within(const struct context *at, long double value, long double units) {
    return (struct expected){value, units * at->unit * fabsl(value) + 2 * at->smallest};
}

static long double number(const struct context *at, size_t index) {
    return element_round(table_real(at->kernels), at->finish->stage->number[index]);
}

/* The value that add and mul have for a channel of the rows. */
static long double value_for(const struct context *at, size_t channel) {
    return at->finish->per_channel
               ? real_get(at->kernels, at->finish->per_channel, at->finish->first_channel + channel)
               : number(at, 0);
}

static struct expected twin_add(const struct context *at, size_t channel, long double x) {
    return within(at, x + value_for(at, channel), 1);
}

static struct expected twin_mul(const struct context *at, size_t channel, long double x) {
    return within(at, x * value_for(at, channel), 1);
}

static struct expected twin_clamp(const struct context *at, size_t channel, long double x) {
    (void)channel;
    const long double low = number(at, 0), high = number(at, 1);
    if (isnan(x) || isnan(low) || isnan(high))
        return (struct expected){(long double)NAN, 0};
    const long double raised = x < low ? low : x;
    return (struct expected){raised > high ? high : raised, 0};
}

/* check_math.c measures gelu and sigmoid closely; here is a looser bound in many more places. */
static struct expected twin_gelu(const struct context *at, size_t channel, long double x) {
    (void)channel;
    const struct expected result = within(at, x * 0.5L * erfcl(-x * sqrtl(0.5L)), 32);
    return (struct expected){result.value, result.allowed + 64 * at->smallest};
}

static struct expected twin_sigmoid(const struct context *at, size_t channel, long double x) {
    (void)channel;
    return within(at, 1 / (1 + expl(-x)), 8);
}

/* Channel ops turn the values of one position into results. */
static void twin_layernorm_channel(const struct context *at, const long double *x, size_t count,
                                   struct expected *results) {
    const long double n = (long double)count;
    long double mean = 0, variance = 0, largest = 0;
    if (!at->finish->centred)
        for (size_t c = 0; c < count; c++)
            mean += x[c] / n;
    for (size_t c = 0; c < count; c++) {
        variance += (x[c] - mean) * (x[c] - mean) / n;
        largest = fmaxl(largest, fabsl(x[c]));
    }
    const long double scale = 1 / sqrtl(variance + number(at, 0));
    for (size_t c = 0; c < count; c++) {
        /* The mean is off by units of the largest value, what is left of it by units of itself. */
        results[c] = within(at, (x[c] - mean) * scale, n + 8);
        results[c].allowed +=
            (n + 8) * scale *
            (at->unit * largest * (1 + fabsl(x[c] - mean) * scale) + at->smallest);
    }
}

static void twin_softmax(const struct context *at, const long double *x, size_t count,
                         struct expected *results) {
    long double largest = x[0], sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = x[i] > largest || isnan(x[i]) ? x[i] : largest;
    for (size_t i = 0; i < count; i++)
        sum += expl(x[i] - largest);
    for (size_t i = 0; i < count; i++) {
        /* The difference of two reals is rounded before it is an exponent. */
        const long double away = x[i] - largest;
        results[i] = within(at, expl(away) / sum,
                            16 + (long double)count / 4 + (isfinite(away) ? -2 * away : 0));
    }
}

static void twin_softmax_channel(const struct context *at, const long double *x, size_t count,
                                 struct expected *results) {
    twin_softmax(at, x, count, results);
}

/* The one result is the first channel's. */
static void twin_sum_channel(const struct context *at, const long double *x, size_t count,
                             struct expected *results) {
    long double sum = 0, magnitude = 0;
    for (size_t c = 0; c < count; c++) {
        sum += x[c];
        magnitude += fabsl(x[c]);
    }
    results[0] = (struct expected){sum, (long double)count * at->unit * magnitude};
}

/* Window ops fold two values, and a whole window ends as `last`. */
static long double twin_avgpool(long double a, long double b) {
    return a + b;
}

static long double last_avgpool(const size_t window[UC_SPACE], long double folded) {
    return folded / (long double)(window[0] * window[1] * window[2]);
}

static long double twin_maxpool(long double a, long double b) {
    return a > b || isnan(a) ? a : b;
}

static long double last_maxpool(const size_t window[UC_SPACE], long double folded) {
    (void)window;
    return folded;
}

static void twin_softmax_space(const struct context *at, const long double *x, size_t count,
                               struct expected *results) {
    twin_softmax(at, x, count, results);
}

typedef void all_twin(const struct context *at, const long double *x, size_t count,
                      struct expected *results);
struct twin {
    struct expected (*element)(const struct context *at, size_t channel, long double x);
    all_twin *channel, *everything;
    long double (*window)(long double a, long double b);
    long double (*last)(const size_t window[UC_SPACE], long double folded);
};
#define TWIN_TAPS(name)                                                                            \
    { 0 } /* check_kernels.c */
#define TWIN_ELEMENT(name)                                                                         \
    { .element = twin_##name }
#define TWIN_CHANNEL(name)                                                                         \
    { .channel = twin_##name }
#define TWIN_WINDOW(name)                                                                          \
    { .window = twin_##name, .last = last_##name }
#define TWIN_EVERYTHING(name)                                                                      \
    { .everything = twin_##name }
static const struct twin twins[UC_OP_COUNT] = {
#define OP(name, needs, arguments) TWIN_##needs(name),
#include "ops.def"
#undef OP
};

/* ---- Rows ---- */

/* How large an odd value may be, so that what an op makes of it stays finite in the type. */
static double largest_for(const uc_kernels *kernels, uc_op op) {
    const double largest = table_largest(kernels);
    if (op == UC_OP_layernorm_channel)
        return sqrt(largest) * 0x1p-10; /* its square */
    return op == UC_OP_add || op == UC_OP_mul || op == UC_OP_clamp ? largest : largest * 0x1p-10;
}

/* An op's arguments, by their kind: the numbers now and then odd, the values per channel or one. */
static uc_stage draw_stage(struct rng *rng, uc_op op, enum values values) {
    uc_stage stage = {.op = op, .number = {rng_normal(rng), rng_normal(rng)}};
    for (size_t i = 0; i < UC_SPACE; i++)
        stage.window[i] = 1 + rng_below(rng, 5);
    if (uc_ops[op].arguments == UC_ARGUMENTS_NUMBER)
        stage.number[0] = rng_below(rng, 2) ? 1e-5 : rng_unit(rng); /* eps is not negative */
    if (uc_ops[op].arguments == UC_ARGUMENTS_RANGE && values == VALUES_ODD && !rng_below(rng, 3))
        stage.number[rng_below(rng, 2)] = rng_below(rng, 2) ? (double)NAN : -(double)INFINITY;
    return stage;
}

static struct context context_of(const uc_kernels *kernels, const uc_finish *finish) {
    return (struct context){kernels, finish, table_unit(kernels), table_smallest(kernels)};
}

/* Compares one op's result at one place and counts it; the first wrong one of a case is kept. */
struct verdict {
    size_t wrong;
    long double expected;
    double got;
};

static void judge(const uc_kernels *kernels, struct expected expected, double got,
                  struct verdict *verdict) {
    if (real_close(kernels, expected, got))
        return;
    if (!verdict->wrong++) {
        verdict->expected = expected.value;
        verdict->got = got;
    }
}

static void check_verdict(const struct test_rows *rows, const char *what, uc_op op,
                          const struct verdict *verdict, uint64_t seed) {
    CHECK(verdict->wrong == 0,
          "%s: %s %s: %zu wrong; the first: expected %.17Lg, got %.17g (%zu channels, %zu rows of "
          "%zu, %zu phases, state %llu)",
          rows->kernels->name, what, uc_ops[op].name, verdict->wrong, verdict->expected,
          verdict->got, rows->rows.channels, rows->rows.rows, rows->rows.columns, rows->rows.phases,
          (unsigned long long)seed);
    CHECK(buffer_intact(&rows->reals), "%s: %s %s: written outside (state %llu)",
          rows->kernels->name, what, uc_ops[op].name, (unsigned long long)seed);
}

/* ---- Element and channel ops ---- */

/* Results of all channels of one position. */
static void expect_position(const struct context *at, uc_op op, const struct test_rows *rows,
                            size_t row, size_t column, struct expected *results) {
    const size_t channels = rows->rows.channels;
    long double *x = check_alloc(channels * sizeof *x);
    for (size_t c = 0; c < channels; c++)
        x[c] = real_get(at->kernels, rows->before.data, rows_lane(&rows->rows, c, row, column));
    if (twins[op].channel)
        twins[op].channel(at, x, channels, results);
    else
        for (size_t c = 0; c < channels; c++)
            results[c] = twins[op].element(at, c, x[c]);
    free(x);
}

/* Strip by strip, of whole vectors, as tiles do it; each leaves the lanes of the others alone. */
static void finish_in_strips(const uc_kernels *kernels, struct rng *rng, const uc_finish *finish,
                             const struct test_rows *rows) {
    const uc_op op = finish->stage->op;
    uc_rows strip = rows->rows;
    char *untouched = check_alloc(rows->reals.bytes);
    memcpy(untouched, rows->reals.data, rows->reals.bytes);
    for (size_t begin = 0; begin < rows->rows.lanes; begin += strip.width) {
        const size_t left = (rows->rows.lanes - begin) / kernels->vector_lanes;
        strip.width = kernels->vector_lanes * (rng_below(rng, 3) ? 1 + rng_below(rng, left) : left);
        strip.reals = (char *)rows->reals.data + begin * kernels->real_bytes;
        kernels->finish[op](finish, &strip);
        size_t changed = 0;
        for (size_t c = 0; c < strip.channels; c++) {
            const size_t after = (c * strip.lanes + begin + strip.width) * kernels->real_bytes;
            changed += memcmp((char *)rows->reals.data + after, untouched + after,
                              (strip.lanes - begin - strip.width) * kernels->real_bytes) != 0;
        }
        CHECK(changed == 0, "%s: %s: lanes behind the strip have changed", kernels->name,
              uc_ops[op].name);
    }
    free(untouched);
}

static void check_finish(const uc_kernels *kernels, struct rng *rng, uc_op op, enum values values) {
    const uint64_t seed = rng->state;
    const double largest = largest_for(kernels, op);
    uc_rows shape = rows_shape(kernels, rng, 1 + rng_below(rng, 3), table_lanes(kernels, rng));
    struct test_rows rows = rows_new(kernels, rng, shape, values, largest);
    const uc_stage stage = draw_stage(rng, op, values);
    uc_finish finish = {.stage = &stage, .first_channel = rng_below(rng, 4)};
    struct buffer per_channel =
        reals_new(kernels, finish.first_channel + shape.channels, random_guard(rng));
    reals_fill(kernels, &per_channel, rng, values, largest);
    if (uc_ops[op].arguments == UC_ARGUMENTS_VALUE && rng_below(rng, 2))
        finish.per_channel = per_channel.data;
    finish.centred = op == UC_OP_layernorm_channel && !rng_below(rng, 4);
    finish_in_strips(kernels, rng, &finish, &rows);

    const struct context at = context_of(kernels, &finish);
    struct verdict verdict = {0};
    struct expected *results = check_alloc(shape.channels * sizeof *results);
    const size_t left = op == UC_OP_sum_channel ? 1 : shape.channels;
    for (size_t r = 0; r < shape.rows; r++)
        for (size_t i = 0; i < shape.columns; i++) {
            expect_position(&at, op, &rows, r, i, results);
            for (size_t c = 0; c < left; c++)
                judge(kernels, results[c],
                      real_get(kernels, rows.reals.data, rows_lane(&shape, c, r, i)), &verdict);
        }
    check_verdict(&rows, "finish", op, &verdict, seed);
    CHECK(buffer_intact(&per_channel), "%s: %s: an operand changed", kernels->name,
          uc_ops[op].name);
    free(results);
    buffer_free(&per_channel);
    rows_free(&rows);
}

/* A norm or softmax over channels whose results are put into polynomials and, the norm's, summed
 * up: as if that were done afterwards. */
static void check_taken_along(const uc_kernels *kernels, struct rng *rng, uc_op op) {
    const uint64_t seed = rng->state;
    uc_rows shape = rows_shape(kernels, rng, 1 + rng_below(rng, 3), table_lanes(kernels, rng));
    struct test_rows plain = rows_new(kernels, rng, shape, VALUES_NORMAL, 1),
                     rows = rows_new(kernels, rng, shape, VALUES_NORMAL, 1),
                     sums = rows_new(kernels, rng, shape, VALUES_NORMAL, 1);
    memcpy(plain.reals.data, rows.reals.data, rows.reals.bytes);
    const bool wide = kernels->real_bytes == sizeof(double),
               curved = op == UC_OP_softmax_channel && rng_below(rng, 2);
    const size_t degree = !curved ? 1 : wide ? UC_CURVE_DEGREE_F64 : UC_CURVE_DEGREE;
    struct buffer curve = reals_new(kernels, (degree + 1) * shape.channels, random_guard(rng));
    reals_fill(kernels, &curve, rng, VALUES_NORMAL, 1);
    const uc_stage stage = draw_stage(rng, op, VALUES_NORMAL);
    uc_finish finish = {.stage = &stage};
    kernels->finish[op](&finish, &plain.rows);
    const bool adds = op == UC_OP_layernorm_channel && rng_below(rng, 2);
    if (!adds || rng_below(rng, 2))
        finish.curve = curve.data;
    finish.curve_degree = degree;
    if (adds)
        finish.sums = sums.reals.data;
    kernels->finish[op](&finish, &rows.rows);

    size_t wrong = 0;
    for (size_t c = 0; c < shape.channels; c++)
        for (size_t r = 0; r < shape.rows; r++)
            for (size_t i = 0; i < shape.columns; i++) {
                const size_t lane = rows_lane(&shape, c, r, i);
                long double value = real_get(kernels, plain.reals.data, lane), size = fabsl(value);
                if (finish.curve) {
                    const long double x = curved && wide ? value - 0.5 : value;
                    value = size = 0;
                    for (size_t k = degree + 1; k-- > 0;) {
                        const double coefficient =
                            real_get(kernels, curve.data, c * (degree + 1) + k);
                        value = value * x + coefficient;
                        size = size * fabsl(x) + fabs(coefficient);
                    }
                    if (curved && wide) {
                        /* What is off by a part of `size` gets so much off in 1 / it. */
                        size = (1 + size) / ((1 + value) * (1 + value)) + fabsl(1 / (1 + value));
                        value = 1 / (1 + value);
                    }
                }
                if (adds) {
                    const double before = real_get(kernels, sums.before.data, lane);
                    value += before;
                    size += fabs(before);
                }
                const double got = real_get(kernels, (adds ? &sums : &rows)->reals.data, lane);
                const double unit = wide ? DBL_EPSILON : FLT_EPSILON;
                wrong += !(fabsl(got - value) <= (1 + (double)degree) * unit * size);
            }
    CHECK(wrong == 0 && buffer_intact(&curve) && buffer_intact(&sums.reals) &&
              buffer_intact(&rows.reals),
          "%s: %s%s%s: %zu wrong (state %llu)", kernels->name, uc_ops[op].name,
          !finish.curve ? ""
          : degree == 1 ? ", factors and terms"
                        : ", a curve",
          adds ? ", summed up" : "", wrong, (unsigned long long)seed);
    rows_free(&plain);
    rows_free(&rows);
    rows_free(&sums);
    buffer_free(&curve);
}

/* ---- Pools ---- */

static void check_merge(const uc_kernels *kernels, struct rng *rng, uc_op op, enum values values) {
    const uint64_t seed = rng->state;
    const size_t count = table_lanes(kernels, rng), channels = 1 + rng_below(rng, 9);
    const size_t into_step = count + rng_below(rng, 9), from_step = count + rng_below(rng, 9);
    const double largest = table_largest(kernels) / 2;
    struct buffer into = reals_new(kernels, (channels - 1) * into_step + count, random_guard(rng));
    struct buffer from = reals_new(kernels, (channels - 1) * from_step + count, random_guard(rng));
    struct buffer before = reals_new(kernels, into.bytes / kernels->real_bytes, GUARD_ALIGNED);
    reals_fill(kernels, &into, rng, values, largest);
    reals_fill(kernels, &from, rng, values, largest);
    memcpy(before.data, into.data, into.bytes);
    const bool first = rng_below(rng, 3) == 0;
    kernels->merge[op](into.data, into_step, from.data, from_step, channels, count, first);

    const uc_finish finish = {0};
    const struct context at = context_of(kernels, &finish);
    struct verdict verdict = {0};
    size_t outside = 0;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < (c + 1 < channels ? into_step : count); i++) {
            const size_t lane = c * into_step + i;
            const long double old = real_get(kernels, before.data, lane);
            const double got = real_get(kernels, into.data, lane);
            const long double with = real_get(kernels, from.data, c * from_step + i % count);
            if (i < count)
                judge(kernels, within(&at, first ? with : twins[op].window(old, with), 1), got,
                      &verdict);
            else
                outside += !real_close(kernels, (struct expected){old, 0}, got);
        }
    CHECK(verdict.wrong == 0,
          "%s: merge %s: %zu wrong; the first: expected %.17Lg, got %.17g (state %llu)",
          kernels->name, uc_ops[op].name, verdict.wrong, verdict.expected, verdict.got,
          (unsigned long long)seed);
    CHECK(outside == 0 && buffer_intact(&into) && buffer_intact(&from),
          "%s: merge %s: written outside (state %llu)", kernels->name, uc_ops[op].name,
          (unsigned long long)seed);
    buffer_free(&into);
    buffer_free(&from);
    buffer_free(&before);
}

/* One window of a row, folded. */
static struct expected expect_window(const struct context *at, uc_op op, const struct test_rows *in,
                                     size_t channel, size_t row, size_t column) {
    const size_t *window = at->finish->stage->window;
    const size_t first = column * window[2];
    long double folded = 0, magnitude = 0;
    for (size_t k = 0; k < window[2]; k++) {
        const long double x =
            real_get(at->kernels, in->before.data, rows_lane(&in->rows, channel, row, first + k));
        folded = k ? twins[op].window(folded, x) : x;
        magnitude += fabsl(x);
    }
    struct expected result = within(at, twins[op].last(window, folded), 4);
    result.allowed += (long double)window[2] * at->unit * twins[op].last(window, magnitude);
    return result;
}

static void check_fold(const uc_kernels *kernels, struct rng *rng, uc_op op, enum values values) {
    const uint64_t seed = rng->state;
    uc_stage stage = draw_stage(rng, op, values);
    const size_t phases = 1 + rng_below(rng, 3), columns = table_lanes(kernels, rng);
    if (rng_below(rng, 3) == 0) /* the phases of a lane are a window, or half of one */
        stage.window[2] = phases * (1 + rng_below(rng, 2));
    const uc_rows shape = rows_shape(kernels, rng, phases, columns * stage.window[2]);
    struct test_rows in = rows_new(kernels, rng, shape, values, largest_for(kernels, op));
    uc_rows out_shape = rows_shape(kernels, rng, 1, columns);
    out_shape.channels = shape.channels;
    out_shape.rows = shape.rows;
    out_shape.phase_step = out_shape.lanes = out_shape.width =
        table_round_up(kernels, (shape.rows - 1) * out_shape.pitch + columns);
    struct test_rows out = rows_new(kernels, rng, out_shape, VALUES_NORMAL, 1);
    const uc_finish finish = {.stage = &stage};
    kernels->fold[op](&finish, &in.rows, &out.rows);

    const struct context at = context_of(kernels, &finish);
    struct verdict verdict = {0};
    for (size_t c = 0; c < shape.channels; c++)
        for (size_t r = 0; r < shape.rows; r++)
            for (size_t i = 0; i < columns; i++)
                judge(kernels, expect_window(&at, op, &in, c, r, i),
                      real_get(kernels, out.reals.data, rows_lane(&out_shape, c, r, i)), &verdict);
    check_verdict(&out, "fold", op, &verdict, seed);
    CHECK(buffer_intact(&in.reals), "%s: fold %s: written outside its input (state %llu)",
          kernels->name, uc_ops[op].name, (unsigned long long)seed);
    rows_free(&in);
    rows_free(&out);
}

/* Windows of two columns straight from elements: as merged and folded. */
static void check_gather(const uc_kernels *kernels, struct rng *rng, uc_op op, enum values values) {
    const uint64_t seed = rng->state;
    const uc_dtype real = table_real(kernels),
                   dtype = real == UC_F64
                               ? real
                               : (uc_dtype[]){UC_F32, UC_F16, UC_BF16}[rng_below(rng, 3)];
    uc_stage stage = draw_stage(rng, op, values);
    stage.window[2] = 2;
    const size_t columns = table_lanes(kernels, rng), bytes = uc_dtype_bytes(dtype),
                 row = 2 * columns + rng_below(rng, 5),
                 step[2] = {stage.window[1] * row + rng_below(rng, 9), row},
                 count =
                     (stage.window[0] - 1) * step[0] + (stage.window[1] - 1) * row + 2 * columns;
    struct buffer numbers = reals_new(kernels, count, GUARD_ALIGNED),
                  elements = buffer_new(count * bytes, bytes, random_guard(rng)),
                  to = reals_new(kernels, columns, random_guard(rng));
    reals_fill(kernels, &numbers, rng, values, 100);
    for (size_t i = 0; i < count; i++)
        element_set(dtype, elements.data, i, real_get(kernels, numbers.data, i));
    kernels->gather[op](&(uc_finish){.stage = &stage}, dtype, elements.data, step, to.data,
                        columns);
    struct verdict verdict = {0};
    for (size_t o = 0; o < columns; o++) {
        long double folded = 0, magnitude = 0;
        for (size_t d = 0; d < stage.window[0]; d++)
            for (size_t h = 0; h < stage.window[1]; h++)
                for (size_t k = 0; k < 2; k++) {
                    const long double x =
                        element_get(dtype, elements.data, d * step[0] + h * step[1] + 2 * o + k);
                    folded = d + h + k ? twins[op].window(folded, x) : x;
                    magnitude += fabsl(x);
                }
        judge(kernels,
              (struct expected){twins[op].last(stage.window, folded),
                                op == UC_OP_avgpool ? 64 * table_unit(kernels) * magnitude : 0},
              real_get(kernels, to.data, o), &verdict);
    }
    CHECK(verdict.wrong == 0 && buffer_intact(&to),
          "%s: gather %s %s: %zu wrong; the first: expected %.17Lg, got %.17g (state %llu)",
          kernels->name, uc_ops[op].name, uc_dtype_name(dtype), verdict.wrong, verdict.expected,
          verdict.got, (unsigned long long)seed);
    buffer_free(&numbers);
    buffer_free(&elements);
    buffer_free(&to);
}

/* ---- Ops that need everything: two runs of rows, measured apart, finished together ---- */

enum { RUNS = 2 };

static size_t elems_of(const uc_rows *rows) {
    return rows->rows * rows->columns;
}

static size_t gather(const struct test_rows *rows, size_t channel, long double *values) {
    size_t count = 0;
    for (size_t r = 0; r < rows->rows.rows; r++)
        for (size_t i = 0; i < rows->rows.columns; i++)
            values[count++] =
                real_get(rows->kernels, rows->before.data, rows_lane(&rows->rows, channel, r, i));
    return count;
}

/* What a softmax must know of some values: the largest, and the sum of exponentials below it. */
static uc_summary summary_of(const long double *values, size_t count) {
    long double largest = -(long double)INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = values[i] > largest || isnan(values[i]) ? values[i] : largest;
    for (size_t i = 0; i < count; i++)
        sum += expl(values[i] - largest);
    return (uc_summary){(double)largest, (double)sum};
}

/* With a NaN among them the sum is NaN, and the largest value NaN or one that counts: rows that
 * have nothing but -inf are left out later, and the NaN must not go with them. */
static bool is_summary(const uc_kernels *kernels, uc_summary expected, uc_summary got,
                       size_t count) {
    if (isnan(expected.largest))
        return isnan(got.largest) || (isnan(got.sum) && got.largest > -(double)INFINITY);
    if (isinf(expected.largest))
        return got.largest == expected.largest && isnan(got.sum);
    const double units = 8 + (double)count / 16;
    return got.largest == expected.largest &&
           fabs(got.sum - expected.sum) <= units * table_unit(kernels) * expected.sum;
}

/* Whole runs of one odd value: -inf, beside which another run counts; -inf and a NaN; all equal. */
static void spoil_run(struct test_rows *run, struct rng *rng) {
    const size_t kind = rng_below(rng, 6);
    if (kind > 2)
        return;
    for (size_t c = 0; c < run->rows.channels; c++)
        for (size_t r = 0; r < run->rows.rows; r++)
            for (size_t i = 0; i < run->rows.columns; i++)
                real_set(run->kernels, run->reals.data, rows_lane(&run->rows, c, r, i),
                         kind == 2 ? 3 : -(double)INFINITY);
    if (kind == 1)
        real_set(run->kernels, run->reals.data,
                 rows_lane(&run->rows, rng_below(rng, run->rows.channels),
                           rng_below(rng, run->rows.rows), rng_below(rng, run->rows.columns)),
                 (double)NAN);
    memcpy(run->before.data, run->reals.data, run->reals.bytes);
}

/* Compares a finished run with the results of all runs, of which it has those from `first` on. */
static void judge_run(const struct test_rows *run, size_t channel, const struct expected *results,
                      struct verdict *verdict) {
    size_t next = 0;
    for (size_t r = 0; r < run->rows.rows; r++)
        for (size_t i = 0; i < run->rows.columns; i++)
            judge(run->kernels, results[next++],
                  real_get(run->kernels, run->reals.data, rows_lane(&run->rows, channel, r, i)),
                  verdict);
}

static void check_everything(const uc_kernels *kernels, struct rng *rng, uc_op op,
                             enum values values) {
    const uint64_t seed = rng->state;
    const double largest = table_largest(kernels) * 0.25; /* differences stay finite */
    const uc_stage stage = draw_stage(rng, op, values);
    const size_t first_channel = rng_below(rng, 3), columns = table_lanes(kernels, rng);
    const size_t phases = 1 + rng_below(rng, 3);
    uc_rows shape = rows_shape(kernels, rng, phases, columns);
    struct test_rows run[RUNS];
    const size_t channels = shape.channels, each = elems_of(&shape), count = RUNS * each;
    struct buffer measured[RUNS];
    /* A multiplication that follows may come along: by numbers, none of them infinite, because an
     * exponential that is nearly 0 in the twin is 0 in the type. */
    struct buffer times = reals_new(kernels, first_channel + channels, random_guard(rng));
    reals_fill(kernels, &times, rng, VALUES_NORMAL, 1);
    if (values == VALUES_ODD)
        real_set(kernels, times.data, first_channel + rng_below(rng, channels), (double)NAN);
    const bool multiplies = rng_below(rng, 2);
    uc_summary *all = check_alloc((first_channel + channels) * sizeof *all);
    long double *x = check_alloc(count * sizeof *x);
    struct expected *results = check_alloc(count * sizeof *results);

    for (size_t i = 0; i < RUNS; i++) {
        run[i] = rows_new(kernels, rng, shape, values, largest);
        spoil_run(&run[i], rng);
        measured[i] = buffer_new(channels * sizeof(uc_summary), sizeof(double), random_guard(rng));
        kernels->measure[op](&run[i].rows, NULL, measured[i].data);
        CHECK(buffer_intact(&measured[i]), "%s: measure %s: written outside (state %llu)",
              kernels->name, uc_ops[op].name, (unsigned long long)seed);
        for (size_t c = 0; c < channels; c++) {
            const uc_summary got = ((const uc_summary *)measured[i].data)[c],
                             expected = summary_of(x, gather(&run[i], c, x));
            CHECK(is_summary(kernels, expected, got, each),
                  "%s: measure %s: largest %.17g, sum %.17g, not %.17g and %.17g (%zu rows of %zu, "
                  "%zu phases, state %llu)",
                  kernels->name, uc_ops[op].name, got.largest, got.sum, expected.largest,
                  expected.sum, shape.rows, columns, shape.phases, (unsigned long long)seed);
        }
    }
    for (size_t c = 0; c < channels; c++) {
        gather(&run[0], c, x);
        gather(&run[1], c, x + each);
        all[first_channel + c] = summary_of(x, count);
    }

    /* First from the rows as they were measured, then from the same rows made again. */
    for (int kept = 1; kept >= 0; kept--) {
        struct verdict verdict = {0};
        for (size_t i = 0; i < RUNS; i++) {
            const uc_finish finish = {.stage = &stage,
                                      .summaries = all,
                                      .measured = kept ? measured[i].data : NULL,
                                      .per_channel = multiplies ? times.data : NULL,
                                      .first_channel = first_channel};
            if (!kept)
                memcpy(run[i].reals.data, run[i].before.data, run[i].reals.bytes);
            finish_in_strips(kernels, rng, &finish, &run[i]);
        }
        for (size_t c = 0; c < channels; c++) {
            const struct context at = context_of(kernels, NULL);
            gather(&run[0], c, x);
            gather(&run[1], c, x + each);
            twins[op].everything(&at, x, count, results);
            const long double factor =
                multiplies ? real_get(kernels, times.data, first_channel + c) : 1;
            for (size_t i = 0; i < count; i++) {
                results[i].value *= factor;
                results[i].allowed = results[i].allowed * fabsl(factor) + 2 * at.smallest;
            }
            for (size_t i = 0; i < RUNS; i++)
                judge_run(&run[i], c, results + i * each, &verdict);
        }
        check_verdict(&run[0], kept ? "finish measured" : "finish", op, &verdict, seed);
        CHECK(buffer_intact(&run[1].reals), "%s: %s: written outside (state %llu)", kernels->name,
              uc_ops[op].name, (unsigned long long)seed);
    }
    for (size_t i = 0; i < RUNS; i++) {
        rows_free(&run[i]);
        buffer_free(&measured[i]);
    }
    buffer_free(&times);
    free(all);
    free(x);
    free(results);
}

static void check_table(const uc_kernels *kernels) {
    struct rng rng = {4};
    for (int i = 0; i < UC_OP_COUNT; i++) {
        const uc_op op = (uc_op)i;
        const uc_needs needs = uc_ops[op].needs;
        const bool finishes = needs != UC_NEEDS_TAPS && needs != UC_NEEDS_WINDOW;
        CHECK(!kernels->finish[op] == !finishes && !kernels->merge[op] == !twins[op].window &&
                  !kernels->fold[op] == !twins[op].window &&
                  !kernels->gather[op] == !twins[op].window &&
                  !kernels->measure[op] == !twins[op].everything,
              "%s: %s lacks a function, or has one too many", kernels->name, uc_ops[op].name);
        for (size_t n = 0; n < cases; n++) {
            const enum values values = (enum values)(n % VALUES_COUNT);
            if (twins[op].element || twins[op].channel)
                check_finish(kernels, &rng, op, values);
            if (op == UC_OP_layernorm_channel || op == UC_OP_softmax_channel)
                check_taken_along(kernels, &rng, op);
            if (twins[op].window) {
                check_merge(kernels, &rng, op, values);
                check_fold(kernels, &rng, op, values);
                check_gather(kernels, &rng, op, values);
            }
            if (twins[op].everything)
                check_everything(kernels, &rng, op, values);
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 1)
        cases = strtoull(argv[1], NULL, 10);
    table_each(check_table);
    return check_done();
}
