/* The slab: the convolution's input of a band, with zeros around it.
 * Called by tile.c. */
#include "walk.h"

#include <string.h>

#include "memory.h"

/* Whether the convolution's input is the chain's, as reals. */
static bool borrows_rows(const uc_walk *w) {
    return w->plan->chain.conv_stage == 0 && uc_plan_can_borrow(w->plan);
}

void uc_slab_split(const uc_walk *w, size_t depth_index, size_t first, size_t count) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const size_t depth = (size_t)w->source[0].begin + depth_index,
                 height = (size_t)w->source[1].begin + first;
    const bool borrow = borrows_rows(w);
    uc_rows made;
    if (borrow)
        made = uc_rows_borrow(w, depth, height, 1, count);
    else
        uc_rows_make(w, plan->chain.conv_stage, depth, height, 1, count, &made);
    const uc_toom *width = plan->transforms[0].dim[2];
    char *to = uc_walk_slab(w) + (depth_index * pass->depth_step + first * pass->row_step) * bytes;
    for (size_t c = 0; c < conv->in.channels; c++) {
        const char *row = (const char *)made.reals + c * made.lanes * bytes;
        if (borrow && c + UC_ROWS_AHEAD < conv->in.channels)
            uc_fetch(row + UC_ROWS_AHEAD * made.lanes * bytes, count * conv->in.size[2] * bytes);
        for (size_t r = 0; r < count; r++)
            plan->kernels->split(row + r * made.pitch * bytes, conv->in.size[2], width->first,
                                 width->outputs,
                                 to + (r * pass->row_step + c * pass->channel_step) * bytes,
                                 pass->blocks->plane_step);
    }
    for (size_t r = 0; r < count; r++)
        plan->kernels->magnitudes((const char *)made.reals + r * made.pitch * bytes, made.lanes,
                                  conv->in.channels, conv->in.size[2],
                                  uc_walk_cells(w, depth_index * w->source[1].count + first + r));
}

/* As much as a thread clears at a time. */
#define CLEAR_BYTES ((size_t)64 << 10)

static size_t slab_bytes(const uc_walk *w) {
    return w->pass->slab_elems * w->plan->kernels->real_bytes;
}

size_t uc_slab_clears(const uc_walk *w) {
    return w->pass->copies > 1 ? (slab_bytes(w) - 1) / CLEAR_BYTES + 1 : 0;
}

void uc_slab_clear(const uc_walk *w, size_t i) {
    const size_t left = slab_bytes(w) - i * CLEAR_BYTES;
    memset(uc_walk_slab(w) + i * CLEAR_BYTES, 0, left < CLEAR_BYTES ? left : CLEAR_BYTES);
}

/* Copies a few bytes, a multiple of 4, without a call; and clears them. */
static inline void copy_short(char *to, const char *from, size_t bytes) {
    size_t i = 0;
    for (; i + 16 <= bytes; i += 16)
        memcpy(to + i, from + i, 16);
    if (bytes & 8) {
        memcpy(to + i, from + i, 8);
        i += 8;
    }
    if (bytes & 4)
        memcpy(to + i, from + i, 4);
}

static inline void clear_short(char *to, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 4)
        memset(to + i, 0, 4);
}

/* Some rows of all channels, which lie so many bytes apart, to all copies of the slab: the rows of
 * a channel are neighbours there, and mostly where they come from. In copies, which are many short
 * rows, all else is zero already. */
static void pack_copies(const uc_walk *w, const char *rows, size_t row_bytes, size_t channel_bytes,
                        size_t count, char *to) {
    const uc_pass *pass = w->pass;
    const size_t bytes = w->plan->kernels->real_bytes, in = w->axis[2].in, pitch = pass->pitch,
                 channels = w->plan->chain.stage[w->plan->chain.conv_stage].in.channels;
    for (size_t i = 0; i < pass->copies; i++) {
        /* Lane j is input `begin` + j. */
        const ptrdiff_t begin = pass->first + (ptrdiff_t)i;
        const size_t before = begin < 0 ? (size_t)-begin : 0,
                     skipped = begin < 0 ? 0 : (size_t)begin,
                     room = before < pitch ? pitch - before : 0,
                     left = skipped < in ? in - skipped : 0, some = left < room ? left : room;
        const bool joined = some == pitch && row_bytes == pitch * bytes;
        char *lanes = to + i * pass->copy_step * bytes;
        const char *from = rows + (some ? skipped : 0) * bytes;
        for (size_t c = 0; c < channels; c++) {
            if (!i && c + UC_ROWS_AHEAD < channels)
                uc_fetch(from + UC_ROWS_AHEAD * channel_bytes, some * bytes);
            if (joined)
                memcpy(lanes, from, count * row_bytes);
            for (size_t r = 0; !joined && r < count; r++) {
                char *row = lanes + r * pitch * bytes;
                if (pass->copies == 1) {
                    clear_short(row, before * bytes);
                    clear_short(row + (before + some) * bytes, (room - some) * bytes);
                }
                copy_short(row + before * bytes, from + r * row_bytes, some * bytes);
            }
            lanes += pass->channel_step * bytes;
            from += channel_bytes;
        }
    }
}

/* Some rows where rows run on. */
static void pack_narrow(const uc_walk *w, size_t depth, size_t height, size_t count, char *to) {
    const uc_plan *plan = w->plan;
    const size_t bytes = plan->kernels->real_bytes;
    if (borrows_rows(w)) {
        pack_copies(w, uc_walk_input(w, 0, depth, height), plan->chain.in.size[2] * bytes,
                    uc_extent_positions(&plan->chain.in) * bytes, count, to);
        return;
    }
    for (size_t r = 0; r < count; r++) {
        uc_rows made;
        uc_rows_make(w, plan->chain.conv_stage, depth, height + r, 1, 1, &made);
        pack_copies(w, made.reals, 0, made.lanes * bytes, 1, to + r * w->pass->row_step * bytes);
    }
}

/* A piece of a row where they don't: zeros before the first, the columns, zeros behind the last. */
#define SHORT_BYTES 64
static void pack_piece(const uc_walk *w, size_t depth, size_t height, char *to) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes;
    const size_t before = w->piece.begin - w->inputs.begin, columns = w->piece.count,
                 behind = before + columns == w->inputs.count
                              ? pass->pitch - pass->lead - before - columns
                              : 0;
    /* With no op before the convolution, rows are loaded where they belong; short ones are copied
     * where they may be. */
    const bool direct = plan->chain.conv_stage == 0,
               is_short = borrows_rows(w) && columns * bytes <= SHORT_BYTES;
    const char *from = is_short ? uc_walk_input(w, 0, depth, height) : NULL;
    const size_t channel_bytes = uc_extent_positions(&plan->chain.in) * bytes;
    uc_rows made = {0};
    if (!direct)
        uc_rows_make(w, plan->chain.conv_stage, depth, height, 1, 1, &made);
    for (size_t c = 0; c < plan->chain.stage[plan->chain.conv_stage].in.channels; c++) {
        char *row = to + c * pass->channel_step * bytes;
        if (!before)
            memset(row, 0, pass->lead * bytes);
        row += (pass->lead + before) * bytes;
        if (is_short)
            copy_short(row, from + c * channel_bytes, columns * bytes);
        else if (direct)
            uc_rows_load(w, c, depth, height, columns, row);
        else
            memcpy(row, (const char *)made.reals + c * made.lanes * bytes, columns * bytes);
        memset(row + columns * bytes, 0, behind * bytes);
    }
}

/* What is packed of a channel at a time, where rows run on: less is far from what a processor reads
 * best, but several threads should have some tasks each. */
#define PACK_BYTES 4096
#define PACK_TASKS 24

size_t uc_slab_rows(const uc_walk *w, size_t depths, size_t rows) {
    if (!w->pass->copies)
        return 1;
    const size_t most = PACK_BYTES / w->plan->kernels->real_bytes / w->pass->pitch,
                 fair = w->plan->threads == 1 ? rows : depths * rows / PACK_TASKS,
                 some = most < fair ? most : fair;
    return some ? some : 1;
}

/* Rows of the slab where rows run on: those that are inside of the input, zeros above and below. */
static void pack_rows(const uc_walk *w, size_t depth, ptrdiff_t first, size_t count, char *to) {
    const uc_pass *pass = w->pass;
    const uc_stage *conv = &w->plan->chain.stage[w->plan->chain.conv_stage];
    const size_t bytes = w->plan->kernels->real_bytes;
    const ptrdiff_t size = (ptrdiff_t)conv->in.size[1], end = first + (ptrdiff_t)count,
                    begin_inside = first < 0 ? 0 : first, end_inside = end < size ? end : size;
    for (ptrdiff_t h = first; pass->copies == 1 && h < end; h++)
        for (size_t c = 0; (h < 0 || h >= size) && c < conv->in.channels; c++)
            memset(to + ((size_t)(h - first) * pass->row_step + c * pass->channel_step) * bytes, 0,
                   pass->pitch * bytes);
    if (end_inside > begin_inside)
        pack_narrow(w, depth, (size_t)begin_inside, (size_t)(end_inside - begin_inside),
                    to + (size_t)(begin_inside - first) * pass->row_step * bytes);
}

void uc_slab_pack(const uc_walk *w, size_t depth_index, size_t first, size_t count) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const size_t bytes = plan->kernels->real_bytes,
                 at = depth_index * pass->depth_step + first * pass->row_step,
                 depth = (size_t)w->source[0].begin + depth_index;
    const ptrdiff_t height = w->source[1].begin + (ptrdiff_t)first;
    char *to = uc_walk_slab(w) + at * bytes;
    if (pass->copies)
        pack_rows(w, depth, height, count, to);
    for (size_t r = 0; !pass->copies && r < count; r++)
        pack_piece(w, depth, (size_t)height + r, to + r * pass->row_step * bytes);
    for (size_t r = first; plan->amx.kernels && r < first + count; r++) /* while they are hot */
        *uc_walk_spoilt(w, depth_index, r) = !uc_amx_row(
            &plan->amx, (const float *)(const void *)(to + (r - first) * pass->row_step * bytes),
            pass->channel_step, conv->in.channels, pass->pitch,
            uc_walk_pairs(w) + depth_index * pass->pair_depth_step + r * pass->pair_row_step,
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
    if (pass->copies <= 1)
        zero_rest(uc_walk_slab(w), w->plan->kernels->real_bytes,
                  several ? pass->channel_step : pass->depth_step,
                  several ? depths * channels : depths, rows * pass->row_step, pass->slab_elems);
    for (size_t i = 0; amx->kernels && i < amx->parts; i++)
        zero_rest(uc_walk_pairs(w) + i * pass->pair_elems, sizeof(uc_pair),
                  several ? pass->channel_step : pass->pair_depth_step,
                  several ? depths * amx->slices * amx->pairs : depths, rows * pass->pair_row_step,
                  pass->pair_elems);
}
