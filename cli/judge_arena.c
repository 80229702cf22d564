/* The memory that a test shares with the solution's process: a file without a name, page by page.
 * Called by judge_test.c and judge_timing.c. */
#define _GNU_SOURCE
#include "judge.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t whole_pages(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static arena_block *block_at(const arena *a, size_t round, size_t index) {
    return &a->header->blocks[round * (a->header->inputs + 1) + index];
}

static unsigned char *pages_of(const arena *a, const arena_block *block) {
    return (unsigned char *)a->header + block->file_offset;
}

bool arena_new(arena *a, const signature *s, const uc_operator_params *params, const data *shape,
               size_t output_bytes, size_t rounds) {
    arena_header header = {.params = *params, .rounds = rounds, .inputs = shape->count};
    strncpy(header.slug, s->slug, sizeof header.slug - 1);
    size_t at = whole_pages(sizeof header);
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i <= shape->count; i++) {
            const size_t bytes =
                i < shape->count ? shape->elems[i] * uc_dtype_bytes(shape->dtype) : output_bytes;
            const size_t pages = whole_pages(bytes ? bytes : 1);
            header.blocks[round * (shape->count + 1) + i] =
                (arena_block){at, pages, round % 2 ? 0 : pages - bytes, bytes};
            at += pages;
        }
    *a = (arena){.bytes = at};
    a->file = memfd_create("upconv-judge", MFD_CLOEXEC);
    if (a->file < 0)
        return false;
    void *mapping = ftruncate(a->file, (off_t)at) == 0
                        ? mmap(NULL, at, PROT_READ | PROT_WRITE, MAP_SHARED, a->file, 0)
                        : MAP_FAILED;
    if (mapping == MAP_FAILED) {
        close(a->file);
        return false;
    }
    a->header = mapping;
    *a->header = header;
    return true;
}

void arena_free(arena *a) {
    munmap(a->header, a->bytes);
    close(a->file);
}

void *arena_input(const arena *a, size_t round, size_t input) {
    const arena_block *block = block_at(a, round, input);
    return pages_of(a, block) + block->offset;
}

void *arena_output(const arena *a, size_t round) {
    return arena_input(a, round, a->header->inputs);
}

/* Every element of every type is a NaN when all its bits are set. */
#define POISON 0xFF

void arena_fill(arena *a, size_t round, const data *d) {
    for (size_t i = 0; i <= a->header->inputs; i++) {
        const arena_block *block = block_at(a, round, i);
        unsigned char *pages = pages_of(a, block);
        memset(pages, ARENA_CANARY, block->offset);
        memset(pages + block->offset + block->bytes, ARENA_CANARY,
               block->pages_bytes - block->offset - block->bytes);
        if (i < d->count)
            memcpy(pages + block->offset, d->tensor[i], block->bytes);
        else
            memset(pages + block->offset, POISON, block->bytes);
    }
}

int arena_changed_input(const arena *a, size_t round, const data *d) {
    for (size_t i = 0; i < d->count; i++)
        if (memcmp(arena_input(a, round, i), d->tensor[i], block_at(a, round, i)->bytes) != 0)
            return (int)i;
    return -1;
}

int arena_trampled(const arena *a, size_t round) {
    for (size_t i = 0; i <= a->header->inputs; i++) {
        const arena_block *block = block_at(a, round, i);
        const unsigned char *pages = pages_of(a, block);
        for (size_t at = 0; at < block->pages_bytes; at++) {
            if (at == block->offset)
                at += block->bytes;
            if (at < block->pages_bytes && pages[at] != ARENA_CANARY)
                return (int)i;
        }
    }
    return -1;
}
