/* transform_spectrum.c - spectra read at frequencies that are computed from the index: rotations and shifts of images,
 * and averages over point groups. Frequencies are counted in elements, so that matrices that permute axes are exact.
 */
#include "spectral.h"

typedef struct job {
    wf_graph *g;
    const char *function;
    const wf_array *x, *inverse, *shifts;
    const wf_spectrum *s;
    const wf_interp *how;
    double cutoff;
    int batch;      /* axes of the result before the spectrum */
    wf_dtype dtype; /* of frequencies */
} job;

/* ---- frequencies ---- */
/* Sets the frequencies of the current point, in elements. */
static void elements_here(const job *j, wf_val *at)
{
    for (int d = 0; d < j->s->rank; ++d)
        at[d] = wf_cast(wfl_signed_index(j->g, j->s, d, wf_index(j->g, j->batch + d)), j->dtype);
}

/* Sets `from` to the place that a matrix takes frequencies to; `index` has the matrix's place in an array. */
static void place_by(const job *j, const wf_array *matrices, wf_val *index, int before, const wf_val *at, wf_val *from)
{
    for (int d = 0; d < j->s->rank; ++d)
        for (int e = 0; e < j->s->rank; ++e) {
            double ratio = (double)j->s->size[d] / (double)j->s->size[e];
            index[before] = wf_const_i64(j->g, WF_I64, d);
            index[before + 1] = wf_const_i64(j->g, WF_I64, e);
            wf_val m = wf_cast(wf_read_n(j->g, matrices, (wf_vals){ index, (size_t)before + 2 }), j->dtype);
            wf_val term = wf_mul(m, ratio == 1 ? at[e] : wf_mul(at[e], ratio));
            from[d] = e ? wf_add(from[d], term) : term;
        }
}

/* Returns x at a place in elements. */
static wf_val read_at(const job *j, const wf_val *from)
{
    wf_val index[WF_MAX_RANK];
    int before = wf_array_shape(j->x).rank - j->s->rank;
    wfl_batch_indices(j->g, j->x, before, j->batch, index);
    for (int d = 0; d < j->s->rank; ++d)
        index[before + d] = from[d];
    return wfl_spectrum_read(j->g, j->x, j->s, j->how, (wf_vals){ index, (size_t)(before + j->s->rank) }, true);
}

/* Returns the factor that moves an image by its shift. */
static wf_val moves(const job *j, const wf_val *k)
{
    wf_val index[WF_MAX_RANK], shift[WFL_SPECTRUM_AXES];
    int before = wf_array_shape(j->shifts).rank - 1;
    size_t n = (size_t)j->s->rank;
    wfl_batch_indices(j->g, j->shifts, before, j->batch, index);
    for (int d = 0; d < j->s->rank; ++d) {
        index[before] = wf_const_i64(j->g, WF_I64, d);
        shift[d] = wf_cast(wf_read_n(j->g, j->shifts, (wf_vals){ index, (size_t)before + 1 }), WF_F64);
    }
    wf_dtype part = wf_dtype_part(wfl_interpolated_dtype(wf_array_dtype(j->x)));
    return wfl_phase_shift_as(j->g, (wf_vals){ shift, n }, (wf_vals){ k, n }, part);
}

/* ---- checks ---- */
/* False, with an error: the spectra, or how they are read, are not valid. */
static bool spectra_fit(const job *j)
{
    wf_context *ctx = wf_array_context(j->x);
    wf_dtype t = wf_array_dtype(j->x);
    if (!wfl_spectrum_last(j->x, j->s, j->function, "x") || !wfl_spectral_interp_known(ctx, j->how, j->function, "how"))
        return false;
    bool complex = wfl_is_complex_dtype(t);
    if (complex || (wfl_is_float_dtype(t) && !j->shifts))
        return true;
    wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `x` is %s; %s", j->function, wf_dtype_name(t),
                   wfl_is_float_dtype(t) ? "only complex spectra are moved by shifts"
                                         : "spectra are complex or floats");
    return false;
}

/* False, with an error, unless the array is real and its last axes, `own`, are each as long as the spectrum has axes. */
static bool operand_fits(const job *j, const wf_array *a, int own, const char *name)
{
    wf_context *ctx = wf_array_context(j->x);
    if (!wfl_array_known(a, j->function))
        return false;
    wf_shape shape = wf_array_shape(a);
    bool fits = shape.rank >= own;
    for (int d = 0; fits && d < own; ++d)
        fits = shape.dim[shape.rank - 1 - d] == j->s->rank;
    char text[96];
    wf_shape_text(&shape, text, sizeof text);
    if (!fits && own == 2)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `%s` is %s; for %d axes its last two are %d x %d", j->function, name,
                       text, (int)j->s->rank, (int)j->s->rank, (int)j->s->rank);
    else if (!fits)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `%s` is %s; for %d axes its last one has %d elements", j->function, name,
                       text, (int)j->s->rank, (int)j->s->rank);
    else if (wfl_is_complex_dtype(wf_array_dtype(a)))
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `%s` is %s; it must be real", j->function, name,
                       wf_dtype_name(wf_array_dtype(a)));
    else
        return true;
    return false;
}

/* Sets *out to the result's shape and the job's batch. False, with an error: batches do not broadcast. */
static bool result_shape(job *j, wf_shape *out)
{
    wf_shape x = wf_array_shape(j->x), m = wf_array_shape(j->inverse), all;
    wf_shape by = j->shifts ? wf_array_shape(j->shifts) : WF_SHAPE(1);
    int rank = j->s->rank;
    if (!wfl_batch_broadcast(&x, rank, &m, 2, &all) || !wfl_batch_broadcast(&all, 0, &by, 1, &all) ||
        all.rank + rank > WF_MAX_RANK) {
        char text[3][96];
        wf_shape_text(&x, text[0], sizeof text[0]);
        wf_shape_text(&m, text[1], sizeof text[1]);
        wf_shape_text(&by, text[2], sizeof text[2]);
        wfl_array_fail(wf_array_context(j->x), WF_ERR_SHAPE,
                       "%s: the batches of `x`, %s, `inverse`, %s, and `shifts`, %s, do not broadcast", j->function,
                       text[0], text[1], j->shifts ? text[2] : "NULL");
        return false;
    }
    j->batch = all.rank;
    for (int d = 0; d < rank; ++d)
        all.dim[all.rank + d] = wfl_spectrum_extent(j->s, d);
    all.rank += rank;
    *out = all;
    return true;
}

/* ---- the functions ---- */
wf_array *wf_transform_spectrum(const wf_array *x, const wf_spectrum *spectrum, const wf_array *inverse,
                                const wf_array *shifts, const wf_interp *how, double cutoff)
{
    static const char function[] = "wf_transform_spectrum";
    wf_context *ctx = wf_array_context(x ? x : inverse);
    job j = { .function = function, .x = x, .inverse = inverse, .shifts = shifts, .s = spectrum, .how = how };
    wf_shape shape;
    if (!x || !inverse) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, x ? "inverse" : "x");
        return NULL;
    }
    if (!spectra_fit(&j) || !operand_fits(&j, inverse, 2, "inverse") ||
        (shifts && !operand_fits(&j, shifts, 1, "shifts")) || !result_shape(&j, &shape))
        return NULL;
    if (!(cutoff >= 0)) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `cutoff` is %g; it may not be negative", function, cutoff);
        return NULL;
    }
    wf_array *y = wfl_result_beside(x, wf_array_dtype(x), &shape);
    if (!y)
        return NULL;
    j.g = wfl_begin(ctx, function, .shape = shape);
    j.dtype = wfl_positions_dtype(inverse);
    wf_val at[WFL_SPECTRUM_AXES], k[WFL_SPECTRUM_AXES], from[WFL_SPECTRUM_AXES], index[WF_MAX_RANK + 2];
    int before = wf_array_shape(inverse).rank - 2;
    elements_here(&j, at);
    for (int d = 0; d < spectrum->rank; ++d) /* phases are in f64 */
        k[d] = wf_div(wf_cast(at[d], WF_F64), wf_const(j.g, WF_F64, (double)spectrum->size[d]));
    wfl_batch_indices(j.g, inverse, before, j.batch, index);
    place_by(&j, inverse, index, before, at, from);
    wf_val v = read_at(&j, from);
    v = shifts ? wf_mul(v, moves(&j, k)) : v;
    if (cutoff > 0) {
        wf_val within = wfl_within_cutoff(j.g, (wf_vals){ k, (size_t)spectrum->rank }, WF_F64, cutoff);
        v = wf_select(within, v, wf_const(j.g, wfl_interpolated_dtype(wf_array_dtype(x)), 0));
    }
    wf_out(j.g, y, v);
    return wfl_array_run(j.g, y);
}

wf_array *wf_symmetrize_spectrum(const wf_array *x, const wf_spectrum *spectrum, const char *symmetry,
                                 const wf_interp *how)
{
    static const char function[] = "wf_symmetrize_spectrum";
    wf_context *ctx = wf_array_context(x);
    job j = { .function = function, .x = x, .s = spectrum, .how = how, .dtype = WF_F64 };
    if (!x || !spectra_fit(&j))
        return NULL;
    if (spectrum->rank < 2) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: spectrum.rank is 1; 2 and 3 are possible", function);
        return NULL;
    }
    if (!wfl_last_axes_whole(x, spectrum->rank, function))
        return NULL;
    wf_shape shape = wf_array_shape(x);
    wf_array *rotations = wfl_group_rotations(x, symmetry, spectrum->rank, function);
    wf_array *y = rotations ? wfl_result_beside(x, wf_array_dtype(x), &shape) : NULL;
    if (y) {
        j.g = wfl_begin(ctx, function, .shape = shape);
        j.batch = shape.rank - spectrum->rank;
        wf_dtype t = wfl_interpolated_dtype(wf_array_dtype(x)), part = wf_dtype_part(t);
        wf_val at[WFL_SPECTRUM_AXES], from[WFL_SPECTRUM_AXES], index[3], n = wf_dim(j.g, rotations, 0);
        wf_var sum = wf_local(j.g, t, wf_const(j.g, t, 0));
        elements_here(&j, at);
        WF_FOR (j.g, index[0], wf_const_i64(j.g, WF_I64, 0), n, 1) {
            place_by(&j, rotations, index, 1, at, from);
            wf_inc(sum, read_at(&j, from));
        }
        WF_END(j.g);
        wf_out(j.g, y, wf_mul(wf_get(sum), wf_div(wf_const(j.g, part, 1), wf_cast(n, part))));
        y = wfl_array_run(j.g, y);
    }
    wf_release(rotations);
    return y;
}
