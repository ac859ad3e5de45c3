/* space.c - adjoints and tangents of operators over an index space.
 *
 * The operator becomes straight code but for the loops that are kept (loops.c), and every read of a wanted array is a value.
 * Reverse mode gives the derivative of the loss with respect to each of these values, from the upstream arrays, the
 * derivatives with respect to what the operator stores. Forward mode gives the derivative of what is stored.
 *
 * A contribution belongs to the element that was read. Where the indices of a read are those of the point, shifted by
 * constants and scaled, they are solved for the point: each element of the array looks up the point that reads it, and
 * computes the contribution there. The adjoint of a stencil is then a stencil. All other contributions are accumulated
 * by index.
 */
#include "ad/space.h"
#include "ad/loops.h"
#include "ad/stores.h"
#include "ad/sweep.h"
#include "ir/analyse/affine.h"
#include "ir/cost.h"
#include "ir/pass/pass.h"
#include "ir/thresholds.h"

enum { DEPTH = 8 }; /* operations of an index that are looked through */

static bool fail(wf__ad_space *s, wf__ref r, const char *why)
{
    wf__ir_fail_at(&s->ir, &s->ir.node[r], WF_ERR_UNSUPPORTED, "%s: %s", s->of->function, why);
    return false;
}

/* ---- seeds: derivatives with respect to what is stored ---- */
typedef struct lists {
    wf__ref *out, *seed, *wrt, *grad; /* one block */
    uint32_t outs, wrts;
} lists;

static bool is_in(const uint32_t *list, uint32_t n, uint32_t x, uint32_t *at)
{
    for (*at = 0; *at < n; ++*at)
        if (list[*at] == x)
            return true;
    return false;
}

/* The indices of the element that an access without indices is to: those of the point, from the last axis on. */
static uint32_t element_tuple(wf__ad_space *s, uint32_t object)
{
    const wf_shape *shape = &s->of->shape[object];
    wf__ref index[WF_MAX_RANK];
    for (int a = 0; a < shape->rank; ++a) {
        int d = a + s->of->space.rank - shape->rank;
        bool one = shape->dim[a] == 1 || d < 0;
        index[a] = one ? wf__const_bits(&s->ir, WF_I64, 0) : wf__index(&s->ir, d);
    }
    return s->ir.status == WF_OK ? wf__tuple(&s->ir, index, (uint32_t)shape->rank) : 0;
}

/* The indices of the element of an access. */
static uint32_t tuple_of(wf__ad_space *s, const wf__node *access)
{
    return access->b ? access->b : element_tuple(s, s->ir.slot[access->a].object);
}

/* Sets *same to where two accesses of a point are to one element; 0 = at all points. Returns false if they are nowhere. */
static bool meet(wf__ad_space *s, const wf__node *first, const wf__node *second, wf__ref *same)
{
    wf__ir *ir = &s->ir;
    const wf__node n = *first, m = *second;
    const uint32_t a = tuple_of(s, &n), b = tuple_of(s, &m);
    *same = 0;
    for (int d = 0; d < s->of->shape[ir->slot[n.a].object].rank && ir->status == WF_OK; ++d) {
        const wf__ref i = wf__tuple_at(ir, a)[d], k = wf__tuple_at(ir, b)[d];
        wf__affine x, y;
        if (i == k)
            continue;
        if (wf__as_affine(ir, i, 0, DEPTH, &x) && wf__as_affine(ir, k, 0, DEPTH, &y) &&
            !memcmp(x.step, y.step, sizeof x.step)) {
            if (x.start != y.start)
                return false;
            continue;
        }
        *same = wf__both(ir, *same, wf__op2(ir, WF__OP_eq, i, k));
    }
    return ir->status == WF_OK;
}

static bool is_in_loop(const wf__ir *ir, wf__ref r)
{
    int depth = 0;
    for (wf__ref before = 1; ir->loops && before < r; ++before)
        depth += (ir->node[before].op == WF__LOOP) - (ir->node[before].op == WF__END);
    return depth > 0;
}

static bool add_seed(wf__ad_space *s, lists *l, wf__ref r, wf__ref end)
{
    wf__ir *ir = &s->ir;
    const wf__node n = ir->node[r];
    uint32_t k;
    if (!is_in(s->of->out, s->of->outs, ir->slot[n.a].object, &k) || !wf__has_adjoint(n.dtype))
        return true;
    if (n.op != WF__STORE && !(n.op == WF__ACCUM && wf__node_join(&n) == WF_JOIN_ADD))
        return fail(s, r, "an accumulation by this join has no derivative");
    if (is_in_loop(ir, r)) /* the sweep takes its seed in each turn */
        return n.op != WF__STORE || wf__check_store(ir, r, 1, end, s->of->function);
    wf__ref when = n.d;
    for (wf__ref later = r + 1; later < end && n.op == WF__STORE; ++later) { /* it may replace what is stored here */
        const wf__node m = ir->node[later];
        wf__ref same;
        if (m.op != WF__STORE || ir->slot[m.a].object != ir->slot[n.a].object || !meet(s, &n, &m, &same))
            continue;
        wf__ref replaced = wf__both(ir, m.d, same);
        if (!replaced)
            return true;
        when = wf__both(ir, when, wf__op1(ir, WF__OP_not, replaced));
    }
    uint32_t slot = wf__slot_new(ir, s->of->seed[k], ir->slot[n.a].rank, !n.b, s->of->objects + k);
    wf__ref seed = wf__load_when(ir, slot, n.b, WF_BORDER_NONE, 0, n.b ? when : 0);
    if (!n.b && when && seed) { /* reads of elements have no condition */
        wf__ref zero = wf__const_f64(ir, wf__dtype(ir, seed), 0);
        seed = wf__op3(ir, WF__OP_select, when, seed, zero);
    }
    if (wf__has_adjoint(wf__dtype(ir, n.c))) {
        l->out[l->outs] = n.c;
        l->seed[l->outs++] = seed ? wf__cast(ir, seed, wf__adjoint_dtype(wf__dtype(ir, n.c))) : 0;
    }
    return ir->status == WF_OK;
}

/* ---- reads ---- */
static void add_read(wf__ad_space *s, lists *l, wf__ref r)
{
    uint32_t k;
    if (is_in(s->of->wrt, s->of->wrts, s->ir.slot[s->ir.node[r].a].object, &k))
        l->wrt[l->wrts++] = r;
}

/* Adds slots for accesses by index to the derivatives of the wanted arrays, or to their directions. first: object of the
 * derivative of the first one. */
static bool add_derivatives(wf__ad_space *s, const uint8_t *dtype, uint32_t first)
{
    s->derivative = wf__alloc0((s->of->objects + s->of->outs + s->of->wrts) * sizeof *s->derivative);
    if (!s->derivative) {
        wf__ir_fail(&s->ir, WF_ERR_MEMORY, "%s: out of memory", s->of->function);
        return false;
    }
    for (uint32_t k = 0; k < s->of->wrts && s->ir.loops; ++k)
        if (s->of->wrt[k] < s->of->objects)
            s->derivative[s->of->wrt[k]] =
                1 + wf__slot_new(&s->ir, dtype[k], s->of->shape[s->of->wrt[k]].rank, false, first + k);
    return s->ir.status == WF_OK;
}

/* Adds slots for the derivatives of outputs that loops change. first: object of that of the first output. */
static bool add_effects(wf__ad_space *s, const uint8_t *dtype, uint32_t first, bool reverse)
{
    wf__ir *ir = &s->ir;
    for (wf__ref r = 1; r < ir->n && ir->status == WF_OK; ++r) {
        const wf__node *n = &ir->node[r];
        uint32_t k;
        if (!wf__op_is_store(n->op) || !is_in(s->of->out, s->of->outs, ir->slot[n->a].object, &k) || !is_in_loop(ir, r))
            continue;
        if (!s->effects)
            s->effects = wf__alloc0((s->of->objects + 2 * (s->of->outs + s->of->wrts)) * sizeof *s->effects);
        if (!s->effects)
            wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", s->of->function);
        else if (!s->effects[s->of->out[k]])
            s->effects[s->of->out[k]] = 1 + wf__slot_new(ir, dtype[k], ir->slot[n->a].rank,
                                                         !n->b && (reverse || n->op == WF__STORE), first + k);
    }
    return ir->status == WF_OK;
}

static wf__ad_task task_of(const wf__ad_space *s, const lists *l)
{
    return (wf__ad_task){ .function = s->of->function,
                          .out = l->out,
                          .wrt = l->wrt,
                          .seed = l->seed,
                          .outs = l->outs,
                          .wrts = l->wrts,
                          .record = s->of->record,
                          .user = s->of->user,
                          .derivative = s->derivative,
                          .effects = s->effects,
                          .stays = true }; /* copies of reads in a loop would be none of `wrt` */
}

/* Returns what it costs to compute a value, without the nodes that are marked as seen, as far as `most`. Marks them. */
static uint32_t cost_of(const wf__ir *ir, wf__ref r, uint8_t *seen, uint32_t most)
{
    wf__ref operand[WF__MAX_OPERANDS];
    if (seen[r])
        return 0;
    seen[r] = 1;
    uint32_t cost = wf__cost_of(&ir->node[r])->recompute;
    for (uint32_t i = 0, count = wf__operands(ir, &ir->node[r], operand); i < count && cost < most; ++i)
        cost += cost_of(ir, operand[i], seen, most - cost);
    if (ir->node[r].op == WF__STATE) { /* all of the loop */
        const wf__ref end = wf__loop_end(ir, ir->node[r].a);
        for (wf__ref q = ir->node[r].a; q < end && cost < most; ++q)
            cost += cost_of(ir, q, seen, most - cost);
    }
    return cost;
}

static void classify(wf__ad_space *s, wf__ad_access *read, wf_border border)
{
    wf__ir *ir = &s->ir;
    const int rank = s->of->shape[read->object].rank;
    bool uniform = true, shifted = rank == s->of->space.rank;
    unsigned used = 0;
    read->kind = WF__READ_ANY;
    for (int a = 0; a < rank && (uniform || shifted); ++a) {
        wf__ref i = wf__tuple_at(ir, read->tuple)[a];
        wf__affine x;
        int along = -1, axes = 0;
        uniform = uniform && ir->node[i].op == WF__CONST;
        if (!wf__as_affine(ir, i, 0, DEPTH, &x)) {
            shifted = false;
            continue;
        }
        for (int d = 0; d < WF_MAX_RANK; ++d)
            if (x.step[d]) {
                along = d;
                ++axes;
            }
        shifted = shifted && axes == 1 && !(used >> along & 1) && (x.step[along] > 0 || x.step[along] == -1);
        if (!shifted)
            continue;
        used |= 1u << along;
        read->axis[a] = (uint8_t)along;
        read->start[a] = x.start;
        read->step[a] = x.step[along];
    }
    if (uniform && (border == WF_BORDER_NONE || border == WF_BORDER_VALUE) && !wf__when(ir, &ir->node[read->node]))
        read->kind = WF__READ_UNIFORM;
    else if (shifted && (border == WF_BORDER_NONE || border == WF_BORDER_VALUE))
        read->kind = WF__READ_SHIFTED;
}

static bool set_read(wf__ad_space *s, wf__ref load, wf__ref grad)
{
    wf__ir *ir = &s->ir;
    const wf__node n = ir->node[load];
    wf__ad_access *read = &s->access[s->access_n++];
    *read = (wf__ad_access){ .node = load, .derivative = grad, .object = ir->slot[n.a].object };
    if (wf__is_const(ir, grad, 0))
        return true;
    wf__ref extent[WF_MAX_RANK];
    const uint32_t given = n.b ? n.b : element_tuple(s, read->object);
    for (int a = 0; a < s->of->shape[read->object].rank; ++a)
        extent[a] = wf__const_bits(ir, WF_I64, (uint64_t)s->of->shape[read->object].dim[a]);
    read->tuple = given;
    if (ir->status != WF_OK)
        return false;
    classify(s, read, n.b ? (wf_border)n.aux : WF_BORDER_NONE);
    uint32_t k;
    if (is_in(s->of->out, s->of->outs, read->object, &k)) /* added to what the stores leave of the upstream array */
        read->kind = WF__READ_ANY;
    if (!wf__elements_read(ir, given, n.b ? (wf_border)n.aux : WF_BORDER_NONE, extent, &read->tuple, &read->inside))
        return false;
    read->inside = wf__both(ir, read->inside, wf__when(ir, &n));
    return ir->status == WF_OK;
}

/* Where looking up the points would cost more than a few times the operator itself, contributions are accumulated.
 * primal: what the operator costs. */
static bool choose(wf__ad_space *s, uint32_t primal)
{
    const uint32_t most = WF__MOST_LOOKED_UP * (primal + 1);
    uint32_t total = 0;
    uint8_t *seen = wf__alloc(s->ir.n);
    if (!seen) {
        wf__ir_fail(&s->ir, WF_ERR_MEMORY, "%s: out of memory", s->of->function);
        return false;
    }
    for (uint32_t i = 0; i < s->access_n && total < most; ++i) {
        if (s->access[i].kind != WF__READ_SHIFTED)
            continue;
        memset(seen, 0, s->ir.n);
        total += cost_of(&s->ir, s->access[i].derivative, seen, most - total);
    }
    wf__free(seen);
    for (uint32_t i = 0; i < s->access_n && total >= most; ++i)
        if (s->access[i].kind == WF__READ_SHIFTED)
            s->access[i].kind = WF__READ_ANY;
    return true;
}

/* ---- reverse mode ---- */
/* True if the access is to the element with the indices of the point, which no other point has. */
static bool is_own_element(wf__ad_space *s, const wf__node *access)
{
    const wf__node n = *access;
    const uint32_t tuple = tuple_of(s, &n);
    if (!wf__same_shape(&s->of->shape[s->ir.slot[n.a].object], &s->of->space))
        return false;
    for (uint32_t d = 0; d < wf__tuple_len(&s->ir, tuple); ++d) {
        const wf__ref at = wf__tuple_at(&s->ir, tuple)[d];
        const wf__node *i = &s->ir.node[at];
        if (!(i->op == WF__INDEX && i->a == d) && !(s->of->space.dim[d] == 1 && wf__is_const(&s->ir, at, 0)))
            return false;
    }
    return s->ir.status == WF_OK;
}

/* True if two accesses of different points are never to one element: along each axis of the space, both have the same
 * index, which grows along this axis alone. */
static bool are_of_point(wf__ad_space *s, const wf__node *one, const wf__node *other)
{
    const wf__ir *ir = &s->ir;
    unsigned along = 0;
    for (uint32_t i = 0; i < wf__tuple_len(ir, one->b) && i < wf__tuple_len(ir, other->b); ++i) {
        const wf__ref at = wf__tuple_at(ir, one->b)[i];
        wf__affine x;
        int axis = -1, axes = 0;
        if (at != wf__tuple_at(ir, other->b)[i] || !wf__as_affine(ir, at, 0, DEPTH, &x))
            continue;
        for (int d = 0; d < WF_MAX_RANK; ++d)
            if (x.step[d]) {
                axis = d;
                ++axes;
            }
        along |= axes == 1 ? 1u << axis : 0;
    }
    for (int d = 0; d < s->of->space.rank; ++d)
        if (s->of->space.dim[d] != 1 && !(along >> d & 1))
            return false;
    return true;
}

/* True if a read gives what its element held before the operator ran. */
static bool sees_before(wf__ad_space *s, wf__ref read)
{
    const wf__node load = s->ir.node[read];
    const uint32_t object = s->ir.slot[load.a].object;
    bool stored = false;
    const wf__ref turns_end = wf__turns_end(&s->ir, read);
    for (uint32_t slot = 0; slot < s->ir.slot_n; ++slot)
        stored = stored || (s->ir.slot[slot].written && s->ir.slot[slot].object == object);
    for (wf__ref r = 1; r < s->ir.n && stored; ++r) {
        const wf__node n = s->ir.node[r];
        int64_t turns;
        if (!wf__op_is_store(n.op) || s->ir.slot[n.a].object != object)
            continue;
        /* hoist.c has made what the loop has stored a variable: the read itself sees what was there before */
        if (wf__is_carried(&s->ir, read, r, 1, &turns) && are_of_point(s, &load, &n))
            continue;
        if (n.op != WF__STORE || r < read || (turns_end && r < turns_end) || !is_own_element(s, &n) ||
            !is_own_element(s, &load))
            return false;
    }
    return true;
}

/* Values must not go through memory: a read sees what was there before the operator ran. */
static bool is_supported(wf__ad_space *s, wf__ref r)
{
    const wf__node at = s->ir.node[r], *n = &at;
    const unsigned op = n->op;
    if (wf__op_is_update(op) && wf__op_has_value(op) && wf__has_adjoint(n->dtype)) {
        wf__ir_fail_at(&s->ir, n, WF_ERR_UNSUPPORTED, "%s: %s has no derivative", s->of->function, wf__function_of(n));
        return false;
    }
    if (op == WF__LOAD && wf__has_adjoint(n->dtype) && !sees_before(s, r)) {
        wf__ir_fail_at(
            &s->ir, n, WF_ERR_UNSUPPORTED,
            "%s: an operator that reads what it also stores has a derivative if each point reads and stores its own "
            "element, and reads it first, or if they do so in a loop: one element, or in each turn another one and what "
            "one of the last %d turns has stored",
            s->of->function, (int)WF__MOST_CARRIED);
        return false;
    }
    if (op == WF__RED || op == WF__SETRED || op == WF__BARRIER || op == WF__THREAD)
        return fail(s, r, "operators with reduced variables, sections or blocks have no derivative");
    return true;
}

static bool find(wf__ad_space *s, lists *l)
{
    wf__ir *ir = &s->ir;
    const uint32_t primal = ir->n, cost = wf__cost_recompute_of_all(ir);
    for (wf__ref r = 1; r < primal; ++r) {
        unsigned op = ir->node[r].op;
        if (!is_supported(s, r))
            return false;
        if (op == WF__LOAD)
            add_read(s, l, r);
        if (wf__op_is_store(op) && !add_seed(s, l, r, primal))
            return false;
    }
    if (!add_derivatives(s, s->of->result, s->of->objects + s->of->outs) ||
        !add_effects(s, s->of->seed, s->of->objects, true))
        return false;
    const wf__ad_task task = task_of(s, l);
    if (!wf__ad_reverse(ir, &task, l->grad))
        return false;
    for (uint32_t i = 0; i < l->wrts; ++i)
        if (!set_read(s, l->wrt[i], l->grad[i]))
            return false;
    return choose(s, cost);
}

/* ---- forward mode ---- */
/* The direction of a read is the read of the direction; where the read gives another value, it is 0. Loops read it. */
static bool add_direction(wf__ad_space *s, lists *l, wf__ref r)
{
    wf__ir *ir = &s->ir;
    const wf__node n = ir->node[r];
    uint32_t k;
    if (!is_in(s->of->wrt, s->of->wrts, ir->slot[n.a].object, &k) || !wf__has_adjoint(n.dtype))
        return true;
    if (n.b && is_in_loop(ir, r)) {
        l->wrt[l->wrts++] = r;
        return true;
    }
    uint32_t slot = wf__slot_new(ir, s->of->seed[k], ir->slot[n.a].rank, !n.b, s->of->objects + k);
    wf_border border = n.b ? (wf_border)n.aux : WF_BORDER_NONE;
    wf__ref other = border == WF_BORDER_VALUE ? wf__const_f64(ir, s->of->seed[k], 0) : 0;
    wf__ref direction = wf__load_when(ir, slot, n.b, border, other, wf__when(ir, &n));
    l->wrt[l->wrts] = r;
    l->seed[l->wrts++] = direction ? wf__cast(ir, direction, wf__adjoint_dtype(n.dtype)) : 0;
    return ir->status == WF_OK;
}

static bool find_tangents(wf__ad_space *s, lists *l)
{
    wf__ir *ir = &s->ir;
    const uint32_t primal = ir->n;
    for (wf__ref r = 1; r < primal; ++r) {
        const wf__node n = ir->node[r];
        uint32_t k;
        if (!is_supported(s, r) || (n.op == WF__LOAD && !add_direction(s, l, r)))
            return false;
        if (!wf__op_is_store(n.op) || !is_in(s->of->out, s->of->outs, ir->slot[n.a].object, &k))
            continue;
        if (n.op != WF__STORE && !(n.op == WF__ACCUM && wf__node_join(&n) == WF_JOIN_ADD))
            return fail(s, r, "an accumulation by this join has no derivative");
        if (is_in_loop(ir, r)) {
            if (n.op == WF__STORE && !wf__check_store(ir, r, 1, primal, s->of->function))
                return false;
            continue;
        }
        l->out[l->outs++] = n.c;
        s->access[s->access_n++] = (wf__ad_access){ .node = r, .object = ir->slot[n.a].object };
    }
    if (!add_derivatives(s, s->of->seed, s->of->objects) ||
        !add_effects(s, s->of->result, s->of->objects + s->of->wrts, false))
        return false;
    const wf__ad_task task = task_of(s, l);
    if (!wf__ad_forward(ir, &task, l->grad))
        return false;
    for (uint32_t i = 0; i < s->access_n; ++i)
        s->access[i].derivative = l->grad[i];
    return true;
}

/* ---- both ---- */
static bool begin(const wf__ad_operator *of, wf__ad_space *s, bool (*find_all)(wf__ad_space *s, lists *l))
{
    lists l = { 0 };
    *s = (wf__ad_space){ .of = of };
    wf__ir_init(&s->ir, of->space.rank, of->ir->flags | WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    if (wf__straighten(of->ir, &s->ir, of->function)) {
        uint32_t n = s->ir.n;
        l.out = wf__alloc0(4 * (size_t)n * sizeof *l.out);
        s->access = wf__alloc0(n * sizeof *s->access);
        if (l.out && s->access) {
            l.seed = l.out + n;
            l.wrt = l.seed + n;
            l.grad = l.wrt + n;
            find_all(s, &l);
        } else
            wf__ir_fail(&s->ir, WF_ERR_MEMORY, "%s: out of memory", of->function);
    }
    wf__free(l.out);
    return s->ir.status == WF_OK;
}

bool wf__ad_space_begin(const wf__ad_operator *of, wf__ad_space *s) { return begin(of, s, find); }
bool wf__ad_tangents_begin(const wf__ad_operator *of, wf__ad_space *s) { return begin(of, s, find_tangents); }

void wf__ad_space_free(wf__ad_space *s)
{
    wf__ir_free(&s->ir);
    wf__free(s->access);
    wf__free(s->derivative);
    wf__free(s->effects);
}
