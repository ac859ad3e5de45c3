/* sweep.h - what the sweep of reverse mode works with: derivatives of the loss, collected for each value. */
#ifndef WEFT_AD_SWEEP_H
#define WEFT_AD_SWEEP_H
#include "ad/index.h"
#include "ad/loops.h"

/* The derivative of the loss with respect to a value. In an array graph the shape of the derivative broadcasts to that of
 * the value, and the derivative stands for its broadcast. Where the mask is false the derivative is 0, and `value` may
 * be anything, such as the product of 0 and an infinity of a branch that was not chosen. */
typedef struct wf__adjoint {
    wf__ref value; /* 0 = the derivative is 0 everywhere */
    wf__ref mask;  /* a bool; 0 = all points */
} wf__adjoint;

typedef struct wf__part { /* a contribution to an adjoint */
    wf__adjoint adjoint;
    uint32_t next; /* 0 = the last one */
} wf__part;
typedef struct wf__sum { /* a list of contributions, in the order in which they are added */
    uint32_t first, last;
} wf__sum;

typedef struct wf__sweep {
    wf__ir *ir;
    const wf__ad_task *task;
    wf__route route;
    wf__sum *node;  /* [route.n] */
    wf__sum *array; /* [route.objects] contributions to the contents of arrays, as they are where the sweep is */
    wf__part *part; /* part[0] is not used */
    uint32_t part_n, part_cap;
    /* True while the sweep walks over a turn of a loop that is kept. Contributions to values from before the loop then stay
     * at the points of the loop, and are summed after it. The next four fields are used only then. */
    bool pointwise;
    wf__sum *element; /* [route.objects] contributions to the point's own element of each array */
    wf__ref on;       /* the points whose turn it is */
    /* [route.objects] array graphs: the derivative of each array's contents as they are after the loop. 0 = the
     * derivative is 0, or the loop changes no element on the way. */
    wf__ref *after;
    /* [route.n] of effects: the points that have one alone, where several share it; 0 = all. NULL = all, of all effects. */
    wf__ref *alone;
    /* reverse.c: visits the nodes, the last one first. */
    void (*walk)(struct wf__sweep *s, wf__ref first, wf__ref last);
} wf__sweep;

/* ---- parts.c ---- */
static inline bool wf__is_active(const wf__sweep *s, wf__ref r) { return wf__on_route(s->ir, &s->route, r); }
/* After its route was found. False = out of memory: the ir has failed. */
bool wf__sweep_begin(wf__sweep *s);
void wf__sweep_end(wf__sweep *s); /* frees it and its route, also after failure */
/* Adds a contribution as it is. */
void wf__add_part(wf__sweep *s, wf__sum *sum, wf__adjoint adjoint);
/* Returns the sum of the contributions and empties the list. */
wf__adjoint wf__take_sum(wf__sweep *s, wf__sum *sum);
/* Returns the adjoint's value with 0 where the mask is false. */
wf__ref wf__masked(wf__ir *ir, wf__adjoint a);
/* Returns an adjoint at fewer points: those where the condition holds. Unless `holds`, those where it does not. */
wf__adjoint wf__only_where(wf__ir *ir, wf__adjoint a, wf__ref condition, bool holds);
/* Adds to the adjoint of an operand the contribution of a node that uses it at the points of shape `points`: sums over
 * the axes along which the operand was broadcast. Does nothing for operands that are not active. */
void wf__give(wf__sweep *s, wf__ref operand, wf__adjoint a, uint32_t points);

/* ---- shapes.c: array graphs ---- */
/* Returns the value with exactly this shape. */
wf__ref wf__broadcast_to(wf__ir *ir, wf__ref value, uint32_t shape);
/* Returns the value with the shape that it and others broadcast to, where the extents of others are open: it is selected
 * by a condition that is false and depends on them. */
wf__ref wf__broadcast_with(wf__ir *ir, wf__ref value, const wf__ref *like, uint32_t n);
/* Returns the sum of the value over the points of shape `from` that one element of shape `to` was broadcast to. The
 * value's shape broadcasts to `from`, that of the result to `to`. */
wf__ref wf__sum_to(wf__ir *ir, wf__ref value, uint32_t from, uint32_t to, const char *function);
/* Returns the elements of the value at the indices, where points take part; others may have any index, and get 0.
 * some: false if all points take part. */
wf__ref wf__gather_some(wf__ir *ir, wf__ref value, uint32_t tuple, bool some);
wf__ref wf__reshaped(wf__ir *ir, wf__ref value, const wf_shape *shape);
wf__ref wf__summed(wf__ir *ir, wf_join join, wf__ref value, wf_axes axes); /* a REDUCE; complex sums by parts */

/* ---- views.c, joins.c ---- */
void wf__reverse_view(wf__sweep *s, wf__ref r, wf__adjoint a);
void wf__reverse_reduce(wf__sweep *s, wf__ref r, wf__adjoint a);
void wf__reverse_scan(wf__sweep *s, wf__ref r, wf__adjoint a);
wf__ref wf__scanned(wf__ir *ir, wf_join join, wf__ref value, int axis, unsigned flags); /* a SCAN */
/* custom.c. `a` may be 0: another output of the call may have an adjoint. */
void wf__reverse_derived(wf__sweep *s, wf__ref r, wf__adjoint a);
/* Return the derivative of node r in forward mode, from that of its operand. */
wf__ref wf__forward_reduce(wf__ir *ir, wf__ref r, wf__ref tangent, const char *function);
wf__ref wf__forward_scan(wf__ir *ir, wf__ref r, wf__ref tangent, const char *function);

/* ---- effects.c: loops that are kept ---- */
/* In an array graph, takes the derivatives of the arrays that the loop changes, for its turns. After the loop that goes back,
 * wf__effects_end leaves those of the contents from before; also after failure. */
bool wf__effects_begin(wf__sweep *s, const wf__region *loop);
void wf__effects_end(wf__sweep *s, const wf__region *loop);
/* In a turn: gives its derivative to what is stored or added. */
void wf__reverse_effect(wf__sweep *s, wf__ref r);
/* Returns where the stores of the loop leave elements of an array alone; 0 = everywhere. */
wf__ref wf__left_by_loop(wf__ir *ir, const wf__region *loop, uint32_t object);

/* ---- updates.c: array graphs ---- */
typedef struct wf__join_update { /* an accumulation, or a SCATTER, by WF_JOIN_MUL, MIN or MAX */
    wf_join join;
    wf__ref value, old;     /* old: the elements from before; 0 = they are neutral */
    uint32_t tuple, points; /* indices, and the shape of the points */
    wf__ref when;           /* 0 = always */
    uint32_t shape;         /* of the elements */
} wf__join_update;
wf__join_update wf__update_of_scatter(wf__ir *ir, const wf__node *scatter);
/* False: the ir has failed; another join, or the contents from before are not known. */
bool wf__update_of_accum(wf__ir *ir, const wf__ad_task *task, wf__ref accum, wf__join_update *u);
/* Sets what the value and the elements from before get of the elements' derivative g. */
void wf__reverse_update(wf__ir *ir, const wf__join_update *u, wf__ref g, wf__adjoint *to_value, wf__ref *to_old);
/* Returns the derivative of the elements, from those of the value and of the elements from before; 0 = it is 0. */
wf__ref wf__forward_update(wf__ir *ir, const wf__join_update *u, wf__ref value, wf__ref old);
/* Returns where a store by index or with a condition leaves elements of its array, of that shape, alone; 0 = nowhere. */
wf__ref wf__left_alone(wf__ir *ir, const wf__node *store, uint32_t shape);
#endif
