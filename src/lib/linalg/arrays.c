/* arrays.c - linear algebra on arrays of matrices: the public functions, each with the function that computes its results of
 * ordinary arrays, and chooses how, and with its derivative on tapes.
 *
 * X^H is the conjugate transpose of X, _X the derivative of the loss by X, and <X, Y> the real part of the sum of conj(X) Y, so
 * that a change dX changes the loss by <_X, dX>. A derivative turns <_X, dX> of the results into <_A, dA> of the operands.
 * Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
 * differentiation" (2008), with complex matrices besides.
 */
#include "algebra.h"
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

/* ---- derivatives ---- */
/* wf_array_rule.vjp of a function, with its operands and its results that are wanted; wf_lstsq has a third operand, the
 * tolerance as a number of f64. */
typedef wf_status derivative(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads);

static wf_array *solution(wfl_algebra *l, wf_array *a, wf_array *b)
{
    return l->failed ? NULL : wfl_mat_made(l, wf_solve(a, b));
}

static bool any_empty(wf_arrays x)
{
    for (size_t i = 0; i < x.n; ++i)
        if (x.at[i] && !wf_array_count(x.at[i]))
            return true;
    return false;
}

static bool is_complex(const wf_array *x) { return wfl_is_complex_dtype(wf_array_dtype(x)); }

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
    wf_status status = WF_OK;
    if (!c->compute(c->job, in.at[0], c->has_right ? in.at[1] : NULL, result))
        status = c->job->refusal != WFL_NOT_REFUSED ? WF_ERR_ARG : wfl_array_error(c->job->ctx);
    for (size_t i = 0, k = 0; i < WFL_JOB_RESULTS; ++i) {
        if (status == WF_OK && c->job->want[i].dtype != WF_NONE)
            status = wf_array_assign(out.at[k++], result[i]);
        wf_release(result[i]);
    }
    return status;
}

static bool compute_noted(wfl_job *j, wfl_compute *compute, derivative *vjp, const wf_array *a, const wf_array *b,
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
    if (j->least > 0) { /* wf_lstsq */
        in[2] = wf_empty(j->ctx, WF_F64, WF_SHAPE(1), .device = WF_CPU);
        well = well && in[2] && wf_upload(in[2], &j->least, sizeof j->least) == WF_OK;
        ins = 3;
    }
    well = well && wf_custom_arrays(j->ctx, &rule, (wf_arrays){ in, ins }, (wf_arrays){ to, outs }) == WF_OK;
    wf_release(in[2]);
    return well;
}

/* Computes the results of the call, which has these derivatives; all NULL on a failure. */
static wf_status run(wfl_job *j, wfl_compute *compute, derivative *vjp, const wf_array *a, const wf_array *b,
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
static wf_status run_into(wfl_job *j, wfl_compute *compute, derivative *vjp, const wf_array *a, wf_array **const to[],
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

/* X = A^-1 B: dX = A^-1 (dB - dA X). Without b, B is the identity. */
static wf_status solve_back(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || any_empty(out))
        return WF_OK;
    wfl_algebra l = wfl_mat_begin(in, "wf_solve");
    wf_array *by_b = solution(&l, wfl_mat_turned(&l, in.at[0]), up.at[0]);
    if (in.n > 1)
        wfl_mat_give(&l, grads.at[1], by_b);
    if (grads.at[0]) {
        wf_array *by_a = wfl_mat_product(&l, by_b, wfl_mat_turned(&l, out.at[0]));
        wf_graph *g = l.failed ? NULL : wfl_mat_graph(&l);
        wfl_mat_give(&l, grads.at[0], g ? wfl_mat_value(&l, g, wf_neg(wf_in(g, by_a))) : NULL);
    }
    return wfl_mat_end(&l);
}

wf_array *wf_solve(const wf_array *a, const wf_array *b)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_solve", "a", a, true) || (b && !wfl_job_begin_with(&j, a, b)))
        return NULL;
    j.want[0] = (wfl_wanted){ j.dtype, j.rows, j.k };
    wf_array *out[WFL_JOB_RESULTS] = { NULL };
    run(&j, solve, solve_back, a, b, out);
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

/* A = L L^H: L^-1 dL is P(L^-1 dA L^-H), where P takes the lower triangle and half of the diagonal. */
static wf_status cholesky_back(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    wfl_algebra l = wfl_mat_begin(in, "wf_cholesky");
    wf_array *t = wfl_mat_turned(&l, out.at[0]), *x = wfl_mat_product(&l, t, up.at[0]), *part = NULL;
    if (!l.failed) {
        wf_graph *g = wfl_mat_graph(&l);
        part = wfl_mat_value(&l, g, wfl_mat_lower_half(g, x, wf_in(g, x)));
    }
    wf_array *left = solution(&l, t, part);                                         /* L^-H S */
    wf_array *both = wfl_mat_turned(&l, solution(&l, t, wfl_mat_turned(&l, left))); /* L^-H S L^-1 */
    wfl_mat_give(&l, grads.at[0], wfl_mat_lower_part(&l, both));
    return wfl_mat_end(&l);
}

wf_array *wf_cholesky(const wf_array *a)
{
    wfl_job j;
    if (!wfl_job_begin(&j, "wf_cholesky", "a", a, true))
        return NULL;
    j.want[0] = (wfl_wanted){ j.dtype, j.rows, j.rows };
    wf_array *out[WFL_JOB_RESULTS] = { NULL };
    run(&j, cholesky, cholesky_back, a, NULL, out);
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

/* A V = V diag(w): dw is the diagonal of V^H dA V, and V^H dV is F V^H dA V, element by element, where F has 1 / (w_j - w_i)
 * beside its diagonal of 0, and 0 for equal eigenvalues, of which the vectors are arbitrary. */
static wf_status eigh_back(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    wfl_algebra l = wfl_mat_begin(in, "wf_eigh");
    wf_array *w = out.at[0], *v = out.n > 1 ? out.at[1] : NULL, *x = NULL;
    if (!v) {
        wf_array *again = NULL;
        l.failed = wf_eigh(in.at[0], &again, &v) != WF_OK;
        if (!l.failed) {
            w = wfl_mat_made(&l, again);
            v = wfl_mat_made(&l, v);
        }
    }
    wf_array *t = l.failed ? NULL : wfl_mat_turned(&l, v), *c = out.n > 1 ? wfl_mat_product(&l, t, up.at[1]) : NULL;
    if (!l.failed) {
        wf_graph *g = wfl_mat_graph(&l);
        const wf_dtype part = wf_array_dtype(w);
        wf_val zero = wf_const(g, part, 0), on = wfl_mat_beside(g, up.at[0], true);
        wf_val all = wf_select(wfl_mat_diagonal(g, wf_array_shape(v)), on, zero);
        if (c) {
            wf_val apart = wf_sub(wfl_mat_beside(g, w, false), wfl_mat_beside(g, w, true)), equal = wf_eq(apart, zero);
            wf_val f =
                wf_select(equal, zero, wf_div(wf_const(g, part, 1), wf_select(equal, wf_const(g, part, 1), apart)));
            all = wf_add(wf_mul(wf_in(g, c), f), all);
        }
        x = wfl_mat_value(&l, g, wf_cast(all, wf_array_dtype(v)));
    }
    wfl_mat_give(&l, grads.at[0], wfl_mat_lower_part(&l, wfl_mat_product(&l, wfl_mat_product(&l, v, x), t)));
    return wfl_mat_end(&l);
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
    return run_into(&j, eigh, eigh_back, a, (wf_array * *[]){ values, vectors }, 2);
}

static bool svd(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    (void)b;
    if (!j->rows || !j->columns || !j->count)
        return nothing(j, out);
    return wfl_large_svd(j, a, j->rows, j->columns, j->want[0].dtype != WF_NONE, out);
}

/* x - u u^H x: the part of the columns of x that is orthogonal to those of u. */
static wf_array *orthogonal(wfl_algebra *l, wf_array *u, wf_array *x)
{
    return wfl_mat_sum(l, x, -1, wfl_mat_product(l, u, wfl_mat_product(l, wfl_mat_turned(l, u), x)));
}

/* The part of _A = U x V^H that comes from <_U, dU>, or <_V, dV>, within the space of U and V: F (c - c^H), element by element,
 * where F has 1 / (s_j^2 - s_i^2) beside its diagonal of 0, and 0 for equal singular values; times s of columns or of rows. */
static wf_array *rotation(wfl_algebra *l, wf_array *s, wf_array *c, bool columns)
{
    wf_array *t = wfl_mat_turned(l, c);
    if (l->failed)
        return NULL;
    wf_graph *g = wfl_mat_graph(l);
    const wf_dtype part = wf_array_dtype(s);
    wf_val i = wfl_mat_beside(g, s, true), j = wfl_mat_beside(g, s, false), zero = wf_const(g, part, 0),
           one = wf_const(g, part, 1);
    wf_val apart = wf_mul(wf_sub(j, i), wf_add(j, i)), equal = wf_eq(apart, zero);
    wf_val f = wf_mul(wf_select(equal, zero, wf_div(one, wf_select(equal, one, apart))), columns ? j : i);
    return wfl_mat_value(l, g, wf_mul(wf_sub(wf_in(g, c), wf_in(g, t)), f));
}

/* x with its columns divided by s. */
static wf_array *divided(wfl_algebra *l, wf_array *x, wf_array *s)
{
    if (l->failed)
        return NULL;
    wf_graph *g = wfl_mat_graph(l);
    return wfl_mat_value(l, g,
                         wf_mul(wf_in(g, x), wf_div(wf_const(g, wf_array_dtype(s), 1), wfl_mat_beside(g, s, false))));
}

/* A = U diag(s) V^H. Of complex matrices, a pair of columns of U and V has an arbitrary phase, of which a loss must not
 * depend; V takes it here, and U has the imaginary part of the diagonal of U^H dA V. */
static wf_status svd_back(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    wfl_algebra l = wfl_mat_begin(in, "wf_svd");
    const bool vectors = out.n > 1;
    wf_array *u = out.at[0], *s = vectors ? out.at[1] : out.at[0], *vh = vectors ? out.at[2] : NULL;
    wf_array *by_s = vectors ? up.at[1] : up.at[0], *inner = NULL, *all = NULL;
    if (!vectors) {
        wf_array *again = NULL;
        l.failed = wf_svd(in.at[0], &u, &again, &vh) != WF_OK;
        if (!l.failed) {
            s = wfl_mat_made(&l, again);
            u = wfl_mat_made(&l, u);
            vh = wfl_mat_made(&l, vh);
        }
    }
    wf_array *v = l.failed ? NULL : wfl_mat_turned(&l, vh), *by_v = vectors && v ? wfl_mat_turned(&l, up.at[2]) : NULL;
    wf_array *uu = vectors && v ? wfl_mat_product(&l, wfl_mat_turned(&l, u), up.at[0]) : NULL;
    if (!l.failed) {
        wf_graph *g = wfl_mat_graph(&l);
        const wf_dtype part = wf_array_dtype(s);
        wf_shape square = wf_array_shape(s);
        square.dim[square.rank] = square.dim[square.rank - 1];
        square.rank++;
        wf_val on = wfl_mat_diagonal(g, square);
        wf_val zero = wf_const(g, part, 0), d = wf_select(on, wfl_mat_beside(g, by_s, true), zero);
        if (is_complex(u)) {
            wf_val phase = uu ? wf_select(on, wf_div(wf_imag(wf_in(g, uu)), wfl_mat_beside(g, s, true)), zero) : zero;
            d = wf_complex(d, phase);
        }
        inner = wfl_mat_value(&l, g, d);
    }
    if (vectors && !l.failed) {
        inner = wfl_mat_sum(&l, inner, 1, rotation(&l, s, uu, true));
        inner = wfl_mat_sum(&l, inner, 1, rotation(&l, s, wfl_mat_product(&l, vh, by_v), false));
    }
    all = wfl_mat_product(&l, wfl_mat_product(&l, u, inner), vh);
    if (vectors && !l.failed) {
        wf_array *left = divided(&l, orthogonal(&l, u, up.at[0]), s), *right = divided(&l, orthogonal(&l, v, by_v), s);
        all = wfl_mat_sum(&l, all, 1, wfl_mat_product(&l, left, vh));
        all = wfl_mat_sum(&l, all, 1, wfl_mat_product(&l, u, wfl_mat_turned(&l, right)));
    }
    wfl_mat_give(&l, grads.at[0], all);
    return wfl_mat_end(&l);
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
    return run_into(&j, svd, svd_back, a, (wf_array * *[]){ u, s, vh }, 3);
}

static bool lstsq(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    if (!j->rows || !j->columns || !j->k || !j->count)
        return nothing(j, out);
    out[0] = wfl_large_lstsq(j, a, b, j->columns, j->least);
    return out[0] != NULL;
}

/* X = P B with the pseudo-inverse P of A, of a rank that stays: dX = P dB - P dA X + P P^H dA^H (B - A X) +
 * (1 - P A) dA^H P^H X. The third operand has the tolerance. */
static wf_status lstsq_back(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    double tolerance = 0;
    (void)user;
    if (any_empty(in) || any_empty(out))
        return WF_OK;
    wfl_algebra l = wfl_mat_begin(in, "wf_lstsq");
    l.failed = wf_download(in.at[2], &tolerance, sizeof tolerance) != WF_OK;
    wf_array *x = out.at[0], *one = NULL;
    wf_array *a = l.failed ? NULL : wfl_mat_made(&l, wf_array_cast(in.at[0], wf_array_dtype(x)));
    wf_array *b = l.failed ? NULL : wfl_mat_made(&l, wf_array_cast(in.at[1], wf_array_dtype(x)));
    if (!l.failed) {
        const int64_t m = wf_array_shape(a).dim[wf_array_shape(a).rank - 2];
        wf_graph *g = wfl_mat_graph(&l);
        one = wfl_mat_value(&l, g, wf_cast(wfl_mat_diagonal(g, WF_SHAPE(m, m)), wf_array_dtype(x)));
    }
    wf_array *p = l.failed ? NULL : wfl_mat_made(&l, wf_lstsq(a, one, tolerance)),
             *t = p ? wfl_mat_turned(&l, p) : NULL;
    wf_array *by_b = wfl_mat_product(&l, t, up.at[0]);
    wfl_mat_give(&l, grads.at[1], by_b);
    if (grads.at[0]) {
        wf_array *rest = l.failed ? NULL : wfl_mat_sum(&l, b, -1, wfl_mat_product(&l, a, x));
        wf_array *first = wfl_mat_product(&l, rest, wfl_mat_turned(&l, wfl_mat_product(&l, p, by_b)));
        wf_array *second = wfl_mat_product(&l, by_b, wfl_mat_turned(&l, x));
        wf_array *part =
            l.failed ? NULL : wfl_mat_sum(&l, up.at[0], -1, wfl_mat_product(&l, p, wfl_mat_product(&l, a, up.at[0])));
        wf_array *third = wfl_mat_product(&l, wfl_mat_product(&l, t, x), l.failed ? NULL : wfl_mat_turned(&l, part));
        wfl_mat_give(&l, grads.at[0], wfl_mat_sum(&l, wfl_mat_sum(&l, first, -1, second), 1, third));
    }
    return wfl_mat_end(&l);
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
    run(&j, lstsq, lstsq_back, a, b, out);
    return out[0];
}

static bool slogdet(wfl_job *j, const wf_array *a, const wf_array *b, wf_array *out[])
{
    (void)b;
    if (!j->rows || !j->count)
        return nothing(j, out) && wf_array_fill(out[0], 1) == WF_OK; /* a product without factors */
    return wfl_large_slogdet(j, a, j->rows, out);
}

/* The logarithm of |det A| changes by the real part of the trace of A^-1 dA, the phase of det A by the imaginary one. */
static wf_status slogdet_back(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    wfl_algebra l = wfl_mat_begin(in, "wf_slogdet");
    wf_array *t = wfl_mat_turned(&l, wfl_mat_made(&l, wf_solve(in.at[0], NULL))), *x = NULL;
    if (!l.failed) {
        wf_graph *g = wfl_mat_graph(&l);
        wf_shape s = wf_array_shape(out.at[1]);
        s.dim[s.rank++] = 1;
        s.dim[s.rank++] = 1;
        wf_val factor = wf_in(g, up.at[1]);
        if (is_complex(out.at[0]))
            factor = wf_complex(factor, wf_neg(wf_imag(wf_mul(wf_conj(wf_in(g, up.at[0])), wf_in(g, out.at[0])))));
        x = wfl_mat_value(&l, g, wf_mul(wf_in(g, t), wf_reshape(factor, s)));
    }
    wfl_mat_give(&l, grads.at[0], x);
    return wfl_mat_end(&l);
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
    return run_into(&j, slogdet, slogdet_back, a, (wf_array * *[]){ sign, log }, 2);
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

/* A = Q R with the columns of Q, as many as R has: with C = Q^H dA R^-1, Q^H dQ is the strictly lower triangle of C without its
 * conjugate transpose, and the imaginary part of its diagonal, as that of R is real; dR R^-1 is the rest of C. */
static wf_status qr_back(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    wfl_algebra l = wfl_mat_begin(in, "wf_qr");
    wf_array *q = out.at[0], *r = out.at[1];
    wf_shape s = wf_array_shape(r);
    if (s.dim[s.rank - 2] != s.dim[s.rank - 1])
        return wfl_array_fail(
            l.ctx, WF_ERR_UNSUPPORTED,
            "wf_qr: the derivative needs a square `r`: at least as many rows as columns, and not `complete`");
    wf_array *w = wfl_mat_sum(&l, wfl_mat_product(&l, wfl_mat_turned(&l, q), up.at[0]), -1,
                              wfl_mat_product(&l, up.at[1], wfl_mat_turned(&l, r)));
    wf_array *t = wfl_mat_turned(&l, w), *x = NULL;
    if (!l.failed) {
        wf_graph *g = wfl_mat_graph(&l);
        wf_val v = wf_in(g, w), zero = wf_const(g, wf_dtype_part(wf_array_dtype(w)), 0);
        wf_val skew =
            wf_select(wfl_mat_below(g, wf_array_shape(w)), wf_sub(v, wf_in(g, t)), wf_const(g, wf_array_dtype(w), 0));
        if (is_complex(w))
            skew = wf_select(wfl_mat_diagonal(g, wf_array_shape(w)), wf_complex(zero, wf_imag(v)), skew);
        x = wfl_mat_value(&l, g, wf_sub(skew, v));
    }
    wf_array *all = wfl_mat_sum(&l, wfl_mat_product(&l, q, x), 1, up.at[0]);
    wfl_mat_give(&l, grads.at[0], wfl_mat_turned(&l, solution(&l, r, wfl_mat_turned(&l, all)))); /* all R^-H */
    return wfl_mat_end(&l);
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
    return run_into(&j, qr, qr_back, a, (wf_array * *[]){ q, r }, 2);
}
