/* test_io_ome_tiff.c - OME-TIFF: files have the shape, kind and pixel size back that they were saved with, in parts, too;
 * descriptions of other programs; descriptions that are of other pages, or none, change nothing. The script
 * tests/cli/ome.sh reads files with other programs.
 *
 * ctest: no_kernels
 */
#include "test_io_util.h"

#define NEAR(a, b) (fabs((a) - (b)) <= 1e-14 * fabs(b))

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    const struct {
        wf_shape shape;
        bool is_stack;
        wf_shape loaded;
        bool loaded_stack;
    } cases[] = {
        { SHAPE(5, 7), false, SHAPE(5, 7), false },
        { SHAPE(6, 5, 7), false, SHAPE(6, 5, 7), false },
        { SHAPE(6, 5, 7), true, SHAPE(6, 5, 7), true },
        { SHAPE(5, 7, 3), false, SHAPE(5, 7, 3), false },
        { SHAPE(4, 5, 7, 3), false, SHAPE(4, 5, 7, 3), false },
        { SHAPE(4, 5, 7, 3), true, SHAPE(4, 5, 7, 3), true },
        { SHAPE(2, 3, 5, 7), true, SHAPE(2, 3, 5, 7), true },
        { SHAPE(2, 3, 5, 7), false, SHAPE(2, 3, 5, 7), true },
        { SHAPE(2, 1, 5, 7), true, SHAPE(2, 5, 7), true }, /* the file has five axes in any case */
        { SHAPE(1, 3, 5, 7), true, SHAPE(3, 5, 7), false },
        { SHAPE(1, 5, 7), true, SHAPE(5, 7), false },
    };
    static const wf_dtype dtypes[] = { WF_I8, WF_U8, WF_I16, WF_U16, WF_I32, WF_U32, WF_F32, WF_F64, WF_F16, WF_BOOL };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
            wf_array *array = make(dtypes[t], cases[c].shape);
            wf_meta meta = { .size = sizeof meta,
                             .is_stack = cases[c].is_stack,
                             .deflate = t % 2,
                             .spacing = { t == 1 ? 0 : 3.5, 1.35, 1.0 / 3 } };
            save(array, t == 0 ? "a.OME.tiff" : "a.ome.tif", &meta);
            wf_meta back = { .size = sizeof back };
            wf_array *loaded = load(t == 0 ? "a.OME.tiff" : "a.ome.tif", &back);
            assert_shape(wf_array_shape(loaded), cases[c].loaded);
            assert_int_equal(wf_array_dtype(loaded), dtypes[t] == WF_F16    ? WF_F32
                                                     : dtypes[t] == WF_BOOL ? WF_U8
                                                                            : dtypes[t]);
            assert_int_equal(back.format, WF_FORMAT_TIFF);
            assert_int_equal(back.is_stack, cases[c].loaded_stack);
            assert_int_equal(back.channels, cases[c].shape.dim[cases[c].shape.rank - 1] == 3 ? 3 : 0);
            for (int d = 0; d < 3; d++)
                assert_true(NEAR(back.spacing[d], meta.spacing[d]));
            wf_array *same = wf_view_reshape(loaded, cases[c].shape);
            assert_same_values(same, array);
            wf_release(same);
            wf_release(loaded);
            wf_release(array);
        }
    wf_array *array = make(WF_F32, SHAPE(6, 5, 7));
    save(array, "a.tif", NULL); /* another name: no description */
    wf_meta back = { .size = sizeof back };
    wf_release(load("a.tif", &back));
    assert_true(back.is_stack);
    wf_release(array);
}

static void volumes_are_written_and_read_in_parts(void **state)
{
    (void)state;
    wf_array *array = make(WF_U16, SHAPE(3, 4, 5, 7));
    wf_file *out = wf_file_create(ctx, "p.ome.tif", WF_U16, SHAPE(3, 4, 5, 7), NULL);
    assert_non_null(out);
    for (int64_t t = 0; t < 3; t++) {
        wf_array *one = wf_view_slice(array, 0, t, t + 1, 1);
        assert_int_equal(wf_file_write(out, one, SHAPE(t, 0, 0, 0)), WF_OK);
        wf_release(one);
    }
    wf_array *section = make(WF_U16, SHAPE(1, 1, 5, 7));
    assert_int_equal(wf_file_write(out, section, SHAPE(0, 0, 0, 0)), WF_ERR_UNSUPPORTED);
    assert_error("p.ome.tif", "axis 1: 1 of 4 elements: TIFF files are written in whole pages");
    wf_release(section);
    assert_int_equal(wf_file_finish(out), WF_OK);
    wf_file_free(out);
    wf_array *box = wf_load_region(ctx, "p.ome.tif", SHAPE(1, 2, 1, 3), SHAPE(2, 2, 3, 4), NULL);
    wf_array *a = wf_view_slice(array, 0, 1, 3, 1), *b = wf_view_slice(a, 1, 2, 4, 1),
             *c = wf_view_slice(b, 2, 1, 4, 1), *d = wf_view_slice(c, 3, 3, 7, 1);
    assert_non_null(box);
    assert_same_values(box, d);
    wf_release(box);
    wf_release(a);
    wf_release(b);
    wf_release(c);
    wf_release(d);
    wf_release(array);
}

static void what_has_no_place_is_refused(void **state)
{
    (void)state;
    const struct {
        wf_dtype dtype;
        wf_shape shape;
        const char *text;
    } cases[] = { { WF_I64, SHAPE(5, 7), "OME-TIFF cannot store i64 (it stores i8 to u32, f32, f64)" },
                  { WF_U64, SHAPE(5, 7), "OME-TIFF cannot store u64" },
                  { WF_F32, SHAPE(5), "OME-TIFF also [n,d,h,w]; this array has rank 1" },
                  { WF_F32, SHAPE(1, 1, 1, 5, 7), "this array has rank 5" },
                  { WF_F32, SHAPE(2, 0, 5, 7), "extent 0 of axis 1" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wf_array *array = make(cases[i].dtype, cases[i].shape);
        save_refused(array, "r.ome.tif", NULL, cases[i].text);
        wf_release(array);
    }
    wf_array *array = make(WF_I64, SHAPE(5, 7));
    save(array, "r.ome.tif", &(wf_meta){ .size = sizeof(wf_meta), .store_as = WF_STORED_I32 });
    wf_release(array);
}

/* Puts `text` in the place of the description of a file of Weft's, and looks at what is loaded. */
static void describe(const char *text, wf_shape shape, bool is_stack, double z, double y, double x)
{
    size_t n;
    uint8_t *bytes = read_file("six.ome.tif", &n), *at = memmem(bytes, n, "<?xml", 5);
    assert_non_null(at);
    size_t room = strlen((char *)at), length = strlen(text);
    assert_true(length <= room);
    memset(at, ' ', room);
    memcpy(at, text, length);
    write_file("other.tif", bytes, n);
    free(bytes);
    wf_meta meta = { .size = sizeof meta };
    wf_array *loaded = load("other.tif", &meta);
    const double spacing[3] = { z, y, x };
    if (wf_array_shape(loaded).rank != shape.rank || meta.is_stack != is_stack)
        fail_msg("%s: rank %d, %s", text, wf_array_shape(loaded).rank, meta.is_stack ? "a stack" : "no stack");
    assert_shape(wf_array_shape(loaded), shape);
    for (int d = 0; d < 3; d++)
        if (!NEAR(meta.spacing[d], spacing[d]))
            fail_msg("%s: spacing %d is %.17g instead of %g", text, d, meta.spacing[d], spacing[d]);
    wf_release(loaded);
}

#define PIXELS(order, extents, more, inside) \
    "<OME><Image ID='a'><Pixels DimensionOrder='" order "' " extents " " more ">" inside "</Pixels></Image></OME>"
#define LONG_UNIT "furlongs, each of which is six hundred and sixty feet or forty rods long"
#define VOLUMES "SizeX='5' SizeY='2' SizeZ='3' SizeC='1' SizeT='2'"

static void other_programs_describe_pages(void **state)
{
    (void)state;
    wf_array *array = make(WF_U8, SHAPE(6, 2, 5));
    save(array, "six.ome.tif", NULL);
    wf_release(array);
    const wf_shape images = SHAPE(6, 2, 5), volumes = SHAPE(2, 3, 2, 5);
    describe(PIXELS("XYZCT", VOLUMES, "", ""), volumes, true, 0, 0, 0);
    describe(PIXELS("XYCZT", VOLUMES, "", "<TiffData/>"), volumes, true, 0, 0, 0);
    describe(PIXELS("XYZTC", "SizeZ='3' SizeC='2' SizeT='1'", "", ""), volumes, true, 0, 0, 0);
    describe(PIXELS("XYTZC", VOLUMES, "", ""), images, true, 0, 0, 0); /* the sections do not follow each other */
    describe(PIXELS("XYCTZ", "SizeZ='6' SizeC='1' SizeT='1'", "", ""), images, false, 0, 0, 0);
    describe(PIXELS("XYCTZ", "SizeZ='1' SizeC='6' SizeT='1'", "", ""), images, true, 0, 0, 0);
    /* planes that are named one by one, in their order and in another */
    describe(PIXELS("XYZCT", VOLUMES, "",
                    "<TiffData IFD='0' PlaneCount='1'/><TiffData FirstZ='2' IFD='2'/><TiffData FirstZ='1' FirstT='1' "
                    "IFD='4'><UUID FileName='a'>b</UUID></TiffData>"),
             volumes, true, 0, 0, 0);
    describe(PIXELS("XYZCT", VOLUMES, "", "<TiffData FirstZ='1' IFD='0'/><TiffData FirstZ='0' IFD='1'/>"), images, true,
             0, 0, 0);
    /* prefixes, comments, another image behind, spaces, either quotes, sizes in all units */
    describe(
        "<?xml version=\"1.0\"?><!-- <OME><Pixels SizeZ='6' --><x:OME  ><x:Image><x:Pixels\n SizeZ = \"3\"\tSizeT =\"2\" "
        "SizeC='1' DimensionOrder='XYZCT'\n PhysicalSizeX=\".5\" PhysicalSizeY='2e-3'/></x:Image><x:Image><x:Pixels>"
        "<x:TiffData IFD='3'/></x:Pixels></x:Image></x:OME>",
        volumes, true, 0, 20, 5000);
    describe(PIXELS("XYZCT", VOLUMES,
                    "PhysicalSizeZ='2' PhysicalSizeZUnit='nm' PhysicalSizeY='150' PhysicalSizeYUnit='pm' "
                    "PhysicalSizeX='1.25' PhysicalSizeXUnit='\xc3\x85'",
                    ""),
             volumes, true, 20, 1.5, 1.25);
    describe(PIXELS("XYZCT", VOLUMES,
                    "PhysicalSizeZ='0.002' PhysicalSizeZUnit='&#181;m' PhysicalSizeY='3' PhysicalSizeYUnit='&#xC5;' "
                    "PhysicalSizeX='4' PhysicalSizeXUnit='&#x212B;'",
                    ""),
             volumes, true, 20, 3, 4);
    /* sizes that are none */
    describe(PIXELS("XYZCT", VOLUMES,
                    "PhysicalSizeZ='1' PhysicalSizeZUnit='pixel' PhysicalSizeY='-3' PhysicalSizeX='1e999'", ""),
             volumes, true, 0, 0, 0);
    describe(PIXELS("XYZCT", VOLUMES, "PhysicalSizeZ='1,5' PhysicalSizeY='nan' PhysicalSizeX=''", ""), volumes, true, 0,
             0, 0);
    describe(PIXELS("XYZCT", VOLUMES, "PhysicalSizeY='3' PhysicalSizeYUnit='&#x5b57;'", ""), volumes, true, 0, 0, 0);
    describe(PIXELS("XYZCT", VOLUMES, "PhysicalSizeX='4' PhysicalSizeXUnit='" LONG_UNIT "'", ""), volumes, true, 0, 0,
             0);
    /* descriptions of other pages, or that are not understood */
    static const char *const texts[] = {
        "",
        "ImageJ=1.53\nimages=6",
        "<OME>",
        "<OME><Pixels",
        "<Pixels DimensionOrder='XYZCT' " VOLUMES "/>",
        "<OME><Pixels DimensionOrder='XYZCT' SizeZ='3' SizeC='1' SizeT='2",
        "<OME><!-- <Pixels DimensionOrder='XYZCT' " VOLUMES "/>",
        PIXELS("XYZCT", "SizeZ='3' SizeC='1' SizeT='3'", "", ""),
        PIXELS("XYZCT", "SizeZ='3' SizeC='1'", "", ""),
        PIXELS("XYZCT", "SizeZ='0' SizeC='1' SizeT='2'", "", ""),
        PIXELS("XYZCT", "SizeZ='-3' SizeC='1' SizeT='2'", "", ""),
        PIXELS("XYZCT", "SizeZ='2147483647' SizeC='2147483647' SizeT='2147483647'", "", ""),
        PIXELS("XYZCT", "SizeZ='99999999999999999999' SizeC='1' SizeT='2'", "", ""),
        PIXELS("ZYXCT", VOLUMES, "", ""),
        PIXELS("XYZZT", VOLUMES, "", ""),
        PIXELS("XYZC", VOLUMES, "", ""),
        PIXELS("XYZCTT", VOLUMES, "", ""),
        "<OME><Pixels SizeZ=3 DimensionOrder='XYZCT' SizeC='1' SizeT='2'/></OME>",
        "<OME><Pixels SizeZ 'DimensionOrder='XYZCT'/></OME>",
        PIXELS("XYZCT", "Name='<' " VOLUMES, "", ""),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        describe(texts[i], images, true, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(volumes_are_written_and_read_in_parts),
        cmocka_unit_test(what_has_no_place_is_refused),
        cmocka_unit_test(other_programs_describe_pages),
    };
    return IO_TESTS(tests);
}
