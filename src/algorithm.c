/* Which way to fill tiles: what the caller or the environment says, else what should be quicker.
 * Called by plan.c. */
#include "algorithm.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "status.h"

/* Below this much work for a batch item, planning takes longer than Winograd could save. How many
 * items there are must not decide, or an item's results would depend on the others. */
#define FLOPS_FOR_WINOGRAD 4e6

/* Rounding errors may be this much larger than those of one sum over all products (the variance),
 * and tiles have at most this many outputs: with four they would exceed those of unfused f32
 * arithmetic, which strict results are measured by (docs/winograd.md). With 512 bits that has
 * smaller ones: it adds up more sums, of fewer products each. */
#define MOST_ERROR 0.7
#define MOST_ERROR_512 0.67
#define MOST_OUTPUTS 3

/* Unless that has far larger ones: where it rounds to 16 bits after every op, and where it adds up
 * this many exponentials in f32 one after the other, of which none is much larger than others. And
 * in f64, whose errors are far smaller than anything they are measured by. */
#define LOOSE_ERROR 2
#define MANY_POSITIONS 65536
#define NARROW_RANGE 2

/* Sums at points are rounded on the way in and out too: as if they had this many products more. */
#define ROUNDINGS 3

/* Long sums of products are made of parts: of this many, unless errors would then come near what
 * is allowed: then of fewer, which takes longer. */
#define PART 32
#define PART_ERROR 0.5
#define SHORT_PART 16

/* With fewer input channels, products are too short to be worth transforms. */
#define LEAST_CHANNELS 8

/* Where rows are kept or laid down, those of blocks take longer to be measured. */
#define KEPT_COST 1.2

/* What the transformed weights may take. */
#define WEIGHTS_BYTES ((size_t)64 << 20)

/* What the caller asks for. Failing that the environment, which is a wish: where the chain does not
 * allow Winograd, it is direct. */
static uc_status read_algorithm(uc_algorithm *asked, bool *wished) {
    const char *named = getenv("UPCONV_ALGORITHM");
    *wished = false;
    if (*asked != UC_ALGORITHM_AUTO || !named || !*named || !strcmp(named, "auto"))
        return UC_OK;
    if (!strcmp(named, "direct"))
        *asked = UC_ALGORITHM_DIRECT;
    else if (!strcmp(named, "winograd"))
        *wished = true;
    else
        return uc_fail(UC_UNSUPPORTED,
                       "UPCONV_ALGORITHM must be auto, direct or winograd (got '%.40s')", named);
    return UC_OK;
}

/* Everything that is known before the numbers of outputs are. */
typedef struct search {
    const uc_plan *plan;
    const uc_stage *conv;
    size_t window[UC_SPACE],
        space[UC_SPACE];                     /* of the pool behind the convolution; what it needs */
    uc_toom toom[UC_SPACE][UC_TOOM_OUTPUTS]; /* by outputs - 1 */
    const char *reason[UC_SPACE][UC_TOOM_OUTPUTS]; /* why there is none */
} search;

/* The pool behind the convolution, if any. NULL, or why rows of blocks can't serve the chain. */
static const char *find_pool(const uc_chain *chain, size_t window[UC_SPACE]) {
    size_t pools = 0;
    for (size_t i = 0; i < UC_SPACE; i++)
        window[i] = 1;
    for (size_t s = chain->conv_stage + 1; s < chain->stage_count; s++)
        if (uc_ops[chain->stage[s].op].needs == UC_NEEDS_WINDOW) {
            if (pools++)
                return "there is more than one pool behind the convolution";
            memcpy(window, chain->stage[s].window, sizeof chain->stage[s].window);
        }
    return NULL;
}

/* What a block's rows of one phase may take: ops run on them where they are, strip by strip, and
 * they should not be far from a core's L2 (700 KB was better than 450, with 512 KB of it); a pool
 * reads them once, from one end to the other. Larger blocks would also be too few for many threads.
 */
static size_t rows_bytes(const uc_chain *chain) {
    const size_t next = chain->conv_stage + 1;
    const bool pool =
        next < chain->stage_count && uc_ops[chain->stage[next].op].needs == UC_NEEDS_WINDOW;
    return (size_t)(pool ? 1024 : 700) << 10;
}

/* The first stage behind the convolution that needs so much, or 0. */
static size_t stage_needing(const uc_chain *chain, uc_needs needs) {
    for (size_t s = chain->conv_stage + 1; s < chain->stage_count; s++)
        if (uc_ops[chain->stage[s].op].needs == needs)
            return s;
    return 0;
}

static size_t everything_stage(const uc_chain *chain) {
    return stage_needing(chain, UC_NEEDS_EVERYTHING);
}

/* Whether its rows could only be made a few channels at a time, and inputs would be combined again
 * for each few. */
static bool needs_few_channels(const uc_plan *plan) {
    const size_t stage = everything_stage(&plan->chain);
    return stage && !uc_plan_keeps_all(plan) && !uc_plan_can_lay(plan, stage);
}

/* All but the dimensions. */
static uc_winograd winograd_of(const search *s) {
    const uc_chain *chain = &s->plan->chain;
    return (uc_winograd){.kernels = s->plan->kernels,
                         .conv = s->conv,
                         .rows_bytes = rows_bytes(chain),
                         .one_depth = everything_stage(chain) != 0,
                         .parts =
                             !everything_stage(chain) && !stage_needing(chain, UC_NEEDS_WINDOW)};
}

/* Plans a dimension with a number of outputs. NULL, or why it can't be. */
static const char *plan_dimension(search *s, size_t dimension, size_t outputs) {
    const uc_axis axis = uc_axis_of(s->conv, dimension);
    uc_toom *toom = &s->toom[dimension][outputs - 1];
    const char *reason = uc_toom_plan(&axis, outputs, toom);
    if (reason)
        return reason;
    if (uc_toom_tile(toom) % s->window[dimension])
        return "the pool's windows are not parts of tiles";
    if ((outputs > 1 || dimension == 2) && uc_toom_tile(toom) > s->space[dimension])
        return "a tile is larger than the output";
    if (outputs > 1 && axis.kernel <= axis.stride && s->window[dimension] == 1)
        return "a dimension has phases of one tap alone";
    return NULL;
}

/* The variance of rounding errors beside that of one sum over taps and channels: a sum of n
 * products has about n / 2 times that of one rounding. */
static double relative_error(const search *s, const uc_winograd *w) {
    double error = 1, taps = 1;
    for (size_t i = 0; i < UC_SPACE; i++) {
        error *= w->dim[i]->error;
        taps *= (double)s->conv->conv.kernel[i] / (double)s->conv->conv.stride[i];
    }
    const double in_channels = (double)s->conv->in.channels;
    return error * (fmin(in_channels, (double)w->part) / 2 + ROUNDINGS) /
           (in_channels * taps / 2 + 1);
}

static double most_error(const search *s) {
    const uc_chain *chain = &s->plan->chain;
    if (chain->dtype != UC_F32)
        return LOOSE_ERROR;
    const size_t stage = everything_stage(chain);
    const uc_stage *clamp = &chain->stage[stage - !!stage];
    return stage && uc_extent_positions(&chain->stage[stage].in) >= MANY_POSITIONS &&
                   clamp->op == UC_OP_clamp && clamp->number[1] - clamp->number[0] <= NARROW_RANGE
               ? LOOSE_ERROR
           : uc_vector_bytes(s->plan->kernels) == 64 ? MOST_ERROR_512
                                                     : MOST_ERROR;
}

static void choose_part(const search *s, uc_winograd *w) {
    const double most = most_error(s);
    w->part = PART;
    if (relative_error(s, w) > (most > MOST_ERROR ? most : PART_ERROR))
        w->part = SHORT_PART;
}

/* How far a number of outputs came before something was in the way. */
enum { AT_DIMENSIONS, AT_TAPS, AT_ERROR, AT_SIZE };

/* Tries so many outputs a tile. NULL, or what is in the way. */
static const char *try_outputs(const search *s, const size_t outputs[UC_SPACE], uc_winograd *w,
                               double *cost, int *at) {
    const size_t bytes = s->plan->kernels->real_bytes;
    bool fewer = false;
    *w = winograd_of(s);
    *at = AT_DIMENSIONS;
    for (size_t i = 0; i < UC_SPACE; i++) {
        if (s->reason[i][outputs[i] - 1])
            return s->reason[i][outputs[i] - 1];
        w->dim[i] = &s->toom[i][outputs[i] - 1];
        fewer = fewer || (outputs[i] > 1 && s->conv->conv.kernel[i] > s->conv->conv.stride[i]);
    }
    *at = AT_TAPS;
    if (!fewer)
        return "no dimension has phases of 2 or 3 taps";
    *at = AT_ERROR;
    choose_part(s, w);
    if (relative_error(s, w) > most_error(s))
        return "rounding errors would grow too much";
    *at = AT_SIZE;
    uc_blocks blocks[UC_BLOCK_PARTS];
    uc_winograd_blocks(w, s->space, blocks);
    if (blocks->rows_bytes > w->rows_bytes || blocks->input_bytes > UC_WINOGRAD_INPUT_BYTES)
        return "one row of tiles does not fit the cache";
    size_t weights;
    if (!uc_winograd_weights(w, &weights) || weights > WEIGHTS_BYTES / bytes)
        return "the transformed weights would be too large";
    *cost = uc_winograd_cost(w, blocks);
    return NULL;
}

/* The outputs a tile that cost least. NULL, or why there are none: what stopped the attempt that
 * came furthest. */
static const char *find_outputs(search *s, size_t best[UC_SPACE], double *best_cost) {
    const char *reason = find_pool(&s->plan->chain, s->window);
    if (reason)
        return reason;
    /* Four in doubles are too much for the caches: 1.2 times as long. Along the width, where they
     * are phases that rows are zipped from, there are no more than three. */
    const bool four = most_error(s) > MOST_ERROR && s->plan->kernels->real_bytes == sizeof(float);
    const size_t most = four ? UC_TOOM_OUTPUTS : MOST_OUTPUTS;
    for (size_t i = 0; i < UC_SPACE; i++) {
        s->space[i] = s->conv->out.size[i] / s->window[i] * s->window[i];
        for (size_t outputs = 1; outputs <= (i < 2 ? most : MOST_OUTPUTS); outputs++)
            s->reason[i][outputs - 1] = plan_dimension(s, i, outputs);
    }
    *best_cost = INFINITY;
    int furthest = -1;
    size_t outputs[UC_SPACE];
    for (outputs[0] = 1; outputs[0] <= most; outputs[0]++)
        for (outputs[1] = 1; outputs[1] <= most; outputs[1]++)
            for (outputs[2] = 1; outputs[2] <= MOST_OUTPUTS; outputs[2]++) {
                uc_winograd w;
                double cost;
                int at;
                const char *why = try_outputs(s, outputs, &w, &cost, &at);
                if (why && at > furthest) {
                    furthest = at;
                    reason = why;
                }
                if (!why && cost < *best_cost) {
                    *best_cost = cost;
                    memcpy(best, outputs, sizeof outputs);
                }
            }
    return *best_cost == INFINITY ? reason : NULL;
}

/* Keeps the transforms for these outputs, and plain ones; or says in plan->why_direct why not. */
static uc_status keep_transforms(uc_plan *plan, const search *s, double largest_weight) {
    const bool wide = plan->kernels->real_bytes == sizeof(double);
    const double largest = wide ? DBL_MAX : FLT_MAX, smallest = wide ? DBL_MIN : FLT_MIN;
    double gain = 1;
    for (size_t i = 0; i < UC_SPACE; i++)
        gain *= s->toom[i][plan->outputs[i] - 1].gain;
    /* Transformed weights must be finite, and no denormals: those have too few digits. */
    if (largest_weight > largest / gain)
        plan->why_direct = "the weights are too large to be added up";
    else if (largest_weight > 0 && largest_weight < smallest * gain)
        plan->why_direct = "the weights are too small to be added up";
    if (plan->why_direct)
        return UC_OK;

    plan->tooms = uc_alloc(2 * UC_SPACE * sizeof *plan->tooms);
    if (!plan->tooms)
        return UC_NO_MEMORY;
    plan->limit = largest / (double)s->conv->in.channels / gain;
    plan->least = smallest * gain;
    if (largest_weight > 0 && largest_weight < 1)
        plan->least /= largest_weight;
    for (size_t t = 0; t < 2; t++) {
        plan->transforms[t] = winograd_of(s);
        for (size_t i = 0; i < UC_SPACE; i++) {
            uc_toom *toom = &plan->tooms[t * UC_SPACE + i];
            *toom = s->toom[i][t ? 0 : plan->outputs[i] - 1];
            plan->transforms[t].dim[i] = toom;
        }
        choose_part(s, &plan->transforms[t]);
    }
    plan->reads = uc_alloc(uc_winograd_products(&plan->transforms[0]) * sizeof *plan->reads);
    if (!plan->reads)
        return UC_NO_MEMORY;
    uc_winograd_find_reads(&plan->transforms[0], plan->reads);
    plan->transforms[0].reads = plan->reads;
    if (largest_weight > 1) /* weights below 1 don't make the combined inputs smaller */
        plan->limit /= largest_weight;
    return UC_OK;
}

uc_status uc_algorithm_choose(uc_plan *plan, const uc_options *options,
                              const void *const operands[], double largest_weight) {
    uc_algorithm asked = options->algorithm;
    bool wished;
    uc_status status = read_algorithm(&asked, &wished);
    if (status != UC_OK)
        return status;
    const bool automatic = asked == UC_ALGORITHM_AUTO && !wished;
    uc_amx_choose(&plan->amx, plan->kernels, &plan->chain, operands, options->accuracy, automatic);
    if (plan->amx.kernels) /* should be quicker than both; no such CPU was there to measure */
        plan->why_direct = "AMX is there";
    else if (asked == UC_ALGORITHM_DIRECT)
        plan->why_direct = "it was not asked for";
    else if (!isfinite(largest_weight))
        plan->why_direct = "some weights are not finite";
    else if (automatic && uc_chain_item_flops(&plan->chain) < FLOPS_FOR_WINOGRAD)
        plan->why_direct = "there is little to compute";
    else if (automatic && plan->chain.stage[plan->chain.conv_stage].in.channels < LEAST_CHANNELS)
        plan->why_direct = "there are few input channels";
    else if (automatic && needs_few_channels(plan))
        plan->why_direct = "inputs would be combined again for every few channels";
    if (!plan->why_direct) {
        search *s = uc_alloc(sizeof *s);
        if (!s)
            return UC_NO_MEMORY;
        s->plan = plan;
        s->conv = &plan->chain.stage[plan->chain.conv_stage];
        double cost = 1; /* where there is none */
        plan->why_direct = find_outputs(s, plan->outputs, &cost);
        if (!plan->why_direct) {
            const double direct =
                uc_direct_cost(plan->kernels, s->conv, uc_chain_item_flops(&plan->chain), s->space,
                               uc_cast_serves(&plan->chain));
            plan->direct_by_winograd = direct / cost;
            const double kept = everything_stage(&plan->chain) ? KEPT_COST : 1;
            if (automatic && cost * kept > direct)
                plan->why_direct = "it would not be quicker";
        }
        if (!plan->why_direct)
            status = keep_transforms(plan, s, largest_weight);
        free(s);
    }
    plan->winograd = !plan->why_direct;
    if (asked == UC_ALGORITHM_WINOGRAD && plan->why_direct)
        return uc_fail(UC_UNSUPPORTED, "winograd can't be used here: %s", plan->why_direct);
    return status;
}
