/* The direct convolution to few output channels: taps take the place of channels.
 * Called by plan.c, pass.c, direct.c, pack.c and fill.c. */
#include "spread.h"

#include <math.h>
#include <string.h>

#include "direct.h"
#include "memory.h"
#include "walk.h"

/* With more output channels, or more products of an input along the width, there is little or
 * nothing to gain. */
#define MOST_OUT_CHANNELS 3
#define FEW_PRODUCTS 12
#define MORE_PRODUCTS 32 /* where no two taps meet: there are no sums along the width */

/* Each in half cycles. */
#define COST_PRODUCT 1.2 /* a vector times a weight */
#define COST_SPREAD 6.0  /* a vector of products that is added to outputs */

/* An input of this size is in no cache of one core. */
#define FAR_BYTES ((size_t)8 << 20)

/* Whether it pays for more than a few output channels: inputs are not packed, but outputs that no
 * tap reaches are cleared and finished like others. */
static bool pays_for_more(const uc_kernels *kernels, const uc_stage *conv) {
    const size_t taps = conv->conv.kernel[2], stride = conv->conv.stride[2];
    if (taps > MORE_PRODUCTS || conv->out.channels > MORE_PRODUCTS / taps || stride > 2 * taps)
        return false;
    const size_t products = taps * conv->out.channels, in_channels = conv->in.channels,
                 channel = uc_extent_positions(&conv->in) * kernels->real_bytes;
    const bool apart = taps <= stride && products <= (taps == 1 ? in_channels : in_channels / 4),
               far = channel * in_channels >= FAR_BYTES && uc_clash(channel, UC_L1_PERIOD);
    return (products <= FEW_PRODUCTS || apart) && !far;
}

/* Nor with fewer input channels: the fewer there are, the more of the time goes into adding up
 * what taps give that meet. */
static size_t least_in_channels(const uc_stage *conv) {
    static const size_t least[MOST_OUT_CHANNELS] = {16, 20, 40};
    const bool meet = conv->conv.kernel[2] > conv->conv.stride[2];
    return meet && conv->out.channels <= MOST_OUT_CHANNELS ? least[conv->out.channels - 1] : 16;
}

bool uc_spread_pays(const uc_kernels *kernels, const uc_stage *conv) {
    return (conv->out.channels <= MOST_OUT_CHANNELS || pays_for_more(kernels, conv)) &&
           conv->in.channels >= least_in_channels(conv) &&
           conv->in.size[2] >= kernels->vector_lanes;
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

/* Channels that lie a multiple of L2_PERIOD apart want the same few places of an L2, so that with
 * more than a few of them no line would stay for its neighbours' sake. */
#define L2_PERIOD ((size_t)64 << 10)
#define CLASH_CHANNELS 48

bool uc_spread_packs(const uc_kernels *kernels, const uc_stage *conv) {
    const size_t channel = uc_extent_positions(&conv->in) * kernels->real_bytes;
    return channel > L2_PERIOD / 2 && uc_clash(channel, L2_PERIOD) &&
           conv->in.channels >= CLASH_CHANNELS && conv->in.channels * channel >= FAR_BYTES;
}

/* Input channels go some at a time, a part of about the same size each: what is multiplied by all
 * panels of weights should stay in L1. */
#define PART_CHANNELS 128

static uc_panels parts_of(const uc_stage *conv) {
    return uc_panels_of(conv->in.channels, PART_CHANNELS);
}

/* L1 as most have it: a line has one set it may be in, the one of its address. */
#define L1_LINE 64
#define L1_SETS 64
#define L1_WAYS 8

/* With more products, those of a few lanes would not stay there. */
#define MOST_PRODUCTS 128

bool uc_spread_gathers(const uc_kernels *kernels, const uc_stage *conv) {
    const size_t channel = uc_extent_positions(&conv->in) * kernels->real_bytes,
                 part = uc_panel_size(parts_of(conv), 0);
    size_t in_set[L1_SETS] = {0}, most = 0;
    for (size_t c = 0; c < part; c++) {
        const size_t lines = ++in_set[c * channel / L1_LINE % L1_SETS];
        most = lines > most ? lines : most;
    }
    return most > L1_WAYS &&
           conv->conv.kernel[1] * conv->conv.kernel[2] * conv->out.channels <= MOST_PRODUCTS;
}

/* What the products of a piece of the input may take, if it has a few lanes then. */
#define PRODUCT_BYTES ((size_t)24 << 10)
#define LEAST_LANES 64

uc_spread uc_spread_of(const uc_kernels *kernels, const uc_stage *conv, bool runs, bool gathers) {
    const size_t vector = kernels->vector_lanes, columns = uc_round_up(conv->in.size[2], vector),
                 least = columns < LEAST_LANES ? columns : LEAST_LANES;
    /* Taps along the height that don't meet go together, if they are few. */
    const size_t of_tap = conv->conv.kernel[2] * conv->out.channels;
    const bool together = runs && conv->conv.kernel[1] <= conv->conv.stride[1] &&
                          conv->conv.kernel[1] <= FEW_PRODUCTS / of_tap;
    uc_spread s = {.taps = gathers || together ? conv->conv.kernel[1] : 1, .gathers = gathers};
    s.products = s.taps * of_tap;
    s.panels = uc_panels_of(s.products, kernels->panel);
    s.lanes = PRODUCT_BYTES / kernels->real_bytes / s.products / vector * vector;
    s.lanes = s.lanes < least ? least : s.lanes;
    return s;
}

/* Where the weights of one tap along the depth, those along the height from one on, and the input
 * channels from one on start, in reals: for each panel of products [in channel][product]. */
static size_t weights_offset(const uc_spread *s, const uc_stage *conv, size_t tap_depth,
                             size_t tap_height, size_t in_channel) {
    const size_t group = (tap_depth * conv->conv.kernel[1] + tap_height) / s->taps;
    return (group * conv->in.channels + in_channel) * s->products;
}

void uc_spread_place(const uc_spread *s, const uc_kernels *kernels, const uc_stage *conv,
                     size_t in_channel, const void *reals, void *weights) {
    const size_t *kernel = conv->conv.kernel, channels = conv->out.channels,
                 taps = kernel[0] * kernel[1] * kernel[2], bytes = kernels->real_bytes;
    const uc_panels parts = parts_of(conv);
    const size_t part = uc_panel_of(parts, in_channel), first = uc_panel_begin(parts, part),
                 some = uc_panel_size(parts, part);
    for (size_t tap = 0; tap < kernel[0] * kernel[1]; tap += s->taps) {
        char *block = (char *)weights +
                      weights_offset(s, conv, tap / kernel[1], tap % kernel[1], first) * bytes;
        for (size_t p = 0; p < s->panels.count; p++) {
            const size_t begin = uc_panel_begin(s->panels, p), size = uc_panel_size(s->panels, p);
            for (size_t m = begin; m < begin + size; m++)
                memcpy(block + (begin * some + (in_channel - first) * size + m - begin) * bytes,
                       (const char *)reals +
                           (m % channels * taps + tap * kernel[2] + m / channels) * bytes,
                       bytes);
        }
    }
}

/* What some rows of inputs may take: the next tap reads them again. */
#define INPUT_BYTES ((size_t)256 << 10)

/* With all taps at a time, inputs of a run's first and last rows are read and in part multiplied
 * for nothing, so there should be some rows; but a few runs for threads, too. */
#define GATHERED_ROWS 8 /* and a stride as many */
#define GATHERED_RUNS 12

size_t uc_spread_rows(const uc_spread *s, const uc_kernels *kernels, const uc_stage *conv,
                      double rows) {
    const size_t columns = conv->in.size[2], pitch = uc_round_up(columns, kernels->vector_lanes),
                 inputs = INPUT_BYTES / kernels->real_bytes / columns / PART_CHANNELS,
                 products = s->lanes / pitch, fit = inputs < products ? inputs : products;
    const double stride = (double)conv->conv.stride[1], few = rows / GATHERED_RUNS / stride,
                 some = s->gathers ? fmin(fmax(few, 2), GATHERED_ROWS) : fmax((double)fit, 1);
    return (size_t)fmin(some * stride, UC_MAX_ROWS);
}

/* What is gathered of a channel at a time: two vectors, and a line of a cache at least. */
static size_t block_bytes(const uc_kernels *kernels) {
    const size_t two = 2 * kernels->vector_lanes * kernels->real_bytes;
    return two > L1_LINE ? two : L1_LINE;
}

bool uc_spread_elems(const uc_spread *s, const uc_kernels *kernels, size_t *elems) {
    *elems = s->lanes;
    return uc_size_mul(elems, s->products) &&
           (!s->gathers ||
            uc_size_add(elems, PART_CHANNELS * block_bytes(kernels) / kernels->real_bytes));
}

/* Inputs that are multiplied at a time: rows of all columns, or some columns of one. */
typedef struct piece {
    size_t depth, height, rows;
    uc_span columns;
    size_t channel; /* the first */
} piece;

/* Brings together some bytes of every channel. The sizes of a block are constants, for the compiler
 * to copy without a call. */
static void gather(const char *x, size_t channel, size_t channels, size_t bytes, char *to,
                   size_t block) {
    for (size_t c = 0; c < channels; c++, x += channel, to += block)
        if (bytes == 64)
            memcpy(to, x, 64);
        else if (bytes == 128)
            memcpy(to, x, 128);
        else
            memcpy(to, x, bytes);
}

/* Products of inputs whose channels lie so far apart that they want the same places of L1: they are
 * gathered first, a few lanes at a time. */
static void multiply_gathered(const uc_walk *w, const char *x, size_t lanes, uc_conv_run *run) {
    const uc_kernels *kernels = w->plan->kernels;
    const size_t bytes = kernels->real_bytes, block = block_bytes(kernels),
                 channel = uc_extent_positions(&w->plan->chain.in) * bytes;
    const uc_spread *s = &w->plan->spread;
    char *products = run->y,
         *gathered = w->buffer + (w->pass->spread_at + s->lanes * s->products) * bytes;
    run->x = gathered;
    run->x_channel = block / bytes;
    run->rows = 1;
    for (size_t at = 0; at < lanes * bytes; at += block) {
        const size_t left = lanes * bytes - at, some = left < block ? left : block;
        gather(x + at, channel, run->in_channels, some, gathered, block);
        run->y = products + at;
        run->lanes = some / bytes;
        kernels->conv(run);
    }
    run->y = products;
}

/* Products of some lanes of the input where it is. What is behind the last row must not be read:
 * the last vector does some of those before it again. */
static void multiply_there(const uc_walk *w, const char *x, size_t lanes, uc_conv_run *run) {
    const uc_kernels *kernels = w->plan->kernels;
    const size_t bytes = kernels->real_bytes, vector = kernels->vector_lanes,
                 whole = lanes / vector * vector;
    char *products = run->y;
    run->x_channel = uc_extent_positions(&w->plan->chain.in);
    run->rows = 1;
    if (lanes < vector) {
        run->x = x;
        run->source = 0;
        run->in_columns = run->lanes = lanes;
        kernels->conv_exact(run);
        return;
    }
    for (size_t lane = 0; lane < lanes;) {
        const size_t some = lane ? vector : whole, at = lane ? lanes - vector : 0;
        run->x = x + at * bytes;
        run->y = products + at * bytes;
        run->lanes = some;
        kernels->conv(run);
        lane = at + some;
    }
    run->y = products;
}

/* Products of a piece, by the panels of the run: of the slab, or of the input where it is. There
 * rows lie one after the other. */
static void multiply(const uc_walk *w, const piece *in, uc_conv_run *run) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes, column = in->columns.begin - w->inputs.begin;
    if (plan->borrows) {
        const char *x = uc_walk_input(w, in->channel, in->depth, in->height) + column * bytes;
        const size_t lanes = in->rows * in->columns.count;
        if (plan->spread.gathers)
            multiply_gathered(w, x, lanes, run);
        else
            multiply_there(w, x, lanes, run);
        return;
    }
    run->x = uc_walk_slab(w) + ((in->depth - (size_t)w->source[0].begin) * pass->depth_step +
                                (in->height - (size_t)w->source[1].begin) * pass->row_step +
                                in->channel * pass->channel_step + pass->lead + column) *
                                   bytes;
    run->x_channel = pass->channel_step;
    run->x_row = pass->row_step;
    run->rows = in->rows;
    run->lanes = in->columns.count;
    plan->kernels->conv(run);
}

/* Adds products of a piece and one tap along the height to rows of outputs, every stride-th from
 * row `first` on, those of each tap along the width where they belong. */
static void spread(const uc_walk *w, const piece *in, const uc_conv_run *run, const char *products,
                   size_t first, const uc_rows *rows) {
    const uc_plan *plan = w->plan;
    const uc_axis *axis = &w->axis[2];
    const size_t bytes = plan->kernels->real_bytes, channels = rows->channels;
    uc_taps width = w->first_column;
    for (size_t e = 0; e < rows->phases; e++) {
        const size_t lanes = w->lanes - (e >= w->whole_phases);
        for (size_t t = 0; t < uc_axis_phase_taps(axis, width.phase); t++) {
            /* Lane j reads input source + j - t. */
            const size_t low = in->columns.begin + t, high = low + in->columns.count,
                         begin = low > width.source ? low - width.source : 0,
                         past = high > width.source ? high - width.source : 0,
                         end = past < lanes ? past : lanes, tap = width.phase + t * axis->stride;
            for (size_t c = 0; begin < end && c < channels; c++)
                plan->kernels->merge[UC_OP_avgpool](
                    (char *)rows->reals +
                        (c * rows->lanes + e * rows->phase_step + first * rows->pitch + begin) *
                            bytes,
                    w->axis[1].stride * rows->pitch,
                    products +
                        ((tap * channels + c) * run->y_channel + width.source + begin - low) *
                            bytes,
                    run->y_row, in->rows, end - begin, false);
        }
        if (++width.phase == axis->stride) {
            width.phase = 0;
            width.source++;
        }
    }
}

/* The taps of some by which a row of inputs reaches some rows of outputs. */
static uc_span taps_between(const uc_axis *axis, uc_span taps, size_t row, uc_span outputs) {
    const size_t from = row * axis->stride, begin = outputs.begin + axis->padding,
                 end = begin + outputs.count, past = taps.begin + taps.count,
                 low = begin > from ? begin - from : 0, high = end > from ? end - from : 0,
                 first = low > taps.begin ? low : taps.begin, last = high < past ? high : past;
    return (uc_span){first, first < last ? last - first : 0};
}

/* Adds what some rows of inputs give by some taps along the height. first_tap: of those that the
 * run has weights of. */
static void add_rows(const uc_walk *w, piece *in, uc_span taps, size_t first_tap, size_t height,
                     uc_conv_run *run, const uc_rows *rows) {
    const uc_plan *plan = w->plan;
    const uc_spread *s = &plan->spread;
    const uc_axis *axis = &w->axis[1];
    const size_t bytes = plan->kernels->real_bytes, vector = plan->kernels->vector_lanes,
                 each = w->axis[2].kernel * rows->channels, begin = (taps.begin - first_tap) * each,
                 end = begin + taps.count * each;
    char *products = run->y;
    run->first_panel = uc_panel_of(run->cut, begin);
    run->panels = uc_panel_of(run->cut, end - 1) + 1 - run->first_panel;
    const uc_panels parts =
        uc_panels_of((w->products.count - 1) / vector + 1, s->lanes / vector); /* of vectors */
    for (size_t p = 0; p < parts.count; p++) {
        const size_t first = uc_panel_begin(parts, p) * vector, left = w->products.count - first,
                     some = uc_panel_size(parts, p) * vector;
        in->columns = (uc_span){w->products.begin + first, left < some ? left : some};
        run->y_row = plan->borrows ? in->columns.count : uc_round_up(in->columns.count, vector);
        run->y_channel = uc_round_up(in->rows * run->y_row, vector);
        run->y = products + uc_panel_begin(run->cut, run->first_panel) * run->y_channel * bytes;
        multiply(w, in, run);
        for (size_t t = taps.begin; t < taps.begin + taps.count; t++)
            spread(w, in, run, products + (t - first_tap) * each * run->y_channel * bytes,
                   in->height * axis->stride + t - axis->padding - height, rows);
    }
    run->y = products;
}

/* Brings in what some rows read of some channels of an input that no cache of one core holds, one
 * channel after the other: no processor foresees so many pages, and memory gives a line of every
 * channel at a third of the rate. */
static void fetch_inputs(const uc_walk *w, const piece *in, size_t channels, uc_span heights) {
    const uc_extent *extent = &w->plan->chain.in;
    const size_t bytes = w->plan->element_bytes;
    if (!w->plan->borrows || extent->channels * uc_extent_positions(extent) * bytes < FAR_BYTES)
        return;
    for (size_t c = in->channel; c < in->channel + channels; c++)
        for (size_t row = heights.begin; row < heights.begin + heights.count; row++)
            uc_touch(uc_walk_input(w, c, in->depth, row) +
                         (w->products.begin - w->inputs.begin) * bytes,
                     w->products.count * bytes);
}

/* Adds what some input channels and one tap along the depth give to rows of outputs: rows of inputs
 * that reach them by the same taps along the height go together. */
static void add_channels(const uc_walk *w, piece *in, size_t tap_depth, size_t height,
                         uc_conv_run *run, const uc_rows *rows) {
    const uc_plan *plan = w->plan;
    const uc_spread *s = &plan->spread;
    const uc_axis *axis = &w->axis[1];
    const size_t pitch = uc_round_up(w->products.count, plan->kernels->vector_lanes),
                 fit = s->lanes / pitch,
                 most = !fit || (plan->borrows && w->products.count < w->axis[2].in) ? 1 : fit;
    const uc_span outputs = {height, rows->rows}, sources = uc_axis_sources(axis, outputs);
    const size_t end = sources.begin + sources.count;
    if (!s->gathers)
        fetch_inputs(w, in, run->in_channels, sources);
    for (size_t tap = 0; tap < axis->kernel; tap += s->taps) {
        const uc_span all = {tap, s->taps};
        run->weights = (const char *)plan->weights +
                       weights_offset(s, &plan->chain.stage[plan->chain.conv_stage], tap_depth, tap,
                                      in->channel) *
                           plan->kernels->real_bytes;
        for (in->height = sources.begin; in->height < end; in->height += in->rows) {
            const uc_span taps = taps_between(axis, all, in->height, outputs);
            for (in->rows = 1; in->rows < most && in->height + in->rows < end; in->rows++) {
                const uc_span next = taps_between(axis, all, in->height + in->rows, outputs);
                if (next.count != taps.count || next.begin != taps.begin)
                    break;
            }
            if (taps.count)
                add_rows(w, in, taps, tap, height, run, rows);
        }
    }
}

void uc_spread_fill(const uc_walk *w, size_t depth, size_t height, const uc_rows *rows) {
    const uc_plan *plan = w->plan;
    const uc_taps d = uc_axis_taps(&w->axis[0], depth);
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    uc_conv_run run = {.weights = plan->weights,
                       .bias = plan->bias,
                       .taps = {1, 1, 1},
                       .out_channels = rows->channels,
                       .cut = plan->panels,
                       .panels = plan->panels.count,
                       .y = rows->reals,
                       .y_channel = rows->lanes,
                       .rows = 1,
                       .lanes = rows->lanes};
    plan->kernels->conv(&run); /* no taps yet: the bias */

    run.bias = plan->spread_bias;
    run.end[0] = run.end[1] = 1;
    run.out_channels = plan->spread.products;
    run.cut = plan->spread.panels;
    run.y = w->buffer + w->pass->spread_at * plan->kernels->real_bytes;
    const uc_panels parts = parts_of(conv);
    for (size_t p = 0; w->products.count && p < parts.count; p++) /* or no tap reaches it */
        for (size_t td = d.first; td < d.end; td++) {
            piece in = {.depth = d.source - td, .channel = uc_panel_begin(parts, p)};
            run.in_channels = uc_panel_size(parts, p);
            add_channels(w, &in, d.phase + td * w->axis[0].stride, height, &run, rows);
        }
}
