/* pass.h - tools for passes: operands, liveness, copying nodes from one recording to another. */
#ifndef WEFT_IR_PASS_H
#define WEFT_IR_PASS_H
#include "ir/ir.h"

/* In wf__ir.flags WF_FLAG_DEAD_CODE is the other way round: a recording that no context made loses its dead code. */
enum { WF__KEEP_DEAD = WF_FLAG_DEAD_CODE };
enum { WF__MAX_OPERANDS = 16 };
/* The values that a node uses, those of its lists included. Returns how many. */
uint32_t wf__operands(const wf__ir *ir, const wf__node *n, wf__ref out[WF__MAX_OPERANDS]);
/* Spreads the marks in live[] (one byte per node) to everything that marked nodes use. */
void wf__mark_live(const wf__ir *ir, uint8_t *live);
/* ---- loop.c ---- */
wf__ref wf__loop_body(const wf__ir *ir, wf__ref loop); /* its first node behind the states */
void wf__close_range(wf__ir *ir, wf__ref first,
                     wf__ref end); /* first..end, a body that has ended, is not seen any more */
void wf__forget_stores(wf__ir *ir);
/* Spreads marks along the loops from node first to node last: live parts keep their loop, a live loop its end and
 * guards, a live state its next value. True: there are new marks. */
bool wf__mark_loops(const wf__ir *ir, uint8_t *live, wf__ref first, wf__ref last);
/* The end of the outermost loop around r that has turns (a condition has none); 0: there is none. */
wf__ref wf__turns_end(const wf__ir *ir, wf__ref r);
/* True if the node has an effect, or an index that debug mode checks even if the value is unused. */
bool wf__is_needed(const wf__ir *ir, const wf__node *n);
/* Marks what is needed, except stores that a later one to the same place hides with no load in between. */
void wf__mark_effects(const wf__ir *ir, uint8_t *live);
/* Begins `out`, which is to be `in` rewritten: flags, tables, counts. */
bool wf__pass_begin(const wf__ir *in, wf__ir *out);
/* Drops what a pass has left unused, in place, until nothing changes. */
bool wf__pass_settle(wf__ir *ir);
/* Slots, reductions and parameters, with the same numbers; `out` is empty. */
bool wf__copy_tables(const wf__ir *in, wf__ir *out);
/* ---- rewrite.c ---- */
typedef struct wf__rewriter wf__rewriter;
/* Records node r of `in` in `out`; the node there, 0 for an effect. */
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
/* Copies the tables of `in`, then visits its nodes. `out` has been initialised; false: its status says why. */
bool wf__rewrite(wf__rewriter *w);
bool wf__rewrite_nodes(wf__rewriter *w); /* without the tables */
void wf__rewrite_range(wf__rewriter *w, wf__ref first, wf__ref end);
/* Node r with operands through map[] and lists of `out`, which may be `in`; not recorded. */
wf__node wf__map_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
/* Node r recorded again in `out` with operands through map[]; 0 for effects. */
wf__ref wf__copy_node(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
uint32_t wf__copy_tuple(const wf__ir *in, uint32_t tuple, const wf__ref *map, wf__ir *out);
/* The same for an access, with `tuple` of `out` as its index. */
wf__ref wf__copy_access(const wf__ir *in, wf__ref r, uint32_t tuple, const wf__ref *map, wf__ir *out);
/* fast.c: node r rewritten as WF_FLAG_FAST_MATH allows, recorded in `out`; 0: as it is. */
wf__ref wf__fast(const wf__ir *in, wf__ref r, const wf__ref *map, wf__ir *out);
#endif
