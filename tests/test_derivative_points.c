/* test_derivative_points.c - the derivative of every operation of ops.def that has one, in reverse and forward mode, for
 * f64, f32, f16 and bf16, beside values of 80 digits; second derivatives; and operations that have none. The processor
 * gives the bits of the interpreter.
 */
#include "ad/rule.h"
#include "derivative_points.h"
#include "on_devices.h"
#include <float.h>

typedef union any_function {
    wf_val (*f1)(wf_val);
    wf_val (*f2)(wf_val, wf_val);
    wf_val (*f3)(wf_val, wf_val, wf_val);
} any_function;

static const any_function functions[WF__OP_COUNT] = {
#define WF_OP(name, arity, ...) [WF__OP_##name] = { .f##arity = (wf_##name) },
#include "ir/ops.def"
#undef WF_OP
};

enum {
    POINTS = 64,
    RESULTS = 9
}; /* most points of an operation; first derivatives in both modes, second derivatives */
static const wf_dtype dtypes[] = { WF_F64, WF_F32, WF_F16, WF_BF16 };

static wf_val apply(unsigned op, const wf_val *v)
{
    unsigned arity = wf__op_table[op].arity;
    return arity == 1   ? functions[op].f1(v[0])
           : arity == 2 ? functions[op].f2(v[0], v[1])
                        : functions[op].f3(v[0], v[1], v[2]);
}

/* ---- derivatives that are given ---- */
typedef struct samples { /* the points of an operation whose operands a dtype has */
    unsigned op, arity;
    wf_dtype t;
    const derivative_point *point[POINTS];
    wf_array *in[3], *out[RESULTS];
    int n, kinds; /* 2 + 1 if second derivatives are given */
} samples;

static bool has(wf_dtype t, double x)
{
    uint64_t bits = 0;
    double back;
    wf__eval_cast(t, WF_F64, &bits, &x, 1);
    wf__eval_cast(WF_F64, t, &back, &bits, 1);
    return back == x || x != x;
}

static void collect(samples *s)
{
    for (size_t i = 0; i < WF__COUNT(derivative_points); ++i) {
        const derivative_point *p = &derivative_points[i];
        if (p->op == s->op && has(s->t, p->x[0]) && has(s->t, p->x[1]) && has(s->t, p->x[2])) {
            assert_true(s->n < POINTS);
            s->point[s->n++] = p;
            s->kinds = p->smooth ? 3 : s->kinds;
        }
    }
    for (unsigned k = 0; k < s->arity; ++k) {
        double x[POINTS];
        uint64_t bits[POINTS];
        for (int i = 0; i < s->n; ++i)
            x[i] = s->point[i]->x[k];
        wf__eval_cast(s->t, WF_F64, bits, x, (size_t)s->n);
        s->in[k] = array_of(ctx, s->t, WF_SHAPE(s->n), bits);
    }
}

static void differentiate(samples *s, wf_device device)
{
    wf_graph *g = wf_begin(ctx, .device = device);
    wf_val x[3], reverse[3], forward, second[3];
    for (unsigned k = 0; k < s->arity; ++k)
        x[k] = wf_in(g, s->in[k]);
    wf_val r = apply(s->op, x);
    wf_vjp(WF_VALS(r), WF_VALS(1), ((wf_vals){ x, s->arity }), reverse);
    for (unsigned k = 0; k < s->arity; ++k) {
        wf_jvp(WF_VALS(r), WF_VALS(x[k]), WF_VALS(1), &forward);
        if (s->kinds == 3)
            wf_vjp(WF_VALS(reverse[k]), WF_VALS(1), ((wf_vals){ x, s->arity }), second);
        wf_dtype want = s->t == WF_F64 ? WF_F64 : WF_F32;
        assert_int_equal(wf_val_dtype(reverse[k]), want);
        assert_int_equal(wf_val_dtype(forward), want);
        s->out[k] = wf_keep(wf_cast(reverse[k], WF_F64));
        s->out[3 + k] = wf_keep(wf_cast(forward, WF_F64));
        s->out[6 + k] = s->kinds == 3 ? wf_keep(wf_cast(second[k], WF_F64)) : NULL;
    }
    OK(ctx, wf_run(g));
}

/* Fails unless a derivative is near the given one, a second one in relation to the first. What is below the smallest
 * normal number counts as 0. */
static void compare(const samples *s, int at, const char *what, unsigned k, double got, double want)
{
    const derivative_point *p = s->point[at];
    double scale = fmax(fabs(want), strcmp(what, "second") == 0 ? fabs(p->first[k]) : 0);
    double bound = s->t == WF_F64 ? 2e-13 : 2e-6; /* halves are computed in f32 */
    double least = s->t == WF_F64 ? DBL_MIN : FLT_MIN;
    bool same = got == want || (got != got && want != want);
    if (same || fabs(got - want) <= bound * scale + least)
        return;
    print_error("%s %s, %s by operand %u at (%.17g, %.17g, %.17g): %.17g, not %.17g (%.2g)\n", wf__op_table[s->op].name,
                wf_dtype_name(s->t), what, k, p->x[0], p->x[1], p->x[2], got, want, fabs(got - want) / fabs(want));
    fail();
}

/* True if the derivative has the range of f32, in which those of all but f64 are computed. */
static bool in_range(wf_dtype t, double derivative)
{
    return t == WF_F64 || !(fabs(derivative) > FLT_MAX) || fabs(derivative) == INFINITY;
}

static void check(const samples *s)
{
    for (unsigned k = 0; k < s->arity; ++k)
        for (int kind = 0; kind < s->kinds; ++kind) {
            double *got = contents(s->out[3 * kind + (int)k]);
            for (int i = 0; i < s->n; ++i) {
                const derivative_point *p = s->point[i];
                double want = kind < 2 ? p->first[k] : p->second[k];
                if ((kind < 2 || p->smooth) && in_range(s->t, want))
                    compare(s, i, kind == 0 ? "reverse" : kind == 1 ? "forward" : "second", k, got[i], want);
            }
            free(got);
        }
}

static void release_results(samples *s)
{
    for (unsigned k = 0; k < s->arity; ++k)
        for (int kind = 0; kind < s->kinds; ++kind)
            wf_release(s->out[3 * kind + (int)k]);
}

static void same_bits(const samples *s, wf_array *a, wf_array *b)
{
    double *x = contents(a), *y = contents(b);
    int64_t at = first_difference(WF_F64, x, y, s->n);
    if (at >= 0)
        fail_msg("%s %s at (%.17g, %.17g): %.17g in the interpreter, %.17g on the processor", wf__op_table[s->op].name,
                 wf_dtype_name(s->t), s->point[at]->x[0], s->point[at]->x[1], x[at], y[at]);
    free(x);
    free(y);
}

static void one(unsigned op, wf_dtype t)
{
    samples s = { .op = op, .arity = wf__op_table[op].arity, .t = t, .kinds = 2 };
    collect(&s);
    if (!s.n)
        fail_msg("%s has a derivative and no point in derivative_points.h", wf__op_table[op].name);
    differentiate(&s, WF_INTERP);
    samples other = s;
    differentiate(&other, WF_CPU);
    check(&s);
    for (unsigned k = 0; k < s.arity; ++k)
        for (int kind = 0; kind < s.kinds; ++kind)
            same_bits(&s, s.out[3 * kind + (int)k], other.out[3 * kind + (int)k]);
    release_results(&s);
    release_results(&other);
    for (unsigned k = 0; k < s.arity; ++k)
        wf_release(s.in[k]);
}

static bool has_rule(unsigned op) { return wf__rule_of(op)->operand[0].term != NULL; }

static void all(void **state)
{
    (void)state;
    for (unsigned op = WF__NODES; op < WF__OP_COUNT; ++op)
        for (size_t i = 0; i < WF__COUNT(dtypes) && has_rule(op); ++i)
            one(op, dtypes[i]);
}

/* ---- operations that are constant between steps ---- */
static void steps(void **state)
{
    (void)state;
    const double x[] = { -2.5, -1, -0.0, 0, 0.25, 1, 3 };
    wf_array *a = array_of(ctx, WF_F64, WF_SHAPE(7), x);
    int n = 0;
    for (unsigned op = WF__NODES; op < WF__OP_COUNT; ++op) {
        const wf__op_info *info = &wf__op_table[op];
        if (wf__rule_of(op)->class != WF__RULE_STEP || !wf__types_allow(info->types, WF_F64) || info->arity > 2)
            continue;
        wf_graph *g = wf_begin(ctx);
        wf_val v = wf_in(g, a), gradient, along, r = apply(op, (wf_val[3]){ v, wf_mul(v, 2), v });
        r = wf_cast(r, WF_F64);
        assert_false(wf_depends(r, WF_VALS(v)));
        wf_vjp(WF_VALS(wf_add(r, wf_mul(v, 3))), WF_VALS(1), WF_VALS(v), &gradient);
        wf_jvp(WF_VALS(wf_add(r, wf_mul(v, 3))), WF_VALS(v), WF_VALS(1), &along);
        wf_array *reverse = wf_keep(gradient), *forward = wf_keep(along);
        OK(ctx, wf_run(g));
        double *d = contents(reverse), *e = contents(forward);
        for (int i = 0; i < 7; ++i)
            if (d[i] != 3 || e[i] != 3)
                fail_msg("%s at %g: %g and %g", info->name, x[i], d[i] - 3, e[i] - 3);
        free(d);
        free(e);
        wf_release(reverse);
        wf_release(forward);
        ++n;
    }
    assert_true(n > 15);
    wf_release(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all), cmocka_unit_test(steps) };
    return cmocka_run_group_tests(tests, on_cpu, off);
}
