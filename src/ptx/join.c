/* join.c - the kernel that joins what boxes or parts of reductions gave, [rows][cells], in the order of the processor
 * (src/run/cpu/partials.c): the rows up to the middle with those from it on, and each half likewise.
 *
 * At depth d of that tree there are 2^d ranges of rows; bits of a range's number say, from the highest on, which half
 * was taken at each depth. A thread has one range and one cell: one row or none, as the tree is so deep, and where a
 * range of one row is halved, the first half has it. Threads along y then join upwards through shared memory. Several
 * blocks may share a cell; then their rows are joined by another launch, whose tree is the top of this one.
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
        return joined; /* it began with the initial value */
    val first = wf__ptx_in_register(g, red->dtype, wf__ptx_const(g, red->dtype, g->options->initial[k]));
    val x[3] = { first, joined, joined };
    return wf__ptx_op(g, wf__join_op((wf_join)red->join), red->dtype, x);
}

typedef struct joiner {
    gen *g;
    val cell, group, there; /* group: which range is the block's; there: is there such a cell? */
    val y, lo, full;        /* of the thread: full: there is a row, lo */
    val slot, next;         /* in shared memory: the thread's, and bytes to that of the next along y */
    val *other;             /* what is joined with the accumulators */
} joiner;

static val wide(gen *g, const char *special)
{
    val r = wf__ptx_reg(g, V_R), d = wf__ptx_reg(g, V_D);
    EMIT(g, "mov.u32 $0, $1", r, v_text(special));
    EMIT(g, "cvt.u64.u32 $0, $1", d, r);
    return d;
}

static val field(gen *g, wf__ptx_what what, uint32_t number) { return wf__ptx_field_value(g, what, number, 0, false); }

/* Element number i of reduction k at `base`. */
static val element(gen *g, val base, val i, uint32_t k)
{
    val at = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", at, i, v_int(wf__size(g->ir->red[k].dtype)), base);
    return at;
}

/* To a register of the value's class. */
static void load(gen *g, uint32_t k, val at, const char *space, val when, val to)
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
    val tiles = field(g, WF__PTX_TILES, 0), block = wide(g, "%ctaid.x"), tile = wf__ptx_reg(g, V_D);
    val threads = wide(g, "%ntid.x"), tid = wide(g, "%tid.x"), place = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $0", block, wide(g, "%ctaid.y"), wide(g, "%nctaid.x"));
    j->group = wf__ptx_reg(g, V_D);
    j->cell = wf__ptx_reg(g, V_D);
    j->there = wf__ptx_reg(g, V_P);
    j->y = wide(g, "%tid.y");
    EMIT(g, "div.u64 $0, $1, $2", j->group, block, tiles);
    EMIT(g, "mul.lo.u64 $0, $1, $2", tile, j->group, tiles);
    EMIT(g, "sub.u64 $0, $1, $0", tile, block);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", j->cell, tile, threads, tid);
    EMIT(g, "setp.lt.u64 $0, $1, $2", j->there, j->cell, field(g, WF__PTX_KEPT, 0));
    EMIT(g, "setp.lt.and.u64 $0, $1, $2, $0", j->there, j->group, field(g, WF__PTX_RANGES, 0));
    j->slot = wf__ptx_reg(g, V_D);
    j->next = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", place, j->y, threads, tid);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", j->slot, place, v_int(CELL), wf__ptx_shared(g));
    EMIT(g, "mul.lo.u64 $0, $1, $2", j->next, threads, v_int(CELL));
}

/* The row of the thread's range. */
static void find_row(joiner *j)
{
    gen *g = j->g;
    val number = wf__ptx_reg(g, V_D), hi = wf__ptx_reg(g, V_D), mid = wf__ptx_reg(g, V_D), half = wf__ptx_reg(g, V_D);
    val bit = wf__ptx_reg(g, V_R), p = wf__ptx_reg(g, V_P), digit = wf__ptx_reg(g, V_D);
    val again = wf__ptx_new_label(g), done = wf__ptx_new_label(g);
    j->lo = wf__ptx_reg(g, V_D);
    j->full = wf__ptx_reg(g, V_P);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", number, j->group, wide(g, "%ntid.y"), j->y);
    EMIT(g, "mov.b64 $0, 0", j->lo);
    EMIT(g, "mov.b64 $0, $1", hi, field(g, WF__PTX_LINES, 0));
    EMIT(g, "mov.b32 $0, $1", bit, wf__ptx_field_value(g, WF__PTX_DEPTH, 0, 0, true));
    wf__ptx_label(g, again);
    EMIT(g, "sub.s32 $0, $0, 1", bit);
    EMIT(g, "setp.lt.s32 $0, $1, 0", p, bit);
    EMIT(g, "@$0 bra $1", p, done);
    EMIT(g, "sub.u64 $0, $1, $2", mid, hi, j->lo);
    EMIT(g, "shr.u64 $0, $1, 1", half, mid);
    EMIT(g, "max.u64 $0, $0, 1", half); /* one row: the first half has it */
    EMIT(g, "min.u64 $0, $0, $1", mid, half);
    EMIT(g, "add.u64 $0, $0, $1", mid, j->lo);
    EMIT(g, "shr.u64 $0, $1, $2", digit, number, bit);
    EMIT(g, "and.b64 $0, $0, 1", digit);
    EMIT(g, "setp.ne.s64 $0, $1, 0", p, digit);
    EMIT(g, "selp.b64 $0, $1, $0, $2", j->lo, mid, p);
    EMIT(g, "selp.b64 $0, $0, $1, $2", hi, mid, p);
    EMIT(g, "bra $0", again);
    wf__ptx_label(g, done);
    EMIT(g, "setp.lt.and.u64 $0, $1, $2, $3", j->full, j->lo, hi, j->there);
}

static void load_row(joiner *j)
{
    gen *g = j->g;
    val i = wf__ptx_reg(g, V_D);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", i, j->lo, field(g, WF__PTX_KEPT, 0), j->cell);
    for (uint32_t k = 0; k < g->ir->red_n; ++k) {
        val plane = wf__ptx_reg(g, V_D);
        EMIT(g, "mad.lo.u64 $0, $1, $2, $3", plane, field(g, WF__PTX_PLANE, 0), v_int(k), field(g, WF__PTX_FROM, 0));
        g->acc[k] = wf__ptx_new(g, g->ir->red[k].dtype);
        j->other[k] = wf__ptx_new(g, g->ir->red[k].dtype);
        load(g, k, element(g, plane, i, k), "global", j->full, g->acc[k]);
    }
}

static val shared_slot(const joiner *j, uint32_t k, val slot)
{
    val at = wf__ptx_reg(j->g, V_D);
    int64_t threads = wf__ptx_join_threads(j->g->ir);
    EMIT(j->g, "add.u64 $0, $1, $2", at, slot, v_int((int64_t)k * threads * CELL));
    return at;
}

/* Which threads have a row, to be asked by the others. */
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

/* With the neighbour 1, 2, 4, ... further along y, where that one and all below it are done. */
static void climb(joiner *j)
{
    gen *g = j->g;
    val s = wf__ptx_reg(g, V_D), p = wf__ptx_reg(g, V_P), top = wide(g, "%ntid.y"), low = wf__ptx_reg(g, V_D);
    val again = wf__ptx_new_label(g), done = wf__ptx_new_label(g), skip = wf__ptx_new_label(g), none = { 0 };
    val flag = wf__ptx_reg(g, V_R), from = wf__ptx_reg(g, V_D), off = wf__ptx_reg(g, V_P);
    EMIT(g, "selp.b32 $0, 1, 0, $1", flag, j->full);
    EMIT(g, "st.shared.b32 [$0], $1", flag_slot(j, j->slot), flag);
    EMIT(g, "mov.b64 $0, 1", s);
    wf__ptx_label(g, again);
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
        load(g, k, shared_slot(j, k, from), "shared", none, j->other[k]);
    wf__ptx_join(g, j->other);
    wf__ptx_label(g, skip);
    EMIT(g, "bar.sync $0", v_int(0));
    EMIT(g, "bra $0", again);
    wf__ptx_label(g, done);
}

/* The initial values join the last of all; where there are no rows, they are the results. */
static void join_initial(gen *g)
{
    val last = wf__ptx_reg(g, V_P), some = wf__ptx_reg(g, V_P), lines = field(g, WF__PTX_LINES, 0);
    EMIT(g, "setp.eq.s64 $0, $1, 1", last, field(g, WF__PTX_RANGES, 0));
    EMIT(g, "setp.ne.s64 $0, $1, 0", some, lines);
    for (uint32_t k = 0; k < g->ir->red_n; ++k) {
        unsigned t = g->ir->red[k].dtype;
        val initial = wf__ptx_in_register(g, t, wf__ptx_const(g, t, g->options->initial[k]));
        val joined = wf__ptx_in_register(g, t, wf__ptx_with_initial(g, k, g->acc[k]));
        joined = wf__ptx_select(g, t, some, joined, initial);
        g->acc[k] = wf__ptx_select(g, t, last, joined, g->acc[k]);
    }
}

static void put(joiner *j)
{
    gen *g = j->g;
    val i = wf__ptx_reg(g, V_D), leads = wf__ptx_reg(g, V_P), none = { 0 };
    EMIT(g, "setp.eq.and.s64 $0, $1, 0, $2", leads, j->y, j->there);
    EMIT(g, "mad.lo.u64 $0, $1, $2, $3", i, j->group, field(g, WF__PTX_KEPT, 0), j->cell);
    for (uint32_t k = 0; k < g->ir->red_n; ++k)
        wf__ptx_store_element(g, g->ir->red[k].dtype, element(g, field(g, WF__PTX_RESULT, k), i, k), "global", leads,
                              g->acc[k], none);
    if (g->options->post) {
        val last = wf__ptx_reg(g, V_P);
        EMIT(g, "setp.eq.and.s64 $0, $1, 1, $2", last, field(g, WF__PTX_RANGES, 0), leads);
        wf__ptx_post(g, last);
    }
}

void wf__ptx_join_rows(gen *g)
{
    joiner j = { .g = g, .other = wf__alloc(g->ir->red_n * sizeof *j.other) };
    if (!j.other) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    find_thread(&j);
    find_row(&j);
    load_row(&j);
    climb(&j);
    if (g->options->initial)
        join_initial(g);
    put(&j);
    wf__free(j.other);
}
