/* How to compute a chain: checks options, chooses kernels and tiles, packs operands, lays out the
 * workspace; prints and executes itself. Called by users and by operators.c. */
#include "plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "memory.h"
#include "pack.h"
#include "status.h"
#include "tile.h"

#if defined(_OPENMP)
#include <omp.h>
#else
static int omp_get_max_threads(void) {
    return 1;
}
#endif

#define MAX_THREADS 1024

/* What the larger buffer of a tile may take, if one position does not need more: with the weights
 * of a phase it should stay in a core's L2. */
#define TILE_BYTES ((size_t)640 << 10)

/* The options that count, in this version's struct. A longer struct from a newer header is fine as
 * long as what we don't know is 0, its default. */
static uc_status read_options(const uc_options *given, uc_options *options) {
    *options = (uc_options)UC_OPTIONS_INIT;
    if (!given)
        return UC_OK;
    if (given->struct_bytes < sizeof *options || given->struct_bytes > 4096)
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
    *options = *given;
    if (options->threads > MAX_THREADS)
        return uc_fail(UC_INVALID, "options.threads must be at most %d (got %zu)", MAX_THREADS,
                       options->threads);
    if (options->accuracy != UC_ACCURACY_STRICT)
        return uc_fail(UC_INVALID, "options.accuracy must be UC_ACCURACY_STRICT (got %d)",
                       (int)options->accuracy);
    if (options->isa != UC_ISA_AUTO && options->isa != UC_ISA_PORTABLE)
        return uc_fail(UC_INVALID, "options.isa must be UC_ISA_AUTO or UC_ISA_PORTABLE (got %d)",
                       (int)options->isa);
    return UC_OK;
}

/* The reals of the largest box of an odd or even buffer when a pass goes by tiles of this size.
 * Boxes are largest away from borders, so this takes a tile in the middle of nowhere: no box is
 * cut. SIZE_MAX where it overflows. */
static size_t buffer_elems(const uc_chain *chain, size_t stages, const size_t tile[UC_SPACE]) {
    size_t count[UC_SPACE], largest = 0;
    memcpy(count, tile, sizeof count);
    for (size_t s = stages;; s--) {
        size_t elems = s ? chain->stage[s - 1].out.channels : chain->in.channels;
        for (size_t i = 0; i < UC_SPACE; i++)
            if (!uc_size_mul(&elems, count[i]))
                return SIZE_MAX;
        largest = elems > largest ? elems : largest;
        if (!s)
            return largest;
        const uc_stage *stage = &chain->stage[s - 1];
        for (size_t i = 0; i < UC_SPACE; i++) {
            if (uc_ops[stage->op].needs == UC_NEEDS_WINDOW) {
                if (!uc_size_mul(&count[i], stage->window[i]))
                    return SIZE_MAX;
            } else if (uc_ops[stage->op].needs == UC_NEEDS_TAPS) {
                const uc_axis axis = uc_axis_of(stage, i);
                const size_t reach = (count[i] + axis.kernel - 2) / axis.stride + 1;
                count[i] = reach < axis.in ? reach : axis.in;
            }
        }
    }
}

/* Grows a tile, widest dimension first, as long as its buffers stay small. It depends on the chain
 * alone, so results are the same for every number of threads. */
static uc_status plan_pass(const uc_plan *plan, size_t stages, uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    const size_t limit = TILE_BYTES / plan->kernels->real_bytes;
    *pass = (uc_pass){.stages = stages,
                      .extent = stages ? chain->stage[stages - 1].out : chain->in,
                      .tile = {1, 1, 1}};
    for (size_t i = UC_SPACE; i-- > 0;) {
        const size_t whole = pass->extent.size[i];
        size_t low = 1, high = whole; /* the largest count in [low, high] that fits */
        while (low < high) {
            const size_t middle = low + (high - low + 1) / 2;
            pass->tile[i] = middle;
            if (buffer_elems(chain, stages, pass->tile) <= limit)
                low = middle;
            else
                high = middle - 1;
        }
        pass->tiles[i] = (whole - 1) / low + 1;
        pass->tile[i] = (whole - 1) / pass->tiles[i] + 1; /* tiles of about the same size */
    }
    pass->buffer_elems = buffer_elems(chain, stages, pass->tile);
    if (pass->buffer_elems == SIZE_MAX)
        return uc_fail(UC_NO_MEMORY, "one position of the output needs a tile larger than memory");
    return UC_OK;
}

static uc_status plan_passes(uc_plan *plan) {
    const uc_chain *chain = &plan->chain;
    for (size_t s = 0; s <= chain->stage_count; s++) {
        const bool last = s == chain->stage_count;
        if (!last && uc_ops[chain->stage[s].op].needs != UC_NEEDS_EVERYTHING)
            continue;
        const uc_status status = plan_pass(plan, s, &plan->pass[plan->pass_count]);
        if (status != UC_OK)
            return status;
        plan->pass_count++;
    }
    return UC_OK;
}

/* Takes aligned room at the end of some memory; false where that overflows. */
static bool take(size_t *total, size_t *offset, size_t count, size_t bytes) {
    *offset = *total;
    return uc_size_mul(&count, bytes) && uc_size_add(total, count) && uc_size_align(total);
}

static uc_status plan_workspace(uc_plan *plan) {
    const uc_chain *chain = &plan->chain;
    size_t largest_buffer = 0, largest_measures = 0, buffers = 0, total = 0;
    bool fits = true;
    for (size_t p = 0; p < plan->pass_count; p++) {
        const uc_pass *pass = &plan->pass[p];
        if (pass->buffer_elems > largest_buffer)
            largest_buffer = pass->buffer_elems;
        if (p + 1 == plan->pass_count)
            break;
        size_t measures = pass->tiles[0] * pass->tiles[1] * pass->tiles[2];
        fits = fits && uc_size_mul(&measures, pass->extent.channels);
        if (measures > largest_measures)
            largest_measures = measures;
    }
    plan->buffer_bytes = largest_buffer;
    fits = fits && uc_size_mul(&plan->buffer_bytes, plan->kernels->real_bytes) &&
           uc_size_align(&plan->buffer_bytes) &&
           take(&total, &buffers, 2 * plan->threads, plan->buffer_bytes);
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

/* Lays out and fills the plan's own memory: weights, bias, and the values of add and mul. */
static uc_status plan_operands(uc_plan *plan, const void *const operands[]) {
    const uc_chain *chain = &plan->chain;
    const uc_kernels *kernels = plan->kernels;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    const size_t bias_elems =
        (conv->out.channels - 1) / kernels->panel * kernels->panel + kernels->panel;
    size_t weights_elems = 0, weights = 0, bias = 0, offset[UC_MAX_STAGES] = {0}, total = 0;
    bool fits = uc_pack_weights_elems(conv, kernels->panel, &weights_elems) &&
                take(&total, &weights, weights_elems, kernels->real_bytes) &&
                take(&total, &bias, bias_elems, kernels->real_bytes);
    for (size_t s = 0; s < chain->stage_count; s++)
        if (*chain->stage[s].operand)
            fits =
                fits && take(&total, &offset[s], chain->stage[s].out.channels, kernels->real_bytes);
    if (!fits)
        return uc_fail(UC_NO_MEMORY, "the packed operands would be larger than memory");

    char *memory = plan->operand_memory = uc_alloc(total);
    if (!memory)
        return UC_NO_MEMORY;
    plan->weights = memory + weights;
    plan->bias = memory + bias;
    uc_pack_weights(kernels, conv, chain->dtype, operands[conv->first_operand], plan->weights);
    memset(plan->bias, 0, bias_elems * kernels->real_bytes);
    if (conv->conv.bias)
        kernels->load(chain->dtype, operands[conv->first_operand + 1], plan->bias,
                      conv->out.channels);
    for (size_t s = 0; s < chain->stage_count; s++)
        if (*chain->stage[s].operand) {
            plan->per_channel[s] = memory + offset[s];
            kernels->load(chain->dtype, operands[chain->stage[s].first_operand],
                          plan->per_channel[s], chain->stage[s].out.channels);
        }
    return UC_OK;
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
    *made = (uc_plan){.chain = *chain,
                      .kernels = chain->dtype == UC_F64 ? &uc_kernels_portable_f64
                                                        : &uc_kernels_portable_f32,
                      .threads = chosen.threads ? chosen.threads : (size_t)omp_get_max_threads()};
    if ((status = plan_passes(made)) == UC_OK && (status = plan_workspace(made)) == UC_OK)
        status = plan_operands(made, operands);
    if (status == UC_OK)
        *plan = made;
    else
        uc_plan_destroy(made);
    return status;
}

void uc_plan_destroy(uc_plan *plan) {
    if (!plan)
        return;
    free(plan->operand_memory);
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

void uc_plan_print(const uc_plan *plan, FILE *file) {
    if (!plan || !file)
        return;
    const uc_chain *chain = &plan->chain;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    char text[4096];
    uc_chain_text(chain, text, sizeof text);
    fprintf(file, "chain:     %s\n", text);
    fprintf(file, "algorithm: direct, by phases\n");
    fprintf(file, "phases:   ");
    for (size_t i = 0; i < UC_SPACE; i++) {
        const uc_axis axis = uc_axis_of(conv, i);
        fprintf(file, "%s %zu", i ? " x" : "", uc_axis_phases(&axis));
    }
    fprintf(file, " with taps\nkernel:    %s, panels of %zu channels\n", plan->kernels->name,
            plan->kernels->panel);
    for (size_t p = 0; p < plan->pass_count; p++) {
        const uc_pass *pass = &plan->pass[p];
        const bool last = p + 1 == plan->pass_count;
        fprintf(file,
                "pass %zu:    %zu stages, %zu x %zu x %zu tiles of %zu x %zu x %zu positions, ",
                p + 1, pass->stages, pass->tiles[0], pass->tiles[1], pass->tiles[2], pass->tile[0],
                pass->tile[1], pass->tile[2]);
        if (last)
            fprintf(file, "stored\n");
        else
            fprintf(file, "measured for %s\n", uc_ops[chain->stage[pass->stages].op].name);
    }
    fprintf(file, "threads:   at most %zu\nworkspace: %zu bytes\nwork:      %.4g FLOP\n",
            plan->threads, plan->workspace_bytes, uc_chain_flops(chain));
}
