/* text_print.c - prints the text form of a recording. wf__parse (text_parse.c) reads it back, such that
 * print(parse(print(x))) == print(x).
 *
 *   rank 2 flags 3                            or: arrays flags 3
 *   slot 0 f32 2 element steps any unit       dtype, rank; wf__step along each axis; no number of the object
 *   slot 1 u32 1 may-alias private 32 record 4    fields of wf__slot; `private` is the field `spread`
 *   slot 2 f32 2 shared 1 steps any unit strides 16 1     the last list if any stride is a constant of the code
 *   param 0 f32
 *   red 0 f64 add 1
 *   %1 = const f32 0x3f800000                 bits; the value follows as a comment
 *   %2 = index 0
 *   %5 = load f32 s0 [%2 %3] border value other %1 epoch 0
 *   %6 = add f32 %5 %1
 *   accum u32 s1 [%2] add auto %6 if %7       join, mode
 *   store s1 [%2 %3] %6                       effects have ids too, as all nodes, but nothing refers to them
 *   %9 = loop bool once                       `once`: a condition
 *   %10 = state bool %9 %8 guard
 *   next bool %10 %12
 *   end bool %9
 *   %9 = view f32 (2) slice %6 [%1 %2 %3 %4]   kind, value, numbers or indices; `other %8`
 *   shapes of array graphs stand behind the dtype: %6 = add f32 (3, 4) %5 %1
 */
#include "ir/ir.h"

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
        wf__str_add(out, slot->may_alias ? " may-alias" : "");
        if (slot->spread)
            wf__str_addf(out, " private %u", (unsigned)slot->spread);
        if (slot->record)
            wf__str_addf(out, " record %u", (unsigned)slot->record);
        if (slot->shared)
            wf__str_addf(out, " shared %u", (unsigned)slot->shared);
        wf__str_add(out, slot->rank ? " steps" : "");
        for (int k = 0; k < slot->rank; ++k)
            wf__str_addf(out, " %s", wf__step_names[slot->step[k]]);
        bool known = false;
        for (int k = 0; k < slot->rank; ++k)
            known = known || slot->stride[k];
        wf__str_add(out, known ? " strides" : "");
        for (int k = 0; k < slot->rank && known; ++k)
            wf__str_addf(out, " %d", (int)slot->stride[k]);
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

static void field(const wf__ir *ir, const wf__node *n, wf__field f, wf__str *out)
{
    const wf__field_info *kind = &wf__field_table[f.kind];
    const char *space = *kind->word ? " " : "";
    uint32_t x = wf__field_of(ir, n, f.at);
    unsigned names;
    switch ((wf__form)kind->form) {
    case WF__FORM_REF:
    case WF__FORM_LINK:
        wf__str_addf(out, " %%%u", (unsigned)x);
        break;
    case WF__FORM_OPTIONAL:
        if (x)
            wf__str_addf(out, " %s %%%u", kind->word, (unsigned)x);
        break;
    case WF__FORM_LIST:
        wf__str_addf(out, "%s%s", space, kind->word);
        tuple(ir, x, out);
        break;
    case WF__FORM_SLOT:
        wf__str_addf(out, " s%u", (unsigned)x);
        break;
    case WF__FORM_NUMBER:
        wf__str_addf(out, "%s%s %u", space, kind->word, (unsigned)x);
        break;
    case WF__FORM_NAME:
        if (x || !*kind->word)
            wf__str_addf(out, "%s%s %s", space, kind->word, wf__field_names(f.kind, &names)[x]);
        break;
    case WF__FORM_FLAG:
        if (x & kind->number)
            wf__str_addf(out, " %s", kind->word);
        break;
    case WF__FORM_BITS:
        constant(n, out);
        break;
    case WF__FORM_HIDDEN:
        break;
    }
}

void wf__print(const wf__ir *ir, wf__str *out)
{
    header(ir, out);
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (wf__op_has_value(n->op) || n->op == WF__LOOP || n->op == WF__NOP)
            wf__str_addf(out, "%%%u = ", (unsigned)r);
        wf__str_addf(out, "%s %s", wf__op_table[n->op].name, type(n->dtype));
        if (ir->arrays && n->shape) {
            char shape[256];
            wf_shape_text(&ir->shape[n->shape], shape, sizeof shape);
            wf__str_addf(out, " %s", shape);
        }
        for (const wf__field *f = wf__fields_of(n->op); f->at; ++f)
            field(ir, n, *f, out);
        const char *label = wf__label_of(ir, r);
        if (label)
            wf__str_addf(out, " # %s", label);
        wf__str_add(out, "\n");
    }
}
