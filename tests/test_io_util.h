/* test_io_util.h - what tests of files share: a folder of their own, small arrays with known values, raw files, checks
 * of errors. Each tests/test_io_*.c includes it once. */
#ifndef WEFT_TEST_IO_UTIL_H
#define WEFT_TEST_IO_UTIL_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "weft/io.h"

static wf_context *ctx;
static char folder[64];

/* Tests run inside a new, empty folder. */
static int enter_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "io-test-XXXXXX");
    ctx = wf_context_new(NULL);
    return ctx && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    DIR *dir = opendir(".");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove(entry->d_name);
    if (dir)
        closedir(dir);
    wf_context_free(ctx);
    return chdir("..") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Names in the current folder that a writer would leave behind. */
static inline int leftovers(void)
{
    int found = 0;
    DIR *dir = opendir(".");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        found += strncmp(entry->d_name, ".weft-", 6) == 0;
    closedir(dir);
    return found;
}

/* ---- raw files ---- */

static inline void write_file(const char *path, const void *bytes, size_t n)
{
    remove(path); /* a new file is fast to write; some file systems flush one that is written over */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* The whole file; free it. */
static inline uint8_t *read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *n = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

static inline void assert_same_file(const char *a, const char *b)
{
    size_t n, m;
    uint8_t *x = read_file(a, &n), *y = read_file(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

static inline void swap_words(uint8_t *bytes, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < size / 2; k++) {
            uint8_t byte = bytes[i * size + k];
            bytes[i * size + k] = bytes[i * size + size - 1 - k];
            bytes[i * size + size - 1 - k] = byte;
        }
}

/* ---- arrays ---- */

#define SHAPE(...) shape_of((int64_t[]){ __VA_ARGS__ }, (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)))
static inline wf_shape shape_of(const int64_t *dim, int rank)
{
    wf_shape shape = { .rank = rank };
    memcpy(shape.dim, dim, (size_t)rank * sizeof *dim);
    return shape;
}

static inline void assert_shape(wf_shape got, wf_shape expected)
{
    assert_int_equal(got.rank, expected.rank);
    for (int d = 0; d < got.rank; d++)
        assert_int_equal(got.dim[d], expected.dim[d]);
}

/* f16 and bf16, by arithmetic: normal values, small integers, zero. */
static inline double half_value(wf_dtype dtype, uint16_t code)
{
    int bits = dtype == WF_F16 ? 10 : 7, bias = dtype == WF_F16 ? 15 : 127, e = (code & 0x7fff) >> bits;
    double v = code & 0x7fff ? ldexp((code & ((1 << bits) - 1)) + (1 << bits), e - bias - bits) : 0;
    return code & 0x8000 ? -v : v;
}

static inline uint16_t half_code(wf_dtype dtype, double value)
{
    int bits = dtype == WF_F16 ? 10 : 7, bias = dtype == WF_F16 ? 15 : 127, e;
    double f = frexp(fabs(value), &e);
    int code = value != 0 ? (e - 1 + bias) * (1 << bits) + (int)ldexp(2 * f - 1, bits) : 0;
    return (uint16_t)(code | (value < 0 ? 0x8000 : 0));
}

static inline double element(wf_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case WF_BOOL:
    case WF_U8:
        return ((const uint8_t *)data)[i];
    case WF_I8:
        return ((const int8_t *)data)[i];
    case WF_I16:
        return ((const int16_t *)data)[i];
    case WF_U16:
        return ((const uint16_t *)data)[i];
    case WF_I32:
        return ((const int32_t *)data)[i];
    case WF_U32:
        return ((const uint32_t *)data)[i];
    case WF_I64:
        return (double)((const int64_t *)data)[i];
    case WF_U64:
        return (double)((const uint64_t *)data)[i];
    case WF_F16:
    case WF_BF16:
        return half_value(dtype, ((const uint16_t *)data)[i]);
    case WF_F32:
        return (double)((const float *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

static inline void set_element(wf_dtype dtype, void *data, int64_t i, double value)
{
    switch (dtype) {
    case WF_BOOL:
    case WF_U8:
        ((uint8_t *)data)[i] = (uint8_t)value;
        break;
    case WF_I8:
        ((int8_t *)data)[i] = (int8_t)value;
        break;
    case WF_I16:
        ((int16_t *)data)[i] = (int16_t)value;
        break;
    case WF_U16:
        ((uint16_t *)data)[i] = (uint16_t)value;
        break;
    case WF_I32:
        ((int32_t *)data)[i] = (int32_t)value;
        break;
    case WF_U32:
        ((uint32_t *)data)[i] = (uint32_t)value;
        break;
    case WF_I64:
        ((int64_t *)data)[i] = (int64_t)value;
        break;
    case WF_U64:
        ((uint64_t *)data)[i] = (uint64_t)value;
        break;
    case WF_F16:
    case WF_BF16:
        ((uint16_t *)data)[i] = half_code(dtype, value);
        break;
    case WF_F32:
        ((float *)data)[i] = (float)value;
        break;
    default:
        ((double *)data)[i] = value;
        break;
    }
}

/* Value i of a test array: small integers that every numeric dtype holds, 0 and 1 for bool. */
static inline double pattern(wf_dtype dtype, int64_t i)
{
    int64_t mixed = (i * 37 + i / 7 * 11) % 101;
    if (dtype == WF_BOOL)
        return (double)(mixed % 2);
    bool is_unsigned = dtype == WF_U8 || dtype == WF_U16 || dtype == WF_U32 || dtype == WF_U64;
    return (double)(is_unsigned ? mixed : mixed - 50);
}

static inline wf_array *make(wf_dtype dtype, wf_shape shape)
{
    wf_array *array = wf_empty_with(ctx, dtype, shape, NULL);
    void *data;
    assert_non_null(array);
    assert_int_equal(wf_map(array, &data, NULL), WF_OK);
    for (int64_t i = 0; i < wf_array_count(array); i++)
        set_element(dtype, data, i, pattern(dtype, i));
    return array;
}

/* A complex array as its parts, with a last axis of extent 2; releases it. */
static inline wf_array *in_parts(wf_array *array)
{
    wf_shape shape = wf_array_shape(array);
    wf_dtype dtype = wf_array_dtype(array), part = dtype == WF_C32 ? WF_F16 : dtype == WF_C64 ? WF_F32 : WF_F64;
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(dtype);
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    shape.dim[shape.rank++] = 2;
    wf_array *parts = wf_empty_with(ctx, part, shape, NULL);
    assert_int_equal(wf_download(array, data, bytes), WF_OK);
    assert_int_equal(wf_upload(parts, data, bytes), WF_OK);
    free(data);
    wf_release(array);
    return parts;
}

/* Where the values of an array of any strides are. */
typedef struct mapped {
    wf_dtype dtype;
    wf_shape shape;
    void *data;
    int64_t strides[WF_MAX_RANK];
} mapped;

static inline mapped map(const wf_array *array)
{
    mapped m = { .dtype = wf_array_dtype(array), .shape = wf_array_shape(array) };
    assert_int_equal(wf_map(array, &m.data, m.strides), WF_OK);
    return m;
}

/* Element i in C order. */
static inline double mapped_value(const mapped *m, int64_t i)
{
    int64_t place = 0;
    for (int d = m->shape.rank - 1; d >= 0; d--) {
        place += i % m->shape.dim[d] * m->strides[d];
        i /= m->shape.dim[d];
    }
    return element(m->dtype, m->data, place);
}

static inline double value_at(const wf_array *array, int64_t i)
{
    mapped m = map(array);
    return mapped_value(&m, i);
}

static inline void assert_same_values(const wf_array *got, const wf_array *expected)
{
    assert_non_null(got);
    assert_shape(wf_array_shape(got), wf_array_shape(expected));
    mapped g = map(got), e = map(expected);
    for (int64_t i = 0; i < wf_array_count(expected); i++)
        if (mapped_value(&g, i) != mapped_value(&e, i))
            fail_msg("element %lld is %g instead of %g", (long long)i, mapped_value(&g, i), mapped_value(&e, i));
}

/* ---- loading and failing ---- */

static inline wf_array *load(const char *path, wf_meta *meta)
{
    wf_array *array = wf_load(ctx, path, meta);
    if (!array)
        fail_msg("wf_load: %s", wf_last_message(ctx));
    /* wf_probe says the same. */
    wf_meta probed = { .size = sizeof probed };
    wf_dtype dtype;
    wf_shape shape;
    assert_int_equal(wf_probe(ctx, path, &probed, &dtype, &shape), WF_OK);
    assert_int_equal(dtype, wf_array_dtype(array));
    assert_shape(shape, wf_array_shape(array));
    if (meta) {
        assert_int_equal(probed.format, meta->format);
        assert_int_equal(probed.stored, meta->stored);
        assert_int_equal(probed.is_stack, meta->is_stack);
        assert_memory_equal(probed.spacing, meta->spacing, sizeof probed.spacing);
        assert_memory_equal(probed.origin, meta->origin, sizeof probed.origin);
    }
    return array;
}

static inline void save(const wf_array *array, const char *path, const wf_meta *meta)
{
    if (wf_save(array, path, meta) != WF_OK)
        fail_msg("wf_save: %s", wf_last_message(ctx));
    assert_int_equal(leftovers(), 0);
}

/* The context has an error whose message names the file and `text`; forgets it. */
static inline void assert_error(const char *path, const char *text)
{
    const char *message = wf_last_message(ctx);
    if (wf_last_status(ctx) == WF_OK || !strstr(message, path) || !strstr(message, text))
        fail_msg("expected an error with \"%s\" about %s, got %d \"%s\"", text, path, wf_last_status(ctx), message);
    wf_clear_error(ctx);
}

/* Checks that neither loading nor probing works, for the reason `text`, and that both leave their results as they
 * were. */
static inline void assert_refused(const char *path, const char *text)
{
    wf_meta meta = { .size = sizeof meta, .spacing = { 7, 7, 7 } }, before = meta;
    wf_dtype dtype = WF_I64;
    wf_shape shape = { .rank = -3 };
    wf_array *array = wf_load(ctx, path, &meta);
    if (array)
        fail_msg("%s was loaded (expected: %s)", path, text);
    assert_error(path, text);
    if (wf_probe(ctx, path, &meta, &dtype, &shape) != WF_OK) { /* damage after the header only shows when loading */
        wf_clear_error(ctx);
        assert_memory_equal(&meta, &before, sizeof meta);
        assert_int_equal(dtype, WF_I64);
        assert_int_equal(shape.rank, -3);
    }
}

/* Checks that loading these bytes gives an array or a clean error. Returns true if it gave an array. */
static inline bool survives(const char *path, const void *bytes, size_t n)
{
    write_file(path, bytes, n);
    wf_array *array = wf_load(ctx, path, NULL);
    bool loaded = array != NULL;
    if (!loaded) {
        assert_int_not_equal(wf_last_status(ctx), WF_OK);
        if (!strstr(wf_last_message(ctx), path))
            fail_msg("the message names no file: \"%s\"", wf_last_message(ctx));
    }
    wf_release(array);
    wf_clear_error(ctx);
    return loaded;
}

static inline void save_refused(const wf_array *array, const char *path, const wf_meta *meta, const char *text)
{
    assert_int_not_equal(wf_save(array, path, meta), WF_OK);
    assert_error(path, text);
    assert_int_equal(leftovers(), 0);
}

/* The folder of real files, or NULL with a note that the test is skipped. */
static inline const char *real_files(void)
{
    const char *data = getenv("WEFT_TEST_DATA");
    if (!data || !*data) {
        print_message("skipped: WEFT_TEST_DATA names no folder of real files\n");
        return NULL;
    }
    return data;
}

#define IO_TESTS(tests) cmocka_run_group_tests(tests, enter_folder, leave_folder)
#endif
