/* ulp_exact.h - functions that MPFR lacks or has with another signature, to any precision. */
#ifndef ULP_EXACT_H
#define ULP_EXACT_H
#include <mpfr.h>

int ulp_rcp(mpfr_t r, const mpfr_t x, mpfr_rnd_t how);
int ulp_sinc(mpfr_t r, const mpfr_t x, mpfr_rnd_t how);
int ulp_erfinv(mpfr_t r, const mpfr_t x, mpfr_rnd_t how);
int ulp_i0(mpfr_t r, const mpfr_t x, mpfr_rnd_t how);
int ulp_i1(mpfr_t r, const mpfr_t x, mpfr_rnd_t how);
int ulp_trigamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t how);
int ulp_lgamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t how);
#endif
