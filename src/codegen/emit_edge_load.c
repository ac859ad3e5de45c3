/* emit_edge_load.c - loads of BORDER along a row, with a border mode that maps indices. Almost always all lanes are
 * inside the array, and a plain masked load suffices. Otherwise a function maps each lane's index; there is one
 * function per dtype and border mode.
 */
#include "codegen/emit.h"

/* Makes the function vector edge(row, index of lane 0, dim, bits of the active lanes, value outside). */
static val make_edge_function(wf__gen *g, unsigned dtype, unsigned border)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width);
    LLVMTypeRef params[5] = { g->ptr, g->i64, g->i64, g->i64, vector };
    bb back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "edge", vector, params, 5, true);
    g->function = f;
    wf__gen_at(g, wf__gen_bb(g, "edge"));
    val dummy = g->L->BuildAlloca(g->b, g->L->ArrayType(g->i64, 2), "");
    val index = g_add(g, wf__gen_splat(g, g->L->GetParam(f, 1), g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    wf__address at = { .pattern = WF__SCATTERED, .base = g->L->GetParam(f, 0), .scaled = true };
    at.offset = wf__map_index(g, border, index, g->L->GetParam(f, 2), g->width);
    val mask = wf__gen_mask(g, g->L->GetParam(f, 3));
    g->L->BuildRet(g->b, wf__load_vector(g, dtype, &at, mask, g->L->GetParam(f, 4), dummy));
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
    val bits = g_select(g, exists, in->lanes.bits, g_i64(g, 0)), inside = is_inside(in, base, dim);
    if (!*function)
        *function = make_edge_function(g, n->dtype, n->aux);
    val dummy = wf__get_dummy(in->kernel);
    bb rare = wf__gen_bb(g, "edge"), plain = wf__gen_bb(g, "inside"), next = wf__gen_bb(g, "next");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, g_xor(g, inside, wf__gen_int(g, g->i1, 1, 1)), rare, plain));
    wf__gen_at(g, rare);
    val args[5] = { row, base, dim, bits, other };
    val a = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(*function), *function, args, 5, "");
    g->L->SetInstructionCallConv(a, LLVMFastCallConv);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, plain);
    wf__address at = { .pattern = WF__ASCENDING, .base = g_gep(g, wf__gen_memory_type(g, n->dtype, 1), row, base) };
    val b = wf__load_vector(g, n->dtype, &at, wf__gen_mask(g, bits), other, dummy);
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
