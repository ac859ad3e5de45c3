/* test_layout_order.c - strides of arrays in C order and in the order with the last two axes exchanged, and the order
 * in which loops walk them. */
#include "on_devices.h"

static const wf_shape shape = { .rank = 4, .dim = { 2, 128, 64, 65 } };
static const int64_t rows[] = { 532480, 4160, 65, 1 }, columns[] = { 532480, 4160, 1, 64 };

static wf_array *laid(const wf_shape *of, const int64_t *strides)
{
    wf_place place = { .size = sizeof place, .strides = strides };
    wf_array *a = wf_empty_with(ctx, WF_F32, *of, &place);
    assert_non_null(a);
    return a;
}

static void test_strides(void **state)
{
    (void)state;
    wf_array *c = wf_empty(ctx, WF_F32, shape), *f = laid(&shape, columns);
    int64_t got[WF_MAX_RANK];
    void *data;
    OK(ctx, wf_map(c, &data, got));
    assert_memory_equal(got, rows, sizeof rows);
    OK(ctx, wf_map(f, &data, got));
    assert_memory_equal(got, columns, sizeof columns);
    assert_true(wf_array_is_packed(c) && !wf_array_is_packed(f));
    wf_release(c), wf_release(f);
}

/* out = 2 in: the loops that it becomes, as text, and each element. */
static void walk(const wf_shape *of, const int64_t *in_strides, const int64_t *out_strides, const char *loops)
{
    wf_array *out = laid(of, out_strides);
    int64_t count = 1, index[4] = { 0 }, at[4];
    for (int d = 0; d < of->rank; ++d)
        count += (of->dim[d] - 1) * in_strides[d];
    float *x = malloc((size_t)count * sizeof *x), *y;
    for (int64_t i = 0; i < count; ++i)
        x[i] = (float)(i % 100003);
    wf_array *in = wf_wrap(ctx, x, WF_F32, *of, NULL, NULL, .strides = in_strides);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, wf_mul(wf_in(g, in), 2));
    wf_kernel *k = wf_compile(g);
    char text[8192], want[64];
    size_t n;
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, text, sizeof text, &n));
    snprintf(want, sizeof want, "# stage 1 of 1: loops %s\n", loops);
    if (strncmp(text, want, strlen(want)) != 0)
        fail_msg("%.40s, not %s", text, want);
    OK(ctx, wf_launch(k, WF_NO_ARGS));
    void *data;
    OK(ctx, wf_map(out, &data, at));
    y = data;
    for (int d = 3; d >= 0;) {
        int64_t i = 0, j = 0;
        for (int e = 0; e < 4; ++e)
            i += index[e] * in_strides[e], j += index[e] * out_strides[e];
        if (y[j] != 2 * x[i])
            fail_msg("element %lld is %g", (long long)j, (double)y[j]);
        for (d = 3; d >= 0 && ++index[d] == of->dim[d]; --d)
            index[d] = 0;
    }
    wf_kernel_free(k);
    wf_release(in), wf_release(out);
    free(x);
}

/* The output decides the order of loops; axes that are contiguous become one loop. */
static void test_loops(void **state)
{
    (void)state;
    walk(&shape, rows, rows, "1064960");
    walk(&shape, columns, columns, "1064960");
    walk(&shape, rows, columns, "256 65 64");
    walk(&shape, columns, rows, "256 64 65");
}

/* An axis along which the input repeats stands where the output has it: outermost, or second. */
static void test_repeated(void **state)
{
    (void)state;
    static const wf_shape of = { .rank = 4, .dim = { 2, 3, 64, 128 } };
    static const int64_t repeats[] = { 8192, 0, 128, 1 }, outer[] = { 8192, 16384, 128, 1 },
                         second[] = { 24576, 8192, 128, 1 };
    walk(&of, repeats, outer, "3 16384");
    walk(&of, repeats, second, "2 3 8192");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_strides), cmocka_unit_test(test_loops),
                                        cmocka_unit_test(test_repeated) };
    return RUN_ON_CPU(tests);
}
