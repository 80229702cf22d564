/* Weights: from the user's tensor to the order in which the kernels read them.
 * Called by plan.c once per plan; tile.c asks where a phase starts. */
#include "pack.h"

#include <string.h>

#include "dtype.h"
#include "memory.h"

static size_t panel_count(size_t channels, size_t panel) {
    return channels / panel + (channels % panel != 0);
}

bool uc_pack_weights_elems(const uc_stage *conv, size_t panel, size_t *elems) {
    *elems = panel_count(conv->out.channels, panel);
    bool fits = uc_size_mul(elems, panel) && uc_size_mul(elems, conv->in.channels);
    for (size_t i = 0; fits && i < UC_SPACE; i++)
        fits = uc_size_mul(elems, conv->conv.kernel[i]);
    return fits;
}

size_t uc_pack_phase_offset(const uc_stage *conv, size_t panel, const uc_axis axis[UC_SPACE],
                            const size_t phase[UC_SPACE]) {
    /* The taps of all phases before this one: phases are ordered d, h, w. */
    size_t taps = uc_axis_taps_before(&axis[2], phase[2]);
    taps = uc_axis_phase_taps(&axis[1], phase[1]) * taps +
           uc_axis_taps_before(&axis[1], phase[1]) * axis[2].kernel;
    taps = uc_axis_phase_taps(&axis[0], phase[0]) * taps +
           uc_axis_taps_before(&axis[0], phase[0]) * axis[1].kernel * axis[2].kernel;
    return taps * conv->in.channels * panel_count(conv->out.channels, panel) * panel;
}

/* The weights of one phase. */
static void pack_phase(const uc_kernels *kernels, const uc_stage *conv, uc_dtype dtype,
                       const void *kernel, const uc_axis axis[UC_SPACE],
                       const size_t phase[UC_SPACE], char *weights) {
    size_t taps[UC_SPACE];
    for (size_t i = 0; i < UC_SPACE; i++)
        taps[i] = uc_axis_phase_taps(&axis[i], phase[i]);
    const size_t element_bytes = uc_dtype_bytes(dtype), real_bytes = kernels->real_bytes;
    const size_t out_channels = conv->out.channels;

    for (size_t co = 0; co < out_channels; co += kernels->panel)
        for (size_t td = 0; td < taps[0]; td++)
            for (size_t th = 0; th < taps[1]; th++)
                for (size_t ci = 0; ci < conv->in.channels; ci++)
                    for (size_t tw = 0; tw < taps[2]; tw++)
                        for (size_t c = co; c < co + kernels->panel; c++) {
                            const size_t kd = phase[0] + td * axis[0].stride,
                                         kh = phase[1] + th * axis[1].stride,
                                         kw = phase[2] + tw * axis[2].stride;
                            const size_t from =
                                (((ci * out_channels + c) * axis[0].kernel + kd) * axis[1].kernel +
                                 kh) *
                                    axis[2].kernel +
                                kw;
                            if (c < out_channels)
                                kernels->load(dtype, (const char *)kernel + from * element_bytes,
                                              weights, 1);
                            else
                                memset(weights, 0, real_bytes);
                            weights += real_bytes;
                        }
}

void uc_pack_weights(const uc_kernels *kernels, const uc_stage *conv, uc_dtype dtype,
                     const void *kernel, void *weights) {
    uc_axis axis[UC_SPACE];
    for (size_t i = 0; i < UC_SPACE; i++)
        axis[i] = uc_axis_of(conv, i);
    size_t phase[UC_SPACE];
    for (phase[0] = 0; phase[0] < uc_axis_phases(&axis[0]); phase[0]++)
        for (phase[1] = 0; phase[1] < uc_axis_phases(&axis[1]); phase[1]++)
            for (phase[2] = 0; phase[2] < uc_axis_phases(&axis[2]); phase[2]++)
                pack_phase(kernels, conv, dtype, kernel, axis, phase,
                           (char *)weights +
                               uc_pack_phase_offset(conv, kernels->panel, axis, phase) *
                                   kernels->real_bytes);
}
