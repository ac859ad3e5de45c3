/* places.c - converts places in a view to places in the viewed value, by integer arithmetic on indices. Indices that
 * are affine in the point's own stay affine wherever possible. A place remembers which of its axes are parts of one
 * line (wf__place.line). */
#include "plan/split/places.h"

/* ---- integer arithmetic on indices ---- */
static wf__ref whole(group *g, int64_t x) { return wf__const_bits(&g->ir, WF_I64, (uint64_t)x); }

static wf__ref plus(group *g, wf__ref a, wf__ref b)
{
    return wf__is_const(&g->ir, a, 0) ? b : wf__is_const(&g->ir, b, 0) ? a : wf__op2(&g->ir, WF__OP_add, a, b);
}

static wf__ref times(group *g, wf__ref a, int64_t m)
{
    return m == 1 ? a : m == 0 ? whole(g, 0) : wf__op2(&g->ir, WF__OP_mul, a, whole(g, m));
}

bool wf__index_affine(const group *g, wf__ref index, wf__affine *out)
{
    enum { DEPTH = 24 };
    return wf__as_affine(&g->ir, index, 0, DEPTH, out);
}

/* Sets the least and the greatest value over the points of the group. */
static bool range_of(const group *g, const wf__affine *x, int64_t *least, int64_t *most)
{
    *least = *most = x->start;
    for (int d = 0; d < g->shape.rank; ++d) {
        int64_t end, n = g->shape.dim[d] > 0 ? g->shape.dim[d] - 1 : 0;
        if (!wf__mul_i64(x->step[d], n, &end) ||
            __builtin_add_overflow(end < 0 ? *least : *most, end, end < 0 ? least : most))
            return false;
    }
    return true;
}

static wf__ref record_affine(group *g, const wf__affine *x)
{
    wf__ref r = whole(g, x->start);
    for (int d = 0; d < g->shape.rank; ++d)
        if (x->step[d])
            r = plus(g, r, times(g, wf__index(&g->ir, d), x->step[d]));
    return r;
}

/* Divides an affine x into a multiple of `unit` and a rest, both affine. Returns false if the rest is not always
 * from 0 to unit - 1. */
static bool parted(const group *g, const wf__affine *x, int64_t unit, wf__affine *high, wf__affine *low)
{
    *high = *low = (wf__affine){ 0 };
    int64_t least, most;
    low->start = ((x->start % unit) + unit) % unit;
    high->start = (x->start - low->start) / unit;
    for (int d = 0; d < WF_MAX_RANK; ++d)
        if (x->step[d] % unit == 0)
            high->step[d] = x->step[d] / unit;
        else
            low->step[d] = x->step[d];
    return range_of(g, low, &least, &most) && least >= 0 && most < unit;
}

/* Records the quotient of x by m as a product and a shift, if 0 <= x < LIMIT. Vectors multiply faster than they
 * divide, and open_extents.c makes the factor a number of the launch, so that code serves any m.
 *
 * With 2^bits >= m, the factor exceeds 2^(BITS + bits) / m by at most 1. The product therefore exceeds its exact
 * value by at most x < 2^BITS, and the quotient by less than 2^-bits <= 1 / m, which is too little to reach the next
 * integer. Returns false for powers of two, whose division is fast.
 */
static bool divide_by_product(group *g, wf__ref x, const wf__affine *a, int64_t m, wf__ref *quotient)
{
    enum { BITS = 28, LIMIT = 1 << BITS };
    int64_t least, most;
    int bits = 0;
    if (m >= LIMIT || !(m & (m - 1)) || !range_of(g, a, &least, &most) || least < 0 || most >= LIMIT)
        return false;
    while ((int64_t)1 << bits < m)
        ++bits;
    wf__ref product = wf__op2(&g->ir, WF__OP_mul, x, whole(g, ((int64_t)1 << (BITS + bits)) / m + 1));
    *quotient = wf__op2(&g->ir, WF__OP_shr, product, whole(g, BITS + bits));
    return true;
}

/* Records quotient and remainder of x >= 0 by m >= 1. */
static void divide(group *g, wf__ref x, int64_t m, wf__ref *quotient, wf__ref *remainder)
{
    wf__affine a, high, low;
    if (m == 1) {
        *quotient = x;
        *remainder = whole(g, 0);
        return;
    }
    bool is_affine = wf__index_affine(g, x, &a);
    if (is_affine && parted(g, &a, m, &high, &low)) {
        *quotient = record_affine(g, &high);
        *remainder = record_affine(g, &low);
        return;
    }
    for (int d = 0; is_affine && d < g->shape.rank; ++d) { /* a common divisor makes the division smaller */
        int64_t unit = a.step[d] < 0 ? -a.step[d] : a.step[d];
        if (unit < 2 || m % unit || !parted(g, &a, unit, &high, &low))
            continue;
        divide(g, record_affine(g, &high), m / unit, quotient, remainder);
        wf__ref rest = record_affine(g, &low);
        *remainder = plus(g, times(g, *remainder, unit), rest);
        return;
    }
    if (is_affine && divide_by_product(g, x, &a, m, quotient)) {
        *remainder = wf__op2(&g->ir, WF__OP_sub, x, times(g, *quotient, m));
        return;
    }
    *quotient = wf__op2(&g->ir, WF__OP_idiv, x, whole(g, m));
    *remainder = wf__op2(&g->ir, WF__OP_mod, x, whole(g, m));
}

/* ---- places ---- */
bool wf__place_absorb(group *g, const wf__place *outer, wf__place *inner)
{
    if (!outer->line || outer->line != inner->line || !inner->mod || outer->div != inner->div * inner->mod)
        return false;
    inner->mod = outer->mod ? inner->mod * outer->mod : 0;
    wf__ref quotient, remainder;
    divide(g, inner->line, inner->div, &quotient, &remainder);
    if (inner->mod)
        divide(g, quotient, inner->mod, &remainder, &quotient);
    inner->index = quotient;
    return true;
}

/* Returns the index into axes first .. last as one line, in C order. */
static wf__ref line_of(group *g, const wf__place *at, const wf_shape *shape, int first, int last)
{
    wf__ref line = 0;
    int64_t weight = 1, inner = 1; /* elements of the line per step of `run`, and per step of axis k */
    wf__place run = { 0 };
    for (int k = last; k >= first; --k) {
        if (shape->dim[k] == 1)
            continue;
        if (!run.index || !wf__place_absorb(g, &at[k], &run)) {
            if (run.index)
                line = line ? plus(g, line, times(g, run.index, weight)) : times(g, run.index, weight);
            run = at[k];
            weight = inner;
        }
        inner *= shape->dim[k];
    }
    if (run.index)
        line = line ? plus(g, line, times(g, run.index, weight)) : times(g, run.index, weight);
    return line ? line : whole(g, 0);
}

/* Sets the indices of axes first .. last to those of element `line` of these axes in C order. */
static void spread_line(group *g, wf__ref line, wf__place *at, const wf_shape *shape, int first, int last)
{
    int64_t div = 1;
    int outermost = last, axes = 0;
    for (int k = last; k >= first; --k)
        if (shape->dim[k] > 1) {
            outermost = k;
            ++axes;
        }
    for (int k = last; k >= first; --k) {
        wf__ref quotient, remainder;
        if (shape->dim[k] <= 1) {
            at[k] = (wf__place){ .index = whole(g, 0) };
            continue;
        }
        divide(g, line, div, &quotient, &remainder);
        at[k] = (wf__place){ .index = quotient, .line = line, .div = div };
        if (k != outermost) {
            at[k].mod = shape->dim[k];
            divide(g, quotient, shape->dim[k], &remainder, &at[k].index);
        }
        if (axes == 1)
            at[k].line = 0;
        div *= shape->dim[k];
    }
}

static void reshape(group *g, const wf__place *here, const wf_shape *from, wf__place *at, const wf_shape *to)
{
    int i = 0, o = 0; /* groups of axes with equally many elements are reshaped separately */
    while (i < from->rank && o < to->rank) {
        int i1 = i + 1, o1 = o + 1;
        int64_t in = from->dim[i], out = to->dim[o];
        while (in != out)
            if (in < out && i1 < from->rank)
                in *= from->dim[i1++];
            else if (o1 < to->rank)
                out *= to->dim[o1++];
            else
                break;
        spread_line(g, line_of(g, here, from, i, i1 - 1), at, to, o, o1 - 1);
        i = i1;
        o = o1;
    }
}

/* ---- views ---- */
static void slice_place(group *g, const wf_shape *in, const int64_t *p, wf__place *at)
{
    int64_t start = p[1], n = wf__slice_range(in->dim[p[0]], &start, p[2], p[3]);
    if (start == 0 && (p[3] == 1 || n <= 1)) {
        if (n < in->dim[p[0]])
            at[p[0]].line = 0;
        return;
    }
    wf__ref first = whole(g, start);
    at[p[0]] = (wf__place){ .index = plus(g, times(g, at[p[0]].index, n > 1 ? p[3] : 1), first) };
}

void wf__through_view(const splitter *s, group *g, wf__ref r, wf__place *at)
{
    const wf__node *n = &s->ir->node[r];
    const wf_shape *in = &s->shape[n->a], *shape = &s->shape[r];
    wf__place here[WF_MAX_RANK];
    wf__ref rest;
    int64_t p[WF_MAX_RANK];
    uint32_t count = wf__view_numbers(s->ir, n, p);
    memcpy(here, at, sizeof here);
    switch (n->aux) {
    case WF__VIEW_SLICE:
        slice_place(g, in, p, at);
        break;
    case WF__VIEW_PERMUTE:
        for (uint32_t d = 0; d < count; ++d)
            at[p[d]] = here[d];
        break;
    case WF__VIEW_RESHAPE:
        reshape(g, here, shape, at, in);
        break;
    case WF__VIEW_BROADCAST:
        for (int k = 0; k < in->rank; ++k)
            at[k] = here[k + shape->rank - in->rank];
        break;
    case WF__VIEW_TILE:
        for (int k = 0; k < in->rank; ++k)
            if (p[k] != 1 && in->dim[k] > 1) {
                at[k] = (wf__place){ .index = 0 };
                divide(g, here[k].index, in->dim[k], &rest, &at[k].index);
            }
        break;
    default: /* WF__VIEW_REPEAT */
        if (p[1] > 1) {
            wf__place *axis = &at[p[0]];
            divide(g, here[p[0]].index, p[1], &axis->index, &rest);
            axis->line = 0;
        }
    }
    for (int k = 0; k < in->rank; ++k)
        if (in->dim[k] == 1)
            at[k] = (wf__place){ .index = whole(g, 0) };
}

wf__ref wf__index_clamped(group *g, wf__ref index, int64_t n, wf__ref *inside)
{
    wf__affine a;
    int64_t least, most;
    wf__ir *ir = &g->ir;
    if (wf__index_affine(g, index, &a) && range_of(g, &a, &least, &most) && least >= 0 && most < n)
        return index;
    wf__ref low = wf__op2(ir, WF__OP_ge, index, whole(g, 0)), high = wf__op2(ir, WF__OP_lt, index, whole(g, n));
    wf__ref both = wf__op2(ir, WF__OP_and, low, high);
    *inside = *inside ? wf__op2(ir, WF__OP_and, *inside, both) : both;
    wf__ref zero = whole(g, 0);
    return wf__op2(ir, WF__OP_max, wf__op2(ir, WF__OP_min, index, whole(g, n - 1)), zero);
}
