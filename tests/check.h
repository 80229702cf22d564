/* The harness: checks that count, a seeded random generator, buffers with guard bands.
 * Every test includes it. */
#ifndef UC_TEST_CHECK_H
#define UC_TEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts one check; a failed one prints its place, the condition and the message. True if it held.
 * Threads may check at the same time. */
#define CHECK(condition, ...) check_that((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)

bool check_that(bool holds, const char *file, int line, const char *condition, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* Failed checks so far: a test that prints how to repeat a case looks whether it has grown. */
size_t check_failures(void);

/* Prints "N passed, N failed" and returns the exit code of the test. */
int check_done(void);

/* Memory that can't be had is not what these tests are about: they stop there. */
void *check_alloc(size_t bytes);

/* Text made like printf's, for the caller to free. */
char *check_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* splitmix64: small, seedable by anything, the same everywhere. */
struct rng {
    uint64_t state;
};
uint64_t rng_next(struct rng *rng);
size_t rng_below(struct rng *rng, size_t limit);
double rng_unit(struct rng *rng);   /* in [0, 1) */
double rng_normal(struct rng *rng); /* mean 0, variance 1, within ±6 */

/* Where a buffer lies. ALIGNED: at 64 bytes. MISALIGNED: as far from that as its elements allow.
 * PAGE_END, PAGE_START: against a page that can't be touched, so that even reading past that side
 * ends the test. All have canary bytes on the sides that no such page guards. */
enum guard { GUARD_ALIGNED, GUARD_MISALIGNED, GUARD_PAGE_END, GUARD_PAGE_START };

struct buffer {
    void *data;
    size_t bytes;
    unsigned char *block; /* canaries, data, canaries */
    size_t block_bytes;
    bool is_paged;
};

struct buffer buffer_new(size_t bytes, size_t element_bytes, enum guard guard);
bool buffer_intact(const struct buffer *buffer);
void buffer_free(struct buffer *buffer);

#endif
