/* test_distributed_lib.c - functions of the library on distributed arrays give the bits of one process, for any number of
 * ranks and any grid. Ranks are threads, each with a context of its own.
 *
 * ctest: threads first_tier
 */
#include "distributed_world.h"
#include "weft/fft.h"
#include "weft/functions.h"
#include "weft/project.h"
#include "weft/signal.h"
#include "weft/xform.h"
#include "weft_test.h"

static const wf_shape wide = { .rank = 2, .dim = { 21, 38 } }, deep = { .rank = 3, .dim = { 6, 9, 14 } };

/* Compares a result, which must be distributed over the ranks, and releases it. */
static void divided(distributed_world *w, wf_array *a) { world_result(w, world_divided(w, a)); }

/* ---- functions along axes ---- */
static void spline(distributed_world *w)
{
    static const wf_border borders[] = { WF_BORDER_MIRROR, WF_BORDER_REFLECT, WF_BORDER_PERIODIC, WF_BORDER_VALUE };
    static const wf_axes axes[] = { WF_ALL_AXES, WF_AXES(0), WF_AXES(1) };
    for (int k = 0; k < 6; ++k) {
        const wf_dtype dtype = k % 3 == 2 ? WF_F64 : k == 1 ? WF_F16 : k == 3 ? WF_I32 : WF_F32;
        wf_array *a = world_filled(w, dtype, k % 2 ? wide : deep, 5);
        divided(w, wf_spline_filter(a, axes[k % 3], borders[k % 4], k == 3 ? 2 : 1.5));
        wf_release(a);
    }
    wf_array *line = world_filled(w, WF_F32, WF_SHAPE(100), 5);
    divided(w, wf_spline_filter(line, WF_ALL_AXES, WF_BORDER_MIRROR, 0));
    wf_release(line);
}

/* Random numbers: the place of an element in the whole array determines them. */
static void random_numbers(distributed_world *w)
{
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_F16, WF_C64, WF_C128 };
    const wf_random seed = { .seed = 5, .stream = 3, .first = 1000 };
    for (int k = 0; k < 5; ++k) {
        wf_array *normal = world_empty(w, dtypes[k], deep), *uniform = world_empty(w, dtypes[k], wide);
        wf_array_random_normal(normal, seed, 0.5, 2);
        wf_array_random_uniform(uniform, seed, -1, 3);
        divided(w, normal);
        divided(w, uniform);
    }
    wf_array *whole = world_empty(w, WF_I32, wide), *bits = world_empty(w, WF_U32, WF_SHAPE(700)),
             *counts = world_empty(w, WF_I64, wide), *log = world_empty(w, WF_F32, deep);
    wf_array_random_uniform(whole, seed, -40, 1000);
    wf_array_random_bits(bits, seed);
    wf_array_random_poisson(counts, seed, 3.5);
    wf_array_random_lognormal(log, seed, 0, 0.5);
    divided(w, whole);
    divided(w, bits);
    divided(w, counts);
    divided(w, log);
}

static void cosine(distributed_world *w)
{
    for (int type = 1; type <= 4; ++type) {
        const wf_dtype dtype = type == 2 ? WF_F64 : type == 3 ? WF_F16 : WF_F32;
        wf_array *a = world_filled(w, dtype, wide, 6), *b = world_filled(w, dtype, deep, 7);
        divided(w, wf_dct(a, type, WF_ALL_AXES, false, WF_FFT_ORTHO));
        divided(w, wf_dst(a, type, WF_AXES(type % 2), true, WF_FFT_BACKWARD));
        divided(w, wf_dct(b, type, WF_AXES(0, 2), type % 2, WF_FFT_BACKWARD));
        wf_release(a);
        wf_release(b);
    }
}

static void chirps(distributed_world *w)
{
    const wf_czt_points zoom = { .count = 24, .first = 0.1, .step = 1e-3 },
                        spiral = { .count = 50, .step = 0.02, .radius = 0.9 };
    wf_array *a = world_filled(w, WF_F32, wide, 8), *b = world_filled(w, WF_F64, deep, 9);
    for (int axis = 0; axis < 2; ++axis)
        divided(w, wf_czt(a, axis, axis ? &spiral : &zoom));
    divided(w, wf_czt(b, 1, &zoom));
    divided(w, wf_czt(b, 2, &spiral));
    wf_release(a);
    wf_release(b);
}

static void order(distributed_world *w)
{
    for (int k = 0; k < 4; ++k) {
        wf_array *a = world_filled(w, k % 2 ? WF_F32 : WF_I32, k < 2 ? wide : deep, 10);
        wf_array *few = wf_array_cast(a, WF_I8); /* with equal elements */
        for (int axis = 0; axis < (k < 2 ? 2 : 3); ++axis) {
            divided(w, wf_array_sort(a, axis, k % 2));
            divided(w, wf_array_argsort(few, axis, k == 3));
        }
        wf_release(a);
        wf_release(few);
    }
}

/* Lines that ranks divide: of a few elements, of equal and special ones, with axes of extent 1. */
static void order_of_lines(distributed_world *w)
{
    static const wf_dtype dtypes[] = { WF_F64, WF_F32, WF_I8, WF_U16, WF_F16, WF_I64, WF_BOOL };
    static const wf_shape shapes[] = { { .rank = 1, .dim = { 300 } },
                                       { .rank = 1, .dim = { 5 } },
                                       { .rank = 3, .dim = { 1, 77, 1 } },
                                       { .rank = 2, .dim = { 1, 64 } } };
    for (int k = 0; k < 14; ++k) {
        const wf_shape shape = shapes[k % 4];
        const int axis = k % 4 < 2 ? 0 : 1;
        wf_array *x = world_filled(w, WF_F32, shape, 40 + (uint64_t)k), *a = world_empty(w, dtypes[k % 7], shape);
        wf_graph *g = wf_begin(w->ctx);
        wf_val v = wf_mul(wf_in(g, x), k % 3 ? 100 : 3);
        if (k % 7 < 2)
            v = wf_select(wf_lt(wf_in(g, x), -0.8), (double)NAN, wf_select(wf_gt(v, 60), -0.0, v));
        wf_out(g, a, k % 7 == 6 ? wf_gt(v, 0) : k % 7 == 3 ? wf_abs(v) : v);
        wf_run(g);
        divided(w, wf_array_sort(a, axis, k % 5 == 1));
        divided(w, wf_array_argsort(a, axis, k % 5 == 2));
        wf_release(a);
        wf_release(x);
    }
}

static void quantiles(distributed_world *w)
{
    static const wf_axes axes[] = { WF_AXES(0), WF_AXES(1), WF_AXES(2), WF_AXES(0, 2), WF_ALL_AXES };
    wf_array *a = world_filled(w, WF_F32, deep, 12), *none = world_empty(w, WF_F32, WF_SHAPE(4, 0, 3));
    for (int k = 0; k < 5; ++k) {
        world_result(w, wf_array_median(a, axes[k]));
        world_result(w, wf_array_quantile(a, 0.3, axes[k]));
    }
    world_result(w, wf_array_median(a, WF_ALL_AXES | WF_DROP_AXES));
    world_result(w, wf_array_median(none, WF_AXES(1)));
    world_result(w, wf_array_quantiles(none, (double[]){ 0, 1 }, 2, WF_AXES(1)));
    wf_release(a);
    wf_release(none);
}

/* Lines of elements that are equal, infinite or NaN; fewer lines than ranks, and more. */
static void several_quantiles(distributed_world *w)
{
    static const double q[] = { 0.25, 0, 1, 0.5, 0.77 };
    static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_F16, WF_I8, WF_U16, WF_I32, WF_U64, WF_BOOL };
    static const wf_axes axes[] = { WF_ALL_AXES, WF_AXES(1, 2), WF_AXES(0, 2) | WF_DROP_AXES,
                                    WF_AXES(0) | WF_DROP_AXES };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k) {
        wf_array *x = world_filled(w, WF_F32, WF_SHAPE(2, 11, 7), 21 + (uint64_t)k);
        wf_array *a = world_empty(w, dtypes[k], WF_SHAPE(2, 11, 7));
        wf_graph *g = wf_begin(w->ctx);
        wf_val v = wf_mul(wf_in(g, x), k % 2 ? 3 : 1e4), z = wf_iota(g, WF_SHAPE(2, 11, 7), 0);
        if (k < 3) {
            v = wf_select(wf_gt(wf_in(g, x), 0.7), (double)INFINITY, wf_select(wf_lt(v, -6e3), (double)-INFINITY, v));
            v = wf_select(wf_and(wf_eq(z, 1), wf_lt(wf_abs(v), 300)), (double)NAN, v);
        }
        wf_out(g, a, k == 7 ? wf_gt(v, 0) : k == 4 || k == 6 ? wf_abs(v) : v);
        wf_run(g);
        for (size_t i = k % 2; i < sizeof axes / sizeof *axes; i += 2) {
            world_result(w, wf_array_quantiles(a, q, 5, axes[i]));
            world_result(w, wf_array_quantile(a, q[i], axes[i]));
        }
        world_result(w, wf_array_quantiles(a, q, 0, WF_ALL_AXES));
        wf_release(a);
        wf_release(x);
    }
}

/* A mask where a number of elements in 8 is true. */
static wf_array *mask_of(distributed_world *w, const wf_array *a, wf_axes whole, int eighths)
{
    wf_array *mask = world_empty_along(w, WF_BOOL, wf_array_shape(a), whole);
    wf_graph *g = wf_begin(w->ctx);
    wf_out(g, mask, wf_lt(wf_mod(wf_floor(wf_mul(wf_abs(wf_in(g, a)), 1000)), 8), eighths));
    world_run(w, g);
    return mask;
}

/* Arrays and masks that are cut alike or in different ways, or of which one is an ordinary array. */
static void masks(distributed_world *w)
{
    static const wf_dtype dtypes[] = { WF_F32, WF_I8, WF_C64 };
    for (int k = 0; k < 6; ++k) {
        const wf_shape shape = k % 2 ? deep : wide;
        wf_array *x = world_filled(w, WF_F32, shape, 50), *plain = world_whole(w, WF_F32, shape, 50);
        wf_array *a = wf_array_cast(x, dtypes[k % 3]), *none = mask_of(w, x, 0, 0), *all = mask_of(w, x, 0, 8);
        wf_array *mask = mask_of(w, x, 0, 3), *other = mask_of(w, x, WF_AXES(k % 2), 2);
        wf_array *ordinary = w->ranks ? wf_array_collect(mask) : wf_retain(mask);
        divided(w, wf_array_where(mask));
        divided(w, wf_array_where(other));
        divided(w, wf_array_where(none));
        divided(w, wf_array_compress(a, mask));
        divided(w, wf_array_compress(a, other));
        divided(w, wf_array_compress(a, all));
        divided(w, wf_array_compress(a, none));
        divided(w, wf_array_compress(a, ordinary));
        divided(w, wf_array_compress(plain, mask));
        wf_array *released[] = { x, plain, a, none, all, mask, other, ordinary };
        for (int i = 0; i < 8; ++i)
            wf_release(released[i]);
    }
}

/* Writes values to a copy of `a` where a mask holds. Consumes the values. */
static void assign(distributed_world *w, const wf_array *a, const wf_array *mask, wf_array *values)
{
    wf_array *b = wf_array_copy(a);
    wf_array_assign_where(b, mask, values);
    wf_release(values);
    world_spoil(w, b);
    world_result(w, b);
}

/* Values in order, and one value, where the array, the mask and the values are cut in different ways, or ordinary. */
static void assigned(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 1, .dim = { 37 } },
                                       { .rank = 2, .dim = { 9, 14 } },
                                       { .rank = 3, .dim = { 5, 6, 7 } } };
    for (int k = 0; k < 6; ++k) {
        const wf_shape shape = shapes[k % 3];
        wf_array *x = world_filled(w, WF_F32, shape, 61), *y = world_filled(w, k < 3 ? WF_F64 : WF_I32, shape, 62);
        wf_array *plain = world_whole(w, WF_F32, shape, 63), *none = mask_of(w, x, 0, 0), *all = mask_of(w, x, 0, 8);
        wf_array *mask = mask_of(w, x, 0, 3), *other = mask_of(w, x, k % 3 ? WF_AXES(0) : 0, 2);
        wf_array *ordinary = w->ranks ? wf_array_collect(mask) : wf_retain(mask);
        assign(w, x, mask, wf_array_compress(y, mask));
        assign(w, y, other, wf_array_compress(x, other));
        assign(w, x, all, wf_array_compress(y, all));
        assign(w, x, none, wf_array_compress(y, none));
        assign(w, x, ordinary, wf_array_compress(plain, ordinary));
        assign(w, plain, mask, wf_array_compress(y, mask));
        assign(w, x, mask, wf_full(w->ctx, WF_F32, WF_SCALAR, 2.5));
        assign(w, x, other, wf_full(w->ctx, WF_I32, WF_SHAPE(1, 1), 3));
        wf_array *itself = wf_array_cast(mask, WF_F32), *few = wf_array_compress(y, mask);
        wf_array_assign_where(itself, itself, few); /* the mask is the array */
        world_result(w, itself);
        wf_array *released[] = { x, y, plain, none, all, mask, other, ordinary, few };
        for (size_t i = 0; i < sizeof released / sizeof *released; ++i)
            wf_release(released[i]);
    }
}

/* Results without the reduced axes are distributed along the others. */
static void dropped_axes(distributed_world *w)
{
    static const wf_axes axes[] = { WF_AXES(0), WF_AXES(1), WF_AXES(2), WF_AXES(0, 1), WF_AXES(1, 2), WF_ALL_AXES };
    static const wf_shape shapes[] = { { .rank = 3, .dim = { 6, 9, 14 } },
                                       { .rank = 3, .dim = { 1, 9, 2 } },
                                       { .rank = 3, .dim = { 4, 0, 3 } } };
    for (int k = 0; k < 3; ++k) {
        wf_array *a = world_filled(w, k ? WF_F64 : WF_F32, shapes[k], 13);
        for (size_t i = 0; i < sizeof axes / sizeof *axes; ++i) {
            const wf_axes drop = axes[i] | WF_DROP_AXES;
            wf_array *sum = wf_array_sum(a, drop);
            const wf_dist *dist = wf_array_dist(sum), *old = wf_array_dist(a);
            for (int d = 0, n = 0; dist && d < 3; ++d) /* the grid is that of the array along the axes that are left */
                if (!(axes[i] >> d & 1) && (dist->grid[n++] != old->grid[d] || old->ranks != dist->ranks))
                    w->status = WF_ERR_CONTRACT;
            world_result(w, sum);
            world_result(w, wf_array_mean(a, drop));
            if (k < 2) {
                world_result(w, wf_array_median(a, drop));
                world_result(w, wf_array_argmax(a, drop));
                world_result(w, wf_array_variance(a, drop, 0));
            }
        }
        wf_release(a);
    }
}

/* ---- launches ---- */
static void bins(distributed_world *w)
{
    for (int64_t k = 1; k < 5; ++k) {
        wf_array *a = world_filled(w,
                                   k == 2   ? WF_I32
                                   : k == 3 ? WF_F32
                                            : WF_F64,
                                   wide, 13),
                 *b = world_filled(w, WF_F32, deep, 14);
        divided(w, wf_bin(a, k, WF_ALL_AXES));
        divided(w, wf_bin(a, k, WF_AXES(1)));
        divided(w, wf_bin(b, k, WF_AXES(0, 2)));
        wf_release(a);
        wf_release(b);
    }
    wf_array *a = world_filled(w, WF_F32, wide, 13);
    divided(w, wf_bin(a, 30, WF_AXES(0))); /* has no whole bin */
    divided(w, wf_bin(a, 21, WF_ALL_AXES));
    wf_release(a);
}

static void regions(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, wide, 15), *b = world_filled(w, WF_I32, deep, 16);
    wf_array *part = world_filled(w, WF_F64, WF_SHAPE(7, 9), 17), *own = world_whole(w, WF_F32, WF_SHAPE(8, 5), 18);
    divided(w, wf_array_extract(a, WF_SHAPE(9, 20), (int64_t[]){ 5, 11 }, WF_BORDER_NONE, 0));
    divided(w, wf_array_extract(a, WF_SHAPE(9, 50), (int64_t[]){ 5, -3 }, WF_BORDER_MIRROR, 0));
    divided(w, wf_array_resize(b, (int64_t[]){ -1, -2, -3 }, (int64_t[]){ 0, -1, -4 }, WF_BORDER_NONE, 0));
    divided(w, wf_array_resize(b, (int64_t[]){ 1, -2, 3 }, NULL, WF_BORDER_VALUE, 5));
    wf_array_insert(a, part, (int64_t[]){ 3, 20 });
    wf_array_insert(a, own, (int64_t[]){ -2, 36 });
    wf_array_insert(a, own, (int64_t[]){ 40, 0 }); /* outside */
    wf_array_insert(a, a, (int64_t[]){ 1, 2 });
    divided(w, wf_array_extract(a, WF_SHAPE(1, 38), (int64_t[]){ 7, 0 }, WF_BORDER_NONE, 0));
    divided(w, wf_array_extract(a, WF_SHAPE(21, 1), (int64_t[]){ 0, 30 }, WF_BORDER_NONE, 0));
    divided(w, a);
    wf_release(b);
    wf_release(part);
    wf_release(own);
}

static void places(distributed_world *w)
{
    static const wf_axes axes[] = { WF_AXES(0), WF_AXES(1), WF_AXES(1, 2), WF_ALL_AXES };
    wf_array *a = world_filled(w, WF_F32, deep, 19), *sorted = wf_array_linspace(w->ctx, WF_F32, 40, -8, 8, true, NULL);
    for (int k = 0; k < 4; ++k) {
        world_result(w, wf_array_argmax(a, axes[k]));
        world_result(w, wf_array_argmin(a, axes[k]));
    }
    world_result(w, wf_array_argmax(a, WF_ALL_AXES | WF_DROP_AXES));
    wf_array *none = wf_empty(w->ctx, WF_F32, WF_SHAPE(0));
    divided(w, wf_array_searchsorted(sorted, a, false));
    divided(w, wf_array_searchsorted(none, a, false));
    wf_release(none);
    wf_array *z = wf_fft_c2c(a, WF_AXES(2), false, WF_FFT_BACKWARD);
    divided(w, wf_array_cumsum(z, 1, false));
    wf_release(z);
    wf_release(a);
    wf_release(sorted);
}

static void convolutions(distributed_world *w)
{
    wf_array *a = world_filled(w, WF_F32, WF_SHAPE(60, 66), 20),
             *kernel = world_whole(w, WF_F32, WF_SHAPE(101, 101), 21);
    wf_array *small = world_whole(w, WF_F32, WF_SHAPE(5, 4), 22), *cut = world_filled(w, WF_F32, WF_SHAPE(5, 4), 22);
    divided(w, wf_convolve(a, kernel, WF_ALL_AXES, WF_BORDER_MIRROR, 0));
    divided(w, wf_convolve(a, small, WF_ALL_AXES, WF_BORDER_VALUE, 2));
    divided(w, wf_convolve(a, cut, WF_ALL_AXES, WF_BORDER_VALUE, 2));
    wf_release(cut);
    wf_release(a);
    wf_release(kernel);
    wf_release(small);
}

/* Images of a stack, which ranks divide along its first axis alone, are moved by numbers that ranks read from memory. */
static void stacks(distributed_world *w)
{
    static const double turn[] = { 0.8, -0.6, 3.5, 0.6, 0.8, -2.25 };
    const wf_shape shape = { .rank = 3, .dim = { 7, 12, 15 } };
    wf_array *all = world_whole(w, WF_F32, shape, 23), *stack = NULL;
    wf_array *inverse = wf_empty(w->ctx, WF_F64, WF_SHAPE(2, 3));
    wf_upload(inverse, turn, sizeof turn);
    if (w->ranks) {
        wf_dist dist;
        const wf_dist_options o = { .size = sizeof o, .grid = { wf_ranks_size(w->ranks), 1, 1 } };
        wf_dist_make(&shape, wf_ranks_size(w->ranks), &o, &dist);
        stack = wf_empty_distributed(w->ctx, WF_F32, w->ranks, &dist);
        wf_graph *g = wf_begin(w->ctx);
        wf_out(g, stack, wf_in(g, all));
        world_run(w, g);
    } else
        stack = wf_retain(all);
    const wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR, .border = WF_BORDER_CLAMP };
    const wf_interp spline_of = { .interpolation = WF_INTERPOLATE_BSPLINE, .border = WF_BORDER_MIRROR };
    const wf_polar_grid rings = { .angles = 20, .radii = 6 };
    divided(w, wf_transform(stack, WF_SCALAR, inverse, &linear));
    divided(w, wf_transform(stack, WF_SHAPE(9, 20), inverse, &spline_of));
    divided(w, wf_to_polar(stack, &rings, &linear));
    divided(w, wf_zoom(stack, WF_SHAPE(24, 31), WF_ZOOM_PIXELS, &spline_of));
    wf_release(stack);
    wf_release(all);
    wf_release(inverse);
}

/* Each rank projects a volume that all of them get. Images are projected back into a volume that each rank has. */
static void projections(distributed_world *w)
{
    enum { N = 5 };
    double rotation[N][3][3] = { { { 0 } } };
    for (int i = 0; i < N; ++i) { /* about two axes */
        const double c = i % 2 ? 0.8 : 0.6, s = i % 2 ? 0.6 : -0.8;
        rotation[i][0][0] = c;
        rotation[i][0][i % 3 ? 1 : 2] = -s;
        rotation[i][i % 3 ? 1 : 2][0] = s;
        rotation[i][i % 3 ? 1 : 2][i % 3 ? 1 : 2] = c;
        rotation[i][i % 3 ? 2 : 1][i % 3 ? 2 : 1] = 1;
    }
    wf_array *rotations = wf_empty(w->ctx, WF_F64, WF_SHAPE(N, 3, 3)), *volume = world_filled(w, WF_F32, deep, 43),
             *shifts = world_whole(w, WF_F32, WF_SHAPE(N, 2), 44), *whole = world_filled(w, WF_I32, deep, 45);
    wf_upload(rotations, rotation, sizeof rotation);
    const wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR },
                    b = { .interpolation = WF_INTERPOLATE_BSPLINE };
    wf_array *images = wf_project(volume, WF_SCALAR, rotations, shifts, &linear);
    divided(w, wf_project(volume, WF_SHAPE(12, 11), rotations, NULL, &b));
    divided(w, wf_project(whole, WF_SHAPE(7, 16), rotations, shifts, &linear));
    wf_array *back = wf_full(w->ctx, WF_F64, deep, 0);
    wf_array *large = images ? wf_array_cast(images, WF_F64) : NULL;
    wf_back_project(back, large, rotations, shifts, &linear);
    divided(w, images);
    world_result(w, back);
    wf_array *all[] = { rotations, volume, shifts, whole, large };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        wf_release(all[k]);
}

/* Sums over shells of frequency, in arrays that each rank has, and what divides by them. */
static void shells(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 33, 40 } },
                                       { .rank = 3, .dim = { 12, 15, 16 } },
                                       { .rank = 3, .dim = { 4, 24, 21 } } };
    for (int k = 0; k < 3; ++k) {
        const wf_axes axes = k == 0 ? WF_AXES(0, 1) : k == 1 ? WF_AXES(0, 1, 2) : WF_AXES(1, 2);
        wf_spectrum s = { .layout = WF_LAYOUT_H, .rank = k == 1 ? 3 : 2 };
        wf_array *x = world_filled(w, WF_F32, shapes[k], 41), *y = world_filled(w, WF_F32, shapes[k], 42);
        for (int d = 0; d < s.rank; ++d)
            s.size[d] = shapes[k].dim[shapes[k].rank - s.rank + d];
        wf_array *a = wf_fft_r2c(x, axes, WF_FFT_BACKWARD), *b = wf_fft_r2c(y, axes, WF_FFT_BACKWARD);
        world_result(w, wf_radial_average(a, &s));
        world_result(w, wf_fsc(a, b, &s));
        if (k == 1) {
            const double axis[] = { 0, 0, 1, 1, 0, 0 };
            wf_array *cones = wf_empty(w->ctx, WF_F64, WF_SHAPE(2, 3));
            wf_upload(cones, axis, sizeof axis);
            world_result(w, wf_fsc_conical(a, b, &s, cones, 0.6));
            wf_release(cones);
        }
        wf_spectrum_whiten(a, a, &s);
        world_failed(w);
        divided(w, a);
        wf_release(b);
        wf_release(x);
        wf_release(y);
    }
}

/* Extents of 1 and 0, and fewer elements than ranks. */
static void few_elements(distributed_world *w)
{
    static const wf_shape shapes[] = { { .rank = 2, .dim = { 1, 9 } },
                                       { .rank = 2, .dim = { 5, 1 } },
                                       { .rank = 3, .dim = { 1, 1, 2 } },
                                       { .rank = 2, .dim = { 3, 0 } },
                                       { .rank = 2, .dim = { 2, 3 } } };
    for (int k = 0; k < 5; ++k) {
        wf_array *a = world_filled(w, WF_F32, shapes[k], 24);
        divided(w, wf_array_sort(a, 0, false));
        divided(w, wf_array_argsort(a, 1, true));
        divided(w, wf_spline_filter(a, WF_ALL_AXES, WF_BORDER_MIRROR, 0));
        divided(w, wf_bin(a, 2, WF_AXES(1)));
        world_result(w, wf_array_median(a, WF_AXES(0)));
        world_result(w, wf_array_median(a, WF_ALL_AXES));
        if (k != 3) {
            divided(w, wf_dct(a, 2, WF_ALL_AXES, false, WF_FFT_BACKWARD));
            divided(w, wf_czt(a, 1, &(wf_czt_points){ .count = 7, .step = 0.03 }));
        }
        wf_release(a);
    }
}

static const distributed_case cases[] = {
    { "spline", spline },
    { "cosine", cosine },
    { "random numbers", random_numbers },
    { "chirps", chirps },
    { "order", order },
    { "order of lines", order_of_lines },
    { "quantiles", quantiles },
    { "several quantiles", several_quantiles },
    { "masks", masks },
    { "assigned where a mask holds", assigned },
    { "dropped axes", dropped_axes },
    { "bins", bins },
    { "regions", regions },
    { "places", places },
    { "convolutions", convolutions },
    { "stacks", stacks },
    { "projections", projections },
    { "shells", shells },
    { "few elements", few_elements },
};

static void check(int ranks, int threads, int cut, wf_device device, wf__fence fence)
{
    distributed_check(cases, sizeof cases / sizeof *cases, ranks, threads, cut, device, fence);
}

static void any_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = { 1, 2, 3, 5, 8 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i += TEST_RACES ? 3 : 1)
        check(ranks[i], 1, 0, WF_INTERP, i % 2 ? WF__FENCE_BEFORE : WF__FENCE_BEHIND);
}

static void other_grids(void **state)
{
    (void)state;
    for (int cut = 1; cut <= 3; cut += TEST_RACES ? 3 : 1)
        check(4, 1, cut, WF_INTERP, WF__FENCE_BEHIND);
}

static void compiled_code(void **state)
{
    (void)state;
    if (!TEST_RACES)
        check(4, 1, 0, WF_CPU, WF__FENCE_BEHIND);
    check(2, 2, 2, WF_CPU, WF__FENCE_NONE);
}

/* ---- refusals ---- */
/* True if the latest call failed with this status, and a message that begins with the function's name. Clears the error. */
static bool refused_by(wf_context *ctx, wf_status status, const char *function, const char *part)
{
    const char *text = wf_last_message(ctx);
    bool right = wf_last_status(ctx) == status && strncmp(text, function, strlen(function)) == 0 && strstr(text, part);
    if (!right)
        fprintf(stderr, "%s: %s: %s\n", function, wf_status_name(wf_last_status(ctx)), text);
    wf_clear_error(ctx);
    return right;
}

/* Functions that need all elements. */
static wf_status refuse_whole(wf_ranks *ranks, void *user)
{
    (void)user;
    enum { INPUTS = 6 };
    static const wf_shape shapes[INPUTS] = { { .rank = 2, .dim = { 12, 12 } },    { .rank = 1, .dim = { 12 } },
                                             { .rank = 1, .dim = { 12 } },        { .rank = 2, .dim = { 3, 3 } },
                                             { .rank = 3, .dim = { 4, 12, 12 } }, { .rank = 3, .dim = { 2, 12, 12 } } };
    static const wf_dtype dtypes[INPUTS] = { WF_F32, WF_F32, WF_I64, WF_I64, WF_F64, WF_F32 };
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_array *in[INPUTS], *own = wf_full(ctx, WF_F32, WF_SHAPE(12, 12), 1);
    for (int i = 0; i < INPUTS; ++i) {
        wf_dist dist;
        wf_dist_make(&shapes[i], wf_ranks_size(ranks), NULL, &dist);
        in[i] = wf_empty_distributed(ctx, dtypes[i], ranks, &dist);
        wf_array_fill(in[i], 1);
    }
    wf_array *a = in[0], *line = in[1], *counts = in[2], *small = in[3], *stack = in[4], *places = in[5], *got = NULL;
    wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR };
    const wf_ctf_search search = { .voltage = 300e3, .cs = 2.7e7, .amplitude = 0.1 };
    bool right = true;
#define NEEDS_ALL(function, ...)                                                                 \
    do {                                                                                         \
        (void)function(__VA_ARGS__);                                                             \
        right = refused_by(ctx, WF_ERR_ARG, #function ": ", "an array is distributed") && right; \
    } while (0)
    NEEDS_ALL(wf_array_unique, a, &got, NULL, NULL, NULL);
    NEEDS_ALL(wf_array_searchsorted, line, own, false);
    NEEDS_ALL(wf_array_repeat_counts, own, 0, counts);
    NEEDS_ALL(wf_array_extract_regions, own, WF_SHAPE(2, 2), small, WF_BORDER_CLAMP, 0);
    NEEDS_ALL(wf_array_insert, own, a, (int64_t[]){ 0, 0 });
    NEEDS_ALL(wf_median_footprint, a, small, WF_ALL_AXES, WF_BORDER_CLAMP, 0);
    NEEDS_ALL(wf_correlate_peak, a, 2);
    NEEDS_ALL(wf_correlate_peaks, stack, 2, NULL);
    NEEDS_ALL(wf_match_template, a, own, NULL, 2);
    NEEDS_ALL(wf_power_spectrum, stack, 4);
    NEEDS_ALL(wf_ctf_fit, a, &search);
    NEEDS_ALL(wf_warp, own, places, &linear);
#undef NEEDS_ALL
    wf_release(wf_symmetrize(a, "C4", 2, NULL, &linear));
    right = refused_by(ctx, WF_ERR_UNSUPPORTED, "wf_symmetrize: ", "ranks divide axis ") && right;
    for (int i = 0; i < INPUTS; ++i)
        wf_release(in[i]);
    wf_release(own);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static wf_status refuse(wf_ranks *ranks, void *user)
{
    (void)user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(12, 5), wf_ranks_size(ranks), NULL, &dist);
    wf_array *x = wf_empty_distributed(ctx, WF_F32, ranks, &dist), *line = wf_full(ctx, WF_F32, WF_SHAPE(5), 1);
    wf_array_fill(x, 1);
    wf_clear_error(ctx);
    wf_array *view = wf_view_slice(x, 0, 0, 2, 1);
    bool right = !view && wf_last_status(ctx) == WF_ERR_ARG && strstr(wf_last_message(ctx), "distributed");
    wf_clear_error(ctx);
    right = right && wf_array_assign_where(x, x, line) == WF_ERR_SHAPE &&
            strstr(wf_last_message(ctx), "wf_array_assign_where: 5 values for the 60 elements where the mask holds");
    wf_clear_error(ctx);
    right = right && wf_array_insert(line, x, (int64_t[]){ 0 }) == WF_ERR_SHAPE;
    wf_clear_error(ctx);
    if (!right)
        fprintf(stderr, "%s: %s\n", wf_status_name(wf_last_status(ctx)), wf_last_message(ctx));
    wf_release(x);
    wf_release(line);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void refusals(void **state)
{
    (void)state;
    assert_int_equal(wf_ranks_threads(3, refuse, NULL, NULL, NULL), WF_OK);
    assert_int_equal(wf_ranks_threads(3, refuse_whole, NULL, NULL, NULL), WF_OK);
}

/* Ordinary regions go into a distributed array, and the call leaves no error. */
static wf_status insert(wf_ranks *ranks, void *user)
{
    (void)user;
    wf_context *ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .device = WF_INTERP });
    wf_dist dist;
    wf_dist_make(&WF_SHAPE(20, 6), wf_ranks_size(ranks), NULL, &dist);
    wf_array *x = wf_empty_distributed(ctx, WF_F32, ranks, &dist), *parts = wf_full(ctx, WF_F32, WF_SHAPE(2, 4, 3), 5),
             *places = wf_empty(ctx, WF_I64, WF_SHAPE(2, 2));
    float sum = 0;
    wf_array_fill(x, 1);
    wf_upload(places, (int64_t[]){ 0, 0, 9, 2 }, 4 * sizeof(int64_t));
    bool right = wf_array_insert_regions(x, parts, places) == WF_OK && wf_last_status(ctx) == WF_OK;
    wf_array *all = wf_array_sum(x, WF_ALL_AXES);
    right = wf_download(all, &sum, sizeof sum) == WF_OK && right && sum == 120 + 24 * 4;
    wf_array *const made[] = { x, parts, places, all };
    for (size_t i = 0; i < sizeof made / sizeof *made; ++i)
        wf_release(made[i]);
    wf_context_free(ctx);
    return right ? WF_OK : WF_ERR_CONTRACT;
}

static void ordinary_regions(void **state)
{
    (void)state;
    assert_int_equal(wf_ranks_threads(2, insert, NULL, NULL, NULL), WF_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks), cmocka_unit_test(other_grids),
        cmocka_unit_test(compiled_code),       cmocka_unit_test(refusals),
        cmocka_unit_test(ordinary_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
