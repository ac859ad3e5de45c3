/* spectrum.c - the frequencies of spectra, and phase shifts. */
#include "signal_internal.h"
#include <math.h>
#include <stdio.h>

static const int64_t most = INT64_C(1) << 30;

bool wfl_spectrum_valid(const wf_spectrum *s, const char *function, char text[WFL_SIGNAL_TEXT])
{
    text[0] = 0;
    if (!s)
        snprintf(text, WFL_SIGNAL_TEXT, "%s: `spectrum` is NULL", function);
    else if ((unsigned)s->layout > WF_LAYOUT_FC)
        snprintf(text, WFL_SIGNAL_TEXT, "%s: spectrum.layout is %d, which is no wf_layout", function, (int)s->layout);
    else if (s->rank < 1 || s->rank > WFL_SPECTRUM_AXES)
        snprintf(text, WFL_SIGNAL_TEXT, "%s: spectrum.rank is %d, not 1 to 3", function, (int)s->rank);
    else if (s->dtype != WF_NONE && s->dtype != WF_F32 && s->dtype != WF_F64)
        snprintf(text, WFL_SIGNAL_TEXT, "%s: spectrum.dtype is %s, not f32 or f64", function, wf_dtype_name(s->dtype));
    for (int d = 0; !text[0] && d < s->rank; ++d)
        if (s->size[d] < 1 || s->size[d] > most)
            snprintf(text, WFL_SIGNAL_TEXT, "%s: spectrum.size[%d] is %lld, not 1 to 2^30", function, d,
                     (long long)s->size[d]);
    return !text[0];
}

wf_graph *wfl_graph_of(const wf_val *v, int n)
{
    for (int i = 0; i < n; ++i)
        if (!wf_val_number(v[i], NULL, NULL)) /* a complex number has its imaginary part there */
            return v[i].h.graph;
    return NULL;
}

wf_val wfl_no_value(wf_graph *g) { return g ? (wf_val){ { 0, g } } : (wf_val){ { NAN, NULL } }; }

bool wfl_number_from(wf_graph *g, const char *function, const char *argument, wf_val v, double least, bool equal)
{
    double x;
    if (!wf_val_number(v, &x, NULL) || x > least || (equal && x == least))
        return true;
    char text[WFL_SIGNAL_TEXT];
    snprintf(text, sizeof text, "%s: `%s` is %g, not %s %g", function, argument, x, equal ? "at least" : "above",
             least);
    wf_fail(g, WF_ERR_ARG, text);
    return false;
}

/* Returns true, or poisons the graph. */
static bool usable(wf_graph *g, const wf_spectrum *s, const char *function)
{
    char text[WFL_SIGNAL_TEXT];
    if (wfl_spectrum_valid(s, function, text))
        return true;
    wf_fail(g, WF_ERR_ARG, text);
    return false;
}

static bool is_half(const wf_spectrum *s) { return s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_HC; }

static wf_val as_index(wf_graph *g, wf_val index)
{
    double x;
    return wf_val_number(index, &x, NULL) ? wf_const(g, WF_I64, x) : wf_cast(index, WF_I64);
}

wf_val wfl_signed_index(wf_graph *g, const wf_spectrum *s, int axis, wf_val given)
{
    int64_t n = s->size[axis];
    wf_val index = as_index(g, given);
    if (is_half(s) && axis == s->rank - 1)
        return index;
    if (s->layout == WF_LAYOUT_HC || s->layout == WF_LAYOUT_FC)
        return wf_sub(index, wf_const_i64(g, WF_I64, n / 2));
    wf_val size = wf_const_i64(g, WF_I64, n);
    return wf_select(wf_ge(index, wf_const_i64(g, WF_I64, (n + 1) / 2)), wf_sub(index, size), index);
}

static wf_val frequency(wf_graph *g, const wf_spectrum *s, int axis, wf_val index)
{
    int64_t n = s->size[axis];
    wf_val k = wfl_signed_index(g, s, axis, index);
    /* both are exact in f32 up to 2^24, so the quotient is rounded once */
    wf_dtype t = s->dtype ? s->dtype : WF_F32, exact = n <= 1 << 24 ? t : WF_F64;
    return wf_cast(wf_div(wf_cast(k, exact), wf_const(g, exact, (double)n)), t);
}

wf_val(wf_freq)(wf_graph *graph, const wf_spectrum *spectrum, int axis, wf_val index)
{
    if (!usable(graph, spectrum, "wf_freq"))
        return wfl_no_value(graph);
    if (axis >= 0 && axis < spectrum->rank)
        return frequency(graph, spectrum, axis, index);
    char text[WFL_SIGNAL_TEXT];
    snprintf(text, sizeof text, "wf_freq: `axis` is %d, but the spectrum has %d axes", axis, (int)spectrum->rank);
    wf_fail(graph, WF_ERR_ARG, text);
    return wfl_no_value(graph);
}

/* Returns true if there is one index for each axis, or poisons the graph. */
static bool indexed(wf_graph *g, const wf_spectrum *s, wf_vals index, const char *function)
{
    if (!usable(g, s, function))
        return false;
    if (index.n == (size_t)s->rank)
        return true;
    char text[WFL_SIGNAL_TEXT];
    snprintf(text, sizeof text, "%s: `index` has %zu values for a spectrum of %d axes", function, index.n,
             (int)s->rank);
    wf_fail(g, WF_ERR_ARG, text);
    return false;
}

wf_val wf_freq_norm(wf_graph *graph, const wf_spectrum *spectrum, wf_vals index)
{
    if (!wfl_is_list(graph, index, "wf_freq_norm") || !indexed(graph, spectrum, index, "wf_freq_norm"))
        return wfl_no_value(graph);
    wf_val sum = frequency(graph, spectrum, 0, index.at[0]);
    if (spectrum->rank == 1)
        return wf_abs(sum);
    sum = wf_mul(sum, sum);
    for (int d = 1; d < spectrum->rank; ++d) {
        wf_val k = frequency(graph, spectrum, d, index.at[d]);
        sum = wf_add(sum, wf_mul(k, k));
    }
    return wf_sqrt(sum);
}

wf_val wf_hermitian_weight(wf_graph *graph, const wf_spectrum *spectrum, wf_vals index)
{
    if (!wfl_is_list(graph, index, "wf_hermitian_weight") || !indexed(graph, spectrum, index, "wf_hermitian_weight"))
        return wfl_no_value(graph);
    wf_dtype t = spectrum->dtype ? spectrum->dtype : WF_F32;
    int64_t n = spectrum->size[spectrum->rank - 1];
    if (!is_half(spectrum))
        return wf_const(graph, t, 1);
    wf_val x = as_index(graph, index.at[spectrum->rank - 1]);
    wf_val once = wf_eq(x, wf_const_i64(graph, WF_I64, 0));
    if (n % 2 == 0)
        once = wf_or(once, wf_eq(x, wf_const_i64(graph, WF_I64, n / 2)));
    return wf_select(once, wf_const(graph, t, 1), wf_const(graph, t, 2));
}

wf_val wfl_phase_shift_as(wf_graph *g, wf_vals shift, wf_vals k, wf_dtype t)
{
    wf_val real = wf_const(g, t, 1), imaginary = wf_const(g, t, 0);
    for (size_t d = 0; d < k.n; ++d) {
        double x;
        wf_val at = wf_val_number(k.at[d], &x, NULL) ? wf_const(g, WF_F64, x) : k.at[d];
        wf_val turns = wf_mul(wf_cast(at, WF_F64), wfl_as(shift.at[d], WF_F64));
        wf_val angle = wf_cast(wf_mul(wf_sub(turns, wf_round(turns)), -2), t); /* in half turns */
        wf_val c = wf_cospi(angle);
        wf_val s = wf_select(wf_eq(wf_abs(at), 0.5), wf_const(g, t, 0), wf_sinpi(angle));
        wf_val before = real;
        real = wf_sub(wf_mul(before, c), wf_mul(imaginary, s));
        imaginary = wf_add(wf_mul(before, s), wf_mul(imaginary, c));
    }
    return wf_complex(real, imaginary);
}

wf_val wf_phase_shift(wf_graph *graph, wf_vals shift, wf_vals k)
{
    if (!wfl_is_list(graph, shift, "wf_phase_shift") || !wfl_is_list(graph, k, "wf_phase_shift"))
        return wfl_no_value(graph);
    if (shift.n == k.n && k.n >= 1 && k.n <= WFL_SPECTRUM_AXES) {
        wf_dtype t = WF_F32;
        for (size_t d = 0; d < k.n; ++d)
            t = wf_val_dtype(k.at[d]) == WF_F64 ? WF_F64 : t;
        return wfl_phase_shift_as(graph, shift, k, t);
    }
    char text[WFL_SIGNAL_TEXT];
    snprintf(text, sizeof text, "wf_phase_shift: `shift` has %zu values and `k` %zu; both need the same 1 to 3",
             shift.n, k.n);
    wf_fail(graph, WF_ERR_ARG, text);
    return wfl_no_value(graph);
}
