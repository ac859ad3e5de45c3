/* bin.c - weft bin: fewer or more pixels, by means of blocks or by cropping the Fourier transform. */
#include "images.h"
#include <math.h>

const char help_bin[] =
    "  weft bin movie.mrcs --by 2 -o half.mrcs          means of 2 x 2 pixels\n"
    "  weft bin vol.map --by 2 --fourier -o half.map    the same size, without aliasing\n"
    "  weft bin micrograph.mrc --to 4.2 -o coarse.mrc   about 4.2 Angstrom a pixel, by Fourier cropping\n"
    "  weft bin micrograph.mrc --to 0.7 -o fine.mrc     smaller pixels: band-limited interpolation\n\n"
    "The pixel size of the result is that of the file times the ratio of the extents. Rests of blocks are dropped.\n"
    "The origin is the place of the first pixel: of means, the centre of the first block.\n\n"
    "  --by K                 blocks of K pixels along each axis of an image or volume\n"
    "  --fourier              with --by: crops the Fourier transform to even extents\n"
    "  --to A                 crops or pads the Fourier transform, to the even extents that come closest to A\n" IMAGE_HELP;

enum { BY = IMAGE_OWN, FOURIER, TO };
static const option options[] = {
    IMAGE_OPTIONS, { "by", 0, true }, { "fourier", 0, false }, { "to", 0, true }, { NULL, 0, false }
};

/* The even extent next to n / ratio, at least 2; 1 stays 1. */
static int64_t extent(int64_t n, double ratio)
{
    return n == 1 ? 1 : 2 * (int64_t)fmax(floor(0.5 * (double)n / ratio + 0.5), 1);
}

static wf_array *resample(const image *i, const double ratio[3])
{
    wf_shape from = wf_array_shape(i->data), to = from;
    wf_axes axes = image_axes(i->data, i->rank);
    for (int d = 0; d < i->rank; d++) {
        int axis = from.rank - i->rank + d;
        to.dim[axis] = extent(from.dim[axis], ratio[d]);
    }
    wf_array *whole = wf_fft_r2c(i->data, axes, WF_FFT_BACKWARD);
    wf_array *part = whole ? wf_fft_resize(whole, from, to, axes) : NULL;
    wf_array *out = part ? wf_fft_c2r(part, to.dim[to.rank - 1], axes, WF_FFT_BACKWARD) : NULL;
    wf_release(whole);
    wf_release(part);
    return out;
}

static int bin(job *j, image *in, long by, bool fourier, double to)
{
    double ratio[3] = { (double)by, (double)by, (double)by };
    wf_shape from = wf_array_shape(in->data);
    for (int d = 0; d < in->rank && by > 0 && !fourier; d++)
        if (from.dim[from.rank - in->rank + d] < by)
            return misused(j->a.command, "--by %ld: %s has %lld pixels along %c", by, in->path,
                           (long long)from.dim[from.rank - in->rank + d], "zyx"[3 - in->rank + d]);
    for (int d = 0; d < in->rank && to > 0; d++) {
        double pixel = in->pixel[3 - in->rank + d];
        if (!(pixel > 0))
            return misused(j->a.command, "--to %g: the pixel size of %s is unknown; --pixel gives it", to, in->path);
        ratio[d] = to / pixel;
    }
    wf_array *out = to > 0 || fourier ? resample(in, ratio) : wf_bin(in->data, by, image_axes(in->data, in->rank));
    wf_shape shape = wf_array_shape(out);
    for (int d = 0; d < in->rank && out; d++) {
        int axis = shape.rank - in->rank + d;
        double k = to > 0 || fourier ? (double)from.dim[axis] / (double)shape.dim[axis] : (double)by;
        if (to == 0 && !fourier) /* the centre of the first block; a transform keeps the first sample's place */
            move_origin(in, d, 0.5 * (double)(by - 1));
        scale_spacing(in, d, k);
    }
    return job_save(j, out, in);
}

int run_bin(const command *self, int argc, char **argv)
{
    job j = job_of(self, options, argc, argv, 1);
    image in = { .rank = 0 };
    long by = 0;
    double to = 0;
    bool fourier = false;
    for (int o = job_next(&j); o != ARG_END; o = job_next(&j)) {
        if (o < 0)
            return ended(o);
        if (o == BY && !parse_int(j.a.value, 1, 1 << 20, &by))
            return misused(self, "--by %s: give a whole number", j.a.value);
        if (o == TO && (!parse_real(j.a.value, &to) || to <= 0))
            return misused(self, "--to %s: give a pixel size in Angstrom", j.a.value);
        fourier = fourier || o == FOURIER;
    }
    if ((by > 0) == (to > 0))
        return misused(self, "give --by or --to, one of them");
    int result = job_begin(&j, 1, true);
    if (result == EXIT_OK)
        result = job_load(&j, 0, &in);
    if (result == EXIT_OK)
        result = bin(&j, &in, by, fourier, to);
    wf_release(in.data);
    return job_end(&j, result);
}
