/* test_lanes_collide.c - accumulation where several lanes add to one element: every dtype, join and mode; all lanes,
 * some of them or none at one place; conditions that split the lanes. The result is that of one point after the other.
 * Numbers are small, so that sums of floats are exact in any order.
 *
 * ctest: devices sm_70
 */
#include "on_devices.h"

enum { N = 500, PLACES = 600 };
typedef enum pattern { ONE, FEW, RUNS, APART, PATTERNS } pattern;

static int64_t place_of(pattern p, int64_t i) { return p == ONE ? 3 : p == FEW ? i * i % 7 : p == RUNS ? i / 5 : i; }

static wf_val place(wf_graph *g, pattern p)
{
    wf_val i = wf_index(g, 0);
    return p == ONE ? wf_min(i, 3) : p == FEW ? wf_mod(wf_mul(i, i), 7) : p == RUNS ? wf_idiv(i, 5) : i;
}

static int64_t value_of(wf_dtype t, wf_join join, int64_t i)
{
    if (t == WF_BOOL)
        return i % 3 == 0;
    return join == WF_JOIN_MUL ? (i % 50 ? 1 : 2) : join == WF_JOIN_ADD ? i % 4 : i * 37 % 101;
}

static double joined(wf_join join, double a, double b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (join) {
    case WF_JOIN_ADD:
        return a + b;
    case WF_JOIN_MUL:
        return a * b;
    case WF_JOIN_MIN:
        return a < b ? a : b;
    case WF_JOIN_MAX:
        return a > b ? a : b;
    case WF_JOIN_AND:
        return (double)(x & y);
    case WF_JOIN_OR:
        return (double)(x | y);
    default:
        return (double)(x ^ y);
    }
}

/* Returns the sum or product as an integer of dtype t holds it. */
static double wrapped(wf_dtype t, double x)
{
    return t == WF_I8 ? (int8_t)(int64_t)x : t == WF_U8 ? (uint8_t)(int64_t)x : x;
}

static void check(wf_dtype t, wf_join join, wf_mode mode, pattern p, bool some)
{
    double want[PLACES], start = join == WF_JOIN_MIN ? 90 : 1;
    for (int i = 0; i < PLACES; ++i)
        want[i] = start;
    for (int64_t i = 0; i < N; ++i) {
        double *w = &want[p == ONE && i < 3 ? i : place_of(p, i)];
        if (!some || i % 3 != 1)
            *w = wrapped(t, joined(join, *w, (double)value_of(t, join, i)));
    }
    int64_t x[N];
    for (int64_t i = 0; i < N; ++i)
        x[i] = value_of(t, join, i);
    wf_array *from = array_of(ctx, WF_I64, WF_SHAPE(N), x), *to = wf_full(ctx, t, WF_SHAPE(PLACES), start);
    wf_array *wide = wf_empty(ctx, WF_F64, WF_SHAPE(PLACES));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val v = wf_cast(wf_in(g, from), t);
    if (some)
        wf_accumulate_if_mode(g, wf_ne(wf_mod(wf_index(g, 0), 3), 1), join, mode, to, v, place(g, p));
    else
        wf_accumulate_mode(g, join, mode, to, v, place(g, p));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_out(g, wide, wf_in(g, to));
    OK(ctx, wf_run(g));
    double *got = contents(wide);
    for (int i = 0; i < PLACES; ++i)
        if (got[i] != want[i]) {
            print_error("%s, join %d, mode %x, pattern %d, %d: place %d has %g instead of %g\n", wf_dtype_name(t),
                        (int)join, (unsigned)mode, (int)p, (int)some, i, got[i], want[i]);
            fail();
        }
    free(got);
    wf_release(from), wf_release(to), wf_release(wide);
}

static void test_collisions(void **state)
{
    (void)state;
    static const wf_mode modes[] = { WF_MODE_AUTO, WF_MODE_DIRECT, WF_MODE_LOCAL };
    for (int i = 0; i < TEST_DTYPES; ++i)
        for (int j = WF_JOIN_ADD; j <= WF_JOIN_XOR; ++j) {
            wf_dtype t = test_dtypes[i];
            bool bits = j >= WF_JOIN_AND, real = t >= WF_F16;
            if (t == WF_BOOL ? !bits : bits && real)
                continue;
            for (int m = 0; m < 3; ++m)
                for (int p = (i + j) % 2; p < PATTERNS; p += 2)
                    check(t, (wf_join)j, modes[m], (pattern)p, (i + m + p / 2) % 2);
        }
}

/* Lanes that left a loop at different turns. */
static void test_in_loop(void **state)
{
    (void)state;
    wf_array *to = wf_full(ctx, WF_I32, WF_SHAPE(12), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(100));
    wf_val i = wf_index(g, 0), k;
    WF_FOR (g, k, 0, wf_mod(i, 12), 1) {
        wf_accumulate_mode(g, WF_JOIN_ADD, WF_MODE_LOCAL, to, 1, k);
    }
    WF_END(g);
    OK(ctx, wf_run(g));
    int32_t *got = contents(to), want[12] = { 0 };
    for (int n = 0; n < 100; ++n)
        for (int m = 0; m < n % 12; ++m)
            ++want[m];
    assert_memory_equal(got, want, sizeof want);
    free(got);
    wf_release(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_collisions), cmocka_unit_test(test_in_loop) };
    return RUN_ON_ALL(tests);
}
