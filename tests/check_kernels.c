/* Loads, stores, the convolution and poured rows of every kernel table against plain twins, around
 * the edges of vectors, panels and tap ranges, in guarded and misaligned buffers. Run by CTest;
 * `check_kernels N` takes N random cases of each kind. check_ops.c has the other kernels. */
#include "element.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t cases = 400;

/* ---- Load and store ---- */

static size_t dtypes_of(const uc_kernels *kernels, uc_dtype dtypes[3]) {
    dtypes[0] = table_real(kernels);
    dtypes[1] = UC_F16;
    dtypes[2] = UC_BF16;
    return dtypes[0] == UC_F64 ? 1 : 3;
}

static bool same_value(double a, double b) {
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void check_load(const uc_kernels *kernels, uc_dtype dtype, size_t count, struct rng *rng) {
    const size_t bytes = uc_dtype_bytes(dtype);
    struct buffer elements = buffer_new(count * bytes, bytes, random_guard(rng));
    struct buffer reals = reals_new(kernels, count, random_guard(rng));
    if (bytes == 2)
        for (size_t i = 0; i < count; i++) /* every pattern, if there is room */
            ((uint16_t *)elements.data)[i] = (uint16_t)(count < 65536 ? rng_next(rng) : i);
    else
        reals_fill(kernels, &elements, rng, VALUES_ODD, table_largest(kernels));
    kernels->load(dtype, elements.data, reals.data, count);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong +=
            !same_value(element_get(dtype, elements.data, i), real_get(kernels, reals.data, i));
    CHECK(wrong == 0, "%s: load %zu %s: %zu wrong", kernels->name, count, uc_dtype_name(dtype),
          wrong);
    CHECK(buffer_intact(&reals) && buffer_intact(&elements), "%s: load %zu %s: written outside",
          kernels->name, count, uc_dtype_name(dtype));
    buffer_free(&elements);
    buffer_free(&reals);
}

static void check_store(const uc_kernels *kernels, uc_dtype dtype, size_t phases, size_t columns,
                        uc_stream stream, struct rng *rng) {
    const size_t bytes = uc_dtype_bytes(dtype), most = (columns - 1) / phases + 1;
    uc_rows rows = {.channels = 1 + rng_below(rng, 3),
                    .phases = phases,
                    .rows = 1 + rng_below(rng, 9),
                    .columns = columns};
    rows.pitch = most + rng_below(rng, 3);
    rows.sets = rng_below(rng, rows.rows + 1);
    rows.set_step = table_round_up(kernels, (rows.rows - 1) * rows.pitch + most);
    rows.phase_step = rows.sets ? rows.sets * rows.set_step : rows.set_step;
    rows.lanes = rows.width = phases * rows.phase_step;
    /* A multiple of the vector now and then, where streaming begins. */
    const bool whole = rng_below(rng, 2);
    const size_t row_step = whole ? table_round_up(kernels, columns) : columns + rng_below(rng, 3);
    const size_t channel_step = rows.rows * row_step + (whole ? 0 : rng_below(rng, 3));
    struct buffer reals = reals_new(kernels, rows.channels * rows.lanes, random_guard(rng)),
                  scales = reals_new(kernels, rows.channels, random_guard(rng));
    rows.reals = reals.data;
    reals_fill(kernels, &reals, rng, VALUES_ODD, table_largest(kernels));
    reals_fill(kernels, &scales, rng, VALUES_NORMAL, 1);
    const bool scaled = rng_below(rng, 2);
    const size_t count = (rows.channels - 1) * channel_step + (rows.rows - 1) * row_step + columns;
    struct buffer elements = buffer_new(count * bytes, bytes, random_guard(rng));
    memset(elements.data, 0x5A, elements.bytes);
    kernels->store(dtype, &rows, scaled ? scales.data : NULL, elements.data, channel_step, row_step,
                   stream);

    size_t wrong = 0, between = 0;
    for (size_t i = 0; i < count; i++) {
        const char *at = (const char *)elements.data + i * bytes;
        const size_t c = i / channel_step, r = i % channel_step / row_step,
                     column = i % channel_step % row_step;
        if (r >= rows.rows || column >= columns) {
            for (size_t b = 0; b < bytes; b++)
                between += at[b] != 0x5A;
            continue;
        }
        const size_t set = rows.sets ? r % rows.sets : 0, in_set = rows.sets ? r / rows.sets : r,
                     lane = c * rows.lanes + column % phases * rows.phase_step +
                            set * rows.set_step + in_set * rows.pitch + column / phases;
        double value = real_get(kernels, reals.data, lane);
        if (scaled) { /* in the real type */
            value *= real_get(kernels, scales.data, c);
            value = kernels->real_bytes == sizeof(float) ? (float)value : value;
        }
        wrong += !same_value(element_round(dtype, value), element_get(dtype, (const void *)at, 0));
    }
    CHECK(wrong == 0, "%s: store %zu x %zu %s in %zu phases%s: %zu wrong", kernels->name,
          rows.channels, columns, uc_dtype_name(dtype), phases, stream ? ", streamed" : "", wrong);
    CHECK(between == 0 && buffer_intact(&elements) && buffer_intact(&reals) &&
              buffer_intact(&scales),
          "%s: store %zu x %zu %s in %zu phases: written outside", kernels->name, rows.channels,
          columns, uc_dtype_name(dtype), phases);
    buffer_free(&elements);
    buffer_free(&reals);
    buffer_free(&scales);
}

static void check_loads_and_stores(const uc_kernels *kernels) {
    static const size_t counts[] = {1,  2,  3,  4,  7,  8,   9,   15,  16,   17,
                                    31, 32, 33, 63, 65, 127, 511, 513, 1025, 65536};
    struct rng rng = {1};
    uc_dtype dtypes[3];
    const size_t dtype_count = dtypes_of(kernels, dtypes);
    for (size_t d = 0; d < dtype_count; d++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int again = 0; again < 4; again++)
                check_load(kernels, dtypes[d], counts[i], &rng);
        for (size_t phases = 1; phases <= 13; phases++)
            for (size_t columns = phases; columns < 100; columns++)
                check_store(kernels, dtypes[d], phases, columns, (uc_stream)rng_below(&rng, 3),
                            &rng);
        for (size_t phases = 1; phases < 700; phases += 1 + phases / 2)
            for (size_t columns = 509; columns < 1100; columns += 129)
                check_store(kernels, dtypes[d], phases, columns, (uc_stream)rng_below(&rng, 3),
                            &rng);
    }
}

/* ---- Convolution ---- */

/* One call of the convolution: its buffers, and the weights as [c][td][th][ci][tw] doubles, which
 * is how the twin reads them. */
struct conv_case {
    const uc_kernels *kernels;
    uc_conv_run run;
    struct buffer x, weights, bias, y;
    double *plain;
    size_t channels; /* of the panel range */
    size_t first_channel, width;
    bool exact;
};

static size_t products_of(const uc_conv_run *run) {
    return run->taps[0] * run->taps[1] * run->taps[2] * run->in_channels;
}

/* pack.h says how: [panel][tap d][tap h][in channel][tap w][channel of the panel]. */
static void pack_weights(struct conv_case *c) {
    const size_t out = c->run.out_channels, products = products_of(&c->run);
    const uc_panels cut = uc_panels_of(out, c->kernels->panel);
    for (size_t p = 0; p < cut.count; p++) {
        const size_t begin = uc_panel_begin(cut, p), size = uc_panel_size(cut, p);
        for (size_t k = 0; k < size; k++)
            for (size_t i = 0; i < products; i++)
                real_set(c->kernels, c->weights.data, begin * products + i * size + k,
                         c->plain[(begin + k) * products + i]);
    }
}

/* A tap range inside [0, taps), sometimes empty. */
static void draw_range(struct rng *rng, size_t taps, size_t *first, size_t *end) {
    *first = rng_below(rng, 4) ? 0 : rng_below(rng, taps + 1);
    *end = rng_below(rng, 4) ? taps : *first + rng_below(rng, taps - *first + 1);
    if (*end < *first)
        *end = *first;
}

/* A case's sizes. Rows of the input lie either beside their channels or inside them, as plans have
 * it, and nothing overlaps, so that what must not be read can be poisoned. */
static void draw_run(struct conv_case *c, struct rng *rng, size_t out_channels, size_t lanes) {
    static const size_t in_channels[] = {1, 2, 3, 5, 8, 17, 33, 65};
    uc_conv_run *run = &c->run;
    run->out_channels = out_channels;
    run->lanes = lanes;
    run->in_channels = in_channels[rng_below(rng, rng_below(rng, 4) ? 5 : 8)];
    for (size_t i = 0; i < UC_SPACE; i++)
        run->taps[i] = 1 + rng_below(rng, i == 2 ? 5 : 3);
    for (size_t i = 0; i < 2; i++)
        draw_range(rng, run->taps[i], &run->first[i], &run->end[i]);
    run->cut = uc_panels_of(out_channels, c->kernels->panel);
    const size_t panels = run->cut.count;
    run->first_panel = rng_below(rng, 2) ? 0 : rng_below(rng, panels);
    run->panels = rng_below(rng, 2) ? panels - run->first_panel
                                    : 1 + rng_below(rng, panels - run->first_panel);
    c->first_channel = uc_panel_begin(run->cut, run->first_panel);
    c->channels = uc_panel_begin(run->cut, run->first_panel + run->panels) - c->first_channel;

    c->width = table_round_up(c->kernels, lanes);
    run->rows = 1 + rng_below(rng, 3) * rng_below(rng, 2);
    const size_t pitch = c->width + run->taps[2] - 1 + rng_below(rng, 3);
    if (rng_below(rng, 2)) {
        run->x_channel = pitch;
        run->x_row = run->in_channels * pitch;
    } else {
        run->x_row = pitch;
        run->x_channel = (run->taps[1] + run->rows - 1) * pitch;
    }
    run->x_depth = (run->taps[1] + run->rows - 1) * run->in_channels * pitch;
    /* Taps along the width read the same rows, or each a copy of them all. */
    run->x_tap = rng_below(rng, 3) ? 1 : run->taps[0] * run->x_depth;
    run->y_row = c->width + rng_below(rng, 2) * rng_below(rng, 9);
    run->y_channel = run->rows * run->y_row + rng_below(rng, 2) * rng_below(rng, 20);
    /* For the exact form: some columns at either side don't exist. */
    run->source = rng_below(rng, run->taps[2] + 2);
    const size_t reached = run->source + lanes;
    run->in_columns = 1 + rng_below(rng, reached + 2);
}

/* Where tap 0 of lane 0 of channel 0 is, counted from the first real that any tap may read. */
static size_t origin_of(const uc_conv_run *run) {
    const bool any = run->end[0] > run->first[0] && run->end[1] > run->first[1];
    return any ? (run->end[0] - 1) * run->x_depth + (run->end[1] - 1) * run->x_row +
                     (run->taps[2] - 1) * run->x_tap
               : 0;
}

static bool column_exists(const struct conv_case *c, size_t j, size_t t) {
    const size_t source = c->run.source + j;
    return !c->exact || (source >= t && source - t < c->run.in_columns);
}

static size_t input_at(const uc_conv_run *run, size_t row, size_t td, size_t th, size_t ci) {
    return origin_of(run) + ci * run->x_channel + row * run->x_row - td * run->x_depth -
           th * run->x_row;
}

/* What the exact form must not touch is NaN. */
static void poison_input(struct conv_case *c) {
    const uc_conv_run *run = &c->run;
    for (size_t td = run->first[0]; td < run->end[0]; td++)
        for (size_t th = run->first[1]; th < run->end[1]; th++)
            for (size_t ci = 0; ci < run->in_channels; ci++)
                for (size_t i = 0; i < run->rows * run->lanes; i++)
                    for (size_t t = 0; t < run->taps[2]; t++)
                        if (!column_exists(c, i % run->lanes, t))
                            real_set(c->kernels, c->x.data,
                                     input_at(run, i / run->lanes, td, th, ci) + i % run->lanes -
                                         t * run->x_tap,
                                     (double)NAN);
}

static struct conv_case conv_case_new(const uc_kernels *kernels, struct rng *rng,
                                      size_t out_channels, size_t lanes, enum values values,
                                      bool exact) {
    struct conv_case c = {.kernels = kernels, .exact = exact};
    uc_conv_run *run = &c.run;
    draw_run(&c, rng, out_channels, lanes);
    const double largest = table_largest(kernels) * 0x1p-20; /* sums stay finite */
    const size_t products = products_of(run);
    c.x = reals_new(kernels,
                    origin_of(run) + (run->in_channels - 1) * run->x_channel +
                        (run->rows - 1) * run->x_row + c.width,
                    random_guard(rng));
    c.weights = reals_new(kernels, products * out_channels, random_guard(rng));
    c.bias = reals_new(kernels, out_channels, random_guard(rng));
    c.y = reals_new(kernels,
                    (c.channels - 1) * run->y_channel + (run->rows - 1) * run->y_row + c.width,
                    random_guard(rng));
    reals_fill(kernels, &c.x, rng, values, largest);
    reals_fill(kernels, &c.bias, rng, values, largest);
    c.plain = check_alloc(products * out_channels * sizeof *c.plain);
    /* Weights that are not finite go the exact way. */
    reals_fill(kernels, &c.weights, rng, values == VALUES_ODD && !exact ? VALUES_NORMAL : values,
               2);
    for (size_t i = 0; i < products * out_channels; i++)
        c.plain[i] = real_get(kernels, c.weights.data, i);
    pack_weights(&c);
    if (exact)
        poison_input(&c);
    run->x = (const char *)c.x.data + origin_of(run) * kernels->real_bytes;
    run->weights = c.weights.data;
    run->bias = c.bias.data;
    run->y = c.y.data;
    return c;
}

static void conv_case_free(struct conv_case *c) {
    buffer_free(&c->x);
    buffer_free(&c->weights);
    buffer_free(&c->bias);
    buffer_free(&c->y);
    free(c->plain);
}

/* One output as kernels.h defines it. A sum of n products may lose n units of all of them together;
 * sums of integers are exact. */
static struct expected conv_twin(const struct conv_case *c, size_t channel, size_t row, size_t j,
                                 enum values values) {
    const uc_conv_run *run = &c->run;
    const double *w = c->plain + channel * products_of(run);
    long double sum = real_get(c->kernels, c->bias.data, channel), magnitude = fabsl(sum);
    size_t count = 1;
    for (size_t td = run->first[0]; td < run->end[0]; td++)
        for (size_t th = run->first[1]; th < run->end[1]; th++)
            for (size_t ci = 0; ci < run->in_channels; ci++)
                for (size_t t = 0; t < run->taps[2]; t++) {
                    if (!column_exists(c, j, t))
                        continue;
                    const long double x = real_get(
                        c->kernels, c->x.data, input_at(run, row, td, th, ci) + j - t * run->x_tap);
                    const long double product =
                        x *
                        w[((td * run->taps[1] + th) * run->in_channels + ci) * run->taps[2] + t];
                    sum += product;
                    magnitude += fabsl(product);
                    count++;
                }
    const long double each = magnitude * table_unit(c->kernels) + table_smallest(c->kernels);
    return (struct expected){sum, values == VALUES_INTEGER ? 0 : (long double)count * each};
}

static void check_conv(const uc_kernels *kernels, struct rng *rng, size_t out_channels,
                       size_t lanes, enum values values, bool exact) {
    const uint64_t seed = rng->state;
    struct conv_case c = conv_case_new(kernels, rng, out_channels, lanes, values, exact);
    const uc_conv_run *run = &c.run;
    struct buffer before = reals_new(kernels, c.y.bytes / kernels->real_bytes, GUARD_ALIGNED);
    memcpy(before.data, c.y.data, c.y.bytes);
    (exact ? kernels->conv_exact : kernels->conv)(run);

    size_t wrong = 0, outside = 0;
    for (size_t i = 0; i < c.channels * run->rows; i++) {
        const size_t k = i / run->rows, r = i % run->rows;
        const size_t at = k * run->y_channel + r * run->y_row;
        for (size_t j = 0; j < run->lanes; j++)
            wrong += !real_close(kernels, conv_twin(&c, c.first_channel + k, r, j, values),
                                 real_get(kernels, c.y.data, at + j));
        const size_t gap = (at + c.width) * kernels->real_bytes,
                     next = (r + 1 < run->rows ? at + run->y_row : (k + 1) * run->y_channel) *
                            kernels->real_bytes;
        if (i + 1 < c.channels * run->rows)
            outside += memcmp((char *)c.y.data + gap, (char *)before.data + gap, next - gap) != 0;
    }
    char *label =
        check_text("%s: %s, %zu to %zu channels, taps %zux%zux%zu, %zu rows of %zu lanes, "
                   "panels %zu+%zu, state %llu",
                   kernels->name, exact ? "conv_exact" : "conv", run->in_channels,
                   run->out_channels, run->taps[0], run->taps[1], run->taps[2], run->rows,
                   run->lanes, run->first_panel, run->panels, (unsigned long long)seed);
    CHECK(wrong == 0, "%s: %zu of %zu wrong", label, wrong, c.channels * run->rows * run->lanes);
    CHECK(outside == 0 && buffer_intact(&c.y), "%s: written outside", label);
    CHECK(buffer_intact(&c.x) && buffer_intact(&c.weights) && buffer_intact(&c.bias),
          "%s: an input changed", label);
    free(label);
    buffer_free(&before);
    conv_case_free(&c);
}

/* Every panel size at every edge once, then at random. */
static void check_convs(const uc_kernels *kernels) {
    static const size_t channels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 33};
    const size_t choices = sizeof channels / sizeof *channels;
    struct rng rng = {2};
    for (size_t i = 0; i < choices; i++)
        for (size_t vectors = 1; vectors <= 5; vectors++)
            for (size_t off = 0; off < 3; off++) {
                const size_t lanes = vectors * kernels->vector_lanes + off - 1;
                check_conv(kernels, &rng, channels[i], lanes, VALUES_INTEGER, false);
            }
    for (size_t i = 0; i < cases; i++)
        check_conv(kernels, &rng, channels[rng_below(&rng, choices)], table_lanes(kernels, &rng),
                   (enum values)(i % VALUES_COUNT), rng_below(&rng, 3) == 0);
}

/* ---- Poured rows ---- */

/* Draws the lines of rows: each has its own inputs and weights, and some of the weights alone have
 * products. Up to `reach` reals before and behind a line's x are read. */
static void draw_lines(struct rng *rng, const struct buffer *x, const struct buffer *weights,
                       size_t bytes, size_t reach, size_t lines, size_t channels,
                       uc_pour_line *line) {
    for (size_t i = 0; i < lines; i++) {
        line[i].per_channel = rng_below(rng, UC_FEW_PRODUCTS + 1);
        line[i].x = (char *)x->data + (reach + rng_below(rng, 5)) * bytes;
        const size_t spare = UC_FEW_PRODUCTS - line[i].per_channel;
        line[i].weights = (char *)weights->data + rng_below(rng, spare * channels + 1) * bytes;
        uc_products *list = &line[i].products;
        list->count = 0;
        for (size_t k = 0; k < line[i].per_channel; k++)
            if (rng_below(rng, 4)) {
                list->weight[list->count] = k;
                list->input[list->count++] = rng_below(rng, 2 * reach) - reach; /* may go round */
            }
    }
}

/* What a column should be. Whole numbers have exact sums. */
static double pour_twin(const uc_kernels *kernels, const uc_pour *pour, size_t c, size_t row,
                        size_t column) {
    const uc_pour_line *line = &pour->lines[row * pour->phases + column % pour->phases];
    const size_t panel = uc_panel_of(pour->cut, c), begin = uc_panel_begin(pour->cut, panel),
                 size = uc_panel_size(pour->cut, panel);
    double sum = real_get(kernels, pour->bias, c);
    for (size_t i = 0; i < line->products.count; i++)
        sum += real_get(kernels, line->weights,
                        begin * line->per_channel + line->products.weight[i] * size + c - begin) *
               real_get(kernels,
                        (const char *)line->x -
                            (ptrdiff_t)line->products.input[i] * (ptrdiff_t)kernels->real_bytes,
                        column / pour->phases);
    return sum;
}

static void check_pour(const uc_kernels *kernels, struct rng *rng, size_t phases, size_t columns) {
    const size_t bytes = kernels->real_bytes, channels = 1 + rng_below(rng, 3 * kernels->panel),
                 rows = 1 + rng_below(rng, 7), reach = 20,
                 lanes = table_round_up(kernels, (columns - 1) / phases + 1);
    struct buffer x = reals_new(kernels, 2 * reach + 5 + lanes, random_guard(rng)),
                  weights = reals_new(kernels, UC_FEW_PRODUCTS * channels, random_guard(rng)),
                  bias = reals_new(kernels, channels, random_guard(rng));
    reals_fill(kernels, &x, rng, VALUES_INTEGER, 1);
    reals_fill(kernels, &weights, rng, VALUES_INTEGER, 1);
    reals_fill(kernels, &bias, rng, VALUES_INTEGER, 1);
    uc_pour_line *lines = calloc(rows * phases, sizeof *lines);
    draw_lines(rng, &x, &weights, bytes, reach, rows * phases, channels, lines);
    const size_t channel_step = rows * columns + rng_below(rng, 40),
                 count = (channels - 1) * channel_step + rows * columns;
    struct buffer elements = reals_new(kernels, count, random_guard(rng));
    memset(elements.data, 0x5A, elements.bytes);
    const uc_panels cut = uc_panels_of(channels, kernels->panel);
    const size_t first_panel = rng_below(rng, cut.count);
    const uc_pour pour = {.lines = lines,
                          .rows = rows,
                          .phases = phases,
                          .columns = columns,
                          .bias = bias.data,
                          .cut = cut,
                          .first_panel = first_panel,
                          .panels = 1 + rng_below(rng, cut.count - first_panel),
                          .elements = elements.data,
                          .channel_step = channel_step};
    kernels->pour(&pour);
    kernels->end_stream();

    const size_t begin = uc_panel_begin(cut, first_panel),
                 end = uc_panel_begin(cut, first_panel + pour.panels);
    size_t wrong = 0, between = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t c = i / channel_step, in_channel = i % channel_step;
        const char *at = (const char *)elements.data + i * bytes;
        if (c >= begin && c < end && in_channel < rows * columns)
            wrong += real_get(kernels, elements.data, i) !=
                     pour_twin(kernels, &pour, c, in_channel / columns, in_channel % columns);
        else
            for (size_t b = 0; b < bytes; b++)
                between += at[b] != 0x5A;
    }
    CHECK(wrong == 0, "%s: pour %zu x %zu x %zu in %zu phases: %zu wrong", kernels->name, channels,
          rows, columns, phases, wrong);
    CHECK(between == 0 && buffer_intact(&elements) && buffer_intact(&x) &&
              buffer_intact(&weights) && buffer_intact(&bias),
          "%s: pour %zu x %zu x %zu in %zu phases: written outside", kernels->name, channels, rows,
          columns, phases);
    free(lines);
    buffer_free(&elements);
    buffer_free(&x);
    buffer_free(&weights);
    buffer_free(&bias);
}

/* Some inputs, each taken to an output of its own, in all channels of one or two vectors. Whole
 * numbers have exact sums. */
static void check_cast(const uc_kernels *kernels, struct rng *rng, size_t count, size_t vectors,
                       size_t in_channels) {
    const size_t lanes = vectors * kernels->vector_lanes, positions = count + 3,
                 x_channel = positions + rng_below(rng, 5), outputs = 2 * count;
    struct buffer x = reals_new(kernels, (in_channels - 1) * x_channel + positions,
                                random_guard(rng)),
                  weights = reals_new(kernels, in_channels * lanes, random_guard(rng)),
                  y = reals_new(kernels, outputs * lanes, random_guard(rng)),
                  before = reals_new(kernels, outputs * lanes, random_guard(rng));
    reals_fill(kernels, &x, rng, VALUES_INTEGER, 1);
    reals_fill(kernels, &weights, rng, VALUES_INTEGER, 1);
    reals_fill(kernels, &y, rng, VALUES_INTEGER, 1);
    memcpy(before.data, y.data, y.bytes);
    size_t *from = calloc(count, sizeof *from), *to = calloc(count, sizeof *to);
    for (size_t i = 0; i < count; i++) {
        from[i] = rng_below(rng, positions);
        to[i] = (2 * i + rng_below(rng, 2)) * lanes;
    }
    kernels->cast(&(uc_cast){.x = x.data,
                             .weights = weights.data,
                             .x_channel = x_channel,
                             .in_channels = in_channels,
                             .vectors = vectors,
                             .y = y.data,
                             .count = count,
                             .from = from,
                             .to = to});
    size_t wrong = 0;
    for (size_t i = 0; i < outputs * lanes; i++) {
        const size_t output = i / lanes, input = output / 2;
        double sum = real_get(kernels, before.data, i);
        for (size_t ci = 0; to[input] == output * lanes && ci < in_channels; ci++)
            sum += real_get(kernels, weights.data, ci * lanes + i % lanes) *
                   real_get(kernels, x.data, from[input] + ci * x_channel);
        wrong += real_get(kernels, y.data, i) != sum;
    }
    CHECK(wrong == 0, "%s: cast %zu x %zu of %zu channels: %zu wrong", kernels->name, count,
          vectors, in_channels, wrong);
    CHECK(buffer_intact(&x) && buffer_intact(&weights) && buffer_intact(&y),
          "%s: cast %zu x %zu of %zu channels: written outside", kernels->name, count, vectors,
          in_channels);
    free(from);
    free(to);
    buffer_free(&before);
    buffer_free(&y);
    buffer_free(&weights);
    buffer_free(&x);
}

static void check_turn(const uc_kernels *kernels, struct rng *rng, size_t channels, size_t count) {
    const size_t from_step = table_round_up(kernels, channels),
                 whole = table_round_up(kernels, count), to_step = whole + rng_below(rng, 3);
    struct buffer from = reals_new(kernels, whole * from_step, random_guard(rng)),
                  bias = reals_new(kernels, channels, random_guard(rng)),
                  to = reals_new(kernels, (channels - 1) * to_step + whole, random_guard(rng));
    reals_fill(kernels, &from, rng, VALUES_INTEGER, 1);
    reals_fill(kernels, &bias, rng, VALUES_INTEGER, 1);
    memset(to.data, 0x5A, to.bytes);
    kernels->turn(from.data, from_step, channels, count, bias.data, to.data, to_step);
    size_t wrong = 0;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < whole; i++)
            wrong +=
                real_get(kernels, to.data, c * to_step + i) !=
                real_get(kernels, from.data, i * from_step + c) + real_get(kernels, bias.data, c);
    CHECK(wrong == 0 && buffer_intact(&to) && buffer_intact(&from) && buffer_intact(&bias),
          "%s: turn %zu x %zu: %zu wrong", kernels->name, channels, count, wrong);
    buffer_free(&to);
    buffer_free(&bias);
    buffer_free(&from);
}

/* Every size of a group, sums of one part and of several; every rest of a vector. */
static void check_casts(const uc_kernels *kernels) {
    struct rng rng = {5};
    for (size_t vectors = 1; vectors <= 2; vectors++)
        for (size_t count = 1; count <= 3 * kernels->panel; count++) {
            check_cast(kernels, &rng, count, vectors, 1 + rng_below(&rng, 9));
            check_cast(kernels, &rng, count, vectors, UC_CHAIN_PRODUCTS - 1 + rng_below(&rng, 3));
        }
    check_cast(kernels, &rng, 7, 2, 2 * UC_CHAIN_PRODUCTS + 1);
    for (size_t channels = 1; channels <= 2 * kernels->vector_lanes; channels++)
        for (size_t count = 1; count <= 2 * kernels->vector_lanes + 1; count++)
            check_turn(kernels, &rng, channels, count);
}

/* Around the edges of vectors, and of what is made at a time; not at random. */
static void check_pours(const uc_kernels *kernels) {
    struct rng rng = {3};
    for (size_t phases = 1; phases <= UC_POUR_PHASES; phases++) {
        for (size_t columns = phases; columns < 140; columns++)
            check_pour(kernels, &rng, phases, columns);
        for (size_t columns = 250; columns < 1100; columns += 1 + columns / 9)
            check_pour(kernels, &rng, phases, columns);
    }
}

static void check_table(const uc_kernels *kernels) {
    check_loads_and_stores(kernels);
    check_convs(kernels);
    check_pours(kernels);
    check_casts(kernels);
}

int main(int argc, char **argv) {
    if (argc > 1)
        cases = strtoull(argv[1], NULL, 10);
    table_each(check_table);
    return check_done();
}
