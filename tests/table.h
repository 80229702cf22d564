/* The kernel tables that this build has and this CPU can run, and arrays of their reals.
 * The tests that call kernels directly go through it. */
#ifndef UC_TEST_TABLE_H
#define UC_TEST_TABLE_H

#include "check.h"
#include "kernels/kernels.h"

/* Calls visit for each table; prints which ones there are and why others are not. */
void table_each(void (*visit)(const uc_kernels *kernels));

/* f32 or f64: the element type that a table's reals are. */
uc_dtype table_real(const uc_kernels *kernels);

/* Of the real type: the distance from 1 to the next value, the largest finite and the smallest
 * positive value. */
double table_unit(const uc_kernels *kernels);
double table_largest(const uc_kernels *kernels);
double table_smallest(const uc_kernels *kernels);

size_t table_round_up(const uc_kernels *kernels, size_t lanes);

/* A lane count around the edges of vectors and of blocks of them. */
size_t table_lanes(const uc_kernels *kernels, struct rng *rng);

/* count reals in a guarded buffer. */
struct buffer reals_new(const uc_kernels *kernels, size_t count, enum guard guard);
enum guard random_guard(struct rng *rng);

/* What values are like. INTEGER: small whole numbers, so that sums are exact in any order. ODD: one
 * in four is a NaN, an infinity, a zero, subnormal or as large as `largest`. */
enum values { VALUES_NORMAL, VALUES_INTEGER, VALUES_ODD, VALUES_COUNT };

void reals_fill(const uc_kernels *kernels, struct buffer *reals, struct rng *rng,
                enum values values, double largest);

double real_get(const uc_kernels *kernels, const void *reals, size_t index);
void real_set(const uc_kernels *kernels, void *reals, size_t index, double value);

/* A twin's value and how far from it the kernel may be. */
struct expected {
    long double value, allowed;
};

/* Whether got is near enough: NaN for NaN, and between the roundings of value - allowed and value +
 * allowed, so that a step to infinity or to 0 is judged rightly. */
bool real_close(const uc_kernels *kernels, struct expected expected, double got);

/* Whether two numbers are the same but for some units of rounding, or both are no numbers. */
bool real_about(const uc_kernels *kernels, long double expected, long double got, double units);

/* Rows in a guarded buffer, what was in them, and the reals that lie between columns. */
struct test_rows {
    const uc_kernels *kernels;
    uc_rows rows;
    struct buffer reals, before;
};

/* A shape with gaps between rows, `columns` of them each. */
uc_rows rows_shape(const uc_kernels *kernels, struct rng *rng, size_t phases, size_t columns);

struct test_rows rows_new(const uc_kernels *kernels, struct rng *rng, uc_rows rows,
                          enum values values, double largest);
void rows_free(struct test_rows *rows);

/* Where column i of a row is. */
size_t rows_lane(const uc_rows *rows, size_t channel, size_t row, size_t i);

#endif
