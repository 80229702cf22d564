/* The harness: checks that count, a seeded random generator, buffers with guard bands.
 * Linked into every test. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_PRINTED = 25, CANARY = 0xA5, BAND_BYTES = 256, LINE_BYTES = 64 };

static atomic_size_t passed, failed;

bool check_that(bool holds, const char *file, int line, const char *condition, const char *format,
                ...) {
    if (holds) {
        atomic_fetch_add(&passed, 1);
        return true;
    }
    /* After many failures the rest says nothing new. */
    if (atomic_fetch_add(&failed, 1) < MOST_PRINTED) {
        char message[1024];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message, sizeof message, format, arguments);
        va_end(arguments);
        const char *slash = strrchr(file, '/');
        printf("%s:%d: failed: %s: %s\n", slash ? slash + 1 : file, line, condition, message);
        fflush(stdout);
    }
    return false;
}

size_t check_failures(void) {
    return atomic_load(&failed);
}

int check_done(void) {
    printf("%zu passed, %zu failed\n", atomic_load(&passed), atomic_load(&failed));
    return atomic_load(&failed) == 0 && atomic_load(&passed) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void stop_without_memory(void) {
    fprintf(stderr, "the test itself is out of memory\n");
    abort();
}

void *check_alloc(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        stop_without_memory();
    return memory;
}

char *check_text(const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    char *text = check_alloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

uint64_t rng_next(struct rng *rng) {
    uint64_t z = rng->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

size_t rng_below(struct rng *rng, size_t limit) {
    return (size_t)(rng_next(rng) % limit);
}

double rng_unit(struct rng *rng) {
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_normal(struct rng *rng) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += rng_unit(rng);
    return sum;
}

static size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/* [page that can't be touched] pages with the data [page that can't be touched] */
static struct buffer paged_buffer(size_t bytes, enum guard guard) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inside = round_up(bytes ? bytes : 1, page);
    unsigned char *map =
        mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, inside, PROT_READ | PROT_WRITE))
        stop_without_memory();
    struct buffer buffer = {NULL, bytes, map + page, inside, true};
    buffer.data = guard == GUARD_PAGE_END ? buffer.block + inside - bytes : buffer.block;
    return buffer;
}

struct buffer buffer_new(size_t bytes, size_t element_bytes, enum guard guard) {
    struct buffer buffer;
    if (guard == GUARD_PAGE_END || guard == GUARD_PAGE_START) {
        buffer = paged_buffer(bytes, guard);
    } else {
        const size_t band = BAND_BYTES + (guard == GUARD_MISALIGNED ? element_bytes : 0);
        buffer.bytes = bytes;
        buffer.block_bytes = round_up(band + bytes + BAND_BYTES, LINE_BYTES);
        buffer.block = aligned_alloc(LINE_BYTES, buffer.block_bytes);
        buffer.is_paged = false;
        if (!buffer.block)
            stop_without_memory();
        buffer.data = buffer.block + band;
    }
    memset(buffer.block, CANARY, buffer.block_bytes);
    return buffer;
}

static bool all_canary(const unsigned char *from, const unsigned char *to) {
    for (; from < to; from++)
        if (*from != CANARY)
            return false;
    return true;
}

bool buffer_intact(const struct buffer *buffer) {
    const unsigned char *data = buffer->data;
    return all_canary(buffer->block, data) &&
           all_canary(data + buffer->bytes, buffer->block + buffer->block_bytes);
}

void buffer_free(struct buffer *buffer) {
    if (buffer->is_paged) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        munmap(buffer->block - page, buffer->block_bytes + 2 * page);
    } else {
        free(buffer->block);
    }
    *buffer = (struct buffer){0};
}
