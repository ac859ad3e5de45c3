/* test_derivatives_custom.c - derivatives that the program gives: values with the derivative of another one, and rules with
 * hooks, beside closed forms: in array graphs, at points, in loops, through operators and tapes, forward, back and twice.
 *
 * ctest: devices
 */
#include "close_numbers.h"

enum { N = 4 };
static const double X[N] = { -1.75, 0.5, 1.25, 3 };

static void expect_and_release(wf_array *a, const double want[N])
{
    expect_close(a, want, 1e-12);
    wf_release(a);
}

/* ---- rules ---- */
static int calls[3]; /* of .call, .jvp and .vjp of the cube */

static void cube(const wf_rule_site *s)
{
    ++calls[0];
    s->result[0] = wf_mul(s->in[0], wf_mul(s->in[0], s->in[0]));
}
static void cube_forward(const wf_rule_site *s)
{
    ++calls[1];
    s->result[0] = wf_mul(wf_mul(3, wf_mul(s->in[0], s->in[0])), s->seed[0]);
}
static void cube_back(const wf_rule_site *s)
{
    ++calls[2];
    s->result[0] = wf_mul(wf_mul(3, wf_mul(s->in[0], s->in[0])), s->seed[0]);
}
#define CUBE WF_CUSTOM_RULE(.name = "cube", .call = cube, .jvp = cube_forward, .vjp = cube_back)

/* The derivative of the identity, held below a bound that the program passes. */
static void same(const wf_rule_site *s) { s->result[0] = s->in[0]; }
static void clipped(const wf_rule_site *s)
{
    const double most = *(const double *)s->user;
    s->result[0] = wf_clamp(s->seed[0], -most, most);
}

/* Radius and angle. Their derivatives use the outputs, and a seed that may be the number 0. */
static void polar(const wf_rule_site *s)
{
    s->result[0] = wf_hypot(s->in[0], s->in[1]);
    s->result[1] = wf_atan2(s->in[1], s->in[0]);
}
static void polar_back(const wf_rule_site *s)
{
    wf_val r = s->out[0], x = wf_div(s->in[0], r), y = wf_div(s->in[1], r), a = wf_div(s->seed[1], r);
    s->result[0] = wf_sub(wf_mul(s->seed[0], x), wf_mul(a, y));
    s->result[1] = wf_add(wf_mul(s->seed[0], y), wf_mul(a, x));
}
static void polar_forward(const wf_rule_site *s)
{
    wf_val r = s->out[0], x = wf_div(s->in[0], r), y = wf_div(s->in[1], r);
    s->result[0] = wf_add(wf_mul(s->seed[0], x), wf_mul(s->seed[1], y));
    s->result[1] = wf_div(wf_sub(wf_mul(s->seed[1], x), wf_mul(s->seed[0], y)), r);
}
#define POLAR WF_CUSTOM_RULE(.name = "polar", .call = polar, .jvp = polar_forward, .vjp = polar_back, .outs = 2)

/* ---- values with the derivative of another one ---- */
static void roundings(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N);
    wf_val back, forward, none;
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), q = wf_replace_gradient(wf_round(x), wf_mul(x, x)), plain = wf_round(x);
    wf_grad(total(wf_mul(q, x)), WF_VALS(x), &back);
    wf_jvp(WF_VALS(wf_mul(q, x)), WF_VALS(x), WF_VALS(1), &forward);
    wf_grad(total(wf_mul(plain, x)), WF_VALS(x), &none); /* the same value elsewhere has its own derivative */
    assert_true(wf_depends(q, WF_VALS(x)));
    assert_false(wf_depends(plain, WF_VALS(x)));
    wf_array *out[] = { wf_keep(q), wf_keep(back), wf_keep(forward), wf_keep(none) };
    OK(ctx, wf_run(g));
    double want[4][N];
    for (int i = 0; i < N; ++i) {
        want[0][i] = want[3][i] = nearbyint(X[i]);
        want[1][i] = want[2][i] = nearbyint(X[i]) + 2 * X[i] * X[i];
    }
    for (int k = 0; k < 4; ++k)
        expect_and_release(out[k], want[k]);
    wf_release(a);
}

/* The second value broadcasts to the first, and may have another float dtype. A number is a constant with a derivative. */
static void broadcasts(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N), *b = wf_full(ctx, WF_F32, WF_SHAPE(1), 2);
    wf_val grad[2];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, b), v = wf_replace_gradient(wf_mul(x, x), wf_mul(y, y));
    wf_val c = wf_replace_gradient(5, x);
    wf_grad(total(wf_mul(x, wf_add(v, c))), WF_VALS(x, y), grad);
    wf_array *dx = wf_keep(grad[0]), *dy = wf_keep(grad[1]);
    OK(ctx, wf_run(g));
    double want[N], sum = 0;
    for (int i = 0; i < N; ++i) {
        want[i] = X[i] * X[i] + 5 + X[i];
        sum += X[i];
    }
    expect_and_release(dx, want);
    expect_and_release(dy, (const double[N]){ 4 * sum });
    wf_release(a);
    wf_release(b);
}

static void complex_values(void **state)
{
    (void)state;
    const double z[2 * 2] = { 1, 2, -3, 0.5 };
    wf_array *a = array_of(ctx, WF_C128, WF_SHAPE(2), z);
    wf_val grad[2];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), v = wf_replace_gradient(wf_mul(x, 7), wf_mul(x, wf_complex(0, 1)));
    wf_grad(total(wf_real(v)), WF_VALS(x), &grad[0]);
    wf_grad(total(wf_real(wf_mul(x, wf_stop(x)))), WF_VALS(x), &grad[1]);
    wf_array *value = wf_keep(wf_add(wf_real(v), wf_imag(wf_stop(v)))), *first = wf_keep(grad[0]),
             *second = wf_keep(grad[1]);
    OK(ctx, wf_run(g));
    double got[4];
    OK(ctx, wf_download(first, got, sizeof got));
    for (int i = 0; i < 2; ++i) {
        assert_true(got[2 * i] == 0 && got[2 * i + 1] == -1); /* Re(i z) = -Im z */
    }
    OK(ctx, wf_download(second, got, sizeof got));
    for (int i = 0; i < 2; ++i)
        assert_true(got[2 * i] == z[2 * i] && got[2 * i + 1] == -z[2 * i + 1]);
    OK(ctx, wf_download(value, got, 2 * sizeof *got));
    assert_true(got[0] == 21 && got[1] == -17.5);
    wf_release(a);
    wf_release(value);
    wf_release(first);
    wf_release(second);
}

/* What only derivatives need is not computed. */
static void unused(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N), *out;
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), of = wf_reduce(WF_JOIN_ADD, wf_exp(x), WF_ALL_AXES);
    out = wf_keep(wf_add(wf_replace_gradient(x, of), wf_stop(x)));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    char text[8192];
    size_t len;
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, text, sizeof text, &len));
    assert_true(len < sizeof text);
    assert_null(strstr(text, "exp"));
    OK(ctx, wf_launch(k, WF_NO_ARGS));
    expect_and_release(out, (const double[N]){ 2 * X[0], 2 * X[1], 2 * X[2], 2 * X[3] });
    wf_kernel_free(k);
    wf_release(a);
}

/* ---- rules in array graphs ---- */
static void graphs(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N);
    wf_val y, first, second, along, crossed;
    memset(calls, 0, sizeof calls);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a);
    wf_custom(CUBE, WF_VALS(x), &y);
    wf_grad(total(wf_mul(y, 2)), WF_VALS(x), &first);
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 0);
    assert_int_equal(calls[2], 1);
    wf_jvp(WF_VALS(y), WF_VALS(x), WF_VALS(0.5), &along);
    assert_int_equal(calls[1], 1);
    wf_grad(total(first), WF_VALS(x), &second);
    wf_jvp(WF_VALS(first), WF_VALS(x), WF_VALS(1), &crossed);
    assert_int_equal(calls[2], 1); /* the derivative of the derivative is that of what was recorded */
    wf_array *out[] = { wf_keep(y), wf_keep(first), wf_keep(second), wf_keep(along), wf_keep(crossed) };
    OK(ctx, wf_run(g));
    double want[5][N];
    for (int i = 0; i < N; ++i) {
        want[0][i] = X[i] * X[i] * X[i];
        want[1][i] = 6 * X[i] * X[i];
        want[2][i] = want[4][i] = 12 * X[i];
        want[3][i] = 1.5 * X[i] * X[i];
    }
    for (int k = 0; k < 5; ++k)
        expect_and_release(out[k], want[k]);
    wf_release(a);
}

/* A rule that is not the derivative of what it computes, beside the same computation without it. */
static void other_than_the_value(void **state)
{
    (void)state;
    const double most = 2;
    wf_array *a = line_of(X, N);
    wf_val y, grad;
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a);
    wf_custom(WF_CUSTOM_RULE(.name = "clip", .call = same, .vjp = clipped, .user = (void *)&most), WF_VALS(x), &y);
    wf_grad(total(wf_add(wf_mul(y, wf_mul(y, y)), wf_mul(x, 10))), WF_VALS(x), &grad);
    wf_array *out = wf_keep(grad);
    OK(ctx, wf_run(g));
    double want[N];
    for (int i = 0; i < N; ++i)
        want[i] = 10 + fmin(2, 3 * X[i] * X[i]);
    expect_and_release(out, want);
    wf_release(a);
}

/* Derivatives of two outputs together, of each alone, and of two calls of one rule. */
static void outputs(void **state)
{
    (void)state;
    const double y_of[N] = { 0.5, -2, 1, 0.25 };
    wf_array *a = line_of(X, N), *b = line_of(y_of, N);
    wf_val out[2], swapped[2], d[4][2], t[2];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, b);
    wf_custom(POLAR, WF_VALS(x, y), out);
    wf_custom(POLAR, WF_VALS(y, x), swapped);
    wf_grad(total(out[0]), WF_VALS(x, y), d[0]);
    wf_grad(total(out[1]), WF_VALS(x, y), d[1]);
    wf_grad(total(wf_add(wf_mul(out[0], 2), out[1])), WF_VALS(x, y), d[2]);
    wf_grad(total(wf_add(out[1], swapped[1])), WF_VALS(x, y), d[3]);
    wf_jvp(WF_VALS(out[0], out[1]), WF_VALS(x, y), WF_VALS(3, -1), t);
    wf_array *kept[10];
    for (int k = 0; k < 8; ++k)
        kept[k] = wf_keep(d[k / 2][k % 2]);
    kept[8] = wf_keep(t[0]);
    kept[9] = wf_keep(t[1]);
    OK(ctx, wf_run(g));
    double want[10][N];
    for (int i = 0; i < N; ++i) {
        double r2 = X[i] * X[i] + y_of[i] * y_of[i], r = sqrt(r2), p = X[i], q = y_of[i];
        want[0][i] = p / r;
        want[1][i] = q / r;
        want[2][i] = -q / r2;
        want[3][i] = p / r2;
        want[4][i] = 2 * p / r - q / r2;
        want[5][i] = 2 * q / r + p / r2;
        want[6][i] = want[7][i] = 0; /* the two angles add up to a constant */
        want[8][i] = (3 * p - q) / r;
        want[9][i] = (-p - 3 * q) / r2;
    }
    for (int k = 0; k < 10; ++k)
        expect_and_release(kept[k], want[k]);
    wf_release(a);
    wf_release(b);
}

/* A rule for elements, with an input that broadcasts: its derivative is the sum over its uses. */
static void broadcast_inputs(void **state)
{
    (void)state;
    const double row_of[2] = { 0.5, -2 };
    wf_array *a = line_of(X, N), *b = array_of(ctx, WF_F64, WF_SHAPE(2, 1), row_of);
    wf_val out[2], d[2];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y = wf_in(g, b);
    wf_custom(POLAR, WF_VALS(x, y), out);
    wf_grad(total(out[0]), WF_VALS(x, y), d);
    wf_array *dx = wf_keep(d[0]), *dy = wf_keep(d[1]);
    OK(ctx, wf_run(g));
    double want[2][N] = { { 0 } };
    for (int i = 0; i < N; ++i)
        for (int k = 0; k < 2; ++k) {
            want[0][i] += X[i] / hypot(X[i], row_of[k]);
            want[1][k] += row_of[k] / hypot(X[i], row_of[k]);
        }
    assert_int_equal(wf_array_count(dy), 2);
    expect_and_release(dx, want[0]);
    expect_and_release(dy, want[1]);
    wf_release(a);
    wf_release(b);
}

/* A value on the way, wanted itself, and an output that nothing else uses. */
static void wanted_outputs(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N);
    wf_val out[2], d[3];
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a);
    wf_custom(POLAR, WF_VALS(x, 1), out);
    wf_grad(total(wf_mul(out[0], wf_mul(out[1], out[1]))), WF_VALS(out[0], out[1], x), d);
    wf_array *kept[] = { wf_keep(d[0]), wf_keep(d[1]), wf_keep(d[2]) };
    OK(ctx, wf_run(g));
    double want[3][N];
    for (int i = 0; i < N; ++i) {
        double r = hypot(X[i], 1), a1 = atan2(1, X[i]);
        want[0][i] = a1 * a1;
        want[1][i] = 2 * r * a1;
        want[2][i] = want[0][i] * X[i] / r - want[1][i] / (r * r);
    }
    for (int k = 0; k < 3; ++k)
        expect_and_release(kept[k], want[k]);
    wf_release(a);
}

/* ---- elsewhere ---- */
/* At the points of an index space, in a loop there, and in a loop of an array graph: y = (x^3)^3. */
static void points_and_loops(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N);
    double want[N];
    for (int i = 0; i < N; ++i)
        want[i] = 9 * pow(X[i], 8);
    for (int k = 0; k < 4; ++k) {
        bool space = k & 1, loop = k & 2;
        wf_array *out = wf_like(a);
        wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx);
        wf_val x = wf_in(g, a), y, grad, i;
        wf_var v = wf_local(g, WF_F64, x);
        if (loop) {
            WF_FOR (g, i, 0, 2, 1) {
                wf_custom(CUBE, WF_VALS(wf_get(v)), &y);
                wf_set(v, y);
            }
            WF_END(g);
        } else {
            wf_custom(CUBE, WF_VALS(x), &y);
            wf_custom(CUBE, WF_VALS(y), &y);
            wf_set(v, y);
        }
        wf_vjp(WF_VALS(wf_get(v)), WF_VALS(1), WF_VALS(x), &grad);
        wf_out(g, out, grad);
        OK(ctx, wf_run(g));
        expect_and_release(out, want);
    }
    wf_release(a);
}

/* y[i] = cube(x[i + 1]) - clip(x[i]) x[i] + stop(x[i]) x[i], by wf_adjoint and wf_tangent. */
static const double bound = 0.5;
static wf_graph *operator_of(wf_array *x, wf_array *y)
{
    wf_val cubed, clip;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0), here = wf_read(g, x, i);
    wf_custom(CUBE, WF_VALS(wf_read_or(g, x, 0, wf_add(i, 1))), &cubed);
    wf_custom(WF_CUSTOM_RULE(.name = "clip", .call = same, .jvp = clipped, .vjp = clipped, .user = (void *)&bound),
              WF_VALS(here), &clip);
    wf_out(g, y, wf_add(wf_sub(cubed, wf_mul(clip, here)), wf_mul(wf_stop(here), here)));
    return g;
}

static void operators(void **state)
{
    (void)state;
    const double up[N] = { 1, 0.25, -2, 3 };
    wf_array *x = line_of(X, N), *y = wf_like(x), *u = line_of(up, N), *dx = wf_like(x), *t = wf_like(x);
    OK(ctx, wf_adjoint(operator_of(x, y), WF_ARRAYS(y), WF_ARRAYS(u), WF_ARRAYS(x), WF_ARRAYS(dx)));
    OK(ctx, wf_tangent(operator_of(x, y), WF_ARRAYS(x), WF_ARRAYS(u), WF_ARRAYS(y), WF_ARRAYS(t)));
    double back[N], along[N];
    for (int i = 0; i < N; ++i) {
        back[i] = (i ? 3 * X[i] * X[i] * up[i - 1] : 0);
        back[i] += -fmax(-bound, fmin(bound, X[i] * up[i])) - X[i] * up[i] + X[i] * up[i];
        along[i] = (i + 1 < N ? 3 * X[i + 1] * X[i + 1] * up[i + 1] : 0);
        along[i] += -fmax(-bound, fmin(bound, up[i])) * X[i] - X[i] * up[i] + X[i] * up[i];
    }
    /* The seed of the clipped identity is -up x, whose clipping is that of up x with the other sign. */
    expect_close(dx, back, 1e-12);
    expect_close(t, along, 1e-12);
    wf_release(x);
    wf_release(y);
    wf_release(u);
    wf_release(dx);
    wf_release(t);
}

/* A launch of an array graph and one of an index space, noted by a tape. */
static void tapes(void **state)
{
    (void)state;
    wf_array *x = line_of(X, N), *y = wf_like(x), *dx = wf_like(x);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    wf_val cubed, clip;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_custom(CUBE, WF_VALS(wf_in(g, x)), &cubed);
    wf_out(g, y, cubed);
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_val v = wf_in(g, y), of = wf_in(g, x);
    wf_custom(WF_CUSTOM_RULE(.name = "clip", .call = same, .vjp = clipped, .user = (void *)&bound), WF_VALS(v), &clip);
    wf_array *loss = wf_keep(total(wf_mul(clip, wf_replace_gradient(of, wf_mul(of, 2)))));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(dx)));
    double want[N];
    for (int i = 0; i < N; ++i)
        want[i] = fmax(-bound, fmin(bound, X[i])) * 3 * X[i] * X[i] + 2 * X[i] * X[i] * X[i];
    expect_close(dx, want, 1e-12);
    wf_tape_free(tape);
    wf_release(loss);
    wf_release(x);
    wf_release(y);
    wf_release(dx);
}

/* Evaluations in between: many, so that the recording is compacted. */
static void evaluations(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N), *out = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), y, z, grad;
    wf_custom(CUBE, WF_VALS(x), &y);
    for (int k = 0; k < 400; ++k) {
        wf_out(g, out, wf_add(x, k));
        OK(ctx, wf_eval(g));
    }
    wf_custom(CUBE, WF_VALS(y), &z);
    wf_grad(total(z), WF_VALS(x), &grad);
    wf_array *kept = wf_keep(grad);
    OK(ctx, wf_run(g));
    double want[N];
    for (int i = 0; i < N; ++i)
        want[i] = 9 * pow(X[i], 8);
    expect_and_release(kept, want);
    wf_release(a);
    wf_release(out);
}

/* ---- mistakes ---- */
static void too_long(const wf_rule_site *s) { s->result[0] = wf_const(s->graph, WF_F64, 1); }
static void wrong_shape(const wf_rule_site *s)
{
    s->result[0] = wf_broadcast(wf_const(s->graph, WF_F64, 1), WF_SHAPE(3));
}
static void left_open(const wf_rule_site *s)
{
    wf_if_(s->graph, "here", wf_gt(s->in[0], 0));
    s->result[0] = s->in[0];
}
static void reads_another(const wf_rule_site *s)
{
    const wf_array *other = s->user;
    s->result[0] = wf_mul(s->seed[0], wf_in(s->graph, other));
}

static void refused(void **state)
{
    (void)state;
    wf_array *a = line_of(X, N), *other = line_of(X, N), *y = wf_like(a), *dx = wf_like(a);
    const struct {
        wf_rule rule;
        bool forward;
        wf_status status;
        const char *text;
    } row[] = {
        { *WF_CUSTOM_RULE(.name = "fold", .call = same, .jvp = cube_forward), false, WF_ERR_UNSUPPORTED,
          "wf_grad: the rule 'fold' has no .vjp" },
        { *WF_CUSTOM_RULE(.name = "fold", .call = same, .vjp = cube_back), true, WF_ERR_UNSUPPORTED,
          "wf_jvp: the rule 'fold' has no .jvp" },
        { *WF_CUSTOM_RULE(.name = "nothing"), false, WF_ERR_ARG, "the rule has no .call" },
        { *WF_CUSTOM_RULE(.call = same, .outs = 99), false, WF_ERR_ARG, "1 to 15 outputs" },
        { *WF_CUSTOM_RULE(.name = "wide", .call = same, .vjp = wrong_shape), false, WF_ERR_SHAPE,
          "by rule 'wide' of shape (3) does not fit that of its value, (4)" },
        { *WF_CUSTOM_RULE(.name = "open", .call = left_open), false, WF_ERR_CONTRACT, "leaves a block open" },
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; ++k) {
        wf_val v[15], d;
        wf_graph *g = wf_begin(ctx);
        wf_val x = wf_in(g, a);
        wf_custom(&row[k].rule, WF_VALS(x), v);
        if (row[k].forward)
            wf_jvp(WF_VALS(v[0]), WF_VALS(x), WF_VALS(1), &d);
        else
            wf_grad(total(v[0]), WF_VALS(x), &d);
        wf_out(g, y, d);
        REFUSED(ctx, wf_run(g), row[k].status, row[k].text);
    }
    wf_val v;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_custom(WF_CUSTOM_RULE(.name = "table", .call = too_long, .vjp = reads_another, .user = other),
              WF_VALS(wf_in(g, a)), &v);
    wf_out(g, y, v);
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(other), WF_ARRAYS(a), WF_ARRAYS(dx)), WF_ERR_UNSUPPORTED,
            "rule 'table' reads an array that the operator does not");
    g = wf_begin(ctx);
    wf_out(g, y, wf_replace_gradient(wf_in(g, a), wf_broadcast(wf_in(g, a), WF_SHAPE(2, N))));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "does not broadcast to that of the first");
    g = wf_begin(ctx);
    wf_out(g, y, wf_replace_gradient(wf_in(g, a), wf_cast(wf_in(g, a), WF_C128)));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "one of the two values is complex");
    assert_true(wf_val_number(wf_replace_gradient(2, 3), NULL, NULL));
    wf_release(a);
    wf_release(other);
    wf_release(y);
    wf_release(dx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roundings),        cmocka_unit_test(broadcasts),     cmocka_unit_test(complex_values),
        cmocka_unit_test(unused),           cmocka_unit_test(graphs),         cmocka_unit_test(other_than_the_value),
        cmocka_unit_test(outputs),          cmocka_unit_test(wanted_outputs), cmocka_unit_test(points_and_loops),
        cmocka_unit_test(operators),        cmocka_unit_test(tapes),          cmocka_unit_test(evaluations),
        cmocka_unit_test(broadcast_inputs), cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
