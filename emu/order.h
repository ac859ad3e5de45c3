/* order.h - the order of operations in streams: which operation is over before another one begins, and which bytes of
 * memory operations have used. The caller of every function holds the driver's lock.
 */
#ifndef WEFT_EMU_ORDER_H
#define WEFT_EMU_ORDER_H
#include "emu/cuda_api.h"
#include "emu/emu.h"

typedef struct emu_clock { /* a vector clock */
    uint64_t *time;        /* per line: the last operation that is known to be over */
    uint32_t n;
} emu_clock;
typedef struct emu_line { /* the time line of a stream, or of the host */
    CUcontext context;    /* NULL = free for a new stream */
    CUstream stream;      /* a stream, CU_STREAM_LEGACY or CU_STREAM_PER_THREAD */
    uint32_t thread;      /* number of the host thread of a per-thread default stream; else 0 */
    bool blocking, gone;  /* blocking: ordered with the legacy default stream; gone: the stream is destroyed */
    uint64_t now;         /* operations so far */
    emu_clock clock;      /* operations that are over before the next one begins */
} emu_line;
typedef struct emu_order {
    emu_line *lines;
    uint32_t n, cap, threads;
    emu_clock host; /* operations that the host has waited for */
    uint64_t operations;
    bool on; /* false: EMU_FIND_ORDER is off, or memory ran out */
} emu_order;

/* ---- operations: begun, then done, then ended with the memory that they have used ---- */
typedef struct emu_op {
    uint32_t kept;         /* references: from spans, and one while the operation is under way */
    uint32_t line;         /* number of its time line */
    uint64_t time, number; /* position in its line, and among all operations */
    CUcontext context;     /* context that gets the error of a finding */
    const char *verb;      /* name of its writes in reports: "writes" */
    emu_touched touched;
    char name[224]; /* "kernel 'k' (operation 7, in stream 0x...)" */
} emu_op;
/* An operation in a stream of `c`, or of the stream's own context. NULL = the search is off. */
emu_op *wfe_op_begin(CUcontext c, CUstream stream, const char *what, const char *verb);
emu_op *wfe_op_begin_host(CUcontext c, const char *what, const char *verb); /* of the host, done at once */
/* Checks the operation against earlier ones; a finding sets the context's error. `waits`: the host waits for its
 * end. */
void wfe_op_end(emu_op *op, bool waits);
void wfe_op_drop(emu_op *op); /* the operation failed and has not taken place */

/* ---- spans.c: bytes that operations have used ---- */
enum { EMU_USES = 6 };
typedef struct emu_use {
    emu_op *op;
    uint8_t how; /* emu_access */
} emu_use;
struct emu_span { /* a range of bytes that the same operations have used */
    uint64_t from, to;
    uint32_t n;
    emu_use use[EMU_USES];
};
/* The first bit in at .. end - 1 that is set, or if `clear` is not set; `end` = none. */
uint64_t wfe_next_bit(const uint64_t *bits, uint64_t at, uint64_t end, bool clear);
void wfe_clear_touched(emu_op *op);
void wfe_release_op(emu_op *op);
void wfe_release_spans(const emu_span *list, uint32_t n);

/* ---- what orders operations ---- */
void wfe_order_stream(CUstream stream); /* a new stream */
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
