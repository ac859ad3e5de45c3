/* by_lapack.c - decompositions of arrays of matrices by LAPACK, one after the other, in the processor's memory. */
#include "matrices.h"
#include <string.h>

/* Returns the matrices of x as wfl_job_packed does, for LAPACK to overwrite, and their address. */
static wf_array *own_copy(const wfl_job *j, const wf_array *x, bool turned, void *data)
{
    wf_array *flat = wfl_job_packed(j, x, turned), *own = flat ? wf_copy_to(flat, WF_CPU) : NULL;
    wf_release(flat);
    if (own && wf_map(own, data, NULL) == WF_OK)
        return own;
    wf_release(own);
    return NULL;
}

/* Returns new memory of the processor for results, [batch..., rows, columns] (columns -1: [batch..., rows]). */
static wf_array *own_result(const wfl_job *j, wf_dtype dtype, int64_t rows, int64_t columns, void *data)
{
    wf_array *own = wf_empty(j->ctx, dtype, wfl_job_shape(j, rows, columns), .device = WF_CPU);
    if (own && (!wf_array_count(own) || wf_map(own, data, NULL) == WF_OK))
        return own;
    wf_release(own);
    return NULL;
}

/* Returns results where those of the call belong. Consumes them. */
static wf_array *delivered(const wfl_job *j, wf_array *own)
{
    if (!own || wf_array_device(own) == j->device)
        return own;
    wf_array *there = wf_copy_to(own, j->device);
    wf_release(own);
    return there;
}

/* Returns the address of matrix i, of n elements. */
static void *at(const wfl_job *j, void *data, int64_t i, int64_t n)
{
    return (char *)data + (size_t)(i * n) * j->lapack.size;
}

static void *real_at(const wfl_job *j, void *data, int64_t i, int64_t n)
{
    return (char *)data + (size_t)(i * n) * wf_dtype_size(wf_dtype_part(j->dtype));
}

/* True after a matrix for which LAPACK returned 0; else with an error or a note. */
static bool succeeded(wfl_job *j, int64_t i, int said, wfl_refusal why)
{
    if (said > 0)
        wfl_job_refuse(j, i, why);
    else if (said < 0 && said != WFL_LAPACK_FAILED)
        wfl_array_fail(j->ctx, WF_ERR_BACKEND, "%s: LAPACK refuses argument %d", j->function, -said);
    return said == 0;
}

/* Returns matrices by their transposed ones, [count, n, m] of `flat`, as [batch..., m, n] of the call's device. */
static wf_array *turned_back(const wfl_job *j, const wf_array *flat, bool conjugate)
{
    wf_shape s = wf_array_shape(flat), shape = wfl_job_shape(j, s.dim[2], s.dim[1]);
    wf_array *view = wf_view_permute((wf_array *)flat, (const int[]){ 0, 2, 1 }), *out = NULL;
    if (view && conjugate) {
        wf_graph *g = wfl_begin(j->ctx, j->function);
        out = wf_keep(wf_conj(wf_in(g, view)));
        out = wfl_array_run(g, out);
    } else if (view)
        out = wf_array_copy(view);
    wf_array *shaped = out ? wf_view_reshape(out, shape) : NULL;
    wf_release(view);
    wf_release(out);
    return delivered(j, shaped);
}

/* ---- decompositions ---- */
wf_array *wfl_large_solve(wfl_job *j, const wf_array *a, const wf_array *b, int64_t n, int64_t k)
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return NULL;
    void *p, *q;
    wf_array *m = own_copy(j, a, false, &p), *x = own_copy(j, b, true, &q), *out = NULL;
    bool well = m && x && wfl_job_is_finite(j, m, WFL_NOT_FINITE);
    for (int64_t i = 0; well && i < j->count; ++i)
        well =
            succeeded(j, i, wfl_lapack_solve(&j->lapack, n, k, at(j, p, i, n * n), at(j, q, i, n * k)), WFL_SINGULAR);
    if (well)
        out = turned_back(j, x, false);
    wf_release(m);
    wf_release(x);
    wfl_lapack_end(&j->lapack);
    return out;
}

wf_array *wfl_large_cholesky(wfl_job *j, const wf_array *a, int64_t n)
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return NULL;
    void *p;
    wf_array *l = own_copy(j, a, false, &p), *out = NULL;
    bool well = l && wfl_job_is_finite(j, l, WFL_NOT_FINITE);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i, wfl_lapack_cholesky(&j->lapack, n, at(j, p, i, n * n)), WFL_NOT_POSITIVE);
    for (int64_t i = 0; well && i < j->count * n; ++i) /* the upper triangles */
        memset(at(j, p, i * n + i % n + 1, 1), 0, (size_t)(n - 1 - i % n) * j->lapack.size);
    if (well)
        out = delivered(j, wf_view_reshape(l, wfl_job_shape(j, n, n)));
    wf_release(l);
    wfl_lapack_end(&j->lapack);
    return out;
}

bool wfl_large_eigh(wfl_job *j, const wf_array *a, int64_t n, wf_array **values, wf_array **vectors)
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return false;
    void *p, *w;
    wf_array *m = own_copy(j, a, false, &p);
    *values = own_result(j, wf_dtype_part(j->dtype), n, -1, &w);
    bool well = m && *values && wfl_job_is_finite(j, m, WFL_NOT_FINITE);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i, wfl_lapack_eigh(&j->lapack, n, vectors != NULL, at(j, p, i, n * n), real_at(j, w, i, n)),
                         WFL_NO_EIGENVALUES);
    if (well)
        *values = delivered(j, *values);
    if (well && vectors)
        *vectors = turned_back(j, m, wfl_is_complex_dtype(j->dtype));
    well = well && *values && (!vectors || *vectors);
    wf_release(m);
    wfl_lapack_end(&j->lapack);
    return well;
}

bool wfl_large_svd(wfl_job *j, const wf_array *a, int64_t m, int64_t n, bool vectors, wf_array *out[3])
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return false;
    int64_t few = m < n ? m : n;
    void *p, *u = NULL, *s, *vh = NULL;
    wf_array *x = own_copy(j, a, false, &p);
    out[1] = own_result(j, wf_dtype_part(j->dtype), few, -1, &s);
    if (vectors) {
        out[0] = own_result(j, j->dtype, m, few, &u);
        out[2] = own_result(j, j->dtype, few, n, &vh);
    }
    bool well = x && out[1] && (!vectors || (out[0] && out[2])) && wfl_job_is_finite(j, x, WFL_NOT_FINITE);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i,
                         wfl_lapack_svd(&j->lapack, m, n, at(j, p, i, m * n), real_at(j, s, i, few),
                                        vectors ? at(j, u, i, m * few) : NULL, vectors ? at(j, vh, i, few * n) : NULL),
                         WFL_NO_SINGULAR_VALUES);
    for (int i = 0; well && i < 3; ++i)
        if (out[i]) {
            out[i] = delivered(j, out[i]);
            well = out[i] != NULL;
        }
    wf_release(x);
    wfl_lapack_end(&j->lapack);
    return well;
}

wf_array *wfl_large_lstsq(wfl_job *j, const wf_array *a, const wf_array *b, int64_t n, double least)
{
    wf_shape s = wf_array_shape(b);
    int64_t m = s.dim[s.rank - 2], k = s.dim[s.rank - 1], ldb = m > n ? m : n;
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return NULL;
    void *p, *q = NULL;
    wf_array *t = own_copy(j, a, true, &p), *right = own_copy(j, b, true, &q), *x = NULL, *part = NULL, *out = NULL;
    bool well =
        t && right && wfl_job_is_finite(j, t, WFL_NOT_FINITE) && wfl_job_is_finite(j, right, WFL_RIGHT_NOT_FINITE);
    if (well && m < n) /* solutions need more memory than right-hand sides */
        x = wf_array_resize(right, NULL, (const int64_t[]){ 0, 0, n - m }, WF_BORDER_VALUE, 0);
    else if (well)
        x = wf_retain(right);
    well = x && wf_map(x, &q, NULL) == WF_OK;
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i, wfl_lapack_lstsq(&j->lapack, m, n, k, least, at(j, p, i, m * n), at(j, q, i, k * ldb)),
                         WFL_NO_SINGULAR_VALUES);
    if (well)
        part = wf_view_slice(x, 2, 0, n, 1);
    if (part)
        out = turned_back(j, part, false);
    wf_array *all[] = { t, right, x, part };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    wfl_lapack_end(&j->lapack);
    return out;
}

bool wfl_large_slogdet(wfl_job *j, const wf_array *a, int64_t n, wf_array *out[2])
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return false;
    void *p, *sign = NULL, *log_of = NULL;
    const wf_dtype part = wf_dtype_part(j->dtype);
    wf_array *m = own_copy(j, a, false, &p);
    out[0] = own_result(j, j->dtype, -1, -1, &sign);
    out[1] = own_result(j, part, -1, -1, &log_of);
    bool well = m && out[0] && out[1] && wfl_job_is_finite(j, m, WFL_NOT_FINITE);
    for (int64_t i = 0; well && i < j->count; ++i) {
        double s[2] = { 0 }, l = 0;
        well = succeeded(j, i, wfl_lapack_slogdet(&j->lapack, n, at(j, p, i, n * n), s, &l), WFL_NOT_REFUSED);
        const float narrow[2] = { (float)s[0], (float)s[1] }, low = (float)l;
        memcpy(at(j, sign, i, 1), part == WF_F64 ? (const void *)s : narrow, j->lapack.size);
        memcpy(real_at(j, log_of, i, 1), part == WF_F64 ? (const void *)&l : &low, wf_dtype_size(part));
    }
    for (int i = 0; well && i < 2; ++i) {
        out[i] = delivered(j, out[i]);
        well = out[i] != NULL;
    }
    wf_release(m);
    wfl_lapack_end(&j->lapack);
    return well;
}

bool wfl_large_qr(wfl_job *j, const wf_array *a, int64_t m, int64_t n, int64_t k, wf_array *out[2])
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return false;
    void *p, *q, *r;
    const wf_shape flat = { .rank = 3, .dim = { j->count, k, m } };
    wf_array *t = own_copy(j, a, true, &p), *columns = wf_empty(j->ctx, j->dtype, flat, .device = WF_CPU);
    out[1] = own_result(j, j->dtype, k, n, &r);
    bool well = t && columns && out[1] && wf_map(columns, &q, NULL) == WF_OK && wfl_job_is_finite(j, t, WFL_NOT_FINITE);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i,
                         wfl_lapack_qr(&j->lapack, m, n, k, at(j, p, i, m * n), at(j, q, i, k * m), at(j, r, i, k * n)),
                         WFL_NOT_REFUSED);
    if (well) {
        out[0] = turned_back(j, columns, false);
        out[1] = delivered(j, out[1]);
        well = out[0] && out[1];
    }
    wf_release(t);
    wf_release(columns);
    wfl_lapack_end(&j->lapack);
    return well;
}
