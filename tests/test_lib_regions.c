/* test_lib_regions.c - many regions read and written by one call equal a loop over single regions: every border mode,
 * ranks, dtypes, regions that overlap or lie outside, views.
 *
 * ctest: devices values
 */
#include "borders.h"
#include "on_devices.h"
#include "weft/functions.h"

static wf_array *counting(wf_dtype t, wf_shape shape)
{
    wf_array *a = wf_array_iota(ctx, t, shape, NULL);
    assert_non_null(a);
    return a;
}

static void expect_same(wf_array *got, wf_array *want)
{
    if (!got)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(got);
    assert_int_equal(wf_array_dtype(got), wf_array_dtype(want));
    assert_int_equal(wf_array_count(got), wf_array_count(want));
    void *p = contents(got), *q = contents(want);
    assert_memory_equal(p, q, (size_t)wf_array_count(want) * wf_dtype_size(wf_array_dtype(want)));
    free(p);
    free(q);
}

/* Returns n places, from below 0 to beyond the end. */
static int64_t *random_places(const wf_shape *whole, int64_t n, uint64_t *seed)
{
    int64_t *at = malloc((size_t)(n * whole->rank + 1) * sizeof *at);
    assert_non_null(at);
    for (int64_t i = 0; i < n * whole->rank; ++i)
        at[i] = (int64_t)(test_random(seed) % (uint64_t)(whole->dim[i % whole->rank] + 8)) - 4;
    return at;
}

static void check_extract(wf_array *a, wf_shape region, int64_t n, wf_border border, uint64_t *seed)
{
    wf_shape whole = wf_array_shape(a), all = { .rank = region.rank + 1, .dim = { n } };
    for (int d = 0; d < region.rank; ++d)
        all.dim[d + 1] = region.dim[d];
    int64_t *at = random_places(&whole, n, seed);
    wf_array *offsets = array_of(ctx, WF_I64, WF_SHAPE(n, whole.rank), at);
    wf_array *got = wf_array_extract_regions(a, region, offsets, border, 3),
             *want = wf_empty_with(ctx, wf_array_dtype(a), all, NULL);
    for (int64_t i = 0; i < n; ++i) {
        wf_array *one = wf_array_extract(a, region, at + i * whole.rank, border, 3), *to = wf_view_at(want, 0, i);
        OK(ctx, wf_array_assign(to, one));
        wf_release(one);
        wf_release(to);
    }
    expect_same(got, want);
    wf_release(got);
    wf_release(want);
    wf_release(offsets);
    free(at);
}

static void test_extract(void **state)
{
    (void)state;
    uint64_t seed = 1;
    wf_array *a = counting(WF_F32, WF_SHAPE(9, 7)), *c = counting(WF_C64, WF_SHAPE(3, 5, 4)),
             *u = counting(WF_U8, WF_SHAPE(40)), *p = wf_view_permute(a, (const int[]){ 1, 0 });
    for (int k = WF_BORDER_VALUE; k < (int)WF__BORDERS; ++k) {
        wf_border b = (wf_border)k;
        check_extract(a, WF_SHAPE(3, 4), 6, b, &seed);
        check_extract(p, WF_SHAPE(3, 4), 2, b, &seed);
        check_extract(c, WF_SHAPE(2, 8, 1), 5, b, &seed);
        check_extract(u, WF_SHAPE(70), 3, b, &seed);
        check_extract(u, WF_SHAPE(2), 0, b, &seed);
        check_extract(u, WF_SHAPE(0), 2, b, &seed);
    }
    const uint8_t at[] = { 0, 1, 6, 3 };
    wf_array *o = array_of(ctx, WF_U8, WF_SHAPE(2, 2), at),
             *got = wf_array_extract_regions(a, WF_SHAPE(2, 2), o, WF_BORDER_NONE, 0);
    EXPECT_F32(got, 1, 2, 8, 9, 45, 46, 52, 53);
    wf_release(got);
    assert_null(wf_array_extract_regions(a, WF_SHAPE(4, 2), o, WF_BORDER_NONE, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_BOUNDS, "region 1");
    assert_null(wf_array_extract_regions(a, WF_SHAPE(4), o, WF_BORDER_NONE, 0));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_SHAPE, "offsets [n, 2]");
    assert_null(wf_array_extract_regions(a, WF_SHAPE(2, 2), a, WF_BORDER_NONE, 0));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
    assert_null(wf_array_extract_regions(a, WF_SHAPE(2, 2), NULL, WF_BORDER_NONE, 0));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_ARG);
    /* a number that is no border mode, also if no element is outside */
    const int64_t zero[2] = { 0, 0 };
    for (int k = -1; k <= (int)WF__BORDERS; k += (int)WF__BORDERS + 1) {
        assert_null(wf_array_extract(a, WF_SHAPE(2, 2), zero, (wf_border)k, 0));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_extract: there is no border mode");
        assert_null(wf_array_resize(a, zero, zero, (wf_border)k, 0));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_resize: there is no border mode");
        assert_null(wf_array_extract_regions(a, WF_SHAPE(2, 2), o, (wf_border)k, 0));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_array_extract_regions: there is no border mode");
    }
    wf_array *all[] = { a, c, u, p, o };
    for (int i = 0; i < 5; ++i)
        wf_release(all[i]);
}

static void check_insert(wf_array *a, wf_dtype t, wf_shape all, uint64_t *seed)
{
    wf_shape whole = wf_array_shape(a);
    int64_t n = all.dim[0], *at = random_places(&whole, n, seed);
    wf_array *offsets = array_of(ctx, WF_I64, WF_SHAPE(n, whole.rank), at), *regions = counting(t, all);
    wf_array *want = wf_array_copy(a);
    for (int64_t i = 0; i < n; ++i) {
        wf_array *one = wf_view_at(regions, 0, i);
        OK(ctx, wf_array_insert(want, one, at + i * whole.rank));
        wf_release(one);
    }
    OK(ctx, wf_array_insert_regions(a, regions, offsets));
    expect_same(a, want);
    wf_release(want);
    wf_release(offsets);
    wf_release(regions);
    free(at);
}

static void test_insert(void **state)
{
    (void)state;
    uint64_t seed = 2;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(9, 30), 7), *p = wf_view_permute(a, (const int[]){ 1, 0 });
    wf_array *c = wf_full(ctx, WF_C128, WF_SHAPE(4, 5, 6), 1), *u = wf_full(ctx, WF_I16, WF_SHAPE(500), 0);
    check_insert(a, WF_F32, WF_SHAPE(5, 3, 4), &seed); /* some overlap */
    check_insert(p, WF_I32, WF_SHAPE(4, 9, 2), &seed);
    check_insert(c, WF_F64, WF_SHAPE(3, 2, 2, 2), &seed);
    check_insert(u, WF_I16, WF_SHAPE(300, 2), &seed); /* more than are compared */
    check_insert(u, WF_I16, WF_SHAPE(0, 2), &seed);
    check_insert(u, WF_I16, WF_SHAPE(2, 600), &seed); /* larger than the array */
    for (int apart = 0; apart < 2; ++apart) {         /* parts of the array itself, moved within it */
        wf_array *whole = counting(WF_F32, WF_SHAPE(8)), *parts = wf_view_reshape(whole, WF_SHAPE(2, 4));
        const int64_t at[] = { 4 - apart, 0 };
        wf_array *o = array_of(ctx, WF_I64, WF_SHAPE(2, 1), at);
        OK(ctx, wf_array_insert_regions(whole, parts, o));
        if (apart)
            EXPECT_F32(whole, 4, 5, 6, 7, 1, 2, 3, 7);
        else
            EXPECT_F32(whole, 4, 5, 6, 7, 0, 1, 2, 3);
        wf_release(whole);
        wf_release(parts);
        wf_release(o);
    }
    wf_array *three = counting(WF_I64, WF_SHAPE(3, 1)), *two = counting(WF_I16, WF_SHAPE(2, 4));
    REFUSED(ctx, wf_array_insert_regions(u, two, three), WF_ERR_SHAPE, "2 regions and 3 offsets");
    REFUSED(ctx, wf_array_insert_regions(u, two, u), WF_ERR_SHAPE, "wf_array_insert_regions");
    EXPECT(ctx, wf_array_insert_regions(u, NULL, three), WF_ERR_SHAPE);
    assert_int_equal(wf_array_insert_regions(NULL, two, three), WF_ERR_ARG);
    wf_array *all[] = { a, p, c, u, three, two };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_extract), cmocka_unit_test(test_insert) };
    return RUN_ON_ALL(tests);
}
