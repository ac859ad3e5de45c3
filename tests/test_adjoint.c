/* test_adjoint.c - adjoints of operators over an index space, beside adjoints written out by hand: each is compared by
 * v . (J u) == (J^T v) . u, where J u is computed with the operator itself, which is linear here, or by differences.
 *
 * ctest: devices first_tier
 */
#include "on_devices.h"
#include "weft/functions.h"

enum { H = 13, W = 17, K = 3 };

static double at(uint64_t *random) { return (double)(test_random(random) % 2001) / 1000 - 1; }

static wf_array *random_array(wf_shape shape, uint64_t seed)
{
    double x[1024];
    int64_t n = 1;
    for (int d = 0; d < shape.rank; ++d)
        n *= shape.dim[d];
    for (int64_t i = 0; i < n; ++i)
        x[i] = at(&seed);
    return array_of(ctx, WF_F64, shape, x);
}

static double dot(wf_array *a, wf_array *b)
{
    double *x = contents(a), *y = contents(b), sum = 0;
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        sum += x[i] * y[i];
    free(x);
    free(y);
    return sum;
}

/* Operators of x [H, W] and w [K, K] that store y. */
typedef wf_graph *operator_of(wf_array *x, wf_array *w, wf_array *y);

static wf_graph *convolution(wf_array *x, wf_array *w, wf_array *y, wf_border border, bool loop)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(y));
    wf_val r = wf_index(g, 0), c = wf_index(g, 1), sum = wf_const(g, WF_F64, 0), k;
    wf_var all = wf_local(g, WF_F64, 0);
    if (loop) {
        WF_FOR (g, k, 0, K * K, 1) {
            wf_val i = wf_idiv(k, K), j = wf_mod(k, K);
            wf_val v = wf_read_border(g, x, border, 0, wf_add(r, wf_sub(i, 1)), wf_add(c, wf_sub(j, 1)));
            wf_inc(all, wf_mul(v, wf_read(g, w, i, j)));
        }
        WF_END(g);
        wf_out(g, y, all);
        return g;
    }
    for (int i = 0; i < K; ++i)
        for (int j = 0; j < K; ++j) {
            wf_val v = wf_read_border(g, x, border, 0, wf_add(r, i - 1), wf_add(c, j - 1));
            sum = wf_add(sum, wf_mul(v, wf_read(g, w, i, j)));
        }
    wf_out(g, y, sum);
    return g;
}
static wf_graph *with_zeros(wf_array *x, wf_array *w, wf_array *y) { return convolution(x, w, y, WF_BORDER_VALUE, 0); }
static wf_graph *in_a_loop(wf_array *x, wf_array *w, wf_array *y) { return convolution(x, w, y, WF_BORDER_VALUE, 1); }
static wf_graph *clamped(wf_array *x, wf_array *w, wf_array *y) { return convolution(x, w, y, WF_BORDER_CLAMP, 0); }
static wf_graph *mirrored(wf_array *x, wf_array *w, wf_array *y) { return convolution(x, w, y, WF_BORDER_MIRROR, 1); }
static wf_graph *reflected(wf_array *x, wf_array *w, wf_array *y) { return convolution(x, w, y, WF_BORDER_REFLECT, 0); }
static wf_graph *periodic(wf_array *x, wf_array *w, wf_array *y) { return convolution(x, w, y, WF_BORDER_PERIODIC, 0); }

/* A stencil that is not linear; points beyond the border have a gradient of 0 there. */
static wf_graph *edges(wf_array *x, wf_array *w, wf_array *y)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(y));
    wf_val r = wf_index(g, 0), c = wf_index(g, 1), here = wf_in(g, x);
    wf_val dy = wf_sub(wf_read_or(g, x, 2, wf_add(r, 1), c), here),
           dx = wf_sub(wf_read_or(g, x, 0, r, wf_add(c, 1)), here);
    wf_out(g, y, wf_mul(wf_sqrt(wf_add(wf_add(wf_mul(dx, dx), wf_mul(dy, dy)), 0.1)), wf_read(g, w, 1, 2)));
    return g;
}

/* Reads of every second element, and at transposed and reversed indices. No point reads the other elements. */
static wf_graph *halved(wf_array *x, wf_array *w, wf_array *y)
{
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6, 8));
    wf_val r = wf_index(g, 0), c = wf_index(g, 1);
    wf_val v = wf_read(g, x, wf_add(wf_mul(r, 2), 1), wf_mul(c, 2)), t = wf_read(g, x, wf_add(c, 3), wf_add(r, 2));
    wf_val back = wf_read(g, x, wf_sub(H - 1, r), c);
    wf_write(g, y, wf_add(wf_mul(wf_sin(v), t), wf_mul(back, wf_read(g, w, 0, 0))), r, c);
    return g;
}

/* Indices that are data or are shared by points, a condition, and a sum of weights that all points use. */
static wf_graph *scattered(wf_array *x, wf_array *w, wf_array *y)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(y));
    wf_val r = wf_index(g, 0), c = wf_index(g, 1);
    wf_val v = wf_read(g, x, wf_idiv(r, 2), wf_mod(wf_mul(c, 5), W));
    wf_val k = wf_read(g, w, wf_mod(r, K), 1);
    wf_write_if(g, wf_gt(wf_add(r, c), 3), y, wf_mul(wf_mul(v, v), k), r, c);
    return g;
}

/* Loops of as many turns as each point decides, of reads at neighbours that happen before. */
static wf_graph *own_turns(wf_array *x, wf_array *w, wf_array *y)
{
    wf_graph *g = wf_begin(ctx, .shape = wf_array_shape(y));
    wf_val r = wf_index(g, 0), c = wf_index(g, 1), next = wf_read_or(g, x, 0.5, r, wf_add(c, 1));
    wf_val k = wf_read(g, w, 1, 1);
    wf_var z = wf_local(g, WF_F64, wf_in(g, x)), i = wf_local(g, WF_I64, 0);
    WF_WHILE (g, wf_lt(i, wf_mul(r, c))) {
        wf_inc(z, wf_mul(wf_sin(wf_add(z, next)), wf_mul(k, 0.0625)));
        wf_inc(i, 1);
    }
    WF_END(g);
    wf_write(g, y, wf_mul(z, z), r, c);
    return g;
}

static wf_array *applied(operator_of *f, wf_array *x, wf_array *w)
{
    wf_array *y = wf_full(ctx, WF_F64, WF_SHAPE(H, W), 0);
    OK(ctx, wf_run(f(x, w, y)));
    return y;
}

static wf_array *moved(wf_array *a, wf_array *by, double h)
{
    wf_graph *g = wf_begin(ctx);
    wf_array *sum = wf_keep(wf_add(wf_in(g, a), wf_mul(wf_in(g, by), h)));
    OK(ctx, wf_run(g));
    return sum;
}

/* v . J u by differences of the operator along u in x and w together. */
static double along(operator_of *f, wf_array *x, wf_array *w, wf_array *u, wf_array *uw, wf_array *v)
{
    const double h = 1e-5;
    double sum = 0;
    for (int sign = -1; sign <= 1; sign += 2) {
        wf_array *xh = moved(x, u, sign * h), *wh = moved(w, uw, sign * h), *y = applied(f, xh, wh);
        sum += sign * dot(v, y) / (2 * h);
        wf_release(y);
        wf_release(wh);
        wf_release(xh);
    }
    return sum;
}

static void transposes(void **state)
{
    (void)state;
    operator_of *const all[] = { with_zeros, in_a_loop, clamped, mirrored,  reflected,
                                 periodic,   edges,     halved,  scattered, own_turns };
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        wf_array *x = random_array(WF_SHAPE(H, W), 1), *w = random_array(WF_SHAPE(K, K), 2);
        wf_array *u = random_array(WF_SHAPE(H, W), 3), *uw = random_array(WF_SHAPE(K, K), 4);
        wf_array *v = random_array(WF_SHAPE(H, W), 5), *y = wf_full(ctx, WF_F64, WF_SHAPE(H, W), 0);
        wf_array *gx = wf_full(ctx, WF_F64, WF_SHAPE(H, W), 7), *gw = wf_full(ctx, WF_F64, WF_SHAPE(K, K), 7);
        OK(ctx, wf_adjoint(all[k](x, w, y), WF_ARRAYS(y), WF_ARRAYS(v), WF_ARRAYS(x, w), WF_ARRAYS(gx, gw)));
        double want = along(all[k], x, w, u, uw, v), got = dot(gx, u) + dot(gw, uw);
        wf_array *dy = wf_full(ctx, WF_F64, WF_SHAPE(H, W), 0);
        OK(ctx, wf_tangent(all[k](x, w, y), WF_ARRAYS(x, w), WF_ARRAYS(u, uw), WF_ARRAYS(y), WF_ARRAYS(dy)));
        double forward = dot(dy, v);
        if (!(fabs(got - forward) <= 1e-12 * (1 + fabs(forward))))
            fail_msg("operator %d: %.17g by the adjoint, %.17g in forward mode", (int)k, got, forward);
        wf_release(dy);
        if (!(fabs(got - want) <= 1e-8 * (1 + fabs(want))))
            fail_msg("operator %d: %.15g by the adjoint, %.15g by differences", (int)k, got, want);
        wf_array *const used[] = { x, w, u, uw, v, y, gx, gw };
        for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
            wf_release(used[i]);
    }
}

/* The adjoint of a stencil with zeros outside is the stencil with the kernel turned around. */
static void stencil_of_a_stencil(void **state)
{
    (void)state;
    wf_array *x = random_array(WF_SHAPE(H, W), 1), *w = random_array(WF_SHAPE(K, K), 2);
    wf_array *v = random_array(WF_SHAPE(H, W), 5), *y = wf_full(ctx, WF_F64, WF_SHAPE(H, W), 0), *gx = wf_like(x);
    double turned[K * K], *weights = contents(w);
    for (int i = 0; i < K * K; ++i)
        turned[i] = weights[K * K - 1 - i];
    free(weights);
    OK(ctx, wf_adjoint(with_zeros(x, w, y), WF_ARRAYS(y), WF_ARRAYS(v), WF_ARRAYS(x), WF_ARRAYS(gx)));
    wf_array *back = array_of(ctx, WF_F64, WF_SHAPE(K, K), turned), *want = applied(with_zeros, v, back);
    double *a = contents(gx), *b = contents(want);
    for (int i = 0; i < H * W; ++i)
        assert_true(fabs(a[i] - b[i]) <= 1e-14);
    free(a);
    free(b);
    wf_array *const used[] = { x, w, v, y, gx, back, want };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

static wf_array *of_dtype(wf_dtype t, wf_shape shape, const double *x)
{
    wf_array *wide = array_of(ctx, WF_F64, shape, x), *a = wf_array_cast(wide, t);
    wf_release(wide);
    return a;
}

/* Sums over all points, some rows of which are added up at once: one row, a divisor of their number, and what is left of
 * a prime number; in one kernel and in two. */
static void check_sums(wf_dtype t, int rank, int64_t rows, int taps)
{
    enum { COLUMNS = 19, MOST = 23, MOST_TAPS = 9 };
    const int64_t planes = rank == 3 ? 2 : 1, points = planes * rows * COLUMNS;
    const wf_shape all[] = { WF_SHAPE(COLUMNS), WF_SHAPE(rows, COLUMNS), WF_SHAPE(planes, rows, COLUMNS) };
    const wf_shape weights = WF_SHAPE(taps, taps);
    double x[2 * MOST * COLUMNS], v[2 * MOST * COLUMNS], w[MOST_TAPS * MOST_TAPS];
    uint64_t random = (uint64_t)(rows * 100 + taps);
    for (int64_t i = 0; i < points; ++i) /* few digits, so that a product of f16 is exact */
        x[i] = floor(8 * at(&random)) / 8, v[i] = floor(8 * at(&random)) / 8;
    for (int i = 0; i < taps * taps; ++i)
        w[i] = at(&random);
    wf_array *ax = of_dtype(t, all[rank - 1], x), *av = of_dtype(t, all[rank - 1], v);
    wf_array *aw = of_dtype(t, weights, w), *y = wf_like(ax), *gw = wf_full(ctx, t, weights, 7);
    wf_graph *g = wf_begin(ctx, .shape = all[rank - 1]);
    wf_val sum = wf_const(g, t, 0), zero = wf_const(g, t, 0), index[3] = { 0 };
    for (int d = 0; d < rank; ++d)
        index[d] = wf_index(g, d);
    for (int i = 0; i < taps; ++i)
        for (int j = 0; j < taps; ++j) {
            wf_val here[3] = { index[0], index[1], index[2] };
            here[rank - 1] = wf_add(index[rank - 1], j - taps / 2);
            if (rank > 1)
                here[rank - 2] = wf_add(index[rank - 2], i - taps / 2);
            wf_val pixel = wf_read_border_n(g, ax, WF_BORDER_VALUE, zero, (wf_vals){ here, (size_t)rank });
            sum = wf_add(sum, wf_mul(pixel, wf_read(g, aw, i, j)));
        }
    wf_out(g, y, sum);
    OK(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(av), WF_ARRAYS(aw), WF_ARRAYS(gw)));
    wf_array *wide = wf_array_cast(gw, WF_F64);
    double *got = contents(wide);
    for (int i = 0; i < taps; ++i)
        for (int j = 0; j < taps; ++j) {
            double want = 0;
            for (int64_t p = 0; p < points; ++p) {
                const int64_t r = p / COLUMNS % rows + (rank > 1 ? i - taps / 2 : 0), c = p % COLUMNS + j - taps / 2;
                if (r >= 0 && r < rows && c >= 0 && c < COLUMNS)
                    want += v[p] * x[p / (rows * COLUMNS) * rows * COLUMNS + r * COLUMNS + c];
            }
            const double is = got[i * taps + j], most = (t == WF_F64 ? 1e-14 : t == WF_F32 ? 1e-7 : 1e-3) * fabs(want);
            if (!(fabs(is - want) <= most))
                fail_msg("%s, %d axes, %d rows: derivative [%d, %d] is %.17g, not %.17g", wf_dtype_name(t), rank,
                         (int)rows, i, j, is, want);
        }
    free(got);
    wf_array *const used[] = { ax, av, aw, y, gw, wide };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

static void sums_over_rows(void **state)
{
    (void)state;
    static const int64_t rows[] = { 1, 2, 7, 8, 11, 12, 23 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        check_sums(WF_F32, 2, rows[i], 3);
        check_sums(WF_F64, 2, rows[i], 9);
    }
    check_sums(WF_F16, 2, 23, 3);
    check_sums(WF_F64, 1, 1, 5);
    check_sums(WF_F32, 3, 8, 3);
    check_sums(WF_F64, 3, 11, 3);
}

/* Elements that all points read before and after a block, so that two reads of each are sums: y = sum of w (x + w turns), and
 * of a single number, which has no index. Seven rows and 11 weights are several kernels. */
static void sums_of_reads_beside_a_block(void **state)
{
    (void)state;
    enum { ROWS = 7, COLUMNS = 3, WEIGHTS = 11, TURNS = 40 };
    for (int scalar = 0; scalar < 2; ++scalar) {
        const int weights = scalar ? 1 : WEIGHTS;
        wf_array *x = random_array(WF_SHAPE(ROWS, COLUMNS), 5), *y = wf_like(x),
                 *up = random_array(WF_SHAPE(ROWS, COLUMNS), 6);
        wf_array *w = scalar ? random_array((wf_shape){ .rank = 0 }, 7) : random_array(WF_SHAPE(WEIGHTS), 7);
        wf_array *gw = wf_like(w);
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(ROWS, COLUMNS));
        wf_val i = wf_index(g, 0), sum = wf_const(g, WF_F64, 0), k;
        wf_var turns = wf_local(g, WF_F64, 0);
        wf_val before[WEIGHTS];
        for (int j = 0; j < weights; ++j)
            before[j] = scalar ? wf_read_n(g, w, (wf_vals){ NULL, 0 }) : wf_read(g, w, j);
        WF_FOR (g, k, 0, TURNS, 1) {
            wf_inc(turns, wf_select(wf_lt(k, wf_add(i, TURNS)), 1, 0));
        }
        WF_END(g);
        for (int j = 0; j < weights; ++j) {
            wf_val after = scalar ? wf_read_n(g, w, (wf_vals){ NULL, 0 }) : wf_read(g, w, j);
            sum = wf_add(sum, wf_mul(before[j], wf_add(wf_in(g, x), wf_mul(after, turns))));
        }
        wf_out(g, y, sum);
        OK(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(up), WF_ARRAYS(w), WF_ARRAYS(gw)));
        double *xs = contents(x), *ups = contents(up), *ws = contents(w), *got = contents(gw);
        for (int j = 0; j < weights; ++j) {
            double want = 0;
            for (int p = 0; p < ROWS * COLUMNS; ++p)
                want += ups[p] * (xs[p] + 2 * ws[j] * TURNS);
            if (!(fabs(got[j] - want) <= 1e-12 * (1 + fabs(want))))
                fail_msg("derivative %d of %d is %.17g, not %.17g", j, weights, got[j], want);
        }
        double *const read[] = { xs, ups, ws, got };
        for (size_t j = 0; j < sizeof read / sizeof *read; ++j)
            free(read[j]);
        wf_array *const used[] = { x, y, up, w, gw };
        for (size_t j = 0; j < sizeof used / sizeof *used; ++j)
            wf_release(used[j]);
    }
}

static void refused(void **state)
{
    (void)state;
    wf_array *x = random_array(WF_SHAPE(H, W), 1), *y = wf_like(x), *other = wf_like(y);
    wf_array *small = random_array(WF_SHAPE(2), 1), *whole = wf_full(ctx, WF_I32, WF_SHAPE(H, W), 0);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
    wf_out(g, y, wf_exp(wf_in(g, x)));
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(small), WF_ARRAYS(x), WF_ARRAYS(other)), WF_ERR_SHAPE,
            "upstream 0");
    g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
    wf_out(g, y, wf_exp(wf_in(g, x)));
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(y), WF_ARRAYS(x), WF_ARRAYS(whole)), WF_ERR_DTYPE,
            "the derivative of array 0");
    g = wf_begin(ctx, .shape = WF_SHAPE(H, W)); /* by way of an array that is no output of the call */
    wf_write(g, other, wf_exp(wf_in(g, x)), wf_index(g, 0), wf_index(g, 1));
    wf_out(g, y, wf_read(g, other, wf_index(g, 0), wf_sub(W - 1, wf_index(g, 1))));
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(y), WF_ARRAYS(x), WF_ARRAYS(other)), WF_ERR_UNSUPPORTED,
            "reads what it also stores");
    g = wf_begin(ctx);
    wf_out(g, y, wf_exp(wf_in(g, x)));
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(y), WF_ARRAYS(x), WF_ARRAYS(other)), WF_ERR_UNSUPPORTED,
            "not for an array graph; say wf_vjp or wf_jvp there");
    wf_array *part = wf_view_slice(x, 0, 0, 1, 1);
    g = wf_begin(ctx, .shape = WF_SHAPE(H, W));
    wf_out(g, y, wf_mul(wf_in(g, x), wf_read(g, part, 0, wf_index(g, 1))));
    REFUSED(ctx, wf_adjoint(g, WF_ARRAYS(y), WF_ARRAYS(y), WF_ARRAYS(x), WF_ARRAYS(other)), WF_ERR_UNSUPPORTED,
            "shares its memory");
    wf_array *const used[] = { x, y, other, small, whole, part };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposes),     cmocka_unit_test(stencil_of_a_stencil),
        cmocka_unit_test(sums_over_rows), cmocka_unit_test(sums_of_reads_beside_a_block),
        cmocka_unit_test(refused),
    };
    return RUN_ON_ALL(tests);
}
