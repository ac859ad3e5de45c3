/* arrays.c - linear algebra on arrays of matrices: the public functions, each with the function that computes its results of
 * ordinary arrays, and chooses how.
 */
#include "matrices.h"
#include "weft/derivative.h"
#include "weft/distributed.h"
#include "weft/linalg.h"
#include <float.h>

static bool is_small(const wfl_job *j) { return j->rows <= WF_MAT_MOST && !wfl_is_complex_dtype(j->dtype); }

/* Sets the results to empty arrays, or to zeros where sums have no terms. */
static bool nothing(const wfl_job *j, wf_array *out[WFL_JOB_RESULTS])
{
    bool well = true;
    for (int i = 0; well && i < WFL_JOB_RESULTS; ++i) {
        const wfl_wanted *want = &j->want[i];
        wf_array *flat;
        if (want->dtype == WF_NONE)
            continue;
        out[i] = wfl_job_result(j, want->dtype, want->rows, want->columns, &flat);
        wf_release(flat);
        well = out[i] && wf_array_fill(out[i], 0) == WF_OK;
    }
    return well;
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

/* ---- on a tape ---- */
typedef struct noted { /* a call, which the rule's .vjp does not need */
    wfl_job *job;
    wfl_compute *compute;
    bool has_right;
} noted;

/* wf_array_rule.call. */
static wf_status call(void *user, wf_arrays in, wf_arrays out)
{
    const noted *c = user;
    wf_array *result[WFL_JOB_RESULTS] = { NULL };
    wf_status status = c->compute(c->job, in.at[0], c->has_right ? in.at[1] : NULL, result) ? WF_OK : WF_ERR_ARG;
    for (size_t i = 0, k = 0; i < WFL_JOB_RESULTS; ++i) {
        if (status == WF_OK && c->job->want[i].dtype != WF_NONE)
            status = wf_array_assign(out.at[k++], result[i]);
        wf_release(result[i]);
    }
    return status;
}

static bool compute_noted(wfl_job *j, wfl_compute *compute, wfl_vjp *vjp, const wf_array *a, const wf_array *b,
                          wf_array *out[WFL_JOB_RESULTS])
{
    noted c = { j, compute, b != NULL };
    const wf_array_rule rule = { .size = sizeof rule, .name = j->function, .call = call, .vjp = vjp, .user = &c };
    wf_array *in[3] = { (wf_array *)a, (wf_array *)b }, *to[WFL_JOB_RESULTS], *flat; /* operands are only read */
    size_t ins = b ? 2 : 1, outs = 0;
    bool well = true;
    for (int i = 0; well && i < WFL_JOB_RESULTS; ++i)
        if (j->want[i].dtype != WF_NONE) {
            out[i] = to[outs++] = wfl_job_result(j, j->want[i].dtype, j->want[i].rows, j->want[i].columns, &flat);
            wf_release(flat);
            well = out[i] != NULL;
        }
    if (vjp == wfl_lstsq_vjp) {
        in[2] = wf_empty(j->ctx, WF_F64, WF_SHAPE(1), .device = WF_CPU);
        well = well && in[2] && wf_upload(in[2], &j->least, sizeof j->least) == WF_OK;
        ins = 3;
    }
    well = well && wf_custom_arrays(j->ctx, &rule, (wf_arrays){ in, ins }, (wf_arrays){ to, outs }) == WF_OK;
    wf_release(in[2]);
    return well;
}

/* Computes the results of the call, which has these derivatives; all NULL on a failure. */
static wf_status run(wfl_job *j, wfl_compute *compute, wfl_vjp *vjp, const wf_array *a, const wf_array *b,
                     wf_array *out[WFL_JOB_RESULTS])
{
    const bool distributed = wf_array_dist(a) || wf_array_dist(b), taped = wf_is_taped(a) || wf_is_taped(b);
    if (distributed ? wfl_job_distributed(j, compute, a, b, out)
        : taped     ? compute_noted(j, compute, vjp, a, b, out)
                    : compute(j, a, b, out))
        return WF_OK;
    if (j->refusal != WFL_NOT_REFUSED)
        wfl_job_report(j);
    for (int i = 0; i < WFL_JOB_RESULTS; ++i) {
        wf_release(out[i]);
        out[i] = NULL;
    }
    return wfl_array_error(j->ctx);
}

/* Runs it, and hands the first n results over to those of `to` that are not NULL. */
static wf_status run_into(wfl_job *j, wfl_compute *compute, wfl_vjp *vjp, const wf_array *a, wf_array **const to[],
                          int n)
{
    wf_array *out[WFL_JOB_RESULTS] = { NULL };
    const wf_status status = run(j, compute, vjp, a, NULL, out);
    for (int i = 0; status == WF_OK && i < n; ++i)
        if (to[i])
            *to[i] = out[i];
    return status;
}

static bool solve(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    const int64_t n = j->rows;
    if (!n || !j->k || !j->count)
        return nothing(j, out);
    wf_array *right = b ? wf_retain(b) : identity(j, a, n);
    if (right)
        out[0] = is_small(j) ? wfl_small_solve(j, a, right, (int)n, j->k) : wfl_large_solve(j, a, right, n, j->k);
    wf_release(right);
    return out[0] != NULL;
}

wf_array *wf_solve(const wf_array *a, const wf_array *b)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_solve", "a", a, true) || (b && !wfl_job_begin_with(&j, a, b)))
        return NULL;
    j.want[0] = (wfl_wanted){ j.dtype, j.rows, j.k };
    wf_array *out[WFL_JOB_RESULTS] = { NULL };
    run(&j, solve, wfl_solve_vjp, a, b, out);
    return out[0];
}

static bool cholesky(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    const int64_t n = j->rows;
    (void)b;
    if (!n || !j->count)
        return nothing(j, out);
    out[0] = is_small(j) ? wfl_small_cholesky(j, a, (int)n) : wfl_large_cholesky(j, a, n);
    return out[0] != NULL;
}

wf_array *wf_cholesky(const wf_array *a)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_cholesky", "a", a, true))
        return NULL;
    j.want[0] = (wfl_wanted){ j.dtype, j.rows, j.rows };
    wf_array *out[WFL_JOB_RESULTS] = { NULL };
    run(&j, cholesky, wfl_cholesky_vjp, a, NULL, out);
    return out[0];
}

static bool eigh(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    wf_array **vectors = j->want[1].dtype != WF_NONE ? &out[1] : NULL;
    (void)b;
    if (!j->rows || !j->count)
        return nothing(j, out);
    return is_small(j) ? wfl_small_eigh(j, a, (int)j->rows, &out[0], vectors)
                       : wfl_large_eigh(j, a, j->rows, &out[0], vectors);
}

wf_status wf_eigh(const wf_array *a, wf_array **values, wf_array **vectors)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_eigh", "a", a, true))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!values)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_eigh: `values` is NULL");
    j.want[0] = (wfl_wanted){ wf_dtype_part(j.dtype), j.rows, -1 };
    if (vectors)
        j.want[1] = (wfl_wanted){ j.dtype, j.rows, j.rows };
    return run_into(&j, eigh, wfl_eigh_vjp, a, (wf_array * *[]){ values, vectors }, 2);
}

static bool svd(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    (void)b;
    if (!j->rows || !j->columns || !j->count)
        return nothing(j, out);
    return wfl_large_svd(j, a, j->rows, j->columns, j->want[0].dtype != WF_NONE, out);
}

wf_status wf_svd(const wf_array *a, wf_array **u, wf_array **s, wf_array **vh)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_svd", "a", a, false))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!s || !u != !vh)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_svd: %s", s ? "only one of `u` and `vh` is NULL" : "`s` is NULL");
    const int64_t few = j.rows < j.columns ? j.rows : j.columns;
    j.want[1] = (wfl_wanted){ wf_dtype_part(j.dtype), few, -1 };
    if (u) {
        j.want[0] = (wfl_wanted){ j.dtype, j.rows, few };
        j.want[2] = (wfl_wanted){ j.dtype, few, j.columns };
    }
    return run_into(&j, svd, wfl_svd_vjp, a, (wf_array * *[]){ u, s, vh }, 3);
}

static bool lstsq(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    if (!j->rows || !j->columns || !j->k || !j->count)
        return nothing(j, out);
    out[0] = wfl_large_lstsq(j, a, b, j->columns, j->least);
    return out[0] != NULL;
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
    const double digits = wf_dtype_part(j.dtype) == WF_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    j.least = tolerance > 0 ? tolerance : digits * (double)(j.rows > j.columns ? j.rows : j.columns);
    j.want[0] = (wfl_wanted){ j.dtype, j.columns, j.k };
    wf_array *out[WFL_JOB_RESULTS] = { NULL };
    run(&j, lstsq, wfl_lstsq_vjp, a, b, out);
    return out[0];
}

static bool slogdet(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    (void)b;
    if (!j->rows || !j->count)
        return nothing(j, out) && wf_array_fill(out[0], 1) == WF_OK; /* a product without factors */
    return wfl_large_slogdet(j, a, j->rows, out);
}

wf_status wf_slogdet(const wf_array *a, wf_array **sign, wf_array **log)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_slogdet", "a", a, true))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!sign || !log)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_slogdet: `%s` is NULL", sign ? "log" : "sign");
    j.want[0] = (wfl_wanted){ j.dtype, -1, -1 };
    j.want[1] = (wfl_wanted){ wf_dtype_part(j.dtype), -1, -1 };
    return run_into(&j, slogdet, wfl_slogdet_vjp, a, (wf_array * *[]){ sign, log }, 2);
}

static bool qr(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    const int64_t m = j->rows, n = j->columns, k = j->want[1].rows;
    (void)b;
    if (m && n && j->count)
        return wfl_large_qr(j, a, m, n, k, out);
    if (!nothing(j, out))
        return false;
    if (!k || n)
        return true;
    wf_array *one = identity(j, a, m); /* any orthonormal q of m columns is right */
    const bool well = one && wf_array_assign(out[0], one) == WF_OK;
    wf_release(one);
    return well;
}

wf_status wf_qr(const wf_array *a, bool complete, wf_array **q, wf_array **r)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_qr", "a", a, false))
        return a ? wfl_array_error(j.ctx) : WF_ERR_ARG;
    if (!q || !r)
        return wfl_array_fail(j.ctx, WF_ERR_ARG, "wf_qr: `%s` is NULL", q ? "r" : "q");
    const int64_t k = complete || j.rows < j.columns ? j.rows : j.columns;
    j.want[0] = (wfl_wanted){ j.dtype, j.rows, k };
    j.want[1] = (wfl_wanted){ j.dtype, k, j.columns };
    return run_into(&j, qr, wfl_qr_vjp, a, (wf_array * *[]){ q, r }, 2);
}
