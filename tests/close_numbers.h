/* close_numbers.h - arrays of floats beside the numbers that they should have, for tests that run on devices. */
#ifndef WEFT_CLOSE_NUMBERS_H
#define WEFT_CLOSE_NUMBERS_H
#include "on_devices.h"

/* Fails unless each element differs from the number in its place by at most tolerance * (1 + |number|). */
static inline void expect_close(const wf_array *a, const double *want, double tolerance)
{
    double *got = contents_as(a, WF_F64);
    for (int64_t i = 0; i < wf_array_count(a); ++i)
        if (!(fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
            fail_msg("element %d is %.17g and should be %.17g", (int)i, got[i], want[i]);
    free(got);
}

static inline void expect_close_and_release(wf_array *a, const double *want, double tolerance)
{
    expect_close(a, want, tolerance);
    wf_release(a);
}

/* Returns a tolerance for results of some operations in the array's dtype. */
static inline double rounding_of(const wf_array *a) { return wf_array_dtype(a) == WF_F64 ? 1e-13 : 3e-6; }

/* Returns numbers as an array of dtype t. */
static inline wf_array *array_as(wf_dtype t, wf_shape shape, const double *from)
{
    wf_array *wide = array_of(ctx, WF_F64, shape, from), *a = wf_full(ctx, t, shape, 0);
    wf_graph *g = wf_begin(ctx);
    wf_out(g, a, wf_in(g, wide));
    OK(ctx, wf_run(g));
    wf_release(wide);
    return a;
}

static inline wf_array *line_of(const double *x, int64_t n) { return array_of(ctx, WF_F64, WF_SHAPE(n), x); }

static inline wf_val total(wf_val v) { return wf_reduce(WF_JOIN_ADD, v, WF_ALL_AXES); }
#endif
