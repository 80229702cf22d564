/* Transposed convolution -> layer norm over the channels of each position -> GELU
 * -> times scaling_factor. */
void solution(const T *input, const T *kernel, T *output, size_t batch_size, size_t in_channels,
              size_t out_channels, size_t depth, size_t height, size_t width, size_t kernel_d,
              size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h, size_t stride_w,
              size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
              size_t output_padding_h, size_t output_padding_w, double scaling_factor) {
    const size_t in[3] = {depth, height, width}, taps[3] = {kernel_d, kernel_h, kernel_w};
    const size_t stride[3] = {stride_d, stride_h, stride_w};
    const size_t padding[3] = {padding_d, padding_h, padding_w};
    const size_t out[3] = {(depth - 1) * stride_d + kernel_d + output_padding_d - 2 * padding_d,
                           (height - 1) * stride_h + kernel_h + output_padding_h - 2 * padding_h,
                           (width - 1) * stride_w + kernel_w + output_padding_w - 2 * padding_w};
    const size_t positions = out[0] * out[1] * out[2];

    for (size_t b = 0; b < batch_size; b++) {
        T *item = output + b * out_channels * positions;
        conv_transpose(input + b * in_channels * depth * height * width, kernel, NULL, item,
                       in_channels, out_channels, in, taps, stride, padding, out);
        for (size_t o = 0; o < positions; o++) {
            T mean = 0, variance = 0;
            for (size_t c = 0; c < out_channels; c++)
                mean += item[c * positions + o];
            mean /= (T)out_channels;
            for (size_t c = 0; c < out_channels; c++) {
                const T off = item[c * positions + o] - mean;
                variance += off * off;
            }
            variance /= (T)out_channels;
            for (size_t c = 0; c < out_channels; c++) {
                const T x = (item[c * positions + o] - mean) / sqrt(variance + (T)1e-5);
                item[c * positions + o] =
                    x / 2 * (1 + erf(x * (T)0.70710678118654752440)) * (T)scaling_factor;
            }
        }
    }
}
