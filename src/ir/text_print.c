/* text_print.c - the text form of a recording. wf__parse (parse.c) reads it back: print(parse(print(x))) == print(x).
 *
 *   rank 2 flags 3                            or: arrays flags 3
 *   slot 0 f32 2 element steps any unit       dtype, rank; object numbers are the api's and not printed
 *   param 0 f32
 *   red 0 f64 add 1
 *   %1 = const f32 0x3f800000                 bits; the value follows as a comment
 *   %2 = index 0
 *   %5 = load f32 s0 [%2 %3] border value other %1 epoch 0
 *   %6 = add f32 %5 %1
 *   accum u32 s1 [%2] add auto %6 if %7       join, mode; the slot line has `spread 32` for private memory, `record 4`
 *   store s1 [%2 %3] %6                       effects have ids too, as all nodes, but nothing refers to them
 *   %9 = loop bool once                       `once`: a condition
 *   %10 = state bool %9 %8 guard
 *   next bool %10 %12
 *   end bool %9
 *   %9 = view f32 (2) slice %6 [%1 %2 %3 %4]   kind, value, numbers or indices; `other %8`
 *   shapes of array graphs stand behind the dtype: %6 = add f32 (3, 4) %5 %1
 */
#include "ir/ir.h"

const char *const wf__join_names[] = { [WF_JOIN_CUSTOM] = "custom", [WF_JOIN_ADD] = "add", [WF_JOIN_MUL] = "mul",
                                       [WF_JOIN_MIN] = "min",       [WF_JOIN_MAX] = "max", [WF_JOIN_AND] = "and",
                                       [WF_JOIN_OR] = "or",         [WF_JOIN_XOR] = "xor", [WF_JOIN_EXCH] = "exch" };
const char *const wf__mode_names[] = { [WF__MODE_AUTO] = "auto",
                                       [WF__MODE_DIRECT] = "direct",
                                       [WF__MODE_LOCAL] = "local",
                                       [WF__MODE_EXPAND] = "expand",
                                       [WF__MODE_ALONE] = "alone" };
const char *const wf__border_names[] = {
    [WF_BORDER_NONE] = "none",         [WF_BORDER_VALUE] = "value",   [WF_BORDER_CLAMP] = "clamp",
    [WF_BORDER_PERIODIC] = "periodic", [WF_BORDER_MIRROR] = "mirror", [WF_BORDER_REFLECT] = "reflect"
};
_Static_assert(WF__COUNT(wf__border_names) == WF__BORDERS, "each border mode has a name");
const char *const wf__step_names[] = {
    [WF__STEP_ANY] = "any", [WF__STEP_ZERO] = "zero", [WF__STEP_UNIT] = "unit", [WF__STEP_BACK] = "back"
};

extern const char *const wf__view_names[]; /* view.c */

static const char *type(unsigned t) { return wf_dtype_name((wf_dtype)t); }

static void header(const wf__ir *ir, wf__str *out)
{
    if (ir->arrays)
        wf__str_addf(out, "arrays flags %u", (unsigned)ir->flags);
    else
        wf__str_addf(out, "rank %d flags %u", (int)ir->rank, (unsigned)ir->flags);
    if (ir->kept || ir->kept_lane)
        wf__str_addf(out, " keeps %u%s", (unsigned)ir->kept, ir->kept_lane ? " lane" : "");
    wf__str_add(out, "\n");
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        const wf__slot *slot = &ir->slot[s];
        wf__str_addf(out, "slot %u %s %u%s", (unsigned)s, type(slot->dtype), (unsigned)slot->rank,
                     slot->element ? " element" : "");
        wf__str_add(out, slot->meets ? " meets" : "");
        if (slot->spread)
            wf__str_addf(out, " spread %u", (unsigned)slot->spread);
        if (slot->record)
            wf__str_addf(out, " record %u", (unsigned)slot->record);
        if (slot->shared)
            wf__str_addf(out, " shared %u", (unsigned)slot->shared);
        wf__str_add(out, slot->rank ? " steps" : "");
        for (int k = 0; k < slot->rank; ++k)
            wf__str_addf(out, " %s", wf__step_names[slot->step[k]]);
        wf__str_add(out, "\n");
    }
    for (uint32_t p = 0; p < ir->param_n; ++p)
        wf__str_addf(out, "param %u %s\n", (unsigned)p, type(ir->param[p]));
    for (uint32_t k = 0; k < ir->red_n; ++k)
        wf__str_addf(out, "red %u %s %s %u\n", (unsigned)k, type(ir->red[k].dtype), wf__join_names[ir->red[k].join],
                     (unsigned)ir->red[k].instances);
}

static void tuple(const wf__ir *ir, uint32_t t, wf__str *out)
{
    if (!t)
        return;
    wf__str_add(out, " [");
    for (uint32_t i = 0; i < wf__tuple_len(ir, t); ++i)
        wf__str_addf(out, "%s%%%u", i ? " " : "", (unsigned)wf__tuple_at(ir, t)[i]);
    wf__str_add(out, "]");
}

static void constant(const wf__node *n, wf__str *out)
{
    uint64_t bits = wf__bits(n);
    wf__str_addf(out, " 0x%llx", (unsigned long long)bits);
    double value = 0;
    wf__eval_cast(WF_F64, n->dtype, &value, &bits, 1);
    wf__str_addf(out, " # %.17g", value);
}

static void operands(const wf__ir *ir, const wf__node *n, wf__str *out)
{
    switch (n->op) {
    case WF__CONST:
        constant(n, out);
        break;
    case WF__PARAM:
    case WF__INDEX:
    case WF__EXTENT:
    case WF__ARG:
    case WF__IOTA:
        wf__str_addf(out, " %u", (unsigned)n->a);
        break;
    case WF__THREAD:
        wf__str_addf(out, " %u %u", (unsigned)n->a, (unsigned)n->aux);
        break;
    case WF__BARRIER:
        wf__str_addf(out, " %u", (unsigned)n->aux);
        break;
    case WF__DIM:
        wf__str_addf(out, " s%u %u", (unsigned)n->a, (unsigned)n->b);
        break;
    case WF__RED:
        wf__str_addf(out, " %u %u", (unsigned)n->a, (unsigned)n->b);
        break;
    case WF__SETRED:
        wf__str_addf(out, " %u %u %%%u", (unsigned)n->a, (unsigned)n->b, (unsigned)n->c);
        break;
    case WF__REDUCE:
        wf__str_addf(out, " %s %%%u axes %u", wf__join_names[n->b], (unsigned)n->a, (unsigned)n->c);
        break;
    case WF__SCAN:
        wf__str_addf(out, " %s %%%u axis %u%s%s", wf__join_names[n->b], (unsigned)n->a, (unsigned)n->c,
                     n->aux & WF__EXCLUSIVE ? " exclusive" : "", n->aux & WF__REVERSED ? " reversed" : "");
        break;
    case WF__VIEW:
        wf__str_addf(out, " %s %%%u", wf__view_names[n->aux], (unsigned)n->a);
        tuple(ir, n->b, out);
        if (n->c)
            wf__str_addf(out, " other %%%u", (unsigned)n->c);
        break;
    case WF__LOAD:
        wf__str_addf(out, " s%u", (unsigned)n->a);
        tuple(ir, n->b, out);
        if (n->aux)
            wf__str_addf(out, " border %s", wf__border_names[n->aux]);
        if (wf__otherwise(ir, n))
            wf__str_addf(out, " other %%%u", (unsigned)n->c);
        wf__str_addf(out, " epoch %u", (unsigned)n->d);
        if (wf__when(ir, n))
            wf__str_addf(out, " if %%%u", (unsigned)wf__when(ir, n));
        break;
    case WF__LOOP:
        wf__str_add(out, n->aux ? " once" : "");
        break;
    case WF__STATE:
        wf__str_addf(out, " %%%u %%%u%s", (unsigned)n->a, (unsigned)n->b, n->aux ? " guard" : "");
        break;
    case WF__NEXT:
        wf__str_addf(out, " %%%u %%%u", (unsigned)n->a, (unsigned)n->b);
        break;
    case WF__END:
        wf__str_addf(out, " %%%u", (unsigned)n->a);
        break;
    case WF__STORE:
        wf__str_addf(out, " s%u", (unsigned)n->a);
        tuple(ir, n->b, out);
        wf__str_addf(out, " %%%u", (unsigned)n->c);
        if (n->d)
            wf__str_addf(out, " if %%%u", (unsigned)n->d);
        break;
    case WF__ACCUM:
    case WF__ATOMIC:
    case WF__CAS:
        wf__str_addf(out, " s%u", (unsigned)n->a);
        tuple(ir, n->b, out);
        if (n->op != WF__CAS)
            wf__str_addf(out, " %s", wf__join_names[wf__node_join(n)]);
        if (n->op == WF__ACCUM)
            wf__str_addf(out, " %s", wf__mode_names[wf__node_mode(n)]);
        if (n->op == WF__CAS) {
            wf__str_add(out, " swap");
            tuple(ir, n->c, out);
        } else
            wf__str_addf(out, " %%%u", (unsigned)n->c);
        if (n->d)
            wf__str_addf(out, " if %%%u", (unsigned)n->d);
        break;
    case WF__CHECK:
        wf__str_addf(out, " %%%u %%%u %u %u%s", (unsigned)n->a, (unsigned)n->b, (unsigned)n->c, (unsigned)n->d,
                     n->aux ? " write" : "");
        break;
    case WF__COLD:
        wf__str_addf(out, " %%%u %%%u %u", (unsigned)n->a, (unsigned)n->b, (unsigned)n->c);
        tuple(ir, n->d, out);
        break;
    default: {
        const wf__ref refs[3] = { n->a, n->b, n->c };
        for (unsigned i = 0; i < wf__op_table[n->op].arity; ++i)
            wf__str_addf(out, " %%%u", (unsigned)refs[i]);
    }
    }
}

void wf__print(const wf__ir *ir, wf__str *out)
{
    header(ir, out);
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (!wf__op_is_effect(n->op) || n->op == WF__ATOMIC || n->op == WF__CAS)
            if (n->op != WF__NEXT && n->op != WF__END)
                wf__str_addf(out, "%%%u = ", (unsigned)r);
        wf__str_addf(out, "%s %s", wf__op_table[n->op].name, type(n->dtype));
        if (ir->arrays && n->shape) {
            char shape[256];
            wf_shape_text(&ir->shape[n->shape], shape, sizeof shape);
            wf__str_addf(out, " %s", shape);
        }
        operands(ir, n, out);
        const char *label = wf__label_of(ir, r);
        if (label)
            wf__str_addf(out, " # %s", label);
        wf__str_add(out, "\n");
    }
}
