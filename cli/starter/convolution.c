/* A starter: right, and slow. Every stage is a loop of its own over the whole tensor; make it fast,
 * and let `upconv judge` say whether it is still right. */
#include <stddef.h>
#include <stdlib.h>
#include <tgmath.h>

#ifndef T
#define T float /* the element type */
#endif

static T *new_tensor(size_t elements) {
    T *tensor = malloc(elements * sizeof(T));
    if (!tensor)
        abort();
    return tensor;
}

/* The transposed convolution of one batch item: output o of input i and tap k is
 * i * stride - padding + k. Outputs that no tap reaches are the bias, or 0 where bias is NULL. */
static void conv_transpose(const T *input, const T *kernel, const T *bias, T *output,
                           size_t in_channels, size_t out_channels, const size_t in[3],
                           const size_t taps[3], const size_t stride[3], const size_t padding[3],
                           const size_t out[3]) {
    for (size_t co = 0; co < out_channels; co++) {
        T *to = output + co * out[0] * out[1] * out[2];
        for (size_t o = 0; o < out[0] * out[1] * out[2]; o++)
            to[o] = bias ? bias[co] : 0;
        for (size_t ci = 0; ci < in_channels; ci++) {
            const T *from = input + ci * in[0] * in[1] * in[2];
            const T *w = kernel + (ci * out_channels + co) * taps[0] * taps[1] * taps[2];
            for (size_t kd = 0; kd < taps[0]; kd++)
                for (size_t kh = 0; kh < taps[1]; kh++)
                    for (size_t kw = 0; kw < taps[2]; kw++, w++)
                        for (size_t d = 0; d < in[0]; d++)
                            for (size_t h = 0; h < in[1]; h++) {
                                /* An index below 0 wraps around to one that is far too large. */
                                const size_t od = d * stride[0] + kd - padding[0];
                                const size_t oh = h * stride[1] + kh - padding[1];
                                if (od >= out[0] || oh >= out[1])
                                    continue;
                                const T *row = from + (d * in[1] + h) * in[2];
                                T *to_row = to + (od * out[1] + oh) * out[2];
                                for (size_t i = 0; i < in[2]; i++) {
                                    const size_t o = i * stride[2] + kw - padding[2];
                                    if (o < out[2])
                                        to_row[o] += row[i] * *w;
                                }
                            }
        }
    }
}
