/* test_io_mrc.c - MRC files: every mode saved and loaded, strides, byte orders.
 *
 * ctest: no_kernels
 */
#include "test_io_mrc_util.h"

/* ---- saving and loading ---- */

static const struct {
    wf_dtype dtype;
    wf_stored store_as;
    int32_t mode;
    wf_stored stored;
    wf_dtype loaded;
} modes[] = {
    { WF_BOOL, WF_STORED_DEFAULT, 6, WF_STORED_U16, WF_U16 }, { WF_U8, WF_STORED_DEFAULT, 6, WF_STORED_U16, WF_U16 },
    { WF_U16, WF_STORED_DEFAULT, 6, WF_STORED_U16, WF_U16 },  { WF_I8, WF_STORED_DEFAULT, 0, WF_STORED_I8, WF_I8 },
    { WF_I16, WF_STORED_DEFAULT, 1, WF_STORED_I16, WF_I16 },  { WF_I32, WF_STORED_DEFAULT, 2, WF_STORED_F32, WF_F32 },
    { WF_U32, WF_STORED_DEFAULT, 2, WF_STORED_F32, WF_F32 },  { WF_I64, WF_STORED_DEFAULT, 2, WF_STORED_F32, WF_F32 },
    { WF_U64, WF_STORED_DEFAULT, 2, WF_STORED_F32, WF_F32 },  { WF_F32, WF_STORED_DEFAULT, 2, WF_STORED_F32, WF_F32 },
    { WF_F64, WF_STORED_DEFAULT, 2, WF_STORED_F32, WF_F32 },  { WF_U8, WF_STORED_U8, 0, WF_STORED_U8, WF_U8 },
    { WF_F32, WF_STORED_I8, 0, WF_STORED_I8, WF_I8 },         { WF_F64, WF_STORED_I16, 1, WF_STORED_I16, WF_I16 },
    { WF_F32, WF_STORED_F16, 12, WF_STORED_F16, WF_F16 },     { WF_I8, WF_STORED_F16, 12, WF_STORED_F16, WF_F16 },
    { WF_F16, WF_STORED_DEFAULT, 12, WF_STORED_F16, WF_F16 }, { WF_BF16, WF_STORED_DEFAULT, 2, WF_STORED_F32, WF_F32 },
};

static void test_round_trip(void **state)
{
    (void)state;
    const wf_shape shapes[] = { SHAPE(5, 7), SHAPE(3, 5, 7), SHAPE(2, 3, 5, 7), SHAPE(1, 1), SHAPE(300, 400) };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            wf_array *array = make(modes[i].dtype, shapes[s]);
            wf_meta meta = { .size = sizeof meta, .store_as = modes[i].store_as };
            save(array, "a.mrc", &meta);
            wf_meta back = { .size = sizeof back };
            wf_array *loaded = load("a.mrc", &back);
            assert_int_equal(wf_array_dtype(loaded), modes[i].loaded);
            assert_int_equal(back.stored, modes[i].stored);
            assert_int_equal(back.format, WF_FORMAT_MRC);
            assert_same_values(loaded, array);
            size_t n;
            uint8_t *bytes = read_file("a.mrc", &n);
            assert_int_equal(get_i(bytes, MODE), modes[i].mode);
            free(bytes);
            wf_release(loaded);
            wf_release(array);
        }
}

static void test_complex(void **state)
{
    (void)state;
    wf_array *array = make(WF_F64, SHAPE(3, 5, 7, 2));
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_C64 };
    save(array, "c.mrc", &meta);
    wf_array *loaded = load("c.mrc", &meta);
    assert_int_equal(meta.stored, WF_STORED_C64);
    assert_int_equal(wf_array_dtype(loaded), WF_C64);
    assert_shape(wf_array_shape(loaded), SHAPE(3, 5, 7));
    meta.store_as = WF_STORED_DEFAULT;
    save(loaded, "again.mrc", &meta);
    loaded = in_parts(loaded);
    assert_same_values(loaded, array);
    size_t n, again;
    uint8_t *bytes = read_file("c.mrc", &n), *same = read_file("again.mrc", &again);
    assert_int_equal(n, again);
    assert_memory_equal(bytes + 1024, same + 1024, n - 1024);
    free(same);
    assert_int_equal(get_i(bytes, MODE), 4);
    assert_int_equal(get_i(bytes, NX), 7);
    assert_true(get_f(bytes, DMAX) < get_f(bytes, DMIN)); /* "not determined" */
    free(bytes);
    wf_release(loaded);
    wf_release(array);
    array = make(WF_F32, SHAPE(4, 3));
    meta.store_as = WF_STORED_C64;
    save_refused(array, "d.mrc", &meta, "last axis of extent 2");
    wf_release(array);
}

static void test_four_bits(void **state)
{
    (void)state;
    for (int64_t width = 1; width <= 8; width++) {
        wf_array *array = make(WF_I16, SHAPE(3, 4, width));
        wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U4 };
        save(array, "u4.mrc", &meta);
        wf_array *loaded = load("u4.mrc", &meta);
        assert_int_equal(meta.stored, WF_STORED_U4);
        assert_int_equal(wf_array_dtype(loaded), WF_U8);
        for (int64_t i = 0; i < wf_array_count(array); i++) {
            double value = value_at(array, i);
            assert_true(value_at(loaded, i) == (value < 0 ? 0 : value > 15 ? 15 : value));
        }
        struct stat info;
        assert_int_equal(stat("u4.mrc", &info), 0);
        assert_int_equal(info.st_size, 1024 + 12 * ((width + 1) / 2));
        wf_release(loaded);
        wf_release(array);
    }
    uint8_t head[1024], data[2] = { 0x21, 0xf3 }; /* low half first; the last half byte is padding */
    make_header(head, 3, 1, 1, 101);
    write_mrc("p.mrc", head, data, 2);
    wf_array *loaded = load("p.mrc", NULL);
    assert_true(value_at(loaded, 0) == 1 && value_at(loaded, 1) == 2 && value_at(loaded, 2) == 3);
    wf_release(loaded);
}

/* Long lines of every mode pass through more than one buffer. */
static void test_long_lines(void **state)
{
    (void)state;
    const wf_stored kinds[] = { WF_STORED_U4, WF_STORED_F16, WF_STORED_I16, WF_STORED_F32 };
    wf_array *array = make(WF_U8, SHAPE(2, 2500001));
    for (size_t k = 0; k < 4; k++) {
        wf_meta meta = { .size = sizeof meta, .store_as = kinds[k] };
        save(array, "long.mrc", &meta);
        wf_array *loaded = load("long.mrc", &meta);
        assert_int_equal(meta.stored, kinds[k]);
        for (int64_t i = 0; i < wf_array_count(array); i += 997) {
            double value = pattern(WF_U8, i);
            if (k == 0 && value > 15)
                value = 15;
            assert_true(value_at(loaded, i) == value);
        }
        wf_release(loaded);
    }
    wf_release(array);
    remove("long.mrc");
}

static void test_strides(void **state)
{
    (void)state;
    wf_array *array = make(WF_F32, SHAPE(6, 10, 14));
    wf_array *permuted = wf_view_permute(array, (int[]){ 2, 0, 1 });
    wf_array *reversed = wf_view_slice(permuted, 0, -1, WF_END_INDEX, -3);
    wf_array *sliced = wf_view_slice(reversed, 2, 1, 9, 2);
    wf_array *rows = wf_view_slice(array, 1, 8, 1, -2);
    wf_array *line = wf_view_slice(array, 1, 3, 4, 1);
    wf_array *wide = wf_view_broadcast(line, SHAPE(6, 5, 14));
    wf_array *views[] = { array, permuted, reversed, sliced, rows, wide };
    for (size_t v = 0; v < sizeof views / sizeof *views; v++)
        for (int kind = 0; kind < 2; kind++) {
            wf_meta meta = { .size = sizeof meta, .store_as = kind ? WF_STORED_I16 : WF_STORED_DEFAULT };
            save(views[v], "v.mrc", &meta);
            wf_array *loaded = load("v.mrc", NULL);
            assert_same_values(loaded, views[v]);
            wf_release(loaded);
        }
    for (size_t v = 0; v < sizeof views / sizeof *views; v++)
        wf_release(views[v]);
    wf_release(line);
}

/* ---- byte order ---- */

static void test_byte_order(void **state)
{
    (void)state;
    const struct {
        wf_stored store_as;
        size_t size;
    } kinds[] = { { WF_STORED_I8, 1 },  { WF_STORED_I16, 2 }, { WF_STORED_U16, 2 },
                  { WF_STORED_F16, 2 }, { WF_STORED_F32, 4 }, { WF_STORED_C64, 4 } };
    wf_array *array = make(WF_U8, SHAPE(3, 400, 2));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int junk = 0; junk < 2; junk++) {
            wf_meta meta = { .size = sizeof meta, .store_as = kinds[k].store_as };
            save(array, "b.mrc", &meta);
            wf_array *loaded = load("b.mrc", NULL);
            size_t n;
            uint8_t *bytes = read_file("b.mrc", &n);
            uint8_t stamp = bytes[MACHST];
            swap_words(bytes, 56, 4);
            memcpy(bytes + 208, "MAP ", 4);
            memset(bytes + MACHST, 0, 4);
            if (!junk)
                bytes[MACHST] = bytes[MACHST + 1] = stamp == 0x44 ? 0x11 : 0x44;
            swap_words(bytes + 1024, (n - 1024) / kinds[k].size, kinds[k].size);
            write_file("s.mrc", bytes, n);
            wf_array *swapped = load("s.mrc", NULL);
            assert_same_values(swapped, loaded);
            assert_int_equal(wf_array_dtype(swapped), wf_array_dtype(loaded));
            wf_release(swapped);
            /* A stamp that contradicts the mode is ignored. */
            if (kinds[k].store_as != WF_STORED_I8) {
                bytes[MACHST] = stamp;
                write_file("s.mrc", bytes, n);
                swapped = load("s.mrc", NULL);
                assert_same_values(swapped, loaded);
                wf_release(swapped);
            }
            free(bytes);
            wf_release(loaded);
        }
    wf_release(array);
}

static void test_saving_refused(void **state)
{
    (void)state;
    wf_array *line = make(WF_F32, SHAPE(5)), *five = make(WF_F32, SHAPE(1, 1, 1, 1, 1));
    wf_array *empty = make(WF_F32, SHAPE(3, 0)), *image = make(WF_F32, SHAPE(2, 2));
    save_refused(line, "r.mrc", NULL, "this array has rank 1");
    save_refused(five, "r.mrc", NULL, "this array has rank 5");
    save_refused(empty, "r.mrc", NULL, "extent 0 of axis 1");
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_F64 };
    save_refused(image, "r.mrc", &meta, "MRC cannot store f64");
    meta.store_as = (wf_stored)77;
    save_refused(image, "r.mrc", &meta, "meta.store_as is 77");
    assert_int_not_equal(access("r.mrc", F_OK), 0);
    wf_release(line);
    wf_release(five);
    wf_release(empty);
    wf_release(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_complex), cmocka_unit_test(test_four_bits),
        cmocka_unit_test(test_long_lines),     cmocka_unit_test(test_strides), cmocka_unit_test(test_byte_order),
        cmocka_unit_test(test_saving_refused),
    };
    return IO_TESTS(tests);
}
