/* views.c - views of arrays: array[key] with numbers, slices, None and Ellipsis, assignment to such a view, and views with
 * other axes or another shape. Of a distributed array they are copies, and assignment writes by index. */
#include "weft_python.h"

/* ---- array[key] ---- */

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

static bool may_have_more(const wf_shape *shape)
{
    if (shape->rank == WF_MAX_RANK)
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "an array has at most %d axes", WF_MAX_RANK);
    return shape->rank < WF_MAX_RANK;
}

static bool add_axis(wf_array **view, int axis)
{
    wf_shape shape = wf_array_shape(*view);
    if (!may_have_more(&shape))
        return false;
    for (int i = shape.rank; i > axis; --i)
        shape.dim[i] = shape.dim[i - 1];
    shape.dim[axis] = 1;
    ++shape.rank;
    return step(view, wf_view_reshape(*view, shape));
}

/* Counts the axes that the parts of a key name, of an array of `rank` axes. -1: an exception is set. */
static int count_named(PyObject *key, int rank)
{
    int named = 0;
    bool open = false;
    for (Py_ssize_t i = 0, n = PyTuple_Check(key) ? PyTuple_Size(key) : 1; i < n; ++i) {
        PyObject *part = key_part(key, i);
        named += part != Py_None && part != Py_Ellipsis;
        if (part == Py_Ellipsis && open) {
            PyErr_SetString(wfpy.error[WF_ERR_BOUNDS], "an index has at most one Ellipsis");
            return -1;
        }
        open = open || part == Py_Ellipsis;
    }
    if (named <= rank)
        return named;
    PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "%d indices for an array of %d axes", named, rank);
    return -1;
}

wf_array *wfpy_view_of(wf_array *array, PyObject *key)
{
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_Size(key) : 1;
    const int rank = wf_array_shape(array).rank, named = count_named(key, rank);
    if (named < 0)
        return NULL;
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

/* ---- array[key] of a distributed array ---- */
/* What a key names: slices, and the shape of the result. */
typedef struct named {
    wf_shape shape;
    wf_axis_slice slice[WF_MAX_RANK];
    bool all; /* all elements in their order, and no other axes */
} named;

static void take_axis(named *k, int axis, int64_t start, int64_t count, int64_t step)
{
    k->slice[axis] = (wf_axis_slice){ start, step, k->shape.rank };
    k->shape.dim[k->shape.rank++] = count;
}

/* Adds a slice or a number. False: an exception is set. */
static bool take_part(named *k, const wf_shape *whole, int axis, PyObject *part)
{
    Py_ssize_t start, stop, by;
    const int64_t extent = whole->dim[axis];
    if (PySlice_Check(part)) {
        if (PySlice_Unpack(part, &start, &stop, &by) < 0)
            return false;
        const Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)extent, &start, &stop, by);
        k->all = k->all && count == extent && by == 1;
        take_axis(k, axis, start, count, by);
        return true;
    }
    const Py_ssize_t at = PyNumber_AsSsize_t(part, PyExc_IndexError);
    if (at == -1 && PyErr_Occurred())
        return false;
    if (at < -extent || at >= extent) {
        PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "index %zd is out of range for axis %d of extent %lld", at, axis,
                     (long long)extent);
        return false;
    }
    k->all = false;
    k->slice[axis] = (wf_axis_slice){ .start = at < 0 ? at + extent : at, .along = -1 };
    return true;
}

/* Finds what a key of numbers, slices, None and Ellipsis names. False: an exception is set. */
static bool find_named(const wf_array *array, PyObject *key, named *k)
{
    const wf_shape whole = wf_array_shape(array);
    const Py_ssize_t n = PyTuple_Check(key) ? PyTuple_Size(key) : 1;
    const int names = count_named(key, whole.rank);
    int axis = 0;
    *k = (named){ .all = true };
    for (Py_ssize_t i = 0; names >= 0 && i <= n; ++i) {
        PyObject *part = i < n ? key_part(key, i) : Py_Ellipsis; /* at the end: the axes that the key does not name */
        const int last = i < n ? axis + whole.rank - names : whole.rank;
        if (part == Py_None) {
            if (!may_have_more(&k->shape))
                return false;
            k->shape.dim[k->shape.rank++] = 1;
            k->all = false;
        } else if (part == Py_Ellipsis) {
            for (; axis < last; ++axis) {
                if (!may_have_more(&k->shape))
                    return false;
                take_axis(k, axis, 0, whole.dim[axis], 1);
            }
        } else if (!may_have_more(&k->shape) || !take_part(k, &whole, axis++, part))
            return false;
    }
    return names >= 0;
}

/* Returns a copy of slices. */
static PyObject *slice_of(const wf_array *array, wf_shape shape, const wf_axis_slice *slice)
{
    wfpy_released r = wfpy_release_gil(false);
    wf_array *made = wf_array_slice(array, shape, slice);
    wfpy_take_gil(r);
    return wfpy_array_new(made);
}

static PyObject *get_distributed(wf_array *array, PyObject *key)
{
    named k;
    if (!find_named(array, key, &k))
        return NULL;
    return k.all ? wfpy_array_new(wf_retain(array)) : slice_of(array, k.shape, k.slice);
}

static int set_distributed(wf_array *array, PyObject *key, PyObject *value)
{
    named k;
    PyObject *from = find_named(array, key, &k) ? wfpy_as_array(value, WF_NONE) : NULL;
    wf_array *elements = from ? wfpy_array_of(from) : NULL;
    wf_status status = WF_ERR_ARG;
    if (elements) {
        wfpy_released r = wfpy_release_gil(false);
        status = k.all && !wf_array_dist(elements) ? wf_array_assign(array, elements)
                                                   : wf_array_assign_slice(array, k.shape, k.slice, elements);
        wfpy_take_gil(r);
        if (status != WF_OK)
            wfpy_raise();
    }
    Py_XDECREF(from);
    return status == WF_OK ? 0 : -1;
}

/* ---- */

PyObject *wfpy_get_item(PyObject *self, PyObject *key)
{
    if (has_wide(key)) {
        PyObject *made = wfpy_index_get(self, key);
        return made || PyErr_Occurred() ? made : PyObject_CallFunctionObjArgs(wfpy.wide_index, self, key, NULL);
    }
    wf_array *array = wfpy_array_of(self);
    if (wf_array_dist(array))
        return get_distributed(array, key);
    wf_array *view = array ? wfpy_view_of(array, key) : NULL;
    return view ? wfpy_array_new(view) : NULL;
}

int wfpy_set_item(PyObject *self, PyObject *key, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of an array cannot be deleted");
        return -1;
    }
    if (has_wide(key)) {
        const int set = wfpy_index_set(self, key, value);
        if (set)
            return set < 0 ? -1 : 0;
        PyObject *done = PyObject_CallFunctionObjArgs(wfpy.wide_assign, self, key, value, NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    wf_array *array = wfpy_array_to_write(self);
    if (wf_array_dist(array))
        return set_distributed(array, key, value);
    wf_array *view = array ? wfpy_view_of(array, key) : NULL;
    PyObject *from = view ? wfpy_as_array(value, WF_NONE) : NULL;
    if (from && view && wfpy_array_of(from) && wfpy_is_same_view(view, wfpy_array_of(from))) {
        wf_release(view); /* x[key] += y has changed the elements */
        Py_DECREF(from);
        return 0;
    }
    if (from) {
        PyObject *apart = wfpy_apart(from, view);
        Py_DECREF(from);
        from = apart;
    }
    wf_array *elements = from ? wfpy_array_of(from) : NULL, *there = NULL;
    int result = -1;
    if (elements && !wfpy_is_array(value) && wf_array_device(elements) != wf_array_device(view)) { /* host data */
        elements = there = wf_copy_to(elements, wf_array_device(view));
        if (!there)
            wfpy_raise();
    }
    if (elements) {
        wfpy_released r = wfpy_release_gil(false);
        const wf_status status = wf_array_assign(view, elements);
        wfpy_take_gil(r);
        if (status == WF_OK)
            result = 0;
        else
            wfpy_raise();
    }
    wf_release(there);
    wf_release(view);
    Py_XDECREF(from);
    return result;
}

PyObject *wfpy_indices_of(PyObject *self, PyObject *place)
{
    const wf_shape shape = wfpy_array_shape(self);
    int64_t count = 1;
    for (int d = 0; d < shape.rank; ++d)
        count *= shape.dim[d];
    const Py_ssize_t given = PyNumber_AsSsize_t(place, PyExc_IndexError);
    if (PyErr_Occurred())
        return NULL;
    if (given < -count || given >= count)
        return PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "item: there is no element %zd of %lld", given,
                            (long long)count);
    int64_t rest = given < 0 ? given + count : given;
    PyObject *indices = PyTuple_New(shape.rank);
    for (int d = shape.rank; indices && d-- > 0; rest /= shape.dim[d]) {
        PyObject *index = PyLong_FromLongLong(rest % shape.dim[d]);
        if (!index || PyTuple_SetItem(indices, d, index) < 0) {
            Py_DECREF(indices);
            return NULL;
        }
    }
    return indices;
}

PyObject *wfpy_iterate(PyObject *self)
{
    if (wfpy_array_shape(self).rank)
        return PySeqIter_New(self);
    PyErr_SetString(PyExc_TypeError, "an array without axes has no parts; x.item() is its number");
    return NULL;
}

PyObject *wfpy_sequence_item(PyObject *self, Py_ssize_t i)
{
    wf_array *array = wfpy_array_of(self);
    if (!array)
        return NULL;
    if (i < 0 || i >= wf_array_shape(array).dim[0]) { /* ends loops */
        PyErr_SetString(wfpy.error[WF_ERR_BOUNDS], "the index is out of range");
        return NULL;
    }
    if (!wf_array_dist(array))
        return wfpy_array_new(wf_view_at(array, 0, i));
    named k = { .slice[0] = { .start = i, .along = -1 } };
    const wf_shape whole = wf_array_shape(array);
    for (int d = 1; d < whole.rank; ++d)
        take_axis(&k, d, 0, whole.dim[d], 1);
    return slice_of(array, k.shape, k.slice);
}

/* ---- other axes, other shapes ---- */

/* Returns the view, or a copy of a distributed array. */
static PyObject *permuted(wf_array *array, const int *axes)
{
    wfpy_released r = wfpy_release_gil(false);
    wf_array *made = wf_array_dist(array) ? wf_array_permute(array, axes) : wf_view_permute(array, axes);
    wfpy_take_gil(r);
    return wfpy_array_new(made);
}

PyObject *wfpy_get_transposed(PyObject *self, void *closure)
{
    (void)closure;
    wf_array *array = wfpy_array_of(self);
    int axes[WF_MAX_RANK], rank = array ? wf_array_shape(array).rank : 0;
    for (int i = 0; i < rank; ++i)
        axes[i] = rank - 1 - i;
    return array ? permuted(array, axes) : NULL;
}

static PyObject *reshape(PyObject *self, PyObject *args)
{
    wf_shape shape;
    PyObject *extents = wfpy_sequence_of(args);
    wf_array *array = extents && wfpy_shape(extents, true, &shape) ? wfpy_array_of(self) : NULL;
    Py_XDECREF(extents);
    if (!array)
        return NULL;
    if (wf_array_dist(array)) {
        wfpy_released r = wfpy_release_gil(false);
        wf_array *made = wf_array_reshape(array, shape);
        wfpy_take_gil(r);
        return wfpy_array_new(made);
    }
    wf_array *view = wf_view_reshape(array, shape);
    if (view)
        return wfpy_array_new(view);
    wf_clear_error(wfpy.context); /* another number of elements fails again below */
    wf_array *packed = wf_array_copy(array);
    view = packed ? wf_view_reshape(packed, shape) : NULL;
    wf_release(packed);
    return wfpy_array_new(view);
}
static PyObject *transpose(PyObject *self, PyObject *args)
{
    if (PyTuple_Size(args) == 0)
        return wfpy_get_transposed(self, NULL);
    PyObject *sequence = wfpy_sequence_of(args);
    wf_array *array = NULL;
    int axes[WF_MAX_RANK], rank = wfpy_array_shape(self).rank;
    Py_ssize_t n = sequence ? PySequence_Size(sequence) : -1;
    if (n == rank)
        array = wfpy_array_of(self);
    else if (n >= 0)
        PyErr_Format(wfpy.error[WF_ERR_ARG], "transpose: %zd axes are named, and the array has %d", n, rank);
    for (int i = 0; array && i < rank; ++i) {
        PyObject *axis = PySequence_GetItem(sequence, i);
        Py_ssize_t at = axis ? PyNumber_AsSsize_t(axis, PyExc_OverflowError) : -1;
        Py_XDECREF(axis);
        axes[i] = (int)(at < 0 ? at + rank : at);
        if (PyErr_Occurred())
            array = NULL;
    }
    Py_XDECREF(sequence);
    return array ? permuted(array, axes) : NULL;
}
/* Sets slices that repeat a distributed array along axes of a shape. False: it does not broadcast to that. */
static bool find_broadcast(const wf_array *array, const wf_shape *shape, named *k)
{
    const wf_shape whole = wf_array_shape(array);
    const int more = shape->rank - whole.rank;
    bool fits = more >= 0;
    *k = (named){ .shape = *shape };
    for (int d = 0; fits && d < whole.rank; ++d) {
        fits = whole.dim[d] == 1 || whole.dim[d] == shape->dim[d + more];
        k->slice[d] = (wf_axis_slice){ .step = 1, .along = whole.dim[d] == shape->dim[d + more] ? d + more : -1 };
    }
    return fits;
}

static PyObject *broadcast_to(PyObject *self, PyObject *object)
{
    wf_shape shape;
    wf_array *array = wfpy_shape(object, false, &shape) ? wfpy_array_of(self) : NULL;
    named k;
    if (wf_array_dist(array)) {
        char text[96];
        if (find_broadcast(array, &shape, &k))
            return slice_of(array, k.shape, k.slice);
        wf_shape_text(&shape, text, sizeof text);
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "broadcast_to: the array does not broadcast to %s", text);
        return NULL;
    }
    return array ? wfpy_array_new(wf_view_broadcast(array, shape)) : NULL;
}

PyMethodDef wfpy_view_methods[] = {
    { "reshape", reshape, METH_VARARGS,
      "reshape(*shape)\n--\n\nA view of another shape, or a copy where a view is impossible. An extent of -1 is found." },
    { "transpose", transpose, METH_VARARGS,
      "transpose(*axes)\n--\n\nA view: axis d is axes[d] of this array; without axes in reverse order." },
    { "broadcast_to", broadcast_to, METH_O,
      "broadcast_to(shape)\n--\n\nA read-only view of that shape, by NumPy's rule." },
    { NULL, NULL, 0, NULL },
};
