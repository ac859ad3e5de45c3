/* join.c - the kernel that joins the partial results of boxes or parts, [rows][cells], in the processor's order
 * (src/run/cpu/partials.c): a binary tree that joins the first half of the rows with the second, each half likewise.
 *
 * At depth d the tree has 2^d ranges of rows. The bits of a range's number, from the highest on, say which half was
 * taken at each depth. A thread has one cell and one range. The tree is so deep that a range has one row or none; if a
 * range of one row is halved, the first half gets the row. Threads along y then join upwards through shared memory.
 * If several thread blocks share a cell, another launch joins their rows; its tree is the top of this one.
 */
#include "ptx/gen.h"

enum { MOST_THREADS = 1024, MOST_SHARED = 48 << 10, CELL = 8, FLAG = 4 };

int wf__ptx_join_threads(const wf__ir *body)
{
    int n = MOST_THREADS;
    while (n > 2 && (uint64_t)n * (CELL * (uint64_t)body->red_n + FLAG) > MOST_SHARED)
        n /= 2;
    return n;
}

uint32_t wf__ptx_join_shared(const wf__ir *body)
{
    return (uint32_t)wf__ptx_join_threads(body) * (CELL * body->red_n + FLAG);
}

val wf__ptx_with_initial(gen *g, uint32_t k, val joined)
{
    const wf__reduction *red = &g->ir->red[k];
    if (red->join == WF_JOIN_CUSTOM)
        return joined; /* custom joins start from the initial value */
    val first = wf__ptx_in_register(g, red->dtype, wf__ptx_const(g, red->dtype, g->options->initial[k]));
    val x[3] = { first, joined, joined };
    return wf__ptx_op(g, wf__join_op((wf_join)red->join), red->dtype, x);
}

typedef struct joiner {
    gen *g;
    val cell, group, there; /* group: number of the thread block's range; there: predicate that both exist */
    val y, lo, full;        /* the thread's row is `lo`, if predicate `full` holds */
    val slot, next;         /* the thread's slot in shared memory, and bytes to the slot of the next y */
    val *other;             /* values to join with the accumulators */
} joiner;

static val read_special(gen *g, const char *special)
{
    val r = wf__ptx_reg(g, V_R), d = wf__ptx_reg(g, V_D);
    EMIT(g, "mov.u32 $0, $1", r, v_text(special));
    EMIT(g, "cvt.u64.u32 $0, $1", d, r);
    return d;
}

static val read_field(gen *g, wf__ptx_what what, uint32_t number)
{
    return wf__ptx_field_value(g, what, number, 0, false);
}

/* The address of element i of reduction k at `base`. */
static val element_address(gen *g, val base, val i, uint32_t k)
{
    val at = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", at, i, v_int(wf__size(g->ir->red[k].dtype)), base);
    return at;
}

/* Loads a value of reduction k to register `to`; 0 where `when` does not hold. */
static void load_value(gen *g, uint32_t k, val at, const char *space, val when, val to)
{
    unsigned t = g->ir->red[k].dtype;
    val none = { 0 }, byte = t == WF_BOOL ? wf__ptx_reg(g, V_R) : to;
    EMIT(g, "mov.$1 $0, 0", byte, v_text(t == WF_BOOL ? "b32" : wf__ptx_bits(t).text));
    wf__ptx_load_element(g, t, at, space, when, byte, none);
    if (t == WF_BOOL)
        EMIT(g, "setp.ne.s32 $0, $1, 0", to, byte);
}

static void find_thread(joiner *j)
{
    gen *g = j->g;
    val tiles = read_field(g, WF__PTX_TILES, 0), block = read_special(g, "%ctaid.x"), tile = wf__ptx_reg(g, V_D);
    val threads = read_special(g, "%ntid.x"), tid = read_special(g, "%tid.x"), place = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $0", block, read_special(g, "%ctaid.y"), read_special(g, "%nctaid.x"));
    j->group = wf__ptx_reg(g, V_D);
    j->cell = wf__ptx_reg(g, V_D);
    j->there = wf__ptx_reg(g, V_P);
    j->y = read_special(g, "%tid.y");
    EMIT(g, "div.u64 $0, $1, $2", j->group, block, tiles);
    EMIT(g, "mul.lo.u64 $0, $1, $2", tile, j->group, tiles);
    EMIT(g, "sub.u64 $0, $1, $0", tile, block);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", j->cell, tile, threads, tid);
    EMIT(g, "setp.lt.u64 $0, $1, $2", j->there, j->cell, read_field(g, WF__PTX_KEPT, 0));
    EMIT(g, "setp.lt.and.u64 $0, $1, $2, $0", j->there, j->group, read_field(g, WF__PTX_RANGES, 0));
    j->slot = wf__ptx_reg(g, V_D);
    j->next = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", place, j->y, threads, tid);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", j->slot, place, v_int(CELL), wf__ptx_shared(g));
    EMIT(g, "mul.lo.u64 $0, $1, $2", j->next, threads, v_int(CELL));
}

/* Descends the tree to the row of the thread's range. */
static void find_row(joiner *j)
{
    gen *g = j->g;
    val number = wf__ptx_reg(g, V_D), hi = wf__ptx_reg(g, V_D), mid = wf__ptx_reg(g, V_D), half = wf__ptx_reg(g, V_D);
    val bit = wf__ptx_reg(g, V_R), p = wf__ptx_reg(g, V_P), digit = wf__ptx_reg(g, V_D);
    val again = wf__ptx_new_label(g), done = wf__ptx_new_label(g);
    j->lo = wf__ptx_reg(g, V_D);
    j->full = wf__ptx_reg(g, V_P);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", number, j->group, read_special(g, "%ntid.y"), j->y);
    EMIT(g, "mov.b64 $0, 0", j->lo);
    EMIT(g, "mov.b64 $0, $1", hi, read_field(g, WF__PTX_LINES, 0));
    EMIT(g, "mov.b32 $0, $1", bit, wf__ptx_field_value(g, WF__PTX_DEPTH, 0, 0, true));
    wf__ptx_place_label(g, again);
    EMIT(g, "sub.s32 $0, $0, 1", bit);
    EMIT(g, "setp.lt.s32 $0, $1, 0", p, bit);
    EMIT(g, "@$0 bra $1", p, done);
    EMIT(g, "sub.u64 $0, $1, $2", mid, hi, j->lo);
    EMIT(g, "shr.u64 $0, $1, 1", half, mid);
    EMIT(g, "max.u64 $0, $0, 1", half); /* the first half gets a single row */
    EMIT(g, "min.u64 $0, $0, $1", mid, half);
    EMIT(g, "add.u64 $0, $0, $1", mid, j->lo);
    EMIT(g, "shr.u64 $0, $1, $2", digit, number, bit);
    EMIT(g, "and.b64 $0, $0, 1", digit);
    EMIT(g, "setp.ne.s64 $0, $1, 0", p, digit);
    EMIT(g, "selp.b64 $0, $1, $0, $2", j->lo, mid, p);
    EMIT(g, "selp.b64 $0, $0, $1, $2", hi, mid, p);
    EMIT(g, "bra $0", again);
    wf__ptx_place_label(g, done);
    EMIT(g, "setp.lt.and.u64 $0, $1, $2, $3", j->full, j->lo, hi, j->there);
}

static void load_row(joiner *j)
{
    gen *g = j->g;
    val i = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", i, j->lo, read_field(g, WF__PTX_KEPT, 0), j->cell);
    for (uint32_t k = 0; k < g->ir->red_n; ++k) {
        val plane = wf__ptx_reg(g, V_D);
        EMIT(g, "mad.lo.u64 $0, $1, $2, $3", plane, read_field(g, WF__PTX_PLANE, 0), v_int(k),
             read_field(g, WF__PTX_FROM, 0));
        g->acc[k] = wf__ptx_new(g, g->ir->red[k].dtype);
        j->other[k] = wf__ptx_new(g, g->ir->red[k].dtype);
        load_value(g, k, element_address(g, plane, i, k), "global", j->full, g->acc[k]);
    }
}

static val shared_slot(const joiner *j, uint32_t k, val slot)
{
    val at = wf__ptx_reg(j->g, V_D);
    int64_t threads = wf__ptx_join_threads(j->g->ir);
    EMIT(j->g, "add.u64 $0, $1, $2", at, slot, v_int((int64_t)k * threads * CELL));
    return at;
}

/* The address of a flag that says whether the thread of `slot` has a row. */
static val flag_slot(const joiner *j, val slot)
{
    gen *g = j->g;
    int64_t threads = wf__ptx_join_threads(g->ir), planes = (int64_t)g->ir->red_n * threads * CELL;
    val at = wf__ptx_reg(g, V_D);
    EMIT(g, "sub.u64 $0, $1, $2", at, slot, wf__ptx_shared(g));
    EMIT(g, "shr.u64 $0, $0, 1", at); /* FLAG of CELL */
    EMIT(g, "add.u64 $0, $0, $1", at, wf__ptx_shared(g));
    EMIT(g, "add.u64 $0, $0, $1", at, v_int(planes));
    return at;
}

/* Joins with the threads 1, 2, 4, ... further along y, each of which has joined its own subtree by then. */
static void join_threads(joiner *j)
{
    gen *g = j->g;
    val s = wf__ptx_reg(g, V_D), p = wf__ptx_reg(g, V_P), top = read_special(g, "%ntid.y"), low = wf__ptx_reg(g, V_D);
    val again = wf__ptx_new_label(g), done = wf__ptx_new_label(g), skip = wf__ptx_new_label(g), none = { 0 };
    val flag = wf__ptx_reg(g, V_R), from = wf__ptx_reg(g, V_D), off = wf__ptx_reg(g, V_P);
    EMIT(g, "selp.b32 $0, 1, 0, $1", flag, j->full);
    EMIT(g, "st.shared.b32 [$0], $1", flag_slot(j, j->slot), flag);
    EMIT(g, "mov.b64 $0, 1", s);
    wf__ptx_place_label(g, again);
    EMIT(g, "setp.ge.u64 $0, $1, $2", p, s, top);
    EMIT(g, "@$0 bra $1", p, done);
    for (uint32_t k = 0; k < g->ir->red_n; ++k)
        wf__ptx_store_element(g, g->ir->red[k].dtype, shared_slot(j, k, j->slot), "shared", none, g->acc[k], none);
    EMIT(g, "bar.sync $0", v_int(0));
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", from, s, j->next, j->slot);
    EMIT(g, "shl.b64 $0, $0, 1", s);
    EMIT(g, "sub.u64 $0, $1, 1", low, s);
    EMIT(g, "and.b64 $0, $0, $1", low, j->y);
    EMIT(g, "setp.ne.s64 $0, $1, 0", off, low);
    EMIT(g, "@$0 bra $1", off, skip);
    EMIT(g, "ld.shared.b32 $0, [$1]", flag, flag_slot(j, from));
    EMIT(g, "setp.eq.s32 $0, $1, 0", off, flag);
    EMIT(g, "@$0 bra $1", off, skip);
    for (uint32_t k = 0; k < g->ir->red_n; ++k)
        load_value(g, k, shared_slot(j, k, from), "shared", none, j->other[k]);
    wf__ptx_join_accumulators(g, j->other);
    wf__ptx_place_label(g, skip);
    EMIT(g, "bar.sync $0", v_int(0));
    EMIT(g, "bra $0", again);
    wf__ptx_place_label(g, done);
}

/* In the last launch, joins the initial values with the results. Without rows, the initial values are the results. */
static void join_initial(gen *g)
{
    val last = wf__ptx_reg(g, V_P), some = wf__ptx_reg(g, V_P), lines = read_field(g, WF__PTX_LINES, 0);
    EMIT(g, "setp.eq.s64 $0, $1, 1", last, read_field(g, WF__PTX_RANGES, 0));
    EMIT(g, "setp.ne.s64 $0, $1, 0", some, lines);
    for (uint32_t k = 0; k < g->ir->red_n; ++k) {
        unsigned t = g->ir->red[k].dtype;
        val initial = wf__ptx_in_register(g, t, wf__ptx_const(g, t, g->options->initial[k]));
        val joined = wf__ptx_in_register(g, t, wf__ptx_with_initial(g, k, g->acc[k]));
        joined = wf__ptx_select(g, t, some, joined, initial);
        g->acc[k] = wf__ptx_select(g, t, last, joined, g->acc[k]);
    }
}

static void store_results(joiner *j)
{
    gen *g = j->g;
    val i = wf__ptx_reg(g, V_D), leads = wf__ptx_reg(g, V_P), none = { 0 };
    EMIT(g, "setp.eq.and.s64 $0, $1, 0, $2", leads, j->y, j->there);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", i, j->group, read_field(g, WF__PTX_KEPT, 0), j->cell);
    for (uint32_t k = 0; k < g->ir->red_n; ++k)
        wf__ptx_store_element(g, g->ir->red[k].dtype, element_address(g, read_field(g, WF__PTX_RESULT, k), i, k),
                              "global", leads, g->acc[k], none);
    if (g->options->post) {
        val last = wf__ptx_reg(g, V_P);
        EMIT(g, "setp.eq.and.s64 $0, $1, 1, $2", last, read_field(g, WF__PTX_RANGES, 0), leads);
        wf__ptx_emit_post(g, last);
    }
}

void wf__ptx_emit_join(gen *g)
{
    joiner j = { .g = g, .other = wf__alloc(g->ir->red_n * sizeof *j.other) };
    if (!j.other) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    find_thread(&j);
    find_row(&j);
    load_row(&j);
    join_threads(&j);
    if (g->options->initial)
        join_initial(g);
    store_results(&j);
    wf__free(j.other);
}
