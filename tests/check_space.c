/* The softmax over space in every kernel table: bounded, laid down and multiplied. (check_ops.c has
 * the op itself.) Run by CTest; `check_space N` takes N random cases. */
#include "element.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t cases = 150;

/* Rows that are clamped as they are measured are those that were clamped before, but for what they
 * are related to; and scales are what finish() multiplies by. */
static void check_bounded(const uc_kernels *kernels, struct rng *rng, uc_op op,
                          enum values values) {
    static const double bounds[][2] = {{0, 1}, {-2.25, -1.5}, {-1.5, 2}, {-70, 9}, {3, 3}, {5, -5}};
    const uint64_t seed = rng->state;
    const double *range = bounds[rng_below(rng, sizeof bounds / sizeof *bounds)];
    const uc_stage stage = {.op = op}, clamp = {.op = UC_OP_clamp, .number = {range[0], range[1]}};
    const uc_rows shape =
        rows_shape(kernels, rng, 1 + rng_below(rng, 3), table_lanes(kernels, rng));
    struct test_rows rows = rows_new(kernels, rng, shape, values, 100),
                     before = rows_new(kernels, rng, shape, values, 100);
    memcpy(before.reals.data, rows.reals.data, rows.reals.bytes);
    kernels->finish[UC_OP_clamp](&(uc_finish){.stage = &clamp}, &before.rows);
    const size_t channels = shape.channels;
    uc_summary *measured = check_alloc(channels * sizeof *measured),
               *others = check_alloc(channels * sizeof *others);
    struct buffer scales = reals_new(kernels, channels, random_guard(rng));
    kernels->measure[op](&rows.rows, range, measured);
    kernels->measure[op](&before.rows, NULL, others);

    const double units = 64 + (double)shape.rows * shape.columns / 16;
    size_t wrong = 0;
    for (size_t c = 0; c < channels; c++) {
        const long double relative = expl(others[c].largest - (long double)range[1]);
        if (isnan(others[c].sum)) { /* then all becomes NaN, whatever the rows are */
            wrong += !isnan(measured[c].sum);
            continue;
        }
        wrong += measured[c].largest != range[1];
        wrong += !real_about(kernels, others[c].sum * relative, measured[c].sum, units);
        for (size_t r = 0; r < shape.rows; r++)
            for (size_t i = 0; i < shape.columns; i++) {
                const size_t lane = rows_lane(&shape, c, r, i);
                wrong += !real_about(kernels, real_get(kernels, before.reals.data, lane) * relative,
                                     real_get(kernels, rows.reals.data, lane), units);
            }
    }
    CHECK(wrong == 0, "%s: measure %s between %g and %g: %zu wrong (state %llu)", kernels->name,
          uc_ops[op].name, range[0], range[1], wrong, (unsigned long long)seed);

    const uc_finish finish = {.stage = &stage, .summaries = measured, .measured = measured};
    kernels->scales[op](&finish, channels, scales.data);
    memcpy(before.reals.data, rows.reals.data, rows.reals.bytes);
    kernels->finish[op](&finish, &rows.rows);
    wrong = 0;
    for (size_t c = 0; c < channels; c++)
        for (size_t r = 0; r < shape.rows; r++)
            for (size_t i = 0; i < shape.columns; i++) {
                const size_t lane = rows_lane(&shape, c, r, i);
                wrong += !real_about(kernels,
                                     (long double)real_get(kernels, before.reals.data, lane) *
                                         real_get(kernels, scales.data, c),
                                     real_get(kernels, rows.reals.data, lane), 2);
            }
    CHECK(wrong == 0 && buffer_intact(&scales), "%s: scales of %s: %zu wrong (state %llu)",
          kernels->name, uc_ops[op].name, wrong, (unsigned long long)seed);
    rows_free(&rows);
    rows_free(&before);
    buffer_free(&scales);
    free(measured);
    free(others);
}

/* A real that was laid down, whole or in parts. */
static double laid_get(const uc_kernels *kernels, const struct buffer *to,
                       const struct buffer *rest, bool in_parts, size_t at) {
    if (!in_parts)
        return real_get(kernels, to->data, at);
    const uint32_t bits =
        (uint32_t)((const uint16_t *)to->data)[at] << 16 | ((const uint16_t *)rest->data)[at];
    float real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* Elements that were laid down become those times a number, rounded once. */
static void check_multiplied(const uc_kernels *kernels, struct rng *rng, struct buffer *to,
                             const struct buffer *rest, bool in_parts, size_t count) {
    const uint64_t seed = rng->state;
    const uc_dtype dtype = !in_parts ? table_real(kernels) : rng_below(rng, 2) ? UC_F16 : UC_BF16;
    struct buffer before = buffer_new(to->bytes, sizeof(double), GUARD_ALIGNED),
                  times = reals_new(kernels, 1, random_guard(rng));
    reals_fill(kernels, &times, rng, VALUES_NORMAL, 1);
    memcpy(before.data, to->data, to->bytes);
    kernels->multiply_laid(dtype, to->data, in_parts ? rest->data : NULL, count, times.data);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const double expected =
            element_round(dtype, element_round(table_real(kernels),
                                               laid_get(kernels, &before, rest, in_parts, i) *
                                                   real_get(kernels, times.data, 0)));
        const double got = element_get(dtype, to->data, i);
        wrong += isnan(expected) ? !isnan(got) : got != expected;
    }
    const size_t done = count * uc_dtype_bytes(dtype);
    wrong += memcmp((char *)to->data + done, (char *)before.data + done, to->bytes - done) != 0;
    CHECK(wrong == 0 && buffer_intact(to), "%s: multiply_laid %s: %zu of %zu wrong (state %llu)",
          kernels->name, uc_dtype_name(dtype), wrong, count, (unsigned long long)seed);
    buffer_free(&before);
    buffer_free(&times);
}

/* Sets of rows that are laid down as they are measured: each number is what measure() leaves, or
 * nearly so, in its place, and sums are those of all sets. Some sets, or their last rows, are not
 * there. */
static void check_laid(const uc_kernels *kernels, struct rng *rng, uc_op op, enum values values) {
    static const double bounds[][2] = {{0, 1}, {-2.25, -1.5}, {-1.5, 2}};
    static const size_t phases[] = {1, 2, 3, 4, 6};
    const uint64_t seed = rng->state;
    const double *range = bounds[rng_below(rng, sizeof bounds / sizeof *bounds)];
    const size_t phase_count = phases[rng_below(rng, sizeof phases / sizeof *phases)],
                 whole = phase_count * kernels->vector_lanes * (1 + rng_below(rng, 20)),
                 columns = rng_below(rng, 2) ? whole : table_lanes(kernels, rng),
                 count = 1 + rng_below(rng, UC_SETS), real_bytes = kernels->real_bytes;
    const bool in_parts = table_real(kernels) == UC_F32 && rng_below(rng, 2);
    const size_t bytes = in_parts ? sizeof(uint16_t) : real_bytes;
    uc_rows shape = rows_shape(kernels, rng, phase_count, columns);
    if (columns % phase_count == 0 && rng_below(rng, 2))
        shape.pitch = columns / phase_count; /* no gap between rows */
    const size_t channels = shape.channels, step = shape.channels * shape.lanes,
                 row_step = columns + rng_below(rng, 2) * kernels->vector_lanes,
                 channel_step = table_round_up(kernels, count * shape.rows * row_step);
    /* One set after the other: as if they were more channels. */
    uc_rows all = shape;
    all.channels *= count;
    struct test_rows sets = rows_new(kernels, rng, all, values, 100),
                     apart = rows_new(kernels, rng, all, values, 100);
    memcpy(apart.reals.data, sets.reals.data, sets.reals.bytes);
    struct buffer to = buffer_new(channels * channel_step * bytes, bytes, random_guard(rng)),
                  rest = buffer_new(channels * channel_step * bytes, bytes, random_guard(rng));
    uc_summary *measured = check_alloc(all.channels * sizeof *measured),
               *got = check_alloc(channels * sizeof *got);
    memset(to.data, 0xEE, to.bytes);
    memset(rest.data, 0xEE, rest.bytes);
    uc_sets given = {.rows = sets.rows,
                     .count = count,
                     .step = step,
                     .in_parts = in_parts,
                     .channel_step = channel_step,
                     .row_step = row_step,
                     .stream = rng_below(rng, 2)};
    given.rows.channels = channels;
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * shape.rows * row_step * bytes;
        given.there[i] = rng_below(rng, 4) ? shape.rows : rng_below(rng, shape.rows + 1);
        given.to[i] = (char *)to.data + at;
        given.rest[i] = in_parts ? (char *)rest.data + at : NULL;
        uc_rows there = apart.rows;
        there.reals = (char *)apart.rows.reals + i * step * real_bytes;
        there.channels = channels;
        there.rows = given.there[i];
        if (there.rows)
            kernels->measure[op](&there, range, measured + i * channels);
    }
    kernels->lay[op](&given, range, got);

    size_t wrong = 0;
    for (size_t c = 0; c < channels; c++) {
        long double sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += given.there[i] ? measured[i * channels + c].sum : 0;
            for (size_t r = 0; r < shape.rows; r++)
                for (size_t k = 0; k < row_step; k++) {
                    const size_t at = c * channel_step + (i * shape.rows + r) * row_step + k;
                    const bool written = r < given.there[i] && k < columns;
                    wrong += written
                                 ? !real_about(kernels,
                                               real_get(kernels, apart.reals.data,
                                                        rows_lane(&all, i * channels + c, r, k)),
                                               laid_get(kernels, &to, &rest, in_parts, at), 3)
                                 : memcmp((char *)to.data + at * bytes, "\xEE\xEE", 2) != 0 ||
                                       memcmp((char *)rest.data + at * bytes, "\xEE\xEE", 2);
                }
        }
        wrong += got[c].largest != range[1] || !real_about(kernels, sum, got[c].sum, 64);
    }
    CHECK(wrong == 0 && buffer_intact(&to) && buffer_intact(&rest),
          "%s: lay %s%s: %zu wrong (%zu sets of %zu rows of %zu, %zu phases, state %llu)",
          kernels->name, uc_ops[op].name, in_parts ? " in parts" : "", wrong, count, shape.rows,
          columns, phase_count, (unsigned long long)seed);
    check_multiplied(kernels, rng, &to, &rest, in_parts,
                     channels * channel_step - rng_below(rng, channel_step));
    rows_free(&sets);
    rows_free(&apart);
    buffer_free(&to);
    buffer_free(&rest);
    free(measured);
    free(got);
}

static void check_table(const uc_kernels *kernels) {
    struct rng rng = {4};
    for (int i = 0; i < UC_OP_COUNT; i++) {
        const bool everything = uc_ops[i].needs == UC_NEEDS_EVERYTHING;
        CHECK(!kernels->lay[i] == !everything && !kernels->scales[i] == !everything,
              "%s: %s lacks a function, or has one too many", kernels->name, uc_ops[i].name);
        for (size_t n = 0; everything && n < cases; n++) {
            const enum values values = (enum values)(n % VALUES_COUNT);
            check_bounded(kernels, &rng, (uc_op)i, values);
            check_laid(kernels, &rng, (uc_op)i, values);
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 1)
        cases = strtoull(argv[1], NULL, 10);
    table_each(check_table);
    return check_done();
}
