/* space.c - the stages of an index space: the recorded operator, then what follows its reductions.
 *
 * Points may run in any order and several at once, so an array that is written must not be read elsewhere than at the very
 * same element. Where that is not so (a stencil in place, a view shifted against another), the operator writes a copy
 * instead, which replaces the array afterwards: every point then reads what was there before the launch.
 */
#include "ir/pass.h"
#include "plan/plan.h"

typedef struct spacer {
    wf__plan *plan;
    const wf__recording *rec;
    const wf__bind *bind;
    wf_shape space;
} spacer;

static bool no_memory(spacer *s)
{
    wf__plan_fail(s->plan, WF_ERR_MEMORY, "out of memory while planning");
    return false;
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
        if (ir->slot[k].element && !wf__broadcast(&s->space, &shape, &s->space)) {
            char have[160], want[160];
            wf__shape_text(&shape, have, sizeof have);
            wf__shape_text(&s->space, want, sizeof want);
            wf__plan_fail(s->plan, WF_ERR_SHAPE, "operands of shapes %s and %s do not broadcast", want, have);
            return false;
        }
    }
    return true;
}

/* Does some load meet memory that slot `w` writes, at another element than the point's own? */
static bool needs_shadow(const spacer *s, uint32_t w)
{
    const wf__ir *ir = &s->rec->ir;
    const wf__bind *target = &s->bind[ir->slot[w].object];
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *load = &ir->node[r];
        if (load->op != WF__LOAD)
            continue;
        wf__overlap meet = wf__bind_overlap(target, &s->bind[ir->slot[load->a].object]);
        if (meet == WF__PARTIAL)
            return true;
        for (wf__ref q = 1; meet == WF__SAME && q < ir->n; ++q)
            if (ir->node[q].op == WF__STORE && ir->node[q].a == w && ir->node[q].b != load->b)
                return true;
    }
    return false;
}

/* A stage that copies object `from` to object `to`, both of the shape of `like`. */
static bool add_copy(spacer *s, uint32_t from, uint32_t to, const wf__bind *like)
{
    wf__stage *stage = wf__plan_add_stage(s->plan, s->plan->stage_n);
    if (!stage)
        return false;
    wf__ir *ir = &stage->proto;
    stage->space.rank = like->rank;
    memcpy(stage->space.dim, like->dim, sizeof like->dim);
    wf__ir_init(ir, like->rank, s->rec->ir.flags);
    uint32_t source = wf__slot_new(ir, like->dtype, like->rank, true, from);
    uint32_t target = wf__slot_new(ir, like->dtype, like->rank, true, to);
    if (ir->status == WF_OK)
        wf__store(ir, target, 0, wf__load(ir, source, 0, WF_BORDER_NONE, 0), 0);
    return ir->status == WF_OK || no_memory(s);
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
    return (ok && out->status == WF_OK) || no_memory(s);
}

static bool add_operator(spacer *s, const uint32_t *shadow)
{
    const wf__recording *rec = s->rec;
    wf__stage *stage = wf__plan_add_stage(s->plan, s->plan->stage_n);
    if (!stage)
        return false;
    stage->space = s->space;
    if (!copy_ir(s, &rec->ir, s->space.rank, &stage->proto))
        return false;
    for (uint32_t k = 0; k < rec->ir.slot_n; ++k)
        if (shadow[k])
            stage->proto.slot[k].object = shadow[k];
    if (!rec->ir.red_n)
        return true;
    stage->initial = wf__alloc(rec->ir.red_n * sizeof *stage->initial);
    if (!stage->initial)
        return no_memory(s);
    memcpy(stage->initial, rec->initial, rec->ir.red_n * sizeof *stage->initial);
    if (rec->post.n <= 1)
        return true;
    wf__stage *post = wf__plan_add_stage(s->plan, s->plan->stage_n);
    return post && copy_ir(s, &rec->post, 0, &post->proto);
}

/* A slot that is both read and written cannot be redirected as one: reading goes on from the array itself. */
static bool split_slots(spacer *s, wf__recording *own)
{
    if (!copy_ir(s, &s->rec->ir, s->rec->ir.rank, &own->ir))
        return false;
    for (uint32_t k = 0, n = own->ir.slot_n; k < n; ++k) {
        if (!own->ir.slot[k].written || !own->ir.slot[k].read || !needs_shadow(s, k))
            continue;
        const wf__slot *slot = &own->ir.slot[k];
        uint32_t reader = wf__slot_new(&own->ir, slot->dtype, slot->rank, slot->element, slot->object);
        if (own->ir.status != WF_OK)
            return no_memory(s);
        for (wf__ref r = 1; r < own->ir.n; ++r)
            if (own->ir.node[r].op == WF__LOAD && own->ir.node[r].a == k)
                own->ir.node[r].a = reader;
        own->ir.slot[reader].read = true;
        own->ir.slot[k].read = false;
    }
    return true;
}

bool wf__plan_space(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    spacer s = { .plan = plan, .rec = recording, .bind = bind };
    wf__recording own = *recording;
    own.ir = (wf__ir){ 0 };
    bool ok = find_space(&s) && split_slots(&s, &own);
    s.rec = &own;
    uint32_t *shadow = ok ? wf__alloc0((own.ir.slot_n + 1) * sizeof *shadow) : NULL;
    ok = ok && (shadow || no_memory(&s));
    for (uint32_t k = 0; ok && k < own.ir.slot_n; ++k) {
        if (!own.ir.slot[k].written || !needs_shadow(&s, k))
            continue;
        const wf__bind *b = &bind[own.ir.slot[k].object];
        wf_shape shape = { .rank = b->rank };
        memcpy(shape.dim, b->dim, sizeof shape.dim);
        shadow[k] = wf__plan_add_temp(plan, b->dtype, &shape);
        ok = shadow[k] != UINT32_MAX && add_copy(&s, own.ir.slot[k].object, shadow[k], b);
    }
    ok = ok && add_operator(&s, shadow);
    for (uint32_t k = 0; ok && k < own.ir.slot_n; ++k)
        if (shadow[k])
            ok = add_copy(&s, shadow[k], own.ir.slot[k].object, &bind[own.ir.slot[k].object]);
    wf__free(shadow);
    wf__ir_free(&own.ir);
    return ok;
}
