/* test_scan.c - prefix sums and other scans, reductions of blocks, and functions made of scans: the elements where a
 * mask holds.
 *
 * ctest: devices threads
 */
#include "on_devices.h"
#include "weft/functions.h"

static double join_of(wf_join join, double a, double b)
{
    return join == WF_JOIN_ADD ? a + b : join == WF_JOIN_MUL ? a * b : join == WF_JOIN_MIN ? fmin(a, b) : fmax(a, b);
}

/* Element (o, i, k) of [outer, n, inner], by definition. */
static double scanned(const double *x, wf_join join, int64_t n, int64_t inner, int64_t at, bool exclusive,
                      bool reversed)
{
    int64_t i = at / inner % n, row = at - i * inner;
    bool any = false;
    double sum = join == WF_JOIN_MUL ? 1 : join == WF_JOIN_MIN ? INFINITY : join == WF_JOIN_MAX ? -INFINITY : 0;
    for (int64_t step = 0; step < n; ++step) {
        int64_t j = reversed ? n - 1 - step : step;
        if (j == i && exclusive)
            break;
        sum = any ? join_of(join, sum, x[row + j * inner]) : x[row + j * inner];
        any = true;
        if (j == i)
            break;
    }
    return sum;
}

/* Small whole numbers, so that every order of summing is exact. */
static void directions(void **state)
{
    (void)state;
    static const wf_shape shapes[] = { { .rank = 1, .dim = { 1 } },       { .rank = 1, .dim = { 37 } },
                                       { .rank = 2, .dim = { 3, 5 } },    { .rank = 3, .dim = { 2, 7, 19 } },
                                       { .rank = 3, .dim = { 4, 6, 1 } }, { .rank = 2, .dim = { 0, 4 } } };
    static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MUL, WF_JOIN_MIN, WF_JOIN_MAX };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        double x[512];
        uint64_t random = k;
        for (int i = 0; i < 512; ++i)
            x[i] = test_random(&random) % 4 == 0 ? -2 : 1;
        wf_array *a = array_of(ctx, WF_F64, shapes[k], x);
        for (int axis = 0; axis < shapes[k].rank; ++axis)
            for (unsigned how = 0; how < 16; ++how) {
                wf_join join = joins[how >> 2];
                int64_t inner = 1;
                for (int d = axis + 1; d < shapes[k].rank; ++d)
                    inner *= shapes[k].dim[d];
                wf_graph *g = wf_begin(ctx);
                wf_array *s = wf_keep(wf_scan(join, wf_in(g, a), axis, how & 1, how & 2));
                OK(ctx, wf_run(g));
                double *got = contents(s);
                for (int64_t i = 0; i < wf_array_count(s); ++i)
                    assert_true(got[i] == scanned(x, join, shapes[k].dim[axis], inner, i, how & 1, how & 2));
                free(got);
                wf_release(s);
            }
        wf_release(a);
    }
}

/* Scans of computed values, used in later operations; and the dtypes of results. */
static void of_values(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(6), (const int32_t[]){ 3, 1, 4, 1, 5, 9 });
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_mul(wf_in(g, a), 2), s = wf_scan(WF_JOIN_ADD, v, 0, false, false);
    wf_array *back = wf_keep(wf_sub(wf_reverse(s, 0), wf_cast(v, WF_I64)));
    wf_array *twice =
        wf_keep(wf_scan(WF_JOIN_ADD, wf_scan(WF_JOIN_MAX, wf_in(g, a), 0, false, false), -1, true, false));
    wf_array *some = wf_keep(wf_scan(WF_JOIN_OR, wf_gt(v, 7), 0, false, false));
    wf_array *total = wf_keep(wf_sum(s, WF_ALL_AXES));
    wf_array *odd = wf_keep(wf_scan(WF_JOIN_ADD, wf_slice(wf_in(g, a), 0, 5, WF_END_INDEX, -2), 0, false, false));
    OK(ctx, wf_run(g));
    const int64_t want_back[] = { 40, 26, 10, 14, -2, -12 }, want_twice[] = { 0, 3, 6, 10, 14, 19 },
                  want_odd[] = { 9, 10, 11 };
    const uint8_t want_some[] = { 0, 0, 1, 1, 1, 1 };
    int64_t *b = contents(back), *t = contents(twice), *o = contents(odd);
    uint8_t *m = contents(some);
    assert_memory_equal(b, want_back, sizeof want_back);
    assert_memory_equal(t, want_twice, sizeof want_twice);
    assert_memory_equal(o, want_odd, sizeof want_odd);
    assert_memory_equal(m, want_some, sizeof want_some);
    assert_int_equal(wf_array_dtype(some), WF_BOOL);
    int64_t *sum = contents(total);
    assert_int_equal(*sum, 6 + 8 + 16 + 18 + 28 + 46);
    free(b), free(t), free(o), free(m), free(sum);
    wf_array *all[] = { a, back, twice, some, total, odd };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

/* A scan sees the contents of the time when it was recorded; a later assignment does not change it. */
static void order(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(4), (const float[]){ 1, 2, 3, 4 });
    wf_graph *g = wf_begin(ctx);
    wf_val before = wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false);
    wf_out(g, a, wf_scan(WF_JOIN_MUL, wf_in(g, a), 0, false, false));
    wf_array *late = wf_keep(wf_add(before, wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, true)));
    OK(ctx, wf_run(g));
    EXPECT_F32(a, 1, 2, 6, 24);
    EXPECT_F32(late, 34, 35, 36, 34);
    wf_release(a);
    wf_release(late);
}

/* How many kernels and scans a recording becomes. */
static int stages_of(wf_kernel *k)
{
    size_t n = 0;
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, NULL, 0, &n));
    char *text = malloc(n + 1);
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_KERNELS, text, n + 1, &n));
    const char *of = strstr(text, "# stage 1 of ");
    int stages = of ? atoi(of + strlen("# stage 1 of ")) : 0;
    free(text);
    return stages;
}

/* A scan is written directly to the array that it is assigned to, also in place, unless a later operation needs the
 * old contents. */
static void into_arrays(void **state)
{
    (void)state;
    static const float numbers[] = { 1, 2, 3, 4 };
    for (int how = 0; how < 8; ++how) {
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(4), numbers), *b = array_of(ctx, WF_F32, WF_SHAPE(4), numbers),
                 *c = NULL, *left = wf_view_slice(a, 0, 0, 3, 1), *right = wf_view_slice(a, 0, 1, 4, 1);
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), s = wf_scan(WF_JOIN_ADD, v, 0, false, false), twice = wf_mul(v, 2);
        static const int stages[] = { 1, 1, 2, 3, 2, 2, 2, 2 }, on_gpu[] = { 1, 1, 1, 2, 2, 1, 2, 2 };
        int expected = is_on_gpu() ? on_gpu[how] : stages[how]; /* there in the scan's kernels, if that is in order */
        switch (how) {
        case 0:
            wf_out(g, b, s);
            break;
        case 1:
            wf_out(g, a, s);
            break;
        case 2: /* what feeds it goes there first */
            wf_out(g, b, wf_scan(WF_JOIN_MAX, twice, 0, true, true));
            break;
        case 3: /* through a copy of what was there */
            wf_out(g, a, s);
            c = wf_keep(wf_add(v, wf_in(g, a)));
            break;
        case 4: /* used again */
            wf_out(g, b, s);
            c = wf_keep(wf_reverse(s, 0));
            break;
        case 5: /* it does not stay */
            wf_out(g, b, s);
            wf_out(g, b, wf_sub(wf_in(g, b), 1));
            c = wf_keep(wf_add(s, 1));
            break;
        case 6: /* its operands overlap the array */
            wf_out(g, right, wf_scan(WF_JOIN_ADD, wf_in(g, left), 0, false, false));
            break;
        default: /* of what a kernel made before */
            wf_out(g, b, wf_add(wf_in(g, b), 10));
            wf_out(g, a, wf_scan(WF_JOIN_ADD, wf_in(g, b), 0, false, false));
            break;
        }
        wf_kernel *k = wf_compile(g);
        assert_non_null(k);
        if (stages_of(k) != expected)
            fail_msg("case %d: %d stages", how, stages_of(k));
        OK(ctx, wf_launch(k, WF_NO_ARGS));
        switch (how) {
        case 1:
            EXPECT_F32(a, 1, 3, 6, 10);
            break;
        case 2:
            EXPECT_F32(b, 8, 8, 8, -INFINITY);
            break;
        case 3:
            EXPECT_F32(a, 1, 3, 6, 10);
            EXPECT_F32(c, 2, 5, 9, 14);
            break;
        case 4:
            EXPECT_F32(b, 1, 3, 6, 10);
            EXPECT_F32(c, 10, 6, 3, 1);
            break;
        case 5:
            EXPECT_F32(b, 0, 2, 5, 9);
            EXPECT_F32(c, 2, 4, 7, 11);
            break;
        case 6:
            EXPECT_F32(a, 1, 1, 3, 6);
            break;
        case 7:
            EXPECT_F32(a, 11, 23, 36, 50);
            EXPECT_F32(b, 11, 12, 13, 14);
            break;
        default:
            EXPECT_F32(b, 1, 3, 6, 10);
        }
        wf_kernel_free(k);
        wf_release(a), wf_release(b), wf_release(c), wf_release(left), wf_release(right);
    }
}

static void every_dtype(void **state)
{
    (void)state;
    for (int t = 0; t < TEST_DTYPES; ++t)
        for (wf_join join = WF_JOIN_ADD; join <= WF_JOIN_XOR; join = (wf_join)(join + 1)) {
            wf_dtype dtype = test_dtypes[t];
            bool sums = join == WF_JOIN_ADD || join == WF_JOIN_MUL, bits = join >= WF_JOIN_AND;
            if ((bits && dtype >= WF_F16) || (dtype == WF_BOOL && (join == WF_JOIN_MIN || join == WF_JOIN_MAX)))
                continue;
            double x[9] = { 1, 0, 1, 1, 0, 0, 1, 1, 1 };
            wf_array *wide = array_of(ctx, WF_F64, WF_SHAPE(9), x), *a = wf_array_cast(wide, dtype);
            wf_graph *g = wf_begin(ctx);
            wf_val v = wf_scan(join, wf_in(g, a), 0, false, false);
            wf_dtype out = wf_val_dtype(v);
            bool is_unsigned = dtype == WF_U8 || dtype == WF_U16 || dtype == WF_U32 || dtype == WF_U64;
            assert_int_equal(out, !sums || dtype >= WF_F16 ? dtype : is_unsigned ? WF_U64 : WF_I64);
            wf_array *s = wf_keep(wf_cast(v, WF_F64));
            OK(ctx, wf_run(g));
            double *got = contents(s), want = x[0];
            for (int i = 0; i < 9; ++i) {
                int p = (int)want, q = (int)x[i];
                if (i)
                    want = join == WF_JOIN_ADD                                                 ? p + q
                           : join == WF_JOIN_MUL || join == WF_JOIN_MIN || join == WF_JOIN_AND ? p & q
                           : join == WF_JOIN_XOR                                               ? p ^ q
                                                                                               : p | q;
                assert_true(got[i] == want);
            }
            free(got);
            wf_release(wide);
            wf_release(a);
            wf_release(s);
        }
}

/* Long rows: several pieces, partial ones, several threads; the same bits for any number of them. */
static void long_rows(void **state)
{
    (void)state;
    enum { N = 70001 };
    static float x[N];
    for (int i = 0; i < N; ++i)
        x[i] = (float)(i % 1013) * 0.37f - 100;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), x);
    float *first = NULL;
    for (int threads = 1; threads <= 3; ++threads)
        for (int view = 0; view < 2; ++view) {
            wf_set_threads(ctx, threads);
            wf_graph *g = wf_begin(ctx);
            wf_val v = view ? wf_reverse(wf_reverse(wf_mul(wf_in(g, a), 1), 0), 0) : wf_in(g, a);
            wf_array *s = wf_keep(wf_scan(WF_JOIN_ADD, v, 0, false, false));
            OK(ctx, wf_run(g));
            float *got = contents(s);
            double sum = 0;
            for (int i = 0; i < N && !first; ++i) {
                sum += (double)x[i];
                assert_true(fabs((double)got[i] - sum) <= 1e-6 * (fabs(sum) + 1e3));
            }
            if (first)
                assert_memory_equal(got, first, sizeof x);
            else
                first = got;
            if (got != first)
                free(got);
            wf_release(s);
        }
    wf_set_threads(ctx, 2);
    free(first);
    wf_release(a);
}

/* Columns of several parts, few and many, of whole and other numbers; the same bits for any number of threads. */
static void long_columns(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 1, 70001, 2 }, { 2, 9000, 5 },  { 1, 800, 131 },
                                         { 3, 300, 100 }, { 1, 200, 700 }, { 1, 130, 1100 } };
    enum { MOST = 150000 };
    static int32_t whole[MOST];
    static float x[MOST];
    uint64_t random = 1;
    for (int i = 0; i < MOST; ++i)
        x[i] = (float)(whole[i] = (int32_t)(test_random(&random) >> 40) % 2000 - 1000) * 0.37f;
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; ++c)
        for (int how = 0; how < 4; ++how) {
            const int64_t *d = shapes[c];
            bool exclusive = how & 1, reversed = how & 2;
            wf_shape shape = { .rank = 3, .dim = { d[0], d[1], d[2] } };
            wf_array *a = array_of(ctx, WF_I32, shape, whole), *b = array_of(ctx, WF_F32, shape, x);
            float *first = NULL;
            for (int threads = 1; threads <= (wf_context_device(ctx) == WF_CPU ? 3 : 1); ++threads) {
                wf_set_threads(ctx, threads);
                wf_graph *g = wf_begin(ctx);
                wf_array *s = wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, a), 1, exclusive, reversed));
                wf_array *t = wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, b), 1, exclusive, reversed));
                OK(ctx, wf_run(g));
                int64_t *sums = contents(s);
                float *got = contents(t);
                for (int64_t column = 0; column < d[0] * d[2]; ++column) {
                    int64_t sum = 0, at = column / d[2] * d[1] * d[2] + column % d[2];
                    double real = 0, size = 1;
                    for (int64_t i = 0; i < d[1]; ++i) {
                        int64_t k = at + (reversed ? d[1] - 1 - i : i) * d[2], next = sum + whole[k];
                        double real_next = real + (double)x[k];
                        size += fabs((double)x[k]);
                        assert_true(sums[k] == (exclusive ? sum : next));
                        assert_true(fabs((double)got[k] - (exclusive ? real : real_next)) <=
                                    1e-12 * size + 6e-8 * fabs((double)got[k]));
                        sum = next;
                        real = real_next;
                    }
                }
                if (first)
                    assert_memory_equal(got, first, (size_t)wf_array_count(b) * sizeof *got);
                first = first ? first : got;
                if (first != got)
                    free(got);
                free(sums);
                wf_release(s), wf_release(t);
            }
            free(first);
            wf_release(a), wf_release(b);
        }
    wf_set_threads(ctx, 2);
}

static void signed_zeros(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2), (const float[]){ -0.0f, NAN });
    wf_graph *g = wf_begin(ctx);
    wf_array *s = wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false)),
             *e = wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, true, false)),
             *m = wf_keep(wf_scan(WF_JOIN_MIN, wf_in(g, a), 0, false, false));
    OK(ctx, wf_run(g));
    EXPECT_F32(s, -0.0f, NAN);
    EXPECT_F32(e, 0, -0.0f);
    EXPECT_F32(m, -0.0f, NAN);
    wf_release(a), wf_release(s), wf_release(e), wf_release(m);
}

/* Whatever a minimum of NaN is under fast math, it is the same everywhere. */
static void nan_and_fast_math(void **state)
{
    (void)state;
    float x[4] = { NAN, -3, NAN, 2 }, here[4], there[4];
    wf_context *both[] = { ctx, test_context(WF_INTERP, 1) };
    for (int i = 0; i < 2; ++i) {
        wf_set_flags(both[i], WF_FLAG_FAST_MATH, 0);
        wf_array *a = wf_empty(both[i], WF_F32, WF_SHAPE(4));
        OK(both[i], wf_upload(a, x, sizeof x));
        wf_graph *g = wf_begin(both[i]);
        wf_array *out = wf_keep(wf_scan(WF_JOIN_MIN, wf_in(g, a), 0, false, false));
        OK(both[i], wf_run(g));
        OK(both[i], wf_download(out, i ? there : here, sizeof x));
        wf_set_flags(both[i], 0, WF_FLAG_FAST_MATH);
        wf_release(a), wf_release(out);
    }
    for (int i = 0; i < 4; ++i)
        assert_true(here[i] == there[i] || (here[i] != here[i] && there[i] != there[i]));
    wf_context_free(both[1]);
}

static void complex_numbers(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_C64, WF_SHAPE(3), (const float[]){ 1, 2, 3, 4, 5, 6 });
    wf_graph *g = wf_begin(ctx);
    wf_array *s = wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false));
    OK(ctx, wf_run(g));
    float *got = contents(s);
    assert_memory_equal(got, ((const float[]){ 1, 2, 4, 6, 9, 12 }), 6 * sizeof(float));
    free(got);
    wf_release(a), wf_release(s);
}

static void blocks(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(6), (const float[]){ 1, 2, 3, 4, 5, 6 });
    wf_array *b = array_of(ctx, WF_F32, WF_SHAPE(2, 3), (const float[]){ 1, 2, 3, 4, 5, 6 });
    wf_graph *g = wf_begin(ctx);
    wf_array *part = wf_keep(wf_block_reduce(WF_JOIN_ADD, wf_in(g, a), 4)),
             *even = wf_keep(wf_block_reduce(WF_JOIN_MAX, wf_in(g, a), 3)),
             *less = wf_keep(wf_block_reduce(WF_JOIN_ADD, wf_in(g, b), 7)),
             *rows = wf_keep(wf_block_reduce(WF_JOIN_MUL, wf_in(g, b), 2)),
             *dot = wf_keep(wf_dot(wf_in(g, a), wf_in(g, a))),
             *row = wf_keep(wf_concat(1, wf_in(g, b), wf_mul(wf_in(g, b), 10), wf_slice(wf_in(g, b), 1, 0, 1, 1)));
    wf_array *line = wf_keep(wf_linspace(g, WF_F32, 5, -1, 1));
    wf_array *all = wf_keep(wf_cast(wf_all(wf_gt(wf_in(g, b), 3), WF_AXES(1)), WF_F32)),
             *any = wf_keep(wf_cast(wf_any(wf_eq(wf_in(g, b), 2), WF_AXES(1)), WF_F32));
    OK(ctx, wf_run(g));
    EXPECT_F32(part, 10, 11);
    EXPECT_F32(even, 3, 6);
    EXPECT_F32(less, 6, 15);
    EXPECT_F32(rows, 2, 3, 20, 6);
    EXPECT_F32(dot, 91);
    EXPECT_F32(row, 1, 2, 3, 10, 20, 30, 1, 4, 5, 6, 40, 50, 60, 4);
    EXPECT_F32(line, -1, -0.5f, 0, 0.5f, 1);
    EXPECT_F32(all, 0, 1);
    EXPECT_F32(any, 1, 0);
    wf_array *every[] = { a, b, part, even, less, rows, dot, row, line, all, any };
    for (size_t i = 0; i < sizeof every / sizeof *every; ++i)
        wf_release(every[i]);
}

static void masks(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2, 3), (const float[]){ 1, -2, 3, -4, -5, 6 });
    wf_graph *g = wf_begin(ctx);
    wf_array *mask = wf_keep(wf_gt(wf_in(g, a), 0)), *none = wf_keep(wf_gt(wf_in(g, a), 9));
    OK(ctx, wf_run(g));
    wf_array *where = wf_array_where(mask), *some = wf_array_compress(a, mask), *empty = wf_array_where(none),
             *nothing = wf_array_compress(a, none);
    int64_t *at = contents(where);
    assert_int_equal(wf_array_count(where), 3);
    assert_true(at[0] == 0 && at[1] == 2 && at[2] == 5);
    EXPECT_F32(some, 1, 3, 6);
    assert_int_equal(wf_array_count(empty), 0);
    assert_int_equal(wf_array_count(nothing), 0);
    assert_int_equal(wf_array_dtype(empty), WF_I64);
    assert_null(wf_array_compress(where, mask));
    EXPECT(ctx, wf_last_status(ctx), WF_ERR_SHAPE);
    free(at);
    wf_array *all[] = { a, mask, none, where, some, empty, nothing };
    for (int i = 0; i < 7; ++i)
        wf_release(all[i]);
}

/* Masks of values that no array holds: pending effects run first, and do not change the values. */
static void masks_of_values(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(2, 3), (const float[]){ 1, -2, 3, -4, -5, 6 });
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_mul(wf_in(g, a), 2), low = wf_lt(v, 0);
    wf_array *some = wf_compress(v, low), *none = wf_compress(v, wf_gt(v, 100)),
             *all = wf_compress(wf_sub(v, 1), wf_ge(v, -100));
    EXPECT_F32(some, -4, -8, -10);
    assert_int_equal(wf_array_state(some), WF_STATE_READY);
    assert_int_equal(wf_array_count(none), 0);
    EXPECT_F32(all, 1, -5, 5, -9, -11, 11);
    wf_out(g, a, wf_add(wf_in(g, a), 10)); /* the value and mask below are of what was there before */
    wf_array *before = wf_compress(wf_add(v, 1), low);
    EXPECT_F32(before, -3, -7, -9);
    EXPECT_F32(a, 11, 8, 13, 6, 5, 16);
    wf_array *columns = wf_compress(wf_in(g, a), wf_reshape(wf_ne(wf_iota(g, WF_SHAPE(3), 0), 1), WF_SHAPE(1, 3)));
    EXPECT_F32(columns, 11, 13, 6, 16);
    wf_array *after = wf_keep(wf_in(g, a));
    OK(ctx, wf_run(g));
    EXPECT_F32(after, 11, 8, 13, 6, 5, 16);
    wf_array *nothing = wf_empty(ctx, WF_F32, WF_SHAPE(0, 2));
    g = wf_begin(ctx);
    wf_array *still = wf_compress(wf_in(g, nothing), wf_gt(wf_in(g, nothing), 0));
    assert_non_null(still);
    assert_int_equal(wf_array_count(still), 0);
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    assert_null(wf_compress(wf_in(g, a), wf_iota(g, WF_SHAPE(5), 0)));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE, "do not broadcast");
    g = wf_begin(ctx);
    assert_null(wf_compress(3, wf_iota(g, WF_SHAPE(5), 0)));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "must be no numbers");
    wf_array *every[] = { a, some, none, all, before, columns, after, nothing, still };
    for (size_t i = 0; i < sizeof every / sizeof *every; ++i)
        wf_release(every[i]);
}

/* The count of chosen elements waits for queued work. */
static void masks_in_a_stream(void **state)
{
    (void)state;
    wf_stream *s = wf_stream_new(ctx, 0);
    OK(ctx, wf_set_stream(ctx, 0, s));
    wf_array *a = wf_array_arange(ctx, WF_F32, 1000, 0, 1);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_mul(wf_in(g, a), 2);
    wf_out(g, a, wf_scan(WF_JOIN_ADD, wf_in(g, a), 0, false, false));
    wf_array *some = wf_compress(v, wf_gt(v, 1993)),
             *sums = wf_compress(wf_in(g, a), wf_lt(wf_iota(g, WF_SHAPE(1000), 0), 5));
    OK(ctx, wf_run(g));
    EXPECT_F32(some, 1994, 1996, 1998);
    EXPECT_F32(sums, 0, 1, 3, 6, 10);
    OK(ctx, wf_set_stream(ctx, 0, NULL));
    wf_release(a), wf_release(some), wf_release(sums);
    wf_stream_free(s);
}

/* Many, over several parts of a row. */
static void many_chosen(void **state)
{
    (void)state;
    enum { N = 100003 };
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_iota(g, WF_SHAPE(N), 0);
    wf_array *some = wf_compress(wf_mul(i, i), wf_eq(wf_mod(i, 7), 3));
    wf_drop(g);
    int64_t *got = contents(some);
    assert_int_equal(wf_array_count(some), (N + 3) / 7);
    for (int64_t k = 0; k < wf_array_count(some); ++k)
        assert_int_equal(got[k], (7 * k + 3) * (7 * k + 3));
    free(got);
    wf_release(some);
}

/* Scans recorded before an evaluation are usable after it. */
static void across_evaluations(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(5), (const float[]){ 5, 1, 4, 2, 3 });
    wf_graph *g = wf_begin(ctx);
    wf_val unused = wf_mul(wf_in(g, a), 7), v = wf_add(wf_in(g, a), 1);
    wf_val s = wf_scan(WF_JOIN_ADD, v, 0, false, false), r = wf_reverse(s, 0);
    wf_array *back = wf_keep(wf_add(r, wf_gather_or(v, 100, wf_sub(wf_iota(g, WF_SHAPE(5), 0), 1))));
    OK(ctx, wf_eval(g));
    EXPECT_F32(back, 120, 22, 15, 13, 9);
    wf_array *more = wf_keep(wf_sub(wf_slice(s, 0, 1, WF_END_INDEX, 1), wf_slice(v, 0, 0, -1, 1)));
    wf_array *last = wf_keep(wf_slice(unused, 0, -1, WF_END_INDEX, 1));
    OK(ctx, wf_run(g));
    EXPECT_F32(more, 2, 11, 11, 17);
    EXPECT_F32(last, 21);
    wf_release(a), wf_release(back), wf_release(more), wf_release(last);
}

static void mistakes(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    wf_graph *g = wf_begin(ctx);
    wf_keep(wf_scan(WF_JOIN_ADD, wf_in(g, a), 1, false, false));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "axis 1 is out of range");
    g = wf_begin(ctx);
    wf_keep(wf_scan(WF_JOIN_XOR, wf_in(g, a), 0, false, false));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_scan");
    g = wf_begin(ctx);
    wf_keep(wf_scan(WF_JOIN_EXCH, wf_in(g, a), 0, false, false));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "wf_scan");
    g = wf_begin(ctx);
    wf_keep(wf_block_reduce(WF_JOIN_ADD, wf_in(g, a), 0));
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "block of at least 1");
    g = wf_begin(ctx);
    wf_keep(wf_concat(0, wf_in(g, a), wf_cast(wf_in(g, a), WF_F64)));
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_concat: f32 meets f64");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions),
        cmocka_unit_test(of_values),
        cmocka_unit_test(order),
        cmocka_unit_test(into_arrays),
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(signed_zeros),
        cmocka_unit_test(nan_and_fast_math),
        cmocka_unit_test(long_columns),
        cmocka_unit_test(complex_numbers),
        cmocka_unit_test(blocks),
        cmocka_unit_test(masks),
        cmocka_unit_test(masks_of_values),
        cmocka_unit_test(many_chosen),
        cmocka_unit_test(masks_in_a_stream),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(across_evaluations),
    };
    return RUN_ON_ALL(tests);
}
