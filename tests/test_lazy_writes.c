/* test_lazy_writes.c - kept arrays that the host writes or reads before their recording has run. The recording runs
 * first, so that the later write stays. Arrays that can no longer be computed get contents by being written.
 *
 * ctest: devices driver
 */
#include "on_devices.h"
#include "weft/functions.h"

enum { N = 4 };
static const float first[N] = { 1, 2, 3, 4 }, later[N] = { 50, 60, 70, 80 };

static void expect(const char *of, wf_array *a, const float *want)
{
    float *got = contents(a);
    for (int i = 0; i < N; ++i)
        if (got[i] != want[i])
            fail_msg("%s: element %d is %g, not %g", of, i, (double)got[i], (double)want[i]);
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
    wf_status status = view ? by_out(view, from) : wf_last_status(ctx);
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

/* Assigns one element to all elements, and to a copy. */
static wf_status one_element(wf_array *to, wf_array *from)
{
    (void)from;
    wf_graph *h = wf_begin(ctx);
    wf_write(h, to, 99, 2);
    return wf_run(h);
}

static wf_status add_one(wf_array *to, wf_array *from)
{
    (void)from;
    wf_graph *h = wf_begin(ctx);
    wf_accumulate(h, WF_JOIN_ADD, to, 1, wf_iota(h, WF_SHAPE(N), 0));
    return wf_run(h);
}

static wf_status to_a_copy(wf_array *to, wf_array *from)
{
    wf_array *copy = wf_copy(to);
    wf_status status = by_out(copy, from);
    expect("a copy", copy, later);
    wf_release(copy);
    return status;
}

/* `kept` holds the contents of a kept array of 10, 20, 30, 40 after the write. Not every function can write an array
 * that will never be computed: wf_map, views, copies and wf_launch need contents, and so do writes of some elements. */
static const struct way {
    const char *name;
    writer *write;
    bool wants_contents;
    const float *kept;
} ways[] = {
    { "wf_upload", by_upload, false, later },
    { "wf_out", by_out, false, later },
    { "wf_write", by_index, false, later },
    { "a scatter", by_scatter, false, later },
    { "wf_array_assign", by_assign, false, later },
    { "text", by_text, false, later },
    { "a stream", in_a_stream, false, later },
    { "a view", by_view, true, later },
    { "a kernel", by_kernel, true, later },
    { "wf_host_apply", by_host, true, later },
    { "wf_map", by_map, true, later },
    { "one element", one_element, true, (const float[]){ 10, 20, 99, 40 } },
    { "wf_accumulate", add_one, true, (const float[]){ 11, 21, 31, 41 } },
    { "a copy", to_a_copy, true, (const float[]){ 10, 20, 30, 40 } },
};
enum { WAYS = sizeof ways / sizeof *ways };

/* A recording that keeps 10 `first`, and one more than that. */
typedef struct recording {
    wf_graph *g;
    wf_array *first, *later, *kept, *other;
} recording;

static recording keep_ten_times(void)
{
    recording r = { .g = wf_begin(ctx) };
    r.first = array_of(ctx, WF_F32, WF_SHAPE(N), first);
    r.later = array_of(ctx, WF_F32, WF_SHAPE(N), later);
    wf_val tens = wf_mul(wf_in(r.g, r.first), 10);
    r.kept = wf_keep(tens);
    r.other = wf_keep(wf_add(tens, 1));
    return r;
}

static void release(const recording *r)
{
    wf_array *all[] = { r->first, r->later, r->kept, r->other };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
}

static void test_program_order(void **state)
{
    (void)state;
    for (const struct way *w = ways; w < ways + WAYS; ++w) {
        recording r = keep_ten_times();
        OK(ctx, w->write(r.kept, r.later));
        OK(ctx, wf_run(r.g));
        expect(w->name, r.kept, w->kept);
        expect(w->name, r.other, (float[]){ 11, 21, 31, 41 });
        release(&r);
    }
}

/* An assignment in the same recording, and compiling, run nothing early. Extents are known without contents. */
static void test_stays_lazy(void **state)
{
    (void)state;
    recording r = keep_ten_times();
    wf_array *n = wf_empty(ctx, WF_I64, WF_SCALAR);
    wf_graph *h = wf_begin(ctx);
    wf_out(h, n, wf_dim(h, r.kept, 0));
    assert_int_equal(wf_array_state(r.kept), WF_STATE_LAZY);
    wf_out(r.g, r.kept, wf_add(wf_in(r.g, r.kept), 1));
    assert_int_equal(wf_array_state(r.kept), WF_STATE_LAZY);
    OK(ctx, wf_run(h));
    assert_int_equal(wf_array_state(r.kept), WF_STATE_LAZY);
    assert_int_equal(scalar_i64(n), N);
    OK(ctx, wf_upload(r.first, later, sizeof later)); /* its operands are read when it is computed */
    OK(ctx, wf_run(r.g));
    expect("an assignment of its own", r.kept, (float[]){ 501, 601, 701, 801 });
    wf_release(n);
    release(&r);
}

/* A recording that cannot be evaluated: the write fails, and says why. */
static void test_cannot_be_evaluated(void **state)
{
    (void)state;
    for (const struct way *w = ways; w < ways + WAYS; ++w) {
        if (w->wants_contents)
            continue;
        recording r = keep_ten_times();
        wf_fail(r.g, WF_ERR_SHAPE, "spoilt");
        assert_int_not_equal(w->write(r.kept, r.later), WF_OK);
        assert_non_null(strstr(wf_last_message(ctx), "spoilt"));
        wf_clear_error(ctx);
        wf_drop(r.g);
        release(&r);
    }
}

static void test_never_computed(void **state)
{
    (void)state;
    for (const struct way *w = ways; w < ways + WAYS; ++w) {
        if (w->wants_contents)
            continue;
        recording r = keep_ten_times();
        wf_drop(r.g);
        assert_int_equal(wf_array_state(r.kept), WF_STATE_LAZY);
        OK(ctx, w->write(r.kept, r.later));
        assert_int_equal(wf_array_state(r.kept), WF_STATE_READY);
        expect(w->name, r.kept, w->kept);
        release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program_order),
        cmocka_unit_test(test_stays_lazy),
        cmocka_unit_test(test_cannot_be_evaluated),
        cmocka_unit_test(test_never_computed),
    };
    return RUN_ON_ALL(tests);
}
