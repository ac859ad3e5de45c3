/* slices.c - slices through the center of spectra: extracted from a volume, inserted into it, and what corrects and
 * normalises the result. Frequencies are counted in elements, so that rotations that permute axes are exact.
 */
#include "project.h"
#include "spectral.h"
#include <math.h>
#include <stdlib.h>

typedef struct job {
    wf_graph *g;
    const char *function;
    const wf_slices *s;
    wf_array *volume, *weights;
    const wf_array *images, *image_weights, *rotations, *shifts;
    int axes;       /* of the volume */
    wf_dtype dtype; /* of positions */
    double cutoff;
} job;

/* ---- checks ---- */
static bool spectrum_is_half(const wf_spectrum *s) { return s->layout == WF_LAYOUT_H || s->layout == WF_LAYOUT_HC; }

bool wfl_rotations_fit(const wf_array *rotations, const wf_array *shifts, int axes, const char *function)
{
    wf_context *ctx = wf_array_context(rotations);
    if (!wfl_array_known(rotations, function) || !wfl_array_known(shifts, function))
        return false;
    wf_shape r = wf_array_shape(rotations), by = shifts ? wf_array_shape(shifts) : WF_SHAPE(r.dim[0], axes - 1);
    const wf_array *wrong = wfl_is_complex_dtype(wf_array_dtype(rotations)) ? rotations : shifts;
    char text[2][96];
    wf_shape_text(&r, text[0], sizeof text[0]);
    wf_shape_text(&by, text[1], sizeof text[1]);
    if (r.rank != 3 || r.dim[1] != axes || r.dim[2] != axes)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `rotations` is %s, not (n, %d, %d)", function, text[0], axes, axes);
    else if (by.rank != 2 || by.dim[0] != r.dim[0] || by.dim[1] != axes - 1)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `shifts` is %s, not (%lld, %d)", function, text[1], (long long)r.dim[0],
                       axes - 1);
    else if (wrong && wfl_is_complex_dtype(wf_array_dtype(wrong)))
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `%s` is %s; it must be real", function,
                       wrong == rotations ? "rotations" : "shifts", wf_dtype_name(wf_array_dtype(wrong)));
    else
        return true;
    return false;
}

/* Completes the job. False, with an error: something does not fit. */
static bool complete(job *j)
{
    wf_context *ctx = wf_array_context(j->volume);
    const wf_slices *s = j->s;
    char text[WFL_SIGNAL_TEXT];
    if (!s || !j->rotations) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", j->function, s ? "rotations" : "slices");
        return false;
    }
    if (!wfl_spectrum_last(j->volume, &s->volume, j->function, "volume") ||
        !wfl_spectral_interp_known(ctx, &s->how, j->function, "slices.how"))
        return false;
    j->axes = s->volume.rank;
    if (!wfl_spectrum_valid(&s->image, j->function, text))
        wf_error(ctx, WF_ERR_ARG, text);
    else if (j->axes < 2 || s->image.rank != j->axes - 1 || wf_array_shape(j->volume).rank != j->axes)
        wfl_array_fail(ctx, WF_ERR_ARG,
                       "%s: `volume` has %d axes, slices.volume %d and slices.image %d; 3, 3 and 2 or 2, "
                       "2 and 1 are possible",
                       j->function, (int)wf_array_shape(j->volume).rank, j->axes, (int)s->image.rank);
    else if (!wfl_is_complex_dtype(wf_array_dtype(j->volume)))
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `volume` is %s; spectra are complex", j->function,
                       wf_dtype_name(wf_array_dtype(j->volume)));
    else if (!isfinite(s->wavelength))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: slices.wavelength is %g", j->function, s->wavelength);
    else if (!(s->cutoff >= 0) || !(s->window >= 0) || !(s->sinc >= 0))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: slices.cutoff is %g, .window %g, .sinc %g; none may be negative",
                       j->function, s->cutoff, s->window, s->sinc);
    else if (wfl_rotations_fit(j->rotations, j->shifts, j->axes, j->function)) {
        j->cutoff = s->cutoff > 0 ? s->cutoff : 0.5;
        j->dtype = wfl_positions_dtype(j->rotations);
        return true;
    }
    return false;
}

/* The shape of n slices. */
static wf_shape slices_shape(const job *j)
{
    wf_shape shape = { .rank = j->axes };
    shape.dim[0] = wf_array_shape(j->rotations).dim[0];
    for (int d = 1; d < j->axes; ++d)
        shape.dim[d] = wfl_spectrum_extent(&j->s->image, d - 1);
    return shape;
}

/* ---- values of slice i ---- */
static wf_val entry(const job *j, wf_val i, int row, int column)
{
    return wf_cast(wf_read(j->g, j->rotations, i, wf_const_i64(j->g, WF_I64, row), wf_const_i64(j->g, WF_I64, column)),
                   j->dtype);
}

/* Sets the frequencies of the current point of a space of slices, in elements of the image. */
static void image_elements(const job *j, wf_val *at)
{
    for (int d = 0; d < j->axes - 1; ++d)
        at[d] = wf_cast(wfl_signed_index(j->g, &j->s->image, d, wf_index(j->g, d + 1)), j->dtype);
}

/* Sets the frequencies in cycles/pixel. */
static void in_cycles(const job *j, const wf_spectrum *s, const wf_val *at, wf_val *k)
{
    for (int d = 0; d < s->rank; ++d)
        k[d] = wf_div(at[d], wf_const(j->g, j->dtype, (double)s->size[d]));
}

/* Returns how far the slice lies from the plane at frequencies k of the image, in cycles/pixel: where wavelength is w,
 * 1/w - sqrt(1/w^2 - |k|^2), without its difference. */
static wf_val height(const job *j, const wf_val *k)
{
    wf_val gg = wf_mul(k[0], k[0]), w = wf_param(j->g, "wavelength", j->dtype, j->s->wavelength);
    for (int d = 1; d < j->axes - 1; ++d)
        gg = wf_add(gg, wf_mul(k[d], k[d]));
    wf_val rest = wf_max(wf_sub(1, wf_mul(gg, wf_mul(w, w))), 0);
    return wf_div(wf_mul(w, gg), wf_add(wf_sqrt(rest), 1));
}

/* Sets the place of an element of slice i in the volume, in elements; k: the same in cycles/pixel. */
static void in_volume(const job *j, wf_val i, const wf_val *at, const wf_val *k, wf_val *place)
{
    for (int d = 0; d < j->axes; ++d)
        for (int e = 1; e < j->axes; ++e) {
            double ratio = (double)j->s->volume.size[d] / (double)j->s->image.size[e - 1];
            wf_val term = wf_mul(entry(j, i, d, e), ratio == 1 ? at[e - 1] : wf_mul(at[e - 1], ratio));
            place[d] = e > 1 ? wf_add(place[d], term) : term;
        }
    if (j->s->wavelength == 0)
        return;
    wf_val up = height(j, k);
    for (int d = 0; d < j->axes; ++d)
        place[d] = wf_add(place[d], wf_mul(entry(j, i, d, 0), wf_mul(up, (double)j->s->volume.size[d])));
}

/* Returns the factor that moves a slice by its shift, or back; the number 1 without shifts. */
static wf_val moves(const job *j, wf_val i, const wf_val *k, double direction, wf_dtype part)
{
    wf_val shift[WFL_SPECTRUM_AXES];
    int n = j->axes - 1;
    for (int d = 0; d < n; ++d) {
        shift[d] = wf_cast(wf_read(j->g, j->shifts, i, wf_const_i64(j->g, WF_I64, d)), WF_F64);
        shift[d] = direction < 0 ? wf_neg(shift[d]) : shift[d];
    }
    return wfl_phase_shift_as(j->g, (wf_vals){ shift, (size_t)n }, (wf_vals){ k, (size_t)n }, part);
}

static wf_val within(const job *j, const wf_val *k)
{
    return wfl_within_cutoff(j->g, (wf_vals){ k, (size_t)j->axes - 1 }, j->dtype, j->cutoff);
}

static wf_dtype part_of(wf_dtype t) { return wf_dtype_part(wfl_interpolated_dtype(t)); }

/* ---- extraction ---- */
wf_array *wf_extract_slices(const wf_array *volume, const wf_slices *slices, const wf_array *rotations,
                            const wf_array *shifts)
{
    static const char function[] = "wf_extract_slices";
    job j = {
        .function = function, .s = slices, .volume = (wf_array *)volume, .rotations = rotations, .shifts = shifts
    };
    if (!volume) {
        wfl_array_fail(wf_array_context(rotations), WF_ERR_ARG, "%s: `volume` is NULL", function);
        return NULL;
    }
    if (!complete(&j) || !wfl_array_whole(rotations, function) || !wfl_array_whole(shifts, function))
        return NULL;
    wf_shape shape = slices_shape(&j);
    wf_dtype t = wf_array_dtype(volume);
    wf_array *y = wfl_array_beside(volume, t, &shape);
    if (!y)
        return NULL;
    j.g = wfl_begin(wf_array_context(volume), function, .shape = shape);
    wf_val at[WFL_SPECTRUM_AXES], k[WFL_SPECTRUM_AXES], place[WFL_SPECTRUM_AXES], i = wf_index(j.g, 0);
    image_elements(&j, at);
    in_cycles(&j, &slices->image, at, k);
    in_volume(&j, i, at, k, place);
    wf_val v = wfl_spectrum_read(j.g, volume, &slices->volume, &slices->how, (wf_vals){ place, (size_t)j.axes }, true);
    v = shifts ? wf_mul(v, moves(&j, i, k, 1, part_of(t))) : v;
    wf_out(j.g, y, wf_select(within(&j, k), v, wf_const(j.g, wfl_interpolated_dtype(t), 0)));
    return wfl_array_run(j.g, y);
}

/* ---- insertion ---- */
/* False, with an error: images or weights do not fit. */
static bool addends_fit(const job *j)
{
    wf_context *ctx = wf_array_context(j->volume);
    wf_shape need = slices_shape(j), image = wf_array_shape(j->images), volume = wf_array_shape(j->volume);
    wf_shape few = WF_SHAPE(need.dim[0]), own = j->image_weights ? wf_array_shape(j->image_weights) : few;
    wf_shape sums = j->weights ? wf_array_shape(j->weights) : volume;
    if (!wfl_array_known(j->images, j->function) || !wfl_array_known(j->weights, j->function) ||
        !wfl_array_known(j->image_weights, j->function))
        return false;
    const struct {
        const char *name;
        const wf_array *array;
        const wf_shape *shape, *need;
        bool real;
    } checks[] = { { "images", j->images, &image, &need, false },
                   { "image_weights", j->image_weights, &own, own.rank == 1 ? &few : &need, true },
                   { "weights", j->weights, &sums, &volume, true } };
    for (int i = 0; i < 3; ++i) {
        char text[2][96];
        wf_shape_text(checks[i].shape, text[0], sizeof text[0]);
        wf_shape_text(checks[i].need, text[1], sizeof text[1]);
        if (!wfl_same_shape(checks[i].shape, checks[i].need))
            wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `%s` is %s, not %s", j->function, checks[i].name, text[0], text[1]);
        else if (checks[i].array && checks[i].real && wfl_is_complex_dtype(wf_array_dtype(checks[i].array)))
            wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `%s` is %s; it must be real", j->function, checks[i].name,
                           wf_dtype_name(wf_array_dtype(checks[i].array)));
        else
            continue;
        return false;
    }
    if (j->weights && !wfl_is_float_dtype(wf_array_dtype(j->weights)))
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `weights` is %s; it must be of floats", j->function,
                       wf_dtype_name(wf_array_dtype(j->weights)));
    else if (spectrum_is_half(&j->s->volume) != spectrum_is_half(&j->s->image))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: slices.volume is %s, but slices.image is %s", j->function,
                       spectrum_is_half(&j->s->volume) ? "half" : "full",
                       spectrum_is_half(&j->s->image) ? "half" : "full");
    else
        return true;
    return false;
}

/* Returns the weight of slice i at `at`, in elements; `index` is that of the element, NULL: between elements. */
static wf_val weight_at(const job *j, wf_val i, const wf_val *at, const wf_val *index, wf_dtype part)
{
    wf_val all[WF_MAX_RANK] = { i };
    if (!j->image_weights)
        return wf_const(j->g, part, 1);
    if (wf_array_shape(j->image_weights).rank == 1)
        return wf_cast(wf_read(j->g, j->image_weights, i), part);
    for (int d = 1; d < j->axes; ++d)
        all[d] = index ? index[d - 1] : at[d - 1];
    wf_vals list = { all, (size_t)j->axes };
    wf_val w = index ? wf_read_n(j->g, j->image_weights, list)
                     : wfl_spectrum_read(j->g, j->image_weights, &j->s->image, &j->s->how, list, true);
    return wf_cast(w, part);
}

/* Each element of a slice is added around its frequency. In half layouts the elements at frequency 0 and Nyquist of the
 * last axis are in the slice together with their opposites, and each is added with both signs: half of each counts. */
static void record_scatter(job *j)
{
    wf_graph *g = j->g;
    wf_val at[WFL_SPECTRUM_AXES], k[WFL_SPECTRUM_AXES], place[WFL_SPECTRUM_AXES], index[WFL_SPECTRUM_AXES];
    wf_val i = wf_index(g, 0);
    wf_dtype part = part_of(wf_array_dtype(j->volume));
    image_elements(j, at);
    in_cycles(j, &j->s->image, at, k);
    for (int d = 1; d < j->axes; ++d)
        index[d - 1] = wf_index(g, d);
    WF_IF (g, within(j, k)) {
        in_volume(j, i, at, k, place);
        wf_val v = wf_cast(wf_in(g, j->images), wfl_interpolated_dtype(wf_array_dtype(j->volume)));
        wf_val w = weight_at(j, i, at, index, part);
        if (j->shifts)
            v = wf_mul(v, moves(j, i, k, -1, part));
        if (spectrum_is_half(&j->s->image)) {
            wf_vals list = { index, (size_t)j->axes - 1 };
            wf_val share = wf_cast(wf_mul(wf_hermitian_weight(g, &j->s->image, list), 0.5), part);
            v = wf_mul(v, share);
            w = wf_mul(w, share);
        }
        wfl_spectrum_splat(g, j->volume, j->weights, &j->s->volume, &j->s->how, v, w,
                           (wf_vals){ place, (size_t)j->axes }, true);
    }
    WF_END(g);
}

/* Returns sinc(z / sinc) times a Blackman window that ends at z = window. */
static wf_val windowed_sinc(const job *j, wf_val z)
{
    double n = 1;
    for (int d = 0; d < j->axes; ++d)
        n = fmax(n, (double)j->s->volume.size[d]);
    wf_val x = wf_mul(z, wf_param(j->g, "sinc", j->dtype, j->s->sinc > 0 ? 1 / j->s->sinc : n));
    wf_val part = wf_mul(z, wf_param(j->g, "window", j->dtype, 1 / j->s->window)), c = wf_cospi(part);
    /* 0.42 + 0.5 c + 0.08 cos(2 a), cos(2 a) = 2 c^2 - 1 */
    return wf_mul(wf_sinc(x), wf_add(wf_mul(wf_add(wf_mul(c, 0.16), 0.5), c), 0.34));
}

/* Each element of the volume takes from each slice. */
static void record_gather(job *j)
{
    wf_graph *g = j->g;
    wf_dtype t = wfl_interpolated_dtype(wf_array_dtype(j->volume)), part = part_of(t);
    wf_val k[WFL_SPECTRUM_AXES], i, n = wf_dim(g, j->rotations, 0);
    for (int d = 0; d < j->axes; ++d) {
        k[d] = wf_cast(wfl_signed_index(g, &j->s->volume, d, wf_index(g, d)), j->dtype);
        k[d] = wf_div(k[d], wf_const(g, j->dtype, (double)j->s->volume.size[d]));
    }
    wf_var re = wf_local(g, part, 0), im = wf_local(g, part, 0), weight = wf_local(g, part, 0);
    WF_FOR (g, i, wf_const_i64(g, WF_I64, 0), n, 1) {
        wf_val own[WFL_SPECTRUM_AXES], at[WFL_SPECTRUM_AXES + 1] = { i };
        for (int e = 0; e < j->axes; ++e)
            for (int d = 0; d < j->axes; ++d) {
                wf_val term = wf_mul(entry(j, i, d, e), k[d]);
                own[e] = d ? wf_add(own[e], term) : term;
            }
        if (j->s->wavelength != 0)
            own[0] = wf_sub(own[0], height(j, own + 1));
        wf_val near = wf_lt(wf_abs(own[0]), wf_param(g, "reach", j->dtype, j->s->window));
        WF_IF (g, wf_and(near, within(j, own + 1))) {
            for (int d = 1; d < j->axes; ++d)
                at[d] = wf_mul(own[d], (double)j->s->image.size[d - 1]);
            wf_vals list = { at, (size_t)j->axes };
            wf_val v = wfl_spectrum_read(g, j->images, &j->s->image, &j->s->how, list, true);
            v = wf_cast(v, t);
            v = j->shifts ? wf_mul(v, moves(j, i, own + 1, -1, part)) : v;
            wf_val w = wf_cast(windowed_sinc(j, own[0]), part);
            wf_inc(re, wf_mul(wf_real(v), w));
            wf_inc(im, wf_mul(wf_imag(v), w));
            wf_inc(weight, wf_mul(weight_at(j, i, at + 1, NULL, part), w));
        }
        WF_END(g);
    }
    WF_END(g);
    wf_out(g, j->volume, wf_add(wf_in(g, j->volume), wf_complex(wf_get(re), wf_get(im))));
    if (j->weights)
        wf_out(g, j->weights, wf_add(wf_in(g, j->weights), wf_get(weight)));
}

wf_status wf_insert_slices(wf_array *volume, wf_array *weights, const wf_array *images, const wf_array *image_weights,
                           const wf_slices *slices, const wf_array *rotations, const wf_array *shifts)
{
    static const char function[] = "wf_insert_slices";
    job j = { .function = function,
              .s = slices,
              .volume = volume,
              .weights = weights,
              .images = images,
              .image_weights = image_weights,
              .rotations = rotations,
              .shifts = shifts };
    wf_context *ctx = wf_array_context(volume ? volume : images);
    if (!volume || !images)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, volume ? "images" : "volume");
    if (!complete(&j) || !addends_fit(&j))
        return wfl_array_error(ctx);
    bool gathers = slices->window > 0;
    wf_shape shape = gathers ? wf_array_shape(volume) : slices_shape(&j);
    j.g = wfl_begin(ctx, function, .shape = shape);
    if (gathers)
        record_gather(&j);
    else
        record_scatter(&j);
    return wf_run(j.g);
}

/* ---- what follows and precedes ---- */
wf_status wf_normalize_sums(wf_array *out, const wf_array *sums, const wf_array *weights, double least)
{
    static const char function[] = "wf_normalize_sums";
    wf_context *ctx = wf_array_context(out ? out : sums);
    if (!out || !sums || !weights)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, !out ? "out" : !sums ? "sums" : "weights");
    if (!(least >= 0))
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `least` is %g; it must be 0 or more", function, least);
    if (!wfl_array_known(out, function) || !wfl_array_known(sums, function) || !wfl_array_known(weights, function) ||
        !wfl_have_one_shape(sums, weights, function) || !wfl_have_one_shape(out, sums, function))
        return wfl_array_error(ctx);
    wf_shape shape = wf_array_shape(out);
    wf_graph *g = wfl_begin(ctx, function, .shape = shape, .indexed = true);
    wf_dtype part = wf_dtype_part(wf_array_dtype(sums)), t = part == WF_F64 ? WF_F64 : WF_F32;
    wf_val v = wf_in(g, sums), w = wf_max(wf_cast(wf_in(g, weights), t), wf_param(g, "least", t, least));
    wf_val scale = wf_select(wf_eq(w, 0), 0, wf_div(1, w));
    wf_out(g, out, wf_mul(v, scale));
    return wf_run(g);
}

/* Returns 1 / c at each element of an axis of n, for a spectrum of `size` elements, f64 beside x. NULL: an error. */
static wf_array *correction(const wf_array *x, int64_t n, int64_t size, wf_interpolation how)
{
    double *factor = malloc((size_t)n * sizeof *factor + 1);
    wf_array *line = factor ? wfl_array_beside(x, WF_F64, &WF_SHAPE(n)) : NULL;
    for (int64_t i = 0; line && i < n; ++i)
        factor[i] = 1 / wfl_kernel_transform(how, (double)(i - n / 2) / (double)size);
    if (!factor)
        wf_error(wf_array_context(x), WF_ERR_MEMORY, NULL);
    else if (line && wf_upload(line, factor, (size_t)n * sizeof *factor) != WF_OK) {
        wf_release(line);
        line = NULL;
    }
    free(factor);
    return line;
}

/* False, with an error: the arrays are no images whose spectra have these sizes. */
static bool images_fit(const wf_array *out, const wf_array *x, const wf_spectrum *spectrum, wf_interpolation how,
                       const char *function)
{
    wf_context *ctx = wf_array_context(x);
    wf_shape shape = wf_array_shape(x);
    char reason[WFL_SIGNAL_TEXT], text[96];
    if (!wfl_array_known(x, function) || !wfl_array_known(out, function) || !wfl_have_one_shape(out, x, function))
        return false;
    if (!wfl_spectrum_valid(spectrum, function, reason)) {
        wf_error(ctx, WF_ERR_ARG, reason);
        return false;
    }
    if ((unsigned)how > WFL_LAST_INTERPOLATION) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: there is no interpolation %d", function, (int)how);
        return false;
    }
    bool fit = shape.rank >= spectrum->rank;
    for (int d = 0; fit && d < spectrum->rank; ++d)
        fit = shape.dim[shape.rank - spectrum->rank + d] <= spectrum->size[d];
    wf_shape_text(&shape, text, sizeof text);
    if (!fit)
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `x` is %s; its last %d axes must not exceed spectrum.size", function,
                       text, (int)spectrum->rank);
    return fit;
}

wf_status wf_correct_gridding(wf_array *out, const wf_array *x, const wf_spectrum *spectrum,
                              wf_interpolation interpolation)
{
    static const char function[] = "wf_correct_gridding";
    wf_context *ctx = wf_array_context(out ? out : x);
    if (!out || !x)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `%s` is NULL", function, out ? "x" : "out");
    if (!images_fit(out, x, spectrum, interpolation, function))
        return wfl_array_error(ctx);
    wf_shape shape = wf_array_shape(x);
    wf_array *line[WFL_SPECTRUM_AXES] = { NULL };
    int n = spectrum->rank, before = shape.rank - n, made = 0;
    while (made < n && (line[made] = correction(x, shape.dim[before + made], spectrum->size[made], interpolation)))
        ++made;
    wf_status status = made < n ? wfl_array_error(ctx) : WF_OK;
    if (status == WF_OK) {
        wf_graph *g = wfl_begin(ctx, function, .shape = shape);
        wf_dtype t = wfl_weights_wide(wf_array_dtype(x)) ? WF_F64 : WF_F32;
        wf_val factor = wf_read(g, line[0], wf_index(g, before));
        for (int d = 1; d < n; ++d)
            factor = wf_mul(factor, wf_read(g, line[d], wf_index(g, before + d)));
        wf_out(g, out, wf_mul(wf_cast(wf_in(g, x), wfl_interpolated_dtype(wf_array_dtype(x))), wf_cast(factor, t)));
        status = wf_run(g);
    }
    for (int d = 0; d < made; ++d)
        wf_release(line[d]);
    return status;
}
