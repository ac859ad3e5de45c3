/* emit_local.c - LOCAL, PUT and GET nodes: local memory on the stack, with an element of all lanes side by side. Each
 * instance has memory of its own. A PUT or GET of one element in all lanes is one access to a vector. Memory in which no
 * PUT varies from lane to lane holds each element once.
 */
#include "codegen/emit.h"

typedef struct place { /* the memory that a node accesses */
    val base;
    unsigned dtype;
    int lanes; /* 1: the same in all lanes */
    uint64_t last;
} place;

static place place_of(const wf__instance *in, wf__ref r)
{
    const wf__ref local = wf__local_of(in->ir, r);
    const wf__node *n = wf__at(in->ir, local);
    return (place){ in->place[local], n->dtype, in->common[local] ? 1 : in->g->width, n->a - 1 };
}

/* The address of an element in lane 0, for an index that is the same in all lanes. */
static val element_at(wf__instance *in, const place *p, wf__ref element)
{
    wf__gen *g = in->g;
    val i = g_and(g, wf__get_scalar(in, element), wf__gen_int(g, g->i32, 1, p->last));
    return g_gep(g, wf__gen_memory_type(g, p->dtype, p->lanes), p->base, g->L->BuildZExt(g->b, i, g->i64, ""));
}

/* The elements of all lanes. */
static wf__address address_of(wf__instance *in, const place *p, wf__ref element)
{
    wf__gen *g = in->g;
    const int w = g->width;
    wf__address at = { .pattern = WF__ASCENDING };
    if (in->vary[element].kind == WF__UNIFORM) {
        at.base = element_at(in, p, element);
        at.pattern = p->lanes == 1 ? WF__ONE_ELEMENT : WF__ASCENDING;
        return at;
    }
    val i = g_and(g, wf__get_vector(in, element), wf__gen_int(g, g->i32, w, p->last));
    if (p->lanes > 1)
        i = g_add(g, g_mul(g, i, wf__gen_int(g, g->i32, w, (uint64_t)w)), wf__gen_iota(g, g->i32, w, 0, 1));
    at.base = p->base;
    at.pattern = WF__SCATTERED;
    at.offset = g->L->BuildZExt(g->b, i, wf__gen_wide(g, g->i64, w), "");
    at.scaled = true;
    return at;
}

static void emit_put(wf__instance *in, const wf__node *n, const place *p)
{
    wf__gen *g = in->g;
    if (p->lanes > 1) {
        val mask = wf__effect_mask(in, n->d), v = wf__to_memory(g, n->dtype, g->width, wf__get_vector(in, n->c));
        wf__address at = address_of(in, p, n->b);
        wf__store_vector(in, n->dtype, &at, mask, v);
        return;
    }
    val at = element_at(in, p, n->b), v = wf__to_memory(g, n->dtype, 1, wf__get_scalar(in, n->c));
    if (n->d)
        at = g_select(g, wf__get_scalar(in, n->d), at, wf__get_dummy(in->kernel));
    g->L->SetAlignment(g->L->BuildStore(g->b, v, at), wf__align(n->dtype));
}

static void emit_get(wf__instance *in, wf__ref r, const place *p)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    if (in->vary[r].kind == WF__UNIFORM) {
        val v = g_load(g, wf__gen_memory_type(g, n->dtype, 1), element_at(in, p, n->b));
        g->L->SetAlignment(v, wf__align(n->dtype));
        in->scalar[r] = wf__from_memory(g, n->dtype, 1, v);
        return;
    }
    wf__address at = address_of(in, p, n->b);
    in->vector[r] = wf__from_memory(g, n->dtype, g->width, wf__load_vector(g, n->dtype, &at, NULL, NULL, NULL));
}

void wf__emit_local(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    if (n->op == WF__LOCAL) {
        LLVMTypeRef row = wf__gen_memory_type(g, n->dtype, in->common[r] ? 1 : g->width);
        in->place[r] = wf__add_alloca(in->kernel, g->L->ArrayType(row, n->a));
    }
    const place p = place_of(in, n->op == WF__LOCAL ? r : n->a);
    if (n->op == WF__GET) {
        emit_get(in, r, &p);
        return;
    }
    if (n->op == WF__PUT)
        emit_put(in, n, &p);
    /* Nothing looks at the value of memory. */
    in->scalar[r] = wf__gen_const(g, n->dtype, 1, 0);
    in->vector[r] = wf__gen_const(g, n->dtype, g->width, 0);
}
