/* Element types: names, sizes, and reading any of them as a double.
 * Called by the chain's text form, by plans, by the oracle, and by users. */
#include "dtype.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {
    [UC_F32] = {"f32", 4},
    [UC_F64] = {"f64", 8},
    [UC_F16] = {"f16", 2},
    [UC_BF16] = {"bf16", 2},
};

#define DTYPE_COUNT (sizeof dtypes / sizeof *dtypes)

const char *uc_dtype_name(uc_dtype dtype) {
    return (size_t)dtype < DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

size_t uc_dtype_bytes(uc_dtype dtype) {
    return (size_t)dtype < DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

double uc_dtype_read(uc_dtype dtype, const void *elements, size_t index) {
    const char *at = (const char *)elements + index * uc_dtype_bytes(dtype);
    uint16_t half;
    float single;
    double value;
    switch (dtype) {
    case UC_F32:
        memcpy(&single, at, sizeof single);
        return single;
    case UC_F64:
        memcpy(&value, at, sizeof value);
        return value;
    case UC_F16:
        memcpy(&half, at, sizeof half);
        return uc_f16_to_f32(half);
    case UC_BF16:
        memcpy(&half, at, sizeof half);
        return uc_bf16_to_f32(half);
    }
    return 0;
}
