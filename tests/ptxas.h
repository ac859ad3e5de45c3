/* ptxas.h - collects PTX kernels and assembles them with the assembler of the CUDA toolkit, where one is installed. */
#ifndef WEFT_TEST_PTXAS_H
#define WEFT_TEST_PTXAS_H
#include "weft/weft.h"
#include <stdbool.h>
#include <stddef.h>

/* The assemblers are those in WEFT_PTXAS (paths, ':' between them), else ptxas of the PATH and of /usr/local/cuda. */
/* Is there one for any architecture? Else says so, once. */
bool ptxas_found(void);
/* 1: one for this architecture accepts the module; 0: it does not, and `said` gets its words, cut to size; -1: there
 * is none. */
int ptxas_accepts(const char *module, int as, char *said, size_t size);
/* Adds a kernel (a whole module, with one entry), made for GPUs of this architecture; equal ones once. */
void ptxas_add(const char *name, int arch, const char *module);
/* Compiles a recording, which it consumes, and adds its stages for each of these architectures (0 ends them); the
 * text of each has `part` in it, unless that is NULL. *stages, if not NULL, counts up. The caller frees the kernel. */
wf_kernel *ptxas_compile(wf_context *ctx, wf_graph *g, const char *name, const int *arch, const char *part,
                         unsigned *stages);
/* Assembles all that were added for this architecture as `as` (sm_...), and fails the cmocka test where that fails. */
void ptxas_check(int arch, int as);
/* The cmocka test of what was added for 70 and 80, as these and as what runs their code; skipped without an
 * assembler. */
void ptxas_check_all(void);
void ptxas_forget(void);
#endif
