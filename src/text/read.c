/* read.c - elements by index in operator text: of arrays, of local arrays, and in array recordings of values. Positions
 * between elements are interpolated.
 */
#include "text/record.h"
#include "weft/xform.h"

bool wf__text_indices(wf__recorder *r, uint32_t list, uint32_t n, wf__tval *out)
{
    for (uint32_t k = 0; k < n && !r->failed; k++) {
        uint32_t node = r->text->list[list + k];
        out[k] = wf__tval_integer(&r->convert, r->value[node]);
        if (r->convert.why[0])
            wf__text_mistake(r, WF_ERR_DTYPE, r->text->node[node].at, "%s", r->convert.why);
    }
    return !r->failed;
}

bool wf__text_as_many(wf__recorder *r, uint32_t at, uint32_t len, const wf_array *array, uint32_t n)
{
    int rank = wf_array_shape(array).rank;
    if ((int)n != rank)
        wf__text_mistake(r, WF_ERR_SHAPE, at, "%.*s has %d %s, %u %s given", wf__text_shown(len), r->text->src + at,
                         rank, rank == 1 ? "axis" : "axes", n, n == 1 ? "index is" : "indices are");
    return !r->failed;
}

/* The element of a local array. */
static wf__tval read_local(wf__recorder *r, const wf__tree *node, const wf_array *array)
{
    wf__tval at[WF_MAX_RANK];
    wf_val index[WF_MAX_RANK];
    if (!wf__text_as_many(r, node->at, node->len, array, node->n) || !wf__text_indices(r, node->a, node->n, at))
        return wf__text_poison(r);
    for (uint32_t k = 0; k < node->n; k++)
        index[k] = at[k].v;
    wf_vals where = { index, node->n };
    if (node->between)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s is a local array: it is read by indices",
                                wf__text_shown(node->len), r->text->src + node->at);
    if (node->border == WF_BORDER_VALUE && !node->b) /* 0 outside; debug mode reports it */
        return wf__tval_node(wf_read_n(r->graph, array, where));
    wf_val outside = node->b ? r->value[node->b].v : wf__tval_number(0, false).v;
    return wf__tval_node(wf_read_border_n(r->graph, array, (wf_border)node->border, outside, where));
}

/* Returns a position between elements: a float, or a number. */
static wf__tval position_value(wf__recorder *r, wf__tval v)
{
    if (wf__tval_is_number(v) || wf__text_is_float(wf_val_dtype(v.v)))
        return v;
    v = wf__tval_integer(&r->convert, v); /* complex numbers are mistakes there */
    return r->convert.why[0] ? v : wf__tval_cast(&r->convert, v, wf__tval_real(&r->convert, v));
}

/* Sets index[rank] to the indices of a read, or positions. If there are fewer than axes, they are those of the last axes,
 * and the point's own indices stand for the first ones. False: r has the message. */
static bool find_indices(wf__recorder *r, const wf__tree *node, const wf_shape *shape, wf__tval *index)
{
    const char *name = r->text->src + node->at;
    int len = wf__text_shown(node->len), own = shape->rank - (int)node->n, space = r->space.rank;
    if (own < 0)
        wf__text_mistake(r, WF_ERR_SHAPE, node->at, "%.*s has %d %s, %u indices are given", len, name, (int)shape->rank,
                         shape->rank == 1 ? "axis" : "axes", node->n);
    else if (r->indexed && own > 0 && shape->rank > space)
        wf__text_mistake(r, WF_ERR_SHAPE, node->at,
                         "%.*s has %d axes and the index space %d, so a point has no index along the first: "
                         "%d indices are needed, %u %s given",
                         len, name, (int)shape->rank, space, (int)shape->rank, node->n, node->n == 1 ? "is" : "are");
    for (int k = 0; k < shape->rank && !r->failed; k++)
        if (k >= own) {
            wf__tval given = r->value[r->text->list[node->a + (uint32_t)(k - own)]];
            index[k] = node->between ? position_value(r, given) : wf__tval_integer(&r->convert, given);
        } else if (shape->dim[k] == 1)
            index[k] = wf__tval_number(0, false); /* the axis is broadcast */
        else
            index[k] = wf__text_own_index(r, node->at, shape->rank - k);
    return !r->failed && !r->convert.why[0];
}

/* Sets *outside to the value outside. False, and r has the message, if this dtype cannot hold it. */
static bool find_outside(wf__recorder *r, const wf__tree *node, wf_dtype dtype, wf__tval *outside)
{
    *outside = node->b ? r->value[node->b] : wf__tval_number(0, false);
    if (wf__tval_is_number(*outside) && outside->real && !wf__text_is_float(dtype) && !wf__text_is_complex(dtype))
        wf__text_mistake(r, WF_ERR_DTYPE, node->at, "the value outside is not a whole number, %.*s is %s",
                         wf__text_shown(node->len), r->text->src + node->at, wf_dtype_name(dtype));
    return !r->failed;
}

/* Records a read between elements. */
static wf__tval interpolate(wf__recorder *r, const wf__tree *node, const wf_array *array)
{
    wf_shape shape = wf_array_shape(array);
    wf__tval index[WF_MAX_RANK], outside;
    wf_val at[WF_MAX_RANK];
    if (!find_indices(r, node, &shape, index) || !find_outside(r, node, wf_array_dtype(array), &outside))
        return wf__text_poison(r);
    if (!wf__tval_is_number(outside))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "the value outside of elements that are interpolated is a number");
    if (node->n > 3)
        return wf__text_mistake(r, WF_ERR_UNSUPPORTED, node->at, "interpolation along %u axes: 3 are possible",
                                node->n);
    for (int k = 0; k < shape.rank; k++)
        at[k] = index[k].v;
    wf_interp how = { .interpolation = (wf_interpolation)(node->between - 1),
                      .border = (wf_border)node->border,
                      .outside = outside.v.h.num,
                      .axes = (int32_t)node->n };
    return wf__tval_node(wf_interpolate(r->graph, array, &how, (wf_vals){ at, (size_t)shape.rank }));
}

static wf__tval read_array(wf__recorder *r, const wf__tree *node, const wf_array *array)
{
    if (node->between)
        return interpolate(r, node, array);
    wf_shape shape = wf_array_shape(array);
    wf__tval index[WF_MAX_RANK], outside;
    wf_val at[WF_MAX_RANK];
    if (!find_indices(r, node, &shape, index) || !find_outside(r, node, wf_array_dtype(array), &outside))
        return wf__text_poison(r);
    for (int k = 0; k < shape.rank; k++)
        at[k] = index[k].v;
    return wf__tval_node(
        wf_read_border_n(r->graph, array, (wf_border)node->border, outside.v, (wf_vals){ at, (size_t)shape.rank }));
}

/* ---- values in array recordings ---- */

static wf__tval call2(wf__recorder *r, const char *name, wf__tval a, wf__tval b)
{
    return wf__tval_call(&r->convert, wf__tval_function(name, strlen(name)), (wf__tval[]){ a, b });
}

/* Returns the index, from 0 to n - 1, of the element that the border mode takes for index i. Remainders are taken so that
 * their operands are near zero for indices near the array: bounds of i are then bounds of the result. */
static wf__tval fold_index(wf__recorder *r, wf__tval i, wf_border border, int64_t n)
{
    wf__tval last = wf__tval_number((double)(n - 1), false), zero = wf__tval_number(0, false);
    wf__tval period = wf__tval_number((double)(border == WF_BORDER_PERIODIC ? n
                                               : border == WF_BORDER_MIRROR ? 2 * n
                                                                            : 2 * n - 2),
                                      false);
    if (border == WF_BORDER_VALUE) /* wf_gather_or tests it */
        return i;
    if (border == WF_BORDER_REFLECT && n == 1)
        return call2(r, "mul", i, zero);
    if (border == WF_BORDER_CLAMP)
        return call2(r, "min", call2(r, "max", i, zero), last);
    if (border == WF_BORDER_PERIODIC)
        return call2(r, "floor_mod", i, period);
    wf__tval half = wf__tval_number((double)(n / 2), false);
    wf__tval below = wf__tval_number(border == WF_BORDER_MIRROR ? -1 : 0, false);
    wf__tval above = border == WF_BORDER_MIRROR ? wf__tval_number((double)(2 * n - 1), false) : period;
    wf__tval turn = call2(r, "sub", call2(r, "floor_mod", call2(r, "add", i, half), period), half);
    wf__tval up = call2(r, "max", turn, call2(r, "sub", below, turn));
    return call2(r, "min", up, call2(r, "sub", above, up));
}

/* Elements of a value, which need not be in memory: wf_gather. */
static wf__tval read_value(wf__recorder *r, const wf__tree *node, wf__tval value)
{
    const char *name = r->text->src + node->at;
    int len = wf__text_shown(node->len);
    if (wf__tval_is_number(value) || wf__text_is_pair(value.v))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s is a number: it has no elements", len, name);
    if (node->between) {
        const wf_array *array = wf__text_computed(r, node, value);
        return array ? interpolate(r, node, array) : wf__text_poison(r);
    }
    wf_shape shape = wf_val_shape(value.v);
    wf__tval index[WF_MAX_RANK], outside;
    wf_val at[WF_MAX_RANK];
    if (!find_indices(r, node, &shape, index) || !find_outside(r, node, wf_val_dtype(value.v), &outside))
        return wf__text_poison(r);
    for (int k = 0; k < shape.rank && !r->failed; k++) {
        if (shape.dim[k] < 0)
            return wf__text_mistake(r, WF_ERR_UNSUPPORTED, node->at,
                                    "%.*s is computed from formal arrays, whose extents are open: it has no neighbours",
                                    len, name);
        if (!wf__tval_is_number(index[k]))
            index[k] = wf__tval_index(&r->convert, index[k]);
        at[k] = fold_index(r, index[k], (wf_border)node->border, shape.dim[k]).v;
    }
    wf_vals where = { at, (size_t)shape.rank };
    if (r->failed || r->convert.why[0])
        return wf__text_poison(r);
    return wf__tval_node(node->border == WF_BORDER_VALUE ? wf_gather_or_n(value.v, outside.v, where)
                                                         : wf_gather_n(value.v, where));
}

/* ---- names ---- */

/* Returns the array whose elements the name has in this recording. NULL: it has none. */
static const wf_array *array_of(const wf__recorder *r, const wf__tree *node, const wf__text_name *assigned)
{
    int w = r->made ? wf__text_wanted(r, node->at, node->len) : -1;
    const wf_array *array = assigned ? assigned->whole : w >= 0 ? r->made[w] : NULL;
    if (array && !(assigned && assigned->stored) && wf__text_changes(r, node->at, node->len))
        return NULL; /* other points are changing the elements */
    if (assigned || array)
        return array;
    const wf_arg *arg = wf__text_arg(r, node->at, node->len);
    return arg && arg->kind == WF_ARG_ARRAY ? arg->as.array : NULL;
}

/* True if an earlier statement outside of blocks writes the array, and the node reads an element that another point
 * writes there. */
static bool is_changed_elsewhere(const wf__recorder *r, const wf__tree *node)
{
    const wf__text *t = r->text;
    uint32_t end = r->level ? r->block[0].stmt : r->now;
    for (uint32_t i = r->first; i < end && !t->expression; i++) {
        const wf__stmt *s = &t->stmt[i];
        if (wf__stmt_opens(s) > 0)
            i = s->end;
        else if ((s->kind == WF__STMT_ASSIGN || s->kind == WF__STMT_WRITE) &&
                 wf__text_same(t, s->at, s->len, node->at, node->len) &&
                 wf__text_place_of(r, s, node) == WF__TEXT_OTHER_ELEMENT)
            return true;
    }
    return false;
}

wf__tval wf__text_read(wf__recorder *r, const wf__tree *node)
{
    const wf_arg *arg = wf__text_arg(r, node->at, node->len);
    const wf__text_name *assigned = wf__text_assigned(r, node->at, node->len);
    int len = wf__text_shown(node->len);
    const char *name = r->text->src + node->at;
    if (assigned && assigned->gone)
        return wf__text_gone(r, node->at, node->len);
    if (assigned && assigned->array)
        return read_local(r, node, assigned->array);
    const wf_array *array = array_of(r, node, assigned);
    if (array && arg && r->indexed && is_changed_elsewhere(r, node))
        return wf__text_mistake(
            r, WF_ERR_CONTRACT, node->at,
            "other points write these elements of %.*s at the same time: wf_text and wf_text_create run such a text in "
            "two parts (weft calc); a recording of your own cannot",
            len, name);
    if (array)
        return read_array(r, node, array);
    bool value = arg && arg->kind == WF_ARG_VALUE && !wf__text_is_variable(arg->as.val);
    if (!r->indexed && (assigned || value))
        return read_value(r, node, assigned ? assigned->value : wf__tval_node(arg->as.val));
    int w = r->made ? wf__text_wanted(r, node->at, node->len) : -1;
    if (assigned || (w >= 0 && r->made[w]))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s is computed here: other points have no elements of it yet", len, name);
    if (!arg)
        return wf__text_unknown(r, node, wf__tval_function(name, node->len) >= 0);
    if (arg->kind == WF_ARG_ARRAY)
        return wf__text_mistake(r, WF_ERR_ARG, node->at, "%.*s: the array is NULL", len, name);
    return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s is no array: it has no neighbours", len, name);
}
