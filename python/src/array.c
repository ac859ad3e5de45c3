/* array.c - weft.Array: making arrays, their properties, and access to contents. */
#include <string.h>

#include "weft_python.h"

static wfpy_array *self_array(PyObject *self) { return (wfpy_array *)self; }

PyObject *wfpy_array_new(wf_array *array)
{
    if (!array)
        return wfpy_raise();
    wfpy_array *made = PyObject_New(wfpy_array, wfpy.array);
    if (!made) {
        wf_release(array);
        return NULL;
    }
    made->array = array;
    made->value = NULL;
    made->before = made->after = NULL;
    made->weak = NULL;
    return (PyObject *)made;
}

static void array_dealloc(PyObject *self)
{
    wfpy_array *a = self_array(self);
    PyTypeObject *type = Py_TYPE(self);
    if (a->weak)
        PyObject_ClearWeakRefs(self);
    wfpy_lazy_forget(a);
    wf_release(a->array);
    PyObject_Free(self);
    Py_DECREF(type);
}

wf_array *wfpy_array_of(PyObject *object)
{
    wfpy_array *a = self_array(object);
    return a->array || wfpy_lazy_compute(a) ? a->array : NULL;
}

wf_array *wfpy_array_to_write(PyObject *object)
{
    if (!wfpy_lazy_compute_all())
        return NULL;
    if (wfpy_is_read_only(object)) {
        PyErr_SetString(wfpy.error[WF_ERR_ARG], "the array is read-only; x.copy() makes one that can be written");
        return NULL;
    }
    return wfpy_array_of(object);
}

bool wfpy_is_long(const wf_array *array) { return wf_array_count(array) >= WFPY_LONG; }

wf_dtype wfpy_array_dtype(PyObject *object)
{
    const wfpy_array *a = self_array(object);
    if (!a->array && !a->value)
        return WF_U8;
    return a->array ? wf_array_dtype(a->array) : wf_val_dtype(((wfpy_value *)a->value)->val);
}
wf_shape wfpy_array_shape(PyObject *object)
{
    const wfpy_array *a = self_array(object);
    if (!a->array && !a->value)
        return (wf_shape){ .rank = 1 };
    return a->array ? wf_array_shape(a->array) : wf_val_shape(((wfpy_value *)a->value)->val);
}

/* ---- conversions of arguments ---- */

bool wfpy_shape(PyObject *object, bool open, wf_shape *shape)
{
    *shape = (wf_shape){ 0 };
    if (PyIndex_Check(object)) {
        shape->rank = 1;
        shape->dim[0] = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    } else {
        Py_ssize_t n = PySequence_Check(object) ? PySequence_Size(object) : -1;
        if (n < 0) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "a shape is an int or a sequence of ints, not %R", object);
            return false;
        }
        if (n > WF_MAX_RANK) {
            PyErr_Format(wfpy.error[WF_ERR_SHAPE], "an array has at most %d axes, not %zd", WF_MAX_RANK, n);
            return false;
        }
        shape->rank = (int32_t)n;
        for (Py_ssize_t i = 0; i < n; ++i) {
            PyObject *item = PySequence_GetItem(object, i);
            shape->dim[i] = item ? PyNumber_AsSsize_t(item, PyExc_OverflowError) : -1;
            Py_XDECREF(item);
            if (PyErr_Occurred())
                return false;
        }
    }
    if (PyErr_Occurred())
        return false;
    for (int i = 0; i < shape->rank; ++i)
        if (shape->dim[i] < 0 && !(open && shape->dim[i] == -1)) {
            PyErr_Format(wfpy.error[WF_ERR_SHAPE], "extent %lld of axis %d is negative", (long long)shape->dim[i], i);
            return false;
        }
    return true;
}

PyObject *wfpy_sequence_of(PyObject *args)
{
    PyObject *only = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    return Py_NewRef(only && !PyIndex_Check(only) ? only : args);
}

PyObject *wfpy_shape_object(const wf_shape *shape)
{
    PyObject *tuple = PyTuple_New(shape->rank);
    for (int i = 0; tuple && i < shape->rank; ++i) {
        PyObject *extent = PyLong_FromLongLong(shape->dim[i]);
        if (!extent || PyTuple_SetItem(tuple, i, extent) < 0) {
            Py_DECREF(tuple);
            return NULL;
        }
    }
    return tuple;
}

bool wfpy_device(PyObject *object, wf_device *device)
{
    *device = 0;
    if (!object || object == Py_None)
        return true;
    const char *name = PyUnicode_Check(object) ? wfpy_utf8(object) : NULL;
    if (name)
        *device = wf_device_named(name);
    if (!*device)
        PyErr_Format(wfpy.error[WF_ERR_DEVICE], "there is no device %R; such names are 'cpu', 'interp', 'cuda:0'",
                     object);
    return *device != 0;
}

bool wfpy_axes(PyObject *object, int rank, wf_axes *axes)
{
    *axes = 0;
    if (!object || object == Py_None) {
        *axes = WF_ALL_AXES;
        return true;
    }
    const bool one = PyIndex_Check(object);
    if (!one && !PySequence_Check(object)) {
        PyErr_Format(PyExc_TypeError, "axis is None, an int, or a tuple of ints, not %R", object);
        return false;
    }
    Py_ssize_t n = one ? 1 : PySequence_Size(object);
    if (n == 0 && rank)
        PyErr_SetString(wfpy.error[WF_ERR_ARG], "axis names no axis; None is all of them");
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *item = one ? Py_NewRef(object) : PySequence_GetItem(object, i);
        Py_ssize_t axis = item ? PyNumber_AsSsize_t(item, PyExc_OverflowError) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return false;
        if (axis < -rank || axis >= rank) {
            PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "there is no axis %zd in an array of %d axes", axis, rank);
            return false;
        }
        wf_axes bit = 1u << (axis < 0 ? axis + rank : axis);
        if (*axes & bit) {
            PyErr_Format(wfpy.error[WF_ERR_ARG], "axis %zd is named twice", axis);
            return false;
        }
        *axes |= bit;
    }
    return !PyErr_Occurred();
}

/* ---- arrays of anything ---- */

PyObject *wfpy_as_array(PyObject *object, wf_dtype dtype)
{
    PyObject *made = NULL;
    if (wfpy_is_array(object))
        made = Py_NewRef(object);
    else if (wfpy_is_value(object))
        PyErr_SetString(
            PyExc_TypeError,
            "an array is needed, and this is a value of a recording, as in weft.minimize, weft.Graph and "
            "derivatives within others: it has operators, elementwise functions, reductions and functions of "
            "shapes");
    else if (PyUnicode_Check(object) || PyBytes_Check(object))
        PyErr_Format(PyExc_TypeError, "%R is no array, number, or list of numbers", object);
    else if (wfpy_has_buffer(object))
        made = wfpy_from_buffer(object);
    else if (PyObject_HasAttrString(object, "__dlpack__"))
        made = wfpy_from_dlpack(object, Py_None);
    else if (wfpy_is_list(object) || PyNumber_Check(object))
        made = wfpy_from_lists(object);
    else
        PyErr_Format(PyExc_TypeError, "%R is no array, number, or list of numbers", object);
    if (made && dtype != WF_NONE && wfpy_array_dtype(made) != dtype) {
        PyObject *cast = wfpy_cast(made, dtype);
        Py_DECREF(made);
        made = cast;
    }
    return made;
}

/* ---- functions that make arrays ---- */

static PyObject *asarray(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "object", "dtype", "copy", "device", NULL };
    PyObject *object, *dtype_object = Py_None, *copy = Py_None, *device_object = Py_None;
    wf_dtype dtype = WF_NONE;
    wf_device device;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOO:asarray", names, &object, &dtype_object, &copy,
                                     &device_object) ||
        (dtype_object != Py_None && !wfpy_dtype(dtype_object, &dtype)) || !wfpy_device(device_object, &device) ||
        !wfpy_context())
        return NULL;
    const int copies = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    PyObject *made = copies < 0 ? NULL : wfpy_as_array(object, dtype);
    if (!made)
        return NULL;
    wf_array *array = wfpy_array_of(made), *other = NULL;
    if (!array) {
        Py_DECREF(made);
        return NULL;
    }
    if (device && device != wf_array_device(array))
        other = wf_copy_to(array, device);
    else if (copies && (made == object || !dtype))
        other = wf_array_copy(array);
    else
        return made;
    Py_DECREF(made);
    return wfpy_array_new(other);
}

static PyObject *empty(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "shape", "dtype", "device", "ranks", "grid", NULL };
    PyObject *shape_object, *dtype_object = NULL, *device_object = NULL, *ranks = Py_None, *grid = Py_None;
    wf_shape shape;
    wf_dtype dtype = WF_F32;
    wf_place place = { .size = sizeof place };
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OO$OO:empty", names, &shape_object, &dtype_object,
                                     &device_object, &ranks, &grid) ||
        !wfpy_shape(shape_object, false, &shape) ||
        (dtype_object && dtype_object != Py_None && !wfpy_dtype(dtype_object, &dtype)) ||
        !wfpy_device(device_object, &place.device) || !wfpy_context())
        return NULL;
    if (ranks != Py_None) {
        if (place.device > WF_CPU)
            return PyErr_Format(wfpy.error[WF_ERR_DEVICE],
                                "weft.empty(): a distributed array is in the memory of processors, not of device %R",
                                device_object);
        wf_array *made = wfpy_empty_distributed("weft.empty", dtype, &shape, ranks, grid);
        return made ? wfpy_array_new(made) : NULL;
    }
    if (grid != Py_None)
        return PyErr_Format(wfpy.error[WF_ERR_ARG], "weft.empty(): grid %R needs the argument 'ranks'", grid);
    return wfpy_array_new(wf_empty_with(wfpy.context, dtype, shape, &place));
}

/* shares_memory(a, b) */
static PyObject *shares_memory(PyObject *self, PyObject *args)
{
    PyObject *a, *b;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!:shares_memory", wfpy.array, &a, wfpy.array, &b))
        return NULL;
    wf_array *first = wfpy_array_of(a), *second = first ? wfpy_array_of(b) : NULL;
    return second ? PyBool_FromLong(wf_shares(first, second)) : NULL;
}

/* ---- properties ---- */

static PyObject *get_shape(PyObject *self, void *closure)
{
    wf_shape shape = wfpy_array_shape(self);
    (void)closure;
    return wfpy_shape_object(&shape);
}
static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return wfpy_dtype_object(wfpy_array_dtype(self));
}
static PyObject *get_ndim(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(wfpy_array_shape(self).rank);
}
static int64_t count_of(PyObject *self)
{
    wf_shape shape = wfpy_array_shape(self);
    int64_t n = 1;
    for (int i = 0; i < shape.rank; ++i)
        n *= shape.dim[i];
    return n;
}
static PyObject *get_size(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(count_of(self));
}
static PyObject *get_itemsize(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(wf_dtype_size(wfpy_array_dtype(self)));
}
static PyObject *get_nbytes(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(count_of(self) * (int64_t)wf_dtype_size(wfpy_array_dtype(self)));
}
PyObject *wfpy_device_object(wf_device device)
{
    if (device >= WF_GPU_EMU(0))
        return PyUnicode_FromFormat(device == WF_GPU_EMU(0) ? "cuda-emu" : "cuda-emu:%d", device - WF_GPU_EMU(0));
    return device >= WF_GPU(0) ? PyUnicode_FromFormat("cuda:%d", device - WF_GPU(0))
                               : PyUnicode_FromString(device == WF_INTERP ? "interp" : "cpu");
}
static PyObject *get_device(PyObject *self, void *closure)
{
    (void)closure;
    wf_array *array = wfpy_array_of(self);
    return array ? wfpy_device_object(wf_array_device(array)) : NULL;
}
static PyObject *get_is_lazy(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(wfpy_is_lazy(self));
}
static PyObject *get_read_only(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(wfpy_is_read_only(self));
}
static PyObject *get_strides(PyObject *self, void *closure)
{
    (void)closure;
    wf_array *array = wfpy_array_of(self);
    wf_shape strides = array ? wf_array_shape(array) : (wf_shape){ 0 };
    int64_t stride[WF_MAX_RANK];
    void *data;
    if (!array)
        return NULL;
    wfpy_released r = wfpy_release_gil(false);
    wf_status status =
        wfpy_is_gpu(wf_array_device(array)) ? wf_map_device(array, &data, stride) : wf_map(array, &data, stride);
    wfpy_take_gil(r);
    if (status != WF_OK)
        return wfpy_raise();
    for (int i = 0; i < strides.rank; ++i)
        strides.dim[i] = stride[i] * (int64_t)wf_dtype_size(wf_array_dtype(array));
    return wfpy_shape_object(&strides);
}

/* ---- contents ---- */

static wf_status download(wf_array *array, void *to, size_t bytes)
{
    wfpy_released r = wfpy_release_gil(false);
    wf_status status = wf_download(array, to, bytes);
    wfpy_take_gil(r);
    return status;
}

/* The only element. */
static PyObject *only_item(PyObject *self)
{
    wf_array *array = wfpy_array_of(self);
    char bytes[16];
    if (!array)
        return NULL;
    if (wf_array_count(array) != 1) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "an array of %lld elements is no number",
                     (long long)wf_array_count(array));
        return NULL;
    }
    wf_dtype dtype = wf_array_dtype(array);
    wf_array *all = wf_array_dist(array) ? wfpy_collect(array) : wf_retain(array);
    const bool done = all && download(all, bytes, wf_dtype_size(dtype)) == WF_OK;
    wf_release(all);
    return done ? wfpy_element(dtype, bytes) : wfpy_raise();
}

static PyObject *item(PyObject *self, PyObject *args)
{
    const Py_ssize_t n = PyTuple_Size(args);
    if (n == 0)
        return only_item(self);
    PyObject *indices = n == 1 && !PyTuple_Check(PyTuple_GetItem(args, 0))
                            ? wfpy_indices_of(self, PyTuple_GetItem(args, 0))
                        : n == 1 ? Py_NewRef(PyTuple_GetItem(args, 0))
                                 : Py_NewRef(args);
    PyObject *part = indices ? PyObject_GetItem(self, indices) : NULL;
    PyObject *element = part ? PyObject_CallMethod(part, "item", NULL) : NULL;
    Py_XDECREF(indices);
    Py_XDECREF(part);
    return element;
}

static PyObject *lists_of(wf_dtype dtype, const wf_shape *shape, int axis, const char **at)
{
    if (axis == shape->rank) {
        PyObject *element = wfpy_element(dtype, *at);
        *at += wf_dtype_size(dtype);
        return element;
    }
    PyObject *list = PyList_New((Py_ssize_t)shape->dim[axis]);
    for (int64_t i = 0; list && i < shape->dim[axis]; ++i) {
        PyObject *part = lists_of(dtype, shape, axis + 1, at);
        if (!part || PyList_SetItem(list, (Py_ssize_t)i, part) < 0) {
            Py_DECREF(list);
            return NULL;
        }
    }
    return list;
}

static PyObject *tolist(PyObject *self, PyObject *none)
{
    (void)none;
    wf_array *array = wfpy_array_of(self);
    if (!array)
        return NULL;
    wf_dtype dtype = wf_array_dtype(array);
    wf_shape shape = wf_array_shape(array);
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(dtype);
    char *copy = PyMem_Malloc(bytes ? bytes : 1);
    if (!copy)
        return PyErr_NoMemory();
    const char *at = copy;
    PyObject *lists = download(array, copy, bytes) == WF_OK ? lists_of(dtype, &shape, 0, &at) : wfpy_raise();
    PyMem_Free(copy);
    return lists;
}

static PyObject *tobytes(PyObject *self, PyObject *none)
{
    (void)none;
    wf_array *array = wfpy_array_of(self);
    size_t bytes = array ? (size_t)wf_array_count(array) * wf_dtype_size(wf_array_dtype(array)) : 0;
    PyObject *made = array ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes) : NULL;
    if (made && download(array, PyBytes_AsString(made), bytes) != WF_OK) {
        Py_DECREF(made);
        return wfpy_raise();
    }
    return made;
}

static PyObject *number_by(PyObject *self, PyObject *(*convert)(PyObject *))
{
    PyObject *element = only_item(self), *number = element ? convert(element) : NULL;
    Py_XDECREF(element);
    return number;
}
static PyObject *array_int(PyObject *self) { return number_by(self, PyNumber_Long); }
/* True if the array may become a number of Python where a program does not say so: a tape does not follow that. */
static bool may_be_number(PyObject *self)
{
    const wf_array *array = wfpy_array_of(self);
    return array && wfpy_check_lent(array);
}
static PyObject *array_float(PyObject *self) { return may_be_number(self) ? number_by(self, PyNumber_Float) : NULL; }
static PyObject *array_index(PyObject *self)
{
    const wf_kind kind = wf_dtype_kind(wfpy_array_dtype(self));
    if ((kind != WF_KIND_SIGNED && kind != WF_KIND_UNSIGNED) || wfpy_array_shape(self).rank) {
        PyErr_SetString(PyExc_TypeError, "only an integer array without axes is an index");
        return NULL;
    }
    return number_by(self, PyNumber_Index);
}
static int array_bool(PyObject *self)
{
    if (count_of(self) != 1) {
        PyErr_SetString(PyExc_ValueError,
                        count_of(self)
                            ? "the truth value of an array of several elements is ambiguous; use any() or all()"
                            : "an array of no elements has no truth value; x.size tells how many it has");
        return -1;
    }
    PyObject *element = only_item(self);
    int holds = element ? PyObject_IsTrue(element) : -1;
    Py_XDECREF(element);
    return holds;
}
static PyObject *array_complex(PyObject *self, PyObject *none)
{
    (void)none;
    PyObject *element = may_be_number(self) ? only_item(self) : NULL;
    if (!element || PyComplex_Check(element))
        return element;
    double real = PyFloat_AsDouble(element);
    Py_DECREF(element);
    return real == -1 && PyErr_Occurred() ? NULL : PyComplex_FromDoubles(real, 0);
}

static Py_ssize_t array_length(PyObject *self)
{
    wf_shape shape = wfpy_array_shape(self);
    if (shape.rank == 0) {
        PyErr_SetString(PyExc_TypeError, "an array without axes has no length");
        return -1;
    }
    return (Py_ssize_t)shape.dim[0];
}
/* ---- copies, parts, pickling ---- */

static PyObject *copy(PyObject *self, PyObject *none)
{
    (void)none;
    wf_array *array = wfpy_array_of(self);
    if (!array)
        return NULL;
    wfpy_released r = wfpy_release_gil(false);
    wf_array *made = wf_array_copy(array);
    wfpy_take_gil(r);
    return wfpy_array_new(made);
}
static PyObject *deep_copy(PyObject *self, PyObject *memo)
{
    (void)memo;
    return copy(self, NULL);
}
static PyObject *to_device(PyObject *self, PyObject *name)
{
    wf_device device;
    wf_array *array = wfpy_device(name, &device) ? wfpy_array_of(self) : NULL;
    if (!array)
        return NULL;
    if (device == wf_array_device(array))
        return Py_NewRef(self);
    return wfpy_array_new(wf_copy_to(array, device));
}
static PyObject *astype(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "dtype", "copy", NULL };
    PyObject *object;
    int copies = 1;
    wf_dtype dtype;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$p:astype", names, &object, &copies) ||
        !wfpy_dtype(object, &dtype))
        return NULL;
    if (dtype == wfpy_array_dtype(self))
        return copies ? copy(self, NULL) : Py_NewRef(self);
    return wfpy_cast(self, dtype);
}
static PyObject *part(PyObject *self, const char *which)
{
    PyObject *name = PyUnicode_FromString(which), *function = name ? PyObject_GetAttr(wfpy.self, name) : NULL;
    PyObject *made = function ? PyObject_CallFunctionObjArgs(function, self, NULL) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(function);
    return made;
}
static PyObject *get_real(PyObject *self, void *closure)
{
    (void)closure;
    return wf_dtype_kind(wfpy_array_dtype(self)) == WF_KIND_COMPLEX ? part(self, "real") : Py_NewRef(self);
}
static PyObject *get_imag(PyObject *self, void *closure)
{
    (void)closure;
    return part(self, "imag");
}

static PyObject *reduce(PyObject *self, PyObject *none)
{
    PyObject *bytes = tobytes(self, none), *shape = bytes ? get_shape(self, NULL) : NULL;
    PyObject *make = shape ? PyObject_GetAttrString(wfpy.self, "_from_bytes") : NULL;
    PyObject *made = make ? Py_BuildValue("O(OOs)", make, bytes, shape, wf_dtype_name(wfpy_array_dtype(self))) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(shape);
    Py_XDECREF(make);
    return made;
}
/* _from_bytes(bytes, shape, dtype): the inverse of tobytes. */
static PyObject *from_bytes(PyObject *self, PyObject *args)
{
    PyObject *bytes, *shape_object, *dtype_object;
    wf_shape shape;
    wf_dtype dtype;
    Py_buffer view;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO", &bytes, &shape_object, &dtype_object) ||
        !wfpy_shape(shape_object, false, &shape) || !wfpy_dtype(dtype_object, &dtype) || !wfpy_context() ||
        PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    wf_array *made = wf_empty_with(wfpy.context, dtype, shape, NULL);
    wf_status status = made ? wf_upload(made, view.buf, (size_t)view.len) : WF_ERR_MEMORY;
    PyBuffer_Release(&view);
    if (status != WF_OK) {
        wf_release(made);
        return wfpy_raise();
    }
    return wfpy_array_new(made);
}

static PyGetSetDef properties[] = {
    { "shape", get_shape, NULL, "The extents, a tuple.", NULL },
    { "dtype", get_dtype, NULL, "The type of the elements.", NULL },
    { "ndim", get_ndim, NULL, "The number of axes.", NULL },
    { "size", get_size, NULL, "The number of elements.", NULL },
    { "itemsize", get_itemsize, NULL, "Bytes of an element.", NULL },
    { "nbytes", get_nbytes, NULL, "Bytes of all elements.", NULL },
    { "strides", get_strides, NULL, "Bytes between neighbours along each axis.", NULL },
    { "device", get_device, NULL, "The device in whose memory the elements are: 'cpu', 'cuda:0'.", NULL },
    { "is_lazy", get_is_lazy, NULL, "True until the elements have been computed.", NULL },
    { "read_only", get_read_only, NULL, "True if the elements cannot be written through this array.", NULL },
    { "ranks", wfpy_get_ranks, NULL, "The group of ranks over which the array is distributed, or None.", NULL },
    { "dist", wfpy_get_dist, NULL, "How the array is distributed, a weft.Dist, or None.", NULL },
    { "block_range", wfpy_get_block_range, NULL, "(lo, hi): this rank has the indices from lo to below hi.", NULL },
    { "block_slices", wfpy_get_block_slices, NULL, "The indices that this rank has, a tuple of slices.", NULL },
    { "T", wfpy_get_transposed, NULL, "A view with the axes in reverse order.", NULL },
    { "real", get_real, NULL, "The real parts; the array itself if it is real.", NULL },
    { "imag", get_imag, NULL, "The imaginary parts.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef methods[] = {
    { "item", item, METH_VARARGS,
      "item(*index)\n--\n\nThe only element, or that at an index in C order or at one index for each axis, as a Python\n"
      "number. Of a distributed array all ranks call it." },
    { "tolist", tolist, METH_NOARGS, "tolist()\n--\n\nThe elements as nested lists of Python numbers." },
    { "_memoryview", wfpy_memoryview, METH_NOARGS, NULL },
    { "tobytes", tobytes, METH_NOARGS, "tobytes()\n--\n\nThe elements in C order." },
    { "copy", copy, METH_NOARGS, "copy()\n--\n\nA new array with the same elements, in C order." },
    { "to_device", to_device, METH_O,
      "to_device(device)\n--\n\nThe array in the memory of a device; itself if it is there." },
    { "astype", WFPY_FUNCTION(astype), METH_VARARGS | METH_KEYWORDS,
      "astype(dtype, *, copy=True)\n--\n\nThe elements converted; floats become integers towards zero, and saturate." },
    { "__copy__", copy, METH_NOARGS, NULL },
    { "__deepcopy__", deep_copy, METH_O, NULL },
    { "__complex__", array_complex, METH_NOARGS, NULL },
    { "__reduce__", reduce, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};
static PyMemberDef members[] = {
    { "__weaklistoffset__", T_PYSSIZET, offsetof(wfpy_array, weak), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};
static PyType_Slot own_slots[] = {
    { Py_tp_doc, "Array\n--\n\nAn n-d array. weft.asarray, weft.empty and the functions of weft make arrays." },
    { Py_tp_dealloc, array_dealloc },
    { Py_tp_getset, properties },
    { Py_tp_methods, methods },
    { Py_tp_members, members },
    { Py_bf_getbuffer, wfpy_get_buffer },
    { Py_bf_releasebuffer, wfpy_release_buffer },
    { Py_mp_subscript, wfpy_get_item },
    { Py_mp_ass_subscript, wfpy_set_item },
    { Py_mp_length, array_length },
    { Py_sq_length, array_length },
    { Py_sq_item, wfpy_sequence_item },
    { Py_tp_iter, wfpy_iterate },
    { Py_nb_int, array_int },
    { Py_nb_float, array_float },
    { Py_nb_index, array_index },
    { Py_nb_bool, array_bool },
    { 0, NULL },
};
static PyMethodDef functions[] = {
    { "asarray", WFPY_FUNCTION(asarray), METH_VARARGS | METH_KEYWORDS,
      "asarray(object, dtype=None, copy=None, device=None)\n--\n\n"
      "An array of what object holds: an array of any library, or a number, or nested lists of numbers.\n"
      "Memory is shared where dtype, device and layout allow it, unless copy is true." },
    { "empty", WFPY_FUNCTION(empty), METH_VARARGS | METH_KEYWORDS,
      "empty(shape, dtype=weft.f32, device=None, *, ranks=None, grid=None)\n--\n\n"
      "A new array with undefined elements. ranks: a group, as of weft.ranks(), over which the array is distributed.\n"
      "grid: how many ranks divide each axis; 0, or None for all of them: chosen; or a weft.Dist, as of another array." },
    { "shares_memory", shares_memory, METH_VARARGS,
      "shares_memory(a, b)\n--\n\nTrue if two arrays are views of one allocation." },
    { "_from_bytes", from_bytes, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_array(PyObject *module)
{
    PyType_Slot slots[96];
    static PyMethodDef with_views[WFPY_METHODS], with_ranks[WFPY_METHODS], all[WFPY_METHODS];
    wfpy_join_methods(with_views, methods, wfpy_view_methods);
    wfpy_join_methods(with_ranks, with_views, wfpy_distributed_methods);
    for (PyType_Slot *s = own_slots; s->slot; ++s)
        if (s->slot == Py_tp_methods)
            s->pfunc = wfpy_join_methods(all, with_ranks, wfpy_dlpack_methods);
    wfpy_join_slots(own_slots, slots, sizeof slots / sizeof *slots);
    PyType_Spec spec = { "weft.Array", sizeof(wfpy_array), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         slots };
    wfpy.array = wfpy_add_type(module, &spec);
    return wfpy.array ? PyModule_AddFunctions(module, functions) : -1;
}
