/* The largest value of the windows of a volume, whose remainder is dropped; a NaN wins. */
static void max_pool(const T *from, const size_t in[3], size_t window, T *to) {
    for (size_t d = 0; d < in[0] / window; d++)
        for (size_t h = 0; h < in[1] / window; h++)
            for (size_t w = 0; w < in[2] / window; w++) {
                T largest = -(T)INFINITY;
                for (size_t i = d * window; i < (d + 1) * window; i++)
                    for (size_t j = h * window; j < (h + 1) * window; j++)
                        for (size_t k = w * window; k < (w + 1) * window; k++) {
                            const T value = from[(i * in[1] + j) * in[2] + k];
                            if (value > largest || isnan(value))
                                largest = value;
                        }
                *to++ = largest;
            }
}

/* Transposed convolution + bias -> max pool 2 -> max pool 3 -> sum over channels. */
void solution(const T *input, const T *kernel, const T *conv_bias, T *output, size_t batch_size,
              size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
              size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
              size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w) {
    const size_t in[3] = {depth, height, width}, taps[3] = {kernel_d, kernel_h, kernel_w};
    const size_t stride[3] = {stride_d, stride_h, stride_w};
    const size_t padding[3] = {padding_d, padding_h, padding_w};
    const size_t out[3] = {(depth - 1) * stride_d + kernel_d - 2 * padding_d,
                           (height - 1) * stride_h + kernel_h - 2 * padding_h,
                           (width - 1) * stride_w + kernel_w - 2 * padding_w};
    const size_t half[3] = {out[0] / 2, out[1] / 2, out[2] / 2};
    const size_t volume = out[0] * out[1] * out[2], halved = half[0] * half[1] * half[2];
    const size_t positions = (half[0] / 3) * (half[1] / 3) * (half[2] / 3);
    T *conv = new_tensor(out_channels * volume);
    T *by_2 = new_tensor(halved), *by_3 = new_tensor(positions);

    for (size_t b = 0; b < batch_size; b++) {
        conv_transpose(input + b * in_channels * depth * height * width, kernel, conv_bias, conv,
                       in_channels, out_channels, in, taps, stride, padding, out);
        T *sum = output + b * positions;
        for (size_t o = 0; o < positions; o++)
            sum[o] = 0;
        for (size_t c = 0; c < out_channels; c++) {
            max_pool(conv + c * volume, out, 2, by_2);
            max_pool(by_2, half, 3, by_3);
            for (size_t o = 0; o < positions; o++)
                sum[o] += by_3[o];
        }
    }
    free(by_3);
    free(by_2);
    free(conv);
}
