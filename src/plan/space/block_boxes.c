/* block_boxes.c - blocks of a recording as boxes of the operator's stage. The number of its block is the same for all
 * points of a block. If the operator uses this number, each block becomes a box, which one worker runs, and the number
 * along each axis becomes a parameter. So code sees that the points of a row read neighbours in the block's scratch,
 * which divisions of indices would hide.
 *
 * Where scratch is small, the stages of all sections run per block: a worker runs them one after the other for a block,
 * with memory of its own, which stays in its cache, and then for the next block.
 */
#include "plan/space/block_boxes.h"
#include "ir/analyse/affine.h"
#include "ir/pass/pass.h"
#include "plan/space/thread_block.h"

/* True if a loop is left, in which lanes would wait for each other: each lane is a point. */
static bool has_loops(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__LOOP && !ir->node[r].aux)
            return true;
    return false;
}

/* True if blocks are boxes of a good size: with rows that fill vectors, enough points, unless a point is a loop, and
 * enough blocks for threads. Sets *box to the extents of a box. */
static bool fits(const wf_shape *space, const wf_shape *block, wf_shape *box, bool loops)
{
    int64_t points = 1, blocks = 1;
    *box = *block;
    for (int d = 0; d < space->rank; ++d) {
        int64_t n = space->dim[d];
        if (n < 1)
            return false;
        box->dim[d] = block->dim[d] < n ? block->dim[d] : n;
        if (!wf__mul_i64(points, box->dim[d], &points) ||
            !wf__mul_i64(blocks, (n + box->dim[d] - 1) / box->dim[d], &blocks))
            return false;
    }
    int64_t row = box->dim[space->rank - 1];
    return row >= WF__BLOCK_LEAST_LANES && (loops || points >= WF__BLOCK_LEAST_POINTS) &&
           (points <= WF__BLOCK_MOST_POINTS || blocks >= WF__BLOCK_MANY);
}

/* True if the bits of accumulations depend on the order of boxes. */
static bool depends_on_order(const wf__ir *ir)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        if (ir->node[r].op == WF__ACCUM && !wf__any_order(ir->node[r].dtype, wf__node_join(&ir->node[r])))
            return true;
    return false;
}

const char *wf__why_no_boxes(const wf__recording *rec, const wf_shape *space, wf_shape *box)
{
    if (rec->options.target != WF__PROCESSOR || !rec->block.rank || rec->block.rank != space->rank ||
        rec->options.reduce || rec->ir.red_n)
        return "the recording reduces, has no blocks, or is not for compiled code of a processor";
    if (rec->ir.param_n + (uint32_t)space->rank > WF__MOST_NUMBERED)
        return "the recording has too many parameters";
    if (!fits(space, &rec->block, box, has_loops(&rec->ir)))
        return "blocks have short rows, too few points or too many points";
    return depends_on_order(&rec->ir) ? "the bits of accumulated values depend on the order of boxes" : NULL;
}

/* Returns the node of the number of a block along an axis (record/thread_ids.c); 0 = the recording has none. */
static wf__ref number_along(wf__ir *ir, int axis, int64_t block)
{
    wf__ref recorded = ir->n;
    wf__ref size = wf__const_bits(ir, WF_I64, (uint64_t)block);
    wf__ref number = wf__op2(ir, WF__OP_idiv, wf__index(ir, axis), size);
    return number < recorded ? number : 0;
}

bool wf__number_boxes(wf__plan *plan, const wf_shape *block, wf__stage *stage)
{
    wf__ir *ir = &stage->recorded;
    int rank = stage->space.rank;
    uint32_t first = ir->param_n;
    wf__ref number[WF_MAX_RANK] = { 0 };
    bool asked = false;
    for (int d = 0; d < rank; ++d) {
        number[d] = block->dim[d] > 1 ? number_along(ir, d, block->dim[d]) : 0;
        asked = asked || number[d];
    }
    for (int d = 0; d < rank && asked; ++d) {
        wf__param(ir, WF_I64);
        if (number[d] && ir->status == WF_OK)
            ir->node[number[d]] = (wf__node){ .op = WF__PARAM, .dtype = WF_I64, .a = first + (uint32_t)d };
    }
    if (ir->status != WF_OK)
        wf__plan_no_memory(plan);
    if (asked)
        wf__plan_because(
            plan, "block boxes",
            "each block becomes a box with its number as parameters, because the operator uses this number");
    stage->partition.block_param = asked ? first + 1 : 0;
    stage->partition.one_box_per_block = stage->partition.one_box_per_block || asked;
    return ir->status == WF_OK;
}

/* ---- indices that count from where the block begins ---- */
/* Returns 1 + the axis along which the value is index - number * block + constant; 0 = none. */
static uint8_t counts_along(const wf__stage *stage, const wf_shape *block, wf__ref r, int64_t *constant)
{
    enum { DEPTH = 8 };
    wf__affine l;
    uint8_t found = 0;
    if (!wf__as_affine(&stage->recorded, r, stage->partition.block_param, DEPTH, &l))
        return 0;
    for (int d = 0; d < stage->space.rank; ++d) {
        if (!l.step[d] && !l.number[d])
            continue;
        if (found || l.step[d] != 1 || l.number[d] != -block->dim[d])
            return 0;
        found = (uint8_t)(d + 1);
    }
    *constant = l.start;
    return found;
}

/* Returns 1 + the axis that all accesses of a slot count along in one place of their index; 0 = none. */
static uint8_t axis_of_all(const wf__stage *stage, const wf_shape *block, uint32_t slot, int place)
{
    const wf__ir *ir = &stage->recorded;
    uint8_t axis = 0;
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        int64_t constant;
        if (!wf__op_is_access(n->op) || n->a != slot)
            continue;
        wf__ref index = wf__tuple_at(ir, n->b)[place];
        uint8_t along = counts_along(stage, block, index, &constant);
        if (!along || (axis && along != axis) || (n->op == WF__LOAD && n->aux != WF_BORDER_NONE))
            return 0;
        axis = along;
    }
    return axis;
}

typedef struct shift {
    const wf__stage *stage;
    const wf_shape *block;
} shift;

/* Copies a node. Indices of accesses become relative to the beginning of the space where slot.shift is set. */
static wf__ref shift_node(wf__rewriter *w, wf__ref r)
{
    const shift *s = w->user;
    const wf__node *n = &w->in->node[r];
    if (!wf__op_is_access(n->op) || !n->b)
        return wf__copy_node(w->in, r, w->map, w->out);
    const wf__ref *index = wf__tuple_at(w->in, n->b);
    wf__ref anew[WF_MAX_RANK];
    uint32_t len = wf__tuple_len(w->in, n->b);
    for (uint32_t k = 0; k < len; ++k) {
        int64_t constant = 0;
        uint8_t axis = w->out->slot[n->a].shift[k];
        anew[k] = w->map[index[k]];
        if (axis && counts_along(s->stage, s->block, index[k], &constant)) {
            wf__ref offset = wf__const_bits(w->out, WF_I64, (uint64_t)constant);
            anew[k] = wf__op2(w->out, WF__OP_add, wf__index(w->out, axis - 1), offset);
        }
    }
    return wf__copy_access(w->in, r, wf__tuple(w->out, anew, len), w->map, w->out);
}

bool wf__shift_boxes(wf__plan *plan, const wf_shape *block, wf__stage *stage)
{
    wf__ir *ir = &stage->recorded, out = { 0 };
    bool any = false;
    for (uint32_t s = 0; s < ir->slot_n && stage->partition.block_param; ++s)
        for (int k = 0; k < ir->slot[s].rank && ir->slot[s].shared; ++k) {
            ir->slot[s].shift[k] = axis_of_all(stage, block, s, k);
            any = any || ir->slot[s].shift[k];
        }
    if (!any)
        return true;
    wf__ir_init(&out, ir->rank, ir->flags);
    shift s = { .stage = stage, .block = block };
    bool ok = wf__rewrite(&(wf__rewriter){ .in = ir, .out = &out, .visit = shift_node, .user = &s });
    wf__ir_free(ir);
    *ir = out;
    return ok || wf__plan_no_memory(plan);
}

/* ---- blocks with memory of their own ---- */
const char *wf__why_not_per_block(const wf__recording *rec, const wf__bind *bind)
{
    if (!wf__has_scratch(rec))
        return "the recording has no scratch";
    if (has_loops(&rec->init) || has_loops(&rec->deinit))
        return "`init` or `deinit` has loops";
    if (depends_on_order(&rec->init) || depends_on_order(&rec->deinit))
        return "the bits of accumulated values depend on the order of blocks";
    return wf__sections_cross(rec, bind) ? "an array is written in one section and used in another" : NULL;
}

void wf__set_per_block(wf__plan *plan, uint32_t first, uint32_t count, uint32_t main, const wf_shape *box)
{
    plan->per_block.first = first;
    plan->per_block.count = count;
    plan->per_block.main = first + main;
    for (uint32_t k = 0; k < count; ++k) {
        wf__stage *stage = &plan->stage[first + k];
        stage->partition.one_box_per_block = true;
        stage->partition.block = stage->space;
        for (int d = 0; d < box->rank; ++d)
            stage->partition.block.dim[d] = k == main ? box->dim[d] : 1;
    }
}
