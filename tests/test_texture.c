/* test_texture.c - textures of 1 to 3 axes beside plain C: every filter and wrap mode, channels, positions far outside
 * and NaN, array graphs and index spaces, with and without packets; errors.
 *
 * ctest: devices
 */
#include "borders.h"
#include "on_devices.h"
#include "weft/traced.h"

enum { POINTS = 70, MOST = 4 };

static int weights(wf_filter filter, double t, double w[MOST])
{
    if (filter == WF_FILTER_NEAREST) {
        w[0] = 1;
        return 1;
    }
    if (filter == WF_FILTER_LINEAR) {
        w[0] = 1 - t, w[1] = t;
        return 2;
    }
    for (int k = 0; k < 4; k++) { /* the B-spline's pieces by distance */
        double d = fabs(k - 1 - t);
        w[k] = d < 1 ? 2.0 / 3 - d * d + d * d * d / 2 : d < 2 ? (2 - d) * (2 - d) * (2 - d) / 6 : 0;
    }
    return 4;
}

typedef struct model {
    const float *data;
    int axes, channels;
    int64_t dim[3];
    wf_filter filter;
    wf_border wrap;
    bool pixels;
} model;

static double expected(const model *m, const float *position, int c)
{
    int64_t first[3] = { 0 };
    double w[3][MOST], sum = 0;
    int taps[3] = { 1, 1, 1 };
    for (int d = 0; d < m->axes; d++) {
        float x = m->pixels ? position[d] : position[d] * (float)m->dim[d]; /* as documented: in f32 */
        float half = m->filter == WF_FILTER_NEAREST ? (m->pixels ? 0.5f : 0) : m->pixels ? 0 : -0.5f;
        x += half;
        first[d] = (int64_t)floorf(x) - (m->filter == WF_FILTER_CUBIC);
        taps[d] = weights(m->filter, (double)(x - floorf(x)), w[d]);
    }
    for (int k = 0; k < taps[0] * taps[1] * taps[2]; k++) {
        int rest = k;
        int64_t at = 0;
        double weight = 1;
        bool inside = true;
        for (int d = 0; d < m->axes; d++) {
            int tap = rest % taps[d];
            rest /= taps[d];
            int64_t i = border_index(m->wrap, first[d] + tap, m->dim[d]);
            inside = inside && i >= 0;
            at = at * m->dim[d] + i;
            weight *= w[d][tap];
        }
        if (inside)
            sum += weight * (double)m->data[at * m->channels + c];
    }
    return sum;
}

static void compare(int axes, int channels, wf_filter filter, wf_border wrap, bool pixels, bool arrays, uint32_t off)
{
    static const int64_t all_dims[2][3] = { { 5, 7, 4 }, { 1, 2, 3 } }; /* no axis is too short */
    const int64_t *dims = all_dims[(int)wrap % 2 && arrays];
    float data[5 * 7 * 4 * 4], position[3][POINTS];
    uint32_t s = 7;
    int64_t n = channels ? channels : 1;
    wf_shape shape = { .rank = axes + (channels > 0) };
    for (int d = 0; d < axes; d++)
        n *= shape.dim[d] = dims[d];
    shape.dim[axes] = channels;
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)((s = s * 1664525 + 1013904223) >> 20);
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < POINTS; i++) {
            float u = (float)((s = s * 1664525 + 1013904223) >> 8) / (1 << 24);
            position[d][i] = (pixels ? (float)dims[d] : 1) * (3 * u - 1); /* from one texture before to one after */
        }
    if (shape.rank < 8)
        shape.dim[shape.rank] = 0;
    wf_array *image = array_of(ctx, WF_F32, shape, data), *at[3], *out[MOST];
    for (int d = 0; d < 3; d++)
        at[d] = array_of(ctx, WF_F32, WF_SHAPE(POINTS), position[d]);
    wf_graph *g = arrays ? wf_begin(ctx, .flags_off = off) : wf_begin(ctx, .shape = WF_SHAPE(POINTS), .flags_off = off);
    wf_val x[3] = { wf_in(g, at[0]), wf_in(g, at[1]), wf_in(g, at[2]) }, v[MOST];
    wf_texture_read(g, &(wf_texture){ image, channels, filter, wrap, pixels }, (wf_vals){ x, (size_t)axes }, v);
    int count = channels ? channels : 1;
    for (int c = 0; c < count; c++)
        wf_out(g, out[c] = wf_empty(ctx, WF_F32, WF_SHAPE(POINTS)), v[c]);
    OK(ctx, wf_run(g));
    model m = { data, axes, count, { dims[0], dims[1], dims[2] }, filter, wrap, pixels };
    for (int c = 0; c < count; c++) {
        float *got = contents(out[c]);
        for (int i = 0; i < POINTS; i++) {
            double want = expected(&m, (float[]){ position[0][i], position[1][i], position[2][i] }, c);
            if (!(fabs((double)got[i] - want) <= 2e-3))
                fail_msg("%d axes, %d channels, filter %d, wrap %d: point %d is %g, not %g", axes, channels,
                         (int)filter, (int)wrap, i, (double)got[i], want);
        }
        free(got);
        wf_release(out[c]);
    }
    for (int d = 0; d < 3; d++)
        wf_release(at[d]);
    wf_release(image);
}

static void every_filter_and_wrap(void **state)
{
    (void)state;
    for (int axes = 1; axes <= 3; axes++)
        for (int f = WF_FILTER_NEAREST; f <= WF_FILTER_CUBIC; f++)
            for (int w = WF_BORDER_VALUE; w < (int)WF__BORDERS; w++)
                if (axes == 2 || !is_on_gpu() || (f + w) % 4 == 0)
                    compare(axes, axes == 3 && f == WF_FILTER_CUBIC ? 0 : (w + f) % 4, (wf_filter)f, (wf_border)w,
                            w % 2 != axes % 2, (f + axes + w) % 2 == 0, 0);
}

static void axes_and_channels(void **state)
{
    (void)state;
    compare(1, 4, WF_FILTER_LINEAR, WF_BORDER_CLAMP, false, false, 0);
    compare(3, 3, WF_FILTER_LINEAR, WF_BORDER_PERIODIC, false, false, 0);
    compare(3, 0, WF_FILTER_CUBIC, WF_BORDER_MIRROR, true, false, 0);
    compare(2, 4, WF_FILTER_LINEAR, WF_BORDER_MIRROR, false, false, WF_FLAG_PACKETS);
    compare(2, 3, WF_FILTER_NEAREST, WF_BORDER_PERIODIC, false, true, WF_FLAG_PACKETS);
}

/* At the positions of elements a linear texture equals the elements. Positions far outside and NaN do no harm; f64
 * stays f64. */
static void at_the_limits(void **state)
{
    (void)state;
    const double data[4] = { 1, 2, 4, 8 }, position[6] = { 0.125, 0.375, 0.875, 1e300, -INFINITY, NAN };
    wf_array *image = array_of(ctx, WF_F64, WF_SHAPE(4), data), *at = array_of(ctx, WF_F64, WF_SHAPE(6), position);
    wf_array *out = wf_empty(ctx, WF_F64, WF_SHAPE(6)), *near = wf_empty(ctx, WF_F64, WF_SHAPE(6));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(6));
    wf_val v, w;
    wf_texture_read(g, &(wf_texture){ image, .filter = WF_FILTER_LINEAR }, WF_VALS(wf_in(g, at)), &v);
    wf_texture_read(g, &(wf_texture){ image, .filter = WF_FILTER_NEAREST }, WF_VALS(wf_in(g, at)), &w);
    assert_int_equal(wf_val_dtype(v), WF_F64);
    wf_out(g, out, v);
    wf_out(g, near, w);
    OK(ctx, wf_run(g));
    double *got = contents(out), *got_near = contents(near);
    assert_true(got[0] == 1 && got[1] == 2 && got[2] == 8);
    assert_true(got_near[0] == 1 && got_near[3] == 8 && got_near[4] == 1);
    assert_true(got_near[5] == 1 || got_near[5] == 2 || got_near[5] == 4 || got_near[5] == 8);
    free(got), free(got_near);
    wf_release(image), wf_release(at), wf_release(out), wf_release(near);
}

static void mistakes(void **state)
{
    (void)state;
    wf_array *image = wf_full(ctx, WF_F32, WF_SHAPE(4, 5, 3), 1), *pairs = wf_full(ctx, WF_C64, WF_SHAPE(4, 5), 1);
    wf_array *out = wf_empty(ctx, WF_F32, WF_SHAPE(9));
    const struct {
        wf_texture t;
        size_t positions;
        const char *part;
    } bad[] = {
        { { NULL, 0, WF_FILTER_LINEAR, 0, 0 }, 2, "without an array" },
        { { image, 3, WF_FILTER_LINEAR, 0, 0 }, 1, "axes" },
        { { image, 4, WF_FILTER_LINEAR, 0, 0 }, 2, "fewer channels" },
        { { image, -1, WF_FILTER_LINEAR, 0, 0 }, 2, "64 channels" },
        { { image, 3, (wf_filter)9, 0, 0 }, 2, "no such filter" },
        { { pairs, 0, WF_FILTER_LINEAR, 0, 0 }, 2, "complex" },
        { { image, 3, WF_FILTER_LINEAR, 0, 0 }, 0, "1 to 3 positions" },
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(9));
        wf_val x[2] = { wf_const(g, WF_F32, 0), wf_const(g, WF_F32, 0) }, v[64];
        wf_texture_read(g, &bad[k].t, (wf_vals){ x, bad[k].positions }, v);
        wf_out(g, out, v[0]);
        REFUSED(ctx, wf_run(g), WF_ERR_ARG, bad[k].part);
    }
    wf_release(image), wf_release(pairs), wf_release(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_filter_and_wrap),
        cmocka_unit_test(axes_and_channels),
        cmocka_unit_test(at_the_limits),
        cmocka_unit_test(mistakes),
    };
    return RUN_ON_ALL(tests);
}
