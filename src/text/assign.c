/* assign.c - the statements of operator text that give something a value: declarations, assignments to arrays,
 * variables and names, and writes by index.
 *
 * A typed local is a variable of the recording. A name without a type stands for a value. Assigning to such a name
 * again gives the name to another value. A block cannot do that to a name declared outside of it, since what follows
 * the block would not know which value the name stands for: such an assignment is refused.
 */
#include "text/record.h"
#include "weft/distributed.h"
#include "weft/functions.h"
#include <stdio.h>

/* False, with a message, if the value is a number that the dtype of the target cannot hold. A target without a dtype is
 * an array that is NULL, which wf_out reports. */
static bool check_fits(wf__recorder *r, const wf__stmt *s, wf__tval value, wf_dtype dtype)
{
    if (r->failed || !wf__tval_is_number(value) || dtype == WF_NONE || wf_number_fits(value.v.h.num, dtype))
        return !r->failed;
    const char *name = wf_dtype_name(dtype);
    wf__text_mistake(r, WF_ERR_DTYPE, s->value ? r->text->node[s->value].at : s->at,
                     "%.10g does not fit %s, the dtype of %.*s; %s(%.10g) converts it", value.v.h.num, name,
                     wf__text_shown(s->len), r->text->src + s->at, name, value.v.h.num);
    return false;
}

/* Fails if a declared array has more axes than arrays can have. */
static void check_rank(wf__recorder *r, const wf__stmt *s)
{
    if (s->n > WF_MAX_RANK)
        wf__text_mistake(r, WF_ERR_SHAPE, s->at, "%.*s has %u axes; at most %d are possible", wf__text_shown(s->len),
                         r->text->src + s->at, s->n, WF_MAX_RANK);
}

/* Declares the local array `dtype name[list] = value`. */
static wf_array *make_array(wf__recorder *r, const wf__stmt *s, wf_dtype dtype, wf__tval value)
{
    wf_shape shape = { .rank = (int32_t)s->n };
    char name[64];
    check_rank(r, s);
    for (uint32_t k = 0; k < s->n && !r->failed; k++) {
        uint32_t node = r->text->list[s->a + k];
        wf__tval n = r->value[node];
        if (!wf__tval_is_number(n) || n.real || n.v.h.num < 1 || n.v.h.num > 65536)
            wf__text_mistake(r, WF_ERR_SHAPE, r->text->node[node].at,
                             "the length of a local array must be a whole number, known before the program runs");
        else
            shape.dim[k] = (int64_t)n.v.h.num;
    }
    if (r->failed || !check_fits(r, s, value, dtype))
        return NULL;
    snprintf(name, sizeof name, "%.*s", wf__text_shown(s->len), r->text->src + s->at);
    return wf_local_array(r->graph, name, dtype, shape, value.v);
}

void wf__text_declare(wf__recorder *r, const wf__stmt *s, wf_dtype dtype)
{
    const wf__text_name *other = wf__text_assigned(r, s->at, s->len);
    const wf_arg *arg = wf__text_arg(r, s->at, s->len);
    const char *name = r->text->src + s->at;
    int w = r->made ? wf__text_wanted(r, s->at, s->len) : -1;
    if ((other && other->level == r->level) || (w >= 0 && r->made[w]))
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is declared already", wf__text_shown(s->len), name);
    else if (arg && (arg->kind != WF_ARG_ARRAY || r->level > 0 || s->n))
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is an argument already", wf__text_shown(s->len), name);
    wf__tval value = s->value ? r->value[s->value] : wf__tval_number(0, false);
    wf_array *array = s->n && !r->failed ? make_array(r, s, dtype, value) : NULL;
    wf_var var = !s->n && check_fits(r, s, value, dtype) ? wf_local(r->graph, dtype, value.v) : value.v.h;
    wf__text_check(r, s->at);
    wf__text_name *entry = r->failed ? NULL : wf__text_new_name(r, s->at, s->len);
    if (!entry)
        return;
    entry->array = array;
    entry->dtype = (uint8_t)dtype;
    entry->constant = s->constant;
    entry->value.v.h = var;
    if (s->constant)
        entry->value.v = wf_get(var);
}

/* Returns the shape of the global array `dtype name[list]`. */
static wf_shape global_shape(wf__recorder *r, const wf__stmt *s)
{
    wf_shape shape = { .rank = (int32_t)s->n };
    check_rank(r, s);
    for (uint32_t k = 0; k < s->n && !r->failed; k++) {
        const double most = 1099511627776.0;
        const wf__tree *node = &r->text->node[r->text->list[s->a + k]];
        double n = 0;
        if (!wf__text_number(r, node, r->value[r->text->list[s->a + k]], "an extent", &n))
            break;
        if (!(n >= 1 && n <= most) || n != (double)(int64_t)n)
            wf__text_mistake(r, WF_ERR_SHAPE, node->at, "an extent is a whole number from 1 to %.0f, not %.10g", most,
                             n);
        else
            shape.dim[k] = (int64_t)n;
    }
    return shape;
}

/* Declares the global array `dtype name[list] = value`, whose elements belong to all points. */
static void declare_global(wf__recorder *r, const wf__stmt *s)
{
    const char *name = r->text->src + s->at;
    wf_dtype dtype = (wf_dtype)s->dtype;
    if (r->indexed)
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, s->at,
                         "a global array is made before the program runs: wf_text and wf_text_create do that (weft "
                         "calc); a recording of your own or a dump cannot");
    else if (wf__text_assigned(r, s->at, s->len))
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is declared already", wf__text_shown(s->len), name);
    else if (wf__text_arg(r, s->at, s->len))
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is an argument already", wf__text_shown(s->len), name);
    if (r->failed)
        return;
    wf_shape shape = global_shape(r, s);
    wf__tval value = s->value ? r->value[s->value] : wf__tval_number(0, false);
    if (r->failed || !check_fits(r, s, value, dtype))
        return;
    wf_array *array = wf_empty(wf_graph_context(r->graph), dtype, shape, .device = wf__text_result_device(r));
    if (array && !wf_val_number(value.v, NULL, NULL)) {
        wf_shape have = wf_val_shape(value.v);
        bool one = true;
        for (int d = 0; d < have.rank; d++)
            one &= have.dim[d] == 1;
        value.v = wf_broadcast(one && have.rank ? wf_reshape(value.v, WF_SHAPE(1)) : value.v, shape);
    }
    wf__text_name *entry = array ? wf__text_new_name(r, s->at, s->len) : NULL;
    if (!entry) {
        wf_release(array);
        if (!r->failed)
            wf__text_mistake(r, WF_ERR_MEMORY, s->at, "out of memory for %.*s", wf__text_shown(s->len), name);
        return;
    }
    entry->whole = array;
    entry->stored = entry->own = true;
    r->written = true;
    wf_out(r->graph, array, value.v);
    wf__text_check(r, s->at);
}

/* ---- values ---- */

/* Returns the value, or `old op value` for an assignment like +=. An integer variable divided by an integer stays an
 * integer, as in C. */
static wf__tval combine_values(wf__recorder *r, const wf__stmt *s, wf__tval old, wf_dtype variable)
{
    wf__tval value = r->value[s->value];
    if (!s->op || r->failed)
        return value;
    wf_dtype t = wf__tval_is_number(value) ? WF_NONE : wf_val_dtype(value.v);
    bool whole = t == WF_NONE ? !value.real : wf__text_is_int(t);
    if (s->op == '/' && wf__text_is_int(variable) && whole)
        value = wf__tval_call(&r->convert, wf__tval_function("idiv", 4), (wf__tval[]){ old, value });
    else
        value = wf__tval_binary(&r->convert, s->op, old, value);
    if (r->convert.why[0])
        return wf__text_mistake(r, WF_ERR_DTYPE, s->op_at, "%s", r->convert.why);
    wf__text_check(r, s->op_at);
    return value;
}

static wf__tval old_value(wf__recorder *r, const wf__stmt *s)
{
    wf__tree name = { .kind = WF__TREE_NAME, .at = s->at, .len = s->len };
    wf__tval value = s->op ? wf__text_lookup(r, &name) : wf__tval_number(0, false);
    wf__text_check(r, s->at);
    return value;
}

/* ---- assignments ---- */

wf_dtype wf__text_result_dtype(const wf__recorder *r, wf__tval value)
{
    wf_dtype t = wf__tval_real(&r->convert, value);
    if (wf__text_is_pair(value.v))
        return t == WF_F64 ? WF_C128 : WF_C64;
    return wf__tval_is_number(value) ? t : wf_val_dtype(value.v);
}

wf_device wf__text_result_device(const wf__recorder *r)
{
    wf_device device = wf_graph_device(r->graph);
    for (size_t i = 0; i < r->args.n && !device; i++) /* the first array will decide */
        if (r->args.at[i].kind == WF_ARG_ARRAY)
            device = wf_array_device(r->args.at[i].as.array);
    return device;
}

wf_array *wf__text_space_array(const wf__recorder *r, wf_val value, wf_dtype dtype)
{
    enum { MOST = 64 }; /* arguments that are looked at, without an allocation that may fail on one rank */
    const wf_array *arg[MOST];
    size_t n = 0;
    for (size_t i = 0; i < r->args.n && n < MOST; i++)
        if (r->args.at[i].kind == WF_ARG_ARRAY)
            arg[n++] = r->args.at[i].as.array;
    return wf_empty_beside(wf_graph_context(r->graph), dtype, r->space, .operand = arg, .operands = n,
                           .graph = r->graph, .value = r->level ? (wf_val){ { 0, NULL } } : value,
                           .device = wf__text_result_device(r));
}

/* Returns the array of result number `w`, which the first call makes. With `everywhere` all of it is going to be
 * written; otherwise it begins as zeros. */
static wf_array *make_result(wf__recorder *r, int w, uint32_t at, wf__tval value, bool everywhere)
{
    bool fresh = !r->made[w] && !r->failed;
    everywhere |= r->prepares;
    if (fresh)
        r->made[w] = wf__text_space_array(r, value.v, wf__text_result_dtype(r, value));
    if (r->made[w] && fresh && !everywhere && wf_array_fill(r->made[w], 0) != WF_OK) {
        wf_release(r->made[w]);
        r->made[w] = NULL;
    }
    if (!r->made[w] && !r->failed)
        wf__text_mistake(r, WF_ERR_MEMORY, at, "out of memory for a result");
    return r->failed ? NULL : r->made[w];
}

/* Assigns the value to the element at the point. */
static void store_element(wf__recorder *r, wf_array *array, const wf__stmt *s, wf__tval value)
{
    wf_shape shape = wf_array_shape(array);
    const wf_shape *space = &r->space;
    if (r->failed)
        return;
    if (r->spaced && !wf__text_same_shape(&shape, space)) {
        char have[160], want[160];
        wf_shape_text(&shape, have, sizeof have);
        wf_shape_text(space, want, sizeof want);
        wf__text_mistake(r, WF_ERR_SHAPE, s->at, "%.*s has shape %s, the index space %s; write it by index: %.*s[...]",
                         wf__text_shown(s->len), r->text->src + s->at, have, want, wf__text_shown(s->len),
                         r->text->src + s->at);
        return;
    }
    r->written = true;
    if (check_fits(r, s, value, wf_array_dtype(array)))
        wf_out(r->graph, array, value.v);
    wf__text_check(r, s->at);
}

/* Names the value of a statement for the derivatives with respect to it, which are called d(name) in dumps. Another name
 * of a value, and derivatives, have names. */
static void label_value(const wf__recorder *r, const wf__stmt *s, wf_val value)
{
    const wf__text *t = r->text;
    const wf__tree *node = &t->node[s->value];
    char name[60];
    if (!t->derives || r->failed || node->kind == WF__TREE_NAME || node->kind == WF__TREE_PICK ||
        (node->kind == WF__TREE_CALL && wf__text_is(t, node->at, node->len, "grad")))
        return;
    snprintf(name, sizeof name, "%.*s", wf__text_shown(s->len), t->src + s->at);
    wf_label(value, name);
}

static void rename_value(wf__recorder *r, const wf__stmt *s, wf__text_name *entry)
{
    if (entry && entry->level < r->level) {
        wf_dtype t = entry->stored                      ? wf_array_dtype(entry->whole)
                     : wf__tval_is_number(entry->value) ? WF_F32
                                                        : wf_val_dtype(entry->value.v);
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at,
                         "%.*s stands for one value outside of this block: to change it here, declare it with a type, "
                         "like: %s %.*s = ...",
                         wf__text_shown(s->len), r->text->src + s->at, wf_dtype_name(t), wf__text_shown(s->len),
                         r->text->src + s->at);
        return;
    }
    if (!entry && r->stepping) {
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "the step of a loop changes a variable declared before it");
        return;
    }
    wf__tval value = combine_values(r, s, old_value(r, s), WF_NONE);
    if (!entry)
        entry = r->failed ? NULL : wf__text_new_name(r, s->at, s->len);
    if (r->failed || !wf__text_hold(r, entry->whole, s->at))
        return;
    *entry = (wf__text_name){ .at = s->at, .len = s->len, .level = r->level, .value = value };
    label_value(r, s, value.v);
}

static void assign_name(wf__recorder *r, const wf__stmt *s)
{
    const wf_arg *arg = wf__text_arg(r, s->at, s->len);
    wf__text_name *entry = wf__text_assigned(r, s->at, s->len);
    int w = wf__text_wanted(r, s->at, s->len);
    if (entry && entry->gone) {
        wf__text_gone(r, s->at, s->len);
    } else if (entry && entry->array) {
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is a local array: assign its elements, %.*s[...] = ...",
                         wf__text_shown(s->len), r->text->src + s->at, wf__text_shown(s->len), r->text->src + s->at);
    } else if (entry && entry->constant) {
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is a constant", wf__text_shown(s->len), r->text->src + s->at);
    } else if (entry && entry->dtype != WF_NONE) {
        wf_var var = entry->value.v.h;
        wf__tval value = combine_values(r, s, old_value(r, s), (wf_dtype)entry->dtype);
        if (check_fits(r, s, value, (wf_dtype)entry->dtype))
            wf_set(var, value.v);
    } else if (entry) {
        rename_value(r, s, entry);
    } else if (w >= 0 && r->indexed) {
        wf__tval value = combine_values(r, s, old_value(r, s), WF_NONE);
        wf_array *array = make_result(r, w, s->at, value, r->level == 0);
        store_element(r, array, s, value);
    } else if (w < 0 && arg && arg->kind == WF_ARG_ARRAY) {
        store_element(r, arg->as.array, s, combine_values(r, s, old_value(r, s), WF_NONE));
    } else if (w < 0 && arg && arg->kind == WF_ARG_VALUE && wf__text_is_variable(arg->as.val)) {
        wf__tval value = combine_values(r, s, old_value(r, s), wf_val_dtype(arg->as.val));
        if (check_fits(r, s, value, wf_val_dtype(arg->as.val)))
            wf_set(arg->as.val.h, value.v);
    } else if (s->bare && !r->want_n) {
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at,
                         "an expression at the end is assigned to 'out', which is no argument here; write name = ...");
    } else {
        rename_value(r, s, NULL);
    }
    wf__text_check(r, s->at);
}

/* ---- writes by index ---- */

/* Returns the lanes whose index is inside the array; the number 1 if all are. *own: no two points write one element. */
static wf__tval test_inside(wf__recorder *r, const wf__stmt *s, const wf_array *array, const wf__tval *index, bool *own)
{
    wf_shape shape = wf_array_shape(array);
    const wf_shape *space = &r->space;
    wf__tval all = wf__tval_number(1, false);
    *own = shape.rank == space->rank;
    for (int k = 0; k < shape.rank && !r->failed; k++) {
        int axis = space->rank - shape.rank + k;
        wf_val point = { { 0, NULL } };
        if (axis >= 0)
            point = wf_index(r->graph, axis);
        if (axis >= 0 && shape.dim[k] == space->dim[axis] && !wf__tval_is_number(index[k]) &&
            index[k].v.h.num == point.h.num)
            continue;
        *own = false;
        if (wf__tval_is_number(index[k]) && index[k].v.h.num >= 0 && index[k].v.h.num < (double)shape.dim[k])
            continue;
        wf__tval i = wf__tval_cast(&r->convert, index[k], WF_I64);
        wf__tval lo = wf__tval_binary(&r->convert, WF__TOK_GE, i, wf__tval_number(0, false));
        wf__tval hi = wf__tval_binary(&r->convert, '<', i, wf__tval_node(wf_dim(r->graph, array, k)));
        all = wf__tval_binary(&r->convert, WF__TOK_ANDAND, all, wf__tval_binary(&r->convert, WF__TOK_ANDAND, lo, hi));
        wf__text_check(r, s->at);
    }
    return all;
}

/* Returns a new array with the contents of an argument, for a result that has its name. */
static wf_array *copy_array(wf__recorder *r, const wf_array *array)
{
    wf_array *copy = wf_like(array);
    if (r->prepares)
        return copy;
    wf_graph *g =
        wf_begin_with(wf_graph_context(r->graph), &(wf_space){ .size = sizeof(wf_space), .device = r->device });
    wf_out(g, copy, wf_in(g, array));
    if (wf_run(g) == WF_OK)
        return copy;
    wf_release(copy);
    return NULL;
}

static wf_array *written_array(wf__recorder *r, const wf__stmt *s)
{
    const wf_arg *arg = wf__text_arg(r, s->at, s->len);
    int w = wf__text_wanted(r, s->at, s->len);
    const char *name = r->text->src + s->at;
    wf__text_name *entry = wf__text_assigned(r, s->at, s->len);
    if (entry && entry->stored && entry->dtype == WF_NONE) {
        wf_array *mine = entry->own ? entry->whole : wf_copy(entry->whole);
        if (!mine)
            wf__text_mistake(r, WF_ERR_MEMORY, s->at, "out of memory for %.*s", wf__text_shown(s->len), name);
        if (mine && !entry->own)
            wf_release(entry->whole);
        entry->whole = mine ? mine : entry->whole;
        entry->own = mine != NULL;
        return mine;
    }
    if (entry && entry->gone) {
        wf__text_gone(r, s->at, s->len);
        return NULL;
    }
    if (entry) {
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is no array: it has no elements", wf__text_shown(s->len), name);
        return NULL;
    }
    if (w >= 0 && !r->made[w] && arg && arg->kind == WF_ARG_ARRAY) {
        r->made[w] = copy_array(r, arg->as.array);
        if (!r->made[w])
            wf__text_mistake(r, WF_ERR_MEMORY, s->at, "out of memory for a result");
        return r->made[w];
    }
    if (w >= 0 && !r->made[w] && s->op)
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s has no elements yet: pass an array of this name",
                         wf__text_shown(s->len), name);
    if (w >= 0)
        return make_result(r, w, s->at, r->value[s->value], false);
    if (arg && arg->kind == WF_ARG_ARRAY && arg->as.array)
        return arg->as.array;
    if (arg && arg->kind == WF_ARG_ARRAY)
        wf__text_mistake(r, WF_ERR_ARG, s->at, "%.*s is NULL", wf__text_shown(s->len), name);
    else if (arg)
        wf__text_mistake(r, WF_ERR_SYNTAX, s->at, "%.*s is no array: it has no elements", wf__text_shown(s->len), name);
    else
        wf__text_unknown(r, &(wf__tree){ .at = s->at, .len = s->len }, false);
    return NULL;
}

/* Records array[index] op= value where `all` holds, for elements that points may share. */
static void record_accumulate(wf__recorder *r, const wf__stmt *s, wf_array *array, wf__tval all, wf_vals where)
{
    wf__tval value = r->value[s->value];
    wf_join join = s->op == '+' || s->op == '-' ? WF_JOIN_ADD
                   : s->op == '*'               ? WF_JOIN_MUL
                   : s->op == '&'               ? WF_JOIN_AND
                   : s->op == '|'               ? WF_JOIN_OR
                   : s->op == '^'               ? WF_JOIN_XOR
                                                : WF_JOIN_CUSTOM;
    if (join == WF_JOIN_CUSTOM) {
        wf__text_mistake(
            r, WF_ERR_UNSUPPORTED, s->op_at,
            "points that share an element can change it by += -= *= &= |= ^= only; other operators need the "
            "point's own element");
        return;
    }
    if (!wf__text_is_pair(value.v) && !check_fits(r, s, value, wf_array_dtype(array)))
        return;
    if (s->op == '-') /* converted before the sign changes: -v in a narrower or unsigned dtype would wrap */
        value = wf__tval_unary(&r->convert, '-', wf__tval_cast(&r->convert, value, wf_array_dtype(array)));
    if (wf__tval_is_number(all))
        wf_accumulate_n(r->graph, join, WF_MODE_AUTO, array, value.v, where);
    else
        wf_accumulate_if_n(r->graph, all.v, join, WF_MODE_AUTO, array, value.v, where);
    wf__text_check(r, s->op_at);
}

static void write_local(wf__recorder *r, const wf__stmt *s, wf_array *array, wf_vals where)
{
    wf__tval value = r->value[s->value];
    wf_dtype dtype = wf_array_dtype(array);
    if (s->op)
        value = combine_values(r, s, wf__tval_node(wf_read_n(r->graph, array, where)), dtype);
    if (check_fits(r, s, value, dtype))
        wf_write_n(r->graph, array, value.v, where);
    wf__text_check(r, s->at);
}

static void write_at(wf__recorder *r, const wf__stmt *s)
{
    wf__tval at[WF_MAX_RANK];
    wf_val index[WF_MAX_RANK];
    const wf__text_name *local = wf__text_assigned(r, s->at, s->len);
    wf_array *array = local && local->array ? local->array : written_array(r, s);
    if (r->failed || !array || !wf__text_as_many(r, s->at, s->len, array, s->n) || !wf__text_indices(r, s->a, s->n, at))
        return;
    for (uint32_t k = 0; k < s->n; k++)
        index[k] = at[k].v;
    wf_vals where = { index, s->n };
    if (local && local->array) {
        write_local(r, s, array, where);
        return;
    }
    bool own;
    wf__tval all = test_inside(r, s, array, at, &own), value = r->value[s->value];
    bool test = !wf__tval_is_number(all);
    if (s->op && !own && !r->failed) {
        record_accumulate(r, s, array, all, where);
        return;
    }
    if (s->op && !r->failed)
        value = combine_values(r, s, wf__tval_node(wf_read_n(r->graph, array, where)), WF_NONE);
    if (!wf__text_is_pair(value.v) && !check_fits(r, s, value, wf_array_dtype(array)))
        return;
    if (test && !r->failed)
        wf_if_(r->graph, WF__TEXT_HERE, all.v);
    if (!r->failed)
        wf_write_n(r->graph, array, value.v, where);
    if (test && !r->failed)
        wf_end_(r->graph, WF__TEXT_HERE);
    r->blocks += test;
    wf__text_check(r, s->at);
}

void wf__text_assign(wf__recorder *r, const wf__stmt *s)
{
    wf__text_evaluate(r, s);
    if (r->failed)
        return;
    if (s->kind == WF__STMT_ASSIGN)
        assign_name(r, s);
    else if (s->kind == WF__STMT_GLOBAL)
        declare_global(r, s);
    else if (s->kind == WF__STMT_LOCAL)
        wf__text_declare(r, s, (wf_dtype)s->dtype);
    else
        write_at(r, s);
}

void wf__text_loop_step(wf__recorder *r, uint32_t number, uint32_t visible)
{
    enum { MAX_REPEATED = 1 << 16 };
    const wf__stmt *s = &r->text->stmt[number];
    r->repeated += s->last - s->first;
    if (r->repeated > MAX_REPEATED)
        wf__text_mistake(r, WF_ERR_UNSUPPORTED, s->at, "the steps of the loops are too long to be repeated");
    r->visible = visible;
    r->stepping = true;
    if (!r->failed)
        wf__text_evaluate(r, s);
    if (!r->failed)
        assign_name(r, s);
    r->visible = r->name_n;
    r->stepping = false;
}

void wf__text_store_locals(wf__recorder *r, bool results)
{
    for (uint32_t i = 0; i < r->name_n && !r->failed; i++) {
        const wf__text_name *n = &r->name[i];
        const wf_arg *arg = wf__text_arg(r, n->at, n->len);
        int w = wf__text_wanted(r, n->at, n->len);
        if (n->dtype == WF_NONE || n->stored || n->gone || (w >= 0 ? !results : !arg))
            continue;
        if (n->array) {
            wf__text_mistake(
                r, WF_ERR_SYNTAX, n->at,
                "%.*s is a local array, which belongs to one point and cannot be a result; 'global' before its type "
                "makes one array for all points",
                wf__text_shown(n->len), r->text->src + n->at);
            return;
        }
        wf__stmt s = { .at = n->at, .len = n->len };
        wf__tval value = wf__tval_node(n->constant ? n->value.v : wf_get(n->value.v.h));
        wf_array *array = w >= 0 ? make_result(r, w, n->at, value, true) : arg->as.array;
        store_element(r, array, &s, value);
    }
}
