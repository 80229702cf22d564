/* The judge's cases: shapes and data that show each part of an operator's semantics.
 * Called by judge, and by what checks our own implementation. */
#include "cases.h"
#include "element.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Shapes ----------------------------------------------------------------------------- */

/* Sizes are those of the convolution's input: an operator that pools before it gets larger ones.
 * All give the pools behind it at least one window. */
typedef struct row {
    const char *name, *why;
    size_t batch, in_channels, out_channels, size[3], kernel[3], stride[3], padding[3],
        output_padding[3];
    family family;
    plant plant;
} row;

/* clang-format off */
#define ALL(n) {n, n, n}
static const row rows[] = {
    {"signed", "signed numbers on all sides of every clamp",
     2, 3, 5, {4, 5, 6}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_NORMAL, PLANT_NOTHING},
    {"one-channel", "one channel in, one out",
     2, 1, 1, {4, 5, 4}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_NORMAL, PLANT_NOTHING},
    {"channels-3", "3 channels, fewer than any vector",
     1, 2, 3, {4, 4, 5}, ALL(4), ALL(2), ALL(1), ALL(0), FAMILY_NORMAL, PLANT_NOTHING},
    {"channels-33", "33 channels, one more than whole vectors",
     1, 5, 33, {4, 4, 4}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_NORMAL, PLANT_NOTHING},
    {"channels-130", "130 channels out, 17 in",
     1, 17, 130, {4, 4, 4}, ALL(3), ALL(2), ALL(1), ALL(0), FAMILY_NORMAL, PLANT_NOTHING},
    {"odd-sizes", "every size, kernel and stride different",
     2, 3, 4, {5, 7, 3}, {3, 5, 4}, {2, 3, 1}, {1, 2, 0}, {1, 2, 0}, FAMILY_NORMAL, PLANT_NOTHING},
    {"long-rows", "rows that end between vectors",
     1, 2, 3, {3, 3, 41}, {4, 4, 3}, ALL(2), {0, 0, 1}, ALL(1), FAMILY_NORMAL, PLANT_NOTHING},
    {"short-rows", "rows shorter than any vector",
     1, 2, 3, {9, 5, 1}, {3, 3, 6}, ALL(2), {1, 1, 0}, {1, 0, 1}, FAMILY_NORMAL, PLANT_NOTHING},
    {"kernel-below-stride", "outputs that no tap reaches",
     2, 3, 4, {3, 4, 3}, ALL(2), ALL(3), ALL(0), ALL(2), FAMILY_NORMAL, PLANT_NOTHING},
    {"kernel-1", "one tap",
     2, 3, 4, {4, 5, 4}, ALL(1), ALL(2), ALL(0), ALL(0), FAMILY_NORMAL, PLANT_NOTHING},
    {"stride-1", "one phase",
     2, 3, 4, {6, 7, 8}, ALL(3), ALL(1), ALL(1), ALL(0), FAMILY_NORMAL, PLANT_NOTHING},
    {"stride-3", "three phases, a kernel of 5",
     1, 3, 4, {3, 4, 3}, ALL(5), ALL(3), ALL(2), ALL(2), FAMILY_NORMAL, PLANT_NOTHING},
    {"wide-padding", "more padding than usual",
     1, 3, 4, {6, 6, 7}, ALL(3), ALL(2), ALL(2), ALL(0), FAMILY_NORMAL, PLANT_NOTHING},
    {"no-padding", "nothing is cut off",
     2, 2, 3, {3, 3, 4}, ALL(4), ALL(2), ALL(0), ALL(0), FAMILY_NORMAL, PLANT_NOTHING},
    {"output-padding", "rows that only output_padding makes",
     2, 2, 3, {3, 3, 4}, {3, 4, 3}, {2, 2, 3}, ALL(0), {1, 1, 2}, FAMILY_NORMAL, PLANT_NOTHING},
    {"parity-classes", "the largest values in each phase in turn",
     2, 3, 16, {4, 5, 4}, ALL(2), ALL(2), ALL(0), ALL(0), FAMILY_NORMAL, PLANT_PARITY},
    {"all-negative", "every output of the convolution below 0",
     2, 3, 4, {7, 5, 8}, ALL(3), ALL(2), ALL(1), ALL(0), FAMILY_NEGATIVE, PLANT_BIAS_BELOW},
    {"items", "batch items of very different size",
     3, 3, 4, {4, 4, 5}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_NORMAL, PLANT_ITEM_SCALES},
    {"whole-numbers", "small whole numbers, with many ties",
     2, 3, 5, {4, 5, 4}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_INTEGER, PLANT_NOTHING},
    {"large", "inputs about 60: logits of 100 and more",
     2, 3, 5, {4, 5, 4}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_LARGE, PLANT_NOTHING},
    {"tiny", "inputs about 1e-6: eps outweighs every variance",
     2, 3, 5, {4, 5, 4}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_TINY, PLANT_NOTHING},
    {"constant", "the same number everywhere",
     1, 3, 5, {4, 4, 4}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_CONSTANT, PLANT_NOTHING},
    {"uniform", "numbers in [0, 1), as the public site has them",
     2, 4, 8, {4, 5, 4}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_SITE, PLANT_NOTHING},
    {"non-finite", "NaN and infinities here and there",
     2, 2, 3, {8, 7, 9}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_NON_FINITE, PLANT_NOTHING},
    {"one-infinity", "an infinity that must not leak to its neighbours",
     1, 2, 3, {8, 7, 9}, ALL(3), ALL(2), ALL(1), ALL(1), FAMILY_ONE_INFINITY, PLANT_NOTHING},
};
#undef ALL
/* clang-format on */

/* What only some operators have: the row that it starts from, and what changes. */
typedef struct extra {
    const char *slug, *name, *why, *from;
    family family;
    plant plant;
    size_t pool_kernel, remainder; /* 0: as it is */
    const char *scalar;
    double value, second; /* second: clamp_max, where the scalar is clamp_min */
} extra;

#define AVGPOOL "conv-transpose3d-avgpool-clamp-softmax-multiply"
#define MAX_MAX "conv-transpose3d-max-max-sum"
#define SUM_LAYERNORM "conv-transpose3d-sum-layernorm-avgpool-gelu"
#define SOFTMAX_2D "conv-transpose2d-softmax-biasadd-scaling-sigmoid"
#define LAYERNORM "conv-transpose3d-layernorm-gelu-scaling"

/* clang-format off */
static const extra extras[] = {
    {AVGPOOL, "dropped-tail", "huge values in the remainder of the pool",
     "signed", FAMILY_NORMAL, PLANT_TAIL, 2, 1, NULL, 0, 0},
    {AVGPOOL, "pool-3", "windows of 3, with a remainder",
     "signed", FAMILY_NORMAL, PLANT_TAIL, 3, 2, NULL, 0, 0},
    {AVGPOOL, "pool-1", "a pool that does nothing",
     "signed", FAMILY_NORMAL, PLANT_NOTHING, 1, 0, NULL, 0, 0},
    {AVGPOOL, "clamp-crossed", "clamp_min above clamp_max: all clamp_max",
     "signed", FAMILY_NORMAL, PLANT_NOTHING, 0, 0, "clamp_min", 1, 0.25},
    {AVGPOOL, "clamp-wide", "no clamp to speak of, logits of 100",
     "signed", FAMILY_LARGE, PLANT_NOTHING, 1, 0, "clamp_min", -1000, 1000},
    {AVGPOOL, "clamp-0-1", "the default clamp, signed numbers",
     "odd-sizes", FAMILY_NORMAL, PLANT_SCALE_SIGNS, 0, 0, "clamp_min", 0, 1},
    {MAX_MAX, "dropped-tail", "huge values in the remainder of the pools",
     "kernel-1", FAMILY_NORMAL, PLANT_TAIL, 0, 0, NULL, 0, 0},
    {MAX_MAX, "bias-signs", "biases negative, zero and large",
     "signed", FAMILY_NORMAL, PLANT_SCALE_SIGNS, 0, 0, NULL, 0, 0},
    {SUM_LAYERNORM, "dropped-tail", "huge values in the remainder of the pool",
     "kernel-1", FAMILY_NORMAL, PLANT_TAIL, 0, 0, NULL, 0, 0},
    {SUM_LAYERNORM, "gelu-tails", "far out in the tails of GELU",
     "channels-130", FAMILY_NORMAL, PLANT_ONE_CHANNEL, 0, 0, NULL, 0, 0},
    {SUM_LAYERNORM, "same-channels", "channels nearly the same",
     "signed", FAMILY_NORMAL, PLANT_SAME_CHANNELS, 0, 0, NULL, 0, 0},
    {SUM_LAYERNORM, "sum-weight", "a sum_weight that the layer norm takes off again",
     "signed", FAMILY_NORMAL, PLANT_NOTHING, 0, 0, "sum_weight", -20, 0},
    {SOFTMAX_2D, "logits-100", "logits of ±100 and more",
     "channels-33", FAMILY_LARGE, PLANT_SCALE_SIGNS, 0, 0, NULL, 0, 0},
    {SOFTMAX_2D, "bias-signs", "biases negative, zero and large",
     "signed", FAMILY_NORMAL, PLANT_SCALE_SIGNS, 0, 0, NULL, 0, 0},
    {SOFTMAX_2D, "scaling-negative", "a negative scaling_factor",
     "signed", FAMILY_NORMAL, PLANT_NOTHING, 0, 0, "scaling_factor", -3, 0},
    {SOFTMAX_2D, "scaling-large", "both ends of the sigmoid",
     "odd-sizes", FAMILY_NORMAL, PLANT_NOTHING, 0, 0, "scaling_factor", 40, 0},
    {LAYERNORM, "gelu-tails", "far out in the tails of GELU",
     "channels-130", FAMILY_NORMAL, PLANT_ONE_CHANNEL, 0, 0, NULL, 0, 0},
    {LAYERNORM, "same-channels", "channels nearly the same",
     "signed", FAMILY_NORMAL, PLANT_SAME_CHANNELS, 0, 0, NULL, 0, 0},
    {LAYERNORM, "scaling-negative", "a negative scaling_factor",
     "signed", FAMILY_NORMAL, PLANT_NOTHING, 0, 0, "scaling_factor", -0.5, 0},
};
/* clang-format on */

static uc_operator_params params_of(const char *slug, const row *r, size_t pool, size_t remainder) {
    const bool pools_first = strcmp(slug, AVGPOOL) == 0;
    uc_operator_params p = {.batch_size = r->batch,
                            .in_channels = r->in_channels,
                            .out_channels = r->out_channels,
                            .pool_kernel = pool,
                            .clamp_min = -0.2,
                            .clamp_max = 0.25,
                            /* Beside tiny numbers a large one would be all that f32 keeps. */
                            .sum_weight = r->family == FAMILY_TINY ? 7.5e-7 : 0.75,
                            .scaling_factor = 1.25};
    size_t *const size[3] = {&p.depth, &p.height, &p.width};
    size_t *const kernel[3] = {&p.kernel_d, &p.kernel_h, &p.kernel_w};
    size_t *const stride[3] = {&p.stride_d, &p.stride_h, &p.stride_w};
    size_t *const padding[3] = {&p.padding_d, &p.padding_h, &p.padding_w};
    size_t *const more[3] = {&p.output_padding_d, &p.output_padding_h, &p.output_padding_w};
    for (size_t i = 0; i < 3; i++) {
        *size[i] = r->size[i] * (pools_first ? pool : 1) + (pools_first ? remainder : 0);
        *kernel[i] = r->kernel[i];
        *stride[i] = r->stride[i];
        *padding[i] = r->padding[i];
        *more[i] = r->output_padding[i];
    }
    return p;
}

static void name_case(test_case *c, const char *name) {
    snprintf(c->name, sizeof c->name, "%s", name);
}

static test_case case_of_extra(const extra *e) {
    const row *from = rows;
    while (strcmp(from->name, e->from) != 0)
        from++;
    const size_t pool = e->pool_kernel ? e->pool_kernel : 2;
    test_case c = {.why = e->why,
                   .params = params_of(e->slug, from, pool, e->remainder),
                   .family = e->family,
                   .plant = e->plant};
    name_case(&c, e->name);
    if (e->scalar && strcmp(e->scalar, "clamp_min") == 0) {
        c.params.clamp_min = e->value;
        c.params.clamp_max = e->second;
    } else if (e->scalar && strcmp(e->scalar, "sum_weight") == 0) {
        c.params.sum_weight = e->value;
    } else if (e->scalar) {
        c.params.scaling_factor = e->value;
    }
    return c;
}

static test_case case_of_default(const char *slug, size_t batch, const char *name, const char *why,
                                 family f) {
    test_case c = {.why = why, .family = f, .is_default_shape = true};
    name_case(&c, name);
    uc_operator_defaults(slug, &c.params);
    c.params.batch_size = batch;
    return c;
}

size_t cases_list(const char *slug, size_t default_batch, test_case cases[CASES_MOST]) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* Where the input is pooled, odd sizes leave a remainder. */
        cases[count] = (test_case){.why = rows[i].why,
                                   .params = params_of(slug, &rows[i], 2, i % 2),
                                   .family = rows[i].family,
                                   .plant = rows[i].plant};
        name_case(&cases[count++], rows[i].name);
    }
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
        if (strcmp(extras[i].slug, slug) == 0)
            cases[count++] = case_of_extra(&extras[i]);
    cases[count++] = case_of_default(slug, default_batch, "default-shape",
                                     "the shape that people benchmark", FAMILY_NORMAL);
    return count;
}

test_case cases_site(const char *slug, size_t batch) {
    return case_of_default(slug, batch, "site", "uniform numbers at the default shape",
                           FAMILY_SITE);
}

/* ---- Data ------------------------------------------------------------------------------- */

static double get(const data *d, size_t tensor, size_t i) {
    return element_get(d->dtype, d->tensor[tensor], i);
}

static void put(data *d, size_t tensor, size_t i, double value) {
    element_set(d->dtype, d->tensor[tensor], i, value);
}

/* With kernel = stride every phase has a tap of its own. */
static void plant_parity(data *d) {
    const size_t channels = d->shape[1].dim[1], taps = d->elems[1] / channels / d->shape[1].dim[0];
    for (size_t i = 0; i < d->elems[0]; i++)
        put(d, 0, i, fabs(get(d, 0, i)) + 0.1);
    for (size_t i = 0; i < d->elems[1]; i++)
        if (i % taps == i / taps % channels % taps)
            put(d, 1, i, 2 + fabs(get(d, 1, i)));
}

static void plant_bias_below(data *d) {
    for (size_t t = 2; t < d->count; t++)
        if (strcmp(d->name[t], "conv_bias") == 0)
            for (size_t i = 0; i < d->elems[t]; i++)
                put(d, t, i, -1 - get(d, t, i));
}

/* Input elements at the end of each row, image and volume: as many as the pool drops. */
static void plant_tail(data *d, const uc_operator_params *p, bool pools_first) {
    const size_t dims = d->shape[0].ndim - 2;
    for (size_t i = 0; i < d->elems[0]; i++) {
        bool dropped = false;
        size_t rest = i;
        for (size_t k = dims; k-- > 0;) {
            const size_t size = d->shape[0].dim[2 + k], at = rest % size;
            const size_t kept = pools_first ? size / p->pool_kernel * p->pool_kernel : size - 1;
            dropped = dropped || at >= kept;
            rest /= size;
        }
        if (dropped)
            put(d, 0, i, 1000 * (1 + fabs(get(d, 0, i))));
    }
}

static void plant_channels(data *d, bool same) {
    const size_t channels = d->shape[1].dim[1], taps = d->elems[1] / channels / d->shape[1].dim[0];
    for (size_t i = 0; i < d->elems[1]; i++) {
        const size_t channel = i / taps % channels, first = i - channel * taps;
        if (same && channel)
            put(d, 1, i, get(d, 1, first) * (1 + 1e-3 * (double)(channel * channel)));
        else if (!same && channel == channels / 2)
            put(d, 1, i, 100 * get(d, 1, i));
    }
}

static void plant_item_scales(data *d) {
    const size_t items = d->shape[0].dim[0];
    static const double scales[] = {1, 1e-3, 40};
    for (size_t i = 0; i < d->elems[0]; i++)
        put(d, 0, i, scales[i / (d->elems[0] / items) % 3] * get(d, 0, i));
}

static void plant_scale_signs(data *d) {
    static const double scales[] = {-1, 0, 8, 1, -0.125};
    for (size_t t = 2; t < d->count; t++)
        for (size_t i = 0; i < d->elems[t]; i++)
            put(d, t, i, scales[(i + t) % 5] * (0.5 + fabs(get(d, t, i))));
}

void cases_fill(const signature *s, const test_case *c, uint64_t seed, size_t round, data *d) {
    rng mixed = {seed};
    for (const char *letter = c->name; *letter; letter++)
        mixed.state = rng_next(&mixed) ^ (unsigned char)*letter;
    mixed.state ^= round * 0xD1B54A32D192ED03u;
    data_fill(d, rng_next(&mixed), c->family);
    switch (c->plant) {
    case PLANT_NOTHING:
        break;
    case PLANT_PARITY:
        plant_parity(d);
        break;
    case PLANT_BIAS_BELOW:
        plant_bias_below(d);
        break;
    case PLANT_TAIL:
        plant_tail(d, &c->params, strcmp(s->slug, AVGPOOL) == 0);
        break;
    case PLANT_ONE_CHANNEL:
    case PLANT_SAME_CHANNELS:
        plant_channels(d, c->plant == PLANT_SAME_CHANNELS);
        break;
    case PLANT_ITEM_SCALES:
        plant_item_scales(d);
        break;
    case PLANT_SCALE_SIGNS:
        plant_scale_signs(d);
        break;
    }
}
