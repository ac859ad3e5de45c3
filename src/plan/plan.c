/* plan.c - from a recording to a plan: the list of its stages, each laid out and lowered, verified after every pass in
 * debug builds. */
#include "plan/plan.h"
#include <stdio.h>

/* ---- errors ---- */
const wf__ir *wf__section_of(const wf__recording *rec, wf_section_id section)
{
    const wf__ir *const of[] = { [WF_SECTION_CALL] = &rec->ir,
                                 [WF_SECTION_POST] = &rec->post,
                                 [WF_SECTION_JOIN] = &rec->join,
                                 [WF_SECTION_INIT] = &rec->init,
                                 [WF_SECTION_DEINIT] = &rec->deinit };
    return of[section];
}

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

/* A copy may have other numbers: those of equal nodes are right. */
static void blame(wf__plan *plan, wf_section_id section, const wf__ir *ir, wf__ref r)
{
    const wf__ir *of = wf__section_of(plan->recorded, section);
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
        const wf__ir *ir = wf__section_of(plan->recorded, section);
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
    wf_shape shape = { .rank = b->rank };
    char of[192];
    memcpy(shape.dim, b->dim, sizeof shape.dim);
    wf__shape_text(&shape, of, sizeof of);
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

bool wf__plan_verified(wf__plan *plan, const wf__ir *ir, const char *pass)
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

/* The first function of a joiner that expands to something with a COLD node; 0: none does. */
static wf__ref rare_path(const wf__ir *recorded)
{
    wf__ref found = 0;
    for (wf__ref r = 1; r < recorded->n && !found; ++r) {
        const wf__node *n = &recorded->node[r];
        const wf__ref operand[3] = { n->a, n->b, n->c };
        unsigned arity = wf__op_is_pure(n->op) ? wf__op_table[n->op].arity : 0;
        if (!arity || !wf__expands(n->op, wf__dtype(recorded, operand[arity - 1]), n->dtype))
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
        wf__plan_fail(plan, join->status, "%s", join->error);
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
            ok = wf__plan_scan(plan, s, all) && bind_temps(plan, &all, &cap, temps);
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
        ok = wf__plan_verified(plan, &stage->proto, "splitting") && wf__plan_layout(plan, stage, all);
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
        if (!stage->scan.on && !full &&
            !(wf__plan_numbers(plan, stage) && wf__plan_verified(plan, &stage->body, "naming of numbers")))
            return false;
    }
    return true;
}

/* Debug mode tells arrays of the recording by number; a copy of one is that one. */
static void number_arrays(wf__plan *plan, const wf__bind *bind)
{
    for (uint32_t k = 0; k < plan->stage_n; ++k)
        for (uint32_t s = 0; s < plan->stage[k].body.slot_n && plan->stage[k].mem; ++s) {
            wf__mem_layout *mem = &plan->stage[k].mem[s];
            uint32_t object = wf__plan_original(plan, mem->object);
            mem->number = object < plan->objects ? bind[object].number : 0;
        }
}

bool wf__plan_make(wf__plan *plan, const wf__recording *recording, const wf__bind *bind)
{
    *plan = (wf__plan){
        .objects = recording->objects,
        .params = recording->ir.param_n,
        .gpu = recording->gpu,
        .cpu = recording->cpu,
        .recorded = recording,
    };
    bool ok =
        recording->kind == WF__ARRAYS ? wf__plan_split(plan, recording, bind) : wf__plan_space(plan, recording, bind);
    ok = ok && lay_all(plan, bind) && (recording->kind != WF__ARRAYS || name_numbers(plan));
    for (uint32_t s = 0; s < plan->stage_n; ++s)
        plan->stage[s].columns = recording->columns;
    if (ok && recording->ir.flags & WF_FLAG_DEBUG)
        number_arrays(plan, bind);
    plan->recorded = NULL;
    return ok;
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
