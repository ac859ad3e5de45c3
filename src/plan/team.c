/* team.c - blocks on GPUs. Where a recording asks for scratch, threads or barriers, each of its blocks becomes a block
 * of threads of one kernel, a "team": what WF_INIT, WF_CALL and WF_DEINIT say is one body, parted by barriers, and
 * scratch is memory that the threads share, if it fits. Where sections have to see what other blocks leave, where
 * points are reduced, or all points are one block, they are stages of their own, as on the processor, with scratch in
 * temporaries.
 */
#include "ir/pass.h"
#include "plan/team.h"

enum { MOST_THREADS = 1024, THREADS = 256, ALIGNED = 16 };
static const size_t most_shared = 48 << 10; /* bytes, on every GPU */

static bool no_memory(wf__plan *plan)
{
    wf__plan_fail(plan, WF_ERR_MEMORY, "out of memory while planning");
    return false;
}

static bool has_op(const wf__ir *ir, unsigned op)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == op)
            return true;
    return false;
}

static bool asks(const wf__ir *ir)
{
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (ir->slot[s].scratch)
            return true;
    return has_op(ir, WF__THREAD) || has_op(ir, WF__BARRIER);
}

bool wf__asks_team(const wf__recording *rec)
{
    return rec->gpu && rec->kind == WF__SPACE && (asks(&rec->init) || asks(&rec->ir) || asks(&rec->deinit));
}

/* ---- one kernel? ---- */
/* Does a section touch memory of an object that another one changes? Each block would see what others have done. */
static bool crosses(const wf__bind *bind, const wf__ir *a, const wf__ir *b)
{
    for (uint32_t s = 0; s < a->slot_n; ++s)
        for (uint32_t t = 0; t < b->slot_n; ++t) {
            const wf__slot *x = &a->slot[s], *y = &b->slot[t];
            if (!x->scratch && !y->scratch && (x->written || y->written) &&
                wf__bind_overlap(&bind[x->object], &bind[y->object]) != WF__APART)
                return true;
        }
    return false;
}

/* Extents of a block of `space`; false: of too many points to count. */
static bool find_box(const wf__recording *rec, const wf_shape *space, wf_shape *box, int64_t *points)
{
    *box = *space;
    *points = 1;
    for (int d = 0; d < space->rank; ++d) {
        int64_t all = space->dim[d] > 0 ? space->dim[d] : 1;
        int64_t n = rec->block.rank ? rec->block.dim[d] : rec->reduce >> d & 1 ? all : 1;
        box->dim[d] = n < all ? n : all;
        if (!wf__mul_i64(*points, box->dim[d], points))
            return false;
    }
    return true;
}

static const char *why_not(const wf__recording *rec, const wf_shape *space, const wf__bind *bind)
{
    bool boxes =
        rec->block.rank || (rec->reduce && rec->reduce != WF_ALL_AXES && rec->reduce != (1u << space->rank) - 1);
    if (!boxes || !space->rank)
        return "all points are one block; give .block, or reduce some axes";
    if (rec->ir.red_n)
        return "there are reduced variables";
    if (crosses(bind, &rec->init, &rec->ir) || crosses(bind, &rec->init, &rec->deinit) ||
        crosses(bind, &rec->ir, &rec->deinit))
        return "an array is written in one section and used in another";
    return NULL;
}

/* ---- stages of their own ---- */
/* A thread alone; barriers between stages come by themselves. */
static bool part_sections(wf__plan *plan, wf__recording *rec, const char *why)
{
    wf__ir *section[] = { &rec->init, &rec->ir, &rec->deinit };
    for (size_t i = 0; i < WF__COUNT(section); ++i)
        for (wf__ref r = 1; r < section[i]->n; ++r) {
            wf__node *n = &section[i]->node[r];
            if (n->op == WF__BARRIER && section[i] == &rec->ir) {
                wf__plan_fail(plan, WF_ERR_UNSUPPORTED, "wf_barrier: not on a GPU where %s", why);
                return false;
            }
            if (n->op == WF__BARRIER)
                *n = (wf__node){ .op = WF__NOP };
            if (n->op == WF__THREAD)
                *n = (wf__node){ .op = WF__CONST, .dtype = WF_I64, .a = n->aux };
        }
    return true;
}

/* ---- scratch ---- */
typedef struct placed {
    uint32_t object, temp; /* of the recording, and what it becomes */
    uint32_t shared;       /* wf__slot.shared */
} placed;

typedef struct scratches {
    placed *at;
    uint32_t n, cap;
} scratches;

static placed *find(const scratches *all, uint32_t object)
{
    for (uint32_t i = 0; i < all->n; ++i)
        if (all->at[i].object == object)
            return &all->at[i];
    return NULL;
}

static bool collect(wf__plan *plan, const wf__ir *ir, scratches *all)
{
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        if (!ir->slot[s].scratch || find(all, ir->slot[s].object))
            continue;
        if (!wf__grow(&all->at, &all->cap, all->n + 1, sizeof *all->at))
            return no_memory(plan);
        all->at[all->n++] = (placed){ .object = ir->slot[s].object };
    }
    return true;
}

static const wf__slot *slot_of(const wf__recording *rec, uint32_t object)
{
    const wf__ir *section[] = { &rec->init, &rec->ir, &rec->deinit };
    for (size_t i = 0; i < WF__COUNT(section); ++i)
        for (uint32_t s = 0; s < section[i]->slot_n; ++s)
            if (section[i]->slot[s].scratch && section[i]->slot[s].object == object)
                return &section[i]->slot[s];
    return NULL;
}

static wf_shape shape_of(const wf__bind *b, int first)
{
    wf_shape shape = { .rank = b->rank - first };
    memcpy(shape.dim, b->dim + first, (size_t)shape.rank * sizeof *shape.dim);
    return shape;
}

/* Places what begins as zeros first, as far as there is room; else nothing is shared. */
static bool share(const wf__recording *rec, const wf__bind *bind, scratches *all, wf__team *team)
{
    size_t at = 0;
    for (int zeroed = 1; zeroed >= 0; --zeroed) {
        for (uint32_t i = 0; i < all->n; ++i) {
            const wf__slot *slot = slot_of(rec, all->at[i].object);
            const wf__bind *b = &bind[all->at[i].object];
            wf_shape own = shape_of(b, slot->scratch - 1);
            int64_t n;
            bool first = slot->zeroed || wf__size(b->dtype) < 4; /* updates read whole words */
            if (first != (zeroed != 0))
                continue;
            if (own.rank == 0 || !wf__shape_count(&own, &n) || (size_t)n > most_shared)
                return false;
            all->at[i].shared = (uint32_t)at + 1;
            at = (at + (size_t)n * wf__size(b->dtype) + ALIGNED - 1) / ALIGNED * ALIGNED;
            if (at > most_shared)
                return false;
        }
        if (zeroed)
            team->zeroed = (uint32_t)at;
    }
    team->shared = (uint32_t)at;
    return true;
}

/* A stage that sets a temp to 0. */
static bool add_zeros(wf__plan *plan, uint32_t temp, unsigned dtype, const wf_shape *shape, uint32_t flags)
{
    wf__stage *stage = wf__plan_add_stage(plan, plan->stage_n);
    if (!stage)
        return false;
    wf__ir *ir = &stage->proto;
    stage->space = *shape;
    wf__ir_init(ir, shape->rank, flags);
    uint32_t to = wf__slot_new(ir, dtype, shape->rank, true, temp);
    unsigned part = wf__is_complex(dtype) ? wf__part_dtype(dtype) : dtype;
    wf__ref zero = ir->status == WF_OK ? wf__const_bits(ir, part, 0) : 0;
    if (zero && part != dtype)
        zero = wf__op2(ir, WF__OP_complex, zero, zero);
    if (zero)
        wf__store(ir, to, 0, zero, 0);
    return ir->status == WF_OK || no_memory(plan);
}

static bool add_temps(wf__plan *plan, const wf__recording *rec, const wf__bind *bind, scratches *all)
{
    for (uint32_t i = 0; i < all->n; ++i) {
        placed *p = &all->at[i];
        const wf__slot *slot = slot_of(rec, p->object);
        const wf__bind *b = &bind[p->object];
        wf_shape shape = shape_of(b, p->shared ? slot->scratch - 1 : 0);
        p->temp = wf__plan_add_temp(plan, b->dtype, &shape);
        if (p->temp == UINT32_MAX)
            return false;
        plan->temp[p->temp - plan->objects].shared = p->shared != 0;
        if (slot->zeroed && !p->shared && !add_zeros(plan, p->temp, b->dtype, &shape, rec->ir.flags))
            return false;
    }
    return true;
}

/* Accesses to shared memory say no more which block's they are. */
static void strip(wf__ir *ir, wf__ref r)
{
    wf__node *n = &ir->node[r];
    const wf__slot *slot = &ir->slot[n->a];
    wf__ref refs[WF__MAX_OPERANDS];
    uint32_t front = slot->scratch - 1u, len = wf__tuple_len(ir, n->b);
    memcpy(refs, wf__tuple_at(ir, n->b) + front, (len - front) * sizeof *refs);
    uint32_t tuple = wf__tuple(ir, refs, len - front);
    ir->node[r].b = tuple;
}

static bool settle(wf__plan *plan, wf__ir *ir, const wf__bind *bind, const scratches *all)
{
    for (wf__ref r = 1; r < ir->n && ir->status == WF_OK; ++r) {
        wf__node *n = &ir->node[r];
        bool memory = n->op == WF__LOAD || n->op == WF__STORE || wf__op_is_update(n->op);
        if ((!memory && n->op != WF__DIM) || !ir->slot[n->a].scratch)
            continue;
        const placed *p = find(all, ir->slot[n->a].object);
        uint64_t dim = n->op == WF__DIM ? (uint64_t)bind[p->object].dim[n->b] : 0;
        if (n->op == WF__DIM)
            *n = (wf__node){ .op = WF__CONST, .dtype = WF_I64, .a = (uint32_t)dim, .b = (uint32_t)(dim >> 32) };
        else if (p->shared)
            strip(ir, r);
    }
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (ir->slot[s].scratch) {
            const placed *p = find(all, ir->slot[s].object);
            ir->slot[s].object = p->temp;
            ir->slot[s].shared = p->shared;
            if (p->shared)
                ir->slot[s].rank = (uint8_t)(ir->slot[s].rank - (ir->slot[s].scratch - 1));
        }
    return ir->status == WF_OK || no_memory(plan);
}

/* NULL, or why the blocks cannot be teams. */
static const char *choose_threads(const wf__recording *rec, const wf_shape *space, wf__team *team, wf_shape *box)
{
    int64_t points;
    bool waits = has_op(&rec->ir, WF__BARRIER), counted = find_box(rec, space, box, &points);
    bool single = counted && points <= (rec->block.rank || waits ? MOST_THREADS : THREADS);
    if (waits && !single)
        return "a block has more than 1024 points";
    *team = (wf__team){ .threads = single ? (int)points : THREADS, .axis = space->rank - 1, .single = single };
    while (team->axis > 0 && box->dim[team->axis] == 1)
        --team->axis;
    return NULL;
}

bool wf__settle_team(wf__plan *plan, wf__recording *rec, const wf_shape *space, const wf__bind *bind, wf__team *team,
                     wf_shape *box)
{
    wf__ir *section[] = { &rec->init, &rec->ir, &rec->deinit };
    scratches all = { 0 };
    bool ok = true;
    const char *why = why_not(rec, space, bind);
    if (!why)
        why = choose_threads(rec, space, team, box);
    for (size_t i = 0; ok && i < WF__COUNT(section); ++i)
        ok = collect(plan, section[i], &all);
    if (ok && team->threads && !share(rec, bind, &all, team)) {
        for (uint32_t i = 0; i < all.n; ++i)
            all.at[i].shared = 0;
        team->shared = team->zeroed = 0;
    }
    ok = ok && (team->threads || part_sections(plan, rec, why)) && add_temps(plan, rec, bind, &all);
    for (size_t i = 0; ok && i < WF__COUNT(section); ++i)
        ok = settle(plan, section[i], bind, &all);
    wf__free(all.at);
    return ok;
}

/* ---- one body ---- */
/* Slots of a section as slots of `out`: by object, and whether elements are meant. */
static bool renumber(wf__ir *section, wf__ir *out)
{
    for (wf__ref r = 1; r < section->n; ++r) {
        wf__node *n = &section->node[r];
        if (n->op != WF__DIM && n->op != WF__LOAD && n->op != WF__STORE && !wf__op_is_update(n->op))
            continue;
        const wf__slot *slot = &section->slot[n->a];
        uint32_t s = 0;
        while (s < out->slot_n && (out->slot[s].object != slot->object || out->slot[s].element != slot->element))
            ++s;
        if (s == out->slot_n) {
            wf__slot_new(out, slot->dtype, slot->rank, slot->element, slot->object);
            if (out->status != WF_OK)
                return false;
            out->slot[s].shared = slot->shared;
            out->slot[s].scratch = slot->scratch;
        }
        n->a = s;
    }
    return true;
}

/* The space of WF_INIT and WF_DEINIT is the blocks; of their points these sections see the first. */
static wf__ref team_node(const wf__ir *in, wf__ref r, const wf_shape *block, const wf__ref *map, wf__ir *out)
{
    const wf__node *n = &in->node[r];
    if (n->op != WF__INDEX || !block->rank)
        return wf__copy_node(in, r, map, out);
    wf__ref size = wf__const_bits(out, WF_I64, (uint64_t)block->dim[n->a]);
    return wf__op2(out, WF__OP_idiv, wf__index(out, (int)n->a), size);
}

static bool append_section(wf__ir *section, const wf_shape *block, wf__ir *out)
{
    wf__ref *map = wf__alloc0(section->n * sizeof *map);
    bool ok = map && renumber(section, out);
    for (wf__ref r = 1; ok && r < section->n && out->status == WF_OK; ++r)
        map[r] = team_node(section, r, block, map, out);
    wf__free(map);
    return ok && out->status == WF_OK;
}

bool wf__join_sections(wf__plan *plan, wf__recording *rec, wf__ir *out)
{
    const wf_shape points = { 0 };
    wf__ir_init(out, rec->ir.rank, rec->ir.flags);
    bool ok = wf__copy_tables(&rec->ir, out) && append_section(&rec->init, &rec->block, out);
    wf__barrier(out, 1);
    ok = ok && append_section(&rec->ir, &points, out);
    wf__barrier(out, 2);
    ok = ok && append_section(&rec->deinit, &rec->block, out) && out->status == WF_OK;
    if (!ok && out->status != WF_OK)
        wf__plan_fail(plan, out->status, "%s", out->error);
    return ok || no_memory(plan);
}
