/* test_ptx.c - whole recordings as PTX, by wf_kernel_dump: every shape of kernel, loops, updates of every dtype,
 * joins, errors. Each text is assembled where an assembler is installed.
 *
 * ctest: gpu
 */
#include "on_devices.h"
#include "ptxas.h"

static unsigned kernels;

/* The PTX of a recording, checked for one thing; consumes g. */
static void take(wf_graph *g, const char *name, const char *part)
{
    wf_kernel_free(ptxas_compile(ctx, g, name, (const int[]){ 70, 80, 0 }, part, &kernels));
}

static wf_array *made(wf_dtype dtype, wf_shape shape)
{
    wf_array *a = wf_full(ctx, dtype, shape, 1);
    assert_non_null(a);
    return a;
}

/* ---- shapes of kernels ---- */
static void test_elements(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_DTYPES; ++i) {
        wf_array *a = made(test_dtypes[i], WF_SHAPE(5, 7, 130)), *b = made(test_dtypes[i], WF_SHAPE(7, 1));
        wf_graph *g = wf_begin(ctx);
        wf_out(g, a, wf_select(wf_lt(wf_in(g, a), wf_in(g, b)), wf_in(g, a), wf_in(g, b)));
        take(g, "elements", "%ntid.y");
        wf_release(a);
        wf_release(b);
    }
}

static void test_reductions(void **state)
{
    (void)state;
    for (int i = 1; i < TEST_DTYPES; ++i)
        for (wf_axes axes = 1; axes < 8; ++axes) {
            wf_array *a = made(test_dtypes[i], WF_SHAPE(9, 11, 130));
            wf_graph *g = wf_begin(ctx);
            wf_val v = wf_in(g, a), low = wf_reduce(WF_JOIN_MIN, v, axes);
            wf_array *r =
                wf_keep(wf_add(wf_reduce(WF_JOIN_ADD, v, axes), wf_mul(low, wf_reduce(WF_JOIN_MAX, v, axes))));
            take(g, "reductions", axes & 4 ? "shfl.sync.down" : "%tid.y");
            wf_release(r);
            wf_release(a);
        }
    wf_array *flags = made(WF_BOOL, WF_SHAPE(70, 33));
    wf_graph *g = wf_begin(ctx);
    wf_array *all = wf_keep(wf_reduce(WF_JOIN_AND, wf_in(g, flags), WF_ALL_AXES));
    wf_array *odd = wf_keep(wf_reduce(WF_JOIN_XOR, wf_in(g, flags), WF_AXES(0)));
    take(g, "reductions of bools", NULL);
    wf_array *rows = made(WF_F32, WF_SHAPE(9000, 40)); /* of which a warp has several */
    g = wf_begin(ctx);
    wf_array *short_rows = wf_keep(wf_sum(wf_in(g, rows), WF_AXES(1)));
    take(g, "short rows", "mul.lo.u32 %r1, %r1, 4");
    wf_release(short_rows);
    wf_release(rows);
    wf_release(all);
    wf_release(odd);
    wf_release(flags);
}

static void test_custom_join(void **state)
{
    (void)state;
    for (wf_axes axes = 1; axes < 4; ++axes) {
        wf_array *x = made(WF_F32, WF_SHAPE(40, 1000));
        wf_array *most = made(WF_F32, WF_SHAPE(axes & 1 ? 1 : 40, axes & 2 ? 1 : 1000));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(40, 1000), .reduce = axes);
        wf_var best = wf_reduced(g, WF_F32, -1e9, WF_JOIN_CUSTOM), at = wf_reduced(g, WF_I64, -1, WF_JOIN_CUSTOM);
        wf_val v = wf_in(g, x), i = wf_index(g, 1), better = wf_gt(v, best);
        wf_set(at, wf_select(better, i, at));
        wf_set(best, wf_select(better, v, best));
        wf_section(g, WF_SECTION_JOIN);
        better = wf_gt(wf_other(best), best);
        wf_set(at, wf_select(better, wf_other(at), at));
        wf_set(best, wf_select(better, wf_other(best), best));
        wf_section(g, WF_SECTION_POST);
        wf_out(g, most, wf_add(best, at));
        take(g, "custom join", NULL);
        wf_release(x);
        wf_release(most);
    }
}

/* ---- updates ---- */
static void test_updates(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_DTYPES; ++i)
        for (int j = WF_JOIN_ADD; j <= WF_JOIN_EXCH; ++j) {
            wf_dtype t = test_dtypes[i];
            bool bits = j >= WF_JOIN_AND && j <= WF_JOIN_XOR, real = t >= WF_F16;
            if (j != WF_JOIN_EXCH && (t == WF_BOOL ? !bits : bits && real))
                continue;
            wf_array *a = made(t, WF_SHAPE(17)), *v = made(t, WF_SHAPE(300)), *old = made(t, WF_SHAPE(300));
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(300));
            wf_val n = wf_mod(wf_index(g, 0), 16);
            if (j != WF_JOIN_EXCH) {
                wf_accumulate(g, j, a, wf_in(g, v), n);
                wf_accumulate_if(g, wf_gt(n, 3), j, a, wf_in(g, v), n);
            }
            wf_out(g, old, wf_atomic_if(g, wf_lt(n, 9), (wf_join)j, a, wf_in(g, v), n));
            take(g, "updates", "atom.global");
            wf_release(a);
            wf_release(v);
            wf_release(old);
        }
}

static void test_swaps(void **state)
{
    (void)state;
    for (int i = 0; i < TEST_DTYPES; ++i) {
        wf_dtype t = test_dtypes[i];
        wf_array *a = made(t, WF_SHAPE(17)), *v = made(t, WF_SHAPE(300)), *old = made(t, WF_SHAPE(300));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(300));
        wf_val n = wf_mod(wf_index(g, 0), 16);
        wf_out(g, old, wf_cas(g, a, wf_in(g, v), wf_read(g, v, 3), n));
        take(g, "compare and swap", "atom.global.cas");
        wf_release(a);
        wf_release(v);
        wf_release(old);
    }
}

/* Accumulation without collisions is plain loads and stores; complex numbers are accumulated part by part. */
static void test_alone_and_complex(void **state)
{
    (void)state;
    for (wf_dtype t = WF_F16; t <= WF_C128; ++t) {
        wf_array *a = made(t, WF_SHAPE(300)), *v = made(t, WF_SHAPE(300));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(300));
        wf_accumulate(g, WF_JOIN_ADD, a, wf_in(g, v), wf_index(g, 0));
        take(g, "alone", "st.global");
        g = wf_begin(ctx, .shape = WF_SHAPE(300));
        wf_accumulate(g, WF_JOIN_ADD, a, wf_in(g, v), wf_mod(wf_index(g, 0), 7));
        take(g, "together", t == WF_F32 || t == WF_C64 ? "red.global.add.f32" : "global");
        wf_release(a);
        wf_release(v);
    }
}

/* ---- control flow ---- */
static void test_loops(void **state)
{
    (void)state;
    wf_array *counts = made(WF_I32, WF_SHAPE(30, 64)), *bins = made(WF_U32, WF_SHAPE(50));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(30, 64));
    wf_val cx = wf_fma(wf_cast(wf_index(g, 1), WF_F32), 0.04f, -2);
    wf_val cy = wf_fma(wf_cast(wf_index(g, 0), WF_F32), 0.04f, -1);
    wf_var x = wf_local(g, WF_F32, wf_const(g, WF_F32, 0)), y = wf_local(g, WF_F32, wf_const(g, WF_F32, 0));
    wf_var n = wf_local(g, WF_I32, wf_const(g, WF_I32, 0)), far = wf_local(g, WF_I64, wf_index(g, 0));
    WF_WHILE (g, wf_and(wf_lt(n, 50), wf_le(wf_add(wf_mul(x, x), wf_mul(y, y)), 4))) {
        wf_val next = wf_add(wf_sub(wf_mul(x, x), wf_mul(y, y)), cx);
        wf_set(y, wf_add(wf_mul(2, wf_mul(x, y)), cy));
        wf_set(x, next);
        wf_inc(n, 1);
        WF_IF (g, wf_gt(n, 20)) {
            wf_inc(far, wf_index(g, 1));
            wf_accumulate(g, WF_JOIN_ADD, bins, 1, wf_mod(n, 50));
        }
        WF_END(g);
    }
    WF_END(g);
    wf_out(g, counts, wf_add(n, wf_cast(far, WF_I32)));
    take(g, "loops", "bra");
    wf_release(counts);
    wf_release(bins);
}

static void test_borders(void **state)
{
    (void)state;
    for (int b = WF_BORDER_NONE; b <= WF_BORDER_REFLECT; ++b)
        for (int t = WF_BOOL; t <= WF_C128; ++t) {
            wf_array *a = made((wf_dtype)t, WF_SHAPE(40, 64)), *r = made((wf_dtype)t, WF_SHAPE(40, 64));
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(40, 64));
            wf_val y = wf_index(g, 0), x = wf_index(g, 1), far = wf_mul(wf_add(wf_mul(x, x), y), 1 << 20);
            wf_val near = wf_read_border(g, a, b, 1, wf_add(y, 1), wf_sub(x, 2));
            wf_val wide = wf_read_border(g, a, b ? b : WF_BORDER_CLAMP, 0, wf_mul(far, far), x);
            wf_out(g, r, wf_select(wf_gt(x, 3), near, wide));
            take(g, "borders", NULL);
            wf_release(a);
            wf_release(r);
        }
}

/* Arrays so large that offsets need 64 bits. */
static void test_large(void **state)
{
    (void)state;
    static char byte;
    const int64_t n = (int64_t)1 << 31;
    wf_array *row = wf_wrap_with(ctx, &byte, WF_U8, WF_SHAPE(1), NULL, NULL, NULL);
    wf_array *a = wf_view_broadcast(row, WF_SHAPE(n));
    assert_non_null(a);
    wf_graph *g = wf_begin(ctx);
    wf_array *sum = wf_keep(wf_sum(wf_in(g, a), WF_ALL_AXES));
    take(g, "large", "add.u64");
    wf_release(sum);
    wf_release(a);
    wf_release(row);
}

/* Kernels that check indices, the writers of elements of every size, and NaNs. */
static void test_debug_mode(void **state)
{
    (void)state;
    const wf_dtype dtypes[] = { WF_BOOL, WF_F16, WF_BF16, WF_F32, WF_F64, WF_C128 };
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; ++t) {
        wf_array *a = made(dtypes[t], WF_SHAPE(30)), *out = made(dtypes[t], WF_SHAPE(30, 4));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(30, 4), .flags_on = WF_FLAG_DEBUG | WF_FLAG_TRAP_NAN);
        wf_val i = wf_index(g, 0), j = wf_index(g, 1);
        WF_IF (g, wf_lt(j, 2)) {
            wf_write(g, out, wf_read(g, a, wf_mul(i, (int64_t)1 << 32)), i, wf_sub(j, 1));
        }
        WF_END(g);
        take(g, "debug mode", "atom.global.exch.b64"); /* the report of indices stands before it */
        wf_release(a), wf_release(out);
    }
    wf_array *a = made(WF_F32, WF_SHAPE(30, 7));
    wf_graph *g = wf_begin(ctx, .flags_on = WF_FLAG_DEBUG);
    wf_array *sums =
        wf_keep(wf_sum(wf_read(g, a, wf_iota(g, WF_SHAPE(9, 1), 0), wf_iota(g, WF_SHAPE(5), 0)), WF_AXES(1)));
    take(g, "sums in debug mode", "atom.global.cas.b32");
    wf_release(a), wf_release(sums);
}

static void test_refused(void **state)
{
    (void)state;
    wf_array *a = made(WF_F32, WF_SHAPE(30));
    char text[256];
    size_t n;
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_in(g, a), 1));
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    REFUSED(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_PTX_FOR(61), text, sizeof text, &n), WF_ERR_UNSUPPORTED,
            "compute capability 6.1");
    REFUSED(ctx, wf_kernel_dump(k, WF_NO_ARGS, (wf_dump)(WF_DUMP_ASM + 256), text, sizeof text, &n), WF_ERR_ARG,
            "no dump");
    REFUSED(ctx, wf_kernel_dump(k, WF_NO_ARGS, (wf_dump)99, text, sizeof text, &n), WF_ERR_ARG, "no dump 99");
    wf_kernel_free(k);
    wf_release(a);
}

static void test_assembled(void **state)
{
    (void)state;
    assert_true(kernels > 300);
    ptxas_check_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),   cmocka_unit_test(test_reductions), cmocka_unit_test(test_custom_join),
        cmocka_unit_test(test_updates),    cmocka_unit_test(test_swaps),      cmocka_unit_test(test_alone_and_complex),
        cmocka_unit_test(test_loops),      cmocka_unit_test(test_borders),    cmocka_unit_test(test_large),
        cmocka_unit_test(test_debug_mode), cmocka_unit_test(test_refused),    cmocka_unit_test(test_assembled),
    };
    int failed = cmocka_run_group_tests(tests, on_default, off);
    ptxas_forget();
    return failed;
}
