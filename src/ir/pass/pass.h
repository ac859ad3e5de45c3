/* pass.h - tools for passes: liveness, copying nodes from one recording to another. */
#ifndef WEFT_IR_PASS_H
#define WEFT_IR_PASS_H
#include "ir/ir.h"

/* Spreads the marks in live[] (one byte per node) to everything that marked nodes use. */
void wf__mark_live(const wf__ir *ir, uint8_t *live);
/* True if the node has an effect, or an index that debug mode checks even if the value is unused. */
bool wf__is_needed(const wf__ir *ir, const wf__node *n);
/* Marks the nodes that wf__is_needed selects, except stores that a later store to the same place hides with no load
 * in between. */
void wf__mark_effects(const wf__ir *ir, uint8_t *live);
/* Begins `out`, the rewritten `in`, with the flags, tables and statistics of `in`. */
bool wf__pass_begin(const wf__ir *in, wf__ir *out);
/* Drops the nodes that a pass has left unused, in place, until nothing changes. */
bool wf__pass_drop_unused(wf__ir *ir);
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
/* As wf__rewrite, without the tables: for an `out` that wf__pass_begin has begun. */
bool wf__rewrite_nodes(wf__rewriter *w);
void wf__rewrite_range(wf__rewriter *w, wf__ref first, wf__ref end);
/* Returns node r with its operands mapped by map[] and its lists in `out`, which may be `in`. Does not record the
 * node. */
wf__node wf__map_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
/* Records node r again in `out` with its operands mapped by map[]. Returns the new node, 0 for effects. */
wf__ref wf__copy_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
/* As wf__copy_node, between array graphs whose shapes have other numbers. */
wf__ref wf__copy_between(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
uint32_t wf__copy_tuple(const wf__ir *in, uint32_t tuple, const wf__ref *map, wf__ir *out);
/* As wf__copy_node, for an access, with the list `tuple` of `out` as its indices. */
wf__ref wf__copy_access(const wf__ir *in, wf__ref r, uint32_t tuple, const wf__ref *map, wf__ir *out);
/* fast.c: records node r in `out` as WF_FLAG_FAST_MATH allows to rewrite it. Returns 0 if no rule applies. */
wf__ref wf__fast(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
#endif
