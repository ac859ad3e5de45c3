/* split.h - what the files that cut an array graph into stages share: split.c (everything but blocks) and
 * split/control.c (conditions and loops), split/scan.c, split/reduce.c, dead_effects.c (effects that nobody sees),
 * group.c (recording into a stage), inline_views.c (elements at other places; which those are is places.c's). */
#ifndef WEFT_PLAN_SPLIT_H
#define WEFT_PLAN_SPLIT_H
#include "ir/pass/pass.h"
#include "plan/passes.h"

typedef struct pending { /* an effect, appended when its stage is complete */
    wf__node node;
    uint32_t result; /* slot + 1 for the value of an atomic operation; 0: none */
} pending;

/* An index along one axis. If `line` is not 0 it is line / div % mod, or line / div where mod is 0: several of them may
 * be one index into memory that is contiguous. */
typedef struct wf__place {
    wf__ref index, line;
    int64_t div, mod;
} wf__place;

/* Where a value is wanted that is not at the point's own place: an index for each of its axes, nodes of the group's ir.
 * Frame 0 is the point's own place, by broadcasting. */
typedef struct wf__frame {
    int rank;
    uint32_t next; /* another frame of the same indices, which remembers other axes as one; 0: none */
    wf__place at[WF_MAX_RANK];
} wf__frame;

/* A node at a frame -> a node of the group's ir. Node 0: a tuple -> the latest frame of these indices. */
typedef struct wf__recorded {
    wf__ref node;
    uint32_t frame, era;
    wf__ref value;
} wf__recorded;

typedef struct group { /* a stage in the making */
    wf_shape shape;
    wf_axes axes; /* that its reductions reduce; what it has if there are any */
    wf__ir ir;
    wf__ref *map;      /* recording node -> node of ir */
    uint32_t *slot_of; /* object * 2 + indexed -> slot + 1 */
    uint32_t slot_of_n;
    pending *store;
    uint32_t store_n, store_cap;
    uint32_t *reduce; /* the REDUCE node behind each reduction of ir; one of complex numbers stands for two of them */
    uint32_t reduce_n, reduce_cap;
    wf__frame *frame; /* frame[0] is not used */
    uint32_t frame_n, frame_cap;
    wf__recorded *recorded; /* a table of a power of two entries */
    uint32_t recorded_n, recorded_size;
    wf__scan scan; /* if on, that is all */
    wf__slot_view *view;
    uint32_t view_n, view_cap;
} group;

typedef struct touch { /* memory that a placed root reads or writes */
    uint32_t object, group;
    wf__ref node;
    bool store, gather;
    bool early; /* a store in a block: not at the end of its stage */
} touch;

/* What is said of a node of the cone. */
enum {
    WF__DIRECT = 1, /* wanted at frame 0 */
    WF__ANEW = 2,   /* uses a redirected load: recorded anew */
    WF__VIEWED = 4  /* wanted elsewhere */
};

typedef struct splitter {
    wf__plan *plan;
    const wf__recording *rec;
    const wf__ir *ir;
    const wf__bind *bind;
    wf_shape *shape;    /* of each node, with the arrays' real extents */
    uint8_t *cone;      /* scratch: nodes of the current root, some of the above */
    uint32_t era;       /* of the current root */
    uint8_t *stored;    /* pure nodes whose value goes to a temp, because views of it would repeat too much work */
    uint8_t *placed;    /* assignments that a scan does */
    wf__ref *at;        /* scratch: operands at a frame */
    uint32_t *home;     /* of what has its result in one group (REDUCE, ...), that group; others: UINT32_MAX */
    uint32_t *result;   /* REDUCE: object of its temp; of complex numbers the real part's, which the other's follows */
    uint8_t *wide;      /* REDUCE: dtype that it, or a part of it, accumulates in */
    uint32_t *redirect; /* LOAD: object that replaces it in the current root, or UINT32_MAX */
    uint32_t *saved;    /* LOAD: the temp that holds what it saw; STATE: its last value; or UINT32_MAX */
    uint8_t *live;      /* nodes that some root needs */
    wf__ref *block;     /* the outermost LOOP that has the node in it, up to its END; or 0 */
    uint8_t *leaves;    /* STATE: its last value is used behind the outermost block */
    wf__ref root, last; /* what is being placed: a root, or (0) a part of the block `in`, which ends at `last` */
    wf__ref in;
    group *group;
    uint32_t group_n, group_cap;
    touch *touch;
    uint32_t touch_n, touch_cap;
    char cause[160]; /* why the root comes after other groups, where reasons are collected (plan->why); "" if nothing */
    bool views;      /* the recording has some */
    uint32_t hidden; /* effects that nobody sees */
} splitter;

static inline bool wf__split_gathers(const splitter *s, wf__ref load) /* other elements than the points' own */
{
    return s->ir->node[load].b || s->cone[load] & WF__VIEWED;
}

static inline wf_shape wf__bind_shape(const wf__bind *b)
{
    wf_shape shape = { .rank = b->rank };
    memcpy(shape.dim, b->dim, sizeof shape.dim);
    return shape;
}

/* ---- group.c ---- */
bool wf__split_slot(splitter *s, group *g, uint32_t object, bool indexed, unsigned dtype, int rank, uint32_t *out);
/* A store of a whole value of group g, at its end. */
bool wf__split_store(splitter *s, group *g, uint32_t object, const wf__node *like, int rank, wf__ref value);
/* An effect with its operands as group g has them now. */
bool wf__split_effect(splitter *s, group *g, wf__ref r, pending *out);
wf__ref wf__split_append(wf__ir *ir, const pending *p);

/* ---- choose_group.c ---- */
/* What reasons call an effect or value of the recording: "wf_out to a", "%3 (wf_add)". */
const char *wf__split_called(const splitter *s, wf__ref r, char text[WF__CALLED]);
wf__overlap wf__split_overlap(const splitter *s, uint32_t a, uint32_t b, bool gather);
/* Marks all that the marked nodes up to s->last need, without what other groups leave in temporaries. */
void wf__split_spread(splitter *s);
/* The first group that may hold the marked nodes, as far as their operands tell; and an effect, as far as memory does. */
uint32_t wf__split_bound(splitter *s);
uint32_t wf__split_effect_bound(splitter *s, wf__ref effect, uint32_t bound);
/* The first group from `bound` on of that shape, a new one if need be; for a REDUCE, or 0. UINT32_MAX: without memory. */
uint32_t wf__split_choose(splitter *s, uint32_t bound, const wf_shape *shape, wf__ref reduce);
/* Records the marked nodes before s->last in group g, with copies of what changes too early. UINT32_MAX, or its
 * number now. */
uint32_t wf__split_record(splitter *s, uint32_t g);
bool wf__split_touch(splitter *s, const touch *t);
bool wf__split_add_touch(splitter *s, uint32_t object, uint32_t g, wf__ref node, bool store, bool gather);
/* Loads of the cone that would see an assignment made after them read a copy saved before it. Returns the root's group,
 * which moves when stages are inserted; UINT32_MAX: without memory. */
uint32_t wf__split_save_old(splitter *s, uint32_t g);
bool wf__split_note_loads(splitter *s, uint32_t g); /* group g has the cone */

/* ---- split/scan.c ---- */
bool wf__split_scan(splitter *s, wf__ref root, uint32_t bound); /* with the cone marked */

/* Effects that touch the elements of their target in any order. */
static inline bool wf__by_index(const wf__node *n) { return wf__op_is_update(n->op) || (n->op == WF__STORE && n->b); }
/* Nodes whose values others may use, from a temporary. */
static inline bool wf__has_result(const splitter *s, wf__ref r)
{
    return wf__op_is(s->ir->node[r].op, WF__IS_ONCE) || s->stored[r];
}
/* Is the node computed elsewhere, as seen from what is being placed? */
static inline bool wf__is_cut(const splitter *s, wf__ref r)
{
    wf__ref in = s->block ? s->block[r] : 0;
    return r != s->root && (in ? in != s->in : wf__has_result(s, r));
}

/* ---- split/control.c ---- */
bool wf__split_find_blocks(splitter *s);         /* fills block; false: without memory */
bool wf__split_find_leaves(splitter *s);         /* then, when it is known what lives, leaves; the same */
bool wf__split_block(splitter *s, wf__ref loop); /* places all of a block */
/* Must a load of the block's part that is placed read what was there before the part's group? */
bool wf__split_reads_old(splitter *s, wf__ref load);
/* What it held last, in group g. */
bool wf__split_state(splitter *s, group *g, wf__ref state, uint32_t frame, wf__ref *out);

/* ---- dead_effects.c ---- */
/* Takes effects that later ones hide from what lives, with all that they alone need. false: without memory. */
bool wf__split_hide(splitter *s);

/* ---- group.c ---- */
group *wf__group_add(splitter *s, uint32_t at, const wf_shape *shape); /* NULL without memory */
void wf__group_free(group *g);
bool wf__group_record_cone(splitter *s, group *g); /* but what is being placed itself, if it is a root */
/* Node r at a frame, with operands through map[]; what *out then is. */
bool wf__group_record(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out);
/* An element of a whole object. */
bool wf__group_element(splitter *s, group *g, uint32_t object, unsigned dtype, const wf_shape *shape, uint32_t frame,
                       wf__ref *out);
bool wf__group_update(splitter *s, group *g, wf__ref root); /* an effect by index, at the end of the group */
bool wf__has_points(const wf_shape *shape);

/* ---- split/reduce.c ---- */
bool wf__split_reduce(splitter *s, wf__ref root, uint32_t g); /* at the end of what group g has recorded */
/* The reductions of a group in its stage, the plan's last one, and what follows it. */
bool wf__split_reduced(splitter *s, const group *g);
/* A reduction's result at a frame of a later group. */
bool wf__split_result(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref *out);

/* ---- inline_views.c ---- */
/* Views of what had better be computed once: sets s->stored. */
void wf__choose_stored(splitter *s);
/* Records node r at a frame, with all it needs. */
bool wf__record_at(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref *out);
/* An element of an object of that shape, at a frame other than 0. */
bool wf__load_at(splitter *s, group *g, uint32_t object, unsigned dtype, const wf_shape *shape, uint32_t frame,
                 wf__ref *out);
/* The value of a view at a frame; its source is recorded. */
bool wf__record_view(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out);
#endif
