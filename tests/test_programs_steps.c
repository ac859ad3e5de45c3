/* test_programs_steps.c - array programs that go on step by step, in loops of lanes or in C with evaluations in
 * between, each beside plain C: searching, divisors, random walks, levels of a graph, page ranks, a sorting network, a
 * Fourier transform, relaxation in place, traces of a loop, a median filter.
 *
 * ctest: devices driver
 */
#include "on_devices.h"
#include "weft/traced.h"

static void download(wf_array *a, void *to, size_t bytes) /* releases a */
{
    OK(ctx, wf_download(a, to, bytes));
    wf_release(a);
}

static void fill_random(int32_t *to, size_t n, int32_t below, uint64_t seed)
{
    for (size_t i = 0; i < n; ++i)
        to[i] = (int32_t)(test_random(&seed) >> 33) % below;
}

/* ---- loops of lanes ---- */
static void search(void **state)
{
    (void)state;
    enum { N = 300, M = 500 };
    int32_t x[N], wanted[M];
    int64_t got[M];
    fill_random(x, N, 20, 1);
    fill_random(wanted, M, 3500, 2);
    for (int i = 1; i < N; ++i)
        x[i] += x[i - 1];
    wf_array *in = array_of(ctx, WF_I32, WF_SHAPE(N), x), *of = array_of(ctx, WF_I32, WF_SHAPE(M), wanted);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, of);
    wf_var low = wf_local(g, WF_I64, 0), high = wf_local(g, WF_I64, N);
    WF_WHILE (g, wf_lt(low, high)) {
        wf_val mid = wf_shr(wf_add(low, high), 1), less = wf_lt(wf_read(g, in, mid), v);
        wf_set(low, wf_select(less, wf_add(mid, 1), low));
        wf_set(high, wf_select(less, high, mid));
    }
    WF_END(g);
    wf_array *out = wf_keep(low);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int i = 0; i < M; ++i) {
        int64_t at = 0;
        while (at < N && x[at] < wanted[i])
            ++at;
        assert_int_equal(got[i], at);
    }
    wf_release(in), wf_release(of);
}

/* Two vectors, whose loop has the shape of a table. */
static void divisors(void **state)
{
    (void)state;
    enum { N = 31, M = 40 };
    int32_t a[N], b[M], got[N][M];
    fill_random(a, N, 1000, 3);
    fill_random(b, M, 1000, 4);
    wf_array *rows = array_of(ctx, WF_I32, WF_SHAPE(N, 1), a), *columns = array_of(ctx, WF_I32, WF_SHAPE(1, M), b);
    wf_graph *g = wf_begin(ctx);
    wf_var x = wf_local(g, WF_I32, wf_in(g, rows)), y = wf_local(g, WF_I32, wf_in(g, columns));
    WF_WHILE (g, wf_ne(y, 0)) {
        wf_val rest = wf_mod(x, y);
        wf_set(x, y);
        wf_set(y, rest);
    }
    WF_END(g);
    wf_array *out = wf_keep(x);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < M; ++j) {
            int32_t p = a[i], q = b[j];
            while (q) {
                int32_t rest = p % q;
                p = q;
                q = rest;
            }
            assert_int_equal(got[i][j], p);
        }
    wf_release(rows), wf_release(columns);
}

static uint32_t pcg32(uint64_t *state, uint64_t increment)
{
    uint64_t old = *state;
    *state = old * 6364136223846793005u + increment;
    uint32_t x = (uint32_t)((old >> 18 ^ old) >> 27), turn = (uint32_t)(old >> 59);
    return x >> turn | x << (-turn & 31);
}

/* Until it is ten steps away, or has done 400. */
static void random_walks(void **state)
{
    (void)state;
    enum { N = 200, AWAY = 10, MOST = 400 };
    int32_t got[2][N];
    wf_graph *g = wf_begin(ctx);
    wf_pcg32 generator = wf_pcg32_seed(g, 11, wf_iota(g, WF_SHAPE(N), 0));
    wf_var s = wf_local(g, WF_U64, generator.state), x = wf_local(g, WF_I32, 0), n = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_and(wf_lt(wf_abs(x), AWAY), wf_lt(n, MOST))) {
        generator.state = wf_get(s);
        wf_val right = wf_cast(wf_shr(wf_pcg32_u32(&generator), 31), WF_I32);
        wf_set(s, generator.state);
        wf_inc(x, wf_sub(wf_mul(right, 2), 1));
        wf_inc(n, 1);
    }
    WF_END(g);
    wf_array *place = wf_keep(x), *steps = wf_keep(n);
    OK(ctx, wf_run(g));
    download(place, got[0], sizeof got[0]);
    download(steps, got[1], sizeof got[1]);
    for (uint64_t i = 0; i < N; ++i) {
        uint64_t increment = i << 1 | 1, at = 0;
        int32_t where = 0, count = 0;
        pcg32(&at, increment);
        at += 11;
        pcg32(&at, increment);
        for (; abs(where) < AWAY && count < MOST; ++count)
            where += (int32_t)(pcg32(&at, increment) >> 31) * 2 - 1;
        assert_int_equal(got[0][i], where);
        assert_int_equal(got[1][i], count);
    }
}

/* A loop writes its state of each turn; lanes go on by wf_continue. */
static void traces(void **state)
{
    (void)state;
    enum { N = 100, TURNS = 6 };
    int32_t x[N], got[N], trace[TURNS][N];
    fill_random(x, N, 2000, 5);
    for (int i = 0; i < N; ++i)
        x[i] -= 1000;
    wf_array *in = array_of(ctx, WF_I32, WF_SHAPE(N), x), *to = wf_full(ctx, WF_I32, WF_SHAPE(TURNS, N), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_iota(g, WF_SHAPE(N), 0);
    wf_var v = wf_local(g, WF_I32, wf_in(g, in)), turn = wf_local(g, WF_I64, 0);
    WF_LOOP(g)
    {
        WF_IF (g, wf_ge(turn, TURNS))
            wf_break(g);
        WF_END(g);
        wf_write(g, to, v, turn, i);
        wf_inc(turn, 1);
        WF_IF (g, wf_lt(v, 0)) {
            wf_set(v, wf_neg(v));
            wf_continue(g);
        }
        WF_END(g);
        wf_set(v, wf_sub(wf_shr(v, 1), 3));
    }
    WF_END(g);
    wf_array *out = wf_keep(v);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    download(to, trace, sizeof trace);
    for (int k = 0; k < N; ++k) {
        for (int t = 0; t < TURNS; ++t) {
            assert_int_equal(trace[t][k], x[k]);
            x[k] = x[k] < 0 ? -x[k] : (x[k] >> 1) - 3;
        }
        assert_int_equal(got[k], x[k]);
    }
    wf_release(in);
}

/* ---- steps of C ---- */
enum { NODES = 60, EDGES = 150 };

static void levels(void **state)
{
    (void)state;
    int32_t from[EDGES], to[EDGES], want[NODES], got[NODES];
    fill_random(from, EDGES, NODES, 6);
    fill_random(to, EDGES, NODES, 7);
    for (int i = 0; i < NODES; ++i)
        want[i] = i ? -1 : 0;
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(EDGES), from), *b = array_of(ctx, WF_I32, WF_SHAPE(EDGES), to);
    wf_array *level = array_of(ctx, WF_I32, WF_SHAPE(NODES), want);
    for (int k = 0; k < 8; ++k) {
        wf_graph *g = wf_begin(ctx);
        wf_val i = wf_in(g, a), j = wf_in(g, b);
        wf_val go = wf_and(wf_eq(wf_read(g, level, i), k), wf_lt(wf_read(g, level, j), 0));
        wf_accumulate_if(g, go, WF_JOIN_MAX, level, k + 1, j);
        OK(ctx, wf_run(g));
        for (int e = 0; e < EDGES; ++e)
            if (want[from[e]] == k && want[to[e]] < 0)
                want[to[e]] = k + 1;
    }
    download(level, got, sizeof got);
    assert_memory_equal(got, want, sizeof got);
    wf_release(a), wf_release(b);
}

/* One graph, evaluated in each step; an array is set to 0 and accumulated into. Whole numbers keep sums exact. */
static void ranks(void **state)
{
    (void)state;
    int32_t from[EDGES], to[EDGES];
    int64_t rank[NODES], next[NODES], got[NODES], degree[NODES] = { 0 };
    fill_random(from, EDGES, NODES, 8);
    fill_random(to, EDGES, NODES, 9);
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(EDGES), from), *b = array_of(ctx, WF_I32, WF_SHAPE(EDGES), to);
    wf_array *degrees = wf_full(ctx, WF_I64, WF_SHAPE(NODES), 0), *sums = wf_full(ctx, WF_I64, WF_SHAPE(NODES), 7);
    wf_graph *g = wf_begin(ctx);
    wf_accumulate(g, WF_JOIN_ADD, degrees, 1, wf_in(g, a));
    wf_val r = wf_broadcast(wf_const(g, WF_I64, 1 << 20), WF_SHAPE(NODES));
    for (int step = 0; step < 6; ++step) {
        wf_out(g, sums, 0);
        wf_val share = wf_idiv(r, wf_max(wf_in(g, degrees), 1));
        wf_accumulate(g, WF_JOIN_ADD, sums, wf_gather(share, wf_in(g, a)), wf_in(g, b));
        r = wf_add(wf_idiv(wf_mul(wf_in(g, sums), 7), 8), 1 << 17);
        wf_release(wf_keep(r));
        OK(ctx, wf_eval(g));
    }
    wf_array *out = wf_keep(r);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int e = 0; e < EDGES; ++e)
        ++degree[from[e]];
    for (int i = 0; i < NODES; ++i)
        rank[i] = 1 << 20;
    for (int step = 0; step < 6; ++step) {
        memset(next, 0, sizeof next);
        for (int e = 0; e < EDGES; ++e)
            next[to[e]] += rank[from[e]] / degree[from[e]];
        for (int i = 0; i < NODES; ++i)
            rank[i] = next[i] * 7 / 8 + (1 << 17);
    }
    assert_memory_equal(got, rank, sizeof rank);
    wf_release(a), wf_release(b), wf_release(degrees), wf_release(sums);
}

static void sorting_network(void **state)
{
    (void)state;
    enum { N = 64 };
    int32_t x[N], got[N];
    fill_random(x, N, 1000, 10);
    wf_array *in = array_of(ctx, WF_I32, WF_SHAPE(N), x);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, in), i = wf_iota(g, WF_SHAPE(N), 0);
    for (int k = 2; k <= N; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            wf_val other = wf_gather(v, wf_xor(i, j)), up = wf_eq(wf_and(i, k), 0), first = wf_eq(wf_and(i, j), 0);
            v = wf_select(wf_eq(up, first), wf_min(v, other), wf_max(v, other));
        }
    wf_array *out = wf_keep(v);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int a = 1; a < N; ++a)
        for (int b = a; b && x[b - 1] > x[b]; --b) {
            int32_t held = x[b];
            x[b] = x[b - 1];
            x[b - 1] = held;
        }
    assert_memory_equal(got, x, sizeof x);
    wf_release(in);
}

/* Butterflies of complex numbers, against the sum by definition. */
static void fourier(void **state)
{
    (void)state;
    enum { BITS = 5, N = 1 << BITS };
    double x[N][2], got[N][2];
    uint64_t random = 11;
    for (int i = 0; i < N; ++i)
        for (int p = 0; p < 2; ++p)
            x[i][p] = (double)(test_random(&random) >> 40) / (1 << 24) - 0.5;
    wf_array *in = array_of(ctx, WF_C128, WF_SHAPE(N), x);
    wf_graph *g = wf_begin(ctx);
    wf_val i = wf_iota(g, WF_SHAPE(N), 0), v = wf_gather(wf_in(g, in), wf_shr(wf_brev(wf_cast(i, WF_U32)), 32 - BITS));
    for (int half = 1; half < N; half *= 2) {
        wf_val angle = wf_mul(wf_cast(wf_and(i, half - 1), WF_F64), -1.0 / half);
        wf_val low = wf_gather(v, wf_and(i, ~half)), high = wf_gather(v, wf_or(i, half));
        wf_val turned = wf_mul(wf_complex(wf_cospi(angle), wf_sinpi(angle)), high);
        v = wf_select(wf_eq(wf_and(i, half), 0), wf_add(low, turned), wf_sub(low, turned));
        wf_release(wf_keep(v));
        OK(ctx, wf_eval(g));
    }
    wf_array *out = wf_keep(v);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int k = 0; k < N; ++k) {
        double re = 0, im = 0;
        for (int n = 0; n < N; ++n) {
            double angle = -2 * 3.14159265358979324 * (double)(k * n % N) / N, c = cos(angle), s = sin(angle);
            re += x[n][0] * c - x[n][1] * s;
            im += x[n][0] * s + x[n][1] * c;
        }
        assert_true(fabs(got[k][0] - re) < 1e-13 && fabs(got[k][1] - im) < 1e-13);
    }
    wf_release(in);
}

/* ---- images ---- */
enum { H = 19, W = 23 };

/* A view of the inner part is assigned a value of the whole array around it; an earlier copy keeps its contents. */
static void relaxation(void **state)
{
    (void)state;
    int32_t x[H][W], next[H][W], got[H][W];
    fill_random(*x, H * W, 1 << 20, 12);
    wf_array *a = array_of(ctx, WF_I32, WF_SHAPE(H, W), x), *before = wf_copy(a);
    wf_array *rows = wf_view_slice(a, 0, 1, -1, 1), *inner = wf_view_slice(rows, 1, 1, -1, 1);
    for (int step = 0; step < 4; ++step) {
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), middle = wf_slice(v, 0, 1, -1, 1), columns = wf_slice(v, 1, 1, -1, 1);
        wf_val up = wf_slice(columns, 0, 0, -2, 1), down = wf_slice(columns, 0, 2, WF_END_INDEX, 1);
        wf_val left = wf_slice(middle, 1, 0, -2, 1), right = wf_slice(middle, 1, 2, WF_END_INDEX, 1);
        wf_out(g, inner, wf_shr(wf_add(wf_add(up, down), wf_add(left, right)), 2));
        OK(ctx, wf_run(g));
    }
    download(before, got, sizeof got);
    assert_memory_equal(got, x, sizeof x);
    for (int step = 0; step < 4; ++step) {
        memcpy(next, x, sizeof next);
        for (int i = 1; i < H - 1; ++i)
            for (int j = 1; j < W - 1; ++j)
                next[i][j] = (x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1]) >> 2;
        memcpy(x, next, sizeof x);
    }
    wf_release(rows), wf_release(inner);
    download(a, got, sizeof got);
    assert_memory_equal(got, x, sizeof x);
}

static int mirrored(int i, int n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; }

static void median(void **state)
{
    (void)state;
    int32_t x[H][W], got[H][W];
    fill_random(*x, H * W, 100, 13);
    wf_array *in = array_of(ctx, WF_I32, WF_SHAPE(H, W), x), *out = wf_empty(ctx, WF_I32, WF_SHAPE(H, W));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
    wf_val v[9];
    for (int k = 0; k < 9; ++k)
        v[k] = wf_read_border(g, in, WF_BORDER_REFLECT, 0, wf_add(wf_index(g, 0), k / 3 - 1),
                              wf_add(wf_index(g, 1), k % 3 - 1));
    for (int i = 0; i < 9; ++i)
        for (int j = 0; j < 8 - i; ++j) {
            wf_val low = wf_min(v[j], v[j + 1]), high = wf_max(v[j], v[j + 1]);
            v[j] = low;
            v[j + 1] = high;
        }
    wf_out(g, out, v[4]);
    OK(ctx, wf_run(g));
    download(out, got, sizeof got);
    for (int i = 0; i < H; ++i)
        for (int j = 0; j < W; ++j) {
            int below = 0, same = 0;
            for (int k = 0; k < 9; ++k) {
                int32_t y = x[mirrored(i + k / 3 - 1, H)][mirrored(j + k % 3 - 1, W)];
                below += y < got[i][j];
                same += y == got[i][j];
            }
            assert_true(below <= 4 && below + same >= 5);
        }
    wf_release(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search),     cmocka_unit_test(divisors), cmocka_unit_test(random_walks),
        cmocka_unit_test(traces),     cmocka_unit_test(levels),   cmocka_unit_test(ranks),
        cmocka_unit_test(relaxation), cmocka_unit_test(fourier),  cmocka_unit_test(sorting_network),
        cmocka_unit_test(median),
    };
    return RUN_ON_ALL(tests);
}
