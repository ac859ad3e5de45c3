/* dead_effects.c - drops dead effects of an array graph: effects on elements that a later assignment replaces, with
 * no read in between. (wf__mark_effects does this for the stores of one stage.)
 *
 * The pass walks backwards. It keeps a list of the arrays that later nodes assign as a whole before they read them.
 * A dropped effect may have been the only user of a read that kept another effect alive, so the walk is repeated
 * until it drops nothing. Debug mode observes effects, and keeps all of them.
 */
#include "plan/split/split.h"

typedef struct seen {
    splitter *s;
    uint8_t *used;    /* [nodes] 1 = some live node uses the value */
    uint32_t *covers; /* objects that later nodes assign as a whole before they read them */
    uint32_t covers_n;
    uint32_t found;
} seen;

static uint32_t object_of(const seen *w, wf__ref r) { return w->s->ir->slot[w->s->ir->node[r].a].object; }

/* True if the elements fill one range of memory, in any order of axes. */
static bool is_dense(const wf__bind *b)
{
    int64_t step = 1;
    uint32_t left = 0;
    for (int d = 0; d < b->rank; ++d)
        left |= (uint32_t)(b->dim[d] > 1) << d;
    for (int d = 0; d < b->rank; ++d)
        for (int k = 0; k < b->rank; ++k)
            if (left >> k & 1 && (b->stride[k] == step || b->stride[k] == -step)) {
                left &= ~(1u << k);
                step *= b->dim[k];
            }
    return !left;
}

static bool is_covered(const seen *w, uint32_t object)
{
    const wf__bind *bind = w->s->bind, *b = &bind[object];
    bool covered = false;
    for (uint32_t i = 0; i < w->covers_n && !covered; ++i) {
        const wf__bind *c = &bind[w->covers[i]];
        covered = wf__split_overlap(w->s, object, w->covers[i], false) == WF__SAME ||
                  (b->lo < b->hi && b->lo >= c->lo && b->hi <= c->hi && is_dense(c));
    }
    return covered;
}

static void uncover(seen *w, uint32_t object)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->covers_n; ++i)
        if (wf__split_overlap(w->s, object, w->covers[i], true) == WF__APART)
            w->covers[n++] = w->covers[i];
    w->covers_n = n;
}

static void mark_used(seen *w, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(w->s->ir, &w->s->ir->node[r], operand);
    for (uint32_t i = 0; i < count; ++i)
        w->used[operand[i]] = 1;
}

static void visit(seen *w, wf__ref r, bool in_block)
{
    splitter *s = w->s;
    const wf__node *n = &s->ir->node[r];
    bool result = wf__op_is_update(n->op) && w->used[r];
    if (!s->live[r])
        return;
    if (n->op == WF__LOAD || result)
        uncover(w, object_of(w, r));
    else if (wf__op_is_store(n->op)) {
        uint32_t object = object_of(w, r);
        if (is_covered(w, object)) {
            char called[WF__CALLED];
            wf__plan_because(
                s->plan, "dead effects",
                "%s is removed, because a later assignment overwrites all of it and nothing reads it in between",
                wf__split_called(s, r, called));
            s->live[r] = 0;
            ++w->found;
            return;
        }
        if (wf__op_is_update(n->op))
            uncover(w, object);
        else if (!n->b && !n->d && !in_block)
            w->covers[w->covers_n++] = object;
    }
    mark_used(w, r);
}

/* Visits the nodes of a block. A read anywhere in a loop may follow any effect of the loop, in the next turn. */
static void visit_block(seen *w, wf__ref begin, wf__ref end)
{
    const wf__node *node = w->s->ir->node;
    for (wf__ref r = end; r > begin; --r)
        if (w->s->live[r] && wf__op_gives_element(node[r].op))
            uncover(w, object_of(w, r));
    for (wf__ref r = end; r >= begin; --r)
        visit(w, r, true);
}

static void walk(seen *w)
{
    const splitter *s = w->s;
    for (wf__ref r = s->ir->n; r-- > 1;)
        if (s->block && s->block[r]) {
            visit_block(w, s->block[r], r);
            r = s->block[r];
        } else
            visit(w, r, false);
}

bool wf__split_hide(splitter *s)
{
    uint32_t effects = 0, n = s->ir->n;
    for (wf__ref r = 1; r < n; ++r)
        effects += wf__op_is_effect(s->ir->node[r].op);
    if (effects < 2 || s->ir->flags & (WF__KEEP_DEAD | WF_FLAG_DEBUG))
        return true;
    seen w = { .s = s, .used = wf__alloc(n), .covers = wf__alloc(effects * sizeof *w.covers) };
    uint8_t *shown = wf__alloc(n); /* [nodes] 1 = an effect that is left */
    bool ok = w.used && w.covers && shown;
    do {
        if (!ok)
            break;
        w.found = w.covers_n = 0;
        memset(w.used, 0, n);
        walk(&w);
        for (wf__ref r = 1; r < n; ++r)
            shown[r] = s->live[r] && wf__op_is_effect(s->ir->node[r].op);
        memcpy(s->live, shown, n);
        wf__mark_live(s->ir, s->live);
        s->hidden += w.found;
    } while (w.found);
    wf__free(w.used);
    wf__free(w.covers);
    wf__free(shown);
    return ok;
}
