/* histogram.c - counts per bin: one histogram for each thread, added at the end. */
#include "array_internal.h"
#include <math.h>
#include <stdlib.h>

typedef struct histogram {
    double lo, hi, step, scale;
    int64_t bins;
    int64_t *count; /* [threads, bins] */
    bool narrow;    /* elements are f32, not f64 */
} histogram;

static double edge(const histogram *h, int64_t i) { return i == h->bins ? h->hi : h->lo + (double)i * h->step; }

/* The quotient may be a bin off; the edges decide. */
static inline void count_one(const histogram *h, int64_t *count, double x)
{
    if (!(x >= h->lo && x <= h->hi))
        return;
    int64_t i = (int64_t)((x - h->lo) * h->scale);
    i = i >= h->bins ? h->bins - 1 : i;
    if (x < edge(h, i) && i > 0)
        --i;
    else if (i < h->bins - 1 && x >= edge(h, i + 1))
        ++i;
    ++count[i];
}

static void count_chunk(const wf_chunk *chunk, void *user)
{
    const histogram *h = user;
    int64_t *count = h->count + chunk->thread * h->bins;
    const double *wide = chunk->in[0];
    const float *narrow = chunk->in[0];
    if (h->narrow)
        for (int64_t i = 0; i < chunk->n; ++i)
            count_one(h, count, (double)narrow[i]);
    else
        for (int64_t i = 0; i < chunk->n; ++i)
            count_one(h, count, wide[i]);
}

wf_array *wf_array_histogram(const wf_array *array, int64_t bins, double lo, double hi)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx)
        return NULL;
    int64_t threads = wf_get_threads(ctx);
    wf_dtype t = wf_array_dtype(array);
    if (wf__is_complex_dtype(t) || bins < 1 || bins > INT64_MAX / 16 / threads || !(lo < hi) || !isfinite(hi - lo)) {
        wf__array_fail(ctx, wf__is_complex_dtype(t) ? WF_ERR_DTYPE : WF_ERR_ARG,
                       "wf_array_histogram: %s with %lld bins from %g to %g; needs real elements, 1 bin or more, and "
                       "finite lo < hi",
                       wf_dtype_name(t), (long long)bins, lo, hi);
        return NULL;
    }
    histogram h = { .lo = lo, .hi = hi, .bins = bins, .narrow = t == WF_F32 };
    h.step = (hi - lo) / (double)bins;
    h.scale = (double)bins / (hi - lo);
    h.count = calloc((size_t)(threads * bins), sizeof *h.count);
    wf_array *wide = h.narrow || t == WF_F64 ? wf_retain(array) : wf_array_cast(array, WF_F64), *out = NULL;
    wf_status status = WF_ERR_MEMORY;
    if (!h.count)
        wf__array_fail(ctx, WF_ERR_MEMORY, "wf_array_histogram: out of memory for %lld bins", (long long)bins);
    else if (wide)
        status = wf_host_apply(ctx, WF_ARRAYS(wide), WF_NO_ARRAYS, count_chunk, &h);
    for (int64_t i = bins; status == WF_OK && i < threads * bins; ++i)
        h.count[i % bins] += h.count[i];
    if (status == WF_OK)
        out = wf_empty(ctx, WF_I64, WF_SHAPE(bins));
    if (out && wf_upload(out, h.count, (size_t)bins * sizeof *h.count) != WF_OK) {
        wf_release(out);
        out = NULL;
    }
    wf_release(wide);
    free(h.count);
    return out;
}
