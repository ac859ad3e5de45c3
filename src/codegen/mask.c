/* mask.c - which lanes of an access may touch memory.
 *
 * A lane is active if it lies within the row (BORDER), if the node's predicate holds, and, with WF_BORDER_VALUE, if its
 * indices are inside the array. The other border modes map indices instead (map_index.c), and test only that the array
 * is not empty. Tests that depend on the lane through its number alone are bits of a scalar: the lanes a..b-1 are
 * (1 << b) - (1 << a).
 */
#include "codegen/memory.h"

/* A large body uses masks of border tests everywhere. Many of them would overload the register allocator, so they are
 * spilled to the stack and loaded again at each use. The value cache then holds their addresses. */
static LLVMTypeRef spilled_type(wf__gen *g) { return g->width <= 8 ? g->i8 : g->width <= 16 ? g->i16 : g->i32; }

static val keep_mask(wf__instance *in, val bits)
{
    wf__gen *g = in->g;
    if (!in->spills_masks)
        return wf__gen_mask(in->g, bits);
    val room = wf__add_alloca(in->kernel, spilled_type(g));
    g->L->BuildStore(g->b, g->L->BuildTrunc(g->b, bits, spilled_type(g), ""), room);
    return room;
}

static val get_mask(wf__instance *in, val kept)
{
    wf__gen *g = in->g;
    if (!in->spills_masks)
        return kept;
    val bits = g_load(g, spilled_type(g), kept);
    g->L->SetVolatile(bits, 1);
    return wf__gen_mask(in->g, bits);
}

static val and_masks(wf__instance *in, val a, val b)
{
    val r = wf__find_cached(in, WF__CACHED_BOTH, a, b, NULL);
    return r ? r : wf__cache_value(in, WF__CACHED_BOTH, a, b, NULL, g_and(in->g, a, b));
}

static val and_condition(wf__instance *in, val so_far, val more) { return so_far ? and_masks(in, so_far, more) : more; }

/* Moves to the block of the row if `early`. Returns the block to go back to. */
static bb enter_row(wf__instance *in, bool early)
{
    bb now = in->g->L->GetInsertBlock(in->g->b);
    if (early)
        wf__gen_at(in->g, in->row);
    return now;
}

static val splat_condition(wf__instance *in, val scalar, bool early)
{
    wf__gen *g = in->g;
    val r = wf__find_cached(in, WF__CACHED_ALL_LANES, scalar, NULL, NULL);
    if (r)
        return get_mask(in, r);
    bb back = enter_row(in, early);
    r = keep_mask(in, g_select(g, scalar, g_i64(g, -1), g_i64(g, 0)));
    wf__gen_at(g, back);
    return get_mask(in, wf__cache_value(in, WF__CACHED_ALL_LANES, scalar, NULL, NULL, r));
}

val wf__guard_mask(wf__instance *in, const wf__guard *guard)
{
    val scalar = guard->scalar ? splat_condition(in, guard->scalar, guard->early) : NULL;
    return !guard->vector ? scalar : scalar ? and_masks(in, guard->vector, scalar) : guard->vector;
}

static val clamp_to_width(wf__instance *in, val x)
{
    wf__gen *g = in->g;
    val zero = g_i64(g, 0), w = g_i64(g, g->width);
    x = g_select(g, g_icmp(g, LLVMIntSGT, x, zero), x, zero);
    return g_select(g, g_icmp(g, LLVMIntSLT, x, w), x, w);
}

/* The active lanes l with 0 <= base + l < dim. A difference that wraps belongs to an index far outside: then
 * `to` is 0. */
static val in_range(wf__instance *in, val base, val dim)
{
    wf__gen *g = in->g;
    val one = g_i64(g, 1), zero = g_i64(g, 0), r = wf__find_cached(in, WF__CACHED_IN_RANGE, base, dim, NULL);
    if (r)
        return get_mask(in, r);
    val from = clamp_to_width(in, g_sub(g, zero, base)), to = clamp_to_width(in, g_sub(g, dim, base));
    val bits = g_sub(g, g->L->BuildShl(g->b, one, to, ""), g->L->BuildShl(g->b, one, from, ""));
    if (in->kind == WF__BORDER)
        bits = g_and(g, bits, in->lanes.bits);
    r = keep_mask(in, g_select(g, g_icmp(g, LLVMIntSGT, to, from), bits, zero));
    return get_mask(in, wf__cache_value(in, WF__CACHED_IN_RANGE, base, dim, NULL, r));
}

static void test_uniform(wf__instance *in, wf__ref r, val dim, wf__guard *guard)
{
    wf__gen *g = in->g;
    bool early = !guard->uniform && in->level[r] < in->kernel->rank;
    /* Late tests have another key: an early test cannot use their values. */
    val i = wf__get_scalar(in, r), when = early ? dim : NULL,
        below = wf__find_cached(in, WF__CACHED_BELOW, i, dim, when);
    if (!below) {
        bb back = enter_row(in, early);
        below = wf__cache_value(in, WF__CACHED_BELOW, i, dim, when, g_icmp(g, LLVMIntULT, i, dim));
        wf__gen_at(g, back);
    }
    guard->early = early && (guard->early || !guard->scalar);
    bb back = enter_row(in, guard->early);
    guard->scalar = and_condition(in, guard->scalar, below);
    wf__gen_at(g, back);
}

static void test_index(wf__instance *in, wf__ref r, val dim, wf__guard *guard)
{
    wf__gen *g = in->g;
    const wf__vary *v = &in->vary[r];
    if (v->kind == WF__UNIFORM)
        test_uniform(in, r, dim, guard);
    else if (v->kind == WF__AFFINE && v->coef == 1)
        guard->vector = and_condition(in, guard->vector == in->lanes.mask ? NULL : guard->vector,
                                      in_range(in, wf__get_scalar(in, r), dim));
    else
        guard->vector = and_condition(in, guard->vector,
                                      g_icmp(g, LLVMIntULT, wf__get_vector(in, r), wf__gen_splat(g, dim, g->width)));
}

/* True if index k is a constant inside a record, which needs no test. */
static bool is_record_part(const wf__instance *in, const wf__node *n, uint32_t k)
{
    const wf__node *index = wf__at(in->ir, wf__tuple_at(in->ir, n->b)[k]);
    return k + 1 == wf__tuple_len(in->ir, n->b) && index->op == WF__CONST &&
           wf__bits(index) < in->ir->slot[n->a].record;
}

void wf__guard_indices(wf__instance *in, const wf__node *n, wf__guard *guard, val *mapped, bool *wide)
{
    wf__gen *g = in->g;
    guard->uniform = in->vary[n - in->ir->node].kind == WF__UNIFORM;
    if (in->kind == WF__BORDER && !guard->uniform)
        guard->vector = in->lanes.mask;
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, n->b); k++) {
        wf__ref r = wf__tuple_at(in->ir, n->b)[k];
        val dim = wf__load_dim(in->kernel, n->a, (int)k);
        mapped[k] = NULL;
        if (is_record_part(in, n, k))
            continue;
        if (n->aux == WF_BORDER_VALUE) {
            test_index(in, r, dim, guard);
            continue;
        }
        wide[k] = in->vary[r].kind != WF__UNIFORM;
        val i = wide[k] ? wf__get_vector(in, r) : wf__get_scalar(in, r);
        mapped[k] = wide[k] ? wf__find_cached(in, WF__CACHED_MAPPED + n->aux, i, dim, NULL) : NULL;
        if (!mapped[k]) { /* vectors are cached: loads often share an index */
            bb back = enter_row(in, !guard->uniform && !wide[k] && in->level[r] < in->kernel->rank);
            mapped[k] = wf__map_index(g, n->aux, i, dim, wide[k] ? g->width : 1);
            wf__gen_at(g, wide[k] ? g->L->GetInsertBlock(g->b) : back);
            if (wide[k])
                wf__cache_value(in, WF__CACHED_MAPPED + n->aux, i, dim, NULL, mapped[k]);
        }
        guard->scalar = and_condition(in, guard->scalar, g_icmp(g, LLVMIntSGT, dim, g_i64(g, 0)));
    }
}

/* Adds a predicate to a guard, unless it is known to be true. */
void wf__guard_predicate(wf__instance *in, wf__ref predicate, wf__guard *guard)
{
    wf__gen *g = in->g;
    if (in->vary[predicate].kind == WF__UNIFORM) {
        val on = wf__get_scalar(in, predicate);
        if (on == wf__gen_int(g, g->i1, 1, 1))
            return;
        guard->scalar = guard->scalar ? g_and(g, guard->scalar, on) : on;
        guard->early = false;
        return;
    }
    val on = wf__get_vector(in, predicate);
    if (in->kind == WF__BORDER && !guard->vector)
        guard->vector = in->lanes.mask;
    guard->vector = guard->vector ? g_and(g, guard->vector, on) : on;
}

val wf__load_mask(wf__instance *in, const wf__node *n, wf__guard *guard)
{
    if (n->when)
        wf__guard_predicate(in, n->when, guard);
    if (in->kind == WF__BORDER && !guard->vector)
        guard->vector = in->lanes.mask;
    return wf__guard_mask(in, guard);
}

val wf__effect_mask(wf__instance *in, wf__ref predicate)
{
    wf__guard guard = { .vector = in->kind == WF__BORDER ? in->lanes.mask : NULL };
    if (predicate)
        wf__guard_predicate(in, predicate, &guard);
    return wf__guard_mask(in, &guard);
}
