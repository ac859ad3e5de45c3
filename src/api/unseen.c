/* unseen.c - arrays that nobody but a recording knows any more: the program has released them before it was run. What
 * it would store there nobody can read, and is not done; in debug mode it is, as that looks at what effects do.
 */
#include "api/api.h"
#include "ir/pass.h"

/* Whoever has a view, a copy or queued work of it holds the array or its memory. */
static bool is_released(const wf_graph *g, const wf_array *a)
{
    bool kept = a->graph == g && atomic_load_explicit(&a->state, memory_order_relaxed) == WF_LAZY;
    const wf__buffer *b = a->buffer;
    return b && b->bytes && atomic_load_explicit(&a->refs, memory_order_acquire) == 1 + kept &&
           atomic_load_explicit(&b->refs, memory_order_acquire) == 1;
}

static bool names(const wf__ir *ir, const wf__node *n, uint32_t object)
{
    return (n->op == WF__LOAD || wf__op_is_effect(n->op)) && ir->slot[n->a].object == object;
}

/* By a node that is needed; live NULL: by any. */
static bool is_read(const wf__ir *ir, uint32_t object, const uint8_t *live)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        bool reads = n->op == WF__LOAD || n->op == WF__ATOMIC || n->op == WF__CAS;
        if (reads && (!live || live[r]) && names(ir, n, object))
            return true;
    }
    return false;
}

/* Removes what is stored in the object; was there something? */
static bool drop(wf__ir *ir, uint32_t object)
{
    bool any = false;
    for (wf__ref r = 1; r < ir->n; ++r)
        if (names(ir, &ir->node[r], object) && wf__op_is_effect(ir->node[r].op)) {
            ir->node[r] = (wf__node){ .op = WF__NOP };
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
    uint8_t *live = NULL;
    if (p->rec.kind != WF__ARRAYS || ir->flags & (WF__KEEP_DEAD | WF_DEBUG))
        return;
    for (uint32_t i = p->object_n; i-- > 0;) { /* backwards: what is stored in one may be read for a later one */
        if (!is_released(g, p->object[i].array))
            continue;
        if (!goes_on && !live) {
            live = wf__alloc(ir->n);
            if (!live) /* then it is done */
                return;
            mark(ir, live);
        }
        if (!is_read(ir, i, live) && drop(ir, i) && live)
            mark(ir, live);
    }
    wf__free(live);
}
