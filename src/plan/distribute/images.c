/* images.c - periodic borders along axes that ranks divide. A load whose index along such an axis is the point's own plus a
 * number goes to the image of the array: three copies of it side by side along the axis, of which the one in the middle is
 * the array. No index leaves the image there. So a rank fetches the elements of the copies beside its block, as it fetches
 * those of neighbours, and not the whole axis.
 */
#include "ir/pass/pass.h"
#include "plan/distribute/distribute.h"

/* Returns the divided axes along which load r leaves the array by less than its extent: the axes of its image. */
static wf_axes image_axes(const wf__planning *p, const wf__stage *stage, wf__ref r)
{
    const wf__ir *ir = &stage->recorded;
    const wf__node *n = &ir->node[r];
    const uint32_t object = n->op == WF__LOAD ? ir->slot[n->a].object : UINT32_MAX;
    uint8_t cut[WF_MAX_RANK];
    uint32_t grid;
    wf_axes axes = 0;
    if (n->op != WF__LOAD || !n->b || n->aux != WF_BORDER_PERIODIC || !wf__is_distributed(p, object) ||
        !wf__object_cut(p, object, cut, &grid) || wf__is_written(p->plan, object))
        return 0;
    for (int k = 0; k < p->bind[object].rank; ++k) {
        int axis;
        int64_t offset, extent = p->bind[object].dim[k];
        if (!cut[k] || !wf__as_offset(ir, wf__tuple_at(ir, n->b)[k], &axis, &offset) || axis < 0)
            continue;
        int64_t last = offset + stage->space.dim[axis] - 1;
        if ((offset < 0 || last >= extent) && offset >= -extent && last < 2 * extent)
            axes |= (wf_axes)1 << k;
    }
    return axes;
}

/* Returns the image of an object, a temporary without memory of its own. UINT32_MAX = out of memory. */
static uint32_t image_of(const wf__planning *p, uint32_t object, wf_axes axes)
{
    wf__plan *plan = p->plan;
    const wf__bind *b = &p->bind[object];
    wf_shape shape = { .rank = b->rank };
    for (uint32_t t = 0; t < plan->temp_n; ++t)
        if (plan->temp[t].image_of == object + 1 && plan->temp[t].image_axes == axes)
            return plan->objects + t;
    for (int k = 0; k < b->rank; ++k)
        shape.dim[k] = axes >> k & 1 ? 3 * b->dim[k] : b->dim[k];
    uint32_t image = wf__plan_add_temp(plan, b->dtype, &shape);
    if (image == UINT32_MAX)
        return image;
    wf__temp *temp = &plan->temp[image - plan->objects];
    temp->no_storage = true;
    temp->image_of = object + 1;
    temp->image_axes = axes;
    memcpy(temp->stride, b->stride, sizeof temp->stride);
    for (int k = 0; k < b->rank; ++k)
        temp->origin -= axes >> k & 1 ? b->dim[k] * b->stride[k] : 0;
    return image;
}

/* Returns the slot of the image. */
static uint32_t slot_of(wf__ir *ir, const wf__slot *like, uint32_t image)
{
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (ir->slot[s].object == image)
            return s;
    return wf__slot_new(ir, like->dtype, like->rank, false, image);
}

typedef struct imaging {
    const wf__planning *p;
    const wf__stage *stage;
} imaging;

static wf__ref visit(wf__rewriter *w, wf__ref r)
{
    const imaging *i = w->user;
    const wf__ir *in = w->in;
    const wf__node *n = &in->node[r];
    const wf_axes axes = image_axes(i->p, i->stage, r);
    if (!axes)
        return wf__copy_node(in, r, w->map, w->out);
    const wf__slot *slot = &in->slot[n->a];
    const uint32_t image = image_of(i->p, slot->object, axes);
    wf__ref index[WF_MAX_RANK];
    if (image == UINT32_MAX)
        return 0;
    for (int k = 0; k < slot->rank; ++k) {
        index[k] = w->map[wf__tuple_at(in, n->b)[k]];
        if (axes >> k & 1) {
            const uint64_t extent = (uint64_t)i->p->bind[slot->object].dim[k];
            index[k] = wf__op2(w->out, WF__OP_add, index[k], wf__const_bits(w->out, WF_I64, extent));
        }
    }
    return wf__load_when(w->out, slot_of(w->out, slot, image), wf__tuple(w->out, index, slot->rank), WF_BORDER_PERIODIC,
                         w->map[wf__otherwise(in, n)], w->map[wf__when(in, n)]);
}

bool wf__pass_images(wf__planning *p, uint32_t s)
{
    wf__stage *stage = &p->plan->stage[s];
    imaging i = { p, stage };
    bool any = false;
    for (wf__ref r = 1; r < stage->recorded.n && !stage->scan.on; ++r)
        any = any || image_axes(p, stage, r);
    if (!any)
        return true;
    wf__ir out;
    wf__rewriter w = { .in = &stage->recorded, .out = &out, .visit = visit, .user = &i };
    bool ok = wf__pass_begin(&stage->recorded, &out) && wf__rewrite_nodes(&w);
    if (!ok) {
        wf__plan_fail_in(p->plan, &out);
        wf__ir_free(&out);
        return false;
    }
    wf__ir_free(&stage->recorded);
    stage->recorded = out;
    return true;
}
