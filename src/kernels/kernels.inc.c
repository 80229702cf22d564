/* All kernels for one real type.
 * Included by the stubs beside this file, which define
 *   REAL          float or double
 *   REAL_EXP      its exponential
 *   NAME(x)       x with a suffix, so that several types fit one stub
 *   TABLE         the name of the table, TABLE_TEXT what plans call it
 * and undefined at the end, for the next type. */
#include "conv.inc.c"
#include "ops.inc.c"
#include "table.inc.c"

#undef REAL
#undef REAL_EXP
#undef NAME
#undef TABLE
#undef TABLE_TEXT
#undef PANEL
#undef VECTORS
#undef LANES
#undef BLOCK
#undef CHAIN_PRODUCTS
#undef STRIP
