/* Blocks of rows, of a Winograd convolution: made, then stored or measured.
 * Called by tile.c. */
#include "walk.h"

#include <math.h>

#include "memory.h"

/* The tiles that a band has: the first depth and row of them, and how many. */
typedef struct tiles {
    size_t depth, depths, row, rows;
} tiles;

static tiles find_tiles(const uc_walk *w) {
    const uc_pass *pass = w->pass;
    const uc_span *band = w->band;
    return (tiles){.depth = band[0].begin / pass->block[0],
                   .depths = (band[0].count - 1) / pass->block[0] + 1,
                   .row = band[1].begin / pass->step,
                   .rows = (band[1].count - 1) / pass->step + 1};
}

/* How many blocks of a part a depth of the band has, and all of them. */
static size_t depth_blocks(const uc_blocks *blocks, const tiles *band) {
    return (band->rows - 1) / blocks->tile_rows + 1;
}

static size_t part_blocks(const uc_blocks *blocks, const tiles *band) {
    if (!blocks->tiles[2])
        return 0;
    return blocks->across ? uc_blocks_count(blocks, band->depths)
                          : depth_blocks(blocks, band) * band->depths;
}

size_t uc_block_count(const uc_walk *w) {
    const tiles band = find_tiles(w);
    size_t count = 0;
    for (size_t i = 0; i < UC_BLOCK_PARTS; i++)
        count += part_blocks(&w->pass->blocks[i], &band);
    return count;
}

/* Takes the part that a block belongs to, and returns its number in that. */
static size_t enter_part(uc_walk *w, const tiles *band, size_t number) {
    const uc_blocks *blocks = w->pass->blocks;
    const size_t first = part_blocks(&blocks[0], band);
    const bool second = number >= first;
    if (w->blocks != &blocks[second] && blocks[1].tiles[2]) {
        const size_t columns = w->pass->extent.size[2],
                     cut = blocks[1].first_tile * uc_toom_tile(w->plan->transforms[0].dim[2]);
        uc_run_enter(w, second ? (uc_span){cut, columns - cut} : (uc_span){0, cut});
    }
    w->blocks = &blocks[second];
    return second ? number - first : number;
}

/* Block `number` of a band. */
static uc_block enter_block(uc_walk *w, size_t number) {
    const tiles band = find_tiles(w);
    const size_t in_part = enter_part(w, &band, number);
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const uc_blocks *blocks = w->blocks;
    const size_t bytes = plan->kernels->real_bytes;
    uc_block block = {.winograd = &plan->transforms[0],
                      .plain = &plan->transforms[1],
                      .blocks = blocks,
                      .slab = uc_walk_slab(w),
                      .zeros = uc_walk_slab(w) + w->source[0].count * pass->depth_step * bytes,
                      .magnitudes = uc_walk_cells(w, 0),
                      .cells = uc_walk_cell_count(w),
                      .limit = plan->limit,
                      .least = plan->least,
                      .source = {w->source[0].begin, w->source[1].begin},
                      .sources = {w->source[0].count, w->source[1].count},
                      .depth_step = pass->depth_step,
                      .row_step = pass->row_step,
                      .channel_step = pass->channel_step,
                      .first_panel = w->first_panel,
                      .panels = w->panels,
                      .scratch = w->buffer + pass->scratch_at * bytes};
    size_t end; /* of the rows of tiles that it may have */
    if (blocks->across) {
        block.row = band.depth * blocks->tiles[1] + in_part * blocks->tile_rows;
        end = (band.depth + band.depths) * blocks->tiles[1];
    } else {
        const size_t of_depth = depth_blocks(blocks, &band),
                     depth = (band.depth + in_part / of_depth) * blocks->tiles[1];
        block.row = depth + band.row + in_part % of_depth * blocks->tile_rows;
        end = depth + band.row + band.rows;
    }
    block.rows = end - block.row < blocks->tile_rows ? end - block.row : blocks->tile_rows;
    return block;
}

/* The rows of a block that lie (depth, height) after the first of their tiles in the pass's space,
 * a step apart: from row `first` on, as many as are there and share a depth. `next`: the row behind
 * them, or behind those that are not there. */
static uc_run_rows find_rows(const uc_walk *w, const uc_block *block, size_t depth, size_t height,
                             size_t first, size_t *next) {
    const uc_pass *pass = w->pass;
    const uc_extent *extent = &pass->extent;
    const size_t tile = block->row + first, heights = block->blocks->tiles[1];
    const size_t of_depth = heights - tile % heights, of_block = block->rows - first;
    const size_t rows = of_depth < of_block ? of_depth : of_block;
    *next = first + rows;
    depth += tile / heights * pass->block[0];
    height += tile % heights * pass->step;
    if (depth >= extent->size[0] || height >= extent->size[1])
        return (uc_run_rows){0};
    const size_t left = (extent->size[1] - height - 1) / pass->step + 1;
    return (uc_run_rows){depth, height, left < rows ? left : rows};
}

/* Whether any of them is there. */
static bool any_rows(const uc_walk *w, const uc_block *block, size_t depth, size_t height) {
    bool any = false;
    for (size_t r = 0; r < block->rows;)
        any = find_rows(w, block, depth, height, r, &r).count || any;
    return any;
}

/* Of a pass that measures, whose blocks have one depth: the number of a set of rows among all of an
 * item. */
static size_t set_number(const uc_walk *w, const uc_block *block, size_t set) {
    const uc_blocks *blocks = block->blocks;
    return (block->row / blocks->tiles[1] * blocks->groups +
            block->row % blocks->tiles[1] / blocks->tile_rows) *
               w->pass->sets +
           set;
}

/* The last stages of a set of rows that lie (depth, height) after the first of their tiles, then
 * stores or measures it. */
static void finish_set(const uc_walk *w, const uc_block *block, size_t depth, size_t height,
                       size_t first, uc_rows *rows, size_t set) {
    const uc_pass *pass = w->pass;
    const bool measured = pass->stages < w->plan->chain.stage_count,
               any = any_rows(w, block, depth, height);
    if (any)
        uc_rows_finish(w, first, uc_run_last_stages(pass), rows, NULL, NULL);
    for (size_t r = 0, next; any && !measured && r < block->rows; r = next) {
        const uc_run_rows run = find_rows(w, block, depth, height, r, &next);
        uc_rows some = *rows;
        some.first_lane = r * rows->pitch;
        some.reals = (char *)rows->reals + some.first_lane * w->plan->kernels->real_bytes;
        if (run.count)
            uc_run_store(w, &run, &some, NULL);
    }
    if (!measured)
        return;
    uc_summary *measures = uc_walk_measures(w, set_number(w, block, set));
    size_t next;
    rows->rows = find_rows(w, block, depth, height, 0, &next).count;
    if (any)
        uc_run_measure(w, rows, measures);
    const size_t channels = pass->keeps ? w->channels : pass->extent.channels;
    for (size_t c = 0; !any && c < channels; c++)
        measures[c] = (uc_summary){-INFINITY, 0};
}

/* The sets of a block as they come from the convolution: phase by phase. */
typedef struct set_at {
    size_t phase[2], output[2];
} set_at;

static set_at find_set(const uc_walk *w, size_t set) {
    const uc_toom *const *dim = w->plan->transforms[0].dim;
    const size_t outputs = dim[0]->outputs * dim[1]->outputs, phase = set / outputs;
    return (set_at){{phase / dim[1]->stride, phase % dim[1]->stride},
                    {set % outputs / dim[1]->outputs, set % dim[1]->outputs}};
}

/* Where it lies in a tile of the convolution, along depth (0) or height (1). */
static size_t set_offset(const uc_walk *w, const set_at *at, size_t dimension) {
    return at->output[dimension] * w->plan->transforms[0].dim[dimension]->stride +
           at->phase[dimension];
}

/* Fills a set of rows of the convolution; those of one phase are filled together. reals: where, or
 * NULL. */
static uc_rows fill_set(const uc_walk *w, const uc_block *block, const set_at *at, size_t set,
                        char *reals) {
    const uc_plan *plan = w->plan;
    const size_t outputs = plan->outputs[0] * plan->outputs[1], of_phase = set % outputs;
    uc_rows rows = uc_walk_rows(w, plan->chain.conv_stage + 1, w->blocks->tile_rows);
    size_t elems = rows.channels * rows.lanes;
    if (w->pass->keeps) {
        elems = w->pass->kept_elems;
        rows.reals = uc_walk_kept(w, set_number(w, block, set - of_phase));
    }
    if (reals)
        rows.reals = reals;
    if (!of_phase)
        uc_winograd_fill(block, at->phase[0], at->phase[1], rows.reals, elems);
    rows.reals = (char *)rows.reals + of_phase * elems * plan->kernels->real_bytes;
    return rows;
}

/* Makes the sets [first, end), whole phases of them, measures and lays them down: all of a phase at
 * once. */
static void lay_sets(const uc_walk *w, const uc_block *block, size_t first, size_t end) {
    const uc_plan *plan = w->plan;
    const size_t outputs = plan->outputs[0] * plan->outputs[1], conv = plan->chain.conv_stage + 1;
    _Static_assert(UC_SETS >= UC_TOOM_OUTPUTS * UC_TOOM_OUTPUTS, "all sets of a phase at once");
    for (size_t set = first; set < end; set += outputs) {
        const set_at phase = find_set(w, set);
        uc_sets sets = {.rows = fill_set(w, block, &phase, set, NULL), .count = outputs};
        sets.step = sets.rows.channels * sets.rows.lanes;
        for (size_t i = 0; i < outputs; i++) {
            const set_at at = find_set(w, set + i);
            size_t next;
            const uc_run_rows run =
                find_rows(w, block, set_offset(w, &at, 0), set_offset(w, &at, 1), 0, &next);
            uc_run_place(w, &run, &sets, i);
            uc_rows rows = sets.rows;
            rows.reals = (char *)rows.reals + i * sets.step * plan->kernels->real_bytes;
            if (run.count)
                uc_rows_finish(w, conv, uc_run_last_stages(w->pass), &rows, NULL, NULL);
        }
        sets.rows.channels = w->pass->extent.channels; /* an op may have summed them */
        uc_run_lay(w, &sets, uc_walk_measures(w, set_number(w, block, set) / outputs));
    }
}

size_t uc_block_shares(const uc_walk *w) {
    const uc_chain *chain = &w->plan->chain;
    const bool pool = w->pass->made[w->pass->stages] != chain->conv_stage + 1;
    return pool ? 1 : w->axis[0].stride * w->axis[1].stride;
}

size_t uc_block_whole(const uc_walk *w, size_t blocks) {
    const size_t threads = w->plan->threads, shares = uc_block_shares(w);
    if (shares == 1)
        return blocks;
    /* How long it takes, in whole blocks, if the last ones are cut: none, all, or those that not
     * every thread has one of. */
    const size_t cut[] = {0, blocks % threads, blocks};
    size_t whole = blocks;
    double least = INFINITY;
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        const double time =
            (double)(uc_round_up(blocks - cut[i], threads) / threads) +
            (double)(uc_round_up(cut[i] * shares, threads) / threads) * w->pass->share;
        if (time < least) {
            least = time;
            whole = blocks - cut[i];
        }
    }
    return whole;
}

void uc_block_make(uc_walk *w, size_t number, size_t share, size_t shares) {
    const uc_chain *chain = &w->plan->chain;
    const uc_pass *pass = w->pass;
    uc_block block = enter_block(w, number);
    const size_t phases = w->axis[0].stride * w->axis[1].stride / shares;
    uc_winograd_combine(&block, phases * share, phases);
    const size_t sets =
        w->plan->outputs[0] * w->plan->outputs[1] * w->axis[0].stride * w->axis[1].stride;
    const size_t made = w->pass->made[pass->stages], conv = chain->conv_stage + 1;
    if (pass->lays) {
        lay_sets(w, &block, sets / shares * share, sets / shares * (share + 1));
        return;
    }
    if (made == conv) {
        for (size_t set = sets / shares * share; set < sets / shares * (share + 1); set++) {
            const set_at at = find_set(w, set);
            uc_rows rows = fill_set(w, &block, &at, set, NULL);
            finish_set(w, &block, set_offset(w, &at, 0), set_offset(w, &at, 1), conv, &rows, set);
        }
        return;
    }

    /* A pool merges each set into that of its windows, and then folds those along the width. */
    const uc_stage *pool = &chain->stage[made - 1];
    uc_rows merged = pass->merged[made];
    const size_t merged_bytes = merged.channels * merged.lanes * w->plan->kernels->real_bytes;
    char *memory = w->buffer + pass->merged_at[made] * w->plan->kernels->real_bytes;
    bool begun[UC_TOOM_STRIDE * UC_TOOM_OUTPUTS * UC_TOOM_STRIDE * UC_TOOM_OUTPUTS] = {false};
    /* Where windows have one row of each phase, those of the first are made in their place. An
     * average behind a norm takes results from it as they are made. */
    const bool one_each =
        pool->window[0] == w->axis[0].stride && pool->window[1] == w->axis[1].stride;
    const bool adds =
        pool->op == UC_OP_avgpool && chain->stage[made - 2].op == UC_OP_layernorm_channel;
    for (size_t set = 0; set < sets; set++) {
        const set_at at = find_set(w, set);
        const bool in_place = one_each && set < pass->sets;
        uc_rows rows = fill_set(w, &block, &at, set, in_place ? memory : NULL);
        const size_t depth = set_offset(w, &at, 0) / pool->window[0],
                     height = set_offset(w, &at, 1) / pool->window[1];
        if (!any_rows(w, &block, depth, height))
            continue;
        const size_t target = depth * pass->step + height;
        char *into = memory + target * merged_bytes;
        const bool added = adds && begun[target];
        uc_rows_finish(w, conv, made - 1, &rows, NULL, added ? into : NULL);
        if (!in_place && !added)
            w->plan->kernels->merge[pool->op](into, merged.lanes, rows.reals, rows.lanes,
                                              rows.channels, rows.lanes, !begun[target]);
        begun[target] = true;
    }
    for (size_t target = 0; target < pass->sets; target++) {
        uc_rows rows = uc_walk_rows(w, made, w->blocks->tile_rows);
        merged.reals = memory + target * merged_bytes;
        if (begun[target])
            w->plan->kernels->fold[pool->op](&(uc_finish){.stage = pool}, &merged, &rows);
        finish_set(w, &block, target / pass->step, target % pass->step, made, &rows, target);
    }
}

void uc_block_resume(uc_walk *w, size_t number) {
    const uc_block block = enter_block(w, number);
    for (size_t set = 0; set < w->pass->sets; set++) {
        const set_at at = find_set(w, set);
        size_t next;
        const uc_run_rows run =
            find_rows(w, &block, set_offset(w, &at, 0), set_offset(w, &at, 1), 0, &next);
        if (!run.count)
            continue;
        const size_t index = set_number(w, &block, set);
        uc_rows rows = uc_walk_rows(w, w->plan->chain.conv_stage + 1, run.count);
        rows.reals = uc_walk_kept(w, index);
        uc_run_store_kept(w, &run, &rows, uc_walk_measures(w, index));
    }
}
