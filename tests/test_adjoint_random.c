/* test_adjoint_random.c - adjoints of random operators over index spaces and of elements, with reductions and without:
 * wf_adjoint and wf_tangent agree, v.(J u) = (J^T v).u.
 *
 * WEFT_RANDOM_ADJOINTS=COUNT,FIRST runs COUNT operators from number FIRST on.
 *
 * ctest: first_tier
 */
#include "on_devices.h"

enum { VALUES = 24, MOST = 200 };

typedef struct operator
{
    wf_shape space, table_shape, kept;
    wf_axes reduce;
    bool indexed;
    wf_array *x, *row, *table, *scale, *y, *z; /* y is stored for each point or kept point */
    bool uses_z;                               /* z is accumulated into */
    uint64_t random;
    wf_val value[VALUES];
    int n;
}
operator;
static operator o;

static int below(int n) { return (int)(test_random(&o.random) % (uint64_t)n); }
static wf_val any(void) { return o.value[below(o.n)]; }
static void push(wf_val v)
{
    if (o.n < VALUES)
        o.value[o.n++] = v;
}

static int64_t count(const wf_shape *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->rank; ++d)
        n *= s->dim[d];
    return n;
}

static wf_array *random_array(wf_shape shape, uint64_t seed)
{
    double x[MOST];
    for (int64_t i = 0; i < count(&shape); ++i)
        x[i] = 2 * test_random_number(&seed) - 1;
    return array_of(ctx, WF_F64, shape, x);
}

static void make_arrays(uint64_t number)
{
    wf_shape rank = { .rank = 1 + below(3) };
    for (int d = 0; d < rank.rank; ++d)
        rank.dim[d] = 1 + below(5);
    o.space = rank;
    o.table_shape = WF_SHAPE(2 + below(3), 1 + below(4));
    o.indexed = below(3) != 0;
    o.reduce = below(2) ? 0 : below(2) ? WF_ALL_AXES : 1u << below(rank.rank);
    o.kept = rank;
    for (int d = 0; d < rank.rank; ++d)
        if (o.reduce >> d & 1)
            o.kept.dim[d] = 1;
    const wf_shape row = { .rank = 1, .dim = { rank.dim[rank.rank - 1] } };
    o.x = random_array(o.space, number * 8 + 1);
    o.row = random_array(row, number * 8 + 2);
    o.table = random_array(o.table_shape, number * 8 + 3);
    o.scale = random_array(o.kept, number * 8 + 4);
    o.y = wf_full(ctx, WF_F64, o.kept, 0);
    o.z = random_array(o.table_shape, number * 16 + 9);
}

/* A read of the table at indices that are constants, those of the point, shifted, or data. */
static wf_val read(wf_graph *g)
{
    wf_val at[2];
    for (int d = 0; d < 2; ++d) {
        const int64_t extent = o.table_shape.dim[d];
        wf_val i = o.indexed ? wf_index(g, below(o.space.rank)) : wf_cast(wf_floor(wf_mul(any(), 3)), WF_I64);
        at[d] = below(4) == 0 ? wf_const(g, WF_I64, below((int)extent)) : wf_add(i, below(3) - 1);
    }
    const wf_border border[] = { WF_BORDER_VALUE, WF_BORDER_CLAMP, WF_BORDER_PERIODIC, WF_BORDER_MIRROR };
    return wf_read_border(g, o.table, border[below(4)], 0.5, at[0], at[1]);
}

static wf_val operation(wf_graph *g)
{
    wf_val a = any(), b = any();
    switch (below(11)) {
    case 0:
        return wf_add(a, b);
    case 1:
        return wf_sub(a, b);
    case 2:
        return wf_mul(wf_sin(a), b);
    case 3:
        return wf_sin(a);
    case 4:
        return wf_exp(wf_mul(wf_sin(a), 0.5));
    case 5:
        return wf_max(a, b);
    case 6:
        return wf_min(a, wf_neg(b));
    case 7:
        return wf_select(wf_gt(a, b), wf_sin(b), wf_mul(a, 0.5));
    case 8:
        return wf_div(a, wf_add(wf_mul(b, b), 2));
    case 9:
        return wf_sqrt(wf_add(wf_mul(a, a), 1));
    default:
        return g ? read(g) : wf_sin(a);
    }
}

static wf_val in_a_loop(wf_graph *g)
{
    wf_val k, start = any();
    wf_var sum = wf_local(g, WF_F64, start);
    WF_FOR (g, k, 0, 3, 1) {
        wf_set(sum, wf_add(wf_mul(sum, 0.5), wf_sin(wf_add(any(), k))));
    }
    WF_END(g);
    return wf_mul(sum, 1);
}

static void join_value(wf_var to, wf_join by)
{
    wf_val v = any();
    v = by == WF_JOIN_MUL && below(4) == 0 ? wf_select(wf_gt(any(), 0.9), 0, v) : v;
    wf_set(to, by == WF_JOIN_ADD   ? wf_add(to, v)
               : by == WF_JOIN_MUL ? wf_mul(to, v)
               : by == WF_JOIN_MIN ? wf_min(to, v)
                                   : wf_max(to, v));
}

static void join(wf_graph *g, wf_var to, wf_join by)
{
    if (below(3)) {
        join_value(to, by);
        return;
    }
    WF_IF (g, wf_gt(any(), 0)) {
        join_value(to, by);
    }
    WF_END(g);
}

/* Accumulates into z, at once or in a loop with a number of turns that each point decides. */
static void accumulate(wf_graph *g)
{
    static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MIN, WF_JOIN_MAX, WF_JOIN_MUL };
    const wf_join by = joins[below(4)];
    const int i = below((int)o.table_shape.dim[0]), k = below((int)o.table_shape.dim[1]);
    if (below(2)) {
        wf_accumulate(g, by, o.z, any(), i, k);
        return;
    }
    wf_val v = any(), turns = wf_mul(wf_add(wf_sin(any()), 1), 3);
    wf_var n = wf_local(g, WF_I64, below(2)), sum = wf_local(g, WF_F64, any());
    const bool some = below(2), varies = below(2);
    WF_WHILE (g, wf_lt(n, turns)) {
        wf_set(sum, wf_add(wf_mul(sum, 0.5), wf_sin(v)));
        wf_val row = varies ? wf_mod(wf_add(n, i), (double)o.table_shape.dim[0]) : wf_const(g, WF_I64, i);
        if (some)
            wf_accumulate_if(g, wf_gt(sum, 0.1), by, o.z, sum, row, k);
        else
            wf_accumulate(g, by, o.z, sum, row, k);
        wf_inc(n, 1);
    }
    WF_END(g);
}

static wf_graph *record(int number)
{
    o.random = (uint64_t)number * 0x9e3779b97f4a7c15u + 7;
    (void)below(1000); /* the choices of make_arrays come from another sequence */
    wf_graph *g = o.indexed ? wf_begin(ctx, .shape = o.space, .reduce = o.reduce)
                            : wf_begin(ctx, .elements = o.reduce == 0, .reduce = o.reduce);
    o.n = 0;
    push(wf_in(g, o.x));
    push(wf_in(g, o.row));
    push(read(g));
    for (int i = 0, n = 2 + below(10); i < n; ++i)
        push(below(8) ? operation(g) : in_a_loop(g));
    o.uses_z = o.indexed && below(2);
    if (o.uses_z)
        accumulate(g);
    if (!o.reduce) {
        wf_out(g, o.y, o.value[o.n - 1]);
        return g;
    }
    static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_ADD, WF_JOIN_MIN, WF_JOIN_MAX, WF_JOIN_MUL };
    const int vars = 1 + below(3);
    wf_var var[3];
    for (int i = 0; i < vars; ++i) {
        const wf_join by = joins[below(5)];
        const double initial = by == WF_JOIN_ADD   ? 0.5
                               : by == WF_JOIN_MUL ? 1
                               : by == WF_JOIN_MIN ? INFINITY
                                                   : -INFINITY;
        var[i] = wf_reduced(g, WF_F64, below(3) ? initial : 0.25, by);
        for (int k = 0, n = 1 + below(2); k < n; ++k)
            join(g, var[i], by);
    }
    wf_section(g, WF_SECTION_POST);
    o.n = 0;
    for (int i = 0; i < vars; ++i)
        push(wf_sin(wf_max(wf_min(var[i], 4), -4))); /* a minimum of nothing is infinite */
    push(wf_in(g, o.scale));
    for (int i = 0, n = below(5); i < n; ++i)
        push(operation(NULL));
    wf_out(g, o.y, o.value[o.n - 1]);
    return g;
}

static double product(wf_array *a, wf_array *b, double *size)
{
    double *x = contents(a), *y = contents(b), sum = 0;
    for (int64_t i = 0; i < wf_array_count(a); ++i) {
        sum += x[i] * y[i];
        *size += fabs(x[i] * y[i]);
    }
    free(x);
    free(y);
    return sum;
}

static void one(int number)
{
    o.random = (uint64_t)number * 77 + 5;
    make_arrays((uint64_t)number);
    wf_graph *g = record(number);
    wf_array *u[4], *grad[4], *const wrt[4] = { o.x, o.row, o.table, o.scale };
    for (int i = 0; i < 4; ++i) {
        u[i] = random_array(wf_array_shape(wrt[i]), (uint64_t)number * 16 + 3 + (uint64_t)i);
        grad[i] = wf_full(ctx, WF_F64, wf_array_shape(wrt[i]), 9);
    }
    wf_array *v[2] = { random_array(o.kept, (uint64_t)number + 50),
                       random_array(o.table_shape, (uint64_t)number + 60) };
    wf_array *t[2] = { wf_full(ctx, WF_F64, o.kept, 0), wf_full(ctx, WF_F64, o.table_shape, 0) };
    wf_array *outs[2] = { o.y, o.z };
    OK(ctx, wf_run(g));
    const size_t n = o.uses_z ? 2 : 1;
    OK(ctx, wf_adjoint(record(number), (wf_arrays){ outs, n }, (wf_arrays){ v, n }, (wf_arrays){ wrt, 4 },
                       (wf_arrays){ grad, 4 }));
    OK(ctx, wf_tangent(record(number), (wf_arrays){ wrt, 4 }, (wf_arrays){ u, 4 }, (wf_arrays){ outs, n },
                       (wf_arrays){ t, n }));
    double size = 1e-3, forward = 0, reverse = 0;
    for (size_t k = 0; k < n; ++k)
        forward += product(v[k], t[k], &size);
    for (int i = 0; i < 4; ++i)
        reverse += product(u[i], grad[i], &size);
    if (!(fabs(forward - reverse) <= 1e-12 * size))
        fail_msg("operator %d: %.17g forward and %.17g in reverse", number, forward, reverse);
    for (int i = 0; i < 4; ++i) {
        wf_release(u[i]);
        wf_release(grad[i]);
        wf_release(wrt[i]);
    }
    wf_array *const used[] = { v[0], v[1], t[0], t[1], o.y, o.z };
    for (size_t i = 0; i < sizeof used / sizeof *used; ++i)
        wf_release(used[i]);
}

static void operators(void **state)
{
    (void)state;
    const char *asked = getenv("WEFT_RANDOM_ADJOINTS"), *comma = asked ? strchr(asked, ',') : NULL;
    const int most = wf_context_device(ctx) == WF_INTERP ? 1000 : 20; /* compilers take their time */
    const int n = asked ? atoi(asked) : most / TEST_EVERY, first = comma ? atoi(comma + 1) : 0;
    for (int i = first; i < first + n; ++i)
        one(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(operators) };
    return has_no_device() + RUN_ON_CPU(tests);
}
