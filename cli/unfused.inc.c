/* The starters that `upconv init` writes for the element type T, each under a name of its own, and
 * the one that finds them: NAME(stem) gives the names. Included by unfused_f32.c, unfused_long.c.
 */
#include "unfused.h"

#include <string.h>

#include "starter/convolution.c"

#define solution NAME(avgpool_clamp)
#include "starter/conv-transpose3d-avgpool-clamp-softmax-multiply.c"
#undef solution
#define solution NAME(max_max)
#include "starter/conv-transpose3d-max-max-sum.c"
#undef solution
#define solution NAME(sum_layernorm)
#include "starter/conv-transpose3d-sum-layernorm-avgpool-gelu.c"
#undef solution
#define solution NAME(softmax_biasadd)
#include "starter/conv-transpose2d-softmax-biasadd-scaling-sigmoid.c"
#undef solution
#define solution NAME(layernorm_gelu)
#include "starter/conv-transpose3d-layernorm-gelu-scaling.c"
#undef solution

solution_function NAME(unfused)(const char *slug) {
    static const struct {
        const char *slug;
        solution_function function;
    } all[] = {
        {"conv-transpose3d-avgpool-clamp-softmax-multiply", (solution_function)NAME(avgpool_clamp)},
        {"conv-transpose3d-max-max-sum", (solution_function)NAME(max_max)},
        {"conv-transpose3d-sum-layernorm-avgpool-gelu", (solution_function)NAME(sum_layernorm)},
        {"conv-transpose2d-softmax-biasadd-scaling-sigmoid",
         (solution_function)NAME(softmax_biasadd)},
        {"conv-transpose3d-layernorm-gelu-scaling", (solution_function)NAME(layernorm_gelu)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].slug, slug) == 0)
            return all[i].function;
    return NULL;
}
