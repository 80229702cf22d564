/* Average pool of the input -> transposed convolution -> clamp -> softmax over all positions of a
 * channel -> times scale[c]. */
void solution(const T *input, const T *kernel, const T *scale, T *output, size_t batch_size,
              size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
              size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
              size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w,
              size_t output_padding_d, size_t output_padding_h, size_t output_padding_w,
              size_t pool_kernel, double clamp_min, double clamp_max) {
    const size_t p = pool_kernel, in[3] = {depth / p, height / p, width / p};
    const size_t taps[3] = {kernel_d, kernel_h, kernel_w};
    const size_t stride[3] = {stride_d, stride_h, stride_w};
    const size_t padding[3] = {padding_d, padding_h, padding_w};
    const size_t out[3] = {(in[0] - 1) * stride_d + kernel_d + output_padding_d - 2 * padding_d,
                           (in[1] - 1) * stride_h + kernel_h + output_padding_h - 2 * padding_h,
                           (in[2] - 1) * stride_w + kernel_w + output_padding_w - 2 * padding_w};
    const size_t positions = out[0] * out[1] * out[2];
    const T low = (T)clamp_min, high = (T)clamp_max;
    T *pooled = new_tensor(in_channels * in[0] * in[1] * in[2]);

    for (size_t b = 0; b < batch_size; b++) {
        T *pool = pooled;
        for (size_t c = 0; c < in_channels; c++)
            for (size_t d = 0; d < in[0]; d++)
                for (size_t h = 0; h < in[1]; h++)
                    for (size_t w = 0; w < in[2]; w++) {
                        T sum = 0;
                        for (size_t i = 0; i < p; i++)
                            for (size_t j = 0; j < p; j++)
                                for (size_t k = 0; k < p; k++)
                                    sum += input[(((b * in_channels + c) * depth + d * p + i) *
                                                      height +
                                                  h * p + j) *
                                                     width +
                                                 w * p + k];
                        *pool++ = sum / (T)(p * p * p);
                    }
        T *item = output + b * out_channels * positions;
        conv_transpose(pooled, kernel, NULL, item, in_channels, out_channels, in, taps, stride,
                       padding, out);
        for (size_t c = 0; c < out_channels; c++) {
            T *y = item + c * positions, largest = -(T)INFINITY, sum = 0;
            for (size_t o = 0; o < positions; o++) { /* NaN stays NaN */
                y[o] = y[o] < low ? low : y[o];
                y[o] = y[o] > high ? high : y[o];
                largest = y[o] > largest ? y[o] : largest;
            }
            for (size_t o = 0; o < positions; o++) {
                y[o] = exp(y[o] - largest);
                sum += y[o];
            }
            for (size_t o = 0; o < positions; o++)
                y[o] = y[o] / sum * scale[c];
        }
    }
    free(pooled);
}
