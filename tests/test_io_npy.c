/* test_io_npy.c - NPY files: every dtype, memory order and version; headers by other programs, and malformed ones.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"

static const struct {
    wf_stored stored;
    const char *descr;
    size_t size;
    wf_dtype dtype;
} types[] = {
    { WF_STORED_BOOL, "b1", 1, WF_BOOL }, { WF_STORED_I8, "i1", 1, WF_I8 },     { WF_STORED_U8, "u1", 1, WF_U8 },
    { WF_STORED_I16, "i2", 2, WF_I16 },   { WF_STORED_U16, "u2", 2, WF_U16 },   { WF_STORED_I32, "i4", 4, WF_I32 },
    { WF_STORED_U32, "u4", 4, WF_U32 },   { WF_STORED_I64, "i8", 8, WF_I64 },   { WF_STORED_U64, "u8", 8, WF_U64 },
    { WF_STORED_F16, "f2", 2, WF_F16 },   { WF_STORED_F32, "f4", 4, WF_F32 },   { WF_STORED_F64, "f8", 8, WF_F64 },
    { WF_STORED_C64, "c8", 4, WF_F32 },   { WF_STORED_C128, "c16", 8, WF_F64 },
};
enum { TYPES = sizeof types / sizeof *types };

/* A file with this dictionary; `pad`: as numpy pads, to 64 bytes with a newline at the end. */
static void write_npy(const char *path, int major, const char *dictionary, bool pad, const void *data, size_t bytes)
{
    size_t start = major == 1 ? 10 : 12, length = strlen(dictionary);
    size_t total = pad ? (start + length + 1 + 63) / 64 * 64 : start + length;
    uint8_t *file = malloc(total + bytes);
    assert_non_null(file);
    memset(file, ' ', total);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (uint8_t)major;
    file[7] = 0;
    for (size_t k = 8; k < start; k++)
        file[k] = (uint8_t)((total - start) >> (8 * (k - 8)));
    memcpy(file + start, dictionary, length);
    if (pad)
        file[total - 1] = '\n';
    if (bytes)
        memcpy(file + total, data, bytes);
    write_file(path, file, total + bytes);
    free(file);
}

static void test_round_trip(void **state)
{
    (void)state;
    const wf_shape shapes[] = {
        { 0 },           SHAPE(0), SHAPE(3, 0, 2), SHAPE(7), SHAPE(5, 6), SHAPE(2, 3, 4), SHAPE(1, 2, 1, 3, 2, 1, 2, 2),
        SHAPE(300, 1001)
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int t = 0; t < TYPES - 2; t++) {
            wf_array *array = make(types[t].dtype, shapes[s]);
            wf_meta meta = { .size = sizeof meta, .store_as = t == 9 ? WF_STORED_F16 : WF_STORED_DEFAULT };
            save(array, "a.npy", &meta);
            wf_array *loaded = load("a.npy", &meta);
            assert_int_equal(meta.stored, types[t].stored);
            assert_int_equal(meta.format, WF_FORMAT_NPY);
            assert_int_equal(wf_array_dtype(loaded), types[t].dtype);
            assert_same_values(loaded, array);
            size_t n;
            uint8_t *bytes = read_file("a.npy", &n);
            assert_int_equal((n - (size_t)wf_array_count(array) * types[t].size) % 64, 0);
            free(bytes);
            wf_release(loaded);
            wf_release(array);
        }
}

static void test_complex(void **state)
{
    (void)state;
    wf_array *array = make(WF_F64, SHAPE(3, 5, 2));
    for (int t = TYPES - 2; t < TYPES; t++) {
        wf_meta meta = { .size = sizeof meta, .store_as = types[t].stored };
        save(array, "c.npy", &meta);
        wf_array *loaded = load("c.npy", &meta);
        assert_int_equal(meta.stored, types[t].stored);
        assert_int_equal(wf_array_dtype(loaded), t == TYPES - 2 ? WF_C64 : WF_C128);
        meta.store_as = WF_STORED_DEFAULT;
        wf_array *flip = wf_view_slice(loaded, 1, 4, WF_END_INDEX, -1);
        save(flip, "flip.npy", &meta);
        wf_array *back = load("flip.npy", &meta), *turned = in_parts(back);
        wf_array *want = wf_view_slice(array, 1, 4, WF_END_INDEX, -1);
        assert_int_equal(meta.stored, types[t].stored);
        assert_same_values(turned, want);
        wf_release(want);
        wf_release(turned);
        wf_release(flip);
        loaded = in_parts(loaded);
        assert_same_values(loaded, array);
        wf_release(loaded);
    }
    wf_release(array);
    array = make(WF_F16, SHAPE(6, 2)); /* c32 is stored as c64 */
    wf_meta none = { .size = sizeof none };
    wf_array *pairs = wf_empty_with(ctx, WF_C32, SHAPE(6), NULL);
    uint16_t halves[12];
    assert_int_equal(wf_download(array, halves, sizeof halves), WF_OK);
    assert_int_equal(wf_upload(pairs, halves, sizeof halves), WF_OK);
    save(pairs, "c32.npy", &none);
    wf_array *wide = in_parts(load("c32.npy", &none));
    assert_int_equal(wf_array_dtype(wide), WF_F32);
    assert_same_values(wide, array);
    wf_meta real = { .size = sizeof real, .store_as = WF_STORED_F32 };
    save_refused(pairs, "c32.npy", &real, "abs");
    save_refused(pairs, "c32.png", NULL, "PNG cannot store c32");
    save_refused(pairs, "c32.tif", NULL, "TIFF cannot store c32");
    wf_release(wide);
    wf_release(pairs);
    wf_release(array);
    array = make(WF_F32, (wf_shape){ 0 });
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_C64 };
    save_refused(array, "c.npy", &meta, "last axis of extent 2");
    meta.store_as = WF_STORED_U4;
    save_refused(array, "c.npy", &meta, "NPY cannot store u4");
    wf_release(array);
}

/* Both byte orders, C and Fortran order, all versions, of every type; the data is the numbers 1, 2, 3... in file order.
 * */
static void test_foreign(void **state)
{
    (void)state;
    const uint16_t one = 1;
    const bool little = *(const uint8_t *)&one == 1;
    enum { A = 5, B = 3, C = 7, N = A * B * C };
    for (int t = 0; t < TYPES; t++)
        for (int big = 0; big < 2; big++)
            for (int fortran = 0; fortran < 2; fortran++) {
                int parts = t >= TYPES - 2 ? 2 : 1;
                double values[2 * N]; /* room for any type */
                for (int64_t i = 0; i < N * parts; i++) {
                    if (types[t].stored == WF_STORED_F16) { /* 1024 + i */
                        uint16_t half = (uint16_t)(0x6400 + i);
                        memcpy((char *)values + 2 * i, &half, 2);
                    } else {
                        set_element(types[t].dtype, values, i, (double)(types[t].dtype == WF_BOOL ? 2 * (i % 2) : i));
                    }
                }
                size_t bytes = types[t].size * N * (size_t)parts;
                if (big == little)
                    swap_words((uint8_t *)values, bytes / types[t].size, types[t].size);
                char text[128];
                snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (5, 3, 7), }",
                         big ? '>' : '<', types[t].descr, fortran ? "True" : "False");
                write_npy("f.npy", 1 + (t + big) % 3, text, true, values, bytes);
                wf_array *array = load("f.npy", NULL);
                if (parts == 2)
                    array = in_parts(array);
                assert_int_equal(wf_array_dtype(array), types[t].dtype);
                assert_int_equal(wf_array_count(array), N * parts);
                for (int64_t i = 0; i < N * parts; i++) {
                    int64_t e = i / parts, a = e / (B * C), b = e / C % B, c = e % C;
                    int64_t place = (fortran ? (c * B + b) * A + a : e) * parts + i % parts;
                    double expected = types[t].stored == WF_STORED_F16 ? 1024 + (double)place : (double)place;
                    if (types[t].dtype == WF_BOOL)
                        expected = (double)(place % 2);
                    if (value_at(array, i) != expected)
                        fail_msg("%s: element %lld is %g instead of %g", text, (long long)i, value_at(array, i),
                                 expected);
                }
                wf_release(array);
            }
}

/* A Fortran-ordered image larger than the buffers. */
static void test_large_fortran(void **state)
{
    (void)state;
    enum { H = 1500, W = 1301 };
    int16_t *data = malloc(H * W * sizeof *data);
    assert_non_null(data);
    for (int64_t x = 0; x < W; x++)
        for (int64_t y = 0; y < H; y++)
            data[x * H + y] = (int16_t)((y * W + x) % 30011);
    write_npy("l.npy", 1, "{'descr':'<i2','fortran_order':True,'shape':(1500,1301)}", true, data, H * W * sizeof *data);
    wf_array *array = load("l.npy", NULL);
    for (int64_t i = 0; i < H * W; i += 101)
        assert_true(value_at(array, i) == (double)(i % 30011));
    wf_release(array);
    free(data);
}

static void test_header_forms(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{\"shape\": (2, 3), \"fortran_order\": False, \"descr\": \"<f4\"}",
        "{'descr':'=f4','fortran_order':False,'shape':(2,3,),}",
        " { 'descr' : '<f4' ,\t'fortran_order' : False , 'shape' : ( 2 , 3 ) } \n",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{'descr': '|u1', 'fortran_order': True, 'shape': (24,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1000000), }",
    };
    const float data[6] = { 1, 2, 3, 4, 5, 6 };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (int major = 1; major <= 3; major++) {
            write_npy("g.npy", major, good[i], i % 2 == 0, data, sizeof data);
            wf_release(load("g.npy", NULL));
        }
}

static void test_hostile_headers(void **state)
{
    (void)state;
#define REST ", 'fortran_order': False, 'shape': (2, 3)}"
#define DESCR "{'descr': '<f4', 'fortran_order': False, 'shape': "
    static const struct {
        const char *dictionary, *text;
    } cases[] = {
        { "", "expected '{'" },
        { "[]", "expected '{', found \"[]" },
        { "{}", "key 'descr' is missing" },
        { "{'descr': '<f4', 'fortran_order': False}", "key 'shape' is missing" },
        { "{'descr': '<f4', 'shape': (2, 3)}", "key 'fortran_order' is missing" },
        { "{'descr': '<f4', 'descr': '<f4'" REST, "key 'descr' is given twice" },
        { "{'extra': 1, 'descr': '<f4'" REST, "key 'extra' is unknown" },
        { "{'descr': '<f3'" REST, "descr is '<f3'" },
        { "{'descr': 'f4'" REST, "descr is 'f4'" },
        { "{'descr': '|f4'" REST, "descr is '|f4'" },
        { "{'descr': '<O8'" REST, "descr is '<O8'" },
        { "{'descr': '<f16'" REST, "descr is '<f16'" },
        { "{'descr': ''" REST, "descr is ''" },
        { "{'descr': [('a', '<f4')]" REST, "structure" },
        { "{'descr': 4" REST, "a string for 'descr'" },
        { "{'descr': '<f4" REST, "descr is '<f4, '" },
        { "{'descr' '<f4'" REST, "expected ':'" },
        { "{'descr': '<f4' 'x'" REST, "expected ',' or '}'" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", "True or False" },
        { DESCR "2}", "a tuple for 'shape'" },
        { DESCR "(2)}", "a tuple, not a number" },
        { DESCR "(2 3)}", "',' or ')'" },
        { DESCR "(-2, 3)}", "an extent in 'shape', found \"-2" },
        { DESCR "(2, x)}", "an extent in 'shape'" },
        { DESCR "(2,, 3)}", "an extent in 'shape'" },
        { DESCR "(9223372036854775808,)}", "an extent below 2^63" },
        { DESCR "(99999999999999999999999,)}", "an extent below 2^63" },
        { DESCR "(2, 3)", "expected" },
        { DESCR "(2, 3", "expected" },
        { DESCR "(2, 3)} x", "nothing after '}'" },
        { DESCR "(7, 1)}", "shape asks for 28 bytes of data, but the file holds 24" },
        { DESCR "(9223372036854775807, 9223372036854775807)}", "more than 2^63 bytes" },
        { DESCR "(0, 9223372036854775807, 9223372036854775807)}", "more than 2^63 bytes" },
        { DESCR "(1000000000, 1000000000)}", "shape asks for 4000000000000000000 bytes" },
        { DESCR "(1, 1, 1, 1, 1, 1, 1, 1, 1)}", "more than 8 axes" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1)}", "8 axes of complex values" },
    };
    const float data[6] = { 1, 2, 3, 4, 5, 6 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_npy("h.npy", 1, cases[i].dictionary, i % 2 == 0, data, sizeof data);
        assert_refused("h.npy", cases[i].text);
    }
    write_npy("h.npy", 4, DESCR "(2, 3)}", true, data, sizeof data);
    assert_refused("h.npy", "NPY version is 4.0");
    write_file("h.npy", "\x93NUMPY\x02\0\xff\xff\xff\xff{}", 14);
    assert_refused("h.npy", "NPY header length is 4294967295 (must be 0..2)");
    write_file("h.npy", "\x93NUMPX\x01\0\0\0{}", 12);
    assert_refused("h.npy", "its signature is missing");
}

static void test_truncated(void **state)
{
    (void)state;
    wf_array *array = make(WF_F32, SHAPE(5, 6));
    save(array, "t.npy", NULL);
    wf_release(array);
    size_t n;
    uint8_t *bytes = read_file("t.npy", &n);
    for (size_t cut = 0; cut < n; cut++)
        if (survives("t.npy", bytes, cut))
            fail_msg("a file cut at byte %zu was loaded", cut);
    assert_true(survives("t.npy", bytes, n));
    /* one wrong byte anywhere in the header */
    for (size_t at = 0; at < 128; at++)
        for (int value = 0; value < 256; value += 5) {
            uint8_t kept = bytes[at];
            bytes[at] = (uint8_t)value;
            survives("t.npy", bytes, n);
            bytes[at] = kept;
        }
    free(bytes);
}

static void test_strides(void **state)
{
    (void)state;
    wf_array *array = make(WF_U16, SHAPE(6, 10, 14));
    wf_array *permuted = wf_view_permute(array, (int[]){ 1, 2, 0 });
    wf_array *reversed = wf_view_slice(permuted, 1, -1, WF_END_INDEX, -1);
    save(reversed, "s.npy", NULL);
    wf_array *loaded = load("s.npy", NULL);
    assert_same_values(loaded, reversed);
    wf_release(loaded);
    wf_release(reversed);
    wf_release(permuted);
    wf_release(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_complex),
        cmocka_unit_test(test_foreign),      cmocka_unit_test(test_large_fortran),
        cmocka_unit_test(test_header_forms), cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_truncated),    cmocka_unit_test(test_strides),
    };
    return IO_TESTS(tests);
}
