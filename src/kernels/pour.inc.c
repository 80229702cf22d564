/* Rows of short sums, from the convolution straight into the output.
 * Included by kernels.inc.c behind conv.inc.c and store.inc.c; called by fill.c as kernels->pour().
 *
 * Such sums take about as long as the way of their results to memory. So a few vectors of a panel
 * are made, zipped and streamed before the next: they never leave L1, and the processor computes
 * while it writes. */

#define POURED_COLUMNS 256 /* at a time */

/* One channel of a panel: lines that are being put together (whole vectors, the last of which may
 * reach further), where they go, and how much of the first is not ours. */
typedef struct NAME(spout) {
    _Alignas(LINE_BYTES) char staged[2 * LINE_BYTES + POURED_COLUMNS * sizeof(REAL) +
                                     UC_POUR_PHASES * VECTOR_BYTES];
    char *to;
    size_t filled, skipped;
} NAME(spout);

/* What is made at once: some columns of a row, or of all columns some rows, from a lane of every
 * phase on, in some channels of a panel. */
typedef struct NAME(gush) {
    const uc_pour_line *lines; /* of the first row */
    size_t rows, lane, columns;
    size_t panel, size;   /* the first channel of the panel, and how many it has */
    size_t channel;       /* the first of these, in the panel */
    const REAL *bias;     /* of these */
    NAME(spout) * spouts; /* and theirs */
} NAME(gush);

/* Where a row has its inputs, weights and outputs, of every phase or channel. Kept apart: what is
 * stored might change it where it was, for all that a compiler knows. */
typedef struct NAME(flow) {
    const REAL *x[UC_POUR_PHASES], *w[UC_POUR_PHASES];
    REAL *to[6];
} NAME(flow);

/* `vectors` vectors of all phases of `rows` channels, from lane j on; all three are constants where
 * this is expanded. */
INLINE void NAME(pour_block)(const size_t phases, const size_t rows, const size_t vectors,
                             const uc_pour_line *lines, const NAME(flow) * flow, size_t size,
                             const REAL *bias, size_t j) {
    vec sum[UC_POUR_PHASES][SUMS];
    UNROLL for (size_t e = 0; e < phases; e++) {
        const uc_products *list = &lines[e].products;
        const REAL *x = flow->x[e] + j, *w = flow->w[e];
        UNROLL for (size_t c = 0; c < rows; c++) UNROLL for (size_t v = 0; v < vectors; v++)
            sum[e][c * vectors + v] = splat(bias[c]);
        for (size_t i = 0; i < list->count; i++)
            NAME(step)
        (rows, vectors, false, x - list->input[i], w + list->weight[i] * size, sum[e]);
    }
    UNROLL for (size_t c = 0; c < rows; c++) {
        const NAME(place) place = {flow->to[c], FORM_REAL, false, NULL};
        UNROLL for (size_t v = 0; v < vectors; v++) {
            vec zipped[12];
            UNROLL for (size_t e = 0; e < phases; e++) zipped[e] = sum[e][c * vectors + v];
            NAME(put_zipped)(phases, place, (j + v * LANES) * phases, zipped);
        }
    }
}

INLINE void NAME(pour_columns)(const size_t phases, const size_t rows, const size_t vectors,
                               const NAME(gush) * gush) {
    const size_t columns = gush->columns, size = gush->size;
    const REAL *bias = gush->bias;
    const uc_pour_line *lines = gush->lines;
    NAME(flow) flow;
    UNROLL for (size_t c = 0; c < rows; c++) flow.to[c] =
        (REAL *)(void *)(gush->spouts[c].staged + gush->spouts[c].filled);
    for (size_t r = gush->rows; r; r--, lines += phases) {
        UNROLL for (size_t e = 0; e < phases; e++) {
            flow.x[e] = (const REAL *)lines[e].x + gush->lane;
            flow.w[e] =
                (const REAL *)lines[e].weights + gush->panel * lines[e].per_channel + gush->channel;
        }
        size_t j = 0;
        for (; vectors > 1 && (j + LANES) * phases < columns; j += vectors * LANES)
            NAME(pour_block)(phases, rows, vectors, lines, &flow, size, bias, j);
        for (; j * phases < columns; j += LANES)
            NAME(pour_block)(phases, rows, 1, lines, &flow, size, bias, j);
        UNROLL for (size_t c = 0; c < rows; c++) flow.to[c] += columns;
    }
    for (size_t c = 0; c < rows; c++) {
        NAME(spout) *spout = &gush->spouts[c];
        spout->filled += gush->rows * columns * sizeof(REAL);
        spout->to = NAME(stream_lines)(spout->to, spout->staged, &spout->filled, &spout->skipped);
    }
}

typedef void NAME(pour_function)(const NAME(gush) * gush);

/* One function for so many phases, channels and vectors: their accumulators fill the registers. */
#define POUR(phases, rows, vectors)                                                                \
    static void NAME(pour_##phases##x##rows)(const NAME(gush) * gush) {                            \
        NAME(pour_columns)(phases, rows, vectors, gush);                                           \
    }
POUR(1, 1, 2)
POUR(1, 2, 2)
POUR(1, 3, 2)
POUR(1, 4, 2)
POUR(1, 5, 2)
POUR(1, 6, 2)
POUR(2, 1, 2)
POUR(2, 2, 2)
POUR(2, 3, 2)
POUR(3, 1, 2)
POUR(3, 2, 2)
POUR(4, 1, 1)
POUR(4, 2, 1)
POUR(4, 3, 1)
#undef POUR
static const struct {
    size_t most; /* channels */
    NAME(pour_function) * of[6];
} NAME(pour_of)[UC_POUR_PHASES] = {{6,
                                    {NAME(pour_1x1), NAME(pour_1x2), NAME(pour_1x3), NAME(pour_1x4),
                                     NAME(pour_1x5), NAME(pour_1x6)}},
                                   {3, {NAME(pour_2x1), NAME(pour_2x2), NAME(pour_2x3)}},
                                   {2, {NAME(pour_3x1), NAME(pour_3x2)}},
                                   {3, {NAME(pour_4x1), NAME(pour_4x2), NAME(pour_4x3)}}};

/* All rows, for a panel of channels. */
static void NAME(pour_panel)(const uc_pour *pour, size_t begin, size_t size) {
    /* Rows that are short go several at a time, long ones piece by piece. */
    const size_t phases = pour->phases, fitting = POURED_COLUMNS / pour->columns,
                 fit = fitting ? fitting : 1,
                 most = fitting ? pour->columns
                                : POURED_COLUMNS / phases / (2 * LANES) * (2 * LANES) * phases;
    const uc_panels groups = uc_panels_of(size, NAME(pour_of)[phases - 1].most);
    NAME(spout) spouts[PANEL];
    for (size_t c = 0; c < size; c++) {
        char *to = (char *)((REAL *)pour->elements + (begin + c) * pour->channel_step);
        const size_t skipped = (uintptr_t)to % LINE_BYTES;
        spouts[c].to = to - skipped;
        spouts[c].filled = spouts[c].skipped = skipped;
    }
    for (size_t r = 0, some; r < pour->rows; r += some) {
        some = fit < pour->rows - r ? fit : pour->rows - r;
        for (size_t column = 0; column < pour->columns; column += most) {
            const size_t left = pour->columns - column;
            for (size_t g = 0; g < groups.count; g++) {
                const size_t c = uc_panel_begin(groups, g);
                const NAME(gush) gush = {&pour->lines[r * phases],
                                         some,
                                         column / phases,
                                         left < most ? left : most,
                                         begin,
                                         size,
                                         c,
                                         (const REAL *)pour->bias + begin + c,
                                         &spouts[c]};
                NAME(pour_of)[phases - 1].of[uc_panel_size(groups, g) - 1](&gush);
            }
        }
    }
    for (size_t c = 0; c < size; c++) {
        const size_t skipped = spouts[c].skipped;
        memcpy(spouts[c].to + skipped, spouts[c].staged + skipped, spouts[c].filled - skipped);
    }
}

static void NAME(pour)(const uc_pour *pour) {
    const size_t bytes = pour->rows * pour->columns * sizeof(REAL);
    const size_t end = pour->first_panel + pour->panels;
    for (size_t p = pour->first_panel; p < end; p++) {
        const size_t begin = uc_panel_begin(pour->cut, p), size = uc_panel_size(pour->cut, p);
        /* The lines at both ends go through the caches, and others would wait for them. */
        for (size_t c = 0; p + 1 < end && c < uc_panel_size(pour->cut, p + 1); c++) {
            char *next = (char *)((REAL *)pour->elements + (begin + size + c) * pour->channel_step);
            __builtin_prefetch(next, 1);
            __builtin_prefetch(next + bytes, 1);
        }
        NAME(pour_panel)(pour, begin, size);
    }
}
