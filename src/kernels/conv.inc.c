/* The direct convolution: one row of one phase, for all channels, from a tile of the input.
 * Included by kernels.inc.c; called by tile.c as kernels->conv_row().
 *
 * Positions lie in lanes and a panel of channels in rows: weights are broadcast. The plain loop:
 *
 *     for each channel c, output j:
 *         y[c][j] = bias[c] + sum over taps (td, th, tw), ci of
 *                   w[c][td][th][ci][tw] * x[ci][d - td][h - th][source + j - tw]
 */

#define PANEL 4   /* 4 x 2 vectors: 8 accumulators + 2 inputs + 1 weight = 11 of 16 registers */
#define VECTORS 2 /* one load of a weight serves both */
#define LANES (16 / sizeof(REAL))
#define BLOCK (VECTORS * LANES)

/* Sums of at most about this many products are added up apart, so that the error of a long sum
 * grows with the square root of its parts, not of its terms. */
#define CHAIN_PRODUCTS 256

typedef REAL NAME(vector) __attribute__((vector_size(16)));

static inline NAME(vector) NAME(vector_load)(const REAL *from) {
    NAME(vector) loaded;
    memcpy(&loaded, from, sizeof loaded);
    return loaded;
}

/* The input row that taps (td, th) read, at the width's input 0. */
static inline const REAL *NAME(input_row)(const uc_conv_row *row, size_t td, size_t th) {
    const uc_tile *in = row->in;
    const size_t d = row->d.source - td - in->begin[0], h = row->h.source - th - in->begin[1];
    return (const REAL *)in->reals + (d * in->size[1] + h) * in->size[2] - in->begin[2];
}

/* BLOCK outputs from j on, where every tap along the width has an input. */
static void NAME(conv_block)(const uc_conv_row *row, const REAL *panel, const REAL *bias, size_t j,
                             REAL sums[PANEL][BLOCK]) {
    const size_t in_channels = row->in->channels, channel_step = uc_tile_positions(row->in),
                 taps = row->taps[2];
    NAME(vector) total[PANEL][VECTORS], chain[PANEL][VECTORS];
    for (size_t c = 0; c < PANEL; c++)
        for (size_t v = 0; v < VECTORS; v++) {
            total[c][v] = (NAME(vector)){0} + bias[c];
            chain[c][v] = (NAME(vector)){0};
        }

    size_t products = 0;
    for (size_t td = row->d.first; td < row->d.end; td++)
        for (size_t th = row->h.first; th < row->h.end; th++) {
            const REAL *x = NAME(input_row)(row, td, th) + row->source + j;
            const REAL *w = panel + (td * row->taps[1] + th) * in_channels * taps * PANEL;
            for (size_t ci = 0; ci < in_channels; ci++, x += channel_step) {
                for (size_t t = 0; t < taps; t++, w += PANEL) {
                    NAME(vector) input[VECTORS];
                    for (size_t v = 0; v < VECTORS; v++)
                        input[v] = NAME(vector_load)(x - t + v * LANES);
                    for (size_t c = 0; c < PANEL; c++)
                        for (size_t v = 0; v < VECTORS; v++)
                            chain[c][v] += input[v] * w[c];
                }
                products += taps;
                if (products >= CHAIN_PRODUCTS) {
                    products = 0;
                    for (size_t c = 0; c < PANEL; c++)
                        for (size_t v = 0; v < VECTORS; v++) {
                            total[c][v] += chain[c][v];
                            chain[c][v] = (NAME(vector)){0};
                        }
                }
            }
        }
    for (size_t c = 0; c < PANEL; c++)
        for (size_t v = 0; v < VECTORS; v++) {
            const NAME(vector) sum = total[c][v] + chain[c][v];
            memcpy(&sums[c][v * LANES], &sum, sizeof sum);
        }
}

/* The one output j, with the taps along the width that have an input. */
static void NAME(conv_point)(const uc_conv_row *row, const REAL *panel, const REAL *bias, size_t j,
                             REAL sums[PANEL]) {
    const size_t in_channels = row->in->channels, channel_step = uc_tile_positions(row->in),
                 taps = row->taps[2], source = row->source + j;
    const size_t first = source >= row->in_width ? source - row->in_width + 1 : 0,
                 end = taps < source + 1 ? taps : source + 1;
    REAL total[PANEL], chain[PANEL] = {0};
    memcpy(total, bias, sizeof total);

    size_t products = 0;
    for (size_t td = row->d.first; td < row->d.end; td++)
        for (size_t th = row->h.first; th < row->h.end; th++) {
            const REAL *x = NAME(input_row)(row, td, th) + source;
            const REAL *w = panel + (td * row->taps[1] + th) * in_channels * taps * PANEL;
            for (size_t ci = 0; ci < in_channels; ci++, x += channel_step, w += taps * PANEL) {
                for (size_t t = first; t < end; t++)
                    for (size_t c = 0; c < PANEL; c++)
                        chain[c] += *(x - t) * w[t * PANEL + c];
                products += taps;
                if (products >= CHAIN_PRODUCTS) {
                    products = 0;
                    for (size_t c = 0; c < PANEL; c++) {
                        total[c] += chain[c];
                        chain[c] = 0;
                    }
                }
            }
        }
    for (size_t c = 0; c < PANEL; c++)
        sums[c] = total[c] + chain[c];
}

static void NAME(conv_row)(const uc_conv_row *row) {
    /* Outputs in [inside, outside) have an input under every tap. */
    const size_t taps = row->taps[2];
    size_t inside = row->source + 1 >= taps ? 0 : taps - 1 - row->source;
    size_t outside = row->in_width > row->source ? row->in_width - row->source : 0;
    outside = outside < row->count ? outside : row->count;
    if (outside < inside + BLOCK)
        inside = outside = row->count; /* too few for a block: all one by one */

    const size_t panel_elems = row->taps[0] * row->taps[1] * row->in->channels * taps * PANEL;
    for (size_t co = 0; co < row->out_channels; co += PANEL) {
        const REAL *panel = (const REAL *)row->weights + co / PANEL * panel_elems;
        const REAL *bias = (const REAL *)row->bias + co;
        const size_t channels = row->out_channels - co < PANEL ? row->out_channels - co : PANEL;
        REAL *output = (REAL *)row->output + co * row->output_channel_step;
        REAL sums[PANEL][BLOCK];
        size_t j = 0;
        while (j < row->count) {
            size_t wide = 1;
            if (j >= inside && j < outside) {
                /* The last block may overlap the one before: the same sums are stored again. */
                if (j + BLOCK > outside)
                    j = outside - BLOCK;
                NAME(conv_block)(row, panel, bias, j, sums);
                wide = BLOCK;
            } else {
                REAL point[PANEL];
                NAME(conv_point)(row, panel, bias, j, point);
                for (size_t c = 0; c < PANEL; c++)
                    sums[c][0] = point[c];
            }
            for (size_t c = 0; c < channels; c++)
                for (size_t i = 0; i < wide; i++)
                    output[c * row->output_channel_step + (j + i) * row->output_step] = sums[c][i];
            j += wide;
        }
    }
}
