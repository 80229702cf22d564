/* The tile instructions of AMX, or, in a build with UPCONV_EMULATE, the same in plain C, so that
 * every machine can test what uses them. Included by amx.c alone.
 *
 *     TILE_CONFIGURE(config)           the shapes of all tiles; they are 0 then
 *     TILE_RELEASE()                   there are none any more
 *     TILE_LOAD(tile, from, step)      rows that lie `step` bytes apart
 *     TILE_STORE(tile, to, step)
 *     TILE_MULTIPLY(sum, a, b)         adds, for each row of a and column of b, the products of
 *                                      their pairs of bf16
 */
#ifndef UC_KERNELS_AMX_TILES_H
#define UC_KERNELS_AMX_TILES_H

#include <stdint.h>

/* As the instruction reads it. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

_Static_assert(sizeof(tile_config) == 64, "the instruction reads 64 bytes");

#if !defined(UC_EMULATE)

#include <immintrin.h>

/* gcc's _tile_loadconfig() reads only 8 bytes as far as the compiler knows, up to gcc 12.3: it
 * would leave out the stores of the others. */
#define TILE_CONFIGURE(config) __asm__ volatile("ldtilecfg %0" ::"m"(*(config)))
#define TILE_RELEASE() _tile_release()
#define TILE_LOAD(tile, from, step) _tile_loadd(tile, from, step)
#define TILE_STORE(tile, to, step) _tile_stored(tile, to, step)
#define TILE_MULTIPLY(sum, a, b) _tile_dpbf16ps(sum, a, b)

#else

#include <stdlib.h>
#include <string.h>

#include "../dtype.h"

#define TILE_CONFIGURE(config) emulate_configure(config)
#define TILE_RELEASE() emulate_release()
#define TILE_LOAD(tile, from, step) emulate_load(tile, from, step)
#define TILE_STORE(tile, to, step) emulate_store(tile, to, step)
#define TILE_MULTIPLY(sum, a, b) emulate_multiply(sum, a, b)

enum { TILES = 8, TILE_ROWS = 16, TILE_ROW_BYTES = 64 };

typedef struct emulated_tile {
    size_t rows, row_bytes;
    uint32_t at[TILE_ROWS][TILE_ROW_BYTES / 4];
} emulated_tile;

static _Thread_local emulated_tile tiles[TILES];

/* Where the CPU would raise an exception, the test ends; and where somebody has left tiles behind.
 */
static void demand(int fine) {
    if (!fine)
        abort();
}

static void emulate_release(void) {
    memset(tiles, 0, sizeof tiles);
}

static void emulate_configure(const tile_config *config) {
    demand(config->palette == 1 && config->start_row == 0 && !tiles[0].rows);
    for (size_t i = 0; i < 16; i++) {
        demand(config->rows[i] <= TILE_ROWS && config->row_bytes[i] <= TILE_ROW_BYTES &&
               !config->rows[i] == !config->row_bytes[i] && (i < TILES || !config->rows[i]));
        if (i < TILES) {
            tiles[i].rows = config->rows[i];
            tiles[i].row_bytes = config->row_bytes[i];
        }
    }
}

static void emulate_load(size_t tile, const void *from, size_t step) {
    demand(tiles[tile].rows != 0);
    for (size_t r = 0; r < tiles[tile].rows; r++)
        memcpy(tiles[tile].at[r], (const char *)from + r * step, tiles[tile].row_bytes);
}

static void emulate_store(size_t tile, void *to, size_t step) {
    demand(tiles[tile].rows != 0);
    for (size_t r = 0; r < tiles[tile].rows; r++)
        memcpy((char *)to + r * step, tiles[tile].at[r], tiles[tile].row_bytes);
}

/* Denormals count as 0, those that are read and those that come out. */
static float flush(float value) {
    const uint32_t bits = uc_f32_bits(value);
    return bits & 0x7f800000 ? value : uc_f32_from_bits(bits & 0x80000000);
}

static float bf16_of(uint32_t pair, size_t half) {
    return flush(uc_bf16_to_f32((uint16_t)(pair >> 16 * half)));
}

/* The products of even and of odd numbers are added up apart, row by row of b, and then together to
 * the sum. A product of two bf16 numbers has 16 digits and is exact, so that a multiply-add rounds
 * no more than a multiplication and an addition. */
static void emulate_multiply(size_t sum, size_t a, size_t b) {
    emulated_tile *s = &tiles[sum];
    const emulated_tile *x = &tiles[a], *y = &tiles[b];
    const size_t columns = s->row_bytes / 4, pairs = x->row_bytes / 4;
    demand(sum != a && sum != b && a != b && s->rows && s->rows == x->rows && pairs == y->rows &&
           s->row_bytes == y->row_bytes);
    for (size_t m = 0; m < s->rows; m++)
        for (size_t n = 0; n < columns; n++) {
            float half[2] = {0, 0};
            for (size_t k = 0; k < pairs; k++)
                for (size_t h = 0; h < 2; h++)
                    half[h] = flush(half[h] + bf16_of(x->at[m][k], h) * bf16_of(y->at[k][n], h));
            const float both = flush(half[0] + half[1]), before = uc_f32_from_bits(s->at[m][n]);
            s->at[m][n] = uc_f32_bits(flush(flush(before) + both));
        }
}

#endif

#endif
