/* distributed_neighbours.c - recordings that read neighbours of a point which are no box, as stars: ranks fetch some elements
 * of a box around their block and not others. Those that are not fetched are NaN.
 */
#include "distributed_cases.h"
#include <stdlib.h>

static const wf_shape shapes[] = { { .rank = 3, .dim = { 9, 10, 11 } }, { .rank = 3, .dim = { 1, 6, 40 } },
                                   { .rank = 3, .dim = { 3, 2, 2 } },   { .rank = 2, .dim = { 17, 23 } },
                                   { .rank = 1, .dim = { 30 } },        { .rank = 4, .dim = { 4, 3, 5, 6 } } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Adds an element of an array at a distance from the point. */
static wf_val add_at(wf_graph *g, wf_val v, wf_array *a, const int *away, wf_border border)
{
    const int rank = wf_array_shape(a).rank;
    wf_val index[WF_MAX_RANK];
    for (int d = 0; d < rank; ++d)
        index[d] = wf_add(wf_index(g, d), away[d]);
    const wf_vals place = { index, (size_t)rank };
    return wf_add(wf_mul(v, 0.75), wf_read_border_n(g, a, border, wf_const(g, WF_F32, 0.25), place));
}

/* A star of the element itself and width[d] elements on both sides along each axis. */
static wf_val star(wf_graph *g, wf_array *a, const int *width, wf_border border)
{
    wf_val v = wf_in(g, a);
    for (int d = 0; d < wf_array_shape(a).rank; ++d)
        for (int k = -width[d]; k <= width[d]; ++k) {
            int away[WF_MAX_RANK] = { 0 };
            away[d] = k;
            v = add_at(g, v, a, away, border);
        }
    return v;
}

/* Elements at distances up to `most` along each axis whose sum is at most `sum`: a cube, or a star without its ends. */
static wf_val ball(wf_graph *g, wf_array *a, int most, int sum, wf_border border)
{
    const int rank = wf_array_shape(a).rank;
    int away[WF_MAX_RANK];
    wf_val v = wf_in(g, a);
    for (int d = 0; d < rank; ++d)
        away[d] = -most;
    for (int d = 0; d >= 0;) {
        int far = 0;
        for (int k = 0; k < rank; ++k)
            far += abs(away[k]);
        if (far <= sum)
            v = add_at(g, v, a, away, border);
        for (d = rank - 1; d >= 0 && ++away[d] > most; --d)
            away[d] = -most;
    }
    return v;
}

/* Writes all elements, so that those of other ranks are fetched anew. */
static void write_all(distributed_world *w, wf_array *a)
{
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, a, wf_mul(wf_in(g, a), -0.5));
    world_run(w, g);
    world_spoil(w, a);
}

static void to_result(distributed_world *w, wf_graph *g, wf_val v, wf_shape shape)
{
    wf_array *out = world_empty(w, WF_F32, shape);
    wf_out(g, out, v);
    world_run(w, g);
    world_result(w, out);
}

/* Stars and cubes of one array in turns: elements that a launch has fetched are there for a later one, others are not. */
static void in_turns(distributed_world *w, wf_shape shape, wf_border border)
{
    static const int widths[][4] = { { 1, 1, 1, 1 }, { 2, 1, 3, 0 }, { 0, 2, 1, 1 } };
    wf_array *a = world_filled(w, WF_F32, shape, 61), *once = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape); /* a rank has memory around its block */
    wf_out(g, once, ball(g, a, 2, 99, border));
    world_run(w, g);
    wf_release(once);
    for (int k = 0; k < 3; ++k) {
        write_all(w, a);
        g = wf_begin(w->ctx, .shape = shape);
        to_result(w, g, star(g, a, widths[k], border), shape);
        world_spoil(w, a); /* changes nothing: elements are there */
        g = wf_begin(w->ctx, .shape = shape);
        to_result(w, g, ball(g, a, 1, k == 1 ? 2 : 99, border), shape);
        g = wf_begin(w->ctx, .shape = shape);
        to_result(w, g, star(g, a, widths[0], border), shape);
    }
    world_result(w, a);
}

void distributed_stars(distributed_world *w)
{
    for (int k = 0; k < SHAPES; ++k)
        for (int border = WF_BORDER_VALUE; border <= WF_BORDER_REFLECT; ++border)
            if (k == 0 || border == WF_BORDER_CLAMP || border == WF_BORDER_PERIODIC)
                in_turns(w, shapes[k], (wf_border)border);
}

/* Stars of two arrays and of values between, in place, and more elements than a set has boxes for. */
static void sets(distributed_world *w, wf_shape shape)
{
    static const int width[4] = { 1, 2, 1, 1 }, other[4] = { 2, 0, 1, 0 };
    wf_array *a = world_filled(w, WF_F32, shape, 62), *b = world_filled(w, WF_F32, shape, 63);
    for (int turn = 0; turn < 2; ++turn) { /* in the second one, ranks have memory around their blocks */
        write_all(w, a);
        write_all(w, b);
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        to_result(w, g, wf_sub(star(g, a, width, WF_BORDER_CLAMP), star(g, b, other, WF_BORDER_PERIODIC)), shape);
        g = wf_begin(w->ctx, .shape = shape); /* a rank stores and reads its own array */
        wf_out(g, a, star(g, a, other, WF_BORDER_MIRROR));
        world_run(w, g);
        world_spoil(w, a);
        g = wf_begin(w->ctx, .shape = shape); /* 25 elements around one, along three axes in 13 boxes */
        to_result(w, g, ball(g, a, 2, 2, WF_BORDER_CLAMP), shape);
        wf_val scattered = wf_const(g = wf_begin(w->ctx, .shape = shape), WF_F32, 0);
        for (int k = 0; k < 40; ++k) {
            const int away[4] = { k * 5 % 7 - 3, k * 3 % 8 - 4, k * 7 % 9 - 4, k % 3 - 1 };
            scattered = add_at(g, scattered, b, away, WF_BORDER_CLAMP);
        }
        to_result(w, g, scattered, shape);
        g = wf_begin(w->ctx); /* each axis after the other: a value between is computed around the blocks, too */
        wf_val v = wf_in(g, b), index[WF_MAX_RANK];
        for (int axis = 0; axis < shape.rank; ++axis) {
            for (int d = 0; d < shape.rank; ++d)
                index[d] = wf_iota(g, shape, d);
            index[axis] = wf_max(wf_sub(index[axis], 1), 0);
            v = wf_add(wf_exp(wf_mul(v, 0.01)),
                       wf_gather_n(wf_sqrt(wf_abs(v)), (wf_vals){ index, (size_t)shape.rank }));
        }
        to_result(w, g, v, shape);
    }
    world_result(w, a);
    world_result(w, b);
}

void distributed_sets(distributed_world *w)
{
    for (int k = 0; k < SHAPES; ++k)
        sets(w, shapes[k]);
}
