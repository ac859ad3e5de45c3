/* local.c - local arrays: a few values that each point has for itself, accessed by index.
 *
 * Each element is a variable of the recording. So blocks, loops and sections treat it like any other variable, and no
 * backend knows local arrays. An access with a constant index, at the latest once loops are unrolled, is a plain
 * value. Any other index is looked up: a read halves the candidate elements for each bit of the index, and a write
 * compares the index with the number of each element. In debug mode a CHECK tests each index, and does not fold away
 * with the values.
 */
#include "record/record.h"
#include <stdio.h>

enum { MOST = 256 }; /* elements */

typedef struct place { /* place of an access */
    wf__ref number;    /* u32: number of the element in C order, valid where `inside` holds */
    wf__ref inside;    /* bool; 0 = everywhere */
    int64_t known;     /* number of the element, if constant and inside; else -1 */
} place;

static uint32_t first_of(const wf_array *array) { return array->local - 1; }
static uint32_t count_of(const wf_array *array) { return (uint32_t)wf_array_count(array); }

wf_array *(wf_local_array)(wf_graph *g, const char *name, wf_dtype dtype, wf_shape shape, wf_val initial)
{
    int64_t count = 0;
    if (!wf__is_recording(g))
        return NULL;
    if (!wf__computable(dtype))
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_local_array: dtype %s is not supported", wf_dtype_name(dtype));
    else if (shape.rank < 1 || shape.rank > WF_MAX_RANK || !wf__shape_count(&shape, &count) || !count || count > MOST) {
        char text[192];
        wf__bad_shape_text(&shape, text, sizeof text);
        wf__poison(g, WF_ERR_SHAPE, "wf_local_array: shape %s; a local array has 1 to %d elements and 1 to %d axes",
                   text, (int)MOST, WF_MAX_RANK);
    }
    wf__ref value = wf__is_recording(g) ? wf__converted(g, initial, dtype, "wf_local_array") : 0;
    if (!value)
        return NULL;
    wf_array *a = wf__array_handle(g->ctx, dtype, &shape);
    if (a && name)
        a->name = wf__strdup(name);
    if (!a || (name && !a->name) || !wf__grow(&g->scratch, &g->scratch_cap, g->scratch_n + 1, sizeof *g->scratch)) {
        wf__poison(g, WF_ERR_MEMORY, "wf_local_array: out of memory");
        wf_release(a);
        return NULL;
    }
    atomic_store(&a->state, WF_STATE_FORMAL);
    a->local = g->var_n + 1;
    a->number = g->locals++;
    a->graph = g;
    g->scratch[g->scratch_n++] = a;
    for (int64_t k = 0; k < count; ++k) {
        wf__variable var = { .dtype = (uint8_t)dtype, .red = -1 };
        *wf__holds(g, &var) = value;
        wf__new_variable(g, var);
    }
    return wf__is_recording(g) ? a : NULL;
}

/* Returns what messages call a local array, in `text`. */
static const char *name_of(const wf_array *array, char text[96])
{
    if (array->name)
        snprintf(text, 96, "the local array '%.60s'", array->name);
    else
        snprintf(text, 96, "local array %u of the recording", (unsigned)array->number + 1);
    return text;
}

/* ---- indices ---- */
_Static_assert(WF__BORDERS == 6, "how each border mode maps an index");
/* Returns the index after the border mode has brought it into the array. */
static wf__ref bordered(wf__ir *ir, wf_border border, wf__ref i, int64_t n)
{
    wf__ref zero = wf__const_bits(ir, WF_I64, 0), last = wf__const_bits(ir, WF_I64, (uint64_t)n - 1);
    if (border == WF_BORDER_CLAMP || n == 1)
        return wf__op2(ir, WF__OP_min, wf__op2(ir, WF__OP_max, i, zero), last);
    int64_t period = border == WF_BORDER_MIRROR ? 2 * n : border == WF_BORDER_REFLECT ? 2 * n - 2 : n;
    wf__ref k = wf__op2(ir, WF__OP_floor_mod, i, wf__const_bits(ir, WF_I64, (uint64_t)period));
    if (border == WF_BORDER_PERIODIC)
        return k;
    wf__ref top = wf__const_bits(ir, WF_I64, (uint64_t)(border == WF_BORDER_MIRROR ? period - 1 : period));
    wf__ref beyond = wf__op2(ir, WF__OP_gt, k, last);
    return wf__op3(ir, WF__OP_select, beyond, wf__op2(ir, WF__OP_sub, top, k), k);
}

/* Returns the condition 0 <= i < n. Compares in 32 bits if the index was cast from at most 32 bits. */
static wf__ref is_below(wf__ir *ir, wf__ref i, int64_t n)
{
    const wf__node *node = wf__at(ir, i);
    bool narrow = node->op == WF__CAST && wf__is_int(wf__dtype(ir, node->a)) && wf__size(wf__dtype(ir, node->a)) <= 4;
    unsigned t = narrow ? WF_U32 : WF_U64;
    wf__ref x = wf__cast(ir, narrow ? node->a : i, t);
    return wf__op2(ir, WF__OP_lt, x, wf__const_bits(ir, t, (uint64_t)n));
}

/* Returns the index behind a CHECK, for debug mode, that `below` holds in the lanes `on` (0 = all). */
static wf__ref checked(wf_graph *g, const wf_array *array, int axis, wf__ref i, wf__ref below, wf__ref on, bool writes)
{
    wf__ir *ir = wf__graph_ir(g);
    if (on)
        below = wf__op2(ir, WF__OP_or, below, wf__op1(ir, WF__OP_not, on));
    uint32_t which = array->number | (uint32_t)(array->shape.rank > 1 ? axis : 0) << 16;
    wf__node like = {
        .op = WF__CHECK, .dtype = WF_I64, .aux = writes, .c = (uint32_t)array->shape.dim[axis], .d = which
    };
    wf__ref r = wf__check(ir, &like, below, i);
    if (r != i)
        wf__set_label(ir, r, array->name);
    return r;
}

/* True after poisoning: the index is a C number outside the array. */
static bool is_wrong(wf_graph *g, const wf_array *array, wf_val index, int axis, const char *function)
{
    char name[96];
    double i = index.h.num, n = (double)array->shape.dim[axis];
    if (wf__is_pair(index) || wf__graph_of(index) || (i >= 0 && i < n))
        return false;
    wf__poison(g, WF_ERR_BOUNDS, "%s: index %.10g is outside %s, whose length is %lld%s", function, i,
               name_of(array, name), (long long)array->shape.dim[axis], array->shape.rank > 1 ? " there" : "");
    return true;
}

static bool find(wf_graph *g, const wf_array *array, wf_vals index, wf_border border, wf__ref on, bool writes,
                 const char *function, place *out)
{
    wf__ir *ir = wf__graph_ir(g);
    uint32_t tuple, rank = (uint32_t)array->shape.rank;
    wf__ref at[WF_MAX_RANK];
    if (!wf__index_tuple(g, index, rank, border != WF_BORDER_NONE, function, &tuple))
        return false;
    *out = (place){ .number = wf__const_bits(ir, WF_U32, 0) };
    memcpy(at, wf__tuple_at(ir, tuple), rank * sizeof *at);
    for (uint32_t k = 0; k < rank; ++k) {
        int64_t n = array->shape.dim[k];
        if (border == WF_BORDER_NONE && is_wrong(g, array, index.at[k], (int)k, function))
            return false;
        wf__ref i = border > WF_BORDER_VALUE ? bordered(ir, border, at[k], n) : at[k];
        wf__ref below = border > WF_BORDER_VALUE ? 0 : is_below(ir, i, n);
        if (below && border == WF_BORDER_NONE && ir->flags & WF_FLAG_DEBUG) {
            i = checked(g, array, (int)k, i, below, on, writes);
            below = is_below(ir, i, n);
        }
        if (below)
            out->inside = out->inside ? wf__op2(ir, WF__OP_and, out->inside, below) : below;
        wf__ref row = wf__op2(ir, WF__OP_mul, out->number, wf__const_bits(ir, WF_U32, (uint64_t)n));
        out->number = wf__op2(ir, WF__OP_add, row, wf__cast(ir, i, WF_U32));
    }
    if (ir->status != WF_OK)
        return false;
    if (out->inside && wf__is_const(ir, out->inside, 1))
        out->inside = 0;
    const wf__node *number = wf__at(ir, out->number);
    out->known = number->op == WF__CONST && !out->inside ? (int64_t)wf__bits(number) : -1;
    return true;
}

/* ---- access ---- */
/* Returns the variables of the elements; NULL after poisoning. */
static wf__variable *elements(wf_graph *g, const wf_array *array, const char *function)
{
    char name[96];
    wf__variable *var = &g->var[first_of(array)];
    if (*wf__holds(g, var))
        return var;
    wf__poison(g, WF_ERR_CONTRACT, "%s: %s was made in another section, or in a block that has ended", function,
               name_of(array, name));
    return NULL;
}

wf_val wf__local_read(wf_graph *g, const wf_array *array, wf_border border, wf_val other, wf_vals index,
                      const char *function)
{
    wf__ir *ir = wf__graph_ir(g);
    place p;
    wf__ref value[MOST], outside = border == WF_BORDER_VALUE ? wf__converted(g, other, array->dtype, function) : 0;
    wf__variable *var = elements(g, array, function);
    if (!var || (border == WF_BORDER_VALUE && !outside) ||
        !find(g, array, index, border, wf__lanes_on(g), false, function, &p))
        return wf__no_value(g);
    uint32_t first = p.known >= 0 ? (uint32_t)p.known : 0, n = p.known >= 0 ? 1 : count_of(array);
    WF__ASSERT(n > 0);
    for (uint32_t k = 0; k < n; ++k) {
        value[k] = wf__usable(g, *wf__holds(g, &var[first + k]), function);
        if (!value[k])
            return wf__no_value(g);
    }
    for (unsigned bit = 0; n > 1; ++bit, n = (n + 1) / 2) {
        wf__ref one = wf__op2(ir, WF__OP_and, p.number, wf__const_bits(ir, WF_U32, (uint64_t)1 << bit));
        wf__ref odd = wf__op2(ir, WF__OP_ne, one, wf__const_bits(ir, WF_U32, 0));
        for (uint32_t k = 0; k < n; k += 2)
            value[k / 2] = k + 1 < n ? wf__op3(ir, WF__OP_select, odd, value[k + 1], value[k]) : value[k];
    }
    outside = outside ? outside : wf__const_f64(ir, array->dtype, 0);
    wf__ref found = p.inside ? wf__op3(ir, WF__OP_select, p.inside, value[0], outside) : value[0];
    return wf__value(g, found);
}

void wf__local_write(wf_graph *g, const wf_val *condition, unsigned join, const wf_array *array, wf_val v,
                     wf_vals index, const char *function)
{
    wf__ir *ir = wf__graph_ir(g);
    place p;
    wf__ref on, value = wf__converted(g, v, array->dtype, function);
    wf__variable *var = value ? elements(g, array, function) : NULL;
    if (!var || !wf__condition_of(g, condition, function, &on) ||
        !find(g, array, index, WF_BORDER_NONE, on, true, function, &p))
        return;
    wf__ref when = !p.inside ? on : on ? wf__op2(ir, WF__OP_and, p.inside, on) : p.inside;
    for (uint32_t k = 0; k < count_of(array) && wf__is_recording(g); ++k) {
        wf__ref *now = wf__holds(g, &var[k]), here = when;
        if (p.known >= 0 && k != p.known)
            continue;
        if (((join || when || p.known < 0) && !wf__usable(g, *now, function)) ||
            !wf__fits_block(g, value, *now, function))
            return;
        if (p.known < 0) {
            here = wf__op2(ir, WF__OP_eq, p.number, wf__const_bits(ir, WF_U32, k));
            here = when ? wf__op2(ir, WF__OP_and, here, when) : here;
        }
        wf__ref next = join ? wf__op2(ir, wf__join_op((wf_join)join), *now, value) : value;
        *now = here ? wf__op3(ir, WF__OP_select, here, next, *now) : next;
    }
}
