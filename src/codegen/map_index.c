/* map_index.c - border modes that map an index into the array: clamp, periodic, mirror, reflect.
 *
 * The result is right for every index, however far outside, and for every extent. No division by zero is possible.
 */
#include "codegen/memory.h"

/* i mod period, never negative, by division. */
static val wrap_by_division(wf__gen *g, val i, val period, int w)
{
    val k = g->L->BuildSRem(g->b, i, wf__gen_splat(g, period, w), "");
    val up = g_add(g, k, wf__gen_splat(g, period, w));
    return g_select(g, g_icmp(g, LLVMIntSLT, k, wf__gen_int(g, g->i64, w, 0)), up, k);
}

/* Makes the function for vectors, which are divided lane by lane. */
static val make_wrap_function(wf__gen *g)
{
    LLVMTypeRef vector = wf__gen_wide(g, g->i64, g->width), params[2] = { vector, g->i64 };
    bb back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "wrap", vector, params, 2, true);
    g->function = f;
    wf__gen_at(g, wf__gen_bb(g, "wrap"));
    g->L->BuildRet(g->b, wrap_by_division(g, g->L->GetParam(f, 0), g->L->GetParam(f, 1), g->width));
    g->function = around;
    wf__gen_at(g, back);
    return f;
}

/* i mod period. Most indices are at most one period outside, and an addition maps them. */
static val emit_wrap(wf__gen *g, val i, val period, int w)
{
    if (w == 1)
        return wrap_by_division(g, i, period, 1);
    if (!g->wrap)
        g->wrap = make_wrap_function(g);
    val n = wf__gen_splat(g, period, w), zero = wf__gen_int(g, g->i64, w, 0);
    val low = g_select(g, g_icmp(g, LLVMIntSLT, i, zero), g_add(g, i, n), i);
    val near = g_select(g, g_icmp(g, LLVMIntSGE, i, n), g_sub(g, i, n), low);
    bb from = g->L->GetInsertBlock(g->b), rare = wf__gen_bb(g, "far"), next = wf__gen_bb(g, "next");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, wf__gen_any(g, g_icmp(g, LLVMIntUGE, near, n), w), rare, next));
    wf__gen_at(g, rare);
    val far = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(g->wrap), g->wrap, (val[]){ i, period }, 2, "");
    g->L->SetInstructionCallConv(far, LLVMFastCallConv);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, next);
    val r = g->L->BuildPhi(g->b, g->L->TypeOf(near), "");
    g->L->AddIncoming(r, (val[]){ near, far }, (bb[]){ from, rare }, 2);
    return r;
}

static val at_least_one(wf__gen *g, val x)
{
    return g_select(g, g_icmp(g, LLVMIntSGT, x, g_i64(g, 1)), x, g_i64(g, 1));
}

_Static_assert(WF__BORDERS == 6, "how each border mode maps an index");
/* The number of indices after which a border mode repeats the array. */
static val period_of(wf__gen *g, unsigned border, val dim)
{
    if (border == WF_BORDER_PERIODIC)
        return at_least_one(g, dim);
    val twice = g_add(g, dim, dim);
    return at_least_one(g, border == WF_BORDER_MIRROR ? twice : g_sub(g, twice, g_i64(g, 2)));
}

val wf__map_index(wf__gen *g, unsigned border, val i, val dim, int w)
{
    val zero = wf__gen_int(g, g->i64, w, 0), n = wf__gen_splat(g, dim, w);
    val last = wf__gen_splat(g, g_sub(g, dim, g_i64(g, 1)), w);
    if (border == WF_BORDER_CLAMP) {
        val low = g_select(g, g_icmp(g, LLVMIntSGT, i, zero), i, zero);
        return g_select(g, g_icmp(g, LLVMIntSLT, low, last), low, last);
    }
    val period = period_of(g, border, dim), k = emit_wrap(g, i, period, w);
    if (border == WF_BORDER_PERIODIC)
        return k;
    val top = wf__gen_splat(g, border == WF_BORDER_MIRROR ? g_sub(g, period, g_i64(g, 1)) : period, w);
    return g_select(g, g_icmp(g, LLVMIntSGE, k, n), g_sub(g, top, k), k);
}

val wf__shift_index(wf__gen *g, unsigned border, val i, val dim)
{
    if (border == WF_BORDER_CLAMP)
        return i;
    val period = period_of(g, border, dim), k = emit_wrap(g, i, period, 1);
    return g_select(g, g_icmp(g, LLVMIntSGE, k, dim), g_sub(g, k, period), k);
}
