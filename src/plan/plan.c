/* plan.c - functions of a plan for all passes: errors, stages, temporaries, joiners. */
#include "plan/plan.h"
#include "plan/passes.h"
#include <stdio.h>

/* ---- errors ---- */
static bool fail(wf__plan *plan, wf_status status, const char *format, va_list args)
{
    bool first = plan->status == WF_OK;
    if (first) {
        plan->status = status;
        vsnprintf(plan->error, sizeof plan->error, format, args);
    }
    return first;
}

void wf__plan_fail(wf__plan *plan, wf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(plan, status, format, args);
    va_end(args);
}

/* Sets the node that an error is about. `ir` may be a copy with other numbers of nodes, so the equal node of the
 * section is found. */
static void blame(wf__plan *plan, wf_section_id section, const wf__ir *ir, wf__ref r)
{
    const wf__ir *of = &plan->recorded->section[section];
    if (r && r < of->n && !memcmp(&of->node[r], &ir->node[r], sizeof *ir->node)) {
        plan->about = (wf__culprit){ r, of->node[r] };
        plan->section = section;
    }
}

bool wf__plan_fail_at(wf__plan *plan, wf_section_id section, const wf__ir *ir, wf__ref r, wf_status status,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (fail(plan, status, format, args))
        blame(plan, section, ir, r);
    va_end(args);
    return false;
}

bool wf__plan_fail_element(wf__plan *plan, uint32_t object, bool written, wf_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool found = !fail(plan, status, format, args);
    va_end(args);
    for (wf_section_id section = WF_SECTION_CALL; section <= WF_SECTION_POST; ++section) {
        const wf__ir *ir = &plan->recorded->section[section];
        for (wf__ref r = 1; r < ir->n && !found; ++r) {
            const wf__node *n = &ir->node[r];
            found = n->op == (written ? WF__STORE : WF__LOAD) && !n->b && ir->slot[n->a].object == object;
            if (found)
                blame(plan, section, ir, r);
        }
    }
    return false;
}

const char *wf__called(const wf__bind *b, const char *instead, char text[WF__CALLED])
{
    const wf_shape shape = wf__bind_shape(b);
    char of[192];
    wf_shape_text(&shape, of, sizeof of);
    const char *dtype = wf_dtype_name((wf_dtype)b->dtype);
    if (b->name)
        snprintf(text, WF__CALLED, "'%.60s' (%s of shape %s)", b->name, dtype, of);
    else if (b->number)
        snprintf(text, WF__CALLED, "array %u of the recording (in order of first use; %s of shape %s)",
                 (unsigned)b->number, dtype, of);
    else
        snprintf(text, WF__CALLED, "%s (%s of shape %s)", instead, dtype, of);
    return text;
}

bool wf__plan_fail_in(wf__plan *plan, const wf__ir *ir)
{
    wf__plan_fail(plan, ir->status != WF_OK ? ir->status : WF_ERR_MEMORY, "%s",
                  ir->error[0] ? ir->error : "out of memory while planning");
    return false;
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

bool wf__uses_result_parameter(const wf__plan *plan, const wf__stage *stage)
{
    for (wf__ref r = 1; r < stage->lowered.n; ++r)
        if (stage->lowered.node[r].op == WF__PARAM && stage->lowered.node[r].a >= plan->params)
            return true;
    return false;
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

bool wf__planning_bind(wf__planning *p)
{
    const wf__plan *plan = p->plan;
    if (!wf__grow(&p->all, &p->all_cap, plan->objects + plan->temp_n + 1, sizeof *p->all))
        return wf__plan_no_memory(p->plan);
    if (!p->bound && plan->objects)
        memcpy(p->all, p->bind, plan->objects * sizeof *p->all);
    for (; p->bound < plan->temp_n; ++p->bound)
        wf__temp_bind(&plan->temp[p->bound], p->all + plan->objects + p->bound);
    return true;
}

/* Returns the first function of a joiner whose expansion has a COLD node; 0 = none. */
static wf__ref rare_path(const wf__ir *recorded)
{
    wf__ref found = 0;
    for (wf__ref r = 1; r < recorded->n && !found; ++r) {
        const wf__node *n = &recorded->node[r];
        const wf__ref operand[3] = { n->a, n->b, n->c };
        unsigned arity = wf__arity(n->op);
        if (!arity || !wf__expands(n->op, wf__dtype(recorded, wf__last_operand(n)), n->dtype))
            continue;
        wf__ir alone;
        wf__ref x[3] = { 0 };
        wf__ir_init(&alone, 0, recorded->flags);
        for (unsigned i = 0; i < arity; ++i)
            x[i] = wf__arg(&alone, i, wf__dtype(recorded, operand[i]));
        wf__expand(&alone, n->op, n->dtype, x);
        for (wf__ref q = 1; q < alone.n; ++q)
            found = alone.node[q].op == WF__COLD ? r : found;
        wf__ir_free(&alone);
    }
    return found;
}

wf__ir *wf__plan_joiner(wf__plan *plan, const wf__ir *recorded)
{
    wf__ir *join = wf__alloc0(sizeof *join);
    bool ok = join && wf__pass_lower(recorded, join);
    if (!join)
        wf__plan_no_memory(plan);
    else if (!ok)
        wf__plan_fail_in(plan, join);
    for (wf__ref r = 1; ok && r < join->n; ++r)
        if (join->node[r].op == WF__COLD) {
            wf__ref culprit = rare_path(recorded);
            ok = wf__plan_fail_at(plan, WF_SECTION_JOIN, recorded, culprit, WF_ERR_UNSUPPORTED,
                                  "%s: not in section WF_SECTION_JOIN, as sin, cos, tan, erfinv and gamma are not",
                                  culprit ? wf__function_of(&recorded->node[culprit]) : "a function");
        }
    if (join && !ok) {
        wf__ir_free(join);
        wf__free(join);
    }
    return ok ? join : NULL;
}

void wf__plan_free(wf__plan *plan, void (*free_code)(void *user, void *code), void *user)
{
    for (uint32_t s = 0; s < plan->stage_n; ++s) {
        wf__stage *stage = &plan->stage[s];
        wf__ir_free(&stage->recorded);
        wf__ir_free(&stage->lowered);
        if (stage->join)
            wf__ir_free(stage->join);
        wf__free(stage->join);
        wf__free(stage->reduce.initial);
        wf__free(stage->reduce.result);
        wf__free(stage->mem);
        wf__free(stage->view);
        wf__free(stage->gather);
        wf__free(stage->copies.at);
        wf__free(stage->division.share);
        wf__free(stage->division.tally);
        void *code = atomic_load(&stage->code);
        if (code && free_code)
            free_code(user, code);
    }
    wf__free(plan->stage);
    wf__free(plan->step);
    wf__free(plan->temp);
    for (uint32_t o = 0; plan->held && o < plan->objects; ++o)
        wf__needs_release(plan->held[o].read);
    wf__free(plan->held);
    *plan = (wf__plan){ 0 };
}
