/* wide_complex.h - complex numbers in long double, as references, and arrays of complex numbers from f64 and back. */
#ifndef WEFT_WIDE_COMPLEX_H
#define WEFT_WIDE_COMPLEX_H
#include "on_devices.h"
#include "ir/ir.h"
#include <complex.h>
#undef I

typedef long double complex wide;
static inline wide make(long double re, long double im)
{
    wide z;
    long double p[2] = { re, im };
    memcpy(&z, p, sizeof z);
    return z;
}

static const long double ln2 = 0.693147180559945309417232121458176568L, ln10 = 2.302585092994045684017991454684364208L;

/* ---- functions that <complex.h> lacks ---- */
static inline wide cexpm1_of(wide z)
{
    long double x = creall(z), y = cimagl(z), s = sinl(y / 2);
    return make(expm1l(x) * cosl(y) - 2 * s * s, y == 0 ? y : expl(x) * sinl(y));
}
static inline wide clog1p_of(wide z)
{
    long double x = creall(z), y = cimagl(z), beyond = (2 * x + x * x) + y * y;
    wide far = clogl(make(1 + x, y));
    return make(beyond > -0.5L && beyond < 3 ? log1pl(beyond) / 2 : creall(far), cimagl(far));
}
static inline wide clog2_of(wide z) { return clogl(z) / ln2; }
static inline wide clog10_of(wide z) { return clogl(z) / ln10; }
static inline wide cexp2_of(wide z) { return cexpl(make(creall(z) * ln2, cimagl(z) * ln2)); }
static inline wide sign_of(wide z) { return z == 0 ? z : z / cabsl(z); }

/* ---- arrays: the parts of an element are two numbers; an element of a real dtype is one ---- */
/* Returns the dtype of the parts of a complex number; a real dtype is its own. */
static inline wf_dtype part(wf_dtype t) { return wf__is_complex(t) ? (wf_dtype)wf__part_dtype(t) : t; }

static inline size_t parts_of(const wf_array *a)
{
    return (size_t)wf_array_count(a) * (wf__is_complex(wf_array_dtype(a)) ? 2 : 1);
}

static inline wf_array *from_f64(wf_dtype t, wf_shape shape, const double *p)
{
    wf_array *a = wf_empty(ctx, t, shape);
    assert_non_null(a);
    const size_t n = parts_of(a);
    void *data = malloc(n * 8 + 1);
    assert_non_null(data);
    wf__eval_cast(part(t), WF_F64, data, p, n);
    OK(ctx, wf_upload(a, data, n * wf_dtype_size(part(t))));
    free(data);
    return a;
}

static inline double *as_f64(wf_array *a) /* the caller frees it */
{
    const size_t n = parts_of(a);
    void *data = contents(a);
    double *out = malloc(n * sizeof *out + 1);
    assert_non_null(out);
    wf__eval_cast(WF_F64, part(wf_array_dtype(a)), out, data, n);
    free(data);
    return out;
}

static inline double *take_f64(wf_array *a)
{
    double *out = as_f64(a);
    wf_release(a);
    return out;
}
#endif
