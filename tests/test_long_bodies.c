/* test_long_bodies.c - kernels of many thousand operations: code that is emitted in several basic blocks, for each kind
 * of value that may be alive where a block ends.
 *
 * ctest: baseline
 */
#include "ir/thresholds.h"
#include "weft_test.h"
#include <stdlib.h>

enum { N = 77, LONG = 3 * WF__LONG_BODY };

/* ---- recordings: at least `nodes` nodes between x and the result ---- */
typedef wf_val recorder(wf_graph *g, wf_val x, wf_val y, int nodes);

static wf_val chain(wf_graph *g, wf_val x, wf_val y, int nodes)
{
    (void)g;
    wf_val v = x;
    for (int k = 0; k < nodes / 2; ++k)
        v = wf_add(wf_mul(v, y), 1e-3 * (k % 1000));
    return v;
}

/* Values that are used in another order than they are made: most are alive where blocks end. */
static wf_val wide(wf_graph *g, wf_val x, wf_val y, int nodes)
{
    (void)g;
    static wf_val v[LONG];
    int n = nodes / 3;
    for (int k = 0; k < n; ++k)
        v[k] = wf_mul(wf_add(x, 1e-3 * k), y);
    wf_val sum = v[0];
    for (int k = 1; k < n; ++k)
        sum = wf_add(sum, v[(int)((int64_t)k * 7919 % n)]);
    return sum;
}

/* Bools, integers of several widths and halves in the chain. */
static wf_val mixed(wf_graph *g, wf_val x, wf_val y, int nodes)
{
    (void)g;
    wf_val v = x, is = wf_lt(x, y), i = wf_cast(wf_mul(x, 100), WF_I64), h = wf_cast(y, WF_F16);
    for (int k = 0; k < nodes / 8; ++k) {
        is = wf_xor(is, wf_lt(v, 0.01 * (k % 100)));
        v = wf_select(is, wf_mul(v, y), wf_add(v, 0.125));
        i = wf_add(wf_mul(i, 3), wf_cast(is, WF_I64));
        h = wf_add(h, wf_cast(v, WF_F16));
    }
    return wf_add(wf_add(v, wf_cast(i, WF_F32)), wf_cast(h, WF_F32));
}

/* A loop and conditions around and inside of long parts. */
static wf_val controlled(wf_graph *g, wf_val x, wf_val y, int nodes)
{
    wf_var v = wf_local(g, WF_F32, x), turns = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(wf_get(turns), 2)) {
        wf_set(v, chain(g, wf_get(v), y, nodes / 3));
        WF_IF (g, wf_gt(wf_get(v), 0.5)) {
            wf_set(v, chain(g, wf_sub(wf_get(v), 0.5), y, nodes / 3));
        }
        WF_END(g);
        wf_inc(turns, 1);
    }
    WF_END(g);
    return chain(g, wf_get(v), y, nodes / 3);
}

static wf_val summed(wf_graph *g, wf_val x, wf_val y, int nodes)
{
    return wf_add(x, wf_sum(chain(g, x, y, nodes), WF_ALL_AXES));
}

/* ---- runs ---- */
static float *computed(wf_device device, recorder *record, int nodes)
{
    static float x[N], y[N];
    for (int i = 0; i < N; ++i) {
        x[i] = 0.01f * (float)i;
        y[i] = 0.9f - 0.005f * (float)i;
    }
    wf_context *ctx = test_context(device, 1);
    wf_array *ax = wf_wrap(ctx, x, WF_F32, WF_SHAPE(N), NULL, NULL);
    wf_array *ay = wf_wrap(ctx, y, WF_F32, WF_SHAPE(N), NULL, NULL), *out = wf_like(ax);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, record(g, wf_in(g, ax), wf_in(g, ay), nodes));
    OK(ctx, wf_run(g));
    float *got = contents(out);
    wf_release(ax);
    wf_release(ay);
    wf_release(out);
    wf_context_free(ctx);
    return got;
}

static void test_bits(void **state)
{
    recorder *record = *(recorder *const *)*state;
    const int nodes[] = { WF__LONG_BODY / 2, WF__LONG_BODY + WF__LONG_BODY / 4, LONG };
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        float *want = computed(WF_INTERP, record, nodes[i]), *got = computed(WF_CPU, record, nodes[i]);
        assert_int_equal(first_difference(WF_F32, got, want, N), -1);
        free(want);
        free(got);
    }
}

/* The number of basic blocks with an instruction that stands for the end of a cut block. */
static int cut_blocks(wf_context *ctx, wf_array *x, wf_array *y, wf_array *out, int nodes)
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, chain(g, wf_in(g, x), wf_in(g, y), nodes));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    size_t n = 0;
    wf_status status = wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_LLVM, NULL, 0, &n);
    int count = -1;
    if (status == WF_OK) {
        char *text = malloc(n + 1);
        assert_non_null(text);
        OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_LLVM, text, n + 1, &n));
        count = 0;
        for (const char *at = text; (at = strstr(at, "store volatile")); ++at)
            ++count;
        free(text);
    }
    wf_kernel_free(k);
    return count;
}

static void test_blocks(void **state)
{
    (void)state;
    wf_context *ctx = test_context(WF_CPU, 1);
    wf_array *x = wf_array_arange(ctx, WF_F32, N, 0, 1), *y = wf_like(x), *out = wf_like(x);
    int few = cut_blocks(ctx, x, y, out, WF__LONG_BODY / 2), many = cut_blocks(ctx, x, y, out, LONG);
    if (few >= 0) {
        assert_int_equal(few, 0);
        assert_in_range(many, LONG / WF__LONG_BODY_BLOCK - 1, 4 * LONG / WF__LONG_BODY_BLOCK);
    }
    wf_release(x);
    wf_release(y);
    wf_release(out);
    wf_context_free(ctx);
}

int main(void)
{
    static recorder *const records[] = { chain, wide, mixed, controlled, summed };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_bits, (void *)&records[0]),
        cmocka_unit_test_prestate(test_bits, (void *)&records[1]),
        cmocka_unit_test_prestate(test_bits, (void *)&records[2]),
        cmocka_unit_test_prestate(test_bits, (void *)&records[3]),
        cmocka_unit_test_prestate(test_bits, (void *)&records[4]),
        cmocka_unit_test(test_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
