/* test_derivative_ways.c - the conventions of docs/derivatives.md, through every function that gives derivatives of values of
 * points: wf_vjp and wf_jvp in array graphs and index spaces, wf_adjoint, wf_tangent, and tapes over launches of both kinds.
 *
 * ctest: devices first_tier
 */
#include "on_devices.h"

enum { MOST = 8, OPERANDS = 3 };
typedef wf_val formula(wf_graph *g, const wf_val *x);

typedef struct row {
    const char *name;
    formula *f;
    wf_dtype dtype;
    double tolerance; /* relative */
    int operands, points;
    double x[OPERANDS][MOST], want[OPERANDS][MOST]; /* want: the derivative by each operand */
} row;

typedef struct run { /* the arrays of a row */
    const row *row;
    wf_array *x[OPERANDS], *one, *zero;
} run;

static wf_array *array_for(const row *r, const double *x)
{
    uint64_t bits[MOST];
    float *narrow = (float *)bits;
    for (int i = 0; i < r->points; ++i)
        if (r->dtype == WF_F32)
            narrow[i] = (float)x[i];
        else
            memcpy(&bits[i], &x[i], sizeof *bits);
    return array_of(ctx, r->dtype, WF_SHAPE(r->points), bits);
}

static void expect(const row *r, const char *way, int k, wf_array *a)
{
    double *got = contents_as(a, WF_F64);
    for (int i = 0; i < r->points; ++i) {
        const double want = r->want[k][i];
        bool same = got[i] == want || (got[i] != got[i] && want != want);
        if (!same && !(fabs(got[i] - want) <= r->tolerance * fabs(want)))
            fail_msg("%s at point %d by operand %d, %s: %.17g, not %.17g", r->name, i, k, way, got[i], want);
    }
    free(got);
    wf_release(a);
}

static wf_graph *begin(const run *c, bool space)
{
    return space ? wf_begin(ctx, .shape = WF_SHAPE(c->row->points)) : wf_begin(ctx);
}

/* Records the formula of the arrays. */
static wf_val record(const run *c, wf_graph *g, wf_val *x)
{
    for (int k = 0; k < c->row->operands; ++k)
        x[k] = wf_in(g, c->x[k]);
    return c->row->f(g, x);
}

static wf_graph *operator_of(const run *c, wf_array *y)
{
    wf_val x[OPERANDS];
    wf_graph *g = begin(c, true);
    wf_out(g, y, record(c, g, x));
    return g;
}

static void of_values(const run *c, bool space)
{
    const row *r = c->row;
    wf_val x[OPERANDS], back[OPERANDS], along;
    wf_array *reverse[OPERANDS], *forward[OPERANDS];
    wf_graph *g = begin(c, space);
    wf_val y = record(c, g, x);
    wf_vjp(WF_VALS(y), WF_VALS(1), ((wf_vals){ x, (size_t)r->operands }), back);
    for (int k = 0; k < r->operands; ++k) {
        reverse[k] = wf_like(c->x[k]);
        forward[k] = wf_like(c->x[k]);
        wf_out(g, reverse[k], back[k]);
        wf_jvp(WF_VALS(y), WF_VALS(x[k]), WF_VALS(1), &along);
        wf_out(g, forward[k], along);
    }
    OK(ctx, wf_run(g));
    for (int k = 0; k < r->operands; ++k) {
        expect(r, space ? "wf_vjp of a point" : "wf_vjp", k, reverse[k]);
        expect(r, space ? "wf_jvp of a point" : "wf_jvp", k, forward[k]);
    }
}

static void of_operators(const run *c)
{
    const row *r = c->row;
    const size_t n = (size_t)r->operands;
    wf_array *y = wf_like(c->x[0]), *grad[OPERANDS], *tangent, *direction[OPERANDS];
    for (size_t k = 0; k < n; ++k)
        grad[k] = wf_like(c->x[0]);
    OK(ctx, wf_adjoint(operator_of(c, y), WF_ARRAYS(y), WF_ARRAYS(c->one), ((wf_arrays){ c->x, n }),
                       ((wf_arrays){ grad, n })));
    for (int k = 0; k < r->operands; ++k)
        expect(r, "wf_adjoint", k, grad[k]);
    for (int k = 0; k < r->operands; ++k) {
        tangent = wf_like(y);
        for (int i = 0; i < r->operands; ++i)
            direction[i] = i == k ? c->one : c->zero;
        OK(ctx, wf_tangent(operator_of(c, y), ((wf_arrays){ c->x, n }), ((wf_arrays){ direction, n }), WF_ARRAYS(y),
                           WF_ARRAYS(tangent)));
        expect(r, "wf_tangent", k, tangent);
    }
    wf_release(y);
}

static void on_tape(const run *c, bool space)
{
    const row *r = c->row;
    const size_t n = (size_t)r->operands;
    wf_val x[OPERANDS];
    wf_array *y = wf_like(c->x[0]), *grad[OPERANDS];
    wf_tape *tape = wf_tape_begin(ctx, (wf_arrays){ c->x, n });
    wf_graph *g = begin(c, space);
    wf_out(g, y, record(c, g, x));
    OK(ctx, wf_run(g));
    g = wf_begin(ctx);
    wf_array *loss = wf_keep(wf_reduce(WF_JOIN_ADD, wf_in(g, y), WF_ALL_AXES));
    OK(ctx, wf_run(g));
    for (size_t k = 0; k < n; ++k)
        grad[k] = wf_like(c->x[0]);
    OK(ctx, wf_tape_grad(tape, loss, (wf_arrays){ c->x, n }, (wf_arrays){ grad, n }));
    for (int k = 0; k < r->operands; ++k)
        expect(r, space ? "a tape with an index space" : "a tape with an array graph", k, grad[k]);
    wf_tape_free(tape);
    wf_release(loss);
    wf_release(y);
}

static void check(const row *rows, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        const row *r = &rows[i];
        run c = { .row = r };
        static const double ones[MOST] = { 1, 1, 1, 1, 1, 1, 1, 1 }, zeros[MOST] = { 0 };
        for (int k = 0; k < r->operands; ++k)
            c.x[k] = array_for(r, r->x[k]);
        c.one = array_for(r, ones);
        c.zero = array_for(r, zeros);
        of_values(&c, false);
        of_values(&c, true);
        of_operators(&c);
        on_tape(&c, false);
        on_tape(&c, true);
        for (int k = 0; k < r->operands; ++k)
            wf_release(c.x[k]);
        wf_release(c.one);
        wf_release(c.zero);
    }
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof *(rows))

#define FORMULA(name, value)                         \
    static wf_val name(wf_graph *g, const wf_val *x) \
    {                                                \
        (void)g;                                     \
        return value;                                \
    }
#define LIST(...)   \
    {               \
        __VA_ARGS__ \
    }
#define ROW1(f, n, x, want)                         \
    {                                               \
#f, f, WF_F64, 1e-13, 1, n, { x }, { want } \
    }
#define ROW2(f, n, a, b, da, db)                         \
    {                                                    \
#f, f, WF_F64, 1e-13, 2, n, { a, b }, { da, db } \
    }
#define ROW3(f, n, a, b, c, da, db, dc)                         \
    {                                                           \
#f, f, WF_F64, 1e-13, 3, n, { a, b, c }, { da, db, dc } \
    }
#define NARROW1(f, n, x, want)                     \
    {                                              \
#f, f, WF_F32, 2e-6, 1, n, { x }, { want } \
    }
#define NARROW2(f, n, a, b, da, db)                     \
    {                                                   \
#f, f, WF_F32, 2e-6, 2, n, { a, b }, { da, db } \
    }

/* ---- ties, and operands that are not numbers ---- */
FORMULA(larger, wf_max(x[0], x[1]))
FORMULA(smaller, wf_min(x[0], x[1]))
FORMULA(larger_number, wf_fmax(x[0], x[1]))
FORMULA(smaller_number, wf_fmin(x[0], x[1]))
FORMULA(larger_of_itself, wf_max(x[0], x[0]))
FORMULA(larger_of_chain, wf_max(wf_max(x[0], x[1]), x[2]))
static void ties(void **state)
{
    (void)state;
    static const row rows[] = {
        ROW2(larger, 5, LIST(1, 3, 2, NAN, 2), LIST(2, 1, 2, 1, NAN), LIST(0, 1, 0.5, 1, 0), LIST(1, 0, 0.5, 0, 1)),
        ROW2(smaller, 5, LIST(1, 3, 2, NAN, 2), LIST(2, 1, 2, 1, NAN), LIST(1, 0, 0.5, 1, 0), LIST(0, 1, 0.5, 0, 1)),
        ROW2(larger_number, 5, LIST(1, 3, 2, NAN, 2), LIST(2, 1, 2, 1, NAN), LIST(0, 1, 0.5, 0, 1),
             LIST(1, 0, 0.5, 1, 0)),
        ROW2(smaller_number, 5, LIST(1, 3, 2, NAN, 2), LIST(2, 1, 2, 1, NAN), LIST(1, 0, 0.5, 0, 1),
             LIST(0, 1, 0.5, 1, 0)),
        ROW1(larger_of_itself, 3, LIST(-1, 0, 3), LIST(1, 1, 1)),
        ROW2(larger, 2, LIST(0.0, -0.0), LIST(-0.0, 0.0), LIST(0.5, 0.5), LIST(0.5, 0.5)),
        ROW3(larger_of_chain, 3, LIST(1, 5, 2), LIST(1, 2, 7), LIST(0, 5, 7), LIST(0.5, 0.5, 0), LIST(0.5, 0, 0.5),
             LIST(0, 0.5, 0.5)),
    };
    CHECK(rows);
}

/* ---- steps ---- */
FORMULA(size, wf_abs(x[0]))
FORMULA(steps, wf_add(wf_add(wf_add(wf_sign(x[0]), wf_floor(x[0])), wf_add(wf_ceil(x[0]), wf_round(x[0]))),
                      wf_add(wf_trunc(x[0]), wf_mul(3, x[0]))))
FORMULA(comparisons, wf_add(wf_select(wf_gt(x[0], 1), 5, 7), x[0]))
FORMULA(integers, wf_add(wf_cast(wf_cast(wf_mul(x[0], 2), WF_I32), WF_F64), x[0]))
FORMULA(rounded, wf_cast(wf_cast(x[0], WF_F32), WF_F64))
FORMULA(fraction, wf_sub(x[0], wf_floor(x[0])))
FORMULA(within, wf_clamp(x[0], x[1], x[2]))
FORMULA(within_by_both, wf_min(wf_max(x[0], x[1]), x[2]))
static void constants(void **state)
{
    (void)state;
    static const row rows[] = {
        ROW1(size, 4, LIST(-2, 0, -0.0, 3), LIST(-1, 0, 0, 1)),
        ROW1(steps, 4, LIST(-2.5, 0, 1, 1.25), LIST(3, 3, 3, 3)),
        ROW1(comparisons, 3, LIST(0, 1, 2), LIST(1, 1, 1)),
        ROW1(integers, 3, LIST(0, 1.25, -2.75), LIST(1, 1, 1)),
        ROW1(rounded, 3, LIST(0.1, 1e-300, 3), LIST(1, 1, 1)),
        ROW1(fraction, 3, LIST(-1.5, 2, 3.25), LIST(1, 1, 1)),
        ROW3(within, 6, LIST(2, 1, 3, 0, 4, 2), LIST(1, 1, 1, 1, 1, 5), LIST(3, 3, 3, 3, 3, 3), LIST(1, 1, 1, 0, 0, 0),
             LIST(0, 0, 0, 1, 0, 0), LIST(0, 0, 0, 0, 1, 1)),
        ROW3(within_by_both, 5, LIST(2, 1, 3, 0, 4), LIST(1, 1, 1, 1, 1), LIST(3, 3, 3, 3, 3), LIST(1, 0.5, 0.5, 0, 0),
             LIST(0, 0.5, 0, 1, 0), LIST(0, 0, 0.5, 0, 1)),
    };
    CHECK(rows);
}

/* ---- slopes that are infinite ---- */
FORMULA(root, wf_sqrt(x[0]))
FORMULA(root_where, wf_select(wf_gt(x[0], 0), wf_sqrt(x[0]), 0))
FORMULA(log_where, wf_select(wf_gt(x[0], 0), wf_log(x[0]), 0))
FORMULA(ratio_where, wf_select(wf_gt(x[0], 0), wf_div(x[0], x[0]), 0))
FORMULA(rcp_where, wf_select(wf_gt(x[0], 0), wf_rcp(x[0]), 0))
FORMULA(rsqrt_where, wf_select(wf_gt(x[0], 0), wf_rsqrt(x[0]), 0))
FORMULA(pow_where, wf_select(wf_gt(x[0], 0), wf_pow(x[0], 0.5), 0))
FORMULA(asin_where, wf_select(wf_lt(wf_abs(x[0]), 1), wf_asin(x[0]), 0))
FORMULA(hypot_where, wf_select(wf_gt(x[0], 0), wf_hypot(x[0], x[0]), 0))
FORMULA(product_where, wf_select(wf_lt(x[1], INFINITY), wf_mul(x[0], x[1]), x[0]))
FORMULA(nan_where, wf_select(wf_gt(x[0], 0), x[0], wf_mul(x[0], wf_div(wf_sub(x[0], x[0]), wf_sub(x[0], x[0])))))
FORMULA(nan_not_chosen, wf_select(wf_gt(x[0], -9), x[0], wf_mul(x[0], NAN)))
static void infinite(void **state)
{
    (void)state;
#define AT LIST(4, 0, -0.0, -1)
    static const row rows[] = {
        ROW1(root, 2, LIST(4, 0), LIST(0.25, INFINITY)),
        ROW1(root_where, 4, AT, LIST(0.25, 0, 0, 0)),
        ROW1(log_where, 4, AT, LIST(0.25, 0, 0, 0)),
        ROW1(ratio_where, 4, AT, LIST(0, 0, 0, 0)),
        ROW1(rcp_where, 4, AT, LIST(-0.0625, 0, 0, 0)),
        ROW1(rsqrt_where, 4, AT, LIST(-0.0625, 0, 0, 0)),
        ROW1(pow_where, 4, AT, LIST(0.25, 0, 0, 0)),
        ROW1(asin_where, 4, LIST(0, 1, -1, 3), LIST(1, 0, 0, 0)),
        ROW1(hypot_where, 4, AT, LIST(1.4142135623730951, 0, 0, 0)),
        ROW2(product_where, 2, LIST(2, 2), LIST(3, INFINITY), LIST(3, 1), LIST(2, 0)),
        ROW1(nan_where, 1, LIST(4), LIST(1)),
        ROW1(nan_not_chosen, 4, AT, LIST(1, 1, 1, 1)),
    };
#undef AT
    CHECK(rows);
}

/* ---- powers and angles ---- */
FORMULA(power, wf_pow(x[0], x[1]))
FORMULA(fixed_power, wf_pow(x[0], 3))
FORMULA(root_power, wf_pow(x[0], 0.5))
FORMULA(angle, wf_atan2(x[0], x[1]))
FORMULA(radius, wf_hypot(x[0], x[1]))
static void powers(void **state)
{
    (void)state;
    static const row rows[] = {
        ROW2(power, 4, LIST(0, 0, 0, 0), LIST(2, 1, 0, 0.5), LIST(0, 1, 0, INFINITY), LIST(0, 0, 0, 0)),
        ROW2(power, 3, LIST(-2, 2, -2), LIST(3, 3, 2), LIST(12, 12, -4), LIST(NAN, 5.545177444479562475, NAN)),
        ROW1(fixed_power, 4, LIST(-2, 0, 0.5, 3), LIST(12, 0, 0.75, 27)),
        ROW1(root_power, 2, LIST(4, 0), LIST(0.25, INFINITY)),
        ROW2(angle, 3, LIST(0, 0, 1), LIST(0, 1, 1), LIST(0, 1, 0.5), LIST(0, 0, -0.5)),
        ROW2(angle, 2, LIST(1e-200, 1e200), LIST(1e-200, 1e200), LIST(5e199, 5e-201), LIST(-5e199, -5e-201)),
        NARROW2(angle, 2, LIST(1e-20, 1e20), LIST(1e-20, 1e20), LIST(5e19, 5e-21), LIST(-5e19, -5e-21)),
        ROW2(radius, 3, LIST(0, 3, 1e200), LIST(0, 4, 0), LIST(0, 0.6, 1), LIST(0, 0.8, 0)),
    };
    CHECK(rows);
}

/* ---- parts of numbers ---- */
FORMULA(rest, wf_mod(x[0], x[1]))
FORMULA(floor_rest, wf_floor_mod(x[0], x[1]))
FORMULA(signed_as, wf_copysign(x[0], x[1]))
FORMULA(scaled, wf_ldexp(x[0], 3))
FORMULA(scaled_by, wf_ldexp(x[0], wf_cast(x[1], WF_I32)))
FORMULA(mantissa, wf_frexp(x[0]))
FORMULA(next, wf_nextafter(x[0], x[1]))
FORMULA(sum_of_product, wf_fma(x[0], x[1], x[2]))
FORMULA(fused_square, wf_fma(x[0], x[0], x[0]))
static void parts(void **state)
{
    (void)state;
    static const row rows[] = {
        ROW2(rest, 2, LIST(7.5, -7.5), LIST(2, 2), LIST(1, 1), LIST(-3, 3)),
        ROW2(floor_rest, 2, LIST(7.5, -7.5), LIST(2, 2), LIST(1, 1), LIST(-3, 4)),
        ROW2(signed_as, 4, LIST(2, -2, 2, -2), LIST(1, 1, -1, -1), LIST(1, -1, -1, 1), LIST(0, 0, 0, 0)),
        ROW1(scaled, 2, LIST(2, -1), LIST(8, 8)),
        ROW2(scaled_by, 2, LIST(2, -1), LIST(3, -2), LIST(8, 0.25), LIST(0, 0)),
        ROW1(mantissa, 3, LIST(0.75, 3, -40), LIST(1, 0.25, 0.015625)),
        ROW2(next, 2, LIST(1, 2), LIST(2, 1), LIST(1, 1), LIST(0, 0)),
        ROW3(sum_of_product, 2, LIST(2, 3), LIST(5, 7), LIST(1, 1), LIST(5, 7), LIST(2, 3), LIST(1, 1)),
        ROW1(fused_square, 2, LIST(2, -3), LIST(5, -5)),
    };
    CHECK(rows);
}

/* ---- functions, beside values of 50 digits ---- */
FORMULA(sinc, wf_sinc(x[0]))
FORMULA(f_lgamma, wf_lgamma(x[0]))
FORMULA(f_tgamma, wf_tgamma(x[0]))
FORMULA(digamma, wf_digamma(x[0]))
FORMULA(trigamma, wf_trigamma(x[0]))
FORMULA(erfinv, wf_erfinv(x[0]))
FORMULA(bessel_j0, wf_j0(x[0]))
FORMULA(bessel_j1, wf_j1(x[0]))
FORMULA(bessel_i0, wf_i0(x[0]))
FORMULA(bessel_i1, wf_i1(x[0]))
FORMULA(f_tanh, wf_tanh(x[0]))
FORMULA(f_log1p, wf_log1p(x[0]))
FORMULA(f_expm1, wf_expm1(x[0]))
FORMULA(sigmoid, wf_rcp(wf_add(1, wf_exp(wf_neg(x[0])))))
FORMULA(softplus, wf_log1p(wf_exp(x[0])))
static void functions(void **state)
{
    (void)state;
    static const row rows[] = {
        ROW1(sinc, 7, LIST(0.0, 1e-08, 0.05, 0.159, 0.161, 0.5, -1.7),
             LIST(0, -3.2898681336964526e-08, -0.16408789296847298, -0.5101530283716804, -0.5162414758903063,
                  -1.2732395447351628, -0.4348626423174554)),
        NARROW1(sinc, 7,
                LIST(0.0, 9.99999993922529e-09, 0.05000000074505806, 0.1589999943971634, 0.16099999845027924, 0.5,
                     -1.7000000476837158),
                LIST(0, -3.289868113702374e-08, -0.1640878954014985, -0.5101530112984809, -0.5162414711773055,
                     -1.2732395447351628, -0.43486268921232424)),
        ROW1(f_lgamma, 4, LIST(0.01, 0.5, 3.0, -1.4),
             LIST(-100.56088545786868, -1.9635100260214235, 0.9227843350984671, 1.6736665003925248)),
        NARROW1(f_lgamma, 4, LIST(0.009999999776482582, 0.5, 3.0, -1.399999976158142),
                LIST(-100.56088769340528, -1.9635100260214235, 0.9227843350984671, 1.6736667482623495)),
        ROW1(f_tgamma, 4, LIST(0.01, 0.5, 3.0, -1.5),
             LIST(-9999.028802946681, -3.480230906913262, 1.8455686701969343, 1.6617502606685965)),
        NARROW1(f_tgamma, 4, LIST(0.009999999776482582, 0.5, 3.0, -1.5),
                LIST(-9999.029249981138, -3.480230906913262, 1.8455686701969343, 1.6617502606685965)),
        ROW1(digamma, 4, LIST(0.01, 0.5, 3.0, -1.5),
             LIST(10001.621213528313, 4.934802200544679, 0.39493406684822646, 9.379246644989124)),
        NARROW1(digamma, 4, LIST(0.009999999776482582, 0.5, 3.0, -1.5),
                LIST(10001.621660563687, 4.934802200544679, 0.39493406684822646, 9.379246644989124)),
        ROW1(trigamma, 7, LIST(0.01, 0.5, 1.0, 1.46, 3.0, 7.25, 40.0),
             LIST(-2000002.340398677, -16.82879664423432, -2.4041138063191886, -0.88806304258183324,
                  -0.15411380631918857, -0.021828952295197739, -0.00064082027183529859)),
        ROW1(trigamma, 3, LIST(-0.25, -1.5, -2.75), LIST(122.69736678366236, -0.2362040516417274, -124.11765305971518)),
        NARROW1(trigamma, 4, LIST(0.5, 3.0, 40.0, -0.25),
                LIST(-16.82879664423432, -0.15411380631918857, -0.00064082027183529859, 122.69736678366236)),
        ROW1(erfinv, 3, LIST(0.0, 0.5, -0.9), LIST(0.886226925452758, 1.1125848189719498, 3.428042811451841)),
        NARROW1(erfinv, 3, LIST(0.0, 0.5, -0.8999999761581421),
                LIST(0.886226925452758, 1.1125848189719498, 3.428042159711315)),
        ROW1(bessel_j0, 4, LIST(0.0, 0.1, 2.0, 15.0),
             LIST(0, -0.049937526036242, -0.5767248077568734, -0.20510403861352275)),
        NARROW1(bessel_j0, 4, LIST(0.0, 0.10000000149011612, 2.0, 15.0),
                LIST(0, -0.04993752677850803, -0.5767248077568734, -0.20510403861352275)),
        ROW1(bessel_j1, 4, LIST(0.0, 0.1, 2.0, 15.0),
             LIST(0.5, 0.49812630170362004, -0.06447162473720103, -0.027898075401015625)),
        NARROW1(bessel_j1, 4, LIST(0.0, 0.10000000149011612, 2.0, 15.0),
                LIST(0.5, 0.4981263016478183, -0.06447162473720103, -0.027898075401015625)),
        ROW1(bessel_i0, 4, LIST(0.0, 0.1, 2.0, 15.0),
             LIST(0, 0.050062526047092694, 1.590636854637329, 328124.9219702064)),
        NARROW1(bessel_i0, 4, LIST(0.0, 0.10000000149011612, 2.0, 15.0),
                LIST(0, 0.05006252679494666, 1.590636854637329, 328124.9219702064)),
        ROW1(bessel_i1, 4, LIST(0.0, 0.1, 2.0, 15.0),
             LIST(0.5, 0.5018763024631687, 1.4842668750174028, 317774.3784999001)),
        NARROW1(bessel_i1, 4, LIST(0.0, 0.10000000149011612, 2.0, 15.0),
                LIST(0.5, 0.5018763025191256, 1.4842668750174028, 317774.3784999001)),
        ROW1(f_tanh, 6, LIST(1e-08, -1e-08, 4.0, -12.0, 40.0, 88.0),
             LIST(0.9999999999999999, 0.9999999999999999, 0.001340950683025897, 1.510053817597626e-10,
                  7.219405551381661e-35, 1.4663281644718252e-76)),
        NARROW1(f_tanh, 5, LIST(9.99999993922529e-09, -9.99999993922529e-09, 4.0, -12.0, 40.0),
                LIST(0.9999999999999999, 0.9999999999999999, 0.001340950683025897, 1.510053817597626e-10,
                     7.219405551381661e-35)),
        ROW1(f_log1p, 4, LIST(1e-08, -1e-08, 40.0, 88.0),
             LIST(0.9999999900000001, 1.0000000100000002, 0.024390243902439025, 0.011235955056179775)),
        NARROW1(f_log1p, 4, LIST(9.99999993922529e-09, -9.99999993922529e-09, 40.0, 88.0),
                LIST(0.9999999900000002, 1.00000001, 0.024390243902439025, 0.011235955056179775)),
        ROW1(f_expm1, 6, LIST(1e-08, -1e-08, 40.0, -40.0, 88.0, -88.0),
             LIST(1.00000001, 0.9999999900000001, 2.3538526683702e+17, 4.248354255291589e-18, 1.6516362549940018e+38,
                  6.054601895401186e-39)),
        NARROW1(
            f_expm1, 5, LIST(9.99999993922529e-09, -9.99999993922529e-09, 40.0, -40.0, 88.0),
            LIST(1.00000001, 0.9999999900000001, 2.3538526683702e+17, 4.248354255291589e-18, 1.6516362549940018e+38)),
        ROW1(sigmoid, 5, LIST(1e-08, -1e-08, 40.0, -40.0, 88.0),
             LIST(0.25, 0.25, 4.248354255291589e-18, 4.248354255291589e-18, 6.054601895401186e-39)),
        NARROW1(sigmoid, 4, LIST(9.99999993922529e-09, -9.99999993922529e-09, 40.0, -40.0),
                LIST(0.25, 0.25, 4.248354255291589e-18, 4.248354255291589e-18)),
        ROW1(softplus, 6, LIST(1e-08, -1e-08, 40.0, -40.0, 88.0, -88.0),
             LIST(0.5000000025, 0.4999999975, 1.0, 4.248354255291589e-18, 1.0, 6.054601895401186e-39)),
        NARROW1(softplus, 5, LIST(9.99999993922529e-09, -9.99999993922529e-09, 40.0, -40.0, 88.0),
                LIST(0.5000000025, 0.4999999975, 1.0, 4.248354255291589e-18, 1.0)),
        ROW1(bessel_i1, 2, LIST(-800, 800), LIST(INFINITY, INFINITY)),
    };
    CHECK(rows);
}

/* ---- functions that an index chooses ---- */
static void times_3(const wf_site *site) { wf_set(site->out[0], wf_mul(site->in[0], 3)); }
static void squared(const wf_site *site) { wf_set(site->out[0], wf_mul(site->in[0], site->in[0])); }
static void inverted(const wf_site *site) { wf_set(site->out[0], wf_rcp(site->in[0])); }
static wf_val chosen(wf_graph *g, const wf_val *x)
{
    wf_var y = wf_local(g, WF_F64, x[0]);
    wf_switch(g, wf_cast(x[1], WF_I32),
              WF_FUNCTIONS({ times_3, NULL }, { squared, NULL }, { times_3, NULL }, { inverted, NULL }), WF_VALS(x[0]),
              WF_VARS(y));
    return wf_get(y);
}
static void switches(void **state)
{
    (void)state;
    static const row rows[] = {
        ROW2(chosen, 7, LIST(5, 5, 5, 5, 5, 5, 0), LIST(0, 1, 2, 3, 4, -1, 1), LIST(3, 10, 3, -0.04, 1, 1, 0),
             LIST(0, 0, 0, 0, 0, 0, 0)),
    };
    CHECK(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties),  cmocka_unit_test(constants), cmocka_unit_test(infinite), cmocka_unit_test(powers),
        cmocka_unit_test(parts), cmocka_unit_test(functions), cmocka_unit_test(switches),
    };
    return RUN_ON_ALL(tests);
}
