/* specimen.h - the particle of weft sample: a barrel of four rings of seven subunits, about 115 x 115 x 150 Angstrom, as a
 * sum of Gaussian blobs. Its symmetry is D7, that of a 20S proteasome. */
#ifndef WEFT_CLI_SPECIMEN_H
#define WEFT_CLI_SPECIMEN_H
#include "../common/common.h"

typedef struct specimen {
    float (*blob)[3]; /* centres: x, y, z in Angstrom */
    int n;
    double sigma;  /* of each blob, in Angstrom */
    double weight; /* integral of the potential of each blob, in V * Angstrom^3 */
} specimen;
enum { SPECIMEN_DIAMETER = 170 }; /* of a sphere around the particle, in Angstrom */

void specimen_init(specimen *s, random_state *r);
void specimen_free(specimen *s);
/* Adds the projected potential along a random direction, in V * Angstrom, to image[h][w], centred at pixel (y, x). A pixel
 * takes `step` floats, a row `row` floats. */
void specimen_project(const specimen *s, random_state *r, float *image, int64_t h, int64_t w, int64_t row, int64_t step,
                      double y, double x, double pixel);
/* Adds the potential, in V, to volume[n][n][n]. */
void specimen_fill(const specimen *s, float *volume, int64_t n, double pixel);
#endif
