/* test_io_ome_levels.c - levels of OME-Zarr: each has the means of the level before, rounded to the type of the file, as plain
 * C and wf_bin compute them, and the pixel size and origin that follow from that; files written in parts have the same
 * bytes; a level is chosen by its path, and wf_probe_level describes it; wrong metadata of levels are errors.
 *
 * The script tests/cli/ome.sh reads levels with other programs.
 */
#include "zarr_store.h"
#include "weft/xform.h"

enum { LEVELS = 6 };

/* Sets *place to "a.ome.zarr/<level>". */
static const char *level_path(int level, char place[32])
{
    snprintf(place, 32, "a.ome.zarr/%d", level);
    return place;
}

/* A mean that is stored: rounded to nearest, ties to even; as bool, true unless it is 0. */
static double stored_mean(wf_dtype dtype, double mean)
{
    if (dtype == WF_BOOL)
        return mean != 0;
    if (dtype == WF_F32)
        return (double)(float)mean;
    return dtype == WF_F64 || dtype == WF_F16 ? mean : nearbyint(mean);
}

/* Compares a level with means of blocks of the level before. `axes`: those that are halved. */
static void check_means(const wf_array *fine, const wf_array *coarse, wf_axes axes)
{
    const mapped f = map(fine), c = map(coarse);
    const int rank = f.shape.rank;
    const int64_t count = wf_array_count(coarse);
    assert_int_equal(c.shape.rank, rank);
    for (int d = 0; d < rank; d++)
        assert_int_equal(c.shape.dim[d], axes >> d & 1 ? f.shape.dim[d] / 2 : f.shape.dim[d]);
    for (int64_t i = 0; i < count; i++) {
        int64_t at[WF_MAX_RANK], rest = i;
        for (int d = rank - 1; d >= 0; rest /= c.shape.dim[d--])
            at[d] = rest % c.shape.dim[d];
        double sum = 0, n = 0;
        for (int corner = 0; corner < 1 << rank; corner++) {
            int64_t place = 0;
            bool is_inside = true;
            for (int d = 0; d < rank; d++) {
                const int second = corner >> (rank - 1 - d) & 1; /* the last axis is the fastest */
                is_inside = is_inside && (!second || (axes >> d & 1));
                place += (axes >> d & 1 ? 2 * at[d] + second : at[d]) * f.strides[d];
            }
            if (is_inside) {
                sum += element(f.dtype, f.data, place);
                n++;
            }
        }
        const double expected = stored_mean(f.dtype, sum / n), got = mapped_value(&c, i);
        if (!(fabs(got - expected) <= (f.dtype == WF_F16 ? fabs(expected) * 0x1p-11 : 0)))
            fail_msg("element %lld of a level is %g instead of %g", (long long)i, got, expected);
    }
}

/* The same by wf_bin, whose means a file of the same type stores. */
static void check_bin(const wf_array *fine, const wf_array *coarse, wf_axes axes, wf_stored stored)
{
    wf_array *mean = wf_bin(fine, 2, axes);
    assert_non_null(mean);
    save(mean, "a.zarr", &(wf_meta){ .size = sizeof(wf_meta), .store_as = stored });
    wf_array *expected = load("a.zarr", NULL);
    assert_int_equal(wf_array_dtype(coarse), wf_array_dtype(expected));
    if (wf_array_dtype(fine) == WF_C64 || wf_array_dtype(fine) == WF_C128) {
        wf_array *parts = in_parts(wf_retain((wf_array *)coarse));
        expected = in_parts(expected);
        assert_same_values(parts, expected);
        wf_release(parts);
    } else {
        assert_same_values(coarse, expected);
    }
    wf_release(expected);
    wf_release(mean);
    remove_store();
}

/* An array of small integers, or of numbers with all digits of a type, so that means are rounded. */
static wf_array *make_values(wf_dtype dtype, wf_shape shape)
{
    if (dtype != WF_C64 && dtype != WF_F32 && dtype != WF_F64)
        return make(dtype, shape);
    wf_array *array = wf_empty(ctx, dtype, shape);
    const int parts = dtype == WF_C64 ? 2 : 1;
    void *data;
    assert_non_null(array);
    assert_int_equal(wf_map(array, &data, NULL), WF_OK);
    for (int64_t i = 0; i < parts * wf_array_count(array); i++)
        set_element(dtype == WF_F64 ? WF_F64 : WF_F32, data, i, pattern(WF_F32, i) / 3);
    return array;
}

typedef struct image_case {
    wf_dtype dtype;
    wf_shape shape;
    bool is_stack;
    int32_t coarsest;
    int levels;
    wf_axes axes[LEVELS];   /* that level k + 1 has half as many samples along as level k */
    double span[LEVELS][3]; /* of a sample of level k, in samples of level 0, along z, y, x */
} image_case;

static void check_levels(const image_case *c, const wf_meta *meta)
{
    wf_array *fine = NULL;
    for (int k = 0; k < c->levels; k++) {
        char place[32];
        wf_meta of_path = { .size = sizeof of_path }, of_level = { .size = sizeof of_level };
        wf_dtype dtype;
        wf_shape shape;
        wf_array *level = load(level_path(k, place), &of_path);
        assert_int_equal(wf_array_dtype(level), c->dtype);
        assert_int_equal(of_path.is_stack, c->is_stack);
        assert_int_equal(of_path.levels, 0);
        assert_string_equal(of_path.level, "");
        for (int d = 0; d < 3; d++) {
            const double size = meta->spacing[d], shift = size * (c->span[k][d] - 1) / 2;
            const double origin = size > 0 ? meta->origin[d] + shift : 0;
            if (!(fabs(of_path.spacing[d] - size * c->span[k][d]) <= 1e-14 * size * c->span[k][d]) ||
                !(fabs(of_path.origin[d] - origin) <= 1e-14 * (fabs(meta->origin[d]) + shift)))
                fail_msg("level %d has spacing %g and origin %g along axis %d", k, of_path.spacing[d],
                         of_path.origin[d], d);
        }
        assert_int_equal(wf_probe_level(ctx, "a.ome.zarr", k, &of_level, &dtype, &shape), WF_OK);
        assert_int_equal(dtype, c->dtype);
        assert_shape(shape, wf_array_shape(level));
        assert_memory_equal(of_level.spacing, of_path.spacing, sizeof of_path.spacing);
        assert_memory_equal(of_level.origin, of_path.origin, sizeof of_path.origin);
        assert_int_equal(of_level.levels, c->levels);
        assert_int_equal(of_level.level[0], '0' + k);
        if (fine) {
            if (c->dtype != WF_C64)
                check_means(fine, level, c->axes[k - 1]);
            check_bin(fine, level, c->axes[k - 1], of_path.stored);
        }
        wf_release(fine);
        fine = level;
    }
    wf_release(fine);
    assert_int_equal(wf_probe_level(ctx, "a.ome.zarr", c->levels, NULL, NULL, NULL), WF_ERR_ARG);
    assert_error("a.ome.zarr", "level ");
}

static void levels_have_means(void **state)
{
    (void)state;
    static const image_case cases[] = {
        { WF_F32,
          { .rank = 2, .dim = { 13, 37 } },
          false,
          5,
          4,
          { 3, 3, 3 },
          { { 1, 1, 1 }, { 1, 2, 2 }, { 1, 4, 4 }, { 1, 8, 8 } } },
        { WF_U8,
          { .rank = 3, .dim = { 9, 14, 11 } },
          false,
          3,
          3,
          { 7, 7 },
          { { 1, 1, 1 }, { 2, 2, 2 }, { 4, 4, 4 } } },
        { WF_I16,
          { .rank = 3, .dim = { 5, 14, 11 } },
          true,
          4,
          3,
          { 6, 6 },
          { { 1, 1, 1 }, { 1, 2, 2 }, { 1, 4, 4 } } },
        { WF_F64,
          { .rank = 4, .dim = { 2, 3, 14, 11 } },
          true,
          6,
          3,
          { 14, 12 },
          { { 1, 1, 1 }, { 2, 2, 2 }, { 2, 4, 4 } } },
        { WF_F16,
          { .rank = 2, .dim = { 1, 9 } },
          false,
          1,
          4,
          { 2, 2, 2 },
          { { 1, 1, 1 }, { 1, 1, 2 }, { 1, 1, 4 }, { 1, 1, 8 } } },
        { WF_BOOL, { .rank = 2, .dim = { 20, 18 } }, false, 9, 3, { 3, 3 }, { { 1, 1, 1 }, { 1, 2, 2 }, { 1, 4, 4 } } },
        { WF_I64, { .rank = 2, .dim = { 8, 6 } }, false, 4, 2, { 3 }, { { 1, 1, 1 }, { 1, 2, 2 } } },
        { WF_C64, { .rank = 3, .dim = { 4, 6, 5 } }, false, 2, 3, { 7, 7 }, { { 1, 1, 1 }, { 2, 2, 2 }, { 4, 4, 4 } } },
        /* the default, of several chunks: 600 is more than 256, and so is 300 */
        { WF_U8,
          { .rank = 2, .dim = { 30, 1201 } },
          false,
          0,
          4,
          { 3, 3, 3 },
          { { 1, 1, 1 }, { 1, 2, 2 }, { 1, 4, 4 }, { 1, 8, 8 } } },
        { WF_U16, { .rank = 3, .dim = { 3, 3, 260 } }, false, 0, 2, { 7 }, { { 1, 1, 1 }, { 2, 2, 2 } } },
        { WF_U8, { .rank = 2, .dim = { 256, 256 } }, false, 0, 1, { 0 }, { { 1, 1, 1 } } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int how = 0; how < 3; how++) {
            const image_case *c = &cases[i];
            wf_meta meta = { .size = sizeof meta, .is_stack = c->is_stack, .pyramid = true, .coarsest = c->coarsest };
            meta.deflate = how == 1;
            meta.durable = how == 2;
            for (int d = c->shape.rank == 2 || (c->shape.rank == 3 && c->is_stack); d < 3 && how < 2; d++) {
                meta.spacing[d] = 1.25 + 0.35 * d;
                meta.origin[d] = how ? -7 + d : 0;
            }
            wf_array *array = make_values(c->dtype, c->shape);
            const wf_status saved = wf_save(array, "a.ome.zarr", &meta);
            wf_release(array);
            if (saved == WF_ERR_UNSUPPORTED && how == 1) { /* there is no zlib */
                print_message("%s\n", wf_last_message(ctx));
                wf_clear_error(ctx);
                continue;
            }
            assert_int_equal(saved, WF_OK);
            assert_int_equal(leftovers(), 0);
            check_levels(c, &meta);
            remove_tree("a.ome.zarr");
        }
}

/* Levels of an empty image, and of other files, are not made. */
static void some_files_have_no_levels(void **state)
{
    (void)state;
    const wf_meta meta = { .size = sizeof meta, .pyramid = true, .coarsest = 2 };
    wf_meta back = { .size = sizeof back };
    wf_array *empty = make(WF_F32, SHAPE(0, 9)), *image = make(WF_F32, SHAPE(8, 9));
    save(empty, "a.ome.zarr", &meta);
    wf_release(load("a.ome.zarr", &back));
    assert_int_equal(back.levels, 1);
    assert_string_equal(back.level, "0");
    remove_tree("a.ome.zarr");
    save(image, "a.zarr", &meta);
    assert_int_equal(wf_probe_level(ctx, "a.zarr", 0, &back, NULL, NULL), WF_OK);
    assert_int_equal(back.levels, 0);
    assert_string_equal(back.level, "");
    assert_int_equal(wf_probe_level(ctx, "a.zarr", 1, NULL, NULL, NULL), WF_ERR_ARG);
    assert_error("a.zarr", "level 1 of an array, which is no group with levels");
    remove_store();
    save(image, "a.mrc", &meta);
    assert_int_equal(wf_probe_level(ctx, "a.mrc", 0, NULL, NULL, NULL), WF_OK);
    assert_int_equal(wf_probe_level(ctx, "a.mrc", 1, NULL, NULL, NULL), WF_ERR_ARG);
    assert_error("a.mrc", "level 1 of a file of MRC, which has no levels");
    assert_int_equal(wf_probe_level(ctx, "a.mrc", -1, NULL, NULL, NULL), WF_ERR_ARG);
    assert_error("a.mrc", "level is -1");
    save_refused(image, "a.ome.zarr", &(wf_meta){ .size = sizeof meta, .pyramid = true, .coarsest = -1 },
                 "meta.coarsest is -1 (must not be negative)");
    wf_release(empty);
    wf_release(image);
    remove("a.mrc");
}

/* An image of several chunks, written in boxes that chunks do not divide, in any order; also one that is not finished. */
static void parts_have_the_same_levels(void **state)
{
    (void)state;
    const wf_shape shape = SHAPE(150, 140, 131);
    const wf_meta meta = { .size = sizeof meta, .pyramid = true, .coarsest = 40, .spacing = { 2, 3, 4 } };
    wf_array *whole = make(WF_U8, shape);
    save(whole, "same.ome.zarr", &meta);
    for (int finish = 0; finish < 2; finish++) {
        wf_file *file = wf_file_create(ctx, "a.ome.zarr", WF_U8, shape, &meta);
        assert_non_null(file);
        for (int64_t z = 100; z >= 0; z -= 50)
            for (int64_t x = 0; x < 131; x += 100) {
                wf_array *rows = wf_view_slice(whole, 0, z, z + 50, 1);
                wf_array *box = wf_view_slice(rows, 2, x, x ? 131 : 100, 1);
                assert_int_equal(wf_file_write(file, box, SHAPE(z, 0, x)), WF_OK);
                wf_release(rows);
                wf_release(box);
            }
        if (finish)
            assert_int_equal(wf_file_finish(file), WF_OK);
        wf_file_free(file);
        assert_int_equal(leftovers(), 0);
        assert_int_equal(access("a.ome.zarr", R_OK), finish ? 0 : -1);
    }
    assert_same_tree("a.ome.zarr", "same.ome.zarr");
    wf_array *coarse = load("a.ome.zarr/1", NULL);
    check_means(whole, coarse, 7);
    wf_release(coarse);
    wf_release(whole);
    remove_tree("a.ome.zarr");
    remove_tree("same.ome.zarr");
}

/* ---- wrong metadata ---- */

#define ARRAY_V2(shape)                                                 \
    "{\"zarr_format\": 2, \"shape\": [" shape "], \"chunks\": [4, 4], " \
    "\"dtype\": \"|u1\", \"order\": \"C\", \"filters\": null, \"compressor\": null, \"fill_value\": 3}"
#define GROUP(datasets)                                                                                                \
    "{\"multiscales\": [{\"axes\": [{\"name\": \"y\", \"type\": \"space\"}, {\"name\": \"x\", \"type\": \"space\"}], " \
    "\"datasets\": [" datasets "]}]}"

static void probe_refused(int level, wf_status status, const char *text)
{
    wf_meta meta = { .size = sizeof meta, .levels = 77 };
    wf_dtype dtype = WF_C32;
    wf_shape shape = { .rank = 5 };
    assert_int_equal(wf_probe_level(ctx, "a.zarr", level, &meta, &dtype, &shape), status);
    assert_error("a.zarr", text);
    assert_true(meta.levels == 77 && dtype == WF_C32 && shape.rank == 5);
}

static void wrong_levels_are_errors(void **state)
{
    (void)state;
    wf_shape shape;
    write_text("a.zarr/.zgroup", "{\"zarr_format\": 2}");
    write_text("a.zarr/0/.zarray", ARRAY_V2("9, 8"));
    write_text("a.zarr/larger/.zarray", ARRAY_V2("9, 9"));
    write_text("a.zarr/line/.zarray",
               "{\"zarr_format\": 2, \"shape\": [3], \"chunks\": [4], \"dtype\": \"|u1\", \"order\": "
               "\"C\", \"filters\": null, \"compressor\": null, \"fill_value\": 3}");
    write_text("a.zarr/group/.zgroup", "{\"zarr_format\": 2}");
    write_text("a.zarr/broken/.zarray", "{\"zarr_format\": 2, \"shape\": [9, 8");
    write_text(
        "a.zarr/.zattrs",
        GROUP("{\"path\": \"0\"}, {\"path\": \"1\"}, {\"path\": \"larger\"}, {\"path\": \"../b.zarr\"}, {\"path\": "
              "\"/tmp\"}, {\"path\": \"0/../../b\"}, {\"path\": \"\"}, {\"path\": 3}, {}, {\"path\": \"0\"}, "
              "{\"path\": \"larger\"}, {\"path\": \"line\"}, {\"path\": \"group\"}, {\"path\": \"broken\"}, 5"));
    assert_int_equal(wf_probe_level(ctx, "a.zarr", 0, NULL, NULL, &shape), WF_OK);
    assert_shape(shape, SHAPE(9, 8));
    probe_refused(1, WF_ERR_IO, "a.zarr/1: level 1 of the image is not there");
    probe_refused(2, WF_ERR_IO, "a.zarr/1: level 1 of the image is not there");
    for (int k = 3; k < 6; k++) {
        char text[80];
        snprintf(text, sizeof text, "level %d of the image has a path that leads out of the group", k);
        probe_refused(k, WF_ERR_IO, text);
    }
    for (int k = 6; k < 9; k++) {
        char text[80];
        snprintf(text, sizeof text, "level %d of the image has no path of 1 to 127 characters", k);
        probe_refused(k, WF_ERR_IO, text);
    }
    probe_refused(10, WF_ERR_IO,
                  "level 10 of the image has 9 samples along axis 1, and level 9, which must be as fine or finer, 8");
    probe_refused(11, WF_ERR_IO,
                  "a.zarr/line/.zarray: level 11 of the image has 1 axes, and the metadata of the group list 2");
    probe_refused(12, WF_ERR_UNSUPPORTED, "a.zarr/group/.zgroup: Zarr: the folder is a group (must be an array)");
    probe_refused(13, WF_ERR_IO, "a.zarr/broken/.zarray: byte ");
    probe_refused(14, WF_ERR_IO, "level 14 of the image has no path");
    probe_refused(15, WF_ERR_ARG, "level 15 of an image with 15");
    /* levels that are wrong leave the first as it is */
    wf_meta meta = { .size = sizeof meta };
    wf_release(load("a.zarr", &meta));
    assert_int_equal(meta.levels, 15);
    /* without axes, levels of other ranks are compared with each other */
    write_text("a.zarr/.zattrs", "{\"multiscales\": [{\"datasets\": [{\"path\": \"0\"}, {\"path\": \"line\"}]}]}");
    probe_refused(1, WF_ERR_IO, "level 1 of the image has 1 axes, and level 0 has 2");
    write_text("a.zarr/.zattrs", GROUP("{\"path\": \"line\"}"));
    assert_refused("a.zarr", "level 0 of the image has 1 axes, and the metadata of the group list 2");
    remove_store();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_have_means),
        cmocka_unit_test(some_files_have_no_levels),
        cmocka_unit_test(parts_have_the_same_levels),
        cmocka_unit_test(wrong_levels_are_errors),
    };
    return IO_TESTS(tests);
}
