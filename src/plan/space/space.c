/* space.c - the stages of an index space: the recorded operator, then what follows its reductions.
 *
 * Points may run in any order and several at once, so what a point reads must not be what another one writes. Where
 * memory that is written is read at another element than the point's own (a stencil in place, a view shifted against
 * another), the operator reads a copy made before it instead: every point sees what was there before the launch. Only
 * reads that come after a store of the same operator to that memory read the memory itself: they are the point's own
 * business. What is accumulated into is always read as it was before; atomic operations stand in nobody's way. An
 * output whose elements are other ones of an earlier output's memory is assigned after the operator, from a temporary.
 */
#include "ir/pass/pass.h"
#include "plan/space/block_boxes.h"
#include "plan/space/thread_block.h"

typedef struct late { /* an output that is assigned after the operator */
    uint32_t object, temp;
} late;

typedef struct spacer {
    wf__plan *plan;
    const wf__recording *rec;
    const wf__bind *bind;
    wf_shape space;
    wf_axes reduce;     /* axes of the space */
    wf__team team;      /* blocks on a GPU */
    wf_shape box;       /* of blocks on a processor; rank 0: they are no boxes */
    bool chained;       /* and have memory of their own */
    wf_shape turns[2];  /* axes that loops of WF_SECTION_INIT and of WF_SECTION_DEINIT have become */
    uint32_t copies_at; /* chained: where the next copy of an array goes, before all sections */
    bool keeps;         /* there are kept axes with other than one point */
    late *late;
    uint32_t late_n, late_cap;
} spacer;

/* `all`: the shape of the operands before, or if they meet, with this one. */
static bool misfit(spacer *s, const wf__slot *slot, bool meet, const wf_shape *all)
{
    char called[WF__CALLED], shape[160];
    wf__shape_text(all, shape, sizeof shape);
    return wf__plan_fail_element(s->plan, slot->object, !slot->read, WF_ERR_SHAPE,
                                 meet ? "%s: %s broadcasts with the operands before it to %s, which has too many points"
                                      : "%s: %s does not broadcast with the operands before it, of shape %s",
                                 slot->read ? "wf_in" : "wf_out", wf__bind_called(&s->bind[slot->object], called),
                                 shape);
}

static bool find_space(spacer *s)
{
    s->space = s->rec->space;
    if (s->rec->kind == WF__SPACE)
        return true;
    s->space = (wf_shape){ 0 };
    const wf__ir *ir = &s->rec->ir;
    for (uint32_t k = 0; k < ir->slot_n; ++k) {
        const wf__bind *b = &s->bind[ir->slot[k].object];
        wf_shape shape = { .rank = b->rank };
        memcpy(shape.dim, b->dim, sizeof shape.dim);
        if (!ir->slot[k].element)
            continue;
        int64_t points;
        bool meets = wf__broadcast(&s->space, &shape, &s->space);
        if (!meets || !wf__shape_count(&s->space, &points))
            return misfit(s, &ir->slot[k], meets, &s->space);
    }
    return true;
}

static bool find_axes(spacer *s)
{
    wf_axes all = (1u << s->space.rank) - 1;
    s->reduce = s->rec->reduce == WF_ALL_AXES ? all : s->rec->reduce;
    wf_shape kept = wf__kept_shape(&s->space, s->reduce);
    s->keeps = s->rec->ir.red_n && !wf__has_one_point(&kept);
    if (!(s->reduce & ~all))
        return true;
    char shape[160];
    wf__shape_text(&s->space, shape, sizeof shape);
    wf__plan_fail(s->plan, WF_ERR_ARG,
                  "wf_begin: the axes to reduce (mask 0x%x) are more than those of the operands' shape %s",
                  (unsigned)s->reduce, shape);
    return false;
}

/* Of an object of the recording, or a temp for scratch. */
static wf__bind bind_of(const spacer *s, uint32_t object)
{
    wf__bind b;
    if (object < s->plan->objects)
        return s->bind[object];
    wf__temp_bind(&s->plan->temp[object - s->plan->objects], &b);
    return b;
}

static wf__overlap meeting(const spacer *s, uint32_t a, uint32_t b)
{
    if (a >= s->plan->objects || b >= s->plan->objects)
        return a == b ? WF__SAME : WF__APART;
    return wf__bind_overlap(&s->bind[a], &s->bind[b]);
}

/* Is this access to an array of the space's shape at the point's own element? */
static bool at_own_element(const spacer *s, const wf__ir *ir, const wf__node *n)
{
    if (!n->b)
        return true;
    const wf__bind b = bind_of(s, ir->slot[n->a].object);
    if (b.rank != s->space.rank || memcmp(b.dim, s->space.dim, b.rank * sizeof *b.dim) ||
        (n->op == WF__LOAD && n->aux != WF_BORDER_NONE))
        return false;
    for (uint32_t k = 0; k < b.rank; ++k) {
        const wf__node *index = &ir->node[wf__tuple_at(ir, n->b)[k]];
        if (index->op != WF__INDEX || index->a != k)
            return false;
    }
    return true;
}

/* Must this load read a copy? `ir` is the operator. */
static bool needs_copy(const spacer *s, const wf__ir *ir, wf__ref r)
{
    const wf__node *load = &ir->node[r];
    uint32_t source = ir->slot[load->a].object;
    wf__ref last = wf__turns_end(ir, r); /* a store further down the loop comes before the load of the next turn */
    bool elsewhere = false;
    if (last < r)
        last = r;
    for (wf__ref q = 1; q < ir->n; ++q) {
        const wf__node *store = &ir->node[q];
        bool atomic = store->op == WF__ATOMIC || store->op == WF__CAS;
        if (store->op != WF__STORE && store->op != WF__ACCUM && !atomic)
            continue;
        wf__overlap meet = meeting(s, ir->slot[store->a].object, source);
        if (meet != WF__APART && store->op == WF__ACCUM)
            return true;
        if (meet != WF__APART && q < last)
            return false;
        if (atomic) /* later ones see, and are seen by, what is there at the moment */
            continue;
        bool same = store->b == load->b || (at_own_element(s, ir, store) && at_own_element(s, ir, load));
        elsewhere = elsewhere || meet == WF__PARTIAL || (meet == WF__SAME && !same);
    }
    return elsewhere;
}

/* A stage that copies all elements of one object to another, both laid out like `b`. */
static bool add_copy_stage(spacer *s, const wf__bind *b, uint32_t from, uint32_t to)
{
    bool before = s->chained && to >= s->plan->objects;
    wf__stage *stage = wf__plan_add_stage(s->plan, before ? s->copies_at++ : s->plan->stage_n);
    if (!stage)
        return false;
    wf__ir *ir = &stage->proto;
    stage->space.rank = b->rank;
    memcpy(stage->space.dim, b->dim, sizeof b->dim);
    wf__ir_init(ir, b->rank, s->rec->ir.flags);
    uint32_t source = wf__slot_new(ir, b->dtype, b->rank, true, from);
    uint32_t target = wf__slot_new(ir, b->dtype, b->rank, true, to);
    if (ir->status == WF_OK)
        wf__store(ir, target, 0, wf__load(ir, source, 0, WF_BORDER_NONE, 0), 0);
    return ir->status == WF_OK || wf__plan_no_memory(s->plan);
}

static uint32_t temp_like(spacer *s, const wf__bind *b)
{
    wf_shape shape = { .rank = b->rank };
    memcpy(shape.dim, b->dim, sizeof b->dim);
    return wf__plan_add_temp(s->plan, b->dtype, &shape);
}

/* A new temp, and a stage that copies object `from` into it. UINT32_MAX: failed. */
static uint32_t add_copy(spacer *s, uint32_t from)
{
    const wf__bind b = bind_of(s, from);
    uint32_t to = temp_like(s, &b);
    if (to != UINT32_MAX && from < s->plan->objects)
        s->plan->temp[to - s->plan->objects].copy_of = from + 1;
    return to != UINT32_MAX && add_copy_stage(s, &b, from, to) ? to : UINT32_MAX;
}

static bool copy_ir(spacer *s, const wf__ir *in, int rank, wf__ir *out)
{
    wf__ir_init(out, rank, in->flags);
    wf__ref *map = wf__alloc0(in->n * sizeof *map);
    bool ok = map && wf__copy_tables(in, out);
    for (wf__ref r = 1; ok && r < in->n && out->status == WF_OK; ++r)
        map[r] = wf__copy_node(in, r, map, out);
    wf__free(map);
    if (out->status != WF_OK)
        wf__plan_fail(s->plan, out->status, "%s", out->error);
    return (ok && out->status == WF_OK) || wf__plan_no_memory(s->plan);
}

/* Nothing has a meaning that is accumulated and assigned by one operator. */
static bool accumulates_only(spacer *s, const wf__ir *ir)
{
    for (wf__ref q = 1; q < ir->n; ++q)
        for (wf__ref r = 1; r < ir->n && ir->node[q].op == WF__ACCUM; ++r) {
            if (ir->node[r].op != WF__STORE ||
                meeting(s, ir->slot[ir->node[q].a].object, ir->slot[ir->node[r].a].object) == WF__APART)
                continue;
            const wf__bind b = bind_of(s, ir->slot[ir->node[q].a].object);
            char called[WF__CALLED];
            return wf__plan_fail_at(
                s->plan, WF_SECTION_CALL, ir, q, WF_ERR_CONTRACT,
                "wf_accumulate: %s is accumulated into and written in one index space; use two recordings",
                wf__bind_called(&b, called));
        }
    return true;
}

/* Gives every load that needs one a slot of a copy. */
static bool redirect_loads(spacer *s, wf__ir *ir)
{
    uint32_t slots = ir->slot_n;
    uint32_t *copy_of = wf__alloc0((slots + 1) * sizeof *copy_of), *slot_of = wf__alloc0((slots + 1) * sizeof *slot_of);
    bool ok = copy_of && slot_of;
    for (wf__ref r = 1; ok && r < ir->n; ++r) {
        wf__node *load = &ir->node[r];
        const wf__slot *slot = load->op == WF__LOAD ? &ir->slot[load->a] : NULL;
        bool of_array = slot && (slot->object < s->rec->objects || slot->scratch); /* else: results */
        if (!of_array || ((s->team.threads || s->chained) && slot->scratch) || !needs_copy(s, ir, r))
            continue;
        uint32_t k = load->a, object = ir->slot[k].object;
        for (uint32_t other = 0; other < slots; ++other) /* another slot of the same array may have one already */
            if (ir->slot[other].object == object && copy_of[other])
                copy_of[k] = copy_of[other];
        if (!copy_of[k])
            copy_of[k] = add_copy(s, object) + 1;
        ok = copy_of[k] != 0;
        if (ok && !slot_of[k]) {
            slot_of[k] = wf__slot_new(ir, ir->slot[k].dtype, ir->slot[k].rank, ir->slot[k].element, copy_of[k] - 1) + 1;
            wf__copy_label(ir, wf__array_ref(k), ir, wf__array_ref(slot_of[k] - 1));
        }
        ok = ok && ir->status == WF_OK;
        if (ok)
            load->a = slot_of[k] - 1;
    }
    wf__free(copy_of);
    wf__free(slot_of);
    return ok || wf__plan_no_memory(s->plan);
}

/* ---- outputs that share memory ---- */
/* No element of the one has a byte of the other, though their spans meet: every second element, say. */
static bool interleave(const wf__bind *a, const wf__bind *b)
{
    const wf__bind *of[] = { a, b };
    uint64_t step = 0, size = wf__size(a->dtype);
    if (size != wf__size(b->dtype))
        return false;
    for (int k = 0; k < 2; ++k)
        for (int d = 0; d < of[k]->rank; ++d) {
            uint64_t x = of[k]->stride[d] < 0 ? -(uint64_t)of[k]->stride[d] : (uint64_t)of[k]->stride[d];
            for (x = of[k]->dim[d] > 1 ? x * size : 0; x;) { /* the greatest common divisor */
                uint64_t rest = step % x;
                step = x;
                x = rest;
            }
        }
    uint64_t apart = a->base > b->base ? (uint64_t)(a->base - b->base) : (uint64_t)(b->base - a->base);
    return step && apart % step >= size && step - apart % step >= size;
}

/* Must the assignment q go through a temporary? Else another point's value of an earlier one could stay in its place. */
static bool meets_output(const spacer *s, const wf__ir *ir, wf__ref q)
{
    const wf__node *store = &ir->node[q];
    const wf__bind *b = &s->bind[ir->slot[store->a].object];
    if (store->op != WF__STORE || store->b || store->d)
        return false;
    bool meets = false;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op != WF__LOAD && n->op != WF__STORE)
            continue;
        if (ir->slot[n->a].object >= s->plan->objects)
            continue;
        const wf__bind *other = &s->bind[ir->slot[n->a].object];
        if (r > q && wf__bind_overlap(b, other) != WF__APART)
            return false; /* what comes after it sees it */
        meets = meets || (r < q && n->op == WF__STORE && !n->b && wf__bind_overlap(b, other) == WF__PARTIAL &&
                          !interleave(b, other));
    }
    return meets;
}

/* Gives them slots of temporaries; s->late says what is to be assigned from these, the last one first. */
static bool separate_outputs(spacer *s, wf__ir *ir)
{
    if (ir->red_n || s->rec->deinit.n > 1)
        return true;
    for (wf__ref q = ir->n; q-- > 1;) {
        const wf__node *store = &ir->node[q];
        if (store->op != WF__STORE || ir->slot[store->a].object >= s->plan->objects || !meets_output(s, ir, q))
            continue;
        uint32_t object = ir->slot[store->a].object, temp = temp_like(s, &s->bind[object]);
        if (temp == UINT32_MAX || !wf__grow(&s->late, &s->late_cap, s->late_n + 1, sizeof *s->late))
            return wf__plan_no_memory(s->plan);
        uint32_t slot = wf__slot_new(ir, s->bind[object].dtype, s->bind[object].rank, true, temp);
        if (ir->status != WF_OK)
            return wf__plan_no_memory(s->plan);
        ir->slot[slot].written = true;
        ir->node[q].a = slot;
        s->late[s->late_n++] = (late){ object, temp };
    }
    return true;
}

static bool assign_outputs(spacer *s)
{
    bool ok = true;
    while (ok && s->late_n > 0) {
        const late *l = &s->late[--s->late_n];
        ok = add_copy_stage(s, &s->bind[l->object], l->temp, l->object);
    }
    return ok;
}

/* ---- what follows the reductions ---- */
/* Reduction k: the result in its temp, joined with the initial value. */
static wf__ref result_of(spacer *s, const wf__stage *stage, uint32_t k, wf__ir *out)
{
    const wf__ir *ir = &s->rec->ir;
    unsigned dtype = ir->red[k].dtype;
    wf__ref initial = wf__const_bits(out, dtype, s->rec->initial[k]);
    for (int d = 0; d < s->space.rank; ++d)
        if (s->space.dim[d] == 0)
            return initial;
    uint32_t slot = wf__slot_new(out, dtype, s->space.rank, true, stage->result[k]);
    wf__ref value = out->status == WF_OK ? wf__load(out, slot, 0, WF_BORDER_NONE, 0) : 0;
    if (ir->red[k].join == WF_JOIN_CUSTOM)
        return value; /* it began with the initial value */
    return wf__op2(out, wf__join_op((wf_join)ir->red[k].join), initial, value);
}

static wf__ref section_node(spacer *s, const wf__ir *in, wf_axes reduce, uint32_t number, wf__ref r, const wf__ref *map,
                            wf__ir *out)
{
    const wf__node *n = &in->node[r];
    if (n->op == WF__PARAM && n->a >= s->rec->ir.param_n && s->keeps)
        return result_of(s, &s->plan->stage[number], n->a - s->rec->ir.param_n, out);
    if (n->op == WF__EXTENT && reduce >> n->a & 1) /* the space of this stage has 1 there */
        return wf__const_bits(out, WF_I64, (uint64_t)s->space.dim[n->a]);
    return wf__copy_node(in, r, map, out);
}

/* A stage over the points of the kept axes (what `kept` has); `number`: of the stage whose results WF_SECTION_POST
 * uses. */
static bool add_section(spacer *s, const wf__ir *in, wf_axes reduce, const wf_shape *kept, uint32_t number)
{
    wf__ir ir;
    wf__ir_init(&ir, kept->rank, in->flags);
    wf__ref *map = wf__alloc0(in->n * sizeof *map);
    bool ok = map && wf__copy_tables(in, &ir);
    for (wf__ref r = 1; ok && r < in->n && ir.status == WF_OK; ++r)
        map[r] = section_node(s, in, reduce, number, r, map, &ir);
    wf__free(map);
    ok = ok && ir.status == WF_OK && redirect_loads(s, &ir);
    wf__stage *post = ok ? wf__plan_add_stage(s->plan, s->plan->stage_n) : NULL;
    if (!post) {
        wf__ir_free(&ir);
        return wf__plan_no_memory(s->plan);
    }
    post->proto = ir;
    post->space = *kept;
    post->dropped = reduce;
    return true;
}

static bool add_results(spacer *s, wf__stage *stage)
{
    const wf__ir *ir = &s->rec->ir;
    wf_shape shape = wf__kept_shape(&s->space, s->reduce);
    stage->reduce = s->reduce;
    stage->result = wf__alloc(ir->red_n * sizeof *stage->result);
    for (uint32_t k = 0; stage->result && k < ir->red_n; ++k) {
        stage->result[k] = wf__plan_add_temp(s->plan, ir->red[k].dtype, &shape);
        if (stage->result[k] == UINT32_MAX)
            return false;
    }
    return stage->result || wf__plan_no_memory(s->plan);
}

static bool add_operator(spacer *s)
{
    const wf__recording *rec = s->rec;
    wf__ir ir;
    bool ok = copy_ir(s, &rec->ir, s->space.rank, &ir) && accumulates_only(s, &ir) && redirect_loads(s, &ir) &&
              separate_outputs(s, &ir);
    wf__ir *join = ok && rec->join.n > 1 ? wf__plan_joiner(s->plan, &rec->join) : NULL;
    ok = ok && (join || rec->join.n <= 1);
    wf__stage *stage = ok ? wf__plan_add_stage(s->plan, s->plan->stage_n) : NULL;
    if (!stage) {
        if (join)
            wf__ir_free(join);
        wf__free(join);
        wf__ir_free(&ir);
        return false;
    }
    stage->space = s->space;
    stage->proto = ir;
    stage->proto.joiner = stage->join = join;
    if (!rec->ir.red_n) {
        stage->box = s->box;
        return !s->box.rank || (wf__number_boxes(s->plan, &rec->block, stage) &&
                                (!s->chained || wf__shift_boxes(s->plan, &rec->block, stage)));
    }
    if (s->keeps) {
        if (!add_results(s, stage))
            return false;
    } else {
        stage->initial = wf__alloc(rec->ir.red_n * sizeof *stage->initial);
        if (!stage->initial)
            return wf__plan_no_memory(s->plan);
        memcpy(stage->initial, rec->initial, rec->ir.red_n * sizeof *stage->initial);
    }
    return true;
}

/* The space of what runs once a block. */
static bool find_blocks(spacer *s, wf_axes reduce, wf_shape *out)
{
    const wf_shape *block = &s->rec->block;
    *out = wf__kept_shape(&s->space, reduce);
    if (block->rank && block->rank != s->space.rank) {
        char have[160], want[160];
        wf__shape_text(block, have, sizeof have);
        wf__shape_text(&s->space, want, sizeof want);
        wf__plan_fail(s->plan, WF_ERR_SHAPE, "wf_begin: .block, %s, has %d axes, the operands' shape %s has %d", have,
                      (int)block->rank, want, (int)s->space.rank);
        return false;
    }
    for (int d = 0; d < block->rank; ++d)
        out->dim[d] = s->space.dim[d] / block->dim[d] + (s->space.dim[d] % block->dim[d] != 0);
    return true;
}

/* The space of a section whose loops have become axes. */
static wf_shape with_turns(const wf_shape *blocks, const wf_shape *turns)
{
    wf_shape shape = *blocks;
    for (int k = 0; k < turns->rank; ++k)
        shape.dim[shape.rank++] = turns->dim[k];
    return shape;
}

static bool plan_sections(spacer *s)
{
    const wf__recording *rec = s->rec;
    wf_shape blocks, kept = wf__kept_shape(&s->space, s->reduce);
    wf_axes block = rec->reduce ? s->reduce : (1u << s->space.rank) - 1; /* what a block's points differ in */
    bool begins = rec->init.n > 1, ends = rec->deinit.n > 1;
    if (!find_blocks(s, block, &blocks))
        return false;
    wf_shape before = with_turns(&blocks, &s->turns[0]), after = with_turns(&blocks, &s->turns[1]);
    s->copies_at = s->plan->stage_n;
    if ((begins && !add_section(s, &rec->init, block, &before, 0)) || !add_operator(s))
        return false;
    uint32_t number = s->plan->stage_n - 1;
    if (!assign_outputs(s) || (ends && !add_section(s, &rec->deinit, block, &after, 0)))
        return false;
    if (s->chained)
        wf__chain(s->plan, s->copies_at, begins + 1 + ends, begins, &s->box);
    return !rec->ir.red_n || rec->post.n <= 1 || add_section(s, &rec->post, s->reduce, &kept, number);
}

/* One stage, all sections in its body. */
static bool plan_team(spacer *s, wf__recording *own, const wf_shape *box)
{
    wf__ir *const section[] = { &own->init, &own->ir, &own->deinit };
    wf__ir ir = { 0 };
    bool ok = accumulates_only(s, &own->ir);
    for (size_t i = 0; ok && i < WF__COUNT(section); ++i)
        ok = redirect_loads(s, section[i]);
    ok = ok && wf__join_sections(s->plan, own, &ir);
    wf__stage *stage = ok ? wf__plan_add_stage(s->plan, s->plan->stage_n) : NULL;
    if (!stage) {
        wf__ir_free(&ir);
        return false;
    }
    stage->proto = ir;
    stage->space = s->space;
    stage->team = s->team;
    stage->box = *box;
    return true;
}

/* Does a section read scratch at other elements than it has written? Then it needs a copy of it. */
static bool copies_scratch(const spacer *s, const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__LOAD && ir->slot[ir->node[r].a].scratch && needs_copy(s, ir, r))
            return true;
    return false;
}

static bool find_turns(spacer *s, wf__recording *own)
{
    return !own->cpu || (wf__plan_turns(s->plan, s->bind, &own->init, &s->turns[0]) &&
                         wf__plan_turns(s->plan, s->bind, &own->deinit, &s->turns[1]));
}

/* Blocks on a processor. */
static bool settle_boxes(spacer *s, wf__recording *own, const wf_shape *blocks)
{
    static const size_t most_own = 256 << 10; /* bytes: what a second-level cache holds */
    if (!wf__may_box(own, &s->space, &s->box))
        s->box = (wf_shape){ 0 };
    s->chained = s->box.rank && wf__may_chain(own, s->bind) && !copies_scratch(s, &own->init) &&
                 !copies_scratch(s, &own->ir) && !copies_scratch(s, &own->deinit);
    if (!wf__place_scratch(s->plan, own, blocks, s->bind, s->chained ? most_own : 0, &s->plan->own))
        return false;
    s->chained = s->plan->own.bytes > 0;
    return true;
}

/* The axes in front of scratch that say which block's it is: those of kept points; or one, block by block. */
static bool count_blocks(spacer *s, wf_shape *out)
{
    wf_shape blocks;
    *out = (wf_shape){ 0 };
    if (s->rec->block.rank) {
        *out = (wf_shape){ .rank = 1 };
        if (find_blocks(s, (1u << s->space.rank) - 1, &blocks) && wf__shape_count(&blocks, &out->dim[0]))
            return true;
        char block[160], space[160];
        wf__shape_text(&s->rec->block, block, sizeof block);
        wf__shape_text(&s->space, space, sizeof space);
        wf__plan_fail(s->plan, WF_ERR_SHAPE, "wf_begin: .block, %s, makes too many blocks of %s", block, space);
        return false;
    }
    for (int d = 0; s->rec->reduce && d < s->space.rank; ++d)
        if (!(s->reduce >> d & 1))
            out->dim[out->rank++] = s->space.dim[d];
    return true;
}

/* A recording whose blocks have scratch, sections or (on GPUs) threads. */
static bool plan_blocks(spacer *s)
{
    wf__recording own = *s->rec;
    wf_shape box, blocks;
    const wf__ir *from[] = { &s->rec->init, &s->rec->ir, &s->rec->deinit };
    wf__ir *const to[] = { &own.init, &own.ir, &own.deinit };
    bool ok = count_blocks(s, &blocks);
    for (size_t i = 0; i < WF__COUNT(to); ++i)
        *to[i] = (wf__ir){ 0 };
    for (size_t i = 0; ok && i < WF__COUNT(to); ++i)
        ok = copy_ir(s, from[i], s->space.rank, to[i]);
    if (own.gpu)
        ok = ok && wf__settle_team(s->plan, &own, &s->space, &blocks, s->bind, &s->team, &box);
    else
        ok = ok && find_turns(s, &own) && settle_boxes(s, &own, &blocks);
    s->rec = &own;
    ok = ok && (s->team.threads ? plan_team(s, &own, &box) : plan_sections(s));
    for (size_t i = 0; i < WF__COUNT(to); ++i)
        wf__ir_free(to[i]);
    return ok;
}

static bool has_blocks(const wf__recording *rec)
{
    bool sections = rec->cpu && (rec->block.rank || rec->init.n > 1 || rec->deinit.n > 1);
    return rec->gpu ? wf__asks_team(rec) : sections || wf__has_scratch(rec);
}

bool wf__plan_space(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    spacer s = { .plan = plan, .rec = recording, .bind = bind };
    if (!find_space(&s) || !find_axes(&s))
        return false;
    bool ok = has_blocks(recording) ? plan_blocks(&s) : plan_sections(&s);
    wf__free(s.late);
    return ok;
}
