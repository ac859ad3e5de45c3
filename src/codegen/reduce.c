/* reduce.c - accumulators, in exactly the order of kernel.h: lane j of a row joins virtual accumulator j % WF__LANES.
 *
 * Instance i of a reduction holds virtual accumulators i*w .. i*w + w-1. FAST keeps all instances in registers; SAFE
 * finds the one that belongs to its lanes on the stack. Where axes are kept, a point of them begins with neutral
 * elements and ends with storing its result. Where the lane axis is kept, lanes are not joined: the results are the
 * accumulators, and instance i is the vector of column i.
 */
#include "codegen/body.h"

static LLVMTypeRef held(wf__gen *g, unsigned dtype, int w) { return wf__gen_memory_type(g, dtype, w); }

static val to_held(wf__gen *g, unsigned dtype, int w, val v)
{
    return dtype == WF_BOOL ? g->L->BuildZExt(g->b, v, held(g, dtype, w), "") : v;
}

static val from_held(wf__gen *g, unsigned dtype, int w, val v)
{
    return dtype == WF_BOOL ? g_icmp(g, LLVMIntNE, v, wf__gen_int(g, g->i8, w, 0)) : v;
}

static val place(wf__frame *f, uint32_t red, val instance)
{
    return g_gep(f->g, held(f->g, f->body->red[red].dtype, f->g->width), f->accumulator[red], instance);
}

static val get(wf__frame *f, uint32_t red, val instance)
{
    unsigned dtype = f->body->red[red].dtype;
    return from_held(f->g, dtype, f->g->width, g_load(f->g, held(f->g, dtype, f->g->width), place(f, red, instance)));
}

static void put(wf__frame *f, uint32_t red, val instance, val v)
{
    f->g->L->BuildStore(f->g->b, to_held(f->g, f->body->red[red].dtype, f->g->width, v), place(f, red, instance));
}

bool wf__red_begin(wf__frame *f)
{
    wf__gen *g = f->g;
    if (!f->body->red_n)
        return true;
    f->accumulator = wf__alloc0(f->body->red_n * sizeof *f->accumulator);
    f->result = wf__alloc0(f->body->red_n * sizeof *f->result);
    if (!f->accumulator || !f->result)
        return false;
    for (uint32_t i = 0; i < f->body->red_n; i++) {
        LLVMTypeRef type = g->L->ArrayType(held(g, f->body->red[i].dtype, g->width), (unsigned)f->instances);
        if (!f->body->kept_lane)
            f->accumulator[i] = g->L->BuildAlloca(g->b, type, "accumulator");
        if (f->body->kept || f->body->kept_lane)
            f->result[i] = g_load(g, g->ptr, g_gep(g, g->i64, f->acc, g_i64(g, i)));
    }
    return true;
}

void wf__red_clear(wf__frame *f)
{
    wf__gen *g = f->g;
    for (uint32_t i = 0; i < f->body->red_n; i++) {
        const wf__reduction *red = &f->body->red[i];
        val neutral = wf__gen_const(g, red->dtype, g->width, wf__red_start(red));
        for (int k = 0; k < f->instances; k++)
            put(f, i, g_i64(g, k), neutral);
    }
}

/* ---- results in memory ---- */
/* The number of a point of the kept axes but the lane axis. */
static val point(wf__frame *f, const val *index)
{
    val at = NULL;
    for (int d = 0; d < f->body->kept; d++)
        at = at ? g_add(f->g, g_mul(f->g, at, wf__frame_extent(f, d)), index[d]) : index[d];
    return at;
}

static val result(wf__frame *f, uint32_t red, val at)
{
    return at ? g_gep(f->g, wf__gen_memory_type(f->g, f->body->red[red].dtype, 1), f->result[red], at) : f->result[red];
}

void wf__red_row(wf__inst *in)
{
    wf__frame *f = in->f;
    if (!wf__keeps_lane(f))
        return;
    val at = point(f, in->index);
    if (at)
        at = g_mul(f->g, at, wf__frame_extent(f, f->rank - 1));
    for (uint32_t i = 0; i < f->body->red_n; i++)
        in->red_row[i] = result(f, i, at);
}

/* The results of the vector at hand, or of one `column` vectors further. */
static wf__where lane_results(wf__inst *in, uint32_t red, uint32_t column)
{
    wf__gen *g = in->g;
    LLVMTypeRef element = wf__gen_memory_type(g, in->f->body->red[red].dtype, 1);
    val p = g_gep(g, element, in->red_row[red], in->index[in->f->rank - 1]);
    return (wf__where){ .way = WF__ALONG,
                        .base = column ? g_gep(g, element, p, g_i64(g, (int64_t)column * g->width)) : p };
}

static val read_lanes(wf__inst *in, uint32_t red, uint32_t column)
{
    wf__gen *g = in->g;
    unsigned dtype = in->f->body->red[red].dtype;
    wf__where at = lane_results(in, red, column);
    val mask = in->safe ? in->lane_mask : NULL;
    val other = mask ? wf__gen_const(g, dtype == WF_BOOL ? WF_U8 : dtype, g->width, 0) : NULL;
    val v = wf__load_vector(g, dtype, &at, mask, other, mask ? wf__frame_nowhere(in->f) : NULL);
    return from_held(g, dtype, g->width, v);
}

static void write_lanes(wf__inst *in, uint32_t red, uint32_t column, val v)
{
    unsigned dtype = in->f->body->red[red].dtype;
    wf__where at = lane_results(in, red, column);
    wf__store_vector(in, dtype, &at, in->safe ? in->lane_mask : NULL, to_held(in->g, dtype, in->g->width, v));
}

/* ---- FAST's inner loop ---- */

void wf__red_enter(wf__inst *in, block before, block loop)
{
    wf__gen *g = in->g;
    if (wf__keeps_lane(in->f))
        return;
    for (uint32_t i = 0; i < in->ir->red_n; i++)
        for (int k = 0; k < in->f->instances; k++) {
            uint32_t at = i * (uint32_t)in->f->instances + (uint32_t)k;
            wf__gen_at(g, before);
            val first = get(in->f, i, g_i64(g, k));
            wf__gen_at(g, loop);
            in->red_phi[at] = in->red[at] = g->L->BuildPhi(g->b, g->L->TypeOf(first), "");
            g->L->AddIncoming(in->red_phi[at], &first, &before, 1);
        }
}

void wf__red_turn(wf__inst *in, block latch)
{
    for (uint32_t at = 0; at < in->ir->red_n * (uint32_t)in->f->instances; at++)
        if (!wf__keeps_lane(in->f))
            in->g->L->AddIncoming(in->red_phi[at], &in->red[at], &latch, 1);
        else if (in->red[at])
            write_lanes(in, at / (uint32_t)in->f->instances, at % (uint32_t)in->f->instances, in->red[at]);
}

void wf__red_leave(wf__inst *in)
{
    if (wf__keeps_lane(in->f))
        return;
    for (uint32_t i = 0; i < in->ir->red_n; i++)
        for (int k = 0; k < in->f->instances; k++)
            put(in->f, i, g_i64(in->g, k), in->red[i * (uint32_t)in->f->instances + (uint32_t)k]);
}

/* SAFE: the instance of the lanes at hand. */
static val current_instance(wf__inst *in)
{
    wf__gen *g = in->g;
    val j = in->index[in->f->rank - 1];
    int shift = 0;
    while (1 << shift < g->width)
        shift++;
    return g_and(g, g->L->BuildLShr(g->b, j, g_i64(g, shift), ""), g_i64(g, in->f->instances - 1));
}

void wf__emit_red(wf__inst *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    if (wf__keeps_lane(in->f))
        in->vector[r] = read_lanes(in, n->a, n->b);
    else if (in->safe)
        in->vector[r] = get(in->f, n->a, current_instance(in));
    else
        in->vector[r] = in->red[n->a * (uint32_t)in->f->instances + n->b];
}

void wf__emit_setred(wf__inst *in, const wf__node *n)
{
    val v = wf__inst_vector(in, n->c);
    if (!in->safe) {
        in->red[n->a * (uint32_t)in->f->instances + n->b] = v;
        return;
    }
    if (wf__keeps_lane(in->f)) {
        write_lanes(in, n->a, 0, v);
        return;
    }
    val instance = current_instance(in), old = get(in->f, n->a, instance);
    put(in->f, n->a, instance, g_select(in->g, in->lane_mask, v, old));
}

/* a[k] = join(a[k], b[k]) for every reduction k. `value`: a val for each node of the custom join. */
static void join_all(wf__frame *f, int w, val *a, const val *b, val *value)
{
    wf__gen *g = f->g;
    const wf__ir *body = f->body, *joiner = body->joiner;
    val *arg = value + (joiner ? joiner->n : 0);
    for (uint32_t k = 0; k < body->red_n; k++) {
        const wf__reduction *red = &body->red[k];
        arg[k] = a[k];
        arg[body->red_n + k] = b[k];
        if (red->join != WF_JOIN_CUSTOM)
            a[k] = wf__gen_op(g, wf__join_op((wf_join)red->join), red->dtype, w, (val[3]){ a[k], b[k], NULL }, NULL);
    }
    if (!joiner)
        return;
    wf__emit_pure_nodes(g, joiner, arg, w, value);
    for (uint32_t i = 1; i < joiner->n; i++)
        if (joiner->node[i].op == WF__SETRED)
            a[joiner->node[i].a] = value[joiner->node[i].c];
}

/* The lanes of every reduction joined pairwise, as scalars in v[0 .. red_n-1]; v has room for all instances. */
static void join_lanes(wf__frame *f, val *v, val *value)
{
    wf__gen *g = f->g;
    uint32_t n = f->body->red_n;
    for (int k = 0; k < f->instances; k++)
        for (uint32_t i = 0; i < n; i++)
            v[(uint32_t)k * n + i] = get(f, i, g_i64(g, k));
    for (int s = f->instances / 2; s; s /= 2)
        for (int k = 0; k < s; k++)
            join_all(f, g->width, v + (uint32_t)k * n, v + (uint32_t)(k + s) * n, value);
    for (int s = g->width / 2; s; s /= 2) {
        for (uint32_t i = 0; i < n; i++) {
            val both = v[i];
            v[i] = wf__gen_half(g, both, s, false);
            v[n + i] = wf__gen_half(g, both, s, true);
        }
        join_all(f, s, v, v + n, value);
    }
}

void wf__red_end(wf__frame *f, const val *index)
{
    wf__gen *g = f->g;
    const wf__ir *body = f->body;
    val at = index ? point(f, index) : NULL;
    size_t rows = (size_t)(f->instances > 1 ? f->instances : 2), nodes = body->joiner ? body->joiner->n : 0;
    val *all = body->red_n ? wf__alloc0(((rows + 2) * body->red_n + nodes) * sizeof *all) : NULL;
    if (!all) {
        if (body->red_n)
            wf__gen_fail(g, "code generator: out of memory");
        return;
    }
    join_lanes(f, all, all + rows * body->red_n);
    for (uint32_t i = 0; i < f->body->red_n; i++) {
        unsigned dtype = f->body->red[i].dtype;
        val v = all[i];
        if (at) {
            g->L->BuildStore(g->b, to_held(g, dtype, 1, v), result(f, i, at));
            continue;
        }
        if (wf__is_float(dtype))
            v = g_bits(g, v, dtype == WF_F32 ? g->i32 : g->i64);
        if (wf__size(dtype) < 8)
            v = g->L->BuildZExt(g->b, v, g->i64, "");
        g->L->BuildStore(g->b, v, g_gep(g, g->i64, f->acc, g_i64(g, i)));
    }
    wf__free(all);
}
