/* fold.c - functions of whole arrays in operator text, along all or some of the axes, recorded by wf_reduce and wf_scan.
 *
 * Means, variances and deviations are computed in f64 and rounded once, as in weft/functions.h. The result of 16-bit
 * floats differs: here it is f32, since the text goes on computing with it; wf_array_mean returns f16, as arrays store
 * it.
 */
#include "text/record.h"
#include <math.h>

typedef enum naming { NAMED, BEYOND, TWICE } naming;

/* Sets *axes to the axes that a reduction names; to all if it names none. */
static naming fold_axes(const wf__tree *node, int rank, wf_axes *axes)
{
    *axes = node->b || node->c ? node->b : WF_ALL_AXES;
    for (int k = 0; k < WF_MAX_RANK; k++)
        if (node->c >> k & 1) {
            if (k >= rank || *axes >> (rank - 1 - k) & 1)
                return k >= rank ? BEYOND : TWICE;
            *axes |= 1u << (rank - 1 - k);
        }
    return *axes != WF_ALL_AXES && *axes >> rank ? BEYOND : NAMED;
}

/* Returns the number of elements that become one. */
static double extent_of(const wf_shape *shape, wf_axes axes)
{
    double n = 1;
    for (int d = 0; d < shape->rank; d++)
        n *= axes >> d & 1 ? (double)shape->dim[d] : 1;
    return n;
}

/* ---- mean, variance, deviation ---- */

static wf_val square_of(wf_val v) /* |v|^2 */
{
    if (!wf__text_is_complex(wf_val_dtype(v)))
        return wf_mul(v, v);
    wf_val re = wf_real(v), im = wf_imag(v), im2 = wf_mul(im, im);
    return wf_add(wf_mul(re, re), im2);
}

static wf_val fold_moment(wf_graph *g, wf__text_fold kind, wf_val v, wf_axes axes, double n, double ddof)
{
    wf_dtype t = wf_val_dtype(v), wide = wf__text_is_complex(t) ? WF_C128 : WF_F64;
    wf_dtype result = t == WF_F64 || t == WF_C64 || t == WF_C128 ? t : wf__text_is_complex(t) ? WF_C64 : WF_F32;
    if (!wf__text_is_complex(t) && !wf__text_is_float(t))
        result = WF_F64;
    wf_val x = wf_cast(v, wide), count = wf_const(g, WF_F64, n), mean = wf_div(wf_reduce(WF_JOIN_ADD, x, axes), count);
    if (kind == WF__FOLD_MEAN)
        return wf_cast(mean, t == WF_C32 ? t : result);
    wf_val sum = wf_reduce(WF_JOIN_ADD, square_of(wf_sub(x, mean)), axes);
    wf_val variance = wf_div(sum, wf_const(g, WF_F64, n > ddof ? n - ddof : (double)NAN));
    wf_dtype real = result == WF_C64 ? WF_F32 : result == WF_C128 ? WF_F64 : result;
    return wf_cast(kind == WF__FOLD_STD ? wf_sqrt(variance) : variance, real);
}

/* ---- places ---- */

/* The smallest linear index, within the axes, of an element that is the extreme. A NaN is always the extreme. */
static wf_val find_place(wf_graph *g, bool largest, wf_val v, const wf_shape *shape, wf_axes axes)
{
    wf_val best = wf_reduce(largest ? WF_JOIN_MAX : WF_JOIN_MIN, v, axes), hit = wf_eq(v, best),
           at = wf_const(g, WF_I64, 0);
    if (wf__text_is_float(wf_val_dtype(v)))
        hit = wf_or(hit, wf_isnan(v));
    for (int d = 0; d < shape->rank; d++)
        if (axes >> d & 1) {
            wf_val index = wf_iota(g, *shape, d);
            at = wf_add(wf_mul(at, wf_const_i64(g, WF_I64, shape->dim[d])), index);
        }
    return wf_reduce(WF_JOIN_MIN, wf_select(hit, at, wf_const_i64(g, WF_I64, INT64_MAX)), axes);
}

static wf__tval scan_value(wf_join join, wf_val v, wf_axes axes)
{
    return wf__tval_node(wf_scan(join, v, wf__text_first_axis(axes), false, false));
}

static wf__tval fold_value(wf_graph *g, wf__text_fold kind, wf_val v, const wf_shape *shape, wf_axes axes, double ddof)
{
    wf_dtype t = wf_val_dtype(v);
    bool logic = kind == WF__FOLD_ANY || kind == WF__FOLD_ALL || kind == WF__FOLD_COUNT;
    if (logic && t != WF_BOOL)
        v = wf_ne(v, 0);
    else if (!logic && t == WF_BOOL)
        v = wf_cast(v, WF_I32);
    switch (kind) {
    case WF__FOLD_SUM:
    case WF__FOLD_COUNT:
        return wf__tval_node(wf_reduce(WF_JOIN_ADD, v, axes));
    case WF__FOLD_PROD:
        return wf__tval_node(wf_reduce(WF_JOIN_MUL, v, axes));
    case WF__FOLD_MIN:
        return wf__tval_node(wf_reduce(WF_JOIN_MIN, v, axes));
    case WF__FOLD_MAX:
        return wf__tval_node(wf_reduce(WF_JOIN_MAX, v, axes));
    case WF__FOLD_ANY:
        return wf__tval_node(wf_reduce(WF_JOIN_OR, v, axes));
    case WF__FOLD_ALL:
        return wf__tval_node(wf_reduce(WF_JOIN_AND, v, axes));
    case WF__FOLD_CUMSUM:
        return scan_value(WF_JOIN_ADD, v, axes);
    case WF__FOLD_CUMPROD:
        return scan_value(WF_JOIN_MUL, v, axes);
    case WF__FOLD_CUMMIN:
        return scan_value(WF_JOIN_MIN, v, axes);
    case WF__FOLD_CUMMAX:
        return scan_value(WF_JOIN_MAX, v, axes);
    case WF__FOLD_ARGMIN:
    case WF__FOLD_ARGMAX:
        return wf__tval_node(find_place(g, kind == WF__FOLD_ARGMAX, v, shape, axes));
    default:
        return wf__tval_node(fold_moment(g, kind, v, axes, extent_of(shape, axes), ddof));
    }
}

/* Sets *axes to those that the call names. False, and r has the message, if the value has no such axes, or the function
 * is not for them. */
static bool find_axes(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf_shape *shape, wf_axes *axes)
{
    const char *name = r->text->src + node->at;
    int len = (int)node->len, rank = (int)shape->rank;
    bool one = kind < WF__FOLD_LIBRARY && wf__text_fold_keeps(kind);
    switch (fold_axes(node, rank, axes)) {
    case BEYOND:
        wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s of axes that an array of rank %d does not have", len, name,
                         rank);
        return false;
    case TWICE:
        wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s names one of the %d axes twice", len, name, rank);
        return false;
    case NAMED:
        break;
    }
    if (kind == WF__FOLD_HISTOGRAM && (node->b || node->c))
        wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s counts all elements: it takes no axes", len, name);
    if (one && *axes == WF_ALL_AXES && rank == 1)
        *axes = 1;
    if (one && (*axes == WF_ALL_AXES || (*axes & (*axes - 1))))
        wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                         "%.*s runs along one axis, and the array has %d: name it after a semicolon, as -1 for the "
                         "last one",
                         len, name, rank);
    return !r->failed;
}

/* True if the function can be recorded for values of this shape and dtype; false: r has the message. */
static bool check_operand(wf__recorder *r, wf__text_fold kind, const wf__tree *node, wf_val v, const wf_shape *shape,
                          wf_axes axes)
{
    const char *name = r->text->src + node->at;
    int len = (int)node->len;
    bool place = kind == WF__FOLD_ARGMIN || kind == WF__FOLD_ARGMAX,
         sized = kind >= WF__FOLD_ARGMIN && kind <= WF__FOLD_STD,
         ordered = place || kind == WF__FOLD_MIN || kind == WF__FOLD_MAX || kind > WF__FOLD_CUMPROD;
    for (int d = 0; d < shape->rank && sized; d++)
        if (shape->dim[d] < 0 && (place || axes >> d & 1)) {
            wf__text_mistake(r, WF_ERR_UNSUPPORTED, node->at, "%.*s of a formal array, whose extents are open", len,
                             name);
            return false;
        }
    if (ordered && wf__text_is_complex(wf_val_dtype(v)))
        wf__text_mistake(r, WF_ERR_DTYPE, node->at, "%.*s of complex numbers, which have no order", len, name);
    else if (place && extent_of(shape, axes) == 0)
        wf__text_mistake(r, WF_ERR_SHAPE, node->at, "%.*s of no elements", len, name);
    return !r->failed;
}

wf__tval wf__text_fold_value(wf__recorder *r, wf__text_fold kind, const wf__tree *node, const wf__tval *args)
{
    const char *name = r->text->src + node->at;
    int len = (int)node->len;
    wf__tval a = args[0];
    if (r->indexed)
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s of a whole array cannot stand in an index space (typed locals, blocks, "
                                "writes by index): wf_text and wf_text_create compute it before the statement",
                                len, name);
    if (wf__tval_is_number(a) || wf__text_is_pair(a.v))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at, "%.*s of a number: it needs an array", len, name);
    bool spread = kind == WF__FOLD_VAR || kind == WF__FOLD_STD;
    if (spread && node->n == 2 && !wf__tval_is_number(args[1]))
        return wf__text_mistake(r, WF_ERR_SYNTAX, node->at,
                                "%.*s(a, ddof) divides by n - ddof, which is a number; axes stand after a ';'", len,
                                name);
    wf_shape shape = wf_val_shape(a.v);
    wf_axes axes;
    if (kind > WF__FOLD_LIBRARY)
        return find_axes(r, kind, node, &shape, &axes) ? wf__text_library_value(r, kind, node, args, axes)
                                                       : wf__text_poison(r);
    if (!find_axes(r, kind, node, &shape, &axes) || !check_operand(r, kind, node, a.v, &shape, axes))
        return wf__text_poison(r);
    if (kind >= WF__FOLD_SORT)
        return wf__text_order_value(r, kind, node, args, axes);
    return fold_value(r->graph, kind, a.v, &shape, axes, spread && node->n == 2 ? args[1].v.h.num : 0);
}
