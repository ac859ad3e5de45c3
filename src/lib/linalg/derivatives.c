/* derivatives.c - derivatives of the functions of arrays of matrices on tapes. X^H is the conjugate transpose of X, _X the
 * derivative of the loss by X, and <X, Y> the real part of the sum of conj(X) Y, so that a change dX changes the loss by <_X, dX>.
 * Each function below turns <_X, dX> of its results into <_A, dA> of its operands.
 * Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
 * differentiation" (2008), with complex matrices besides.
 */
#include "matrices.h"
#include "weft/derivative.h"
#include "weft/linalg.h"

enum { MOST_MADE = 64 };

typedef struct algebra { /* a computation: after a failure its functions return NULL */
    wf_context *ctx;
    const char *function;
    wf_array *made[MOST_MADE]; /* its results, released in the end */
    int n;
    bool failed;
} algebra;

static algebra begin(wf_arrays in, const char *function)
{
    return (algebra){ .ctx = wf_array_context(in.at[0]), .function = function };
}

static wf_status end(algebra *l)
{
    while (l->n > 0)
        wf_release(l->made[--l->n]);
    return l->failed ? wfl_array_error(l->ctx) : WF_OK;
}

static wf_array *made(algebra *l, wf_array *x)
{
    if (!x || l->n == MOST_MADE) {
        l->failed = true;
        wf_release(x);
        return NULL;
    }
    return l->made[l->n++] = x;
}

static wf_graph *graph(const algebra *l) { return wfl_begin(l->ctx, l->function); }
static wf_array *value(algebra *l, wf_graph *g, wf_val v) { return made(l, wfl_array_run(g, wf_keep(v))); }

static bool is_complex(const wf_array *x) { return wfl_is_complex_dtype(wf_array_dtype(x)); }

/* ---- matrices ---- */
/* x^H. */
static wf_array *turned(algebra *l, wf_array *x)
{
    int axes[WF_MAX_RANK];
    if (l->failed)
        return NULL;
    const int rank = wf_array_shape(x).rank;
    for (int d = 0; d < rank; ++d)
        axes[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    wf_array *view = made(l, wf_view_permute(x, axes));
    if (!view || !is_complex(x))
        return view;
    wf_graph *g = graph(l);
    return value(l, g, wf_conj(wf_in(g, view)));
}

static wf_array *product(algebra *l, wf_array *x, wf_array *y)
{
    return l->failed ? NULL : made(l, wf_array_matmul(x, y));
}

static wf_array *solution(algebra *l, wf_array *a, wf_array *b) { return l->failed ? NULL : made(l, wf_solve(a, b)); }

/* x + factor y; y may be real beside a complex x. */
static wf_array *sum(algebra *l, wf_array *x, double factor, wf_array *y)
{
    if (l->failed)
        return NULL;
    wf_graph *g = graph(l);
    return value(l, g, wf_add(wf_in(g, x), wf_mul(wf_in(g, y), wf_const(g, wf_dtype_part(wf_array_dtype(y)), factor))));
}

/* The places of matrices: where rows are below columns, and where they are equal. */
static wf_val below(wf_graph *g, const wf_array *x)
{
    wf_shape s = wf_array_shape(x);
    return wf_gt(wf_iota(g, s, s.rank - 2), wf_iota(g, s, s.rank - 1));
}

static wf_val diagonal(wf_graph *g, const wf_array *x)
{
    wf_shape s = wf_array_shape(x);
    return wf_eq(wf_iota(g, s, s.rank - 2), wf_iota(g, s, s.rank - 1));
}

/* The lower triangles of values that have the shape and dtype of x, with half of the diagonals. */
static wf_val lower_half(wf_graph *g, const wf_array *x, wf_val v)
{
    const wf_dtype dtype = wf_array_dtype(x);
    wf_val half = wf_mul(v, wf_const(g, wf_dtype_part(dtype), 0.5));
    return wf_select(below(g, x), v, wf_select(diagonal(g, x), half, wf_const(g, dtype, 0)));
}

/* A vector [..., n] as [..., n, 1] for `rows`, else as [..., 1, n]: factors of the rows or the columns of matrices. */
static wf_val beside(wf_graph *g, const wf_array *x, bool rows)
{
    wf_shape s = wf_array_shape(x);
    const int64_t n = s.dim[s.rank - 1];
    s.dim[s.rank - 1] = rows ? n : 1;
    s.dim[s.rank++] = rows ? 1 : n;
    return wf_reshape(wf_in(g, x), s);
}

/* The part of a derivative by a Hermitian matrix, of which functions read the lower triangle, that belongs to this triangle. */
static wf_array *lower_part(algebra *l, wf_array *x)
{
    wf_array *y = turned(l, x);
    if (l->failed)
        return NULL;
    wf_graph *g = graph(l);
    return value(l, g, lower_half(g, x, wf_add(wf_in(g, x), wf_in(g, y))));
}

/* Adds to a derivative that is wanted: x summed over the batches of which the operand has one matrix, without the imaginary
 * part if the operand is real. */
static void give(algebra *l, wf_array *grad, wf_array *x)
{
    if (!grad || l->failed)
        return;
    wf_shape to = wf_array_shape(grad), from = wf_array_shape(x);
    const int more = from.rank - to.rank;
    wf_axes repeated = 0;
    for (int d = 0; d < from.rank; ++d)
        repeated |= d < more || (to.dim[d - more] == 1 && from.dim[d] != 1) ? 1u << d : 0;
    wf_graph *g = graph(l);
    wf_val v = wf_in(g, x);
    if (is_complex(x) && !is_complex(grad))
        v = wf_real(v);
    if (repeated)
        v = wf_reduce(WF_JOIN_ADD, v, repeated);
    wf_out(g, grad, wf_cast(wf_reshape(v, to), wf_array_dtype(grad)));
    l->failed = wf_run(g) != WF_OK;
}

static bool any_empty(wf_arrays x)
{
    for (size_t i = 0; i < x.n; ++i)
        if (x.at[i] && !wf_array_count(x.at[i]))
            return true;
    return false;
}

/* ---- rules ---- */
/* X = A^-1 B: dX = A^-1 (dB - dA X). Without b, B is the identity. */
wf_status wfl_solve_vjp(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || any_empty(out))
        return WF_OK;
    algebra l = begin(in, "wf_solve");
    wf_array *by_b = solution(&l, turned(&l, in.at[0]), up.at[0]);
    if (in.n > 1)
        give(&l, grads.at[1], by_b);
    if (grads.at[0]) {
        wf_array *by_a = product(&l, by_b, turned(&l, out.at[0]));
        wf_graph *g = l.failed ? NULL : graph(&l);
        give(&l, grads.at[0], g ? value(&l, g, wf_neg(wf_in(g, by_a))) : NULL);
    }
    return end(&l);
}

/* A = L L^H: L^-1 dL is P(L^-1 dA L^-H), where P takes the lower triangle and half of the diagonal. */
wf_status wfl_cholesky_vjp(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    algebra l = begin(in, "wf_cholesky");
    wf_array *t = turned(&l, out.at[0]), *x = product(&l, t, up.at[0]), *part = NULL;
    if (!l.failed) {
        wf_graph *g = graph(&l);
        part = value(&l, g, lower_half(g, x, wf_in(g, x)));
    }
    wf_array *left = solution(&l, t, part);                         /* L^-H S */
    wf_array *both = turned(&l, solution(&l, t, turned(&l, left))); /* L^-H S L^-1 */
    give(&l, grads.at[0], lower_part(&l, both));
    return end(&l);
}

/* A V = V diag(w): dw is the diagonal of V^H dA V, and V^H dV is F V^H dA V, element by element, where F has 1 / (w_j - w_i)
 * beside its diagonal of 0, and 0 for equal eigenvalues, of which the vectors are arbitrary. */
wf_status wfl_eigh_vjp(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    algebra l = begin(in, "wf_eigh");
    wf_array *w = out.at[0], *v = out.n > 1 ? out.at[1] : NULL, *x = NULL;
    if (!v) {
        wf_array *again = NULL;
        l.failed = wf_eigh(in.at[0], &again, &v) != WF_OK;
        if (!l.failed) {
            w = made(&l, again);
            v = made(&l, v);
        }
    }
    wf_array *t = l.failed ? NULL : turned(&l, v), *c = out.n > 1 ? product(&l, t, up.at[1]) : NULL;
    if (!l.failed) {
        wf_graph *g = graph(&l);
        const wf_dtype part = wf_array_dtype(w);
        wf_val zero = wf_const(g, part, 0), on = beside(g, up.at[0], true);
        wf_val all = wf_select(diagonal(g, v), on, zero);
        if (c) {
            wf_val apart = wf_sub(beside(g, w, false), beside(g, w, true)), equal = wf_eq(apart, zero);
            wf_val f =
                wf_select(equal, zero, wf_div(wf_const(g, part, 1), wf_select(equal, wf_const(g, part, 1), apart)));
            all = wf_add(wf_mul(wf_in(g, c), f), all);
        }
        x = value(&l, g, wf_cast(all, wf_array_dtype(v)));
    }
    give(&l, grads.at[0], lower_part(&l, product(&l, product(&l, v, x), t)));
    return end(&l);
}

/* x - u u^H x: the part of the columns of x that is orthogonal to those of u. */
static wf_array *orthogonal(algebra *l, wf_array *u, wf_array *x)
{
    return sum(l, x, -1, product(l, u, product(l, turned(l, u), x)));
}

/* The part of _A = U x V^H that comes from <_U, dU>, or <_V, dV>, within the space of U and V: F (c - c^H), element by element,
 * where F has 1 / (s_j^2 - s_i^2) beside its diagonal of 0, and 0 for equal singular values; times s of columns or of rows. */
static wf_array *rotation(algebra *l, wf_array *s, wf_array *c, bool columns)
{
    wf_array *t = turned(l, c);
    if (l->failed)
        return NULL;
    wf_graph *g = graph(l);
    const wf_dtype part = wf_array_dtype(s);
    wf_val i = beside(g, s, true), j = beside(g, s, false), zero = wf_const(g, part, 0), one = wf_const(g, part, 1);
    wf_val apart = wf_mul(wf_sub(j, i), wf_add(j, i)), equal = wf_eq(apart, zero);
    wf_val f = wf_mul(wf_select(equal, zero, wf_div(one, wf_select(equal, one, apart))), columns ? j : i);
    return value(l, g, wf_mul(wf_sub(wf_in(g, c), wf_in(g, t)), f));
}

/* x with its columns divided by s. */
static wf_array *divided(algebra *l, wf_array *x, wf_array *s)
{
    if (l->failed)
        return NULL;
    wf_graph *g = graph(l);
    return value(l, g, wf_mul(wf_in(g, x), wf_div(wf_const(g, wf_array_dtype(s), 1), beside(g, s, false))));
}

/* A = U diag(s) V^H. Of complex matrices, a pair of columns of U and V has an arbitrary phase, of which a loss must not
 * depend; V takes it here, and U has the imaginary part of the diagonal of U^H dA V. */
wf_status wfl_svd_vjp(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    algebra l = begin(in, "wf_svd");
    const bool vectors = out.n > 1;
    wf_array *u = out.at[0], *s = vectors ? out.at[1] : out.at[0], *vh = vectors ? out.at[2] : NULL;
    wf_array *by_s = vectors ? up.at[1] : up.at[0], *inner = NULL, *all = NULL;
    if (!vectors) {
        wf_array *again = NULL;
        l.failed = wf_svd(in.at[0], &u, &again, &vh) != WF_OK;
        if (!l.failed) {
            s = made(&l, again);
            u = made(&l, u);
            vh = made(&l, vh);
        }
    }
    wf_array *v = l.failed ? NULL : turned(&l, vh), *by_v = vectors && v ? turned(&l, up.at[2]) : NULL;
    wf_array *uu = vectors && v ? product(&l, turned(&l, u), up.at[0]) : NULL;
    if (!l.failed) {
        wf_graph *g = graph(&l);
        const wf_dtype part = wf_array_dtype(s);
        wf_shape square = wf_array_shape(s);
        square.dim[square.rank] = square.dim[square.rank - 1];
        square.rank++;
        wf_val on = wf_eq(wf_iota(g, square, square.rank - 2), wf_iota(g, square, square.rank - 1));
        wf_val zero = wf_const(g, part, 0), d = wf_select(on, beside(g, by_s, true), zero);
        if (is_complex(u)) {
            wf_val phase = uu ? wf_select(on, wf_div(wf_imag(wf_in(g, uu)), beside(g, s, true)), zero) : zero;
            d = wf_complex(d, wf_add(phase, wf_mul(d, zero)));
        }
        inner = value(&l, g, d);
    }
    if (vectors && !l.failed) {
        inner = sum(&l, inner, 1, rotation(&l, s, uu, true));
        inner = sum(&l, inner, 1, rotation(&l, s, product(&l, vh, by_v), false));
    }
    all = product(&l, product(&l, u, inner), vh);
    if (vectors && !l.failed) {
        wf_array *left = divided(&l, orthogonal(&l, u, up.at[0]), s), *right = divided(&l, orthogonal(&l, v, by_v), s);
        all = sum(&l, all, 1, product(&l, left, vh));
        all = sum(&l, all, 1, product(&l, u, turned(&l, right)));
    }
    give(&l, grads.at[0], all);
    return end(&l);
}

/* The logarithm of |det A| changes by the real part of the trace of A^-1 dA, the phase of det A by the imaginary one. */
wf_status wfl_slogdet_vjp(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    algebra l = begin(in, "wf_slogdet");
    wf_array *t = turned(&l, made(&l, wf_solve(in.at[0], NULL))), *x = NULL;
    if (!l.failed) {
        wf_graph *g = graph(&l);
        wf_shape s = wf_array_shape(out.at[1]);
        s.dim[s.rank++] = 1;
        s.dim[s.rank++] = 1;
        wf_val factor = wf_in(g, up.at[1]);
        if (is_complex(out.at[0]))
            factor = wf_complex(factor, wf_neg(wf_imag(wf_mul(wf_conj(wf_in(g, up.at[0])), wf_in(g, out.at[0])))));
        x = value(&l, g, wf_mul(wf_in(g, t), wf_reshape(factor, s)));
    }
    give(&l, grads.at[0], x);
    return end(&l);
}

/* A = Q R with the columns of Q, as many as R has: with C = Q^H dA R^-1, Q^H dQ is the strictly lower triangle of C without its
 * conjugate transpose, and the imaginary part of its diagonal, as that of R is real; dR R^-1 is the rest of C. */
wf_status wfl_qr_vjp(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    (void)user;
    if (any_empty(in) || !grads.at[0])
        return WF_OK;
    algebra l = begin(in, "wf_qr");
    wf_array *q = out.at[0], *r = out.at[1];
    wf_shape s = wf_array_shape(r);
    if (s.dim[s.rank - 2] != s.dim[s.rank - 1])
        return wfl_array_fail(
            l.ctx, WF_ERR_UNSUPPORTED,
            "wf_qr: the derivative needs a square `r`: at least as many rows as columns, and not `complete`");
    wf_array *w = sum(&l, product(&l, turned(&l, q), up.at[0]), -1, product(&l, up.at[1], turned(&l, r)));
    wf_array *t = turned(&l, w), *x = NULL;
    if (!l.failed) {
        wf_graph *g = graph(&l);
        wf_val v = wf_in(g, w), zero = wf_const(g, wf_dtype_part(wf_array_dtype(w)), 0);
        wf_val skew = wf_select(below(g, w), wf_sub(v, wf_in(g, t)), wf_const(g, wf_array_dtype(w), 0));
        if (is_complex(w))
            skew = wf_select(diagonal(g, w), wf_complex(zero, wf_imag(v)), skew);
        x = value(&l, g, wf_sub(skew, v));
    }
    wf_array *all = sum(&l, product(&l, q, x), 1, up.at[0]);
    give(&l, grads.at[0], turned(&l, solution(&l, r, turned(&l, all)))); /* all R^-H */
    return end(&l);
}

/* X = P B with the pseudo-inverse P of A, of a rank that stays: dX = P dB - P dA X + P P^H dA^H (B - A X) +
 * (1 - P A) dA^H P^H X. The third operand has the tolerance. */
wf_status wfl_lstsq_vjp(void *user, wf_arrays in, wf_arrays out, wf_arrays up, wf_arrays grads)
{
    double tolerance = 0;
    (void)user;
    if (any_empty(in) || any_empty(out))
        return WF_OK;
    algebra l = begin(in, "wf_lstsq");
    l.failed = wf_download(in.at[2], &tolerance, sizeof tolerance) != WF_OK;
    wf_array *x = out.at[0], *one = NULL;
    wf_array *a = l.failed ? NULL : made(&l, wf_array_cast(in.at[0], wf_array_dtype(x)));
    wf_array *b = l.failed ? NULL : made(&l, wf_array_cast(in.at[1], wf_array_dtype(x)));
    if (!l.failed) {
        const int64_t m = wf_array_shape(a).dim[wf_array_shape(a).rank - 2];
        wf_graph *g = graph(&l);
        wf_val equal = wf_eq(wf_iota(g, WF_SHAPE(m, m), 0), wf_iota(g, WF_SHAPE(m, m), 1));
        one = value(&l, g, wf_cast(equal, wf_array_dtype(x)));
    }
    wf_array *p = l.failed ? NULL : made(&l, wf_lstsq(a, one, tolerance)), *t = p ? turned(&l, p) : NULL;
    wf_array *by_b = product(&l, t, up.at[0]);
    give(&l, grads.at[1], by_b);
    if (grads.at[0]) {
        wf_array *rest = l.failed ? NULL : sum(&l, b, -1, product(&l, a, x));
        wf_array *first = product(&l, rest, turned(&l, product(&l, p, by_b)));
        wf_array *second = product(&l, by_b, turned(&l, x));
        wf_array *part = l.failed ? NULL : sum(&l, up.at[0], -1, product(&l, p, product(&l, a, up.at[0])));
        wf_array *third = product(&l, product(&l, t, x), l.failed ? NULL : turned(&l, part));
        give(&l, grads.at[0], sum(&l, sum(&l, first, -1, second), 1, third));
    }
    return end(&l);
}
