/* emit_narrow.c - index arithmetic in 32 bits.
 *
 * Problem: indices have 64 bits, but most processors convert 64-bit vectors slowly or not at all. Idea: INTERIOR runs
 * only where lane indices are so small that conversions and comparisons of `index * constant + constant` are exact in
 * 32 bits (wf__narrow_limit); BORDER computes the other points in 64 bits. An index that was cast from 32 bits or fewer
 * is compared with extents before the cast.
 */
#include "codegen/emit.h"

enum { MOST_COEF = 64, MOST_CONSTANT = 1 << 24 };

static bool is_narrow_index(const wf__instance *in, wf__ref r, int64_t *coef, int64_t *constant)
{
    return in->ir->node[r].dtype == WF_I64 && wf__match_lane_index(in, r, coef, constant) && *coef >= -MOST_COEF &&
           *coef <= MOST_COEF && *constant >= -MOST_CONSTANT && *constant <= MOST_CONSTANT;
}

static bool is_compare(const wf__node *n) { return n->op >= WF__OP_eq && n->op <= WF__OP_ge; }

bool wf__is_narrow(const wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    int64_t coef, constant;
    if (in->kind == WF__BORDER || in->vary[r].kind != WF__VARYING)
        return false;
    if (n->op == WF__CAST)
        return n->dtype != WF_BOOL && (wf__is_float(n->dtype) || wf__size(n->dtype) <= 4) &&
               is_narrow_index(in, n->a, &coef, &constant);
    if (!is_compare(n))
        return false;
    bool a = is_narrow_index(in, n->a, &coef, &constant), b = is_narrow_index(in, n->b, &coef, &constant);
    return (a || in->vary[n->a].kind == WF__UNIFORM) && (b || in->vary[n->b].kind == WF__UNIFORM) && (a || b);
}

static void lower_limit(const wf__instance *in, wf__ref r, int64_t *least)
{
    int64_t coef, constant;
    if (!is_narrow_index(in, r, &coef, &constant))
        return;
    int64_t most = INT32_MAX - 1 - (constant < 0 ? -constant : constant), step = coef < 0 ? -coef : coef;
    WF__ASSERT(step > 0); /* an index with coefficient 0 is uniform */
    if (most / step < *least)
        *least = most / step;
}

int64_t wf__narrow_limit(const wf__instance *in)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 1; i < in->ir->n; i++) {
        if (!in->live[i] || !wf__is_narrow(in, i))
            continue;
        lower_limit(in, in->ir->node[i].a, &least);
        if (is_compare(&in->ir->node[i]))
            lower_limit(in, in->ir->node[i].b, &least);
    }
    return least == INT64_MAX ? least : least - 2 * WF__LANES;
}

static val get_index32(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    int64_t coef = 1, constant = 0;
    wf__match_lane_index(in, r, &coef, &constant);
    if (!in->index_vector32) {
        val j = g->L->BuildTrunc(g->b, in->index[in->kernel->rank - 1], g->i32, "");
        in->index_vector32 = wf__gen_splat(g, j, g->width);
    }
    val lanes = in->index_vector32;
    if (coef != 1)
        lanes = g_mul(g, lanes, wf__gen_int(g, g->i32, g->width, (uint64_t)coef));
    return g_add(g, lanes, wf__gen_iota(g, g->i32, g->width, constant, coef));
}

/* A uniform i64 in 32 bits. Values out of range become the ends of the range, which no narrow index reaches. */
static val emit_saturated(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    val x = wf__get_scalar(in, r), low = g_i64(g, INT32_MIN), high = g_i64(g, INT32_MAX);
    x = g_select(g, g_icmp(g, LLVMIntSGT, x, low), x, low);
    x = g_select(g, g_icmp(g, LLVMIntSLT, x, high), x, high);
    return wf__gen_splat(g, g->L->BuildTrunc(g->b, x, g->i32, ""), g->width);
}

val wf__emit_narrow(wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    wf__gen *g = in->g;
    if (n->op == WF__CAST)
        return wf__gen_cast(g, n->dtype, WF_I32, g->width, get_index32(in, n->a));
    val x[3] = { NULL };
    x[0] = in->vary[n->a].kind == WF__UNIFORM ? emit_saturated(in, n->a) : get_index32(in, n->a);
    x[1] = in->vary[n->b].kind == WF__UNIFORM ? emit_saturated(in, n->b) : get_index32(in, n->b);
    return wf__gen_op(g, n->op, WF_I32, g->width, x, NULL);
}

/* ---- range tests of varying indices ---- */
static bool is_extent(const wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    return n->op == WF__DIM || (n->op == WF__CONST && n->dtype == WF_I64 && (int64_t)wf__bits(n) >= 0);
}

static bool is_range_pair(const wf__instance *in, wf__ref low, wf__ref high, wf__ref *index, wf__ref *extent)
{
    const wf__node *l = wf__at(in->ir, low), *h = wf__at(in->ir, high);
    if (l->op != WF__OP_ge || h->op != WF__OP_lt || l->a != h->a || wf__dtype(in->ir, l->a) != WF_I64)
        return false;
    const wf__node *zero = wf__at(in->ir, l->b);
    *index = l->a;
    *extent = h->b;
    return zero->op == WF__CONST && !wf__bits(zero) && is_extent(in, h->b) && in->vary[l->a].kind == WF__VARYING;
}

bool wf__is_range_test(const wf__instance *in, wf__ref r, wf__ref *index, wf__ref *extent)
{
    const wf__node *n = wf__at(in->ir, r);
    return n->op == WF__OP_and && n->dtype == WF_BOOL &&
           (is_range_pair(in, n->a, n->b, index, extent) || is_range_pair(in, n->b, n->a, index, extent));
}

/* One unsigned comparison, in which a negative index is beyond all extents. It may have 32 bits if the index does: such
 * an index is below 2^31 as a signed number, and extents are cut to 2^31. */
val wf__emit_range_test(wf__instance *in, wf__ref index, wf__ref extent)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, index);
    unsigned from = n->op == WF__CAST ? wf__dtype(in->ir, n->a) : WF_I64;
    bool narrow = from == WF_I8 || from == WF_I16 || from == WF_I32 || from == WF_U8 || from == WF_U16;
    if (!narrow)
        return g_icmp(g, LLVMIntULT, wf__get_vector(in, index), wf__get_vector(in, extent));
    LLVMTypeRef words = wf__gen_wide(g, g->i32, g->width);
    val x = wf__get_vector(in, n->a), most = g_i64(g, (int64_t)1 << 31), e = wf__get_scalar(in, extent);
    if (wf__size(from) < 4)
        x = wf__is_signed(from) ? g->L->BuildSExt(g->b, x, words, "") : g->L->BuildZExt(g->b, x, words, "");
    bb back = g->L->GetInsertBlock(g->b);
    if (in->level[extent] < in->kernel->rank)
        wf__gen_at(g, in->row);
    e = g_select(g, g_icmp(g, LLVMIntULT, e, most), e, most);
    e = wf__gen_splat(g, g->L->BuildTrunc(g->b, e, g->i32, ""), g->width);
    wf__gen_at(g, back);
    return g_icmp(g, LLVMIntULT, x, e);
}
