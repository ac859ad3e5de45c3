/* operations.c - the operations of the library's table on values, arrays and numbers, and Python's operators.
 *
 * With a value among the operands the operation is recorded. Otherwise arrays are computed at once, or become lazy in
 * `with weft.lazy()`, and numbers give a number.
 * operands.c says what the operands become. */
#include <string.h>

#include "operands.h"

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
        if (!wfpy_convert(args[i], g, &o[i]))
            return NULL;
    bool weak = true; /* the result of weak operands is weak */
    for (int i = op < OPS && wfpy_rows[op].operands == FIRST_BOOL; i < n; ++i)
        weak = weak && o[i].weak;
    wf_val v = wfpy_record(op, o, n);
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

/* False, with an exception, for results of a higher kind than the array of an in-place operator. */
static bool is_storable(wf_dtype result, wf_dtype array)
{
    if (wfpy_level(wf_dtype_kind(result)) <= wfpy_level(wf_dtype_kind(array)))
        return true;
    PyErr_Format(wfpy.error[WF_ERR_DTYPE], "a result of dtype %s cannot be stored in an array of %s",
                 wf_dtype_name(result), wf_dtype_name(array));
    return false;
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
        PyObject *read = array && wfpy_is_array(args[i]) ? wfpy_apart(args[i], array) : Py_NewRef(args[i]);
        const bool converted = read && wfpy_convert(read, g, &o[i]);
        Py_XDECREF(read);
        if (!converted) {
            wf_drop(g);
            wf_clear_error(wfpy.context);
            return NULL;
        }
        is_long = is_long || (wfpy_is_array(args[i]) && wfpy_is_long(((wfpy_array *)args[i])->array));
    }
    wf_val v = wfpy_record(op, o, n);
    if (array && !is_storable(wf_val_dtype(v), wf_array_dtype(array))) {
        wf_drop(g);
        return NULL;
    }
    return run_eager(g, v, into, array, is_long);
}

static bool is_number(PyObject *object)
{
    return PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object);
}

/* True for operands with which the operation cannot fail: floats of one dtype and shape, and numbers of Python. */
static bool surely_fits(int op, PyObject *const *args, int n)
{
    const wfpy_operands rule = op < OPS ? wfpy_rows[op].operands : NUM;
    PyObject *first = NULL; /* the first array */
    for (int i = 0; i < n; ++i) {
        if (PyFloat_Check(args[i]))
            continue;
        if (!wfpy_is_array(args[i]) || wf_dtype_kind(wfpy_array_dtype(args[i])) != WF_KIND_FLOAT)
            return false;
        first = first ? first : args[i];
        const wf_shape shape = wfpy_array_shape(args[i]), other = wfpy_array_shape(first);
        if (wfpy_array_dtype(args[i]) != wfpy_array_dtype(first) || memcmp(&shape, &other, sizeof shape) != 0)
            return false;
    }
    return rule == NUM || rule == FLT || rule == ANY;
}

/* Raises the mistake of an operation, if there is one, before it can end a recording that holds other lazy arrays: tries it
 * on constants of the operands' dtypes and shapes. */
static bool try_operation(int op, PyObject *const *args, int n)
{
    operand o[MAX_OPERANDS];
    wf_graph *g = wf_begin_with(wfpy.context, &(wf_space){ .size = sizeof(wf_space) });
    bool right = g != NULL;
    for (int i = 0; right && i < n; ++i)
        if (is_number(args[i]))
            right = wfpy_convert(args[i], g, &o[i]);
        else
            o[i] = (operand){ .val = wfpy_stand_in(args[i], g) };
    if (right)
        wfpy_record(op, o, n);
    if (right && wf_graph_status(g) == WF_OK) {
        wf_drop(g);
        return true;
    }
    wf_run(g); /* gives the message of a mistake of the recording */
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
            if (!wfpy_convert(args[i], NULL, &o[i]))
                return NULL;
        return number_object(wfpy_record(op, o, (int)n));
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
    if (wfpy_is_array(object) && wfpy_is_lazy(object)) {
        wfpy_value *v = (wfpy_value *)((wfpy_array *)object)->value;
        PyObject *cast = wfpy_graph_of(v->graph) ? wfpy_value_new(v->graph, (wf_cast)(v->val, dtype)) : NULL;
        PyObject *array = cast ? wfpy_lazy_array(cast) : NULL;
        Py_XDECREF(cast);
        return array;
    }
    PyObject *array = wfpy_as_array(object, WF_NONE);
    wf_array *from = array ? wfpy_array_of(array) : NULL;
    wf_array *cast = NULL;
    if (from) {
        wfpy_released r = wfpy_release_gil(false);
        cast = wf_array_cast(from, dtype);
        wfpy_take_gil(r);
    }
    PyObject *made = from ? wfpy_array_new(cast) : NULL;
    Py_XDECREF(array);
    return made;
}

/* ---- the table as functions ---- */

static PyObject *call(int op, PyObject *const *args, Py_ssize_t n)
{
    if (n != wfpy_rows[op].arity)
        return PyErr_Format(PyExc_TypeError, "weft.ops.%s takes %d argument%s, and %zd were given", wfpy_rows[op].name,
                            wfpy_rows[op].arity, wfpy_rows[op].arity == 1 ? "" : "s", n);
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
static PyMethodDef functions[] = {
#define F(name, n, operands, result, complex) { #name, WFPY_FUNCTION(call_##name), METH_FASTCALL, NULL },
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
static void raise_other_shape(const wf_shape *result, const wf_shape *array)
{
    PyObject *of_result = wfpy_shape_object(result), *of_array = of_result ? wfpy_shape_object(array) : NULL;
    if (of_array)
        PyErr_Format(wfpy.error[WF_ERR_SHAPE],
                     "a result of shape %R does not fit the array of shape %R that it is stored in", of_result,
                     of_array);
    Py_XDECREF(of_result);
    Py_XDECREF(of_array);
}

/* The lazy result of a op b for the lazy array a, in the dtype of a; it has to have the shape of a. */
static PyObject *result_for(int op, PyObject *a, PyObject *b)
{
    const wf_dtype dtype = wfpy_array_dtype(a);
    const wf_shape shape = wfpy_array_shape(a);
    PyObject *made = wfpy_apply(op, (PyObject *[]){ a, b }, 2), *result = NULL;
    if (!made)
        return NULL;
    const wf_shape given = wfpy_array_shape(made);
    if (is_storable(wfpy_array_dtype(made), dtype)) {
        if (memcmp(&given, &shape, sizeof shape) != 0)
            raise_other_shape(&given, &shape);
        else
            result = wfpy_array_dtype(made) == dtype ? Py_NewRef(made) : wfpy_cast(made, dtype);
    }
    Py_DECREF(made);
    return result;
}

/* a op= b of a lazy array: gives the object a its new value, so that all names of it see that. Values which are made of
 * the old one keep it. */
static PyObject *in_place_lazily(int op, PyObject *a, PyObject *b)
{
    PyObject *result = wfpy_lazy_graph() ? result_for(op, a, b) : NULL;
    if (!result && PyErr_Occurred())
        return NULL;
    if (!result || !wfpy_is_lazy(result) || !wfpy_is_lazy(a)) { /* the array has been computed */
        Py_XDECREF(result);
        return apply_eager(op, (PyObject *[]){ a, b }, 2, a);
    }
    PyObject *old = ((wfpy_array *)a)->value;
    ((wfpy_array *)a)->value = Py_NewRef(((wfpy_array *)result)->value);
    Py_DECREF(old);
    Py_DECREF(result);
    return Py_NewRef(a);
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
    if (Py_TYPE(a) == wfpy.value || wfpy_is_value(b))
        return wfpy_apply(op, args, 2);
    if (!((wfpy_array *)a)->array)
        return in_place_lazily(op, a, b);
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
static PyObject *nb_divmod(PyObject *a, PyObject *b)
{
    PyObject *quotient = binary(OP_floor_divide, a, b);
    if (!quotient || quotient == Py_NotImplemented)
        return quotient;
    PyObject *rest = binary(OP_remainder, a, b);
    PyObject *both = rest ? PyTuple_Pack(2, quotient, rest) : NULL;
    Py_DECREF(quotient);
    Py_XDECREF(rest);
    return both;
}
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
    SLOT(divmod),
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
