/* test_io_mrc_header.c - headers of MRC files: axis orders, stacks, geometry, statistics, the additions of IMOD, false
 * fields, and real files.
 *
 * ctest: no_kernels
 */
#include "test_io_mrc_util.h"

/* ---- the header ---- */

static void test_axis_order(void **state)
{
    (void)state;
    static const int32_t orders[6][3] = {
        { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 }
    };
    enum { X = 700, Y = 5, Z = 3 };
    const int32_t size[4] = { 0, X, Y, Z };
    uint8_t head[1024];
    float *data = malloc(X * Y * Z * sizeof *data);
    assert_non_null(data);
    for (size_t o = 0; o < 6; o++) {
        const int32_t *map = orders[o];
        make_header(head, size[map[0]], size[map[1]], size[map[2]], 2);
        for (size_t i = 0; i < 3; i++) {
            put_i(head, MAPC + 4 * i, map[i]);
            put_i(head, M + 4 * i, size[i + 1]);
            put_f(head, CELL + 4 * i, size[i + 1] * 1.5 * (double)(i + 1));
            put_i(head, NSTART + 4 * i, map[i] * 10);
        }
        int64_t at = 0;
        int32_t c[4];
        for (c[map[2]] = 0; c[map[2]] < size[map[2]]; c[map[2]]++)
            for (c[map[1]] = 0; c[map[1]] < size[map[1]]; c[map[1]]++)
                for (c[map[0]] = 0; c[map[0]] < size[map[0]]; c[map[0]]++)
                    data[at++] = (float)((c[3] * Y + c[2]) * X + c[1]);
        write_mrc("m.map", head, data, X * Y * Z * sizeof *data);
        wf_meta meta = { .size = sizeof meta };
        wf_array *array = load("m.map", &meta);
        assert_shape(wf_array_shape(array), SHAPE(Z, Y, X));
        for (int64_t i = 0; i < X * Y * Z; i++)
            assert_true(value_at(array, i) == (double)i);
        for (int d = 0; d < 3; d++) { /* z, y, x */
            assert_true(fabs(meta.spacing[d] - 1.5 * (3 - d)) < 1e-6);
            assert_true(fabs(meta.origin[d] - 10 * (3 - d) * meta.spacing[d]) < 1e-6);
        }
        wf_release(array);
    }
    put_i(head, MAPC, 0);
    put_i(head, MAPC + 4, 0);
    put_i(head, MAPC + 8, 0);
    write_mrc("m.map", head, data, X * Y * Z * sizeof *data);
    wf_release(load("m.map", NULL)); /* unset: x, y, z */
    free(data);
}

static void test_extended_header(void **state)
{
    (void)state;
    uint8_t head[1024], body[160 + 24] = { 0 };
    const float values[6] = { 1, -2, 3, -4, 5, -6 };
    make_header(head, 3, 2, 1, 2);
    put_i(head, NSYMBT, 160);
    memset(body, 0x5a, 160);
    memcpy(body + 160, values, 24);
    write_mrc("e.mrc", head, body, sizeof body);
    wf_array *array = load("e.mrc", NULL);
    assert_shape(wf_array_shape(array), SHAPE(2, 3));
    for (int64_t i = 0; i < 6; i++)
        assert_true(value_at(array, i) == (double)values[i]);
    wf_release(array);
}

/* Saves `array` with the extended header of `from`; returns the bytes of the new one, or -1 if it differs. */
static int32_t saved_extended(const wf_array *array, const char *from, const char *path)
{
    wf_meta meta = { .size = sizeof meta, .extended_from = from }, got = { .size = sizeof got };
    save(array, path, &meta);
    wf_array *again = load(path, &got);
    assert_same_values(again, array);
    wf_release(again);
    assert_null(got.extended_from);
    size_t n, m;
    uint8_t *a = read_file(from, &n), *b = read_file(path, &m);
    bool same = got.extended_bytes == 0 || (memcmp(a + 1024, b + 1024, (size_t)got.extended_bytes) == 0 &&
                                            memcmp(a + NSYMBT, b + NSYMBT, 4) == 0 && memcmp(a + 104, b + 104, 4) == 0);
    free(a);
    free(b);
    return same ? got.extended_bytes : -1;
}

/* A new file has the extended header of another one if that fits: the extents, and, unless it is text, byte order and
 * order of axes. */
static void test_extended_kept(void **state)
{
    (void)state;
    enum { BYTES = 2500000 }; /* more than one piece */
    uint8_t head[1024], *body = calloc(BYTES + 24 * 4, 1);
    wf_array *volume = make(WF_F32, SHAPE(4, 2, 3)), *other = make(WF_F32, SHAPE(4, 3, 2)),
             *stack = make(WF_F32, SHAPE(2, 2, 2, 3));
    assert_non_null(body);
    for (int text = 0; text < 2; text++) {
        for (size_t i = 0; i < BYTES; i++)
            body[i] = text ? (uint8_t)(' ' + i % 90) : (uint8_t)(i % 251);
        make_header(head, 3, 2, 4, 2);
        put_i(head, NSYMBT, BYTES);
        memcpy(head + 104, text ? "CCP4" : "SERI", 4);
        put_i(head, 128, 0x00070012); /* bytes of a section, and flags */
        write_mrc("e.mrc", head, body, BYTES + 24 * 4);
        wf_meta meta = { .size = sizeof meta };
        assert_int_equal(wf_probe(ctx, "e.mrc", &meta, NULL, NULL), WF_OK);
        assert_int_equal(meta.extended_bytes, BYTES);
        assert_string_equal(meta.extended_type, text ? "CCP4" : "SERI");
        assert_int_equal(saved_extended(volume, "e.mrc", "f.mrc"), BYTES);
        assert_int_equal(saved_extended(volume, "f.mrc", "f.mrc"), BYTES); /* in place */
        size_t n;
        uint8_t *saved = read_file("f.mrc", &n);
        assert_int_equal(n, 1024 + BYTES + 24 * 4);
        assert_memory_equal(saved + 128, head + 128, 4);
        free(saved);
        assert_int_equal(saved_extended(volume, "e.mrc", "f.mrcs"), BYTES);
        assert_int_equal(saved_extended(other, "e.mrc", "g.mrc"), 0);
        assert_int_equal(saved_extended(stack, "e.mrc", "g.mrc"), 0);
        put_i(head, MAPC, 2); /* the axes of the file are y, x, z */
        put_i(head, MAPC + 4, 1);
        write_mrc("p.mrc", head, body, BYTES + 24 * 4);
        assert_int_equal(saved_extended(other, "p.mrc", "g.mrc"), text ? BYTES : 0);
        make_header(head, 3, 2, 4, 2);
        put_i(head, NSYMBT, BYTES);
        swap_words(head, 56, 4);
        memcpy(head + 208, "MAP \x11\x11\0", 8);
        write_mrc("s.mrc", head, body, BYTES + 24 * 4);
        assert_int_equal(wf_probe(ctx, "s.mrc", &meta, NULL, NULL), WF_OK);
        assert_int_equal(meta.extended_bytes, BYTES);
        assert_string_equal(meta.extended_type, "");
        wf_meta swapped = { .size = sizeof swapped, .extended_from = "s.mrc" };
        save(volume, "g.mrc", &swapped);
        assert_int_equal(wf_probe(ctx, "g.mrc", &meta, NULL, NULL), WF_OK);
        assert_int_equal(meta.extended_bytes, text ? BYTES : 0);
    }
    wf_meta wrong = { .size = sizeof wrong, .extended_from = "nothing.mrc" };
    assert_int_equal(wf_save(volume, "h.mrc", &wrong), WF_ERR_IO);
    assert_error("nothing.mrc", "cannot open");
    write_file("cut.mrc", body, 1000);
    wrong.extended_from = "cut.mrc";
    assert_int_equal(wf_save(volume, "h.mrc", &wrong), WF_ERR_IO);
    assert_error("cut.mrc", "header is cut");
    wf_release(volume);
    wf_release(other);
    wf_release(stack);
    free(body);
}

static void test_stacks(void **state)
{
    (void)state;
    wf_array *volume = make(WF_F32, SHAPE(4, 3, 5)), *many = make(WF_I16, SHAPE(2, 4, 3, 5));
    wf_meta meta = { .size = sizeof meta }, stack = { .size = sizeof stack, .is_stack = true };
    const struct {
        const char *path;
        wf_array *array;
        const wf_meta *meta;
        int32_t ispg, mz;
        bool is_stack;
    } cases[] = {
        { "v.mrc", volume, &meta, 1, 4, false }, { "v.mrc", volume, NULL, 1, 4, false },
        { "v.mrc", volume, &stack, 0, 1, true }, { "v.mrcs", volume, &meta, 0, 1, true },
        { "v.MRCS", volume, NULL, 0, 1, true },  { "v.st", volume, NULL, 0, 1, true },
        { "v.mrc", many, NULL, 401, 4, true },   { "v.mrcs", many, &stack, 401, 4, true },
        { "v.map", volume, &meta, 1, 4, false }, { "v.rec", volume, NULL, 1, 4, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save(cases[i].array, cases[i].path, cases[i].meta);
        size_t n;
        uint8_t *bytes = read_file(cases[i].path, &n);
        assert_int_equal(get_i(bytes, ISPG), cases[i].ispg);
        assert_int_equal(get_i(bytes, M + 8), cases[i].mz);
        assert_int_equal(get_i(bytes, NZ), cases[i].array == many ? 8 : 4);
        free(bytes);
        wf_meta back = { .size = sizeof back };
        wf_array *loaded = load(cases[i].path, &back);
        assert_int_equal(back.is_stack, cases[i].is_stack);
        assert_same_values(loaded, cases[i].array);
        wf_release(loaded);
    }
    wf_release(volume);
    wf_release(many);
    /* an old stack: only the suffix says so */
    uint8_t head[1024];
    const int8_t data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    make_header(head, 2, 2, 2, 0);
    write_mrc("old.mrcs", head, data, 8);
    wf_release(load("old.mrcs", &meta));
    assert_true(meta.is_stack);
}

static void test_statistics(void **state)
{
    (void)state;
    enum { N = 100000 };
    wf_array *array = make(WF_F32, SHAPE(100, 1000));
    void *data;
    assert_int_equal(wf_map(array, &data, NULL), WF_OK);
    float *x = data;
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) { /* a mean so large that sum(x*x) - mean*mean has no correct digit in f32 */
        x[i] = (float)(10000 + (i * 37 % 101 - 50) * 0.25);
        sum += (double)x[i];
    }
    for (int i = 0; i < N; i++)
        squares += ((double)x[i] - sum / N) * ((double)x[i] - sum / N);
    x[17] = NAN;
    x[18] = INFINITY;
    double lost = 0;
    for (int i = 17; i <= 18; i++)
        lost += 10000 + (i * 37 % 101 - 50) * 0.25;
    save(array, "s.mrc", NULL);
    size_t n;
    uint8_t *bytes = read_file("s.mrc", &n);
    assert_true(get_f(bytes, DMIN) == 9987.5 && get_f(bytes, DMAX) == 10012.5);
    assert_true(fabs(get_f(bytes, DMEAN) - (sum - lost) / (N - 2)) < 1e-3);
    assert_true(fabs(get_f(bytes, RMS) - sqrt(squares / N)) < 1e-3);
    assert_memory_equal(bytes + 208, "MAP ", 4);
    assert_int_equal(get_i(bytes, NVERSION), 20141);
    assert_memory_equal(bytes + 224, "Weft ", 5);
    free(bytes);
    /* without finite values: "not determined" */
    for (int i = 0; i < N; i++)
        x[i] = NAN;
    save(array, "s.mrc", NULL);
    bytes = read_file("s.mrc", &n);
    assert_true(get_f(bytes, DMAX) < get_f(bytes, DMIN) && get_f(bytes, RMS) < 0);
    free(bytes);
    wf_release(array);
}

static void test_geometry(void **state)
{
    (void)state;
    wf_array *array = make(WF_F32, SHAPE(4, 3, 5));
    wf_meta meta = { .size = sizeof meta, .spacing = { 3, 1.25, 1.5 }, .origin = { -7, 8.5, 9 } };
    save(array, "g.mrc", &meta);
    wf_meta back = { .size = sizeof back };
    wf_release(load("g.mrc", &back));
    for (int d = 0; d < 3; d++) {
        assert_true(fabs(back.spacing[d] - meta.spacing[d]) < 1e-6);
        assert_true(fabs(back.origin[d] - meta.origin[d]) < 1e-6);
    }
    /* the loaded meta can be saved, also as a stack, which keeps its z spacing */
    back.is_stack = true;
    save(array, "g.mrc", &back);
    wf_release(load("g.mrc", &meta));
    assert_true(meta.is_stack && fabs(meta.spacing[0] - 3) < 1e-6);
    meta.spacing[1] = -1;
    save_refused(array, "g.mrc", &meta, "meta.spacing[1] is -1");
    meta.spacing[1] = NAN;
    save_refused(array, "g.mrc", &meta, "meta.spacing[1]");
    wf_release(array);
}

/* A part of a crystal's oblique cell, with the file's axes in another order. */
static void test_cell(void **state)
{
    (void)state;
    const int32_t size[3] = { 3, 4, 2 }, cell[3] = { 40, 12, 72 }, start[3] = { -21, 5, 0 }; /* x y z */
    uint8_t head[1024], *bytes;
    float data[24];
    size_t n;
    for (int i = 0; i < 24; i++)
        data[i] = (float)i;
    make_header(head, size[2], size[0], size[1], 2);
    for (size_t x = 0; x < 3; x++) {
        put_i(head, MAPC + 4 * x, (int32_t)(x + 2) % 3 + 1); /* columns z, rows x, sections y */
        put_i(head, NSTART + 4 * x, start[(x + 2) % 3]);
        put_i(head, M + 4 * x, cell[x]);
        put_f(head, CELL + 4 * x, 17.93 + (double)x);
        put_f(head, CELLB + 4 * x, x == 1 ? 94.326 : 90);
    }
    put_i(head, ISPG, 4);
    for (int origin = 0; origin < 2; origin++) { /* NSTART alone, and beside an ORIGIN */
        put_f(head, ORIGIN + 4, origin * 2.5);
        write_mrc("c.map", head, data, sizeof data);
        wf_meta meta = { .size = sizeof meta };
        wf_array *array = load("c.map", &meta);
        assert_int_equal(meta.space_group, 4);
        save(array, "same.mrc", &meta);
        bytes = read_file("same.mrc", &n);
        for (size_t x = 0; x < 3; x++) {
            assert_int_equal(get_i(bytes, NX + 4 * x), size[x]);
            assert_int_equal(get_i(bytes, NSTART + 4 * x), start[x]);
        }
        assert_memory_equal(bytes + M, head + M, 36); /* MX to CELLB */
        assert_memory_equal(bytes + ORIGIN, head + ORIGIN, 12);
        assert_int_equal(get_i(bytes, ISPG), 4);
        free(bytes);
        wf_meta again = { .size = sizeof again };
        wf_release(load("same.mrc", &again));
        for (int d = 0; d < 3; d++)
            assert_true(again.origin[d] == meta.origin[d] && again.spacing[d] == meta.spacing[d]);
        /* other extents: the spacing, the angles and the origin in Angstrom hold, the place in the cell does not */
        wf_array *part = wf_view_slice(array, 2, 0, 2, 1);
        save(part, "part.mrc", &meta);
        bytes = read_file("part.mrc", &n);
        assert_true(get_i(bytes, ISPG) == 1 && get_i(bytes, M) == 2 && get_i(bytes, NSTART) == 0);
        assert_true(fabs(get_f(bytes, CELLB + 4) - 94.326) < 1e-5);
        free(bytes);
        wf_release(load("part.mrc", &again));
        for (int d = 0; d < 3; d++)
            assert_true(fabs(again.origin[d] - meta.origin[d]) < 1e-5 &&
                        fabs(again.spacing[d] - meta.spacing[d]) < 1e-6);
        /* an origin that the caller sets to 0 is 0 */
        memset(meta.origin, 0, sizeof meta.origin);
        save(array, "zero.mrc", &meta);
        wf_release(load("zero.mrc", &again));
        assert_true(again.origin[0] == 0 && again.origin[1] == 0 && again.origin[2] == 0);
        meta.space_group = 231;
        save_refused(array, "zero.mrc", &meta, "meta.space_group is 231");
        meta.space_group = 0;
        meta.angles[1] = 180;
        save_refused(array, "zero.mrc", &meta, "meta.angles[1] is 180");
        wf_release(part);
        wf_release(array);
    }
    /* an image keeps its place in the cell, with either space group */
    make_header(head, 3, 2, 1, 2);
    put_i(head, NSTART + 4, -7);
    put_i(head, M, 30);
    write_mrc("i.mrc", head, data, 24);
    for (int group = 0; group < 2; group++) {
        put_i(head, ISPG, group);
        write_mrc("i.mrc", head, data, 24);
        wf_meta of_image = { .size = sizeof of_image };
        wf_array *image = load("i.mrc", &of_image);
        save(image, "j.mrc", &of_image);
        bytes = read_file("j.mrc", &n);
        assert_memory_equal(bytes, head, CELLB);
        assert_int_equal(get_i(bytes, ISPG), group);
        free(bytes);
        wf_release(image);
    }
    /* a stack of volumes keeps the group; MZ stays the extent of one volume */
    wf_array *many = make(WF_F32, SHAPE(2, 4, 3, 5));
    wf_meta meta = { .size = sizeof meta, .space_group = 19, .extent = { 4, 3, 5 }, .cell = { 9, 9, 9 } };
    save(many, "many.mrc", &meta);
    bytes = read_file("many.mrc", &n);
    assert_true(get_i(bytes, ISPG) == 419 && get_i(bytes, M) == 9 && get_i(bytes, M + 8) == 4);
    free(bytes);
    wf_release(load("many.mrc", &meta));
    assert_int_equal(meta.space_group, 19);
    wf_release(many);
}

static void test_labels(void **state)
{
    (void)state;
    uint8_t head[1024], *bytes;
    const int8_t data[4] = { 0 };
    wf_meta meta = { .size = sizeof meta };
    char own[81];
    size_t n;
    snprintf(own, sizeof own, "Weft %s", wf_version());
    make_header(head, 2, 2, 1, 0);
    memset(head + LABEL, ' ', 800);
    memcpy(head + LABEL, "from\1the microscope", 19);
    memset(head + LABEL + 80, 0, 80); /* an empty one between them */
    memset(head + LABEL + 160, 'x', 80);
    memcpy(head + LABEL + 240, "beyond", 6);
    put_i(head, NLABL, 3);
    write_mrc("l.mrc", head, data, 4);
    for (int round = 0; round < 2; round++) { /* repeated saving adds one label of Weft */
        wf_array *array = load(round ? "m.mrc" : "l.mrc", &meta);
        assert_string_equal(meta.labels[0], "from the microscope");
        assert_int_equal(strlen(meta.labels[1 + !round]), 80);
        save(array, "m.mrc", &meta);
        bytes = read_file("m.mrc", &n);
        assert_int_equal(get_i(bytes, NLABL), 3);
        assert_memory_equal(bytes + LABEL, "from the microscope     ", 24);
        assert_memory_equal(bytes + LABEL + 80, head + LABEL + 160, 80);
        assert_memory_equal(bytes + LABEL + 160, own, strlen(own));
        assert_int_equal(bytes[LABEL + 240], 0);
        free(bytes);
        wf_release(array);
    }
    for (size_t i = 0; i < 10; i++)
        head[LABEL + 80 * i] = (uint8_t)('0' + i);
    put_i(head, NLABL, INT32_MAX);
    write_mrc("l.mrc", head, data, 4);
    wf_array *array = load("l.mrc", &meta);
    save(array, "m.mrc", &meta);
    bytes = read_file("m.mrc", &n);
    assert_int_equal(get_i(bytes, NLABL), 10);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(bytes[LABEL + 80 * i], '0' + i);
    assert_memory_equal(bytes + LABEL + 720, own, strlen(own));
    free(bytes);
    wf_release(array);
}

static void test_imod(void **state)
{
    (void)state;
    uint8_t head[1024];
    const uint8_t data[4] = { 0, 127, 128, 255 };
    wf_meta meta = { .size = sizeof meta };
    make_header(head, 2, 2, 1, 0);
    put_f(head, ORIGIN, 4);
    write_mrc("i.mrc", head, data, 4);
    wf_array *array = load("i.mrc", &meta);
    assert_int_equal(wf_array_dtype(array), WF_I8);
    assert_true(value_at(array, 3) == -1 && meta.origin[2] == 4);
    wf_release(array);
    put_i(head, STAMP, 1146047817);
    write_mrc("i.mrc", head, data, 4);
    array = load("i.mrc", &meta);
    assert_int_equal(wf_array_dtype(array), WF_U8);
    assert_true(value_at(array, 3) == 255 && meta.origin[2] == -4); /* IMOD's own origin has the other sign */
    wf_release(array);
    put_i(head, FLAGS, 1 | 4); /* signed, origin as in the standard */
    write_mrc("i.mrc", head, data, 4);
    array = load("i.mrc", &meta);
    assert_int_equal(wf_array_dtype(array), WF_I8);
    assert_true(meta.origin[2] == 4);
    wf_release(array);
    put_i(head, FLAGS, 16);
    write_mrc("i.mrc", head, data, 4);
    assert_refused("i.mrc", "IMODFLAGS is 16");
}

/* ---- headers with false fields ---- */

static void test_hostile_fields(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        int32_t value;
        const char *text;
    } cases[] = {
        { NX, -5, "MRC header field NX is -5 (must be 1..2^31-1)" },
        { NX, 0, "NX is 0" },
        { NX, 5, "NX, NY, NZ are 5, 3, 2 in mode 2: that is 120 bytes of data, but the file holds 96" },
        { NX, INT32_MAX, "NX, NY, NZ are 2147483647, 3, 2" },
        { NX, INT32_MIN, "NX is -2147483648" },
        { NY, -1, "NY is -1" },
        { NY, 0, "NY is 0" },
        { NY, INT32_MAX, "NX, NY, NZ are 4, 2147483647, 2" },
        { NZ, -1, "NZ is -1" },
        { NZ, 0, "NZ is 0" },
        { NZ, 3, "NX, NY, NZ are 4, 3, 3" },
        { NZ, INT32_MAX, "NX, NY, NZ are 4, 3, 2147483647" },
        { MODE, -1, "MODE is -1" },
        { MODE, 3, "MODE is 3, which is not supported" },
        { MODE, 4, "in mode 4" },
        { MODE, 5, "MODE is 5" },
        { MODE, 7, "MODE is 7" },
        { MODE, 16, "MODE is 16" },
        { MODE, 99, "MODE is 99 (must be 0, 1, 2, 4, 6, 12 or 101)" },
        { MAPC, -1, "MAPC is -1 (must be 1, 2 or 3)" },
        { MAPC, 0, "MAPC is 0" },
        { MAPC, 4, "MAPC is 4" },
        { MAPC + 4, 1, "MAPR is 1" },
        { MAPC + 8, 2, "MAPS is 2" },
        { MAPC + 8, INT32_MAX, "MAPS is 2147483647" },
        { NSYMBT, -1, "NSYMBT is -1 (must be 0..96" },
        { NSYMBT, 97, "NSYMBT is 97" },
        { NSYMBT, 96, "the file holds 0" },
        { NSYMBT, INT32_MAX, "NSYMBT is 2147483647" },
        { NSYMBT, INT32_MIN, "NSYMBT is -2147483648" },
        { ISPG, 401, "MZ is 0" },
        { ISPG, 630, "MZ is 0" },
    };
    uint8_t head[1024], data[96] = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_header(head, 4, 3, 2, 2);
        if (cases[i].at == ISPG)
            put_i(head, M + 8, 0);
        put_i(head, cases[i].at, cases[i].value);
        write_mrc("h.mrc", head, data, sizeof data);
        assert_refused("h.mrc", cases[i].text);
    }
    make_header(head, INT32_MAX, INT32_MAX, INT32_MAX, 4);
    write_mrc("h.mrc", head, data, sizeof data);
    assert_refused("h.mrc", "more than 2^63 bytes");
    make_header(head, 4, 3, 2, 2);
    put_i(head, ISPG, 401);
    put_i(head, M + 8, 4);
    write_mrc("h.mrc", head, data, sizeof data);
    assert_refused("h.mrc", "MZ is 4 (must be a divisor of NZ");
    /* values without a meaning become 0 */
    make_header(head, 4, 3, 2, 2);
    for (size_t x = 0; x < 3; x++) {
        put_f(head, CELL + 4 * x, x == 0 ? NAN : x == 1 ? -3 : INFINITY);
        put_f(head, ORIGIN + 4 * x, NAN);
        put_i(head, M + 4 * x, INT32_MIN);
        put_i(head, NSTART + 4 * x, INT32_MIN);
    }
    write_mrc("h.mrc", head, data, sizeof data);
    wf_meta meta = { .size = sizeof meta };
    wf_release(load("h.mrc", &meta));
    for (int d = 0; d < 3; d++)
        assert_true(meta.spacing[d] == 0 && meta.origin[d] == 0);
}

/* Every field set to every kind of bad value, with and without a stamp: an array or an error, never worse. */
static void test_all_fields(void **state)
{
    (void)state;
    static const int32_t values[] = { 0,  1,  -1, 2,   3,   4,         12,        101,        401,       65535,
                                      16, 64, 96, 255, 256, INT32_MAX, INT32_MIN, 0x01000000, 0x44440000 };
    uint8_t file[1024 + 96];
    for (size_t at = 0; at < 256; at += 4)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (int stamped = 0; stamped < 2; stamped++) {
                memset(file, 0, sizeof file);
                make_header(file, 4, 3, 2, 2);
                if (!stamped)
                    memset(file + MACHST, 0xee, 4);
                put_i(file, at, values[v]);
                survives("f.mrc", file, sizeof file);
            }
}

static void test_truncated(void **state)
{
    (void)state;
    uint8_t file[1024 + 8 + 96] = { 0 };
    make_header(file, 4, 3, 2, 2);
    put_i(file, NSYMBT, 8);
    for (size_t n = 0; n < sizeof file; n++)
        if (survives("t.mrc", file, n))
            fail_msg("a file cut at byte %zu was loaded", n);
    assert_true(survives("t.mrc", file, sizeof file));
    write_file("t.mrc", file, 1000);
    assert_refused("t.mrc", "MRC header is cut: the file has 1000 bytes (must be at least 1024)");
    write_file("t.mrc", file, 0);
    assert_refused("t.mrc", "the file is empty");
}

/* ---- files of other programs ---- */

static void test_real_files(void **state)
{
    (void)state;
    /* Expected values are mrcfile's and NumPy's; axes of EMD-3001 are permuted to z, y, x. All but float16.mrc, whose
     * header is that of a larger image, carry the same statistics themselves. */
    static const struct {
        const char *name;
        int rank;
        int64_t dim[3];
        wf_stored stored;
        bool is_stack;
        double spacing[3], stats[4]; /* min, max, mean, rms */
    } files[] = {
        /* clang-format off */
        { "EMD-3001.map", 3, { 73, 25, 43 }, WF_STORED_F32, false, { 0.45875, 0.3925, 0.44825 },
          { -0.36814296, 0.72161025, 0.0005329667, 0.15705723 } },
        { "EMD-3197.map", 3, { 20, 20, 20 }, WF_STORED_F32, false, { 11.4, 11.4, 11.4 },
          { -4.1337457, 5.576737, 0.783612, 2.399953 } },
        { "clean70SRibosome_vol_65p.mrc", 3, { 65, 65, 65 }, WF_STORED_F32, false, { 0, 0, 0 },
          { -0.00043994703, 0.0007387933, 1.6258795e-06, 6.8800444e-05 } },
        { "float16.mrc", 2, { 64, 64 }, WF_STORED_F16, false, { 0, 3.5953124, 3.5953124 },
          { -4.33984375, 3.8203125, 0.041134232, 1.0607979 } },
        { "rln_proj_65.mrcs", 3, { 5, 65, 65 }, WF_STORED_F32, true, { 0, 0, 0 },
          { -0.004780051, 0.00900042, 8.938329e-05, 0.0014539289 } },
        { "sample.mrcs", 3, { 17, 200, 200 }, WF_STORED_F32, true, { 0, 0, 0 },
          { -7.6410613, 4.2337866, 0.010644476, 1.0071222 } },
        { "surface_input.mrc", 2, { 576, 410 }, WF_STORED_F32, false, { 0, 0, 0 },
          { -224.42542, 91.574585, -2.5472667e-05, 22.221872 } },
        /* clang-format on */
    };
    const char *data = real_files();
    if (!data)
        skip();
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", data, files[f].name);
        wf_meta meta = { .size = sizeof meta };
        wf_array *array = load(path, &meta);
        assert_shape(wf_array_shape(array), shape_of(files[f].dim, files[f].rank));
        assert_int_equal(meta.stored, files[f].stored);
        assert_int_equal(meta.is_stack, files[f].is_stack);
        for (int d = 0; d < 3; d++)
            assert_true(fabs(meta.spacing[d] - files[f].spacing[d]) < 1e-5);
        save(array, "real.mrc", &meta);
        size_t n;
        uint8_t *head = read_file("real.mrc", &n);
        static const size_t fields[4] = { DMIN, DMAX, DMEAN, RMS };
        for (int k = 0; k < 4; k++) {
            double expected = files[f].stats[k], scale = k < 2 ? fabs(expected) : files[f].stats[3];
            assert_true(fabs(get_f(head, fields[k]) - expected) < 1e-6 * scale);
        }
        free(head);
        wf_array *again = load("real.mrc", NULL);
        assert_same_values(again, array);
        wf_release(again);
        wf_release(array);
    }
}

/* Places in the permuted map: sections are y, rows are x, columns are z. */
static void test_real_axes(void **state)
{
    (void)state;
    const char *data = real_files();
    if (!data)
        skip();
    char path[1024];
    snprintf(path, sizeof path, "%s/EMD-3001.map", data);
    wf_array *array = load(path, NULL);
    size_t n;
    uint8_t *bytes = read_file(path, &n);
    enum { Z = 73, X = 43, Y = 25 };
    for (int64_t z = 0; z < Z; z++)
        for (int64_t y = 0; y < Y; y++)
            for (int64_t x = 0; x < X; x++) {
                double expected = get_f(bytes, (size_t)(1024 + 160 + 4 * ((y * X + x) * Z + z)));
                assert_true(value_at(array, (z * Y + y) * X + x) == expected);
            }
    free(bytes);
    wf_release(array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axis_order),    cmocka_unit_test(test_extended_header),
        cmocka_unit_test(test_extended_kept), cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_statistics),    cmocka_unit_test(test_geometry),
        cmocka_unit_test(test_cell),          cmocka_unit_test(test_labels),
        cmocka_unit_test(test_imod),          cmocka_unit_test(test_hostile_fields),
        cmocka_unit_test(test_all_fields),    cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_real_files),    cmocka_unit_test(test_real_axes),
    };
    return IO_TESTS(tests);
}
