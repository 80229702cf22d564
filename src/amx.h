/* AMX: a third way to fill a tile, with products of bf16 numbers in the CPU's own tiles.
 * Chosen by algorithm.c, packed by plan.c, run by fill.c.
 *
 * It goes with the direct way: the same runs of rows, from a slab of pairs of bf16 beside the one
 * of reals. Rows whose numbers AMX would spoil, because they are not finite, too large or so small
 * that it would take something for 0, are filled from the reals. */
#ifndef UC_AMX_H
#define UC_AMX_H

#include "kernels/amx.h"
#include "phase.h"

typedef struct uc_amx {
    const uc_amx_kernels *kernels; /* NULL: it is not used */
    const char *why_not;           /* then */
    bool native;                   /* inputs and weights are bf16: nothing is lost */
    size_t parts;                  /* of a number: 1, or 2 for x3 */
    size_t slices, pairs;          /* of the input channels; pairs: of a slice */
    uint32_t least, most;          /* magnitudes of inputs that it takes, 0 apart: bits of floats */
    uc_pair *weights;              /* and behind them */
    float *bias;
} uc_amx;

/* Whether AMX fills: sets kernels and what follows up to `most`, or why_not. automatic: neither
 * the caller nor the environment names another way. */
void uc_amx_choose(uc_amx *amx, const uc_kernels *kernels, const uc_chain *chain,
                   const void *const operands[], uc_accuracy accuracy, bool automatic);

/* Makes weights and bias from those that the direct way reads: UC_OK or UC_NO_MEMORY. free() the
 * weights. */
uc_status uc_amx_pack(uc_amx *amx, const uc_kernels *kernels, const uc_stage *conv,
                      const void *weights, const void *bias, size_t *bytes);

/* The weights of a phase. */
const uc_pair *uc_amx_phase(const uc_amx *amx, const uc_stage *conv, const uc_axis axis[UC_SPACE],
                            const size_t phase[UC_SPACE]);

/* Makes one row of pairs from a row of reals, channel by channel. False where it must not be used.
 */
bool uc_amx_row(const uc_amx *amx, const float *reals, size_t channel_step, size_t channels,
                size_t count, uc_pair *to, size_t part_step);

/* Fills a run that was made for pairs. */
void uc_amx_fill(const uc_amx *amx, const uc_conv_run *run, size_t part_step, size_t first_channel,
                 size_t channels);

/* What the plan calls it, and how many input channels it multiplies by: those that only fill pairs
 * and slices too, and three times where there are three products. */
const char *uc_amx_name(const uc_amx *amx);
double uc_amx_channels(const uc_amx *amx);

#endif
