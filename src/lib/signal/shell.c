/* shell.c - sums over shells of equal frequency: radial averages and correlation of two spectra. */
#include "../floats.h"
#include "spectra.h"
#include <math.h>

int64_t wfl_shell_extent(const wf_spectrum *s)
{
    int64_t n = 0;
    for (int d = 0; d < s->rank; ++d)
        n = s->size[d] > 1 && (!n || s->size[d] < n) ? s->size[d] : n;
    return n ? n : 1;
}

int64_t wf_shell_count(const wf_spectrum *spectrum)
{
    char text[WFL_SIGNAL_TEXT];
    return wfl_spectrum_valid(spectrum, "wf_shell_count", text) ? wfl_shell_extent(spectrum) / 2 + 1 : -1;
}

/* Returns a little less than cos(angle): elements on the surface of a cone belong to it, also where their cosine is
 * rounded down. */
WFL_APART static double narrowed(double angle) { return cos(angle) - 1e-12; }

static double cosine_of(double angle)
{
    fenv_t saved;
    wfl_floats_begin(&saved);
    double c = narrowed(angle);
    wfl_floats_end(&saved);
    return c;
}

enum { MOST_SUMS = 3 };

/* Sums over shells that are being recorded. */
typedef struct shells {
    wf_graph *g;
    wf_val index[WF_MAX_RANK], inside, weight;
    wf_val k[WFL_SPECTRUM_AXES]; /* frequencies, f64 */
    int batch, rank, n;          /* `rank`: of the sums, the last axis being that of the shells */
    wf_array *sum[MOST_SUMS];    /* f64 [batch..., shells] or [batch..., cones, shells] */
} shells;

static void release_sums(shells *r)
{
    for (int i = 0; i < r->n; ++i)
        wf_release(r->sum[i]);
}

/* Begins a recording over the elements of x with n sums, for each of some cones or, for cones < 0, for all elements;
 * false, with an error. */
static bool begin(shells *r, const wf_array *x, const wf_spectrum *s, int n, int64_t cones, const char *function)
{
    wf_shape shape = wf_array_shape(x), out = shape;
    r->batch = shape.rank - s->rank;
    out.rank = r->rank = r->batch + 1 + (cones >= 0);
    out.dim[r->batch] = cones;
    out.dim[r->rank - 1] = wf_shell_count(s);
    for (r->n = 0; r->n < n; ++r->n)
        if (!(r->sum[r->n] = wfl_array_zeros_beside(x, WF_F64, &out))) {
            release_sums(r);
            return false;
        }
    r->g = wfl_begin(wf_array_context(x), function, .shape = shape, .device = wfl_on_gpu(x) ? wf_array_device(x) : 0,
                     .flags_off = WF_FLAG_FAST_MATH);
    wf_spectrum exact = *s;
    exact.dtype = WF_F64;
    wf_val at[WFL_SPECTRUM_AXES];
    for (int d = 0; d < r->batch; ++d)
        r->index[d] = wf_index(r->g, d);
    for (int d = 0; d < s->rank; ++d) {
        at[d] = wf_index(r->g, r->batch + d);
        r->k[d] = wf_freq(r->g, &exact, d, at[d]);
    }
    wf_vals all = { at, (size_t)s->rank };
    wf_val radius = wf_mul(wf_freq_norm(r->g, &exact, all), (double)wfl_shell_extent(s));
    wf_val shell = r->index[r->rank - 1] = wf_cast(wf_floor(wf_add(radius, 0.5)), WF_I64);
    r->inside = wf_lt(shell, wf_const_i64(r->g, WF_I64, out.dim[r->rank - 1]));
    r->weight = wf_hermitian_weight(r->g, &exact, all);
    return true;
}

static void add(shells *r, int i, wf_val v)
{
    wf_vals index = { r->index, (size_t)r->rank };
    wf_accumulate_if_n(r->g, r->inside, WF_JOIN_ADD, WF_MODE_EXPAND, r->sum[i], wf_mul(v, r->weight), index);
}

static wf_val as_wide(wf_graph *g, const wf_array *x) { return wf_cast(wf_in(g, x), WF_C128); }

/* Returns Re(a conj b). */
static wf_val product(wf_val a, wf_val b)
{
    return wf_add(wf_mul(wf_real(a), wf_real(b)), wf_mul(wf_imag(a), wf_imag(b)));
}

wf_array *wf_radial_average(const wf_array *x, const wf_spectrum *spectrum)
{
    shells r;
    wf_context *ctx = wf_array_context(x);
    if (!x || !wfl_spectrum_last(x, spectrum, "wf_radial_average", "x") ||
        !begin(&r, x, spectrum, 2, -1, "wf_radial_average"))
        return NULL;
    bool power = wfl_is_complex_dtype(wf_array_dtype(x));
    wf_val v = power ? as_wide(r.g, x) : wf_cast(wf_in(r.g, x), WF_F64);
    add(&r, 0, power ? product(v, v) : v);
    add(&r, 1, wf_const(r.g, WF_F64, 1));
    wf_array *out = NULL;
    if (wfl_run_into(r.g, x) == WF_OK) {
        wf_graph *g = wfl_begin(ctx, "wf_radial_average");
        out = wf_keep(wf_div(wf_in(g, r.sum[0]), wf_in(g, r.sum[1])));
        out = wfl_agreed(x, "wf_radial_average", wfl_array_run(g, out));
    }
    release_sums(&r);
    return out;
}

/* Adds the terms of a correlation of the current elements. */
static void add_products(shells *r, wf_val x, wf_val y)
{
    add(r, 0, product(x, y));
    add(r, 1, product(x, x));
    add(r, 2, product(y, y));
}

/* Runs the recording and consumes the sums. Returns the ratio of the first to the root of the others' product. */
static wf_array *correlation(shells *r, const wf_array *x, const char *function)
{
    wf_array *out = NULL;
    if (wfl_run_into(r->g, x) == WF_OK) {
        wf_graph *g = wfl_begin(wf_array_context(x), function);
        wf_val norm = wf_mul(wf_sqrt(wf_in(g, r->sum[1])), wf_sqrt(wf_in(g, r->sum[2])));
        wf_val ratio = wf_div(wf_in(g, r->sum[0]), norm);
        out = wf_keep(wf_select(wf_eq(norm, 0), 0, ratio));
        out = wfl_agreed(x, function, wfl_array_run(g, out));
    }
    release_sums(r);
    return out;
}

/* True if a and b are two spectra of one shape; else an error. */
static bool two_spectra(const wf_array *a, const wf_array *b, const wf_spectrum *s, const char *function)
{
    return a && b && wfl_spectrum_last(a, s, function, "a") && wfl_spectrum_last(b, s, function, "b") &&
           wfl_have_one_shape(a, b, function);
}

wf_array *wf_fsc(const wf_array *a, const wf_array *b, const wf_spectrum *spectrum)
{
    shells r;
    if (!two_spectra(a, b, spectrum, "wf_fsc") || !begin(&r, a, spectrum, 3, -1, "wf_fsc"))
        return NULL;
    add_products(&r, as_wide(r.g, a), as_wide(r.g, b));
    return correlation(&r, a, "wf_fsc");
}

wf_array *wf_fsc_conical(const wf_array *a, const wf_array *b, const wf_spectrum *spectrum, const wf_array *directions,
                         double half_angle)
{
    static const char name[] = "wf_fsc_conical";
    wf_context *ctx = wf_array_context(a);
    wf_shape shape = wf_array_shape(directions);
    shells r;
    if (!two_spectra(a, b, spectrum, name) || !wfl_array_known(directions, name))
        return NULL;
    if (!directions || shape.rank != 2 || shape.dim[1] != spectrum->rank ||
        wfl_is_complex_dtype(wf_array_dtype(directions)) || wf_array_shape(a).rank == WF_MAX_RANK) {
        char found[96];
        wf_shape_text(&shape, found, sizeof found);
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `directions` is %s, not a real array of (n, %d), or a's rank is above 7",
                       name, found, (int)spectrum->rank);
        return NULL;
    }
    if (!(half_angle > 0 && half_angle <= 1.5707963267948968)) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `half_angle` is %g, not above 0 and at most pi / 2", name, half_angle);
        return NULL;
    }
    if (!begin(&r, a, spectrum, 3, shape.dim[0], name))
        return NULL;
    wf_val x = as_wide(r.g, a), y = as_wide(r.g, b), i, kk = wf_const(r.g, WF_F64, 0), within = r.inside;
    wf_val least = wf_param(r.g, "cosine", WF_F64, cosine_of(half_angle));
    for (int d = 0; d < spectrum->rank; ++d)
        kk = wf_add(kk, wf_mul(r.k[d], r.k[d]));
    WF_FOR (r.g, i, wf_const_i64(r.g, WF_I64, 0), wf_dim(r.g, directions, 0), 1) {
        wf_val along = wf_const(r.g, WF_F64, 0), dd = along;
        for (int d = 0; d < spectrum->rank; ++d) {
            wf_val of = wf_cast(wf_read(r.g, directions, i, d), WF_F64);
            along = wf_add(along, wf_mul(of, r.k[d]));
            dd = wf_add(dd, wf_mul(of, of));
        }
        r.index[r.batch] = i;
        r.inside = wf_and(within, wf_ge(wf_abs(along), wf_mul(wf_sqrt(wf_mul(kk, dd)), least)));
        add_products(&r, x, y);
    }
    WF_END(r.g);
    return correlation(&r, a, name);
}
