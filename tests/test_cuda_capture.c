/* test_cuda_capture.c - a host program captures streams into CUDA graphs while Weft works. Work given to such a stream
 * reports an error, all other work goes on, and no capture ends early.
 *
 * ctest: gpu
 */
#include "cuda_program.h"

enum { GLOBAL, THREAD_LOCAL, RELAXED };
static CUstream mine;
static wf_stream *s;
static CUfunction doubled;

static int begin(void **state)
{
    (void)state;
    doubled = emu_function(emu_load(doubling), "twice");
    CU(cu.cuStreamCreate(&mine, 1));
    s = wf_stream_wrap(ctx, GPU, mine);
    return s == NULL;
}

static int end(void **state)
{
    wf_stream_free(s);
    CU(cu.cuStreamDestroy_v2(mine));
    return still_current(state);
}

static void twice(CUstream stream, CUdeviceptr at)
{
    void *params[] = { &at };
    CU(cu.cuLaunchKernel(doubled, 1, 1, 1, 8, 1, 1, 0, stream, params, NULL));
}

static wf_status add(wf_stream *stream, wf_array *a, double by)
{
    wf_graph *g = wf_begin(ctx, .stream = stream);
    wf_out(g, a, wf_add(wf_in(g, a), by));
    return wf_run(g);
}
#define CAPTURED(call) REFUSED(ctx, call, WF_ERR_UNSUPPORTED, "cuda:0: the stream is being captured into a CUDA graph")

/* Makes Weft use every kind of driver call, in streams of its own. */
static void work(wf_array *used_there, double expected)
{
    wf_stream *queue = wf_stream_new(ctx, GPU);
    static int turn; /* so that a kernel is made */
    wf_array *a = wf_array_arange(ctx, WF_F32, 100 + ++turn, 0, 1);
    assert_true(queue && a);
    OK(ctx, add(NULL, a, turn + 0.5));
    OK(ctx, add(queue, a, 1));
    wf_event *event = wf_event_record(queue);
    assert_non_null(event);
    OK(ctx, wf_event_sync(event));
    OK(ctx, wf_stream_sync(queue));
    float first = 0, got[8];
    wf_array *one = wf_view_slice(a, 0, 0, 1, 1);
    OK(ctx, wf_download(one, &first, sizeof first));
    assert_true(first == (float)(turn + 1.5));
    /* An array that was last used in the captured stream. */
    OK(ctx, add(queue, used_there, 1));
    OK(ctx, wf_download(used_there, got, sizeof got));
    assert_true(got[7] == (float)(expected + 1));
    for (int i = 0; i < 8; ++i)
        got[i] = (float)expected;
    OK(ctx, wf_upload(used_there, got, sizeof got));
    wf_array *pinned = wf_empty(ctx, WF_F32, WF_SHAPE(8), .memory = WF_MEMORY_PINNED);
    wf_array *managed = wf_empty(ctx, WF_F32, WF_SHAPE(8), .memory = WF_MEMORY_MANAGED);
    assert_true(pinned && managed);
    wf_array *copy = wf_copy(used_there);
    EXPECT_F32(copy, (float)expected, (float)expected, (float)expected, (float)expected, (float)expected,
               (float)expected, (float)expected, (float)expected);
    wf_event_free(event);
    wf_array *all[] = { a, one, pinned, managed, copy };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
    wf_stream_free(queue);
    OK(ctx, wf_sync(ctx));
}

static void captured(int mode)
{
    const float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    CUdeviceptr at = emu_upload(ones, sizeof ones);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(8), 0), *b = wf_full(ctx, WF_F32, WF_SHAPE(8), 0);
    wf_event *before;
    CUgraph graph;
    CUgraphExec exec;
    OK(ctx, add(s, a, 5));
    assert_non_null(before = wf_event_record(s));
    CU(cu.cuStreamBeginCapture_v2(mine, mode));
    twice(mine, at);
    CAPTURED(add(s, b, 1));
    CAPTURED(wf_stream_sync(s));
    assert_null(wf_event_record(s));
    CAPTURED(wf_last_status(ctx));
    CAPTURED(wf_stream_wait(s, before));
    work(a, 5);
    wf_stream *again = wf_stream_wrap(ctx, GPU, mine);
    assert_non_null(again);
    CAPTURED(add(again, b, 1));
    wf_stream_free(again);
    wf_stream_free(s); /* waits for its earlier work */
    twice(mine, at);
    CU(cu.cuStreamEndCapture(mine, &graph));
    CU(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
    expect_at(at, ones, 8); /* nothing has run */
    CU(cu.cuGraphLaunch(exec, mine));
    CU(cu.cuStreamSynchronize(mine));
    expect_at(at, (float[]){ 4, 4, 4, 4, 4, 4, 4, 4 }, 8);
    assert_non_null(s = wf_stream_wrap(ctx, GPU, mine)); /* the stream is usable as before */
    OK(ctx, add(s, b, 1));
    OK(ctx, wf_stream_sync(s));
    EXPECT_F32(b, 1, 1, 1, 1, 1, 1, 1, 1);
    wf_event_free(before);
    wf_release(a), wf_release(b);
    CU(cu.cuGraphExecDestroy(exec));
    CU(cu.cuGraphDestroy(graph));
    CU(cu.cuMemFree_v2(at));
}

static void test_modes(void **state)
{
    (void)state;
    captured(RELAXED);
    captured(THREAD_LOCAL);
    captured(GLOBAL);
}

/* The default stream waits for captured streams, so Weft must not use it then, and the driver cannot be asked. */
static void test_default_stream(void **state)
{
    (void)state;
    CUstream blocking;
    CUgraph graph;
    wf_stream *zero = wf_stream_wrap(ctx, GPU, NULL);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(8), 0);
    OK(ctx, add(zero, a, 1));
    CU(cu.cuStreamCreate(&blocking, 0));
    CU(cu.cuStreamBeginCapture_v2(blocking, GLOBAL));
    CAPTURED(add(zero, a, 1));
    CAPTURED(wf_stream_sync(zero));
    EXPECT_F32(a, 1, 1, 1, 1, 1, 1, 1, 1); /* copied in another stream */
    work(a, 1);
    CU(cu.cuStreamEndCapture(blocking, &graph));
    CU(cu.cuGraphDestroy(graph));
    OK(ctx, add(zero, a, 1));
    EXPECT_F32(a, 2, 2, 2, 2, 2, 2, 2, 2);
    wf_release(a);
    wf_stream_free(zero);
    CU(cu.cuStreamDestroy_v2(blocking));
}

/* After each call, the calling thread has the capture mode of the program again. */
static void test_mode_restored(void **state)
{
    (void)state;
    int mode = THREAD_LOCAL;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(8), 0);
    CU(cu.cuThreadExchangeStreamCaptureMode(&mode));
    work(a, 0);
    CAPTURED((CU(cu.cuStreamBeginCapture_v2(mine, GLOBAL)), add(s, a, 1)));
    CUgraph graph;
    CU(cu.cuStreamEndCapture(mine, &graph));
    CU(cu.cuGraphDestroy(graph));
    CU(cu.cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, THREAD_LOCAL);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_modes, begin, end),
        cmocka_unit_test_setup_teardown(test_default_stream, begin, end),
        cmocka_unit_test_setup_teardown(test_mode_restored, begin, end),
    };
    return RUN_BESIDE(tests);
}
