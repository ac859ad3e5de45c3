/* expand_scan.c - scans on GPUs, as stages with bodies. They make the same joins in the same order as the processor
 * (run/cpu/scan.c).
 *
 * Along the innermost axis, a first kernel has a thread for each group of eight elements, and joins them. The second has
 * a thread for each part of a row, and computes the carry into each group. The third has a thread for each row, and
 * computes the carry into each part. The last one computes the elements. Along other axes there is a kernel with a
 * thread for each part of a row, one for each row, and one for each part again. Kernels read extents from the arrays, so
 * that code serves any extents. The length of parts alone is a constant in it.
 *
 * The kernels for groups, or for parts, and the last ones may compute the scanned elements instead of loading them, if
 * split/scan.c has found this cheaper. If a single stage uses the result, element by element, the last kernels compute
 * this stage where they would store. They compute each element of the result once, so that this always pays.
 */
#include "ir/cost.h"
#include "plan/passes.h"
#include "plan/scan/inline_point.h"

enum { EIGHT = 8, GROUPS = WF__SCAN_PART / EIGHT };

typedef struct maker {
    wf__plan *plan;
    uint32_t at; /* position of the next stage */
    wf__scan how;
    wf_shape space;
    unsigned acc; /* dtype of joins */
    uint32_t flags;
    uint32_t groups, parts; /* objects of temporaries: the carry into each group of a part; into each part */
    int64_t n, group_n, part, part_n;
    wf__inlined producer; /* computes the elements */
    wf__inlined consumer; /* uses the result */
    bool keeps;           /* the result is stored */
    uint32_t like;        /* an object with the extents of the space; UINT32_MAX = none */
    const wf__bind *bind;
} maker;

static wf__ref number(wf__ir *ir, int64_t x) { return wf__const_bits(ir, WF_I64, (uint64_t)x); }

#define NO_SLOT UINT32_MAX

static wf__ref extent(const maker *m, wf__ir *ir, uint32_t slot)
{
    return slot == NO_SLOT ? number(ir, m->n) : wf__dim(ir, slot, m->how.axis);
}

/* Returns the tuple of the point's indices, with this one along the axis. */
static uint32_t place(const maker *m, wf__ir *ir, wf__ref along)
{
    wf__ref refs[WF_MAX_RANK];
    for (int d = 0; d < m->space.rank; ++d)
        refs[d] = d == m->how.axis ? along : wf__index(ir, d);
    return wf__tuple(ir, refs, (uint32_t)m->space.rank);
}

typedef struct turns { /* i from first to last - 1 */
    wf__ref loop, on, i, acc, last;
} turns;

static turns begin(wf__ir *ir, wf__ref first, wf__ref last, wf__ref start)
{
    turns t = { .last = last };
    wf__ref some = wf__op2(ir, WF__OP_lt, first, last);
    t.loop = wf__loop(ir, false);
    t.on = wf__state(ir, t.loop, some, true);
    t.i = wf__state(ir, t.loop, first, false);
    t.acc = wf__state(ir, t.loop, start, false);
    return t;
}

static void end(wf__ir *ir, const turns *t, wf__ref joined)
{
    wf__ref next = wf__op2(ir, WF__OP_add, t->i, number(ir, 1)), more = wf__op2(ir, WF__OP_lt, next, t->last);
    wf__ref on = wf__op2(ir, WF__OP_and, t->on, more), acc = wf__op3(ir, WF__OP_select, t->on, joined, t->acc);
    wf__next(ir, t->on, on);
    wf__next(ir, t->i, next);
    wf__next(ir, t->acc, acc);
    wf__end(ir, t->loop);
}

static wf__ref joined(const maker *m, wf__ir *ir, wf__ref a, wf__ref b)
{
    return wf__op2(ir, wf__join_op((wf_join)m->how.join), a, b);
}

static uint32_t slot(const maker *m, wf__ir *ir, unsigned dtype, uint32_t object)
{
    return wf__slot_new(ir, dtype, m->space.rank, false, object);
}

/* ---- elements ---- */
/* Adds a slot with the extents of the space. */
static uint32_t extents(const maker *m, wf__ir *ir)
{
    return m->like == UINT32_MAX ? NO_SLOT : slot(m, ir, m->bind[m->like].dtype, m->like);
}

/* Add the scanned array, or the result, to a new kernel, or begin the stage that is inlined in its place. Return a
 * slot with the extents of the space. */
static uint32_t operand(maker *m, wf__ir *ir)
{
    if (!m->producer.on)
        return slot(m, ir, m->how.dtype, m->how.from);
    wf__inline_invariants(&m->producer, ir);
    return extents(m, ir);
}

static uint32_t result(maker *m, wf__ir *ir)
{
    if (m->consumer.on)
        wf__inline_invariants(&m->consumer, ir);
    return m->keeps ? slot(m, ir, m->how.dtype, m->how.to) : extents(m, ir);
}

/* Returns the index of element i of a row along the axis. */
static wf__ref element(const maker *m, wf__ir *ir, uint32_t of, wf__ref i)
{
    if (!m->how.reversed)
        return i;
    wf__ref one = number(ir, 1);
    return wf__op2(ir, WF__OP_sub, wf__op2(ir, WF__OP_sub, extent(m, ir, of), one), i);
}

static wf__ref read(maker *m, wf__ir *ir, uint32_t from, wf__ref i, wf__ref when)
{
    wf__ref at = element(m, ir, from, i);
    wf__ref x = m->producer.on ? wf__inline_point(&m->producer, ir, at, when, 0)
                               : wf__load_when(ir, from, place(m, ir, at), WF_BORDER_NONE, 0, when);
    return wf__cast(ir, x, m->acc);
}

/* Stores element i of the result. The first element of an exclusive sum is +0, though accumulators start at -0. */
static void write(maker *m, wf__ir *ir, uint32_t to, wf__ref i, wf__ref value, wf__ref when)
{
    wf__ref y = wf__cast(ir, value, m->how.dtype), at = element(m, ir, to, i);
    if (m->how.exclusive && m->how.join == WF_JOIN_ADD) {
        wf__ref nothing = wf__const_bits(ir, m->how.dtype, 0);
        y = wf__op3(ir, WF__OP_select, wf__op2(ir, WF__OP_eq, i, number(ir, 0)), nothing, y);
    }
    if (m->keeps)
        wf__store(ir, to, place(m, ir, at), y, when);
    if (m->consumer.on)
        wf__inline_point(&m->consumer, ir, at, when, y);
}

static wf__ir fresh(const maker *m, wf__ref *neutral)
{
    wf__ir ir;
    wf__ir_init(&ir, m->space.rank, m->flags);
    *neutral = wf__const_bits(&ir, m->acc, wf__join_neutral((wf_join)m->how.join, m->acc));
    return ir;
}

/* Adds the next stage, with `along` points along the axis. The stage takes over the ir. */
static bool add(maker *m, wf__ir *ir, int64_t along)
{
    bool good = ir->status == WF_OK;
    wf__stage *stage = good ? wf__plan_add_stage(m->plan, m->at) : NULL;
    if (!good)
        wf__plan_fail_in(m->plan, ir);
    if (!stage) {
        wf__ir_free(ir);
        return false;
    }
    ++m->at;
    stage->recorded = *ir;
    stage->space = m->space;
    stage->space.dim[m->how.axis] = along;
    return true;
}

/* Adds a kernel with a thread for each row, which scans the row element by element. */
static bool add_rows(maker *m)
{
    wf__ref neutral;
    wf__ir ir = fresh(m, &neutral);
    uint32_t from = operand(m, &ir), to = result(m, &ir);
    /* a loop of a short constant length is written out */
    wf__ref n = m->n <= EIGHT ? number(&ir, m->n) : extent(m, &ir, from);
    turns t = begin(&ir, number(&ir, 0), n, neutral);
    wf__ref all = joined(m, &ir, t.acc, read(m, &ir, from, t.i, t.on));
    write(m, &ir, to, t.i, m->how.exclusive ? t.acc : all, t.on);
    end(&ir, &t, all);
    return add(m, &ir, 1);
}

/* Sets p[k] to the join of the first k + 1 of four elements from number 8 g + `at` on. */
static void four(maker *m, wf__ir *ir, uint32_t from, wf__ref g, int at, wf__ref p[4])
{
    wf__ref x[4];
    for (int k = 0; k < 4; ++k) {
        wf__ref offset = number(ir, at + k);
        wf__ref i = wf__op2(ir, WF__OP_add, wf__op2(ir, WF__OP_mul, g, number(ir, EIGHT)), offset);
        x[k] = read(m, ir, from, i, 0);
    }
    p[0] = x[0];
    p[1] = joined(m, ir, p[0], x[1]);
    p[2] = joined(m, ir, p[1], x[2]);
    p[3] = joined(m, ir, p[1], joined(m, ir, x[2], x[3]));
}

static bool add_groups(maker *m)
{
    wf__ref neutral, p[4], q[4];
    wf__ir ir = fresh(m, &neutral);
    uint32_t from = operand(m, &ir), groups = slot(m, &ir, m->acc, m->groups);
    wf__ref g = wf__index(&ir, m->how.axis);
    four(m, &ir, from, g, 0, p);
    four(m, &ir, from, g, 4, q);
    wf__ref all = joined(m, &ir, p[3], q[3]);
    wf__store(&ir, groups, place(m, &ir, g), all, 0);
    return add(m, &ir, m->group_n);
}

/* Replaces each of elements first .. last - 1 by the join of those before it. Returns the join of all. */
static wf__ref before(const maker *m, wf__ir *ir, uint32_t of, wf__ref first, wf__ref last, wf__ref neutral)
{
    turns t = begin(ir, first, last, neutral);
    uint32_t tuple = place(m, ir, t.i);
    wf__ref own = wf__load_when(ir, of, tuple, WF_BORDER_NONE, 0, t.on);
    wf__store(ir, of, tuple, t.acc, t.on);
    end(ir, &t, joined(m, ir, t.acc, own));
    return t.acc;
}

/* Returns the number of groups, which one more slot follows. */
static wf__ref last_group(const maker *m, wf__ir *ir, uint32_t groups)
{
    wf__ref one = number(ir, 1);
    return wf__op2(ir, WF__OP_sub, extent(m, ir, groups), one);
}

/* Adds the kernel that computes the carry into each group of a part, and the join of each part. The slot after the
 * last group holds the carry into the final, incomplete group. */
static bool add_parts(maker *m)
{
    wf__ref neutral;
    wf__ir ir = fresh(m, &neutral);
    uint32_t groups = slot(m, &ir, m->acc, m->groups), parts = slot(m, &ir, m->acc, m->parts);
    wf__ref part = wf__index(&ir, m->how.axis), all = last_group(m, &ir, groups);
    wf__ref first = wf__op2(&ir, WF__OP_mul, part, number(&ir, GROUPS));
    wf__ref last = wf__op2(&ir, WF__OP_min, wf__op2(&ir, WF__OP_add, first, number(&ir, GROUPS)), all);
    wf__ref sum = before(m, &ir, groups, first, last, neutral);
    wf__store(&ir, parts, place(m, &ir, part), sum, 0);
    wf__ref next = wf__op2(&ir, WF__OP_add, part, number(&ir, 1));
    wf__ref is_last = wf__op2(&ir, WF__OP_eq, next, extent(m, &ir, parts));
    wf__store(&ir, groups, place(m, &ir, all), sum, is_last);
    return add(m, &ir, m->part_n);
}

static bool add_row_of_parts(maker *m)
{
    wf__ref neutral;
    wf__ir ir = fresh(m, &neutral);
    uint32_t parts = slot(m, &ir, m->acc, m->parts);
    wf__ref end = extent(m, &ir, parts);
    before(m, &ir, parts, number(&ir, 0), end, neutral);
    return add(m, &ir, 1);
}

/* Returns the carry into the part with group g. */
static wf__ref carry(const maker *m, wf__ir *ir, wf__ref g, wf__ref neutral)
{
    if (m->part_n == 1)
        return neutral;
    wf__ref part = wf__op2(ir, WF__OP_idiv, g, number(ir, GROUPS));
    uint32_t at = place(m, ir, part);
    return wf__load(ir, slot(m, ir, m->acc, m->parts), at, WF_BORDER_NONE, 0);
}

/* Computes four elements of the result from the carry c. */
static void put(maker *m, wf__ir *ir, uint32_t to, wf__ref g, int at, wf__ref c, const wf__ref p[4])
{
    for (int k = 0; k < 4; ++k) {
        wf__ref offset = number(ir, at + k);
        wf__ref i = wf__op2(ir, WF__OP_add, wf__op2(ir, WF__OP_mul, g, number(ir, EIGHT)), offset);
        int last = k - m->how.exclusive;
        write(m, ir, to, i, last < 0 ? c : joined(m, ir, c, p[last]), 0);
    }
}

static bool add_elements(maker *m)
{
    wf__ref neutral, p[4], q[4];
    wf__ir ir = fresh(m, &neutral);
    uint32_t from = operand(m, &ir), to = result(m, &ir);
    uint32_t groups = slot(m, &ir, m->acc, m->groups);
    wf__ref g = wf__index(&ir, m->how.axis);
    four(m, &ir, from, g, 0, p);
    four(m, &ir, from, g, 4, q);
    wf__ref own = wf__load(&ir, groups, place(m, &ir, g), WF_BORDER_NONE, 0);
    wf__ref c = joined(m, &ir, carry(m, &ir, g, neutral), own);
    put(m, &ir, to, g, 0, c, p);
    put(m, &ir, to, g, 4, joined(m, &ir, c, p[3]), q);
    return add(m, &ir, m->group_n);
}

/* Adds the kernel for the elements that fill no group: fewer than eight of each row. */
static bool add_rest(maker *m)
{
    wf__ref neutral;
    wf__ir ir = fresh(m, &neutral);
    uint32_t from = operand(m, &ir), to = result(m, &ir);
    wf__ref sum = neutral, come = neutral, n = extent(m, &ir, from), first = number(&ir, 0);
    if (m->group_n) {
        uint32_t groups = slot(m, &ir, m->acc, m->groups);
        wf__ref g = last_group(m, &ir, groups);
        first = wf__op2(&ir, WF__OP_mul, g, number(&ir, EIGHT));
        sum = wf__load(&ir, groups, place(m, &ir, g), WF_BORDER_NONE, 0);
        come = carry(m, &ir, g, neutral);
    }
    for (int64_t k = 0; k < EIGHT - 1; ++k) {
        wf__ref i = wf__op2(&ir, WF__OP_add, first, number(&ir, k)), on = wf__op2(&ir, WF__OP_lt, i, n);
        wf__ref c = joined(m, &ir, come, sum), x = read(m, &ir, from, i, on);
        write(m, &ir, to, i, m->how.exclusive ? c : joined(m, &ir, c, x), on);
        sum = joined(m, &ir, sum, x);
    }
    return add(m, &ir, 1);
}

static bool add_temp(maker *m, int64_t along, uint32_t *object)
{
    wf_shape shape = m->space;
    shape.dim[m->how.axis] = along;
    *object = wf__plan_add_temp(m->plan, m->acc, &shape);
    return *object != UINT32_MAX;
}

static bool add_temps(maker *m) { return add_temp(m, m->group_n + 1, &m->groups) && add_temp(m, m->part_n, &m->parts); }

/* ---- along other axes ---- */
/* Begins a loop over the elements of the point's part. */
static turns begin_part(const maker *m, wf__ir *ir, uint32_t from, wf__ref neutral)
{
    wf__ref part = number(ir, m->part), first = wf__op2(ir, WF__OP_mul, wf__index(ir, m->how.axis), part);
    wf__ref end = extent(m, ir, from);
    wf__ref last = wf__op2(ir, WF__OP_min, wf__op2(ir, WF__OP_add, first, part), end);
    return begin(ir, first, last, neutral);
}

static bool add_part_sums(maker *m)
{
    wf__ref neutral;
    wf__ir ir = fresh(m, &neutral);
    uint32_t from = operand(m, &ir), parts = slot(m, &ir, m->acc, m->parts);
    turns t = begin_part(m, &ir, from, neutral);
    end(&ir, &t, joined(m, &ir, t.acc, read(m, &ir, from, t.i, t.on)));
    wf__store(&ir, parts, place(m, &ir, wf__index(&ir, m->how.axis)), t.acc, 0);
    return add(m, &ir, m->part_n);
}

static bool add_part_elements(maker *m)
{
    wf__ref neutral;
    wf__ir ir = fresh(m, &neutral);
    uint32_t from = operand(m, &ir), to = result(m, &ir);
    uint32_t parts = slot(m, &ir, m->acc, m->parts);
    wf__ref come = wf__load(&ir, parts, place(m, &ir, wf__index(&ir, m->how.axis)), WF_BORDER_NONE, 0);
    turns t = begin_part(m, &ir, from, neutral);
    wf__ref all = joined(m, &ir, t.acc, read(m, &ir, from, t.i, t.on));
    write(m, &ir, to, t.i, joined(m, &ir, come, m->how.exclusive ? t.acc : all), t.on);
    end(&ir, &t, all);
    return add(m, &ir, m->part_n);
}

static bool add_columns(maker *m)
{
    if (m->part_n == 1)
        return add_rows(m);
    return add_temp(m, m->part_n, &m->parts) && add_part_sums(m) && add_row_of_parts(m) && add_part_elements(m);
}

/* ---- inlined stages ---- */
static bool uses(const wf__stage *stage, uint32_t object)
{
    bool found = stage->scan.on && stage->scan.from == object;
    for (uint32_t s = 0; s < stage->recorded.slot_n; ++s)
        found = found || stage->recorded.slot[s].object == object;
    return found;
}

/* True if stage s, which follows a scan, may be inlined where the scan stores its elements. */
static bool follows(const wf__plan *plan, uint32_t s, const wf__bind *bind)
{
    const wf__stage *scan = &plan->stage[s - 1], *stage = &plan->stage[s];
    const wf__scan *how = &scan->scan;
    /* arrays that the scan's last kernels touch besides the stage's own */
    wf__slot slot[2] = { { .object = how->from, .element = true },
                         { .object = how->to, .element = true, .written = true } };
    wf__stage last = { .recorded = { .slot = slot, .slot_n = 2 }, .space = scan->space };
    return s < plan->stage_n && wf__may_inline(stage, &scan->space, how->to, bind) && uses(stage, how->to) &&
           stage->recorded.slot_n <= WF__SCAN_MOST_SLOTS && stage->recorded.param_n <= WF__SCAN_MOST_PARAMS &&
           wf__cost_recompute_of_all(&stage->recorded) <= WF__SCAN_MOST_OPS &&
           wf__may_change_places(plan, stage, &last, bind) && wf__may_change_places(plan, &last, stage, bind) &&
           (!how->computed || wf__may_change_places(plan, stage, scan, bind));
}

/* True if the object is an array of the recording, or a stage from `from` on uses it. */
static bool is_kept(const wf__plan *plan, uint32_t from, uint32_t object)
{
    bool kept = object < plan->objects;
    for (uint32_t s = from; !kept && s < plan->stage_n; ++s)
        kept = uses(&plan->stage[s], object);
    return kept;
}

static bool has_extents(const maker *m, uint32_t object)
{
    const wf__bind *b = &m->bind[object];
    return b->rank == m->space.rank && b->dim[m->how.axis] == m->n;
}

static uint32_t find_like(const maker *m)
{
    const wf__ir *all[] = { &m->producer.ir, &m->consumer.ir };
    if (m->keeps || !m->producer.on)
        return m->keeps ? m->how.to : m->how.from;
    for (int k = 0; k < 2; ++k)
        for (uint32_t s = 0; s < all[k]->slot_n; ++s)
            if (all[k]->slot[s].object != m->how.to && has_extents(m, all[k]->slot[s].object))
                return all[k]->slot[s].object;
    return UINT32_MAX;
}

static bool inline_stage(maker *m, wf__inlined *inlined, wf__stage *stage)
{
    inlined->object = m->how.to;
    inlined->axis = m->how.axis;
    inlined->space = &m->space;
    inlined->bind = m->bind;
    return wf__inline_stage(m->plan, inlined, stage);
}

static void drop_stage(wf__plan *plan, uint32_t s)
{
    wf__stage *stage = &plan->stage[s];
    wf__ir_free(&stage->recorded);
    wf__free(stage->view);
    memmove(stage, stage + 1, (plan->stage_n - s - 1) * sizeof *stage);
    --plan->stage_n;
}

/* Removes the scan's stage from the plan, and the stages that are inlined. */
static bool begin_scan(maker *m)
{
    wf__plan *plan = m->plan;
    uint32_t s = m->at;
    bool then = follows(plan, s + 1, m->bind);
    m->keeps = !then || is_kept(plan, s + 2, m->how.to);
    wf__plan_because(
        plan, "scan", "the scan of stage %u becomes kernels for %s, which %s its input; the next stage %s%s",
        (unsigned)s, m->part_n > 1 ? "several parts" : "a single part", m->how.computed ? "compute" : "read",
        then ? "is inlined into them" : "stays a stage of its own", m->keeps ? "" : ", and the result is not stored");
    bool ok = (!m->how.computed || inline_stage(m, &m->producer, &plan->stage[s])) &&
              (!then || inline_stage(m, &m->consumer, &plan->stage[s + 1]));
    if (then)
        drop_stage(plan, s + 1);
    drop_stage(plan, s);
    m->like = ok ? find_like(m) : UINT32_MAX;
    if (!m->keeps && (m->producer.on || m->how.from != m->how.to))
        plan->temp[m->how.to - plan->objects].no_storage = true;
    return ok;
}

static bool add_stages(maker *m)
{
    bool inner = true;
    for (int d = m->how.axis + 1; d < m->space.rank; ++d)
        inner = inner && m->space.dim[d] == 1;
    if (!inner)
        return add_columns(m);
    if (m->group_n &&
        !(add_temps(m) && add_groups(m) && add_parts(m) && (m->part_n == 1 || add_row_of_parts(m)) && add_elements(m)))
        return false;
    return (m->group_n && m->group_n * EIGHT == m->n) || add_rest(m);
}

/* Puts stages with bodies in the place of stage s, which scans, and of the next stage, if that is inlined. */
static bool expand_scan(wf__plan *plan, uint32_t s, const wf__bind *bind)
{
    const wf__stage *stage = &plan->stage[s];
    maker m = { .plan = plan, .at = s, .how = stage->scan, .space = stage->space, .bind = bind };
    uint32_t hidden = stage->scan.computed ? 0 : stage->recorded.hidden;
    /* The new kernels need no debug checks, as their indices are in range. They join as the processor does, without
     * fast math. */
    m.flags = stage->recorded.flags & ~(uint32_t)(WF_FLAG_DEBUG | WF_FLAG_TRAP_NAN | WF_FLAG_FAST_MATH);
    m.acc = m.how.dtype == WF_F32 ? WF_F64 : m.how.dtype;
    m.n = m.space.dim[m.how.axis];
    m.group_n = m.n / EIGHT;
    m.part = wf__scan_part(&m.space, m.how.axis);
    m.part_n = m.n ? (m.n - 1) / m.part + 1 : 1;
    bool ok = begin_scan(&m) && add_stages(&m);
    if (ok)
        plan->stage[s].recorded.hidden = hidden + m.producer.ir.hidden + m.consumer.ir.hidden;
    wf__inlined_free(&m.producer);
    wf__inlined_free(&m.consumer);
    return ok;
}

bool wf__pass_scans(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    if (!stage->scan.on)
        return true;
    if (p->plan->target == WF__GPU)
        return expand_scan(p->plan, s, p->all);
    wf__scan_lay(stage, p->all);
    stage->lowered.hidden = stage->recorded.hidden;
    return true;
}
