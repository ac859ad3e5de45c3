/* with_history.h - runs the tests of a file on contexts that record a history: on the processor and in the
 * interpreter. The contexts compile their kernels themselves. */
#ifndef WEFT_WITH_HISTORY_H
#define WEFT_WITH_HISTORY_H
#include "on_devices.h"

static inline int noted(void **state)
{
    on_cpu(state);
    wf_set_flags(ctx, WF_FLAG_HISTORY | WF_FLAG_NO_DISK_CACHE, 0);
    return 0;
}

static inline int noted_interpreted(void **state)
{
    on_interpreter(state);
    wf_set_flags(ctx, WF_FLAG_HISTORY | WF_FLAG_NO_DISK_CACHE, 0);
    return 0;
}

#define RUN_WITH_HISTORY(tests)                              \
    (cmocka_run_group_tests_name("cpu", tests, noted, off) + \
     cmocka_run_group_tests_name("interpreter", tests, noted_interpreted, off))
#endif
