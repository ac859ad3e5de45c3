/* ptxas.h - collects PTX kernels and assembles them with the assembler of the CUDA toolkit, where one is installed. */
#ifndef WEFT_TEST_PTXAS_H
#define WEFT_TEST_PTXAS_H
#include "weft/weft.h"
#include <stdbool.h>
#include <stddef.h>

/* The assemblers are those in WEFT_PTXAS (paths, ':' between them), else ptxas of the PATH and of /usr/local/cuda. */
/* True if there is an assembler for any architecture. Prints once that there is none. */
bool ptxas_found(void);
/* Returns 1 if an assembler for this architecture accepts the module, 0 if it does not (then `said` gets its output,
 * truncated), -1 without an assembler. */
int ptxas_accepts(const char *module, int as, char *said, size_t size);
/* Adds a kernel (a whole module, with one entry), made for GPUs of this architecture; equal ones once. */
void ptxas_add(const char *name, int arch, const char *module);
/* Compiles a recording, which it consumes, and adds its stages for each of these architectures (0 ends them); the
 * text of each has `part` in it, unless that is NULL. *stages, if not NULL, counts up. The caller frees the kernel. */
wf_kernel *ptxas_compile(wf_context *ctx, wf_graph *g, const char *name, const int *arch, const char *part,
                         unsigned *stages);
/* Assembles all that were added for this architecture as `as` (sm_...), and fails the cmocka test where that fails. */
void ptxas_check(int arch, int as);
/* A cmocka test that assembles all kernels added for 70 and 80, for these architectures and for later ones that run
 * their code; skipped without an assembler. */
void ptxas_check_all(void);
void ptxas_forget(void);
#endif
