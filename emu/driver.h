/* driver.h - the state of the driver. The functions of the driver API have no argument for it, so it is a global,
 * guarded by one lock. A launch holds the lock to its end.
 *
 * The files form layers; each calls only those before it: driver.c (state); order.c, driver_capture.c;
 * driver_stream.c, driver_memory.c, driver_copy.c, driver_module.c, driver_launch.c; driver_graph.c, driver_context.c;
 * driver_entry.c.
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
    CUresult error; /* sticky: every later call returns it */
};
struct CUfunc_st {
    CUmodule module;
    emu_func *func;
    uint32_t dynamic; /* most bytes of dynamic shared memory */
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
    uint32_t line;               /* number of its time line (order.h) */
    struct emu_capture *capture; /* NULL = not captured */
};
struct CUevent_st {
    CUcontext context;
    unsigned flags;
    bool recorded;
    double time;
    emu_clock before; /* operations that the event is recorded after */
};
struct CUmemPoolHandle_st {
    int device;
    uint64_t threshold, used, most;
};
typedef struct emu_node { /* a kernel launch of a graph */
    struct emu_node *next;
    CUfunction f;
    emu_launch launch;
    uint8_t params[];
} emu_node;
struct CUgraph_st {
    emu_node *first, *last;
    unsigned refs; /* its handle, its capture, and the executable graphs made from it */
};
struct CUgraphExec_st {
    CUgraph graph;
    CUcontext context;
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

/* Takes the lock, also on failure, and gives the thread's current context. Returns the context's error. */
CUresult wfe_enter(CUcontext *context);
CUresult wfe_leave(CUresult status); /* gives the lock back; returns `status` */
/* The stack of current contexts of the calling thread. */
CUcontext wfe_current(void); /* NULL = none */
CUresult wfe_push_current(CUcontext context);
CUcontext wfe_pop_current(void); /* NULL = none */
/* Handles: every object that the program may pass back. */
bool wfe_keep_handle(void *at, emu_object kind);    /* false = out of memory */
void *wfe_new_handle(size_t size, emu_object kind); /* zeroed memory; NULL = out of memory */
bool wfe_known(const void *at, emu_object kind);
void wfe_forget_handle(const void *at);
void wfe_free_handle(void *at);              /* forgets and frees an object of wfe_new_handle */
CUresult wfe_device_status(CUdevice device); /* an error unless the device exists */
CUresult wfe_context_of(CUcontext context);  /* the error of the context */
void wfe_context_drop(CUcontext context);    /* frees the context and everything that was made in it */
void wfe_module_drop(CUmodule module);
bool wfe_stream_known(CUstream stream);
bool wfe_is_stream_of(CUstream stream, CUcontext c); /* default streams belong to every context */
void wfe_set_report(const char *text);
CUresult wfe_run_kernel(CUcontext c, CUfunction f, emu_launch *l, CUstream stream, const uint8_t *params);

/* ---- captures: a refused call invalidates the captures that it conflicts with ---- */
CUresult wfe_unsafe(CUresult status); /* for potentially unsafe calls: `status`, or the error if they are refused */
CUresult wfe_waits_for_all(CUcontext c);
/* For work other than kernels; `otherwise` is the status if the stream itself is captured. */
CUresult wfe_use_stream(CUcontext c, CUstream stream, CUresult otherwise);
CUresult wfe_capture_kernel(CUstream stream, CUfunction f, const emu_launch *l, const uint8_t *params);
void wfe_capture_drop(CUstream stream); /* no effect if the stream is not captured */
void wfe_release_graph(CUgraph g);
void wfe_graph_drop(void *at, emu_object kind); /* a CUgraph or CUgraphExec */
#endif
