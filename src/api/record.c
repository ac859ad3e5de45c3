/* record.c - what a recording says about memory: elements, access by index, indices and extents; variables, reductions,
 * kept values. */
#include "api/api.h"

static bool recording(wf_graph *g) { return g && wf__graph_ir(g)->status == WF_OK; }
static wf_val poison(wf_graph *g) { return (wf_val){ { 0, g } }; }

/* ---- arrays become slots ---- */
static bool may_overlap(const wf_array *a, const wf_array *b)
{
    return !a->buffer || !b->buffer || wf__array_overlap(a, b) != WF__APART; /* formals: whatever will be bound */
}

static bool acceptable(wf_graph *g, const wf_array *array, bool reading, const char *function)
{
    if (g->section == WF_JOIN) {
        wf__poison(g, WF_ERR_CONTRACT,
                   "%s: there are no arrays in section WF_JOIN, only reduced variables and wf_other", function);
        return false;
    }
    if (!array) {
        wf__poison(g, WF_ERR_ARG, "%s: the array is NULL", function);
        return false;
    }
    if (array->ctx != g->ctx) {
        wf__poison(g, WF_ERR_ARG, "%s: the array belongs to another context", function);
        return false;
    }
    wf_state state = wf_array_state(array);
    if (state == WF_FORMAL && array->graph != g) {
        wf__poison(g, WF_ERR_ARG, "%s: '%s' is a formal of another recording", function, array->name);
        return false;
    }
    if (reading && state == WF_LAZY) {
        wf__poison(g, WF_ERR_ARG, "%s: the array was never computed: its recording has not run", function);
        return false;
    }
    if (!reading && array->read_only) {
        wf__poison(g, WF_ERR_ARG, "%s: a broadcast view is read-only", function);
        return false;
    }
    return true;
}

static uint32_t object_of(wf_graph *g, const wf_array *array)
{
    wf__program *p = &g->program;
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (p->object[i].array == array)
            return i;
    if (!wf__grow(&p->object, &p->object_cap, p->object_n + 1, sizeof *p->object)) {
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a recording");
        return UINT32_MAX;
    }
    p->object[p->object_n] = (wf__object){ .array = wf_retain(array) };
    return p->object_n++;
}

/* A new slot; memory stored to already through another slot makes its epoch begin at 1. */
static uint32_t new_slot(wf_graph *g, const wf_array *array, bool element, uint32_t object)
{
    wf__ir *ir = wf__graph_ir(g);
    uint32_t shape = ir->arrays ? wf__shape_id(ir, &array->shape) : 0;
    uint32_t slot = wf__slot_new(ir, array->dtype, array->shape.rank, element, object);
    if (ir->status != WF_OK)
        return slot;
    ir->slot[slot].shape = shape;
    for (uint32_t s = 0; s < slot; ++s)
        if (ir->slot[s].written && may_overlap(array, g->program.object[ir->slot[s].object].array))
            ir->slot[slot].epoch = 1;
    return slot;
}

/* The slot of an array in the current section; false after poisoning. */
static bool slot_of(wf_graph *g, const wf_array *array, bool element, uint32_t *out)
{
    uint32_t object = object_of(g, array);
    if (object == UINT32_MAX)
        return false;
    wf__ir *ir = wf__graph_ir(g);
    if (g->section == WF_POST) { /* few: no need to remember them */
        for (uint32_t s = 0; s < ir->slot_n; ++s)
            if (ir->slot[s].object == object && ir->slot[s].element == element) {
                *out = s;
                return true;
            }
        *out = new_slot(g, array, element, object);
        return ir->status == WF_OK;
    }
    uint32_t *known = element ? &g->program.object[object].element : &g->program.object[object].indexed;
    if (!*known)
        *known = new_slot(g, array, element, object) + 1;
    *out = *known - 1;
    return ir->status == WF_OK;
}

/* A store through one slot is seen through every other slot of memory that overlaps. */
static void note_store(wf_graph *g, uint32_t slot)
{
    wf__ir *ir = wf__graph_ir(g);
    const wf_array *stored = g->program.object[ir->slot[slot].object].array;
    for (uint32_t s = 0; s < ir->slot_n; ++s)
        if (s != slot && may_overlap(stored, g->program.object[ir->slot[s].object].array)) {
            ++ir->slot[s].epoch;
            ir->slot[s].last_store = 0;
        }
}

/* ---- elements ---- */
wf_val wf_in(wf_graph *g, const wf_array *array)
{
    uint32_t slot;
    if (!recording(g) || !acceptable(g, array, true, "wf_in") || !slot_of(g, array, true, &slot))
        return poison(g);
    return wf__value(g, wf__load(wf__graph_ir(g), slot, 0, WF_BORDER_NONE, 0));
}

static bool fits_array(wf_graph *g, wf__ref value, const wf_array *array)
{
    wf__ir *ir = wf__graph_ir(g);
    const wf_shape *have = &ir->shape[ir->node[value].shape];
    wf_shape both;
    if (!ir->arrays)
        return true;
    bool ok = wf__broadcast(have, &array->shape, &both) && both.rank == array->shape.rank;
    for (int d = 0; ok && d < both.rank; ++d)
        ok = both.dim[d] == array->shape.dim[d] || array->shape.dim[d] < 0;
    if (!ok) {
        char from[160], to[160];
        wf__shape_text(have, from, sizeof from);
        wf__shape_text(&array->shape, to, sizeof to);
        wf__poison(g, WF_ERR_SHAPE, "wf_out: a value of shape %s does not fit the array of shape %s", from, to);
    }
    return ok;
}

void(wf_out)(wf_graph *g, wf_array *array, wf_val v)
{
    uint32_t slot;
    if (!recording(g) || !acceptable(g, array, false, "wf_out"))
        return;
    wf__ref value = wf__converted(g, v, array->dtype, "wf_out");
    if (!value || !fits_array(g, value, array) || !slot_of(g, array, true, &slot))
        return;
    wf__store(wf__graph_ir(g), slot, 0, value, wf__lanes_on(g));
    note_store(g, slot);
}

/* ---- by index ---- */
static bool index_tuple(wf_graph *g, const wf_array *array, wf_vals index, const char *function, uint32_t *out)
{
    wf__ir *ir = wf__graph_ir(g);
    wf__ref refs[WF_MAX_RANK];
    if (index.n != (size_t)array->shape.rank || index.n > WF_MAX_RANK) {
        wf__poison(g, WF_ERR_ARG, "%s: %u indices given for an array of rank %d", function, (unsigned)index.n,
                   (int)array->shape.rank);
        return false;
    }
    for (size_t k = 0; k < index.n; ++k) {
        bool number;
        wf__ref ref = wf__resolve(g, index.at[k], function, &number);
        if (number)
            ref = wf__number(g, index.at[k].h.num, WF_I64, function);
        else if (ref && !wf__is_int(wf__dtype(ir, ref))) {
            wf__poison(g, WF_ERR_DTYPE, "%s: index %u is %s, not an integer", function, (unsigned)k,
                       wf_dtype_name((wf_dtype)wf__dtype(ir, ref)));
            return false;
        }
        refs[k] = ref ? wf__cast(ir, ref, WF_I64) : 0;
        if (!refs[k])
            return false;
    }
    *out = wf__tuple(ir, refs, (uint32_t)index.n);
    return ir->status == WF_OK;
}

static wf_val read_at(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index,
                      const char *function)
{
    uint32_t slot, tuple;
    if (!recording(g) || !acceptable(g, array, true, function))
        return poison(g);
    if (g->section == WF_POST) {
        wf__poison(g, WF_ERR_UNSUPPORTED, "%s: not in section WF_POST", function);
        return poison(g);
    }
    if (array->shape.rank == 0)
        return wf_in(g, array);
    wf__ref outside = border == WF_BORDER_VALUE ? wf__converted(g, other, array->dtype, function) : 0;
    if ((border == WF_BORDER_VALUE && !outside) || !index_tuple(g, array, index, function, &tuple) ||
        !slot_of(g, array, false, &slot))
        return poison(g);
    wf__ref when = border == WF_BORDER_NONE ? wf__lanes_on(g) : 0; /* elsewhere every index is right */
    return wf__value(g, wf__load_when(wf__graph_ir(g), slot, tuple, border, outside, when));
}

wf_val wf_read_n(wf_graph *g, const wf_array *array, wf_vals index)
{
    return read_at(g, array, WF_BORDER_NONE, (wf_val){ { 0, NULL } }, index, "wf_read");
}

wf_val wf_read_or_n(wf_graph *g, const wf_array *array, wf_val other, wf_vals index)
{
    return read_at(g, array, WF_BORDER_VALUE, other, index, "wf_read_or");
}

wf_val wf_read_border_n(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index)
{
    if (recording(g) && (border < WF_BORDER_NONE || border > WF_BORDER_REFLECT))
        wf__poison(g, WF_ERR_ARG, "wf_read_border: there is no border mode %d", (int)border);
    return read_at(g, array, border, other, index, "wf_read_border");
}

void wf_write_n(wf_graph *g, wf_array *array, wf_val v, wf_vals index)
{
    uint32_t slot, tuple;
    if (!recording(g) || !acceptable(g, array, false, "wf_write"))
        return;
    if (g->program.rec.kind == WF__ELEMENTS || g->section == WF_POST) {
        wf__poison(g, WF_ERR_UNSUPPORTED,
                   "wf_write: only in array graphs and index spaces; say wf_begin(ctx, .shape = ...)");
        return;
    }
    wf__ref value = wf__converted(g, v, array->dtype, "wf_write");
    if (!value || !index_tuple(g, array, index, "wf_write", &tuple) ||
        !slot_of(g, array, array->shape.rank == 0, &slot))
        return;
    wf__store(wf__graph_ir(g), slot, tuple, value, wf__lanes_on(g));
    note_store(g, slot);
}

/* Memory that points update together. */
bool wf__update_target(wf_graph *g, const wf_array *array, wf_vals index, const char *function, uint32_t *slot,
                       uint32_t *tuple)
{
    if (!acceptable(g, array, true, function) || !acceptable(g, array, false, function))
        return false;
    if (g->program.rec.kind == WF__ELEMENTS || g->section == WF_POST) {
        wf__poison(g, WF_ERR_UNSUPPORTED, "%s: only in array graphs and index spaces; say wf_begin(ctx, .shape = ...)",
                   function);
        return false;
    }
    return index_tuple(g, array, index, function, tuple) && slot_of(g, array, false, slot);
}

void wf__update_noted(wf_graph *g, uint32_t slot) { note_store(g, slot); }

static bool axis_of(wf_graph *g, int *axis, int rank, const char *function)
{
    int given = *axis;
    if (*axis < 0)
        *axis += rank;
    if (*axis >= 0 && *axis < rank)
        return true;
    wf__poison(g, WF_ERR_ARG, "%s: axis %d is out of range for rank %d", function, given, rank);
    return false;
}

static bool in_space(wf_graph *g, const char *function)
{
    if (g->program.rec.kind == WF__SPACE && g->section != WF_JOIN)
        return true;
    wf__poison(g, WF_ERR_ARG,
               "%s: only in a recording with an index space; say wf_begin(ctx, .shape = ...), or use wf_iota",
               function);
    return false;
}

wf_val wf_index(wf_graph *g, int axis)
{
    if (!recording(g) || !in_space(g, "wf_index") || !axis_of(g, &axis, g->program.rec.space.rank, "wf_index"))
        return poison(g);
    if (g->section == WF_POST && g->program.rec.reduce >> axis & 1) {
        wf__poison(g, WF_ERR_CONTRACT, "wf_index: axis %d is reduced: in WF_POST there is no index along it", axis);
        return poison(g);
    }
    return wf__value(g, wf__index(wf__graph_ir(g), axis));
}

wf_val wf_extent(wf_graph *g, int axis)
{
    if (!recording(g) || !in_space(g, "wf_extent") || !axis_of(g, &axis, g->program.rec.space.rank, "wf_extent"))
        return poison(g);
    return wf__value(g, wf__extent(wf__graph_ir(g), axis));
}

wf_val wf_dim(wf_graph *g, const wf_array *array, int axis)
{
    uint32_t slot;
    if (!recording(g) || !acceptable(g, array, false, "wf_dim") || !axis_of(g, &axis, array->shape.rank, "wf_dim") ||
        !slot_of(g, array, false, &slot))
        return poison(g);
    return wf__value(g, wf__dim(wf__graph_ir(g), slot, axis));
}

wf_val wf_iota(wf_graph *g, wf_shape shape, int axis)
{
    int64_t count;
    if (!recording(g))
        return poison(g);
    if (g->program.rec.kind != WF__ARRAYS) {
        wf__poison(g, WF_ERR_ARG, "wf_iota: only in array graphs; in an index space say wf_index");
        return poison(g);
    }
    if (!wf__shape_count(&shape, &count)) {
        wf__poison(g, WF_ERR_SHAPE, "wf_iota: a bad shape");
        return poison(g);
    }
    if (!axis_of(g, &axis, shape.rank, "wf_iota"))
        return poison(g);
    wf__ir *ir = wf__graph_ir(g);
    wf__node n = { .op = WF__IOTA, .dtype = WF_I64, .a = (uint32_t)axis, .shape = wf__shape_id(ir, &shape) };
    return wf__value(g, wf__append(ir, &n));
}

/* ---- variables ---- */
wf_var wf__new_variable(wf_graph *g, wf__variable var)
{
    if (!wf__grow(&g->var, &g->var_cap, g->var_n + 1, sizeof *g->var)) {
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a variable");
        return poison(g).h;
    }
    g->var[g->var_n++] = var;
    return (wf_var){ -(double)g->var_n, g };
}

wf_var(wf_local)(wf_graph *g, wf_dtype dtype, wf_val initial)
{
    if (!recording(g))
        return poison(g).h;
    if (!wf__computable(dtype)) {
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_local: dtype %s is not supported", wf_dtype_name(dtype));
        return poison(g).h;
    }
    wf__ref value = wf__converted(g, initial, dtype, "wf_local");
    if (!value)
        return poison(g).h;
    wf__variable var = { .dtype = (uint8_t)dtype, .red = -1 };
    *wf__holds(g, &var) = value;
    return wf__new_variable(g, var);
}

wf_val wf_get(wf_var var)
{
    bool number;
    wf_graph *g = var.graph;
    if (!g)
        return (wf_val){ var };
    return wf__value(g, recording(g) ? wf__resolve(g, (wf_val){ var }, "wf_get", &number) : 0);
}

/* ---- the contract of an operator ---- */
static wf__variable *variable(wf_var var)
{
    return var.graph && var.num < 0 ? &var.graph->var[(uint32_t)(-var.num) - 1] : NULL;
}

void wf__set_contract(wf_var var, uint8_t contract, uint32_t operand)
{
    wf__variable *x = variable(var);
    if (x) {
        x->contract = contract;
        x->operand = operand;
    }
}

bool wf__was_set(wf_var var) { return variable(var) && variable(var)->set; }
bool wf__surely_set(wf_var var)
{
    const wf__variable *x = variable(var);
    return !x || var.graph->surely_set >> x->operand & 1;
}

static void note_set(wf_graph *g, wf__variable *x)
{
    x->set = true;
    if (x->contract == WF__CONTRACT_OUTPUT)
        g->surely_set |= (uint64_t)1 << x->operand;
    if (x->contract == WF__CONTRACT_INPUT)
        wf__poison(g, WF_ERR_CONTRACT, "%s writes input %u, which its contract (vectorize) rules out",
                   g->program.name ? g->program.name : "the operator", (unsigned)x->operand);
}

/* In a block, what lanes that take no part hold of a variable from outside stays. */
static void assign(wf_graph *g, uint32_t var, wf__ref value)
{
    wf__variable *x = &g->var[var];
    note_set(g, x);
    if (g->section != WF_CALL) {
        *wf__holds(g, x) = value;
        return;
    }
    if (!x->value)
        wf__poison(g, WF_ERR_CONTRACT, "wf_set: the variable was declared in a block that has ended");
    else if (wf__is_outer(g, var))
        value = wf__op3(wf__graph_ir(g), WF__OP_select, wf__lanes_on(g), value, x->value);
    x->value = value;
}

void(wf_set)(wf_var var, wf_val v)
{
    wf_graph *g = var.graph;
    if (!recording(g))
        return;
    if (var.num >= 0) {
        wf__poison(g, WF_ERR_ARG, "wf_set: not a variable");
        return;
    }
    wf__ref value = wf__converted(g, v, g->var[(uint32_t)(-var.num) - 1].dtype, "wf_set");
    if (value)
        assign(g, (uint32_t)(-var.num) - 1, value);
}

void(wf_inc)(wf_var var, wf_val v)
{
    wf_graph *g = var.graph;
    if (!recording(g) || var.num >= 0)
        return;
    bool number;
    uint32_t x = (uint32_t)(-var.num) - 1;
    wf__ref by = wf__converted(g, v, g->var[x].dtype, "wf_inc");
    wf__ref old = wf__resolve(g, (wf_val){ var }, "wf_inc", &number);
    if (by && old)
        assign(g, x, wf__op2(wf__graph_ir(g), WF__OP_add, old, by));
}

/* ---- reductions ---- */
static bool joinable(wf_graph *g, wf_join join, unsigned dtype, const char *function)
{
    unsigned op = wf__join_op(join);
    if (op && wf__types_allow(wf__op_table[op].types, dtype))
        return true;
    if (!op)
        wf__poison(g, WF_ERR_ARG, "%s: there is no join %d here; say WF_ADD to WF_XOR", function, (int)join);
    else
        wf__poison(g, WF_ERR_DTYPE, "%s: %s does not reduce %s", function, wf__op_table[op].name,
                   wf_dtype_name((wf_dtype)dtype));
    return false;
}

/* A reduction with its initial value; -1 after poisoning. */
static int32_t new_reduction(wf_graph *g, unsigned dtype, wf__ref initial, wf_join join)
{
    wf__recording *rec = &g->program.rec;
    if (initial && rec->ir.node[initial].op != WF__CONST)
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_reduced: the initial value must be a constant");
    if (!recording(g) || !wf__grow(&rec->initial, &g->program.initial_cap, rec->ir.red_n + 1, sizeof *rec->initial)) {
        wf__poison(g, WF_ERR_MEMORY, "out of memory for a reduction");
        return -1;
    }
    uint32_t k = wf__red_new(&rec->ir, dtype, join);
    if (!recording(g))
        return -1;
    rec->initial[k] = rec->ir.red[k].start = wf__bits(&rec->ir.node[initial]);
    return (int32_t)k;
}

/* Sums of complex numbers are sums of their parts; for other joins there is no such rule. */
static bool joins_parts(wf_graph *g, wf_join join, const char *function)
{
    if (join == WF_ADD)
        return true;
    wf__poison(g, WF_ERR_UNSUPPORTED, "%s: complex numbers reduce by WF_ADD only", function);
    return false;
}

static wf_var complex_reduced(wf_graph *g, wf_dtype dtype, wf__ref initial, wf_join join)
{
    wf__ir *ir = &g->program.rec.ir;
    unsigned t = wf__part_dtype(dtype);
    wf__ref re = wf__real(ir, initial), im = wf__imag(ir, initial);
    int32_t k = new_reduction(g, t, re, join), second = k < 0 ? -1 : new_reduction(g, t, im, join);
    if (second < 0)
        return poison(g).h;
    re = wf__red(ir, (uint32_t)k, 0);
    im = wf__red(ir, (uint32_t)second, 0);
    return wf__new_variable(
        g,
        (wf__variable){ .dtype = (uint8_t)dtype, .join = (uint8_t)join, .red = k, .value = wf__complex(ir, re, im) });
}

wf_var(wf_reduced)(wf_graph *g, wf_dtype dtype, wf_val initial, wf_join join)
{
    if (!recording(g))
        return poison(g).h;
    wf__recording *rec = &g->program.rec;
    if (!g->reducing || g->section != WF_CALL) {
        wf__poison(g, WF_ERR_CONTRACT, "wf_reduced: only in section WF_CALL of a recording begun with .reduce");
        return poison(g).h;
    }
    if (wf__is_half(dtype) || dtype == WF_C32)
        dtype = dtype == WF_C32 ? WF_C64 : WF_F32; /* a partial sum has no use for a short mantissa */
    bool pairs = wf__is_complex(dtype);
    bool custom = join == WF_JOIN_CUSTOM && !pairs;
    if (!wf__computable(dtype) ||
        !(custom || (pairs ? joins_parts(g, join, "wf_reduced") : joinable(g, join, dtype, "wf_reduced"))))
        return poison(g).h;
    wf__ref first = wf__converted(g, initial, dtype, "wf_reduced");
    if (pairs && first)
        return complex_reduced(g, dtype, first, join);
    int32_t k = new_reduction(g, dtype, first, join);
    if (k < 0)
        return poison(g).h;
    return wf__new_variable(
        g, (wf__variable){
               .dtype = (uint8_t)dtype, .join = (uint8_t)join, .red = k, .value = wf__red(&rec->ir, (uint32_t)k, 0) });
}

/* ---- sections ---- */
static bool has_custom_joins(const wf_graph *g)
{
    for (uint32_t k = 0; k < g->program.rec.ir.red_n; ++k)
        if (g->program.rec.ir.red[k].join == WF_JOIN_CUSTOM)
            return true;
    return false;
}

static void begin_join(wf_graph *g)
{
    wf__recording *rec = &g->program.rec;
    wf__ir *ir = &rec->join;
    for (uint32_t k = 0; k < rec->ir.red_n; ++k) {
        wf__red_new(ir, rec->ir.red[k].dtype, (wf_join)rec->ir.red[k].join);
        for (uint32_t i = 0; i < g->var_n; ++i)
            if (g->var[i].red == (int32_t)k && rec->ir.red[k].join == WF_JOIN_CUSTOM)
                g->var[i].joining = wf__arg(ir, k, rec->ir.red[k].dtype);
    }
}

/* What the variables hold at the end of WF_JOIN is what was joined. */
static void end_join(wf_graph *g)
{
    for (uint32_t i = 0; i < g->var_n; ++i) {
        const wf__variable *var = &g->var[i];
        if (var->red >= 0 && var->joining && recording(g))
            wf__setred(&g->program.rec.join, (uint32_t)var->red, 0, var->joining);
    }
}

static void begin_post(wf_graph *g)
{
    wf__recording *rec = &g->program.rec;
    for (uint32_t p = 0; p < rec->ir.param_n; ++p)
        wf__param(&rec->post, rec->ir.param[p]);
    for (uint32_t k = 0; k < rec->ir.red_n; ++k) {
        wf__ref result = wf__param(&rec->post, rec->ir.red[k].dtype);
        for (uint32_t i = 0; i < g->var_n; ++i)
            if (g->var[i].red == (int32_t)k)
                g->var[i].post = result;
            else if (g->var[i].red == (int32_t)k - 1 && wf__is_complex(g->var[i].dtype))
                g->var[i].post = wf__complex(&rec->post, g->var[i].post, result);
    }
}

void wf__end_section(wf_graph *g)
{
    wf__check_blocks(g);
    if (g->section == WF_JOIN)
        end_join(g);
    else if (g->section == WF_CALL && has_custom_joins(g) && !g->program.rec.join.red_n)
        wf__poison(g, WF_ERR_CONTRACT, "wf_reduced: a custom join needs section WF_JOIN, before WF_POST");
}

void wf_section(wf_graph *g, wf_section_id section)
{
    if (!recording(g) || section == g->section)
        return;
    bool to_join = section == WF_JOIN && g->section == WF_CALL, to_post = section == WF_POST;
    if (!g->reducing || !(to_join || to_post)) {
        wf__poison(
            g, WF_ERR_CONTRACT,
            "wf_section: in a recording begun with .reduce, WF_JOIN may follow WF_CALL, and WF_POST comes last, once");
        return;
    }
    if (to_join && !has_custom_joins(g)) {
        wf__poison(g, WF_ERR_CONTRACT,
                   "wf_section: WF_JOIN is for reduced variables with WF_JOIN_CUSTOM; there are none");
        return;
    }
    if (to_post)
        wf__end_section(g);
    else
        wf__check_blocks(g);
    if (!recording(g))
        return;
    g->section = section;
    if (to_join)
        begin_join(g);
    else
        begin_post(g);
}

wf_var wf_other(wf_var reduced)
{
    wf_graph *g = reduced.graph;
    const wf__variable *var = variable(reduced);
    if (!recording(g))
        return poison(g).h;
    if (g->section != WF_JOIN || !var || var->red < 0 || !var->joining) {
        wf__poison(g, WF_ERR_CONTRACT, "wf_other: only in section WF_JOIN, of a reduced variable with WF_JOIN_CUSTOM");
        return poison(g).h;
    }
    uint32_t k = (uint32_t)var->red;
    wf__variable other = { .dtype = var->dtype, .red = -1 };
    other.joining = wf__arg(&g->program.rec.join, g->program.rec.ir.red_n + k, var->dtype);
    return wf__new_variable(g, other);
}

static wf__ref reduce_real(wf__ir *ir, wf_join join, wf__ref value, wf_axes axes, uint32_t shape)
{
    wf__node n = { .op = WF__REDUCE, .a = value, .b = join, .c = axes, .shape = shape };
    n.dtype = (uint8_t)wf__dtype(ir, value);
    return wf__append(ir, &n);
}

wf_val(wf_reduce)(wf_join join, wf_val v, wf_axes axes)
{
    wf_graph *g = v.h.graph;
    bool number;
    if (!recording(g))
        return poison(g);
    wf__ir *ir = wf__graph_ir(g);
    if (g->program.rec.kind != WF__ARRAYS) {
        wf__poison(g, WF_ERR_ARG, "wf_reduce: only in array graphs; elsewhere say wf_reduced");
        return poison(g);
    }
    wf__ref value = wf__resolve(g, v, "wf_reduce", &number);
    if (!value)
        return poison(g);
    wf_shape shape = ir->shape[ir->node[value].shape];
    if (wf__axes_beyond(axes, shape.rank) || (!axes && shape.rank)) {
        char text[160];
        wf__shape_text(&shape, text, sizeof text);
        wf__poison(g, WF_ERR_ARG,
                   axes ? "wf_reduce: the mask 0x%x names axes beyond those of the shape %s"
                        : "wf_reduce: the mask 0x%x names no axis of the shape %s; say WF_AXES(...)",
                   (unsigned)axes, text);
        return poison(g);
    }
    axes &= (1u << shape.rank) - 1;
    unsigned t = wf__dtype(ir, value);
    bool pairs = wf__is_complex(t);
    if ((join == WF_ADD || join == WF_MUL) && !wf__is_float(t) && !pairs)
        t = t == WF_BOOL || wf__is_signed(t) ? WF_I64 : WF_U64;
    value = wf__cast(ir, value, t);
    if (!value || !(pairs ? joins_parts(g, join, "wf_reduce") : joinable(g, join, t, "wf_reduce")))
        return poison(g);
    shape = wf__kept_shape(&shape, axes);
    uint32_t id = wf__shape_id(ir, &shape);
    if (!pairs)
        return wf__value(g, reduce_real(ir, join, value, axes, id));
    wf__ref re = wf__real(ir, value), im = wf__imag(ir, value);
    re = re ? reduce_real(ir, join, re, axes, id) : 0;
    im = im ? reduce_real(ir, join, im, axes, id) : 0;
    return wf__value(g, wf__complex(ir, re, im));
}

wf_array *(wf_keep)(wf_val v)
{
    wf_graph *g = v.h.graph;
    bool number;
    if (!recording(g))
        return NULL;
    wf__ir *ir = wf__graph_ir(g);
    if (g->program.rec.kind != WF__ARRAYS) {
        wf__poison(g, WF_ERR_ARG, "wf_keep: only in array graphs; in an index space say wf_out");
        return NULL;
    }
    wf__ref value = wf__resolve(g, v, "wf_keep", &number);
    if (!value)
        return NULL;
    wf_shape shape = ir->shape[ir->node[value].shape];
    for (int d = 0; d < shape.rank; ++d)
        if (shape.dim[d] < 0) {
            wf__poison(g, WF_ERR_SHAPE, "wf_keep: the shape depends on a formal; say wf_out into another formal");
            return NULL;
        }
    wf_array *a = wf__array_make(g->ctx, "wf_keep", (wf_dtype)wf__dtype(ir, value), &shape, NULL);
    if (!a || !wf__grow(&g->kept, &g->kept_cap, g->kept_n + 1, sizeof *g->kept)) {
        wf__poison(g, WF_ERR_MEMORY, "wf_keep: out of memory");
        wf_release(a);
        return NULL;
    }
    atomic_store(&a->state, WF_LAZY);
    g->kept[g->kept_n++] = wf_retain(a);
    wf_out(g, a, wf__value(g, value).h);
    return a;
}
