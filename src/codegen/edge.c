/* edge.c - SAFE loads along a row with a border mode: almost always all their lanes are inside, and they are plain
 * masked loads. Where some are not, a function maps each lane's index; there is one for each dtype and border mode.
 */
#include "codegen/body.h"

/* vector edge(row, index of lane 0, dim, lanes that are on, value outside) */
static val make_edge(wf__gen *g, unsigned dtype, unsigned border)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width);
    LLVMTypeRef params[5] = { g->ptr, g->i64, g->i64, g->i64, vector };
    block back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "edge", vector, params, 5, true);
    g->function = f;
    wf__gen_at(g, wf__gen_block(g, "edge"));
    val nowhere = g->L->BuildAlloca(g->b, g->L->ArrayType(g->i64, 2), "");
    val index = g_add(g, wf__gen_splat(g, g->L->GetParam(f, 1), g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    wf__where at = { .way = WF__SCATTERED, .base = g->L->GetParam(f, 0), .scaled = true };
    at.offset = wf__border_map(g, border, index, g->L->GetParam(f, 2), g->width);
    val mask = wf__gen_mask(g, g->L->GetParam(f, 3));
    g->L->BuildRet(g->b, wf__load_vector(g, dtype, &at, mask, g->L->GetParam(f, 4), nowhere));
    g->function = around;
    wf__gen_at(g, back);
    return f;
}

/* The one index that runs along the lanes, if it does so by ones and all others are uniform; else -1. */
static int lane_axis(const wf__inst *in, const wf__node *n)
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

/* Are all lanes that are on inside? */
static val is_whole(wf__inst *in, val base, val dim)
{
    wf__gen *g = in->g;
    val r = wf__inst_recall(in, WF__WHOLE, base, dim, NULL);
    if (r)
        return r;
    val last = g_sub(g, dim, in->lane_count);
    r = g_and(g, g_icmp(g, LLVMIntSGE, base, g_i64(g, 0)), g_icmp(g, LLVMIntSLE, base, last));
    return wf__inst_keep(in, WF__WHOLE, base, dim, NULL, r);
}

static val choose(wf__inst *in, const wf__node *n, val row, val base, val dim, val exists)
{
    wf__gen *g = in->g;
    val *function = &g->edge[n->dtype][n->aux], other = wf__outside(in, n);
    val bits = g_select(g, exists, in->lane_bits, g_i64(g, 0)), whole = is_whole(in, base, dim);
    if (!*function)
        *function = make_edge(g, n->dtype, n->aux);
    val nowhere = wf__frame_nowhere(in->f);
    block rare = wf__gen_block(g, "edge"), plain = wf__gen_block(g, "inside"), next = wf__gen_block(g, "next");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, g_xor(g, whole, wf__gen_int(g, g->i1, 1, 1)), rare, plain));
    wf__gen_at(g, rare);
    val args[5] = { row, base, dim, bits, other };
    val a = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(*function), *function, args, 5, "");
    g->L->SetInstructionCallConv(a, LLVMFastCallConv);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, plain);
    wf__where at = { .way = WF__ALONG, .base = g_gep(g, wf__gen_memory_type(g, n->dtype, 1), row, base) };
    val b = wf__load_vector(g, n->dtype, &at, wf__gen_mask(g, bits), other, nowhere);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, next);
    val r = g->L->BuildPhi(g->b, g->L->TypeOf(a), "");
    g->L->AddIncoming(r, (val[]){ a, b }, (block[]){ rare, plain }, 2);
    return r;
}

/* Once a row if that is early enough. */
static val map_uniform(wf__inst *in, const wf__node *n, wf__ref r, val dim)
{
    wf__gen *g = in->g;
    val i = wf__inst_scalar(in, r), kept = wf__inst_recall(in, WF__MAPPED + n->aux, i, dim, NULL);
    if (kept)
        return kept;
    block back = g->L->GetInsertBlock(g->b);
    if (in->level[r] < in->f->rank)
        wf__gen_at(g, in->row);
    kept = wf__border_map(g, n->aux, i, dim, 1);
    wf__gen_at(g, back);
    return wf__inst_keep(in, WF__MAPPED + n->aux, i, dim, NULL, kept);
}

bool wf__emit_edge_load(wf__inst *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    int axis = in->safe && n->aux > WF_BORDER_VALUE && in->vary[r].kind == WF__VARYING ? lane_axis(in, n) : -1;
    if (axis < 0)
        return false;
    val mapped[WF_MAX_RANK], exists = NULL;
    bool wide[WF_MAX_RANK] = { false };
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, n->b); k++) {
        val dim = wf__frame_dim(in->f, n->a, (int)k), some = g_icmp(g, LLVMIntSGT, dim, g_i64(g, 0));
        exists = exists ? g_and(g, exists, some) : some;
        mapped[k] = g_i64(g, 0);
        if ((int)k != axis)
            mapped[k] = map_uniform(in, n, wf__tuple_at(in->ir, n->b)[k], dim);
    }
    val base = wf__inst_scalar(in, wf__tuple_at(in->ir, n->b)[axis]), dim = wf__frame_dim(in->f, n->a, axis);
    wf__where row = wf__address(in, n->a, n->b, mapped, wide);
    in->vector[r] = choose(in, n, row.base, base, dim, exists);
    return true;
}
