/* dead_arrays.c - removes stores to arrays that the program released before the recording runs, since the program can
 * no longer read them. In debug mode the stores stay, because debug mode checks effects. */
#include "record/record.h"
#include "ir/pass/pass.h"

/* True if only the recording holds the array. Views, copies and queued work hold another reference to the array or to
 * its memory. */
static bool is_released(const wf_graph *g, const wf_array *a)
{
    bool kept = a->graph == g && atomic_load_explicit(&a->state, memory_order_relaxed) == WF_STATE_LAZY;
    const wf__buffer *b = a->buffer;
    return b && b->bytes && atomic_load_explicit(&a->refs, memory_order_acquire) == 1 + kept &&
           atomic_load_explicit(&b->refs, memory_order_acquire) == 1;
}

static uint32_t object_of(const wf__ir *ir, const wf__node *n) { return ir->slot[n->a].object; }

enum { RELEASED = 1, READ };

/* Marks the objects that the nodes in live[] read (NULL = any node). Removes the effects on released objects that are
 * not read. True if it removed any. */
static bool drop(wf__ir *ir, uint8_t *object, uint32_t objects, const uint8_t *live)
{
    bool any = false;
    for (uint32_t i = 0; i < objects; ++i)
        object[i] &= RELEASED;
    for (wf__ref r = 1; r < ir->n; ++r)
        if (wf__op_gives_element(ir->node[r].op) && (!live || live[r]))
            object[object_of(ir, &ir->node[r])] |= READ;
    for (wf__ref r = 1; r < ir->n; ++r) {
        wf__node *n = &ir->node[r];
        if (!wf__op_is_effect(n->op) || object[object_of(ir, n)] != RELEASED)
            continue;
        *n = (wf__node){ .op = WF__NOP };
        any = true;
    }
    return any;
}

static void mark(const wf__ir *ir, uint8_t *live)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        live[r] = wf__op_is_effect(ir->node[r].op);
    wf__mark_live(ir, live);
}

void wf__drop_unseen(wf_graph *g, bool goes_on)
{
    const wf__program *p = &g->program;
    wf__ir *ir = &g->program.rec.ir;
    uint32_t objects = p->object_n, first = 0;
    if (p->rec.options.kind != WF__ARRAYS || ir->flags & (WF__KEEP_DEAD | WF_FLAG_DEBUG))
        return;
    while (first < objects && !is_released(g, p->object[first].array))
        ++first;
    uint8_t *object = first < objects ? wf__alloc0((size_t)objects + ir->n) : NULL;
    if (!object) /* no array is released, or there is no memory: the stores stay */
        return;
    uint8_t *live = object + objects;
    for (uint32_t i = first; i < objects; ++i)
        object[i] = is_released(g, p->object[i].array) ? RELEASED : 0;
    do { /* a removed store may have been the only reader of another array */
        if (!goes_on)
            mark(ir, live);
    } while (drop(ir, object, objects, goes_on ? NULL : live) && !goes_on);
    wf__free(object);
}
