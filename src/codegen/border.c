/* border.c - reading beyond the edges: which lanes are inside (WF_BORDER_VALUE), or which element inside an index
 * stands for (the other modes). Right for every index, however far outside, and for every extent; nothing divides by
 * zero.
 *
 * Tests that depend on the lane by its number alone are made as bits of a scalar: lanes a..b-1 are (1 << b) - (1 << a).
 */
#include "codegen/body.h"

/* Masks of border tests are used all over a large body. Many of them would wear out the register allocator, so they are
 * parked on the stack and read back, each time anew, where they are used. What is kept is then their address. */
static LLVMTypeRef parked_type(wf__gen *g) { return g->width <= 8 ? g->i8 : g->width <= 16 ? g->i16 : g->i32; }

static val park(wf__inst *in, val bits)
{
    wf__gen *g = in->g;
    if (!in->parks)
        return wf__gen_mask(in->g, bits);
    val room = wf__frame_room(in->f, parked_type(g));
    g->L->BuildStore(g->b, g->L->BuildTrunc(g->b, bits, parked_type(g), ""), room);
    return room;
}

static val unpark(wf__inst *in, val kept)
{
    wf__gen *g = in->g;
    if (!in->parks)
        return kept;
    val bits = g_load(g, parked_type(g), kept);
    g->L->SetVolatile(bits, 1);
    return wf__gen_mask(in->g, bits);
}

static val both(wf__inst *in, val a, val b)
{
    val r = wf__inst_recall(in, WF__BOTH, a, b, NULL);
    return r ? r : wf__inst_keep(in, WF__BOTH, a, b, NULL, g_and(in->g, a, b));
}

static val also(wf__inst *in, val so_far, val more) { return so_far ? both(in, so_far, more) : more; }

/* Where uniform tests go: once a row if that is early enough. */
static block go_row(wf__inst *in, bool early)
{
    block now = in->g->L->GetInsertBlock(in->g->b);
    if (early)
        wf__gen_at(in->g, in->row);
    return now;
}

static val all_lanes(wf__inst *in, val scalar, bool early)
{
    wf__gen *g = in->g;
    val r = wf__inst_recall(in, WF__ALL_LANES, scalar, NULL, NULL);
    if (r)
        return unpark(in, r);
    block back = go_row(in, early);
    r = park(in, g_select(g, scalar, g_i64(g, -1), g_i64(g, 0)));
    wf__gen_at(g, back);
    return unpark(in, wf__inst_keep(in, WF__ALL_LANES, scalar, NULL, NULL, r));
}

val wf__guard_mask(wf__inst *in, const wf__guard *guard)
{
    val scalar = guard->scalar ? all_lanes(in, guard->scalar, guard->early) : NULL;
    return !guard->vector ? scalar : scalar ? both(in, guard->vector, scalar) : guard->vector;
}

static val clamp_to_width(wf__inst *in, val x)
{
    wf__gen *g = in->g;
    val zero = g_i64(g, 0), w = g_i64(g, g->width);
    x = g_select(g, g_icmp(g, LLVMIntSGT, x, zero), x, zero);
    return g_select(g, g_icmp(g, LLVMIntSLT, x, w), x, w);
}

/* The lanes l that are on and for which 0 <= base + l < dim. Differences that wrap belong to indices far from any
 * array: then `to` is 0. */
static val in_range(wf__inst *in, val base, val dim)
{
    wf__gen *g = in->g;
    val one = g_i64(g, 1), zero = g_i64(g, 0), r = wf__inst_recall(in, WF__IN_RANGE, base, dim, NULL);
    if (r)
        return unpark(in, r);
    val from = clamp_to_width(in, g_sub(g, zero, base)), to = clamp_to_width(in, g_sub(g, dim, base));
    val bits = g_sub(g, g->L->BuildShl(g->b, one, to, ""), g->L->BuildShl(g->b, one, from, ""));
    if (in->safe)
        bits = g_and(g, bits, in->lane_bits);
    r = park(in, g_select(g, g_icmp(g, LLVMIntSGT, to, from), bits, zero));
    return unpark(in, wf__inst_keep(in, WF__IN_RANGE, base, dim, NULL, r));
}

static void test_uniform(wf__inst *in, wf__ref r, val dim, wf__guard *guard)
{
    wf__gen *g = in->g;
    bool early = !guard->uniform && in->level[r] < in->f->rank;
    /* One that was made late is no use to what comes early. */
    val i = wf__inst_scalar(in, r), when = early ? dim : NULL, below = wf__inst_recall(in, WF__BELOW, i, dim, when);
    if (!below) {
        block back = go_row(in, early);
        below = wf__inst_keep(in, WF__BELOW, i, dim, when, g_icmp(g, LLVMIntULT, i, dim));
        wf__gen_at(g, back);
    }
    guard->early = early && (guard->early || !guard->scalar);
    block back = go_row(in, guard->early);
    guard->scalar = also(in, guard->scalar, below);
    wf__gen_at(g, back);
}

static void test_index(wf__inst *in, wf__ref r, val dim, wf__guard *guard)
{
    wf__gen *g = in->g;
    const wf__vary *v = &in->vary[r];
    if (v->kind == WF__UNIFORM)
        test_uniform(in, r, dim, guard);
    else if (v->kind == WF__AFFINE && v->coef == 1)
        guard->vector =
            also(in, guard->vector == in->lane_mask ? NULL : guard->vector, in_range(in, wf__inst_scalar(in, r), dim));
    else
        guard->vector =
            also(in, guard->vector, g_icmp(g, LLVMIntULT, wf__inst_vector(in, r), wf__gen_splat(g, dim, g->width)));
}

/* i mod period, never negative, by division. */
static val wrap_far(wf__gen *g, val i, val period, int w)
{
    val k = g->L->BuildSRem(g->b, i, wf__gen_splat(g, period, w), "");
    val up = g_add(g, k, wf__gen_splat(g, period, w));
    return g_select(g, g_icmp(g, LLVMIntSLT, k, wf__gen_int(g, g->i64, w, 0)), up, k);
}

/* Vectors are divided lane by lane: a function, called where that is needed. */
static val make_wrap(wf__gen *g)
{
    LLVMTypeRef vector = wf__gen_wide(g, g->i64, g->width), params[2] = { vector, g->i64 };
    block back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "wrap", vector, params, 2, true);
    g->function = f;
    wf__gen_at(g, wf__gen_block(g, "wrap"));
    g->L->BuildRet(g->b, wrap_far(g, g->L->GetParam(f, 0), g->L->GetParam(f, 1), g->width));
    g->function = around;
    wf__gen_at(g, back);
    return f;
}

/* i mod period. Most indices are at most one period outside, which an addition puts right. */
static val wrap(wf__gen *g, val i, val period, int w)
{
    if (w == 1)
        return wrap_far(g, i, period, 1);
    if (!g->wrap)
        g->wrap = make_wrap(g);
    val n = wf__gen_splat(g, period, w), zero = wf__gen_int(g, g->i64, w, 0);
    val low = g_select(g, g_icmp(g, LLVMIntSLT, i, zero), g_add(g, i, n), i);
    val near = g_select(g, g_icmp(g, LLVMIntSGE, i, n), g_sub(g, i, n), low);
    block from = g->L->GetInsertBlock(g->b), rare = wf__gen_block(g, "far"), next = wf__gen_block(g, "next");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, wf__gen_any(g, g_icmp(g, LLVMIntUGE, near, n), w), rare, next));
    wf__gen_at(g, rare);
    val far = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(g->wrap), g->wrap, (val[]){ i, period }, 2, "");
    g->L->SetInstructionCallConv(far, LLVMFastCallConv);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, next);
    val r = g->L->BuildPhi(g->b, g->L->TypeOf(near), "");
    g->L->AddIncoming(r, (val[]){ near, far }, (block[]){ from, rare }, 2);
    return r;
}

static val at_least_one(wf__gen *g, val x)
{
    return g_select(g, g_icmp(g, LLVMIntSGT, x, g_i64(g, 1)), x, g_i64(g, 1));
}

_Static_assert(WF__BORDERS == 6, "how each border mode maps an index");
/* The index inside 0..dim-1 that i stands for; dim >= 1. */
val wf__border_map(wf__gen *g, unsigned border, val i, val dim, int w)
{
    val zero = wf__gen_int(g, g->i64, w, 0), n = wf__gen_splat(g, dim, w);
    val last = wf__gen_splat(g, g_sub(g, dim, g_i64(g, 1)), w);
    if (border == WF_BORDER_CLAMP) {
        val low = g_select(g, g_icmp(g, LLVMIntSGT, i, zero), i, zero);
        return g_select(g, g_icmp(g, LLVMIntSLT, low, last), low, last);
    }
    if (border == WF_BORDER_PERIODIC)
        return wrap(g, i, at_least_one(g, dim), w);
    val twice = g_add(g, dim, dim);
    val period = border == WF_BORDER_MIRROR ? twice : g_sub(g, twice, g_i64(g, 2));
    period = at_least_one(g, period);
    val k = wrap(g, i, period, w);
    val top = wf__gen_splat(g, border == WF_BORDER_MIRROR ? g_sub(g, period, g_i64(g, 1)) : period, w);
    return g_select(g, g_icmp(g, LLVMIntSGE, k, n), g_sub(g, top, k), k);
}

/* A part of a record that is there. */
static bool is_inside(const wf__inst *in, const wf__node *n, uint32_t k)
{
    const wf__node *index = wf__at(in->ir, wf__tuple_at(in->ir, n->b)[k]);
    return k + 1 == wf__tuple_len(in->ir, n->b) && index->op == WF__CONST &&
           wf__bits(index) < in->ir->slot[n->a].record;
}

void wf__border(wf__inst *in, const wf__node *n, wf__guard *guard, val *mapped, bool *wide)
{
    wf__gen *g = in->g;
    guard->uniform = in->vary[n - in->ir->node].kind == WF__UNIFORM;
    if (in->safe && !guard->uniform)
        guard->vector = in->lane_mask;
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, n->b); k++) {
        wf__ref r = wf__tuple_at(in->ir, n->b)[k];
        val dim = wf__frame_dim(in->f, n->a, (int)k);
        mapped[k] = NULL;
        if (is_inside(in, n, k))
            continue;
        if (n->aux == WF_BORDER_VALUE) {
            test_index(in, r, dim, guard);
            continue;
        }
        wide[k] = in->vary[r].kind != WF__UNIFORM;
        val i = wide[k] ? wf__inst_vector(in, r) : wf__inst_scalar(in, r);
        mapped[k] = wide[k] ? wf__inst_recall(in, WF__MAPPED + n->aux, i, dim, NULL) : NULL;
        if (!mapped[k]) { /* vectors once for all loads that share the index */
            block back = go_row(in, !guard->uniform && !wide[k] && in->level[r] < in->f->rank);
            mapped[k] = wf__border_map(g, n->aux, i, dim, wide[k] ? g->width : 1);
            wf__gen_at(g, wide[k] ? g->L->GetInsertBlock(g->b) : back);
            if (wide[k])
                wf__inst_keep(in, WF__MAPPED + n->aux, i, dim, NULL, mapped[k]);
        }
        guard->scalar = also(in, guard->scalar, g_icmp(g, LLVMIntSGT, dim, g_i64(g, 0)));
    }
}
