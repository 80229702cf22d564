/* A loop of independent multiply-adds that never leaves the registers.
 * Included by machine.c once per element type REAL and vector width BYTES. */
#ifndef TARGET
#define TARGET
#endif

typedef REAL FN(vector) __attribute__((vector_size(BYTES)));

TARGET static double FN(peak)(void) {
    FN(vector) sum[ACCUMULATORS], factor = {0}, term = {0};
    /* The compiler must not know them: it could foresee the result. They converge to 1. */
    volatile REAL half = (REAL)0.5;
    factor += half;
    term += half;
    for (size_t k = 0; k < ACCUMULATORS; k++)
        sum[k] = factor * (REAL)k;
    for (size_t i = 0; i < PEAK_ROUNDS; i++) {
#pragma GCC unroll 12
        for (size_t k = 0; k < ACCUMULATORS; k++)
            sum[k] = sum[k] * factor + term;
    }
    FN(vector) all = sum[0];
    for (size_t k = 1; k < ACCUMULATORS; k++)
        all += sum[k];
    return (double)all[0];
}

#undef TARGET
#undef REAL
#undef BYTES
#undef FN
