/* test_lockstep.c - counters that the running lanes of a loop share. The recording decides which states get a uniform
 * twin; operators whose lanes leave at different iterations give the results of plain C on every device.
 *
 * ctest: devices
 */
#include "ir/ir.h"
#include "on_devices.h"

/* ---- which states have twins ---- */
/* Numbers of values in the texts below have gaps; in a recording they must not. */
static void renumber(const char *text, wf__str *out)
{
    int id[100] = { 0 }, last = 0;
    for (const char *p = text; *p; ++p) {
        wf__str_addf(out, "%c", *p);
        if (*p != '%')
            continue;
        char *end;
        long k = strtol(p + 1, &end, 10);
        assert_in_range(k, 1, 99);
        if (p == text || p[-1] == '\n')
            id[k] = ++last;
        wf__str_addf(out, "%d", id[k]);
        p = end - 1;
    }
}

/* A loop over x while x < y: `states` and `body` are put into it, %8 is the guard, %20 says which lanes run, what
 * follows the loop is `after`. Returns how many states are uniform, how many there are, guards not counted, and how many
 * nodes keep the values of lanes that do not run. */
typedef struct counted {
    int uniform, all, selects;
} counted;

static counted count_states(const char *states, const char *body, const char *after)
{
    static const char head[] = "rank 1 flags 10\n"
                               "slot 0 i32 1 element steps any\n"
                               "slot 1 i32 1 steps any\n"
                               "%1 = const i32 0x0\n%2 = const i32 0x1\n%3 = const i32 0x64\n%4 = const bool 0x1\n"
                               "%5 = load i32 s0\n"
                               "%6 = loop bool\n"
                               "%7 = state i32 %6 %5\n"
                               "%8 = state bool %6 %4 guard\n";
    wf__str gaps = { 0 }, text = { 0 }, error = { 0 };
    wf__str_addf(&gaps, "%s%s%send bool %%6\n%s", head, states, body, after);
    renumber(gaps.at, &text);
    wf__ir ir;
    if (!wf__parse(text.at, &ir, &error))
        fail_msg("%s in\n%s", error.at, text.at);
    assert_true(wf__verify(&ir, &error));
    assert_true(wf__pass_lockstep(&ir));
    if (!wf__verify(&ir, &error)) {
        wf__str printed = { 0 };
        wf__print(&ir, &printed);
        fail_msg("%s in\n%s", error.at, printed.at);
    }
    wf__vary *vary = calloc(ir.n, sizeof *vary);
    assert_non_null(vary);
    wf__analyse(&ir, vary);
    counted c = { 0 };
    for (wf__ref r = 1; r < ir.n; ++r) {
        bool is_state = wf__at(&ir, r)->op == WF__STATE && !wf__at(&ir, r)->aux;
        c.all += is_state;
        c.uniform += is_state && vary[r].kind == WF__UNIFORM;
        c.selects += wf__at(&ir, r)->op == WF__OP_select;
    }
    free(vary);
    wf__ir_free(&ir);
    wf__str_free(&gaps);
    wf__str_free(&text);
    wf__str_free(&error);
    return c;
}

static void expect(const char *states, const char *body, const char *after, int uniform, int all)
{
    counted c = count_states(states, body, after);
    if (c.uniform != uniform || c.all != all)
        fail_msg("%d of %d states are uniform, not %d of %d, in\n%s%s%s", c.uniform, c.all, uniform, all, states, body,
                 after);
}

static void expect_selects(const char *states, const char *body, const char *after, int selects)
{
    counted c = count_states(states, body, after);
    if (c.selects != selects)
        fail_msg("%d selects, not %d, in\n%s%s%s", c.selects, selects, states, body, after);
}

#define COUNTER "%9 = state i32 %6 %1\n"
#define RUNS "%18 = lt bool %9 %3\n%19 = gt bool %7 %2\n%20 = and bool %18 %19\n%21 = and bool %8 %20\n"
#define HALVE "%22 = shr i32 %7 %2\n%23 = select i32 %21 %22 %7\n"
#define STEP "%24 = add i32 %9 %2\n%25 = select i32 %21 %24 %9\n"
#define NEXT "next i32 %7 %23\nnext bool %8 %21\nnext i32 %9 %25\n"

static void test_twins(void **state)
{
    (void)state;
    /* An unused count: the state goes, its twin stays. */
    expect(COUNTER, RUNS HALVE STEP NEXT, "store i32 s0 %7\n", 1, 2);
    /* Lanes keep their counts. */
    expect(COUNTER, RUNS HALVE STEP NEXT, "store i32 s0 %9\n", 1, 3);
    /* Counting alone needs no twin. */
    expect(COUNTER, "%20 = gt bool %7 %2\n%21 = and bool %8 %20\n" HALVE STEP NEXT, "store i32 s0 %9\n", 0, 2);
    /* A read at the counter, in active lanes only: one read. */
    expect(COUNTER,
           RUNS HALVE STEP "%30 = cast i64 %9\n%31 = load i32 s1 [%30] if %21\n%32 = add i32 %22 %31\n"
                           "%33 = select i32 %21 %32 %7\nnext i32 %7 %33\nnext bool %8 %21\nnext i32 %9 %25\n",
           "store i32 s0 %7\n", 1, 2);
    /* Stepped in some of the running lanes. */
    expect(COUNTER,
           RUNS HALVE
           "%26 = eq bool %7 %3\n%27 = and bool %21 %26\n%24 = add i32 %9 %2\n%25 = select i32 %27 %24 %9\n" NEXT,
           "store i32 s0 %7\n", 0, 2);
    /* Stepped by what differs from lane to lane. */
    expect(COUNTER, RUNS HALVE "%24 = add i32 %9 %7\n%25 = select i32 %21 %24 %9\n" NEXT, "store i32 s0 %7\n", 0, 2);
    /* Begins otherwise in each lane. */
    expect("%9 = state i32 %6 %5\n", RUNS HALVE STEP NEXT, "store i32 s0 %7\n", 0, 2);
    /* Lanes that have left read it, too: a reduction that does not test which lanes run is still right. */
    expect(COUNTER "%10 = state i32 %6 %1\n", RUNS HALVE STEP "%26 = add i32 %10 %9\n" NEXT "next i32 %10 %26\n",
           "store i32 s0 %10\n", 1, 4);
    /* One counter advances another. */
    expect(COUNTER "%10 = state i32 %6 %2\n",
           RUNS HALVE STEP "%26 = mul i32 %10 %9\n%27 = select i32 %21 %26 %10\n%28 = eq bool %10 %3\n"
                           "%29 = select i32 %28 %2 %22\n%30 = select i32 %21 %29 %7\n"
                           "next i32 %7 %30\nnext bool %8 %21\nnext i32 %9 %25\nnext i32 %10 %27\n",
           "store i32 s0 %7\n", 2, 3);
    /* Two counters that change places. */
    expect(COUNTER "%10 = state i32 %6 %2\n",
           RUNS HALVE "%26 = select i32 %21 %10 %9\n%27 = select i32 %21 %9 %10\n"
                      "next i32 %7 %23\nnext bool %8 %21\nnext i32 %9 %26\nnext i32 %10 %27\n",
           "store i32 s0 %7\n", 2, 3);
}

static void test_free_states(void **state)
{
    (void)state;
    /* A count is the result: x runs free, and the count is kept. */
    expect_selects(COUNTER, RUNS HALVE STEP NEXT, "store i32 s0 %9\n", 1);
    /* x is the result. The counter has a uniform twin. */
    expect_selects(COUNTER, RUNS HALVE STEP NEXT, "store i32 s0 %7\n", 1);
    /* Both are. */
    expect_selects(COUNTER, RUNS HALVE STEP NEXT, "store i32 s0 %7\nstore i32 s0 %9\n", 2);
    /* x is an index of reads, which may not run free. */
    expect_selects(COUNTER,
                   RUNS HALVE "%30 = cast i64 %7\n%31 = load i32 s1 [%30] if %21\n%32 = add i32 %9 %31\n"
                              "%33 = select i32 %21 %32 %9\nnext i32 %7 %23\nnext bool %8 %21\nnext i32 %9 %33\n",
                   "store i32 s0 %9\n", 2);
    /* Lanes that have left add x to another state. */
    expect_selects(COUNTER "%10 = state i32 %6 %1\n",
                   RUNS HALVE STEP "%26 = add i32 %10 %7\n" NEXT "next i32 %10 %26\n",
                   "store i32 s0 %10\nstore i32 s0 %9\n", 2);
    /* Lanes that have left add the next value of x. */
    expect_selects(COUNTER "%10 = state i32 %6 %1\n",
                   RUNS HALVE STEP "%26 = add i32 %10 %23\n" NEXT "next i32 %10 %26\n",
                   "store i32 s0 %10\nstore i32 s0 %9\n", 2);
    /* x keeps its value in some of the running lanes. */
    expect_selects(COUNTER,
                   RUNS "%26 = eq bool %7 %3\n%27 = and bool %21 %26\n%22 = shr i32 %7 %2\n"
                        "%23 = select i32 %27 %22 %7\n" STEP NEXT,
                   "store i32 s0 %9\n", 2);
}

/* ---- operators whose lanes leave at different turns ---- */
enum { TABLE = 40, SIZES = 4 };
static const int64_t sizes[SIZES] = { 1, 19, 64, 1111 };
static int32_t table[TABLE];

static int32_t start(int64_t i) { return (int32_t)(i * 7919 % 97); }

typedef struct operator_case {
    const char *name;
    wf_val (*record)(wf_graph *g, wf_val x, wf_array *table);
    int32_t (*plain)(int32_t x);
} operator_case;

/* Sums of a table until they exceed x: the counter is an index. */
static wf_val record_sums(wf_graph *g, wf_val x, wf_array *values)
{
    wf_var n = wf_local(g, WF_I32, 0), sum = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(n, TABLE), wf_lt(sum, x))) {
        wf_inc(sum, wf_read(g, values, n));
        wf_inc(n, 1);
    }
    WF_END(g);
    return wf_add(wf_mul(sum, 100), n);
}
static int32_t plain_sums(int32_t x)
{
    int32_t n = 0, sum = 0;
    for (; n < TABLE && sum < x; ++n)
        sum += table[n];
    return sum * 100 + n;
}

/* Lanes leave by break and skip by continue; the counter is stepped for those that skip, too. */
static wf_val record_breaks(wf_graph *g, wf_val x, wf_array *values)
{
    wf_val k;
    wf_var sum = wf_local(g, WF_I32, 0);
    WF_FOR (g, k, 0, TABLE, 1) {
        wf_val v = wf_read(g, values, k);
        WF_IF (g, wf_eq(wf_mod(wf_add(v, x), 3), 0)) {
            wf_continue(g);
        }
        WF_END(g);
        WF_IF (g, wf_gt(sum, x)) {
            wf_break(g);
        }
        WF_END(g);
        wf_inc(sum, wf_add(v, wf_cast(k, WF_I32)));
    }
    WF_END(g);
    return wf_get(sum);
}
static int32_t plain_breaks(int32_t x)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < TABLE; ++k) {
        if ((table[k] + x) % 3 == 0)
            continue;
        if (sum > x)
            break;
        sum += table[k] + k;
    }
    return sum;
}

/* The turns of a loop inside depend on the counter of the loop around and on the lane. */
static wf_val record_nested(wf_graph *g, wf_val x, wf_array *values)
{
    wf_var n = wf_local(g, WF_I32, 1), sum = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(n, 12), wf_lt(sum, wf_mul(x, 3)))) {
        wf_var k = wf_local(g, WF_I32, 0);
        WF_WHILE (g, wf_and(wf_lt(k, n), wf_lt(wf_mul(k, 9), x))) {
            wf_inc(sum, wf_read(g, values, wf_add(k, n)));
            wf_inc(k, 1);
        }
        WF_END(g);
        wf_inc(sum, k);
        wf_inc(n, 2);
    }
    WF_END(g);
    return wf_sub(sum, n);
}
static int32_t plain_nested(int32_t x)
{
    int32_t n = 1, sum = 0;
    for (; n < 12 && sum < 3 * x; n += 2) {
        int32_t k = 0;
        for (; k < n && 9 * k < x; ++k)
            sum += table[k + n];
        sum += k;
    }
    return sum - n;
}

/* Only the number of turns leaves the loop, so that the values run free: they overflow in lanes that have left. */
static wf_val record_turns(wf_graph *g, wf_val x, wf_array *values)
{
    (void)values;
    wf_var n = wf_local(g, WF_I32, 0), v = wf_local(g, WF_I32, x), f = wf_local(g, WF_F32, wf_cast(x, WF_F32));
    WF_WHILE (g, wf_and(wf_lt(n, 50), wf_and(wf_lt(v, 5000), wf_lt(f, 1e6)))) {
        wf_val next = wf_mod(wf_add(wf_mul(v, 3), n), 7001);
        wf_set(f, wf_add(wf_mul(f, 2), wf_cast(v, WF_F32)));
        wf_set(v, next);
        wf_inc(n, 1);
    }
    WF_END(g);
    return wf_get(n);
}
static int32_t plain_turns(int32_t x)
{
    int32_t n = 0, v = x;
    for (float f = (float)x; n < 50 && v < 5000 && f < 1e6f; ++n) {
        f = f * 2 + (float)v;
        v = (v * 3 + n) % 7001;
    }
    return n;
}

/* Two counters, of which one advances the other, and one that only some lanes advance. */
static wf_val record_several(wf_graph *g, wf_val x, wf_array *values)
{
    wf_var i = wf_local(g, WF_I32, 0), square = wf_local(g, WF_I32, 0), odd = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(square, x), wf_lt(odd, 4))) {
        WF_IF (g, wf_ne(wf_and(wf_add(x, wf_read(g, values, i)), 1), 0)) {
            wf_inc(odd, 1);
        }
        WF_END(g);
        wf_inc(square, wf_add(wf_mul(i, 2), 1));
        wf_inc(i, 1);
    }
    WF_END(g);
    return wf_add(wf_mul(wf_add(wf_mul(square, 10), odd), 100), i);
}
static int32_t plain_several(int32_t x)
{
    int32_t i = 0, square = 0, odd = 0;
    while (square < x && odd < 4) {
        if ((x + table[i]) & 1)
            ++odd;
        square += 2 * i + 1;
        ++i;
    }
    return (square * 10 + odd) * 100 + i;
}

static const operator_case operators[] = { { "sums", record_sums, plain_sums },
                                           { "breaks", record_breaks, plain_breaks },
                                           { "nested", record_nested, plain_nested },
                                           { "turns", record_turns, plain_turns },
                                           { "several", record_several, plain_several } };

static void test_operators(void **state)
{
    (void)state;
    for (int k = 0; k < TABLE; ++k)
        table[k] = k * k % 11;
    wf_array *values = array_of(ctx, WF_I32, WF_SHAPE(TABLE), table);
    for (size_t c = 0; c < sizeof operators / sizeof *operators; ++c)
        for (int s = 0; s < SIZES; ++s) {
            wf_array *out = wf_empty(ctx, WF_I32, WF_SHAPE(sizes[s]));
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(sizes[s]));
            wf_val x = wf_cast(wf_mod(wf_mul(wf_index(g, 0), 7919), 97), WF_I32);
            wf_out(g, out, operators[c].record(g, x, values));
            OK(ctx, wf_run(g));
            int32_t *got = contents(out);
            for (int64_t i = 0; i < sizes[s]; ++i)
                if (got[i] != operators[c].plain(start(i)))
                    fail_msg("%s of %lld points, at %lld: %d instead of %d", operators[c].name, (long long)sizes[s],
                             (long long)i, (int)got[i], (int)operators[c].plain(start(i)));
            free(got);
            wf_release(out);
        }
    wf_release(values);
}

int main(void)
{
    const struct CMUnitTest analysis[] = { cmocka_unit_test(test_twins), cmocka_unit_test(test_free_states) };
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_operators) };
    return cmocka_run_group_tests_name("which", analysis, NULL, NULL) + RUN_ON_ALL(tests);
}
