/* One walk over a pass, as all of its rooms see it, and what they do for each other.
 * tile.c goes over bands; slab.c packs the input; run.c makes runs of rows and block.c blocks of
 * them; rows.c has the rows of every stage, fill.c, spread.c and cast.c those of the convolution.
 */
#ifndef UC_WALK_H
#define UC_WALK_H

#include "plan.h"

/* How the rows of one depth go into runs, see uc_run_count(). */
typedef struct uc_run_classes {
    size_t rows, longer;
    size_t runs, runs_longer; /* of a class */
    size_t all;
} uc_run_classes;

/* Where a run's rows are. */
typedef struct uc_run_rows {
    size_t depth, height, count;
} uc_run_rows;

/* One batch item and band of a pass, as every thread sees it. */
typedef struct uc_walk {
    const uc_plan *plan;
    const uc_pass *pass;
    const void *input;
    void *output;
    char *workspace;
    size_t item;
    uc_span band[UC_SPACE];     /* of the pass's space */
    uc_reach source[2];         /* depths and heights that the slab holds for it */
    uc_span inputs;             /* columns that it holds */
    uc_span piece;              /* and those that are loaded */
    uc_span segment;            /* columns of this run */
    uc_span products;           /* and those of the inputs that it reads */
    uc_run_classes classes;     /* of the runs of one depth of the band */
    size_t segments;            /* of the band: each has them all */
    const uc_blocks *blocks;    /* those of the part of its rows that it is at; or NULL */
    uc_axis axis[UC_SPACE];     /* of the convolution */
    uc_taps first_column;       /* of the run, along its width */
    size_t lanes;               /* of a phase along the width, behind the first whole_phases */
    size_t whole_phases;        /* of them one less */
    size_t first_panel, panels; /* the block of output channels */
    size_t first_channel, channels;
    char *kept;    /* where the rows of this run are kept, or NULL */
    char *buffer;  /* of this thread */
    uc_rows blank; /* this thread's last, if no tap reaches them: all such are the same */
} uc_walk;

/* The block of output channels that starts at a panel and has at most so many. */
static inline void uc_walk_enter_panels(uc_walk *w, size_t first_panel, size_t most) {
    const uc_panels cut = w->plan->panels;
    const size_t left = cut.count - first_panel;
    w->first_panel = first_panel;
    w->panels = left < most ? left : most;
    w->first_channel = uc_panel_begin(cut, first_panel);
    w->channels = uc_panel_begin(cut, first_panel + w->panels) - w->first_channel;
}

static inline char *uc_walk_slab(const uc_walk *w) {
    return w->workspace + w->plan->slab_offset;
}

/* Magnitudes of a row of the slab, cell by cell of its columns. */
static inline size_t uc_walk_cell_count(const uc_walk *w) {
    return (w->axis[2].in - 1) / w->plan->kernels->vector_lanes + 1;
}

static inline char *uc_walk_cells(const uc_walk *w, size_t row) {
    return w->workspace + w->plan->cells_offset +
           row * uc_walk_cell_count(w) * w->plan->kernels->real_bytes;
}

/* AMX: the slab of pairs, and which of its rows must not be used. */
static inline uc_pair *uc_walk_pairs(const uc_walk *w) {
    return (uc_pair *)(void *)(w->workspace + w->plan->pairs_offset);
}

static inline bool *uc_walk_spoilt(const uc_walk *w, size_t depth_index, size_t row_index) {
    return (bool *)(void *)(w->workspace + w->plan->spoilt_offset) +
           depth_index * w->source[1].count + row_index;
}

static inline uc_summary *uc_walk_summaries(const uc_walk *w, size_t stage) {
    return (uc_summary *)(void *)(w->workspace + w->plan->summary_offset[stage]) +
           w->item * w->plan->chain.stage[stage].in.channels;
}

static inline uc_summary *uc_walk_measures(const uc_walk *w, size_t run) {
    return (uc_summary *)(void *)(w->workspace + w->plan->measures_offset) +
           run * w->pass->extent.channels; /* a block uses the first of them */
}

/* Columns of a row of what stages [0, stages) make: of the run behind the convolution, of the band
 * before it. */
static inline size_t uc_walk_columns(const uc_walk *w, size_t stages) {
    const uc_pass *pass = w->pass;
    const size_t conv = w->plan->chain.conv_stage;
    if (pass->stages <= conv)
        return pass->columns[stages];
    return pass->scale[stages] * (stages > conv ? w->segment.count : w->piece.count);
}

static inline uc_rows uc_walk_rows(const uc_walk *w, size_t stages, size_t count) {
    uc_rows rows = count == w->pass->rows_made[stages]
                       ? w->pass->shape[stages]
                       : uc_plan_rows(w->plan, w->pass, stages, count);
    rows.reals = w->buffer + w->pass->rows_at[stages] * w->plan->kernels->real_bytes;
    rows.columns = uc_walk_columns(w, stages);
    if (stages > w->plan->chain.conv_stage && w->blocks) {
        rows.pitch = w->blocks->tiles[2];
        rows.phase_step = w->blocks->lanes;
        rows.lanes = rows.width = rows.phases * rows.phase_step;
    }
    if (stages > w->plan->chain.conv_stage && (w->pass->keeps || w->pass->run_panels))
        rows.channels = w->channels;
    if (stages > w->plan->chain.conv_stage && w->pass->keeps)
        rows.reals = w->kept;
    return rows;
}

/* Bytes from a tensor's begin to a row. step: elements from one depth or height to the next. */
static inline size_t uc_walk_row_offset(const uc_walk *w, const uc_extent *extent,
                                        const size_t step[UC_SPACE], size_t c, size_t depth,
                                        size_t height) {
    const size_t channel = w->item * extent->channels + c;
    return (channel * uc_extent_positions(extent) + depth * step[0] + height * step[1]) *
           w->plan->element_bytes;
}

/* The first column of a row of the input that is loaded. */
static inline const char *uc_walk_input(const uc_walk *w, size_t c, size_t depth, size_t height) {
    const uc_plan *plan = w->plan;
    const char *row = (const char *)w->input +
                      uc_walk_row_offset(w, &plan->chain.in, plan->in_step, c, depth, height);
    if (!w->piece.begin)
        return row;
    return row + w->piece.begin * w->pass->scale[0] * plan->in_step[2] * plan->element_bytes;
}

/* A row of elements that are brought together before they are loaded, or stored before they go
 * apart. */
static inline char *uc_walk_turned_row(const uc_walk *w) {
    return w->buffer + w->pass->turned_at * w->plan->kernels->real_bytes;
}

/* Where run `number` has its rows that are kept. */
static inline char *uc_walk_kept(const uc_walk *w, size_t number) {
    return w->workspace + w->plan->kept_offset +
           number * w->pass->kept_elems * w->plan->kernels->real_bytes;
}

/* The lower halves of an item's laid rows, in the output's order; NULL where elements are reals. */
static inline char *uc_walk_rest(const uc_walk *w) {
    return uc_plan_can_borrow(w->plan) ? NULL : w->workspace + w->plan->rest_offset;
}

/* ---- rows.c ---- */

/* Rows of the input where they are, for reading: the reals are the elements. */
uc_rows uc_rows_borrow(const uc_walk *w, size_t depth, size_t height, size_t step, size_t count);

/* Every channel of the input is a page of its own, which no processor foresees: rows are fetched so
 * many channels ahead. */
#define UC_ROWS_AHEAD 4

/* Loads columns of a row of the input, from the band's first on. */
void uc_rows_load(const uc_walk *w, size_t c, size_t depth, size_t height, size_t columns,
                  void *reals);

/* Rows height, height + step, ... of one depth, as the stages [0, stages) make them. `rows` is set,
 * not returned: a copy would wait for what was just written. */
void uc_rows_make(const uc_walk *w, size_t stages, size_t depth, size_t height, size_t step,
                  size_t count, uc_rows *rows);

/* What the op of a stage gets. measured: of its rows, if they are as measured. */
uc_finish uc_rows_finish_of(const uc_walk *w, size_t s, const uc_summary *measured);

/* Runs the ops of stages [first, stages): those don't look sideways, and take a strip of lanes
 * through all of them before the next strip. sums: NULL, or rows of the same shape that the last op
 * adds its results to. */
void uc_rows_finish(const uc_walk *w, size_t first, size_t stages, uc_rows *rows,
                    const uc_summary *measured, char *sums);

/* ---- fill.c ---- */

/* Rows height, height + stride, ... of one depth. */
void uc_fill_rows(const uc_walk *w, size_t depth, size_t height, size_t count, uc_rows *rows);

/* The rows of a run, in one part of the channels, into the output. */
void uc_fill_pour(const uc_walk *w, const uc_run_rows *rows, size_t part);

/* ---- spread.c ---- */

/* Rows height, height + 1, ... of one depth, with few channels. */
void uc_spread_fill(const uc_walk *w, size_t depth, size_t height, const uc_rows *rows);

/* ---- cast.c ---- */

/* Rows height, height + 1, ... of one depth, by way of outputs with their channels in lanes. */
void uc_cast_fill(const uc_walk *w, size_t depth, size_t height, const uc_rows *rows);

/* ---- slab.c ---- */

/* Some rows of the slab in planes, and how large their values are. */
void uc_slab_split(const uc_walk *w, size_t depth_index, size_t first, size_t count);

/* A slab in copies is cleared first, in so many parts; part i of it. */
size_t uc_slab_clears(const uc_walk *w);
void uc_slab_clear(const uc_walk *w, size_t i);

/* How many rows of the slab, which has so many, are packed at a time. */
size_t uc_slab_rows(const uc_walk *w, size_t depths, size_t rows);

/* Some rows of the slab, or a piece of them, in all channels. */
void uc_slab_pack(const uc_walk *w, size_t depth_index, size_t first, size_t count);

/* The zeros behind the last row, behind each part of the slab that rows don't fill, and at its end.
 */
void uc_slab_rest(const uc_walk *w, size_t depths, size_t rows);

/* ---- run.c ---- */

/* How the rows of one depth of a band go into runs: rows a step apart share one. Those from the
 * band's first row on are a class, those from the second another, and so on: `longer` such classes
 * of `rows` + 1 rows, then as many as are left of a step of `rows`. */
uc_run_classes uc_run_count(const uc_walk *w);

/* Sets which columns a run has, of the pass's space. */
void uc_run_enter(uc_walk *w, uc_span segment);

/* Makes a run's rows, and stores or measures them. */
void uc_run_make(uc_walk *w, size_t number, size_t runs_before);

/* Goes on from a run's rows as they were measured and kept. */
void uc_run_resume(uc_walk *w, size_t number);

/* Stores rows. scales: what each channel is multiplied by first, or NULL. */
void uc_run_store(const uc_walk *w, const uc_run_rows *run, const uc_rows *rows,
                  const void *scales);

/* Goes on from rows as they were measured and kept, and stores them. */
void uc_run_store_kept(const uc_walk *w, const uc_run_rows *run, uc_rows *rows,
                       const uc_summary *measures);

/* Measures rows for the op that needs everything. */
void uc_run_measure(const uc_walk *w, const uc_rows *rows, uc_summary *measures);

/* Says where set i of some lies in the output, and how many rows of it are there; measures sets of
 * rows and lays them down. */
void uc_run_place(const uc_walk *w, const uc_run_rows *run, uc_sets *sets, size_t i);
void uc_run_lay(const uc_walk *w, uc_sets *sets, uc_summary *measures);

/* How many pieces a channel's laid rows are multiplied in; and multiplies one. */
size_t uc_run_laid_pieces(const uc_walk *w);
void uc_run_multiply_laid(const uc_walk *w, size_t channel, size_t piece);

/* The stages of a pass that rows go through before they are stored or measured. */
size_t uc_run_last_stages(const uc_pass *pass);

/* ---- block.c ---- */

/* How many blocks a band has. */
size_t uc_block_count(const uc_walk *w);

/* How many shares a block can be cut into, a phase along depth and height each. What several of
 * them read each combines for itself. A pool needs all of them at once. */
size_t uc_block_shares(const uc_walk *w);

/* How many of some blocks are not cut, so that all threads are done soonest. */
size_t uc_block_whole(const uc_walk *w, size_t blocks);

/* Makes a block's rows, or those of one of its shares, and stores or measures them. */
void uc_block_make(uc_walk *w, size_t number, size_t share, size_t shares);

/* Goes on from a block's rows as they were measured and kept. */
void uc_block_resume(uc_walk *w, size_t number);

#endif
