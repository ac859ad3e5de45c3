/* test_guarantees.c - what operators may rely on, shown by integers and counting hooks: how often and in which order
 * sections run, every index once, initial values once, results once, empty spaces, outputs that overlap; for any
 * number of threads.
 */
#include "on_devices.h"

static const int32_t threads[] = { 1, 2, 3, 7 };
enum { WAYS = sizeof threads / sizeof *threads };

/* Returns a context with many threads. */
static wf_context *many(void)
{
    static wf_device device;
    wf_array *a = wf_empty(ctx, WF_I8, WF_SHAPE(1));
    device = wf_array_device(a);
    wf_release(a);
    return test_context(device, 7);
}

static wf_array *zeros(wf_context *of, wf_shape shape) { return wf_full(of, WF_I64, shape, 0); }

static void expect_all(wf_array *a, int64_t want, const char *what)
{
    int64_t *x = contents(a);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (x[i] != want)
            fail_msg("%s: element %d is %lld, not %lld", what, (int)i, (long long)x[i], (long long)want);
    free(x);
}

/* Per point of the kept axes: WF_SECTION_INIT before all points, WF_SECTION_DEINIT after them, the join of all partial
 * results before the one WF_SECTION_POST. What each section finds is what the others before it have left. */
static void order(wf_context *of, wf_shape shape, wf_axes axes, int32_t limit)
{
    int64_t points = 1, inner = 1;
    wf_shape kept = shape;
    for (int d = 0; d < shape.rank; ++d) {
        points *= shape.dim[d];
        if (axes >> d & 1)
            inner *= shape.dim[d], kept.dim[d] = 1;
    }
    wf_array *inits = zeros(of, WF_SHAPE(1)), *early = zeros(of, WF_SHAPE(1)), *late = zeros(of, WF_SHAPE(1)),
             *deinits = zeros(of, WF_SHAPE(1)), *seen = zeros(of, WF_SHAPE(1)), *posts = zeros(of, kept),
             *calls = zeros(of, kept);
    wf_graph *g = wf_begin(of, .shape = shape, .reduce = axes, .threads = limit, .serial_below = 1);
    wf_array *mine = wf_scratch(g, WF_I64, WF_SHAPE(2), true);
    wf_var built_in = wf_reduced(g, WF_I64, 0, WF_JOIN_ADD), custom = wf_reduced(g, WF_I64, 0, WF_JOIN_CUSTOM);
    wf_section(g, WF_SECTION_INIT);
    wf_accumulate(g, WF_JOIN_ADD, inits, 1, 0);
    wf_accumulate(g, WF_JOIN_ADD, early, wf_read(g, mine, 1), 0); /* points before it: none */
    wf_write(g, mine, 77, 0);
    wf_section(g, WF_SECTION_CALL);
    wf_accumulate(g, WF_JOIN_ADD, mine, wf_eq(wf_read(g, mine, 0), 77), 1);
    wf_inc(built_in, 1);
    wf_inc(custom, 1);
    wf_section(g, WF_SECTION_DEINIT);
    wf_accumulate(g, WF_JOIN_ADD, deinits, 1, 0);
    wf_accumulate(g, WF_JOIN_ADD, seen, wf_read(g, mine, 1), 0);
    wf_accumulate(g, WF_JOIN_ADD, late, wf_ne(wf_read(g, mine, 1), (double)inner), 0);
    wf_section(g, WF_SECTION_JOIN);
    wf_inc(custom, wf_get(wf_other(custom)));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, posts, wf_add(wf_in(g, posts), 1));
    wf_out(g, calls, wf_add(wf_mul(built_in, 1000000), custom));
    OK(of, wf_run(g));
    expect_all(inits, points / inner, "WF_SECTION_INIT");
    expect_all(early, 0, "points before WF_SECTION_INIT");
    expect_all(seen, points, "points that see what WF_SECTION_INIT wrote");
    expect_all(deinits, points / inner, "WF_SECTION_DEINIT");
    expect_all(late, 0, "points after WF_SECTION_DEINIT");
    expect_all(posts, 1, "WF_SECTION_POST");
    expect_all(calls, inner * 1000001, "WF_SECTION_CALL");
    wf_array *all[] = { inits, early, late, deinits, seen, posts, calls };
    for (int i = 0; i < 7; ++i)
        wf_release(all[i]);
}

static void test_order(void **state)
{
    (void)state;
    wf_context *of = many();
    for (int t = 0; t < WAYS; ++t)
        for (wf_axes axes = 1; axes < 8; ++axes) {
            order(of, WF_SHAPE(3, 5, 40), axes, threads[t]);
            order(of, WF_SHAPE(1, 70, 1), axes, threads[t]);
        }
    order(of, WF_SHAPE(40, 9, 1000), WF_AXES(0, 2), 7);
    order(of, WF_SHAPE(400000), WF_AXES(0), 7);
    wf_context_free(of);
}

/* Counts the visits of each index, for any rank and any dtype of indices. */
static void test_every_index_once(void **state)
{
    (void)state;
    static const int64_t extents[] = { 5, 3, 1, 7, 2, 4, 3, 2 };
    static const wf_dtype dtypes[] = { WF_I64, WF_I32, WF_U32, WF_I16, WF_U8 };
    wf_context *of = many();
    for (int rank = 1; rank <= 8; ++rank)
        for (int t = 0; t < WAYS; ++t) {
            wf_shape shape = { .rank = rank };
            for (int d = 0; d < rank; ++d)
                shape.dim[d] = rank == 1 ? 100003 : rank == 2 ? 300 + d : extents[d];
            wf_array *n = zeros(of, shape);
            wf_graph *g = wf_begin(of, .shape = shape, .threads = threads[t], .serial_below = 1);
            wf_val at[WF_MAX_RANK];
            for (int d = 0; d < rank; ++d)
                at[d] = wf_cast(wf_index(g, d), dtypes[rank < 3 ? t % 2 : (rank + t) % 5]);
            wf_accumulate_n(g, WF_JOIN_ADD, WF_MODE_AUTO, n, WF_V(1), (wf_vals){ at, (size_t)rank });
            OK(of, wf_run(g));
            expect_all(n, 1, "an index");
            wf_release(n);
        }
    wf_context_free(of);
}

/* Starting values that are not neutral, in every join and over any axes. */
static void test_starting_values(void **state)
{
    (void)state;
    static const struct {
        wf_join join;
        int64_t start, value, want; /* of 60 equal values along the reduced axis */
    } row[] = { { WF_JOIN_ADD, 1000, 2, 1120 }, { WF_JOIN_MUL, 5, -1, 5 },  { WF_JOIN_MIN, -3, 2, -3 },
                { WF_JOIN_MAX, 9, 2, 9 },       { WF_JOIN_MIN, 3, 2, 2 },   { WF_JOIN_AND, 12, 10, 8 },
                { WF_JOIN_OR, 12, 3, 15 },      { WF_JOIN_XOR, 12, 1, 12 }, { WF_JOIN_XOR, 0, 7, 0 },
                { WF_JOIN_ADD, -60, 1, 0 },     { WF_JOIN_MUL, -1, 1, -1 } };
    wf_context *of = many();
    for (int t = 0; t < WAYS; ++t)
        for (size_t k = 0; k < sizeof row / sizeof *row; ++k)
            for (wf_axes axes = 1; axes < 3; ++axes) {
                wf_shape shape = axes == 1 ? WF_SHAPE(60, 5000) : WF_SHAPE(5000, 60), kept = shape;
                kept.dim[axes == 1 ? 0 : 1] = 1;
                wf_array *out = zeros(of, kept), *a = wf_full(of, WF_I64, shape, (double)row[k].value);
                wf_graph *g = wf_begin(of, .elements = true, .reduce = axes, .threads = threads[t], .serial_below = 1);
                wf_var x = wf_reduced(g, WF_I64, (double)row[k].start, row[k].join);
                wf_val v = wf_in(g, a);
                wf_set(x, row[k].join == WF_JOIN_ADD   ? wf_add(x, v)
                          : row[k].join == WF_JOIN_MUL ? wf_mul(x, v)
                          : row[k].join == WF_JOIN_MIN ? wf_min(x, v)
                          : row[k].join == WF_JOIN_MAX ? wf_max(x, v)
                          : row[k].join == WF_JOIN_AND ? wf_and(x, v)
                          : row[k].join == WF_JOIN_OR  ? wf_or(x, v)
                                                       : wf_xor(x, v));
                wf_section(g, WF_SECTION_POST);
                wf_out(g, out, x);
                OK(of, wf_run(g));
                expect_all(out, row[k].want, "a starting value");
                wf_release(out), wf_release(a);
            }
    wf_context_free(of);
}

/* Without points there are no calls, but the sections around them run and results are written. */
static void test_no_points(void **state)
{
    (void)state;
    wf_array *none = zeros(ctx, WF_SHAPE(4, 0)), *out = wf_full(ctx, WF_I64, WF_SHAPE(4, 1), 10),
             *all = wf_full(ctx, WF_I64, WF_SHAPE(1, 1), 10), *n = zeros(ctx, WF_SHAPE(3));
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(4, 0), .reduce = k ? WF_ALL_AXES : WF_AXES(1));
        wf_var sum = wf_reduced(g, WF_I64, 5, WF_JOIN_ADD), most = wf_reduced(g, WF_I64, -9, WF_JOIN_MAX);
        wf_section(g, WF_SECTION_INIT);
        wf_accumulate(g, WF_JOIN_ADD, n, 1, 0);
        wf_section(g, WF_SECTION_CALL);
        wf_val v = wf_in(g, none);
        wf_accumulate(g, WF_JOIN_ADD, n, 1, 1);
        wf_inc(sum, v);
        wf_set(most, wf_max(most, v));
        wf_section(g, WF_SECTION_DEINIT);
        wf_accumulate(g, WF_JOIN_ADD, n, 1, 2);
        wf_section(g, WF_SECTION_POST);
        wf_array *to = k ? all : out;
        wf_out(g, to, wf_add(wf_in(g, to), wf_add(wf_mul(sum, 100), most)));
        OK(ctx, wf_run(g));
    }
    expect_all(out, 501, "the results of nothing");
    expect_all(all, 501, "the result of nothing");
    int64_t *x = contents(n);
    assert_true(x[0] == 5 && x[1] == 0 && x[2] == 5);
    free(x);
    wf_release(none), wf_release(out), wf_release(all), wf_release(n);
}

/* Two outputs in the same memory: whole, shifted, reversed. The results are those of one write after the other. */
static void two(const wf_site *s)
{
    wf_set(s->out[0], wf_add(s->in[0], 1));
    wf_set(s->out[1], wf_mul(s->in[0], 10));
}

static void test_outputs_overlap(void **state)
{
    (void)state;
    enum { N = 1003 };
    for (int way = 0; way < 4; ++way)
        for (int vectorize = 0; vectorize < 2; ++vectorize) {
            wf_array *flat = wf_array_arange(ctx, WF_I64, N + 1, 0, 1), *in = wf_array_arange(ctx, WF_I64, N, 1, 1);
            wf_array *low = wf_view_slice(flat, 0, 0, N, 1), *high = wf_view_slice(flat, 0, 1, N + 1, 1),
                     *back = wf_view_slice(low, 0, N - 1, WF_END_INDEX, -1);
            wf_array *second = way == 0 ? low : way == 1 ? high : way == 2 ? back : low, *source = way == 3 ? high : in;
            int64_t want[N + 1], v[N];
            for (int i = 0; i <= N; ++i)
                want[i] = i;
            for (int i = 0; i < N; ++i)
                v[i] = i + 1;
            for (int i = 0; i < N; ++i)
                want[i] = v[i] + 1;
            for (int i = 0; i < N; ++i)
                want[way == 1 ? i + 1 : way == 2 ? N - 1 - i : i] = v[i] * 10;
            OK(ctx, wf_apply(ctx, WF_ARRAYS(source), WF_ARRAYS(low, second),
                             WF_OPERATOR(.call = two, .vectorize = vectorize)));
            int64_t *x = contents(flat);
            for (int i = 0; i <= N; ++i)
                if (x[i] != want[i])
                    fail_msg("way %d: element %d is %d, not %d", way, i, (int)x[i], (int)want[i]);
            free(x);
            wf_array *all[] = { flat, in, low, high, back };
            for (int i = 0; i < 5; ++i)
                wf_release(all[i]);
        }
}

/* Every second element each: one kernel, no temporary; what is read again was written. */
static void test_interleaved_outputs(void **state)
{
    (void)state;
    wf_config config = { .size = sizeof config, .flags_on = WF_FLAG_NO_DISK_CACHE | WF_FLAG_HISTORY, .threads = 1 };
    wf_context *of = wf_context_new(&config);
    wf_array *flat = wf_full(of, WF_I64, WF_SHAPE(600), 0), *in = wf_array_arange(of, WF_I64, 300, 0, 1),
             *even = wf_view_slice(flat, 0, 0, WF_END_INDEX, 2), *odd = wf_view_slice(flat, 0, 1, WF_END_INDEX, 2);
    wf_history(of, &(wf_kernel_info){ .size = sizeof(wf_kernel_info) }, 1);
    OK(of, wf_apply(of, WF_ARRAYS(in), WF_ARRAYS(even, odd), WF_OPERATOR(.call = two, .vectorize = true)));
    assert_int_equal(wf_history(of, NULL, 0), 1);
    int64_t *x = contents(flat);
    for (int i = 0; i < 300; ++i)
        assert_true(x[2 * i] == i + 1 && x[2 * i + 1] == 10 * i);
    free(x);
    wf_release(flat), wf_release(in), wf_release(even), wf_release(odd);
    wf_context_free(of);
}

/* Inputs that an operator writes must have the operands' shape; outputs are no broadcast views. */
static void write_both(const wf_site *s)
{
    wf_set(s->in[0], wf_add(s->in[0], s->in[1]));
    wf_inc(s->in[1], 1);
}

static void test_shapes(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_I64, WF_SHAPE(5, 7), 1), *b = wf_full(ctx, WF_I64, WF_SHAPE(5, 7), 2),
             *row = wf_full(ctx, WF_I64, WF_SHAPE(7), 3), *wide = wf_view_broadcast(row, WF_SHAPE(5, 7));
    OK(ctx, wf_apply(ctx, WF_ARRAYS(a, b), WF_NO_ARRAYS, WF_OPERATOR(.call = write_both)));
    expect_all(a, 3, "the first input");
    expect_all(b, 3, "the second input");
    REFUSED(ctx, wf_apply(ctx, WF_ARRAYS(a, row), WF_NO_ARRAYS, WF_OPERATOR(.call = write_both)), WF_ERR_SHAPE, "(7)");
    REFUSED(ctx, wf_apply(ctx, WF_ARRAYS(a, wide), WF_NO_ARRAYS, WF_OPERATOR(.call = write_both)), WF_ERR_ARG,
            "read-only");
    expect_all(a, 3, "an input after a refusal");
    expect_all(row, 3, "an input after a refusal");
    wf_release(a), wf_release(b), wf_release(row), wf_release(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),           cmocka_unit_test(test_every_index_once),
        cmocka_unit_test(test_starting_values), cmocka_unit_test(test_no_points),
        cmocka_unit_test(test_outputs_overlap), cmocka_unit_test(test_interleaved_outputs),
        cmocka_unit_test(test_shapes)
    };
    return RUN_ON_CPU(tests);
}
