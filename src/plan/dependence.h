/* dependence.h - whether two accesses may touch the same memory, and which of them must come first. All passes use
 * these functions. */
#ifndef WEFT_PLAN_DEPENDENCE_H
#define WEFT_PLAN_DEPENDENCE_H
#include "ir/ir.h"
#include "weft/dist.h"

struct wf__plan;
struct wf__stage;
struct wf__slot_view;

/* ---- arrays ---- */
/* The memory of one array ("object") of a recording. */
typedef struct wf__bind {
    char *base;                                    /* element [0, ..., 0] */
    const char *lo, *hi;                           /* the bytes it spans; equal: no elements */
    int64_t dim[WF_MAX_RANK], stride[WF_MAX_RANK]; /* strides in elements */
    uint8_t dtype, rank;
    const char *name;    /* for messages; may be NULL */
    uint32_t number;     /* for messages: number of the array in the recording, from 1; 0 = scratch, or unknown */
    const wf_dist *dist; /* how the elements are distributed over ranks; NULL = each rank has all of them */
} wf__bind;
static inline wf_shape wf__bind_shape(const wf__bind *b)
{
    wf_shape shape = { .rank = b->rank };
    memcpy(shape.dim, b->dim, sizeof shape.dim);
    return shape;
}

/* How the memory of two arrays overlaps. */
typedef enum wf__overlap {
    WF__APART,  /* no byte is common */
    WF__SAME,   /* same place, shape, strides and dtype */
    WF__PARTIAL /* any other way */
} wf__overlap;
wf__overlap wf__bind_meeting(const wf__bind *a, const wf__bind *b); /* for two that span common bytes */
static inline wf__overlap wf__bind_overlap(const wf__bind *a, const wf__bind *b)
{
    return a->hi <= b->lo || b->hi <= a->lo ? WF__APART : wf__bind_meeting(a, b);
}
/* True if two indices may name the same element of an array; also where that cannot be excluded simply. */
bool wf__bind_repeats(const wf__bind *b);
/* The same as wf__bind_overlap of objects of a plan. A temporary overlaps itself alone. */
wf__overlap wf__object_overlap(const struct wf__plan *plan, const wf__bind *bind, uint32_t a, uint32_t b);

/* ---- accesses of one body ---- */
/* True if the tuple has two indices or more, the last one a constant; *out is that constant. */
bool wf__last_constant(const wf__ir *ir, uint32_t tuple, int64_t *out);
/* True if two accesses differ in a constant last index alone, as parts of a record do: they never touch one element. */
bool wf__are_parts(const wf__ir *ir, const wf__node *n, const wf__node *m);

/* Points of an index space run in any order, several at once. */
typedef struct wf__memory_order {
    const struct wf__plan *plan;
    const wf__bind *bind; /* [recording's objects] */
    const wf_shape *space;
} wf__memory_order;
/* True if load r of the body may see what another point stores, so that it has to read a copy made before. */
bool wf__reads_other_points(const wf__memory_order *m, const wf__ir *ir, wf__ref r);
/* True if load r reads by another index than a store that runs before it writes the same memory. Other points may write
 * the element, in any order. */
bool wf__reads_what_points_write(const wf__memory_order *m, const wf__ir *ir, wf__ref r);
/* True if the assignment q may leave another point's value of an earlier output in its place, so that it has to go
 * through a temporary. */
bool wf__overwrites_output(const wf__memory_order *m, const wf__ir *ir, wf__ref q);

/* ---- stages; `bind` has temporaries, too ---- */
/* Returns the view of a slot; NULL = elements are at the points' own places. */
const struct wf__slot_view *wf__view_of(const struct wf__slot_view *view, uint32_t n, uint32_t slot);
/* True if each point of the stage has one element of the slot's array to itself, at its own place. */
bool wf__owns_element(const struct wf__stage *stage, uint32_t slot, const wf__bind *bind);
/* True if no point of one stage writes what another point of the other one touches, as far as `stage` writes. */
bool wf__may_change_places(const struct wf__plan *plan, const struct wf__stage *stage, const struct wf__stage *other,
                           const wf__bind *bind);
/* True if neither of two kernels writes an array that the other one touches. */
bool wf__stages_apart(const struct wf__plan *plan, const struct wf__stage *a, const struct wf__stage *b,
                      const wf__bind *bind);
#endif
