/* test_programs.c - small array programs as a user would write them, each beside plain C: sieve, life, shortest paths,
 * run lengths, radix sort, clusters, a sparse product, conjugate gradients, equalisation, box sums, components, the
 * Mandelbrot set.
 *
 * ctest: devices driver
 */
#include "on_devices.h"
#include <math.h>

static void *download(wf_array *a, void *to, size_t bytes) /* releases a */
{
    OK(ctx, wf_download(a, to, bytes));
    wf_release(a);
    return to;
}

static wf_array *ints(wf_shape shape, const int32_t *values) { return array_of(ctx, WF_I32, shape, values); }

static void fill_random(int32_t *to, size_t n, int32_t below, uint64_t seed)
{
    for (size_t i = 0; i < n; ++i)
        to[i] = (int32_t)(test_random(&seed) >> 33) % below;
}

/* ---- scatter ---- */
static void sieve(void **state)
{
    (void)state;
    enum { N = 2000 };
    uint8_t prime[N];
    wf_array *is = wf_full(ctx, WF_U8, WF_SHAPE(N), 1);
    wf_graph *g = wf_begin(ctx);
    wf_write(g, is, 0, wf_iota(g, WF_SHAPE(2), 0));
    for (int p = 2; p * p < N; ++p) /* multiples, also of composite numbers */
        wf_write(g, is, 0, wf_add(wf_mul(wf_iota(g, WF_SHAPE((N - 1 - p * p) / p + 1), 0), p), p * p));
    wf_array *count = wf_keep(wf_sum(wf_cast(wf_in(g, is), WF_I32), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    int64_t n;
    download(count, &n, sizeof n);
    assert_int_equal(n, 303);
    download(is, prime, sizeof prime);
    assert_true(prime[1999] && !prime[1998] && !prime[1] && prime[2] && !prime[961]);
}

static void sparse_product(void **state)
{
    (void)state;
    enum { ROWS = 50, COLUMNS = 70, FILLED = 900 };
    int32_t row[FILLED], column[FILLED], value[FILLED], x[COLUMNS], y[ROWS] = { 0 }, want[ROWS] = { 0 };
    fill_random(row, FILLED, ROWS, 1);
    fill_random(column, FILLED, COLUMNS, 2);
    fill_random(value, FILLED, 100, 3);
    fill_random(x, COLUMNS, 100, 4);
    for (int k = 0; k < FILLED; ++k)
        want[row[k]] += value[k] * x[column[k]];
    wf_array *r = ints(WF_SHAPE(FILLED), row), *c = ints(WF_SHAPE(FILLED), column), *v = ints(WF_SHAPE(FILLED), value);
    wf_array *in = ints(WF_SHAPE(COLUMNS), x), *out = ints(WF_SHAPE(ROWS), y);
    wf_graph *g = wf_begin(ctx);
    wf_accumulate(g, WF_JOIN_ADD, out, wf_mul(wf_in(g, v), wf_read(g, in, wf_in(g, c))), wf_in(g, r));
    OK(ctx, wf_run(g));
    assert_memory_equal(download(out, y, sizeof y), want, sizeof y);
    wf_release(r), wf_release(c), wf_release(v), wf_release(in);
}

/* ---- scans ---- */
static void run_lengths(void **state)
{
    (void)state;
    enum { N = 500 };
    int32_t x[N], length[N], value[N], want_length[N] = { 0 }, want_value[N] = { 0 }, runs = 0;
    fill_random(x, N, 2, 5);
    for (int i = 0; i < N; ++i) {
        if (i && x[i] != x[i - 1])
            ++runs;
        want_value[runs] = x[i];
        ++want_length[runs];
    }
    wf_array *in = ints(WF_SHAPE(N), x);
    wf_array *lengths = wf_full(ctx, WF_I32, WF_SHAPE(N), 0), *values = wf_full(ctx, WF_I32, WF_SHAPE(N), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_iota(g, WF_SHAPE(N), 0), v = wf_in(g, in);
    wf_val begins = wf_and(wf_gt(i, 0), wf_ne(v, wf_read(g, in, wf_max(wf_sub(i, 1), 0))));
    wf_val run = wf_scan(WF_JOIN_ADD, begins, 0, false, false);
    wf_accumulate(g, WF_JOIN_ADD, lengths, 1, run);
    wf_accumulate(g, WF_JOIN_MAX, values, v, run);
    wf_array *last = wf_keep(wf_slice(run, 0, -1, WF_END_INDEX, 1));
    OK(ctx, wf_run(g));
    int64_t got;
    download(last, &got, sizeof got);
    assert_int_equal(got, runs);
    assert_memory_equal(download(lengths, length, sizeof length), want_length, sizeof length);
    assert_memory_equal(download(values, value, sizeof value), want_value, sizeof value);
    wf_release(in);
}

static void sort_by_digits(void **state)
{
    (void)state;
    enum { N = 777, BITS = 9 };
    int32_t x[N];
    fill_random(x, N, 1 << BITS, 6);
    wf_array *now = ints(WF_SHAPE(N), x);
    for (int bit = 0; bit < BITS; ++bit) {
        wf_array *next = wf_empty(ctx, WF_I32, WF_SHAPE(N));
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, now), one = wf_and(wf_shr(v, bit), 1), zero = wf_sub(1, one);
        wf_val zeros = wf_sum(zero, WF_AXES(0));
        wf_val place = wf_select(wf_eq(one, 0), wf_scan(WF_JOIN_ADD, zero, 0, true, false),
                                 wf_add(zeros, wf_scan(WF_JOIN_ADD, one, 0, true, false)));
        wf_write(g, next, v, place);
        OK(ctx, wf_run(g));
        wf_release(now);
        now = next;
    }
    download(now, x, sizeof x);
    for (int i = 1; i < N; ++i)
        assert_true(x[i - 1] <= x[i]);
}

/* Sums over any box from a table of sums. */
static void box_sums(void **state)
{
    (void)state;
    enum { H = 30, W = 41, R = 3 };
    int32_t x[H][W];
    int64_t got[H][W];
    fill_random(*x, H * W, 1000, 7);
    wf_array *in = ints(WF_SHAPE(H, W), *x);
    wf_graph *g = wf_begin(ctx);
    wf_val table = wf_scan(WF_JOIN_ADD, wf_scan(WF_JOIN_ADD, wf_in(g, in), 0, false, false), 1, false, false);
    wf_val i = wf_iota(g, WF_SHAPE(H, 1), 0), j = wf_iota(g, WF_SHAPE(1, W), 1);
    wf_val top = wf_sub(i, R + 1), left = wf_sub(j, R + 1);
    wf_val bottom = wf_min(wf_add(i, R), H - 1), right = wf_min(wf_add(j, R), W - 1);
    wf_val sum = wf_sub(wf_add(wf_gather(table, bottom, right), wf_gather_or(table, 0, top, left)),
                        wf_add(wf_gather_or(table, 0, top, right), wf_gather_or(table, 0, bottom, left)));
    wf_array *out = wf_keep(sum);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int a = 0; a < H; ++a)
        for (int b = 0; b < W; ++b) {
            int64_t want = 0;
            for (int k = a - R; k <= a + R; ++k)
                for (int l = b - R; l <= b + R; ++l)
                    want += k >= 0 && k < H && l >= 0 && l < W ? x[k][l] : 0;
            assert_int_equal(got[a][b], want);
        }
    wf_release(in);
}

static void equalise(void **state)
{
    (void)state;
    enum { N = 4000, LEVELS = 64 };
    int32_t x[N], got[N], count[LEVELS] = { 0 };
    fill_random(x, N, LEVELS, 8);
    for (int i = 0; i < N; ++i)
        ++count[x[i] = x[i] * x[i] / LEVELS];
    for (int k = 1; k < LEVELS; ++k)
        count[k] += count[k - 1];
    wf_array *in = ints(WF_SHAPE(N), x), *bins = wf_full(ctx, WF_I32, WF_SHAPE(LEVELS), 0);
    wf_graph *g = wf_begin(ctx);
    wf_accumulate(g, WF_JOIN_ADD, bins, 1, wf_in(g, in));
    wf_val share = wf_scan(WF_JOIN_ADD, wf_in(g, bins), 0, false, false); /* what was accumulated */
    wf_array *out = wf_keep(wf_cast(wf_idiv(wf_mul(wf_gather(share, wf_in(g, in)), LEVELS - 1), N), WF_I32));
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int i = 0; i < N; ++i)
        assert_int_equal(got[i], count[x[i]] * (LEVELS - 1) / N);
    wf_release(in), wf_release(bins);
}

/* ---- many steps ---- */
static void life(void **state)
{
    (void)state;
    enum { N = 33, STEPS = 12 };
    int32_t now[N][N], next[N][N], got[N][N];
    fill_random(*now, N * N, 2, 9);
    wf_array *in = ints(WF_SHAPE(N, N), *now);
    wf_graph *g = wf_begin(ctx);
    wf_val cells = wf_in(g, in);
    wf_array *kept = NULL;
    for (int step = 0; step < STEPS; ++step) {
        wf_val up = wf_concat(0, wf_slice(cells, 0, 1, WF_END_INDEX, 1), wf_slice(cells, 0, 0, 1, 1));
        wf_val down = wf_concat(0, wf_slice(cells, 0, -1, WF_END_INDEX, 1), wf_slice(cells, 0, 0, -1, 1));
        wf_val column = wf_add(cells, wf_add(up, down));
        wf_val left = wf_concat(1, wf_slice(column, 1, 1, WF_END_INDEX, 1), wf_slice(column, 1, 0, 1, 1));
        wf_val right = wf_concat(1, wf_slice(column, 1, -1, WF_END_INDEX, 1), wf_slice(column, 1, 0, -1, 1));
        wf_val nine = wf_add(column, wf_add(left, right));
        cells = wf_cast(wf_or(wf_eq(nine, 3), wf_and(wf_eq(nine, 4), wf_eq(cells, 1))), WF_I32);
        wf_release(kept);
        kept = wf_keep(cells); /* so that the next step finds it in memory */
        OK(ctx, wf_eval(g));
    }
    OK(ctx, wf_run(g));
    for (int step = 0; step < STEPS; ++step) {
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j) {
                int nine = 0;
                for (int k = 0; k < 9; ++k)
                    nine += now[(i + k / 3 + N - 1) % N][(j + k % 3 + N - 1) % N];
                next[i][j] = nine == 3 || (nine == 4 && now[i][j]);
            }
        memcpy(now, next, sizeof now);
    }
    assert_memory_equal(download(kept, got, sizeof got), now, sizeof now);
    wf_release(in);
}

static void shortest_paths(void **state)
{
    (void)state;
    enum { N = 21 };
    int32_t d[N][N], got[N][N];
    fill_random(*d, N * N, 1000, 10);
    wf_array *in = ints(WF_SHAPE(N, N), *d);
    wf_graph *g = wf_begin(ctx);
    for (int k = 0; k < N; ++k) {
        wf_val v = wf_in(g, in), through = wf_add(wf_slice(v, 1, k, k + 1, 1), wf_slice(v, 0, k, k + 1, 1));
        wf_out(g, in, wf_min(v, through)); /* in place: every operand is read before */
    }
    OK(ctx, wf_run(g));
    for (int k = 0; k < N; ++k)
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j)
                d[i][j] = d[i][k] + d[k][j] < d[i][j] ? d[i][k] + d[k][j] : d[i][j];
    assert_memory_equal(download(in, got, sizeof got), d, sizeof d);
}

static void components(void **state)
{
    (void)state;
    enum { N = 40, EDGES = 45 };
    int32_t from[EDGES], to[EDGES], label[N], got[N], turns = 0;
    fill_random(from, EDGES, N, 11);
    fill_random(to, EDGES, N, 12);
    for (int i = 0; i < N; ++i)
        label[i] = i;
    wf_array *a = ints(WF_SHAPE(EDGES), from), *b = ints(WF_SHAPE(EDGES), to), *l = ints(WF_SHAPE(N), label);
    for (int32_t changed = 1; changed; ++turns) {
        wf_graph *g = wf_begin(ctx);
        wf_val before = wf_in(g, l), i = wf_in(g, a), j = wf_in(g, b);
        wf_val least = wf_min(wf_read(g, l, i), wf_read(g, l, j));
        wf_accumulate(g, WF_JOIN_MIN, l, least, i);
        wf_accumulate(g, WF_JOIN_MIN, l, least, j);
        wf_array *any = wf_keep(wf_cast(wf_reduce(WF_JOIN_OR, wf_ne(before, wf_in(g, l)), WF_ALL_AXES), WF_I32));
        OK(ctx, wf_run(g));
        download(any, &changed, sizeof changed);
    }
    assert_in_range(turns, 2, N + 1);
    for (int turn = 0; turn < N; ++turn)
        for (int e = 0; e < EDGES; ++e) {
            int32_t least = label[from[e]] < label[to[e]] ? label[from[e]] : label[to[e]];
            label[from[e]] = label[to[e]] = least;
        }
    assert_memory_equal(download(l, got, sizeof got), label, sizeof got);
    wf_release(a), wf_release(b);
}

static void clusters(void **state)
{
    (void)state;
    enum { N = 300, K = 4, TURNS = 5 };
    int32_t x[N];
    double middle[K] = { 10, 30, 60, 90 }, got[K];
    fill_random(x, N, 100, 13);
    wf_array *in = ints(WF_SHAPE(N, 1), x), *at = array_of(ctx, WF_F64, WF_SHAPE(1, K), middle);
    wf_graph *g = wf_begin(ctx);
    for (int turn = 0; turn < TURNS; ++turn) {
        wf_val v = wf_cast(wf_in(g, in), WF_F64), far = wf_abs(wf_sub(v, wf_in(g, at))); /* [n, k] */
        wf_val mine = wf_eq(far, wf_reduce(WF_JOIN_MIN, far, WF_AXES(1)));               /* ties: of both */
        wf_val sum = wf_sum(wf_select(mine, v, 0), WF_AXES(0)), n = wf_sum(wf_cast(mine, WF_I32), WF_AXES(0));
        wf_out(g, at, wf_div(sum, wf_cast(n, WF_F64)));
    }
    OK(ctx, wf_run(g));
    for (int turn = 0; turn < TURNS; ++turn) {
        double sum[K] = { 0 }, n[K] = { 0 };
        for (int i = 0; i < N; ++i) {
            double best = INFINITY;
            for (int k = 0; k < K; ++k)
                best = fmin(best, fabs(x[i] - middle[k]));
            for (int k = 0; k < K; ++k)
                if (fabs(x[i] - middle[k]) == best) {
                    sum[k] += x[i];
                    n[k] += 1;
                }
        }
        for (int k = 0; k < K; ++k)
            middle[k] = sum[k] / n[k];
    }
    download(at, got, sizeof got);
    for (int k = 0; k < K; ++k)
        assert_true(got[k] == middle[k]); /* sums of integers are exact */
    wf_release(in);
}

/* Conjugate gradients, with the scalars of a step in the graph, too. */
static void gradients(void **state)
{
    (void)state;
    enum { N = 32 };
    double x[N], b[N];
    for (int i = 0; i < N; ++i)
        b[i] = i % 5 - 2;
    wf_array *rhs = array_of(ctx, WF_F64, WF_SHAPE(N), b), *at = wf_full(ctx, WF_F64, WF_SHAPE(N), 0);
    wf_array *residue = wf_copy(rhs), *way = wf_copy(rhs);
    for (int turn = 0; turn < N; ++turn) {
        wf_graph *g = wf_begin(ctx);
        wf_val p = wf_in(g, way), r = wf_in(g, residue), i = wf_iota(g, WF_SHAPE(N), 0);
        wf_val before = wf_gather_or(p, 0, wf_sub(i, 1)), after = wf_gather_or(p, 0, wf_add(i, 1));
        wf_val ap = wf_sub(wf_mul(p, 2), wf_add(before, after)), rr = wf_sum(wf_mul(r, r), WF_ALL_AXES);
        wf_val alpha = wf_div(rr, wf_sum(wf_mul(p, ap), WF_ALL_AXES)), next = wf_sub(r, wf_mul(alpha, ap));
        wf_val beta = wf_div(wf_sum(wf_mul(next, next), WF_ALL_AXES), rr);
        wf_out(g, at, wf_add(wf_in(g, at), wf_mul(alpha, p)));
        wf_out(g, residue, next);
        wf_out(g, way, wf_add(next, wf_mul(beta, p)));
        OK(ctx, wf_run(g));
    }
    download(at, x, sizeof x);
    for (int i = 0; i < N; ++i) {
        double left = 2 * x[i] - (i ? x[i - 1] : 0) - (i + 1 < N ? x[i + 1] : 0);
        assert_true(fabs(left - b[i]) < 1e-9);
    }
    wf_release(rhs), wf_release(residue), wf_release(way);
}

/* ---- loops ---- */
static void mandelbrot(void **state)
{
    (void)state;
    enum { H = 24, W = 36, MOST = 60 };
    int32_t got[H][W];
    wf_graph *g = wf_begin(ctx);
    wf_val cx = wf_sub(wf_mul(wf_cast(wf_iota(g, WF_SHAPE(1, W), 1), WF_F64), 3.0 / W), 2.25);
    wf_val cy = wf_sub(wf_mul(wf_cast(wf_iota(g, WF_SHAPE(H, 1), 0), WF_F64), 2.0 / H), 1);
    wf_var x = wf_local(g, WF_F64, cx), y = wf_local(g, WF_F64, cy), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(wf_add(wf_mul(x, x), wf_mul(y, y)), 4), wf_lt(n, MOST))) {
        wf_val next = wf_add(wf_sub(wf_mul(x, x), wf_mul(y, y)), cx);
        wf_set(y, wf_add(wf_mul(wf_mul(x, y), 2), cy));
        wf_set(x, next);
        wf_inc(n, 1);
    }
    WF_END(g);
    wf_array *out = wf_keep(n);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j) {
            double cr = j * (3.0 / W) - 2.25, ci = i * (2.0 / H) - 1, a = cr, b = ci;
            int count = 0;
            for (; a * a + b * b < 4 && count < MOST; ++count) {
                double next = a * a - b * b + cr;
                b = a * b * 2 + ci;
                a = next;
            }
            assert_int_equal(got[i][j], count);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sieve),          cmocka_unit_test(sparse_product), cmocka_unit_test(run_lengths),
        cmocka_unit_test(sort_by_digits), cmocka_unit_test(box_sums),       cmocka_unit_test(equalise),
        cmocka_unit_test(life),           cmocka_unit_test(shortest_paths), cmocka_unit_test(components),
        cmocka_unit_test(clusters),       cmocka_unit_test(gradients),      cmocka_unit_test(mandelbrot),
    };
    return RUN_ON_ALL(tests);
}
