/* shell.c - sums over shells of equal frequency: radial averages and correlation of two spectra. */
#include "spectra.h"

static int64_t shell_extent(const wf_spectrum *s)
{
    int64_t n = 0;
    for (int d = 0; d < s->rank; ++d)
        n = s->size[d] > 1 && (!n || s->size[d] < n) ? s->size[d] : n;
    return n ? n : 1;
}

int64_t wf_shell_count(const wf_spectrum *spectrum)
{
    char text[WFL_SIGNAL_TEXT];
    return wfl_spectrum_valid(spectrum, "wf_shell_count", text) ? shell_extent(spectrum) / 2 + 1 : -1;
}

enum { MOST_SUMS = 3 };

/* Sums over shells that are being recorded. */
typedef struct shells {
    wf_graph *g;
    wf_val index[WF_MAX_RANK], inside, weight;
    int batch, n;
    wf_array *sum[MOST_SUMS]; /* f64 [batch..., shells] */
} shells;

static void release_sums(shells *r)
{
    for (int i = 0; i < r->n; ++i)
        wf_release(r->sum[i]);
}

/* Begins a recording over the elements of x with n sums; false, with an error. */
static bool begin(shells *r, const wf_array *x, const wf_spectrum *s, int n, const char *function)
{
    wf_shape shape = wf_array_shape(x), out = shape;
    r->batch = shape.rank - s->rank;
    out.rank = r->batch + 1;
    out.dim[r->batch] = wf_shell_count(s);
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
    for (int d = 0; d < s->rank; ++d)
        at[d] = wf_index(r->g, r->batch + d);
    wf_vals all = { at, (size_t)s->rank };
    wf_val radius = wf_mul(wf_freq_norm(r->g, &exact, all), (double)shell_extent(s));
    r->index[r->batch] = wf_cast(wf_floor(wf_add(radius, 0.5)), WF_I64);
    r->inside = wf_lt(r->index[r->batch], wf_const_i64(r->g, WF_I64, out.dim[r->batch]));
    r->weight = wf_hermitian_weight(r->g, &exact, all);
    return true;
}

static void add(shells *r, int i, wf_val v)
{
    wf_vals index = { r->index, (size_t)r->batch + 1 };
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
        !begin(&r, x, spectrum, 2, "wf_radial_average"))
        return NULL;
    bool power = wfl_is_complex_dtype(wf_array_dtype(x));
    wf_val v = power ? as_wide(r.g, x) : wf_cast(wf_in(r.g, x), WF_F64);
    add(&r, 0, power ? product(v, v) : v);
    add(&r, 1, wf_const(r.g, WF_F64, 1));
    wf_array *out = NULL;
    if (wf_run(r.g) == WF_OK) {
        wf_graph *g = wfl_begin(ctx, "wf_radial_average");
        out = wf_keep(wf_div(wf_in(g, r.sum[0]), wf_in(g, r.sum[1])));
        out = wfl_array_run(g, out);
    }
    release_sums(&r);
    return out;
}

wf_array *wf_fsc(const wf_array *a, const wf_array *b, const wf_spectrum *spectrum)
{
    static const char name[] = "wf_fsc";
    shells r;
    wf_context *ctx = wf_array_context(a);
    if (!a || !b || !wfl_spectrum_last(a, spectrum, name, "a") || !wfl_spectrum_last(b, spectrum, name, "b"))
        return NULL;
    if (!wfl_have_one_shape(a, b, name))
        return NULL;
    if (!begin(&r, a, spectrum, 3, name))
        return NULL;
    wf_val x = as_wide(r.g, a), y = as_wide(r.g, b);
    add(&r, 0, product(x, y));
    add(&r, 1, product(x, x));
    add(&r, 2, product(y, y));
    wf_array *out = NULL;
    if (wf_run(r.g) == WF_OK) {
        wf_graph *g = wfl_begin(ctx, name);
        wf_val norm = wf_mul(wf_sqrt(wf_in(g, r.sum[1])), wf_sqrt(wf_in(g, r.sum[2])));
        wf_val ratio = wf_div(wf_in(g, r.sum[0]), norm);
        out = wf_keep(wf_select(wf_eq(norm, 0), 0, ratio));
        out = wfl_array_run(g, out);
    }
    release_sums(&r);
    return out;
}
