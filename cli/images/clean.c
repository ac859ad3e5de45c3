/* clean.c - prepares images for comparison with others: without outliers and mean, and with edges that fall to 0.
 *
 * Outliers, such as dead columns, hot pixels and dark borders, lie at the same place in each frame of a movie, and would
 * pull the correlation of two frames to shift 0. Limits come from the mean and the standard deviation of the values
 * within the limits, in rounds, so that outliers have no part in them.
 *
 * Counts of few electrons have a long tail upwards: with a mean of 0.01, each electron is ten standard deviations away.
 * Where most values are the least one, the upper limit therefore lies several times the mean of the others further. */
#include "images.h"
#include <float.h>
#include <math.h>

enum { MOST_ROUNDS = 12 };
static const double NARROW = 2.5, WIDE = 6; /* standard deviations, while limits are sought and where values are cut */
static const double TAPER = 0.1;            /* the part of each axis that is tapered, at both ends together */

typedef struct values { /* of the values within limits */
    double count, mean, deviation, least;
    double one; /* the mean distance of the others from the least value, if that is most of them, else 0 */
} values;

/* Replaces *v, which the sums are near, by what the values within the limits are. */
static bool measure(wf_array *frame, const double limit[2], values *v)
{
    enum { COUNT, SUM, SQUARES, LEAST, AT_LEAST, SUMS };
    wf_context *ctx = wf_array_context(frame);
    wf_array *numbers = wf_full(ctx, WF_F64, WF_SHAPE(SUMS), 0);
    wf_graph *g = wf_begin(ctx);
    wf_val x = wf_cast(wf_in(g, frame), WF_F64), d = wf_sub(x, v->mean), one = wf_const(g, WF_F64, 1);
    wf_val in = wf_and(wf_ge(x, limit[0]), wf_le(x, limit[1]));
    wf_val part[SUMS] = { [COUNT] = wf_select(in, one, 0),
                          [SUM] = wf_select(in, d, 0),
                          [SQUARES] = wf_select(in, wf_mul(d, d), 0),
                          [LEAST] = wf_select(in, x, (double)INFINITY),
                          [AT_LEAST] = wf_select(wf_eq(x, v->least), one, 0) };
    for (int k = 0; k < SUMS && numbers; k++) {
        wf_array *at = wf_view_slice(numbers, 0, k, k + 1, 1);
        wf_val all = wf_reduce(k == LEAST ? WF_JOIN_MIN : WF_JOIN_ADD, part[k], WF_ALL_AXES);
        wf_out(g, at, wf_reshape(all, WF_SHAPE(1)));
        wf_release(at);
    }
    double got[SUMS] = { 0 };
    bool ok = wf_run(g) == WF_OK && numbers && wf_download(numbers, got, sizeof got) == WF_OK;
    wf_release(numbers);
    double n = got[COUNT] > 0 ? got[COUNT] : 1, shift = got[SUM] / n, others = n - got[AT_LEAST];
    *v = (values){ .count = got[COUNT],
                   .mean = v->mean + shift,
                   .deviation = sqrt(fmax(got[SQUARES] / n - shift * shift, 0)),
                   .least = got[LEAST] };
    if (others > 0 && others < 0.5 * n)
        v->one = (v->mean - v->least) * n / others;
    return ok;
}

static void set_limits(const values *v, double deviations, double limit[2])
{
    limit[0] = v->mean - deviations * v->deviation;
    limit[1] = v->mean + deviations * (v->deviation + v->one);
}

bool clean(wf_array *frame)
{
    wf_context *ctx = wf_array_context(frame);
    double limit[2] = { -DBL_MAX, DBL_MAX };
    values all = { 0 }, rest;
    bool ok = measure(frame, limit, &all) && measure(frame, limit, &all);
    rest = all;
    for (int round = 0; round < MOST_ROUNDS && ok; round++) {
        double before = rest.count;
        set_limits(&rest, NARROW, limit);
        ok = measure(frame, limit, &rest);
        if (rest.count == before)
            break;
    }
    if (!(rest.deviation > 0)) /* what is left is flat: the image is what lies outside it */
        rest = all;
    set_limits(&rest, WIDE, limit);
    wf_graph *g = wf_begin(ctx);
    wf_val v = wf_in(g, frame), wide = wf_cast(v, WF_F64);
    wf_val in = wf_and(wf_ge(wide, limit[0]), wf_le(wide, limit[1]));
    wf_out(g, frame, wf_select(in, wf_sub(v, rest.mean), 0));
    return wf_run(g) == WF_OK && ok;
}

bool taper(wf_array *images)
{
    wf_shape s = wf_array_shape(images);
    wf_graph *g = wf_begin(wf_array_context(images));
    wf_val v = wf_in(g, images);
    for (int d = s.rank - 2; d < s.rank; d++) {
        double n = (double)s.dim[d];
        wf_val x = wf_div(wf_sub(wf_mul(wf_cast(wf_iota(g, s, d), WF_F32), 2), n - 1), n);
        v = wf_mul(v, wf_tukey(x, TAPER));
    }
    wf_out(g, images, v);
    return wf_run(g) == WF_OK;
}
