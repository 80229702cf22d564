/* A starter: right, and slow. Every stage is a loop of its own over the whole tensor; make it fast,
 * and let `upconv judge` say whether it is still right. */
#include <stddef.h>
#include <stdlib.h>
#include <tgmath.h>

#ifndef T
#define T float /* the element type */
#endif

static inline T *new_tensor(size_t elements) {
    T *tensor = malloc(elements * sizeof(T));
    if (!tensor)
        abort();
    return tensor;
}

/* Adds a row of the input, times the taps of a row of the kernel, to a row of the output: input i
 * and tap k meet at output i * stride - padding + k. */
static void add_row(const T *from, size_t in, const T *weights, size_t taps, size_t stride,
                    size_t padding, T *to, size_t out) {
    for (size_t k = 0; k < taps; k++) {
        size_t first = 0, end = in; /* the inputs that stay inside */
        while (first < end && first * stride + k < padding)
            first++;
        while (first < end && (end - 1) * stride + k >= out + padding)
            end--;
        const T weight = weights[k];
        for (size_t i = first; i < end; i++)
            to[i * stride + k - padding] += from[i] * weight;
    }
}

/* The transposed convolution of one batch item. Outputs that no tap reaches are the bias, or 0
 * where bias is NULL. */
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
            const T *weights = kernel + (ci * out_channels + co) * taps[0] * taps[1] * taps[2];
            for (size_t d = 0; d < in[0]; d++)
                for (size_t h = 0; h < in[1]; h++)
                    for (size_t kd = 0; kd < taps[0]; kd++)
                        for (size_t kh = 0; kh < taps[1]; kh++) {
                            /* An index below 0 wraps around to one that is far too large. */
                            const size_t od = d * stride[0] + kd - padding[0];
                            const size_t oh = h * stride[1] + kh - padding[1];
                            if (od < out[0] && oh < out[1])
                                add_row(from + (d * in[1] + h) * in[2], in[2],
                                        weights + (kd * taps[1] + kh) * taps[2], taps[2], stride[2],
                                        padding[2], to + (od * out[1] + oh) * out[2], out[2]);
                        }
        }
    }
}
