/* correlate.c - maps of the correlation of images by Fourier transforms, and their peaks. */
#include "signal_internal.h"
#include "weft/fft.h"

/* Returns the mask of the last `rank` axes; 0, with an error. */
static wf_axes last_axes(const wf_array *a, int rank, const char *function)
{
    wf_shape shape = wf_array_shape(a);
    if (!wfl_array_known(a, function))
        return 0;
    if (rank < 1 || rank > WFL_SPECTRUM_AXES || rank > shape.rank) {
        wfl_array_fail(wf_array_context(a), WF_ERR_ARG, "%s: `rank` is %d, not 1 to 3 of the array's %d axes", function,
                       rank, (int)shape.rank);
        return 0;
    }
    if (!wfl_is_complex_dtype(wf_array_dtype(a)))
        return ((1u << rank) - 1) << (shape.rank - rank);
    wfl_array_fail(wf_array_context(a), WF_ERR_DTYPE, "%s: the array is %s, not real", function,
                   wf_dtype_name(wf_array_dtype(a)));
    return 0;
}

/* Returns p with its absolute value replaced by 1, or by its square root; 0 stays. */
static wf_val whitened(wf_val p, wf_correlation how)
{
    wf_val size = wf_abs(p), by = how == WF_CORRELATION_PHASE ? size : wf_sqrt(size);
    return wf_div(p, wf_select(wf_eq(size, 0), 1, by));
}

wf_array *wf_correlate_map(const wf_array *a, const wf_array *b, int rank, wf_correlation how)
{
    static const char name[] = "wf_correlate_map";
    wf_context *ctx = wf_array_context(a);
    wf_shape one = wf_array_shape(a);
    wf_axes axes = a && b ? last_axes(a, rank, name) : 0;
    if (!axes || !last_axes(b, rank, name))
        return NULL;
    if ((unsigned)how > WF_CORRELATION_MUTUAL) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `how` is %d, which is no wf_correlation", name, (int)how);
        return NULL;
    }
    if (!wfl_have_one_shape(a, b, name))
        return NULL;
    wf_array *f = wf_fft_r2c(a, axes, WF_FFT_BACKWARD), *h = f ? wf_fft_r2c(b, axes, WF_FFT_BACKWARD) : NULL,
             *map = NULL;
    if (h) {
        wf_graph *g = wfl_begin(ctx, name);
        wf_val p = wf_mul(wf_in(g, f), wf_conj(wf_in(g, h)));
        wf_array *product = wf_keep(how == WF_CORRELATION_CONVENTIONAL ? p : whitened(p, how));
        product = wfl_array_run(g, product);
        map = product ? wf_fft_c2r(product, one.dim[one.rank - 1], axes, WF_FFT_BACKWARD) : NULL;
        wf_release(product);
    }
    wf_release(f);
    wf_release(h);
    return map;
}

/* Returns, as i64, where each map is largest: its linear index. */
static wf_array *largest(const wf_array *map, int rank)
{
    wf_shape flat = wf_array_shape(map);
    for (int d = 1; d < rank; ++d)
        flat.dim[flat.rank - rank] *= flat.dim[flat.rank - rank + d];
    flat.rank -= rank - 1;
    wf_array *packed = wf_array_contiguous((wf_array *)map), *lines = packed ? wf_view_reshape(packed, flat) : NULL;
    wf_array *place = lines ? wf_array_argmax(lines, (1u << (flat.rank - 1)) | WF_DROP_AXES) : NULL;
    wf_release(packed);
    wf_release(lines);
    return place;
}

/* Reads the map `step` elements from `at` along axis d. */
static wf_val beside(wf_graph *g, const wf_array *map, const wf_val *at, int d, int step)
{
    wf_val index[WF_MAX_RANK];
    int n = wf_array_shape(map).rank;
    for (int e = 0; e < n; ++e)
        index[e] = e == d ? wf_add(at[e], step) : at[e];
    wf_vals all = { index, (size_t)n };
    wf_val none = wf_const(g, wf_array_dtype(map), 0);
    return wf_cast(step ? wf_read_border_n(g, map, WF_BORDER_PERIODIC, none, all) : wf_read_n(g, map, all), WF_F64);
}

static wf_status record_peaks(wf_array *peaks, const wf_array *map, const wf_array *place, int rank)
{
    wf_shape shape = wf_array_shape(map), batch = shape;
    batch.rank -= rank;
    wf_graph *g = wfl_begin(wf_array_context(map), "wf_correlate_peak", .shape = batch, .indexed = true);
    wf_val at[WF_MAX_RANK], rest = wf_in(g, place), to[WF_MAX_RANK];
    for (int d = 0; d < batch.rank; ++d)
        to[d] = at[d] = wf_index(g, d);
    for (int d = shape.rank - 1; d >= batch.rank; --d) {
        wf_val n = wf_const_i64(g, WF_I64, shape.dim[d]);
        at[d] = wf_mod(rest, n);
        rest = wf_idiv(rest, n);
    }
    wf_vals where = { to, (size_t)batch.rank + 1 };
    wf_val middle = beside(g, map, at, 0, 0), top = middle;
    for (int d = batch.rank; d < shape.rank; ++d) {
        wf_val before = beside(g, map, at, d, -1), after = beside(g, map, at, d, 1), slope = wf_sub(before, after);
        wf_val bend = wf_sub(wf_add(before, after), wf_mul(middle, 2)), round = wf_lt(bend, 0);
        wf_val offset = wf_select(round, wf_div(slope, wf_mul(bend, 2)), 0);
        top = wf_sub(top, wf_select(round, wf_div(wf_mul(slope, slope), wf_mul(bend, 8)), 0));
        wf_val far = wf_ge(at[d], wf_const_i64(g, WF_I64, (shape.dim[d] + 1) / 2)); /* a negative lag */
        wf_val lag = wf_select(far, wf_sub(at[d], wf_const_i64(g, WF_I64, shape.dim[d])), at[d]);
        to[batch.rank] = wf_const_i64(g, WF_I64, d - batch.rank);
        wf_write_n(g, peaks, wf_add(wf_cast(lag, WF_F64), offset), where);
    }
    to[batch.rank] = wf_const_i64(g, WF_I64, rank);
    wf_write_n(g, peaks, top, where);
    return wf_run(g);
}

wf_array *wf_correlate_peak(const wf_array *map, int rank)
{
    if (!map || !last_axes(map, rank, "wf_correlate_peak"))
        return NULL;
    wf_shape shape = wf_array_shape(map);
    shape.rank -= rank - 1;
    shape.dim[shape.rank - 1] = rank + 1;
    wf_array *place = largest(map, rank), *peaks = place ? wfl_array_beside(map, WF_F64, &shape) : NULL;
    if (peaks && record_peaks(peaks, map, place, rank) != WF_OK) {
        wf_release(peaks);
        peaks = NULL;
    }
    wf_release(place);
    return peaks;
}
