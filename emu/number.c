/* number.c - implements number.h. */
#include "emu/number.h"
#include <math.h>

typedef struct format {
    int precision, bias, bits; /* precision: bits of the mantissa, with the hidden one */
} format;

static format format_of(emu_type t)
{
    switch (t) {
    case EMU_F16:
        return (format){ 11, 15, 16 };
    case EMU_BF16:
        return (format){ 8, 127, 16 };
    case EMU_F32:
        return (format){ 24, 127, 32 };
    default:
        return (format){ 53, 1023, 64 };
    }
}

unsigned wfe_size(emu_type t)
{
    static const uint8_t sizes[EMU_TYPES] = { 0, 1, 2, 4, 8, 16, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 2, 4, 4, 8, 1 };
    return sizes[t];
}
bool wfe_is_signed(emu_type t) { return t >= EMU_S8 && t <= EMU_S64; }
bool wfe_is_float(emu_type t) { return t >= EMU_F16 && t <= EMU_F64; }
const char *wfe_type_name(emu_type t)
{
    static const char *const names[EMU_TYPES] = { "none", "b8",    "b16",  "b32",    "b64", "b128", "u8",
                                                  "u16",  "u32",   "u64",  "s8",     "s16", "s32",  "s64",
                                                  "f16",  "f16x2", "bf16", "bf16x2", "f32", "f64",  "pred" };
    return names[t];
}

static emu_number normal(emu_number x)
{
    if (x.mant == 0) {
        x.cls = EMU_ZERO;
        return x;
    }
    int shift = __builtin_clzll(x.mant);
    x.mant <<= shift;
    x.exp -= shift;
    return x;
}

emu_number wfe_from_int(uint64_t magnitude, bool sign)
{
    return normal((emu_number){ .cls = EMU_FINITE, .sign = sign, .mant = magnitude });
}

emu_number wfe_unpack(emu_type t, uint64_t bits)
{
    format f = format_of(t);
    int mant_bits = f.precision - 1, exp_bits = f.bits - f.precision;
    uint64_t mant = bits & (((uint64_t)1 << mant_bits) - 1);
    int exp = (int)(bits >> mant_bits & (((uint64_t)1 << exp_bits) - 1));
    emu_number x = { .cls = EMU_FINITE, .sign = bits >> (f.bits - 1) & 1, .mant = mant };
    if (exp == (1 << exp_bits) - 1) {
        x.cls = mant ? EMU_NAN : EMU_INF;
        return x;
    }
    if (exp != 0)
        x.mant |= (uint64_t)1 << mant_bits;
    x.exp = (exp ? exp : 1) - f.bias - mant_bits;
    return normal(x);
}

/* mant >> shift, rounded, for shift >= 0. */
static uint64_t shifted(uint64_t mant, int shift, bool sign, emu_round rnd)
{
    if (shift == 0)
        return mant;
    uint64_t kept = shift > 63 ? 0 : mant >> shift;
    uint64_t rest = shift > 63 ? mant : mant << (64 - shift); /* shift > 64: any value below half */
    uint64_t half = (uint64_t)1 << 63;
    bool up;
    switch (rnd) {
    case EMU_RZ:
        up = false;
        break;
    case EMU_RM:
        up = sign && rest != 0;
        break;
    case EMU_RP:
        up = !sign && rest != 0;
        break;
    default:
        up = shift <= 64 && (rest > half || (rest == half && (kept & 1)));
        break;
    }
    return kept + up;
}

uint64_t wfe_pack(emu_type t, emu_number x, emu_round rnd)
{
    format f = format_of(t);
    int mant_bits = f.precision - 1, exp_bits = f.bits - f.precision;
    uint64_t sign = (uint64_t)x.sign << (f.bits - 1), top = ((uint64_t)1 << exp_bits) - 1;
    if (x.cls == EMU_NAN)
        return t == EMU_F64 ? 0x7ff8000000000000u : ((uint64_t)1 << (f.bits - 1)) - 1;
    if (x.cls == EMU_INF)
        return sign | top << mant_bits;
    if (x.cls == EMU_ZERO)
        return sign;
    int exp = x.exp + 63 + f.bias; /* the biased exponent */
    int shift = 64 - f.precision;
    if (exp < 1) {
        shift += 1 - exp;
        exp = 1;
    }
    uint64_t mant = shifted(x.mant, shift > 1000 ? 1000 : shift, x.sign, rnd);
    if (mant >> f.precision) {
        mant >>= 1;
        exp++;
    }
    if (!(mant >> mant_bits))
        return sign | mant; /* subnormal */
    if (exp >= (int)top) {
        bool infinite = rnd == EMU_RN || (rnd == EMU_RP && !x.sign) || (rnd == EMU_RM && x.sign);
        return infinite ? sign | top << mant_bits : sign | ((top << mant_bits) - 1);
    }
    return sign | (uint64_t)exp << mant_bits | (mant & (((uint64_t)1 << mant_bits) - 1));
}

emu_number wfe_to_integral(emu_number x, emu_round rnd)
{
    if (x.cls != EMU_FINITE || x.exp >= 0)
        return x;
    int shift = -x.exp > 1000 ? 1000 : -x.exp;
    x.mant = shifted(x.mant, shift, x.sign, rnd);
    x.exp = 0;
    return normal(x);
}

uint64_t wfe_to_int(emu_number x, emu_type to, emu_round rnd, bool nan_is_zero)
{
    unsigned bits = 8 * wfe_size(to);
    uint64_t ones = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1, top = (uint64_t)1 << (bits - 1);
    bool is_signed = wfe_is_signed(to);
    if (x.cls == EMU_NAN)
        return nan_is_zero ? 0 : top;
    uint64_t most = is_signed ? top - 1 : ones, least = is_signed ? top : 0;
    if (x.cls == EMU_INF)
        return x.sign ? least : most;
    x = wfe_to_integral(x, rnd);
    if (x.cls == EMU_ZERO)
        return 0;
    if (x.exp > 0)
        return x.sign ? least : most;
    uint64_t magnitude = x.mant >> -x.exp;
    if (x.sign)
        return !is_signed ? 0 : magnitude >= top ? top : (~magnitude + 1) & ones;
    return magnitude > most ? most : magnitude;
}

double wfe_to_double(emu_type t, uint64_t bits)
{
    if (t == EMU_F64)
        return emu_f64(bits);
    if (t == EMU_F32)
        return (double)emu_f32(bits);
    if (t == EMU_BF16)
        return (double)emu_f32(bits << 16);
    return emu_f64(wfe_pack(EMU_F64, wfe_unpack(t, bits), EMU_RN));
}

uint64_t wfe_from_double(emu_type t, double x, emu_round rnd)
{
    return wfe_pack(t, wfe_unpack(EMU_F64, emu_bits64(x)), rnd);
}

double wfe_odd_sum(double x, double y)
{
    double s = x + y;
    if (!isfinite(s))
        return s;
    double part = s - x, error = (x - (s - part)) + (y - part);
    uint64_t bits = emu_bits64(s);
    if (error == 0 || (bits & 1))
        return s;
    bool away = (error > 0) == (s > 0);
    return emu_f64(away ? bits + 1 : bits - 1);
}
