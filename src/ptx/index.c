/* index.c - arithmetic of indices: numbers of threads, thread blocks and boxes as indices of points, and counting
 * loops. All of it is done in 32 bits if wf__ptx_options.narrow, else in 64. */
#include "ptx/gen.h"

val wf__ptx_new_index(gen *g) { return wf__ptx_new(g, wf__ptx_index_dtype(g)); }

val wf__ptx_index_type(const gen *g) { return v_text(g->options->narrow ? "u32" : "u64"); }

val wf__ptx_index_field(gen *g, wf__ptx_what what, int axis)
{
    return wf__ptx_field_value(g, what, 0, axis, g->options->narrow);
}

val wf__ptx_special(gen *g, const char *name)
{
    val r = wf__ptx_reg(g, V_R);
    EMIT(g, "mov.u32 $0, $1", r, v_text(name));
    if (g->options->narrow)
        return r;
    val wide = wf__ptx_reg(g, V_D);
    EMIT(g, "cvt.u64.u32 $0, $1", wide, r);
    return wide;
}

/* Thread blocks are numbered along x, and if they are too many for x, along y. */
val wf__ptx_block_number(gen *g)
{
    val x = wf__ptx_special(g, "%ctaid.x");
    if (g->options->narrow)
        return x;
    EMIT(g, "mad.lo.u64 $0, $1, $2, $0", x, wf__ptx_special(g, "%ctaid.y"), wf__ptx_special(g, "%nctaid.x"));
    return x;
}

val wf__ptx_take_digit(gen *g, val *rest, val count)
{
    val q = wf__ptx_new_index(g), r = wf__ptx_new_index(g);
    EMIT(g, "div.$1 $0, $2, $3", q, wf__ptx_index_type(g), *rest, count);
    EMIT(g, "mul.lo.$1 $0, $2, $3", r, wf__ptx_index_type(g), q, count);
    EMIT(g, "sub.$1 $0, $2, $0", r, wf__ptx_index_type(g), *rest);
    *rest = q;
    return r;
}

void wf__ptx_leave_if(gen *g, val a, val limit, val exit)
{
    val p = wf__ptx_reg(g, V_P);
    EMIT(g, "setp.ge.$1 $0, $2, $3", p, wf__ptx_index_type(g), a, limit);
    EMIT(g, "@$0 bra $1", p, exit);
}

val wf__ptx_row_and_tile(gen *g, bool rows, val block, val exit, val *tile)
{
    val row = { 0 };
    *tile = block;
    if (rows) {
        *tile = wf__ptx_take_digit(g, &block, wf__ptx_index_field(g, WF__PTX_TILES, 0));
        row = wf__ptx_new_index(g);
        EMIT(g, "mad.lo.$1 $0, $2, $3, $4", row, wf__ptx_index_type(g), block, wf__ptx_special(g, "%ntid.y"),
             wf__ptx_special(g, "%tid.y"));
        wf__ptx_leave_if(g, row, wf__ptx_index_field(g, WF__PTX_ROWS, 0), exit);
    }
    return row;
}

void wf__ptx_find_lane(gen *g, val tile, val exit)
{
    int last = g->ir->rank - 1;
    val j = wf__ptx_new_index(g);
    EMIT(g, "mad.lo.$1 $0, $2, $3, $4", j, wf__ptx_index_type(g), tile, wf__ptx_special(g, "%ntid.x"),
         wf__ptx_special(g, "%tid.x"));
    wf__ptx_leave_if(g, j, wf__ptx_index_field(g, WF__PTX_EXTENT, last), exit);
    g->index[last] = j;
}

void wf__ptx_outer_indices(gen *g, val row, int first, int end)
{
    for (int d = end - 1; d > first; --d)
        g->index[d] = wf__ptx_take_digit(g, &row, wf__ptx_index_field(g, WF__PTX_EXTENT, d));
    if (end > first)
        g->index[first] = row;
}

val wf__ptx_find_box(gen *g, val *rest, int first, int end, wf__ptx_span *s)
{
    val part = v_int(0), times = v_int(1);
    for (int d = end - 1; d >= first; --d) {
        val size = wf__ptx_index_field(g, WF__PTX_BOX, d), count = wf__ptx_index_field(g, WF__PTX_BOXES, d),
            c = wf__ptx_take_digit(g, rest, count);
        val sum = wf__ptx_new_index(g), product = wf__ptx_new_index(g);
        s->lo[d] = wf__ptx_new_index(g);
        s->hi[d] = wf__ptx_new_index(g);
        EMIT(g, "mul.lo.$1 $0, $2, $3", s->lo[d], wf__ptx_index_type(g), c, size);
        EMIT(g, "add.$1 $0, $2, $3", s->hi[d], wf__ptx_index_type(g), s->lo[d], size);
        EMIT(g, "min.$1 $0, $0, $2", s->hi[d], wf__ptx_index_type(g), wf__ptx_index_field(g, WF__PTX_EXTENT, d));
        EMIT(g, "mad.lo.$1 $0, $2, $3, $4", sum, wf__ptx_index_type(g), c, times, part);
        EMIT(g, "mul.lo.$1 $0, $2, $3", product, wf__ptx_index_type(g), count, times);
        part = sum;
        times = product;
    }
    return part;
}

wf__ptx_loop wf__ptx_begin_loop(gen *g, val first, val end)
{
    val type = wf__ptx_index_type(g), over = wf__ptx_reg(g, V_P);
    wf__ptx_loop t = { wf__ptx_new_index(g), wf__ptx_new_label(g), wf__ptx_new_label(g), wf__ptx_new_label(g) };
    EMIT(g, "add.$1 $0, $2, 0", t.i, type, first);
    wf__ptx_place_label(g, t.again);
    EMIT(g, "setp.ge.$1 $0, $2, $3", over, type, t.i, end);
    EMIT(g, "@$0 bra $1", over, t.done);
    return t;
}

void wf__ptx_end_loop(gen *g, const wf__ptx_loop *t, val step)
{
    wf__ptx_place_label(g, t->next);
    EMIT(g, "add.$1 $0, $0, $2", t->i, wf__ptx_index_type(g), step);
    EMIT(g, "bra $0", t->again);
    wf__ptx_place_label(g, t->done);
}
