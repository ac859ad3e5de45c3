/* test_accumulate_arrays.c - accumulation and writes in array graphs, at elements that index arrays name: what is read
 * before and after them, and passes over memory that they share.
 *
 * ctest: devices values
 */
#include "accumulate.h"

static void test_array_graph(void **state)
{
    (void)state;
    enum { N = 5000, B = 61 };
    for (int m = 0; m < 4; ++m) {
        int32_t index[N], first[B], want[B];
        uint64_t seed = 5;
        for (int k = 0; k < B; ++k)
            want[k] = first[k] = (int32_t)k;
        for (int i = 0; i < N; ++i)
            index[i] = (int32_t)(test_random(&seed) % B);
        wf_array *at = array_of(ctx, WF_I32, WF_SHAPE(N), index), *h = array_of(ctx, WF_I32, WF_SHAPE(B), first);
        wf_graph *g = wf_begin(ctx);
        wf_val i = wf_in(g, at), before = wf_in(g, h);
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], h, 1, i);
        wf_val counted = wf_in(g, h);
        wf_accumulate_mode(g, WF_JOIN_ADD, modes[m], h, wf_read(g, h, i), i); /* each time the sums so far */
        wf_accumulate_if_mode(g, wf_gt(i, 30), WF_JOIN_MAX, modes[m], h, wf_mul(i, 100000), i);
        wf_array *a = wf_keep(before), *b = wf_keep(counted), *c = wf_keep(wf_in(g, h)), *d = wf_keep(wf_read(g, h, i));
        OK(ctx, wf_run(g));
        int32_t *x = contents(a), *y = contents(b), *z = contents(c), *r = contents(d);
        assert_memory_equal(x, first, sizeof first);
        for (int k = 0; k < N; ++k)
            want[index[k]]++;
        assert_memory_equal(y, want, sizeof want);
        int32_t counts[B];
        for (int k = 0; k < B; ++k) {
            counts[k] = want[k] - first[k];
            want[k] += counts[k] * want[k];
            if (k > 30 && counts[k] && want[k] < k * 100000)
                want[k] = k * 100000;
        }
        assert_memory_equal(z, want, sizeof want);
        for (int k = 0; k < N; ++k)
            assert_int_equal(r[k], want[index[k]]);
        free(x), free(y), free(z), free(r);
        wf_release(a), wf_release(b), wf_release(c), wf_release(d), wf_release(at), wf_release(h);
    }
}

/* Accumulations that commute share one pass, unless another access to the array stands between them. */
static void test_fused(void **state)
{
    (void)state;
    enum { N = 3000, B = 40 };
    int64_t index[N], want[B] = { 0 }, middle[B];
    for (int i = 0; i < N; ++i)
        index[i] = i * 31 % B;
    wf_array *at = array_of(ctx, WF_I64, WF_SHAPE(N), index), *h = wf_full(ctx, WF_I64, WF_SHAPE(B), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_in(g, at), n = wf_iota(g, WF_SHAPE(N), 0);
    wf_accumulate(g, WF_JOIN_ADD, h, n, i);
    wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_EXPAND, h, wf_neg(wf_add(n, 7)), wf_sub(B - 1, i));
    wf_array *between = wf_keep(wf_in(g, h));
    wf_accumulate(g, WF_JOIN_ADD, h, 1, i);
    OK(ctx, wf_run(g));
    for (int k = 0; k < N; ++k)
        want[index[k]] += k, want[B - 1 - index[k]] -= k + 7;
    memcpy(middle, want, sizeof want);
    for (int k = 0; k < N; ++k)
        ++want[index[k]];
    int64_t *x = contents(between), *y = contents(h);
    assert_memory_equal(x, middle, sizeof middle);
    assert_memory_equal(y, want, sizeof want);
    free(x), free(y);
    wf_release(at), wf_release(h), wf_release(between);
}

/* In conditions only active lanes write, in loops each turn does. */
static void test_scatter(void **state)
{
    (void)state;
    enum { N = 1009 };
    int64_t to[N];
    for (int i = 0; i < N; ++i)
        to[i] = i * 7 % N;
    wf_array *at = array_of(ctx, WF_I64, WF_SHAPE(N), to), *a = wf_full(ctx, WF_I64, WF_SHAPE(2, N), -1);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_in(g, at), n = wf_iota(g, WF_SHAPE(N), 0), row = wf_iota(g, WF_SHAPE(2, 1), 0);
    wf_write(g, a, wf_add(n, wf_mul(row, 10000)), row, i);
    wf_array *once = wf_keep(wf_in(g, a));
    wf_write(g, a, wf_read(g, a, row, n), row, i);
    OK(ctx, wf_run(g));
    int64_t *x = contents(once), *y = contents(a);
    for (int r = 0; r < 2; ++r)
        for (int k = 0; k < N; ++k) {
            assert_int_equal(x[r * N + to[k]], k + r * 10000);
            assert_int_equal(y[r * N + to[k]], x[r * N + k]);
        }
    free(x), free(y);
    wf_release(at), wf_release(a), wf_release(once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_graph),
        cmocka_unit_test(test_fused),
        cmocka_unit_test(test_scatter),
    };
    return RUN_ON_ALL(tests);
}
