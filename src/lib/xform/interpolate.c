/* interpolate.c - reads and sums between elements: visits all combinations of the elements around a position along each
 * axis (taps.c). wf_interpolate reads them, wf_splat adds to them.
 */
#include "xform_internal.h"
#include <stdarg.h>
#include <stdio.h>

typedef struct sampler {
    wf_graph *g;
    wf_array *array;
    const wf_interp *how;
    wf_border border;
    wf_dtype dtype; /* of weights */
    int batch, axes, taps;
    bool complex;
    wfl_taps axis[WFL_MOST_POSITIONS];
    wf_val index[WF_MAX_RANK];
} sampler;

void wfl_xform_fail(wf_graph *graph, wf_status status, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wf_fail(graph, status, text);
}

bool wfl_weights_wide(wf_dtype t)
{
    return t == WF_F64 || t == WF_C128 || t == WF_I32 || t == WF_U32 || t == WF_I64 || t == WF_U64;
}

wf_dtype wfl_interpolated_dtype(wf_dtype t)
{
    bool wide = wfl_weights_wide(t);
    return wfl_is_complex_dtype(t) ? wide ? WF_C128 : WF_C64 : wide ? WF_F64 : WF_F32;
}

wf_dtype wfl_transformed_dtype(wf_dtype t)
{
    return wfl_is_complex_dtype(t) || wfl_is_float_dtype(t) ? t : wfl_interpolated_dtype(t);
}

wf_dtype wfl_positions_dtype(const wf_array *matrix)
{
    wf_dtype t = wf_array_dtype(matrix);
    return wfl_is_float_dtype(t) && t != WF_F64 ? WF_F32 : WF_F64;
}

/* Returns a message about a mistake, in `text`, with its status; WF_OK: none. */
static wf_status mistake(const wf_array *array, const wf_interp *how, size_t positions, const char *function,
                         char text[256])
{
    int rank = array ? wf_array_shape(array).rank : 0, axes = how && how->axes ? how->axes : rank;
    if (!array || !how)
        snprintf(text, 256, "%s: `%s` is NULL", function, array ? "how" : "array");
    else if ((unsigned)how->interpolation > WFL_LAST_INTERPOLATION)
        snprintf(text, 256, "%s: there is no interpolation %d", function, (int)how->interpolation);
    else if ((unsigned)how->border > WF_BORDER_REFLECT)
        snprintf(text, 256, "%s: there is no border mode %d", function, (int)how->border);
    else if (axes < 1 || axes > WFL_MOST_POSITIONS || axes > rank)
        snprintf(text, 256, "%s: %d axes with positions; 1 to 3 are possible, and the array has %d", function, axes,
                 rank);
    else if (positions != (size_t)rank)
        snprintf(text, 256, "%s: %d positions and indices for an array of rank %d", function, (int)positions, rank);
    else
        return WF_OK;
    return WF_ERR_ARG;
}

/* False, with a poisoned graph: a mistake. */
static bool prepare(sampler *s, wf_vals position, const char *function)
{
    char text[256];
    wf_status wrong = mistake(s->array, s->how, position.n, function, text);
    if (wrong != WF_OK) {
        wf_fail(s->g, wrong, text);
        return false;
    }
    wf_dtype t = wf_array_dtype(s->array);
    s->axes = s->how->axes ? s->how->axes : (int)position.n;
    s->batch = (int)position.n - s->axes;
    s->taps = wfl_taps_of(s->how->interpolation);
    s->border = wfl_border_of(s->how->border);
    s->dtype = wfl_weights_wide(t) ? WF_F64 : WF_F32;
    s->complex = wfl_is_complex_dtype(t);
    for (int d = 0; d < s->batch; ++d)
        s->index[d] = position.at[d];
    for (int d = 0; d < s->axes; ++d)
        wfl_taps_at(s->g, s->how->interpolation, s->dtype, position.at[s->batch + d], &s->axis[d]);
    return true;
}

/* Reads the element at s->index. */
static wf_val read_element(const void *sampled)
{
    const sampler *s = sampled;
    wf_dtype t = wf_array_dtype(s->array);
    wf_vals at = { s->index, (size_t)(s->batch + s->axes) };
    double other = s->border == WF_BORDER_VALUE ? s->how->outside : 0;
    wf_val v = wf_read_border_n(s->g, s->array, s->border, wf_const(s->g, t, other), at);
    return wf_cast(v, wfl_interpolated_dtype(t));
}

wf_val wf_interpolate(wf_graph *graph, const wf_array *array, const wf_interp *how, wf_vals position)
{
    sampler s = { .g = graph, .array = (wf_array *)array, .how = how };
    if (!wfl_is_list(graph, position, "wf_interpolate") || !prepare(&s, position, "wf_interpolate"))
        return (wf_val){ { 0, graph } };
    if (s.border == WF_BORDER_VALUE && !wf_number_fits(how->outside, wf_array_dtype(array))) {
        wfl_xform_fail(graph, WF_ERR_DTYPE, "wf_interpolate: `outside` is %g, which elements of %s cannot hold",
                       how->outside, wf_dtype_name(wf_array_dtype(array)));
        return (wf_val){ { 0, graph } };
    }
    wfl_reader reader = { how->interpolation, s.complex, s.index + s.batch, read_element, &s };
    wfl_parts sum = wfl_read_around(&reader, s.axis, s.axes);
    return s.complex ? wf_complex(sum.re, sum.im) : sum.re;
}

/* ---- the transpose ---- */
/* Returns the index of the element that stands for element i of n by the border mode. */
static wf_val fold(wf_border border, wf_val i, wf_val n)
{
    wf_val period, in;
    switch (border) {
    case WF_BORDER_CLAMP:
        return wf_max(wf_min(i, wf_sub(n, 1)), 0);
    case WF_BORDER_PERIODIC:
        return wf_floor_mod(i, n);
    case WF_BORDER_MIRROR:
        period = wf_mul(n, 2);
        in = wf_floor_mod(i, period);
        return wf_min(in, wf_sub(wf_sub(period, 1), in));
    case WF_BORDER_REFLECT:
        period = wf_max(wf_sub(wf_mul(n, 2), 2), 1);
        in = wf_floor_mod(i, period);
        return wf_min(in, wf_sub(period, in));
    default:
        return i;
    }
}

/* Adds the value, times weights, to all combinations of the axes from d on, where `inside` holds. */
static void add_from(sampler *s, int d, wf_val value, wf_val inside)
{
    if (d >= s->axes || d >= WFL_MOST_POSITIONS) {
        wf_vals at = { s->index, (size_t)(s->batch + s->axes) };
        wf_accumulate_if_n(s->g, inside, WF_JOIN_ADD, WF_MODE_AUTO, s->array, value, at);
        return;
    }
    wf_val n = wf_dim(s->g, s->array, s->batch + d);
    for (int k = 0; k < s->taps; ++k) {
        wf_val i = s->axis[d].index[k], folded = fold(s->border, i, n);
        wf_val in = s->border == WF_BORDER_VALUE ? wf_and(wf_ge(i, 0), wf_lt(i, n)) : wf_gt(n, 0);
        wf_val part = value;
        if (s->how->interpolation != WF_INTERPOLATE_NEAREST) {
            wf_val w = s->axis[d].weight[k];
            part = s->complex ? wf_complex(wf_mul(wf_real(value), w), wf_mul(wf_imag(value), w)) : wf_mul(value, w);
        }
        s->index[s->batch + d] = folded;
        add_from(s, d + 1, part, d ? wf_and(inside, in) : in);
    }
}

#undef wf_splat
void wf_splat(wf_graph *graph, wf_array *array, const wf_interp *how, wf_val value, wf_vals position)
{
    sampler s = { .g = graph, .array = array, .how = how };
    if (!wfl_is_list(graph, position, "wf_splat") || !prepare(&s, position, "wf_splat"))
        return;
    wf_dtype t = wf_array_dtype(array);
    if (!s.complex && !wfl_is_float_dtype(t))
        wfl_xform_fail(graph, WF_ERR_DTYPE, "wf_splat: `array` is %s, which cannot hold weighted values",
                       wf_dtype_name(t));
    else if (!s.complex && wfl_is_complex_dtype(wf_val_dtype(value)))
        wfl_xform_fail(graph, WF_ERR_DTYPE, "wf_splat: the value is complex, `array` is %s", wf_dtype_name(t));
    else
        add_from(&s, 0, wf_cast(value, wfl_interpolated_dtype(t)), (wf_val){ { 1, NULL } });
}

bool wfl_interp_known(wf_context *ctx, const wf_interp *how, const char *function)
{
    if (!how)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `how` is NULL", function);
    else if ((unsigned)how->interpolation > WFL_LAST_INTERPOLATION)
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: there is no interpolation %d", function, (int)how->interpolation);
    else
        return wfl_border_known(ctx, how->border, function);
    return false;
}
