/* by_values.c - decompositions of arrays of small real matrices by the functions of values, one matrix for each point, on
 * the arrays' device.
 */
#include "matrices.h"
#include "weft/linalg.h"

/* A recording over the matrices, or over these and `blocks` of columns. */
static wf_graph *begin_points(const wfl_job *j, int64_t blocks)
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

/* Returns `out` if all is well, else releases it. */
static wf_array *if_well(bool well, wf_array *out)
{
    if (well)
        return out;
    wf_release(out);
    return NULL;
}

wf_array *wfl_small_solve(wfl_job *j, const wf_array *a, const wf_array *b, int n, int64_t k)
{
    wf_array *x, *out = wfl_job_result(j, j->dtype, n, k, &x), *m = wfl_job_packed(j, a, false),
                 *r = wfl_job_packed(j, b, false);
    bool well = x && m && r && wfl_job_is_finite(j, m, WFL_NOT_FINITE) && wfl_job_is_finite(j, r, WFL_RIGHT_NOT_FINITE);
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
        well = wf_run(g) == WF_OK && wfl_job_is_finite(j, x, WFL_SINGULAR);
    }
    wf_array *all[] = { x, m, r };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    return if_well(well, out);
}

wf_array *wfl_small_cholesky(wfl_job *j, const wf_array *a, int n)
{
    wf_array *l, *out = wfl_job_result(j, j->dtype, n, n, &l), *m = wfl_job_packed(j, a, false);
    bool well = l && m && wfl_job_is_finite(j, m, WFL_NOT_FINITE);
    if (well) {
        wf_val p[WF_MAT_MOST * WF_MAT_MOST];
        wf_graph *g = begin_points(j, 0);
        wf_val zero = wf_const_i64(g, WF_I64, 0);
        read_matrix(g, m, n, n, zero, p);
        wf_mat_cholesky(g, n, p, p);
        write_matrix(g, l, n, n, zero, p);
        well = wf_run(g) == WF_OK && wfl_job_is_finite(j, l, WFL_NOT_POSITIVE);
    }
    wf_release(l);
    wf_release(m);
    return if_well(well, out);
}

bool wfl_small_eigh(wfl_job *j, const wf_array *a, int n, wf_array **values, wf_array **vectors)
{
    wf_array *w, *v = NULL, *m = wfl_job_packed(j, a, false);
    *values = wfl_job_result(j, j->dtype, n, -1, &w);
    if (vectors)
        *vectors = wfl_job_result(j, j->dtype, n, n, &v);
    bool well = w && m && (v || !vectors) && wfl_job_is_finite(j, m, WFL_NOT_FINITE);
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
