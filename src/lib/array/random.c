/* random.c - Philox4x32-10 as a recording. A counter gives 4 words, for elements that lie 64 apart. So 64 counters fill
 * rows of 64 elements with contiguous stores, no word is wasted, and the place of an element determines its counter.
 */
#include "random.h"
#include "../floats.h"
#include "weft/distributed.h"
#include <float.h>
#include <math.h>

enum { LANES = 64 };
typedef enum kind { BITS, UNIFORM, NORMAL, LOGNORMAL, MAPPED } kind;

typedef struct generator {
    wf_context *ctx;
    wf_random random;
    kind kind;
    wf_dtype dtype;
    bool wide;       /* a value takes two words */
    int values;      /* number of elements that one counter gives */
    double a, b;     /* lo and hi; or mean and deviation */
    wfl_of_unit *of; /* the function of MAPPED */
    const void *user;
} generator;

static wf_val word_param(wf_graph *g, const char *name, uint64_t x)
{
    return wf_param(g, name, WF_U32, (double)(uint32_t)x);
}

static void multiply_wide(wf_val a, uint32_t by, wf_val *high, wf_val *low)
{
    *high = wf_mulhi(a, (double)by);
    *low = wf_mul(a, (double)by);
}

static void philox(wf_val c[4], wf_val k0, wf_val k1)
{
    for (int round = 0; round < 10; ++round) {
        wf_val h0, l0, h1, l1;
        multiply_wide(c[0], 0xD2511F53, &h0, &l0);
        multiply_wide(c[2], 0xCD9E8D57, &h1, &l1);
        c[0] = wf_xor(wf_xor(h1, c[1]), k0);
        c[1] = l1;
        c[2] = wf_xor(wf_xor(h0, c[3]), k1);
        c[3] = l0;
        k0 = wf_add(k0, (double)0x9E3779B9);
        k1 = wf_add(k1, (double)0xBB67AE85);
    }
}

static wf_val wide_word(wf_val low, wf_val high)
{
    return wf_or(wf_cast(low, WF_U64), wf_shl(wf_cast(high, WF_U64), 32));
}

/* Sets w to the words of counter `first` + at, which is u64. */
static void words_of(wf_graph *g, const wf_random *random, uint64_t first, wf_val at, wf_val w[4])
{
    at = wf_add(at, wide_word(word_param(g, "first", first), word_param(g, "first high", first >> 32)));
    w[0] = wf_cast(at, WF_U32);
    w[1] = wf_cast(wf_shr(at, 32), WF_U32);
    w[2] = word_param(g, "stream", random->stream);
    w[3] = word_param(g, "stream high", random->stream >> 32);
    philox(w, word_param(g, "seed", random->seed), word_param(g, "seed high", random->seed >> 32));
}

wf_val wfl_random_word(wf_graph *g, wf_random random, wf_val at)
{
    wf_val w[4];
    words_of(g, &random, random.first, at, w);
    return w[0];
}

/* Returns a number uniform in [0, 1), of 24 or 53 bits; with `open` in (0, 1], of 32 or 53 bits. */
static wf_val unit_value(const generator *r, const wf_val *w, bool open)
{
    if (r->wide) {
        wf_val bits = wf_cast(wf_shr(wide_word(w[0], w[1]), 11), WF_F64);
        return wf_mul(open ? wf_add(bits, 0.5) : bits, 0x1p-53);
    }
    return open ? wf_add(wf_mul(wf_cast(w[0], WF_F32), 0x1p-32), 0x1p-33)
                : wf_mul(wf_cast(wf_shr(w[0], 8), WF_F32), 0x1p-24);
}

/* Runs in the default floating-point environment (wf_array_random_uniform). */
static wf_val uniform_value(wf_graph *g, const generator *r, const wf_val *w)
{
    if (r->dtype < WF_F16) { /* bits * range / 2^64 */
        wf_val range = wf_param(g, "range", WF_U64, r->b - r->a), lo = wf_param(g, "lo", WF_I64, r->a);
        return wf_add(wf_cast(wf_mulhi(wide_word(w[0], w[1]), range), WF_I64), lo);
    }
    wf_dtype t = r->wide ? WF_F64 : WF_F32;
    /* `last`: the largest number below hi, to which the sum may round up */
    double last = r->wide ? nextafter(r->b, r->a) : (double)nextafterf((float)r->b, (float)r->a);
    wf_val scaled = wf_mul(unit_value(r, w, false), wf_param(g, "range", t, r->b - r->a));
    return wf_min(wf_add(scaled, wf_param(g, "lo", t, r->a)), wf_param(g, "last", t, last));
}

/* Makes two normal numbers from 2 words; of f64 from 4 words. */
static void normal_values(wf_graph *g, const generator *r, const wf_val *w, wf_val out[2])
{
    wf_dtype t = r->wide ? WF_F64 : WF_F32;
    wf_val mean = wf_param(g, "mean", t, r->a), deviation = wf_param(g, "deviation", t, r->b);
    wf_val radius = wf_mul(wf_sqrt(wf_mul(wf_log(unit_value(r, w, true)), -2)), deviation);
    wf_val turn = wf_mul(unit_value(r, w + (r->wide ? 2 : 1), false), 2);
    out[0] = wf_add(wf_mul(radius, wf_cospi(turn)), mean);
    out[1] = wf_add(wf_mul(radius, wf_sinpi(turn)), mean);
    for (int i = 0; i < 2 && r->kind == LOGNORMAL; ++i)
        out[i] = wf_exp(out[i]);
}

/* Makes the real values of one counter: 4, or 2 wide ones. */
static void draw_values(wf_graph *g, const generator *r, const wf_val *w, wf_val *out)
{
    int n = r->wide ? 2 : 4, step = r->wide ? 2 : 1;
    for (int i = 0; i < n; ++i)
        if (r->kind == BITS)
            out[i] = w[i];
        else if (r->kind == UNIFORM)
            out[i] = uniform_value(g, r, w + i * step);
        else if (r->kind == MAPPED)
            out[i] = r->of(g, unit_value(r, w + i * step, false), r->user);
        else if (i % 2 == 0)
            normal_values(g, r, w + i * step, out + i);
}

/* Fills `block`, [n, values, 64] in any layout, from counter r->random.first + counter on. */
static wf_status fill_blocks(const generator *r, wf_array *block, uint64_t counter)
{
    wf_shape shape = { .rank = 2, .dim = { wf_array_shape(block).dim[0], LANES } };
    uint64_t first = r->random.first + counter;
    wf_graph *g = wfl_begin(r->ctx, NULL);
    wf_val at = wf_add(wf_mul(wf_cast(wf_iota(g, shape, 0), WF_U64), LANES), wf_cast(wf_iota(g, shape, 1), WF_U64));
    wf_val w[4], v[4];
    words_of(g, &r->random, first, at, w);
    draw_values(g, r, w, v);
    wf_array *row[4] = { NULL };
    bool whole = true;
    for (int i = 0; i < r->values; ++i) {
        row[i] = wf_view_at(block, 1, i);
        whole = whole && row[i];
        wf_out(g, row[i], wfl_is_complex_dtype(r->dtype) ? wf_complex(v[2 * i], v[2 * i + 1]) : v[i]);
    }
    wf_status status = whole ? wf_run(g) : wfl_array_error(r->ctx);
    if (!whole)
        wf_drop(g);
    for (int i = 0; i < r->values; ++i)
        wf_release(row[i]);
    return status;
}

/* Returns a view of the first n blocks of a flat array. */
static wf_array *blocks_of(wf_array *flat, int64_t n, int values)
{
    wf_array *part = wf_view_slice(flat, 0, 0, n * values * LANES, 1);
    wf_array *block = part ? wf_view_reshape(part, WF_SHAPE(n, values, LANES)) : NULL;
    wf_release(part);
    return block;
}

static wf_status fill_flat(const generator *r, wf_array *flat)
{
    int64_t n = wf_array_count(flat), per = (int64_t)r->values * LANES, whole = n / per, rest = n - whole * per;
    wf_status status = WF_OK;
    if (whole) {
        wf_array *block = blocks_of(flat, whole, r->values);
        status = block ? fill_blocks(r, block, 0) : wfl_array_error(r->ctx);
        wf_release(block);
    }
    if (status != WF_OK || !rest)
        return status;
    wf_array *spare = wfl_array_beside(flat, r->dtype, &WF_SHAPE(per)),
             *block = spare ? blocks_of(spare, 1, r->values) : NULL;
    status = block ? fill_blocks(r, block, (uint64_t)(whole * LANES)) : wfl_array_error(r->ctx);
    wf_array *to = wf_view_slice(flat, 0, whole * per, n, 1),
             *from = spare ? wf_view_slice(spare, 0, 0, rest, 1) : NULL;
    if (status == WF_OK)
        status = to && from ? wf_array_assign(to, from) : wfl_array_error(r->ctx);
    wf_array *all[] = { spare, block, to, from };
    for (int i = 0; i < 4; ++i)
        wf_release(all[i]);
    return status;
}

/* Fills a distributed array: each point draws the values of its counter, and takes the one of its place. */
static wf_status fill_points(const generator *r, wf_array *array)
{
    const wf_shape shape = wf_array_shape(array);
    const bool complex = wfl_is_complex_dtype(r->dtype);
    wf_graph *g = wfl_begin(r->ctx, NULL, .shape = shape);
    wf_val place = wf_const(g, WF_I64, 0), w[4], v[4], taken = { { 0, NULL } };
    for (int d = 0; d < shape.rank; ++d)
        place = wf_add(wf_mul(place, wf_extent(g, d)), wf_index(g, d));
    const double per = (double)r->values * LANES;
    wf_val row = wf_mod(wf_idiv(place, (double)LANES), (double)r->values);
    wf_val at = wf_add(wf_mul(wf_idiv(place, per), (double)LANES), wf_mod(place, (double)LANES));
    words_of(g, &r->random, r->random.first, wf_cast(at, WF_U64), w);
    draw_values(g, r, w, v);
    for (int i = 0; i < r->values; ++i) {
        wf_val value = complex ? wf_complex(v[2 * i], v[2 * i + 1]) : v[i];
        taken = i ? wf_select(wf_eq(row, (double)i), value, taken) : value;
    }
    wf_out(g, array, taken);
    return wfl_run_into(g, array);
}

static wf_status fill_random(generator *r, wf_array *array)
{
    bool complex = wfl_is_complex_dtype(r->dtype);
    r->wide =
        r->kind == MAPPED || (r->kind != BITS && (r->dtype < WF_F16 || r->dtype == WF_F64 || r->dtype == WF_C128));
    r->values = (r->wide ? 2 : 4) / (complex ? 2 : 1);
    if (wf_array_ranks(array))
        return fill_points(r, array);
    /* The array itself, or a new one that is copied to it. */
    wf_array *packed = wf_array_is_packed(array) ? wf_retain(array) : wf_like(array);
    wf_array *flat = packed ? wf_view_reshape(packed, WF_SHAPE(wf_array_count(array))) : NULL;
    wf_status status = flat ? fill_flat(r, flat) : wfl_array_error(r->ctx);
    if (status == WF_OK && packed != array)
        status = wf_array_assign(array, packed);
    wf_release(flat);
    wf_release(packed);
    return status;
}

static wf_status begin_random(generator *r, wf_array *array, wf_random random, kind what, double a, double b)
{
    *r = (generator){
        .ctx = wf_array_context(array), .random = random, .kind = what, .dtype = wf_array_dtype(array), .a = a, .b = b
    };
    return r->ctx ? WF_OK : WF_ERR_ARG;
}

static wf_status refuse_dtype(const generator *r, const char *function, const char *what)
{
    return wfl_array_fail(r->ctx, WF_ERR_DTYPE, "%s: an array of %s, not %s", function, wf_dtype_name(r->dtype), what);
}

wf_status wf_array_random_bits(wf_array *array, wf_random random)
{
    generator r;
    if (begin_random(&r, array, random, BITS, 0, 0) != WF_OK)
        return WF_ERR_ARG;
    if (r.dtype != WF_U32 && r.dtype != WF_I32)
        return refuse_dtype(&r, "wf_array_random_bits", "u32 or i32");
    return fill_random(&r, array);
}

/* True if lo and hi - 1 are integers of the dtype. */
static bool range_fits(wf_dtype t, double lo, double hi)
{
    int bits = 8 * (int)wf_dtype_size(t);
    bool is_signed = wf_dtype_kind(t) == WF_KIND_SIGNED;
    double least = is_signed ? -ldexp(1, bits - 1) : 0, most = ldexp(1, is_signed ? bits - 1 : bits);
    return lo == floor(lo) && hi == floor(hi) && lo >= least && hi <= most && fabs(lo) <= 0x1p52 &&
           fabs(hi) <= 0x1p52 && hi - lo < 0x1p53;
}

static WFL_APART wf_status fill_uniform(wf_array *array, wf_random random, double lo, double hi)
{
    generator r;
    if (begin_random(&r, array, random, UNIFORM, lo, hi) != WF_OK)
        return WF_ERR_ARG;
    if (r.dtype == WF_BOOL)
        return refuse_dtype(&r, "wf_array_random_uniform", "numbers");
    wf_dtype part = wf_dtype_part(r.dtype);
    bool wide = part == WF_F64 || part < WF_F16;
    double most = wide ? DBL_MAX : (double)FLT_MAX;
    bool fits = lo >= -most && hi <= most && hi - lo <= most && (wide ? lo < hi : (float)lo < (float)hi);
    if (!fits || (part < WF_F16 && !range_fits(part, lo, hi)))
        return wfl_array_fail(r.ctx, WF_ERR_ARG, "wf_array_random_uniform: %s has no values from %g to below %g",
                              wf_dtype_name(r.dtype), lo, hi);
    return fill_random(&r, array);
}

wf_status wf_array_random_uniform(wf_array *array, wf_random random, double lo, double hi)
{
    fenv_t floats;
    wfl_floats_begin(&floats);
    wf_status status = fill_uniform(array, random, lo, hi);
    wfl_floats_end(&floats);
    return status;
}

static wf_status fill_normal(wf_array *array, wf_random random, kind what, double mean, double deviation,
                             const char *function)
{
    generator r;
    if (begin_random(&r, array, random, what, mean, deviation) != WF_OK)
        return WF_ERR_ARG;
    if (r.dtype < WF_F16 || (what == LOGNORMAL && wfl_is_complex_dtype(r.dtype)))
        return refuse_dtype(&r, function, what == LOGNORMAL ? "floats" : "floats or complex numbers");
    if (!isfinite(mean) || !(deviation >= 0) || !isfinite(deviation))
        return wfl_array_fail(r.ctx, WF_ERR_ARG,
                              "%s: mean %g, deviation %g; both must be finite, the deviation not below 0", function,
                              mean, deviation);
    return fill_random(&r, array);
}

wf_status wf_array_random_normal(wf_array *array, wf_random random, double mean, double deviation)
{
    return fill_normal(array, random, NORMAL, mean, deviation, "wf_array_random_normal");
}

wf_status wf_array_random_lognormal(wf_array *array, wf_random random, double mean, double deviation)
{
    return fill_normal(array, random, LOGNORMAL, mean, deviation, "wf_array_random_lognormal");
}

wf_status wfl_array_random_mapped(wf_array *array, wf_random random, wfl_of_unit *of, const void *user)
{
    generator r;
    if (begin_random(&r, array, random, MAPPED, 0, 0) != WF_OK)
        return WF_ERR_ARG;
    r.of = of;
    r.user = user;
    return fill_random(&r, array);
}
