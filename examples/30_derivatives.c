/* Derivatives of a loss, of an operator, of launches on a tape, of a loop and of a rule of one's own, beside closed forms;
 * and a check of a gradient. docs/guide.md shows the recordings word for word. */
#include <math.h>
#include <stdio.h>
#include <weft/optimize.h>
#include <weft/weft.h>

enum { N = 5 };
static const double A[N] = { 0.5, -1, 2.25, 0.125, -0.75 }, B[N] = { 1, 2, -1, 0.5, 3 };
static wf_context *ctx;
static wf_array *a, *b, *da, *out;

/* Returns 1, and says so, if the elements of the array are not those; else 0. */
static int differ(const char *name, const wf_array *array, const double *want)
{
    double got[N];
    if (wf_download(array, got, sizeof got) != WF_OK)
        return 1;
    for (int k = 0; k < N; ++k)
        if (!(fabs(got[k] - want[k]) <= 1e-12 * (1 + fabs(want[k])))) {
            printf("%s: element %d is %.17g and should be %.17g\n", name, k, got[k], want[k]);
            return 1;
        }
    return 0;
}

static int derive_loss(void)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), miss = wf_sub(wf_exp(x), wf_in(g, b)), slope;
    wf_val loss = wf_sum(wf_mul(miss, miss), WF_ALL_AXES);
    wf_grad(loss, WF_VALS(x), &slope);
    wf_out(g, out, wf_sub(x, wf_mul(0.01, slope))); /* a step of descent */
    wf_run(g);

    double want[N];
    for (int k = 0; k < N; ++k)
        want[k] = A[k] - 0.02 * (exp(A[k]) - B[k]) * exp(A[k]);
    return differ("loss", out, want);
}

static int derive_operator(void)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(a));
    wf_val i = wf_index(g, 0);
    wf_write(g, out, wf_add(wf_read(g, a, i), wf_mul(0.5, wf_read_or(g, a, 0, wf_add(i, 1)))), i);
    wf_adjoint(g, WF_ARRAYS(out), WF_ARRAYS(b), WF_ARRAYS(a), WF_ARRAYS(da));

    double want[N];
    for (int k = 0; k < N; ++k)
        want[k] = B[k] + (k ? 0.5 * B[k - 1] : 0);
    return differ("operator", da, want);
}

static int derive_launches(void)
{
    wf_array *y = wf_like(a), *loss = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(a));
    wf_text(ctx, "y = a", a, y);
    for (int k = 0; k < 3; ++k)
        wf_text(ctx, "y = y + sin(y) / 8", y);
    wf_text(ctx, "loss = sum(y * y)", y, loss);
    wf_tape_end(tape);
    wf_tape_grad(tape, loss, WF_ARRAYS(a), WF_ARRAYS(da));
    wf_tape_free(tape);

    wf_release(y);
    wf_release(loss);
    double want[N];
    for (int k = 0; k < N; ++k) {
        double at = A[k], by_a = 1;
        for (int turn = 0; turn < 3; ++turn) {
            by_a *= 1 + cos(at) / 8;
            at += sin(at) / 8;
        }
        want[k] = 2 * at * by_a;
    }
    return differ("launches", da, want);
}

static int derive_loop(void)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), slope;
    wf_var y = wf_local(g, WF_F64, wf_add(wf_abs(x), 0.25));
    WF_WHILE (g, wf_lt(y, 100)) {
        wf_set(y, wf_mul(y, wf_add(y, 1.5)));
    }
    WF_END(g);
    wf_vjp(WF_VALS(y), WF_VALS(1), WF_VALS(x), &slope);
    wf_out(g, da, slope);
    wf_run(g);

    double want[N];
    for (int k = 0; k < N; ++k) {
        double at = fabs(A[k]) + 0.25, by_a = A[k] < 0 ? -1 : 1;
        for (; at < 100; at *= at + 1.5)
            by_a *= 2 * at + 1.5;
        want[k] = by_a;
    }
    return differ("loop", da, want);
}

static void nearest(const wf_rule_site *s) { s->result[0] = wf_round(s->in[0]); }
static void straight_through(const wf_rule_site *s) { s->result[0] = s->seed[0]; }

static int derive_rule(void)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, a), q, slope;
    wf_custom(WF_CUSTOM_RULE(.name = "nearest", .call = nearest, .vjp = straight_through), WF_VALS(x), &q);
    wf_grad(wf_sum(wf_mul(q, wf_in(g, b)), WF_ALL_AXES), WF_VALS(x), &slope);
    wf_out(g, da, slope);
    wf_run(g);

    return differ("rule", da, B);
}

static wf_val misfit(wf_graph *g, const wf_val *p, void *u) { return wf_sum(wf_hypot(p[0], wf_in(g, u)), WF_ALL_AXES); }

static int check_loss(void)
{
    wf_gradient_finding worst = { .size = sizeof worst };
    wf_check_gradient(ctx, WF_ARRAYS(a), misfit, b, &worst);
    if (worst.differs)
        puts(worst.text);

    return worst.differs;
}

int main(void)
{
    ctx = wf_context_new(NULL);
    a = wf_empty(ctx, WF_F64, WF_SHAPE(N));
    b = wf_like(a);
    da = wf_like(a);
    out = wf_like(a);
    wf_upload(a, A, sizeof A);
    wf_upload(b, B, sizeof B);
    int wrong = derive_loss() + derive_operator() + derive_launches() + derive_loop() + derive_rule() + check_loss();
    if (wf_last_status(ctx) != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    wrong += wf_last_status(ctx) != WF_OK;
    wf_release(a);
    wf_release(b);
    wf_release(da);
    wf_release(out);
    wf_context_free(ctx);
    printf("%d of 6 derivatives are wrong\n", wrong);
    return wrong != 0;
}
