/* scratch.c - places scratch (wf_scratch), the memory of blocks. If a worker runs a block alone, or if a block's
 * threads share memory, scratch lies there, one array after the other. Otherwise temporaries hold the scratch of all
 * blocks, and their first indices select the block. */
#include "plan/space/scratch.h"

enum { ALIGNED = 64 };

static bool has_scratch(const wf__ir *ir)
{
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (ir->slot[s].scratch)
            return true;
    return false;
}

bool wf__has_scratch(const wf__recording *rec)
{
    return has_scratch(&rec->init) || has_scratch(&rec->ir) || has_scratch(&rec->deinit);
}

typedef struct placed {
    uint32_t object, temp; /* object of the recording, and of the temporary that replaces it */
    uint32_t shared;       /* wf__slot.shared */
    const wf__slot *slot;  /* the first slot of the object */
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
            return wf__plan_no_memory(plan);
        all->at[all->n++] = (placed){ .object = ir->slot[s].object, .slot = &ir->slot[s] };
    }
    return true;
}

/* Returns the shape of a scratch array: the axes of `front`, then those of one block's scratch. */
static wf_shape shape_of(const wf__bind *b, const wf__slot *slot, const wf_shape *front)
{
    int first = slot->scratch - 1;
    wf_shape shape = *front;
    for (int d = first; d < b->rank; ++d)
        shape.dim[shape.rank++] = b->dim[d];
    return shape;
}

/* Places all scratch in `most` bytes of block memory, with arrays that begin as zeros first. Returns false if there
 * is not enough room. */
static bool share(const wf__bind *bind, scratches *all, size_t most, wf__own_memory *own)
{
    const wf_shape nothing = { 0 };
    size_t at = 0;
    for (int zeroed = 1; zeroed >= 0; --zeroed) {
        for (uint32_t i = 0; i < all->n; ++i) {
            const wf__slot *slot = all->at[i].slot;
            const wf__bind *b = &bind[all->at[i].object];
            wf_shape shape = shape_of(b, slot, &nothing);
            int64_t n;
            bool first = slot->zeroed || wf__size(b->dtype) < 4; /* small elements are updated in whole words */
            if (first != (zeroed != 0))
                continue;
            if (shape.rank == 0 || !wf__shape_count(&shape, &n) || n == 0 || (size_t)n > most)
                return false;
            all->at[i].shared = (uint32_t)at + 1;
            at = (at + (size_t)n * wf__size(b->dtype) + ALIGNED - 1) / ALIGNED * ALIGNED;
            if (at > most)
                return false;
        }
        if (zeroed)
            own->zeroed = (uint32_t)at;
    }
    own->bytes = (uint32_t)at;
    return true;
}

/* Adds a stage that sets a temporary to 0. */
static bool add_zeros(wf__plan *plan, uint32_t temp, unsigned dtype, const wf_shape *shape, uint32_t flags)
{
    wf__stage *stage = wf__plan_add_stage(plan, plan->stage_n);
    if (!stage)
        return false;
    wf__ir *ir = &stage->recorded;
    stage->space = *shape;
    wf__ir_init(ir, shape->rank, flags);
    uint32_t to = wf__slot_new(ir, dtype, shape->rank, true, temp);
    unsigned part = wf__is_complex(dtype) ? wf__part_dtype(dtype) : dtype;
    wf__ref zero = ir->status == WF_OK ? wf__const_bits(ir, part, 0) : 0;
    if (zero && part != dtype)
        zero = wf__op2(ir, WF__OP_complex, zero, zero);
    if (zero)
        wf__store(ir, to, 0, zero, 0);
    return ir->status == WF_OK || wf__plan_no_memory(plan);
}

static bool add_temps(wf__plan *plan, const wf__recording *rec, const wf__bind *bind, const wf_shape *blocks,
                      scratches *all)
{
    const wf_shape nothing = { 0 };
    for (uint32_t i = 0; i < all->n; ++i) {
        placed *p = &all->at[i];
        const wf__slot *slot = p->slot;
        const wf__bind *b = &bind[p->object];
        wf_shape shape = shape_of(b, slot, p->shared ? &nothing : blocks);
        p->temp = wf__plan_add_temp(plan, b->dtype, &shape);
        if (p->temp == UINT32_MAX)
            return false;
        plan->temp[p->temp - plan->objects].no_storage = p->shared != 0;
        wf__plan_because(plan, "scratch", "scratch t%u is %s", (unsigned)(p->temp - plan->objects),
                         p->shared ? "memory of one block, which is reused for the next block"
                                   : "an array with the memory of all blocks");
        if (slot->zeroed && !p->shared && !add_zeros(plan, p->temp, b->dtype, &shape, rec->ir.flags))
            return false;
    }
    return true;
}

/* Drops the indices that select the block from an access to block memory. */
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

/* Makes the accesses of a section to scratch accesses to its temporaries, and extents of scratch constants. */
static bool replace_scratch(wf__plan *plan, wf__ir *ir, const wf__bind *bind, const scratches *all)
{
    for (wf__ref r = 1; r < ir->n && ir->status == WF_OK; ++r) {
        wf__node *n = &ir->node[r];
        if (!wf__op_names_slot(n->op) || !ir->slot[n->a].scratch)
            continue;
        const placed *p = find(all, ir->slot[n->a].object);
        WF__ASSERT(p);
        uint64_t dim = n->op == WF__DIM ? (uint64_t)bind[p->object].dim[n->b] : 0;
        if (n->op == WF__DIM)
            *n = (wf__node){ .op = WF__CONST, .dtype = WF_I64, .a = (uint32_t)dim, .b = (uint32_t)(dim >> 32) };
        else if (p->shared)
            strip(ir, r);
    }
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (ir->slot[s].scratch) {
            const placed *p = find(all, ir->slot[s].object);
            WF__ASSERT(p);
            ir->slot[s].object = p->temp;
            ir->slot[s].shared = p->shared;
            if (p->shared)
                ir->slot[s].rank = (uint8_t)(ir->slot[s].rank - (ir->slot[s].scratch - 1));
        }
    return ir->status == WF_OK || wf__plan_no_memory(plan);
}

bool wf__place_scratch(wf__plan *plan, wf__recording *rec, const wf_shape *blocks, const wf__bind *bind, size_t most,
                       wf__own_memory *own)
{
    wf__ir *section[] = { &rec->init, &rec->ir, &rec->deinit };
    scratches all = { 0 };
    bool ok = true;
    *own = (wf__own_memory){ 0 };
    for (size_t i = 0; ok && i < WF__COUNT(section); ++i)
        ok = collect(plan, section[i], &all);
    if (ok && !share(bind, &all, most, own)) {
        for (uint32_t i = 0; i < all.n; ++i)
            all.at[i].shared = 0;
        *own = (wf__own_memory){ 0 };
    }
    ok = ok && add_temps(plan, rec, bind, blocks, &all);
    for (size_t i = 0; ok && i < WF__COUNT(section); ++i)
        ok = replace_scratch(plan, section[i], bind, &all);
    wf__free(all.at);
    return ok;
}
