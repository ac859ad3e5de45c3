/* test_emu_capture.c - captures of streams into graphs: kernels run when the graph is launched, and forbidden calls
 * invalidate the capture. The rules are those of the manual's pages of cuStreamBeginCapture, cuStreamIsCapturing and
 * cuThreadExchangeStreamCaptureMode.
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"
#include <pthread.h>

enum { GLOBAL, THREAD_LOCAL, RELAXED };
static const char text[] = PTX_HEAD(
    80) ".visible .entry more(.param .u64 a, .param .u32 by)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
        "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [by];\nld.global.u32 %r2, [%rd1];\nadd.u32 %r2, %r2, %r1;\n"
        "st.global.u32 [%rd1], %r2;\nret;\n}\n";

static CUmodule module;
static CUstream s, other, blocking;
static CUevent e;
static CUdeviceptr a;

static int begin_test(void **state)
{
    (void)state;
    const uint32_t zero = 0;
    module = emu_load(text);
    a = emu_upload(&zero, sizeof zero);
    CU(cu.cuStreamCreate(&s, 1));
    CU(cu.cuStreamCreate(&other, 1));
    CU(cu.cuStreamCreate(&blocking, 0));
    CU(cu.cuEventCreate(&e, 2));
    CU(cu.cuEventRecord(e, other));
    return 0;
}
static int end_test(void **state)
{
    (void)state;
    emu_reset();
    return 0;
}

static void add(CUstream stream, uint32_t by)
{
    void *params[] = { &a, &by };
    CU(cu.cuLaunchKernel(emu_function(module, "more"), 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}
static uint32_t value(void)
{
    uint32_t got;
    CU(cu.cuCtxSynchronize());
    emu_download(&got, a, sizeof got);
    return got;
}
static int capture_status(CUstream stream)
{
    int status = -1;
    CU(cu.cuStreamIsCapturing(stream, &status));
    return status;
}

static void graphs(void **state)
{
    (void)state;
    CUgraph g;
    CUgraphExec x;
    CU_IS(cu.cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
    CU_IS(cu.cuStreamBeginCapture_v2(NULL, GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(capture_status(s), 0);
    CU(cu.cuStreamBeginCapture_v2(s, GLOBAL));
    CU_IS(cu.cuStreamBeginCapture_v2(s, GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(capture_status(s), 1);
    assert_int_equal(capture_status(other), 0);
    add(s, 1);
    add(s, 2);
    CU(cu.cuStreamEndCapture(s, &g));
    assert_int_equal(value(), 0);
    CU(cu.cuGraphInstantiateWithFlags(&x, g, 0));
    CU(cu.cuGraphDestroy(g)); /* executable graphs stay valid */
    CU_IS(cu.cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
    CU(cu.cuGraphLaunch(x, s));
    CU(cu.cuGraphLaunch(x, s));
    assert_int_equal(value(), 6);
    CU(cu.cuGraphExecDestroy(x));
    CU(cu.cuStreamBeginCapture_v2(s, RELAXED)); /* never ended */
    add(s, 1);
}

/* Checks whether an error has invalidated the capture in `stream`. */
static void is_over(CUstream stream, bool over)
{
    CUgraph g = NULL;
    int status = -1;
    CU(cu.cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, over ? 2 : 1);
    CU_IS(cu.cuStreamEndCapture(stream, &g), over ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
    assert_int_equal(g == NULL, over);
    if (g)
        CU(cu.cuGraphDestroy(g));
}
#define ENDS(mode, status, call) \
    (CU(cu.cuStreamBeginCapture_v2(s, mode)), CU_IS(call, status), is_over(s, (status) != CUDA_SUCCESS))

static void the_stream(void **state)
{
    (void)state;
    uint32_t x = 0;
    ENDS(RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamSynchronize(s));
    ENDS(RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamQuery(s));
    ENDS(RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuCtxSynchronize());
    ENDS(RELAXED, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cu.cuStreamWaitEvent(s, e, 0));
    ENDS(RELAXED, CUDA_SUCCESS, cu.cuStreamWaitEvent(other, e, 0));
    ENDS(RELAXED, CUDA_SUCCESS, cu.cuStreamSynchronize(other));
    ENDS(RELAXED, CUDA_SUCCESS, cu.cuMemcpyHtoDAsync_v2(a, &x, 4, other));
    CU(cu.cuStreamBeginCapture_v2(s, RELAXED));
    CU_IS(cu.cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CU_IS(cu.cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    is_over(s, true);
    CU(cu.cuStreamSynchronize(other));
    add(s, 1); /* the stream works as before */
    assert_int_equal(value(), 1);
}

static void default_stream(void **state)
{
    (void)state;
    int status;
    uint32_t x = 0;
    CU(cu.cuStreamBeginCapture_v2(blocking, RELAXED));
    CU_IS(cu.cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    is_over(blocking, false);
    CU(cu.cuStreamBeginCapture_v2(blocking, RELAXED));
    CU_IS(cu.cuMemcpyHtoDAsync_v2(a, &x, 4, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    is_over(blocking, true);
    CU(cu.cuStreamBeginCapture_v2(s, RELAXED)); /* a stream that does not wait for the default stream */
    CU(cu.cuStreamIsCapturing(NULL, &status));
    CU(cu.cuMemcpyHtoDAsync_v2(a, &x, 4, NULL));
    is_over(s, false);
}

static CUresult allocate(void)
{
    CUdeviceptr p;
    CUresult status = cu.cuMemAlloc_v2(&p, 64);
    if (status == CUDA_SUCCESS)
        CU(cu.cuMemFree_v2(p));
    return status;
}
static CUresult allocate_relaxed(void)
{
    int mode = RELAXED;
    CU(cu.cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, GLOBAL);
    CUresult status = allocate();
    CU(cu.cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, RELAXED);
    return status;
}
static CUresult elsewhere;
static void *in_another_thread(void *context)
{
    elsewhere = cu.cuCtxSetCurrent(context);
    elsewhere = elsewhere == CUDA_SUCCESS ? allocate() : elsewhere;
    return NULL;
}
static CUresult allocate_elsewhere(void)
{
    pthread_t thread;
    CUcontext c;
    CU(cu.cuCtxGetCurrent(&c));
    assert_int_equal(pthread_create(&thread, NULL, in_another_thread, c), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return elsewhere;
}

static void unsafe_calls(void **state)
{
    (void)state;
    ENDS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, allocate());
    ENDS(THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, allocate());
    ENDS(RELAXED, CUDA_SUCCESS, allocate());
    ENDS(GLOBAL, CUDA_SUCCESS, allocate_relaxed());
    ENDS(THREAD_LOCAL, CUDA_SUCCESS, allocate_relaxed());
    ENDS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, allocate_elsewhere());
    ENDS(THREAD_LOCAL, CUDA_SUCCESS, allocate_elsewhere());
    ENDS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuStreamSynchronize(other));
    ENDS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuEventSynchronize(e));
    CUmodule loaded;
    ENDS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuModuleLoadData(&loaded, text));
    ENDS(GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cu.cuModuleUnload(module));
    add(s, 4); /* the module is still loaded */
    assert_int_equal(value(), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(graphs, begin_test, end_test),
        cmocka_unit_test_setup_teardown(the_stream, begin_test, end_test),
        cmocka_unit_test_setup_teardown(default_stream, begin_test, end_test),
        cmocka_unit_test_setup_teardown(unsafe_calls, begin_test, end_test),
    };
    return cmocka_run_group_tests(tests, emu_open, emu_close);
}
