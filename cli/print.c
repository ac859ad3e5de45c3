/* print.c - values as text: integers exactly, others with the fewest digits that read back as the same value. */
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *shape_text(wf_shape shape, char buf[static 256])
{
    size_t at = 0;
    if (shape.rank == 0)
        return "scalar";
    for (int d = 0; d < shape.rank; d++)
        at += (size_t)snprintf(buf + at, 256 - at, "%s%lld", d ? " x " : "", (long long)shape.dim[d]);
    return buf;
}

const char *real_text(double v, int digits, char buf[static NUMBER_CAP])
{
    snprintf(buf, NUMBER_CAP, "%.*g", digits, v != v ? (double)NAN : v); /* printf shows the sign of a NaN */
    return buf;
}

/* Rounds a finite value to a type with `bits` bits of precision and the least normal exponent `least`. */
static double rounded(double v, int bits, int least)
{
    int e = v == 0 ? least : ilogb(v);
    double unit = ldexp(1, (e < least ? least : e) - bits + 1);
    return nearbyint(v / unit) * unit;
}

static bool reads_back(const char *text, double v, wf_dtype t)
{
    double read = strtod(text, NULL);
    switch (t) {
    case WF_F16:
    case WF_C32:
        return rounded(read, 11, -14) == v;
    case WF_BF16:
        return rounded(read, 8, -126) == v;
    case WF_F32:
    case WF_C64:
        return (double)strtof(text, NULL) == v;
    default:
        return read == v;
    }
}

const char *shortest_text(double v, wf_dtype t, char buf[static NUMBER_CAP])
{
    enum { ENOUGH = 17 };
    int digits = 1, whole = t == WF_F64 || t == WF_C128 ? 16 : 8; /* digits before the point; more take an exponent */
    if (!isfinite(v))
        return real_text(v, digits, buf);
    while (!reads_back(real_text(v, digits, buf), v, t) && digits < ENOUGH)
        digits++;
    snprintf(buf, NUMBER_CAP, "%.*e", digits - 1, v);
    int exponent = atoi(strchr(buf, 'e') + 1);
    if (exponent < -4 || exponent >= whole)
        return real_text(v, digits, buf);
    snprintf(buf, NUMBER_CAP, "%.*f", exponent < digits ? digits - 1 - exponent : 0, v);
    return buf;
}

/* Computes `text`, which assigns v, from `a`; copies the n elements of v, of 8 bytes each. */
static bool compute_values(wf_context *ctx, const wf_array *a, const char *text, int64_t n, void *out)
{
    const char *want[] = { "v" };
    wf_array *wide = NULL;
    bool ok = wf_text_create(ctx, text, WF_ARGS(WF_ARG("a", a)), 0, want, 1, &wide) == WF_OK &&
              wf_download(wide, out, (size_t)n * 8) == WF_OK;
    wf_release(wide);
    return ok;
}

static const char *whole_text(int64_t v, wf_dtype t, char buf[static NUMBER_CAP])
{
    if (t == WF_U64)
        snprintf(buf, NUMBER_CAP, "%llu", (unsigned long long)v);
    else
        snprintf(buf, NUMBER_CAP, "%lld", (long long)v);
    return buf;
}

bool whole_extremes(wf_context *ctx, const wf_array *a, char low[static NUMBER_CAP], char high[static NUMBER_CAP])
{
    int64_t least, most;
    wf_dtype t = wf_array_dtype(a);
    if (!compute_values(ctx, a, "v = min(a)", 1, &least) || !compute_values(ctx, a, "v = max(a)", 1, &most))
        return false;
    whole_text(least, t, low);
    whole_text(most, t, high);
    return true;
}

static bool print_whole(wf_context *ctx, const wf_array *a)
{
    char buf[NUMBER_CAP];
    wf_dtype t = wf_array_dtype(a);
    int64_t n = wf_array_count(a), *value = allocate((size_t)n, sizeof *value);
    bool ok = compute_values(ctx, a, t == WF_U64 ? "v = u64(a)" : "v = i64(a)", n, value);
    for (int64_t i = 0; i < n && ok; i++)
        printf("%s%s", i ? " " : "", whole_text(value[i], t, buf));
    free(value);
    return ok;
}

static bool print_reals(wf_context *ctx, const wf_array *a)
{
    char buf[NUMBER_CAP];
    wf_dtype t = wf_array_dtype(a);
    bool pairs = wf_dtype_kind(t) == WF_KIND_COMPLEX;
    int64_t n = wf_array_count(a);
    double *re = allocate((size_t)n, sizeof *re), *im = allocate((size_t)n, sizeof *im);
    bool ok = compute_values(ctx, a, pairs ? "v = f64(real(a))" : "v = f64(a)", n, re) &&
              (!pairs || compute_values(ctx, a, "v = f64(imag(a))", n, im));
    for (int64_t i = 0; i < n && ok; i++) {
        printf("%s%s", i ? " " : "", shortest_text(re[i], t, buf));
        if (pairs)
            printf("%s%si", signbit(im[i]) && im[i] == im[i] ? "" : "+", shortest_text(im[i], t, buf));
    }
    free(re);
    free(im);
    return ok;
}

bool print_values(wf_context *ctx, const wf_array *a)
{
    bool ok = wf_array_dtype(a) < WF_F16 ? print_whole(ctx, a) : print_reals(ctx, a);
    if (ok)
        printf("\n");
    return ok;
}
