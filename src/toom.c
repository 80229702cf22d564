/* One dimension of a Winograd convolution: points, and the transforms they give.
 * Called by winograd.c. */
#include "toom.h"

#include <math.h>
#include <string.h>

/* Where the polynomials are evaluated. INFINITY takes the leading coefficient. Few points take
 * sums, differences and halves alone, so whole numbers stay exact. Five are spread evenly on the
 * projective line, or rounding errors would grow: 0, +-1, 2 and infinity have 2.5 times the
 * variance. */
static const double points_of[][UC_TOOM_POINTS] = {
    [UC_POINTS_3] = {1, -1, INFINITY},
    [UC_POINTS_3_WITH_0] = {0, 1, INFINITY},
    [UC_POINTS_4] = {0, 1, -1, INFINITY},
    [UC_POINTS_5] = {0, UC_POINT_A, -UC_POINT_A, UC_POINT_B, -UC_POINT_B},
};

/* The points for so many products. Those with 0 have one row that is an input as it is, which
 * phases of one tap read too: a row less, though rounding errors have 4 / 3 of the variance. */
static uc_points kind_of(const uc_toom *toom, size_t count) {
    bool single = false;
    for (size_t e = 0; e < toom->stride; e++)
        single = single || toom->phase[e].taps == 1;
    return count == 5   ? UC_POINTS_5
           : count == 4 ? UC_POINTS_4
           : single     ? UC_POINTS_3_WITH_0
                        : UC_POINTS_3;
}

/* The row that is this sum, made if there is none yet: phases share rows. Returns its index. */
static size_t row_of(uc_toom *toom, const uc_terms *terms) {
    size_t r = 0;
    while (r < toom->rows && memcmp(&toom->row[r], terms, sizeof *terms) != 0)
        r++;
    if (r == toom->rows)
        toom->row[toom->rows++] = *terms;
    return r;
}

/* The place of a row among those of a phase. */
static size_t read_row(uc_toom_phase *phase, size_t row) {
    size_t i = 0;
    while (i < phase->rows && phase->row[i] != row)
        i++;
    if (i == phase->rows)
        phase->row[phase->rows++] = row;
    return i;
}

static void add_term(uc_terms *terms, size_t index, double factor) {
    if (factor != 0) {
        terms->index[terms->count] = index;
        terms->factor[terms->count++] = factor;
    }
}

/* Tap by tap: output j of a phase whose tap 0 reads window element `last` for output 0. */
static void plan_direct(uc_toom *toom, uc_toom_phase *phase, size_t last) {
    phase->points = toom->outputs;
    phase->segments = phase->taps;
    for (size_t j = 0; j < toom->outputs; j++) {
        for (size_t t = 0; t < phase->taps; t++) {
            uc_terms input;
            memset(&input, 0, sizeof input);
            add_term(&input, last + j - t, 1);
            phase->read[j][t] = read_row(phase, row_of(toom, &input));
            phase->weight[j][t][t] = 1;
        }
        add_term(&phase->output[j], j, 1);
    }
}

/* By points. The phase's outputs are y[j] = sum over k of d[j + k] * g[k], where d is the window
 * from `begin` on and g[k] is tap `taps - 1 - k`, `taps` being that of the phase or, with zeros for
 * the missing ones, of a phase whose rows it shares. */
static void plan_points(uc_toom *toom, uc_toom_phase *phase, size_t begin, size_t taps) {
    const size_t count = toom->outputs + taps - 1;
    const uc_points kind = kind_of(toom, count);
    const double *points = points_of[kind];
    phase->kind = taps > phase->taps ? UC_POINTS_5_WITHOUT_0 : kind;
    phase->segments = 1;
    for (size_t i = 0; i < count; i++) {
        const double point = points[i];
        if (point == 0 && taps > phase->taps)
            continue; /* its weight is the last tap's, which is missing */
        /* The polynomial that is zero at all other finite points, and its value here. */
        double polynomial[UC_TOOM_POINTS + 1] = {1}, value = 1;
        size_t degree = 0;
        for (size_t k = 0; k < count; k++) {
            if (k == i || isinf(points[k]))
                continue;
            for (size_t d = ++degree; d > 0; d--)
                polynomial[d] = polynomial[d - 1] - points[k] * polynomial[d];
            polynomial[0] *= -points[k];
            if (isfinite(point))
                value *= point - points[k];
        }
        /* With a positive first factor, rows of neighbouring phases are alike. */
        double sign = 0;
        for (size_t d = 0; sign == 0; d++)
            sign = polynomial[d] > 0 ? 1 : polynomial[d] < 0 ? -1 : 0;
        uc_terms sum;
        memset(&sum, 0, sizeof sum);
        for (size_t d = 0; d <= degree; d++)
            add_term(&sum, begin + d, sign * polynomial[d]);

        const size_t p = phase->points++;
        phase->read[p][0] = read_row(phase, row_of(toom, &sum));
        for (size_t k = 0; k < taps; k++)
            if (taps - 1 - k < phase->taps)
                phase->weight[p][0][taps - 1 - k] =
                    sign * (isfinite(point) ? pow(point, (double)k) / value : k == taps - 1);
        for (size_t j = 0; j < toom->outputs; j++)
            add_term(&phase->output[j], p,
                     isfinite(point) ? pow(point, (double)j) : j == toom->outputs - 1);
    }
}

/* How much rounding errors grow: the variance of an output's error is that of its products, each of
 * which is as large as its row and its weight make it. Relative to the sum over the taps. */
static void estimate(uc_toom *toom) {
    double error = 0;
    for (size_t e = 0; e < toom->stride; e++) {
        const uc_toom_phase *phase = &toom->phase[e];
        for (size_t j = 0; j < toom->outputs; j++)
            for (size_t i = 0; i < phase->output[j].count; i++) {
                const size_t p = phase->output[j].index[i];
                double inside = 0;
                for (size_t g = 0; g < phase->segments; g++) {
                    const uc_terms *row = &toom->row[phase->row[phase->read[p][g]]];
                    double rows = 0, weights = 0, sum = 0;
                    for (size_t k = 0; k < row->count; k++) {
                        rows += row->factor[k] * row->factor[k];
                        sum += fabs(row->factor[k]);
                    }
                    for (size_t t = 0; t < phase->taps; t++)
                        weights += phase->weight[p][g][t] * phase->weight[p][g][t];
                    inside += rows * weights;
                    /* products and what they are multiplied by on the way out */
                    double gain = 0;
                    for (size_t t = 0; t < phase->taps; t++)
                        gain += fabs(phase->weight[p][g][t]);
                    gain *= sum * fmax(1, fabs(phase->output[j].factor[i]));
                    toom->gain = fmax(toom->gain, fmax(sum, gain * (double)phase->segments));
                }
                error += phase->output[j].factor[i] * phase->output[j].factor[i] * inside /
                         (double)phase->taps;
            }
    }
    toom->error = error / (double)(toom->stride * toom->outputs);
    toom->gain *= UC_TOOM_POINTS; /* of which an output has at most that many */
}

const char *uc_toom_plan(const uc_axis *axis, size_t outputs, uc_toom *toom) {
    memset(toom, 0, sizeof *toom);
    toom->outputs = outputs;
    toom->stride = axis->stride;
    if (axis->stride > UC_TOOM_STRIDE)
        return "the stride is more than 4";
    if (axis->kernel < axis->stride)
        return "the kernel is smaller than the stride: some phases have no taps";
    if (uc_axis_phase_taps(axis, 0) > UC_TOOM_TAPS)
        return "a phase has more than 8 taps";

    /* Outputs o = e, e + stride, ... of the first tile belong to the phase of o + padding, and tap
     * t of output e + j * stride reads input source + j - t. */
    ptrdiff_t first = PTRDIFF_MAX, last = PTRDIFF_MIN;
    size_t source[UC_TOOM_STRIDE] = {0};
    for (size_t e = 0; e < axis->stride; e++) {
        source[e] = (e + axis->padding) / axis->stride;
        toom->phase[e].taps = uc_axis_phase_taps(axis, (e + axis->padding) % axis->stride);
        const ptrdiff_t low = (ptrdiff_t)source[e] - (ptrdiff_t)(toom->phase[e].taps - 1),
                        high = (ptrdiff_t)(source[e] + outputs - 1);
        first = low < first ? low : first;
        last = high > last ? high : last;
    }
    toom->first = first;
    toom->window = (size_t)(last - first) + 1;

    for (size_t e = 0; e < axis->stride; e++) {
        uc_toom_phase *phase = &toom->phase[e];
        const size_t zeroth = (size_t)((ptrdiff_t)source[e] - first); /* read by tap 0 */
        if (outputs == 1 || phase->taps == 1) {
            plan_direct(toom, phase, zeroth);
            continue;
        }
        if (outputs + phase->taps - 1 > UC_TOOM_POINTS)
            return "it would need more than 5 points";
        /* A phase with one tap more may have the points for this one too; so may several. */
        size_t taps = phase->taps;
        for (size_t other = 0; other < axis->stride; other++)
            if (toom->phase[other].taps == phase->taps + 1 && source[other] == source[e] &&
                outputs + phase->taps == UC_TOOM_POINTS)
                taps = phase->taps + 1;
        plan_points(toom, phase, zeroth - (taps - 1), taps);
    }
    estimate(toom);
    return NULL;
}
