/* test_copy_on_write.c - copies share memory until one of them is written: which of them moves then, views of copies
 * and copies of views, prepared launches that hold addresses, threads that write copies side by side.
 *
 * ctest: devices driver threads
 */
#include "on_devices.h"
#include "side_by_side.h"

enum { N = 1000 };

static wf_array *ramp(int64_t n, double first) { return wf_array_arange(ctx, WF_F32, n, first, 1); }

/* a[i] = first + i * step */
static void expect(wf_array *a, double first, double step, int line)
{
    float *got = contents(a);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(got[i] == (float)(first + step * (double)i))) {
            print_error("line %d: element %lld is %g\n", line, (long long)i, (double)got[i]);
            fail();
        }
    free(got);
}
#define EXPECT_RAMP(a, first) expect(a, first, 1, __LINE__)

/* a += x, by a recording */
static void increase(wf_array *a, double x)
{
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_in(g, a), x));
    OK(ctx, wf_run(g));
}

static void test_shares_until_written(void **state)
{
    (void)state;
    wf_array *a = ramp(N, 0), *b = wf_copy(a), *c = wf_copy(b), *other = ramp(N, 0);
    uint64_t id = wf_array_data_id(a);
    assert_true(id && wf_array_data_id(b) == id && wf_shares(a, c) && !wf_shares(a, other) && !wf_shares(a, NULL));
    increase(b, 10); /* a copy is written: it moves, alone */
    assert_true(wf_array_data_id(b) != id && wf_array_data_id(a) == id && wf_array_data_id(c) == id);
    EXPECT_RAMP(a, 0);
    EXPECT_RAMP(b, 10);
    EXPECT_RAMP(c, 0);
    uint64_t moved = wf_array_data_id(b);
    increase(b, 10); /* it has memory of its own now */
    assert_true(wf_array_data_id(b) == moved);
    increase(a, 1); /* a write to the source, which keeps its memory */
    assert_true(wf_array_data_id(a) == id && wf_array_data_id(c) != id);
    EXPECT_RAMP(a, 1);
    EXPECT_RAMP(b, 20);
    EXPECT_RAMP(c, 0);
    wf_release(a);
    wf_release(b);
    wf_release(c);
    wf_release(other);
}

/* Without elements a write copies nothing; the sanitizers see any access. */
static void test_empty(void **state)
{
    (void)state;
    wf_array *a = wf_empty(ctx, WF_F32, WF_SHAPE(3, 0)), *b = wf_copy(a), *c = wf_copy(a);
    increase(b, 1);
    increase(a, 1);
    assert_int_equal(wf_array_count(b) + wf_array_count(c), 0);
    wf_release(a);
    wf_release(b);
    wf_release(c);
}

static void test_sole_owner_writes_in_place(void **state)
{
    (void)state;
    wf_array *a = ramp(N, 5), *b = wf_copy(a);
    uint64_t id = wf_array_data_id(a);
    wf_release(a);
    increase(b, 1);
    assert_true(wf_array_data_id(b) == id);
    EXPECT_RAMP(b, 6);
    wf_array *c = wf_copy(b), *d = wf_copy(c);
    wf_release(b);
    increase(c, 1); /* d still shares the memory */
    assert_true(wf_array_data_id(c) != id && wf_array_data_id(d) == id);
    increase(d, 2); /* the last one */
    assert_true(wf_array_data_id(d) == id);
    EXPECT_RAMP(c, 7);
    EXPECT_RAMP(d, 8);
    wf_release(c);
    wf_release(d);
}

static void test_many_copies_move_together(void **state)
{
    (void)state;
    wf_array *a = ramp(N, 0), *copy[8];
    for (int i = 0; i < 8; ++i)
        copy[i] = wf_copy(i % 2 ? copy[i - 1] : a);
    increase(a, 100);
    for (int i = 1; i < 8; ++i)
        assert_true(wf_shares(copy[0], copy[i]) && !wf_shares(copy[0], a));
    for (int i = 0; i < 8; ++i) {
        EXPECT_RAMP(copy[i], 0);
        increase(copy[i], i);
    }
    for (int i = 0; i < 8; ++i) {
        EXPECT_RAMP(copy[i], i);
        for (int j = 0; j < i; ++j)
            assert_true(!wf_shares(copy[i], copy[j]));
    }
    for (int i = 0; i < 8; ++i)
        wf_release(copy[i]);
    EXPECT_RAMP(a, 100);
    wf_release(a);
}

static void test_views(void **state)
{
    (void)state;
    wf_array *a = ramp(N, 0), *copy = wf_copy(a), *view = wf_view_slice(copy, 0, 100, 200, 1);
    wf_array *back = wf_view_slice(copy, 0, -1, WF_END_INDEX, -1);
    assert_true(wf_shares(view, a) && wf_shares(back, a));
    increase(view, 1000); /* the copy and its views move together */
    assert_true(wf_shares(view, copy) && wf_shares(back, copy) && !wf_shares(view, a));
    EXPECT_RAMP(a, 0);
    EXPECT_RAMP(view, 1100);
    float *got = contents(copy), *reversed = contents(back);
    for (int i = 0; i < N; ++i) {
        assert_true(got[i] == (float)(i + (i >= 100 && i < 200 ? 1000 : 0)));
        assert_true(reversed[N - 1 - i] == got[i]);
    }
    free(got);
    free(reversed);
    wf_release(copy);
    wf_release(back);
    increase(view, 1); /* the copy of this view has been released */
    EXPECT_RAMP(view, 1101);
    wf_release(view);

    /* a copy of a view is a copy: neither sees writes to the other */
    wf_array *part = wf_view_slice(a, 0, 10, 20, 1), *own = wf_copy(part), *rest = wf_view_slice(a, 0, 20, 30, 1);
    assert_true(wf_shares(part, own));
    increase(rest, 7); /* other elements of the source */
    assert_true(wf_shares(part, a));
    increase(part, 500);
    EXPECT_RAMP(own, 10);
    EXPECT_RAMP(part, 510);
    EXPECT_RAMP(rest, 27);
    increase(own, 1);
    EXPECT_RAMP(own, 11);
    EXPECT_RAMP(part, 510);
    /* elements apart: copied at once */
    wf_array *odd = wf_view_slice(a, 0, 1, 9, 2), *dense = wf_copy(odd);
    assert_false(wf_shares(odd, dense));
    expect(dense, 1, 2, __LINE__);
    wf_array *wide = wf_view_broadcast(part, WF_SHAPE(3, 10)), *full = wf_copy(wide);
    assert_false(wf_shares(wide, full));
    increase(full, 0); /* it may be written */
    wf_array *all[] = { part, own, rest, odd, dense, wide, full, a };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

static void test_reads_and_other_writes(void **state)
{
    (void)state;
    wf_array *a = ramp(N, 0), *b = wf_copy(a), *out = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, wf_add(wf_in(g, a), wf_in(g, b))); /* a read moves nothing */
    OK(ctx, wf_run(g));
    assert_true(wf_shares(a, b));
    expect(out, 0, 2, __LINE__);
    g = wf_begin(ctx); /* both in one recording: one written, the other with the old contents */
    wf_out(g, a, wf_add(wf_in(g, b), 1));
    wf_out(g, out, wf_in(g, b));
    OK(ctx, wf_run(g));
    EXPECT_RAMP(a, 1);
    EXPECT_RAMP(b, 0);
    EXPECT_RAMP(out, 0);
    wf_release(b);
    b = wf_copy(a);
    float *data = malloc(N * sizeof *data);
    for (int i = 0; i < N; ++i)
        data[i] = (float)(i + 50);
    OK(ctx, wf_upload(b, data, N * sizeof *data));
    EXPECT_RAMP(a, 1);
    EXPECT_RAMP(b, 50);
    free(data);
    wf_release(b);
    b = wf_copy(a);
    g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_accumulate(g, WF_JOIN_ADD, b, 3, wf_index(g, 0));
    OK(ctx, wf_run(g));
    EXPECT_RAMP(a, 1);
    EXPECT_RAMP(b, 4);
    wf_release(out);
    wf_release(b);
    wf_release(a);
}

static void test_map_separates_for_good(void **state)
{
    (void)state;
    if (is_on_gpu()) /* wf_map refuses */
        skip();
    wf_array *a = ramp(N, 0), *b = wf_copy(a), *c = wf_copy(a);
    void *p, *again;
    OK(ctx, wf_map(a, &p, NULL));
    assert_true(!wf_shares(a, b) && wf_shares(b, c));
    ((float *)p)[0] = 77;
    EXPECT_RAMP(b, 0);
    wf_array *d = wf_copy(a); /* no array would see a write */
    assert_false(wf_shares(a, d));
    ((float *)p)[0] = 0;
    float *got = contents(d);
    assert_true(got[0] == 77);
    free(got);
    OK(ctx, wf_map(a, &again, NULL));
    assert_ptr_equal(p, again);
    OK(ctx, wf_map(c, &p, NULL));
    assert_ptr_not_equal(p, again);
    float own[4] = { 1, 2, 3, 4 };
    wf_array *wrapped = wf_wrap(ctx, own, WF_F32, WF_SHAPE(4), NULL, NULL), *e = wf_copy(wrapped);
    own[0] = 9;
    EXPECT_RAMP(e, 1);
    wf_array *all[] = { a, b, c, d, e, wrapped };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* Kernels remember the addresses of arrays. They notice that a copy has moved. */
static void test_prepared_launches(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    wf_array *in = wf_formal(g, "in", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_out(g, out, wf_add(wf_in(g, in), wf_in(g, out)));
    wf_kernel *k = wf_compile(g);
    wf_array *a = ramp(N, 0), *b = wf_copy(a), *one = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    for (int round = 0; round < 4; ++round) {
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", one), WF_ARG("out", a))));
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", one), WF_ARG("out", b))));
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", one), WF_ARG("out", b))));
        EXPECT_RAMP(a, round + 1);
        EXPECT_RAMP(b, 2 * (round + 1));
        wf_array *c = wf_copy(b);
        OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("in", one), WF_ARG("out", c))));
        EXPECT_RAMP(c, 2 * (round + 1) + 1);
        EXPECT_RAMP(b, 2 * (round + 1));
        wf_release(c);
    }
    wf_release(a);
    wf_release(b);
    wf_release(one);
    wf_kernel_free(k);
}

static void test_evaluated_graphs(void **state)
{
    (void)state;
    wf_array *a = ramp(N, 0), *before = wf_copy(a), *out = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, before), y = wf_in(g, a);
    wf_out(g, a, wf_add(y, 1));
    OK(ctx, wf_eval(g));
    wf_out(g, out, wf_sub(wf_in(g, a), x)); /* the copy was not overwritten */
    OK(ctx, wf_run(g));
    expect(out, 1, 0, __LINE__);
    wf_release(a);
    wf_release(before);
    wf_release(out);
}

static void double_all(const wf_chunk *chunk, void *user)
{
    (void)user;
    for (int64_t i = 0; i < chunk->n; ++i)
        ((float *)chunk->out[0])[i] = ((const float *)chunk->in[0])[i] + 100;
}

static void test_host_operators(void **state)
{
    (void)state;
    if (is_on_gpu())
        skip();
    wf_array *a = ramp(N, 0), *b = wf_copy(a);
    OK(ctx, wf_host_apply(ctx, WF_ARRAYS(b), WF_ARRAYS(a), double_all, NULL));
    EXPECT_RAMP(a, 100);
    EXPECT_RAMP(b, 0);
    OK(ctx, wf_host_apply(ctx, WF_ARRAYS(b), WF_ARRAYS(b), double_all, NULL));
    EXPECT_RAMP(b, 100);
    wf_release(a);
    wf_release(b);
}

static void test_refused(void **state)
{
    (void)state;
    assert_null(wf_copy(NULL));
    assert_int_equal(wf_array_data_id(NULL), 0);
    wf_graph *g = wf_begin(ctx);
    assert_null(wf_copy(wf_formal(g, "f", WF_F32, 1)));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "wf_copy: 'f' is a formal");
    wf_drop(g);
    wf_array *empty = wf_empty(ctx, WF_F32, WF_SHAPE(0, 3)), *copy = wf_copy(empty);
    assert_non_null(copy);
    assert_int_equal(wf_array_count(copy), 0);
    wf_release(empty);
    wf_release(copy);
}

/* ---- threads: each has a copy of one array, reads it, writes it, copies it again ---- */
typedef struct worker {
    wf_array *array;
    const wf_kernel *kernel;
    int number;
} worker;

static void *write_copies(void *user)
{
    worker *w = user;
    wf_array *in = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    for (int round = 0; round < 50; ++round) {
        wf_array *out = w->array, *copy = wf_copy(out), *view = wf_view_slice(copy, 0, 0, N / 2, 1);
        EXPECT_RAMP(view, round);
        OK(ctx, wf_launch(w->kernel, WF_NAMED(in, out)));
        EXPECT_RAMP(copy, round);
        EXPECT_RAMP(out, round + 1);
        if (round % 3 == w->number % 3) {
            OK(ctx, wf_launch(w->kernel, WF_ARGS(WF_ARG("in", in), WF_ARG("out", copy))));
            wf_release(out);
            w->array = copy;
            wf_release(view);
            continue;
        }
        wf_release(view);
        wf_release(copy);
    }
    wf_release(in);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    wf_graph *g = wf_begin(ctx);
    wf_array *in = wf_formal(g, "in", WF_F32, 1), *out = wf_formal(g, "out", WF_F32, 1);
    wf_out(g, out, wf_add(wf_in(g, in), wf_in(g, out)));
    wf_kernel *k = wf_compile(g);
    wf_array *a = ramp(N, 0);
    worker w[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; ++i)
        w[i] = (worker){ wf_copy(a), k, i };
    start_threads(thread, THREADS, write_copies, w, sizeof *w);
    for (int round = 0; round < 50; ++round) { /* meanwhile the array itself is written, and copied */
        wf_array *copy = wf_copy(a);
        increase(a, 1);
        EXPECT_RAMP(copy, round);
        wf_release(copy);
    }
    join_threads(thread, THREADS);
    for (int i = 0; i < THREADS; ++i) {
        EXPECT_RAMP(w[i].array, 50);
        wf_release(w[i].array);
    }
    EXPECT_RAMP(a, 50);
    wf_release(a);
    wf_kernel_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_until_written),
        cmocka_unit_test(test_sole_owner_writes_in_place),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_many_copies_move_together),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_reads_and_other_writes),
        cmocka_unit_test(test_map_separates_for_good),
        cmocka_unit_test(test_prepared_launches),
        cmocka_unit_test(test_evaluated_graphs),
        cmocka_unit_test(test_host_operators),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_threads),
    };
    return RUN_ON_ALL(tests);
}
