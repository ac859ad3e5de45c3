/* test_memory_neighbours.c - which memory kernels touch. Rows around the width of a vector leave their neighbours as
 * they were, lanes beyond the end do not trap, elements beyond the reach of 32 bits are found, and log functions may
 * use the context.
 *
 * ctest: threads
 */
#include "on_devices.h"
#if defined __linux__
#include <sys/mman.h>
#endif

/* n elements between guards, of each size of element, each quotient by zero somewhere. */
static void test_neighbours(void **state)
{
    (void)state;
    static const wf_dtype dtypes[] = { WF_U8, WF_I16, WF_I32, WF_F32, WF_F64, WF_I64 };
    enum { GUARD = 40, MOST = 140 };
    static const int64_t sizes[] = { 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129 };
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k)
        for (size_t j = k % TEST_EVERY; j < sizeof sizes / sizeof *sizes; j += TEST_EVERY) {
            static _Alignas(64) unsigned char memory[(MOST + 2 * GUARD) * 8];
            size_t size = wf_dtype_size(dtypes[k]), guard = GUARD * size, n = (size_t)sizes[j];
            memset(memory, 0xa5, sizeof memory);
            wf_array *out = wf_wrap(ctx, memory + guard, dtypes[k], WF_SHAPE(sizes[j]), NULL, NULL);
            wf_graph *g = wf_begin(ctx);
            wf_val i = wf_iota(g, WF_SHAPE(sizes[j]), 0), whole = wf_idiv(wf_sub(i, 3), wf_mod(i, 2));
            wf_out(g, out, wf_cast(wf_select(wf_eq(wf_mod(i, 2), 0), i, whole), dtypes[k]));
            OK(ctx, wf_run(g));
            wf_array *wide = wf_array_dtype(out) == WF_F64 ? wf_retain(out) : NULL;
            g = wf_begin(ctx);
            wide = wide ? wide : wf_keep(wf_cast(wf_in(g, out), WF_F64));
            OK(ctx, wf_run(g));
            double *got = contents(wide);
            for (int64_t x = 0; x < sizes[j]; ++x) {
                double want = x % 2 ? (double)(x - 3) : (double)x;
                want = dtypes[k] == WF_U8 && want < 0 ? 254 : want;
                assert_true(got[x] == want);
            }
            free(got);
            for (size_t b = 0; b < guard; ++b)
                assert_true(memory[b] == 0xa5 && memory[guard + n * size + b] == 0xa5);
            wf_release(out), wf_release(wide);
        }
}

/* Bytes at both ends of 4 GiB, of which nothing else is touched. */
static void test_elements_beyond_32_bits(void **state)
{
    (void)state;
#if defined __linux__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    const int64_t n = ((int64_t)1 << 32) + 5, at[] = { 0, ((int64_t)1 << 28) + 1, ((int64_t)1 << 31) + 3, n - 1 };
    unsigned char *memory =
        mmap(NULL, (size_t)n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        skip();
    wf_array *far = wf_wrap(ctx, memory, WF_U8, WF_SHAPE(n), NULL, NULL),
             *index = array_of(ctx, WF_I64, WF_SHAPE(4), at);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_in(g, index), k = wf_iota(g, WF_SHAPE(4), 0);
    wf_write(g, far, wf_cast(wf_add(k, 1), WF_U8), i);
    wf_accumulate_mode(g, WF_JOIN_MAX, WF_MODE_DIRECT, far, wf_mul(wf_add(k, 1), 3), i);
    wf_array *read = wf_keep(wf_read(g, far, i)), *value = wf_keep(wf_gather(wf_xor(wf_in(g, far), 1), i)),
             *last = wf_keep(wf_slice(wf_in(g, far), 0, -2, WF_END_INDEX, 1));
    OK(ctx, wf_run(g));
    unsigned char *got = contents(read), *other = contents(value), *end = contents(last);
    for (int j = 0; j < 4; ++j) {
        assert_int_equal(memory[at[j]], 3 * (j + 1));
        assert_int_equal(got[j], 3 * (j + 1));
        assert_int_equal(other[j], (3 * (j + 1)) ^ 1);
    }
    assert_true(end[0] == 0 && end[1] == 12);
    free(got), free(other), free(end);
    wf_array *all[] = { far, index, read, value, last };
    for (int j = 0; j < 5; ++j)
        wf_release(all[j]);
    munmap(memory, (size_t)n);
#endif
}

/* ---- the log may use the context that logs ---- */
static int logged;

static void use_context(int level, const char *text, void *user)
{
    (void)level;
    (void)text;
    wf_context *own = *(wf_context **)user;
    if (!own || logged++)
        return;
    wf_info about = { .size = sizeof about };
    wf_kernel_info kernels[4] = { { .size = sizeof *kernels } };
    OK(own, wf_get_info(own, false, &about));
    wf_history(own, kernels, 4);
    wf_array *a = wf_full(own, WF_F32, WF_SHAPE(3), 2);
    wf_graph *g = wf_begin(own);
    wf_array *b = wf_keep(wf_mul(wf_in(g, a), 4));
    OK(own, wf_run(g));
    EXPECT_F32(b, 8, 8, 8);
    wf_release(a), wf_release(b);
}

static void test_log_uses_context(void **state)
{
    (void)state;
    wf_context *own = NULL;
    wf_config config = { .size = sizeof config,
                         .threads = 2,
                         .flags_on = WF_FLAG_NO_DISK_CACHE | WF_FLAG_HISTORY | WF_FLAG_DEBUG,
                         .log = use_context,
                         .log_user = &own };
    logged = 0;
    own = wf_context_new(&config);
    wf_array *a = wf_array_arange(own, WF_F32, 8, 0, 1), *b = wf_empty(own, WF_F32, WF_SHAPE(8));
    for (int i = 0; i < 4 && !logged; ++i) { /* an output that is not set at all points is a warning */
        wf_graph *g = wf_begin(own, .elements = true);
        wf_val x = wf_in(g, a);
        WF_IF (g, wf_gt(x, 4)) {
            wf_out(g, b, wf_add(x, i));
        }
        WF_END(g);
        OK(own, wf_run(g));
    }
    wf_release(a), wf_release(b);
    assert_true(logged > 0);
    wf_context_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_neighbours),
                                        cmocka_unit_test(test_elements_beyond_32_bits),
                                        cmocka_unit_test(test_log_uses_context) };
    return RUN_ON_CPU(tests);
}
