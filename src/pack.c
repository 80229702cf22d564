/* The kernel: from the user's tensor to the order in which the convolution reads it.
 * Called by plan.c once per plan; fill.c asks where a phase starts. */
#include "pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cast.h"
#include "dtype.h"
#include "memory.h"
#include "spread.h"
#include "status.h"
#include "winograd.h"

#if defined(_OPENMP)
#include <omp.h>
#else
static int omp_get_thread_num(void) {
    return 0;
}
#endif

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
    const uc_panels cut = uc_panels_of(out_channels, pack->kernels->panel);
    size_t taps[UC_SPACE];
    for (size_t i = 0; i < UC_SPACE; i++)
        taps[i] = uc_axis_phase_taps(&axis[i], phase[i]);
    const size_t products = taps[0] * taps[1] * taps[2] * in_channels;
    char *weights = (char *)pack->weights + uc_pack_phase_offset(pack->conv, axis, phase) * bytes;

    for (size_t p = 0; p < cut.count; p++) {
        const size_t begin = uc_panel_begin(cut, p), size = uc_panel_size(cut, p);
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

/* The largest magnitude of some weights, or infinity if one is NaN. */
static double largest_of(const uc_kernels *kernels, uc_dtype dtype, const char *weights,
                         size_t elems) {
    enum { ROWS = 16, COLUMNS = 64 };
    double reals[ROWS * COLUMNS] = {0}, cells[COLUMNS], largest = 0;
    for (size_t i = 0; i < elems; i += ROWS * COLUMNS) {
        const size_t left = elems - i, some = left < ROWS * COLUMNS ? left : ROWS * COLUMNS;
        const char *from = weights + i * uc_dtype_bytes(dtype);
        const bool as_they_are =
            some == ROWS * COLUMNS && uc_dtype_bytes(dtype) == kernels->real_bytes;
        if (left > some)
            uc_fetch(from + some * uc_dtype_bytes(dtype),
                     (left - some < some ? left - some : some) * uc_dtype_bytes(dtype));
        if (some < ROWS * COLUMNS)
            memset(reals, 0, sizeof reals);
        if (!as_they_are)
            kernels->load(dtype, from, reals, some);
        kernels->magnitudes(as_they_are ? (const void *)from : reals, COLUMNS, ROWS, COLUMNS,
                            cells);
        for (size_t k = 0; k < COLUMNS / kernels->vector_lanes; k++) {
            const double cell = uc_real_at(kernels, cells, k);
            if (isnan(cell))
                return INFINITY;
            largest = cell > largest ? cell : largest;
        }
    }
    return largest;
}

/* Weights that one thread looks at: many enough to be worth a second one. */
#define LARGEST_PART ((size_t)32 << 10)

double uc_pack_largest(const uc_kernels *kernels, uc_dtype dtype, const void *kernel, size_t elems,
                       size_t threads) {
    const size_t parts = uc_parts(elems, LARGEST_PART);
    double largest = 0;
    (void)threads; /* there is one without OpenMP */
#pragma omp parallel for num_threads((int)threads) if (threads > 1 && parts > 1)                   \
    reduction(max                                                                                  \
              : largest)
    for (size_t p = 0; p < parts; p++) {
        const uc_span part = uc_part(elems, LARGEST_PART, p);
        largest =
            fmax(largest,
                 largest_of(kernels, dtype,
                            (const char *)kernel + part.begin * uc_dtype_bytes(dtype), part.count));
    }
    return largest;
}

/* One input channel's weights as reals, centred if they should be. */
static void load_channel(const uc_pack *pack, size_t in_channel, size_t taps, char *reals) {
    const uc_kernels *kernels = pack->kernels;
    const size_t out_channels = pack->conv->out.channels, elems = out_channels * taps;
    kernels->load(pack->dtype,
                  (const char *)pack->kernel + in_channel * elems * uc_dtype_bytes(pack->dtype),
                  reals, elems);
    if (pack->centred)
        for (size_t tap = 0; tap < taps; tap++)
            centre(kernels, reals + tap * kernels->real_bytes, out_channels, taps);
}

/* The same to its places in all phases. */
static void place_channel(const channel_walk *walk) {
    size_t phase[UC_SPACE];
    for (phase[0] = 0; phase[0] < uc_axis_phases(&walk->axis[0]); phase[0]++)
        for (phase[1] = 0; phase[1] < uc_axis_phases(&walk->axis[1]); phase[1]++)
            for (phase[2] = 0; phase[2] < uc_axis_phases(&walk->axis[2]); phase[2]++)
                place_phase(walk, phase);
}

uc_status uc_pack_run(const uc_pack *pack) {
    const uc_kernels *kernels = pack->kernels;
    const size_t out_channels = pack->conv->out.channels, in_channels = pack->conv->in.channels,
                 panels = uc_panels_of(out_channels, kernels->panel).count, threads = pack->threads;
    channel_walk walk = {.pack = pack};
    size_t taps = 1;
    for (size_t i = 0; i < UC_SPACE; i++) {
        walk.axis[i] = uc_axis_of(pack->conv, i);
        taps *= walk.axis[i].kernel;
    }

    memset(pack->bias, 0, out_channels * kernels->real_bytes);
    if (pack->conv_bias)
        kernels->load(pack->dtype, pack->conv_bias, pack->bias, out_channels);
    if (pack->centred)
        centre(kernels, pack->bias, out_channels, 1);

    /* Weights as reals: transforms want all of them, which they may be already, others one input
     * channel a thread. And what each thread transforms them in. */
    const size_t channel = out_channels * taps * kernels->real_bytes;
    const bool as_they_are =
        pack->transforms && !pack->centred && uc_dtype_bytes(pack->dtype) == kernels->real_bytes;
    size_t reals = as_they_are ? 0 : pack->transforms ? in_channels : threads, scratch = 0, total;
    bool fits = uc_size_mul(&reals, channel) && uc_size_align(&reals);
    if (pack->transforms)
        fits = fits && uc_winograd_scratch_bytes(&pack->transforms[0], &scratch) &&
               uc_size_align(&scratch);
    total = scratch;
    if (!fits || !uc_size_mul(&total, threads) || !uc_size_add(&total, reals))
        return uc_fail(UC_NO_MEMORY, "packing the weights would need more than memory holds");
    char *memory = uc_alloc(total);
    if (!memory)
        return UC_NO_MEMORY;
#pragma omp parallel num_threads((int)threads) if (threads > 1) firstprivate(walk)
    {
#pragma omp for
        for (size_t ci = 0; ci < (as_they_are ? 0 : in_channels); ci++) {
            char *to = memory + (pack->transforms ? ci : (size_t)omp_get_thread_num()) * channel;
            walk.in_channel = ci;
            walk.reals = to;
            load_channel(pack, ci, taps, to);
            if (pack->spread)
                uc_spread_place(pack->spread, kernels, pack->conv, ci, to, pack->weights);
            else if (pack->casts)
                uc_cast_place(kernels, pack->conv, ci, to, pack->weights);
            else if (!pack->transforms)
                place_channel(&walk);
        }
        if (pack->transforms) {
#pragma omp for schedule(dynamic)
            for (size_t p = 0; p < panels; p++)
                uc_winograd_place(
                    pack->transforms, p, as_they_are ? pack->kernel : memory, pack->transformed,
                    (double *)(void *)(memory + reals + (size_t)omp_get_thread_num() * scratch));
        }
    }
    free(memory);
    return UC_OK;
}
