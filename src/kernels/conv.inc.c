/* The direct convolution: some lanes of one phase, for a range of channels.
 * Included by kernels.inc.c; called by fill.c and spread.c as kernels->conv().
 *
 * Positions lie in lanes and a panel of channels in rows: a weight is broadcast and serves several
 * vectors. */

/* PANEL x 2 vectors of accumulators, 2 inputs and 1 weight: 15 of 16 registers for a panel of 6, 31
 * of 32 for one of 14; at least 8 accumulators hide the latency of a multiply-add. Small panels
 * take more vectors for the same reason: 3 channels 4, one channel 8. */
#define SUMS (2 * PANEL) /* accumulators at most: [channel][vector] */

/* Starts a sum with a product, or adds one to it. */
INLINE void NAME(multiply)(const bool first, vec weight, vec input, vec *sum) {
    if (first)
        *sum = weight * input;
    else
        ADD_PRODUCT(*sum, weight, input);
}

/* One input channel, or one tap of it: `rows` weights, each times `vectors` vectors. These, and
 * whether it starts the sums, are constants where this is expanded: adding to zeros would take
 * longer. */
INLINE void NAME(step)(const size_t rows, const size_t vectors, const bool first, const REAL *x,
                       const REAL *w, vec sum[SUMS]) {
    /* Of inputs and weights, the fewer stay in registers. */
    if (vectors <= rows) {
        vec input[SUMS];
        UNROLL for (size_t v = 0; v < vectors; v++) {
            input[v] = load_vector(x + v * LANES);
            PIN(input[v]);
        }
        UNROLL for (size_t c = 0; c < rows; c++) {
            if (vectors == 1 && !first) {
                ADD_NUMBER_PRODUCT(sum[c], w[c], input[0]);
                continue;
            }
            vec weight = splat(w[c]);
            PIN(weight);
            UNROLL for (size_t v = 0; v < vectors; v++)
                NAME(multiply)(first, weight, input[v], &sum[c * vectors + v]);
        }
    } else {
        vec weight[SUMS];
        UNROLL for (size_t c = 0; c < rows; c++) {
            weight[c] = splat(w[c]);
            PIN(weight[c]);
        }
        UNROLL for (size_t v = 0; v < vectors; v++) {
            vec input = load_vector(x + v * LANES);
            PIN(input);
            UNROLL for (size_t c = 0; c < rows; c++)
                NAME(multiply)(first, weight[c], input, &sum[c * vectors + v]);
        }
    }
}

/* All taps along the width of some input channels: one or two, a constant where this is expanded.
 * Four steps a turn: the end of a short loop is foreseen, that of a long one is not. */
INLINE void NAME(conv_channels)(const size_t rows, const size_t vectors, const size_t taps,
                                size_t channels, const REAL *x, size_t x_channel, size_t x_tap,
                                const REAL *w, vec sum[SUMS]) {
    const size_t turn = 4 / taps; /* channels */
    const REAL *from[2] = {x, x - x_tap};
    for (; channels % turn; channels--)
        UNROLL for (size_t t = 0; t < taps; t++, w += rows) {
            NAME(step)(rows, vectors, false, from[t], w, sum);
            from[t] += x_channel;
        }
    for (; channels; channels -= turn)
        UNROLL for (size_t ci = 0; ci < turn; ci++)
            UNROLL for (size_t t = 0; t < taps; t++, w += rows) {
            NAME(step)(rows, vectors, false, from[t], w, sum);
            from[t] += x_channel;
        }
}

/* The products of a short sum are listed where at least so many blocks have it. */
#define LIST_BLOCKS 4

/* Stores sums, or adds them to what is there. */
INLINE void NAME(put_sums)(const size_t rows, const size_t vectors, const bool more,
                           const vec sum[SUMS], REAL *y, size_t y_channel) {
    UNROLL for (size_t c = 0; c < rows; c++) UNROLL for (size_t v = 0; v < vectors; v++) {
        REAL *at = y + c * y_channel + v * LANES;
        store_vector(at, more ? load_vector(at) + sum[c * vectors + v] : sum[c * vectors + v]);
    }
}

/* `rows` channels x `vectors` vectors; these are constants where this is expanded. */
INLINE void NAME(conv_block)(const size_t rows, const size_t vectors, const uc_conv_run *run,
                             const REAL *x, const REAL *panel, const REAL *bias, REAL *y) {
    const size_t in_channels = run->in_channels, x_channel = run->x_channel, x_tap = run->x_tap,
                 taps = run->taps[2], y_channel = run->y_channel;
    bool more = false; /* there is a part in y */
    vec sum[SUMS];
    UNROLL for (size_t c = 0; c < rows; c++) UNROLL for (size_t v = 0; v < vectors; v++)
        sum[c * vectors + v] = splat(bias[c]);
    size_t room = UC_CHAIN_PRODUCTS; /* products that the present part may still have */
    for (size_t td = run->first[0]; td < run->end[0]; td++)
        for (size_t th = run->first[1]; th < run->end[1]; th++) {
            const REAL *from = x - td * run->x_depth - th * run->x_row;
            const REAL *w = panel + (td * run->taps[1] + th) * in_channels * taps * rows;
            for (size_t left = in_channels, some; left; left -= some) {
                if (!room) {
                    NAME(put_sums)(rows, vectors, more, sum, y, y_channel);
                    UNROLL for (size_t i = 0; i < rows * vectors; i++) sum[i] = (vec){0};
                    room = UC_CHAIN_PRODUCTS;
                    more = true;
                }
                some = left * taps <= room ? left : (room - 1) / taps + 1;
                room -= some * taps < room ? some * taps : room;
                if (taps == 1)
                    NAME(conv_channels)(rows, vectors, 1, some, from, x_channel, x_tap, w, sum);
                else if (taps == 2)
                    NAME(conv_channels)(rows, vectors, 2, some, from, x_channel, x_tap, w, sum);
                else
                    for (size_t ci = 0; ci < some; ci++)
                        for (size_t t = 0; t < taps; t++)
                            NAME(step)
                (rows, vectors, false, from + ci * x_channel - t * x_tap,
                 w + (ci * taps + t) * rows, sum);
                from += some * x_channel;
                w += some * taps * rows;
            }
        }
    NAME(put_sums)(rows, vectors, more, sum, y, y_channel);
}

/* Sums of few products, for so many blocks of lanes: each takes so little time that a call of its
 * own would take as long. */
INLINE void NAME(conv_blocks)(const size_t rows, const size_t vectors, const uc_products *list,
                              const REAL *x, const REAL *panel, const REAL *bias, REAL *y,
                              size_t y_channel, size_t blocks) {
    for (; blocks; blocks--, x += vectors * LANES, y += vectors * LANES) {
        vec sum[SUMS];
        UNROLL for (size_t c = 0; c < rows; c++) UNROLL for (size_t v = 0; v < vectors; v++)
            sum[c * vectors + v] = splat(bias[c]);
        for (size_t i = 0; i < list->count; i++)
            NAME(step)
        (rows, vectors, false, x - list->input[i], panel + list->weight[i] * rows, sum);
        NAME(put_sums)(rows, vectors, false, sum, y, y_channel);
    }
}

typedef void NAME(conv_block_function)(const uc_conv_run *run, const REAL *x, const REAL *panel,
                                       const REAL *bias, REAL *y);
typedef void NAME(conv_blocks_function)(const uc_products *list, const REAL *x, const REAL *panel,
                                        const REAL *bias, REAL *y, size_t y_channel, size_t blocks);

/* One function for each size of a panel, for several vectors or one, of many products or few. */
#define BLOCK(rows, vectors)                                                                       \
    static void NAME(conv_##rows##x##vectors)(const uc_conv_run *run, const REAL *x,               \
                                              const REAL *panel, const REAL *bias, REAL *y) {      \
        NAME(conv_block)(rows, vectors, run, x, panel, bias, y);                                   \
    }                                                                                              \
    static void NAME(conv_few_##rows##x##vectors)(const uc_products *list, const REAL *x,          \
                                                  const REAL *panel, const REAL *bias, REAL *y,    \
                                                  size_t y_channel, size_t blocks) {               \
        NAME(conv_blocks)(rows, vectors, list, x, panel, bias, y, y_channel, blocks);              \
    }
BLOCK(1, 1)
BLOCK(2, 1)
BLOCK(3, 1)
BLOCK(4, 1)
BLOCK(5, 1)
BLOCK(6, 1)
BLOCK(1, 3)
BLOCK(2, 3)
BLOCK(3, 3)
BLOCK(4, 3)
BLOCK(1, 4)
BLOCK(2, 4)
BLOCK(3, 4)
BLOCK(1, 8)
BLOCK(1, 2)
BLOCK(2, 2)
BLOCK(3, 2)
BLOCK(4, 2)
BLOCK(5, 2)
BLOCK(6, 2)
LARGE_SIZES(BLOCK, 1)
LARGE_SIZES(BLOCK, 2)
#undef BLOCK

/* By the vectors and the panel's size: [vectors - 1, or 4 for 8 of them][channels - 1]. */
#define SMALL_PANELS(name, vectors)                                                                \
    NAME(conv##name##1x##vectors), NAME(conv##name##2x##vectors), NAME(conv##name##3x##vectors)
#define LARGE_PANEL(rows, name, vectors) NAME(conv##name##rows##x##vectors),
#define PANELS(name, vectors)                                                                      \
    SMALL_PANELS(name, vectors), NAME(conv##name##4x##vectors), NAME(conv##name##5x##vectors),     \
        NAME(conv##name##6x##vectors), LARGE_SIZES(LARGE_PANEL, name, vectors)
#define BLOCKS(name)                                                                               \
    {                                                                                              \
        {PANELS(name, 1)}, {PANELS(name, 2)}, {SMALL_PANELS(name, 3), NAME(conv##name##4x3)},      \
            {SMALL_PANELS(name, 4)}, {                                                             \
            NAME(conv##name##1x8)                                                                  \
        }                                                                                          \
    }
static NAME(conv_block_function) *const NAME(conv_of)[5][PANEL] = BLOCKS(_);
static NAME(conv_blocks_function) *const NAME(conv_few_of)[5][PANEL] = BLOCKS(_few_);
#undef BLOCKS
#undef PANELS
#undef SMALL_PANELS
#undef LARGE_PANEL

/* A row of them for a panel of so many channels: whole blocks, then what is left. */
INLINE void NAME(conv_few_row)(size_t size, const uc_products *list, const REAL *x,
                               const REAL *weights, const REAL *bias, REAL *y, size_t y_channel,
                               size_t lanes) {
    const size_t most = size == 1 ? 8 : size <= 3 ? 4 : size == 4 ? 3 : 2;
    for (size_t left = (lanes - 1) / LANES + 1; left;) {
        const size_t vectors = left >= most ? most : left >= 4 ? 4 : left, blocks = left / vectors;
        NAME(conv_few_of)
        [vectors == 8 ? 4 : vectors - 1][size - 1](list, x, weights, bias, y, y_channel, blocks);
        x += blocks * vectors * LANES;
        y += blocks * vectors * LANES;
        left -= blocks * vectors;
    }
}

/* Panels outside: the inputs of few products are few as well, and can be read again. */
static void NAME(conv_few)(const uc_conv_run *run, size_t products) {
    uc_products list;
    uc_list_products(run, &list);
    const uc_panels cut = run->cut;
    const size_t begin = uc_panel_begin(cut, run->first_panel);
    const REAL *weights = (const REAL *)run->weights + begin * products;
    const REAL *bias = (const REAL *)run->bias + begin;
    REAL *channels = run->y;
    for (size_t p = run->first_panel; p < run->first_panel + run->panels; p++) {
        const size_t size = uc_panel_size(cut, p);
        for (size_t r = 0; r < run->rows; r++)
            NAME(conv_few_row)
        (size, &list, (const REAL *)run->x + r * run->x_row, weights, bias,
         channels + r * run->y_row, run->y_channel, run->lanes);
        weights += size * products;
        bias += size;
        channels += size * run->y_channel;
    }
}

/* Blocks of lanes outside, panels inside: a block's inputs stay in L1 while the weights stream
 * through it. */
static void NAME(conv)(const uc_conv_run *run) {
    const size_t products = run->taps[0] * run->taps[1] * run->taps[2] * run->in_channels;
    /* A list pays if some blocks share it. */
    if (products <= UC_FEW_PRODUCTS &&
        run->rows * run->panels * run->lanes >= LIST_BLOCKS * 2 * LANES) {
        NAME(conv_few)(run, products);
        return;
    }
    const uc_panels cut = run->cut;
    const size_t begin = uc_panel_begin(cut, run->first_panel);
    /* Panels of at most 4 channels want more vectors. Neighbours differ by one channel at most.
     * Three vectors of 4 share lines with the next three: those should still be in L1 then. */
    const size_t largest = cut.size + (cut.larger > 0), apart = run->x_channel * sizeof(REAL),
                 for_three = apart > UC_L1_PERIOD / 2 && uc_clash(apart, UC_L1_PERIOD) ? 3 : 4,
                 wide = cut.size <= 3          ? 4
                        : largest <= for_three ? 3
                                               : 2;
    const bool three = largest <= for_three, eight = run->out_channels == 1;
    for (size_t r = 0; r < run->rows; r++)
        for (size_t j = 0; j < run->lanes;) {
            const size_t left = (run->lanes - j - 1) / LANES + 1;
            const size_t vectors = eight && left >= 8    ? 8
                                   : left >= wide        ? wide
                                   : left == 3 && !three ? 2
                                                         : left;
            const REAL *x = (const REAL *)run->x + r * run->x_row + j;
            const REAL *weights = (const REAL *)run->weights + begin * products;
            const REAL *bias = (const REAL *)run->bias + begin;
            REAL *y = (REAL *)run->y + r * run->y_row + j;
            for (size_t p = run->first_panel; p < run->first_panel + run->panels; p++) {
                const size_t size = uc_panel_size(cut, p),
                             each = size <= 3 || vectors != 4 ? vectors : 2;
                NAME(conv_block_function) *const block =
                    NAME(conv_of)[each == 8 ? 4 : each - 1][size - 1];
                for (size_t v = 0; v < vectors; v += each)
                    block(run, x + v * LANES, weights, bias, y + v * LANES);
                weights += size * products;
                bias += size;
                y += size * run->y_channel;
            }
            j += vectors * LANES;
        }
}

/* One lane after the other, with the taps along the width that have an input. */
static void NAME(conv_exact)(const uc_conv_run *run) {
    const size_t in_channels = run->in_channels, taps = run->taps[2];
    const size_t products = run->taps[0] * run->taps[1] * taps * in_channels;
    const size_t base = uc_panel_begin(run->cut, run->first_panel);
    for (size_t p = run->first_panel; p < run->first_panel + run->panels; p++) {
        const size_t begin = uc_panel_begin(run->cut, p), size = uc_panel_size(run->cut, p);
        for (size_t c = begin; c < begin + size; c++)
            for (size_t i = 0; i < run->rows * run->lanes; i++) {
                const size_t r = i / run->lanes, j = i % run->lanes, source = run->source + j;
                const size_t first = source >= run->in_columns ? source - run->in_columns + 1 : 0,
                             end = taps < source + 1 ? taps : source + 1;
                REAL sum = ((const REAL *)run->bias)[c];
                for (size_t td = run->first[0]; td < run->end[0]; td++)
                    for (size_t th = run->first[1]; th < run->end[1]; th++)
                        for (size_t ci = 0; ci < in_channels; ci++)
                            for (size_t t = first; t < end; t++) {
                                const REAL *x = (const REAL *)run->x + ci * run->x_channel + j +
                                                r * run->x_row - td * run->x_depth -
                                                th * run->x_row - t * run->x_tap;
                                const REAL *w =
                                    (const REAL *)run->weights + begin * products +
                                    (((td * run->taps[1] + th) * in_channels + ci) * taps + t) *
                                        size +
                                    c - begin;
                                sum += *x * *w;
                            }
                ((REAL *)run->y)[(c - base) * run->y_channel + r * run->y_row + j] = sum;
            }
    }
}
