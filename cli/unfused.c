/* Unfused plain arithmetic: the starters that `upconv init` writes, in float, each under a name of
 * its own. Called by compare.c. */
#include "unfused.h"

#include <string.h>

#include "starter/convolution.c"

#define solution avgpool_clamp
#include "starter/conv-transpose3d-avgpool-clamp-softmax-multiply.c"
#undef solution
#define solution max_max
#include "starter/conv-transpose3d-max-max-sum.c"
#undef solution
#define solution sum_layernorm
#include "starter/conv-transpose3d-sum-layernorm-avgpool-gelu.c"
#undef solution
#define solution softmax_biasadd
#include "starter/conv-transpose2d-softmax-biasadd-scaling-sigmoid.c"
#undef solution
#define solution layernorm_gelu
#include "starter/conv-transpose3d-layernorm-gelu-scaling.c"
#undef solution

solution_function unfused(const char *slug) {
    static const struct {
        const char *slug;
        solution_function function;
    } all[] = {
        {"conv-transpose3d-avgpool-clamp-softmax-multiply", (solution_function)avgpool_clamp},
        {"conv-transpose3d-max-max-sum", (solution_function)max_max},
        {"conv-transpose3d-sum-layernorm-avgpool-gelu", (solution_function)sum_layernorm},
        {"conv-transpose2d-softmax-biasadd-scaling-sigmoid", (solution_function)softmax_biasadd},
        {"conv-transpose3d-layernorm-gelu-scaling", (solution_function)layernorm_gelu},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].slug, slug) == 0)
            return all[i].function;
    return NULL;
}
