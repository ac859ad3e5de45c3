/* moments.c - mean, variance and deviation, and scaling by them.
 *
 * Elements of less than 64 bits are read once: the sums of x - s and of |x - s|^2 are kept in f64, where s is the
 * median of three elements. Since s is an element, the sum of squares about the mean is at least about |s - mean|^2,
 * and the sum about s is at most about n times as large. So the relative error stays below n 2^-52, and is a few 2^-52
 * unless s is many deviations away from the mean. This does not show in results of 32 bits. Elements of 64 bits are
 * read twice, first for the mean.
 */
#include "reduction.h"
#include <math.h>

/* Returns, for each point of the kept axes, the first, middle or last element along the reduced ones (part 0, 1, 2). */
static wf_val element_at(const wfl_reduction *r, const wf_array *array, int part)
{
    static const char *const middle[WF_MAX_RANK] = { "m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7" };
    static const char *const last[WF_MAX_RANK] = { "l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7" };
    wf_val index[WF_MAX_RANK];
    wf_shape kept = r->shape;
    for (int d = 0; d < kept.rank; ++d)
        kept.dim[d] = r->axes >> d & 1 ? 1 : kept.dim[d];
    for (int d = 0; d < kept.rank; ++d) {
        int64_t end = r->shape.dim[d] - 1;
        index[d] = !(r->axes >> d & 1) ? wf_iota(r->g, kept, d)
                   : part ? wf_param(r->g, part == 1 ? middle[d] : last[d], WF_I64, (double)(part == 1 ? end / 2 : end))
                          : wf_const_i64(r->g, WF_I64, 0);
    }
    return wfl_wide(wf_read_n(r->g, array, (wf_vals){ index, (size_t)kept.rank }));
}

static wf_val middle_of(wf_val a, wf_val b, wf_val c) { return wf_max(wf_min(a, b), wf_min(wf_max(a, b), c)); }

static wf_val shift_of(const wfl_reduction *r, const wf_array *array)
{
    wf_val x[3];
    for (int i = 0; i < 3; ++i)
        x[i] = element_at(r, array, i);
    if (!wfl_is_complex_dtype(wf_array_dtype(array)))
        return middle_of(x[0], x[1], x[2]);
    return wf_complex(middle_of(wf_real(x[0]), wf_real(x[1]), wf_real(x[2])),
                      middle_of(wf_imag(x[0]), wf_imag(x[1]), wf_imag(x[2])));
}

wfl_moments wfl_moments_of(const wfl_reduction *r, const wf_array *array)
{
    wf_val v = wfl_wide(wf_in(r->g, array));
    wfl_moments m = { .mean = wfl_mean_of(r, v) };
    bool short_parts = wf_dtype_size(wf_dtype_part(wf_array_dtype(array))) < 8;
    if (!short_parts || !wf_array_count(array) || !r->shape.rank || wf_array_state(array) != WF_STATE_READY) {
        m.squares = wf_reduce(WF_JOIN_ADD, wfl_square(wf_sub(v, m.mean)), r->axes);
        return m;
    }
    wf_val off = wf_sub(v, shift_of(r, array)), sum = wf_reduce(WF_JOIN_ADD, off, r->axes);
    wf_val squares = wf_reduce(WF_JOIN_ADD, wfl_square(off), r->axes);
    wf_val too_much = wf_div(wfl_square(sum), wf_param(r->g, "n", WF_F64, (double)r->n));
    m.squares = wf_max(wf_sub(squares, too_much), 0);
    return m;
}

wf_val wfl_variance_of(const wfl_reduction *r, const wfl_moments *m, double ddof)
{
    double divisor;
    wf_val_number(wf_sub((double)r->n, ddof), &divisor, NULL);
    if (divisor > 0)
        return wf_div(m->squares, wf_param(r->g, "divisor", WF_F64, divisor));
    return wf_add(m->squares, wf_const(r->g, WF_F64, (double)NAN));
}

wf_array *wf_array_mean(const wf_array *array, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_mean"))
        return NULL;
    wf_val v = wf_in(r.g, array);
    return wfl_reduction_end(&r, wf_cast(wfl_mean_of(&r, wfl_wide(v)), wfl_mean_dtype(wf_array_dtype(array))));
}

static wf_array *reduce_spread(const wf_array *array, wf_axes axes, double ddof, bool root, const char *function)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, function))
        return NULL;
    wfl_moments m = wfl_moments_of(&r, array);
    wf_val v = wfl_variance_of(&r, &m, ddof);
    return wfl_reduction_end(&r, wf_cast(root ? wf_sqrt(v) : v, wfl_real_dtype(array)));
}

wf_array *wf_array_variance(const wf_array *array, wf_axes axes, double ddof)
{
    return reduce_spread(array, axes, ddof, false, "wf_array_variance");
}

wf_array *wf_array_stddev(const wf_array *array, wf_axes axes, double ddof)
{
    return reduce_spread(array, axes, ddof, true, "wf_array_stddev");
}

wf_status wf_array_mean_variance(const wf_array *array, wf_axes axes, double ddof, wf_array **mean, wf_array **variance)
{
    wfl_reduction r;
    if (!mean || !variance)
        return wfl_array_fail(wf_array_context(array), WF_ERR_ARG, "wf_array_mean_variance: mean or variance is NULL");
    *mean = *variance = NULL;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_mean_variance"))
        return array ? wfl_array_error(r.ctx) : WF_ERR_ARG;
    wfl_moments m = wfl_moments_of(&r, array);
    wf_array *both[2] = { wf_keep(wf_cast(m.mean, wfl_mean_dtype(wf_array_dtype(array)))),
                          wf_keep(wf_cast(wfl_variance_of(&r, &m, ddof), wfl_real_dtype(array))) };
    wf_status status = wfl_reduction_end_two(&r, both);
    *mean = both[0];
    *variance = both[1];
    return status;
}

/* ---- normalisation ---- */
wf_array *wf_array_normalize(const wf_array *array, wf_normalize how, wf_axes axes)
{
    wfl_reduction r;
    if (!wfl_reduction_begin(&r, array, axes, "wf_array_normalize"))
        return NULL;
    wf_val v = wfl_wide(wf_in(r.g, array)), from = v, by = v;
    if (how == WF_NORMALIZE_MIN_MAX && wfl_is_complex_dtype(wf_array_dtype(array)))
        wf_fail(r.g, WF_ERR_DTYPE, "wf_array_normalize: complex numbers have no smallest and largest");
    if (how == WF_NORMALIZE_MEAN_STD) {
        wfl_moments m = wfl_moments_of(&r, array);
        from = wf_sub(v, m.mean);
        by = wf_sqrt(wfl_variance_of(&r, &m, 0));
    } else if (how == WF_NORMALIZE_MIN_MAX) {
        wf_val low = wfl_extreme_of(&r, v, false);
        from = wf_sub(v, low);
        by = wf_sub(wfl_extreme_of(&r, v, true), low);
    } else if (how == WF_NORMALIZE_L1 || how == WF_NORMALIZE_L2 || how == WF_NORMALIZE_MAX)
        by = wfl_norm_of(&r, v,
                         how == WF_NORMALIZE_L1   ? WF_NORM_L1
                         : how == WF_NORMALIZE_L2 ? WF_NORM_L2
                                                  : WF_NORM_MAX);
    else
        wf_fail(r.g, WF_ERR_ARG, "wf_array_normalize: `how` is no value of wf_normalize");
    wf_val zero = wf_eq(by, 0), scaled = wf_div(from, wf_select(zero, wf_const(r.g, WF_F64, 1), by));
    wf_val nothing = wf_sub(from, from);
    r.drop = false;
    return wfl_reduction_end(&r, wf_cast(wf_select(zero, nothing, scaled), wfl_mean_dtype(wf_array_dtype(array))));
}
