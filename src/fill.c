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

/* What all phases along the width of some rows have in common: all of a run but what
 * enter_phase() sets, and what that goes by. To clear it first would take as long. */
typedef struct phases {
    uc_conv_run run;
    uc_taps width;       /* of the next phase's first column */
    ptrdiff_t origin;    /* of the slab, where tap 0 of column 0 reads */
    size_t weights, tap; /* where those of phase 0 begin, and how many a tap has */
} phases;

static void begin_phases(const uc_walk *w, const uc_taps *d, const uc_taps *h, bool amx,
                         phases *all) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    /* Where rows run on there are zeros for the missing ones above and below. */
    const bool several = pass->conv_rows > 1;
    uc_conv_run *run = &all->run;
    run->x_depth = amx ? pass->pair_depth_step : pass->depth_step;
    run->x_row = amx ? pass->pair_row_step : pass->row_step;
    run->x_tap = pass->copies > 1 ? pass->copy_step : 1;
    run->x_channel = pass->channel_step;
    run->bias = amx ? plan->amx.bias : plan->bias;
    run->first[0] = d->first;
    run->first[1] = several ? 0 : h->first;
    run->in_channels = conv->in.channels;
    run->out_channels = conv->out.channels;
    run->cut = plan->panels;
    run->first_panel = w->first_panel;
    run->panels = w->panels;
    run->in_columns = w->axis[2].in;
    run->end[1] = several ? uc_axis_phase_taps(&w->axis[1], h->phase) : h->end;
    run->taps[0] = uc_axis_phase_taps(&w->axis[0], d->phase);
    run->taps[1] = uc_axis_phase_taps(&w->axis[1], h->phase);
    /* The slab at the inputs that tap 0 reads; they may lie outside, where later taps don't. */
    const ptrdiff_t column = several ? pass->first : (ptrdiff_t)w->inputs.begin;
    all->origin = ((ptrdiff_t)d->source - w->source[0].begin) * (ptrdiff_t)run->x_depth +
                  ((ptrdiff_t)h->source - w->source[1].begin) * (ptrdiff_t)run->x_row +
                  (ptrdiff_t)pass->lead - column * (ptrdiff_t)run->x_tap;
    all->width = w->first_column;
    /* The phases along the width lie one after the other. */
    all->weights = uc_pack_phase_offset(conv, w->axis, (size_t[]){d->phase, h->phase, 0});
    all->tap = run->taps[0] * run->taps[1] * run->in_channels * run->out_channels;
}

/* Goes on to the next phase. Returns where its inputs are, from the slab's begin. */
static ptrdiff_t enter_phase(const uc_walk *w, const uc_taps *d, phases *all) {
    const size_t bytes = w->plan->kernels->real_bytes;
    uc_conv_run *run = &all->run;
    const uc_taps width = all->width;
    run->taps[2] = uc_axis_phase_taps(&w->axis[2], width.phase);
    run->end[0] = run->taps[2] ? d->end : d->first; /* no taps: nothing but the bias */
    run->source = width.source;
    run->weights =
        (const char *)w->plan->weights +
        (all->weights + uc_axis_taps_before(&w->axis[2], width.phase) * all->tap) * bytes;
    const ptrdiff_t at = all->origin + (ptrdiff_t)width.source * (ptrdiff_t)run->x_tap;
    run->x = (const char *)uc_walk_slab(w) + at * (ptrdiff_t)bytes;
    if (++all->width.phase == w->axis[2].stride) {
        all->width.phase = 0;
        all->width.source++;
    }
    return at;
}

/* The convolution, direct or by AMX: for each phase along the width one call for rows that have the
 * same taps, or that run on into each other in the slab. first: of the rows. */
static void fill_run(const uc_walk *w, const uc_rows *rows, const uc_taps *d, const uc_taps *h,
                     size_t first, size_t count) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const bool amx = by_amx(w, d, h, rows->rows);
    phases all;
    begin_phases(w, d, h, amx, &all);
    uc_conv_run *run = &all.run;
    run->y_channel = rows->lanes;
    run->y_row = rows->pitch;
    run->rows = count;
    for (size_t e = 0; e < rows->phases; e++) {
        const size_t phase = all.width.phase;
        const ptrdiff_t at = enter_phase(w, d, &all);
        run->y = (char *)rows->reals +
                 (e * rows->phase_step + first * rows->pitch) * plan->kernels->real_bytes;
        run->lanes = (pass->conv_rows > 1 ? (rows->rows - 1) * rows->pitch : 0) + w->lanes -
                     (e >= w->whole_phases);
        if (amx) {
            run->weights =
                uc_amx_phase(&plan->amx, conv, w->axis, (size_t[]){d->phase, h->phase, phase});
            run->x = uc_walk_pairs(w) + at;
            uc_amx_fill(&plan->amx, run, pass->pair_elems, w->first_channel, w->channels);
        } else if (plan->exact) {
            plan->kernels->conv_exact(run);
        } else {
            plan->kernels->conv(run);
        }
    }
}

void uc_fill_pour(const uc_walk *w, const uc_run_rows *rows, size_t part) {
    const uc_plan *plan = w->plan;
    const uc_extent *out = &plan->chain.out;
    uc_pour_line *lines =
        (uc_pour_line *)(void *)(w->buffer + w->pass->lines_at * plan->kernels->real_bytes);
    const size_t first = part * plan->panels.count / w->pass->parts;
    const uc_pour pour = {.lines = lines,
                          .rows = rows->count,
                          .phases = uc_pass_pour_phases(w->pass, &w->axis[2]),
                          .columns = w->segment.count,
                          .bias = plan->bias,
                          .cut = plan->panels,
                          .first_panel = first,
                          .panels = (part + 1) * plan->panels.count / w->pass->parts - first,
                          .elements =
                              (char *)w->output + uc_walk_row_offset(w, out, plan->out_step, 0,
                                                                     rows->depth, rows->height),
                          .channel_step = uc_extent_positions(out)};
    const uc_taps d = uc_axis_taps(&w->axis[0], rows->depth);
    for (size_t r = 0; r < pour.rows; r++) {
        const uc_taps h = uc_axis_taps(&w->axis[1], rows->height + r);
        phases all;
        begin_phases(w, &d, &h, false, &all);
        for (size_t e = 0; e < pour.phases; e++) {
            uc_pour_line *line = &lines[r * pour.phases + e];
            enter_phase(w, &d, &all);
            line->x = all.run.x;
            line->weights = all.run.weights;
            line->per_channel =
                all.run.taps[0] * all.run.taps[1] * all.run.taps[2] * all.run.in_channels;
            uc_list_products(&all.run, &line->products);
        }
    }
    plan->kernels->pour(&pour);
}

/* Phases with a column less than others may end a vector before them. */
static void clear_shorter(const uc_walk *w, const uc_rows *rows) {
    const uc_kernels *kernels = w->plan->kernels;
    const bool one = w->pass->conv_rows > 1;
    const size_t last = (one ? (rows->rows - 1) * rows->pitch : 0) + w->lanes - 1;
    if (last % kernels->vector_lanes)
        return;
    for (size_t e = w->whole_phases; e < rows->phases; e++)
        for (size_t r = 0; r < (one ? 1 : rows->rows); r++) {
            const size_t first = e * rows->phase_step + r * rows->pitch + last;
            uc_clear_lanes(kernels, rows->reals, first, first + kernels->vector_lanes, rows->lanes,
                           rows->channels);
        }
}

/* Rows of one phase along the height. */
static void fill_phase(const uc_walk *w, size_t depth, size_t height, const uc_rows *rows) {
    const size_t count = rows->rows;
    clear_shorter(w, rows);
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
    if (w->plan->spreads || w->plan->casts)
        uc_clear_lanes(w->plan->kernels, rows->reals,
                       rows->phase_step - w->plan->kernels->vector_lanes, rows->phase_step,
                       rows->phase_step, rows->channels * rows->phases);
    if (w->plan->spreads)
        uc_spread_fill(w, depth, height, rows);
    else if (w->plan->casts)
        uc_cast_fill(w, depth, height, rows);
    else if (!rows->sets)
        fill_phase(w, depth, height, rows);
    for (size_t i = 0; i < rows->sets; i++) {
        uc_rows set = *rows;
        set.reals = (char *)rows->reals + i * rows->set_step * w->plan->kernels->real_bytes;
        set.rows = (count - i - 1) / rows->sets + 1;
        fill_phase(w, depth, height + i, &set);
    }
}
