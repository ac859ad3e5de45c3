/* number.h - binary floating-point formats: exact rounding in all four directions, and conversions. The arithmetic is
 * on integers, except where IEEE 754 makes a host operation exact.
 */
#ifndef WEFT_EMU_NUMBER_H
#define WEFT_EMU_NUMBER_H
#include "emu/emu.h"

typedef enum emu_class { EMU_ZERO, EMU_FINITE, EMU_INF, EMU_NAN } emu_class;
/* (-1)^sign * mant * 2^exp. The top bit of the mantissa of a finite number is set. */
typedef struct emu_number {
    emu_class cls;
    bool sign;
    uint64_t mant;
    int exp;
} emu_number;

emu_number wfe_unpack(emu_type format, uint64_t bits); /* f16, bf16, f32, f64 */
emu_number wfe_from_int(uint64_t magnitude, bool sign);
uint64_t wfe_pack(emu_type format, emu_number x, emu_round rnd); /* a NaN becomes 0x7fff, 0x7fffffff, 0x7ff8... */
/* The integer that the number rounds to, clamped to the type. nan_is_zero: a NaN becomes 0 (section "cvt"). */
uint64_t wfe_to_int(emu_number x, emu_type to, emu_round rnd, bool nan_is_zero);
emu_number wfe_to_integral(emu_number x, emu_round rnd);

double wfe_to_double(emu_type format, uint64_t bits); /* exact */
uint64_t wfe_from_double(emu_type format, double x, emu_round rnd);
/* x + y rounded to odd, so that a second rounding, to 50 bits or fewer, gives the correctly rounded sum. */
double wfe_odd_sum(double x, double y);

static inline float emu_f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}
static inline uint64_t emu_bits32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double emu_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint64_t emu_bits64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
#endif
