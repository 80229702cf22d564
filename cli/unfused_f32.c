/* Unfused plain arithmetic in float.
 * Called by compare.c. */
#define T float
#define NAME(stem) stem##_f32
#include "unfused.inc.c"
