/* on_devices.h - the group of tests of one file, run on a context that the file's tests use as `ctx`: on every device, or
 * with what the library chooses by itself.
 */
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

static inline int off(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

static inline int on_cuda(void **state)
{
    (void)state;
    ctx = test_context(WF_GPU(0), 1);
    return 0;
}

/* What main returns. With WEFT_TEST_CUDA on the first GPU alone. */
#define RUN_ON_ALL(tests)                                                                \
    (getenv("WEFT_TEST_CUDA") ? cmocka_run_group_tests_name("cuda", tests, on_cuda, off) \
                              : cmocka_run_group_tests_name("cpu", tests, on_cpu, off) + \
                                    cmocka_run_group_tests_name("interpreter", tests, on_interpreter, off))
#endif
