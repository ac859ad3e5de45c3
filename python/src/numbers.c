/* numbers.c - numbers and lists of Python: elements of arrays, arguments of kernels, and arrays that are made of them. */
#include <string.h>

#include "weft_python.h"

/* ---- elements ---- */

static double half_value(uint16_t bits) /* f16 */
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? Py_NAN : Py_HUGE_VAL) : exponent ? 1024 + fraction : fraction;
    if (exponent < 31)
        for (int e = exponent ? exponent : 1; e != 25; e += e < 25 ? 1 : -1)
            value = e < 25 ? value / 2 : value * 2;
    return bits & 0x8000 ? -value : value;
}

PyObject *wfpy_element(wf_dtype dtype, const void *at)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16[2];
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32[2];
        double f64[2];
    } e;
    memcpy(&e, at, wf_dtype_size(dtype));
    switch (dtype) {
    case WF_BOOL:
        return PyBool_FromLong(e.u8);
    case WF_I8:
        return PyLong_FromLong(e.i8);
    case WF_U8:
        return PyLong_FromLong(e.u8);
    case WF_I16:
        return PyLong_FromLong(e.i16);
    case WF_U16:
        return PyLong_FromLong(e.u16[0]);
    case WF_I32:
        return PyLong_FromLong(e.i32);
    case WF_U32:
        return PyLong_FromUnsignedLong(e.u32);
    case WF_I64:
        return PyLong_FromLongLong(e.i64);
    case WF_U64:
        return PyLong_FromUnsignedLongLong(e.u64);
    case WF_F16:
        return PyFloat_FromDouble(half_value(e.u16[0]));
    case WF_BF16:
        e.u32 = (uint32_t)e.u16[0] << 16;
        return PyFloat_FromDouble((double)e.f32[0]);
    case WF_F32:
        return PyFloat_FromDouble((double)e.f32[0]);
    case WF_F64:
        return PyFloat_FromDouble(e.f64[0]);
    case WF_C32:
        return PyComplex_FromDoubles(half_value(e.u16[0]), half_value(e.u16[1]));
    case WF_C64:
        return PyComplex_FromDoubles((double)e.f32[0], (double)e.f32[1]);
    case WF_C128:
        return PyComplex_FromDoubles(e.f64[0], e.f64[1]);
    case WF_NONE:
        break;
    }
    return Py_NewRef(Py_None);
}

/* ---- lists ---- */

bool wfpy_is_list(PyObject *object)
{
    return PyList_Check(object) || PyTuple_Check(object) || Py_IS_TYPE(object, &PyRange_Type);
}

/* True for an item of a list that is an array of any library. */
static bool is_array_item(PyObject *object)
{
    if (PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object))
        return false;
    return wfpy_is_array(object) || (PySequence_Check(object) && !PyBytes_Check(object) && wfpy_has_buffer(object));
}

/* Finds the common shape of nested lists and the widest dtype of their numbers: bool, int, float or complex. False
 * without an exception: an item is an array. */
static bool measure_lists(PyObject *object, int depth, wf_shape *shape, wf_dtype *dtype)
{
    if (!wfpy_is_list(object)) {
        if (is_array_item(object))
            return false;
        wf_dtype own = PyBool_Check(object)                            ? WF_BOOL
                       : PyLong_Check(object) || PyIndex_Check(object) ? WF_I64
                       : PyFloat_Check(object)                         ? WF_F64
                       : PyComplex_Check(object)                       ? WF_C128
                       : PyObject_HasAttrString(object, "__float__")   ? WF_F64
                                                                       : WF_NONE;
        if (own == WF_NONE) {
            PyErr_Format(PyExc_TypeError, "%R is no array, number, or list of numbers", object);
            return false;
        }
        if (own == WF_I64 && *dtype <= WF_U64) {
            int overflow;
            (void)PyLong_AsLongLongAndOverflow(object, &overflow);
            own = overflow > 0 ? WF_U64 : own;
            if (PyErr_Occurred())
                return false;
        }
        *dtype = own > *dtype ? own : *dtype;
        if (shape->rank != depth && shape->rank >= 0) {
            PyErr_SetString(wfpy.error[WF_ERR_SHAPE], "the lists have different depths");
            return false;
        }
        shape->rank = depth;
        return true;
    }
    Py_ssize_t n = PySequence_Size(object);
    if (depth == WF_MAX_RANK || (shape->dim[depth] >= 0 && shape->dim[depth] != n)) {
        PyErr_SetString(wfpy.error[WF_ERR_SHAPE], depth == WF_MAX_RANK ? "lists are nested deeper than arrays have axes"
                                                                       : "the lists have different lengths");
        return false;
    }
    shape->dim[depth] = n;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *item = PySequence_GetItem(object, i);
        bool right = item && measure_lists(item, depth + 1, shape, dtype);
        Py_XDECREF(item);
        if (!right)
            return false;
    }
    if (n == 0 && shape->rank < depth + 1)
        shape->rank = depth + 1;
    return true;
}

static bool store_number(PyObject *object, wf_dtype dtype, char *to)
{
    if (dtype == WF_BOOL) {
        int holds = PyObject_IsTrue(object);
        *to = (char)(holds > 0);
        return holds >= 0;
    }
    if (dtype == WF_I64 || dtype == WF_U64) {
        PyObject *whole = PyNumber_Index(object);
        uint64_t bits = !whole            ? 0
                        : dtype == WF_I64 ? (uint64_t)PyLong_AsLongLong(whole)
                                          : PyLong_AsUnsignedLongLong(whole);
        Py_XDECREF(whole);
        memcpy(to, &bits, sizeof bits);
    } else {
        double parts[2] = { 0, 0 };
        if (dtype == WF_C128 && PyComplex_Check(object)) {
            parts[0] = PyComplex_RealAsDouble(object);
            parts[1] = PyComplex_ImagAsDouble(object);
        } else
            parts[0] = PyFloat_AsDouble(object);
        memcpy(to, parts, wf_dtype_size(dtype));
    }
    return !PyErr_Occurred();
}

static char *store_lists(PyObject *object, wf_dtype dtype, char *to)
{
    if (!wfpy_is_list(object))
        return store_number(object, dtype, to) ? to + wf_dtype_size(dtype) : NULL;
    for (Py_ssize_t i = 0, n = PySequence_Size(object); to && i < n; ++i) {
        PyObject *item = PySequence_GetItem(object, i);
        to = item ? store_lists(item, dtype, to) : NULL;
        Py_XDECREF(item);
    }
    return to;
}

PyObject *wfpy_from_lists(PyObject *object)
{
    wf_shape shape = { .rank = -1 };
    wf_dtype dtype = WF_NONE;
    for (int i = 0; i < WF_MAX_RANK; ++i)
        shape.dim[i] = -1;
    if (!measure_lists(object, 0, &shape, &dtype)) {
        PyObject *package = PyErr_Occurred() ? NULL : PyImport_ImportModule("weft._functions");
        PyObject *array = package ? PyObject_CallMethod(package, "_of_lists", "O", object) : NULL;
        Py_XDECREF(package);
        return array;
    }
    for (int i = 0; i < WF_MAX_RANK; ++i)
        shape.dim[i] = i < shape.rank ? shape.dim[i] : 0;
    dtype = dtype == WF_NONE ? WF_F64 : dtype;
    wf_array *made = wfpy_context() ? wf_empty_with(wfpy.context, dtype, shape,
                                                    &(wf_place){ .size = sizeof(wf_place), .device = WF_CPU })
                                    : NULL;
    void *data;
    if (!made || wf_map(made, &data, NULL) != WF_OK) {
        wf_release(made);
        return wfpy_raise();
    }
    if (!store_lists(object, dtype, data)) {
        wf_release(made);
        return NULL;
    }
    return wfpy_array_new(made);
}

/* ---- arguments ---- */

bool wfpy_number_argument(PyObject *object, wf_arg *arg)
{
    if (PyFloat_Check(object)) {
        arg->kind = WF_ARG_NUMBER;
        arg->as.num = PyFloat_AsDouble(object);
        return true;
    }
    if (!PyLong_Check(object))
        return false;
    int overflow;
    arg->as.i64 = PyLong_AsLongLongAndOverflow(object, &overflow);
    arg->kind = WF_ARG_I64;
    if (overflow) {
        arg->as.u64 = PyLong_AsUnsignedLongLong(object);
        arg->kind = WF_ARG_U64;
    } else if (arg->as.i64 > -(1ll << 53) && arg->as.i64 < 1ll << 53) {
        arg->as.num = (double)arg->as.i64;
        arg->kind = WF_ARG_NUMBER;
    }
    return !PyErr_Occurred();
}
