/* Transposed convolution -> + sum_weight -> layer norm over the channels of each position
 * -> average pool 2 -> GELU. */
void solution(const T *input, const T *kernel, T *output, size_t batch_size, size_t in_channels,
              size_t out_channels, size_t depth, size_t height, size_t width, size_t kernel_d,
              size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h, size_t stride_w,
              size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
              size_t output_padding_h, size_t output_padding_w, double sum_weight) {
    const size_t in[3] = {depth, height, width}, taps[3] = {kernel_d, kernel_h, kernel_w};
    const size_t stride[3] = {stride_d, stride_h, stride_w};
    const size_t padding[3] = {padding_d, padding_h, padding_w};
    const size_t out[3] = {(depth - 1) * stride_d + kernel_d + output_padding_d - 2 * padding_d,
                           (height - 1) * stride_h + kernel_h + output_padding_h - 2 * padding_h,
                           (width - 1) * stride_w + kernel_w + output_padding_w - 2 * padding_w};
    const size_t volume = out[0] * out[1] * out[2];
    T *conv = new_tensor(out_channels * volume), *to = output;

    for (size_t b = 0; b < batch_size; b++) {
        conv_transpose(input + b * in_channels * depth * height * width, kernel, NULL, conv,
                       in_channels, out_channels, in, taps, stride, padding, out);
        for (size_t i = 0; i < out_channels * volume; i++)
            conv[i] += (T)sum_weight;
        for (size_t o = 0; o < volume; o++) {
            T mean = 0, variance = 0;
            for (size_t c = 0; c < out_channels; c++)
                mean += conv[c * volume + o];
            mean /= (T)out_channels;
            for (size_t c = 0; c < out_channels; c++) {
                const T off = conv[c * volume + o] - mean;
                variance += off * off;
            }
            variance /= (T)out_channels;
            for (size_t c = 0; c < out_channels; c++)
                conv[c * volume + o] = (conv[c * volume + o] - mean) / sqrt(variance + (T)1e-5);
        }
        for (size_t c = 0; c < out_channels; c++)
            for (size_t d = 0; d < out[0] / 2; d++)
                for (size_t h = 0; h < out[1] / 2; h++)
                    for (size_t w = 0; w < out[2] / 2; w++) {
                        T sum = 0;
                        for (size_t i = 0; i < 8; i++)
                            sum +=
                                conv[((c * out[0] + 2 * d + i / 4) * out[1] + 2 * h + i / 2 % 2) *
                                         out[2] +
                                     2 * w + i % 2];
                        const T x = sum / 8;
                        *to++ = x / 2 * (1 + erf(x * (T)0.70710678118654752440));
                    }
    }
    free(conv);
}
