/* ctf_fit.c - power spectra of images, and the contrast transfer function that fits one best.
 *
 * The fit compares what is above and below a power spectrum's smooth background with |CTF|, by the correlation
 * coefficient over a range of resolutions (as CTFFIND; Rohou and Grigorieff 2015): first the mean over circles for all
 * defoci, then the plane for astigmatism, on a grid and then by steps that become smaller. Each comparison is one kernel
 * over all candidates and all frequencies. */
#include "signal_internal.h"
#include "weft/fft.h"
#include <math.h>
#include <stdlib.h>

/* ---- power spectra ---- */
/* The sum of |F|^2 over windows that begin at the given rows and columns, [n, n/2 + 1]. */
static wf_array *windows_power(const wf_array *image, int64_t n, const wf_array *offsets)
{
    static const char name[] = "wf_power_spectrum";
    wf_array *parts = wf_array_extract_regions(image, WF_SHAPE(n, n), offsets, WF_BORDER_NONE, 0);
    wf_array *mean = parts ? wf_array_mean(parts, WF_AXES(1, 2)) : NULL, *spectra = NULL, *sum = NULL;
    if (mean) {
        wf_shape shape = wf_array_shape(parts);
        wf_dtype t = wfl_is_float_dtype(wf_array_dtype(parts)) ? wf_array_dtype(parts) : WF_F32;
        wf_graph *g = wfl_begin(wf_array_context(image), name);
        wf_val v = wf_sub(wf_in(g, parts), wf_in(g, mean));
        for (int d = 1; d < 3; ++d)
            v = wf_mul(v, wf_hann(wf_sub(wf_div(wf_mul(wf_cast(wf_iota(g, shape, d), t), 2), (double)n), 1)));
        wf_array *weighted = wfl_array_run(g, wf_keep(wf_cast(v, t)));
        spectra = weighted ? wf_fft_r2c(weighted, WF_AXES(1, 2), WF_FFT_NONE) : NULL;
        wf_release(weighted);
    }
    if (spectra) {
        wf_graph *g = wfl_begin(wf_array_context(image), name);
        wf_val v = wf_in(g, spectra), re = wf_real(v), im = wf_imag(v);
        sum = wfl_array_run(g, wf_keep(wf_sum(wf_add(wf_mul(re, re), wf_mul(im, im)), WF_AXES(0))));
    }
    wf_release(parts);
    wf_release(mean);
    wf_release(spectra);
    return sum ? wfl_without_axes(sum, WF_AXES(0)) : NULL;
}

/* Writes the mean over all windows of an image, a row of windows at a time. */
static wf_status image_power(wf_array *out, const wf_array *image, int64_t n)
{
    static const char name[] = "wf_power_spectrum";
    wf_context *ctx = wf_array_context(image);
    wf_shape shape = wf_array_shape(image);
    int64_t count[2], step[2];
    for (int d = 0; d < 2; ++d) { /* windows overlap by half or more, and reach from edge to edge */
        count[d] = (shape.dim[d] - n + n / 2 - 1) / (n / 2) + 1;
        step[d] = count[d] > 1 ? shape.dim[d] - n : 0;
    }
    double norm = pow(0.375 * (double)n, 2) * (double)(count[0] * count[1]); /* of a squared Hann window: 3/8 n */
    int64_t *at = malloc((size_t)count[1] * 2 * sizeof *at);
    wf_array *offsets = wf_empty(ctx, WF_I64, WF_SHAPE(count[1], 2));
    wf_status status = at && offsets ? wf_array_fill(out, 0) : wfl_array_error(ctx);
    for (int64_t y = 0; y < count[0] && status == WF_OK; ++y) {
        for (int64_t x = 0; x < count[1]; ++x) {
            at[2 * x] = count[0] > 1 ? y * step[0] / (count[0] - 1) : 0;
            at[2 * x + 1] = count[1] > 1 ? x * step[1] / (count[1] - 1) : 0;
        }
        status = wf_upload(offsets, at, (size_t)count[1] * 2 * sizeof *at);
        wf_array *sum = status == WF_OK ? windows_power(image, n, offsets) : NULL;
        if (sum) {
            wf_graph *g = wfl_begin(ctx, name);
            wf_out(g, out, wf_add(wf_in(g, out), wf_mul(wf_in(g, sum), 1 / norm)));
            status = wf_run(g);
        } else if (status == WF_OK) {
            status = wfl_array_error(ctx);
        }
        wf_release(sum);
    }
    wf_release(offsets);
    free(at);
    return status;
}

/* Calls `one` for each image of a batch: views of `out` and of `in` without the axes before the last ones. */
typedef wf_status each(wf_array *out, const wf_array *in, const void *user);
static wf_status for_each(wf_array *out, int out_rank, const wf_array *in, int in_rank, each *one, const void *user)
{
    wf_context *ctx = wf_array_context(in);
    wf_shape from = wf_array_shape(in), to = wf_array_shape(out), a = { .rank = 1 }, b = { .rank = 1 };
    a.dim[0] = 1;
    for (int d = 0; d < from.rank; ++d)
        if (d < from.rank - in_rank)
            a.dim[0] *= from.dim[d];
        else
            a.dim[a.rank++] = from.dim[d];
    b.dim[0] = a.dim[0];
    for (int d = to.rank - out_rank; d < to.rank; ++d)
        b.dim[b.rank++] = to.dim[d];
    wf_array *x = wf_view_reshape((wf_array *)in, a), *y = wf_view_reshape(out, b);
    wf_status status = x && y ? WF_OK : wfl_array_error(ctx);
    for (int64_t i = 0; i < a.dim[0] && status == WF_OK; ++i) {
        wf_array *of_x = wf_view_at(x, 0, i), *of_y = wf_view_at(y, 0, i);
        status = of_x && of_y ? one(of_y, of_x, user) : wfl_array_error(ctx);
        wf_release(of_x);
        wf_release(of_y);
    }
    wf_release(x);
    wf_release(y);
    return status;
}

/* A new array of this shape, [batch..., the last out_rank axes], of the results of `one`. NULL, with an error. */
static wf_array *of_each(const wf_array *in, int in_rank, wf_dtype dtype, const wf_shape *shape, int out_rank,
                         each *one, const void *user)
{
    wf_array *x = wf_array_contiguous((wf_array *)in), *out = x ? wfl_array_beside(x, dtype, shape) : NULL;
    bool done = out && for_each(out, out_rank, x, in_rank, one, user) == WF_OK;
    wf_release(x);
    if (done)
        return out;
    wf_release(out);
    return NULL;
}

static wf_status power_of_one(wf_array *out, const wf_array *image, const void *n)
{
    return image_power(out, image, *(const int64_t *)n);
}

wf_array *wf_power_spectrum(const wf_array *images, int64_t n)
{
    wf_context *ctx = wf_array_context(images);
    wf_shape shape = wf_array_shape(images);
    if (!images || !wfl_array_known(images, __func__) || !wfl_array_whole(images, __func__))
        return NULL;
    if (wfl_is_complex_dtype(wf_array_dtype(images))) {
        wfl_array_fail(ctx, WF_ERR_DTYPE, "%s: the images are %s, not real", __func__,
                       wf_dtype_name(wf_array_dtype(images)));
        return NULL;
    }
    if (shape.rank < 2 || n < 3 || shape.dim[shape.rank - 1] < n || shape.dim[shape.rank - 2] < n) {
        char text[160];
        wf_shape_text(&shape, text, sizeof text);
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: images %s have no windows of %lld x %lld, from 3 x 3 on", __func__, text,
                       (long long)n, (long long)n);
        return NULL;
    }
    wf_freeze_refuse(ctx, __func__, "the places of its windows are read by the processor");
    shape.dim[shape.rank - 2] = n;
    shape.dim[shape.rank - 1] = n / 2 + 1;
    wf_dtype t = wf_array_dtype(images) == WF_F64 ? WF_F64 : WF_F32;
    return of_each(images, 2, t, &shape, 2, power_of_one, &n);
}

/* ---- comparison with candidates ---- */
enum { DEFOCUS, ALONG, ACROSS, PARAMETERS }; /* astigmatism times the cosine and the sine of twice the angle */
typedef struct candidate {
    double of[PARAMETERS], score;
} candidate;

/* The correlation coefficients of `points`, f32 [4, m]: frequencies gy and gx, contrast, weight. */
static wf_status compare(const wf_ctf_search *s, const wf_array *points, candidate *c, int64_t n)
{
    static const char name[] = "wf_ctf_fit";
    wf_context *ctx = wf_array_context(points);
    double *value = malloc((size_t)n * PARAMETERS * sizeof *value);
    wf_array *all = wf_empty(ctx, WF_F64, WF_SHAPE(PARAMETERS, n, 1)), *parameter[PARAMETERS] = { NULL };
    wf_array *point[4], *score = NULL;
    wf_status status = value && all ? WF_OK : wfl_array_error(ctx);
    for (int64_t i = 0; i < n && value; ++i)
        for (int k = 0; k < PARAMETERS; ++k)
            value[k * n + i] = c[i].of[k];
    if (status == WF_OK)
        status = wf_upload(all, value, (size_t)n * PARAMETERS * sizeof *value);
    wf_graph *g = wfl_begin(ctx, name);
    wf_val p[PARAMETERS], q[4];
    for (int k = 0; k < PARAMETERS; ++k) {
        parameter[k] = all ? wf_view_at(all, 0, k) : NULL;
        p[k] = wf_in(g, parameter[k]);
    }
    for (int k = 0; k < 4; ++k) {
        point[k] = wf_view_at((wf_array *)points, 0, k);
        q[k] = wf_in(g, point[k]);
    }
    wf_ctf ctf = { .voltage = WF_V(s->voltage),
                   .cs = WF_V(s->cs),
                   .amplitude = WF_V(s->amplitude),
                   .phase_shift = WF_V(s->phase_shift),
                   .defocus = p[DEFOCUS],
                   .astigmatism = wf_hypot(p[ALONG], p[ACROSS]),
                   .angle = wf_mul(wf_atan2(p[ACROSS], p[ALONG]), 0.5) };
    wf_axes last = WF_AXES(1);
    wf_val model = wf_abs(wf_ctf_value(&ctf, q[0], q[1])), w = q[3], total = wf_sum(w, WF_ALL_AXES);
    wf_val mean = wf_div(wf_sum(wf_mul(w, q[2]), WF_ALL_AXES), total), s0 = wf_sub(q[2], mean);
    wf_val of_s = wf_sum(wf_mul(w, wf_mul(s0, s0)), WF_ALL_AXES), sum = wf_sum(wf_mul(w, model), last);
    wf_val both = wf_sum(wf_mul(w, wf_mul(model, s0)), last);
    wf_val of_model = wf_sub(wf_sum(wf_mul(w, wf_mul(model, model)), last), wf_div(wf_mul(sum, sum), total));
    wf_val norm = wf_sqrt(wf_mul(of_s, of_model));
    wf_val varies = wf_and(wf_gt(of_s, wf_mul(total, 1e-12)), wf_gt(norm, 0)); /* by more than the roundings of f32 */
    score = wf_keep(wf_cast(wf_select(varies, wf_div(both, norm), 0), WF_F64));
    score = wfl_array_run(g, score);
    if (status == WF_OK)
        status = score ? wf_download(score, value, (size_t)n * sizeof *value) : wfl_array_error(ctx);
    for (int64_t i = 0; i < n && status == WF_OK; ++i)
        c[i].score = value[i];
    wf_release(all);
    wf_release(score);
    for (int k = 0; k < PARAMETERS; ++k)
        wf_release(parameter[k]);
    for (int k = 0; k < 4; ++k)
        wf_release(point[k]);
    free(value);
    return status;
}

static candidate best_of(const candidate *c, int64_t n)
{
    candidate best = c[0];
    for (int64_t i = 1; i < n; ++i)
        best = c[i].score > best.score ? c[i] : best;
    return best;
}

/* ---- contrast of a power spectrum ---- */
typedef struct contrast {
    int64_t n, shells;
    wf_array *plane; /* f32 [4, n (n/2 + 1)], as compare() takes it */
    wf_array *line;  /* f32 [4, shells]: its mean over circles */
} contrast;

/* The logarithms of a curve, averaged over neighbours; those without a neighbour use fewer. */
static void smooth(const double *curve, double *out, int64_t n, int64_t reach)
{
    for (int64_t k = 0; k < n; ++k) {
        double sum = 0, count = 0;
        for (int64_t i = k - reach; i <= k + reach; ++i)
            if (i >= 1 && i < n && curve[i] > 0) {
                sum += log(curve[i]);
                count += 1;
            }
        out[k] = count > 0 ? exp(sum / count) : 1;
    }
}

/* The means of f32 or f64 [n, n/2 + 1] over circles. */
static bool circles(const wf_array *a, const wf_spectrum *spectrum, double *out, int64_t shells)
{
    wf_array *mean = wf_radial_average(a, spectrum);
    bool ok = mean && wf_download(mean, out, (size_t)shells * sizeof *out) == WF_OK;
    wf_release(mean);
    return ok;
}

static bool find_line(contrast *c, const wf_ctf_search *s, const double *mean)
{
    float *at = calloc((size_t)c->shells * 4, sizeof *at);
    bool ok = at && c->line;
    for (int64_t k = 0; k < c->shells && ok; ++k) {
        double g = (double)k / ((double)c->n * s->pixel);
        at[c->shells + k] = (float)g;
        at[2 * c->shells + k] = (float)mean[k];
        at[3 * c->shells + k] = g >= 1 / s->low && g <= 1 / s->high ? (float)k : 0;
    }
    ok = ok && wf_upload(c->line, at, (size_t)c->shells * 4 * sizeof *at) == WF_OK;
    free(at);
    return ok;
}

/* Fills c->plane: the amplitudes over their background, less 1. */
static wf_status find_plane(contrast *c, const wf_ctf_search *s, const wf_array *amplitude, const wf_array *background)
{
    wf_context *ctx = wf_array_context(amplitude);
    wf_shape shape = wf_array_shape(amplitude);
    wf_spectrum spectrum = { WF_LAYOUT_H, WF_F32, 2, { c->n, c->n } };
    wf_array *rows = wf_view_reshape(c->plane, WF_SHAPE(4, shape.dim[0], shape.dim[1])), *row[4] = { NULL };
    wf_graph *g = wfl_begin(ctx, "wf_ctf_fit");
    wf_val k[2], v[4];
    for (int d = 0; d < 2; ++d) {
        k[d] = wf_freq(g, &spectrum, d, wf_iota(g, shape, d));
        v[d] = wf_div(k[d], s->pixel);
    }
    wf_val r = wf_hypot(k[0], k[1]), size = wf_div(r, s->pixel);
    wf_val shell = wf_cast(wf_floor(wf_add(wf_mul(r, (double)c->n), 0.5)), WF_I64);
    wf_val under = wf_read(g, background, wf_min(shell, (double)(c->shells - 1)));
    v[2] = wf_min(wf_sub(wf_div(wf_cast(wf_in(g, amplitude), WF_F32), under), 1), 2);
    v[3] = wf_select(wf_and(wf_ge(size, 1 / s->low), wf_le(size, 1 / s->high)), wf_const(g, WF_F32, 1), 0);
    for (int i = 0; i < 4; ++i) {
        row[i] = rows ? wf_view_at(rows, 0, i) : NULL;
        wf_out(g, row[i], v[i]);
    }
    wf_status status = wf_run(g);
    for (int i = 0; i < 4; ++i)
        wf_release(row[i]);
    wf_release(rows);
    return status;
}

static void release_contrast(contrast *c)
{
    wf_release(c->plane);
    wf_release(c->line);
}

static wf_status find_contrast(contrast *c, const wf_ctf_search *s, const wf_array *power)
{
    enum { SMOOTH = 12 }; /* the background is an average over a sixth of the shells */
    wf_context *ctx = wf_array_context(power);
    wf_shape shape = wf_array_shape(power);
    wf_spectrum spectrum = { WF_LAYOUT_H, WF_F32, 2, { shape.dim[0], shape.dim[0] } };
    *c = (contrast){ .n = shape.dim[0], .shells = wf_shell_count(&spectrum) };
    double *mean = calloc((size_t)c->shells * 2, sizeof *mean), *under = mean ? mean + c->shells : NULL;
    wf_graph *g = wfl_begin(ctx, "wf_ctf_fit");
    wf_array *amplitude = wf_keep(wf_sqrt(wf_in(g, power))), *background, *values, *plane = NULL;
    amplitude = wfl_array_run(g, amplitude);
    values = wf_empty(ctx, WF_F64, WF_SHAPE(c->shells));
    c->plane = wf_empty(ctx, WF_F32, WF_SHAPE(4, shape.dim[0] * shape.dim[1]));
    c->line = wf_empty(ctx, WF_F32, WF_SHAPE(4, c->shells));
    bool ok = mean && amplitude && values && c->plane && c->line && circles(amplitude, &spectrum, mean, c->shells);
    if (ok)
        smooth(mean, under, c->shells, c->shells / SMOOTH + 2);
    ok = ok && wf_upload(values, under, (size_t)c->shells * sizeof *under) == WF_OK;
    background = ok ? wf_array_cast(values, WF_F32) : NULL;
    ok = background && find_plane(c, s, amplitude, background) == WF_OK;
    if (ok) {
        wf_array *contrast_row = wf_view_at(c->plane, 0, 2);
        plane = contrast_row ? wf_view_reshape(contrast_row, shape) : NULL;
        wf_release(contrast_row);
    }
    ok = plane && circles(plane, &spectrum, mean, c->shells) && find_line(c, s, mean);
    wf_array *spent[] = { amplitude, values, background, plane };
    for (int i = 0; i < 4; ++i)
        wf_release(spent[i]);
    free(mean);
    return ok ? WF_OK : wfl_array_error(ctx);
}

/* ---- search ---- */
/* The best defocus of the line. */
static wf_status search_line(const wf_ctf_search *s, const contrast *c, candidate *best)
{
    const double step = 0.005; /* micrometres */
    int64_t n = (int64_t)((s->most - s->least) / step) + 2;
    candidate *all = calloc((size_t)n, sizeof *all);
    wf_status status = all ? WF_OK : wfl_array_fail(wf_array_context(c->line), WF_ERR_MEMORY, "wf_ctf_fit: no memory");
    for (int64_t i = 0; i < n && all; ++i)
        all[i].of[DEFOCUS] = s->least + (s->most - s->least) * (double)i / (double)(n - 1);
    if (status == WF_OK)
        status = compare(s, c->line, all, n);
    if (status == WF_OK)
        *best = best_of(all, n);
    free(all);
    return status;
}

/* The defocus of the search that is closest to this one. */
static double within(const wf_ctf_search *s, double defocus) { return fmin(fmax(defocus, s->least), s->most); }

/* The best candidate of the plane on a grid around a defocus. */
static wf_status search_grid(const wf_ctf_search *s, const contrast *c, candidate *best)
{
    enum { DEFOCI = 13, SIZES = 4, ANGLES = 6, GRID = DEFOCI * SIZES * ANGLES };
    static const double part[SIZES] = { 0, 0.15, 0.45, 0.9 };
    candidate *all = calloc(GRID, sizeof *all);
    int64_t n = 0;
    if (!all)
        return wfl_array_fail(wf_array_context(c->plane), WF_ERR_MEMORY, "wf_ctf_fit: no memory");
    for (int d = 0; d < DEFOCI; ++d)
        for (int a = 0; a < (s->astigmatism > 0 ? SIZES : 1); ++a)
            for (int k = 0; k < (a ? ANGLES : 1); ++k) {
                double size = part[a] * s->astigmatism, angle = 2 * 3.14159265358979323846 * k / ANGLES;
                double reach = fmax(0.06, s->astigmatism), by = reach * (2.0 * d / (DEFOCI - 1) - 1);
                all[n++] =
                    (candidate){ .of = { within(s, best->of[DEFOCUS] + by), size * cos(angle), size * sin(angle) } };
            }
    wf_status status = compare(s, c->plane, all, n);
    if (status == WF_OK)
        *best = best_of(all, n);
    free(all);
    return status;
}

/* Walks to the best of the neighbours, and halves the steps where there is none. */
static wf_status refine(const wf_ctf_search *s, const contrast *c, candidate *best)
{
    enum { NEIGHBOURS = 27, MOST = 60 };
    const double finest = 0.0002; /* micrometres */
    double step = 0.02;
    wf_status status = WF_OK;
    for (int turn = 0; turn < MOST && step > finest && status == WF_OK; ++turn) {
        candidate all[NEIGHBOURS];
        int64_t n = 0;
        for (int i = 0; i < NEIGHBOURS; ++i) {
            int by[PARAMETERS] = { i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1 };
            candidate near = *best;
            for (int k = 0; k < PARAMETERS; ++k)
                near.of[k] += step * by[k];
            near.of[DEFOCUS] = within(s, near.of[DEFOCUS]);
            if ((by[1] || by[2]) && hypot(near.of[ALONG], near.of[ACROSS]) > s->astigmatism)
                continue;
            all[n++] = near;
        }
        double before = best->score;
        status = compare(s, c->plane, all, n);
        if (status == WF_OK)
            *best = best_of(all, n);
        if (!(best->score > before))
            step *= 0.5;
    }
    return status;
}

static wf_status fit_one(wf_array *out, const wf_array *power, const void *user)
{
    const wf_ctf_search *s = user;
    contrast c;
    candidate best = { .score = -2 };
    wf_status status = find_contrast(&c, s, power);
    if (status == WF_OK)
        status = search_line(s, &c, &best);
    if (status == WF_OK && best.score > 0)
        status = search_grid(s, &c, &best);
    if (status == WF_OK && best.score > 0)
        status = refine(s, &c, &best);
    double size = hypot(best.of[ALONG], best.of[ACROSS]), angle = 0.5 * atan2(best.of[ACROSS], best.of[ALONG]);
    double result[4] = { best.of[DEFOCUS], size, size > 0 ? angle : 0, best.score };
    for (int i = 0; i < 4 && !(best.score > 0); ++i) /* the spectrum varies with none of the candidates */
        result[i] = NAN;
    if (status == WF_OK)
        status = wf_upload(out, result, sizeof result);
    release_contrast(&c);
    return status;
}

/* Replaces members that are 0 by their defaults. False, with an error, for those that make no sense. */
static bool complete(wf_context *ctx, wf_ctf_search *s)
{
    const char *problem = NULL;
    s->low = s->low > 0 ? s->low : 30;
    s->high = s->high > 0 ? s->high : fmax(5, 2.4 * s->pixel);
    if (s->least == 0 && s->most == 0) {
        s->least = 0.2;
        s->most = 5;
    }
    if (!(s->pixel > 0) || !(s->voltage > 0))
        problem = "`pixel` and `voltage` must be above 0";
    else if (!(s->low > s->high) || s->high < 2 * s->pixel)
        problem = "resolutions must go from `low` to a finer `high` of two pixels or more";
    else if (!(s->most > s->least) || !isfinite(s->most - s->least) || s->most - s->least > 1000)
        problem = "`most` must be above `least`, by 1000 at most";
    else if (!(s->astigmatism >= 0) || !isfinite(s->astigmatism))
        problem = "`astigmatism` must be 0 or more";
    if (problem)
        wfl_array_fail(ctx, WF_ERR_ARG, "wf_ctf_fit: %s", problem);
    return !problem;
}

wf_array *wf_ctf_fit(const wf_array *power, const wf_ctf_search *search)
{
    wf_context *ctx = wf_array_context(power);
    wf_shape shape = wf_array_shape(power);
    if (!power || !wfl_array_known(power, __func__) || !wfl_array_whole(power, __func__))
        return NULL;
    if (!search || wfl_is_complex_dtype(wf_array_dtype(power))) {
        wfl_array_fail(ctx, search ? WF_ERR_DTYPE : WF_ERR_ARG, "%s: %s", __func__,
                       search ? "power spectra are real" : "`search` is NULL");
        return NULL;
    }
    wf_ctf_search s = *search;
    int last = shape.rank - 1;
    if (shape.rank < 2 || shape.dim[last] != shape.dim[last - 1] / 2 + 1 || shape.dim[last - 1] < 16) {
        char text[160];
        wf_shape_text(&shape, text, sizeof text);
        wfl_array_fail(ctx, WF_ERR_SHAPE, "%s: %s is no power spectrum [..., n, n/2 + 1] of n >= 16", __func__, text);
        return NULL;
    }
    if (!complete(ctx, &s))
        return NULL;
    wf_freeze_refuse(ctx, __func__, "the search reads its results back");
    shape.rank = last;
    shape.dim[last - 1] = 4;
    return of_each(power, 2, WF_F64, &shape, 1, fit_one, &s);
}
