/* vector.c - wide accesses of element-wise bodies: one access of up to 16 bytes per array moves the elements of several
 * neighbouring points of a thread.
 *
 * All loads of a thread come before its stores, so that they are in flight together. This reordering is safe because
 * only bodies qualify in which no point reads what another one writes: arrays that may alias others disqualify a body.
 * Whether addresses and rows are aligned is known at launch; points.c has code for both cases.
 */
#include "ptx/gen.h"

enum { MOST_BYTES = 16 };

static bool is_element(const wf__ir *ir, const wf__node *n)
{
    const wf__slot *slot = &ir->slot[n->a];
    return slot->element && slot->rank == ir->rank && slot->step[slot->rank - 1] == WF__STEP_UNIT;
}

/* True if a later store may overwrite this one. A wide store comes last, so it would reverse the two. */
static bool is_written_again(const wf__ir *ir, const wf__node *store)
{
    for (const wf__node *n = store + 1; n < ir->node + ir->n; ++n)
        if (n->op == WF__STORE && ir->slot[n->a].object == ir->slot[store->a].object && (n->d || !is_element(ir, n)))
            return true;
    return false;
}

bool wf__ptx_is_wide(const wf__ir *ir, const wf__node *n)
{
    return (n->op == WF__LOAD && is_element(ir, n) && n->aux == WF_BORDER_NONE && !wf__when(ir, n)) ||
           (n->op == WF__STORE && is_element(ir, n) && !n->d && !is_written_again(ir, n));
}

/* True if no point reads what another one writes. */
static bool is_plain(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        const wf__slot *slot = n->op == WF__LOAD || n->op == WF__STORE ? &ir->slot[n->a] : NULL;
        bool good = n->op == WF__STORE ? !slot->may_alias
                    : n->op == WF__LOAD
                        ? !slot->may_alias && (!slot->written || (wf__ptx_is_wide(ir, n) && !n->d))
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
    int width = 1, limit = columns ? columns : WF__PTX_MOST_COLUMNS;
    code->wide_n = 0;
    if (ir->red_n || ir->loops || ir->flags & WF_FLAG_DEBUG || ir->n > WF__GPU_WIDE_NODES || !is_plain(ir))
        return 1;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op == WF__LOCAL)
            return 1;
        if ((n->op != WF__LOAD && n->op != WF__STORE) || !wf__ptx_is_wide(ir, n))
            continue;
        int most = MOST_BYTES / (int)wf__size(n->dtype);
        most = most < WF__PTX_MOST_COLUMNS / parts_of(n->dtype) ? most : WF__PTX_MOST_COLUMNS / parts_of(n->dtype);
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
static void access_columns(gen *g, const wf__node *n, const val *v, int count)
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

static void load_columns(gen *g, wf__ref r, int column, int count)
{
    const wf__node *n = wf__at(g->ir, r);
    int parts = parts_of(n->dtype);
    val v[WF__PTX_MOST_COLUMNS] = { 0 }, *to = &g->wide[r * WF__PTX_MOST_COLUMNS + (uint32_t)(column * parts)];
    for (int i = 0; i < count * parts; ++i)
        v[i] = n->dtype == WF_BOOL ? wf__ptx_reg(g, V_R) : wf__ptx_new(g, n->dtype);
    access_columns(g, n, v, count * parts);
    for (int i = 0; i < count * parts; ++i) {
        to[i] = v[i];
        if (n->dtype == WF_BOOL) {
            to[i] = wf__ptx_reg(g, V_P);
            EMIT(g, "setp.ne.s32 $0, $1, 0", to[i], v[i]);
        }
    }
}

static void store_columns(gen *g, wf__ref r, int column, int count)
{
    const wf__node *n = wf__at(g->ir, r);
    int parts = parts_of(n->dtype);
    access_columns(g, n, &g->wide[r * WF__PTX_MOST_COLUMNS + (uint32_t)(column * parts)], count * parts);
}

void wf__ptx_move_columns(gen *g, wf__ref r, int column, int count)
{
    (wf__at(g->ir, r)->op == WF__LOAD ? load_columns : store_columns)(g, r, column, count);
}

bool wf__ptx_emit_wide(gen *g, wf__ref r)
{
    const wf__node *n = wf__at(g->ir, r);
    if (!g->wide || !wf__ptx_is_wide(g->ir, n))
        return false;
    int parts = parts_of(n->dtype);
    val *v = &g->wide[r * WF__PTX_MOST_COLUMNS + (uint32_t)(g->column * parts)];
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