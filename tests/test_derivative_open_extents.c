/* test_derivative_open_extents.c - derivatives through loops that stay loops, in kernels for arrays of any extents: beside
 * differences, and beside the recording with arrays in place of formals.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { MOST = 7, SUMS = 3 };

typedef struct operands {
    wf_array *x, *k, *n;    /* [points], a number, [points] */
    wf_array *y, *sums;     /* [points], [SUMS]: what is stored and added to */
    wf_array *dx, *dk, *dy; /* derivatives with respect to x and k; of the loss along x */
    wf_array *twice;        /* the derivative of dx along x */
} operands;

/* Records the loss of the operands. */
typedef wf_val loss_of(wf_graph *g, const operands *o);

/* All variables have the shape of the points. */
static wf_val own_variables(wf_graph *g, const operands *o)
{
    wf_val x = wf_in(g, o->x), k = wf_in(g, o->k);
    wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, o->n))) {
        wf_inc(v, wf_mul(wf_mul(wf_sin(v), k), wf_in(g, o->x)));
        wf_inc(t, 1);
    }
    WF_END(g);
    return total(wf_mul(v, v));
}

/* The points share one variable. */
static wf_val shared_variable(wf_graph *g, const operands *o)
{
    wf_val x = wf_in(g, o->x), k = wf_in(g, o->k);
    wf_var v = wf_local(g, WF_F64, x), a = wf_local(g, WF_F64, k), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, 600)) {
        wf_inc(v, wf_mul(wf_sin(v), wf_mul(a, 0.125)));
        wf_set(a, wf_mul(a, 0.99));
        wf_inc(t, 1);
    }
    WF_END(g);
    return wf_add(total(wf_mul(v, wf_in(g, o->n))), wf_mul(wf_mul(a, a), 1e6));
}

/* A product of sums over the points, of a loop that stores and adds. */
static wf_val with_effects(wf_graph *g, const operands *o)
{
    wf_val x = wf_in(g, o->x), k = wf_in(g, o->k);
    wf_var v = wf_local(g, WF_F64, x), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, wf_in(g, o->n))) {
        wf_set(v, wf_mul(wf_sin(v), wf_add(k, 1)));
        wf_accumulate(g, WF_JOIN_ADD, o->sums, wf_mul(v, v), wf_mod(t, SUMS));
        wf_out(g, o->y, wf_mul(v, k));
        wf_inc(t, 1);
    }
    WF_END(g);
    wf_val s = wf_in(g, o->sums);
    return wf_add(wf_mul(total(wf_get(v)), total(wf_mul(s, s))), total(wf_mul(wf_in(g, o->y), wf_in(g, o->y))));
}

static const struct {
    const char *name;
    loss_of *record;
    bool twice;
} rows[] = {
    { "own variables", own_variables, true },
    { "shared variable", shared_variable, true },
    { "with effects", with_effects, false },
};

static operands arrays(int points, double step, double by_k)
{
    double x[MOST];
    int32_t n[MOST];
    for (int i = 0; i < points; ++i) {
        x[i] = 0.3 * i - 0.7 + step;
        n[i] = i == 1 ? 300 : i * 5 % 7;
    }
    operands o = { .x = line_of(x, points), .n = array_of(ctx, WF_I32, WF_SHAPE(points), n) };
    o.k = wf_full(ctx, WF_F64, (wf_shape){ .rank = 0 }, 0.25 + by_k);
    o.y = wf_full(ctx, WF_F64, WF_SHAPE(points), 0.5);
    o.sums = wf_full(ctx, WF_F64, WF_SHAPE(SUMS), 0.25);
    o.dx = wf_like(o.x);
    o.dk = wf_like(o.k);
    o.dy = wf_full(ctx, WF_F64, WF_SHAPE(1), 0);
    o.twice = wf_like(o.x);
    return o;
}

static void release(const operands *o)
{
    wf_array *const all[] = { o->x, o->k, o->n, o->y, o->sums, o->dx, o->dk, o->dy, o->twice };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        wf_release(all[i]);
}

static void record(wf_graph *g, const operands *o, size_t row)
{
    wf_val x = wf_in(g, o->x), k = wf_in(g, o->k), gradient[2], along;
    wf_val loss = rows[row].record(g, o);
    wf_grad(loss, WF_VALS(x, k), gradient);
    wf_out(g, o->dx, gradient[0]);
    wf_out(g, o->dk, gradient[1]);
    wf_jvp(WF_VALS(loss), WF_VALS(x), WF_VALS(1), &along);
    wf_out(g, o->dy, along);
    if (rows[row].twice) {
        wf_jvp(WF_VALS(gradient[0]), WF_VALS(x), WF_VALS(1), &along);
        wf_out(g, o->twice, along);
    }
}

static double value(size_t row, int points, double step, double by_k)
{
    operands o = arrays(points, step, by_k);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, o.dy, rows[row].record(g, &o));
    OK(ctx, wf_run(g));
    double *got = contents(o.dy), result = *got;
    free(got);
    release(&o);
    return result;
}

static void expect_same(const char *name, wf_array *got, wf_array *want)
{
    double *a = contents(got), *b = contents(want);
    for (int64_t i = 0; i < wf_array_count(got); ++i)
        if (!(fabs(a[i] - b[i]) <= 1e-12 * (1 + fabs(b[i]))))
            fail_msg("%s: element %d is %.17g and should be %.17g", name, (int)i, a[i], b[i]);
    free(a);
    free(b);
}

static void expect_near(const char *name, wf_array *got, double want)
{
    double *a = contents(got);
    if (!(fabs(*a - want) <= 1e-6 * (1 + fabs(want))))
        fail_msg("%s: it is %.12g and should be %.12g", name, *a, want);
    free(a);
}

static void kernels(void **state)
{
    (void)state;
    const double h = 1e-5;
    const double quarters[SUMS] = { 0.25, 0.25, 0.25 };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row) {
        wf_array *sums = line_of(quarters, SUMS); /* elements by index are those of an array */
        wf_graph *g = wf_begin(ctx);
        const operands f = { .x = wf_formal(g, "x", WF_F64, 1),
                             .k = wf_formal(g, "k", WF_F64, 0),
                             .n = wf_formal(g, "n", WF_I32, 1),
                             .y = row == 2 ? wf_formal(g, "y", WF_F64, 1) : NULL,
                             .sums = sums,
                             .dx = wf_formal(g, "dx", WF_F64, 1),
                             .dk = wf_formal(g, "dk", WF_F64, 0),
                             .dy = wf_formal(g, "dy", WF_F64, 1),
                             .twice = rows[row].twice ? wf_formal(g, "twice", WF_F64, 1) : NULL };
        record(g, &f, row);
        wf_kernel *kernel = wf_compile(g);
        if (!kernel)
            fail_msg("%s: %s", rows[row].name, wf_last_message(ctx));
        for (int points = 2; points <= MOST; points += 5) {
            operands o = arrays(points, 0, 0), of = arrays(points, 0, 0);
            wf_array *x = o.x, *k = o.k, *n = o.n, *y = o.y, *dx = o.dx, *dk = o.dk, *dy = o.dy, *twice = o.twice;
            OK(ctx, wf_upload(sums, quarters, sizeof quarters));
            OK(ctx, row == 2 ? wf_launch(kernel, WF_NAMED(x, k, n, y, dx, dk, dy))
                             : wf_launch(kernel, WF_NAMED(x, k, n, dx, dk, dy, twice)));
            g = wf_begin(ctx);
            record(g, &of, row);
            OK(ctx, wf_run(g));
            expect_same(rows[row].name, o.dx, of.dx);
            expect_same(rows[row].name, o.dk, of.dk);
            expect_same(rows[row].name, o.dy, of.dy);
            if (rows[row].twice)
                expect_same(rows[row].name, o.twice, of.twice);
            expect_near(rows[row].name, o.dk, (value(row, points, 0, h) - value(row, points, 0, -h)) / (2 * h));
            expect_near(rows[row].name, o.dy, (value(row, points, h, 0) - value(row, points, -h, 0)) / (2 * h));
            release(&o);
            release(&of);
        }
        wf_kernel_free(kernel);
        wf_release(sums);
    }
}

/* Contributions by index to an array of open extents, and effects at more points than the variables have. */
static void refused(void **state)
{
    (void)state;
    for (int k = 0; k < 3; ++k) {
        wf_graph *g = wf_begin(ctx);
        wf_array *in = wf_formal(g, "x", WF_F64, 1), *n = wf_formal(g, "n", WF_I32, 1);
        wf_array *sums = wf_full(ctx, WF_F64, WF_SHAPE(SUMS), 0);
        wf_val x = wf_in(g, in), gradient, loss;
        wf_var v = wf_local(g, WF_F64, 0), t = wf_local(g, WF_I32, 0);
        if (k == 0)
            wf_set(v, wf_sum(wf_read(g, in, wf_in(g, n)), WF_ALL_AXES));
        else {
            WF_WHILE (g, k == 1 ? wf_lt(t, wf_in(g, n)) : wf_lt(t, 1000)) {
                if (k == 1)
                    wf_inc(v, wf_read(g, in, t));
                else
                    wf_accumulate(g, WF_JOIN_ADD, sums, x, wf_mod(wf_in(g, n), SUMS));
                wf_inc(t, 1);
            }
            WF_END(g);
        }
        loss = k == 2 ? total(wf_in(g, sums)) : total(wf_get(v));
        wf_grad(loss, WF_VALS(x), &gradient);
        wf_out(g, wf_formal(g, "dx", WF_F64, 1), gradient);
        assert_null(wf_compile(g));
        REFUSED(ctx, wf_last_status(ctx), WF_ERR_UNSUPPORTED,
                k < 2 ? "needs an array in place of a formal" : "at more points than its variables have");
        wf_release(sums);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(kernels), cmocka_unit_test(refused) };
    return RUN_ON_ALL(tests);
}
