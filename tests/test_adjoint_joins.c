/* test_adjoint_joins.c - derivatives of joins that the program records, beside closed forms: mean and variance, the
 * logarithm of a sum of exponentials, the place of a maximum, products of complex numbers; on tapes, too.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include <complex.h>

static void expect(wf_array *a, const double *want)
{
    double *got = contents_as(a, WF_F64);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(fabs(got[i] - want[i]) <= 1e-11 * (1 + fabs(want[i]))))
            fail_msg("element %d is %.17g and should be %.17g", (int)i, got[i], want[i]);
    free(got);
}

static wf_array *random_array(wf_shape shape, uint64_t *random)
{
    double at[4096];
    for (int64_t i = 0; i < shape.dim[0] * (shape.rank > 1 ? shape.dim[1] : 1); ++i)
        at[i] = test_random_number(random);
    return array_of(ctx, WF_F64, shape, at);
}

/* Welford, merged by Chan's rule: variance and mean, times a factor that WF_SECTION_POST reads, and a plain sum of
 * squares. */
static wf_graph *variance(wf_array *x, wf_array *factor, wf_array *y, wf_axes axes)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(x), .reduce = axes);
    wf_var n = wf_reduced(g, WF_I64, 0, WF_JOIN_CUSTOM), mu = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM),
           m2 = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM), squares = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_val v = wf_in(g, x), d = wf_sub(v, mu);
    wf_inc(n, 1);
    wf_inc(mu, wf_div(d, wf_cast(n, WF_F64)));
    wf_inc(m2, wf_mul(d, wf_sub(v, mu)));
    wf_inc(squares, wf_mul(v, v));
    wf_section(g, WF_SECTION_JOIN);
    wf_val na = wf_cast(n, WF_F64), nb = wf_cast(wf_other(n), WF_F64), total = wf_add(na, nb),
           e = wf_sub(wf_other(mu), mu), w = wf_div(nb, wf_max(total, 1));
    wf_inc(m2, wf_add(wf_other(m2), wf_mul(wf_mul(e, e), wf_mul(na, w))));
    wf_inc(mu, wf_mul(e, w));
    wf_inc(n, wf_other(n));
    wf_section(g, WF_SECTION_POST);
    wf_val var = wf_div(m2, wf_sub(wf_cast(n, WF_F64), 1));
    wf_out(g, y, wf_add(wf_mul(wf_in(g, factor), wf_add(var, mu)), squares));
    return g;
}

static void check_variance(int64_t h, int64_t w, wf_axes axes)
{
    uint64_t random = (uint64_t)(h * 100 + w);
    const wf_shape kept = WF_SHAPE(axes & 1 ? 1 : h, axes & 2 ? 1 : w);
    const int64_t n = kept.dim[0] * kept.dim[1], each = h * w / n;
    wf_array *x = random_array(WF_SHAPE(h, w), &random), *factor = random_array(kept, &random);
    wf_array *up = random_array(kept, &random), *dir = random_array(WF_SHAPE(h, w), &random);
    wf_array *y = wf_like(up), *dy = wf_like(up), *gx = wf_like(x), *gf = wf_like(up);
    double *x0 = contents(x), *f0 = contents(factor), *up0 = contents(up), *dir0 = contents(dir);
    double mean[4096] = { 0 }, sum[4096] = { 0 }, want[4096], along[4096] = { 0 }, by_factor[4096];
    for (int64_t i = 0; i < h * w; ++i) {
        const int64_t k = (axes & 1 ? 0 : i / w * kept.dim[1]) + (axes & 2 ? 0 : i % w);
        mean[k] += x0[i] / (double)each;
    }
    for (int64_t i = 0; i < h * w; ++i) {
        const int64_t k = (axes & 1 ? 0 : i / w * kept.dim[1]) + (axes & 2 ? 0 : i % w);
        const double d = x0[i] - mean[k];
        const double slope = f0[k] * (2 * d / (double)(each - 1) + 1 / (double)each) + 2 * x0[i];
        sum[k] += d * d;
        want[i] = up0[k] * slope;
        along[k] += slope * dir0[i];
    }
    for (int64_t k = 0; k < n; ++k)
        by_factor[k] = up0[k] * (sum[k] / (double)(each - 1) + mean[k]);
    OK(ctx,
       wf_adjoint(variance(x, factor, y, axes), WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(x, factor), WF_ARRAYS(gx, gf)));
    expect(gx, want);
    expect(gf, by_factor);
    OK(ctx, wf_tangent(variance(x, factor, y, axes), WF_ARRAYS(x), WF_ARRAYS(dir), WF_ARRAYS(y), WF_ARRAYS(dy)));
    expect(dy, along);
    free(x0), free(f0), free(up0), free(dir0);
    wf_array *const used[] = { x, factor, up, dir, y, dy, gx, gf };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* Extents around powers of the number of elements that are joined at once. */
static void moments(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = { { 2, 2 }, { 3, 9 }, { 8, 5 }, { 17, 64 }, { 2, 73 }, { 65, 63 } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (wf_axes axes = 1; axes < 4; ++axes)
            check_variance(shapes[i][0], shapes[i][1], axes);
}

/* log sum exp as the largest value and the sum of exp(x - largest). Partial results begin with -inf, which has no
 * difference with itself. */
static wf_graph *log_sum_exp(wf_array *x, wf_array *y)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(x), .reduce = WF_AXES(1));
    wf_var most = wf_reduced(g, WF_F64, -INFINITY, WF_JOIN_CUSTOM), sum = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM);
    wf_val v = wf_in(g, x), old = wf_get(most), top = wf_max(old, v), before = wf_get(sum);
    wf_set(most, top);
    wf_set(sum,
           wf_add(wf_select(wf_gt(before, 0), wf_mul(before, wf_exp(wf_sub(old, top))), 0), wf_exp(wf_sub(v, top))));
    wf_section(g, WF_SECTION_JOIN);
    wf_val a = wf_get(most), b = wf_get(wf_other(most)), s = wf_get(sum), t = wf_get(wf_other(sum));
    wf_val both = wf_max(a, b);
    wf_set(most, both);
    wf_set(sum, wf_add(wf_select(wf_gt(s, 0), wf_mul(s, wf_exp(wf_sub(a, both))), 0),
                       wf_select(wf_gt(t, 0), wf_mul(t, wf_exp(wf_sub(b, both))), 0)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, y, wf_add(most, wf_log(sum)));
    return g;
}

/* The gradient is softmax, also where values are equal and where exp overflows. On a tape the operator is one of two. */
static void exponentials(void **state)
{
    (void)state;
    enum { H = 3, W = 70 };
    uint64_t random = 7;
    double x0[H * W], want[H * W], up0[H] = { 1, -2, 0.5 }, twice[H * W];
    for (int i = 0; i < H * W; ++i)
        x0[i] = i / W == 0 ? 1000 : i / W == 1 ? 3 * test_random_number(&random) : (double)(i % 9) - 800;
    for (int r = 0; r < H; ++r) {
        double sum = 0, most = -INFINITY;
        for (int i = 0; i < W; ++i)
            most = fmax(most, x0[r * W + i]);
        for (int i = 0; i < W; ++i)
            sum += exp(x0[r * W + i] - most);
        for (int i = 0; i < W; ++i) {
            want[r * W + i] = up0[r] * exp(x0[r * W + i] - most) / sum;
            twice[r * W + i] = 2 * (most + log(sum)) * exp(x0[r * W + i] - most) / sum;
        }
    }
    wf_array *x = array_of(ctx, WF_F64, WF_SHAPE(H, W), x0), *up = array_of(ctx, WF_F64, WF_SHAPE(H), up0);
    wf_array *y = wf_like(up), *grad = wf_like(x);
    OK(ctx, wf_adjoint(log_sum_exp(x, y), WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect(grad, want);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_run(log_sum_exp(x, y)));
    wf_graph *g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_mul(wf_in(g, y), wf_in(g, y)), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    OK(ctx, wf_tape_grad(tape, loss, WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect(grad, twice);
    wf_tape_free(tape);
    wf_array *const used[] = { x, up, y, grad, loss };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* A frozen adjoint of an operator of elements is replayed with other contents, among them rows of which the largest value
 * is elsewhere; the bits are those of an adjoint of its own, with any number of threads. */
static void frozen(void **state)
{
    (void)state;
    enum { H = 3, W = 300 };
    uint64_t random = 11;
    wf_array *x = random_array(WF_SHAPE(H, W), &random), *other = random_array(WF_SHAPE(H, W), &random);
    wf_array *up = random_array(WF_SHAPE(H), &random), *y = wf_like(up), *grad = wf_like(x), *again = wf_like(x);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(x)));
    OK(ctx, wf_adjoint(log_sum_exp(x, y), WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(x), WF_ARRAYS(grad)));
    wf_frozen *sequence = wf_freeze_end(ctx);
    assert_non_null(sequence);
    OK(ctx, wf_frozen_replay(sequence, WF_ARRAYS(other)));
    const int threads = wf_get_threads(ctx);
    if (threads > 1)
        wf_set_threads(ctx, threads + 1);
    OK(ctx, wf_adjoint(log_sum_exp(other, y), WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(other), WF_ARRAYS(again)));
    wf_set_threads(ctx, threads);
    double *got = contents(grad), *want = contents(again), *seeds = contents(up);
    assert_memory_equal(got, want, sizeof(double) * H * W);
    for (int r = 0; r < H; ++r) { /* softmax */
        double sum = 0;
        for (int i = 0; i < W; ++i)
            sum += got[r * W + i];
        assert_true(fabs(sum - seeds[r]) <= 1e-13);
    }
    free(got), free(want), free(seeds);
    wf_frozen_free(sequence);
    wf_array *const used[] = { x, other, up, y, grad, again };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* Hooks of an operator, whose call joins partial results, too, on a tape: the product of all x + 1, minus 1. */
static void product_call(const wf_site *s)
{
    wf_set(s->reduced[0], wf_add(s->reduced[0], wf_add(s->in[0], wf_mul(s->reduced[0], s->in[0]))));
}

static void hooks(void **state)
{
    (void)state;
    enum { N = 20 };
    uint64_t random = 5;
    const wf_reduced_spec spec = { WF_F64, WF_JOIN_CUSTOM, 0 };
    wf_array *x = random_array(WF_SHAPE(N), &random), *y = wf_full(ctx, WF_F64, WF_SHAPE(1), 0), *grad = wf_like(x);
    double *at = contents(x), want[N];
    for (int i = 0; i < N; ++i) {
        want[i] = 1;
        for (int k = 0; k < N; ++k)
            want[i] *= k == i ? 1 : at[k] + 1;
    }
    free(at);
    wf_tape *tape = wf_tape_begin(ctx, WF_ARRAYS(x));
    OK(ctx, wf_apply(ctx, WF_ARRAYS(x), WF_ARRAYS(y),
                     WF_OPERATOR(.call = product_call, .reduced = &spec, .n_reduced = 1), .reduce = WF_ALL_AXES));
    OK(ctx, wf_tape_grad(tape, y, WF_ARRAYS(x), WF_ARRAYS(grad)));
    expect(grad, want);
    wf_tape_free(tape);
    wf_array *const used[] = { x, y, grad };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* Products of complex numbers, right beside zeros: the derivative of Re(conj(up) * product). */
static void complex_products(void **state)
{
    (void)state;
    enum { H = 4, W = 11 };
    uint64_t random = 3;
    double complex z[H * W], up[H], want[H * W], first = 2 - I;
    for (int i = 0; i < H * W; ++i)
        z[i] = 1.5 * (test_random_number(&random) + I * test_random_number(&random));
    z[W + 3] = 0, z[2 * W] = z[2 * W + 9] = 0;
    for (int r = 0; r < H; ++r) {
        up[r] = test_random_number(&random) + I * test_random_number(&random);
        for (int i = 0; i < W; ++i) {
            double complex others = first;
            for (int k = 0; k < W; ++k)
                others *= k == i ? 1 : z[r * W + k];
            want[r * W + i] = up[r] * conj(others);
        }
    }
    wf_array *a = array_of(ctx, WF_C128, WF_SHAPE(H, W), z), *u = array_of(ctx, WF_C128, WF_SHAPE(H), up);
    wf_array *y = wf_like(u), *grad = wf_like(a);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = WF_AXES(1));
    wf_val initial = wf_complex(wf_const(g, WF_F64, 2), wf_const(g, WF_F64, -1));
    wf_var all = wf_reduced(g, WF_C128, initial, WF_JOIN_MUL);
    wf_set(all, wf_mul(all, wf_in(g, a)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, y, all);
    OK(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(u), WF_ARRAYS(a), WF_ARRAYS(grad)));
    double complex *got = contents(grad);
    for (int i = 0; i < H * W; ++i)
        assert_true(cabs(got[i] - want[i]) <= 1e-12 * (1 + cabs(want[i])));
    free(got);
    wf_array *const used[] = { a, u, y, grad };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

/* The first of the largest values of |x|, with its sign and place: the derivative goes to this one element. Rows may have
 * no element, and a row of one is its own result. */
static wf_graph *largest(wf_array *x, wf_array *y, wf_array *at)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(x), .reduce = WF_AXES(0));
    wf_var best = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM), place = wf_reduced(g, WF_I64, -1, WF_JOIN_CUSTOM);
    wf_val v = wf_in(g, x), i = wf_index(g, 0);
    wf_val size = wf_abs(v), have = wf_abs(best);
    WF_IF (g, wf_or(wf_gt(size, have), wf_and(wf_eq(size, have), wf_lt(i, place)))) {
        wf_set(best, v);
        wf_set(place, i);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_JOIN);
    wf_val a = wf_get(best), b = wf_get(wf_other(best)), p = wf_get(place), q = wf_get(wf_other(place));
    wf_val takes = wf_or(wf_gt(wf_abs(b), wf_abs(a)), wf_and(wf_eq(wf_abs(a), wf_abs(b)), wf_lt(q, p)));
    wf_set(best, wf_select(takes, b, a));
    wf_set(place, wf_select(takes, q, p));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, y, wf_mul(best, best));
    wf_out(g, at, place);
    return g;
}

static void places(void **state)
{
    (void)state;
    static const int64_t rows[] = { 0, 1, 2, 20 };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        const int64_t n = rows[k];
        double x0[60], want[60] = { 0 };
        for (int64_t i = 0; i < 3 * n; ++i)
            x0[i] = (double)((i * 7) % 13) - 6;
        for (int c = 0; c < 3 && n; ++c) {
            int64_t best = c;
            for (int64_t i = c; i < 3 * n; i += 3)
                best = fabs(x0[i]) > fabs(x0[best]) ? i : best;
            want[best] = 2 * x0[best];
        }
        wf_array *x = n ? array_of(ctx, WF_F64, WF_SHAPE(n, 3), x0) : wf_full(ctx, WF_F64, WF_SHAPE(0, 3), 0);
        wf_array *up = wf_full(ctx, WF_F64, WF_SHAPE(3), 1), *y = wf_full(ctx, WF_F64, WF_SHAPE(3), 7);
        wf_array *at = wf_full(ctx, WF_I64, WF_SHAPE(3), 0), *grad = wf_like(x);
        OK(ctx, wf_adjoint(largest(x, y, at), WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(x), WF_ARRAYS(grad)));
        if (n)
            expect(grad, want);
        OK(ctx, wf_tangent(largest(x, y, at), WF_ARRAYS(x), WF_ARRAYS(x), WF_ARRAYS(y), WF_ARRAYS(y)));
        double along[3] = { 0 };
        for (int64_t i = 0; i < 3 * n; ++i)
            along[i % 3] += want[i] * x0[i];
        expect(y, along);
        wf_array *const used[] = { x, up, y, at, grad };
        for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
            wf_release(used[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments), cmocka_unit_test(exponentials),     cmocka_unit_test(frozen),
        cmocka_unit_test(hooks),   cmocka_unit_test(complex_products), cmocka_unit_test(places),
    };
    return RUN_ON_ALL(tests);
}
