/* The kernel tables that this build has and this CPU can run, and arrays of their reals.
 * The tests that call kernels directly go through it. */
#include "table.h"
#include "cpu.h"
#include "element.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void table_each(void (*visit)(const uc_kernels *kernels)) {
    size_t seen = 0;
    for (int isa = UC_ISA_PORTABLE; isa <= UC_ISA_AVX512; isa++)
        for (int real = UC_F32; real <= UC_F64; real++) {
            const uc_kernels *kernels = NULL;
            if (uc_cpu_kernels((uc_isa)isa, (uc_dtype)real, &kernels) != UC_OK) {
                printf("left out: %s\n", uc_last_error());
                continue;
            }
            const size_t before = check_failures();
            visit(kernels);
            printf("%s: %s\n", kernels->name, check_failures() > before ? "FAILED" : "fine");
            seen++;
        }
    CHECK(seen >= 2, "%zu kernel tables", seen);
}

uc_dtype table_real(const uc_kernels *kernels) {
    return kernels->real_bytes == sizeof(double) ? UC_F64 : UC_F32;
}

double table_unit(const uc_kernels *kernels) {
    return table_real(kernels) == UC_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

double table_largest(const uc_kernels *kernels) {
    return table_real(kernels) == UC_F64 ? DBL_MAX : (double)FLT_MAX;
}

double table_smallest(const uc_kernels *kernels) {
    return table_real(kernels) == UC_F64 ? 0x1p-1074 : 0x1p-149;
}

size_t table_round_up(const uc_kernels *kernels, size_t lanes) {
    return (lanes + kernels->vector_lanes - 1) / kernels->vector_lanes * kernels->vector_lanes;
}

size_t table_lanes(const uc_kernels *kernels, struct rng *rng) {
    const size_t vectors = rng_below(rng, 10), off = rng_below(rng, 3);
    const size_t edge = vectors * kernels->vector_lanes + off;
    return edge > 1 ? edge - 1 : 1 + rng_below(rng, kernels->vector_lanes);
}

struct buffer reals_new(const uc_kernels *kernels, size_t count, enum guard guard) {
    return buffer_new(count * kernels->real_bytes, kernels->real_bytes, guard);
}

enum guard random_guard(struct rng *rng) {
    static const enum guard guards[] = {GUARD_ALIGNED, GUARD_MISALIGNED, GUARD_PAGE_END,
                                        GUARD_PAGE_START};
    return guards[rng_below(rng, 4)];
}

static double odd_value(const uc_kernels *kernels, struct rng *rng, double largest) {
    const double sign = rng_below(rng, 2) ? -1 : 1, smallest = table_smallest(kernels);
    switch (rng_below(rng, 6)) {
    case 0:
        return (double)NAN;
    case 1:
        return sign * (double)INFINITY;
    case 2:
        return sign * 0.0;
    case 3:
        return sign * smallest * (double)(1 + rng_below(rng, 1000));
    case 4:
        return sign * smallest / table_unit(kernels); /* the smallest normal one */
    default:
        return sign * largest;
    }
}

void reals_fill(const uc_kernels *kernels, struct buffer *reals, struct rng *rng,
                enum values values, double largest) {
    for (size_t i = 0; i < reals->bytes / kernels->real_bytes; i++) {
        double value = rng_normal(rng);
        if (values == VALUES_INTEGER)
            value = (double)rng_below(rng, 9) - 4;
        else if (values == VALUES_ODD && rng_below(rng, 4) == 0)
            value = odd_value(kernels, rng, largest);
        real_set(kernels, reals->data, i, value);
    }
}

double real_get(const uc_kernels *kernels, const void *reals, size_t index) {
    return element_get(table_real(kernels), reals, index);
}

void real_set(const uc_kernels *kernels, void *reals, size_t index, double value) {
    element_set(table_real(kernels), reals, index, value);
}

bool real_close(const uc_kernels *kernels, struct expected expected, double got) {
    const uc_dtype real = table_real(kernels);
    if (isnan(expected.allowed)) /* of an infinity times 0 */
        expected.allowed = 0;
    if (isnan(expected.value))
        return isnan(got);
    if (isinf(expected.value))
        return (long double)got == expected.value;
    return got >= element_round(real, (double)(expected.value - expected.allowed)) &&
           got <= element_round(real, (double)(expected.value + expected.allowed));
}

bool real_about(const uc_kernels *kernels, long double expected, long double got, double units) {
    return isnan(expected) ? isnan(got)
                           : fabsl(got - expected) <= units * table_unit(kernels) * fabsl(expected);
}

struct test_rows rows_new(const uc_kernels *kernels, struct rng *rng, uc_rows rows,
                          enum values values, double largest) {
    struct test_rows made = {.kernels = kernels, .rows = rows};
    made.reals = reals_new(kernels, rows.channels * rows.lanes, random_guard(rng));
    reals_fill(kernels, &made.reals, rng, values, largest);
    made.rows.reals = made.reals.data;
    made.before = reals_new(kernels, rows.channels * rows.lanes, GUARD_ALIGNED);
    /* Lanes between columns may hold anything. */
    for (size_t c = 0; c < rows.channels; c++)
        for (size_t lane = 0; lane < rows.lanes; lane++) {
            const size_t e = lane / rows.phase_step, in_phase = lane % rows.phase_step;
            const size_t r = in_phase / rows.pitch, j = in_phase % rows.pitch;
            if (r >= rows.rows || j * rows.phases + e >= rows.columns)
                real_set(kernels, made.reals.data, c * rows.lanes + lane, (double)NAN);
        }
    memcpy(made.before.data, made.reals.data, made.reals.bytes);
    return made;
}

void rows_free(struct test_rows *rows) {
    buffer_free(&rows->reals);
    buffer_free(&rows->before);
}

uc_rows rows_shape(const uc_kernels *kernels, struct rng *rng, size_t phases, size_t columns) {
    static const size_t channels[] = {1, 2, 3, 5, 6, 7, 8, 13, 33};
    uc_rows rows = {.channels = channels[rng_below(rng, 9)],
                    .rows = 1 + rng_below(rng, 3),
                    .columns = columns,
                    .phases = phases < columns ? phases : columns};
    const size_t lanes = (columns - 1) / rows.phases + 1;
    rows.pitch = lanes + rng_below(rng, 2) * rng_below(rng, 5);
    rows.phase_step = table_round_up(kernels, (rows.rows - 1) * rows.pitch + lanes);
    rows.lanes = rows.width = rows.phases * rows.phase_step;
    return rows;
}

size_t rows_lane(const uc_rows *rows, size_t channel, size_t row, size_t i) {
    return channel * rows->lanes + i % rows->phases * rows->phase_step + row * rows->pitch +
           i / rows->phases;
}
