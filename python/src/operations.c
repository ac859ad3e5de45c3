/* operations.c - the operations of the library's table on values, arrays and numbers, and Python's operators.
 *
 * With a value among the operands the operation is recorded. Otherwise arrays are computed at once, or become lazy in
 * `with weft.lazy()`, and numbers give a number.
 *
 * Python's numbers are weak, as in NumPy: they take the dtype of the operand beside them, unless theirs is of a higher
 * kind (bool, int, float, complex). Then the operand is converted: to i64, to f64, or to a complex dtype. Signed and
 * unsigned integers meet in the next wider signed dtype that holds both, and whole powers of integers are integers. */
#include <string.h>

#include "weft_python.h"

typedef enum operands { NUM, INT, FLT, BITS, ANY, FIRST_BOOL, CPLX } operands;
typedef struct row {
    const char *name;
    int arity;
    operands operands;
    void (*record)(void); /* wf_val (*)(wf_val, ...) */
} row;
static const row rows[] = {
#define F(name, n, operands, result, complex) { #name, n, operands, (void (*)(void))(wf_##name) },
    WF_OPERATIONS(F)
#undef F
};
enum {
#define F(name, n, operands, result, complex) OP_##name,
    WF_OPERATIONS(F)
#undef F
        OPS,
    OP_floor_divide = OPS, /* Python's //, % and **, which depend on the operands' kinds */
    OP_remainder,
    OP_power,
    ALL_OPS
};
enum { MAX_OPERANDS = 3 };

static wf_val number(double x) { return (wf_val){ { x, NULL } }; }

/* ---- operands ---- */

typedef struct operand {
    wf_val val;    /* of a Python int beyond 2^53 a constant, i64 or u64 */
    wf_kind weak;  /* the kind of a Python number or of a weak value; else WF_KIND_NONE */
    bool negative; /* a Python int is */
    bool recorded; /* a weak value */
} operand;
static bool is_literal(const operand *o) { return o->weak && !o->val.h.graph; }
/* The dtype of a Python number, or weak value, by itself. */
static wf_dtype own_dtype(wf_kind weak)
{
    return weak == WF_KIND_COMPLEX ? WF_C128 : weak == WF_KIND_FLOAT ? WF_F64 : weak == WF_KIND_BOOL ? WF_BOOL : WF_I64;
}

/* Integers and bools are one kind here, apart from bool. */
static int level(wf_kind kind)
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
    if (overflow == 0)
        o->val = wf_const_i64(g, WF_I64, whole);
    else {
        unsigned long long bits = PyLong_AsUnsignedLongLong(object);
        if (PyErr_Occurred())
            return false;
        o->val = wf_const_i64(g, WF_U64, (int64_t)bits);
    }
    return true;
}

/* An array that is an operand of a recording: its element, or all of it. */
static bool array_operand(PyObject *object, wf_graph *g, operand *o)
{
    wfpy_array *a = (wfpy_array *)object;
    if (!a->array && ((wfpy_value *)a->value)->val.h.graph == g)
        o->val = ((wfpy_value *)a->value)->val;
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
    else if (wf_dtype_kind(dtype) == WF_KIND_UNSIGNED)
        o->val = wf_const_i64(g, dtype, (int64_t)PyLong_AsUnsignedLongLong(element));
    else
        o->val = wf_const_i64(g, dtype, PyLong_AsLongLong(element));
    Py_DECREF(element);
    return !PyErr_Occurred();
}

/* Converts an operand for the recording `g`; NULL: for numbers alone. */
static bool convert(PyObject *object, wf_graph *g, operand *o)
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
    if (!g || !convert(object, g, &o))
        return false;
    *val = o.val;
    return true;
}

/* ---- promotion and recording ---- */

static int typed_level(const operand *o) { return o->weak ? 0 : level(wf_dtype_kind(wf_val_dtype(o->val))); }

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
    return without == 1 ? WF_I16 : without == 2 ? WF_I32 : without == 4 ? WF_I64 : WF_NONE;
}

static void promote(operands rule, operand *o, int n)
{
    int typed = 0, weak = 0;
    bool recorded = false;
    wf_kind weak_kind = WF_KIND_NONE;
    wf_dtype widest = WF_NONE;
    for (int i = 0; i < n; ++i) {
        int t = typed_level(&o[i]), w = level(o[i].weak);
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
    else if (typed == 2)
        to = joined_integers(o, n);
    for (int i = 0; i < n; ++i) {
        const bool recorded_or_large = o[i].weak && !is_literal(&o[i]);
        if (recorded_or_large && !o[i].recorded && typed == 2 && to == WF_NONE)
            check_large(&o[i], widest);
        if (to != WF_NONE)
            cast_to(&o[i], to);
        else if (typed > 1 &&
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
    const int base = o[0].weak ? level(o[0].weak) : typed_level(&o[0]);
    const int kind = o[1].weak ? level(o[1].weak) : typed_level(&o[1]);
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
    wf_val whole = (wf_round)((wf_div)((wf_sub)(a, (wf_floor_mod)(a, b)), b));
    wf_val by_zero = (wf_eq)(b, number(0)), quotient = (wf_div)(a, b);
    return (wf_select)(by_zero, quotient, whole);
}

static wf_val record(int op, operand *o, int n)
{
    if (op == OP_power)
        return record_power(o);
    const operands rule = op < OPS ? rows[op].operands : NUM;
    if (rule == FIRST_BOOL) {
        if (!is_literal(&o[0]) && wf_val_dtype(o[0].val) != WF_BOOL)
            o[0].val = (wf_ne)(o[0].val, number(0));
        if (!is_literal(&o[0]) && n == 3 && is_literal(&o[1]) && is_literal(&o[2])) { /* two numbers: as Python's */
            wf_dtype dtype = own_dtype(level(o[1].weak) > level(o[2].weak) ? o[1].weak : o[2].weak);
            if (wf_dtype_kind(dtype) != WF_KIND_COMPLEX)
                o[1].val = wf_const(o[0].val.h.graph, dtype, o[1].val.h.num);
        }
        promote(ANY, o + 1, n - 1);
    } else if (rule != CPLX)
        promote(rule, o, n);
    if (op == OP_floor_divide || op == OP_remainder) {
        int kind = 0;
        for (int i = 0; i < 2; ++i) {
            int own = o[i].weak ? level(o[i].weak) : typed_level(&o[i]);
            kind = own > kind ? own : kind;
        }
        if (op == OP_remainder)
            return (wf_floor_mod)(o[0].val, o[1].val);
        if (kind <= 2 && !(is_literal(&o[0]) && is_literal(&o[1])))
            return (wf_floor_div)(o[0].val, o[1].val);
        return floor_quotient(o[0].val, o[1].val);
    }
    void (*f)(void) = rows[op].record;
    switch (n) {
    case 1:
        return ((wf_val(*)(wf_val))f)(o[0].val);
    case 2:
        return ((wf_val(*)(wf_val, wf_val))f)(o[0].val, o[1].val);
    default:
        return ((wf_val(*)(wf_val, wf_val, wf_val))f)(o[0].val, o[1].val, o[2].val);
    }
}

/* ---- applying ---- */

static PyObject *number_object(wf_val v)
{
    double re, im;
    if (!wf_val_number(v, &re, &im))
        return wfpy_raise_status(WF_ERR_DTYPE, "the operation is not defined for these numbers");
    return im == 0 ? PyFloat_FromDouble(re) : PyComplex_FromDoubles(re, im);
}

static PyObject *apply_recorded(int op, PyObject *graph, PyObject *const *args, int n)
{
    operand o[MAX_OPERANDS];
    wf_graph *g = wfpy_graph_of(graph);
    if (!g)
        return NULL;
    for (int i = 0; i < n; ++i)
        if (!convert(args[i], g, &o[i]))
            return NULL;
    bool weak = true; /* the result of weak operands is weak */
    for (int i = op < OPS && rows[op].operands == FIRST_BOOL; i < n; ++i)
        weak = weak && o[i].weak;
    wf_val v = record(op, o, n);
    return weak ? wfpy_value_weak(graph, v) : wfpy_value_new(graph, v);
}

/* Runs a recording of one result; `into` NULL: a new array. */
static PyObject *run_eager(wf_graph *g, wf_val v, PyObject *into, wf_array *array, bool is_long)
{
    wf_array *made = NULL;
    if (array)
        (wf_out)(g, array, v);
    else
        made = (wf_keep)(v);
    wfpy_released r = wfpy_release_gil(is_long);
    wf_status status = wf_run(g);
    wfpy_take_gil(r);
    if (status != WF_OK) {
        wf_release(made);
        return wfpy_raise();
    }
    if (wfpy_warn() < 0) {
        wf_release(made);
        return NULL;
    }
    return array ? Py_NewRef(into) : wfpy_array_new(made);
}

static PyObject *apply_eager(int op, PyObject *const *args, int n, PyObject *into)
{
    operand o[MAX_OPERANDS];
    wf_array *array = into ? wfpy_array_to_write(into) : NULL;
    if (into && !array)
        return NULL;
    wf_graph *g = wfpy_context() ? wf_begin_with(wfpy.context, &(wf_space){ .size = sizeof(wf_space) }) : NULL;
    if (!g)
        return PyErr_NoMemory();
    bool is_long = false;
    for (int i = 0; i < n; ++i) {
        if (!convert(args[i], g, &o[i])) {
            wf_drop(g);
            wf_clear_error(wfpy.context);
            return NULL;
        }
        is_long = is_long || (wfpy_is_array(args[i]) && wfpy_is_long(((wfpy_array *)args[i])->array));
    }
    wf_val v = record(op, o, n);
    if (array && level(wf_dtype_kind(wf_val_dtype(v))) > level(wf_dtype_kind(wf_array_dtype(array)))) {
        PyErr_Format(wfpy.error[WF_ERR_DTYPE], "a result of dtype %s cannot be stored in an array of %s",
                     wf_dtype_name(wf_val_dtype(v)), wf_dtype_name(wf_array_dtype(array)));
        wf_drop(g);
        return NULL;
    }
    return run_eager(g, v, into, array, is_long);
}

static bool is_number(PyObject *object)
{
    return PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object);
}

/* The dtype and shape of an array, which may be lazy. */
static void describe(PyObject *array, wf_dtype *dtype, wf_shape *shape)
{
    const wfpy_array *a = (const wfpy_array *)array;
    *dtype = a->array ? wf_array_dtype(a->array) : wf_val_dtype(((wfpy_value *)a->value)->val);
    *shape = a->array ? wf_array_shape(a->array) : wf_val_shape(((wfpy_value *)a->value)->val);
}

/* True for operands with which the operation cannot fail: floats of one dtype and shape, and numbers of Python. */
static bool surely_fits(int op, PyObject *const *args, int n)
{
    wf_dtype dtype = WF_NONE, own;
    wf_shape shape = { 0 }, other;
    if (op < OPS && rows[op].operands != NUM && rows[op].operands != FLT && rows[op].operands != ANY)
        return false;
    for (int i = 0; i < n; ++i) {
        if (PyFloat_Check(args[i]))
            continue;
        if (!wfpy_is_array(args[i]))
            return false;
        describe(args[i], &own, &other);
        if (wf_dtype_kind(own) != WF_KIND_FLOAT ||
            (dtype != WF_NONE && (own != dtype || memcmp(&shape, &other, sizeof shape) != 0)))
            return false;
        dtype = own;
        shape = other;
    }
    return true;
}

/* Raises the mistake of an operation, if there is one, before it can end a recording that holds other lazy arrays: tries it
 * on constants of the operands' dtypes and shapes. */
static bool try_operation(int op, PyObject *const *args, int n)
{
    operand o[MAX_OPERANDS];
    wf_graph *g = wf_begin_with(wfpy.context, &(wf_space){ .size = sizeof(wf_space) });
    for (int i = 0; i < n; ++i) {
        if (is_number(args[i]) ? !convert(args[i], g, &o[i]) : false) {
            wf_drop(g);
            wf_clear_error(wfpy.context);
            return false;
        }
        if (is_number(args[i]))
            continue;
        wf_dtype dtype;
        wf_shape shape;
        describe(args[i], &dtype, &shape);
        o[i] = (operand){ .val = wf_dtype_kind(dtype) == WF_KIND_COMPLEX ? wf_const_complex(g, dtype, 1, 0)
                                                                         : wf_const(g, dtype, 1) };
        o[i].val = (wf_broadcast)(o[i].val, shape);
    }
    record(op, o, n);
    if (wf_graph_status(g) == WF_OK && !PyErr_Occurred()) {
        wf_drop(g);
        return true;
    }
    wf_run(g);
    wfpy_raise();
    return false;
}

static PyObject *apply_lazily(int op, PyObject *graph, PyObject *const *args, int n)
{
    PyObject *own[MAX_OPERANDS] = { NULL }, *array = NULL;
    bool right = true;
    for (int i = 0; i < n && right; ++i) {
        own[i] = is_number(args[i]) ? Py_NewRef(args[i]) : wfpy_as_array(args[i], WF_NONE);
        right = own[i] != NULL;
    }
    if (right && (surely_fits(op, own, n) || try_operation(op, own, n))) {
        PyObject *value = apply_recorded(op, graph, own, n);
        array = value ? wfpy_lazy_array(value) : NULL;
        Py_XDECREF(value);
    }
    for (int i = 0; i < n; ++i)
        Py_XDECREF(own[i]);
    return array;
}

PyObject *wfpy_apply(int op, PyObject *const *args, Py_ssize_t n)
{
    PyObject *graph = NULL;
    bool numbers = true;
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (wfpy_is_value(args[i]) && !graph)
            graph = ((wfpy_value *)args[i])->graph;
        numbers = numbers && is_number(args[i]);
    }
    if (graph)
        return apply_recorded(op, graph, args, (int)n);
    if (numbers) {
        operand o[MAX_OPERANDS];
        for (Py_ssize_t i = 0; i < n; ++i)
            if (!convert(args[i], NULL, &o[i]))
                return NULL;
        return number_object(record(op, o, (int)n));
    }
    if ((graph = wfpy_lazy_graph()))
        return apply_lazily(op, graph, args, (int)n);
    if (PyErr_Occurred())
        return NULL;
    return apply_eager(op, args, (int)n, NULL);
}

PyObject *wfpy_cast(PyObject *object, wf_dtype dtype)
{
    if (wfpy_is_value(object)) {
        wfpy_value *v = (wfpy_value *)object;
        return wfpy_graph_of(v->graph) ? wfpy_value_new(v->graph, (wf_cast)(v->val, dtype)) : NULL;
    }
    if (wfpy_is_array(object) && !((wfpy_array *)object)->array) {
        wfpy_value *v = (wfpy_value *)((wfpy_array *)object)->value;
        PyObject *cast = wfpy_graph_of(v->graph) ? wfpy_value_new(v->graph, (wf_cast)(v->val, dtype)) : NULL;
        PyObject *array = cast ? wfpy_lazy_array(cast) : NULL;
        Py_XDECREF(cast);
        return array;
    }
    PyObject *array = wfpy_as_array(object, WF_NONE);
    wf_array *from = array ? wfpy_array_of(array) : NULL;
    PyObject *made = from ? wfpy_array_new(wf_array_cast(from, dtype)) : NULL;
    Py_XDECREF(array);
    return made;
}

/* ---- the table as functions ---- */

static PyObject *call(int op, PyObject *const *args, Py_ssize_t n)
{
    if (n != rows[op].arity)
        return PyErr_Format(PyExc_TypeError, "%s takes %d arguments, and %zd were given", rows[op].name, rows[op].arity,
                            n);
    return wfpy_apply(op, args, n);
}
#define F(name, n, operands, result, complex)                                             \
    static PyObject *call_##name(PyObject *self, PyObject *const *args, Py_ssize_t count) \
    {                                                                                     \
        (void)self;                                                                       \
        return call(OP_##name, args, count);                                              \
    }
WF_OPERATIONS(F)
#undef F
#define FASTCALL(f) ((PyCFunction)(void (*)(void))(f))
static PyMethodDef functions[] = {
#define F(name, n, operands, result, complex) { #name, FASTCALL(call_##name), METH_FASTCALL, NULL },
    WF_OPERATIONS(F)
#undef F
        { NULL, NULL, 0, NULL },
};

int wfpy_add_operations(PyObject *module)
{
    PyObject *ops = PyModule_New("weft.ops");
    if (!ops || PyModule_AddFunctions(ops, functions) < 0 || PyModule_AddObjectRef(module, "ops", ops) < 0 ||
        PyModule_AddObjectRef(module, "real", PyObject_GetAttrString(ops, "real")) < 0 ||
        PyModule_AddObjectRef(module, "imag", PyObject_GetAttrString(ops, "imag")) < 0)
        return -1;
    Py_DECREF(ops);
    return 0;
}

/* ---- Python's operators ---- */

/* True if the other operand of an operator is one that Weft can take; else the other one's class is asked. */
static bool takes(PyObject *object)
{
    return wfpy_is_array(object) || wfpy_is_value(object) || is_number(object) || wfpy_has_buffer(object) ||
           PyList_Check(object) || PyTuple_Check(object) || PyObject_HasAttrString(object, "__dlpack__");
}
static PyObject *binary(int op, PyObject *a, PyObject *b)
{
    if (!takes(a) || !takes(b))
        Py_RETURN_NOTIMPLEMENTED;
    return wfpy_apply(op, (PyObject *[]){ a, b }, 2);
}
static PyObject *in_place(int op, PyObject *a, PyObject *b)
{
    if (!takes(b))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *args[] = { a, b };
    if (Py_TYPE(a) == wfpy.variable) {
        PyObject *sum = wfpy_apply(op, args, 2);
        if (!sum)
            return NULL;
        wf_val v;
        bool done = wfpy_operand(sum, ((wfpy_value *)a)->graph, &v);
        Py_DECREF(sum);
        if (!done)
            return NULL;
        (wf_set)(((wfpy_value *)a)->val.h, v);
        return Py_NewRef(a);
    }
    if (Py_TYPE(a) == wfpy.value || wfpy_is_value(b) || !((wfpy_array *)a)->array)
        return wfpy_apply(op, args, 2);
    return apply_eager(op, args, 2, a);
}

#define BINARY(name, op)                                                              \
    static PyObject *nb_##name(PyObject *a, PyObject *b) { return binary(op, a, b); } \
    static PyObject *nb_inplace_##name(PyObject *a, PyObject *b) { return in_place(op, a, b); }
#define UNARY(name, op) \
    static PyObject *nb_##name(PyObject *a) { return wfpy_apply(op, &a, 1); }
BINARY(add, OP_add)
BINARY(subtract, OP_sub)
BINARY(multiply, OP_mul)
BINARY(true_divide, OP_div)
BINARY(floor_divide, OP_floor_divide)
BINARY(remainder, OP_remainder)
BINARY(and, OP_and)
BINARY(or, OP_or)
BINARY(xor, OP_xor)
BINARY(lshift, OP_shl)
BINARY(rshift, OP_shr)
UNARY(negative, OP_neg)
UNARY(absolute, OP_abs)
UNARY(invert, OP_not)
static PyObject *nb_positive(PyObject *a) { return Py_NewRef(a); }
static PyObject *nb_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary(OP_power, a, b);
}
static PyObject *nb_inplace_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return in_place(OP_power, a, b);
}
static PyObject *nb_matrix_multiply(PyObject *a, PyObject *b)
{
    if (!takes(a) || !takes(b))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *package = PyImport_ImportModule("weft._functions");
    PyObject *made = package ? PyObject_CallMethod(package, "matmul", "OO", a, b) : NULL;
    Py_XDECREF(package);
    return made;
}
static PyObject *compare(PyObject *a, PyObject *b, int op)
{
    static const int ops[] = {
        [Py_LT] = OP_lt, [Py_LE] = OP_le, [Py_EQ] = OP_eq, [Py_NE] = OP_ne, [Py_GT] = OP_gt, [Py_GE] = OP_ge
    };
    return binary(ops[op], a, b);
}

#define SLOT(name)              \
    {                           \
        Py_nb_##name, nb_##name \
    }
static const PyType_Slot operator_slots[] = {
    SLOT(add),
    SLOT(subtract),
    SLOT(multiply),
    SLOT(true_divide),
    SLOT(floor_divide),
    SLOT(remainder),
    SLOT(power),
    SLOT(and),
    SLOT(or),
    SLOT(xor),
    SLOT(lshift),
    SLOT(rshift),
    SLOT(negative),
    SLOT(positive),
    SLOT(absolute),
    SLOT(invert),
    SLOT(matrix_multiply),
    SLOT(inplace_add),
    SLOT(inplace_subtract),
    SLOT(inplace_multiply),
    SLOT(inplace_true_divide),
    SLOT(inplace_floor_divide),
    SLOT(inplace_remainder),
    SLOT(inplace_power),
    SLOT(inplace_and),
    SLOT(inplace_or),
    SLOT(inplace_xor),
    SLOT(inplace_lshift),
    SLOT(inplace_rshift),
    { Py_tp_richcompare, compare },
    { Py_tp_hash, PyObject_HashNotImplemented },
    { 0, NULL },
};

void wfpy_join_slots(const PyType_Slot *own, PyType_Slot *slots, size_t room)
{
    size_t n = 0;
    for (; own->slot && n + 1 < room; ++own)
        slots[n++] = *own;
    for (const PyType_Slot *s = operator_slots; s->slot && n + 1 < room; ++s)
        slots[n++] = *s;
    slots[n] = (PyType_Slot){ 0, NULL };
}
