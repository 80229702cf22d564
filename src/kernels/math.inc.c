/* exp, GELU and sigmoid on vectors.
 * Included by kernels.inc.c; called by the ops. Coefficients are minimax fits of the relative
 * error: the exponential on [-ln 2 / 2, ln 2 / 2] and [-1, 0], Phi(-a) * exp(a^2 / 2) in t = (a -
 * k) / (a + k) from 0 to past the end of the type, and Phi(-a)^(1/4) on [0, 3.5]. */

#if REAL_IS_DOUBLE
#define MANTISSA_BITS 52
#define EXP_UP 512
#define EXP_DOWN 0x1p-512
#define EXP_LOWEST -746.0            /* e to that is 0 */
#define EXP_LN2_HIGH 0x1.62e42feep-1 /* few enough bits that n times it is exact */
#define EXP_LN2_LOW 0x1.a39ef35793c76p-33
#define EXP_DEGREE 11
#define TAIL_K 5
#define TAIL_END 39 /* Phi(-39) is 0 */
#define TAIL_DEGREE 22
/* without the constant one, 1 */
static const double NAME(exp_coefficients)[] = {
    1.0,
    0.50000000000000177735,
    0.16666666666666166211,
    0.041666666666492075491,
    0.0083333333335601570798,
    0.0013888888951410092322,
    0.00019841269431490030315,
    0.000024801486320738795558,
    2.7557623105475205444e-6,
    2.7632367970425102655e-7,
    2.499425709266684349e-8,
};
#define NARROW_DEGREE 12
static const double NAME(narrow_coefficients)[] = {
    0.60653065971263342231,    0.60653065971263335511,    0.30326532985631708384,
    0.10108844328544680472,    0.025272110821342561586,   0.0050544221640135855153,
    0.00084240369433122596906, 0.00012034338846585500396, 0.000015042921006593112956,
    1.671411574703405649e-6,   1.6715026972347138955e-7,  1.527349640556931906e-8,
    1.260598215731099021e-9,
};
static const double NAME(tail_coefficients)[] = {
    0.076919304975006295913,    -0.14345755526401197375,     0.11606881188600329394,
    -0.080883877264127260021,   0.047855352284169984838,     -0.023413900487695821487,
    0.0089913705505910270679,   -0.0023788443566564868736,   0.00021955073761321639262,
    0.00013427684325767934883,  -0.000060427482764023531441, 9.6130609651341940524e-7,
    6.6444212132758721981e-6,   -1.2700747985751808638e-6,   -6.7507869512070923903e-7,
    2.4334347339762076953e-7,   7.7107252933670004239e-8,    -3.91627080043705955e-8,
    -1.0994101983627349048e-8,  5.6847398536219423885e-9,    1.8241833862317401034e-9,
    -5.6810448812029579023e-10, -2.3100745007217415434e-10,
};
#define NEAR_DEGREE 21
static const double NAME(near_coefficients)[] = {
    0.44737885233849860998,     -0.24088529877616557349,    0.016222322892723377024,
    0.013235873223033550927,    -0.0019143543131756203273,  -0.00052499651811258528213,
    0.0001203418546507092413,   0.000010659605896249830525, -4.4226426714135923827e-6,
    -1.8425829342265314612e-8,  9.9370933497310758027e-8,   -2.747435368899371478e-9,
    -1.8287733954529712546e-9,  5.3788086255788113514e-11,  4.500817635144369229e-11,
    -4.4554008769320318954e-12, -4.1884111717719917653e-13, 1.2347880361240834279e-13,
    -2.302133436078963098e-14,  4.076560820515081569e-15,   1.7001688647195792954e-16,
    -1.3524930595489273035e-16,
};
#else
#define MANTISSA_BITS 23
#define EXP_UP 64
#define EXP_DOWN 0x1p-64f
#define EXP_LOWEST -104.0f
#define EXP_LN2_HIGH 0x1.62e4p-1f
#define EXP_LN2_LOW 0x1.7f7d1cp-20f
#define EXP_DEGREE 6
#define TAIL_K 3
#define TAIL_END 15
#define TAIL_DEGREE 9
/* without the constant one, 1 */
static const float NAME(exp_coefficients)[] = {
    1.0f,
    0.49999992056119701231f,
    0.16666419680857871919f,
    0.041668228679853750789f,
    0.0083748570487936426061f,
    0.0013836794166131717975f,
};
#define NARROW_DEGREE 6
static const float NAME(narrow_coefficients)[] = {
    0.60653066589366369015f,    0.60653085088132344645f,  0.30326490089091993847f,
    0.10108207859845269406f,    0.025276188379058301373f, 0.0051064862874823750322f,
    0.00083584593496927764304f,
};
static const float NAME(tail_coefficients)[] = {
    0.12151394748982385956f,     -0.20640262069906971092f,    0.12322504339072838126f,
    -0.046213257945598666613f,   0.006131916294794444817f,    0.0029043530756076998676f,
    -0.00098319474438119690036f, -0.00033891920782560119846f, 0.00011491029553018614176f,
    0.000053063075330663434656f,
};
#define NEAR_DEGREE 10
static const float NAME(near_coefficients)[] = {
    0.4473788544756760749f,     -0.24088530039783767647f,    0.016222281873742284254f,
    0.013235895479914901956f,   -0.0019142270285721516375f,  -0.00052505316744865174155f,
    0.00012019717501971497618f, 0.000010711341154191181024f, -4.3479112886030375101e-6f,
    -3.8046040592559949551e-8f, 8.1222965450102056218e-8f,
};
#endif
#define NEAR_END ((REAL)3.5)
#define NEAR_CENTRE ((REAL)1.75) /* around which cancellation is least */
#define EXP_SHIFT ((REAL)((INTEGER)3 << (MANTISSA_BITS - 1))) /* 1.5 * 2^MANTISSA_BITS */

/* A polynomial with its coefficients from the constant one up. */
INLINE vec NAME(polynomial)(vec x, const REAL *coefficients, int degree) {
    vec value = splat(coefficients[degree]);
    UNROLL
    for (int i = degree - 1; i >= 0; i--)
        value = value * x + coefficients[i];
    return value;
}

/* The same of several vectors, each as two sums, of the even powers and of the odd ones: so many
 * multiply-adds side by side keep a CPU busy, which sees only a few of them ahead. `count`, at most
 * 4, is a constant where this is expanded. */
INLINE void NAME(polynomials)(const size_t count, const vec *x, const REAL *coefficients,
                              const int degree, vec *values) {
    vec square[4], first[4], second[4];
    UNROLL for (size_t v = 0; v < count; v++) {
        square[v] = x[v] * x[v];
        first[v] = splat(coefficients[degree]);
        second[v] = splat(coefficients[degree - 1]);
    }
    UNROLL for (int i = degree - 2; i >= 1; i -= 2) {
        const vec odd = splat(coefficients[i]), even = splat(coefficients[i - 1]);
        UNROLL for (size_t v = 0; v < count; v++) first[v] = first[v] * square[v] + odd;
        UNROLL for (size_t v = 0; v < count; v++) second[v] = second[v] * square[v] + even;
    }
    UNROLL for (size_t v = 0; v < count; v++) values[v] =
        degree % 2 ? first[v] * x[v] + second[v]
                   : (first[v] * square[v] + coefficients[0]) + second[v] * x[v];
}

INLINE vec NAME(polynomial_by_halves)(vec x, const REAL *coefficients, const int degree) {
    vec value;
    NAME(polynomials)(1, &x, coefficients, degree, &value);
    return value;
}

/* e^x for x <= 0, to about 1 ulp down to where the type ends; NaN for NaN. */
INLINE vec NAME(exp)(vec x) {
    x = greater(splat(EXP_LOWEST), x);
    /* x = n * ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^MANTISSA_BITS rounds to an integer,
     * which then sits in the low bits, and EXP_UP with it. */
    const vec shifted = x * (REAL)1.4426950408889634 + (EXP_SHIFT + EXP_UP);
    const vec n = shifted - (EXP_SHIFT + EXP_UP);
    const vec r = x - n * EXP_LN2_HIGH - n * EXP_LN2_LOW;
    const vec power = 1 + r * NAME(polynomial_by_halves)(r, NAME(exp_coefficients), EXP_DEGREE - 1);
    /* Times 2^n in two steps, so that subnormal results come out right: up to where all are normal,
     * by the exponent's bits, and down again. (Garbage between rows may be above 0, and wraps.) */
    return (vec)((uvec)power + ((uvec)shifted << MANTISSA_BITS)) * EXP_DOWN;
}

/* e^(x - 1/2) of some vectors with -1/2 <= x <= 1/2: one polynomial, in half the time. Several keep
 * a CPU busy as they are, with a multiplication less each. `count` is a constant where this is
 * expanded. */
INLINE void NAME(exp_narrow)(const size_t count, vec *x) {
    const REAL *coefficients = NAME(narrow_coefficients);
    if (count == 1) {
        *x = NAME(polynomial_by_halves)(*x, coefficients, NARROW_DEGREE);
        return;
    }
    vec value[12];
    UNROLL for (size_t v = 0; v < count; v++) value[v] = splat(coefficients[NARROW_DEGREE]);
    UNROLL for (int i = NARROW_DEGREE - 1; i >= 0; i--) UNROLL for (size_t v = 0; v < count; v++)
        value[v] = value[v] * x[v] + coefficients[i];
    UNROLL for (size_t v = 0; v < count; v++) x[v] = value[v];
}

/* Phi(-a) for 0 <= a <= TAIL_END, with a small relative error down to where the type ends. */
INLINE vec NAME(normal_tail)(vec a) {
    const vec t = (a - TAIL_K) / (a + TAIL_K);
    const vec smooth = NAME(polynomial)(t, NAME(tail_coefficients), TAIL_DEGREE);
    /* -a^2 / 2 as a sum of two: a rounding error of the square alone would be multiplied by it.
     * The square of the upper half of a's bits is exact. */
    const vec upper = (vec)((ivec)a & -((INTEGER)1 << (MANTISSA_BITS / 2 + 1)));
    const vec square = upper * upper * (REAL)-0.5, more = (a + upper) * (a - upper) * (REAL)-0.5;
    const vec sum = square + more, lost = more - (sum - square);
    const vec power = NAME(exp)(sum);
    return (power + power * lost) * smooth;
}

/* GELU where |x| <= NEAR_END: Phi(-a) = q(a)^4, with no exponential and no division. q of some
 * vectors, and what it makes of one. */
INLINE void NAME(near_roots)(const size_t count, const vec *x, vec *q) {
    vec away[4];
    UNROLL for (size_t v = 0; v < count; v++) away[v] = absolute(x[v]) - NEAR_CENTRE;
    NAME(polynomials)(count, away, NAME(near_coefficients), NEAR_DEGREE, q);
}

INLINE vec NAME(gelu_near)(vec x, vec q) {
    const vec a = absolute(x);
    q *= q;
    q *= q;
    return (x + a) * (REAL)0.5 - a * q; /* half of x + |x| is x or 0, exactly */
}

/* Whether no lane of a comparison is true. */
INLINE bool NAME(none)(ivec mask) {
#if VECTOR_BYTES == 32 && defined(__AVX__)
    typedef long long words __attribute__((vector_size(32)));
    return __builtin_ia32_ptestz256((words)mask, (words)mask);
#elif VECTOR_BYTES == 64 && defined(__AVX512F__)
    return !_mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#else
    uint64_t words[VECTOR_BYTES / sizeof(uint64_t)], any = 0;
    memcpy(words, &mask, sizeof words);
    UNROLL
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        any |= words[i];
    return !any;
#endif
}

/* x * Phi(x) = max(x, 0) - |x| * Phi(-|x|). For -inf it is NaN, as -inf * 0 is. */
INLINE vec NAME(gelu_of)(vec x) {
    const vec a = absolute(x);
    const vec bounded = lesser(splat(TAIL_END), a);
    const vec value = choose(x > 0, x, x * 0) - bounded * NAME(normal_tail)(bounded);
    /* The same value for the same x, whatever its neighbours are. */
    const vec one[1] = {x};
    vec root[1];
    NAME(near_roots)(1, one, root);
    return choose(a <= NEAR_END, NAME(gelu_near)(x, root[0]), value);
}

/* An exponential of at most 0 never overflows. What is more than a half is taken from 1: so
 * rounding errors on the way are those of the smaller part. */
INLINE vec NAME(sigmoid_of)(vec x) {
    const vec power = NAME(exp)(-absolute(x)), part = power / (1 + power);
    return choose(x < 0, part, 1 - part);
}
