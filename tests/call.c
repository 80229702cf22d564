/* The twenty typed operator functions behind one call, so that a table of values proves the
 * parameter order of each. Called by every test that runs operators. */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T float
#define FN(stem) stem##_f32
#include "call.inc.c"
#undef T
#undef FN

#define T double
#define FN(stem) stem##_f64
#include "call.inc.c"
#undef T
#undef FN

#define T uc_f16
#define FN(stem) stem##_f16
#include "call.inc.c"
#undef T
#undef FN

#define T uc_bf16
#define FN(stem) stem##_bf16
#include "call.inc.c"
#undef T
#undef FN

#define ALL_TYPES(stem)                                                                            \
    { stem##_f32, stem##_f64, stem##_f16, stem##_bf16 }

static const struct {
    const char *slug;
    uc_status (*call[4])(const uc_operator_params *, const void *, const void *const[], void *);
} table[] = {
    {"conv-transpose3d-avgpool-clamp-softmax-multiply", ALL_TYPES(call_avgpool_clamp)},
    {"conv-transpose3d-max-max-sum", ALL_TYPES(call_max_max)},
    {"conv-transpose3d-sum-layernorm-avgpool-gelu", ALL_TYPES(call_sum_layernorm)},
    {"conv-transpose2d-softmax-biasadd-scaling-sigmoid", ALL_TYPES(call_softmax_biasadd)},
    {"conv-transpose3d-layernorm-gelu-scaling", ALL_TYPES(call_layernorm_gelu)},
};

uc_status call_operator(const char *slug, uc_dtype dtype, const uc_operator_params *params,
                        const void *input, const void *const operands[], void *output) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].slug, slug) == 0)
            return table[i].call[dtype](params, input, operands, output);
    fprintf(stderr, "call_operator: unknown slug %s\n", slug);
    abort();
}
