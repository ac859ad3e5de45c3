/* update.c - elements that several lanes, or several threads, change: ACCUM, ATOMIC, CAS.
 *
 * Lanes take turns: their addresses (and values) go through the stack, which costs less than taking vectors apart. What
 * saves turns comes before: lanes that surely differ are one vector load, join and store; lanes that surely meet are
 * joined first where order does not matter. Lanes that are off work on a harmless place on the stack, without branches.
 */
#include "codegen/update.h"

static LLVMTypeRef bits_type(wf__gen *g, unsigned dtype)
{
    return g->L->IntTypeInContext(g->context, 8 * wf__size(dtype));
}

static val as_bits(wf__gen *g, unsigned dtype, val in_memory) { return g_bits(g, in_memory, bits_type(g, dtype)); }

/* ---- one element, or a vector of them ---- */
/* join(old, value), both as they are in memory and in registers; the result as in memory. */
val wf__joined(wf__gen *g, unsigned join, unsigned dtype, int w, val old, val value)
{
    unsigned with = wf__update_dtype(dtype, join);
    val x[3] = { wf__from_memory(g, dtype, w, old), value, NULL };
    if (with != dtype)
        x[0] = wf__gen_cast(g, with, dtype, w, x[0]);
    val r = wf__gen_op(g, wf__join_op((wf_join)join), with, w, x, NULL);
    if (with != dtype)
        r = wf__gen_cast(g, dtype, with, w, r);
    return wf__to_memory(g, dtype, w, r);
}

static val load_element(wf__gen *g, unsigned dtype, val p)
{
    val v = g_load(g, wf__gen_memory_type(g, dtype, 1), p);
    g->L->SetAlignment(v, wf__align(dtype));
    return v;
}

static void store_element(wf__gen *g, unsigned dtype, val p, val v)
{
    g->L->SetAlignment(g->L->BuildStore(g->b, v, p), wf__align(dtype));
}

/* old update(p, value): tries until nobody interferes. One function for each join and dtype. */
static val make_updater(wf__gen *g, unsigned join, unsigned dtype)
{
    unsigned with = wf__update_dtype(dtype, join);
    LLVMTypeRef bits = bits_type(g, dtype), memory = wf__gen_memory_type(g, dtype, 1);
    LLVMTypeRef params[2] = { g->ptr, wf__gen_type(g, with, 1) };
    block back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "update", bits, params, 2, true);
    g->function = f;
    block entry = wf__gen_block(g, "update"), again = wf__gen_block(g, "again"), done = wf__gen_block(g, "done");
    val p = g->L->GetParam(f, 0);
    wf__gen_at(g, entry);
    val first = g_load(g, bits, p);
    g->L->BuildBr(g->b, again);
    wf__gen_at(g, again);
    val old = g->L->BuildPhi(g->b, bits, "");
    val new = as_bits(g, dtype, wf__joined(g, join, dtype, 1, g_bits(g, old, memory), g->L->GetParam(f, 1)));
    val pair = g->L->BuildAtomicCmpXchg(g->b, p, old, new, LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingMonotonic, 0);
    val now = g->L->BuildExtractValue(g->b, pair, 0, "");
    g->L->BuildCondBr(g->b, g->L->BuildExtractValue(g->b, pair, 1, ""), done, again);
    g->L->AddIncoming(old, (val[]){ first, now }, (block[]){ entry, again }, 2);
    wf__gen_at(g, done);
    g->L->BuildRet(g->b, old);
    g->function = around;
    wf__gen_at(g, back);
    return f;
}

/* The processor's own operation for this; -1: none. */
static int native(unsigned join, unsigned dtype)
{
    if (join == WF_JOIN_EXCH)
        return LLVMAtomicRMWBinOpXchg;
    if (!wf__is_int(dtype))
        return -1;
    return join == WF_JOIN_ADD   ? LLVMAtomicRMWBinOpAdd
           : join == WF_JOIN_AND ? LLVMAtomicRMWBinOpAnd
           : join == WF_JOIN_OR  ? LLVMAtomicRMWBinOpOr
           : join == WF_JOIN_XOR ? LLVMAtomicRMWBinOpXor
                                 : -1;
}

/* What was there, as in memory. */
static val update_atomically(wf__gen *g, unsigned join, unsigned dtype, val p, val value)
{
    int op = native(join, dtype);
    val old;
    if (op >= 0) {
        val bits = as_bits(g, dtype, wf__to_memory(g, dtype, 1, value));
        old = g->L->BuildAtomicRMW(g->b, op, p, bits, LLVMAtomicOrderingMonotonic, 0);
    } else {
        val *f = &g->updater[dtype][join], args[2] = { p, value };
        if (!*f)
            *f = make_updater(g, join, dtype);
        old = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(*f), *f, args, 2, "");
        g->L->SetInstructionCallConv(old, LLVMFastCallConv);
    }
    return g_bits(g, old, wf__gen_memory_type(g, dtype, 1));
}

val wf__update_plainly(wf__gen *g, unsigned join, unsigned dtype, val p, val value)
{
    val old = load_element(g, dtype, p);
    store_element(g, dtype, p,
                  join == WF_JOIN_EXCH ? wf__to_memory(g, dtype, 1, value) : wf__joined(g, join, dtype, 1, old, value));
    return old;
}

static val exchange(wf__gen *g, bool plain, unsigned dtype, val p, val expected, val desired)
{
    val want = as_bits(g, dtype, wf__to_memory(g, dtype, 1, expected));
    val new = as_bits(g, dtype, wf__to_memory(g, dtype, 1, desired));
    val old;
    if (plain) {
        old = as_bits(g, dtype, load_element(g, dtype, p));
        val put = g_select(g, g_icmp(g, LLVMIntEQ, old, want), new, old);
        g->L->SetAlignment(g->L->BuildStore(g->b, put, p), wf__align(dtype));
    } else {
        val pair =
            g->L->BuildAtomicCmpXchg(g->b, p, want, new, LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingMonotonic, 0);
        old = g->L->BuildExtractValue(g->b, pair, 0, "");
    }
    return g_bits(g, old, wf__gen_memory_type(g, dtype, 1));
}

/* ---- lanes ---- */
/* Addresses of all lanes as integers; those of lanes that are off are nowhere. */
static val addresses(wf__inst *in, unsigned dtype, const wf__where *at, val mask)
{
    wf__gen *g = in->g;
    int w = g->width;
    int64_t size = wf__size(dtype), each = at->way == WF__ALONG ? size : at->way == WF__AGAINST ? -size : 0;
    val a = wf__gen_splat(g, g->L->BuildPtrToInt(g->b, at->base, g->i64, ""), w);
    if (at->way == WF__SCATTERED)
        a = g_add(g, a, at->scaled ? g_mul(g, at->offset, wf__gen_int(g, g->i64, w, (uint64_t)size)) : at->offset);
    if (at->way == WF__STRIDED)
        a = g_add(g, a, g_mul(g, wf__gen_splat(g, at->stride, w), wf__gen_iota(g, g->i64, w, 0, 1)));
    if (each)
        a = g_add(g, a, wf__gen_iota(g, g->i64, w, 0, each));
    if (!mask)
        return a;
    val nowhere = g->L->BuildPtrToInt(g->b, wf__frame_nowhere(in->f), g->i64, "");
    return g_select(g, mask, a, wf__gen_splat(g, nowhere, w));
}

static val room(wf__frame *f, int which)
{
    if (!f->turn[which])
        f->turn[which] = wf__frame_room(f, f->g->L->VectorType(f->g->i64, (unsigned)(2 * f->g->width)));
    return f->turn[which];
}

static val spill(wf__inst *in, int which, val v)
{
    val p = room(in->f, which);
    in->g->L->SetAlignment(in->g->L->BuildStore(in->g->b, v, p), 8);
    return p;
}

void wf__far_pointers(wf__inst *in, unsigned dtype, const wf__where *at, val mask, val out[WF__LANES])
{
    wf__gen *g = in->g;
    if (!mask && at->way != WF__SCATTERED) {
        wf__lane_pointers(g, dtype, at, out);
        return;
    }
    val where = spill(in, 0, addresses(in, dtype, at, mask));
    for (int l = 0; l < g->width; l++)
        out[l] = g_load(g, g->ptr, g_gep(g, g->i64, where, g_i64(g, l)));
}

typedef struct lanes { /* a value, one lane at a time */
    val scalar;        /* the same in all */
    val at;            /* in memory, `size` bytes each */
    unsigned dtype;
} lanes;

static lanes take_lanes(wf__inst *in, wf__ref r, int which)
{
    unsigned dtype = wf__dtype(in->ir, r);
    if (in->vary[r].kind == WF__UNIFORM)
        return (lanes){ .scalar = wf__inst_scalar(in, r), .dtype = dtype };
    return (lanes){ .at = spill(in, which, wf__to_memory(in->g, dtype, in->g->width, wf__inst_vector(in, r))),
                    .dtype = dtype };
}

static val lane_of(wf__gen *g, const lanes *x, val l)
{
    if (x->scalar)
        return x->scalar;
    LLVMTypeRef type = wf__gen_memory_type(g, x->dtype, 1);
    return wf__from_memory(g, x->dtype, 1, g_load(g, type, g_gep(g, type, x->at, l)));
}

/* Turns that are written out are fastest. But LLVM needs time that grows by the square of how many accesses follow one
 * another without a branch: in a large kernel, those that come later are a loop, which is the same work. */
typedef struct turns {
    block before, body;
    val lane;
} turns;

static turns begin_turns(wf__gen *g)
{
    turns t = { .before = g->L->GetInsertBlock(g->b), .body = wf__gen_block(g, "turn") };
    g->L->BuildBr(g->b, t.body);
    wf__gen_at(g, t.body);
    t.lane = g->L->BuildPhi(g->b, g->i64, "");
    return t;
}

static void end_turns(wf__gen *g, const turns *t)
{
    block latch = g->L->GetInsertBlock(g->b), after = wf__gen_block(g, "turns");
    val next = g_add(g, t->lane, g_i64(g, 1));
    g->L->AddIncoming(t->lane, (val[]){ g_i64(g, 0), next }, (block[]){ t->before, latch }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, next, g_i64(g, g->width)), t->body, after);
    wf__gen_at(g, after);
}

/* A complex number: its parts one after the other. */
static void update_parts(const wf__change *u, val p, val value)
{
    wf__gen *g = u->in->g;
    unsigned part = wf__part_dtype(u->dtype), size = wf__size(part), with = wf__update_dtype(part, u->join);
    LLVMTypeRef narrow = bits_type(g, part);
    for (unsigned k = 0; k < 2; k++) {
        LLVMTypeRef whole = g->L->TypeOf(value);
        val bits = k ? g->L->BuildLShr(g->b, value, g->L->ConstInt(whole, 8 * size, 0), "") : value;
        val x = g_bits(g, g->L->BuildTrunc(g->b, bits, narrow, ""), wf__gen_type(g, part, 1));
        x = with != part ? wf__gen_cast(g, with, part, 1, x) : x;
        val at = k ? g_gep(g, g->i8, p, g_i64(g, size)) : p;
        (u->plain ? wf__update_plainly : update_atomically)(g, u->join, part, at, x);
    }
}

static void ask_for_line(wf__gen *g, val where, val l)
{
    val args[4] = { g_load(g, g->ptr, g_gep(g, g->i64, where, l)), g_i32(g, 1), g_i32(g, 3),
                    g_i32(g, 1) }; /* to be written, kept, data */
    wf__gen_call(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}

/* An atomic operation waits for its line of the cache, and the next one for it: so all lines are asked for before. */
static void ask_for_lines(const wf__change *u, val where, bool loop)
{
    wf__gen *g = u->in->g;
    if (u->plain || u->at.way != WF__SCATTERED)
        return;
    if (loop) {
        turns t = begin_turns(g);
        ask_for_line(g, where, t.lane);
        end_turns(g, &t);
    }
    for (int l = 0; l < g->width && !loop; l++)
        ask_for_line(g, where, g_i64(g, l));
}

/* What was there; NULL of a complex number. */
static val change_lane(const wf__change *u, val where, const lanes *value, const lanes *expected, val l)
{
    wf__gen *g = u->in->g;
    val p = g_load(g, g->ptr, g_gep(g, g->i64, where, l)), x = lane_of(g, value, l);
    if (u->expected)
        return exchange(g, u->plain, u->dtype, p, lane_of(g, expected, l), x);
    if (!wf__is_complex(u->dtype))
        return (u->plain ? wf__update_plainly : update_atomically)(g, u->join, u->dtype, p, x);
    update_parts(u, p, x);
    return NULL;
}

static void each_lane(const wf__change *u, wf__ref r)
{
    wf__inst *in = u->in;
    wf__gen *g = in->g;
    bool result = u->n->op != WF__ACCUM, loop = in->f->turns >= WF__MANY_UPDATES_WRITTEN;
    val where = spill(in, 0, addresses(u->in, u->dtype, &u->at, u->mask));
    ask_for_lines(u, where, loop);
    lanes value = take_lanes(in, u->value, 1), expected = { .scalar = NULL };
    if (u->expected)
        expected = take_lanes(in, u->expected, 2);
    LLVMTypeRef one = wf__gen_memory_type(g, u->dtype, 1), vector = wf__gen_memory_type(g, u->dtype, g->width);
    val all = result ? g->L->GetPoison(vector) : NULL;
    if (loop) {
        val held = g_gep(g, g->i64, where, g_i64(g, g->width)); /* behind the addresses */
        turns t = begin_turns(g);
        val old = change_lane(u, where, &value, &expected, t.lane);
        if (result)
            store_element(g, u->dtype, g_gep(g, one, held, t.lane), old);
        end_turns(g, &t);
        all = result ? g_load(g, vector, held) : NULL;
        if (result)
            g->L->SetAlignment(all, 8);
    }
    for (int l = 0; l < g->width && !loop; l++) {
        val old = change_lane(u, where, &value, &expected, g_i64(g, l));
        if (result)
            all = g->L->BuildInsertElement(g->b, all, old, g_i32(g, l), "");
    }
    in->f->turns += g->width;
    if (!result)
        return;
    val v = wf__from_memory(g, u->dtype, g->width, all);
    in->vector[r] = u->mask ? g_select(g, u->mask, v, wf__gen_const(g, u->dtype, g->width, 0)) : v;
}

/* ---- lanes that meet ---- */
val wf__neutral_where_off(const wf__change *u, val mask, val v)
{
    wf__gen *g = u->in->g;
    uint64_t bits = wf__join_neutral((wf_join)u->join, u->with);
    return mask ? g_select(g, mask, v, wf__gen_const(g, u->with, g->width, bits)) : v;
}

/* All lanes of v joined, pairwise, as a scalar. (In vectors of one width, whose other lanes are of no use, LLVM 22 takes
 * wrong lanes.) */
static val joined_lanes(const wf__change *u, val v)
{
    wf__gen *g = u->in->g;
    unsigned op = wf__join_op((wf_join)u->join);
    for (int s = g->width / 2; s; s /= 2)
        v = wf__gen_op(g, op, u->with, s, (val[]){ wf__gen_half(g, v, s, false), wf__gen_half(g, v, s, true), NULL },
                       NULL);
    return v;
}

static val somewhere(const wf__change *u)
{
    wf__gen *g = u->in->g;
    return u->mask ? g_select(g, wf__gen_any(g, u->mask, g->width), u->at.base, wf__frame_nowhere(u->in->f))
                   : u->at.base;
}

static void all_at_once(const wf__change *u)
{
    val v = joined_lanes(u, wf__neutral_where_off(u, u->mask, wf__inst_vector(u->in, u->value)));
    (u->plain ? wf__update_plainly : update_atomically)(u->in->g, u->join, u->dtype, somewhere(u), v);
}

/* Private memory, one element: loaded and stored once, its lanes one after the other. */
static void in_a_chain(const wf__change *u)
{
    wf__gen *g = u->in->g;
    val p = somewhere(u), sum = load_element(g, u->dtype, p);
    lanes value = take_lanes(u->in, u->value, 1);
    for (int l = 0; l < g->width; l++) {
        val next = wf__joined(g, u->join, u->dtype, 1, sum, lane_of(g, &value, g_i64(g, l)));
        val on = u->mask ? g->L->BuildExtractElement(g->b, u->mask, g_i32(g, l), "") : NULL;
        sum = on ? g_select(g, on, next, sum) : next;
    }
    store_element(g, u->dtype, p, sum);
}

/* Lanes that differ, or have elements of their own side by side. */
void wf__change_vector(const wf__change *u, const wf__where *at)
{
    wf__inst *in = u->in;
    wf__gen *g = in->g;
    unsigned held = u->dtype == WF_BOOL ? WF_U8 : u->dtype;
    val zero = wf__gen_const(g, held, g->width, 0);
    val old = wf__load_vector(g, u->dtype, at, u->mask, zero, u->mask ? wf__frame_nowhere(in->f) : NULL);
    val new = wf__joined(g, u->join, u->dtype, g->width, old, wf__inst_vector(in, u->value));
    wf__store_vector(in, u->dtype, at, u->mask, new);
}

/* LOCAL: while there are lanes left, all that meet the first of them. */
static void lanes_that_meet(const wf__change *u)
{
    wf__inst *in = u->in;
    wf__gen *g = in->g;
    LLVMTypeRef bits = g->L->IntTypeInContext(g->context, (unsigned)g->width);
    val all = addresses(u->in, u->dtype, &u->at, u->mask), v = wf__inst_vector(in, u->value), where = spill(in, 0, all);
    val first = u->mask ? g_bits(g, u->mask, bits) : wf__gen_int(g, bits, 1, ~(uint64_t)0 >> (64 - g->width));
    block before = g->L->GetInsertBlock(g->b), test = wf__gen_block(g, "left"), turn = wf__gen_block(g, "meet"),
          after = wf__gen_block(g, "met");
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
    val meet = g_icmp(g, LLVMIntEQ, all, wf__gen_splat(g, address, g->width));
    meet = g_and(g, meet, g_bits(g, left, wf__gen_wide(g, g->i1, g->width)));
    update_atomically(g, u->join, u->dtype, p, joined_lanes(u, wf__neutral_where_off(u, meet, v)));
    val rest = g_xor(g, left, g_bits(g, meet, bits));
    block latch = g->L->GetInsertBlock(g->b);
    g->L->BuildBr(g->b, test);
    g->L->AddIncoming(left, (val[]){ first, rest }, (block[]){ before, latch }, 2);
    wf__gen_at(g, after);
}

/* Does one index alone differ from lane to lane, by a constant? */
static bool lanes_differ(const wf__change *u)
{
    int affine = 0;
    for (uint32_t k = 0; k < wf__tuple_len(u->in->ir, u->n->b); k++) {
        unsigned kind = u->in->vary[wf__tuple_at(u->in->ir, u->n->b)[k]].kind;
        bool still = u->in->ir->slot[u->n->a].step[k] == WF__STEP_ZERO;
        if (kind == WF__VARYING)
            return false;
        affine += kind == WF__AFFINE && !still;
    }
    return affine == 1 && (u->at.way == WF__ALONG || u->at.way == WF__AGAINST || u->at.way == WF__STRIDED);
}

wf__change wf__change_of(wf__inst *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    const wf__slot *slot = &in->ir->slot[n->a];
    bool exchanges = n->op == WF__CAS;
    wf__change u = { .in = in, .n = n, .dtype = n->dtype, .join = wf__node_join(n) };
    u.spread = slot->spread ? slot->spread : 1;
    u.together = slot->spread > 1 && slot->record ? slot->record : 1;
    u.plain = in->g->options->alone || (n->op == WF__ACCUM && wf__node_mode(n) == WF__MODE_EXPAND);
    u.value = exchanges ? wf__tuple_at(in->ir, n->c)[1] : n->c;
    u.expected = exchanges ? wf__tuple_at(in->ir, n->c)[0] : 0;
    u.with = wf__dtype(in->ir, u.value);
    u.mask = wf__effect_mask(in, n->d);
    return u;
}

void wf__emit_update(wf__inst *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    const wf__slot *slot = &in->ir->slot[n->a];
    wf__change u = wf__change_of(in, r);
    bool joins = n->op == WF__ACCUM && !wf__is_complex(u.dtype) && g->width > 1;
    if (joins && slot->spread && wf__in_private(&u))
        return;
    u.at = wf__address(in, n->a, n->b, NULL, NULL);
    bool ordered = u.plain && wf__is_float(u.dtype) && u.join != WF_JOIN_MIN && u.join != WF_JOIN_MAX;
    if (!joins)
        each_lane(&u, r);
    else if (u.at.way == WF__AT_POINT)
        (ordered ? in_a_chain : all_at_once)(&u);
    else if (u.plain && lanes_differ(&u))
        wf__change_vector(&u, &u.at);
    else if (!u.plain && wf__node_mode(n) == WF__MODE_LOCAL)
        lanes_that_meet(&u);
    else
        each_lane(&u, r);
}
