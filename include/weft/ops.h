/* ops.h - GENERATED from src/ir/ops.def by tools/gen_ops.c; do not edit. Every operation is a real function.
 * Dtypes: C's usual conversions; a number takes the dtype of the operand beside it and must fit it. Integers of one
 * width, signed with unsigned, do not mix. A number beside a number is computed in double: wf_div(1, 3) is a third.
 * Errors: WF_ERR_DTYPE, also for wf_div of integers (use wf_idiv or cast) and for functions of floats of an integer.
 * Cost: one append to the recording. Reference: docs/reference/ops.md */

#ifndef WF_OPS_H
#define WF_OPS_H
#include "weft/macros.h"
#if defined(__GNUC__)
#pragma GCC system_header /* the conversions below elide braces on purpose */
#endif
#ifdef __cplusplus
extern "C" {
#endif
/* -a; integers wrap. Numbers. */
WF_API wf_val wf_neg(wf_val a);
/* |a|; the smallest integer stays as it is. Numbers. */
WF_API wf_val wf_abs(wf_val a);
/* bitwise not; logical not of bools. Bools and integers. */
WF_API wf_val wf_not(wf_val a);
/* square root, correctly rounded; NaN for a < 0. Floats. */
WF_API wf_val wf_sqrt(wf_val a);
/* 1 / sqrt(a). Floats. */
WF_API wf_val wf_rsqrt(wf_val a);
/* cube root. Floats. */
WF_API wf_val wf_cbrt(wf_val a);
/* 1 / a. Floats. */
WF_API wf_val wf_rcp(wf_val a);
/* largest integer <= a. Numbers. */
WF_API wf_val wf_floor(wf_val a);
/* smallest integer >= a. Numbers. */
WF_API wf_val wf_ceil(wf_val a);
/* nearest integer, ties to even. Numbers. */
WF_API wf_val wf_round(wf_val a);
/* nearest integer towards zero. Numbers. */
WF_API wf_val wf_trunc(wf_val a);
/* true for NaN. Numbers. */
WF_API wf_val wf_isnan(wf_val a);
/* true for an infinity. Numbers. */
WF_API wf_val wf_isinf(wf_val a);
/* false for NaN and infinities, else true. Numbers. */
WF_API wf_val wf_isfinite(wf_val a);
/* number of bits set. Integers. */
WF_API wf_val wf_popcount(wf_val a);
/* number of leading zero bits; the width for 0. Integers. */
WF_API wf_val wf_clz(wf_val a);
/* number of trailing zero bits; the width for 0. Integers. */
WF_API wf_val wf_ctz(wf_val a);
/* e to the a. Floats. */
WF_API wf_val wf_exp(wf_val a);
/* 2 to the a. Floats. */
WF_API wf_val wf_exp2(wf_val a);
/* 10 to the a. Floats. */
WF_API wf_val wf_exp10(wf_val a);
/* e to the a, minus 1; accurate near 0. Floats. */
WF_API wf_val wf_expm1(wf_val a);
/* natural logarithm; -inf for 0, NaN for a < 0. Floats. */
WF_API wf_val wf_log(wf_val a);
/* logarithm to base 2; -inf for 0, NaN for a < 0. Floats. */
WF_API wf_val wf_log2(wf_val a);
/* logarithm to base 10; -inf for 0, NaN for a < 0. Floats. */
WF_API wf_val wf_log10(wf_val a);
/* log(1 + a); accurate near 0; -inf for -1. Floats. */
WF_API wf_val wf_log1p(wf_val a);
/* sine of a in radians; NaN for infinities. Floats. */
WF_API wf_val wf_sin(wf_val a);
/* cosine of a in radians; NaN for infinities. Floats. */
WF_API wf_val wf_cos(wf_val a);
/* tangent of a in radians; NaN for infinities. Floats. */
WF_API wf_val wf_tan(wf_val a);
/* arc sine in radians; NaN for |a| > 1. Floats. */
WF_API wf_val wf_asin(wf_val a);
/* arc cosine in radians; NaN for |a| > 1. Floats. */
WF_API wf_val wf_acos(wf_val a);
/* arc tangent in radians. Floats. */
WF_API wf_val wf_atan(wf_val a);
/* sine of pi a; NaN for infinities. Floats. */
WF_API wf_val wf_sinpi(wf_val a);
/* cosine of pi a; NaN for infinities. Floats. */
WF_API wf_val wf_cospi(wf_val a);
/* tangent of pi a, special values as in C23. Floats. */
WF_API wf_val wf_tanpi(wf_val a);
/* asin(a) / pi. Floats. */
WF_API wf_val wf_asinpi(wf_val a);
/* acos(a) / pi. Floats. */
WF_API wf_val wf_acospi(wf_val a);
/* atan(a) / pi. Floats. */
WF_API wf_val wf_atanpi(wf_val a);
/* sin(pi a) / (pi a), 1 at 0: the normalised sinc, as in NumPy. Floats. */
WF_API wf_val wf_sinc(wf_val a);
/* hyperbolic sine. Floats. */
WF_API wf_val wf_sinh(wf_val a);
/* hyperbolic cosine. Floats. */
WF_API wf_val wf_cosh(wf_val a);
/* hyperbolic tangent. Floats. */
WF_API wf_val wf_tanh(wf_val a);
/* error function. Floats. */
WF_API wf_val wf_erf(wf_val a);
/* 1 - erf(a); accurate also where the result is small. Floats. */
WF_API wf_val wf_erfc(wf_val a);
/* inverse error function; NaN for |a| > 1. Floats. */
WF_API wf_val wf_erfinv(wf_val a);
/* gamma function; NaN for negative integers; inf for 0, -inf for -0. Floats. */
WF_API wf_val wf_tgamma(wf_val a);
/* logarithm of |gamma(a)|; inf for 0 and negative integers. Floats. */
WF_API wf_val wf_lgamma(wf_val a);
/* derivative of lgamma; NaN for negative integers and -inf; -inf for 0, inf for -0. Floats. */
WF_API wf_val wf_digamma(wf_val a);
/* derivative of digamma; inf for 0 and negative integers, NaN for -inf. Floats. */
WF_API wf_val wf_trigamma(wf_val a);
/* Bessel function of the first kind, order 0. Floats. */
WF_API wf_val wf_j0(wf_val a);
/* Bessel function of the first kind, order 1. Floats. */
WF_API wf_val wf_j1(wf_val a);
/* modified Bessel function of the first kind, order 0. Floats. */
WF_API wf_val wf_i0(wf_val a);
/* modified Bessel function of the first kind, order 1. Floats. */
WF_API wf_val wf_i1(wf_val a);
/* -1, 0 or 1; zeros and NaN stay as they are; a / |a| of complex numbers. Numbers. */
WF_API wf_val wf_sign(wf_val a);
/* true for negative numbers and -0; false for NaN. Numbers. */
WF_API wf_val wf_signbit(wf_val a);
/* bits in reverse order. Integers. */
WF_API wf_val wf_brev(wf_val a);
/* fraction f of a = f * 2^e, 0.5 <= |f| < 1; 0, infinities and NaN stay as they are. Floats. */
WF_API wf_val wf_frexp(wf_val a);
/* exponent e of a = f * 2^e, 0.5 <= |f| < 1, as a float; 0 for 0, infinities and NaN. Floats. */
WF_API wf_val wf_frexp_exp(wf_val a);
/* inverse hyperbolic sine. Floats. */
WF_API wf_val wf_asinh(wf_val a);
/* inverse hyperbolic cosine; NaN for a < 1. Floats. */
WF_API wf_val wf_acosh(wf_val a);
/* inverse hyperbolic tangent; NaN for |a| > 1. Floats. */
WF_API wf_val wf_atanh(wf_val a);
/* real part, of the parts' dtype; a real number stays as it is. Any dtype. */
WF_API wf_val wf_real(wf_val a);
/* imaginary part, of the parts' dtype; 0 for a real number. Any dtype. */
WF_API wf_val wf_imag(wf_val a);
/* complex conjugate. Any dtype. */
WF_API wf_val wf_conj(wf_val a);
/* angle in radians: atan2(imag(a), real(a)). Any dtype. */
WF_API wf_val wf_phase(wf_val a);
/* a + b; integers wrap. Numbers. */
WF_API wf_val wf_add(wf_val a, wf_val b);
/* a - b; integers wrap. Numbers. */
WF_API wf_val wf_sub(wf_val a, wf_val b);
/* a * b; integers wrap. Numbers. */
WF_API wf_val wf_mul(wf_val a, wf_val b);
/* upper half of the double-width product. Integers. */
WF_API wf_val wf_mulhi(wf_val a, wf_val b);
/* a / b; idiv divides integers. Floats. */
WF_API wf_val wf_div(wf_val a, wf_val b);
/* a / b rounded towards zero; 0 for b = 0; wraps. Integers. */
WF_API wf_val wf_idiv(wf_val a, wf_val b);
/* exact remainder with the sign of a; b = 0 gives 0 for integers, NaN for floats. Numbers. */
WF_API wf_val wf_mod(wf_val a, wf_val b);
/* a / b rounded down; 0 for b = 0; wraps. Integers. */
WF_API wf_val wf_floor_div(wf_val a, wf_val b);
/* remainder with the sign of b, rounded once; b = 0 gives 0 for integers, NaN for floats. Numbers. */
WF_API wf_val wf_floor_mod(wf_val a, wf_val b);
/* smaller of a and b; NaN if either is NaN; -0 < +0. Numbers. */
WF_API wf_val wf_min(wf_val a, wf_val b);
/* larger of a and b; NaN if either is NaN; -0 < +0. Numbers. */
WF_API wf_val wf_max(wf_val a, wf_val b);
/* smaller of a and b; a NaN is ignored. Numbers. */
WF_API wf_val wf_fmin(wf_val a, wf_val b);
/* larger of a and b; a NaN is ignored. Numbers. */
WF_API wf_val wf_fmax(wf_val a, wf_val b);
/* a to the b, special values as in C. Floats. */
WF_API wf_val wf_pow(wf_val a, wf_val b);
/* angle of the point (b, a) in radians, special values as in C. Floats. */
WF_API wf_val wf_atan2(wf_val a, wf_val b);
/* atan2(a, b) / pi, special values as in C23. Floats. */
WF_API wf_val wf_atan2pi(wf_val a, wf_val b);
/* sqrt(a a + b b) without intermediate overflow; inf if either is infinite. Floats. */
WF_API wf_val wf_hypot(wf_val a, wf_val b);
/* |a| with the sign of b; |a| for a NaN b. Floats. */
WF_API wf_val wf_copysign(wf_val a, wf_val b);
/* the next value after a in the direction of b; b if they are equal. Floats. */
WF_API wf_val wf_nextafter(wf_val a, wf_val b);
/* a * 2^b rounded once; b is truncated to an integer. Floats. */
WF_API wf_val wf_ldexp(wf_val a, wf_val b);
/* the complex number a + i b. Any dtype. */
WF_API wf_val wf_complex(wf_val a, wf_val b);
/* the complex number of absolute value a and angle b in radians. Any dtype. */
WF_API wf_val wf_polar(wf_val a, wf_val b);
/* bitwise and; logical and of bools. Bools and integers. */
WF_API wf_val wf_and(wf_val a, wf_val b);
/* bitwise or; logical or of bools. Bools and integers. */
WF_API wf_val wf_or(wf_val a, wf_val b);
/* bitwise exclusive or. Bools and integers. */
WF_API wf_val wf_xor(wf_val a, wf_val b);
/* a shifted left by b; 0 for b outside 0..width-1. Integers. */
WF_API wf_val wf_shl(wf_val a, wf_val b);
/* a shifted right by b, filled with the sign; only sign bits for b outside 0..width-1. Integers. */
WF_API wf_val wf_shr(wf_val a, wf_val b);
/* bits rotated left by b modulo the width. Integers. */
WF_API wf_val wf_rotl(wf_val a, wf_val b);
/* bits rotated right by b modulo the width. Integers. */
WF_API wf_val wf_rotr(wf_val a, wf_val b);
/* a == b; false if either is NaN. Any dtype. */
WF_API wf_val wf_eq(wf_val a, wf_val b);
/* a != b; true if either is NaN. Any dtype. */
WF_API wf_val wf_ne(wf_val a, wf_val b);
/* a < b; false if either is NaN. Any dtype. */
WF_API wf_val wf_lt(wf_val a, wf_val b);
/* a <= b; false if either is NaN. Any dtype. */
WF_API wf_val wf_le(wf_val a, wf_val b);
/* a > b; false if either is NaN. Any dtype. */
WF_API wf_val wf_gt(wf_val a, wf_val b);
/* a >= b; false if either is NaN. Any dtype. */
WF_API wf_val wf_ge(wf_val a, wf_val b);
/* a * b + c with one rounding. Numbers. */
WF_API wf_val wf_fma(wf_val a, wf_val b, wf_val c);
/* a ? b : c; b and c are both evaluated. Any dtype. */
WF_API wf_val wf_select(wf_val a, wf_val b, wf_val c);
/* min(max(a, b), c). Numbers. */
WF_API wf_val wf_clamp(wf_val a, wf_val b, wf_val c);
/* The functions above as a list, for front ends: F(name, number of operands, operands, result, complex).
 *   operands  NUM (integers and floats), INT, FLT, BITS (bools and integers), ANY, FIRST_BOOL (wf_select: a bool, then
 *             two of one dtype), or CPLX (makes complex numbers or takes them apart)
 *   result    SAME (the operands' dtype, or the last one's) or BOOL
 *   complex   1: complex operands are allowed; 0: they are not */
#define WF_OPERATIONS(F) \
    F(neg, 1, NUM, SAME, 1) \
    F(abs, 1, NUM, SAME, 1) \
    F(not, 1, BITS, SAME, 0) \
    F(sqrt, 1, FLT, SAME, 1) \
    F(rsqrt, 1, FLT, SAME, 0) \
    F(cbrt, 1, FLT, SAME, 0) \
    F(rcp, 1, FLT, SAME, 1) \
    F(floor, 1, NUM, SAME, 0) \
    F(ceil, 1, NUM, SAME, 0) \
    F(round, 1, NUM, SAME, 1) \
    F(trunc, 1, NUM, SAME, 0) \
    F(isnan, 1, NUM, BOOL, 1) \
    F(isinf, 1, NUM, BOOL, 1) \
    F(isfinite, 1, NUM, BOOL, 1) \
    F(popcount, 1, INT, SAME, 0) \
    F(clz, 1, INT, SAME, 0) \
    F(ctz, 1, INT, SAME, 0) \
    F(exp, 1, FLT, SAME, 1) \
    F(exp2, 1, FLT, SAME, 1) \
    F(exp10, 1, FLT, SAME, 0) \
    F(expm1, 1, FLT, SAME, 1) \
    F(log, 1, FLT, SAME, 1) \
    F(log2, 1, FLT, SAME, 1) \
    F(log10, 1, FLT, SAME, 1) \
    F(log1p, 1, FLT, SAME, 1) \
    F(sin, 1, FLT, SAME, 1) \
    F(cos, 1, FLT, SAME, 1) \
    F(tan, 1, FLT, SAME, 1) \
    F(asin, 1, FLT, SAME, 1) \
    F(acos, 1, FLT, SAME, 1) \
    F(atan, 1, FLT, SAME, 1) \
    F(sinpi, 1, FLT, SAME, 0) \
    F(cospi, 1, FLT, SAME, 0) \
    F(tanpi, 1, FLT, SAME, 0) \
    F(asinpi, 1, FLT, SAME, 0) \
    F(acospi, 1, FLT, SAME, 0) \
    F(atanpi, 1, FLT, SAME, 0) \
    F(sinc, 1, FLT, SAME, 0) \
    F(sinh, 1, FLT, SAME, 1) \
    F(cosh, 1, FLT, SAME, 1) \
    F(tanh, 1, FLT, SAME, 1) \
    F(erf, 1, FLT, SAME, 0) \
    F(erfc, 1, FLT, SAME, 0) \
    F(erfinv, 1, FLT, SAME, 0) \
    F(tgamma, 1, FLT, SAME, 0) \
    F(lgamma, 1, FLT, SAME, 0) \
    F(digamma, 1, FLT, SAME, 0) \
    F(trigamma, 1, FLT, SAME, 0) \
    F(j0, 1, FLT, SAME, 0) \
    F(j1, 1, FLT, SAME, 0) \
    F(i0, 1, FLT, SAME, 0) \
    F(i1, 1, FLT, SAME, 0) \
    F(sign, 1, NUM, SAME, 1) \
    F(signbit, 1, NUM, BOOL, 0) \
    F(brev, 1, INT, SAME, 0) \
    F(frexp, 1, FLT, SAME, 0) \
    F(frexp_exp, 1, FLT, SAME, 0) \
    F(asinh, 1, FLT, SAME, 1) \
    F(acosh, 1, FLT, SAME, 1) \
    F(atanh, 1, FLT, SAME, 1) \
    F(real, 1, CPLX, SAME, 1) \
    F(imag, 1, CPLX, SAME, 1) \
    F(conj, 1, CPLX, SAME, 1) \
    F(phase, 1, CPLX, SAME, 1) \
    F(add, 2, NUM, SAME, 1) \
    F(sub, 2, NUM, SAME, 1) \
    F(mul, 2, NUM, SAME, 1) \
    F(mulhi, 2, INT, SAME, 0) \
    F(div, 2, FLT, SAME, 1) \
    F(idiv, 2, INT, SAME, 0) \
    F(mod, 2, NUM, SAME, 0) \
    F(floor_div, 2, INT, SAME, 0) \
    F(floor_mod, 2, NUM, SAME, 0) \
    F(min, 2, NUM, SAME, 0) \
    F(max, 2, NUM, SAME, 0) \
    F(fmin, 2, NUM, SAME, 0) \
    F(fmax, 2, NUM, SAME, 0) \
    F(pow, 2, FLT, SAME, 1) \
    F(atan2, 2, FLT, SAME, 0) \
    F(atan2pi, 2, FLT, SAME, 0) \
    F(hypot, 2, FLT, SAME, 0) \
    F(copysign, 2, FLT, SAME, 0) \
    F(nextafter, 2, FLT, SAME, 0) \
    F(ldexp, 2, FLT, SAME, 0) \
    F(complex, 2, CPLX, SAME, 0) \
    F(polar, 2, CPLX, SAME, 0) \
    F(and, 2, BITS, SAME, 0) \
    F(or, 2, BITS, SAME, 0) \
    F(xor, 2, BITS, SAME, 0) \
    F(shl, 2, INT, SAME, 0) \
    F(shr, 2, INT, SAME, 0) \
    F(rotl, 2, INT, SAME, 0) \
    F(rotr, 2, INT, SAME, 0) \
    F(eq, 2, ANY, BOOL, 1) \
    F(ne, 2, ANY, BOOL, 1) \
    F(lt, 2, ANY, BOOL, 0) \
    F(le, 2, ANY, BOOL, 0) \
    F(gt, 2, ANY, BOOL, 0) \
    F(ge, 2, ANY, BOOL, 0) \
    F(fma, 3, NUM, SAME, 0) \
    F(select, 3, FIRST_BOOL, SAME, 1) \
    F(clamp, 3, NUM, SAME, 0)
/* Converts to dtype. Float to integer truncates and saturates, NaN gives 0; integers wrap; to bool: != 0. */
WF_API wf_val wf_cast(wf_val a, wf_dtype dtype);
/* The sine and cosine of a, in radians. With WF_FLAG_VALUE_NUMBERING they share nearly all work unless a is large. */
WF_API void wf_sincos(wf_val a, wf_val *sine, wf_val *cosine);
/* The same bits as a dtype of the same size. */
WF_API wf_val wf_bitcast(wf_val a, wf_dtype dtype);
#ifdef __cplusplus
}
#else
#define wf_neg(a) wf_neg(WF_V(a))
#define wf_abs(a) wf_abs(WF_V(a))
#define wf_not(a) wf_not(WF_V(a))
#define wf_sqrt(a) wf_sqrt(WF_V(a))
#define wf_rsqrt(a) wf_rsqrt(WF_V(a))
#define wf_cbrt(a) wf_cbrt(WF_V(a))
#define wf_rcp(a) wf_rcp(WF_V(a))
#define wf_floor(a) wf_floor(WF_V(a))
#define wf_ceil(a) wf_ceil(WF_V(a))
#define wf_round(a) wf_round(WF_V(a))
#define wf_trunc(a) wf_trunc(WF_V(a))
#define wf_isnan(a) wf_isnan(WF_V(a))
#define wf_isinf(a) wf_isinf(WF_V(a))
#define wf_isfinite(a) wf_isfinite(WF_V(a))
#define wf_popcount(a) wf_popcount(WF_V(a))
#define wf_clz(a) wf_clz(WF_V(a))
#define wf_ctz(a) wf_ctz(WF_V(a))
#define wf_exp(a) wf_exp(WF_V(a))
#define wf_exp2(a) wf_exp2(WF_V(a))
#define wf_exp10(a) wf_exp10(WF_V(a))
#define wf_expm1(a) wf_expm1(WF_V(a))
#define wf_log(a) wf_log(WF_V(a))
#define wf_log2(a) wf_log2(WF_V(a))
#define wf_log10(a) wf_log10(WF_V(a))
#define wf_log1p(a) wf_log1p(WF_V(a))
#define wf_sin(a) wf_sin(WF_V(a))
#define wf_cos(a) wf_cos(WF_V(a))
#define wf_tan(a) wf_tan(WF_V(a))
#define wf_asin(a) wf_asin(WF_V(a))
#define wf_acos(a) wf_acos(WF_V(a))
#define wf_atan(a) wf_atan(WF_V(a))
#define wf_sinpi(a) wf_sinpi(WF_V(a))
#define wf_cospi(a) wf_cospi(WF_V(a))
#define wf_tanpi(a) wf_tanpi(WF_V(a))
#define wf_asinpi(a) wf_asinpi(WF_V(a))
#define wf_acospi(a) wf_acospi(WF_V(a))
#define wf_atanpi(a) wf_atanpi(WF_V(a))
#define wf_sinc(a) wf_sinc(WF_V(a))
#define wf_sinh(a) wf_sinh(WF_V(a))
#define wf_cosh(a) wf_cosh(WF_V(a))
#define wf_tanh(a) wf_tanh(WF_V(a))
#define wf_erf(a) wf_erf(WF_V(a))
#define wf_erfc(a) wf_erfc(WF_V(a))
#define wf_erfinv(a) wf_erfinv(WF_V(a))
#define wf_tgamma(a) wf_tgamma(WF_V(a))
#define wf_lgamma(a) wf_lgamma(WF_V(a))
#define wf_digamma(a) wf_digamma(WF_V(a))
#define wf_trigamma(a) wf_trigamma(WF_V(a))
#define wf_j0(a) wf_j0(WF_V(a))
#define wf_j1(a) wf_j1(WF_V(a))
#define wf_i0(a) wf_i0(WF_V(a))
#define wf_i1(a) wf_i1(WF_V(a))
#define wf_sign(a) wf_sign(WF_V(a))
#define wf_signbit(a) wf_signbit(WF_V(a))
#define wf_brev(a) wf_brev(WF_V(a))
#define wf_frexp(a) wf_frexp(WF_V(a))
#define wf_frexp_exp(a) wf_frexp_exp(WF_V(a))
#define wf_asinh(a) wf_asinh(WF_V(a))
#define wf_acosh(a) wf_acosh(WF_V(a))
#define wf_atanh(a) wf_atanh(WF_V(a))
#define wf_real(a) wf_real(WF_V(a))
#define wf_imag(a) wf_imag(WF_V(a))
#define wf_conj(a) wf_conj(WF_V(a))
#define wf_phase(a) wf_phase(WF_V(a))
#define wf_add(a, b) wf_add(WF_V(a), WF_V(b))
#define wf_sub(a, b) wf_sub(WF_V(a), WF_V(b))
#define wf_mul(a, b) wf_mul(WF_V(a), WF_V(b))
#define wf_mulhi(a, b) wf_mulhi(WF_V(a), WF_V(b))
#define wf_div(a, b) wf_div(WF_V(a), WF_V(b))
#define wf_idiv(a, b) wf_idiv(WF_V(a), WF_V(b))
#define wf_mod(a, b) wf_mod(WF_V(a), WF_V(b))
#define wf_floor_div(a, b) wf_floor_div(WF_V(a), WF_V(b))
#define wf_floor_mod(a, b) wf_floor_mod(WF_V(a), WF_V(b))
#define wf_min(a, b) wf_min(WF_V(a), WF_V(b))
#define wf_max(a, b) wf_max(WF_V(a), WF_V(b))
#define wf_fmin(a, b) wf_fmin(WF_V(a), WF_V(b))
#define wf_fmax(a, b) wf_fmax(WF_V(a), WF_V(b))
#define wf_pow(a, b) wf_pow(WF_V(a), WF_V(b))
#define wf_atan2(a, b) wf_atan2(WF_V(a), WF_V(b))
#define wf_atan2pi(a, b) wf_atan2pi(WF_V(a), WF_V(b))
#define wf_hypot(a, b) wf_hypot(WF_V(a), WF_V(b))
#define wf_copysign(a, b) wf_copysign(WF_V(a), WF_V(b))
#define wf_nextafter(a, b) wf_nextafter(WF_V(a), WF_V(b))
#define wf_ldexp(a, b) wf_ldexp(WF_V(a), WF_V(b))
#define wf_complex(a, b) wf_complex(WF_V(a), WF_V(b))
#define wf_polar(a, b) wf_polar(WF_V(a), WF_V(b))
#define wf_and(a, b) wf_and(WF_V(a), WF_V(b))
#define wf_or(a, b) wf_or(WF_V(a), WF_V(b))
#define wf_xor(a, b) wf_xor(WF_V(a), WF_V(b))
#define wf_shl(a, b) wf_shl(WF_V(a), WF_V(b))
#define wf_shr(a, b) wf_shr(WF_V(a), WF_V(b))
#define wf_rotl(a, b) wf_rotl(WF_V(a), WF_V(b))
#define wf_rotr(a, b) wf_rotr(WF_V(a), WF_V(b))
#define wf_eq(a, b) wf_eq(WF_V(a), WF_V(b))
#define wf_ne(a, b) wf_ne(WF_V(a), WF_V(b))
#define wf_lt(a, b) wf_lt(WF_V(a), WF_V(b))
#define wf_le(a, b) wf_le(WF_V(a), WF_V(b))
#define wf_gt(a, b) wf_gt(WF_V(a), WF_V(b))
#define wf_ge(a, b) wf_ge(WF_V(a), WF_V(b))
#define wf_fma(a, b, c) wf_fma(WF_V(a), WF_V(b), WF_V(c))
#define wf_select(a, b, c) wf_select(WF_V(a), WF_V(b), WF_V(c))
#define wf_clamp(a, b, c) wf_clamp(WF_V(a), WF_V(b), WF_V(c))
#define wf_cast(a, dtype) wf_cast(WF_V(a), dtype)
#define wf_sincos(a, sine, cosine) wf_sincos(WF_V(a), sine, cosine)
#define wf_bitcast(a, dtype) wf_bitcast(WF_V(a), dtype)
#endif
#endif
