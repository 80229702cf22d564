/* Unfused plain arithmetic in long double: what is right where double is judged.
 * Called by compare.c. */
#define T long double
#define NAME(stem) stem##_long
#include "unfused.inc.c"
