/* What a wrong output looks like: patterns in it, and operators that are almost the right one.
 * Called by judge_test.c for outputs that are wrong. */
#define _POSIX_C_SOURCE 200809L
#include "element.h"
#include "judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct look {
    const hint_facts *facts;
    uc_shape shape;
    size_t elems, positions;
    double *got;
    double *scale;      /* of each slice of what was expected */
    double least_wrong; /* relative; below it an element counts as right */
    double near;        /* a guess fits where all of the output is this near to it, relatively */
} look;

static bool is_near(const look *l, size_t i, double value, double got, double tolerance) {
    if (!isfinite(value) || !isfinite(got))
        return isnan(value) ? isnan(got) : value == got;
    return fabs(value - got) <= tolerance * (l->scale[i / l->positions] + 1e-30);
}

static bool is_right(const look *l, size_t i) {
    return is_near(l, i, l->facts->expected[i], l->got[i], l->least_wrong);
}

static bool fits(const look *l, const double *guess) {
    const double scale = compare_scale(guess, l->elems);
    bool differs = false;
    for (size_t first = 0; first < l->elems; first += l->positions) {
        /* A guess may be larger than what was expected: its own scale counts too. */
        const double near = l->near * fmax(compare_scale(guess + first, l->positions), scale / 100);
        for (size_t i = first; i < first + l->positions; i++) {
            if (!is_near(l, i, guess[i], l->got[i], l->near) &&
                !(fabs(guess[i] - l->got[i]) <= near))
                return false;
            differs = differs || !is_near(l, i, guess[i], l->facts->expected[i], l->near);
        }
    }
    return differs;
}

/* ---- Patterns --------------------------------------------------------------------------- */

static const char *uniform_pattern(const look *l) {
    size_t zeros = 0, nans = 0, same = 0, expected_nans = 0;
    for (size_t i = 0; i < l->elems; i++) {
        zeros += l->got[i] == 0;
        nans += isnan(l->got[i]);
        same += l->got[i] == l->got[0];
        expected_nans += isnan(l->facts->expected[i]);
    }
    if (zeros == l->elems)
        return "all zero";
    if (nans == l->elems && expected_nans < nans)
        return "all NaN: the output is full of NaN before the call, so it was not written, or it "
               "was added to without being written first";
    if (same == l->elems && l->elems > 1 && isfinite(l->got[0]))
        return "the same value everywhere";
    return NULL;
}

/* Whether all the elements at the far end of a dimension are wrong and all others right. */
static bool only_last_wrong(const look *l, size_t dim) {
    size_t inner = 1;
    for (size_t i = dim + 1; i < l->shape.ndim; i++)
        inner *= l->shape.dim[i];
    size_t wrong = 0;
    for (size_t i = 0; i < l->elems; i++) {
        const bool is_last = i / inner % l->shape.dim[dim] == l->shape.dim[dim] - 1;
        if (!is_right(l, i) && !is_last)
            return false;
        wrong += !is_right(l, i);
    }
    return wrong * 2 > l->elems / l->shape.dim[dim]; /* some may be right by chance */
}

static const char *border_pattern(const look *l) {
    static const char *const names[3] = {
        "only the last plane along the depth is wrong or untouched",
        "only the last row is wrong or untouched", "only the last column is wrong or untouched"};
    const size_t dims = l->shape.ndim - 2;
    for (size_t i = 0; i < dims; i++)
        if (l->shape.dim[2 + i] > 1 && only_last_wrong(l, 2 + i))
            return names[3 - dims + i];
    if (l->shape.dim[1] > 1 && only_last_wrong(l, 1))
        return "only the last channel is wrong or untouched";
    if (l->shape.dim[0] > 1 && only_last_wrong(l, 0))
        return "only the last batch item is wrong or untouched";
    return NULL;
}

/* The phase of an output position: its remainder by 2 along each dimension. */
static bool phase_pattern(const look *l, char *hint, size_t bytes) {
    const size_t dims = l->shape.ndim - 2;
    size_t wrong[8] = {0}, all[8] = {0}, wrong_classes = 0, right_classes = 0;
    for (size_t i = 0; i < l->elems; i++) {
        size_t class = 0, rest = i;
        for (size_t k = dims; k-- > 0; rest /= l->shape.dim[2 + k])
            class = class * 2 + rest % l->shape.dim[2 + k] % 2;
        all[class]++;
        wrong[class] += !is_right(l, i);
    }
    for (size_t class = 0; class < 8; class ++) {
        if (wrong[class] && (wrong[class] * 2 < all[class] || all[class] < 4))
            return false; /* wrong here and there, or too few to tell: not a phase */
        wrong_classes += wrong[class] > 0;
        right_classes += all[class] && !wrong[class];
    }
    if (!wrong_classes || !right_classes)
        return false;
    snprintf(hint, bytes,
             "%zu of %zu phases (positions by odd and even) are wrong, the others right: a phase "
             "of the transposed convolution is missing",
             wrong_classes, wrong_classes + right_classes);
    return true;
}

/* The last two dimensions swapped. */
static bool is_transposed(const look *l) {
    const size_t h = l->shape.dim[l->shape.ndim - 2], w = l->shape.dim[l->shape.ndim - 1];
    double *guess = malloc(l->elems * sizeof *guess);
    for (size_t i = 0; guess && i < l->elems; i++) /* as if (h, w) were stored as (w, h) */
        guess[i] = l->facts->expected[i / (h * w) * (h * w) + i % h * w + i % (h * w) / h];
    const bool found = guess && fits(l, guess);
    free(guess);
    return found;
}

/* ---- Operators that are almost the right one -------------------------------------------- */

/* Replaces the first `from` in the chain's text; NULL where it does not occur. */
static char *edited(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    char *copy = at ? malloc(strlen(text) + strlen(to) + 1) : NULL;
    if (copy)
        sprintf(copy, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return copy;
}

/* What the oracle gives for another chain on the same data (operands by name); NULL if nothing. */
static double *guess_of(const look *l, const char *text, const data *d) {
    uc_chain *chain = NULL;
    double *guess = NULL;
    if (uc_chain_parse(text, &chain) != UC_OK)
        return NULL;
    const void *operands[DATA_MOST_TENSORS] = {0};
    bool found = uc_chain_operand_count(chain) < DATA_MOST_TENSORS;
    for (size_t i = 0; found && i < uc_chain_operand_count(chain); i++) {
        for (size_t k = 1; k < d->count; k++)
            if (strcmp(uc_chain_operand(chain, i).name, d->name[k]) == 0)
                operands[i] = d->tensor[k];
        found = operands[i];
    }
    const uc_shape shape = uc_chain_output(chain);
    if (found && elems_of(&shape) == l->elems && (guess = malloc(l->elems * sizeof *guess)) &&
        uc_chain_reference(chain, d->tensor[0], operands, guess) != UC_OK) {
        free(guess);
        guess = NULL;
    }
    uc_chain_destroy(chain);
    return guess;
}

static bool chain_fits(const look *l, char *text, const data *d) {
    double *guess = text ? guess_of(l, text, d) : NULL;
    const bool found = guess && fits(l, guess);
    free(guess);
    free(text);
    return found;
}

enum { MAX_FROM_ZERO }; /* the first */
static const struct {
    const char *from, *to, *hint;
} edits[] = {
    {", maxpool 2", ", clamp 0 inf, maxpool 2", "looks like the max started at 0"},
    {", softmax_space", "", "looks like the softmax is missing"},
    {", softmax_space", ", softmax_channel",
     "looks like the softmax goes over the channels, not over the positions"},
    {", softmax_channel", "", "looks like the softmax is missing"},
    {", softmax_channel", ", softmax_space",
     "looks like the softmax goes over the positions, not over the channels"},
    {" bias", "", "looks like conv_bias is missing"},
    {", add add_bias", "", "looks like add_bias is missing"},
    {", mul scale", "", "looks like the scale is missing"},
    {", sigmoid", "", "looks like the sigmoid is missing"},
    {", gelu", "", "looks like the GELU is missing"},
    {", layernorm_channel 1e-05", "", "looks like the layer norm is missing"},
    {"layernorm_channel 1e-05", "layernorm_channel 0", "looks like the layer norm has no eps"},
    {"layernorm_channel 1e-05, avgpool 2, gelu", "layernorm_channel 1e-05, gelu, avgpool 2",
     "looks like the GELU comes before the average pool"},
};

/* Where all that is expected is below 0, this gives all zero, and is the likelier mistake. */
static bool is_max_of_zero(const look *l) {
    char text[1024];
    return uc_chain_text(l->facts->chain, text, sizeof text) < sizeof text &&
           chain_fits(l, edited(text, edits[MAX_FROM_ZERO].from, edits[MAX_FROM_ZERO].to),
                      l->facts->data);
}

/* A stage with a number in it: left out as a whole, up to the next comma. */
static char *without_stage(const char *text, const char *stage) {
    const char *at = strstr(text, stage);
    char *copy = at ? strdup(text) : NULL;
    if (copy) {
        const char *rest = at + strlen(stage) + strcspn(at + strlen(stage), ",");
        memcpy(copy + (at - text), rest, strlen(rest) + 1);
    }
    return copy;
}

static const struct {
    const char *stage, *hint;
} numbered[] = {
    {", clamp ", "looks like the clamp is missing"},
    {", mul ", "looks like the last factor is missing"},
    {", add ", "looks like the added number is missing"},
    {", layernorm_channel ", "looks like the layer norm is missing"},
};

static const char *edit_pattern(const look *l, const char *text) {
    const data *d = l->facts->data;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        if (chain_fits(l, edited(text, edits[i].from, edits[i].to), d))
            return edits[i].hint;
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++)
        if (chain_fits(l, without_stage(text, numbered[i].stage), d))
            return numbered[i].hint;
    return NULL;
}

/* GELU by its tanh formula: the chain up to it from the oracle, the rest here. */
static bool is_tanh_gelu(const look *l, const char *text) {
    char *before = strdup(text), *at = before ? strstr(before, ", gelu") : NULL;
    double *guess = NULL;
    if (at) {
        *at = 0;
        guess = guess_of(l, before, l->facts->data);
    }
    const double factor = strstr(text, ", mul ") ? l->facts->test->params.scaling_factor : 1;
    for (size_t i = 0; guess && i < l->elems; i++) {
        const double x = guess[i];
        guess[i] = factor * x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    }
    bool found = false;
    if (guess) { /* it is off by up to 5e-4 only: nearer than the usual guess has to be */
        double to_guess = 0, to_right = 0;
        for (size_t i = 0; i < l->elems; i++) {
            to_guess = fmax(to_guess, fabs(guess[i] - l->got[i]));
            to_right = fmax(to_right, fabs(l->facts->expected[i] - l->got[i]));
        }
        found = to_guess < to_right / 10;
    }
    free(guess);
    free(before);
    return found;
}

/* Another order of the kernel: taps backwards, or channels (out, in) instead of (in, out). */
static bool is_kernel_order(const look *l, const char *text, bool flipped) {
    const data *d = l->facts->data;
    const size_t bytes = uc_dtype_bytes(d->dtype), ins = d->shape[1].dim[0],
                 outs = d->shape[1].dim[1], taps = d->elems[1] / (ins * outs);
    char *kernel = malloc(d->elems[1] * bytes), *copy = strdup(text);
    bool found = false;
    if (kernel && copy) {
        for (size_t i = 0; i < d->elems[1]; i++) {
            const size_t in = i / taps / outs, out = i / taps % outs, tap = i % taps;
            const size_t from =
                flipped ? i - tap + (taps - 1 - tap) : (out * ins + in) * taps + tap;
            memcpy(kernel + i * bytes, (const char *)d->tensor[1] + from * bytes, bytes);
        }
        data other = *d;
        other.tensor[1] = kernel;
        found = chain_fits(l, copy, &other);
        copy = NULL; /* chain_fits() has freed it */
    }
    free(copy);
    free(kernel);
    return found;
}

static const char *operator_pattern(const look *l) {
    char text[1024];
    if (uc_chain_text(l->facts->chain, text, sizeof text) >= sizeof text)
        return NULL;
    if (is_tanh_gelu(l, text))
        return "looks like GELU by its tanh formula; the operator has the erf form";
    if (is_kernel_order(l, text, true))
        return "looks like the kernel's taps are flipped";
    if (is_kernel_order(l, text, false))
        return "looks like the kernel is read as (out_channels, in_channels, ...)";
    return edit_pattern(l, text);
}

/* ---- All of them ------------------------------------------------------------------------ */

static const char *overflow_pattern(const look *l) {
    size_t odd = 0;
    for (size_t i = 0; i < l->elems; i++)
        odd += !isfinite(l->got[i]) && isfinite(l->facts->expected[i]);
    if (odd && strstr(l->facts->with->signature->slug, "softmax") &&
        l->facts->test->family == FAMILY_LARGE)
        return "NaN or infinity for large logits: a softmax takes its largest value off first";
    if (odd && l->facts->test->family >= FAMILY_NON_FINITE)
        return "a NaN or infinity reaches outputs that no tap connects it to";
    return odd ? "NaN where a number belongs: some of the output was not written, or was added to "
                 "without being written first"
               : NULL;
}

static const char *nan_dropped(const look *l) {
    size_t missing = 0;
    for (size_t i = 0; i < l->elems; i++)
        missing += isnan(l->facts->expected[i]) && !isnan(l->got[i]);
    return missing ? "NaN is lost: comparisons with NaN are false, maxima and clamps must keep it"
                   : NULL;
}

static void find_hint(const look *l, char *hint, size_t bytes) {
    const bool is_small = !l->facts->test->is_default_shape; /* guesses cost time */
    const char *found = NULL;
    if (l->facts->test->family >= FAMILY_NON_FINITE)
        found = nan_dropped(l);
    if (!found && is_small && is_max_of_zero(l))
        found = edits[MAX_FROM_ZERO].hint;
    if (!found)
        found = uniform_pattern(l);
    if (!found && l->facts->previous && fits(l, l->facts->previous))
        found = "this is what the call before should have given";
    if (!found && l->facts->test->family < FAMILY_NON_FINITE)
        found = border_pattern(l);
    if (!found && is_transposed(l))
        found = "looks like height and width are transposed";
    if (!found && is_small)
        found = operator_pattern(l);
    if (!found && phase_pattern(l, hint, bytes))
        return;
    if (!found)
        found = overflow_pattern(l);
    snprintf(hint, bytes, "%s", found ? found : "");
}

void judge_hint(const hint_facts *facts, char *hint, size_t bytes) {
    look l = {.facts = facts, .shape = uc_chain_output(facts->chain)};
    l.elems = elems_of(&l.shape);
    const size_t slices = l.shape.dim[0] * l.shape.dim[1];
    l.positions = l.elems / slices;
    l.least_wrong = facts->with->engine.dtype == UC_F16    ? 0x1p-9
                    : facts->with->engine.dtype == UC_BF16 ? 0x1p-6
                                                           : 1e-5;
    l.near = l.least_wrong > 1e-4 ? l.least_wrong : 1e-4;
    l.got = malloc(l.elems * sizeof *l.got);
    l.scale = calloc(slices, sizeof *l.scale);
    if (l.got && l.scale) {
        for (size_t i = 0; i < l.elems; i++) {
            l.got[i] = element_get(facts->with->engine.dtype, facts->got, i);
            if (isfinite(facts->expected[i]))
                l.scale[i / l.positions] = fmax(l.scale[i / l.positions], fabs(facts->expected[i]));
        }
        find_hint(&l, hint, bytes);
    }
    free(l.got);
    free(l.scale);
}
