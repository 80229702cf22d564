/* The convolution in AMX tiles of bf16: 16 or 32 output channels x 16 or 32 lanes at a time.
 * Compiled with AVX-512's flags and those of AMX (CMakeLists.txt); chosen by cpu.c.
 *
 * A tile of weights has a row for each output channel, a tile of inputs one for each pair of input
 * channels, and a tile of sums is a piece of the rows [channel][lane] that the ops take. */
#include "amx.h"

#include "../dtype.h"
#include "amx_tiles.h"

static void split(const float *even, const float *odd, size_t count, uc_pair *to, size_t parts,
                  size_t part_step, uc_amx_range *range) {
    uc_amx_range all = *range;
    for (size_t i = 0; i < count; i++) {
        const float a = even ? even[i] : 0, b = odd ? odd[i] : 0;
        const uint16_t high_a = uc_f32_to_bf16(a), high_b = uc_f32_to_bf16(b);
        to[i] = high_a | (uc_pair)high_b << 16;
        if (parts == UC_AMX_PARTS) {
            const uint16_t low_a = uc_f32_to_bf16(a - uc_bf16_to_f32(high_a)),
                           low_b = uc_f32_to_bf16(b - uc_bf16_to_f32(high_b));
            to[part_step + i] = low_a | (uc_pair)low_b << 16;
        }
        uc_amx_widen(&all, uc_f32_bits(a));
        uc_amx_widen(&all, uc_f32_bits(b));
    }
    *range = all;
}

/* The tiles, by number: instructions have it built in. Sums of two tiles of channels x two of
 * lanes, so that every tile that is loaded serves twice. */
#define SUM_00 0
#define SUM_01 1
#define SUM_10 2
#define SUM_11 3
#define WEIGHTS_0 4
#define WEIGHTS_1 5
#define INPUTS_0 6
#define INPUTS_1 7

/* Tiles of sums have a row for each channel; those of the second channels may be fewer, or none. */
static void configure(size_t channels, size_t pairs) {
    const size_t second = channels > UC_AMX_TILE ? channels - UC_AMX_TILE : 0;
    const size_t channels_of[2] = {channels - second, second};
    tile_config config = {.palette = 1};
    for (size_t i = 0; i < 2 && channels_of[i]; i++) {
        for (size_t k = SUM_00; k <= SUM_01; k++) {
            config.rows[2 * i + k] = (uint8_t)channels_of[i];
            config.row_bytes[2 * i + k] = UC_AMX_TILE * sizeof(float);
        }
        config.rows[WEIGHTS_0 + i] = (uint8_t)channels_of[i];
        config.row_bytes[WEIGHTS_0 + i] = (uint16_t)(pairs * sizeof(uc_pair));
    }
    for (size_t i = INPUTS_0; i <= INPUTS_1; i++) {
        config.rows[i] = (uint8_t)pairs;
        config.row_bytes[i] = UC_AMX_TILE * sizeof(uc_pair);
    }
    TILE_CONFIGURE(&config);
}

/* Where the products of a block come from. */
typedef struct block {
    size_t weights_step, inputs_step; /* bytes from one row of a tile to the next */
    bool two_weights, two_inputs;     /* tiles, else one */
} block;

static void load_weights(const block *b, const uc_pair *from) {
    TILE_LOAD(WEIGHTS_0, from, b->weights_step);
    if (b->two_weights)
        TILE_LOAD(WEIGHTS_1, from + UC_AMX_TILE * (b->weights_step / sizeof *from),
                  b->weights_step);
}

/* Taps read from any column on, so that most rows of a tile lie across two cache lines. Copies of
 * the slab, one for each tap's shift, would avoid that; whether they pay is to be measured on a CPU
 * that has AMX. */
static void load_inputs(const block *b, const uc_pair *from) {
    TILE_LOAD(INPUTS_0, from, b->inputs_step);
    if (b->two_inputs)
        TILE_LOAD(INPUTS_1, from + UC_AMX_TILE, b->inputs_step);
}

static void multiply(const block *b) {
    TILE_MULTIPLY(SUM_00, WEIGHTS_0, INPUTS_0);
    if (b->two_inputs)
        TILE_MULTIPLY(SUM_01, WEIGHTS_0, INPUTS_1);
    if (b->two_weights)
        TILE_MULTIPLY(SUM_10, WEIGHTS_1, INPUTS_0);
    if (b->two_weights && b->two_inputs)
        TILE_MULTIPLY(SUM_11, WEIGHTS_1, INPUTS_1);
}

/* Up to two tiles of channels x two of lanes, from channel `c` of all and lane `j` on. */
static void fill_block(const uc_amx_run *amx, const block *b, size_t c, size_t j) {
    const uc_conv_run *run = amx->run;
    const size_t row = UC_AMX_TILE * sizeof(float), matrix = run->out_channels * amx->pairs;
    const float *bias = (const float *)run->bias + c * UC_AMX_TILE;
    TILE_LOAD(SUM_00, bias, row);
    if (b->two_inputs)
        TILE_LOAD(SUM_01, bias, row);
    if (b->two_weights)
        TILE_LOAD(SUM_10, bias + UC_AMX_TILE * UC_AMX_TILE, row);
    if (b->two_weights && b->two_inputs)
        TILE_LOAD(SUM_11, bias + UC_AMX_TILE * UC_AMX_TILE, row);

    for (size_t td = run->first[0]; td < run->end[0]; td++)
        for (size_t th = run->first[1]; th < run->end[1]; th++)
            for (size_t tw = 0; tw < run->taps[2]; tw++) {
                const size_t tap = (td * run->taps[1] + th) * run->taps[2] + tw;
                const uc_pair *x =
                    (const uc_pair *)run->x + j - td * run->x_depth - th * run->x_row - tw;
                const uc_pair *w = (const uc_pair *)run->weights +
                                   tap * amx->slices * amx->parts * matrix + c * amx->pairs;
                for (size_t s = 0; s < amx->slices; s++, x += amx->pairs * run->x_channel) {
                    load_inputs(b, x);
                    if (amx->parts == UC_AMX_PARTS) { /* each step loads one operand anew */
                        load_weights(b, w + matrix);
                        multiply(b);
                    }
                    load_weights(b, w);
                    multiply(b);
                    if (amx->parts == UC_AMX_PARTS) {
                        load_inputs(b, x + amx->x_part);
                        multiply(b);
                    }
                    w += amx->parts * matrix;
                }
            }

    const size_t step = run->y_channel * sizeof(float);
    const size_t second = UC_AMX_TILE * run->y_channel;
    float *y = (float *)run->y + (c - amx->first_channel) * run->y_channel + j;
    TILE_STORE(SUM_00, y, step);
    if (b->two_inputs)
        TILE_STORE(SUM_01, y + UC_AMX_TILE, step);
    if (b->two_weights)
        TILE_STORE(SUM_10, y + second, step);
    if (b->two_weights && b->two_inputs)
        TILE_STORE(SUM_11, y + second + UC_AMX_TILE, step);
}

static void conv(const uc_amx_run *amx) {
    const size_t end = amx->first_channel + amx->channels;
    for (size_t c = amx->first_channel; c < end; c += 2 * UC_AMX_TILE) {
        const size_t channels = end - c < 2 * UC_AMX_TILE ? end - c : 2 * UC_AMX_TILE;
        block b = {.weights_step = amx->pairs * sizeof(uc_pair),
                   .inputs_step = amx->run->x_channel * sizeof(uc_pair),
                   .two_weights = channels > UC_AMX_TILE};
        configure(channels, amx->pairs);
        for (size_t j = 0; j < amx->run->lanes; j += 2 * UC_AMX_TILE) {
            b.two_inputs = amx->run->lanes - j > UC_AMX_TILE;
            fill_block(amx, &b, c, j);
        }
        TILE_RELEASE(); /* the caller's threads never see a tile */
    }
}

const uc_amx_kernels uc_kernels_amx = {.split = split, .conv = conv};
