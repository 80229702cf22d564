/* The kernel: from the user's tensor to the order in which the convolution reads it.
 * Called by plan.c once per plan; tile.c asks where a phase starts. */
#include "pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "memory.h"

size_t uc_pack_phase_offset(const uc_stage *conv, const uc_axis axis[UC_SPACE],
                            const size_t phase[UC_SPACE]) {
    /* The taps of all phases before this one, which are ordered d, h, w. */
    size_t taps = 0, inner = 1;
    for (size_t i = UC_SPACE; i-- > 0;) {
        taps = uc_axis_phase_taps(&axis[i], phase[i]) * taps +
               uc_axis_taps_before(&axis[i], phase[i]) * inner;
        inner *= axis[i].kernel;
    }
    return taps * conv->in.channels * conv->out.channels;
}

/* What one input channel's weights need to find their places. */
typedef struct channel_walk {
    const uc_pack *pack;
    uc_axis axis[UC_SPACE];
    size_t in_channel;
    const char *reals; /* [out channel][taps] */
} channel_walk;

/* `count` reals that lie `step` apart, one after the other. */
static void gather(void *to, const void *from, size_t count, size_t step, size_t real_bytes) {
    if (real_bytes == sizeof(float))
        for (size_t i = 0; i < count; i++)
            ((float *)to)[i] = ((const float *)from)[i * step];
    else
        for (size_t i = 0; i < count; i++)
            ((double *)to)[i] = ((const double *)from)[i * step];
}

/* Puts one input channel's weights of one phase into place. */
static void place_phase(const channel_walk *walk, const size_t phase[UC_SPACE]) {
    const uc_pack *pack = walk->pack;
    const uc_axis *axis = walk->axis;
    const size_t bytes = pack->kernels->real_bytes, out_channels = pack->conv->out.channels,
                 in_channels = pack->conv->in.channels;
    const size_t kernel_taps = axis[0].kernel * axis[1].kernel * axis[2].kernel;
    const size_t panels = uc_panel_count(out_channels, pack->kernels->panel);
    size_t taps[UC_SPACE];
    for (size_t i = 0; i < UC_SPACE; i++)
        taps[i] = uc_axis_phase_taps(&axis[i], phase[i]);
    const size_t products = taps[0] * taps[1] * taps[2] * in_channels;
    char *weights = (char *)pack->weights + uc_pack_phase_offset(pack->conv, axis, phase) * bytes;

    for (size_t p = 0; p < panels; p++) {
        const size_t begin = uc_panel_begin(out_channels, panels, p),
                     size = uc_panel_begin(out_channels, panels, p + 1) - begin;
        for (size_t td = 0; td < taps[0]; td++)
            for (size_t th = 0; th < taps[1]; th++)
                for (size_t tw = 0; tw < taps[2]; tw++) {
                    const size_t tap = ((phase[0] + td * axis[0].stride) * axis[1].kernel +
                                        phase[1] + th * axis[1].stride) *
                                           axis[2].kernel +
                                       phase[2] + tw * axis[2].stride;
                    char *to =
                        weights +
                        (begin * products +
                         (((td * taps[1] + th) * in_channels + walk->in_channel) * taps[2] + tw) *
                             size) *
                            bytes;
                    gather(to, walk->reals + (begin * kernel_taps + tap) * bytes, size, kernel_taps,
                           bytes);
                }
    }
}

/* Takes the mean over `count` reals that lie `step` apart off each of them. */
static void centre(const uc_kernels *kernels, void *reals, size_t count, size_t step) {
    float *singles = reals;
    double *doubles = reals, mean = 0;
    const bool wide = kernels->real_bytes == sizeof(double);
    for (size_t i = 0; i < count; i++)
        mean += wide ? doubles[i * step] : singles[i * step];
    mean /= (double)count;
    for (size_t i = 0; i < count; i++)
        if (wide)
            doubles[i * step] -= mean;
        else
            singles[i * step] = (float)(singles[i * step] - mean);
}

static bool all_finite(const uc_kernels *kernels, const void *reals, size_t count) {
    const float *singles = reals;
    const double *doubles = reals;
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite &= kernels->real_bytes == sizeof(double) ? isfinite(doubles[i]) != 0
                                                        : isfinite(singles[i]) != 0;
    return finite;
}

uc_status uc_pack_run(uc_pack *pack) {
    const uc_kernels *kernels = pack->kernels;
    const size_t out_channels = pack->conv->out.channels;
    channel_walk walk = {.pack = pack};
    size_t kernel_taps = 1;
    for (size_t i = 0; i < UC_SPACE; i++) {
        walk.axis[i] = uc_axis_of(pack->conv, i);
        kernel_taps *= walk.axis[i].kernel;
    }

    memset(pack->bias, 0, out_channels * kernels->real_bytes);
    if (pack->conv_bias)
        kernels->load(pack->dtype, pack->conv_bias, pack->bias, out_channels);
    if (pack->centred)
        centre(kernels, pack->bias, out_channels, 1);

    const size_t elems = out_channels * kernel_taps;
    char *reals = uc_alloc(elems * kernels->real_bytes);
    if (!reals)
        return UC_NO_MEMORY;
    walk.reals = reals;
    pack->finite = true;
    for (size_t ci = 0; ci < pack->conv->in.channels; ci++) {
        walk.in_channel = ci;
        kernels->load(pack->dtype,
                      (const char *)pack->kernel + ci * elems * uc_dtype_bytes(pack->dtype), reals,
                      elems);
        pack->finite = pack->finite && all_finite(kernels, reals, elems);
        if (pack->centred)
            for (size_t tap = 0; tap < kernel_taps; tap++)
                centre(kernels, reals + tap * kernels->real_bytes, out_channels, kernel_taps);
        size_t phase[UC_SPACE];
        for (phase[0] = 0; phase[0] < uc_axis_phases(&walk.axis[0]); phase[0]++)
            for (phase[1] = 0; phase[1] < uc_axis_phases(&walk.axis[1]); phase[1]++)
                for (phase[2] = 0; phase[2] < uc_axis_phases(&walk.axis[2]); phase[2]++)
                    place_phase(&walk, phase);
    }
    free(reals);
    return UC_OK;
}
