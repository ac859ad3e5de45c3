/* spectral.c - reads of a spectrum between its elements, and sums into it: wf_spectrum_read and wf_spectrum_splat.
 *
 * Positions are counted in elements along each axis, j = k n, from -n/2 to n/2. Half layouts lack the elements with
 * negative j along the last axis, which are the conjugates of those at -j. A position with a negative last coordinate is
 * therefore replaced by its opposite, and the value by its conjugate; of wide kernels some elements are still negative.
 */
#include "spectral.h"

typedef struct sampler {
    wf_graph *g;
    wf_array *array, *weights;
    const wf_spectrum *s;
    const wf_interp *how;
    wf_dtype dtype; /* of weights */
    int batch, last, taps;
    bool complex, half, wraps;
    wf_val flip; /* half: the position is replaced by its opposite */
    wfl_taps axis[WFL_SPECTRUM_AXES];
    wf_val place[WFL_SPECTRUM_AXES][WFL_MOST_TAPS];  /* index in the array */
    wf_val mirror[WFL_SPECTRUM_AXES][WFL_MOST_TAPS]; /* of the opposite element, if it may be needed */
    wf_val inside[WFL_SPECTRUM_AXES][WFL_MOST_TAPS];
    wf_val index[WF_MAX_RANK];
} sampler;

static wf_val i64(wf_graph *g, int64_t x) { return wf_const_i64(g, WF_I64, x); }

/* ---- places of elements along one axis ---- */
/* Returns the index of element j of axis d, which is whole; sets *inside. */
static wf_val place_of(const sampler *s, int d, wf_val j, wf_val *inside)
{
    int64_t n = s->s->size[d];
    wf_val size = i64(s->g, n), middle = i64(s->g, n / 2);
    bool centered = s->s->layout == WF_LAYOUT_HC || s->s->layout == WF_LAYOUT_FC;
    if (s->wraps) {
        *inside = (wf_val){ { 1, NULL } };
        return wf_floor_mod(centered ? wf_add(j, middle) : j, size);
    }
    *inside = wf_le(wf_abs(j), middle);
    wf_val i = centered ? wf_add(j, middle) : j;
    return centered ? wf_select(wf_ge(i, size), wf_sub(i, size), i) : wf_select(wf_lt(i, 0), wf_add(i, size), i);
}

/* Returns the index of element j of the halved axis, or of -j, its opposite, where *opposite becomes true. */
static wf_val half_place_of(const sampler *s, wf_val j, wf_val *inside, wf_val *opposite)
{
    int64_t n = s->s->size[s->last];
    wf_val size = i64(s->g, n), middle = i64(s->g, n / 2);
    if (s->wraps) {
        wf_val m = wf_floor_mod(j, size);
        *inside = (wf_val){ { 1, NULL } };
        *opposite = wf_gt(m, middle);
        return wf_select(*opposite, wf_sub(size, m), m);
    }
    *opposite = wf_lt(j, 0);
    *inside = wf_le(wf_abs(j), middle);
    return wf_abs(j);
}

/* ---- preparation ---- */
static bool usable(const sampler *s, wf_vals at, const char *function)
{
    char text[WFL_SIGNAL_TEXT] = "";
    wf_status status = WF_ERR_ARG;
    if (!s->array || !s->how)
        snprintf(text, sizeof text, "%s: `%s` is NULL", function, s->array ? "how" : "array");
    else if (!wfl_spectrum_valid(s->s, function, text))
        ; /* text says why */
    else if ((unsigned)s->how->interpolation > WFL_LAST_INTERPOLATION)
        snprintf(text, sizeof text, "%s: there is no interpolation %d", function, (int)s->how->interpolation);
    else if (s->how->border > WF_BORDER_VALUE && s->how->border != WF_BORDER_PERIODIC)
        snprintf(text, sizeof text, "%s: how.border is %d, but spectra have WF_BORDER_VALUE or WF_BORDER_PERIODIC",
                 function, (int)s->how->border);
    else {
        wf_shape shape = wf_array_shape(s->array);
        wf_dtype t = wf_array_dtype(s->array);
        if (shape.rank < s->s->rank || at.n != (size_t)shape.rank)
            snprintf(text, sizeof text,
                     "%s: %d indices and frequencies for an array of rank %d and a spectrum of %d axes", function,
                     (int)at.n, (int)shape.rank, (int)s->s->rank);
        else if (!wfl_is_complex_dtype(t) && !wfl_is_float_dtype(t)) {
            status = WF_ERR_DTYPE;
            snprintf(text, sizeof text, "%s: `array` is %s, which is no spectrum", function, wf_dtype_name(t));
        }
        for (int d = 0; !text[0] && d < s->s->rank; ++d)
            if (shape.dim[shape.rank - s->s->rank + d] >= 0 &&
                shape.dim[shape.rank - s->s->rank + d] != wfl_spectrum_extent(s->s, d)) {
                status = WF_ERR_SHAPE;
                snprintf(text, sizeof text, "%s: axis %d of the spectrum has %lld elements, but the array's has %lld",
                         function, d, (long long)wfl_spectrum_extent(s->s, d),
                         (long long)shape.dim[shape.rank - s->s->rank + d]);
            }
    }
    if (text[0])
        wf_fail(s->g, status, text);
    return !text[0];
}

/* Sets the elements around the position, which is in elements, or else in cycles/pixel. */
static bool prepare(sampler *s, wf_vals at, bool elements, const char *function)
{
    if (!usable(s, at, function))
        return false;
    wf_dtype t = wf_array_dtype(s->array);
    s->dtype = wfl_weights_wide(t) ? WF_F64 : WF_F32;
    s->complex = wfl_is_complex_dtype(t);
    s->batch = (int)at.n - s->s->rank;
    s->last = s->s->rank - 1;
    s->taps = wfl_taps_of(s->how->interpolation);
    s->half = s->s->layout == WF_LAYOUT_H || s->s->layout == WF_LAYOUT_HC;
    s->wraps = s->how->border == WF_BORDER_PERIODIC;
    for (int d = 0; d < s->batch; ++d)
        s->index[d] = at.at[d];
    wf_val position[WFL_SPECTRUM_AXES];
    for (int d = 0; d <= s->last; ++d) {
        wf_val k = wfl_position(s->g, at.at[s->batch + d]);
        position[d] = elements ? k : wf_mul(k, (double)s->s->size[d]);
    }
    if (s->half)
        s->flip = wf_lt(position[s->last], 0);
    for (int d = 0; d <= s->last; ++d) {
        wf_val p = s->half ? wf_select(s->flip, wf_neg(position[d]), position[d]) : position[d];
        wfl_taps_at(s->g, s->how->interpolation, s->dtype, p, &s->axis[d]);
    }
    return true;
}

static wf_val negated_if(wf_val condition, wf_val v) { return wf_select(condition, wf_neg(v), v); }

/* ---- reads ---- */
/* Reads the element at s->index. */
static wf_val read_element(const void *sampled)
{
    const sampler *s = sampled;
    wf_dtype t = wf_array_dtype(s->array);
    wf_vals at = { s->index, (size_t)(s->batch + s->last + 1) };
    wf_val v = s->wraps ? wf_read_n(s->g, s->array, at) : wf_read_or_n(s->g, s->array, wf_const(s->g, t, 0), at);
    return wf_cast(v, wfl_interpolated_dtype(t));
}

/* Returns the sum of the weighted elements over all axes but the last, whose index is set; where `opposite` holds (NULL:
 * nowhere) the elements are those of the opposite position. */
static wfl_parts read_section(sampler *s, const wf_val *opposite)
{
    wfl_reader reader = { s->how->interpolation, s->complex, s->index + s->batch, read_element, s };
    wfl_taps axis[WFL_SPECTRUM_AXES];
    for (int d = 0; d < s->last; ++d) {
        axis[d] = s->axis[d];
        for (int k = 0; k < s->taps; ++k)
            axis[d].index[k] = opposite ? wf_select(*opposite, s->mirror[d][k], s->place[d][k]) : s->place[d][k];
    }
    return wfl_read_around(&reader, axis, s->last);
}

/* Sets the places of the elements of all axes but the last; the index -1 is outside. */
static void find_places(sampler *s)
{
    for (int d = 0; d < s->last; ++d)
        for (int k = 0; k < s->taps; ++k) {
            wf_val inside, j = s->axis[d].index[k];
            wf_val place = place_of(s, d, j, &inside);
            s->place[d][k] = wf_select(inside, place, i64(s->g, -1));
            if (s->half) {
                place = place_of(s, d, wf_neg(j), &inside);
                s->mirror[d][k] = wf_select(inside, place, i64(s->g, -1));
            }
        }
}

wf_val wfl_spectrum_read(wf_graph *graph, const wf_array *array, const wf_spectrum *spectrum, const wf_interp *how,
                         wf_vals at, bool elements)
{
    sampler s = { .g = graph, .array = (wf_array *)array, .s = spectrum, .how = how };
    if (!prepare(&s, at, elements, "wf_spectrum_read"))
        return (wf_val){ { 0, graph } };
    find_places(&s);
    wfl_parts sum = { { { 0, graph } }, { { 0, graph } } };
    for (int k = 0; k < s.taps; ++k) {
        wf_val inside, opposite, place, j = s.axis[s.last].index[k];
        bool may = s.half && (s.wraps || k < s.taps / 2 - 1); /* others are from 0 on */
        place = s.half ? half_place_of(&s, j, &inside, &opposite) : place_of(&s, s.last, j, &inside);
        s.index[s.batch + s.last] = wf_select(inside, place, i64(graph, -1));
        wfl_parts part = read_section(&s, may ? &opposite : NULL);
        if (may && s.complex)
            part.im = negated_if(opposite, part.im);
        if (s.how->interpolation != WF_INTERPOLATE_NEAREST) {
            part.re = wf_mul(part.re, s.axis[s.last].weight[k]);
            part.im = s.complex ? wf_mul(part.im, s.axis[s.last].weight[k]) : part.im;
        }
        sum.re = k ? wf_add(sum.re, part.re) : part.re;
        sum.im = k && s.complex ? wf_add(sum.im, part.im) : part.im;
    }
    if (!s.complex)
        return sum.re;
    return wf_complex(sum.re, s.half ? negated_if(s.flip, sum.im) : sum.im);
}

wf_val wf_spectrum_read(wf_graph *graph, const wf_array *array, const wf_spectrum *spectrum, const wf_interp *how,
                        wf_vals at)
{
    if (!wfl_is_list(graph, at, "wf_spectrum_read"))
        return (wf_val){ { 0, graph } };
    return wfl_spectrum_read(graph, array, spectrum, how, at, false);
}

wf_val wfl_within_cutoff(wf_graph *graph, wf_vals k, wf_dtype dtype, double cutoff)
{
    wf_val sum = wf_mul(k.at[0], k.at[0]);
    for (size_t d = 1; d < k.n; ++d)
        sum = wf_add(sum, wf_mul(k.at[d], k.at[d]));
    /* The roundings of k count for nothing. */
    return wf_le(sum, wf_param(graph, "cutoff", dtype, cutoff * cutoff * (1 + 1e-6)));
}

bool wfl_spectral_interp_known(wf_context *ctx, const wf_interp *how, const char *function, const char *name)
{
    if (!wfl_interp_known(ctx, how, function))
        return false;
    if (how->border <= WF_BORDER_VALUE || how->border == WF_BORDER_PERIODIC)
        return true;
    wfl_array_fail(ctx, WF_ERR_ARG, "%s: %s.border is %d, but spectra have WF_BORDER_VALUE or WF_BORDER_PERIODIC",
                   function, name, (int)how->border);
    return false;
}

/* ---- sums ---- */
/* What is added: a value and a weight, of which the last axes' weights are factors. */
typedef struct addend {
    wf_val re, im, weight;
} addend;

static addend scaled(const sampler *s, addend a, wf_val w)
{
    a.re = wf_mul(a.re, w);
    a.im = s->complex ? wf_mul(a.im, w) : a.im;
    a.weight = s->weights ? wf_mul(a.weight, w) : a.weight;
    return a;
}

/* Adds to all combinations of the elements of the axes from d on, where `inside` holds. */
static void add_from(sampler *s, int d, addend a, wf_val inside)
{
    if (d > s->last || d >= WFL_SPECTRUM_AXES) {
        wf_vals at = { s->index, (size_t)(s->batch + s->last + 1) };
        wf_val v = s->complex ? wf_complex(a.re, a.im) : a.re;
        wf_accumulate_if_n(s->g, inside, WF_JOIN_ADD, WF_MODE_AUTO, s->array, v, at);
        if (s->weights)
            wf_accumulate_if_n(s->g, inside, WF_JOIN_ADD, WF_MODE_AUTO, s->weights, a.weight, at);
        return;
    }
    for (int k = 0; k < s->taps; ++k) {
        addend part = s->how->interpolation == WF_INTERPOLATE_NEAREST ? a : scaled(s, a, s->axis[d].weight[k]);
        s->index[s->batch + d] = s->place[d][k];
        add_from(s, d + 1, part, d ? wf_and(inside, s->inside[d][k]) : s->inside[d][k]);
    }
}

/* Adds at the elements of the position times `sign` (NULL: 1) that the array has. */
static void add_all(sampler *s, addend a, const wf_val *sign)
{
    for (int d = 0; d <= s->last; ++d)
        for (int k = 0; k < s->taps; ++k) {
            wf_val j = s->axis[d].index[k], opposite;
            j = sign ? wf_mul(j, *sign) : j;
            if (!sign || d < s->last) {
                s->place[d][k] = place_of(s, d, j, &s->inside[d][k]);
                continue;
            }
            s->place[d][k] = half_place_of(s, j, &s->inside[d][k], &opposite);
            int64_t n = s->s->size[d]; /* Nyquist of even n is its own opposite */
            wf_val own = n % 2 ? wf_not(opposite) : wf_or(wf_not(opposite), wf_eq(s->place[d][k], i64(s->g, n / 2)));
            s->inside[d][k] = wf_and(s->inside[d][k], own);
        }
    add_from(s, 0, a, (wf_val){ { 1, NULL } });
}

/* Adds at the position and its conjugate at the opposite one; of both the array has the half without negative j. */
static void add_both(sampler *s, addend a)
{
    wf_dtype t = s->dtype;
    wf_val always = { { 1, NULL } }, turn, first = s->axis[s->last].index[0],
           last = s->axis[s->last].index[s->taps - 1];
    wf_val near = wf_or(wf_le(first, 0), wf_ge(last, i64(s->g, s->s->size[s->last] / 2)));
    WF_FOR (s->g, turn, i64(s->g, 0), i64(s->g, 2), 1) {
        wf_val sign = wf_sub(1, wf_mul(turn, 2));
        WF_IF (s->g, s->wraps ? always : wf_or(wf_eq(turn, 0), near)) {
            addend b = a;
            b.im = s->complex ? wf_mul(a.im, wf_cast(sign, t)) : a.im;
            add_all(s, b, &sign);
        }
        WF_END(s->g);
    }
    WF_END(s->g);
}

void wfl_spectrum_splat(wf_graph *graph, wf_array *array, wf_array *weights, const wf_spectrum *spectrum,
                        const wf_interp *how, wf_val value, wf_val weight, wf_vals at, bool elements)
{
    static const char function[] = "wf_spectrum_splat";
    sampler s = { .g = graph, .array = array, .weights = weights, .s = spectrum, .how = how };
    if (!prepare(&s, at, elements, function))
        return;
    if (!s.complex && wfl_is_complex_dtype(wf_val_dtype(value))) {
        wfl_xform_fail(graph, WF_ERR_DTYPE, "%s: the value is complex, `array` is %s", function,
                       wf_dtype_name(wf_array_dtype(array)));
        return;
    }
    wf_shape have = wf_array_shape(array), other = weights ? wf_array_shape(weights) : have;
    if (weights && (!wfl_is_float_dtype(wf_array_dtype(weights)) || !wfl_same_shape(&have, &other))) {
        char text[2][96];
        wf_shape_text(&other, text[0], sizeof text[0]);
        wf_shape_text(&have, text[1], sizeof text[1]);
        wfl_xform_fail(graph, WF_ERR_SHAPE, "%s: `weights` is %s%s; floats of the shape of `array`, %s, are needed",
                       function, wf_dtype_name(wf_array_dtype(weights)), text[0], text[1]);
        return;
    }
    double number;
    wf_dtype wide = wfl_interpolated_dtype(wf_array_dtype(array));
    wf_val v = wf_val_number(value, &number, NULL) ? wf_const(graph, wide, number) : wf_cast(value, wide);
    addend a = { .re = s.complex ? wf_real(v) : v, .im = s.complex ? wf_imag(v) : v };
    if (weights)
        a.weight = wf_val_number(weight, &number, NULL) ? wf_const(graph, s.dtype, number) : wf_cast(weight, s.dtype);
    if (!s.half) {
        add_all(&s, a, NULL);
        return;
    }
    a.im = s.complex ? negated_if(s.flip, a.im) : a.im;
    add_both(&s, a);
}

#undef wf_spectrum_splat
void wf_spectrum_splat(wf_graph *graph, wf_array *array, wf_array *weights, const wf_spectrum *spectrum,
                       const wf_interp *how, wf_val value, wf_val weight, wf_vals at)
{
    if (wfl_is_list(graph, at, "wf_spectrum_splat"))
        wfl_spectrum_splat(graph, array, weights, spectrum, how, value, weight, at, false);
}
