/* emit_edge_load.c - loads of BORDER along a row, with a border mode that maps indices. If all lanes are inside the array, a
 * plain masked load suffices. Otherwise a function loads the lanes inside, those before the row and those behind it, by a
 * masked load each, or maps each lane's index. There is one function per dtype and border mode.
 */
#include "codegen/emit.h"

/* What the edge function gets. */
typedef struct edge {
    unsigned dtype, border;
    val row, base, dim; /* address of the row, index of lane 0, length of the row */
    val count, other;   /* number of active lanes; the value of the others */
    val dummy;
} edge;

/* True in the lanes below lane n. */
static val lanes_below(wf__gen *g, val n)
{
    val at = wf__gen_splat(g, g->L->BuildTrunc(g->b, n, g->i32, ""), g->width);
    return g_icmp(g, LLVMIntSLT, wf__gen_iota(g, g->i32, g->width, 0, 1), at);
}

static val lanes_between(wf__gen *g, val first, val end)
{
    val below = lanes_below(g, first), no = wf__gen_int(g, g->i1, g->width, 0);
    return g_select(g, below, no, lanes_below(g, end));
}

/* Loads neighbours, of which `first` is the index of lane 0, into the lanes of the mask. */
static val load_run(wf__gen *g, const edge *e, wf__lane_pattern pattern, val first, val mask, val other)
{
    wf__address at = { .pattern = pattern, .base = g_gep(g, wf__gen_memory_type(g, e->dtype, 1), e->row, first) };
    return wf__load_vector(g, e->dtype, &at, mask, other, e->dummy);
}

/* Loads one element into the lanes of the mask. any: whether there are such lanes. Without them the element may not be in
 * memory: a rank holds a part of a row. */
static val repeat_element(wf__gen *g, const edge *e, val index, val any, val mask, val other)
{
    LLVMTypeRef element = wf__gen_memory_type(g, e->dtype, 1);
    val v = g_load(g, element, g_select(g, any, g_gep(g, element, e->row, index), e->dummy));
    g->L->SetAlignment(v, wf__align(e->dtype));
    return g_select(g, mask, wf__gen_splat(g, v, g->width), other);
}

/* True if the elements of the lanes before the row, and of those behind it, lie in a run of neighbours: no lane is further
 * than the length of the row beyond one of its ends. If all lanes beyond an end have the same element, any index will do
 * that does not wrap. */
static val is_near(wf__gen *g, const edge *e)
{
    const int64_t far = INT64_C(1) << 60;
    bool clamps = e->border == WF_BORDER_CLAMP;
    val low = clamps ? g_i64(g, -far) : g_sub(g, g_i64(g, 0), e->dim);
    val high = clamps ? g_i64(g, far) : g_sub(g, g_add(g, e->dim, e->dim), g_i64(g, g->width));
    val some = g_icmp(g, LLVMIntSGT, e->dim, g_i64(g, 0));
    return g_and(g, some, g_and(g, g_icmp(g, LLVMIntSGT, e->base, low), g_icmp(g, LLVMIntSLT, e->base, high)));
}

static val among_active(wf__gen *g, const edge *e, val lane)
{
    return g_smaller(g, g_larger(g, lane, g_i64(g, 0)), e->count);
}

_Static_assert(WF__BORDERS == 6, "how each border mode maps the indices before and behind a row");
/* The elements inside, those before the row and those behind it: each is a run in memory, or one element for all lanes. */
static val load_runs(wf__gen *g, const edge *e)
{
    val first = among_active(g, e, g_sub(g, g_i64(g, 0), e->base));
    val end = among_active(g, e, g_sub(g, e->dim, e->base));
    val before = lanes_below(g, first), behind = lanes_between(g, end, e->count);
    val v = load_run(g, e, WF__ASCENDING, e->base, lanes_between(g, first, end), e->other);
    if (e->border == WF_BORDER_CLAMP) {
        val some_before = g_icmp(g, LLVMIntSGT, first, g_i64(g, 0)), some_behind = g_icmp(g, LLVMIntSLT, end, e->count);
        v = repeat_element(g, e, g_i64(g, 0), some_before, before, v);
        return repeat_element(g, e, g_sub(g, e->dim, g_i64(g, 1)), some_behind, behind, v);
    }
    if (e->border == WF_BORDER_PERIODIC) {
        v = load_run(g, e, WF__ASCENDING, g_add(g, e->base, e->dim), before, v);
        return load_run(g, e, WF__ASCENDING, g_sub(g, e->base, e->dim), behind, v);
    }
    int64_t skip = e->border == WF_BORDER_REFLECT ? 1 : 0; /* the element at the end is not repeated */
    val twice = g_add(g, e->dim, e->dim);
    v = load_run(g, e, WF__DESCENDING, g_sub(g, g_i64(g, skip - 1), e->base), before, v);
    return load_run(g, e, WF__DESCENDING, g_sub(g, g_sub(g, twice, g_i64(g, 1 + skip)), e->base), behind, v);
}

static val load_scattered(wf__gen *g, const edge *e)
{
    val index = g_add(g, wf__gen_splat(g, e->base, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    wf__address at = { .pattern = WF__SCATTERED, .base = e->row, .scaled = true };
    at.offset = wf__map_index(g, e->border, index, e->dim, g->width);
    return wf__load_vector(g, e->dtype, &at, lanes_below(g, e->count), e->other, e->dummy);
}

/* Makes the function vector edge(row, index of lane 0, dim, number of active lanes, value outside). */
static val make_edge_function(wf__gen *g, unsigned dtype, unsigned border)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width);
    LLVMTypeRef params[5] = { g->ptr, g->i64, g->i64, g->i64, vector };
    bb back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "edge", vector, params, 5, true);
    g->function = f;
    wf__gen_at(g, wf__gen_bb(g, "edge"));
    const edge e = { .dtype = dtype,
                     .border = border,
                     .row = g->L->GetParam(f, 0),
                     .base = g->L->GetParam(f, 1),
                     .dim = g->L->GetParam(f, 2),
                     .count = g->L->GetParam(f, 3),
                     .other = g->L->GetParam(f, 4),
                     .dummy = g->L->BuildAlloca(g->b, g->L->ArrayType(g->i64, 2), "") };
    if (wf__has_masked(g, dtype)) {
        bb near = wf__gen_bb(g, "near"), far = wf__gen_bb(g, "far");
        wf__gen_unlikely(g, g->L->BuildCondBr(g->b, g_xor(g, is_near(g, &e), wf__gen_int(g, g->i1, 1, 1)), far, near));
        wf__gen_at(g, near);
        g->L->BuildRet(g->b, load_runs(g, &e));
        wf__gen_at(g, far);
    }
    g->L->BuildRet(g->b, load_scattered(g, &e));
    g->function = around;
    wf__gen_at(g, back);
    return f;
}

/* The index that ascends with the lanes by 1, if all others are uniform; else -1. */
static int lane_axis(const wf__instance *in, const wf__node *n)
{
    int axis = -1;
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, n->b); k++) {
        const wf__vary *v = &in->vary[wf__tuple_at(in->ir, n->b)[k]];
        if (v->kind == WF__UNIFORM)
            continue;
        if (axis >= 0 || v->kind != WF__AFFINE || v->coef != 1 || in->ir->slot[n->a].step[k] != WF__STEP_UNIT)
            return -1;
        axis = (int)k;
    }
    return axis;
}

/* True if all active lanes are inside. */
static val is_inside(wf__instance *in, val base, val dim)
{
    wf__gen *g = in->g;
    val r = wf__find_cached(in, WF__CACHED_INSIDE, base, dim, NULL);
    if (r)
        return r;
    val last = g_sub(g, dim, in->lanes.count);
    r = g_and(g, g_icmp(g, LLVMIntSGE, base, g_i64(g, 0)), g_icmp(g, LLVMIntSLE, base, last));
    return wf__cache_value(in, WF__CACHED_INSIDE, base, dim, NULL, r);
}

static val emit_either(wf__instance *in, const wf__node *n, val row, val base, val dim, val exists)
{
    wf__gen *g = in->g;
    val *function = &g->edge[n->dtype][n->aux], other = wf__load_outside(in, n);
    val count = g_select(g, exists, in->lanes.count, g_i64(g, 0)), inside = is_inside(in, base, dim);
    if (!*function)
        *function = make_edge_function(g, n->dtype, n->aux);
    val dummy = wf__get_dummy(in->kernel);
    bb rare = wf__gen_bb(g, "edge"), plain = wf__gen_bb(g, "inside"), next = wf__gen_bb(g, "next");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, g_xor(g, inside, wf__gen_int(g, g->i1, 1, 1)), rare, plain));
    wf__gen_at(g, rare);
    val args[5] = { row, base, dim, count, other };
    val a = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(*function), *function, args, 5, "");
    g->L->SetInstructionCallConv(a, LLVMFastCallConv);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, plain);
    wf__address at = { .pattern = WF__ASCENDING, .base = g_gep(g, wf__gen_memory_type(g, n->dtype, 1), row, base) };
    val b = wf__load_vector(g, n->dtype, &at, lanes_below(g, count), other, dummy);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, next);
    val r = g->L->BuildPhi(g->b, g->L->TypeOf(a), "");
    g->L->AddIncoming(r, (val[]){ a, b }, (bb[]){ rare, plain }, 2);
    return r;
}

/* Maps a uniform index, once per row if it is known there. */
static val map_uniform_index(wf__instance *in, const wf__node *n, wf__ref r, val dim)
{
    wf__gen *g = in->g;
    val i = wf__get_scalar(in, r), kept = wf__find_cached(in, WF__CACHED_MAPPED + n->aux, i, dim, NULL);
    if (kept)
        return kept;
    bb back = g->L->GetInsertBlock(g->b);
    if (in->level[r] < in->kernel->rank)
        wf__gen_at(g, in->row);
    kept = wf__map_index(g, n->aux, i, dim, 1);
    wf__gen_at(g, back);
    return wf__cache_value(in, WF__CACHED_MAPPED + n->aux, i, dim, NULL, kept);
}

bool wf__emit_edge_load(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    int axis =
        in->kind == WF__BORDER && n->aux > WF_BORDER_VALUE && in->vary[r].kind == WF__VARYING ? lane_axis(in, n) : -1;
    if (axis < 0)
        return false;
    val mapped[WF_MAX_RANK], exists = NULL;
    bool wide[WF_MAX_RANK] = { false };
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, n->b); k++) {
        val dim = wf__load_dim(in->kernel, n->a, (int)k), some = g_icmp(g, LLVMIntSGT, dim, g_i64(g, 0));
        exists = exists ? g_and(g, exists, some) : some;
        mapped[k] = g_i64(g, 0);
        if ((int)k != axis)
            mapped[k] = map_uniform_index(in, n, wf__tuple_at(in->ir, n->b)[k], dim);
    }
    val base = wf__get_scalar(in, wf__tuple_at(in->ir, n->b)[axis]), dim = wf__load_dim(in->kernel, n->a, axis);
    wf__address row = wf__make_address(in, n->a, n->b, mapped, wide);
    in->vector[r] = emit_either(in, n, row.base, base, dim, exists);
    return true;
}
