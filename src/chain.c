/* Building a chain: every stage is checked against the shape that reaches it.
 * Called by operators.c and chain_text.c; the accessors by users. */
#include "chain.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "status.h"

const uc_op_info uc_ops[UC_OP_COUNT] = {
#define OP(name, needs, arguments) {#name, UC_NEEDS_##needs, UC_ARGUMENTS_##arguments},
#include "ops.def"
#undef OP
};

/* Sizes go by these names in parameters and messages. */
static const char *const size_names[UC_SPACE] = {"depth", "height", "width"};
static const char dimension_letters[UC_SPACE] = {'d', 'h', 'w'};

static size_t first_dimension(const uc_chain *chain) {
    return UC_SPACE - chain->space;
}

static uc_shape shape_of(const uc_chain *chain, const uc_extent *extent) {
    uc_shape shape = {.ndim = 2 + chain->space, .dim = {chain->batch_size, extent->channels}};
    for (size_t i = 0; i < chain->space; i++)
        shape.dim[2 + i] = extent->size[first_dimension(chain) + i];
    return shape;
}

size_t uc_shape_elems(const uc_shape *shape) {
    size_t elems = 1;
    for (size_t i = 0; i < shape->ndim; i++)
        elems *= shape->dim[i];
    return elems;
}

/* A tensor's bytes must fit an object, and its item alone too when there are no items. */
static uc_status check_size(const uc_chain *chain, const char *what, const uc_extent *extent) {
    size_t bytes = uc_dtype_bytes(chain->dtype);
    bool fits = uc_size_mul(&bytes, extent->channels);
    for (size_t i = 0; fits && i < UC_SPACE; i++)
        fits = uc_size_mul(&bytes, extent->size[i]);
    if (fits && (!chain->batch_size || uc_size_mul(&bytes, chain->batch_size)))
        return UC_OK;
    char sizes[128] = "";
    size_t length = 0;
    for (size_t i = first_dimension(chain); i < UC_SPACE; i++)
        length += (size_t)snprintf(sizes + length, sizeof sizes - length, " x %s %zu",
                                   size_names[i], extent->size[i]);
    return uc_fail(UC_INVALID,
                   "%s is too large: batch_size %zu x %s %zu%s elements of %zu bytes exceed the "
                   "largest object (%td bytes)",
                   what, chain->batch_size, extent == &chain->in ? "in_channels" : "channels",
                   extent->channels, sizes, uc_dtype_bytes(chain->dtype), PTRDIFF_MAX);
}

uc_status uc_chain_create(uc_dtype dtype, const uc_shape *input, uc_chain **chain) {
    if (!chain)
        return uc_fail(UC_INVALID, "chain must not be NULL");
    *chain = NULL;
    if (!input)
        return uc_fail(UC_INVALID, "input shape must not be NULL");
    if (!uc_dtype_name(dtype))
        return uc_fail(UC_INVALID, "dtype must be one of UC_F32, UC_F64, UC_F16, UC_BF16 (got %d)",
                       (int)dtype);
    if (input->ndim < 3 || input->ndim > UC_MAX_DIMS)
        return uc_fail(UC_INVALID,
                       "the input needs 3 to 5 dimensions: batch, channels, 1 to 3 sizes (got %zu)",
                       input->ndim);

    uc_chain built = {.dtype = dtype,
                      .space = input->ndim - 2,
                      .batch_size = input->dim[0],
                      .in = {.channels = input->dim[1], .size = {1, 1, 1}},
                      .conv_stage = UC_MAX_STAGES};
    if (!built.in.channels)
        return uc_fail(UC_INVALID, "in_channels must be at least 1 (got 0)");
    for (size_t i = 0; i < built.space; i++) {
        const size_t dimension = first_dimension(&built) + i;
        built.in.size[dimension] = input->dim[2 + i];
        if (!built.in.size[dimension])
            return uc_fail(UC_INVALID, "%s must be at least 1 (got 0)", size_names[dimension]);
    }
    const uc_status status = check_size(&built, "input", &built.in);
    if (status != UC_OK)
        return status;
    built.out = built.in;

    *chain = uc_alloc(sizeof **chain);
    if (!*chain)
        return UC_NO_MEMORY;
    **chain = built;
    return UC_OK;
}

void uc_chain_destroy(uc_chain *chain) {
    free(chain);
}

/* One dimension of a convolution: out = (in - 1) * stride + kernel + output_padding - 2 * padding
 */
static uc_status conv_size(const uc_conv *conv, size_t i, size_t in, size_t *out) {
    const char letter = dimension_letters[i];
    const size_t kernel = conv->kernel[i], stride = conv->stride[i], padding = conv->padding[i],
                 output_padding = conv->output_padding[i];
    if (!kernel)
        return uc_fail(UC_INVALID, "kernel_%c must be at least 1 (got 0)", letter);
    if (!stride)
        return uc_fail(UC_INVALID, "stride_%c must be at least 1 (got 0)", letter);
    if (output_padding >= stride)
        return uc_fail(UC_INVALID,
                       "output_padding_%c must be less than stride_%c (got %zu and %zu)", letter,
                       letter, output_padding, stride);
    size_t reach = in - 1;
    if (!uc_size_mul(&reach, stride) || !uc_size_add(&reach, kernel) ||
        !uc_size_add(&reach, output_padding))
        return uc_fail(UC_INVALID,
                       "the convolution's %s overflows: %s %zu, kernel_%c %zu, stride_%c %zu, "
                       "output_padding_%c %zu",
                       size_names[i], size_names[i], in, letter, kernel, letter, stride, letter,
                       output_padding);
    if (padding >= reach - reach / 2) /* 2 * padding >= reach, without its overflow */
        return uc_fail(UC_INVALID,
                       "padding_%c %zu leaves no output along %s (%s %zu, kernel_%c %zu, "
                       "stride_%c %zu, output_padding_%c %zu)",
                       letter, padding, size_names[i], size_names[i], in, letter, kernel, letter,
                       stride, letter, output_padding);
    *out = reach - 2 * padding;
    return UC_OK;
}

static uc_status check_kernel_size(const uc_chain *chain, const uc_conv *conv) {
    size_t bytes = uc_dtype_bytes(chain->dtype);
    bool fits = uc_size_mul(&bytes, chain->out.channels) && uc_size_mul(&bytes, conv->out_channels);
    for (size_t i = 0; fits && i < UC_SPACE; i++)
        fits = uc_size_mul(&bytes, conv->kernel[i]);
    if (fits)
        return UC_OK;
    return uc_fail(UC_INVALID,
                   "kernel is too large: in_channels %zu x out_channels %zu x %zu x %zu x %zu taps "
                   "of %zu bytes exceed the largest object (%td bytes)",
                   chain->out.channels, conv->out_channels, conv->kernel[0], conv->kernel[1],
                   conv->kernel[2], uc_dtype_bytes(chain->dtype), PTRDIFF_MAX);
}

static uc_status conv_extent(const uc_chain *chain, const uc_conv *conv, uc_extent *out) {
    if (chain->conv_stage != UC_MAX_STAGES)
        return uc_fail(UC_INVALID, "a chain holds one conv_transpose (this is the second)");
    if (!conv->out_channels)
        return uc_fail(UC_INVALID, "out_channels must be at least 1 (got 0)");
    for (size_t i = first_dimension(chain); i < UC_SPACE; i++) {
        const uc_status status = conv_size(conv, i, chain->out.size[i], &out->size[i]);
        if (status != UC_OK)
            return status;
    }
    out->channels = conv->out_channels;
    return check_kernel_size(chain, conv);
}

static uc_status window_extent(const uc_chain *chain, const uc_stage *stage, uc_extent *out) {
    for (size_t i = first_dimension(chain); i < UC_SPACE; i++) {
        if (!stage->window[i])
            return uc_fail(UC_INVALID, "pool_kernel must be at least 1 (got 0)");
        out->size[i] /= stage->window[i];
        if (!out->size[i])
            return uc_fail(UC_INVALID,
                           "%s with pool_kernel %zu leaves no element along %s, which is %zu there",
                           uc_ops[stage->op].name, stage->window[i], size_names[i],
                           chain->out.size[i]);
    }
    return UC_OK;
}

static uc_status add_operand(uc_chain *chain, const char *name, const uc_shape *shape) {
    static const char *const reserved[] = {"input", "output"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(name, reserved[i]))
            return uc_fail(UC_INVALID, "an operand can't be named '%s'", name);
    for (size_t i = 0; i < chain->operand_count; i++)
        if (!strcmp(name, chain->operand[i].name))
            return uc_fail(UC_INVALID, "the operand name '%s' is used twice", name);
    assert(chain->operand_count < UC_MAX_OPERANDS);
    snprintf(chain->operand[chain->operand_count].name, UC_NAME_BYTES, "%s", name);
    chain->operand[chain->operand_count].shape = *shape;
    chain->operand_count++;
    return UC_OK;
}

/* A kernel (Cin, Cout, taps...), a bias, or one value per channel. */
static uc_status add_stage_operands(uc_chain *chain, const uc_stage *stage) {
    const uc_shape per_channel = {.ndim = 1, .dim = {stage->out.channels}};
    if (stage->op != UC_OP_conv_transpose)
        return *stage->operand ? add_operand(chain, stage->operand, &per_channel) : UC_OK;

    uc_shape kernel = {.ndim = 2 + chain->space, .dim = {stage->in.channels, stage->out.channels}};
    for (size_t i = 0; i < chain->space; i++)
        kernel.dim[2 + i] = stage->conv.kernel[first_dimension(chain) + i];
    uc_status status = add_operand(chain, "kernel", &kernel);
    if (status == UC_OK && stage->conv.bias)
        status = add_operand(chain, "conv_bias", &per_channel);
    return status;
}

uc_status uc_chain_push(uc_chain *chain, const uc_stage *stage) {
    if (chain->stage_count == UC_MAX_STAGES)
        return uc_fail(UC_INVALID, "a chain holds at most %d stages", UC_MAX_STAGES);

    uc_stage pushed = *stage;
    for (size_t i = 0; i < first_dimension(chain); i++) {
        pushed.window[i] = pushed.conv.kernel[i] = pushed.conv.stride[i] = 1;
        pushed.conv.padding[i] = pushed.conv.output_padding[i] = 0;
    }

    uc_extent out = chain->out;
    uc_status status = UC_OK;
    if (uc_ops[stage->op].needs == UC_NEEDS_TAPS)
        status = conv_extent(chain, &pushed.conv, &out);
    else if (uc_ops[stage->op].needs == UC_NEEDS_WINDOW)
        status = window_extent(chain, &pushed, &out);
    else if (stage->op == UC_OP_sum_channel)
        out.channels = 1;
    if (status == UC_OK)
        status = check_size(chain, uc_ops[stage->op].name, &out);
    if (status != UC_OK)
        return status;

    pushed.in = chain->out;
    pushed.out = out;
    pushed.first_operand = chain->operand_count;
    status = add_stage_operands(chain, &pushed);
    if (status != UC_OK) {
        chain->operand_count = pushed.first_operand;
        return status;
    }
    if (stage->op == UC_OP_conv_transpose)
        chain->conv_stage = chain->stage_count;
    chain->stage[chain->stage_count++] = pushed;
    chain->out = out;
    return UC_OK;
}

uc_status uc_chain_check(const uc_chain *chain) {
    if (!chain)
        return uc_fail(UC_INVALID, "chain must not be NULL");
    if (chain->conv_stage == UC_MAX_STAGES)
        return uc_fail(UC_INVALID, "a chain needs a conv_transpose (this one has none)");
    return UC_OK;
}

uc_status uc_check_tensor(const char *name, const void *tensor, size_t elems) {
    if (tensor || !elems)
        return UC_OK;
    return uc_fail(UC_INVALID, "%s must not be NULL (it has %zu elements)", name, elems);
}

uc_status uc_check_operands(const uc_chain *chain, const void *const operands[]) {
    if (!operands)
        return uc_fail(UC_INVALID, "operands must not be NULL");
    uc_status status = UC_OK;
    for (size_t i = 0; status == UC_OK && i < chain->operand_count; i++)
        status = uc_check_tensor(chain->operand[i].name, operands[i],
                                 uc_shape_elems(&chain->operand[i].shape));
    return status;
}

uc_status uc_check_apart(const char *name, const void *tensor, size_t bytes, const void *output,
                         size_t output_bytes) {
    if (!uc_overlap(tensor, bytes, output, output_bytes))
        return UC_OK;
    return uc_fail(UC_INVALID, "output must not overlap %s (%zu bytes at %p and %zu bytes at %p)",
                   name, output_bytes, output, bytes, tensor);
}

uc_status uc_check_operands_apart(const uc_chain *chain, const void *const operands[],
                                  const void *output, size_t output_bytes) {
    const size_t element_bytes = uc_dtype_bytes(chain->dtype);
    uc_status status = UC_OK;
    for (size_t i = 0; status == UC_OK && i < chain->operand_count; i++)
        status = uc_check_apart(chain->operand[i].name, operands[i],
                                uc_shape_elems(&chain->operand[i].shape) * element_bytes, output,
                                output_bytes);
    return status;
}

uc_dtype uc_chain_dtype(const uc_chain *chain) {
    return chain ? chain->dtype : UC_F32;
}

uc_shape uc_chain_input(const uc_chain *chain) {
    return chain ? shape_of(chain, &chain->in) : (uc_shape){0};
}

uc_shape uc_chain_output(const uc_chain *chain) {
    return chain ? shape_of(chain, &chain->out) : (uc_shape){0};
}

size_t uc_chain_operand_count(const uc_chain *chain) {
    return chain ? chain->operand_count : 0;
}

uc_operand uc_chain_operand(const uc_chain *chain, size_t index) {
    if (!chain || index >= chain->operand_count)
        return (uc_operand){0};
    return (uc_operand){chain->operand[index].name, chain->operand[index].shape};
}

/* The pairs (input i, tap k) with i * stride + k < limit. */
static double pairs_below(double limit, double in, double kernel, double stride) {
    if (limit <= 0)
        return 0;
    /* The first inputs have all their taps below the limit, then each has `stride` fewer. */
    const uint64_t steps = limit >= kernel ? (uint64_t)((limit - kernel) / stride) + 1 : 0;
    const double full = (double)steps < in ? (double)steps : in;
    const uint64_t reached = (uint64_t)((limit - 1) / stride) + 1;
    const double some = (double)reached < in ? (double)reached : in;
    return full * kernel + (some - full) * limit -
           stride * (some * (some - 1) - full * (full - 1)) / 2;
}

double uc_chain_flops(const uc_chain *chain) {
    if (!chain || chain->conv_stage == UC_MAX_STAGES)
        return 0;
    return (double)chain->batch_size * uc_chain_item_flops(chain);
}

double uc_chain_item_flops(const uc_chain *chain) {
    const uc_stage *conv = &chain->stage[chain->conv_stage];
    double flops = 2 * (double)conv->in.channels * (double)conv->out.channels;
    for (size_t i = 0; i < UC_SPACE; i++) {
        /* What pools drop at the end is not needed. */
        double needed = (double)chain->out.size[i];
        for (size_t s = chain->conv_stage + 1; s < chain->stage_count; s++)
            if (uc_ops[chain->stage[s].op].needs == UC_NEEDS_WINDOW)
                needed *= (double)chain->stage[s].window[i];
        const double in = (double)conv->in.size[i], kernel = (double)conv->conv.kernel[i],
                     stride = (double)conv->conv.stride[i], padding = (double)conv->conv.padding[i];
        flops *= pairs_below(needed + padding, in, kernel, stride) -
                 pairs_below(padding, in, kernel, stride);
    }
    return flops;
}
