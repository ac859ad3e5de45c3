/* test_cuda_program.c - a host program that uses CUDA itself, beside Weft: here through the PTX emulator's driver API.
 * Its memory as arrays, arrays' addresses for its kernels, its streams for Weft's launches. The emulator does all work
 * at once, so the order of streams is looked at in the calls that the library makes.
 */
#include "api/api.h"
#include "emu_test.h"
#include "run/gpu_internal.h"
#include "memory_fails.h"
#include "side_by_side.h"

#define GPU WF_GPU(0) /* WEFT_CUDA names the emulator: so work is not waited for at each step, as on a GPU */
static wf_context *ctx;
static CUcontext primary;

static int on(void **state)
{
    if (emu_open(state))
        return -1;
    ctx = test_context(GPU, 1);
    return cu.cuCtxGetCurrent(&primary) != CUDA_SUCCESS;
}

static int off(void **state)
{
    wf_context_free(ctx);
    return emu_close(state);
}

/* The program's own context is current after each test, as before. */
static int still_current(void **state)
{
    (void)state;
    CUcontext now = NULL;
    CU(cu.cuCtxGetCurrent(&now));
    return now != primary;
}

static void count(void *user) { ++*(int *)user; }
static void *host(CUdeviceptr at) { return (void *)(uintptr_t)at; }

static wf_array *wrapped(CUdeviceptr at, wf_dtype dtype, wf_shape shape, int *released)
{
    wf_array *a = wf_wrap(ctx, host(at), dtype, shape, released ? count : NULL, released, .device = GPU);
    if (!a)
        print_error("%s\n", wf_message(ctx));
    assert_non_null(a);
    assert_int_equal(wf_array_device(a), GPU);
    return a;
}

/* a = a * 2 + add */
static void change(wf_array *a, wf_val add(wf_graph *g))
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_mul(wf_in(g, a), 2), add(g)));
    OK(ctx, wf_run(g));
}
static wf_val one(wf_graph *g) { return wf_const(g, WF_F32, 1); }

static void expect_at(CUdeviceptr at, const float *want, size_t n)
{
    float got[64];
    emu_download(got, at, n * sizeof *got);
    for (size_t i = 0; i < n; ++i)
        assert_true(got[i] == want[i]);
}

/* ---- memory of the program ---- */
static void test_wrap(void **state)
{
    (void)state;
    const float x[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    CUdeviceptr at = emu_upload(x, sizeof x);
    int released = 0;
    wf_array *a = wrapped(at, WF_F32, WF_SHAPE(3, 4), &released), *row = wf_view_at(a, 0, 1);
    change(row, one);
    expect_at(at, (float[]){ 0, 1, 2, 3, 9, 11, 13, 15, 8, 9, 10, 11 }, 12);
    OK(ctx, wf_upload(row, x, 4 * sizeof *x));
    expect_at(at, (float[]){ 0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11 }, 12);
    wf_array *copy = wf_copy(row); /* memory of its own, at once: nobody sees what the program writes */
    CU(cu.cuMemsetD32_v2(at + 16, 0x40000000, 4));
    EXPECT_F32(row, 2, 2, 2, 2);
    EXPECT_F32(copy, 0, 1, 2, 3);
    wf_release(a), wf_release(copy);
    assert_int_equal(released, 0);
    wf_release(row);
    assert_int_equal(released, 1);
    CU(cu.cuMemFree_v2(at));
}

/* Backwards, with gaps, from the middle of an allocation; addresses that are not those of wide accesses. */
static void test_strides(void **state)
{
    (void)state;
    float x[40], want[40];
    for (int i = 0; i < 40; ++i)
        want[i] = x[i] = (float)i;
    CUdeviceptr at = emu_upload(x, sizeof x);
    const int64_t back[] = { 8, -2 };
    wf_array *a = wf_wrap(ctx, host(at + 4 * 15), WF_F32, WF_SHAPE(3, 4), NULL, NULL, .device = GPU, .strides = back);
    wf_array *odd = wrapped(at + 4, WF_F32, WF_SHAPE(7), NULL);
    change(a, one);
    change(odd, one);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 4; ++j)
            want[15 + 8 * i - 2 * j] = want[15 + 8 * i - 2 * j] * 2 + 1;
    for (int i = 1; i < 8; ++i)
        want[i] = want[i] * 2 + 1;
    expect_at(at, want, 40);
    EXPECT_F32(a, want[15], want[13], want[11], want[9], want[23], want[21], want[19], want[17], want[31], want[29],
               want[27], want[25]);
    wf_release(a), wf_release(odd);
    CU(cu.cuMemFree_v2(at));
}

/* Arrays that overlap are found to, by their addresses, as on the processor. */
static void test_overlap(void **state)
{
    (void)state;
    float x[20], want[20];
    for (int i = 0; i < 20; ++i)
        want[i] = x[i] = (float)i;
    CUdeviceptr at = emu_upload(x, sizeof x);
    wf_array *from = wrapped(at, WF_F32, WF_SHAPE(19), NULL), *to = wrapped(at + 4, WF_F32, WF_SHAPE(19), NULL);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, to, wf_mul(wf_in(g, from), 3));
    OK(ctx, wf_run(g));
    for (int i = 19; i > 0; --i)
        want[i] = want[i - 1] * 3;
    expect_at(at, want, 20);
    wf_release(from), wf_release(to);
    CU(cu.cuMemFree_v2(at));
}

static void refused(CUdeviceptr at, wf_dtype dtype, int64_t n, wf_status status, const char *what)
{
    int released = 0;
    assert_null(wf_wrap(ctx, host(at), dtype, WF_SHAPE(n), count, &released, .device = GPU));
    REFUSED(ctx, wf_check(ctx), status, what);
    assert_int_equal(released, 1);
}

static void test_refused(void **state)
{
    (void)state;
    float here[4] = { 0 };
    CUdeviceptr at = emu_upload(NULL, 64), other;
    CUcontext second, own;
    refused(at, WF_F32, 17, WF_ERR_ARG, "of cuda:0 has less than the 68 bytes that the array spans");
    refused(at + 2, WF_F32, 2, WF_ERR_ARG, "wf_wrap: data is not aligned for f32");
    refused(0, WF_F32, 2, WF_ERR_ARG, "wf_wrap: data is NULL");
    refused((CUdeviceptr)(uintptr_t)here, WF_F32, 4, WF_ERR_ARG, "cuda:0 can reach: the driver does not know it");
    refused(at + 64, WF_F32, 1, WF_ERR_ARG, "the driver does not know it");
    CU(cu.cuDevicePrimaryCtxRetain(&second, 1));
    CU(cu.cuCtxPushCurrent_v2(second));
    other = emu_upload(NULL, 64);
    CU(cu.cuCtxPopCurrent_v2(NULL));
    refused(other, WF_F32, 4, WF_ERR_DEVICE, "no memory that cuda:0 can reach: it is that of device 1");
    wf_array *there = wf_wrap(ctx, host(other), WF_F32, WF_SHAPE(4), NULL, NULL, .device = WF_GPU(1));
    assert_non_null(there);
    wf_release(there);
    CU(cu.cuDevicePrimaryCtxRelease_v2(1));
    CU(cu.cuCtxCreate_v2(&own, 0, 0));
    other = emu_upload(NULL, 64);
    refused(other, WF_F32, 4, WF_ERR_DEVICE, "it belongs to another CUDA context than the device's primary one");
    CU(cu.cuCtxDestroy_v2(own));
    CU(cu.cuMemFree_v2(at));
    at = emu_upload(NULL, 64); /* no elements: nothing is asked */
    CU(cu.cuMemFree_v2(at));
    wf_release(wrapped(at, WF_F32, WF_SHAPE(0, 3), NULL));
}

/* Memory that the driver has everywhere. */
static void test_shared_with_host(void **state)
{
    (void)state;
    void *pinned;
    CUdeviceptr managed;
    CU(cu.cuMemHostAlloc(&pinned, 32, 0));
    CU(cu.cuMemAllocManaged(&managed, 32, 1));
    float *all[2] = { pinned, host(managed) };
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < 8; ++i)
            all[k][i] = (float)i;
        wf_array *a = wrapped((CUdeviceptr)(uintptr_t)all[k], WF_F32, WF_SHAPE(8), NULL);
        change(a, one);
        OK(ctx, wf_sync(ctx));
        for (int i = 0; i < 8; ++i)
            assert_true(all[k][i] == (float)(2 * i + 1));
        wf_release(a);
    }
    CU(cu.cuMemFreeHost(pinned));
    CU(cu.cuMemFree_v2(managed));
}

/* The same made by Weft: for arrays of the processor and of the GPU. */
static void test_shared_memory(void **state)
{
    (void)state;
    const wf_memory kinds[] = { WF_MEMORY_PINNED, WF_MEMORY_MANAGED };
    const wf_device devices[] = { WF_CPU, GPU };
    const int64_t strides[] = { 1, 3 };
    for (int i = 0; i < 4; ++i) {
        wf_array *a =
            wf_empty(ctx, WF_F32, WF_SHAPE(3, 4), .memory = kinds[i / 2], .device = devices[i % 2], .strides = strides);
        assert_non_null(a);
        assert_int_equal(wf_array_device(a), devices[i % 2]);
        float *at = NULL, x[12] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
        OK(ctx, wf_upload(a, x, sizeof x));
        OK(ctx, wf_map(a, (void **)&at, NULL));
        assert_true(at[0] == 0 && at[1] == 4 && at[3] == 1 && at[11] == 11);
        wf_array *there = wf_copy_to(a, GPU);
        EXPECT_F32(there, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
        at[1] = 40;
        wf_graph *g = wf_begin(ctx, .device = devices[i % 2]);
        wf_out(g, a, wf_mul(wf_in(g, a), 2));
        OK(ctx, wf_run(g));
        OK(ctx, wf_sync(ctx));
        assert_true(at[0] == 0 && at[1] == 80 && at[3] == 2 && at[11] == 22);
        EXPECT_F32(a, 0, 2, 4, 6, 80, 10, 12, 14, 16, 18, 20, 22);
        wf_array *copy = wf_copy(a);
        at[0] = 7;
        EXPECT_F32(copy, 0, 2, 4, 6, 80, 10, 12, 14, 16, 18, 20, 22);
        wf_release(copy);
        wf_release(there);
        unsigned type;
        assert_int_equal(cu.cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)at), CUDA_SUCCESS);
        wf_release(a);
        assert_int_equal(cu.cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)at), CUDA_ERROR_INVALID_VALUE);
    }
    assert_null(wf_empty(ctx, WF_F32, WF_SHAPE(3), .memory = (wf_memory)7));
    REFUSED(ctx, wf_check(ctx), WF_ERR_ARG, "wf_empty: there is no kind of memory 7");
    assert_null(wf_empty(ctx, WF_F64, WF_SHAPE(1 << 20, 1 << 18), .memory = WF_MEMORY_PINNED));
    REFUSED(ctx, wf_check(ctx), WF_ERR_MEMORY, "wf_empty: out of memory for f64 (1048576, 262144)");
    wf_array *plain = wf_empty(ctx, WF_F32, WF_SHAPE(3));
    void *at = NULL;
    REFUSED(ctx, wf_map(plain, &at, NULL), WF_ERR_DEVICE, "wf_map: the array is in the memory of cuda:0");
    wf_release(plain);
}

/* ---- arrays for the program ---- */
static const char doubling[] =
    PTX_HEAD(80) ".visible .entry twice(.param .u64 at)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<2>;\n.reg .f32 %f<2>;\n"
                 "ld.param.u64 %d1, [at];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d3, %d1, %d2;\n"
                 "ld.global.f32 %f1, [%d3];\nadd.f32 %f1, %f1, %f1;\nst.global.f32 [%d3], %f1;\nret;\n}\n";

static void test_map_device(void **state)
{
    (void)state;
    wf_array *a = wf_arange(ctx, WF_F32, 12, 0, 1), *copy = wf_copy(a);
    wf_array *view = wf_view_slice(a, 0, 11, WF_END_INDEX, -3), *cpu = wf_copy_to(a, WF_CPU);
    void *at = NULL, *part = NULL, *rest = NULL;
    int64_t stride = 0;
    REFUSED(ctx, wf_map(a, &at, NULL), WF_ERR_DEVICE, "wf_map_device");
    REFUSED(ctx, wf_map_device(cpu, &at, NULL), WF_ERR_DEVICE, "wf_map_device: the array is in the processor's memory");
    REFUSED(ctx, wf_map_device(a, NULL, NULL), WF_ERR_ARG, "data is NULL");
    assert_null(at);
    OK(ctx, wf_map_device(a, &at, &stride));
    assert_int_equal(stride, 1);
    OK(ctx, wf_map_device(view, &part, &stride));
    assert_int_equal(stride, -3);
    assert_ptr_equal(part, (char *)at + 44);
    OK(ctx, wf_map_device(copy, &rest, NULL));
    assert_ptr_not_equal(rest, at);
    CU(emu_run(doubling, "twice", 1, 12, 0, 1, (uint64_t)(uintptr_t)at));
    EXPECT_F32(a, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22);
    EXPECT_F32(view, 22, 16, 10, 4);
    EXPECT_F32(copy, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    wf_release(a), wf_release(copy), wf_release(view), wf_release(cpu);
}

/* ---- streams of the program ---- */
/* What the library has the driver do, and which of its work is surely over before a stream goes on. */
enum { MOST_STREAMS = 8 };
static wf__cuda real;
static struct {
    void *stream[MOST_STREAMS], *event[MOST_STREAMS];
    uint64_t before[MOST_STREAMS], recorded[MOST_STREAMS]; /* works, as bits */
    uint64_t launches[MOST_STREAMS], over;                 /* over: waited for by the library */
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

/* What uses an array comes after what has used it before, wherever that went, and after what went to Weft's own stream;
 * nothing is waited for while one stream has all of it. */
static void test_order_of_streams(void **state)
{
    (void)state;
    CUstream one, two;
    CU(cu.cuStreamCreate(&one, 1));
    CU(cu.cuStreamCreate(&two, 0));
    wf_stream *a = wf_stream_wrap(ctx, 0, one), *b = wf_stream_wrap(ctx, GPU, two),
              *zero = wf_stream_wrap(ctx, GPU, NULL);
    assert_true(a && b && zero);
    wf_array *x = wf_arange(ctx, WF_F64, 40, 1, 1);
    begin_seeing();
    wf_array *k0 = sum_in(NULL, x), *k1 = sum_in(a, k0);
    assert_int_equal(seen.waits, 1);
    wf_array *k2 = sum_in(a, k1), *k3 = sum_in(b, k2), *k4 = sum_in(zero, k3), *k5 = sum_in(NULL, k4);
    assert_int_equal(seen.waits, 8); /* b, zero: for the own one and the one before; the own one: for all */
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
    CU(cu.cuStreamDestroy_v2(one)); /* nothing asks for them any more */
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

/* Streams that have no array in common wait for nothing but what was there before; readers and writers of one do. */
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
    assert_true(waits <= N); /* for how the arrays were made */
    assert_true(seen.disorder > 0);
    for (int i = 0; i < N; ++i) { /* to the host, in the stream it is from */
        float *got = contents(y[i]);
        assert_true(got[99] == 3 * (i + 1));
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
    both = scaled_in(NULL, y[2], NULL); /* after all of them, and they after it */
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

/* Memory that a stream has used is another's only once that waits. */
static void test_memory_of_streams(void **state)
{
    (void)state;
    enum { BYTES = 3 << 20 }; /* as nothing else here */
    wf__failure f = { 0 };
    wf__gpu *gpu = wf__gpu_of(ctx, "test", GPU);
    begin_seeing();
    wf__gpu_stream *s[2] = { wf__gpu_new_stream(gpu, &f), wf__gpu_new_stream(gpu, &f) };
    char *at[4];
    assert_true(s[0] && s[1]);
    assert_true(wf__gpu_begin_on(gpu, s[1], &f)); /* comes after the GPU's own, once */
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
    assert_ptr_equal(at[1] = wf__gpu_alloc(gpu, BYTES, &use[0], &f), at[0]); /* as an array: who uses it waits */
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
    wf__gpu_free_stream(gpu, s[0]); /* its work comes before the own one's, and so before all */
    waits = seen.waits;
    wf__gpu_free(gpu, at[2], BYTES, use[1]);
    assert_true(wf__gpu_begin_on(gpu, s[1], &f));
    assert_int_equal(seen.waits, waits + 1); /* for the own one */
    assert_non_null(at[3] = wf__gpu_take(gpu, BYTES, &f));
    assert_int_equal(seen.waits, waits + 1);
    wf__gpu_give(gpu, at[3], BYTES);
    wf__gpu_end(gpu);
    wf__gpu_free_stream(gpu, s[1]);
    wf__str_free(&f.text);
}

/* A view with gaps, turned and reversed axes, and axes of one element. */
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

/* Uploads touch nothing but the array's elements: no others are fetched, to be written back. */
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

/* What the program puts into a stream before and after a launch comes before and after it. */
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
    OK(ctx, wf_stream_wait(s[0], queued)); /* until it has been recorded */
    assert_int_equal(seen.works, 1);
    assert_false(all_is_over());
    assert_non_null(first = wf_event_record(s[0]));
    int waits = seen.waits;
    OK(ctx, wf_stream_wait(s[1], first)); /* does not: the driver waits */
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
    REFUSED(ctx, wf_check(ctx), WF_ERR_DEVICE, "wf_stream_wrap: a CUDA stream is one of a GPU");
    assert_null(wf_stream_wrap(ctx, GPU, &none));
    REFUSED(ctx, wf_check(ctx), WF_ERR_BACKEND, "wf_stream_wrap: cuda:0: asking for the stream's context");
    CU(cu.cuCtxCreate_v2(&own, 0, 0));
    CU(cu.cuStreamCreate(&other, 0));
    assert_null(wf_stream_wrap(ctx, GPU, other));
    REFUSED(ctx, wf_check(ctx), WF_ERR_DEVICE, "the stream is none of the primary context of cuda:0");
    CU(cu.cuCtxDestroy_v2(own));
    CU(cu.cuStreamCreate(&mine, 0));
    wf_stream *s = wf_stream_wrap(ctx, GPU, mine);
    wf_graph *g = wf_begin(ctx, .stream = s, .device = WF_CPU);
    wf_keep(wf_const(g, WF_F32, 4));
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE, "the stream is one of another device");
    CU(cu.cuStreamDestroy_v2(mine)); /* too early: the launch says so, and nothing is lost */
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4), 1);
    g = wf_begin(ctx, .stream = s);
    wf_out(g, a, wf_add(wf_in(g, a), 1));
    REFUSED(ctx, wf_run(g), WF_ERR_BACKEND, "ordering streams");
    wf_stream_free(s);
    change(a, one);
    EXPECT_F32(a, 3, 3, 3, 3);
    wf_release(a);
}

/* ---- without memory ---- */
static void negate(const wf_chunk *c, void *user)
{
    (void)user;
    for (int64_t i = 0; i < c->n; ++i)
        ((float *)c->out[0])[i] = -((const float *)c->in[0])[i];
}

static wf_status all_of_it(wf_context *c)
{
    const float x[4] = { 1, 2, 3, 4 };
    CUdeviceptr at = emu_upload(x, sizeof x);
    int released = 0;
    wf_array *a = wf_wrap(c, host(at), WF_F32, WF_SHAPE(4), count, &released, .device = GPU);
    wf_stream *s = a ? wf_stream_wrap(c, GPU, NULL) : NULL;
    wf_event *e = NULL;
    wf_status status = s ? WF_OK : missing(c);
    if (status == WF_OK) {
        wf_graph *g = wf_begin(c, .stream = s, .flags_on = WF_DEBUG);
        WF_IF (g, wf_gt(wf_in(g, a), 0)) {
            wf_out(g, a, wf_mul(wf_in(g, a), 2));
        }
        WF_END(g);
        status = g ? wf_run(g) : missing(c);
    }
    if (status == WF_OK) {
        e = wf_event_record(s);
        status = e ? wf_event_sync(e) : missing(c);
    }
    if (status == WF_OK)
        status = wf_host_apply(c, WF_ARRAYS(a), WF_ARRAYS(a), negate, NULL);
    if (status == WF_OK)
        expect_at(at, (float[]){ -2, -4, -6, -8 }, 4);
    wf_event_free(e);
    wf_stream_free(s);
    wf_release(a);
    assert_int_equal(released, 1);
    CU(cu.cuMemFree_v2(at));
    return status;
}

static void test_without_memory(void **state)
{
    memory_case all = { "a program that uses CUDA", all_of_it, WF_CPU, 1 };
    *state = &all;
    test_memory_case(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_wrap, still_current),
        cmocka_unit_test_teardown(test_strides, still_current),
        cmocka_unit_test_teardown(test_overlap, still_current),
        cmocka_unit_test_teardown(test_refused, still_current),
        cmocka_unit_test_teardown(test_shared_with_host, still_current),
        cmocka_unit_test_teardown(test_shared_memory, still_current),
        cmocka_unit_test_teardown(test_map_device, still_current),
        cmocka_unit_test_teardown(test_order_of_streams, end_seeing),
        cmocka_unit_test_teardown(test_side_by_side, end_seeing),
        cmocka_unit_test_teardown(test_copies_while_freed, still_current),
        cmocka_unit_test_teardown(test_memory_of_streams, end_seeing),
        cmocka_unit_test_teardown(test_uploads, end_seeing),
        cmocka_unit_test_teardown(test_program_order, end_seeing),
        cmocka_unit_test_teardown(test_events, end_seeing),
        cmocka_unit_test_teardown(test_refused_streams, end_seeing),
        cmocka_unit_test_teardown(test_without_memory, still_current),
    };
    if (!getenv("WEFT_CUDA_EMU")) {
        print_message("WEFT_CUDA_EMU names no emulator: nothing to test\n");
        return 0;
    }
    setenv("WEFT_EMU_DEVICES", "2", 1);
    setenv("WEFT_CUDA", getenv("WEFT_CUDA_EMU"), 1);
    return cmocka_run_group_tests(tests, on, off);
}
