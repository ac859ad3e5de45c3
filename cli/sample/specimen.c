/* specimen.c - places, projects and draws the blobs of the particle. A blob ends at 3.5 sigma. The projection of a Gaussian
 * is a Gaussian. */
#include "specimen.h"
#include <math.h>
#include <stdlib.h>

enum { RINGS = 4, FOLD = 7, PER_SUBUNIT = 64, REACH_MAX = 160 };
void specimen_init(specimen *s, random_state *r)
{
    static const struct {
        double radius, height;
    } ring[RINGS / 2] = { { 37, 20 }, { 40, 58 } }; /* the inner and the outer pair */
    s->n = RINGS * FOLD * PER_SUBUNIT;
    s->blob = allocate((size_t)s->n, sizeof *s->blob);
    s->sigma = 3.5;
    s->weight = 7e5 / s->n; /* the potential of protein is about 1.8 V above that of ice */
    for (int kind = 0, at = 0; kind < RINGS / 2; kind++)
        for (int b = 0; b < PER_SUBUNIT; b++) {
            double p[3], q;
            do { /* a point of the unit ball; the shear into `along` breaks the mirror symmetry of the subunit */
                q = 0;
                for (int d = 0; d < 3; d++) {
                    p[d] = 2 * random_uniform(r) - 1;
                    q += p[d] * p[d];
                }
            } while (q > 1);
            double radial = ring[kind].radius + 16 * p[0], along = 17 * p[1] + 5 * p[2],
                   height = ring[kind].height + 20 * p[2];
            for (int k = 0; k < FOLD; k++)
                for (int half = -1; half <= 1; half += 2, at++) { /* D7: seven-fold about z, two-fold about x */
                    double angle = 2 * PI * k / FOLD, c = cos(angle), sn = sin(angle);
                    double y = half * along, z = half * height;
                    s->blob[at][0] = (float)(radial * c - y * sn);
                    s->blob[at][1] = (float)(radial * sn + y * c);
                    s->blob[at][2] = (float)z;
                }
        }
}

void specimen_free(specimen *s)
{
    free(s->blob);
    s->blob = NULL;
}

/* A uniformly distributed rotation (Shoemake, 1992). */
static void random_rotation(random_state *r, double m[3][3])
{
    double u = random_uniform(r), v = 2 * PI * random_uniform(r), w = 2 * PI * random_uniform(r);
    double a = sqrt(1 - u) * sin(v), b = sqrt(1 - u) * cos(v), c = sqrt(u) * sin(w), d = sqrt(u) * cos(w);
    double rows[3][3] = { { 1 - 2 * (b * b + c * c), 2 * (a * b - c * d), 2 * (a * c + b * d) },
                          { 2 * (a * b + c * d), 1 - 2 * (a * a + c * c), 2 * (b * c - a * d) },
                          { 2 * (a * c - b * d), 2 * (b * c + a * d), 1 - 2 * (a * a + b * b) } };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[i][j] = rows[i][j];
}

/* Samples a Gaussian along one axis: value[k] is at pixel first + k. Returns the number of values. */
static int profile(double centre, double sigma, int64_t limit, int64_t *first, double *value)
{
    int64_t low = (int64_t)ceil(centre - 3.5 * sigma), high = (int64_t)floor(centre + 3.5 * sigma);
    if (low < 0)
        low = 0;
    if (high >= limit)
        high = limit - 1;
    if (high - low >= REACH_MAX)
        high = low + REACH_MAX - 1;
    for (int64_t k = low; k <= high; k++) {
        double d = ((double)k - centre) / sigma;
        value[k - low] = exp(-0.5 * d * d) / (sigma * sqrt(2 * PI));
    }
    *first = low;
    return high >= low ? (int)(high - low + 1) : 0;
}

void specimen_project(const specimen *s, random_state *r, float *image, int64_t h, int64_t w, int64_t row, int64_t step,
                      double y, double x, double pixel)
{
    double m[3][3], across[REACH_MAX], down[REACH_MAX], weight = s->weight / (pixel * pixel), sigma = s->sigma / pixel;
    random_rotation(r, m);
    for (int b = 0; b < s->n; b++) {
        const float *p = s->blob[b];
        double px = m[0][0] * p[0] + m[0][1] * p[1] + m[0][2] * p[2],
               py = m[1][0] * p[0] + m[1][1] * p[1] + m[1][2] * p[2];
        int64_t left, top;
        int nx = profile(x + px / pixel, sigma, w, &left, across), ny = profile(y + py / pixel, sigma, h, &top, down);
        for (int i = 0; i < ny; i++)
            for (int j = 0; j < nx; j++)
                image[(top + i) * row + (left + j) * step] += (float)(weight * down[i] * across[j]);
    }
}

void specimen_fill(const specimen *s, float *volume, int64_t n, double pixel)
{
    double v[3][REACH_MAX], sigma = s->sigma / pixel, weight = s->weight / (pixel * pixel * pixel);
    for (int b = 0; b < s->n; b++) {
        int64_t first[3];
        int count[3];
        for (int d = 0; d < 3; d++)
            count[d] = profile((double)n / 2 + s->blob[b][d] / pixel, sigma, n, &first[d], v[d]);
        for (int k = 0; k < count[2]; k++)
            for (int j = 0; j < count[1]; j++)
                for (int i = 0; i < count[0]; i++)
                    volume[((first[2] + k) * n + first[1] + j) * n + first[0] + i] +=
                        (float)(weight * v[2][k] * v[1][j] * v[0][i]);
    }
}
