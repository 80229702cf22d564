/* The kernels in 512-bit vectors, for x86-64 CPUs with AVX-512 (F, BW, DQ, VL).
 * Compiled with those flags (CMakeLists.txt); chosen by cpu.c. */
#define VECTOR_BYTES 64
#define PANEL 14
#define ISA avx512
#include "kernels.inc.c"
