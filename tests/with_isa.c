/* Runs a test with one instruction set forced: with_isa NAME PROGRAM [ARGUMENTS...]
 * Where the library says that this machine lacks it, prints why and exits with 77, which is how
 * CTest knows that a test was skipped. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "upconv.h"

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s NAME PROGRAM [ARGUMENTS...]\n", argv[0]);
        return 2;
    }
    setenv("UPCONV_ISA", argv[1], 1);
    uc_chain *chain = NULL;
    uc_plan *plan = NULL;
    const float kernel = 1;
    uc_status status = uc_chain_parse("f32 1x1x1, conv_transpose 1 kernel 1", &chain);
    if (status == UC_OK)
        status = uc_plan_create(chain, (const void *[]){&kernel}, NULL, &plan);
    uc_plan_destroy(plan);
    uc_chain_destroy(chain);
    if (status != UC_OK) {
        printf("skipped: %s\n", uc_last_error());
        return status == UC_UNSUPPORTED ? 77 : 1;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
