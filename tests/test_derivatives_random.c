/* test_derivatives_random.c - derivatives of random recordings of whole arrays: operations, broadcasts, views,
 * reductions, scans, gathers, scatters, arrays that are assigned, written by index and accumulated into. Forward and
 * reverse mode agree, v.(J u) = (J^T v).u, and so do central differences where the function is smooth.
 * WEFT_RANDOM_DERIVATIVES=COUNT,FIRST runs COUNT recordings from number FIRST on. A recording that fails is printed.
 *
 * ctest: first_tier
 */
#include "on_devices.h"

enum { ARRAYS = 3, VALUES = 48, OUTS = 2, MOST = 96, RANK = 3 };

typedef struct value {
    wf_val v;
    wf_shape shape;
    double bound; /* of the absolute values, about */
} value;

typedef struct program {
    wf_graph *g;
    wf_array *array[ARRAYS];
    wf_shape shape[ARRAYS];
    value value[VALUES];
    int n;
    bool zeros; /* elements may be 0, where some operations have no slope */
    bool stops; /* wf_stop has hidden something from derivatives that differences show */
    uint64_t random;
    size_t length;
    char text[16384];
} program;
static program *p;

/* ---- helpers ---- */
static int below(int n) { return (int)(test_random(&p->random) % (uint64_t)n); }
static bool rarely(int n) { return below(n) == 0; }

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(p->text + p->length, sizeof p->text - p->length, format, args);
    va_end(args);
    p->length += (size_t)n < sizeof p->text - p->length ? (size_t)n : 0;
}

static int64_t count(const wf_shape *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->rank; ++d)
        n *= s->dim[d];
    return n;
}

static bool same_shape(const wf_shape *a, const wf_shape *b)
{
    bool same = a->rank == b->rank;
    for (int d = 0; same && d < a->rank; ++d)
        same = a->dim[d] == b->dim[d];
    return same;
}

static wf_shape random_shape(void)
{
    wf_shape s = { .rank = below(RANK + 1) };
    for (int d = 0; d < s.rank; ++d)
        s.dim[d] = rarely(5) ? 1 : 2 + below(3);
    return s;
}

static bool common_shape(const wf_shape *a, const wf_shape *b, wf_shape *out)
{
    *out = (wf_shape){ .rank = a->rank > b->rank ? a->rank : b->rank };
    for (int d = 0; d < out->rank; ++d) {
        int i = d - (out->rank - a->rank), j = d - (out->rank - b->rank);
        int64_t x = i < 0 ? 1 : a->dim[i], y = j < 0 ? 1 : b->dim[j];
        if (x != y && x != 1 && y != 1)
            return false;
        out->dim[d] = x > y ? x : y;
    }
    return count(out) <= MOST;
}

/* Keeps a value, scaled so that it stays moderate. */
static bool keep(wf_val v, wf_shape shape, double bound)
{
    if (count(&shape) > MOST || p->n == VALUES)
        return false;
    value *to = &p->value[p->n];
    *to = (value){ v, shape, bound };
    if (bound > 6) {
        int how = below(3);
        to->v = how == 0 ? wf_sin(v) : how == 1 ? wf_tanh(v) : wf_mul(v, 3 / bound);
        to->bound = how == 2 ? 3 : 1;
        say("; %s", how == 0 ? "sin" : how == 1 ? "tanh" : "scaled");
    }
    say(" -> v%d, rank %d (%d %d %d)\n", p->n++, shape.rank, (int)shape.dim[0], (int)shape.dim[1], (int)shape.dim[2]);
    return true;
}

static const value *any(void)
{
    int near = p->n < 6 ? p->n : 6;
    return &p->value[rarely(3) ? below(p->n) : p->n - 1 - below(near)];
}
static int id(const value *v) { return (int)(v - p->value); }

/* Returns a value whose shape broadcasts with `a`, perhaps `a` itself. */
static const value *partner(const value *a, wf_shape *shape)
{
    for (int tries = 0; tries < 6; ++tries) {
        const value *b = any();
        if (common_shape(&a->shape, &b->shape, shape))
            return b;
    }
    *shape = a->shape;
    return a;
}

/* ---- operations ---- */
static wf_val inside(wf_val v) { return wf_mul(wf_sin(v), 0.9); } /* between -0.9 and 0.9 */
static wf_val positive(wf_val v) { return wf_add(wf_mul(v, v), 0.5); }

static bool one_operand(void)
{
    const value *a = any();
    wf_val v = a->v;
    int op = rarely(50) ? 35 : below(35);
    op = op == 6 && p->zeros ? 0 : op;
    const double m = a->bound;
    say("operation %d of v%d", op, id(a));
    switch (op) {
#define CASE(n, value, bound) \
    case n:                   \
        return keep(value, a->shape, bound);
        CASE(0, wf_neg(v), m)
        CASE(1, wf_abs(v), m)
        CASE(2, wf_sqrt(positive(v)), m + 1)
        CASE(3, wf_rsqrt(positive(v)), 1.5)
        CASE(4, wf_cbrt(positive(v)), m + 1)
        CASE(5, wf_rcp(positive(v)), 2)
        CASE(6, wf_floor(wf_mul(v, 3)), 3 * m)
        CASE(7, wf_exp(wf_tanh(v)), 2.8)
        CASE(8, wf_exp2(inside(v)), 2)
        CASE(9, wf_exp10(inside(v)), 8)
        CASE(10, wf_expm1(inside(v)), 1.5)
        CASE(11, wf_log(positive(v)), 4)
        CASE(12, wf_log2(positive(v)), 6)
        CASE(13, wf_log10(positive(v)), 2)
        CASE(14, wf_log1p(inside(v)), 2.4)
        CASE(15, wf_sin(v), 1)
        CASE(16, wf_cos(v), 1)
        CASE(17, wf_tan(inside(v)), 1.3)
        CASE(18, wf_asin(inside(v)), 1.2)
        CASE(19, wf_acos(inside(v)), 3)
        CASE(20, wf_atan(v), 1.6)
        CASE(21, wf_sinpi(v), 1)
        CASE(22, wf_tanpi(wf_mul(inside(v), 0.4)), 2.2)
        CASE(23, wf_asinpi(inside(v)), 0.4)
        CASE(24, wf_sinc(v), 1)
        CASE(25, wf_sinh(inside(v)), 1.1)
        CASE(26, wf_cosh(inside(v)), 1.5)
        CASE(27, wf_tanh(v), 1)
        CASE(28, wf_erf(v), 1)
        CASE(29, wf_erfinv(inside(v)), 1.2)
        CASE(30, wf_j0(v), 1)
        CASE(31, wf_j1(v), 0.6)
        CASE(32, wf_asinh(v), 2.5)
        CASE(33, wf_acosh(wf_add(positive(v), 1)), 4.5)
        CASE(34, wf_atanh(inside(v)), 1.5)
    default:
        p->stops = true;
        return keep(wf_mul(wf_stop(v), v), a->shape, m * m);
    }
}

/* A rule: x sin(y) and x^2 + y, with their derivatives written out. */
static void rule_call(const wf_rule_site *s)
{
    s->result[0] = wf_mul(s->in[0], wf_sin(s->in[1]));
    s->result[1] = wf_add(wf_mul(s->in[0], s->in[0]), s->in[1]);
}
static void rule_back(const wf_rule_site *s)
{
    wf_val x = s->in[0], y = s->in[1], g = s->seed[0], h = s->seed[1];
    s->result[0] = wf_add(wf_mul(g, wf_sin(y)), wf_mul(h, wf_mul(x, 2)));
    s->result[1] = wf_add(wf_mul(wf_mul(g, x), wf_cos(y)), h);
}
static void rule_along(const wf_rule_site *s)
{
    wf_val x = s->in[0], y = s->in[1], dx = s->seed[0], dy = s->seed[1];
    s->result[0] = wf_add(wf_mul(dx, wf_sin(y)), wf_mul(wf_mul(x, wf_cos(y)), dy));
    s->result[1] = wf_add(wf_mul(wf_mul(x, 2), dx), dy);
}

static wf_val by_rule(wf_val x, wf_val y, int which)
{
    wf_val out[2];
    wf_custom(WF_CUSTOM_RULE(.name = "rule", .call = rule_call, .jvp = rule_along, .vjp = rule_back, .outs = 2),
              WF_VALS(x, y), out);
    return which == 2 ? wf_sub(out[0], out[1]) : out[which];
}

static bool two_operands(void)
{
    wf_shape shape;
    const value *a = any(), *b = partner(a, &shape);
    const int op = p->zeros ? below(6) : below(20);
    wf_val x = a->v, y = b->v;
    const double m = a->bound, n = b->bound, most = m > n ? m : n;
    say("binary %d of v%d, v%d", op, id(a), id(b));
    switch (op) {
#define BOTH(k, value, bound) \
    case k:                   \
        return keep(value, shape, bound);
        BOTH(0, wf_add(x, y), m + n)
        BOTH(1, wf_sub(x, y), m + n)
        BOTH(2, wf_mul(x, y), m * n)
        BOTH(3, wf_div(x, positive(y)), 2 * m)
        BOTH(4, wf_fma(x, y, x), m * n + m)
        BOTH(5, wf_pow(positive(x), wf_sin(y)), m * m + 2)
        BOTH(6, wf_min(x, y), most)
        BOTH(7, wf_max(x, y), most)
        BOTH(8, wf_fmin(x, y), most)
        BOTH(9, wf_fmax(x, y), most)
        BOTH(10, wf_atan2(x, y), 3.2)
        BOTH(11, wf_hypot(x, y), m + n)
        BOTH(12, wf_copysign(wf_add(x, m + 1), y), 2 * m + 1)
        BOTH(13, wf_mod(x, positive(y)), m)
        BOTH(14, wf_floor_mod(x, wf_neg(positive(y))), n * n + 1)
        BOTH(15, wf_clamp(x, wf_sub(y, 0.7), wf_add(y, 0.3)), most + 1)
        BOTH(16, wf_select(wf_lt(wf_sin(x), y), x, wf_mul(y, y)), m + n * n)
        BOTH(17, wf_select(wf_gt(x, 0.2), wf_log(x), y), n + 2)
        BOTH(18, by_rule(x, y, below(3)), m * m + m + n)
        BOTH(19, wf_replace_gradient(wf_div(x, positive(y)), wf_mul(x, wf_rcp(positive(y)))), 2 * m)
    default:
        return false;
    }
}

/* A part or the size of a function of a complex number made of two values. */
static bool complex_operands(void)
{
    wf_shape shape;
    const value *a = any(), *b = partner(a, &shape);
    const int op = below(8), part = below(3);
    wf_val z = wf_complex(wf_sin(a->v), wf_sin(b->v)), w = wf_add(z, 3), r;
    say("complex %d of v%d, v%d, part %d", op, id(a), id(b), part);
    r = op == 0   ? wf_exp(z)
        : op == 1 ? wf_log(w)
        : op == 2 ? wf_sqrt(w)
        : op == 3 ? wf_div(z, w)
        : op == 4 ? wf_pow(w, z)
        : op == 5 ? wf_rcp(w)
        : op == 6 ? wf_mul(z, wf_conj(w))
                  : wf_polar(wf_abs(w), wf_phase(w));
    r = part == 0 ? wf_real(r) : part == 1 ? wf_imag(r) : p->zeros ? wf_real(wf_mul(r, r)) : wf_abs(r);
    return keep(r, shape, 30);
}

/* ---- views ---- */
static bool view(void)
{
    const value *a = any();
    wf_shape s = a->shape;
    if (!s.rank)
        return false;
    const int axis = below(s.rank), which = below(7);
    const int64_t n = s.dim[axis];
    wf_shape each = { .rank = s.rank, .dim = { 1, 1, 1 } };
    int axes[RANK];
    wf_val v;
    say("view %d of v%d, axis %d", which, id(a), axis);
    switch (which) {
    case 0: {
        const int64_t start = below((int)n), step = 1 + below(2);
        s.dim[axis] = (n - start + step - 1) / step;
        say(" from %d by %d", (int)start, (int)step);
        return keep(wf_slice(a->v, axis, start, WF_END_INDEX, step), s, a->bound);
    }
    case 1: {
        const int64_t start = below((int)n), step = 1 + below(2);
        s.dim[axis] = start / step + 1;
        say(" from %d by -%d", (int)start, (int)step);
        return keep(wf_slice(a->v, axis, start, WF_END_INDEX, -step), s, a->bound);
    }
    case 2:
        for (int d = 0; d < s.rank; ++d) {
            axes[d] = (d + 1) % s.rank;
            s.dim[d] = a->shape.dim[axes[d]];
        }
        return keep(wf_permute(a->v, axes), s, a->bound);
    case 3:
        s = rarely(2) ? WF_SHAPE(count(&s)) : WF_SHAPE(count(&s), 1);
        return keep(wf_reshape(a->v, s), s, a->bound);
    case 4:
        each.dim[axis] = 1 + below(3);
        s.dim[axis] *= each.dim[axis];
        return count(&s) <= MOST && keep(wf_tile(a->v, each), s, a->bound);
    case 5:
        each.dim[0] = 1 + below(3);
        s.dim[axis] *= each.dim[0];
        return count(&s) <= MOST && keep(wf_repeat(a->v, axis, each.dim[0]), s, a->bound);
    default: {
        const value *b = any();
        wf_shape other = b->shape;
        if (other.rank != s.rank)
            return false;
        other.dim[axis] = n;
        if (!same_shape(&other, &s))
            return false;
        say(" and v%d", id(b));
        s.dim[axis] = n + b->shape.dim[axis];
        v = count(&s) <= MOST ? wf_concat(axis, a->v, b->v) : a->v;
        return count(&s) <= MOST && keep(v, s, a->bound > b->bound ? a->bound : b->bound);
    }
    }
}

static bool broadcast(void)
{
    wf_shape shape;
    const value *a = any();
    const value *b = partner(a, &shape);
    say("broadcast of v%d with v%d", id(a), id(b));
    return keep(wf_broadcast(a->v, shape), shape, a->bound);
}

/* ---- joins ---- */
static wf_join random_join(void)
{
    static const wf_join joins[] = { WF_JOIN_ADD, WF_JOIN_MUL, WF_JOIN_MIN, WF_JOIN_MAX };
    return joins[p->zeros ? below(2) : below(4)];
}

static double joined_bound(wf_join join, double m, int64_t n)
{
    return join == WF_JOIN_ADD ? m * (double)n : join == WF_JOIN_MUL ? fmin(pow(fmax(m, 1), (double)n), 1e6) : m;
}

static bool reduced(void)
{
    const value *a = any();
    wf_shape s = a->shape;
    wf_axes axes = (wf_axes)(1 + below(7)) & ((1u << s.rank) - 1);
    wf_join join = random_join();
    if (!axes)
        return false;
    for (int d = 0; d < s.rank; ++d)
        s.dim[d] = axes >> d & 1 ? 1 : s.dim[d];
    const int64_t n = count(&a->shape) / count(&s);
    if (join == WF_JOIN_MUL && n > 8)
        join = WF_JOIN_ADD;
    say("reduce %d of v%d, axes %#x", (int)join, id(a), axes);
    return keep(wf_reduce(join, a->v, axes), s, joined_bound(join, a->bound, n));
}

static bool scanned(void)
{
    const value *a = any();
    if (!a->shape.rank)
        return false;
    const int axis = below(a->shape.rank);
    wf_join join = random_join();
    const bool exclusive = join <= WF_JOIN_MUL && rarely(2), back = rarely(2);
    const int64_t n = a->shape.dim[axis];
    if (n > 8 && join == WF_JOIN_MUL)
        join = WF_JOIN_ADD;
    say("scan %d of v%d, axis %d%s%s", (int)join, id(a), axis, exclusive ? ", exclusive" : "", back ? ", back" : "");
    return keep(wf_scan(join, a->v, axis, exclusive, back), a->shape, joined_bound(join, a->bound, n));
}

/* ---- elements by index ---- */
/* Sets one index for each axis of an array of shape `in`, for points of a shape: (start + step i) mod n, where i is the
 * point's index along its last axis but k for axis k, and up to `beyond` places outside. */
static void indices(const wf_shape *points, const wf_shape *in, int beyond, wf_val index[RANK])
{
    for (int d = 0; d < in->rank; ++d) {
        const int64_t n = in->dim[d], step = below(3), start = below(7);
        const int axis = points->rank ? (points->rank - 1 + d) % points->rank : 0;
        index[d] = points->rank ? wf_iota(p->g, *points, axis) : wf_const(p->g, WF_I64, 1);
        index[d] = wf_mod(wf_add(wf_mul(index[d], (double)step), (double)start), (double)(n + 2 * beyond));
        index[d] = wf_sub(index[d], beyond);
        say(" [(%d + %d i%d) mod %d - %d]", (int)start, (int)step, axis, (int)n + 2 * beyond, beyond);
    }
}

static bool gathered(void)
{
    const value *a = any(), *other = any();
    const wf_shape points = random_shape();
    wf_val index[RANK];
    if (!a->shape.rank || count(&points) > MOST)
        return false;
    const bool all = other->shape.rank == 0;
    say("gather of v%d", id(a));
    if (all)
        say(", else v%d,", id(other));
    indices(&points, &a->shape, all ? 1 : 0, index);
    wf_vals list = { index, (size_t)a->shape.rank };
    double bound = all && other->bound > a->bound ? other->bound : a->bound;
    return keep(all ? wf_gather_or_n(a->v, other->v, list) : wf_gather_n(a->v, list), points, bound);
}

static bool scattered(void)
{
    const value *a = any();
    const wf_shape to = random_shape();
    wf_val index[RANK];
    if (!to.rank || count(&to) > MOST)
        return false;
    say("scatter of v%d", id(a));
    indices(&a->shape, &to, 0, index);
    return keep(wf_scatter_n(a->v, to, (wf_vals){ index, (size_t)to.rank }), to, a->bound * (double)count(&a->shape));
}

static bool read_array(void)
{
    static const wf_border borders[] = { WF_BORDER_NONE,     WF_BORDER_VALUE,  WF_BORDER_CLAMP,
                                         WF_BORDER_PERIODIC, WF_BORDER_MIRROR, WF_BORDER_REFLECT };
    const int which = below(ARRAYS), border = below(6);
    const wf_shape in = p->shape[which], points = random_shape();
    const value *other = any();
    wf_val index[RANK];
    if (!in.rank || rarely(2)) {
        say("contents of array %d", which);
        return keep(wf_in(p->g, p->array[which]), in, 6);
    }
    if (count(&points) > MOST || (border == 1 && other->shape.rank))
        return false;
    say("read of array %d, border %d, else v%d", which, border, id(other));
    indices(&points, &in, border ? 3 : 0, index);
    wf_vals list = { index, (size_t)in.rank };
    return keep(wf_read_border_n(p->g, p->array[which], borders[border], border == 1 ? other->v : WF_V(0), list),
                points, 6);
}

/* ---- arrays that change ---- */
static bool written(void)
{
    const int which = below(ARRAYS);
    wf_array *to = p->array[which];
    const wf_shape in = p->shape[which];
    const value *a = any(), *c = any();
    wf_shape shape;
    wf_val index[RANK];
    if (!common_shape(&a->shape, &in, &shape) || !same_shape(&shape, &in))
        return false;
    wf_val small = wf_mul(wf_tanh(a->v), 2);
    if (!in.rank || rarely(3)) {
        say("array %d = v%d\n", which, id(a));
        wf_out(p->g, to, small);
        return true;
    }
    const bool some = common_shape(&c->shape, &in, &shape) && same_shape(&shape, &in) && rarely(2);
    if (rarely(2)) {
        say("array %d += v%d at", which, id(a));
        if (a->shape.rank == 0)
            return false;
        indices(&a->shape, &in, 0, index);
        wf_vals list = { index, (size_t)in.rank };
        if (some && same_shape(&c->shape, &a->shape)) {
            say(" where v%d > 0.3", id(c));
            wf_accumulate_if_n(p->g, wf_gt(c->v, 0.3), WF_JOIN_ADD, WF_MODE_AUTO, to, small, list);
        } else
            wf_accumulate_n(p->g, WF_JOIN_ADD, WF_MODE_AUTO, to, small, list);
        say("\n");
        return true;
    }
    say("array %d [turned] = v%d", which, id(a));
    for (int d = 0; d < in.rank; ++d) { /* each element once */
        const int turn = below(3);
        index[d] = wf_mod(wf_add(wf_iota(p->g, in, d), turn), (double)in.dim[d]);
        say(" %d", turn);
    }
    wf_vals list = { index, (size_t)in.rank };
    if (some) {
        say(" where v%d > 0.3", id(c));
        wf_write_if_n(p->g, wf_gt(c->v, 0.3), to, small, list);
    } else
        wf_write_n(p->g, to, small, list);
    say("\n");
    return true;
}

static const struct {
    bool (*run)(void);
    int weight;
} steps[] = { { one_operand, 8 }, { two_operands, 10 }, { complex_operands, 2 }, { view, 8 },
              { broadcast, 2 },   { reduced, 5 },       { scanned, 4 },          { gathered, 4 },
              { scattered, 2 },   { read_array, 5 },    { written, 4 } };

/* ---- runs ---- */
typedef struct numbers { /* of all arrays, or all results, one behind the other */
    double at[ARRAYS * MOST];
    int64_t n;
} numbers;

static void record(int number)
{
    p->random = (uint64_t)number * 77 + 5;
    p->length = 0;
    p->n = 0;
    p->zeros = rarely(4);
    p->stops = false;
    for (int i = 0; i < ARRAYS; ++i) {
        p->shape[i] = random_shape();
        say("array %d: rank %d (%d %d %d)\n", i, p->shape[i].rank, (int)p->shape[i].dim[0], (int)p->shape[i].dim[1],
            (int)p->shape[i].dim[2]);
    }
}

static void take_steps(void)
{
    for (int i = 0; i < ARRAYS; ++i)
        keep(wf_in(p->g, p->array[i]), p->shape[i], 1.5);
    const int n = 3 + below(18);
    for (int k = 0; k < n && p->n < VALUES; ++k) {
        int all = 0, i = 0;
        for (size_t s = 0; s < sizeof steps / sizeof *steps; ++s)
            all += steps[s].weight;
        for (int at = below(all); (at -= steps[i].weight) >= 0;)
            ++i;
        const size_t length = p->length;
        if (!steps[i].run() && p->length > length)
            say(": not\n");
    }
}

static void make_arrays(const numbers *x, const numbers *along, double step, wf_array *out[ARRAYS])
{
    int64_t at = 0;
    for (int i = 0; i < ARRAYS; ++i) {
        double moved[MOST];
        const int64_t n = count(&p->shape[i]);
        for (int64_t k = 0; k < n; ++k)
            moved[k] = x->at[at + k] + (along ? step * along->at[at + k] : 0);
        out[i] = array_of(ctx, WF_F64, p->shape[i], moved);
        at += n;
    }
}

static void take(wf_array *a, numbers *to)
{
    const int64_t n = wf_array_count(a);
    assert_true(to->n + n <= ARRAYS * MOST);
    OK(ctx, wf_download(a, to->at + to->n, (size_t)n * sizeof(double)));
    to->n += n;
    wf_release(a);
}

static void release_arrays(wf_array **a)
{
    for (int i = 0; i < ARRAYS; ++i)
        wf_release(a[i]);
}

static wf_val result(int k) { return p->value[p->n - 1 - k].v; }

/* The results at x + step along. */
static void evaluate(int number, const numbers *x, const numbers *along, double step, numbers *out)
{
    wf_array *kept[OUTS];
    record(number);
    make_arrays(x, along, step, p->array);
    p->g = wf_begin(ctx);
    take_steps();
    for (int k = 0; k < OUTS; ++k)
        kept[k] = wf_keep(wf_add(result(k), 0));
    OK(ctx, wf_run(p->g));
    out->n = 0;
    for (int k = 0; k < OUTS; ++k)
        take(kept[k], out);
    release_arrays(p->array);
}

/* Sets the derivatives: of the results in the direction `along`, and by the arrays for the seeds. */
static void differentiate(int number, const numbers *x, const numbers *along, const numbers *seeds, numbers *tangent,
                          numbers *gradient)
{
    wf_array *direction[ARRAYS], *seed[OUTS], *kept[OUTS + ARRAYS];
    wf_val in[ARRAYS], u[ARRAYS], v[OUTS], outs[OUTS], t[OUTS], grads[ARRAYS];
    int64_t at = 0;
    record(number);
    make_arrays(x, NULL, 0, p->array);
    make_arrays(along, NULL, 0, direction);
    p->g = wf_begin(ctx);
    take_steps();
    for (int i = 0; i < ARRAYS; ++i) {
        in[i] = p->value[i].v;
        u[i] = wf_in(p->g, direction[i]);
    }
    for (int k = 0; k < OUTS; ++k) {
        const wf_shape *shape = &p->value[p->n - 1 - k].shape;
        seed[k] = array_of(ctx, WF_F64, *shape, seeds->at + at);
        at += count(shape);
        v[k] = wf_in(p->g, seed[k]);
        outs[k] = result(k);
    }
    wf_vjp_n((wf_vals){ outs, OUTS }, (wf_vals){ v, OUTS }, (wf_vals){ in, ARRAYS }, grads);
    wf_jvp_n((wf_vals){ outs, OUTS }, (wf_vals){ in, ARRAYS }, (wf_vals){ u, ARRAYS }, t);
    for (int k = 0; k < OUTS; ++k)
        kept[k] = wf_keep(wf_add(t[k], 0));
    for (int i = 0; i < ARRAYS; ++i)
        kept[OUTS + i] = wf_keep(wf_add(grads[i], 0));
    OK(ctx, wf_run(p->g));
    tangent->n = gradient->n = 0;
    for (int k = 0; k < OUTS; ++k)
        take(kept[k], tangent);
    for (int i = 0; i < ARRAYS; ++i)
        take(kept[OUTS + i], gradient);
    for (int k = 0; k < OUTS; ++k)
        wf_release(seed[k]);
    release_arrays(direction);
    release_arrays(p->array);
}

static double product(const numbers *a, const numbers *b, double *size)
{
    double sum = 0;
    for (int64_t i = 0; i < a->n; ++i) {
        sum += a->at[i] * b->at[i];
        *size += fabs(a->at[i] * b->at[i]);
    }
    return sum;
}

/* The slope in the direction `along`, weighted by the seeds, from two points. */
static double difference(int number, const numbers *x, const numbers *along, const numbers *seeds, double step)
{
    numbers before, after;
    double size = 0;
    evaluate(number, x, along, -step, &before);
    evaluate(number, x, along, step, &after);
    for (int64_t i = 0; i < after.n; ++i)
        after.at[i] = (after.at[i] - before.at[i]) / (2 * step);
    return product(&after, seeds, &size);
}

static void print_and_fail(const char *what, int number, double a, double b)
{
    for (const char *line = p->text; *line; line = strchr(line, '\n') + 1)
        print_error("%.*s\n", (int)strcspn(line, "\n"), line);
    print_error("recording %d: ", number);
    print_error(what, a, b);
    fail();
}

/* Returns whether the function was smooth enough for differences. */
static bool one(int number)
{
    numbers x = { .n = 0 }, along, seeds = { .n = 0 }, tangent, gradient;
    uint64_t random = (uint64_t)number * 3 + 1;
    record(number);
    for (int i = 0; i < ARRAYS; ++i)
        x.n += count(&p->shape[i]);
    along.n = x.n;
    for (int64_t i = 0; i < x.n; ++i) {
        x.at[i] = p->zeros && test_random(&random) % 4 == 0 ? 0 : 3 * test_random_number(&random);
        along.at[i] = 2 * test_random_number(&random);
    }
    seeds.n = ARRAYS * MOST;
    for (int64_t i = 0; i < seeds.n; ++i)
        seeds.at[i] = 2 * test_random_number(&random);
    differentiate(number, &x, &along, &seeds, &tangent, &gradient);
    seeds.n = tangent.n;
    double size = 1e-3, forward = product(&tangent, &seeds, &size), reverse = product(&gradient, &along, &size);
    if (!(fabs(forward - reverse) <= 1e-12 * size))
        print_and_fail("%.17g forward and %.17g in reverse", number, forward, reverse);
    if (p->stops)
        return false;
    const double wide = difference(number, &x, &along, &seeds, 2e-6);
    const double small = difference(number, &x, &along, &seeds, 1e-6);
    if (!(fabs(wide - small) <= 1e-6 * (size + fabs(small))))
        return false;
    if (!(fabs(forward - small) <= 1e-5 * (size + fabs(small))))
        print_and_fail("the derivative is %.17g, differences give %.17g", number, forward, small);
    return true;
}

static void recordings(void **state)
{
    (void)state;
    const char *asked = getenv("WEFT_RANDOM_DERIVATIVES"), *comma = asked ? strchr(asked, ',') : NULL;
    const int most = wf_context_device(ctx) == WF_INTERP ? 4000 : 60; /* compilers take their time */
    const int n = asked ? atoi(asked) : most / TEST_EVERY, first = comma ? atoi(comma + 1) : 0;
    int smooth = 0;
    p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (int i = first; i < first + n; ++i)
        smooth += one(i);
    free(p);
    if (n > 100 && smooth < n / 2)
        fail_msg("only %d of %d recordings are smooth", smooth, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(recordings) };
    return has_no_device() + RUN_ON_CPU(tests);
}
