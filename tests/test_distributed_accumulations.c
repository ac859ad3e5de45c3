/* test_distributed_accumulations.c - accumulations into distributed arrays have the bits of one process, for any number of ranks
 * and any grid. Ranks are threads, each with a context of its own.
 *
 * ctest: threads long first_tier
 */
#include "distributed_world.h"
#include "weft/functions.h"
#include "weft/project.h"
#include "weft/text.h"
#include "weft/xform.h"
#include "weft_test.h"

/* Arrays of more than 1 MiB get values by messages, smaller ones by an array that each rank has whole. */
enum { LARGE = 300000, POINTS = 5000 };

/* An element of an array at a point, one of n: from memory, some of them several times. */
static wf_array *targets(distributed_world *w, wf_shape shape, int64_t n, uint64_t seed, bool distributed)
{
    wf_array *x = distributed ? world_filled(w, WF_I32, shape, seed) : world_whole(w, WF_I32, shape, seed);
    wf_array *at = distributed ? world_empty(w, WF_I64, shape) : wf_empty(w->ctx, WF_I64, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val i = wf_mul(wf_cast(wf_add(wf_in(g, x), 30000), WF_I64), 7177);
    wf_out(g, at, wf_mod(i, (double)n));
    world_run(w, g);
    wf_release(x);
    return at;
}

static bool is_float(wf_dtype t) { return t == WF_F32 || t == WF_F64 || t == WF_BF16; }

static uint64_t random_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* An array of which each element has a value of its own. */
static wf_array *numbered(distributed_world *w, wf_dtype dtype, wf_shape shape)
{
    wf_array *a = world_empty(w, dtype, shape);
    wf_graph *g = wf_begin(w->ctx, .shape = shape);
    wf_val at = wf_cast(0, WF_I64);
    for (int d = 0; d < shape.rank; ++d)
        at = wf_add(wf_mul(at, wf_extent(g, d)), wf_index(g, d));
    wf_out(g, a, wf_cast(wf_mod(at, 7), dtype));
    world_run(w, g);
    return a;
}

/* ---- messages ---- */
/* Joins and dtypes, several of them at once, and several into one array. */
static void joins(distributed_world *w)
{
    static const struct {
        wf_dtype dtype;
        wf_join join;
        int64_t n;
    } kinds[] = { { WF_I32, WF_JOIN_ADD, LARGE },      { WF_F32, WF_JOIN_MAX, LARGE },
                  { WF_I64, WF_JOIN_MIN, LARGE },      { WF_U8, WF_JOIN_MUL, 4 * LARGE },
                  { WF_F16, WF_JOIN_MIN, 2 * LARGE },  { WF_U64, WF_JOIN_ADD, LARGE },
                  { WF_BOOL, WF_JOIN_XOR, 4 * LARGE }, { WF_I16, WF_JOIN_ADD, 2 * LARGE },
                  { WF_F64, WF_JOIN_MAX, LARGE } };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    wf_array *h[KINDS], *at = targets(w, WF_SHAPE(POINTS), LARGE, 3, true);
    for (int k = 0; k < KINDS; ++k)
        h[k] = numbered(w, kinds[k].dtype, WF_SHAPE(kinds[k].n));
    for (int turn = 0; turn < 2; ++turn) {
        wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS));
        wf_val i = wf_in(g, at), x = wf_index(g, 0);
        for (int k = 0; k < KINDS; ++k) {
            wf_val v = wf_cast(wf_sub(wf_mod(wf_mul(x, 31), 23), 9), kinds[k].dtype);
            wf_accumulate(g, kinds[k].join, h[k], v, i);
            wf_accumulate_if(g, wf_eq(wf_mod(x, 3), k % 3), kinds[k].join, h[k], v, wf_sub(LARGE - 1, i));
        }
        world_run(w, g);
    }
    for (int k = 0; k < KINDS; ++k)
        world_result(w, h[k]);
    wf_release(at);
}

/* Several axes of the array and of the space, indices from distributed and from ordinary arrays. */
static void axes(distributed_world *w)
{
    static const wf_shape arrays[] = { { .rank = 2, .dim = { 500, 601 } }, { .rank = 3, .dim = { 60, 71, 73 } } };
    static const wf_shape spaces[] = { { .rank = 1, .dim = { 700 } },
                                       { .rank = 2, .dim = { 31, 40 } },
                                       { .rank = 3, .dim = { 5, 3, 44 } },
                                       { .rank = 2, .dim = { 3, 0 } } };
    for (int k = 0; k < 16; ++k) {
        const wf_shape shape = arrays[k % 2], space = spaces[k / 2 % 4];
        wf_array *h = numbered(w, WF_I32, shape), *at[3];
        for (int d = 0; d < shape.rank; ++d)
            at[d] = targets(w, space, shape.dim[d], 5 + (uint64_t)d, k < 8 && d < 2);
        wf_graph *g = wf_begin(w->ctx, .shape = space);
        wf_val index[3];
        for (int d = 0; d < shape.rank; ++d)
            index[d] = wf_in(g, at[d]);
        const wf_vals all = { index, (size_t)shape.rank };
        wf_accumulate_n(g, WF_JOIN_ADD, WF_MODE_AUTO, h, wf_cast(wf_index(g, 0), WF_I32), all);
        wf_accumulate_if_n(g, wf_gt(index[0], 9), WF_JOIN_ADD, WF_MODE_AUTO, h, wf_const(g, WF_I32, 900), all);
        world_run(w, g);
        for (int d = 0; d < shape.rank; ++d)
            wf_release(at[d]);
        world_result(w, h);
    }
}

/* In conditions, with what the stage reads of the array before, and stores besides. The index depends on a gather. */
static void conditions(distributed_world *w)
{
    wf_array *h = numbered(w, WF_I32, WF_SHAPE(LARGE)), *a = world_filled(w, WF_F32, WF_SHAPE(POINTS), 8),
             *at = targets(w, WF_SHAPE(POINTS), LARGE, 3, true), *of = targets(w, WF_SHAPE(POINTS), POINTS, 4, true),
             *out = world_empty(w, WF_F32, WF_SHAPE(POINTS)), *before = world_empty(w, WF_I32, WF_SHAPE(POINTS));
    for (int turn = 0; turn < 2; ++turn) {
        wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS));
        wf_val v = wf_in(g, a), i = wf_in(g, at), far = wf_read(g, at, wf_in(g, of));
        WF_IF (g, wf_gt(v, 0)) {
            wf_accumulate(g, WF_JOIN_ADD, h, wf_cast(wf_floor(v), WF_I32), far);
            WF_IF (g, wf_gt(v, 2)) {
                wf_accumulate_if(g, wf_lt(v, 5), WF_JOIN_ADD, h, 100, i);
                WF_END(g);
            }
            WF_ELSE(g) { wf_accumulate(g, WF_JOIN_ADD, h, 7, i); }
            WF_END(g);
        }
        wf_out(g, out, wf_mul(wf_read_border(g, a, WF_BORDER_CLAMP, 0, wf_add(wf_index(g, 0), 1)), 2));
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS)); /* the array before */
        wf_out(g, before, wf_read(g, h, wf_in(g, at)));
        wf_accumulate(g, WF_JOIN_MAX, h, wf_add(wf_read(g, h, wf_in(g, at)), 1), wf_sub(LARGE - 1, wf_in(g, at)));
        world_run(w, g);
        world_result(w, wf_retain(out));
        world_result(w, wf_retain(before));
    }
    world_result(w, h);
    wf_release(a);
    wf_release(at);
    wf_release(of);
    wf_release(out);
    wf_release(before);
}

/* Sums of floats where no two points meet, and complex ones. */
static void no_conflicts(distributed_world *w)
{
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_BF16, WF_C64 };
    for (int k = 0; k < 4; ++k) {
        const int64_t n = k == 2 ? 2 * LARGE : LARGE; /* no multiple of 7919 */
        wf_array *h = numbered(w, dtypes[k], WF_SHAPE(n)), *at = world_empty(w, WF_I64, WF_SHAPE(POINTS));
        wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS));
        wf_out(g, at, wf_mod(wf_mul(wf_index(g, 0), 7919), (double)n));
        world_run(w, g);
        for (int turn = 0; turn < 2; ++turn) {
            g = wf_begin(w->ctx, .shape = WF_SHAPE(POINTS));
            wf_val v = wf_mul(wf_cast(wf_index(g, 0), WF_F64), 0.37);
            v = k == 3 ? wf_complex(v, wf_mul(v, 3)) : wf_cast(v, dtypes[k]);
            wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_NO_CONFLICT, h, v, wf_in(g, at));
            world_run(w, g);
        }
        wf_release(at);
        world_result(w, h);
    }
}

/* ---- sums of floats ---- */
/* Several points join values with one element, in the order of the points, whatever axes ranks divide. Several sums of one array,
 * and sums in small arrays and of integers beside them. */
static void sums(distributed_world *w)
{
    static const struct {
        wf_dtype dtype;
        wf_shape array, space;
    } kinds[] = { { WF_F32, { .rank = 2, .dim = { 512, 513 } }, { .rank = 1, .dim = { POINTS } } },
                  { WF_F64, { .rank = 1, .dim = { LARGE } }, { .rank = 2, .dim = { 57, 64 } } },
                  { WF_F32, { .rank = 3, .dim = { 60, 71, 73 } }, { .rank = 3, .dim = { 5, 3, 44 } } },
                  { WF_C64, { .rank = 1, .dim = { LARGE } }, { .rank = 2, .dim = { 1, 900 } } },
                  { WF_BF16, { .rank = 2, .dim = { 1024, 513 } }, { .rank = 2, .dim = { 900, 3 } } },
                  { WF_F16, { .rank = 2, .dim = { 512, 513 } }, { .rank = 3, .dim = { 1, 40, 41 } } } };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        const wf_shape array = kinds[k].array, space = kinds[k].space;
        const wf_dtype dtype = kinds[k].dtype;
        wf_array *h = numbered(w, dtype, array), *counts = k ? NULL : numbered(w, WF_I32, WF_SHAPE(LARGE)),
                 *few = numbered(w, WF_F32, WF_SHAPE(17)), *a = world_filled(w, WF_F32, space, 5 + k),
                 *at = targets(w, space, 977, 3 + k, k % 2 == 0);
        for (int turn = 0; turn < 2; ++turn) {
            wf_graph *g = wf_begin(w->ctx, .shape = space);
            wf_val v = wf_in(g, a), i = wf_in(g, at), index[3], other[3];
            for (int d = 0; d < array.rank; ++d) {
                index[d] = wf_mod(wf_mul(i, 7 + d), (double)array.dim[d]);
                other[d] = wf_mod(i, d ? 2 : 3);
            }
            v = dtype == WF_C64 ? wf_complex(v, wf_mul(v, 3)) : wf_cast(v, dtype);
            const wf_vals all = { index, (size_t)array.rank }, met = { other, (size_t)array.rank };
            wf_accumulate_n(g, WF_JOIN_ADD, k % 3 ? WF_MODE_AUTO : WF_MODE_EXPAND, h, v, all);
            wf_accumulate_if_n(g, wf_gt(wf_in(g, a), 1), WF_JOIN_ADD, WF_MODE_AUTO, h, wf_mul(v, v), met);
            if (turn) {
                wf_accumulate(g, WF_JOIN_ADD, few, wf_mul(wf_in(g, a), 0.3), wf_mod(i, 17));
                if (dtype != WF_C64)
                    wf_accumulate_n(g, WF_JOIN_MUL, WF_MODE_AUTO, h, wf_add(wf_mul(v, 1e-3), 1), met);
            } else if (counts)
                wf_accumulate(g, WF_JOIN_ADD, counts, 1, wf_mul(i, 300));
            world_run(w, g);
        }
        wf_release(a);
        wf_release(at);
        world_result(w, h);
        if (counts)
            world_result(w, counts);
        world_result(w, few);
    }
}

/* ---- small arrays ---- */
/* Sums and products of floats, in loops, too; several joins of one array; what later operations of an array graph read. */
static void small(distributed_world *w)
{
    const wf_shape shape = WF_SHAPE(57, 64);
    wf_array *a = world_filled(w, WF_F32, shape, 21), *sums = numbered(w, WF_F32, WF_SHAPE(40)),
             *wide = numbered(w, WF_F64, WF_SHAPE(6, 33)), *half = numbered(w, WF_F16, WF_SHAPE(12)),
             *product = numbered(w, WF_F32, WF_SHAPE(9)), *pairs = numbered(w, WF_C64, WF_SHAPE(11)),
             *counts = numbered(w, WF_I16, WF_SHAPE(30)), *seen = numbered(w, WF_BOOL, WF_SHAPE(10)),
             *whole = wf_full(w->ctx, WF_I32, WF_SHAPE(10), 3), *total = world_single(w, WF_F32, 2),
             *lines = world_empty(w, WF_F32, WF_SHAPE(57, 1)), *most = numbered(w, WF_F32, WF_SHAPE(40)),
             *out = world_empty(w, WF_F32, shape);
    for (int turn = 0; turn < 2; ++turn) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val k, v = wf_in(g, a), y = wf_index(g, 0), x = wf_index(g, 1);
        wf_val bin = wf_clamp(wf_cast(wf_floor(wf_mul(v, 0.5)), WF_I64), 0, 9);
        wf_accumulate(g, WF_JOIN_ADD, sums, wf_mul(v, 0.3), wf_mul(bin, 4));
        wf_accumulate(g, WF_JOIN_ADD, sums, wf_mul(v, 0.7), wf_mul(bin, 3));
        wf_accumulate(g, WF_JOIN_ADD, wide, wf_cast(wf_mul(v, v), WF_F64), wf_mod(y, 6), wf_mod(x, 33));
        wf_accumulate_if(g, wf_lt(x, 9), WF_JOIN_ADD, half, wf_cast(wf_mul(v, 1e-3), WF_F16), wf_mod(wf_add(x, y), 12));
        wf_accumulate(g, WF_JOIN_OR, seen, wf_gt(v, 5), bin);
        wf_accumulate(g, WF_JOIN_ADD, whole, 1, bin);
        WF_FOR (g, k, 0, 3, 1) {
            wf_accumulate(g, WF_JOIN_ADD, counts, 1, wf_add(bin, wf_mul(k, 10)));
            WF_END(g);
        }
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = shape);
        v = wf_in(g, a), x = wf_index(g, 1);
        wf_accumulate(g, WF_JOIN_MUL, product, wf_add(wf_mul(v, 1e-4), 1), wf_mod(x, 9));
        wf_accumulate(g, WF_JOIN_ADD, counts, 3, wf_mod(x, 30)); /* one of which the order of sums depends */
        wf_out(g, out, wf_mul(v, 2));
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, pairs, wf_complex(v, wf_mul(v, 3)), wf_mod(x, 11));
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = shape, .reduce = turn ? WF_AXES(1) : WF_ALL_AXES); /* and reductions */
        wf_var sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
        v = wf_in(g, a), x = wf_index(g, 1);
        wf_inc(sum, v);
        wf_accumulate(g, WF_JOIN_MAX, most, wf_mul(v, v), wf_mod(x, 40));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, turn ? lines : total, sum);
        world_run(w, g);
        g = wf_begin(w->ctx); /* an array graph: the sums are used after it */
        wf_accumulate(g, WF_JOIN_MAX, counts, 5, wf_clamp(wf_cast(wf_in(g, a), WF_I64), 0, 29));
        wf_out(g, counts, wf_mul(wf_in(g, counts), 2));
        world_run(w, g);
    }
    wf_release(a);
    world_result(w, sums);
    world_result(w, wide);
    world_result(w, half);
    world_result(w, product);
    world_result(w, pairs);
    world_result(w, counts);
    world_result(w, seen);
    world_result(w, whole);
    world_result(w, total);
    world_result(w, lines);
    world_result(w, most);
    world_result(w, out);
}

/* ---- elements of the rank ---- */
/* Where the rank that has an element runs the point: sums at the points' own places, of rows, beside them, and in loops. */
static void own(distributed_world *w)
{
    const wf_shape shape = WF_SHAPE(37, 8300);
    wf_array *a = world_filled(w, WF_F32, shape, 21), *same = numbered(w, WF_F32, shape),
             *beside = numbered(w, WF_F32, WF_SHAPE(39, 8301)), *bits = numbered(w, WF_I32, WF_SHAPE(39, 8301)),
             *most = numbered(w, WF_F32, WF_SHAPE(37)),
             *bins = world_empty_along(w, WF_I32, WF_SHAPE(37, 10), WF_AXES(1));
    wf_array_fill(bins, 5);
    for (int turn = 0; turn < 2; ++turn) {
        wf_graph *g = wf_begin(w->ctx, .shape = shape);
        wf_val k, v = wf_in(g, a), y = wf_index(g, 0), x = wf_index(g, 1);
        wf_accumulate(g, WF_JOIN_ADD, same, v, y, x);
        wf_accumulate(g, WF_JOIN_MAX, most, v, y);
        wf_accumulate(g, WF_JOIN_ADD, bins, 1, y, wf_clamp(wf_cast(v, WF_I64), 0, 9));
        wf_accumulate(g, WF_JOIN_MIN, bits, wf_cast(wf_mul(v, 9), WF_I32), wf_add(y, 2), wf_add(x, 1));
        world_run(w, g);
        g = wf_begin(w->ctx, .shape = shape);
        v = wf_in(g, a), y = wf_index(g, 0), x = wf_index(g, 1);
        WF_FOR (g, k, 0, 3, 1) {
            wf_accumulate(g, WF_JOIN_ADD, beside, wf_mul(v, wf_cast(wf_add(k, 1), WF_F32)), wf_add(y, 2), wf_add(x, 1));
            WF_END(g);
        }
        world_run(w, g);
    }
    wf_release(a);
    world_result(w, same);
    world_result(w, beside);
    world_result(w, bits);
    world_result(w, most);
    world_result(w, bins);
}

/* ---- functions that accumulate ---- */
static void functions(distributed_world *w)
{
    static const wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_array *volume = numbered(w, WF_F32, WF_SHAPE(13, 14, 15)),
             *images = world_filled(w, WF_F32, WF_SHAPE(5, 14, 15), 4), *h = numbered(w, WF_I32, WF_SHAPE(LARGE)),
             *few = numbered(w, WF_I32, WF_SHAPE(50)), *at = targets(w, WF_SHAPE(POINTS), LARGE, 3, true),
             *grid = numbered(w, WF_F32, WF_SHAPE(21, 22)), *points = world_filled(w, WF_F32, WF_SHAPE(900), 5),
             *rotations = wf_empty(w->ctx, WF_F32, WF_SHAPE(5, 3, 3));
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(5)); /* by angles of 0.7 i in the plane of axes 0 and 1 */
    wf_val a = wf_mul(wf_cast(wf_index(g, 0), WF_F32), 0.7), c = wf_cos(a), s = wf_sin(a);
    for (int k = 0; k < 9; ++k)
        wf_write(g, rotations,
                 k == 0 || k == 4 ? c
                 : k == 1         ? wf_neg(s)
                 : k == 3         ? s
                                  : wf_const(g, WF_F32, k == 8),
                 wf_index(g, 0), k / 3, k % 3);
    world_run(w, g);
    wf_back_project(volume, images, rotations, NULL, &linear);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(900));
    wf_val v = wf_in(g, points);
    wf_splat(g, grid, &linear, v, WF_VALS(wf_add(v, 9), wf_mul(v, 2.5)));
    world_run(w, g);
    const char text[] = "h[at] += at % 5; if (at % 3 == 0) few[at % 50] += 2";
    wf_text_create(w->ctx, text, WF_ARGS(WF_ARG("h", h), WF_ARG("at", at), WF_ARG("few", few)), 0, NULL, 0, NULL);
    world_failed(w);
    wf_release(points);
    wf_release(images);
    wf_release(rotations);
    wf_release(at);
    world_result(w, volume);
    world_result(w, grid);
    world_result(w, h);
    world_result(w, few);
}

/* A back-projection into a volume of more than 1 MiB, and a splat. */
static void large_volumes(distributed_world *w)
{
    static const wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR };
    const wf_shape of_volume = WF_SHAPE(37, 41, 46), of_images = WF_SHAPE(2, 9, 8); /* C128 */
    wf_array *rotations = wf_empty(w->ctx, WF_F32, WF_SHAPE(2, 3, 3));
    wf_graph *g = wf_begin(w->ctx, .shape = WF_SHAPE(2));
    wf_val i = wf_index(g, 0); /* along axis 1, and across axes 0 and 2 */
    for (int k = 0; k < 9; ++k)
        wf_write(g, rotations,
                 wf_select(wf_eq(i, 0), wf_const(g, WF_F32, k == 1 || k == 3 || k == 8),
                           wf_const(g, WF_F32,
                                    k == 4   ? 1
                                    : k == 2 ? 0.8
                                    : k == 6 ? -0.8
                                    : k % 8  ? 0
                                             : 0.6)),
                 i, k / 3, k % 3);
    world_run(w, g);
    wf_array *volume = numbered(w, WF_C128, of_volume), *splats = numbered(w, WF_C128, of_volume),
             *images = world_filled(w, WF_F64, of_images, 4), *points = world_filled(w, WF_F64, WF_SHAPE(900), 5);
    wf_back_project(volume, images, rotations, NULL, &linear);
    world_failed(w);
    g = wf_begin(w->ctx, .shape = WF_SHAPE(900));
    wf_val v = wf_in(g, points), s = wf_abs(v);
    wf_splat(g, splats, &linear, v, WF_VALS(wf_add(wf_mul(v, 0.3), 2), wf_mul(s, 3), wf_mul(s, 4)));
    world_run(w, g);
    wf_release(points);
    wf_release(images);
    wf_release(rotations);
    world_result(w, volume);
    world_result(w, splats);
}

/* ---- random recordings ---- */
/* One of the indices that a point may have along an axis of n elements: its own, shifted, from memory, a constant, or made of its
 * own. */
static wf_val random_index(wf_graph *g, wf_shape space, int64_t n, wf_array *at, uint64_t *random)
{
    const int axis = (int)(random_of(random) % (uint64_t)space.rank);
    const int64_t room = n - space.dim[axis];
    wf_val i = wf_index(g, axis);
    switch (random_of(random) % 5) {
    case 0:
        return room < 0 ? wf_mod(i, (double)n) : i;
    case 1:
        return room < 0 ? wf_idiv(i, 1000) : wf_add(i, (double)room);
    case 2:
        return wf_cast(wf_const(g, WF_I64, (double)(n / 3)), WF_I64);
    case 3:
        return wf_mod(wf_add(wf_mul(i, 7919), 5), (double)n);
    default:
        return wf_mod(wf_add(wf_in(g, at), i), (double)n);
    }
}

/* Accumulates integers, and floats into large arrays, into arrays that are small or large, which may be divided along any axis, in conditions or not. */
static void random_launch(distributed_world *w, uint64_t seed)
{
    static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MIN, WF_JOIN_MAX, WF_JOIN_XOR, WF_JOIN_MUL };
    static const wf_dtype dtypes[] = { WF_U8, WF_I16, WF_I32, WF_U64, WF_F32, WF_F64, WF_BF16 };
    enum { ARRAYS = 3 };
    uint64_t random = seed;
    wf_shape space = { .rank = 1 + (int)(random_of(&random) % 2) };
    for (int d = 0; d < space.rank; ++d)
        space.dim[d] = 1 + (int64_t)(random_of(&random) % (space.rank == 1 ? 3000 : 60));
    wf_array *h[ARRAYS], *at = targets(w, space, LARGE, seed, random_of(&random) % 4 != 0);
    wf_join join[ARRAYS];
    for (int k = 0; k < ARRAYS; ++k) {
        wf_shape shape = { .rank = 1 + (int)(random_of(&random) % 3) };
        for (int d = 0; d < shape.rank; ++d)
            shape.dim[d] = 1 + (int64_t)(random_of(&random) % 30);
        const uint64_t of = random_of(&random) % 7;
        const wf_dtype dtype = dtypes[of];
        if (random_of(&random) % 2 || of > 3) { /* more than 1 MiB */
            int64_t *along = &shape.dim[random_of(&random) % (uint64_t)shape.rank], others = 1;
            *along = 1;
            for (int d = 0; d < shape.rank; ++d)
                others *= shape.dim[d];
            *along = (int64_t)((1 << 20) / wf_dtype_size(dtype)) / others + 1;
        }
        h[k] = numbered(w, dtype, shape);
        join[k] = joins[random_of(&random) % (of > 3 ? 3 : 5)];
    }
    wf_graph *g = wf_begin(w->ctx, .shape = space);
    for (int n = 1 + (int)(random_of(&random) % 4); n > 0; --n) {
        const uint64_t k = random_of(&random) % ARRAYS;
        const wf_shape shape = wf_array_shape(h[k]);
        wf_val index[3], v = wf_add(wf_in(g, at), n);
        for (int d = 0; d < shape.rank; ++d)
            index[d] = random_index(g, space, shape.dim[d], at, &random);
        const wf_vals all = { index, (size_t)shape.rank };
        v = wf_mod(v, 100);
        v = wf_cast(is_float(wf_array_dtype(h[k])) ? wf_div(wf_cast(v, WF_F64), 7) : v, wf_array_dtype(h[k]));
        if (random_of(&random) % 3 == 0) {
            wf_accumulate_if_n(g, wf_gt(wf_mod(wf_in(g, at), 7), 2), join[k], WF_MODE_AUTO, h[k], v, all);
        } else if (random_of(&random) % 3 == 0) {
            WF_IF (g, wf_lt(wf_mod(wf_in(g, at), 5), 3)) {
                wf_accumulate_n(g, join[k], WF_MODE_AUTO, h[k], v, all);
            }
            WF_END(g);
        } else
            wf_accumulate_n(g, join[k], WF_MODE_AUTO, h[k], v, all);
    }
    world_run(w, g);
    for (int k = 0; k < ARRAYS; ++k)
        world_result(w, h[k]);
    wf_release(at);
}

static void random_launches(distributed_world *w)
{
    for (uint64_t seed = 1; seed <= 12; ++seed)
        random_launch(w, seed);
}

static const distributed_case cases[] = { { "joins", joins },
                                          { "axes", axes },
                                          { "conditions", conditions },
                                          { "no conflicts", no_conflicts },
                                          { "sums", sums },
                                          { "small", small },
                                          { "own", own },
                                          { "functions", functions },
                                          { "random", random_launches } };
static const distributed_case volumes[] = { { "large volumes", large_volumes } };
enum { CASES = sizeof cases / sizeof *cases };

static void ranks_and_grids(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__ /* all grids take minutes, and the same code sends values for each */
    distributed_check(cases, CASES, 4, 1, 2, WF_INTERP, WF__FENCE_BEHIND);
#else
    distributed_check_cuts(cases, CASES);
#endif
}

static void compiled_code(void **state)
{
    (void)state;
    distributed_check(cases, CASES, 4, 1, 3, WF_CPU, WF__FENCE_BEHIND);
    distributed_check(cases, CASES, 3, 2, 1, WF_CPU, WF__FENCE_BEHIND);
    distributed_check(volumes, 1, 4, 1, 3, WF_CPU, WF__FENCE_BEHIND);
}

/* On one process the order is that of a loop over the points in C, for any number of threads. */
static void order_of_points(void **state)
{
    enum { ROWS = 300, COLUMNS = 70, FEW = 11 };
    static float want[LARGE], got[LARGE];
    static int32_t at[ROWS * COLUMNS];
    (void)state;
    memset(want, 0, sizeof want);
    for (int part = 0; part < 2; ++part)
        for (int i = 0; i < ROWS * COLUMNS; ++i) {
            at[i] = i * 7919 % LARGE;
            const float v = (float)(i % 1000) * 0.37f;
            if (part == 0)
                want[at[i] % FEW] += v;
            else if (i % 3)
                want[at[i] % (LARGE / 2) * 2] += v * v;
        }
    for (int run = 0; run < 6; ++run) {
        wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config),
                                                       .threads = 1 + run / 2,
                                                       .device = run % 2 ? WF_INTERP : WF_CPU,
                                                       .flags_on = WF_FLAG_ORDER_BY_SHAPE });
        wf_array *h = wf_full(ctx, WF_F32, WF_SHAPE(LARGE), 0), *index = wf_empty(ctx, WF_I32, WF_SHAPE(ROWS, COLUMNS));
        assert_int_equal(wf_upload(index, at, sizeof at), WF_OK);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(ROWS, COLUMNS));
        wf_val i = wf_in(g, index), p = wf_add(wf_mul(wf_index(g, 0), COLUMNS), wf_index(g, 1));
        wf_val v = wf_mul(wf_cast(wf_mod(p, 1000), WF_F32), 0.37f);
        wf_accumulate(g, WF_JOIN_ADD, h, v, wf_mod(i, FEW));
        wf_accumulate_if(g, wf_ne(wf_mod(p, 3), 0), WF_JOIN_ADD, h, wf_mul(v, v), wf_mul(wf_mod(i, LARGE / 2), 2));
        assert_int_equal(wf_run(g), WF_OK);
        assert_int_equal(wf_download(h, got, sizeof got), WF_OK);
        assert_memory_equal(got, want, sizeof got);
        /* in an array graph, the sum of each element's values, and sums into a view with gaps */
        wf_array *wide = wf_full(ctx, WF_F32, WF_SHAPE(LARGE / 10, 15), 3), *part = wf_view_slice(wide, 1, 2, 12, 1);
        g = wf_begin(ctx);
        i = wf_in(g, index);
        v = wf_add(wf_mul(wf_cast(wf_mod(i, 1000), WF_F32), 0.21f), 0.3f);
        wf_array *sums = wf_keep(wf_scatter(v, WF_SHAPE(LARGE), wf_mod(i, FEW)));
        wf_accumulate(g, WF_JOIN_ADD, part, v, wf_mod(i, FEW), wf_mod(i, 10));
        assert_int_equal(wf_run(g), WF_OK);
        static float some[LARGE], wanted[LARGE];
        for (int64_t e = 0; e < LARGE; ++e) {
            some[e] = 0;
            wanted[e] = 3;
        }
        for (int k = 0; k < ROWS * COLUMNS; ++k) {
            const float x = (float)(at[k] % 1000) * 0.21f + 0.3f;
            some[at[k] % FEW] += x;
            wanted[at[k] % FEW * 10 + at[k] % 10] += x;
        }
        assert_int_equal(wf_download(sums, got, sizeof got), WF_OK);
        assert_memory_equal(got, some, sizeof got);
        assert_int_equal(wf_download(part, got, sizeof got), WF_OK);
        assert_memory_equal(got, wanted, sizeof got);
        wf_release(sums);
        wf_release(part);
        wf_release(wide);
        wf_release(h);
        wf_release(index);
        wf_context_free(ctx);
    }
}

/* ---- what is refused ---- */
enum { ATOMIC, LOOP_OF_SUMS, LOOP, MODE, LATER, WITH_SUMS, TWICE, REDUCES, LATER_STORE, REFUSED };
static const char *const refused[REFUSED] = {
    "f32 of shape (300000)) is updated by atomic operations in a stage of distributed arrays",
    "f32 of shape (300000)) is accumulated into in a loop, and is too large for the copies",
    "i32 of shape (300000)) is accumulated into in a loop, at indices that ranks do not know",
    "f32 of shape (24, 20)) is accumulated into by ranks, and sums and products of floats need WF_MODE_AUTO",
    "i32 of shape (300000)) is accumulated into, and later operations of the launch read elements that other ranks have",
    "i32 of shape (300000)) is accumulated into, in one stage with sums or products of floats",
    "i32 of shape (24, 20)) is accumulated into twice, in one stage with sums or products of floats",
    "f32 of shape (24, 20)) is accumulated into by ranks, which give sums and products of floats an order of their own",
    "i32 of shape (300000)) is stored to at any index, and later operations of the launch read elements that other ranks have",
};

enum { SUMS, COUNTS, AT, OUT, PAIRS, IMAGE };

static wf_graph *record_refused(wf_context *ctx, int k, wf_array *const *a)
{
    const bool later = k == LATER || k == LATER_STORE;
    wf_graph *g = later          ? wf_begin(ctx)
                  : k == REDUCES ? wf_begin(ctx, .shape = WF_SHAPE(24, 20), .reduce = WF_ALL_AXES)
                                 : wf_begin(ctx, .shape = WF_SHAPE(20));
    wf_val i, v = later ? wf_in(g, a[AT]) : k == REDUCES ? wf_in(g, a[IMAGE]) : wf_cast(wf_index(g, 0), WF_F32);
    wf_var sum;
    switch (k) {
    case ATOMIC:
        wf_atomic(g, WF_JOIN_MAX, a[SUMS], v, wf_in(g, a[AT]));
        break;
    case LOOP_OF_SUMS:
        WF_FOR (g, i, 0, 3, 1) {
            wf_accumulate(g, WF_JOIN_ADD, a[SUMS], v, wf_add(wf_in(g, a[AT]), i));
        }
        WF_END(g);
        break;
    case LOOP:
        WF_FOR (g, i, 0, 3, 1) {
            wf_accumulate(g, WF_JOIN_ADD, a[COUNTS], 1, wf_add(wf_in(g, a[AT]), i));
        }
        WF_END(g);
        break;
    case MODE:
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_DIRECT, a[IMAGE], v, wf_in(g, a[AT]), 0);
        break;
    case LATER:
    case LATER_STORE:
        if (k == LATER)
            wf_accumulate(g, WF_JOIN_ADD, a[COUNTS], 1, v);
        else
            wf_write(g, a[COUNTS], 1, v);
        v = wf_slice(wf_in(g, a[COUNTS]), 0, 1, LARGE, 1);
        wf_out(g, a[OUT], wf_scan(WF_JOIN_MAX, wf_add(v, 1), 0, false, false));
        break;
    case WITH_SUMS:
        wf_accumulate(g, WF_JOIN_ADD, a[COUNTS], 1, wf_in(g, a[AT]));
        wf_accumulate(g, WF_JOIN_ADD, a[IMAGE], v, wf_in(g, a[AT]), 0);
        break;
    case TWICE:
        wf_accumulate(g, WF_JOIN_ADD, a[IMAGE], v, wf_in(g, a[AT]), 0);
        wf_accumulate(g, WF_JOIN_ADD, a[PAIRS], 1, 0, wf_index(g, 0));
        wf_accumulate(g, WF_JOIN_ADD, a[PAIRS], 2, 1, wf_index(g, 0));
        break;
    default:
        sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
        wf_inc(sum, v);
        wf_accumulate(g, WF_JOIN_ADD, a[IMAGE], v, 3, wf_mod(wf_index(g, 1), 4));
    }
    return g;
}

static wf_status refuse(wf_ranks *ranks, void *user)
{
    static const struct {
        wf_dtype dtype;
        wf_shape shape;
    } kinds[] = { { WF_F32, { .rank = 1, .dim = { LARGE } } },  { WF_I32, { .rank = 1, .dim = { LARGE } } },
                  { WF_I32, { .rank = 1, .dim = { 20 } } },     { WF_I32, { .rank = 1, .dim = { LARGE - 1 } } },
                  { WF_I32, { .rank = 2, .dim = { 24, 20 } } }, { WF_F32, { .rank = 2, .dim = { 24, 20 } } } };
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_array *a[6];
    bool right = true;
    (void)user;
    for (int k = 0; k < 6; ++k) {
        wf_dist dist;
        wf_dist_make(&kinds[k].shape, wf_ranks_size(ranks), NULL, &dist);
        a[k] = wf_empty_distributed(ctx, kinds[k].dtype, ranks, &dist);
        wf_array_fill(a[k], 1);
    }
    for (int k = 0; k < REFUSED; ++k) {
        const bool found =
            wf_run(record_refused(ctx, k, a)) == WF_ERR_UNSUPPORTED && strstr(wf_last_message(ctx), refused[k]);
        if (!found)
            fprintf(stderr, "case %d: %s: %s\n", k, wf_status_name(wf_last_status(ctx)), wf_last_message(ctx));
        right = right && found;
        wf_clear_error(ctx);
    }
    for (int k = 0; k < 6; ++k)
        wf_release(a[k]);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void refusals(void **state)
{
    (void)state;
    assert_int_equal(wf_ranks_threads(3, refuse, NULL, NULL, NULL), WF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(ranks_and_grids), cmocka_unit_test(compiled_code),
                                        cmocka_unit_test(order_of_points), cmocka_unit_test(refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
