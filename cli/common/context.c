/* context.c - makes the context of a command from its options. */
#include "common.h"
#include <stdio.h>
#include <stdlib.h>

static void print_log(int level, const char *text, void *user)
{
    (void)user;
    if (level <= 1)
        fprintf(stderr, "weft: warning: %s\n", text);
}

/* Refuses a WEFT_THREADS that is no number; the library would silently use all cores. */
static bool bad_environment(const arguments *a)
{
    long n;
    const char *threads = getenv("WEFT_THREADS");
    if (!threads || !*threads || parse_int(threads, 0, MOST_CLI_THREADS, &n))
        return false;
    misused(a->command, "WEFT_THREADS is '%s' in the environment: give a number from 0 (all cores) to %d", threads,
            MOST_CLI_THREADS);
    return true;
}

wf_context *open_context(const arguments *a)
{
    if (bad_environment(a))
        return NULL;
    wf_config config = { .size = sizeof config,
                         .threads = a->threads,
                         .log = a->silent ? NULL : print_log,
                         .poll = a->poll,
                         .memory_bytes = a->memory_bytes };
    if (a->fast_math)
        config.flags_on = WF_FLAG_FAST_MATH;
    if (a->history)
        config.flags_on |= WF_FLAG_HISTORY;
    if (a->order_by_shape)
        config.flags_on |= WF_FLAG_ORDER_BY_SHAPE;
    if (a->device)
        config.device = wf_device_named(a->device);
    if (a->device && !config.device) {
        misused(a->command, "--device %s: the devices are cpu, interp, cuda:0 and cuda-emu", a->device);
        return NULL;
    }
    if (a->host_only && config.device >= WF_GPU(0)) {
        misused(a->command, "--device %s: this command works on cpu and interp only", a->device);
        return NULL;
    }
    wf_context *ctx = wf_context_new(&config);
    if (!ctx)
        failed("%s", wf_last_message(NULL));
    return ctx;
}
