/* expand.c - operations without a meaning of their own (EXPAND in ops.def) as other operations.
 *
 * The nodes built here define these functions everywhere. The interpreter and the constant folder evaluate the same
 * nodes that become vector code and device code, so all give the same bits. Code is free of branches (both sides
 * of a select are computed); only arguments of sin, cos, tan beyond the fast reduction go through a COLD node.
 */
#include "ir/math/math.h"

/* ---- dispatch ---- */
typedef wf__ref function1(const wf__math *m, wf__ref x);
static function1 *const plain1[WF__OP_COUNT] = {
    [WF__OP_rsqrt] = wf__m_rsqrt,   [WF__OP_cbrt] = wf__m_cbrt,     [WF__OP_exp] = wf__m_exp,
    [WF__OP_exp2] = wf__m_exp2,     [WF__OP_exp10] = wf__m_exp10,   [WF__OP_expm1] = wf__m_expm1,
    [WF__OP_log] = wf__m_log,       [WF__OP_log2] = wf__m_log2,     [WF__OP_log10] = wf__m_log10,
    [WF__OP_log1p] = wf__m_log1p,   [WF__OP_tanh] = wf__m_tanh,     [WF__OP_asinh] = wf__m_asinh,
    [WF__OP_acosh] = wf__m_acosh,   [WF__OP_atanh] = wf__m_atanh,   [WF__OP_sinc] = wf__m_sinc,
    [WF__OP_erf] = wf__m_erf,       [WF__OP_erfc] = wf__m_erfc,     [WF__OP_erfinv] = wf__m_erfinv,
    [WF__OP_tgamma] = wf__m_tgamma, [WF__OP_lgamma] = wf__m_lgamma,
};

wf__ref wf__expand1(wf__ir *ir, unsigned op, wf__ref a)
{
    if (ir->status != WF_OK || !a)
        return 0;
    wf__math math = wf__math_of(ir, a), *m = &math;
    if (op < WF__OP_COUNT && plain1[op])
        return plain1[op](m, a);
    switch (op) {
    case WF__OP_rcp:
        return m_div(m, m_k(m, 1), a);
    case WF__OP_sin:
    case WF__OP_cos:
    case WF__OP_tan:
        return wf__m_trig(m, op, a);
    case WF__OP_sinpi:
    case WF__OP_cospi:
    case WF__OP_tanpi:
        return wf__m_trigpi(m, op, a);
    case WF__OP_asin:
    case WF__OP_asinpi:
        return wf__m_asin(m, a, op == WF__OP_asinpi);
    case WF__OP_acos:
    case WF__OP_acospi:
        return wf__m_acos(m, a, op == WF__OP_acospi);
    case WF__OP_atan:
    case WF__OP_atanpi:
        return wf__m_atan(m, a, op == WF__OP_atanpi);
    case WF__OP_j0:
    case WF__OP_j1:
        return wf__m_bessel_j(m, op, a);
    case WF__OP_digamma:
    case WF__OP_trigamma:
        return wf__m_polygamma(m, op, a);
    case WF__OP_i0:
    case WF__OP_i1:
        return wf__m_bessel_i(m, op, a);
    case WF__OP_sinh:
    case WF__OP_cosh:
        return wf__m_sinh_cosh(m, op, a);
    default:
        return wf__expand_basic(ir, op, a, 0);
    }
}

wf__ref wf__expand2(wf__ir *ir, unsigned op, wf__ref a, wf__ref b)
{
    if (ir->status != WF_OK || !a || !b)
        return 0;
    wf__math math = wf__math_of(ir, a);
    switch (op) {
    case WF__OP_pow:
        return wf__m_pow(&math, a, b);
    case WF__OP_atan2:
    case WF__OP_atan2pi:
        return wf__m_atan2(&math, a, b, op == WF__OP_atan2pi);
    case WF__OP_hypot:
        return wf__m_hypot(&math, a, b);
    case WF__OP_mod:
        return wf__m_mod(&math, a, b, false);
    case WF__OP_floor_mod:
        return wf__is_float(wf__dtype(ir, a)) ? wf__m_mod(&math, a, b, true) : wf__expand_basic(ir, op, a, b);
    default:
        return wf__expand_basic(ir, op, a, b);
    }
}

wf__ref wf__expand3(wf__ir *ir, unsigned op, wf__ref a, wf__ref b, wf__ref c)
{
    if (ir->status != WF_OK || !a || !b || !c)
        return 0;
    if (op != WF__OP_clamp)
        return wf__expand_basic(ir, op, a, b);
    wf__ref low = wf__op2(ir, WF__OP_max, a, b);
    return wf__op2(ir, WF__OP_min, low, c);
}

/* ---- rare paths ---- */
wf__ref wf__cold_body(wf__ir *ir, wf__cold_id id, const wf__ref *args, uint32_t n)
{
    static const unsigned ops[WF__COLD_COUNT] = {
        [WF__COLD_SIN_F32] = WF__OP_sin, [WF__COLD_COS_F32] = WF__OP_cos, [WF__COLD_TAN_F32] = WF__OP_tan,
        [WF__COLD_SIN_F64] = WF__OP_sin, [WF__COLD_COS_F64] = WF__OP_cos, [WF__COLD_TAN_F64] = WF__OP_tan,
    };
    bool two = id == WF__COLD_MOD_F32 || id == WF__COLD_MOD_F64;
    if (n != (two ? 2 : 1) || id <= WF__COLD_NONE || id >= WF__COLD_COUNT) {
        wf__ir_fail(ir, WF_ERR_UNSUPPORTED, "cold path %d: not known", (int)id);
        return 0;
    }
    if (ir->status != WF_OK || !args[0] || (two && !args[1]))
        return 0;
    wf__math math = wf__math_of(ir, args[0]);
    switch (id) {
    case WF__COLD_MOD_F32:
    case WF__COLD_MOD_F64:
        return wf__m_mod_far(&math, args[0], args[1]);
    case WF__COLD_ERFINV_F32:
    case WF__COLD_ERFINV_F64:
        return wf__m_erfinv_tail(&math, args[0]);
    case WF__COLD_TGAMMA_F32:
    case WF__COLD_TGAMMA_F64:
        return wf__m_tgamma_negative(&math, args[0]);
    case WF__COLD_LGAMMA_F32:
    case WF__COLD_LGAMMA_F64:
        return wf__m_lgamma_negative(&math, args[0]);
    case WF__COLD_DIGAMMA_F32:
    case WF__COLD_DIGAMMA_F64:
        return wf__m_digamma_negative(&math, args[0]);
    case WF__COLD_TRIGAMMA_F32:
    case WF__COLD_TRIGAMMA_F64:
        return wf__m_trigamma_negative(&math, args[0]);
    default:
        return wf__m_trig_big(&math, ops[id], args[0]);
    }
}
