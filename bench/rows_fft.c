/* rows_fft.c - Fourier transforms beside FFTW (planned by MEASURE, with the same threads), where libfftw3f is installed. */
#include "bench.h"
#include "weft/fft.h"
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- FFTW, opened at run time ---- */
typedef void *fftw_plan;
typedef struct fftw {
    bool tried;
    void (*execute)(const fftw_plan);
    void (*destroy)(fftw_plan);
    fftw_plan (*r2c)(int rank, const int *n, int many, float *in, const int *inembed, int istride, int idist,
                     float *out, const int *onembed, int ostride, int odist, unsigned flags);
    fftw_plan (*c2c)(int rank, const int *n, int many, float *in, const int *inembed, int istride, int idist,
                     float *out, const int *onembed, int ostride, int odist, int sign, unsigned flags);
    int (*init_threads)(void);
    void (*with_threads)(int n);
} fftw;

static const fftw *open_fftw(void)
{
    static fftw f;
    if (!f.tried) {
        f.tried = true;
        void *library = dlopen("libfftw3f.so.3", RTLD_NOW | RTLD_GLOBAL);
        void *threads = library ? dlopen("libfftw3f_threads.so.3", RTLD_NOW | RTLD_LOCAL) : NULL;
        *(void **)&f.execute = library ? dlsym(library, "fftwf_execute") : NULL;
        *(void **)&f.destroy = library ? dlsym(library, "fftwf_destroy_plan") : NULL;
        *(void **)&f.r2c = library ? dlsym(library, "fftwf_plan_many_dft_r2c") : NULL;
        *(void **)&f.c2c = library ? dlsym(library, "fftwf_plan_many_dft") : NULL;
        *(void **)&f.init_threads = threads ? dlsym(threads, "fftwf_init_threads") : NULL;
        *(void **)&f.with_threads = threads ? dlsym(threads, "fftwf_plan_with_nthreads") : NULL;
        if (f.init_threads)
            f.init_threads();
    }
    return f.execute && f.destroy && f.r2c && f.c2c ? &f : NULL;
}

/* ---- rows ---- */
typedef struct size { /* a batch of transforms over all other axes */
    int batch, rank, n[3];
    bool real;
} size;

typedef struct fft_row {
    bench_stream s; /* x and its spectrum */
    const size *size;
    wf_array *x, *y;
    wf_axes axes;
    fftw_plan plan;
} fft_row;

static void weft(void *data)
{
    fft_row *r = data;
    bench_ok(r->s.b, wf_fft_into(r->y, r->x, r->axes, false, WF_FFT_BACKWARD), r->s.b->ctx, "wf_fft_into");
}

static void by_fftw(void *data) { open_fftw()->execute(((fft_row *)data)->plan); }

static int64_t elements(const size *s)
{
    int64_t n = s->batch;
    for (int d = 0; d < s->rank; ++d)
        n *= s->n[d];
    return n;
}

/* Element `at` of the spectrum of a transform of the batch, by its definition. */
static void define(const fft_row *r, int64_t number, const int64_t *at, double *re, double *im)
{
    const size *s = r->size;
    int64_t n = elements(s) / s->batch;
    const float *x = r->s.at[0] + number * n * (s->real ? 1 : 2);
    *re = *im = 0;
    for (int64_t i = 0; i < n; ++i) {
        double turns = 0;
        int64_t rest = i;
        for (int d = s->rank - 1; d >= 0; --d) {
            turns += (double)(rest % s->n[d] * at[d] % s->n[d]) / s->n[d];
            rest /= s->n[d];
        }
        double c = cos(-2 * M_PI * turns), w = sin(-2 * M_PI * turns), a = x[s->real ? i : 2 * i],
               b = s->real ? 0 : (double)x[2 * i + 1];
        *re += a * c - b * w;
        *im += a * w + b * c;
    }
}

/* Checks two elements of the last transform of the batch. */
static bool check(void *data, char *why, size_t cap)
{
    const fft_row *r = data;
    const size *s = r->size;
    double scale = sqrt((double)(elements(s) / s->batch));
    for (int k = 1; k < 3; ++k) {
        int64_t at[3], where = s->batch - 1;
        for (int d = 0; d < s->rank; ++d) {
            int64_t extent = s->real && d == s->rank - 1 ? s->n[d] / 2 + 1 : s->n[d];
            at[d] = (extent - 1) * k / (k + 1);
            where = where * extent + at[d];
        }
        double re, im, x = (double)r->s.at[1][2 * where], y = (double)r->s.at[1][2 * where + 1];
        define(r, s->batch - 1, at, &re, &im);
        if (fabs(x - re) <= 1e-5 * scale && fabs(y - im) <= 1e-5 * scale)
            continue;
        snprintf(why, cap, "element %lld is %.9g, %.9g, not %.9g, %.9g", (long long)where, x, y, re, im);
        return false;
    }
    return true;
}

static void done(void *data)
{
    fft_row *r = data;
    if (r->plan)
        open_fftw()->destroy(r->plan);
}

static const bench_kind kind = { sizeof(fft_row), bench_spoil_results, check, done };

/* FFTW's plan. It overwrites the arrays, whose contents are put back. */
static fftw_plan plan_of(const bench *b, const fft_row *r)
{
    const fftw *f = open_fftw();
    const size *s = r->size;
    size_t bytes = (size_t)r->s.n * sizeof(float);
    float *copy = f ? malloc(bytes) : NULL;
    fftw_plan plan = NULL;
    if (!copy)
        return NULL;
    memcpy(copy, r->s.at[0], bytes);
    int in = (int)(elements(s) / s->batch), last = s->n[s->rank - 1], out = in / last * (last / 2 + 1);
    if (f->with_threads)
        f->with_threads(b->threads);
    if (f->with_threads || b->threads == 1)
        plan = s->real ? f->r2c(s->rank, s->n, s->batch, r->s.at[0], NULL, 1, in, r->s.at[1], NULL, 1, out, 0)
                       : f->c2c(s->rank, s->n, s->batch, r->s.at[0], NULL, 1, in, r->s.at[1], NULL, 1, in, -1, 0);
    memcpy(r->s.at[0], copy, bytes);
    free(copy);
    return plan;
}

static void setup(bench *b, bench_case *c)
{
    const size *s = c->row->of;
    int last = s->n[s->rank - 1];
    int64_t in = elements(s), half = in / last * (last / 2 + 1), most = s->real ? 2 * half : 2 * in;
    fft_row *r = bench_stream_data(b, c, &kind, most, 1, 1, -0.5f, 0.5f);
    if (!r)
        return;
    r->size = s;
    r->s.b = b;
    wf_shape shape = { .rank = s->rank + 1, .dim = { s->batch } }, spectrum;
    for (int d = 0; d < s->rank; ++d) {
        shape.dim[d + 1] = s->n[d];
        r->axes |= WF_AXES(d + 1);
    }
    spectrum = shape;
    spectrum.dim[s->rank] = s->real ? last / 2 + 1 : last;
    r->x = bench_keep(c, wf_wrap(b->ctx, r->s.at[0], s->real ? WF_F32 : WF_C64, shape, NULL, NULL));
    r->y = bench_keep(c, wf_wrap(b->ctx, r->s.at[1], WF_C64, spectrum, NULL, NULL));
    r->plan = plan_of(b, r);
    bench_add(c, "weft", "", weft);
    if (r->plan)
        bench_add(c, "best", "FFTW, MEASURE", by_fftw);
}

#define ROW_IN(unit, scale, name, what, ...)     \
    static const size size_##name = __VA_ARGS__; \
    const bench_row bench_##name = { #name, what, unit, scale, "at most FFTW MEASURE", setup, &size_##name }
#define ROW(...) ROW_IN("ms", 1e3, __VA_ARGS__)
#define SMALL_ROW(...) ROW_IN("us", 1e6, __VA_ARGS__)
ROW(fft_r2c_4096, "real to complex, 4096 x 4096", { 1, 2, { 4096, 4096 }, true });
ROW(fft_r2c_3838, "real to complex, 3838 x 3710", { 1, 2, { 3838, 3710 }, true });
ROW(fft_r2c_256_3, "real to complex, 256 x 256 x 256", { 1, 3, { 256, 256, 256 }, true });
ROW(fft_r2c_320_3, "real to complex, 320 x 320 x 320", { 1, 3, { 320, 320, 320 }, true });
ROW(fft_r2c_1000_256, "real to complex, 1000 images of 256 x 256", { 1000, 2, { 256, 256 }, true });
ROW(fft_c2c_1024, "complex, 4096 lines of 2^10", { 4096, 1, { 1024 }, false });
ROW(fft_c2c_16k, "complex, 256 lines of 2^14", { 256, 1, { 16384 }, false });
ROW(fft_c2c_1m, "complex, 4 lines of 2^20", { 4, 1, { 1 << 20 }, false });
ROW(fft_c2c_1009, "complex, 4096 lines of 1009, a prime", { 4096, 1, { 1009 }, false });
ROW(fft_c2c_3710, "complex, 1024 lines of 3710", { 1024, 1, { 3710 }, false });
SMALL_ROW(fft_c2c_16x64, "complex, 16 lines of 64", { 16, 1, { 64 }, false });
SMALL_ROW(fft_c2c_16x256, "complex, 16 lines of 256", { 16, 1, { 256 }, false });
SMALL_ROW(fft_c2c_16x1024, "complex, 16 lines of 1024", { 16, 1, { 1024 }, false });
SMALL_ROW(fft_c2c_16x4096, "complex, 16 lines of 4096", { 16, 1, { 4096 }, false });
SMALL_ROW(fft_r2c_16x64, "real to complex, 16 lines of 64", { 16, 1, { 64 }, true });
SMALL_ROW(fft_r2c_16x256, "real to complex, 16 lines of 256", { 16, 1, { 256 }, true });
SMALL_ROW(fft_r2c_16x1024, "real to complex, 16 lines of 1024", { 16, 1, { 1024 }, true });
SMALL_ROW(fft_r2c_16x4096, "real to complex, 16 lines of 4096", { 16, 1, { 4096 }, true });
SMALL_ROW(fft_c2c_1x16, "complex, one line of 16", { 1, 1, { 16 }, false });
SMALL_ROW(fft_c2c_1x1024, "complex, one line of 1024", { 1, 1, { 1024 }, false });
SMALL_ROW(fft_r2c_1x1024, "real to complex, one line of 1024", { 1, 1, { 1024 }, true });
SMALL_ROW(fft_c2c_32_2, "complex, 32 x 32", { 1, 2, { 32, 32 }, false });
SMALL_ROW(fft_c2c_64_2, "complex, 64 x 64", { 1, 2, { 64, 64 }, false });
SMALL_ROW(fft_c2c_256_2, "complex, 256 x 256", { 1, 2, { 256, 256 }, false });
SMALL_ROW(fft_r2c_32_2, "real to complex, 32 x 32", { 1, 2, { 32, 32 }, true });
SMALL_ROW(fft_r2c_64_2, "real to complex, 64 x 64", { 1, 2, { 64, 64 }, true });
SMALL_ROW(fft_r2c_256_2, "real to complex, 256 x 256", { 1, 2, { 256, 256 }, true });
