/* rows_adjoints.c - adjoints of operators over an index space: wf_adjoint. "weft" is recorded and differentiated each time,
 * or frozen. "weft primal" runs the operator itself: the ratio to it is what the adjoint costs.
 */
#include "bench.h"
#include "kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 2048 };

/* Freezes what the call launches. */
static wf_frozen *frozen(bench *b, void *data, void (*call)(void *data), wf_arrays arrays)
{
    if (!bench_ok(b, wf_freeze_begin(b->ctx, arrays), b->ctx, "wf_freeze_begin"))
        return NULL;
    call(data);
    return wf_freeze_end(b->ctx);
}

/* ---- a convolution ----------------------------------------------------------------------------------------------- */
/* An 11 x 11 convolution, and the derivatives of a loss with respect to the image and to the kernel, from those with
 * respect to the result (upstream). */
typedef struct conv_row {
    bench_stream s; /* image, upstream; result, derivative with respect to the image: [SIDE, SIDE] as [SIDE * SIDE] */
    wf_array *image, *upstream, *out, *dimage, *kernel, *dkernel;
    float *kernel_at, *dkernel_at, turned[CONV_K * CONV_K];
    double sum[BENCH_THREADS][CONV_K * CONV_K]; /* of each thread */
    double want[CONV_K * CONV_K];               /* the derivative with respect to the kernel */
    wf_frozen *frozen;
    bool by_image, gave_gradient;
} conv_row;

static wf_graph *conv_operator(const conv_row *r)
{
    wf_graph *g = wf_begin(r->s.b->ctx, .shape = WF_SHAPE(SIDE, SIDE), .name = "convolve");
    wf_val i = wf_index(g, 0), j = wf_index(g, 1), sum = WF_V(0);
    for (int y = 0; y < CONV_K; ++y)
        for (int x = 0; x < CONV_K; ++x) {
            wf_val pixel = wf_read_or(g, r->image, 0, wf_add(i, y - CONV_HALO), wf_add(j, x - CONV_HALO));
            sum = wf_fma(pixel, wf_read(g, r->kernel, y, x), sum);
        }
    wf_write(g, r->out, sum, i, j);
    return g;
}

static void conv_primal(void *data)
{
    conv_row *r = data;
    bench_ok(r->s.b, wf_run(conv_operator(r)), r->s.b->ctx, "wf_run");
    r->gave_gradient = false;
}

static void conv_gradient(void *data)
{
    conv_row *r = data;
    wf_arrays wrt = r->by_image ? WF_ARRAYS(r->image) : WF_ARRAYS(r->kernel);
    wf_arrays grads = r->by_image ? WF_ARRAYS(r->dimage) : WF_ARRAYS(r->dkernel);
    wf_status status = wf_adjoint(conv_operator(r), WF_ARRAYS(r->out), WF_ARRAYS(r->upstream), wrt, grads);
    bench_ok(r->s.b, status, r->s.b->ctx, "wf_adjoint");
    r->gave_gradient = true;
}

static void conv_replay(void *data)
{
    conv_row *r = data;
    wf_arrays all = WF_ARRAYS(r->image, r->upstream, r->kernel, r->dimage, r->dkernel);
    bench_ok(r->s.b, wf_frozen_replay(r->frozen, all), r->s.b->ctx, "wf_frozen_replay");
    r->gave_gradient = true;
}

static void conv_best_primal(void *data, const void *how, int part, int parts)
{
    conv_row *r = data;
    const bench_range at = bench_split(SIDE, 32, part, parts);
    (void)how;
    best_conv(r->s.at[2], r->s.at[0], r->kernel_at, SIDE, SIDE, at.lo, at.hi);
    if (part == 0)
        r->gave_gradient = false;
}

static void conv_best_image(void *data, const void *how, int part, int parts)
{
    conv_row *r = data;
    const bench_range at = bench_split(SIDE, 32, part, parts);
    (void)how;
    best_conv(r->s.at[3], r->s.at[1], r->turned, SIDE, SIDE, at.lo, at.hi);
    if (part == 0)
        r->gave_gradient = true;
}

static void conv_best_kernel(void *data, const void *how, int part, int parts)
{
    conv_row *r = data;
    const bench_range at = bench_split(SIDE, 32, part, parts);
    (void)how;
    best_conv_kernel(r->sum[part], r->s.at[0], r->s.at[1], SIDE, SIDE, at.lo, at.hi);
}

static void conv_join(void *data)
{
    conv_row *r = data;
    for (int k = 0; k < CONV_K * CONV_K; ++k) {
        double sum = 0;
        for (int i = 0; i < r->s.b->threads; ++i)
            sum += r->sum[i][k];
        r->dkernel_at[k] = (float)sum;
    }
    r->gave_gradient = true;
}

static void conv_reference(void *data, const void *how, int part, int parts)
{
    conv_row *r = data;
    const bench_range at = bench_split(SIDE, 1, part, parts);
    (void)how;
    memset(r->sum[part], 0, sizeof r->sum[part]);
    for (int64_t i = at.lo; i < at.hi; ++i)
        for (int64_t j = 0; j < SIDE; ++j)
            for (int k = 0; k < CONV_K * CONV_K; ++k) {
                int64_t y = i + k / CONV_K - CONV_HALO, x = j + k % CONV_K - CONV_HALO;
                if (y >= 0 && y < SIDE && x >= 0 && x < SIDE)
                    r->sum[part][k] += (double)r->s.at[0][y * SIDE + x] * (double)r->s.at[1][i * SIDE + j];
            }
}

/* The convolution with the kernel, or with the kernel turned around, at a pixel. */
static double conv_at(const float *image, const float *kernel, int64_t i, int64_t j)
{
    double sum = 0;
    for (int k = 0; k < CONV_K * CONV_K; ++k) {
        int64_t y = i + k / CONV_K - CONV_HALO, x = j + k % CONV_K - CONV_HALO;
        if (y >= 0 && y < SIDE && x >= 0 && x < SIDE)
            sum += (double)image[y * SIDE + x] * (double)kernel[k];
    }
    return sum;
}

static bool conv_check(void *data, char *why, size_t cap)
{
    const conv_row *r = data;
    const bool gradient = r->gave_gradient;
    const float *from = r->s.at[gradient], *kernel = gradient ? r->turned : r->kernel_at, *got = r->s.at[2 + gradient];
    for (int k = 0; gradient && !r->by_image && k < CONV_K * CONV_K; ++k)
        if (!(fabs((double)r->dkernel_at[k] - r->want[k]) <= 1e-6 * r->want[k])) {
            snprintf(why, cap, "the derivative by tap %d is %.9g, not %.9g", k, (double)r->dkernel_at[k], r->want[k]);
            return false;
        }
    for (int64_t i = 0; i < SIDE && (!gradient || r->by_image); ++i)
        for (int64_t j = 0; j < SIDE; ++j) {
            const bool edge = i < 20 || j < 20 || i >= SIDE - 20 || j >= SIDE - 20;
            if (!edge && (i * 7 + j) % 61)
                continue;
            const double want = conv_at(from, kernel, i, j), is = (double)got[i * SIDE + j];
            if (fabs(is - want) <= 1e-5 * fabs(want))
                continue;
            snprintf(why, cap, "pixel [%lld, %lld] is %.9g, not %.9g", (long long)i, (long long)j, is, want);
            return false;
        }
    return true;
}

static void conv_clear(void *data)
{
    conv_row *r = data;
    bench_spoil_results(data);
    memset(r->dkernel_at, 0xff, CONV_K * CONV_K * sizeof *r->dkernel_at);
}

static void conv_done(void *data) { wf_frozen_free(((conv_row *)data)->frozen); }

static const bench_kind conv_kind = { sizeof(conv_row), conv_clear, conv_check, conv_done };

static void conv_setup(bench *b, bench_case *c)
{
    conv_row *r = bench_stream_data(b, c, &conv_kind, (int64_t)SIDE * SIDE, 2, 2, 0.5f, 1.5f);
    wf_array *view[4];
    if (!r)
        return;
    for (int k = 0; k < 4; ++k)
        view[k] = bench_keep(c, wf_view_reshape(r->s.array[k], WF_SHAPE(SIDE, SIDE)));
    r->image = view[0], r->upstream = view[1], r->out = view[2], r->dimage = view[3];
    r->kernel = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(CONV_K, CONV_K)));
    r->dkernel = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(CONV_K, CONV_K)));
    r->kernel_at = bench_memory(b, r->kernel);
    r->dkernel_at = bench_memory(b, r->dkernel);
    r->by_image = c->row->of != NULL;
    if (b->error[0])
        return;
    for (int k = 0; k < CONV_K * CONV_K; ++k)
        r->turned[CONV_K * CONV_K - 1 - k] = r->kernel_at[k] = 0.1f + bench_random(77, (uint64_t)k);
    if (!r->by_image) {
        bench_pool_run(b->pool, conv_reference, r, NULL);
        for (int i = 0; i < b->threads; ++i)
            for (int k = 0; k < CONV_K * CONV_K; ++k)
                r->want[k] += r->sum[i][k];
    }
    r->frozen = frozen(b, r, conv_gradient, WF_ARRAYS(r->image, r->upstream, r->kernel, r->dimage, r->dkernel));
    bench_add(c, "weft", "", conv_gradient);
    bench_add(c, "weft", "frozen", conv_replay);
    bench_add(c, "weft primal", "", conv_primal);
    if (!bench_best_available())
        return;
    if (r->by_image)
        bench_add_parts(c, "best", "the kernel turned around", conv_best_image, NULL);
    else
        bench_add_parts(c, "best", "22 sums in registers", conv_best_kernel, NULL)->call = conv_join;
    bench_add_parts(c, "best primal", "", conv_best_primal, NULL);
}

const bench_row bench_grad_conv_image = { "grad_conv_image",
                                          "11x11 convolution, 2048 x 2048: derivative by the image, given upstream",
                                          "ms",
                                          1e3,
                                          "<= 1.0 x primal",
                                          conv_setup,
                                          "image" };
const bench_row bench_grad_conv_kernel = { "grad_conv_kernel",
                                           "11x11 convolution, 2048 x 2048: derivative by the kernel, given upstream",
                                           "ms",
                                           1e3,
                                           "<= 1.5 x primal",
                                           conv_setup,
                                           NULL };

/* ---- a rotation -------------------------------------------------------------------------------------------------- */
/* The image, turned by an angle about its middle with linear interpolation, less a target, and half the sum of squares; the
 * derivatives with respect to image and angle, and the operator itself with them. */
typedef struct rotate_row {
    bench_stream s; /* image, target; residual, derivative with respect to the image: as in conv_row */
    wf_array *image, *target, *out, *dimage, *angle, *dangle;
    float *angle_at, *dangle_at;
    double *want_image, want_angle, size_angle; /* of rounded positions, whose errors the bounds of check allow for */
    double sum[BENCH_THREADS];
    wf_frozen *frozen;
    bool gave_gradient;
} rotate_row;

/* The value at (y, x) by linear interpolation, 0 outside. */
static wf_val linear(wf_graph *g, wf_array *image, wf_val y, wf_val x)
{
    wf_val top = wf_floor(y), left = wf_floor(x), i = wf_cast(top, WF_I32), j = wf_cast(left, WF_I32), row[2];
    wf_val down = wf_sub(y, top), right = wf_sub(x, left);
    for (int k = 0; k < 2; ++k) {
        wf_val a = wf_read_or(g, image, 0, wf_add(i, k), j), b = wf_read_or(g, image, 0, wf_add(i, k), wf_add(j, 1));
        row[k] = wf_add(a, wf_mul(right, wf_sub(b, a)));
    }
    return wf_add(row[0], wf_mul(down, wf_sub(row[1], row[0])));
}

static wf_graph *rotate_operator(const rotate_row *r)
{
    const float middle = 0.5f * (SIDE - 1);
    wf_graph *g = wf_begin(r->s.b->ctx, .shape = WF_SHAPE(SIDE, SIDE), .name = "rotate");
    wf_val angle = wf_read(g, r->angle, 0), c = wf_cos(angle), s = wf_sin(angle);
    wf_val v = wf_sub(wf_cast(wf_index(g, 0), WF_F32), middle), u = wf_sub(wf_cast(wf_index(g, 1), WF_F32), middle);
    wf_val y = wf_add(wf_sub(wf_mul(c, v), wf_mul(s, u)), middle);
    wf_val x = wf_add(wf_add(wf_mul(s, v), wf_mul(c, u)), middle);
    wf_out(g, r->out, wf_sub(linear(g, r->image, y, x), wf_in(g, r->target)));
    return g;
}

static void rotate_primal(void *data)
{
    rotate_row *r = data;
    bench_ok(r->s.b, wf_run(rotate_operator(r)), r->s.b->ctx, "wf_run");
    r->gave_gradient = false;
}

/* The residual is what it stores, and the derivative of half the sum of squares with respect to that. */
static void rotate_gradient(void *data)
{
    rotate_row *r = data;
    rotate_primal(r);
    wf_status status = wf_adjoint(rotate_operator(r), WF_ARRAYS(r->out), WF_ARRAYS(r->out),
                                  WF_ARRAYS(r->image, r->angle), WF_ARRAYS(r->dimage, r->dangle));
    bench_ok(r->s.b, status, r->s.b->ctx, "wf_adjoint");
    r->gave_gradient = true;
}

static void rotate_replay(void *data)
{
    rotate_row *r = data;
    wf_arrays all = WF_ARRAYS(r->image, r->target, r->out, r->dimage, r->angle, r->dangle);
    bench_ok(r->s.b, wf_frozen_replay(r->frozen, all), r->s.b->ctx, "wf_frozen_replay");
    r->gave_gradient = true;
}

static void rotate_best_primal(void *data, const void *how, int part, int parts)
{
    rotate_row *r = data;
    const bench_range at = bench_split(SIDE, 1, part, parts);
    (void)how;
    best_rotate(r->s.at[2], r->s.at[0], r->s.at[1], SIDE, *r->angle_at, at.lo, at.hi);
    if (part == 0)
        r->gave_gradient = false;
}

static void rotate_best_angle(void *data, const void *how, int part, int parts)
{
    rotate_row *r = data;
    const bench_range at = bench_split(SIDE, 1, part, parts);
    (void)how;
    r->sum[part] = best_rotate_angle(r->s.at[2], r->s.at[0], r->s.at[1], SIDE, *r->angle_at, at.lo, at.hi);
}

static void rotate_best_image(void *data, const void *how, int part, int parts)
{
    rotate_row *r = data;
    const bench_range at = bench_split(SIDE, 1, part, parts);
    (void)how;
    best_rotate_image(r->s.at[3], r->s.at[2], SIDE, *r->angle_at, at.lo, at.hi);
}

static void rotate_join(void *data)
{
    rotate_row *r = data;
    double sum = 0;
    for (int i = 0; i < r->s.b->threads; ++i)
        sum += r->sum[i];
    *r->dangle_at = (float)sum;
    r->gave_gradient = true;
}

static double pixel(const rotate_row *r, int64_t i, int64_t j)
{
    return i >= 0 && i < SIDE && j >= 0 && j < SIDE ? (double)r->s.at[0][i * SIDE + j] : 0;
}

/* The residual at a point. Unless want is NULL, adds its contributions to the derivatives. */
static double rotate_at(rotate_row *r, int64_t i, int64_t j, double *want)
{
    const double c = cos((double)*r->angle_at), s = sin((double)*r->angle_at), middle = 0.5 * (SIDE - 1);
    const double v = (double)i - middle, u = (double)j - middle, y = c * v - s * u, x = s * v + c * u;
    const double top = floor(y + middle), left = floor(x + middle), down = y + middle - top, right = x + middle - left;
    const int64_t at = (int64_t)top, on = (int64_t)left;
    const double weight[4] = { (1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right };
    double p[4], value = -(double)r->s.at[1][i * SIDE + j];
    for (int k = 0; k < 4; ++k)
        value += weight[k] * (p[k] = pixel(r, at + k / 2, on + k % 2));
    for (int k = 0; want && k < 4; ++k)
        if (at + k / 2 >= 0 && at + k / 2 < SIDE && on + k % 2 >= 0 && on + k % 2 < SIDE)
            want[(at + k / 2) * SIDE + on + k % 2] += weight[k] * value;
    const double dy = (1 - right) * (p[2] - p[0]) + right * (p[3] - p[1]),
                 dx = (1 - down) * (p[1] - p[0]) + down * (p[3] - p[2]);
    r->want_angle += want ? value * (dx * y - dy * x) : 0;
    r->size_angle += want ? fabs(value * (dx * y - dy * x)) : 0;
    return value;
}

static bool rotate_check(void *data, char *why, size_t cap)
{
    rotate_row *r = data;
    for (int64_t i = 0; i < SIDE; ++i)
        for (int64_t j = 0; j < SIDE; j += r->gave_gradient ? 1 : 7) {
            const double want = r->gave_gradient ? r->want_image[i * SIDE + j] : rotate_at(r, i, j, NULL);
            const double got = (double)r->s.at[2 + r->gave_gradient][i * SIDE + j];
            if (fabs(got - want) <= 4e-3)
                continue;
            snprintf(why, cap, "pixel [%lld, %lld] is %.9g, not %.9g", (long long)i, (long long)j, got, want);
            return false;
        }
    if (!r->gave_gradient || fabs((double)*r->dangle_at - r->want_angle) <= 1e-4 * r->size_angle)
        return true;
    snprintf(why, cap, "the derivative by the angle is %.9g, not %.9g", (double)*r->dangle_at, r->want_angle);
    return false;
}

static void rotate_clear(void *data)
{
    rotate_row *r = data;
    bench_spoil_results(data);
    *r->dangle_at = NAN;
}

static void rotate_done(void *data)
{
    rotate_row *r = data;
    wf_frozen_free(r->frozen);
    free(r->want_image);
}

static const bench_kind rotate_kind = { sizeof(rotate_row), rotate_clear, rotate_check, rotate_done };

static void rotate_setup(bench *b, bench_case *c)
{
    rotate_row *r = bench_stream_data(b, c, &rotate_kind, (int64_t)SIDE * SIDE, 2, 2, 0, 1);
    wf_array *view[4];
    if (!r)
        return;
    for (int k = 0; k < 4; ++k)
        view[k] = bench_keep(c, wf_view_reshape(r->s.array[k], WF_SHAPE(SIDE, SIDE)));
    r->image = view[0], r->target = view[1], r->out = view[2], r->dimage = view[3];
    r->angle = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(1)));
    r->dangle = bench_keep(c, wf_empty(b->ctx, WF_F32, WF_SHAPE(1)));
    r->angle_at = bench_memory(b, r->angle);
    r->dangle_at = bench_memory(b, r->dangle);
    r->want_image = calloc((size_t)SIDE * SIDE, sizeof *r->want_image);
    if (!r->want_image)
        bench_fail(b, "no memory");
    if (b->error[0])
        return;
    *r->angle_at = 0.3f;
    for (int64_t k = 0; k < (int64_t)SIDE * SIDE; ++k)
        rotate_at(r, k / SIDE, k % SIDE, r->want_image);
    r->frozen = frozen(b, r, rotate_gradient, WF_ARRAYS(r->image, r->target, r->out, r->dimage, r->angle, r->dangle));
    bench_add(c, "weft", "", rotate_gradient);
    bench_add(c, "weft", "frozen", rotate_replay);
    bench_add(c, "weft primal", "", rotate_primal);
    bench_contender *best = bench_add_parts(c, "best", "each pixel looks at 3 x 3 points", rotate_best_angle, NULL);
    best->part[1] = rotate_best_image;
    best->call = rotate_join;
    bench_add_parts(c, "best primal", "", rotate_best_primal, NULL);
}

const bench_row bench_grad_rotate = { "grad_rotate",
                                      "half the sum of (turned image - target)^2 by image and angle, 2048 x 2048",
                                      "ms",
                                      1e3,
                                      "<= 4 x primal, <= 17 ms",
                                      rotate_setup,
                                      NULL };
