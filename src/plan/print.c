/* print.c - the text of a plan, and the reasons of its decisions.
 *
 * The text has everything that running the plan depends on, and nothing that differs between two runs of the planner:
 * no addresses, no hashes. What is 0, false or the usual case is left out.
 *
 *   plan for cpu: 2 objects, temporaries 1, stages 2
 *   temporary t0: f32 (3, 4)                         C order; else `strides (1, 3)` follows
 *   step 0: map stage 0                              what runs together, in order
 *
 *   stage 0: space (3, 4)
 *   loops 12, 1 box of 12, work 108
 *   slot 0: a, strides (1)                           `offset` in elements; `dims` of arrays accessed by index;
 *                                                    other words are those of the comments in plan.h, kernel.h, ir.h
 *   body
 *   rank 1 flags 3611                                as ir/text_print.c writes it
 *   ...
 */
#include "plan/plan.h"
#include <stdio.h>

const char *wf__plan_object_name(const wf__plan *plan, const wf__bind *bind, uint32_t object,
                                 char text[WF__OBJECT_NAME])
{
    if (object >= plan->objects)
        snprintf(text, WF__OBJECT_NAME, "t%u", (unsigned)(object - plan->objects));
    else if (bind && bind[object].name)
        snprintf(text, WF__OBJECT_NAME, "%s", bind[object].name);
    else if (bind && bind[object].number)
        snprintf(text, WF__OBJECT_NAME, "array %u", (unsigned)bind[object].number);
    else
        snprintf(text, WF__OBJECT_NAME, "object %u", (unsigned)object);
    return text;
}

void wf__plan_explain(wf__plan *plan, const char *topic, const char *format, ...)
{
    va_list args;
    wf__str_addf(plan->why, "%s: ", topic);
    va_start(args, format);
    wf__str_addv(plan->why, format, args);
    va_end(args);
    wf__str_add(plan->why, "\n");
}

/* ---- the text ---- */
typedef struct printer {
    const wf__plan *plan;
    const wf__bind *bind;
    wf__str *out;
} printer;

static void add_object(const printer *p, uint32_t object)
{
    char text[WF__OBJECT_NAME];
    wf__str_add(p->out, wf__plan_object_name(p->plan, p->bind, object, text));
}

static void add_shape(const printer *p, const wf_shape *shape)
{
    char text[256];
    wf_shape_text(shape, text, sizeof text);
    wf__str_add(p->out, text);
}

static void add_numbers(const printer *p, const char *what, const int64_t *x, int n)
{
    wf__str_addf(p->out, "%s (", what);
    for (int d = 0; d < n; ++d)
        wf__str_addf(p->out, "%s%lld", d ? ", " : "", (long long)x[d]);
    wf__str_add(p->out, ")");
}

static void add_axes(const printer *p, const char *what, wf_axes axes)
{
    wf__str_add(p->out, axes ? what : "");
    for (int d = 0; d < WF_MAX_RANK; ++d)
        if (axes >> d & 1)
            wf__str_addf(p->out, " %d", d);
}

static void add_flag(const printer *p, bool on, const char *text) { wf__str_add(p->out, on ? text : ""); }

static void add_number(const printer *p, const char *text, uint64_t x)
{
    if (x)
        wf__str_addf(p->out, ", %s %llu", text, (unsigned long long)x);
}

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static void add_own(const printer *p, const wf__own_memory *own, const char *whose)
{
    if (!own->bytes)
        return;
    wf__str_addf(p->out, "%s: %u bytes", whose, (unsigned)own->bytes);
    add_number(p, "bytes set to zero", own->zeroed);
    wf__str_add(p->out, "\n");
}

static void print_temp(const printer *p, uint32_t t)
{
    const wf__temp *temp = &p->plan->temp[t];
    int64_t stride = 1;
    bool dense = true;
    for (int d = temp->shape.rank - 1; d >= 0; --d) {
        dense = dense && temp->stride[d] == stride;
        stride *= temp->shape.dim[d] > 0 ? temp->shape.dim[d] : 1;
    }
    wf__str_addf(p->out, "temporary t%u: %s ", (unsigned)t, wf_dtype_name((wf_dtype)temp->dtype));
    add_shape(p, &temp->shape);
    if (!dense)
        add_numbers(p, ", strides", temp->stride, temp->shape.rank);
    add_flag(p, temp->no_storage, ", without storage");
    if (temp->image_of) {
        wf__str_add(p->out, ", image of ");
        add_object(p, temp->image_of - 1);
    }
    if (temp->takes) {
        wf__str_add(p->out, ", in the memory of ");
        add_object(p, temp->takes - 1);
    }
    if (temp->copy_of) {
        wf__str_add(p->out, ", a copy of ");
        add_object(p, temp->copy_of - 1);
    }
    wf__str_add(p->out, "\n");
}

static void print_scan(const printer *p, const wf__stage *stage)
{
    const wf__scan *scan = &stage->scan;
    if (!scan->on)
        return;
    wf__str_addf(p->out, "scan %s %s along axis %u of ", wf_dtype_name((wf_dtype)scan->dtype),
                 wf__join_names[scan->join], (unsigned)scan->axis);
    add_object(p, scan->from);
    wf__str_add(p->out, " into ");
    add_object(p, scan->to);
    add_flag(p, scan->exclusive, ", exclusive");
    add_flag(p, scan->reversed, ", reversed");
    add_flag(p, scan->computed, ", input computed inline");
    add_flag(p, scan->shared, ", with carries from rank to rank");
    add_numbers(p, ", input strides", scan->from_stride, stage->space.rank);
    add_numbers(p, ", result strides", scan->to_stride, stage->space.rank);
    wf__str_add(p->out, "\n");
}

static void print_gather(const printer *p, const wf__stage *stage)
{
    const wf__gathered *gather = stage->gather;
    if (!gather)
        return;
    wf__str_add(p->out, !gather->joins     ? "gather from ranks of "
                        : gather->in_order ? "scatter, in the order of points, into "
                                           : "scatter to ranks of ");
    add_object(p, gather->from);
    wf__str_add(p->out, " at ");
    add_object(p, gather->at);
    wf__str_add(p->out, gather->joins ? ", values " : " into ");
    add_object(p, gather->to);
    wf__str_add(p->out, "\n");
}

static void print_views(const printer *p, const wf__stage *stage)
{
    for (uint32_t v = 0; v < stage->view_n; ++v) {
        const wf__slot_view *view = &stage->view[v];
        wf__str_addf(p->out, "view of slot %u:", (unsigned)view->slot);
        for (int k = 0; k < stage->recorded.slot[view->slot].rank; ++k) {
            wf__str_addf(p->out, "%s %lld", k ? "," : "", (long long)view->start[k]);
            add_numbers(p, " +", view->step[k], stage->space.rank);
        }
        wf__str_add(p->out, "\n");
    }
}

static void print_loops(const printer *p, const wf__stage *stage)
{
    int rank = stage->lowered.rank;
    wf__str_add(p->out, "loops");
    for (int d = 0; d < rank; ++d)
        wf__str_addf(p->out, " %lld", (long long)stage->extent[d]);
    wf__str_addf(p->out, ", %lld box%s of", (long long)stage->partition.boxes, stage->partition.boxes == 1 ? "" : "es");
    for (int d = 0; d < rank; ++d)
        wf__str_addf(p->out, " %lld", (long long)stage->partition.box[d]);
    if (stage->partition.slabs >= 0)
        wf__str_addf(p->out, ", boxes merge along axis %d", (int)stage->partition.slabs);
    add_number(p, "kept points", (uint64_t)stage->reduce.kept);
    if (stage->reduce.parts > 1)
        add_number(p, "parts of the reduced axes", (uint64_t)stage->reduce.parts);
    add_number(p, "work", stage->partition.work);
    add_number(p, "points of a thread at once", stage->promises.columns);
    add_flag(p, stage->empty, ", empty");
    add_flag(p, stage->promises.nontemporal, ", non-temporal stores");
    add_flag(p, stage->promises.long_rows, ", long rows");
    add_number(p, "points in a row", stage->promises.row_points);
    wf__str_add(p->out, "\n");
}

static void print_blocks(const printer *p, const wf__stage *stage)
{
    const wf__thread_block *thread_block = &stage->thread_block;
    if (thread_block->threads || stage->partition.one_box_per_block) {
        wf__str_add(p->out, "block ");
        add_shape(p, &stage->partition.block);
        add_flag(p, stage->partition.one_box_per_block, ", one box per block");
        if (stage->partition.block_param)
            wf__str_addf(p->out, ", block numbers in parameters from %u on",
                         (unsigned)stage->partition.block_param - 1);
        wf__str_add(p->out, "\n");
    }
    if (thread_block->threads)
        wf__str_addf(p->out, "thread block of %d threads along axis %d%s\n", thread_block->threads, thread_block->axis,
                     thread_block->single ? ", one point per thread" : "");
    add_own(p, &thread_block->own, "shared memory of a thread block");
}

static void print_copies(const printer *p, const wf__stage *stage)
{
    for (uint32_t k = 0; k < stage->copies.n; ++k) {
        const wf__private *c = &stage->copies.at[k];
        wf__str_addf(p->out, "private copies in slot %u of slot %u: %s", (unsigned)c->slot, (unsigned)c->target,
                     wf__join_names[c->join]);
        add_number(p, "elements", c->elements);
        add_number(p, "lanes with copies", c->spread > 1 ? c->spread : 0);
        add_number(p, "neighbours in a copy", c->together > 1 ? c->together : 0);
        add_number(p, "updates of a point", c->updates > 1 ? c->updates : 0);
        add_flag(p, c->exact, ", joined in any order");
        add_flag(p, c->direct, ", one copy may be the array");
        wf__str_add(p->out, "\n");
    }
    if (stage->copies.n) {
        wf__str_addf(p->out, "one copy per %s",
                     stage->copies.per == WF__PER_BOX     ? "box"
                     : stage->copies.per == WF__PER_RANGE ? "range of boxes"
                                                          : "worker");
        add_number(p, "ranges", stage->copies.per == WF__PER_RANGE ? stage->copies.groups : 0);
        add_number(p, "shared bytes of a thread block", stage->copies.block_bytes);
        add_number(p, "bytes at most", stage->copies.most_bytes == WF__EXPAND_BYTES ? 0 : stage->copies.most_bytes);
        wf__str_add(p->out, "\n");
    }
    add_flag(p, stage->promises.updates, "atomic operations\n");
}

static void print_reductions(const printer *p, const wf__stage *stage)
{
    const wf__ir *body = &stage->lowered;
    if (!body->red_n)
        return;
    wf__str_add(p->out, stage->reduce.result ? "results" : "initial values");
    for (uint32_t k = 0; k < body->red_n; ++k) {
        wf__str_add(p->out, k ? ", " : " ");
        if (stage->reduce.result)
            add_object(p, stage->reduce.result[k]);
        else
            wf__str_addf(p->out, "0x%llx", (unsigned long long)stage->reduce.initial[k]);
        if (body->red[k].join == WF_JOIN_CUSTOM)
            wf__str_addf(p->out, " starting from 0x%llx", (unsigned long long)body->red[k].start);
    }
    wf__str_add(p->out, "\n");
}

static void print_slots(const printer *p, const wf__stage *stage)
{
    for (uint32_t s = 0; s < stage->lowered.slot_n && stage->mem; ++s) {
        const wf__slot *slot = &stage->lowered.slot[s];
        const wf__mem_layout *mem = &stage->mem[s];
        wf__str_addf(p->out, "slot %u: ", (unsigned)s);
        add_object(p, mem->object);
        if (mem->offset)
            wf__str_addf(p->out, ", offset %lld", (long long)mem->offset);
        add_numbers(p, ", strides", mem->stride, slot->rank);
        if (!slot->element)
            add_numbers(p, ", dims", mem->dim, slot->rank);
        add_number(p, "array number", mem->number);
        add_flag(p, slot->read && slot->written, ", read and written");
        add_flag(p, !slot->read && slot->written, ", written");
        add_flag(p, slot->large_indexed, ", large and accessed by index");
        add_flag(p, slot->prefetch_rows, ", rows prefetched");
        add_flag(p, slot->rows, ", stored in rows");
        add_flag(p, slot->zeroed, ", zeroed");
        if (slot->scratch)
            wf__str_addf(p->out, ", scratch with %u block indices", slot->scratch - 1u);
        for (int k = 0; k < slot->rank; ++k)
            if (slot->shift[k])
                wf__str_addf(p->out, ", index %d counts from the block's start along axis %d", k, slot->shift[k] - 1);
        wf__str_add(p->out, "\n");
    }
}

static void print_counts(const printer *p, const wf__ir *body)
{
    const struct {
        const char *name;
        uint32_t n;
    } count[] = { { "dead stores", body->hidden },
                  { "unused variables", body->unused },
                  { "invariant variables", body->invariant },
                  { "loops written out", body->written_out },
                  { "lockstep counters", body->in_lockstep } };
    bool any = false;
    for (size_t i = 0; i < WF__COUNT(count); ++i)
        if (count[i].n) {
            wf__str_addf(p->out, "%s %s %u", any ? "," : "lowering:", count[i].name, (unsigned)count[i].n);
            any = true;
        }
    wf__str_add(p->out, any ? "\n" : "");
}

static void print_stage(const printer *p, uint32_t s)
{
    const wf__stage *stage = &p->plan->stage[s];
    wf__str_addf(p->out, "\nstage %u: space ", (unsigned)s);
    add_shape(p, &stage->space);
    add_axes(p, ", reduced axes", stage->reduce.axes);
    add_axes(p, ", arrays lack axes", stage->dropped);
    wf__str_add(p->out, "\n");
    print_scan(p, stage);
    print_gather(p, stage);
    print_views(p, stage);
    if (!stage->scan.on && !stage->lowered.node) { /* not laid out yet */
        wf__print(&stage->recorded, p->out);
        return;
    }
    if (!stage->scan.on)
        print_loops(p, stage);
    print_blocks(p, stage);
    print_reductions(p, stage);
    print_copies(p, stage);
    print_slots(p, stage);
    print_counts(p, &stage->lowered);
    if (!stage->scan.on) {
        wf__str_add(p->out, "body\n");
        wf__print(&stage->lowered, p->out);
    }
    if (stage->join) {
        wf__str_add(p->out, "join\n");
        wf__print(stage->join, p->out);
    }
}

static void print_step(const wf__plan *plan, const wf__plan_step *step, wf__str *out)
{
    switch (step->kind) {
    case WF__STEP_MAP:
        wf__str_addf(out, "map stage %u", (unsigned)step->main);
        break;
    case WF__STEP_REDUCE:
        wf__str_addf(out, "reduce stage %u", (unsigned)step->main);
        if (step->consumer != WF__NO_STAGE)
            wf__str_addf(out, ", stage %u %s", (unsigned)step->consumer,
                         plan->target == WF__GPU ? "in the kernel that completes the results" : "after each box");
        break;
    case WF__STEP_GATHER:
    case WF__STEP_SCATTER:
        wf__str_addf(out, "%s stage %u", step->kind == WF__STEP_GATHER ? "gather" : "scatter", (unsigned)step->main);
        if (step->count > 1)
            wf__str_addf(out, " to %u at once", (unsigned)(step->first + step->count - 1));
        break;
    case WF__STEP_SCAN:
        wf__str_addf(out, "scan stage %u", (unsigned)step->main);
        if (step->producer != WF__NO_STAGE)
            wf__str_addf(out, ", stage %u before each part", (unsigned)step->producer);
        if (step->consumer != WF__NO_STAGE)
            wf__str_addf(out, ", stage %u after each part", (unsigned)step->consumer);
        break;
    case WF__STEP_PER_BLOCK:
        wf__str_addf(out, "per block stages %u to %u, stage %u is the operator", (unsigned)step->first,
                     (unsigned)(step->first + step->count - 1), (unsigned)step->main);
        break;
    case WF__STEP_ROWS:
        wf__str_addf(out, "stages %u to %u, %lld rows at a time", (unsigned)step->first,
                     (unsigned)(step->first + step->count - 1), (long long)step->rows);
        break;
    }
    wf__str_add(out, "\n");
}

void wf__plan_print_steps(const wf__plan *plan, wf__str *out)
{
    for (uint32_t i = 0; i < plan->step_n; ++i) {
        wf__str_addf(out, "step %u: ", (unsigned)i);
        print_step(plan, &plan->step[i], out);
    }
}

void wf__plan_print_stage(const wf__plan *plan, const wf__bind *bind, uint32_t s, wf__str *out)
{
    print_stage(&(printer){ .plan = plan, .bind = bind, .out = out }, s);
}

void wf__plan_print(const wf__plan *plan, const wf__bind *bind, wf__str *out)
{
    const printer p = { .plan = plan, .bind = bind, .out = out };
    wf__str_addf(out, "plan for %s: %u object%s",
                 plan->target == WF__GPU         ? "gpu"
                 : plan->target == WF__PROCESSOR ? "cpu"
                                                 : "interp",
                 (unsigned)plan->objects, plural(plan->objects));
    add_number(&p, "parameters", plan->params);
    add_number(&p, "temporaries", plan->temp_n);
    add_number(&p, "stages", plan->stage_n);
    add_number(&p, "most reductions of a stage", plan->most_reds);
    wf__str_add(out, "\n");
    for (uint32_t t = 0; t < plan->temp_n; ++t)
        print_temp(&p, t);
    add_own(&p, &plan->per_block.own, "memory of a block");
    wf__plan_print_steps(plan, out);
    for (uint32_t s = 0; s < plan->stage_n; ++s)
        print_stage(&p, s);
}
