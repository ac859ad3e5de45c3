/* variable.c - variables of a recording, and the contract that an operator made of hooks may declare (apply.c). */
#include "record/record.h"

/* ---- variables ---- */
wf_var wf__new_variable(wf_graph *g, wf__variable var)
{
    if (!wf__grow(&g->var, &g->var_cap, g->var_n + 1, sizeof *g->var)) {
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a variable");
        return wf__no_value(g).h;
    }
    g->var[g->var_n++] = var;
    return (wf_var){ -(g->first_id + (double)g->var_n), g };
}

wf_var(wf_local)(wf_graph *g, wf_dtype dtype, wf_val initial)
{
    if (!wf__is_recording(g))
        return wf__no_value(g).h;
    if (!wf__computable(dtype)) {
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_local: dtype %s is not supported", wf_dtype_name(dtype));
        return wf__no_value(g).h;
    }
    wf__ref value = wf__converted(g, initial, dtype, "wf_local");
    if (!value)
        return wf__no_value(g).h;
    wf__variable var = { .dtype = (uint8_t)dtype, .red = -1 };
    *wf__holds(g, &var) = value;
    return wf__new_variable(g, var);
}

wf_val wf_get(wf_var var)
{
    bool number;
    wf_graph *g = wf__graph_of((wf_val){ var });
    if (!g)
        return (wf_val){ var };
    return wf__value(g, wf__is_recording(g) ? wf__resolve(g, (wf_val){ var }, "wf_get", &number) : 0);
}

/* ---- the contract of an operator ---- */
void wf__set_contract(wf_var var, uint8_t contract, uint32_t operand)
{
    wf__variable *x = wf__variable_of(var);
    if (x) {
        x->contract = contract;
        x->operand = operand;
    }
}

bool wf__was_set(wf_var var) { return wf__variable_of(var) && wf__variable_of(var)->set; }
bool wf__surely_set(wf_var var)
{
    const wf__variable *x = wf__variable_of(var);
    return !x || var.graph->surely_set >> x->operand & 1;
}

static void note_set(wf_graph *g, wf__variable *x)
{
    x->set = true;
    if (x->contract == WF__CONTRACT_OUTPUT)
        g->surely_set |= (uint64_t)1 << x->operand;
    if (x->contract == WF__CONTRACT_INPUT)
        wf__poison(g, WF_ERR_CONTRACT, "the operator writes input %u, which its contract (vectorize) rules out",
                   (unsigned)x->operand);
}

/* Sets a variable. In a block, lanes that take no part keep their value of a variable from outside the block. */
static void assign(wf_graph *g, uint32_t var, wf__ref value)
{
    wf__variable *x = &g->var[var];
    note_set(g, x);
    wf__ref *now = wf__holds(g, x);
    if (!*now && g->block_n)
        wf__poison(g, WF_ERR_CONTRACT,
                   "wf_set: the variable was declared in another section, or in a block that has ended");
    else if (!*now && g->section == WF_SECTION_CALL)
        wf__poison(g, WF_ERR_CONTRACT, "wf_set: the variable was declared in a block that has ended");
    else if (value == *now)
        return;
    else if (wf__is_outer(g, var)) {
        if (!wf__usable(g, *now, "wf_set") || !wf__fits_block(g, value, *now, "wf_set"))
            return;
        value = wf__op3(wf__graph_ir(g), WF__OP_select, wf__lanes_on(g), value, *now);
    }
    *now = value;
}

/* Returns the number of a variable that can be set; UINT32_MAX after poisoning. */
static uint32_t settable(wf_var var, const char *what)
{
    if (!wf__is_recording(var.graph))
        return UINT32_MAX;
    if (wf__variable_of(var))
        return wf__variable_number(var.graph, var.num);
    wf__poison(var.graph, WF_ERR_ARG, "%s: %s", what,
               var.num >= 0 ? "not a variable" : "a variable of a recording that has ended is used");
    return UINT32_MAX;
}

void(wf_set)(wf_var var, wf_val v)
{
    wf_graph *g = var.graph;
    const uint32_t x = settable(var, "wf_set");
    wf__ref value = x != UINT32_MAX ? wf__converted(g, v, g->var[x].dtype, "wf_set") : 0;
    if (value)
        assign(g, x, value);
}

void(wf_inc)(wf_var var, wf_val v)
{
    wf_graph *g = var.graph;
    const uint32_t x = settable(var, "wf_inc");
    if (x == UINT32_MAX)
        return;
    bool number;
    wf__ref by = wf__converted(g, v, g->var[x].dtype, "wf_inc");
    wf__ref old = wf__resolve(g, (wf_val){ var }, "wf_inc", &number);
    if (by && old)
        assign(g, x, wf__op2(wf__graph_ir(g), WF__OP_add, old, by));
}
