/* test_linalg.c - linear algebra on small matrices of values beside NumPy and by its definitions; singular matrices.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/linalg.h"

/* Elements sin(1 + 3 i + 5 j + i j) of an array of m x n; b: cos(2 i + j). */
static double plain_a(int i, int j) { return sin(1 + 3 * i + 5 * j + i * j); }

static void load(wf_graph *g, wf_dtype t, int m, int n, bool symmetric, wf_val *a)
{
    static const char *const letters = "abcdefghijklmnopqrstuvwxyz";
    for (int i = 0; i < m * n; ++i) {
        char name[3] = { letters[i / 26], letters[i % 26], 0 };
        double v = symmetric ? (plain_a(i / n, i % n) + plain_a(i % n, i / n)) / 2 : plain_a(i / n, i % n);
        a[i] = wf_param(g, name, t, v);
    }
}

static void check(wf_graph *g, const wf_val *v, int n, const double *expected, double most)
{
    wf_array *y = wf_empty(ctx, WF_F64, WF_SHAPE(n));
    for (int i = 0; i < n; ++i)
        wf_write(g, y, v[i], i);
    OK(ctx, wf_run(g));
    double *x = contents_as(y, WF_F64);
    for (int i = 0; i < n; ++i) {
        bool right = isnan(expected[i]) ? isnan(x[i]) : fabs(x[i] - expected[i]) <= most;
        if (!right)
            print_error("element %d of %d is %.17g, not %.17g\n", i, n, x[i], expected[i]);
        assert_true(right);
    }
    free(x);
    wf_release(y);
}

static wf_graph *begin(void) { return wf_begin(ctx, .shape = WF_SHAPE(1)); }

/* numpy.linalg.solve and det. */
static void test_solve(void **state)
{
    (void)state;
    static const struct {
        int n;
        double det, x[12];
    } rows[] = {
        { 2, -0.6692403262010189, { 0.9866395683226706, 0.8525414338733504, -0.6075948968021025, 0.6337750598097828 } },
        { 3,
          0.12518986518141878,
          { 3.578569776891804, 4.200997022155388, -6.193548783737369, -6.582591510075529, 3.7418727992337826,
            4.834040223695597 } },
        { 4,
          0.1716474162562006,
          { 1.7048231275595367, 1.9226995514516607, -2.6909309139279802, -2.3237417683176558, 2.1518914034840515,
            2.9007742756585446, -3.353290063563088, -4.077281351283139 } },
        { 6,
          0.9250659692133001,
          { 1.1571801060478306, 1.1632267959571791, -2.0886199801184477, -1.7988518401849023, -1.0798681308844067,
            -1.489992128696428, -0.4713717865437745, -0.2057188971304992, -0.7699464904042183, -0.6744530758165118,
            -1.4801662199540015, -2.525794703461178 } },
    };
    for (int r = 0; r < 4; ++r)
        for (int wide = 0; wide < 2; ++wide) {
            int n = rows[r].n;
            wf_val a[36], b[12], x[36], det, both[36];
            wf_dtype t = wide ? WF_F64 : WF_F32;
            wf_graph *g = begin();
            load(g, t, n, n, false, a);
            for (int i = 0; i < 2 * n; ++i)
                b[i] = wf_const(g, t, cos(2 * (i / 2) + i % 2));
            wf_mat_solve(g, n, a, 2, b, x);
            check(g, x, 2 * n, rows[r].x, wide ? 1e-13 : 2e-4);
            g = begin();
            load(g, t, n, n, false, a);
            det = wf_mat_determinant(g, n, a);
            check(g, &det, 1, &rows[r].det, wide ? 1e-14 : 1e-6);
            g = begin();
            load(g, t, n, n, false, a);
            wf_mat_inverse(g, n, a, x);
            double identity[36];
            for (int i = 0; i < n * n; ++i) {
                identity[i] = i % (n + 1) == 0;
                both[i] = wf_mul(a[i / n * n], x[i % n]);
                for (int k = 1; k < n; ++k)
                    both[i] = wf_add(both[i], wf_mul(a[i / n * n + k], x[k * n + i % n]));
            }
            check(g, both, n * n, identity, wide ? 1e-13 : 2e-5);
        }
}

/* l l^T is the matrix, and the solution solves it. */
static void test_cholesky(void **state)
{
    (void)state;
    for (int n = 1; n <= 6; n += n > 3 ? 2 : 1) {
        wf_graph *g = begin();
        wf_val a[36], s[36], l[36], x[6], out[42];
        double expected[42];
        load(g, WF_F64, n, n, false, a);
        for (int i = 0; i < n * n; ++i) {
            double sum = i % (n + 1) ? 0 : 0.1;
            for (int k = 0; k < n; ++k)
                sum += plain_a(i / n, k) * plain_a(i % n, k);
            expected[i] = sum;
            /* the upper triangle is not read */
            s[i] = i % n > i / n ? wf_const(g, WF_F64, NAN) : wf_add(wf_mul(a[0], 0), sum);
        }
        wf_mat_cholesky(g, n, s, l);
        wf_val b[6];
        for (int i = 0; i < n; ++i)
            b[i] = wf_const(g, WF_F64, i + 1);
        wf_mat_cholesky_solve(g, n, l, 1, b, x);
        for (int i = 0; i < n * n; ++i) {
            out[i] = wf_mul(l[i / n * n], l[i % n * n]);
            for (int k = 1; k < n; ++k)
                out[i] = wf_add(out[i], wf_mul(l[i / n * n + k], l[i % n * n + k]));
        }
        for (int i = 0; i < n; ++i) {
            out[n * n + i] = wf_mul(x[0], expected[i * n]);
            for (int k = 1; k < n; ++k)
                out[n * n + i] = wf_add(out[n * n + i], wf_mul(x[k], expected[i * n + k]));
            expected[n * n + i] = i + 1;
        }
        check(g, out, n * n + n, expected, 1e-11);
    }
}

/* numpy.linalg.eigvalsh; a v = w v. */
static void test_eigh(void **state)
{
    (void)state;
    static const struct {
        int n;
        double w[6];
    } rows[] = { { 2, { -0.7163380776973243, 1.0137879516158508 } },
                 { 3, { -0.7663045301835081, 0.673059452562867, 1.2273505900752237 } },
                 { 4, { -0.9957527222518753, 0.4163726662818714, 0.723883599607791, 1.51868465493682 } },
                 { 6,
                   { -1.7318162335548706, -1.1237105679955832, 0.06346095137033216, 0.5901595685054188,
                     0.9959342253672686, 1.8888564480986036 } } };
    for (int r = 0; r < 4; ++r)
        for (int wide = 0; wide < 2; ++wide) {
            int n = rows[r].n;
            wf_val a[36], w[6], v[36], rest[36];
            double zeros[36] = { 0 }, most = wide ? 2e-15 : 2e-6;
            wf_graph *g = begin();
            load(g, wide ? WF_F64 : WF_F32, n, n, true, a);
            wf_mat_eigh(g, n, a, w, NULL);
            check(g, w, n, rows[r].w, 2 * most);
            g = begin();
            load(g, wide ? WF_F64 : WF_F32, n, n, true, a);
            wf_mat_eigh(g, n, a, w, v);
            for (int i = 0; i < n * n; ++i) {
                rest[i] = wf_neg(wf_mul(w[i % n], v[i]));
                for (int k = 0; k < n; ++k)
                    rest[i] = wf_add(rest[i], wf_mul(a[i / n * n + k], v[k * n + i % n]));
            }
            check(g, rest, n * n, zeros, 4 * most);
        }
}

/* numpy.linalg.lstsq. */
static void test_lstsq(void **state)
{
    (void)state;
    static const struct {
        int m, n;
        double x[6];
    } rows[] = { { 5, 2, { 0.757128354606703, -1.226054639140234 } },
                 { 8, 3, { 0.6088462722834275, -0.9241079425078675, 0.22111275903152405 } },
                 { 12,
                   6,
                   { 0.09970336776498473, -0.5407702658115927, -0.16498178582009593, -0.06653980871761442,
                     0.19385884395503908, -0.43291834519196826 } } };
    for (int r = 0; r < 3; ++r) {
        wf_val a[72], b[12], x[6];
        wf_graph *g = begin();
        load(g, WF_F64, rows[r].m, rows[r].n, false, a);
        for (int i = 0; i < rows[r].m; ++i)
            b[i] = wf_const(g, WF_F64, cos(2 * i));
        wf_mat_lstsq(g, rows[r].m, rows[r].n, a, b, x);
        check(g, x, rows[r].n, rows[r].x, 1e-14);
    }
}

static void test_singular(void **state)
{
    (void)state;
    const double nans[9] = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN }, none = 0;
    const double singular[9] = { 1, 2, 3, 2, 4, 6, 1, 0, 1 };
    for (int what = 0; what < 4; ++what) {
        wf_graph *g = begin();
        wf_val a[9], out[9], det;
        for (int i = 0; i < 9; ++i)
            a[i] = wf_param(g, (char[]){ 'm', (char)('a' + i), 0 }, WF_F64, singular[i]);
        if (what == 0)
            wf_mat_inverse(g, 3, a, out);
        else if (what == 1)
            det = wf_mat_determinant(g, 3, a);
        else if (what == 2) {
            a[8] = wf_neg(a[8]);
            wf_mat_cholesky(g, 3, a, out);
        } else
            wf_mat_lstsq(g, 2, 1, (wf_val[]){ wf_mul(a[0], 0), wf_mul(a[1], 0) }, a, out);
        if (what == 1)
            check(g, &det, 1, &none, 0);
        else
            check(g, what == 2 ? out + 8 : out, what ? 1 : 9, nans, 0);
    }
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_val a[4] = { { { 1, NULL } }, { { 0, NULL } }, { { 0, NULL } }, { { 1, NULL } } }, x[4];
    wf_graph *g = begin();
    wf_mat_inverse(g, 7, a, x);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_mat_inverse: a matrix of 7 rows and 7 columns; 1 to 6 are possible");
    g = begin();
    wf_mat_solve(g, 2, a, 1, NULL, x);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_mat_solve: a matrix is NULL");
    g = begin();
    wf_mat_lstsq(g, 1, 2, a, a, x);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_mat_lstsq: 1 rows for 2 unknowns; 2 to 16 are possible");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solve), cmocka_unit_test(test_cholesky), cmocka_unit_test(test_eigh),
        cmocka_unit_test(test_lstsq), cmocka_unit_test(test_singular), cmocka_unit_test(test_mistakes),
    };
    return RUN_ON_ALL(tests);
}
