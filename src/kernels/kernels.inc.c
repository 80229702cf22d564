/* All kernels of one instruction set, for float and for double.
 * Included by the stubs beside this file, which define
 *   VECTOR_BYTES   the size of a vector
 *   PANEL          the output channels of a full panel: 6, or 14 where there are 32 registers
 *   ISA            the instruction set, as in uc_kernels_ISA_f32
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "../dtype.h"
#include "../memory.h"
#include "kernels.h"

/* Vectors are passed between functions of one file that are inlined, never across a boundary, so it
 * does not matter how a CPU without such registers would pass them (see UPCONV_EMULATE). */
#pragma GCC diagnostic ignored "-Wpsabi"

/* each(7, ...) to each(14, ...), where panels are as large. */
#if PANEL > 6
#define LARGE_SIZES(each, ...)                                                                     \
    each(7, __VA_ARGS__) each(8, __VA_ARGS__) each(9, __VA_ARGS__) each(10, __VA_ARGS__)           \
        each(11, __VA_ARGS__) each(12, __VA_ARGS__) each(13, __VA_ARGS__) each(14, __VA_ARGS__)
_Static_assert(PANEL == 14, "as many sizes as there are");
#else
#define LARGE_SIZES(each, ...)
_Static_assert(PANEL == 6, "as many sizes as there are");
#endif

#define JOINED(a, b, c) a##b##c
#define JOIN(a, b, c) JOINED(a, b, c)
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* What each kind of op has in the table. */
#define FINISH_TAPS(name) NULL
#define FINISH_ELEMENT(name) NAME(name)
#define FINISH_CHANNEL(name) NAME(name)
#define FINISH_WINDOW(name) NULL
#define FINISH_EVERYTHING(name) NAME(name)
#define MERGE_TAPS(name) NULL
#define MERGE_ELEMENT(name) NULL
#define MERGE_CHANNEL(name) NULL
#define MERGE_WINDOW(name) NAME(merge_##name)
#define MERGE_EVERYTHING(name) NULL
#define FOLD_TAPS(name) NULL
#define FOLD_ELEMENT(name) NULL
#define FOLD_CHANNEL(name) NULL
#define FOLD_WINDOW(name) NAME(fold_##name)
#define FOLD_EVERYTHING(name) NULL
#define GATHER_TAPS(name) NULL
#define GATHER_ELEMENT(name) NULL
#define GATHER_CHANNEL(name) NULL
#define GATHER_WINDOW(name) NAME(gather_##name)
#define GATHER_EVERYTHING(name) NULL
#define MEASURE_TAPS(name) NULL
#define MEASURE_ELEMENT(name) NULL
#define MEASURE_CHANNEL(name) NULL
#define MEASURE_WINDOW(name) NULL
#define MEASURE_EVERYTHING(name) NAME(measure_##name)
#define LAY_TAPS(name) NULL
#define LAY_ELEMENT(name) NULL
#define LAY_CHANNEL(name) NULL
#define LAY_WINDOW(name) NULL
#define LAY_EVERYTHING(name) NAME(lay_##name)
#define SCALES_TAPS(name) NULL
#define SCALES_ELEMENT(name) NULL
#define SCALES_CHANNEL(name) NULL
#define SCALES_WINDOW(name) NULL
#define SCALES_EVERYTHING(name) NAME(scales_##name)

/* 16-bit elements, whatever type the caller gave them. */
#if defined(__GNUC__)
typedef uint16_t uc_half __attribute__((may_alias));
#endif

/* What elements are stored as, PARTS being the two halves of a float's bits; and whether vectors
 * can be stored as f16. */
typedef enum uc_form { FORM_REAL, FORM_F16, FORM_BF16, FORM_PARTS } uc_form;
#if defined(__F16C__) && VECTOR_BYTES > 16
#define HAS_F16 1
#else
#define HAS_F16 0
#endif

/* Whether some lanes of a vector can be stored alone. */
#if VECTOR_BYTES == 64 && defined(__AVX512F__)
#define HAS_MASKS 1
#define FIRST_LANES(count) ((1U << ((count) < LANES ? (count) : LANES)) - 1)
#else
#define HAS_MASKS 0
#endif

#define REAL float
#define REAL_IS_DOUBLE 0
#define REAL_SQRT sqrtf
#define INTEGER int32_t
#define UNSIGNED uint32_t
#define INTEGER_MAX INT32_MAX
#define NAME(x) x##_f32
#define TABLE JOIN(uc_kernels_, ISA, _f32)
#define TABLE_NAME TEXT(ISA) " f32"
#include "real.inc.c"

#define REAL double
#define REAL_IS_DOUBLE 1
#define REAL_SQRT sqrt
#define INTEGER int64_t
#define UNSIGNED uint64_t
#define INTEGER_MAX INT64_MAX
#define NAME(x) x##_f64
#define TABLE JOIN(uc_kernels_, ISA, _f64)
#define TABLE_NAME TEXT(ISA) " f64"
#include "real.inc.c"
