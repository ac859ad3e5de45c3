/* image.c - spectra multiplied by factors: a user's filter, shifts, contrast transfer functions; batches of them. */
#include "lib/array/random.h"
#include "spectra.h"
#include "weft/fft.h"
#include <math.h>

typedef struct job {
    wf_graph *g;
    wf_array *out;
    const wf_array *x;
    const wf_spectrum *s;
    wf_shape shape;
    int batch; /* number of axes before those of the spectrum */
} job;

/* Begins the recording; an error is reported and returned. */
static wf_status begin(job *j, const char *function)
{
    wf_context *ctx = wf_array_context(j->out);
    if (!j->out)
        return wfl_array_fail(wf_array_context(j->x), WF_ERR_ARG, "%s: `out` is NULL", function);
    if (!wfl_spectrum_last(j->out, j->s, function, "out"))
        return wfl_array_error(ctx);
    j->shape = wf_array_shape(j->out);
    j->batch = j->shape.rank - j->s->rank;
    wf_shape other = j->x ? wf_array_shape(j->x) : j->shape;
    if (!wfl_array_known(j->x, function))
        return WF_ERR_ARG;
    if (!wfl_same_shape(&other, &j->shape)) {
        char found[96], needed[96];
        wf_shape_text(&other, found, sizeof found);
        wf_shape_text(&j->shape, needed, sizeof needed);
        return wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `x` is %s, but `out` is %s", function, found, needed);
    }
    j->g = wfl_begin(ctx, function, .shape = j->shape, .device = wfl_on_gpu(j->out) ? wf_array_device(j->out) : 0);
    return j->g ? WF_OK : wfl_array_error(ctx);
}

/* Assigns x times the factor, or the factor, and runs. */
static wf_status finish(job *j, wf_val factor)
{
    wf_out(j->g, j->out, j->x ? wf_mul(wf_in(j->g, j->x), factor) : factor);
    return wfl_run_into(j->g, j->out);
}

/* Sets k[d] to the frequencies of the current point. */
static void frequencies(const job *j, wf_dtype t, wf_val *k)
{
    wf_spectrum s = *j->s;
    s.dtype = t;
    for (int d = 0; d < s.rank; ++d)
        k[d] = wf_freq(j->g, &s, d, wf_index(j->g, j->batch + d));
}

/* Reads component c of a vector that belongs to the batch of the current point, or to all, as f64. */
static wf_val component(const job *j, const wf_array *a, int c)
{
    wf_val index[WF_MAX_RANK];
    int n = wf_array_shape(a).rank - 1;
    for (int d = 0; d < n; ++d)
        index[d] = wf_index(j->g, d);
    index[n] = wf_const_i64(j->g, WF_I64, c);
    return wf_cast(wf_read_n(j->g, a, (wf_vals){ index, (size_t)n + 1 }), WF_F64);
}

/* The dtype of real factors: f64 where the result has 64 bits, else f32. */
static wf_dtype part_of(const job *j) { return wf_dtype_part(wf_array_dtype(j->out)) == WF_F64 ? WF_F64 : WF_F32; }

wf_status wf_spectrum_filter(wf_array *out, const wf_array *x, const wf_spectrum *spectrum, wf_response *response,
                             void *user)
{
    job j = { .out = out, .x = x, .s = spectrum };
    if (!response)
        return wfl_array_fail(wf_array_context(out), WF_ERR_ARG, "wf_spectrum_filter: `response` is NULL");
    wf_status status = begin(&j, "wf_spectrum_filter");
    if (status != WF_OK)
        return status;
    wf_val k[WFL_SPECTRUM_AXES];
    frequencies(&j, spectrum->dtype, k);
    return finish(&j, response(j.g, (wf_vals){ k, (size_t)spectrum->rank }, user));
}

/* ---- real images ---- */

typedef struct image_response {
    wf_response *call;
    void *user;
    wf_spectrum spectrum;
} image_response;

static void respond(const wf_site *site)
{
    const image_response *r = site->user;
    wf_spectrum s = r->spectrum;
    wf_val element = wf_get(site->in[0]), k[WFL_SPECTRUM_AXES];
    s.dtype = wf_dtype_part(wf_val_dtype(element));
    for (int d = 0; d < s.rank; ++d)
        k[d] = wf_freq(site->graph, &s, d, site->index[site->rank - s.rank + d]);
    wf_set(site->out[0], wf_mul(element, r->call(site->graph, (wf_vals){ k, (size_t)s.rank }, r->user)));
}

wf_status wf_image_filter(wf_array *out, const wf_array *x, int rank, wf_response *response, void *user)
{
    static const char name[] = "wf_image_filter";
    wf_context *ctx = wf_array_context(x);
    image_response r = { response, user, { .layout = WF_LAYOUT_H, .rank = rank } };
    if (!response)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `response` is NULL", name);
    if (!wfl_array_known(x, name))
        return WF_ERR_ARG;
    wf_shape shape = wf_array_shape(x);
    if (rank < 1 || rank > WFL_SPECTRUM_AXES || rank > shape.rank)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `rank` is %d, and the array has %d axes", name, rank,
                              (int)shape.rank);
    for (int d = 0; d < rank; ++d)
        r.spectrum.size[d] = shape.dim[shape.rank - rank + d];
    wf_axes axes = ((1u << rank) - 1) << (shape.rank - rank);
    return wf_fft_filter(out, x, axes, respond, &r);
}

/* ---- shifts and transfer functions ---- */

wf_status wf_spectrum_shift(wf_array *out, const wf_array *x, const wf_spectrum *spectrum, const wf_array *shifts)
{
    static const char name[] = "wf_spectrum_shift";
    job j = { .out = out, .x = x, .s = spectrum };
    wf_status status = shifts ? WF_OK : wfl_array_fail(wf_array_context(out), WF_ERR_ARG, "%s: `shifts` is NULL", name);
    status = status == WF_OK ? begin(&j, name) : status;
    if (status != WF_OK)
        return status;
    if (!wfl_spectrum_batch(shifts, &j.shape, spectrum->rank, spectrum->rank, name, "shifts")) {
        wf_drop(j.g);
        return wfl_array_error(wf_array_context(out));
    }
    wf_val k[WFL_SPECTRUM_AXES], shift[WFL_SPECTRUM_AXES];
    frequencies(&j, WF_F64, k);
    for (int d = 0; d < spectrum->rank; ++d)
        shift[d] = component(&j, shifts, d);
    wf_vals by = { shift, (size_t)spectrum->rank }, at = { k, (size_t)spectrum->rank };
    return finish(&j, wfl_phase_shift_as(j.g, by, at, part_of(&j)));
}

wf_status wf_spectrum_ctf(wf_array *out, const wf_array *x, const wf_spectrum *spectrum, const wf_array *parameters,
                          double pixel)
{
    static const char name[] = "wf_spectrum_ctf";
    wf_context *ctx = wf_array_context(out);
    job j = { .out = out, .x = x, .s = spectrum };
    if (!parameters)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `parameters` is NULL", name);
    if (!(pixel > 0))
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `pixel` is %g, not above 0", name, pixel);
    if (spectrum && spectrum->rank > 2)
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: spectrum.rank is %d, not 1 or 2", name, (int)spectrum->rank);
    wf_status status = begin(&j, name);
    if (status != WF_OK)
        return status;
    wf_shape given = wf_array_shape(parameters);
    bool magnified = spectrum->rank == 2 && given.rank && given.dim[given.rank - 1] == WF_CTF_MAGNIFIED;
    int members = magnified ? WF_CTF_MAGNIFIED : WF_CTF_MEMBERS;
    if (!wfl_spectrum_batch(parameters, &j.shape, spectrum->rank, members, name, "parameters")) {
        wf_drop(j.g);
        return wfl_array_error(ctx);
    }
    wf_val k[WFL_SPECTRUM_AXES], p[WF_CTF_MAGNIFIED], zero = { { 0, NULL } };
    frequencies(&j, WF_F64, k);
    for (int i = 0; i < members; ++i)
        p[i] = component(&j, parameters, i);
    for (int d = 0; d < spectrum->rank; ++d)
        k[d] = wf_div(k[d], wf_param(j.g, "pixel", WF_F64, pixel));
    if (magnified) {
        const wf_val *m = p + WF_CTF_MEMBERS;
        wf_val y = wf_add(wf_mul(m[0], k[0]), wf_mul(m[1], k[1]));
        k[1] = wf_add(wf_mul(m[2], k[0]), wf_mul(m[3], k[1]));
        k[0] = y;
    }
    wf_ctf c = { p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], zero };
    return finish(&j, wfl_ctf_as(&c, spectrum->rank == 2 ? k[0] : zero, k[spectrum->rank - 1], part_of(&j)));
}

/* Returns |k| of the current point, f64. */
static wf_val radius(const job *j)
{
    wf_val at[WFL_SPECTRUM_AXES];
    wf_spectrum exact = *j->s;
    exact.dtype = WF_F64;
    for (int d = 0; d < exact.rank; ++d)
        at[d] = wf_index(j->g, j->batch + d);
    return wf_freq_norm(j->g, &exact, (wf_vals){ at, (size_t)exact.rank });
}

/* Reads an element of a curve that belongs to the batch of the current point, or to all, as f64. */
static wf_val element(const job *j, const wf_array *curve, wf_val at)
{
    wf_val index[WF_MAX_RANK];
    int n = wf_array_shape(curve).rank - 1;
    for (int d = 0; d < n; ++d)
        index[d] = wf_index(j->g, d);
    index[n] = at;
    return wf_cast(wf_read_n(j->g, curve, (wf_vals){ index, (size_t)n + 1 }), WF_F64);
}

wf_status wf_spectrum_curve(wf_array *out, const wf_array *x, const wf_spectrum *spectrum, const wf_array *curve,
                            double step)
{
    static const char name[] = "wf_spectrum_curve";
    wf_context *ctx = wf_array_context(out);
    job j = { .out = out, .x = x, .s = spectrum };
    wf_shape shape = wf_array_shape(curve);
    int64_t n = shape.rank ? shape.dim[shape.rank - 1] : 0;
    if (!curve || !wfl_array_known(curve, name) || n < 1 || wfl_is_complex_dtype(wf_array_dtype(curve)))
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `curve` is NULL, complex or without elements", name);
    if (!(step > 0))
        return wfl_array_fail(ctx, WF_ERR_ARG, "%s: `step` is %g, not above 0", name, step);
    wf_status status = begin(&j, name);
    if (status != WF_OK)
        return status;
    if (!wfl_spectrum_batch(curve, &j.shape, spectrum->rank, n, name, "curve")) {
        wf_drop(j.g);
        return wfl_array_error(ctx);
    }
    wf_val end = wf_const_i64(j.g, WF_I64, n - 1);
    wf_val at = wf_min(wf_div(radius(&j), wf_param(j.g, "step", WF_F64, step)), (double)(n - 1)), below = wf_floor(at);
    wf_val first = wf_cast(below, WF_I64), second = wf_min(wf_add(first, 1), end), past = wf_sub(at, below);
    wf_val a = element(&j, curve, first), b = element(&j, curve, second);
    return finish(&j, wf_cast(wf_add(a, wf_mul(past, wf_sub(b, a))), part_of(&j)));
}

wf_status wf_spectrum_whiten(wf_array *out, const wf_array *x, const wf_spectrum *spectrum)
{
    static const char name[] = "wf_spectrum_whiten";
    wf_context *ctx = wf_array_context(out);
    job j = { .out = out, .x = x, .s = spectrum };
    if (!x || !wfl_is_complex_dtype(wf_array_dtype(x)))
        return wfl_array_fail(ctx, x ? WF_ERR_DTYPE : WF_ERR_ARG, "%s: `x` is %s, not a complex array", name,
                              x ? wf_dtype_name(wf_array_dtype(x)) : "NULL");
    wf_status status = begin(&j, name);
    if (status != WF_OK)
        return status;
    wf_array *power = wf_radial_average(x, spectrum);
    if (!power) {
        wf_drop(j.g);
        return wfl_array_error(ctx);
    }
    wf_val shell = wf_cast(wf_floor(wf_add(wf_mul(radius(&j), (double)wfl_shell_extent(spectrum)), 0.5)), WF_I64);
    wf_val p = element(&j, power, wf_min(shell, wf_const_i64(j.g, WF_I64, wf_shell_count(spectrum) - 1)));
    status = finish(&j, wf_cast(wf_select(wf_eq(p, 0), 0, wf_rsqrt(p)), part_of(&j)));
    wf_release(power);
    return status;
}

/* Sets *own and *opposite to the numbers of the elements k and -k among those of a full spectrum, i64. */
static void number_pair(const job *j, wf_val *own, wf_val *opposite)
{
    wf_val none = wf_const_i64(j->g, WF_I64, 0);
    *own = *opposite = none;
    for (int d = 0; d < j->s->rank; ++d) {
        wf_val n = wf_const_i64(j->g, WF_I64, j->s->size[d]);
        wf_val k = wfl_signed_index(j->g, j->s, d, wf_index(j->g, j->batch + d));
        k = wf_select(wf_lt(k, none), wf_add(k, n), k);
        *own = wf_add(wf_mul(*own, n), k);
        *opposite = wf_add(wf_mul(*opposite, n), wf_select(wf_eq(k, none), none, wf_sub(n, k)));
    }
}

wf_status wf_spectrum_randomize(wf_array *out, const wf_array *x, const wf_spectrum *spectrum, double from,
                                wf_random random)
{
    static const char name[] = "wf_spectrum_randomize";
    job j = { .out = out, .x = x, .s = spectrum };
    if (!(from >= 0))
        return wfl_array_fail(wf_array_context(out), WF_ERR_ARG, "%s: `from` is %g, not 0 or above", name, from);
    wf_status status = begin(&j, name);
    if (status != WF_OK)
        return status;
    wf_graph *g = j.g;
    wf_dtype t = part_of(&j);
    wf_val own, opposite, batch = wf_const_i64(g, WF_I64, 0), one = wf_const(g, t, 1), zero = wf_const(g, t, 0);
    int64_t count = 1;
    for (int d = 0; d < j.batch; ++d)
        batch = wf_add(wf_mul(batch, wf_const_i64(g, WF_I64, j.shape.dim[d])), wf_index(g, d));
    for (int d = 0; d < spectrum->rank; ++d)
        count *= spectrum->size[d];
    number_pair(&j, &own, &opposite);
    /* both elements of a pair have the counter of the first one */
    wf_val at = wf_add(wf_mul(batch, wf_const_i64(g, WF_I64, count)), wf_min(own, opposite));
    wf_val turn = wf_mul(wf_cast(wfl_random_word(g, random, wf_cast(at, WF_U64)), WF_F64), 0x1p-31); /* half turns */
    wf_val angle = wf_cast(turn, t), sine = wf_sinpi(angle);
    wf_val re = wf_cospi(angle), im = wf_select(wf_gt(own, opposite), wf_neg(sine), sine);
    wf_val alone = wf_eq(own, opposite); /* its own opposite, so real */
    re = wf_select(alone, wf_select(wf_lt(turn, 1), one, wf_neg(one)), re);
    im = wf_select(alone, zero, im);
    wf_val near = wf_lt(radius(&j), wf_param(g, "from", WF_F64, from));
    return finish(&j, wf_complex(wf_select(near, one, re), wf_select(near, zero, im)));
}
