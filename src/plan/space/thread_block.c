/* thread_block.c - blocks on GPUs. If a recording uses scratch, threads or barriers, each of its blocks becomes a thread
 * block of one kernel. WF_SECTION_INIT, WF_SECTION_CALL and WF_SECTION_DEINIT become one body, with barriers between
 * them, and scratch becomes shared memory, if it fits. If sections must see the work of other blocks, if points are
 * reduced, or if all points are one block, sections are stages of their own, as on the processor, with scratch in
 * temporaries.
 */
#include "ir/pass/pass.h"
#include "plan/space/thread_block.h"

enum { MOST_THREADS = 1024 };

static bool has_op(const wf__ir *ir, unsigned op)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == op)
            return true;
    return false;
}

static bool asks(const wf__ir *ir) { return has_op(ir, WF__THREAD) || has_op(ir, WF__BARRIER); }

bool wf__uses_thread_blocks(const wf__recording *rec)
{
    return rec->options.target == WF__GPU &&
           (asks(&rec->init) || asks(&rec->ir) || asks(&rec->deinit) || wf__has_scratch(rec));
}

/* ---- reasons for one kernel ---- */
static bool cross(const wf__bind *bind, const wf__ir *a, const wf__ir *b)
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

bool wf__sections_cross(const wf__recording *rec, const wf__bind *bind)
{
    return cross(bind, &rec->init, &rec->ir) || cross(bind, &rec->init, &rec->deinit) ||
           cross(bind, &rec->ir, &rec->deinit);
}

/* Sets the extents of a block of `space`. Returns false if it has too many points to count. */
static bool find_box(const wf__recording *rec, const wf_shape *space, wf_shape *box, int64_t *points)
{
    *box = *space;
    *points = 1;
    for (int d = 0; d < space->rank; ++d) {
        int64_t all = space->dim[d] > 0 ? space->dim[d] : 1;
        int64_t n = rec->block.rank ? rec->block.dim[d] : rec->options.reduce >> d & 1 ? all : 1;
        box->dim[d] = n < all ? n : all;
        if (!wf__mul_i64(*points, box->dim[d], points))
            return false;
    }
    return true;
}

static const char *why_not(const wf__recording *rec, const wf_shape *space, const wf__bind *bind)
{
    bool boxes = rec->block.rank || (rec->options.reduce && rec->options.reduce != WF_ALL_AXES &&
                                     rec->options.reduce != (1u << space->rank) - 1);
    if (!boxes || !space->rank)
        return "all points are one block; give .block, or reduce some axes";
    if (rec->ir.red_n)
        return "there are reduced variables";
    if (wf__sections_cross(rec, bind))
        return "an array is written in one section and used in another";
    return NULL;
}

/* ---- stages of their own ---- */
/* Rewrites sections for a single thread. Barriers between stages are not needed; a barrier of the operator is an error. */
static bool part_sections(wf__plan *plan, wf__recording *rec, const char *why)
{
    wf__ir *section[] = { &rec->init, &rec->ir, &rec->deinit };
    for (size_t i = 0; i < WF__COUNT(section); ++i)
        for (wf__ref r = 1; r < section[i]->n; ++r) {
            wf__node *n = &section[i]->node[r];
            if (n->op == WF__BARRIER && section[i] == &rec->ir) {
                return wf__plan_fail_at(plan, WF_SECTION_CALL, section[i], r, WF_ERR_UNSUPPORTED,
                                        "wf_barrier: not on a GPU where %s", why);
            }
            if (n->op == WF__BARRIER)
                *n = (wf__node){ .op = WF__NOP };
            if (n->op == WF__THREAD)
                *n = (wf__node){ .op = WF__CONST, .dtype = WF_I64, .a = n->aux };
        }
    return true;
}

/* Sets the threads and the extents of a block. Returns why blocks cannot be thread blocks; NULL = they can. */
static const char *choose_threads(const wf__recording *rec, const wf_shape *space, wf__thread_block *thread_block,
                                  wf_shape *box)
{
    int64_t points;
    bool waits = has_op(&rec->ir, WF__BARRIER), counted = find_box(rec, space, box, &points);
    bool single = counted && points <= (rec->block.rank || waits ? MOST_THREADS : WF__BLOCK_THREADS);
    if (waits && !single)
        return "a block has more than 1024 points";
    *thread_block = (wf__thread_block){ .threads = single ? (int)points : WF__BLOCK_THREADS,
                                        .axis = space->rank - 1,
                                        .single = single };
    while (thread_block->axis > 0 && box->dim[thread_block->axis] == 1)
        --thread_block->axis;
    return NULL;
}

bool wf__choose_thread_block(wf__plan *plan, wf__recording *rec, const wf_shape *space, const wf_shape *blocks,
                             const wf__bind *bind, wf__thread_block *thread_block, wf_shape *box)
{
    const char *why = why_not(rec, space, bind);
    if (!why)
        why = choose_threads(rec, space, thread_block, box);
    if (why)
        wf__plan_because(plan, "thread blocks", "sections become stages of their own, because %s", why);
    else
        wf__plan_because(plan, "thread blocks", "thread blocks have %d threads along axis %d, %s",
                         thread_block->threads, thread_block->axis,
                         thread_block->single ? "one for each point" : "which share the points");
    size_t most = !thread_block->threads ? 0 : rec->shared_memory ? rec->shared_memory : WF__SHARED_MEMORY;
    return (thread_block->threads || part_sections(plan, rec, why)) &&
           wf__place_scratch(plan, rec, blocks, bind, most, &thread_block->own);
}

/* ---- one body ---- */
/* Replaces the slots of a section by slots of `out` with the same object and the same kind of access, which it adds
 * if necessary. */
static bool renumber(wf__ir *section, wf__ir *out)
{
    for (wf__ref r = 1; r < section->n; ++r) {
        wf__node *n = &section->node[r];
        if (n->op != WF__DIM && !wf__op_is_access(n->op))
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

/* Records a node of a section. WF_SECTION_INIT and WF_SECTION_DEINIT have an index space of blocks. Their index is
 * that of the block's first point, divided by the block's extent. */
static wf__ref block_node(wf__rewriter *w, wf__ref r)
{
    const wf__node *n = &w->in->node[r];
    const wf_shape *block = w->user;
    if (n->op != WF__INDEX || !block->rank)
        return wf__copy_node(w->in, r, w->map, w->out);
    wf__ref size = wf__const_bits(w->out, WF_I64, (uint64_t)block->dim[n->a]);
    return wf__op2(w->out, WF__OP_idiv, wf__index(w->out, (int)n->a), size);
}

static bool append_section(wf__ir *section, wf_shape block, wf__ir *out)
{
    return renumber(section, out) &&
           wf__rewrite_nodes(&(wf__rewriter){ .in = section, .out = out, .visit = block_node, .user = &block });
}

bool wf__join_sections(wf__plan *plan, wf__recording *rec, wf__ir *out)
{
    wf__ir_init(out, rec->ir.rank, rec->ir.flags);
    bool ok = wf__copy_tables(&rec->ir, out) && append_section(&rec->init, rec->block, out);
    wf__barrier(out, 1);
    ok = ok && append_section(&rec->ir, (wf_shape){ 0 }, out);
    wf__barrier(out, 2);
    ok = ok && append_section(&rec->deinit, rec->block, out) && out->status == WF_OK;
    return ok || wf__plan_fail_in(plan, out);
}
