/* test_gpu_refused.c - what GPUs cannot do, and the errors that say so: the table of docs/gpu.md. Each error leaves
 * device and arrays as they were. */
#include "on_devices.h"

static void test_barriers(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(70), 2);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(70), .name = "mine");
    wf_out(g, a, 3);
    wf_barrier(g);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED,
            "wf_barrier: not on a GPU where all points are one block; give .block, or reduce some axes [operation %");
    float *x = contents(a);
    for (int i = 0; i < 70; ++i)
        assert_true(x[i] == 2);
    free(x);
    wf_release(a);
}

static void test_contents(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(70), 2);
    void *data = NULL;
    REFUSED(ctx, wf_map(a, &data, NULL), WF_ERR_DEVICE, "wf_map: the array is in the memory of cuda");
    assert_null(wf_wrap(ctx, &data, WF_F32, WF_SHAPE(1), NULL, NULL, .device = wf_array_device(a)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "can reach: the driver does not know it");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_barriers), cmocka_unit_test(test_contents) };
    return RUN_ON("cuda-emu", tests, on_emulator) + RUN_ON("cuda:0", tests, on_gpu);
}
