/* cold.c - rare paths. The body of each is a function of its own, made once for each width; where it may be needed, one
 * branch skips the call unless some lane needs it.
 */
#include "codegen/body.h"

static val pure_node(wf__gen *g, const wf__ir *ir, const wf__node *n, const val *value, int w)
{
    const wf__ref operand[3] = { n->a, n->b, n->c };
    if (n->op == WF__CAST)
        return wf__gen_cast(g, n->dtype, wf__dtype(ir, n->a), w, value[n->a]);
    if (n->op == WF__BITCAST)
        return wf__gen_bitcast(g, n->dtype, wf__dtype(ir, n->a), w, value[n->a]);
    val x[3] = { NULL };
    uint64_t bits[3];
    const uint64_t *known[3] = { NULL };
    for (unsigned i = 0; i < wf__op_table[n->op].arity; i++) {
        x[i] = value[operand[i]];
        if (wf__at(ir, operand[i])->op == WF__CONST) {
            bits[i] = wf__bits(wf__at(ir, operand[i]));
            known[i] = &bits[i];
        }
    }
    return wf__gen_op(g, n->op, wf__dtype(ir, n->op == WF__OP_select ? n->c : n->a), w, x, known);
}

/* Emits the nodes up to `result` and returns it from the function `f`. */
static void emit_body(wf__gen *g, const wf__ir *ir, wf__ref result, val f, int w, val *value)
{
    for (uint32_t i = 1; i <= result; i++) {
        const wf__node *n = &ir->node[i];
        if (n->op == WF__CONST)
            value[i] = wf__gen_const(g, n->dtype, w, wf__bits(n));
        else if (n->op == WF__ARG)
            value[i] = g->L->GetParam(f, n->a);
        else if (wf__op_is_pure(n->op))
            value[i] = pure_node(g, ir, n, value, w);
        else if (n->op != WF__NOP)
            wf__gen_fail(g, "code generator: %s in a cold path", wf__op_table[n->op].name);
    }
    g->L->BuildRet(g->b, value[result]);
}

static val make_function(wf__gen *g, uint32_t id, const uint8_t *dtype, uint32_t n, int w)
{
    wf__ir ir;
    wf__ref args[8] = { 0 };
    LLVMTypeRef types[8];
    wf__ir_init(&ir, 0, WF_FOLD | WF_VALUE_NUMBERING);
    for (uint32_t i = 0; i < n; i++) {
        args[i] = wf__arg(&ir, i, dtype[i]);
        types[i] = wf__gen_type(g, dtype[i], w);
    }
    wf__ref result = wf__cold_body(&ir, (wf__cold_id)id, args, n);
    val *value = result ? wf__alloc0(ir.n * sizeof *value) : NULL, f = NULL;
    if (value) {
        block back = g->L->GetInsertBlock(g->b);
        val around = g->function;
        f = wf__gen_function(g, "cold", wf__gen_type(g, wf__dtype(&ir, result), w), types, n, true);
        g->function = f;
        wf__gen_at(g, wf__gen_block(g, "cold"));
        emit_body(g, &ir, result, f, w, value);
        g->function = around;
        wf__gen_at(g, back);
    } else {
        wf__gen_fail(g, "code generator: cold path: %s", ir.error[0] ? ir.error : "out of memory");
    }
    wf__free(value);
    wf__ir_free(&ir);
    return f;
}

void wf__emit_cold(wf__inst *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    bool uniform = in->vary[r].kind == WF__UNIFORM;
    int w = uniform ? 1 : g->width;
    val args[8], *function = &g->cold[n->c][!uniform];
    uint8_t dtype[8];
    uint32_t count = wf__tuple_len(in->ir, n->d);
    if (count > WF__COUNT(args)) {
        wf__gen_fail(g, "code generator: a cold path of %u arguments", count);
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        wf__ref a = wf__tuple_at(in->ir, n->d)[i];
        args[i] = uniform ? wf__inst_scalar(in, a) : wf__inst_vector(in, a);
        dtype[i] = (uint8_t)wf__dtype(in->ir, a);
    }
    val condition = uniform ? wf__inst_scalar(in, n->a) : wf__inst_vector(in, n->a);
    val otherwise = uniform ? wf__inst_scalar(in, n->b) : wf__inst_vector(in, n->b);
    if (in->safe && !uniform)
        condition = g_and(g, condition, in->lane_mask);
    if (!*function)
        *function = make_function(g, n->c, dtype, count, w);
    val result = otherwise;
    if (*function) {
        block from = g->L->GetInsertBlock(g->b), rare = wf__gen_block(g, "rare"), next = wf__gen_block(g, "next");
        wf__gen_unlikely(g, g->L->BuildCondBr(g->b, wf__gen_any(g, condition, w), rare, next));
        wf__gen_at(g, rare);
        val call = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(*function), *function, args, count, "");
        g->L->SetInstructionCallConv(call, LLVMFastCallConv);
        val mixed = g_select(g, condition, call, otherwise);
        g->L->BuildBr(g->b, next);
        wf__gen_at(g, next);
        result = g->L->BuildPhi(g->b, g->L->TypeOf(otherwise), "");
        g->L->AddIncoming(result, (val[]){ otherwise, mixed }, (block[]){ from, rare }, 2);
    }
    *(uniform ? &in->scalar[r] : &in->vector[r]) = result;
}
