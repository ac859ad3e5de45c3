/* operands.c - operands of operations: what Python's objects become in a recording, and the dtypes in which they meet.
 *
 * Python's numbers are weak, as in NumPy: they take the dtype of the operand beside them, unless theirs is of a higher
 * kind (bool, int, float, complex). Then the operand is converted: to i64, to f64, or to a complex dtype. Signed and
 * unsigned integers meet in the next wider signed dtype that holds both, and whole powers of integers are integers. */
#include <string.h>

#include "operands.h"

const wfpy_row wfpy_rows[] = {
#define F(name, n, operands, result, complex) { #name, n, operands, (void (*)(void))(wf_##name) },
    WF_OPERATIONS(F)
#undef F
};

static wf_val number(double x) { return (wf_val){ { x, NULL } }; }

/* ---- operands ---- */

static bool is_literal(const operand *o) { return o->weak && !o->val.h.graph; }
/* The dtype of a Python number, or weak value, by itself. */
static wf_dtype own_dtype(wf_kind weak)
{
    return weak == WF_KIND_COMPLEX ? WF_C128 : weak == WF_KIND_FLOAT ? WF_F64 : weak == WF_KIND_BOOL ? WF_BOOL : WF_I64;
}

int wfpy_level(wf_kind kind)
{
    switch (kind) {
    case WF_KIND_NONE:
        return 0;
    case WF_KIND_BOOL:
        return 1;
    case WF_KIND_SIGNED:
    case WF_KIND_UNSIGNED:
        return 2;
    case WF_KIND_FLOAT:
        return 3;
    case WF_KIND_COMPLEX:
        return 4;
    }
    return 0;
}

static bool int_operand(PyObject *object, wf_graph *g, operand *o)
{
    int overflow;
    long long whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    const long long exact = 1ll << 53;
    o->weak = WF_KIND_SIGNED;
    o->negative = overflow < 0 || (overflow == 0 && whole < 0);
    if (overflow == 0 && whole > -exact && whole < exact) {
        o->val = number((double)whole);
        return !(whole == -1 && PyErr_Occurred());
    }
    if (!g) {
        o->val = number(PyLong_AsDouble(object));
        return !PyErr_Occurred();
    }
    unsigned long long bits = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 ||
        (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))) { /* no integer dtype holds the number */
        PyErr_Clear();
        o->val = number(PyLong_AsDouble(object));
    } else if (!PyErr_Occurred())
        o->val = overflow ? wf_const_i64(g, WF_U64, (int64_t)bits) : wf_const_i64(g, WF_I64, whole);
    return !PyErr_Occurred();
}

/* An array that is an operand of a recording: its element, or all of it. */
static bool array_operand(PyObject *object, wf_graph *g, operand *o)
{
    wfpy_array *a = (wfpy_array *)object;
    if (a->value && ((wfpy_value *)a->value)->val.h.graph == g)
        o->val = ((wfpy_value *)a->value)->val;
    else if (a->value && g == wfpy_trial())
        o->val = wfpy_stand_in(object, g);
    else {
        wf_array *array = wfpy_array_of(object);
        if (!array)
            return false;
        o->val = wf_in(g, array);
    }
    return true;
}

static bool typed_number(PyObject *array, wf_graph *g, operand *o)
{
    PyObject *element = PyObject_CallMethod(array, "item", NULL);
    wf_dtype dtype = wf_array_dtype(((wfpy_array *)array)->array);
    if (!element)
        return false;
    if (wf_dtype_kind(dtype) == WF_KIND_COMPLEX)
        o->val = wf_const_complex(g, dtype, PyComplex_RealAsDouble(element), PyComplex_ImagAsDouble(element));
    else if (wf_dtype_kind(dtype) == WF_KIND_FLOAT)
        o->val = wf_const(g, dtype, PyFloat_AsDouble(element));
    else if (dtype == WF_BOOL)
        o->val = wf_const(g, dtype, element == Py_True);
    else if (wf_dtype_kind(dtype) == WF_KIND_UNSIGNED)
        o->val = wf_const_i64(g, dtype, (int64_t)PyLong_AsUnsignedLongLong(element));
    else
        o->val = wf_const_i64(g, dtype, PyLong_AsLongLong(element));
    Py_DECREF(element);
    return !PyErr_Occurred();
}

wf_val wfpy_stand_in(PyObject *array, wf_graph *g)
{
    const wf_dtype dtype = wfpy_array_dtype(array);
    wf_val one = wf_dtype_kind(dtype) == WF_KIND_COMPLEX ? wf_const_complex(g, dtype, 1, 0) : wf_const(g, dtype, 1);
    return (wf_broadcast)(one, wfpy_array_shape(array));
}

bool wfpy_convert(PyObject *object, wf_graph *g, operand *o)
{
    o->weak = WF_KIND_NONE;
    o->negative = o->recorded = false;
    if (wfpy_is_value(object)) {
        wfpy_value *v = (wfpy_value *)object;
        if (!wfpy_graph_of(v->graph))
            return false;
        if (v->val.h.graph != g) {
            PyErr_SetString(wfpy.error[WF_ERR_CONTRACT], "the value belongs to another recording");
            return false;
        }
        o->val = v->val;
        o->weak = v->weak;
        o->recorded = v->weak;
        return true;
    }
    if (PyBool_Check(object)) {
        o->val = number(object == Py_True);
        o->weak = WF_KIND_BOOL;
        return true;
    }
    if (PyLong_Check(object))
        return int_operand(object, g, o);
    if (PyFloat_Check(object)) {
        o->val = number(PyFloat_AsDouble(object));
        o->weak = WF_KIND_FLOAT;
        return true;
    }
    if (PyComplex_Check(object)) {
        o->val = (wf_complex)(number(PyComplex_RealAsDouble(object)), number(PyComplex_ImagAsDouble(object)));
        o->weak = WF_KIND_COMPLEX;
        return true;
    }
    if (!g) {
        PyErr_Format(PyExc_TypeError, "%R is no number, array or value", object);
        return false;
    }
    if (wfpy_is_array(object))
        return array_operand(object, g, o);
    PyObject *array = wfpy_as_array(object, WF_NONE);
    if (!array)
        return false;
    const bool scalar = wf_array_shape(((wfpy_array *)array)->array).rank == 0;
    bool done = scalar ? typed_number(array, g, o) : array_operand(array, g, o);
    Py_DECREF(array);
    return done;
}

bool wfpy_operand(PyObject *object, PyObject *graph, wf_val *val)
{
    operand o = { .val = { { 0, NULL } } };
    wf_graph *g = wfpy_graph_of(graph);
    if (!g || !wfpy_convert(object, g, &o))
        return false;
    *val = o.val;
    return true;
}

/* ---- promotion and recording ---- */

static int typed_level(const operand *o) { return o->weak ? 0 : wfpy_level(wf_dtype_kind(wf_val_dtype(o->val))); }
static int level_of(const operand *o) { return o->weak ? wfpy_level(o->weak) : typed_level(o); }

static void cast_to(operand *o, wf_dtype dtype)
{
    if (!is_literal(o) && wf_val_dtype(o->val) != dtype)
        o->val = (wf_cast)(o->val, dtype);
}

/* A Python int beyond 2^53 beside operands of an integer dtype, which has to hold it. */
static void check_large(const operand *o, wf_dtype dtype)
{
    const bool fits = wf_dtype_kind(dtype) == WF_KIND_SIGNED ? wf_val_dtype(o->val) == WF_I64 : !o->negative;
    if (wf_dtype_size(dtype) < 8 || !fits)
        wf_fail(o->val.h.graph, WF_ERR_DTYPE, "a number does not fit the integers beside it; convert them first");
}

/* The signed dtype in which integers meet if an unsigned one of them is not narrower than a signed one; else WF_NONE. */
static wf_dtype joined_integers(const operand *o, int n)
{
    size_t with_sign = 0, without = 0;
    for (int i = 0; i < n; ++i) {
        const wf_dtype dtype = o[i].weak ? WF_NONE : wf_val_dtype(o[i].val);
        size_t *widest = wf_dtype_kind(dtype) == WF_KIND_SIGNED     ? &with_sign
                         : wf_dtype_kind(dtype) == WF_KIND_UNSIGNED ? &without
                                                                    : NULL;
        if (widest && wf_dtype_size(dtype) > *widest)
            *widest = wf_dtype_size(dtype);
    }
    if (!with_sign || without < with_sign)
        return WF_NONE;
    return without == 1 ? WF_I16 : without == 2 ? WF_I32 : WF_I64;
}

static bool is_typed(const operand *o, wf_kind kind) { return !o->weak && wf_dtype_kind(wf_val_dtype(o->val)) == kind; }
static bool is_u64(const operand *o) { return !o->weak && wf_val_dtype(o->val) == WF_U64; }

static void promote(wfpy_operands rule, operand *o, int n)
{
    int typed = 0, weak = 0;
    bool recorded = false, joined = false;
    wf_kind weak_kind = WF_KIND_NONE;
    wf_dtype widest = WF_NONE;
    for (int i = 0; i < n; ++i) {
        int t = typed_level(&o[i]), w = wfpy_level(o[i].weak);
        if (t > 1 && (widest == WF_NONE || t > typed))
            widest = wf_val_dtype(o[i].val);
        typed = t > typed ? t : typed;
        weak_kind = w > weak ? o[i].weak : weak_kind;
        weak = w > weak ? w : weak;
        recorded = recorded || o[i].recorded;
    }
    if (typed == 0 && !recorded)
        return;
    wf_dtype to = WF_NONE;
    if (typed == 0)
        to = rule == FLT && weak < 3                     ? WF_F64
             : (rule == NUM || rule == INT) && weak == 1 ? WF_I64
                                                         : own_dtype(weak_kind);
    else if (weak > typed)
        to = weak == 2 ? WF_I64 : weak == 3 ? WF_F64 : wf_dtype_size(widest) <= 4 && typed == 3 ? WF_C64 : WF_C128;
    else if (rule == FLT && typed < 3)
        to = WF_F64;
    else if ((rule == NUM || rule == INT || rule == FLT) && typed == 1)
        to = WF_I64;
    else if (typed == 2) {
        to = joined_integers(o, n);
        joined = true;
    }
    for (int i = 0; i < n; ++i) {
        const bool recorded_or_large = o[i].weak && !is_literal(&o[i]);
        if (recorded_or_large && !o[i].recorded && typed == 2 && to == WF_NONE)
            check_large(&o[i], widest);
        if (to != WF_NONE) {
            if (!joined || !is_u64(&o[i])) /* the library refuses u64 beside i64 */
                cast_to(&o[i], to);
        } else if (typed > 1 &&
                   (recorded_or_large || (typed_level(&o[i]) == 1 && rule != ANY))) /* a bool beside numbers */
            cast_to(&o[i], widest);
    }
}

/* base to a whole number, by multiplications. */
static wf_val whole_power(wf_val base, int64_t exponent)
{
    wf_val result = number(1);
    for (bool first = true; exponent; exponent >>= 1, base = exponent ? (wf_mul)(base, base) : base)
        if (exponent & 1) {
            result = first ? base : (wf_mul)(result, base);
            first = false;
        }
    return result;
}

/* Integers to the power of integers, which wraps: one factor for each bit of the exponent. */
static wf_val integer_power(operand *o)
{
    promote(NUM, o, 2);
    wf_dtype dtype = wf_val_dtype(o[o[0].weak ? 1 : 0].val);
    if (!o[1].weak && wf_dtype_size(wf_val_dtype(o[1].val)) > wf_dtype_size(dtype))
        dtype = wf_val_dtype(o[1].val);
    cast_to(&o[0], dtype);
    cast_to(&o[1], dtype);
    const int bits = 8 * (int)wf_dtype_size(dtype) - (wf_dtype_kind(dtype) == WF_KIND_SIGNED);
    wf_val base = o[0].val, exponent = o[1].val, result = number(1);
    if (o[0].weak && !base.h.graph)
        base = wf_const(exponent.h.graph, dtype, base.h.num);
    for (int bit = 0; bit < bits; ++bit) {
        wf_val odd = (wf_ne)((wf_and)(exponent, number(1)), number(0));
        result = bit == 0 ? (wf_select)(odd, base, number(1)) : (wf_mul)(result, (wf_select)(odd, base, number(1)));
        exponent = (wf_shr)(exponent, number(1));
        base = (wf_mul)(base, base);
    }
    return result;
}

static wf_val record_power(operand *o)
{
    for (int i = 0; i < 2 && level_of(&o[0]) <= 2 && level_of(&o[1]) <= 2; ++i) /* bools are integers */
        if (o[i].weak == WF_KIND_BOOL && is_literal(&o[i]))
            o[i].weak = WF_KIND_SIGNED;
        else if (level_of(&o[i]) == 1)
            cast_to(&o[i], WF_I64);
    const int base = level_of(&o[0]), kind = level_of(&o[1]);
    const double exponent = o[1].val.h.num;
    if (o[1].weak == WF_KIND_SIGNED && is_literal(&o[1]) && !is_literal(&o[0]) && exponent >= 1 &&
        (base == 2 || exponent == 2))
        return whole_power(o[0].val, (int64_t)exponent);
    const bool literals = is_literal(&o[0]) && is_literal(&o[1]);
    if (base == 2 && kind == 2 && !literals && !o[1].negative) {
        if (is_literal(&o[1]))
            o[1] = (operand){ .val = wf_const(o[0].val.h.graph, wf_val_dtype(o[0].val), exponent) };
        return integer_power(o);
    }
    if (!literals)
        promote(FLT, o, 2);
    if (is_literal(&o[1]) && o[1].weak == WF_KIND_FLOAT && exponent == 0.5 && base == 3)
        return (wf_sqrt)(o[0].val);
    return (wf_pow)(o[0].val, o[1].val);
}

/* a // b of floats, as in Python: (a - a % b) / b, which is whole up to rounding. */
static wf_val floor_quotient(wf_val a, wf_val b)
{
    const wf_dtype dtype = wf_val_dtype(a.h.graph ? a : b);
    if (wf_dtype_kind(dtype) == WF_KIND_FLOAT && wf_dtype_size(dtype) == 2) {
        a = a.h.graph ? (wf_cast)(a, WF_F32) : a;
        b = b.h.graph ? (wf_cast)(b, WF_F32) : b;
        return (wf_cast)(floor_quotient(a, b), dtype);
    }
    wf_val rest = (wf_mod)(a, b), zero = number(0); /* the rest has the sign of a */
    wf_val other_sign = (wf_ne)((wf_lt)(rest, zero), (wf_lt)(b, zero)), quotient = (wf_div)(a, b);
    wf_val whole = (wf_div)((wf_sub)(a, rest), b);
    whole = (wf_select)((wf_and)((wf_ne)(rest, zero), other_sign), (wf_sub)(whole, number(1)), whole);
    wf_val below = (wf_floor)(whole);
    below = (wf_select)((wf_gt)((wf_sub)(whole, below), number(0.5)), (wf_add)(below, number(1)), below);
    below = (wf_select)((wf_eq)(whole, zero), (wf_copysign)((wf_mul)(below, zero), quotient), below);
    return (wf_select)((wf_eq)(b, zero), quotient, below);
}

/* ---- bools ---- */

/* True for arrays of bools, beside bools: they stay bools, as in NumPy. At a point they are Python's, and numbers. */
static bool are_bools(const operand *o, int n)
{
    bool typed = false;
    for (int i = 0; i < n; ++i) {
        if (level_of(&o[i]) != 1 || (!is_literal(&o[i]) && wf_graph_indexed(o[i].val.h.graph)))
            return false;
        typed = typed || !o[i].weak;
    }
    return typed;
}

/* Records an operation of bools that gives bools; false for other operations. */
static bool record_bools(int op, const operand *o, int n, wf_val *v)
{
    const wf_val a = o[0].val, b = o[n - 1].val;
    switch (op) {
    case OP_add:
    case OP_max:
    case OP_fmax:
        *v = (wf_or)(a, b);
        return true;
    case OP_mul:
    case OP_min:
    case OP_fmin:
        *v = (wf_and)(a, b);
        return true;
    case OP_abs:
        *v = a;
        return true;
    case OP_sub:
    case OP_neg:
        wf_fail(is_literal(&o[0]) ? b.h.graph : a.h.graph, WF_ERR_DTYPE,
                op == OP_neg ? "the negative of bools is not supported; use the operator ~ or logical_not"
                             : "the difference of bools is not supported; use the operator ^ or logical_xor");
        *v = a;
        return true;
    default:
        return false;
    }
}

/* ---- comparisons ---- */

static bool is_comparison(int op)
{
    return op == OP_eq || op == OP_ne || op == OP_lt || op == OP_le || op == OP_gt || op == OP_ge;
}

/* a op b, where a is less than b (`less`) or larger. */
static bool holds(int op, bool less)
{
    return op == OP_ne || (less ? op == OP_lt || op == OP_le : op == OP_gt || op == OP_ge);
}

/* The side of the range of an integer dtype on which a Python int lies: -1 below, 0 within, 1 above. */
static int side_of_range(const operand *o, wf_dtype dtype)
{
    const bool is_signed = wf_dtype_kind(dtype) == WF_KIND_SIGNED;
    const int bits = 8 * (int)wf_dtype_size(dtype) - is_signed;
    if (o->negative && !is_signed)
        return -1;
    if (!is_literal(o)) /* from 2^53 on */
        return bits >= 63 && (!is_signed || wf_val_dtype(o->val) == WF_I64) ? 0 : o->negative ? -1 : 1;
    double bound = 1;
    for (int i = 0; i < bits; ++i)
        bound *= 2;
    return o->val.h.num >= bound                                             ? 1
           : o->val.h.num < -bound || o->val.h.num <= -9223372036854775808.0 ? -1 /* a literal of -2^63 is rounded */
                                                                             : 0;
}

/* Records comparisons that promotion gets wrong; false for others. */
static bool record_comparison(int op, const operand *o, wf_val *v)
{
    for (int i = 0; i < 2; ++i) {
        const operand *x = &o[i], *other = &o[1 - i];
        if (typed_level(x) != 2)
            continue;
        const wf_dtype dtype = wf_val_dtype(x->val);
        const int side = other->weak == WF_KIND_SIGNED && !other->recorded ? side_of_range(other, dtype) : 0;
        if (side) { /* all elements, or none, are at least the least number of their dtype */
            const int bits = 8 * (int)wf_dtype_size(dtype);
            const int64_t least = wf_dtype_kind(dtype) == WF_KIND_SIGNED ? INT64_MIN >> (64 - bits) : 0;
            wf_val bound = wf_const_i64(x->val.h.graph, dtype, least);
            *v = holds(op, (side > 0) == (i == 0)) ? (wf_ge)(x->val, bound) : (wf_lt)(x->val, bound);
            return true;
        }
        if (is_u64(x) && is_typed(other, WF_KIND_SIGNED)) {
            wf_val negative = (wf_lt)(other->val, number(0)), bits = (wf_cast)(other->val, WF_U64);
            wf_val (*const of[])(wf_val, wf_val) = { (wf_eq), (wf_ne), (wf_lt), (wf_le), (wf_gt), (wf_ge) };
            const int which = op == OP_eq   ? 0
                              : op == OP_ne ? 1
                              : op == OP_lt ? 2
                              : op == OP_le ? 3
                              : op == OP_gt ? 4
                                            : 5;
            wf_val compared = of[which](i ? bits : x->val, i ? x->val : bits);
            *v = holds(op, i != 0) ? (wf_or)(negative, compared) : (wf_and)((wf_not)(negative), compared);
            return true;
        }
    }
    return false;
}

wf_val wfpy_record(int op, operand *o, int n)
{
    if (op == OP_power)
        return record_power(o);
    const wfpy_operands rule = op < OPS ? wfpy_rows[op].operands : NUM;
    wf_val made;
    if ((rule == NUM && are_bools(o, n) && record_bools(op, o, n, &made)) ||
        (is_comparison(op) && record_comparison(op, o, &made)))
        return made;
    if (rule == CPLX && level_of(&o[0]) <= 2 && !is_literal(&o[0])) /* integers are their real parts */
        return op != OP_imag                       ? o[0].val
               : wf_val_dtype(o[0].val) == WF_BOOL ? (wf_and)(o[0].val, number(0))
                                                   : (wf_mul)(o[0].val, number(0));
    if (rule == FIRST_BOOL) {
        if (!is_literal(&o[0]) && wf_val_dtype(o[0].val) != WF_BOOL)
            o[0].val = (wf_ne)(o[0].val, number(0));
        if (!is_literal(&o[0]) && n == 3 && is_literal(&o[1]) && is_literal(&o[2])) { /* two numbers: as Python's */
            wf_dtype dtype = own_dtype(wfpy_level(o[1].weak) > wfpy_level(o[2].weak) ? o[1].weak : o[2].weak);
            if (wf_dtype_kind(dtype) != WF_KIND_COMPLEX)
                o[1].val = wf_const(o[0].val.h.graph, dtype, o[1].val.h.num);
        }
        promote(ANY, o + 1, n - 1);
    } else if (rule != CPLX)
        promote(rule, o, n);
    if (op == OP_remainder)
        return (wf_floor_mod)(o[0].val, o[1].val);
    if (op == OP_floor_divide) {
        const bool literals = is_literal(&o[0]) && is_literal(&o[1]),
                   whole = level_of(&o[0]) <= 2 && level_of(&o[1]) <= 2;
        return whole && !literals ? (wf_floor_div)(o[0].val, o[1].val) : floor_quotient(o[0].val, o[1].val);
    }
    void (*f)(void) = wfpy_rows[op].record;
    switch (n) {
    case 1:
        return ((wf_val(*)(wf_val))f)(o[0].val);
    case 2:
        return ((wf_val(*)(wf_val, wf_val))f)(o[0].val, o[1].val);
    default:
        return ((wf_val(*)(wf_val, wf_val, wf_val))f)(o[0].val, o[1].val, o[2].val);
    }
}
