/* test_launch_memo.c - a kernel launched again and again, with arrays of earlier launches in any order, and with new
 * arrays at the addresses of old ones. What the kernel remembers of earlier launches changes no result.
 *
 * ctest: devices threads
 */
#include <stdatomic.h>
#include "on_devices.h"
#include "base/os.h"

/* out[i] = in[i] * k + out[i] */
static wf_kernel *accumulate(void)
{
    wf_graph *g = wf_begin(ctx);
    wf_array *in = wf_formal(g, "in", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_out(g, out, wf_add(wf_mul(wf_in(g, in), wf_param(g, "k", WF_F32, 1)), wf_in(g, out)));
    wf_kernel *kernel = wf_compile(g);
    assert_non_null(kernel);
    return kernel;
}

/* Slices of one array, apart, in place, overlapping, backwards, of several lengths. */
typedef struct slice {
    int start, step, n;
} slice;

static void test_bindings_in_any_order(void **state)
{
    (void)state;
    enum { N = 64 };
    static const slice slices[][2] = { { { 0, 1, 20 }, { 30, 1, 20 } },  { { 0, 1, 20 }, { 0, 1, 20 } },
                                       { { 0, 1, 20 }, { 1, 1, 20 } },   { { 5, 2, 16 }, { 4, 1, 16 } },
                                       { { 63, -1, 30 }, { 0, 1, 30 } }, { { 40, 1, 20 }, { 20, 1, 20 } },
                                       { { 8, 1, 1 }, { 32, 2, 15 } } };
    wf_array *view[WF__COUNT(slices)][2];
    float want[N];
    for (int i = 0; i < N; ++i)
        want[i] = (float)(i % 7) - 3;
    wf_array *base = array_of(ctx, WF_F32, WF_SHAPE(N), want);
    for (size_t v = 0; v < WF__COUNT(slices); ++v)
        for (int s = 0; s < 2; ++s) {
            slice c = slices[v][s];
            int64_t stop = c.start + (int64_t)c.step * c.n;
            view[v][s] = wf_view_slice(base, 0, c.start, stop < 0 ? -N - 1 : stop, c.step);
            assert_int_equal(wf_array_count(view[v][s]), c.n);
        }
    wf_kernel *kernel = accumulate();
    uint64_t random = 1;
    for (int round = 0; round < 600; ++round) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t v = (size_t)(random >> 40) % (round % 100 < 50 ? 3 : WF__COUNT(slices));
        wf_array *in = view[v][0], *out = view[v][1];
        double k = (double)(random >> 60) - 8;
        OK(ctx, wf_launch(kernel, WF_NAMED(in, out, k)));
        float old[N];
        memcpy(old, want, sizeof want);
        for (int i = 0; i < slices[v][1].n; ++i) {
            slice a = slices[v][0], b = slices[v][1];
            float *to = &want[b.start + b.step * i], x = old[a.start + (a.n == 1 ? 0 : a.step * i)];
            *to = x * (float)k + *to;
            *to = *to > 1e6f || *to < -1e6f ? 1 : *to;
        }
        float *got = contents(base);
        for (int i = 0; i < N; ++i) {
            float same = got[i] > 1e6f || got[i] < -1e6f ? 1 : got[i];
            assert_true(same == want[i]);
        }
        free(got);
        OK(ctx, wf_upload(base, want, sizeof want));
    }
    for (size_t v = 0; v < WF__COUNT(slices); ++v) {
        wf_release(view[v][0]);
        wf_release(view[v][1]);
    }
    wf_release(base);
    wf_kernel_free(kernel);
}

/* New arrays are likely to be where released ones were. */
static void test_new_arrays_in_old_places(void **state)
{
    (void)state;
    wf_kernel *kernel = accumulate();
    for (int round = 0; round < 200; ++round) {
        int64_t n = round % 5 + 1;
        wf_array *in = wf_full(ctx, WF_F32, WF_SHAPE(n), round), *out = wf_full(ctx, WF_F32, WF_SHAPE(n), 1);
        for (int t = 0; t < 3; ++t)
            OK(ctx, wf_launch(kernel, WF_NAMED(in, out)));
        float *got = contents(out);
        for (int64_t i = 0; i < n; ++i)
            assert_true(got[i] == (float)(3 * round + 1));
        free(got);
        wf_release(in);
        wf_release(out);
    }
    wf_kernel_free(kernel);
}

/* The memo of a launch includes its shape. */
static void test_shapes_in_turn(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4, 4));
    wf_val y = wf_index(g, 0), x = wf_index(g, 1);
    wf_write(g, wf_formal(g, "out", WF_I32, 2), wf_cast(wf_add(wf_mul(y, 10), x), WF_I32), y, x);
    wf_kernel *kernel = wf_compile(g);
    assert_non_null(kernel);
    wf_array *out = wf_full(ctx, WF_I32, WF_SHAPE(6, 6), -1);
    for (int round = 0; round < 60; ++round) {
        int h = round * 7 % 6 + 1, w = round * 5 % 4 + 1;
        OK(ctx, wf_upload(out, (int32_t[36]){ 0 }, 36 * sizeof(int32_t)));
        OK(ctx, wf_launch(kernel, WF_NAMED(out), .shape = WF_SHAPE(h, w)));
        int32_t *got = contents(out);
        for (int i = 0; i < 36; ++i)
            assert_int_equal(got[i], i / 6 < h && i % 6 < w ? i / 6 * 10 + i % 6 : 0);
        free(got);
    }
    wf_release(out);
    wf_kernel_free(kernel);
}

/* ---- one kernel in many threads, each with arrays of its own ---- */
enum { THREADS = 4 };
static wf_kernel *common;
static atomic_int wrong;

static void *launches(void *user)
{
    int me = (int)(intptr_t)user;
    wf_array *in[3], *out[3];
    float want[3] = { 0 };
    for (int i = 0; i < 3; ++i) {
        in[i] = wf_full(ctx, WF_F32, WF_SHAPE(5 + i), me + i);
        out[i] = wf_full(ctx, WF_F32, WF_SHAPE(5 + i), 0);
    }
    for (int round = 0; round < 400; ++round) {
        int i = round * 5 % 7 % 3;
        if (wf_launch(common, WF_ARGS(WF_ARG("in", in[i]), WF_ARG("out", out[i]))) != WF_OK)
            atomic_fetch_add(&wrong, 1);
        want[i] += (float)(me + i);
    }
    for (int i = 0; i < 3; ++i) {
        float got[8];
        if (wf_download(out[i], got, (size_t)(5 + i) * sizeof *got) != WF_OK)
            atomic_fetch_add(&wrong, 1);
        for (int k = 0; k < 5 + i; ++k)
            if (got[k] != want[i])
                atomic_fetch_add(&wrong, 1);
        wf_release(in[i]);
        wf_release(out[i]);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    wf__thread thread[THREADS];
    common = accumulate();
    for (int i = 0; i < THREADS; ++i)
        assert_true(wf__thread_start(&thread[i], launches, (void *)(intptr_t)i));
    for (int i = 0; i < THREADS; ++i)
        wf__thread_join(thread[i]);
    wf_kernel_free(common);
    assert_int_equal(atomic_load(&wrong), 0);
}

/* Copies share memory until it is written. A launch with a memo is such a write, too, and an array that has moved
 * has no memo any more. */
static void test_copies(void **state)
{
    (void)state;
    wf_kernel *kernel = accumulate();
    wf_array *in = wf_full(ctx, WF_F32, WF_SHAPE(3), 1), *out = wf_full(ctx, WF_F32, WF_SHAPE(3), 0);
    for (int k = 0; k < 2; ++k)
        OK(ctx, wf_launch(kernel, WF_NAMED(in, out)));
    wf_array *before = wf_copy(out);
    OK(ctx, wf_launch(kernel, WF_NAMED(in, out)));
    EXPECT_F32(before, 2, 2, 2);
    EXPECT_F32(out, 3, 3, 3);
    wf_release(before);
    wf_array *lent = wf_copy(in);
    for (int k = 0; k < 2; ++k)
        OK(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("in", lent), WF_ARG("out", out))));
    OK(ctx, wf_upload(lent, (float[]){ 10, 20, 30 }, 12)); /* moves */
    OK(ctx, wf_launch(kernel, WF_ARGS(WF_ARG("in", lent), WF_ARG("out", out))));
    EXPECT_F32(out, 15, 25, 35);
    wf_release(lent), wf_release(in), wf_release(out);
    wf_kernel_free(kernel);
}

/* Sums of all elements and of rows, and kernels without points, launched again with the same arrays. */
static void test_reductions_again(void **state)
{
    (void)state;
    static const wf_axes axes[] = { WF_ALL_AXES, WF_AXES(1), WF_AXES(0) };
    for (size_t way = 0; way < WF__COUNT(axes); ++way)
        for (int64_t h = 0; h < 4; h += 3) {
            int64_t rest = way == 0 ? 1 : way == 1 ? h : 5;
            wf_graph *g = wf_begin(ctx);
            wf_array *in = wf_formal(g, "in", WF_I32, 2), *out = wf_formal(g, "out", WF_I32, 2);
            wf_out(g, out, wf_sum(wf_in(g, in), axes[way]));
            wf_kernel *kernel = wf_compile(g);
            assert_non_null(kernel);
            in = wf_full(ctx, WF_I32, WF_SHAPE(h, 5), 0);
            out = wf_full(ctx, WF_I32, WF_SHAPE(way == 1 ? h : 1, way == 2 ? 5 : 1), -1);
            for (int round = 0; round < 6; ++round) {
                int32_t x[15], sums[5] = { 0 };
                for (int i = 0; i < 5 * h; ++i) {
                    x[i] = (i + 1) * (round + 1);
                    sums[way == 0 ? 0 : way == 1 ? i / 5 : i % 5] += x[i];
                }
                OK(ctx, wf_upload(in, x, (size_t)h * 5 * sizeof *x));
                OK(ctx, wf_launch(kernel, WF_NAMED(in, out)));
                int32_t *got = contents(out);
                assert_memory_equal(got, sums, (size_t)rest * sizeof *sums);
                free(got);
            }
            wf_kernel_free(kernel);
            wf_release(in);
            wf_release(out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bindings_in_any_order),
        cmocka_unit_test(test_new_arrays_in_old_places),
        cmocka_unit_test(test_shapes_in_turn),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_reductions_again),
    };
    return RUN_ON_ALL(tests);
}
