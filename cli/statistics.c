/* statistics.c - moments of an array by one reduction; conversion of images. */
#include "cli.h"
#include <math.h>
#include <string.h>

/* First element as a double: sums are taken of the distance from it, so that a large mean costs no digits. */
static bool first_element(wf_context *ctx, const wf_array *a, double *out)
{
    wf_shape shape = wf_array_shape(a);
    wf_array *view = wf_retain(a), *wide = NULL;
    for (int d = 0; d < shape.rank && view; d++) {
        wf_array *part = wf_view_slice(view, d, 0, 1, 1);
        wf_release(view);
        view = part;
    }
    const char *want[] = { "v" };
    wf_status status = wf_text_create(ctx, "v = f64(a)", WF_ARGS(WF_ARG("a", view)), 0, want, 1, &wide);
    if (status == WF_OK)
        status = wf_download(wide, out, sizeof *out);
    wf_release(view);
    wf_release(wide);
    if (!isfinite(*out))
        *out = 0;
    return status == WF_OK;
}

enum { MIN, MAX, SUM, SQUARES, FINITE, RESULTS };

wf_array *magnitude(wf_context *ctx, const wf_array *a)
{
    const char *want[] = { "v" };
    wf_array *size = NULL;
    return wf_text_create(ctx, "v = abs(a)", WF_ARGS(WF_ARG("a", a)), 0, want, 1, &size) == WF_OK ? size : NULL;
}

bool compute_statistics(wf_context *ctx, const wf_array *a, statistics *out)
{
    double pivot = 0, r[RESULTS] = { 0 };
    *out = (statistics){ .min = NAN, .max = NAN, .mean = NAN, .std = NAN, .count = wf_array_count(a) };
    if (out->count == 0)
        return true;
    if (wf_array_dtype(a) >= WF_C32) {
        wf_array *size = magnitude(ctx, a);
        bool ok = size && compute_statistics(ctx, size, out);
        wf_release(size);
        return ok;
    }
    if (!first_element(ctx, a, &pivot))
        return false;

    wf_array *result[RESULTS];
    for (int i = 0; i < RESULTS; i++)
        result[i] = wf_empty(ctx, WF_F64, WF_SHAPE(1));
    wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES, .name = "statistics");
    wf_var low = wf_reduced(g, WF_F64, INFINITY, WF_MIN), high = wf_reduced(g, WF_F64, -INFINITY, WF_MAX);
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_ADD), squares = wf_reduced(g, WF_F64, 0, WF_ADD);
    wf_var count = wf_reduced(g, WF_F64, 0, WF_ADD);
    wf_val v = wf_cast(wf_in(g, a), WF_F64), ok = wf_isfinite(v);
    wf_val off = wf_select(ok, wf_sub(v, wf_param(g, "pivot", WF_F64, pivot)), wf_const(g, WF_F64, 0));
    wf_set(low, wf_min(low, wf_select(ok, v, INFINITY)));
    wf_set(high, wf_max(high, wf_select(ok, v, -INFINITY)));
    wf_inc(sum, off);
    wf_inc(squares, wf_mul(off, off));
    wf_inc(count, wf_cast(ok, WF_F64));
    wf_section(g, WF_POST);
    const wf_var all[RESULTS] = { [MIN] = low, [MAX] = high, [SUM] = sum, [SQUARES] = squares, [FINITE] = count };
    for (int i = 0; i < RESULTS; i++)
        wf_out(g, result[i], all[i]);
    wf_status status = wf_run(g);
    for (int i = 0; i < RESULTS; i++) {
        if (status == WF_OK)
            status = wf_download(result[i], &r[i], sizeof r[i]);
        wf_release(result[i]);
    }
    out->finite = (int64_t)r[FINITE];
    if (status != WF_OK || out->finite == 0)
        return status == WF_OK;
    double n = r[FINITE], mean = r[SUM] / n, variance = r[SQUARES] / n - mean * mean;
    out->min = r[MIN];
    out->max = r[MAX];
    out->mean = pivot + mean;
    out->std = sqrt(variance > 0 ? variance : 0);
    return true;
}

wf_array *to_f32(wf_context *ctx, const wf_array *a)
{
    const char *want[] = { "v" };
    wf_array *out = NULL;
    wf_text_create(ctx, "v = f32(a)", WF_ARGS(WF_ARG("a", a)), 0, want, 1, &out);
    return out;
}
