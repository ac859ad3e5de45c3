/* test_vector_accesses.c - element-wise recordings whose neighbours may be read and written together: every dtype,
 * rows of every length, views that begin anywhere, in place, several arrays of different sizes, values of other
 * stages. On a GPU the kernels contain accesses of several elements, whether or not this launch may use them.
 *
 * ctest: devices baseline
 */
#include "on_devices.h"
#include "ptxas.h"

static const wf_dtype dtypes[] = { WF_BOOL, WF_I8,  WF_U8,   WF_I16, WF_U16, WF_I32, WF_U32, WF_I64,
                                   WF_U64,  WF_F16, WF_BF16, WF_F32, WF_F64, WF_C32, WF_C64 };
enum { MOST = 1300 };

/* The first n bytes of a pattern that no two neighbours share. */
static void *pattern(size_t n)
{
    unsigned char *x = malloc(n + 1);
    assert_non_null(x);
    for (size_t i = 0; i < n; ++i)
        x[i] = (unsigned char)(i * 13 % 31);
    return x;
}

/* Copies n elements from element `from` on to `to` on, and leaves all others as they were. */
static void copied(wf_dtype t, int64_t from, int64_t to, int64_t n)
{
    size_t size = wf_dtype_size(t), bytes = MOST * size;
    unsigned char *x = pattern(bytes), *want = calloc(bytes + 1, 1);
    assert_non_null(want);
    for (size_t i = 0; t == WF_BOOL && i < bytes; ++i)
        x[i] &= 1;
    memcpy(want + (size_t)to * size, x + (size_t)from * size, (size_t)n * size);
    wf_array *a = array_of(ctx, t, WF_SHAPE(MOST), x), *b = wf_full(ctx, t, WF_SHAPE(MOST), 0);
    wf_array *source = wf_view_slice(a, 0, from, from + n, 1), *target = wf_view_slice(b, 0, to, to + n, 1);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, target, wf_in(g, source));
    OK(ctx, wf_run(g));
    unsigned char *got = contents(b);
    for (size_t i = 0; i < bytes; ++i)
        if (got[i] != want[i]) {
            print_error("%s: %d elements from %d to %d: byte %d is 0x%x, not 0x%x\n", wf_dtype_name(t), (int)n,
                        (int)from, (int)to, (int)i, got[i], want[i]);
            fail();
        }
    free(x), free(want), free(got);
    wf_release(a), wf_release(b), wf_release(source), wf_release(target);
}

static void test_lengths(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; ++t) {
        for (int64_t n = 1; n < 12; ++n)
            copied(dtypes[t], 0, 0, n);
        for (int64_t at = 0; at < 5; ++at)
            copied(dtypes[t], at, 4 - at, 1100 + at * 7);
        copied(dtypes[t], 8, 16, 1024);
    }
}

/* Rows whose extent and stride are multiples of a vector, or of nothing. */
static void test_rows(void **state)
{
    (void)state;
    static const int64_t width[] = { 5, 8, 61, 64 }, pitch[] = { 64, 65, 67, 72 };
    for (int w = 0; w < 4; ++w)
        for (int p = 0; p < 4; ++p)
            for (int64_t first = 0; first < 3; first += 2) {
                enum { ROWS = 7 };
                int64_t n = width[w] < pitch[p] - first ? width[w] : pitch[p] - first;
                wf_array *whole = wf_full(ctx, WF_F32, WF_SHAPE(ROWS, pitch[p]), 1);
                wf_array *part = wf_view_slice(whole, 1, first, first + n, 1),
                         *bytes = wf_full(ctx, WF_U8, WF_SHAPE(ROWS, n), 3);
                wf_graph *g = wf_begin(ctx, .elements = true);
                wf_val v = wf_in(g, part);
                wf_out(g, part, wf_add(wf_mul(v, 2), wf_in(g, bytes))); /* in place */
                wf_out(g, bytes, wf_cast(wf_add(v, 7), WF_U8));
                OK(ctx, wf_run(g));
                float *x = contents(whole);
                unsigned char *b = contents(bytes);
                for (int64_t i = 0; i < ROWS * pitch[p]; ++i)
                    assert_true(x[i] == (i % pitch[p] >= first && i % pitch[p] < first + n ? 5 : 1));
                for (int64_t i = 0; i < ROWS * n; ++i)
                    assert_int_equal(b[i], 8);
                free(x), free(b);
                wf_release(whole), wf_release(part), wf_release(bytes);
            }
}

/* Beside elements: the index, repeated and reversed arrays, reads by index, parameters, complex parts. */
static void test_mixed(void **state)
{
    (void)state;
    enum { H = 3, W = 301 };
    float x[H * W], row[W];
    for (int i = 0; i < H * W; ++i)
        x[i] = (float)(i % 97);
    for (int i = 0; i < W; ++i)
        row[i] = (float)i;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(H, W), x), *r = array_of(ctx, WF_F32, WF_SHAPE(W), row);
    wf_array *out = wf_like(a), *pairs = wf_empty(ctx, WF_C64, WF_SHAPE(H, W)),
             *flags = wf_empty(ctx, WF_BOOL, WF_SHAPE(H, W));
    wf_array *back = wf_view_slice(r, 0, W - 1, WF_END_INDEX, -1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), v = wf_in(g, a);
    wf_val far = wf_read_or(g, a, -1, i, wf_add(j, 2)), turned = wf_read(g, back, j);
    wf_out(g, out, wf_add(wf_add(v, wf_mul(far, 1000)), wf_add(wf_mul(j, 1e6), wf_mul(turned, wf_in(g, r)))));
    wf_out(g, pairs, wf_complex(v, wf_neg(j)));
    wf_out(g, flags, wf_gt(v, 50));
    OK(ctx, wf_run(g));
    float *got = contents(out), *two = contents(pairs);
    unsigned char *flag = contents(flags);
    for (int k = 0; k < H * W; ++k) {
        int c = k % W;
        float ahead = c + 2 < W ? x[k + 2] : -1;
        float want = (x[k] + ahead * 1000) + ((float)c * 1e6f + row[W - 1 - c] * row[c]);
        if (!(fabsf(got[k] - want) <= fabsf(want) * 1e-6f))
            fail_msg("element %d is %g, not %g", k, (double)got[k], (double)want);
        assert_true(two[2 * k] == x[k] && two[2 * k + 1] == (float)-c && flag[k] == (x[k] > 50));
    }
    free(got), free(two), free(flag);
    wf_array *all[] = { a, r, out, pairs, flags, back };
    for (int k = 0; k < 6; ++k)
        wf_release(all[k]);
}

/* The accesses in the code, which an assembler accepts. */
static void test_text(void **state)
{
    (void)state;
    enum { CAP = 1 << 16 };
    static const struct {
        wf_dtype t;
        const char *load, *store;
    } some[] = {
        { WF_F32, "ld.global.v4.b32", "st.global.v4.b32" },  { WF_F64, "ld.global.v2.b64", "st.global.v2.b64" },
        { WF_U8, "ld.global.v4.u8", "st.global.v4.u8" },     { WF_F16, "ld.global.v4.b16", "st.global.v4.b16" },
        { WF_C64, "ld.global.v4.b32", "st.global.v4.b32" },  { WF_BOOL, "ld.global.v4.u8", "st.global.v4.u8" },
        { WF_C128, "ld.global.v2.b64", "st.global.v2.b64" }, { WF_I16, "ld.global.v4.s16", "st.global.v4.s16" }
    };
    char *text = malloc(CAP);
    assert_non_null(text);
    for (size_t k = 0; k < sizeof some / sizeof *some; ++k) {
        wf_array *a = wf_full(ctx, some[k].t, WF_SHAPE(100), 0);
        wf_graph *g = wf_begin(ctx);
        wf_out(
            g, a,
            wf_select(wf_gt(wf_iota(g, WF_SHAPE(100), 0), 5), wf_in(g, a), wf_cast(wf_const(g, WF_F32, 1), some[k].t)));
        wf_kernel *kernel = wf_compile(g);
        if (!kernel)
            print_error("%s\n", wf_last_message(ctx));
        assert_non_null(kernel);
        size_t len;
        OK(ctx, wf_kernel_dump(kernel, WF_NO_ARGS, WF_DUMP_PTX_FOR(80), text, CAP, &len));
        if (!strstr(text, some[k].load) || !strstr(text, some[k].store))
            fail_msg("%s: no %s or %s in %s", wf_dtype_name(some[k].t), some[k].load, some[k].store, text);
        ptxas_add("vectors", 80, strchr(text, '\n') + 1);
        wf_kernel_free(kernel);
        wf_release(a);
    }
    free(text);
    if (!ptxas_found())
        return;
    ptxas_check(80, 80);
    ptxas_check(80, 90);
}

/* No more points of a thread than the recording asks for. */
static void test_columns(void **state)
{
    (void)state;
    enum { CAP = 1 << 16 };
    char *text = malloc(CAP);
    assert_non_null(text);
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(100), 0);
    for (int columns = 0; columns <= 8; columns += columns ? columns : 1) {
        wf_graph *g = wf_begin(ctx, .columns = columns);
        wf_out(g, a, wf_mul(wf_in(g, a), 3));
        wf_kernel *kernel = wf_compile(g);
        size_t len;
        OK(ctx, wf_kernel_dump(kernel, WF_NO_ARGS, WF_DUMP_PTX_FOR(80), text, CAP, &len));
        assert_true(!strstr(text, "ld.global.v4.b32") == (columns == 1 || columns == 2));
        assert_true(!strstr(text, "ld.global.v2.b32") == (columns != 2));
        wf_kernel_free(kernel);
    }
    wf_release(a);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lengths), cmocka_unit_test(test_rows),
                                        cmocka_unit_test(test_mixed), cmocka_unit_test(test_text),
                                        cmocka_unit_test(test_columns) };
    int failed = RUN_ON_ALL(tests);
    ptxas_forget();
    return failed;
}
