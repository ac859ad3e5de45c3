/* test_cuda_emu.c - the device cuda-emu: its names, where Weft finds the emulator, the mistakes that the emulator
 * reports and how Weft names them, files loaded into its memory and saved from it.
 *
 * ctest: threads gpu
 */
#include "weft/io.h"
#include "weft_test.h"
#include <unistd.h>

static wf_context *ctx;

static int on(void **state)
{
    (void)state;
    ctx = test_context(WF_GPU_EMU(0), 1);
    return 0;
}

static int off(void **state)
{
    (void)state;
    wf_context_free(ctx);
    return 0;
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(wf_device_named("cuda-emu"), WF_GPU_EMU(0));
    assert_int_equal(wf_device_named("cuda-emu:3"), WF_GPU_EMU(3));
    static const char *const none[] = {
        "cuda-emu:", "cuda-emux", "cuda-em", "cuda-emu:x", "cuda-emu:1x", "cuda:256", ""
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i)
        assert_int_equal(wf_device_named(none[i]), 0);
    assert_int_equal(wf_context_device(ctx), WF_GPU_EMU(0));
    assert_int_equal(wf_context_device(NULL), 0);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 2), *b = wf_copy_to(a, WF_CPU);
    assert_int_equal(wf_array_device(a), WF_GPU_EMU(0));
    assert_int_equal(wf_array_device(b), WF_CPU);
    wf_graph *g = wf_begin(ctx);
    wf_val first = wf_in(g, a);
    wf_out(g, a, wf_add(first, wf_in(g, b)));
    REFUSED(ctx, wf_run(g), WF_ERR_DEVICE, "is in the memory of cpu");
    wf_array *none_there = wf_empty(ctx, WF_F32, WF_SHAPE(3), .device = WF_GPU_EMU(40));
    assert_null(none_there);
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DEVICE, "there is no cuda-emu:40: this machine has 1 emulated device");
    wf_release(a);
    wf_release(b);
}

/* The emulator is found beside this program, or through its environment variable. */
static void test_where(void **state)
{
    (void)state;
    const char *own = getenv("WEFT_CUDA_EMU");
    char *before = own ? strdup(own) : NULL;
    unsetenv("WEFT_CUDA_EMU");
    wf_context *other = test_context(WF_GPU_EMU(0), 1);
    wf_array *a = wf_full(other, WF_I32, WF_SHAPE(5), 7);
    if (!a)
        print_error("%s\n", wf_last_message(other));
    assert_non_null(a);
    wf_release(a);
    wf_context_free(other);
    setenv("WEFT_CUDA_EMU", "/no/such/emulator.so", 1);
    other = test_context(WF_GPU_EMU(0), 1);
    assert_null(wf_full(other, WF_I32, WF_SHAPE(5), 7));
    REFUSED(other, wf_last_status(other), WF_ERR_DEVICE,
            "cuda-emu:0: no PTX emulator was found (WEFT_CUDA_EMU: /no/such/emulator.so: cannot open");
    a = wf_empty(other, WF_I32, WF_SHAPE(5), .device = WF_CPU); /* other devices work */
    assert_non_null(a);
    wf_release(a);
    wf_context_free(other);
    setenv("WEFT_CUDA_EMU", "libm.so.6", 1);
    other = test_context(WF_GPU_EMU(0), 1);
    assert_null(wf_full(other, WF_I32, WF_SHAPE(5), 7));
    REFUSED(other, wf_last_status(other), WF_ERR_DEVICE, "cuda-emu:0: the PTX emulator is too old (");
    wf_context_free(other);
    if (before)
        setenv("WEFT_CUDA_EMU", before, 1);
    else
        unsetenv("WEFT_CUDA_EMU");
    free(before);
}

/* Each case has a context of its own, because a failure stays until all contexts of the GPU are freed. */
static void finds(wf_graph *record(wf_context *other, wf_array *a, wf_array *out), const char *what)
{
    wf_context *other = test_context(WF_GPU_EMU(0), 1);
    wf_array *a = wf_array_arange(other, WF_F32, 40, 1, 1), *out = wf_full(other, WF_F32, WF_SHAPE(40), 0);
    wf_status status = wf_run(record(other, a, out));
    const char *text = wf_last_message(other);
    bool found = status == WF_ERR_BACKEND && strstr(text, what) && !strncmp(text, "cuda-emu:0: ", 12) &&
                 strstr(text, "line ") && strstr(text, " [in mine begun at ");
    if (!found)
        print_error("%s: '%s', expected '%s'\n", wf_status_name(status), text, what);
    assert_true(found);
    wf_clear_error(other);
    float some[40];
    REFUSED(other, wf_download(a, some, sizeof some), WF_ERR_BACKEND, "cuda-emu:0: lost by an earlier failure");
    wf_array *cpu = wf_empty(other, WF_F32, WF_SHAPE(40), .device = WF_CPU);
    wf_graph *g = wf_begin(other, .device = WF_CPU);
    wf_out(g, cpu, 3);
    OK(other, wf_run(g));
    wf_release(cpu);
    wf_release(a);
    wf_release(out);
    wf_context_free(other);
}

static wf_graph *outside(wf_context *other, wf_array *a, wf_array *out)
{
    wf_graph *g = wf_begin(other, .shape = WF_SHAPE(40), .name = "mine");
    wf_out(g, out, wf_read(g, a, wf_add(wf_index(g, 0), 2)));
    return g;
}

static wf_graph *unwritten(wf_context *other, wf_array *a, wf_array *out)
{
    wf_array *fresh = wf_empty(other, WF_F32, WF_SHAPE(40));
    wf_graph *g = wf_begin(other, .name = "mine");
    wf_out(g, out, wf_add(wf_in(g, a), wf_in(g, fresh)));
    wf_release(fresh);
    return g;
}

static wf_graph *meeting(wf_context *other, wf_array *a, wf_array *out)
{
    wf_graph *g = wf_begin(other, .shape = WF_SHAPE(40), .name = "mine");
    wf_val i = wf_index(g, 0);
    wf_write(g, out, wf_read(g, a, i), wf_idiv(i, 3));
    return g;
}

static void test_findings(void **state)
{
    (void)state;
    finds(outside, "ILLEGAL_ADDRESS");
    finds(unwritten, "nothing has written");
    finds(meeting, "race");
}

static void test_files(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "cuda_emu_%d.npy", (int)getpid());
    wf_array *a = wf_array_arange(ctx, WF_F32, 24, -1, 0.25), *b = wf_view_reshape(a, WF_SHAPE(4, 6));
    int turned[] = { 1, 0 };
    wf_array *c = wf_view_permute(b, turned);
    OK(ctx, wf_save(c, name, NULL));
    wf_array *d = wf_load(ctx, name, NULL);
    assert_non_null(d);
    assert_int_equal(wf_array_device(d), WF_GPU_EMU(0));
    float *x = contents(c), *y = contents(d);
    assert_memory_equal(x, y, 24 * sizeof *x);
    free(x);
    free(y);
    unlink(name);
    wf_array *all[] = { a, b, c, d };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, on, off),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_findings),
        cmocka_unit_test_setup_teardown(test_files, on, off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
