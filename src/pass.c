/* How a pass goes over its space: bands, segments, the slab, rows of every stage, what is kept.
 * Called by plan.c; the rooms of walk.h ask for shapes of rows. */
#include "plan.h"

#include <math.h>
#include <stdint.h>

#include "memory.h"
#include "status.h"

/* What a slab may take, if one row does not need more; and where even that is cut: the rows that it
 * makes take more then. */
#define SLAB_BYTES ((size_t)6 << 20)
#define CUT_SLAB_BYTES ((size_t)4 << 20)

/* What the rows of a run may take where it has a few channels: longer ones use weights more often,
 * and they should stay in L2 until they are measured. */
#define RUN_BYTES ((size_t)48 << 10)

/* Values of a softmax at most this far apart have exponentials that are no denormals, and no bound
 * is infinite or NaN. */
#define BOUNDED_RANGE 80.0

size_t uc_plan_made_by(const uc_chain *chain, size_t stages) {
    while (stages) {
        const uc_needs needs = uc_ops[chain->stage[stages - 1].op].needs;
        if (needs == UC_NEEDS_TAPS || needs == UC_NEEDS_WINDOW)
            break;
        stages--;
    }
    return stages;
}

static bool made_by_conv(const uc_chain *chain, size_t stages) {
    return uc_plan_made_by(chain, stages) == chain->conv_stage + 1;
}

size_t uc_plan_step(const uc_plan *plan, size_t stages) {
    const uc_chain *chain = &plan->chain;
    const bool phases = made_by_conv(chain, stages) && !plan->spreads && !plan->casts;
    return phases ? chain->stage[chain->conv_stage].conv.stride[1] : 1;
}

size_t uc_plan_window(const uc_chain *chain, size_t stages, size_t dimension) {
    size_t window = 1;
    for (size_t s = chain->conv_stage + 1; s < stages; s++)
        if (uc_ops[chain->stage[s].op].needs == UC_NEEDS_WINDOW)
            window *= chain->stage[s].window[dimension];
    return window;
}

uc_rows uc_plan_rows(const uc_plan *plan, const uc_pass *pass, size_t stages, size_t count) {
    const uc_chain *chain = &plan->chain;
    const bool conv = made_by_conv(chain, stages);
    const size_t made = uc_plan_made_by(chain, stages);
    uc_rows rows = {.channels = made ? chain->stage[made - 1].out.channels : chain->in.channels,
                    .rows = count,
                    .columns = pass->columns[stages],
                    .phases = 1};
    const size_t some = pass->run_panels * plan->panel;
    if (some && made > chain->conv_stage && some < rows.channels)
        rows.channels = some;
    if (plan->winograd && made > chain->conv_stage) {
        /* Lanes are tiles, before a pool and behind it. */
        rows.phases = uc_toom_tile(plan->transforms[0].dim[2]);
        if (!conv)
            rows.phases /= chain->stage[made - 1].window[2];
        rows.pitch = pass->blocks->tiles[2];
        rows.phase_step = pass->blocks->lanes;
        rows.lanes = rows.width = rows.phases * rows.phase_step;
        return rows;
    }
    if (conv && !plan->casts) {
        const size_t stride = chain->stage[chain->conv_stage].conv.stride[2];
        rows.phases = stride < rows.columns ? stride : rows.columns;
    }
    const size_t lanes = (rows.columns - 1) / rows.phases + 1;
    rows.pitch = lanes;
    if (conv && pass->conv_rows > 1)
        rows.pitch = pass->pitch;
    else if (conv && count > 1 && !plan->casts)
        rows.pitch = uc_round_up(lanes, plan->kernels->vector_lanes);
    else if (pass->conv_rows > 1 && made > 1 && made_by_conv(chain, made - 1) &&
             chain->stage[made - 1].window[2] == chain->stage[chain->conv_stage].conv.stride[2])
        rows.pitch = pass->pitch; /* a pool of all phases leaves lanes where they are */
    if (conv && pass->woven)
        rows.sets = pass->woven < count ? pass->woven : count;
    const size_t of_set = rows.sets ? (count - 1) / rows.sets + 1 : count;
    rows.set_step = uc_round_up((of_set - 1) * rows.pitch + lanes, plan->kernels->vector_lanes);
    rows.phase_step = rows.sets ? rows.sets * rows.set_step : rows.set_step;
    rows.lanes = rows.width = rows.phases * rows.phase_step;
    return rows;
}

uc_rows uc_plan_merged(const uc_plan *plan, const uc_pass *pass, size_t stages, size_t count) {
    uc_rows rows = uc_plan_rows(plan, pass, stages - 1, 1);
    if (plan->winograd && stages > plan->chain.conv_stage)
        return rows;
    if (made_by_conv(&plan->chain, stages - 1) && pass->conv_rows > 1 &&
        pass->rows_made[stages] <= pass->conv_rows)
        return uc_plan_rows(plan, pass, stages - 1, count); /* as it makes them */
    rows.rows = count;
    rows.pitch = (rows.columns - 1) / rows.phases + 1;
    rows.phase_step = uc_round_up(count * rows.pitch, plan->kernels->vector_lanes);
    rows.lanes = rows.width = rows.phases * rows.phase_step;
    return rows;
}

/* The first and last input that a span of the convolution's outputs reads, inside the input or
 * not. */
static void unclipped_reach(const uc_axis *axis, uc_span outputs, ptrdiff_t *first,
                            ptrdiff_t *last) {
    const ptrdiff_t stride = (ptrdiff_t)axis->stride;
    const ptrdiff_t low =
        (ptrdiff_t)(outputs.begin + axis->padding) - (ptrdiff_t)(axis->kernel - 1);
    *first = low > 0 ? (low + stride - 1) / stride : -(-low / stride);
    *last = (ptrdiff_t)((outputs.begin + outputs.count - 1 + axis->padding) / axis->stride);
}

uc_reach uc_plan_reach(const uc_plan *plan, const uc_pass *pass, size_t dimension,
                       uc_span outputs) {
    const uc_axis axis = uc_axis_of(&plan->chain.stage[plan->chain.conv_stage], dimension);
    const size_t window = uc_plan_window(&plan->chain, pass->stages, dimension);
    const uc_span conv = {outputs.begin * window, outputs.count * window};
    if (dimension == 0 || pass->conv_rows == 1) {
        const uc_span inputs = uc_axis_sources(&axis, conv);
        return (uc_reach){(ptrdiff_t)inputs.begin, inputs.count};
    }
    ptrdiff_t first, last;
    unclipped_reach(&axis, conv, &first, &last);
    return (uc_reach){first, last >= first ? (size_t)(last - first) + 1 : 0};
}

/* How many rows of the convolution run on into each other. */
static size_t choose_conv_rows(const uc_plan *plan, const uc_pass *pass, size_t lanes) {
    const size_t heights = pass->extent.size[1] * uc_plan_window(&plan->chain, pass->stages, 1);
    double cost;
    return plan->exact || plan->spreads || plan->casts || pass->pours ||
                   pass->segment < pass->extent.size[2]
               ? 1
               : uc_direct_rows(plan->kernels, &plan->chain.stage[plan->chain.conv_stage], heights,
                                lanes, pass->pitch, &cost);
}

/* How many inputs a number of outputs reads at most. */
static size_t inputs_of(const uc_axis *axis, size_t outputs) {
    const size_t count = (outputs + axis->kernel - 2) / axis->stride + 1;
    return count < axis->in ? count : axis->in;
}

/* The largest part of a cut. */
static size_t largest_part(size_t all, size_t size) {
    return uc_part(all, size, uc_parts(all, size) - 1).count;
}

/* What the rows of a run may take: they should stay in L2. */
#define SEGMENT_BYTES ((size_t)256 << 10)

/* Panels of channels that a run is made in at least: with fewer, finding its inputs would count. */
#define LEAST_PANELS 2

/* No fewer columns than this, and a few vectors of each phase: what is read twice, at either end,
 * should not matter. */
#define LEAST_SEGMENT 128

/* What the inputs of one row may take for a run to have all of its columns. */
#define WHOLE_ROW_BYTES ((size_t)1 << 20)

/* A pass should have this many runs, so that many threads have work, if those are not short. */
#define RUNS 64
#define LONG_SEGMENT 256

/* How many columns of a row are packed at a time. Blocks and AMX take all of them. */
static size_t choose_piece(const uc_plan *plan, size_t inputs) {
    const uc_chain *chain = &plan->chain;
    size_t column = chain->in.channels * plan->kernels->real_bytes;
    for (size_t s = 0; s < chain->conv_stage; s++)
        if (uc_ops[chain->stage[s].op].needs == UC_NEEDS_WINDOW)
            column *= chain->stage[s].window[2];
    const size_t fit = SEGMENT_BYTES / column, piece = fit > LEAST_SEGMENT ? fit : LEAST_SEGMENT;
    return plan->winograd || plan->amx.kernels || inputs < 2 * piece ? inputs : piece;
}

/* Columns of every stage: of a run behind the convolution, of a piece of a row before it. */
static void plan_columns(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const size_t band = largest_part(pass->extent.size[2], pass->band[2]);
    pass->columns[pass->stages] = largest_part(band, pass->segment);
    for (size_t s = pass->stages; s-- > 0;) {
        const uc_stage *stage = &chain->stage[s];
        const uc_needs needs = uc_ops[stage->op].needs;
        pass->columns[s] = pass->columns[s + 1];
        if (needs == UC_NEEDS_TAPS) {
            const uc_axis axis = uc_axis_of(stage, 2);
            pass->inputs = band == pass->extent.size[2]
                               ? axis.in
                               : inputs_of(&axis, band * uc_plan_window(chain, pass->stages, 2));
            pass->piece = choose_piece(plan, pass->inputs);
            /* A band that reads fewer may have a longer last piece, but none of twice the size. */
            pass->columns[s] = pass->inputs < 2 * pass->piece ? pass->inputs : 2 * pass->piece - 1;
        } else if (needs == UC_NEEDS_WINDOW)
            pass->columns[s] *= stage->window[2];
    }
    for (size_t s = 0; s <= pass->stages; s++) {
        pass->made[s] = uc_plan_made_by(chain, s);
        pass->scale[s] =
            pass->columns[s] / pass->columns[s > chain->conv_stage              ? pass->stages
                                             : pass->stages > chain->conv_stage ? chain->conv_stage
                                                                                : s];
    }
}

/* Whether runs are made some panels of channels at a time, which ops must take one by one. Rows
 * without taps are made once for all channels, unless those are too many for a cache. Before it is
 * known that all phases along the height are in one run, those count as rows of their own. */
static bool by_panels(const uc_plan *plan, const uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    if (pass->stages < chain->stage_count || plan->winograd || plan->spreads || plan->amx.kernels ||
        pass->pours)
        return false;
    for (size_t s = chain->conv_stage + 1; s < pass->stages; s++)
        if (uc_ops[chain->stage[s].op].needs != UC_NEEDS_ELEMENT)
            return false;
    bool blank = false;
    if (plan->casts)
        return true;
    for (size_t i = 0; i < (pass->woven ? 1 : 2); i++)
        blank = blank || conv->conv.stride[i] > conv->conv.kernel[i];
    return !blank ||
           conv->out.channels > SEGMENT_BYTES / plan->kernels->real_bytes / conv->out.size[2];
}

/* Whether the inputs of one row of outputs are few. */
static bool reads_little(const uc_plan *plan, const uc_stage *conv) {
    size_t bytes = plan->kernels->real_bytes;
    for (size_t i = 0; i < 2; i++) {
        const uc_axis axis = uc_axis_of(conv, i);
        if (!uc_size_mul(&bytes, uc_axis_phase_taps(&axis, 0)))
            return false;
    }
    return uc_size_mul(&bytes, conv->in.channels) && uc_size_mul(&bytes, conv->in.size[2]) &&
           bytes <= WHOLE_ROW_BYTES;
}

/* How wide runs are. Those of blocks have all columns. */
static void plan_segments(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const size_t columns = pass->extent.size[2];
    pass->band[2] = pass->segment = columns;
    if (plan->winograd || pass->pours || pass->stages <= chain->conv_stage)
        return;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    const size_t window = uc_plan_window(chain, pass->stages, 2), some = LEAST_PANELS * plan->panel,
                 all = conv->out.channels,
                 channels =
                     some < all && reads_little(plan, conv) && by_panels(plan, pass) ? some : all,
                 most = columns * window, /* a longer stride is as good as this */
        stride = conv->conv.stride[2] < most ? conv->conv.stride[2] : most,
                 few = 2 * plan->kernels->vector_lanes * stride / window,
                 least = uc_round_up(few > LEAST_SEGMENT ? few : LEAST_SEGMENT, LEAST_SEGMENT);
    if (columns < 2 * least)
        return;
    /* As doubles: a product of these may be too large for more. */
    const double column = (double)channels * (double)window * (double)plan->kernels->real_bytes,
                 runs = (double)pass->extent.size[0] * (double)pass->extent.size[1];
    const double shared = fmax((double)columns * runs / RUNS, LONG_SEGMENT),
                 segment = fmax(fmin((double)SEGMENT_BYTES / column, shared), (double)least);
    if (segment < (double)columns)
        pass->segment = uc_round_up((size_t)segment, LEAST_SEGMENT);
    if (uc_parts(columns, pass->segment) == 1)
        pass->segment = columns;
}

/* The blocks that the pass goes by, and rows of the slab as they want them: in planes. */
static void plan_blocks(const uc_plan *plan, uc_pass *pass) {
    const uc_winograd *winograd = &plan->transforms[0];
    size_t space[UC_SPACE], per_tile[2];
    for (size_t i = 0; i < UC_SPACE; i++)
        space[i] = pass->extent.size[i] * uc_plan_window(&plan->chain, pass->stages, i);
    uc_winograd_blocks(winograd, space, pass->blocks);
    pass->share = uc_winograd_share(winograd, pass->blocks);
    for (size_t i = 0; i < 2; i++)
        per_tile[i] =
            uc_toom_tile(winograd->dim[i]) / uc_plan_window(&plan->chain, pass->stages, i);
    pass->block[0] = per_tile[0];
    pass->block[1] =
        per_tile[1] * (pass->blocks->across ? pass->blocks->tiles[1] : pass->blocks->tile_rows);
    pass->sets = per_tile[0] * per_tile[1];
    pass->step = per_tile[1];
    pass->rows = pass->blocks->tile_rows;
    pass->lead = 0;
    pass->pitch = winograd->dim[2]->outputs * pass->blocks->plane_step;
}

/* The zeros around a row of the slab, and so how many rows a run has. */
static void plan_slab(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const uc_axis axis = uc_axis_of(&chain->stage[chain->conv_stage], 2);
    const size_t vector = plan->kernels->vector_lanes;
    const size_t columns = pass->columns[chain->conv_stage + 1], inputs = pass->inputs;
    const size_t lanes = (columns - 1) / axis.stride + 1,
                 all = pass->extent.size[2] * uc_plan_window(chain, pass->stages, 2);
    ptrdiff_t first, last;
    unclipped_reach(&axis, (uc_span){0, all}, &first, &last);
    const size_t lead = first < 0 ? (size_t)-first : 0;
    const size_t tail = last >= (ptrdiff_t)axis.in ? (size_t)last - axis.in + 1 : 0;
    /* The zeros between two rows serve the end of one and the begin of the next. */
    const size_t joined = inputs + (lead > tail ? lead : tail);
    const ptrdiff_t latest = (ptrdiff_t)uc_axis_taps(&axis, axis.stride - 1).source;
    const size_t copies = (size_t)(latest - first) + 1;

    pass->pitch = joined > lanes ? joined : lanes;
    if (!plan->amx.kernels)
        pass->pitch = uc_direct_pitch(&chain->stage[chain->conv_stage], lanes, joined, copies);
    pass->conv_rows = choose_conv_rows(plan, pass, lanes);
    if (pass->conv_rows > 1) {
        pass->copies = pass->pitch < joined ? copies : 1;
        pass->first = pass->pitch < joined ? first : -(ptrdiff_t)lead;
    } else if (plan->casts) {
        pass->pitch = inputs; /* no zero is read */
    } else {
        pass->lead = uc_round_up(lead, vector); /* the first column is aligned */
        pass->pitch = uc_round_up(inputs + (pass->lead > tail ? pass->lead : tail), vector);
    }
}

/* The reals of a slab for bands of this size, and its steps. False where it overflows. */
static bool plan_steps(const uc_plan *plan, uc_pass *pass) {
    const uc_stage *conv = &plan->chain.stage[plan->chain.conv_stage];
    const size_t channels = conv->in.channels, bytes = plan->kernels->real_bytes;
    size_t count[2];
    for (size_t i = 0; i < 2; i++) {
        const uc_axis axis = uc_axis_of(conv, i);
        const size_t outputs = pass->band[i] * uc_plan_window(&plan->chain, pass->stages, i);
        count[i] = i == 0 || pass->conv_rows == 1 ? inputs_of(&axis, outputs)
                                                  : (outputs + axis.kernel - 2) / axis.stride + 1;
    }
    size_t elems = count[1];
    if (!uc_size_mul(&elems, pass->pitch) || !uc_size_add(&elems, 1024))
        return false;
    elems -= 1024;
    if (pass->conv_rows == 1) {
        pass->channel_step = pass->pitch;
        pass->row_step = channels * pass->pitch;
    } else {
        /* Channels a multiple of 2 KiB apart would fight for the same lines of L1. */
        while (uc_clash(elems * bytes, UC_L1_PERIOD))
            elems += 16;
        pass->row_step = pass->pitch;
        pass->channel_step = elems;
    }
    if (!uc_size_mul(&elems, channels))
        return false;
    pass->depth_step = elems;
    /* The last rows' vectors reach past the end. */
    if (!uc_size_mul(&elems, count[0]) ||
        !uc_size_add(&elems, pass->lead + pass->pitch + 4 * plan->kernels->vector_lanes))
        return false;
    if (plan->winograd && !uc_size_add(&elems, pass->row_step)) /* a row of zeros */
        return false;
    pass->copy_step = elems;
    if (pass->copies > 1 && !uc_size_mul(&elems, pass->copies))
        return false;
    pass->slab_elems = elems;
    if (plan->amx.kernels) { /* there are fewer pairs than channels: all of this fits */
        const size_t pairs = plan->amx.slices * plan->amx.pairs;
        pass->pair_depth_step = pass->depth_step / channels * pairs;
        pass->pair_row_step =
            pass->conv_rows == 1 ? pass->row_step / channels * pairs : pass->row_step;
        pass->pair_elems = elems - count[0] * (pass->depth_step - pass->pair_depth_step);
    }
    return uc_size_mul(&elems, bytes);
}

/* Halves the columns of bands, if they have more than a few runs of them. */
static bool halve_columns(const uc_plan *plan, uc_pass *pass) {
    const size_t half = uc_round_up((pass->band[2] + 1) / 2, pass->segment);
    if (half >= pass->band[2] || half < 4 * pass->segment || pass->conv_rows > 1)
        return false;
    pass->band[2] = half;
    plan_columns(plan, pass);
    plan_slab(plan, pass);
    return true;
}

static size_t most_slab(const uc_pass *pass) {
    return pass->band[2] < pass->extent.size[2] ? CUT_SLAB_BYTES : SLAB_BYTES;
}

/* Cuts the pass into bands until their slabs are small enough, depth first. */
static uc_status plan_bands(const uc_plan *plan, uc_pass *pass) {
    for (size_t i = 0; i < 2; i++)
        pass->band[i] = pass->extent.size[i];
    if (pass->stages > plan->chain.conv_stage && !plan->borrows) {
        bool fits;
        while (!(fits = plan_steps(plan, pass)) ||
               pass->slab_elems * plan->kernels->real_bytes > most_slab(pass)) {
            const size_t unit[2] = {plan->winograd ? pass->block[0] : 1,
                                    plan->winograd ? pass->block[1] : 1};
            const size_t i = pass->band[0] > unit[0] ? 0 : 1;
            if (pass->band[i] <= unit[i]) {
                if (!halve_columns(plan, pass))
                    break;
                continue;
            }
            pass->band[i] = uc_round_up((pass->band[i] + 1) / 2, unit[i]);
        }
        if (!fits)
            return uc_fail(UC_NO_MEMORY,
                           "one row of the output needs more input than memory holds");
    }
    for (size_t i = 0; i < 2; i++)
        pass->bands[i] = (pass->extent.size[i] - 1) / pass->band[i] + 1;
    pass->bands[2] = uc_parts(pass->extent.size[2], pass->band[2]);
    return UC_OK;
}

/* Takes room for some sets of rows in a thread's buffer; false where it overflows. */
static bool take_rows(uc_pass *pass, const uc_rows *rows, size_t sets, size_t *at) {
    size_t elems = rows->lanes;
    *at = pass->buffer_elems;
    return uc_size_mul(&elems, rows->channels) && uc_size_mul(&elems, sets) &&
           uc_size_add(&pass->buffer_elems, elems) && uc_size_align(&pass->buffer_elems);
}

/* Whether rows of the input are loaded, and not read where they are or loaded into the slab. */
static bool loads_rows(const uc_plan *plan, const uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const bool can_borrow =
        plan->turned == UC_SPACE - 1 && plan->element_bytes == plan->kernels->real_bytes;
    if (pass->stages <= chain->conv_stage)
        return true;
    if (!chain->conv_stage)
        return (plan->winograd || pass->copies) && !can_borrow;
    return !can_borrow || uc_ops[chain->stage[0].op].needs != UC_NEEDS_WINDOW;
}

/* What a thread reads of a channel at a time, if it can, for the slab of a Winograd convolution:
 * its rows lie one after the other, those of the next channel far away. With more rows than that
 * some threads might have none. */
#define SPLIT_BYTES ((size_t)512)
#define SPLIT_ROWS 4

static size_t split_rows(const uc_plan *plan) {
    const uc_extent *in = &plan->chain.stage[plan->chain.conv_stage].in;
    const size_t rows = SPLIT_BYTES / plan->kernels->real_bytes / in->size[2];
    return !rows ? 1 : rows < SPLIT_ROWS ? rows : SPLIT_ROWS;
}

/* How many rows every stage makes at a time, and where they lie. */
static uc_status plan_rows(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    bool fits = true;
    pass->rows_made[pass->stages] = pass->rows;
    for (size_t s = pass->stages;; s--) {
        const uc_needs needs = s ? uc_ops[chain->stage[s - 1].op].needs : UC_NEEDS_TAPS;
        if (needs == UC_NEEDS_TAPS || needs == UC_NEEDS_WINDOW) {
            size_t sets = s || loads_rows(plan, pass);
            if (plan->winograd && s == chain->conv_stage + 1)
                sets = plan->outputs[0] * plan->outputs[1]; /* all of a phase at once */
            if (pass->pours && s == chain->conv_stage + 1)
                sets = 0;
            pass->shape[s] = uc_plan_rows(plan, pass, s, pass->rows_made[s]);
            fits = fits && take_rows(pass, &pass->shape[s], sets, &pass->rows_at[s]);
        }
        if (!s)
            break;
        pass->rows_made[s - 1] = pass->rows_made[s];
        if (needs == UC_NEEDS_TAPS)
            pass->rows_made[s - 1] = plan->winograd ? split_rows(plan) : 1;
        if (needs == UC_NEEDS_WINDOW) {
            const bool blocks = plan->winograd && s > chain->conv_stage;
            pass->merged[s] = uc_plan_merged(plan, pass, s, pass->rows_made[s]);
            fits = fits &&
                   take_rows(pass, &pass->merged[s], blocks ? pass->sets : 1, &pass->merged_at[s]);
            if (!blocks)
                pass->rows_made[s - 1] = made_by_conv(chain, s - 1) ? pass->conv_rows : 1;
        }
    }
    if (plan->spreads && pass->stages > chain->conv_stage) {
        size_t elems;
        pass->spread_at = pass->buffer_elems;
        fits = fits && uc_spread_elems(&plan->spread, plan->kernels, &elems) &&
               uc_size_add(&pass->buffer_elems, elems) && uc_size_align(&pass->buffer_elems);
    }
    if (plan->casts && pass->stages > chain->conv_stage) {
        const uc_rows *rows = &pass->shape[chain->conv_stage + 1];
        size_t elems;
        pass->cast_at = pass->buffer_elems;
        fits = fits &&
               uc_cast_elems(plan->kernels, pass->run_panels, rows->rows * rows->columns, &elems) &&
               uc_size_add(&pass->buffer_elems, elems) && uc_size_align(&pass->buffer_elems);
    }
    if (pass->pours) {
        const uc_axis width = uc_axis_of(&chain->stage[chain->conv_stage], 2);
        const size_t lines = pass->rows * uc_pass_pour_phases(pass, &width);
        pass->lines_at = pass->buffer_elems;
        pass->buffer_elems += lines * sizeof(uc_pour_line) / plan->kernels->real_bytes;
        fits = fits && uc_size_align(&pass->buffer_elems);
    }
    if (uc_plan_is_turned(plan)) { /* no element is larger than a real */
        const size_t in = chain->in.size[2], out = chain->out.size[2];
        pass->turned_at = pass->buffer_elems;
        fits = fits && uc_size_add(&pass->buffer_elems, in > out ? in : out) &&
               uc_size_align(&pass->buffer_elems);
    }
    pass->scratch_at = pass->buffer_elems;
    size_t scratch = 0;
    for (size_t i = 0; i < UC_BLOCK_PARTS; i++)
        if (pass->blocks[i].scratch_elems > scratch)
            scratch = pass->blocks[i].scratch_elems;
    fits = fits && uc_size_add(&pass->buffer_elems, scratch) && uc_size_align(&pass->buffer_elems);
    return fits ? UC_OK : uc_fail(UC_NO_MEMORY, "one row of a stage is larger than memory");
}

/* The rows of a band go to the phases in turn, and each phase's rows into runs. */
static void count_runs(uc_pass *pass) {
    pass->runs = pass->blocks->tile_rows
                     ? uc_blocks_count(pass->blocks, pass->blocks->tiles[0]) * pass->sets
                     : 0;
    if (pass->runs) /* there are blocks */
        return;
    for (size_t b = 0; b < pass->bands[1]; b++) {
        const size_t left = pass->extent.size[1] - b * pass->band[1];
        const size_t heights = left < pass->band[1] ? left : pass->band[1];
        const size_t phases = heights < pass->step ? heights : pass->step;
        const size_t fewer = heights / phases, more = heights % phases;
        pass->runs += pass->extent.size[0] * ((phases - more) * ((fewer - 1) / pass->rows + 1) +
                                              more * (fewer / pass->rows + 1));
    }
    size_t segments = 0;
    for (size_t b = 0; b < pass->bands[2]; b++)
        segments += uc_parts(uc_part(pass->extent.size[2], pass->band[2], b).count, pass->segment);
    pass->runs *= segments;
}

/* Rows can be kept for an op that needs everything if all that follows takes them as they are, and
 * channel by channel, so that a few channels of the whole space fit the cache. NULL, or what is in
 * the way. */
static const char *why_not_keep(const uc_plan *plan, const uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    if (pass->stages <= chain->conv_stage)
        return "the op comes before the convolution";
    if (pass->bands[0] * pass->bands[1] * pass->bands[2] > 1)
        return "the slab does not hold all of an item";
    for (size_t s = chain->conv_stage + 1; s < chain->stage_count; s++)
        if (s != pass->stages && uc_ops[chain->stage[s].op].needs != UC_NEEDS_ELEMENT)
            return "another stage needs more than an element";
    const uc_rows rows = uc_plan_rows(plan, pass, pass->stages, pass->rows);
    size_t panel_elems = plan->panel;
    if (!uc_size_mul(&panel_elems, rows.lanes) || !uc_size_mul(&panel_elems, pass->runs) ||
        panel_elems > UC_KEPT_BYTES / plan->kernels->real_bytes)
        return "one panel of channels in all of space is too large";
    return NULL;
}

/* Where elements have 16 bits, what the other halves of laid rows may take: with more, allocators
 * give each call fresh pages, and those take as long as a pass. */
#define LAID_BYTES ((size_t)24 << 20)

/* The bounds of the clamp before a stage, or NULL: behind one no largest value need be looked for,
 * if none is much smaller. */
static const double *bounds_of(const uc_chain *chain, size_t stage) {
    const uc_stage *before = &chain->stage[stage - 1];
    return before->op == UC_OP_clamp && before->number[1] - before->number[0] <= BOUNDED_RANGE
               ? before->number
               : NULL;
}

bool uc_plan_keeps_all(const uc_plan *plan) {
    const uc_extent *out = &plan->chain.stage[plan->chain.conv_stage].out;
    return out->channels * uc_extent_positions(out) <= UC_KEPT_BYTES / plan->kernels->real_bytes;
}

/* They can be if their factor is all that will be missing, the same one for all of a channel. */
bool uc_plan_can_lay(const uc_plan *plan, size_t stage) {
    const uc_chain *chain = &plan->chain;
    if (stage <= chain->conv_stage || uc_plan_is_turned(plan) || !made_by_conv(chain, stage) ||
        !bounds_of(chain, stage))
        return false;
    for (size_t s = stage + 1; s < chain->stage_count; s++)
        if (!plan->idle[s])
            return false;
    const uc_extent *extent = &chain->stage[stage].in;
    return uc_plan_can_borrow(plan) ||
           extent->channels * uc_extent_positions(extent) <= LAID_BYTES / plan->element_bytes;
}

static void plan_keeping(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const size_t panel = plan->panel, bytes = plan->kernels->real_bytes;
    const size_t panels = plan->panels.count;
    pass->block_panels = panels;
    if (pass->stages == chain->stage_count)
        return;
    const size_t rows_before = pass->rows;
    if (!plan->winograd && !plan->spread.gathers && pass->conv_rows == 1 &&
        made_by_conv(chain, pass->stages)) {
        /* With few channels a run may have more rows: less to do for each. */
        const uc_rows row = uc_plan_rows(plan, pass, pass->stages, 1);
        const size_t fit = RUN_BYTES / (2 * panel * row.lanes * bytes);
        pass->rows = fit > UC_MAX_ROWS ? UC_MAX_ROWS : fit ? fit : 1;
        count_runs(pass);
    }
    const bool can_lay = uc_plan_can_lay(plan, pass->stages);
    pass->why_not_kept = why_not_keep(plan, pass);
    if (!pass->why_not_kept && plan->winograd && !uc_plan_keeps_all(plan) && can_lay)
        pass->why_not_kept = "inputs would be combined again for every few channels";
    pass->keeps = !pass->why_not_kept;
    if (pass->keeps || can_lay)
        pass->bounds = bounds_of(chain, pass->stages);
    if (!pass->keeps) {
        pass->lays = can_lay;
        pass->rows = rows_before;
        count_runs(pass);
        if (pass->lays && plan->winograd) /* those of a phase are measured together */
            pass->runs /= plan->outputs[0] * plan->outputs[1];
        return;
    }
    const uc_rows rows = uc_plan_rows(plan, pass, pass->stages, pass->rows);
    const size_t fit = UC_KEPT_BYTES / bytes / (panel * rows.lanes * pass->runs);
    pass->block_panels = fit < panels ? fit : panels;
    pass->kept_elems = pass->block_panels * panel * rows.lanes;
}

/* What the channels of a run may take that are stored together: they, and what they are made of,
 * share L1. */
#define STORED_BYTES ((size_t)24 << 10)

/* Runs with channels in lanes are cut into parts until there are so many. */
#define CAST_RUNS 32

/* Cuts runs into panels. */
static void plan_run_panels(const uc_plan *plan, uc_pass *pass) {
    if (!by_panels(plan, pass))
        return;
    const uc_rows rows = uc_plan_rows(plan, pass, pass->stages, pass->rows);
    const size_t fit = STORED_BYTES / plan->kernels->real_bytes / rows.lanes / plan->panel;
    const size_t some = fit > LEAST_PANELS ? fit : LEAST_PANELS;
    if (some < plan->panels.count || plan->casts)
        pass->run_panels = some;
    if (plan->casts && pass->runs < CAST_RUNS) {
        const size_t parts = (CAST_RUNS - 1) / pass->runs + 1;
        pass->parts = parts < plan->panels.count ? parts : plan->panels.count;
    }
}

#define POURED_BYTES ((size_t)8 << 10) /* a run has so much of a channel, */
#define POURED_ROW ((size_t)32 << 10)  /* and a row at most this; */
#define POURED_LEAST ((size_t)2 << 10) /* with less, lines at its ends and lists would count */
#define POURED_RUNS 64                 /* channels are cut, and runs, until there are so many */
#define POURED_LARGE ((size_t)8 << 20) /* of an output whose rows need not fill lines */
#define POURED_PRODUCTS 12 /* of several phases at once: sums of more are quicker one by one */
#define POURED_MEAN 4      /* or on average, where rows don't fill lines; */
#define POURED_BY_TWO 20   /* of two phases */

/* Whether an output has so few products that pouring it is quicker than to make a tile. Rows that
 * don't fill cache lines are put together from a tile once more, so they may have more. */
static bool has_few_products(const uc_stage *conv, bool whole_lines) {
    const size_t phases = conv->conv.stride[2];
    size_t most = conv->in.channels;
    double mean = (double)most;
    for (size_t i = 0; i < UC_SPACE; i++) {
        const uc_axis axis = uc_axis_of(conv, i);
        if (!uc_size_mul(&most, uc_axis_phase_taps(&axis, 0)))
            return false;
        mean *= (double)axis.kernel / (double)axis.stride;
    }
    return most <= UC_FEW_PRODUCTS &&
           (phases == 1 || most <= POURED_PRODUCTS ||
            (!whole_lines && mean <= (phases == 2 ? POURED_BY_TWO : POURED_MEAN)));
}

/* Whether rows of few products go into the output as they are made, and how many a run has: where
 * the output is so large, or its rows fill cache lines, that they go past the caches. */
static void plan_pouring(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    const size_t columns = pass->extent.size[2], row = columns * plan->element_bytes;
    const uc_axis width = uc_axis_of(conv, 2);
    if (chain->stage_count > chain->conv_stage + 1 || pass->stages < chain->stage_count ||
        plan->winograd || plan->spreads || plan->casts || plan->amx.kernels || plan->exact ||
        !uc_plan_can_borrow(plan) || uc_pass_pour_phases(pass, &width) > UC_POUR_PHASES)
        return;
    const uc_shape out = uc_chain_output(chain);
    if (plan->streams == UC_STREAM_NOT || row > POURED_ROW ||
        (row % 64 && uc_shape_elems(&out) < POURED_LARGE / plan->element_bytes))
        return;
    const size_t lanes = (columns - 1) / width.stride + 1;
    if (!has_few_products(conv, row % 64 == 0) ||
        3 * lanes < 2 * uc_round_up(lanes, plan->kernels->vector_lanes))
        return;
    const size_t heights = pass->extent.size[1], most = (plan->panels.count + 1) / 2,
                 enough = uc_parts(POURED_BYTES, row),
                 shared = pass->extent.size[0] * heights * most / POURED_RUNS,
                 rows = enough < shared ? enough : shared;
    if (rows * row < POURED_LEAST)
        return;
    pass->rows = rows < UC_MAX_ROWS ? rows : UC_MAX_ROWS;
    const size_t runs = pass->extent.size[0] * ((heights - 1) / pass->rows + 1),
                 parts = (POURED_RUNS - 1) / runs + 1;
    pass->parts = parts < most ? parts : most;
    pass->pours = true;
}

#define WOVEN_PHASES 4
#define WOVEN_BYTES ((size_t)2 << 20) /* a row of each, in all channels */
#define LONG_ROW_BYTES 5000           /* fill enough lines of their own */
#define WOVEN_RUN_BYTES 10000         /* of a channel, if that leaves so many runs: */
#define WOVEN_RUNS 8                  /* of a depth, */
#define WOVEN_RUNS_OF_ALL 32          /* or of all of them */

/* Where rows of a large output don't fill cache lines, neighbours share some: a run has rows of all
 * phases along the height then, and their lines go past the caches together. */
static void plan_weaving(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const uc_axis axis = uc_axis_of(&chain->stage[chain->conv_stage], 1);
    const bool bare = pass->stages == chain->conv_stage + 1;
    const size_t row = pass->extent.size[2] * plan->element_bytes;
    if (plan->streams != UC_STREAM_JOINED || pass->stages < chain->stage_count || plan->winograd ||
        plan->spreads || plan->casts || plan->amx.kernels || uc_plan_is_turned(plan) ||
        pass->segment < pass->extent.size[2] || row % 64 == 0 || row >= LONG_ROW_BYTES ||
        axis.stride == 1 || axis.stride > WOVEN_PHASES || (axis.stride > axis.kernel && !bare) ||
        pass->extent.channels > WOVEN_BYTES / (row * axis.stride))
        return;
    for (size_t s = chain->conv_stage + 1; s < pass->stages; s++)
        if (uc_ops[chain->stage[s].op].needs != UC_NEEDS_ELEMENT)
            return;
    pass->woven = axis.stride;
    pass->step = 1;
    pass->rows = pass->conv_rows * axis.stride;
    /* Rows that don't run on are few: more of them make lines. Where depths without taps keep runs
     * from being cut into panels, those would take all channels. */
    const uc_axis depth = uc_axis_of(&chain->stage[chain->conv_stage], 0);
    const size_t enough = uc_parts(WOVEN_RUN_BYTES, pass->rows * row),
                 heights = (pass->extent.size[1] - 1) / pass->rows + 1,
                 of_depth = heights / WOVEN_RUNS,
                 of_all = pass->extent.size[0] * heights / WOVEN_RUNS_OF_ALL,
                 shared = of_depth > of_all ? of_depth : of_all,
                 most = shared < heights ? shared : heights, some = enough < most ? enough : most;
    if (some && pass->conv_rows == 1 && depth.stride <= depth.kernel)
        pass->rows *= (heights - 1) / ((heights - 1) / some + 1) + 1; /* parts of about a size */
}

/* How many rows runs have, and how far apart. */
static void plan_run_rows(const uc_plan *plan, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    pass->step = uc_plan_step(plan, pass->stages);
    pass->rows = pass->conv_rows;
    if (plan->spreads && made_by_conv(chain, pass->stages))
        pass->rows = uc_spread_rows(&plan->spread, plan->kernels, conv,
                                    (double)pass->extent.size[0] * (double)pass->extent.size[1] *
                                        (double)uc_parts(pass->extent.size[2], pass->segment));
    if (plan->casts)
        pass->rows = uc_cast_rows(pass->extent.size[1], pass->segment);
    if (!made_by_conv(chain, pass->stages)) /* enough pooled rows for one run of the convolution */
        pass->rows =
            (pass->conv_rows * conv->conv.stride[1] - 1) / uc_plan_window(chain, pass->stages, 1) +
            1;
    plan_weaving(plan, pass);
    if (pass->rows > UC_MAX_ROWS)
        pass->rows = UC_MAX_ROWS;
}

uc_status uc_plan_pass(const uc_plan *plan, size_t stages, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    *pass = (uc_pass){.stages = stages,
                      .extent = stages ? chain->stage[stages - 1].out : chain->in,
                      .step = 1,
                      .rows = 1,
                      .conv_rows = 1,
                      .parts = 1};
    if (stages > chain->conv_stage)
        plan_pouring(plan, pass);
    plan_segments(plan, pass);
    plan_columns(plan, pass);
    for (size_t s = 0; s <= stages; s++) /* phases are rounded up to vectors: leave room for that */
        if (pass->columns[s] > PTRDIFF_MAX / 1024)
            return uc_fail(UC_NO_MEMORY, "one row of %zu columns is larger than memory",
                           pass->columns[s]);
    if (stages > chain->conv_stage && plan->winograd)
        plan_blocks(plan, pass);
    else if (stages > chain->conv_stage) {
        plan_slab(plan, pass);
        if (!pass->pours)
            plan_run_rows(plan, pass);
    }
    const uc_status status = plan_bands(plan, pass);
    if (status != UC_OK)
        return status;
    count_runs(pass);
    plan_keeping(plan, pass);
    plan_run_panels(plan, pass);
    return plan_rows(plan, pass);
}
