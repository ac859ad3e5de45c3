/* loops.c - the function around the bodies:
 *
 *     for each outer index
 *         for y in steps of R rows                            (R = 1 without tiling)
 *             are all R rows inside the box where FAST is right? if not: one row
 *             SAFE on [lo, clo) of each row, FAST on [clo, chi), SAFE on [chi, hi) of each row
 *
 * Where rows are long and points may be computed twice, FAST alone does whole rows, its last step back from their end.
 *
 * SAFE's code is there once, in a loop over the two segments; a row outside that box is all left segment. Indices
 * ascend within a row, so that reductions meet their lanes in order.
 */
#include "codegen/body.h"

typedef struct nest {
    wf__gen *g;
    wf__frame *f;
    wf__inst *fast, *safe; /* either may be NULL */
    wf__inst *ahead;       /* with FAST; NULL: nothing */
    val index[WF_MAX_RANK];
    val inside;        /* outer indices in the box: i1, or NULL: always */
    val clo, chi, end; /* FAST goes in whole steps on [clo, chi), then, stepping back a little, up to `end` */
    val rows;          /* how many rows this turn of the row loop does: i64 */
    bool steps_back;   /* points may be computed twice */
} nest;

/* Can FAST begin where the row does? Reductions: rows begin at multiples of WF__LANES. */
static bool is_plain(const nest *t) { return !t->f->inner_lo[t->f->rank - 1] && !t->g->options->nontemporal; }

/* ---- columns of a row: FAST on [clo, chi) ---- */
static void split_row(nest *t)
{
    if (!t->fast)
        return;
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    int last = f->rank - 1;
    int64_t step = (int64_t)f->columns * g->width, align = f->body->red_n && !wf__keeps_lane(f) ? WF__LANES : g->width;
    val lo = f->lo[last], hi = f->hi[last];
    val a = f->inner_lo[last] ? g_larger(g, f->inner_lo[last], lo) : lo;
    val b = f->inner_hi[last] ? g_smaller(g, f->inner_hi[last], hi) : hi;
    val from = is_plain(t) ? lo : g_and(g, g_add(g, a, g_i64(g, align - 1)), g_i64(g, -align));
    val room = g_sub(g, b, from);
    val some = g_and(g, g_icmp(g, LLVMIntSLT, from, b), g_icmp(g, LLVMIntSGE, room, g_i64(g, step)));
    val part = (step & (step - 1)) == 0 ? g_and(g, room, g_i64(g, -step))
                                        : g_sub(g, room, g->L->BuildURem(g->b, room, g_i64(g, step), ""));
    t->clo = g_select(g, some, from, hi);
    t->chi = g_select(g, some, g_add(g, from, part), hi);
    t->end = t->steps_back ? g_select(g, some, b, hi) : t->chi;
}

/* The last points of a row, and the last rows, are fewer than a tile. If nothing that is read is written, the tile
 * may as well step back and do some points again: the same values go to the same places. */
static bool may_step_back(const wf__frame *f)
{
    for (uint32_t i = 0; i < f->body->slot_n; i++)
        if (f->body->slot[i].meets || (f->body->slot[i].read && f->body->slot[i].written))
            return false;
    return !f->body->red_n && !f->g->options->nontemporal;
}

/* ---- counting ----
 * Addresses are made here the way the processor wants them. LLVM's loop strength reduction would
 * take them apart again, and for a large body that costs more time than all the rest of compiling. It sees indices
 * in integers only, so on x86 they are kept in vectors of one lane, which become plain registers. */
typedef struct counter {
    val phi, index; /* index: as i64 */
    block loop;
} counter;

static bool hidden(const wf__gen *g) { return g->isa != WF__ISA_NEON; }

static val hide(wf__gen *g, val index) { return hidden(g) ? g_bits(g, index, g->L->VectorType(g->i64, 1)) : index; }

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

/* Goes on while below `limit`. Returns where it has come to. */
static val end_count(wf__gen *g, const counter *c, val step, val limit, block exit)
{
    block latch = g->L->GetInsertBlock(g->b);
    val next = g_add(g, c->phi, hide(g, step));
    g->L->AddIncoming(c->phi, &next, &latch, 1);
    val index = hidden(g) ? g->L->BuildExtractElement(g->b, next, g_i32(g, 0), "") : next;
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, index, limit), c->loop, exit);
    return index;
}

/* ---- one row, or R rows ---- */
/* Turns on the lanes from j on that are below `limit`. */
static void set_lanes(wf__inst *in, val j, val limit)
{
    wf__gen *g = in->g;
    val left = g_sub(g, limit, j), w = g_i64(g, g->width), one = g_i64(g, 1);
    in->lane_count = g_select(g, g_icmp(g, LLVMIntSLT, left, w), left, w);
    in->lane_bits = g_sub(g, g->L->BuildShl(g->b, one, in->lane_count, ""), one);
    in->lane_mask = wf__gen_mask(in->g, in->lane_bits);
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
    wf__red_row(in);
    counter c = begin_count(g, in->row, loop, lo);
    wf__gen_at(g, in->row);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    in->index[rank - 1] = count(g, &c);
    set_lanes(in, c.index, hi);
    wf__inst_level(in, rank);
    end_count(g, &c, g_i64(g, g->width), hi, after);
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
    block before = g->L->GetInsertBlock(g->b), each = wf__gen_block(g, "safe_row"),
          after = wf__gen_block(g, "safe_rows_end");
    val y = t->index[row], end = g_add(g, y, t->rows);
    counter c = begin_count(g, before, each, y);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, each);
    wf__gen_at(g, each);
    t->safe->index[row] = count(g, &c);
    emit_safe_row(t, lo, hi);
    end_count(g, &c, g_i64(g, 1), end, after);
    wf__gen_at(g, after);
}

/* What FAST's steps have in common in a row. */
static void begin_fast_row(nest *t)
{
    int level = t->f->rank - 1;
    t->fast->row = t->g->L->GetInsertBlock(t->g->b);
    wf__inst_level(t->fast, level);
    if (!t->ahead)
        return;
    t->ahead->row = t->fast->row;
    wf__inst_level(t->ahead, level);
}

/* One step from lane `lane` on. */
static void emit_fast_step(nest *t, val lane)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    if (t->ahead) {
        t->ahead->inner = t->fast->inner;
        wf__ahead_index(t->ahead, lane, g_sub(g, f->hi[f->rank - 1], g_i64(g, (int64_t)f->columns * g->width)));
        wf__inst_level(t->ahead, f->rank);
        t->fast->inner = t->ahead->inner;
    }
    t->fast->index[f->rank - 1] = lane;
    wf__inst_level(t->fast, f->rank);
}

/* FAST's loop from `start` while below `limit`; `before` has been left open. Ends at the start of a new block. */
static void emit_fast_loop(nest *t, block before, val start, val limit)
{
    wf__gen *g = t->g;
    wf__inst *in = t->fast;
    block loop = wf__gen_block(g, "fast"), after = wf__gen_block(g, "fast_end");
    counter c = begin_count(g, before, loop, start);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, loop);
    wf__red_enter(in, before, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    emit_fast_step(t, count(g, &c));
    wf__red_turn(in, g->L->GetInsertBlock(g->b));
    end_count(g, &c, g_i64(g, (int64_t)t->f->columns * g->width), limit, after);
    wf__gen_at(g, after);
}

/* FAST on [clo, chi), then up to `end`. */
static void emit_fast(nest *t, val clo, val chi, val end)
{
    wf__gen *g = t->g;
    wf__inst *in = t->fast;
    begin_fast_row(t);
    if (!t->steps_back) {
        wf__red_row(in);
        emit_fast_loop(t, in->row, clo, chi);
        wf__red_leave(in);
        return;
    }
    block before = in->row, turn = wf__gen_block(g, "fast_turn"), done = wf__gen_block(g, "fast_done");
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, turn);
    wf__gen_at(g, turn);
    val start = g->L->BuildPhi(g->b, g->i64, "start"), limit = g->L->BuildPhi(g->b, g->i64, "limit");
    emit_fast_loop(t, turn, start, limit);
    val again = g_sub(g, end, g_i64(g, (int64_t)t->f->columns * g->width));
    block from = g->L->GetInsertBlock(g->b);
    g->L->AddIncoming(start, (val[]){ clo, again }, (block[]){ before, from }, 2);
    g->L->AddIncoming(limit, (val[]){ chi, end }, (block[]){ before, from }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, limit, end), turn, done);
    wf__gen_at(g, done);
}

/* FAST on the whole row, which is no shorter than its step; if something is left, once more from a step before the end. */
static void emit_fast_row(nest *t)
{
    wf__gen *g = t->g;
    wf__inst *in = t->fast;
    int last = t->f->rank - 1;
    val lo = t->f->lo[last], hi = t->f->hi[last], step = g_i64(g, (int64_t)t->f->columns * g->width);
    begin_fast_row(t);
    block before = in->row, turn = wf__gen_block(g, "turn"), loop = wf__gen_block(g, "fast");
    block rest = wf__gen_block(g, "rest"), after = wf__gen_block(g, "fast_end");
    wf__gen_at(g, before);
    val final = g_sub(g, hi, step), limit = g_add(g, final, g_i64(g, 1));
    g->L->BuildBr(g->b, turn);
    wf__gen_at(g, turn);
    val start = g->L->BuildPhi(g->b, g->i64, "start");
    counter c = begin_count(g, turn, loop, start);
    wf__gen_at(g, turn);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    emit_fast_step(t, count(g, &c));
    val done = end_count(g, &c, step, limit, rest);
    wf__gen_at(g, rest);
    g->L->AddIncoming(start, (val[]){ lo, final }, (block[]){ before, rest }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, done, hi), turn, after);
    wf__gen_at(g, after);
}

/* FAST from the start, SAFE on what is left. */
static void emit_plain_row(nest *t)
{
    wf__gen *g = t->g;
    int last = t->f->rank - 1;
    val lo = t->f->lo[last], hi = t->f->hi[last], some = g_icmp(g, LLVMIntSLT, t->clo, t->chi);
    if (t->inside)
        some = g_and(g, some, t->inside);
    block before = g->L->GetInsertBlock(g->b), fast = wf__gen_block(g, "fast_begin"), rest = wf__gen_block(g, "rest");
    block work = wf__gen_block(g, "safe_begin"), end = wf__gen_block(g, "row_end");
    g->L->BuildCondBr(g->b, some, fast, rest);
    wf__gen_at(g, fast);
    emit_fast(t, t->clo, t->chi, t->end);
    block done = g->L->GetInsertBlock(g->b);
    g->L->BuildBr(g->b, rest);
    wf__gen_at(g, rest);
    val from = g->L->BuildPhi(g->b, g->i64, "from");
    g->L->AddIncoming(from, (val[]){ lo, t->end }, (block[]){ before, done }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, from, hi), work, end);
    wf__gen_at(g, work);
    emit_safe(t, from, hi);
    g->L->BuildBr(g->b, end);
    wf__gen_at(g, end);
}

/* Without FAST there is but one segment. */
static void emit_whole_row(nest *t)
{
    int last = t->f->rank - 1;
    emit_safe_row(t, t->f->lo[last], t->f->hi[last]);
}

static void emit_row(nest *t)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    int last = f->rank - 1;
    val lo = f->lo[last], hi = f->hi[last];
    val clo = t->inside ? g_select(g, t->inside, t->clo, hi) : t->clo;
    val chi = t->inside ? g_select(g, t->inside, t->chi, hi) : t->chi;
    val right_lo = !t->steps_back ? chi : t->inside ? g_select(g, t->inside, t->end, hi) : t->end;
    block before = g->L->GetInsertBlock(g->b), segment = wf__gen_block(g, "segment"),
          work = wf__gen_block(g, "safe_begin");
    block done = wf__gen_block(g, "segment_end"), middle = wf__gen_block(g, "middle"),
          fast = wf__gen_block(g, "fast_begin");
    block right = wf__gen_block(g, "right"), end = wf__gen_block(g, "row_end");
    g->L->BuildBr(g->b, segment);
    wf__gen_at(g, segment);
    val from = g->L->BuildPhi(g->b, g->i64, "from"), to = g->L->BuildPhi(g->b, g->i64, "to");
    val second = g->L->BuildPhi(g->b, g->i1, "second");
    g->L->AddIncoming(from, (val[]){ lo, right_lo }, (block[]){ before, right }, 2);
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
    emit_fast(t, clo, chi, right_lo);
    g->L->BuildBr(g->b, right);
    wf__gen_at(g, right);
    g->L->BuildBr(g->b, segment);
    wf__gen_at(g, end);
}

/* ---- outer loops ---- */
static void also_inside(nest *t, val ok) { t->inside = t->inside ? g_and(t->g, t->inside, ok) : ok; }

/* Is index i of this axis inside the box? */
static void test_inside(nest *t, int axis, val i)
{
    wf__frame *f = t->f;
    if (f->inner_lo[axis])
        also_inside(t, g_icmp(t->g, LLVMIntSGE, i, f->inner_lo[axis]));
    if (f->inner_hi[axis])
        also_inside(t, g_icmp(t->g, LLVMIntSLT, i, f->inner_hi[axis]));
}

/* A turn of the row loop: R rows where they are all inside the box, else one. If fewer than R are left of the box, the
 * tile steps back. Returns the first row. */
static val choose_rows(nest *t, int axis, val i)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    val count = g_i64(g, f->rows), lo = f->lo[axis], hi = f->hi[axis];
    lo = f->inner_lo[axis] ? g_larger(g, f->inner_lo[axis], lo) : lo;
    hi = f->inner_hi[axis] ? g_smaller(g, f->inner_hi[axis], hi) : hi;
    val top = g_sub(g, hi, count);
    if (t->steps_back) {
        val late = g_and(g, g_icmp(g, LLVMIntSGT, i, top), g_icmp(g, LLVMIntSLT, i, hi));
        late = g_and(g, late, g_icmp(g, LLVMIntSGE, top, lo));
        if (t->inside)
            late = g_and(g, late, t->inside);
        i = g_select(g, late, top, i);
    }
    also_inside(t, g_and(g, g_icmp(g, LLVMIntSGE, i, lo), g_icmp(g, LLVMIntSLE, i, top)));
    t->rows = g_select(g, t->inside, count, g_i64(g, 1));
    return i;
}

static void emit_level(nest *t, int level)
{
    if (t->fast)
        wf__inst_level(t->fast, level);
    if (t->ahead)
        wf__inst_level(t->ahead, level);
    if (t->safe)
        wf__inst_level(t->safe, level);
}

static void emit_axis(nest *t, int axis);

/* The loops inside of `axis`. With the first axis that is not kept, a reduction begins and ends. */
static void emit_inner(nest *t, int axis)
{
    wf__frame *f = t->f;
    bool each = f->body->red_n && axis && axis == f->body->kept && !f->body->kept_lane;
    if (each)
        wf__red_clear(f);
    if (axis == f->rank - 1)
        (!t->safe ? emit_fast_row : !t->fast ? emit_whole_row : is_plain(t) ? emit_plain_row : emit_row)(t);
    else
        emit_axis(t, axis);
    if (each)
        wf__red_end(f, t->index);
}

static void emit_axis(nest *t, int axis)
{
    wf__gen *g = t->g;
    wf__frame *f = t->f;
    val inside = t->inside, step = g_i64(g, 1);
    block before = g->L->GetInsertBlock(g->b), loop = wf__gen_block(g, "loop"), after = wf__gen_block(g, "loop_end");
    counter c = begin_count(g, before, loop, f->lo[axis]);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    val i = count(g, &c);
    if (axis == f->rank - 2 && f->rows > 1) {
        i = choose_rows(t, axis, i);
        step = g_add(g, g_sub(g, i, c.index), t->rows);
    } else {
        test_inside(t, axis, i);
    }
    t->index[axis] = i;
    if (t->safe)
        t->safe->index[axis] = i;
    if (t->fast)
        t->fast->index[axis] = i;
    if (t->ahead)
        t->ahead->index[axis] = i;
    if (axis + 1 < f->rank - 1) { /* the row's own level is emitted by FAST and SAFE */
        f->level[axis + 1] = loop;
        emit_level(t, axis + 1);
        wf__gen_at(g, f->level[axis + 1]);
    }
    emit_inner(t, axis + 1);
    t->inside = inside;
    end_count(g, &c, step, f->hi[axis], after);
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

/* Is FAST right everywhere, in rows as long as the caller promises? */
static bool is_enough(const nest *t)
{
    const wf__frame *f = t->f;
    if (!t->fast || !t->g->options->long_rows || !t->steps_back || f->rows > 1 ||
        f->columns * t->g->width > WF__LONG_ROW)
        return false;
    for (int d = 0; d < f->rank; d++)
        if (f->inner_lo[d] || f->inner_hi[d])
            return false;
    return true;
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
    if (f->body->red_n && !f->body->kept && !f->body->kept_lane)
        wf__red_clear(f);
    if (g->options->long_rows)
        g->L->BuildBr(g->b, f->top);
    else
        g->L->BuildCondBr(g->b, is_empty(f), done, f->top);
    wf__gen_at(g, f->top);
    if (t->fast && !wf__find_box(f))
        return false;
    if (is_enough(t))
        t->safe = NULL;
    else
        split_row(t);
    if (f->rank > 1) {
        emit_level(t, 0);
        f->top = f->level[0];
        wf__gen_at(g, f->top);
    }
    emit_inner(t, 0);
    g->L->BuildBr(g->b, done);
    wf__gen_at(g, done);
    if (!f->body->kept && !f->body->kept_lane)
        wf__red_end(f, NULL);
    if (g->options->nontemporal && g->isa != WF__ISA_NEON)
        wf__gen_call(g, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
    g->L->BuildRetVoid(g->b);
    return wf__frame_finish(f);
}

/* `tile`: FAST's body, or NULL. `places`: AHEAD's, which may be empty. */
static bool emit_bodies(wf__gen *g, wf__frame *f, const wf__ir *tile, const wf__ir *places)
{
    wf__inst fast = { 0 }, safe = { 0 }, ahead = { 0 };
    bool asks = tile && places->n > 1;
    bool ok = (!tile || wf__inst_init(&fast, f, tile, WF__FAST)) && wf__inst_init(&safe, f, f->body, WF__SAFE) &&
              (!asks || wf__inst_init(&ahead, f, places, WF__AHEAD));
    if (ok) {
        nest t = { .g = g, .f = f, .fast = tile ? &fast : NULL, .safe = &safe, .steps_back = may_step_back(f) };
        t.ahead = asks ? &ahead : NULL;
        if (tile) {
            wf__order(&fast, g->isa == WF__ISA_AVX512 || g->isa == WF__ISA_NEON ? 32 : 16);
            f->narrow_limit = wf__narrow_limit(&fast);
        }
        ok = (!tile || wf__find_packets(&fast)) && wf__find_packets(&safe) && emit_function(&t);
    }
    if (!ok)
        wf__gen_fail(g, "code generator: out of memory");
    wf__inst_free(&fast);
    wf__inst_free(&safe);
    wf__inst_free(&ahead);
    return ok && !g->failed;
}

/* Of all points of a tile. */
static bool find_places(const wf__ir *body, const wf__frame *f, wf__ir *one, wf__ir *out)
{
    return wf__find_ahead(body, one) &&
           (one->n <= 1 || wf__tile(one, f->rows, f->columns, f->g->width, true, false, out));
}

bool wf__emit_kernel(wf__gen *g, const wf__ir *body, int rows, int columns)
{
    wf__frame f = { .g = g, .body = body, .rank = body->rank, .instances = WF__LANES / g->width };
    f.rows = rows ? rows : 1;
    f.columns = columns;
    if (wf__keeps_lane(&f))
        f.instances = columns > 1 ? columns : 1;
    for (wf__ref r = 1; r < body->n; r++)
        f.stores += body->node[r].op == WF__STORE;
    f.slot = wf__alloc0((body->slot_n + 1) * sizeof *f.slot);
    wf__ir tile = { 0 }, one = { 0 }, places = { 0 };
    bool ok = !columns || wf__tile(body, f.rows, columns, g->width, true, wf__in_turn(g, body), &tile);
    if (!ok)
        wf__gen_fail(g, "code generator: %s", tile.error);
    else if (!f.slot || (columns && !find_places(body, &f, &one, &places)))
        wf__gen_fail(g, "code generator: out of memory");
    else
        ok = emit_bodies(g, &f, columns ? &tile : NULL, &places);
    wf__ir_free(&tile);
    wf__ir_free(&one);
    wf__ir_free(&places);
    wf__free(f.slot);
    wf__free(f.accumulator);
    wf__free(f.result);
    wf__free(f.constant);
    return ok && !g->failed;
}
