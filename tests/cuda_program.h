/* cuda_program.h - a host program that uses CUDA itself, beside Weft: through the driver API of the PTX emulator. */
#ifndef WEFT_CUDA_PROGRAM_H
#define WEFT_CUDA_PROGRAM_H
#include "launch/launch.h"
#include "emu/tests/emu_test.h"
#include "memory_fails.h"
#include "side_by_side.h"

#define GPU WF_GPU(0) /* WEFT_CUDA names the emulator: so work is not waited for at each step, as on a GPU */
static wf_context *ctx;
static CUcontext primary;

static inline int on(void **state)
{
    if (emu_open(state))
        return -1;
    ctx = test_context(GPU, 1);
    return cu.cuCtxGetCurrent(&primary) != CUDA_SUCCESS;
}

static inline int off(void **state)
{
    wf_context_free(ctx);
    return emu_close(state);
}

/* The program's own context is current after each test, as before. */
static inline int still_current(void **state)
{
    (void)state;
    CUcontext now = NULL;
    CU(cu.cuCtxGetCurrent(&now));
    return now != primary;
}

static inline void count(void *user) { ++*(int *)user; }
static inline void *host(CUdeviceptr at) { return (void *)(uintptr_t)at; }

static inline wf_array *wrapped(CUdeviceptr at, wf_dtype dtype, wf_shape shape, int *released)
{
    wf_array *a = wf_wrap(ctx, host(at), dtype, shape, released ? count : NULL, released, .device = GPU);
    if (!a)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(a);
    assert_int_equal(wf_array_device(a), GPU);
    return a;
}

/* a = a * 2 + add */
static inline void change(wf_array *a, wf_val add(wf_graph *g))
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_mul(wf_in(g, a), 2), add(g)));
    OK(ctx, wf_run(g));
}
static inline wf_val one(wf_graph *g) { return wf_const(g, WF_F32, 1); }

static inline void expect_at(CUdeviceptr at, const float *want, size_t n)
{
    float got[64];
    emu_download(got, at, n * sizeof *got);
    for (size_t i = 0; i < n; ++i)
        assert_true(got[i] == want[i]);
}

/* A kernel of the program's: a[i] *= 2 for the threads of a block. */
static const char doubling[] =
    PTX_HEAD(80) ".visible .entry twice(.param .u64 at)\n{\n.reg .b64 %d<4>;\n.reg .b32 %r<2>;\n.reg .f32 %f<2>;\n"
                 "ld.param.u64 %d1, [at];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d3, %d1, %d2;\n"
                 "ld.global.f32 %f1, [%d3];\nadd.f32 %f1, %f1, %f1;\nst.global.f32 [%d3], %f1;\nret;\n}\n";

/* What main returns. */
#define RUN_BESIDE(tests)                                                                                             \
    (!getenv("WEFT_CUDA_EMU") ? (print_message("WEFT_CUDA_EMU names no emulator: nothing to test\n"), 0)              \
                              : (setenv("WEFT_EMU_DEVICES", "2", 1), setenv("WEFT_CUDA", getenv("WEFT_CUDA_EMU"), 1), \
                                 cmocka_run_group_tests(tests, on, off)))
#endif
