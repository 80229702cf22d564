/* The parts of the Winograd convolution: one dimension's transforms against the sum over its taps,
 * and the kernels of every table against plain twins, around the edges of vectors, panels and parts
 * of sums, in guarded and misaligned buffers. Run by CTest; `check_points N` takes N random cases
 * of each kernel. check_winograd.c has whole chains. */
#include "table.h"
#include "toom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t cases = 300;

/* What toom.h and kernels.h say of points, once more: the number that product p of a kind is
 * multiplied by for output j. */
static double factor_of(uc_points kind, size_t outputs, size_t p, size_t j) {
    static const double inf = (double)INFINITY;
    const double points[][5] = {
        [UC_POINTS_3] = {1, -1, inf},
        [UC_POINTS_3_WITH_0] = {0, 1, inf},
        [UC_POINTS_4] = {0, 1, -1, inf},
        [UC_POINTS_5] = {0, 0.75, -0.75, 2.5, -2.5},
        [UC_POINTS_5_WITHOUT_0] = {0.75, -0.75, 2.5, -2.5},
    };
    if (kind == UC_POINTS_PLAIN)
        return p == j;
    const double point = points[kind][p];
    if (isinf(point))
        return j == outputs - 1;
    double power = 1;
    for (size_t i = 0; i < j; i++)
        power *= point;
    return power;
}

static size_t point_count(uc_points kind, size_t outputs) {
    static const size_t counts[] = {[UC_POINTS_3] = 3,
                                    [UC_POINTS_3_WITH_0] = 3,
                                    [UC_POINTS_4] = 4,
                                    [UC_POINTS_5] = 5,
                                    [UC_POINTS_5_WITHOUT_0] = 4};
    return kind == UC_POINTS_PLAIN ? outputs : counts[kind];
}

/* ---- One dimension ---- */

struct dimension {
    uc_axis axis;
    uc_toom toom;
    char *label;
    double window[32], taps[8], row[UC_TOOM_ROWS];
};

static double terms_of(const uc_terms *terms, const double *values) {
    double sum = 0;
    for (size_t i = 0; i < terms->count; i++)
        sum += terms->factor[i] * values[terms->index[i]];
    return sum;
}

/* Output o of the first tile as the definition has it; *magnitude: of all products. False where it
 * reads an input that is not in the window. */
static bool direct_output(const struct dimension *d, size_t o, double *sum, double *magnitude) {
    const ptrdiff_t stride = (ptrdiff_t)d->axis.stride, kernel = (ptrdiff_t)d->axis.kernel;
    bool inside = true;
    *sum = *magnitude = 0;
    for (ptrdiff_t i = -20; i < 40; i++) {
        const ptrdiff_t tap = (ptrdiff_t)(o + d->axis.padding) - i * stride;
        if (tap < 0 || tap >= kernel)
            continue;
        const ptrdiff_t at = i - d->toom.first;
        if (at < 0 || at >= (ptrdiff_t)d->toom.window) {
            inside = false;
            continue;
        }
        *sum += d->window[at] * d->taps[tap];
        *magnitude += fabs(d->window[at] * d->taps[tap]);
    }
    return inside;
}

/* The same through rows, points and products. */
static double output_by_points(const struct dimension *d, size_t e, size_t j) {
    const uc_toom_phase *phase = &d->toom.phase[e];
    double products[UC_TOOM_POINTS] = {0};
    for (size_t p = 0; p < phase->points; p++)
        for (size_t s = 0; s < phase->segments; s++) {
            double weight = 0;
            for (size_t t = 0; t < phase->taps; t++)
                weight += phase->weight[p][s][t] *
                          d->taps[(e + d->axis.padding) % d->axis.stride + t * d->axis.stride];
            products[p] += weight * d->row[phase->row[phase->read[p][s]]];
        }
    return terms_of(&phase->output[j], products);
}

/* The kernels know the outputs by the points' kind alone: it must mean the same. */
static void check_kind(const struct dimension *d, const uc_toom_phase *phase) {
    bool alike = phase->points == point_count(phase->kind, d->toom.outputs);
    for (size_t j = 0; j < d->toom.outputs; j++) {
        double factor[UC_TOOM_POINTS] = {0};
        for (size_t i = 0; i < phase->output[j].count; i++)
            factor[phase->output[j].index[i]] = phase->output[j].factor[i];
        for (size_t p = 0; p < phase->points; p++)
            alike = alike && factor[p] == factor_of(phase->kind, d->toom.outputs, p, j);
    }
    CHECK(alike, "%s: its kind of points is not what it computes with", d->label);
}

/* A row is there once, and somebody reads it. */
static void check_rows(const struct dimension *d) {
    bool read[UC_TOOM_ROWS] = {false};
    for (size_t e = 0; e < d->toom.stride; e++)
        for (size_t i = 0; i < d->toom.phase[e].rows; i++)
            read[d->toom.phase[e].row[i]] = true;
    for (size_t r = 0; r < d->toom.rows; r++) {
        CHECK(read[r], "%s: nobody reads row %zu", d->label, r);
        for (size_t other = 0; other < r; other++)
            CHECK(memcmp(&d->toom.row[r], &d->toom.row[other], sizeof *d->toom.row) != 0,
                  "%s: rows %zu and %zu are the same", d->label, other, r);
    }
}

static bool check_dimension(size_t kernel, size_t stride, size_t padding, size_t outputs,
                            struct rng *rng) {
    struct dimension d = {.axis = {.in = 100,
                                   .kernel = kernel,
                                   .stride = stride,
                                   .padding = padding,
                                   .whole = kernel / stride,
                                   .rest = kernel % stride}};
    const char *reason = uc_toom_plan(&d.axis, outputs, &d.toom);
    if (reason) {
        CHECK(strlen(reason) > 10, "no reason");
        return false;
    }
    d.label = check_text("kernel %zu stride %zu padding %zu, %zu outputs", kernel, stride, padding,
                         outputs);
    CHECK(d.toom.window <= sizeof d.window / sizeof *d.window && d.toom.rows <= UC_TOOM_ROWS,
          "%s: a window of %zu, %zu rows", d.label, d.toom.window, d.toom.rows);
    for (size_t i = 0; i < d.toom.window; i++)
        d.window[i] = rng_normal(rng);
    for (size_t i = 0; i < kernel; i++)
        d.taps[i] = rng_normal(rng);
    for (size_t r = 0; r < d.toom.rows; r++)
        d.row[r] = terms_of(&d.toom.row[r], d.window);
    for (size_t e = 0; e < stride; e++) {
        check_kind(&d, &d.toom.phase[e]);
        for (size_t j = 0; j < outputs; j++) {
            double expected, magnitude;
            const bool inside = direct_output(&d, e + j * stride, &expected, &magnitude);
            const double got = output_by_points(&d, e, j);
            CHECK(inside, "%s: output %zu reads past the window", d.label, e + j * stride);
            CHECK(fabs(got - expected) <= 1e-12 * (magnitude + 1),
                  "%s: output %zu is %.17g, not %.17g", d.label, e + j * stride, got, expected);
        }
    }
    check_rows(&d);
    CHECK(d.toom.error > 0 && isfinite(d.toom.error), "%s: error %g", d.label, d.toom.error);
    CHECK(d.toom.gain >= 1 && isfinite(d.toom.gain), "%s: gain %g", d.label, d.toom.gain);
    if (outputs == 1)
        CHECK(fabs(d.toom.error - 1) < 1e-12, "%s: tap by tap the error is %g, not 1", d.label,
              d.toom.error);
    free(d.label);
    return true;
}

static void check_dimensions(void) {
    struct rng rng = {1};
    size_t accepted = 0;
    for (size_t kernel = 1; kernel <= 8; kernel++)
        for (size_t stride = 1; stride <= 4; stride++)
            for (size_t padding = 0; padding <= 4; padding++)
                for (size_t outputs = 1; outputs <= UC_TOOM_OUTPUTS; outputs++)
                    accepted += check_dimension(kernel, stride, padding, outputs, &rng);
    CHECK(accepted > 200, "%zu dimensions alone were planned", accepted);
}

/* Where neighbouring phases read the same sums, these are made once. */
static void check_sharing(void) {
    static const struct {
        size_t kernel, stride, padding, outputs, rows;
    } known[] = {
        {5, 2, 2, 3, 5}, /* 3 and 2 taps: the five points of the first serve both */
        {5, 2, 2, 1, 3}, /* inputs alone */
        {4, 2, 1, 2, 6}, /* windows one apart have no sum in common */
        {4, 2, 0, 2, 3}, /* the same window */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const uc_axis axis = {.in = 100,
                              .kernel = known[i].kernel,
                              .stride = known[i].stride,
                              .padding = known[i].padding,
                              .whole = known[i].kernel / known[i].stride,
                              .rest = known[i].kernel % known[i].stride};
        uc_toom toom;
        const char *reason = uc_toom_plan(&axis, known[i].outputs, &toom);
        CHECK(!reason && toom.rows == known[i].rows, "kernel %zu stride %zu padding %zu: %zu rows",
              axis.kernel, axis.stride, axis.padding, toom.rows);
    }
}

/* ---- Kernels ---- */

/* Sums of n numbers may lose n units of all of them together; sums of whole numbers are exact. */
static struct expected sum_of(const uc_kernels *kernels, long double sum, long double magnitude,
                              size_t count, bool exact) {
    const long double each = magnitude * table_unit(kernels) + table_smallest(kernels);
    return (struct expected){sum, exact ? 0 : (long double)(count + 1) * each};
}

static double values_largest(const uc_kernels *kernels) {
    return table_largest(kernels) * 0x1p-20; /* sums stay finite */
}

/* Reals of `count` runs of `each`, `step` apart, that are not what they were. */
static size_t changed_between(const uc_kernels *kernels, const struct buffer *now,
                              const struct buffer *before, size_t count, size_t each, size_t step) {
    size_t changed = 0;
    for (size_t o = 0; o + 1 < count; o++)
        changed += memcmp((char *)now->data + (o * step + each) * kernels->real_bytes,
                          (char *)before->data + (o * step + each) * kernels->real_bytes,
                          (step - each) * kernels->real_bytes) != 0;
    return changed;
}

static void check_combine(const uc_kernels *kernels, struct rng *rng, size_t terms, size_t lanes,
                          enum values values) {
    const size_t width = table_round_up(kernels, lanes);
    uc_combine sum = {.terms = terms,
                      .count = 1 + rng_below(rng, 4),
                      .in_step = width + rng_below(rng, 5),
                      .out_step = width + rng_below(rng, 5),
                      .lanes = lanes};
    const size_t in_elems = (sum.count - 1) * sum.in_step + width,
                 out_elems = (sum.count - 1) * sum.out_step + width;
    struct buffer in[UC_COMBINE_TERMS], out = reals_new(kernels, out_elems, random_guard(rng)),
                                        before = reals_new(kernels, out_elems, GUARD_ALIGNED);
    for (size_t t = 0; t < terms; t++) {
        in[t] = reals_new(kernels, in_elems, random_guard(rng));
        reals_fill(kernels, &in[t], rng, values, values_largest(kernels));
        sum.in[t] = in[t].data;
        /* Factors are sums of products of points: few bits, all exact in float. */
        sum.factor[t] = (double)(1 + rng_below(rng, 8)) * (rng_below(rng, 2) ? -1 : 1) *
                        (values == VALUES_INTEGER ? 1 : 0.5625);
    }
    sum.out = out.data;
    reals_fill(kernels, &out, rng, VALUES_NORMAL, 1);
    memcpy(before.data, out.data, out.bytes);
    kernels->combine(&sum);

    size_t wrong = 0;
    for (size_t o = 0; o < sum.count; o++)
        for (size_t i = 0; i < lanes; i++) {
            long double value = 0, magnitude = 0;
            for (size_t t = 0; t < terms; t++) {
                const long double term =
                    sum.factor[t] * (long double)real_get(kernels, in[t].data, o * sum.in_step + i);
                value += term;
                magnitude += fabsl(term);
            }
            wrong += !real_close(kernels,
                                 sum_of(kernels, value, magnitude, terms, values == VALUES_INTEGER),
                                 real_get(kernels, out.data, o * sum.out_step + i));
        }
    CHECK(wrong == 0, "%s: combine %zu terms, %zu x %zu lanes: %zu wrong", kernels->name, terms,
          sum.count, lanes, wrong);
    bool intact = buffer_intact(&out);
    for (size_t t = 0; t < terms; t++)
        intact = intact && buffer_intact(&in[t]);
    CHECK(intact && !changed_between(kernels, &out, &before, sum.count, width, sum.out_step),
          "%s: combine %zu terms, %zu x %zu lanes: written outside", kernels->name, terms,
          sum.count, lanes);
    for (size_t t = 0; t < terms; t++)
        buffer_free(&in[t]);
    buffer_free(&out);
    buffer_free(&before);
}

/* What a dimension of a run can be. */
struct dimension_kind {
    uc_points points;
    size_t outputs;
};
static const struct dimension_kind kinds[] = {
    {UC_POINTS_PLAIN, 1},       {UC_POINTS_PLAIN, 2},       {UC_POINTS_PLAIN, 3},
    {UC_POINTS_3, 2},           {UC_POINTS_3_WITH_0, 2},    {UC_POINTS_4, 2},
    {UC_POINTS_4, 3},           {UC_POINTS_5, 2},           {UC_POINTS_5, 3},
    {UC_POINTS_5_WITHOUT_0, 2}, {UC_POINTS_5_WITHOUT_0, 3}, {UC_POINTS_PLAIN, 4},
    {UC_POINTS_5, 4},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* A number, and how large the terms are that it is the sum of. */
struct sum {
    long double value, magnitude;
};

/* The number of the weights of a point, among those there are: one for all points of a dimension
 * that is plain. */
static size_t plain_weights(const uc_toom_run *run, size_t point) {
    size_t at[UC_SPACE], number = 0;
    for (size_t d = UC_SPACE; d-- > 0; point /= run->points[d])
        at[d] = point % run->points[d];
    for (size_t d = 0; d < UC_SPACE; d++)
        if (run->kind[d] != UC_POINTS_PLAIN)
            number = number * run->points[d] + at[d];
    return number;
}

/* The products of a run: [point][row][lane]. */
static struct sum *plain_products(const uc_kernels *kernels, const uc_toom_run *run,
                                  size_t points) {
    struct sum *products = check_alloc(points * run->rows * run->lanes * sizeof *products),
               *to = products;
    const size_t pair = 2 * kernels->vector_lanes;
    for (size_t p = 0; p < points; p++)
        for (size_t c = 0; c < run->rows; c++)
            for (size_t i = 0; i < run->lanes; i++) {
                struct sum sum = {0, 0};
                for (size_t k = 0; k < run->segments * run->in_channels; k++) {
                    const size_t s = k / run->in_channels, ci = k % run->in_channels,
                                 weights = plain_weights(run, p) * run->segments + s;
                    const long double term =
                        (long double)real_get(kernels, run->u,
                                              (weights * run->in_channels + ci) * run->rows + c) *
                        real_get(kernels, run->v,
                                 i / pair * run->v_pair + run->read[p * run->segments + s] +
                                     ci * run->v_step + i % pair);
                    sum.value += term;
                    sum.magnitude += fabsl(term);
                }
                *to++ = sum;
            }
    return products;
}

/* What each product counts for an output. */
static void plain_factors(const uc_toom_run *run, const size_t output[UC_SPACE], double *factor) {
    size_t at[UC_SPACE];
    for (at[0] = 0; at[0] < run->points[0]; at[0]++)
        for (at[1] = 0; at[1] < run->points[1]; at[1]++)
            for (at[2] = 0; at[2] < run->points[2]; at[2]++) {
                *factor = 1;
                for (size_t d = 0; d < UC_SPACE; d++)
                    *factor *= factor_of(run->kind[d], run->outputs[d], at[d], output[d]);
                factor++;
            }
}

/* One run of the products at points, with outputs in a random order of their dimensions. */
static void check_toom(const uc_kernels *kernels, struct rng *rng,
                       const struct dimension_kind dimension[UC_SPACE], size_t rows, size_t vectors,
                       size_t segments, size_t in_channels, enum values values) {
    enum { INPUTS = 4, MOST_SEGMENTS = 4 };
    const size_t lanes = vectors * kernels->vector_lanes, pair = 2 * kernels->vector_lanes;
    size_t read[UC_TOOM_POINTS * UC_TOOM_POINTS * UC_TOOM_POINTS * MOST_SEGMENTS], points = 1;
    uc_toom_run run = {.segments = segments,
                       .in_channels = in_channels,
                       .part = rng_below(rng, 2) ? 16 : 32,
                       .read = read,
                       .v_step = pair + rng_below(rng, 5),
                       .rows = rows,
                       .lanes = lanes,
                       .out_channel = lanes + rng_below(rng, 5)};
    bool exact = values == VALUES_INTEGER;
    size_t outputs = 1, weights = 1, out_elems = rows * run.out_channel;
    for (size_t i = 0; i < UC_SPACE; i++) {
        const size_t d = (i + in_channels) % UC_SPACE; /* any may be the innermost */
        run.kind[d] = dimension[d].points;
        run.outputs[d] = dimension[d].outputs;
        run.points[d] = point_count(run.kind[d], run.outputs[d]);
        run.out_output[d] = out_elems + rng_below(rng, 3);
        out_elems = run.outputs[d] * run.out_output[d];
        points *= run.points[d];
        weights *= run.kind[d] == UC_POINTS_PLAIN ? 1 : run.points[d];
        outputs *= run.outputs[d];
        exact = exact && run.kind[d] <= UC_POINTS_4;
    }
    const size_t input = in_channels * run.v_step + rng_below(rng, 3);
    run.v_pair = INPUTS * input + rng_below(rng, 3);
    struct buffer v = reals_new(kernels,
                                (lanes - 1) / pair * run.v_pair + (INPUTS - 1) * input +
                                    (in_channels - 1) * run.v_step + (lanes - 1) % pair + 1,
                                random_guard(rng)),
                  u = reals_new(kernels, weights * segments * in_channels * rows,
                                random_guard(rng)),
                  bias = reals_new(kernels, rows, random_guard(rng)),
                  scratch = reals_new(
                      kernels, UC_TOOM_SCRATCH(rows, 2 * kernels->vector_lanes, run.outputs), 0),
                  out = reals_new(kernels, out_elems, random_guard(rng));
    reals_fill(kernels, &v, rng, values, values_largest(kernels) / 1000);
    reals_fill(kernels, &u, rng, values == VALUES_ODD ? VALUES_NORMAL : values, 1);
    reals_fill(kernels, &bias, rng, values == VALUES_ODD ? VALUES_NORMAL : values, 1);
    reals_fill(kernels, &scratch, rng, VALUES_ODD, 1); /* what was there does not count */
    for (size_t i = 0; i < points * segments; i++)
        read[i] = input * rng_below(rng, INPUTS);
    static const double untouched = 77.125; /* no result: those are whole or have more digits */
    for (size_t i = 0; i < out_elems; i++)
        real_set(kernels, out.data, i, untouched);
    run.v = v.data;
    run.u = u.data;
    run.bias = bias.data;
    run.scratch = scratch.data;
    run.out = out.data;
    kernels->toom(&run);

    struct sum *products = plain_products(kernels, &run, points);
    bool *written = check_alloc(out_elems * sizeof *written);
    memset(written, 0, out_elems * sizeof *written);
    size_t wrong = 0, outside = 0, at[UC_SPACE];
    for (at[0] = 0; at[0] < run.outputs[0]; at[0]++)
        for (at[1] = 0; at[1] < run.outputs[1]; at[1]++)
            for (at[2] = 0; at[2] < run.outputs[2]; at[2]++) {
                double factor[UC_TOOM_POINTS * UC_TOOM_POINTS * UC_TOOM_POINTS];
                plain_factors(&run, at, factor);
                for (size_t element = 0; element < rows * lanes; element++) {
                    const size_t c = element / lanes;
                    const double start = real_get(kernels, bias.data, c);
                    struct sum sum = {start, fabs(start)};
                    for (size_t p = 0; p < points; p++)
                        if (factor[p] != 0) {
                            const struct sum *product = &products[p * rows * lanes + element];
                            sum.value += factor[p] * product->value;
                            sum.magnitude += fabs(factor[p]) * product->magnitude;
                        }
                    size_t where = c * run.out_channel + element % lanes;
                    for (size_t d = 0; d < UC_SPACE; d++)
                        where += at[d] * run.out_output[d];
                    written[where] = true;
                    wrong += !real_close(kernels,
                                         sum_of(kernels, sum.value, sum.magnitude,
                                                points + segments * in_channels, exact),
                                         real_get(kernels, out.data, where));
                }
            }
    for (size_t i = 0; i < out_elems; i++)
        outside += !written[i] && real_get(kernels, out.data, i) != untouched;
    char *label = check_text("%s: kinds %d %d %d to %zu x %zu x %zu outputs, %zu segments, %zu "
                             "channels to %zu, %zu lanes",
                             kernels->name, (int)run.kind[0], (int)run.kind[1], (int)run.kind[2],
                             run.outputs[0], run.outputs[1], run.outputs[2], segments, in_channels,
                             rows, lanes);
    CHECK(wrong == 0, "%s: %zu of %zu wrong", label, wrong, outputs * rows * lanes);
    CHECK(!outside && buffer_intact(&v) && buffer_intact(&u) && buffer_intact(&bias) &&
              buffer_intact(&scratch) && buffer_intact(&out),
          "%s: written outside", label);
    free(label);
    free(products);
    free(written);
    buffer_free(&v);
    buffer_free(&u);
    buffer_free(&bias);
    buffer_free(&scratch);
    buffer_free(&out);
}

/* planted: what one column has instead, if there is one at all. */
static void check_split(const uc_kernels *kernels, struct rng *rng, size_t count, size_t planes,
                        double planted) {
    const ptrdiff_t first = (ptrdiff_t)rng_below(rng, 9) - 4;
    /* Lanes up to the last column, and more. */
    const size_t reached = first < (ptrdiff_t)count ? (size_t)((ptrdiff_t)count - first) : 0,
                 plane_step = (reached + planes - 1) / planes + 1 + rng_below(rng, 20);
    struct buffer columns = reals_new(kernels, count, random_guard(rng)),
                  to = reals_new(kernels, planes * plane_step, random_guard(rng));
    reals_fill(kernels, &columns, rng, VALUES_NORMAL, 1);
    reals_fill(kernels, &to, rng, VALUES_ODD, 1);
    real_set(kernels, columns.data, rng_below(rng, count), planted);
    kernels->split(columns.data, count, first, planes, to.data, plane_step);

    size_t wrong = 0;
    for (size_t p = 0; p < planes; p++)
        for (size_t j = 0; j < plane_step; j++) {
            const ptrdiff_t column = first + (ptrdiff_t)(j * planes + p);
            const double got = real_get(kernels, to.data, p * plane_step + j),
                         expected = column >= 0 && column < (ptrdiff_t)count
                                        ? real_get(kernels, columns.data, (size_t)column)
                                        : 0;
            wrong += isnan(expected) ? !isnan(got) : got != expected;
        }
    CHECK(wrong == 0, "%s: split %zu columns from %td into %zu planes: %zu wrong", kernels->name,
          count, first, planes, wrong);
    CHECK(buffer_intact(&columns) && buffer_intact(&to),
          "%s: split %zu columns from %td into %zu planes: written outside", kernels->name, count,
          first, planes);
    buffer_free(&columns);
    buffer_free(&to);
}

/* The largest of every vector of columns in all channels; a NaN is larger than all. */
static void check_magnitudes(const uc_kernels *kernels, struct rng *rng, size_t columns,
                             double planted) {
    const size_t channels = 1 + rng_below(rng, 5), step = columns + rng_below(rng, 5),
                 vector = kernels->vector_lanes, cells = (columns - 1) / vector + 1;
    struct buffer from = reals_new(kernels, (channels - 1) * step + columns, random_guard(rng)),
                  to = reals_new(kernels, cells, random_guard(rng));
    reals_fill(kernels, &from, rng, VALUES_NORMAL, 1);
    real_set(kernels, from.data, rng_below(rng, channels) * step + rng_below(rng, columns),
             planted);
    kernels->magnitudes(from.data, step, channels, columns, to.data);

    for (size_t i = 0; i < cells; i++) {
        double expected = 0;
        for (size_t c = 0; c < channels; c++)
            for (size_t k = i * vector; k < (i + 1) * vector && k < columns; k++) {
                const double value = fabs(real_get(kernels, from.data, c * step + k));
                expected = isnan(value) || value > expected ? value : expected;
            }
        const double got = real_get(kernels, to.data, i);
        CHECK(isnan(expected) ? isnan(got) : got == expected,
              "%s: magnitudes of %zu channels, %zu columns with %g: cell %zu is %g, not %g",
              kernels->name, channels, columns, planted, i, got, expected);
    }
    CHECK(buffer_intact(&from) && buffer_intact(&to), "%s: magnitudes: written outside",
          kernels->name);
    buffer_free(&from);
    buffer_free(&to);
}

/* Weights: sums in double, and rounded once. */
static void check_weights(const uc_kernels *kernels, struct rng *rng, size_t terms, size_t count) {
    const size_t step = count + rng_below(rng, 3);
    struct buffer from = buffer_new(((terms - 1) * step + count) * sizeof(double), sizeof(double),
                                    random_guard(rng)),
                  to = buffer_new(count * sizeof(double), sizeof(double), random_guard(rng)),
                  reals = reals_new(kernels, count, random_guard(rng));
    double factor[8], *values = from.data;
    for (size_t i = 0; i < 8; i++)
        factor[i] = rng_normal(rng);
    for (size_t i = 0; i < (terms - 1) * step + count; i++)
        values[i] = rng_normal(rng);
    kernels->transform(factor, terms, from.data, step, to.data, count);
    kernels->transform_last(factor, terms, from.data, step, reals.data, count);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        long double value = 0, magnitude = 0;
        for (size_t t = 0; t < terms; t++) {
            const long double term = (long double)factor[t] * values[t * step + i];
            value += term;
            magnitude += fabsl(term);
        }
        const double got = ((const double *)to.data)[i];
        wrong += !(fabsl(got - value) <= magnitude * (double)(terms + 1) * 1.2e-16);
        wrong += real_get(kernels, reals.data, i) !=
                 (kernels->real_bytes == sizeof(float) ? (double)(float)got : got);
    }
    CHECK(wrong == 0, "%s: weights of %zu terms, %zu of them: %zu wrong", kernels->name, terms,
          count, wrong);
    CHECK(buffer_intact(&from) && buffer_intact(&to) && buffer_intact(&reals),
          "%s: weights of %zu terms, %zu of them: written outside", kernels->name, terms, count);
    buffer_free(&from);
    buffer_free(&to);
    buffer_free(&reals);
}

/* Weights of a panel's channels, tap by tap. */
static void check_by_tap(const uc_kernels *kernels, struct rng *rng, size_t channels, size_t taps) {
    const size_t step = channels + rng_below(rng, 3), last = (taps - 1) * step + channels;
    struct buffer from = reals_new(kernels, channels * taps, random_guard(rng)),
                  to = buffer_new(last * sizeof(double), sizeof(double), random_guard(rng));
    for (size_t i = 0; i < channels * taps; i++)
        real_set(kernels, from.data, i, rng_normal(rng));
    double *got = to.data;
    for (size_t i = 0; i < last; i++)
        got[i] = -1e300;
    kernels->by_tap(from.data, channels, taps, got, step);
    size_t wrong = 0;
    for (size_t i = 0; i < last; i++)
        wrong += got[i] != (i % step < channels
                                ? real_get(kernels, from.data, i % step * taps + i / step)
                                : -1e300);
    CHECK(wrong == 0, "%s: %zu taps of %zu channels: %zu wrong", kernels->name, taps, channels,
          wrong);
    CHECK(buffer_intact(&from) && buffer_intact(&to),
          "%s: %zu taps of %zu channels: written outside", kernels->name, taps, channels);
    buffer_free(&from);
    buffer_free(&to);
}

static void check_combines(const uc_kernels *kernels, struct rng *rng) {
    for (size_t terms = 0; terms <= UC_COMBINE_TERMS; terms++)
        for (size_t vectors = 1; vectors <= 5; vectors++)
            for (size_t off = 0; off < 3; off++) {
                const size_t lanes = vectors * kernels->vector_lanes + off - 1;
                check_combine(kernels, rng, terms, lanes ? lanes : 1, VALUES_INTEGER);
            }
    for (size_t i = 0; i < cases; i++)
        check_combine(kernels, rng, rng_below(rng, UC_COMBINE_TERMS + 1), table_lanes(kernels, rng),
                      (enum values)(i % VALUES_COUNT));
}

static void check_tooms(const uc_kernels *kernels, struct rng *rng) {
    /* Around the lengths at which sums are made of parts. */
    static const size_t in_channels[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 48, 300};
    const size_t choices = sizeof in_channels / sizeof *in_channels;
    for (size_t i = 0; i < KINDS * KINDS * KINDS; i++) /* every kind with every other one */
        check_toom(kernels, rng,
                   (struct dimension_kind[]){kinds[i % KINDS], kinds[i / KINDS % KINDS],
                                             kinds[i / KINDS / KINDS]},
                   1 + i % kernels->panel, 1 + i % 3, 1 + i % 2, 1 + i % 3,
                   (enum values)(i % VALUES_COUNT));
    for (size_t rows = 1; rows <= kernels->panel; rows++)
        for (size_t i = 0; i < choices; i++)
            check_toom(kernels, rng,
                       (struct dimension_kind[]){kinds[0], kinds[0], kinds[rng_below(rng, KINDS)]},
                       rows, 1 + rng_below(rng, 5), 1 + rng_below(rng, 4), in_channels[i],
                       (enum values)(i % VALUES_COUNT));
    for (size_t i = 0; i < cases / 4; i++)
        check_toom(kernels, rng,
                   (struct dimension_kind[]){kinds[rng_below(rng, KINDS)],
                                             kinds[rng_below(rng, KINDS)],
                                             kinds[rng_below(rng, KINDS)]},
                   1 + rng_below(rng, kernels->panel), 1 + rng_below(rng, 5), 1 + rng_below(rng, 3),
                   in_channels[rng_below(rng, choices - 1)], (enum values)(i % VALUES_COUNT));
}

static void check_splits(const uc_kernels *kernels, struct rng *rng) {
    static const double planted[] = {
        0, 8, -8, 8.5, -8.5, (double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t planes = 1; planes <= UC_TOOM_OUTPUTS; planes++)
        for (size_t count = 1; count < 6 * kernels->vector_lanes + 3; count++)
            for (size_t again = 0; again < 3; again++) {
                const double odd = planted[rng_below(rng, sizeof planted / sizeof *planted)];
                check_split(kernels, rng, count, planes, odd);
                check_magnitudes(kernels, rng, count, odd);
            }
}

static void check_table(const uc_kernels *kernels) {
    struct rng rng = {2};
    check_combines(kernels, &rng);
    check_tooms(kernels, &rng);
    for (size_t terms = 1; terms <= 8; terms++)
        for (size_t count = 1; count < 70; count += 1 + count / 5)
            check_weights(kernels, &rng, terms, count);
    for (size_t channels = 1; channels <= kernels->panel; channels++)
        for (size_t taps = 1; taps <= 28; taps++)
            check_by_tap(kernels, &rng, channels, taps);
    check_splits(kernels, &rng);
}

int main(int argc, char **argv) {
    if (argc > 1)
        cases = strtoull(argv[1], NULL, 10);
    check_dimensions();
    check_sharing();
    table_each(check_table);
    return check_done();
}
