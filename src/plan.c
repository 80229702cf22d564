/* How to compute a chain: checks options, chooses kernels and passes, packs operands, lays out the
 * workspace; executes itself. Called by users and by operators.c. */
#include "plan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm.h"
#include "cpu.h"
#include "curve.h"
#include "dtype.h"
#include "memory.h"
#include "pack.h"
#include "status.h"
#include "tile.h"
#include "turn.h"

#if defined(_OPENMP)
#include <omp.h>
#else
static int omp_get_max_threads(void) {
    return 1;
}
#endif

#define MAX_THREADS 1024

/* Output of this size goes past the caches: no core's L2 would keep it, and to fetch lines only to
 * overwrite them takes longer than whoever reads it next may lose. */
#define STREAM_BYTES ((size_t)4 << 20)

/* And of this size also where that takes putting lines together: less may be in a shared cache. */
#define JOINED_BYTES ((size_t)12 << 20)

/* Below this much work, waking other threads takes longer than the work. */
#define FLOPS_FOR_THREADS 1e6

/* The options that count, in this version's struct. A longer struct from a newer header is fine as
 * long as what we don't know is 0, its default. */
static uc_status read_options(const uc_options *given, uc_options *options) {
    *options = (uc_options)UC_OPTIONS_INIT;
    if (!given)
        return UC_OK;
    /* The first version's struct ended before the algorithm. */
    if (given->struct_bytes != offsetof(uc_options, algorithm) &&
        (given->struct_bytes < sizeof *options || given->struct_bytes > 4096))
        return uc_fail(
            UC_INVALID,
            "options.struct_bytes must be sizeof(uc_options), as UC_OPTIONS_INIT sets it "
            "(got %zu)",
            given->struct_bytes);
    const unsigned char *bytes = (const unsigned char *)given;
    for (size_t i = sizeof *options; i < given->struct_bytes; i++)
        if (bytes[i])
            return uc_fail(UC_UNSUPPORTED,
                           "options has a setting that this version (%s) does not know",
                           uc_version());
    memcpy(options, given,
           given->struct_bytes < sizeof *options ? given->struct_bytes : sizeof *options);
    if (options->threads > MAX_THREADS)
        return uc_fail(UC_INVALID, "options.threads must be at most %d (got %zu)", MAX_THREADS,
                       options->threads);
    if ((int)options->accuracy < UC_ACCURACY_STRICT || (int)options->accuracy > UC_ACCURACY_BF16)
        return uc_fail(UC_INVALID,
                       "options.accuracy must be one of the UC_ACCURACY_ values (got %d)",
                       (int)options->accuracy);
    if ((int)options->isa < UC_ISA_AUTO || (int)options->isa > UC_ISA_AVX512)
        return uc_fail(UC_INVALID, "options.isa must be one of the UC_ISA_ values (got %d)",
                       (int)options->isa);
    if ((int)options->algorithm < UC_ALGORITHM_AUTO ||
        (int)options->algorithm > UC_ALGORITHM_WINOGRAD)
        return uc_fail(UC_INVALID,
                       "options.algorithm must be one of the UC_ALGORITHM_ values (got %d)",
                       (int)options->algorithm);
    return UC_OK;
}

static uc_status plan_passes(uc_plan *plan) {
    const uc_chain *chain = &plan->chain;
    size_t passes = 1;
    for (size_t s = 0; s < chain->stage_count; s++)
        passes += uc_ops[chain->stage[s].op].needs == UC_NEEDS_EVERYTHING;
    plan->pass = uc_alloc(passes * sizeof *plan->pass);
    if (!plan->pass)
        return UC_NO_MEMORY;
    for (size_t s = 0; s <= chain->stage_count; s++) {
        const bool last = s == chain->stage_count;
        if (!last && uc_ops[chain->stage[s].op].needs != UC_NEEDS_EVERYTHING)
            continue;
        const uc_status status = uc_plan_pass(plan, s, &plan->pass[plan->pass_count]);
        if (status != UC_OK)
            return status;
        const uc_pass *pass = &plan->pass[plan->pass_count++];
        if (pass->keeps || pass->lays)
            break;
    }
    return UC_OK;
}

/* Takes aligned room at the end of some memory; false where that overflows. */
static bool take(size_t *total, size_t *offset, size_t count, size_t bytes) {
    *offset = *total;
    return uc_size_mul(&count, bytes) && uc_size_add(total, count) && uc_size_align(total);
}

/* A processor fetches far ahead of where a thread reads. Buffers of two threads that lie nearer to
 * each other than this would have their lines taken away by the other one. */
#define BUFFERS_APART ((size_t)64 << 10)

static uc_status plan_workspace(uc_plan *plan) {
    const uc_chain *chain = &plan->chain;
    const size_t bytes = plan->kernels->real_bytes;
    size_t buffer = 0, slab = 0, slab_rows = 0, kept = 0, rest = 0, largest_measures = 0,
           buffers = 0, total = 0, pairs = 0;
    bool fits = true;
    for (size_t p = 0; p < plan->pass_count; p++) {
        const uc_pass *pass = &plan->pass[p];
        buffer = pass->buffer_elems > buffer ? pass->buffer_elems : buffer;
        slab = pass->slab_elems > slab ? pass->slab_elems : slab;
        pairs = pass->pair_elems > pairs ? pass->pair_elems : pairs;
        const size_t rows = pass->row_step ? pass->slab_elems / pass->row_step : 0;
        slab_rows = rows > slab_rows ? rows : slab_rows;
        if (pass->stages == chain->stage_count)
            break;
        kept = pass->kept_elems * pass->runs;
        if (pass->lays && !uc_plan_can_borrow(plan))
            rest = pass->extent.channels * uc_extent_positions(&pass->extent);
        size_t measures = pass->runs;
        fits = fits && uc_size_mul(&measures, pass->extent.channels);
        largest_measures = measures > largest_measures ? measures : largest_measures;
    }
    /* A row has fewer cells than columns, and the slab more columns than that. */
    const size_t cells =
        (chain->stage[chain->conv_stage].in.size[2] - 1) / plan->kernels->vector_lanes + 1;
    plan->buffer_bytes = buffer;
    fits = fits && uc_size_mul(&plan->buffer_bytes, bytes) && uc_size_align(&plan->buffer_bytes) &&
           uc_size_add(&plan->buffer_bytes, plan->threads > 1 ? BUFFERS_APART : 0) &&
           take(&total, &buffers, plan->threads, plan->buffer_bytes) &&
           take(&total, &plan->slab_offset, slab, bytes) &&
           take(&total, &plan->cells_offset, plan->winograd ? slab_rows * cells : 0, bytes) &&
           take(&total, &plan->kept_offset, kept, bytes) &&
           take(&total, &plan->rest_offset, rest, plan->element_bytes) &&
           uc_size_mul(&pairs, plan->amx.parts) &&
           take(&total, &plan->pairs_offset, pairs, sizeof(uc_pair)) &&
           take(&total, &plan->spoilt_offset, pairs ? slab_rows : 0, sizeof(bool));
    for (size_t s = 0; s < chain->stage_count; s++)
        if (uc_ops[chain->stage[s].op].needs == UC_NEEDS_EVERYTHING) {
            size_t summaries = chain->batch_size;
            fits = fits && uc_size_mul(&summaries, chain->stage[s].in.channels) &&
                   take(&total, &plan->summary_offset[s], summaries, sizeof(uc_summary));
        }
    fits = fits && take(&total, &plan->measures_offset, largest_measures, sizeof(uc_summary)) &&
           uc_size_add(&total, UC_ALIGNMENT - 1); /* the caller's alignment may be any */
    if (!fits)
        return uc_fail(UC_NO_MEMORY, "the workspace would be larger than memory");
    plan->workspace_bytes = total;
    return UC_OK;
}

/* A layer norm behind the convolution takes the channels' mean off: so can the weights, once and
 * for all, and numbers added in between vanish with it. */
static void plan_centred(uc_plan *plan) {
    const uc_chain *chain = &plan->chain;
    size_t s = chain->conv_stage + 1;
    while (s < chain->stage_count && chain->stage[s].op == UC_OP_add && !*chain->stage[s].operand &&
           isfinite(chain->stage[s].number[0]))
        s++;
    if (s == chain->stage_count || chain->stage[s].op != UC_OP_layernorm_channel)
        return;
    plan->centred_stage = s;
    while (--s > chain->conv_stage)
        plan->idle[s] = true;
}

/* The largest of the largest is the largest: neighbouring max pools become one. */
static void merge_maxpools(uc_chain *chain) {
    for (size_t s = 1; s < chain->stage_count; s++) {
        uc_stage *before = &chain->stage[s - 1], *stage = &chain->stage[s];
        if (before->op != UC_OP_maxpool || stage->op != UC_OP_maxpool)
            continue;
        for (size_t i = 0; i < UC_SPACE; i++)
            before->window[i] *= stage->window[i];
        before->out = stage->out;
        chain->stage_count--;
        memmove(stage, stage + 1, (chain->stage_count - s) * sizeof *stage);
        chain->conv_stage -= chain->conv_stage > s;
        s--;
    }
}

/* Stages that change nothing, and what the whole output's size decides. */
static void plan_shortcuts(uc_plan *plan) {
    merge_maxpools(&plan->chain);
    const uc_chain *chain = &plan->chain;
    for (size_t s = 0; s < chain->stage_count; s++) {
        const uc_stage *stage = &chain->stage[s];
        if (stage->op == UC_OP_mul && !*stage->operand && stage->number[0] == 1)
            plan->idle[s] = true;
        /* A softmax scales its rows anyway. */
        if (s && stage->op == UC_OP_mul && *stage->operand &&
            chain->stage[s - 1].op == UC_OP_softmax_space)
            plan->idle[s] = true;
    }
    const uc_shape out = uc_chain_output(chain);
    const size_t bytes = uc_shape_elems(&out) * uc_dtype_bytes(chain->dtype);
    plan->streams = bytes >= JOINED_BYTES   ? UC_STREAM_JOINED
                    : bytes >= STREAM_BYTES ? UC_STREAM_LINES
                                            : UC_STREAM_NOT;
}

/* Lays out and fills the plan's own memory: weights, bias, and the values of add and mul. */
static uc_status plan_operands(uc_plan *plan, const void *const operands[]) {
    const uc_chain *chain = &plan->chain;
    const uc_kernels *kernels = plan->kernels;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    const size_t bytes = kernels->real_bytes;
    size_t weights[2] = {uc_shape_elems(&chain->operand[conv->first_operand].shape)};
    size_t at[2] = {0}, bias = 0, spread_bias = 0, offset[UC_MAX_STAGES] = {0}, total = 0;
    bool fits = true;
    if (plan->casts)
        fits = uc_cast_weights(kernels, conv, &weights[0]);
    for (size_t i = 0; i < (plan->winograd ? 2 : 1); i++)
        fits = fits &&
               (!plan->winograd || uc_winograd_weights(&plan->transforms[i], &weights[i])) &&
               take(&total, &at[i], weights[i], bytes);
    fits = fits && take(&total, &bias, conv->out.channels, bytes) &&
           take(&total, &spread_bias, plan->spreads ? plan->spread.products : 0, bytes);
    for (size_t s = 0; s < chain->stage_count; s++)
        if (*chain->stage[s].operand)
            fits = fits && take(&total, &offset[s], chain->stage[s].out.channels, bytes);
        else
            fits = fits && take(&total, &offset[s], uc_curve_elems(plan, s), bytes);
    if (!fits)
        return uc_fail(UC_NO_MEMORY, "the packed operands would be larger than memory");

    char *memory = plan->operand_memory = uc_alloc(total);
    if (!memory)
        return UC_NO_MEMORY;
    for (size_t s = 0; s < chain->stage_count; s++)
        if (*chain->stage[s].operand) {
            plan->per_channel[s] = memory + offset[s];
            kernels->load(chain->dtype, operands[chain->stage[s].first_operand],
                          plan->per_channel[s], chain->stage[s].out.channels);
            if (plan->idle[s]) /* the softmax before it takes them */
                plan->per_channel[s - 1] = plan->per_channel[s];
        }
    for (size_t s = 0; s < chain->stage_count; s++)
        if (uc_curve_elems(plan, s))
            uc_curve_plan(plan, s, memory + offset[s]);
    plan->weights = memory + at[0];
    plan->weight_bytes = (weights[0] + weights[1]) * bytes;
    plan->bias = memory + bias;
    plan->spread_bias = memory + spread_bias;
    if (plan->spreads)
        memset(plan->spread_bias, 0, plan->spread.products * bytes);
    for (size_t i = 0; i < 2; i++) {
        plan->transforms[i].weights = memory + at[i];
        plan->transforms[i].bias = plan->bias;
    }
    const void *kernel = operands[conv->first_operand];
    void *turned = NULL;
    if (uc_plan_is_turned(plan)) {
        turned = uc_turn_kernel(conv, plan->turned, uc_dtype_bytes(chain->dtype), kernel);
        if (!turned)
            return UC_NO_MEMORY;
        kernel = turned;
    }
    const uc_pack pack = {.kernels = kernels,
                          .conv = conv,
                          .dtype = chain->dtype,
                          .kernel = kernel,
                          .conv_bias = conv->conv.bias ? operands[conv->first_operand + 1] : NULL,
                          .centred = plan->centred_stage != 0,
                          .weights = plan->weights,
                          .bias = plan->bias,
                          .spread = plan->spreads ? &plan->spread : NULL,
                          .casts = plan->casts,
                          .transforms = plan->winograd ? plan->transforms : NULL,
                          .transformed = {memory + at[0], memory + at[1]},
                          .threads = plan->threads};
    const uc_status status = uc_pack_run(&pack);
    free(turned);
    return status == UC_OK && plan->amx.kernels
               ? uc_amx_pack(&plan->amx, kernels, conv, plan->weights, plan->bias,
                             &plan->weight_bytes)
               : status;
}

/* Which dimension lies along the lanes, and so where elements are in tensors. */
static void plan_turn(uc_plan *plan) {
    plan->turned = uc_turn_choose(plan->kernels, &plan->chain);
    uc_turn_chain(&plan->chain, plan->turned);
    uc_turn_steps(&plan->chain.in, plan->turned, plan->in_step);
    uc_turn_steps(&plan->chain.out, plan->turned, plan->out_step);
}

/* The kernels and the algorithm, which depends on the weights. */
static uc_status plan_algorithm(uc_plan *plan, const void *const operands[],
                                const uc_options *options) {
    const uc_chain *chain = &plan->chain;
    uc_status status = uc_cpu_kernels(options->isa, chain->dtype, &plan->kernels);
    if (status != UC_OK)
        return status;
    plan->panel = plan->kernels->panel;
    plan->panels = uc_panels_of(chain->stage[chain->conv_stage].out.channels, plan->panel);
    plan_turn(plan);
    const size_t kernel = chain->stage[chain->conv_stage].first_operand;
    const double largest =
        uc_pack_largest(plan->kernels, chain->dtype, operands[kernel],
                        uc_shape_elems(&chain->operand[kernel].shape), plan->threads);
    plan->exact = !isfinite(largest);
    status = uc_algorithm_choose(plan, options, operands, largest);
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    plan->spreads = !plan->winograd && !plan->amx.kernels && !plan->exact &&
                    uc_spread_pays(plan->kernels, conv);
    plan->borrows = plan->spreads && !chain->conv_stage && uc_plan_can_borrow(plan) &&
                    !uc_spread_packs(plan->kernels, conv);
    /* A pool would have single rows, which have few of the taps. */
    const bool runs = uc_plan_made_by(chain, chain->stage_count) == chain->conv_stage + 1;
    if (plan->spreads)
        plan->spread =
            uc_spread_of(plan->kernels, conv, runs,
                         runs && plan->borrows && uc_spread_gathers(plan->kernels, conv));
    plan->casts = !plan->winograd && !plan->amx.kernels && !plan->spreads &&
                  uc_cast_serves(chain) &&
                  uc_direct_casts(plan->kernels, conv, uc_chain_item_flops(chain));
    if (plan->casts) {
        plan->borrows =
            !chain->conv_stage && uc_plan_can_borrow(plan) && !uc_cast_packs(plan->kernels, conv);
        plan->panels = uc_cast_panels(plan->kernels, conv->out.channels);
        plan->panel = uc_panel_size(plan->panels, 0);
    }
    if (!plan->amx.kernels || !plan->amx.native) /* centred weights would not be bf16 any more */
        plan_centred(plan);
    return status;
}

uc_status uc_plan_create(const uc_chain *chain, const void *const operands[],
                         const uc_options *options, uc_plan **plan) {
    if (!plan)
        return uc_fail(UC_INVALID, "plan must not be NULL");
    *plan = NULL;
    uc_options chosen;
    uc_status status;
    if ((status = uc_chain_check(chain)) != UC_OK ||
        (status = uc_check_operands(chain, operands)) != UC_OK ||
        (status = read_options(options, &chosen)) != UC_OK)
        return status;

    uc_plan *made = uc_alloc(sizeof *made);
    if (!made)
        return UC_NO_MEMORY;
    *made = (uc_plan){
        .chain = *chain, .element_bytes = uc_dtype_bytes(chain->dtype), .threads = chosen.threads};
    if (!made->threads)
        made->threads = (size_t)omp_get_max_threads();
    if (uc_chain_flops(chain) < FLOPS_FOR_THREADS)
        made->threads = 1;
    plan_shortcuts(made);
    if ((status = plan_algorithm(made, operands, &chosen)) == UC_OK &&
        (status = plan_operands(made, operands)) == UC_OK && (status = plan_passes(made)) == UC_OK)
        status = plan_workspace(made);
    if (status == UC_OK)
        *plan = made;
    else
        uc_plan_destroy(made);
    return status;
}

void uc_plan_destroy(uc_plan *plan) {
    if (!plan)
        return;
    free(plan->pass);
    free(plan->tooms);
    free(plan->reads);
    free(plan->operand_memory);
    free(plan->amx.weights);
    free(plan);
}

size_t uc_plan_workspace_bytes(const uc_plan *plan) {
    return plan ? plan->workspace_bytes : 0;
}

uc_status uc_plan_execute(const uc_plan *plan, const void *input, void *output, void *workspace) {
    if (!plan)
        return uc_fail(UC_INVALID, "plan must not be NULL");
    const uc_chain *chain = &plan->chain;
    const uc_shape in = uc_chain_input(chain), out = uc_chain_output(chain);
    const size_t in_elems = uc_shape_elems(&in), out_elems = uc_shape_elems(&out);
    const size_t element_bytes = uc_dtype_bytes(chain->dtype);
    const size_t out_bytes = out_elems * element_bytes;
    uc_status status;
    if ((status = uc_check_tensor("input", input, in_elems)) != UC_OK ||
        (status = uc_check_tensor("output", output, out_elems)) != UC_OK ||
        (status = uc_check_apart("input", input, in_elems * element_bytes, output, out_bytes)) !=
            UC_OK)
        return status;
    if (!chain->batch_size)
        return UC_OK;
    if (!workspace)
        return uc_fail(UC_INVALID, "workspace must not be NULL (the plan needs %zu bytes)",
                       plan->workspace_bytes);
    if (uc_overlap(workspace, plan->workspace_bytes, input, in_elems * element_bytes) ||
        uc_overlap(workspace, plan->workspace_bytes, output, out_bytes))
        return uc_fail(UC_INVALID, "workspace must not overlap the input or the output");

    const size_t past = (uintptr_t)workspace % UC_ALIGNMENT;
    uc_tile_run(plan, input, output, (char *)workspace + (past ? UC_ALIGNMENT - past : 0));
    return UC_OK;
}
