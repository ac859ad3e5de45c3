/* test_io_convert.c - conversions between the types of files and of arrays: half floats, rounding, clamping, packing,
 * statistics.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"
#include <float.h>
#include "lib/io/io_internal.h"

static void test_half_to_float(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
        double sign = h & 0x8000 ? -1 : 1, expected;
        double got = (double)wfl_io_f16_to_f32((uint16_t)h);
        if (exponent == 31 && fraction) {
            assert_true(got != got);
            continue;
        }
        if (exponent == 31)
            expected = INFINITY;
        else
            expected = exponent ? ldexp(1024 + fraction, (int)exponent - 25) : ldexp(fraction, -24);
        assert_true(got == sign * expected && signbit(got) == (sign < 0));
        /* and back: every half is its own nearest */
        assert_int_equal(wfl_io_f32_to_f16((float)got), h);
        assert_int_equal(wfl_io_f64_to_f16(got), h);
    }
    assert_true(wfl_io_f16_to_f32(wfl_io_f32_to_f16(NAN)) != 0);
    assert_int_equal(wfl_io_f32_to_f16(NAN) & 0x7c00, 0x7c00);
    assert_int_not_equal(wfl_io_f64_to_f16((double)NAN) & 0x3ff, 0);
}

/* Between any two neighbours: below, at and above the middle, of both signs, from f32 and from f64. */
static void test_half_rounding(void **state)
{
    (void)state;
    for (uint16_t h = 0; h < 0x7bff; h++) {
        double low = (double)wfl_io_f16_to_f32(h), high = (double)wfl_io_f16_to_f32((uint16_t)(h + 1));
        double middle = (low + high) / 2;
        uint16_t even = h % 2 ? (uint16_t)(h + 1) : h;
        assert_int_equal(wfl_io_f32_to_f16((float)middle), even);
        assert_int_equal(wfl_io_f32_to_f16(nextafterf((float)middle, 0)), h);
        assert_int_equal(wfl_io_f32_to_f16(nextafterf((float)middle, INFINITY)), h + 1);
        assert_int_equal(wfl_io_f32_to_f16(-(float)middle), even | 0x8000);
        assert_int_equal(wfl_io_f64_to_f16(middle), even);
        assert_int_equal(wfl_io_f64_to_f16(nextafter(middle, 0)), h); /* rounding to f32 first would give a tie */
        assert_int_equal(wfl_io_f64_to_f16(nextafter(middle, INFINITY)), h + 1);
        assert_int_equal(wfl_io_f64_to_f16(-nextafter(middle, INFINITY)), (h + 1) | 0x8000);
    }
    const double large[] = { 65504, 65519.999, 65520, 65536, 1e6, FLT_MAX, 1e300, DBL_MAX };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) { /* finite values stay finite */
        assert_int_equal(wfl_io_f64_to_f16(large[i]), 0x7bff);
        assert_int_equal(wfl_io_f64_to_f16(-large[i]), 0xfbff);
    }
    assert_int_equal(wfl_io_f32_to_f16(FLT_MAX), 0x7bff);
    assert_int_equal(wfl_io_f64_to_f16((double)INFINITY), 0x7c00);
    assert_int_equal(wfl_io_f64_to_f16(-(double)INFINITY), 0xfc00);
    assert_int_equal(wfl_io_f64_to_f16(1e-300), 0);
    assert_int_equal(wfl_io_f64_to_f16(-1e-300), 0x8000);
    assert_int_equal(wfl_io_f64_to_f16(DBL_MIN / 4), 0);
}

/* One value through wfl_io_gather. */
static void gather_one(wf_dtype dtype, const void *value, wf_stored stored, void *out)
{
    wf_array *array = wf_empty_with(ctx, dtype, SHAPE(1), NULL);
    wfl_io_source source;
    assert_non_null(array);
    assert_int_equal(wf_upload(array, value, wf_dtype_size(dtype)), WF_OK);
    assert_int_equal(wfl_io_source_open(array, "x", &source), WF_OK);
    wfl_io_gather(&source, 0, 1, wfl_io_type_of(stored), out);
    wf_release(array);
}

static int64_t integer_from_f64(double value, wf_stored stored)
{
    const wfl_io_type *type = wfl_io_type_of(stored);
    uint64_t raw = 0;
    gather_one(WF_F64, &value, stored, &raw);
    switch (type->dtype) {
    case WF_I8:
        return (int8_t)raw;
    case WF_I16:
        return (int16_t)raw;
    case WF_I32:
        return (int32_t)raw;
    default:
        return (int64_t)raw;
    }
}

static void test_to_integers(void **state)
{
    (void)state;
    static const struct {
        wf_stored stored;
        int64_t low, high;
    } types[] = { { WF_STORED_I8, -128, 127 },
                  { WF_STORED_U8, 0, 255 },
                  { WF_STORED_I16, -32768, 32767 },
                  { WF_STORED_U16, 0, 65535 },
                  { WF_STORED_I32, INT32_MIN, INT32_MAX },
                  { WF_STORED_U32, 0, UINT32_MAX },
                  { WF_STORED_I64, INT64_MIN, INT64_MAX },
                  { WF_STORED_U64, 0, -1 },
                  { WF_STORED_U4, 0, 15 } };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        wf_stored s = types[i].stored;
        assert_int_equal(integer_from_f64((double)NAN, s), 0);
        assert_int_equal(integer_from_f64((double)INFINITY, s), types[i].high);
        assert_int_equal(integer_from_f64(-(double)INFINITY, s), types[i].low);
        assert_int_equal(integer_from_f64(1e300, s), types[i].high);
        assert_int_equal(integer_from_f64(-1e300, s), types[i].low);
        assert_int_equal(integer_from_f64(2.5, s), 2);
        assert_int_equal(integer_from_f64(3.5, s), 4);
        assert_int_equal(integer_from_f64(0.5000001, s), 1);
        assert_int_equal(integer_from_f64(-0.5, s), 0);
        assert_int_equal(integer_from_f64(-1.4, s), types[i].low ? -1 : 0);
    }
    assert_int_equal(integer_from_f64((double)NAN, WF_STORED_BOOL), 0);
    assert_int_equal(integer_from_f64(0.25, WF_STORED_BOOL), 1);
    assert_int_equal(integer_from_f64(-0.0, WF_STORED_BOOL), 0);
}

static void test_large_integers(void **state)
{
    (void)state;
    int64_t i, minus = -3, odd = ((int64_t)1 << 53) + 1;
    uint64_t u, big = UINT64_MAX - 1, odd_u = ((uint64_t)1 << 62) + 1;
    float f;
    gather_one(WF_I64, &minus, WF_STORED_U64, &u);
    assert_true(u == 0);
    gather_one(WF_I64, &odd, WF_STORED_U64, &u);
    assert_true(u == (uint64_t)odd); /* exact, beyond what f64 holds */
    gather_one(WF_U64, &big, WF_STORED_I64, &i);
    assert_true(i == INT64_MAX);
    gather_one(WF_U64, &odd_u, WF_STORED_I64, &i);
    assert_true(i == (int64_t)odd_u);
    gather_one(WF_U64, &big, WF_STORED_U64, &u);
    assert_true(u == big);
    const double huge = 1e300;
    gather_one(WF_F64, &huge, WF_STORED_F32, &f);
    assert_true(f == FLT_MAX);
    const double infinite = (double)-INFINITY;
    gather_one(WF_F64, &infinite, WF_STORED_F32, &f);
    assert_true(f == -INFINITY);
}

/* Any part of a strided array is the same as in wf_download, whichever axes merge. */
static void test_gather_parts(void **state)
{
    (void)state;
    wf_array *base = make(WF_I32, SHAPE(4, 5, 6, 7));
    wf_array *views[] = {
        wf_retain(base),
        wf_view_permute(base, (int[]){ 3, 1, 2, 0 }),
        wf_view_permute(base, (int[]){ 2, 3, 0, 1 }),
        wf_view_slice(base, 2, 1, 4, 1),
        wf_view_slice(base, 3, -1, WF_END_INDEX, -2),
        wf_view_slice(base, 0, 2, 3, 1),
        wf_view_at(base, 1, 3),
    };
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        wfl_io_source source;
        int64_t count = wf_array_count(views[v]);
        assert_int_equal(wfl_io_source_open(views[v], "x", &source), WF_OK);
        int32_t *out = malloc((size_t)count * sizeof *out);
        assert_non_null(out);
        for (int64_t first = 0; first < count; first += 13) {
            int64_t n = count - first < 100 ? count - first : 100;
            wfl_io_gather(&source, first, n, wfl_io_type_of(WF_STORED_I32), out);
            for (int64_t k = 0; k < n; k++)
                assert_true((double)out[k] == value_at(views[v], first + k));
        }
        free(out);
        wf_release(views[v]);
    }
    wf_release(base);
}

static void test_swap_and_pack(void **state)
{
    (void)state;
    uint8_t bytes[16], packed[8], back[16];
    for (size_t size = 1; size <= 8; size *= 2) {
        for (size_t k = 0; k < 16; k++)
            bytes[k] = (uint8_t)k;
        wfl_io_swap(bytes, (int64_t)(16 / size), size);
        for (size_t k = 0; k < 16; k++)
            assert_int_equal(bytes[k], k / size * size + size - 1 - k % size);
    }
    for (size_t k = 0; k < 16; k++)
        bytes[k] = (uint8_t)(15 - k);
    for (int64_t n = 0; n <= 16; n++) {
        wfl_io_pack4(bytes, n, packed);
        wfl_io_unpack4(packed, n, back);
        assert_memory_equal(back, bytes, (size_t)n);
    }
}

static void test_statistics(void **state)
{
    (void)state;
    enum { N = 10000 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < N; i++)
        x[i] = 16777216.0f + (float)(i % 2 * 2); /* variance 1 around a mean of 2^24 + 1 */
    wfl_io_stats stats = { 0 };
    for (int at = 0; at < N; at += 1000)
        wfl_io_stats_add(&stats, wfl_io_type_of(WF_STORED_F32), x + at, 1000);
    assert_int_equal(stats.count, N);
    assert_true(stats.min == 16777216 && stats.max == 16777218);
    assert_true(fabs(stats.mean - 16777217) < 1e-7 && fabs(stats.m2 / N - 1) < 1e-9);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_to_float), cmocka_unit_test(test_half_rounding),
        cmocka_unit_test(test_to_integers),   cmocka_unit_test(test_large_integers),
        cmocka_unit_test(test_gather_parts),  cmocka_unit_test(test_swap_and_pack),
        cmocka_unit_test(test_statistics),
    };
    return IO_TESTS(tests);
}
