/* index.c - array[key]: views by numbers, slices, None and Ellipsis. Keys with arrays are functions in Python. */
#include "weft_python.h"

/* True if the key needs more than views. */
static bool is_wide(PyObject *key)
{
    return !(PySlice_Check(key) || key == Py_None || key == Py_Ellipsis ||
             (PyIndex_Check(key) && !PyBool_Check(key) && !wfpy_is_array(key) && PyLong_Check(key)));
}
static bool has_wide(PyObject *key)
{
    if (!PyTuple_Check(key))
        return is_wide(key);
    for (Py_ssize_t i = 0, n = PyTuple_Size(key); i < n; ++i)
        if (is_wide(PyTuple_GetItem(key, i)))
            return true;
    return false;
}

static PyObject *key_part(PyObject *key, Py_ssize_t i) { return PyTuple_Check(key) ? PyTuple_GetItem(key, i) : key; }

/* Moves on to the next view; the last one is released. */
static bool step(wf_array **view, wf_array *next)
{
    wf_release(*view);
    *view = next;
    if (!next)
        wfpy_raise();
    return next != NULL;
}

static bool slice_axis(wf_array **view, int axis, PyObject *slice)
{
    Py_ssize_t start, stop, by;
    wf_shape shape = wf_array_shape(*view);
    if (PySlice_Unpack(slice, &start, &stop, &by) < 0)
        return false;
    Py_ssize_t n = PySlice_AdjustIndices((Py_ssize_t)shape.dim[axis], &start, &stop, by);
    if (n == shape.dim[axis] && by == 1)
        return true;
    if (n == 0)
        return step(view, wf_view_slice(*view, axis, 0, 0, 1));
    int64_t end = by < 0 && stop < 0 ? WF_END_INDEX : stop;
    return step(view, wf_view_slice(*view, axis, start, end, by));
}

static bool add_axis(wf_array **view, int axis)
{
    wf_shape shape = wf_array_shape(*view);
    if (shape.rank == WF_MAX_RANK) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "an array has at most %d axes", WF_MAX_RANK);
        return false;
    }
    for (int i = shape.rank; i > axis; --i)
        shape.dim[i] = shape.dim[i - 1];
    shape.dim[axis] = 1;
    ++shape.rank;
    return step(view, wf_view_reshape(*view, shape));
}

/* The view that a key without arrays means; the caller releases it. */
static wf_array *view_of(wf_array *array, PyObject *key)
{
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_Size(key) : 1;
    int rank = wf_array_shape(array).rank, named = 0;
    bool open = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *part = key_part(key, i);
        named += part != Py_None && part != Py_Ellipsis;
        if (part == Py_Ellipsis && open) {
            PyErr_SetString(wfpy.error[WF_ERR_BOUNDS], "an index has at most one Ellipsis");
            return NULL;
        }
        open = open || part == Py_Ellipsis;
    }
    if (named > rank) {
        PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "%d indices for an array of %d axes", named, rank);
        return NULL;
    }
    wf_array *view = wf_retain(array);
    int axis = 0;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *part = key_part(key, i);
        bool done = true;
        if (part == Py_Ellipsis)
            axis += rank - named;
        else if (part == Py_None)
            done = add_axis(&view, axis++);
        else if (PySlice_Check(part))
            done = slice_axis(&view, axis++, part);
        else {
            Py_ssize_t at = PyNumber_AsSsize_t(part, PyExc_IndexError);
            done = !(at == -1 && PyErr_Occurred()) && step(&view, wf_view_at(view, axis, at));
        }
        if (!done) {
            wf_release(view);
            return NULL;
        }
    }
    return view;
}

PyObject *wfpy_get_item(PyObject *self, PyObject *key)
{
    if (has_wide(key))
        return PyObject_CallFunctionObjArgs(wfpy.wide_index, self, key, NULL);
    wf_array *array = wfpy_array_of(self), *view = array ? view_of(array, key) : NULL;
    return view ? wfpy_array_view(view, ((wfpy_array *)self)->read_only) : NULL;
}

int wfpy_set_item(PyObject *self, PyObject *key, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    if (has_wide(key)) {
        PyObject *done = PyObject_CallFunctionObjArgs(wfpy.wide_assign, self, key, value, NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    wf_array *array = wfpy_array_to_write(self), *view = array ? view_of(array, key) : NULL;
    PyObject *from = view ? wfpy_as_array(value, WF_NONE) : NULL;
    wf_array *elements = from ? wfpy_array_of(from) : NULL, *there = NULL;
    int result = -1;
    if (elements && !wfpy_is_array(value) && wf_array_device(elements) != wf_array_device(view)) { /* host data */
        elements = there = wf_copy_to(elements, wf_array_device(view));
        if (!there)
            wfpy_raise();
    }
    if (elements) {
        if (wf_array_assign(view, elements) == WF_OK)
            result = 0;
        else
            wfpy_raise();
    }
    wf_release(there);
    wf_release(view);
    Py_XDECREF(from);
    return result;
}
