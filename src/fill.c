/* Rows of the convolution, from the slab or from the input where it is.
 * Called by rows.c. */
#include "walk.h"

#include "memory.h"
#include "pack.h"
#include "spread.h"

/* Whether AMX fills a run: where it is used, and no row of pairs that the run's taps read is
 * spoilt. */
static bool by_amx(const uc_walk *w, const uc_taps *d, const uc_taps *h, size_t rows) {
    if (!w->plan->amx.kernels)
        return false;
    const bool several = w->pass->conv_rows > 1;
    const size_t first = several ? 0 : h->first,
                 end = several ? uc_axis_phase_taps(&w->axis[1], h->phase) : h->end;
    /* From what the last tap of the first row reads to what the first tap of the last one does. */
    const size_t count = end > first ? end - first + (several ? rows - 1 : 0) : 0;
    const ptrdiff_t begin = (ptrdiff_t)h->source - (ptrdiff_t)end + 1 - w->source[1].begin;
    for (size_t t = d->first; t < d->end; t++)
        for (size_t i = 0; i < count; i++)
            if (*uc_walk_spoilt(w, d->source - t - (size_t)w->source[0].begin, (size_t)begin + i))
                return false;
    return true;
}

/* The convolution, direct or by AMX: for each phase along the width one call for rows that have the
 * same taps, or that run on into each other in the slab. first: of the rows. */
static void fill_run(const uc_walk *w, const uc_rows *rows, const uc_taps *d, const uc_taps *h,
                     size_t first, size_t count) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const bool several = pass->conv_rows > 1, amx = by_amx(w, d, h, rows->rows);
    /* Where rows run on there are zeros for the missing ones above and below. */
    uc_conv_run run; /* all of it is set; to clear it first would take as long */
    run.x_depth = amx ? pass->pair_depth_step : pass->depth_step;
    run.x_row = amx ? pass->pair_row_step : pass->row_step;
    run.x_tap = pass->copies > 1 ? pass->copy_step : 1;
    run.x_channel = pass->channel_step;
    run.bias = amx ? plan->amx.bias : plan->bias;
    run.first[0] = d->first;
    run.first[1] = several ? 0 : h->first;
    run.in_channels = conv->in.channels;
    run.out_channels = conv->out.channels;
    run.cut = plan->panels;
    run.first_panel = w->first_panel;
    run.panels = w->panels;
    run.y_channel = rows->lanes;
    run.y_row = rows->pitch;
    run.rows = count;
    run.in_columns = w->axis[2].in;
    run.end[1] = several ? uc_axis_phase_taps(&w->axis[1], h->phase) : h->end;
    /* The slab at the inputs that tap 0 reads; they may lie outside, where later taps don't. */
    const ptrdiff_t column = several ? pass->first : (ptrdiff_t)w->inputs.begin,
                    origin = ((ptrdiff_t)d->source - w->source[0].begin) * (ptrdiff_t)run.x_depth +
                             ((ptrdiff_t)h->source - w->source[1].begin) * (ptrdiff_t)run.x_row +
                             (ptrdiff_t)pass->lead - column * (ptrdiff_t)run.x_tap;
    uc_taps width = w->first_column;
    run.taps[0] = uc_axis_phase_taps(&w->axis[0], d->phase);
    run.taps[1] = uc_axis_phase_taps(&w->axis[1], h->phase);
    /* The phases along the width lie one after the other. */
    const size_t weights = uc_pack_phase_offset(conv, w->axis, (size_t[]){d->phase, h->phase, 0}),
                 tap = run.taps[0] * run.taps[1] * run.in_channels * run.out_channels;
    for (size_t e = 0; e < rows->phases; e++) {
        run.taps[2] = uc_axis_phase_taps(&w->axis[2], width.phase);
        run.end[0] = run.taps[2] ? d->end : d->first; /* no taps: nothing but the bias */
        run.source = width.source;
        run.weights = (const char *)plan->weights +
                      (weights + uc_axis_taps_before(&w->axis[2], width.phase) * tap) * bytes;
        const ptrdiff_t at = origin + (ptrdiff_t)width.source * (ptrdiff_t)run.x_tap;
        run.x = (const char *)uc_walk_slab(w) + at * (ptrdiff_t)bytes;
        run.y = (char *)rows->reals + (e * rows->phase_step + first * rows->pitch) * bytes;
        run.lanes =
            (several ? (rows->rows - 1) * rows->pitch : 0) + w->lanes - (e >= w->whole_phases);
        if (amx) {
            run.weights = uc_amx_phase(&plan->amx, conv, w->axis,
                                       (size_t[]){d->phase, h->phase, width.phase});
            run.x = uc_walk_pairs(w) + at;
            uc_amx_fill(&plan->amx, &run, pass->pair_elems, w->first_channel, w->channels);
        } else if (plan->exact) {
            plan->kernels->conv_exact(&run);
        } else {
            plan->kernels->conv(&run);
        }
        if (++width.phase == w->axis[2].stride) {
            width.phase = 0;
            width.source++;
        }
    }
}

/* Reals from one row of products to the next. */
static size_t spread_pitch(const uc_walk *w) {
    return w->plan->borrows ? w->products.count
                            : uc_round_up(w->products.count, w->plan->kernels->vector_lanes);
}

/* Adds products of some rows of inputs and all taps along the width to as many rows of outputs, one
 * phase's from row `first` on, each tap's where they belong. */
static void spread_products(const uc_walk *w, const uc_rows *rows, size_t first, size_t count,
                            const char *products) {
    const uc_plan *plan = w->plan;
    const uc_axis *axis = &w->axis[2];
    const size_t bytes = plan->kernels->real_bytes, channels = rows->channels,
                 pitch = spread_pitch(w);
    uc_taps width = w->first_column;
    for (size_t e = 0; e < rows->phases; e++) {
        const size_t lanes = w->lanes - (e >= w->whole_phases);
        for (size_t t = 0; t < uc_axis_phase_taps(axis, width.phase); t++) {
            /* Lane j reads input source + j - t. */
            const size_t low = w->products.begin + t, high = low + w->products.count,
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
                        ((tap * channels + c) * count * pitch + width.source + begin - low) * bytes,
                    pitch, count, end - begin, false);
        }
        if (++width.phase == axis->stride) {
            width.phase = 0;
            width.source++;
        }
    }
}

/* Products of some rows of inputs: of the slab, or of the input where it is. There rows lie one
 * after the other, and what is behind the last one must not be read: the last vector does some of
 * those before it again. */
static void multiply_rows(const uc_walk *w, uc_conv_run *run, size_t depth, size_t height,
                          size_t channel, size_t count) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes, vector = plan->kernels->vector_lanes,
                 columns = w->products.count;
    char *products = run->y;
    run->y_channel = count * run->y_row;
    if (!plan->borrows) {
        run->x = uc_walk_slab(w) +
                 ((depth - (size_t)w->source[0].begin) * run->x_depth +
                  (height - (size_t)w->source[1].begin) * run->x_row + channel * run->x_channel +
                  pass->lead + w->products.begin - w->inputs.begin) *
                     bytes;
        run->rows = count;
        run->lanes = columns;
        plan->kernels->conv(run);
        return;
    }
    const bool all = columns == w->axis[2].in;
    const size_t lanes = all ? count * columns : columns, whole = lanes / vector * vector;
    for (size_t r = 0; r < (all ? 1 : count); r++) {
        const char *x = uc_walk_input(w, channel, depth, height + r) +
                        (w->products.begin - w->inputs.begin) * bytes;
        char *y = products + r * run->y_row * bytes;
        run->rows = 1;
        if (lanes < vector) {
            run->x = x;
            run->y = y;
            run->source = 0;
            run->in_columns = run->lanes = lanes;
            plan->kernels->conv_exact(run);
            continue;
        }
        for (size_t lane = 0; lane < lanes;) {
            const size_t some = lane ? vector : whole, at = lane ? lanes - vector : 0;
            run->x = x + at * bytes;
            run->y = y + at * bytes;
            run->lanes = some;
            plan->kernels->conv(run);
            lane = at + some;
        }
    }
    run->y = products;
}

/* Fetches what some rows read of some channels of an input that no cache of one core holds: no
 * processor foresees so many pages. */
static void fetch_inputs(const uc_walk *w, const uc_taps *d, uc_span heights, size_t channel,
                         size_t channels) {
    const uc_extent *in = &w->plan->chain.in;
    const size_t bytes = w->plan->element_bytes;
    if (!w->plan->borrows || in->channels * uc_extent_positions(in) * bytes < UC_SPREAD_FAR_BYTES)
        return;
    for (size_t td = d->first; td < d->end; td++)
        for (size_t c = channel; c < channel + channels; c++)
            for (size_t row = heights.begin; row < heights.begin + heights.count; row++)
                uc_fetch(uc_walk_input(w, c, d->source - td, row) +
                             (w->products.begin - w->inputs.begin) * bytes,
                         w->products.count * bytes);
}

/* Adds what some input channels and one tap along the depth give to the rows of one phase along the
 * height, every stride-th from row `first` on: one tap along the height after the other. */
static void spread_phase(const uc_walk *w, const uc_rows *rows, size_t first, const uc_taps *h,
                         const uc_taps *d, size_t tap_depth, size_t channel, uc_conv_run *run) {
    const uc_plan *plan = w->plan;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const size_t stride = w->axis[1].stride, in_rows = w->axis[1].in,
                 count = (rows->rows - first - 1) / stride + 1;
    for (size_t t = 0; t < uc_axis_phase_taps(&w->axis[1], h->phase); t++) {
        /* Its row r reads input source + r - t. */
        const size_t begin = t > h->source ? t - h->source : 0,
                     past = in_rows + t > h->source ? in_rows + t - h->source : 0,
                     end = past < count ? past : count;
        if (begin >= end)
            continue;
        run->weights = (const char *)plan->weights +
                       uc_spread_offset(conv, d->phase + tap_depth * w->axis[0].stride,
                                        h->phase + t * stride, channel) *
                           plan->kernels->real_bytes;
        multiply_rows(w, run, d->source - tap_depth, h->source + begin - t, channel, end - begin);
        spread_products(w, rows, first + begin * stride, end - begin, run->y);
    }
}

/* The convolution to few channels, rows one after the other: products of some input channels for
 * all of them, then of the next. */
static void fill_spread(const uc_walk *w, const uc_rows *rows, size_t depth, size_t height) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const uc_taps d = uc_axis_taps(&w->axis[0], depth);
    const uc_span heights = uc_axis_sources(&w->axis[1], (uc_span){height, rows->rows});
    const size_t bytes = plan->kernels->real_bytes, stride = w->axis[1].stride;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    uc_conv_run run = {.x_depth = pass->depth_step,
                       .x_row = pass->row_step,
                       .x_channel =
                           plan->borrows ? uc_extent_positions(&conv->in) : pass->channel_step,
                       .weights = plan->weights,
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
    run.out_channels = uc_spread_products(conv);
    run.cut = plan->spread_panels;
    run.panels = run.cut.count;
    run.y = w->buffer + pass->spread_at * bytes;
    run.y_row = spread_pitch(w);
    for (size_t c = 0; c < conv->in.channels; c += run.in_channels) {
        const size_t left = conv->in.channels - c;
        run.in_channels = left < UC_SPREAD_CHANNELS ? left : UC_SPREAD_CHANNELS;
        fetch_inputs(w, &d, heights, c, run.in_channels);
        for (size_t td = d.first; td < d.end; td++)
            for (size_t r = 0; r < stride && r < rows->rows; r++) {
                const uc_taps h = uc_axis_taps(&w->axis[1], height + r);
                spread_phase(w, rows, r, &h, &d, td, c, &run);
            }
    }
}

void uc_fill_rows(const uc_walk *w, size_t depth, size_t height, size_t count, uc_rows *rows) {
    *rows = uc_walk_rows(w, w->plan->chain.conv_stage + 1, count);
    if (w->plan->spreads) {
        fill_spread(w, rows, depth, height);
        return;
    }
    const uc_taps d = uc_axis_taps(&w->axis[0], depth);
    uc_taps h = uc_axis_taps(&w->axis[1], height);
    if (w->pass->conv_rows > 1) {
        fill_run(w, rows, &d, &h, 0, 1);
        return;
    }
    /* AMX looks at the inputs of every row. */
    const size_t most = w->plan->amx.kernels ? 1 : count;
    for (size_t first = 0, some; first < count; first += some) {
        uc_taps next = uc_axis_next_taps(&w->axis[1], h);
        for (some = 1;
             some < most && first + some < count && next.first == h.first && next.end == h.end;
             some++)
            next = uc_axis_next_taps(&w->axis[1], next);
        fill_run(w, rows, &d, &h, first, some);
        h = next;
    }
}
