/* test_io_eer.c - EER files of all compressions and codes: images of any group of frames and size of pixels, whole and
 * in boxes, the example of the format's documentation, gains, damaged files. Gains and groups of other movies.
 */
#include "test_io_util.h"
#include "eer_file.h"

enum { H = 37, W = 51, FRAMES = 7 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A frame's electrons; frame 2 has none, frame 3 one in each pixel. Returns how many. */
static int electrons_of(int frame, int across, int down, electron *e)
{
    uint32_t state = (uint32_t)frame * 77 + 5;
    int n = 0;
    for (int i = 0; i < H * W; i++)
        if (frame != 2 && (frame == 3 || next_random(&state) % 100 < (frame == 4 ? 1 : 8)))
            e[n++] = (electron){ i / W, i % W, (int)(next_random(&state) % (1u << down)),
                                 (int)(next_random(&state) % (1u << across)) };
    return n;
}

static void write_movie(const char *path, eer_writer *w)
{
    electron e[H * W];
    int compression = w->compression;
    bool coded = compression == 65002;
    w->height = H;
    w->width = W;
    w->bytes = NULL;
    w->used = w->cap = 0;
    eer_begin(w);
    for (int f = 0; f < FRAMES; f++) {
        eer_frame(w, e, electrons_of(f, coded ? w->across : 2, coded ? w->down : 2, e));
        w->compression = 1; /* a page that is no frame */
        if (f == 1)
            eer_page(w, (const uint8_t *)"sum", 3);
        w->compression = compression;
    }
    write_file(path, w->bytes, w->used);
    free(w->bytes);
}

/* The electrons of frames first to first + n - 1 in pixel y, x of an image with `factor` pixels along one. */
static int expected(int first, int n, int across, int down, int factor, int64_t y, int64_t x)
{
    static electron e[H * W];
    int count = 0;
    for (int f = first; f < first + n; f++) {
        int of_frame = electrons_of(f, across, down, e);
        for (int i = 0; i < of_frame; i++) {
            int at_y = e[i].y * factor + e[i].part_y * factor / (1 << down);
            int at_x = e[i].x * factor + e[i].part_x * factor / (1 << across);
            count += at_y == y && at_x == x;
        }
    }
    return count;
}

/* All images that are expected, [n, h, w]. */
static int *images_of(int group, int across, int down, int factor, int images)
{
    static electron e[H * W];
    int64_t h = H * factor, w = W * factor;
    int *all = calloc((size_t)(images * h * w), sizeof *all);
    assert_non_null(all);
    for (int f = 0; f < images * group; f++) {
        int n = electrons_of(f, across, down, e);
        for (int i = 0; i < n; i++) {
            int64_t y = e[i].y * factor + e[i].part_y * factor / (1 << down);
            int64_t x = e[i].x * factor + e[i].part_x * factor / (1 << across);
            all[(f / group * h + y) * w + x]++;
        }
    }
    return all;
}

static wf_file *open_movie(const char *path, wf_movie how, wf_meta *meta, wf_dtype *dtype, wf_shape *shape)
{
    how.size = sizeof how;
    wf_file *file = wf_movie_open(ctx, path, &how, meta, dtype, shape);
    if (!file)
        fail_msg("%s", wf_last_message(ctx));
    return file;
}

static void check_images(const char *path, int group, int factor, int across, int down)
{
    wf_meta meta = { .size = sizeof meta };
    wf_dtype dtype;
    wf_shape shape, zero = { .rank = 3 };
    wf_file *file = open_movie(path, (wf_movie){ .group = group, .factor = factor }, &meta, &dtype, &shape);
    int images = FRAMES / group, *all = images_of(group, across, down, factor, images);
    assert_shape(shape, SHAPE(images, H * factor, W * factor));
    assert_int_equal(dtype, WF_U8);
    assert_int_equal(meta.format, WF_FORMAT_EER);
    assert_true(meta.is_stack && fabs(meta.spacing[2] - 0.75 / factor) < 1e-12);
    wf_array *whole = wf_file_read(file, zero, shape);
    assert_non_null(whole);
    mapped m = map(whole);
    for (int64_t i = 0; i < wf_array_count(whole); i++)
        if (((uint8_t *)m.data)[i] != all[i])
            fail_msg("%s, group %d, factor %d: element %lld is %d, not %d", path, group, factor, (long long)i,
                     ((uint8_t *)m.data)[i], all[i]);
    wf_shape first = SHAPE(images - 1, 5 * factor - 1, 7), box = SHAPE(1, 11, 3 * factor + 1);
    wf_array *part = wf_file_read(file, first, box);
    assert_non_null(part);
    m = map(part);
    for (int64_t y = 0; y < box.dim[1]; y++)
        for (int64_t x = 0; x < box.dim[2]; x++)
            assert_int_equal(((uint8_t *)m.data)[y * box.dim[2] + x],
                             all[((images - 1) * shape.dim[1] + first.dim[1] + y) * shape.dim[2] + 7 + x]);
    wf_release(whole);
    wf_release(part);
    wf_file_free(file);
    free(all);
}

static void all_codes_are_read(void **state)
{
    (void)state;
    const eer_writer writers[] = {
        { .compression = 65000, .big = 1 },
        { .compression = 65001, .big = 1, .strips = 2 },
        { .compression = 65001, .strips = 3 },
        { .compression = 65001, .swap = 1 },
        { .compression = 65002, .skip = 7, .across = 2, .down = 2, .big = 1, .swap = 1 },
        { .compression = 65002, .skip = 4, .across = 1, .down = 1 },
        { .compression = 65002, .skip = 2, .across = 3, .down = 4, .big = 1 },
        { .compression = 65002, .skip = 11, .across = 2, .down = 1 },
    };
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        eer_writer w = writers[i];
        write_movie(i % 2 ? "movie.eer" : "movie.tif", &w);
        int across = w.compression == 65002 ? w.across : 2, down = w.compression == 65002 ? w.down : 2;
        for (int factor = 1; factor <= 1 << (across < down ? across : down); factor *= 2)
            for (int group = 1; group <= FRAMES; group += 2)
                check_images(i % 2 ? "movie.eer" : "movie.tif", group, factor, across, down);
    }
}

/* The example of the documentation: a skip of 7 bits, 1 bit across and 1 down. */
static void the_example_of_the_documentation_is_read(void **state)
{
    (void)state;
    static const uint8_t bits[6] = { 0x03, 0x1b, 0xfc, 0xb1, 0x35, 0xfb };
    static const int at[4] = { 3, 17, 233, 311 }, fine[4][2] = { { 0, 7 }, { 3, 3 }, { 29, 18 }, { 39, 14 } };
    eer_writer w = { .compression = 65002, .skip = 7, .across = 1, .down = 1, .big = 1, .height = 20, .width = 16 };
    eer_begin(&w);
    eer_page(&w, bits, sizeof bits);
    write_file("example.eer", w.bytes, w.used);
    free(w.bytes);
    wf_array *a = load("example.eer", NULL);
    assert_shape(wf_array_shape(a), SHAPE(1, 20, 16));
    int sum = 0;
    for (int i = 0; i < 320; i++)
        sum += (int)value_at(a, i);
    assert_int_equal(sum, 4);
    wf_file *file = open_movie("example.eer", (wf_movie){ .factor = 2 }, NULL, NULL, NULL);
    wf_array *b = wf_file_read(file, SHAPE(0, 0, 0), SHAPE(1, 40, 32));
    assert_non_null(b);
    for (int i = 0; i < 4; i++) {
        assert_true(value_at(a, at[i]) == 1);
        assert_true(value_at(b, fine[i][0] * 32 + fine[i][1]) == 1);
    }
    wf_file_free(file);
    wf_release(a);
    wf_release(b);
}

/* ---- gains ---- */

static double gain_at(int64_t y, int64_t x) { return y == 3 && x == 4 ? 0 : 0.5 + (double)((y * 7 + x * 3) % 16) / 16; }

static wf_array *gain_image(int64_t h, int64_t w, wf_dtype dtype)
{
    wf_array *gain = wf_empty(ctx, dtype, WF_SHAPE(h, w));
    void *data;
    assert_int_equal(wf_map(gain, &data, NULL), WF_OK);
    for (int64_t i = 0; i < h * w; i++)
        set_element(dtype, data, i, gain_at(i / w, i % w));
    return gain;
}

static void gains_multiply_or_divide(void **state)
{
    (void)state;
    eer_writer w = { .compression = 65001, .big = 1 };
    write_movie("movie.eer", &w);
    wf_array *coarse = gain_image(H, W, WF_F32), *fine = gain_image(2 * H, 2 * W, WF_F64);
    save(coarse, "gain.mrc", NULL);
    save(coarse, "gain.tif", &(wf_meta){ .size = sizeof(wf_meta), .deflate = true });
    assert_int_equal(rename("gain.tif", "a.gain"), 0);
    save(fine, "gain.npy", NULL);
    const struct {
        wf_movie how;
        bool divided;
        int scale;
    } cases[] = { { { .gain = "gain.mrc", .group = 3 }, false, 1 },
                  { { .gain = "gain.mrc", .divide = true }, true, 1 },
                  { { .gain = "a.gain", .group = 2, .factor = 2 }, true, 2 },
                  { { .gain = "gain.npy", .factor = 2 }, false, 1 },
                  { { .gain = "gain.mrc", .group = 7, .factor = 4 }, false, 4 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wf_dtype dtype;
        wf_shape shape, box = SHAPE(1, 17, 13), first = SHAPE(0, 2, 3);
        wf_file *file = open_movie("movie.eer", cases[i].how, NULL, &dtype, &shape);
        int factor = cases[i].how.factor ? cases[i].how.factor : 1,
            group = cases[i].how.group ? (int)cases[i].how.group : 1;
        assert_int_equal(dtype, WF_F32);
        assert_shape(shape, SHAPE(FRAMES / group, H * factor, W * factor));
        for (int round = 0; round < 3; round++) { /* the second box is another one, the third one the same */
            first.dim[1] = round ? 9 : 2;
            wf_array *part = wf_file_read(file, first, box);
            assert_non_null(part);
            for (int64_t k = 0; k < 17 * 13; k++) {
                int64_t y = first.dim[1] + k / 13, x = first.dim[2] + k % 13;
                double g = gain_at(y / cases[i].scale, x / cases[i].scale), n = expected(0, group, 2, 2, factor, y, x);
                double value = cases[i].divided ? (g != 0 ? n / g : 0) : n * g;
                if (fabs(value_at(part, k) - value) > 1e-6)
                    fail_msg("case %zu: pixel %lld %lld is %g, not %g", i, (long long)y, (long long)x,
                             value_at(part, k), value);
            }
            wf_release(part);
        }
        wf_file_free(file);
    }
    const struct {
        wf_movie how;
        const char *text;
    } bad[] = { { { .gain = "gain.npy" },
                  "gain.npy: the gain is 74 x 102 pixels, and the frames of movie.eer are 37 x 51" },
                { { .gain = "none.mrc" }, "none.mrc: cannot open" },
                { { .gain = "movie.eer" }, "movie.eer: a gain is one image of real values, and this has 3 axes" },
                { { .group = 8 }, "movie.group is 8 (the file has 7 frames" },
                { { .group = -1 }, "movie.group is -1" },
                { { .factor = 3 }, "movie.factor is 3 (must be 1, 2, 4" },
                { { .factor = 8 }, "movie.factor is 8 (the file has 4 pixels along one)" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wf_movie how = bad[i].how;
        how.size = sizeof how;
        assert_null(wf_movie_open(ctx, "movie.eer", &how, NULL, NULL, NULL));
        assert_error("", bad[i].text);
    }
    assert_null(wf_movie_open(ctx, "movie.eer", &(wf_movie){ .size = 0 }, NULL, NULL, NULL));
    assert_error("movie.eer", "movie.size is 0");
    save_refused(coarse, "x.eer", NULL, "the suffix names no format that is written (known: .mrc");
    wf_release(coarse);
    wf_release(fine);
}

/* Every turn and flip, of boxes of a movie; the gain of an odd number of turns has the extents of the turned frames. */
static void gains_are_turned_and_flipped(void **state)
{
    (void)state;
    enum { HEIGHT = 9, WIDTH = 6 };
    wf_array *frames = make(WF_F32, SHAPE(2, HEIGHT, WIDTH));
    save(frames, "turned.mrcs", NULL);
    for (int turns = 0; turns < 4; turns++)
        for (int flip = 0; flip < 3; flip++) {
            int h = turns % 2 ? WIDTH : HEIGHT, w = turns % 2 ? HEIGHT : WIDTH; /* of the gain's file */
            wf_array *gain = gain_image(h, w, WF_F32);
            save(gain, "turned.npy", NULL);
            wf_release(gain);
            wf_movie how = { .gain = "turned.npy", .gain_rotation = turns, .gain_flip = flip };
            wf_file *file = open_movie("turned.mrcs", how, NULL, NULL, NULL);
            wf_array *part = wf_file_read(file, SHAPE(1, 2, 1), SHAPE(1, 6, 4));
            assert_non_null(part);
            for (int64_t i = 0; i < 24; i++) {
                int64_t y = 2 + i / 4, x = 1 + i % 4;
                int64_t v = flip == 1 ? HEIGHT - 1 - y : y, u = flip == 2 ? WIDTH - 1 - x : x; /* before the flip */
                double g = turns == 0   ? gain_at(v, u)
                           : turns == 1 ? gain_at(h - 1 - u, v)
                           : turns == 2 ? gain_at(h - 1 - v, w - 1 - u)
                                        : gain_at(u, w - 1 - v);
                double value = value_at(frames, (HEIGHT + y) * WIDTH + x) * g;
                if (fabs(value_at(part, i) - value) > 1e-5)
                    fail_msg("turned %d, flipped %d: pixel %d is %g, not %g", turns, flip, (int)i, value_at(part, i),
                             value);
            }
            wf_release(part);
            wf_file_free(file);
        }
    wf_release(frames);
    static const struct {
        wf_movie how;
        const char *text;
    } bad[] = { { { .gain = "turned.npy" }, "the gain is 6 x 9 pixels, and the frames of turned.mrcs are 9 x 6" },
                { { .gain_rotation = 4 }, "movie.gain_rotation is 4 (must be 0 to 3)" },
                { { .gain_flip = -1 }, "movie.gain_flip is -1 (must be 0 to 2)" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wf_movie how = bad[i].how;
        how.size = sizeof how;
        assert_null(wf_movie_open(ctx, "turned.mrcs", &how, NULL, NULL, NULL));
        assert_error("turned.mrcs", bad[i].text);
    }
}

static void movies_of_other_formats_have_gains_and_groups(void **state)
{
    (void)state;
    enum { N = 5, HEIGHT = 9, WIDTH = 6 };
    wf_array *gain = gain_image(HEIGHT, WIDTH, WF_F32);
    save(gain, "gain.mrc", NULL);
    static const struct {
        const char *path;
        wf_dtype dtype;
    } files[] = { { "m.tif", WF_U8 }, { "m.mrcs", WF_I16 }, { "m.npy", WF_F64 }, { "m.mrc.gz", WF_F32 } };
    for (int f = 0; f < 4; f++)
        for (int group = 1; group <= N; group++)
            for (int corrected = 0; corrected < 2; corrected++) {
                wf_array *frames = make(files[f].dtype, SHAPE(N, HEIGHT, WIDTH));
                save(frames, files[f].path, &(wf_meta){ .size = sizeof(wf_meta), .is_stack = true, .lzw = true });
                wf_dtype dtype;
                wf_shape shape;
                wf_movie how = { .group = group, .gain = corrected ? "gain.mrc" : NULL };
                wf_file *file = open_movie(files[f].path, how, NULL, &dtype, &shape);
                assert_int_equal(dtype, group == 1 && !corrected ? files[f].dtype : f == 2 ? WF_F64 : WF_F32);
                assert_shape(shape, SHAPE(N / group, HEIGHT, WIDTH));
                wf_array *part = wf_file_read(file, SHAPE(N / group - 1, 2, 1), SHAPE(1, 6, 4));
                assert_non_null(part);
                for (int64_t i = 0; i < 24; i++) {
                    int64_t y = 2 + i / 4, x = 1 + i % 4;
                    double sum = 0;
                    for (int k = 0; k < group; k++)
                        sum += value_at(frames, (((N / group - 1) * group + k) * HEIGHT + y) * WIDTH + x);
                    sum *= corrected ? gain_at(y, x) : 1;
                    assert_true(fabs(value_at(part, i) - sum) < 1e-5);
                }
                wf_release(part);
                wf_release(frames);
                wf_file_free(file);
            }
    wf_movie how = { .size = sizeof how, .factor = 2 };
    assert_null(wf_movie_open(ctx, "m.tif", &how, NULL, NULL, NULL));
    assert_error("m.tif", "movie.factor is 2: only EER files have finer pixels");
    how = (wf_movie){ .size = sizeof how, .group = 2 };
    assert_null(wf_movie_open(ctx, "gain.mrc", &how, NULL, NULL, NULL));
    assert_error("gain.mrc", "movie.group is 2 (the file has 1 frames)");
    /* an image may have a gain, and without any wish a movie is as wf_file_open gives it */
    wf_file *file = open_movie("gain.mrc", (wf_movie){ .gain = "gain.mrc", .divide = true }, NULL, NULL, NULL);
    wf_array *ones = wf_file_read(file, SHAPE(0, 0), SHAPE(HEIGHT, WIDTH));
    for (int64_t i = 0; i < HEIGHT * WIDTH; i++)
        assert_true(value_at(ones, i) == (i == 3 * WIDTH + 4 ? 0 : 1));
    wf_release(ones);
    wf_file_free(file);
    file = wf_movie_open(ctx, "m.mrcs", NULL, NULL, NULL, NULL);
    assert_non_null(file);
    wf_file_free(file);
    wf_release(gain);
}

/* ---- damage ---- */

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        eer_writer w = {
            .compression = big ? 65001 : 65002, .skip = 7, .across = 2, .down = 2, .big = big, .strips = 1 + big
        };
        write_movie("good.eer", &w);
        size_t n;
        uint8_t *good = read_file("good.eer", &n), *copy = malloc(n);
        assert_non_null(copy);
        assert_true(survives("bad.eer", good, n));
        uint32_t random = 1;
        for (int i = 0; i < 3000; i++) {
            memcpy(copy, good, n);
            size_t length = i % 3 ? n : next_random(&random) % n;
            for (int k = 0; k < i % 4 && length; k++)
                copy[(i & 4 ? next_random(&random) % length : length - 1 - next_random(&random) % (length / 8 + 1))] =
                    (uint8_t)(i & 8 ? 255 : next_random(&random));
            survives("bad.eer", copy, length);
        }
        free(good);
        free(copy);
    }
    /* fields that matter, one at a time */
    static const struct {
        int tag, value;
        const char *text;
    } bad[] = { { 256, 0, "EER page 1: field ImageWidth is 0" },
                { 256, 5000000, "EER page 1: field ImageWidth is 5000000" },
                { 257, 60000, "frames of 60000 x 51 pixels: a file of" },
                { 257, 30, "its electrons go beyond the last pixel" },
                { 273, 1 << 30, "bytes at byte 1073741824 are not inside of the file" },
                { 279, 1 << 30, "1073741824 bytes at byte" },
                { 65007, 1, "bits of a skip, is 1 (must be 2..16)" },
                { 65008, 9, "bits across a pixel, is 9" },
                { 65009, 0, "bits down a pixel, is 0" } };
    eer_writer w = { .compression = 65002, .skip = 7, .across = 2, .down = 2 };
    write_movie("good.eer", &w);
    size_t n;
    uint8_t *good = read_file("good.eer", &n);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint8_t *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, good, n);
        for (size_t at = 8; at + 12 <= n; at++) { /* in each directory */
            uint32_t tag = copy[at] | (uint32_t)copy[at + 1] << 8, count = copy[at + 4];
            int type = copy[at + 2];
            if (tag == (uint32_t)bad[i].tag && copy[at + 3] == 0 && (type == 3 || type == 4) && count == 1 &&
                copy[at + 5] == 0 && copy[at + 6] == 0 && copy[at + 7] == 0)
                memcpy(copy + at + 8, &bad[i].value, type == 3 ? 2 : 4);
        }
        write_file("bad.eer", copy, n);
        assert_refused("bad.eer", bad[i].text);
        free(copy);
    }
    /* directories in a circle: the last one leads to the first */
    uint8_t first[4];
    memcpy(first, good + 4, 4);
    size_t last = n - 4;
    memcpy(good + last, first, 4);
    write_file("bad.eer", good, n);
    assert_refused("bad.eer", "offset of the next page");
    free(good);
}

/* Pages that all have one long list of strips: the file is refused before memory is allocated for each of the lists. */
static void a_shared_list_of_strips_is_refused(void **state)
{
    (void)state;
    enum { PAGES = 20, STRIPS = 4000, TAGS = 5, PAGE = 2 + 12 * TAGS + 4, LISTS = 8 + PAGES * PAGE };
    static const int tags[TAGS][4] = { /* tag, type, count, value */
                                       { 256, 3, 1, 2 },
                                       { 257, 3, 1, 2 },
                                       { 259, 3, 1, 65001 },
                                       { 273, 1, STRIPS, LISTS },
                                       { 279, 1, STRIPS, LISTS }
    };
    static uint8_t zeros[STRIPS];
    eer_writer w = { .compression = 65001 };
    eer_begin(&w);
    eer_number_at(&w, w.link, 8, 4);
    for (int i = 0; i < PAGES; i++) {
        eer_number(&w, TAGS, 2);
        for (int k = 0; k < TAGS; k++) {
            eer_number(&w, (uint64_t)tags[k][0], 2);
            eer_number(&w, (uint64_t)tags[k][1], 2);
            eer_number(&w, (uint64_t)tags[k][2], 4);
            eer_number(&w, (uint64_t)tags[k][3], 4);
        }
        eer_number(&w, i + 1 < PAGES ? w.used + 4 : 0, 4);
    }
    assert_int_equal(w.used, LISTS);
    eer_put(&w, zeros, STRIPS);
    write_file("bad.eer", w.bytes, w.used);
    free(w.bytes);
    assert_refused("bad.eer", "EER page 2: field StripOffsets, count of, is 4000");
}

/* Directories of which each begins four bytes behind the one before: each byte of the file belongs to many. */
static void directories_that_overlap_are_refused(void **state)
{
    (void)state;
    enum { PAGES = 60, ENTRIES = 200, BYTES = 2 + 12 * ENTRIES };
    static uint8_t zeros[4 * PAGES + BYTES + 4];
    eer_writer w = { .compression = 65001, .height = 1, .width = 1 };
    eer_begin(&w);
    eer_frame(&w, NULL, 0);
    size_t begin = w.used;
    eer_number_at(&w, w.link, begin, 4);
    eer_put(&w, zeros, sizeof zeros);
    for (size_t i = 0; i < PAGES; i++) {
        eer_number_at(&w, begin + 4 * i, ENTRIES, 2);
        eer_number_at(&w, begin + 4 * i + BYTES, i + 1 < PAGES ? begin + 4 * (i + 1) : 0, 4);
    }
    write_file("bad.eer", w.bytes, w.used);
    free(w.bytes);
    assert_refused("bad.eer", "EER page 3: the directories have 4");
}

/* A frame whose strips are much longer than its pixels need is read as far as it goes. */
static void bits_behind_the_last_pixel_are_not_read(void **state)
{
    (void)state;
    enum { MORE = 1000 };
    static uint8_t bits[MORE];
    for (int good = 0; good < 2; good++) {
        eer_writer w = { .compression = 65001, .height = 2, .width = 2, .strips = 3 };
        bits[0] = good ? 2 : 11; /* electrons in pixels 2 and 3; beyond the last */
        eer_begin(&w);
        eer_page(&w, bits, MORE);
        write_file("long.eer", w.bytes, w.used);
        free(w.bytes);
        wf_array *a = wf_load(ctx, "long.eer", NULL);
        assert_true(!a == !good);
        if (!good)
            assert_error("long.eer", "its electrons go beyond the last pixel");
        for (int i = 0; i < 4 && a; i++)
            assert_int_equal((int)value_at(a, i), i >= 2);
        wf_release(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_codes_are_read),
        cmocka_unit_test(the_example_of_the_documentation_is_read),
        cmocka_unit_test(gains_multiply_or_divide),
        cmocka_unit_test(gains_are_turned_and_flipped),
        cmocka_unit_test(movies_of_other_formats_have_gains_and_groups),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(a_shared_list_of_strips_is_refused),
        cmocka_unit_test(directories_that_overlap_are_refused),
        cmocka_unit_test(bits_behind_the_last_pixel_are_not_read),
    };
    return IO_TESTS(tests);
}
