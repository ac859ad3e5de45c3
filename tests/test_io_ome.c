/* test_io_ome.c - OME-Zarr: the first level of a group stands for it, levels have spacing and origin from the metadata of
 * their group (OME-NGFF 0.3 to 0.5); what is not understood leaves both unknown. A name that ends with .ome.zarr makes
 * such a group.
 */
#include "zarr_store.h"

#define ARRAY_V2(shape, chunks)                                         \
    "{\"zarr_format\": 2, \"shape\": [" shape "], \"chunks\": [" chunks \
    "], \"dtype\": \"|u1\", \"order\": \"C\", \"filters\": null, \"compressor\": null, \"fill_value\": 3}"
#define ARRAY_V3(shape, chunks)                                                                                          \
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [" shape                                                  \
    "], \"data_type\": \"uint8\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [" chunks \
    "]}}, \"chunk_key_encoding\": {\"name\": \"default\"}, \"codecs\": [{\"name\": \"bytes\"}], \"fill_value\": 3}"
#define AXIS(name, unit) "{\"name\": \"" name "\", \"type\": \"space\", \"unit\": \"" unit "\"}"
#define SCALE(text) "{\"type\": \"scale\", \"scale\": [" text "]}"
#define SHIFT(text) "{\"type\": \"translation\", \"translation\": [" text "]}"
#define LEVEL(path, transforms) "{\"path\": \"" path "\", \"coordinateTransformations\": [" transforms "]}"

static void check(const char *path, wf_shape shape, const double spacing[3], const double origin[3], bool is_stack)
{
    wf_meta meta = { .size = sizeof meta };
    wf_array *a = load(path, &meta);
    assert_shape(wf_array_shape(a), shape);
    assert_int_equal(meta.format, WF_FORMAT_ZARR);
    assert_int_equal(meta.is_stack, is_stack);
    for (int d = 0; d < 3; d++) {
        if (!(fabs(meta.spacing[d] - spacing[d]) <= 1e-9 * spacing[d]))
            fail_msg("%s: spacing %d is %.17g instead of %g", path, d, meta.spacing[d], spacing[d]);
        if (!(fabs(meta.origin[d] - origin[d]) <= 1e-9 * fabs(origin[d])))
            fail_msg("%s: origin %d is %.17g instead of %g", path, d, meta.origin[d], origin[d]);
    }
    wf_release(a);
}

static const double none[3] = { 0, 0, 0 };

/* A volume in version 0.4, with a level in a folder of its own. */
static void levels_of_a_volume_have_sizes(void **state)
{
    (void)state;
    write_text("a.zarr/.zgroup", "{\"zarr_format\": 2}");
    write_text(
        "a.zarr/.zattrs",
        "{\"other\": 1, \"multiscales\": [{\"version\": \"0.4\", \"axes\": [" AXIS("z", "angstrom") ", " AXIS("y", "nanometer") ", " AXIS("x", "angstrom") "], \"datasets\": [" LEVEL(
            "0",
            SCALE(
                "10, 0.2, 1.5")) ", " LEVEL("s/1",
                                            SCALE("20, 4e-1, 3") ", " SHIFT(
                                                "5, 0.1, -0.75")) ", " LEVEL("2",
                                                                             SCALE("40, 0.8, 6") ", " SHIFT(
                                                                                 "1, 1, 1")) "], \"coordinateTransformations\": [{\"type\": \"identity\"}, " SCALE("2, 1, 1") ", " SHIFT("0, 0, 100") "]}]}");
    write_text("a.zarr/0/.zarray", ARRAY_V2("4, 6, 8", "4, 6, 8"));
    write_text("a.zarr/s/1/.zarray", ARRAY_V2("2, 3, 4", "2, 3, 4"));
    write_text("a.zarr/2/.zarray", ARRAY_V2("1, 2, 2", "1, 2, 2"));
    write_text("a.zarr/3/.zarray", ARRAY_V2("1, 1, 1", "1, 1, 1"));
    const double first[3] = { 20, 2, 1.5 }, second[3] = { 40, 4, 3 }, third[3] = { 80, 8, 6 };
    const double at_first[3] = { 0, 0, 100 }, at_second[3] = { 10, 1, 99.25 }, at_third[3] = { 2, 10, 101 };
    check("a.zarr", SHAPE(4, 6, 8), first, at_first, false);
    check("a.zarr/", SHAPE(4, 6, 8), first, at_first, false);
    check("a.zarr/0", SHAPE(4, 6, 8), first, at_first, false);
    check("a.zarr/s/1", SHAPE(2, 3, 4), second, at_second, false);
    check("./a.zarr//2/", SHAPE(1, 2, 2), third, at_third, false);
    check("a.zarr/3", SHAPE(1, 1, 1), none, none, false); /* is not in the list */
    char *here = realpath(".", NULL);
    assert_non_null(here);
    assert_int_equal(chdir("a.zarr"), 0);
    check("2", SHAPE(1, 2, 2), third, at_third, false);
    assert_int_equal(chdir(here), 0);
    free(here);
    remove_store();
}

/* Images with channels in version 0.5, and in version 0.3, which has no sizes. */
static void channels_are_stacks(void **state)
{
    (void)state;
    write_text(
        "a.zarr/zarr.json",
        "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {\"ome\": {\"version\": \"0.5\", "
        "\"multiscales\": [{\"axes\": [{\"name\": \"c\", \"type\": \"channel\"}, " AXIS("y", "micrometer") ", " AXIS(
            "x", "micrometer") "], \"datasets\": [" LEVEL("full", SCALE("1, 0.0001, 0.0002")) "]}]}}}");
    write_text("a.zarr/full/zarr.json", ARRAY_V3("2, 3, 4", "2, 3, 4"));
    const double spacing[3] = { 0, 1, 2 };
    check("a.zarr", SHAPE(2, 3, 4), spacing, none, true);
    check("a.zarr/full", SHAPE(2, 3, 4), spacing, none, true);
    remove_store();
    write_text("a.zarr/.zgroup", "{\"zarr_format\": 2}");
    write_text("a.zarr/.zattrs",
               "{\"multiscales\": [{\"version\": \"0.3\", \"axes\": [\"t\", \"y\", \"x\"], \"datasets\": "
               "[{\"path\": \"0\"}]}]}");
    write_text("a.zarr/0/.zarray", ARRAY_V2("4, 6, 8", "4, 6, 8"));
    check("a.zarr", SHAPE(4, 6, 8), none, none, true);
    remove_store();
}

static void what_is_not_understood_is_left_out(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "no JSON",
        "{\"multiscales\": 3}",
        "{\"multiscales\": [{\"datasets\": [{\"path\": \"0\"}]}]}",
        /* no unit, another unit, another number of axes or of scales, a scale that is none */
        "{\"multiscales\": [{\"axes\": [{\"name\": \"y\", \"type\": \"space\"}, " AXIS(
            "x", "parsec") "], \"datasets\": [" LEVEL("0", SCALE("2, 3")) "]}]}",
        "{\"multiscales\": [{\"axes\": [" AXIS("x", "meter") "], \"datasets\": [" LEVEL("0", SCALE("2")) "]}]}",
        "{\"multiscales\": [{\"axes\": [" AXIS("y", "meter") ", " AXIS("x", "meter") "], \"datasets\": [" LEVEL(
            "0", SCALE("2")) "]}]}",
        "{\"multiscales\": [{\"axes\": [" AXIS("y", "meter") ", " AXIS("x", "meter") "], \"datasets\": [" LEVEL(
            "0", SCALE("1, 2, 3")) "]}]}",
        "{\"multiscales\": [{\"axes\": [" AXIS("y", "meter") ", " AXIS("x", "meter") "], \"datasets\": [" LEVEL(
            "0", SCALE("0, -1")) "]}]}",
        "{\"multiscales\": [{\"axes\": [" AXIS("y", "meter") ", " AXIS("x", "meter") "], \"datasets\": [" LEVEL(
            "0", SCALE("1, 1") ", {\"type\": \"affine\"}") "]}]}",
        "{\"multiscales\": [{\"axes\": [" AXIS("y", "meter") ", " AXIS("x", "meter") "], \"datasets\": [" LEVEL(
            "0", SCALE("1e300, 1e300") ", " SCALE("1e300, 1e300")) "]}]}",
    };
    write_text("a.zarr/0/.zarray", ARRAY_V2("6, 8", "6, 8"));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text("a.zarr/.zattrs", texts[i]);
        check("a.zarr/0", SHAPE(6, 8), none, none, false);
    }
    /* groups that stand for no level */
    static const char *const refused[][2] = {
        { "{\"multiscales\": []}", "the folder is a group (must be an array" },
        { "{\"multiscales\": [{\"datasets\": [{\"path\": \"../a.zarr/0\"}]}]}",
          "level 0 of the image has a path that leads out of the group" },
        { "{\"multiscales\": [{\"datasets\": [{\"path\": \"/0\"}]}]}", "leads out of the group" },
        { "{\"multiscales\": [{\"datasets\": [{\"path\": \"\"}]}]}", "level 0 of the image has no path" },
        { "{\"multiscales\": [{\"datasets\": [{\"path\": \"7\"}]}]}", "level 0 of the image is not there" },
    };
    write_text("a.zarr/.zgroup", "{\"zarr_format\": 2}");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        write_text("a.zarr/.zattrs", refused[i][0]);
        assert_refused("a.zarr", refused[i][1]);
    }
    write_text("a.zarr/.zattrs", "{\"multiscales\": [{\"datasets\": [{\"path\": \"g\"}]}]}");
    write_text("a.zarr/g/.zgroup", "{\"zarr_format\": 2}");
    assert_null(wf_load(ctx, "a.zarr", NULL));
    assert_error("a.zarr/g/.zgroup", "the folder is a group (must be an array)");
    remove_store();
}

static void groups_are_saved(void **state)
{
    (void)state;
    const struct {
        wf_dtype dtype;
        wf_shape shape;
        bool is_stack;
        double spacing[3], origin[3];
    } cases[] = {
        { WF_F32, SHAPE(5, 7), false, { 0, 1.35, 1.25 }, { 0, -20, 1.0 / 3 } },
        { WF_U8, SHAPE(6, 5, 7), false, { 3.5, 1.35, 1.25 }, { 0 } },
        { WF_U8, SHAPE(6, 5, 7), true, { 0, 1.35, 1.25 }, { 0 } },
        { WF_U8, SHAPE(6, 5, 7), false, { 0 }, { 0 } },
        { WF_I64, SHAPE(2, 6, 5, 7), true, { 3.5, 1.0 / 3, 1e-7 }, { 1e5, 0, 0 } },
        { WF_C64, SHAPE(6, 5, 7), false, { 2, 2, 2 }, { 0 } },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int packed = 0; packed < 2; packed++) {
            wf_array *array = cases[c].dtype == WF_C64 ? wf_full(ctx, WF_C64, cases[c].shape, 3)
                                                       : make(cases[c].dtype, cases[c].shape);
            wf_meta meta = { .size = sizeof meta, .is_stack = cases[c].is_stack, .deflate = packed };
            memcpy(meta.spacing, cases[c].spacing, sizeof meta.spacing);
            memcpy(meta.origin, cases[c].origin, sizeof meta.origin);
            save(array, "saved.ome.zarr", &meta);
            assert_int_equal(access("saved.ome.zarr/0/zarr.json", R_OK), 0);
            assert_int_equal(rename("saved.ome.zarr", "a.zarr"), 0);
            check("a.zarr", cases[c].shape, cases[c].spacing, cases[c].origin, cases[c].is_stack);
            check("a.zarr/0", cases[c].shape, cases[c].spacing, cases[c].origin, cases[c].is_stack);
            wf_array *loaded = load("a.zarr", NULL);
            if (cases[c].dtype == WF_C64)
                loaded = in_parts(loaded), array = in_parts(array);
            assert_same_values(loaded, array);
            wf_release(loaded);
            wf_release(array);
            remove_store();
        }
    wf_array *line = make(WF_F32, SHAPE(5)), *many = make(WF_F32, SHAPE(1, 1, 1, 1, 1));
    save_refused(line, "r.ome.zarr", NULL,
                 "OME-Zarr holds [h,w], [n,h,w], [d,h,w] or [n,d,h,w]; this array has rank 1");
    save_refused(many, "r.ome.zarr", NULL, "this array has rank 5");
    wf_release(line);
    wf_release(many);
    /* parts, and one that is never finished */
    wf_array *half = make(WF_F32, SHAPE(2, 5, 7));
    for (int finish = 0; finish < 2; finish++) {
        wf_file *file = wf_file_create(ctx, "a.zarr.ome.zarr", WF_F32, SHAPE(4, 5, 7), NULL);
        assert_non_null(file);
        assert_int_equal(wf_file_write(file, half, SHAPE(2, 0, 0)), WF_OK);
        if (finish)
            assert_int_equal(wf_file_finish(file), WF_OK);
        wf_file_free(file);
        assert_int_equal(leftovers(), 0);
        assert_int_equal(access("a.zarr.ome.zarr", R_OK), finish ? 0 : -1);
    }
    wf_array *loaded = wf_load_region(ctx, "a.zarr.ome.zarr", SHAPE(2, 0, 0), SHAPE(2, 5, 7), NULL);
    assert_non_null(loaded);
    assert_same_values(loaded, half);
    wf_release(loaded);
    wf_release(half);
    half = make(WF_F32, SHAPE(2, 5, 7));
    assert_int_equal(wf_save(half, "a.zarr.ome.zarr", NULL), WF_ERR_IO);
    assert_error("a.zarr.ome.zarr", "there is a folder of this name, which is not replaced");
    wf_release(half);
    assert_int_equal(rename("a.zarr.ome.zarr", "a.zarr"), 0);
    remove_store();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_of_a_volume_have_sizes),
        cmocka_unit_test(channels_are_stacks),
        cmocka_unit_test(what_is_not_understood_is_left_out),
        cmocka_unit_test(groups_are_saved),
    };
    return IO_TESTS(tests);
}
