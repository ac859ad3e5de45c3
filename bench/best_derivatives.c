/* best_derivatives.c - losses and their derivatives, best effort: adjoints by hand, one pass over memory. Sums are
 * accumulated in f32 over some hundred points, then in f64. */
#include "kernels.h"
#include "vec_math.h"
#include <math.h>
#include <string.h>

#if BENCH_VEC
enum { SUMMED = 64 * VF }; /* points that are summed in f32 */

static inline double vf_total(vf x) { return vd_total(vd_add(vd_low(x), vd_high(x))); }

double best_math_primal(const float *x, const float *t, float a, float b, int64_t lo, int64_t hi)
{
    const vf scale = vf_set(1 / a), shift = vf_set(b), zero = vf_set(0);
    double sum = 0;
    for (int64_t i = lo; i < hi; i += SUMMED) {
        vf s[2] = { zero, zero };
        for (int64_t j = i; j < i + SUMMED && j < hi; j += 2 * VF)
            for (int k = 0; k < 2; ++k) {
                vf v = vf_load(x + j + k * VF), e = vf_exp(vf_sub(zero, vf_mul(v, v)));
                vf f = vf_fma(e, vf_sqrt_quick(v), vf_cos(vf_fma(v, scale, shift)));
                f = vf_sub(f, vf_load(t + j + k * VF));
                s[k] = vf_fma(f, f, s[k]);
            }
        sum += vf_total(vf_add(s[0], s[1]));
    }
    return sum;
}

void best_math_gradient(float *dx, double sum[3], const float *x, const float *t, float a, float b, int64_t lo,
                        int64_t hi)
{
    const vf scale = vf_set(1 / a), shift = vf_set(b), zero = vf_set(0), half = vf_set(0.5f), two = vf_set(2);
    double loss = 0, da = 0, db = 0;
    for (int64_t i = lo; i < hi; i += SUMMED) {
        vf s = zero, sa = zero, sb = zero;
        for (int64_t j = i; j < i + SUMMED && j < hi; j += 2 * VF)
            for (int k = 0; k < 2 * VF; k += VF) {
                vf v = vf_load(x + j + k), e = vf_exp(vf_sub(zero, vf_mul(v, v))), cosine;
                vf sine = vf_sincos(vf_fma(v, scale, shift), &cosine), root = vf_sqrt_quick(v);
                vf f = vf_sub(vf_fma(e, root, cosine), vf_load(t + j + k)), g = vf_mul(f, two);
                vf du = vf_sub(zero, vf_mul(g, sine));
                /* the derivative of sqrt(x) is sqrt(x) / (2 x) */
                vf bell = vf_mul(vf_mul(e, root), vf_sub(vf_div(half, v), vf_mul(two, v)));
                VEC(stream_ps)(dx + j + k, vf_fma(du, scale, vf_mul(g, bell)));
                s = vf_fma(f, f, s);
                sa = vf_fma(du, v, sa);
                sb = vf_add(sb, du);
            }
        loss += vf_total(s);
        da += vf_total(sa);
        db += vf_total(sb);
    }
    _mm_sfence();
    sum[0] = loss;
    sum[1] = -da / ((double)a * (double)a);
    sum[2] = db;
}

double best_table_primal(const float *table, const int32_t *index, int64_t lo, int64_t hi)
{
    double sum = 0;
    for (int64_t i = lo; i < hi; i += SUMMED) {
        float s[16] = { 0 };
        for (int64_t j = i; j < i + SUMMED && j < hi; j += 16)
#pragma GCC ivdep
            for (int k = 0; k < 16; ++k) {
                float v = table[index[j + k]];
                s[k] += v * v;
            }
        for (int k = 0; k < 16; ++k)
            sum += (double)s[k];
    }
    return sum;
}

/* Neighbours in the list add to different copies, so that an addition does not wait for the one before it. */
double best_table_gradient(float *copies, const float *table, int32_t size, const int32_t *index, int64_t lo,
                           int64_t hi)
{
    double sum = 0;
    memset(copies, 0, (size_t)size * TABLE_COPIES * sizeof *copies);
    for (int64_t i = lo; i < hi; i += SUMMED) {
        float s[TABLE_COPIES] = { 0 };
        for (int64_t j = i; j < i + SUMMED && j < hi; j += TABLE_COPIES)
#pragma GCC unroll 8
            for (int k = 0; k < TABLE_COPIES; ++k) {
                int32_t at = index[j + k];
                float v = table[at];
                copies[(int64_t)k * size + at] += v + v;
                s[k] += v * v;
            }
        for (int k = 0; k < TABLE_COPIES; ++k)
            sum += (double)s[k];
    }
    return sum;
}

double best_softmax_row(float *dx, const float *x, const float *w, int n)
{
    enum { MOST = 4096 };
    _Alignas(64) float e[MOST];
    vf most = vf_load(x), sum = vf_set(0), weighted = sum;
    for (int j = VF; j < n; j += VF)
        most = vf_max(most, vf_load(x + j));
    float part[VF], top;
    vf_store(part, most);
    top = part[0];
    for (int k = 1; k < VF; ++k)
        top = part[k] > top ? part[k] : top;
    for (int j = 0; j < n; j += VF) {
        vf v = vf_exp(vf_sub(vf_load(x + j), vf_set(top)));
        sum = vf_add(sum, v);
        if (w)
            weighted = vf_fma(v, vf_load(w + j), weighted);
        if (dx)
            vf_store(e + j, v);
    }
    const double total = vf_total(sum), mean = vf_total(weighted) / total;
    const vf scale = vf_set((float)(1 / total)), shift = vf_set((float)mean);
    for (int j = 0; dx && j < n; j += VF) {
        vf v = vf_mul(vf_load(e + j), scale);
        VEC(stream_ps)(dx + j, w ? vf_mul(v, vf_sub(vf_load(w + j), shift)) : v);
    }
    return w ? mean : log(total) + (double)top;
}

float best_ten_primal(const float *a, const float *b, const float *c, int64_t n)
{
    vf sum[4] = { vf_set(0), vf_set(0), vf_set(0), vf_set(0) };
    for (int64_t i = 0; i < n; i += 4 * VF)
        for (int k = 0; k < 4; ++k) {
            vf v = vf_load(a + i + k * VF), scale = vf_load(b + i + k * VF), shift = vf_load(c + i + k * VF);
            for (int s = 0; s < 5; ++s)
                v = vf_fma(v, scale, shift);
            sum[k] = vf_add(sum[k], v);
        }
    return (float)vf_total(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}

float best_ten_gradient(float *const d[3], const float *a, const float *b, const float *c, int64_t n)
{
    vf sum[2] = { vf_set(0), vf_set(0) };
    for (int64_t i = 0; i < n; i += 2 * VF)
        for (int k = 0; k < 2; ++k) {
            const int64_t at = i + k * VF;
            const vf scale = vf_load(b + at), shift = vf_load(c + at);
            vf v[6] = { vf_load(a + at) }, g = vf_set(1), db = vf_set(0), dc = vf_set(0);
#pragma GCC unroll 5
            for (int s = 0; s < 5; ++s)
                v[s + 1] = vf_fma(v[s], scale, shift);
#pragma GCC unroll 5
            for (int s = 4; s >= 0; --s) {
                dc = vf_add(dc, g);
                db = vf_fma(g, v[s], db);
                g = vf_mul(g, scale);
            }
            vf_store(d[0] + at, g);
            vf_store(d[1] + at, db);
            vf_store(d[2] + at, dc);
            sum[k] = vf_add(sum[k], v[5]);
        }
    return (float)vf_total(vf_add(sum[0], sum[1]));
}

/* ---- the derivative of a convolution with respect to its kernel ---- */
enum { KERNEL_ROWS = 16, KERNEL_WIDTH = 4096, KERNEL_STRIDE = KERNEL_WIDTH + 2 * VF };

/* Adds to the sums of one or two neighbouring rows of taps what a row of the image contributes. */
__attribute__((always_inline)) static inline void add_taps(vf acc[2][CONV_K], const float *in, const float *up,
                                                           const float *next, int64_t w)
{
    for (int64_t j = 0; j < w; j += VF) {
        const vf a = vf_load(up + j), b = next ? vf_load(next + j) : a;
#pragma GCC unroll 11
        for (int x = 0; x < CONV_K; ++x) {
            const vf v = vf_load(in + j + x);
            acc[0][x] = vf_fma(v, a, acc[0][x]);
            if (next)
                acc[1][x] = vf_fma(v, b, acc[1][x]);
        }
    }
}

/* Rows of the image, with a border of zeros, are packed. A pass over some rows has 22 sums in registers. */
void best_conv_kernel(double *sum, const float *img, const float *up, int64_t h, int64_t w, int64_t lo, int64_t hi)
{
    _Alignas(64) float in[(KERNEL_ROWS + CONV_K - 1) * KERNEL_STRIDE];
    _Alignas(64) static const float zeros[KERNEL_WIDTH];
    memset(in, 0, sizeof in);
    for (int k = 0; k < CONV_K * CONV_K; ++k)
        sum[k] = 0;
    for (int64_t i0 = lo; i0 < hi; i0 += KERNEL_ROWS) {
        const int64_t rows = hi - i0 < KERNEL_ROWS ? hi - i0 : KERNEL_ROWS;
        for (int64_t r = 0; r < rows + CONV_K - 1; ++r) {
            const int64_t i = i0 + r - CONV_HALO;
            float *to = in + r * KERNEL_STRIDE + CONV_HALO;
            if (i < 0 || i >= h)
                memset(to, 0, (size_t)w * sizeof *to);
            else
                memcpy(to, img + i * w, (size_t)w * sizeof *to);
        }
        for (int y = 0; y < CONV_K; y += 2) {
            vf acc[2][CONV_K];
            for (int k = 0; k < 2 * CONV_K; ++k)
                acc[k / CONV_K][k % CONV_K] = vf_set(0);
            for (int64_t r = 0; r <= rows; ++r) {
                const float *at = in + (y + r) * KERNEL_STRIDE;
                const float *one = r < rows ? up + (i0 + r) * w : zeros, *two = r ? up + (i0 + r - 1) * w : zeros;
                if (y + 1 < CONV_K)
                    add_taps(acc, at, one, two, w);
                else if (r < rows)
                    add_taps(acc, at, one, NULL, w);
            }
            for (int k = 0; k < 2 * CONV_K && y * CONV_K + k < CONV_K * CONV_K; ++k)
                sum[y * CONV_K + k] += vf_total(acc[k / CONV_K][k % CONV_K]);
        }
    }
}
/* Four vectors at once hide the latency of a turn. The tape of their turns fits into a first-level cache. */
static void logistic(float *dx, double sum[2], const float *x, float r, int64_t lo, int64_t hi)
{
    enum { AT_ONCE = 4 };
    const vf rate = vf_set(r), one = vf_set(1), two = vf_set(2);
    for (int64_t i = lo; i < hi; i += AT_ONCE * VF) {
        vf tape[LOGISTIC_TURNS][AT_ONCE], v[AT_ONCE], dv[AT_ONCE], dr = vf_set(0), total = vf_set(0);
        for (int k = 0; k < AT_ONCE; ++k)
            v[k] = vf_load(x + i + k * VF);
        for (int t = 0; t < LOGISTIC_TURNS; ++t)
            for (int k = 0; k < AT_ONCE; ++k) {
                if (dx)
                    tape[t][k] = v[k];
                v[k] = vf_mul(vf_mul(rate, v[k]), vf_sub(one, v[k]));
            }
        for (int k = 0; k < AT_ONCE; ++k) {
            total = vf_add(total, v[k]);
            dv[k] = one;
        }
        sum[0] += vf_total(total);
        if (!dx)
            continue;
        for (int t = LOGISTIC_TURNS - 1; t >= 0; --t)
            for (int k = 0; k < AT_ONCE; ++k) {
                const vf before = tape[t][k];
                dr = vf_fma(dv[k], vf_mul(before, vf_sub(one, before)), dr);
                dv[k] = vf_mul(dv[k], vf_mul(rate, vf_sub(one, vf_mul(two, before))));
            }
        for (int k = 0; k < AT_ONCE; ++k)
            vf_store(dx + i + k * VF, dv[k]);
        sum[1] += vf_total(dr);
    }
}

double best_logistic_primal(const float *x, float r, int64_t lo, int64_t hi)
{
    double sum[2] = { 0 };
    logistic(NULL, sum, x, r, lo, hi);
    return sum[0];
}

void best_logistic_gradient(float *dx, double sum[2], const float *x, float r, int64_t lo, int64_t hi)
{
    sum[0] = sum[1] = 0;
    logistic(dx, sum, x, r, lo, hi);
}

#else /* no vectors: never called, see bench_best_available */
double best_math_primal(const float *x, const float *t, float a, float b, int64_t lo, int64_t hi)
{
    (void)x, (void)t, (void)a, (void)b, (void)lo, (void)hi;
    return 0;
}
void best_math_gradient(float *dx, double sum[3], const float *x, const float *t, float a, float b, int64_t lo,
                        int64_t hi)
{
    (void)dx, (void)sum, (void)x, (void)t, (void)a, (void)b, (void)lo, (void)hi;
}
double best_table_primal(const float *table, const int32_t *index, int64_t lo, int64_t hi)
{
    (void)table, (void)index, (void)lo, (void)hi;
    return 0;
}
double best_table_gradient(float *copies, const float *table, int32_t size, const int32_t *index, int64_t lo,
                           int64_t hi)
{
    (void)copies, (void)table, (void)size, (void)index, (void)lo, (void)hi;
    return 0;
}
double best_softmax_row(float *dx, const float *x, const float *w, int n)
{
    (void)dx, (void)x, (void)w, (void)n;
    return 0;
}
float best_ten_primal(const float *a, const float *b, const float *c, int64_t n)
{
    (void)a, (void)b, (void)c, (void)n;
    return 0;
}
float best_ten_gradient(float *const d[3], const float *a, const float *b, const float *c, int64_t n)
{
    (void)d, (void)a, (void)b, (void)c, (void)n;
    return 0;
}
double best_logistic_primal(const float *x, float r, int64_t lo, int64_t hi)
{
    (void)x, (void)r, (void)lo, (void)hi;
    return 0;
}
void best_logistic_gradient(float *dx, double sum[2], const float *x, float r, int64_t lo, int64_t hi)
{
    (void)dx, (void)sum, (void)x, (void)r, (void)lo, (void)hi;
}
void best_conv_kernel(double *sum, const float *img, const float *up, int64_t h, int64_t w, int64_t lo, int64_t hi)
{
    (void)sum, (void)img, (void)up, (void)h, (void)w, (void)lo, (void)hi;
}
#endif
