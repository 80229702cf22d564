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
    static const size_t counts[] = {
        [UC_POINTS_3] = 3, [UC_POINTS_4] = 4, [UC_POINTS_5] = 5, [UC_POINTS_5_WITHOUT_0] = 4};
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

static void check_interpolate(const uc_kernels *kernels, struct rng *rng, uc_points points,
                              size_t outputs, size_t vectors, enum values values) {
    const size_t lanes = vectors * kernels->vector_lanes, count = 1 + rng_below(rng, 4),
                 from = point_count(points, outputs);
    uc_interpolate by = {.points = points,
                         .outputs = outputs,
                         .count = count,
                         .lanes = lanes,
                         .in_step = lanes + rng_below(rng, 5),
                         .out_step = lanes + rng_below(rng, 5)};
    by.in_point = count * by.in_step + rng_below(rng, 5);
    by.out_output = count * by.out_step + rng_below(rng, 5);
    const size_t in_elems = (from - 1) * by.in_point + (count - 1) * by.in_step + lanes,
                 out_elems = (outputs - 1) * by.out_output + (count - 1) * by.out_step + lanes;
    struct buffer in = reals_new(kernels, in_elems, random_guard(rng)),
                  out = reals_new(kernels, out_elems, random_guard(rng)),
                  bias = reals_new(kernels, count, random_guard(rng));
    reals_fill(kernels, &in, rng, values, values_largest(kernels));
    reals_fill(kernels, &bias, rng, values == VALUES_ODD ? VALUES_NORMAL : values, 1);
    by.in = in.data;
    by.out = out.data;
    by.bias = rng_below(rng, 3) ? bias.data : NULL;
    bool *written = check_alloc(out_elems * sizeof *written);
    memset(written, 0, out_elems * sizeof *written);
    static const double untouched = 77; /* no result: values are small or have fractions */
    for (size_t i = 0; i < out_elems; i++)
        real_set(kernels, out.data, i, untouched);
    kernels->interpolate(&by);

    /* Whole numbers stay whole at whole points. */
    const bool exact = values == VALUES_INTEGER && points <= UC_POINTS_4;
    size_t wrong = 0, outside = 0;
    for (size_t j = 0; j < outputs; j++)
        for (size_t o = 0; o < count; o++)
            for (size_t i = 0; i < lanes; i++) {
                long double value = by.bias ? real_get(kernels, bias.data, o) : 0,
                            magnitude = fabsl(value);
                for (size_t p = 0; p < from; p++) {
                    const double factor = factor_of(points, outputs, p, j);
                    const long double term =
                        factor == 0
                            ? 0
                            : factor * (long double)real_get(kernels, in.data,
                                                             p * by.in_point + o * by.in_step + i);
                    value += term;
                    magnitude += fabsl(term);
                }
                const size_t at = j * by.out_output + o * by.out_step + i;
                written[at] = true;
                wrong += !real_close(kernels, sum_of(kernels, value, magnitude, from + 1, exact),
                                     real_get(kernels, out.data, at));
            }
    for (size_t i = 0; i < out_elems; i++)
        outside += !written[i] && real_get(kernels, out.data, i) != untouched;
    CHECK(wrong == 0, "%s: interpolate kind %d to %zu outputs, %zu x %zu lanes: %zu wrong",
          kernels->name, (int)points, outputs, count, lanes, wrong);
    CHECK(!outside && buffer_intact(&in) && buffer_intact(&out) && buffer_intact(&bias),
          "%s: interpolate kind %d to %zu outputs, %zu x %zu lanes: written outside", kernels->name,
          (int)points, outputs, count, lanes);
    free(written);
    buffer_free(&in);
    buffer_free(&out);
    buffer_free(&bias);
}

static void check_multiply(const uc_kernels *kernels, struct rng *rng, size_t rows, size_t vectors,
                           size_t segments, size_t in_channels, enum values values) {
    enum { INPUTS = 4, MOST_POINTS = 5, MOST_SEGMENTS = 8 };
    const size_t lanes = vectors * kernels->vector_lanes, points = 1 + rng_below(rng, MOST_POINTS);
    size_t panel[MOST_POINTS * MOST_SEGMENTS];
    uc_multiply multiply = {.v_step = lanes + rng_below(rng, 5),
                            .panel = panel,
                            .points = points,
                            .segments = segments,
                            .in_channels = in_channels,
                            .rows = rows,
                            .lanes = lanes};
    const size_t input = in_channels * multiply.v_step + rng_below(rng, 3);
    struct buffer v = reals_new(kernels,
                                (INPUTS - 1) * input + (in_channels - 1) * multiply.v_step + lanes,
                                random_guard(rng)),
                  u = reals_new(kernels, points * segments * in_channels * rows, random_guard(rng)),
                  m = reals_new(kernels, points * rows * lanes, random_guard(rng));
    reals_fill(kernels, &v, rng, values, values_largest(kernels));
    reals_fill(kernels, &u, rng, values == VALUES_ODD ? VALUES_NORMAL : values, 1);
    reals_fill(kernels, &m, rng, VALUES_ODD, 1); /* what was there does not count */
    for (size_t i = 0; i < points * segments; i++)
        panel[i] = input * rng_below(rng, INPUTS);
    multiply.v = v.data;
    multiply.u = u.data;
    multiply.m = m.data;
    kernels->multiply(&multiply);

    size_t wrong = 0;
    for (size_t p = 0; p < points; p++)
        for (size_t c = 0; c < rows; c++)
            for (size_t i = 0; i < lanes; i++) {
                long double value = 0, magnitude = 0;
                for (size_t s = 0; s < segments; s++)
                    for (size_t ci = 0; ci < in_channels; ci++) {
                        const size_t product = ((p * segments + s) * in_channels + ci) * rows + c;
                        const long double term =
                            (long double)real_get(kernels, u.data, product) *
                            real_get(kernels, v.data,
                                     panel[p * segments + s] + ci * multiply.v_step + i);
                        value += term;
                        magnitude += fabsl(term);
                    }
                wrong += !real_close(kernels,
                                     sum_of(kernels, value, magnitude, segments * in_channels,
                                            values == VALUES_INTEGER),
                                     real_get(kernels, m.data, (p * rows + c) * lanes + i));
            }
    char *label = check_text("%s: multiply %zu points of %zu segments, %zu channels to %zu, %zu "
                             "lanes",
                             kernels->name, points, segments, in_channels, rows, lanes);
    CHECK(wrong == 0, "%s: %zu of %zu wrong", label, wrong, points * rows * lanes);
    CHECK(buffer_intact(&v) && buffer_intact(&u) && buffer_intact(&m), "%s: written outside",
          label);
    free(label);
    buffer_free(&v);
    buffer_free(&u);
    buffer_free(&m);
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

static void check_interpolates(const uc_kernels *kernels, struct rng *rng) {
    static const struct {
        uc_points points;
        size_t outputs;
    } kinds[] = {{UC_POINTS_PLAIN, 1},      {UC_POINTS_PLAIN, 2}, {UC_POINTS_PLAIN, 3},
                 {UC_POINTS_3, 2},          {UC_POINTS_4, 2},     {UC_POINTS_4, 3},
                 {UC_POINTS_5, 2},          {UC_POINTS_5, 3},     {UC_POINTS_5_WITHOUT_0, 2},
                 {UC_POINTS_5_WITHOUT_0, 3}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t vectors = 1; vectors <= 5; vectors++)
            for (size_t again = 0; again < 6; again++)
                check_interpolate(kernels, rng, kinds[i].points, kinds[i].outputs, vectors,
                                  (enum values)(again % VALUES_COUNT));
}

static void check_multiplies(const uc_kernels *kernels, struct rng *rng) {
    /* Around the lengths at which sums are made of parts. */
    static const size_t in_channels[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 48, 300};
    const size_t choices = sizeof in_channels / sizeof *in_channels;
    for (size_t rows = 1; rows <= kernels->panel; rows++)
        for (size_t vectors = 1; vectors <= 5; vectors++)
            for (size_t segments = 1; segments <= 4; segments++)
                check_multiply(kernels, rng, rows, vectors, segments,
                               in_channels[rng_below(rng, choices - 1)], VALUES_INTEGER);
    for (size_t i = 0; i < choices; i++)
        for (size_t segments = 1; segments <= 4; segments++)
            check_multiply(kernels, rng, kernels->panel, 1 + segments % 3, segments, in_channels[i],
                           (enum values)(segments % VALUES_COUNT));
    for (size_t i = 0; i < cases / 4; i++)
        check_multiply(kernels, rng, 1 + rng_below(rng, kernels->panel), 1 + rng_below(rng, 5),
                       1 + rng_below(rng, 8), in_channels[rng_below(rng, choices - 1)],
                       (enum values)(i % VALUES_COUNT));
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
    check_interpolates(kernels, &rng);
    check_multiplies(kernels, &rng);
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
