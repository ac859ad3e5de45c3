/* test_tape_rules.c - functions of arrays whose derivatives the program gives (wf_custom_arrays), on a tape: code of the
 * host, in place, with integer results; what is refused.
 *
 * ctest: devices
 */
#include "close_numbers.h"

enum { N = 5 };
static const double X[N] = { 0.5, -2, 1.5, 3, -0.25 }, WEIGHT[N] = { 1, -1, 2, 0.5, 3 };

/* The loss sum(weight y). */
static wf_array *weighted(wf_array *y)
{
    wf_array *w = line_of(WEIGHT, N);
    wf_graph *g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(wf_in(g, y), wf_in(g, w)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    wf_release(w);
    return loss;
}

/* ---- y = x^3, by runs of elements on the host ---- */
static void cube_run(const wf_chunk *c, void *user)
{
    (void)user;
    const double *x = c->in[0];
    double *y = c->out[0];
    for (int64_t i = 0; i < c->n; ++i)
        y[i] = x[i] * x[i] * x[i];
}
static wf_status cube(void *user, wf_arrays in, wf_arrays out)
{
    ++*(int *)user;
    return wf_host_apply(ctx, in, out, cube_run, NULL);
}
static wf_status cube_back(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    (void)out;
    *(int *)user += 100;
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, in.at[0]);
    wf_out(g, grads.at[0], wf_mul(wf_mul(3, wf_mul(x, x)), wf_in(g, upstream.at[0])));
    return wf_run(g);
}

static void host_code(void **state)
{
    (void)state;
    int calls = 0;
    const wf_array_rule rule = { .size = sizeof rule, .name = "cube", .call = cube, .vjp = cube_back, .user = &calls };
    wf_array *x = line_of(X, N), *y = wf_like(x), *grad = wf_like(x), *other = line_of(X, N);
    double want[2][N];
    for (int i = 0; i < N; ++i) {
        want[0][i] = pow(X[i], 9);
        want[1][i] = WEIGHT[i] * 9 * pow(X[i], 8);
    }
    OK(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(x), WF_ARRAYS(y))); /* no tape: only the call */
    assert_int_equal(calls, 1);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(other), WF_ARRAYS(other))); /* nothing that is watched */
    OK(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(x), WF_ARRAYS(y)));
    OK(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(y), WF_ARRAYS(y))); /* in place */
    expect_close(y, want[0], 1e-12);
    wf_array *loss = weighted(y);
    for (int again = 0; again < 2; ++again) {
        calls = 0;
        OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
        assert_int_equal(calls, 200);
        expect_close(grad, want[1], 1e-12);
    }
    wf_tape_free(tape);
    wf_array *const used[] = { x, y, grad, other, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* ---- y = x in ascending order, and where each element was ---- */
static wf_status sort(void *user, wf_arrays in, wf_arrays out)
{
    (void)user;
    double x[N];
    int32_t from[N];
    wf_status status = wf_download(in.at[0], x, sizeof x);
    for (int i = 0; i < N; ++i)
        from[i] = i;
    for (int i = 1; i < N; ++i)
        for (int k = i; k > 0 && x[k] < x[k - 1]; --k) {
            double t = x[k];
            int32_t f = from[k];
            x[k] = x[k - 1];
            from[k] = from[k - 1];
            x[k - 1] = t;
            from[k - 1] = f;
        }
    if (status == WF_OK)
        status = wf_upload(out.at[0], x, sizeof x);
    return status == WF_OK ? wf_upload(out.at[1], from, sizeof from) : status;
}
static wf_status sort_back(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    (void)user;
    (void)in;
    double up[N], grad[N];
    int32_t from[N];
    assert_null(grads.at[1]); /* nobody asks for the derivative with respect to a constant */
    wf_status status = wf_download(upstream.at[0], up, sizeof up);
    if (status == WF_OK)
        status = wf_download(out.at[1], from, sizeof from);
    for (int i = 0; i < N && status == WF_OK; ++i)
        grad[from[i]] = up[i];
    return status == WF_OK ? wf_upload(grads.at[0], grad, sizeof grad) : status;
}

static void integers(void **state)
{
    (void)state;
    static const int rank[N] = { 2, 0, 3, 4, 1 };
    const wf_array_rule rule = { .size = sizeof rule, .name = "sort", .call = sort, .vjp = sort_back };
    wf_array *x = line_of(X, N), *constant = line_of(X, N), *y = wf_like(x), *grad = wf_like(x);
    wf_array *from = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
    double want[N];
    for (int i = 0; i < N; ++i)
        want[i] = WEIGHT[rank[i]] * 2 * X[i];
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(x, constant), WF_ARRAYS(y, from)));
    OK(ctx, wf_download(from, &(int32_t[N]){ 0 }, N * sizeof(int32_t))); /* results may be looked at */
    wf_graph *g = wf_begin(ctx);
    wf_out(g, y, wf_mul(wf_in(g, y), wf_in(g, y)));
    OK(ctx, wf_run(g));
    wf_array *loss = weighted(y);
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect_close(grad, want, 1e-12);
    wf_tape_free(tape);
    wf_array *const used[] = { x, constant, y, grad, from, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* An array that a rule overwrites without reading what is watched has the derivative 0 before. */
static wf_status ones(void *user, wf_arrays in, wf_arrays out)
{
    (void)user;
    (void)in;
    static const double one[N] = { 1, 1, 1, 1, 1 };
    return wf_upload(out.at[0], one, sizeof one);
}

static void overwritten(void **state)
{
    (void)state;
    const wf_array_rule rule = { .size = sizeof rule, .name = "ones", .call = ones };
    wf_array *x = line_of(X, N), *grad = wf_like(x), *c = line_of(X, N);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_custom_arrays(ctx, &rule, WF_ARRAYS(c), WF_ARRAYS(x)));
    wf_array *loss = weighted(x);
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect_close(grad, (const double[N]){ 0 }, 1e-12);
    wf_tape_free(tape);
    wf_array *const used[] = { x, grad, c, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

static wf_status fails(void *user, wf_arrays in, wf_arrays out)
{
    (void)user;
    (void)in;
    (void)out;
    return WF_ERR_IO;
}

static void refused(void **state)
{
    (void)state;
    int calls = 0;
    const wf_array_rule one_way = { .size = sizeof one_way, .name = "one-way", .call = cube, .user = &calls };
    const wf_array_rule none = { .size = sizeof none }, bad = { .size = sizeof bad, .name = "bad", .call = fails };
    wf_array *x = line_of(X, N), *y = wf_like(x), *grad = wf_like(x);
    REFUSED(ctx, wf_custom_arrays(ctx, &none, WF_ARRAYS(x), WF_ARRAYS(y)), WF_ERR_ARG, "the rule has no .call");
    REFUSED(ctx, wf_custom_arrays(ctx, &one_way, WF_ARRAYS(x), WF_NO_ARRAYS), WF_ERR_ARG, "no outputs");
    REFUSED(ctx, wf_custom_arrays(ctx, &one_way, WF_ARRAYS(x, NULL), WF_ARRAYS(y)), WF_ERR_ARG, "input 1 is NULL");
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_custom_arrays(ctx, &one_way, WF_ARRAYS(x), WF_ARRAYS(y)));
    wf_array *loss = weighted(y);
    REFUSED(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_UNSUPPORTED,
            "the rule 'one-way' has no .vjp");
    assert_int_equal(wf_custom_arrays(ctx, &bad, WF_ARRAYS(x), WF_ARRAYS(y)), WF_ERR_IO);
    REFUSED(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)), WF_ERR_IO, "bad failed");
    wf_tape_free(tape);
    wf_array *const used[] = { x, y, grad, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_code),
        cmocka_unit_test(integers),
        cmocka_unit_test(overwritten),
        cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
