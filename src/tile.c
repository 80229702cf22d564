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
#include <stdint.h>
#include <string.h>

#include "dtype.h"
#include "pack.h"
#include "spread.h"
#include "team.h"
#include "turn.h"

/* How the rows of one depth go into runs, see count_runs(). */
typedef struct run_classes {
    size_t rows, longer;
    size_t runs, runs_longer; /* of a class */
    size_t all;
} run_classes;

/* One batch item and band of a pass, as every thread sees it. */
typedef struct walk {
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
    run_classes classes;        /* of the runs of one depth of the band */
    size_t segments;            /* of the band: each has them all */
    size_t depth_blocks;        /* or how many blocks it has */
    uc_axis axis[UC_SPACE];     /* of the convolution */
    uc_taps first_column;       /* of the run, along its width */
    size_t lanes;               /* of a phase along the width, behind the first whole_phases */
    size_t whole_phases;        /* of them one less */
    size_t first_panel, panels; /* the block of output channels */
    size_t first_channel, channels;
    char *kept;   /* where the rows of this run are kept, or NULL */
    char *buffer; /* of this thread */
} walk;

static size_t round_up(size_t count, size_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
}

static char *slab_of(const walk *w) {
    return w->workspace + w->plan->slab_offset;
}

/* Magnitudes of a row of the slab, cell by cell of its columns. */
static size_t cell_count(const walk *w) {
    return (w->axis[2].in - 1) / w->plan->kernels->vector_lanes + 1;
}

static char *cells_of(const walk *w, size_t row) {
    return w->workspace + w->plan->cells_offset +
           row * cell_count(w) * w->plan->kernels->real_bytes;
}

/* AMX: the slab of pairs, and which of its rows must not be used. */
static uc_pair *pairs_of(const walk *w) {
    return (uc_pair *)(void *)(w->workspace + w->plan->pairs_offset);
}

static bool *spoilt_of(const walk *w, size_t depth_index, size_t row_index) {
    return (bool *)(void *)(w->workspace + w->plan->spoilt_offset) +
           depth_index * w->source[1].count + row_index;
}

static uc_summary *summaries_of(const walk *w, size_t stage) {
    return (uc_summary *)(void *)(w->workspace + w->plan->summary_offset[stage]) +
           w->item * w->plan->chain.stage[stage].in.channels;
}

static uc_summary *measures_of(const walk *w, size_t run) {
    return (uc_summary *)(void *)(w->workspace + w->plan->measures_offset) +
           run * w->pass->extent.channels; /* a block uses the first of them */
}

/* Columns of a row of what stages [0, stages) make: of the run behind the convolution, of the band
 * before it. */
static size_t columns_of(const walk *w, size_t stages) {
    const uc_pass *pass = w->pass;
    const size_t conv = w->plan->chain.conv_stage;
    if (pass->stages <= conv)
        return pass->columns[stages];
    return pass->scale[stages] * (stages > conv ? w->segment.count : w->piece.count);
}

static uc_rows rows_of(const walk *w, size_t stages, size_t count) {
    uc_rows rows = count == w->pass->rows_made[stages]
                       ? w->pass->shape[stages]
                       : uc_plan_rows(w->plan, w->pass, stages, count);
    rows.reals = w->buffer + w->pass->rows_at[stages] * w->plan->kernels->real_bytes;
    rows.columns = columns_of(w, stages);
    if (stages > w->plan->chain.conv_stage && w->pass->keeps) {
        rows.reals = w->kept;
        rows.channels = w->channels;
    }
    return rows;
}

/* ---- Making rows ---- */

static uc_rows make_rows(const walk *w, size_t stages, size_t depth, size_t height, size_t step,
                         size_t count);

/* Bytes from a tensor's begin to a row. step: elements from one depth or height to the next. */
static size_t row_offset(const walk *w, const uc_extent *extent, const size_t step[UC_SPACE],
                         size_t c, size_t depth, size_t height) {
    const size_t channel = w->item * extent->channels + c;
    return (channel * uc_extent_positions(extent) + depth * step[0] + height * step[1]) *
           w->plan->element_bytes;
}

/* The first column of a row of the input that is loaded. */
static const char *input_row(const walk *w, size_t c, size_t depth, size_t height) {
    const uc_plan *plan = w->plan;
    const char *row =
        (const char *)w->input + row_offset(w, &plan->chain.in, plan->in_step, c, depth, height);
    if (!w->piece.begin)
        return row;
    return row + w->piece.begin * w->pass->scale[0] * plan->in_step[2] * plan->element_bytes;
}

/* Whether the elements of a row are not neighbours in a tensor. */
static bool is_turned(const walk *w) {
    return w->plan->turned < UC_SPACE - 1;
}

/* Whether rows of the input can be read where they are. */
static bool can_borrow(const walk *w) {
    return !is_turned(w) && w->plan->element_bytes == w->plan->kernels->real_bytes;
}

/* A row of elements that are brought together before they are loaded, or stored before they go
 * apart. */
static char *turned_row(const walk *w) {
    return w->buffer + w->pass->turned_at * w->plan->kernels->real_bytes;
}

/* Rows of the input where they are, for reading: the reals are the elements. */
static uc_rows borrow_rows(const walk *w, size_t depth, size_t height, size_t step, size_t count) {
    const uc_extent *in = &w->plan->chain.in;
    uc_rows rows = uc_plan_rows(w->plan, w->pass, 0, count);
    /* Nothing is written through it. */
    rows.reals = (char *)(uintptr_t)input_row(w, 0, depth, height);
    rows.columns = columns_of(w, 0);
    rows.lanes = uc_extent_positions(in);
    rows.pitch = step * in->size[2];
    return rows;
}

/* Every channel of the input is a page of its own, which no processor foresees: so many channels
 * ahead. */
#define AHEAD 4

static void prefetch_row(const char *row, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch(row + i);
}

/* Loads columns of a row of the input, from the band's first on. */
static void load_row(const walk *w, size_t c, size_t depth, size_t height, size_t columns,
                     void *reals) {
    const uc_chain *chain = &w->plan->chain;
    const size_t bytes = w->plan->element_bytes;
    const char *row = input_row(w, c, depth, height);
    if (is_turned(w)) {
        uc_turn_gather(turned_row(w), row, w->plan->in_step[2], columns, bytes);
        row = turned_row(w);
    } else if (c + AHEAD < chain->in.channels) {
        prefetch_row(row + AHEAD * uc_extent_positions(&chain->in) * bytes, columns * bytes);
    }
    w->plan->kernels->load(chain->dtype, row, reals, columns);
}

static uc_rows load_rows(const walk *w, size_t depth, size_t height, size_t step, size_t count) {
    const uc_rows rows = rows_of(w, 0, count);
    for (size_t c = 0; c < rows.channels; c++)
        for (size_t r = 0; r < count; r++)
            load_row(w, c, depth, height + r * step, rows.columns,
                     (char *)rows.reals +
                         (c * rows.lanes + r * rows.pitch) * w->plan->kernels->real_bytes);
    return rows;
}

/* Whether AMX fills a run: where it is used, and no row of pairs that the run's taps read is
 * spoilt. */
static bool by_amx(const walk *w, const uc_taps *d, const uc_taps *h, size_t rows) {
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
            if (*spoilt_of(w, d->source - t - (size_t)w->source[0].begin, (size_t)begin + i))
                return false;
    return true;
}

/* The convolution, direct or by AMX: for each phase along the width one call for rows that have the
 * same taps, or that run on into each other in the slab. first: of the rows. */
static void fill_run(const walk *w, const uc_rows *rows, const uc_taps *d, const uc_taps *h,
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
    const ptrdiff_t origin = ((ptrdiff_t)d->source - w->source[0].begin) * (ptrdiff_t)run.x_depth +
                             ((ptrdiff_t)h->source - w->source[1].begin) * (ptrdiff_t)run.x_row +
                             (ptrdiff_t)pass->lead - (ptrdiff_t)w->inputs.begin;
    uc_taps width = w->first_column;
    for (size_t e = 0; e < rows->phases; e++) {
        const size_t phase[UC_SPACE] = {d->phase, h->phase, width.phase};
        for (size_t i = 0; i < UC_SPACE; i++)
            run.taps[i] = uc_axis_phase_taps(&w->axis[i], phase[i]);
        run.end[0] = run.taps[2] ? d->end : d->first; /* no taps: nothing but the bias */
        run.source = width.source;
        run.weights =
            (const char *)plan->weights + uc_pack_phase_offset(conv, w->axis, phase) * bytes;
        run.x = (const char *)slab_of(w) + (origin + (ptrdiff_t)width.source) * (ptrdiff_t)bytes;
        run.y = (char *)rows->reals + (e * rows->phase_step + first * rows->pitch) * bytes;
        run.lanes =
            (several ? (rows->rows - 1) * rows->pitch : 0) + w->lanes - (e >= w->whole_phases);
        if (amx) {
            run.weights = uc_amx_phase(&plan->amx, conv, w->axis, phase);
            run.x = pairs_of(w) + (origin + (ptrdiff_t)width.source);
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
static size_t spread_pitch(const walk *w) {
    return w->plan->borrows ? w->products.count
                            : round_up(w->products.count, w->plan->kernels->vector_lanes);
}

/* Adds products of some rows of inputs and all taps along the width to rows of outputs from `first`
 * on, each tap's where they belong. */
static void spread_products(const walk *w, const uc_rows *rows, size_t first, size_t count,
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
                    rows->pitch,
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
static void multiply_rows(const walk *w, uc_conv_run *run, size_t depth, size_t height,
                          size_t channel, size_t count) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes, vector = plan->kernels->vector_lanes,
                 columns = w->products.count;
    char *products = run->y;
    run->y_channel = count * run->y_row;
    if (!plan->borrows) {
        run->x = slab_of(w) +
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
        const char *x = input_row(w, channel, depth, height + r) +
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
#define FAR_BYTES ((size_t)8 << 20)

static void fetch_inputs(const walk *w, const uc_rows *rows, const uc_taps *d, const uc_taps *h,
                         size_t channel, size_t channels) {
    const uc_extent *in = &w->plan->chain.in;
    const size_t bytes = w->plan->element_bytes,
                 more = uc_axis_phase_taps(&w->axis[1], h->phase) - 1,
                 first = h->source > more ? h->source - more : 0, past = h->source + rows->rows,
                 end = past < in->size[1] ? past : in->size[1];
    if (!w->plan->borrows || first >= end ||
        in->channels * uc_extent_positions(in) * bytes < FAR_BYTES)
        return;
    for (size_t td = d->first; td < d->end; td++)
        for (size_t c = channel; c < channel + channels; c++)
            for (size_t row = first; row < end; row++)
                prefetch_row(input_row(w, c, d->source - td, row) +
                                 (w->products.begin - w->inputs.begin) * bytes,
                             w->products.count * bytes);
}

/* The convolution to few channels: products of some input channels and one tap along depth and
 * height after the other. */
static void fill_spread(const walk *w, const uc_rows *rows, const uc_taps *d, const uc_taps *h) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes, in_rows = w->axis[1].in;
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
        fetch_inputs(w, rows, d, h, c, run.in_channels);
        for (size_t td = d->first; td < d->end; td++)
            for (size_t th = 0; th < uc_axis_phase_taps(&w->axis[1], h->phase); th++) {
                /* Row r reads input source + r - th. */
                const size_t first = th > h->source ? th - h->source : 0,
                             past = in_rows + th > h->source ? in_rows + th - h->source : 0,
                             end = past < rows->rows ? past : rows->rows;
                if (first >= end)
                    continue;
                run.weights = (const char *)plan->weights +
                              uc_spread_offset(conv, d->phase + td * w->axis[0].stride,
                                               h->phase + th * w->axis[1].stride, c) *
                                  bytes;
                multiply_rows(w, &run, d->source - td, h->source + first - th, c, end - first);
                spread_products(w, rows, first, end - first, run.y);
            }
    }
}

/* Rows height, height + stride, ... of one depth. */
static uc_rows fill_rows(const walk *w, size_t depth, size_t height, size_t count) {
    const uc_rows rows = rows_of(w, w->plan->chain.conv_stage + 1, count);
    const uc_taps d = uc_axis_taps(&w->axis[0], depth);
    uc_taps h = uc_axis_taps(&w->axis[1], height);
    if (w->plan->spreads) {
        fill_spread(w, &rows, &d, &h);
        return rows;
    }
    if (w->pass->conv_rows > 1) {
        fill_run(w, &rows, &d, &h, 0, 1);
        return rows;
    }
    /* AMX looks at the inputs of every row. */
    const size_t most = w->plan->amx.kernels ? 1 : count;
    for (size_t first = 0, some; first < count; first += some) {
        uc_taps next = uc_axis_next_taps(&w->axis[1], h);
        for (some = 1;
             some < most && first + some < count && next.first == h.first && next.end == h.end;
             some++)
            next = uc_axis_next_taps(&w->axis[1], next);
        fill_run(w, &rows, &d, &h, first, some);
        h = next;
    }
    return rows;
}

/* Adds row `from_row` of `from` to row `into_row` of what a pool merges, or starts it with it. */
static void merge_row(const walk *w, uc_op op, const uc_rows *into, size_t into_row,
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
static uc_rows pool_rows(const walk *w, size_t stages, size_t depth, size_t height, size_t count) {
    const uc_plan *plan = w->plan;
    const uc_stage *stage = &plan->chain.stage[stages - 1];
    const size_t *window = stage->window;
    const size_t step = uc_plan_step(&plan->chain, stages - 1);
    const size_t depth_step = step == 1 ? 1 : w->axis[0].stride;
    const bool borrow = stages == 1 && can_borrow(w);
    uc_rows merged = count == w->pass->rows_made[stages]
                         ? w->pass->merged[stages]
                         : uc_plan_merged(plan, w->pass, stages, count);
    merged.reals = w->buffer + w->pass->merged_at[stages] * plan->kernels->real_bytes;
    merged.columns = columns_of(w, stages - 1);
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
                    const uc_rows made = borrow ? borrow_rows(w, d, h, step, some)
                                                : make_rows(w, stages - 1, d, h, step, some);
                    /* Rows of all windows in their order are merged at once. */
                    const bool all = some == count && step == window[1] &&
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
    const uc_rows rows = rows_of(w, stages, count);
    plan->kernels->fold[stage->op](&(uc_finish){.stage = stage}, &merged, &rows);
    return rows;
}

/* What the op of a stage gets. measured: of its rows, if they are as measured. */
static uc_finish finish_of(const walk *w, size_t s, const uc_summary *measured) {
    const uc_plan *plan = w->plan;
    const bool everything = uc_ops[plan->chain.stage[s].op].needs == UC_NEEDS_EVERYTHING;
    return (uc_finish){.stage = &plan->chain.stage[s],
                       .per_channel = plan->per_channel[s],
                       .summaries = everything ? summaries_of(w, s) : NULL,
                       .measured = everything ? measured : NULL,
                       .first_channel = s > plan->chain.conv_stage ? w->first_channel : 0,
                       .affine = plan->affine[s],
                       .centred = s && s == plan->centred_stage};
}

/* Runs an op that changes rows in place, or adds its results to `sums`. */
static void finish_rows(const walk *w, size_t s, uc_rows *rows, const uc_summary *measured,
                        void *sums) {
    const uc_stage *stage = &w->plan->chain.stage[s];
    if (w->plan->idle[s])
        return;
    uc_finish finish = finish_of(w, s, measured);
    finish.sums = sums;
    w->plan->kernels->finish[stage->op](&finish, rows);
    if (stage->out.channels < rows->channels) /* the op has summed them */
        rows->channels = stage->out.channels;
}

/* What rows may take to stay in L1 from one op to the next. */
#define STRIP_BYTES ((size_t)24 << 10)

/* Ops that don't look sideways take a strip of lanes through all of them before the next strip.
 * sums: NULL, or rows of the same shape that the last op adds its results to. */
static void finish_in_strips(const walk *w, size_t first, size_t stages, uc_rows *rows,
                             const uc_summary *measured, char *sums) {
    const uc_plan *plan = w->plan;
    const size_t group = 4 * plan->kernels->vector_lanes; /* that ops take at a time */
    size_t lanes = rows->lanes;
    if (rows->channels * lanes * plan->kernels->real_bytes > STRIP_BYTES) {
        lanes = STRIP_BYTES / plan->kernels->real_bytes / rows->channels / group * group;
        lanes = lanes ? lanes : group;
    }
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

/* Rows height, height + step, ... of one depth, as the stages [0, stages) make them. */
static uc_rows make_rows(const walk *w, size_t stages, size_t depth, size_t height, size_t step,
                         size_t count) {
    const uc_chain *chain = &w->plan->chain;
    const size_t made = uc_plan_made_by(chain, stages);
    uc_rows rows;
    if (!made)
        rows = load_rows(w, depth, height, step, count);
    else if (made == chain->conv_stage + 1)
        rows = fill_rows(w, depth, height, count);
    else
        rows = pool_rows(w, made, depth, height, count);
    if (made < stages)
        finish_in_strips(w, made, stages, &rows, NULL, NULL);
    return rows;
}

/* ---- The slab ---- */

/* One row of the slab in planes, and how large its values are. */
static void split_row(const walk *w, size_t depth_index, size_t row_index) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const size_t bytes = plan->kernels->real_bytes;
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const size_t depth = (size_t)w->source[0].begin + depth_index,
                 height = (size_t)w->source[1].begin + row_index;
    const bool borrow = plan->chain.conv_stage == 0 && can_borrow(w);
    const uc_rows made = borrow ? borrow_rows(w, depth, height, 1, 1)
                                : make_rows(w, plan->chain.conv_stage, depth, height, 1, 1);
    const uc_toom *width = plan->transforms[0].dim[2];
    for (size_t c = 0; c < conv->in.channels; c++) {
        const char *row = (const char *)made.reals + c * made.lanes * bytes;
        if (borrow && c + AHEAD < conv->in.channels)
            prefetch_row(row + AHEAD * made.lanes * bytes, conv->in.size[2] * bytes);
        plan->kernels->split(row, conv->in.size[2], width->first, width->outputs,
                             slab_of(w) + (depth_index * pass->depth_step +
                                           row_index * pass->row_step + c * pass->channel_step) *
                                              bytes,
                             pass->blocks.plane_step);
    }
    const size_t row = depth_index * w->source[1].count + row_index;
    plan->kernels->magnitudes(made.reals, made.lanes, conv->in.channels, conv->in.size[2],
                              cells_of(w, row));
}

/* A piece of a row of the slab, in all channels: zeros before the first, the columns, zeros behind
 * the last. */
static void pack_row(const walk *w, size_t depth_index, size_t row_index) {
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
        made = make_rows(w, plan->chain.conv_stage, depth, height, 1, 1);
    for (size_t c = 0; c < conv->in.channels; c++) {
        char *row = slab_of(w) + (depth_index * pass->depth_step + row_index * pass->row_step +
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
            load_row(w, c, depth, height, columns, row);
        else
            memcpy(row, (const char *)made.reals + c * made.lanes * bytes, columns * bytes);
        if (last)
            memset(row + columns * bytes, 0, (pass->pitch - pass->lead - before - columns) * bytes);
    }
    if (plan->amx.kernels) /* from the reals, while they are hot */
        *spoilt_of(w, depth_index, row_index) = !uc_amx_row(
            &plan->amx,
            (const float *)(const void *)slab_of(w) + depth_index * pass->depth_step +
                row_index * pass->row_step,
            pass->channel_step, conv->in.channels, pass->pitch,
            pairs_of(w) + depth_index * pass->pair_depth_step + row_index * pass->pair_row_step,
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

static void pack_rest(const walk *w, size_t depths, size_t rows) {
    const uc_pass *pass = w->pass;
    const uc_amx *amx = &w->plan->amx;
    const bool several = pass->conv_rows > 1;
    const size_t channels = w->plan->chain.stage[w->plan->chain.conv_stage].in.channels;
    zero_rest(slab_of(w), w->plan->kernels->real_bytes,
              several ? pass->channel_step : pass->depth_step, several ? depths * channels : depths,
              rows * pass->row_step, pass->slab_elems);
    for (size_t i = 0; amx->kernels && i < amx->parts; i++)
        zero_rest(pairs_of(w) + i * pass->pair_elems, sizeof(uc_pair),
                  several ? pass->channel_step : pass->pair_depth_step,
                  several ? depths * amx->slices * amx->pairs : depths, rows * pass->pair_row_step,
                  pass->pair_elems);
}

/* ---- Passes ---- */

/* Where a run's rows are. */
typedef struct run_rows {
    size_t depth, height, count;
} run_rows;

/* How the rows of one depth of a band go into runs: rows a step apart share one. First those from
 * the band's first row on, then those from the second, and so on: `longer` such classes of `rows`
 * + 1 rows, then as many as are left of a step of `rows`. */
static run_classes count_runs(const walk *w) {
    const size_t heights = w->band[1].count, step = w->pass->step, most = w->pass->rows;
    run_classes c = {.rows = heights / step, .longer = heights % step};
    c.runs = c.rows ? (c.rows - 1) / most + 1 : 0;
    c.runs_longer = c.rows / most + 1;
    c.all = c.longer * c.runs_longer + (step - c.longer) * c.runs;
    return c;
}

/* The runs of a band are numbered depth by depth. */
static run_rows find_run(const walk *w, size_t number) {
    const uc_pass *pass = w->pass;
    const run_classes *c = &w->classes;
    const size_t depth = number / c->all, in_depth = number % c->all;
    const bool longer = in_depth < c->longer * c->runs_longer;
    const size_t index = longer ? in_depth : in_depth - c->longer * c->runs_longer;
    const size_t runs = longer ? c->runs_longer : c->runs;
    const size_t class = index / runs + (longer ? 0 : c->longer), first = index % runs * pass->rows;
    const size_t left = c->rows + longer - first;
    return (run_rows){w->band[0].begin + depth, w->band[1].begin + class + first * pass->step,
                      left < pass->rows ? left : pass->rows};
}

/* Sets which columns a run has, of the pass's space. */
static void enter_segment(walk *w, uc_span segment) {
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
static run_rows enter_run(walk *w, size_t number) {
    if (w->segments == 1)
        return find_run(w, number);
    const size_t runs = w->classes.all * w->band[0].count;
    uc_span segment = uc_part(w->band[2].count, w->pass->segment, number / runs);
    segment.begin += w->band[2].begin;
    enter_segment(w, segment);
    return find_run(w, number % runs);
}

/* Stores rows whose elements go apart, one by one. */
static void store_turned(const walk *w, const uc_rows *rows, const char *scales, char *to) {
    const uc_plan *plan = w->plan;
    const size_t bytes = plan->element_bytes, real_bytes = plan->kernels->real_bytes;
    uc_rows row = *rows;
    row.channels = row.rows = 1;
    for (size_t c = 0; c < rows->channels; c++)
        for (size_t r = 0; r < rows->rows; r++) {
            row.reals = (char *)rows->reals + (c * rows->lanes + r * rows->pitch) * real_bytes;
            plan->kernels->store(plan->chain.dtype, &row, scales ? scales + c * real_bytes : NULL,
                                 turned_row(w), 0, 0, false);
            uc_turn_scatter(to + (c * uc_extent_positions(&plan->chain.out) +
                                  r * w->pass->step * plan->out_step[1]) *
                                     bytes,
                            plan->out_step[2], turned_row(w), rows->columns, bytes);
        }
}

/* scales: what each channel is multiplied by first, or NULL. */
static void store_rows(const walk *w, const run_rows *run, const uc_rows *rows,
                       const void *scales) {
    const uc_plan *plan = w->plan;
    const uc_extent *out = &plan->chain.out;
    uc_rows there = *rows;
    there.rows = run->count;
    char *to = (char *)w->output +
               row_offset(w, out, plan->out_step, w->first_channel, run->depth, run->height) +
               w->segment.begin * plan->out_step[2] * plan->element_bytes;
    if (is_turned(w))
        store_turned(w, &there, scales, to);
    else
        plan->kernels->store(plan->chain.dtype, &there, scales, to, uc_extent_positions(out),
                             w->pass->step * plan->out_step[1], plan->streams);
}

static char *kept_rows(const walk *w, size_t number) {
    return w->workspace + w->plan->kept_offset +
           number * w->pass->kept_elems * w->plan->kernels->real_bytes;
}

/* The stages of a pass that rows go through before they are stored or measured. */
static size_t last_stages(const uc_pass *pass) {
    return pass->bounds ? pass->stages - 1 : pass->stages;
}

static void measure_rows(const walk *w, const uc_rows *rows, uc_summary *measures) {
    const uc_op op = w->plan->chain.stage[w->pass->stages].op;
    w->plan->kernels->measure[op](rows, w->pass->bounds, measures);
}

/* Makes a run's rows, and stores or measures them. */
static void make_run(walk *w, size_t number, size_t runs_before) {
    const uc_pass *pass = w->pass;
    const run_rows run = enter_run(w, number);
    if (pass->keeps)
        w->kept = kept_rows(w, number);
    const uc_rows rows =
        make_rows(w, last_stages(pass), run.depth, run.height, pass->step, run.count);
    if (pass->stages == w->plan->chain.stage_count)
        store_rows(w, &run, &rows, NULL);
    else
        measure_rows(w, &rows, measures_of(w, runs_before + number));
}

/* Goes on from rows as they were measured and kept, and stores them. */
static void store_kept(const walk *w, const run_rows *run, uc_rows *rows,
                       const uc_summary *measures) {
    const uc_plan *plan = w->plan;
    const size_t first = w->pass->stages, stages = plan->chain.stage_count;
    size_t next = first + 1;
    while (next < stages && plan->idle[next])
        next++;
    if (next < stages) {
        finish_in_strips(w, first, stages, rows, measures, NULL);
        store_rows(w, run, rows, NULL);
        return;
    }
    /* With nothing to do but multiply, that needs no pass of its own. The scales take the place of
     * rows that are not kept. */
    const uc_finish finish = finish_of(w, first, measures);
    void *scales =
        w->buffer + w->pass->rows_at[plan->chain.conv_stage + 1] * plan->kernels->real_bytes;
    plan->kernels->scales[finish.stage->op](&finish, rows->channels, scales);
    store_rows(w, run, rows, scales);
}

/* Goes on from a run's rows as they were measured and kept. */
static void resume_run(walk *w, size_t number) {
    const run_rows run = enter_run(w, number);
    w->kept = kept_rows(w, number);
    uc_rows rows = rows_of(w, uc_plan_made_by(&w->plan->chain, w->pass->stages), run.count);
    store_kept(w, &run, &rows, measures_of(w, number));
}

/* ---- Blocks ---- */

/* Depths of tiles that a band has, and the first of them. */
static size_t first_depth(const walk *w) {
    return w->band[0].begin / w->pass->block[0];
}

static size_t count_depths(const walk *w) {
    return (w->band[0].count - 1) / w->pass->block[0] + 1;
}

/* Block `number` of a band. */
static uc_block find_block(const walk *w, size_t number) {
    const uc_plan *plan = w->plan;
    const uc_pass *pass = w->pass;
    const uc_blocks *blocks = &pass->blocks;
    const size_t bytes = plan->kernels->real_bytes;
    uc_block block = {.winograd = &plan->transforms[0],
                      .plain = &plan->transforms[1],
                      .blocks = blocks,
                      .slab = slab_of(w),
                      .zeros = slab_of(w) + w->source[0].count * pass->depth_step * bytes,
                      .magnitudes = cells_of(w, 0),
                      .cells = cell_count(w),
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
        block.row = first_depth(w) * blocks->tiles[1] + number * blocks->tile_rows;
        end = (first_depth(w) + count_depths(w)) * blocks->tiles[1];
    } else {
        const size_t depth = first_depth(w) + number / w->depth_blocks,
                     group = number % w->depth_blocks + w->band[1].begin / pass->block[1];
        block.row = depth * blocks->tiles[1] + group * blocks->tile_rows;
        end = (depth + 1) * blocks->tiles[1];
    }
    block.rows = end - block.row < blocks->tile_rows ? end - block.row : blocks->tile_rows;
    return block;
}

/* The rows of a block that lie (depth, height) after the first of their tiles in the pass's space,
 * a step apart: from row `first` on, as many as are there and share a depth. `next`: the row behind
 * them, or behind those that are not there. */
static run_rows find_rows(const walk *w, const uc_block *block, size_t depth, size_t height,
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
        return (run_rows){0};
    const size_t left = (extent->size[1] - height - 1) / pass->step + 1;
    return (run_rows){depth, height, left < rows ? left : rows};
}

/* Whether any of them is there. */
static bool any_rows(const walk *w, const uc_block *block, size_t depth, size_t height) {
    bool any = false;
    for (size_t r = 0; r < block->rows;)
        any = find_rows(w, block, depth, height, r, &r).count || any;
    return any;
}

/* Of a pass that measures, whose blocks have one depth: the number of a set of rows among all of an
 * item. */
static size_t set_number(const walk *w, const uc_block *block, size_t set) {
    const uc_blocks *blocks = block->blocks;
    return (block->row / blocks->tiles[1] * blocks->groups +
            block->row % blocks->tiles[1] / blocks->tile_rows) *
               w->pass->sets +
           set;
}

/* The last stages of a set of rows that lie (depth, height) after the first of their tiles, then
 * stores or measures it. */
static void finish_set(const walk *w, const uc_block *block, size_t depth, size_t height,
                       size_t first, uc_rows *rows, size_t set) {
    const uc_pass *pass = w->pass;
    const bool measured = pass->stages < w->plan->chain.stage_count,
               any = any_rows(w, block, depth, height);
    if (any)
        finish_in_strips(w, first, last_stages(pass), rows, NULL, NULL);
    for (size_t r = 0, next; any && !measured && r < block->rows; r = next) {
        const run_rows run = find_rows(w, block, depth, height, r, &next);
        uc_rows some = *rows;
        some.reals = (char *)rows->reals + r * rows->pitch * w->plan->kernels->real_bytes;
        if (run.count)
            store_rows(w, &run, &some, NULL);
    }
    if (!measured)
        return;
    uc_summary *measures = measures_of(w, set_number(w, block, set));
    size_t next;
    rows->rows = find_rows(w, block, depth, height, 0, &next).count;
    if (any)
        measure_rows(w, rows, measures);
    const size_t channels = pass->keeps ? w->channels : pass->extent.channels;
    for (size_t c = 0; !any && c < channels; c++)
        measures[c] = (uc_summary){-INFINITY, 0};
}

/* The sets of a block as they come from the convolution: phase by phase. */
typedef struct set_at {
    size_t phase[2], output[2];
} set_at;

static set_at find_set(const walk *w, size_t set) {
    const uc_toom *const *dim = w->plan->transforms[0].dim;
    const size_t outputs = dim[0]->outputs * dim[1]->outputs, phase = set / outputs;
    return (set_at){{phase / dim[1]->stride, phase % dim[1]->stride},
                    {set % outputs / dim[1]->outputs, set % dim[1]->outputs}};
}

/* Where it lies in a tile of the convolution, along depth (0) or height (1). */
static size_t set_offset(const walk *w, const set_at *at, size_t dimension) {
    return at->output[dimension] * w->plan->transforms[0].dim[dimension]->stride +
           at->phase[dimension];
}

/* Fills a set of rows of the convolution; those of one phase are filled together. reals: where, or
 * NULL. */
static uc_rows fill_set(const walk *w, const uc_block *block, const set_at *at, size_t set,
                        char *reals) {
    const uc_plan *plan = w->plan;
    const size_t outputs = plan->outputs[0] * plan->outputs[1], of_phase = set % outputs;
    uc_rows rows = rows_of(w, plan->chain.conv_stage + 1, w->pass->rows);
    size_t elems = rows.channels * rows.lanes;
    if (w->pass->keeps) {
        elems = w->pass->kept_elems;
        rows.reals = kept_rows(w, set_number(w, block, set - of_phase));
    }
    if (reals)
        rows.reals = reals;
    if (!of_phase)
        uc_winograd_fill(block, at->phase[0], at->phase[1], rows.reals, elems);
    rows.reals = (char *)rows.reals + of_phase * elems * plan->kernels->real_bytes;
    return rows;
}

/* How many shares a block can be cut into, a phase along depth and height each. Each combines the
 * block's inputs for itself. A pool needs all of them at once. */
static size_t count_shares(const walk *w) {
    const uc_chain *chain = &w->plan->chain;
    const bool pool = uc_plan_made_by(chain, w->pass->stages) != chain->conv_stage + 1;
    return pool ? 1 : w->axis[0].stride * w->axis[1].stride;
}

/* How many of some blocks are not cut: as many as all threads have a few of. */
static size_t count_whole(const walk *w, size_t blocks) {
    const size_t threads = w->plan->threads;
    return threads == 1 ? blocks : blocks < 3 * threads ? 0 : blocks - blocks % threads;
}

/* Makes a block's rows, or those of one of its shares, and stores or measures them. */
static void make_block(const walk *w, size_t number, size_t share, size_t shares) {
    const uc_chain *chain = &w->plan->chain;
    const uc_pass *pass = w->pass;
    uc_block block = find_block(w, number);
    uc_winograd_combine(&block);
    const size_t sets =
        w->plan->outputs[0] * w->plan->outputs[1] * w->axis[0].stride * w->axis[1].stride;
    const size_t made = uc_plan_made_by(chain, pass->stages), conv = chain->conv_stage + 1;
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
        finish_in_strips(w, conv, made - 1, &rows, NULL, added ? into : NULL);
        if (!in_place && !added)
            w->plan->kernels->merge[pool->op](into, merged.lanes, rows.reals, rows.lanes,
                                              rows.channels, rows.lanes, !begun[target]);
        begun[target] = true;
    }
    for (size_t target = 0; target < pass->sets; target++) {
        uc_rows rows = rows_of(w, made, pass->rows);
        merged.reals = memory + target * merged_bytes;
        if (begun[target])
            w->plan->kernels->fold[pool->op](&(uc_finish){.stage = pool}, &merged, &rows);
        finish_set(w, &block, target / pass->step, target % pass->step, made, &rows, target);
    }
}

/* Goes on from a block's rows as they were measured and kept. */
static void resume_block(const walk *w, size_t number) {
    const uc_block block = find_block(w, number);
    for (size_t set = 0; set < w->pass->sets; set++) {
        const set_at at = find_set(w, set);
        size_t next;
        const run_rows run =
            find_rows(w, &block, set_offset(w, &at, 0), set_offset(w, &at, 1), 0, &next);
        if (!run.count)
            continue;
        const size_t index = set_number(w, &block, set);
        uc_rows rows = rows_of(w, w->plan->chain.conv_stage + 1, run.count);
        rows.reals = kept_rows(w, index);
        store_kept(w, &run, &rows, measures_of(w, index));
    }
}

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
static void merge_measures(const walk *w, size_t runs) {
    uc_summary *summaries = summaries_of(w, w->pass->stages) + w->first_channel;
    memcpy(summaries, measures_of(w, 0), w->channels * sizeof *summaries);
    for (size_t r = 1; r < runs; r++)
        for (size_t c = 0; c < w->channels; c++)
            summaries[c] = merge_summaries(summaries[c], measures_of(w, r)[c]);
}

/* The block of output channels that starts at a panel. */
static void enter_block(walk *w, size_t first_panel) {
    const uc_panels cut = w->plan->panels;
    const size_t left = cut.count - first_panel;
    w->first_panel = first_panel;
    w->panels = left < w->pass->block_panels ? left : w->pass->block_panels;
    w->first_channel = uc_panel_begin(cut, first_panel);
    w->channels = uc_panel_begin(cut, first_panel + w->panels) - w->first_channel;
}

/* The work of one band of one item. */
typedef struct band_work {
    const walk *walk;
    bool blocks;          /* not runs */
    size_t count;         /* of runs or blocks */
    size_t whole, shares; /* of blocks: those that one thread makes; shares of each other one */
    bool packs;
    size_t depths, rows; /* of the slab */
    size_t runs_before;
} band_work;

static void pack_band(const band_work *work, walk *w, uc_member *member) {
    const size_t pieces = uc_parts(w->inputs.count, w->pass->piece),
                 tasks = work->depths * work->rows * pieces;
    for (size_t i; uc_team_take(member, tasks + 1, &i);) {
        size_t row = i;
        if (i == tasks) {
            pack_rest(w, work->depths, work->rows);
            continue;
        }
        if (pieces > 1) {
            row = i / pieces;
            w->piece = uc_part(w->inputs.count, w->pass->piece, i % pieces);
            w->piece.begin += w->inputs.begin;
        }
        if (w->plan->winograd)
            split_row(w, row / work->rows, row % work->rows);
        else
            pack_row(w, row / work->rows, row % work->rows);
    }
}

/* What one thread does of it. */
static void work_on_band(uc_member *member, void *context) {
    const band_work *work = context;
    walk w = *work->walk;
    const uc_plan *plan = w.plan;
    const uc_pass *pass = w.pass;
    w.buffer = w.workspace + member->thread * plan->buffer_bytes;
    if (work->packs)
        pack_band(work, &w, member);
    for (size_t p = 0; p < plan->panels.count; p += pass->block_panels) {
        enter_block(&w, p);
        const size_t things = work->whole + (work->count - work->whole) * work->shares;
        for (size_t i; uc_team_take(member, things, &i);) {
            const size_t share = i - work->whole;
            if (!work->blocks)
                make_run(&w, i, work->runs_before);
            else if (i < work->whole)
                make_block(&w, i, 0, 1);
            else
                make_block(&w, work->whole + share / work->shares, share % work->shares,
                           work->shares);
        }
        if (!pass->keeps)
            continue;
        for (size_t i; uc_team_take(member, 1, &i);)
            merge_measures(&w, pass->runs);
        for (size_t i; uc_team_take(member, work->count, &i);)
            if (work->blocks)
                resume_block(&w, i);
            else
                resume_run(&w, i);
    }
}

/* The columns of a band: what it reads, and its first run's. */
static void enter_columns(walk *w) {
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
        enter_segment(w, w->band[2]);
}

/* Packs and makes one band of one item. Returns how many runs it had. */
static size_t run_band(walk *w, size_t runs_before) {
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
        w->depth_blocks = (w->band[1].count - 1) / pass->block[1] + 1;
        work.count = pass->blocks.across ? uc_blocks_count(&pass->blocks, count_depths(w))
                                         : w->depth_blocks * count_depths(w);
        work.shares = count_shares(w);
        work.whole = count_whole(w, work.count);
    } else {
        w->classes = count_runs(w);
        work.whole = work.count = w->classes.all * w->band[0].count * w->segments;
    }
    uc_team_run(plan->threads, work_on_band, &work);
    return work.count;
}

void uc_tile_run(const uc_plan *plan, const void *input, void *output, char *workspace) {
    walk w = {.plan = plan, .input = input, .output = output, .workspace = workspace};
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
            }
        }
    }
}
