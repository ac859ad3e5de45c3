/* accumulate.c - chooses, for every accumulation of a stage, how points are kept apart that update the same element.
 *
 *   EXPAND          Private copies of the array, which the run layer joins with it after the stage. Code is a plain
 *                   read-modify-write. Small arrays are spread: neighbouring lanes have elements of their own even within
 *                   a copy, so that an addition does not wait for the one before it. If the index differs from point to
 *                   point, or if the program promises that no points conflict, the array itself is updated in this mode.
 *   DIRECT, LOCAL   Atomic operations. GPUs always use them where points may conflict.
 *
 * The choice depends on shapes and layouts alone, and so does the order in which floats are joined.
 */
#include "plan/kernel/accumulate.h"
#include "ir/cost.h"

/* Alignment of copies in shared memory, in bytes. */
enum { ALIGN = 16 };
/* Bytes of the largest copy: offsets in a copy are 32-bit numbers. */
static const uint64_t most_copy = (uint64_t)1 << 29;

/* True if no two points have the same index: each loop axis is one of the indices, plus a constant. */
static bool differs(const wf__stage *stage, const wf__ir *ir, const wf__node *n)
{
    bool seen[WF_MAX_RANK] = { false };
    for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k) {
        int axis;
        int64_t offset;
        if (wf__as_offset(ir, wf__tuple_at(ir, n->b)[k], &axis, &offset) && axis >= 0)
            seen[axis] = true;
    }
    for (int d = 0; d < ir->rank; ++d)
        if (!seen[d] && stage->extent[d] > 1)
            return false;
    return true;
}

/* The parts of a record: accumulations that differ in a constant last index, so that no two of them touch one
 * element. */
enum { MOST_PARTS = 64 };
typedef struct record {
    wf__ref part[MOST_PARTS];
    uint32_t n;
} record;

static bool in_record(const record *rec, wf__ref r)
{
    for (uint32_t i = 0; i < rec->n; ++i)
        if (rec->part[i] == r)
            return true;
    return false;
}

static bool joins_record(const wf__ir *ir, const record *rec, const wf__node *n)
{
    const wf__node *first = &ir->node[rec->part[0]];
    if (rec->n == MOST_PARTS || n->op != first->op || n->aux != first->aux || n->dtype != first->dtype)
        return false;
    for (uint32_t i = 0; i < rec->n; ++i)
        if (!wf__are_parts(ir, n, &ir->node[rec->part[i]]))
            return false;
    return true;
}

static record record_of(const wf__ir *ir, wf__ref r)
{
    record rec = { .part = { r }, .n = 1 };
    for (wf__ref q = r + 1; q < ir->n; ++q)
        if (joins_record(ir, &rec, &ir->node[q]))
            rec.part[rec.n++] = q;
    return rec;
}

/* What records have in common that may share private memory: a copy of a node, as the planner changes nodes. */
typedef struct kind_of_record {
    wf__node first;
    bool parts; /* of several nodes */
} kind_of_record;

static bool is_of_kind(const wf__ir *ir, const kind_of_record *kind, wf__ref r)
{
    const wf__node *n = &ir->node[r];
    return n->op == WF__ACCUM && n->a == kind->first.a && n->aux == kind->first.aux && n->dtype == kind->first.dtype;
}

/* Records that share private memory. On a processor these are all of a kind. Where sums of floats must have the same
 * bits for any width of vectors it is one record, because the order in which several update an element depends on the
 * width. On a GPU it is one record, too. */
typedef struct family {
    record *record;
    uint32_t n;
} family;

static bool in_family(const wf__ir *ir, const family *all, const kind_of_record *kind, wf__ref r)
{
    if (!is_of_kind(ir, kind, r))
        return false;
    for (uint32_t i = 0; i < all->n; ++i)
        if (in_record(&all->record[i], r))
            return true;
    return false;
}

typedef struct target {
    const wf__bind *bind;
    bool shared;  /* other nodes change the same memory */
    bool foreign; /* some of them are not of the family */
    bool atomic;  /* some of them change it atomically */
    bool repeats;
    uint64_t elements, updates; /* updates: an estimate where they are in loops */
} target;

static target look(const wf__plan *plan, const wf__stage *stage, const wf__ir *ir, const family *all,
                   const kind_of_record *kind, const wf__bind *bind)
{
    const wf__node *n = &ir->node[all->record[0].part[0]];
    target t = { .bind = &bind[ir->slot[n->a].object], .elements = 1, .shared = all->n > 1 };
    for (wf__ref q = 1; q < ir->n; ++q) {
        const wf__node *m = &ir->node[q];
        if (!wf__op_is_store(m->op) || ir->slot[m->a].spread || in_family(ir, all, kind, q))
            continue;
        if (wf__object_overlap(plan, bind, ir->slot[n->a].object, ir->slot[m->a].object) == WF__APART)
            continue;
        t.shared = t.foreign = true;
        t.atomic = t.atomic || m->op != WF__ACCUM;
    }
    t.repeats = wf__bind_repeats(t.bind);
    for (int d = 0; d < t.bind->rank; ++d)
        t.elements *= (uint64_t)t.bind->dim[d];
    uint64_t times = 0;
    for (uint32_t i = 0; i < all->n; ++i)
        times += all->record[i].n * wf__turns_of(ir, all->record[i].part[0]);
    t.updates = 1;
    for (int d = 0; d < ir->rank; ++d)
        t.updates *= (uint64_t)stage->extent[d];
    uint64_t most = UINT64_MAX / WF__COPIED_PER_UPDATE / times;
    t.updates = (t.updates < most ? t.updates : most) * times;
    return t;
}

static unsigned spread_of(const target *t, const wf__ir *ir, const wf__vary *vary, const wf__node *n, bool exact)
{
    wf__kind kind = WF__UNIFORM;
    for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k) {
        const wf__vary *v = &vary[wf__tuple_at(ir, n->b)[k]];
        kind = v->kind > kind ? (wf__kind)v->kind : kind;
    }
    if (kind == WF__AFFINE || (kind == WF__UNIFORM && exact) || wf__is_complex(n->dtype) ||
        t->bind->rank == WF_MAX_RANK)
        return 1;
    uint64_t most = kind == WF__UNIFORM ? WF__SPREAD_UNIFORM_BYTES : WF__SPREAD_BYTES;
    uint64_t bytes = t->elements * wf__size(wf__update_dtype(n->dtype, WF_JOIN_ADD));
    unsigned spread = WF__MOST_SPREAD;
    while (spread > 1 && (bytes * spread > most || t->updates < WF__SPREAD_POINTS * t->elements * spread))
        spread /= 2;
    /* A uniform index is spread over whole vectors, or not at all. */
    return kind == WF__UNIFORM && spread < WF__MOST_SPREAD ? 1 : spread;
}

/* Returns the spread of the copies of a family: 1 if its records would not have the same. */
static unsigned common_spread(const target *t, const wf__ir *ir, const wf__vary *vary, const family *all)
{
    unsigned spread = 0;
    for (uint32_t i = 0; i < all->n; ++i) {
        const wf__node *n = &ir->node[all->record[i].part[0]];
        unsigned own = spread_of(t, ir, vary, n, wf__any_order(n->dtype, wf__node_join(n)));
        if (i && own != spread)
            return 1;
        spread = own;
    }
    return spread;
}

/* Returns the tuple with the index along the lane axis appended. Layout records this index before all other nodes. */
static uint32_t with_lane(wf__ir *ir, uint32_t tuple)
{
    wf__ref refs[WF_MAX_RANK], lane = 1;
    uint32_t n = wf__tuple_len(ir, tuple);
    while (ir->node[lane].op != WF__INDEX || ir->node[lane].a + 1 != (uint32_t)ir->rank)
        ++lane;
    memcpy(refs, wf__tuple_at(ir, tuple), n * sizeof *refs);
    refs[n] = lane;
    return wf__tuple(ir, refs, n + 1);
}

static bool grow_stage(wf__plan *plan, wf__stage *stage, uint32_t slots)
{
    wf__mem_layout *mem = wf__realloc(stage->mem, (slots + 1) * sizeof *mem);
    if (mem)
        stage->mem = mem;
    wf__private *copies = mem ? wf__realloc(stage->copies.at, (stage->copies.n + 1) * sizeof *copies) : NULL;
    if (copies)
        stage->copies.at = copies;
    return copies || wf__plan_no_memory(plan);
}

/* Sets the strides of private memory: C order, except that spread copies of an element lie side by side. With
 * `together`, so do spread copies of the last axis as a whole. */
static void lay_private(const target *t, const wf__private *p, wf__slot *slot, wf__mem_layout *mem)
{
    int rank = t->bind->rank;
    int64_t stride = p->together > 1 ? 1 : p->spread;
    for (int d = rank - 1; d >= 0; --d) {
        mem->stride[d] = stride;
        slot->step[d] = stride == 1 ? WF__STEP_UNIT : WF__STEP_ANY;
        stride *= t->bind->dim[d] > 0 ? t->bind->dim[d] : 1;
        stride *= p->together > 1 && d == rank - 1 ? p->spread : 1;
    }
    if (p->spread > 1) {
        mem->stride[rank] = p->together;
        mem->dim[rank] = p->spread;
        slot->step[rank] = p->together > 1 ? WF__STEP_ANY : WF__STEP_UNIT;
    }
}

/* Gives the records of a family a slot of their own: private memory in the shape of the target. */
static bool add_private(wf__plan *plan, wf__stage *stage, wf__ir *ir, const family *all, const target *t,
                        unsigned spread)
{
    const record *rec = &all->record[0];
    const wf__node *first = &ir->node[rec->part[0]];
    uint32_t old = first->a, slots = ir->slot_n, updates = 0;
    unsigned join = wf__node_join(first), dtype = wf__update_dtype(first->dtype, join);
    bool exact = wf__any_order(first->dtype, join);
    if (!grow_stage(plan, stage, slots))
        return false;
    uint32_t slot = wf__slot_new(ir, dtype, t->bind->rank + (spread > 1), false, ir->slot[old].object);
    if (ir->status != WF_OK)
        return wf__plan_no_memory(plan);
    for (uint32_t i = 0; i < all->n; ++i)
        updates += all->record[i].n;
    int64_t last = rec->n > 1 && ir->slot[old].record ? t->bind->dim[t->bind->rank - 1] : 0;
    ir->slot[slot].record = (uint8_t)(last <= UINT8_MAX ? last : 0);
    wf__private *p = &stage->copies.at[stage->copies.n++];
    *p = (wf__private){ .slot = slot,
                        .target = old,
                        .join = (uint8_t)join,
                        .spread = (uint8_t)spread,
                        .together = spread > 1 && ir->slot[slot].record ? ir->slot[slot].record : 1,
                        .updates = (uint8_t)(updates < UINT8_MAX ? updates : UINT8_MAX),
                        .exact = exact,
                        .elements = t->elements };
    wf__mem_layout *mem = &stage->mem[slot];
    *mem = stage->mem[old];
    lay_private(t, p, &ir->slot[slot], mem);
    bool same = spread == 1 && dtype == ir->slot[old].dtype && t->elements;
    for (int d = 0; d < t->bind->rank; ++d)
        same = same && (t->bind->dim[d] == 1 || t->bind->stride[d] == mem->stride[d]);
    p->direct = same && !t->foreign && !wf__orders_by_shape(ir);
    ir->slot[slot].spread = (uint8_t)spread;
    ir->slot[slot].read = ir->slot[slot].written = true;
    for (uint32_t k = 0; k < all->n; ++k)
        for (uint32_t i = 0; i < all->record[k].n && ir->status == WF_OK; ++i) {
            wf__ref r = all->record[k].part[i];
            uint32_t tuple = spread > 1 ? with_lane(ir, ir->node[r].b) : ir->node[r].b;
            wf__node *n = &ir->node[r];
            n->a = slot;
            n->b = tuple;
            n->dtype = (uint8_t)dtype;
        }
    return ir->status == WF_OK || wf__plan_no_memory(plan);
}

/* ---- on a GPU ---- */
/* True if each thread block may have a copy, in shared memory. Thread blocks that are blocks of the recording have none,
 * because their sections use that memory (ptx/thread_block.c). */
static bool fits_block(const wf__plan *plan, const wf__stage *stage, const wf__ir *ir, const target *t, unsigned dtype)
{
    uint64_t room = WF__SHARED_MEMORY - stage->copies.block_bytes;
    return !t->shared && !t->repeats && !ir->red_n && !plan->per_block.own.bytes && !stage->scan.on &&
           !stage->thread_block.threads && t->elements > 0 && t->elements <= t->updates &&
           t->elements <= room / wf__size(dtype);
}

/* Returns the mode of an accumulation on a GPU. If lanes of a warp often update the same element, joining the lanes
 * first costs less than one atomic operation for each. This is so if all lanes have one index, or if the array is
 * small; if the atomic operation is a loop, also for larger arrays. Atomic operations on integers in shared memory
 * are fast, and blocks do not wait for each other there. So each block has a copy of an array that fits and gets
 * many updates for each element. */
static unsigned on_gpu(const target *t, const wf__ir *ir, const wf__vary *vary, const wf__node *n, unsigned asked,
                       bool fits)
{
    unsigned join = wf__node_join(n);
    bool whole = wf__is_int(n->dtype) && wf__size(n->dtype) >= 4;
    bool slow = whole ? join == WF_JOIN_MUL : join != WF_JOIN_ADD || (n->dtype != WF_F32 && n->dtype != WF_F64);
    bool same = true, fast = ir->slot[n->a].shared && whole && !slow;
    for (uint32_t k = 0; k < wf__tuple_len(ir, n->b); ++k)
        same = same && vary[wf__tuple_at(ir, n->b)[k]].kind == WF__UNIFORM;
    if (asked == WF__MODE_EXPAND)
        return fits ? WF__MODE_EXPAND : WF__MODE_DIRECT;
    if (asked != WF__MODE_AUTO)
        return asked;
    if (fits && !same && !slow && wf__size(n->dtype) >= 4 && t->updates / WF__GPU_UPDATES_OF_COPY >= t->elements)
        return WF__MODE_EXPAND;
    bool often = same || (!fast && t->elements <= (slow ? WF__GPU_FEW_SLOW_TARGETS : WF__GPU_FEW_TARGETS));
    return often ? WF__MODE_LOCAL : WF__MODE_DIRECT;
}

/* Gives each thread block a copy in shared memory. Blocks join their copies with the array by atomic operations
 * (ptx/private.c). Threads of a block may update the same element of a copy. Updates of floats and of 64 bits are
 * loops of compare-and-swap, so that lanes are joined first if the copy is small. */
static bool copy_in_block(wf__plan *plan, wf__stage *stage, wf__ir *ir, const family *all, const target *t)
{
    const record *rec = &all->record[0];
    if (!add_private(plan, stage, ir, all, t, 1))
        return false;
    wf__slot *slot = &ir->slot[ir->slot_n - 1];
    slot->shared = stage->copies.block_bytes + 1;
    stage->copies.block_bytes += (uint32_t)(t->elements * wf__size(slot->dtype) + ALIGN - 1) / ALIGN * ALIGN;
    bool fast = wf__is_int(slot->dtype) && wf__size(slot->dtype) == 4;
    unsigned mode = fast || t->elements > WF__GPU_FEW_TARGETS ? WF__MODE_DIRECT : WF__MODE_LOCAL;
    for (uint32_t i = 0; i < rec->n; ++i) {
        wf__node *n = &ir->node[rec->part[i]];
        n->aux = (uint8_t)(wf__node_join(n) | mode << 4);
    }
    return true;
}

static const char *why_mode(const wf__plan *plan, const wf__ir *ir, const wf__node *n, const target *t, unsigned mode,
                            bool apart, uint64_t limit)
{
    uint64_t bytes = t->elements * wf__size(n->dtype);
    unsigned asked = wf__node_mode(n);
    if (apart)
        return ir->slot[n->a].shared ? "only one worker uses this memory" : "no two points update the same element";
    if (asked != WF__MODE_AUTO && asked == mode)
        return "the recording chooses this mode";
    if (plan->target == WF__GPU)
        return asked == WF__MODE_EXPAND
                   ? "shared memory has no room for copies, or belongs to the blocks of the recording"
               : mode == WF__MODE_EXPAND ? "shared memory has room for copies, and each copy gets many updates"
               : mode == WF__MODE_LOCAL
                   ? "lanes of a warp often update the same element"
                   : "lanes of a warp seldom update the same element, or the atomic operation is fast";
    if (t->atomic)
        return "other operations on this memory are atomic";
    if (t->repeats)
        return "several elements of the array share memory";
    if (plan->per_block.own.bytes)
        return "stages that run per block have no copies";
    if (mode == WF__MODE_EXPAND)
        return "there are enough updates to make up for joining so many elements";
    return bytes > limit || bytes > most_copy ? "private copies would take too much memory"
                                              : "there are too few updates to make up for joining so many elements";
}

static void explain_mode(wf__plan *plan, const wf__stage *stage, const wf__ir *ir, const wf__node *n, const target *t,
                         unsigned mode, bool apart, uint64_t limit)
{
    wf__plan_explain(plan, "accumulate", "%llu updates of slot %u of stage %u (%llu elements) run as %s, because %s",
                     (unsigned long long)t->updates, (unsigned)n->a, wf__stage_number(plan, stage),
                     (unsigned long long)t->elements,
                     apart                     ? "plain code on the array itself"
                     : mode == WF__MODE_EXPAND ? "plain code on private copies"
                     : mode == WF__MODE_LOCAL  ? "atomic operations, after lanes with the same element are joined"
                                               : "atomic operations",
                     why_mode(plan, ir, n, t, mode, apart, limit));
}

/* True if copies cost no more than the updates, or if the order of joins has to be the same for any number of threads. */
static bool is_worth_copies(const wf__ir *ir, const target *t, uint64_t bytes)
{
    return WF__COPIED_PER_UPDATE * t->updates >= t->elements ||
           (wf__orders_by_shape(ir) && bytes <= WF__REPRODUCED_BYTES);
}

static bool resolve(wf__plan *plan, wf__stage *stage, wf__ir *ir, const family *all, const kind_of_record *kind,
                    const wf__vary *vary, const wf__bind *bind)
{
    const wf__node *n = &ir->node[all->record[0].part[0]];
    const target t = look(plan, stage, ir, all, kind, bind);
    unsigned mode = wf__node_mode(n), join = wf__node_join(n);
    uint64_t bytes = t.elements * wf__size(n->dtype);
    uint64_t limit = stage->copies.most_bytes / 2;
    bool fits = plan->target == WF__GPU && fits_block(plan, stage, ir, &t, wf__update_dtype(n->dtype, join));
    bool apart = !t.shared && !t.repeats && (mode == WF__MODE_NO_CONFLICT || differs(stage, ir, n));
    mode = mode == WF__MODE_NO_CONFLICT ? WF__MODE_AUTO : mode;
    /* On a processor, one worker runs the points of a block one by one. */
    apart = apart || (ir->slot[n->a].shared && plan->target != WF__GPU && !t.atomic);
    bool no_copies = plan->per_block.own.bytes && stage->partition.one_box_per_block;
    if (apart)
        mode = WF__MODE_EXPAND;
    else if (plan->target == WF__GPU)
        mode = on_gpu(&t, ir, vary, n, mode, fits);
    else if (t.atomic || t.repeats || no_copies)
        mode = mode == WF__MODE_LOCAL ? mode : WF__MODE_DIRECT;
    else if (mode == WF__MODE_AUTO)
        mode = is_worth_copies(ir, &t, bytes) ? WF__MODE_EXPAND : WF__MODE_DIRECT;
    if (!apart && mode == WF__MODE_EXPAND && bytes > (limit < most_copy ? limit : most_copy))
        mode = WF__MODE_DIRECT;
    if (plan->why)
        explain_mode(plan, stage, ir, n, &t, mode, apart, limit);
    for (uint32_t k = 0; k < all->n; ++k)
        for (uint32_t i = 0; i < all->record[k].n; ++i)
            ir->node[all->record[k].part[i]].aux = (uint8_t)(join | mode << 4);
    stage->promises.updates = stage->promises.updates || mode != WF__MODE_EXPAND;
    if (mode != WF__MODE_EXPAND || apart)
        return true;
    if (plan->target == WF__GPU)
        return copy_in_block(plan, stage, ir, all, &t);
    return add_private(plan, stage, ir, all, &t, common_spread(&t, ir, vary, all));
}

/* True if all records of a kind may share private memory. */
static bool may_share(const wf__plan *plan, const wf__ir *ir, const wf__node *n, const wf__bind *bind)
{
    const wf__bind *b = &bind[ir->slot[n->a].object];
    uint64_t bytes = wf__size(n->dtype);
    for (int d = 0; d < b->rank; ++d)
        bytes *= (uint64_t)b->dim[d];
    return plan->target != WF__GPU && (wf__any_order(n->dtype, wf__node_join(n)) || bytes > WF__REPRODUCED_BYTES);
}

/* Resolves the accumulation r, and with it later ones of its kind that share its memory. Marks them in `done`. */
static bool resolve_family(wf__plan *plan, wf__stage *stage, wf__ir *ir, wf__ref r, bool *done, const wf__vary *vary,
                           const wf__bind *bind)
{
    const record first = record_of(ir, r);
    const kind_of_record kind = { ir->node[r], first.n > 1 && ir->slot[ir->node[r].a].record };
    family all = { NULL, 0 };
    bool shares = may_share(plan, ir, &kind.first, bind);
    uint32_t most = 0, n = ir->n;
    for (wf__ref q = r; q < n; ++q)
        most += !done[q] && is_of_kind(ir, &kind, q);
    all.record = wf__alloc(most * sizeof *all.record);
    if (!all.record)
        return wf__plan_no_memory(plan);
    for (wf__ref q = r; q < n; ++q) {
        if (done[q] || !is_of_kind(ir, &kind, q) || (q > r && !shares))
            continue;
        const record rec = q > r ? record_of(ir, q) : first;
        if ((rec.n > 1 && ir->slot[kind.first.a].record) != kind.parts)
            continue;
        all.record[all.n++] = rec;
        for (uint32_t i = 0; i < rec.n; ++i)
            done[rec.part[i]] = true;
    }
    bool ok = resolve(plan, stage, ir, &all, &kind, vary, bind);
    wf__free(all.record);
    return ok;
}

/* Sets the number of copies. If the order of joins matters, each copy belongs to a range of boxes, or to one (partition.c). */
static void choose_groups(wf__stage *stage, const wf__ir *ir)
{
    uint64_t bytes = 1, largest = 0, elements = 1, points = 1, updates = 1;
    bool exact = true;
    for (uint32_t i = 0; i < stage->copies.n; ++i) {
        const wf__private *p = &stage->copies.at[i];
        exact = exact && p->exact;
        uint64_t array = p->elements * wf__size(ir->slot[p->target].dtype);
        largest = array > largest && !p->exact ? array : largest;
        bytes += wf__copy_bytes(p, ir->slot[p->slot].dtype);
        elements = p->elements * p->spread > elements ? p->elements * p->spread : elements;
        updates = p->updates > updates ? p->updates : updates;
    }
    for (int d = 0; d < ir->rank; ++d)
        points *= (uint64_t)stage->extent[d];
    stage->copies.groups = 0;
    stage->copies.per = exact ? WF__PER_WORKER : WF__PER_RANGE;
    if (exact || largest > WF__REPRODUCED_BYTES)
        return;
    const uint64_t upper = wf__orders_by_shape(ir) ? WF__MOST_COPIES_OF_BOXES : WF__MOST_COPIES;
    uint64_t n = WF__COPIES_BYTES / bytes, most = wf__copies_worth(points * updates, elements);
    n = n < WF__FEW_COPIES ? WF__FEW_COPIES : n > upper ? upper : n;
    n = n > stage->copies.most_bytes / bytes ? stage->copies.most_bytes / bytes : n;
    uint64_t busy = points * updates / elements / WF__UPDATES_OF_COPY;
    busy = busy < WF__LEAST_COPIES ? WF__LEAST_COPIES : busy;
    most = busy < most ? busy : most;
    n = n < most ? n : most;
    stage->copies.groups = (uint32_t)(n < 1 ? 1 : n);
}

/* Makes all accumulations atomic, except those that the program promises to be without conflicts. Debug mode checks
 * this promise, and observes the array itself. */
static void update_directly(wf__stage *stage, wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__ACCUM && wf__node_mode(&ir->node[r]) != WF__MODE_NO_CONFLICT)
            ir->node[r].aux = (uint8_t)(wf__node_join(&ir->node[r]) | WF__MODE_DIRECT << 4);
    stage->promises.updates = true;
}

bool wf__plan_accumulate(wf__plan *plan, wf__stage *stage, wf__ir *ir, const wf__bind *bind)
{
    bool any = false, ok = true;
    stage->copies.most_bytes = wf__expand_bytes(plan->recorded);
    for (wf__ref r = 1; r < ir->n; ++r) {
        any = any || ir->node[r].op == WF__ACCUM;
        stage->promises.updates =
            stage->promises.updates || (wf__op_is_update(ir->node[r].op) && wf__op_has_value(ir->node[r].op));
    }
    if (any && ir->flags & WF_FLAG_DEBUG) {
        wf__plan_because(plan, "accumulate",
                         "stage %u updates the array itself, because debug mode checks accesses to this array",
                         wf__stage_number(plan, stage));
        update_directly(stage, ir);
    }
    if (!any || ir->flags & WF_FLAG_DEBUG)
        return true;
    wf__vary *vary = wf__alloc(ir->n * sizeof *vary);
    bool *done = wf__alloc0(ir->n);
    if (!vary || !done) {
        wf__free(vary);
        wf__free(done);
        return wf__plan_no_memory(plan);
    }
    wf__analyse(ir, vary);
    uint32_t n = ir->n;
    for (wf__ref r = 1; r < n && ok; ++r)
        if (ir->node[r].op == WF__ACCUM && !done[r])
            ok = resolve_family(plan, stage, ir, r, done, vary, bind);
    wf__free(done);
    wf__free(vary);
    if (ok)
        choose_groups(stage, ir);
    if (ok && stage->copies.n && plan->target != WF__GPU)
        wf__plan_because(plan, "accumulate", "stage %u has a private copy for each %s", wf__stage_number(plan, stage),
                         stage->copies.per == WF__PER_WORKER ? "worker, because joins give the same bits in any order"
                         : stage->copies.groups
                             ? "range of boxes, because the order of joins must not depend on threads"
                             : "range of boxes, one per thread, because the array is large");
    return ok;
}
