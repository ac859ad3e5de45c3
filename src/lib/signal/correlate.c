/* correlate.c - correlation of arrays: scores, and maps over all lags by Fourier transforms. */
#include "lib/array/reduction.h"
#include "maps.h"
#include "weft/distributed.h"
#include "weft/fft.h"

wf_axes wfl_map_axes(const wf_array *a, int rank, const char *function)
{
    wf_shape shape = wf_array_shape(a);
    if (!wfl_array_known(a, function))
        return 0;
    if (rank < 1 || rank > WFL_SPECTRUM_AXES || rank > shape.rank) {
        wfl_array_fail(wf_array_context(a), WF_ERR_ARG,
                       "%s: `rank` is %d, but the array has %d axes; its last 1 to %d are possible", function, rank,
                       (int)shape.rank, shape.rank < WFL_SPECTRUM_AXES ? (int)shape.rank : WFL_SPECTRUM_AXES);
        return 0;
    }
    if (!wfl_is_complex_dtype(wf_array_dtype(a)))
        return ((1u << rank) - 1) << (shape.rank - rank);
    wfl_array_fail(wf_array_context(a), WF_ERR_DTYPE, "%s: the array is %s, not real", function,
                   wf_dtype_name(wf_array_dtype(a)));
    return 0;
}

/* Returns p weighted; 0 stays. */
static wf_val weighted(wf_val p, wf_correlation how)
{
    if (how == WF_CORRELATION_CONVENTIONAL)
        return p;
    wf_val size = wf_abs(p), by = how == WF_CORRELATION_MUTUAL ? wf_sqrt(size) : size;
    wf_val unit = wf_div(p, wf_select(wf_eq(size, 0), 1, by));
    return how == WF_CORRELATION_DOUBLE_PHASE ? wf_mul(unit, p) : unit;
}

wf_array *wf_correlate_map(const wf_array *a, const wf_array *b, int rank, wf_correlation how)
{
    static const char name[] = "wf_correlate_map";
    wf_context *ctx = wf_array_context(a);
    wf_shape one = wf_array_shape(a);
    wf_axes axes = a && b ? wfl_map_axes(a, rank, name) : 0;
    if (!axes || !wfl_map_axes(b, rank, name))
        return NULL;
    if ((unsigned)how > WF_CORRELATION_DOUBLE_PHASE) {
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
        wf_array *product = wf_keep(weighted(p, how));
        product = wfl_array_run(g, product);
        map = product ? wf_fft_c2r(product, one.dim[one.rank - 1], axes, WF_FFT_BACKWARD) : NULL;
        wf_release(product);
    }
    wf_release(f);
    wf_release(h);
    return map;
}

/* ---- scores ---- */
/* The sums of a score that is being recorded. */
typedef struct score {
    wfl_reduction r;
    wf_val weight, total; /* `total`: of the weights */
    bool weighted;
} score;

static wf_val sum(const score *s, wf_val v) { return wf_reduce(WF_JOIN_ADD, v, s->r.axes); }
static wf_val weigh(const score *s, wf_val v) { return s->weighted ? wf_mul(v, s->weight) : v; }

/* Returns Re(a conj b). */
static wf_val product(wf_val a, wf_val b)
{
    if (!wfl_is_complex_dtype(wf_val_dtype(a)))
        return wf_mul(a, b);
    return wf_add(wf_mul(wf_real(a), wf_real(b)), wf_mul(wf_imag(a), wf_imag(b)));
}

/* Subtracts the mean from *v. Returns the mean of squares below which what is left is rounding. */
static wf_val center(const score *s, wf_val *v)
{
    wf_val mean = wf_div(sum(s, weigh(s, *v)), s->total);
    *v = wf_sub(*v, mean);
    return wf_mul(product(mean, mean), 1e-28);
}

static wf_val record_score(score *s, wf_val a, wf_val b, wf_score how)
{
    wf_val rounding[2] = { WF_V(0), WF_V(0) };
    if (how == WF_SCORE_COEFFICIENT) {
        rounding[0] = wf_mul(center(s, &a), s->total);
        rounding[1] = wf_mul(center(s, &b), s->total);
    }
    wf_val ab = sum(s, weigh(s, product(a, b)));
    if (how == WF_SCORE_PRODUCT)
        return ab;
    wf_val aa = sum(s, weigh(s, product(a, a))), bb = sum(s, weigh(s, product(b, b)));
    wf_val none = wf_or(wf_le(aa, rounding[0]), wf_le(bb, rounding[1]));
    return wf_select(none, 0, wf_div(ab, wf_mul(wf_sqrt(aa), wf_sqrt(bb))));
}

wf_array *wf_correlate_score(const wf_array *a, const wf_array *b, const wf_array *mask, wf_axes axes, wf_score how)
{
    static const char name[] = "wf_correlate_score";
    wf_context *ctx = wf_array_context(a);
    if (!a || !b)
        return NULL;
    if ((unsigned)how > WF_SCORE_PRODUCT) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `how` is %d, which is no wf_score", name, (int)how);
        return NULL;
    }
    if (mask && wfl_is_complex_dtype(wf_array_dtype(mask))) {
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: `mask` is %s, not real", name, wf_dtype_name(wf_array_dtype(mask)));
        return NULL;
    }
    wf_graph *probe = wfl_begin(ctx, name); /* finds the common shape, or reports that there is none */
    wf_val common = wf_mul(wf_in(probe, a), wf_in(probe, b));
    if (mask)
        common = wf_mul(common, wf_in(probe, mask));
    wf_shape shape = wf_val_shape(common);
    bool is_complex = wfl_is_complex_dtype(wf_val_dtype(common));
    if (wf_val_dtype(common) == WF_NONE) {
        wf_run(probe);
        return NULL;
    }
    wf_drop(probe);
    score s = { .weighted = mask != NULL };
    if (!wfl_reduction_begin_shape(&s.r, wf_array_ranks(a) ? a : b, &shape, axes, name))
        return NULL;
    wf_graph *g = s.r.g;
    s.weight = mask ? wf_cast(wf_broadcast(wf_in(g, mask), shape), WF_F64) : wf_const(g, WF_F64, 1);
    s.total = mask ? sum(&s, s.weight) : wf_param(g, "n", WF_F64, (double)s.r.n);
    wf_dtype work = is_complex ? WF_C128 : WF_F64;
    wf_val x = wf_cast(wf_broadcast(wf_in(g, a), shape), work), y = wf_cast(wf_broadcast(wf_in(g, b), shape), work);
    return wfl_reduction_end(&s.r, record_score(&s, x, y, how));
}
