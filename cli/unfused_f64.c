/* Unfused plain arithmetic in double.
 * Called by compare.c. */
#define T double
#define NAME(stem) stem##_f64
#include "unfused.inc.c"
