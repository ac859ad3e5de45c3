/* driver.h - the driver's own state. The driver API has no context argument, so this one global is part of its
 * contract; one lock guards it, and a launch holds it to its end.
 */
#ifndef WEFT_EMU_DRIVER_H
#define WEFT_EMU_DRIVER_H
#include "base/os.h"
#include "emu/cuda_api.h"
#include "emu/emu.h"
#include "emu/order.h"

enum { EMU_MAX_DEVICES = 8, EMU_SMS = 8, EMU_THREADS_PER_SM = 2048, EMU_BLOCKS_PER_SM = 32 };
#define EMU_EXPORT __attribute__((visibility("default")))

typedef enum emu_object {
    EMU_OBJ_CONTEXT,
    EMU_OBJ_MODULE,
    EMU_OBJ_FUNCTION,
    EMU_OBJ_STREAM,
    EMU_OBJ_EVENT,
    EMU_OBJ_POOL,
    EMU_OBJ_GRAPH,
    EMU_OBJ_EXEC,
    EMU_OBJ_LINK
} emu_object;

struct CUctx_st {
    int device;
    bool primary;
    uint32_t peers;
    CUresult error; /* sticky */
};
struct CUfunc_st {
    CUmodule module;
    emu_func *func;
    uint32_t dynamic; /* bytes of dynamic shared memory allowed */
    struct CUfunc_st *next;
};
struct CUmod_st {
    CUcontext context;
    emu_module *m;
    struct CUfunc_st *functions;
};
struct CUstream_st {
    CUcontext context;
    unsigned flags;
    uint32_t line;               /* of time */
    struct emu_capture *capture; /* NULL: none */
};
struct CUevent_st {
    CUcontext context;
    unsigned flags;
    bool recorded;
    double time;
    emu_clock before; /* what it stands for */
};
struct CUmemPoolHandle_st {
    int device;
    uint64_t threshold, used, most;
};
struct CUlinkState_st {
    wf__str text;
    bool done;
};

typedef struct emu_handle {
    void *at;
    uint8_t kind;
} emu_handle;
typedef struct emu_driver {
    wf__mutex lock;
    bool ready;
    int devices, sm; /* sm: 90 for compute capability 9.0 */
    uint64_t memory[EMU_MAX_DEVICES], used[EMU_MAX_DEVICES];
    uint32_t find;
    uint64_t limit, launches, instructions;
    emu_heap heap;
    emu_order order;
    CUcontext primary[EMU_MAX_DEVICES];
    unsigned retained[EMU_MAX_DEVICES];
    struct CUmemPoolHandle_st pools[EMU_MAX_DEVICES];
    emu_handle *handles;
    uint32_t n_handles, cap_handles;
    wf__str report;
} emu_driver;
extern emu_driver wfe_driver;

/* Takes the lock and looks for the context: CUDA_SUCCESS, or why not. The lock is held in any case. */
CUresult wfe_enter(CUcontext *context);
CUresult wfe_leave(CUresult status);
bool wfe_keep_handle(void *at, emu_object kind);    /* false: no memory */
void *wfe_new_handle(size_t size, emu_object kind); /* zeros, and kept; NULL: no memory */
bool wfe_known(const void *at, emu_object kind);
void wfe_forget_handle(const void *at);
void wfe_free_handle(void *at);              /* of wfe_new_handle; not known any more */
CUresult wfe_device_status(CUdevice device); /* is there such a one? */
CUresult wfe_context_of(CUcontext context);  /* its sticky error */
void wfe_context_drop(CUcontext context);    /* with everything that was made in it */
void wfe_module_drop(CUmodule module);
bool wfe_stream_known(CUstream stream);
void wfe_set_report(const char *text);
CUresult wfe_run_kernel(CUcontext c, CUfunction f, emu_launch *l, CUstream stream, const uint8_t *params);

/* ---- captures: what is refused ends them ---- */
CUresult wfe_unsafe(CUresult status); /* of a call that is potentially unsafe: `status`, or that it is refused */
CUresult wfe_waits_for_all(CUcontext c);
/* Anything but a kernel in a stream; `otherwise`: the status where it is the one that is captured. */
CUresult wfe_use_stream(CUcontext c, CUstream stream, CUresult otherwise);
CUresult wfe_capture_kernel(CUstream stream, CUfunction f, const emu_launch *l, const uint8_t *params);
void wfe_capture_drop(CUstream stream); /* none: no-op */
void wfe_graph_drop(void *at, emu_object kind);
#endif
