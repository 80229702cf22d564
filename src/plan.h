/* How to compute a chain: kernels, packed operands, passes and their rows.
 * Made by plan.c and pass.c, run by tile.c. */
#ifndef UC_PLAN_H
#define UC_PLAN_H

#include "amx.h"
#include "cast.h"
#include "direct.h"
#include "kernels/kernels.h"
#include "phase.h"
#include "spread.h"
#include "winograd.h"

/* What rows may take that are kept until everything has been measured. */
#define UC_KEPT_BYTES ((size_t)7 << 20)

/* One walk over the space that the stages [0, stages) make. It goes band by band: the convolution's
 * input for a band of depths and heights is packed into the slab, then the band's rows are made in
 * runs. The last pass stores them, every other one measures them for stage `stages`, which needs
 * everything. */
typedef struct uc_pass {
    size_t stages;
    uc_extent extent;                       /* of the space it walks over */
    size_t band[UC_SPACE], bands[UC_SPACE]; /* sizes of a band, and how many there are */
    size_t segment;       /* columns of a run; the last one of a band may have more */
    size_t inputs, piece; /* columns of the slab at most; and those packed at a time, alike */
    size_t step, rows;    /* rows of a run: how far apart, how many at most */
    size_t runs;          /* of one batch item */
    size_t conv_rows;     /* rows of one run of the convolution, at most */
    bool pours;           /* rows go into the output as they are made, see uc_pour */
    size_t parts;         /* of the channels, that a run is made in by any thread */
    size_t woven;         /* 0, or a run has rows of so many phases along the height, in turn */

    /* For what stages [0, s) make: columns of a row at most, rows of a call at most, and where it
     * lies in a thread's buffer; merged: what a pool has added up before it folds along the width.
     */
    size_t columns[UC_MAX_STAGES + 1];
    size_t made[UC_MAX_STAGES + 1];  /* uc_plan_made_by() */
    size_t scale[UC_MAX_STAGES + 1]; /* columns by those of the run, or of the piece packed */
    size_t rows_made[UC_MAX_STAGES + 1];
    uc_rows shape[UC_MAX_STAGES + 1];  /* of that many rows, where a stage makes them */
    uc_rows merged[UC_MAX_STAGES + 1]; /* and of what a pool merges for them */
    size_t rows_at[UC_MAX_STAGES + 1], merged_at[UC_MAX_STAGES + 1];
    size_t spread_at; /* of the products that are spread */
    size_t cast_at;   /* of outputs with their channels in lanes */
    size_t lines_at;  /* of the lines that are poured */
    size_t turned_at; /* of a row of elements that are not neighbours in a tensor */
    size_t buffer_elems;

    /* The slab: the convolution's input with zeros around it, in the order [depth][row][channel]
     * or, where a run has several rows, [depth][channel][row]. */
    size_t lead, pitch; /* zeros before a row's first column, reals from one row to the next */
    size_t row_step, channel_step, depth_step;
    size_t slab_elems;

    /* Where rows run on: the first lane of one is input `first`. Without zeros between rows the
     * slab has copies, in the next of which it is the next input: so every tap has one to read. */
    ptrdiff_t first;
    size_t copies, copy_step; /* 0 copies: rows don't run on */

    /* AMX: the same with pairs for channels, once for each part. Steps of channels are the same. */
    size_t pair_row_step, pair_depth_step, pair_elems;

    /* Whether a measuring pass keeps its rows and goes on from them, panels of channels by panels,
     * instead of leaving it to the next pass to compute them again. */
    bool keeps;
    const char *why_not_kept; /* if it could have */
    /* Or it lays all rows of an item down in the output as they are when measured, and multiplies
     * them at the end. Where elements have 16 bits, half of each real is in the workspace. */
    bool lays;
    size_t block_panels; /* of the convolution's output at a time: all where nothing is kept */
    size_t kept_elems;   /* of one run of a block */
    /* Panels that a run is made, finished and stored in, one after the other, where no op needs all
     * channels at once: so that they are still in L1 when they are stored. 0: all of its block. */
    size_t run_panels;
    /* Of the clamp before the op it measures for, which is then done as they are measured; or NULL.
     */
    const double *bounds;

    /* Winograd: blocks instead of runs. A block makes a set of rows for each output (d, h) of a
     * tile, or for each window of the pool behind it. */
    uc_blocks blocks[UC_BLOCK_PARTS];
    size_t block[2];   /* depths and heights of the pass's space that one of the first has */
    size_t sets;       /* row sets of a block */
    double share;      /* uc_winograd_share() */
    size_t scratch_at; /* in a thread's buffer */
} uc_pass;

struct uc_plan {
    uc_chain chain; /* turned, where the width is not along the lanes */
    size_t turned;  /* the dimension that is: inside, it and the width are swapped */
    size_t in_step[UC_SPACE], out_step[UC_SPACE]; /* elements from one depth, ... to the next */
    size_t element_bytes;
    const uc_kernels *kernels;
    uc_panels panels; /* of the convolution's output channels, */
    size_t panel;     /* of so many at most */
    size_t threads;

    bool winograd;             /* the convolution is computed by blocks */
    const char *why_direct;    /* if not */
    double direct_by_winograd; /* expected time of the one by the other */
    size_t outputs[UC_SPACE];
    uc_winograd transforms[2]; /* with these outputs, and plain */
    uc_toom *tooms;            /* of both */
    size_t *reads;             /* of the first */
    double limit, least;       /* inputs beyond or below go to the plain one */
    uc_amx amx;

    void *weights, *bias;             /* of the convolution */
    void *per_channel[UC_MAX_STAGES]; /* operand of a stage as reals, or NULL */
    void *curve[UC_MAX_STAGES];       /* of a stage: what it takes along, see curve.h, or NULL */
    size_t curve_degree[UC_MAX_STAGES];
    void *operand_memory; /* where all of them live */
    size_t weight_bytes;  /* of the packed weights */
    size_t centred_stage; /* the layer norm that the weights are centred for, or 0 */
    bool exact;           /* the weights are not all finite */
    bool spreads;         /* taps take the place of channels, see spread.h */
    uc_spread spread;
    bool casts;               /* channels lie in lanes, see cast.h */
    void *spread_bias;        /* of its products: none */
    bool borrows;             /* either: the input is read where it is, there is no slab */
    bool idle[UC_MAX_STAGES]; /* stages with nothing to do */
    uc_stream streams;        /* by the size of the output */

    size_t pass_count;
    uc_pass *pass;

    /* The workspace: a buffer per thread, the slab, kept rows or the rest of laid ones, a summary
     * for every channel of every EVERYTHING stage and item, and one for every channel of every run
     * of a measuring pass. */
    size_t buffer_bytes;
    size_t slab_offset, cells_offset, kept_offset, rest_offset;
    size_t pairs_offset, spoilt_offset; /* AMX: a second slab, and which of its rows are no use */
    size_t summary_offset[UC_MAX_STAGES];
    size_t measures_offset;
    size_t workspace_bytes;
};

/* Whether the elements of a row are not neighbours in a tensor; and whether rows of the input can
 * be read where they are. */
static inline bool uc_plan_is_turned(const uc_plan *plan) {
    return plan->turned < UC_SPACE - 1;
}

static inline bool uc_plan_can_borrow(const uc_plan *plan) {
    return !uc_plan_is_turned(plan) && plan->element_bytes == plan->kernels->real_bytes;
}

/* Plans the pass that ends behind the stages [0, stages). Everything depends on the chain and the
 * kernels alone, so results are the same for every number of threads. */
uc_status uc_plan_pass(const uc_plan *plan, size_t stages, uc_pass *pass);

/* The shape of `count` rows that the stages [0, stages) make; no memory yet. */
uc_rows uc_plan_rows(const uc_plan *plan, const uc_pass *pass, size_t stages, size_t count);

/* Phases of a row that is poured. */
static inline size_t uc_pass_pour_phases(const uc_pass *pass, const uc_axis *width) {
    return width->stride < pass->extent.size[2] ? width->stride : pass->extent.size[2];
}

/* What a pool has added up before it folds: its input's columns and phases in `count` rows. */
uc_rows uc_plan_merged(const uc_plan *plan, const uc_pass *pass, size_t stages, size_t count);

/* The stages [0, made) whose last one made the rows that stages up to `stages` only change in
 * place: none, the convolution or a pool. */
size_t uc_plan_made_by(const uc_chain *chain, size_t stages);

/* The windows of all pools between the convolution and the stages [0, stages)' end, along a
 * dimension. */
size_t uc_plan_window(const uc_chain *chain, size_t stages, size_t dimension);

/* How far apart the rows are that the stages [0, stages) make best in one run: those of a
 * convolution share a phase and its weights, unless it is spread: then all phases share inputs. */
size_t uc_plan_step(const uc_plan *plan, size_t stages);

/* Whether all rows of an item that the convolution makes can be kept at once; and whether they can
 * be laid down for the op of a stage that needs everything. */
bool uc_plan_keeps_all(const uc_plan *plan);
bool uc_plan_can_lay(const uc_plan *plan, size_t stage);

/* The inputs of the convolution that a span of the pass needs along depth or height. Where a run
 * has several rows, heights go on past the input, as rows of zeros. */
typedef struct uc_reach {
    ptrdiff_t begin;
    size_t count;
} uc_reach;

uc_reach uc_plan_reach(const uc_plan *plan, const uc_pass *pass, size_t dimension, uc_span outputs);

#endif
