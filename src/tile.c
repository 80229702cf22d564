/* The tile loop: pack, then fill, finish and store rows.
 * Called by plan.c; calls the kernels. The serial twin of a pass:
 *
 *     for each batch item, for each band of depths and heights:
 *         pack the convolution's input for the band, with zeros around it
 *         for each run of rows in the band:
 *             make the rows: fill them from the slab, let each op finish them
 *             store them, or measure them for the stage that needs everything
 */
#include "tile.h"

#include <math.h>
#include <string.h>

#include "team.h"
#include "walk.h"

/* The summary of two sets of values together. */
static uc_summary merge_summaries(uc_summary a, uc_summary b) {
    /* Sums are relative to their largest value: bring both to the larger one. A NaN stays. */
    if (!(a.largest >= b.largest)) {
        const uc_summary swapped = a;
        a = b;
        b = swapped;
    }
    if (b.largest != b.largest)
        return b;
    if (a.largest == b.largest) /* also where both are infinite and have no difference */
        a.sum += b.sum;
    else if (b.largest != -INFINITY) /* a set of -inf alone adds nothing, though its sum is NaN */
        a.sum += b.sum * exp(b.largest - a.largest);
    return a;
}

/* All runs' measures of an item, merged in the runs' order: the same for any thread count. */
static void merge_measures(const uc_walk *w, size_t runs) {
    uc_summary *summaries = uc_walk_summaries(w, w->pass->stages) + w->first_channel;
    memcpy(summaries, uc_walk_measures(w, 0), w->channels * sizeof *summaries);
    for (size_t r = 1; r < runs; r++)
        for (size_t c = 0; c < w->channels; c++)
            summaries[c] = merge_summaries(summaries[c], uc_walk_measures(w, r)[c]);
}

/* The work of one band of one item. */
typedef struct band_work {
    const uc_walk *walk;
    bool blocks;          /* not runs */
    size_t count;         /* of runs or blocks */
    size_t whole, shares; /* of blocks: those that one thread makes; shares of each other one */
    bool packs;
    size_t depths, rows; /* of the slab */
    size_t runs_before;
} band_work;

/* The rows of the slab, some of a depth at a time. */
static void split_band(const band_work *work, const uc_walk *w, uc_member *member) {
    const size_t most = w->pass->rows_made[w->plan->chain.conv_stage],
                 groups = (work->rows + most - 1) / most;
    for (size_t i; uc_team_take(member, work->depths * groups + 1, &i);) {
        if (i == work->depths * groups) {
            uc_slab_rest(w, work->depths, work->rows);
            continue;
        }
        const size_t first = i % groups * most, left = work->rows - first;
        uc_slab_split(w, i / groups, first, left < most ? left : most);
    }
}

static void pack_band(const band_work *work, uc_walk *w, uc_member *member) {
    const size_t pieces = uc_parts(w->inputs.count, w->pass->piece),
                 most = uc_slab_rows(w, work->depths, work->rows),
                 groups = (work->rows + most - 1) / most, tasks = work->depths * groups * pieces;
    const size_t clears = uc_slab_clears(w);
    for (size_t i; clears && uc_team_take(member, clears, &i);)
        uc_slab_clear(w, i);
    for (size_t i; uc_team_take(member, tasks + 1, &i);) {
        if (i == tasks) {
            uc_slab_rest(w, work->depths, work->rows);
            continue;
        }
        const size_t group = i / pieces, first = group % groups * most, left = work->rows - first;
        if (pieces > 1) {
            w->piece = uc_part(w->inputs.count, w->pass->piece, i % pieces);
            w->piece.begin += w->inputs.begin;
        }
        uc_slab_pack(w, group / groups, first, left < most ? left : most);
    }
}

/* What one thread does of it. */
static void work_on_band(uc_member *member, void *context) {
    const band_work *work = context;
    uc_walk w = *work->walk;
    const uc_plan *plan = w.plan;
    const uc_pass *pass = w.pass;
    w.buffer = w.workspace + member->thread * plan->buffer_bytes;
    if (work->packs && plan->winograd)
        split_band(work, &w, member);
    else if (work->packs)
        pack_band(work, &w, member);
    for (size_t p = 0; p < plan->panels.count; p += pass->block_panels) {
        uc_walk_enter_panels(&w, p, pass->block_panels);
        const size_t things = work->whole + (work->count - work->whole) * work->shares;
        for (size_t i; uc_team_take(member, things, &i);) {
            const size_t share = i - work->whole;
            if (!work->blocks)
                uc_run_make(&w, i, work->runs_before);
            else if (i < work->whole)
                uc_block_make(&w, i, 0, 1);
            else
                uc_block_make(&w, work->whole + share / work->shares, share % work->shares,
                              work->shares);
        }
        if (!pass->keeps)
            continue;
        for (size_t i; uc_team_take(member, 1, &i);)
            merge_measures(&w, pass->runs);
        for (size_t i; uc_team_take(member, work->count, &i);)
            if (work->blocks)
                uc_block_resume(&w, i);
            else
                uc_run_resume(&w, i);
    }
}

/* The columns of a band: what it reads, and its first run's. */
static void enter_columns(uc_walk *w) {
    const uc_pass *pass = w->pass;
    const uc_chain *chain = &w->plan->chain;
    const size_t window = uc_plan_window(chain, pass->stages, 2);
    w->inputs = (uc_span){0, w->axis[2].in};
    if (pass->bands[2] > 1)
        w->inputs = uc_axis_sources(
            &w->axis[2], (uc_span){w->band[2].begin * window, w->band[2].count * window});
    w->piece = w->inputs;
    w->segments = uc_parts(w->band[2].count, pass->segment);
    if (pass->stages > chain->conv_stage)
        uc_run_enter(w, w->band[2]);
}

static void run_team(const uc_plan *plan, void (*work)(uc_member *member, void *context),
                     void *context) {
    uc_team_run(plan->threads, plan->streams ? plan->kernels->end_stream : NULL, work, context);
}

/* Packs and makes one band of one item. Returns how many runs it had. */
static size_t run_band(uc_walk *w, size_t runs_before) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    band_work work = {.walk = w, .shares = 1, .runs_before = runs_before};
    enter_columns(w);
    if (pass->stages > plan->chain.conv_stage) {
        for (size_t i = 0; i < 2; i++)
            w->source[i] = uc_plan_reach(plan, pass, i, w->band[i]);
        work.packs = !plan->borrows;
        work.depths = w->source[0].count;
        work.rows = w->source[1].count;
        work.blocks = plan->winograd;
    }
    if (work.blocks) {
        work.count = uc_block_count(w);
        work.shares = uc_block_shares(w);
        work.whole = uc_block_whole(w, work.count);
    } else {
        w->classes = uc_run_count(w);
        work.whole = work.count = w->classes.all * w->band[0].count * w->segments * pass->parts;
    }
    run_team(plan, work_on_band, &work);
    return work.count;
}

/* What one thread does of an item's laid rows, when all has been measured. */
static void multiply_laid(uc_member *member, void *context) {
    const uc_walk *w = context;
    const size_t pieces = uc_run_laid_pieces(w);
    for (size_t i; uc_team_take(member, w->channels * pieces, &i);)
        uc_run_multiply_laid(w, i / pieces, i % pieces);
}

void uc_tile_run(const uc_plan *plan, const void *input, void *output, char *workspace) {
    uc_walk w = {.plan = plan, .input = input, .output = output, .workspace = workspace};
    for (size_t i = 0; i < UC_SPACE; i++)
        w.axis[i] = uc_axis_of(&plan->chain.stage[plan->chain.conv_stage], i);
    for (size_t p = 0; p < plan->pass_count; p++) {
        w.pass = &plan->pass[p];
        for (w.item = 0; w.item < plan->chain.batch_size; w.item++) {
            size_t runs = 0;
            for (size_t b = 0; b < w.pass->bands[0] * w.pass->bands[1] * w.pass->bands[2]; b++) {
                const size_t rows = b / w.pass->bands[2],
                             at[2] = {rows / w.pass->bands[1], rows % w.pass->bands[1]};
                w.band[2] = uc_part(w.pass->extent.size[2], w.pass->band[2], b % w.pass->bands[2]);
                for (size_t i = 0; i < 2; i++) {
                    const size_t begin = at[i] * w.pass->band[i],
                                 left = w.pass->extent.size[i] - begin;
                    w.band[i] = (uc_span){begin, left < w.pass->band[i] ? left : w.pass->band[i]};
                }
                runs += run_band(&w, runs);
            }
            if (w.pass->stages < plan->chain.stage_count && !w.pass->keeps) {
                w.first_channel = 0;
                w.channels = w.pass->extent.channels;
                merge_measures(&w, w.pass->runs);
                if (w.pass->lays)
                    run_team(plan, multiply_laid, &w);
            }
        }
    }
}
