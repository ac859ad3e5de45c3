/* test_dead_effects.c - effects of array graphs that a later assignment hides are not computed, and are counted.
 * Effects that are read after all are computed.
 *
 * ctest: devices
 */
#include "on_devices.h"

enum { N = 64 };

/* The outcome of one recording: results, and the number of effects left out. */
typedef struct trial {
    wf_graph *g;
    wf_array *a, *b; /* i32 [N], 0 and 1 at first */
    wf_val i, v;     /* 0 to N - 1, and reversed */
} trial;
typedef void record_fn(trial *t);

static uint32_t hidden(void)
{
    wf_kernel_info info[16] = { { .size = sizeof *info } };
    size_t n = wf_history(ctx, info, 16);
    uint32_t all = 0;
    for (size_t k = 0; k < n; ++k)
        all += info[k].hidden;
    return all;
}

/* Compares both arrays after the recording, with the optimisation and without it. */
static void check(record_fn *record, uint32_t want, int line)
{
    int32_t got[2][2][N];
    for (int off = 0; off < 2; ++off) {
        trial t = { .a = wf_full(ctx, WF_I32, WF_SHAPE(N), 0), .b = wf_full(ctx, WF_I32, WF_SHAPE(N), 1) };
        hidden();
        t.g = wf_begin(ctx, .flags_off = off ? WF_FLAG_DEAD_CODE : 0);
        t.i = wf_iota(t.g, WF_SHAPE(N), 0);
        t.v = wf_cast(wf_sub(N - 1, t.i), WF_I32);
        record(&t);
        OK(ctx, wf_run(t.g));
        uint32_t n = hidden();
        if (n != (off ? 0 : want)) {
            print_error("line %d: %u effects were left out\n", line, (unsigned)n);
            fail();
        }
        OK(ctx, wf_download(t.a, got[off][0], sizeof got[off][0]));
        OK(ctx, wf_download(t.b, got[off][1], sizeof got[off][1]));
        wf_release(t.a), wf_release(t.b);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
}
#define CHECK(record, want) check(record, want, __LINE__)

/* ---- hidden ---- */
static void scatters(trial *t)
{
    wf_write(t->g, t->a, 7, t->v);
    wf_write_if(t->g, wf_lt(t->i, 5), t->a, 8, t->i);
    wf_accumulate(t->g, WF_JOIN_ADD, t->a, 1, wf_mod(t->i, 3));
    wf_atomic(t->g, WF_JOIN_INC, t->a, 0, wf_mod(t->i, 5));
    wf_out(t->g, t->a, t->v);
}

/* Values that only hidden effects read are dropped, too: only the hidden value of a reads the first value of b. */
static void chain(trial *t)
{
    wf_write(t->g, t->b, 3, t->v);
    wf_write(t->g, t->a, wf_in(t->g, t->b), t->v);
    wf_write(t->g, t->b, wf_add(wf_in(t->g, t->a), 1), t->i);
    wf_out(t->g, t->b, t->v);
    wf_out(t->g, t->a, 2);
}

static void in_loop(trial *t)
{
    wf_val k;
    wf_var sum = wf_local(t->g, WF_I32, 0);
    WF_FOR (t->g, k, 0, 3, 1) {
        wf_inc(sum, wf_cast(k, WF_I32));
        wf_accumulate(t->g, WF_JOIN_ADD, t->a, sum, t->i);
    }
    WF_END(t->g);
    wf_out(t->g, t->a, wf_add(sum, t->v));
}

static void by_scan(trial *t)
{
    wf_write(t->g, t->a, 9, t->v);
    wf_out(t->g, t->a, wf_cast(wf_scan(WF_JOIN_ADD, t->v, 0, false, false), WF_I32));
}

static void part_of_it(trial *t)
{
    wf_array *part = wf_view_slice(t->a, 0, 8, 40, 2);
    wf_out(t->g, part, wf_slice(t->v, 0, 0, 16, 1));
    wf_write(t->g, part, 5, wf_iota(t->g, WF_SHAPE(16), 0));
    wf_out(t->g, t->a, t->v);
    wf_release(part);
}

/* ---- seen ---- */
static void read_between(trial *t)
{
    wf_write(t->g, t->a, 7, t->v);
    wf_out(t->g, t->b, wf_gather(wf_in(t->g, t->a), t->v));
    wf_out(t->g, t->a, t->v);
}

static void read_by_the_later_one(trial *t)
{
    wf_write(t->g, t->a, 7, wf_mod(t->v, 10));
    wf_out(t->g, t->a, wf_add(wf_in(t->g, t->a), 1));
}

static void only_a_part(trial *t)
{
    wf_array *part = wf_view_slice(t->a, 0, 0, N, 2);
    wf_write(t->g, t->a, 7, t->v);
    wf_out(t->g, part, 3);
    wf_release(part);
}

static void only_some_lanes(trial *t)
{
    wf_write(t->g, t->a, 7, t->v);
    WF_IF (t->g, wf_gt(t->v, 20))
        wf_out(t->g, t->a, t->v);
    WF_END(t->g);
}

static void by_its_result(trial *t)
{
    wf_val old = wf_atomic(t->g, WF_JOIN_ADD, t->a, 1, t->v);
    wf_write(t->g, t->b, wf_add(old, 5), t->i);
    wf_out(t->g, t->a, t->v);
}

static void in_the_next_turn(trial *t)
{
    wf_val k;
    wf_var last = wf_local(t->g, WF_I32, 0);
    WF_FOR (t->g, k, 0, wf_param(t->g, "turns", WF_I64, 3), 1) {
        wf_set(last, wf_read(t->g, t->a, t->i));
        wf_write(t->g, t->a, wf_add(wf_cast(k, WF_I32), 10), t->i);
    }
    WF_END(t->g);
    wf_out(t->g, t->b, last);
    wf_out(t->g, t->a, t->v);
}

static void before_it(trial *t)
{
    wf_val was = wf_in(t->g, t->a); /* the old contents, wherever the value is used */
    wf_write(t->g, t->a, 7, t->v);
    wf_out(t->g, t->a, t->v);
    wf_out(t->g, t->b, wf_add(was, 4));
}

static void test_hidden_effects_go(void **state)
{
    (void)state;
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    CHECK(scatters, 4);
    CHECK(chain, 3);
    CHECK(in_loop, 1);
    CHECK(by_scan, 1);
    CHECK(part_of_it, 2);
    CHECK(before_it, 1);
}

static void test_read_effects_stay(void **state)
{
    (void)state;
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    CHECK(read_between, 0);
    CHECK(read_by_the_later_one, 0);
    CHECK(only_a_part, 0);
    CHECK(only_some_lanes, 0);
    CHECK(by_its_result, 0);
    CHECK(in_the_next_turn, 0);
}

/* An evaluation uses the values of its time: later effects do not hide those that it has run. */
static void test_evaluated_effects_stay(void **state)
{
    (void)state;
    wf_set_flags(ctx, WF_FLAG_HISTORY, 0);
    wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
    int32_t got[N];
    hidden();
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_iota(g, WF_SHAPE(N), 0);
    wf_write(g, a, 7, i);
    OK(ctx, wf_eval(g));
    OK(ctx, wf_download(a, got, sizeof got));
    for (int k = 0; k < N; ++k)
        assert_int_equal(got[k], 7);
    wf_write(g, a, 8, i);
    wf_out(g, a, wf_cast(i, WF_I32));
    OK(ctx, wf_run(g));
    assert_int_equal(hidden(), 1);
    OK(ctx, wf_download(a, got, sizeof got));
    for (int k = 0; k < N; ++k)
        assert_int_equal(got[k], k);
    wf_release(a);
}

/* Debug mode checks every write. */
static void test_debug_mode(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
    wf_graph *g = wf_begin(ctx, .flags_on = WF_FLAG_DEBUG);
    wf_write(g, a, 7, wf_add(wf_iota(g, WF_SHAPE(N), 0), 1));
    wf_out(g, a, 3);
    wf_status status = wf_run(g);
    if (is_on_gpu() && status == WF_OK)
        status = wf_sync(ctx);
    REFUSED(ctx, status, WF_ERR_BOUNDS, "index (64,) is outside");
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_effects_go),
        cmocka_unit_test(test_read_effects_stay),
        cmocka_unit_test(test_evaluated_effects_stay),
        cmocka_unit_test(test_debug_mode),
    };
    return RUN_ON_ALL(tests);
}
