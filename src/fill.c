/* Rows of the convolution, from the slab.
 * Called by rows.c. */
#include "walk.h"

#include "pack.h"

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

/* Rows of one phase along the height. */
static void fill_phase(const uc_walk *w, size_t depth, size_t height, const uc_rows *rows) {
    const size_t count = rows->rows;
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

void uc_fill_rows(const uc_walk *w, size_t depth, size_t height, size_t count, uc_rows *rows) {
    *rows = uc_walk_rows(w, w->plan->chain.conv_stage + 1, count);
    if (w->plan->spreads)
        uc_spread_fill(w, depth, height, rows);
    else if (!rows->sets)
        fill_phase(w, depth, height, rows);
    for (size_t i = 0; i < rows->sets; i++) {
        uc_rows set = *rows;
        set.reals = (char *)rows->reals + i * rows->set_step * w->plan->kernels->real_bytes;
        set.rows = (count - i - 1) / rows->sets + 1;
        fill_phase(w, depth, height + i, &set);
    }
}
