/* Curves: what a norm or softmax over channels takes along.
 * Called by plan.c when the operands have been loaded. */
#include "curve.h"

#include <float.h>
#include <math.h>

static size_t degree_of(const uc_plan *plan) {
    return plan->kernels->real_bytes == sizeof(double) ? UC_CURVE_DEGREE_F64 : UC_CURVE_DEGREE;
}

/* A sigmoid of at most so many times a number from 0 to 1 has a polynomial of UC_CURVE_DEGREE with
 * an error of 7e-9, a tenth of what rounding to float has. A negative factor would make terms
 * cancel. The exponential in it, of doubles, must not overflow. */
#define CURVE_FACTOR 2.0
#define CURVE_TERM 700.0

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
           chain->stage[next].op == UC_OP_sigmoid;
}

size_t uc_curve_elems(const uc_plan *plan, size_t s) {
    const size_t channels = plan->chain.stage[s].out.channels;
    return has_sigmoid(plan, s)            ? (degree_of(plan) + 1) * channels
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

/* Polynomials of UC_CURVE_DEGREE that are the same as sigmoids at Chebyshev's points between 0 and
 * 1. They are sums of those that are 1 at one point and 0 at the others. */
enum { NODES = UC_CURVE_DEGREE + 1 };
typedef struct fit {
    double node[NODES];
    double at_node[NODES][NODES];       /* coefficients, the constant one first */
    double factor, exponentials[NODES]; /* of -factor times a node: channels mostly share them */
} fit;

static void prepare_fit(fit *f) {
    const double pi = 3.14159265358979323846;
    f->factor = NAN;
    for (size_t i = 0; i < NODES; i++)
        f->node[i] = (1 - cos(pi * ((double)i + 0.5) / NODES)) / 2;
    for (size_t i = 0; i < NODES; i++) {
        double *curve = f->at_node[i];
        curve[0] = 1;
        for (size_t k = 0, degree = 0; k < NODES; k++) {
            if (k == i)
                continue;
            /* times (x - node k) / (node i - node k) */
            const double by = 1 / (f->node[i] - f->node[k]);
            curve[++degree] = 0;
            for (size_t j = degree; j > 0; j--)
                curve[j] = (curve[j - 1] - f->node[k] * curve[j]) * by;
            curve[0] *= -f->node[k] * by;
        }
    }
}

static void fit_sigmoid(fit *f, const double affine[2], double *curve) {
    if (affine[1] != f->factor)
        for (size_t i = 0; i < NODES; i++)
            f->exponentials[i] = exp(-affine[1] * f->node[i]);
    f->factor = affine[1];
    const double first = exp(-affine[0]);
    for (size_t j = 0; j < NODES; j++)
        curve[j] = 0;
    for (size_t i = 0; i < NODES; i++) {
        const double value = 1 / (1 + first * f->exponentials[i]);
        for (size_t j = 0; j < NODES; j++)
            curve[j] += value * f->at_node[i][j];
    }
}

/* The exponential in a sigmoid by its series around 1/2, which ends within rounding: the powers are
 * those of numbers up to 1. */
static void expand_exponential(const double affine[2], double *curve) {
    double term = exp(-affine[0]) * exp(-affine[1] / 2);
    for (size_t k = 0; k <= UC_CURVE_DEGREE_F64; k++) {
        curve[k] = term;
        term *= -affine[1] / (double)(k + 1);
    }
}

void uc_curve_plan(uc_plan *plan, size_t s, void *reals) {
    const size_t channels = plan->chain.stage[s].out.channels,
                 count = count_affine(&plan->chain, s);
    const bool wide = plan->kernels->real_bytes == sizeof(double);
    const double largest = wide ? DBL_MAX : FLT_MAX;
    bool finite = true, sigmoid = has_sigmoid(plan, s);
    double affine[2], curve[UC_CURVE_DEGREE_F64 + 1];
    fit f;
    for (size_t c = 0; c < channels; c++) {
        find_affine(plan, s, c, affine);
        finite = finite && fabs(affine[0]) <= largest && fabs(affine[1]) <= largest;
        sigmoid = sigmoid && affine[1] >= 0 && affine[1] <= CURVE_FACTOR &&
                  (!wide || fabs(affine[0]) <= CURVE_TERM);
    }
    /* In one step something that is not finite could give other results. */
    if (!finite || !(count || sigmoid))
        return;
    const size_t degree = sigmoid ? degree_of(plan) : 1;
    if (sigmoid && !wide)
        prepare_fit(&f);
    for (size_t c = 0; c < channels; c++) {
        find_affine(plan, s, c, affine);
        if (sigmoid && wide)
            expand_exponential(affine, curve);
        else if (sigmoid)
            fit_sigmoid(&f, affine, curve);
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
