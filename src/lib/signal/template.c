/* template.c - template matching: the normalised cross-correlation coefficient of a template with each part of an image.
 *
 * With weights w, whose sum is W, and the weighted template T = w (t - mean of t) / its norm, the score at p is
 *     sum of T[j] x[p + j]  over the root of  sum of w[j] x[p + j]^2 - (sum of w[j] x[p + j])^2 / W.
 * The image's own mean is subtracted first, which changes no score and leaves differences of two large sums rare. The
 * sums below the root are in f64.
 * Source: Roseman, Ultramicroscopy 94 (2003) 225, and Lewis, Vision Interface (1995) 120.
 */
#include "maps.h"
#include "window.h"
#include "weft/fft.h"
#include <float.h>

/* Up to so many elements of a template wf_convolve computes the sums. Beyond, Fourier transforms take less time, and those
 * here share the image's spectrum among templates. */
enum { DIRECT = 400 };

typedef struct match {
    wf_context *ctx;
    int rank, batch;
    bool many;         /* the template has an axis before its own */
    wf_axes axes;      /* those of the image */
    wf_shape shape;    /* of the image */
    wf_shape part;     /* of a template */
    int64_t count, of; /* number of templates; elements of each */
    wf_dtype dtype;    /* of results */
    wf_array *image;   /* less its mean, of that dtype */
    wf_array *level;   /* f64 [batch..., 1...]: the mean of its squares */
    wf_array *unit;    /* the templates T */
    wf_array *weights; /* f64, of a template's shape; NULL: all are 1 */
    wf_array *norm;    /* the root; 0: no variation */
    wf_array *spectrum;
} match;

static void free_match(match *m)
{
    wf_array *all[] = { m->image, m->level, m->unit, m->weights, m->norm, m->spectrum };
    for (int i = 0; i < 6; ++i)
        wf_release(all[i]);
}

static bool is_real(const wf_array *a, const char *argument)
{
    if (!wfl_array_known(a, "wf_match_template"))
        return false;
    if (!a || !wfl_is_complex_dtype(wf_array_dtype(a)))
        return true;
    wfl_array_fail(wf_array_context(a), WF_ERR_DTYPE, "wf_match_template: `%s` is %s, not real", argument,
                   wf_dtype_name(wf_array_dtype(a)));
    return false;
}

/* Checks the arguments; false: error. */
static bool begin(match *m, const wf_array *x, const wf_array *pattern, const wf_array *mask, int rank)
{
    static const char name[] = "wf_match_template";
    wf_context *ctx = wf_array_context(x);
    *m = (match){ .ctx = ctx, .rank = rank, .count = 1, .of = 1 };
    if (!x || !pattern || !(m->axes = wfl_map_axes(x, rank, name)) || !is_real(pattern, "pattern") ||
        !is_real(mask, "mask") || !wfl_array_whole(x, name) || !wfl_array_whole(pattern, name) ||
        !wfl_array_whole(mask, name))
        return false;
    m->shape = wf_array_shape(x);
    m->batch = m->shape.rank - rank;
    wf_shape given = wf_array_shape(pattern), weights = wf_array_shape(mask);
    m->many = given.rank == rank + 1;
    m->part.rank = rank;
    bool fits = given.rank == rank || m->many;
    for (int d = 0; d < rank && fits; ++d) {
        m->part.dim[d] = given.dim[given.rank - rank + d];
        m->of *= m->part.dim[d];
        fits = m->part.dim[d] >= 1 && m->part.dim[d] <= m->shape.dim[m->batch + d];
    }
    if (!fits || m->shape.rank + m->many > WF_MAX_RANK) {
        char found[96], image[96];
        wf_shape_text(&given, found, sizeof found);
        wf_shape_text(&m->shape, image, sizeof image);
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `pattern` is %s, which is not inside the last %d axes of `x`, %s", name,
                       found, rank, image);
        return false;
    }
    if (mask && !wfl_same_shape(&weights, &m->part)) {
        char found[96], needed[96];
        wf_shape_text(&weights, found, sizeof found);
        wf_shape_text(&m->part, needed, sizeof needed);
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: `mask` is %s, but a template is %s", name, found, needed);
        return false;
    }
    m->count = m->many ? given.dim[0] : 1;
    wf_dtype t = wf_array_dtype(x);
    m->dtype = t == WF_F64 || (t < WF_F16 && wf_dtype_size(t) > 2) ? WF_F64 : WF_F32;
    return true;
}

/* Sets image and level. */
static bool take_image(match *m, const wf_array *x)
{
    wf_graph *g = wfl_begin(m->ctx, "wf_match_template");
    wf_val v = wf_cast(wf_in(g, x), WF_F64);
    wf_val n = wf_param(g, "n", WF_F64, (double)wfl_axes_count(&m->shape, m->axes));
    v = wf_sub(v, wf_div(wf_reduce(WF_JOIN_ADD, v, m->axes), n));
    m->image = wf_keep(wf_cast(v, m->dtype));
    m->level = wf_keep(wf_div(wf_reduce(WF_JOIN_ADD, wf_mul(v, v), m->axes), n));
    return wf_run(g) == WF_OK;
}

/* Sets unit and weights. */
static bool take_templates(match *m, const wf_array *pattern, const wf_array *mask)
{
    wf_axes axes = ((1u << m->rank) - 1) << m->many;
    wf_graph *g = wfl_begin(m->ctx, "wf_match_template");
    wf_val t = wf_cast(wf_in(g, pattern), WF_F64), w, total;
    if (mask) {
        w = wf_cast(wf_in(g, mask), WF_F64);
        total = wf_reduce(WF_JOIN_ADD, w, WF_ALL_AXES);
        m->weights = wf_keep(w);
    } else {
        w = wf_const(g, WF_F64, 1);
        total = wf_param(g, "n", WF_F64, (double)m->of);
    }
    if (mask && m->many) { /* the total is of a template's rank */
        wf_shape one = { .rank = m->rank };
        for (int d = 0; d < m->rank; ++d)
            one.dim[d] = 1;
        total = wf_reshape(total, one);
    }
    wf_val apart = wf_sub(t, wf_div(wf_reduce(WF_JOIN_ADD, wf_mul(t, w), axes), total)), scaled = wf_mul(apart, w);
    wf_val energy = wf_reduce(WF_JOIN_ADD, wf_mul(apart, scaled), axes);
    wf_val size = wf_reduce(WF_JOIN_ADD, wf_mul(wf_mul(t, t), w), axes); /* less than rounding of it is 0 */
    wf_val flat = wf_le(energy, wf_mul(size, 1e-28));
    m->unit = wf_keep(wf_cast(wf_select(flat, 0, wf_div(scaled, wf_sqrt(energy))), m->dtype));
    return wf_run(g) == WF_OK;
}

/* Where the result's part of a larger array begins along an axis with t elements of a template. */
typedef enum origin { AT_START, AFTER_LESS_HALF /* (t - 1) / 2 */ } origin;

/* Returns the result's part of an array that is larger along the image's axes. Consumes the array. */
static wf_array *valid(const match *m, wf_array *a, origin where)
{
    for (int d = 0; a && d < m->rank; ++d) {
        int64_t t = m->part.dim[d], extent = m->shape.dim[m->batch + d] - t + 1;
        int64_t from = where == AT_START ? 0 : (t - 1) / 2;
        wf_array *view = wf_view_slice(a, m->batch + d, from, from + extent, 1);
        wf_release(a);
        a = view;
    }
    return a;
}

/* Returns x with zeros at the ends of axes, or itself. Consumes it. */
static wf_array *padded(wf_array *x, const int64_t *after)
{
    wf_shape shape = wf_array_shape(x);
    bool longer = false;
    for (int d = 0; d < shape.rank; ++d)
        longer = longer || after[d];
    if (!x || !longer)
        return x;
    wf_array *out = wf_array_resize(x, NULL, after, WF_BORDER_VALUE, 0);
    wf_release(x);
    return out;
}

/* Returns the spectrum of x, padded at the ends to lengths that are transformed fast. An axis of which most is padding is
 * padded after the others are transformed, so that lines of zeros are not. */
static wf_array *spectrum_of(const match *m, const wf_array *x)
{
    wf_shape shape = wf_array_shape(x);
    int64_t after[WF_MAX_RANK] = { 0 }, later[WF_MAX_RANK] = { 0 };
    wf_axes now = 0;
    for (int d = 0; d < m->rank; ++d) {
        int axis = shape.rank - m->rank + d;
        int64_t more = wf_fft_fast_size(m->shape.dim[m->batch + d], d == m->rank - 1) - shape.dim[axis];
        bool waits = d < m->rank - 1 && more > shape.dim[axis];
        *(waits ? &later[axis] : &after[axis]) = more;
        now |= waits ? 0 : 1u << axis;
    }
    wf_array *in = padded(wf_retain(x), after), *f = in ? wf_fft_r2c(in, now, WF_FFT_BACKWARD) : NULL;
    wf_release(in);
    for (int axis = shape.rank - 1; f && axis >= 0; --axis)
        if (later[axis]) {
            int64_t more[WF_MAX_RANK] = { 0 };
            more[axis] = later[axis];
            f = padded(f, more);
            if (f && wf_fft_into(f, f, 1u << axis, false, WF_FFT_BACKWARD) != WF_OK) {
                wf_release(f);
                f = NULL;
            }
        }
    return f;
}

/* Returns the sums of x[p + j] t[j], a view of the result's shape. `spectrum` is that of x, or NULL where sums are
 * computed directly. */
static wf_array *correlated(const match *m, const wf_array *x, const wf_array *spectrum, const wf_array *t)
{
    if (!spectrum) {
        wf_array *mirrored = wf_retain(t);
        for (int d = 0; mirrored && d < m->rank; ++d) {
            wf_array *view = wf_view_slice(mirrored, d, -1, WF_END_INDEX, -1);
            wf_release(mirrored);
            mirrored = view;
        }
        wf_array *sums = mirrored ? wf_convolve(x, mirrored, m->axes, WF_BORDER_VALUE, 0) : NULL;
        wf_release(mirrored);
        return valid(m, sums, AFTER_LESS_HALF);
    }
    wf_array *f = spectrum_of(m, t), *sums = NULL;
    if (f) {
        wf_graph *g = wfl_begin(m->ctx, "wf_match_template");
        int64_t last = wf_fft_fast_size(m->shape.dim[m->shape.rank - 1], true);
        wf_shape own = wf_array_shape(f), all = wf_array_shape(spectrum);
        bool one = wfl_same_shape(&own, &all); /* of an image, not of a batch */
        wf_array *product = one ? wf_retain(f) : wf_like(spectrum);
        wf_out(g, product, wf_mul(wf_in(g, spectrum), wf_conj(wf_in(g, f))));
        product = wfl_array_run(g, product);
        sums = product ? wf_fft_c2r(product, last, m->axes, WF_FFT_BACKWARD) : NULL;
        wf_release(product);
    }
    wf_release(f);
    return valid(m, sums, AT_START);
}

/* Returns the mask's weighted sums of the image, or of its squares, in f64. */
static wf_array *weighted_sums(const match *m, bool squares)
{
    wf_graph *g = wfl_begin(m->ctx, "wf_match_template");
    wf_val v = wf_cast(wf_in(g, m->image), WF_F64);
    wf_array *x = wf_keep(squares ? wf_mul(v, v) : v);
    x = wfl_array_run(g, x);
    wf_array *f = x && m->of > DIRECT ? spectrum_of(m, x) : NULL;
    wf_array *sums = x && (f || m->of <= DIRECT) ? correlated(m, x, f, m->weights) : NULL;
    wf_release(x);
    wf_release(f);
    return sums;
}

/* Writes the root to `norm`, from the means in windows and those of squares, or by a mask from its sums;
 * 0 where the image does not vary more than its results are rounded. Consumes both. */
static bool write_norm(const match *m, wf_array *norm, const wf_array *level, wf_array *first, wf_array *second)
{
    bool ok = first && second;
    if (ok) {
        double slack = 16 * (m->dtype == WF_F64 ? DBL_EPSILON : (double)FLT_EPSILON);
        wf_graph *g = wfl_begin(m->ctx, "wf_match_template");
        wf_val a = wf_in(g, first), b = wf_in(g, second), total;
        if (m->weights)
            total = wf_reduce(WF_JOIN_ADD, wf_in(g, m->weights), WF_ALL_AXES);
        else
            total = wf_param(g, "n", WF_F64, (double)m->of);
        wf_val sum = m->weights ? wf_div(a, total) : a; /* now the mean */
        wf_val energy = m->weights ? b : wf_mul(b, total);
        wf_val varies = wf_sub(energy, wf_mul(wf_mul(sum, sum), total));
        wf_val least = wf_mul(wf_mul(wf_in(g, level), total), slack * slack);
        least = wf_add(least, wf_mul(energy, 1e-13));
        wf_out(g, norm, wf_select(wf_le(varies, least), 0, wf_sqrt(varies)));
        ok = wf_run(g) == WF_OK;
    }
    wf_release(first);
    wf_release(second);
    return ok;
}

/* Sums over boxes go through arrays of f64, which are kept small enough for caches: `norm` is made in parts of about so
 * many elements, along its first axis that is longer than 1. */
enum { PART = 1 << 18 };

/* Makes elements from `first` on of `norm`, along the axis. */
static bool box_part(const match *m, int axis, int64_t first, int64_t n)
{
    bool of_batch = axis < m->batch;
    int64_t more = of_batch ? 0 : m->part.dim[axis - m->batch] - 1;
    wf_array *x = wf_view_slice(m->image, axis, first, first + n + more, 1);
    wf_array *norm = wf_view_slice(m->norm, axis, first, first + n, 1);
    wf_array *level = of_batch ? wf_view_slice(m->level, axis, first, first + n, 1) : wf_retain(m->level);
    bool ok = x && norm && level;
    wf_array *means = ok ? wfl_box_means(x, m->part.dim, m->axes, false) : NULL;
    wf_array *squares = means ? wfl_box_means(x, m->part.dim, m->axes, true) : NULL;
    ok = write_norm(m, norm, level, means, squares) && ok;
    wf_array *all[] = { x, norm, level };
    for (int i = 0; i < 3; ++i)
        wf_release(all[i]);
    return ok;
}

static bool take_norm(match *m)
{
    wf_shape shape = m->shape;
    for (int d = 0; d < m->rank; ++d)
        shape.dim[m->batch + d] -= m->part.dim[d] - 1;
    m->norm = wfl_array_beside(m->image, m->dtype, &shape);
    if (!m->norm)
        return false;
    if (m->weights) {
        wf_array *sums = weighted_sums(m, false);
        return write_norm(m, m->norm, m->level, sums, sums ? weighted_sums(m, true) : NULL);
    }
    int axis = 0;
    while (axis < shape.rank - 1 && shape.dim[axis] == 1)
        ++axis;
    int64_t all = shape.dim[axis], n = PART / (wf_array_count(m->norm) / all), halo = 0;
    if (axis >= m->batch)
        halo = m->part.dim[axis - m->batch] / 2;
    n = n < halo ? halo : n;
    n = wfl_on_gpu(m->image) || n > all ? all : n < 1 ? 1 : n;
    bool ok = true;
    for (int64_t i = 0; ok && i < all; i += n) /* all parts have one shape: the last may begin before its turn */
        ok = box_part(m, axis, i + n > all ? all - n : i, n);
    return ok;
}

/* Writes the scores of a template to `out`. */
static bool score(const match *m, wf_array *out, const wf_array *unit)
{
    wf_array *sums = correlated(m, m->image, m->spectrum, unit);
    if (!sums)
        return false;
    wf_graph *g = wfl_begin(m->ctx, "wf_match_template");
    wf_val norm = wf_in(g, m->norm), v = wf_div(wf_in(g, sums), norm);
    wf_out(g, out, wf_select(wf_eq(norm, 0), 0, wf_clamp(v, -1, 1)));
    bool ok = wf_run(g) == WF_OK;
    wf_release(sums);
    return ok;
}

static bool score_all(const match *m, wf_array *out)
{
    for (int64_t i = 0; i < m->count; ++i) {
        wf_array *to = m->many ? wf_view_at(out, m->batch, i) : wf_retain(out);
        wf_array *unit = m->many ? wf_view_at(m->unit, 0, i) : wf_retain(m->unit);
        bool ok = to && unit && score(m, to, unit);
        wf_release(to);
        wf_release(unit);
        if (!ok)
            return false;
    }
    return true;
}

wf_array *wf_match_template(const wf_array *x, const wf_array *pattern, const wf_array *mask, int rank)
{
    match m;
    if (!begin(&m, x, pattern, mask, rank))
        return NULL;
    wf_shape shape = m.shape;
    shape.rank += m.many;
    for (int d = 0; d < rank; ++d)
        shape.dim[m.batch + m.many + d] = m.shape.dim[m.batch + d] - m.part.dim[d] + 1;
    if (m.many)
        shape.dim[m.batch] = m.count;
    wf_array *out = wfl_array_beside(x, m.dtype, &shape);
    if (!out || !wf_array_count(out))
        return out;
    bool ok = take_image(&m, x) && take_templates(&m, pattern, mask) && take_norm(&m);
    if (ok && m.of > DIRECT) {
        ok = (m.spectrum = spectrum_of(&m, m.image)) != NULL;
        wf_release(m.image); /* its memory is needed for what comes */
        m.image = NULL;
    }
    ok = ok && score_all(&m, out);
    free_match(&m);
    if (ok)
        return out;
    wf_release(out);
    return NULL;
}
