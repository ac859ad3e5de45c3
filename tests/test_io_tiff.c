/* test_io_tiff.c - TIFF files as Weft writes them: every type, compression, pages and channels. test_io_tiff_foreign.c
 * has files of other programs and damaged ones.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"

static const struct {
    wf_dtype dtype;
    wf_stored store_as, stored;
    wf_dtype loaded;
} types[] = {
    { WF_BOOL, WF_STORED_DEFAULT, WF_STORED_U8, WF_U8 },  { WF_I8, WF_STORED_DEFAULT, WF_STORED_I8, WF_I8 },
    { WF_U8, WF_STORED_DEFAULT, WF_STORED_U8, WF_U8 },    { WF_I16, WF_STORED_DEFAULT, WF_STORED_I16, WF_I16 },
    { WF_U16, WF_STORED_DEFAULT, WF_STORED_U16, WF_U16 }, { WF_I32, WF_STORED_DEFAULT, WF_STORED_I32, WF_I32 },
    { WF_U32, WF_STORED_DEFAULT, WF_STORED_U32, WF_U32 }, { WF_I64, WF_STORED_DEFAULT, WF_STORED_I64, WF_I64 },
    { WF_U64, WF_STORED_DEFAULT, WF_STORED_U64, WF_U64 }, { WF_F32, WF_STORED_DEFAULT, WF_STORED_F32, WF_F32 },
    { WF_F64, WF_STORED_DEFAULT, WF_STORED_F64, WF_F64 }, { WF_F32, WF_STORED_F16, WF_STORED_F16, WF_F16 },
    { WF_F16, WF_STORED_DEFAULT, WF_STORED_F16, WF_F16 }, { WF_F64, WF_STORED_I16, WF_STORED_I16, WF_I16 },
};

static void test_round_trip(void **state)
{
    (void)state;
    const struct {
        wf_shape shape;
        bool is_stack;
    } cases[] = { { SHAPE(5, 7), false },      { SHAPE(1, 1), false },     { SHAPE(3, 5, 7), true },
                  { SHAPE(5, 7, 3), false },   { SHAPE(5, 7, 2), false },  { SHAPE(6, 5, 3), true },
                  { SHAPE(3, 5, 7, 4), true }, { SHAPE(700, 300), false }, { SHAPE(2, 300, 400), true } };
    enum { LARGE = 7 }; /* the cases from here on have several strips; not all types */
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int compression = 0; compression < 3; compression++) {
                if (c >= LARGE && t % 4 != 0)
                    continue;
                wf_array *array = make(types[t].dtype, cases[c].shape);
                wf_meta meta = { .size = sizeof meta,
                                 .store_as = types[t].store_as,
                                 .is_stack = cases[c].is_stack,
                                 .lzw = compression == 1,
                                 .deflate = compression == 2 };
                save(array, "a.tif", &meta);
                wf_meta back = { .size = sizeof back };
                wf_array *loaded = load("a.tif", &back);
                assert_int_equal(back.format, WF_FORMAT_TIFF);
                assert_int_equal(back.stored, types[t].stored);
                assert_int_equal(back.is_stack, cases[c].is_stack);
                assert_int_equal(back.lzw, meta.lzw);
                assert_int_equal(back.deflate, meta.deflate);
                assert_int_equal(wf_array_dtype(loaded), types[t].loaded);
                assert_same_values(loaded, array);
                wf_release(loaded);
                wf_release(array);
            }
}

/* A loaded file is saved unchanged with the meta of the load. */
static void test_meta_round_trip(void **state)
{
    (void)state;
    const wf_shape shapes[] = { SHAPE(5, 7), SHAPE(5, 7, 3), SHAPE(4, 5, 3), SHAPE(2, 5, 7, 3) };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        wf_array *array = make(WF_U8, shapes[s]);
        wf_meta meta = { .size = sizeof meta, .is_stack = s == 2, .deflate = s == 1, .spacing = { 0, 1.25, 2.5 } };
        save(array, "m.tiff", &meta);
        wf_meta back = { .size = sizeof back };
        wf_array *loaded = load("m.tiff", &back);
        assert_true(fabs(back.spacing[1] - 1.25) < 1e-6 && fabs(back.spacing[2] - 2.5) < 1e-6 && back.spacing[0] == 0);
        save(loaded, "n.tiff", &back);
        wf_array *again = load("n.tiff", &back);
        assert_same_values(again, array);
        assert_int_equal(back.deflate, s == 1);
        wf_release(again);
        wf_release(loaded);
        wf_release(array);
    }
}

/* Compressible images of many pages: small files. */
static void test_compression(void **state)
{
    (void)state;
    wf_array *row = make(WF_U8, SHAPE(1, 1, 1000)), *array = wf_view_broadcast(row, SHAPE(20, 100, 1000));
    for (int compression = 0; compression < 3; compression++) {
        wf_meta meta = { .size = sizeof meta, .lzw = compression == 1, .deflate = compression == 2 };
        save(array, "c.tif", &meta);
        wf_array *loaded = load("c.tif", NULL);
        assert_same_values(loaded, array);
        wf_release(loaded);
        struct stat info;
        assert_int_equal(stat("c.tif", &info), 0);
        assert_true(compression ? info.st_size < 500000 : info.st_size >= 2000000);
        static const uint8_t predictor[] = { 0x3d, 1, 3, 0, 1, 0, 0, 0, 2, 0, 0, 0 }; /* tag 317, a short, is 2 */
        size_t n;
        uint8_t *bytes = read_file("c.tif", &n);
        assert_true((memmem(bytes, n, predictor, sizeof predictor) != NULL) == (compression > 0));
        free(bytes);
    }
    wf_release(array);
    wf_release(row);
}

static void test_strides(void **state)
{
    (void)state;
    wf_array *array = make(WF_F32, SHAPE(8, 20, 30));
    wf_array *permuted = wf_view_permute(array, (int[]){ 1, 2, 0 });
    wf_array *view = wf_view_slice(permuted, 1, -1, WF_END_INDEX, -3);
    save(view, "v.tif", NULL);
    wf_array *loaded = load("v.tif", NULL);
    assert_same_values(loaded, view);
    wf_release(loaded);
    wf_release(view);
    wf_release(permuted);
    wf_release(array);
}

static void test_saving_refused(void **state)
{
    (void)state;
    const struct {
        wf_shape shape;
        const char *text;
    } cases[] = { { SHAPE(5), "this array has rank 1" },
                  { SHAPE(2, 3, 4, 5), "rank 4 and another last extent" },
                  { SHAPE(1, 1, 1, 1, 1), "this array has rank 5" },
                  { SHAPE(3, 0), "extent 0 of axis 1" },
                  { SHAPE(0, 3, 5), "extent 0 of axis 0" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wf_array *array = make(WF_F32, cases[i].shape);
        save_refused(array, "r.tif", NULL, cases[i].text);
        wf_release(array);
    }
    wf_array *array = make(WF_F32, SHAPE(3, 2));
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_C64 };
    save_refused(array, "r.tif", &meta, "TIFF cannot store c64");
    wf_release(array);
}

/* Beyond 4 GB (of which deflate leaves little) offsets have 64 bits. Slow, so only on request. */
static void test_bigtiff(void **state)
{
    (void)state;
    if (!getenv("WEFT_TEST_BIG")) {
        print_message("skipped: WEFT_TEST_BIG is not set\n");
        skip();
    }
    wf_array *one = make(WF_U8, SHAPE(1, 1)), *array = wf_view_broadcast(one, SHAPE(66000, 66000));
    wf_meta meta = { .size = sizeof meta, .deflate = true };
    save(array, "big.tif", &meta);
    wf_shape shape;
    assert_int_equal(wf_probe(ctx, "big.tif", NULL, NULL, &shape), WF_OK);
    assert_shape(shape, SHAPE(66000, 66000));
    size_t n;
    uint8_t *bytes = read_file("big.tif", &n);
    assert_true(bytes[2] == 43 || bytes[3] == 43);
    free(bytes);
    wf_release(array);
    wf_release(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_meta_round_trip), cmocka_unit_test(test_compression),
        cmocka_unit_test(test_strides),    cmocka_unit_test(test_saving_refused),  cmocka_unit_test(test_bigtiff),
    };
    return IO_TESTS(tests);
}
