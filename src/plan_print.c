/* What a plan tells of itself: what it took, and why not something else.
 * Called by users. */
#include "cpu.h"
#include "plan.h"
#include "turn.h"

/* What the convolution multiplies, with the lanes and the zeros that only fill vectors. */
static double executed_flops(const uc_plan *plan, const uc_pass *pass) {
    const uc_chain *chain = &plan->chain;
    if (plan->winograd)
        return (double)chain->batch_size * uc_winograd_flops(&plan->transforms[0], pass->blocks);
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    if (plan->casts)
        return uc_chain_flops(chain) * (double)uc_cast_lanes(plan->kernels, conv->out.channels) /
               (double)conv->out.channels;
    const uc_rows rows = uc_plan_rows(plan, pass, chain->conv_stage + 1, pass->conv_rows);
    const double lanes = (double)rows.phase_step * (double)rows.phases / (double)pass->conv_rows;
    const double in_channels =
        plan->amx.kernels ? uc_amx_channels(&plan->amx) : (double)conv->in.channels;
    double flops = 2 * (double)chain->batch_size * in_channels * (double)conv->out.channels *
                   lanes * (double)conv->conv.kernel[2] / (double)conv->conv.stride[2];
    for (size_t i = 0; i < 2; i++)
        flops *= (double)pass->extent.size[i] * (double)uc_plan_window(chain, pass->stages, i) *
                 (double)conv->conv.kernel[i] / (double)conv->conv.stride[i];
    return flops;
}

/* A line for each part of its rows that has blocks of its own. */
static void print_blocks(const uc_plan *plan, const uc_pass *pass, size_t channels, FILE *file) {
    for (size_t i = 0; i < UC_BLOCK_PARTS && pass->blocks[i].tiles[2]; i++) {
        const uc_blocks *blocks = &pass->blocks[i];
        fprintf(file,
                "tile:      %zu rows of %zu tiles: %zu x %zu outputs x %zu lanes x %zu channels\n",
                blocks->tile_rows, blocks->tiles[2], plan->outputs[0], plan->outputs[1],
                uc_toom_tile(plan->transforms[0].dim[2]) * blocks->lanes, channels);
    }
}

static void print_pass(const uc_plan *plan, size_t index, FILE *file) {
    const uc_chain *chain = &plan->chain;
    const uc_pass *pass = &plan->pass[index];
    fprintf(file, "pass %zu:    %zu stages; %zu x %zu", index + 1, pass->stages, pass->bands[0],
            pass->bands[1]);
    if (pass->bands[2] > 1)
        fprintf(file, " x %zu", pass->bands[2]);
    fprintf(file, " bands of %zu x %zu rows; ", pass->band[0], pass->band[1]);
    if (pass->stages == chain->stage_count)
        fprintf(file, "stored\n");
    else
        fprintf(file, "measured for %s, %s\n", uc_ops[chain->stage[pass->stages].op].name,
                pass->keeps  ? "kept and stored"
                : pass->lays ? "laid down and multiplied"
                             : "computed again by the next");
    if (pass->stages > chain->conv_stage) {
        const uc_rows rows = uc_plan_rows(plan, pass, chain->conv_stage + 1,
                                          pass->woven ? pass->rows : pass->conv_rows);
        const size_t channels = pass->keeps ? pass->block_panels * plan->panel : rows.channels;
        if (plan->winograd)
            print_blocks(plan, pass, channels, file);
        else if (pass->pours)
            fprintf(
                file,
                "tile:      %zu rows a run in %zu parts, poured into the output as they are made\n",
                pass->rows, pass->parts);
        else if (plan->casts)
            fprintf(
                file,
                "tile:      %zu rows a run in %zu parts: %zu outputs x %zu channels at a time\n",
                pass->rows, pass->parts, pass->rows * rows.columns, rows.channels);
        else
            fprintf(
                file,
                "tile:      %zu rows a run%s, %zu of the convolution: %zu lanes x %zu channels%s\n",
                pass->rows, pass->woven ? " of all phases in turn" : "", pass->conv_rows,
                rows.lanes, channels, pass->run_panels ? " at a time" : "");
        if (pass->copies > 1)
            fprintf(file, "slab:      %zu copies, with no zeros between rows\n", pass->copies);
        fprintf(file, "cost:      %.4g FLOP for %.4g needed\n", executed_flops(plan, pass),
                uc_chain_flops(chain));
    }
    if (pass->why_not_kept)
        fprintf(file, "rejected:  keeping rows for %s: %s\n",
                uc_ops[chain->stage[pass->stages].op].name, pass->why_not_kept);
}

/* Whether some point is not whole, so that whole numbers don't stay exact. */
static bool has_fractions(const uc_plan *plan) {
    bool any = false;
    for (size_t i = 0; i < UC_SPACE; i++) {
        const uc_toom *dim = plan->transforms[0].dim[i];
        for (size_t e = 0; e < dim->stride; e++)
            any = any || dim->phase[e].kind == UC_POINTS_5;
    }
    return any;
}

void uc_plan_print(const uc_plan *plan, FILE *file) {
    if (!plan || !file)
        return;
    uc_chain given = plan->chain;
    uc_turn_chain(&given, plan->turned);
    const uc_chain *chain = &given;
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    char text[4096];
    uc_chain_text(chain, text, sizeof text);
    fprintf(file, "chain:     %s\n", text);
    const char *centred = plan->centred_stage ? ", weights centred" : "";
    if (plan->winograd)
        fprintf(file,
                "algorithm: winograd, %zu x %zu x %zu outputs a tile and phase%s%s\n"
                "rejected:  direct: its convolution should take %.2f times as long\n",
                plan->outputs[0], plan->outputs[1], plan->outputs[2],
                has_fractions(plan) ? ", points with fractions" : "", centred,
                plan->direct_by_winograd);
    else if (plan->amx.kernels)
        fprintf(file, "algorithm: amx, %s, by phases%s\nrejected:  direct: %s\n",
                uc_amx_name(&plan->amx), centred, plan->why_direct);
    else
        fprintf(file, "algorithm: direct, %s%s\n",
                plan->casts            ? "by taps, channels in lanes"
                : plan->exact          ? "by phases, tap by tap"
                : plan->spread.gathers ? "by phases, taps in the place of channels, inputs gathered"
                : plan->spreads        ? "by phases, taps in the place of channels"
                                       : "by phases",
                centred);
    if (!plan->winograd)
        fprintf(file, "rejected:  winograd: %s\n", plan->why_direct);
    if (plan->amx.why_not)
        fprintf(file, "rejected:  amx: %s\n", plan->amx.why_not);
    if (plan->exact && !plan->casts)
        fprintf(file, "rejected:  vectors over zeros: some weights are not finite\n");
    fprintf(file, "phases:   ");
    for (size_t i = UC_SPACE - chain->space; i < UC_SPACE; i++) {
        const uc_axis axis = uc_axis_of(conv, i);
        fprintf(file, "%s %zu", i > UC_SPACE - chain->space ? " x" : "", uc_axis_phases(&axis));
    }
    fprintf(file, " with taps\nkernel:    %s, panels of at most %zu channels\n",
            plan->kernels->name, plan->panel);
    uc_cpu_print_rejected(plan->kernels, file);
    if (uc_plan_is_turned(plan))
        fprintf(file, "turned:    %s and width are swapped, so that lanes are full\n",
                plan->turned ? "height" : "depth");
    for (size_t p = 0; p < plan->pass_count; p++)
        print_pass(plan, p, file);
    fprintf(file, "threads:   at most %zu\nweights:   %zu bytes\nworkspace: %zu bytes\n",
            plan->threads, plan->weight_bytes, plan->workspace_bytes);
}
