/* Every error of every operator: the status, a message that names the parameter and its value, and
 * an output that nobody touched. Run by CTest. */
#include "call.h"
#include "data.h"
#include "params.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A call that would succeed, until one thing about it is changed. */
struct call {
    const struct operator_info *op;
    uc_dtype dtype;
    uc_operator_params params;
    const void *input;
    const void *operands[MOST_OPERANDS];
    struct buffer output;
};

static uc_status make(const struct call *call) {
    return call_operator(call->op->slug, call->dtype, &call->params, call->input, call->operands,
                         call->output.data);
}

static void poison(struct buffer *output) {
    memset(output->data, 0x5A, output->bytes);
}

static bool is_poisoned(const struct buffer *output) {
    const unsigned char *bytes = output->data;
    for (size_t i = 0; i < output->bytes; i++)
        if (bytes[i] != 0x5A)
            return false;
    return buffer_intact(output);
}

/* Both texts must stand in the message; "" stands in any. */
static void expect_invalid(struct call *call, const char *what, const char *name,
                           const char *value) {
    poison(&call->output);
    const uc_status status = make(call);
    char *label = check_text("%s %s, %s", call->op->slug, uc_dtype_name(call->dtype), what);
    const char *message = uc_last_error();
    if (check_status(label, UC_INVALID, status)) {
        CHECK(message[0] && !strchr(message, '\n'), "%s: not one line: '%s'", label, message);
        CHECK(strstr(message, name), "%s: '%s' does not name %s", label, message, name);
        CHECK(strstr(message, value), "%s: '%s' does not say %s", label, message, value);
    }
    CHECK(is_poisoned(&call->output), "%s: the output was touched", label);
    free(label);
}

static void expect_bad_size(const struct call *good, const struct param *param, size_t value,
                            const char *name) {
    struct call call = *good;
    char *text = check_text("%zu", value), *what = check_text("%s = %zu", param->name, value);
    *param_size(&call.params, param) = value;
    expect_invalid(&call, what, name, *name ? text : "");
    free(what);
    free(text);
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static void check_zeros(const struct call *good) {
    for (size_t i = 0; i < param_count; i++)
        if (operator_has(good->op, &params[i]) && !params[i].may_be_zero)
            expect_bad_size(good, &params[i], 0, params[i].name);
}

static void check_output_padding(const struct call *good) {
    for (size_t i = 0; i < param_count; i++) {
        if (!operator_has(good->op, &params[i]) || !starts_with(params[i].name, "output_padding"))
            continue;
        /* stride_x stands six places before output_padding_x. */
        uc_operator_params values = good->params;
        const size_t stride = *param_size(&values, &params[i - 6]);
        expect_bad_size(good, &params[i], stride, params[i].name);
        expect_bad_size(good, &params[i], stride + 3, params[i].name);
        expect_bad_size(good, &params[i], SIZE_MAX, params[i].name);
    }
}

/* 2 * padding takes away everything, or wraps around to something harmless. */
static void check_padding(const struct call *good) {
    const size_t values[] = {1000, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 2, SIZE_MAX};
    for (size_t i = 0; i < param_count; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            if (operator_has(good->op, &params[i]) && starts_with(params[i].name, "padding"))
                expect_bad_size(good, &params[i], values[k], params[i].name);
}

/* The smallest padding that leaves nothing, where no pool comes in between. */
static void check_padding_edge(const struct call *good) {
    struct call call = *good;
    call.params.height = 2;
    call.params.kernel_h = 3;
    call.params.stride_h = 1;
    call.params.output_padding_h = 0; /* 4 rows */
    call.params.padding_h = 2;
    expect_invalid(&call, "padding_h takes all 4 rows", "padding_h", "2");
}

/* One convolution output in this dimension, which no pool of 2 can use. */
static void check_empty_pools(const struct call *good) {
    for (int d = 0; d < 3; d++) {
        struct call call = *good;
        size_t *const size[] = {&call.params.depth, &call.params.height, &call.params.width};
        size_t *const kernel[] = {&call.params.kernel_d, &call.params.kernel_h,
                                  &call.params.kernel_w};
        size_t *const padding[] = {&call.params.padding_d, &call.params.padding_h,
                                   &call.params.padding_w};
        size_t *const extra[] = {&call.params.output_padding_d, &call.params.output_padding_h,
                                 &call.params.output_padding_w};
        *size[d] = *kernel[d] = 1;
        *padding[d] = *extra[d] = 0;
        if (call.op->letter == 'm' || call.op->letter == 's' || call.op->letter == 'a')
            expect_invalid(&call, "a pool without any window", "pool", "");
        *kernel[d] = 5; /* enough for the pool of 2, not for that of 3 after it */
        if (call.op->letter == 'm')
            expect_invalid(&call, "a second pool without any window", "pool", "");
    }
}

static bool is_object(long double elems, uc_dtype dtype) {
    return elems >= 1 && elems * uc_dtype_bytes(dtype) <= (long double)PTRDIFF_MAX;
}

/* Whether every tensor of the operator has elements and fits an object, in arithmetic that does
 * not wrap. */
static bool is_possible(const struct operator_info *op, uc_dtype dtype,
                        const uc_operator_params *values) {
    const struct problem problem = problem_of_operator(op->slug, dtype, values);
    long double channels = problem.channels, size[3], kernel_elems = 1;
    for (int d = 0; d < 3; d++)
        size[d] = problem.size[d];
    bool is_possible = is_object(problem.batch * channels * size[0] * size[1] * size[2], dtype);
    for (size_t i = 0; i < problem.stage_count; i++) {
        const struct stage *stage = &problem.stage[i];
        for (int d = 0; d < 3; d++) {
            const long double kernel = stage->kernel[d], stride = stage->stride[d];
            if (stage->kind == STAGE_CONV) {
                size[d] = (size[d] - 1) * stride - 2 * (long double)stage->padding[d] + kernel +
                          stage->output_padding[d];
                is_possible = is_possible && stage->output_padding[d] < stage->stride[d];
                kernel_elems *= kernel;
            } else if (stage->kind == STAGE_AVGPOOL || stage->kind == STAGE_MAXPOOL) {
                size[d] = floorl(size[d] / kernel);
            }
            is_possible = is_possible && size[d] >= 1;
        }
        if (stage->kind == STAGE_CONV) {
            is_possible =
                is_possible && is_object(kernel_elems * channels * stage->out_channels, dtype);
            channels = stage->out_channels;
        }
        if (stage->kind == STAGE_SUM_CHANNEL)
            channels = 1;
        is_possible =
            is_possible && is_object(problem.batch * channels * size[0] * size[1] * size[2], dtype);
    }
    return is_possible;
}

/* Sizes whose products wrap around, alone and together. */
static void check_overflow(const struct call *good) {
    const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 2, SIZE_MAX / 4 + 1,
                           SIZE_MAX / 8 + 1};
    for (size_t i = 0; i < param_count; i++)
        for (size_t k = 0; k < sizeof huge / sizeof *huge; k++)
            if (operator_has(good->op, &params[i]) && !params[i].is_real)
                expect_bad_size(good, &params[i], huge[k], "");

    const size_t half = (size_t)1 << (sizeof(size_t) * 4); /* half * half wraps to 0 */
    for (size_t i = 0; i < param_count; i++)
        for (size_t k = 0; k < i; k++) {
            struct call call = *good;
            if (!operator_has(call.op, &params[i]) || !operator_has(call.op, &params[k]) ||
                params[i].is_real || params[k].is_real)
                continue;
            *param_size(&call.params, &params[i]) = half;
            *param_size(&call.params, &params[k]) = half;
            char *what = check_text("%s and %s = %zu", params[i].name, params[k].name, half);
            if (is_possible(call.op, call.dtype, &call.params)) {
                uc_chain *chain = NULL; /* too large to run, but a shape like any other */
                check_status(what, UC_OK,
                             uc_operator_chain(call.op->slug, call.dtype, &call.params, &chain));
                uc_chain_destroy(chain);
            } else {
                expect_invalid(&call, what, "", "");
            }
            free(what);
        }
}

/* An input of exactly PTRDIFF_MAX + 1 bytes, and one that just fits with an output that doesn't. */
static void check_largest_object(const struct call *good) {
    struct call call = *good;
    call.params.in_channels = 4;
    call.params.depth = call.params.height = call.params.width = 8;
    const bool is_2d = call.op->letter == 't';
    const size_t item_bytes = 4 * 8 * 8 * (is_2d ? 1 : 8) * uc_dtype_bytes(call.dtype);
    call.params.batch_size = (size_t)PTRDIFF_MAX / item_bytes + 1;
    expect_invalid(&call, "input of PTRDIFF_MAX + 1 bytes", "input", "batch_size");
    call.params.batch_size--;
    call.params.out_channels = 64;
    if (call.op->letter != 'm') /* whose output is smaller than its input */
        expect_invalid(&call, "output beyond PTRDIFF_MAX bytes", "too large", "batch_size");
}

static void check_nulls(const struct call *good) {
    struct call call = *good;
    call.input = NULL;
    expect_invalid(&call, "NULL input", "input", "NULL");
    for (size_t i = 0; i < good->op->operand_count; i++) {
        call = *good;
        call.operands[i] = NULL;
        expect_invalid(&call, "NULL operand", good->op->operand[i], "NULL");
    }
    call = *good;
    call.output = (struct buffer){0};
    check_status("NULL output", UC_INVALID, make(&call));
    CHECK(strstr(uc_last_error(), "output") && strstr(uc_last_error(), "NULL"),
          "'%s' does not say that output is NULL", uc_last_error());
}

/* Puts a copy of one tensor between two outputs' worth of room; the output then starts at `shift`
 * bytes after the tensor does. Returns the status of the call. */
static uc_status call_shifted(const struct call *good, const void **tensor, size_t tensor_bytes,
                              ptrdiff_t shift, bool *is_changed) {
    const size_t output_bytes = good->output.bytes;
    struct buffer arena =
        buffer_new(2 * output_bytes + tensor_bytes, uc_dtype_bytes(good->dtype), GUARD_MISALIGNED);
    char *copy = (char *)arena.data + output_bytes;
    memset(arena.data, 0x5A, arena.bytes);
    memcpy(copy, *tensor, tensor_bytes);
    char *before = check_alloc(arena.bytes);
    memcpy(before, arena.data, arena.bytes);

    const void *original = *tensor;
    *tensor = copy; /* the tensor is one of *good's */
    struct call call = *good;
    call.output.data = copy + shift;
    const uc_status status = make(&call);
    *tensor = original;
    *is_changed = memcmp(before, arena.data, arena.bytes) != 0 || !buffer_intact(&arena);
    free(before);
    buffer_free(&arena);
    return status;
}

static void check_overlap_with(struct call *good, const char *name, const void **tensor,
                               size_t bytes) {
    const ptrdiff_t element = (ptrdiff_t)uc_dtype_bytes(good->dtype);
    const ptrdiff_t output_bytes = (ptrdiff_t)good->output.bytes;
    const ptrdiff_t overlapping[] = {0, element - output_bytes, (ptrdiff_t)bytes - element};
    const ptrdiff_t touching[] = {-output_bytes, (ptrdiff_t)bytes};
    bool is_changed;
    for (size_t i = 0; i < 3; i++) {
        check_status("overlap", UC_INVALID,
                     call_shifted(good, tensor, bytes, overlapping[i], &is_changed));
        CHECK(!is_changed, "%s: memory changed although output overlaps %s", good->op->slug, name);
        CHECK(strstr(uc_last_error(), "overlap") && strstr(uc_last_error(), name),
              "'%s' does not say that output overlaps %s", uc_last_error(), name);
    }
    for (size_t i = 0; i < 2; i++) {
        check_status("neighbours", UC_OK,
                     call_shifted(good, tensor, bytes, touching[i], &is_changed));
        CHECK(is_changed, "%s: nothing was written next to %s", good->op->slug, name);
    }
}

static void check_overlap(struct call *good, const struct data *data) {
    check_overlap_with(good, "input", &good->input, data->input.bytes);
    for (size_t i = 0; i < data->operand_count; i++)
        check_overlap_with(good, good->op->operand[i], &good->operands[i], data->operand[i].bytes);
}

static void check_empty_batch(const struct call *good) {
    struct call call = *good;
    call.params.batch_size = 0;
    poison(&call.output);
    check_status("batch_size 0", UC_OK, make(&call));
    CHECK(is_poisoned(&call.output), "batch_size 0 wrote something");
    call.params.stride_h = 0;
    expect_invalid(&call, "batch_size 0 and stride_h 0", "stride_h", "0");
    call.params.stride_h = good->params.stride_h;
    call.operands[0] = NULL;
    expect_invalid(&call, "batch_size 0 and no kernel", "kernel", "NULL");
    call.operands[0] = good->operands[0];
    call.input = NULL;
    call.output = (struct buffer){0};
    check_status("batch_size 0 without input and output", UC_OK, make(&call));
}

/* All elements become clamp_max, as with both bounds there. */
static void check_crossed_clamp(const struct call *good) {
    struct call call = *good;
    call.params.clamp_max = call.params.clamp_min - 1;
    check_status("crossed clamp", UC_OK, make(&call));
    char *crossed = check_alloc(call.output.bytes);
    memcpy(crossed, call.output.data, call.output.bytes);
    call.params.clamp_min = call.params.clamp_max;
    poison(&call.output);
    check_status("closed clamp", UC_OK, make(&call));
    CHECK(memcmp(crossed, call.output.data, call.output.bytes) == 0,
          "clamp_min > clamp_max is not clamp_max everywhere");
    free(crossed);
}

static void check_operator(const struct operator_info *op, uc_dtype dtype) {
    const uc_operator_params values = params_small();
    const struct problem problem = problem_of_operator(op->slug, dtype, &values);
    struct data data = data_new(&problem, GUARD_ALIGNED);
    data_fill(&data, &problem, 1, FAMILY_NORMAL);
    struct call good = {.op = op,
                        .dtype = dtype,
                        .params = values,
                        .input = data.input.data,
                        .output = output_new(&problem, GUARD_ALIGNED)};
    memcpy(good.operands, data.operands, sizeof good.operands);
    if (check_status(op->slug, UC_OK, make(&good))) {
        check_zeros(&good);
        check_output_padding(&good);
        check_padding(&good);
        check_padding_edge(&good);
        check_empty_pools(&good);
        check_overflow(&good);
        check_largest_object(&good);
        check_nulls(&good);
        check_overlap(&good, &data);
        check_empty_batch(&good);
        if (op->letter == 'a')
            check_crossed_clamp(&good);
    }
    buffer_free(&good.output);
    data_free(&data);
}

int main(void) {
    CHECK(uc_last_error()[0] == 0, "an error before any call: '%s'", uc_last_error());
    for (size_t i = 0; i < operator_total; i++)
        for (int dtype = UC_F32; dtype <= UC_BF16; dtype++)
            check_operator(&operators[i], (uc_dtype)dtype);
    return check_done();
}
