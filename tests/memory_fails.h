/* memory_fails.h - repeats a scenario with the first, second, ... allocation failing. Debug builds only: elsewhere
 * allocations cannot be made to fail.
 */
#ifndef WEFT_MEMORY_FAILS_H
#define WEFT_MEMORY_FAILS_H
#include "weft_test.h"
#include "base/base.h"

/* WF_OK, with everything released and results that the scenario itself has checked, or WF_ERR_MEMORY. */
typedef wf_status scenario(wf_context *ctx);
static wf_device device;

/* Out of memory is the only excuse for having no object. */
static inline wf_status missing(wf_context *ctx)
{
    wf_status status = wf_check(ctx); /* WF_OK: not even the error could be kept */
    if (status != WF_OK && status != WF_ERR_MEMORY)
        print_error("%s: %s\n", wf_status_name(status), wf_message(ctx));
    assert_true(status == WF_OK || status == WF_ERR_MEMORY);
    return WF_ERR_MEMORY;
}

/* Has the failure that was ordered happened? */
static inline bool failure_happened(void)
{
    for (int i = 0; i < 1000000; ++i)
        if (wf__alloc_fails())
            return false;
    return true;
}

static inline wf_context *new_context(void)
{
    wf_config config = { .size = sizeof config, .device = device, .threads = 2, .flags_on = WF_NO_DISK_CACHE };
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
            print_error("%s, allocation %ld fails: %s, %s\n", name, n, wf_status_name(status), wf_message(ctx));
            fail();
        }
        if (!more)
            assert_int_equal(status, WF_OK);
        failed += status == WF_ERR_MEMORY;
        wf_clear(ctx);
        status = run(ctx); /* and the context still works */
        if (status != WF_OK) {
            print_error("%s, after allocation %ld failed: %s, %s\n", name, n, wf_status_name(status), wf_message(ctx));
            fail();
        }
        wf_context_free(ctx);
    }
    assert_true(failed > 0);
}
#endif
