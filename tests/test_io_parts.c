/* test_io_parts.c - boxes of files are what wf_load gives of them, for every order of axes and type; files that are
 * written in boxes are those that wf_save writes, byte for byte.
 *
 * ctest: no_kernels
 */
#include "test_io_mrc_util.h"
#include <sys/resource.h>

static uint32_t random_state = 1;
static int64_t below(int64_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return n > 0 ? (int64_t)(random_state >> 8) % n : 0;
}

/* Returns the place of element i of a box, in C order, in the whole array. */
static int64_t place_in(int64_t i, wf_shape box, wf_shape first, wf_shape whole)
{
    int64_t place = 0, step = 1;
    for (int d = whole.rank - 1; d >= 0; d--) {
        place += (first.dim[d] + i % box.dim[d]) * step;
        i /= box.dim[d];
        step *= whole.dim[d];
    }
    return place;
}

static void random_box(wf_shape whole, wf_shape *first, wf_shape *box)
{
    *first = *box = whole;
    for (int d = 0; d < whole.rank; d++) {
        bool all = below(4) == 0;
        box->dim[d] = all ? whole.dim[d] : 1 + below(below(2) ? whole.dim[d] : 3 < whole.dim[d] ? 3 : whole.dim[d]);
        first->dim[d] = below(whole.dim[d] - box->dim[d] + 1);
    }
}

static void assert_box(const wf_array *part, const wf_array *all, wf_shape first)
{
    assert_non_null(part);
    assert_int_equal(wf_array_dtype(part), wf_array_dtype(all));
    mapped p = map(part), a = map(all);
    size_t size = wf_dtype_size(p.dtype);
    for (int64_t i = 0; i < wf_array_count(part); i++) {
        int64_t at = place_in(i, p.shape, first, a.shape);
        if (memcmp((char *)p.data + (size_t)i * size, (char *)a.data + (size_t)at * size, size) != 0)
            fail_msg("element %lld of the box is another one", (long long)i);
    }
}

/* Compares boxes of the file with the whole. */
static void check_file(const char *path, int boxes)
{
    wf_array *all = load(path, NULL);
    wf_shape whole = { 0 }, first, box;
    wf_dtype dtype = WF_NONE;
    wf_meta meta = { .size = sizeof meta }, loaded = meta;
    wf_file *file = wf_file_open(ctx, path, &meta, &dtype, &whole);
    assert_non_null(file);
    wf_release(wf_load(ctx, path, &loaded));
    assert_memory_equal(&meta, &loaded, sizeof meta);
    assert_shape(whole, wf_array_shape(all));
    assert_int_equal(dtype, wf_array_dtype(all));
    for (int i = 0; i < boxes; i++) {
        random_box(whole, &first, &box);
        wf_array *part = i % 4 ? wf_file_read(file, first, box) : wf_load_region(ctx, path, first, box, &loaded);
        if (!part)
            fail_msg("%s: %s", path, wf_last_message(ctx));
        assert_shape(wf_array_shape(part), box);
        assert_box(part, all, first);
        wf_release(part);
    }
    assert_memory_equal(&meta, &loaded, sizeof meta);
    wf_file_free(file);
    wf_release(all);
}

static void test_saved(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        wf_dtype dtype;
        wf_stored stored;
        int rank;
        bool deflate;
    } files[] = { { "a.npy", WF_F32, 0, 4, false },
                  { "b.npy", WF_U8, 0, 1, false },
                  { "c.npy", WF_BOOL, 0, 2, false },
                  { "d.npy", WF_BF16, 0, 3, false },
                  { "e.npy", WF_F64, 0, 3, false },
                  { "f.npy.gz", WF_I16, 0, 3, false },
                  { "a.mrc", WF_F32, 0, 3, false },
                  { "b.mrc", WF_I8, 0, 2, false },
                  { "c.mrcs", WF_U8, 0, 3, false },
                  { "d.mrc", WF_F32, 0, 4, false },
                  { "e.mrc", WF_U8, WF_STORED_U4, 3, false },
                  { "f.mrc.gz", WF_F32, WF_STORED_F16, 3, false },
                  { "a.tif", WF_F32, 0, 3, false },
                  { "b.tif", WF_U16, 0, 3, true },
                  { "c.tif", WF_U8, 0, 2, true },
                  { "a.png", WF_U8, 0, 2, false },
                  { "b.png", WF_U16, 0, 2, false } };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int large = 0; large < 2; large++) {
            wf_shape shape = { .rank = files[i].rank };
            for (int d = 0; d < shape.rank; d++)
                shape.dim[d] = large ? 31 + 13 * d : 3 + d;
            if (files[i].rank < 3 && large)
                shape.dim[0] = 701;
            if (files[i].rank == 4)
                shape.dim[0] = 2;
            wf_array *array = make(files[i].dtype, shape);
            wf_meta meta = { .size = sizeof meta, .store_as = files[i].stored, .deflate = files[i].deflate };
            meta.is_stack = true;
            save(array, files[i].path, &meta);
            check_file(files[i].path, 60);
            wf_release(array);
        }
    wf_array *colour = make(WF_U8, SHAPE(40, 30, 3)), *pages = make(WF_U16, SHAPE(5, 40, 30, 4));
    save(colour, "colour.png", NULL);
    save(colour, "colour.tif", NULL);
    save(pages, "pages.tif", NULL);
    check_file("colour.png", 60);
    check_file("colour.tif", 60);
    check_file("pages.tif", 60);
    wf_release(colour);
    wf_release(pages);
}

/* Every order of axes, byte order and type of MRC files; 4-bit values at odd places. */
static void test_mrc_orders(void **state)
{
    (void)state;
    static const int orders[6][3] = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };
    static const int modes[] = { 0, 1, 2, 4, 6, 12, 101 }, sizes[] = { 1, 2, 4, 8, 2, 2, 0 };
    static const int shapes[][3] = { { 5, 4, 3 }, { 1, 7, 3 }, { 9, 1, 2 }, { 37, 29, 1 }, { 150, 91, 23 } };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t o = 0; o < 6; o++)
            for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
                for (int swap = 0; swap < 2; swap++) {
                    uint8_t head[1024];
                    const int *n = shapes[s];
                    size_t line = sizes[m] ? (size_t)n[0] * (size_t)sizes[m] : ((size_t)n[0] + 1) / 2;
                    size_t bytes = line * (size_t)n[1] * (size_t)n[2];
                    uint8_t *data = malloc(bytes);
                    assert_non_null(data);
                    for (size_t i = 0; i < bytes; i++)
                        data[i] =
                            (uint8_t)(below(256) & (modes[m] == 2 || modes[m] == 4 || modes[m] == 12 ? 0x3b : 255));
                    make_header(head, n[0], n[1], n[2], modes[m]);
                    for (size_t i = 0; i < 3; i++)
                        put_i(head, MAPC + 4 * i, orders[o][i]);
                    if (swap) {
                        swap_words(head, 56, 4); /* the numbers before the labels */
                        swap_words(head + 208, 1, 4);
                        memcpy(head + 208, "MAP ", 4);
                        memcpy(head + MACHST, "\x11\x11", 2);
                    }
                    write_mrc("o.mrc", head, data, bytes);
                    check_file("o.mrc", s + 1 < sizeof shapes / sizeof *shapes ? 12 : 6);
                    free(data);
                }
}

static void test_fortran(void **state)
{
    (void)state;
    static const char *const descrs[] = { "<f4", ">i2", "|b1", "<c8", ">c16" };
    static const size_t sizes[] = { 4, 2, 1, 8, 16 };
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++)
        for (int large = 0; large < 2; large++) {
            char head[128];
            int n[3] = { large ? 90 : 4, large ? 70 : 3, large ? 60 : 5 };
            size_t bytes = sizes[i] * (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
            memset(head, ' ', sizeof head);
            memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
            int used = snprintf(head + 10, 110, "{'descr': '%s', 'fortran_order': True, 'shape': (%d, %d, %d), }",
                                descrs[i], n[0], n[1], n[2]);
            head[10 + used] = ' ';
            head[127] = '\n';
            uint8_t *all = malloc(128 + bytes);
            assert_non_null(all);
            memcpy(all, head, 128);
            for (size_t k = 0; k < bytes; k++)
                all[128 + k] = (uint8_t)(below(256) & (i == 2 ? 1 : 0x3b));
            write_file("f.npy", all, 128 + bytes);
            check_file("f.npy", 60);
            free(all);
        }
}

/* The corpus of the fuzz target: tiles, planes, byte orders and compressions of TIFF files, and others. */
static void test_corpus(void **state)
{
    (void)state;
    const char *source = getenv("WEFT_SOURCE");
    char path[512];
    snprintf(path, sizeof path, "%s/fuzz/corpus/io_load", source ? source : "../..");
    DIR *dir = opendir(path);
    if (!dir) {
        print_message("skipped: no folder %s\n", path);
        return;
    }
    int checked = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char file[800];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        wf_array *array = wf_load(ctx, file, NULL);
        wf_clear_error(ctx);
        if (array && wf_array_count(array) > 0 && wf_array_shape(array).rank > 0) {
            check_file(file, 40);
            checked++;
        }
        wf_release(array);
    }
    closedir(dir);
    assert_in_range(checked, 20, 1000);
}

static void refuse_box(const char *path, wf_shape first, wf_shape box, const char *text)
{
    assert_null(wf_load_region(ctx, path, first, box, NULL));
    assert_int_equal(wf_last_status(ctx), WF_ERR_SHAPE);
    assert_error(path, text);
}

static void test_refused_boxes(void **state)
{
    (void)state;
    wf_array *array = make(WF_F32, SHAPE(4, 5, 6));
    save(array, "r.mrc", NULL);
    refuse_box("r.mrc", SHAPE(0, 0), SHAPE(1, 1), "a box of rank 2 at an offset of rank 2 (the file has 3 axes)");
    refuse_box("r.mrc", SHAPE(0, 0, 0), SHAPE(4, 5, 7),
               "axis 2: 7 elements at 0 are not inside of the file, which has 6");
    refuse_box("r.mrc", SHAPE(0, 1, 0), SHAPE(4, 5, 6), "axis 1: 5 elements at 1");
    refuse_box("r.mrc", SHAPE(-1, 0, 0), SHAPE(1, 5, 6), "axis 0: 1 elements at -1");
    refuse_box("r.mrc", SHAPE(INT64_MAX, 0, 0), SHAPE(INT64_MAX, 5, 6), "axis 0");
    refuse_box("r.mrc", SHAPE(0, 0, 0), SHAPE(INT64_MIN, 5, 6), "axis 0");
    wf_array *none = wf_load_region(ctx, "r.mrc", SHAPE(2, 5, 0), SHAPE(2, 0, 6), NULL);
    assert_non_null(none);
    assert_int_equal(wf_array_count(none), 0);
    wf_release(none);
    assert_null(wf_file_open(ctx, "missing.mrc", NULL, NULL, NULL));
    assert_error("missing.mrc", "no such file");
    assert_null(wf_file_read(NULL, SHAPE(1), SHAPE(1)));
    wf_file_free(NULL);
    wf_release(array);
}

/* ---- writing ---- */

static wf_array *part_of(const wf_array *all, wf_shape first, wf_shape box)
{
    mapped a = map(all);
    size_t size = wf_dtype_size(a.dtype);
    wf_array *part = wf_empty_with(ctx, a.dtype, box, NULL);
    mapped p = map(part);
    for (int64_t i = 0; i < wf_array_count(part); i++)
        memcpy((char *)p.data + (size_t)i * size, (char *)a.data + (size_t)place_in(i, box, first, a.shape) * size,
               size);
    return part;
}

static void write_part(wf_file *file, const wf_array *all, wf_shape first, wf_shape box)
{
    wf_array *part = part_of(all, first, box);
    if (wf_file_write(file, part, first) != WF_OK)
        fail_msg("wf_file_write: %s", wf_last_message(ctx));
    wf_release(part);
}

/* Writes an array as blocks of a grid, from the first to the last or the other way round, after random boxes. */
static void write_parts(const char *path, const wf_array *all, const wf_meta *meta, bool whole_pages, int way)
{
    wf_shape whole = wf_array_shape(all), block = whole;
    wf_file *file = wf_file_create(ctx, path, wf_array_dtype(all), whole, meta);
    if (!file)
        fail_msg("wf_file_create: %s", wf_last_message(ctx));
    int64_t blocks = 1, count[WF_MAX_RANK];
    for (int d = 0; d < whole.rank; d++) {
        if (d == 0 || !whole_pages)
            block.dim[d] = way == 0 && d > 0 ? whole.dim[d] : (whole.dim[d] + 2) / 3 / 2 * 2 + 2;
        count[d] = (whole.dim[d] + block.dim[d] - 1) / block.dim[d];
        blocks *= count[d];
    }
    for (int64_t i = 0; i < blocks; i++) {
        wf_shape first = whole, box = whole;
        int64_t rest = way == 2 ? blocks - 1 - i : i;
        for (int d = whole.rank - 1; d >= 0; d--) {
            first.dim[d] = rest % count[d] * block.dim[d];
            rest /= count[d];
            int64_t left = whole.dim[d] - first.dim[d];
            box.dim[d] = left < block.dim[d] ? left : block.dim[d];
        }
        write_part(file, all, first, box);
    }
    assert_int_not_equal(access(path, F_OK), 0); /* not yet */
    if (wf_file_finish(file) != WF_OK)
        fail_msg("wf_file_finish: %s", wf_last_message(ctx));
    wf_file_free(file);
    assert_int_equal(leftovers(), 0);
}

static void test_written(void **state)
{
    (void)state;
    static const struct {
        const char *whole, *parts;
        wf_dtype dtype;
        wf_stored stored;
        bool pages;
    } files[] = { { "w.mrc", "p.mrc", WF_F32, 0, false },
                  { "w.mrcs", "p.mrcs", WF_I16, 0, false },
                  { "w.mrc", "p.mrc", WF_F64, WF_STORED_U4, false },
                  { "w.mrc.gz", "p.mrc.gz", WF_F32, WF_STORED_F16, false },
                  { "w.npy", "p.npy", WF_BF16, 0, false },
                  { "w.npy", "p.npy", WF_F64, WF_STORED_I32, false },
                  { "w.npy.gz", "p.npy.gz", WF_BOOL, 0, false },
                  { "w.tif", "p.tif", WF_F32, 0, true } };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int large = 0; large < 2; large++)
            for (int way = 0; way < (files[i].pages ? 1 : 3); way++) {
                wf_array *array = make(files[i].dtype, large ? SHAPE(9, 211, 305) : SHAPE(6, 7, 5));
                wf_meta meta = { .size = sizeof meta, .store_as = files[i].stored, .spacing = { 1, 2, 3 } };
                remove(files[i].parts);
                save(array, files[i].whole, &meta);
                write_parts(files[i].parts, array, &meta, files[i].pages, way);
                assert_same_file(files[i].whole, files[i].parts);
                wf_release(array);
            }
}

/* What is not written is zero, and counts in the statistics. */
static void test_sparse(void **state)
{
    (void)state;
    wf_array *all = make(WF_F32, SHAPE(4, 30, 40)), *one = part_of(all, SHAPE(2, 10, 10), SHAPE(1, 3, 4));
    mapped a = map(all);
    double sum = 0;
    for (int64_t i = 0; i < wf_array_count(all); i++) {
        int64_t z = i / 1200, y = i / 40 % 30, x = i % 40;
        bool inside = z == 2 && y >= 10 && y < 13 && x >= 10 && x < 14;
        if (!inside)
            set_element(WF_F32, a.data, i, 0);
        sum += mapped_value(&a, i);
    }
    wf_file *file = wf_file_create(ctx, "s.mrc", WF_F32, SHAPE(4, 30, 40), NULL);
    assert_non_null(file);
    assert_int_equal(wf_file_write(file, one, SHAPE(2, 10, 10)), WF_OK);
    assert_int_equal(wf_file_finish(file), WF_OK);
    assert_int_equal(wf_file_finish(file), WF_ERR_ARG);
    assert_error("s.mrc", "wf_file_finish: the file is finished");
    assert_int_equal(wf_file_write(file, one, SHAPE(2, 10, 10)), WF_ERR_ARG);
    assert_error("s.mrc", "wf_file_write: the file is finished");
    wf_file_free(file);
    wf_array *loaded = load("s.mrc", NULL);
    assert_same_values(loaded, all);
    size_t n;
    uint8_t *bytes = read_file("s.mrc", &n);
    assert_true(fabs(get_f(bytes, DMEAN) - sum / 4800) < 1e-7);
    free(bytes);
    wf_release(loaded);
    wf_release(all);
    wf_release(one);
}

static void test_complex(void **state)
{
    (void)state;
    wf_array *all = wf_empty_with(ctx, WF_C64, SHAPE(5, 6, 7), NULL);
    void *data;
    assert_int_equal(wf_map(all, &data, NULL), WF_OK);
    for (int i = 0; i < 2 * 210; i++)
        ((float *)data)[i] = (float)i;
    static const char *const names[2][2] = { { "c.npy", "d.npy" }, { "c.mrc", "d.mrc" } };
    for (int k = 0; k < 2; k++) {
        save(all, names[k][0], NULL);
        for (int way = 0; way < 3; way++) {
            remove(names[k][1]);
            write_parts(names[k][1], all, NULL, false, way);
            assert_same_file(names[k][0], names[k][1]);
        }
        wf_array *part = wf_load_region(ctx, names[k][0], SHAPE(1, 2, 3), SHAPE(3, 2, 4), NULL);
        assert_box(part, all, SHAPE(1, 2, 3));
        wf_release(part);
    }
    wf_release(all);
}

static void refuse_part(wf_file *file, const wf_array *part, wf_shape first, wf_status status, const char *path,
                        const char *text)
{
    assert_int_equal(wf_file_write(file, part, first), status);
    assert_error(path, text);
}

static void test_refused_parts(void **state)
{
    (void)state;
    wf_array *page = make(WF_F32, SHAPE(1, 8, 9)), *row = make(WF_F32, SHAPE(1, 1, 9)),
             *odd = make(WF_U8, SHAPE(1, 1, 3));
    wf_array *picture = make(WF_U8, SHAPE(4, 4)), *half = make(WF_U8, SHAPE(2, 4));
    wf_file *tiff = wf_file_create(ctx, "r.tif", WF_F32, SHAPE(3, 8, 9), NULL);
    assert_non_null(tiff);
    refuse_part(tiff, row, SHAPE(0, 0, 0), WF_ERR_UNSUPPORTED, "r.tif",
                "axis 1: 1 of 8 elements: TIFF files are written in whole pages");
    refuse_part(tiff, page, SHAPE(1, 0, 0), WF_ERR_UNSUPPORTED, "r.tif", "page 1 is written after 0 pages");
    refuse_part(tiff, odd, SHAPE(0, 0, 0), WF_ERR_DTYPE, "r.tif", "an array of u8 (the file is one of f32)");
    refuse_part(tiff, NULL, SHAPE(0, 0, 0), WF_ERR_ARG, "r.tif", "the array is NULL");
    refuse_part(tiff, page, SHAPE(3, 0, 0), WF_ERR_SHAPE, "r.tif", "axis 0: 1 elements at 3");
    assert_int_equal(wf_file_write(tiff, page, SHAPE(0, 0, 0)), WF_OK);
    refuse_part(tiff, page, SHAPE(0, 0, 0), WF_ERR_UNSUPPORTED, "r.tif", "page 0 is written after 1 pages");
    assert_int_not_equal(wf_file_finish(tiff), WF_OK);
    assert_error("r.tif", "1 of 3 pages were written");
    wf_file_free(tiff);
    assert_int_not_equal(access("r.tif", F_OK), 0);

    wf_meta meta = { .size = sizeof meta, .store_as = WF_STORED_U4 };
    wf_file *packed = wf_file_create(ctx, "q.mrc", WF_U8, SHAPE(1, 4, 9), &meta);
    assert_non_null(packed);
    refuse_part(packed, odd, SHAPE(0, 0, 0), WF_ERR_UNSUPPORTED, "q.mrc", "3 values of u4 at 0 of a line of 9");
    refuse_part(packed, odd, SHAPE(0, 0, 5), WF_ERR_UNSUPPORTED, "q.mrc", "3 values of u4 at 5 of a line of 9");
    assert_int_equal(wf_file_write(packed, odd, SHAPE(0, 0, 6)), WF_OK);
    assert_null(wf_file_read(packed, SHAPE(0, 0, 0), SHAPE(1, 1, 1)));
    assert_error("q.mrc", "wf_file_read: the file is written");
    wf_file_free(packed); /* not finished: it never appears */
    assert_int_not_equal(access("q.mrc", F_OK), 0);
    assert_int_equal(leftovers(), 0);

    wf_file *png = wf_file_create(ctx, "r.png", WF_U8, SHAPE(4, 4), NULL);
    assert_non_null(png);
    refuse_part(png, half, SHAPE(0, 0), WF_ERR_UNSUPPORTED, "r.png",
                "8 of 16 values: PNG files are written as a whole");
    assert_int_equal(wf_file_write(png, picture, SHAPE(0, 0)), WF_OK);
    assert_int_equal(wf_file_finish(png), WF_OK);
    wf_file_free(png);
    png = wf_file_open(ctx, "r.png", NULL, NULL, NULL);
    refuse_part(png, picture, SHAPE(0, 0), WF_ERR_ARG, "r.png", "wf_file_write: the file is read");
    wf_file_free(png);
    wf_array *loaded = load("r.png", NULL);
    assert_same_values(loaded, picture);
    wf_release(loaded);

    assert_null(wf_file_create(ctx, "r.txt", WF_U8, SHAPE(4, 4), NULL));
    assert_error("r.txt", "the suffix names no format");
    assert_null(wf_file_create(ctx, "r.mrc", WF_U8, SHAPE(4), NULL));
    assert_error("r.mrc", "this array has rank 1");
    assert_null(wf_file_create(ctx, "r.npy", WF_F64, SHAPE(INT64_MAX / 3, 5, 7), NULL));
    assert_error("r.npy", "the shape has 2^59 elements or more");
    assert_null(wf_file_create(ctx, "no/folder/r.npy", WF_F64, SHAPE(3), NULL));
    assert_error("no/folder/r.npy", "no such file or directory");
    wf_release(page), wf_release(row), wf_release(odd), wf_release(picture), wf_release(half);
}

/* A file larger than the memory that the process may take is read and written frame by frame. */
static void test_larger_than_memory(void **state)
{
    (void)state;
    enum { FRAMES = 60, SIDE = 1024 };
    wf_array *frame = make(WF_F32, SHAPE(1, SIDE, SIDE));
    wf_shape whole = SHAPE(FRAMES, SIDE, SIDE);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    wf_file *out = wf_file_create(ctx, "m.mrcs", WF_F32, whole, NULL);
    for (int64_t i = 0; i < FRAMES; i++)
        assert_int_equal(wf_file_write(out, frame, SHAPE(i, 0, 0)), WF_OK);
    assert_int_equal(wf_file_finish(out), WF_OK);
    wf_file_free(out);
    wf_file *in = wf_file_open(ctx, "m.mrcs", NULL, NULL, NULL);
    for (int64_t i = 0; i < FRAMES; i += 7) {
        wf_array *again = wf_file_read(in, SHAPE(i, 0, 0), SHAPE(1, SIDE, SIDE));
        assert_same_values(again, frame);
        wf_release(again);
    }
    wf_file_free(in);
    getrusage(RUSAGE_SELF, &after);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 60 << 10); /* KiB; the file has 240 MiB */
    remove("m.mrcs");
    wf_release(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_larger_than_memory),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_mrc_orders),
        cmocka_unit_test(test_fortran),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_refused_boxes),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_complex),
        cmocka_unit_test(test_refused_parts),
    };
    return IO_TESTS(tests);
}
