/* vector.c - kernels of plain element-wise bodies, in which a thread has several neighbours along the lane axis: their
 * elements are read and written by one access of up to 16 bytes for each array. All of a thread's reads come before its
 * writes, so that they are under way together, and arrays that meet others are left alone. Where addresses or rows are
 * not aligned, which the launch says, neighbours are those of other threads, and a thread's points have accesses of
 * their own. At the ends of rows it does its points one after the other.
 */
#include "ptx/gen.h"

enum { MOST = 4, MOST_NODES = 128, MOST_BYTES = 16 };

static bool is_element(const wf__ir *ir, const wf__node *n)
{
    const wf__slot *slot = &ir->slot[n->a];
    return slot->element && slot->rank == ir->rank && slot->step[slot->rank - 1] == WF__STEP_UNIT;
}

/* Is the array written again, at some of the points or elsewhere? Then not one store for all of a thread's points, which
 * comes last. */
static bool is_written_again(const wf__ir *ir, const wf__node *store)
{
    for (const wf__node *n = store + 1; n < ir->node + ir->n; ++n)
        if (n->op == WF__STORE && ir->slot[n->a].object == ir->slot[store->a].object && (n->d || !is_element(ir, n)))
            return true;
    return false;
}

/* One access for all of a thread's points? */
static bool is_wide(const wf__ir *ir, const wf__node *n)
{
    return (n->op == WF__LOAD && is_element(ir, n) && n->aux == WF_BORDER_NONE && !wf__when(ir, n)) ||
           (n->op == WF__STORE && is_element(ir, n) && !n->d && !is_written_again(ir, n));
}

/* Does each point mind its own business alone? */
static bool is_plain(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        const wf__slot *slot = n->op == WF__LOAD || n->op == WF__STORE ? &ir->slot[n->a] : NULL;
        bool good = n->op == WF__STORE ? !slot->meets
                    : n->op == WF__LOAD
                        ? !slot->meets && (!slot->written || (is_wide(ir, n) && !n->d))
                        : wf__op_is_pure(n->op) || n->op == WF__CONST || n->op == WF__PARAM || n->op == WF__INDEX ||
                              n->op == WF__EXTENT || n->op == WF__DIM || n->op == WF__NOP;
        if (!good)
            return false;
    }
    return true;
}

static int parts_of(unsigned dtype) { return wf__is_complex(dtype) ? 2 : 1; }

int wf__ptx_width(const wf__ir *ir, int columns, wf__ptx_code *code)
{
    int width = 1, limit = columns ? columns : MOST;
    code->wide_n = 0;
    if (ir->red_n || ir->loops || ir->flags & WF_FLAG_DEBUG || ir->n > MOST_NODES || !is_plain(ir))
        return 1;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if ((n->op != WF__LOAD && n->op != WF__STORE) || !is_wide(ir, n))
            continue;
        int most = MOST_BYTES / (int)wf__size(n->dtype);
        most = most < MOST / parts_of(n->dtype) ? most : MOST / parts_of(n->dtype);
        most = most < limit ? most : limit;
        width = code->wide_n == 0 || most < width ? most : width;
        uint32_t k = 0;
        while (k < code->wide_n && code->wide[k] != n->a)
            ++k;
        if (k == WF__PTX_MOST_WIDE)
            return 1;
        if (k == code->wide_n)
            code->wide[code->wide_n++] = (uint16_t)n->a;
    }
    return width;
}

/* ---- one access ---- */
static void access(gen *g, const wf__node *n, const val *v, int count)
{
    static const char *const loads[] = {
        [1] = "ld.$5.$6 $0, [$4]", [2] = "ld.$5.v2.$6 {$0, $1}, [$4]", [4] = "ld.$5.v4.$6 {$0, $1, $2, $3}, [$4]"
    };
    static const char *const stores[] = {
        [1] = "st.$5.$6 [$4], $0", [2] = "st.$5.v2.$6 [$4], {$0, $1}", [4] = "st.$5.v4.$6 [$4], {$0, $1, $2, $3}"
    };
    bool load = n->op == WF__LOAD;
    val ok, all[7] = { 0 };
    memcpy(all, v, (size_t)count * sizeof *v);
    all[4] = wf__ptx_address(g, n, &ok);
    all[5] = v_text(load ? wf__ptx_read_space(g->ir, &g->ir->slot[n->a]) : "global");
    all[6] = wf__ptx_memory_type(n->dtype);
    wf__ptx_line(g, load ? loads[count] : stores[count], all);
}

/* Of `count` points, the first of which is this column's. */
static void load(gen *g, wf__ref r, int column, int count)
{
    const wf__node *n = wf__at(g->ir, r);
    int parts = parts_of(n->dtype);
    val v[MOST] = { 0 }, *to = &g->wide[r * MOST + (uint32_t)(column * parts)];
    for (int i = 0; i < count * parts; ++i)
        v[i] = n->dtype == WF_BOOL ? wf__ptx_reg(g, V_R) : wf__ptx_new(g, n->dtype);
    access(g, n, v, count * parts);
    for (int i = 0; i < count * parts; ++i) {
        to[i] = v[i];
        if (n->dtype == WF_BOOL) {
            to[i] = wf__ptx_reg(g, V_P);
            EMIT(g, "setp.ne.s32 $0, $1, 0", to[i], v[i]);
        }
    }
}

static void store(gen *g, wf__ref r, int column, int count)
{
    const wf__node *n = wf__at(g->ir, r);
    int parts = parts_of(n->dtype);
    access(g, n, &g->wide[r * MOST + (uint32_t)(column * parts)], count * parts);
}

bool wf__ptx_wide_node(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    if (!g->wide || !is_wide(g->ir, n))
        return false;
    int parts = parts_of(n->dtype);
    val *v = &g->wide[r * MOST + (uint32_t)(g->column * parts)];
    if (n->op == WF__LOAD) {
        g->node[r].v = v[0];
        g->node[r].more = parts == 2 ? v[1] : (val){ 0 };
        return true;
    }
    v[0] = wf__ptx_stored(g, n->dtype, wf__ptx_use(g, n->c));
    if (parts == 2)
        v[1] = wf__ptx_stored(g, n->dtype, g->node[n->c].more);
    return true;
}

/* ---- the kernel ---- */
/* The loads, or the stores: one access for all points, or one for each. `at`: their indices along the last axis. */
static void move(gen *g, unsigned op, const val *at, bool apart)
{
    const wf__ir *ir = g->ir;
    for (int column = 0; column < (apart ? g->width : 1); ++column) {
        g->index[ir->rank - 1] = at[column];
        for (wf__ref r = 1; r < ir->n; ++r)
            if (ir->node[r].op == WF__INDEX)
                wf__ptx_walk(g, r, r + 1);
            else if (ir->node[r].op == op && is_wide(ir, &ir->node[r]))
                (op == WF__LOAD ? load : store)(g, r, column, apart ? 1 : g->width);
        wf__ptx_forget(g, 0);
    }
}

/* g->index[last] is the first of the points; the others follow, each `step` behind the one before, or (V_NONE) are its
 * neighbours in aligned memory. */
static void all_at_once(gen *g, val step)
{
    bool apart = step.kind != V_NONE;
    int last = g->ir->rank - 1;
    val at[MOST] = { g->index[last] }, type = wf__ptx_index_type(g);
    g->wide = wf__alloc0(g->ir->n * MOST * sizeof *g->wide);
    if (!g->wide) {
        wf__ptx_fail(g, WF_ERR_MEMORY, "out of memory for PTX");
        return;
    }
    for (int i = 1; i < g->width; ++i) {
        at[i] = wf__ptx_new_index(g);
        EMIT(g, "add.$1 $0, $2, $3", at[i], type, apart ? at[i - 1] : at[0], apart ? step : v_int(i));
    }
    move(g, WF__LOAD, at, apart);
    for (g->column = 0; g->column < g->width; ++g->column) {
        g->index[last] = at[g->column];
        wf__ptx_walk(g, 1, g->ir->n);
        wf__ptx_forget(g, 0);
    }
    move(g, WF__STORE, at, apart);
    g->index[last] = at[0];
    wf__free(g->wide);
    g->wide = NULL;
}

static void one_by_one(gen *g, val step, val exit)
{
    int last = g->ir->rank - 1;
    val again = wf__ptx_new_label(g), type = wf__ptx_index_type(g), turn = wf__ptx_reg(g, V_R),
        more = wf__ptx_reg(g, V_P);
    EMIT(g, "mov.b32 $0, $1", turn, v_int(g->width));
    wf__ptx_label(g, again);
    wf__ptx_walk(g, 1, g->ir->n);
    wf__ptx_forget(g, 0);
    EMIT(g, "add.$1 $0, $0, $2", g->index[last], type, step);
    wf__ptx_leave_if(g, g->index[last], wf__ptx_index_field(g, WF__PTX_EXTENT, last), exit);
    EMIT(g, "sub.u32 $0, $0, 1", turn);
    EMIT(g, "setp.ne.s32 $0, $1, 0", more, turn);
    EMIT(g, "@$0 bra $1", more, again);
}

void wf__ptx_vectors(gen *g, val tile, val exit)
{
    int last = g->ir->rank - 1;
    val type = wf__ptx_index_type(g), aligned = wf__ptx_reg(g, V_P), fits = wf__ptx_reg(g, V_P);
    val flag = wf__ptx_field_value(g, WF__PTX_ALIGNED, 0, 0, true), single = wf__ptx_new_label(g),
        ends = wf__ptx_new_label(g);
    val threads = wf__ptx_special(g, "%ntid.x"), tid = wf__ptx_special(g, "%tid.x"), first = wf__ptx_new_index(g);
    val step = wf__ptx_new_index(g), far = wf__ptx_new_index(g), at = wf__ptx_new_index(g);
    EMIT(g, "setp.ne.s32 $0, $1, 0", aligned, flag);
    EMIT(g, "mul.lo.$1 $0, $2, $3", first, type, tile, threads);
    EMIT(g, "mul.lo.$1 $0, $0, $2", first, type, v_int(g->width));
    EMIT(g, "mul.lo.$1 $0, $2, $3", at, type, tid, v_int(g->width));
    EMIT(g, "selp.$1 $0, $2, $3, $4", at, type, at, tid, aligned);
    EMIT(g, "selp.$1 $0, 1, $2, $3", step, type, threads, aligned);
    EMIT(g, "add.$1 $0, $0, $2", first, type, at);
    wf__ptx_leave_if(g, first, wf__ptx_index_field(g, WF__PTX_EXTENT, last), exit);
    g->index[last] = first;
    EMIT(g, "add.$1 $0, $2, $3", far, type, first, v_int(g->width));
    EMIT(g, "setp.le.$1 $0, $2, $3", fits, type, far, wf__ptx_index_field(g, WF__PTX_EXTENT, last));
    EMIT(g, "and.pred $0, $0, $1", fits, aligned);
    EMIT(g, "@!$0 bra $1", fits, single);
    all_at_once(g, (val){ 0 });
    EMIT(g, "bra $0", exit);
    wf__ptx_label(g, single);
    EMIT(g, "mad.lo.$1 $0, $2, $3, $4", far, type, step, v_int(g->width - 1), first);
    EMIT(g, "setp.lt.$1 $0, $2, $3", fits, type, far, wf__ptx_index_field(g, WF__PTX_EXTENT, last));
    EMIT(g, "@!$0 bra $1", fits, ends);
    all_at_once(g, step);
    EMIT(g, "bra $0", exit);
    wf__ptx_label(g, ends);
    one_by_one(g, step, exit);
}
