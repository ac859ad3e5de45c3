/* split.h - declarations that the files share which cut an array graph into stages: split.c (roots and shapes),
 * choose_group.c (the group of a root), group.c (recording into a group), control.c (conditions and loops), scan.c,
 * reduce.c, dead_effects.c (effects that later ones overwrite), inline_views.c and places.c (elements at other
 * places). */
#ifndef WEFT_PLAN_SPLIT_H
#define WEFT_PLAN_SPLIT_H
#include "ir/pass/pass.h"
#include "plan/passes.h"

typedef struct pending { /* an effect, which is appended when its group is complete */
    wf__node node;
    uint32_t result; /* 1 + the slot for the value of an atomic operation; 0 = none */
} pending;

/* An index along one axis. With `line`, the index is line / div % mod, or line / div if mod is 0. Several such indices
 * with the same line may be one index into contiguous memory. */
typedef struct wf__place {
    wf__ref index; /* a node of the group's ir */
    wf__ref line;  /* the index into contiguous memory; 0 = none */
    int64_t div, mod;
} wf__place;

/* The place at which a value is computed: an index for each of its axes. Frame 0 is the point's own place, by
 * broadcasting. */
typedef struct wf__frame {
    int rank;
    uint32_t next; /* another frame of the same indices with other axes as one line; 0 = none */
    wf__place at[WF_MAX_RANK];
} wf__frame;

/* An entry of a table: a node at a frame -> a node of the group's ir. For node 0: a tuple -> the latest frame of these
 * indices. */
typedef struct wf__recorded {
    wf__ref node;
    uint32_t frame;
    uint32_t era; /* the splitter's era when the entry was made */
    wf__ref value;
} wf__recorded;

typedef struct group { /* a stage in the making */
    wf_shape shape;
    wf_axes axes; /* reduced axes, if there are reductions */
    wf__ir ir;
    wf__ref *map;      /* node of the recording -> node of ir */
    uint32_t *slot_of; /* object * 2 + indexed -> slot + 1 */
    uint32_t slot_of_n;
    pending *store;
    uint32_t store_n, store_cap;
    uint32_t *reduce; /* [reductions of ir] the REDUCE node of each; a complex REDUCE has two reductions */
    uint32_t reduce_n, reduce_cap;
    wf__frame *frame; /* frame[0] is not used */
    uint32_t frame_n, frame_cap;
    wf__recorded *recorded; /* a table of a power of two entries */
    uint32_t recorded_n, recorded_size;
    wf__scan scan; /* the scan that the group is instead of a kernel */
    wf__slot_view *view;
    uint32_t view_n, view_cap;
} group;

typedef struct touch { /* an access to memory by a placed root */
    uint32_t object, group;
    wf__ref node;
    bool store, gather;
    bool early; /* a store in a block, which does not happen at the end of its stage */
} touch;

/* Bits of a node of the cone: the nodes that the current root needs in its own stage. */
enum {
    WF__DIRECT = 1, /* computed at frame 0 */
    WF__ANEW = 2,   /* uses a redirected load, and is recorded again */
    WF__VIEWED = 4  /* computed at other frames */
};

typedef struct splitter {
    wf__plan *plan;
    const wf__recording *rec;
    const wf__ir *ir;
    const wf__bind *bind;
    void *tables;    /* the block of all [nodes] tables but `block` */
    wf_shape *shape; /* [nodes] shapes, with the extents of the arrays */
    uint8_t *cone;   /* [nodes] scratch: bits above of what the current root needs */
    uint32_t era;    /* number of the current root */
    uint8_t *
        stored; /* [nodes] 1 = a pure node with its value in a temporary, since views or passes would repeat too much work */
    uint8_t *placed;    /* [nodes] 1 = an assignment that a scan makes */
    wf__ref *at;        /* [nodes] scratch: operands at a frame */
    uint32_t *home;     /* [nodes] the group that has the result of a REDUCE, SCAN, ...; UINT32_MAX = none */
    uint32_t *result;   /* REDUCE: object of the temporary with the result; the imaginary part has the next object */
    uint8_t *wide;      /* REDUCE: dtype of the accumulator, of each part of a complex one */
    uint32_t *redirect; /* LOAD: object that the current root reads instead; UINT32_MAX = none */
    uint32_t *saved;    /* LOAD: temporary with the old contents; STATE: with its last value; UINT32_MAX = none */
    uint8_t *live;      /* [nodes] 1 = some root needs the node */
    wf__ref *block;     /* [nodes] the outermost LOOP around the node, its END included; 0 = none */
    uint8_t *leaves;    /* STATE: 1 = its last value is used after the outermost block */
    uint8_t *tape;      /* [LOOP] 1 = a later block uses its local memory, and computes the block again for itself */
    wf__ref root;       /* the root being placed; 0 = a part of a block */
    wf__ref last;       /* the last node of the root or block that is being placed */
    wf__ref in;         /* the block whose part is being placed */
    group *group;
    uint32_t group_n, group_cap;
    touch *touch;
    uint32_t touch_n, touch_cap;
    char cause[160]; /* why the root cannot be in an earlier group, if plan->why collects reasons; "" = it can */
    bool views;      /* the recording has views */
    uint32_t hidden; /* the number of effects that later ones overwrite */
} splitter;

/* True if the load reads other elements than the points' own. */
static inline bool wf__split_gathers(const splitter *s, wf__ref load)
{
    return s->ir->node[load].b || s->cone[load] & WF__VIEWED;
}

/* ---- choose_group.c ---- */
/* Writes the name of an effect or value of the recording, for reasons: "wf_out to a", "%3 (wf_add)". Returns text. */
const char *wf__split_called(const splitter *s, wf__ref r, char text[WF__CALLED]);
/* Returns how the memory of objects a and b overlaps; gather: one of the two is accessed by index. */
wf__overlap wf__split_overlap(const splitter *s, uint32_t a, uint32_t b, bool gather);
/* Returns how the elements that an effect and a load touch overlap. */
wf__overlap wf__split_access_overlap(const splitter *s, wf__ref effect, wf__ref load);
/* True if a load of the part of a block being placed reads the contents from before the part's group. */
bool wf__split_reads_old(splitter *s, wf__ref load);
/* Marks all nodes that the marked ones up to s->last need, except those whose values other groups leave in
 * temporaries. */
void wf__split_spread(splitter *s);
/* Returns the first group that may hold the marked nodes, by their operands. */
uint32_t wf__split_bound(splitter *s);
/* Returns the first group from `bound` on that may hold the effect, by the memory that it touches. */
uint32_t wf__split_effect_bound(splitter *s, wf__ref effect, uint32_t bound);
/* Returns the first group from `bound` on of that shape; the number of groups = there is none. reduce: as below. */
uint32_t wf__split_find(const splitter *s, uint32_t bound, const wf_shape *shape, wf__ref reduce);
/* Returns the first group from `bound` on of that shape, or a new one. reduce: the REDUCE node that it is for; 0 = none.
 * UINT32_MAX = failure. */
uint32_t wf__split_choose(splitter *s, uint32_t bound, const wf_shape *shape, wf__ref reduce);
/* Records the marked nodes before s->last in group g. Where memory changes before a marked load reads it, adds a
 * copy. Returns the number of the group, which insertions change; UINT32_MAX = out of memory. */
uint32_t wf__split_record(splitter *s, uint32_t g);
/* Add an access to the list of those of placed roots. false = out of memory. */
bool wf__split_touch(splitter *s, const touch *t);
bool wf__split_add_touch(splitter *s, uint32_t object, uint32_t g, wf__ref node, bool store, bool gather);
/* Makes loads of the cone that would see a later assignment read a copy that is saved before it. Returns the number of
 * the root's group, which insertions change; UINT32_MAX = out of memory. */
uint32_t wf__split_save_old(splitter *s, uint32_t g);
/* Adds the loads of the cone, which is in group g, to the list of accesses of placed roots. false = out of memory. */
bool wf__split_note_loads(splitter *s, uint32_t g);

/* ---- split/scatter.c ---- */
/* Sets *out to the shape of the points that compute a node, which for a SCATTER is that of its operands. */
bool wf__split_points(splitter *s, wf__ref r, wf_shape *out);
/* Adds a temporary of neutral elements for a SCATTER, and raises *bound to behind it. false = failure. */
bool wf__split_begin_scatter(splitter *s, wf__ref r, uint32_t *bound);
/* Places a SCATTER, whose cone is marked: the temporary, and behind it the accumulation. false = failure. */
bool wf__split_place_scatter(splitter *s, wf__ref root, uint32_t bound);

/* ---- split/scan.c ---- */
/* Places a SCAN, whose cone is marked, in a group from `bound` on. false = failure. */
bool wf__split_scan(splitter *s, wf__ref root, uint32_t bound);

/* True for effects that touch the elements of their target in any order. */
static inline bool wf__by_index(const wf__node *n) { return wf__op_is_update(n->op) || (n->op == WF__STORE && n->b); }
/* True for nodes whose values other groups read from a temporary. */
static inline bool wf__has_result(const splitter *s, wf__ref r)
{
    return wf__op_is(s->ir->node[r].op, WF__IS_ONCE) || s->stored[r];
}
/* True if the group of the root or block that is being placed does not compute the node. */
static inline bool wf__is_cut(const splitter *s, wf__ref r)
{
    wf__ref in = s->block ? s->block[r] : 0;
    return r != s->root && (in ? in != s->in && !(s->in && s->tape[in]) : wf__has_result(s, r));
}

/* ---- split/control.c ---- */
bool wf__split_find_blocks(splitter *s);         /* sets `block`; false = out of memory */
bool wf__split_find_leaves(splitter *s);         /* sets `leaves`, after `live`; false = out of memory */
bool wf__split_block(splitter *s, wf__ref loop); /* places all parts of a block; false = failure */

/* ---- dead_effects.c ---- */
/* Clears `live` of effects that later ones overwrite, and of nodes that only these need. false = out of memory. */
bool wf__split_hide(splitter *s);

/* ---- group.c ---- */
/* Sets *out to the group's slot for an object. */
bool wf__split_slot(splitter *s, group *g, uint32_t object, bool indexed, unsigned dtype, int rank, uint32_t *out);
/* Adds a store of a value of all points to the end of group g. */
bool wf__split_store(splitter *s, group *g, uint32_t object, const wf__node *like, int rank, wf__ref value);
/* Sets *out to the accumulation of a SCATTER, with its operands as group g has them now. false = out of memory. */
bool wf__split_scatter(splitter *s, group *g, wf__ref r, pending *out);
/* Sets *out to an effect with its operands as group g has them now. */
bool wf__split_effect(splitter *s, group *g, wf__ref r, pending *out);
/* Appends an effect. Returns the value of an atomic operation; 0 = none. */
wf__ref wf__split_append(wf__ir *ir, const pending *p);
/* Inserts a group before group `at`. NULL = out of memory. */
group *wf__group_add(splitter *s, uint32_t at, const wf_shape *shape);
void wf__group_free(group *g);
/* Returns the node of the group, or 0 if it belongs to a loop that has ended, so that later nodes cannot use it. */
static inline wf__ref wf__usable(const group *g, wf__ref node)
{
    return node && wf__is_hidden(&g->ir, node) ? 0 : node;
}
/* Records the cone in the group, without the root. */
bool wf__group_record_cone(splitter *s, group *g);
/* Records node r at a frame, with operands map[]. Sets *out to the node of the group's ir. */
bool wf__group_record(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out);
/* Records a load of an element of an object at a frame. */
bool wf__group_element(splitter *s, group *g, uint32_t object, unsigned dtype, const wf_shape *shape, uint32_t frame,
                       wf__ref *out);
/* Adds an effect by index to the end of the group. */
bool wf__group_update(splitter *s, group *g, wf__ref root);
/* Sets *out to the last value of a STATE, in group g at a frame. */
bool wf__split_state(splitter *s, group *g, wf__ref state, uint32_t frame, wf__ref *out);
bool wf__has_points(const wf_shape *shape);

/* ---- split/reduce.c ---- */
/* Adds a REDUCE to the end of what group g has recorded. */
bool wf__split_reduce(splitter *s, wf__ref root, uint32_t g);
/* Gives the plan's last stage, which is the group's, its reductions, and adds the stages that follow. */
bool wf__split_reduced(splitter *s, const group *g);
/* Records a REDUCE's result at a frame of a later group. */
bool wf__split_result(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref *out);

/* ---- inline_views.c ---- */
/* Sets s->stored: values that views would compute too often. */
void wf__choose_stored(splitter *s);

/* ---- row_values.c ---- */
bool wf__store_row_values(
    splitter *s); /* sets s->stored: values that several passes over rows use; false = out of memory */
/* Records node r at a frame, with all that it needs. */
bool wf__record_at(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref *out);
/* Notes what a node at a frame is recorded as. Frame 0 of nodes that are not recorded anew is in group.map instead. */
bool wf__remember(splitter *s, group *g, wf__ref node, uint32_t frame, wf__ref value);
/* Records a load of an element of an object of that shape, at a frame other than 0. */
bool wf__load_at(splitter *s, group *g, uint32_t object, unsigned dtype, const wf_shape *shape, uint32_t frame,
                 wf__ref *out);
/* Records the value of a view at a frame, from its source. */
bool wf__record_view(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out);
#endif
