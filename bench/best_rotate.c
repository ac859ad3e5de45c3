/* best_rotate.c - a rotation with linear interpolation and its derivatives, compiled with -ffast-math. No access depends on
 * a condition, so that loops become vectors.
 */
#include "kernels.h"
#include <math.h>

typedef struct corner { /* a pixel and its neighbours, and where between them a point is */
    float y, x, v[2][2];
} corner;

/* The pixel at [i, j]; 0 outside. */
static inline float pixel(const float *img, int side, int i, int j)
{
    const bool in = (unsigned)i < (unsigned)side && (unsigned)j < (unsigned)side;
    const float v = img[in ? i * side + j : 0];
    return in ? v : 0;
}

static inline corner look_up(const float *img, int side, float y, float x)
{
    const float top = floorf(y), left = floorf(x);
    const int i = (int)top, j = (int)left;
    return (corner){ y - top,
                     x - left,
                     { { pixel(img, side, i, j), pixel(img, side, i, j + 1) },
                       { pixel(img, side, i + 1, j), pixel(img, side, i + 1, j + 1) } } };
}

void best_rotate(float *res, const float *img, const float *target, int side, float angle, int64_t lo, int64_t hi)
{
    const float c = cosf(angle), s = sinf(angle), middle = 0.5f * (float)(side - 1);
    for (int64_t i = lo; i < hi; ++i)
#pragma GCC ivdep
        for (int j = 0; j < side; ++j) {
            const float v = (float)i - middle, u = (float)j - middle;
            const corner at = look_up(img, side, c * v - s * u + middle, s * v + c * u + middle);
            const float a = at.v[0][0] + at.x * (at.v[0][1] - at.v[0][0]),
                        b = at.v[1][0] + at.x * (at.v[1][1] - at.v[1][0]);
            res[i * side + j] = a + at.y * (b - a) - target[i * side + j];
        }
}

/* As best_rotate. Returns the derivative of the sum of res^2 / 2 with respect to the angle. */
double best_rotate_angle(float *res, const float *img, const float *target, int side, float angle, int64_t lo,
                         int64_t hi)
{
    const float c = cosf(angle), s = sinf(angle), middle = 0.5f * (float)(side - 1);
    double sum = 0;
    for (int64_t i = lo; i < hi; ++i) {
        float *to = res + i * side;
        _Alignas(64) float slope[4096];
#pragma GCC ivdep
        for (int j = 0; j < side; ++j) {
            const float v = (float)i - middle, u = (float)j - middle, y = c * v - s * u, x = s * v + c * u;
            const corner at = look_up(img, side, y + middle, x + middle);
            const float a = at.v[0][0] + at.x * (at.v[0][1] - at.v[0][0]),
                        b = at.v[1][0] + at.x * (at.v[1][1] - at.v[1][0]);
            const float left = at.v[1][0] - at.v[0][0], right = at.v[1][1] - at.v[0][1];
            const float dx = at.v[0][1] - at.v[0][0] + at.y * (right - left);
            to[j] = a + at.y * (b - a) - target[i * side + j];
            slope[j] = to[j] * (dx * y - (b - a) * x);
        }
        for (int j = 0; j < side; ++j)
            sum += (double)slope[j];
    }
    return sum;
}

/* Each pixel adds up what the 3 x 3 points around its own place in the result take from it. */
void best_rotate_image(float *dimg, const float *res, int side, float angle, int64_t lo, int64_t hi)
{
    const float c = cosf(angle), s = sinf(angle), middle = 0.5f * (float)(side - 1);
    for (int64_t i = lo; i < hi; ++i)
#pragma GCC ivdep
        for (int j = 0; j < side; ++j) {
            const float y = (float)i - middle, x = (float)j - middle;
            const int v = (int)rintf(c * y + s * x + middle), u = (int)rintf(c * x - s * y + middle);
            float sum = 0;
#pragma GCC unroll 9
            for (int k = 0; k < 9; ++k) {
                const int p = v + k / 3 - 1, q = u + k % 3 - 1;
                const float pv = (float)p - middle, qu = (float)q - middle;
                const float dy = 1 - fabsf(c * pv - s * qu - y), dx = 1 - fabsf(s * pv + c * qu - x);
                const float w = (dy > 0 ? dy : 0) * (dx > 0 ? dx : 0);
                sum += pixel(res, side, p, q) * w;
            }
            dimg[i * side + j] = sum;
        }
}
