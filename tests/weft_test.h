/* weft_test.h - what tests of recordings share: cmocka, contexts, arrays from C data,
 * comparison bit by bit in which NaN equals NaN. */
#ifndef WEFT_TEST_H
#define WEFT_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test_every.h"
#include "weft/functions.h"

static const wf_dtype test_dtypes[] = { WF_BOOL, WF_I8,  WF_U8,  WF_I16,  WF_U16, WF_I32, WF_U32,
                                        WF_I64,  WF_U64, WF_F16, WF_BF16, WF_F32, WF_F64 };
enum { TEST_DTYPES = sizeof test_dtypes / sizeof *test_dtypes };
/* Chooses one of n >= 1 evenly for the numbers 0, 1, 2, ..., whatever loops they come from; 0 for the number 0. */
static inline unsigned test_choice(unsigned number, unsigned n) { return (number * 2654435761u >> 16) % n; }

/* The flag of contexts that compile nothing that another test has compiled, where WEFT_CACHE names a folder, as with ctest.
 * A program that is run by hand leaves nothing on disk. */
static inline uint32_t test_disk_flag(void) { return getenv("WEFT_CACHE") ? 0 : WF_FLAG_NO_DISK_CACHE; }

/* Ends the program if the code generator refuses a kernel, which would be interpreted. Any thread may log. Contexts of GPUs
 * have no log, since launches wait for what they log. */
static inline void end_if_refused(int level, const char *text, void *user)
{
    (void)level;
    (void)user;
    if (strstr(text, "invalid LLVM IR")) {
        fprintf(stderr, "%s\n", text);
        abort();
    }
}

static inline wf_context *test_context(wf_device device, int threads)
{
    wf_config config = { .size = sizeof config, .device = device, .threads = threads, .flags_on = test_disk_flag() };
    if (device < WF_GPU(0))
        config.log = end_if_refused;
    wf_context *ctx = wf_context_new(&config);
    assert_non_null(ctx);
    return ctx;
}

/* A context that compiles its kernels itself, for tests that look at what is compiled. */
static inline wf_context *test_context_alone(wf_device device, int threads)
{
    wf_context *ctx = test_context(device, threads);
    wf_set_flags(ctx, WF_FLAG_NO_DISK_CACHE, 0);
    return ctx;
}

/* True if the context compiles kernels. Else the interpreter computes, which takes much longer. */
static inline bool test_compiles(wf_context *ctx)
{
    wf_info info = { .size = offsetof(wf_info, cache_bytes) };
    return wf_get_info(ctx, true, &info) == WF_OK && info.llvm_major > 0;
}

/* Fails the test with the context's message if the status is not the expected one. Clears the message. */
static inline void expect_status(wf_context *ctx, wf_status got, wf_status want, const char *file, int line)
{
    if (got != want) {
        print_error("%s instead of %s: %s\n", wf_status_name(got), wf_status_name(want), wf_last_message(ctx));
        _fail(file, line);
    }
    wf_clear_error(ctx);
}
#define EXPECT(ctx, call, want) expect_status(ctx, call, want, __FILE__, __LINE__)
#define OK(ctx, call) EXPECT(ctx, call, WF_OK)

/* Fails the test unless the call failed with this status and a message that contains `part`. */
static inline void expect_message(wf_context *ctx, wf_status got, wf_status want, const char *part, const char *file,
                                  int line)
{
    if (got == want && wf_last_status(ctx) == want && strstr(wf_last_message(ctx), part)) {
        wf_clear_error(ctx);
        return;
    }
    print_error("%s instead of %s: \"%s\", expected to contain \"%s\"\n", wf_status_name(got), wf_status_name(want),
                wf_last_message(ctx), part);
    _fail(file, line);
}
#define REFUSED(ctx, call, want, part) expect_message(ctx, call, want, part, __FILE__, __LINE__)

/* Fails the test unless the text contains `part`. */
static inline void expect_part(const char *text, const char *part, const char *file, int line)
{
    if (strstr(text, part))
        return;
    print_error("'%s' is not in '%s'\n", part, text);
    _fail(file, line);
}
#define EXPECT_PART(text, part) expect_part(text, part, __FILE__, __LINE__)

static inline wf_array *array_of(wf_context *ctx, wf_dtype dtype, wf_shape shape, const void *data)
{
    wf_array *a = wf_empty_with(ctx, dtype, shape, NULL);
    assert_non_null(a);
    OK(ctx, wf_upload(a, data, (size_t)wf_array_count(a) * wf_dtype_size(dtype)));
    return a;
}

static inline void release_all(wf_array *const *a, int n)
{
    for (int i = 0; i < n; ++i)
        wf_release(a[i]);
}
#define RELEASE(...) \
    release_all((wf_array *[]){ __VA_ARGS__ }, (int)(sizeof((wf_array *[]){ __VA_ARGS__ }) / sizeof(wf_array *)))

static inline void *contents(wf_array *a) /* the caller frees it */
{
    size_t bytes = (size_t)wf_array_count(a) * wf_dtype_size(wf_array_dtype(a));
    void *p = malloc(bytes + 1);
    assert_non_null(p);
    OK(wf_array_context(a), wf_download(a, p, bytes));
    return p;
}

/* Checks that a[i] = scale i + offset, in f32, and releases it. `line`: the line of the test. */
static inline void expect_linear(wf_array *a, double scale, double offset, int line)
{
    int64_t n = wf_array_count(a);
    float *got = contents(a);
    for (int64_t i = 0; i < n; ++i)
        if (got[i] != (float)(scale * (double)i + offset))
            fail_msg("line %d: element %lld is %g", line, (long long)i, (double)got[i]);
    free(got);
    wf_release(a);
}
#define LINEAR(a, scale, offset) expect_linear(a, scale, offset, __LINE__)

static inline double scalar_f64(wf_array *a)
{
    assert_int_equal(wf_array_dtype(a), WF_F64);
    double x = NAN;
    OK(wf_array_context(a), wf_download(a, &x, sizeof x));
    return x;
}

static inline float scalar_f32(wf_array *a)
{
    assert_int_equal(wf_array_dtype(a), WF_F32);
    float x = NAN;
    OK(wf_array_context(a), wf_download(a, &x, sizeof x));
    return x;
}

static inline int64_t scalar_i64(wf_array *a)
{
    assert_int_equal(wf_array_dtype(a), WF_I64);
    int64_t x = -1;
    OK(wf_array_context(a), wf_download(a, &x, sizeof x));
    return x;
}

static inline bool same_element(wf_dtype dtype, const void *a, const void *b)
{
    if (!memcmp(a, b, wf_dtype_size(dtype)))
        return true;
    float fa, fb;
    double da, db;
    if (dtype == WF_F16 || dtype == WF_BF16) {
        uint16_t ha, hb, inf = dtype == WF_F16 ? 0x7c00 : 0x7f80;
        memcpy(&ha, a, sizeof ha);
        memcpy(&hb, b, sizeof hb);
        return (ha & 0x7fff) > inf && (hb & 0x7fff) > inf;
    }
    if (dtype == WF_F32) {
        memcpy(&fa, a, sizeof fa);
        memcpy(&fb, b, sizeof fb);
        return fa != fa && fb != fb;
    }
    if (dtype == WF_F64) {
        memcpy(&da, a, sizeof da);
        memcpy(&db, b, sizeof db);
        return da != da && db != db;
    }
    return false;
}

/* Returns the first element that differs, or -1. */
static inline int64_t first_difference(wf_dtype dtype, const void *a, const void *b, int64_t n)
{
    size_t size = wf_dtype_size(dtype);
    for (int64_t i = 0; i < n; ++i)
        if (!same_element(dtype, (const char *)a + (size_t)i * size, (const char *)b + (size_t)i * size))
            return i;
    return -1;
}

/* Checks that the array holds these f32 numbers in C order. */
static inline void expect_f32(wf_array *a, const float *want, int64_t n, const char *file, int line)
{
    assert_int_equal(wf_array_dtype(a), WF_F32);
    assert_int_equal(wf_array_count(a), n);
    float *got = contents(a);
    int64_t at = first_difference(WF_F32, got, want, n);
    if (at >= 0) {
        print_error("element %lld is %.9g, not %.9g\n", (long long)at, (double)got[at], (double)want[at]);
        _fail(file, line);
    }
    free(got);
}
#define EXPECT_F32(a, ...)                                                                                           \
    expect_f32(a, (const float[]){ __VA_ARGS__ }, (int64_t)(sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float)), \
               __FILE__, __LINE__)

/* Returns the elements as another dtype, in C order; the caller frees them. */
static inline void *contents_as(const wf_array *array, wf_dtype dtype)
{
    wf_array *cast = wf_array_cast(array, dtype);
    assert_non_null(cast);
    void *elements = contents(cast);
    wf_release(cast);
    return elements;
}

static inline uint64_t test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
/* Returns the next number between -0.5 and 0.5. */
static inline double test_random_number(uint64_t *state)
{
    return (double)(test_random(state) >> 12) / 4503599627370496.0 - 0.5;
}
/* Advances the index in C order. Returns false after the last element; then the index is that of the first one. */
static inline bool advance(const wf_shape *shape, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0; --d) {
        if (++index[d] < shape->dim[d])
            return true;
        index[d] = 0;
    }
    return false;
}
#endif
