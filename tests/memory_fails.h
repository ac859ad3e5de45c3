/* memory_fails.h - runs scenarios with all memory, then again with the first, second, ... allocation failing. Only
 * debug builds can make allocations fail. */
#ifndef WEFT_MEMORY_FAILS_H
#define WEFT_MEMORY_FAILS_H
#include "weft_test.h"
#include "base/base.h"

/* Returns WF_OK after checking its results and releasing everything, or WF_ERR_MEMORY. */
typedef wf_status scenario(wf_context *ctx);
static wf_device device;

/* Out of memory is the only reason to have no object. */
static inline wf_status missing(wf_context *ctx)
{
    wf_status status = wf_last_status(ctx); /* WF_OK: not even the error could be kept */
    if (status != WF_OK && status != WF_ERR_MEMORY)
        print_error("%s: %s\n", wf_status_name(status), wf_last_message(ctx));
    assert_true(status == WF_OK || status == WF_ERR_MEMORY);
    return WF_ERR_MEMORY;
}

/* True if the requested failure has happened. */
static inline bool failure_happened(void)
{
    for (int i = 0; i < 1000000; ++i)
        if (wf__alloc_fails())
            return false;
    return true;
}

static inline wf_context *new_context(void)
{
    wf_config config = { .size = sizeof config, .device = device, .threads = 2, .flags_on = WF_FLAG_NO_DISK_CACHE };
    return wf_context_new(&config);
}

static inline void repeat(const char *name, scenario *run, long step)
{
    long n = 0, failed = 0;
    for (bool more = true; more; n += step) {
        wf_context *ctx = new_context();
        assert_non_null(ctx);
        wf__alloc_fail_after(n);
        wf_status status = run(ctx);
        more = failure_happened();
        wf__alloc_fail_after(-1);
        if (status != WF_OK && status != WF_ERR_MEMORY) {
            print_error("%s, allocation %ld fails: %s, %s\n", name, n, wf_status_name(status), wf_last_message(ctx));
            fail();
        }
        if (!more)
            assert_int_equal(status, WF_OK);
        failed += status == WF_ERR_MEMORY;
        wf_clear_error(ctx);
        status = run(ctx); /* and the context still works */
        if (status != WF_OK) {
            print_error("%s, after allocation %ld failed: %s, %s\n", name, n, wf_status_name(status),
                        wf_last_message(ctx));
            fail();
        }
        wf_context_free(ctx);
    }
    assert_true(failed > 0);
}

/* True if the array begins with these elements, or an earlier call failed. */
static inline bool holds(wf_array *a, const float *want, int64_t n, wf_status *status)
{
    float got[64];
    assert_true(n <= 64);
    if (*status == WF_OK)
        *status = wf_download(a, got, (size_t)n * sizeof *got);
    return *status != WF_OK || first_difference(WF_F32, got, want, n) < 0;
}

typedef struct memory_case {
    const char *name;
    scenario *run;
    wf_device device;
    long step; /* every how many-th allocation fails */
} memory_case;

static inline void test_memory_case(void **state)
{
    const memory_case *c = *state;
    device = WF_CPU;
    wf_context *ctx = new_context();
    assert_non_null(ctx);
    OK(ctx, c->run(ctx));
    wf_context_free(ctx);
#ifdef WEFT_DEBUG_CHECKS
    device = c->device;
    repeat(c->name, c->run, TEST_EVERY > 1 ? 8 * c->step + 1 : c->step);
#endif
}

/* What main returns: each case once on the CPU with all memory, then as it says. setup: before each case, or NULL. */
static inline int run_memory_cases(const memory_case *cases, size_t n, CMFixtureFunction setup)
{
    struct CMUnitTest tests[64];
    assert_true(n <= WF__COUNT(tests));
    for (size_t i = 0; i < n; ++i)
        tests[i] = (struct CMUnitTest){ cases[i].name, test_memory_case, setup, NULL, (void *)&cases[i] };
    return _cmocka_run_group_tests("out of memory", tests, n, NULL, NULL);
}
#endif
