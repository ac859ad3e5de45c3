/* test_watch.c - wf_watch shows the values of loops after each iteration, over all points at once. */
#include "on_devices.h"
#include <weft/functions.h>

enum { MOST = 400, LANES = 100 };

typedef struct film { /* the values that wf_watch showed of one value */
    int n, most;      /* most: ends the run after so many; 0: never */
    int64_t on[MOST];
    double value[MOST][LANES];
    bool lane[MOST][LANES];
    const char *name;
    wf_array *last; /* a copy of what was seen last */
} film;

static wf_status record_frame(void *user, const wf_seen *seen)
{
    film *f = user;
    assert_int_equal(seen->size, sizeof *seen);
    assert_true(f->n < MOST && seen->time == f->n);
    assert_non_null(strstr(seen->here, "test_watch.c:"));
    int64_t n = wf_array_count(seen->value), on = 0;
    assert_true(n <= LANES && wf_array_count(seen->lanes) == n);
    wf_array *wide = wf_empty(ctx, WF_F64, wf_array_shape(seen->value));
    wf_graph *g = wf_begin(ctx, .flags_off = WF_FLAG_DEBUG); /* the context is free to be used */
    wf_out(g, wide, wf_cast(wf_in(g, seen->value), WF_F64));
    OK(ctx, wf_run(g));
    OK(ctx, wf_download(wide, f->value[f->n], (size_t)n * sizeof(double)));
    OK(ctx, wf_download(seen->lanes, f->lane[f->n], (size_t)n));
    for (int64_t i = 0; i < n; ++i)
        on += f->lane[f->n][i];
    assert_true(on == seen->on && on > 0);
    f->on[f->n] = on;
    f->name = strcmp(seen->name, "x") ? "other" : "x";
    wf_release(f->last);
    f->last = wf_copy(seen->value);
    wf_release(wide);
    return ++f->n == f->most ? WF_ERR_ARG : WF_OK;
}

static void forget(film *f)
{
    wf_release(f->last);
    *f = (film){ 0 };
}

static char logged[64][256];
static int lines;
static void keep_log(int level, const char *text, void *user)
{
    (void)user;
    if (level == 2 && lines < 64)
        snprintf(logged[lines++], sizeof *logged, "%s", text);
}
static int debugging(void **state) { return (void)state, in_debug_mode(WF_CPU, keep_log); }
static int interpreting(void **state) { return (void)state, in_debug_mode(WF_INTERP, keep_log); }

/* The Collatz steps of 1 .. n, n up to LANES; films of x and of the number of turns. */
static wf_status collatz(bool space, int64_t n, film *x_film, film *turn_film, wf_array *steps)
{
    wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(n)) : wf_begin(ctx);
    wf_val start = wf_add(space ? wf_index(g, 0) : wf_iota(g, WF_SHAPE(n), 0), 1);
    wf_var x = wf_local(g, WF_I64, start), turns = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_gt(x, 1)) {
        WF_IF (g, wf_eq(wf_and(x, 1), 0)) {
            wf_set(x, wf_shr(x, 1));
        }
        WF_ELSE(g) { wf_set(x, wf_add(wf_mul(x, 3), 1)); }
        WF_END(g);
        wf_inc(turns, 1);
        if (x_film)
            wf_watch(g, "x", x, record_frame, x_film);
        if (turn_film)
            wf_watch(g, "turns", turns, record_frame, turn_film);
    }
    WF_END(g);
    wf_out(g, steps, turns);
    return wf_run(g);
}

static int64_t next(int64_t x) { return x % 2 ? 3 * x + 1 : x / 2; }

static void expect_collatz(const film *f, int64_t n)
{
    int64_t x[LANES];
    for (int64_t i = 0; i < n; ++i)
        x[i] = i + 1;
    for (int t = 0; t < f->n; ++t) {
        int64_t on = 0;
        for (int64_t i = 0; i < n; ++i) {
            bool runs = x[i] > 1;
            x[i] = runs ? next(x[i]) : x[i];
            on += runs;
            assert_true(f->lane[t][i] == runs);
            if (runs)
                assert_true(f->value[t][i] == (double)x[i]);
        }
        assert_true(on == f->on[t]);
    }
    for (int64_t i = 0; i < n; ++i)
        assert_true(x[i] == 1);
}

static void test_turns(void **state)
{
    (void)state;
    for (int space = 0; space < 2; ++space)
        for (int64_t n = 2; n <= LANES; n += 49) {
            static film x, turns;
            wf_array *steps = wf_empty(ctx, WF_I32, WF_SHAPE(n));
            OK(ctx, collatz(space, n, &x, &turns, steps));
            assert_true(x.n == (n == 2 ? 1 : n == 51 ? 111 : 118) && turns.n == x.n);
            expect_collatz(&x, n);
            assert_string_equal(x.name, "x");
            assert_string_equal(turns.name, "other");
            for (int t = 0; t < turns.n; ++t)
                for (int64_t i = 0; i < n; ++i)
                    if (turns.lane[t][i])
                        assert_true(turns.value[t][i] == t + 1);
            int32_t *count = contents(steps);
            assert_true(count[0] == 0 && count[1] == 1);
            free(count);
            int64_t *last = contents(x.last); /* the copy has what was seen when it was made */
            for (int64_t i = 0; i < n; ++i)
                assert_true((double)last[i] == x.value[x.n - 1][i]);
            free(last);
            forget(&x), forget(&turns);
            wf_release(steps);
        }
}

/* A loop that would not end is ended by the function that watches it. */
static void test_end(void **state)
{
    (void)state;
    static film f;
    f.most = 5;
    wf_graph *g = wf_begin(ctx, .name = "endless");
    wf_var x = wf_local(g, WF_F32, wf_cast(wf_iota(g, WF_SHAPE(40), 0), WF_F32));
    WF_WHILE (g, wf_ge(x, 0)) {
        wf_inc(x, 1);
        wf_watch(g, "x", x, record_frame, &f);
    }
    WF_END(g);
    wf_array *kept = wf_keep(x);
    REFUSED(ctx, wf_run(g), WF_ERR_ARG, "the callback ended the run");
    assert_int_equal(f.n, 5);
    for (int t = 0; t < 5; ++t)
        for (int i = 0; i < 40; ++i)
            assert_true(f.lane[t][i] && f.value[t][i] == i + t + 1);
    forget(&f);
    wf_release(kept);
}

/* Values outside of loops, of every kind of kernel: element-wise, reduced, scanned, literal; in branches. */
static void test_kernels(void **state)
{
    (void)state;
    static film f[7];
    wf_array *a = wf_array_arange(ctx, WF_F64, 60, 1, 1), *v = wf_view_reshape(a, WF_SHAPE(6, 10));
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_in(g, v), rows = wf_sum(x, WF_AXES(1)), all = wf_sum(x, WF_ALL_AXES),
           scan = wf_scan(WF_JOIN_ADD, x, 1, false, false);
    wf_watch(g, "x", wf_mul(x, 2), record_frame, &f[0]);
    wf_watch(g, "rows", rows, record_frame, &f[1]);
    wf_watch(g, "all", all, record_frame, &f[2]);
    wf_watch(g, "scan", scan, record_frame, &f[3]);
    wf_watch(g, "seven", 7, record_frame, &f[4]);
    WF_IF (g, wf_gt(x, 58)) {
        wf_watch(g, "x", x, record_frame, &f[5]);
    }
    WF_ELSE(g) { wf_watch(g, "half", 0.5, record_frame, &f[6]); }
    WF_END(g);
    wf_array *mean = wf_keep(wf_div(rows, 10)), *whole = wf_keep(all);
    OK(ctx, wf_run(g));
    for (int k = 0; k < 7; ++k)
        assert_int_equal(f[k].n, 1);
    double sum = 0;
    for (int i = 0; i < 60; ++i) {
        sum = i % 10 ? sum + i + 1 : i + 1;
        assert_true(f[0].value[0][i] == 2 * (i + 1) && f[3].value[0][i] == sum);
        assert_true(f[5].lane[0][i] == (i >= 58) && f[6].lane[0][i] == (i < 58));
        assert_true(f[5].value[0][i] == (i >= 58 ? i + 1 : 0) && f[6].value[0][i] == (i < 58 ? 0.5 : 0));
        if (i % 10 == 9)
            assert_true(f[1].value[0][i / 10] == sum);
    }
    assert_true(f[2].value[0][0] == 1830 && f[4].value[0][0] == 7);
    assert_true(f[1].on[0] == 6 && f[2].on[0] == 1 && f[4].on[0] == 1 && f[5].on[0] == 2);
    for (int k = 0; k < 7; ++k)
        forget(&f[k]);
    wf_release(mean), wf_release(whole), wf_release(v), wf_release(a);
}

/* A loop that feeds reductions: the turns are seen as they are without them, and the results stay what they are. */
static void test_reduced(void **state)
{
    (void)state;
    for (int watched = 0; watched < 2; ++watched)
        for (int axes = 0; axes < 3; ++axes) {
            static film f, after;
            wf_graph *g = wf_begin(ctx);
            wf_var x = wf_local(g, WF_F32, wf_cast(wf_iota(g, WF_SHAPE(10, 10), 0), WF_F32));
            WF_WHILE (g, wf_lt(x, 12)) {
                wf_inc(x, 4.5);
                if (watched)
                    wf_watch(g, "x", x, record_frame, &f);
            }
            WF_END(g);
            wf_array *sum = wf_keep(wf_sum(x, axes == 2 ? WF_ALL_AXES : WF_AXES(axes)));
            if (watched)
                wf_watch(g, "after", x, record_frame, &after);
            OK(ctx, wf_run(g));
            float *s = contents(sum), want[10] = { 0 }, x_of[10];
            for (int i = 0; i < 10; ++i)
                for (x_of[i] = (float)i; x_of[i] < 12; x_of[i] += 4.5f)
                    continue;
            for (int i = 0; i < 10; ++i) /* exact in any order */
                for (int j = 0; j < 10; ++j)
                    want[axes == 2 ? 0 : axes ? i : j] += x_of[i];
            for (int i = 0; i < (axes == 2 ? 1 : 10); ++i)
                assert_true(s[i] == want[i]);
            if (watched) {
                assert_true(f.n == 3 && f.on[0] == 100 && f.on[1] == 80 && f.on[2] == 30 && after.n == 1 &&
                            after.on[0] == 100);
                for (int i = 0; i < 100; ++i)
                    assert_true(after.value[0][i] == x_of[i / 10] && (i >= 80 || f.value[1][i] == i / 10 + 9.0));
            }
            free(s);
            forget(&f), forget(&after);
            wf_release(sum);
        }
}

/* An index space whose loop changes its reduced variable: points are shown in groups, each point once a turn. */
static void test_in_groups(void **state)
{
    (void)state;
    static film f;
    wf_array *out = wf_empty(ctx, WF_F64, WF_SCALAR);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(100), .reduce = WF_ALL_AXES);
    wf_var total = wf_reduced(g, WF_F64, 0, WF_JOIN_ADD);
    wf_val i;
    WF_FOR (g, i, 0, 50, 1) {
        wf_inc(total, 1);
        wf_watch(g, "x", i, record_frame, &f);
    }
    WF_END(g);
    wf_section(g, WF_SECTION_POST);
    wf_out(g, out, total);
    OK(ctx, wf_run(g));
    double *sum = contents(out);
    assert_true(*sum == 5000);
    int64_t on = 0;
    for (int t = 0; t < f.n; ++t)
        on += f.on[t];
    assert_int_equal(on, 5000);
    free(sum);
    forget(&f);
    wf_release(out);
}

/* Short loops are unrolled, and long ones with independent turns become axes, unless they are watched. */
static void test_counted(void **state)
{
    (void)state;
    for (int turns = 3; turns <= 300; turns += 297)
        for (int space = 0; space < 2; ++space) {
            static film f;
            wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(20, 300));
            wf_graph *g = space ? wf_begin(ctx, .shape = WF_SHAPE(20)) : wf_begin(ctx);
            wf_val point = space ? wf_index(g, 0) : wf_iota(g, WF_SHAPE(20), 0), i;
            WF_FOR (g, i, 0, turns, 1) {
                wf_val product = wf_mul(wf_cast(point, WF_I32), wf_cast(i, WF_I32));
                wf_write(g, out, product, point, i);
                wf_watch(g, "x", product, record_frame, &f);
            }
            WF_END(g);
            OK(ctx, wf_run(g));
            assert_int_equal(f.n, turns);
            for (int t = 0; t < turns; ++t)
                for (int k = 0; k < 20; ++k)
                    assert_true(f.lane[t][k] && f.value[t][k] == k * t);
            forget(&f);
            wf_release(out);
        }
}

/* Kernels, evaluations, frozen sequences and streams show what they do, each run from the beginning. */
static void test_again(void **state)
{
    (void)state;
    static film f;
    wf_array *a = wf_array_arange(ctx, WF_F32, 50, 0, 1), *out = wf_like(a);
    wf_graph *g = wf_begin(ctx);
    wf_var x = wf_local(g, WF_F32, wf_in(g, a));
    WF_WHILE (g, wf_lt(x, 100)) {
        wf_set(x, wf_add(wf_mul(x, 2), 1));
        wf_watch(g, "x", x, record_frame, &f);
    }
    WF_END(g);
    wf_out(g, out, x);
    wf_kernel *k = wf_compile(g);
    assert_non_null(k);
    for (int turn = 0; turn < 3; ++turn) {
        OK(ctx, wf_launch(k, WF_NO_ARGS));
        assert_true(f.n == 7 && f.value[0][3] == 7);
        forget(&f);
    }
    wf_stream *s = wf_stream_new(ctx, wf_context_device(ctx));
    OK(ctx, wf_launch(k, WF_NO_ARGS, .stream = s));
    OK(ctx, wf_stream_sync(s));
    assert_true(f.n == 7 && f.value[6][0] == 127);
    forget(&f);
    wf_stream_free(s);
    wf_kernel_free(k);

    g = wf_begin(ctx);
    wf_val y = wf_add(wf_in(g, a), 1);
    wf_watch(g, "x", y, record_frame, &f);
    OK(ctx, wf_eval(g));
    assert_true(f.n == 1 && f.value[0][49] == 50);
    wf_out(g, out, wf_mul(y, 2));
    OK(ctx, wf_run(g));
    assert_int_equal(f.n, 1);
    forget(&f);
    wf_release(a), wf_release(out);
}

static void test_log(void **state)
{
    (void)state;
    lines = 0;
    wf_graph *g = wf_begin(ctx);
    wf_var x = wf_local(g, WF_I32, wf_cast(wf_iota(g, WF_SHAPE(5), 0), WF_I32));
    WF_WHILE (g, wf_lt(x, 3)) {
        wf_inc(x, 1);
        wf_watch(g, "x", x, NULL, NULL);
    }
    WF_END(g);
    wf_watch(g, "z", wf_complex(wf_cast(x, WF_F32), wf_neg(wf_cast(x, WF_F32))), NULL, NULL);
    wf_watch(g, NULL, wf_gt(wf_iota(g, WF_SHAPE(100), 0), 1), NULL, NULL);
    wf_watch(g, "w", wf_div(wf_cast(x, WF_F64), 8), NULL, NULL);
    wf_array *kept = wf_keep(x);
    OK(ctx, wf_run(g));
    assert_int_equal(lines, 6);
    assert_int_equal(strncmp(logged[0], "x: time 0, 3 of 5 on: 1 2 3 - - (at ", 35), 0);
    assert_int_equal(strncmp(logged[2], "x: time 2, 1 of 5 on: 3 - - - - (at ", 35), 0);
    assert_int_equal(strncmp(logged[3], "z: time 0, 5 of 5 on: 3-3i 3-3i 3-3i 3-3i 4-4i (at ", 50), 0);
    assert_non_null(strstr(logged[5], "100 of 100 on: 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 ... (at "));
    assert_non_null(strstr(logged[5], "test_watch.c:"));
    assert_int_equal(strncmp(logged[4], "w: time 0, 5 of 5 on: 0.375 0.375 0.375 0.375 0.5 (at ", 54), 0);
    wf_release(kept);
}

static void test_refused(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx);
    wf_array *formal = wf_formal(g, "a", WF_F32, 1);
    wf_watch(g, "x", wf_in(g, formal), NULL, NULL);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "not known before the launch");
    g = wf_begin(ctx, .elements = true);
    wf_watch(g, "x", 1, NULL, NULL);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "not known before the launch");
    g = wf_begin(ctx, .shape = WF_SHAPE(4), .reduce = WF_ALL_AXES);
    wf_section(g, WF_SECTION_POST);
    wf_watch(g, "x", 1, NULL, NULL);
    REFUSED(ctx, wf_run(g), WF_ERR_UNSUPPORTED, "only in section WF_SECTION_CALL");
    g = wf_begin(ctx, .shape = WF_SHAPE(1 << 22));
    wf_val v = wf_cast(wf_index(g, 0), WF_U8);
    for (int k = 0; k < 100; ++k)
        v = wf_add(wf_mul(v, v), k);
    wf_watch(g, "x", v, NULL, NULL);
    REFUSED(ctx, wf_run(g), WF_ERR_MEMORY, "give it fewer points");
    wf_watch(NULL, "x", 1, NULL, NULL);

    static film f; /* empty where nothing is computed, or without debug mode */
    g = wf_begin(ctx);
    wf_watch(g, "x", wf_broadcast(wf_const(g, WF_F32, 1), WF_SHAPE(0)), record_frame, &f);
    OK(ctx, wf_run(g));
    g = wf_begin(ctx, .flags_off = WF_FLAG_DEBUG);
    wf_array *kept = wf_keep(wf_iota(g, WF_SHAPE(9), 0));
    wf_watch(g, "x", wf_iota(g, WF_SHAPE(9), 0), record_frame, &f);
    OK(ctx, wf_run(g));
    assert_int_equal(f.n, 0);
    wf_release(kept);
}

#define IN_BOTH(test) \
    { #test, test, debugging, off, NULL }, { #test " (interpreter)", test, interpreting, off, NULL }
int main(void)
{
    const struct CMUnitTest tests[] = { IN_BOTH(test_turns),   IN_BOTH(test_end),       IN_BOTH(test_kernels),
                                        IN_BOTH(test_reduced), IN_BOTH(test_in_groups), IN_BOTH(test_counted),
                                        IN_BOTH(test_again),   IN_BOTH(test_log),       IN_BOTH(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
