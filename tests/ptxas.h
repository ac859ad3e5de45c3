/* ptxas.h - gathers PTX kernels and lets the assembler of the CUDA toolkit judge them, where one is installed. */
#ifndef WEFT_TEST_PTXAS_H
#define WEFT_TEST_PTXAS_H
#include <stdbool.h>

/* The assemblers are those in WEFT_PTXAS (paths, ':' between them), else ptxas of the PATH and of /usr/local/cuda. */
/* Is there one for any architecture? Else says so, once. */
bool ptxas_found(void);
/* Adds a kernel (a whole module, with one entry), made for GPUs of this architecture; equal ones once. */
void ptxas_add(const char *name, int arch, const char *module);
/* Assembles all that were added for this architecture as `as` (sm_...), and fails the cmocka test where that fails. */
void ptxas_check(int arch, int as);
void ptxas_forget(void);
#endif
