/* emit_cold.c - rare paths. The body of each path is a function, made once per vector width. A branch skips the call
 * unless some lane needs it. Consecutive COLD nodes of the same path share the branch.
 *
 * With in->early_cold, the branch of varying nodes comes before `otherwise` is computed, which the call does not need.
 * values.c selects between the two at the first use. So no branch stands between the nodes that follow the condition.
 */
#include "codegen/emit.h"

static val make_function(wf__gen *g, uint32_t id, const uint8_t *dtype, uint32_t n, int w)
{
    wf__ir ir;
    wf__ref args[8] = { 0 };
    LLVMTypeRef types[8];
    wf__ir_init(&ir, 0, WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    for (uint32_t i = 0; i < n; i++) {
        args[i] = wf__arg(&ir, i, dtype[i]);
        types[i] = wf__gen_type(g, dtype[i], w);
    }
    wf__ref result = wf__cold_body(&ir, (wf__cold_id)id, args, n);
    val *value = result ? wf__alloc0(ir.n * sizeof *value) : NULL, f = NULL;
    if (value) {
        bb back = g->L->GetInsertBlock(g->b);
        val around = g->function;
        f = wf__gen_function(g, "cold", wf__gen_type(g, wf__dtype(&ir, result), w), types, n, true);
        g->function = f;
        wf__gen_at(g, wf__gen_bb(g, "cold"));
        val given[8];
        for (uint32_t i = 0; i < n; i++)
            given[i] = g->L->GetParam(f, i);
        wf__gen_pure_nodes(g, &ir, given, w, value);
        g->L->BuildRet(g->b, value[result]);
        g->function = around;
        wf__gen_at(g, back);
    } else {
        wf__gen_fail(g, "code generator: cold path: %s", ir.error[0] ? ir.error : "out of memory");
    }
    wf__free(value);
    wf__ir_free(&ir);
    return f;
}

typedef struct site { /* one COLD node */
    val condition, otherwise, args[8];
    uint32_t n;
} site;

static val get_operand(wf__instance *in, wf__ref r, bool uniform)
{
    return uniform ? wf__get_scalar(in, r) : wf__get_vector(in, r);
}

static site describe_site(wf__instance *in, const wf__node *n, bool uniform, bool early, uint8_t dtype[8])
{
    site s = { .n = wf__tuple_len(in->ir, n->d) };
    if (s.n > WF__COUNT(s.args)) {
        wf__gen_fail(in->g, "code generator: a cold path of %u arguments", s.n);
        s.n = 0;
    }
    for (uint32_t i = 0; i < s.n; i++) {
        wf__ref a = wf__tuple_at(in->ir, n->d)[i];
        s.args[i] = get_operand(in, a, uniform);
        dtype[i] = (uint8_t)wf__dtype(in->ir, a);
    }
    s.condition = get_operand(in, n->a, uniform);
    s.otherwise =
        early ? in->g->L->GetPoison(wf__gen_type(in->g, n->dtype, in->g->width)) : get_operand(in, n->b, uniform);
    if (in->kind == WF__BORDER && !uniform)
        s.condition = g_and(in->g, s.condition, in->lanes.mask);
    return s;
}

/* One branch for all sites: if any lane of any site needs the path, each site calls it. */
static void emit_sites(wf__gen *g, val function, site *s, uint32_t n, int w, bool early, val *result)
{
    val any = s[0].condition, mixed[WF__MOST_SITES];
    for (uint32_t i = 1; i < n; i++)
        any = g_or(g, any, s[i].condition);
    bb from = g->L->GetInsertBlock(g->b), rare = wf__gen_bb(g, "rare"), next = wf__gen_bb(g, "next");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, wf__gen_any(g, any, w), rare, next));
    wf__gen_at(g, rare);
    for (uint32_t i = 0; i < n; i++) {
        val call = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(function), function, s[i].args, s[i].n, "");
        g->L->SetInstructionCallConv(call, LLVMFastCallConv);
        mixed[i] = early ? call : g_select(g, s[i].condition, call, s[i].otherwise);
    }
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, next);
    for (uint32_t i = 0; i < n; i++) {
        result[i] = g->L->BuildPhi(g->b, g->L->TypeOf(mixed[i]), "");
        g->L->AddIncoming(result[i], (val[]){ s[i].otherwise, mixed[i] }, (bb[]){ from, rare }, 2);
    }
}

uint32_t wf__count_cold_run(const wf__instance *in, const uint32_t *order, uint32_t n)
{
    const wf__node *first = wf__at(in->ir, order[0]);
    uint32_t run = 1;
    if (in->vary[order[0]].kind == WF__UNIFORM)
        return 1;
    for (; run < n && run < WF__MOST_SITES; run++) {
        const wf__node *node = wf__at(in->ir, order[run]);
        wf__ref operand[WF__MAX_OPERANDS];
        if (node->op != WF__COLD || node->c != first->c || in->vary[order[run]].kind == WF__UNIFORM)
            return run;
        uint32_t count = wf__operands(in->ir, node, operand);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < run; k++)
                if (operand[i] == order[k])
                    return run;
    }
    return run;
}

void wf__emit_cold(wf__instance *in, const uint32_t *order, uint32_t n)
{
    WF__ASSERT(n > 0);
    wf__gen *g = in->g;
    const wf__node *first = wf__at(in->ir, order[0]);
    bool uniform = in->vary[order[0]].kind == WF__UNIFORM, early = in->early_cold && !uniform;
    val *function = &g->cold[first->c][!uniform], result[WF__MOST_SITES];
    int w = uniform ? 1 : g->width;
    uint8_t dtype[8] = { 0 };
    site s[WF__MOST_SITES];
    for (uint32_t i = 0; i < n; i++)
        result[i] = (s[i] = describe_site(in, wf__at(in->ir, order[i]), uniform, early, dtype)).otherwise;
    if (!*function)
        *function = make_function(g, first->c, dtype, s[0].n, w);
    if (*function)
        emit_sites(g, *function, s, n, w, early, result);
    for (uint32_t i = 0; i < n; i++)
        *(early ? &in->rare[order[i]] : uniform ? &in->scalar[order[i]] : &in->vector[order[i]]) = result[i];
}
