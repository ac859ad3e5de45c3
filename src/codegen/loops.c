/* loops.c - the function around the bodies:
 *
 *     for each outer index
 *         for y in steps of R rows                            (R = 1 without tiling)
 *             are all R rows inside the box where FAST is right?
 *             SAFE on [lo, clo) of each row, FAST on [clo, chi), SAFE on [chi, hi) of each row
 *
 * SAFE's code is there once, in a loop over the two segments; a row outside that box is all left segment. Indices ascend
 * within a row, so that reductions meet their lanes in order.
 */
#include "codegen/body.h"

typedef struct nest {
    wf__gen *g;
    wf__frame *f;
    wf__inst *fast, *safe;
    val index[WF_MAX_RANK];
    block head[WF_MAX_RANK];
    val inside; /* outer indices in the box: i1, or NULL: always */
    val clo, chi;
} nest;

/* ---- the box in which FAST is right ---- */
typedef struct reach { /* loads index axis `k` of `slot` at most `most` beyond loop axis `axis` */
    uint32_t slot, k;
    int axis;
    int64_t least, most;
} reach;

static val smaller(wf__gen *g, val a, val b) { return a ? g_select(g, g_icmp(g, LLVMIntSLT, a, b), a, b) : b; }
static val larger(wf__gen *g, val a, val b) { return a ? g_select(g, g_icmp(g, LLVMIntSGT, a, b), a, b) : b; }

static void widen(reach *table, uint32_t *n, uint32_t cap, reach one)
{
    for (uint32_t i = 0; i < *n; i++) {
        reach *r = &table[i];
        if (r->slot != one.slot || r->k != one.k || r->axis != one.axis)
            continue;
        r->least = one.least < r->least ? one.least : r->least;
        r->most = one.most > r->most ? one.most : r->most;
        return;
    }
    if (*n < cap)
        table[(*n)++] = one;
}

/* index + offset in [0, dim) as bounds of the index. Offsets so large that they would wrap leave no inside at all. */
static void bound(wf__frame *f, const reach *r)
{
    wf__gen *g = f->g;
    const int64_t far = (int64_t)1 << 60;
    val dim = wf__frame_dim(f, r->slot, (int)r->k);
    int axis = r->axis < 0 ? f->rank - 1 : r->axis;
    bool never = r->least < -far || r->most > far;
    val none = g_i64(g, INT64_MIN);
    if (never) {
        f->inner_hi[axis] = none;
        f->inner_lo[axis] = larger(g, f->inner_lo[axis], g_i64(g, 0));
        return;
    }
    val limit = g_sub(g, dim, g_i64(g, r->most));
    if (r->axis < 0) { /* constants: inside always or never */
        val ok = g_and(g, g_icmp(g, LLVMIntSGT, limit, g_i64(g, 0)), wf__gen_int(g, g->i1, 1, r->least >= 0));
        limit = g_select(g, ok, g_i64(g, INT64_MAX), none);
        f->inner_hi[axis] = smaller(g, f->inner_hi[axis], limit);
        return;
    }
    f->inner_lo[axis] = larger(g, f->inner_lo[axis], g_i64(g, -r->least));
    f->inner_hi[axis] = smaller(g, f->inner_hi[axis], limit);
}

static bool find_box(wf__frame *f)
{
    const wf__ir *body = f->body;
    uint32_t n = 0, cap = body->slot_n * WF_MAX_RANK * (WF_MAX_RANK + 1);
    reach *table = wf__alloc((cap + 1) * sizeof *table);
    if (!table)
        return false;
    for (uint32_t i = 1; i < body->n; i++) {
        const wf__node *load = &body->node[i];
        if (!wf__load_splits(body, load))
            continue;
        for (uint32_t k = 0; k < wf__tuple_len(body, load->b); k++) {
            reach r = { .slot = load->a, .k = k };
            wf__as_offset(body, wf__tuple_at(body, load->b)[k], &r.axis, &r.least);
            r.most = r.least;
            widen(table, &n, cap, r);
        }
    }
    for (uint32_t i = 0; i < n; i++)
        bound(f, &table[i]);
    wf__free(table);
    if (f->narrow_limit < INT64_MAX) {
        int last = f->rank - 1;
        f->inner_hi[last] = smaller(f->g, f->inner_hi[last], g_i64(f->g, f->narrow_limit));
    }
    return true;
}

/* ---- columns of a row: FAST on [clo, chi) ---- */
static void split_row(nest *t)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    int last = f->rank - 1;
    int64_t step = (int64_t)f->columns * g->width, align = f->body->red_n ? WF__LANES : g->width;
    val lo = f->lo[last], hi = f->hi[last];
    val a = f->inner_lo[last] ? larger(g, f->inner_lo[last], lo) : lo;
    val b = f->inner_hi[last] ? smaller(g, f->inner_hi[last], hi) : hi;
    val from = g_and(g, g_add(g, a, g_i64(g, align - 1)), g_i64(g, -align));
    val room = g_sub(g, b, from);
    val some = g_and(g, g_icmp(g, LLVMIntSLT, from, b), g_icmp(g, LLVMIntSGE, room, g_i64(g, step)));
    val part = (step & (step - 1)) == 0 ? g_and(g, room, g_i64(g, -step))
                                        : g_sub(g, room, g->L->BuildURem(g->b, room, g_i64(g, step), ""));
    t->clo = g_select(g, some, from, hi);
    t->chi = g_select(g, some, g_add(g, from, part), hi);
}

/* ---- counting ----
 * Addresses are made here the way the processor wants them. LLVM's loop strength reduction would take them apart again, and
 * for a large body that costs more time than all the rest of compiling. It sees indices in integers only, so on x86 they
 * are kept in vectors of one lane, which become plain registers. */
typedef struct counter {
    val phi, index; /* index: as i64 */
    block loop;
} counter;

static bool hidden(const wf__gen *g) { return g->isa != WF__ISA_NEON; }

static val hide(wf__gen *g, val index)
{
    return hidden(g) ? g_bits(g, index, g->L->VectorType(g->i64, 1)) : index;
}

/* At the start of `loop`, to which `before` will branch. */
static counter begin_count(wf__gen *g, block before, block loop, val first)
{
    wf__gen_at(g, before);
    first = hide(g, first);
    wf__gen_at(g, loop);
    counter c = { .loop = loop, .phi = g->L->BuildPhi(g->b, g->L->TypeOf(first), "") };
    g->L->AddIncoming(c.phi, &first, &before, 1);
    return c;
}

/* After all phis. */
static val count(wf__gen *g, counter *c)
{
    c->index = hidden(g) ? g->L->BuildExtractElement(g->b, c->phi, g_i32(g, 0), "") : c->phi;
    return c->index;
}

static void end_count(wf__gen *g, const counter *c, int64_t step, val limit, block exit)
{
    block latch = g->L->GetInsertBlock(g->b);
    val next = g_add(g, c->phi, hide(g, g_i64(g, step)));
    g->L->AddIncoming(c->phi, &next, &latch, 1);
    val index = hidden(g) ? g->L->BuildExtractElement(g->b, next, g_i32(g, 0), "") : next;
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, index, limit), c->loop, exit);
}

/* ---- one row, or R rows ---- */
/* The lanes from j on that are below `limit`, as bits. */
static val lanes_below(wf__gen *g, val j, val limit)
{
    val left = g_sub(g, limit, j), w = g_i64(g, g->width), one = g_i64(g, 1);
    val n = g_select(g, g_icmp(g, LLVMIntSLT, left, w), left, w);
    return g_sub(g, g->L->BuildShl(g->b, one, n, ""), one);
}

/* SAFE on [lo, hi) of one row. Ends at the end of a new block. */
static void emit_safe_row(nest *t, val lo, val hi)
{
    wf__gen *g = t->g;
    wf__inst *in = t->safe;
    int rank = t->f->rank;
    block loop = wf__gen_block(g, "safe"), after = wf__gen_block(g, "safe_end");
    in->row = g->L->GetInsertBlock(g->b);
    wf__inst_level(in, rank - 1);
    counter c = begin_count(g, in->row, loop, lo);
    wf__gen_at(g, in->row);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    in->index[rank - 1] = count(g, &c);
    in->lane_bits = lanes_below(g, c.index, hi);
    in->lane_mask = wf__inst_mask(in, in->lane_bits);
    wf__inst_level(in, rank);
    end_count(g, &c, g->width, hi, after);
    wf__gen_at(g, after);
}

static void emit_safe(nest *t, val lo, val hi)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    int row = f->rank - 2;
    if (f->rows == 1) {
        emit_safe_row(t, lo, hi);
        return;
    }
    block before = g->L->GetInsertBlock(g->b), each = wf__gen_block(g, "safe_row"), after = wf__gen_block(g, "safe_rows_end");
    val y = t->index[row], end = smaller(g, g_add(g, y, g_i64(g, f->rows)), f->hi[row]);
    counter c = begin_count(g, before, each, y);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, each);
    wf__gen_at(g, each);
    t->safe->index[row] = count(g, &c);
    emit_safe_row(t, lo, hi);
    end_count(g, &c, 1, end, after);
    wf__gen_at(g, after);
}

static void emit_fast(nest *t, val clo, val chi)
{
    wf__gen *g = t->g;
    wf__inst *in = t->fast;
    int rank = t->f->rank;
    block loop = wf__gen_block(g, "fast"), after = wf__gen_block(g, "fast_end");
    in->row = g->L->GetInsertBlock(g->b);
    wf__inst_level(in, rank - 1);
    block before = in->row;
    counter c = begin_count(g, before, loop, clo);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, loop);
    wf__red_enter(in, before, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    in->index[rank - 1] = count(g, &c);
    wf__inst_level(in, rank);
    wf__red_turn(in, g->L->GetInsertBlock(g->b));
    end_count(g, &c, (int64_t)t->f->columns * g->width, chi, after);
    wf__gen_at(g, after);
    wf__red_leave(in);
}

static void emit_row(nest *t)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    int last = f->rank - 1;
    val lo = f->lo[last], hi = f->hi[last];
    val clo = t->inside ? g_select(g, t->inside, t->clo, hi) : t->clo;
    val chi = t->inside ? g_select(g, t->inside, t->chi, hi) : t->chi;
    block before = g->L->GetInsertBlock(g->b), segment = wf__gen_block(g, "segment"), work = wf__gen_block(g, "safe_begin");
    block done = wf__gen_block(g, "segment_end"), middle = wf__gen_block(g, "middle"), fast = wf__gen_block(g, "fast_begin");
    block right = wf__gen_block(g, "right"), end = wf__gen_block(g, "row_end");
    g->L->BuildBr(g->b, segment);
    wf__gen_at(g, segment);
    val from = g->L->BuildPhi(g->b, g->i64, "from"), to = g->L->BuildPhi(g->b, g->i64, "to");
    val second = g->L->BuildPhi(g->b, g->i1, "second");
    g->L->AddIncoming(from, (val[]){ lo, chi }, (block[]){ before, right }, 2);
    g->L->AddIncoming(to, (val[]){ clo, hi }, (block[]){ before, right }, 2);
    g->L->AddIncoming(second, (val[]){ wf__gen_int(g, g->i1, 1, 0), wf__gen_int(g, g->i1, 1, 1) },
                      (block[]){ before, right }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, from, to), work, done);
    wf__gen_at(g, work);
    emit_safe(t, from, to);
    g->L->BuildBr(g->b, done);
    wf__gen_at(g, done);
    g->L->BuildCondBr(g->b, second, end, middle);
    wf__gen_at(g, middle);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, clo, chi), fast, right);
    wf__gen_at(g, fast);
    emit_fast(t, clo, chi);
    g->L->BuildBr(g->b, right);
    wf__gen_at(g, right);
    g->L->BuildBr(g->b, segment);
    wf__gen_at(g, end);
}

/* ---- outer loops ---- */
/* Are the indices i .. i+rows-1 of this axis inside the box (and the space)? */
static void test_inside(nest *t, int axis, val i, int rows)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    val end = rows > 1 ? g_add(g, i, g_i64(g, rows)) : NULL, ok = NULL;
    if (f->inner_lo[axis])
        ok = g_icmp(g, LLVMIntSGE, i, f->inner_lo[axis]);
    if (f->inner_hi[axis]) {
        val below = end ? g_icmp(g, LLVMIntSLE, end, f->inner_hi[axis]) : g_icmp(g, LLVMIntSLT, i, f->inner_hi[axis]);
        ok = ok ? g_and(g, ok, below) : below;
    }
    if (end) {
        val whole = g_icmp(g, LLVMIntSLE, end, f->hi[axis]);
        ok = ok ? g_and(g, ok, whole) : whole;
    }
    if (ok)
        t->inside = t->inside ? g_and(g, t->inside, ok) : ok;
}

static void emit_axis(nest *t, int axis)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    if (axis == f->rank - 1) {
        emit_row(t);
        return;
    }
    int rows = axis == f->rank - 2 ? f->rows : 1;
    val inside = t->inside;
    block before = g->L->GetInsertBlock(g->b), loop = wf__gen_block(g, "loop"), after = wf__gen_block(g, "loop_end");
    counter c = begin_count(g, before, loop, f->lo[axis]);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    t->index[axis] = t->fast->index[axis] = t->safe->index[axis] = count(g, &c);
    test_inside(t, axis, c.index, rows);
    if (axis + 1 < f->rank - 1) { /* the row's own level is emitted by FAST and SAFE */
        f->level[axis + 1] = loop;
        wf__inst_level(t->fast, axis + 1);
        wf__inst_level(t->safe, axis + 1);
        wf__gen_at(g, f->level[axis + 1]);
    }
    emit_axis(t, axis + 1);
    t->inside = inside;
    end_count(g, &c, rows, f->hi[axis], after);
    wf__gen_at(g, after);
}

/* ---- the function ---- */
static void begin_function(wf__frame *f, val lo, val hi)
{
    wf__gen *g = f->g;
    for (int d = 0; d < f->rank; d++) {
        f->lo[d] = g_load(g, g->i64, g_gep(g, g->i64, lo, g_i64(g, d)));
        f->hi[d] = g_load(g, g->i64, g_gep(g, g->i64, hi, g_i64(g, d)));
    }
}

static val is_empty(wf__frame *f)
{
    wf__gen *g = f->g;
    val empty = NULL;
    for (int d = 0; d < f->rank; d++) {
        val none = g_icmp(g, LLVMIntSGE, f->lo[d], f->hi[d]);
        empty = empty ? g_or(g, empty, none) : none;
    }
    return empty;
}

static bool emit_function(nest *t)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    LLVMTypeRef params[4] = { g->ptr, g->ptr, g->ptr, g->ptr };
    g->function = wf__gen_function(g, "wf_kernel", g->nothing, params, 4, false);
    f->call = g->L->GetParam(g->function, 0);
    f->acc = g->L->GetParam(g->function, 3);
    f->entry = wf__gen_block(g, "entry");
    f->top = f->level[0] = wf__gen_block(g, "top");
    block done = wf__gen_block(g, "done");
    wf__gen_at(g, f->entry);
    begin_function(f, g->L->GetParam(g->function, 1), g->L->GetParam(g->function, 2));
    if (!wf__red_begin(f))
        return false;
    g->L->BuildCondBr(g->b, is_empty(f), done, f->top);
    wf__gen_at(g, f->top);
    if (!find_box(f))
        return false;
    split_row(t);
    if (f->rank > 1) {
        wf__inst_level(t->fast, 0);
        wf__inst_level(t->safe, 0);
        f->top = f->level[0];
        wf__gen_at(g, f->top);
    }
    emit_axis(t, 0);
    g->L->BuildBr(g->b, done);
    wf__gen_at(g, done);
    wf__red_end(f);
    if (g->options->nontemporal && g->isa != WF__ISA_NEON)
        wf__gen_call(g, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
    g->L->BuildRetVoid(g->b);
    return true;
}

static bool emit_bodies(wf__gen *g, wf__frame *f, const wf__ir *tile)
{
    wf__inst fast = { 0 }, safe = { 0 };
    bool ok = wf__inst_init(&fast, f, tile, false) && wf__inst_init(&safe, f, f->body, true);
    if (ok) {
        wf__order(&fast, g->isa == WF__ISA_AVX512 || g->isa == WF__ISA_NEON ? 32 : 16);
        f->narrow_limit = wf__narrow_limit(&fast);
        nest t = { .g = g, .f = f, .fast = &fast, .safe = &safe };
        ok = emit_function(&t);
    }
    if (!ok)
        wf__gen_fail(g, "code generator: out of memory");
    wf__inst_free(&fast);
    wf__inst_free(&safe);
    return ok && !g->failed;
}

bool wf__emit_kernel(wf__gen *g, const wf__ir *body, int rows, int columns)
{
    wf__frame f = { .g = g, .body = body, .rank = body->rank, .instances = WF__LANES / g->width };
    f.rows = rows;
    f.columns = columns;
    f.slot = wf__alloc0((body->slot_n + 1) * sizeof *f.slot);
    wf__ir tile;
    bool ok = wf__tile(body, f.rows, f.columns, g->width, true, &tile);
    if (!ok)
        wf__gen_fail(g, "code generator: %s", tile.error);
    else if (!f.slot)
        wf__gen_fail(g, "code generator: out of memory");
    else
        ok = emit_bodies(g, &f, &tile);
    wf__ir_free(&tile);
    wf__free(f.slot);
    wf__free(f.accumulator);
    return ok && !g->failed;
}
