/* A program that uses the library as a stranger would: C11, and C++17 through consumer.cpp.
 * Prints the version; exits with 0 when one operator gives the right answer. */
#include <stdio.h>
#include <upconv.h>

int main(void) {
    /* A 1x1x1 kernel per channel: the maximum over 6x6x6 is the last value, 215, so the sum over
     * the channels is (215 * 1 + 0.5) + (215 * 2 + 0). */
    float input[6 * 6 * 6];
    const float kernel[2] = {1.0f, 2.0f};
    const float bias[2] = {0.5f, 0.0f};
    float output = 0.0f;
    for (int i = 0; i < 6 * 6 * 6; ++i) {
        input[i] = (float)i;
    }
    const uc_status status = uc_conv_transpose3d_max_max_sum_f32(
        input, kernel, bias, &output, 1, 1, 2, 6, 6, 6, 1, 1, 1, 1, 1, 1, 0, 0, 0);
    if (status != UC_OK || output != 645.5f) {
        fprintf(stderr, "%s (%s), output %g, expected 645.5\n", uc_status_string(status),
                uc_last_error(), (double)output);
        return 1;
    }
    printf("%s\n", uc_version());
    return 0;
}
