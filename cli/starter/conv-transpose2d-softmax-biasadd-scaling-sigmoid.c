/* Transposed convolution + bias -> softmax over the channels of each position -> + add_bias[c]
 * -> times scaling_factor -> sigmoid. */
void solution(const T *input, const T *kernel, const T *conv_bias, const T *add_bias, T *output,
              double scaling_factor, size_t batch_size, size_t in_channels, size_t out_channels,
              size_t height, size_t width, size_t kernel_h, size_t kernel_w, size_t stride_h,
              size_t stride_w, size_t padding_h, size_t padding_w, size_t output_padding_h,
              size_t output_padding_w) {
    /* An image is a volume of depth 1. */
    const size_t in[3] = {1, height, width}, taps[3] = {1, kernel_h, kernel_w};
    const size_t stride[3] = {1, stride_h, stride_w}, padding[3] = {0, padding_h, padding_w};
    const size_t out[3] = {1, (height - 1) * stride_h + kernel_h + output_padding_h - 2 * padding_h,
                           (width - 1) * stride_w + kernel_w + output_padding_w - 2 * padding_w};
    const size_t positions = out[1] * out[2];

    for (size_t b = 0; b < batch_size; b++) {
        T *item = output + b * out_channels * positions;
        conv_transpose(input + b * in_channels * height * width, kernel, conv_bias, item,
                       in_channels, out_channels, in, taps, stride, padding, out);
        for (size_t o = 0; o < positions; o++) {
            T largest = -(T)INFINITY, sum = 0;
            for (size_t c = 0; c < out_channels; c++)
                largest = item[c * positions + o] > largest ? item[c * positions + o] : largest;
            for (size_t c = 0; c < out_channels; c++) {
                item[c * positions + o] = exp(item[c * positions + o] - largest);
                sum += item[c * positions + o];
            }
            for (size_t c = 0; c < out_channels; c++) {
                const T x = (item[c * positions + o] / sum + add_bias[c]) * (T)scaling_factor;
                item[c * positions + o] = 1 / (1 + exp(-x));
            }
        }
    }
}
