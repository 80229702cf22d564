/* Checked sizes, aligned allocation, and fetching ahead.
 * Used wherever a product of user-given sizes becomes bytes. */
#ifndef UC_MEMORY_H
#define UC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UC_ALIGNMENT 64 /* a cache line, and the widest vector */

/* *total *= factor or *total += term; false, and *total is worthless, where that exceeds the
 * largest size of an object (PTRDIFF_MAX). */
bool uc_size_mul(size_t *total, size_t factor);
bool uc_size_add(size_t *total, size_t term);

/* a / b and, in *rest, a % b. On some CPUs a division of 64 bits takes four times as long as one of
 * 32, and what is divided for every run of rows hardly ever needs more. */
static inline size_t uc_divide(size_t a, size_t b, size_t *rest) {
    const size_t quotient =
        a <= UINT32_MAX && b <= UINT32_MAX ? (size_t)((uint32_t)a / (uint32_t)b) : a / b;
    *rest = a - quotient * b;
    return quotient;
}

/* The next multiple; what it is must fit. */
static inline size_t uc_round_up(size_t count, size_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

/* Rounds up to a multiple of UC_ALIGNMENT; false like uc_size_add(). */
bool uc_size_align(size_t *total);

/* UC_ALIGNMENT-aligned memory; free() it. NULL, with uc_last_error() set, where there is none. */
void *uc_alloc(size_t bytes);

/* Has the processor fetch what will be read soon and it does not foresee. */
static inline void uc_fetch(const void *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const char *)memory + i);
}

/* The same for more than a few lines: processors drop what is fetched where too much is on its way,
 * but not what is read. */
static inline void uc_touch(const void *memory, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        (void)((const volatile char *)memory)[i];
}

/* Whether things that lie so many bytes apart want the same places of a cache: almost a multiple of
 * `period`, where its places begin again. */
static inline bool uc_clash(size_t bytes, size_t period) {
    const size_t near = 128, apart = bytes % period;
    return apart < near || apart > period - near;
}

/* The period of L1. */
#define UC_L1_PERIOD 2048

/* Whether two blocks of memory share a byte. */
bool uc_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes);

#endif
