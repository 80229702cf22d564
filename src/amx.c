/* AMX: which chains it fills, its weights, and rows of pairs.
 * Called by algorithm.c, plan.c, slab.c and fill.c. */
#include "amx.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "dtype.h"
#include "memory.h"
#include "pack.h"
#include "status.h"

/* With fewer input channels most of a tile would be empty. Where AMX begins to be quicker could not
 * be measured. */
#define LEAST_CHANNELS 16

/* AMX takes denormals for 0, those that it reads and those that come out. The first part of a
 * number is a multiple of 2^-8 of it, a second part one of 2^-24. So it reads no denormal where all
 * numbers are at least LEAST_NUMBER; and none comes out where all products are at least
 * LEAST_PRODUCT, as sums are multiples of 2^-32 of the smallest, 2^-126. */
#define LEAST_NUMBER 0x1p-102f
#define LEAST_PRODUCT 0x1p-94

/* Up to here a number rounds to a bf16 that is finite. */
#define MOST_NUMBER 0x1p+126f

/* The magnitudes of an operand. */
static uc_amx_range range_of(const uc_kernels *kernels, uc_dtype dtype, const void *elements,
                             size_t count) {
    enum { SOME = 512 };
    float reals[SOME] = {0};
    uc_amx_range range = UC_AMX_RANGE_INIT;
    for (size_t i = 0; i < count; i += SOME) {
        const size_t some = count - i < SOME ? count - i : SOME;
        kernels->load(dtype, (const char *)elements + i * uc_dtype_bytes(dtype), reals, some);
        for (size_t k = 0; k < some; k++)
            uc_amx_widen(&range, uc_f32_bits(reals[k]));
    }
    return range;
}

static bool too_small(const uc_amx_range *range, float least) {
    return range->least_less_1 < uc_f32_bits(least) - 1;
}

/* Which inputs are taken. NULL, or why none can be. */
static const char *find_limits(uc_amx *amx, const uc_kernels *kernels, const uc_chain *chain,
                               const void *const operands[]) {
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    const size_t elems = uc_shape_elems(&chain->operand[conv->first_operand].shape);
    const uc_amx_range weights =
        range_of(kernels, chain->dtype, operands[conv->first_operand], elems);
    if (weights.most > uc_f32_bits(FLT_MAX))
        return "some weights are not finite";
    if (weights.most > uc_f32_bits(MOST_NUMBER))
        return "some weights are too large for bf16";
    if (too_small(&weights, LEAST_NUMBER))
        return "some weights are so small that it would take them for 0";
    if (conv->conv.bias) {
        const uc_amx_range bias =
            range_of(kernels, chain->dtype, operands[conv->first_operand + 1], conv->out.channels);
        if (too_small(&bias, LEAST_NUMBER)) /* it is added to sums */
            return "some of the bias is so small that it would take it for 0";
    }
    if (!weights.most) { /* nothing but zeros */
        amx->least = uc_f32_bits(LEAST_NUMBER);
        amx->most = uc_f32_bits(MOST_NUMBER);
        return NULL;
    }
    /* No sum of products may overflow on the way. */
    const double smallest = uc_f32_from_bits(weights.least_less_1 + 1),
                 largest = uc_f32_from_bits(weights.most);
    const double products = (double)elems / (double)conv->out.channels;
    amx->least = uc_f32_bits((float)fmax(LEAST_NUMBER, LEAST_PRODUCT / smallest));
    amx->most = uc_f32_bits((float)fmin(MOST_NUMBER, (double)FLT_MAX / 2 / products / largest));
    return NULL;
}

static const char *why_not(uc_amx *amx, const uc_kernels *kernels, const uc_chain *chain,
                           const void *const operands[], uc_accuracy accuracy, bool automatic) {
    const size_t channels = chain->stage[chain->conv_stage].in.channels;
    if (!automatic)
        return "it was not asked for";
    if (chain->dtype == UC_F64)
        return "it does not compute in f64";
    if (accuracy == UC_ACCURACY_STRICT && !amx->native)
        return "strict results need inputs that are bf16";
    if (channels < LEAST_CHANNELS)
        return "there are few input channels";
    amx->kernels = uc_cpu_amx();
    if (!amx->kernels)
        return "this CPU, or its system, does not have it";
    if (!uc_cpu_goes_with_amx(kernels))
        return "it goes with avx512 kernels";
    return find_limits(amx, kernels, chain, operands);
}

void uc_amx_choose(uc_amx *amx, const uc_kernels *kernels, const uc_chain *chain,
                   const void *const operands[], uc_accuracy accuracy, bool automatic) {
    const size_t pairs = (chain->stage[chain->conv_stage].in.channels + 1) / 2;
    amx->native = chain->dtype == UC_BF16 && chain->conv_stage == 0;
    amx->parts = accuracy == UC_ACCURACY_X3 && !amx->native ? 2 : 1;
    amx->slices = (pairs - 1) / UC_AMX_TILE + 1;
    amx->pairs = (pairs - 1) / amx->slices + 1;
    amx->why_not = why_not(amx, kernels, chain, operands, accuracy, automatic);
    if (amx->why_not)
        amx->kernels = NULL;
}

/* ---- Weights ---- */

/* Pairs of the weights of a tap. */
static size_t tap_pairs(const uc_amx *amx, const uc_stage *conv) {
    return amx->slices * amx->parts * conv->out.channels * amx->pairs;
}

/* How many taps the phases before this one have. */
static size_t taps_before(const uc_stage *conv, const uc_axis axis[UC_SPACE],
                          const size_t phase[UC_SPACE]) {
    return uc_pack_phase_offset(conv, axis, phase) / conv->in.channels / conv->out.channels;
}

const uc_pair *uc_amx_phase(const uc_amx *amx, const uc_stage *conv, const uc_axis axis[UC_SPACE],
                            const size_t phase[UC_SPACE]) {
    return amx->weights + taps_before(conv, axis, phase) * tap_pairs(amx, conv);
}

/* Puts the weights of one tap and input channel, for some output channels, into place. */
static void place(const uc_amx *amx, const uc_stage *conv, const float *from, uc_pair *tap,
                  size_t in_channel, size_t first, size_t count) {
    const size_t pair = in_channel / 2, matrix = conv->out.channels * amx->pairs;
    uc_pair *to = tap + pair / amx->pairs * amx->parts * matrix + pair % amx->pairs;
    for (size_t c = 0; c < count; c++) {
        float left = from[c];
        for (size_t part = 0; part < amx->parts; part++) {
            const uint16_t half = uc_f32_to_bf16(left);
            to[part * matrix + (first + c) * amx->pairs] |= (uc_pair)half << 16 * (in_channel % 2);
            left -= uc_bf16_to_f32(half);
        }
    }
}

/* The weights of a phase, from the order that uc_pack tells. */
static void place_phase(const uc_amx *amx, const uc_kernels *kernels, const uc_stage *conv,
                        const uc_axis axis[UC_SPACE], const size_t phase[UC_SPACE],
                        const float *weights) {
    const size_t in_channels = conv->in.channels;
    const uc_panels cut = uc_panels_of(conv->out.channels, kernels->panel);
    const size_t width = uc_axis_phase_taps(&axis[2], phase[2]),
                 planes = uc_axis_phase_taps(&axis[0], phase[0]) *
                          uc_axis_phase_taps(&axis[1], phase[1]);
    const float *from = weights + uc_pack_phase_offset(conv, axis, phase);
    uc_pair *to = amx->weights + taps_before(conv, axis, phase) * tap_pairs(amx, conv);
    for (size_t p = 0; p < cut.count; p++) {
        const size_t begin = uc_panel_begin(cut, p), size = uc_panel_size(cut, p);
        for (size_t plane = 0; plane < planes; plane++)
            for (size_t ci = 0; ci < in_channels; ci++)
                for (size_t tw = 0; tw < width; tw++, from += size)
                    place(amx, conv, from, to + (plane * width + tw) * tap_pairs(amx, conv), ci,
                          begin, size);
    }
}

uc_status uc_amx_pack(uc_amx *amx, const uc_kernels *kernels, const uc_stage *conv,
                      const void *weights, const void *bias, size_t *bytes) {
    uc_axis axis[UC_SPACE];
    size_t total = sizeof(uc_pair), bias_bytes = conv->out.channels;
    bool fits = uc_size_mul(&total, tap_pairs(amx, conv));
    for (size_t i = 0; i < UC_SPACE; i++) {
        axis[i] = uc_axis_of(conv, i);
        fits = fits && uc_size_mul(&total, axis[i].kernel);
    }
    fits = fits && uc_size_align(&total);
    const size_t bias_at = total;
    if (!fits || !uc_size_mul(&bias_bytes, UC_AMX_TILE * sizeof(float)) ||
        !uc_size_add(&total, bias_bytes))
        return uc_fail(UC_NO_MEMORY, "the weights for AMX would be larger than memory");
    amx->weights = uc_alloc(total);
    if (!amx->weights)
        return UC_NO_MEMORY;
    memset(amx->weights, 0, bias_at); /* channels that only fill pairs and slices stay 0 */
    amx->bias = (float *)(void *)((char *)amx->weights + bias_at);
    for (size_t i = 0; i < conv->out.channels * UC_AMX_TILE; i++)
        amx->bias[i] = ((const float *)bias)[i / UC_AMX_TILE];

    size_t phase[UC_SPACE];
    for (phase[0] = 0; phase[0] < uc_axis_phases(&axis[0]); phase[0]++)
        for (phase[1] = 0; phase[1] < uc_axis_phases(&axis[1]); phase[1]++)
            for (phase[2] = 0; phase[2] < uc_axis_phases(&axis[2]); phase[2]++)
                place_phase(amx, kernels, conv, axis, phase, weights);
    *bytes += total;
    return UC_OK;
}

/* ---- Rows ---- */

bool uc_amx_row(const uc_amx *amx, const float *reals, size_t channel_step, size_t channels,
                size_t count, uc_pair *to, size_t part_step) {
    uc_amx_range range = UC_AMX_RANGE_INIT;
    for (size_t c = 0; c < 2 * amx->slices * amx->pairs; c += 2, to += channel_step)
        amx->kernels->split(c < channels ? reals + c * channel_step : NULL,
                            c + 1 < channels ? reals + (c + 1) * channel_step : NULL, count, to,
                            amx->parts, part_step, &range);
    return range.least_less_1 >= amx->least - 1 && range.most <= amx->most;
}

void uc_amx_fill(const uc_amx *amx, const uc_conv_run *run, size_t part_step, size_t first_channel,
                 size_t channels) {
    amx->kernels->conv(&(uc_amx_run){.run = run,
                                     .parts = amx->parts,
                                     .x_part = part_step,
                                     .slices = amx->slices,
                                     .pairs = amx->pairs,
                                     .first_channel = first_channel,
                                     .channels = channels});
}

const char *uc_amx_name(const uc_amx *amx) {
    return amx->native ? "of bf16 as it is" : amx->parts == 2 ? "x3" : "bf16";
}

double uc_amx_channels(const uc_amx *amx) {
    return 2 * (double)(amx->slices * amx->pairs) * (amx->parts == 2 ? 3 : 1);
}
