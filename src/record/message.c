/* message.c - names of recordings, operations and arrays in messages.
 *
 * Code that finds a mistake in a recording (the builder, the planner) reports the mistake and the operation concerned
 * (wf__culprit). This file knows the labels and names, and turns the operation into text.
 */
#include "record/record.h"

/* ---- arrays ---- */
/* Returns the number of an array in messages: its position from 1, without scratch and the arrays of wf_watch. */
static uint32_t number_of(const wf__program *p, uint32_t object)
{
    uint32_t number = 1;
    for (uint32_t i = 0; i < object; ++i)
        number += !p->object[i].array->scratch && !p->object[i].array->shown;
    return number;
}

/* Returns the name of an array, its label, or the label of its elements as wf_in returned them; NULL = none. */
static const char *name_of(const wf__program *p, uint32_t object)
{
    const wf__ir *ir = &p->rec.ir;
    if (p->object[object].array->name)
        return p->object[object].array->name;
    for (uint32_t i = 0; i < ir->label_n; ++i) {
        wf__ref r = ir->label[i].ref;
        if (r >= wf__array_ref(0) && ir->slot[r - wf__array_ref(0)].object == object)
            return ir->label[i].text;
        const wf__node *n = r < ir->n ? &ir->node[r] : ir->node;
        if (n->op == WF__LOAD && !n->b && ir->slot[n->a].object == object)
            return ir->label[i].text;
    }
    return NULL;
}

/* Returns the object of the array; object_n = none. */
static uint32_t object_of(const wf__program *p, const wf_array *array)
{
    uint32_t i = 0;
    while (i < p->object_n && p->object[i].array != array)
        ++i;
    return i;
}

/* Sets the name and number of an array. A part takes them from the whole recording. An array that is not in the
 * recording yet gets the next number. */
static void name_array(const wf__program *p, const wf_array *array, wf__bind *bind)
{
    const wf__program *of = p->whole ? p->whole : p;
    uint32_t object = object_of(of, array);
    bind->name = object < of->object_n ? name_of(of, object) : array->name;
    bind->number = array->scratch ? 0 : number_of(of, object);
}

void wf__name_arrays(const wf__program *p, wf__bind *bind)
{
    for (uint32_t i = 0; i < p->object_n; ++i)
        name_array(p, p->object[i].array, &bind[i]);
}

const char *wf__array_called(const wf__program *p, const wf_array *array, const wf_array *as, char text[WF__CALLED])
{
    wf__bind b;
    wf__array_bind(as, &b);
    name_array(p, array, &b);
    return wf__called(&b, "scratch", text);
}

/* ---- operations ---- */
static void add_array(const wf__program *p, uint32_t object, wf__str *out)
{
    const char *name = name_of(p, object);
    if (name)
        wf__str_addf(out, "'%s'", name);
    else if (p->object[object].array->scratch)
        wf__str_add(out, "scratch");
    else
        wf__str_addf(out, "array %u", (unsigned)number_of(p, object));
}

/* Adds an operand: its name, or its value if it is a constant, or the number of the operation that computes it. */
static void add_operand(const wf__program *p, const wf__ir *ir, wf__ref r, wf__str *out)
{
    const char *label = wf__label_of(ir, r);
    const wf__node *n = &ir->node[wf__as_literal(ir, r)];
    if (label)
        wf__str_addf(out, "'%s'", label);
    else if (n->op == WF__CONST)
        wf__number_text(n, out);
    else if (n->op == WF__LOAD && !n->b)
        add_array(p, ir->slot[n->a].object, out);
    else if (n->op == WF__PARAM && n->a < p->param_n)
        wf__str_addf(out, "'%s'", p->param[n->a].name);
    else
        wf__str_addf(out, "%%%u", (unsigned)r);
}

static void add_operation(const wf__program *p, const wf__ir *ir, const wf__node *n, wf__str *out)
{
    bool memory = wf__op_names_slot(n->op);
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t count = wf__operands(ir, n, operand);
    wf__str_addf(out, "%s(", wf__function_of(n));
    if (memory)
        add_array(p, ir->slot[n->a].object, out);
    for (uint32_t i = 0; i < count; ++i) {
        wf__str_add(out, i || memory ? ", " : "");
        add_operand(p, ir, operand[i], out);
    }
    wf__str_add(out, ")");
}

/* Returns the node of the whole recording for node r of its part; 0 = none. */
static wf__ref in_whole(const wf__program *p, wf__ref r)
{
    wf__ref found = p->whole->rec.ir.n;
    while (--found && p->part_of[found] != r)
        continue;
    return found;
}

static void add_culprit(const wf__program *p, wf_section_id section, const wf__culprit *about, wf__str *out)
{
    static const char *const names[] = { "", "WF_SECTION_POST", "WF_SECTION_JOIN", "WF_SECTION_INIT",
                                         "WF_SECTION_DEINIT" };
    wf__culprit at = *about;
    if (p->whole) {
        at.ref = in_whole(p, at.ref);
        p = p->whole;
        if (!at.ref)
            return;
        at.node = p->rec.ir.node[at.ref];
    }
    const wf__ir *ir = &p->rec.section[section];
    const char *label = wf__label_of(ir, at.ref);
    if (at.ref)
        wf__str_addf(out, "operation %%%u", (unsigned)at.ref);
    if (at.ref && section != WF_SECTION_CALL)
        wf__str_addf(out, " of %s", names[section]);
    if (label)
        wf__str_addf(out, " '%s'", label);
    wf__str_add(out, at.ref ? ": " : "");
    add_operation(p, ir, &at.node, out);
}

static void add_recording(const wf__program *p, wf__str *out)
{
    if (p->name || p->here)
        wf__str_addf(out, "%sin %s", out->len ? ", " : "", p->name ? p->name : "the recording");
    if (p->here)
        wf__str_addf(out, " begun at %s", p->here);
}

void wf__add_where(const wf__program *p, wf__str *out)
{
    wf__str where = { 0 };
    add_recording(p, &where);
    if (where.len)
        wf__str_addf(out, " [%s]", wf__str_get(&where));
    wf__str_free(&where);
}

wf_status wf__program_error(wf_context *ctx, const wf__program *p, wf_status status, const char *text,
                            wf_section_id section, const wf__culprit *about)
{
    wf__str where = { 0 };
    if (about && about->node.op != WF__NOP)
        add_culprit(p, section, about, &where);
    add_recording(p, &where);
    wf__error(ctx, status, where.len ? "%s [%s]" : "%s%s", text, wf__str_get(&where));
    wf__str_free(&where);
    return status;
}
