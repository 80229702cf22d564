/* Checked sizes and aligned allocation.
 * Called by the chain (sizes), the plan, the operators and the oracle (memory). */
#define _DEFAULT_SOURCE /* madvise() */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "status.h"

bool uc_size_mul(size_t *total, size_t factor) {
    if (factor && *total > (size_t)PTRDIFF_MAX / factor)
        return false;
    *total *= factor;
    return true;
}

bool uc_size_add(size_t *total, size_t term) {
    if (*total > PTRDIFF_MAX || term > (size_t)PTRDIFF_MAX - *total)
        return false;
    *total += term;
    return true;
}

bool uc_size_align(size_t *total) {
    if (!uc_size_add(total, UC_ALIGNMENT - 1))
        return false;
    *total &= ~(size_t)(UC_ALIGNMENT - 1);
    return true;
}

/* Fresh memory costs 2 us for every 4 KB that are touched first, and a quarter of that in pages of
 * this size: the whole ones of a block are asked for. */
#define HUGE_PAGE ((size_t)2 << 20)

static void ask_for_huge_pages(void *memory, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    const size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    if (bytes >= before + HUGE_PAGE) /* a wish: whether it is granted makes no difference */
        madvise((char *)memory + before, (bytes - before) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

void *uc_alloc(size_t bytes) {
    size_t rounded = bytes ? bytes : 1;
    void *memory = uc_size_align(&rounded) ? aligned_alloc(UC_ALIGNMENT, rounded) : NULL;
    if (memory)
        ask_for_huge_pages(memory, rounded);
    if (!memory)
        uc_fail(UC_NO_MEMORY, "out of memory: %zu bytes could not be allocated", bytes);
    return memory;
}

bool uc_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    const uintptr_t a_begin = (uintptr_t)a, b_begin = (uintptr_t)b;
    if (!a_bytes || !b_bytes)
        return false;
    return a_begin < b_begin ? b_begin - a_begin < a_bytes : a_begin - b_begin < b_bytes;
}
