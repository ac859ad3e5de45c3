/* test_lib_blas.c - matrix products through the BLAS library that WEFT_BLAS names (here one that counts its calls)
 * equal those of the kernel in Weft: dtypes, layouts, batches. A library that cannot be opened is reported. */
#include "on_devices.h"
#include "weft/functions.h"
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

static int *calls;

static wf_array *numbers(wf_dtype t, wf_shape shape)
{
    static const int64_t tile[] = { 3, 5, 7 };
    wf_array *a = wf_array_iota(ctx, t, shape, tile + 3 - shape.rank);
    assert_non_null(a);
    return a;
}

/* Consumes both. */
static void check(wf_array *a, wf_array *b, int expected)
{
    assert_true(a && b);
    setenv("WEFT_BLAS", "none", 1);
    wf_array *want = wf_array_matmul(a, b);
    setenv("WEFT_BLAS", WEFT_FAKE_BLAS, 1);
    int before = *calls;
    wf_array *got = wf_array_matmul(a, b);
    if (!got)
        print_error("%s\n", wf_last_message(ctx));
    assert_true(want && got);
    assert_int_equal(*calls - before, expected);
    bool same = false;
    OK(ctx, wf_array_all_close(got, want, 0, 0, false, &same));
    assert_true(same);
    assert_int_equal(wf_array_dtype(got), wf_array_dtype(want));
    wf_array *all[] = { a, b, want, got };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static wf_array *turned(wf_array *a)
{
    wf_array *view = wf_view_permute(a, (const int[]){ 1, 0 });
    wf_release(a);
    return view;
}

static wf_array *sliced(wf_array *a, int axis, int64_t start, int64_t stop, int64_t step)
{
    wf_array *view = wf_view_slice(a, axis, start, stop, step);
    wf_release(a);
    return view;
}

static void test_products(void **state)
{
    (void)state;
    const wf_dtype by_blas[] = { WF_F32, WF_F64, WF_C64, WF_C128 };
    for (int i = 0; i < 4; ++i)
        check(numbers(by_blas[i], WF_SHAPE(33, 40)), numbers(by_blas[i], WF_SHAPE(40, 37)), 1);
    check(numbers(WF_F16, WF_SHAPE(33, 40)), numbers(WF_F16, WF_SHAPE(40, 37)), 0);
    check(numbers(WF_I32, WF_SHAPE(33, 40)), numbers(WF_I32, WF_SHAPE(40, 37)), 0);
    check(numbers(WF_F32, WF_SHAPE(33, 40)), numbers(WF_F64, WF_SHAPE(40, 37)), 0);
    check(numbers(WF_F32, WF_SHAPE(3, 4)), numbers(WF_F32, WF_SHAPE(4, 3)), 0); /* too small */
}

static void test_layouts(void **state)
{
    (void)state;
    for (int k = 0; k < 16; ++k) {
        wf_array *a = k & 1 ? turned(numbers(WF_F32, WF_SHAPE(50, 35))) : numbers(WF_F32, WF_SHAPE(35, 50));
        wf_array *b = k & 2 ? turned(numbers(WF_F32, WF_SHAPE(60, 50))) : numbers(WF_F32, WF_SHAPE(50, 60));
        if (k & 4) { /* gaps between rows */
            a = sliced(a, 1, 3, 43, 1);
            b = sliced(b, 0, 10, 50, 1);
        }
        if (k & 8) { /* a layout that no BLAS accepts */
            a = sliced(a, 0, -1, WF_END_INDEX, -1);
            b = sliced(b, 1, 0, WF_END_INDEX, 2);
        }
        check(a, b, 1);
    }
    wf_array *row = numbers(WF_F64, WF_SHAPE(1, 64)), *wide = wf_view_broadcast(row, WF_SHAPE(70, 64));
    check(wide, numbers(WF_F64, WF_SHAPE(64, 65)), 1);
    wf_release(row);
    check(numbers(WF_F32, WF_SHAPE(3, 64, 70)), numbers(WF_F32, WF_SHAPE(70, 65)), 3);
    check(numbers(WF_F32, WF_SHAPE(64, 70)), numbers(WF_F32, WF_SHAPE(2, 70, 65)), 2);
    check(numbers(WF_F32, WF_SHAPE(1, 64, 70)), numbers(WF_F32, WF_SHAPE(2, 70, 65)), 2);
}

static void test_not_frozen(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_F32, WF_SHAPE(33, 33));
    setenv("WEFT_BLAS", WEFT_FAKE_BLAS, 1);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    wf_release(wf_array_matmul(a, a));
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "wf_array_matmul cannot be in a frozen sequence: a BLAS");
    wf_release(a);
}

static void test_missing(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_F32, WF_SHAPE(64, 64));
    setenv("WEFT_BLAS", "/no/such/library.so", 1);
    assert_null(wf_array_matmul(a, a));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "WEFT_BLAS names no BLAS: /no/such/library.so");
    setenv("WEFT_BLAS", WEFT_NO_BLAS, 1);
    assert_null(wf_array_matmul(a, a));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "sgemm_");
    unsetenv("WEFT_BLAS");
    wf_array *c = wf_array_matmul(a, a);
    assert_non_null(c);
    wf_release(c);
    wf_release(a);
}

/* The program that test_set_user_id starts: WEFT_BLAS, which names no library, must have no effect. */
static int set_user_id_program(void)
{
    wf_context *own = wf_context_new(NULL);
    wf_array *a = wf_full(own, WF_F32, WF_SHAPE(33, 33), 1), *c = wf_array_matmul(a, a);
    int result = getuid() == geteuid() ? 2 : c ? 0 : 1;
    wf_release(a);
    wf_release(c);
    wf_context_free(own);
    return result;
}

/* Runs a copy of this program as another user, which only root can prepare. */
static void test_set_user_id(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* the leak sanitizer does not work in such programs */
#endif
    enum { NOBODY = 65534 };
    char path[] = "/tmp/weft-set-user-id-XXXXXX", command[128];
    int fd = getuid() == 0 ? mkstemp(path) : -1;
    if (fd < 0)
        skip();
    close(fd);
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", (int)getpid(), path);
    assert_int_equal(system(command), 0);
    bool changed = chown(path, NOBODY, NOBODY) == 0 && chmod(path, 04755) == 0;
    snprintf(command, sizeof command, "WEFT_BLAS=/no/such/library.so %s set-user-id", path);
    int status = changed ? system(command) : 0x200;
    unlink(path);
    if (WEXITSTATUS(status) == 2) /* a folder mounted without such programs */
        skip();
    assert_int_equal(status, 0);
}

/* On the processor where a GPU is the default. */
static void test_off_default(void **state)
{
    (void)state;
    if (!is_chosen("cuda-emu"))
        skip();
    wf_context *usual = ctx;
    ctx = test_context(WF_GPU_EMU(0), 1);
    wf_array *there = numbers(WF_F32, WF_SHAPE(33, 33)), *a = wf_copy_to(there, WF_CPU);
    setenv("WEFT_BLAS", WEFT_FAKE_BLAS, 1);
    int before = *calls;
    wf_array *c = wf_array_matmul(a, a);
    if (!c)
        fail_msg("%s", wf_last_message(ctx));
    assert_int_equal(*calls - before, 1);
    assert_int_equal(wf_array_device(c), WF_CPU);
    wf_array *all[] = { there, a, c };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    wf_context_free(ctx);
    ctx = usual;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "set-user-id"))
        return set_user_id_program();
    void *library = dlopen(WEFT_FAKE_BLAS, RTLD_NOW);
    calls = library ? dlsym(library, "fake_blas_calls") : NULL;
    if (!calls)
        return 1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_products),    cmocka_unit_test(test_layouts),
                                        cmocka_unit_test(test_not_frozen),  cmocka_unit_test(test_missing),
                                        cmocka_unit_test(test_off_default), cmocka_unit_test(test_set_user_id) };
    return cmocka_run_group_tests(tests, on_cpu, off);
}
