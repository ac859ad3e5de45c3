/* specimen.h - the particle that weft sample images: a barrel of four rings of seven subunits (the symmetry of a 20S
 * proteasome, D7), about 115 x 115 x 150 Angstrom, as a sum of Gaussian blobs. */
#ifndef WEFT_CLI_SPECIMEN_H
#define WEFT_CLI_SPECIMEN_H
#include "../common/common.h"

typedef struct specimen {
    float (*blob)[3]; /* x, y, z in Angstrom */
    int n;
    double sigma;  /* of each blob, Angstrom */
    double weight; /* of each blob: its projected potential, V * Angstrom^3 */
} specimen;
enum { SPECIMEN_DIAMETER = 170 }; /* of the sphere that holds it, Angstrom */

void specimen_init(specimen *s, random_state *r);
void specimen_free(specimen *s);
/* Adds the projection along a random direction to image[h][w] (row stride in floats, `step` floats per pixel), centred
 * at (y, x) in pixels: V * Angstrom, the potential along the beam. */
void specimen_project(const specimen *s, random_state *r, float *image, int64_t h, int64_t w, int64_t row, int64_t step,
                      double y, double x, double pixel);
/* Adds the potential (V) to volume[n][n][n]. */
void specimen_fill(const specimen *s, float *volume, int64_t n, double pixel);
#endif
