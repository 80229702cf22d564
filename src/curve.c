/* Curves: what a norm or softmax over channels takes along.
 * Called by plan.c when the operands have been loaded. */
#include "curve.h"

#include <float.h>
#include <math.h>

/* A sigmoid of at most so many times a number from 0 to 1 has a polynomial of UC_CURVE_DEGREE with
 * an error of 7e-9, a tenth of what rounding to float has. A negative factor would make terms
 * cancel. */
#define CURVE_FACTOR 2.0

/* How many stages of add and mul are behind a stage that could take them along. */
static size_t count_affine(const uc_chain *chain, size_t s) {
    size_t next = s + 1;
    if (chain->stage[s].op == UC_OP_layernorm_channel ||
        chain->stage[s].op == UC_OP_softmax_channel)
        while (next < chain->stage_count &&
               (chain->stage[next].op == UC_OP_add || chain->stage[next].op == UC_OP_mul))
            next++;
    return next - s - 1;
}

/* Whether there is a sigmoid behind them that could go along too. */
static bool has_sigmoid(const uc_plan *plan, size_t s) {
    const uc_chain *chain = &plan->chain;
    const size_t next = s + count_affine(chain, s) + 1;
    return chain->stage[s].op == UC_OP_softmax_channel && next < chain->stage_count &&
           chain->stage[next].op == UC_OP_sigmoid && plan->kernels->real_bytes == sizeof(float);
}

size_t uc_curve_elems(const uc_plan *plan, size_t s) {
    const size_t channels = plan->chain.stage[s].out.channels;
    return has_sigmoid(plan, s)            ? (UC_CURVE_DEGREE + 1) * channels
           : count_affine(&plan->chain, s) ? 2 * channels
                                           : 0;
}

/* What add and mul come to for one channel: coefficients, the constant one first. */
static void find_affine(const uc_plan *plan, size_t s, size_t channel, double affine[2]) {
    const uc_stage *stage = plan->chain.stage;
    const size_t last = s + count_affine(&plan->chain, s);
    affine[0] = 0;
    affine[1] = 1;
    for (size_t t = s + 1; t <= last; t++) {
        const double value = plan->per_channel[t]
                                 ? uc_real_at(plan->kernels, plan->per_channel[t], channel)
                                 : stage[t].number[0];
        affine[0] = stage[t].op == UC_OP_add ? affine[0] + value : affine[0] * value;
        affine[1] = stage[t].op == UC_OP_add ? affine[1] : affine[1] * value;
    }
}

/* Where a polynomial of UC_CURVE_DEGREE is the same as its function: Chebyshev's points between 0
 * and 1, and 1 by the distance of point i from the one k before it. */
typedef struct nodes {
    double point[UC_CURVE_DEGREE + 1],
        inverse[UC_CURVE_DEGREE + 1][UC_CURVE_DEGREE + 1]; /* [k][i] */
} nodes;

static void find_nodes(nodes *n) {
    const double pi = 3.14159265358979323846;
    for (size_t i = 0; i <= UC_CURVE_DEGREE; i++) {
        n->point[i] = (1 - cos(pi * ((double)i + 0.5) / (UC_CURVE_DEGREE + 1))) / 2;
        for (size_t k = 1; k <= i; k++)
            n->inverse[k][i] = 1 / (n->point[i] - n->point[i - k]);
    }
}

/* The polynomial through a sigmoid of affine values at the points: Newton's differences, multiplied
 * out. */
static void fit_sigmoid(const nodes *n, const double affine[2], double *curve) {
    double difference[UC_CURVE_DEGREE + 1];
    for (size_t i = 0; i <= UC_CURVE_DEGREE; i++)
        difference[i] = 1 / (1 + exp(-(affine[0] + affine[1] * n->point[i])));
    for (size_t k = 1; k <= UC_CURVE_DEGREE; k++)
        for (size_t i = UC_CURVE_DEGREE; i >= k; i--)
            difference[i] = (difference[i] - difference[i - 1]) * n->inverse[k][i];
    for (size_t i = 0; i <= UC_CURVE_DEGREE; i++)
        curve[i] = 0;
    for (size_t k = UC_CURVE_DEGREE + 1; k-- > 0;) {
        for (size_t i = UC_CURVE_DEGREE; i > 0; i--)
            curve[i] = curve[i - 1] - n->point[k] * curve[i];
        curve[0] = difference[k] - n->point[k] * curve[0];
    }
}

void uc_curve_plan(uc_plan *plan, size_t s, void *reals) {
    const size_t channels = plan->chain.stage[s].out.channels,
                 count = count_affine(&plan->chain, s);
    const bool wide = plan->kernels->real_bytes == sizeof(double);
    const double largest = wide ? DBL_MAX : FLT_MAX;
    bool finite = true, sigmoid = has_sigmoid(plan, s);
    double affine[2], curve[UC_CURVE_DEGREE + 1];
    nodes n;
    for (size_t c = 0; c < channels; c++) {
        find_affine(plan, s, c, affine);
        finite = finite && fabs(affine[0]) <= largest && fabs(affine[1]) <= largest;
        sigmoid = sigmoid && affine[1] >= 0 && affine[1] <= CURVE_FACTOR;
    }
    /* In one step something that is not finite could give other results. */
    if (!finite || !(count || sigmoid))
        return;
    const size_t degree = sigmoid ? UC_CURVE_DEGREE : 1;
    if (sigmoid)
        find_nodes(&n);
    for (size_t c = 0; c < channels; c++) {
        find_affine(plan, s, c, affine);
        if (sigmoid)
            fit_sigmoid(&n, affine, curve);
        for (size_t i = 0; i <= degree; i++) {
            const double value = sigmoid ? curve[i] : affine[i];
            if (wide)
                ((double *)reals)[c * (degree + 1) + i] = value;
            else
                ((float *)reals)[c * (degree + 1) + i] = (float)value;
        }
    }
    plan->curve[s] = reals;
    plan->curve_degree[s] = degree;
    for (size_t t = s + 1; t <= s + count + sigmoid; t++)
        plan->idle[t] = true;
}
