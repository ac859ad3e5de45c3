/* test_io_tiff_foreign.c - TIFF files of other programs, and damaged ones. The files are built here by hand, entry by
 * entry: either byte order, classic and BigTIFF, strips and tiles, samples together or in planes, false fields.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"

enum { WIDTH = 256, LENGTH = 257, BITS = 258, COMPRESSION = 259, PHOTOMETRIC = 262, OFFSETS = 273, SAMPLES = 277 };
enum { ROWS = 278, COUNTS = 279, PLANAR = 284, TILE_WIDTH = 322, TILE_LENGTH = 323, TILE_OFFSETS = 324 };
enum { TILE_COUNTS = 325, KIND = 254, FORMAT = 339 };

typedef struct file {
    uint8_t at[16384];
    size_t n;
    bool big_endian, big_tiff;
    size_t link; /* where the offset of the next directory goes */
} file;

/* An integer of `size` bytes in the file's order. */
static void put(file *f, size_t at, uint64_t value, size_t size)
{
    assert_true(at + size <= sizeof f->at);
    for (size_t k = 0; k < size; k++)
        f->at[at + k] = (uint8_t)(value >> 8 * (f->big_endian ? size - 1 - k : k));
    if (at + size > f->n)
        f->n = at + size;
}

static void begin_tiff(file *f, bool big_endian, bool big_tiff)
{
    memset(f, 0, sizeof *f);
    f->big_endian = big_endian;
    f->big_tiff = big_tiff;
    memcpy(f->at, big_endian ? "MM" : "II", 2);
    put(f, 2, big_tiff ? 43 : 42, 2);
    if (big_tiff)
        put(f, 4, 8, 2);
    f->link = big_tiff ? 8 : 4;
    f->n = big_tiff ? 16 : 8;
}

typedef struct entry {
    uint16_t tag;
    uint32_t count;
    const uint32_t *values; /* or */
    uint32_t value;
} entry;

/* A directory of 32-bit entries (NULL-tagged ones are left out), linked to the one before. */
static void add_directory(file *f, const entry *entries, size_t n)
{
    size_t word = f->big_tiff ? 8 : 4, size = f->big_tiff ? 20 : 12, used = 0;
    while (f->n % 8)
        f->n++;
    for (size_t i = 0; i < n; i++)
        used += entries[i].tag != 0;
    size_t at = f->n, head = f->big_tiff ? 8 : 2, out = at + head + used * size + word;
    put(f, f->link, at, word);
    put(f, at, used, head);
    f->link = at + head + used * size;
    put(f, f->link, 0, word);
    size_t e = at + head;
    for (size_t i = 0; i < n; i++) {
        if (!entries[i].tag)
            continue;
        put(f, e, entries[i].tag, 2);
        put(f, e + 2, 4, 2); /* LONG */
        put(f, e + 4, entries[i].count ? entries[i].count : 1, word);
        size_t place = e + 4 + word;
        if (entries[i].count * 4 > word) {
            put(f, place, out, word);
            place = out;
            out += (size_t)entries[i].count * 4;
        }
        for (uint32_t k = 0; k < (entries[i].count ? entries[i].count : 1); k++)
            put(f, place + 4 * k, entries[i].values ? entries[i].values[k] : entries[i].value, 4);
        e += size;
    }
}

/* What a test image is like. Value of sample s at (y, x): 1000 y + 10 x + s. */
typedef struct image {
    uint32_t width, height, samples, bytes, block_width, block_height; /* blocks: tiles, or strips */
    bool tiled, planes, is_float;
} image;

static double sample(const image *m, uint32_t y, uint32_t x, uint32_t s)
{
    uint32_t value = 1000 * y + 10 * x + s;
    return m->bytes == 1 ? value % 251 : value;
}

static void put_sample(file *f, const image *m, double value)
{
    uint64_t raw = (uint64_t)value;
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, 4);
    if (m->is_float && m->bytes == 4)
        raw = bits;
    if (m->is_float && m->bytes == 8)
        memcpy(&raw, &value, 8);
    put(f, f->n, raw, m->bytes);
}

/* Adds the image as a page. */
static void add_image(file *f, const image *m)
{
    uint32_t offsets[64], counts[64], blocks = 0, planes = m->planes ? m->samples : 1;
    uint32_t step_x = m->tiled ? m->block_width : m->width;
    for (uint32_t p = 0; p < planes; p++)
        for (uint32_t y0 = 0; y0 < m->height; y0 += m->block_height)
            for (uint32_t x0 = 0; x0 < m->width; x0 += step_x) {
                offsets[blocks] = (uint32_t)f->n;
                uint32_t rows = m->tiled || y0 + m->block_height <= m->height ? m->block_height : m->height - y0;
                for (uint32_t y = y0; y < y0 + rows; y++)
                    for (uint32_t x = x0; x < x0 + step_x; x++)
                        for (uint32_t s = 0; s < m->samples / planes; s++)
                            put_sample(f, m, sample(m, y, x, s + p));
                counts[blocks] = (uint32_t)f->n - offsets[blocks];
                blocks++;
            }
    const uint32_t bits[4] = { 8 * m->bytes, 8 * m->bytes, 8 * m->bytes, 8 * m->bytes }, formats[4] = { 3, 3, 3, 3 };
    const entry entries[] = {
        { .tag = WIDTH, .value = m->width },
        { .tag = LENGTH, .value = m->height },
        { .tag = BITS, .count = m->samples, .values = bits },
        { .tag = PHOTOMETRIC, .value = m->samples > 2 ? 2 : 1 },
        { .tag = m->tiled ? 0 : OFFSETS, .count = blocks, .values = offsets },
        { .tag = SAMPLES, .value = m->samples },
        { .tag = m->tiled ? 0 : ROWS, .value = m->block_height },
        { .tag = m->tiled ? 0 : COUNTS, .count = blocks, .values = counts },
        { .tag = PLANAR, .value = m->planes ? 2 : 1 },
        { .tag = m->tiled ? TILE_WIDTH : 0, .value = m->block_width },
        { .tag = m->tiled ? TILE_LENGTH : 0, .value = m->block_height },
        { .tag = m->tiled ? TILE_OFFSETS : 0, .count = blocks, .values = offsets },
        { .tag = m->tiled ? TILE_COUNTS : 0, .count = blocks, .values = counts },
        { .tag = m->is_float ? FORMAT : 0, .count = m->samples, .values = formats },
    };
    add_directory(f, entries, sizeof entries / sizeof *entries);
}

static void test_layouts(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 128; bits++) {
        uint32_t samples = bits & 4 ? 3 : 1, bytes = bits & 64 ? 4 : bits & 32 ? 2 : 1;
        image m = { .width = 19,
                    .height = 21,
                    .samples = samples,
                    .bytes = bytes,
                    .is_float = bytes == 4,
                    .tiled = (bits & 8) != 0,
                    .planes = (bits & 16) != 0 };
        m.block_width = m.block_height = m.tiled ? 16 : 6;
        file f;
        begin_tiff(&f, (bits & 1) != 0, (bits & 2) != 0);
        add_image(&f, &m);
        write_file("l.tif", f.at, f.n);
        wf_array *array = load("l.tif", NULL);
        assert_shape(wf_array_shape(array), samples == 1 ? SHAPE(21, 19) : SHAPE(21, 19, 3));
        assert_int_equal(wf_array_dtype(array), bytes == 1 ? WF_U8 : bytes == 2 ? WF_U16 : WF_F32);
        for (int64_t i = 0; i < wf_array_count(array); i++) {
            uint32_t s = (uint32_t)(i % samples), x = (uint32_t)(i / samples % 19), y = (uint32_t)(i / samples / 19);
            if (value_at(array, i) != sample(&m, y, x, s))
                fail_msg("layout %u: element %lld is %g", bits, (long long)i, value_at(array, i));
        }
        wf_release(array);
    }
}

static void test_pages(void **state)
{
    (void)state;
    image m = { .width = 5, .height = 4, .samples = 1, .bytes = 2, .block_height = 4 };
    file f;
    begin_tiff(&f, false, false);
    for (int i = 0; i < 3; i++)
        add_image(&f, &m);
    write_file("p.tif", f.at, f.n);
    wf_meta meta = { .size = sizeof meta };
    wf_array *array = load("p.tif", &meta);
    assert_shape(wf_array_shape(array), SHAPE(3, 4, 5));
    assert_true(meta.is_stack);
    for (int64_t i = 0; i < 60; i++)
        assert_true(value_at(array, i) == (double)(i % 20 / 5 * 1000 + i % 5 * 10));
    wf_release(array);
    /* a page that differs in height, width, samples or type */
    const image others[] = {
        { .width = 5, .height = 3, .samples = 1, .bytes = 2, .block_height = 4 },
        { .width = 6, .height = 4, .samples = 1, .bytes = 2, .block_height = 4 },
        { .width = 5, .height = 4, .samples = 3, .bytes = 2, .block_height = 4 },
        { .width = 5, .height = 4, .samples = 1, .bytes = 1, .block_height = 4 },
        { .width = 5, .height = 4, .samples = 1, .bytes = 4, .block_height = 4, .is_float = true },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        file g = f;
        add_image(&g, &others[i]);
        write_file("p.tif", g.at, g.n);
        assert_refused("p.tif", "TIFF page 4 is");
    }
    /* the last directory points back: no endless loop */
    put(&f, f.link, 8 + 40, 4);
    survives("p.tif", f.at, f.n);
    begin_tiff(&f, false, false);
    add_image(&f, &m);
    put(&f, f.link, f.at[4], 4);
    write_file("p.tif", f.at, f.n);
    assert_refused("p.tif", "TIFF directory (IFD) 1: the offset of the next one is that of one before");
    begin_tiff(&f, false, false);
    add_image(&f, &m);
    put(&f, 4, 0, 4);
    write_file("p.tif", f.at, f.n);
    assert_refused("p.tif", "TIFF header: the offset of the first directory (IFD) is 0");
}

/* A thumbnail is skipped, wherever it is. */
static void test_thumbnails(void **state)
{
    (void)state;
    image m = { .width = 5, .height = 4, .samples = 1, .bytes = 1, .block_height = 4 };
    for (int first = 0; first < 2; first++) {
        file f;
        begin_tiff(&f, true, false);
        if (!first)
            add_image(&f, &m);
        const entry thumbnail[] = { { .tag = KIND, .value = 1 },    { .tag = WIDTH, .value = 2 },
                                    { .tag = LENGTH, .value = 2 },  { .tag = BITS, .value = 8 },
                                    { .tag = OFFSETS, .value = 8 }, { .tag = SAMPLES, .value = 1 },
                                    { .tag = ROWS, .value = 2 },    { .tag = COUNTS, .value = 4 } };
        add_directory(&f, thumbnail, sizeof thumbnail / sizeof *thumbnail);
        if (first) {
            write_file("t.tif", f.at, f.n);
            assert_refused("t.tif", "only thumbnails");
            add_image(&f, &m);
        }
        write_file("t.tif", f.at, f.n);
        wf_array *array = load("t.tif", NULL);
        assert_shape(wf_array_shape(array), SHAPE(4, 5));
        assert_true(value_at(array, 19) == sample(&m, 3, 4, 0));
        wf_release(array);
    }
}

/* ---- false fields ---- */

/* The offset of the value of `tag` in the first directory of a classic little-endian file. */
static size_t find_value(const file *f, uint16_t tag)
{
    size_t at = (size_t)(f->at[4] | f->at[5] << 8), n = f->at[at];
    for (size_t i = 0; i < n; i++) {
        size_t e = at + 2 + 12 * i;
        if ((f->at[e] | f->at[e + 1] << 8) == tag)
            return e + 8;
    }
    fail_msg("no tag %u", tag);
    return 0;
}

static void make_plain(file *f)
{
    const image m = { .width = 5, .height = 4, .samples = 1, .bytes = 2, .block_height = 4 };
    uint32_t offset = 8;
    begin_tiff(f, false, false);
    for (uint32_t i = 0; i < 20; i++)
        put_sample(f, &m, i);
    const entry entries[] = {
        { .tag = WIDTH, .value = 5 },       { .tag = LENGTH, .value = 4 },      { .tag = BITS, .value = 16 },
        { .tag = COMPRESSION, .value = 1 }, { .tag = PHOTOMETRIC, .value = 1 }, { .tag = OFFSETS, .value = offset },
        { .tag = SAMPLES, .value = 1 },     { .tag = ROWS, .value = 4 },        { .tag = COUNTS, .value = 40 },
        { .tag = PLANAR, .value = 1 },      { .tag = FORMAT, .value = 1 },
    };
    add_directory(f, entries, sizeof entries / sizeof *entries);
}

static void test_hostile_fields(void **state)
{
    (void)state;
    static const struct {
        uint16_t tag;
        uint32_t value;
        const char *text; /* NULL: libtiff may correct it */
    } cases[] = {
        { WIDTH, 0, "ImageWidth is 0" },
        { WIDTH, 6, NULL },
        { WIDTH, 1000, "ImageWidth x ImageLength is 1000 x 4: a file of" },
        { WIDTH, 0x7fffffff, "ImageWidth x ImageLength is 2147483647 x 4" },
        { WIDTH, 0xffffffff, "4294967295" },
        { LENGTH, 0, "ImageLength is 0" },
        { LENGTH, 0x7fffffff, "ImageLength is 2147483647" },
        { LENGTH, 0x80000000, "2147483648" },
        { BITS, 0, "BitsPerSample is 0" },
        { BITS, 1, "BitsPerSample is 1" },
        { BITS, 12, "BitsPerSample is 12 (must be 8, 16, 32 or 64)" },
        { BITS, 64, NULL },
        { COMPRESSION, 0, "Compression is 0" },
        { COMPRESSION, 5, "page 1" },
        { COMPRESSION, 7, "Compression is 7" },
        { COMPRESSION, 8, "page 1" },
        { COMPRESSION, 34712, "Compression is 34712" },
        { PHOTOMETRIC, 3, NULL },
        { PHOTOMETRIC, 6, "page" },
        { OFFSETS, 0xffffffff, "page 1" },
        { OFFSETS, 0, "page 1: field StripOffsets is 0, or too short, at strip 0" },
        { SAMPLES, 0, NULL },
        { SAMPLES, 60000, NULL },
        { ROWS, 0, NULL },
        { ROWS, 1, "StripOffsets is 0, or too short, at strip 1" }, /* four strips, and one offset */
        { ROWS, 0xffffffff, NULL },
        { COUNTS, 0, NULL },
        { COUNTS, 1, NULL },
        { COUNTS, 0xffffffff, NULL },
        { PLANAR, 7, NULL },
        { FORMAT, 5, "SampleFormat is 5" },
        { FORMAT, 77, "value 77" },
    };
    file f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_plain(&f);
        put(&f, find_value(&f, cases[i].tag), cases[i].value, 4);
        if (cases[i].text) {
            write_file("h.tif", f.at, f.n);
            assert_refused("h.tif", cases[i].text);
        } else {
            survives("h.tif", f.at, f.n);
        }
    }
    make_plain(&f);
    put(&f, 2, 44, 2);
    write_file("h.tif", f.at, f.n);
    assert_refused("h.tif", "TIFF: cannot open");
    make_plain(&f);
    put(&f, 4, 0x7fffffff, 4);
    write_file("h.tif", f.at, f.n);
    assert_refused("h.tif", "TIFF: cannot read the directory (IFD) of page 1: ");
    /* the directory of a second page is not in the file: the fields of the first page are not reported as its own */
    make_plain(&f);
    size_t first = (size_t)(f.at[4] | f.at[5] << 8),
           next = first + 2 + 12 * (size_t)(f.at[first] | f.at[first + 1] << 8);
    put(&f, next, 0x7fffff, 4);
    write_file("h.tif", f.at, f.n);
    assert_refused("h.tif", "TIFF: cannot read the directory (IFD) of page 2: ");
    /* a field of an unknown tag and type is skipped: the error names the missing data */
    make_plain(&f);
    put(&f, find_value(&f, WIDTH) - 8, 9937, 2);
    put(&f, find_value(&f, LENGTH) - 12 - 6, 0, 2);
    write_file("h.tif", f.at, f.n);
    assert_refused("h.tif", "ImageWidth is 0, ImageLength is 4, BitsPerSample is 16): Computed scanline size is zero");
    /* if the pixels cannot be read, the error does not name a wrong field that libtiff can do without */
    make_plain(&f);
    put(&f, find_value(&f, SAMPLES) - 8, 296, 2); /* ResolutionUnit; SamplesPerPixel is 1 by itself */
    put(&f, find_value(&f, 296), 77, 4);
    put(&f, find_value(&f, OFFSETS), 0xffffff, 4);
    write_file("h.tif", f.at, f.n);
    assert_refused("h.tif", "TIFF: page 1, row 0: Read error");
    /* the tiles of a small image may be absurd */
    image m = {
        .width = 5, .height = 5, .samples = 1, .bytes = 1, .block_width = 16, .block_height = 16, .tiled = true
    };
    begin_tiff(&f, false, false);
    add_image(&f, &m);
    put(&f, find_value(&f, TILE_WIDTH), 0x40000000, 4);
    write_file("h.tif", f.at, f.n);
    assert_refused("h.tif", "page 1: a tile of 1073741824 x 16 pixels");
}

static void test_damaged(void **state)
{
    (void)state;
    file f;
    make_plain(&f);
    assert_true(survives("d.tif", f.at, f.n));
    for (size_t cut = 0; cut < f.n - 4; cut++) /* the last 4 bytes say that no page follows */
        if (survives("d.tif", f.at, cut))
            fail_msg("a file cut at byte %zu was loaded", cut);
    for (size_t at = 0; at < f.n; at++) {
        uint8_t kept = f.at[at];
        for (int value = 0; value < 256; value += 15) {
            f.at[at] = (uint8_t)value;
            survives("d.tif", f.at, f.n);
        }
        f.at[at] = kept;
    }
    /* compressed, and cut in the data: the directory comes last, so the data is damaged instead */
    wf_array *array = make(WF_U16, SHAPE(40, 50));
    for (int deflate = 0; deflate < 2; deflate++) {
        wf_meta meta = { .size = sizeof meta, .lzw = !deflate, .deflate = deflate };
        save(array, "d.tif", &meta);
        size_t n;
        uint8_t *bytes = read_file("d.tif", &n);
        for (size_t at = 8; at < n; at += 3) {
            uint8_t kept = bytes[at];
            bytes[at] = (uint8_t)~kept;
            survives("d.tif", bytes, n);
            bytes[at] = kept;
        }
        free(bytes);
    }
    wf_release(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),        cmocka_unit_test(test_pages),   cmocka_unit_test(test_thumbnails),
        cmocka_unit_test(test_hostile_fields), cmocka_unit_test(test_damaged),
    };
    return IO_TESTS(tests);
}
