/* test_lazy_writes.c - kept arrays that are written, or read, before their recording has run: that comes first, so that
 * what is said later stays. And those that will never be computed: writing gives them contents.
 */
#include "on_devices.h"
#include "weft/array.h"

enum { N = 4 };
static const float first[N] = { 1, 2, 3, 4 }, later[N] = { 50, 60, 70, 80 };

static void expect(wf_array *a, const float *want)
{
    float *got = contents(a);
    for (int i = 0; i < N; ++i)
        if (got[i] != want[i])
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)want[i]);
    free(got);
}

typedef wf_status writer(wf_array *to, wf_array *from);

static wf_status by_upload(wf_array *to, wf_array *from)
{
    (void)from;
    return wf_upload(to, later, sizeof later);
}

static wf_status by_out(wf_array *to, wf_array *from)
{
    wf_graph *h = wf_begin(ctx);
    wf_out(h, to, wf_in(h, from));
    return wf_run(h);
}

static wf_status by_index(wf_array *to, wf_array *from)
{
    wf_graph *h = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_index(h, 0);
    wf_write(h, to, wf_read(h, from, i), i);
    return wf_run(h);
}

static wf_status by_scatter(wf_array *to, wf_array *from)
{
    wf_graph *h = wf_begin(ctx);
    wf_write(h, to, wf_in(h, from), wf_iota(h, WF_SHAPE(N), 0));
    return wf_run(h);
}

static wf_status by_assign(wf_array *to, wf_array *from) { return wf_array_assign(to, from); }

static wf_status by_text(wf_array *to, wf_array *from) { return wf_text(ctx, "to = from", to, from); }

static wf_status by_view(wf_array *to, wf_array *from)
{
    wf_array *view = wf_view_slice(to, 0, 0, N, 1);
    wf_status status = view ? by_out(view, from) : wf_check(ctx);
    wf_release(view);
    return status;
}

static wf_status by_kernel(wf_array *to, wf_array *from)
{
    wf_graph *h = wf_begin(ctx);
    wf_array *x = wf_formal(h, "x", WF_F32, 1), *y = wf_formal(h, "y", WF_F32, 1);
    wf_out(h, y, wf_in(h, x));
    wf_kernel *k = wf_compile(h);
    wf_status status = wf_launch(k, WF_ARGS(WF_ARG("x", from), WF_ARG("y", to)));
    wf_kernel_free(k);
    return status;
}

static wf_status in_a_stream(wf_array *to, wf_array *from)
{
    wf_stream *s = wf_stream_new(ctx, 0);
    wf_graph *h = wf_begin(ctx, .stream = s);
    wf_out(h, to, wf_in(h, from));
    wf_status status = wf_run(h);
    status = status == WF_OK ? wf_stream_sync(s) : status;
    wf_stream_free(s);
    return status;
}

static void copy_run(const wf_chunk *c, void *user)
{
    (void)user;
    memcpy(c->out[0], c->in[0], (size_t)c->n * sizeof(float));
}

static wf_status by_host(wf_array *to, wf_array *from)
{
    return wf_host_apply(ctx, WF_ARRAYS(from), WF_ARRAYS(to), copy_run, NULL);
}

static wf_status by_map(wf_array *to, wf_array *from)
{
    void *p;
    wf_status status = is_on_gpu() ? by_upload(to, from) : wf_map(to, &p, NULL);
    if (status == WF_OK && !is_on_gpu())
        memcpy(p, later, sizeof later);
    return status;
}

/* Also those of arrays that will never be computed: not wf_map, a view or wf_launch, which want contents. */
static writer *const whole[] = { by_upload, by_out, by_index, by_scatter, by_assign, by_text, in_a_stream };
static writer *const others[] = { by_view, by_kernel, by_host, by_map };

static void write_and_run(writer *write)
{
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), first), *b = array_of(ctx, WF_F32, WF_SHAPE(N), later);
    wf_graph *g = wf_begin(ctx);
    wf_val tens = wf_mul(wf_in(g, a), 10);
    wf_array *kept = wf_keep(tens), *other = wf_keep(wf_add(tens, 1));
    OK(ctx, write(kept, b));
    OK(ctx, wf_run(g));
    expect(kept, later);
    expect(other, (float[]){ 11, 21, 31, 41 });
    wf_array *all[] = { a, b, kept, other };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static void test_program_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; ++i)
        write_and_run(whole[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        write_and_run(others[i]);
}

/* One element is written, or all are added to: the others are what was kept. */
static void test_parts(void **state)
{
    (void)state;
    for (int way = 0; way < 3; ++way) {
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), first);
        wf_graph *g = wf_begin(ctx), *h = wf_begin(ctx);
        wf_array *kept = wf_keep(wf_mul(wf_in(g, a), 10));
        wf_array *copy = way == 2 ? wf_copy(kept) : NULL;
        if (way == 0)
            wf_write(h, kept, 99, 2);
        else if (way == 1)
            wf_accumulate(h, WF_ADD, kept, 1, wf_iota(h, WF_SHAPE(N), 0));
        else
            wf_out(h, copy, 7);
        OK(ctx, wf_run(h));
        OK(ctx, wf_run(g));
        expect(kept, way == 0   ? (float[]){ 10, 20, 99, 40 }
                     : way == 1 ? (float[]){ 11, 21, 31, 41 }
                                : (float[]){ 10, 20, 30, 40 });
        if (copy)
            expect(copy, (float[]){ 7, 7, 7, 7 });
        wf_release(copy);
        wf_release(a);
        wf_release(kept);
    }
}

/* Assigned in its own recording, or compiled: nothing runs early. Extents are known without contents. */
static void test_stays_lazy(void **state)
{
    (void)state;
    wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), first), *n = wf_empty(ctx, WF_I64, WF_SCALAR);
    wf_graph *g = wf_begin(ctx), *h = wf_begin(ctx);
    wf_array *kept = wf_keep(wf_mul(wf_in(g, a), 10));
    wf_out(h, n, wf_dim(h, kept, 0));
    assert_int_equal(wf_array_state(kept), WF_LAZY);
    wf_out(g, kept, wf_add(wf_in(g, kept), 1));
    assert_int_equal(wf_array_state(kept), WF_LAZY);
    OK(ctx, wf_run(h));
    assert_int_equal(wf_array_state(kept), WF_LAZY);
    assert_int_equal(scalar_i64(n), N);
    OK(ctx, wf_upload(a, later, sizeof later)); /* what it is computed from is read when it is computed */
    OK(ctx, wf_run(g));
    expect(kept, (float[]){ 501, 601, 701, 801 });
    wf_release(a);
    wf_release(n);
    wf_release(kept);
}

/* A recording that cannot be evaluated: the write fails, and says why. */
static void test_cannot_be_evaluated(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; ++i) {
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), first);
        wf_graph *g = wf_begin(ctx);
        wf_array *kept = wf_keep(wf_mul(wf_in(g, a), 10));
        wf_fail(g, WF_ERR_SHAPE, "spoilt");
        wf_status status = whole[i](kept, a);
        assert_int_not_equal(status, WF_OK);
        assert_non_null(strstr(wf_message(ctx), "spoilt"));
        wf_clear(ctx);
        wf_drop(g);
        wf_release(a);
        wf_release(kept);
    }
}

static void test_never_computed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; ++i) {
        wf_array *a = array_of(ctx, WF_F32, WF_SHAPE(N), later);
        wf_graph *g = wf_begin(ctx);
        wf_array *kept = wf_keep(wf_mul(wf_in(g, a), 10));
        wf_drop(g);
        assert_int_equal(wf_array_state(kept), WF_LAZY);
        OK(ctx, whole[i](kept, a));
        assert_int_equal(wf_array_state(kept), WF_READY);
        expect(kept, later);
        wf_release(a);
        wf_release(kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_order),  cmocka_unit_test(test_parts),
        cmocka_unit_test(test_stays_lazy),     cmocka_unit_test(test_cannot_be_evaluated),
        cmocka_unit_test(test_never_computed),
    };
    return RUN_ON_ALL(tests);
}
