/* The tile loop: load, fill, finish, store.
 * Called by plan.c; calls the kernels. The serial twin of a pass:
 *
 *     for each batch item, for each tile:
 *         load the box of the input that the tile needs
 *         for each stage: fill the next tile from it (convolution, pools) or change it in place
 *         store the tile, or measure it for the stage that needs everything
 */
#include "tile.h"

#include <math.h>
#include <string.h>

#include "dtype.h"
#include "pack.h"

#if defined(_OPENMP)
#include <omp.h>
#else
static int omp_get_thread_num(void) {
    return 0;
}
#endif

void uc_tile_boxes(const uc_chain *chain, size_t stages, const uc_box *tile,
                   uc_box boxes[UC_MAX_STAGES + 1]) {
    boxes[stages] = *tile;
    for (size_t s = stages; s-- > 0;) {
        const uc_stage *stage = &chain->stage[s];
        boxes[s] = boxes[s + 1];
        for (size_t i = 0; i < UC_SPACE; i++) {
            uc_span *span = &boxes[s].span[i];
            if (uc_ops[stage->op].needs == UC_NEEDS_WINDOW) {
                span->begin *= stage->window[i];
                span->count *= stage->window[i];
            } else if (uc_ops[stage->op].needs == UC_NEEDS_TAPS) {
                const uc_axis axis = uc_axis_of(stage, i);
                *span = uc_axis_sources(&axis, *span);
            }
        }
    }
}

static uc_tile tile_in(void *buffer, size_t channels, const uc_box *box) {
    uc_tile tile = {.reals = buffer, .channels = channels};
    for (size_t i = 0; i < UC_SPACE; i++) {
        tile.begin[i] = box->span[i].begin;
        tile.size[i] = box->span[i].count;
    }
    return tile;
}

/* Moves a tile from or to its place in a tensor's batch item, row by row. */
typedef struct place {
    const uc_plan *plan;
    const uc_extent *extent;
    size_t item;
} place;

static size_t row_offset(const place *at, const uc_tile *tile, size_t c, size_t d, size_t h) {
    const size_t *size = at->extent->size;
    const size_t channel = at->item * at->extent->channels + c;
    const size_t row = (channel * size[0] + tile->begin[0] + d) * size[1] + tile->begin[1] + h;
    return (row * size[2] + tile->begin[2]) * uc_dtype_bytes(at->plan->chain.dtype);
}

static void load_tile(const place *at, const void *input, uc_tile *tile) {
    const uc_kernels *kernels = at->plan->kernels;
    char *row = tile->reals;
    for (size_t c = 0; c < tile->channels; c++)
        for (size_t d = 0; d < tile->size[0]; d++)
            for (size_t h = 0; h < tile->size[1]; h++) {
                kernels->load(at->plan->chain.dtype,
                              (const char *)input + row_offset(at, tile, c, d, h), row,
                              tile->size[2]);
                row += tile->size[2] * kernels->real_bytes;
            }
}

static void store_tile(const place *at, const uc_tile *tile, void *output) {
    const uc_kernels *kernels = at->plan->kernels;
    const char *row = tile->reals;
    for (size_t c = 0; c < tile->channels; c++)
        for (size_t d = 0; d < tile->size[0]; d++)
            for (size_t h = 0; h < tile->size[1]; h++) {
                kernels->store(at->plan->chain.dtype, row,
                               (char *)output + row_offset(at, tile, c, d, h), tile->size[2]);
                row += tile->size[2] * kernels->real_bytes;
            }
}

/* Fills a tile with the convolution, direct: row by row, phase by phase. */
static void fill_direct(const uc_plan *plan, const uc_stage *conv, const uc_tile *in,
                        uc_tile *out) {
    const uc_kernels *kernels = plan->kernels;
    uc_axis axis[UC_SPACE];
    for (size_t i = 0; i < UC_SPACE; i++)
        axis[i] = uc_axis_of(conv, i);
    uc_conv_row row = {.in = in,
                       .bias = plan->bias,
                       .in_width = axis[2].in,
                       .output_step = axis[2].stride,
                       .output_channel_step = uc_tile_positions(out),
                       .out_channels = out->channels};

    char *reals = out->reals;
    for (size_t d = 0; d < out->size[0]; d++)
        for (size_t h = 0; h < out->size[1]; h++, reals += out->size[2] * kernels->real_bytes) {
            row.d = uc_axis_taps(&axis[0], out->begin[0] + d);
            row.h = uc_axis_taps(&axis[1], out->begin[1] + h);
            for (size_t w = 0; w < out->size[2] && w < axis[2].stride; w++) {
                const uc_taps taps = uc_axis_taps(&axis[2], out->begin[2] + w);
                const size_t phase[UC_SPACE] = {row.d.phase, row.h.phase, taps.phase};
                for (size_t i = 0; i < UC_SPACE; i++)
                    row.taps[i] = uc_axis_phase_taps(&axis[i], phase[i]);
                row.weights =
                    (const char *)plan->weights +
                    uc_pack_phase_offset(conv, kernels->panel, axis, phase) * kernels->real_bytes;
                row.source = taps.source;
                row.output = reals + w * kernels->real_bytes;
                row.count = (out->size[2] - w - 1) / axis[2].stride + 1;
                kernels->conv_row(&row);
            }
        }
}

/* The state of one execution. */
typedef struct run {
    const uc_plan *plan;
    const void *input;
    void *output;
    char *workspace;
} run;

static uc_summary *summaries_of(const run *r, size_t stage) {
    return (uc_summary *)(void *)(r->workspace + r->plan->summary_offset[stage]);
}

static uc_summary *measures_of(const run *r, size_t tile, size_t channels) {
    return (uc_summary *)(void *)(r->workspace + r->plan->measures_offset) + tile * channels;
}

/* The tile with this number, cut at the end of the space. */
static uc_box tile_box(const uc_pass *pass, size_t number) {
    uc_box box;
    for (size_t i = UC_SPACE; i-- > 0; number /= pass->tiles[i]) {
        const size_t begin = number % pass->tiles[i] * pass->tile[i];
        const size_t left = pass->extent.size[i] - begin;
        box.span[i] = (uc_span){begin, left < pass->tile[i] ? left : pass->tile[i]};
    }
    return box;
}

static void run_tile(const run *r, const uc_pass *pass, size_t item, size_t number) {
    const uc_plan *plan = r->plan;
    const uc_chain *chain = &plan->chain;
    const uc_box box = tile_box(pass, number);
    uc_box boxes[UC_MAX_STAGES + 1];
    uc_tile_boxes(chain, pass->stages, &box, boxes);

    char *buffers = r->workspace + (size_t)omp_get_thread_num() * 2 * plan->buffer_bytes;
    char *buffer = buffers, *other = buffers + plan->buffer_bytes;
    uc_tile tile = tile_in(buffer, chain->in.channels, &boxes[0]);
    load_tile(&(place){plan, &chain->in, item}, r->input, &tile);

    for (size_t s = 0; s < pass->stages; s++) {
        const uc_stage *stage = &chain->stage[s];
        const uc_needs needs = uc_ops[stage->op].needs;
        const bool in_place = needs != UC_NEEDS_TAPS && needs != UC_NEEDS_WINDOW;
        if (!in_place) {
            char *swapped = buffer;
            buffer = other;
            other = swapped;
        }
        uc_tile next = tile_in(buffer, stage->out.channels, &boxes[s + 1]);
        if (needs == UC_NEEDS_TAPS) {
            fill_direct(plan, stage, &tile, &next);
        } else {
            const uc_finish finish = {.stage = stage,
                                      .per_channel = plan->per_channel[s],
                                      .summaries =
                                          needs == UC_NEEDS_EVERYTHING
                                              ? summaries_of(r, s) + item * stage->in.channels
                                              : NULL};
            plan->kernels->finish[stage->op](&finish, &tile, &next);
        }
        tile = next;
    }

    if (pass->stages == chain->stage_count)
        store_tile(&(place){plan, &chain->out, item}, &tile, r->output);
    else
        plan->kernels->measure[chain->stage[pass->stages].op](
            &tile, measures_of(r, number, tile.channels));
}

uc_summary uc_summary_merge(uc_summary a, uc_summary b) {
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

/* All tiles' measures of an item, merged in the tiles' order: the same for any thread count. */
static void merge_measures(const run *r, const uc_pass *pass, size_t item, size_t tiles) {
    const size_t channels = pass->extent.channels;
    uc_summary *summaries = summaries_of(r, pass->stages) + item * channels;
    memcpy(summaries, measures_of(r, 0, channels), channels * sizeof *summaries);
    for (size_t t = 1; t < tiles; t++)
        for (size_t c = 0; c < channels; c++)
            summaries[c] = uc_summary_merge(summaries[c], measures_of(r, t, channels)[c]);
}

void uc_tile_run(const uc_plan *plan, const void *input, void *output, char *workspace) {
    const run r = {plan, input, output, workspace};
    for (size_t p = 0; p < plan->pass_count; p++) {
        const uc_pass *pass = &plan->pass[p];
        const size_t tiles = pass->tiles[0] * pass->tiles[1] * pass->tiles[2];
        if (p + 1 < plan->pass_count) {
            for (size_t item = 0; item < plan->chain.batch_size; item++) {
#pragma omp parallel for schedule(dynamic) num_threads((int)plan->threads)
                for (size_t t = 0; t < tiles; t++)
                    run_tile(&r, pass, item, t);
                merge_measures(&r, pass, item, tiles);
            }
        } else {
#pragma omp parallel for schedule(dynamic) num_threads((int)plan->threads)
            for (size_t t = 0; t < tiles * plan->chain.batch_size; t++)
                run_tile(&r, pass, t / tiles, t % tiles);
        }
    }
}
