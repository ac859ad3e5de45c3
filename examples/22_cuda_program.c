/* A program that uses CUDA itself: an array wraps its device memory, and its stream runs Weft's launches in order with
 * its own copies. The program loads the few CUDA functions that it needs, so that it builds without cuda.h.
 * `22_cuda_program cuda` needs a GPU; without an argument the program does nothing. */
#include "weft/weft.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };
typedef unsigned long long device_pointer;

#define FUNCTIONS(X)                                                                           \
    X(cuInit, (unsigned flags))                                                                \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                  \
    X(cuCtxPushCurrent_v2, (void *context))                                                    \
    X(cuCtxPopCurrent_v2, (void **context))                                                    \
    X(cuStreamCreate, (void **stream, unsigned flags))                                         \
    X(cuStreamSynchronize, (void *stream))                                                     \
    X(cuStreamDestroy_v2, (void *stream))                                                      \
    X(cuMemAlloc_v2, (device_pointer * at, size_t bytes))                                      \
    X(cuMemFree_v2, (device_pointer at))                                                       \
    X(cuMemcpyHtoDAsync_v2, (device_pointer to, const void *from, size_t bytes, void *stream)) \
    X(cuMemcpyDtoHAsync_v2, (void *to, device_pointer from, size_t bytes, void *stream))
#define DECLARE(name, arguments) static int(*name) arguments;
FUNCTIONS(DECLARE)

static int find_functions(void)
{
    const char *path = getenv("WEFT_CUDA");
    void *driver = dlopen(path ? path : "libcuda.so.1", RTLD_NOW), *f;
#define FIND(name, arguments)                 \
    f = driver ? dlsym(driver, #name) : NULL; \
    if (!f)                                   \
        return 0;                             \
    memcpy(&name, &f, sizeof f);
    FUNCTIONS(FIND)
    return 1;
}

static void give_back(void *user)
{
    const device_pointer *memory = user;
    cuMemFree_v2(*memory);
}

int main(int argc, char **argv)
{
    static float x[N];
    void *context = NULL, *stream = NULL;
    device_pointer memory = 0;
    if (argc < 2 || strcmp(argv[1], "cuda"))
        return 0;
    if (!find_functions() || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context) ||
        cuStreamCreate(&stream, 1) || cuMemAlloc_v2(&memory, sizeof x))
        return 1;
    for (int i = 0; i < N; ++i)
        x[i] = (float)i;

    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .device = WF_GPU(0) });
    wf_array *a = wf_wrap(ctx, (void *)(uintptr_t)memory, WF_F32, WF_SHAPE(N), give_back, &memory, .device = WF_GPU(0));
    wf_stream *s = wf_stream_wrap(ctx, WF_GPU(0), stream);
    cuMemcpyHtoDAsync_v2(memory, x, sizeof x, stream);
    wf_graph *g = wf_begin(ctx, .stream = s);
    wf_val v = wf_in(g, a);
    wf_out(g, a, wf_add(wf_mul(v, v), 1));
    wf_status status = wf_run(g); /* in the stream, between the copies to and from the device */
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    cuMemcpyDtoHAsync_v2(x, memory, sizeof x, stream);
    cuStreamSynchronize(stream);
    printf("%g %g %g ... %g\n", (double)x[0], (double)x[1], (double)x[2], (double)x[N - 1]);

    wf_release(a); /* waits for the GPU, and gives the memory back */
    wf_stream_free(s);
    wf_context_free(ctx);
    cuStreamDestroy_v2(stream);
    cuCtxPopCurrent_v2(&context);
    return status != WF_OK || x[N - 1] != (float)((N - 1) * (N - 1) + 1);
}
