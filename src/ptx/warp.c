/* warp.c - operations between the lanes of a warp: values of other lanes, and joins of the values of lanes with equal
 * addresses, so that one lane updates memory for all of them.
 */
#include "ptx/gen.h"

val wf__ptx_from_lane(gen *g, unsigned dtype, val v, const char *how, val by, val members)
{
    val r = wf__ptx_new(g, dtype), mode = v_text(how);
    if (r.kind == V_D) {
        val lo = wf__ptx_reg(g, V_R), hi = wf__ptx_reg(g, V_R);
        EMIT(g, "mov.b64 {$0, $1}, $2", lo, hi, v);
        EMIT(g, "shfl.sync.$1.b32 $0, $0, $2, 31, $3", lo, mode, by, members);
        EMIT(g, "shfl.sync.$1.b32 $0, $0, $2, 31, $3", hi, mode, by, members);
        EMIT(g, "mov.b64 $0, {$1, $2}", r, lo, hi);
        return r;
    }
    val bits = v;
    if (r.kind == V_P) {
        bits = wf__ptx_reg(g, V_R);
        EMIT(g, "selp.b32 $0, 1, 0, $1", bits, v);
    }
    val got = r.kind == V_P ? bits : r;
    EMIT(g, "shfl.sync.$2.b32 $0, $1, $3, 31, $4", got, bits, mode, by, members);
    if (r.kind == V_P)
        EMIT(g, "setp.ne.s32 $0, $1, 0", r, got);
    return r;
}

/* ---- lanes with equal addresses ---- */
typedef struct lane_group {
    gen *g;
    unsigned join, dtype;
    val peers, here; /* masks of the lanes with the same address, and of all active lanes */
    val v;           /* register that accumulates the joined value */
} lane_group;

static void join_other(const lane_group *m, val other, const char *move, val when)
{
    val x[3] = { m->v, other, other };
    wf__ptx_line(m->g, move,
                 (const val[]){ m->v, wf__ptx_bits(m->dtype),
                                wf__ptx_op(m->g, wf__join_op((wf_join)m->join), m->dtype, x), when });
}

/* The redux instruction, from compute capability 8.0 on; NULL = none. */
static const char *redux_name(const gen *g, unsigned join, unsigned t)
{
    bool sign = wf__is_signed(t);
    if (g->options->arch < 80 || wf__ptx_wide(t) || wf__is_float(t))
        return NULL;
    switch (join) {
    case WF_JOIN_ADD:
        return "add.u32";
    case WF_JOIN_MIN:
        return sign ? "min.s32" : "min.u32";
    case WF_JOIN_MAX:
        return sign ? "max.s32" : "max.u32";
    case WF_JOIN_AND:
        return "and.b32";
    case WF_JOIN_OR:
        return "or.b32";
    case WF_JOIN_XOR:
        return "xor.b32";
    default:
        return NULL;
    }
}

static val reduce_at_once(const lane_group *m, const char *name)
{
    gen *g = m->g;
    val r = wf__ptx_reg(g, V_R), bits = m->v;
    if (m->dtype == WF_BOOL) {
        bits = wf__ptx_reg(g, V_R);
        EMIT(g, "selp.b32 $0, 1, 0, $1", bits, m->v);
    }
    EMIT(g, "redux.sync.$1 $0, $2, $3", r, v_text(name), bits, m->peers);
    if (m->dtype == WF_BOOL) {
        val p = wf__ptx_reg(g, V_P);
        EMIT(g, "setp.ne.s32 $0, $1, 0", p, r);
        return p;
    }
    wf__ptx_normalise(g, m->dtype, r);
    return r;
}

/* All 32 lanes have one address. */
static void join_all(const lane_group *m)
{
    for (int s = WF__LANES / 2; s; s /= 2)
        join_other(m, wf__ptx_from_lane(m->g, m->dtype, m->v, "bfly", v_int(s), v_int(-1)), "mov.$1 $0, $2", m->here);
}

/* In each step every lane joins the value of the next remaining lane of its group. Then every other lane of the group
 * drops out. */
static void join_group(const lane_group *m, val lower)
{
    gen *g = m->g;
    val rest = wf__ptx_reg(g, V_R), rank = wf__ptx_reg(g, V_R), next = wf__ptx_reg(g, V_R), odd = wf__ptx_reg(g, V_R);
    val some = wf__ptx_reg(g, V_P), even = wf__ptx_reg(g, V_P), left = wf__ptx_reg(g, V_R);
    val again = wf__ptx_new_label(g);
    EMIT(g, "mov.u32 $0, %lanemask_gt", rest);
    EMIT(g, "and.b32 $0, $0, $1", rest, m->peers);
    EMIT(g, "popc.b32 $0, $1", rank, lower);
    wf__ptx_place_label(g, again);
    EMIT(g, "brev.b32 $0, $1", next, rest);
    EMIT(g, "clz.b32 $0, $0", next);
    EMIT(g, "setp.ne.s32 $0, $1, 0", some, rest);
    join_other(m, wf__ptx_from_lane(g, m->dtype, m->v, "idx", next, m->here), "@$3 mov.$1 $0, $2", some);
    EMIT(g, "and.b32 $0, $1, 1", odd, rank);
    EMIT(g, "setp.eq.s32 $0, $1, 0", even, odd);
    EMIT(g, "vote.sync.ballot.b32 $0, $1, $2", left, even, m->here);
    EMIT(g, "and.b32 $0, $0, $1", rest, left);
    EMIT(g, "shr.u32 $0, $0, 1", rank);
    EMIT(g, "setp.ne.s32 $0, $1, 0", some, rest);
    EMIT(g, "vote.sync.any.pred $0, $0, $1", some, m->here);
    EMIT(g, "@$0 bra $1", some, again);
}

val wf__ptx_join_lanes(gen *g, val address, unsigned join, unsigned dtype, val v, val *leads)
{
    lane_group m = { g, join, dtype, wf__ptx_reg(g, V_R), wf__ptx_reg(g, V_R), wf__ptx_new(g, dtype) };
    val lower = wf__ptx_reg(g, V_R);
    const char *at_once = redux_name(g, join, dtype);
    *leads = wf__ptx_reg(g, V_P);
    EMIT(g, "mov.$1 $0, $2", m.v, wf__ptx_bits(dtype), v);
    EMIT(g, "activemask.b32 $0", m.here);
    EMIT(g, "match.any.sync.b64 $0, $1, $2", m.peers, address, m.here);
    EMIT(g, "mov.u32 $0, %lanemask_lt", lower);
    EMIT(g, "and.b32 $0, $0, $1", lower, m.peers);
    EMIT(g, "setp.eq.s32 $0, $1, 0", *leads, lower);
    if (at_once)
        return reduce_at_once(&m, at_once);
    val all = wf__ptx_reg(g, V_P), some = wf__ptx_new_label(g), done = wf__ptx_new_label(g);
    EMIT(g, "setp.ne.s32 $0, $1, -1", all, m.peers);
    EMIT(g, "@$0 bra $1", all, some);
    join_all(&m);
    EMIT(g, "bra $0", done);
    wf__ptx_place_label(g, some);
    join_group(&m, lower);
    wf__ptx_place_label(g, done);
    return m.v;
}
