/* test_text_derivatives.c - grad, tangent and stop in operator text: compared with formulas in plain C; texts whose derivative
 * would be wrong are refused, with the place.
 *
 * ctest: devices values
 */
#include <math.h>
#include "text_memory.h"
#include "text_numbers.h"

enum { H = 5, W = 7, N = H * W };
static double av[N], tv[N]; /* elements of the arrays a and t; f32 holds them */

static wf_array *make(double *v, int first, int step)
{
    float f[N];
    for (int i = 0; i < N; i++)
        v[i] = f[i] = (float)((first + i * step) % 41) * 0.125f - 2.4375f; /* never 0 */
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(H, W));
    OK(ctx, wf_upload(a, f, sizeof f));
    return a;
}

/* Compares result `name` of the text with want[n]. */
static void check(const char *text, const char *name, const double *want, int n)
{
    wf_array *a = make(av, 0, 17), *t = make(tv, 5, 29);
    expect_result(text, WF_NAMED(a, t), name, want, n, 1e-5);
    wf_release(a);
    wf_release(t);
}

static void set_inputs(void)
{
    wf_array *a = make(av, 0, 17), *t = make(tv, 5, 29);
    wf_release(a);
    wf_release(t);
}

static void test_grad(void **state)
{
    (void)state;
    double da[N], dt[N], want[N], mean = 0, seed[N];
    set_inputs();
    for (int i = 0; i < N; i++) {
        da[i] = 2 * (sin(av[i]) - tv[i]) * cos(av[i]);
        dt[i] = -2 * (sin(av[i]) - tv[i]);
        mean += av[i] / N;
        seed[i] = tv[i] * cos(av[i]);
    }
    check("L = sum((sin(a) - t)**2); g = grad(L, a)", "g", da, N);
    check("L = sum((sin(a) - t)**2); g, h = grad(L, a, t)", "g", da, N);
    check("L = sum((sin(a) - t)**2); g, h = grad(L, a, t)", "h", dt, N);
    check("grad(sum((sin(a) - t)**2), t)", "out", dt, N);
    check("u = sin(a); L = sum((u - t)**2); grad(L, u)*cos(a)", "out", da, N); /* with respect to a computed name */
    check("a, t = grad(sum((sin(a) - t)**2), a, t); out = t", "out", dt, N);   /* both are computed first */
    check("grad(sin(a), a; t)", "out", seed, N);
    check("tangent(sin(a), a, t)", "out", seed, N);
    check("grad(sum(sin(a)*stop(t*a)), a) / a", "out", seed, N);
    check("grad(sum(t*replace_gradient(round(a), sin(a))), a)", "out", seed, N);
    check("grad(sum(t*replace_gradient(0*a + median(a), sin(a))), a)", "out", seed,
          N); /* median is taken for a constant */
    check("g, h = grad(sin(a) + t, a, t; t); out = g*h/t", "out", seed, N);
    for (int i = 0; i < N; i++)
        want[i] = cos(av[i]) * tv[i] + 2 * av[i];
    check("tangent(sin(a) + t**2, a, t, t, a/t)", "out", want, N);
    for (int i = 0; i < N; i++)
        want[i] = 8 * av[i] * tv[i];
    check("q = a*a; q = q*q; g = grad(sum(q), a); grad(sum(g*t), a) / (1.5*a)", "out", want, N); /* of a derivative */
    for (int i = 0; i < N; i++)
        want[i] = 2 * (av[i] - mean); /* the mean's share is 0 */
    check("m = mean(a); L = sum((a - m)**2); grad(L, a)", "out", want, N);
    for (int i = 0; i < N; i++)
        want[i] = 6 * av[i] * tv[i];
    check("g = grad(a**3, a; 1); tangent(g, a, t)", "out", want, N);
    for (int i = 0; i < N; i++)
        want[i] = av[i] > 0 ? tv[i] : 0;
    check("grad(sum(a > 0 ? a * t : 0), a)", "out", want, N);
    for (int i = 0; i < N; i++)
        want[i] = 0;
    check("grad(sum(t), a)", "out", want, N);
    check("grad(sum(floor(a)), a)", "out", want, N);
    for (int i = 0; i < N; i++) {
        int x = i % W;
        want[i] = (x > 0 ? 2 * (av[i] - av[i - 1]) : 0) + (x < W - 1 ? 2 * (av[i] - av[i + 1]) : 0);
    }
    check("L = sum((a[y, x+1; clamp] - a)**2); grad(L, a)", "out", want, N); /* reads by index */
    for (int i = 0; i < N; i++)
        want[i] *= 4;
    check("b = 2*a; L = sum((b[y, x+1; clamp] - b)**2); grad(L, a)", "out", want, N);
}

/* Texts with programs and functions that have no derivative, differentiated with respect to names that these do not use.
 */
static void test_parts(void **state)
{
    (void)state;
    double want[N], sum = 0;
    set_inputs();
    for (int i = 0; i < N; i++)
        want[i] = (i % W ? av[i - 1] : 0) + av[i] + (i % W < W - 1 ? av[i + 1] : 0);
    const char *const program = "f32 s = 0; for (int k = -1; k <= 1; k++) s += a[y, x+k]\n";
    char text[400];
    snprintf(text, sizeof text, "%sL = sum(s*t); grad(L, t)", program);
    check(text, "out", want, N);
    snprintf(text, sizeof text, "g = grad(sum(a*t), t)\n%sg = s + 0*g; out = g", program);
    check(text, "out", want, N);
    snprintf(text, sizeof text, "%su = s; g, h = grad(sum(u*t), t, u); out = g + h - t", program);
    check(text, "out", want, N);
    for (int i = 0; i < N; i++)
        sum += want[i] * want[i];
    snprintf(text, sizeof text, "%sout = sum(grad(sum(s*t), t)*s)", program);
    check(text, "out", &sum, 1);
    for (int i = 0; i < N; i++)
        want[i] = 3 * tv[i];
    check("m = median(a); L = sum((m + t)*a*0 + t**2*1.5); grad(L, t)", "out", want, N);
    check("u = 3*t; m = stop(median(u)); grad(sum(u*a), a) + 0*m", "out", want, N);
    check("m = stop(median(a)); L = sum(a*t*3 + m); grad(L, a)", "out", want, N);
    check("m = sum(sort(a; -1)); L = sum(a*t*3) + stop(m); grad(L, a)", "out", want, N);
    check("out = grad(sum(1.5*t*t), t); if (t > 1000) out = 1", "out", want, N); /* computed before the program */
}

/* Arrays that a text writes, in one recording. */
static void test_arguments(void **state)
{
    (void)state;
    wf_array *a = make(av, 0, 17), *t = make(tv, 5, 29), *c = wf_like(a), *g = wf_like(a),
             *s = wf_full(ctx, WF_F32, WF_SHAPE(1), 1);
    float got[N], one;
    OK(ctx, wf_text(ctx, "c = t*a; L = sum(c*c); g = grad(L, a)", c, t, a, g));
    OK(ctx, wf_download(g, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_true(fabs(got[i] - 2 * tv[i] * tv[i] * av[i]) < 1e-4);
    OK(ctx,
       wf_text(ctx, "L = sum(s*a*t + s**2); s = grad(L, s)", s, t, a)); /* a parameter is an array of one element */
    OK(ctx, wf_download(s, &one, sizeof one));
    double want = 2 * N;
    for (int i = 0; i < N; i++)
        want += av[i] * tv[i];
    assert_true(fabs(one - want) < 1e-3);
    /* as an expression of a recording */
    wf_graph *graph = wf_begin(ctx);
    wf_val L = wf_sum(wf_mul(wf_in(graph, a), wf_in(graph, t)), WF_ALL_AXES);
    wf_out(graph, g, wf_expr(graph, "2*grad(L, a)", WF_NAMED(L, a)));
    OK(ctx, wf_run(graph));
    OK(ctx, wf_download(g, got, sizeof got));
    for (int i = 0; i < N; i++)
        assert_true(got[i] == 2 * (float)tv[i]);
    wf_release(a);
    wf_release(t);
    wf_release(c);
    wf_release(g);
    wf_release(s);
}

/* ---- mistakes: the message, the column of the caret (from 0), the status ---- */
static const struct {
    const char *text, *says;
    int column;
    wf_status status;
} wrong[] = {
    { "grad(sum(i*i), i)", "sum is i64; only floats and complex numbers have derivatives: write f32(...)", 5,
      WF_ERR_DTYPE },
    { "L = sum(i*a); grad(L, i)",
      "i is i32; only floats and complex numbers have derivatives: write before it u = f32(i)", 22, WF_ERR_DTYPE },
    { "u = a*a; grad(u, a)", "grad of a result of shape (5, 7), which must have one element", 14, WF_ERR_SHAPE },
    { "grad(sum(complex(a, a)), a)", "grad of a complex number", 5, WF_ERR_DTYPE },
    { "grad(sum(a*a), b)", "unknown name 'b'", 15, WF_ERR_SYNTAX },
    { "grad(sum(a*a), 2*a)", "grad is with respect to names", 16, WF_ERR_SYNTAX },
    { "grad(sum(a*n), n)", "n is a number here", 15, WF_ERR_ARG },
    { "grad(2, a)", "is a number here", 5, WF_ERR_ARG },
    { "grad(a)", "grad takes 2 to 16 arguments, not 1", 0, WF_ERR_SYNTAX },
    { "grad(a; a)", "grad needs the names", 0, WF_ERR_SYNTAX },
    { "g = grad(sum(a), a, i)", "grad with respect to 2 names gives as many values", 4, WF_ERR_SYNTAX },
    { "g, h = grad(sum(a), a)", "2 names take the derivatives with respect to as many", 7, WF_ERR_SYNTAX },
    { "g, h = a", "2 names take the derivatives with respect to as many", 5, WF_ERR_SYNTAX },
    { "g, 2 = grad(sum(a), a, a)", "expected a name, not '2'", 3, WF_ERR_SYNTAX },
    { "if (a > 0) { g, h = grad(sum(a), a, a) }", "several names are assigned outside of blocks", 13, WF_ERR_SYNTAX },
    { "tangent(a, a)", "tangent takes 3 to 15 arguments, not 2", 0, WF_ERR_SYNTAX },
    { "tangent(a, a, a, a)", "each name needs the direction", 0, WF_ERR_SYNTAX },
    { "grad(a*a, a; i[0, x; clamp] + b)", "unknown name 'b'", 30, WF_ERR_SYNTAX },
    { "grad(a*a, a; 1, 2)", "a seed is one value", 14, WF_ERR_SYNTAX },
    { "stop(a, a)", "stop takes 1 argument, not 2", 0, WF_ERR_SYNTAX },
    { "stop(a; 0)", "stop has no axes", 0, WF_ERR_SYNTAX },
    { "replace_gradient(a)", "replace_gradient takes 2 arguments, not 1", 0, WF_ERR_SYNTAX },
    { "replace_gradient(a, complex(a, a))", "one of the two values is complex", 0, WF_ERR_DTYPE },
    { "replace_gradiant(a, a)", "did you mean 'replace_gradient'", 0, WF_ERR_SYNTAX },
    { "grad(sum(a*replace_gradient(a, median(a))), a)", "median is computed", 0, WF_ERR_UNSUPPORTED },
    { "gradd(a, a)", "did you mean 'grad'", 0, WF_ERR_SYNTAX },
    /* values whose operands the derivative does not see */
    { "f = abs(fft(a)); L = sum(f*f); grad(L, a)", "fft is computed before the recording goes on", 31,
      WF_ERR_UNSUPPORTED },
    { "b = a*2; c = rotate(b, 1.0); d = c + 1; grad(sum(d), a)", "rotate is computed before", 40, WF_ERR_UNSUPPORTED },
    { "m = median(a); tangent(a*m, a, a)", "median is computed before", 15, WF_ERR_UNSUPPORTED },
    { "b = a*a; m = median(b); L = sum(b); grad(L, a)", "write grad before median", 36, WF_ERR_UNSUPPORTED },
    { "b = a*2; L = sum(b[1.5*y, x; linear]); grad(L, a)", "b is computed before", 39, WF_ERR_UNSUPPORTED },
    { "f32 s = a; L = sum(s*s); grad(L, a)", "s is computed by a part of the text before this one", 25,
      WF_ERR_UNSUPPORTED },
    { "f32 s = a; u = s*2; v = sum(u) + 1; if (v > 0) s = 1; grad(v, a)", "v is computed by a part", 54,
      WF_ERR_UNSUPPORTED },
    { "global f32 h[7] = 0; h[x] += a; L = sum(h*h); grad(L, a)", "h is computed by a part", 46, WF_ERR_UNSUPPORTED },
};

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *a = make(av, 0, 17), *i = wf_full(ctx, WF_I32, WF_SHAPE(H, W), 1);
    double n = 2.5;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const char *want[] = { "out" };
        wf_array *out = NULL;
        wf_clear_error(ctx);
        wf_status status = wf_text_create(ctx, wrong[k].text, WF_NAMED(a, i, n), 0, want, 1, &out);
        const char *message = wf_last_message(ctx);
        char where[32];
        snprintf(where, sizeof where, "line 1, column %d:", wrong[k].column + 1);
        if (status != wrong[k].status || out || !strstr(message, wrong[k].says) || !strstr(message, where))
            fail_msg("%s\ngives %s: %s", wrong[k].text, wf_status_name(status), message);
    }
    wf_clear_error(ctx);
    wf_release(a);
    wf_release(i);
}

static void test_no_memory(void **state)
{
    (void)state;
    wf_array *a = make(av, 0, 17), *t = make(tv, 5, 29);
    make_out_without_memory("m = median(t); f32 s = t; for (int k = 0; k < 2; k++) s += t[y, x+k]\n"
                            "L = sum((a - m)**2 * s); g, h = grad(L, a, s); out = g + h + tangent(a*s, a, t)",
                            WF_NAMED(a, t), 8000);
    wf_release(a);
    wf_release(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grad),     cmocka_unit_test(test_parts),     cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_no_memory),
    };
    return RUN_ON_ALL(tests);
}
