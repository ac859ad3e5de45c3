/* chirp.c - the chirp z-transform: sums of elements times powers of points on a spiral, among them a piece of the
 * spectrum as closely as wanted. Source: Rabiner, Schafer and Rader, "The chirp z-transform algorithm" (1969).
 *
 * With z[k] = a w^-k, z[k]^-j = a^-j w^(j k), where j k = (j^2 + k^2 - (k - j)^2) / 2: elements times a^-j w^(j^2/2)
 * are convolved with w^(-d^2/2), and results multiplied by w^(k^2/2). This is Bluestein's algorithm with other chirps and
 * with a number of results of its own (axis.c, pass_shape.c). Phases are fractions of turns of a product that is rounded
 * once, so that they are as right for long lines as for short ones.
 *
 * The adjoint for lines of n elements has n results: it is the transform with conj(w) of `count` elements from z = 1 on,
 * whose results are multiplied by the conjugates of a^-j. A tape notes the transform as one step with this adjoint. */
#include "lib/array/lines.h"
#include "transform.h"
#include <math.h>

static bool has_start(const wf_czt_points *points) { return points->first != 0 || points->radius != 1; }

/* a^-j for j < n. NULL: an error. */
static wf_array *start_of(const wfl_plan *p, const wf_array *x, int64_t n, const wf_czt_points *points)
{
    wf_array *start = wfl_new_beside(x, wfl_complex_dtype(p->part), WF_SHAPE(n));
    if (!start)
        return NULL;
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val j = wf_cast(wf_iota(g, WF_SHAPE(n), 0), WF_F64);
    wf_val half_turns = wf_mul(wfl_turns_of(points->first, j), 2);
    wf_val re = wf_cospi(half_turns), im = wf_neg(wf_sinpi(half_turns));
    if (points->radius != 1) {
        wf_val size = wf_exp2(wf_mul(j, -log2(points->radius)));
        re = wf_mul(re, size);
        im = wf_mul(im, size);
    }
    wf_out(g, start, wf_complex(wf_cast(re, p->part), wf_cast(im, p->part)));
    return wfl_array_run(g, start);
}

/* Fills in the defaults of *points, and takes whole cycles away, which change no point. */
static bool check_points(const wfl_plan *p, wf_czt_points *points, int64_t n)
{
    const int64_t most = INT64_C(1) << 31;
    if (points->radius == 0)
        points->radius = 1;
    if (points->growth == 0)
        points->growth = 1;
    if (points->count < 1 || points->count > most || n > most) {
        wfl_array_fail(p->ctx, WF_ERR_SHAPE, "%s: %lld points of %lld elements, not 1 to 2^31 of at most 2^31",
                       p->function, (long long)points->count, (long long)n);
        return false;
    }
    if (!isfinite(points->first) || !isfinite(points->step)) {
        wfl_array_fail(p->ctx, WF_ERR_ARG, "%s: the points begin at %g with steps of %g; needed are numbers of cycles",
                       p->function, points->first, points->step);
        return false;
    }
    if (!(points->radius > 0 && isfinite(points->radius) && points->growth > 0 && isfinite(points->growth))) {
        wfl_array_fail(p->ctx, WF_ERR_ARG, "%s: a radius of %g with a growth of %g; needed are numbers above 0",
                       p->function, points->radius, points->growth);
        return false;
    }
    points->first = fmod(points->first, 1);
    points->step = fmod(points->step, 1);
    return true;
}

typedef struct job {
    const wfl_plan *plan;
    int axis;
    wf_czt_points points;
    int64_t outer, inner; /* of the whole array */
} job;

/* shape: of the whole result. */
static void set_batch(job *j, wf_shape shape)
{
    const wf_axes axes = WF_AXES(j->axis);
    j->outer = wfl_axes_count(&shape, axes - 1);
    j->inner = wfl_axes_count(&shape, ~(axes | (axes - 1)));
}

/* x and y in C order. */
static wf_status transform(const job *j, wf_array *y, const wf_array *x)
{
    const wfl_plan *p = j->plan;
    const wf_czt_points *points = &j->points;
    int64_t n = wf_array_shape(x).dim[j->axis];
    wf_array *from = wfl_around(x, j->axis), *to = wfl_around(y, j->axis), *start = NULL;
    wf_status status = from && to ? WF_OK : wfl_array_error(p->ctx);
    if (status == WF_OK && has_start(points) && !(start = start_of(p, x, n, points)))
        status = wfl_array_error(p->ctx);
    wfl_axis_pass a = { .plan = p, .kind = WFL_FFT_CHIRP, .n = n, .scale = 1, .start = start };
    a.outer = j->outer;
    a.inner = j->inner;
    a.chirp.step = points->step;
    a.chirp.log2_growth = log2(points->growth);
    if (status == WF_OK)
        status = wfl_transform_axis(&a, to, from);
    wf_array *spent[] = { from, to, start };
    for (int i = 0; i < 3; ++i)
        wf_release(spent[i]);
    return status;
}

static wf_status transform_block(const wfl_lines *l, wf_array *y, wf_array *x, int first, int count)
{
    (void)first;
    (void)count;
    return transform(l->user, y, x);
}

/* ---- on a tape ---- */
enum { AXIS, FIRST, STEP, RADIUS, GROWTH, PART, NUMBERS }; /* of the rule */

static wf_status read_numbers(wf_arrays in, wfl_plan *plan, job *j)
{
    double number[NUMBERS];
    const wf_status status = wfl_noted_numbers(in, number, NUMBERS);
    if (status != WF_OK)
        return status;
    *plan = (wfl_plan){ .ctx = wf_array_context(in.at[0]), .function = "wf_czt", .part = (wf_dtype)number[PART] };
    *j = (job){ .plan = plan, .axis = (int)number[AXIS] };
    j->points = (wf_czt_points){
        .first = number[FIRST], .step = number[STEP], .radius = number[RADIUS], .growth = number[GROWTH]
    };
    return WF_OK;
}

static wf_status call(void *user, wf_arrays in, wf_arrays out)
{
    wfl_plan plan;
    job j;
    (void)user;
    const wf_status status = read_numbers(in, &plan, &j);
    if (status != WF_OK)
        return status;
    set_batch(&j, wf_array_shape(out.at[0]));
    return transform(&j, out.at[0], in.at[0]);
}

/* Sets the derivative by x from the results of the adjoint transform, which are complex. */
static wf_status end_adjoint(const job *j, wf_array *of_x, const wf_array *results)
{
    const wfl_plan *p = j->plan;
    const wf_shape shape = wf_array_shape(of_x);
    wf_array *start = NULL;
    if (has_start(&j->points) && !(start = start_of(p, results, shape.dim[j->axis], &j->points)))
        return wfl_array_error(p->ctx);
    wf_graph *g = wfl_begin(p->ctx, p->function);
    wf_val v = wf_in(g, results);
    if (start)
        v = wf_mul(v, wf_conj(wf_read(g, start, wf_iota(g, shape, j->axis))));
    wf_out(g, of_x, wfl_is_complex_dtype(wf_array_dtype(of_x)) ? v : wf_real(v));
    const wf_status status = wf_run(g);
    wf_release(start);
    return status;
}

static wf_status differentiate(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    wfl_plan plan;
    job j;
    (void)user;
    (void)out;
    wf_status status = read_numbers(in, &plan, &j);
    if (status != WF_OK || !grads.at[0])
        return status;
    const wf_shape shape = wf_array_shape(grads.at[0]);
    job back = j;
    back.points.first = 0;
    back.points.radius = 1;
    back.points.step = -j.points.step;
    set_batch(&back, shape);
    wf_array *results = wfl_new_beside(upstream.at[0], wfl_complex_dtype(plan.part), shape);
    status = results ? transform(&back, results, upstream.at[0]) : wfl_array_error(plan.ctx);
    if (status == WF_OK)
        status = end_adjoint(&j, grads.at[0], results);
    wf_release(results);
    return status;
}

static wf_status transform_on_tape(const job *j, wf_array *y, const wf_array *x)
{
    const wf_array_rule rule = { .size = sizeof rule, .name = j->plan->function, .call = call, .vjp = differentiate };
    const double number[NUMBERS] = { [AXIS] = j->axis,
                                     [FIRST] = j->points.first,
                                     [STEP] = j->points.step,
                                     [RADIUS] = j->points.radius,
                                     [GROWTH] = j->points.growth,
                                     [PART] = j->plan->part };
    return wfl_run_noted(&rule, y, x, number, NUMBERS);
}

static wf_status run(const job *j, wf_array *y, const wf_array *x)
{
    return wf_is_taped(x) ? transform_on_tape(j, y, x) : transform(j, y, x);
}

wf_array *wf_czt(const wf_array *x, int axis, const wf_czt_points *points)
{
    wfl_plan p = { wf_array_context(x), __func__, WF_FFT_NONE, false, wfl_part_of(wf_array_dtype(x)), { 0 } };
    wf_shape shape = wf_array_shape(x);
    if (!x || !wfl_array_known(x, p.function) || !wfl_axis_of(p.ctx, &shape, &axis, p.function))
        return NULL;
    if (!points) {
        wfl_array_fail(p.ctx, WF_ERR_ARG, "%s: `points` is NULL", p.function);
        return NULL;
    }
    job j = { .plan = &p, .axis = axis, .points = *points };
    wf_axes axes = WF_AXES(axis);
    if (!wfl_checked(&p, x, &axes, "the array") || !check_points(&p, &j.points, shape.dim[axis]))
        return NULL;
    if (j.points.growth != 1 || j.points.radius != 1)
        p.part = WF_F64; /* sizes of factors differ by more than f32 has */
    shape.dim[axis] = j.points.count;
    set_batch(&j, shape);
    wf_dtype dtype = wfl_spectrum_dtype(wf_array_dtype(x));
    if (wf_array_dist(x)) {
        const wfl_lines l = { p.ctx, p.function, 1, { axes }, transform_block, NULL, &j };
        return wfl_lines_new(&l, dtype, &shape, x);
    }
    wf_array *from = wf_array_contiguous((wf_array *)x);
    wf_array *y = from ? wfl_array_beside(x, dtype, &shape) : NULL;
    if (y && wf_array_count(y) && run(&j, y, from) != WF_OK) {
        wf_release(y);
        y = NULL;
    }
    wf_release(from);
    return y;
}
