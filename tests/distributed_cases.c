/* distributed_cases.c - see distributed_cases.h. */
#include "distributed_cases.h"
#include "weft/functions.h"
#include "weft/signal.h"

static void elements(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 37, 53 } },    { .rank = 1, .dim = { 1000 } },
                                       { .rank = 3, .dim = { 5, 1, 64 } },  { .rank = 2, .dim = { 3, 2 } },
                                       { .rank = 3, .dim = { 9, 10, 11 } }, { .rank = 2, .dim = { 0, 5 } },
                                       { .rank = 4, .dim = { 2, 3, 4, 5 } } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        wf_array *a = world_filled(w, WF_F32, shapes[i], 1), *b = world_filled(w, WF_F32, shapes[i], 2);
        wf_array *out = world_empty(w, WF_F32, shapes[i]);
        wf_graph *g = wf_begin(w->ctx);
        wf_out(g, out, wf_sqrt(wf_abs(wf_add(wf_mul(wf_in(g, a), wf_in(g, b)), wf_param(g, "p", WF_F32, 0.75)))));
        world_run(w, g);
        wf_release(a);
        wf_release(b);
        world_result(w, out);
    }
}

static void sums(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 300, 257 } },
                                       { .rank = 1, .dim = { 100001 } },
                                       { .rank = 3, .dim = { 40, 30, 50 } },
                                       { .rank = 2, .dim = { 5, 7000 } },
                                       { .rank = 2, .dim = { 7000, 5 } } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        wf_array *a = world_filled(w, WF_F32, shapes[i], 3);
        wf_array *out[3] = { world_single(w, WF_F32, shapes[i].rank), world_single(w, WF_F64, shapes[i].rank),
                             world_single(w, WF_F32, shapes[i].rank) };
        wf_graph *g = wf_begin(w->ctx);
        wf_val v = wf_in(g, a);
        wf_out(g, out[0], wf_sum(v, WF_ALL_AXES));
        wf_out(g, out[1], wf_sum(wf_mul(wf_cast(v, WF_F64), v), WF_ALL_AXES));
        wf_out(g, out[2], wf_reduce(WF_JOIN_MAX, v, WF_ALL_AXES));
        world_run(w, g);
        wf_release(a);
        for (int k = 0; k < 3; ++k)
            world_result(w, out[k]);
    }
}

static void stencil(distributed_world *w, wf_border border, wf_shape shape, int radius)
{
    wf_array *a = world_filled(w, WF_F32, shape, 4), *out = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val y = wf_index(g, 0), x = wf_index(g, 1), sum = wf_cast(0, WF_F32);
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius + 1; ++dx)
            sum = wf_add(
                sum, wf_mul(wf_read_border(g, a, border, 0.5, wf_add(y, dy), wf_add(x, dx)), 1.0 / (3 + dx + 7 * dy)));
    wf_write(g, out, sum, y, x);
    world_run(w, g);
    wf_release(a);
    world_result(w, out);
}

static void borders(distributed_world *w)
{
    for (int border = WF_BORDER_VALUE; border <= WF_BORDER_REFLECT; ++border) {
        stencil(w, (wf_border)border, WF_SHAPE(33, 47), 1);
        stencil(w, (wf_border)border, WF_SHAPE(6, 5), 2);
        stencil(w, (wf_border)border, WF_SHAPE(3, 40), 4);
        /* with periodic borders, ranks read copies of their own blocks */
        stencil(w, (wf_border)border, WF_SHAPE(3, 3), 3);
    }
}

/* A mean, the deviations from it, and a filter of these: temporaries are read with neighbours. */
static void program(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(61, 45);
    wf_array *a = world_filled(w, WF_F32, shape, 5), *out = world_empty(w, WF_F32, shape),
             *sum = world_single(w, WF_F32, 2);
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_in(g, a), flat = wf_sub(v, wf_div(wf_sum(v, WF_ALL_AXES), 61 * 45));
    wf_val root = wf_sqrt(wf_abs(wf_exp(wf_mul(flat, 0.1))));
    wf_out(g, out, root);
    wf_out(g, sum, wf_sum(root, WF_ALL_AXES));
    world_run(w, g);
    wf_array *inner = world_empty(w, WF_F32, WF_SHAPE(59, 43)), *total = world_single(w, WF_F64, 2);
    g = wf_begin(w->ctx);
    v = wf_in(g, out);
    flat = wf_sub(v, wf_div(wf_sum(v, WF_AXES(0)), 61));
    wf_val near = wf_cast(0, WF_F32);
    for (int k = 0; k < 9; ++k)
        near = wf_add(
            near, wf_mul(wf_slice(wf_slice(wf_exp(flat), 0, k / 3, k / 3 + 59, 1), 1, k % 3, k % 3 + 43, 1), k + 1));
    wf_out(g, inner, near);
    wf_out(g, total, wf_sum(wf_cast(near, WF_F64), WF_ALL_AXES));
    world_run(w, g);
    wf_release(a);
    world_result(w, out);
    world_result(w, sum);
    world_result(w, inner);
    world_result(w, total);
}

/* Steps of diffusion, of which each reads what the step before has written. */
static void steps(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(20, 21, 22);
    wf_array *a = world_filled(w, WF_F64, shape, 6), *b = world_empty(w, WF_F64, shape),
             *norm = world_single(w, WF_F64, 3);
    for (int step = 0; step < 4 && w->status == WF_OK; ++step) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val i[3] = { wf_index(g, 0), wf_index(g, 1), wf_index(g, 2) }, sum = wf_mul(wf_in(g, a), -6);
        for (int d = 0; d < 3; ++d)
            for (int side = -1; side <= 1; side += 2)
                sum =
                    wf_add(sum, wf_read_border(g, a, WF_BORDER_CLAMP, 0, d == 0 ? wf_add(i[0], side) : i[0],
                                               d == 1 ? wf_add(i[1], side) : i[1], d == 2 ? wf_add(i[2], side) : i[2]));
        wf_out(g, b, wf_add(wf_in(g, a), wf_mul(sum, 0.1)));
        world_run(w, g);
        wf_array *t = a;
        a = b;
        b = t;
    }
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, norm, wf_dot(wf_in(g, a), wf_in(g, b)));
    world_run(w, g);
    wf_release(b);
    world_result(w, a);
    world_result(w, norm);
}

/* Records of which each point reads a part, so that a rank may have no more of them. */
static void records(distributed_world *w)
{
    static const int parts[][3] = { { 0, 1, 2 }, { 0, 2, 2 }, { 1, 2, 4 }, { 4, 5, 6 } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        for (int length = parts[i][2] + 1; length <= parts[i][2] + 5; length++) {
            wf_array *a = world_filled(w, WF_F32, WF_SHAPE(64, length), 8), *out = world_empty(w, WF_F32, WF_SHAPE(64));
            wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(64));
            wf_val y = wf_index(g, 0), sum = wf_read(g, a, y, parts[i][0]);
            for (int k = 1; k < 3; ++k)
                sum = wf_add(wf_mul(sum, 0.75), wf_read(g, a, y, parts[i][k]));
            wf_out(g, out, sum);
            world_run(w, g);
            wf_release(a);
            world_result(w, out);
        }
}

static void axes(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 70, 90 } },
                                       { .rank = 3, .dim = { 12, 35, 20 } },
                                       { .rank = 2, .dim = { 2, 4000 } },
                                       { .rank = 2, .dim = { 4000, 2 } } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (wf_axes mask = 1; mask < (wf_axes)1 << shapes[i].rank; ++mask) {
            wf_shape kept = shapes[i];
            for (int d = 0; d < kept.rank; ++d)
                kept.dim[d] = mask >> d & 1 ? 1 : kept.dim[d];
            wf_array *a = world_filled(w, WF_F32, shapes[i], 7);
            wf_array *spread = world_empty(w, WF_F32, kept), *back = world_empty(w, WF_F32, shapes[i]);
            wf_graph *g = wf_begin(w->ctx);
            wf_val v = wf_in(g, a), sum = wf_sum(v, mask);
            wf_out(g, spread, sum);
            wf_out(g, back, wf_div(v, wf_add(wf_abs(sum), 1)));
            world_run(w, g);
            wf_release(a);
            world_result(w, spread);
            world_result(w, back);
        }
}

static void in_place(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(40, 31);
    wf_array *a = world_filled(w, WF_F32, shape, 8);
    for (int k = 0; k < 3; ++k) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val y = wf_index(g, 0), x = wf_index(g, 1);
        wf_out(g, a,
               wf_add(wf_read_border(g, a, WF_BORDER_MIRROR, 0, wf_sub(y, 2), x),
                      wf_mul(wf_read_border(g, a, WF_BORDER_CLAMP, 0, y, wf_add(x, 3)), 0.5)));
        world_run(w, g);
    }
    world_result(w, a);
}

static void other_indices(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(40, 60);
    wf_array *a = world_filled(w, WF_F32, shape, 9), *half = world_empty(w, WF_F32, WF_SHAPE(20, 30));
    wf_array *turned = world_empty(w, WF_F32, WF_SHAPE(60, 40)), *product = world_empty(w, WF_F64, WF_SHAPE(40, 40));
    wf_array *moved = world_empty(w, WF_F32, shape), *back = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(20, 30));
    wf_val y = wf_mul(wf_index(g, 0), 2), x = wf_mul(wf_index(g, 1), 2);
    wf_out(g, half, wf_add(wf_read(g, a, y, x), wf_read(g, a, wf_add(y, 1), wf_add(x, 1))));
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(60, 40));
    wf_out(g, turned, wf_read(g, a, wf_index(g, 1), wf_index(g, 0)));
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(40, 40));
    wf_var sum = wf_local(g, WF_F64, 0);
    wf_val k;
    WF_FOR (g, k, 0, 60, 1) {
        wf_inc(sum, wf_mul(wf_cast(wf_read(g, a, wf_index(g, 0), k), WF_F64), wf_read(g, turned, k, wf_index(g, 1))));
        WF_END(g);
    }
    wf_out(g, product, wf_get(sum));
    world_run(w, g);
    wf_array *after = world_empty(w, WF_F32, shape);
    g = wf_begin(w->ctx, .shape = shape);
    wf_var step = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(wf_get(step), 5)) {
        wf_inc(step, 2);
        WF_END(g);
    }
    wf_out(g, after, wf_read_or(g, a, -1, wf_add(wf_index(g, 0), wf_get(step)), wf_index(g, 1)));
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = shape);
    wf_val shift = wf_param(g, "shift", WF_I32, 3);
    wf_out(g, moved, wf_read_or(g, a, -1, wf_add(wf_index(g, 0), shift), wf_sub(wf_index(g, 1), shift)));
    world_run(w, g);
    g = wf_begin(w->ctx, .shape = shape);
    wf_out(g, back, wf_read(g, a, wf_sub(39, wf_index(g, 0)), wf_idiv(wf_index(g, 1), 2)));
    world_run(w, g);
    wf_release(a);
    world_result(w, half);
    world_result(w, turned);
    world_result(w, product);
    world_result(w, moved);
    world_result(w, after);
    world_result(w, back);
}

/* Kernels whose numbers change from launch to launch: those that indices depend on, and others. */
static void numbers(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(48, 20);
    wf_array *a = world_filled(w, WF_F32, shape, 10), *out = world_empty(w, WF_F32, shape),
             *gathered = world_empty(w, WF_F32, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val y = wf_add(wf_index(g, 0), wf_param(g, "move", WF_I64, 0));
    wf_out(g, out, wf_mul(wf_read_or(g, a, -1, y, wf_index(g, 1)), wf_param(g, "scale", WF_F32, 1)));
    wf_kernel *by_index = wf_compile(g);
    g = wf_begin(w->ctx);
    wf_val row = wf_min(wf_max(wf_add(wf_iota(g, shape, 0), wf_param(g, "move", WF_I64, 0)), 0), 47);
    wf_out(g, gathered, wf_gather(wf_mul(wf_in(g, a), 2), row, wf_iota(g, shape, 1)));
    wf_kernel *by_gather = wf_compile(g);
    for (int k = 0; k < 4 && w->status == WF_OK; ++k) {
        int move = k * k - 4, scale = k;
        wf_launch(by_index, WF_NAMED(move, scale));
        move = 5 * k - 7;
        wf_launch(by_gather, WF_NAMED(move));
        world_failed(w);
        world_result(w, wf_retain(out));
        world_result(w, wf_retain(gathered));
    }
    wf_kernel_free(by_index);
    wf_kernel_free(by_gather);
    wf_release(a);
    wf_release(out);
    wf_release(gathered);
}

/* Arrays that each rank has, and that ranks accumulate into: integers, extremes and bits, once and again. */
static void tallies(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(57, 64);
    wf_array *a = world_filled(w, WF_F32, shape, 21), *total = wf_full(w->ctx, WF_F64, WF_SHAPE(1, 1), 0);
    wf_array *counts = wf_full(w->ctx, WF_U32, WF_SHAPE(10), 3), *most = wf_full(w->ctx, WF_F32, WF_SHAPE(64), -1),
             *seen = wf_full(w->ctx, WF_BOOL, WF_SHAPE(5, 7), 0), *large = wf_full(w->ctx, WF_I16, WF_SHAPE(70000), 1);
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val v = wf_in(g, a), y = wf_index(g, 0), x = wf_index(g, 1);
        wf_val bin = wf_clamp(wf_cast(wf_floor(wf_mul(v, 0.5)), WF_I64), 0, 9);
        wf_accumulate(g, WF_JOIN_ADD, counts, 1, bin);
        wf_accumulate(g, WF_JOIN_MAX, most, v, x);
        wf_accumulate(g, WF_JOIN_OR, seen, wf_gt(v, 5), wf_mod(y, 5), wf_mod(x, 7));
        wf_accumulate(g, WF_JOIN_ADD, large, wf_cast(y, WF_I16), wf_add(wf_mul(y, 1100), x));
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = shape, .reduce = WF_ALL_AXES); /* a reduction joins, too */
        wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
        v = wf_in(g, a);
        wf_inc(sum, wf_cast(v, WF_F64));
        wf_accumulate(g, WF_JOIN_ADD, counts, 2, wf_clamp(wf_cast(wf_mul(v, v), WF_I64), 0, 9));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, total, sum);
        world_run(w, g);
    }
    wf_shape large_shape = WF_SHAPE(24, 64, 41); /* boxes and private copies, along axes that are one loop */
    wf_array *b = world_filled(w, WF_F32, large_shape, 22);
    wf_graph *g = wf_begin(w->ctx, .shape = large_shape);
    wf_accumulate(g, WF_JOIN_ADD, counts, 1, wf_clamp(wf_cast(wf_in(g, b), WF_I64), 0, 9));
    world_run(w, g);
    wf_release(b);
    world_result(w, counts);
    world_result(w, most);
    world_result(w, seen);
    world_result(w, large);
    world_result(w, total);
    world_result(w, wf_array_histogram(a, 16, -7, 9));
    const char *want[] = { "h" };
    wf_array *made[1] = { NULL };
    wf_text_create(w->ctx, "global i32 h[20] = 0; h[clamp(i64(a) + 10, 0, 19)]++", WF_NAMED(a), 0, want, 1, made);
    world_failed(w);
    world_result(w, made[0]);
    wf_release(a);
}

/* Sums and products of floats in arrays that each rank has: the order of joins is that of one process. */
static void float_tallies(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 57, 64 } },    { .rank = 2, .dim = { 20, 600 } },
                                       { .rank = 3, .dim = { 10, 9, 70 } }, { .rank = 1, .dim = { 5000 } },
                                       { .rank = 3, .dim = { 300, 2, 3 } }, { .rank = 2, .dim = { 3, 0 } } };
    for (int k = 0; k < 6; ++k) {
        const wf_shape shape = shapes[k];
        const int last = shape.rank - 1;
        wf_array *a = world_filled(w, k % 2 ? WF_F64 : WF_F32, shape, 31 + (uint64_t)k);
        wf_array *sums = wf_full(w->ctx, WF_F32, WF_SHAPE(10), 0.1),
                 *wide = wf_full(w->ctx, WF_F64, WF_SHAPE(3, 33), 1), *half = wf_full(w->ctx, WF_F16, WF_SHAPE(4), 0.1),
                 *product = wf_full(w->ctx, WF_F32, WF_SHAPE(7), 1), *pairs = wf_full(w->ctx, WF_C64, WF_SHAPE(5), 0.3),
                 *counts = wf_full(w->ctx, WF_I32, WF_SHAPE(10), 3), *own = wf_full(w->ctx, WF_F32, shape, 0.7);
        for (int turn = 0; turn < 2; ++turn) {
            wf_graph *g = wf_begin(w->ctx, .shape = shape);
            wf_val v = wf_in(g, a), x = wf_index(g, last), y = wf_index(g, 0), f = wf_cast(v, WF_F32);
            wf_val bin = wf_clamp(wf_cast(wf_floor(wf_mul(v, 0.5)), WF_I64), 0, 9);
            wf_accumulate(g, WF_JOIN_ADD, sums, wf_mul(f, 0.3), bin);
            wf_accumulate(g, WF_JOIN_ADD, counts, 1, bin);
            wf_accumulate(g, WF_JOIN_ADD, wide, wf_cast(wf_mul(v, v), WF_F64), wf_mod(y, 3), wf_mod(x, 33));
            wf_accumulate_if(g, wf_lt(x, 9), WF_JOIN_ADD, half, wf_cast(wf_mul(v, 1e-3), WF_F16),
                             wf_mod(wf_add(x, y), 4));
            world_run(w, g);
            g = wf_begin(w->ctx, .shape = shape);
            v = wf_in(g, a), x = wf_index(g, last);
            f = wf_cast(v, WF_F32);
            wf_accumulate(g, WF_JOIN_MUL, product, wf_add(wf_mul(f, 1e-4), 1), wf_mod(x, 7));
            wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, pairs, wf_complex(f, wf_mul(f, 3)), wf_mod(x, 5));
            wf_val index[3];
            for (int d = 0; d < shape.rank; ++d)
                index[d] = wf_index(g, d);
            wf_accumulate_n(g, WF_JOIN_ADD, WF_MODE_AUTO, own, f, (wf_vals){ index, (size_t)shape.rank });
            world_run(w, g);
        }
        world_result(w, sums);
        world_result(w, wide);
        world_result(w, half);
        world_result(w, product);
        world_result(w, pairs);
        world_result(w, counts);
        world_result(w, own);
        wf_release(a);
    }
}

/* Values that recordings keep: of the shape of a distributed array, of another one, and reduced ones. */
static void kept(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(41, 30);
    wf_array *a = world_filled(w, WF_F32, shape, 11);
    wf_graph *g = wf_begin(w->ctx);
    wf_val v = wf_in(g, a), mean = wf_div(wf_sum(v, WF_ALL_AXES), 41 * 30);
    wf_array *n = wf_keep(wf_sub(v, mean)), *sum = wf_keep(wf_sum(wf_mul(v, v), WF_ALL_AXES));
    world_run(w, g);
    for (int k = 0; k < 3 && w->status == WF_OK; ++k) { /* lazy arrays that other recordings read */
        g = wf_begin(w->ctx);
        wf_val y = wf_min(wf_add(wf_iota(g, shape, 0), (double)(k + 1)), 40), x = wf_iota(g, shape, 1);
        wf_array *moved = wf_keep(wf_read(g, n, y, x));
        wf_graph *next = wf_begin(w->ctx);
        wf_array *twice = world_divided(w, wf_keep(wf_mul(wf_in(next, moved), wf_cast(2, WF_F64))));
        world_run(w, next);
        world_run(w, g);
        world_result(w, world_divided(w, moved));
        world_result(w, twice);
    }
    g = wf_begin(w->ctx);
    const wf_shape small = WF_SHAPE(20, 15);
    wf_val y = wf_mul(wf_iota(g, small, 0), 2), x = wf_mul(wf_iota(g, small, 1), 2);
    wf_array *binned = wf_keep(wf_add(wf_read(g, n, y, x), wf_read(g, n, wf_add(y, 1), x)));
    wf_array *columns = wf_keep(wf_sum(wf_in(g, n), WF_AXES(0)));
    world_run(w, g);
    world_result(w, world_divided(w, binned));
    world_result(w, columns);
    world_result(w, n);
    world_result(w, sum);
    wf_release(a);
}

/* Text and functions of arrays, which make their results. */
static void functions(distributed_world *w)
{
    wf_shape shape = WF_SHAPE(33, 64);
    wf_array *a = world_filled(w, WF_F32, shape, 12), *made[2] = { NULL };
    const char *want[] = { "out", "s" };
    wf_text_create(w->ctx,
                   "n = (a - mean(a)) / std(a); out = (n[y, x-1; clamp] + 2*n + n[y-1, x; mirror]) / 4; s = sum(out)",
                   WF_NAMED(a), 0, want, 2, made);
    world_failed(w);
    world_result(w, world_divided(w, made[0]));
    world_result(w, made[1]);
    const char *locals[] = { "b", "m" };
    wf_text_create(w->ctx,
                   "f32 s = 0; int k; for (k = -2; k <= 2; k++) for (int j = 0; j < 3; j++) "
                   "s += a[y + k, x - j; mirror] * j; if (s > 9) s = k; u = s * a; b = u - mean(u); m = max(u)",
                   WF_NAMED(a), 0, locals, 2, made);
    world_failed(w);
    world_result(w, world_divided(w, made[0]));
    world_result(w, made[1]);
    world_result(w, world_divided(w, wf_array_copy(a)));
    world_result(w, world_divided(w, wf_array_cast(a, WF_I32)));
    world_result(w,
                 world_divided(w, wf_gaussian_filter(a, (double[]){ 1.5, 0.75 }, WF_AXES(0, 1), WF_BORDER_CLAMP, 0)));
    world_result(w, world_divided(w, wf_array_normalize(a, WF_NORMALIZE_MEAN_STD, WF_ALL_AXES)));
    world_result(w,
                 world_divided(w, wf_array_resize(a, (int64_t[]){ 2, -3 }, (int64_t[]){ 1, 4 }, WF_BORDER_REFLECT, 0)));
    world_result(w, wf_array_max(a, WF_ALL_AXES));
    wf_array *like = world_divided(w, wf_like(a));
    wf_array_fill(like, 0.5);
    world_result(w, like);
    wf_release(a);
}

/* ---- scans ---- */
static const wf_shape scanned[] = { { .rank = 1, .dim = { 100003 } },       { .rank = 1, .dim = { 29 } },
                                    { .rank = 2, .dim = { 700, 37 } },      { .rank = 2, .dim = { 3, 20011 } },
                                    { .rank = 3, .dim = { 40, 30, 50 } },   { .rank = 3, .dim = { 1500, 1, 1 } },
                                    { .rank = 3, .dim = { 2, 900, 2 } },    { .rank = 2, .dim = { 0, 5 } },
                                    { .rank = 4, .dim = { 2, 3, 70, 16 } }, { .rank = 2, .dim = { 9000, 2 } },
                                    { .rank = 1, .dim = { 1 << 16 } } };

/* One scan of a whole array, along each axis. */
static void scans(distributed_world *w)
{
    static const struct {
        wf_dtype dtype;
        wf_join join;
        bool exclusive, reversed;
    } ways[] = { { WF_F32, WF_JOIN_ADD, false, false },
                 { WF_F32, WF_JOIN_ADD, true, true },
                 { WF_F64, WF_JOIN_MAX, true, false },
                 { WF_I32, WF_JOIN_MUL, false, true } };
    for (size_t i = 0; i < sizeof scanned / sizeof *scanned; ++i)
        for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
            wf_array *a = world_filled(w, ways[k].dtype, scanned[i], 21);
            for (int axis = 0; axis < scanned[i].rank; ++axis) {
                wf_array *out = world_empty(w, ways[k].dtype, scanned[i]);
                wf_graph *g = wf_begin(w->ctx);
                wf_out(g, out, wf_scan(ways[k].join, wf_in(g, a), axis, ways[k].exclusive, ways[k].reversed));
                world_run(w, g);
                world_result(w, out);
            }
            wf_release(a);
        }
}

/* Scans in place, of values, of arrays that each rank has, of scans; results with neighbours, and in several launches. */
static void scans_within(distributed_world *w)
{
    for (size_t i = 0; i < sizeof scanned / sizeof *scanned; ++i) {
        wf_shape shape = scanned[i];
        int last = shape.rank - 1;
        int64_t n = shape.dim[0];
        wf_array *a = world_filled(w, WF_F32, shape, 22), *b = world_empty(w, WF_F32, shape),
                 *c = world_empty(w, WF_F32, shape);
        wf_array *own = world_whole(w, WF_F32, shape, 23), *near = world_empty(w, WF_F32, shape),
                 *sum = world_single(w, WF_F32, shape.rank);
        wf_graph *g = wf_begin(w->ctx);
        wf_val v = wf_scan(WF_JOIN_ADD, wf_mul(wf_in(g, a), 0.5), 0, false, false);
        wf_out(g, b, wf_add(v, wf_in(g, a)));
        wf_out(
            g, c,
            wf_scan(WF_JOIN_MIN, wf_sub(v, wf_scan(WF_JOIN_ADD, wf_in(g, own), last, true, true)), last, false, false));
        wf_out(g, sum, wf_sum(v, WF_ALL_AXES));
        world_run(w, g);
        world_result(w, wf_retain(b));
        world_result(w, sum);
        g = wf_begin(w->ctx);
        wf_out(g, b, wf_scan(WF_JOIN_ADD, wf_in(g, b), 0, false, true)); /* in place */
        v = wf_scan(WF_JOIN_ADD, wf_in(g, c), 0, false, false);
        if (n > 2) /* beside each element, the one before it */
            v = wf_sub(v, wf_concat(0, wf_slice(v, 0, 0, 1, 1), wf_slice(v, 0, 0, n - 1, 1)));
        wf_out(g, near, v);
        world_run(w, g);
        wf_release(a);
        wf_release(own);
        world_result(w, b);
        world_result(w, c);
        world_result(w, near);
    }
}

const distributed_case distributed_cases[] = {
    { "elements", elements },
    { "sums", sums },
    { "borders", borders },
    { "program", program },
    { "steps", steps },
    { "records", records },
    { "axes", axes },
    { "in_place", in_place },
    { "indices", other_indices },
    { "numbers", numbers },
    { "kept", kept },
    { "functions", functions },
    { "tallies", tallies },
    { "float_tallies", float_tallies },
    { "scans", scans },
    { "scans_within", scans_within },
    { "gathers", distributed_gathers },
    { "gathers_of_ranks", distributed_gathers_of_ranks },
    { "recurrences", distributed_recurrences },
    { "stores", distributed_stores },
    { "stars", distributed_stars },
    { "sets", distributed_sets },
    { "results", distributed_results },
    { NULL, NULL },
};
