/* plain_arrays.c - array functions as a scientist writes them, and with blocks (blocks_*). Compiled twice, as plain.c. */
#include "kernels.h"

#define NAME_(set, name) set##_##name
#define NAME(set, name) NAME_(set, name)
#define KERNEL(name) NAME(KERNELS, name)

void KERNEL(rows)(float *restrict out, const float *restrict x, const bench_rows_of *of, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i) {
        float *to = out + i * of->out_row;
        const float *from = x + i * of->row;
        if (of->step == 1)
            for (int64_t j = 0; j < of->width; ++j)
                to[j] = from[j] * 2 + 1;
        else if (of->step == -1)
            for (int64_t j = 0; j < of->width; ++j)
                to[j] = from[-j] * 2 + 1;
        else
            for (int64_t j = 0; j < of->width; ++j)
                to[j] = from[j * of->step] * 2 + 1;
    }
}

/* The same in blocks of 32 rows and 32 columns, for steps of whole rows. */
void KERNEL(blocks_rows)(float *restrict out, const float *restrict x, const bench_rows_of *of, int64_t lo, int64_t hi)
{
    enum { B = 32 };
    for (int64_t i0 = lo; i0 < hi; i0 += B)
        for (int64_t j0 = 0; j0 < of->width; j0 += B)
            for (int64_t i = i0; i < hi && i < i0 + B; ++i)
                for (int64_t j = j0; j < of->width && j < j0 + B; ++j)
                    out[i * of->out_row + j] = x[i * of->row + j * of->step] * 2 + 1;
}

void KERNEL(transpose)(float *restrict out, const float *restrict x, int64_t side, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < side; ++j)
            out[i * side + j] = x[j * side + i];
}

void KERNEL(blocks_transpose)(float *restrict out, const float *restrict x, int64_t side, int64_t lo, int64_t hi)
{
    enum { B = 32 };
    for (int64_t i0 = lo; i0 < hi; i0 += B)
        for (int64_t j0 = 0; j0 < side; j0 += B)
            for (int64_t i = i0; i < hi && i < i0 + B; ++i)
                for (int64_t j = j0; j < side && j < j0 + B; ++j)
                    out[i * side + j] = x[j * side + i];
}

int64_t KERNEL(argmax)(const float *x, int64_t lo, int64_t hi)
{
    int64_t at = lo;
    for (int64_t i = lo; i < hi; ++i)
        if (x[i] > x[at])
            at = i;
    return at;
}

/* Finds the maxima of blocks without a branch, then the index in the block of the greatest. */
int64_t KERNEL(blocks_argmax)(const float *x, int64_t lo, int64_t hi)
{
    enum { B = 4096 };
    int64_t block = lo;
    float most = x[lo];
    for (int64_t i0 = lo; i0 < hi; i0 += B) {
        float m = x[i0];
        for (int64_t i = i0; i < hi && i < i0 + B; ++i)
            m = x[i] > m ? x[i] : m;
        if (m > most) {
            most = m;
            block = i0;
        }
    }
    while (x[block] != most)
        ++block;
    return block;
}

/* Mean and sum of squared deviations, by Welford's recurrence. */
void KERNEL(moments)(double out[2], const float *x, int64_t lo, int64_t hi)
{
    double mean = 0, sum = 0;
    for (int64_t i = lo; i < hi; ++i) {
        double d = (double)x[i] - mean;
        mean += d / (double)(i - lo + 1);
        sum += d * ((double)x[i] - mean);
    }
    out[0] = mean;
    out[1] = sum;
}

/* The same from sums of deviations from the first value, and of their squares. */
void KERNEL(blocks_moments)(double out[2], const float *x, int64_t lo, int64_t hi)
{
    double first = (double)x[lo], sum = 0, squares = 0, n = (double)(hi - lo);
    for (int64_t i = lo; i < hi; ++i) {
        double d = (double)x[i] - first;
        sum += d;
        squares += d * d;
    }
    out[0] = first + sum / n;
    out[1] = squares - sum * sum / n;
}

/* Values in [-1, 1). */
void KERNEL(histogram)(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        ++count[(int)(((double)x[i] + 1) / 2 * HISTOGRAM_BINS)];
}

/* Four histograms at once, so that an addition does not wait for the previous one. */
void KERNEL(blocks_histogram)(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi)
{
    uint32_t mine[4][HISTOGRAM_BINS] = { { 0 } };
    int64_t i = lo;
    for (; i + 4 <= hi; i += 4)
        for (int k = 0; k < 4; ++k)
            ++mine[k][(int)(((double)x[i + k] + 1) / 2 * HISTOGRAM_BINS)];
    KERNEL(histogram)(count, x, i, hi);
    for (int b = 0; b < HISTOGRAM_BINS; ++b)
        count[b] += (int64_t)mine[0][b] + mine[1][b] + mine[2][b] + mine[3][b];
}

/* Bins as NumPy has them: the edges decide, and values outside are left out. Bins of a block of values come first, by
 * vectors in the fast set; then four histograms at once. */
void KERNEL(edges_histogram)(int64_t count[HISTOGRAM_BINS], const float *x, int64_t lo, int64_t hi)
{
    enum { BLOCK = 256 };
    const double from = -1, to = 1, step = (to - from) / HISTOGRAM_BINS, first = from + step / 4;
    uint32_t mine[4][HISTOGRAM_BINS + 1] = { { 0 } };
    for (int64_t i = lo; i < hi; i += BLOCK) {
        int32_t bin[BLOCK];
        const int n = hi - i < BLOCK ? (int)(hi - i) : BLOCK;
        for (int k = 0; k < n; ++k) {
            const double v = (double)x[i + k];
            int b = (int)((v - first) / step);
            b += v >= from + (b + 1) * step;
            b = b < HISTOGRAM_BINS ? b : HISTOGRAM_BINS - 1;
            bin[k] = ((v >= from) & (v <= to)) ? b : HISTOGRAM_BINS;
        }
        for (int k = n; k < BLOCK; ++k)
            bin[k] = HISTOGRAM_BINS;
        for (int k = 0; k < BLOCK; k += 4)
            for (int j = 0; j < 4; ++j)
                ++mine[j][bin[k + j]];
    }
    for (int b = 0; b < HISTOGRAM_BINS; ++b)
        count[b] += (int64_t)mine[0][b] + mine[1][b] + mine[2][b] + mine[3][b];
}

double KERNEL(scan)(float *restrict out, const float *restrict x, double sum, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i) {
        sum += (double)x[i];
        out[i] = (float)sum;
    }
    return sum;
}

static int64_t clamped(int64_t i, int64_t side) { return i < 0 ? 0 : i >= side ? side - 1 : i; }

void KERNEL(stencil27)(float *restrict out, const float *restrict x, int64_t side, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < side; ++j)
            for (int64_t k = 0; k < side; ++k) {
                float sum = 0;
                for (int64_t a = -1; a <= 1; ++a)
                    for (int64_t b = -1; b <= 1; ++b)
                        for (int64_t c = -1; c <= 1; ++c)
                            sum +=
                                x[(clamped(i + a, side) * side + clamped(j + b, side)) * side + clamped(k + c, side)];
                out[(i * side + j) * side + k] = sum;
            }
}

/* The sum around column k of 9 rows. */
static float sum_of_columns(const float *const row[9], int64_t side, int64_t k)
{
    float sum = 0;
    for (int r = 0; r < 9; ++r)
        for (int64_t c = -1; c <= 1; ++c)
            sum += row[r][clamped(k + c, side)];
    return sum;
}

void KERNEL(blocks_stencil27)(float *restrict out, const float *restrict x, int64_t side, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < side; ++j) {
            const float *row[9];
            float *restrict to = out + (i * side + j) * side;
            for (int r = 0; r < 9; ++r)
                row[r] = x + (clamped(i + r / 3 - 1, side) * side + clamped(j + r % 3 - 1, side)) * side;
            to[0] = sum_of_columns(row, side, 0);
            for (int64_t k = 1; k < side - 1; ++k) {
                float sum = 0;
                for (int r = 0; r < 9; ++r)
                    sum += row[r][k - 1] + row[r][k] + row[r][k + 1];
                to[k] = sum;
            }
            to[side - 1] = sum_of_columns(row, side, side - 1);
        }
}
