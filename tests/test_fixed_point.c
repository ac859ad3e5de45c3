/* test_fixed_point.c - solutions by iteration and their derivatives, beside closed forms and small linear systems solved by
 * hand: at points and in array graphs, in loops and turn by turn, first and second derivatives.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/linalg.h"
#include "weft/optimize.h"

enum { N = 4 };
static const double MEAN[N] = { -1.75, 0.5, 1.25, 3 }, ECCENTRICITY[N] = { 0.1, 0.6, 0.3, 0.45 };

/* Kepler's equation: E = M + e sin E. */
static void kepler(const wf_rule_site *s) { s->result[0] = wf_add(s->in[1], wf_mul(s->in[2], wf_sin(s->in[0]))); }
static const wf_iteration loop = { .size = sizeof loop, .step = kepler, .tolerance = 1e-15, .turns = 400 };
static const wf_iteration straight = { .size = sizeof straight, .step = kepler, .turns = 70 };

static void anomaly(double m, double e, double d[6])
{
    double x = m;
    for (int i = 0; i < 100; ++i) /* Newton */
        x -= (x - e * sin(x) - m) / (1 - e * cos(x));
    double q = 1 - e * cos(x);
    d[0] = x;
    d[1] = 1 / q;                                                               /* by M */
    d[2] = sin(x) / q;                                                          /* by e */
    d[3] = -e * sin(x) / (q * q * q);                                           /* twice by M */
    d[4] = (cos(x) * q - e * sin(x) * sin(x)) / (q * q * q);                    /* by M and e */
    d[5] = 2 * sin(x) * cos(x) / (q * q) - e * pow(sin(x) / q, 2) * sin(x) / q; /* twice by e */
}

static void kepler_equation(void **state)
{
    (void)state;
    double want[6][N], d[6];
    for (int i = 0; i < N; ++i) {
        anomaly(MEAN[i], ECCENTRICITY[i], d);
        for (int k = 0; k < 6; ++k)
            want[k][i] = d[k];
    }
    wf_array *m = array_of(ctx, WF_F64, WF_SHAPE(N), MEAN), *e = array_of(ctx, WF_F64, WF_SHAPE(N), ECCENTRICITY);
    for (int k = 0; k < 4; ++k) {
        const wf_iteration *how = k & 1 ? &straight : &loop;
        wf_graph *g = k & 2 ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx);
        wf_val mean = wf_in(g, m), ecc = wf_in(g, e), x, first[2], second[2], last[2], along[3];
        wf_fixed_point(g, how, WF_VALS(mean), WF_VALS(mean, ecc), &x);
        wf_vjp(WF_VALS(x), WF_VALS(1), WF_VALS(mean, ecc), first);
        wf_vjp(WF_VALS(first[0]), WF_VALS(1), WF_VALS(mean, ecc), second);
        wf_vjp(WF_VALS(first[1]), WF_VALS(1), WF_VALS(mean, ecc), last);
        wf_jvp(WF_VALS(x, first[0], first[1]), WF_VALS(ecc), WF_VALS(2), along);
        const wf_val value[] = { x, first[0], first[1], second[0], second[1], last[1], last[0] };
        wf_array *out[10];
        for (int i = 0; i < 10; ++i)
            wf_out(g, out[i] = wf_like(m), i < 7 ? value[i] : wf_mul(along[i - 7], 0.5));
        OK(ctx, wf_run(g));
        for (int i = 0; i < 10; ++i)
            expect_close_and_release(out[i], i < 6 ? want[i] : want[i == 6 ? 4 : i == 7 ? 2 : i == 8 ? 4 : 5], 1e-11);
    }
    wf_release(m);
    wf_release(e);
}

/* Two unknowns, one of which starts at a number: x = a + sin(y) / 3, y = b + x^2 / 5. */
static void both(const wf_rule_site *s)
{
    s->result[0] = wf_add(s->in[2], wf_div(wf_sin(s->in[1]), 3));
    s->result[1] = wf_add(s->in[3], wf_mul(wf_mul(s->in[0], s->in[0]), 0.2));
}

static void two_unknowns(void **state)
{
    (void)state;
    static const wf_iteration how = { .size = sizeof how, .step = both, .tolerance = 1e-15 };
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(1), 0.75), *b = wf_full(ctx, WF_F64, WF_SHAPE(1), -0.5);
    wf_graph *g = wf_begin(ctx);
    wf_val p = wf_in(g, a), q = wf_in(g, b), v[2], d[2];
    wf_fixed_point(g, &how, WF_VALS(0.5, q), WF_VALS(p, q), v);
    wf_grad(total(wf_add(v[0], wf_mul(v[1], 2))), WF_VALS(p, q), d);
    wf_array *out[] = { wf_keep(v[0]), wf_keep(v[1]), wf_keep(d[0]), wf_keep(d[1]) };
    OK(ctx, wf_run(g));
    double x = 0, y = 0;
    for (int i = 0; i < 200; ++i) {
        double next = 0.75 + sin(y) / 3;
        y = -0.5 + 0.2 * x * x;
        x = next;
    }
    /* dx = da + cos(y)/3 dy, dy = db + 2x/5 dx */
    double c = cos(y) / 3, r = 0.4 * x, det = 1 - c * r;
    expect_close_and_release(out[0], &x, 1e-12);
    expect_close_and_release(out[1], &y, 1e-12);
    expect_close_and_release(out[2], (const double[]){ (1 + 2 * r) / det }, 1e-12);
    expect_close_and_release(out[3], (const double[]){ (c + 2) / det }, 1e-12);
    wf_release(a);
    wf_release(b);
}

/* Coupled elements: x = tanh(W x) / 2 + b, by turns that are recorded one by one. The derivative of sum(x) with respect to b
 * is u with u = 1 + J' u. */
static void network(const wf_rule_site *s)
{
    wf_val product = wf_reduce(WF_JOIN_ADD, wf_mul(s->in[1], s->in[0]), WF_AXES(1));
    s->result[0] = wf_add(wf_mul(wf_tanh(wf_reshape(product, WF_SHAPE(3))), 0.5), s->in[2]);
}

static void coupled(void **state)
{
    (void)state;
    static const double w[3][3] = { { 0.3, -0.5, 0.2 }, { 0.7, 0.1, -0.4 }, { -0.2, 0.6, 0.5 } },
                        b[3] = { 0.5, -1, 0.25 };
    static const wf_iteration how = { .size = sizeof how, .step = network, .turns = 60 };
    wf_array *wa = array_of(ctx, WF_F64, WF_SHAPE(3, 3), w), *ba = array_of(ctx, WF_F64, WF_SHAPE(3), b);
    wf_graph *g = wf_begin(ctx);
    wf_val matrix = wf_in(g, wa), bias = wf_in(g, ba), x, d[2];
    wf_fixed_point(g, &how, WF_VALS(bias), WF_VALS(matrix, bias), &x);
    wf_grad(total(x), WF_VALS(matrix, bias), d);
    wf_array *dw = wf_keep(d[0]), *db = wf_keep(d[1]);
    OK(ctx, wf_run(g));
    double z[3] = { 0 }, u[3] = { 0 }, slope[3], next[3], want[3][3];
    for (int turn = 0; turn < 200; ++turn) {
        for (int i = 0; i < 3; ++i)
            next[i] = tanh(w[i][0] * z[0] + w[i][1] * z[1] + w[i][2] * z[2]) / 2 + b[i];
        memcpy(z, next, sizeof z);
    }
    for (int i = 0; i < 3; ++i)
        slope[i] = (1 - pow(2 * (z[i] - b[i]), 2)) / 2;
    for (int turn = 0; turn < 200; ++turn) {
        for (int i = 0; i < 3; ++i)
            next[i] = 1 + w[0][i] * slope[0] * u[0] + w[1][i] * slope[1] * u[1] + w[2][i] * slope[2] * u[2];
        memcpy(u, next, sizeof u);
    }
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            want[i][k] = u[i] * slope[i] * z[k];
    expect_close_and_release(db, u, 1e-12);
    expect_close_and_release(dw, want[0], 1e-12);
    wf_release(wa);
    wf_release(ba);
}

/* The operator that solves Kepler's equation at each point, with the eccentricity of the next point, in a loop or turn by
 * turn. */
static wf_graph *solver(wf_array *m, wf_array *e, wf_array *y, const wf_iteration *how)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0), mean = wf_read(g, m, i), x;
    wf_fixed_point(g, how, WF_VALS(mean), WF_VALS(mean, wf_read_or(g, e, 0.25, wf_add(i, 1))), &x);
    wf_out(g, y, x);
    return g;
}

static void operators(void **state)
{
    (void)state;
    double d[6], by_m[N], by_e[N] = { 0 }, along[N];
    wf_array *m = array_of(ctx, WF_F64, WF_SHAPE(N), MEAN), *e = array_of(ctx, WF_F64, WF_SHAPE(N), ECCENTRICITY);
    wf_array *y = wf_like(m), *up = wf_full(ctx, WF_F64, WF_SHAPE(N), 1);
    for (int i = 0; i < N; ++i) {
        anomaly(MEAN[i], i + 1 < N ? ECCENTRICITY[i + 1] : 0.25, d);
        by_m[i] = d[1];
        if (i + 1 < N)
            by_e[i + 1] = d[2];
        along[i] = d[1] + (i + 1 < N ? d[2] : 0);
    }
    for (int k = 0; k < 2; ++k) {
        const wf_iteration *how = k ? &loop : &straight;
        wf_array *dm = wf_like(m), *de = wf_like(m), *dy = wf_like(m);
        OK(ctx, wf_adjoint(solver(m, e, y, how), WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(m, e), WF_ARRAYS(dm, de)));
        OK(ctx, wf_tangent(solver(m, e, y, how), WF_ARRAYS(m, e), WF_ARRAYS(up, up), WF_ARRAYS(y), WF_ARRAYS(dy)));
        expect_close_and_release(dm, by_m, 1e-11);
        expect_close_and_release(de, by_e, 1e-11);
        expect_close_and_release(dy, along, 1e-11);
    }
    wf_release(m);
    wf_release(e);
    wf_release(y);
    wf_release(up);
}

static void refused(void **state)
{
    (void)state;
    static const wf_iteration none = { .size = sizeof none }, reduces = { .step = network, .tolerance = 1e-3 };
    wf_array *a = wf_full(ctx, WF_F64, WF_SHAPE(3), 1), *out = wf_like(a);
    wf_val x, many[16];
    wf_graph *g = wf_begin(ctx);
    wf_fixed_point(g, &none, WF_VALS(wf_in(g, a)), WF_NO_VALS, &x);
    wf_out(g, out, x);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "there is no step");
    g = wf_begin(ctx);
    for (int i = 0; i < 16; ++i)
        many[i] = wf_in(g, a);
    wf_fixed_point(g, &loop, WF_VALS(many[0]), (wf_vals){ many, 14 }, &x);
    wf_out(g, out, x);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "1 to 15 values");
    g = wf_begin(ctx);
    many[0] = wf_in(g, a);
    wf_fixed_point(g, &reduces, WF_VALS(many[0]), WF_VALS(wf_reshape(many[0], WF_SHAPE(1, 3)), 1), &x);
    wf_out(g, out, x);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "wf_reduce");
    wf_release(a);
    wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kepler_equation), cmocka_unit_test(two_unknowns), cmocka_unit_test(coupled),
        cmocka_unit_test(operators),       cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
