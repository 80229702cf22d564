/* The kernels in 128-bit vectors, which every 64-bit CPU has: SSE2 on x86-64, NEON on arm64. */
#define VECTOR_BYTES 16
#define PANEL 6
#define ISA portable
#include "kernels.inc.c"
