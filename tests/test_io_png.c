/* test_io_png.c - PNG files: u8, u16 and bool, channels, the palettes, few bits and interlacing of other programs,
 * damage. Some files are built here by hand, chunk by chunk, with uncompressed deflate blocks.
 *
 * ctest: no_kernels
 */
#include <sys/resource.h>
#include "test_io_util.h"

typedef struct file {
    uint8_t at[4096];
    size_t n;
} file;

static void add_bytes(file *f, const void *bytes, size_t n)
{
    assert_true(f->n + n <= sizeof f->at);
    memcpy(f->at + f->n, bytes, n);
    f->n += n;
}

static void add_u32(file *f, uint32_t value)
{
    const uint8_t bytes[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value };
    add_bytes(f, bytes, 4);
}

static uint32_t crc32_of(const uint8_t *bytes, size_t n)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void add_chunk(file *f, const char *type, const void *data, size_t n)
{
    add_u32(f, (uint32_t)n);
    size_t start = f->n;
    add_bytes(f, type, 4);
    add_bytes(f, data, n);
    add_u32(f, crc32_of(f->at + start, n + 4));
}

static void begin_png(file *f, uint32_t width, uint32_t height, uint8_t depth, uint8_t colour, const uint8_t methods[3])
{
    file head = { .n = 0 };
    add_u32(&head, width);
    add_u32(&head, height);
    add_bytes(&head, &depth, 1);
    add_bytes(&head, &colour, 1);
    add_bytes(&head, methods, 3);
    f->n = 0;
    add_bytes(f, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(f, "IHDR", head.at, head.n);
}

/* Rows, each with its filter byte, and the end. */
static void end_png(file *f, const uint8_t *rows, size_t n)
{
    file z = { .n = 0 };
    const uint8_t start[7] = { 0x78, 0x01, 1, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8) };
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + rows[i]) % 65521;
        b = (b + a) % 65521;
    }
    add_bytes(&z, start, 7);
    add_bytes(&z, rows, n);
    add_u32(&z, b << 16 | a);
    add_chunk(f, "IDAT", z.at, z.n);
    add_chunk(f, "IEND", "", 0);
}

static const uint8_t plain[3] = { 0, 0, 0 };

static void assert_loads(const file *f, wf_dtype dtype, wf_shape shape, const int *values)
{
    write_file("f.png", f->at, f->n);
    wf_meta meta = { .size = sizeof meta };
    wf_array *array = load("f.png", &meta);
    assert_int_equal(meta.format, WF_FORMAT_PNG);
    assert_int_equal(wf_array_dtype(array), dtype);
    assert_shape(wf_array_shape(array), shape);
    for (int64_t i = 0; i < wf_array_count(array); i++)
        assert_int_equal((int)value_at(array, i), values[i]);
    wf_release(array);
}

static void test_round_trip(void **state)
{
    (void)state;
    const wf_shape shapes[] = { SHAPE(5, 7), SHAPE(1, 1), SHAPE(5, 7, 2), SHAPE(5, 7, 3), SHAPE(300, 200, 4) };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int deep = 0; deep < 2; deep++) {
            wf_array *array = make(deep ? WF_U16 : WF_U8, shapes[s]);
            save(array, "a.png", NULL);
            wf_meta meta = { .size = sizeof meta };
            wf_array *loaded = load("a.png", &meta);
            assert_int_equal(meta.stored, deep ? WF_STORED_U16 : WF_STORED_U8);
            assert_int_equal(wf_array_dtype(loaded), deep ? WF_U16 : WF_U8);
            assert_same_values(loaded, array);
            wf_release(loaded);
            wf_release(array);
        }
    wf_array *one_channel = make(WF_U8, SHAPE(4, 5, 1));
    save(one_channel, "a.png", NULL);
    wf_array *loaded = load("a.png", NULL);
    assert_shape(wf_array_shape(loaded), SHAPE(4, 5));
    wf_release(loaded);
    wf_release(one_channel);
}

static void test_bool(void **state)
{
    (void)state;
    wf_array *array = make(WF_BOOL, SHAPE(9, 13));
    save(array, "b.png", NULL);
    wf_array *loaded = load("b.png", NULL);
    for (int64_t i = 0; i < wf_array_count(array); i++)
        assert_true(value_at(loaded, i) == 255 * value_at(array, i));
    wf_release(loaded);
    wf_release(array);
    array = make(WF_BOOL, SHAPE(9, 13, 3));
    save_refused(array, "b.png", NULL, "black and white");
    wf_release(array);
}

static void test_conversion(void **state)
{
    (void)state;
    wf_array *array = make(WF_F32, SHAPE(4, 30));
    save_refused(array, "c.png", NULL, "weft view");
    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U16 };
    save(array, "c.png", &meta);
    wf_array *loaded = load("c.png", NULL);
    for (int64_t i = 0; i < wf_array_count(array); i++)
        assert_true(value_at(loaded, i) == fmax(0, value_at(array, i)));
    wf_release(loaded);
    meta.store_as = WF_STORED_F32;
    save_refused(array, "c.png", &meta, "PNG cannot store f32");
    wf_release(array);
    array = make(WF_I16, SHAPE(4, 4));
    save_refused(array, "c.png", NULL, "PNG cannot store i16");
    wf_release(array);
}

static void test_shapes_refused(void **state)
{
    (void)state;
    const struct {
        wf_shape shape;
        const char *text;
    } cases[] = { { SHAPE(5), "rank 1" },
                  { SHAPE(5, 6, 5), "rank 3 and another last extent" },
                  { SHAPE(2, 5, 6, 3), "rank 4" },
                  { SHAPE(0, 4), "extent 0 of axis 0" },
                  { SHAPE(4, 0), "extent 0 of axis 1" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wf_array *array = make(WF_U8, cases[i].shape);
        save_refused(array, "s.png", NULL, cases[i].text);
        wf_release(array);
    }
}

static void test_strides(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(3, 20, 30));
    wf_array *channels_last = wf_view_permute(array, (int[]){ 1, 2, 0 });
    wf_array *upside_down = wf_view_slice(channels_last, 0, -1, WF_END_INDEX, -1);
    save(upside_down, "v.png", NULL);
    wf_array *loaded = load("v.png", NULL);
    assert_same_values(loaded, upside_down);
    wf_release(loaded);
    wf_release(upside_down);
    wf_release(channels_last);
    wf_release(array);
}

static void test_foreign(void **state)
{
    (void)state;
    static const uint8_t colours[9] = { 255, 0, 0, 0, 254, 0, 0, 0, 253 };
    file f;
    begin_png(&f, 3, 2, 2, 3, plain);
    add_chunk(&f, "PLTE", colours, 9);
    end_png(&f, (const uint8_t[]){ 0, 0x18, 0, 0x90 }, 4);
    assert_loads(&f, WF_U8, SHAPE(2, 3, 3),
                 (const int[]){ 255, 0, 0, 0, 254, 0, 0, 0, 253, //
                                0, 0, 253, 0, 254, 0, 255, 0, 0 });
    begin_png(&f, 3, 1, 8, 3, plain);
    add_chunk(&f, "PLTE", colours, 9);
    add_chunk(&f, "tRNS", (const uint8_t[]){ 10, 20 }, 2);
    end_png(&f, (const uint8_t[]){ 0, 0, 1, 2 }, 4);
    assert_loads(&f, WF_U8, SHAPE(1, 3, 4), (const int[]){ 255, 0, 0, 10, 0, 254, 0, 20, 0, 0, 253, 255 });
    begin_png(&f, 5, 2, 1, 0, plain);
    end_png(&f, (const uint8_t[]){ 0, 0xb0, 0, 0x48 }, 4);
    assert_loads(&f, WF_U8, SHAPE(2, 5), (const int[]){ 255, 0, 255, 255, 0, 0, 255, 0, 0, 255 });
    begin_png(&f, 4, 1, 2, 0, plain);
    end_png(&f, (const uint8_t[]){ 0, 0x1b }, 2);
    assert_loads(&f, WF_U8, SHAPE(1, 4), (const int[]){ 0, 85, 170, 255 });
    begin_png(&f, 3, 1, 4, 0, plain);
    end_png(&f, (const uint8_t[]){ 0, 0x0f, 0x70 }, 3);
    assert_loads(&f, WF_U8, SHAPE(1, 3), (const int[]){ 0, 255, 119 });
    begin_png(&f, 2, 1, 8, 0, plain);
    add_chunk(&f, "tRNS", (const uint8_t[]){ 0, 6 }, 2);
    end_png(&f, (const uint8_t[]){ 0, 5, 6 }, 3);
    assert_loads(&f, WF_U8, SHAPE(1, 2, 2), (const int[]){ 5, 255, 6, 0 });
}

static void test_interlaced(void **state)
{
    (void)state;
    static const int passes[7][4] = { { 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
                                      { 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 } };
    enum { W = 11, H = 9 };
    uint8_t rows[4 * W * H];
    size_t n = 0;
    int values[W * H];
    for (int i = 0; i < W * H; i++)
        values[i] = i * 601;
    for (int p = 0; p < 7; p++)
        for (int y = passes[p][1]; y < H; y += passes[p][3]) {
            if (passes[p][0] < W)
                rows[n++] = 0;
            for (int x = passes[p][0]; x < W; x += passes[p][2]) {
                rows[n++] = (uint8_t)(values[y * W + x] >> 8);
                rows[n++] = (uint8_t)values[y * W + x];
            }
        }
    file f;
    begin_png(&f, W, H, 16, 0, (const uint8_t[]){ 0, 0, 1 });
    end_png(&f, rows, n);
    assert_loads(&f, WF_U16, SHAPE(H, W), values);
}

static void test_hostile_headers(void **state)
{
    (void)state;
    static const struct {
        uint32_t width, height;
        uint8_t depth, colour, methods[3];
        const char *text;
    } cases[] = {
        { 0, 2, 8, 0, { 0, 0, 0 }, "PNG header field width is 0 (must be 1..2^31-1)" },
        { 2, 0, 8, 0, { 0, 0, 0 }, "PNG header field height is 0" },
        { 0x80000000u, 2, 8, 0, { 0, 0, 0 }, "PNG header field width is 2147483648" },
        { 2, 0xffffffffu, 8, 0, { 0, 0, 0 }, "PNG header field height is 4294967295" },
        { 0x7fffffff, 0x7fffffff, 16, 6, { 0, 0, 0 }, "width and height are 2147483647 and 2147483647" },
        { 70000, 70000, 8, 0, { 0, 0, 0 }, "width and height are 70000 and 70000: a file of" },
        { 0x7fffffff, 1, 1, 0, { 0, 0, 0 }, "cannot hold that many pixels" },
        { 2, 2, 3, 0, { 0, 0, 0 }, "bit depth is 3" },
        { 2, 2, 0, 0, { 0, 0, 0 }, "bit depth is 0" },
        { 2, 2, 16, 3, { 0, 0, 0 }, "bit depth is 16 (must be one that fits the colour type)" },
        { 2, 2, 4, 2, { 0, 0, 0 }, "bit depth is 4" },
        { 2, 2, 8, 1, { 0, 0, 0 }, "colour type is 1" },
        { 2, 2, 8, 5, { 0, 0, 0 }, "colour type is 5" },
        { 2, 2, 8, 255, { 0, 0, 0 }, "colour type is 255" },
        { 2, 2, 8, 0, { 1, 0, 0 }, "compression method is 1" },
        { 2, 2, 8, 0, { 0, 1, 0 }, "filter method is 1" },
        { 2, 2, 8, 0, { 0, 0, 2 }, "interlace method is 2" },
        { 2, 2, 8, 3, { 0, 0, 0 }, "PNG: " },  /* no palette */
        { 90, 2, 8, 0, { 0, 0, 0 }, "PNG: " }, /* less data than the header promises */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file f;
        begin_png(&f, cases[i].width, cases[i].height, cases[i].depth, cases[i].colour, cases[i].methods);
        end_png(&f, (const uint8_t[]){ 0, 1, 2, 0, 3, 4 }, 6);
        write_file("h.png", f.at, f.n);
        assert_refused("h.png", cases[i].text);
    }
}

/* A chunk beside the image takes no memory of the length that it claims to have. */
static void test_long_chunks(void **state)
{
    (void)state;
    static const char *const types[] = { "gAMA", "tEXt", "zTXt", "iTXt", "iCCP", "eXIf", "sPLT", "hIST",
                                         "pCAL", "sCAL", "tIME", "bKGD", "pHYs", "sBIT", "vpAg" };
    enum { MOST_GROWTH = 128 << 10 /* KiB */ };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        file f;
        struct rusage before, after;
        begin_png(&f, 2, 2, 8, 0, plain);
        add_u32(&f, 0x40000000);
        add_bytes(&f, types[i], 4);
        add_bytes(&f, "a\0\0bcd", 6);
        write_file("l.png", f.at, f.n);
        assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
        assert_refused("l.png", "PNG: the file ends in the middle of a chunk");
        assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
        if (after.ru_maxrss - before.ru_maxrss > MOST_GROWTH)
            fail_msg("%s took %ld KiB", types[i], after.ru_maxrss - before.ru_maxrss);
    }
}

static void test_damaged(void **state)
{
    (void)state;
    file f;
    begin_png(&f, 2, 2, 8, 0, plain);
    end_png(&f, (const uint8_t[]){ 0, 1, 2, 0, 3, 4 }, 6);
    for (size_t cut = 0; cut < f.n; cut++)
        if (survives("t.png", f.at, cut))
            fail_msg("a file cut at byte %zu was loaded", cut);
    assert_true(survives("t.png", f.at, f.n));
    for (size_t at = 0; at < f.n; at++) /* one wrong byte: the checksums notice, mostly */
        for (int bit = 0; bit < 8; bit++) {
            f.at[at] ^= (uint8_t)(1 << bit);
            survives("t.png", f.at, f.n);
            f.at[at] ^= (uint8_t)(1 << bit);
        }
    write_file("t.png", f.at, 30);
    assert_refused("t.png", "PNG header is cut: the file has 30 bytes");
    write_file("t.png", "this is not an image, whatever its name says", 44);
    assert_refused("t.png", "it does not begin with a PNG header");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_bool),
        cmocka_unit_test(test_conversion),  cmocka_unit_test(test_shapes_refused),
        cmocka_unit_test(test_strides),     cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_interlaced),  cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_long_chunks), cmocka_unit_test(test_damaged),
    };
    return IO_TESTS(tests);
}
