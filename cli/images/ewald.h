/* ewald.h - images of thick specimens: the two sides of the Ewald sphere, of which weft project makes images and into
 * which weft reconstruct divides them. */
#ifndef WEFT_CLI_EWALD_H
#define WEFT_CLI_EWALD_H
#include "images.h"
#include "weft/project.h"

/* Takes --ewald: 1 or -1. Returns an exit code. */
int take_ewald(const job *j, const char *text, double *side);
/* The wavelength of electrons of `voltage` kV, in pixels of `pixel` Angstrom. */
double wavelength_in_pixels(double voltage, double pixel);

/* What becomes of the spectra [n, ...] of images, to be inserted on both sides. */
typedef struct ewald_sides {
    wf_array *upper, *lower; /* at +z and -z */
    wf_array *weights;       /* of both */
} ewald_sides;
/* Multiplies half spectra by the conjugates of the factors that each side of the sphere is imaged with. members: f64,
 * [n, WF_CTF_MEMBERS]; diameter: of the particle in Angstrom. False: the context has the error; *out is empty. */
bool ewald_divide(const wf_array *spectra, const wf_spectrum *spectrum, const wf_array *members, double pixel,
                  double diameter, ewald_sides *out);
void ewald_free(ewald_sides *sides);

/* Images [n, h, w] of a volume [d, h, w] with pixels of `pixel` Angstrom, for rotations f64 [n, 3, 3]. NULL: the context
 * has the error. */
wf_array *ewald_project(wf_array *volume, wf_array *rotations, const double ctf[WF_CTF_MEMBERS], double pixel,
                        double side);
#endif
