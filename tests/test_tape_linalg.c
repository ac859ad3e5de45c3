/* test_tape_linalg.c - derivatives of the functions of arrays of matrices on tapes, beside differences.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "tape_linear.h"
#include "weft/linalg.h"

/* ---- what makes results of which derivatives are unique ---- */
static wf_array *turned(const wf_array *x) /* x^H; consumes nothing */
{
    wf_graph *g = wf_begin(ctx);
    const int rank = wf_array_shape(x).rank, axes[2][3] = { { 1, 0 }, { 0, 2, 1 } };
    wf_val v = wf_permute(wf_in(g, (wf_array *)x), axes[rank - 2]);
    wf_array *out = wf_keep(wf_dtype_kind(wf_array_dtype(x)) == WF_KIND_COMPLEX ? wf_conj(v) : v);
    OK(ctx, wf_run(g));
    return out;
}

/* Columns of v times exp(w / 4). */
static wf_array *scaled(const wf_array *v, const wf_array *w)
{
    wf_graph *g = wf_begin(ctx);
    wf_shape s = wf_array_shape(w);
    s.dim[s.rank] = s.dim[s.rank - 1];
    s.dim[s.rank++ - 1] = 1;
    wf_array *out =
        wf_keep(wf_mul(wf_in(g, (wf_array *)v), wf_exp(wf_mul(0.25, wf_reshape(wf_in(g, (wf_array *)w), s)))));
    OK(ctx, wf_run(g));
    return out;
}

static wf_array *rebuilt(const wf_array *u, const wf_array *w, const wf_array *vh)
{
    wf_array *left = scaled(u, w), *out = wf_array_matmul(left, vh);
    RELEASE(left);
    return out;
}

/* x x^H + 1, which is positive definite. */
static wf_array *positive(const wf_array *x)
{
    wf_array *t = turned(x), *p = wf_array_matmul(x, t);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, p);
    wf_shape s = wf_array_shape(p);
    wf_array *out =
        wf_keep(wf_add(v, wf_cast(wf_eq(wf_iota(g, s, s.rank - 1), wf_iota(g, s, s.rank - 2)), wf_array_dtype(p))));
    OK(ctx, wf_run(g));
    RELEASE(t, p);
    return out;
}

/* Rows from `from` to `to` of the last two axes. */
static wf_array *rows(const wf_array *x, int64_t from, int64_t to)
{
    wf_array *view = wf_view_slice((wf_array *)x, wf_array_shape(x).rank - 2, from, to, 1), *out = wf_array_copy(view);
    RELEASE(view);
    return out;
}

/* ---- functions ---- */
static wf_array *inverse(const wf_array *x) { return wf_solve(x, NULL); }

static wf_array *
solution(const wf_array *x) /* [2, 5, 3]: the first three rows are a, the others b of several columns */
{
    wf_array *a = rows(x, 0, 3), *b = rows(x, 2, 5), *y = wf_solve(a, b);
    RELEASE(a, b);
    return y;
}

static wf_array *solution_of_one(const wf_array *x) /* one a for all b */
{
    wf_array *a = wf_view_at((wf_array *)x, 0, 1), *y = wf_solve(a, x);
    RELEASE(a);
    return y;
}

static wf_array *cholesky(const wf_array *x)
{
    wf_array *p = positive(x), *y = wf_cholesky(p);
    RELEASE(p);
    return y;
}

static wf_array *eigenvalues(const wf_array *x) /* of the lower triangle */
{
    wf_array *w = NULL;
    OK(ctx, wf_eigh(x, &w, NULL));
    return w;
}

static wf_array *eigenvectors(const wf_array *x)
{
    wf_array *w = NULL, *v = NULL;
    OK(ctx, wf_eigh(x, &w, &v));
    wf_array *t = turned(v), *y = rebuilt(v, w, t);
    RELEASE(w, v, t);
    return y;
}

static wf_array *singular_values(const wf_array *x)
{
    wf_array *s = NULL;
    OK(ctx, wf_svd(x, NULL, &s, NULL));
    return s;
}

static wf_array *singular_vectors(const wf_array *x)
{
    wf_array *u = NULL, *s = NULL, *vh = NULL;
    OK(ctx, wf_svd(x, &u, &s, &vh));
    wf_array *y = rebuilt(u, s, vh);
    RELEASE(u, s, vh);
    return y;
}

static wf_array *logarithm(const wf_array *x)
{
    wf_array *sign = NULL, *y = NULL;
    OK(ctx, wf_slogdet(x, &sign, &y));
    RELEASE(sign);
    return y;
}

static wf_array *determinant(const wf_array *x)
{
    wf_array *sign = NULL, *y = NULL;
    OK(ctx, wf_slogdet(x, &sign, &y));
    wf_graph *g = wf_begin(ctx);
    wf_array *out = wf_keep(wf_mul(wf_in(g, sign), wf_exp(wf_in(g, y))));
    OK(ctx, wf_run(g));
    RELEASE(sign, y);
    return out;
}

static wf_array *orthonormal(const wf_array *x)
{
    wf_array *q = NULL, *r = NULL;
    OK(ctx, wf_qr(x, false, &q, &r));
    RELEASE(r);
    return q;
}

static wf_array *triangle(const wf_array *x)
{
    wf_array *q = NULL, *r = NULL;
    OK(ctx, wf_qr(x, false, &q, &r));
    RELEASE(q);
    return r;
}

static wf_array *nearest(const wf_array *x) /* [2, 5, 3] by the columns of [2, 5, 3] */
{
    wf_array *s = singular_values(x), *b = scaled(x, s), *y = wf_lstsq(x, b, 0);
    RELEASE(s, b);
    return y;
}

static wf_array *shortest(const wf_array *x) /* fewer equations than unknowns */
{
    wf_array *t = turned(x), *b = rows(x, 0, 3), *y = wf_lstsq(t, b, 0);
    RELEASE(t, b);
    return y;
}

static const struct {
    const char *name;
    wf_array *(*of)(const wf_array *x);
    int64_t rows;
    bool lapack; /* also for few real rows */
} cases[] = {
    { "inverse", inverse, 3, false },
    { "solution", solution, 5, false },
    { "solution of one", solution_of_one, 3, false },
    { "cholesky", cholesky, 3, false },
    { "eigenvalues", eigenvalues, 3, false },
    { "eigenvectors", eigenvectors, 3, false },
    { "singular values", singular_values, 5, true },
    { "singular values of wide ones", singular_values, 2, true },
    { "singular vectors", singular_vectors, 5, true },
    { "singular vectors of wide ones", singular_vectors, 2, true },
    { "singular vectors of square ones", singular_vectors, 3, true },
    { "logarithm", logarithm, 3, true },
    { "determinant", determinant, 3, true },
    { "orthonormal", orthonormal, 5, true },
    { "triangle", triangle, 5, true },
    { "nearest", nearest, 5, true },
    { "shortest", shortest, 5, true },
};

static bool has_lapack(void)
{
    wf_array *a = wf_full(ctx, WF_C64, WF_SHAPE(1, 1), 1), *l = wf_cholesky(a);
    const bool found = l != NULL;
    if (!found)
        print_message("no LAPACK: %s\n", wf_last_message(ctx));
    wf_clear_error(ctx);
    wf_release(a);
    wf_release(l);
    return found;
}

/* Compares the derivative by each number of [2, rows, 3] with a difference. */
static void check(size_t k, bool complex_numbers)
{
    const function f = { cases[k].name, cases[k].of, WF_SHAPE(2, cases[k].rows, 3), complex_numbers };
    const int n = numbers_in(&f);
    double number[MOST_NUMBERS], step = 1e-6;
    uint64_t seed = 5;
    for (int i = 0; i < n; ++i)
        number[i] = test_random_number(&seed);
    wf_array *x = argument_of(&f, WF_F64, number);
    double *got = derivatives_at(&f, x);
    RELEASE(x);
    for (int i = 0; i < n; ++i) {
        double loss[2];
        for (int side = 0; side < 2; ++side) {
            const double before = number[i];
            number[i] += side ? step : -step;
            x = argument_of(&f, WF_F64, number);
            number[i] = before;
            loss[side] = loss_number(&f, x);
            RELEASE(x);
        }
        const double want = (loss[1] - loss[0]) / (2 * step);
        if (!(fabs(got[i] - want) <= 2e-6 * (1 + fabs(want))))
            fail_msg("%s: the derivative by number %d is %.12g, and the difference %.12g", f.name, i, got[i], want);
    }
    free(got);
}

static void differences(void **state)
{
    const bool found = has_lapack();
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k)
        for (int c = 0; c < 2; ++c)
            if (found || !(cases[k].lapack || c))
                check(k, c);
}

/* Results without derivatives, and what rules refuse. */
static void refusals(void **state)
{
    (void)state;
    if (!has_lapack())
        skip();
    wf_array *x = wf_full(ctx, WF_F64, WF_SHAPE(2, 3), 1), *grad = wf_like(x), *q = NULL, *r = NULL;
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_qr(x, false, &q, &r));
    wf_array *loss = loss_of(r);
    assert_int_equal(wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_UNSUPPORTED);
    assert_string_equal(
        wf_last_message(ctx),
        "wf_qr: the derivative needs a square `r`: at least as many rows as columns, and not `complete`");
    wf_clear_error(ctx);
    wf_tape_free(tape);
    RELEASE(x, grad, q, r, loss);

    x = wf_full(ctx, WF_F64, WF_SHAPE(2, 3, 3), 0); /* no results, so the tape has an error */
    tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    assert_null(wf_solve(x, NULL));
    assert_string_equal(wf_last_message(ctx), "wf_solve: matrix [0] of `a` is singular");
    wf_clear_error(ctx);
    wf_tape_free(tape);
    RELEASE(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(differences), cmocka_unit_test(refusals) };
    return RUN_ON_ALL(tests);
}
