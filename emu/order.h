/* order.h - the order of what devices do: which operation of one stream surely is over before one of another begins.
 * All is called with the driver's lock held.
 */
#ifndef WEFT_EMU_ORDER_H
#define WEFT_EMU_ORDER_H
#include "emu/cuda_api.h"
#include "emu/emu.h"

typedef struct emu_clock { /* of each line of time, up to when what it has got is over */
    uint64_t *time;
    uint32_t n;
} emu_clock;
typedef struct emu_line { /* a stream */
    CUcontext context;    /* NULL: nobody's */
    CUstream stream;      /* or CU_STREAM_LEGACY, CU_STREAM_PER_THREAD */
    uint32_t thread;      /* whose default stream it is; 0: no thread's */
    bool blocking, gone;  /* gone: destroyed, perhaps with work under way */
    uint64_t now;         /* operations it has got */
    emu_clock clock;      /* what comes before the next one */
} emu_line;
typedef struct emu_order {
    emu_line *lines;
    uint32_t n, cap, threads;
    emu_clock host; /* what the host has waited for */
    uint64_t operations;
    bool on;
} emu_order;

/* ---- operations: begun before they are done, ended after, with what they have used in between ---- */
typedef struct emu_op {
    uint32_t kept; /* by accesses that are remembered, and while it is under way */
    uint32_t line; /* in which it is done, at which time */
    uint64_t time, number;
    CUcontext context; /* which gets what is found */
    const char *verb;  /* what it does where it writes: "writes" */
    emu_touched touched;
    char name[224]; /* kernel 'k' (operation 7, in stream 0x...) */
} emu_op;
/* In a stream of `c`, or of the context that the stream is of. NULL: nobody looks. */
emu_op *wfe_op_begin(CUcontext c, CUstream stream, const char *what, const char *verb);
emu_op *wfe_op_begin_host(CUcontext c, const char *what, const char *verb); /* done by the host, at once */
void wfe_op_end(emu_op *op, bool waits); /* waits: the host goes on when it is over. Finds, and then sets an error */
void wfe_op_drop(emu_op *op);            /* it was not done */

/* ---- what orders them ---- */
void wfe_order_stream(CUstream stream); /* a new one */
void wfe_order_stream_gone(CUstream stream);
void wfe_order_context_gone(CUcontext c);
void wfe_order_record(emu_clock *event, CUcontext c, CUstream stream);
void wfe_order_wait(CUcontext c, CUstream stream, const emu_clock *event);
void wfe_order_host_waits(const emu_clock *event);
void wfe_order_host_waits_for(CUcontext c, CUstream stream);
void wfe_order_host_waits_for_all(CUcontext c);
void wfe_clock_free(emu_clock *clock);
void wfe_order_free(emu_order *order);
#endif
