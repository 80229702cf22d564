/* All kernels for one real type, and the end of its macros, for the next one.
 * Included by kernels.inc.c. */
#include "vec.inc.c"

#include "math.inc.c"

#include "conv.inc.c"

#include "cast.inc.c"

#include "winograd.inc.c"

#include "ops.inc.c"

#include "store.inc.c"
#include "pour.inc.c"

#include "space.inc.c"

#include "table.inc.c"

#undef REAL
#undef REAL_IS_DOUBLE
#undef REAL_SQRT
#undef INTEGER
#undef UNSIGNED
#undef INTEGER_MAX
#undef NAME
#undef TABLE
#undef TABLE_NAME
/* vec.inc.c */
#undef LANES
#undef LANE_COUNT
#undef ZIP_FIRST
#undef ZIP_SECOND
#undef EVEN_LANES
#undef ODD_LANES
#undef ZIP_LOW
#undef ZIP_HIGH
#undef FIRST_HALVES
#undef SECOND_HALVES
#undef vec
#undef ivec
#undef uvec
#undef INLINE
#undef UNROLL
#undef PIN
#undef MULTIPLY_ADD
#undef ADD_PRODUCT
#undef MULTIPLY_ADD_NUMBER
#undef ADD_NUMBER_PRODUCT
#undef load_vector
#undef store_vector
#undef EACH_LANE
#undef PAIR_OF
#undef TWO_OF_3
#undef ALL_3
#undef PAIRS_OF_3
#undef TWO_LANES_OF_3
#undef ALL_LANES_OF_3
#undef LANES_OF_3
#undef LIST_BLOCKS
#undef NARROW_DEGREE
#undef THIRD_OF_TWO
#undef THIRD_OF_ALL
#undef splat
#undef choose
#undef MINMAX
#undef REAL_INTRINSIC
#undef LESSER
#undef GREATER
#undef lesser
#undef greater
#undef absolute
/* math.inc.c */
#undef MANTISSA_BITS
#undef EXP_LOWEST
#undef EXP_UP
#undef EXP_DOWN
#undef EXP_LN2_HIGH
#undef EXP_LN2_LOW
#undef EXP_DEGREE
#undef EXP_SHIFT
#undef TAIL_K
#undef TAIL_END
#undef TAIL_DEGREE
#undef NEAR_END
#undef NEAR_DEGREE
#undef NEAR_CENTRE
/* store.inc.c */
#undef LINE_BYTES
#undef STAGED_BYTES
#undef JOINED_BYTES
/* conv.inc.c */
#undef SUMS
/* ops.inc.c */
#undef FOR_EACH_CHANNEL
#undef FOR_EACH_VECTOR
#undef SUM_TERMS
#undef STRIP
#undef FOR_EACH_STRIP
/* table.inc.c */
