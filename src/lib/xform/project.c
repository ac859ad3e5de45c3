/* project.c - projections in real space: sums along rays through a volume, and the transpose, which adds each image's
 * elements along the same rays. A ray visits points one element apart, where the volume is interpolated; it begins and
 * ends where the kernel leaves the volume.
 */
#include "project.h"
#include "weft/distributed.h"
#include <math.h>

typedef struct job {
    wf_graph *g;
    const char *function;
    wf_array *volume;
    const wf_array *images, *rotations, *shifts;
    wf_interp how;
    wf_shape shape; /* of the images: [n, ...] */
    int axes;
    wf_dtype dtype; /* of positions */
    double reach;   /* of the interpolation's kernel */
    double far;     /* no point of a ray in the volume has a larger number */
} job;

static void set_reach(job *j)
{
    const wf_shape size = wf_array_shape(j->volume);
    double far = 4;
    j->reach = wfl_taps_of(j->how.interpolation) / 2 + 1;
    for (int d = 0; d < j->axes; ++d)
        far += (double)size.dim[d] / 2 * ((double)size.dim[d] / 2);
    j->far = ceil(sqrt(far)) + j->axes * j->reach;
}

/* Completes the job. False, with an error: something does not fit. */
static bool complete(job *j, const wf_interp *how)
{
    wf_context *ctx = wf_array_context(j->volume);
    if (!j->rotations) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `rotations` is NULL", j->function);
        return false;
    }
    if (!wfl_array_known(j->volume, j->function) || !wfl_interp_known(ctx, how, j->function))
        return false;
    j->axes = wf_array_shape(j->volume).rank;
    if (j->axes < 2 || j->axes > WFL_MOST_POSITIONS)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `volume` has %d axes; 2 or 3 are possible", j->function, j->axes);
    else if (how->border > WF_BORDER_VALUE || how->outside != 0)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: how.border is %d with %g outside, but volumes are 0 there", j->function,
                       (int)how->border, how->outside);
    else if (wfl_rotations_fit(j->rotations, j->shifts, j->axes, j->function)) {
        j->how = *how;
        j->how.axes = j->axes;
        j->dtype = wfl_positions_dtype(j->rotations);
        set_reach(j);
        return true;
    }
    return false;
}

static wf_val number(const job *j, double x) { return wf_const(j->g, j->dtype, x); }

/* A ray: position d is base[d] + t step[d] for t = first, ..., last. */
typedef struct ray {
    wf_val base[WFL_MOST_POSITIONS], step[WFL_MOST_POSITIONS], first, last;
} ray;

/* Returns the ray of the current point of a space of images. */
static ray ray_here(const job *j)
{
    ray r;
    wf_graph *g = j->g;
    wf_shape size = wf_array_shape(j->volume);
    wf_val at[WFL_MOST_POSITIONS], i = wf_index(g, 0);
    for (int e = 1; e < j->axes; ++e) {
        at[e] = wf_cast(wf_sub(wf_index(g, e), wf_const_i64(g, WF_I64, j->shape.dim[e] / 2)), j->dtype);
        if (j->shifts)
            at[e] = wf_sub(at[e], wf_cast(wf_read(g, j->shifts, i, wf_const_i64(g, WF_I64, e - 1)), j->dtype));
    }
    wf_val first = number(j, -j->far), last = number(j, j->far);
    for (int d = 0; d < j->axes; ++d) {
        wf_val m[WFL_MOST_POSITIONS];
        for (int e = 0; e < j->axes; ++e)
            m[e] =
                wf_cast(wf_read(g, j->rotations, i, wf_const_i64(g, WF_I64, d), wf_const_i64(g, WF_I64, e)), j->dtype);
        r.step[d] = m[0];
        r.base[d] = number(j, (double)(size.dim[d] / 2));
        for (int e = 1; e < j->axes; ++e)
            r.base[d] = wf_add(r.base[d], wf_mul(m[e], at[e]));
        /* where the ray enters and leaves the volume along this axis, if it does */
        wf_val low = wf_div(wf_sub(number(j, -j->reach), r.base[d]), m[0]);
        wf_val high = wf_div(wf_sub(number(j, (double)size.dim[d] - 1 + j->reach), r.base[d]), m[0]);
        wf_val moves = wf_gt(wf_abs(m[0]), 1e-6);
        first = wf_select(moves, wf_max(first, wf_min(low, high)), first);
        last = wf_select(moves, wf_min(last, wf_max(low, high)), last);
    }
    r.first = wf_cast(wf_ceil(wf_max(first, -j->far)), WF_I64);
    r.last = wf_cast(wf_floor(wf_min(last, j->far)), WF_I64);
    return r;
}

static void position_at(const job *j, const ray *r, wf_val t, wf_val *position)
{
    wf_val along = wf_cast(t, j->dtype);
    for (int d = 0; d < j->axes; ++d)
        position[d] = wf_add(r->base[d], wf_mul(along, r->step[d]));
}

/* Returns what is interpolated. The rays of a rank's images go through the whole volume, so each rank gets all of a distributed one.
 */
static wf_array *source_of(const wf_array *volume, const wf_interp *how, int axes)
{
    wf_array *source = wfl_coefficients(volume, how, axes);
    if (!wf_array_dist(volume))
        return source;
    wf_array *all = source ? wf_array_collect(source) : NULL;
    wf_release(source);
    return all;
}

wf_array *wf_project(const wf_array *volume, wf_shape shape, const wf_array *rotations, const wf_array *shifts,
                     const wf_interp *how)
{
    static const char function[] = "wf_project";
    job j = { .function = function, .volume = (wf_array *)volume, .rotations = rotations, .shifts = shifts };
    if (!volume) {
        wfl_array_fail(wf_array_context(rotations), WF_ERR_ARG, "%s: `volume` is NULL", function);
        return NULL;
    }
    if (!complete(&j, how) ||
        !(wf_array_dist(volume) || (wfl_array_whole(rotations, function) && wfl_array_whole(shifts, function))))
        return NULL;
    if (shape.rank && shape.rank != j.axes - 1) {
        wfl_array_fail(wf_array_context(volume), WF_ERR_SHAPE, "%s: `shape` has rank %d; projections have %d axes",
                       function, (int)shape.rank, j.axes - 1);
        return NULL;
    }
    j.shape = wf_array_shape(volume);
    j.shape.dim[0] = wf_array_shape(rotations).dim[0];
    for (int d = 0; d < shape.rank; ++d)
        j.shape.dim[d + 1] = shape.dim[d];
    wf_array *source = source_of(volume, how, j.axes);
    wf_array *y = source ? wfl_result_beside(volume, wfl_transformed_dtype(wf_array_dtype(volume)), &j.shape) : NULL;
    if (y) {
        j.g = wfl_begin(wf_array_context(volume), function, .shape = j.shape);
        wf_dtype t = wfl_interpolated_dtype(wf_array_dtype(volume));
        wf_val k, position[WFL_MOST_POSITIONS];
        ray r = ray_here(&j);
        wf_var sum = wf_local(j.g, t, wf_const(j.g, t, 0));
        WF_FOR (j.g, k, r.first, wf_add(r.last, 1), 1) {
            position_at(&j, &r, k, position);
            wf_inc(sum, wf_interpolate(j.g, source, &j.how, (wf_vals){ position, (size_t)j.axes }));
        }
        WF_END(j.g);
        wf_out(j.g, y, wf_get(sum));
        y = wfl_array_run(j.g, y);
    }
    wf_release(source);
    return y;
}

/* True for volumes whose sums have an order that does not depend on threads and ranks, and which are too large for copies: in a
 * loop there is no such order, so that a launch adds one point of each ray. */
static bool adds_step_by_step(const job *j)
{
    enum { ORDERED_BYTES = 1 << 20 }; /* what WF_FLAG_ORDER_BY_SHAPE promises for accumulations in loops */
    const wf_dtype t = wf_array_dtype(j->volume);
    const int64_t size = t == WF_F16 || t == WF_BF16 ? 4 : (int64_t)wf_dtype_size(t);
    return (wf_array_dist(j->volume) || wf_get_flags(wf_array_context(j->volume)) & WF_FLAG_ORDER_BY_SHAPE) &&
           wf_array_count(j->volume) * size > ORDERED_BYTES;
}

/* Adds the points of all rays that have one number, then those of the next one. The number comes from memory, so that one plan is
 * for all launches. */
static wf_status back_project_steps(job *j)
{
    wf_context *ctx = wf_array_context(j->volume);
    wf_array *number = wf_empty(ctx, WF_I64, WF_SHAPE(1));
    wf_status status = number ? WF_OK : wfl_array_error(ctx);
    for (double k = -j->far; status == WF_OK && k <= j->far; ++k) {
        if ((status = wf_array_fill(number, k)) != WF_OK)
            break;
        j->g = wfl_begin(ctx, j->function, .shape = j->shape);
        wf_val position[WFL_MOST_POSITIONS], v = wf_in(j->g, j->images);
        wf_val t = wf_read(j->g, number, wf_const_i64(j->g, WF_I64, 0));
        const ray r = ray_here(j);
        position_at(j, &r, t, position);
        const wf_vals at = { position, (size_t)j->axes };
        WF_IF (j->g, wf_and(wf_ge(t, r.first), wf_le(t, r.last))) {
            wf_splat(j->g, j->volume, &j->how, v, at);
        }
        WF_END(j->g);
        status = wf_run(j->g);
    }
    wf_release(number);
    return status;
}

wf_status wf_back_project(wf_array *volume, const wf_array *images, const wf_array *rotations, const wf_array *shifts,
                          const wf_interp *how)
{
    static const char function[] = "wf_back_project";
    job j = { .function = function, .volume = volume, .images = images, .rotations = rotations, .shifts = shifts };
    wf_context *ctx = wf_array_context(volume ? volume : images);
    if (!volume || !images)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, volume ? "images" : "volume");
    if (!complete(&j, how) || !wfl_array_known(images, function))
        return wfl_array_error(ctx);
    j.shape = wf_array_shape(images);
    int64_t n = wf_array_shape(rotations).dim[0];
    wf_dtype t = wf_array_dtype(volume);
    if (j.shape.rank != j.axes || j.shape.dim[0] != n) {
        char text[96];
        wf_shape_text(&j.shape, text, sizeof text);
        return wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `images` is %s; %lld images of %d axes are needed", function,
                              text, (long long)n, j.axes - 1);
    }
    if (!wfl_is_float_dtype(t) && !wfl_is_complex_dtype(t))
        return wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `volume` is %s, which cannot hold weighted values", function,
                              wf_dtype_name(t));
    if (adds_step_by_step(&j))
        return back_project_steps(&j);
    j.g = wfl_begin(ctx, function, .shape = j.shape);
    wf_val k, position[WFL_MOST_POSITIONS], v = wf_in(j.g, images);
    ray r = ray_here(&j);
    WF_FOR (j.g, k, r.first, wf_add(r.last, 1), 1) {
        position_at(&j, &r, k, position);
        wf_vals at = { position, (size_t)j.axes };
        wf_splat(j.g, volume, &j.how, v, at);
    }
    WF_END(j.g);
    return wf_run(j.g);
}
