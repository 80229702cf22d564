/* The direct convolution to few output channels: taps take the place of channels.
 * Called by plan.c, direct.c, pack.c and fill.c. */
#include "spread.h"

#include <string.h>

#include "memory.h"

/* With more output channels, or fewer input channels or taps, there is little or nothing to gain.
 */
#define MOST_OUT_CHANNELS 3
#define LEAST_IN_CHANNELS 16
#define LEAST_TAPS 3

/* What the rows of products and of inputs may take: they are read again by the next tap. */
#define PRODUCT_BYTES ((size_t)16 << 10)
#define INPUT_BYTES ((size_t)256 << 10)

/* Each in half cycles. */
#define COST_PRODUCT 1.2 /* a vector times a weight */
#define COST_SPREAD 6.0  /* a vector of products that is added to outputs */

bool uc_spread_pays(const uc_kernels *kernels, const uc_stage *conv) {
    return conv->out.channels <= MOST_OUT_CHANNELS && conv->in.channels >= LEAST_IN_CHANNELS &&
           conv->conv.kernel[2] >= LEAST_TAPS && conv->in.size[2] >= kernels->vector_lanes;
}

double uc_spread_cost(const uc_kernels *kernels, const uc_stage *conv, double flops,
                      const size_t space[UC_SPACE]) {
    const double vectors =
        uc_lanes_cost(conv->in.size[2], kernels->vector_lanes) / (double)conv->in.size[2];
    const double outputs =
        (double)space[0] * (double)space[1] * (double)space[2] * (double)conv->out.channels;
    double taps = 1;
    for (size_t i = 0; i < UC_SPACE; i++)
        taps *= (double)conv->conv.kernel[i] / (double)conv->conv.stride[i];
    return vectors * (COST_PRODUCT * flops / 2 + COST_SPREAD * outputs * taps);
}

void uc_spread_place(const uc_kernels *kernels, const uc_stage *conv, size_t in_channel,
                     const void *reals, void *weights) {
    const size_t *kernel = conv->conv.kernel, channels = conv->out.channels,
                 taps = kernel[0] * kernel[1] * kernel[2], bytes = kernels->real_bytes;
    const uc_panels cut = uc_panels_of(uc_spread_products(conv), kernels->panel);
    const size_t first = in_channel / UC_SPREAD_CHANNELS * UC_SPREAD_CHANNELS,
                 left = conv->in.channels - first,
                 some = left < UC_SPREAD_CHANNELS ? left : UC_SPREAD_CHANNELS;
    for (size_t tap = 0; tap < kernel[0] * kernel[1]; tap++) {
        char *block = (char *)weights +
                      uc_spread_offset(conv, tap / kernel[1], tap % kernel[1], first) * bytes;
        for (size_t p = 0; p < cut.count; p++) {
            const size_t begin = uc_panel_begin(cut, p), size = uc_panel_size(cut, p);
            for (size_t m = begin; m < begin + size; m++)
                memcpy(block + (begin * some + (in_channel - first) * size + m - begin) * bytes,
                       (const char *)reals +
                           (m % channels * taps + tap * kernel[2] + m / channels) * bytes,
                       bytes);
        }
    }
}

/* Channels that lie a multiple of this apart want the same few places of a core's L2, so that with
 * more than a few of them every tap would have its rows come from afar. */
#define L2_PERIOD ((size_t)64 << 10)
#define CLASH_CHANNELS 48

bool uc_spread_packs(const uc_kernels *kernels, const uc_stage *conv) {
    const size_t channel = uc_extent_positions(&conv->in) * kernels->real_bytes;
    return channel > L2_PERIOD / 2 && uc_clash(channel, L2_PERIOD) &&
           conv->in.channels >= CLASH_CHANNELS &&
           conv->in.channels * channel >= UC_SPREAD_FAR_BYTES;
}

size_t uc_spread_rows(const uc_kernels *kernels, const uc_stage *conv) {
    const size_t row = conv->in.size[2] * kernels->real_bytes;
    const size_t products = PRODUCT_BYTES / row / uc_spread_products(conv),
                 inputs = INPUT_BYTES / row / UC_SPREAD_CHANNELS;
    const size_t rows = products < inputs ? products : inputs;
    return rows ? rows : 1;
}
