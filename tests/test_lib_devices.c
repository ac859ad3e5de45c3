/* test_lib_devices.c - the functions of weft/functions.h and weft/io.h and operator text on arrays that are not on the
 * default device of the context. Results equal those on the default device, and lie on the device of the input. Inputs
 * on two devices are refused by name. test_lib_devices_reduce.c has reductions and order.
 *
 * ctest: driver
 */
#include "off_default.h"
#include "weft/io.h"
#include <ctype.h>
#include <unistd.h>

/* ---- make and fill ---- */
static void fill(void)
{
    wf_array *a = numbers(WF_I16, WF_SHAPE(3, 4)), *v = reversed(WF_C64, WF_SHAPE(2, 5)),
             *e = numbers(WF_F32, WF_SHAPE(0));
    DONE(wf_array_fill(a, -7));
    DONE(wf_array_fill(v, 2.5));
    DONE(wf_array_fill(e, 1));
    TAKE(wf_retain(v));
    DONE(wf_array_fill_complex(v, 1, -2));
    TAKE(a);
    TAKE(v);
    TAKE(e);
}

static void assign(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(4, 5)), *row = numbers(WF_I32, WF_SHAPE(5)),
             *v = reversed(WF_F64, WF_SHAPE(4, 5));
    wf_array *lower = wf_view_slice(a, 0, 1, 4, 1), *upper = wf_view_slice(a, 0, 0, 3, 1);
    DONE(wf_array_assign(v, a));
    DONE(wf_array_assign(lower, upper)); /* they overlap */
    TAKE(wf_retain(a));
    DONE(wf_array_assign(a, row));
    TAKE(a);
    TAKE(v);
    RELEASE(row, lower, upper);
}

static void copy(void)
{
    wf_array *a = numbers(WF_F16, WF_SHAPE(2, 3)), *v = reversed(WF_F32, WF_SHAPE(2, 3)),
             *e = numbers(WF_F32, WF_SHAPE(2, 0));
    wf_array *of[] = { a, v, e };
    for (int i = 0; i < 3; ++i) {
        TAKE(wf_array_copy(of[i]));
        TAKE(wf_array_cast(of[i], WF_U8));
        TAKE(wf_array_cast(of[i], WF_C64));
        TAKE(wf_array_contiguous(of[i]));
        TAKE(wf_array_permute(of[i], (const int[]){ 1, 0 }));
    }
    RELEASE(a, v, e);
}

/* These have no input: the default device. */
static void ranges(void)
{
    const wf_device device = wf_context_device(ctx);
    double step;
    take_at(wf_array_linspace(ctx, WF_F32, 9, -1, 2, true, &step), device, __LINE__);
    take_at(wf_array_linspace(ctx, WF_F64, 0, -1, 2, false, NULL), device, __LINE__);
    take_at(wf_array_iota(ctx, WF_I32, WF_SHAPE(3, 5), (const int64_t[]){ 2, 3 }), device, __LINE__);
    take_at(wf_array_iota(ctx, WF_U8, WF_SCALAR, NULL), device, __LINE__);
}

/* ---- parts ---- */
static const wf_border borders[] = { WF_BORDER_VALUE, WF_BORDER_CLAMP, WF_BORDER_PERIODIC, WF_BORDER_MIRROR,
                                     WF_BORDER_REFLECT };
enum { BORDERS = sizeof borders / sizeof *borders };

static void extract(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(6, 7)), *v = reversed(WF_C64, WF_SHAPE(3, 4)),
             *e = numbers(WF_U8, WF_SHAPE(0, 3)), *scalar = numbers(WF_F64, WF_SCALAR);
    const int64_t out[] = { -2, 3 }, in[] = { 1, 2 };
    for (int i = 0; i < BORDERS; ++i) {
        TAKE(wf_array_extract(a, WF_SHAPE(5, 9), out, borders[i], 4));
        TAKE(wf_array_extract(v, WF_SHAPE(4, 4), out, borders[i], 4));
        TAKE(wf_array_extract(a, WF_SHAPE(0, 9), out, borders[i], 4));
        TAKE(wf_array_resize(a, out, in, borders[i], 9));
        TAKE(wf_array_resize(v, in, NULL, borders[i], 9));
    }
    TAKE(wf_array_extract(a, WF_SHAPE(4, 3), in, WF_BORDER_NONE, 0)); /* inside */
    TAKE(wf_array_extract(e, WF_SHAPE(2, 3), in, WF_BORDER_VALUE, 5));
    TAKE(wf_array_extract(scalar, WF_SCALAR, NULL, WF_BORDER_NONE, 0));
    TAKE(wf_array_resize(e, in, NULL, WF_BORDER_VALUE, 5));
    TAKE(wf_array_slice(a, WF_SHAPE(3, 1, 6), (const wf_axis_slice[]){ { 5, -1, 2 }, { 1, 2, 0 } }));
    TAKE(wf_array_slice(v, WF_SHAPE(2), (const wf_axis_slice[]){ { 2, 0, -1 }, { 3, -3, 0 } }));
    TAKE(wf_array_slice(scalar, WF_SHAPE(2, 2), NULL));
    TAKE(wf_array_reshape(a, WF_SHAPE(-1, 3)));
    TAKE(wf_array_reshape(v, WF_SHAPE(6, 2)));
    TAKE(wf_array_resize(a, (const int64_t[]){ -2, -1 }, NULL, WF_BORDER_NONE, 0));
    RELEASE(a, v, e, scalar);
}

static void insert(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(6, 7)), *region = reversed(WF_I16, WF_SHAPE(3, 4)),
             *e = numbers(WF_F32, WF_SHAPE(0, 2));
    DONE(wf_array_insert(a, region, (const int64_t[]){ -1, 5 }));
    DONE(wf_array_insert(a, region, (const int64_t[]){ 3, 0 }));
    DONE(wf_array_insert(a, region, (const int64_t[]){ 30, 0 }));
    DONE(wf_array_insert(a, e, (const int64_t[]){ 1, 0 }));
    DONE(wf_array_assign_slice(a, WF_SHAPE(3, 4), (const wf_axis_slice[]){ { 5, -1, 1 }, { 0, 2, 0 } }, region));
    TAKE(a);
    RELEASE(region, e);
}

static void extract_regions(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(6, 7)), *e = numbers(WF_F32, WF_SHAPE(0, 7));
    wf_array *at = integers(WF_SHAPE(3, 2), (const int32_t[]){ -1, -1, 2, 3, 5, 6 }),
             *in = integers(WF_SHAPE(2, 2), (const int32_t[]){ 0, 1, 2, 3 }), *none = numbers(WF_I64, WF_SHAPE(0, 2));
    for (int i = 0; i < BORDERS; ++i) {
        TAKE(wf_array_extract_regions(a, WF_SHAPE(3, 2), at, borders[i], 8));
        TAKE(wf_array_extract_regions(a, WF_SHAPE(3, 2), none, borders[i], 8));
    }
    TAKE(wf_array_extract_regions(a, WF_SHAPE(3, 2), in, WF_BORDER_NONE, 0));
    TAKE(wf_array_extract_regions(a, WF_SHAPE(0, 2), in, WF_BORDER_NONE, 0));
    TAKE(wf_array_extract_regions(e, WF_SHAPE(3, 2), at, WF_BORDER_VALUE, 8));
    RELEASE(a, e, at, in, none);
}

static void insert_regions(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(6, 7)), *region = numbers(WF_I32, WF_SHAPE(3, 3, 2)),
             *none = numbers(WF_F32, WF_SHAPE(0, 3, 2)), *nowhere = numbers(WF_I64, WF_SHAPE(0, 2)),
             *many = numbers(WF_F32, WF_SHAPE(300, 1, 1)), *places = numbers(WF_U8, WF_SHAPE(300, 2));
    wf_array *apart = integers(WF_SHAPE(3, 2), (const int32_t[]){ -1, -1, 2, 3, 5, 6 }),
             *meet = integers(WF_SHAPE(3, 2), (const int32_t[]){ 1, 2, 2, 3, 0, 2 });
    DONE(wf_array_insert_regions(a, region, apart));
    TAKE(wf_array_copy(a));
    DONE(wf_array_insert_regions(a, region, meet));
    TAKE(wf_array_copy(a));
    DONE(wf_array_insert_regions(a, none, nowhere));
    DONE(wf_array_insert_regions(a, many, places));
    TAKE(a);
    RELEASE(region, none, nowhere, many, places, apart, meet);
}

static void tile(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(2, 3)), *v = reversed(WF_I8, WF_SHAPE(2, 3)),
             *e = numbers(WF_F32, WF_SHAPE(0, 3)), *of[] = { a, v, e };
    for (int i = 0; i < 3; ++i) {
        TAKE(wf_array_tile(of[i], (const int64_t[]){ 2, 3 }));
        TAKE(wf_array_tile(of[i], (const int64_t[]){ 1, 1 }));
        TAKE(wf_array_tile(of[i], (const int64_t[]){ 0, 1 }));
        TAKE(wf_array_repeat(of[i], 1, 3));
        TAKE(wf_array_repeat(of[i], -2, 2));
        TAKE(wf_array_repeat(of[i], 0, 0));
    }
    RELEASE(a, v, e);
}

/* ---- random numbers ---- */
static void random_numbers(void)
{
    const wf_random r = { .seed = 5, .stream = 2, .first = 7 };
    const wf_dtype dtypes[] = { WF_I32, WF_F32, WF_F64, WF_C64 };
    for (int i = 0; i < 16; ++i) {
        wf_dtype t = dtypes[i / 4];
        wf_array *a = i % 4 == 0   ? numbers(t, WF_SHAPE(300))
                      : i % 4 == 1 ? reversed(t, WF_SHAPE(3, 50))
                      : i % 4 == 2 ? numbers(t, WF_SHAPE(0, 4))
                                   : numbers(t, WF_SCALAR);
        if (t == WF_I32) {
            DONE(wf_array_random_bits(a, r));
            TAKE(wf_array_copy(a));
        } else {
            DONE(wf_array_random_normal(a, r, 1, 2));
            TAKE(wf_array_copy(a));
        }
        if (t < WF_C32) {
            DONE(wf_array_random_poisson(a, r, 3.5));
            TAKE(wf_array_copy(a));
            DONE(wf_array_random_poisson(a, r, 0));
            TAKE(wf_array_copy(a));
        }
        if (t == WF_F32 || t == WF_F64) {
            DONE(wf_array_random_lognormal(a, r, 0, 1));
            TAKE(wf_array_copy(a));
        }
        DONE(wf_array_random_uniform(a, r, -3, 4));
        TAKE(a);
    }
}

/* ---- products ---- */
static void matmul(void)
{
    const wf_shape left[] = { WF_SHAPE(7, 5), WF_SHAPE(2, 1, 3, 4), WF_SHAPE(1, 9),  WF_SHAPE(9, 5),
                              WF_SHAPE(3, 0), WF_SHAPE(0, 3),       WF_SHAPE(70, 6), WF_SHAPE(4, 40) };
    const wf_shape right[] = { WF_SHAPE(5, 9), WF_SHAPE(3, 4, 2), WF_SHAPE(9, 4), WF_SHAPE(5, 1),
                               WF_SHAPE(0, 4), WF_SHAPE(3, 2),    WF_SHAPE(6, 3), WF_SHAPE(40, 70) };
    const wf_dtype dtypes[] = { WF_F32, WF_C64, WF_F16, WF_I32 };
    for (int i = 0; i < 8; ++i)
        for (int t = 0; t < (i < 3 ? 4 : 1); ++t) {
            wf_array *a = numbers(dtypes[t], left[i]), *b = reversed(dtypes[t], right[i]);
            TAKE(wf_array_matmul(a, b));
            RELEASE(a, b);
        }
}

/* ---- files and text, whose arrays are the library's, too ---- */
static void files(void)
{
    char path[64];
    snprintf(path, sizeof path, "lib-devices-%ld.npy", (long)getpid());
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4)), *v = reversed(WF_I16, WF_SHAPE(2, 3)), *of[] = { a, v };
    for (int i = 0; i < 2; ++i) {
        wf_status status = wf_save(of[i], path, NULL);
        wf_array *loaded = status == WF_OK ? wf_load(ctx, path, NULL) : NULL;
        remove(path);
        take_at(loaded, wf_context_device(ctx), __LINE__);
    }
    RELEASE(a, v);
}

static void text_of(const char *text, const wf_array *a, const char *wanted)
{
    const wf_device devices[] = { 0, place };
    const wf_arg arg[] = { WF_ARG("a", a), WF_ARG("k", 3) };
    for (int i = 0; i < 2; ++i) {
        wf_array *out;
        DONE(wf_text_create(ctx, text, (wf_args){ arg, 2 }, devices[i], &wanted, 1, &out));
        TAKE(out);
    }
}

static void text(void)
{
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4));
    text_of("b = a * k", a, "b");
    text_of("a = a + 1", a, "a");
    text_of("b = 5; c = a", a, "b");
    text_of("f32 s = 0; for (i = 0; i < 4; i += 1) s += a[y, i]; b = s", a, "b");
    text_of("if (a > 3) b[y, x] = a", a, "b");
    text_of("b[y, x] = 1; if (a > 3) b[y, x] = a", a, "b");
    text_of("a[2 - y, x] = 1", a, "a");
    wf_release(a);
}

/* ---- two devices ---- */
static void refuse(wf_status status, const char *function) { REFUSED(ctx, status, WF_ERR_DEVICE, function); }

static void refuse_result(wf_array *result, const char *function)
{
    assert_null(result);
    refuse(wf_last_status(ctx), function);
}

static void two_devices(void)
{
    const wf_device elsewhere = place == WF_CPU ? gpu : WF_CPU;
    wf_array *a = numbers(WF_F32, WF_SHAPE(3, 4)), *b = numbers_on(elsewhere, WF_F32, WF_SHAPE(3, 4));
    wf_array *row = numbers_on(elsewhere, WF_F32, WF_SHAPE(4)), *column = numbers_on(elsewhere, WF_F32, WF_SHAPE(4, 1)),
             *thin = numbers_on(elsewhere, WF_F32, WF_SHAPE(4, 0)),
             *deep = numbers_on(elsewhere, WF_F32, WF_SHAPE(4, 5)), *large = numbers(WF_F32, WF_SHAPE(40, 40)),
             *other = numbers_on(elsewhere, WF_F32, WF_SHAPE(40, 40));
    wf_array *at = numbers_on(elsewhere, WF_I32, WF_SHAPE(2, 2)), *here = wf_copy_to(at, place),
             *regions = numbers(WF_F32, WF_SHAPE(2, 1, 1)), *others = numbers_on(elsewhere, WF_F32, WF_SHAPE(2, 1, 1));
    const int64_t off[] = { 0, 1 };
    bool close;
    refuse(wf_array_assign(a, b), "wf_array_assign");
    refuse(wf_array_assign(a, row), "wf_array_assign");
    refuse(wf_array_insert(a, b, off), "wf_array_insert");
    refuse_result(wf_array_extract_regions(a, WF_SHAPE(1, 1), at, WF_BORDER_CLAMP, 0), "wf_array_extract_regions");
    refuse_result(wf_array_extract_regions(a, WF_SHAPE(0, 1), at, WF_BORDER_CLAMP, 0), "wf_array_extract_regions");
    refuse(wf_array_insert_regions(a, regions, at), "wf_array_insert_regions");
    refuse(wf_array_insert_regions(a, others, here), "wf_array_insert_regions");
    refuse_result(wf_array_rmsd(a, b, WF_ALL_AXES), "wf_array_rmsd");
    refuse_result(wf_array_is_close(a, b, 0, 0, false), "wf_array_is_close");
    refuse(wf_array_all_close(a, b, 0, 0, false, &close), "wf_array_all_close");
    refuse_result(wf_array_compress(a, b), "wf_array_compress");
    refuse_result(wf_array_dot(a, b, WF_AXES(1)), "wf_array_dot");
    refuse_result(wf_array_matmul(a, column), "wf_array_matmul");
    refuse_result(wf_array_matmul(a, thin), "wf_array_matmul");
    refuse_result(wf_array_matmul(a, deep), "wf_array_matmul");
    refuse_result(wf_array_matmul(large, other), "wf_array_matmul");
    RELEASE(a, b, row, column, thin, deep, large, other, at, here, regions, others);
}

/* ---- complete? ---- */
static char *text_of_file(const char *path)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s", getenv("WEFT_SOURCE"), path);
    FILE *f = fopen(name, "rb");
    char *text = calloc(1, MOST);
    assert_true(f && text);
    size_t n = fread(text, 1, MOST - 1, f);
    fclose(f);
    assert_true(n > 0 && n < MOST - 1);
    return text;
}

/* True if the text has the name, and not only as the beginning of another one. */
static bool names(const char *text, const char *function)
{
    const char *at = text;
    while ((at = strstr(at, function)) && (isalnum((unsigned char)at[strlen(function)]) || at[strlen(function)] == '_'))
        ++at;
    return at != NULL;
}

/* These tests call every function of the header. */
static void test_every_function_is_called(void **state)
{
    (void)state;
    if (!getenv("WEFT_SOURCE"))
        skip();
    char *header = text_of_file("include/weft/functions.h"), *tests = text_of_file("tests/test_lib_devices.c"),
         *others = text_of_file("tests/test_lib_devices_reduce.c");
    int n = 0;
    for (const char *at = header; (at = strstr(at, "WF_API ")); ++at) {
        char name[64] = "";
        const char *from = strstr(at, "wf_array_"), *end = from ? strchr(from, '(') : NULL;
        assert_true(end && (size_t)(end - from) < sizeof name);
        memcpy(name, from, (size_t)(end - from));
        ++n;
        if (!names(tests, name) && !names(others, name))
            fail_msg("%s is not tested", name);
    }
    assert_true(n > 50);
    free(header);
    free(tests);
    free(others);
}

int main(void)
{
    static const scenario scenarios[] = {
        SCENARIO(fill),
        SCENARIO(assign),
        SCENARIO(copy),
        SCENARIO(ranges),
        SCENARIO(extract),
        SCENARIO(insert),
        SCENARIO(extract_regions),
        SCENARIO(insert_regions),
        SCENARIO(tile),
        SCENARIO(random_numbers),
        SCENARIO(matmul),
        SCENARIO(files),
        SCENARIO(text),
        SCENARIO(two_devices),
    };
    const struct CMUnitTest more[] = { cmocka_unit_test(test_every_function_is_called) };
    return run_off_default(scenarios, sizeof scenarios / sizeof *scenarios, more, 1);
}
