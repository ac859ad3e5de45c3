/* grad_row.h - the data of rows that measure derivatives of array graphs. "weft" and "best" compute the derivatives of a loss,
 * and the loss with them. "weft primal" and "best primal" compute the loss alone: the ratio to "weft primal" is what
 * derivatives cost.
 */
#ifndef WEFT_BENCH_GRAD_ROW_H
#define WEFT_BENCH_GRAD_ROW_H
#include "bench.h"

enum { GRAD_SUMS = 3 };

/* Arrays of points, and a few sums over all of them, the loss first. */
typedef struct grad_row {
    bench_stream s; /* inputs, then derivatives */
    wf_kernel *primal, *gradient;
    int sums;
    wf_array *sum[GRAD_SUMS];
    float *sum_at[GRAD_SUMS];
    double want[GRAD_SUMS], size[GRAD_SUMS];   /* the sums in f64, and those of the absolute values */
    double part[BENCH_THREADS][2 * GRAD_SUMS]; /* sums of each thread */
    bool gave_gradient;                        /* the contender that ran last */
} grad_row;

/* Makes data that begin with a grad_row; NULL: b->error is set. */
void *grad_data(bench *b, bench_case *c, const bench_kind *kind, int64_t n, int inputs, int results, int sums,
                float low, float high);
/* Members of kinds whose data begin with a grad_row; grad_done frees the kernels. */
void grad_clear(void *data);
void grad_done(void *data);
/* Runs a part that fills grad_row.part with sums and sums of absolute values, in f64. */
void grad_refer(grad_row *r, bench_part_fn *part);
bool grad_check_sums(const grad_row *r, char *why, size_t cap);
/* Joins the sums of the threads, for a contender with parts. */
void grad_join(grad_row *r, bool gradient);
void grad_join_gradient(void *data); /* the same, as the call of a contender */
/* Adds Weft and C. A part of C fills grad_row.part; `joined` is the call after the parts of the gradient. */
void grad_add(bench_case *c, void (*gradient)(void *), void (*primal)(void *), bench_part_fn *best_gradient,
              bench_part_fn *best_primal, void (*joined)(void *));
#endif
