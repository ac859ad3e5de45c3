/* statistics.c - extremes and moments of an array, by one reduction; absolute values; conversion to floats. */
#include "cli.h"
#include <math.h>

/* The first element as a double; 0 if it is not finite. Sums are of distances from this pivot, so that a large mean
 * costs no digits. */
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

/* The same of a distributed array: the rank that has the element tells all others. */
static bool first_of_all(wf_context *ctx, const wf_array *a, double *out)
{
    const wf_dist *dist = wf_array_dist(a);
    wf_ranks *ranks = wf_array_ranks(a);
    if (!dist)
        return first_element(ctx, a, out);
    const int64_t zero[WF_MAX_RANK] = { 0 };
    const int owner = wf_dist_owner(dist, zero);
    struct {
        double value;
        int64_t well;
    } told = { 0, 1 };
    wf_array *block = wf_array_block((wf_array *)a); /* it is only read */
    if (wf_ranks_rank(ranks) == owner)
        told.well = block && first_element(ctx, block, &told.value);
    const bool ended = wf_array_block_end((wf_array *)a, block) == WF_OK;
    if (wf_ranks_broadcast(ranks, &told, sizeof told, owner) != WF_OK) {
        wf_error(ctx, WF_ERR_BACKEND, wf_ranks_message(ranks));
        return false;
    }
    *out = told.value;
    return ended && told.well;
}

const char *statistics_text(const statistics *s, const char *gap, char buf[static STATISTICS_CAP])
{
    char t[4][NUMBER_CAP];
    snprintf(buf, STATISTICS_CAP, "min %s%smax %s%smean %s%sstd %s", real_text(s->min, 7, t[0]), gap,
             real_text(s->max, 7, t[1]), gap, real_text(s->mean, 7, t[2]), gap, real_text(s->std, 7, t[3]));
    return buf;
}

enum { MIN, MAX, SUM, SQUARES, FINITE, RESULTS };

wf_array *magnitude(wf_context *ctx, const wf_array *a)
{
    const char *want[] = { "v" };
    wf_array *size = NULL;
    return wf_text_create(ctx, "v = abs(a)", WF_ARGS(WF_ARG("a", a)), 0, want, 1, &size) == WF_OK ? size : NULL;
}

/* One pass over the finite values: extremes, count, and the sums of d = scale * value - pivot and of d * d. */
static bool reduce(wf_context *ctx, const wf_array *a, double scale, double pivot, double r[static RESULTS])
{
    wf_array *result[RESULTS];
    for (int i = 0; i < RESULTS; i++)
        result[i] = wf_empty(ctx, WF_F64, WF_SHAPE(1));
    wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES, .name = "statistics");
    wf_var low = wf_reduced(g, WF_F64, INFINITY, WF_JOIN_MIN), high = wf_reduced(g, WF_F64, -INFINITY, WF_JOIN_MAX);
    wf_var sum = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD), squares = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_var count = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_val v = wf_cast(wf_in(g, a), WF_F64), ok = wf_isfinite(v);
    wf_val scaled = wf_mul(v, wf_param(g, "scale", WF_F64, scale));
    wf_val off = wf_select(ok, wf_sub(scaled, wf_param(g, "pivot", WF_F64, pivot)), wf_const(g, WF_F64, 0));
    wf_set(low, wf_min(low, wf_select(ok, v, INFINITY)));
    wf_set(high, wf_max(high, wf_select(ok, v, -INFINITY)));
    wf_inc(sum, off);
    wf_inc(squares, wf_mul(off, off));
    wf_inc(count, wf_cast(ok, WF_F64));
    wf_section(g, WF_SECTION_POST);
    const wf_var all[RESULTS] = { [MIN] = low, [MAX] = high, [SUM] = sum, [SQUARES] = squares, [FINITE] = count };
    for (int i = 0; i < RESULTS; i++)
        wf_out(g, result[i], all[i]);
    wf_status status = wf_run(g);
    for (int i = 0; i < RESULTS; i++) {
        if (status == WF_OK)
            status = wf_download(result[i], &r[i], sizeof r[i]);
        wf_release(result[i]);
    }
    return status == WF_OK;
}

/* A power of two by which distances from the pivot are scaled, so that f64 holds the sum of their squares. */
static double scale_of(double low, double high, double pivot)
{
    double most = fmax(fabs(low), fabs(high)), span = fmax(high - pivot, pivot - low);
    if (span > 0x1p480)
        return ldexp(1, -ilogb(most));
    return span > 0 && span < 0x1p-480 ? ldexp(1, ilogb(span) < -1000 ? 1000 : -ilogb(span)) : 1;
}

bool compute_statistics(wf_context *ctx, const wf_array *a, statistics *out)
{
    enum { FAR = 100 };
    double pivot = 0, r[RESULTS] = { 0 };
    *out = (statistics){ .min = NAN, .max = NAN, .mean = NAN, .std = NAN, .count = wf_array_count(a) };
    if (out->count == 0)
        return true;
    if (wf_dtype_kind(wf_array_dtype(a)) == WF_KIND_COMPLEX) {
        wf_array *size = magnitude(ctx, a);
        bool ok = size && compute_statistics(ctx, size, out);
        wf_release(size);
        return ok;
    }
    if (!first_of_all(ctx, a, &pivot) || !reduce(ctx, a, 1, pivot, r))
        return false;
    out->finite = (int64_t)r[FINITE];
    if (out->finite == 0)
        return true;
    out->min = r[MIN];
    out->max = r[MAX];
    double scale = scale_of(out->min, out->max, pivot), n = r[FINITE];
    if (scale != 1 && !reduce(ctx, a, scale, scale * pivot, r))
        return false;
    double middle = scale * pivot, mean = r[SUM] / n, variance = r[SQUARES] / n - mean * mean;
    if (mean * mean > FAR * variance) { /* the pivot is an outlier, which costs digits: sum again around the mean */
        middle += mean;
        if (!reduce(ctx, a, scale, middle, r))
            return false;
        mean = r[SUM] / n;
        variance = r[SQUARES] / n - mean * mean;
    }
    out->mean = (middle + mean) / scale;
    out->std = sqrt(variance > 0 ? variance : 0) / scale;
    return true;
}

bool floats_are_wide(wf_dtype t) { return t == WF_F64 || t == WF_I32 || t == WF_U32 || t == WF_I64 || t == WF_U64; }

wf_array *to_floats(wf_context *ctx, const wf_array *a)
{
    bool wide = floats_are_wide(wf_array_dtype(a));
    const char *want[] = { "v" };
    wf_array *out = NULL;
    wf_text_create(ctx, wide ? "v = f64(a)" : "v = f32(a)", WF_ARGS(WF_ARG("a", a)), 0, want, 1, &out);
    return out;
}
