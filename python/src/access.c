/* access.c - access to arrays in a recording: whole arrays and elements by index, as the methods of weft.Graph that record.h
 * and block.h have; and the arrays and parameters that belong to the recording. */
#include "weft_python.h"

static wfpy_graph *self_graph(PyObject *self) { return (wfpy_graph *)self; }

/* ---- arguments ---- */

/* The array of an argument: a weft.Array, or anything that is one. *owner keeps it alive. */
static wf_array *array_argument(PyObject *self, PyObject *object, bool writes, PyObject **owner)
{
    *owner = NULL;
    if (!wfpy_is_array(object)) {
        if (!(*owner = wfpy_as_array(object, WF_NONE)))
            return NULL;
        if (writes && !wfpy_note_foreign(self, *owner)) {
            Py_CLEAR(*owner);
            return NULL;
        }
        object = *owner;
    }
    wf_array *array = writes ? wfpy_array_to_write(object) : wfpy_array_of(object);
    if (!array) {
        Py_XDECREF(*owner);
        *owner = NULL;
    }
    return array;
}

bool wfpy_note_foreign(PyObject *self, PyObject *array)
{
    wfpy_graph *g = self_graph(self);
    if (!g->foreign && !(g->foreign = PyList_New(0)))
        return false;
    return PyList_Append(g->foreign, array) == 0;
}

/* _note_foreign(array) */
static PyObject *note_foreign(PyObject *self, PyObject *array)
{
    return wfpy_note_foreign(self, array) ? Py_NewRef(Py_None) : NULL;
}

bool wfpy_note_written(PyObject *self, const wf_array *array)
{
    if (!self_graph(self)->formals || wf_array_state(array) != WF_STATE_FORMAL)
        return true;
    PyObject *key = PyLong_FromVoidPtr((void *)array),
             *name = key ? PyDict_GetItemWithError(self_graph(self)->formals, key) : NULL;
    Py_XDECREF(key);
    return name ? PySet_Add(self_graph(self)->written, name) == 0 : !PyErr_Occurred();
}

enum { MAX_INDICES = WF_MAX_RANK };
/* Converts a number, a value, or a tuple of them. */
static bool indices(PyObject *self, PyObject *key, wf_val *index, wf_vals *out)
{
    const bool tuple = PyTuple_Check(key) || PyList_Check(key);
    Py_ssize_t n = tuple ? PySequence_Size(key) : 1;
    if (n > MAX_INDICES) {
        PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "an array has at most %d axes, and %zd indices were given", WF_MAX_RANK,
                     n);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *part = tuple ? PySequence_GetItem(key, i) : Py_NewRef(key);
        bool right = part && wfpy_operand(part, self, &index[i]);
        Py_XDECREF(part);
        if (!right)
            return false;
    }
    *out = (wf_vals){ index, (size_t)n };
    return true;
}

/* ---- elements ---- */

static PyObject *input(PyObject *self, PyObject *object)
{
    PyObject *owner;
    wf_graph *g = wfpy_graph_of(self);
    wf_array *array = g ? array_argument(self, object, false, &owner) : NULL;
    if (!array)
        return NULL;
    PyObject *value = wfpy_value_new(self, wf_in(g, array));
    Py_XDECREF(owner);
    return value;
}

static PyObject *output(PyObject *self, PyObject *args)
{
    PyObject *object, *value, *owner;
    wf_val v;
    wf_graph *g = PyArg_ParseTuple(args, "OO:output", &object, &value) ? wfpy_graph_of(self) : NULL;
    wf_array *array = g && wfpy_operand(value, self, &v) ? array_argument(self, object, true, &owner) : NULL;
    if (!array)
        return NULL;
    (wf_out)(g, array, v);
    bool noted = wfpy_note_written(self, array);
    Py_XDECREF(owner);
    return noted ? wfpy_graph_done(self) : NULL;
}

static const wfpy_name modes[] = {
    { "auto", WF_MODE_AUTO },     { "direct", WF_MODE_DIRECT },           { "local", WF_MODE_LOCAL },
    { "expand", WF_MODE_EXPAND }, { "no_conflict", WF_MODE_NO_CONFLICT }, { NULL, 0 }
};

static PyObject *graph_read(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "array", "index", "border", "other", NULL };
    PyObject *object, *key, *border_name = Py_None, *other = NULL, *owner;
    int border = WF_BORDER_NONE;
    wf_val index[MAX_INDICES], outside = { { 0, NULL } };
    wf_vals at;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO:read", names, &object, &key, &border_name, &other) ||
        (border_name != Py_None && !wfpy_find_name("read", border_name, wfpy_borders, &border)) ||
        !indices(self, key, index, &at) || (other && other != Py_None && !wfpy_operand(other, self, &outside)))
        return NULL;
    if (other && other != Py_None && border == WF_BORDER_NONE)
        border = WF_BORDER_VALUE;
    wf_array *array = array_argument(self, object, false, &owner);
    if (!array)
        return NULL;
    wf_val v = border ? wf_read_border_n(g, array, (wf_border)border, outside, at) : wf_read_n(g, array, at);
    Py_XDECREF(owner);
    return wfpy_value_new(self, v);
}

static PyObject *graph_write(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "array", "index", "value", "where", NULL };
    PyObject *object, *key, *value, *where = Py_None, *owner;
    wf_val index[MAX_INDICES], v, condition;
    wf_vals at;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTupleAndKeywords(args, keywords, "OOO|O:write", names, &object, &key, &value, &where) ||
        !indices(self, key, index, &at) || !wfpy_operand(value, self, &v) ||
        (where != Py_None && !wfpy_operand(where, self, &condition)))
        return NULL;
    wf_array *array = array_argument(self, object, true, &owner);
    if (!array)
        return NULL;
    if (where != Py_None)
        wf_write_if_n(g, condition, array, v, at);
    else
        wf_write_n(g, array, v, at);
    bool noted = wfpy_note_written(self, array);
    Py_XDECREF(owner);
    return noted ? wfpy_graph_done(self) : NULL;
}

static PyObject *accumulate(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "array", "index", "value", "join", "where", "mode", NULL };
    PyObject *object, *key, *value, *where = Py_None, *join_name = NULL, *mode_name = NULL, *owner;
    wf_val index[MAX_INDICES], v, condition = { { 1, NULL } };
    wf_vals at;
    int join = WF_JOIN_ADD, mode = WF_MODE_AUTO;
    wf_graph *g = wfpy_graph_of(self);
    if (!g ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "OOO|OOO:accumulate", names, &object, &key, &value, &join_name,
                                     &where, &mode_name) ||
        (join_name && !wfpy_find_name("accumulate", join_name, wfpy_joins, &join)) ||
        (mode_name && !wfpy_find_name("accumulate", mode_name, modes, &mode)) || !indices(self, key, index, &at) ||
        !wfpy_operand(value, self, &v) || (where != Py_None && !wfpy_operand(where, self, &condition)))
        return NULL;
    wf_array *array = array_argument(self, object, true, &owner);
    if (!array)
        return NULL;
    if (where != Py_None)
        wf_accumulate_if_n(g, condition, (wf_join)join, (wf_mode)mode, array, v, at);
    else
        wf_accumulate_n(g, (wf_join)join, (wf_mode)mode, array, v, at);
    bool noted = wfpy_note_written(self, array);
    Py_XDECREF(owner);
    return noted ? wfpy_graph_done(self) : NULL;
}

static PyObject *atomic(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "array", "index", "value", "join", "where", NULL };
    PyObject *object, *key, *value, *where = Py_None, *join_name = NULL, *owner;
    wf_val index[MAX_INDICES], v, condition;
    wf_vals at;
    int join = WF_JOIN_ADD;
    wf_graph *g = wfpy_graph_of(self);
    if (!g ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "OOO|OO:atomic", names, &object, &key, &value, &join_name,
                                     &where) ||
        (join_name && !wfpy_find_name("atomic", join_name, wfpy_joins, &join)) || !indices(self, key, index, &at) ||
        !wfpy_operand(value, self, &v) || (where != Py_None && !wfpy_operand(where, self, &condition)))
        return NULL;
    wf_array *array = array_argument(self, object, true, &owner);
    if (!array)
        return NULL;
    wf_val old = where != Py_None ? wf_atomic_if_n(g, condition, (wf_join)join, array, v, at)
                                  : wf_atomic_n(g, (wf_join)join, array, v, at);
    bool noted = wfpy_note_written(self, array);
    Py_XDECREF(owner);
    return noted ? wfpy_value_new(self, old) : NULL;
}

/* ---- arrays of the recording ---- */

/* A weft.Array for an array that the recording owns: a formal, scratch, or a local array. */
static PyObject *own_array(PyObject *self, wf_array *array)
{
    return array ? wfpy_array_new(wf_retain(array)) : wfpy_graph_fail(self);
}

static PyObject *formal(PyObject *self, PyObject *args)
{
    PyObject *name, *dtype_object;
    int rank;
    wf_dtype dtype;
    wf_graph *g = wfpy_graph_of(self);
    const char *text =
        g && PyArg_ParseTuple(args, "UOi:formal", &name, &dtype_object, &rank) && wfpy_dtype(dtype_object, &dtype)
            ? wfpy_utf8(name)
            : NULL;
    if (!text || !wfpy_graph_has_names(self))
        return NULL;
    wf_array *array = wf_formal(g, text, dtype, rank);
    PyObject *made = own_array(self, array), *key = made ? PyLong_FromVoidPtr(array) : NULL;
    if (!key || PyDict_SetItem(self_graph(self)->formals, key, name) < 0 ||
        PyList_Append(self_graph(self)->names, name) < 0) {
        Py_XDECREF(made);
        made = NULL;
    }
    Py_XDECREF(key);
    return made;
}

static PyObject *param(PyObject *self, PyObject *args)
{
    PyObject *name, *dtype_object;
    double initial = 0;
    wf_dtype dtype;
    wf_graph *g = wfpy_graph_of(self);
    const char *text =
        g && PyArg_ParseTuple(args, "UO|d:param", &name, &dtype_object, &initial) && wfpy_dtype(dtype_object, &dtype)
            ? wfpy_utf8(name)
            : NULL;
    if (!text || !wfpy_graph_has_names(self))
        return NULL;
    wf_val v = wf_param(g, text, dtype, initial);
    int known = PySequence_Contains(self_graph(self)->names, name);
    if (known < 0 || (!known && PyList_Append(self_graph(self)->names, name) < 0))
        return NULL;
    return wfpy_value_new(self, v);
}

static PyObject *local_array(PyObject *self, PyObject *args)
{
    PyObject *dtype_object, *shape_object, *initial = NULL;
    const char *name = "local";
    wf_dtype dtype;
    wf_shape shape;
    wf_val v = { { 0, NULL } };
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTuple(args, "OO|Os:local_array", &dtype_object, &shape_object, &initial, &name) ||
        !wfpy_dtype(dtype_object, &dtype) || !wfpy_shape(shape_object, false, &shape) ||
        (initial && !wfpy_operand(initial, self, &v)))
        return NULL;
    return own_array(self, (wf_local_array)(g, name, dtype, shape, v));
}

static PyObject *scratch(PyObject *self, PyObject *args)
{
    PyObject *dtype_object, *shape_object;
    int zeroed = 0;
    wf_dtype dtype;
    wf_shape shape;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTuple(args, "OO|p:scratch", &dtype_object, &shape_object, &zeroed) ||
        !wfpy_dtype(dtype_object, &dtype) || !wfpy_shape(shape_object, false, &shape))
        return NULL;
    return own_array(self, wf_scratch(g, dtype, shape, zeroed));
}

static PyObject *dim(PyObject *self, PyObject *args)
{
    PyObject *object, *owner;
    int axis;
    wf_graph *g = PyArg_ParseTuple(args, "Oi:dim", &object, &axis) ? wfpy_graph_of(self) : NULL;
    wf_array *array = g ? array_argument(self, object, false, &owner) : NULL;
    if (!array)
        return NULL;
    wf_val v = wf_dim(g, array, axis);
    Py_XDECREF(owner);
    return wfpy_value_new(self, v);
}

PyMethodDef wfpy_access_methods[] = {
    { "_note_foreign", note_foreign, METH_O, NULL },
    { "input", input, METH_O,
      "input(array)\n--\n\nThe element at the current point; in an array graph the whole array." },
    { "output", output, METH_VARARGS,
      "output(array, value)\n--\n\nAssigns to the element at the current point, or to the whole array." },
    { "read", WFPY_FUNCTION(graph_read), METH_VARARGS | METH_KEYWORDS,
      "read(array, index, border=None, other=None)\n--\n\nAn element by index. border: value, clamp, periodic, mirror or reflect; else the index must be in range." },
    { "write", WFPY_FUNCTION(graph_write), METH_VARARGS | METH_KEYWORDS,
      "write(array, index, value, where=None)\n--\n\nWrites an element by index. No two points may write one element." },
    { "accumulate", WFPY_FUNCTION(accumulate), METH_VARARGS | METH_KEYWORDS,
      "accumulate(array, index, value, join='add', where=None, mode='auto')\n--\n\narray[index] = join(array[index], value) for every point." },
    { "atomic", WFPY_FUNCTION(atomic), METH_VARARGS | METH_KEYWORDS,
      "atomic(array, index, value, join='add', where=None)\n--\n\nJoins a value into an element and returns what it held before." },
    { "formal", formal, METH_VARARGS, "formal(name, dtype, ndim)\n--\n\nAn array that each call of the kernel binds." },
    { "param", param, METH_VARARGS,
      "param(name, dtype, initial=0)\n--\n\nA number that each call of the kernel may change." },
    { "local_array", local_array, METH_VARARGS,
      "local_array(dtype, shape, initial=0, name='local')\n--\n\nUp to 256 elements of each point." },
    { "scratch", scratch, METH_VARARGS, "scratch(dtype, shape, zeroed=False)\n--\n\nMemory of the block of points." },
    { "dim", dim, METH_VARARGS, "dim(array, axis)\n--\n\nThe extent of an array along an axis." },
    { NULL, NULL, 0, NULL },
};
