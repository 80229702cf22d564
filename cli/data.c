/* The tensors that a chain reads, filled with random numbers of a kind, from a seed.
 * Called by judge, and by what checks our own implementation. */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include "element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

uint64_t rng_next(rng *r) {
    uint64_t x = r->state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

size_t rng_below(rng *r, size_t limit) {
    return (size_t)(rng_unit(r) * (double)limit);
}

double rng_unit(rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

double rng_normal(rng *r) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += rng_unit(r);
    return sum;
}

uint64_t rng_fresh_seed(void) {
    uint64_t seed = 0;
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, &seed, sizeof seed) != (ssize_t)sizeof seed) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        seed = (uint64_t)t.tv_sec * 1000000007u + (uint64_t)t.tv_nsec + (uint64_t)getpid();
    }
    if (file >= 0)
        close(file);
    return seed;
}

const char *family_name(family f) {
    static const char *const names[FAMILIES] = {"site",     "normal",     "integer",
                                                "large",    "tiny",       "negative",
                                                "constant", "non-finite", "one-infinity"};
    return names[f];
}

bool data_new(const uc_chain *chain, data *d) {
    *d = (data){.dtype = uc_chain_dtype(chain), .count = 1 + uc_chain_operand_count(chain)};
    if (d->count > DATA_MOST_TENSORS)
        return false;
    d->name[0] = "input";
    d->shape[0] = uc_chain_input(chain);
    for (size_t i = 1; i < d->count; i++) {
        const uc_operand operand = uc_chain_operand(chain, i - 1);
        d->name[i] = operand.name;
        d->shape[i] = operand.shape;
    }
    bool enough = true;
    for (size_t i = 0; i < d->count; i++) {
        d->elems[i] = elems_of(&d->shape[i]);
        const size_t bytes = d->elems[i] * uc_dtype_bytes(d->dtype);
        d->tensor[i] = malloc(bytes ? bytes : 1);
        enough = enough && d->tensor[i];
    }
    if (!enough)
        data_free(d);
    return enough;
}

void data_free(data *d) {
    for (size_t i = 0; i < d->count; i++)
        free(d->tensor[i]);
    *d = (data){0};
}

const void *const *data_operands(const data *d) {
    return (const void *const *)(d->tensor + 1);
}

static double draw(rng *r, family f, bool is_input) {
    switch (f) {
    case FAMILY_SITE:
        return rng_unit(r);
    case FAMILY_INTEGER:
        return (double)rng_below(r, 9) - 4;
    case FAMILY_CONSTANT:
        return 0.375;
    case FAMILY_LARGE:
        return (is_input ? 60 : 1) * rng_normal(r);
    case FAMILY_TINY:
        return (is_input ? 1e-6 : 1) * rng_normal(r);
    case FAMILY_NEGATIVE:
        return (is_input ? -1 : 1) * (0.25 + rng_unit(r));
    default:
        return rng_normal(r);
    }
}

/* Kernels are scaled down by the root of how many products go into one sum, so that sums are about
 * as large as the input. Whole numbers and the site's numbers stay what they are. */
static double scale_of(const uc_shape *shape, family f) {
    if (shape->ndim < 3 || f == FAMILY_SITE || f == FAMILY_INTEGER || f == FAMILY_CONSTANT)
        return 1;
    return 2 / sqrt((double)elems_of(shape) / (double)shape->dim[1]);
}

static void fill(data *d, size_t index, rng *r, family f) {
    const double scale = index ? scale_of(&d->shape[index], f) : 1;
    for (size_t i = 0; i < d->elems[index]; i++)
        element_set(d->dtype, d->tensor[index], i, scale * draw(r, f, index == 0));
}

void data_fill(data *d, uint64_t seed, family f) {
    static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    rng r = {seed};
    for (size_t i = 0; i < d->count; i++)
        fill(d, i, &r, f);
    if (!d->elems[0])
        return;
    if (f == FAMILY_NON_FINITE) /* one in a hundred, and one at least */
        for (size_t i = 0; i <= d->elems[0] / 100; i++)
            element_set(d->dtype, d->tensor[0], rng_below(&r, d->elems[0]), odd[rng_below(&r, 3)]);
    if (f == FAMILY_ONE_INFINITY)
        element_set(d->dtype, d->tensor[0], rng_below(&r, d->elems[0]), odd[1 + rng_below(&r, 2)]);
}
