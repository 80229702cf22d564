/* Rows of every stage of a chain: loaded or borrowed, pooled, finished.
 * Called by run.c, block.c and slab.c. */
#include "walk.h"

#include <stdint.h>
#include <string.h>

#include "memory.h"
#include "turn.h"

uc_rows uc_rows_borrow(const uc_walk *w, size_t depth, size_t height, size_t step, size_t count) {
    const uc_extent *in = &w->plan->chain.in;
    uc_rows rows = uc_plan_rows(w->plan, w->pass, 0, count);
    /* Nothing is written through it. */
    rows.reals = (char *)(uintptr_t)uc_walk_input(w, 0, depth, height);
    rows.columns = uc_walk_columns(w, 0);
    rows.lanes = uc_extent_positions(in);
    rows.pitch = step * in->size[2];
    return rows;
}

void uc_rows_load(const uc_walk *w, size_t c, size_t depth, size_t height, size_t columns,
                  void *reals) {
    const uc_chain *chain = &w->plan->chain;
    const size_t bytes = w->plan->element_bytes;
    const char *row = uc_walk_input(w, c, depth, height);
    if (uc_plan_is_turned(w->plan)) {
        uc_turn_gather(uc_walk_turned_row(w), row, w->plan->in_step[2], columns, bytes);
        row = uc_walk_turned_row(w);
    } else if (c + UC_ROWS_AHEAD < chain->in.channels) {
        uc_fetch(row + UC_ROWS_AHEAD * uc_extent_positions(&chain->in) * bytes, columns * bytes);
    }
    w->plan->kernels->load(chain->dtype, row, reals, columns);
}

/* Rows to fill up to their columns. */
static uc_rows fresh_rows(const uc_walk *w, size_t stages, size_t count) {
    const uc_rows rows = uc_walk_rows(w, stages, count);
    const uc_kernels *kernels = w->plan->kernels;
    if (rows.columns % kernels->vector_lanes || rows.rows > 1)
        uc_clear_lanes(kernels, rows.reals, rows.lanes - kernels->vector_lanes, rows.lanes,
                       rows.lanes, rows.channels);
    return rows;
}

static void load_rows(const uc_walk *w, size_t depth, size_t height, size_t step, size_t count,
                      uc_rows *rows) {
    *rows = fresh_rows(w, 0, count);
    for (size_t c = 0; c < rows->channels; c++)
        for (size_t r = 0; r < count; r++)
            uc_rows_load(w, c, depth, height + r * step, rows->columns,
                         (char *)rows->reals +
                             (c * rows->lanes + r * rows->pitch) * w->plan->kernels->real_bytes);
}

/* Adds row `from_row` of `from` to row `into_row` of what a pool merges, or starts it with it. */
static void merge_row(const uc_walk *w, uc_op op, const uc_rows *into, size_t into_row,
                      const uc_rows *from, size_t from_row, bool first) {
    const uc_kernels *kernels = w->plan->kernels;
    const size_t bytes = kernels->real_bytes;
    for (size_t e = 0; e < from->phases; e++) {
        char *to = (char *)into->reals + (e * into->phase_step + into_row * into->pitch) * bytes;
        const char *with =
            (const char *)from->reals + (e * from->phase_step + from_row * from->pitch) * bytes;
        const size_t lanes = (from->columns - e - 1) / from->phases + 1;
        kernels->merge[op](to, into->lanes, with, from->lanes, from->channels, lanes, first);
    }
}

/* A pool merges the rows of its windows as they are made, phase by phase so that the weights of one
 * serve many rows, and then folds each row along the width. */
static void pool_rows(const uc_walk *w, size_t stages, size_t depth, size_t height, size_t count,
                      uc_rows *rows) {
    const uc_plan *plan = w->plan;
    const uc_stage *stage = &plan->chain.stage[stages - 1];
    const size_t *window = stage->window;
    const size_t step = uc_plan_step(plan, stages - 1);
    const size_t depth_step = step == 1 ? 1 : w->axis[0].stride;
    const bool borrow = stages == 1 && uc_plan_can_borrow(w->plan);
    uc_rows merged = count == w->pass->rows_made[stages]
                         ? w->pass->merged[stages]
                         : uc_plan_merged(plan, w->pass, stages, count);
    merged.reals = w->buffer + w->pass->merged_at[stages] * plan->kernels->real_bytes;
    merged.columns = uc_walk_columns(w, stages - 1);
    uc_clear_lanes(plan->kernels, merged.reals, merged.phase_step - plan->kernels->vector_lanes,
                   merged.phase_step, merged.phase_step, merged.channels * merged.phases);
    bool begun[UC_MAX_ROWS] = {false};

    const size_t front = depth * window[0], back = front + window[0];
    const size_t first = height * window[1], end = first + count * window[1];
    for (size_t start = front; start < front + depth_step && start < back; start++)
        for (size_t d = start; d < back; d += depth_step)
            for (size_t begin = first; begin < first + step && begin < end; begin++) {
                size_t left = (end - begin - 1) / step + 1;
                for (size_t h = begin; left;) {
                    const size_t most = w->pass->rows_made[stages - 1];
                    const size_t some = left < most ? left : most;
                    uc_rows made;
                    if (borrow)
                        made = uc_rows_borrow(w, d, h, step, some);
                    else
                        uc_rows_make(w, stages - 1, d, h, step, some, &made);
                    /* Rows of all windows in their order are merged at once. */
                    const bool all = !borrow && some == count && step == window[1] &&
                                     made.pitch == merged.pitch && made.lanes == merged.lanes;
                    if (all)
                        plan->kernels->merge[stage->op](merged.reals, merged.lanes, made.reals,
                                                        made.lanes, made.channels, made.lanes,
                                                        !begun[0]);
                    for (size_t r = 0; r < some; r++) {
                        const size_t target = all ? r : (h + r * step) / window[1] - height;
                        if (!all)
                            merge_row(w, stage->op, &merged, target, &made, r, !begun[target]);
                        begun[target] = true;
                    }
                    left -= some;
                    h += some * step;
                }
            }
    *rows = fresh_rows(w, stages, count);
    plan->kernels->fold[stage->op](&(uc_finish){.stage = stage}, &merged, rows);
}

/* Whether the input is pooled straight from its elements, where windows have two columns. */
static bool gathers(const uc_walk *w, size_t stages) {
    const uc_stage *stage = &w->plan->chain.stage[0];
    return stages == 1 && stage->window[2] == 2 && !uc_plan_is_turned(w->plan);
}

static void gather_rows(const uc_walk *w, size_t depth, size_t height, size_t count,
                        uc_rows *rows) {
    const uc_plan *plan = w->plan;
    const uc_extent *in = &plan->chain.in;
    const uc_finish finish = {.stage = &plan->chain.stage[0]};
    const size_t *window = finish.stage->window, bytes = plan->element_bytes;
    *rows = fresh_rows(w, 1, count);
    for (size_t c = 0; c < rows->channels; c++) {
        for (size_t d = 0; c + UC_ROWS_AHEAD < rows->channels && d < window[0]; d++)
            for (size_t h = 0; h < count * window[1]; h++)
                uc_fetch(uc_walk_input(w, c + UC_ROWS_AHEAD, depth * window[0] + d,
                                       height * window[1] + h),
                         2 * rows->columns * bytes);
        for (size_t r = 0; r < count; r++)
            plan->kernels->gather[finish.stage->op](
                &finish, plan->chain.dtype,
                uc_walk_input(w, c, depth * window[0], (height + r) * window[1]),
                (const size_t[]){in->size[1] * in->size[2], in->size[2]},
                (char *)rows->reals +
                    (c * rows->lanes + r * rows->pitch) * plan->kernels->real_bytes,
                rows->columns);
    }
}

uc_finish uc_rows_finish_of(const uc_walk *w, size_t s, const uc_summary *measured) {
    const uc_plan *plan = w->plan;
    const bool everything = uc_ops[plan->chain.stage[s].op].needs == UC_NEEDS_EVERYTHING;
    return (uc_finish){.stage = &plan->chain.stage[s],
                       .per_channel = plan->per_channel[s],
                       .summaries = everything ? uc_walk_summaries(w, s) : NULL,
                       .measured = everything ? measured : NULL,
                       .first_channel = s > plan->chain.conv_stage ? w->first_channel : 0,
                       .curve = plan->curve[s],
                       .curve_degree = plan->curve_degree[s],
                       .centred = s && s == plan->centred_stage};
}

/* Runs an op that changes rows in place, or adds its results to `sums`. */
static void finish_rows(const uc_walk *w, size_t s, uc_rows *rows, const uc_summary *measured,
                        void *sums) {
    const uc_stage *stage = &w->plan->chain.stage[s];
    if (w->plan->idle[s])
        return;
    uc_finish finish = uc_rows_finish_of(w, s, measured);
    finish.sums = sums;
    w->plan->kernels->finish[stage->op](&finish, rows);
    if (stage->out.channels < rows->channels) /* the op has summed them */
        rows->channels = stage->out.channels;
}

/* What rows may take to stay in L1 from one op to the next. */
#define STRIP_BYTES ((size_t)24 << 10)

void uc_rows_finish(const uc_walk *w, size_t first, size_t stages, uc_rows *rows,
                    const uc_summary *measured, char *sums) {
    const uc_plan *plan = w->plan;
    if (rows->channels * rows->lanes * plan->kernels->real_bytes <= STRIP_BYTES) {
        for (size_t s = first; s < stages; s++)
            finish_rows(w, s, rows, measured, s + 1 == stages ? sums : NULL);
        return;
    }
    const size_t group = 4 * plan->kernels->vector_lanes; /* that ops take at a time */
    const size_t fit = STRIP_BYTES / plan->kernels->real_bytes / rows->channels / group * group,
                 lanes = fit ? fit : group;
    uc_rows strip = *rows;
    for (size_t begin = 0; begin < rows->lanes; begin += strip.width) {
        const size_t left = rows->lanes - begin;
        strip.reals = (char *)rows->reals + begin * plan->kernels->real_bytes;
        strip.width = left < lanes ? left : lanes;
        strip.channels = rows->channels;
        for (size_t s = first; s < stages; s++)
            finish_rows(w, s, &strip, measured,
                        sums && s + 1 == stages ? sums + begin * plan->kernels->real_bytes : NULL);
    }
    rows->channels = strip.channels;
}

void uc_rows_make(const uc_walk *w, size_t stages, size_t depth, size_t height, size_t step,
                  size_t count, uc_rows *rows) {
    const size_t made = w->pass->made[stages];
    if (!made)
        load_rows(w, depth, height, step, count, rows);
    else if (made == w->plan->chain.conv_stage + 1)
        uc_fill_rows(w, depth, height, count, rows);
    else if (gathers(w, made))
        gather_rows(w, depth, height, count, rows);
    else
        pool_rows(w, made, depth, height, count, rows);
    if (made < stages)
        uc_rows_finish(w, made, stages, rows, NULL, NULL);
}
