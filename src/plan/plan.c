/* plan.c - from a recording to a plan: the list of its stages, each laid out and lowered, verified after every pass in
 * debug builds. */
#include "plan/plan.h"
#include <stdio.h>

void wf__plan_fail(wf__plan *plan, wf_status status, const char *format, ...)
{
    if (plan->status != WF_OK)
        return;
    plan->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(plan->error, sizeof plan->error, format, args);
    va_end(args);
}

const char *wf__bind_called(const wf__bind *b, char text[WF__CALLED])
{
    if (!b->name)
        return "an array";
    snprintf(text, WF__CALLED, "'%.60s'", b->name);
    return text;
}

bool wf__plan_no_memory(wf__plan *plan)
{
    wf__plan_fail(plan, WF_ERR_MEMORY, "out of memory while planning");
    return false;
}

wf__stage *wf__plan_add_stage(wf__plan *plan, uint32_t at)
{
    if (!wf__grow(&plan->stage, &plan->stage_cap, plan->stage_n + 1, sizeof *plan->stage)) {
        wf__plan_no_memory(plan);
        return NULL;
    }
    memmove(plan->stage + at + 1, plan->stage + at, (plan->stage_n - at) * sizeof *plan->stage);
    plan->stage[at] = (wf__stage){ 0 };
    ++plan->stage_n;
    return &plan->stage[at];
}

uint32_t wf__plan_add_temp(wf__plan *plan, unsigned dtype, const wf_shape *shape)
{
    if (!wf__grow(&plan->temp, &plan->temp_cap, plan->temp_n + 1, sizeof *plan->temp)) {
        wf__plan_no_memory(plan);
        return UINT32_MAX;
    }
    wf__temp *temp = &plan->temp[plan->temp_n];
    *temp = (wf__temp){ .dtype = (uint8_t)dtype, .shape = *shape };
    int64_t stride = 1;
    for (int d = shape->rank - 1; d >= 0; --d) {
        temp->stride[d] = stride;
        stride *= shape->dim[d] > 0 ? shape->dim[d] : 1;
    }
    return plan->objects + plan->temp_n++;
}

void wf__temp_bind(const wf__temp *temp, wf__bind *out)
{
    *out = (wf__bind){ .dtype = temp->dtype, .rank = (uint8_t)temp->shape.rank };
    memcpy(out->dim, temp->shape.dim, sizeof out->dim);
    memcpy(out->stride, temp->stride, sizeof out->stride);
}

wf_shape wf__kept_shape(const wf_shape *space, wf_axes reduce)
{
    wf_shape shape = *space;
    for (int d = 0; d < shape.rank; ++d)
        if (reduce >> d & 1)
            shape.dim[d] = 1;
    return shape;
}

wf__overlap wf__bind_meeting(const wf__bind *a, const wf__bind *b)
{
    if (a->lo == a->hi || b->lo == b->hi)
        return WF__APART;
    if (a->base != b->base || a->dtype != b->dtype || a->rank != b->rank)
        return WF__PARTIAL;
    for (int d = 0; d < a->rank; ++d)
        if (a->dim[d] != b->dim[d] || (a->dim[d] > 1 && a->stride[d] != b->stride[d]))
            return WF__PARTIAL;
    return WF__SAME;
}

static bool verified(wf__plan *plan, const wf__ir *ir, const char *pass)
{
#ifdef WEFT_DEBUG_CHECKS
    wf__str error = { 0 };
    bool ok = wf__verify(ir, &error);
    if (!ok)
        wf__plan_fail(plan, error.failed ? WF_ERR_MEMORY : WF_ERR_BACKEND, "after %s: %s", pass, wf__str_get(&error));
    wf__str_free(&error);
    return ok;
#else
    WF__UNUSED(plan);
    WF__UNUSED(ir);
    WF__UNUSED(pass);
    return true;
#endif
}

/* Makes two stages of a reduction: stage s reduces the inner axes only, a new one after it the others. */
static bool divide(wf__plan *plan, uint32_t s, wf_axes inner)
{
    wf__stage *next = wf__plan_add_stage(plan, s + 1), *stage = &plan->stage[s];
    if (!next)
        return false;
    wf__ir *ir = &next->proto;
    const wf__reduction *red = stage->proto.red;
    next->space = wf__kept_shape(&stage->space, inner);
    next->reduce = stage->reduce & ~inner;
    next->result = stage->result;
    stage->reduce = inner;
    stage->result = wf__alloc0(stage->proto.red_n * sizeof *stage->result);
    wf__ir_init(ir, next->space.rank, stage->proto.flags);
    for (uint32_t k = 0; stage->result && k < stage->proto.red_n && ir->status == WF_OK; ++k) {
        stage->result[k] = wf__plan_add_temp(plan, red[k].dtype, &next->space);
        if (stage->result[k] == UINT32_MAX)
            return false;
        uint32_t slot = wf__slot_new(ir, red[k].dtype, next->space.rank, true, stage->result[k]);
        wf__red_new(ir, red[k].dtype, (wf_join)red[k].join);
        if (ir->status != WF_OK)
            break;
        wf__ref value = wf__load(ir, slot, 0, WF_BORDER_NONE, 0);
        wf__setred(ir, k, 0, wf__op2(ir, wf__join_op((wf_join)red[k].join), wf__red(ir, k, 0), value));
    }
    return (stage->result && ir->status == WF_OK) || wf__plan_no_memory(plan);
}

wf__ir *wf__plan_joiner(wf__plan *plan, const wf__ir *recorded)
{
    wf__ir *join = wf__alloc0(sizeof *join);
    bool ok = join && wf__pass_lower(recorded, join);
    if (!join)
        wf__plan_no_memory(plan);
    else if (!ok)
        wf__plan_fail(plan, join->status, "%s", join->error);
    for (wf__ref r = 1; ok && r < join->n; ++r)
        if (join->node[r].op == WF__COLD) {
            wf__plan_fail(
                plan, WF_ERR_UNSUPPORTED,
                "section WF_JOIN: a function with a rare path (sin, cos, tan, erfinv, gamma) cannot be used here");
            ok = false;
        }
    if (join && !ok) {
        wf__ir_free(join);
        wf__free(join);
    }
    return ok ? join : NULL;
}

/* Room for the binds of all temps; fills in those from `first`. */
static bool bind_temps(wf__plan *plan, wf__bind **all, uint32_t *cap, uint32_t first)
{
    if (!wf__grow(all, cap, plan->objects + plan->temp_n + 1, sizeof **all))
        return wf__plan_no_memory(plan);
    for (uint32_t t = first; t < plan->temp_n; ++t)
        wf__temp_bind(&plan->temp[t], *all + plan->objects + t);
    return true;
}

static bool lay_all(wf__plan *plan, const wf__bind *bind)
{
    wf__bind *all = NULL;
    uint32_t cap = 0;
    bool ok = bind_temps(plan, &all, &cap, 0);
    if (ok && plan->objects)
        memcpy(all, bind, plan->objects * sizeof *all);
    for (uint32_t s = 0; ok && s < plan->stage_n; ++s) {
        uint32_t temps = plan->temp_n;
        wf__scan *scan = &plan->stage[s].scan;
        if (scan->on && plan->gpu) {
            uint32_t hidden = plan->stage[s].proto.hidden;
            ok = wf__plan_scan(plan, s) && bind_temps(plan, &all, &cap, temps);
            plan->stage[s].proto.hidden = ok ? hidden : 0;
            temps = plan->temp_n;
        } else if (scan->on) {
            memcpy(scan->from_stride, all[scan->from].stride, sizeof scan->from_stride);
            memcpy(scan->to_stride, all[scan->to].stride, sizeof scan->to_stride);
            plan->stage[s].body.hidden = plan->stage[s].proto.hidden;
            continue;
        }
        wf_axes inner =
            ok && plan->stage[s].reduce && !plan->stage[s].join ? wf__plan_inner_axes(plan, &plan->stage[s], all) : 0;
        ok = plan->status == WF_OK && (!inner || (divide(plan, s, inner) && bind_temps(plan, &all, &cap, temps)));
        if (!ok)
            break;
        wf__stage *stage = &plan->stage[s];
        ok = verified(plan, &stage->proto, "splitting") && wf__plan_layout(plan, stage, all) &&
             verified(plan, &stage->body, "lowering");
        if (stage->body.red_n > plan->most_reds)
            plan->most_reds = stage->body.red_n;
        for (uint32_t k = 0; ok && stage->reduce && k < stage->body.red_n; ++k) /* where they are is known now */
            wf__temp_bind(&plan->temp[stage->result[k] - plan->objects], &all[stage->result[k]]);
    }
    if (ok)
        wf__plan_fuse(plan, all);
    wf__free(all);
    return ok;
}

/* The launch has room for so many slots of stages that run piece by piece. */
static bool name_numbers(wf__plan *plan)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s];
        bool full = stage->body.slot_n >= WF__MOST_FUSED && (stage->fused || (s && stage[-1].fused));
        if (!stage->scan.on && !full && !wf__plan_numbers(plan, stage))
            return false;
    }
    return true;
}

/* Debug mode tells arrays of the recording by number, in which scratch does not count. */
static bool number_arrays(wf__plan *plan, const wf__recording *rec)
{
    const wf__ir *section[] = { &rec->ir, &rec->init, &rec->deinit };
    uint8_t *scratch = wf__alloc0(plan->objects + 1);
    if (!scratch)
        return wf__plan_no_memory(plan);
    for (size_t i = 0; i < WF__COUNT(section); ++i)
        for (uint32_t s = 0; s < section[i]->slot_n; ++s)
            scratch[section[i]->slot[s].object] |= section[i]->slot[s].scratch != 0;
    for (uint32_t k = 0; k < plan->stage_n; ++k)
        for (uint32_t s = 0; s < plan->stage[k].body.slot_n && plan->stage[k].mem; ++s) {
            wf__mem_layout *mem = &plan->stage[k].mem[s];
            for (uint32_t o = 0; mem->object < plan->objects && !scratch[mem->object] && o <= mem->object; ++o)
                mem->number += !scratch[o];
        }
    wf__free(scratch);
    return true;
}

bool wf__plan_make(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    *plan = (wf__plan){
        .objects = recording->objects, .params = recording->ir.param_n, .gpu = recording->gpu, .cpu = recording->cpu
    };
    bool ok =
        recording->kind == WF__ARRAYS ? wf__plan_split(plan, recording, bind) : wf__plan_space(plan, recording, bind);
    ok = ok && lay_all(plan, bind) && (recording->kind != WF__ARRAYS || name_numbers(plan));
    return ok && (!(recording->ir.flags & WF_DEBUG) || number_arrays(plan, recording));
}

void wf__plan_free(wf__plan *plan, void (*free_code)(void *user, void *code), void *user)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s];
        wf__ir_free(&stage->proto);
        wf__ir_free(&stage->body);
        if (stage->join)
            wf__ir_free(stage->join);
        wf__free(stage->join);
        wf__free(stage->initial);
        wf__free(stage->result);
        wf__free(stage->mem);
        wf__free(stage->view);
        wf__free(stage->copies);
        void *code = atomic_load(&stage->code);
        if (code && free_code)
            free_code(user, code);
    }
    wf__free(plan->stage);
    wf__free(plan->temp);
    *plan = (wf__plan){ 0 };
}
