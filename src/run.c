/* Runs of rows: made, then stored or measured, and what goes on from those that were kept.
 * Called by tile.c and block.c. */
#include "walk.h"

#include "memory.h"
#include "turn.h"

uc_run_classes uc_run_count(const uc_walk *w) {
    const size_t heights = w->band[1].count, step = w->pass->step, most = w->pass->rows;
    uc_run_classes c = {.rows = heights / step, .longer = heights % step};
    c.runs = c.rows ? (c.rows - 1) / most + 1 : 0;
    c.runs_longer = c.rows / most + 1;
    c.all = c.longer * c.runs_longer + (step - c.longer) * c.runs;
    return c;
}

/* The runs of a band are numbered depth by depth; where each reads the input itself, those of as
 * many depths as the stride has side by side: most are made from the same one. */
static uc_run_rows find_run(const uc_walk *w, size_t number) {
    const uc_pass *pass = w->pass;
    const uc_run_classes *c = &w->classes;
    size_t in_depth, depth = uc_divide(number, c->all, &in_depth);
    if (w->plan->borrows) {
        const size_t first = depth / w->axis[0].stride * w->axis[0].stride,
                     left = w->band[0].count - first,
                     depths = left < w->axis[0].stride ? left : w->axis[0].stride,
                     side_by_side = number - first * c->all;
        depth = first + side_by_side % depths;
        in_depth = side_by_side / depths;
    }
    const bool longer = in_depth < c->longer * c->runs_longer;
    const size_t index = longer ? in_depth : in_depth - c->longer * c->runs_longer;
    size_t in_class;
    const size_t class =
        uc_divide(index, longer ? c->runs_longer : c->runs, &in_class) + (longer ? 0 : c->longer),
                 first = in_class * pass->rows;
    const size_t left = c->rows + (class < c->longer) - first;
    return (uc_run_rows){w->band[0].begin + depth, w->band[1].begin + class + first * pass->step,
                         left < pass->rows ? left : pass->rows};
}

void uc_run_enter(uc_walk *w, uc_span segment) {
    const uc_axis *axis = &w->axis[2];
    const size_t window = uc_plan_window(&w->plan->chain, w->pass->stages, 2);
    const uc_span conv = {segment.begin * window, segment.count * window};
    w->segment = segment;
    w->first_column = uc_axis_taps(axis, conv.begin);
    w->lanes = (conv.count - 1) / axis->stride + 1;
    w->whole_phases = (conv.count - 1) % axis->stride + 1;
    if (w->plan->spreads)
        w->products =
            w->segments == 1 && w->pass->bands[2] == 1 ? w->inputs : uc_axis_sources(axis, conv);
}

/* Takes the columns of a run, and says where its rows are. Those of a segment come after those of
 * the one before. */
static uc_run_rows enter_run(uc_walk *w, size_t number) {
    if (w->segments == 1)
        return find_run(w, number);
    const size_t runs = w->classes.all * w->band[0].count;
    uc_span segment = uc_part(w->band[2].count, w->pass->segment, number / runs);
    segment.begin += w->band[2].begin;
    uc_run_enter(w, segment);
    return find_run(w, number % runs);
}

/* Stores rows whose elements go apart, one by one. */
static void store_turned(const uc_walk *w, const uc_rows *rows, const char *scales, char *to) {
    const uc_plan *plan = w->plan;
    const size_t bytes = plan->element_bytes, real_bytes = plan->kernels->real_bytes;
    uc_rows row = *rows;
    row.channels = row.rows = 1;
    for (size_t c = 0; c < rows->channels; c++)
        for (size_t r = 0; r < rows->rows; r++) {
            row.first_lane = rows->first_lane + r * rows->pitch;
            row.reals = (char *)rows->reals + (c * rows->lanes + r * rows->pitch) * real_bytes;
            plan->kernels->store(plan->chain.dtype, &row, scales ? scales + c * real_bytes : NULL,
                                 uc_walk_turned_row(w), 0, 0, UC_STREAM_NOT);
            uc_turn_scatter(to + (c * uc_extent_positions(&plan->chain.out) +
                                  r * w->pass->step * plan->out_step[1]) *
                                     bytes,
                            plan->out_step[2], uc_walk_turned_row(w), rows->columns, bytes);
        }
}

void uc_run_store(const uc_walk *w, const uc_run_rows *run, const uc_rows *rows,
                  const void *scales) {
    const uc_plan *plan = w->plan;
    const uc_extent *out = &plan->chain.out;
    uc_rows there = *rows;
    there.rows = run->count;
    if (w->pass->run_panels)
        there.behind = out->channels - w->first_channel - w->channels;
    char *to =
        (char *)w->output +
        uc_walk_row_offset(w, out, plan->out_step, w->first_channel, run->depth, run->height) +
        w->segment.begin * plan->out_step[2] * plan->element_bytes;
    if (uc_plan_is_turned(w->plan))
        store_turned(w, &there, scales, to);
    else
        plan->kernels->store(plan->chain.dtype, &there, scales, to, uc_extent_positions(out),
                             w->pass->step * plan->out_step[1], plan->streams);
}

size_t uc_run_last_stages(const uc_pass *pass) {
    return pass->bounds ? pass->stages - 1 : pass->stages;
}

void uc_run_measure(const uc_walk *w, const uc_rows *rows, uc_summary *measures) {
    const uc_op op = w->plan->chain.stage[w->pass->stages].op;
    w->plan->kernels->measure[op](rows, w->pass->bounds, measures);
}

void uc_run_place(const uc_walk *w, const uc_run_rows *run, uc_sets *sets, size_t i) {
    const uc_plan *plan = w->plan;
    const uc_extent *out = &plan->chain.out;
    char *rest = uc_walk_rest(w);
    const size_t first = uc_walk_row_offset(w, out, plan->out_step, 0, 0, 0),
                 at = uc_walk_row_offset(w, out, plan->out_step, 0, run->depth, run->height) +
                      w->segment.begin * plan->element_bytes;
    sets->to[i] = (char *)w->output + at;
    sets->rest[i] = rest ? rest + (at - first) : NULL;
    sets->there[i] = run->count;
}

void uc_run_lay(const uc_walk *w, uc_sets *sets, uc_summary *measures) {
    const uc_plan *plan = w->plan;
    sets->in_parts = uc_walk_rest(w) != NULL;
    sets->channel_step = uc_extent_positions(&plan->chain.out);
    sets->row_step = w->pass->step * plan->out_step[1];
    sets->stream = plan->streams;
    plan->kernels->lay[plan->chain.stage[w->pass->stages].op](sets, w->pass->bounds, measures);
}

#define LAID_PIECE ((size_t)8192)

size_t uc_run_laid_pieces(const uc_walk *w) {
    return uc_parts(uc_extent_positions(&w->plan->chain.out), LAID_PIECE);
}

void uc_run_multiply_laid(const uc_walk *w, size_t channel, size_t piece) {
    const uc_plan *plan = w->plan;
    const uc_extent *out = &plan->chain.out;
    const size_t positions = uc_extent_positions(out), bytes = plan->element_bytes;
    const uc_span some = uc_part(positions, LAID_PIECE, piece);
    char *rest = uc_walk_rest(w);
    uc_finish finish = uc_rows_finish_of(w, w->pass->stages, NULL);
    double scale; /* room for any real */
    finish.first_channel = channel;
    plan->kernels->scales[finish.stage->op](&finish, 1, &scale);
    plan->kernels->multiply_laid(
        plan->chain.dtype,
        (char *)w->output + uc_walk_row_offset(w, out, plan->out_step, channel, 0, 0) +
            some.begin * bytes,
        rest ? rest + (channel * positions + some.begin) * bytes : NULL, some.count, &scale);
}

/* Whether no tap reaches the rows of a run, where stride is more than the kernel: then they differ
 * from channel to channel alone, whatever ops do, and are made once. */
static bool is_blank(const uc_walk *w, const uc_run_rows *run) {
    if (w->pass->run_panels ||
        (w->axis[0].stride <= w->axis[0].kernel && w->axis[1].stride <= w->axis[1].kernel))
        return false;
    const uc_pass *pass = w->pass;
    const uc_taps d = uc_axis_taps(&w->axis[0], run->depth),
                  h = uc_axis_taps(&w->axis[1], run->height);
    return pass->stages == w->plan->chain.stage_count &&
           pass->made[pass->stages] == w->plan->chain.conv_stage + 1 && w->segments == 1 &&
           (!uc_axis_phase_taps(&w->axis[0], d.phase) ||
            (pass->step == w->axis[1].stride && !uc_axis_phase_taps(&w->axis[1], h.phase)));
}

/* The channels of a run that its walk has entered. */
static void make_channels(uc_walk *w, const uc_run_rows *run, size_t number, size_t runs_before) {
    const uc_pass *pass = w->pass;
    const bool blank = is_blank(w, run);
    if (pass->keeps)
        w->kept = uc_walk_kept(w, number);
    uc_rows rows = w->blank;
    if (!blank || run->count > rows.rows)
        uc_rows_make(w, uc_run_last_stages(pass), run->depth, run->height, pass->step, run->count,
                     &rows);
    w->blank.rows = 0;
    if (blank)
        w->blank = rows;
    uc_summary *measures = pass->stages < w->plan->chain.stage_count
                               ? uc_walk_measures(w, runs_before + number)
                               : NULL;
    if (!measures)
        uc_run_store(w, run, &rows, NULL);
    else if (pass->lays) {
        uc_sets sets = {.rows = rows, .count = 1};
        uc_run_place(w, run, &sets, 0);
        uc_run_lay(w, &sets, measures);
    } else
        uc_run_measure(w, &rows, measures);
}

void uc_run_make(uc_walk *w, size_t number, size_t runs_before) {
    const size_t parts = w->pass->parts, some = w->pass->run_panels, panels = w->plan->panels.count;
    size_t part, rest;
    const uc_run_rows run = enter_run(w, uc_divide(number, parts, &part));
    if (w->pass->pours) {
        uc_fill_pour(w, &run, part);
        return;
    }
    const size_t end = some ? uc_divide((part + 1) * panels, parts, &rest) : 0;
    for (size_t p = some ? uc_divide(part * panels, parts, &rest) : 0; p < end; p += some) {
        uc_walk_enter_panels(w, p, some < end - p ? some : end - p);
        make_channels(w, &run, number, runs_before);
    }
    if (!some)
        make_channels(w, &run, number, runs_before);
}

void uc_run_store_kept(const uc_walk *w, const uc_run_rows *run, uc_rows *rows,
                       const uc_summary *measures) {
    const uc_plan *plan = w->plan;
    const size_t first = w->pass->stages, stages = plan->chain.stage_count;
    size_t next = first + 1;
    while (next < stages && plan->idle[next])
        next++;
    if (next < stages) {
        uc_rows_finish(w, first, stages, rows, measures, NULL);
        uc_run_store(w, run, rows, NULL);
        return;
    }
    /* With nothing to do but multiply, that needs no pass of its own. The scales take the place of
     * rows that are not kept. */
    const uc_finish finish = uc_rows_finish_of(w, first, measures);
    void *scales =
        w->buffer + w->pass->rows_at[plan->chain.conv_stage + 1] * plan->kernels->real_bytes;
    plan->kernels->scales[finish.stage->op](&finish, rows->channels, scales);
    uc_run_store(w, run, rows, scales);
}

void uc_run_resume(uc_walk *w, size_t number) {
    const uc_run_rows run = enter_run(w, number);
    w->kept = uc_walk_kept(w, number);
    uc_rows rows = uc_walk_rows(w, w->pass->made[w->pass->stages], run.count);
    uc_run_store_kept(w, &run, &rows, uc_walk_measures(w, number));
}
