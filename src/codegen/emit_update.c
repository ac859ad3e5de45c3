/* emit_update.c - elements that several lanes, or several threads, change: ACCUM, ATOMIC, CAS.
 *
 * Lanes may update the same element, so in general they do so one after the other. Their addresses and values go
 * through the stack, which costs less than extracting vector elements. Three cases are faster. Lanes of distinct
 * elements are one vector load, join and store. Lanes of one element are joined first, where order does not matter.
 * With LOCAL, the lanes of each element are joined first. Inactive lanes update the dummy element on the stack, without
 * branches.
 */
#include "codegen/emit.h"
#include "codegen/update.h"

typedef struct lane_values { /* a value that is read lane by lane */
    val scalar;              /* the value of all lanes; NULL = they differ */
    val at;                  /* address of the lanes' values on the stack */
    unsigned dtype;
} lane_values;

static lane_values get_lanes(wf__instance *in, wf__ref r, int which)
{
    unsigned dtype = wf__dtype(in->ir, r);
    if (in->vary[r].kind == WF__UNIFORM)
        return (lane_values){ .scalar = wf__get_scalar(in, r), .dtype = dtype };
    return (lane_values){ .at = wf__spill_lanes(in, which,
                                                wf__to_memory(in->g, dtype, in->g->width, wf__get_vector(in, r))),
                          .dtype = dtype };
}

static val get_lane(wf__gen *g, const lane_values *x, val l)
{
    if (x->scalar)
        return x->scalar;
    LLVMTypeRef type = wf__gen_memory_type(g, x->dtype, 1);
    return wf__from_memory(g, x->dtype, 1, g_load(g, type, g_gep(g, type, x->at, l)));
}

/* Updates of lanes that are written out are fastest. But LLVM's time grows with the square of the number of accesses in
 * one basic block. So a large kernel has loops over the lanes after the first updates. */
typedef struct lane_loop {
    bb before, body;
    val lane;
} lane_loop;

static lane_loop begin_lane_loop(wf__gen *g)
{
    lane_loop t = { .before = g->L->GetInsertBlock(g->b), .body = wf__gen_bb(g, "turn") };
    g->L->BuildBr(g->b, t.body);
    wf__gen_at(g, t.body);
    t.lane = g->L->BuildPhi(g->b, g->i64, "");
    return t;
}

static void end_lane_loop(wf__gen *g, const lane_loop *t)
{
    bb latch = g->L->GetInsertBlock(g->b), after = wf__gen_bb(g, "lane_loop");
    val next = g_add(g, t->lane, g_i64(g, 1));
    g->L->AddIncoming(t->lane, (val[]){ g_i64(g, 0), next }, (bb[]){ t->before, latch }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, next, g_i64(g, g->width)), t->body, after);
    wf__gen_at(g, after);
}

static void prefetch_line(wf__gen *g, val where, val l)
{
    enum { WRITE = 1, ALL_CACHES = 3, DATA = 1 };
    val args[4] = { g_load(g, g->ptr, g_gep(g, g->i64, where, l)), g_i32(g, WRITE), g_i32(g, ALL_CACHES),
                    g_i32(g, DATA) };
    wf__gen_call(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}

/* Each atomic operation waits for its cache line, and the next operation waits for it. So all lines are prefetched. */
static void prefetch_lines(const wf__update_op *u, val where, bool loop)
{
    wf__gen *g = u->in->g;
    if (u->plain || u->at.pattern != WF__SCATTERED)
        return;
    if (loop) {
        lane_loop t = begin_lane_loop(g);
        prefetch_line(g, where, t.lane);
        end_lane_loop(g, &t);
    }
    for (int l = 0; l < g->width && !loop; l++)
        prefetch_line(g, where, g_i64(g, l));
}

/* Returns the old element; NULL for complex numbers. */
static val update_lane(const wf__update_op *u, val where, const lane_values *value, const lane_values *expected, val l)
{
    wf__gen *g = u->in->g;
    val p = g_load(g, g->ptr, g_gep(g, g->i64, where, l)), x = get_lane(g, value, l);
    if (u->expected)
        return wf__exchange_element(g, u->plain, u->dtype, p, get_lane(g, expected, l), x);
    if (!wf__is_complex(u->dtype))
        return (u->plain ? wf__update_element : wf__update_atomically)(g, u->join, u->dtype, p, x);
    wf__update_parts(u, p, x);
    return NULL;
}

static void update_each_lane(const wf__update_op *u, wf__ref r)
{
    wf__instance *in = u->in;
    wf__gen *g = in->g;
    bool result = u->n->op != WF__ACCUM, loop = in->kernel->serial_lanes >= WF__MANY_UPDATES_WRITTEN;
    val where = wf__spill_lanes(in, 0, wf__lane_addresses(u->in, u->dtype, &u->at, u->mask));
    prefetch_lines(u, where, loop);
    lane_values value = get_lanes(in, u->value, 1), expected = { .scalar = NULL };
    if (u->expected)
        expected = get_lanes(in, u->expected, 2);
    LLVMTypeRef one = wf__gen_memory_type(g, u->dtype, 1), vector = wf__gen_memory_type(g, u->dtype, g->width);
    val all = result ? g->L->GetPoison(vector) : NULL;
    if (loop) {
        val held = g_gep(g, g->i64, where, g_i64(g, g->width)); /* behind the addresses */
        lane_loop t = begin_lane_loop(g);
        val old = update_lane(u, where, &value, &expected, t.lane);
        if (result)
            wf__store_element(g, u->dtype, g_gep(g, one, held, t.lane), old);
        end_lane_loop(g, &t);
        all = result ? g_load(g, vector, held) : NULL;
        if (result)
            g->L->SetAlignment(all, 8);
    }
    for (int l = 0; l < g->width && !loop; l++) {
        val old = update_lane(u, where, &value, &expected, g_i64(g, l));
        if (result)
            all = g->L->BuildInsertElement(g->b, all, old, g_i32(g, l), "");
    }
    in->kernel->serial_lanes += g->width;
    if (!result)
        return;
    val v = wf__from_memory(g, u->dtype, g->width, all);
    in->vector[r] = u->mask ? g_select(g, u->mask, v, wf__gen_const(g, u->dtype, g->width, 0)) : v;
}

/* All lanes of v joined pairwise, as a scalar. Vectors halve at each step: with vectors of full width and unused lanes,
 * LLVM 22 takes wrong lanes. */
static val joined_lanes(const wf__update_op *u, val v)
{
    wf__gen *g = u->in->g;
    unsigned op = wf__join_op((wf_join)u->join);
    for (int s = g->width / 2; s; s /= 2)
        v = wf__gen_op(g, op, u->with, s, (val[]){ wf__gen_half(g, v, s, false), wf__gen_half(g, v, s, true), NULL },
                       NULL);
    return v;
}

/* The address of the element of all active lanes. */
static val active_element(const wf__update_op *u)
{
    wf__gen *g = u->in->g;
    return u->mask ? g_select(g, wf__gen_any(g, u->mask, g->width), u->at.base, wf__get_dummy(u->in->kernel))
                   : u->at.base;
}

static void update_joined(const wf__update_op *u)
{
    val v = joined_lanes(u, wf__select_neutral(u, u->mask, wf__get_vector(u->in, u->value)));
    (u->plain ? wf__update_element : wf__update_atomically)(u->in->g, u->join, u->dtype, active_element(u), v);
}

/* One element that only this thread updates: loaded and stored once, lanes joined in order. */
static void update_in_order(const wf__update_op *u)
{
    wf__gen *g = u->in->g;
    val p = active_element(u), sum = wf__load_element(g, u->dtype, p);
    lane_values value = get_lanes(u->in, u->value, 1);
    for (int l = 0; l < g->width; l++) {
        val next = wf__join_values(g, u->join, u->dtype, 1, sum, get_lane(g, &value, g_i64(g, l)));
        val on = u->mask ? g->L->BuildExtractElement(g->b, u->mask, g_i32(g, l), "") : NULL;
        sum = on ? g_select(g, on, next, sum) : next;
    }
    wf__store_element(g, u->dtype, p, sum);
}

/* While lanes are left: joins all lanes with the element of the first one, and updates it. */
static void update_by_element(const wf__update_op *u)
{
    wf__instance *in = u->in;
    wf__gen *g = in->g;
    LLVMTypeRef bits = g->L->IntTypeInContext(g->context, (unsigned)g->width);
    val all = wf__lane_addresses(u->in, u->dtype, &u->at, u->mask), v = wf__get_vector(in, u->value),
        where = wf__spill_lanes(in, 0, all);
    val first = u->mask ? g_bits(g, u->mask, bits) : wf__gen_int(g, bits, 1, ~(uint64_t)0 >> (64 - g->width));
    bb before = g->L->GetInsertBlock(g->b), test = wf__gen_bb(g, "left"), turn = wf__gen_bb(g, "equal"),
       after = wf__gen_bb(g, "met");
    g->L->BuildBr(g->b, test);
    wf__gen_at(g, test);
    val left = g->L->BuildPhi(g->b, bits, "");
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntNE, left, g->L->ConstNull(bits)), turn, after);
    wf__gen_at(g, turn);
    val args[2] = { left, wf__gen_int(g, g->i1, 1, 1) };
    val l = wf__gen_call(g, "llvm.cttz", &bits, 1, args, 2);
    l = g->width < 64 ? g->L->BuildZExt(g->b, l, g->i64, "") : l;
    val address = g_load(g, g->i64, g_gep(g, g->i64, where, l));
    val p = g_load(g, g->ptr, g_gep(g, g->i64, where, l));
    val equal = g_icmp(g, LLVMIntEQ, all, wf__gen_splat(g, address, g->width));
    equal = g_and(g, equal, g_bits(g, left, wf__gen_wide(g, g->i1, g->width)));
    wf__update_atomically(g, u->join, u->dtype, p, joined_lanes(u, wf__select_neutral(u, equal, v)));
    val rest = g_xor(g, left, g_bits(g, equal, bits));
    bb latch = g->L->GetInsertBlock(g->b);
    g->L->BuildBr(g->b, test);
    g->L->AddIncoming(left, (val[]){ first, rest }, (bb[]){ before, latch }, 2);
    wf__gen_at(g, after);
}

/* True if exactly one index differs from lane to lane, by a constant: then the elements are distinct. */
static bool are_distinct(const wf__update_op *u)
{
    int affine = 0;
    for (uint32_t k = 0; k < wf__tuple_len(u->in->ir, u->n->b); k++) {
        unsigned kind = u->in->vary[wf__tuple_at(u->in->ir, u->n->b)[k]].kind;
        bool still = u->in->ir->slot[u->n->a].step[k] == WF__STEP_ZERO;
        if (kind == WF__VARYING)
            return false;
        affine += kind == WF__AFFINE && !still;
    }
    return affine == 1 &&
           (u->at.pattern == WF__ASCENDING || u->at.pattern == WF__DESCENDING || u->at.pattern == WF__STRIDED);
}

wf__update_op wf__describe_update(wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    const wf__slot *slot = &in->ir->slot[n->a];
    bool exchanges = n->op == WF__CAS;
    wf__update_op u = { .in = in, .n = n, .dtype = n->dtype, .join = wf__node_join(n) };
    u.spread = slot->spread ? slot->spread : 1;
    u.together = slot->spread > 1 && slot->record ? slot->record : 1;
    u.plain = in->g->options->single_thread || (n->op == WF__ACCUM && wf__node_mode(n) == WF__MODE_EXPAND);
    u.value = exchanges ? wf__tuple_at(in->ir, n->c)[1] : n->c;
    u.expected = exchanges ? wf__tuple_at(in->ir, n->c)[0] : 0;
    u.with = wf__dtype(in->ir, u.value);
    u.mask = wf__effect_mask(in, n->d);
    return u;
}

void wf__emit_update(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    const wf__slot *slot = &in->ir->slot[n->a];
    wf__update_op u = wf__describe_update(in, r);
    bool joins = n->op == WF__ACCUM && !wf__is_complex(u.dtype) && g->width > 1;
    if (joins && slot->spread && wf__update_private(&u))
        return;
    u.at = wf__make_address(in, n->a, n->b, NULL, NULL);
    bool ordered = u.plain && wf__is_float(u.dtype) && u.join != WF_JOIN_MIN && u.join != WF_JOIN_MAX;
    if (!joins)
        update_each_lane(&u, r);
    else if (u.at.pattern == WF__ONE_ELEMENT)
        (ordered ? update_in_order : update_joined)(&u);
    else if (u.plain && are_distinct(&u))
        wf__update_vector(&u, &u.at);
    else if (!u.plain && wf__node_mode(n) == WF__MODE_LOCAL)
        update_by_element(&u);
    else
        update_each_lane(&u, r);
}
