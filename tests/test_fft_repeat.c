/* test_fft_repeat.c - transforms of one layout again and again, which replay launches: with the same arrays and with
 * others, in place, of copies that share memory, in streams, and by several threads; the bits are those of launches.
 *
 * ctest: devices threads
 */
#include "fft_numbers.h"
#include "side_by_side.h"
#include "weft/functions.h"

typedef struct layout {
    wf_shape shape;
    wf_axes axes;
    wf_dtype from, to;
    bool inverse;
} layout;

static const layout layouts[] = {
    { { .rank = 2, .dim = { 16, 64 } }, WF_AXES(1), WF_C64, WF_C64, false },
    { { .rank = 2, .dim = { 16, 64 } }, WF_AXES(0), WF_C64, WF_C64, true },
    { { .rank = 2, .dim = { 1, 256 } }, WF_AXES(1), WF_C64, WF_C64, false },
    { { .rank = 1, .dim = { 64 } }, WF_AXES(0), WF_C64, WF_C64, false },
    { { .rank = 2, .dim = { 2, 131 } }, WF_AXES(1), WF_C128, WF_C128, true },
    { { .rank = 3, .dim = { 3, 32, 24 } }, WF_AXES(1, 2), WF_F32, WF_C64, false },
    { { .rank = 3, .dim = { 3, 32, 24 } }, WF_AXES(1, 2), WF_C64, WF_F32, true },
    { { .rank = 2, .dim = { 9, 15 } }, WF_AXES(0, 1), WF_F64, WF_C128, false },
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, TIMES = 4 };

/* The shape of x or y: layout.shape, or that of the half spectrum. */
static wf_shape shape_of(const layout *l, bool spectrum)
{
    wf_shape s = l->shape;
    if (spectrum && wf_dtype_kind(l->from) != wf_dtype_kind(l->to))
        s.dim[s.rank - 1] = s.dim[s.rank - 1] / 2 + 1;
    return s;
}

static wf_array *input(const layout *l, uint64_t seed)
{
    wf_shape s = shape_of(l, wf_dtype_kind(l->to) == WF_KIND_FLOAT);
    number *x = random_numbers(512 * 16, seed);
    wf_array *a = numbers_as(l->from, s, x);
    free(x);
    return a;
}

static wf_array *output(const layout *l)
{
    return wf_full(ctx, l->to, shape_of(l, wf_dtype_kind(l->from) == WF_KIND_FLOAT), 0);
}

/* The transform by launches: they are made while the history notes them. */
static number *by_launches(const layout *l, const wf_array *x)
{
    wf_array *y = output(l);
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    OK(ctx, wf_fft_into(y, x, l->axes, l->inverse, WF_FFT_ORTHO));
    wf_set_flags(ctx, 0, WF_FLAG_HISTORY);
    number *found = numbers_of(y);
    wf_release(y);
    return found;
}

static void test_same_arrays(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; ++i) {
        const layout *l = &layouts[i];
        wf_array *x = input(l, 1), *y = output(l);
        for (int t = 0; t < TIMES; ++t) {
            wf_array *other = input(l, (uint64_t)t);
            OK(ctx, wf_array_assign(x, other));
            OK(ctx, wf_array_fill(y, 7));
            OK(ctx, wf_fft_into(y, x, l->axes, l->inverse, WF_FFT_ORTHO));
            number *expected = by_launches(l, other);
            check_near(y, expected, 0, "with the same arrays", i);
            free(expected);
            wf_release(other);
        }
        wf_release(x);
        wf_release(y);
    }
}

static void test_other_arrays(void **state)
{
    (void)state;
    for (int i = 0; i < LAYOUTS; ++i)
        for (int t = 0; t < TIMES; ++t) {
            const layout *l = &layouts[i];
            wf_array *x = input(l, (uint64_t)t), *y = output(l);
            wf_array *given = t < 2 ? wf_retain(x) : wf_view_broadcast(x, wf_array_shape(x)); /* which is read-only */
            OK(ctx, wf_fft_into(y, given, l->axes, l->inverse, WF_FFT_ORTHO));
            number *expected = by_launches(l, x);
            check_near(y, expected, 0, "with other arrays", i);
            free(expected);
            wf_array *spent[] = { x, y, given };
            for (int k = 0; k < 3; ++k)
                wf_release(spent[k]);
        }
}

/* In place, in copies that have the memory of x until they are written. */
static void test_copies(void **state)
{
    (void)state;
    for (int i = 0; i < 5; ++i) {
        const layout *l = &layouts[i];
        wf_array *x = input(l, 3), *y = wf_array_copy(x);
        number *before = numbers_of(x), *expected = by_launches(l, x);
        for (int t = 0; t < TIMES; ++t) {
            wf_release(y);
            y = wf_array_copy(x);
            OK(ctx, wf_fft_into(y, y, l->axes, l->inverse, WF_FFT_ORTHO));
            check_near(y, expected, 1e-6, "in a copy", i);
            check_near(x, before, 0, "of which it was copied", i);
        }
        OK(ctx, wf_fft_into(x, x, l->axes, l->inverse, WF_FFT_ORTHO));
        check_near(x, expected, 1e-6, "in place", i);
        wf_release(x);
        wf_release(y);
        free(before);
        free(expected);
    }
}

/* More layouts than are kept, in turns. */
static void test_many_layouts(void **state)
{
    (void)state;
    layout l = layouts[0];
    for (int t = 0; t < 3; ++t)
        for (int64_t n = 1; n <= sized(90, 5); ++n)
            for (int lines = 1; lines < 4; ++lines) {
                l.shape = WF_SHAPE(lines, 16);
                l.inverse = n % 2;
                wf_array *x = input(&l, (uint64_t)(n + t)), *y = output(&l);
                wf_fft_norm norm = n % 3 ? WF_FFT_BACKWARD : WF_FFT_ORTHO;
                wf_array *batch = wf_view_reshape(x, n % 2 ? WF_SHAPE(lines, 1, 16) : WF_SHAPE(lines, 16, 1));
                wf_array *result = wf_view_reshape(y, wf_array_shape(batch));
                OK(ctx, wf_fft_into(result, batch, n % 2 ? WF_AXES(2) : WF_AXES(1), l.inverse, norm));
                double scale = norm == WF_FFT_ORTHO ? 1 : n % 2 ? 0.25 : 4;
                number *expected = by_launches(&l, x);
                for (int k = 0; k < lines * 16; ++k)
                    expected[k] *= scale;
                check_near(y, expected, 1e-6, "one of many layouts", n);
                free(expected);
                wf_array *spent[] = { x, y, batch, result };
                for (int k = 0; k < 4; ++k)
                    wf_release(spent[k]);
            }
}

static void test_in_a_stream(void **state)
{
    (void)state;
    const layout *l = &layouts[0];
    wf_array *x = input(l, 4), *y = output(l);
    number *expected = by_launches(l, x);
    for (int t = 0; t < TIMES; ++t) {
        wf_stream *stream = t % 2 ? wf_stream_new(ctx, wf_array_device(x)) : NULL;
        OK(ctx, wf_set_stream(ctx, wf_array_device(x), stream));
        OK(ctx, wf_array_fill(y, 0));
        OK(ctx, wf_fft_into(y, x, l->axes, l->inverse, WF_FFT_ORTHO));
        OK(ctx, wf_set_stream(ctx, wf_array_device(x), NULL));
        check_near(y, expected, 0, "in a stream", t); /* waits for it */
        wf_stream_free(stream);
    }
    free(expected);
    wf_release(x);
    wf_release(y);
}

/* ---- several threads ---- */
typedef struct job {
    wf_array *x, *y;
} job;

static void *transform(void *user)
{
    job *j = user;
    for (int t = 0; t < 50; ++t)
        must(wf_fft_into(j->y, j->x, layouts[0].axes, layouts[0].inverse, WF_FFT_ORTHO) == WF_OK, "wf_fft_into");
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    job jobs[THREADS];
    for (int i = 0; i < THREADS; ++i)
        jobs[i] = (job){ input(&layouts[0], (uint64_t)i), output(&layouts[0]) };
    run_at_once(THREADS, transform, jobs, sizeof *jobs);
    for (int i = 0; i < THREADS; ++i) {
        number *expected = by_launches(&layouts[0], jobs[i].x);
        check_near(jobs[i].y, expected, 0, "of thread", i);
        free(expected);
        wf_release(jobs[i].x);
        wf_release(jobs[i].y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_arrays),  cmocka_unit_test(test_other_arrays), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_many_layouts), cmocka_unit_test(test_in_a_stream),  cmocka_unit_test(test_threads),
    };
    return RUN_ON_ALL(tests);
}
