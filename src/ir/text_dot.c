/* text_dot.c - prints a recording as a graph for Graphviz: a box for each node, a cylinder for each array, dashed lines
 * for nodes without effect. */
#include "ir/pass/pass.h"
#include <stdio.h>
#include <stdlib.h>

/* Adds text inside a quoted string, with quotes and backslashes escaped. */
static void escaped(const char *text, wf__str *out)
{
    for (; *text; ++text) {
        if (*text == '"' || *text == '\\')
            wf__str_add(out, "\\");
        wf__str_addn(out, *text == '\n' ? " " : text, 1);
    }
}

void wf__number_text(const wf__node *n, wf__str *out)
{
    uint64_t bits = wf__bits(n);
    double x = 0;
    int64_t whole = 0;
    if (wf__is_float(n->dtype)) {
        char text[32];
        wf__eval_cast(WF_F64, n->dtype, &x, &bits, 1);
        snprintf(text, sizeof text, "%.9g", x);
        if (n->dtype == WF_F64 && x == x && strtod(text, NULL) != x) /* nine digits do not identify the number */
            snprintf(text, sizeof text, "%.17g", x);
        wf__str_add(out, text);
    } else if (n->dtype == WF_U64) {
        wf__str_addf(out, "%llu", (unsigned long long)bits);
    } else {
        wf__eval_cast(WF_I64, n->dtype, &whole, &bits, 1);
        wf__str_addf(out, "%lld", (long long)whole);
    }
}

static void node_text(const wf__ir *ir, wf__ref r, wf__str *out)
{
    const wf__node *n = &ir->node[r];
    if (n->op == WF__CONST)
        wf__number_text(n, out);
    else
        wf__str_add(out, wf__op_table[n->op].name);
    const wf__field *first = wf__fields_of(n->op);
    if (first->at == WF__AT_a && wf__field_table[first->kind].form == WF__FORM_NUMBER)
        wf__str_addf(out, " %u", (unsigned)n->a);
    wf__str_addf(out, "\\n%s", wf_dtype_name((wf_dtype)n->dtype));
    if (wf__shape_of(ir, r)) {
        char shape[160];
        wf_shape_text(&ir->shape[wf__shape_of(ir, r)], shape, sizeof shape);
        wf__str_addf(out, " %s", shape);
    }
    const char *label = wf__label_of(ir, r);
    if (label) {
        wf__str_add(out, "\\n");
        escaped(label, out);
    }
}

void wf__print_dot(const wf__ir *ir, const char *const *slot_name, const char *id, wf__str *out)
{
    uint8_t *live = wf__alloc0(ir->n);
    if (!live) {
        out->failed = true;
        return;
    }
    for (wf__ref r = 1; r < ir->n; ++r)
        live[r] = wf__op_is_effect(ir->node[r].op);
    wf__mark_live(ir, live);
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        wf__str_addf(out, "  %ss%u [shape=cylinder, label=\"", id, (unsigned)s);
        if (slot_name && slot_name[s])
            escaped(slot_name[s], out);
        else
            wf__str_addf(out, "array %u", (unsigned)ir->slot[s].object);
        wf__str_addf(out, "\\n%s, rank %u\"];\n", wf_dtype_name((wf_dtype)ir->slot[s].dtype),
                     (unsigned)ir->slot[s].rank);
    }
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        wf__ref operand[WF__MAX_OPERANDS];
        if (n->op == WF__NOP)
            continue;
        wf__str_addf(out, "  %sn%u [label=\"", id, (unsigned)r);
        node_text(ir, r, out);
        bool effect = wf__op_is_effect(n->op), loop = wf__is_loop_op(n->op);
        wf__str_addf(out, "\"%s];\n",
                     effect               ? ", style=bold"
                     : loop               ? ", shape=hexagon"
                     : !live[r]           ? ", style=dashed"
                     : n->op == WF__CONST ? ", shape=plaintext"
                                          : "");
        uint32_t count = wf__operands(ir, n, operand);
        for (uint32_t i = 0; i < count; ++i)
            wf__str_addf(out, "  %sn%u -> %sn%u;\n", id, (unsigned)operand[i], id, (unsigned)r);
        if (wf__op_gives_element(n->op))
            wf__str_addf(out, "  %ss%u -> %sn%u;\n", id, (unsigned)n->a, id, (unsigned)r);
        if (wf__op_is_store(n->op))
            wf__str_addf(out, "  %sn%u -> %ss%u;\n", id, (unsigned)r, id, (unsigned)n->a);
        for (const wf__field *f = wf__fields_of(n->op); f->at; ++f)
            if (wf__field_table[f->kind].form == WF__FORM_LINK)
                wf__str_addf(out, "  %sn%u -> %sn%u [style=dotted];\n", id, (unsigned)wf__field_of(ir, n, f->at), id,
                             (unsigned)r);
    }
    wf__free(live);
}
