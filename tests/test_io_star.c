/* test_io_star.c - STAR tables: files as RELION writes them, quotes, texts of several lines, columns as arrays and
 * strings, what is written reads back, damaged files.
 */
#include "test_io_util.h"
#include "weft/functions.h"
#include "weft/star.h"

static const char relion[] = "\n"
                             "# version 30001\n"
                             "\n"
                             "data_optics\n"
                             "\n"
                             "loop_ \n"
                             "_rlnOpticsGroup #1 \n"
                             "_rlnOpticsGroupName #2 \n"
                             "_rlnImagePixelSize #3 \n"
                             "           2 opticsGroup2     1.350000 \n"
                             "           1 'group one'      0.885000 \n"
                             " \n"
                             "\n"
                             "# version 30001\n"
                             "\n"
                             "data_particles\n"
                             "\n"
                             "loop_ \n"
                             "_rlnCoordinateX #1 \n"
                             "_rlnCoordinateY #2 \n"
                             "_rlnImageName #3 \n"
                             "_rlnOpticsGroup #4 \n"
                             "  100.500000   200.250000 000001@data_1/a.mrcs            1 \n"
                             "  -1.5e+02     nan        000002@_b/a#1.mrcs              2 # a comment\n"
                             "  7            .          \"\"                            1 \n"
                             "\n";

static wf_star *star_of(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
    wf_star *s = wf_star_load(ctx, path);
    if (!s)
        fail_msg("wf_star_load: %s", wf_last_message(ctx));
    return s;
}

static void check_column(wf_array *got, wf_dtype dtype, const double *expected, int n)
{
    assert_non_null(got);
    assert_int_equal(wf_array_dtype(got), dtype);
    assert_shape(wf_array_shape(got), SHAPE(n));
    for (int i = 0; i < n; i++) {
        double v = value_at(got, i);
        if (!(v == expected[i] || (isnan(v) && isnan(expected[i]))))
            fail_msg("row %d is %.17g instead of %.17g", i, v, expected[i]);
    }
    wf_release(got);
}

static void files_of_relion_are_read(void **state)
{
    (void)state;
    wf_star *s = star_of("relion.star", relion);
    assert_int_equal(wf_star_tables(s), 2);
    assert_string_equal(wf_star_name(s, 0), "optics");
    assert_null(wf_star_name(s, 2));
    int optics = wf_star_find(s, "optics"), particles = wf_star_find(s, "particles");
    assert_int_equal(optics, 0);
    assert_int_equal(particles, 1);
    assert_int_equal(wf_star_find(s, "micrographs"), -1);
    assert_int_equal(wf_star_rows(s, particles), 3);
    assert_int_equal(wf_star_columns(s, particles), 4);
    assert_string_equal(wf_star_column(s, particles, 2), "rlnImageName");
    assert_null(wf_star_column(s, particles, 4));
    assert_true(wf_star_is_loop(s, particles));
    assert_true(wf_star_has(s, particles, "_rlnCoordinateX") && !wf_star_has(s, particles, "rlnCoordinateZ"));
    check_column(wf_star_values(s, particles, "rlnCoordinateX", WF_F64), WF_F64, (double[]){ 100.5, -150, 7 }, 3);
    check_column(wf_star_values(s, particles, "_rlnCoordinateY", WF_F64), WF_F64, (double[]){ 200.25, NAN, NAN }, 3);
    check_column(wf_star_values(s, particles, "rlnOpticsGroup", WF_I64), WF_I64, (double[]){ 1, 2, 1 }, 3);
    check_column(wf_star_join(s, particles, "rlnOpticsGroup", optics, "rlnImagePixelSize", WF_F64), WF_F64,
                 (double[]){ 0.885, 1.35, 0.885 }, 3);
    const char *const *names = wf_star_texts(s, particles, "rlnImageName");
    assert_string_equal(names[0], "000001@data_1/a.mrcs");
    assert_string_equal(names[1], "000002@_b/a#1.mrcs");
    assert_string_equal(names[2], "");
    assert_string_equal(wf_star_texts(s, optics, "rlnOpticsGroupName")[1], "group one");
    assert_null(wf_star_texts(s, particles, "rlnNothing"));
    assert_error("relion.star", "wf_star_texts: table particles has no column rlnNothing");
    assert_null(wf_star_values(s, particles, "rlnImageName", WF_F64));
    assert_error("relion.star", "line 23: rlnImageName of table data_particles is '000001@data_1/a.mrcs'");
    assert_null(wf_star_values(s, particles, "rlnCoordinateX", WF_I64));
    assert_error("relion.star", "line 23: rlnCoordinateX of table data_particles is '100.500000' (must be an integer)");
    assert_null(wf_star_values(s, particles, "rlnCoordinateX", WF_U8));
    assert_error("relion.star", "dtype is u8");
    assert_null(wf_star_values(s, 2, "rlnCoordinateX", WF_F64));
    assert_error("relion.star", "table is 2 (the file has 2)");
    wf_star_free(s);
}

/* Pairs, several tables in a block, all quotes, a row on several lines, several rows on one line. */
static const char mixed[] = "data_\r\n"
                            "_title 'it''s a \"dog''s\" life'   _other \"say \"\"\" # behind\r\n"
                            "_lines\r\n"
                            ";first\r\n"
                            "second\r\n"
                            ";\r\n"
                            "loop_\n"
                            "_x\n"
                            "1 2.000 -9223372036854775808\n"
                            "Loop_ _y _z a b\n"
                            "c\n"
                            "  d\n"
                            "DATA_second\n"
                            "data_third _k v\n";

static void all_of_the_syntax_is_read(void **state)
{
    (void)state;
    wf_star *s = star_of("mixed.star", mixed);
    assert_int_equal(wf_star_tables(s), 5);
    assert_string_equal(wf_star_name(s, 0), "");
    assert_string_equal(wf_star_name(s, 2), "");
    assert_false(wf_star_is_loop(s, 0));
    assert_int_equal(wf_star_rows(s, 0), 1);
    assert_string_equal(wf_star_texts(s, 0, "title")[0], "it''s a \"dog''s\" life");
    assert_string_equal(wf_star_texts(s, 0, "other")[0], "say \"\"");
    assert_string_equal(wf_star_texts(s, 0, "lines")[0], "first\r\nsecond");
    check_column(wf_star_values(s, 1, "x", WF_I64), WF_I64, (double[]){ 1, 2, -9223372036854775808.0 }, 3);
    assert_int_equal(wf_star_rows(s, 2), 2);
    assert_string_equal(wf_star_texts(s, 2, "z")[1], "d");
    assert_string_equal(wf_star_name(s, 3), "second");
    assert_int_equal(wf_star_columns(s, 3), 0);
    assert_string_equal(wf_star_texts(s, wf_star_find(s, "third"), "k")[0], "v");
    wf_star_free(s);
    s = star_of("words.star", "data_x\nloop_\n_a\n_b\n1 data_y\n'data_z'\n'loop_'\ndata_v 4\n2 3\ndata_u\n");
    assert_int_equal(wf_star_tables(s), 2);
    assert_int_equal(wf_star_rows(s, 0), 4);
    assert_string_equal(wf_star_texts(s, 0, "b")[0], "data_y");
    assert_string_equal(wf_star_texts(s, 0, "b")[1], "loop_");
    wf_star_free(s);
    s = star_of("empty.star", "\xef\xbb\xbf"
                              "data_x\nloop_\n_a\n_b\ndata_y\n_c 1");
    assert_int_equal(wf_star_rows(s, 0), 0);
    assert_non_null(wf_star_texts(s, 0, "b"));
    check_column(wf_star_values(s, 0, "b", WF_F64), WF_F64, NULL, 0);
    check_column(wf_star_values(s, 1, "c", WF_F64), WF_F64, (double[]){ 1 }, 1);
    wf_star_free(s);
}

static void assert_same_tables(const wf_star *a, const wf_star *b)
{
    assert_int_equal(wf_star_tables(a), wf_star_tables(b));
    for (int t = 0; t < wf_star_tables(a); t++) {
        assert_string_equal(wf_star_name(a, t), wf_star_name(b, t));
        assert_int_equal(wf_star_rows(a, t), wf_star_rows(b, t));
        assert_int_equal(wf_star_columns(a, t), wf_star_columns(b, t));
        assert_int_equal(wf_star_is_loop(a, t), wf_star_is_loop(b, t));
        for (int c = 0; c < wf_star_columns(a, t); c++) {
            const char *name = wf_star_column(a, t, c);
            assert_string_equal(name, wf_star_column(b, t, c));
            for (int64_t i = 0; i < wf_star_rows(a, t); i++)
                assert_string_equal(wf_star_texts(a, t, name)[i], wf_star_texts(b, t, name)[i]);
        }
    }
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    static const char *const hard[] = { "",      "a b",   "_x",          "#",          "it's",      "'x' y", "\"x\" y",
                                        "loop_", "data_", "'x' \"y\" z", "two\nlines", "tab\there", ";",     "x;y",
                                        "[a]",   "$a",    "nan",         "\xc3\xa9",   "stop_",     "'\"" };
    enum { N = sizeof hard / sizeof *hard };
    const char *const files[] = { relion, mixed };
    for (int f = 0; f < 2; f++) {
        wf_star *s = star_of("from.star", files[f]);
        int t = wf_star_add(s, "new", N), pairs = wf_star_add(s, "pairs", WF_STAR_PAIRS);
        assert_true(t > 0 && pairs == t + 1);
        assert_int_equal(wf_star_set_texts(s, t, "before", hard), WF_OK);
        assert_int_equal(wf_star_set_texts(s, t, "_hard", hard), WF_OK);
        assert_int_equal(wf_star_set_texts(s, pairs, "key", hard + 5), WF_OK);
        assert_int_equal(wf_star_set_texts(s, pairs, "a_longer_key", hard + 10), WF_OK);
        const char *path = f ? "to.star.gz" : "to.star";
        assert_int_equal(wf_star_save(s, path), WF_OK);
        assert_int_equal(leftovers(), 0);
        wf_star *again = wf_star_load(ctx, path);
        if (!again)
            fail_msg("%s", wf_last_message(ctx));
        assert_same_tables(s, again);
        wf_star_free(again);
        wf_star_free(s);
    }
    size_t n;
    char *text = (char *)read_file("to.star", &n);
    text[n] = 0;
    assert_non_null(strstr(text, "# version 30001\n\ndata_particles\n\nloop_\n_rlnCoordinateX #1\n"));
    assert_non_null(strstr(text, "\n         7          . "));
    free(text);
}

/* A carriage return is a blank within quotes and a part of the last line's end in a text of lines. */
static void carriage_returns_read_back(void **state)
{
    (void)state;
    static const char text[] = "data_x\n"
                               "_quoted \"\r\"\n"
                               "_both 'a \"b\" \r'\n"
                               "_lines\n"
                               ";a\r\n"
                               "b\r\r\n"
                               ";\n"
                               "_empty\n"
                               ";\r\n"
                               ";\n"
                               "loop_\n"
                               "_x _y\n"
                               "1\" \r \"\r\"\r 2 1\n";
    static const char *const names[] = { "quoted", "both", "lines", "empty" };
    static const char *const values[] = { "\r", "a \"b\" \r", "a\r\nb\r", "" };
    wf_star *s = star_of("returns.star", text);
    for (int i = 0; i < 4; i++)
        assert_string_equal(wf_star_texts(s, 0, names[i])[0], values[i]);
    assert_string_equal(wf_star_texts(s, 1, "x")[0], "1\"");
    assert_string_equal(wf_star_texts(s, 1, "y")[0], "\r");
    assert_string_equal(wf_star_texts(s, 1, "y")[1], "1");
    assert_int_equal(wf_star_save(s, "copy.star"), WF_OK);
    wf_star *again = wf_star_load(ctx, "copy.star");
    assert_non_null(again);
    assert_same_tables(s, again);
    wf_star_free(again);
    wf_star_free(s);
}

static void arrays_become_columns(void **state)
{
    (void)state;
    enum { N = 6 };
    const double reals[N] = { 0.1, 1e300, -2.5, 1.0 / 3, NAN, -INFINITY };
    const float singles[N] = { 0.1f, 1e30f, 3, 1.0f / 3, 16777216, -0.0f };
    wf_star *s = wf_star_new(ctx);
    int t = wf_star_add(s, "particles", N);
    assert_int_equal(t, 0);
    assert_int_equal(wf_star_save(s, "none.star"), WF_ERR_ARG);
    assert_error("none.star", "table data_particles has no columns");
    wf_array *a = wf_empty(ctx, WF_F64, WF_SHAPE(N)), *b = wf_empty(ctx, WF_F32, WF_SHAPE(N)),
             *c = make(WF_U64, SHAPE(2 * N)), *d = wf_view_slice(c, 0, 1, 2 * N, 2), *half = wf_array_cast(b, WF_F16);
    assert_int_equal(wf_upload(a, reals, sizeof reals), WF_OK);
    assert_int_equal(wf_upload(b, singles, sizeof singles), WF_OK);
    assert_int_equal(wf_star_set(s, t, "real", a), WF_OK);
    assert_int_equal(wf_star_set(s, t, "_single", b), WF_OK);
    assert_int_equal(wf_star_set(s, t, "whole", d), WF_OK);
    assert_int_equal(wf_star_set(s, t, "half", half), WF_OK);
    assert_int_equal(wf_star_set(s, t, "real", a), WF_OK); /* once more */
    assert_string_equal(wf_star_texts(s, t, "real")[0], "0.1");
    assert_string_equal(wf_star_texts(s, t, "single")[0], "0.1");
    assert_string_equal(wf_star_texts(s, t, "single")[4], "16777216");
    check_column(wf_star_values(s, t, "real", WF_F64), WF_F64, reals, N);
    for (int i = 0; i < N; i++) {
        char whole[32];
        snprintf(whole, sizeof whole, "%.0f", pattern(WF_U64, 1 + 2 * i));
        assert_string_equal(wf_star_texts(s, t, "whole")[i], whole);
        assert_true(strtof(wf_star_texts(s, t, "single")[i], NULL) == singles[i]);
    }
    assert_int_equal(wf_star_set(s, t, "real", c), WF_ERR_SHAPE);
    assert_error("new STAR file", "an array of 1 axes and 12 elements (must be one axis of 6");
    wf_array *complex = wf_array_cast(a, WF_C64);
    assert_int_equal(wf_star_set(s, t, "real", complex), WF_ERR_DTYPE);
    assert_error("new STAR file", "complex");
    assert_int_equal(wf_star_set(s, 1, "real", a), WF_ERR_ARG);
    assert_error("new STAR file", "table is 1 (the file has 1)");
    assert_int_equal(wf_star_set(s, t, "a b", a), WF_ERR_ARG);
    assert_error("new STAR file", "'a b'");
    assert_int_equal(wf_star_set(s, t, "real", NULL), WF_ERR_ARG);
    wf_clear_error(ctx);
    assert_int_equal(wf_star_set_texts(s, t, "text", (const char *const[]){ "a", "b\n;c", "", "", "", "" }),
                     WF_ERR_ARG);
    assert_error("new STAR file", "text 1 of column text");
    assert_false(wf_star_has(s, t, "text"));
    assert_int_equal(wf_star_add(s, "a b", 1), -1);
    assert_error("new STAR file", "the name is a b");
    assert_int_equal(wf_star_add(s, "a", -2), -1);
    assert_error("new STAR file", "rows is -2");
    wf_release(a);
    wf_release(b);
    wf_release(c);
    wf_release(d);
    wf_release(half);
    wf_release(complex);
    wf_star_free(s);
}

static void refuse_number(const char *number, wf_dtype dtype, const char *must)
{
    char text[64], message[128];
    snprintf(text, sizeof text, "data_x\n_a \"%s\"\n", number);
    snprintf(message, sizeof message, "line 2: a of table data_x is '%s' %s", number, must);
    wf_star *s = star_of("number.star", text);
    assert_null(wf_star_values(s, 0, "a", dtype));
    assert_error("number.star", message);
    wf_star_free(s);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        { " \n# only a comment\n", "no data_ block" },
        { "loop_\n_a\n1\n", "line 1: a STAR file begins with data_, not with loop_" },
        { "\n_a 1\n", "line 2: a STAR file begins with data_, not with _a" },
        { "hello world\n", "not with hello" },
        { "data_x\nloop_\n1 2\n", "line 2: loop_ has no names" },
        { "data_x\nloop_\n_a\n_b\n1 2\n3\n", "line 6: 1 values in a row of table data_x, which has 2 columns" },
        { "data_x\nloop_\n_a\n_b\n1 2\n3\n\ndata_y\n\nloop_\n_c\n7\n", "line 6: 1 values in a row of table data_x" },
        { "data_x\nloop_\n_a\n_b\n1 2\n3\ndata_y # z\nloop_\n_c\n7\n", "line 6: 1 values in a row" },
        { "data_x\nloop_\n_a\n_b\n1 2\n3\nloop_\n_c\n7\n", "line 6: 1 values in a row" },
        { "data_x\nloop_\n_a\n_b\n1\n;t\n;\n3\ndata_y\n", "line 8: 1 values in a row" },
        { "data_x\nloop_\n_a\n_b\n1\n2 3\n4 5\n", "line 5: 1 values in a row" },
        { "data_x\nloop_\n_a\n_b\n1 2\n3\n4 5 6\n", "line 6: 1 values in a row" },
        { "data_x\nloop_\n_a\n_b\n1 2 3\n4 5\n6 7\n", "line 5: 3 values in a row" },
        { "data_x\nloop_\n_a\n_b\n1 2\n3 4 5\n", "line 6: 3 values in a row" },
        { "data_x\nloop_\n_a\n_b\n_a\n", "line 5: a name that the table has already: _a" },
        { "data_x\n_a 1\n_a 2\n", "line 3: a name that the table has already: _a" },
        { "data_x\n_a\n_b 2\n", "line 2: no value follows the name _a" },
        { "data_x\n_a\n", "line 2: no value follows the name _a" },
        { "data_x\n_ 1\n", "line 2: a name is empty" },
        { "data_x\n1\n", "line 2: a value without a name: 1" },
        { "data_x\n_a 1 2\n", "line 2: a value without a name: 2" },
        { "data_x\n_a 'b c\n'\n", "line 2: the quote ' does not end: b c" },
        { "data_x\n_a \"b", "line 2: the quote \" does not end: b" },
        { "data_x\n_a\n;b\n c;\n", "line 3: a text that begins with ';' does not end" },
        { "data_x\nsave_y\n", "line 2: save_y is not read" },
        { "data_x\nglobal_\n", "line 2: global_ is not read" },
        { "data_x\n_a 1\n\033\n", "line 3: byte 27, which text does not have" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file("bad.star", bad[i].text, strlen(bad[i].text));
        if (wf_star_load(ctx, "bad.star"))
            fail_msg("case %zu was read", i);
        assert_error("bad.star", bad[i].message);
    }
    write_file("bad.star", "data_x\0_a 1\n", 12);
    assert_null(wf_star_load(ctx, "bad.star"));
    assert_error("bad.star", "line 1: byte 0");
    assert_null(wf_star_load(ctx, "none.star"));
    assert_error("none.star", "no such file");
    static const char *const integers[] = {
        "1.5", "9223372036854775808", "-9223372036854775809", "", "-", "1e3", "0x10", "?"
    };
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        refuse_number(integers[i], WF_I64, "(must be an integer)");
    static const char *const reals[] = { "1.5x", "1e", "", "0x10", "infinite", "1 2" };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        refuse_number(reals[i], WF_F64, "(must be a number)");
    wf_star *s = star_of("join.star", "data_a\nloop_\n_k\n1\n3\ndata_b\nloop_\n_k\n_v\n2 5\n1 6\n");
    assert_null(wf_star_join(s, 0, "k", 1, "v", WF_I64));
    assert_error("join.star", "line 5: k of table data_a is '3', which no row of data_b has");
    assert_null(wf_star_join(s, 0, "k", 1, "w", WF_I64));
    assert_error("join.star", "wf_star_join: table b has no column w");
    wf_star_free(s);
}

/* Each file that begins like these two, and each with a byte changed, is read or refused with a message. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    const char *const files[] = { relion, mixed };
    static const char changes[] = { 0, ' ', '\n', '"', '\'', ';', '_', '#', 'x' };
    for (int f = 0; f < 2; f++) {
        size_t n = strlen(files[f]);
        char *copy = malloc(n + 1);
        assert_non_null(copy);
        for (size_t i = 0; i < 2 * n; i++) {
            memcpy(copy, files[f], n + 1);
            if (i >= n)
                copy[i - n] = changes[i % sizeof changes];
            write_file("damaged.star", copy, i < n ? i + 1 : n);
            wf_star *s = wf_star_load(ctx, "damaged.star");
            if (!s)
                assert_non_null(strstr(wf_last_message(ctx), "damaged.star"));
            wf_clear_error(ctx);
            if (s && wf_star_save(s, "copy.star") == WF_OK) {
                wf_star *again = wf_star_load(ctx, "copy.star");
                if (!again)
                    fail_msg("%s", wf_last_message(ctx));
                assert_same_tables(s, again);
                wf_star_free(again);
            }
            wf_clear_error(ctx);
            wf_star_free(s);
        }
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_relion_are_read),   cmocka_unit_test(all_of_the_syntax_is_read),
        cmocka_unit_test(what_is_written_reads_back), cmocka_unit_test(arrays_become_columns),
        cmocka_unit_test(bad_files_are_refused),      cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(carriage_returns_read_back),
    };
    return IO_TESTS(tests);
}
