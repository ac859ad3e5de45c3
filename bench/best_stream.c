/* best_stream.c - memory-bound workloads, best effort: whole vectors, streaming stores, eight accumulators. The plain
 * functions compute the tail of a range. */
#include "kernels.h"
#include "vec.h"

#if BENCH_VEC
bool bench_best_available(void) { return true; }
const char *bench_best_isa(void) { return BENCH_VEC == 512 ? "avx512" : "avx2"; }

void best_triad(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi)
{
    int64_t i = lo;
    for (; i + 4 * VF <= hi; i += 4 * VF)
        for (int k = 0; k < 4 * VF; k += VF)
            vf_store(out + i + k, vf_fma(vf_load(a + i + k), vf_load(b + i + k), vf_load(c + i + k)));
    plain_triad(out, a, b, c, i, hi);
}

void best_triad_stream(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi)
{
    int64_t i = lo;
    for (; i + 4 * VF <= hi; i += 4 * VF)
        for (int k = 0; k < 4 * VF; k += VF)
            VEC(stream_ps)(out + i + k, vf_fma(vf_load(a + i + k), vf_load(b + i + k), vf_load(c + i + k)));
    _mm_sfence();
    plain_triad(out, a, b, c, i, hi);
}

double best_sum(const float *x, int64_t lo, int64_t hi)
{
    vd s[8];
    for (int k = 0; k < 8; ++k)
        s[k] = VEC(setzero_pd)();
    int64_t i = lo;
    for (; i + 4 * VF <= hi; i += 4 * VF)
        for (int k = 0; k < 4; ++k) {
            vf v = vf_load(x + i + k * VF);
            s[2 * k] = vd_add(s[2 * k], vd_low(v));
            s[2 * k + 1] = vd_add(s[2 * k + 1], vd_high(v));
        }
    for (int k = 1; k < 8; ++k)
        s[0] = vd_add(s[0], s[k]);
    return vd_total(s[0]) + plain_sum(x, i, hi);
}

double best_sqdiff(const float *a, const float *b, int64_t lo, int64_t hi)
{
    vd s[8];
    for (int k = 0; k < 8; ++k)
        s[k] = VEC(setzero_pd)();
    int64_t i = lo;
    for (; i + 4 * VF <= hi; i += 4 * VF)
        for (int k = 0; k < 4; ++k) {
            vf d = vf_sub(vf_load(a + i + k * VF), vf_load(b + i + k * VF));
            d = vf_mul(d, d);
            s[2 * k] = vd_add(s[2 * k], vd_low(d));
            s[2 * k + 1] = vd_add(s[2 * k + 1], vd_high(d));
        }
    for (int k = 1; k < 8; ++k)
        s[0] = vd_add(s[0], s[k]);
    return vd_total(s[0]) + plain_sqdiff(a, b, i, hi);
}

static void add_row(double *acc, const float *x, int64_t n)
{
    int64_t i = 0;
    for (; i + VF <= n; i += VF) {
        vf v = vf_load(x + i);
        VEC(storeu_pd)(acc + i, vd_add(VEC(loadu_pd)(acc + i), vd_low(v)));
        VEC(storeu_pd)(acc + i + VF / 2, vd_add(VEC(loadu_pd)(acc + i + VF / 2), vd_high(v)));
    }
    for (; i < n; ++i)
        acc[i] += (double)x[i];
}

/* The loops over kept axes are outermost, so that one row of sums stays in the cache, one sum in a register. */
void best_axes(float *out, double *acc, const float *x, const bench_nest *nest, int64_t lo, int64_t hi)
{
    const int64_t *n = nest->dim, *xs = nest->x, *os = nest->out;
    int64_t j_kept = nest->kept > 1 ? n[1] : 1, k_kept = nest->kept > 2 ? n[2] : 1;
    int64_t j_n = nest->kept > 1 ? 1 : n[1], k_n = nest->kept > 2 ? 1 : n[2];
    for (int64_t i = lo; i < hi; ++i)
        for (int64_t a = 0; a < j_kept; ++a)
            for (int64_t b = 0; b < k_kept; ++b) {
                double sum = 0;
                for (int64_t l = 0; os[3] && l < n[3]; ++l)
                    acc[l] = 0;
                for (int64_t j = a; j < a + j_n; ++j)
                    for (int64_t k = b; k < b + k_n; ++k) {
                        const float *row = x + i * xs[0] + j * xs[1] + k * xs[2];
                        if (os[3])
                            add_row(acc, row, n[3]);
                        else
                            sum += best_sum(row, 0, n[3]);
                    }
                float *to = out + i * os[0] + a * os[1] + b * os[2];
                for (int64_t l = 0; os[3] && l < n[3]; ++l)
                    to[l * os[3]] = (float)acc[l];
                if (!os[3])
                    *to = (float)sum;
            }
}

void best_ten(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi)
{
    int64_t i = lo;
    for (; i + 4 * VF <= hi; i += 4 * VF) {
        vf v[4];
        for (int k = 0; k < 4; ++k)
            v[k] = vf_load(a + i + k * VF);
        for (int s = 0; s < 5; ++s)
            for (int k = 0; k < 4; ++k)
                v[k] = vf_fma(v[k], vf_load(b + i + k * VF), vf_load(c + i + k * VF));
        for (int k = 0; k < 4; ++k)
            vf_store(out + i + k * VF, v[k]);
    }
    plain_ten(out, a, b, c, i, hi);
}
#else /* no vectors: never called, see bench_best_available */
bool bench_best_available(void) { return false; }
const char *bench_best_isa(void) { return "none"; }
void best_triad(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi)
{
    fast_triad(out, a, b, c, lo, hi);
}
void best_triad_stream(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi)
{
    fast_triad(out, a, b, c, lo, hi);
}
double best_sum(const float *x, int64_t lo, int64_t hi) { return fast_sum(x, lo, hi); }
double best_sqdiff(const float *a, const float *b, int64_t lo, int64_t hi) { return fast_sqdiff(a, b, lo, hi); }
void best_axes(float *out, double *acc, const float *x, const bench_nest *nest, int64_t lo, int64_t hi)
{
    fast_axes(out, acc, x, nest, lo, hi);
}
void best_ten(float *out, const float *a, const float *b, const float *c, int64_t lo, int64_t hi)
{
    fast_ten(out, a, b, c, lo, hi);
}
void best_math(float *out, const float *x, float a, float b, int64_t lo, int64_t hi)
{
    fast_math(out, x, a, b, lo, hi);
}
void best_math_ieee(float *out, const float *x, float a, float b, int64_t lo, int64_t hi)
{
    plain_math(out, x, a, b, lo, hi);
}
void best_conv(float *out, const float *img, const float *ker, int64_t h, int64_t w, int64_t lo, int64_t hi)
{
    fast_conv(out, img, ker, h, w, lo, hi);
}
#endif
