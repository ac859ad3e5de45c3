/* dense.c - linear algebra on arrays of matrices. Real ones of up to WF_MAT_MOST rows are computed by the functions of
 * values, one for each point, on the arrays' device. Others are copied to the processor's memory and given to LAPACK one
 * after the other. Matrices are [count, rows, columns] here, the axes before the last two as one.
 */
#include "lapack.h"
#include "weft/distributed.h"
#include "weft/linalg.h"
#include <float.h>
#include <stdio.h>
#include <string.h>

/* The matrices of a call. */
typedef struct job {
    wf_context *ctx;
    const char *function;
    wf_device device;
    wf_dtype dtype;
    wf_shape batch; /* the axes before the last two of results */
    int64_t count;  /* their product */
    wfl_lapack lapack;
} job;

/* ---- arguments ---- */
/* Returns the dtype that decompositions have: f32, f64, c64 or c128. */
static wf_dtype dtype_of(const wf_array *a) { return wfl_work_dtype(wfl_mean_dtype(wf_array_dtype(a))); }

static wf_dtype common_dtype(wf_dtype a, wf_dtype b)
{
    bool wide = wf_dtype_part(a) == WF_F64 || wf_dtype_part(b) == WF_F64;
    if (wfl_is_complex_dtype(a) || wfl_is_complex_dtype(b))
        return wide ? WF_C128 : WF_C64;
    return wide ? WF_F64 : WF_F32;
}

/* False, with an error, for an array whose elements are not all here. */
static bool is_here(const wf_array *x, const char *function, const char *name)
{
    const char *advice = "give its block, if it has whole matrices (wf_array_block), or collect it (wf_array_collect)";
    if (wf_array_dist(x))
        wfl_array_fail(wf_array_context(x), WF_ERR_ARG, "%s: `%s` is distributed: %s", function, name, advice);
    return !wf_array_dist(x);
}

/* Checks one array of matrices, and makes its batch the job's. */
static bool begin(job *j, const char *function, const char *name, const wf_array *a, bool square)
{
    *j = (job){ .ctx = wf_array_context(a), .function = function };
    if (!a || !wfl_array_known(a, function) || !is_here(a, function, name))
        return false;
    wf_freeze_refuse(j->ctx, function, "it is work of the host, and results are checked");
    wf_shape shape = wf_array_shape(a);
    char text[96];
    wf_shape_text(&shape, text, sizeof text);
    if (shape.rank < 2 || (square && shape.dim[shape.rank - 1] != shape.dim[shape.rank - 2])) {
        wfl_array_fail(j->ctx, WF_ERR_SHAPE, "%s: `%s` is %s, not [..., %s]", function, name, text,
                       square ? "n, n" : "m, n");
        return false;
    }
    if (shape.dim[shape.rank - 1] > INT32_MAX || shape.dim[shape.rank - 2] > INT32_MAX) {
        wfl_array_fail(j->ctx, WF_ERR_SHAPE, "%s: `%s` is %s: more rows or columns than 2^31 - 1", function, name,
                       text);
        return false;
    }
    j->device = wf_array_device(a);
    j->dtype = dtype_of(a);
    j->batch = shape;
    j->batch.rank -= 2;
    j->count = wfl_axes_count(&j->batch, WF_ALL_AXES);
    return true;
}

/* Checks the right-hand sides, [..., rows, k], and broadcasts the batches. */
static bool begin_with(job *j, const wf_array *a, const wf_array *b)
{
    wf_shape s = wf_array_shape(a), t = wf_array_shape(b);
    if (!wfl_array_known(b, j->function) || !is_here(b, j->function, "b") || !wfl_array_together(a, b, j->function))
        return false;
    int64_t rows = s.dim[s.rank - 2];
    if (t.rank < 2 || t.dim[t.rank - 2] != rows || t.dim[t.rank - 1] > INT32_MAX ||
        !wfl_batch_broadcast(&s, 2, &t, 2, &j->batch)) {
        char one[96], other[96];
        wf_shape_text(&s, one, sizeof one);
        wf_shape_text(&t, other, sizeof other);
        wfl_array_fail(j->ctx, WF_ERR_SHAPE, "%s: `a` is %s, which needs `b` [..., %lld, k], but `b` is %s",
                       j->function, one, (long long)rows, other);
        return false;
    }
    j->count = wfl_axes_count(&j->batch, WF_ALL_AXES);
    j->dtype = common_dtype(j->dtype, dtype_of(b));
    return true;
}

static wf_shape shape_of(const job *j, int64_t rows, int64_t columns)
{
    wf_shape shape = j->batch;
    if (rows >= 0) /* else numbers */
        shape.dim[shape.rank++] = rows;
    if (columns >= 0) /* else vectors */
        shape.dim[shape.rank++] = columns;
    return shape;
}

/* Returns the shape of which the functions of matrices see `array`, [count, ...]. */
static wf_shape flat_shape(const job *j, const wf_shape *shape)
{
    wf_shape flat = { .rank = 1, .dim = { j->count } };
    for (int d = j->batch.rank; d < shape->rank; ++d)
        flat.dim[flat.rank++] = shape->dim[d];
    return flat;
}

/* Returns x broadcast over the batch and packed, [count, rows, columns] or, turned, [count, columns, rows], in the job's
 * dtype. It may be x itself. */
static wf_array *packed(const job *j, const wf_array *x, bool turned)
{
    wf_shape own = wf_array_shape(x), shape = shape_of(j, own.dim[own.rank - 2], own.dim[own.rank - 1]);
    wf_array *wide = wf_view_broadcast((wf_array *)x, shape), *view = wide, *cast = NULL, *flat = NULL;
    if (wide && turned) {
        int axes[WF_MAX_RANK], rank = shape.rank;
        for (int d = 0; d < rank; ++d)
            axes[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
        view = wf_view_permute(wide, axes);
        wf_release(wide);
    }
    if (view)
        cast = wf_array_dtype(x) == j->dtype ? wf_array_contiguous(view) : wf_array_cast(view, j->dtype);
    wf_release(view);
    if (cast) {
        shape = wf_array_shape(cast);
        flat = wf_view_reshape(cast, flat_shape(j, &shape));
    }
    wf_release(cast);
    return flat;
}

/* Returns such an array for LAPACK to overwrite, and its address. */
static wf_array *own_copy(const job *j, const wf_array *x, bool turned, void *data)
{
    wf_array *flat = packed(j, x, turned), *own = flat ? wf_copy_to(flat, WF_CPU) : NULL;
    wf_release(flat);
    if (own && wf_map(own, data, NULL) == WF_OK)
        return own;
    wf_release(own);
    return NULL;
}

/* Returns new memory of the processor for results, [batch..., rows, columns] (columns -1: [batch..., rows]). */
static wf_array *own_result(const job *j, wf_dtype dtype, int64_t rows, int64_t columns, void *data)
{
    wf_array *own = wf_empty(j->ctx, dtype, shape_of(j, rows, columns), .device = WF_CPU);
    if (own && (!wf_array_count(own) || wf_map(own, data, NULL) == WF_OK))
        return own;
    wf_release(own);
    return NULL;
}

/* Returns results where those of the call belong. Consumes them. */
static wf_array *delivered(const job *j, wf_array *own)
{
    if (!own || wf_array_device(own) == j->device)
        return own;
    wf_array *there = wf_copy_to(own, j->device);
    wf_release(own);
    return there;
}

/* ---- matrices that have no result ---- */
/* Sets the error that names matrix i: "FUNCTION: matrix [2, 5] of `a` WHY". */
static void refuse(const job *j, int64_t i, const char *why)
{
    char at[160] = "", *end = at;
    int64_t index[WF_MAX_RANK];
    for (int d = j->batch.rank - 1; d >= 0; --d) {
        index[d] = i % j->batch.dim[d];
        i /= j->batch.dim[d];
    }
    for (int d = 0; d < j->batch.rank; ++d)
        end += snprintf(end, sizeof at - (size_t)(end - at), "%s%lld", d ? ", " : " [", (long long)index[d]);
    if (j->batch.rank)
        snprintf(end, sizeof at - (size_t)(end - at), "]");
    wfl_array_fail(j->ctx, WF_ERR_ARG, "%s: matrix%s of `a` %s", j->function, at, why);
}

/* Returns the first of the matrices, [count, rows, columns], that has an element that is not finite; -1: none, -2: an
 * error. */
static int64_t first_not_finite(const job *j, const wf_array *x)
{
    wf_graph *g = wfl_begin(j->ctx, j->function);
    wf_val v = wf_in(g, x), finite;
    if (wfl_is_complex_dtype(wf_array_dtype(x)))
        finite = wf_and(wf_isfinite(wf_real(v)), wf_isfinite(wf_imag(v)));
    else
        finite = wf_isfinite(v);
    wf_array *all = wf_keep(wf_reduce(WF_JOIN_AND, finite, WF_AXES(1, 2))), *here;
    all = wfl_array_run(g, all);
    here = all ? wf_copy_to(all, WF_CPU) : NULL;
    wf_release(all);
    void *data;
    int64_t found = here && wf_map(here, &data, NULL) == WF_OK ? -1 : -2;
    for (int64_t i = 0; found == -1 && i < j->count; ++i)
        if (!((const bool *)data)[i])
            found = i;
    wf_release(here);
    return found;
}

/* False, with an error, if an element is not finite. */
static bool is_finite(const job *j, const wf_array *x, const char *why)
{
    int64_t found = wf_array_count(x) ? first_not_finite(j, x) : -1;
    if (found >= 0)
        refuse(j, found, why);
    return found == -1;
}

static const char *const not_finite = "has an element that is not finite";

/* ---- functions of values ---- */
static bool is_small(const job *j, int64_t n) { return n <= WF_MAT_MOST && !wfl_is_complex_dtype(j->dtype); }

/* A recording over the matrices, or over these and `blocks` of columns. */
static wf_graph *begin_points(const job *j, int64_t blocks)
{
    wf_shape shape = { .rank = blocks ? 2 : 1, .dim = { j->count, blocks } };
    return wfl_begin(j->ctx, j->function, .shape = shape, .indexed = true,
                     .device = j->device >= WF_GPU(0) ? j->device : 0);
}

/* Reads the point's matrix, of which the columns begin at `from`. */
static void read_matrix(wf_graph *g, const wf_array *x, int rows, int columns, wf_val from, wf_val *m)
{
    for (int i = 0; i < rows * columns; ++i)
        m[i] = wf_read(g, x, wf_index(g, 0), i / columns, wf_add(from, i % columns));
}

static void write_matrix(wf_graph *g, wf_array *x, int rows, int columns, wf_val from, const wf_val *m)
{
    for (int i = 0; i < rows * columns; ++i)
        wf_write(g, x, m[i], wf_index(g, 0), i / columns, wf_add(from, i % columns));
}

/* Returns new memory on the device of the call, [batch..., rows, columns], and in *flat its view as matrices. */
static wf_array *result(const job *j, wf_dtype dtype, int64_t rows, int64_t columns, wf_array **flat)
{
    wf_shape shape = shape_of(j, rows, columns);
    wf_array *out = wf_empty(j->ctx, dtype, shape, .device = j->device);
    *flat = out ? wf_view_reshape(out, flat_shape(j, &shape)) : NULL;
    return out;
}

/* Returns `out` if all is well, else releases it. */
static wf_array *if_well(bool well, wf_array *out)
{
    if (well)
        return out;
    wf_release(out);
    return NULL;
}

static wf_array *small_solve(const job *j, const wf_array *a, const wf_array *b, int n, int64_t k)
{
    wf_array *x, *out = result(j, j->dtype, n, k, &x), *m = packed(j, a, false), *r = packed(j, b, false);
    bool well = x && m && r && is_finite(j, m, not_finite) &&
                is_finite(j, r, "has a right-hand side with an element that is not finite");
    if (well) {
        int at_once = k <= WF_MAT_MOST ? (int)k : 1;
        wf_val p[WF_MAT_MOST * WF_MAT_MOST], q[WF_MAT_MOST * WF_MAT_MOST], zero;
        wf_graph *g = begin_points(j, k / at_once);
        zero = wf_const_i64(g, WF_I64, 0);
        read_matrix(g, m, n, n, zero, p);
        wf_val from = wf_mul(wf_index(g, 1), at_once);
        read_matrix(g, r, n, at_once, from, q);
        wf_mat_solve(g, n, p, at_once, q, q);
        write_matrix(g, x, n, at_once, from, q);
        well = wf_run(g) == WF_OK && is_finite(j, x, "is singular");
    }
    wf_array *all[] = { x, m, r };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    return if_well(well, out);
}

static wf_array *small_cholesky(const job *j, const wf_array *a, int n)
{
    wf_array *l, *out = result(j, j->dtype, n, n, &l), *m = packed(j, a, false);
    bool well = l && m && is_finite(j, m, not_finite);
    if (well) {
        wf_val p[WF_MAT_MOST * WF_MAT_MOST];
        wf_graph *g = begin_points(j, 0);
        wf_val zero = wf_const_i64(g, WF_I64, 0);
        read_matrix(g, m, n, n, zero, p);
        wf_mat_cholesky(g, n, p, p);
        write_matrix(g, l, n, n, zero, p);
        well = wf_run(g) == WF_OK && is_finite(j, l, "is not positive definite");
    }
    wf_release(l);
    wf_release(m);
    return if_well(well, out);
}

static bool small_eigh(const job *j, const wf_array *a, int n, wf_array **values, wf_array **vectors)
{
    wf_array *w, *v = NULL, *m = packed(j, a, false);
    *values = result(j, j->dtype, n, -1, &w);
    if (vectors)
        *vectors = result(j, j->dtype, n, n, &v);
    bool well = w && m && (v || !vectors) && is_finite(j, m, not_finite);
    if (well) {
        wf_val p[WF_MAT_MOST * WF_MAT_MOST], e[WF_MAT_MOST];
        wf_graph *g = begin_points(j, 0);
        wf_val zero = wf_const_i64(g, WF_I64, 0);
        read_matrix(g, m, n, n, zero, p);
        wf_mat_eigh(g, n, p, e, vectors ? p : NULL);
        for (int i = 0; i < n; ++i)
            wf_write(g, w, e[i], wf_index(g, 0), i);
        if (vectors)
            write_matrix(g, v, n, n, zero, p);
        well = wf_run(g) == WF_OK;
    }
    wf_release(w);
    wf_release(v);
    wf_release(m);
    return well;
}

/* ---- by LAPACK ---- */
/* Returns the address of matrix i, of n elements. */
static void *at(const job *j, void *data, int64_t i, int64_t n)
{
    return (char *)data + (size_t)(i * n) * j->lapack.size;
}

static void *real_at(const job *j, void *data, int64_t i, int64_t n)
{
    return (char *)data + (size_t)(i * n) * wf_dtype_size(wf_dtype_part(j->dtype));
}

/* True after a matrix for which LAPACK returned 0; else with an error. */
static bool succeeded(const job *j, int64_t i, int said, const char *why)
{
    if (said > 0)
        refuse(j, i, why);
    else if (said < 0 && said != WFL_LAPACK_FAILED)
        wfl_array_fail(j->ctx, WF_ERR_BACKEND, "%s: LAPACK refuses argument %d", j->function, -said);
    return said == 0;
}

/* Returns matrices by their transposed ones, [count, n, m] of `flat`, as [batch..., m, n] of the call's device. */
static wf_array *turned_back(const job *j, const wf_array *flat, bool conjugate)
{
    wf_shape s = wf_array_shape(flat), shape = shape_of(j, s.dim[2], s.dim[1]);
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

static wf_array *large_solve(job *j, const wf_array *a, const wf_array *b, int64_t n, int64_t k)
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return NULL;
    void *p, *q;
    wf_array *m = own_copy(j, a, false, &p), *x = own_copy(j, b, true, &q), *out = NULL;
    bool well = m && x && is_finite(j, m, not_finite);
    for (int64_t i = 0; well && i < j->count; ++i)
        well =
            succeeded(j, i, wfl_lapack_solve(&j->lapack, n, k, at(j, p, i, n * n), at(j, q, i, n * k)), "is singular");
    if (well)
        out = turned_back(j, x, false);
    wf_release(m);
    wf_release(x);
    wfl_lapack_end(&j->lapack);
    return out;
}

static wf_array *large_cholesky(job *j, const wf_array *a, int64_t n)
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return NULL;
    void *p;
    wf_array *l = own_copy(j, a, false, &p), *out = NULL;
    bool well = l && is_finite(j, l, not_finite);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i, wfl_lapack_cholesky(&j->lapack, n, at(j, p, i, n * n)), "is not positive definite");
    for (int64_t i = 0; well && i < j->count * n; ++i) /* the upper triangles */
        memset(at(j, p, i * n + i % n + 1, 1), 0, (size_t)(n - 1 - i % n) * j->lapack.size);
    if (well)
        out = delivered(j, wf_view_reshape(l, shape_of(j, n, n)));
    wf_release(l);
    wfl_lapack_end(&j->lapack);
    return out;
}

static bool large_eigh(job *j, const wf_array *a, int64_t n, wf_array **values, wf_array **vectors)
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return false;
    void *p, *w;
    wf_array *m = own_copy(j, a, false, &p);
    *values = own_result(j, wf_dtype_part(j->dtype), n, -1, &w);
    bool well = m && *values && is_finite(j, m, not_finite);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i, wfl_lapack_eigh(&j->lapack, n, vectors != NULL, at(j, p, i, n * n), real_at(j, w, i, n)),
                         "has eigenvalues that LAPACK does not find");
    if (well)
        *values = delivered(j, *values);
    if (well && vectors)
        *vectors = turned_back(j, m, wfl_is_complex_dtype(j->dtype));
    well = well && *values && (!vectors || *vectors);
    wf_release(m);
    wfl_lapack_end(&j->lapack);
    return well;
}

/* Sets out[0..2] to u, s and vh; without `vectors` to s alone, out[1]. */
static bool large_svd(job *j, const wf_array *a, int64_t m, int64_t n, bool vectors, wf_array *out[3])
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
    bool well = x && out[1] && (!vectors || (out[0] && out[2])) && is_finite(j, x, not_finite);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i,
                         wfl_lapack_svd(&j->lapack, m, n, at(j, p, i, m * n), real_at(j, s, i, few),
                                        vectors ? at(j, u, i, m * few) : NULL, vectors ? at(j, vh, i, few * n) : NULL),
                         "has singular values that LAPACK does not find");
    for (int i = 0; well && i < 3; ++i)
        if (out[i]) {
            out[i] = delivered(j, out[i]);
            well = out[i] != NULL;
        }
    wf_release(x);
    wfl_lapack_end(&j->lapack);
    return well;
}

static wf_array *large_lstsq(job *j, const wf_array *a, const wf_array *b, int64_t n, double least)
{
    wf_shape s = wf_array_shape(b);
    int64_t m = s.dim[s.rank - 2], k = s.dim[s.rank - 1], ldb = m > n ? m : n;
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return NULL;
    void *p, *q = NULL;
    wf_array *t = own_copy(j, a, true, &p), *right = own_copy(j, b, true, &q), *x = NULL, *part = NULL, *out = NULL;
    bool well = t && right && is_finite(j, t, not_finite) &&
                is_finite(j, right, "has a right-hand side with an element that is not finite");
    if (well && m < n) /* solutions need more memory than right-hand sides */
        x = wf_array_resize(right, NULL, (const int64_t[]){ 0, 0, n - m }, WF_BORDER_VALUE, 0);
    else if (well)
        x = wf_retain(right);
    well = x && wf_map(x, &q, NULL) == WF_OK;
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(j, i, wfl_lapack_lstsq(&j->lapack, m, n, k, least, at(j, p, i, m * n), at(j, q, i, k * ldb)),
                         "has singular values that LAPACK does not find");
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

/* Sets out[0] and out[1] to the signs and logarithms of determinants. */
static bool large_slogdet(job *j, const wf_array *a, int64_t n, wf_array *out[2])
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return false;
    void *p, *sign = NULL, *log_of = NULL;
    const wf_dtype part = wf_dtype_part(j->dtype);
    wf_array *m = own_copy(j, a, false, &p);
    out[0] = own_result(j, j->dtype, -1, -1, &sign);
    out[1] = own_result(j, part, -1, -1, &log_of);
    bool well = m && out[0] && out[1] && is_finite(j, m, not_finite);
    for (int64_t i = 0; well && i < j->count; ++i) {
        double s[2] = { 0 }, l = 0;
        well = succeeded(j, i, wfl_lapack_slogdet(&j->lapack, n, at(j, p, i, n * n), s, &l), "");
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

/* Sets out[0] and out[1] to q, [batch..., m, k], and r, [batch..., k, n]. */
static bool large_qr(job *j, const wf_array *a, int64_t m, int64_t n, int64_t k, wf_array *out[2])
{
    if (!wfl_lapack_begin(&j->lapack, j->ctx, j->function, j->dtype))
        return false;
    void *p, *q, *r;
    const wf_shape flat = { .rank = 3, .dim = { j->count, k, m } };
    wf_array *t = own_copy(j, a, true, &p), *columns = wf_empty(j->ctx, j->dtype, flat, .device = WF_CPU);
    out[1] = own_result(j, j->dtype, k, n, &r);
    bool well = t && columns && out[1] && wf_map(columns, &q, NULL) == WF_OK && is_finite(j, t, not_finite);
    for (int64_t i = 0; well && i < j->count; ++i)
        well = succeeded(
            j, i, wfl_lapack_qr(&j->lapack, m, n, k, at(j, p, i, m * n), at(j, q, i, k * m), at(j, r, i, k * n)), "");
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

/* ---- the public functions ---- */
/* Returns an empty array of the results, or zeros where sums have no terms. */
static wf_array *nothing(const job *j, wf_dtype dtype, int64_t rows, int64_t columns)
{
    wf_array *flat, *out = result(j, dtype, rows, columns, &flat);
    wf_release(flat);
    return if_well(out && wf_array_fill(out, 0) == WF_OK, out);
}

/* Returns the identity, [n, n], beside a. */
static wf_array *identity(const job *j, const wf_array *a, int64_t n)
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
    job j;
    if (!begin(&j, "wf_solve", "a", a, true) || (b && !begin_with(&j, a, b)))
        return NULL;
    int64_t n = wf_array_shape(a).dim[wf_array_shape(a).rank - 1];
    wf_array *right = b ? wf_retain(b) : identity(&j, a, n), *x = NULL;
    if (right) {
        wf_shape s = wf_array_shape(right);
        int64_t k = s.dim[s.rank - 1];
        x = !n || !k || !j.count ? nothing(&j, j.dtype, n, k)
            : is_small(&j, n)    ? small_solve(&j, a, right, (int)n, k)
                                 : large_solve(&j, a, right, n, k);
    }
    wf_release(right);
    return x;
}

wf_array *wf_cholesky(const wf_array *a)
{
    job j;
    if (!begin(&j, "wf_cholesky", "a", a, true))
        return NULL;
    int64_t n = wf_array_shape(a).dim[wf_array_shape(a).rank - 1];
    return !n || !j.count    ? nothing(&j, j.dtype, n, n)
           : is_small(&j, n) ? small_cholesky(&j, a, (int)n)
                             : large_cholesky(&j, a, n);
}

/* Hands results over, or releases them. */
static wf_status hand(const job *j, bool well, wf_array **results, wf_array **to[], int n)
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
    job j;
    if (!begin(&j, "wf_eigh", "a", a, true))
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
        well = small_eigh(&j, a, (int)n, &out[0], vectors ? &out[1] : NULL);
    else
        well = large_eigh(&j, a, n, &out[0], vectors ? &out[1] : NULL);
    return hand(&j, well, out, (wf_array * *[]){ values, vectors }, 2);
}

wf_status wf_svd(const wf_array *a, wf_array **u, wf_array **s, wf_array **vh)
{
    job j;
    if (!begin(&j, "wf_svd", "a", a, false))
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
        well = large_svd(&j, a, m, n, u != NULL, out);
    return hand(&j, well, out, (wf_array * *[]){ u, s, vh }, 3);
}

wf_array *wf_lstsq(const wf_array *a, const wf_array *b, double tolerance)
{
    job j;
    if (!begin(&j, "wf_lstsq", "a", a, false))
        return NULL;
    if (!b || !(tolerance <= 1)) {
        wfl_array_fail(j.ctx, WF_ERR_ARG, b ? "wf_lstsq: `tolerance` is %g, not up to 1" : "wf_lstsq: `b` is NULL",
                       tolerance);
        return NULL;
    }
    if (!begin_with(&j, a, b))
        return NULL;
    wf_shape s = wf_array_shape(a), t = wf_array_shape(b);
    int64_t m = s.dim[s.rank - 2], n = s.dim[s.rank - 1], k = t.dim[t.rank - 1];
    if (!m || !n || !k || !j.count)
        return nothing(&j, j.dtype, n, k);
    double digits = wf_dtype_part(j.dtype) == WF_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    return large_lstsq(&j, a, b, n, tolerance > 0 ? tolerance : digits * (double)(m > n ? m : n));
}

wf_status wf_slogdet(const wf_array *a, wf_array **sign, wf_array **log)
{
    job j;
    if (!begin(&j, "wf_slogdet", "a", a, true))
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
        well = large_slogdet(&j, a, n, out);
    return hand(&j, well, out, (wf_array * *[]){ sign, log }, 2);
}

wf_status wf_qr(const wf_array *a, bool complete, wf_array **q, wf_array **r)
{
    job j;
    if (!begin(&j, "wf_qr", "a", a, false))
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
        wf_array *all = one ? wf_view_broadcast(one, shape_of(&j, m, k)) : NULL;
        out[0] = !no_columns ? nothing(&j, j.dtype, m, k) : all ? wf_array_contiguous(all) : NULL;
        out[1] = nothing(&j, j.dtype, k, n);
        well = out[0] && out[1];
        wf_release(one);
        wf_release(all);
    } else
        well = large_qr(&j, a, m, n, k, out);
    return hand(&j, well, out, (wf_array * *[]){ q, r }, 2);
}
