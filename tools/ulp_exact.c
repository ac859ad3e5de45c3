/* ulp_exact.c - functions that MPFR lacks or has with another signature, to any precision. */
#include "ulp_exact.h"
#include <math.h>
#include <stdbool.h>

int ulp_rcp(mpfr_t r, const mpfr_t x, mpfr_rnd_t how) { return mpfr_ui_div(r, 1, x, how); }
int ulp_sinc(mpfr_t r, const mpfr_t x, mpfr_rnd_t how)
{
    mpfr_t pi;
    mpfr_init2(pi, mpfr_get_prec(r) + 64);
    mpfr_const_pi(pi, how);
    mpfr_mul(pi, pi, x, how);
    mpfr_sinpi(r, x, how);
    mpfr_div(r, r, pi, how);
    mpfr_clear(pi);
    return 0;
}

/* Newton's iteration on erf. */
int ulp_erfinv(mpfr_t r, const mpfr_t x, mpfr_rnd_t how)
{
    mpfr_t f, d, one;
    mpfr_prec_t p = mpfr_get_prec(r) + 128;
    mpfr_inits2(p, f, d, one, (mpfr_ptr)0);
    mpfr_set_ui(one, 1, how);
    double v = mpfr_get_d(x, how), w = log1p(-v * v), b = 4.33 + w / 2;
    if (mpfr_cmpabs(x, one) >= 0 || v == 0)
        mpfr_set_d(r, v == 0 ? v : fabs(v) > 1 ? NAN : v * INFINITY, how);
    else {
        mpfr_t y;
        mpfr_init2(y, p);
        mpfr_set_d(y, copysign(sqrt(sqrt(b * b - w / 0.147) - b), v), how);
        if (fabs(v) < 1e-6) {
            mpfr_const_pi(y, how);
            mpfr_sqrt(y, y, how);
            mpfr_mul(y, y, x, how);
            mpfr_div_ui(y, y, 2, how);
        }
        for (int i = 0; i < 8; ++i) {
            if (fabs(v) > 0.5) { /* (erfc(|y|) - (1 - |x|)) */
                mpfr_abs(f, x, how);
                mpfr_ui_sub(f, 1, f, how);
                mpfr_abs(d, y, how);
                mpfr_erfc(d, d, how);
                mpfr_sub(f, f, d, how);
                if (v < 0)
                    mpfr_neg(f, f, how);
            } else {
                mpfr_erf(f, y, how);
                mpfr_sub(f, f, x, how);
            }
            mpfr_sqr(d, y, how);
            mpfr_exp(d, d, how);
            mpfr_mul(f, f, d, how);
            mpfr_const_pi(d, how);
            mpfr_sqrt(d, d, how);
            mpfr_mul(f, f, d, how);
            mpfr_div_ui(f, f, 2, how);
            mpfr_sub(y, y, f, how);
        }
        mpfr_set(r, y, how);
        mpfr_clear(y);
    }
    mpfr_clears(f, d, one, (mpfr_ptr)0);
    return 0;
}

/* The sum of (x/2)^(2k) / (k! (k + order)!). */
static int bessel_i_mpfr(mpfr_t r, const mpfr_t x, mpfr_rnd_t how, unsigned order)
{
    if (!mpfr_number_p(x) || fabs(mpfr_get_d(x, how)) > 800) {
        mpfr_abs(r, x, how);
        if (mpfr_number_p(x))
            mpfr_set_inf(r, 1);
        return 0;
    }
    mpfr_t z, term;
    mpfr_inits2(mpfr_get_prec(r) + 64, z, term, (mpfr_ptr)0);
    mpfr_sqr(z, x, how);
    mpfr_div_ui(z, z, 4, how);
    mpfr_set_ui(term, 1, how);
    mpfr_set_ui(r, 1, how);
    for (unsigned k = 1; k < 3000; ++k) {
        mpfr_mul(term, term, z, how);
        mpfr_div_ui(term, term, k, how);
        mpfr_div_ui(term, term, k + order, how);
        mpfr_add(r, r, term, how);
        if (mpfr_zero_p(term) || mpfr_get_exp(term) < mpfr_get_exp(r) - 300)
            break;
    }
    mpfr_clears(z, term, (mpfr_ptr)0);
    return 0;
}
int ulp_i0(mpfr_t r, const mpfr_t x, mpfr_rnd_t how) { return bessel_i_mpfr(r, x, how, 0); }
int ulp_i1(mpfr_t r, const mpfr_t x, mpfr_rnd_t how)
{
    bessel_i_mpfr(r, x, how, 1);
    mpfr_mul(r, r, x, how);
    mpfr_div_ui(r, r, 2, how);
    return 0;
}
/* 1/x + 1/(2x^2) and the sum of B_2k / x^(2k+1) from 64 on, to which recurrence leads; below 0, by reflection. */
int ulp_trigamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t how)
{
    if (!mpfr_number_p(x) || mpfr_sgn(x) <= 0) {
        if (mpfr_integer_p(x))
            mpfr_set_inf(r, 1);
        else if (mpfr_inf_p(x) && mpfr_sgn(x) > 0)
            mpfr_set_ui(r, 0, how);
        else
            mpfr_set_nan(r);
        if (!mpfr_number_p(x) || mpfr_integer_p(x))
            return 0;
    }
    mpfr_t t, z, term, factor, sum;
    mpfr_prec_t p = mpfr_get_prec(r) + 64;
    mpfr_inits2(p, t, z, term, factor, sum, (mpfr_ptr)0);
    bool negative = mpfr_sgn(x) < 0;
    mpfr_set(t, x, how);
    if (negative)
        mpfr_ui_sub(t, 1, x, how);
    mpfr_set_ui(sum, 0, how);
    for (; mpfr_cmp_ui(t, 64) < 0; mpfr_add_ui(t, t, 1, how)) {
        mpfr_sqr(term, t, how);
        mpfr_ui_div(term, 1, term, how);
        mpfr_add(sum, sum, term, how);
    }
    mpfr_ui_div(factor, 1, t, how);
    mpfr_add(sum, sum, factor, how);
    mpfr_sqr(term, factor, how);
    mpfr_div_ui(term, term, 2, how);
    mpfr_add(sum, sum, term, how);
    mpfr_const_pi(z, how);
    mpfr_mul(z, z, t, how);
    mpfr_mul_ui(z, z, 2, how);
    mpfr_sqr(z, z, how);
    mpfr_mul_ui(factor, factor, 2, how);
    for (unsigned long k = 1; k < 100; ++k) { /* B_2k = +-2 (2k)! zeta(2k) / (2 pi)^(2k) */
        mpfr_mul_ui(factor, factor, 2 * k * (2 * k - 1), how);
        mpfr_div(factor, factor, z, how);
        mpfr_zeta_ui(term, 2 * k, how);
        mpfr_mul(term, term, factor, how);
        if (mpfr_zero_p(term) || mpfr_get_exp(term) < mpfr_get_exp(sum) - p)
            break;
        if (k % 2)
            mpfr_add(sum, sum, term, how);
        else
            mpfr_sub(sum, sum, term, how);
    }
    if (negative) {
        mpfr_const_pi(term, how);
        mpfr_sinpi(z, x, how);
        mpfr_div(term, term, z, how);
        mpfr_sqr(term, term, how);
        mpfr_sub(sum, term, sum, how);
    }
    mpfr_set(r, sum, how);
    mpfr_clears(t, z, term, factor, sum, (mpfr_ptr)0);
    return 0;
}
int ulp_lgamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t how)
{
    int sign;
    return mpfr_lgamma(r, &sign, x, how);
}
