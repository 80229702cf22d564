/* The kernels in 128-bit vectors, which every 64-bit CPU has: SSE2 on x86-64, NEON on arm64.
 * Chosen by plan.c. */
#include <math.h>
#include <string.h>

#include "../dtype.h"
#include "kernels.h"

/* What each kind of op has in the table: the convolution fills tiles instead of finishing them, and
 * only ops that need everything measure. */
#define FINISH_TAPS(name) NULL
#define FINISH_ELEMENT(name) NAME(name)
#define FINISH_CHANNEL(name) NAME(name)
#define FINISH_WINDOW(name) NAME(name)
#define FINISH_EVERYTHING(name) NAME(name)

#define MEASURE_TAPS(name) NULL
#define MEASURE_ELEMENT(name) NULL
#define MEASURE_CHANNEL(name) NULL
#define MEASURE_WINDOW(name) NULL
#define MEASURE_EVERYTHING(name) NAME(measure_##name)

#define REAL float
#define REAL_EXP expf
#define NAME(x) x##_f32
#define TABLE uc_kernels_portable_f32
#define TABLE_TEXT "portable f32"
#include "kernels.inc.c"

#define REAL double
#define REAL_EXP exp
#define NAME(x) x##_f64
#define TABLE uc_kernels_portable_f64
#define TABLE_TEXT "portable f64"
#include "kernels.inc.c"
