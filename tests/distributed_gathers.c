/* distributed_gathers.c - cases that read distributed arrays at indices from memory along axes that ranks divide. */
#include "distributed_cases.h"

static const wf_shape shapes[] = { { .rank = 3, .dim = { 13, 12, 17 } },
                                   { .rank = 2, .dim = { 30, 41 } },
                                   { .rank = 1, .dim = { 1000 } },
                                   { .rank = 2, .dim = { 3, 50 } } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Integers from -low to n - 1 + low for each point of a shape, in an array that each rank has, or that is distributed. */
static wf_array *indices(distributed_world *w, wf_shape shape, int n, int low, uint64_t seed, bool distributed)
{
    wf_array *at = distributed ? world_filled(w, WF_I32, shape, seed) : world_whole(w, WF_I32, shape, seed);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_out(g, at, wf_sub(wf_mod(wf_add(wf_in(g, at), 30000), n + 2 * low), low));
    world_run(w, g);
    return at;
}

/* ---- border modes ---- */
/* Indices from memory along some of the axes, the points' own along the others. */
static wf_val read_by(wf_graph *g, wf_array *a, wf_array *const *at, wf_axes random, wf_border border)
{
    const int rank = wf_array_shape(a).rank;
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < rank; ++d)
        index[d] = random >> d & 1 ? wf_in(g, at[d]) : wf_index(g, d);
    const wf_vals all = { index, (size_t)rank };
    return border == WF_BORDER_NONE
               ? wf_read_n(g, a, all)
               : wf_read_border_n(g, a, border, wf_mul(wf_cast(wf_index(g, 0), WF_F32), 0.125), all);
}

static void border_modes(distributed_world *w, wf_shape shape, bool distributed)
{
    wf_array *a = world_filled(w, WF_F32, shape, 60), *at[WF_MAX_RANK], *near[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d) {
        near[d] = indices(w, shape, (int)shape.dim[d], 0, 61 + (uint64_t)d, distributed);
        at[d] = indices(w, shape, (int)shape.dim[d], 2 * (int)shape.dim[d] + 1, 71 + (uint64_t)d, distributed);
    }
    for (wf_axes random = 1; random < (wf_axes)1 << shape.rank; ++random) {
        wf_array *out = world_empty(w, WF_F32, shape);
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val v = wf_add(wf_in(g, a), read_by(g, a, near, random, WF_BORDER_NONE));
        for (int border = WF_BORDER_VALUE; border <= WF_BORDER_REFLECT; ++border)
            v = wf_add(wf_mul(v, 0.5), read_by(g, a, at, random, (wf_border)border));
        wf_out(g, out, v);
        world_run(w, g);
        world_result(w, out);
    }
    for (int d = 0; d < shape.rank; ++d) {
        wf_release(at[d]);
        wf_release(near[d]);
    }
    wf_release(a);
}

/* ---- dtypes ---- */
static void dtypes(distributed_world *w)
{
    static const wf_dtype all[] = { WF_BOOL, WF_U8, WF_I16, WF_F16, WF_I64, WF_F64, WF_C32, WF_C64, WF_C128 };
    const wf_shape shape = WF_SHAPE(29, 23);
    wf_array *at = indices(w, shape, 29, 3, 81, true), *from = world_filled(w, WF_F64, shape, 82);
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        wf_array *a = world_empty(w, all[k], shape), *out = world_empty(w, all[k], shape);
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val v = wf_in(g, from);
        v = wf_dtype_kind(all[k]) == WF_KIND_COMPLEX ? wf_complex(v, wf_sub(2, v)) : wf_abs(v);
        wf_out(g, a, all[k] == WF_BOOL ? wf_gt(v, 3) : wf_cast(v, all[k]));
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = shape);
        wf_out(g, out, wf_read_border(g, a, WF_BORDER_VALUE, wf_cast(1, all[k]), wf_in(g, at), wf_index(g, 1)));
        world_run(w, g);
        wf_release(a);
        world_result(w, out);
    }
    wf_release(at);
    wf_release(from);
}

/* ---- index spaces ---- */
/* Of indices that are gathered themselves, under conditions, and the same for all turns of a loop. */
static void spaces(distributed_world *w)
{
    const int n = 700;
    wf_array *a = world_filled(w, WF_F32, WF_SHAPE(n), 83), *b = indices(w, WF_SHAPE(n), n, 0, 84, true);
    wf_array *c = indices(w, WF_SHAPE(n), n, 0, 85, true), *y[3];
    for (int k = 0; k < 3; ++k)
        y[k] = world_empty(w, WF_F32, WF_SHAPE(n));
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(n));
    wf_val x = wf_index(g, 0), k, far = wf_read(g, a, wf_read(g, b, wf_read(g, c, wf_sub(n - 1, x))));
    wf_out(g, y[0], wf_add(far, wf_read(g, a, wf_read(g, b, x))));
    wf_var v = wf_local(g, WF_F32, 0);
    WF_IF (g, wf_gt(wf_in(g, a), 0)) {
        wf_set(v, wf_read(g, a, wf_in(g, b)));
        WF_END(g);
    }
    wf_out(g, y[1], v);
    wf_var sum = wf_local(g, WF_F32, 0);
    wf_val there = wf_in(g, c);
    WF_FOR (g, k, 0, 3, 1) {
        wf_set(sum, wf_add(wf_mul(sum, 0.5), wf_add(wf_read(g, a, there), wf_cast(k, WF_F32))));
        WF_END(g);
    }
    wf_out(g, y[2], sum);
    world_run(w, g);
    wf_release(a);
    wf_release(b);
    wf_release(c);
    for (int i = 0; i < 3; ++i)
        world_result(w, y[i]);
}

/* An array that is also read by neighbours across its ends, and transposed, and that the launch overwrites. */
static void mixed(distributed_world *w)
{
    const wf_shape shape = WF_SHAPE(31, 31);
    wf_array *a = world_filled(w, WF_F32, shape, 98), *at = indices(w, shape, 31, 0, 99, true);
    wf_array *out = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), far = wf_read(g, a, wf_in(g, at), x);
    wf_val v = wf_read_border(g, a, WF_BORDER_PERIODIC, 0, wf_sub(y, 2), wf_add(x, 3));
    v = wf_add(v, wf_mul(wf_read(g, a, x, y), 0.5));
    wf_out(g, out, wf_add(v, far));
    wf_val also = wf_read_border(g, a, WF_BORDER_PERIODIC, 0, wf_in(g, at), wf_add(x, 7));
    wf_out(g, a, wf_add(wf_read(g, a, y, wf_in(g, at)), also));
    world_run(w, g);
    wf_release(at);
    world_result(w, out);
    world_result(w, a);
}

/* Rows of a table by their numbers, as of coordinates, and sums of what they have. */
static void rows(distributed_world *w)
{
    const int n = 500, points = 900;
    wf_array *table = world_filled(w, WF_F64, WF_SHAPE(n, 3), 86), *at = indices(w, WF_SHAPE(points), n, 0, 87, true);
    wf_array *some = indices(w, WF_SHAPE(7), n, 0, 88, false), *probes = wf_empty(w->ctx, WF_F64, WF_SHAPE(7));
    wf_array *out = world_empty(w, WF_F64, WF_SHAPE(points)), *total = world_single(w, WF_F64, 1);
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(points), .reduce = WF_ALL_AXES);
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_val row = wf_in(g, at), r2 = wf_const(g, WF_F64, 0);
    for (int k = 0; k < 3; ++k)
        r2 = wf_add(r2, wf_mul(wf_read(g, table, row, k), wf_read(g, table, row, k)));
    wf_inc(sum, r2);
    wf_out(g, out, wf_sqrt(r2));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, total, sum);
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(7)); /* elements at a few places, which all ranks get */
    wf_out(g, probes, wf_read(g, table, wf_in(g, some), 1));
    world_run(w, g);
    wf_release(table);
    wf_release(at);
    wf_release(some);
    world_result(w, out);
    world_result(w, total);
    world_result(w, probes);
}

/* Elements of an array that the launch overwrites. */
static void in_place(distributed_world *w, wf_shape shape)
{
    wf_array *a = world_filled(w, WF_F32, shape, 89), *at = indices(w, shape, (int)shape.dim[0], 0, 97, true);
    wf_val index[WF_MAX_RANK];
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_out(g, a, wf_read_n(g, a, indices_at_point(g, index, shape.rank, 0, wf_in(g, at))));
    world_run(w, g);
    wf_release(at);
    world_result(w, a);
}

/* ---- array graphs ---- */
/* Of values that are computed, scanned and reduced, of an array that the recording writes before, and into kept arrays. */
static void graphs(distributed_world *w, wf_shape shape, bool distributed)
{
    const int n = (int)shape.dim[0];
    wf_array *a = world_filled(w, WF_F32, shape, 90), *at = indices(w, shape, n, 0, 91, distributed);
    wf_array *off = indices(w, shape, n, 4, 92, distributed), *out = world_empty(w, WF_F32, shape);
    wf_val own[WF_MAX_RANK], outside[WF_MAX_RANK];
    wf_graph *g = wf_begin(w->ctx);
    for (int d = 0; d < shape.rank; ++d) {
        own[d] = d ? wf_iota(g, shape, d) : wf_in(g, at);
        outside[d] = d ? wf_iota(g, shape, d) : wf_in(g, off);
    }
    const wf_vals by = { own, (size_t)shape.rank }, beyond = { outside, (size_t)shape.rank };
    wf_val v = wf_gather_or_n(wf_in(g, a), wf_mul(wf_in(g, a), 2), beyond);
    v = wf_add(v, wf_gather_n(wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 0.5), 0, false, false), by));
    v = wf_add(v, wf_gather_n(wf_exp(wf_mul(v, 0.001)), by));
    wf_out(g, out, v);
    wf_val shift = wf_mod(wf_cast(wf_sum(wf_in(g, a), WF_ALL_AXES), WF_I64), 3); /* the same for all points */
    outside[0] = wf_add(outside[0], shift);
    wf_array *kept = wf_keep(wf_gather_or_n(wf_in(g, out), wf_const(g, WF_F32, -1), beyond)),
             *sum = wf_keep(wf_sum(wf_in(g, out), WF_AXES(0)));
    world_run(w, g);
    world_result(w, wf_retain(out));
    world_result(w, kept);
    world_result(w, sum);
    wf_release(a);
    wf_release(at);
    wf_release(off);
    wf_release(out);
}

/* A prepared kernel again, with other elements and other indices. */
static void repeated(distributed_world *w)
{
    const wf_shape shape = WF_SHAPE(40, 33);
    wf_array *a = world_filled(w, WF_F32, shape, 93), *at = indices(w, shape, 33, 0, 94, true);
    wf_array *out = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_array *x = wf_formal(g, "a", WF_F32, 2), *i = wf_formal(g, "i", WF_I32, 2), *y = wf_formal(g, "y", WF_F32, 2);
    wf_out(g, y, wf_add(wf_read(g, x, wf_index(g, 0), wf_in(g, i)), wf_read(g, x, wf_in(g, i), wf_index(g, 1))));
    wf_kernel *k = wf_compile(g);
    for (int turn = 0; turn < 4; ++turn) {
        wf_launch(k, WF_ARGS(WF_ARG("a", a), WF_ARG("i", at), WF_ARG("y", out)));
        world_failed(w);
        world_result(w, wf_retain(out));
        wf_array *of = turn % 2 ? at : a;
        g = wf_begin(w->ctx, .shape = shape);
        wf_out(g, of, turn % 2 ? wf_mod(wf_add(wf_in(g, of), 5), 33) : wf_sub(wf_in(g, of), 1));
        world_run(w, g);
        world_spoil(w, a);
    }
    wf_kernel_free(k);
    wf_release(a);
    wf_release(at);
    wf_release(out);
}

/* Indices from memory that the recording keeps near the point, within the array, and within a table of few elements. */
static void limits(distributed_world *w, wf_shape shape)
{
    const int n = (int)shape.dim[0];
    wf_array *a = world_filled(w, WF_F32, shape, 54), *table = world_filled(w, WF_F32, WF_SHAPE(7), 55);
    wf_array *at = indices(w, shape, n, 3 * n, 56, true), *out = world_empty(w, WF_F32, shape);
    wf_val index[3][WF_MAX_RANK];
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val y = wf_index(g, 0), free = wf_cast(wf_in(g, at), WF_I64);
    wf_val near = wf_clamp(wf_add(y, wf_clamp(wf_sub(free, y), -2, 3)), 0, n - 1);
    wf_val v = wf_read_n(g, a, indices_at_point(g, index[0], shape.rank, 0, near));
    v = wf_add(v, wf_mul(wf_read_n(g, a, indices_at_point(g, index[1], shape.rank, 0, wf_clamp(free, 0, n - 1))), 0.5));
    v = wf_sub(v, wf_read_border_n(g, a, WF_BORDER_CLAMP, wf_const(g, WF_F32, 0),
                                   indices_at_point(g, index[2], shape.rank, 0, wf_mod(free, n + 4))));
    wf_out(g, out, wf_add(v, wf_read(g, table, wf_clamp(free, 0, 6))));
    world_run(w, g);
    wf_release(a);
    wf_release(table);
    wf_release(at);
    world_result(w, out);
}

/* Enough points for several threads, some with the same element as their neighbour. */
static void many(distributed_world *w)
{
    const wf_shape shape = WF_SHAPE(311, 401);
    wf_array *a = world_filled(w, WF_F32, shape, 58), *at = indices(w, shape, 311, 50, 57, true);
    wf_array *out = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val i = wf_in(g, at), j = wf_mul(wf_idiv(wf_in(g, at), 9), wf_idiv(wf_index(g, 1), 5));
    wf_out(g, out, wf_read_border(g, a, WF_BORDER_VALUE, 7, wf_select(wf_gt(j, 300), i, 20), wf_mul(j, 2)));
    world_run(w, g);
    wf_release(a);
    wf_release(at);
    world_result(w, out);
}

/* Without points, and of arrays without elements. */
static void nothing(distributed_world *w)
{
    wf_array *none = world_empty(w, WF_F32, WF_SHAPE(0, 6)), *a = world_filled(w, WF_F32, WF_SHAPE(9, 6), 95);
    wf_array *no_at = world_empty(w, WF_I32, WF_SHAPE(0, 6)), *at = indices(w, WF_SHAPE(9, 6), 9, 2, 96, true);
    wf_array *no_out = world_empty(w, WF_F32, WF_SHAPE(0, 6)), *out = world_empty(w, WF_F32, WF_SHAPE(9, 6));
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(0, 6));
    wf_out(g, no_out, wf_read(g, a, wf_in(g, no_at), wf_index(g, 1)));
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(9, 6));
    wf_val v = wf_read_border(g, none, WF_BORDER_CLAMP, 0, wf_in(g, at), wf_index(g, 1));
    wf_out(g, out, wf_add(v, wf_read_border(g, none, WF_BORDER_VALUE, 5, wf_in(g, at), wf_index(g, 1))));
    world_run(w, g);
    wf_release(none);
    wf_release(a);
    wf_release(no_at);
    wf_release(at);
    wf_release(no_out);
    world_result(w, out);
}

void distributed_gathers_of_ranks(distributed_world *w)
{
    for (int k = 0; k < SHAPES; ++k) {
        border_modes(w, shapes[k], k != 1);
        graphs(w, shapes[k], k != 2);
        in_place(w, shapes[k]);
        limits(w, shapes[k]);
    }
    dtypes(w);
    spaces(w);
    mixed(w);
    rows(w);
    repeated(w);
    many(w);
    nothing(w);
}
