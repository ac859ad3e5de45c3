/* test_emu_order.c - two operations of different streams on the same memory. Each way to order them passes; without it,
 * the report names both. The rules are sections "Stream synchronization behavior" and "API synchronization behavior" of
 * the CUDA driver API, and "Asynchronous Concurrent Execution" of the programming guide.
 *
 * ctest: no_kernels
 */
#include "emu/tests/emu_test.h"

/* 8 threads: set: a[i] = i; twice: a[i] += a[i]; copy: b[i] = a[i]; add: a[0] += i, atomically; even, odd: a[2i],
 * a[2i+1] */
#define ENTRY(name, body)                                                                                  \
    ".visible .entry " name "(.param .u64 a, .param .u64 b)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<8>;\n"     \
    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n" \
    "add.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nadd.s64 %rd6, %rd4, %rd3;\n" body "ret;\n}\n"
static const char text[] = PTX_HEAD(80) ENTRY("set", "st.global.u32 [%rd4], %r1;\n")
    ENTRY("twice", "ld.global.u32 %r2, [%rd4];\nadd.u32 %r2, %r2, %r2;\nst.global.u32 [%rd4], %r2;\n")
        ENTRY("copy", "ld.global.u32 %r2, [%rd4];\nst.global.u32 [%rd5], %r2;\n")
            ENTRY("add", "red.global.add.u32 [%rd1], %r1;\n") ENTRY("even", "st.global.u32 [%rd6], %r1;\n")
                ENTRY("odd", "st.global.u32 [%rd6+4], %r1;\n");

enum { THREADS = 8, BYTES = 64 };
typedef struct fixture { /* made again after each finding, because a finding spoils the context */
    CUmodule module;
    CUstream s[3]; /* streams that do not wait for the default stream */
    CUstream blocking[2];
    CUevent e;
    CUdeviceptr a, b, c;
    uint32_t *pinned, host[BYTES / 4];
} fixture;

static void make_fixture(fixture *f)
{
    static const uint32_t zeros[BYTES / 4];
    memset(f, 0, sizeof *f);
    f->module = emu_load(text);
    for (int i = 0; i < 3; i++)
        CU(cu.cuStreamCreate(&f->s[i], 1));
    for (int i = 0; i < 2; i++)
        CU(cu.cuStreamCreate(&f->blocking[i], 0));
    CU(cu.cuEventCreate(&f->e, 2));
    f->a = emu_upload(zeros, BYTES);
    f->b = emu_upload(zeros, BYTES);
    f->c = emu_upload(zeros, BYTES);
    CU(cu.cuMemHostAlloc((void **)&f->pinned, BYTES, 0));
    memset(f->pinned, 0, BYTES);
    CU(cu.cuCtxSynchronize());
    cu.weftEmuClearReport();
}

static void launch(const fixture *f, const char *name, CUstream s, CUdeviceptr a, CUdeviceptr b)
{
    void *params[] = { &a, &b };
    CU(cu.cuLaunchKernel(emu_function(f->module, name), 1, 1, 1, THREADS, 1, 1, 0, s, params, NULL));
}
/* Orders `s` after `other` by an event. */
static void after(const fixture *f, CUstream s, CUstream other)
{
    CU(cu.cuEventRecord(f->e, other));
    CU(cu.cuStreamWaitEvent(s, f->e, 0));
}

typedef void sequence(fixture *f, bool ordered);
static void one_way(sequence *run, bool ordered, const char *now, const char *before)
{
    fixture f;
    make_fixture(&f);
    run(&f, ordered);
    CUresult status = cu.cuCtxSynchronize();
    if (!ordered) {
        emu_found(status, CUDA_ERROR_LAUNCH_FAILED, 4, "missing order: ", now, before, "nothing orders the two");
        return;
    }
    CU(status);
    emu_reset();
}
#define FINDS(run, now, before) (one_way(run, true, NULL, NULL), one_way(run, false, now, before))
static void is_fine(sequence *run) { one_way(run, true, NULL, NULL); }

/* ---- events ---- */
static void write_then_read(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    if (ordered)
        after(f, f->s[1], f->s[0]);
    launch(f, "copy", f->s[1], f->a, f->b);
}
static void named(fixture *f, bool ordered)
{
    cu.weftEmuName("first");
    launch(f, "set", f->s[0], f->a, f->c);
    cu.weftEmuName("second");
    if (ordered)
        after(f, f->s[1], f->s[0]);
    launch(f, "copy", f->s[1], f->a, f->b);
    cu.weftEmuName(NULL);
}
static void read_then_write(fixture *f, bool ordered)
{
    launch(f, "copy", f->s[0], f->a, f->b);
    if (ordered)
        after(f, f->s[1], f->s[0]);
    launch(f, "set", f->s[1], f->a, f->c);
}
static void write_then_write(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    if (ordered)
        after(f, f->s[1], f->s[0]);
    launch(f, "twice", f->s[1], f->a, f->c);
}
/* An event does not cover operations after its record. */
static void recorded_early(fixture *f, bool ordered)
{
    if (!ordered)
        CU(cu.cuEventRecord(f->e, f->s[0]));
    launch(f, "set", f->s[0], f->a, f->c);
    if (ordered)
        CU(cu.cuEventRecord(f->e, f->s[0]));
    CU(cu.cuStreamWaitEvent(f->s[1], f->e, 0));
    launch(f, "copy", f->s[1], f->a, f->b);
}
/* A wait is for the record at the time of the wait, not for a later one. */
static void recorded_again(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    CU(cu.cuEventRecord(f->e, f->s[0]));
    if (ordered)
        CU(cu.cuStreamWaitEvent(f->s[1], f->e, 0));
    CU(cu.cuEventRecord(f->e, f->s[2]));
    CU(cu.cuStreamWaitEvent(f->s[1], f->e, 0));
    launch(f, "copy", f->s[1], f->a, f->b);
}
static void by_a_third(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    after(f, f->s[2], f->s[0]);
    if (ordered)
        after(f, f->s[1], f->s[2]);
    launch(f, "twice", f->s[1], f->a, f->c);
}
/* Memory remembers both of two readers. */
static void two_readers(fixture *f, bool ordered)
{
    launch(f, "copy", f->s[0], f->a, f->b);
    launch(f, "copy", f->s[1], f->a, f->c);
    after(f, f->s[2], f->s[1]);
    if (ordered)
        after(f, f->s[2], f->s[0]);
    launch(f, "set", f->s[2], f->a, f->a);
}
static void test_events(void **state)
{
    (void)state;
    FINDS(write_then_read, "kernel 'copy' (operation ", "kernel 'set' (operation ");
    FINDS(named, "kernel 'copy' of 'second' (", "kernel 'set' of 'first' (");
    FINDS(read_then_write, "kernel 'set' (", "kernel 'copy' (");
    FINDS(write_then_write, "kernel 'twice' (", ") writes them");
    FINDS(recorded_early, "kernel 'copy'", "kernel 'set'");
    FINDS(recorded_again, "kernel 'copy'", "kernel 'set'");
    FINDS(by_a_third, "kernel 'twice'", "kernel 'set'");
    FINDS(two_readers, ") writes 32 bytes at 0x", "kernel 'copy'");
}

/* ---- the host ---- */
static void host_waits_for_stream(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    CU(cu.cuStreamSynchronize(f->s[ordered ? 0 : 2]));
    launch(f, "copy", f->s[1], f->a, f->b);
}
static void host_waits_for_event(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    CU(cu.cuEventRecord(f->e, f->s[ordered ? 0 : 2]));
    CU(cu.cuEventSynchronize(f->e));
    launch(f, "copy", f->s[1], f->a, f->b);
}
static void host_waits_for_context(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    CU(cu.cuStreamDestroy_v2(f->s[0])); /* the work of a destroyed stream goes on */
    if (ordered)
        CU(cu.cuCtxSynchronize());
    launch(f, "copy", f->s[1], f->a, f->b);
}
static void count_look(void *user) { ++*(int *)user; }
static void host_is_called(fixture *f, bool ordered)
{
    int calls = 0;
    launch(f, "set", f->s[0], f->a, f->c);
    CU(cu.cuLaunchHostFunc(f->s[ordered ? 0 : 2], count_look, &calls));
    launch(f, "copy", f->s[1], f->a, f->b);
    assert_int_equal(calls, 1);
}
static void asks(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    if (ordered)
        CU(cu.cuStreamQuery(f->s[0]));
    launch(f, "copy", f->s[1], f->a, f->b);
}
static void test_host(void **state)
{
    (void)state;
    FINDS(host_waits_for_stream, "kernel 'copy'", "kernel 'set'");
    FINDS(host_waits_for_event, "kernel 'copy'", "kernel 'set'");
    FINDS(host_waits_for_context, "kernel 'copy'", "kernel 'set'");
    FINDS(host_is_called, "kernel 'copy'", "kernel 'set'");
    FINDS(asks, "kernel 'copy'", "kernel 'set'");
}

/* ---- default streams ---- */
static void before_default(fixture *f, bool ordered)
{
    launch(f, "set", ordered ? f->blocking[0] : f->s[0], f->a, f->c);
    launch(f, "copy", NULL, f->a, f->b);
}
static void after_default(fixture *f, bool ordered)
{
    launch(f, "set", NULL, f->a, f->c);
    launch(f, "copy", ordered ? f->blocking[0] : f->s[0], f->a, f->b);
}
/* Only work in the default stream orders blocking streams. */
static void through_default(fixture *f, bool ordered)
{
    launch(f, "set", f->blocking[0], f->a, f->c);
    if (ordered)
        launch(f, "set", CU_STREAM_LEGACY, f->b, f->c);
    launch(f, "twice", f->blocking[1], f->a, f->c);
}
static void of_a_thread(fixture *f, bool ordered)
{
    launch(f, "set", CU_STREAM_PER_THREAD, f->a, f->c);
    launch(f, "copy", ordered ? NULL : f->blocking[0], f->a, f->b);
}
static void test_default_streams(void **state)
{
    (void)state;
    FINDS(before_default, "kernel 'copy' (operation ", ", in stream 0x");
    FINDS(after_default, "kernel 'copy'", ", in the default stream)");
    FINDS(through_default, "kernel 'twice'", "kernel 'set'");
    FINDS(of_a_thread, "kernel 'copy'", ", in the default stream of thread 1)");
}

/* ---- copies and fills ---- */
static void upload_pageable(fixture *f, bool ordered)
{
    CU(cu.cuMemcpyHtoD_v2(f->a, f->host, BYTES)); /* returns once it has staged the bytes, before they arrive */
    if (ordered)
        CU(cu.cuStreamSynchronize(NULL));
    launch(f, "copy", f->s[0], f->a, f->b);
}
static void upload_pinned(fixture *f, bool ordered)
{
    if (ordered)
        CU(cu.cuMemcpyHtoD_v2(f->a, f->pinned, BYTES)); /* returns when the copy is done */
    else
        CU(cu.cuMemcpyHtoDAsync_v2(f->a, f->pinned, BYTES, f->s[1]));
    launch(f, "copy", f->s[0], f->a, f->b);
}
static void download(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    /* The host waits, so this call returns the finding. */
    CU_IS(cu.cuMemcpyDtoHAsync_v2(f->host, f->a, BYTES, f->s[!ordered]),
          ordered ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
    if (ordered)
        launch(f, "set", f->s[1], f->a, f->c);
}
static void download_pinned(fixture *f, bool ordered)
{
    CU(cu.cuMemcpyDtoHAsync_v2(f->pinned, f->a, BYTES, f->s[0])); /* to pinned memory: the host does not wait */
    if (ordered)
        CU(cu.cuStreamSynchronize(f->s[0]));
    CU(cu.cuMemcpyHtoDAsync_v2(f->b, f->pinned, BYTES, f->s[1]));
}
static void across_device(fixture *f, bool ordered)
{
    CU(cu.cuMemcpyDtoD_v2(f->a, f->b, BYTES)); /* the host does not wait */
    if (ordered)
        after(f, f->s[0], NULL);
    launch(f, "set", f->s[0], f->b, f->c);
}
static void fills(fixture *f, bool ordered)
{
    CU(cu.cuMemsetD32_v2(f->a, 1, THREADS)); /* the host does not wait */
    if (ordered)
        after(f, f->s[0], NULL);
    launch(f, "copy", f->s[0], f->a, f->b);
}
static void fills_pinned(fixture *f, bool ordered)
{
    if (ordered)
        CU(cu.cuMemsetD8_v2((CUdeviceptr)(uintptr_t)f->pinned, 1, BYTES)); /* the host waits */
    else
        CU(cu.cuMemsetD8Async((CUdeviceptr)(uintptr_t)f->pinned, 1, BYTES, f->s[1]));
    launch(f, "copy", f->s[0], (CUdeviceptr)(uintptr_t)f->pinned, f->b);
}
/* Every other column of 4 bytes. One kernel writes the columns between, the other one the same columns. */
static void columns(fixture *f, bool ordered)
{
    CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = f->pinned,
                          .srcPitch = 8,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = f->a,
                          .dstPitch = 8,
                          .WidthInBytes = 4,
                          .Height = THREADS };
    CU(cu.cuMemcpy2DAsync_v2(&box, f->s[0]));
    launch(f, ordered ? "odd" : "even", f->s[1], f->a, f->c);
}
static void test_copies(void **state)
{
    (void)state;
    FINDS(upload_pageable, "kernel 'copy'", "cuMemcpyHtoD_v2 (operation ");
    FINDS(upload_pinned, "kernel 'copy'", "cuMemcpyHtoDAsync_v2");
    FINDS(download, "cuMemcpyDtoHAsync_v2", "kernel 'set'");
    FINDS(download_pinned, ") reads 64 bytes at 0x", "cuMemcpyDtoHAsync_v2");
    FINDS(across_device, "kernel 'set'", "cuMemcpyDtoD_v2");
    FINDS(fills, "kernel 'copy'", "cuMemsetD32_v2");
    FINDS(fills_pinned, "kernel 'copy'", "cuMemsetD8Async");
    FINDS(columns, "4 bytes at 0x", "cuMemcpy2DAsync_v2");
}

/* ---- no conflict ---- */
static void readers(fixture *f, bool ordered)
{
    (void)ordered;
    launch(f, "copy", f->s[0], f->a, f->b);
    launch(f, "copy", f->s[1], f->a, f->c);
}
/* Atomic operations of two streams do not conflict; an atomic operation and a plain access do. */
static void updates(fixture *f, bool ordered)
{
    launch(f, "add", f->s[0], f->a, f->c);
    launch(f, "add", f->s[1], f->a, f->c);
    if (!ordered)
        launch(f, "copy", f->s[2], f->a, f->b);
}
static void halves(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], f->a, f->c);
    launch(f, "set", f->s[1], f->a + (ordered ? 32 : 28), f->c);
}
static void interleaved(fixture *f, bool ordered)
{
    launch(f, "even", f->s[0], f->a, f->c);
    launch(f, "odd", f->s[1], f->a, f->c);
    if (!ordered)
        launch(f, "odd", f->s[2], f->a, f->c);
}
static void many(fixture *f, bool ordered)
{
    (void)ordered;
    for (int i = 0; i < 200; i++) {
        CUstream s;
        CU(cu.cuStreamCreate(&s, 1));
        after(f, s, f->s[i % 2]);
        launch(f, "twice", s, f->a, f->c);
        after(f, f->s[!(i % 2)], s);
        CU(cu.cuStreamDestroy_v2(s));
        if (i % 50 == 49)
            CU(cu.cuCtxSynchronize());
    }
}
static void test_no_conflict(void **state)
{
    (void)state;
    is_fine(readers);
    is_fine(many);
    FINDS(updates, "kernel 'copy'", ") updates them");
    FINDS(halves, ") writes 4 bytes at 0x", ") writes them");
    FINDS(interleaved, ") writes 4 bytes at 0x", "kernel 'odd'");
}

/* ---- stream-ordered allocation and release ---- */
static void allocated(fixture *f, bool ordered)
{
    CUdeviceptr p;
    CU(cu.cuMemAllocAsync(&p, BYTES, f->s[0]));
    if (ordered)
        after(f, f->s[1], f->s[0]);
    launch(f, "set", f->s[1], p, f->c);
}
static void freed(fixture *f, bool ordered)
{
    CUdeviceptr p;
    CU(cu.cuMemAllocAsync(&p, BYTES, f->s[0]));
    after(f, f->s[1], f->s[0]);
    launch(f, "set", f->s[1], p, f->c);
    if (ordered)
        after(f, f->s[0], f->s[1]);
    CU(cu.cuMemFreeAsync(p, f->s[0]));
}
static void freed_at_once(fixture *f, bool ordered)
{
    CUdeviceptr p;
    CU(cu.cuMemAllocAsync(&p, BYTES, f->s[0]));
    launch(f, "set", f->s[0], p, f->c);
    if (ordered)
        CU(cu.cuStreamSynchronize(f->s[0]));
    CU(cu.cuMemFree_v2(p)); /* waits for nothing */
}
static void pinned_freed(fixture *f, bool ordered)
{
    launch(f, "set", f->s[0], (CUdeviceptr)(uintptr_t)f->pinned, f->c);
    if (ordered)
        CU(cu.cuStreamSynchronize(f->s[0]));
    CU(cu.cuMemFreeHost(f->pinned));
}
static void freed_in_use(fixture *f, bool ordered)
{
    (void)ordered;
    launch(f, "set", f->s[0], f->a, f->c);
    CU(cu.cuMemFree_v2(f->a)); /* waits */
}
static void managed(fixture *f, bool ordered)
{
    CUdeviceptr p;
    CU(cu.cuMemAllocManaged(&p, BYTES, 1));
    launch(f, "set", f->s[0], p, f->c);
    if (ordered)
        CU(cu.cuStreamSynchronize(f->s[0]));
    launch(f, "copy", f->s[1], p, f->b);
}
static void test_memory(void **state)
{
    (void)state;
    FINDS(allocated, "kernel 'set'", ") allocates them");
    FINDS(freed, "cuMemFreeAsync (operation ", "kernel 'set'");
    FINDS(freed_at_once, ", of the host) frees 32 bytes", "kernel 'set'");
    FINDS(pinned_freed, "cuMemFreeHost", "kernel 'set'");
    is_fine(freed_in_use);
    FINDS(managed, "into managed memory #", "kernel 'set'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events), cmocka_unit_test(test_host),   cmocka_unit_test(test_default_streams),
        cmocka_unit_test(test_copies), cmocka_unit_test(test_memory), cmocka_unit_test(test_no_conflict),
    };
    return cmocka_run_group_tests(tests, emu_open, emu_close);
}
