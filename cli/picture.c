/* picture.c - averages the pixels of panels, stretches their contrast and joins them in a montage. Weft does the work
 * on pixels. */
#include "picture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SIZE = 2048, GAP = 4, GAP_LEVEL = 128, MAX_SAMPLES = 1 << 20, MAX_SHRINK = 4096 };

bool panels_add(panels *p, wf_array *panel)
{
    if (!panel)
        return false;
    if (p->n == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 16;
        p->at = realloc(p->at, (size_t)p->cap * sizeof *p->at);
        if (!p->at)
            exit(failed("out of memory"));
    }
    p->at[p->n++] = panel;
    return true;
}

void panels_free(panels *p)
{
    for (int i = 0; i < p->n; i++)
        wf_release(p->at[i]);
    free(p->at);
    p->at = NULL;
    p->n = 0;
}

static int channels_of(const panels *p) { return p->channels ? p->channels : 1; }
static int images_of(const panels *p) { return p->n / channels_of(p); }
/* True if panel i is the alpha channel of its image, the last of two or four. */
static bool is_alpha(const panels *p, int i)
{
    return (p->channels == 2 || p->channels == 4) && i % p->channels == p->channels - 1;
}

static int64_t height(const wf_array *a) { return wf_array_shape(a).dim[0]; }
static int64_t width(const wf_array *a) { return wf_array_shape(a).dim[1]; }

/* ---- averaging ---- */

/* Means of n consecutive elements along an axis. A rest shorter than n is left out. */

static wf_array *average(wf_context *ctx, const wf_array *a, int axis, int n)
{
    wf_shape shape = wf_array_shape(a);
    shape.dim[axis] = shape.dim[axis] / n > 0 ? shape.dim[axis] / n : 1;
    if (wf_array_shape(a).dim[axis] < n)
        n = (int)wf_array_shape(a).dim[axis];
    wf_array *out = wf_empty(ctx, wf_array_dtype(a), shape);
    wf_graph *g = wf_begin(ctx, .shape = shape, .name = "average");
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), sum = wf_const(g, wf_array_dtype(a), 0);
    for (int k = 0; k < n; k++) {
        wf_val at = wf_add(wf_mul(axis ? j : i, n), k);
        sum = wf_add(sum, axis ? wf_read(g, a, i, at) : wf_read(g, a, at, j));
    }
    wf_write(g, out, wf_mul(sum, 1.0 / n), i, j);
    if (wf_run(g) == WF_OK)
        return out;
    wf_release(out);
    return NULL;
}

/* Means of squares of n x n pixels, in several steps, so that no kernel becomes long. */
static wf_array *shrink(wf_context *ctx, const wf_array *a, int n)
{
    wf_array *now = to_floats(ctx, a);
    while (n > 1 && now) {
        int step = n;
        for (int d = 2; n > 16 && d <= 16; d++)
            if (n % d == 0)
                step = d;
        if (step > 64)
            step = 16; /* n has a large prime factor: the scale is approximate */
        for (int axis = 0; axis < 2 && now; axis++) {
            wf_array *next = average(ctx, now, axis, step);
            wf_release(now);
            now = next;
        }
        n /= step;
    }
    return now;
}

/* ---- contrast ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Stores every step-th finite value of a panel in `out`. Returns their number. */
static size_t take_samples(const wf_array *a, int64_t step, double *out, size_t room)
{
    void *data;
    size_t n = 0;
    if (wf_map(a, &data, NULL) != WF_OK)
        return 0;
    bool wide = wf_array_dtype(a) == WF_F64;
    for (int64_t i = 0; i < wf_array_count(a) && n < room; i += step) {
        double v = wide ? ((const double *)data)[i] : (double)((const float *)data)[i];
        if (isfinite(v))
            out[n++] = v;
    }
    return n;
}

/* Replaces the percentiles *low and *high by the values there. Here and below: of the panels first <= i < end, without
 * alpha. */
static void percentiles(const panels *p, int first, int end, double *low, double *high)
{
    int64_t total = 0;
    size_t n = 0;
    for (int i = first; i < end; i++)
        total += is_alpha(p, i) ? 0 : wf_array_count(p->at[i]);
    int64_t step = total / MAX_SAMPLES + 1;
    double *v = allocate(MAX_SAMPLES, sizeof *v);
    for (int i = first; i < end; i++)
        n += is_alpha(p, i) ? 0 : take_samples(p->at[i], step, v + n, MAX_SAMPLES - n);
    qsort(v, n, sizeof *v, by_value);
    double a = *low / 100, b = *high / 100;
    *low = n ? v[(size_t)(a * (double)(n - 1) + 0.5)] : 0;
    *high = n ? v[(size_t)(b * (double)(n - 1) + 0.5)] : 1;
    free(v);
}

static bool moments(const panels *p, int first, int end, double *mean, double *std)
{
    double n = 0, sum = 0, squares = 0, shift = 0;
    for (int i = first; i < end; i++) {
        statistics s = { .finite = 0 };
        if (!is_alpha(p, i) && !compute_statistics(p->ctx, p->at[i], &s))
            return false;
        if (s.finite == 0)
            continue;
        if (n == 0)
            shift = s.mean;
        double d = s.mean - shift;
        n += (double)s.finite;
        sum += (double)s.finite * d;
        squares += (double)s.finite * (s.std * s.std + d * d);
    }
    *mean = n > 0 ? shift + sum / n : 0;
    double variance = n > 0 ? squares / n - (sum / n) * (sum / n) : 0;
    *std = sqrt(variance > 0 ? variance : 0);
    return true;
}

/* The values that are drawn black and white. */
static bool find_range(const panels *p, int first, int end, const contrast *look, double *low, double *high)
{
    double mean, std;
    *low = look->low;
    *high = look->high;
    if (look->mode == CONTRAST_PERCENTILES)
        percentiles(p, first, end, low, high);
    if (look->mode == CONTRAST_SIGMA) {
        if (!moments(p, first, end, &mean, &std))
            return false;
        *low = mean - look->high * std;
        *high = mean + look->high * std;
    }
    if (*low == *high)
        *high = *low + 1;
    return true;
}

/* Panel i as u8. */
static wf_array *stretch(const panels *p, int i, const contrast *look, double low, double high)
{
    const char *want[] = { "out" },
               *text = look->gamma == 1 ? "out = u8(round(255 * clamp((f64(a) / 2 - low) * scale, 0, 1)))"
                                        : "out = u8(round(255 * clamp((f64(a) / 2 - low) * scale, 0, 1) ** gamma))";
    double from = (look->invert ? high : low) / 2, scale = 1 / (high / 2 - low / 2); /* halves: no overflow */
    wf_array *out = NULL;
    wf_args args = WF_ARGS(WF_ARG("a", p->at[i]), WF_ARG("low", from), WF_ARG("scale", look->invert ? -scale : scale),
                           WF_ARG("gamma", look->gamma));
    wf_text_create(p->ctx, text, args, 0, want, 1, &out);
    return out;
}

/* ---- montage ---- */

typedef struct sheet {
    wf_array *picture;
    uint8_t *pixel;
    int64_t h, w, columns, cell_h, cell_w, enlarge, channels;
} sheet;

/* Copies panel `v` of h x w pixels to a channel of the image number `cell`. */
static void paste(const sheet *s, const uint8_t *v, int64_t h, int64_t w, int64_t cell, int64_t channel)
{
    int64_t e = s->enlarge, top = cell / s->columns * (s->cell_h + GAP), left = cell % s->columns * (s->cell_w + GAP);
    for (int64_t i = 0; i < h * e; i++)
        for (int64_t j = 0; j < w * e; j++)
            s->pixel[((top + i) * s->w + left + j) * s->channels + channel] = v[i / e * w + j / e];
}

static int64_t choose_columns(const panels *p, const layout *plan)
{
    int64_t n = images_of(p);
    if (plan->columns)
        return plan->columns < n ? plan->columns : n;
    return n <= 4 ? n : (int64_t)ceil(sqrt((double)n));
}

/* Number of pixels to average along each axis, so that the picture has the size asked for. */
static int choose_shrink(const panels *p, const layout *plan)
{
    int64_t columns = choose_columns(p, plan), rows = (images_of(p) + columns - 1) / columns, h = 0, w = 0;
    if (plan->shrink)
        return plan->shrink < MAX_SHRINK ? plan->shrink : MAX_SHRINK;
    for (int i = 0; i < p->n; i++) {
        if (height(p->at[i]) > h)
            h = height(p->at[i]);
        if (width(p->at[i]) > w)
            w = width(p->at[i]);
    }
    int64_t side = h * rows > w * columns ? h * rows : w * columns, size = plan->size ? plan->size : DEFAULT_SIZE;
    int64_t n = (side + size - 1) / size;
    return n < MAX_SHRINK ? (int)n : MAX_SHRINK;
}

static bool make_sheet(const panels *p, const layout *plan, sheet *s)
{
    *s = (sheet){ .columns = choose_columns(p, plan),
                  .enlarge = plan->enlarge ? plan->enlarge : 1,
                  .channels = channels_of(p) };
    for (int i = 0; i < p->n; i++) {
        if (height(p->at[i]) * s->enlarge > s->cell_h)
            s->cell_h = height(p->at[i]) * s->enlarge;
        if (width(p->at[i]) * s->enlarge > s->cell_w)
            s->cell_w = width(p->at[i]) * s->enlarge;
    }
    int64_t rows = (images_of(p) + s->columns - 1) / s->columns;
    s->h = rows * (s->cell_h + GAP) - GAP;
    s->w = s->columns * (s->cell_w + GAP) - GAP;
    wf_shape shape = { .rank = p->channels > 1 ? 3 : 2, .dim = { s->h, s->w, s->channels } };
    s->picture = wf_full(p->ctx, WF_U8, shape, images_of(p) > 1 ? GAP_LEVEL : 0);
    void *data = NULL;
    bool ok = s->picture && wf_map(s->picture, &data, NULL) == WF_OK;
    s->pixel = data;
    return ok;
}

/* `opaque`: the greatest value of alpha. */
static wf_array *montage(panels *p, const layout *plan, const contrast *look, double opaque)
{
    static const contrast plain = { .gamma = 1 };
    sheet s;
    double low = 0, high = 1;
    int channels = channels_of(p);
    bool ok = make_sheet(p, plan, &s) && (look->each || find_range(p, 0, p->n, look, &low, &high));
    for (int i = 0; i < p->n && ok; i++) {
        void *data = NULL;
        if (look->each && i % channels == 0)
            ok = find_range(p, i, i + channels, look, &low, &high);
        wf_array *panel = !ok              ? NULL
                          : is_alpha(p, i) ? stretch(p, i, &plain, 0, opaque)
                                           : stretch(p, i, look, low, high);
        ok = panel && wf_map(panel, &data, NULL) == WF_OK;
        if (ok)
            paste(&s, data, height(panel), width(panel), i / channels, i % channels);
        wf_release(panel);
        progress_part((double)i / p->n);
    }
    if (ok)
        return s.picture;
    wf_release(s.picture);
    return NULL;
}

/* The alpha of an opaque pixel. */
static double opaque_of(wf_dtype dtype)
{
    switch (dtype) {
    case WF_U8:
        return UINT8_MAX;
    case WF_U16:
        return UINT16_MAX;
    case WF_U32:
        return UINT32_MAX;
    case WF_U64:
        return (double)UINT64_MAX;
    case WF_I8:
        return INT8_MAX;
    case WF_I16:
        return INT16_MAX;
    case WF_I32:
        return INT32_MAX;
    case WF_I64:
        return (double)INT64_MAX;
    default:
        return 1;
    }
}

wf_array *draw(panels *p, const layout *plan, const contrast *look)
{
    int n = choose_shrink(p, plan);
    double opaque = opaque_of(wf_array_dtype(p->at[0]));
    for (int i = 0; i < p->n; i++) {
        wf_array *small = shrink(p->ctx, p->at[i], n);
        wf_release(p->at[i]);
        p->at[i] = small;
        if (!small)
            return NULL;
    }
    return montage(p, plan, look, opaque);
}
