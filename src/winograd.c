/* The Winograd convolution: weights, blocks, and how a block is filled.
 * Called by plan.c and pack.c (weights) and by block.c (blocks). */
#include "winograd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "memory.h"

/* What the combined inputs of a chunk may take: they are read again for every panel of channels,
 * and should stay in a core's L2. */
#define CHUNK_BYTES ((size_t)192 << 10)

/* ---- Weights ---- */

/* Along one dimension, of all points of a phase in segments: products, and the weights they have.
 */
typedef size_t count_of(const uc_toom_phase *phase);

static size_t products_of(const uc_toom_phase *phase) {
    return phase->points * phase->segments;
}

static size_t weights_of(const uc_toom_phase *phase) {
    return uc_weight_count(phase->kind, phase->points) * phase->segments;
}

/* Those of one (d, h) phase, for one input and one output channel; and of all such phases before
 * it. */
static size_t pair_count(const uc_winograd *w, size_t d, size_t h, count_of *count) {
    size_t along_width = 0;
    for (size_t e = 0; e < w->dim[2]->stride; e++)
        along_width += count(&w->dim[2]->phase[e]);
    return count(&w->dim[0]->phase[d]) * count(&w->dim[1]->phase[h]) * along_width;
}

static size_t count_before(const uc_winograd *w, size_t d, size_t h, count_of *count) {
    size_t before = 0;
    for (size_t i = 0; i < d * w->dim[1]->stride + h; i++)
        before += pair_count(w, i / w->dim[1]->stride, i % w->dim[1]->stride, count);
    return before;
}

/* Where the weights of a (d, h) phase start, in reals. */
static size_t pair_offset(const uc_winograd *w, size_t d, size_t h) {
    return count_before(w, d, h, weights_of) * w->conv->in.channels * w->conv->out.channels;
}

size_t uc_winograd_products(const uc_winograd *w) {
    return count_before(w, w->dim[0]->stride, 0, products_of);
}

bool uc_winograd_weights(const uc_winograd *w, size_t *elems) {
    *elems = count_before(w, w->dim[0]->stride, 0, weights_of);
    return uc_size_mul(elems, w->conv->in.channels) && uc_size_mul(elems, w->conv->out.channels);
}

/* Input channels whose weights are transformed together: enough for long loops, few enough for the
 * cache. */
static size_t channels_at_once(const uc_stage *conv) {
    const size_t taps = conv->conv.kernel[0] * conv->conv.kernel[1] * conv->conv.kernel[2],
                 some = ((size_t)4 << 10) / taps + 1;
    return some < conv->in.channels ? some : conv->in.channels;
}

bool uc_winograd_scratch_bytes(const uc_winograd *w, size_t *bytes) {
    const size_t *kernel = w->conv->conv.kernel;
    *bytes = kernel[0] + 1;
    return uc_size_mul(bytes, kernel[1]) && uc_size_add(bytes, 1) &&
           uc_size_mul(bytes, kernel[2]) &&
           uc_size_mul(bytes, channels_at_once(w->conv) * w->kernels->panel * sizeof(double));
}

/* One segment of one point along a dimension: what its taps are multiplied by, and where the first
 * of them is in the kernel. */
typedef struct segment {
    const double *weight;
    size_t taps, tap;
} segment;

static segment segment_of(const uc_winograd *w, size_t dimension, size_t phase, size_t number) {
    const uc_toom *toom = w->dim[dimension];
    const uc_toom_phase *p = &toom->phase[phase];
    segment s = {p->weight[number / p->segments][number % p->segments], p->taps,
                 (phase + w->conv->conv.padding[dimension]) % toom->stride};
    /* Without those at either end that count for nothing. */
    while (s.taps > 1 && s.weight[s.taps - 1] == 0)
        s.taps--;
    for (; s.taps > 1 && *s.weight == 0; s.taps--, s.weight++)
        s.tap += toom->stride;
    return s;
}

/* Some input channels of a panel: `count` numbers, [channel][panel channel], of every tap. */
typedef struct weight_block {
    const uc_winograd *winograd;
    const double *taps;
    double *by_depth, *by_height;
    size_t count;
    char *weights; /* of the panel and these channels in the first product of a (d, h) phase */
    size_t product_bytes; /* from the weights of one product to those of the next */
} weight_block;

/* The sum of a segment's taps, of `count` numbers each. A single one is taken as it is. */
static const double *sum_taps(const weight_block *b, const segment *s, const double *taps,
                              size_t stride, size_t count, double *to) {
    taps += s->tap * count;
    if (s->taps == 1 && *s->weight == 1)
        return taps;
    b->winograd->kernels->transform(s->weight, s->taps, taps, stride * count, to, count);
    return to;
}

/* All weights of a (d, h) phase at one segment of a point along each. */
static void place_row(const weight_block *b, const uc_toom_phase *depth, size_t i,
                      const uc_toom_phase *height, size_t j, const double *taps) {
    const uc_winograd *w = b->winograd;
    size_t before = 0;
    for (size_t e = 0; e < w->dim[2]->stride; e++) {
        const uc_toom_phase *along = &w->dim[2]->phase[e];
        const size_t segments = depth->segments * height->segments * along->segments;
        for (size_t k = 0; k < weights_of(along); k++) {
            const segment column = segment_of(w, 2, e, k);
            /* points d, h, w outside, their segments d, h, w inside */
            const size_t point =
                (i / depth->segments * uc_weight_count(height->kind, height->points) +
                 j / height->segments) *
                    uc_weight_count(along->kind, along->points) +
                k / along->segments;
            const size_t within =
                (i % depth->segments * height->segments + j % height->segments) * along->segments +
                k % along->segments;
            w->kernels->transform_last(
                column.weight, column.taps, taps + column.tap * b->count,
                w->dim[2]->stride * b->count,
                b->weights + (before + point * segments + within) * b->product_bytes, b->count);
        }
        before += weights_of(depth) * weights_of(height) * weights_of(along);
    }
}

static void place_block(weight_block *b, size_t panel_begin, size_t first_bytes) {
    const uc_winograd *w = b->winograd;
    const size_t width = w->conv->conv.kernel[2] * b->count,
                 plane = w->conv->conv.kernel[1] * width, bytes = w->kernels->real_bytes;
    char *weights = b->weights;
    for (size_t d = 0; d < w->dim[0]->stride; d++)
        for (size_t i = 0; i < weights_of(&w->dim[0]->phase[d]); i++) {
            const segment depth = segment_of(w, 0, d, i);
            const double *by_depth =
                sum_taps(b, &depth, b->taps, w->dim[0]->stride, plane, b->by_depth);
            for (size_t h = 0; h < w->dim[1]->stride; h++) {
                b->weights = weights + first_bytes +
                             (pair_offset(w, d, h) + panel_begin * pair_count(w, d, h, weights_of) *
                                                         w->conv->in.channels) *
                                 bytes;
                for (size_t j = 0; j < weights_of(&w->dim[1]->phase[h]); j++) {
                    const segment height = segment_of(w, 1, h, j);
                    const double *by_height =
                        sum_taps(b, &height, by_depth, w->dim[1]->stride, width, b->by_height);
                    place_row(b, &w->dim[0]->phase[d], i, &w->dim[1]->phase[h], j, by_height);
                }
            }
        }
}

/* The weights of an input channel are far from those of the one before, which no processor
 * foresees: so many channels ahead they are fetched. */
#define CHANNELS_AHEAD 6

void uc_winograd_place(const uc_winograd transforms[2], size_t panel, const void *reals,
                       void *const weights[2], double *scratch) {
    const uc_winograd *w = &transforms[0]; /* they differ in dimensions alone */
    const size_t channels = w->conv->out.channels, in_channels = w->conv->in.channels;
    const size_t *kernel = w->conv->conv.kernel, taps = kernel[0] * kernel[1] * kernel[2];
    const uc_panels cut = uc_panels_of(channels, w->kernels->panel);
    const size_t begin = uc_panel_begin(cut, panel), size = uc_panel_size(cut, panel),
                 bytes = w->kernels->real_bytes;
    for (size_t first = 0, some; first < in_channels; first += some) {
        some = channels_at_once(w->conv);
        some = in_channels - first < some ? in_channels - first : some;
        const size_t count = some * size;
        for (size_t ci = 0; ci < some; ci++) {
            if (first + ci + CHANNELS_AHEAD < in_channels)
                uc_fetch((const char *)reals +
                             ((first + ci + CHANNELS_AHEAD) * channels + begin) * taps * bytes,
                         size * taps * bytes);
            w->kernels->by_tap((const char *)reals +
                                   ((first + ci) * channels + begin) * taps * bytes,
                               size, taps, scratch + ci * size, count);
        }
        for (size_t i = 0; i < 2; i++) {
            weight_block b = {.winograd = &transforms[i],
                              .taps = scratch,
                              .by_depth = scratch + taps * count,
                              .count = count,
                              .weights = weights[i],
                              .product_bytes = in_channels * size * bytes};
            b.by_height = b.by_depth + kernel[1] * kernel[2] * count;
            place_block(&b, begin, first * size * bytes);
        }
    }
}

/* ---- Blocks ---- */

/* Rows of combined inputs, of all phases; and of the (d, h) phase that reads the most of them. */
static size_t input_rows(const uc_winograd *w) {
    return w->dim[0]->rows * w->dim[1]->rows * w->dim[2]->rows;
}

static size_t phase_rows(const uc_winograd *w) {
    size_t rows = w->dim[2]->rows;
    for (size_t i = 0; i < 2; i++) {
        size_t most = 0;
        for (size_t e = 0; e < w->dim[i]->stride; e++)
            most = w->dim[i]->phase[e].rows > most ? w->dim[i]->phase[e].rows : most;
        rows *= most;
    }
    return rows;
}

/* Reals of a block's buffers, in the order in which chunk_of() hands them out. */
typedef struct scratch {
    size_t inputs, by_depth, by_height; /* combined inputs; on the way, along depth and height */
    size_t plane;                       /* and those of one depth, where rows share vectors */
    size_t by_taps;                     /* outputs of one panel, tap by tap */
    size_t products;
    size_t total;
} scratch;

/* Whether every vector has tiles of one row of them alone. */
static bool vectors_in_rows(const uc_blocks *b) {
    return b->tile_rows == 1 || b->tiles[2] % (b->pair / 2) == 0;
}

static scratch scratch_of(const uc_winograd *w, const uc_blocks *b) {
    const size_t outputs[UC_SPACE] = {w->dim[0]->outputs, w->dim[1]->outputs, w->dim[2]->outputs};
    scratch s;
    s.inputs = uc_round_up(b->lanes, b->pair) / b->pair * b->pair_step;
    s.plane = vectors_in_rows(b) ? 0 : b->pair_step / w->dim[0]->rows / b->pair * b->plane_lanes;
    s.by_height = w->conv->in.channels * outputs[2] * b->plane_reads;
    s.by_depth = s.by_height * (w->dim[1]->window + 1);
    s.by_taps = w->kernels->panel * uc_round_up(b->tiles[2], w->kernels->vector_lanes);
    s.products = UC_TOOM_SCRATCH(w->kernels->panel, 2 * w->kernels->vector_lanes, outputs);
    s.total = s.inputs + s.by_depth + s.by_height + s.plane + s.by_taps + s.products;
    return s;
}

/* Too few blocks leave threads without work. How many there are must not decide the blocks, or
 * results would depend on it: halfway between one thread and four. */
static double idle_cost(size_t blocks) {
    const double four = (double)uc_round_up(blocks, 4) / (double)blocks;
    return (1 + four) / 2;
}

/* What the inputs of all tiles of one depth may take for blocks to go across depths: bands can't be
 * less high then. */
#define DEPTH_BYTES ((size_t)2 << 20)

static bool may_go_across(const uc_winograd *w, const uc_blocks *b) {
    size_t bytes = w->dim[0]->window * w->conv->in.channels * w->kernels->real_bytes;
    return !w->one_depth && b->tiles[0] > 1 && uc_size_mul(&bytes, b->tiles[1]) &&
           uc_size_mul(&bytes, w->dim[1]->outputs) && uc_size_mul(&bytes, b->tiles[2]) &&
           uc_size_mul(&bytes, w->dim[2]->outputs) && bytes <= DEPTH_BYTES;
}

/* How many rows of tiles share vectors: as many as waste the fewest lanes, of which there are at
 * least and at most so many, where that can be. */
static void plan_tile_rows(const uc_winograd *w, size_t least, size_t most, uc_blocks *b) {
    const size_t vector = w->kernels->vector_lanes;
    b->tile_rows = 1;
    b->across = false;
    double best = INFINITY;
    const size_t all_rows = may_go_across(w, b) ? b->tiles[0] * b->tiles[1] : b->tiles[1];
    for (size_t rows = 1; rows <= all_rows; rows++) {
        if (rows > 1 && uc_round_up(rows * b->tiles[2], vector) > most)
            break;
        if (uc_round_up(rows * b->tiles[2], vector) < least && rows < all_rows &&
            uc_round_up((rows + 1) * b->tiles[2], vector) <= most)
            continue;
        for (int across = rows > b->tiles[1]; across <= (all_rows > b->tiles[1]); across++) {
            const uc_blocks tried = {.tiles = {b->tiles[0], b->tiles[1], b->tiles[2]},
                                     .tile_rows = rows,
                                     .across = across,
                                     .groups = (b->tiles[1] - 1) / rows + 1};
            const size_t count = uc_blocks_count(&tried, b->tiles[0]);
            const double cost =
                uc_lanes_cost(rows * b->tiles[2], vector) * (double)count * idle_cost(count);
            if (cost < best * 0.96) {
                best = cost;
                b->tile_rows = rows;
                b->across = across;
            }
        }
    }
}

/* The blocks of a part of the rows of tiles, whose tiles are set. */
static void plan_part(const uc_winograd *w, size_t first_tile, size_t least, size_t most,
                      uc_blocks *b) {
    const size_t vector = w->kernels->vector_lanes, bytes = w->kernels->real_bytes,
                 in_channels = w->conv->in.channels, row = uc_round_up(b->tiles[2], vector),
                 lane_rows = w->dim[0]->outputs * w->dim[1]->outputs * uc_toom_tile(w->dim[2]) *
                             w->conv->out.channels * bytes,
                 lane_inputs = input_rows(w) * in_channels * bytes,
                 by_rows = w->rows_bytes / lane_rows,
                 pairs_of_inputs = UC_WINOGRAD_INPUT_BYTES / lane_inputs / (2 * vector),
                 by_inputs = pairs_of_inputs * 2 * vector,
                 lanes = by_rows < by_inputs ? by_rows : by_inputs;
    b->first_tile = first_tile;
    plan_tile_rows(w, least, lanes < most ? lanes : most, b);
    b->groups = (b->tiles[1] - 1) / b->tile_rows + 1;
    b->lanes = uc_round_up(b->tile_rows * b->tiles[2], vector);
    b->plane_lanes = uc_round_up((b->tile_rows - 1) * b->tiles[2] + row, vector);
    b->pair = 2 * vector;
    b->pair_step = input_rows(w) * in_channels * b->pair;
    b->rows_bytes = b->lanes * lane_rows;
    b->input_bytes = uc_round_up(b->lanes, b->pair) * lane_inputs;
    const size_t pairs = CHUNK_BYTES / bytes / phase_rows(w) / in_channels / b->pair;
    b->chunk = (pairs ? pairs : 1) * b->pair;
    /* One vector as the last chunk would have all weights come from afar for itself. */
    const bool alone = b->lanes % b->chunk == vector && b->lanes < 3 * b->chunk;
    b->chunk = b->chunk < b->lanes && !alone ? b->chunk : b->lanes;
    b->plane_reads = uc_round_up(row + (w->dim[2]->window - 1) / w->dim[2]->outputs, vector);
    b->plane_step = first_tile + b->plane_reads;
    b->scratch_elems = scratch_of(w, b).total;
}

static size_t parts_count(const uc_blocks b[UC_BLOCK_PARTS]) {
    size_t count = 0;
    for (size_t i = 0; i < UC_BLOCK_PARTS && b[i].tiles[2]; i++)
        count += uc_blocks_count(&b[i], b[i].tiles[0]);
    return count;
}

/* What parts must save: they make some sums twice, and outputs in more pieces. */
#define PARTS_COST 1.01

void uc_winograd_blocks(const uc_winograd *w, const size_t space[UC_SPACE],
                        uc_blocks b[UC_BLOCK_PARTS]) {
    const size_t vector = w->kernels->vector_lanes;
    uc_blocks whole = {0};
    for (size_t i = 0; i < UC_SPACE; i++)
        whole.tiles[i] = (space[i] - 1) / uc_toom_tile(w->dim[i]) + 1;
    b[0] = b[1] = whole;
    b[1].tiles[2] = 0;
    plan_part(w, 0, 0, SIZE_MAX, &b[0]);
    const size_t rest = whole.tiles[2] % vector;
    if (!w->parts || !rest || rest == whole.tiles[2])
        return;
    uc_blocks parts[UC_BLOCK_PARTS] = {whole, whole};
    parts[0].tiles[2] -= rest;
    parts[1].tiles[2] = rest;
    /* The second part's rows lie where the first one's do, so they are no larger. Bands may cut the
     * height, which for both goes by the first part: so none goes across. */
    uc_winograd in_depth = *w;
    in_depth.one_depth = true;
    plan_part(&in_depth, parts[0].tiles[2], 0, SIZE_MAX, &parts[1]);
    plan_part(&in_depth, 0, parts[1].lanes, SIZE_MAX, &parts[0]);
    if (parts[1].lanes > parts[0].lanes)
        plan_part(&in_depth, parts[0].tiles[2], 0, parts[0].lanes, &parts[1]);
    parts[0].plane_step = parts[1].plane_step;
    if (uc_winograd_cost(w, parts) * idle_cost(parts_count(parts)) * PARTS_COST <
        uc_winograd_cost(w, b) * idle_cost(parts_count(b)))
        memcpy(b, parts, sizeof parts);
}

double uc_winograd_flops(const uc_winograd *w, const uc_blocks b[UC_BLOCK_PARTS]) {
    double lanes = 0;
    for (size_t i = 0; i < UC_BLOCK_PARTS && b[i].tiles[2]; i++)
        lanes += (double)b[i].lanes * (double)uc_blocks_count(&b[i], b[i].tiles[0]);
    return 2 * (double)uc_winograd_products(w) * (double)w->conv->in.channels *
           (double)w->conv->out.channels * lanes;
}

/* Each in half cycles of a core with two multiply-adds a cycle; fitted to times of some hundred
 * shapes on one thread (AMD Zen 3; for vectors of 512 bits Zen 5, whose multiply-adds are twice as
 * wide, but not its way to L2). */
typedef struct costs {
    double product; /* a vector times a weight */
    double output;  /* a vector of products read, or of outputs written */
    double input;   /* a vector of combined inputs */
    double copy;    /* and where it has to be put in its place */
    double row;     /* a vector of them on the way, along depth or height */
    double sum;     /* a row of them in all channels */
    double slab;    /* a vector of the slab */
    double weights; /* a byte of weights that no L2 holds, for each chunk, */
    double afar;    /* and of such that no L3 may hold */
} costs;

static const costs *costs_of(const uc_winograd *w) {
    static const costs narrow = {.product = 0.94,
                                 .output = 1.4,
                                 .input = 4.8,
                                 .copy = 2,
                                 .row = 4.9,
                                 .sum = 334},
                       wide = {.product = 0.88,
                               .output = 0.96,
                               .input = 2.4,
                               .copy = 3.9,
                               .row = 12.4,
                               .sum = 182,
                               .slab = 6.3,
                               .weights = 0.03,
                               .afar = 0.12};
    return uc_vector_bytes(w->kernels) < 64 ? &narrow : &wide;
}

#define WEIGHTS_IN_L2 ((size_t)600 << 10)
#define WEIGHTS_IN_L3 ((size_t)8 << 20)

/* To fetch the weights of a (d, h) phase once. */
static double fetch_cost(const uc_winograd *w, size_t d, size_t h) {
    size_t elems;
    const size_t bytes = w->kernels->real_bytes;
    if (!uc_winograd_weights(w, &elems) || elems <= WEIGHTS_IN_L2 / bytes)
        return 0;
    const double each = elems <= WEIGHTS_IN_L3 / bytes ? costs_of(w)->weights : costs_of(w)->afar;
    return each * (double)bytes * (double)pair_count(w, d, h, weights_of) *
           (double)w->conv->in.channels * (double)w->conv->out.channels;
}

/* To fewer channels most of it is combined inputs, and those take longer than that. */
#define FEW_CHANNELS 4
#define COST_FEW 1.4

/* Of one block: combined inputs. */
static double inputs_cost(const uc_winograd *w, const uc_blocks *b) {
    const uc_toom *const *dim = w->dim;
    const double in_channels = (double)w->conv->in.channels, tile_rows = (double)b->tile_rows,
                 vector = (double)w->kernels->vector_lanes, vectors = (double)b->lanes / vector,
                 rows = (double)input_rows(w);
    const double steps = (double)(dim[0]->rows * (dim[1]->window + dim[1]->rows)) * tile_rows *
                         in_channels * (double)(dim[2]->outputs * b->plane_reads) / vector;
    const costs *cost = costs_of(w);
    return (cost->input + (vectors_in_rows(b) ? 0 : cost->copy)) * vectors * rows * in_channels +
           cost->row * steps + cost->sum * rows * tile_rows;
}

/* And the products of one (d, h) phase, with the outputs they make. */
static double pair_cost(const uc_winograd *w, const uc_blocks *b, size_t d, size_t h) {
    const uc_toom *const *dim = w->dim;
    const uc_toom_phase *depth = &dim[0]->phase[d], *height = &dim[1]->phase[h];
    const double in_channels = (double)w->conv->in.channels,
                 out_channels = (double)w->conv->out.channels,
                 vectors = (double)b->lanes / (double)w->kernels->vector_lanes;
    double made = 0;
    for (size_t e = 0; e < dim[2]->stride; e++) {
        const uc_toom_phase *width = &dim[2]->phase[e];
        /* What is combined along width, then height, or along both at once; then depth.
         * With five points the registers hardly do, and little is gained. */
        const bool at_once =
            uc_points_fit(height->kind, width->kind) && height->kind != UC_POINTS_5;
        const size_t plane = height->points * width->points,
                     outputs = dim[1]->outputs * dim[2]->outputs,
                     between = at_once ? 0 : 2 * height->points * dim[2]->outputs;
        made += (double)(depth->points * (plane + between + outputs)) +
                (double)(outputs * (depth->points + dim[0]->outputs));
    }
    /* Fewer than 4 channels by 2 vectors are too few accumulators. */
    const double panel =
        out_channels / (double)uc_panels_of(w->conv->out.channels, w->kernels->panel).count;
    const costs *cost = costs_of(w);
    return cost->product * uc_lanes_cost(b->lanes, w->kernels->vector_lanes) *
               (double)pair_count(w, d, h, products_of) * in_channels * out_channels *
               fmax(1, 4 / panel) +
           cost->output * vectors * made * out_channels +
           (double)uc_parts(b->lanes, b->chunk) * fetch_cost(w, d, h);
}

double uc_winograd_cost(const uc_winograd *w, const uc_blocks b[UC_BLOCK_PARTS]) {
    const double slab = (double)w->conv->in.channels * (double)w->conv->in.size[0] *
                        (double)w->conv->in.size[1] * (double)(w->dim[2]->outputs * b->plane_step) /
                        (double)w->kernels->vector_lanes;
    double all = costs_of(w)->slab * slab;
    for (size_t i = 0; i < UC_BLOCK_PARTS && b[i].tiles[2]; i++) {
        double block = inputs_cost(w, &b[i]);
        for (size_t d = 0; d < w->dim[0]->stride; d++)
            for (size_t h = 0; h < w->dim[1]->stride; h++)
                block += pair_cost(w, &b[i], d, h);
        all += (double)uc_blocks_count(&b[i], b[i].tiles[0]) * block;
    }
    return all * (w->conv->out.channels < FEW_CHANNELS ? COST_FEW : 1);
}

double uc_winograd_share(const uc_winograd *w, const uc_blocks *b) {
    const double inputs = inputs_cost(w, b);
    double all = inputs, most = 0;
    for (size_t d = 0; d < w->dim[0]->stride; d++)
        for (size_t h = 0; h < w->dim[1]->stride; h++) {
            const double pair = pair_cost(w, b, d, h);
            all += pair;
            most = fmax(most, pair);
        }
    return (most + inputs * (double)phase_rows(w) / (double)input_rows(w)) / all;
}

/* Those of one phase: [point d][h][w][segment d][h][w]. */
static size_t *find_reads(const uc_winograd *w, const uc_toom_phase *const phase[UC_SPACE],
                          size_t *read) {
    const uc_toom_phase *depth = phase[0], *height = phase[1], *width = phase[2];
    const size_t row = w->conv->in.channels * 2 * w->kernels->vector_lanes;
    for (size_t d = 0; d < depth->points; d++)
        for (size_t h = 0; h < height->points; h++)
            for (size_t p = 0; p < width->points; p++)
                for (size_t i = 0; i < depth->segments; i++)
                    for (size_t j = 0; j < height->segments; j++)
                        for (size_t k = 0; k < width->segments; k++)
                            *read++ = ((depth->row[depth->read[d][i]] * w->dim[1]->rows +
                                        height->row[height->read[h][j]]) *
                                           w->dim[2]->rows +
                                       width->row[width->read[p][k]]) *
                                      row;
    return read;
}

void uc_winograd_find_reads(const uc_winograd *w, size_t *reads) {
    for (size_t d = 0; d < w->dim[0]->stride; d++)
        for (size_t h = 0; h < w->dim[1]->stride; h++)
            for (size_t e = 0; e < w->dim[2]->stride; e++)
                reads =
                    find_reads(w,
                               (const uc_toom_phase *[]){&w->dim[0]->phase[d], &w->dim[1]->phase[h],
                                                         &w->dim[2]->phase[e]},
                               reads);
}

/* ---- Filling ---- */

/* A chunk of a block's lanes. */
typedef struct chunk {
    const uc_block *block;
    size_t first, lanes;
    char *inputs, *by_depth, *by_height, *plane, *by_taps, *products;
} chunk;

/* Rows of inputs in planes: from one channel to the next, and from one plane to the next. */
typedef struct planes {
    const char *at; /* NULL: all zeros, or outside the input */
    size_t channel_step, plane_step;
} planes;

/* The number of a row of the slab, counted depth by depth, or NO_ROW: it lies outside the input.
 * Taps count from the window's first input. */
#define NO_ROW SIZE_MAX

static size_t source_row(const uc_block *block, size_t depth_tap, size_t height_tap,
                         size_t tile_row) {
    const uc_toom *const *dim = block->winograd->dim;
    const size_t tile = block->row + tile_row, heights = block->blocks->tiles[1];
    const size_t place[2] = {tile / heights * dim[0]->outputs + depth_tap,
                             tile % heights * dim[1]->outputs + height_tap};
    size_t index[2];
    for (size_t i = 0; i < 2; i++) {
        const ptrdiff_t input = dim[i]->first + (ptrdiff_t)place[i] - block->source[i];
        if (input < 0 || input >= (ptrdiff_t)block->sources[i])
            return NO_ROW;
        index[i] = (size_t)input;
    }
    return index[0] * block->sources[1] + index[1];
}

static planes slab_row(const chunk *c, size_t depth_tap, size_t height_tap, size_t tile_row) {
    const uc_block *block = c->block;
    const size_t row = source_row(block, depth_tap, height_tap, tile_row);
    if (row == NO_ROW)
        return (planes){0};
    const size_t at = row / block->sources[1] * block->depth_step +
                      row % block->sources[1] * block->row_step + block->blocks->first_tile;
    return (planes){(const char *)block->slab + at * block->winograd->kernels->real_bytes,
                    block->channel_step, block->blocks->plane_step};
}

/* The sum of rows that a dimension's row stands for: of those there are. A single one is taken as
 * it is, otherwise the sum goes `to` somewhere. */
static planes combine_rows(const chunk *c, const uc_terms *terms, const planes *rows, char *to) {
    const uc_winograd *w = c->block->winograd;
    uc_combine sum = {.out = to, .lanes = c->block->blocks->plane_reads};
    planes only = {0};
    for (size_t t = 0; t < terms->count; t++) {
        const planes *row = &rows[terms->index[t]];
        if (!row->at)
            continue;
        sum.in[sum.terms] = row->at;
        sum.factor[sum.terms++] = terms->factor[t];
        only = *row;
    }
    if (!sum.terms || (sum.terms == 1 && sum.factor[0] == 1))
        return only;
    /* All terms have the same steps: whether a depth is there does not depend on the height. */
    sum.in_step = only.plane_step;
    sum.out_step = sum.lanes;
    sum.count = w->conv->in.channels * w->dim[2]->outputs;
    w->kernels->combine(&sum);
    return (planes){to, w->dim[2]->outputs * sum.lanes, sum.lanes};
}

/* The sums along the width, for one row of tiles: `lanes` of them from lane `lane` on go to `to`
 * [width][channel], `step` apart. */
static void combine_columns(const chunk *c, const planes *rows, size_t lane, size_t lanes, char *to,
                            size_t step) {
    const uc_winograd *w = c->block->winograd;
    const size_t bytes = w->kernels->real_bytes, outputs = w->dim[2]->outputs;
    uc_combine sum = {
        .in_step = rows->channel_step, .out_step = step, .count = w->conv->in.channels};
    sum.lanes = lanes;
    for (size_t r = 0; r < w->dim[2]->rows; r++) {
        const uc_terms *terms = &w->dim[2]->row[r];
        sum.terms = rows->at ? terms->count : 0;
        for (size_t t = 0; t < sum.terms; t++) {
            const size_t i = terms->index[t];
            sum.in[t] = rows->at + (i % outputs * rows->plane_step + i / outputs + lane) * bytes;
            sum.factor[t] = terms->factor[t];
        }
        sum.out = to + r * sum.count * step * bytes;
        w->kernels->combine(&sum);
    }
}

/* The inputs of points at one depth and some heights, for one row of tiles: where vectors lie in
 * rows they go into place, otherwise to the plane [height][width][channel][lane]. */
static void combine_tile_row(const chunk *c, size_t depth, uint32_t heights, size_t tile_row) {
    const uc_winograd *w = c->block->winograd;
    const uc_toom *const *dim = w->dim;
    const uc_blocks *blocks = c->block->blocks;
    const size_t bytes = w->kernels->real_bytes, in_channels = w->conv->in.channels,
                 tiles = blocks->tiles[2], pair = blocks->pair;
    const size_t by_height_bytes = in_channels * dim[2]->outputs * blocks->plane_reads * bytes;
    planes along_height[UC_TOOM_ROWS];
    for (size_t h = 0; h < dim[1]->window; h++) {
        planes along_depth[UC_TOOM_ROWS];
        for (size_t d = 0; d < dim[0]->window; d++)
            along_depth[d] = slab_row(c, d, h, tile_row);
        along_height[h] =
            combine_rows(c, &dim[0]->row[depth], along_depth, c->by_depth + h * by_height_bytes);
    }
    for (size_t h = 0; h < dim[1]->rows; h++) {
        if (!(heights >> h & 1))
            continue;
        const planes rows = combine_rows(c, &dim[1]->row[h], along_height, c->by_height);
        const size_t row = h * dim[2]->rows * in_channels;
        if (!vectors_in_rows(blocks)) {
            combine_columns(c, &rows, 0, tiles,
                            c->plane + (row * blocks->plane_lanes + tile_row * tiles) * bytes,
                            blocks->plane_lanes);
            continue;
        }
        for (size_t lane = 0, some; lane < tiles; lane += some) {
            const size_t place = tile_row * tiles + lane, within = place % pair,
                         left = tiles - lane, room = pair - within;
            some = left < room ? left : room;
            const size_t at = place / pair * blocks->pair_step +
                              (depth * dim[1]->rows * dim[2]->rows * in_channels + row) * pair +
                              within;
            combine_columns(c, &rows, lane, some, c->inputs + at * bytes, pair);
        }
    }
}

/* Whole vectors of the lanes that a block uses. */
static size_t used_lanes(const uc_block *block) {
    return uc_round_up(block->rows * block->blocks->tiles[2],
                       block->winograd->kernels->vector_lanes);
}

/* A plane's last vector, where the last row of tiles ends before it does. */
static void clear_plane(const chunk *c) {
    const uc_winograd *w = c->block->winograd;
    const uc_blocks *blocks = c->block->blocks;
    const size_t vector = w->kernels->vector_lanes, used = used_lanes(c->block),
                 last = (c->block->rows - 1) * blocks->tiles[2],
                 written = last + uc_round_up(blocks->tiles[2], vector);
    if (!vectors_in_rows(blocks) && written < used)
        uc_clear_lanes(w->kernels, c->plane, used - vector, used, blocks->plane_lanes,
                       w->dim[1]->rows * w->dim[2]->rows * w->conv->in.channels);
}

/* From the plane of a depth to its place: the inputs of points at one height. */
static void place_plane(const chunk *c, size_t depth, size_t height) {
    const uc_winograd *w = c->block->winograd;
    const uc_blocks *blocks = c->block->blocks;
    const size_t bytes = w->kernels->real_bytes, rows = w->dim[2]->rows * w->conv->in.channels;
    for (size_t lane = 0; lane < used_lanes(c->block); lane += blocks->pair) {
        const size_t left = used_lanes(c->block) - lane,
                     at = lane / blocks->pair * blocks->pair_step +
                          (depth * w->dim[1]->rows + height) * rows * blocks->pair;
        w->kernels->combine(
            &(uc_combine){.terms = 1,
                          .in = {c->plane + (height * rows * blocks->plane_lanes + lane) * bytes},
                          .factor = {1},
                          .out = c->inputs + at * bytes,
                          .count = rows,
                          .in_step = blocks->plane_lanes,
                          .out_step = blocks->pair,
                          .lanes = left < blocks->pair ? left : blocks->pair});
    }
}

/* The inputs of points at one depth and some heights, a bit for each: for each pair of vectors of
 * lanes [depth][height][width][channel][lane]. */
static void combine_depth(const chunk *c, size_t depth, uint32_t heights) {
    const uc_block *block = c->block;
    if (heights)
        clear_plane(c);
    for (size_t r = 0; heights && r < block->rows; r++)
        combine_tile_row(c, depth, heights, r);
    for (size_t h = 0; !vectors_in_rows(block->blocks) && h < block->winograd->dim[1]->rows; h++)
        if (heights >> h & 1)
            place_plane(c, depth, h);
}

/* The largest number of products that one output of a dimension, or one tile, can have. */
#define MOST_READS (UC_TOOM_TAPS * UC_TOOM_TAPS * UC_TOOM_TAPS)

/* What all panels of channels have in common for one phase along the width. */
static uc_toom_run run_of(const chunk *c, const uc_winograd *w, const uc_toom_phase *const phase[],
                          const size_t *read, size_t row_set) {
    const uc_toom *const *dim = c->block->winograd->dim;
    const size_t lanes = c->block->blocks->lanes;
    uc_toom_run run = {.segments = 1,
                       .in_channels = w->conv->in.channels,
                       .part = w->part,
                       .read = read,
                       .v_step = c->block->blocks->pair,
                       .v_pair = c->block->blocks->pair_step,
                       .lanes = c->lanes,
                       .scratch = c->products,
                       .out_output = {dim[1]->outputs * row_set, row_set, dim[2]->stride * lanes},
                       .out_channel = uc_toom_tile(dim[2]) * lanes};
    for (size_t i = 0; i < UC_SPACE; i++) {
        run.kind[i] = phase[i]->kind;
        run.points[i] = phase[i]->points;
        run.outputs[i] = w->dim[i]->outputs;
        run.segments *= phase[i]->segments;
    }
    return run;
}

/* Runs a panel of channels. `weights` are those of the phase along depth and height, `count` for
 * each two channels, of which `before` come before those of the one along the width. */
static void run_panel(const uc_winograd *w, uc_toom_run *run, const char *weights, size_t count,
                      size_t before, size_t panel, char *rows) {
    const size_t bytes = w->kernels->real_bytes;
    const uc_panels cut = uc_panels_of(w->conv->out.channels, w->kernels->panel);
    const size_t begin = uc_panel_begin(cut, panel);
    run->rows = uc_panel_size(cut, panel);
    run->u = weights + (begin * count + before * run->rows) * w->conv->in.channels * bytes;
    run->bias = (const char *)w->bias + begin * bytes;
    run->out = rows;
    w->kernels->toom(run);
}

/* Channels of a block before one of its panels. */
static size_t channels_before(const uc_block *block, size_t panel) {
    const uc_winograd *w = block->winograd;
    const uc_panels cut = uc_panels_of(w->conv->out.channels, w->kernels->panel);
    return uc_panel_begin(cut, panel) - uc_panel_begin(cut, block->first_panel);
}

/* All phases along the width. */
static void fill_chunk(const chunk *c, size_t phase_d, size_t phase_h, char *rows, size_t row_set) {
    const uc_winograd *w = c->block->winograd;
    const size_t bytes = w->kernels->real_bytes,
                 count = pair_count(w, phase_d, phase_h, weights_of);
    const char *weights = (const char *)w->weights + pair_offset(w, phase_d, phase_h) * bytes;
    const size_t *read = w->reads + count_before(w, phase_d, phase_h, products_of);
    size_t before = 0;
    for (size_t e = 0; e < w->dim[2]->stride; e++) {
        const uc_toom_phase *phase[UC_SPACE] = {&w->dim[0]->phase[phase_d],
                                                &w->dim[1]->phase[phase_h], &w->dim[2]->phase[e]};
        uc_toom_run run = run_of(c, w, phase, read, row_set);
        run.v = c->inputs + c->first / run.v_step * run.v_pair * bytes;
        char *of_phase = rows + (e * c->block->blocks->lanes + c->first) * bytes;
        for (size_t i = 0, p = c->block->first_panel; i < c->block->panels; i++, p++)
            run_panel(w, &run, weights, count, before, p,
                      of_phase + channels_before(c->block, p) * run.out_channel * bytes);
        before += weights_of(phase[0]) * weights_of(phase[1]) * weights_of(phase[2]);
        read += products_of(phase[0]) * products_of(phase[1]) * products_of(phase[2]);
    }
}

/* Rounding errors come from the largest inputs of a tile. Where those of some columns are this much
 * larger than others nearby, outputs that they don't reach would lose digits. */
#define UNEVEN 32

/* Whether some row that the block reads has values that only go tap by tap: too large for sums at
 * points, too small for products at them, or much larger than their neighbours. */
static bool goes_by_taps(const uc_block *block) {
    const uc_toom *const *dim = block->winograd->dim;
    double most = 0, least = INFINITY;
    for (size_t i = 0; i < block->rows * dim[0]->window * dim[1]->window; i++) {
        const size_t taps = i % (dim[0]->window * dim[1]->window);
        const size_t row = source_row(block, taps / dim[1]->window, taps % dim[1]->window,
                                      i / (dim[0]->window * dim[1]->window));
        if (row == NO_ROW)
            continue;
        for (size_t k = row * block->cells; k < (row + 1) * block->cells; k++) {
            const double cell = uc_real_at(block->winograd->kernels, block->magnitudes, k);
            if (!(cell <= block->limit)) /* or it is NaN */
                return true;
            most = cell > most ? cell : most;
            least = cell < least ? cell : least;
        }
    }
    return most > UNEVEN * least || (most > 0 && most < block->least);
}

/* Where the taps of a phase read the slab, for output (d, h, w) of the tiles of a row. */
static void find_taps(const chunk *c, size_t tile_row, const size_t output[UC_SPACE],
                      const uc_toom_phase *const phase[UC_SPACE], size_t *read) {
    const uc_block *block = c->block;
    const uc_winograd *w = block->winograd, *plain = block->plain;
    const size_t outputs = w->dim[2]->outputs;
    /* Taps count from the plain window's first input, which lies inside the other one's. */
    size_t input[UC_SPACE][UC_TOOM_TAPS];
    for (size_t i = 0; i < UC_SPACE; i++)
        for (size_t t = 0; t < phase[i]->taps; t++)
            input[i][t] = (size_t)(plain->dim[i]->first - w->dim[i]->first) + output[i] +
                          plain->dim[i]->row[phase[i]->row[phase[i]->read[0][t]]].index[0];
    for (size_t d = 0; d < phase[0]->taps; d++)
        for (size_t h = 0; h < phase[1]->taps; h++) {
            const planes row = slab_row(c, input[0][d], input[1][h], tile_row);
            const char *at = row.at ? row.at : block->zeros;
            for (size_t t = 0; t < phase[2]->taps; t++)
                *read++ = (size_t)(at - (const char *)block->slab) / w->kernels->real_bytes +
                          input[2][t] % outputs * block->blocks->plane_step + input[2][t] / outputs;
        }
}

/* Output (d, h) of some tiles of a row of them, tap by tap. Panels are made apart: of whole vectors
 * the last may reach beyond the row, where another is. */
static void fill_plain_row(const chunk *c, size_t tile_row, const size_t output[2],
                           const size_t phase[2], char *rows, size_t row_set) {
    const uc_block *block = c->block;
    const uc_blocks *blocks = block->blocks;
    const uc_winograd *w = block->winograd, *plain = block->plain;
    const size_t bytes = w->kernels->real_bytes, channel = uc_toom_tile(w->dim[2]) * blocks->lanes,
                 left = blocks->tiles[2] - c->first, tiles = left < c->lanes ? left : c->lanes,
                 count = pair_count(plain, phase[0], phase[1], weights_of);
    const char *weights =
        (const char *)plain->weights + pair_offset(plain, phase[0], phase[1]) * bytes;
    rows += ((output[0] * w->dim[1]->outputs + output[1]) * row_set + tile_row * blocks->tiles[2] +
             c->first) *
            bytes;
    size_t read[MOST_READS], before = 0;
    for (size_t e = 0; e < plain->dim[2]->stride; e++) {
        const uc_toom_phase *along[UC_SPACE] = {&plain->dim[0]->phase[phase[0]],
                                                &plain->dim[1]->phase[phase[1]],
                                                &plain->dim[2]->phase[e]};
        for (size_t k = 0; k < w->dim[2]->outputs; k++) {
            find_taps(c, tile_row, (const size_t[]){output[0], output[1], k}, along, read);
            uc_toom_run run = run_of(c, plain, along, read, row_set);
            run.v = (const char *)block->slab + c->first * bytes;
            run.v_step = block->channel_step;
            run.v_pair = blocks->pair;
            run.out_channel = c->lanes;
            char *of_phase = rows + (k * w->dim[2]->stride + e) * blocks->lanes * bytes;
            for (size_t i = 0, p = block->first_panel; i < block->panels; i++, p++) {
                run_panel(plain, &run, weights, count, before, p, c->by_taps);
                char *to = of_phase + channels_before(block, p) * channel * bytes;
                for (size_t o = 0; o < run.rows; o++)
                    memcpy(to + o * channel * bytes, c->by_taps + o * c->lanes * bytes,
                           tiles * bytes);
            }
        }
        before += weights_of(along[0]) * weights_of(along[1]) * weights_of(along[2]);
    }
}

/* The same rows tap by tap, for inputs that sums at points would spoil: an infinity would reach
 * outputs that no tap connects it to, and sums of large numbers could overflow. */
static void fill_plain(chunk *c, const size_t phase[2], char *rows, size_t row_set) {
    const uc_winograd *w = c->block->winograd;
    const uc_blocks *blocks = c->block->blocks;
    const size_t wide = uc_round_up(blocks->tiles[2], w->kernels->vector_lanes);
    for (size_t r = 0; r < c->block->rows; r++)
        for (c->first = 0; c->first < wide; c->first += c->lanes) {
            const size_t left = wide - c->first;
            c->lanes = left < blocks->chunk ? left : blocks->chunk;
            for (size_t d = 0; d < w->dim[0]->outputs; d++)
                for (size_t h = 0; h < w->dim[1]->outputs; h++)
                    fill_plain_row(c, r, (const size_t[]){d, h}, phase, rows, row_set);
        }
}

/* A block's buffers. */
static chunk chunk_of(const uc_block *block) {
    const size_t bytes = block->winograd->kernels->real_bytes;
    const scratch sizes = scratch_of(block->winograd, block->blocks);
    chunk c = {.block = block, .inputs = block->scratch};
    c.by_depth = c.inputs + sizes.inputs * bytes;
    c.by_height = c.by_depth + sizes.by_depth * bytes;
    c.plane = c.by_height + sizes.by_height * bytes;
    c.by_taps = c.plane + sizes.plane * bytes;
    c.products = c.by_taps + sizes.by_taps * bytes;
    return c;
}

void uc_winograd_combine(uc_block *block, size_t first_phase, size_t phases) {
    const uc_toom *const *dim = block->winograd->dim;
    const chunk c = chunk_of(block);
    block->by_taps = goes_by_taps(block);
    if (block->by_taps)
        return;
    _Static_assert(UC_TOOM_ROWS <= 32, "a bit for each row");
    uint32_t heights[UC_TOOM_ROWS] = {0};
    for (size_t i = first_phase; i < first_phase + phases; i++) {
        const uc_toom_phase *along_depth = &dim[0]->phase[i / dim[1]->stride],
                            *along_height = &dim[1]->phase[i % dim[1]->stride];
        for (size_t d = 0; d < along_depth->rows; d++)
            for (size_t h = 0; h < along_height->rows; h++)
                heights[along_depth->row[d]] |= (uint32_t)1 << along_height->row[h];
    }
    for (size_t depth = 0; depth < dim[0]->rows; depth++)
        combine_depth(&c, depth, heights[depth]);
}

void uc_winograd_fill(const uc_block *block, size_t phase_d, size_t phase_h, void *rows,
                      size_t row_set) {
    const uc_winograd *w = block->winograd;
    const uc_blocks *blocks = block->blocks;
    chunk c = chunk_of(block);
    /* Taps make tiles alone, points whole vectors of them. */
    const size_t used = used_lanes(block),
                 made = block->by_taps ? used - w->kernels->vector_lanes : used;
    for (size_t i = 0; i < w->dim[0]->outputs * w->dim[1]->outputs; i++)
        uc_clear_lanes(w->kernels, (char *)rows + i * row_set * w->kernels->real_bytes, made,
                       blocks->lanes, blocks->lanes,
                       channels_before(block, block->first_panel + block->panels) *
                           uc_toom_tile(w->dim[2]));
    if (block->by_taps) {
        fill_plain(&c, (const size_t[]){phase_d, phase_h}, rows, row_set);
        return;
    }
    for (c.first = 0; c.first < used; c.first += c.lanes) {
        const size_t left = used - c.first;
        c.lanes = left < blocks->chunk ? left : blocks->chunk;
        fill_chunk(&c, phase_d, phase_h, rows, row_set);
    }
}
