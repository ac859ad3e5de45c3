/* emit_memory.c - LOAD and STORE nodes: which lanes are active (mask.c), where their elements lie (address.c), and the
 * instructions for both (vector_memory.c).
 */
#include "codegen/emit.h"

/* One element for all lanes. on: true if it exists (NULL = always); else the result is `other`. */
static val load_scalar(wf__instance *in, unsigned dtype, val p, val on, val other)
{
    wf__gen *g = in->g;
    if (on)
        p = g_select(g, on, p, wf__get_dummy(in->kernel));
    val v = g_load(g, wf__gen_memory_type(g, dtype, 1), p);
    g->L->SetAlignment(v, wf__align(dtype));
    return on ? g_select(g, on, v, other) : v;
}

static val load_outside_scalar(wf__instance *in, const wf__node *n)
{
    wf__gen *g = in->g;
    return n->c ? wf__to_memory(g, n->dtype, 1, wf__get_scalar(in, n->c))
                : wf__gen_const(g, wf__memory_dtype(n->dtype), 1, 0);
}

void wf__emit_load(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    val mapped[WF_MAX_RANK];
    bool wide[WF_MAX_RANK] = { false }, bordered = n->aux != WF_BORDER_NONE, uniform = in->vary[r].kind == WF__UNIFORM;
    wf__guard guard = { 0 };
    if (bordered && !n->when && wf__emit_edge_load(in, r)) {
        in->vector[r] = wf__from_memory(g, n->dtype, g->width, in->vector[r]);
        return;
    }
    if (bordered)
        wf__guard_indices(in, n, &guard, mapped, wide);
    if (n->when)
        wf__guard_predicate(in, n->when, &guard);
    wf__address at = wf__make_address(in, n->a, n->b, bordered ? mapped : NULL, wide);
    bool once = at.pattern == WF__ONE_ELEMENT && (!guard.vector || guard.vector == in->lanes.mask) &&
                (!n->c || in->vary[n->c].kind == WF__UNIFORM);
    if (uniform || once) {
        val v = load_scalar(in, n->dtype, at.base, guard.scalar, guard.scalar ? load_outside_scalar(in, n) : NULL);
        v = wf__from_memory(g, n->dtype, 1, v);
        if (uniform)
            in->scalar[r] = v;
        else
            in->vector[r] = wf__gen_splat(g, v, g->width);
        return;
    }
    if (in->kind == WF__BORDER && !guard.vector)
        guard.vector = in->lanes.mask;
    wf__prefetch_row(in, n, &at);
    val mask = wf__guard_mask(in, &guard), other = mask ? wf__load_outside(in, n) : NULL;
    val v = wf__load_vector(g, n->dtype, &at, mask, other, mask ? wf__get_dummy(in->kernel) : NULL);
    in->vector[r] = wf__from_memory(g, n->dtype, g->width, v);
}

/* ---- stores ---- */
/* True if a store goes past the cache. The caller promises rows aligned to the vector. Small vectors of many rows would
 * leave cache lines half full, which is slow. */
static bool stores_past_cache(const wf__instance *in, const wf__node *n)
{
    const wf__slot *s = &in->ir->slot[n->a];
    int bytes = in->g->width * (int)wf__size(s->dtype);
    return in->g->options->nontemporal && in->kind != WF__BORDER && !n->d && (s->element || s->rows) &&
           bytes >= (in->kernel->stores > WF__STREAMED_ROWS ? WF__STREAMED_VECTOR_OF_ROWS : WF__STREAMED_VECTOR);
}

void wf__emit_store(wf__instance *in, const wf__node *n)
{
    wf__gen *g = in->g;
    val mask = wf__effect_mask(in, n->d);
    wf__address at = wf__make_address(in, n->a, n->b, NULL, NULL);
    val v = wf__to_memory(g, n->dtype, g->width, wf__get_vector(in, n->c));
    if (!mask && stores_past_cache(in, n) && (at.pattern == WF__ASCENDING || at.pattern == WF__DESCENDING))
        wf__store_past_cache(g, n->dtype, &at, v);
    else
        wf__store_vector(in, n->dtype, &at, mask, v);
}
