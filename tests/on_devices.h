/* on_devices.h - runs the tests of a file on a context that they use as `ctx`: once for each device, or with the
 * default choices of the library. */
#ifndef WEFT_ON_DEVICES_H
#define WEFT_ON_DEVICES_H
#include "weft_test.h"

static wf_context *ctx;

static inline int on_cpu(void **state)
{
    (void)state;
    ctx = test_context(WF_CPU, 2);
    return 0;
}

static inline int on_interpreter(void **state)
{
    (void)state;
    ctx = test_context(WF_INTERP, 1);
    return 0;
}

static inline int on_default(void **state)
{
    (void)state;
    ctx = test_context(0, 1);
    return 0;
}

/* Makes ctx a context in debug mode; its log messages go to `log`, if that is not NULL. */
static inline int in_debug_mode(wf_device device, void (*log)(int level, const char *text, void *user))
{
    ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config),
                                       .device = device,
                                       .threads = 2,
                                       .flags_on = test_disk_flag() | WF_FLAG_DEBUG,
                                       .log = log });
    return ctx == NULL;
}

static inline int off(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

/* True if the tests run on the device. WEFT_TEST_DEVICES has the names, separated by commas; unset, they are cpu,
 * interp, and cuda-emu where it is found. */
static inline bool is_chosen(const char *device)
{
    const char *all = getenv("WEFT_TEST_DEVICES");
    size_t n = strlen(device);
    for (const char *at = all; at && (at = strstr(at, device)); at += n)
        if ((at == all || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
            return true;
    if (all)
        return false;
    wf_context *trial = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .device = wf_device_named(device) });
    wf_array *a = trial ? wf_empty_with(trial, WF_U8, (wf_shape){ .rank = 0 }, NULL) : NULL;
    bool here = a != NULL && strncmp(device, "cuda:", 5) != 0;
    wf_release(a);
    if (trial)
        wf_context_free(trial);
    return here;
}

static inline int on_emulator(void **state)
{
    (void)state;
    ctx = test_context(WF_GPU_EMU(0), 1);
    return 0;
}

static inline int on_gpu(void **state)
{
    (void)state;
    ctx = test_context(WF_GPU(0), 1);
    return 0;
}

static inline bool is_on_gpu(void) { return wf_context_device(ctx) >= WF_GPU(0); }
/* Returns the extent or count n, or on the emulator, which is some thousand times slower than a GPU, the smaller one. */
static inline int64_t sized(int64_t n, int64_t emulated)
{
    return wf_context_device(ctx) >= WF_GPU_EMU(0) ? emulated : n;
}

/* True if a loop over many cases leaves this one out on the device of ctx. The interpreter runs all cases, compiled code
 * one of `compiled` of them, as the compilation of a kernel takes long, and GPUs one of `gpu`; sanitizers run still
 * fewer (TEST_EVERY). The choice is spread evenly and is the same in all runs. */
static inline bool is_left_out(int which, int compiled, int gpu)
{
    wf_device device = wf_context_device(ctx);
    int every = TEST_EVERY * (device == WF_INTERP ? 1 : device == WF_CPU ? compiled : gpu);
    return test_choice((unsigned)which, (unsigned)every) != 0;
}

/* The status of a call that returns no array. */
static inline wf_status of_null(const wf_array *none)
{
    assert_null(none);
    return wf_last_status(ctx);
}

#define RUN_ON(device, tests, setup) (is_chosen(device) ? cmocka_run_group_tests_name(device, tests, setup, off) : 0)
#define RUN_ON_CPU(tests) (RUN_ON("cpu", tests, on_cpu) + RUN_ON("interp", tests, on_interpreter))
/* Returns 1, and prints why, if WEFT_TEST_DEVICES names none of the devices; else 0. */
static inline int has_no_device(void)
{
    const char *all = getenv("WEFT_TEST_DEVICES");
    if (!all || is_chosen("cpu") || is_chosen("interp") || is_chosen("cuda-emu") || is_chosen("cuda:0"))
        return 0;
    print_error("WEFT_TEST_DEVICES=%s names none of cpu, interp, cuda-emu, cuda:0\n", all);
    return 1;
}

/* What main returns. A file that uses it has the line " * ctest: devices" in its first comment: then ctest runs the
 * emulated GPU as a test of its own, cuda_<x>. */
#define RUN_ON_ALL(tests) \
    (has_no_device() + RUN_ON_CPU(tests) + RUN_ON("cuda-emu", tests, on_emulator) + RUN_ON("cuda:0", tests, on_gpu))
#endif
