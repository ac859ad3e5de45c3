/* pass.h - tools for passes: operands, liveness, copying nodes from one recording to another. */
#ifndef WEFT_IR_PASS_H
#define WEFT_IR_PASS_H
#include "ir/ir.h"

/* Flag of wf__ir.flags: keep dead code. It has the bit of WF_FLAG_DEAD_CODE, which is inverted in wf__ir.flags, so
 * that a recording with flags 0 loses its dead code. */
enum { WF__KEEP_DEAD = WF_FLAG_DEAD_CODE };
enum { WF__MAX_OPERANDS = 16 };
/* The values that a node uses, those of its lists included. Returns how many. */
uint32_t wf__operands(const wf__ir *ir, const wf__node *n, wf__ref out[WF__MAX_OPERANDS]);
/* Spreads the marks in live[] (one byte per node) to everything that marked nodes use. */
void wf__mark_live(const wf__ir *ir, uint8_t *live);
/* ---- loop.c ---- */
wf__ref wf__loop_body(const wf__ir *ir, wf__ref loop); /* returns its first node behind the states */
void wf__close_range(wf__ir *ir, wf__ref first,
                     wf__ref end); /* closes first..end, the body of a loop that has ended (wf__is_closed) */
void wf__forget_stores(wf__ir *ir);
/* Spreads marks along the loops from node first to node last. Live parts keep their loop, a live loop keeps its end
 * and guards, and a live state its next value. Returns true if there are new marks. */
bool wf__mark_loops(const wf__ir *ir, uint8_t *live, wf__ref first, wf__ref last);
/* Returns the END of the outermost loop around r that is not a condition; 0 = none. */
wf__ref wf__turns_end(const wf__ir *ir, wf__ref r);
/* True if the node has an effect, or an index that debug mode checks even if the value is unused. */
bool wf__is_needed(const wf__ir *ir, const wf__node *n);
/* Marks the nodes that wf__is_needed selects, except stores that a later store to the same place hides with no load
 * in between. */
void wf__mark_effects(const wf__ir *ir, uint8_t *live);
/* Begins `out`, the rewritten `in`, with the flags, tables and statistics of `in`. */
bool wf__pass_begin(const wf__ir *in, wf__ir *out);
/* Drops the nodes that a pass has left unused, in place, until nothing changes. */
bool wf__pass_settle(wf__ir *ir);
/* Copies slots, reductions and parameters with their numbers to `out`, which is empty. */
bool wf__copy_tables(const wf__ir *in, wf__ir *out);
/* ---- rewrite.c ---- */
typedef struct wf__rewriter wf__rewriter;
/* Records node r of `in` in `out`. Returns the new node, 0 for an effect. */
typedef wf__ref wf__visit(wf__rewriter *w, wf__ref r);
struct wf__rewriter {
    const wf__ir *in;
    wf__ir *out;
    wf__visit *visit;    /* NULL = wf__copy_node */
    void *user;          /* the visitor's */
    const uint8_t *live; /* [node] true for the nodes to visit; NULL = all */
    wf__ref *map;        /* [node] of `in`: its node in `out`; NULL = the driver's own */
    wf__ref next;        /* the node to visit next; a visitor sets it to skip nodes that it has recorded itself */
};
/* Copies the tables of `in`, then visits its nodes. `out` has been initialised. On failure returns false, and
 * out->status is set. */
bool wf__rewrite(wf__rewriter *w);
bool wf__rewrite_nodes(wf__rewriter *w); /* as wf__rewrite, without the tables */
void wf__rewrite_range(wf__rewriter *w, wf__ref first, wf__ref end);
/* Returns node r with its operands mapped by map[] and its lists in `out`, which may be `in`. Does not record the
 * node. */
wf__node wf__map_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
/* Records node r again in `out` with its operands mapped by map[]. Returns the new node, 0 for effects. */
wf__ref wf__copy_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
uint32_t wf__copy_tuple(const wf__ir *in, uint32_t tuple, const wf__ref *map, wf__ir *out);
/* As wf__copy_node, for an access, with the list `tuple` of `out` as its indices. */
wf__ref wf__copy_access(const wf__ir *in, wf__ref r, uint32_t tuple, const wf__ref *map, wf__ir *out);
/* fast.c: records node r in `out` as WF_FLAG_FAST_MATH allows to rewrite it. Returns 0 if no rule applies. */
wf__ref wf__fast(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
#endif
