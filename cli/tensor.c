/* Memory and numbers for measurements.
 * Called by machine.c, the subcommands that measure, and the programs in bench/. */
#define _GNU_SOURCE
#include "tensor.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

size_t elems_of(const uc_shape *shape) {
    size_t elems = 1;
    for (size_t i = 0; i < shape->ndim; i++)
        elems *= shape->dim[i];
    return elems;
}

void *huge_pages(size_t bytes) {
    const size_t whole = (bytes / HUGE_PAGE + 1) * HUGE_PAGE;
    void *memory = aligned_alloc(HUGE_PAGE, whole);
    if (!memory)
        return NULL;
    madvise(memory, whole, MADV_HUGEPAGE); /* no harm where it is refused */
    memset(memory, 1, whole);              /* not 0: a compiler may make that calloc() */
    return memory;
}

/* Good enough for numbers to compute with: bf16 is cut, f16 has exponents of normal numbers only.
 */
static uint16_t half_of(uc_dtype dtype, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (dtype == UC_BF16)
        return (uint16_t)(bits >> 16);
    const int32_t exponent = (int32_t)(bits >> 23 & 255) - 127 + 15;
    const uint32_t sign = bits >> 16 & 0x8000;
    return (uint16_t)(exponent < 1 ? sign : sign | (uint32_t)exponent << 10 | (bits >> 13 & 1023));
}

void *random_tensor(uc_dtype dtype, const uc_shape *shape, double scale) {
    const size_t elems = elems_of(shape);
    uint64_t state = 1;
    void *tensor = huge_pages(elems * uc_dtype_bytes(dtype));
    for (size_t i = 0; tensor && i < elems; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double value = scale * ((double)(state >> 40) * 0x1p-23 - 1);
        if (dtype == UC_F64)
            ((double *)tensor)[i] = value;
        else if (dtype == UC_F32)
            ((float *)tensor)[i] = (float)value;
        else
            ((uint16_t *)tensor)[i] = half_of(dtype, (float)value);
    }
    return tensor;
}

bool random_operands(const uc_chain *chain, void *operands[MOST_OPERANDS]) {
    for (size_t i = 0; i < uc_chain_operand_count(chain); i++) {
        const uc_shape shape = uc_chain_operand(chain, i).shape;
        /* Channels and taps add up. */
        const double sum = (double)elems_of(&shape) / (double)shape.dim[shape.ndim > 1];
        operands[i] = random_tensor(uc_chain_dtype(chain), &shape, 2 / sqrt(sum));
        if (!operands[i])
            return false;
    }
    return true;
}

int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
