/* One wrapper per operator for the element type T, whose functions are called FN(stem).
 * Included by call.c once per element type. */

static uc_status FN(call_avgpool_clamp)(const uc_operator_params *p, const void *input,
                                        const void *const operands[], void *output) {
    return FN(uc_conv_transpose3d_avgpool_clamp_softmax_multiply)(
        (const T *)input, (const T *)operands[0], (const T *)operands[1], (T *)output,
        p->batch_size, p->in_channels, p->out_channels, p->depth, p->height, p->width, p->kernel_d,
        p->kernel_h, p->kernel_w, p->stride_d, p->stride_h, p->stride_w, p->padding_d, p->padding_h,
        p->padding_w, p->output_padding_d, p->output_padding_h, p->output_padding_w, p->pool_kernel,
        p->clamp_min, p->clamp_max);
}

static uc_status FN(call_max_max)(const uc_operator_params *p, const void *input,
                                  const void *const operands[], void *output) {
    return FN(uc_conv_transpose3d_max_max_sum)(
        (const T *)input, (const T *)operands[0], (const T *)operands[1], (T *)output,
        p->batch_size, p->in_channels, p->out_channels, p->depth, p->height, p->width, p->kernel_d,
        p->kernel_h, p->kernel_w, p->stride_d, p->stride_h, p->stride_w, p->padding_d, p->padding_h,
        p->padding_w);
}

static uc_status FN(call_sum_layernorm)(const uc_operator_params *p, const void *input,
                                        const void *const operands[], void *output) {
    return FN(uc_conv_transpose3d_sum_layernorm_avgpool_gelu)(
        (const T *)input, (const T *)operands[0], (T *)output, p->batch_size, p->in_channels,
        p->out_channels, p->depth, p->height, p->width, p->kernel_d, p->kernel_h, p->kernel_w,
        p->stride_d, p->stride_h, p->stride_w, p->padding_d, p->padding_h, p->padding_w,
        p->output_padding_d, p->output_padding_h, p->output_padding_w, p->sum_weight);
}

static uc_status FN(call_softmax_biasadd)(const uc_operator_params *p, const void *input,
                                          const void *const operands[], void *output) {
    return FN(uc_conv_transpose2d_softmax_biasadd_scaling_sigmoid)(
        (const T *)input, (const T *)operands[0], (const T *)operands[1], (const T *)operands[2],
        (T *)output, p->scaling_factor, p->batch_size, p->in_channels, p->out_channels, p->height,
        p->width, p->kernel_h, p->kernel_w, p->stride_h, p->stride_w, p->padding_h, p->padding_w,
        p->output_padding_h, p->output_padding_w);
}

static uc_status FN(call_layernorm_gelu)(const uc_operator_params *p, const void *input,
                                         const void *const operands[], void *output) {
    return FN(uc_conv_transpose3d_layernorm_gelu_scaling)(
        (const T *)input, (const T *)operands[0], (T *)output, p->batch_size, p->in_channels,
        p->out_channels, p->depth, p->height, p->width, p->kernel_d, p->kernel_h, p->kernel_w,
        p->stride_d, p->stride_h, p->stride_w, p->padding_d, p->padding_h, p->padding_w,
        p->output_padding_d, p->output_padding_h, p->output_padding_w, p->scaling_factor);
}
