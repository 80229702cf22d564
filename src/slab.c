/* The slab: the convolution's input of a band, with zeros around it.
 * Called by tile.c. */
#include "walk.h"

#include <string.h>

#include "memory.h"

void uc_slab_split(const uc_walk *w, size_t depth_index, size_t row_index) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const size_t depth = (size_t)w->source[0].begin + depth_index,
                 height = (size_t)w->source[1].begin + row_index;
    const bool borrow = plan->chain.conv_stage == 0 && uc_plan_can_borrow(w->plan);
    uc_rows made;
    if (borrow)
        made = uc_rows_borrow(w, depth, height, 1, 1);
    else
        uc_rows_make(w, plan->chain.conv_stage, depth, height, 1, 1, &made);
    const uc_toom *width = plan->transforms[0].dim[2];
    for (size_t c = 0; c < conv->in.channels; c++) {
        const char *row = (const char *)made.reals + c * made.lanes * bytes;
        if (borrow && c + UC_ROWS_AHEAD < conv->in.channels)
            uc_fetch(row + UC_ROWS_AHEAD * made.lanes * bytes, conv->in.size[2] * bytes);
        plan->kernels->split(row, conv->in.size[2], width->first, width->outputs,
                             uc_walk_slab(w) +
                                 (depth_index * pass->depth_step + row_index * pass->row_step +
                                  c * pass->channel_step) *
                                     bytes,
                             pass->blocks.plane_step);
    }
    const size_t row = depth_index * w->source[1].count + row_index;
    plan->kernels->magnitudes(made.reals, made.lanes, conv->in.channels, conv->in.size[2],
                              uc_walk_cells(w, row));
}

void uc_slab_pack(const uc_walk *w, size_t depth_index, size_t row_index) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const size_t before = w->piece.begin - w->inputs.begin, columns = w->piece.count;
    const bool last = before + columns == w->inputs.count;
    const size_t depth = (size_t)w->source[0].begin + depth_index;
    const ptrdiff_t row_input = w->source[1].begin + (ptrdiff_t)row_index;
    const size_t height = (size_t)row_input;
    const bool zeros = row_input < 0 || height >= conv->in.size[1];

    /* With no op before the convolution, rows are loaded where they belong. */
    const bool direct = plan->chain.conv_stage == 0;
    uc_rows made = {0};
    if (!zeros && !direct)
        uc_rows_make(w, plan->chain.conv_stage, depth, height, 1, 1, &made);
    for (size_t c = 0; c < conv->in.channels; c++) {
        char *row = uc_walk_slab(w) + (depth_index * pass->depth_step + row_index * pass->row_step +
                                       c * pass->channel_step) *
                                          bytes;
        if (zeros) {
            memset(row, 0, before ? 0 : pass->pitch * bytes);
            continue;
        }
        if (!before)
            memset(row, 0, pass->lead * bytes);
        row += (pass->lead + before) * bytes;
        if (direct)
            uc_rows_load(w, c, depth, height, columns, row);
        else
            memcpy(row, (const char *)made.reals + c * made.lanes * bytes, columns * bytes);
        if (last)
            memset(row + columns * bytes, 0, (pass->pitch - pass->lead - before - columns) * bytes);
    }
    if (plan->amx.kernels) /* from the reals, while they are hot */
        *uc_walk_spoilt(w, depth_index, row_index) =
            !uc_amx_row(&plan->amx,
                        (const float *)(const void *)uc_walk_slab(w) +
                            depth_index * pass->depth_step + row_index * pass->row_step,
                        pass->channel_step, conv->in.channels, pass->pitch,
                        uc_walk_pairs(w) + depth_index * pass->pair_depth_step +
                            row_index * pass->pair_row_step,
                        pass->pair_elems);
}

/* The zeros behind the last row serve its end as those between rows do: behind a slab, and behind
 * each part of it that its rows don't fill, be it a depth or, where rows run on, a channel of it.
 */
static void zero_rest(void *slab, size_t bytes, size_t part, size_t parts, size_t filled,
                      size_t elems) {
    for (size_t i = 0; i < parts; i++)
        memset((char *)slab + (i * part + filled) * bytes, 0, (part - filled) * bytes);
    memset((char *)slab + parts * part * bytes, 0, (elems - parts * part) * bytes);
}

void uc_slab_rest(const uc_walk *w, size_t depths, size_t rows) {
    const uc_pass *pass = w->pass;
    const uc_amx *amx = &w->plan->amx;
    const bool several = pass->conv_rows > 1;
    const size_t channels = w->plan->chain.stage[w->plan->chain.conv_stage].in.channels;
    zero_rest(uc_walk_slab(w), w->plan->kernels->real_bytes,
              several ? pass->channel_step : pass->depth_step, several ? depths * channels : depths,
              rows * pass->row_step, pass->slab_elems);
    for (size_t i = 0; amx->kernels && i < amx->parts; i++)
        zero_rest(uc_walk_pairs(w) + i * pass->pair_elems, sizeof(uc_pair),
                  several ? pass->channel_step : pass->pair_depth_step,
                  several ? depths * amx->slices * amx->pairs : depths, rows * pass->pair_row_step,
                  pass->pair_elems);
}
