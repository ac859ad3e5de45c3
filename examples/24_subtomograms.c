/* A subtomogram average: copies of a particle stand in a noisy volume in unknown orientations. Each is cut out,
 * compared with the particle in many orientations, turned back, and averaged with the others. */
#include <math.h>
#include <stdio.h>
#include <weft/fft.h>
#include <weft/functions.h>
#include <weft/text.h>
#include <weft/xform.h>

enum { BOX = 32, VOXELS = BOX * BOX * BOX, SIDE = 4, PARTICLES = 2 * SIDE * SIDE, CANDIDATES = 1000 };

/* Matrices [n, 3, 4] that rotate n volumes about their middle, for wf_transform. angles: f64 [n, 3], rot, tilt and psi
 * in radians. `back`: the rotations of particles into the orientation of the reference. */
static wf_array *rotations(wf_array *angles, bool back)
{
    wf_context *ctx = wf_array_context(angles);
    int64_t n = wf_array_shape(angles).dim[0];
    wf_array *inverse = wf_empty(ctx, WF_F64, WF_SHAPE(n, 3, 4));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n)); /* an index space: one point for each volume */
    wf_val i = wf_index(g, 0), m[9];
    wf_euler_matrix(g, WF_EULER_ZYZ, wf_read(g, angles, i, 0), wf_read(g, angles, i, 1), wf_read(g, angles, i, 2), m);
    for (int row = 0; row < 3; row++) { /* positions of the result to those of the source: the inverse of m, or m */
        wf_val offset = wf_const(g, WF_F64, BOX / 2);
        for (int column = 0; column < 3; column++) {
            wf_val element = back ? m[3 * row + column] : m[3 * column + row];
            wf_write(g, inverse, element, i, row, column);
            offset = wf_sub(offset, wf_mul(element, BOX / 2));
        }
        wf_write(g, inverse, offset, i, row, 3);
    }
    wf_run(g);
    return inverse;
}

/* n orientations, evenly spread: directions along a spiral, and angles in the plane by the golden ratio. */
static wf_array *spread(wf_context *ctx, int n)
{
    wf_array *angles = wf_empty(ctx, WF_F64, WF_SHAPE(n, 3));
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(n));
    wf_val i = wf_index(g, 0), k = wf_cast(i, WF_F64);
    wf_write(g, angles, wf_mul(k, 2.39996322972865), i, 0);
    wf_write(g, angles, wf_acos(wf_sub(1, wf_div(wf_add(wf_mul(k, 2), 1), (double)n))), i, 1);
    wf_write(g, angles, wf_mul(wf_mod(wf_mul(k, 0.618033988749895), 1), 6.28318530717959), i, 2);
    wf_run(g);
    return angles;
}

/* Volumes as rows of mean 0 and deviation 1, [n, VOXELS]. */
static wf_array *as_rows(wf_array *volumes)
{
    wf_array *rows = wf_view_reshape(volumes, WF_SHAPE(-1, VOXELS));
    wf_array *normal = wf_array_normalize(rows, WF_NORMALIZE_MEAN_STD, WF_AXES(1));
    wf_release(rows);
    return normal;
}

/* The angles of the candidate that each particle correlates with best, f64 [n, 3]. */
static wf_array *find_angles(wf_array *particles, wf_array *reference, wf_array *angles)
{
    const wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR };
    wf_array *inverse = rotations(angles, false);
    wf_array *candidates = wf_transform(reference, WF_SCALAR, inverse, &linear); /* [CANDIDATES, BOX, BOX, BOX] */
    wf_array *a = as_rows(particles), *b = as_rows(candidates), *across = wf_view_permute(b, (int[]){ 1, 0 });
    wf_array *scores = wf_array_matmul(a, across); /* [n, CANDIDATES] */
    wf_array *best = wf_array_argmax(scores, WF_AXES(1));
    wf_array *found = wf_empty(wf_array_context(angles), WF_F64, WF_SHAPE(wf_array_shape(particles).dim[0], 3));
    wf_text(wf_array_context(angles), "found = angles[best[y, 0], x]", found, angles, best);
    wf_array *all[] = { inverse, candidates, a, b, across, scores, best };
    for (int i = 0; i < 7; i++)
        wf_release(all[i]);
    return found;
}

int main(void)
{
    wf_context *ctx = wf_context_new(NULL);
    const wf_interp linear = { .interpolation = WF_INTERPOLATE_LINEAR };

    /* the simulated data: copies of the particle in random orientations, and noise */
    wf_array *reference = wf_empty(ctx, WF_F32, WF_SHAPE(BOX, BOX, BOX));
    wf_text(
        ctx,
        "reference = exp(-((z-10)**2 + (y-16)**2 + (x-16)**2) / 14.0) + exp(-((z-18)**2 + (y-22)**2 + (x-15)**2) / 9.)\n"
        " + 0.8*exp(-((z-20)**2 + (y-12)**2 + (x-21)**2) / 12.0) + 0.7*exp(-((z-16)**2 + (y-14)**2 + (x-9)**2) / 7.0)",
        reference);
    wf_array *truth = wf_empty(ctx, WF_F64, WF_SHAPE(PARTICLES, 3)),
             *tomogram = wf_empty(ctx, WF_F32, WF_SHAPE(2 * BOX, SIDE * BOX, SIDE * BOX)), *noise = wf_like(tomogram);
    wf_array_random_uniform(truth, (wf_random){ .seed = 7 }, 0, 3.14159);
    wf_array *turn = rotations(truth, false), *copies = wf_transform(reference, WF_SCALAR, turn, &linear);
    int64_t at[PARTICLES][3];
    for (int i = 0; i < PARTICLES; i++)
        for (int d = 0, rest = i; d < 3; d++, rest /= SIDE)
            at[i][2 - d] = d == 2 ? BOX * rest : BOX * (rest % SIDE);
    wf_array *places = wf_empty(ctx, WF_I64, WF_SHAPE(PARTICLES, 3));
    wf_upload(places, at, sizeof at);
    wf_array_insert_regions(tomogram, copies, places);
    wf_array_random_normal(noise, (wf_random){ .seed = 8 }, 0, 0.4);
    wf_text(ctx, "tomogram += noise", tomogram, noise);

    /* the average */
    wf_array *particles = wf_array_extract_regions(tomogram, WF_SHAPE(BOX, BOX, BOX), places, WF_BORDER_CLAMP, 0);
    wf_array *angles = spread(ctx, CANDIDATES), *found = find_angles(particles, reference, angles);
    wf_array *back = rotations(found, true), *turned = wf_transform(particles, WF_SCALAR, back, &linear);
    wf_array *average = wf_array_mean(turned, WF_AXES(0) | WF_DROP_AXES);

    /* how well it agrees with the particle: the Fourier shell correlation */
    const wf_spectrum half = { WF_LAYOUT_H, WF_F32, 3, { BOX, BOX, BOX } };
    wf_array *a = wf_fft_r2c(average, WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_array *b = wf_fft_r2c(reference, WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_array *one = wf_view_at(particles, 0, 0), *c = wf_fft_r2c(one, WF_ALL_AXES, WF_FFT_BACKWARD);
    wf_array *curve = wf_fsc(a, b, &half), *before = wf_fsc(c, b, &half);
    double fsc[BOX / 2 + 1] = { 0 }, first[BOX / 2 + 1] = { 0 };
    wf_download(curve, fsc, sizeof fsc);
    wf_download(before, first, sizeof first);

    wf_status status = wf_last_status(ctx); /* the only check: the first mistake is kept */
    if (status != WF_OK)
        fprintf(stderr, "%s\n", wf_last_message(ctx));
    printf("shell   one particle   average of %d\n", PARTICLES);
    for (int k = 1; k <= 6; k++)
        printf("%5d   %12.2f   %13.2f\n", k, first[k], fsc[k]);
    wf_array *all[] = { reference, truth,  tomogram, noise, turn, copies, places, particles, angles, found,
                        back,      turned, average,  a,     b,    one,    c,      curve,     before };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        wf_release(all[i]);
    wf_context_free(ctx);
    return status != WF_OK || !(fsc[2] > 0.9 && fsc[4] > 0.8);
}
