/* Which instruction sets this CPU has, and which one to use.
 * Called by plan.c and amx.c. */
#ifndef UC_CPU_H
#define UC_CPU_H

#include <stdio.h>

#include "kernels/amx.h"

/* The kernels for an element type: those asked for, or, for UC_ISA_AUTO, those that UPCONV_ISA
 * names, or the best there are. */
uc_status uc_cpu_kernels(uc_isa isa, uc_dtype dtype, const uc_kernels **kernels);

/* AMX: what goes with these kernels (it is made for their vectors); and what this CPU and its
 * system have, or NULL. The system is asked to let this process use it, once, and only if somebody
 * asks. */
bool uc_cpu_goes_with_amx(const uc_kernels *kernels);
const uc_amx_kernels *uc_cpu_amx(void);

/* A line for each instruction set that was not chosen, with the reason. */
void uc_cpu_print_rejected(const uc_kernels *chosen, FILE *file);

#endif
