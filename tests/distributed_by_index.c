/* distributed_by_index.c - cases that read and write distributed arrays by index along axes that are whole on each rank. */
#include "distributed_cases.h"

static const wf_shape shapes[] = { { .rank = 3, .dim = { 13, 22, 17 } },
                                   { .rank = 2, .dim = { 30, 41 } },
                                   { .rank = 3, .dim = { 5, 64, 3 } } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- reads ---- */
/* Indices from a distributed array and from one that each rank has, border modes, neighbours along the other axes. */
static void gather(distributed_world *w, wf_shape shape, int along)
{
    const wf_axes whole = (wf_axes)1 << along;
    const int n = (int)shape.dim[along];
    const int next = along ? 0 : 1;
    wf_array *a = world_filled_along(w, WF_F32, shape, 33, whole), *out = world_empty_along(w, WF_F32, shape, whole);
    wf_array *at = world_positions(w, shape, n, whole, true), *line = world_positions(w, WF_SHAPE(n), n, 0, false);
    wf_val index[WF_MAX_RANK];
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val i = wf_in(g, at), j = wf_read(g, line, wf_index(g, along));
    wf_val v = wf_read_n(g, a, indices_at_point(g, index, shape.rank, along, i));
    v = wf_add(wf_mul(v, 3), wf_read_n(g, a, indices_at_point(g, index, shape.rank, along, j)));
    for (int border = WF_BORDER_VALUE; border <= WF_BORDER_REFLECT; ++border) {
        wf_vals near = indices_at_point(g, index, shape.rank, along, wf_sub(wf_add(i, j), 2));
        index[next] = wf_add(index[next], border - 1);
        v = wf_add(wf_mul(v, 0.5), wf_read_border_n(g, a, (wf_border)border, wf_const(g, WF_F32, 0.25), near));
    }
    wf_out(g, out, v);
    world_run(w, g);
    world_result(w, wf_retain(out));
    g = wf_begin(w->ctx); /* of values and scans, which are temporary arrays */
    for (int d = 0; d < shape.rank; ++d)
        index[d] = d == along ? wf_in(g, at) : wf_iota(g, shape, d);
    const wf_vals all = { index, (size_t)shape.rank };
    v = wf_gather_n(wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 0.5), along, false, false), all);
    v = wf_scan(WF_JOIN_MAX, wf_add(v, wf_gather_n(wf_exp(wf_mul(wf_in(g, a), 0.1)), all)), next, false, true);
    wf_out(g, out, wf_gather_n(v, all));
    world_run(w, g);
    wf_release(a);
    wf_release(at);
    wf_release(line);
    world_result(w, out);
}

/* Other axes of the space than of the array: its rows are columns there. */
static void gather_turned(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(19, 11, 24);
    wf_array *a = world_filled_along(w, WF_F32, shape, 34, WF_AXES(1));
    wf_array *out = world_empty_along(w, WF_F32, WF_SHAPE(24, 19), 0),
             *at = world_positions(w, WF_SHAPE(24, 19), 11, 0, true);
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(24, 19));
    wf_out(g, out, wf_read(g, a, wf_index(g, 1), wf_in(g, at), wf_index(g, 0)));
    world_run(w, g);
    wf_release(a);
    wf_release(at);
    world_result(w, out);
}

void distributed_gathers(distributed_world *w)
{
    for (int k = 0; k < SHAPES; ++k)
        for (int along = 0; along < shapes[k].rank; ++along)
            gather(w, shapes[k], along);
    gather_turned(w);
}

/* ---- recurrences ---- */
/* Tridiagonal equations along an axis, solved in a space without it: forwards, and backwards from what that has stored. */
static void solve(distributed_world *w, wf_shape shape, int along)
{
    const wf_axes whole = (wf_axes)1 << along;
    const int n = (int)shape.dim[along];
    wf_array *a = world_filled_along(w, WF_F64, shape, 35, whole), *y = world_filled_along(w, WF_F64, shape, 36, whole);
    wf_array *c = world_empty_along(w, WF_F64, shape, whole);
    wf_val index[WF_MAX_RANK], k;
    wf_graph *g = wf_begin(w->ctx, .shape = shape_without(shape, along));
    wf_write_n(g, c, wf_const(g, WF_F64, 0.25), indices_on_line(g, index, shape.rank, along, wf_const(g, WF_I64, 0)));
    WF_FOR (g, k, 1, n, 1) {
        wf_val before = wf_read_n(g, c, indices_on_line(g, index, shape.rank, along, wf_sub(k, 1)));
        wf_val pivot =
            wf_sub(wf_add(wf_abs(wf_read_n(g, a, indices_on_line(g, index, shape.rank, along, k))), 4), before);
        wf_write_n(g, c, wf_div(1, pivot), indices_on_line(g, index, shape.rank, along, k));
        before = wf_read_n(g, y, indices_on_line(g, index, shape.rank, along, wf_sub(k, 1)));
        wf_val v = wf_sub(wf_read_n(g, y, indices_on_line(g, index, shape.rank, along, k)), before);
        wf_write_n(g, y, wf_div(v, pivot), indices_on_line(g, index, shape.rank, along, k));
        WF_END(g);
    }
    WF_FOR (g, k, 2, n + 1, 1) {
        wf_val at = wf_sub(n, k), after = wf_read_n(g, y, indices_on_line(g, index, shape.rank, along, wf_add(at, 1)));
        after = wf_mul(after, wf_read_n(g, c, indices_on_line(g, index, shape.rank, along, at)));
        wf_val v = wf_read_n(g, y, indices_on_line(g, index, shape.rank, along, at));
        wf_write_n(g, y, wf_sub(v, after), indices_on_line(g, index, shape.rank, along, at));
        WF_END(g);
    }
    world_run(w, g);
    wf_release(a);
    world_result(w, c);
    world_result(w, y);
}

/* Sums along an axis in place, with neighbours of another array, and a reduction that all ranks join. */
static void sum_up(distributed_world *w, wf_shape shape, int along)
{
    const wf_axes whole = (wf_axes)1 << along;
    const int n = (int)shape.dim[along];
    const int next = along ? 0 : 1;
    wf_array *a = world_filled_along(w, WF_F32, shape, 37, whole), *y = world_filled_along(w, WF_F32, shape, 38, whole);
    const wf_shape space = shape_without(shape, along);
    wf_array *total = world_single(w, WF_F64, space.rank);
    wf_val index[WF_MAX_RANK], k;
    wf_graph *g = wf_begin(w->ctx, .shape = space, .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    WF_FOR (g, k, 1, n, 1) {
        wf_vals near = indices_on_line(g, index, shape.rank, along, k);
        index[next] = wf_add(index[next], 2);
        wf_val v = wf_read_border_n(g, a, WF_BORDER_MIRROR, wf_const(g, WF_F32, 0), near);
        v = wf_add(v, wf_mul(wf_read_n(g, y, indices_on_line(g, index, shape.rank, along, wf_sub(k, 1))), 0.5));
        v = wf_add(v, wf_read_n(g, y, indices_on_line(g, index, shape.rank, along, k)));
        wf_write_n(g, y, v, indices_on_line(g, index, shape.rank, along, k));
        wf_inc(sum, wf_cast(v, WF_F64));
        WF_END(g);
    }
    wf_section(g, WF_SECTION_POST);
    wf_out(g, total, sum);
    world_run(w, g);
    wf_release(a);
    world_result(w, y);
    world_result(w, total);
}

void distributed_recurrences(distributed_world *w)
{
    for (int k = 0; k < SHAPES; ++k)
        for (int along = 0; along < shapes[k].rank; ++along) {
            solve(w, shapes[k], along);
            sum_up(w, shapes[k], along);
        }
}

/* ---- stores ---- */
/* Stores in reversed order, by permutations from memory, of some points only, shifted by a parameter, and every other one. */
static void store(distributed_world *w, wf_shape shape, int along)
{
    const wf_axes whole = (wf_axes)1 << along;
    const int n = (int)shape.dim[along];
    wf_array *a = world_filled_along(w, WF_F32, shape, 39, whole), *y[5];
    wf_array *at = world_empty_along(w, WF_I32, shape, whole), *line = wf_empty(w->ctx, WF_I64, WF_SHAPE(n));
    wf_val index[WF_MAX_RANK];
    for (int k = 0; k < 5; ++k)
        y[k] = world_filled_along(w, WF_F32, shape, 40 + (uint64_t)k, whole);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_out(g, at, permuted_index(g, shape, along));
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(n));
    wf_out(g, line, permuted_index(g, WF_SHAPE(n), 0));
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = shape);
    wf_val v = wf_in(g, a), i = wf_index(g, along), p = wf_param(g, "p", WF_I64, 3);
    wf_write_n(g, y[0], v, indices_at_point(g, index, shape.rank, along, wf_sub(n - 1, i)));
    wf_write_n(g, y[1], wf_mul(v, 2), indices_at_point(g, index, shape.rank, along, wf_in(g, at)));
    wf_write_if_n(g, wf_gt(v, 0), y[2], v, indices_at_point(g, index, shape.rank, along, wf_read(g, line, i)));
    wf_write_n(g, y[3], v, indices_at_point(g, index, shape.rank, along, wf_mod(wf_add(i, p), n)));
    world_run(w, g);
    wf_shape half = shape;
    half.dim[along] = n / 2;
    g = wf_begin(w->ctx, .shape = half);
    i = wf_add(wf_mul(wf_index(g, along), 2), 1);
    wf_write_n(g, y[4], wf_read_n(g, a, indices_at_point(g, index, shape.rank, along, wf_index(g, along))),
               indices_at_point(g, index, shape.rank, along, i));
    world_run(w, g);
    wf_release(a);
    wf_release(at);
    wf_release(line);
    for (int k = 0; k < 5; ++k)
        world_result(w, y[k]);
}

/* Stores of an array graph, of which later operations read neighbours. */
static void store_values(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(26, 12, 15);
    wf_array *a = world_filled_along(w, WF_F32, shape, 45, WF_AXES(1)),
             *line = wf_empty(w->ctx, WF_I64, WF_SHAPE(12, 1));
    wf_array *y = world_filled_along(w, WF_F32, shape, 46, WF_AXES(1)), *out = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(12, 1));
    wf_out(g, line, wf_mod(wf_mul(wf_index(g, 0), 5), 12));
    world_run(w, g);
    g = wf_begin(w->ctx);
    wf_val old = wf_in(g, y);
    wf_write(g, y, wf_exp(wf_mul(wf_in(g, a), 0.1)), wf_iota(g, shape, 0), wf_in(g, line), wf_iota(g, shape, 2));
    wf_val below = wf_min(wf_add(wf_iota(g, shape, 0), 1), 25), v = wf_mul(wf_in(g, y), 2);
    wf_out(g, out, wf_sub(wf_gather(v, below, wf_in(g, line), wf_iota(g, shape, 2)), old));
    world_run(w, g);
    wf_release(a);
    wf_release(line);
    world_result(w, y);
    world_result(w, out);
}

/* Stores to some rows. Ranks that have few columns or none read others of seven rows, before all are overwritten. */
static void store_rows(distributed_world *w, int columns, int first)
{
    wf_shape shape = WF_SHAPE(12, columns), some = WF_SHAPE(5, columns), wide = WF_SHAPE(7, 8 * columns);
    wf_array *a = world_filled_along(w, WF_F32, some, 49, WF_AXES(0)), *rows = wf_empty(w->ctx, WF_I64, WF_SHAPE(5, 1));
    wf_array *y = world_filled_along(w, WF_F32, shape, 50, WF_AXES(0));
    wf_array *out = world_empty_along(w, WF_F32, wide, WF_AXES(0));
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(5, 1));
    wf_out(g, rows, wf_sub(11, wf_mul(wf_index(g, 0), 2)));
    world_run(w, g);
    g = wf_begin(w->ctx);
    wf_write(g, y, wf_mul(wf_in(g, a), 3), wf_in(g, rows), wf_iota(g, some, 1));
    wf_out(g, out, wf_gather(wf_in(g, y), wf_add(wf_iota(g, wide, 0), first), wf_idiv(wf_iota(g, wide, 1), 8)));
    wf_out(g, y, 1.5);
    world_run(w, g);
    wf_release(a);
    wf_release(rows);
    world_result(w, y);
    world_result(w, out);
}

/* Along two axes, of points in another order of axes, that the blocks of another array divide, too. */
static void store_turned(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(9, 20, 14), turned = WF_SHAPE(14, 9, 20);
    wf_array *a = world_filled(w, WF_F32, turned, 47), *line = world_positions(w, WF_SHAPE(1), 9, 0, false);
    for (int along = 0; along < 3; ++along) {
        const wf_axes whole = along == 2 ? WF_AXES(0, 1) : (wf_axes)1 << along;
        wf_array *y = world_filled_along(w, WF_F32, shape, 48, whole);
        wf_graph *g = wf_begin(w->ctx, .shape = turned);
        wf_val i[3] = { wf_index(g, 1), wf_index(g, 2), wf_index(g, 0) };
        if (whole & 1)
            i[0] = wf_mod(wf_add(i[0], wf_read(g, line, 0)), 9);
        if (whole & 2)
            i[1] = wf_sub(19, i[1]);
        wf_write_n(g, y, wf_in(g, a), (wf_vals){ i, 3 });
        world_run(w, g);
        world_result(w, y);
    }
    wf_release(a);
    wf_release(line);
}

void distributed_stores(distributed_world *w)
{
    for (int k = 0; k < SHAPES; ++k)
        for (int along = 0; along < shapes[k].rank; ++along)
            store(w, shapes[k], along);
    store_values(w);
    store_rows(w, 3, 5);
    store_rows(w, 3, 0);
    store_rows(w, 40, 5);
    store_turned(w);
}
