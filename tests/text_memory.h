/* text_memory.h - makes the result of an operator text while allocations fail. */
#ifndef WEFT_TEXT_MEMORY_H
#define WEFT_TEXT_MEMORY_H
#include "base/base.h"
#include "on_devices.h"

/* Makes `out` of a text with the first, second, ... allocation failing, until none fails; that is one of the
 * first `most`. Each failure is an error. */
static inline void make_out_without_memory(const char *text, wf_args args, long most)
{
    const char *want[] = { "out" };
    wf_array *out = NULL;
    for (long n = 0; n < most && !out; n++) {
        wf__alloc_fail_after(n);
        wf_status status = wf_text_create(ctx, text, args, 0, want, 1, &out);
        wf__alloc_fail_after(-1);
        if (status != (out ? WF_OK : WF_ERR_MEMORY))
            fail_msg("allocation %ld: %s: %s", n, wf_status_name(status), wf_last_message(ctx));
        wf_clear_error(ctx);
    }
    assert_non_null(out);
    wf_release(out);
}
#endif
