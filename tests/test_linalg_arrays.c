/* test_linalg_arrays.c - decompositions of arrays of matrices beside NumPy and by their definitions, by the functions of
 * values and by a LAPACK, where one is found; batches, layouts, dtypes, and messages that name the matrix.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/linalg.h"
#include <complex.h>

static const wf_dtype dtypes[] = { WF_F32, WF_F64, WF_C64, WF_C128 };
static double slack(wf_dtype t) { return t == WF_F32 || t == WF_C64 ? 3e-5 : 1e-12; }
static bool is_complex(wf_dtype t) { return t == WF_C64 || t == WF_C128; }

/* Element (i, j) is sin(1 + 3 i + 5 j + i j), of complex ones with the imaginary part cos of that. */
static double complex plain(wf_dtype t, int64_t i, int64_t j)
{
    double x = sin((double)(1 + 3 * i + 5 * j + i * j));
    return is_complex(t) ? x + I * cos(x) : x;
}

/* Returns [batch, m, n]; matrix b has rows and columns from b on. */
static wf_array *matrices(wf_dtype t, int64_t batch, int64_t m, int64_t n)
{
    double complex *x = malloc((size_t)(batch * m * n) * sizeof *x);
    for (int64_t i = 0; i < batch * m * n; ++i)
        x[i] = plain(t, i / n % m + i / (m * n), i % n + i / (m * n));
    wf_array *wide = array_of(ctx, WF_C128, WF_SHAPE(batch, m, n), x), *a;
    free(x);
    if (is_complex(t))
        a = wf_array_cast(wide, t);
    else {
        wf_graph *g = wf_begin(ctx);
        a = wf_keep(wf_cast(wf_real(wf_in(g, wide)), t));
        OK(ctx, wf_run(g));
    }
    wf_release(wide);
    return a;
}

static wf_array *turned(const wf_array *a, bool conjugate) /* the Hermitian transposed matrices */
{
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_permute(wf_in(g, a), (const int[]){ 0, 2, 1 });
    wf_array *out = wf_keep(conjugate ? wf_conj(v) : v);
    OK(ctx, wf_run(g));
    return out;
}

/* Consumes both. */
static wf_array *product(wf_array *a, wf_array *b)
{
    wf_array *c = wf_array_matmul(a, b);
    assert_non_null(c);
    wf_release(a);
    wf_release(b);
    return c;
}

/* Checks that both are equal; consumes both. */
static void same(wf_array *a, wf_array *b, double most)
{
    bool close = false;
    assert_true(a && b);
    OK(ctx, wf_array_all_close(a, b, most, most, false, &close));
    if (!close) {
        double complex *x = contents_as(a, WF_C128), *y = contents_as(b, WF_C128);
        for (int64_t i = 0; i < wf_array_count(a) && i < 30; ++i)
            print_error("%lld: %g%+gi %g%+gi\n", (long long)i, creal(x[i]), cimag(x[i]), creal(y[i]), cimag(y[i]));
        fail();
    }
    wf_release(a);
    wf_release(b);
}

static void numbers(wf_array *a, const double *want, int64_t n, double most)
{
    assert_non_null(a);
    double *x = contents_as(a, WF_F64);
    assert_int_equal(wf_array_count(a), n);
    for (int64_t i = 0; i < n; ++i) {
        if (!(fabs(x[i] - want[i]) <= most))
            print_error("element %lld is %.17g, not %.17g\n", (long long)i, x[i], want[i]);
        assert_true(fabs(x[i] - want[i]) <= most);
    }
    free(x);
    wf_release(a);
}

/* Leaves the test, with a word, where there is no LAPACK. */
static void need_lapack(void)
{
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(1, 1), 1), *u, *s, *vh;
    wf_status status = wf_svd(a, &u, &s, &vh);
    wf_release(a);
    if (status == WF_ERR_UNSUPPORTED) {
        print_message("no LAPACK: %s\n", wf_last_message(ctx));
        wf_clear_error(ctx);
        skip();
    }
    OK(ctx, status);
    wf_array *all[] = { u, s, vh };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
}

/* a a^H + 0.5 */
static wf_array *positive(wf_dtype t, int64_t batch, int64_t n)
{
    wf_array *a = matrices(t, batch, n, n), *square = product(a, turned(a, is_complex(t)));
    wf_graph *g = wf_begin(ctx);
    double *eye = calloc((size_t)(n * n), sizeof *eye);
    for (int64_t i = 0; i < n; ++i)
        eye[i * (n + 1)] = 0.5;
    wf_array *more = array_of(ctx, WF_F64, WF_SHAPE(n, n), eye), *narrow = wf_array_cast(more, t);
    free(eye);
    wf_array *sum = wf_keep(wf_add(wf_in(g, square), wf_in(g, narrow)));
    OK(ctx, wf_run(g));
    wf_array *all[] = { square, more, narrow };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    return sum;
}

/* a x = b for sizes of both ways, and 1 to many columns. */
static void check_solve(int64_t n)
{
    static const int64_t columns[] = { 1, 2, 6, 7 };
    for (int i = 0; i < 4; ++i)
        for (int c = 0; c < 4; ++c) {
            wf_dtype t = dtypes[i];
            if (is_complex(t) && n <= WF_MAT_MOST)
                continue;
            wf_array *a = positive(t, 2, n), *b = matrices(t, 2, n, columns[c]), *x = wf_solve(a, b);
            if (!x)
                print_error("%s\n", wf_last_message(ctx));
            assert_int_equal(wf_array_dtype(x), t);
            same(product(a, x), b, 20 * slack(t));
        }
}

/* The upper triangle has other numbers, which change no result. */
static void check_triangle(wf_dtype t, int64_t n)
{
    wf_array *a = positive(t, 2, n), *other = matrices(t, 2, n, n), *lower = wf_like(a), *v[2], *w[2];
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2, n, n));
    wf_out(g, lower, wf_select(wf_ge(wf_index(g, 1), wf_index(g, 2)), wf_in(g, a), wf_in(g, other)));
    OK(ctx, wf_run(g));
    same(wf_cholesky(lower), wf_cholesky(a), 0);
    OK(ctx, wf_eigh(a, &w[0], &v[0]));
    OK(ctx, wf_eigh(lower, &w[1], &v[1]));
    same(w[0], w[1], 0);
    same(v[0], v[1], 0);
    wf_array *all[] = { a, other, lower };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
}

static void test_small(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 6; ++n) {
        check_solve(n);
        check_triangle(WF_F64, n);
        for (int i = 0; i < 2; ++i) {
            wf_array *a = positive(dtypes[i], 3, n), *l = wf_cholesky(a), *w, *v;
            same(product(l, turned(l, false)), wf_retain(a), 10 * slack(dtypes[i]));
            OK(ctx, wf_eigh(a, &w, &v));
            wf_graph *g = wf_begin(ctx);
            wf_array *scaled = wf_keep(wf_mul(wf_in(g, v), wf_reshape(wf_in(g, w), WF_SHAPE(3, 1, n))));
            OK(ctx, wf_run(g));
            same(product(scaled, turned(v, false)), a, 10 * slack(dtypes[i]));
            wf_release(v);
            wf_release(w);
        }
    }
}

/* numpy.linalg.solve, cholesky, eigvalsh, svd, lstsq. */
static void test_numpy(void **state)
{
    (void)state;
    need_lapack();
    static const double solved[] = {
        -0.32556298853816695, 1.9654619589834135,   -1.333020281830915,   0.03680769950799118, -0.0875380592583875,
        -0.29218084829927843, 0.01220520274370142,  -0.06454662987002882, 0.02365147100920245, -0.0716514156983039,
        -0.17573228699396093, -0.8182588554005656,  -0.5299371698719889,  1.4579358293773583,  -0.6705558328148837,
        0.20479476196392232,  -0.33111497731955203, -0.39109417151351383,
    };
    static const double last_row[] = { -0.03052774542483387, 0.4794315871665576,   -0.16532742512274998,
                                       0.2474769365570638,   -0.00713504977642468, -0.1064999973142977,
                                       -0.1964685638517148,  1.5227779458902093,   1.2217291253050118 };
    static const double singular[] = { 3.085541519743264,  3.0334573001420613, 2.610969044292331,  2.538179086821773,
                                       2.3674789496687074, 2.1027353787433114, 1.6324809237867492, 1.35897751950862 };
    static const double of_complex[] = { 8.124773174600517, 3.43519576550974,  2.945668604637033, 2.744177686607782,
                                         2.377759726035833, 1.903284515751585, 1.255887431071657, 0.9890230835595627 };
    static const double fitted[] = {
        0.05579166975871239,  0.00294055031412638,  -0.02446434861342614, -0.184618976514053,   -0.164114957834138,
        -0.05105310631569213, -0.07635677958054414, -0.05998748972657796, 0.01040025522496231,  -0.03223748790210072,
        -0.125830705506021,   -0.03255016219345853, 0.00313674441680309,  -0.11704711810972586,
    };
    static const double shortest[] = { 0.17634376403491997, -0.510477258143687,  -0.0590224578491228,
                                       0.13891044787254517, 0.02251656453596482, 0.20044211493050673,
                                       0.31231777418724443, -0.5861772238733094, -0.39773636988278427 };
    double right[40];
    for (int i = 0; i < 40; ++i)
        right[i] = cos(2 * (i / 2) + i % 2);
    for (int i = 0; i < 2; ++i) {
        wf_dtype t = dtypes[i];
        double most = slack(t);
        wf_array *wide = array_of(ctx, WF_F64, WF_SHAPE(20, 2), right), *b = wf_array_cast(wide, t), *s;
        wf_array *nine = wf_view_slice(b, 0, 0, 9, 1), *five = wf_view_slice(b, 0, 0, 5, 1);
        wf_array *one = wf_view_slice(five, 1, 0, 1, 1), *a = matrices(t, 1, 9, 9);
        numbers(wf_solve(a, nine), solved, 18, most);
        wf_release(a);
        a = positive(t, 1, 9);
        wf_array *l = wf_cholesky(a), *row = l ? wf_view_slice(l, 1, 8, 9, 1) : NULL;
        numbers(row, last_row, 9, most);
        wf_release(l);
        wf_release(a);
        a = matrices(t, 1, 8, 12);
        OK(ctx, wf_svd(a, NULL, &s, NULL));
        assert_int_equal(wf_array_dtype(s), t);
        numbers(s, singular, 8, most);
        wf_release(a);
        a = matrices(dtypes[i + 2], 1, 12, 8);
        OK(ctx, wf_svd(a, NULL, &s, NULL));
        assert_int_equal(wf_array_dtype(s), t);
        numbers(s, of_complex, 8, most);
        wf_release(a);
        a = matrices(t, 1, 20, 7);
        numbers(wf_lstsq(a, b, 0), fitted, 14, most);
        wf_release(a);
        a = matrices(t, 1, 5, 9);
        numbers(wf_lstsq(a, one, 0), shortest, 9, most);
        wf_array *all[] = { a, wide, b, nine, five, one };
        for (int k = 0; k < 6; ++k)
            wf_release(all[k]);
    }
}

/* Columns that depend on each other: numpy.linalg.lstsq. */
static void test_dependent(void **state)
{
    (void)state;
    need_lapack();
    static const double want[] = { 0.04542109663874763,  -0.03526287498884922, -0.16425441549591127,
                                   -0.07648026721459919, 0.01024672104992176,  -0.12580538397877444,
                                   0.01015822164989837 };
    double x[140], right[20];
    for (int i = 0; i < 20; ++i) {
        right[i] = cos(2 * i);
        for (int k = 0; k < 6; ++k)
            x[i * 7 + k] = creal(plain(WF_F64, i, k));
        x[i * 7 + 6] = x[i * 7] + x[i * 7 + 1];
    }
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(20, 7), x), *b = array_of(ctx, WF_F64, WF_SHAPE(20, 1), right);
    numbers(wf_lstsq(a, b, 0), want, 7, 1e-12);
    wf_array *rough = wf_lstsq(a, b, 0.9), *exact = wf_lstsq(a, b, 0); /* fewer singular values: a shorter x */
    double *p = contents(rough), *q = contents(exact), short_one = 0, long_one = 0;
    for (int i = 0; i < 7; ++i) {
        short_one += p[i] * p[i];
        long_one += q[i] * q[i];
    }
    assert_true(short_one < 0.9 * long_one);
    free(p);
    free(q);
    wf_array *all[] = { a, b, rough, exact };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static void check_vectors(wf_dtype t, int64_t n)
{
    wf_array *a = positive(t, 2, n), *w, *v;
    OK(ctx, wf_eigh(a, &w, &v));
    assert_true(wf_array_dtype(v) == t && !is_complex(wf_array_dtype(w)) && wf_array_shape(w).rank == 2);
    wf_graph *g = wf_begin(ctx);
    wf_array *scaled = wf_keep(wf_mul(wf_in(g, v), wf_reshape(wf_in(g, w), WF_SHAPE(2, 1, n))));
    OK(ctx, wf_run(g));
    same(product(wf_retain(a), wf_retain(v)), scaled, 30 * slack(t));
    double *values = contents_as(w, WF_F64);
    for (int64_t i = 0; i + 1 < 2 * n; ++i)
        assert_true(i % n == n - 1 || values[i] <= values[i + 1]);
    free(values);
    wf_array *alone;
    OK(ctx, wf_eigh(a, &alone, NULL));
    same(alone, w, 30 * slack(t));
    wf_array *l = wf_cholesky(a);
    same(product(l, turned(l, is_complex(t))), a, 30 * slack(t));
    wf_array *unit = product(turned(v, is_complex(t)), v), *eye = product(wf_retain(unit), wf_retain(unit));
    same(eye, unit, slack(t)); /* of idempotent matrices of full rank the identity alone */
}

static void check_singular(wf_dtype t, int64_t m, int64_t n)
{
    int64_t k = m < n ? m : n;
    wf_array *a = matrices(t, 2, m, n), *u, *s, *vh;
    OK(ctx, wf_svd(a, &u, &s, &vh));
    wf_shape us = wf_array_shape(u), vs = wf_array_shape(vh);
    assert_true(us.dim[1] == m && us.dim[2] == k && vs.dim[1] == k && vs.dim[2] == n);
    wf_graph *g = wf_begin(ctx);
    wf_array *scaled = wf_keep(wf_mul(wf_in(g, u), wf_reshape(wf_in(g, s), WF_SHAPE(2, 1, k))));
    OK(ctx, wf_run(g));
    same(product(scaled, vh), a, slack(t) * 3);
    wf_array *unit = product(turned(u, is_complex(t)), u), *square = product(wf_retain(unit), wf_retain(unit));
    same(square, unit, slack(t));
    wf_release(s);
}

/* q r is the matrix, columns of q are orthonormal, and r is a triangle. */
static void check_qr(wf_dtype t, int64_t m, int64_t n, bool complete)
{
    int64_t k = complete || m < n ? m : n;
    wf_array *a = matrices(t, 2, m, n), *q, *r;
    OK(ctx, wf_qr(a, complete, &q, &r));
    wf_shape qs = wf_array_shape(q), rs = wf_array_shape(r);
    assert_true(qs.dim[0] == 2 && qs.dim[1] == m && qs.dim[2] == k && rs.dim[1] == k && rs.dim[2] == n);
    assert_true(wf_array_dtype(q) == t && wf_array_dtype(r) == t);
    double complex *x = contents_as(r, WF_C128);
    for (int64_t i = 0; i < 2 * k * n; ++i)
        assert_true(i / n % k <= i % n || cabs(x[i]) == 0);
    free(x);
    same(product(wf_retain(q), r), a, slack(t) * 3);
    wf_array *unit = product(turned(q, is_complex(t)), q);
    double complex *one = contents_as(unit, WF_C128);
    for (int64_t i = 0; i < 2 * k * k; ++i)
        assert_true(cabs(one[i] - (i / k % k == i % k)) < slack(t) * 3);
    free(one);
    wf_release(unit);
}

/* The determinant of a triangle is the product of its diagonal; that of one with exchanged rows has the other sign. */
static void check_determinants(wf_dtype t, int64_t n)
{
    wf_array *square = positive(t, 2, n), *l = wf_cholesky(square), *sign, *log_of;
    wf_release(square);
    assert_non_null(l);
    OK(ctx, wf_slogdet(l, &sign, &log_of));
    assert_true(wf_array_shape(sign).rank == 1 && wf_array_dtype(sign) == t);
    assert_int_equal(wf_array_dtype(log_of), wf_dtype_part(t));
    double complex *x = contents_as(l, WF_C128), *s = contents_as(sign, WF_C128);
    double *found = contents_as(log_of, WF_F64);
    for (int64_t b = 0; b < 2; ++b) {
        double want = 0;
        for (int64_t i = 0; i < n; ++i)
            want += log(cabs(x[(b * n + i) * n + i]));
        assert_true(fabs(found[b] - want) <= slack(t) * (1 + fabs(want)) && cabs(s[b] - 1) < slack(t));
    }
    wf_array *flipped = wf_view_slice(l, 1, n - 1, WF_END_INDEX, -1), *other, *log_of_other;
    assert_non_null(flipped);
    OK(ctx, wf_slogdet(flipped, &other, &log_of_other));
    double complex *o = contents_as(other, WF_C128);
    assert_true(cabs(o[0] - (n / 2 % 2 ? -1 : 1)) < slack(t));
    same(log_of, log_of_other, slack(t) * 10);
    free(o);
    free(x);
    free(s);
    free(found);
    wf_array *all[] = { l, sign, flipped, other };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

/* A singular matrix has the sign 0; matrices of no rows have the determinant 1. */
static void test_singular(void **state)
{
    (void)state;
    need_lapack();
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(2, 9, 9), 1), *none = wf_empty(ctx, WF_F32, WF_SHAPE(3, 0, 0)), *s, *l;
    OK(ctx, wf_slogdet(a, &s, &l));
    double *x = contents_as(l, WF_F64);
    assert_true(x[0] == -INFINITY && x[1] == -INFINITY);
    free(x);
    numbers(s, (const double[]){ 0, 0 }, 2, 0);
    wf_release(l);
    OK(ctx, wf_slogdet(none, &s, &l));
    numbers(l, (const double[]){ 0, 0, 0 }, 3, 0);
    numbers(s, (const double[]){ 1, 1, 1 }, 3, 0);
    wf_array *empty = wf_empty(ctx, WF_F32, WF_SHAPE(2, 3, 0)), *q, *r;
    OK(ctx, wf_qr(empty, true, &q, &r));
    numbers(q, (const double[]){ 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1 }, 18, 0);
    assert_int_equal(wf_array_count(r), 0);
    wf_release(r);
    OK(ctx, wf_qr(empty, false, &q, &r));
    assert_true(wf_array_count(q) == 0 && wf_array_shape(q).dim[1] == 3 && wf_array_count(r) == 0);
    wf_array *all[] = { a, none, empty, q, r };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
    /* no matrices: the shapes are those of matrices of that size */
    for (int i = 0; i < 4; ++i) {
        const bool complete = i % 2, tall = i / 2;
        const int64_t m = tall ? 5 : 3, n = tall ? 3 : 5, k = complete || !tall ? m : n;
        wf_array *batch = wf_empty(ctx, WF_F32, WF_SHAPE(0, m, n));
        OK(ctx, wf_qr(batch, complete, &q, &r));
        wf_shape qs = wf_array_shape(q), rs = wf_array_shape(r);
        assert_true(qs.rank == 3 && qs.dim[0] == 0 && qs.dim[1] == m && qs.dim[2] == k);
        assert_true(rs.rank == 3 && rs.dim[0] == 0 && rs.dim[1] == k && rs.dim[2] == n);
        wf_release(batch);
        wf_release(q);
        wf_release(r);
    }
}

static void test_definitions(void **state)
{
    (void)state;
    need_lapack();
    check_solve(7);
    for (int i = 0; i < 4; ++i) {
        check_vectors(dtypes[i], 7);
        check_triangle(dtypes[i], 7);
        check_vectors(dtypes[i], sized(33, 8));
        check_singular(dtypes[i], 7, 12);
        check_singular(dtypes[i], sized(40, 9), 5);
        check_singular(dtypes[i], 1, 3);
        for (int complete = 0; complete < 2; ++complete) {
            check_qr(dtypes[i], 7, 12, complete);
            check_qr(dtypes[i], sized(40, 9), 5, complete);
            check_qr(dtypes[i], 6, 6, complete);
            check_qr(dtypes[i], 1, 1, complete);
        }
        for (int64_t n = 1; n < 12; n += 3)
            check_determinants(dtypes[i], n);
        /* least squares of a system with a solution, of several right-hand sides */
        wf_array *a = matrices(dtypes[i], 2, 12, 8), *x = matrices(dtypes[i], 1, 8, 3);
        wf_array *b = wf_array_matmul(a, x), *found = wf_lstsq(a, b, 0), *wide;
        assert_non_null(found);
        wide = wf_view_broadcast(x, WF_SHAPE(2, 8, 3));
        same(found, wide, 20 * slack(dtypes[i]));
        wf_array *all[] = { a, x, b };
        for (int k = 0; k < 3; ++k)
            wf_release(all[k]);
    }
    wf_array *a = matrices(WF_C64, 1, 3, 3), *inverse = wf_solve(a, NULL); /* complex: LAPACK for every size */
    wf_array *one = product(a, inverse), *again = product(wf_retain(one), wf_retain(one));
    same(again, one, 1e-4);
}

/* Batches that broadcast, views of any strides, other dtypes, no matrices. */
static void check_arguments(int64_t n)
{
    wf_array *a = positive(WF_F64, 3, n), *b = matrices(WF_F64, 1, n, 2), *x = wf_solve(a, b);
    assert_int_equal(wf_array_shape(x).dim[0], 3);
    for (int64_t i = 0; i < 3; ++i) {
        wf_array *one = wf_view_at(a, 0, i), *right = wf_view_at(b, 0, 0);
        same(wf_solve(one, right), wf_view_at(x, 0, i), 1e-13);
        wf_release(one);
        wf_release(right);
    }
    wf_array *view = wf_view_permute(a, (const int[]){ 0, 2, 1 }), *back = wf_view_slice(view, 0, -1, WF_END_INDEX, -1);
    same(wf_solve(back, b), wf_view_slice(x, 0, -1, WF_END_INDEX, -1), 1e-11); /* a is symmetric */
    wf_array *whole = wf_full(ctx, WF_I32, WF_SHAPE(n, n), 1), *half = wf_full(ctx, WF_F16, WF_SHAPE(n, 1), 3);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n, n));
    wf_out(g, whole,
           wf_add(wf_in(g, whole), wf_mul(wf_cast(wf_eq(wf_index(g, 0), wf_index(g, 1)), WF_I32), (double)n)));
    OK(ctx, wf_run(g));
    wf_array *y = wf_solve(whole, half), *third = wf_full(ctx, WF_F64, WF_SHAPE(n, 1), 3. / (double)(2 * n));
    assert_int_equal(wf_array_dtype(y), WF_F64);
    same(y, wf_retain(third), 1e-14);
    wf_array *inverse = wf_solve(whole, NULL), *l, *values, *vectors;
    same(wf_array_matmul(inverse, half), wf_retain(third), 1e-3);
    wf_array *none = wf_empty(ctx, WF_F32, WF_SHAPE(0, n, n)), *empty = wf_empty(ctx, WF_C64, WF_SHAPE(4, 0, 0));
    l = wf_cholesky(none);
    assert_int_equal(wf_array_shape(l).dim[1], n);
    OK(ctx, wf_eigh(empty, &values, &vectors));
    assert_true(wf_array_shape(values).rank == 2 && wf_array_shape(values).dim[0] == 4);
    assert_int_equal(wf_array_dtype(values), WF_F32);
    wf_array *all[] = { a, b, x, view, back, whole, half, third, inverse, l, values, vectors, none, empty };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

static void test_arguments(void **state)
{
    (void)state;
    check_arguments(4);
    need_lapack();
    check_arguments(8);
}

/* Sets an element of matrix [1, 2] of [2, 3, n, n], else multiples of the identity. */
static wf_array *marked(int64_t n, double diagonal, double other)
{
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(2, 3, n, n), 0);
    double *x = contents(a);
    for (int64_t i = 0; i < 6; ++i)
        for (int64_t k = 0; k < n; ++k)
            x[(i * n + k) * n + k] = i == 5 && k == n - 1 ? other : diagonal;
    OK(ctx, wf_upload(a, x, (size_t)(6 * n * n) * sizeof *x));
    free(x);
    return a;
}

static void check_refused(int64_t n)
{
    wf_array *a = marked(n, 2, 0), *b = wf_full(ctx, WF_F64, WF_SHAPE(n, 1), 1), *w = NULL, *v = NULL,
             *one = marked(n, 1, 1);
    assert_null(wf_solve(a, b));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_solve: matrix [1, 2] of `a` is singular");
    assert_null(wf_cholesky(a));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_cholesky: matrix [1, 2] of `a` is not positive definite");
    wf_array *nan = marked(n, 2, NAN);
    REFUSED(ctx, wf_eigh(nan, &w, &v), WF_ERR_ARG, "wf_eigh: matrix [1, 2] of `a` has an element that is not finite");
    assert_true(!w && !v);
    assert_null(wf_solve(nan, NULL));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_solve: matrix [1, 2] of `a` has an element that is not finite");
    wf_array *flat = wf_full(ctx, WF_F32, WF_SHAPE(n, n), 1);
    assert_null(wf_solve(flat, NULL));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_solve: matrix of `a` is singular");
    assert_null(wf_solve(flat, a));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_solve: matrix [0, 0] of `a` is singular");
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(b)));
    wf_release(wf_cholesky(one));
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "wf_cholesky cannot be in a frozen sequence");
    wf_array *all[] = { a, b, nan, flat, one };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

static void test_refused(void **state)
{
    (void)state;
    check_refused(3);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3, 4), 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(4, 1), 1);
    wf_array *line = wf_full(ctx, WF_F32, WF_SHAPE(4), 1), *three = wf_full(ctx, WF_F32, WF_SHAPE(2, 3, 3), 1),
             *s = NULL;
    assert_null(wf_solve(a, b));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "wf_solve: `a` is (3, 4), not [..., n, n]");
    assert_null(wf_cholesky(line));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "wf_cholesky: `a` is");
    assert_null(wf_solve(three, b));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "which needs `b` [..., 3, k], but `b` is (4, 1)");
    assert_null(wf_solve(three, line));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "wf_solve: `a` is (2, 3, 3)");
    assert_null(wf_lstsq(a, NULL, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "`b` is NULL");
    assert_null(wf_lstsq(b, b, 1.5));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "`tolerance` is 1.5");
    REFUSED(ctx, wf_eigh(three, NULL, &s), WF_ERR_ARG, "`values` is NULL");
    REFUSED(ctx, wf_svd(a, &s, &s, NULL), WF_ERR_ARG, "only one of `u` and `vh` is NULL");
    REFUSED(ctx, wf_qr(a, false, &s, NULL), WF_ERR_ARG, "wf_qr: `r` is NULL");
    REFUSED(ctx, wf_qr(line, false, &s, &s), WF_ERR_SHAPE, "wf_qr: `a` is (4), not [..., m, n]");
    REFUSED(ctx, wf_slogdet(three, NULL, &s), WF_ERR_ARG, "wf_slogdet: `sign` is NULL");
    REFUSED(ctx, wf_slogdet(a, &s, &s), WF_ERR_SHAPE, "wf_slogdet: `a` is (3, 4), not [..., n, n]");
    assert_int_equal(wf_qr(NULL, false, &s, &s), WF_ERR_ARG);
    assert_int_equal(wf_slogdet(NULL, &s, &s), WF_ERR_ARG);
    assert_null(wf_solve(NULL, NULL));
    assert_int_equal(wf_eigh(NULL, &s, NULL), WF_ERR_ARG);
    assert_null(s);
    wf_array *all[] = { a, b, line, three };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    need_lapack();
    check_refused(9);
}

/* Messages say what was tried. */
static void test_missing(void **state)
{
    (void)state;
    const char *before = getenv("WEFT_LAPACK");
    char kept[1024];
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(9, 9), 1), *small = wf_full(ctx, WF_F64, WF_SHAPE(1, 1), 4);
    setenv("WEFT_LAPACK", "/no/such/library.so", 1);
    assert_null(wf_cholesky(a));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "WEFT_LAPACK names no LAPACK: /no/such/library.so");
    setenv("WEFT_LAPACK", WEFT_NO_BLAS, 1);
    assert_null(wf_cholesky(a));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "has no sgetrf_");
    setenv("WEFT_LAPACK", "none", 1);
    assert_null(wf_cholesky(a));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "found none: WEFT_LAPACK is none");
    numbers(wf_cholesky(small), (const double[]){ 2 }, 1, 0); /* which needs none */
    if (before)
        setenv("WEFT_LAPACK", kept, 1);
    else
        unsetenv("WEFT_LAPACK");
    wf_release(a);
    wf_release(small);
}

/* Inputs that a stream still computes. */
static void test_streams(void **state)
{
    (void)state;
    wf_stream *stream = wf_stream_new(ctx, 0);
    assert_non_null(stream);
    OK(ctx, wf_set_stream(ctx, 0, stream));
    wf_array *a = positive(WF_F64, 4, 3), *l = wf_cholesky(a);
    same(product(l, turned(l, false)), a, 1e-12);
    OK(ctx, wf_set_stream(ctx, 0, NULL));
    wf_stream_free(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),       cmocka_unit_test(test_numpy),     cmocka_unit_test(test_dependent),
        cmocka_unit_test(test_definitions), cmocka_unit_test(test_arguments), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_missing),     cmocka_unit_test(test_streams),   cmocka_unit_test(test_singular),
    };
    return RUN_ON_ALL(tests);
}
