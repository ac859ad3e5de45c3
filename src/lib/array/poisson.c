/* poisson.c - Poisson numbers: uniform numbers are looked up in a table of the distribution.
 *
 * The table follows from the ratios of neighbouring probabilities, outwards from the largest one. It takes only
 * products and quotients, so it is the same on every machine. The processor makes it; the array's device looks up.
 */
#include "random.h"
#include "../floats.h"

enum { GUIDES = 1024 };

typedef struct table {
    int64_t first, n;
    wf_array *sum;   /* f64 [n]: probability of first + i or less */
    wf_array *guide; /* i64 [GUIDES + 1]; [k]: the first place to look at for u in [k, k + 1) / GUIDES */
} table;

static void free_table(table *t)
{
    wf_release(t->sum);
    wf_release(t->guide);
}

/* Consumes an array in the processor's memory and returns it in the device's. */
static wf_array *moved(wf_array *array, wf_device device)
{
    wf_array *there = wf_copy_to(array, device);
    wf_release(array);
    return there;
}

static WFL_APART bool make_table(table *t, wf_context *ctx, double mean, wf_device device)
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
    void *sums = NULL, *guides = NULL;
    t->sum = wf_empty(ctx, WF_F64, WF_SHAPE(t->n), .device = WF_CPU);
    t->guide = wf_empty(ctx, WF_I64, WF_SHAPE(GUIDES + 1), .device = WF_CPU);
    if (!t->sum || !t->guide || wf_map(t->sum, &sums, NULL) != WF_OK || wf_map(t->guide, &guides, NULL) != WF_OK)
        return false;
    double *sum = sums;
    int64_t *guide = guides;
    for (int64_t i = 0; i < t->n; ++i) {
        total += weight;
        sum[i] = total;
        weight = weight * mean / (double)(low + i + 1);
    }
    for (int64_t i = 0, k = 0; i < t->n; ++i) {
        sum[i] = i == t->n - 1 ? 1 : sum[i] / total;
        for (; k <= GUIDES && (double)k / GUIDES < sum[i]; ++k)
            guide[k] = i;
        if (i == t->n - 1)
            for (; k <= GUIDES; ++k)
                guide[k] = i;
    }
    if (device >= WF_GPU(0)) {
        t->sum = moved(t->sum, device);
        t->guide = moved(t->guide, device);
    }
    return t->sum && t->guide;
}

/* Returns the smallest i with u < sum[i]. */
static wf_val look_up(wf_graph *g, wf_val u, const void *user)
{
    const table *t = user;
    wf_val k = wf_cast(wf_mul(u, GUIDES), WF_I64);
    wf_var lo = wf_local(g, WF_I64, wf_read(g, t->guide, k)),
           hi = wf_local(g, WF_I64, wf_read(g, t->guide, wf_add(k, 1)));
    WF_WHILE (g, wf_lt(lo, hi)) {
        wf_val from = wf_get(lo), to = wf_get(hi), middle = wf_add(from, wf_shr(wf_sub(to, from), 1));
        wf_val below = wf_lt(u, wf_read(g, t->sum, middle));
        wf_set(hi, wf_select(below, middle, to));
        wf_set(lo, wf_select(below, from, wf_add(middle, 1)));
    }
    WF_END(g);
    return wf_add(lo, wf_param(g, "least", WF_I64, (double)t->first));
}

wf_status wf_array_random_poisson(wf_array *array, wf_random random, double mean)
{
    wf_context *ctx = wf_array_context(array);
    if (!ctx)
        return WF_ERR_ARG;
    if (wfl_is_complex_dtype(wf_array_dtype(array)) || !(mean >= 0 && mean <= 1e9))
        return wfl_array_fail(ctx, mean >= 0 && mean <= 1e9 ? WF_ERR_DTYPE : WF_ERR_ARG,
                              "wf_array_random_poisson: %s, mean %g; needs a real dtype and a mean from 0 to 1e9",
                              wf_dtype_name(wf_array_dtype(array)), mean);
    if (mean == 0)
        return wf_array_fill(array, 0);
    table t = { .first = 0 };
    fenv_t floats;
    wfl_floats_begin(&floats);
    bool made = make_table(&t, ctx, mean, wf_array_device(array));
    wfl_floats_end(&floats);
    wf_status status = made ? wfl_array_random_mapped(array, random, look_up, &t) : wfl_array_error(ctx);
    free_table(&t);
    return status;
}
