/* alu_half.c - instructions on f16, bf16 and pairs of them (section "Half Precision Floating-Point Instructions"). A
 * result is computed in double, exactly or rounded to odd, and then rounded once.
 */
#include "emu/alu.h"
#include "emu/number.h"
#include <math.h>

static uint64_t canonical(const emu_inst *in, emu_type t, uint64_t bits)
{
    if (in->ftz && t == EMU_F16 && (bits & 0x7c00) == 0)
        bits &= 0x8000;
    uint64_t inf = t == EMU_F16 ? 0x7c00 : 0x7f80, one = t == EMU_F16 ? 0x3c00 : 0x3f80;
    bool nan = (bits & 0x7fff) > inf;
    if (in->sat)
        return nan || bits >> 15 ? 0 : bits > one ? one : bits;
    if (in->relu && !nan && bits >> 15)
        return 0;
    return bits;
}
static double value(const emu_inst *in, emu_type t, uint64_t bits)
{
    bits &= 0xffff;
    if (in->ftz && t == EMU_F16 && (bits & 0x7c00) == 0)
        bits &= 0x8000;
    return wfe_to_double(t, bits);
}
static uint64_t rounded(const emu_inst *in, emu_type t, double x)
{
    return canonical(in, t, wfe_from_double(t, x, EMU_RN));
}

typedef uint64_t (*half_fn)(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c);

static uint64_t sum(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return rounded(in, t, wfe_odd_sum(value(in, t, a), value(in, t, b)));
}
static uint64_t difference(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return rounded(in, t, wfe_odd_sum(value(in, t, a), -value(in, t, b)));
}
static uint64_t product(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return rounded(in, t, value(in, t, a) * value(in, t, b));
}
static uint64_t fused(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    return rounded(in, t, wfe_odd_sum(value(in, t, a) * value(in, t, b), value(in, t, c)));
}
static uint64_t extreme(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, bool most)
{
    uint64_t sign = in->xorsign ? (a ^ b) & 0x8000 : 0, mask = in->xorsign ? 0x7fff : 0xffff;
    a &= mask, b &= mask;
    double x = value(in, t, a), y = value(in, t, b);
    if (isnan(x) || isnan(y)) {
        if (in->nan || (isnan(x) && isnan(y)))
            return 0x7fff;
        return canonical(in, t, (isnan(x) ? b : a) | sign);
    }
    bool first = x == y ? (a >> 15) != most : most ? x > y : x < y;
    return canonical(in, t, (first ? a : b) | sign);
}
static uint64_t least(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return extreme(in, t, a, b, false);
}
static uint64_t greatest(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    return extreme(in, t, a, b, true);
}
static uint64_t magnitude(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return canonical(in, t, a & 0x7fff);
}
static uint64_t negated(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return canonical(in, t, (a ^ 0x8000) & 0xffff);
}
static uint64_t power2(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return rounded(in, t, exp2(value(in, t, a)));
}
static uint64_t hyper(const emu_inst *in, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return rounded(in, t, tanh(value(in, t, a)));
}
static uint64_t pair(const emu_inst *in, half_fn f, emu_type t, uint64_t a, uint64_t b, uint64_t c)
{
    return f(in, t, a >> 16 & 0xffff, b >> 16 & 0xffff, c >> 16 & 0xffff) << 16 |
           f(in, t, a & 0xffff, b & 0xffff, c & 0xffff);
}
static int order(const emu_inst *in, emu_type t, uint64_t a, uint64_t b)
{
    double x = value(in, t, a), y = value(in, t, b);
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

#define HALF_FNS(name, f)                               \
    EMU_FN(name##_f16, f(in, EMU_F16, a, b, c))         \
    EMU_FN(name##_bf16, f(in, EMU_BF16, a, b, c))       \
    EMU_FN(name##_f16x2, pair(in, f, EMU_F16, a, b, c)) \
    EMU_FN(name##_bf16x2, pair(in, f, EMU_BF16, a, b, c))
HALF_FNS(add, sum)
HALF_FNS(sub, difference)
HALF_FNS(mul, product)
HALF_FNS(fma, fused)
HALF_FNS(min, least)
HALF_FNS(max, greatest)
HALF_FNS(abs, magnitude)
HALF_FNS(neg, negated)
HALF_FNS(ex2, power2)
HALF_FNS(tanh, hyper)
EMU_FN(order_f16, (uint64_t)(int64_t)order(in, EMU_F16, a, b))
EMU_FN(order_bf16, (uint64_t)(int64_t)order(in, EMU_BF16, a, b))

#define HALF_ROWS(name)                                                                                   \
    { #name, EMU_F16, name##_f16 }, { #name, EMU_BF16, name##_bf16 }, { #name, EMU_F16X2, name##_f16x2 }, \
    {                                                                                                     \
#name, EMU_BF16X2, name##_bf16x2                                                                  \
    }
const emu_alu wfe_alu_half[] = {
    HALF_ROWS(add),
    HALF_ROWS(sub),
    HALF_ROWS(mul),
    HALF_ROWS(fma),
    HALF_ROWS(min),
    HALF_ROWS(max),
    HALF_ROWS(abs),
    HALF_ROWS(neg),
    HALF_ROWS(ex2),
    HALF_ROWS(tanh),
    { "order", EMU_F16, order_f16 },
    { "order", EMU_BF16, order_bf16 },
};
const unsigned wfe_alu_halves = sizeof wfe_alu_half / sizeof *wfe_alu_half;

emu_fn wfe_find_alu(const char *name, emu_type type)
{
    const emu_alu *tables[3] = { wfe_alu_int, wfe_alu_float, wfe_alu_half };
    unsigned counts[3] = { wfe_alu_ints, wfe_alu_floats, wfe_alu_halves };
    for (int t = 0; t < 3; t++)
        for (unsigned i = 0; i < counts[t]; i++)
            if (tables[t][i].type == type && !strcmp(tables[t][i].name, name))
                return tables[t][i].fn;
    return NULL;
}
