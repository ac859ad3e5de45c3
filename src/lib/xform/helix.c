/* helix.c - averages over the units of a helix about z, also with rotations about z. Each element takes from the units
 * that are within a central part of z, so the ends of a volume, of which images know little, are made from its middle. */
#include "xform_internal.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_TURNS = 1 << 20 };

typedef struct job {
    const wf_array *x;
    wf_interp how;
    double center[3], rise, twist, low, high; /* elements; the central part, elements from `center` */
    int64_t first, steps;                     /* of the units that an element of the volume is moved by */
    int64_t cyclic;
    int batch;
} job;

/* Sets the cosine and sine of an angle in degrees, without roundings for quarter turns. */
static void turn_by(double degrees, double out[2])
{
    static const double quarters[4][2] = { { 1, 0 }, { 0, 1 }, { -1, 0 }, { 0, -1 } };
    double quarter = floor(degrees / 90 + 0.5), rest = (degrees - 90 * quarter) * 0.017453292519943295;
    const double *q = quarters[((int64_t)fmod(quarter, 4) + 4) % 4];
    out[0] = q[0] * cos(rest) - q[1] * sin(rest);
    out[1] = q[1] * cos(rest) + q[0] * sin(rest);
}

/* Returns the cosines and sines for each step of units and each of the `cyclic` rotations, beside x. NULL: an error. */
static wf_array *turns_of(const job *j)
{
    int64_t n = j->steps * j->cyclic;
    double *all = malloc((size_t)n * 2 * sizeof *all);
    wf_array *turns = all ? wfl_array_beside(j->x, WF_F64, &WF_SHAPE(n, 2)) : NULL;
    if (!all)
        wf_error(wf_array_context(j->x), WF_ERR_MEMORY, NULL);
    for (int64_t i = 0; i < n && turns; ++i) {
        double by = fmod(j->twist * (double)(j->first + i / j->cyclic), 360);
        turn_by(by + 360 * (double)(i % j->cyclic) / (double)j->cyclic, all + 2 * i);
    }
    if (turns && wf_upload(turns, all, (size_t)n * 2 * sizeof *all) != WF_OK) {
        wf_release(turns);
        turns = NULL;
    }
    free(all);
    if (!turns)
        wfl_end_group(j->x);
    return turns;
}

static void record_average(wf_graph *g, wf_array *y, const wf_array *turns, const job *j)
{
    wf_val index[WF_MAX_RANK], from[3], center[3], k, c, n = wf_param(g, "cyclic", WF_I64, (double)j->cyclic);
    static const char *const names[3] = { "c0", "c1", "c2" };
    wf_dtype t = wfl_interpolated_dtype(wf_array_dtype(j->x)), part = wf_dtype_part(t);
    for (int d = 0; d < j->batch; ++d)
        index[d] = wf_index(g, d);
    for (int d = 0; d < 3; ++d) {
        center[d] = wf_param(g, names[d], WF_F64, j->center[d]);
        from[d] = wf_sub(wf_cast(wf_index(g, j->batch + d), WF_F64), center[d]);
    }
    wf_val rise = wf_param(g, "rise", WF_F64, j->rise), base = wf_param(g, "first", WF_I64, (double)j->first);
    wf_val first = wf_ceil(wf_div(wf_sub(wf_param(g, "low", WF_F64, j->low), from[0]), rise));
    wf_val last = wf_floor(wf_div(wf_sub(wf_param(g, "high", WF_F64, j->high), from[0]), rise));
    first = wf_cast(first, WF_I64);
    last = wf_max(wf_cast(last, WF_I64), first); /* roundings leave one unit */
    wf_var sum = wf_local(g, t, wf_const(g, t, 0));
    WF_FOR (g, k, first, wf_add(last, 1), 1) {
        WF_FOR (g, c, wf_const_i64(g, WF_I64, 0), n, 1) {
            wf_val row = wf_add(wf_mul(wf_sub(k, base), n), c);
            wf_val cosine = wf_read(g, turns, row, wf_const_i64(g, WF_I64, 0));
            wf_val sine = wf_read(g, turns, row, wf_const_i64(g, WF_I64, 1));
            index[j->batch] = wf_add(center[0], wf_add(from[0], wf_mul(wf_cast(k, WF_F64), rise)));
            index[j->batch + 1] = wf_add(center[1], wf_add(wf_mul(cosine, from[1]), wf_mul(sine, from[2])));
            index[j->batch + 2] = wf_add(center[2], wf_sub(wf_mul(cosine, from[2]), wf_mul(sine, from[1])));
            wf_inc(sum, wf_interpolate(g, j->x, &j->how, (wf_vals){ index, (size_t)j->batch + 3 }));
        }
        WF_END(g);
    }
    WF_END(g);
    wf_val count = wf_mul(wf_add(wf_sub(last, first), 1), n);
    wf_out(g, y, wf_mul(wf_get(sum), wf_div(wf_const(g, part, 1), wf_cast(count, part))));
}

/* Completes the job. False, with an error: the helix is none, or does not fit into x. */
static bool complete(job *j, const wf_helix *helix, const double *center)
{
    static const char function[] = "wf_symmetrize_helix";
    wf_context *ctx = wf_array_context(j->x);
    wf_shape shape = wf_array_shape(j->x);
    if (!helix || shape.rank < 3) {
        wfl_array_fail(ctx, helix ? WF_ERR_SHAPE : WF_ERR_ARG,
                       helix ? "%s: `x` has rank %d; volumes have 3 axes" : "%s: `helix` is NULL", function,
                       (int)shape.rank);
        return false;
    }
    double fraction = helix->fraction == 0 ? 0.3 : helix->fraction;
    int64_t depth = shape.dim[shape.rank - 3];
    j->batch = shape.rank - 3;
    for (int d = 0; d < 3; ++d)
        j->center[d] = center ? center[d] : (double)(shape.dim[j->batch + d] / 2);
    j->rise = helix->pixel > 0 ? helix->rise / helix->pixel : helix->rise;
    j->twist = helix->twist;
    j->cyclic = helix->cyclic ? helix->cyclic : 1;
    j->low = fmax(-fraction * (double)depth / 2, -j->center[0]);
    j->high = fmin(fraction * (double)depth / 2, (double)(depth - 1) - j->center[0]);
    if (!(helix->pixel >= 0) || !(fraction > 0 && fraction <= 1) || j->cyclic < 1)
        wfl_array_fail(ctx, WF_ERR_ARG,
                       "%s: helix.pixel is %g, .cyclic %d, .fraction %g; pixels and numbers of rotations are not "
                       "negative, and a fraction is up to 1",
                       function, helix->pixel, (int)helix->cyclic, helix->fraction);
    else if (!(helix->rise > 0) || !isfinite(helix->rise) || !isfinite(helix->twist))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: helix.rise is %g, .twist %g; a rise is above 0, and both are finite",
                       function, helix->rise, helix->twist);
    else if (wf_array_count(j->x) && !(j->high - j->low >= j->rise))
        wfl_array_fail(ctx, WF_ERR_ARG,
                       "%s: the central part, %g of %lld elements, is shorter than the rise, %g elements", function,
                       fraction, (long long)depth, j->rise);
    else {
        double first = floor((j->low + j->center[0] - (double)(depth - 1)) / j->rise) - 1;
        double last = fmax(ceil((j->high + j->center[0]) / j->rise) + 1, first); /* below it if x has no elements */
        if ((last - first + 1) * (double)j->cyclic <= MOST_TURNS) {
            j->first = (int64_t)first;
            j->steps = (int64_t)(last - first) + 1;
            return true;
        }
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: a rise of %g elements makes %.0f units of %lld; %d rotations are possible",
                       function, j->rise, last - first + 1, (long long)j->cyclic, MOST_TURNS);
    }
    return false;
}

wf_array *wf_symmetrize_helix(const wf_array *x, const wf_helix *helix, const double *center, const wf_interp *how)
{
    static const char function[] = "wf_symmetrize_helix";
    wf_shape shape = wf_array_shape(x);
    job j = { .x = x };
    if (!x || !wfl_array_known(x, function) || !wfl_interp_known(wf_array_context(x), how, function) ||
        !complete(&j, helix, center) || !wfl_last_axes_whole(x, 3, function))
        return NULL;
    wf_array *turns = turns_of(&j), *source = turns ? wfl_coefficients(x, how, 3) : NULL;
    wf_array *y = source ? wfl_result_beside(x, wfl_transformed_dtype(wf_array_dtype(x)), &shape) : NULL;
    if (y) {
        j.x = source;
        j.how = *how;
        j.how.axes = 3;
        wf_graph *g = wfl_begin(wf_array_context(x), function, .shape = shape);
        record_average(g, y, turns, &j);
        y = wfl_array_run(g, y);
    }
    wf_release(source);
    wf_release(turns);
    return y;
}
