/* graph_ptxas.h - for fuzz_graph.c: the assembler of the CUDA toolkit, where one is installed, must take a kernel's
 * PTX. */
#ifndef WEFT_GRAPH_PTXAS_H
#define WEFT_GRAPH_PTXAS_H
#include <unistd.h>
#include "graph_arrays.h"

/* Assembles a module with ptxas; false if there is no ptxas. */
static bool fz_assemble_module(const char *text, size_t length, int arch)
{
    enum { NOT_FOUND = 127 << 8, OLDEST = 80 }; /* OLDEST: a compute capability that all current assemblers know */
    char file[] = "/tmp/weft-fuzz-XXXXXX", command[256];
    int at = mkstemp(file);
    if (at < 0 || write(at, text, length) != (ssize_t)length)
        abort();
    close(at);
    snprintf(command, sizeof command, "PATH=$PATH:/usr/local/cuda/bin ptxas -O0 -arch=sm_%d -o /dev/null %s",
             arch < OLDEST ? OLDEST : arch, file);
    int status = system(command);
    unlink(file);
    if (status && status != NOT_FOUND) {
        fprintf(stderr, "%s\nptxas refuses this\n", text);
        abort();
    }
    return !status;
}

static void fz_assemble(wf_context *ctx, const wf_kernel *k, wf_args args, int arch)
{
    enum { CAP = 1 << 22 };
    static bool none;
    size_t n = 0;
    char *text = none ? NULL : malloc(CAP);
    if (none)
        return;
    if (!text || wf_kernel_dump(k, args, WF_DUMP_PTX_FOR(arch), text, CAP, &n) != WF_OK || n >= CAP) {
        fprintf(stderr, "no PTX: %s\n", wf_last_message(ctx));
        abort();
    }
    for (char *stage = text, *next; stage && !none; stage = next) { /* each kernel begins with a comment */
        next = strstr(stage + 1, "\n// stage");
        none = !fz_assemble_module(stage, next ? (size_t)(next - stage) : strlen(stage), arch);
    }
    free(text);
}
#endif
