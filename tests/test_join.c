/* test_join.c - reductions with custom joins (argmax, the variance by Welford) beside built-in ones, over all axes and
 * some, of any shape. Any number of threads gives the same bits. Hooks, errors.
 *
 * ctest: devices threads
 */
#include "on_devices.h"

static float noise(int64_t i) { return (float)((i * 2654435761u >> 9) % 4001) / 16 - 100; }

static wf_array *noisy(wf_shape shape)
{
    wf_array *a = wf_empty(ctx, WF_F32, shape);
    int64_t n = wf_array_count(a);
    float *x = malloc((size_t)n * sizeof *x + 1);
    assert_non_null(x);
    for (int64_t i = 0; i < n; ++i)
        x[i] = noise(i);
    OK(ctx, wf_upload(a, x, (size_t)n * sizeof *x));
    free(x);
    return a;
}

/* The first of the largest; at < 0: nothing seen yet. */
static void consider(wf_var best, wf_var at, wf_val v, wf_val i)
{
    wf_val better = wf_or(wf_gt(v, best), wf_and(wf_eq(v, best), wf_lt(i, at)));
    wf_val take = wf_and(wf_ge(i, 0), wf_or(wf_lt(at, 0), better));
    wf_set(best, wf_select(take, v, best));
    wf_set(at, wf_select(take, i, at));
}

static wf_graph *record_argmax(const wf_array *x, wf_axes axes, wf_array *value, wf_array *where)
{
    wf_shape s = wf_array_shape(x);
    wf_graph *g = wf_begin(ctx, .shape = s, .reduce = axes);
    wf_var best = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM), at = wf_reduced(g, WF_I64, -1, WF_JOIN_CUSTOM);
    wf_var most = wf_reduced(g, WF_F32, -1e9, WF_JOIN_MAX);
    wf_val place = wf_const_i64(g, WF_I64, 0), v = wf_in(g, x);
    for (int d = 0; d < s.rank; ++d)
        if (axes >> d & 1)
            place = wf_add(wf_mul(place, wf_extent(g, d)), wf_index(g, d));
    consider(best, at, v, place);
    wf_set(most, wf_max(most, v));
    wf_section(g, WF_SECTION_JOIN);
    consider(best, at, wf_get(wf_other(best)), wf_get(wf_other(at)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, value, wf_select(wf_eq(most, best), best, -12345)); /* both ways agree */
    wf_out(g, where, at);
    return g;
}

static void check_argmax(const wf_shape *s, wf_axes axes, int form)
{
    wf_shape kept = *s;
    int order[] = { 2, 0, 1 };
    wf_shape turned = WF_SHAPE(s->dim[1], s->dim[2], s->dim[0]);
    wf_array *whole = noisy(form ? turned : *s), *x = form ? wf_view_permute(whole, order) : wf_retain(whole);
    for (int d = 0; d < 3; ++d)
        if (axes >> d & 1)
            kept.dim[d] = 1;
    wf_array *value = wf_full(ctx, WF_F32, kept, -1), *where = wf_full(ctx, WF_I64, kept, -7);
    OK(ctx, wf_run(record_argmax(x, axes, value, where)));
    int64_t n = wf_array_count(x), results = wf_array_count(value);
    float *at = contents(x), *got = contents(value);
    int64_t *place = contents(where);
    for (int64_t r = 0; r < results; ++r) {
        int64_t k[3] = { r / (kept.dim[1] * kept.dim[2]), r / kept.dim[2] % kept.dim[1], r % kept.dim[2] }, lo[3],
                hi[3];
        float best = 0;
        int64_t best_at = -1, count = 0;
        for (int d = 0; d < 3; ++d) {
            lo[d] = axes >> d & 1 ? 0 : k[d];
            hi[d] = axes >> d & 1 ? s->dim[d] : k[d] + 1;
        }
        for (int64_t a = lo[0]; a < hi[0]; ++a)
            for (int64_t b = lo[1]; b < hi[1]; ++b)
                for (int64_t c = lo[2]; c < hi[2]; ++c, ++count) {
                    float v = at[(a * s->dim[1] + b) * s->dim[2] + c];
                    if (best_at < 0 || v > best)
                        best = v, best_at = count;
                }
        if (got[r] != (n ? best : -12345) || place[r] != best_at)
            fail_msg("axes %u of (%d, %d, %d): %g at %lld, not %g at %lld", (unsigned)axes, (int)s->dim[0],
                     (int)s->dim[1], (int)s->dim[2], (double)got[r], (long long)place[r], (double)best,
                     (long long)best_at);
    }
    free(at), free(got), free(place);
    wf_release(whole), wf_release(x), wf_release(value), wf_release(where);
}

static void test_argmax(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 3, 4, 5 },    { 1, 1, 1 },    { 2, 37, 100 }, { 70, 3, 65 },
                                         { 1, 2, 5000 }, { 5000, 1, 3 }, { 2, 300, 1 } };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (wf_axes axes = 1; axes < 8; ++axes)
            for (int form = 0; form < 2; ++form)
                check_argmax(&WF_SHAPE(shapes[s][0], shapes[s][1], shapes[s][2]), axes, form);
}

static void test_large(void **state)
{
    (void)state;
    if (ctx && wf_get_threads(ctx) == 1)
        return; /* the interpreter would take long */
    for (wf_axes axes = 1; axes < 8; ++axes)
        check_argmax(&WF_SHAPE(40, 120, 130), axes, 0);
}

/* Welford, merged by Chan's rule. */
static wf_graph *record_variance(const wf_array *x, wf_axes axes, wf_array *mean, wf_array *variance)
{
    wf_graph *g = wf_begin(ctx, .reduce = axes, .name = "mean_variance");
    wf_var n = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM), mu = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM),
           m2 = wf_reduced(g, WF_F64, 0, WF_JOIN_CUSTOM);
    wf_val v = wf_cast(wf_in(g, x), WF_F64), d = wf_sub(v, mu);
    wf_inc(n, 1);
    wf_inc(mu, wf_div(d, n));
    wf_inc(m2, wf_mul(d, wf_sub(v, mu)));
    wf_section(g, WF_SECTION_JOIN);
    wf_val nb = wf_get(wf_other(n)), total = wf_add(n, nb), e = wf_sub(wf_other(mu), mu),
           w = wf_div(nb, wf_max(total, 1));
    wf_inc(m2, wf_add(wf_other(m2), wf_mul(wf_mul(e, e), wf_mul(n, w))));
    wf_inc(mu, wf_mul(e, w));
    wf_set(n, total);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, mean, mu);
    wf_out(g, variance, wf_div(m2, wf_max(wf_sub(n, 1), 1)));
    return g;
}

static void test_variance(void **state)
{
    (void)state;
    enum { H = 57, W = 411 };
    wf_array *x = noisy(WF_SHAPE(H, W));
    float *at = contents(x);
    for (wf_axes axes = 1; axes < 4; ++axes) {
        wf_shape kept = WF_SHAPE(axes & 1 ? 1 : H, axes & 2 ? 1 : W);
        wf_array *mean = wf_empty(ctx, WF_F64, kept), *variance = wf_empty(ctx, WF_F64, kept);
        double *first = NULL;
        for (int threads = 1; threads <= 3; ++threads) {
            if (wf_get_threads(ctx) > 1)
                wf_set_threads(ctx, threads + (threads > 1));
            OK(ctx, wf_run(record_variance(x, axes == 3 ? WF_ALL_AXES : axes, mean, variance)));
            double *m = contents(mean), *v = contents(variance);
            for (int64_t r = 0; r < wf_array_count(mean); ++r) {
                double sum = 0, squares = 0, count = 0;
                for (int i = 0; i < H * W; ++i)
                    if ((axes & 1 || i / W == (axes & 2 ? r : r / kept.dim[1])) &&
                        (axes & 2 || i % W == r % kept.dim[1]))
                        sum += (double)at[i], count += 1;
                for (int i = 0; i < H * W; ++i)
                    if ((axes & 1 || i / W == (axes & 2 ? r : r / kept.dim[1])) &&
                        (axes & 2 || i % W == r % kept.dim[1]))
                        squares += ((double)at[i] - sum / count) * ((double)at[i] - sum / count);
                assert_true(fabs(m[r] - sum / count) < 1e-10 && fabs(v[r] - squares / (count - 1)) < 1e-9 * squares);
            }
            if (first)
                assert_memory_equal(first, v, (size_t)wf_array_count(mean) * 8); /* the same bits */
            else {
                first = v;
                v = NULL;
            }
            free(m), free(v);
        }
        free(first);
        wf_release(mean), wf_release(variance);
    }
    free(at);
    wf_release(x);
}

/* As hooks, with a join and without; without one the call joins partial results. */
static void sum_call(const wf_site *s) { wf_inc(s->reduced[0], s->in[0]); }
static void pair_call(const wf_site *s) { consider(s->reduced[0], s->reduced[1], wf_get(s->in[0]), wf_get(s->in[1])); }
static void pair_join(const wf_site *s)
{
    consider(s->reduced[0], s->reduced[1], wf_get(s->other[0]), wf_get(s->other[1]));
}

static void test_hooks(void **state)
{
    (void)state;
    wf_array *x = noisy(WF_SHAPE(3000)), *i = wf_array_arange(ctx, WF_I64, 3000, 0, 1),
             *value = wf_empty(ctx, WF_F32, WF_SHAPE(1)), *where = wf_empty(ctx, WF_I64, WF_SHAPE(1));
    const wf_reduced_spec pair[] = { { WF_F32, WF_JOIN_CUSTOM, 0 }, { WF_I64, WF_JOIN_CUSTOM, -1 } },
                          sum = { WF_F32, WF_JOIN_CUSTOM, 0 };
    float *at = contents(x), total = 0;
    int64_t best = 0;
    for (int64_t k = 0; k < 3000; ++k) {
        best = at[k] > at[best] ? k : best;
        total += at[k];
    }
    for (int join = 0; join < 2; ++join) {
        OK(ctx,
           wf_apply(ctx, WF_ARRAYS(x, i), WF_ARRAYS(value, where),
                    WF_OPERATOR(.call = pair_call, .join = join ? pair_join : NULL, .reduced = pair, .n_reduced = 2),
                    .reduce = WF_ALL_AXES));
        int64_t *got = contents(where);
        assert_true(*got == best);
        free(got);
    }
    OK(ctx, wf_apply(ctx, WF_ARRAYS(x), WF_ARRAYS(value),
                     WF_OPERATOR(.call = sum_call, .reduced = &sum, .n_reduced = 1), .reduce = WF_ALL_AXES));
    float *got = contents(value);
    assert_true(fabsf(*got - total) <= 1e-3f * fabsf(total) + 1);
    free(got), free(at);
    wf_release(x), wf_release(i), wf_release(value), wf_release(where);
}

/* Variables that exchange their values, where each point is added and where partial results are joined: all new
 * values are computed from the old ones. The shape fixes the order of joining, so all devices give the bits of the
 * interpreter. */
static void exchange(wf_var a, wf_var b, wf_var c, wf_val x, wf_val y)
{
    wf_val was_a = wf_get(a), was_b = wf_get(b);
    wf_set(a, wf_add(wf_mul(was_b, 3), x));
    wf_set(b, was_a);
    wf_set(c, wf_add(wf_xor(wf_get(c), was_b), y));
}

static void exchanged(wf_context *c, wf_shape shape, wf_axes axes, uint64_t *out, size_t bytes)
{
    wf_shape kept = shape;
    for (int d = 0; d < shape.rank; ++d)
        kept.dim[d] = axes >> d & 1 ? 1 : shape.dim[d];
    wf_array *r[3];
    wf_graph *g = wf_begin(c, .shape = shape, .reduce = axes);
    wf_var v[3];
    for (int k = 0; k < 3; ++k) {
        r[k] = wf_empty(c, WF_U64, kept);
        v[k] = wf_reduced(g, WF_U64, k, WF_JOIN_CUSTOM);
    }
    wf_val place = wf_cast(wf_add(wf_mul(wf_index(g, 0), 1000), wf_index(g, 1)), WF_U64);
    exchange(v[0], v[1], v[2], place, wf_mul(place, 7));
    wf_section(g, WF_SECTION_JOIN);
    exchange(v[0], v[1], v[2], wf_get(wf_other(v[1])), wf_get(wf_other(v[2])));
    wf_section(g, WF_SECTION_POST);
    for (int k = 0; k < 3; ++k)
        wf_out(g, r[k], v[k]);
    OK(c, wf_run(g));
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(bytes, (size_t)wf_array_count(r[k]) * sizeof *out);
        OK(c, wf_download(r[k], out + (size_t)k * (bytes / sizeof *out), bytes));
        wf_release(r[k]);
    }
}

static void test_exchanged(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = { { 3, 5 }, { 1, 100 }, { 70, 3 }, { 40, 33 }, { 2, 20000 }, { 3000, 2 } };
    wf_context *oracle = test_context(WF_INTERP, 1);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s)
        for (wf_axes axes = 1; axes < 4; ++axes) {
            static uint64_t got[3 * 20000], want[3 * 20000];
            int64_t h = shapes[s][0], w = shapes[s][1], results = (axes & 1 ? 1 : h) * (axes & 2 ? 1 : w);
            size_t bytes = (size_t)results * sizeof *got;
            exchanged(ctx, WF_SHAPE(h, w), axes, got, bytes);
            exchanged(oracle, WF_SHAPE(h, w), axes, want, bytes);
            if (memcmp(got, want, 3 * bytes) != 0)
                fail_msg("axes %u of (%d, %d)", (unsigned)axes, (int)h, (int)w);
        }
    wf_context_free(oracle);
}

/* With 64 points a row, each of 32 accumulators has two: the value that the first one left in `now` moves to
 * `before`, and back. */
static void test_values_passed_on(void **state)
{
    (void)state;
    enum { H = 5, W = 64 };
    int32_t x[H][W];
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j)
            x[i][j] = i * 1000 + j * j;
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(H, W), x), *r[2];
    for (int k = 0; k < 2; ++k)
        r[k] = wf_empty(ctx, WF_I32, WF_SHAPE(H, 1));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W), .reduce = 2);
    wf_var now = wf_reduced(g, WF_I32, 0, WF_JOIN_CUSTOM), before = wf_reduced(g, WF_I32, 0, WF_JOIN_CUSTOM);
    wf_val held = wf_get(now);
    wf_set(now, wf_add(wf_get(before), wf_in(g, a)));
    wf_set(before, held);
    wf_section(g, WF_SECTION_JOIN);
    wf_set(now, wf_add(now, wf_other(now)));
    wf_set(before, wf_add(before, wf_other(before)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, r[0], now);
    wf_out(g, r[1], before);
    OK(ctx, wf_run(g));
    int32_t *got[] = { contents(r[0]), contents(r[1]) };
    for (int i = 0; i < H; ++i) {
        int32_t want[2] = { 0 };
        for (int j = 0; j < W; ++j)
            want[j < W / 2] += x[i][j];
        assert_int_equal(got[0][i], want[0]);
        assert_int_equal(got[1][i], want[1]);
    }
    free(got[0]), free(got[1]);
    wf_release(a), wf_release(r[0]), wf_release(r[1]);
}

static void test_mistakes(void **state)
{
    (void)state;
    wf_array *x = noisy(WF_SHAPE(8)), *out = wf_empty(ctx, WF_F32, WF_SHAPE(1));
    wf_graph *g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    wf_var v = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM);
    wf_inc(v, wf_in(g, x));
    wf_section(g, WF_SECTION_POST);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "WF_SECTION_JOIN");

    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    v = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM);
    wf_inc(v, wf_in(g, x));
    wf_section(g, WF_SECTION_JOIN);
    wf_inc(v, wf_in(g, x));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "no arrays in section WF_SECTION_JOIN");

    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    v = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(v, wf_in(g, x));
    wf_section(g, WF_SECTION_JOIN);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "there are none");

    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    v = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM);
    wf_inc(v, wf_other(v));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_other");

    g = wf_begin(ctx, .reduce = WF_ALL_AXES);
    v = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM);
    wf_val before = wf_in(g, x);
    wf_inc(v, before);
    wf_section(g, WF_SECTION_JOIN);
    wf_inc(v, before);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "another section");

    g = wf_begin(ctx, .reduce = WF_ALL_AXES); /* a built-in sum may not read the variable of a custom join */
    v = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM);
    wf_var sum = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(v, wf_in(g, x));
    wf_inc(sum, v);
    wf_section(g, WF_SECTION_JOIN);
    wf_inc(v, wf_other(v));
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "joined");
    wf_release(x), wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_argmax),    cmocka_unit_test(test_large),
                                        cmocka_unit_test(test_variance),  cmocka_unit_test(test_hooks),
                                        cmocka_unit_test(test_exchanged), cmocka_unit_test(test_values_passed_on),
                                        cmocka_unit_test(test_mistakes) };
    return RUN_ON_ALL(tests);
}
