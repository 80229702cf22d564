/* The direct convolution with channels in lanes: inputs are cast through taps onto outputs.
 * Called by plan.c, pass.c, direct.c, pack.c and fill.c. */
#include "cast.h"

#include <math.h>
#include <string.h>

#include "direct.h"
#include "memory.h"
#include "walk.h"

/* Each in half cycles; fitted to times of some hundred shapes on one thread. */
#define COST_PRODUCT 1.08 /* a vector of weights times an input */
#define LEAST_STEP 8.0    /* one input channel: as long as a multiply-add takes */
#define COST_GROUP 40.0   /* some inputs that meet a panel's weights together */
#define COST_OUTPUT 8.0   /* a vector of outputs that is turned */
#define COST_INPUT 8.0    /* an input's way through a tap */
#define COST_ZIPPED 45.0  /* a row of a channel whose phases are zipped: here none is */

/* With longer kernels, counting what taps reach would take too long. */
#define MOST_TAPS 4096

bool uc_cast_serves(const uc_chain *chain) {
    for (size_t s = chain->conv_stage + 1; s < chain->stage_count; s++)
        if (uc_ops[chain->stage[s].op].needs != UC_NEEDS_ELEMENT)
            return false;
    return true;
}

uc_panels uc_cast_panels(const uc_kernels *kernels, size_t channels) {
    return uc_panels_of(channels, 2 * kernels->vector_lanes);
}

/* Vectors of every panel; the first is as large as any. */
static size_t vectors_of(const uc_kernels *kernels, uc_panels panels) {
    return (uc_panel_size(panels, 0) - 1) / kernels->vector_lanes + 1;
}

/* What a tap takes along a dimension: inputs from `input` on, to every stride-th output from
 * `output` of the span on. */
typedef struct reach {
    size_t input, output, count;
} reach;

static reach reach_of(const uc_axis *axis, uc_span outputs, size_t tap) {
    const size_t shifted = outputs.begin + axis->padding,
                 input = shifted > tap ? (shifted - tap - 1) / axis->stride + 1 : 0;
    /* Where that is before the span, padding cuts the first inputs off. */
    const size_t output = input * axis->stride + tap - shifted;
    if (input >= axis->in || output >= outputs.count)
        return (reach){0};
    const size_t left = axis->in - input, room = (outputs.count - 1 - output) / axis->stride + 1;
    return (reach){input, output, left < room ? left : room};
}

/* More channels than this would not stay in L1 where they want the same places of it. */
#define CLASH_CHANNELS 16

bool uc_cast_packs(const uc_kernels *kernels, const uc_stage *conv) {
    return conv->in.channels > CLASH_CHANNELS &&
           uc_clash(uc_extent_positions(&conv->in) * kernels->real_bytes, UC_L1_PERIOD);
}

/* What a run may have of outputs: more share weights, but they should stay in L1. */
#define RUN_OUTPUTS 512

size_t uc_cast_rows(size_t heights, size_t columns) {
    const size_t most = RUN_OUTPUTS / columns, fit = most < UC_MAX_ROWS ? most : UC_MAX_ROWS,
                 rows = fit ? fit : 1, runs = (heights - 1) / rows + 1;
    return (heights - 1) / runs + 1;
}

double uc_cast_cost(const uc_kernels *kernels, const uc_stage *conv, const size_t space[UC_SPACE]) {
    double reached[UC_SPACE] = {0};
    for (size_t i = 0; i < UC_SPACE; i++) {
        const uc_axis axis = uc_axis_of(conv, i);
        if (axis.kernel > MOST_TAPS)
            return INFINITY;
        for (size_t tap = 0; tap < axis.kernel; tap++)
            reached[i] += (double)reach_of(&axis, (uc_span){0, space[i]}, tap).count;
    }
    const uc_panels panels = uc_cast_panels(kernels, conv->out.channels);
    const double vectors = (double)vectors_of(kernels, panels),
                 runs = ceil((double)space[1] / (double)uc_cast_rows(space[1], space[2])),
                 calls = (double)conv->conv.kernel[1] * (double)conv->conv.kernel[2] * runs,
                 inputs = reached[1] * reached[2] / calls,
                 groups = ceil(inputs / (double)kernels->panel),
                 step = fmax(inputs / groups * vectors * COST_PRODUCT, LEAST_STEP),
                 each = groups * ((double)conv->in.channels * step + COST_GROUP),
                 outputs = (double)space[0] * (double)space[1] * (double)space[2];
    const double zipped = conv->conv.stride[2] > 1 ? (double)space[0] * (double)space[1] *
                                                         (double)conv->out.channels * COST_ZIPPED
                                                   : 0;
    return (double)panels.count * (reached[0] * calls * each + outputs * vectors * COST_OUTPUT) +
           reached[0] * reached[1] * reached[2] * COST_INPUT - zipped;
}

size_t uc_cast_lanes(const uc_kernels *kernels, size_t channels) {
    const uc_panels panels = uc_cast_panels(kernels, channels);
    return panels.count * vectors_of(kernels, panels) * kernels->vector_lanes;
}

bool uc_cast_weights(const uc_kernels *kernels, const uc_stage *conv, size_t *elems) {
    *elems = uc_cast_lanes(kernels, conv->out.channels);
    bool fits = uc_size_mul(elems, conv->in.channels);
    for (size_t i = 0; i < UC_SPACE; i++)
        fits = fits && uc_size_mul(elems, conv->conv.kernel[i]);
    return fits;
}

/* Weights are [panel][tap][in channel][lane]. */
void uc_cast_place(const uc_kernels *kernels, const uc_stage *conv, size_t in_channel,
                   const void *reals, void *weights) {
    const uc_panels panels = uc_cast_panels(kernels, conv->out.channels);
    const size_t *kernel = conv->conv.kernel, taps = kernel[0] * kernel[1] * kernel[2],
                 bytes = kernels->real_bytes,
                 lanes = vectors_of(kernels, panels) * kernels->vector_lanes;
    for (size_t p = 0; p < panels.count; p++) {
        const size_t begin = uc_panel_begin(panels, p), size = uc_panel_size(panels, p);
        for (size_t tap = 0; tap < taps; tap++) {
            char *to = (char *)weights +
                       ((p * taps + tap) * conv->in.channels + in_channel) * lanes * bytes;
            const char *from = (const char *)reals + (begin * taps + tap) * bytes;
            if (bytes == sizeof(float))
                for (size_t c = 0; c < size; c++)
                    ((float *)(void *)to)[c] = ((const float *)(const void *)from)[c * taps];
            else
                for (size_t c = 0; c < size; c++)
                    ((double *)(void *)to)[c] = ((const double *)(const void *)from)[c * taps];
            memset(to + size * bytes, 0, (lanes - size) * bytes);
        }
    }
}

/* Outputs are turned in whole vectors. */
static size_t padded(const uc_kernels *kernels, size_t outputs) {
    return uc_round_up(outputs, kernels->vector_lanes);
}

bool uc_cast_elems(const uc_kernels *kernels, size_t panels, size_t outputs, size_t *elems) {
    *elems = 2 * kernels->vector_lanes;
    return uc_size_mul(elems, panels) && uc_size_mul(elems, padded(kernels, outputs));
}

/* Inputs that take the same tap, and where their products go: so many at a time. */
#define LISTED 120 /* groups of any panel */
typedef struct list {
    size_t count, from[LISTED], to[LISTED];
} list;

/* What all taps of some rows have in common. */
typedef struct casting {
    const uc_walk *w;
    uc_cast cast;
    size_t lanes, outputs; /* of a panel, and of its outputs */
    size_t columns;
    size_t begin[2], step[2]; /* of the input's depths and heights, as it lies in x */
    list inputs;
} casting;

/* Takes the listed inputs through a tap, panel by panel. */
static void cast_inputs(casting *all, size_t tap, size_t taps) {
    const uc_plan *plan = all->w->plan;
    const size_t bytes = plan->kernels->real_bytes;
    uc_cast cast = all->cast;
    const size_t weights = cast.in_channels * all->lanes * bytes,
                 y = all->outputs * all->lanes * bytes;
    cast.count = all->inputs.count;
    cast.from = all->inputs.from;
    cast.to = all->inputs.to;
    cast.weights = (const char *)plan->weights + (all->w->first_panel * taps + tap) * weights;
    for (size_t p = 0; cast.count && p < all->w->panels; p++) {
        plan->kernels->cast(&cast);
        cast.weights = (const char *)cast.weights + taps * weights;
        cast.y = (char *)cast.y + y;
    }
    all->inputs.count = 0;
}

/* One tap: all inputs that take it to some rows. */
static void cast_tap(casting *all, const reach *d, const reach *h, const reach *v, size_t tap,
                     size_t taps) {
    const uc_walk *w = all->w;
    const size_t stride = w->axis[2].stride * all->lanes;
    for (size_t r = 0; r < h->count; r++) {
        size_t from = (d->input - all->begin[0]) * all->step[0] +
                      (h->input + r - all->begin[1]) * all->step[1] + v->input - w->inputs.begin,
               to = ((h->output + r * w->axis[1].stride) * all->columns + v->output) * all->lanes;
        for (size_t c = 0; c < v->count; c++, to += stride) {
            if (all->inputs.count == LISTED)
                cast_inputs(all, tap, taps);
            all->inputs.from[all->inputs.count] = from++;
            all->inputs.to[all->inputs.count++] = to;
        }
    }
    cast_inputs(all, tap, taps);
}

void uc_cast_fill(const uc_walk *w, size_t depth, size_t height, const uc_rows *rows) {
    const uc_plan *plan = w->plan;
    const uc_kernels *kernels = plan->kernels;
    const uc_axis *axis = w->axis;
    const size_t bytes = kernels->real_bytes, vectors = vectors_of(kernels, plan->panels),
                 count = rows->rows * rows->columns,
                 taps = axis[0].kernel * axis[1].kernel * axis[2].kernel;
    casting all;
    all.w = w;
    for (size_t i = 0; i < 2; i++)
        all.begin[i] = plan->borrows ? 0 : (size_t)w->source[i].begin;
    all.step[0] = plan->borrows ? plan->in_step[0] : w->pass->depth_step;
    all.step[1] = plan->borrows ? plan->in_step[1] : w->pass->row_step;
    all.cast = (uc_cast){.x = plan->borrows ? uc_walk_input(w, 0, 0, 0) : uc_walk_slab(w),
                         .x_channel = plan->borrows ? uc_extent_positions(&plan->chain.in)
                                                    : w->pass->channel_step,
                         .in_channels = plan->chain.stage[plan->chain.conv_stage].in.channels,
                         .vectors = vectors,
                         .y = w->buffer + w->pass->cast_at * bytes};
    all.lanes = vectors * kernels->vector_lanes;
    all.outputs = padded(kernels, count);
    all.columns = rows->columns;
    all.inputs.count = 0;
    memset(all.cast.y, 0, w->panels * all.outputs * all.lanes * bytes);
    for (size_t i = 0; i < axis[0].kernel; i++) {
        const reach d = reach_of(&axis[0], (uc_span){depth, 1}, i);
        for (size_t j = 0; d.count && j < axis[1].kernel; j++) {
            const reach h = reach_of(&axis[1], (uc_span){height, rows->rows}, j);
            for (size_t k = 0; h.count && k < axis[2].kernel; k++) {
                const reach v = reach_of(&axis[2], w->segment, k);
                cast_tap(&all, &d, &h, &v, (i * axis[1].kernel + j) * axis[2].kernel + k, taps);
            }
        }
    }
    for (size_t p = 0; p < w->panels; p++) {
        const size_t begin = uc_panel_begin(plan->panels, w->first_panel + p);
        kernels->turn((const char *)all.cast.y + p * all.outputs * all.lanes * bytes, all.lanes,
                      uc_panel_size(plan->panels, w->first_panel + p), count,
                      (const char *)plan->bias + begin * bytes,
                      (char *)rows->reals + (begin - w->first_channel) * rows->lanes * bytes,
                      rows->lanes);
    }
}
