/* test_lib_product.c - dot and matrix products beside plain C: all dtypes, sizes around those of blocks, batches that
 * broadcast, transposed and reversed operands. Sums of floats have the same bits for any number of threads.
 *
 * ctest: devices driver values
 */
#include "on_devices.h"
#include "weft/functions.h"
#include <complex.h>

typedef double complex number;

static wf_array *numbers(wf_dtype t, wf_shape shape, uint64_t seed, bool exact)
{
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    double *x = malloc((size_t)(2 * n + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < 2 * n; ++i)
        x[i] = exact ? (double)(test_random(&seed) % 7) : (double)(test_random(&seed) >> 30) * 0x1p-33 - 0.9;
    wf_array *a = array_of(ctx, t >= WF_C32 ? WF_C128 : WF_F64, shape, x), *out = wf_array_cast(a, t);
    assert_non_null(out);
    free(x);
    wf_release(a);
    return out;
}

static number *elements(const wf_array *a)
{
    wf_array *wide = wf_array_cast(a, WF_C128);
    number *x = contents(wide);
    wf_release(wide);
    return x;
}

/* Checks a product of exact numbers, without batch axes or with [batch] before either operand. */
static void check_product(wf_array *a, wf_array *b, bool release)
{
    wf_shape sa = wf_array_shape(a), sb = wf_array_shape(b);
    int64_t m = sa.dim[sa.rank - 2], k = sa.dim[sa.rank - 1], n = sb.dim[sb.rank - 1];
    int64_t ba = sa.rank > 2 ? sa.dim[0] : 1, bb = sb.rank > 2 ? sb.dim[0] : 1, batch = ba > bb ? ba : bb;
    wf_array *c = wf_array_matmul(a, b);
    if (!c)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(c);
    assert_int_equal(wf_array_dtype(c), wf_array_dtype(a));
    wf_shape sc = wf_array_shape(c);
    assert_int_equal(sc.rank, sa.rank > sb.rank ? sa.rank : sb.rank);
    assert_int_equal(wf_array_count(c), batch * m * n);
    number *x = elements(a), *y = elements(b), *z = elements(c);
    for (int64_t p = 0; p < batch; ++p)
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                number sum = 0, got = z[(p * m + i) * n + j];
                for (int64_t l = 0; l < k; ++l)
                    sum += x[((ba > 1 ? p : 0) * m + i) * k + l] * y[((bb > 1 ? p : 0) * k + l) * n + j];
                if (sum != got) {
                    print_error("%s [%d %d %d]: [%d, %d] is %g%+gi, not %g%+gi\n", wf_dtype_name(wf_array_dtype(a)),
                                (int)m, (int)k, (int)n, (int)i, (int)j, creal(got), cimag(got), creal(sum), cimag(sum));
                    fail();
                }
            }
    free(x);
    free(y);
    free(z);
    wf_release(c);
    if (release) {
        wf_release(a);
        wf_release(b);
    }
}

static void test_all_dtypes(void **state)
{
    (void)state;
    for (wf_dtype t = WF_I16; t <= WF_C128; ++t)
        check_product(numbers(t, WF_SHAPE(7, 5), 1, true), numbers(t, WF_SHAPE(5, 9), 2, true), true);
}

static void test_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 1 },   { 6, 3, 64 }, { 12, 1, 65 },  { 13, 17, 63 }, { 1, 30, 70 },
                                        { 70, 30, 1 }, { 90, 4, 3 }, { 100, 8, 33 }, { 0, 3, 2 },    { 2, 0, 3 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        check_product(numbers(i % 2 ? WF_F64 : WF_F32, WF_SHAPE(sizes[i][0], sizes[i][1]), i, true),
                      numbers(i % 2 ? WF_F64 : WF_F32, WF_SHAPE(sizes[i][1], sizes[i][2]), i + 50, true), true);
}

static void test_batches_and_views(void **state)
{
    (void)state;
    check_product(numbers(WF_F32, WF_SHAPE(3, 7, 5), 1, true), numbers(WF_F32, WF_SHAPE(3, 5, 8), 2, true), true);
    check_product(numbers(WF_F32, WF_SHAPE(7, 5), 1, true), numbers(WF_F32, WF_SHAPE(3, 5, 8), 2, true), true);
    check_product(numbers(WF_F32, WF_SHAPE(3, 7, 5), 1, true), numbers(WF_F32, WF_SHAPE(1, 5, 1), 2, true), true);
    check_product(numbers(WF_C64, WF_SHAPE(4, 1, 5), 1, true), numbers(WF_C64, WF_SHAPE(5, 4), 2, true), true);
    wf_array *a = numbers(WF_F32, WF_SHAPE(20, 33), 1, true), *t = wf_view_permute(a, (const int[]){ 1, 0 });
    wf_array *r = wf_view_slice(t, 0, -1, WF_END_INDEX, -1), *s = wf_view_slice(a, 1, 0, 33, 2);
    check_product(r, a, false);
    check_product(t, s, false);
    wf_array *row = wf_view_slice(a, 0, 3, 4, 1), *wide = wf_view_broadcast(row, WF_SHAPE(9, 33));
    check_product(wide, r, false);
    /* two batch axes that broadcast against each other */
    wf_array *p = numbers(WF_F64, WF_SHAPE(2, 1, 3, 4), 1, true), *q = numbers(WF_F64, WF_SHAPE(5, 4, 6), 2, true);
    wf_array *pq = wf_array_matmul(p, q);
    wf_shape shape = wf_array_shape(pq);
    assert_true(shape.rank == 4 && shape.dim[0] == 2 && shape.dim[1] == 5 && shape.dim[2] == 3 && shape.dim[3] == 6);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 5; ++j) {
            wf_array *pi = wf_view_at(p, 0, i), *pij = wf_view_at(pi, 0, 0), *qj = wf_view_at(q, 0, j);
            wf_array *ri = wf_view_at(pq, 0, i), *rij = wf_view_at(ri, 0, j), *one = wf_array_matmul(pij, qj);
            bool close = false;
            OK(ctx, wf_array_all_close(rij, one, 0, 0, false, &close));
            assert_true(close);
            wf_array *all[] = { pi, pij, qj, ri, rij, one };
            for (int d = 0; d < 6; ++d)
                wf_release(all[d]);
        }
    wf_array *all[] = { a, t, r, s, row, wide, p, q, pq };
    for (int i = 0; i < 9; ++i)
        wf_release(all[i]);
}

static void test_bits(void **state)
{
    (void)state;
    enum { M = 31, K = 300, N = 130 };
    wf_array *a = numbers(WF_F32, WF_SHAPE(M, K), 1, false), *b = numbers(WF_F32, WF_SHAPE(K, N), 2, false);
    float *x = contents(a), *y = contents(b), *want = malloc(M * N * sizeof *want);
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0;
            for (int k = 0; k < K; ++k)
                sum = fmaf(x[i * K + k], y[k * N + j], sum);
            want[i * N + j] = sum;
        }
    int before = wf_get_threads(ctx);
    for (int threads = 1; threads < 6; threads += 2) {
        wf_set_threads(ctx, threads);
        wf_array *c = wf_array_matmul(a, b);
        float *got = contents(c);
        assert_memory_equal(got, want, M * N * sizeof *want);
        free(got);
        wf_release(c);
    }
    wf_set_threads(ctx, before);
    free(x);
    free(y);
    free(want);
    wf_release(a);
    wf_release(b);
}

static void test_dot(void **state)
{
    (void)state;
    for (wf_dtype t = WF_BOOL; t <= WF_C128; ++t) {
        wf_array *a = numbers(t, WF_SHAPE(3, 41), 1, true), *b = numbers(t, WF_SHAPE(41), 2, true);
        wf_array *d = wf_array_dot(a, b, WF_AXES(1) | WF_DROP_AXES);
        if (!d)
            print_error("%s: %s\n", wf_dtype_name(t), wf_last_message(ctx));
        assert_non_null(d);
        bool is_unsigned = t == WF_U8 || t == WF_U16 || t == WF_U32 || t == WF_U64;
        assert_int_equal(wf_array_dtype(d), t >= WF_F16 ? t : is_unsigned ? WF_U64 : WF_I64);
        number *x = elements(a), *y = elements(b), *got = elements(d);
        for (int i = 0; i < 3; ++i) {
            number sum = 0;
            for (int k = 0; k < 41; ++k)
                sum += x[i * 41 + k] * y[k];
            assert_true(cabs(sum - got[i]) <= (t == WF_BF16 ? 0x1p-8 : 0) * cabs(sum));
        }
        free(x);
        free(y);
        free(got);
        wf_release(a);
        wf_release(b);
        wf_release(d);
    }
}

static void test_errors(void **state)
{
    (void)state;
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4), 1, true), *b = numbers(WF_F32, WF_SHAPE(5, 3), 1, true);
    wf_array *v = numbers(WF_F32, WF_SHAPE(4), 1, true), *i = numbers(WF_I32, WF_SHAPE(4, 2), 1, true),
             *u = numbers(WF_U32, WF_SHAPE(2, 4), 1, true), *t = numbers(WF_BOOL, WF_SHAPE(4, 4), 1, true);
    const struct {
        wf_array *a, *b;
        wf_status status;
    } wrong[] = { { a, b, WF_ERR_SHAPE }, { a, v, WF_ERR_SHAPE },  { u, i, WF_ERR_DTYPE },
                  { t, t, WF_ERR_DTYPE }, { a, NULL, WF_ERR_ARG }, { NULL, a, WF_ERR_ARG } };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        assert_null(wf_array_matmul(wrong[k].a, wrong[k].b));
        EXPECT(ctx, wf_last_status(ctx), wrong[k].status);
    }
    assert_null(wf_array_dot(a, b, WF_ALL_AXES));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE,
            "shapes (3, 4) and (5, 3) do not broadcast [wf_mul(array 1, array 2), in wf_array_dot]");
    assert_null(wf_array_matmul(u, i));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_DTYPE, "in wf_array_matmul");
    assert_null(wf_array_dot(a, NULL, WF_ALL_AXES));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    wf_array *three = numbers(WF_F32, WF_SHAPE(3, 2, 4), 1, true), *two = numbers(WF_F32, WF_SHAPE(2, 4, 2), 1, true);
    assert_null(wf_array_matmul(three, two));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
    wf_array *all[] = { a, b, v, i, u, t, three, two };
    for (int k = 0; k < 8; ++k)
        wf_release(all[k]);
}

int main(void)
{
    setenv("WEFT_BLAS", "none", 1); /* a BLAS has other bits */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_dtypes), cmocka_unit_test(test_sizes), cmocka_unit_test(test_batches_and_views),
        cmocka_unit_test(test_bits),       cmocka_unit_test(test_dot),   cmocka_unit_test(test_errors),
    };
    return RUN_ON_ALL(tests);
}
