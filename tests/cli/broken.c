/* A library with a small mistake: the first element of every output is off by a thousandth. Linked
 * into a second command, so that the tests can see whether check and bench --check notice.
 * Called by the linker's --wrap; the tests that use it are check.sh and bench.sh. */
#include "upconv.h"

uc_status __real_uc_plan_execute(const uc_plan *plan, const void *input, void *output,
                                 void *workspace);
uc_status __wrap_uc_plan_execute(const uc_plan *plan, const void *input, void *output,
                                 void *workspace);

uc_status __wrap_uc_plan_execute(const uc_plan *plan, const void *input, void *output,
                                 void *workspace) {
    const uc_status status = __real_uc_plan_execute(plan, input, output, workspace);
    if (status == UC_OK)
        *(float *)output = *(float *)output * 1.001f + 1e-6f;
    return status;
}
