/* space.c - the stages of an index space: the recorded operator, then what follows its reductions.
 *
 * Points may run in any order and at the same time, so no point may read what another one writes. If memory that is
 * written is read at other elements than the point's own, as by a stencil in place or by a shifted view, the operator
 * reads a copy that is made before it. So every point sees the contents from before the launch. A read after a store of
 * the same operator to this memory reads the memory itself, because the program orders the two. Arrays that are
 * accumulated into are always read as they were before. Atomic operations need no copy. An output that overlaps an
 * earlier output at other elements is assigned after the operator, from a temporary.
 */
#include "ir/pass/pass.h"
#include "plan/passes.h"
#include "plan/space/block_boxes.h"
#include "plan/space/thread_block.h"

typedef struct late { /* an output that is assigned after the operator */
    uint32_t object, temp;
} late;

typedef struct spacer {
    wf__plan *plan;
    const wf__recording *rec; /* the recording that is split: the user's, or `own` */
    wf__recording own;        /* with blocks, a copy with sections that passes change */
    bool has_blocks;          /* blocks have scratch, sections or (on GPUs) threads */
    wf_shape blocks;          /* the axes in front of scratch, if has_blocks */
    wf_shape thread_box;      /* extents of a block, on a GPU */
    const wf__bind *bind;
    wf_shape space;
    wf__memory_order memory;       /* the plan, the arrays and the space */
    wf_axes reduce;                /* reduced axes of the space */
    wf__thread_block thread_block; /* thread blocks, on a GPU */
    wf_shape box;                  /* extents of a block, on a processor; rank 0 = blocks are no boxes */
    bool per_block;                /* sections run per block */
    wf_shape turns[2];             /* axes that loops of WF_SECTION_INIT and of WF_SECTION_DEINIT have become */
    uint32_t copies_at; /* the stage before which the next copy of an array goes, if sections run per block */
    bool keeps;         /* there are kept axes with other than one point */
    late *late;
    uint32_t late_n, late_cap;
} spacer;

/* Sets the error of an operand that does not broadcast with those before it (meet = false), or makes too many points
 * with them. all: the shape of the operands before it, or of all. */
static bool misfit(spacer *s, const wf__slot *slot, bool meet, const wf_shape *all)
{
    char called[WF__CALLED], shape[160];
    wf_shape_text(all, shape, sizeof shape);
    return wf__plan_fail_element(s->plan, slot->object, !slot->read, WF_ERR_SHAPE,
                                 meet ? "%s: %s broadcasts with the operands before it to %s, which has too many points"
                                      : "%s: %s does not broadcast with the operands before it, of shape %s",
                                 slot->read ? "wf_in" : "wf_out", wf__bind_called(&s->bind[slot->object], called),
                                 shape);
}

static bool find_space(spacer *s)
{
    s->space = s->rec->space;
    if (s->rec->options.kind == WF__SPACE)
        return true;
    s->space = (wf_shape){ 0 };
    const wf__ir *ir = &s->rec->ir;
    for (uint32_t k = 0; k < ir->slot_n; ++k) {
        const wf__bind *b = &s->bind[ir->slot[k].object];
        if (!ir->slot[k].element)
            continue;
        const wf_shape shape = wf__bind_shape(b);
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
    s->reduce = s->rec->options.reduce == WF_ALL_AXES ? all : s->rec->options.reduce;
    wf_shape kept = wf__kept_shape(&s->space, s->reduce);
    s->keeps = s->rec->ir.red_n && !wf__has_one_point(&kept);
    if (!(s->reduce & ~all))
        return true;
    char shape[160];
    wf_shape_text(&s->space, shape, sizeof shape);
    wf__plan_fail(s->plan, WF_ERR_ARG,
                  "wf_begin: the axes to reduce (mask 0x%x) are more than those of the operands' shape %s",
                  (unsigned)s->reduce, shape);
    return false;
}

/* Returns the memory of an object of the recording, or of a temporary for scratch. */
static wf__bind bind_of(const spacer *s, uint32_t object)
{
    wf__bind b;
    if (object < s->plan->objects)
        return s->bind[object];
    wf__temp_bind(&s->plan->temp[object - s->plan->objects], &b);
    return b;
}

/* Adds a stage that copies all elements of one object to another. Both have the shape and dtype of `b`. */
static bool add_copy_stage(spacer *s, const wf__bind *b, uint32_t from, uint32_t to)
{
    bool before = s->per_block && to >= s->plan->objects;
    wf__stage *stage = wf__plan_add_stage(s->plan, before ? s->copies_at++ : s->plan->stage_n);
    if (!stage)
        return false;
    wf__ir *ir = &stage->recorded;
    stage->space = wf__bind_shape(b);
    wf__ir_init(ir, b->rank, s->rec->ir.flags);
    uint32_t source = wf__slot_new(ir, b->dtype, b->rank, true, from);
    uint32_t target = wf__slot_new(ir, b->dtype, b->rank, true, to);
    if (ir->status == WF_OK)
        wf__store(ir, target, 0, wf__load(ir, source, 0, WF_BORDER_NONE, 0), 0);
    return ir->status == WF_OK || wf__plan_no_memory(s->plan);
}

static uint32_t temp_like(spacer *s, const wf__bind *b)
{
    const wf_shape shape = wf__bind_shape(b);
    return wf__plan_add_temp(s->plan, b->dtype, &shape);
}

/* Adds a temporary, and a stage that copies object `from` into it. Returns the temporary; UINT32_MAX = failure. */
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
    return wf__rewrite(&(wf__rewriter){ .in = in, .out = out }) || wf__plan_fail_in(s->plan, out);
}

/* True if the operator assigns no array that it accumulates into. The order of the two would have no meaning. */
static bool accumulates_only(spacer *s, const wf__ir *ir)
{
    for (wf__ref q = 1; q < ir->n; ++q)
        for (wf__ref r = 1; r < ir->n && ir->node[q].op == WF__ACCUM; ++r) {
            if (ir->node[r].op != WF__STORE || wf__object_overlap(s->plan, s->bind, ir->slot[ir->node[q].a].object,
                                                                  ir->slot[ir->node[r].a].object) == WF__APART)
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

/* Notes that the result may depend on the order of points. */
static void explain_race(spacer *s, const wf__ir *ir, wf__ref r)
{
    char name[WF__OBJECT_NAME];
    if (s->plan->why && wf__reads_what_points_write(&s->memory, ir, r))
        wf__plan_because(s->plan, "hazards",
                         "%%%u reads elements of %s that this stage writes before: those of other points may not be "
                         "written yet; if the operator needs them, it needs a second recording",
                         (unsigned)r, wf__plan_object_name(s->plan, s->bind, ir->slot[ir->node[r].a].object, name));
}

/* Makes every load that needs a copy read a slot of the copy. */
static bool redirect_loads(spacer *s, wf__ir *ir)
{
    uint32_t slots = ir->slot_n;
    uint32_t *copy_of = wf__alloc0((slots + 1) * sizeof *copy_of), *slot_of = wf__alloc0((slots + 1) * sizeof *slot_of);
    bool ok = copy_of && slot_of;
    for (wf__ref r = 1; ok && r < ir->n; ++r) {
        wf__node *load = &ir->node[r];
        const wf__slot *slot = load->op == WF__LOAD ? &ir->slot[load->a] : NULL;
        /* Temporaries other than scratch are results. */
        bool of_array = slot && (slot->object < s->rec->options.objects || slot->scratch);
        if (!of_array || ((s->thread_block.threads || s->per_block) && slot->scratch) ||
            !wf__reads_other_points(&s->memory, ir, r)) {
            if (of_array && !slot->scratch)
                explain_race(s, ir, r);
            continue;
        }
        uint32_t k = load->a, object = ir->slot[k].object;
        for (uint32_t other = 0; other < slots; ++other) /* another slot of the same array may have a copy already */
            if (ir->slot[other].object == object && copy_of[other])
                copy_of[k] = copy_of[other];
        char name[WF__OBJECT_NAME];
        wf__plan_because(s->plan, "hazards",
                         "%%%u reads a copy of %s, because points write elements that other points read", (unsigned)r,
                         wf__plan_object_name(s->plan, s->bind, object, name));
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
/* Makes outputs that overwrite elements of earlier ones stores to temporaries, and notes in s->late, last output
 * first, the arrays to assign from these. */
static bool separate_outputs(spacer *s, wf__ir *ir)
{
    if (ir->red_n || s->rec->deinit.n > 1)
        return true;
    for (wf__ref q = ir->n; q-- > 1;) {
        const wf__node *store = &ir->node[q];
        if (store->op != WF__STORE || ir->slot[store->a].object >= s->plan->objects ||
            !wf__overwrites_output(&s->memory, ir, q))
            continue;
        uint32_t object = ir->slot[store->a].object, temp = temp_like(s, &s->bind[object]);
        char name[WF__OBJECT_NAME];
        wf__plan_because(s->plan, "hazards",
                         "%s is assigned after the operator, because it shares memory with an earlier output",
                         wf__plan_object_name(s->plan, s->bind, object, name));
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
/* Returns the result of reduction k from its temporary, joined with the initial value. */
static wf__ref result_of(spacer *s, const wf__stage *stage, uint32_t k, wf__ir *out)
{
    const wf__ir *ir = &s->rec->ir;
    unsigned dtype = ir->red[k].dtype;
    wf__ref initial = wf__const_bits(out, dtype, s->rec->initial[k]);
    for (int d = 0; d < s->space.rank; ++d)
        if (s->space.dim[d] == 0)
            return initial;
    uint32_t slot = wf__slot_new(out, dtype, s->space.rank, true, stage->reduce.result[k]);
    wf__ref value = out->status == WF_OK ? wf__load(out, slot, 0, WF_BORDER_NONE, 0) : 0;
    if (ir->red[k].join == WF_JOIN_CUSTOM)
        return value; /* the reduction began with the initial value */
    return wf__op2(out, wf__join_op((wf_join)ir->red[k].join), initial, value);
}

typedef struct section_of {
    spacer *s;
    wf_axes reduce;  /* axes along which the section has one point */
    uint32_t number; /* the stage whose results WF_SECTION_POST uses */
} section_of;

static wf__ref section_node(wf__rewriter *w, wf__ref r)
{
    const section_of *of = w->user;
    spacer *s = of->s;
    const wf__node *n = &w->in->node[r];
    if (n->op == WF__PARAM && n->a >= s->rec->ir.param_n && s->keeps)
        return result_of(s, &s->plan->stage[of->number], n->a - s->rec->ir.param_n, w->out);
    if (n->op == WF__EXTENT && of->reduce >> n->a & 1) /* the stage's own space has extent 1 along the axis */
        return wf__const_bits(w->out, WF_I64, (uint64_t)s->space.dim[n->a]);
    return wf__copy_node(w->in, r, w->map, w->out);
}

/* Adds a stage for a section, over the space `kept`. number: the stage whose results WF_SECTION_POST uses. */
static bool add_section(spacer *s, const wf__ir *in, wf_axes reduce, const wf_shape *kept, uint32_t number)
{
    wf__ir ir;
    wf__ir_init(&ir, kept->rank, in->flags);
    section_of of = { .s = s, .reduce = reduce, .number = number };
    bool ok = wf__rewrite(&(wf__rewriter){ .in = in, .out = &ir, .visit = section_node, .user = &of }) &&
              redirect_loads(s, &ir);
    wf__stage *post = ok ? wf__plan_add_stage(s->plan, s->plan->stage_n) : NULL;
    if (!post) {
        wf__ir_free(&ir);
        return wf__plan_no_memory(s->plan);
    }
    post->recorded = ir;
    post->space = *kept;
    post->dropped = reduce;
    return true;
}

static bool add_results(spacer *s, wf__stage *stage)
{
    const wf__ir *ir = &s->rec->ir;
    wf_shape shape = wf__kept_shape(&s->space, s->reduce);
    stage->reduce.axes = s->reduce;
    stage->reduce.result = wf__alloc(ir->red_n * sizeof *stage->reduce.result);
    for (uint32_t k = 0; stage->reduce.result && k < ir->red_n; ++k) {
        stage->reduce.result[k] = wf__plan_add_temp(s->plan, ir->red[k].dtype, &shape);
        if (stage->reduce.result[k] == UINT32_MAX)
            return false;
    }
    return stage->reduce.result || wf__plan_no_memory(s->plan);
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
    stage->recorded = ir;
    stage->recorded.joiner = stage->join = join;
    if (!rec->ir.red_n) {
        stage->partition.block = s->box;
        return !s->box.rank || (wf__number_boxes(s->plan, &rec->block, stage) &&
                                (!s->per_block || wf__shift_boxes(s->plan, &rec->block, stage)));
    }
    if (s->keeps) {
        if (!add_results(s, stage))
            return false;
    } else {
        stage->reduce.initial = wf__alloc(rec->ir.red_n * sizeof *stage->reduce.initial);
        if (!stage->reduce.initial)
            return wf__plan_no_memory(s->plan);
        memcpy(stage->reduce.initial, rec->initial, rec->ir.red_n * sizeof *stage->reduce.initial);
    }
    return true;
}

/* Sets the space of sections that run once for each block. */
static bool find_blocks(spacer *s, wf_axes reduce, wf_shape *out)
{
    const wf_shape *block = &s->rec->block;
    *out = wf__kept_shape(&s->space, reduce);
    if (block->rank && block->rank != s->space.rank) {
        char have[160], want[160];
        wf_shape_text(block, have, sizeof have);
        wf_shape_text(&s->space, want, sizeof want);
        wf__plan_fail(s->plan, WF_ERR_SHAPE, "wf_begin: .block, %s, has %d axes, the operands' shape %s has %d", have,
                      (int)block->rank, want, (int)s->space.rank);
        return false;
    }
    for (int d = 0; d < block->rank; ++d)
        out->dim[d] = s->space.dim[d] / block->dim[d] + (s->space.dim[d] % block->dim[d] != 0);
    return true;
}

/* Returns the space of a section whose loops have become axes. */
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
    /* Axes along which the points of a block differ. */
    wf_axes block = rec->options.reduce ? s->reduce : (1u << s->space.rank) - 1;
    bool begins = rec->init.n > 1, ends = rec->deinit.n > 1;
    if (!find_blocks(s, block, &blocks))
        return false;
    wf_shape before = with_turns(&blocks, &s->turns[0]), after = with_turns(&blocks, &s->turns[1]);
    wf__plan_because(s->plan, "sections", "%s%s%s%s%s", begins ? "`init` becomes a stage over the blocks; " : "",
                     "the operator becomes a stage", ends ? "; `deinit` becomes a stage over the blocks" : "",
                     s->per_block ? "; each block runs all of them" : "",
                     !rec->ir.red_n     ? ""
                     : rec->post.n <= 1 ? "; no stage uses its results"
                     : s->keeps         ? "; a stage over the kept axes reads its results from temporaries"
                                        : "; a stage of one point gets its results as parameters");
    s->copies_at = s->plan->stage_n;
    if ((begins && !add_section(s, &rec->init, block, &before, 0)) || !add_operator(s))
        return false;
    uint32_t number = s->plan->stage_n - 1;
    if (!assign_outputs(s) || (ends && !add_section(s, &rec->deinit, block, &after, 0)))
        return false;
    if (s->per_block)
        wf__set_per_block(s->plan, s->copies_at, 1u + begins + ends, begins, &s->box);
    return !rec->ir.red_n || rec->post.n <= 1 || add_section(s, &rec->post, s->reduce, &kept, number);
}

/* Makes one stage, with all sections in its body. */
static bool plan_thread_blocks(spacer *s)
{
    wf__recording *own = &s->own;
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
    stage->recorded = ir;
    stage->space = s->space;
    stage->thread_block = s->thread_block;
    stage->partition.block = s->thread_box;
    return true;
}

/* True if a section reads scratch at other elements than those it has written, and so needs a copy. */
static bool copies_scratch(const spacer *s, const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__LOAD && ir->slot[ir->node[r].a].scratch && wf__reads_other_points(&s->memory, ir, r))
            return true;
    return false;
}

/* Chooses boxes and the place of scratch for blocks on a processor. */
static bool choose_boxes(spacer *s)
{
    wf__recording *own = &s->own;
    const wf_shape *blocks = &s->blocks;
    const char *no_boxes = wf__why_no_boxes(own, &s->space, &s->box);
    if (no_boxes)
        s->box = (wf_shape){ 0 };
    const char *why_not = no_boxes ? no_boxes : wf__why_not_per_block(own, s->bind);
    if (!why_not && (copies_scratch(s, &own->init) || copies_scratch(s, &own->ir) || copies_scratch(s, &own->deinit)))
        why_not = "a section reads other elements of scratch than it has written";
    s->per_block = !why_not;
    if (!wf__place_scratch(s->plan, own, blocks, s->bind, s->per_block ? WF__BLOCK_MEMORY : 0, &s->plan->per_block.own))
        return false;
    s->per_block = s->plan->per_block.own.bytes > 0;
    if (!why_not && !s->per_block)
        why_not = "scratch is too large for a worker's cache";
    if (no_boxes && own->block.rank)
        wf__plan_because(s->plan, "block boxes", "blocks do not become boxes, because %s", no_boxes);
    else if (own->block.rank)
        wf__plan_because(s->plan, "block boxes", "%s%s",
                         why_not ? "blocks may become boxes; their sections do not run block by block, because "
                                 : "blocks become boxes; their sections run block by block in the memory of a worker",
                         why_not ? why_not : "");
    return true;
}

/* Sets the axes in front of scratch that select the block: the kept axes, or one axis that counts the blocks. */
static bool count_blocks(spacer *s, wf_shape *out)
{
    wf_shape blocks;
    *out = (wf_shape){ 0 };
    if (s->rec->block.rank) {
        *out = (wf_shape){ .rank = 1 };
        if (find_blocks(s, (1u << s->space.rank) - 1, &blocks) && wf__shape_count(&blocks, &out->dim[0]))
            return true;
        char block[160], space[160];
        wf_shape_text(&s->rec->block, block, sizeof block);
        wf_shape_text(&s->space, space, sizeof space);
        wf__plan_fail(s->plan, WF_ERR_SHAPE, "wf_begin: .block, %s, makes too many blocks of %s", block, space);
        return false;
    }
    for (int d = 0; s->rec->options.reduce && d < s->space.rank; ++d)
        if (!(s->reduce >> d & 1))
            out->dim[out->rank++] = s->space.dim[d];
    return true;
}

static bool has_blocks(const wf__recording *rec)
{
    bool sections = rec->options.target == WF__PROCESSOR && (rec->block.rank || rec->init.n > 1 || rec->deinit.n > 1);
    return rec->options.target == WF__GPU ? wf__uses_thread_blocks(rec) : sections || wf__has_scratch(rec);
}

/* ---- the passes ---- */
bool wf__pass_space(wf__planning *p)
{
    spacer *s = p->space = wf__alloc0(sizeof *s);
    if (!s)
        return wf__plan_no_memory(p->plan);
    *s = (spacer){ .plan = p->plan, .rec = p->rec, .bind = p->bind, .has_blocks = has_blocks(p->rec) };
    if (!find_space(s) || !find_axes(s))
        return false;
    s->memory = (wf__memory_order){ .plan = p->plan, .bind = p->bind, .space = &s->space };
    if (!s->has_blocks)
        return true;
    s->own = *p->rec;
    const wf__ir *from[] = { &p->rec->init, &p->rec->ir, &p->rec->deinit };
    wf__ir *const to[] = { &s->own.init, &s->own.ir, &s->own.deinit };
    for (size_t i = 0; i < WF__COUNT(to); ++i)
        *to[i] = (wf__ir){ 0 };
    bool ok = count_blocks(s, &s->blocks);
    for (size_t i = 0; ok && i < WF__COUNT(to); ++i)
        ok = copy_ir(s, from[i], s->space.rank, to[i]);
    return ok;
}

bool wf__pass_loop_axes(wf__planning *p)
{
    spacer *s = p->space;
    return !s->has_blocks || (wf__loops_to_axes(s->plan, s->bind, &s->own.init, &s->turns[0]) &&
                              wf__loops_to_axes(s->plan, s->bind, &s->own.deinit, &s->turns[1]));
}

bool wf__pass_thread_blocks(wf__planning *p)
{
    spacer *s = p->space;
    return !s->has_blocks ||
           wf__choose_thread_block(s->plan, &s->own, &s->space, &s->blocks, s->bind, &s->thread_block, &s->thread_box);
}

bool wf__pass_block_boxes(wf__planning *p) { return !p->space->has_blocks || choose_boxes(p->space); }

bool wf__pass_sections(wf__planning *p)
{
    spacer *s = p->space;
    if (s->has_blocks)
        s->rec = &s->own;
    return s->thread_block.threads ? plan_thread_blocks(s) : plan_sections(s);
}

void wf__space_print(const wf__planning *p, wf__str *out)
{
    static const wf_section_id order[] = { WF_SECTION_INIT, WF_SECTION_CALL, WF_SECTION_DEINIT, WF_SECTION_JOIN,
                                           WF_SECTION_POST };
    static const char *const name[] = { [WF_SECTION_CALL] = "call",
                                        [WF_SECTION_POST] = "post",
                                        [WF_SECTION_JOIN] = "join",
                                        [WF_SECTION_INIT] = "init",
                                        [WF_SECTION_DEINIT] = "deinit" };
    const spacer *s = p->space;
    const wf__recording *rec = s->has_blocks ? &s->own : s->rec;
    char shape[160];
    wf_shape_text(&s->space, shape, sizeof shape);
    wf__str_addf(out, "# space %s\n", shape);
    for (size_t i = 0; i < WF__COUNT(order); ++i)
        if (rec->section[order[i]].n > 1) {
            wf__str_addf(out, "# section %s\n", name[order[i]]);
            wf__print(&rec->section[order[i]], out);
        }
}

void wf__space_end(wf__planning *p)
{
    spacer *s = p->space;
    if (!s)
        return;
    if (s->has_blocks) {
        wf__ir_free(&s->own.init);
        wf__ir_free(&s->own.ir);
        wf__ir_free(&s->own.deinit);
    }
    wf__free(s->late);
    wf__free(s);
    p->space = NULL;
}
