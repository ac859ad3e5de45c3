/* off_default.h - for tests of functions on arrays that are not on the default device of the context. Scenarios note
 * what they compute and where their inputs are; the results must be the same on that device and on the other. One
 * device is the processor, the other a GPU: that of WEFT_TEST_DEVICES, else the emulated one.
 */
#ifndef WEFT_OFF_DEFAULT_H
#define WEFT_OFF_DEFAULT_H
#include "on_devices.h"
#include "weft/functions.h"

static wf_device gpu;   /* 0: there is none */
static wf_device place; /* of inputs, and so of results */

enum { MOST = 1 << 16 };
typedef struct record {
    size_t n;
    unsigned char bytes[MOST];
} record;
static record now;

/* NaNs have one sign and payload. */
static inline void unify_nans(unsigned char *data, size_t bytes, wf_dtype dtype)
{
    const float f = NAN;
    const double d = (double)NAN;
    const size_t size = dtype == WF_F32 || dtype == WF_C64 ? sizeof f : sizeof d;
    for (size_t i = 0; i < bytes && (size == sizeof f || dtype == WF_F64 || dtype == WF_C128); i += size) {
        const wf_dtype part = size == sizeof f ? WF_F32 : WF_F64;
        const void *nan = size == sizeof f ? (const void *)&f : &d;
        if (same_element(part, data + i, nan))
            memcpy(data + i, nan, size);
    }
}

static inline void note(const void *data, size_t bytes)
{
    assert_true(now.n + bytes <= MOST);
    memcpy(now.bytes + now.n, data, bytes);
    now.n += bytes;
}

static inline void take_at(wf_array *array, wf_device device, int line)
{
    if (!array)
        fail_msg("line %d: %s", line, wf_last_message(ctx));
    if (wf_array_device(array) != device)
        fail_msg("line %d: the result is on device %d, not %d", line, (int)wf_array_device(array), (int)device);
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(wf_array_dtype(array));
    unsigned char *data = contents(array);
    wf_shape shape = wf_array_shape(array);
    wf_dtype dtype = wf_array_dtype(array);
    note(&dtype, sizeof dtype);
    note(&shape.rank, sizeof shape.rank);
    note(shape.dim, (size_t)shape.rank * sizeof *shape.dim);
    unify_nans(data, bytes, dtype);
    note(data, bytes);
    free(data);
    wf_release(array);
}
/* Adds a result, which must lie where the inputs are, and releases it. */
#define TAKE(array) take_at(array, place, __LINE__)

static inline void done_at(wf_status status, int line)
{
    if (status != WF_OK)
        fail_msg("line %d: %s: %s", line, wf_status_name(status), wf_last_message(ctx));
}
#define DONE(call) done_at(call, __LINE__)

/* Consumes an array; the same on a device. */
static inline wf_array *brought(wf_array *array, wf_device device)
{
    assert_non_null(array);
    wf_array *there = wf_copy_to(array, device);
    if (!there)
        fail_msg("%s", wf_last_message(ctx));
    wf_release(array);
    return there;
}

/* Whole numbers from 0 to 100 in no order; those of a bool 0 and 1. */
static inline wf_array *numbers_on(wf_device device, wf_dtype dtype, wf_shape shape)
{
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    double *x = malloc((size_t)(n + 1) * 2 * sizeof *x);
    assert_non_null(x);
    bool pairs = dtype >= WF_C32;
    for (int64_t i = 0; i < (pairs ? 2 * n : n); ++i)
        x[i] = dtype == WF_BOOL ? (double)(i * 7 % 5 < 2) : (double)(i * 37 % 101);
    wf_array *exact = array_of(ctx, pairs ? WF_C128 : WF_F64, shape, x), *a = wf_array_cast(exact, dtype);
    free(x);
    wf_release(exact);
    return brought(a, device);
}
static inline wf_array *numbers(wf_dtype dtype, wf_shape shape) { return numbers_on(place, dtype, shape); }

static inline wf_array *integers(wf_shape shape, const int32_t *x)
{
    return brought(array_of(ctx, WF_I32, shape, x), place);
}

/* Every second column, from the last one: a view of an array that it keeps alive. */
static inline wf_array *reversed(wf_dtype dtype, wf_shape shape)
{
    shape.dim[shape.rank - 1] *= 2;
    wf_array *a = numbers(dtype, shape), *view = wf_view_slice(a, shape.rank - 1, -1, WF_END_INDEX, -2);
    assert_non_null(view);
    wf_release(a);
    return view;
}

/* ---- scenarios ---- */
enum { CPU, GPU, BOTH };
static wf_context *with_default[BOTH];
static record first;

typedef struct scenario {
    const char *name;
    void (*run)(void);
    bool host; /* of arrays of the processor only */
} scenario;

static inline void run_at(const scenario *s, int of_context, wf_device where, const char *what)
{
    ctx = with_default[of_context];
    place = where;
    now.n = 0;
    wf_clear_error(ctx);
    s->run();
    if (of_context == CPU && where == WF_CPU)
        first = now;
    else if (now.n != first.n || memcmp(now.bytes, first.bytes, now.n) != 0)
        fail_msg("%s: other results", what);
}

static inline void everywhere(void **state)
{
    const scenario *s = *state;
    if (!gpu)
        skip();
    run_at(s, CPU, WF_CPU, "the processor's");
    run_at(s, GPU, WF_CPU, "the processor's where a GPU is the default");
    if (s->host)
        return;
    run_at(s, GPU, gpu, "a GPU's where it is the default");
    run_at(s, CPU, gpu, "a GPU's where the processor is the default");
}

static inline int start(void **state)
{
    (void)state;
    gpu = is_chosen("cuda:0") ? WF_GPU(0) : is_chosen("cuda-emu") ? WF_GPU_EMU(0) : 0;
    if (!gpu)
        print_message("skipped: no GPU, and no emulator of one (libweft_cuda_emu)\n");
    with_default[CPU] = gpu ? test_context(WF_CPU, 2) : NULL;
    with_default[GPU] = gpu ? test_context(gpu, 2) : NULL;
    setenv("WEFT_BLAS", "none", 1); /* a BLAS has other bits; test_lib_blas.c */
    return 0;
}

static inline int stop(void **state)
{
    (void)state;
    for (int i = 0; i < BOTH; ++i)
        wf_context_free(with_default[i]);
    return 0;
}

/* What main returns: all scenarios, and more tests. */
static inline int run_off_default(const scenario *scenarios, size_t n, const struct CMUnitTest *more, size_t more_n)
{
    struct CMUnitTest tests[64];
    assert_true(n + more_n <= sizeof tests / sizeof *tests);
    for (size_t i = 0; i < n; ++i)
        tests[i] = (struct CMUnitTest){ scenarios[i].name, everywhere, NULL, NULL, (void *)&scenarios[i] };
    for (size_t i = 0; i < more_n; ++i)
        tests[n + i] = more[i];
    return _cmocka_run_group_tests("off the default device", tests, n + more_n, start, stop);
}
#define SCENARIO(fn)   \
    {                  \
#fn, fn, false \
    }
#endif
