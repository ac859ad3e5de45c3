/* test_derivative_twice.c - second and third derivatives, all in reverse mode, of loops that stay loops: beside forward
 * mode over reverse mode and differences.
 *
 * ctest: devices
 */
#include "close_numbers.h"
#include "weft/functions.h"

enum { POINTS = 6 };
static const double start[POINTS] = { 0.1, -0.4, 1.7, 0.25, -0.9, 0.6 };
static const double rate[POINTS] = { 0.3, 0.7, -0.2, 0.9, 0.5, -0.6 };
static const double along[2][POINTS] = { { 1, -0.5, 0.25, 2, -1, 0.75 }, { 0.5, 1.5, -1, 0.25, 2, -0.75 } };
static const int32_t turns_of[POINTS] = { 0, 1, 2, 7, 20, 300 }; /* the last one is more than a tape has */

/* y += sin(k y) / 16, and z sums y^2 k. Returns y + z / 4. */
static wf_val record_flow(wf_graph *g, wf_val y0, wf_val k, wf_val turns)
{
    wf_var y = wf_local(g, WF_F64, y0), z = wf_local(g, WF_F64, 0), t = wf_local(g, WF_I32, 0);
    WF_WHILE (g, wf_lt(t, turns)) {
        wf_inc(z, wf_mul(wf_mul(y, y), wf_mul(k, 1.0 / 64)));
        wf_inc(y, wf_mul(wf_sin(wf_mul(k, y)), 1.0 / 16));
        wf_inc(t, 1);
    }
    WF_END(g);
    return wf_add(wf_get(y), wf_mul(wf_get(z), 0.25));
}

static double flow(double y, double k, int32_t turns)
{
    double z = 0;
    for (int32_t t = 0; t < turns; ++t) {
        z += y * y * k / 64;
        y += sin(k * y) / 16;
    }
    return y + z / 4;
}

static wf_graph *begin(bool space) { return space ? wf_begin(ctx, .shape = WF_SHAPE(POINTS)) : wf_begin(ctx); }

/* The Hessian of each point times a direction, in reverse mode over reverse mode, is that of forward mode over reverse mode
 * and of differences. */
static void own_turns(void **state)
{
    (void)state;
    double want[2][POINTS];
    for (int i = 0; i < POINTS; ++i) {
        const double h = 1e-4, a = along[0][i], b = along[1][i];
        for (int d = 0; d < 2; ++d) {
            const double dy = d ? 0 : h, dk = d ? h : 0;
            double sum = 0;
            for (int s = -1; s <= 1; s += 2)
                for (int t = -1; t <= 1; t += 2)
                    sum += s * t * flow(start[i] + s * dy + t * h * a, rate[i] + s * dk + t * h * b, turns_of[i]);
            want[d][i] = sum / (4 * h * h);
        }
    }
    for (int space = 0; space < 2; ++space) {
        wf_array *y = line_of(start, POINTS), *k = line_of(rate, POINTS), *a = line_of(along[0], POINTS);
        wf_array *b = line_of(along[1], POINTS), *turns = array_of(ctx, WF_I32, WF_SHAPE(POINTS), turns_of);
        wf_array *out[4];
        wf_graph *g = begin(space);
        wf_val x[2] = { wf_in(g, y), wf_in(g, k) }, v[2] = { wf_in(g, a), wf_in(g, b) }, first[2], back[2], ahead[2];
        wf_val r = record_flow(g, x[0], x[1], wf_in(g, turns));
        wf_vjp(WF_VALS(r), WF_VALS(1), WF_VALS(x[0], x[1]), first);
        wf_vjp(WF_VALS(first[0], first[1]), WF_VALS(v[0], v[1]), WF_VALS(x[0], x[1]), back);
        wf_jvp(WF_VALS(first[0], first[1]), WF_VALS(x[0], x[1]), WF_VALS(v[0], v[1]), ahead);
        for (int d = 0; d < 4; ++d) {
            out[d] = wf_like(y);
            wf_out(g, out[d], d < 2 ? back[d] : ahead[d - 2]);
        }
        OK(ctx, wf_run(g));
        for (int d = 0; d < 2; ++d) {
            double *same = contents(out[d + 2]);
            expect_close(out[d + 2], want[d], 1e-5);
            expect_close(out[d], same, 1e-11);
            free(same);
        }
        wf_array *all[] = { y, k, a, b, turns, out[0], out[1], out[2], out[3] };
        for (size_t n = 0; n < sizeof all / sizeof *all; ++n)
            wf_release(all[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_turns),
    };
    return RUN_ON_ALL(tests);
}
