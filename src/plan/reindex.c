/* reindex.c - values at other places than the point's own. A view of a value is no memory: what makes the value is
 * recorded once more with other indices, so that slices, permutations, reshapes and gathers of anything pure cost no
 * temporary. Indices that are affine in the point's own, or become so where memory is contiguous, make element slots
 * with strides of their own (wf__slot_view), as fast as views of arrays; others make loads by index.
 *
 * What is computed more often through views than it is worth (tiles, repetitions, many shifted copies of something
 * expensive) goes to a temporary once, which is then what is viewed.
 */
#include "ir/affine.h"
#include "plan/split.h"

/* ---- what is worth a temporary ---- */
enum { MOST_COST = 1 << 20, WORTH_STORING = 24 };

static uint32_t own_cost(const wf__ir *ir, const wf__node *n)
{
    if (!wf__op_is_pure(n->op))
        return n->op == WF__LOAD && n->b ? 4 : 0;
    bool slow = n->op == WF__OP_div || n->op == WF__OP_sqrt || n->op == WF__OP_idiv || n->op == WF__OP_mod;
    return wf__op_expands(n->op, ir->node[n->a].dtype) ? 16 : slow ? 4 : 1;
}

static double points_of(const wf_shape *shape)
{
    double n = 1;
    for (int d = 0; d < shape->rank; ++d)
        n *= (double)shape->dim[d];
    return n;
}

/* Views want points of their own; all others together each point once. (Without the latter, a chain of steps from a
 * value and a gather of it would double with each step.) */
static void count_wanted(const splitter *s, double *seen)
{
    const wf__ir *ir = s->ir;
    for (wf__ref r = 1; r < ir->n; ++r) {
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = s->live[r] ? wf__operands(ir, &ir->node[r], operand) : 0;
        for (uint32_t i = ir->node[r].op == WF__VIEW; i < count; ++i)
            seen[operand[i]] = points_of(&s->shape[operand[i]]);
    }
    for (wf__ref r = 1; r < ir->n; ++r)
        if (s->live[r] && ir->node[r].op == WF__VIEW)
            seen[ir->node[r].a] += points_of(&s->shape[r]);
}

/* Costs are those of trees: too much for what is used twice, but then it is not cheap either. */
void wf__choose_stored(splitter *s)
{
    const wf__ir *ir = s->ir;
    bool any = false;
    for (wf__ref r = 1; r < ir->n && !any; ++r)
        any = s->live[r] && ir->node[r].op == WF__VIEW;
    s->views = any;
    uint32_t *cost = any ? wf__alloc0(ir->n * sizeof *cost) : NULL;
    double *seen = any ? wf__alloc0(ir->n * sizeof *seen) : NULL; /* points that are wanted, at other places or there */
    if (cost && seen)
        count_wanted(s, seen);
    for (wf__ref r = 1; cost && seen && r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        wf__ref operand[WF__MAX_OPERANDS];
        bool nothing = wf__has_result(s, r) || n->op == WF__STATE; /* seen from behind its block */
        uint32_t count = nothing ? 0 : wf__operands(ir, n, operand);
        cost[r] = nothing ? 0 : own_cost(ir, n);
        for (uint32_t i = 0; i < count; ++i)
            cost[r] += s->stored[operand[i]] ? 0 : cost[operand[i]];
        cost[r] = cost[r] < MOST_COST ? cost[r] : MOST_COST;
        double more = seen[r] - points_of(&s->shape[r]);
        bool pure = wf__op_is_pure(n->op) || n->op == WF__VIEW || (n->op == WF__LOAD && n->b);
        if (pure && more > 0 && more * cost[r] > WORTH_STORING * points_of(&s->shape[r]) &&
            !wf__has_one_point(&s->shape[r]))
            s->stored[r] = 1;
    }
    wf__free(cost);
    wf__free(seen);
}

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

enum { DEPTH = 24 };

/* The least and most value over the points of the group. */
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

/* x as a multiple of `unit` and a rest from 0 to unit - 1, each affine. */
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

/* The quotient of small x by m as a product, shifted: faster than vectors divide, and numbers.c makes it code for any m.
 * Below LIMIT, with `high` 2^b and LIMIT, 2^b the next power from m on: the factor is above high / m by at most the
 * high-th part of LIMIT, which no x makes a whole. Powers of two are quick as they are. */
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

/* quotient and remainder of x >= 0 by m >= 1 */
static void divide(group *g, wf__ref x, int64_t m, wf__ref *quotient, wf__ref *remainder)
{
    wf__affine a, high, low;
    if (m == 1) {
        *quotient = x;
        *remainder = whole(g, 0);
        return;
    }
    bool is_affine = wf__as_affine(&g->ir, x, 0, DEPTH, &a);
    if (is_affine && parted(g, &a, m, &high, &low)) {
        *quotient = record_affine(g, &high);
        *remainder = record_affine(g, &low);
        return;
    }
    for (int d = 0; is_affine && d < g->shape.rank; ++d) { /* a unit of both makes it a smaller division */
        int64_t unit = a.step[d] < 0 ? -a.step[d] : a.step[d];
        if (unit < 2 || m % unit || !parted(g, &a, unit, &high, &low))
            continue;
        divide(g, record_affine(g, &high), m / unit, quotient, remainder);
        *remainder = plus(g, times(g, *remainder, unit), record_affine(g, &low));
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
/* Makes `inner` the index into both axes as if they were one, where the two say that they are. */
static bool absorb(group *g, const wf__place *outer, wf__place *inner)
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

/* Axes first .. last, of these extents, counted as one in C order. */
static wf__ref line_of(group *g, const wf__place *at, const wf_shape *shape, int first, int last)
{
    wf__ref line = 0;
    int64_t weight = 1, inner = 1; /* of the run, and of what comes before it */
    wf__place run = { 0 };
    for (int k = last; k >= first; --k) {
        if (shape->dim[k] == 1)
            continue;
        if (!run.index || !absorb(g, &at[k], &run)) {
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

/* Indices of one axis made those of axes first .. last. */
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
    int i = 0, o = 0; /* groups of axes with equally many elements are reshaped on their own */
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

/* ---- frames ---- */
static wf__recorded *find(group *g, wf__ref node, uint32_t frame)
{
    uint32_t mask = g->recorded_size - 1, i = wf__mix32((uint64_t)node << 32 | frame) & mask;
    while (g->recorded[i].value && (g->recorded[i].node != node || g->recorded[i].frame != frame))
        i = (i + 1) & mask;
    return &g->recorded[i];
}

static bool remember(splitter *s, group *g, wf__ref node, uint32_t frame, wf__ref value)
{
    if (2 * g->recorded_n >= g->recorded_size) {
        uint32_t old = g->recorded_size, size = old ? 2 * old : 64;
        wf__recorded *was = g->recorded, *table = wf__alloc0(size * sizeof *table);
        if (!table)
            return wf__plan_no_memory(s->plan);
        g->recorded = table;
        g->recorded_size = size;
        for (uint32_t i = 0; i < old; ++i)
            if (was[i].value)
                *find(g, was[i].node, was[i].frame) = was[i];
        wf__free(was);
    }
    wf__recorded *e = find(g, node, frame);
    g->recorded_n += !e->value;
    *e = (wf__recorded){ node, frame, s->era, value };
    return true;
}

/* What node r at a frame is already; 0: nothing yet. */
static wf__ref known(const splitter *s, group *g, wf__ref r, uint32_t frame)
{
    bool anew = s->cone[r] & WF__ANEW;
    if (!frame && !anew)
        return g->map[r];
    const wf__recorded *e = g->recorded_size ? find(g, r, frame) : NULL;
    return e && e->value && (!anew || e->era == s->era) ? e->value : 0;
}

/* The number of a frame; 0 after failing. */
static uint32_t frame_number(splitter *s, group *g, const wf__frame *f)
{
    wf__ref refs[WF_MAX_RANK];
    for (int k = 0; k < f->rank; ++k)
        refs[k] = f->at[k].index;
    uint32_t tuple = wf__tuple(&g->ir, refs, (uint32_t)f->rank);
    if (g->ir.status != WF_OK) {
        wf__plan_fail(s->plan, g->ir.status, "%s", g->ir.error);
        return 0;
    }
    const wf__recorded *e = g->recorded_size ? find(g, 0, tuple) : NULL;
    if (e && e->value)
        return e->value;
    uint32_t number = g->frame_n ? g->frame_n : 1;
    if (!wf__grow(&g->frame, &g->frame_cap, number + 1, sizeof *g->frame)) {
        wf__plan_no_memory(s->plan);
        return 0;
    }
    g->frame[number] = *f;
    g->frame_n = number + 1;
    return remember(s, g, 0, tuple, number) ? number : 0;
}

/* Where a node of that shape is at a frame: its indices, said out. */
static void places(const splitter *s, group *g, wf__ref r, uint32_t frame, wf__place *at)
{
    const wf_shape *shape = &s->shape[r];
    for (int k = 0; k < shape->rank; ++k) {
        if (frame)
            at[k] = g->frame[frame].at[k];
        else
            at[k] = (wf__place){ .index = shape->dim[k] == 1 ? whole(g, 0)
                                                             : wf__index(&g->ir, k + g->shape.rank - shape->rank) };
    }
}

/* The frame of an operand of a node at a frame, by broadcasting. */
static bool operand_frame(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref operand, uint32_t *out)
{
    const wf_shape *own = &s->shape[r], *shape = &s->shape[operand];
    *out = 0;
    if (!frame || wf__has_one_point(shape))
        return true;
    bool same = own->rank == shape->rank;
    wf__frame f = { .rank = shape->rank };
    for (int k = 0; k < shape->rank; ++k) {
        bool one = shape->dim[k] == 1;
        f.at[k] = g->frame[frame].at[k + own->rank - shape->rank];
        same = same && (!one || own->dim[k] == 1);
        if (one)
            f.at[k] = (wf__place){ .index = whole(g, 0) };
    }
    *out = same ? frame : frame_number(s, g, &f);
    return *out != 0;
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
    at[p[0]] = (wf__place){ .index = plus(g, times(g, at[p[0]].index, n > 1 ? p[3] : 1), whole(g, start)) };
}

/* The places that a view of `in`, at these places, shows. `at` is of the view's shape, then of the value's. */
static void through_view(const splitter *s, group *g, wf__ref r, wf__place *at)
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
    default: /* REPEAT */
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

/* An index made one of the range, and whether it was (0: it is, always). */
static wf__ref clamped(group *g, wf__ref index, int64_t n, wf__ref *inside)
{
    wf__affine a;
    int64_t least, most;
    wf__ir *ir = &g->ir;
    if (wf__as_affine(&g->ir, index, 0, DEPTH, &a) && range_of(g, &a, &least, &most) && least >= 0 && most < n)
        return index;
    wf__ref low = wf__op2(ir, WF__OP_ge, index, whole(g, 0)), high = wf__op2(ir, WF__OP_lt, index, whole(g, n));
    wf__ref both = wf__op2(ir, WF__OP_and, low, high);
    *inside = *inside ? wf__op2(ir, WF__OP_and, *inside, both) : both;
    return wf__op2(ir, WF__OP_max, wf__op2(ir, WF__OP_min, index, whole(g, n - 1)), whole(g, 0));
}

/* The frame at which a view wants its source; operands, in map[], are recorded. Of a GATHER with a value outside,
 * *inside is where that is not wanted (0: everywhere). */
static bool source_frame(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, uint32_t *out,
                         wf__ref *inside)
{
    const wf__node *n = &s->ir->node[r];
    const wf_shape *in = &s->shape[n->a];
    wf__frame f = { .rank = in->rank };
    *out = 0;
    *inside = 0;
    if (n->aux == WF__VIEW_GATHER) {
        for (int k = 0; k < in->rank; ++k) {
            wf__ref index = map[wf__tuple_at(s->ir, n->b)[k]];
            f.at[k].index = n->c ? clamped(g, index, in->dim[k], inside) : index;
        }
    } else {
        places(s, g, r, frame, f.at);
        through_view(s, g, r, f.at);
    }
    if (wf__has_one_point(in))
        return true;
    *out = frame_number(s, g, &f);
    return *out != 0;
}

/* A view without elements, which may be a reshape that no index could be found for: what stands for it is never
 * computed. */
static bool stands_for_nothing(const splitter *s, wf__ref view) { return !wf__has_points(&s->shape[view]); }

static wf__ref nothing_of(wf__ir *ir, unsigned dtype)
{
    unsigned part = wf__part_dtype(dtype);
    wf__ref zero = wf__const_bits(ir, part ? part : dtype, 0);
    return part ? wf__complex(ir, zero, zero) : zero;
}

bool wf__record_view(splitter *s, group *g, wf__ref r, uint32_t frame, const wf__ref *map, wf__ref *out)
{
    const wf__node *n = &s->ir->node[r];
    uint32_t source;
    wf__ref inside;
    if (stands_for_nothing(s, r)) {
        *out = nothing_of(&g->ir, n->dtype);
        return true;
    }
    if (n->c && !wf__has_points(&s->shape[n->a])) {
        *out = map[n->c];
        return true;
    }
    if (!source_frame(s, g, r, frame, map, &source, &inside))
        return false;
    *out = known(s, g, n->a, source);
    if (inside)
        *out = wf__op3(&g->ir, WF__OP_select, inside, *out, map[n->c]);
    return true;
}

/* ---- recording at a frame ---- */
typedef struct task {
    wf__ref node;
    uint32_t frame;
} task;

typedef struct work {
    task *at;
    uint32_t n, cap;
} work;

static bool want(splitter *s, group *g, work *w, wf__ref node, uint32_t frame, bool *ready)
{
    if (known(s, g, node, frame))
        return true;
    *ready = false;
    if (!wf__grow(&w->at, &w->cap, w->n + 1, sizeof *w->at))
        return wf__plan_no_memory(s->plan);
    w->at[w->n++] = (task){ node, frame };
    return true;
}

/* Puts what is missing on the list, or leaves the operands in s->at. */
static bool prepare(splitter *s, group *g, work *w, task t, bool *ready)
{
    const wf__node *n = &s->ir->node[t.node];
    wf__ref operand[WF__MAX_OPERANDS], at[WF__MAX_OPERANDS];
    bool nothing = wf__is_cut(s, t.node);
    uint32_t count = nothing ? 0 : wf__operands(s->ir, n, operand), first = n->op == WF__VIEW, frame;
    *ready = true;
    for (uint32_t i = first; i < count; ++i) {
        if (!operand_frame(s, g, t.node, t.frame, operand[i], &frame) || !want(s, g, w, operand[i], frame, ready))
            return false;
        at[i] = known(s, g, operand[i], frame);
    }
    if (!*ready)
        return true;
    for (uint32_t i = first; i < count; ++i)
        s->at[operand[i]] = at[i];
    wf__ref inside;
    if (n->op != WF__VIEW || nothing || stands_for_nothing(s, t.node) || (n->c && !wf__has_points(&s->shape[n->a])))
        return true;
    return source_frame(s, g, t.node, t.frame, s->at, &frame, &inside) && want(s, g, w, n->a, frame, ready);
}

static bool record_all(splitter *s, group *g, work *w)
{
    while (w->n) {
        task t = w->at[w->n - 1];
        bool ready = true;
        wf__ref value;
        if (known(s, g, t.node, t.frame)) {
            --w->n;
            continue;
        }
        if (!prepare(s, g, w, t, &ready))
            return false;
        if (!ready)
            continue;
        if (!wf__group_record(s, g, t.node, t.frame, s->at, &value))
            return false;
        if (g->ir.status != WF_OK || !value) {
            wf__plan_fail(s->plan, g->ir.status != WF_OK ? g->ir.status : WF_ERR_BACKEND, "%s", g->ir.error);
            return false;
        }
        if (!t.frame)
            g->map[t.node] = value;
        if (!remember(s, g, t.node, t.frame, value))
            return false;
        --w->n;
    }
    return true;
}

bool wf__record_at(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref *out)
{
    work w = { 0 };
    bool ready, ok = true;
    if (!known(s, g, r, frame))
        ok = want(s, g, &w, r, frame, &ready) && record_all(s, g, &w);
    if (ok)
        *out = known(s, g, r, frame);
    wf__free(w.at);
    return ok;
}

/* ---- elements ---- */
/* Strides of memory whose strides are known now; results of reductions lie as their stage's loops want. */
static bool strides_of(const splitter *s, uint32_t object, const wf_shape *shape, int64_t *stride)
{
    if (object < s->plan->objects) {
        memcpy(stride, s->bind[object].stride, sizeof s->bind[object].stride);
        return true;
    }
    for (wf__ref r = 1; r < s->ir->n; ++r)
        if (s->ir->node[r].op == WF__REDUCE && s->home[r] != UINT32_MAX &&
            (s->result[r] == object || (wf__is_complex(s->ir->node[r].dtype) && s->result[r] + 1 == object)))
            return false;
    memcpy(stride, s->plan->temp[object - s->plan->objects].stride, (size_t)shape->rank * sizeof *stride);
    return true;
}

/* Indices of axes that are one in memory become one index, along the innermost. */
static void merge_places(splitter *s, group *g, uint32_t object, const wf_shape *shape, wf__place *at)
{
    int64_t stride[WF_MAX_RANK];
    int last = -1;
    bool lines = false;
    for (int k = 0; k < shape->rank; ++k)
        lines = lines || at[k].line;
    if (!lines || !strides_of(s, object, shape, stride))
        return;
    int64_t extent = 1;
    for (int k = shape->rank - 1; k >= 0; --k) {
        if (shape->dim[k] == 1)
            continue;
        if (last >= 0 && stride[k] == stride[last] * extent && absorb(g, &at[k], &at[last])) {
            at[k] = (wf__place){ .index = whole(g, 0) };
        } else {
            last = k;
            extent = 1;
        }
        extent *= shape->dim[k];
    }
}

static bool view_of(splitter *s, group *g, const wf__place *at, const wf_shape *shape, wf__slot_view *v)
{
    bool ok = !(s->ir->flags & WF_DEBUG); /* which looks at indices */
    for (int k = 0; ok && k < shape->rank; ++k) {
        wf__affine a;
        ok = wf__as_affine(&g->ir, at[k].index, 0, DEPTH, &a);
        v->start[k] = a.start;
        memcpy(v->step[k], a.step, sizeof a.step);
        for (int d = 0; d < WF_MAX_RANK; ++d) /* a step that is never taken */
            if (d >= g->shape.rank || g->shape.dim[d] <= 1)
                v->step[k][d] = 0;
    }
    return ok;
}

/* The slot of such elements of an object; every other one of the group is another. */
static bool view_slot(splitter *s, group *g, uint32_t object, unsigned dtype, int rank, wf__slot_view *v)
{
    for (uint32_t i = 0; i < g->view_n; ++i) {
        const wf__slot_view *have = &g->view[i];
        v->slot = have->slot;
        if (g->ir.slot[have->slot].object == object && !memcmp(have, v, sizeof *v))
            return true;
    }
    v->slot = wf__slot_new(&g->ir, dtype, rank, true, object);
    if (g->ir.status != WF_OK || !wf__grow(&g->view, &g->view_cap, g->view_n + 1, sizeof *g->view))
        return wf__plan_no_memory(s->plan);
    g->view[g->view_n++] = *v;
    return true;
}

/* Is it the point's own place after all? */
static bool at_home(const group *g, const wf_shape *shape, const wf__slot_view *v)
{
    int skip = g->shape.rank - shape->rank;
    for (int k = 0; k < shape->rank; ++k)
        for (int d = 0; d < g->shape.rank; ++d)
            if (v->start[k] || v->step[k][d] != (d == k + skip && shape->dim[k] > 1) ||
                (d == k + skip && shape->dim[k] != g->shape.dim[d] && shape->dim[k] != 1))
                return false;
    return skip >= 0;
}

bool wf__load_at(splitter *s, group *g, uint32_t object, unsigned dtype, const wf_shape *shape, uint32_t frame,
                 wf__ref *out)
{
    wf__place at[WF_MAX_RANK];
    wf__slot_view v;
    uint32_t slot;
    memset(&v, 0, sizeof v);
    memcpy(at, g->frame[frame].at, sizeof at);
    merge_places(s, g, object, shape, at);
    if (view_of(s, g, at, shape, &v)) {
        if (at_home(g, shape, &v)) {
            if (!wf__split_slot(s, g, object, false, dtype, shape->rank, &v.slot))
                return false;
        } else if (!view_slot(s, g, object, dtype, shape->rank, &v))
            return false;
        *out = wf__load(&g->ir, v.slot, 0, WF_BORDER_NONE, 0);
        return true;
    }
    wf__ref refs[WF_MAX_RANK];
    for (int k = 0; k < shape->rank; ++k)
        refs[k] = g->frame[frame].at[k].index;
    if (!wf__split_slot(s, g, object, true, dtype, shape->rank, &slot))
        return false;
    *out = wf__load(&g->ir, slot, wf__tuple(&g->ir, refs, (uint32_t)shape->rank), WF_BORDER_NONE, 0);
    return true;
}
