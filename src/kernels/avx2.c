/* The kernels in 256-bit vectors, for x86-64 CPUs with AVX2, FMA and F16C.
 * Compiled with those flags (CMakeLists.txt); chosen by cpu.c. */
#define VECTOR_BYTES 32
#define PANEL 6
#define ISA avx2
#include "kernels.inc.c"
