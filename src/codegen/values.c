/* values.c - the values of operands: made on demand where no node was emitted for them, and made once.
 *
 * Constants, loop indices, affine values and splats of uniform values get their LLVM value at the first use. A value
 * made inside an open loop is valid only there, since the loop's body may not run: such values are noted and dropped at
 * the loop's end. The value cache does the same for values derived from others, such as masks and sums of addresses.
 */
#include "codegen/memory.h"

bb *wf__bb_of_level(wf__instance *in, int level)
{
    if (level >= in->kernel->rank)
        return &in->inner;
    return level == in->kernel->rank - 1 ? &in->row : &in->kernel->level[level];
}

static uint32_t *cache_head(wf__instance *in, int kind, val a, val b, val c)
{
    uint64_t h = (uint64_t)(uintptr_t)a * 31 + (uint64_t)(uintptr_t)b * 7 + (uint64_t)(uintptr_t)c * 3 + (uint64_t)kind;
    return &in->cache.head[wf__mix32(h) % WF__CACHE_HEADS];
}

val wf__find_cached(wf__instance *in, int kind, val a, val b, val c)
{
    for (uint32_t i = *cache_head(in, kind, a, b, c); i; i = in->cache.value[i].next) {
        const wf__cached_value *m = &in->cache.value[i];
        if (m->kind == kind && m->a == a && m->b == b && m->c == c)
            return m->made;
    }
    return NULL;
}

void wf__drop_cached(wf__instance *in, uint32_t n)
{
    for (; in->cache.n > n; in->cache.n--) {
        const wf__cached_value *m = &in->cache.value[in->cache.n];
        *cache_head(in, m->kind, m->a, m->b, m->c) = m->next;
    }
}

val wf__cache_value(wf__instance *in, int kind, val a, val b, val c, val made)
{
    if (!wf__grow(&in->cache.value, &in->cache.cap, in->cache.n + 2, sizeof *in->cache.value))
        return made; /* not cached: made again next time */
    uint32_t *head = cache_head(in, kind, a, b, c);
    in->cache.value[++in->cache.n] = (wf__cached_value){ kind, a, b, c, made, *head };
    *head = in->cache.n;
    return made;
}

/* Notes that *where was made on demand. */
static void note_made(wf__instance *in, val *where)
{
    if (!in->loops.depth)
        return;
    if (wf__grow(&in->loops.made, &in->loops.made_cap, in->loops.made_n + 1, sizeof *in->loops.made))
        in->loops.made[in->loops.made_n++] = where;
    else
        wf__gen_fail(in->g, "out of memory for generated code");
}

/* CHECK is its index: only the interpreter tests it. */
static val emit_pure(wf__instance *in, const wf__node *n, int w)
{
    const wf__ref operand[3] = { n->a, n->b, n->c };
    val x[3] = { NULL };
    if (n->op == WF__CHECK)
        return w > 1 ? wf__get_vector(in, n->b) : wf__get_scalar(in, n->b);
    unsigned arity = wf__arity(n->op);
    for (unsigned i = 0; i < arity; i++)
        x[i] = w > 1 ? wf__get_vector(in, operand[i]) : wf__get_scalar(in, operand[i]);
    return wf__gen_pure(in->g, in->ir, n, w, x);
}

val wf__emit_pure_scalar(wf__instance *in, wf__ref r) { return emit_pure(in, wf__at(in->ir, r), 1); }
val wf__emit_pure_vector(wf__instance *in, wf__ref r) { return emit_pure(in, wf__at(in->ir, r), in->g->width); }

val wf__get_scalar(wf__instance *in, wf__ref r)
{
    if (!in->scalar[r]) {
        const wf__node *n = wf__at(in->ir, r);
        if (n->op == WF__CONST)
            in->scalar[r] = wf__gen_const(in->g, n->dtype, 1, wf__bits(n));
        else if (n->op == WF__INDEX)
            in->scalar[r] = in->index[n->a];
        else if (in->vary[r].kind == WF__AFFINE)
            in->scalar[r] = emit_pure(in, n, 1);
        else
            wf__gen_fail(in->g, "code generator: node %u is used before it is made", r);
        if (!in->scalar[r])
            in->scalar[r] = wf__gen_const(in->g, n->dtype, 1, 0);
        note_made(in, &in->scalar[r]);
    }
    return in->scalar[r];
}

static val affine_vector(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    int w = g->width;
    int64_t coef, constant, lane = in->vary[r].coef;
    if (wf__match_lane_index(in, r, &coef, &constant) && coef == 1) {
        if (!in->index_vector)
            in->index_vector = wf__gen_splat(g, in->index[in->kernel->rank - 1], w);
        return g_add(g, in->index_vector, wf__gen_iota(g, g->i64, w, constant, 1));
    }
    return g_add(g, wf__gen_splat(g, wf__get_scalar(in, r), w), wf__gen_iota(g, g->i64, w, 0, lane));
}

val wf__get_vector(wf__instance *in, wf__ref r)
{
    if (in->vector[r])
        return in->vector[r];
    const wf__node *n = wf__at(in->ir, r);
    wf__gen *g = in->g;
    val v;
    if (n->op == WF__CONST) {
        if (in->constants_in_memory && n->dtype != WF_BOOL && wf__bits(n))
            v = wf__gen_splat(g, wf__load_constant(in->kernel, n->dtype, wf__bits(n)), g->width);
        else
            v = wf__gen_const(g, n->dtype, g->width, wf__bits(n));
    } else if (in->vary[r].kind == WF__UNIFORM) {
        val scalar = wf__get_scalar(in, r);
        bb back = g->L->GetInsertBlock(g->b);
        if (in->level[r] < in->kernel->rank)
            wf__gen_at(g, in->row);
        v = wf__gen_splat(g, scalar, g->width);
        wf__gen_at(g, back);
    } else if (in->vary[r].kind == WF__AFFINE) {
        v = affine_vector(in, r);
    } else if (in->rare[r]) {
        v = g_select(g, wf__get_vector(in, n->a), in->rare[r], wf__get_vector(in, n->b));
    } else {
        wf__gen_fail(g, "code generator: node %u is used before it is made", r);
        v = wf__gen_const(g, n->dtype, g->width, 0);
    }
    note_made(in, &in->vector[r]);
    return in->vector[r] = v;
}
