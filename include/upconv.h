/* upconv: fused transposed convolution in one pass, on tiles that stay in cache.
 *
 * This header is the manual. It has three parts:
 *
 *   1. Errors and options    what every call returns, and the few knobs there are
 *   2. Operators             one call each: five fused operators, four element types
 *   3. Chains and plans      say what once, plan how once, execute many times
 *
 * Tensors are contiguous, row-major and channels first: input (B, C, [D,] [H,] W), kernel
 * (Cin, Cout, [Kd,] [Kh,] Kw). Pointers need the alignment of their element, no more. Every call is
 * thread-safe and reentrant, and no call keeps a pointer to your memory after it returns. */
#ifndef UPCONV_H
#define UPCONV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define UC_API __attribute__((visibility("default")))
#else
#define UC_API
#endif

/* ======================================================================================
 * 1. Errors and options
 * ====================================================================================== */

#define UC_VERSION_MAJOR 0
#define UC_VERSION_MINOR 1
#define UC_VERSION_PATCH 0

/* The version of the library that is running, "0.1.0". */
UC_API const char *uc_version(void);

/* What every call returns. A call that does not return UC_OK has written no output. */
typedef enum uc_status {
    UC_OK = 0,          /* done */
    UC_INVALID = 1,     /* a parameter is wrong; uc_last_error() names it and its value */
    UC_UNSUPPORTED = 2, /* right, but this build or this machine can't do it */
    UC_NO_MEMORY = 3,   /* an allocation failed; everything taken so far was given back */
    UC_DEVICE = 4       /* an accelerator reported an error */
} uc_status;

/* "ok", "invalid argument", ...: never NULL. */
UC_API const char *uc_status_string(uc_status status);

/* One line about the last call that failed in this thread, for example
 * "stride_h must be at least 1 (got 0)"; "" if none has. Success leaves it alone. The text stays
 * valid until the next failure in the same thread. */
UC_API const char *uc_last_error(void);

/* Element types. All pointers of one call have the same one. f16 (IEEE binary16) and bf16 are bit
 * patterns: pass a _Float16 or __bf16 array by a cast. They are read, computed in f32, and rounded
 * once, to nearest even, at the end. */
typedef uint16_t uc_f16;
typedef uint16_t uc_bf16;
typedef enum uc_dtype { UC_F32 = 0, UC_F64 = 1, UC_F16 = 2, UC_BF16 = 3 } uc_dtype;

/* "f32", "f64", "f16", "bf16" (NULL for anything else), and the size of one element (0). */
UC_API const char *uc_dtype_name(uc_dtype dtype);
UC_API size_t uc_dtype_bytes(uc_dtype dtype);

/* How exact. STRICT: at least as close to float64 as the same stages one by one in f32. The others
 * allow a convolution that is less exact where that should be quicker: with AMX, in products of
 * bf16 numbers. X3: numbers are split into two bf16 parts, with relative errors of about 4e-6 (rms,
 * on data of both signs). BF16: rounded to bf16, about 2e-3. Where a CPU has no AMX, or a chain
 * can't use it, results are strict all the same; uc_plan_print() says which. */
typedef enum uc_accuracy {
    UC_ACCURACY_STRICT = 0,
    UC_ACCURACY_X3 = 1,
    UC_ACCURACY_BF16 = 2
} uc_accuracy;

/* Which instructions. AUTO: what the environment variable UPCONV_ISA names (portable, avx2,
 * avx512), else the best this CPU has. PORTABLE: 128-bit vectors, which every CPU has. AVX512: and
 * AMX, where the CPU has it and the accuracy allows it; the others never use that. Asking for what
 * the CPU lacks is UC_UNSUPPORTED. */
typedef enum uc_isa {
    UC_ISA_AUTO = 0,
    UC_ISA_PORTABLE = 1,
    UC_ISA_AVX2 = 2,
    UC_ISA_AVX512 = 3
} uc_isa;

/* How the convolution is computed. AUTO: what should be quickest, unless the environment variable
 * UPCONV_ALGORITHM says direct, or winograd wherever it can be used. WINOGRAD: with fewer
 * multiplications; UC_UNSUPPORTED, with the reason, where it can't be used. Neither DIRECT nor
 * WINOGRAD, named by whomever, uses AMX. */
typedef enum uc_algorithm {
    UC_ALGORITHM_AUTO = 0,
    UC_ALGORITHM_DIRECT = 1,
    UC_ALGORITHM_WINOGRAD = 2
} uc_algorithm;

/* Options of a plan. Start from UC_OPTIONS_INIT and change fields:
 *
 *     uc_options options = UC_OPTIONS_INIT;
 *     options.threads = 4;
 *
 * struct_bytes lets the struct grow: a program built against an older header keeps working. Where
 * an options pointer is taken, NULL means the defaults. */
typedef struct uc_options {
    size_t struct_bytes;    /* sizeof(uc_options), as UC_OPTIONS_INIT sets it */
    size_t threads;         /* at most this many; 0: as OMP_NUM_THREADS says, else all */
    uc_accuracy accuracy;   /* UC_ACCURACY_STRICT */
    uc_isa isa;             /* UC_ISA_AUTO */
    uc_algorithm algorithm; /* UC_ALGORITHM_AUTO */
} uc_options;

#define UC_OPTIONS_INIT                                                                            \
    { sizeof(uc_options), 0, UC_ACCURACY_STRICT, UC_ISA_AUTO, UC_ALGORITHM_AUTO }

/* ======================================================================================
 * 2. Operators
 *
 * Each call runs as one fused pass and is the same as its stages one after the other. In every
 * dimension the transposed convolution gives
 *
 *     out = (in - 1) * stride - 2 * padding + kernel + output_padding
 *
 * and an output that no tap reaches is the bias, or 0. Pools have stride = window and drop the
 * remainder. batch_size 0 is fine and writes nothing. UC_INVALID is for: a NULL pointer to a tensor
 * with elements; a zero channel count, size, kernel, stride or pool window; output_padding >=
 * stride; a stage without any output element; sizes that overflow; output overlapping an input.
 * NaN and infinities flow as IEEE arithmetic over the taps that exist says.
 * ====================================================================================== */

/* conv-transpose3d-avgpool-clamp-softmax-multiply
 *   average pool of the input (window pool_kernel in each dimension)
 *   -> transposed convolution, no bias
 *   -> clamp to [clamp_min, clamp_max] (all clamp_max where clamp_min > clamp_max)
 *   -> softmax over all positions of each (b, c) -> times scale[c]
 * input  (batch_size, in_channels, depth, height, width)
 * kernel (in_channels, out_channels, kernel_d, kernel_h, kernel_w), scale (out_channels)
 * output (batch_size, out_channels, D, H, W) with D from depth / pool_kernel, and so on */
UC_API uc_status uc_conv_transpose3d_avgpool_clamp_softmax_multiply_f32(
    const float *input, const float *kernel, const float *scale, float *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, size_t pool_kernel, double clamp_min,
    double clamp_max);
UC_API uc_status uc_conv_transpose3d_avgpool_clamp_softmax_multiply_f64(
    const double *input, const double *kernel, const double *scale, double *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w,
    size_t output_padding_d, size_t output_padding_h, size_t output_padding_w, size_t pool_kernel,
    double clamp_min, double clamp_max);
UC_API uc_status uc_conv_transpose3d_avgpool_clamp_softmax_multiply_f16(
    const uc_f16 *input, const uc_f16 *kernel, const uc_f16 *scale, uc_f16 *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w,
    size_t output_padding_d, size_t output_padding_h, size_t output_padding_w, size_t pool_kernel,
    double clamp_min, double clamp_max);
UC_API uc_status uc_conv_transpose3d_avgpool_clamp_softmax_multiply_bf16(
    const uc_bf16 *input, const uc_bf16 *kernel, const uc_bf16 *scale, uc_bf16 *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w,
    size_t output_padding_d, size_t output_padding_h, size_t output_padding_w, size_t pool_kernel,
    double clamp_min, double clamp_max);

/* conv-transpose3d-max-max-sum
 *   transposed convolution + conv_bias[c], output_padding 0
 *   -> max pool 2 -> max pool 3 (both propagate NaN) -> sum over channels
 * input  (batch_size, in_channels, depth, height, width)
 * kernel (in_channels, out_channels, kernel_d, kernel_h, kernel_w), conv_bias (out_channels)
 * output (batch_size, 1, D / 2 / 3, H / 2 / 3, W / 2 / 3) of the convolution's D, H, W */
UC_API uc_status uc_conv_transpose3d_max_max_sum_f32(
    const float *input, const float *kernel, const float *conv_bias, float *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w);
UC_API uc_status uc_conv_transpose3d_max_max_sum_f64(
    const double *input, const double *kernel, const double *conv_bias, double *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w);
UC_API uc_status uc_conv_transpose3d_max_max_sum_f16(
    const uc_f16 *input, const uc_f16 *kernel, const uc_f16 *conv_bias, uc_f16 *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w);
UC_API uc_status uc_conv_transpose3d_max_max_sum_bf16(
    const uc_bf16 *input, const uc_bf16 *kernel, const uc_bf16 *conv_bias, uc_bf16 *output,
    size_t batch_size, size_t in_channels, size_t out_channels, size_t depth, size_t height,
    size_t width, size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d,
    size_t stride_h, size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w);

/* conv-transpose3d-sum-layernorm-avgpool-gelu
 *   transposed convolution, no bias -> + sum_weight
 *   -> layer norm over the channels of each position (eps 1e-5, biased variance, no affine)
 *   -> average pool 2 -> GELU (erf form)
 * input  (batch_size, in_channels, depth, height, width)
 * kernel (in_channels, out_channels, kernel_d, kernel_h, kernel_w)
 * output (batch_size, out_channels, D / 2, H / 2, W / 2) of the convolution's D, H, W */
UC_API uc_status uc_conv_transpose3d_sum_layernorm_avgpool_gelu_f32(
    const float *input, const float *kernel, float *output, size_t batch_size, size_t in_channels,
    size_t out_channels, size_t depth, size_t height, size_t width, size_t kernel_d,
    size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h, size_t stride_w,
    size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double sum_weight);
UC_API uc_status uc_conv_transpose3d_sum_layernorm_avgpool_gelu_f64(
    const double *input, const double *kernel, double *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double sum_weight);
UC_API uc_status uc_conv_transpose3d_sum_layernorm_avgpool_gelu_f16(
    const uc_f16 *input, const uc_f16 *kernel, uc_f16 *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double sum_weight);
UC_API uc_status uc_conv_transpose3d_sum_layernorm_avgpool_gelu_bf16(
    const uc_bf16 *input, const uc_bf16 *kernel, uc_bf16 *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double sum_weight);

/* conv-transpose2d-softmax-biasadd-scaling-sigmoid
 *   transposed convolution + conv_bias[c] -> softmax over the channels of each position
 *   -> + add_bias[c] -> times scaling_factor -> sigmoid
 * input  (batch_size, in_channels, height, width)
 * kernel (in_channels, out_channels, kernel_h, kernel_w), conv_bias, add_bias (out_channels)
 * output (batch_size, out_channels, H, W) */
UC_API uc_status uc_conv_transpose2d_softmax_biasadd_scaling_sigmoid_f32(
    const float *input, const float *kernel, const float *conv_bias, const float *add_bias,
    float *output, double scaling_factor, size_t batch_size, size_t in_channels,
    size_t out_channels, size_t height, size_t width, size_t kernel_h, size_t kernel_w,
    size_t stride_h, size_t stride_w, size_t padding_h, size_t padding_w, size_t output_padding_h,
    size_t output_padding_w);
UC_API uc_status uc_conv_transpose2d_softmax_biasadd_scaling_sigmoid_f64(
    const double *input, const double *kernel, const double *conv_bias, const double *add_bias,
    double *output, double scaling_factor, size_t batch_size, size_t in_channels,
    size_t out_channels, size_t height, size_t width, size_t kernel_h, size_t kernel_w,
    size_t stride_h, size_t stride_w, size_t padding_h, size_t padding_w, size_t output_padding_h,
    size_t output_padding_w);
UC_API uc_status uc_conv_transpose2d_softmax_biasadd_scaling_sigmoid_f16(
    const uc_f16 *input, const uc_f16 *kernel, const uc_f16 *conv_bias, const uc_f16 *add_bias,
    uc_f16 *output, double scaling_factor, size_t batch_size, size_t in_channels,
    size_t out_channels, size_t height, size_t width, size_t kernel_h, size_t kernel_w,
    size_t stride_h, size_t stride_w, size_t padding_h, size_t padding_w, size_t output_padding_h,
    size_t output_padding_w);
UC_API uc_status uc_conv_transpose2d_softmax_biasadd_scaling_sigmoid_bf16(
    const uc_bf16 *input, const uc_bf16 *kernel, const uc_bf16 *conv_bias, const uc_bf16 *add_bias,
    uc_bf16 *output, double scaling_factor, size_t batch_size, size_t in_channels,
    size_t out_channels, size_t height, size_t width, size_t kernel_h, size_t kernel_w,
    size_t stride_h, size_t stride_w, size_t padding_h, size_t padding_w, size_t output_padding_h,
    size_t output_padding_w);

/* conv-transpose3d-layernorm-gelu-scaling
 *   transposed convolution, no bias
 *   -> layer norm over the channels of each position (eps 1e-5, biased variance, no affine)
 *   -> GELU (erf form) -> times scaling_factor
 * input  (batch_size, in_channels, depth, height, width)
 * kernel (in_channels, out_channels, kernel_d, kernel_h, kernel_w)
 * output (batch_size, out_channels, D, H, W) */
UC_API uc_status uc_conv_transpose3d_layernorm_gelu_scaling_f32(
    const float *input, const float *kernel, float *output, size_t batch_size, size_t in_channels,
    size_t out_channels, size_t depth, size_t height, size_t width, size_t kernel_d,
    size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h, size_t stride_w,
    size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double scaling_factor);
UC_API uc_status uc_conv_transpose3d_layernorm_gelu_scaling_f64(
    const double *input, const double *kernel, double *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double scaling_factor);
UC_API uc_status uc_conv_transpose3d_layernorm_gelu_scaling_f16(
    const uc_f16 *input, const uc_f16 *kernel, uc_f16 *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double scaling_factor);
UC_API uc_status uc_conv_transpose3d_layernorm_gelu_scaling_bf16(
    const uc_bf16 *input, const uc_bf16 *kernel, uc_bf16 *output, size_t batch_size,
    size_t in_channels, size_t out_channels, size_t depth, size_t height, size_t width,
    size_t kernel_d, size_t kernel_h, size_t kernel_w, size_t stride_d, size_t stride_h,
    size_t stride_w, size_t padding_d, size_t padding_h, size_t padding_w, size_t output_padding_d,
    size_t output_padding_h, size_t output_padding_w, double scaling_factor);

/* ======================================================================================
 * 3. Chains and plans
 *
 * A chain says WHAT: an input, one transposed convolution in 1, 2 or 3 dimensions, and any ops
 * before and after it. It holds no data and has an exact text form (docs/chains.md is the grammar):
 *
 *     f32 2x32x16x32x32, conv_transpose 64 kernel 4 stride 2 padding 1, layernorm_channel 1e-05,
 *     gelu, mul 1
 *
 * A plan says HOW: it is made from a chain, the operands (kernel, biases, ...) and the options,
 * owns the packed weights, never changes, and may be executed by many threads at once.
 *
 *     uc_chain *chain;
 *     uc_plan *plan;
 *     uc_chain_parse("f32 1x8x16x16, conv_transpose 4 kernel 4 stride 2 padding 1, gelu", &chain);
 *     uc_plan_create(chain, (const void *[]){kernel}, NULL, &plan);
 *     void *workspace = malloc(uc_plan_workspace_bytes(plan));
 *     uc_plan_execute(plan, input, output, workspace);      (as often as you like)
 * ====================================================================================== */

typedef struct uc_chain uc_chain;
typedef struct uc_plan uc_plan;

/* A tensor's shape: batch, channels, then 1 to 3 spatial sizes. */
#define UC_MAX_DIMS 5
typedef struct uc_shape {
    size_t ndim;
    size_t dim[UC_MAX_DIMS];
} uc_shape;

/* A tensor that a chain needs besides its input: "kernel", "conv_bias", or a name used in its text.
 * The name lives as long as the chain. */
typedef struct uc_operand {
    const char *name;
    uc_shape shape;
} uc_operand;

/* Makes a chain from text, or one of an input alone, to which stages are added one by one:
 * uc_chain_add(chain, "conv_transpose 64 kernel 3"), uc_chain_add(chain, "gelu"). A stage that
 * can't be added leaves the chain as it was. On failure *chain is NULL. */
UC_API uc_status uc_chain_parse(const char *text, uc_chain **chain);
UC_API uc_status uc_chain_create(uc_dtype dtype, const uc_shape *input, uc_chain **chain);
UC_API uc_status uc_chain_add(uc_chain *chain, const char *stage);
UC_API void uc_chain_destroy(uc_chain *chain);

/* Writes the chain's text like snprintf: at most buffer_bytes with the closing 0, and returns the
 * length it has without it. Parsing the text gives the same chain again. */
UC_API size_t uc_chain_text(const uc_chain *chain, char *buffer, size_t buffer_bytes);

/* What goes in and comes out. Operands are listed in the order in which plans take them: the order
 * of their stages, a convolution's kernel before its bias. A name of NULL: no such operand. */
UC_API uc_dtype uc_chain_dtype(const uc_chain *chain);
UC_API uc_shape uc_chain_input(const uc_chain *chain);
UC_API uc_shape uc_chain_output(const uc_chain *chain);
UC_API size_t uc_chain_operand_count(const uc_chain *chain);
UC_API uc_operand uc_chain_operand(const uc_chain *chain, size_t index);

/* Twice the multiply-adds of the convolution that touch real data and reach the output. */
UC_API double uc_chain_flops(const uc_chain *chain);

/* The oracle: the same chain in plain float64 loops, stage after stage, with nothing shared with
 * the plans. The input and the operands have the chain's element type, the output is double. Slow,
 * and meant to check other implementations against. */
UC_API uc_status uc_chain_reference(const uc_chain *chain, const void *input,
                                    const void *const operands[], double *output);

/* Makes a plan and packs the operands into it (they may be freed afterwards, and so may the chain).
 * On failure *plan is NULL. */
UC_API uc_status uc_plan_create(const uc_chain *chain, const void *const operands[],
                                const uc_options *options, uc_plan **plan);
UC_API void uc_plan_destroy(uc_plan *plan);

/* Runs the plan and allocates nothing: the scratch memory is yours, uc_plan_workspace_bytes() of
 * it at any alignment, one workspace per call under way. */
UC_API size_t uc_plan_workspace_bytes(const uc_plan *plan);
UC_API uc_status uc_plan_execute(const uc_plan *plan, const void *input, void *output,
                                 void *workspace);

/* Tells what runs and why, in a few lines. */
UC_API void uc_plan_print(const uc_plan *plan, FILE *file);

/* The five operators as data: their slugs ("conv-transpose3d-max-max-sum", NULL past the last),
 * the default shape people benchmark, and their chain. Of the parameters an operator reads only its
 * own (the 2-D one has no depth, for example). */
typedef struct uc_operator_params {
    size_t batch_size, in_channels, out_channels;
    size_t depth, height, width;
    size_t kernel_d, kernel_h, kernel_w;
    size_t stride_d, stride_h, stride_w;
    size_t padding_d, padding_h, padding_w;
    size_t output_padding_d, output_padding_h, output_padding_w;
    size_t pool_kernel;
    double clamp_min, clamp_max, sum_weight, scaling_factor;
} uc_operator_params;

UC_API size_t uc_operator_count(void);
UC_API const char *uc_operator_slug(size_t index);
UC_API uc_status uc_operator_defaults(const char *slug, uc_operator_params *params);
UC_API uc_status uc_operator_chain(const char *slug, uc_dtype dtype,
                                   const uc_operator_params *params, uc_chain **chain);

#ifdef __cplusplus
}
#endif

#endif
