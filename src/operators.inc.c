/* The typed calls of the five operators for one element type: parameters by name, nothing else.
 * Included by operators.c, which defines ELEMENT, DTYPE, NAME and the CONV_ and OUTPUT_PADDING_
 * lists. */

uc_status NAME(conv_transpose3d_avgpool_clamp_softmax_multiply)(
    const ELEMENT *input, const ELEMENT *kernel, const ELEMENT *scale, ELEMENT *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w,
    size_t output_padding_d, size_t output_padding_h, size_t output_padding_w, size_t pool_kernel,
    double clamp_min, double clamp_max) {
    const uc_operator_params params = {CONV_3D, OUTPUT_PADDING_3D, .pool_kernel = pool_kernel,
                                       .clamp_min = clamp_min, .clamp_max = clamp_max};
    return run_operator(AVGPOOL_CLAMP_SOFTMAX_MULTIPLY, DTYPE, &params, input,
                        (const void *[]){kernel, scale}, output);
}

uc_status NAME(conv_transpose3d_max_max_sum)(
    const ELEMENT *input, const ELEMENT *kernel, const ELEMENT *conv_bias, ELEMENT *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w) {
    const uc_operator_params params = {CONV_3D};
    return run_operator(MAX_MAX_SUM, DTYPE, &params, input, (const void *[]){kernel, conv_bias},
                        output);
}

uc_status NAME(conv_transpose3d_sum_layernorm_avgpool_gelu)(
    const ELEMENT *input, const ELEMENT *kernel, ELEMENT *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double sum_weight) {
    const uc_operator_params params = {CONV_3D, OUTPUT_PADDING_3D, .sum_weight = sum_weight};
    return run_operator(SUM_LAYERNORM_AVGPOOL_GELU, DTYPE, &params, input, (const void *[]){kernel},
                        output);
}

uc_status NAME(conv_transpose2d_softmax_biasadd_scaling_sigmoid)(
    const ELEMENT *input, const ELEMENT *kernel, const ELEMENT *conv_bias, const ELEMENT *add_bias,
    ELEMENT *output, double scaling_factor, size_t batch_size, size_t in_channels,
    size_t out_channels, size_t height, size_t width, size_t kernel_h, size_t kernel_w,
    size_t stride_h, size_t stride_w, size_t padding_h, size_t padding_w, size_t output_padding_h,
    size_t output_padding_w) {
    const uc_operator_params params = {CONV_2D, OUTPUT_PADDING_2D,
                                       .scaling_factor = scaling_factor};
    return run_operator(SOFTMAX_BIASADD_SCALING_SIGMOID, DTYPE, &params, input,
                        (const void *[]){kernel, conv_bias, add_bias}, output);
}

uc_status NAME(conv_transpose3d_layernorm_gelu_scaling)(
    const ELEMENT *input, const ELEMENT *kernel, ELEMENT *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double scaling_factor) {
    const uc_operator_params params = {CONV_3D, OUTPUT_PADDING_3D,
                                       .scaling_factor = scaling_factor};
    return run_operator(LAYERNORM_GELU_SCALING, DTYPE, &params, input, (const void *[]){kernel},
                        output);
}

#undef ELEMENT
#undef DTYPE
#undef NAME
