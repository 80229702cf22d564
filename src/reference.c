/* The oracle: every stage of a chain in plain float64 loops, one whole tensor after the other.
 * Called by users and tests through uc_chain_reference(). It shares the chain's description with
 * the fast path and nothing else, and its loops are the definitions: no phases, no tiles. */
#include <math.h>
#include <stdlib.h>

#include "chain.h"
#include "dtype.h"
#include "memory.h"
#include "status.h"

typedef struct tensor {
    size_t batch_size;
    uc_extent extent;
    double *value;
} tensor;

/* What a stage needs besides its input: its operands as doubles, NULL where it has none. */
typedef struct operands {
    const double *kernel;
    const double *per_channel; /* the bias of a convolution, the value of add and mul */
} operands;

static size_t positions_of(const tensor *t) {
    return uc_extent_positions(&t->extent);
}

static double *slice(const tensor *t, size_t b, size_t c) {
    return t->value + (b * t->extent.channels + c) * positions_of(t);
}

/* Every op has one function here: reference_NAME(stage, operands, in, out). out has its shape and
 * memory already; ELEMENT, CHANNEL and EVERYTHING ops read and write value by value. */

/* y[b, co, o] = bias[co] + sum of x[b, ci, i] * w[ci, co, k] over o = i * stride - padding + k */
static void reference_conv_transpose(const uc_stage *stage, const operands *with, const tensor *in,
                                     const tensor *out) {
    const uc_conv *conv = &stage->conv;
    const size_t *size = in->extent.size, *to = out->extent.size, *kernel = conv->kernel,
                 *stride = conv->stride, *padding = conv->padding;
    const size_t slices = out->batch_size * out->extent.channels;
#pragma omp parallel for schedule(dynamic)
    for (size_t s = 0; s < slices; s++) {
        const size_t b = s / out->extent.channels, co = s % out->extent.channels;
        double *y = slice(out, b, co);
        for (size_t o = 0; o < positions_of(out); o++)
            y[o] = with->per_channel ? with->per_channel[co] : 0;

        for (size_t ci = 0; ci < in->extent.channels; ci++) {
            const double *x = slice(in, b, ci);
            const double *w =
                with->kernel + (ci * out->extent.channels + co) * kernel[0] * kernel[1] * kernel[2];
            for (size_t kd = 0; kd < kernel[0]; kd++)
                for (size_t kh = 0; kh < kernel[1]; kh++)
                    for (size_t kw = 0; kw < kernel[2]; kw++) {
                        const double tap = w[(kd * kernel[1] + kh) * kernel[2] + kw];
                        /* An output before 0 wraps to a huge size_t, beyond any tensor. */
                        for (size_t d = 0; d < size[0]; d++) {
                            const size_t od = d * stride[0] + kd - padding[0];
                            if (od >= to[0])
                                continue;
                            for (size_t h = 0; h < size[1]; h++) {
                                const size_t oh = h * stride[1] + kh - padding[1];
                                if (oh >= to[1])
                                    continue;
                                const double *x_row = x + (d * size[1] + h) * size[2];
                                double *y_row = y + (od * to[1] + oh) * to[2];
                                for (size_t i = 0; i < size[2]; i++) {
                                    const size_t ow = i * stride[2] + kw - padding[2];
                                    if (ow < to[2])
                                        y_row[ow] += x_row[i] * tap;
                                }
                            }
                        }
                    }
        }
    }
}

static size_t value_count(const tensor *t) {
    return t->batch_size * t->extent.channels * positions_of(t);
}

static double value_for(const uc_stage *stage, const operands *with, const tensor *t, size_t i) {
    const size_t c = i / positions_of(t) % t->extent.channels;
    return with->per_channel ? with->per_channel[c] : stage->number[0];
}

static void reference_add(const uc_stage *stage, const operands *with, const tensor *in,
                          const tensor *out) {
    for (size_t i = 0; i < value_count(in); i++)
        out->value[i] = in->value[i] + value_for(stage, with, in, i);
}

static void reference_mul(const uc_stage *stage, const operands *with, const tensor *in,
                          const tensor *out) {
    for (size_t i = 0; i < value_count(in); i++)
        out->value[i] = in->value[i] * value_for(stage, with, in, i);
}

/* A NaN bound makes everything NaN, a NaN value stays. */
static void reference_clamp(const uc_stage *stage, const operands *with, const tensor *in,
                            const tensor *out) {
    (void)with;
    const double low = stage->number[0], high = stage->number[1];
    for (size_t i = 0; i < value_count(in); i++) {
        double value = in->value[i];
        if (value < low || isnan(low))
            value = low;
        if (value > high || isnan(high))
            value = high;
        out->value[i] = value;
    }
}

/* x * Phi(x), with the complementary error function so that the negative tail does not cancel. */
static void reference_gelu(const uc_stage *stage, const operands *with, const tensor *in,
                           const tensor *out) {
    (void)stage, (void)with;
    for (size_t i = 0; i < value_count(in); i++)
        out->value[i] = 0.5 * in->value[i] * erfc(-in->value[i] / sqrt(2));
}

static void reference_sigmoid(const uc_stage *stage, const operands *with, const tensor *in,
                              const tensor *out) {
    (void)stage, (void)with;
    for (size_t i = 0; i < value_count(in); i++)
        out->value[i] = 1 / (1 + exp(-in->value[i]));
}

/* The larger one; NaN if either is. */
static double larger(double a, double b) {
    return a > b || isnan(a) ? a : b;
}

/* Softmax of `count` values that lie `step` apart. The sum carries what each addition lost: a
 * million equal values would otherwise all be rounded the same way, and be off by 1e-11 together.
 */
static void softmax(const double *in, double *out, size_t count, size_t step) {
    double maximum = in[0], sum = 0, lost = 0;
    for (size_t i = 0; i < count; i++)
        maximum = larger(maximum, in[i * step]);
    for (size_t i = 0; i < count; i++) {
        const double term = exp(in[i * step] - maximum) - lost, next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    for (size_t i = 0; i < count; i++)
        out[i * step] = exp(in[i * step] - maximum) / sum;
}

static void reference_softmax_channel(const uc_stage *stage, const operands *with, const tensor *in,
                                      const tensor *out) {
    (void)stage, (void)with;
    for (size_t b = 0; b < in->batch_size; b++)
        for (size_t i = 0; i < positions_of(in); i++)
            softmax(slice(in, b, 0) + i, slice(out, b, 0) + i, in->extent.channels,
                    positions_of(in));
}

static void reference_softmax_space(const uc_stage *stage, const operands *with, const tensor *in,
                                    const tensor *out) {
    (void)stage, (void)with;
    for (size_t b = 0; b < in->batch_size; b++)
        for (size_t c = 0; c < in->extent.channels; c++)
            softmax(slice(in, b, c), slice(out, b, c), positions_of(in), 1);
}

static void reference_layernorm_channel(const uc_stage *stage, const operands *with,
                                        const tensor *in, const tensor *out) {
    (void)with;
    const size_t channels = in->extent.channels, step = positions_of(in);
    for (size_t b = 0; b < in->batch_size; b++)
        for (size_t i = 0; i < step; i++) {
            const double *x = slice(in, b, 0) + i;
            double *y = slice(out, b, 0) + i;
            double mean = 0, variance = 0;
            for (size_t c = 0; c < channels; c++)
                mean += x[c * step];
            mean /= (double)channels;
            for (size_t c = 0; c < channels; c++)
                variance += (x[c * step] - mean) * (x[c * step] - mean);
            variance /= (double)channels;
            for (size_t c = 0; c < channels; c++)
                y[c * step] = (x[c * step] - mean) / sqrt(variance + stage->number[0]);
        }
}

static void reference_sum_channel(const uc_stage *stage, const operands *with, const tensor *in,
                                  const tensor *out) {
    (void)stage, (void)with;
    for (size_t b = 0; b < in->batch_size; b++)
        for (size_t i = 0; i < positions_of(in); i++) {
            double sum = 0;
            for (size_t c = 0; c < in->extent.channels; c++)
                sum += slice(in, b, c)[i];
            slice(out, b, 0)[i] = sum;
        }
}

/* Reduces each window to one value, starting from its first: fold(so far, next). */
static void pool(const uc_stage *stage, const tensor *in, const tensor *out,
                 double (*fold)(double, double)) {
    const size_t *size = in->extent.size, *to = out->extent.size, *window = stage->window;
    for (size_t s = 0; s < in->batch_size * in->extent.channels; s++)
        for (size_t o = 0; o < positions_of(out); o++) {
            const size_t d = o / to[2] / to[1], h = o / to[2] % to[1], w = o % to[2];
            double folded = 0;
            for (size_t k = 0; k < window[0] * window[1] * window[2]; k++) {
                const size_t kd = k / window[2] / window[1], kh = k / window[2] % window[1],
                             kw = k % window[2];
                const size_t from =
                    ((d * window[0] + kd) * size[1] + h * window[1] + kh) * size[2] +
                    w * window[2] + kw;
                const double value = in->value[s * positions_of(in) + from];
                folded = k ? fold(folded, value) : value;
            }
            out->value[s * positions_of(out) + o] = folded;
        }
}

static double sum_of(double a, double b) {
    return a + b;
}

static void reference_avgpool(const uc_stage *stage, const operands *with, const tensor *in,
                              const tensor *out) {
    (void)with;
    pool(stage, in, out, sum_of);
    for (size_t i = 0; i < value_count(out); i++)
        out->value[i] /= (double)(stage->window[0] * stage->window[1] * stage->window[2]);
}

static void reference_maxpool(const uc_stage *stage, const operands *with, const tensor *in,
                              const tensor *out) {
    (void)with;
    pool(stage, in, out, larger);
}

typedef void reference_function(const uc_stage *, const operands *, const tensor *, const tensor *);

static reference_function *const references[UC_OP_COUNT] = {
#define OP(name, needs, arguments) reference_##name,
#include "ops.def"
#undef OP
};

static uc_status allocate_doubles(size_t count, double **doubles) {
    if (!uc_size_mul(&count, sizeof **doubles))
        return uc_fail(UC_NO_MEMORY, "the oracle needs a tensor larger than any object in float64");
    *doubles = uc_alloc(count);
    return *doubles ? UC_OK : UC_NO_MEMORY;
}

/* A copy of a tensor's elements as doubles. */
static uc_status read_tensor(uc_dtype dtype, const void *elements, size_t count, double **doubles) {
    const uc_status status = allocate_doubles(count, doubles);
    for (size_t i = 0; status == UC_OK && i < count; i++)
        (*doubles)[i] = uc_dtype_read(dtype, elements, i);
    return status;
}

/* Runs one stage from `in` into fresh memory. */
static uc_status run_stage(const uc_chain *chain, const uc_stage *stage, const void *const given[],
                           const tensor *in, tensor *out) {
    double *operand[2] = {NULL, NULL};
    const bool conv = stage->op == UC_OP_conv_transpose;
    const size_t count = conv ? 1 + (size_t)stage->conv.bias : *stage->operand != 0;
    uc_status status = UC_OK;
    for (size_t i = 0; status == UC_OK && i < count; i++)
        status = read_tensor(chain->dtype, given[stage->first_operand + i],
                             uc_shape_elems(&chain->operand[stage->first_operand + i].shape),
                             &operand[i]);
    *out = (tensor){.batch_size = in->batch_size, .extent = stage->out};
    if (status == UC_OK)
        status = allocate_doubles(value_count(out), &out->value);
    if (status == UC_OK) {
        const operands with = {.kernel = conv ? operand[0] : NULL,
                               .per_channel = conv ? operand[1] : operand[0]};
        references[stage->op](stage, &with, in, out);
    }
    free(operand[0]);
    free(operand[1]);
    return status;
}

uc_status uc_chain_reference(const uc_chain *chain, const void *input, const void *const given[],
                             double *output) {
    uc_status status = uc_chain_check(chain);
    if (status == UC_OK)
        status = uc_check_operands(chain, given);
    if (status != UC_OK)
        return status;
    const uc_shape in = uc_chain_input(chain), out = uc_chain_output(chain);
    const size_t in_elems = uc_shape_elems(&in), out_elems = uc_shape_elems(&out);
    size_t out_bytes = out_elems;
    if (!uc_size_mul(&out_bytes, sizeof *output))
        return uc_fail(UC_INVALID, "output is too large: %zu elements of 8 bytes", out_elems);
    if ((status = uc_check_tensor("input", input, in_elems)) != UC_OK ||
        (status = uc_check_tensor("output", output, out_elems)) != UC_OK ||
        (status = uc_check_apart("input", input, in_elems * uc_dtype_bytes(chain->dtype), output,
                                 out_bytes)) != UC_OK ||
        (status = uc_check_operands_apart(chain, given, output, out_bytes)) != UC_OK)
        return status;

    tensor now = {.batch_size = chain->batch_size, .extent = chain->in};
    status = read_tensor(chain->dtype, input, in_elems, &now.value);
    for (size_t i = 0; status == UC_OK && i < chain->stage_count; i++) {
        tensor next = {0};
        status = run_stage(chain, &chain->stage[i], given, &now, &next);
        free(now.value);
        now = next;
    }
    for (size_t i = 0; status == UC_OK && i < out_elems; i++)
        output[i] = now.value[i];
    free(now.value);
    return status;
}
