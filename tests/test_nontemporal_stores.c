/* test_nontemporal_stores.c - which large kernels use non-temporal stores. They do where rows are written whole, by
 * element or by index, at aligned addresses, unless the kernel reads what it writes, or scattered reads of less than a
 * cache line need the buffers of the processor.
 */
#include "base/base.h"
#include "with_history.h"

enum { N = 1 << 22 }; /* f32, one read and one written: just large enough */

static bool past_cache(void)
{
    wf_kernel_info all[8] = { { .size = sizeof *all } };
    size_t n = wf_history(ctx, all, WF__COUNT(all));
    assert_true(n > 0);
    return all[n - 1].nontemporal;
}

/* True if kernels may have non-temporal stores, as the interpreter's have not. */
static bool streams(void) { return test_compiles(ctx); }

static wf_array *ramp(int64_t n) { return wf_array_arange(ctx, WF_F32, n, 0, 1); }

static void expect_ramp(wf_array *a, float step, int64_t first, int64_t n)
{
    float *got = contents(a);
    for (int64_t i = 0; i < n; ++i)
        if (got[first + i] != (float)i * step)
            fail_msg("element %lld is %g", (long long)(first + i), (double)got[first + i]);
    free(got);
}

/* out = 2a, written without index, at the index of the point, at the index beside it, or backwards. */
enum { ELEMENT, OWN, BESIDE, BACKWARDS };
static wf_array *doubled(wf_array *a, int how)
{
    int64_t n = wf_array_count(a);
    wf_array *out = wf_full(ctx, WF_F32, WF_SHAPE(n + 16), 0), *whole = wf_view_slice(out, 0, 0, n, 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_val i = wf_index(g, 0), v = wf_mul(wf_in(g, a), 2);
    if (how == ELEMENT)
        wf_out(g, whole, v);
    else
        wf_write(g, out, v, how == OWN ? i : how == BESIDE ? wf_add(i, 1) : wf_sub((double)(n - 1), i));
    OK(ctx, wf_run(g));
    wf_release(whole);
    return out;
}

static void test_by_element_and_index(void **state)
{
    (void)state;
    wf_array *a = ramp(N);
    for (int how = ELEMENT; how <= BACKWARDS; ++how) {
        wf_array *out = doubled(a, how);
        bool past = past_cache();
        assert_int_equal(past, streams() && how <= OWN);
        if (how < BACKWARDS)
            expect_ramp(out, 2, how == BESIDE, N);
        wf_release(out);
    }
    wf_array *less = wf_view_slice(a, 0, 0, N / 2, 1), *out = doubled(less, OWN);
    assert_false(past_cache());
    expect_ramp(out, 2, 0, N / 2);
    wf_release(out);
    wf_release(less);
    wf_release(a);
}

/* Rows of a matrix by index, and several rows for each point, in one array whose rows are aligned or not. */
static void test_rows(void **state)
{
    (void)state;
    enum { ROWS = 8 };
    wf_array *matrix = ramp(N), *square = wf_view_reshape(matrix, WF_SHAPE(2048, 2048)), *tripled = wf_like(square);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(2048, 2048));
    wf_write(g, tripled, wf_mul(wf_in(g, square), 3), wf_index(g, 0), wf_index(g, 1));
    OK(ctx, wf_run(g));
    assert_int_equal(past_cache(), streams());
    expect_ramp(tripled, 3, 0, N);
    wf_release(matrix);
    wf_release(square);
    wf_release(tripled);
    for (int odd = 0; odd < 2; ++odd) {
        int64_t n = N / ROWS;
        wf_array *a = ramp(n), *out = wf_full(ctx, WF_F32, WF_SHAPE(ROWS, n + 16 + odd), -1);
        g = wf_begin(ctx, .shape = WF_SHAPE(n));
        for (int k = 0; k < ROWS; ++k)
            wf_write(g, out, wf_mul(wf_in(g, a), k), k, wf_index(g, 0));
        OK(ctx, wf_run(g));
        assert_false(past_cache()); /* 36 bytes for each of N / 8 points */
        for (int k = 0; k < ROWS; ++k)
            expect_ramp(out, (float)k, k * (n + 16 + odd), n);
        wf_release(a);
        wf_release(out);
        n = N;
        a = ramp(n);
        out = wf_full(ctx, WF_F32, WF_SHAPE(2, n + 16 + odd), -1);
        g = wf_begin(ctx, .shape = WF_SHAPE(n));
        for (int k = 0; k < 2; ++k)
            wf_write(g, out, wf_mul(wf_in(g, a), k + 1), k, wf_index(g, 0));
        OK(ctx, wf_run(g));
        assert_int_equal(past_cache(), streams() && !odd);
        for (int k = 0; k < 2; ++k)
            expect_ramp(out, (float)(k + 1), k * (n + 16 + odd), n);
        wf_release(a);
        wf_release(out);
    }
}

/* What is read as well as written stays in the cache. */
static void test_in_place(void **state)
{
    (void)state;
    wf_array *a = ramp(N);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(g, 0);
    wf_write(g, a, wf_mul(wf_read(g, a, i), 5), i);
    OK(ctx, wf_run(g));
    assert_false(past_cache());
    expect_ramp(a, 5, 0, N);
    wf_release(a);
}

/* Records of so many elements, read at scattered places and written in rows. */
static void test_scattered_reads(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 4, 16, 24 };
    for (size_t s = 0; s < WF__COUNT(sizes); ++s) {
        const int size = sizes[s];
        const int64_t n = (2 * N / size + 64) / 16 * 16;
        wf_array *flat = ramp(n * size), *table = wf_view_reshape(flat, WF_SHAPE(n, size)), *out = wf_like(table),
                 *turned = wf_view_reshape(out, WF_SHAPE(size, n));
        wf_array *index = wf_empty(ctx, WF_I32, WF_SHAPE(n));
        int32_t *at = malloc((size_t)n * sizeof *at);
        for (int64_t p = 0; p < n; ++p)
            at[p] = (int32_t)(p * 5 % n);
        OK(ctx, wf_upload(index, at, (size_t)n * sizeof *at));
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
        wf_val i = wf_in(g, index), p = wf_index(g, 0);
        for (int k = 0; k < size; ++k)
            wf_write(g, turned, wf_read(g, table, i, k), k, p);
        OK(ctx, wf_run(g));
        bool past = past_cache();
        assert_int_equal(past, streams() && size >= 16);
        float *got = contents(turned);
        for (int64_t q = 0; q < n; ++q)
            for (int k = 0; k < size; ++k)
                if (got[k * n + q] != (float)((int64_t)at[q] * size + k))
                    fail_msg("record of %d: %lld, %d", size, (long long)q, k);
        free(got);
        free(at);
        wf_release(index);
        wf_release(turned);
        wf_release(out);
        wf_release(table);
        wf_release(flat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_by_element_and_index), cmocka_unit_test(test_rows),
                                        cmocka_unit_test(test_in_place), cmocka_unit_test(test_scattered_reads) };
    return cmocka_run_group_tests_name("cpu", tests, noted, off);
}
