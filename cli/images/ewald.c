/* ewald.c - what the curvature of the Ewald sphere does to images, and how it is undone.
 *
 * The spectrum of an image is I(g) = P(g) V(g, z) / 2 + conj(P(g)) V(g, -z) / 2, with P = wf_ctf_sideband and
 * z = wf_ewald_height, about lambda g^2 / 2: two slices of the volume that are caps. Its transpose adds conj(P) I / 2 to
 * the cap at +z and P I / 2 to that at -z. At +z this is |P|^2 V(g, z) / 4 + conj(P)^2 V(g, -z) / 4. For a particle like
 * a ball of diameter D, V(g, -z) is c V(g, z) plus something unrelated, c being the transform of the ball at the distance
 * of both, 2 z. So the weight is (|P|^2 + c Re(P^2)) / 4: where the caps meet, c is 1 and both sides together have the
 * weight CTF^2, as flat slices have; where they are far from each other, |P|^2 / 4 for each.
 * Source: DeRosier, Ultramicroscopy 81 (2000) 83; Russo and Henderson, Ultramicroscopy 187 (2018) 26.
 */
#include "ewald.h"
#include "weft/text.h"
#include <string.h>

int take_ewald(const job *j, const char *text, double *side)
{
    if (strcmp(text, "1") != 0 && strcmp(text, "-1") != 0)
        return misused(j->a.command, "--ewald %s: give 1 or -1", text);
    *side = *text == '-' ? -1 : 1;
    return EXIT_OK;
}

double wavelength_in_pixels(double voltage, double pixel)
{
    double angstrom = 0;
    wf_val_number(wf_electron_wavelength(WF_V(voltage)), &angstrom, NULL);
    return angstrom / pixel;
}

/* The frequency of the current point of a space of images, in 1/Angstrom. */
static void frequency_of(wf_graph *g, const wf_spectrum *spectrum, double pixel, wf_val k[2])
{
    for (int d = 0; d < 2; d++)
        k[d] = wf_div(wf_freq(g, spectrum, d, wf_index(g, d + 1)), pixel);
}

static wf_val sideband_of(const wf_val member[WF_CTF_MEMBERS], const wf_val k[2])
{
    wf_ctf ctf = { .voltage = member[CTF_VOLTAGE],
                   .cs = member[CTF_CS],
                   .amplitude = member[CTF_AMPLITUDE],
                   .defocus = member[CTF_DEFOCUS],
                   .astigmatism = member[CTF_ASTIGMATISM],
                   .angle = member[CTF_ANGLE],
                   .phase_shift = member[CTF_PHASE_SHIFT],
                   .bfactor = member[CTF_BFACTOR],
                   .scale = member[CTF_SCALE] };
    return wf_ctf_sideband(&ctf, k[0], k[1]);
}

/* The transform of a ball at a distance of x radii over 2 pi, 1 at 0: 3 (sin x - x cos x) / x^3. */
static wf_val of_ball(wf_val x)
{
    wf_val xx = wf_mul(x, x), safe = wf_max(x, 0.02);
    wf_val far = wf_div(wf_mul(wf_sub(wf_sin(safe), wf_mul(safe, wf_cos(safe))), 3), wf_mul(safe, wf_mul(safe, safe)));
    return wf_select(wf_lt(x, 0.02), wf_sub(1, wf_div(xx, 10)), far);
}

void ewald_free(ewald_sides *sides)
{
    wf_release(sides->upper);
    wf_release(sides->lower);
    wf_release(sides->weights);
    *sides = (ewald_sides){ NULL, NULL, NULL };
}

bool ewald_divide(const wf_array *spectra, const wf_spectrum *spectrum, const wf_array *members, double pixel,
                  double diameter, ewald_sides *out)
{
    wf_context *ctx = wf_array_context(spectra);
    wf_shape shape = wf_array_shape(spectra);
    *out = (ewald_sides){ wf_empty(ctx, WF_C64, shape), wf_empty(ctx, WF_C64, shape), wf_empty(ctx, WF_F32, shape) };
    wf_graph *g = wf_begin(ctx, .shape = shape);
    wf_val k[2], member[WF_CTF_MEMBERS], i = wf_index(g, 0);
    frequency_of(g, spectrum, pixel, k);
    for (int m = 0; m < WF_CTF_MEMBERS; m++)
        member[m] = wf_read(g, members, i, wf_const_i64(g, WF_I64, m));
    wf_val p = sideband_of(member, k), f = wf_mul(wf_in(g, spectra), 0.5);
    wf_val apart = wf_mul(wf_ewald_height(member[CTF_VOLTAGE], k[0], k[1]), 2 * PI * diameter);
    wf_val c = wf_cast(of_ball(apart), WF_F32), re = wf_real(p), im = wf_imag(p);
    re = wf_mul(re, re);
    im = wf_mul(im, im);
    wf_out(g, out->upper, wf_mul(f, wf_conj(p)));
    wf_out(g, out->lower, wf_mul(f, p));
    wf_out(g, out->weights, wf_mul(wf_add(wf_add(re, im), wf_mul(c, wf_sub(re, im))), 0.25));
    if (wf_run(g) == WF_OK)
        return true;
    ewald_free(out);
    return false;
}

/* The half spectrum of the volume, padded to twice its extents and corrected for the interpolation, its centre at
 * element 0. */
static wf_array *volume_spectrum(wf_array *volume, const wf_slices *slices)
{
    wf_context *ctx = wf_array_context(volume);
    wf_shape s = wf_array_shape(volume);
    const int64_t *size = slices->volume.size;
    wf_array *corrected = wf_empty(ctx, WF_F32, s), *padded = NULL, *spectrum = NULL;
    if (corrected && wf_correct_gridding(corrected, volume, &slices->volume, slices->how.interpolation) == WF_OK)
        padded = wf_empty(ctx, WF_F32, WF_SHAPE(size[0], size[1], size[2]));
    const char *text = "dz = (z + d) % nz - d; dy = (y + h) % ny - h; dx = (x + w) % nx - w\n"
                       "padded = volume[dz + idiv(d, 2), dy + idiv(h, 2), dx + idiv(w, 2)]";
    wf_arg args[] = { WF_ARG("volume", corrected), WF_ARG("padded", padded), WF_ARG("d", (double)s.dim[0]),
                      WF_ARG("h", (double)s.dim[1]), WF_ARG("w", (double)s.dim[2]) };
    if (padded && wf_text_n(ctx, text, (wf_args){ args, 5 }) == WF_OK)
        spectrum = wf_fft_r2c(padded, WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_release(corrected);
    wf_release(padded);
    return spectrum;
}

/* Joins two caps [n, ...] to spectra of images, in `upper`. */
static bool join(wf_array *upper, const wf_array *lower, const wf_spectrum *spectrum, const double *ctf, double pixel)
{
    wf_graph *g = wf_begin(wf_array_context(upper), .shape = wf_array_shape(upper));
    wf_val k[2], member[WF_CTF_MEMBERS];
    frequency_of(g, spectrum, pixel, k);
    for (int m = 0; m < WF_CTF_MEMBERS; m++)
        member[m] = wf_const(g, WF_F64, ctf[m]);
    wf_val p = wf_mul(sideband_of(member, k), 0.5);
    wf_out(g, upper, wf_add(wf_mul(wf_in(g, upper), p), wf_mul(wf_in(g, lower), wf_conj(p))));
    return wf_run(g) == WF_OK;
}

/* Sets `out` [n, h, w] to the images of n views. */
static bool project_some(const wf_array *spectrum, wf_slices *slices, const wf_array *rotations, const double *ctf,
                         double pixel, wf_array *out)
{
    const double wavelength = slices->wavelength;
    wf_shape s = wf_array_shape(out);
    wf_array *upper = wf_extract_slices(spectrum, slices, rotations, NULL), *images = NULL;
    slices->wavelength = -wavelength;
    wf_array *lower = !upper            ? NULL
                      : wavelength != 0 ? wf_extract_slices(spectrum, slices, rotations, NULL)
                                        : wf_retain(upper); /* planes */
    slices->wavelength = wavelength;
    if (lower && join(upper, lower, &slices->image, ctf, pixel))
        images = wf_fft_c2r(upper, slices->image.size[1], WF_AXES(1, 2), WF_FFT_BACKWARD);
    wf_arg args[] = { WF_ARG("out", out), WF_ARG("images", images), WF_ARG("cy", (double)(s.dim[1] / 2)),
                      WF_ARG("cx", (double)(s.dim[2] / 2)) };
    bool ok = images && wf_text_n(wf_array_context(out), "out = images[z, y - cy, x - cx; periodic]",
                                  (wf_args){ args, 4 }) == WF_OK;
    wf_release(upper);
    wf_release(lower);
    wf_release(images);
    return ok;
}

wf_array *ewald_project(wf_array *volume, wf_array *rotations, const double ctf[WF_CTF_MEMBERS], double pixel,
                        double side)
{
    enum { AT_A_TIME = 64 }; /* padded spectra are large */
    wf_shape s = wf_array_shape(volume);
    int64_t n = wf_array_shape(rotations).dim[0];
    wf_slices slices = { .volume = { WF_LAYOUT_H, WF_F32, 3, { 2 * s.dim[0], 2 * s.dim[1], 2 * s.dim[2] } },
                         .image = { WF_LAYOUT_H, WF_F32, 2, { 2 * s.dim[1], 2 * s.dim[2] } },
                         .how = { .interpolation = WF_INTERPOLATE_KAISER4 },
                         .cutoff = 1, /* corners, too */
                         .wavelength = side * wavelength_in_pixels(ctf[CTF_VOLTAGE], pixel) };
    wf_array *spectrum = volume_spectrum(volume, &slices);
    wf_array *out = spectrum ? wf_empty(wf_array_context(volume), WF_F32, WF_SHAPE(n, s.dim[1], s.dim[2])) : NULL;
    bool ok = out != NULL;
    for (int64_t i = 0; i < n && ok; i += AT_A_TIME) {
        int64_t end = i + AT_A_TIME < n ? i + AT_A_TIME : n;
        wf_array *turns = wf_view_slice(rotations, 0, i, end, 1), *part = wf_view_slice(out, 0, i, end, 1);
        ok = turns && part && project_some(spectrum, &slices, turns, ctf, pixel, part);
        wf_release(turns);
        wf_release(part);
        progress_part((double)end / (double)n);
    }
    wf_release(spectrum);
    if (ok)
        return out;
    wf_release(out);
    return NULL;
}
