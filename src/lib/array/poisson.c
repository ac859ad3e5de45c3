/* poisson.c - Poisson numbers: uniform ones looked up in the table of the distribution. The table is made by the
 * ratio of neighbouring probabilities, outwards from the largest, with nothing but products and quotients: the same
 * on every machine.
 */
#include "array_internal.h"
#include <math.h>

enum { GUIDES = 1024 };

typedef struct table {
    wf_array *memory; /* of sum */
    double *sum;      /* [n]: probability of first + i or less */
    int64_t first, n;
    int64_t guide[GUIDES + 1]; /* where to begin for u in [k, k + 1) / GUIDES */
} table;

static bool make_table(table *t, wf_context *ctx, double mean)
{
    const double tiny = 0x1p-70;
    int64_t mode = (int64_t)mean, low = mode, high = mode;
    double w = 1, total = 0;
    for (; low > 0 && w * (double)low / mean > tiny; --low)
        w = w * (double)low / mean;
    t->first = low;
    double weight = w;
    for (w = 1; w * mean / (double)(high + 1) > tiny; ++high)
        w = w * mean / (double)(high + 1);
    t->n = high - low + 1;
    void *data = NULL;
    t->memory = wf__array_scratch(ctx, t->n, sizeof *t->sum, &data);
    t->sum = data;
    if (!t->memory)
        return false;
    for (int64_t i = 0; i < t->n; ++i) {
        total += weight;
        t->sum[i] = total;
        weight = weight * mean / (double)(low + i + 1);
    }
    for (int64_t i = 0, k = 0; i < t->n; ++i) {
        t->sum[i] = i == t->n - 1 ? 1 : t->sum[i] / total;
        for (; k <= GUIDES && (double)k / GUIDES < t->sum[i]; ++k)
            t->guide[k] = i;
        if (i == t->n - 1)
            for (; k <= GUIDES; ++k)
                t->guide[k] = i;
    }
    return true;
}

/* The smallest i with u < sum[i]. */
static int64_t look_up(const table *t, double u)
{
    int64_t k = (int64_t)(u * GUIDES), lo = t->guide[k], hi = t->guide[k + 1];
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (u < t->sum[mid])
            hi = mid;
        else
            lo = mid + 1;
    }
    return t->first + lo;
}

static void draw(const wf_chunk *chunk, void *user)
{
    const double *u = chunk->in[0];
    int64_t *out = chunk->out[0];
    for (int64_t i = 0; i < chunk->n; ++i)
        out[i] = look_up(user, u[i]);
}

wf_status wf_array_random_poisson(wf_array *array, wf_random random, double mean)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx)
        return WF_ERR_ARG;
    if (wf__is_complex_dtype(wf_array_dtype(array)) || !(mean >= 0 && mean <= 1e9))
        return wf__array_fail(ctx, mean >= 0 && mean <= 1e9 ? WF_ERR_DTYPE : WF_ERR_ARG,
                              "wf_array_random_poisson: %s, mean %g; needs a real dtype and a mean from 0 to 1e9",
                              wf_dtype_name(wf_array_dtype(array)), mean);
    table t;
    if (mean == 0)
        return wf_array_fill(array, 0);
    if (!wf__array_on_host(array, "wf_array_random_poisson"))
        return WF_ERR_UNSUPPORTED;
    if (!make_table(&t, ctx, mean))
        return wf__array_error(ctx);
    wf_shape shape = wf_array_shape(array);
    wf_array *u = wf_empty_with(ctx, WF_F64, shape, NULL), *n = wf_empty_with(ctx, WF_I64, shape, NULL);
    wf_status status = u && n ? wf_array_random_uniform(u, random, 0, 1) : wf__array_error(ctx);
    if (status == WF_OK)
        status = wf_host_apply(ctx, WF_ARRAYS(u), WF_ARRAYS(n), draw, &t);
    if (status == WF_OK)
        status = wf_array_assign(array, n);
    wf_release(u);
    wf_release(n);
    wf_release(t.memory);
    return status;
}
