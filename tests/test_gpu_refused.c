/* test_gpu_refused.c - what a GPU does not do, and what is said then: the table of docs/gpu.md. Each leaves the device and the
 * arrays as they were. */
#include "on_devices.h"

static void refuses(void record(wf_graph *g, wf_array *a), uint32_t flags, const char *what)
{
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(70), 2);
    wf_graph *g = wf_begin(ctx, .flags_on = flags, .name = "mine");
    record(g, a);
    wf_status status = wf_run(g);
    if (status != WF_ERR_UNSUPPORTED || !strstr(wf_message(ctx), what) || strncmp(wf_message(ctx), "mine: ", 6))
        print_error("%s: '%s', expected '%s'\n", wf_status_name(status), wf_message(ctx), what);
    REFUSED(ctx, status, WF_ERR_UNSUPPORTED, what);
    float *x = contents(a);
    for (int i = 0; i < 70; ++i)
        assert_true(x[i] == 2);
    free(x);
    wf_release(a);
}

static void adds(wf_graph *g, wf_array *a) { wf_out(g, a, wf_add(wf_in(g, a), 1)); }

static void test_recordings(void **state)
{
    (void)state;
    refuses(adds, WF_DEBUG, "debug mode on a GPU");
}

static void nothing(const wf_chunk *chunk, void *user)
{
    (void)chunk;
    (void)user;
}

static void test_contents(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(70), 2);
    void *data = NULL;
    REFUSED(ctx, wf_map(a, &data, NULL), WF_ERR_DEVICE, "wf_map: the array is in the memory of cuda");
    REFUSED(ctx, wf_host_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(a), nothing, NULL), WF_ERR_DEVICE, "memory of a GPU");
    assert_null(wf_wrap(ctx, &data, WF_F32, WF_SHAPE(1), NULL, NULL, .device = wf_array_device(a)));
    REFUSED(ctx, wf_check(ctx), WF_ERR_ARG, "can reach: the driver does not know it");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recordings), cmocka_unit_test(test_contents) };
    return RUN_ON("cuda-emu", tests, on_emulator) + RUN_ON("cuda:0", tests, on_gpu);
}
