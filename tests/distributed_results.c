/* distributed_results.c - results with another number of axes than the distributed arrays that they are computed from. */
#include "distributed_cases.h"
#include <stdio.h>

static const wf_shape shapes[] = { { .rank = 3, .dim = { 13, 12, 17 } }, { .rank = 3, .dim = { 1, 30, 7 } },
                                   { .rank = 3, .dim = { 5, 2, 1 } },    { .rank = 2, .dim = { 30, 41 } },
                                   { .rank = 2, .dim = { 3, 50 } },      { .rank = 2, .dim = { 1, 1 } } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Returns a result for a value of an open recording of points. */
static wf_array *beside_value(wf_graph *g, wf_shape shape, wf_val value)
{
    wf_array *out = wf_empty_beside(wf_graph_context(g), WF_F32, shape, .graph = g, .value = value);
    if (out)
        wf_out(g, out, value);
    return out;
}

/* Fails if a result is distributed that all ranks compute alike from an array which they divide. */
static wf_array *on_every_rank(distributed_world *w, const wf_array *of, wf_array *out)
{
    const wf_dist *dist = wf_array_dist(of);
    bool divided = false;
    for (int d = 0; dist && d < dist->shape.rank; ++d)
        divided = divided || (dist->grid[d] > 1 && dist->shape.dim[d] > 1);
    if (divided && wf_array_dist(out) && w->status == WF_OK) {
        w->status = WF_ERR_CONTRACT;
        snprintf(w->text, sizeof w->text, "result %d is distributed", w->results);
    }
    return out;
}

/* ---- kept values ---- */
/* The element in the middle of an axis, along the others all. */
static wf_val middle(wf_graph *g, const wf_array *a, int axis)
{
    const wf_shape shape = wf_array_shape(a), rest = shape_without(shape, axis);
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d)
        index[d] = d == axis ? wf_cast((double)(shape.dim[d] / 2), WF_I64) : wf_iota(g, rest, d < axis ? d : d - 1);
    return wf_read_n(g, a, (wf_vals){ index, (size_t)shape.rank });
}

/* Fewer axes: slices, parts of reductions without the reduced axes, all elements in one axis. */
static void kept_with_fewer(distributed_world *w, wf_array *a)
{
    const wf_shape shape = wf_array_shape(a), flat = WF_SHAPE(wf_array_count(a));
    for (int axis = 0; axis < shape.rank; ++axis) {
        const wf_shape rest = shape_without(shape, axis);
        wf_graph *g = wf_begin(w->ctx);
        wf_array *slice = wf_keep(middle(g, a, axis)), *twice = wf_keep(wf_add(wf_mul(middle(g, a, axis), 2), 1));
        wf_array *part = wf_keep(wf_reshape(wf_slice(wf_in(g, a), axis, 0, 1, 1), rest));
        world_run(w, g);
        world_result(w, world_divided(w, slice));
        world_result(w, world_divided(w, twice));
        world_result(w, world_divided(w, part));
    }
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_in(g, a);
    wf_array *line = wf_keep(wf_reshape(wf_mul(v, 0.5), flat)), *sums = wf_keep(wf_sum(middle(g, a, 0), WF_AXES(0))),
             *all = wf_keep(wf_sum(middle(g, a, 0), WF_ALL_AXES));
    world_run(w, g);
    world_result(w, world_divided(w, line));
    world_result(w, sums);
    world_result(w, all);
}

/* More axes: an axis in front, outer products, products with values that ranks have joined. */
static void kept_with_more(distributed_world *w, wf_array *a)
{
    const wf_shape shape = wf_array_shape(a), front = { .rank = shape.rank + 1, .dim = { 3, 1, 1, 1 } };
    wf_shape more = front;
    for (int d = 0; d < shape.rank; ++d)
        more.dim[d + 1] = shape.dim[d];
    wf_array *times = world_whole(w, WF_F32, front, 81), *vector = world_filled(w, WF_F32, WF_SHAPE(19), 82);
    wf_array *own = world_whole(w, WF_F32, more, 83);
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_in(g, a), u = wf_in(g, vector), column = wf_reshape(u, WF_SHAPE(19, 1));
    wf_array *outer = wf_keep(wf_mul(column, u)), *product = wf_keep(wf_mul(wf_in(g, times), v));
    wf_array *numbered = wf_keep(wf_sub(v, wf_iota(g, more, 0)));
    wf_array *joined = wf_keep(wf_mul(wf_in(g, own), wf_sum(v, WF_ALL_AXES)));
    wf_array *partly = wf_keep(wf_mul(wf_in(g, times), wf_sum(v, WF_AXES(shape.rank - 1))));
    wf_array *both = wf_keep(wf_sum(wf_mul(wf_in(g, times), v), WF_AXES(0)));
    world_run(w, g);
    world_result(w, world_divided(w, outer));
    world_result(w, world_divided(w, product));
    world_result(w, world_divided(w, numbered));
    world_result(w, on_every_rank(w, a, joined));
    world_result(w, partly);
    world_result(w, world_divided(w, both));
    wf_release(times);
    wf_release(vector);
    wf_release(own);
}

/* ---- spaces of points ---- */
static void points(distributed_world *w, wf_array *a)
{
    const wf_shape shape = wf_array_shape(a);
    wf_val index[WF_MAX_RANK], k;
    for (int axis = 0; axis < shape.rank; ++axis) { /* sums along an axis in a loop, in spaces of the others */
        const wf_shape rest = shape_without(shape, axis);
        wf_graph *g = wf_begin(w->ctx, .shape = rest);
        wf_var sum = wf_local(g, WF_F32, 0);
        WF_FOR (g, k, 0, (int)shape.dim[axis], 1) {
            wf_inc(sum, wf_read_n(g, a, indices_on_line(g, index, shape.rank, axis, k)));
            WF_END(g);
        }
        wf_array *out = beside_value(g, rest, wf_get(sum));
        world_run(w, g);
        world_result(w, world_divided(w, out));
    }
    const wf_shape more = { .rank = shape.rank + 1, .dim = { shape.dim[0], 4, shape.dim[1], shape.dim[2] } };
    wf_graph *g = wf_begin(w->ctx, .shape = more);
    for (int d = 0; d < shape.rank; ++d)
        index[d] = wf_index(g, d ? d + 1 : 0);
    wf_val v = wf_read_n(g, a, (wf_vals){ index, (size_t)shape.rank });
    wf_array *out = beside_value(g, more, wf_mul(v, wf_add(wf_cast(wf_index(g, 1), WF_F32), 0.5)));
    world_run(w, g);
    world_result(w, world_divided(w, out));
}

/* Positions from memory: in an ordinary array all ranks get all elements, in a distributed one each rank its own. */
static void positions(distributed_world *w, wf_array *a)
{
    const wf_shape shape = wf_array_shape(a);
    wf_val index[WF_MAX_RANK];
    for (int distributed = 0; distributed < 2; ++distributed) {
        const wf_shape many = shape.rank == 1 ? WF_SHAPE(6, 5) : WF_SHAPE(30);
        wf_array *at = world_positions(w, many, (int)shape.dim[0], 0, distributed);
        wf_graph *g = wf_begin(w->ctx);
        for (int d = 0; d < shape.rank; ++d)
            index[d] = wf_mod(wf_add(wf_in(g, at), d), (double)shape.dim[d]);
        wf_array *out = wf_keep(wf_read_n(g, a, (wf_vals){ index, (size_t)shape.rank }));
        world_run(w, g);
        world_result(w, distributed ? world_divided(w, out) : on_every_rank(w, a, out));
        wf_release(at);
    }
}

/* ---- reductions that drop axes ---- */
static void dropped(distributed_world *w, wf_array *a)
{
    const wf_shape shape = wf_array_shape(a);
    for (wf_axes axes = 1; axes < (wf_axes)1 << shape.rank; ++axes)
        for (int drops = 0; drops < 2; ++drops) {
            wf_shape kept = { .rank = 0 };
            for (int d = 0; d < shape.rank; ++d)
                if (!(axes >> d & 1) || !drops)
                    kept.dim[kept.rank++] = axes >> d & 1 ? 1 : shape.dim[d];
            const wf_array *from[] = { NULL, a };
            wf_array *out = wf_empty_beside(w->ctx, WF_F64, kept, .operand = from, .operands = 2,
                                            .reduced = axes | (drops ? WF_DROP_AXES : 0));
            wf_graph *g = wf_begin(w->ctx, .shape = shape, .reduce = axes);
            wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
            wf_inc(sum, wf_cast(wf_mul(wf_in(g, a), 0.3), WF_F64));
            wf_section(g, WF_SECTION_POST);
            wf_out(g, out, wf_mul(sum, 2));
            world_run(w, g);
            world_result(w, out);
        }
}

/* ---- texts ---- */
static void text(distributed_world *w, const char *source, wf_args args)
{
    const char *want[] = { "out" };
    wf_array *made[1] = { NULL };
    wf_text_create(w->ctx, source, args, 0, want, 1, made);
    world_failed(w);
    world_result(w, world_divided(w, made[0]));
}

static void texts(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, WF_SHAPE(13, 12, 17), 84), *b = world_filled(w, WF_F32, WF_SHAPE(12, 17), 85);
    wf_array *plane = wf_empty(w->ctx, WF_F32, WF_SHAPE(13, 12)),
             *volume = wf_empty(w->ctx, WF_F32, WF_SHAPE(5, 12, 17));
    const wf_args smaller = WF_ARGS(WF_ARG("", plane), WF_ARG("a", a)),
                  larger = WF_ARGS(WF_ARG("", volume), WF_ARG("b", b));
    text(w, "out[y, x] = a[y, x, 3] - a[y, x, 16]", smaller);
    text(w, "f32 s = 0; for (int k = 0; k < 17; k++) s += a[y, x, k]; out = s", smaller);
    text(w, "if (a[y, x, 2] > 0) out[y, x] = 1; else out[y, x] = a[y, x, 3]", smaller);
    text(w, "n = a - mean(a); out[y, x] = n[x, y, 3; clamp]", smaller);
    text(w, "out[z, y, x] = b[y, x] * (z + 1)", larger);
    text(w, "out = b * (z + 1)", larger);
    text(w, "out = a * b - mean(b; 0)", WF_ARGS(WF_ARG("a", a), WF_ARG("b", b)));
    wf_release(a);
    wf_release(b);
    wf_release(plane);
    wf_release(volume);
}

/* ---- ordinary arrays that a launch stores besides ---- */
typedef struct several { /* [13, 12], but for line [12] and bins [8] */
    wf_array *a, *b;     /* distributed */
    wf_array *own, *other, *line, *bins, *total;
} several;

static void points_besides(wf_graph *g, const several *s)
{
    wf_val y = wf_index(g, 0), x = wf_index(g, 1);
    wf_out(g, s->b, wf_read_border(g, s->a, WF_BORDER_CLAMP, 0, wf_add(y, 1), x));
    wf_out(g, s->other, wf_cast(wf_mul(y, x), WF_F32));
}

static void as_before(wf_graph *g, const several *s) /* the ordinary array as it was before the launch */
{
    wf_out(g, s->b, wf_add(wf_in(g, s->a), wf_in(g, s->own)));
    wf_out(g, s->own, wf_mul(wf_in(g, s->own), 2));
}

static void as_after(wf_graph *g, const several *s) /* as the launch has made it */
{
    wf_out(g, s->own, wf_add(wf_in(g, s->own), wf_read(g, s->line, wf_index(g, 1))));
    wf_out(g, s->b, wf_mul(wf_in(g, s->a), wf_in(g, s->own)));
}

static void in_conditions(wf_graph *g, const several *s)
{
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), k;
    WF_IF (g, wf_gt(wf_read(g, s->line, x), 0)) {
        wf_write(g, s->other, wf_cast(y, WF_F32), y, x);
        wf_write(g, s->b, wf_in(g, s->a), y, x);
        WF_END(g);
    }
    WF_FOR (g, k, 0, 3, 1) {
        wf_write(g, s->own, wf_cast(wf_add(k, y), WF_F32), y, k);
        WF_END(g);
    }
}

static void gathered(wf_graph *g, const several *s) /* elements of other ranks */
{
    wf_val x = wf_index(g, 1), row = wf_mod(wf_cast(wf_abs(wf_mul(wf_in(g, s->own), 7)), WF_I64), 13);
    wf_out(g, s->b, wf_read(g, s->a, row, x));
    wf_out(g, s->other, wf_read(g, s->a, 3, 4));
}

static void beside_counts(wf_graph *g, const several *s) /* a histogram, which ranks join */
{
    wf_accumulate(g, WF_JOIN_ADD, s->bins, 1, wf_cast(wf_clamp(wf_in(g, s->a), 0, 7), WF_I64));
    wf_write(g, s->other, wf_read(g, s->line, wf_index(g, 1)), wf_index(g, 0), wf_index(g, 1));
}

static void beside_sum(wf_graph *g, const several *s)
{
    wf_var total = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_inc(total, wf_cast(wf_in(g, s->a), WF_F64));
    wf_write(g, s->other, wf_read(g, s->line, wf_index(g, 1)), wf_index(g, 0), wf_index(g, 1));
    wf_write(g, s->b, wf_mul(wf_in(g, s->a), 3), wf_index(g, 0), wf_index(g, 1));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, s->total, total);
}

static void lazily(wf_graph *g, const several *s)
{
    wf_val sum = wf_cast(wf_sum(wf_in(g, s->a), WF_ALL_AXES), WF_F32);
    wf_out(g, s->other, wf_mul(wf_in(g, s->own), 3));
    wf_out(g, s->b, wf_sub(wf_in(g, s->a), wf_in(g, s->own)));
    wf_out(g, s->own, wf_mul(wf_in(g, s->own), sum));
}

static void stored_besides(distributed_world *w)
{
    void (*const record[])(wf_graph *, const several *) = { points_besides, as_before,     as_after,   in_conditions,
                                                            gathered,       beside_counts, beside_sum, lazily };
    const wf_shape shape = WF_SHAPE(13, 12);
    const several s = { world_filled(w, WF_F32, shape, 86),        world_filled(w, WF_F32, shape, 89),
                        world_whole(w, WF_F32, shape, 87),         wf_full(w->ctx, WF_F32, shape, 0),
                        world_whole(w, WF_F32, WF_SHAPE(12), 88),  wf_full(w->ctx, WF_I32, WF_SHAPE(8), 0),
                        wf_full(w->ctx, WF_F64, WF_SHAPE(1, 1), 0) };
    wf_array *all[] = { s.a, s.b, s.own, s.other, s.line, s.bins, s.total };
    for (size_t i = 0; i < sizeof record / sizeof *record; ++i) {
        wf_graph *g = record[i] == lazily       ? wf_begin(w->ctx)
                      : record[i] == beside_sum ? wf_begin(w->ctx, .shape = shape, .reduce = WF_ALL_AXES)
                                                : wf_begin(w->ctx, .shape = shape);
        record[i](g, &s);
        world_run(w, g);
        for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
            world_result(w, wf_retain(all[k]));
    }
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
}

void distributed_results(distributed_world *w)
{
    for (int i = 0; i < SHAPES && w->status == WF_OK; ++i) {
        wf_array *a = world_filled(w, WF_F32, shapes[i], 80);
        kept_with_fewer(w, a);
        kept_with_more(w, a);
        points(w, a);
        positions(w, a);
        dropped(w, a);
        wf_release(a);
    }
    texts(w);
    stored_besides(w);
}
