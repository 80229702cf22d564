/* The direct convolution: how its rows share vectors, and about how long it takes.
 * Called by plan.c and algorithm.c. */
#include "direct.h"

#include <math.h>

#include "cast.h"
#include "spread.h"

/* What rows of a convolution may take when several run on into each other: with the weights of a
 * phase they should stay in a core's L2. */
#define TILE_BYTES ((size_t)288 << 10)

/* Each in half cycles; fitted to times of some hundred shapes on one thread. */
#define COST_PRODUCT 0.92 /* a vector times a weight */
#define COST_BLOCK 10.0   /* a panel of channels by one or two vectors */
#define COST_RUN 680.0    /* rows of a phase that run on */

/* Copies share no lines of the cache: the more taps a phase has the more lanes they must save,
 * unless all that a few products read is in L1 anyway. */
#define LANES_SAVED 0.16
#define NEAR_PRODUCTS 80

size_t uc_direct_pitch(const uc_stage *conv, size_t lanes, size_t joined, size_t copies) {
    if (joined <= lanes)
        return lanes;
    double products = (double)conv->in.channels;
    for (size_t i = 0; i < UC_SPACE; i++)
        products *= (double)conv->conv.kernel[i] / (double)conv->conv.stride[i];
    const double taps = (double)conv->conv.kernel[2] / (double)conv->conv.stride[2],
                 saved = (double)(joined - lanes) / (double)lanes;
    return copies <= UC_MOST_COPIES &&
                   (saved >= LANES_SAVED * (taps - 1) || products <= NEAR_PRODUCTS)
               ? lanes
               : joined;
}

#define MOST_COUNTED ((size_t)1 << 16)

/* How many taps so many outputs along a dimension have, by how many of those have an input. */
static double taps_by_needed(const uc_axis *axis, size_t outputs) {
    double needed = 0;
    if (outputs > 32 * axis->kernel || outputs > MOST_COUNTED)
        return 1; /* the ends don't matter, or it would take too long to know */
    for (size_t o = 0; o < outputs; o++) {
        const uc_taps taps = uc_axis_taps(axis, o);
        needed += (double)(taps.end - taps.first);
    }
    return needed > 0 ? (double)outputs * (double)axis->kernel / (double)axis->stride / needed : 1;
}

size_t uc_direct_rows(const uc_kernels *kernels, const uc_stage *conv, size_t heights, size_t lanes,
                      size_t pitch, double *cost) {
    const uc_axis axis = uc_axis_of(conv, 1);
    const size_t vector = kernels->vector_lanes, all_rows = (heights - 1) / axis.stride + 1,
                 most = all_rows < UC_MAX_ROWS ? all_rows : UC_MAX_ROWS;
    const double zeros = taps_by_needed(&axis, heights); /* rows of those are multiplied too */
    const size_t row_bytes =
        pitch * conv->out.channels * conv->conv.stride[2] * kernels->real_bytes;
    double products = (double)conv->in.channels * (double)conv->out.channels;
    for (size_t i = 0; i < UC_SPACE; i++)
        products *= (double)conv->conv.kernel[i] / (double)conv->conv.stride[i];
    const double run = COST_RUN / COST_PRODUCT / products; /* in vectors */
    size_t best = 1;
    *cost = uc_lanes_cost(lanes, vector);
    double least = *cost + run;
    for (size_t rows = 2; rows <= most && rows * row_bytes <= TILE_BYTES; rows++) {
        const size_t whole = all_rows / rows, rest = all_rows % rows;
        double vectors = (double)whole * uc_lanes_cost((rows - 1) * pitch + lanes, vector);
        if (rest)
            vectors += uc_lanes_cost((rest - 1) * pitch + lanes, vector);
        vectors *= zeros / (double)all_rows;
        const double each = vectors + run * (double)(whole + (rest > 0)) / (double)all_rows;
        if (each < 0.98 * least) {
            best = rows;
            least = each;
            *cost = vectors;
        }
    }
    return best;
}

/* With positions in lanes, by phases. */
static double phases_cost(const uc_kernels *kernels, const uc_stage *conv, double flops,
                          const size_t space[UC_SPACE]) {
    const uc_axis axis = uc_axis_of(conv, 2);
    const size_t vector = kernels->vector_lanes, lanes = (space[2] - 1) / axis.stride + 1,
                 zeros = (axis.kernel - 1) / axis.stride,
                 pitch = uc_direct_pitch(conv, lanes, axis.in + zeros, zeros + 1);
    double row;
    const size_t rows = uc_direct_rows(kernels, conv, space[1], lanes, pitch, &row);
    const double runs = (double)space[0] * (double)space[1] / (double)rows * (double)axis.stride;
    const size_t panels = uc_panels_of(conv->out.channels, kernels->panel).count,
                 vectors = ((rows - 1) * pitch + lanes - 1) / vector + 1;
    /* Few channels load an input for few multiply-adds. */
    static const double few_of[] = {2, 1.3, 1.1};
    const double few = conv->out.channels <= 3 ? few_of[conv->out.channels - 1] : 1;
    const double products = flops / 2 / (double)lanes * row * taps_by_needed(&axis, space[2]);
    return COST_PRODUCT * products * few +
           runs * (COST_BLOCK * (double)panels * (double)((vectors + 1) / 2) + COST_RUN);
}

bool uc_direct_casts(const uc_kernels *kernels, const uc_stage *conv, double flops) {
    return uc_cast_cost(kernels, conv, conv->out.size) <
           phases_cost(kernels, conv, flops, conv->out.size);
}

double uc_direct_cost(const uc_kernels *kernels, const uc_stage *conv, double flops,
                      const size_t space[UC_SPACE], bool casts) {
    if (uc_spread_pays(kernels, conv))
        return uc_spread_cost(kernels, conv, flops, space);
    const double phases = phases_cost(kernels, conv, flops, space);
    return casts ? fmin(phases, uc_cast_cost(kernels, conv, space)) : phases;
}
