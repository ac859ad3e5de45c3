/* rows_functions.c - one mathematical function each, in cache and on one thread, beside the function of SLEEF for this
 * machine's widest vectors, if there is one. It is the most accurate kind (u10: 1.0 units of the last place; Weft's bounds
 * are 1.5 to 4). libsleef is opened at run time and may be missing.
 */
#include "../tests/reference_math.h"
#include "bench.h"
#include "kernels.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct fn {
    const char *name;
    wf_val (*f1)(wf_val);
    wf_val (*f2)(wf_val, wf_val);
    double (*exact1)(double);
    double (*exact2)(double, double);
    double low, high;
    const char *sleef; /* accuracy of SLEEF's function of this name, or NULL */
} fn;

static const fn functions[] = {
    { "rsqrt", wf_rsqrt, .exact1 = rsqrt_d, .low = 0.01, .high = 100 },
    { "cbrt", wf_cbrt, .exact1 = cbrt, .low = -100, .high = 100, .sleef = "u10" },
    { "exp", wf_exp, .exact1 = exp, .low = -50, .high = 50, .sleef = "u10" },
    { "exp2", wf_exp2, .exact1 = exp2, .low = -50, .high = 50, .sleef = "u10" },
    { "exp10", wf_exp10, .exact1 = exp10_d, .low = -20, .high = 20, .sleef = "u10" },
    { "expm1", wf_expm1, .exact1 = expm1, .low = -10, .high = 10, .sleef = "u10" },
    { "log", wf_log, .exact1 = log, .low = 0.001, .high = 100, .sleef = "u10" },
    { "log2", wf_log2, .exact1 = log2, .low = 0.001, .high = 100, .sleef = "u10" },
    { "log10", wf_log10, .exact1 = log10, .low = 0.001, .high = 100, .sleef = "u10" },
    { "log1p", wf_log1p, .exact1 = log1p, .low = -0.9, .high = 10, .sleef = "u10" },
    { "sin", wf_sin, .exact1 = sin, .low = -50, .high = 50, .sleef = "u10" },
    { "cos", wf_cos, .exact1 = cos, .low = -50, .high = 50, .sleef = "u10" },
    { "tan", wf_tan, .exact1 = tan, .low = -50, .high = 50, .sleef = "u10" },
    { "asin", wf_asin, .exact1 = asin, .low = -1, .high = 1, .sleef = "u10" },
    { "acos", wf_acos, .exact1 = acos, .low = -1, .high = 1, .sleef = "u10" },
    { "atan", wf_atan, .exact1 = atan, .low = -10, .high = 10, .sleef = "u10" },
    { "sinpi", wf_sinpi, .exact1 = sinpi_d, .low = -10, .high = 10, .sleef = "u05" },
    { "cospi", wf_cospi, .exact1 = cospi_d, .low = -10, .high = 10, .sleef = "u05" },
    { "tanpi", wf_tanpi, .exact1 = tanpi_d, .low = -10, .high = 10 },
    { "sinc", wf_sinc, .exact1 = sinc_d, .low = -10, .high = 10 },
    { "sinh", wf_sinh, .exact1 = sinh, .low = -10, .high = 10, .sleef = "u10" },
    { "cosh", wf_cosh, .exact1 = cosh, .low = -10, .high = 10, .sleef = "u10" },
    { "tanh", wf_tanh, .exact1 = tanh, .low = -5, .high = 5, .sleef = "u10" },
    { "asinh", wf_asinh, .exact1 = asinh, .low = -10, .high = 10, .sleef = "u10" },
    { "acosh", wf_acosh, .exact1 = acosh, .low = 1.01, .high = 10, .sleef = "u10" },
    { "atanh", wf_atanh, .exact1 = atanh, .low = -0.99, .high = 0.99, .sleef = "u10" },
    { "erf", wf_erf, .exact1 = erf, .low = -5, .high = 5, .sleef = "u10" },
    { "erfc", wf_erfc, .exact1 = erfc, .low = -5, .high = 5, .sleef = "u15" },
    { "erfinv", wf_erfinv, .exact1 = erfinv_d, .low = -0.95, .high = 0.95 },
    { "tgamma", wf_tgamma, .exact1 = tgamma, .low = 0.1, .high = 20, .sleef = "u10" },
    { "lgamma", wf_lgamma, .exact1 = lgamma, .low = 3, .high = 50, .sleef = "u10" },
    { "digamma", wf_digamma, .exact1 = digamma_d, .low = 0.1, .high = 20 },
    { "trigamma", wf_trigamma, .exact1 = trigamma_d, .low = 0.1, .high = 20 },
    { "j0", wf_j0, .exact1 = j0, .low = -30, .high = 30 },
    { "j1", wf_j1, .exact1 = j1, .low = -30, .high = 30 },
    { "i0", wf_i0, .exact1 = i0_d, .low = -20, .high = 20 },
    { "i1", wf_i1, .exact1 = i1_d, .low = -20, .high = 20 },
    { "mod", .f2 = wf_mod, .exact2 = fmod, .low = -10, .high = 10 },
    { "pow", .f2 = wf_pow, .exact2 = pow, .low = 0.01, .high = 10, .sleef = "u10" },
    { "atan2", .f2 = wf_atan2, .exact2 = atan2, .low = -10, .high = 10, .sleef = "u10" },
    { "hypot", .f2 = wf_hypot, .exact2 = hypot, .low = -10, .high = 10, .sleef = "u05" },
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, N = 8192 };

typedef struct fn_row {
    bench_row row;
    const fn *f;
    bool wide;
    char name[24], what[64];
} fn_row;

typedef struct fn_case {
    bench *b;
    const fn_row *row;
    wf_context *ctx; /* with one thread */
    wf_kernel *kernel;
    wf_array *array[3]; /* x, y, out */
    void *at[3];
    void *library, *vector; /* SLEEF */
} fn_case;

static double value(const fn_case *c, int which, int64_t i)
{
    return c->row->wide ? ((const double *)c->at[which])[i] : (double)((const float *)c->at[which])[i];
}

static void weft(void *data)
{
    fn_case *c = data;
    wf_array *x = c->array[0], *y = c->array[1], *out = c->array[2];
    bench_ok(c->b, c->row->f->f1 ? wf_launch(c->kernel, WF_NAMED(x, out)) : wf_launch(c->kernel, WF_NAMED(x, y, out)),
             c->ctx, "wf_launch");
}

static void sleef(void *data)
{
    fn_case *c = data;
    best_apply(c->vector, c->row->wide, c->row->f->f1 ? 1 : 2, c->at[2], c->at[0], c->at[1], N);
}

static void clear(void *data)
{
    fn_case *c = data;
    memset(c->at[2], 0xff, c->row->wide ? N * sizeof(double) : N * sizeof(float));
}

static bool check(void *data, char *why, size_t cap)
{
    const fn_case *c = data;
    const fn *f = c->row->f;
    for (int64_t i = 0; i < N; ++i) {
        double x = value(c, 0, i), y = value(c, 1, i), want = f->f1 ? f->exact1(x) : f->exact2(x, y);
        double got = value(c, 2, i), most = (c->row->wide ? 0x1p-48 : 0x1p-20) * (fabs(want) > 0.1 ? fabs(want) : 0.1);
        if (fabs(got - want) <= most)
            continue;
        snprintf(why, cap, "for x = %.17g, y = %.17g it gives %.17g, not %.17g", x, y, got, want);
        return false;
    }
    return true;
}

static void done(void *data)
{
    fn_case *c = data;
    for (int i = 0; i < 3; ++i)
        wf_release(c->array[i]);
    wf_kernel_free(c->kernel);
    wf_context_free(c->ctx);
    if (c->library)
        dlclose(c->library);
}

/* The name of a SLEEF function, as "Sleef_sinf16_u10avx512f". */
static void *find_sleef(fn_case *c)
{
    static const char *const names[] = { "libsleef.so.3", "libsleef.so" };
    const fn *f = c->row->f;
    int bits = best_vector_bits();
    char name[64];
    if (!f->sleef || !bits)
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !c->library; ++i)
        c->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    snprintf(name, sizeof name, "Sleef_%s%s%d_%s%s", f->name, c->row->wide ? "d" : "f", bits / (c->row->wide ? 64 : 32),
             f->sleef, bits == 512 ? "avx512f" : "avx2");
    return c->library ? dlsym(c->library, name) : NULL;
}

static void prepare(fn_case *c)
{
    const fn *f = c->row->f;
    wf_dtype t = c->row->wide ? WF_F64 : WF_F32;
    c->ctx = wf_context_new(&(wf_config){ .size = sizeof(wf_config), .threads = 1, .cache_dir = c->b->scratch });
    if (!c->ctx) {
        bench_fail(c->b, "out of memory");
        return;
    }
    wf_graph *g = wf_begin(c->ctx, .name = f->name);
    wf_val x = wf_in(g, wf_formal(g, "x", t, 1)), r;
    r = f->f1 ? f->f1(x) : f->f2(x, wf_in(g, wf_formal(g, "y", t, 1)));
    wf_out(g, wf_formal(g, "out", t, 1), r);
    c->kernel = wf_compile(g);
    for (int i = 0; i < 3; ++i) {
        c->array[i] = wf_empty(c->ctx, t, WF_SHAPE(N));
        wf_status status = c->array[i] ? wf_map(c->array[i], &c->at[i], NULL) : wf_last_status(c->ctx);
        if (!bench_ok(c->b, status, c->ctx, "memory for the inputs"))
            return;
        for (int64_t k = 0; k < N && i < 2; ++k) {
            double v = f->low + (f->high - f->low) * (double)bench_random((uint64_t)i, (uint64_t)k);
            if (c->row->wide)
                ((double *)c->at[i])[k] = v;
            else
                ((float *)c->at[i])[k] = (float)v;
        }
    }
    bench_ok(c->b, wf_last_status(c->ctx), c->ctx, "wf_compile");
}

static void setup(bench *b, bench_case *at)
{
    static const bench_kind kind = { sizeof(fn_case), clear, check, done };
    fn_case *c = bench_data(b, at, &kind);
    if (!c)
        return;
    c->b = b;
    c->row = at->row->of;
    prepare(c);
    c->vector = find_sleef(c);
    bench_add(at, "weft", "", weft);
    if (c->vector)
        bench_add(at, "sleef", "", sleef);
}

const bench_row *bench_function_row(int i)
{
    static fn_row rows[2 * FUNCTIONS];
    if (i >= 2 * FUNCTIONS)
        return NULL;
    fn_row *r = &rows[i];
    r->f = &functions[i / 2];
    r->wide = i % 2;
    snprintf(r->name, sizeof r->name, "fn_%s_%s", r->f->name, r->wide ? "f64" : "f32");
    snprintf(r->what, sizeof r->what, "%s, %d values in cache, one thread", r->f->name, N);
    r->row = (bench_row){ r->name, r->what, "ns/value", 1e9 / N, "<= 1 x SLEEF", setup, r };
    return &r->row;
}
