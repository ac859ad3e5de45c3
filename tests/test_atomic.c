/* test_atomic.c - atomic operations in index spaces and array graphs: counters, every join and dtype, compare and
 * swap.
 *
 * ctest: devices threads
 */
#include "accumulate.h"

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void test_counter(void **state)
{
    (void)state;
    enum { N = 200001 };
    for (int masked = 0; masked < 2; ++masked) {
        wf_array *counter = wf_full(ctx, WF_U32, WF_SHAPE(3), 0), *list = wf_full(ctx, WF_I64, WF_SHAPE(N), -1);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val i = wf_index(g, 0);
        if (masked) { /* the points of a condition, packed in some order */
            wf_val keep = wf_eq(wf_mod(i, 3), 0), slot = wf_atomic_if(g, keep, WF_JOIN_INC, counter, 0, 1);
            wf_accumulate_if(g, keep, WF_JOIN_MAX, list, i, slot);
        } else {
            wf_write(g, list, i, wf_atomic(g, WF_JOIN_ADD, counter, 1, 1));
        }
        OK(ctx, wf_run(g));
        uint32_t *c = contents(counter);
        int64_t *x = contents(list), n = masked ? (N + 2) / 3 : N;
        assert_true(c[0] == 0 && c[1] == n && c[2] == 0);
        qsort(x, (size_t)n, sizeof *x, by_value);
        for (int64_t k = 0; k < n; ++k)
            assert_int_equal(x[k], masked ? 3 * k : k);
        free(c), free(x);
        wf_release(counter), wf_release(list);
    }
}

static void test_atomic_joins(void **state)
{
    (void)state;
    enum { N = 77 };
    for (int j = WF_JOIN_ADD; j <= WF_JOIN_EXCH; ++j)
        for (int t = 0; t < TEST_DTYPES; t += TEST_EVERY) {
            wf_dtype dtype = test_dtypes[t];
            if (j != WF_JOIN_EXCH && !joinable((wf_join)j, dtype))
                continue;
            int64_t first[N], value[N];
            uint64_t seed = (uint64_t)j * 31 + (uint64_t)t;
            for (int i = 0; i < N; ++i) {
                first[i] = number(j == WF_JOIN_EXCH ? WF_JOIN_MIN : (wf_join)j, dtype, test_random(&seed));
                value[i] = number(j == WF_JOIN_EXCH ? WF_JOIN_MIN : (wf_join)j, dtype, test_random(&seed));
            }
            wf_array *a = converted(array_of(ctx, WF_I64, WF_SHAPE(N), first), dtype);
            wf_array *v = converted(array_of(ctx, WF_I64, WF_SHAPE(N), value), dtype);
            wf_array *was = as(a, dtype), *same = as(a, dtype);
            wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
            wf_val i = wf_mod(wf_mul(wf_index(g, 0), 5), N);
            wf_write(g, same, wf_atomic(g, (wf_join)j, a, wf_read(g, v, i), i), i);
            OK(ctx, wf_run(g));
            g = wf_begin(ctx);
            wf_val x = wf_in(g, was), y = wf_in(g, v);
            wf_val want = j == WF_JOIN_ADD   ? wf_add(x, y)
                          : j == WF_JOIN_MUL ? wf_mul(x, y)
                          : j == WF_JOIN_MIN ? wf_min(x, y)
                          : j == WF_JOIN_MAX ? wf_max(x, y)
                          : j == WF_JOIN_AND ? wf_and(x, y)
                          : j == WF_JOIN_OR  ? wf_or(x, y)
                          : j == WF_JOIN_XOR ? wf_xor(x, y)
                                             : y;
            wf_array *sum = wf_keep(want);
            OK(ctx, wf_run(g));
            void *p = contents(sum), *q = contents(a), *r = contents(was), *s = contents(same);
            assert_int_equal(first_difference(dtype, q, p, N), -1);
            assert_int_equal(first_difference(dtype, s, r, N), -1);
            free(p), free(q), free(r), free(s);
            wf_release(a), wf_release(v), wf_release(was), wf_release(same), wf_release(sum);
        }
}

static void test_cas(void **state)
{
    (void)state;
    enum { N = 100003 };
    wf_array *a = wf_full(ctx, WF_I32, WF_SHAPE(4), 0), *won = wf_empty(ctx, WF_I32, WF_SHAPE(N));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_val i = wf_cast(wf_index(g, 0), WF_I32);
    wf_out(g, won, wf_cas(g, a, 0, wf_add(i, 1), wf_mod(i, 3)));
    OK(ctx, wf_run(g));
    int32_t *x = contents(a), *old = contents(won), winners[3] = { 0 };
    for (int k = 0; k < N; ++k)
        if (old[k] == 0) {
            winners[k % 3]++;
            assert_int_equal(x[k % 3], k + 1);
        } else {
            assert_int_equal(old[k], x[k % 3]);
        }
    assert_true(winners[0] == 1 && winners[1] == 1 && winners[2] == 1 && x[3] == 0);
    free(x), free(old);
    wf_release(a), wf_release(won);
}

static void test_atomic_arrays(void **state)
{
    (void)state;
    enum { N = 3001 };
    wf_array *counter = wf_full(ctx, WF_I64, WF_SHAPE(1), 10);
    wf_graph *g = wf_begin(ctx);
    wf_val n = wf_iota(g, WF_SHAPE(N), 0);
    wf_val slot = wf_atomic(g, WF_JOIN_INC, counter, 0, wf_mul(n, 0));
    wf_val twice = wf_mul(slot, 2), top = wf_reduce(WF_JOIN_MAX, slot, WF_ALL_AXES);
    wf_val won = wf_cas(g, counter, N + 10, -1, wf_mul(n, 0));
    wf_array *a = wf_keep(slot), *b = wf_keep(twice), *c = wf_keep(top), *d = wf_keep(won);
    OK(ctx, wf_run(g));
    int64_t *x = contents(a), *y = contents(b), *z = contents(c), *w = contents(d), *last = contents(counter);
    int winners = 0;
    for (int k = 0; k < N; ++k) {
        assert_int_equal(y[k], 2 * x[k]);
        winners += w[k] == N + 10;
        assert_true(w[k] == N + 10 || w[k] == -1);
    }
    qsort(x, N, sizeof *x, by_value);
    for (int k = 0; k < N; ++k)
        assert_int_equal(x[k], k + 10);
    assert_true(*z == N + 9 && *last == -1 && winners == 1);
    free(x), free(y), free(z), free(w), free(last);
    wf_release(a), wf_release(b), wf_release(c), wf_release(d), wf_release(counter);
}

/* Reads of elements that other points update meanwhile: the largest float by compare-and-swap, and a sum that grows
 * while it is small, also through a view of the same memory. */
static void test_reads(void **state)
{
    (void)state;
    enum { POINTS = 64, ENOUGH = 40 };
    wf_array *largest = wf_full(ctx, WF_F32, WF_SHAPE(1), -1), *sums = wf_full(ctx, WF_I32, WF_SHAPE(2), 0);
    wf_array *seen = wf_empty(ctx, WF_I32, WF_SHAPE(POINTS)), *second = wf_view_slice(sums, 0, 1, 2, 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(POINTS));
    wf_val mine = wf_cast(wf_index(g, 0), WF_F32);
    wf_var old = wf_local(g, WF_F32, wf_read(g, largest, 0));
    WF_WHILE (g, wf_lt(old, mine)) {
        wf_val was = wf_cas(g, largest, old, mine, 0);
        WF_IF (g, wf_eq(was, old)) {
            wf_break(g);
        }
        WF_END(g);
        wf_set(old, was);
    }
    WF_END(g);
    wf_val before = wf_read(g, sums, 0);
    WF_IF (g, wf_lt(before, ENOUGH)) {
        wf_atomic(g, WF_JOIN_ADD, sums, 1, 0);
    }
    WF_END(g);
    wf_atomic(g, WF_JOIN_ADD, second, 1, 0);
    wf_write(g, seen, wf_add(before, wf_read(g, sums, 1)), wf_index(g, 0));
    OK(ctx, wf_run(g));
    assert_true(scalar_f32(largest) == POINTS - 1);
    int32_t *total = contents(sums), *what = contents(seen);
    assert_in_range(total[0], ENOUGH, POINTS);
    assert_int_equal(total[1], POINTS);
    for (int i = 0; i < POINTS; ++i)
        assert_in_range(what[i], 1, 2 * POINTS);
    free(total), free(what);
    wf_release(largest), wf_release(sums), wf_release(second), wf_release(seen);
}

/* A point reads the element that it has just changed, although it writes another element of the array, too. */
static void test_own_element_after(void **state)
{
    (void)state;
    enum { N = 500 };
    for (int swap = 0; swap < 2; ++swap) {
        wf_array *a = wf_array_arange(ctx, WF_I32, 2 * N, 0, 1);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N));
        wf_val i = wf_index(g, 0);
        if (swap)
            wf_cas(g, a, wf_cast(i, WF_I32), wf_cast(wf_add(i, 5), WF_I32), i);
        else
            wf_atomic(g, WF_JOIN_ADD, a, 5, i);
        wf_write(g, a, wf_read(g, a, i), wf_add(i, N));
        OK(ctx, wf_run(g));
        int32_t *x = contents(a);
        for (int k = 0; k < N; ++k)
            assert_true(x[k] == k + 5 && x[k + N] == k + 5);
        free(x);
        wf_release(a);
    }
}

static void test_errors(void **state)
{
    (void)state;
    wf_array *z = wf_full(ctx, WF_C64, WF_SHAPE(4), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(8));
    wf_atomic(g, WF_JOIN_ADD, z, 1, 0);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_atomic: not for c64");
    wf_release(z);
}

/* ---- so many operations in one recording that loops over lanes are no longer unrolled ---- */
enum { TIMES = 30, CLAIMED = 8 };

static void many(wf_dtype t, bool masked)
{
    int64_t n = sized(200, 40), on = masked ? (n + 2) / 3 : n;
    wf_array *count = wf_full(ctx, t, WF_SHAPE(TIMES), 0), *claim = wf_full(ctx, t, WF_SHAPE(TIMES, CLAIMED), 0);
    wf_array *squares = wf_full(ctx, WF_I64, WF_SHAPE(TIMES), 0), *first = wf_full(ctx, WF_I64, WF_SHAPE(TIMES), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_val at = wf_index(g, 0), some = wf_eq(wf_mod(at, 3), 0);
    for (int k = 0; k < TIMES; ++k) {
        wf_val before =
            masked ? wf_atomic_if(g, some, WF_JOIN_ADD, count, 1, k) : wf_atomic(g, WF_JOIN_ADD, count, 1, k);
        wf_val number = wf_cast(before, WF_I64);
        wf_accumulate(g, WF_JOIN_ADD, squares, wf_mul(number, number), k);
        wf_val held = wf_cas(g, claim, 0, wf_cast(wf_add(wf_and(at, 63), 1), t), k, wf_and(at, CLAIMED - 1));
        wf_accumulate(g, WF_JOIN_ADD, first, wf_eq(held, 0), k);
    }
    OK(ctx, wf_run(g));
    int64_t *square = contents(squares), *claims = contents(first);
    for (int k = 0; k < TIMES; ++k) {
        assert_int_equal(square[k], (on - 1) * on * (2 * on - 1) / 6);
        assert_int_equal(claims[k], CLAIMED);
    }
    free(square), free(claims);
    wf_release(count), wf_release(claim), wf_release(squares), wf_release(first);
}

static void test_many_in_one_recording(void **state)
{
    (void)state;
    for (int masked = 0; masked < 2; ++masked) {
        many(WF_I16, masked);
        many(WF_F32, masked);
        many(WF_U64, masked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_in_one_recording), cmocka_unit_test(test_counter),
        cmocka_unit_test(test_atomic_joins),          cmocka_unit_test(test_cas),
        cmocka_unit_test(test_atomic_arrays),         cmocka_unit_test(test_reads),
        cmocka_unit_test(test_own_element_after),     cmocka_unit_test(test_errors),
    };
    return RUN_ON_ALL(tests);
}
