/* matrices.c - see matrices.h. */
#include "matrices.h"
#include <stdio.h>

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

bool wfl_job_begin(wfl_job *j, const char *function, const char *name, const wf_array *a, bool square)
{
    *j = (wfl_job){ .ctx = wf_array_context(a), .function = function };
    if (!a || !wfl_array_known(a, function))
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
    j->whole = j->batch;
    j->count = wfl_axes_count(&j->batch, WF_ALL_AXES);
    j->rows = shape.dim[shape.rank - 2];
    j->columns = j->k = shape.dim[shape.rank - 1];
    return true;
}

bool wfl_job_begin_with(wfl_job *j, const wf_array *a, const wf_array *b)
{
    wf_shape s = wf_array_shape(a), t = wf_array_shape(b);
    if (!wfl_array_known(b, j->function) || !wfl_array_together(a, b, j->function))
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
    j->whole = j->batch;
    j->count = wfl_axes_count(&j->batch, WF_ALL_AXES);
    j->k = t.dim[t.rank - 1];
    j->dtype = common_dtype(j->dtype, dtype_of(b));
    return true;
}

wf_shape wfl_job_shape(const wfl_job *j, int64_t rows, int64_t columns)
{
    wf_shape shape = j->batch;
    if (rows >= 0) /* else numbers */
        shape.dim[shape.rank++] = rows;
    if (columns >= 0) /* else vectors */
        shape.dim[shape.rank++] = columns;
    return shape;
}

wf_shape wfl_job_flat_shape(const wfl_job *j, const wf_shape *shape)
{
    wf_shape flat = { .rank = 1, .dim = { j->count } };
    for (int d = j->batch.rank; d < shape->rank; ++d)
        flat.dim[flat.rank++] = shape->dim[d];
    return flat;
}

wf_array *wfl_job_packed(const wfl_job *j, const wf_array *x, bool turned)
{
    wf_shape own = wf_array_shape(x), shape = wfl_job_shape(j, own.dim[own.rank - 2], own.dim[own.rank - 1]);
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
        flat = wf_view_reshape(cast, wfl_job_flat_shape(j, &shape));
    }
    wf_release(cast);
    return flat;
}

wf_array *wfl_job_result(const wfl_job *j, wf_dtype dtype, int64_t rows, int64_t columns, wf_array **flat)
{
    wf_shape shape = wfl_job_shape(j, rows, columns);
    wf_array *out = wf_empty(j->ctx, dtype, shape, .device = j->device);
    *flat = out ? wf_view_reshape(out, wfl_job_flat_shape(j, &shape)) : NULL;
    return out;
}

/* ---- matrices that have no result ---- */
void wfl_job_refuse(wfl_job *j, int64_t i, wfl_refusal why)
{
    int64_t stride = 1;
    j->refusal = why;
    j->refused = 0;
    for (int d = j->batch.rank - 1; d >= 0; --d) {
        j->refused += (i % j->batch.dim[d] + j->first[d]) * stride;
        i /= j->batch.dim[d];
        stride *= j->whole.dim[d];
    }
}

void wfl_job_report(const wfl_job *j)
{
    static const char *const why[] = {
        [WFL_NOT_FINITE] = "has an element that is not finite",
        [WFL_RIGHT_NOT_FINITE] = "has a right-hand side with an element that is not finite",
        [WFL_SINGULAR] = "is singular",
        [WFL_NOT_POSITIVE] = "is not positive definite",
        [WFL_NO_EIGENVALUES] = "has eigenvalues that LAPACK does not find",
        [WFL_NO_SINGULAR_VALUES] = "has singular values that LAPACK does not find",
    };
    char at[160] = "", *end = at;
    int64_t index[WF_MAX_RANK], i = j->refused;
    for (int d = j->whole.rank - 1; d >= 0; --d) {
        index[d] = i % j->whole.dim[d];
        i /= j->whole.dim[d];
    }
    for (int d = 0; d < j->whole.rank; ++d)
        end += snprintf(end, sizeof at - (size_t)(end - at), "%s%lld", d ? ", " : " [", (long long)index[d]);
    if (j->whole.rank)
        snprintf(end, sizeof at - (size_t)(end - at), "]");
    wfl_array_fail(j->ctx, WF_ERR_ARG, "%s: matrix%s of `a` %s", j->function, at, why[j->refusal]);
}

/* Returns the first of the matrices, [count, rows, columns], that has an element that is not finite; -1: none, -2: an
 * error. */
static int64_t first_not_finite(const wfl_job *j, const wf_array *x)
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

bool wfl_job_is_finite(wfl_job *j, const wf_array *x, wfl_refusal why)
{
    int64_t found = wf_array_count(x) ? first_not_finite(j, x) : -1;
    if (found >= 0)
        wfl_job_refuse(j, found, why);
    return found == -1;
}
