/* loops.c - the function of a kernel and the loops around the instances of its body:
 *
 *     for each outer index
 *         for y in steps of R rows                            (R = 1 without a tile)
 *             if the R rows are not all in the interior box: one row
 *             BORDER on [lo, whole_lo), INTERIOR on [whole_lo, whole_hi), BORDER on [whole_hi, hi)
 *
 * BORDER's code exists once, in a loop over its two segments. A row outside the interior box is one left segment. If
 * INTERIOR is right from the start of a row, there is no left segment. If the caller promises long rows and points may
 * be computed twice, INTERIOR alone does whole rows: its last step begins one step before the end.
 *
 * Requirement: lane indices ascend within a row, and rows within a box, since reductions join in this order.
 */
#include "codegen/emit.h"
#include "codegen/phases.h"

typedef struct nest {
    wf__gen *g;
    wf__kernel_emitter *kernel;
    wf__instance *interior, *border; /* either may be NULL */
    wf__instance *prefetch;          /* beside INTERIOR; NULL = nothing to prefetch */
    val index[WF_MAX_RANK];
    val inside;                  /* true if the outer indices are in the interior box; NULL = always */
    val whole_lo, whole_hi, end; /* INTERIOR does whole steps on [whole_lo, whole_hi), then one that ends at `end` */
    val rows;                    /* rows of this iteration of the row loop: i64 */
    bool steps_back;             /* points may be computed twice */
} nest;

/* True if INTERIOR may begin where the row does. (Rows of reductions begin at multiples of WF__LANES.) */
static bool is_left_aligned(const nest *t)
{
    return !t->kernel->interior_lo[t->kernel->rank - 1] && !t->g->options->nontemporal;
}

/* ---- columns of a row: INTERIOR on [whole_lo, whole_hi) ---- */
/* Elements of a cache line that stores past the cache fill. BORDER's stores stay in the cache, and a line that both fill
 * would be written to memory several times. */
static int64_t line_of_stores(const nest *t)
{
    enum { LINE = 64 };
    const wf__ir *body = t->kernel->body;
    int64_t n = 1;
    for (uint32_t i = 0; i < body->slot_n && t->g->options->nontemporal; i++)
        if (body->slot[i].written && LINE / (int64_t)wf__size(body->slot[i].dtype) > n)
            n = LINE / (int64_t)wf__size(body->slot[i].dtype);
    return n;
}

static void split_row(nest *t)
{
    if (!t->interior)
        return;
    wf__gen *g = t->g;
    wf__kernel_emitter *kernel = t->kernel;
    int last = kernel->rank - 1;
    int64_t step = (int64_t)kernel->columns * g->width, line = line_of_stores(t),
            align = kernel->body->red_n && !wf__keeps_lane(kernel) ? WF__LANES : g->width;
    align = line > align ? line : align;
    step = (step & (step - 1)) == 0 && line > step ? line : step; /* steps of INTERIOR fill whole lines */
    val lo = kernel->lo[last], hi = kernel->hi[last];
    val a = kernel->interior_lo[last] ? g_larger(g, kernel->interior_lo[last], lo) : lo;
    val b = kernel->interior_hi[last] ? g_smaller(g, kernel->interior_hi[last], hi) : hi;
    val from = is_left_aligned(t) ? lo : g_and(g, g_add(g, a, g_i64(g, align - 1)), g_i64(g, -align));
    val room = g_sub(g, b, from);
    val some = g_and(g, g_icmp(g, LLVMIntSLT, from, b), g_icmp(g, LLVMIntSGE, room, g_i64(g, step)));
    val part = (step & (step - 1)) == 0 ? g_and(g, room, g_i64(g, -step))
                                        : g_sub(g, room, g->L->BuildURem(g->b, room, g_i64(g, step), ""));
    t->whole_lo = g_select(g, some, from, hi);
    t->whole_hi = g_select(g, some, g_add(g, from, part), hi);
    t->end = t->steps_back ? g_select(g, some, b, hi) : t->whole_hi;
}

/* True if points may be computed twice, because no memory is both read and written. Then the tile at the end of a row,
 * or at the last rows, steps back and computes some points again, instead of leaving the rest to BORDER. */
static bool may_step_back(const wf__kernel_emitter *kernel)
{
    for (uint32_t i = 0; i < kernel->body->slot_n; i++)
        if (kernel->body->slot[i].may_alias || (kernel->body->slot[i].read && kernel->body->slot[i].written))
            return false;
    return !kernel->body->red_n && !kernel->g->options->nontemporal;
}

/* ---- counting ----
 * The addresses already suit the processor. LLVM's loop strength reduction would take them apart again, and for a large
 * body costs more time than the rest of compilation. The pass looks at integers only. So on x86 the loop index is kept
 * in a vector of one lane, which becomes a plain register. */
typedef struct counter {
    val phi, index; /* index: as i64 */
    bb loop;
} counter;

static bool is_hidden(const wf__gen *g) { return g->isa != WF__ISA_NEON; }

static val hide_index(wf__gen *g, val index)
{
    return is_hidden(g) ? g_bits(g, index, g->L->VectorType(g->i64, 1)) : index;
}

/* Makes the index at the start of `loop`, whose predecessor is `before`. */
static counter open_count(wf__gen *g, bb before, bb loop, val first)
{
    wf__gen_at(g, before);
    first = hide_index(g, first);
    wf__gen_at(g, loop);
    counter c = { .loop = loop, .phi = g->L->BuildPhi(g->b, g->L->TypeOf(first), "") };
    g->L->AddIncoming(c.phi, &first, &before, 1);
    return c;
}

/* The index as an integer. Called after all phis are made. */
static val emit_count(wf__gen *g, counter *c)
{
    c->index = is_hidden(g) ? g->L->BuildExtractElement(g->b, c->phi, g_i32(g, 0), "") : c->phi;
    return c->index;
}

/* Adds `step` to the index and repeats the loop while it is below `limit`. Returns the new index. */
static val close_count(wf__gen *g, const counter *c, val step, val limit, bb exit)
{
    bb latch = g->L->GetInsertBlock(g->b);
    val next = g_add(g, c->phi, hide_index(g, step));
    g->L->AddIncoming(c->phi, &next, &latch, 1);
    val index = is_hidden(g) ? g->L->BuildExtractElement(g->b, next, g_i32(g, 0), "") : next;
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, index, limit), c->loop, exit);
    return index;
}

/* ---- one row, or R rows ---- */
/* Activates the lanes of the vector at j that are below `limit`, at most `w`. */
static void set_lanes(wf__instance *in, val j, val limit, val w)
{
    wf__gen *g = in->g;
    val left = g_sub(g, limit, j), one = g_i64(g, 1);
    in->lanes.count = g_select(g, g_icmp(g, LLVMIntSLT, left, w), left, w);
    in->lanes.bits = g_sub(g, g->L->BuildShl(g->b, one, in->lanes.count, ""), one);
    /* AVX-512 has masks of bits. Elsewhere a mask is a vector, which a comparison makes sooner than bits. */
    in->lanes.mask = g->isa == WF__ISA_AVX512 ? wf__gen_mask(g, in->lanes.bits) : wf__lanes_below(g, in->lanes.count);
}

/* BORDER on [lo, hi) of one row. Ends in a new basic block, as the other emit functions here. */
static void emit_border_row(nest *t, val lo, val hi)
{
    wf__gen *g = t->g;
    wf__instance *in = t->border;
    int rank = t->kernel->rank;
    bb loop = wf__gen_bb(g, "border"), after = wf__gen_bb(g, "border_end");
    in->row = g->L->GetInsertBlock(g->b);
    wf__emit_level(in, rank - 1);
    wf__locate_results(in);
    val step, near = wf__find_edge_runs(in, lo, hi, &step);
    counter c = open_count(g, in->row, loop, lo);
    wf__gen_at(g, in->row);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    in->index[rank - 1] = emit_count(g, &c);
    wf__place_edge_runs(in, near);
    set_lanes(in, c.index, hi, step);
    wf__mask_edge_runs(in);
    wf__emit_level(in, rank);
    close_count(g, &c, step, hi, after);
    wf__gen_at(g, after);
}

static void emit_border(nest *t, val lo, val hi)
{
    wf__gen *g = t->g;
    wf__kernel_emitter *kernel = t->kernel;
    int row = kernel->rank - 2;
    if (kernel->rows == 1) {
        emit_border_row(t, lo, hi);
        return;
    }
    bb before = g->L->GetInsertBlock(g->b), each = wf__gen_bb(g, "border_row"),
       after = wf__gen_bb(g, "border_rows_end");
    val y = t->index[row], end = g_add(g, y, t->rows);
    counter c = open_count(g, before, each, y);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, each);
    wf__gen_at(g, each);
    t->border->index[row] = emit_count(g, &c);
    emit_border_row(t, lo, hi);
    close_count(g, &c, g_i64(g, 1), end, after);
    wf__gen_at(g, after);
}

/* Emits what is computed once per row. */
static void begin_interior_row(nest *t)
{
    int level = t->kernel->rank - 1;
    t->interior->row = t->g->L->GetInsertBlock(t->g->b);
    wf__emit_level(t->interior, level);
    if (!t->prefetch)
        return;
    t->prefetch->row = t->interior->row;
    wf__emit_level(t->prefetch, level);
}

/* One step of INTERIOR, from lane index `lane` on. */
static void emit_interior_step(nest *t, val lane)
{
    wf__gen *g = t->g;
    wf__kernel_emitter *kernel = t->kernel;
    if (t->prefetch) {
        t->prefetch->inner = t->interior->inner;
        wf__set_prefetch_index(t->prefetch, lane,
                               g_sub(g, kernel->hi[kernel->rank - 1], g_i64(g, (int64_t)kernel->columns * g->width)));
        wf__emit_level(t->prefetch, kernel->rank);
        t->interior->inner = t->prefetch->inner;
    }
    t->interior->index[kernel->rank - 1] = lane;
    wf__emit_level(t->interior, kernel->rank);
}

/* INTERIOR's loop from `start` while below `limit`. `before` has no terminator yet. */
static void emit_interior_loop(nest *t, bb before, val start, val limit)
{
    wf__gen *g = t->g;
    wf__instance *in = t->interior;
    bb loop = wf__gen_bb(g, "interior"), after = wf__gen_bb(g, "interior_end");
    counter c = open_count(g, before, loop, start);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, loop);
    wf__enter_loop_accumulators(in, before, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    emit_interior_step(t, emit_count(g, &c));
    wf__close_loop_accumulators(in, g->L->GetInsertBlock(g->b));
    close_count(g, &c, g_i64(g, (int64_t)t->kernel->columns * g->width), limit, after);
    wf__gen_at(g, after);
}

/* INTERIOR on [whole_lo, whole_hi), and once more on the step that ends at `end` if anything is left. */
static void emit_interior(nest *t, val whole_lo, val whole_hi, val end)
{
    wf__gen *g = t->g;
    wf__instance *in = t->interior;
    begin_interior_row(t);
    if (!t->steps_back) {
        wf__locate_results(in);
        emit_interior_loop(t, in->row, whole_lo, whole_hi);
        wf__leave_loop_accumulators(in);
        return;
    }
    bb before = in->row, turn = wf__gen_bb(g, "interior_repeat"), done = wf__gen_bb(g, "interior_done");
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, turn);
    wf__gen_at(g, turn);
    val start = g->L->BuildPhi(g->b, g->i64, "start"), limit = g->L->BuildPhi(g->b, g->i64, "limit");
    emit_interior_loop(t, turn, start, limit);
    val again = g_sub(g, end, g_i64(g, (int64_t)t->kernel->columns * g->width));
    bb from = g->L->GetInsertBlock(g->b);
    g->L->AddIncoming(start, (val[]){ whole_lo, again }, (bb[]){ before, from }, 2);
    g->L->AddIncoming(limit, (val[]){ whole_hi, end }, (bb[]){ before, from }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, limit, end), turn, done);
    wf__gen_at(g, done);
}

/* INTERIOR on the whole row, which is at least one step long, and once more on the last step if anything is left. */
static void emit_only_interior_row(nest *t)
{
    wf__gen *g = t->g;
    wf__instance *in = t->interior;
    int last = t->kernel->rank - 1;
    val lo = t->kernel->lo[last], hi = t->kernel->hi[last], step = g_i64(g, (int64_t)t->kernel->columns * g->width);
    begin_interior_row(t);
    bb before = in->row, turn = wf__gen_bb(g, "repeat"), loop = wf__gen_bb(g, "interior");
    bb rest = wf__gen_bb(g, "rest"), after = wf__gen_bb(g, "interior_end");
    wf__gen_at(g, before);
    val final = g_sub(g, hi, step), limit = g_add(g, final, g_i64(g, 1));
    g->L->BuildBr(g->b, turn);
    wf__gen_at(g, turn);
    val start = g->L->BuildPhi(g->b, g->i64, "start");
    counter c = open_count(g, turn, loop, start);
    wf__gen_at(g, turn);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    in->inner = loop;
    emit_interior_step(t, emit_count(g, &c));
    val done = close_count(g, &c, step, limit, rest);
    wf__gen_at(g, rest);
    g->L->AddIncoming(start, (val[]){ lo, final }, (bb[]){ before, rest }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, done, hi), turn, after);
    wf__gen_at(g, after);
}

/* INTERIOR from the start of the row, BORDER on the rest. */
static void emit_left_aligned_row(nest *t)
{
    wf__gen *g = t->g;
    int last = t->kernel->rank - 1;
    val lo = t->kernel->lo[last], hi = t->kernel->hi[last], some = g_icmp(g, LLVMIntSLT, t->whole_lo, t->whole_hi);
    if (t->inside)
        some = g_and(g, some, t->inside);
    bb before = g->L->GetInsertBlock(g->b), interior = wf__gen_bb(g, "interior_begin"), rest = wf__gen_bb(g, "rest");
    bb work = wf__gen_bb(g, "border_begin"), end = wf__gen_bb(g, "row_end");
    g->L->BuildCondBr(g->b, some, interior, rest);
    wf__gen_at(g, interior);
    emit_interior(t, t->whole_lo, t->whole_hi, t->end);
    bb done = g->L->GetInsertBlock(g->b);
    g->L->BuildBr(g->b, rest);
    wf__gen_at(g, rest);
    val from = g->L->BuildPhi(g->b, g->i64, "from");
    g->L->AddIncoming(from, (val[]){ lo, t->end }, (bb[]){ before, done }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, from, hi), work, end);
    wf__gen_at(g, work);
    emit_border(t, from, hi);
    g->L->BuildBr(g->b, end);
    wf__gen_at(g, end);
}

static void emit_only_border_row(nest *t)
{
    int last = t->kernel->rank - 1;
    emit_border_row(t, t->kernel->lo[last], t->kernel->hi[last]);
}

/* BORDER, INTERIOR, BORDER. */
static void emit_segmented_row(nest *t)
{
    wf__gen *g = t->g;
    wf__kernel_emitter *kernel = t->kernel;
    int last = kernel->rank - 1;
    val lo = kernel->lo[last], hi = kernel->hi[last];
    val whole_lo = t->inside ? g_select(g, t->inside, t->whole_lo, hi) : t->whole_lo;
    val whole_hi = t->inside ? g_select(g, t->inside, t->whole_hi, hi) : t->whole_hi;
    val right_lo = !t->steps_back ? whole_hi : t->inside ? g_select(g, t->inside, t->end, hi) : t->end;
    bb before = g->L->GetInsertBlock(g->b), segment = wf__gen_bb(g, "segment"), work = wf__gen_bb(g, "border_begin");
    bb done = wf__gen_bb(g, "segment_end"), middle = wf__gen_bb(g, "middle"),
       interior = wf__gen_bb(g, "interior_begin");
    bb right = wf__gen_bb(g, "right"), end = wf__gen_bb(g, "row_end");
    g->L->BuildBr(g->b, segment);
    wf__gen_at(g, segment);
    val from = g->L->BuildPhi(g->b, g->i64, "from"), to = g->L->BuildPhi(g->b, g->i64, "to");
    val second = g->L->BuildPhi(g->b, g->i1, "second");
    g->L->AddIncoming(from, (val[]){ lo, right_lo }, (bb[]){ before, right }, 2);
    g->L->AddIncoming(to, (val[]){ whole_lo, hi }, (bb[]){ before, right }, 2);
    g->L->AddIncoming(second, (val[]){ wf__gen_int(g, g->i1, 1, 0), wf__gen_int(g, g->i1, 1, 1) },
                      (bb[]){ before, right }, 2);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, from, to), work, done);
    wf__gen_at(g, work);
    emit_border(t, from, to);
    g->L->BuildBr(g->b, done);
    wf__gen_at(g, done);
    g->L->BuildCondBr(g->b, second, end, middle);
    wf__gen_at(g, middle);
    g->L->BuildCondBr(g->b, g_icmp(g, LLVMIntSLT, whole_lo, whole_hi), interior, right);
    wf__gen_at(g, interior);
    emit_interior(t, whole_lo, whole_hi, right_lo);
    g->L->BuildBr(g->b, right);
    wf__gen_at(g, right);
    g->L->BuildBr(g->b, segment);
    wf__gen_at(g, end);
}

/* ---- outer loops ---- */
static void require_inside(nest *t, val ok) { t->inside = t->inside ? g_and(t->g, t->inside, ok) : ok; }

/* Adds the test whether index i of this axis is in the interior box. */
static void test_inside(nest *t, int axis, val i)
{
    wf__kernel_emitter *kernel = t->kernel;
    if (kernel->interior_lo[axis])
        require_inside(t, g_icmp(t->g, LLVMIntSGE, i, kernel->interior_lo[axis]));
    if (kernel->interior_hi[axis])
        require_inside(t, g_icmp(t->g, LLVMIntSLT, i, kernel->interior_hi[axis]));
}

/* Chooses the rows of this iteration: R if all are in the interior box, else one. If fewer than R are left in the box,
 * the tile steps back. Returns the first row. */
static val choose_rows(nest *t, int axis, val i)
{
    wf__gen *g = t->g;
    wf__kernel_emitter *kernel = t->kernel;
    val count = g_i64(g, kernel->rows), lo = kernel->lo[axis], hi = kernel->hi[axis];
    lo = kernel->interior_lo[axis] ? g_larger(g, kernel->interior_lo[axis], lo) : lo;
    hi = kernel->interior_hi[axis] ? g_smaller(g, kernel->interior_hi[axis], hi) : hi;
    val top = g_sub(g, hi, count);
    if (t->steps_back) {
        val late = g_and(g, g_icmp(g, LLVMIntSGT, i, top), g_icmp(g, LLVMIntSLT, i, hi));
        late = g_and(g, late, g_icmp(g, LLVMIntSGE, top, lo));
        if (t->inside)
            late = g_and(g, late, t->inside);
        i = g_select(g, late, top, i);
    }
    require_inside(t, g_and(g, g_icmp(g, LLVMIntSGE, i, lo), g_icmp(g, LLVMIntSLE, i, top)));
    t->rows = g_select(g, t->inside, count, g_i64(g, 1));
    return i;
}

static void emit_level(nest *t, int level)
{
    if (t->interior)
        wf__emit_level(t->interior, level);
    if (t->prefetch)
        wf__emit_level(t->prefetch, level);
    if (t->border)
        wf__emit_level(t->border, level);
}

static void emit_axis(nest *t, int axis);

/* The loops inside `axis`. The first axis that is not kept begins and ends a reduction. */
static void emit_inner(nest *t, int axis)
{
    wf__kernel_emitter *kernel = t->kernel;
    bool each = kernel->body->red_n && axis && axis == kernel->body->kept && !kernel->body->kept_lane;
    if (each)
        wf__clear_accumulators(kernel);
    if (axis == kernel->rank - 1)
        (!t->border           ? emit_only_interior_row
         : !t->interior       ? emit_only_border_row
         : is_left_aligned(t) ? emit_left_aligned_row
                              : emit_segmented_row)(t);
    else
        emit_axis(t, axis);
    if (each)
        wf__store_results(kernel, t->index);
}

static void emit_axis(nest *t, int axis)
{
    wf__gen *g = t->g;
    wf__kernel_emitter *kernel = t->kernel;
    val inside = t->inside, step = g_i64(g, 1);
    bb before = g->L->GetInsertBlock(g->b), loop = wf__gen_bb(g, "loop"), after = wf__gen_bb(g, "loop_end");
    counter c = open_count(g, before, loop, kernel->lo[axis]);
    wf__gen_at(g, before);
    g->L->BuildBr(g->b, loop);
    wf__gen_at(g, loop);
    val i = emit_count(g, &c);
    if (axis == kernel->rank - 2 && kernel->rows > 1) {
        i = choose_rows(t, axis, i);
        step = g_add(g, g_sub(g, i, c.index), t->rows);
    } else {
        test_inside(t, axis, i);
    }
    t->index[axis] = i;
    if (t->border)
        t->border->index[axis] = i;
    if (t->interior)
        t->interior->index[axis] = i;
    if (t->prefetch)
        t->prefetch->index[axis] = i;
    if (axis + 1 < kernel->rank - 1) { /* level rank-1 belongs to the rows of each instance */
        kernel->level[axis + 1] = loop;
        emit_level(t, axis + 1);
        wf__gen_at(g, kernel->level[axis + 1]);
    }
    emit_inner(t, axis + 1);
    t->inside = inside;
    close_count(g, &c, step, kernel->hi[axis], after);
    wf__gen_at(g, after);
}

/* ---- the function ---- */
static void load_bounds(wf__kernel_emitter *kernel, val lo, val hi)
{
    wf__gen *g = kernel->g;
    for (int d = 0; d < kernel->rank; d++) {
        kernel->lo[d] = g_load(g, g->i64, g_gep(g, g->i64, lo, g_i64(g, d)));
        kernel->hi[d] = g_load(g, g->i64, g_gep(g, g->i64, hi, g_i64(g, d)));
    }
}

static val is_empty(wf__kernel_emitter *kernel)
{
    wf__gen *g = kernel->g;
    val empty = NULL;
    for (int d = 0; d < kernel->rank; d++) {
        val none = g_icmp(g, LLVMIntSGE, kernel->lo[d], kernel->hi[d]);
        empty = empty ? g_or(g, empty, none) : none;
    }
    return empty;
}

/* True if INTERIOR is right everywhere, in rows as the caller promises. */
static bool is_interior_enough(const nest *t)
{
    const wf__kernel_emitter *kernel = t->kernel;
    int step = t->interior ? kernel->columns * t->g->width : WF__LANES;
    bool whole_steps = t->g->options->row_points && t->g->options->row_points % step == 0;
    bool steps_back = t->g->options->long_rows && t->steps_back && step <= WF__LONG_ROW;
    if (!t->interior || kernel->rows > 1 || !(whole_steps || steps_back))
        return false;
    for (int d = 0; d < kernel->rank; d++)
        if (kernel->interior_lo[d] || kernel->interior_hi[d])
            return false;
    return true;
}

static bool emit_function(nest *t)
{
    wf__gen *g = t->g;
    wf__kernel_emitter *kernel = t->kernel;
    LLVMTypeRef params[4] = { g->ptr, g->ptr, g->ptr, g->ptr };
    g->function = wf__gen_function(g, "wf_kernel", g->nothing, params, 4, false);
    kernel->call = g->L->GetParam(g->function, 0);
    kernel->acc = g->L->GetParam(g->function, 3);
    kernel->entry = wf__gen_bb(g, "entry");
    kernel->top = kernel->level[0] = wf__gen_bb(g, "top");
    bb done = wf__gen_bb(g, "done");
    wf__gen_at(g, kernel->entry);
    load_bounds(kernel, g->L->GetParam(g->function, 1), g->L->GetParam(g->function, 2));
    if (!wf__make_accumulators(kernel))
        return false;
    if (kernel->body->red_n && !kernel->body->kept && !kernel->body->kept_lane)
        wf__clear_accumulators(kernel);
    if (g->options->long_rows)
        g->L->BuildBr(g->b, kernel->top);
    else
        g->L->BuildCondBr(g->b, is_empty(kernel), done, kernel->top);
    wf__gen_at(g, kernel->top);
    if (t->interior && !wf__find_interior(kernel))
        return false;
    if (is_interior_enough(t))
        t->border = NULL;
    else
        split_row(t);
    if (kernel->rank > 1) {
        emit_level(t, 0);
        kernel->top = kernel->level[0];
        wf__gen_at(g, kernel->top);
    }
    emit_inner(t, 0);
    g->L->BuildBr(g->b, done);
    wf__gen_at(g, done);
    if (!kernel->body->kept && !kernel->body->kept_lane)
        wf__store_results(kernel, NULL);
    if (g->options->nontemporal && g->isa != WF__ISA_NEON)
        wf__gen_call(g, "llvm.x86.sse.sfence", NULL, 0, NULL, 0);
    g->L->BuildRetVoid(g->b);
    return wf__fill_constants(kernel);
}

/* tile: INTERIOR's body, or NULL. places: PREFETCH's body, which may be empty. */
static bool emit_instances(wf__gen *g, wf__kernel_emitter *kernel, const wf__ir *tile, const wf__ir *places)
{
    wf__instance interior = { 0 }, border = { 0 }, prefetch = { 0 };
    bool prefetches = tile && places->n > 1;
    bool ok = (!tile || wf__init_instance(&interior, kernel, tile, WF__INTERIOR)) &&
              wf__init_instance(&border, kernel, kernel->body, WF__BORDER) &&
              (!prefetches || wf__init_instance(&prefetch, kernel, places, WF__PREFETCH));
    if (ok) {
        nest t = { .g = g,
                   .kernel = kernel,
                   .interior = tile ? &interior : NULL,
                   .border = &border,
                   .steps_back = may_step_back(kernel) };
        t.prefetch = prefetches ? &prefetch : NULL;
        if (tile) {
            wf__schedule_nodes(&interior, g->isa == WF__ISA_AVX512 || g->isa == WF__ISA_NEON ? 32 : 16);
            kernel->narrow_limit = wf__narrow_limit(&interior);
        }
        ok = (!tile || wf__find_packets(&interior)) && wf__find_packets(&border) && emit_function(&t);
    }
    if (!ok)
        wf__gen_fail(g, "code generator: out of memory");
    wf__free_instance(&interior);
    wf__free_instance(&border);
    wf__free_instance(&prefetch);
    return ok && !g->failed;
}

/* Finds what to prefetch for one point (`one`), and copies it for all points of a tile (`out`). */
static bool find_tile_prefetches(const wf__ir *body, const wf__kernel_emitter *kernel, wf__ir *one, wf__ir *out)
{
    return wf__find_prefetches(body, one) &&
           (one->n <= 1 || wf__tile(one, kernel->rows, kernel->columns, kernel->g->width, true, false, out));
}

bool wf__emit_kernel(wf__gen *g, const wf__ir *body, int rows, int columns)
{
    wf__kernel_emitter kernel = { .g = g, .body = body, .rank = body->rank, .instances = WF__LANES / g->width };
    kernel.rows = rows ? rows : 1;
    kernel.columns = columns;
    if (wf__keeps_lane(&kernel))
        kernel.instances = columns > 1 ? columns : 1;
    for (wf__ref r = 1; r < body->n; r++)
        kernel.stores += body->node[r].op == WF__STORE;
    kernel.slot = wf__alloc0((body->slot_n + 1) * sizeof *kernel.slot);
    wf__ir tile = { 0 }, one = { 0 }, places = { 0 };
    bool ok = !columns || wf__tile(body, kernel.rows, columns, g->width, true, g->by_column, &tile);
    if (!ok)
        wf__gen_fail(g, "code generator: %s", tile.error);
    else if (!kernel.slot || (columns && !find_tile_prefetches(body, &kernel, &one, &places)))
        wf__gen_fail(g, "code generator: out of memory");
    else
        ok = emit_instances(g, &kernel, columns ? &tile : NULL, &places);
    wf__ir_free(&tile);
    wf__ir_free(&one);
    wf__ir_free(&places);
    wf__free(kernel.slot);
    wf__free(kernel.accumulator);
    wf__free(kernel.result);
    wf__free(kernel.constant);
    wf__free(kernel.constant_at);
    return ok && !g->failed;
}
