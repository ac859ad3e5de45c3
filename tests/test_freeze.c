/* test_freeze.c - sequences of launches that are frozen once and replayed with other arrays.
 *
 * ctest: devices driver threads
 */
#include "on_devices.h"
#include "side_by_side.h"
#include <weft/functions.h>

enum { N = 1024 };

static wf_array *ramp(double first) { return wf_array_arange(ctx, WF_F32, N, first, 1); }

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

/* out = (in * 2 + 3) - max(in), in three launches and with an intermediate array */
static void three_launches(wf_array *in, wf_array *out)
{
    wf_array *between = wf_like(in);
    wf_graph *g = wf_begin(ctx, .name = "first");
    wf_out(g, between, wf_mul(wf_in(g, in), 2));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .name = "second");
    wf_val x = wf_in(g, between);
    wf_array *kept = wf_keep(wf_add(x, wf_param(g, "p", WF_F32, 3)));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .name = "third");
    wf_out(g, out, wf_sub(wf_in(g, kept), wf_reduce(WF_JOIN_MAX, wf_in(g, in), WF_AXES(0))));
    OK(ctx, wf_run(g));
    wf_release(kept);
    wf_release(between);
}

static wf_frozen *frozen_three(wf_array *in, wf_array *out)
{
    assert_false(wf_is_freezing(ctx));
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(in, out)));
    assert_true(wf_is_freezing(ctx));
    three_launches(in, out);
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    assert_false(wf_is_freezing(ctx));
    return f;
}

static void test_replay(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a);
    wf_frozen *f = frozen_three(a, b);
    expect(b, 3 - (N - 1), 2, __LINE__); /* freezing runs the launches, too */
    wf_release(a);
    wf_release(b); /* inputs are not kept */
    for (int k = 0; k < 5; ++k) {
        wf_array *in = ramp(10 * k), *out = wf_like(in);
        for (int again = 0; again < 3; ++again) { /* the same arrays take the short path */
            wf_graph *g = wf_begin(ctx);
            wf_out(g, out, 0);
            OK(ctx, wf_run(g));
            OK(ctx, wf_frozen_replay(f, WF_ARRAYS(in, out)));
            expect(out, 2 * 10 * k + 3 - (10 * k + N - 1), 2, __LINE__);
        }
        wf_release(in);
        wf_release(out);
    }
    wf_frozen_free(f);
    wf_frozen_free(NULL);
}

static void test_kernels_and_no_inputs(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .name = "count");
    wf_array *x = wf_formal(g, "x", WF_F32, 1);
    wf_out(g, x, wf_add(wf_in(g, x), wf_param(g, "by", WF_F32, 1)));
    wf_kernel *k = wf_compile(g);
    wf_array *a = ramp(0);
    x = a;
    OK(ctx, wf_launch(k, WF_NAMED(x))); /* there is a memo for it */
    OK(ctx, wf_freeze_begin(ctx, WF_NO_ARRAYS));
    OK(ctx, wf_launch(k, WF_NAMED(x)));
    OK(ctx, wf_launch(k, WF_ARGS(WF_ARG("x", x), WF_ARG("by", 10))));
    wf_frozen *f = wf_freeze_end(ctx);
    OK(ctx, wf_launch(k, WF_NAMED(x))); /* not part of the sequence */
    wf_kernel_free(k);
    for (int i = 0; i < 3; ++i)
        OK(ctx, wf_frozen_replay(f, WF_NO_ARRAYS));
    expect(a, 1 + 11 + 1 + 3 * 11, 1, __LINE__);
    wf_frozen_free(f);
    wf_release(a);
}

static void test_misfits(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a), *wide = wf_full(ctx, WF_F64, WF_SHAPE(N), 0);
    wf_array *longer = wf_full(ctx, WF_F32, WF_SHAPE(N + 1), 0), *twice = wf_full(ctx, WF_F32, WF_SHAPE(2 * N), 0);
    wf_array *odd = wf_view_slice(twice, 0, 1, 2 * N, 2);
    wf_frozen *f = frozen_three(a, b);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, b, -1);
    OK(ctx, wf_run(g));
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a)), WF_ERR_ARG, "1 inputs are given, the sequence has 2");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(wide, b)), WF_ERR_DTYPE, "input 0 is f64, was f32");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a, longer)), WF_ERR_SHAPE, "input 1 is (1025), was (1024)");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a, NULL)), WF_ERR_ARG, "input 1 is NULL");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(odd, b)), WF_ERR_ARG, "in launch 1 ('first') the strides");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a, a)), WF_ERR_ARG, "inputs 0 and 1 have common memory, and had none");
    expect(b, -1, 0, __LINE__); /* nothing ran */
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
    expect(b, 3 - (N - 1), 2, __LINE__);
    wf_frozen_free(f);

    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(twice)));
    three_launches(odd, b); /* a view of it */
    f = wf_freeze_end(ctx);
    wf_array *both = wf_array_arange(ctx, WF_F32, 2 * N, 1, 1), *whole = wf_array_arange(ctx, WF_F32, 4 * N, 0, 1);
    wf_array *apart = wf_view_slice(whole, 0, 0, 4 * N, 2);
    for (int k = 0; k < 3; ++k) {
        if (k != 1)
            OK(ctx, wf_frozen_replay(f, WF_ARRAYS(both))); /* the last one takes the short path */
        else
            OK(ctx, wf_array_fill(b, 0));
    }
    expect(b, 2 * 2 + 3 - 2 * N, 4, __LINE__);
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(apart)), WF_ERR_ARG, "the strides of input 0, of which views are used");
    wf_frozen_free(f);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(odd)));
    three_launches(odd, b);
    wf_array *more = wf_array_copy(twice);
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "launch 4 ('wf_array_cast') uses an array that has memory");
    wf_release(more);
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "not freezing anything");
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    REFUSED(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)), WF_ERR_ARG, "already");
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_ARG, "a call in between failed: wf_freeze_begin");
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    f = wf_freeze_end(ctx); /* of nothing */
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(b)));
    wf_frozen_free(f);
    wf_array *all[] = { a, b, wide, longer, twice, odd, both, whole, apart };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* Arrays of another context are refused, also where their ids are those of the latest inputs. */
static void test_foreign_inputs(void **state)
{
    (void)state;
    wf_context *own = test_context(WF_INTERP, 1), *other = test_context(WF_INTERP, 1);
    wf_array *in = wf_empty(own, WF_F32, WF_SHAPE(3)), *foreign = wf_empty(other, WF_F32, WF_SHAPE(3));
    OK(own, wf_freeze_begin(own, WF_ARRAYS(in)));
    wf_graph *g = wf_begin(own);
    wf_out(g, in, 1);
    OK(own, wf_run(g));
    wf_frozen *f = wf_freeze_end(own);
    OK(own, wf_frozen_replay(f, WF_ARRAYS(in)));
    REFUSED(own, wf_frozen_replay(f, WF_ARRAYS(foreign)), WF_ERR_ARG, "input 0 is another context's");
    wf_frozen_free(f);
    wf_release(in);
    wf_release(foreign);
    wf_context_free(own);
    wf_context_free(other);
}

/* ---- other parts of a sequence than launches by the program, and errors ---- */
/* Copies, and arrays that are filled, are made again. */
static void test_copies_are_launches(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = ramp(5), *sum = wf_like(a);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    wf_array *copy = wf_copy(a), *there = wf_copy_to(a, wf_array_device(a)),
             *view = wf_view_slice(copy, 0, 0, N / 2, 1);
    wf_array *half = wf_copy(view), *full = wf_full(ctx, WF_F32, WF_SHAPE(N), 1), *given = wf_like(a);
    OK(ctx, wf_array_assign(given, full));
    OK(ctx, wf_array_fill(sum, 0));
    wf_array *add[] = { copy, there, full };
    for (int i = 0; i < 3; ++i) {
        wf_graph *g = wf_begin(ctx);
        wf_out(g, sum, wf_add(wf_in(g, sum), wf_in(g, add[i])));
        wf_out(g, full, wf_add(wf_in(g, full), 1)); /* wf_full makes it 1 again */
        OK(ctx, wf_run(g));
    }
    wf_frozen *f = wf_freeze_end(ctx);
    assert_false(wf_shares(copy, a) || wf_shares(half, copy)); /* they do again when nothing is frozen */
    for (int k = 0; k < 3; ++k) {
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(k ? b : a)));
        double first = k ? 5 : 0;
        expect(copy, first, 1, __LINE__);
        expect(there, first, 1, __LINE__);
        expect(half, first, 1, __LINE__);
        expect(given, 1, 0, __LINE__);
        expect(sum, 2 * first + 3, 2, __LINE__);
    }
    wf_frozen_free(f);
    wf_array *all[] = { a, b, sum, copy, there, view, half, full, given };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

/* Functions of the library that read their operands through views. */
static void test_views_inside(void **state)
{
    (void)state;
    enum { M = 20 };
    wf_array *x[2], *want[2][3];
    for (int k = 0; k < 2; ++k) {
        wf_array *line = wf_array_arange(ctx, WF_F32, (int64_t)M * M, k, 1 + k);
        x[k] = wf_view_reshape(line, WF_SHAPE(M, M));
        wf_release(line);
        want[k][0] = wf_array_matmul(x[k], x[k]);
        want[k][1] = wf_array_permute(x[k], (const int[]){ 1, 0 });
        want[k][2] = wf_array_extract(x[k], WF_SHAPE(3, 4), (const int64_t[]){ 5, 6 }, WF_BORDER_VALUE, 0);
    }
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(x[0])));
    wf_array *got[] = { wf_array_matmul(x[0], x[0]), wf_array_permute(x[0], (const int[]){ 1, 0 }),
                        wf_array_extract(x[0], WF_SHAPE(3, 4), (const int64_t[]){ 5, 6 }, WF_BORDER_VALUE, 0) };
    wf_frozen *f = wf_freeze_end(ctx);
    if (!f)
        print_error("%s\n", wf_last_message(ctx));
    assert_non_null(f);
    for (int again = 0; again < 4; ++again) { /* with a copy that shares memory, too */
        int k = again % 2;
        wf_array *copy = again > 1 ? wf_copy(x[k]) : NULL;
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(copy ? copy : x[k])));
        wf_release(copy);
        for (int i = 0; i < 3; ++i) {
            bool close = false;
            OK(ctx, wf_array_all_close(got[i], want[k][i], 0, 0, false, &close));
            assert_true(close);
        }
    }
    wf_frozen_free(f);
    for (int i = 0; i < 3; ++i) {
        wf_release(got[i]);
        wf_release(want[0][i]);
        wf_release(want[1][i]);
    }
    wf_release(x[0]);
    wf_release(x[1]);
}

typedef struct subject {
    wf_array *in, *between, *rows; /* an input; written by a launch; i64 [1, 1], no input */
    wf_frozen *frozen;
} subject;

static void do_nothing(const wf_chunk *chunk, void *user)
{
    (void)chunk;
    (void)user;
}

static void *map_of(const wf_array *a)
{
    void *data;
    OK(ctx, is_on_gpu() ? wf_map_device(a, &data, NULL) : wf_map(a, &data, NULL));
    return data;
}

static void compress(subject *s)
{
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, s->in);
    wf_release(wf_compress(x, wf_gt(x, 3)));
    OK(ctx, wf_run(g));
}
static void where(subject *s) { wf_release(wf_array_where(s->in)); }
static void array_compress(subject *s) { wf_release(wf_array_compress(s->in, s->in)); }
static void assign_where(subject *s)
{
    wf_array *all = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    OK(ctx, wf_array_assign_where(s->in, all, s->in));
    wf_release(all);
}
static void all_close(subject *s)
{
    bool close;
    OK(ctx, wf_array_all_close(s->in, s->in, 0, 0, false, &close));
}
static void regions(subject *s)
{
    wf_release(wf_array_extract_regions(s->in, WF_SHAPE(2), s->rows, WF_BORDER_VALUE, 0));
}
static void sort(subject *s) { wf_release(wf_array_sort(s->in, 0, false)); }
static void argsort(subject *s) { wf_release(wf_array_argsort(s->in, 0, false)); }
static void median(subject *s) { wf_release(wf_array_median(s->in, WF_ALL_AXES)); }
static void download(subject *s) { free(contents(s->between)); }
static void map(subject *s) { map_of(s->between); }
static void upload(subject *s)
{
    float zero[N] = { 0 };
    OK(ctx, wf_upload(s->in, zero, sizeof zero));
}
static void host_apply(subject *s) { OK(ctx, wf_host_apply(ctx, WF_ARRAYS(s->in), WF_NO_ARRAYS, do_nothing, NULL)); }
static void replay(subject *s) { OK(ctx, wf_frozen_replay(s->frozen, WF_ARRAYS(s->in))); }
static void upload_then_add(subject *s)
{
    float zero[N] = { 0 };
    wf_array *sum = wf_like(s->in);
    OK(ctx, wf_upload(sum, zero, sizeof zero));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, sum, wf_add(wf_in(g, sum), wf_in(g, s->in)));
    OK(ctx, wf_run(g));
    wf_release(sum);
}

static void test_refused(void **state)
{
    (void)state;
    const struct {
        void (*call)(subject *s);
        const char *message;
        bool on_host; /* fails only there */
    } each[] = {
        { compress, "wf_compress cannot be in a frozen sequence: how many elements", false },
        { where, "wf_array_where cannot be in", false },
        { array_compress, "wf_array_compress cannot be in", false },
        { assign_where, "wf_array_assign_where cannot be in", false },
        { all_close, "wf_array_all_close cannot be in", false },
        { regions, "wf_array_extract_regions cannot be in", false },
        { sort, "wf_array_sort cannot be in", true },
        { argsort, "wf_array_argsort cannot be in", true },
        { median, "wf_array_median cannot be in", true },
        { download, "wf_download cannot be in a frozen sequence: it reads", false },
        { map, is_on_gpu() ? "wf_map_device cannot be in" : "wf_map cannot be in", false },
        { upload, "wf_upload cannot be in", false },
        { host_apply, "wf_host_apply cannot be in", false },
        { replay, "wf_frozen_replay cannot be in", false },
        { upload_then_add, "launch 2 changes an array that the host", false },
    };
    subject s = { .in = ramp(0), .between = ramp(0), .rows = wf_full(ctx, WF_I64, WF_SHAPE(1, 1), 0) };
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(s.in)));
    s.frozen = wf_freeze_end(ctx);
    for (size_t i = 0; i < sizeof each / sizeof *each; ++i) {
        if (each[i].on_host && is_on_gpu())
            continue;
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(s.in)));
        wf_graph *g = wf_begin(ctx);
        wf_out(g, s.between, wf_in(g, s.in));
        OK(ctx, wf_run(g));
        each[i].call(&s); /* works as without freezing */
        OK(ctx, wf_last_status(ctx));
        assert_null(wf_freeze_end(ctx));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, each[i].message);
    }
    if (is_on_gpu()) {
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(s.in)));
        wf_release(wf_copy_to(s.in, WF_CPU));
        assert_null(wf_freeze_end(ctx));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "wf_copy_to another device cannot be in");
    }
    wf_frozen_free(s.frozen);
    wf_release(s.in);
    wf_release(s.between);
    wf_release(s.rows);
}

/* Arrays that the host fills and launches only read are constants; the host may read arrays outside the sequence. */
static void test_constants(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = ramp(7), *out = wf_like(a), *apart = ramp(1);
    float two[N];
    for (int i = 0; i < N; ++i)
        two[i] = 2;
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
    wf_array *table = wf_like(a);
    OK(ctx, wf_upload(table, two, sizeof two));
    map_of(table);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, wf_mul(wf_in(g, a), wf_in(g, table)));
    OK(ctx, wf_run(g));
    wf_release(table);
    expect(apart, 1, 1, __LINE__);
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(b)));
    expect(out, 14, 2, __LINE__);
    wf_frozen_free(f);

    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a))); /* the host changes it after a launch has read it */
    table = ramp(0);
    g = wf_begin(ctx);
    wf_out(g, out, wf_in(g, apart));
    OK(ctx, wf_run(g));
    OK(ctx, wf_upload(apart, two, sizeof two));
    assert_null(wf_freeze_end(ctx));
    REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED,
            "wf_upload cannot be in a frozen sequence: it gives the host access");
    for (int before = 0; before < 2; ++before) { /* the host may write to mapped memory */
        void *data;
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
        g = wf_begin(ctx);
        wf_out(g, before ? apart : out, wf_in(g, before ? out : apart));
        if (!before)
            OK(ctx, wf_run(g));
        OK(ctx, is_on_gpu() ? wf_map_device(apart, &data, NULL) : wf_map(apart, &data, NULL));
        if (before)
            OK(ctx, wf_run(g));
        assert_null(wf_freeze_end(ctx));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED, "wf_map");
    }
    wf_array *all[] = { a, b, out, apart, table };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

static void test_errors(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *longer = wf_full(ctx, WF_F32, WF_SHAPE(N + 1), 0), *out = wf_like(a);
    for (int how = 0; how < 3; ++how) {
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a)));
        wf_graph *g = wf_begin(ctx, .name = "sum");
        wf_out(g, out, wf_add(wf_in(g, a), wf_in(g, how ? a : longer)));
        assert_int_equal(wf_run(g), how ? WF_OK : WF_ERR_SHAPE);
        if (how == 1) {
            g = wf_begin(ctx, .flags_on = WF_FLAG_DEBUG, .shape = WF_SHAPE(N));
            wf_write(g, out, 1, wf_add(wf_index(g, 0), 1));
            assert_int_equal(wf_run(g), WF_ERR_BOUNDS);
        }
        wf_array *sum = how == 2 ? wf_array_sum(a, WF_AXES(3)) : NULL;
        assert_null(sum);
        assert_int_not_equal(wf_last_status(ctx), WF_OK);
        wf_clear_error(ctx);
        assert_null(wf_freeze_end(ctx));
        REFUSED(ctx, wf_last_status(ctx),
                how == 0   ? WF_ERR_SHAPE
                : how == 1 ? WF_ERR_BOUNDS
                           : WF_ERR_ARG,
                how == 0   ? "nothing is frozen, as a call in between failed: wf_add: shapes"
                : how == 1 ? "failed: wf_write: index"
                           : "failed: wf_array_sum");
    }
    wf_release(a);
    wf_release(longer);
    wf_release(out);
}

/* Copies on write between replays, of inputs and of results. */
static void test_with_copies(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a);
    wf_frozen *f = frozen_three(a, b);
    for (int k = 0; k < 3; ++k) {
        wf_array *in = wf_copy(a), *before = wf_copy(b);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(in, b)));
        assert_true(wf_shares(in, a) && !wf_shares(before, b));
        wf_array *out = wf_copy(b);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, out))); /* the copy moves */
        assert_false(wf_shares(out, b));
        expect(out, 3 - (N - 1), 2, __LINE__);
        expect(b, 3 - (N - 1), 2, __LINE__);
        wf_release(in);
        wf_release(before);
        wf_release(out);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
        expect(b, 3 - (N - 1), 2, __LINE__);
    }
    wf_frozen_free(f);
    wf_release(a);
    wf_release(b);
}

/* A copy of a result keeps what it has, though the next replay is with the inputs of the last one. */
static void test_copy_of_a_result(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a), *c = wf_like(a), *other = ramp(10);
    float *contents_of_other = contents(other);
    wf_frozen *f = frozen_three(a, b);
    for (int k = 0; k < 2; ++k)
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
    wf_array *before = wf_copy(b);
    OK(ctx, wf_upload(a, contents_of_other, N * sizeof(float)));
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
    expect(before, 3 - (N - 1), 2, __LINE__);
    expect(b, 20 + 3 - (10 + N - 1), 2, __LINE__);
    wf_release(before);
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, b)));
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(a, c))); /* another output */
    expect(c, 20 + 3 - (10 + N - 1), 2, __LINE__);
    free(contents_of_other);
    wf_frozen_free(f);
    wf_release(a), wf_release(b), wf_release(c), wf_release(other);
}

/* If the last launch does not fit, the first does not run, either. */
static void test_nothing_ran(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a), *c = wf_like(a), *twice = wf_full(ctx, WF_F32, WF_SHAPE(2 * N), 0);
    wf_array *odd = wf_view_slice(twice, 0, 1, 2 * N, 2), *untouched = wf_full(ctx, WF_F32, WF_SHAPE(N), 7);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a, b, c)));
    wf_array *to[] = { b, c };
    for (int k = 0; k < 2; ++k) {
        wf_graph *g = wf_begin(ctx);
        wf_out(g, to[k], wf_add(wf_in(g, a), k));
        OK(ctx, wf_run(g));
    }
    wf_frozen *f = wf_freeze_end(ctx);
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(a, untouched, odd)), WF_ERR_ARG, "in launch 2 the strides");
    expect(untouched, 7, 0, __LINE__);
    wf_frozen_free(f);
    wf_release(a), wf_release(b), wf_release(c), wf_release(twice), wf_release(odd), wf_release(untouched);
}

typedef struct worker {
    wf_frozen *frozen;
    double first;
} worker;

static void *replay_many(void *user)
{
    worker *w = user;
    wf_array *in = ramp(w->first), *out = wf_like(in);
    for (int i = 0; i < 20; ++i) { /* own inputs and outputs, but the arrays between are shared: one at a time */
        OK(ctx, wf_frozen_replay(w->frozen, WF_ARRAYS(in, out)));
        expect(out, 2 * w->first + 3 - (w->first + N - 1), 2, __LINE__);
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(in))); /* of this thread alone */
        wf_graph *g = wf_begin(ctx);
        wf_out(g, in, wf_add(wf_in(g, in), 0));
        OK(ctx, wf_run(g));
        wf_frozen *own = wf_freeze_end(ctx);
        OK(ctx, wf_frozen_replay(own, WF_ARRAYS(out)));
        wf_frozen_free(own);
    }
    wf_release(in);
    wf_release(out);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    wf_array *a = ramp(0), *b = wf_like(a);
    worker w[3];
    wf_frozen *f = frozen_three(a, b);
    for (int i = 0; i < 3; ++i)
        w[i] = (worker){ f, 100.0 * i };
    run_at_once(3, replay_many, w, sizeof *w);
    wf_frozen_free(f);
    wf_release(a);
    wf_release(b);
}

/* a += 1, then out = 2 b: no launch has both inputs. */
static wf_frozen *frozen_two(wf_array *a, wf_array *b, wf_array *out)
{
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(a, b, out)));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_add(wf_in(g, a), 1));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_out(g, out, wf_mul(wf_in(g, b), 2));
    OK(ctx, wf_run(g));
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    return f;
}

/* Inputs of different launches that are one array, or parts of one. */
static void test_inputs_overlap(void **state)
{
    (void)state;
    wf_array *x = ramp(0), *y = ramp(100), *out = wf_like(x), *long_one = wf_array_arange(ctx, WF_F32, N + 20, 0, 1);
    wf_array *low = wf_view_slice(long_one, 0, 0, N, 1), *mid = wf_view_slice(long_one, 0, 10, N + 10, 1);
    wf_array *high = wf_view_slice(long_one, 0, 20, N + 20, 1);
    wf_frozen *f = frozen_two(x, y, out);
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(x, x, out)), WF_ERR_ARG, "inputs 0 and 1 have common memory, and had");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(x, out, out)), WF_ERR_ARG, "inputs 1 and 2 have common memory");
    expect(x, 1, 1, __LINE__); /* nothing ran */
    wf_frozen_free(f);
    f = frozen_two(x, x, out);
    expect(out, 4, 2, __LINE__);
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(x, y, out)), WF_ERR_ARG, "inputs 0 and 1 have no common memory");
    expect(x, 2, 1, __LINE__);
    for (int k = 0; k < 2; ++k)
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(y, y, out)));
    expect(out, 204, 2, __LINE__);
    wf_frozen_free(f);
    f = frozen_two(low, mid, out);
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(low, high, out)), WF_ERR_ARG, "inputs 0 and 1 overlap in another way");
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(mid, low, out)), WF_ERR_ARG, "inputs 0 and 1 overlap in another way");
    OK(ctx, wf_array_fill(long_one, 5));
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(mid, high, out)));
    float *got = contents(out);
    assert_true(got[0] == 12 && got[N - 11] == 12 && got[N - 10] == 10);
    free(got);
    wf_frozen_free(f);
    wf_release(x), wf_release(y), wf_release(out), wf_release(long_one);
    wf_release(low), wf_release(mid), wf_release(high);
}

/* A view that spans several inputs may be a view of another array at a replay. */
static void test_views_of_either(void **state)
{
    (void)state;
    wf_array *whole = ramp(0), *part = wf_view_slice(whole, 0, 100, 200, 1);
    wf_array *view = wf_view_slice(whole, 0, 50, 150, 1), *out = wf_like(view);
    wf_array *other = ramp(1000), *other_part = wf_view_slice(other, 0, 100, 200, 1);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(part, whole, out)));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, part, 1);
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_out(g, out, wf_in(g, view));
    OK(ctx, wf_run(g));
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(other_part, other, out)));
    float *got = contents(out);
    assert_true(got[0] == 1050 && got[49] == 1099 && got[50] == 1);
    free(got);
    wf_frozen_free(f);
    wf_release(whole), wf_release(part), wf_release(view), wf_release(out), wf_release(other), wf_release(other_part);
}

/* Copies that share memory are separate arrays: before freezing, while freezing and in a replay. */
static void test_inputs_that_share(void **state)
{
    (void)state;
    wf_array *x = ramp(0), *y = ramp(100), *out = wf_like(x), *copy = wf_copy(x);
    assert_true(wf_shares(x, copy));
    for (int first = 0; first < 2; ++first) {
        OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(x, y, out)));
        wf_graph *g = wf_begin(ctx);
        wf_out(g, out, wf_add(wf_in(g, x), wf_in(g, y)));
        OK(ctx, wf_run(g));
        wf_frozen *f = wf_freeze_end(ctx);
        assert_non_null(f);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(x, copy, out)));
        expect(out, 0, 2, __LINE__);
        OK(ctx, wf_frozen_replay(f, WF_ARRAYS(x, y, out)));
        expect(out, first ? 0 : 100, 2, __LINE__);
        assert_true(wf_shares(x, copy));
        wf_frozen_free(f);
        if (!first) {
            wf_release(y);
            y = wf_copy(x);
        }
    }
    wf_release(x), wf_release(y), wf_release(out), wf_release(copy);
}

/* A finding of debug mode in a replay names the launch and its recording. */
static void test_finding_names_launch(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(4), 1), *out = wf_full(ctx, WF_F32, WF_SHAPE(3), 0);
    wf_array *inside = wf_array_arange(ctx, WF_I32, 3, 0, 1), *outside = wf_array_arange(ctx, WF_I32, 3, 2, 1);
    OK(ctx, wf_freeze_begin(ctx, WF_ARRAYS(inside)));
    wf_graph *g = wf_begin(ctx);
    wf_out(g, out, 2);
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .flags_on = WF_FLAG_DEBUG, .name = "looked up");
    wf_out(g, out, wf_read(g, a, wf_in(g, inside)));
    OK(ctx, wf_run(g));
    wf_frozen *f = wf_freeze_end(ctx);
    assert_non_null(f);
    OK(ctx, wf_frozen_replay(f, WF_ARRAYS(inside)));
    REFUSED(ctx, wf_frozen_replay(f, WF_ARRAYS(outside)), WF_ERR_BOUNDS,
            "wf_frozen_replay: launch 2: wf_read: index (4,) is outside array 2 of the recording");
    wf_status again = wf_frozen_replay(f, WF_ARRAYS(outside));
    REFUSED(ctx, again, WF_ERR_BOUNDS, " [in looked up begun at ");
    wf_frozen_free(f);
    wf_release(a), wf_release(out), wf_release(inside), wf_release(outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),           cmocka_unit_test(test_kernels_and_no_inputs),
        cmocka_unit_test(test_misfits),          cmocka_unit_test(test_inputs_overlap),
        cmocka_unit_test(test_views_of_either),  cmocka_unit_test(test_inputs_that_share),
        cmocka_unit_test(test_with_copies),      cmocka_unit_test(test_copies_are_launches),
        cmocka_unit_test(test_views_inside),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_constants),        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_threads),          cmocka_unit_test(test_finding_names_launch),
        cmocka_unit_test(test_copy_of_a_result), cmocka_unit_test(test_nothing_ran),
        cmocka_unit_test(test_foreign_inputs),
    };
    return RUN_ON_ALL(tests);
}
