/* Which dimension lies along the lanes: the width, or one that takes its place.
 * Called by plan.c, rows.c and run.c. */
#include "turn.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cast.h"
#include "direct.h"
#include "memory.h"

#define WIDTH (UC_SPACE - 1)

/* Half cycles for an element that is loaded or stored on its own. */
#define COST_ELEMENT 6.0

/* What a row of all channels may take: there is no less of it in a thread's buffer. */
#define ROW_BYTES ((double)(1 << 20))

static void swap(size_t values[UC_SPACE], size_t dimension) {
    const size_t value = values[dimension];
    values[dimension] = values[WIDTH];
    values[WIDTH] = value;
}

static void turn_stage(uc_stage *stage, size_t dimension) {
    swap(stage->window, dimension);
    swap(stage->conv.kernel, dimension);
    swap(stage->conv.stride, dimension);
    swap(stage->conv.padding, dimension);
    swap(stage->conv.output_padding, dimension);
    swap(stage->in.size, dimension);
    swap(stage->out.size, dimension);
}

void uc_turn_chain(uc_chain *chain, size_t dimension) {
    swap(chain->in.size, dimension);
    swap(chain->out.size, dimension);
    for (size_t s = 0; s < chain->stage_count; s++)
        turn_stage(&chain->stage[s], dimension);
}

/* A row along a dimension, of the stage that has the largest. */
static double row_bytes(const uc_kernels *kernels, const uc_chain *chain, size_t dimension) {
    double most = (double)chain->in.channels * (double)chain->in.size[dimension];
    for (size_t s = 0; s < chain->stage_count; s++)
        most = fmax(most, (double)chain->stage[s].out.channels *
                              (double)chain->stage[s].out.size[dimension]);
    return most * (double)kernels->real_bytes;
}

size_t uc_turn_choose(const uc_kernels *kernels, const uc_chain *chain) {
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    const double flops = uc_chain_item_flops(chain);
    const double elements = (double)(uc_extent_positions(&chain->in) * chain->in.channels) +
                            (double)(uc_extent_positions(&chain->out) * chain->out.channels);
    const bool casts = uc_cast_serves(chain);
    size_t best = WIDTH;
    double least = uc_direct_cost(kernels, conv, flops, conv->out.size, casts);
    for (size_t i = 0; i < WIDTH; i++) {
        if (conv->in.size[i] <= conv->in.size[WIDTH] || row_bytes(kernels, chain, i) > ROW_BYTES)
            continue;
        uc_stage turned = *conv;
        turn_stage(&turned, i);
        const double cost = uc_direct_cost(kernels, &turned, flops, turned.out.size, casts) +
                            COST_ELEMENT * elements;
        if (cost < least) {
            best = i;
            least = cost;
        }
    }
    return best;
}

/* Elements may lie at any address. */
static void move_element(char *to, const char *from, size_t bytes) {
    if (bytes == sizeof(uint16_t))
        memcpy(to, from, sizeof(uint16_t));
    else if (bytes == sizeof(float))
        memcpy(to, from, sizeof(float));
    else
        memcpy(to, from, sizeof(double));
}

void uc_turn_gather(void *to, const void *from, size_t step, size_t count, size_t element_bytes) {
    for (size_t i = 0; i < count; i++)
        move_element((char *)to + i * element_bytes, (const char *)from + i * step * element_bytes,
                     element_bytes);
}

void uc_turn_scatter(void *to, size_t step, const void *from, size_t count, size_t element_bytes) {
    for (size_t i = 0; i < count; i++)
        move_element((char *)to + i * step * element_bytes, (const char *)from + i * element_bytes,
                     element_bytes);
}

void uc_turn_steps(const uc_extent *extent, size_t dimension, size_t step[UC_SPACE]) {
    size_t size[UC_SPACE];
    memcpy(size, extent->size, sizeof size);
    swap(size, dimension); /* as they lie in memory */
    step[2] = 1;
    step[1] = size[2];
    step[0] = size[1] * size[2];
    swap(step, dimension);
}

void *uc_turn_kernel(const uc_stage *conv, size_t dimension, size_t element_bytes,
                     const void *kernel) {
    const size_t *taps = conv->conv.kernel;
    const size_t each = taps[0] * taps[1] * taps[2],
                 pairs = conv->in.channels * conv->conv.out_channels;
    size_t step[UC_SPACE];
    uc_turn_steps(&(uc_extent){.size = {taps[0], taps[1], taps[2]}}, dimension, step);
    char *turned = uc_alloc(pairs * each * element_bytes);
    if (!turned)
        return NULL;
    char *to = turned;
    for (size_t p = 0; p < pairs; p++)
        for (size_t d = 0; d < taps[0]; d++)
            for (size_t h = 0; h < taps[1]; h++, to += taps[2] * element_bytes)
                uc_turn_gather(to,
                               (const char *)kernel +
                                   (p * each + d * step[0] + h * step[1]) * element_bytes,
                               step[2], taps[2], element_bytes);
    return turned;
}
