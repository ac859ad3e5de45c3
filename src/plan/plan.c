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

wf__stage *wf__plan_add_stage(wf__plan *plan, uint32_t at)
{
    if (!wf__grow(&plan->stage, &plan->stage_cap, plan->stage_n + 1, sizeof *plan->stage)) {
        wf__plan_fail(plan, WF_ERR_MEMORY, "out of memory while planning");
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
        wf__plan_fail(plan, WF_ERR_MEMORY, "out of memory while planning");
        return UINT32_MAX;
    }
    plan->temp[plan->temp_n] = (wf__temp){ .dtype = (uint8_t)dtype, .shape = *shape };
    return plan->objects + plan->temp_n++;
}

void wf__temp_bind(const wf__temp *temp, wf__bind *out)
{
    *out = (wf__bind){ .dtype = temp->dtype, .rank = (uint8_t)temp->shape.rank };
    int64_t stride = 1;
    for (int d = temp->shape.rank - 1; d >= 0; --d) {
        out->dim[d] = temp->shape.dim[d];
        out->stride[d] = stride;
        stride *= out->dim[d] > 0 ? out->dim[d] : 1;
    }
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
        wf__plan_fail(plan, WF_ERR_BACKEND, "after %s: %s", pass, wf__str_get(&error));
    wf__str_free(&error);
    return ok;
#else
    WF__UNUSED(plan);
    WF__UNUSED(ir);
    WF__UNUSED(pass);
    return true;
#endif
}

static bool lay_all(wf__plan *plan, const wf__bind *bind)
{
    uint32_t n = plan->objects + plan->temp_n;
    wf__bind *all = wf__alloc0((n + 1) * sizeof *all);
    if (!all) {
        wf__plan_fail(plan, WF_ERR_MEMORY, "out of memory while planning");
        return false;
    }
    if (plan->objects)
        memcpy(all, bind, plan->objects * sizeof *all);
    for (uint32_t t = 0; t < plan->temp_n; ++t)
        wf__temp_bind(&plan->temp[t], &all[plan->objects + t]);
    bool ok = true;
    for (uint32_t s = 0; s < plan->stage_n && ok; ++s) {
        wf__stage *stage = &plan->stage[s];
        ok = verified(plan, &stage->proto, "splitting") && wf__plan_layout(plan, stage, all) &&
             verified(plan, &stage->body, "lowering");
        if (stage->body.red_n > plan->most_reds)
            plan->most_reds = stage->body.red_n;
    }
    wf__free(all);
    return ok;
}

bool wf__plan_make(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    *plan = (wf__plan){ .objects = recording->objects, .params = recording->ir.param_n };
    bool ok =
        recording->kind == WF__ARRAYS ? wf__plan_split(plan, recording, bind) : wf__plan_space(plan, recording, bind);
    return ok && lay_all(plan, bind);
}

void wf__plan_free(wf__plan *plan, void (*free_code)(void *user, void *code), void *user)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s];
        wf__ir_free(&stage->proto);
        wf__ir_free(&stage->body);
        wf__free(stage->initial);
        wf__free(stage->mem);
        void *code = atomic_load(&stage->code);
        if (code && free_code)
            free_code(user, code);
    }
    wf__free(plan->stage);
    wf__free(plan->temp);
    *plan = (wf__plan){ 0 };
}
