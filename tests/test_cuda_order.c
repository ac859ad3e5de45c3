/* test_cuda_order.c - order between the streams of a host program that uses CUDA itself and those of Weft. The
 * emulator does all work at once, so these tests look at the calls that the library makes.
 *
 * ctest: threads gpu
 */
#include "cuda_program.h"
#include "run/gpu/internal.h"

/* The driver calls of the library, and which work has certainly ended before a stream goes on. */
enum { MOST_STREAMS = 8 };
static wf__cuda real;
static struct {
    void *stream[MOST_STREAMS], *event[MOST_STREAMS];
    uint64_t before[MOST_STREAMS], recorded[MOST_STREAMS]; /* work, as bits */
    uint64_t launches[MOST_STREAMS], over;                 /* over: the library has waited for it */
    int streams, events, works, disorder, waits, fetches;
} seen;

static int number_of(void **all, int *n, void *it)
{
    for (int i = 0; i < *n; ++i)
        if (all[i] == it)
            return i;
    assert_true(*n < MOST_STREAMS);
    all[*n] = it;
    return (*n)++;
}
static int stream_number(void *s) { return number_of(seen.stream, &seen.streams, s); }

static void work_in(void *stream)
{
    int s = stream_number(stream);
    assert_true(seen.works < 64);
    uint64_t all = ((uint64_t)1 << seen.works) - 1;
    seen.disorder += (seen.before[s] & all) != all;
    seen.before[s] |= (uint64_t)1 << seen.works++;
}

static int see_launch(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                      unsigned shared, void *stream, void **params, void **extra)
{
    work_in(stream);
    ++seen.launches[stream_number(stream)];
    return real.LaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}
static int see_up(uint64_t to, const void *from, size_t bytes, void *stream)
{
    work_in(stream);
    return real.MemcpyHtoD(to, from, bytes, stream);
}
static int see_up_2d(const wf__cuda_copy2d *copy, void *stream)
{
    work_in(stream);
    return real.Memcpy2D(copy, stream);
}
static int see_down(void *to, uint64_t from, size_t bytes, void *stream)
{
    work_in(stream);
    ++seen.fetches;
    return real.MemcpyDtoH(to, from, bytes, stream);
}
static int see_set(uint64_t to, unsigned char value, size_t n, void *stream)
{
    work_in(stream);
    return real.MemsetD8(to, value, n, stream);
}
static int see_record(void *event, void *stream)
{
    seen.recorded[number_of(seen.event, &seen.events, event)] = seen.before[stream_number(stream)];
    return real.EventRecord(event, stream);
}
static int see_wait(void *stream, void *event, unsigned flags)
{
    ++seen.waits;
    seen.before[stream_number(stream)] |= seen.recorded[number_of(seen.event, &seen.events, event)];
    return real.StreamWaitEvent(stream, event, flags);
}
static int see_sync(void *stream)
{
    seen.over |= seen.before[stream_number(stream)];
    return real.StreamSynchronize(stream);
}
static int see_event_sync(void *event)
{
    seen.over |= seen.recorded[number_of(seen.event, &seen.events, event)];
    return real.EventSynchronize(event);
}
static bool all_is_over(void) { return seen.over == ((uint64_t)1 << seen.works) - 1; }
static void look_if_over(void *user) { *(int *)user = all_is_over() ? 1 : -1; }

static void begin_seeing(void)
{
    wf__cuda *table = (wf__cuda *)(uintptr_t)wf__gpu_of(ctx, "test", GPU)->cuda;
    OK(ctx, wf_sync(ctx));
    memset(&seen, 0, sizeof seen);
    real = *table;
    table->LaunchKernel = see_launch;
    table->MemcpyHtoD = see_up;
    table->MemcpyDtoH = see_down;
    table->Memcpy2D = see_up_2d;
    table->MemsetD8 = see_set;
    table->EventRecord = see_record;
    table->StreamWaitEvent = see_wait;
    table->StreamSynchronize = see_sync;
    table->EventSynchronize = see_event_sync;
}

static int end_seeing(void **state)
{
    wf__gpu *gpu = wf__gpu_of(ctx, "test", GPU);
    if (real.Init)
        *(wf__cuda *)(uintptr_t)gpu->cuda = real;
    memset(&real, 0, sizeof real);
    return still_current(state);
}

static wf_array *sum_in(wf_stream *s, wf_array *a)
{
    wf_graph *g = wf_begin(ctx, .stream = s);
    wf_array *kept = wf_keep(wf_div(wf_in(g, a), wf_sum(wf_in(g, a), WF_ALL_AXES)));
    OK(ctx, wf_run(g));
    return kept;
}

/* Work on an array comes after all earlier work on it, in any stream, and after the work in the stream of Weft. While
 * one stream has all the work, nothing waits. */
static void test_order_of_streams(void **state)
{
    (void)state;
    CUstream one, two;
    CU(cu.cuStreamCreate(&one, 1));
    CU(cu.cuStreamCreate(&two, 0));
    wf_stream *a = wf_stream_wrap(ctx, 0, one), *b = wf_stream_wrap(ctx, GPU, two),
              *zero = wf_stream_wrap(ctx, GPU, NULL);
    assert_true(a && b && zero);
    wf_array *x = wf_array_arange(ctx, WF_F64, 40, 1, 1);
    begin_seeing();
    wf_array *k0 = sum_in(NULL, x), *k1 = sum_in(a, k0);
    assert_int_equal(seen.waits, 1);
    wf_array *k2 = sum_in(a, k1), *k3 = sum_in(b, k2), *k4 = sum_in(zero, k3), *k5 = sum_in(NULL, k4);
    assert_int_equal(seen.waits, 8); /* b, zero: on the stream of Weft and the one before; that of Weft: on all */
    uint64_t each = seen.launches[stream_number(two)];
    assert_true(each >= 2 && seen.launches[stream_number(NULL)] == each &&
                seen.launches[stream_number(one)] == 2 * each);
    double *got = contents(k5);
    for (int i = 0; i < 40; ++i)
        assert_true(fabs(got[i] - (i + 1) / 820.) < 1e-15);
    free(got);
    assert_int_equal(seen.disorder, 0);
    assert_true(seen.works > 6 * (int)each);
    wf_array *all[] = { x, k0, k1, k2, k3, k4, k5 };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    wf_stream_free(a), wf_stream_free(b), wf_stream_free(zero);
    int waits = seen.waits;
    CU(cu.cuStreamDestroy_v2(one)); /* no work refers to them any more */
    CU(cu.cuStreamDestroy_v2(two));
    x = wf_full(ctx, WF_F32, WF_SHAPE(3), 4);
    EXPECT_F32(x, 4, 4, 4);
    wf_release(x);
    assert_int_equal(seen.waits, waits);
}

static wf_array *scaled_in(wf_stream *s, wf_array *a, wf_array *to)
{
    wf_graph *g = wf_begin(ctx, .stream = s);
    wf_array *kept = to ? NULL : wf_keep(wf_mul(wf_in(g, a), 3));
    if (to)
        wf_out(g, to, wf_mul(wf_in(g, a), 3));
    OK(ctx, wf_run(g));
    return kept;
}

/* Streams without a common array wait only for earlier work on their arrays; readers and writers of one array wait for
 * each other. */
static void test_side_by_side(void **state)
{
    (void)state;
    enum { N = 3 };
    wf_stream *s[N];
    wf_array *x[N], *y[N], *both;
    for (int i = 0; i < N; ++i) {
        assert_non_null(s[i] = wf_stream_new(ctx, GPU));
        x[i] = wf_full(ctx, WF_F32, WF_SHAPE(100), i + 1);
    }
    begin_seeing();
    for (int i = 0; i < N; ++i) {
        y[i] = scaled_in(s[i], x[i], NULL);
        OK(ctx, wf_stream_sync(s[i]));
    }
    int waits = seen.waits;
    assert_true(waits <= N); /* for the work that made the arrays */
    assert_true(seen.disorder > 0);
    for (int i = 0; i < N; ++i) { /* to the host, in the stream that computed it */
        float *got = contents(y[i]);
        assert_true(got[99] == (float)(3 * (i + 1)));
        free(got);
    }
    assert_int_equal(seen.waits, waits);
    for (int turn = 0; turn < 4; ++turn)
        for (int i = 0; i < N; ++i)
            scaled_in(s[i], x[i], y[i]);
    for (int i = 0; i < N; ++i)
        OK(ctx, wf_stream_sync(s[i]));
    assert_int_equal(seen.waits, waits);
    scaled_in(s[0], y[1], y[0]); /* after stream 1; then 2 after 0, and 1 after 0, as it reads that */
    OK(ctx, wf_stream_sync(s[0]));
    assert_int_equal(seen.waits, waits + 1);
    scaled_in(s[2], y[0], y[2]);
    OK(ctx, wf_stream_sync(s[2]));
    assert_int_equal(seen.waits, waits + 2);
    scaled_in(s[1], x[1], y[1]);
    OK(ctx, wf_stream_sync(s[1]));
    assert_int_equal(seen.waits, waits + 3);
    both = scaled_in(NULL, y[2], NULL); /* comes after all of them, and before their later work */
    assert_int_equal(seen.waits, waits + 6);
    scaled_in(s[1], x[1], y[1]);
    OK(ctx, wf_stream_sync(s[1]));
    assert_int_equal(seen.waits, waits + 7);
    float *got = contents(both);
    for (int i = 0; i < 100; ++i)
        assert_true(got[i] == 162); /* 2 * 3 * 3 * 3 * 3 */
    free(got);
    wf_release(both);
    for (int i = 0; i < N; ++i) {
        wf_release(x[i]), wf_release(y[i]);
        wf_stream_free(s[i]);
    }
}

static void *download_often(void *user)
{
    float got[100];
    for (int i = 0; i < 100; ++i)
        must(wf_download(user, got, sizeof got) == WF_OK && got[99] == 12, "a download beside the stream's end");
    return NULL;
}

/* A stream is freed while others copy what it has computed. */
static void test_copies_while_freed(void **state)
{
    (void)state;
    enum { THREADS = 3 };
    for (int turn = 0; turn < 20; ++turn) {
        wf_stream *s = wf_stream_new(ctx, GPU);
        wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(100), 4), *y = scaled_in(s, x, NULL);
        pthread_t thread[THREADS];
        OK(ctx, wf_stream_sync(s));
        atomic_store(&failures, 0);
        start_threads(thread, THREADS, download_often, y, 0);
        wf_stream_free(s);
        join_threads(thread, THREADS);
        assert_int_equal(atomic_load(&failures), 0);
        wf_release(x), wf_release(y);
    }
}

/* Another stream gets memory that a stream has used only once it waits for that stream. */
static void test_memory_of_streams(void **state)
{
    (void)state;
    enum { BYTES = 3 << 20 }; /* a size that nothing else here has */
    wf__failure f = { 0 };
    wf__gpu *gpu = wf__gpu_of(ctx, "test", GPU);
    begin_seeing();
    wf__gpu_stream *s[2] = { wf__gpu_new_stream(gpu, &f), wf__gpu_new_stream(gpu, &f) };
    char *at[4];
    assert_true(s[0] && s[1]);
    assert_true(wf__gpu_begin_on(gpu, s[1], &f)); /* waits once for the stream of the GPU */
    wf__gpu_end(gpu);
    assert_true(wf__gpu_begin_on(gpu, s[0], &f));
    assert_non_null(at[0] = wf__gpu_take(gpu, BYTES, &f));
    wf__gpu_give(gpu, at[0], BYTES);
    int waits = seen.waits;
    assert_ptr_equal(wf__gpu_take(gpu, BYTES, &f), at[0]); /* the same stream */
    assert_int_equal(seen.waits, waits);
    wf__gpu_give(gpu, at[0], BYTES);
    wf__gpu_end(gpu);
    assert_true(wf__gpu_begin_on(gpu, s[1], &f));
    assert_int_equal(seen.waits, waits);
    assert_ptr_equal(wf__gpu_take(gpu, BYTES, &f), at[0]);
    assert_int_equal(seen.waits, waits + 1);
    wf__gpu_give(gpu, at[0], BYTES);
    wf__gpu_end(gpu);
    wf__gpu_use use[2];
    assert_ptr_equal(at[1] = wf__gpu_alloc(gpu, BYTES, &use[0], &f), at[0]); /* as memory of an array: its users wait */
    assert_non_null(at[2] = wf__gpu_alloc(gpu, BYTES, &use[1], &f));
    assert_int_equal(seen.waits, waits + 1);
    assert_true(wf__gpu_begin_on(gpu, s[0], &f));
    assert_true(wf__gpu_use_memory(gpu, (wf__gpu_use *[]){ &use[0], &use[1] }, 2, &f));
    wf__gpu_end(gpu);
    assert_int_equal(seen.waits, waits + 2);
    wf__gpu_free(gpu, at[1], BYTES, use[0]);
    assert_true(wf__gpu_begin_on(gpu, s[1], &f));
    assert_int_equal(seen.waits, waits + 2);
    assert_ptr_equal(wf__gpu_take(gpu, BYTES, &f), at[1]);
    assert_int_equal(seen.waits, waits + 3);
    wf__gpu_give(gpu, at[1], BYTES);
    wf__gpu_end(gpu);
    wf__gpu_free_stream(gpu, s[0]); /* its work comes before that in the stream of Weft, and so before all later work */
    waits = seen.waits;
    wf__gpu_free(gpu, at[2], BYTES, use[1]);
    assert_true(wf__gpu_begin_on(gpu, s[1], &f));
    assert_int_equal(seen.waits, waits + 1); /* for the stream of Weft */
    assert_non_null(at[3] = wf__gpu_take(gpu, BYTES, &f));
    assert_int_equal(seen.waits, waits + 1);
    wf__gpu_give(gpu, at[3], BYTES);
    wf__gpu_end(gpu);
    wf__gpu_free_stream(gpu, s[1]);
    wf__str_free(&f.text);
}

/* A view with gaps, permuted and reversed axes, and axes of one element. */
static wf_array *view_of(wf_array *all, uint64_t seed)
{
    int order[4] = { 0, 1, 2, 3 };
    for (int d = 3; d > 0; --d) {
        int with = (int)(test_random(&seed) % (unsigned)(d + 1)), was = order[d];
        order[d] = order[with];
        order[with] = was;
    }
    wf_array *view = wf_view_permute(all, order);
    for (int d = 0; d < 4; ++d) {
        int64_t n = wf_array_shape(view).dim[d], step = (int64_t)(test_random(&seed) % 3) + 1;
        bool back = test_random(&seed) & 1, single = test_random(&seed) % 5 == 0;
        wf_array *part = single
                             ? wf_view_slice(view, d, n / 2, n / 2 + 1, 1)
                             : wf_view_slice(view, d, back ? n - 1 : 0, back ? WF_END_INDEX : n, back ? -step : step);
        wf_release(view);
        view = part;
    }
    return view;
}

/* Uploads touch only the elements of the array: they do not fetch neighbours to write them back. */
static void test_uploads(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; ++seed) {
        wf_dtype t = (wf_dtype[]){ WF_U8, WF_F32, WF_C128 }[seed % 3];
        wf_shape shape = WF_SHAPE(3, 5, 2, 4);
        wf_array *here = wf_full(ctx, t, shape, 0), *host = wf_copy_to(here, WF_CPU);
        wf_array *view = view_of(here, seed), *want = view_of(host, seed);
        uint8_t bytes[120 * 16];
        for (size_t i = 0; i < sizeof bytes; ++i)
            bytes[i] = (uint8_t)(i * 7 + seed);
        size_t n = (size_t)wf_array_count(view) * wf_dtype_size(t);
        begin_seeing();
        OK(ctx, wf_upload(view, bytes, n));
        assert_int_equal(seen.fetches, 0);
        OK(ctx, wf_upload(want, bytes, n));
        end_seeing(state);
        void *x = contents(here), *y = contents(host);
        assert_memory_equal(x, y, 120 * wf_dtype_size(t));
        free(x), free(y);
        wf_release(here), wf_release(host), wf_release(view), wf_release(want);
    }
}

/* Copies of views stay on the GPU. */
static void test_copies_of_views(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; ++seed) {
        wf_dtype t = (wf_dtype[]){ WF_U8, WF_BOOL, WF_F32, WF_C128 }[seed % 4];
        wf_array *host = wf_empty(ctx, t, WF_SHAPE(3, 5, 2, 4), .device = WF_CPU);
        uint8_t bytes[120 * 16];
        for (size_t i = 0; i < sizeof bytes; ++i)
            bytes[i] = (uint8_t)(t == WF_BOOL ? i % 3 == 0 : i * 7 + seed);
        OK(ctx, wf_upload(host, bytes, 120 * wf_dtype_size(t)));
        wf_array *here = wf_copy_to(host, GPU), *view = view_of(here, seed), *want = view_of(host, seed);
        begin_seeing();
        wf_array *copy = wf_copy_to(view, GPU);
        assert_int_equal(seen.fetches, 0);
        assert_true(wf_array_is_packed(copy) && wf_array_device(copy) == GPU);
        end_seeing(state);
        void *x = contents(copy), *y = contents(want);
        assert_memory_equal(x, y, (size_t)wf_array_count(want) * wf_dtype_size(t));
        free(x), free(y);
        wf_release(here), wf_release(host), wf_release(view), wf_release(want), wf_release(copy);
    }
}

/* Work that the program puts into a stream before or after a launch runs before or after it. */
static void test_program_order(void **state)
{
    (void)state;
    CUstream mine;
    CU(cu.cuStreamCreate(&mine, 1));
    CUfunction twice = emu_function(emu_load(doubling), "twice");
    const float x[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    CUdeviceptr at = emu_upload(x, sizeof x);
    void *params[] = { &at };
    int over = 0;
    wf_array *a = wf_wrap(ctx, host(at), WF_F32, WF_SHAPE(8), look_if_over, &over, .device = GPU);
    wf_stream *s = wf_stream_wrap(ctx, GPU, mine);
    OK(ctx, wf_set_stream(ctx, 0, s));
    begin_seeing();
    for (int turn = 0; turn < 2; ++turn) {
        CU(cu.cuLaunchKernel(twice, 1, 1, 1, 8, 1, 1, 0, mine, params, NULL));
        change(a, one);
        assert_int_equal(seen.launches[stream_number(mine)], turn + 1); /* before the call returned */
    }
    CU(cu.cuLaunchKernel(twice, 1, 1, 1, 8, 1, 1, 0, mine, params, NULL));
    assert_false(all_is_over());
    OK(ctx, wf_stream_sync(s));
    assert_true(all_is_over());
    expect_at(at, (float[]){ 10, 42, 74, 106, 138, 170, 202, 234 }, 8);
    OK(ctx, wf_set_stream(ctx, 0, NULL));
    change(a, one); /* in Weft's own stream */
    assert_false(all_is_over());
    wf_release(a); /* the program may free its memory now */
    assert_int_equal(over, 1);
    wf_array *b = wf_full(ctx, WF_F32, WF_SHAPE(4), 1);
    wf_graph *g = wf_begin(ctx, .stream = s);
    wf_out(g, b, wf_add(wf_in(g, b), 1));
    OK(ctx, wf_run(g));
    void *data;
    assert_false(all_is_over());
    OK(ctx, wf_map_device(b, &data, NULL));
    assert_true(all_is_over());
    wf_release(b);
    wf_stream_free(s);
    CU(cu.cuMemFree_v2(at));
    CU(cu.cuStreamDestroy_v2(mine));
}

static void test_events(void **state)
{
    (void)state;
    CUstream mine[2];
    wf_stream *s[2], *queue = wf_stream_new(ctx, GPU);
    for (int i = 0; i < 2; ++i) {
        CU(cu.cuStreamCreate(&mine[i], 1));
        assert_non_null(s[i] = wf_stream_wrap(ctx, GPU, mine[i]));
    }
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4), 1);
    wf_event *queued, *first, *second;
    begin_seeing();
    OK(ctx, wf_set_stream(ctx, 0, queue));
    change(a, one);
    assert_non_null(queued = wf_event_record(queue));
    OK(ctx, wf_set_stream(ctx, 0, NULL));
    OK(ctx, wf_stream_wait(s[0], queued)); /* waits until the event has been recorded */
    assert_int_equal(seen.works, 1);
    assert_false(all_is_over());
    assert_non_null(first = wf_event_record(s[0]));
    int waits = seen.waits;
    OK(ctx, wf_stream_wait(s[1], first)); /* does not wait: the driver does */
    assert_int_equal(seen.waits, waits + 1);
    assert_non_null(second = wf_event_record(s[1]));
    OK(ctx, wf_stream_wait(queue, second));
    OK(ctx, wf_stream_sync(queue));
    OK(ctx, wf_event_sync(second));
    double seconds = -1;
    OK(ctx, wf_event_elapsed(first, second, &seconds));
    assert_true(seconds >= 0 && seconds < 600);
    OK(ctx, wf_event_elapsed(queued, second, &seconds));
    assert_true(seconds >= 0 && seconds < 600);
    OK(ctx, wf_sync(ctx));
    EXPECT_F32(a, 3, 3, 3, 3);
    wf_event_free(queued), wf_event_free(first), wf_event_free(second);
    wf_stream_free(queue), wf_stream_free(s[0]), wf_stream_free(s[1]);
    CU(cu.cuStreamDestroy_v2(mine[0]));
    CU(cu.cuStreamDestroy_v2(mine[1]));
    wf_release(a);
}

static void test_refused_streams(void **state)
{
    (void)state;
    CUcontext own;
    CUstream other, mine;
    int none = 0;
    assert_null(wf_stream_wrap(ctx, WF_CPU, NULL));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DEVICE, "wf_stream_wrap: a CUDA stream is one of a GPU");
    assert_null(wf_stream_wrap(ctx, GPU, &none));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_BACKEND, "wf_stream_wrap: cuda:0: asking for the stream's context");
    CU(cu.cuCtxCreate_v2(&own, 0, 0));
    CU(cu.cuStreamCreate(&other, 0));
    assert_null(wf_stream_wrap(ctx, GPU, other));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DEVICE, "the stream is none of the primary context of cuda:0");
    CU(cu.cuCtxDestroy_v2(own));
    CU(cu.cuStreamCreate(&mine, 0));
    wf_stream *s = wf_stream_wrap(ctx, GPU, mine);
    wf_graph *g = wf_begin(ctx, .stream = s, .device = WF_CPU);
    wf_keep(wf_const(g, WF_F32, 4));
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE, "the stream is one of another device");
    CU(cu.cuStreamDestroy_v2(mine)); /* too early: the launch reports it, and nothing is lost */
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4), 1);
    g = wf_begin(ctx, .stream = s);
    wf_out(g, a, wf_add(wf_in(g, a), 1));
    REFUSED(ctx, wf_run(g), WF_ERR_BACKEND, "ordering streams");
    wf_stream_free(s);
    change(a, one);
    EXPECT_F32(a, 3, 3, 3, 3);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_order_of_streams, end_seeing),
        cmocka_unit_test_teardown(test_side_by_side, end_seeing),
        cmocka_unit_test_teardown(test_copies_while_freed, still_current),
        cmocka_unit_test_teardown(test_memory_of_streams, end_seeing),
        cmocka_unit_test_teardown(test_uploads, end_seeing),
        cmocka_unit_test_teardown(test_copies_of_views, end_seeing),
        cmocka_unit_test_teardown(test_program_order, end_seeing),
        cmocka_unit_test_teardown(test_events, end_seeing),
        cmocka_unit_test_teardown(test_refused_streams, end_seeing),
    };
    return RUN_BESIDE(tests);
}
