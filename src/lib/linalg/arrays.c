/* arrays.c - linear algebra on arrays of matrices: the public functions, which choose how the matrices are computed. */
#include "matrices.h"
#include "weft/linalg.h"
#include <float.h>

static bool is_small(const wfl_job *j, int64_t n) { return n <= WF_MAT_MOST && !wfl_is_complex_dtype(j->dtype); }

/* Returns an empty array of the results, or zeros where sums have no terms. */
static wf_array *nothing(const wfl_job *j, wf_dtype dtype, int64_t rows, int64_t columns)
{
    wf_array *flat, *out = wfl_job_result(j, dtype, rows, columns, &flat);
    wf_release(flat);
    if (out && wf_array_fill(out, 0) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

/* Returns the identity, [n, n], beside a. */
static wf_array *identity(const wfl_job *j, const wf_array *a, int64_t n)
{
    wf_array *out = wfl_array_beside(a, j->dtype, &WF_SHAPE(n, n));
    wf_graph *g = wfl_begin(j->ctx, j->function, .shape = WF_SHAPE(n, n), .indexed = true,
                            .device = j->device >= WF_GPU(0) ? j->device : 0);
    if (!out) {
        wf_drop(g);
        return NULL;
    }
    wf_out(g, out, wf_cast(wf_eq(wf_index(g, 0), wf_index(g, 1)), j->dtype));
    return wfl_array_run(g, out);
}

wf_array *wf_solve(const wf_array *a, const wf_array *b)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_solve", "a", a, true) || (b && !wfl_job_begin_with(&j, a, b)))
        return NULL;
    int64_t n = wf_array_shape(a).dim[wf_array_shape(a).rank - 1];
    wf_array *right = b ? wf_retain(b) : identity(&j, a, n), *x = NULL;
    if (right) {
        wf_shape s = wf_array_shape(right);
        int64_t k = s.dim[s.rank - 1];
        x = !n || !k || !j.count ? nothing(&j, j.dtype, n, k)
            : is_small(&j, n)    ? wfl_small_solve(&j, a, right, (int)n, k)
                                 : wfl_large_solve(&j, a, right, n, k);
    }
    wf_release(right);
    return x;
}

wf_array *wf_cholesky(const wf_array *a)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_cholesky", "a", a, true))
        return NULL;
    int64_t n = wf_array_shape(a).dim[wf_array_shape(a).rank - 1];
    return !n || !j.count    ? nothing(&j, j.dtype, n, n)
           : is_small(&j, n) ? wfl_small_cholesky(&j, a, (int)n)
                             : wfl_large_cholesky(&j, a, n);
}

/* Hands results over, or releases them. */
static wf_status hand(const wfl_job *j, bool well, wf_array **results, wf_array **to[], int n)
{
    for (int i = 0; i < n; ++i)
        if (!well)
            wf_release(results[i]);
        else if (to[i])
            *to[i] = results[i];
    return well ? WF_OK : wfl_array_error(j->ctx);
}

wf_status wf_eigh(const wf_array *a, wf_array **values, wf_array **vectors)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_eigh", "a", a, true))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!values)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_eigh: `values` is NULL");
    int64_t n = wf_array_shape(a).dim[wf_array_shape(a).rank - 1];
    wf_array *out[2] = { NULL };
    bool well;
    if (!n || !j.count) {
        out[0] = nothing(&j, wf_dtype_part(j.dtype), n, -1);
        out[1] = vectors ? nothing(&j, j.dtype, n, n) : NULL;
        well = out[0] && (out[1] || !vectors);
    } else if (is_small(&j, n))
        well = wfl_small_eigh(&j, a, (int)n, &out[0], vectors ? &out[1] : NULL);
    else
        well = wfl_large_eigh(&j, a, n, &out[0], vectors ? &out[1] : NULL);
    return hand(&j, well, out, (wf_array * *[]){ values, vectors }, 2);
}

wf_status wf_svd(const wf_array *a, wf_array **u, wf_array **s, wf_array **vh)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_svd", "a", a, false))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!s || !u != !vh)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_svd: %s", s ? "only one of `u` and `vh` is NULL" : "`s` is NULL");
    wf_shape shape = wf_array_shape(a);
    int64_t m = shape.dim[shape.rank - 2], n = shape.dim[shape.rank - 1], few = m < n ? m : n;
    wf_array *out[3] = { NULL };
    bool well;
    if (!few || !j.count) {
        out[1] = nothing(&j, wf_dtype_part(j.dtype), few, -1);
        out[0] = u ? nothing(&j, j.dtype, m, few) : NULL;
        out[2] = u ? nothing(&j, j.dtype, few, n) : NULL;
        well = out[1] && (!u || (out[0] && out[2]));
    } else
        well = wfl_large_svd(&j, a, m, n, u != NULL, out);
    return hand(&j, well, out, (wf_array * *[]){ u, s, vh }, 3);
}

wf_array *wf_lstsq(const wf_array *a, const wf_array *b, double tolerance)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_lstsq", "a", a, false))
        return NULL;
    if (!b || !(tolerance <= 1)) {
        wfl_array_fail(j.ctx, WF_ERR_ARG, b ? "wf_lstsq: `tolerance` is %g, not up to 1" : "wf_lstsq: `b` is NULL",
                       tolerance);
        return NULL;
    }
    if (!wfl_job_begin_with(&j, a, b))
        return NULL;
    wf_shape s = wf_array_shape(a), t = wf_array_shape(b);
    int64_t m = s.dim[s.rank - 2], n = s.dim[s.rank - 1], k = t.dim[t.rank - 1];
    if (!m || !n || !k || !j.count)
        return nothing(&j, j.dtype, n, k);
    double digits = wf_dtype_part(j.dtype) == WF_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    return wfl_large_lstsq(&j, a, b, n, tolerance > 0 ? tolerance : digits * (double)(m > n ? m : n));
}

wf_status wf_slogdet(const wf_array *a, wf_array **sign, wf_array **log)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_slogdet", "a", a, true))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!sign || !log)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_slogdet: `%s` is NULL", sign ? "log" : "sign");
    int64_t n = wf_array_shape(a).dim[wf_array_shape(a).rank - 1];
    wf_array *out[2] = { NULL };
    bool well;
    if (!n || !j.count) {
        out[0] = nothing(&j, j.dtype, -1, -1);
        out[1] = nothing(&j, wf_dtype_part(j.dtype), -1, -1);
        well = out[0] && out[1] && wf_array_fill(out[0], 1) == WF_OK; /* a product without factors */
    } else
        well = wfl_large_slogdet(&j, a, n, out);
    return hand(&j, well, out, (wf_array * *[]){ sign, log }, 2);
}

wf_status wf_qr(const wf_array *a, bool complete, wf_array **q, wf_array **r)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_qr", "a", a, false))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!q || !r)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_qr: `%s` is NULL", q ? "r" : "q");
    wf_shape shape = wf_array_shape(a);
    int64_t m = shape.dim[shape.rank - 2], n = shape.dim[shape.rank - 1], k = complete || m < n ? m : n;
    wf_array *out[2] = { NULL };
    bool well;
    if (!m || !n || !j.count) {
        const bool no_columns = k && !n; /* any orthonormal q of m columns is right */
        wf_array *one = no_columns ? identity(&j, a, m) : NULL;
        wf_array *all = one ? wf_view_broadcast(one, wfl_job_shape(&j, m, k)) : NULL;
        out[0] = !no_columns ? nothing(&j, j.dtype, m, k) : all ? wf_array_contiguous(all) : NULL;
        out[1] = nothing(&j, j.dtype, k, n);
        well = out[0] && out[1];
        wf_release(one);
        wf_release(all);
    } else
        well = wfl_large_qr(&j, a, m, n, k, out);
    return hand(&j, well, out, (wf_array * *[]){ q, r }, 2);
}
