/* grad_row.c - the data of rows that measure derivatives of array graphs. */
#include "grad_row.h"
#include "kernels.h"
#include <math.h>

void grad_clear(void *data)
{
    grad_row *r = data;
    bench_spoil_results(data);
    for (int k = 0; k < r->sums; ++k)
        *r->sum_at[k] = NAN;
}

void grad_done(void *data)
{
    grad_row *r = data;
    wf_kernel_free(r->primal);
    wf_kernel_free(r->gradient);
}

bool grad_check_sums(const grad_row *r, char *why, size_t cap)
{
    for (int k = 0; k < (r->gave_gradient ? r->sums : 1); ++k) {
        double got = (double)*r->sum_at[k];
        if (fabs(got - r->want[k]) <= 1e-6 * r->size[k])
            continue;
        snprintf(why, cap, "sum %d is %.9g, not %.9g", k, got, r->want[k]);
        return false;
    }
    return true;
}

void grad_join(grad_row *r, bool gradient)
{
    for (int k = 0; k < (gradient ? r->sums : 1); ++k) {
        double sum = 0;
        for (int i = 0; i < r->s.b->threads; ++i)
            sum += r->part[i][k];
        *r->sum_at[k] = (float)sum;
    }
    r->gave_gradient = gradient;
}
static void join_primal(void *data) { grad_join(data, false); }
void grad_join_gradient(void *data) { grad_join(data, true); }

void grad_refer(grad_row *r, bench_part_fn *part)
{
    bench_pool_run(r->s.b->pool, part, r, NULL);
    for (int k = 0; k < r->sums; ++k)
        for (int i = 0; i < r->s.b->threads; ++i) {
            r->want[k] += r->part[i][k];
            r->size[k] += r->part[i][GRAD_SUMS + k];
        }
}

void *grad_data(bench *b, bench_case *c, const bench_kind *kind, int64_t n, int inputs, int results, int sums,
                float low, float high)
{
    grad_row *r = bench_stream_data(b, c, kind, n, inputs, results, low, high);
    if (!r)
        return NULL;
    r->sums = sums;
    for (int k = 0; k < sums; ++k) {
        r->sum[k] = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(1)));
        r->sum_at[k] = bench_memory(b, r->sum[k]);
        if (!r->sum_at[k])
            return NULL;
    }
    return r;
}

void grad_add(bench_case *c, void (*gradient)(void *), void (*primal)(void *), bench_part_fn *best_gradient,
              bench_part_fn *best_primal, void (*joined)(void *))
{
    bench_add(c, "weft", "", gradient);
    bench_add(c, "weft primal", "", primal);
    if (!bench_best_available())
        return;
    bench_add_parts(c, "best", "", best_gradient, NULL)->call = joined;
    bench_add_parts(c, "best primal", "", best_primal, NULL)->call = join_primal;
}
