/* test_indices_in_range.c - indices of every width compared with extents: updates and writes take place exactly where
 * the index lies in the array, and leave all other elements as they were, on every device.
 *
 * ctest: devices
 */
#include "on_devices.h"
#include "weft/functions.h"

enum { N = 200 };

/* Returns values of an index dtype around 0, around the extents used below, and at the ends of the dtype. */
static int64_t index_at(wf_dtype t, int i)
{
    int bits = 8 * (int)wf_dtype_size(t);
    bool is_signed = t == WF_I8 || t == WF_I16 || t == WF_I32 || t == WF_I64;
    int64_t least = is_signed ? INT64_MIN >> (64 - bits) : 0;
    int64_t most = is_signed ? INT64_MAX >> (64 - bits) : bits == 64 ? INT64_MAX : (int64_t)(UINT64_MAX >> (64 - bits));
    switch (i % 5) {
    case 0:
        return i / 5 % 3 ? i / 5 % 18 - 3 < least ? 0 : i / 5 % 18 - 3 : most - i / 15;
    case 1:
        return is_signed ? least + i / 5 : i / 5;
    default:
        return i * 7 % 17;
    }
}

static wf_array *indices(wf_dtype t)
{
    int64_t wide[N];
    char narrow[N * 8];
    size_t size = wf_dtype_size(t);
    for (int i = 0; i < N; ++i) {
        wide[i] = index_at(t, i);
        memcpy(narrow + (size_t)i * size, &wide[i], size); /* the low bytes */
    }
    wf_array *a = wf_empty(ctx, t, WF_SHAPE(N));
    assert_int_equal(wf_upload(a, narrow, N * size), WF_OK);
    return a;
}

static const wf_dtype dtypes[] = { WF_I8, WF_I16, WF_I32, WF_I64, WF_U8, WF_U16, WF_U32, WF_U64 };

#define WITHIN(at, extent) wf_and(wf_ge(at, 0), wf_lt(at, extent))

/* Counts with one addend for all points, and with one for each point; into few bins, which have private copies, and
 * into many. */
static void counting(void **state)
{
    (void)state;
    static const int64_t extents[] = { 1, 13, 130, 70000 };
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d)
        for (size_t e = 0; e < sizeof extents / sizeof *extents; ++e)
            for (int own = 0; own < 2; ++own) {
                int64_t bins = extents[e], *want = calloc((size_t)bins, sizeof *want), *got = calloc((size_t)bins, 8);
                wf_array *a = indices(dtypes[d]), *count = wf_full(ctx, WF_I64, WF_SHAPE(bins), 5);
                wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
                wf_val i = wf_index(g, 0), add = own ? wf_add(i, 1) : wf_const_i64(g, WF_I64, 3);
                wf_val at = wf_cast(wf_read(g, a, i), WF_I64);
                wf_accumulate_if(g, WITHIN(at, wf_dim(g, count, 0)), WF_JOIN_ADD, count, add, at);
                assert_int_equal(wf_run(g), WF_OK);
                for (int64_t k = 0; k < bins; ++k)
                    want[k] = 5;
                for (int k = 0; k < N; ++k) {
                    int64_t v = index_at(dtypes[d], k);
                    if (v >= 0 && v < bins)
                        want[v] += own ? k + 1 : 3;
                }
                assert_int_equal(wf_download(count, got, (size_t)bins * sizeof *got), WF_OK);
                assert_memory_equal(got, want, (size_t)bins * sizeof *got);
                wf_release(a);
                wf_release(count);
                free(want);
                free(got);
            }
}

/* Two axes, one index of which is the same for all points. */
static void rows_of_counts(void **state)
{
    (void)state;
    enum { ROWS = 3, BINS = 17 };
    for (int row = -1; row <= ROWS; ++row) {
        int32_t want[ROWS * BINS] = { 0 }, got[ROWS * BINS];
        wf_array *a = indices(WF_I16), *count = wf_full(ctx, WF_I32, WF_SHAPE(ROWS, BINS), 0);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val y = wf_param(g, "row", WF_I64, row), x = wf_cast(wf_read(g, a, wf_index(g, 0)), WF_I64);
        wf_val inside = wf_and(WITHIN(y, ROWS), WITHIN(x, wf_dim(g, count, 1)));
        wf_accumulate_if(g, inside, WF_JOIN_ADD, count, 1, y, x);
        assert_int_equal(wf_run(g), WF_OK);
        for (int k = 0; k < N; ++k) {
            int64_t at = index_at(WF_I16, k);
            if (row >= 0 && row < ROWS && at >= 0 && at < BINS)
                ++want[row * BINS + at];
        }
        assert_int_equal(wf_download(count, got, sizeof got), WF_OK);
        assert_memory_equal(got, want, sizeof got);
        wf_release(a);
        wf_release(count);
    }
}

/* Extents that no index of 32 bits reaches, and extents that only indices of 64 bits reach. */
static void huge_extents(void **state)
{
    (void)state;
    static const int64_t extents[] = { INT32_MAX, INT64_C(1) << 31, INT64_C(1) << 32, INT64_C(1) << 40 };
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d)
        for (size_t e = 0; e < sizeof extents / sizeof *extents; ++e) {
            uint8_t got[N];
            wf_array *a = indices(dtypes[d]), *out = wf_empty(ctx, WF_U8, WF_SHAPE(N));
            wf_array *one = wf_full(ctx, WF_U8, WF_SHAPE(1), 1), *wide = wf_view_broadcast(one, WF_SHAPE(extents[e]));
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
            wf_val i = wf_index(g, 0), at = wf_cast(wf_read(g, a, i), WF_I64);
            wf_val inside = WITHIN(at, wf_dim(g, wide, 0));
            wf_write(g, out, wf_select(inside, wf_read_or(g, wide, 0, at), 2), i);
            assert_int_equal(wf_run(g), WF_OK);
            assert_int_equal(wf_download(out, got, N), WF_OK);
            for (int k = 0; k < N; ++k) {
                int64_t v = index_at(dtypes[d], k);
                if (got[k] != (v >= 0 && v < extents[e] ? 1 : 2))
                    fail_msg("%s %lld of %lld: %d", wf_dtype_name(dtypes[d]), (long long)v, (long long)extents[e],
                             got[k]);
            }
            const wf_array *all[] = { a, out, one, wide };
            for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
                wf_release(all[k]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(counting), cmocka_unit_test(rows_of_counts),
                                        cmocka_unit_test(huge_extents) };
    return RUN_ON_ALL(tests);
}
