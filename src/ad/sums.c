/* sums.c - array graphs: accumulations of a block by minimum, maximum or product as sums, which have the same derivatives
 * where the block is:
 *
 *   extremes   the values that are equal to the element afterwards, divided by their number
 *   products   each value times the product of the others
 *
 * The block is recorded again. Copies before find what the values are compared with, or divided by: the elements afterwards,
 * and for extremes the numbers of equal values; for products mantissas, exponents and the number of zeros (factors.c).
 * SCATTERs compute them, each over all turns. A store of the part that the elements from before have comes next, and then
 * the copy with the sums, which the sweeps walk over.
 */
#include "ad/sums.h"
#include "ad/before.h"
#include "ad/copies.h"
#include "ad/stores.h"
#include "ad/sweep.h"

typedef enum phase { FIND, COUNT, DERIVE } phase;

typedef struct target {           /* an array into which the block accumulates by such a join */
    uint32_t slot, object, shape; /* shape: of its elements; an array of rank 0 has one index here */
    wf_join join;
    wf__ref before;      /* the elements from before the block */
    wf__ref all, number; /* extremes: the elements afterwards, and how many values are equal to them */
    wf__factor own, product;
} target;

typedef struct sums {
    wf__sums *of;
    wf__ir *ir;
    wf__ir in; /* the recording as it was: nodes and lists that do not move */
    const wf__region *block;
    wf__ref first, *map;
    target *target;
    uint32_t targets, cap;
} sums;

static bool is_on_way(const wf__ir *ir, const wf__activity *active, const wf__node *n)
{
    return wf__is_join_update(n) && active->array[wf__object_of(ir, n)] == WF__ACTIVE;
}

bool wf__has_join_updates(const wf__ir *ir, wf__ref first, wf__ref end, const wf__activity *active)
{
    for (wf__ref r = first; r < end && ir->arrays; ++r)
        if (is_on_way(ir, active, &ir->node[r]))
            return true;
    return false;
}

/* ---- targets ---- */
static target *target_of(const sums *p, wf__ref r)
{
    const wf__node *n = &p->in.node[r];
    for (uint32_t k = 0; k < p->targets && is_on_way(&p->in, p->of->active, n); ++k)
        if (p->target[k].object == wf__object_of(&p->in, n))
            return &p->target[k];
    return NULL;
}

static wf_shape elements_of(const wf__ir *ir, const target *t)
{
    const wf_shape shape = ir->shape[ir->slot[t->slot].shape];
    return shape.rank ? shape : (wf_shape){ .rank = 1, .dim = { 1 } };
}

/* False, and the ir has failed, if the block uses the array of an accumulation in another way, too. */
static bool is_alone(sums *p, wf__ref r)
{
    const wf__node *n = &p->in.node[r];
    for (wf__ref q = p->first; q < p->in.n; ++q) {
        const wf__node *m = &p->in.node[q];
        if (!wf__op_names_slot(m->op) || m->op == WF__DIM || wf__object_of(&p->in, m) != wf__object_of(&p->in, n) ||
            (m->op == WF__ACCUM && wf__node_join(m) == wf__node_join(n)))
            continue;
        wf__ir_fail_at(
            p->ir, n, WF_ERR_UNSUPPORTED,
            "%s: a block that accumulates by minimum, maximum or product, and uses the array in another way, "
            "too, has no derivative",
            p->of->function);
        return false;
    }
    return true;
}

/* Returns the elements that an array has before the block; 0 = there is no value that has them. */
static wf__ref elements_before(const sums *p, uint32_t object)
{
    const wf__sums *s = p->of;
    const wf__ref contents = wf__contents_before(&p->in, p->block->loop, object);
    for (uint32_t k = s->known_n; k-- > 0 && !contents;)
        if (s->known[k].object == object)
            return wf__writes(&p->in, s->known[k].end + 1, p->block->loop, object) ? 0 : s->known[k].value;
    return contents;
}

static bool add_target(sums *p, wf__ref r)
{
    wf__ir *ir = p->ir;
    const wf__node n = p->in.node[r];
    target t = { .slot = n.a, .object = wf__object_of(&p->in, &n), .join = (wf_join)wf__node_join(&n) };
    const wf__ref contents = elements_before(p, t.object);
    const wf_shape elements = elements_of(ir, &t);
    if (!is_alone(p, r))
        return false;
    if (!contents) {
        wf__ir_fail_at(ir, &n, WF_ERR_UNSUPPORTED,
                       "%s: %s by this join in a block has a derivative if the recording reads the contents before "
                       "the block; say wf_in of the array there",
                       p->of->function, wf__function_of(&n));
        return false;
    }
    if (!wf__grow(&p->target, &p->cap, p->targets + 1, sizeof *p->target)) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", p->of->function);
        return false;
    }
    t.shape = wf__shape_id(ir, &elements);
    t.before = wf__reshaped(ir, wf__cast(ir, contents, wf__adjoint_dtype(n.dtype)), &elements);
    if (t.join == WF_JOIN_MUL)
        t.own = wf__factor_of(ir, t.before);
    p->target[p->targets++] = t;
    return ir->status == WF_OK;
}

/* ---- what stands in place of an accumulation ---- */
typedef struct place { /* the elements, at the points that take part */
    wf__ir *ir;
    uint32_t tuple;
    wf__ref when, value;
} place;

static wf__ref scatter(const place *at, const target *t, wf_join join, wf__ref value, wf__ref when)
{
    return wf__scatter_joined(at->ir, join, value, t->shape, at->tuple, when);
}

static wf__ref read(const place *at, wf__ref elements) { return wf__gather_some(at->ir, elements, at->tuple, true); }

/* Returns the SCATTER of the extremes, or of the mantissas, which those of exponents, zeros, and logarithms of the mantissas
 * follow. */
static wf__ref find(const place *at, const target *t)
{
    if (t->join != WF_JOIN_MUL)
        return scatter(at, t, t->join, at->value, at->when);
    const wf__factor one = wf__factor_of(at->ir, at->value);
    wf__ref logarithm = wf__op1(at->ir, WF__OP_log, wf__op1(at->ir, WF__OP_abs, one.m));
    wf__ref m = scatter(at, t, WF_JOIN_MUL, one.m, at->when);
    scatter(at, t, WF_JOIN_ADD, one.e, at->when);
    scatter(at, t, WF_JOIN_ADD, one.zero, at->when);
    scatter(at, t, WF_JOIN_ADD, logarithm, at->when);
    return m;
}

static wf__ref count(const place *at, const target *t)
{
    wf__ir *ir = at->ir;
    if (t->join == WF_JOIN_MUL)
        return 0;
    wf__ref is = wf__is_result(ir, at->value, read(at, t->all));
    return scatter(at, t, WF_JOIN_ADD, wf__const_f64(ir, wf__dtype(ir, at->value), 1), wf__both(ir, at->when, is));
}

static void derive(const place *at, const target *t)
{
    wf__ir *ir = at->ir;
    const unsigned dtype = wf__update_dtype(ir->slot[t->slot].dtype, WF_JOIN_ADD);
    const wf__ref index = t->shape == ir->slot[t->slot].shape ? at->tuple : 0;
    wf__ref value, when = at->when;
    if (t->join == WF_JOIN_MUL) {
        const wf__factor all = { read(at, t->product.m), read(at, t->product.e), read(at, t->product.zero) };
        value = wf__by_factor(ir, at->value, wf__product_without(ir, all, wf__factor_of(ir, at->value)));
    } else {
        when = wf__both(ir, when, wf__is_result(ir, at->value, read(at, t->all)));
        value = wf__op2(ir, WF__OP_div, at->value, read(at, t->number));
    }
    if (ir->status == WF_OK)
        wf__accum(ir, t->slot, index, WF_JOIN_ADD, WF__MODE_AUTO, wf__cast(ir, value, dtype), when);
}

static void replace(sums *p, wf__ref r, const target *t, phase step)
{
    wf__ir *ir = p->ir;
    const wf__node n = p->in.node[r];
    wf__ref index[WF_MAX_RANK] = { 0 };
    const uint32_t rank = wf__tuple_len(&p->in, n.b);
    for (uint32_t d = 0; d < rank; ++d)
        index[d] = p->map[wf__tuple_at(&p->in, n.b)[d]];
    if (!rank)
        index[0] = wf__const_bits(ir, WF_I64, 0);
    const wf__ref value = wf__cast(ir, p->map[n.c], wf__adjoint_dtype(n.dtype));
    if (ir->status != WF_OK)
        return;
    const place at = { ir, wf__tuple(ir, index, rank ? rank : 1), n.d ? p->map[n.d] : 0, value };
    p->map[r] = 0;
    if (step == DERIVE)
        derive(&at, t);
    else
        p->map[r] = step == FIND ? find(&at, t) : count(&at, t);
}

/* Records the nodes once more. Those before the derivative change no array. */
static void copy(sums *p, phase step)
{
    for (wf__ref r = 0; r < p->in.n; ++r)
        p->map[r] = r;
    for (wf__ref r = p->first; r < p->in.n && p->ir->status == WF_OK; ++r) {
        const target *t = target_of(p, r);
        if (t)
            replace(p, r, t, step);
        else if (step == DERIVE || !wf__op_is_store(p->in.node[r].op))
            wf__copy_as_is(&p->in, r, r + 1, 0, p->map, p->ir);
    }
}

/* ---- the elements ---- */
static void join(sums *p, wf__ref *to, unsigned op, wf__ref value) { *to = wf__op2(p->ir, op, *to, value); }

static void join_found(sums *p)
{
    for (uint32_t k = 0; k < p->targets; ++k) {
        p->target[k].all = p->target[k].before;
        p->target[k].product = p->target[k].own;
    }
    for (wf__ref r = p->first; r < p->in.n && p->ir->status == WF_OK; ++r) {
        target *t = target_of(p, r);
        const wf__ref found = t ? p->map[r] : 0;
        if (t && t->join == WF_JOIN_MUL) {
            join(p, &t->product.m, WF__OP_mul, wf__by_logarithm(p->ir, found, found + 3));
            join(p, &t->product.e, WF__OP_add, found + 1);
            join(p, &t->product.zero, WF__OP_add, found + 2);
        } else if (t)
            join(p, &t->all, wf__join_op(t->join), found);
    }
}

static void join_counted(sums *p)
{
    wf__ir *ir = p->ir;
    for (uint32_t k = 0; k < p->targets; ++k) {
        target *t = &p->target[k];
        if (t->join != WF_JOIN_MUL)
            t->number = wf__cast(ir, wf__is_result(ir, t->before, t->all), wf__dtype(ir, t->before));
    }
    for (wf__ref r = p->first; r < p->in.n && ir->status == WF_OK; ++r) {
        target *t = target_of(p, r);
        if (t && t->join != WF_JOIN_MUL)
            join(p, &t->number, WF__OP_add, p->map[r]);
    }
}

/* Stores the part that the elements from before have: the sweeps find their derivative in the memory of the array. */
static void store_before(sums *p)
{
    wf__ir *ir = p->ir;
    for (uint32_t k = 0; k < p->targets && ir->status == WF_OK; ++k) {
        const target *t = &p->target[k];
        const unsigned dtype = wf__dtype(ir, t->before);
        const wf_shape shape = ir->shape[ir->slot[t->slot].shape], elements = elements_of(ir, t);
        ir->slot[t->slot].last_store = 0;
        wf__ref value = wf__cast(ir, wf__load(ir, t->slot, 0, WF_BORDER_NONE, 0), dtype);
        value = wf__reshaped(ir, value, &elements);
        if (t->join == WF_JOIN_MUL)
            value = wf__by_factor(ir, value, wf__product_without(ir, t->product, t->own));
        else
            value = wf__op3(ir, WF__OP_select, wf__is_result(ir, t->before, t->all),
                            wf__op2(ir, WF__OP_div, value, t->number), wf__const_f64(ir, dtype, 0));
        value = ir->status == WF_OK ? wf__cast(ir, wf__reshaped(ir, value, &shape), ir->slot[t->slot].dtype) : 0;
        if (value)
            wf__store(ir, t->slot, 0, value, 0);
    }
}

/* Notes the elements after the block for the next one. */
static void add_known(sums *p)
{
    wf__ir *ir = p->ir;
    wf__sums *s = p->of;
    for (uint32_t k = 0; k < p->targets && ir->status == WF_OK; ++k) {
        const target *t = &p->target[k];
        wf__ref value = t->all;
        if (!wf__grow(&s->known, &s->known_cap, s->known_n + 1, sizeof *s->known)) {
            wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", s->function);
            return;
        }
        if (t->join == WF_JOIN_MUL)
            value = wf__product_of(ir, t->product);
        s->known[s->known_n].object = t->object;
        s->known[s->known_n].end = p->block->end;
        s->known[s->known_n++].value = value;
    }
}

/* No node that is recorded is an earlier one: the sweeps have passed those by the time they walk over the copy. */
static wf__ref record(sums *p)
{
    wf__ir *ir = p->ir;
    wf__ref first = 0;
    bool ok = true;
    const wf__numbering numbering = wf__stop_numbering(ir);
    for (wf__ref r = p->first; r < p->in.n && ok; ++r)
        if (is_on_way(&p->in, p->of->active, &p->in.node[r]) && !target_of(p, r))
            ok = add_target(p, r);
    if (ok) {
        bool counts = false;
        for (uint32_t k = 0; k < p->targets; ++k)
            counts = counts || p->target[k].join != WF_JOIN_MUL;
        copy(p, FIND);
        join_found(p);
        if (counts)
            copy(p, COUNT);
        join_counted(p);
        add_known(p);
        first = ir->n;
        store_before(p);
        copy(p, DERIVE);
    }
    wf__resume_numbering(ir, numbering);
    return first;
}

wf__ref wf__record_sums(wf__sums *s, wf__ir *ir, const wf__region *block, wf__ref first, wf__ref **map)
{
    sums p = { .of = s, .ir = ir, .block = block, .first = first };
    *map = NULL;
    if (ir->status != WF_OK || !wf__has_join_updates(ir, first, ir->n, s->active))
        return first;
    p.map = wf__alloc(ir->n * sizeof *p.map);
    if (p.map && wf__ir_copy(ir, &p.in)) {
        first = record(&p);
        wf__ir_free_copy(&p.in);
    } else
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", s->function);
    wf__free(p.target);
    if (ir->status == WF_OK)
        *map = p.map;
    else
        wf__free(p.map);
    return first;
}
