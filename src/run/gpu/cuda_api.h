/* cuda_api.h - the CUDA driver, opened at run time. A build needs neither headers nor libraries of the toolkit. */
#ifndef WEFT_CUDA_API_H
#define WEFT_CUDA_API_H
#include "base/os.h"

typedef struct wf__cuda_copy2d { /* CUDA_MEMCPY2D */
    size_t from_x, from_y;
    unsigned from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    unsigned to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch, width, height;
} wf__cuda_copy2d;

typedef struct wf__cuda {
    void *handle;
    size_t (*report)(char *buffer, size_t size); /* an emulator's report of a failure; NULL = a driver */
    void (*name)(const char *label); /* names the next launches for an emulator's reports; NULL = a driver */
#define X(name, symbol, arguments) int(*name) arguments;
#include "run/gpu/cuda_api.def"
#undef X
} wf__cuda;

/* Values of cuda.h. */
enum {
    WF__CUDA_OUT_OF_MEMORY = 2,
    WF__CUDA_CAPTURE_IMPLICIT = 906, /* CUDA_ERROR_STREAM_CAPTURE_IMPLICIT */
    WF__CUDA_CAPTURE_RELAXED = 2,    /* CU_STREAM_CAPTURE_MODE_RELAXED */
    WF__CUDA_STREAM_NON_BLOCKING = 1,
    WF__CUDA_HOST_PORTABLE = 1,   /* CU_MEMHOSTALLOC_...: pinned for all contexts */
    WF__CUDA_ATTACHED_GLOBAL = 1, /* CU_MEM_ATTACH_...: for all streams */
    WF__CUDA_EVENT_DISABLE_TIMING = 2,
    WF__CUDA_JIT_INPUT_PTX = 1,
    WF__CUDA_JIT_ERROR_LOG = 5,
    WF__CUDA_JIT_ERROR_LOG_BYTES = 6,
    WF__CUDA_MULTIPROCESSORS = 16,
    WF__CUDA_CAPABILITY_MAJOR = 75,
    WF__CUDA_CAPABILITY_MINOR = 76,
    WF__CUDA_BLOCK_MEMORY = 97,   /* ..._MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    WF__CUDA_FUNCTION_MEMORY = 8, /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    WF__CUDA_POINTER_CONTEXT = 1, /* CU_POINTER_ATTRIBUTE_... */
    WF__CUDA_POINTER_MEMORY_TYPE = 2,
    WF__CUDA_POINTER_IS_MANAGED = 8,
    WF__CUDA_POINTER_DEVICE = 9,
    WF__CUDA_POINTER_RANGE_START = 11,
    WF__CUDA_MEMORY_HOST = 1, /* CU_MEMORYTYPE_... */
    WF__CUDA_MEMORY_DEVICE = 2
};

/* Opens and starts a driver: the library that WEFT_CUDA names, else NVIDIA's. `emulated`: the library that
 * WEFT_CUDA_EMU names, else libweft_cuda_emu.so beside this library or program, in the installation, or on the library
 * path. A failure returns false and sets `error`, which has failed if memory ran out. */
bool wf__cuda_open(wf__cuda *out, bool emulated, wf__str *error);
void wf__cuda_close(wf__cuda *cuda);
/* Appends, for example, "cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)". */
void wf__cuda_explain(const wf__cuda *cuda, const char *what, int result, wf__str *error);
#endif
