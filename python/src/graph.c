/* graph.c - weft.Graph: a recording. Its methods are those of record.h, control.h, reduce.h and block.h. The first mistake
 * raises at the line that made it, and ends the recording. */
#include <string.h>

#include "weft_python.h"

static wfpy_graph *self_graph(PyObject *self) { return (wfpy_graph *)self; }

wf_graph *wfpy_graph_of(PyObject *graph)
{
    wfpy_graph *g = self_graph(graph);
    if (!g->graph) {
        PyErr_SetString(wfpy.error[WF_ERR_CONTRACT], "the recording has ended");
        return NULL;
    }
    if (g->thread != PyThread_get_thread_ident()) {
        PyErr_SetString(wfpy.error[WF_ERR_CONTRACT], "a recording belongs to the thread that began it");
        return NULL;
    }
    return g->graph;
}

PyObject *wfpy_graph_new(const wf_space *space)
{
    wf_graph *graph = wfpy_context() ? wf_begin_with(wfpy.context, space) : NULL;
    if (!graph)
        return PyErr_Occurred() ? NULL : wfpy_raise();
    wfpy_graph *made = PyObject_New(wfpy_graph, wfpy.graph);
    if (!made) {
        wf_drop(graph);
        return NULL;
    }
    made->graph = graph;
    made->borrowed = false;
    made->thread = PyThread_get_thread_ident();
    made->lazy = NULL;
    made->lazy_n = 0;
    made->names = made->formals = made->written = NULL;
    return wf_graph_status(graph) == WF_OK ? (PyObject *)made
                                           : (wfpy_graph_fail((PyObject *)made), Py_DecRef((PyObject *)made), NULL);
}

static void graph_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    wf_drop(self_graph(self)->graph);
    Py_XDECREF(self_graph(self)->names);
    Py_XDECREF(self_graph(self)->formals);
    Py_XDECREF(self_graph(self)->written);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *wfpy_graph_borrow(wf_graph *g)
{
    wfpy_graph *made = PyObject_New(wfpy_graph, wfpy.graph);
    if (!made)
        return NULL;
    made->graph = g;
    made->borrowed = true;
    made->thread = PyThread_get_thread_ident();
    made->lazy = NULL;
    made->lazy_n = 0;
    made->names = PyList_New(0);
    made->formals = PyDict_New();
    made->written = PySet_New(NULL);
    if (!made->names || !made->formals || !made->written) {
        made->graph = NULL;
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

wf_graph *wfpy_graph_to_end(PyObject *graph)
{
    wf_graph *g = wfpy_graph_of(graph);
    if (g && self_graph(graph)->borrowed) {
        wfpy_raise_status(WF_ERR_CONTRACT, "the recording belongs to the library, which ends it");
        return NULL;
    }
    if (g)
        self_graph(graph)->graph = NULL;
    return g;
}

PyObject *wfpy_graph_fail(PyObject *graph)
{
    wf_graph *g = self_graph(graph)->graph;
    self_graph(graph)->graph = NULL;
    if (g && self_graph(graph)->borrowed)
        return wfpy_raise_status(wf_graph_status(g) == WF_OK ? WF_ERR_CONTRACT : wf_graph_status(g),
                                 "the recording has a mistake");
    if (g && wf_run(g) == WF_OK)
        return wfpy_raise_status(WF_ERR_CONTRACT, "the value is not defined");
    return wfpy_raise();
}

/* Makes the lists of names, which few recordings need. */
static bool has_names(PyObject *self)
{
    wfpy_graph *g = self_graph(self);
    if (!g->names)
        g->names = PyList_New(0);
    if (!g->formals)
        g->formals = PyDict_New();
    if (!g->written)
        g->written = PySet_New(NULL);
    return g->names && g->formals && g->written;
}

/* None, or the mistake of the recording. */
static PyObject *done(PyObject *self)
{
    if (wf_graph_status(self_graph(self)->graph) != WF_OK)
        return wfpy_graph_fail(self);
    Py_RETURN_NONE;
}

/* ---- making a recording ---- */

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "shape", "reduce", "elements", "device", "block", "threads", "name", NULL };
    PyObject *shape = Py_None, *reduce = Py_None, *device = Py_None, *block = Py_None;
    int elements = 0;
    wf_space space = { .size = sizeof space };
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$OpOOiz:Graph", names, &shape, &reduce, &elements, &device,
                                     &block, &space.threads, &space.name) ||
        (shape != Py_None && !wfpy_shape(shape, false, &space.shape)) || !wfpy_device(device, &space.device) ||
        (block != Py_None && !wfpy_shape(block, false, &space.block)))
        return NULL;
    space.indexed = shape != Py_None;
    space.elements = elements;
    if (reduce == Py_True)
        space.reduce = WF_ALL_AXES;
    else if (reduce != Py_None && reduce != Py_False &&
             !wfpy_axes(reduce, space.indexed ? space.shape.rank : WF_MAX_RANK, &space.reduce))
        return NULL;
    return wfpy_graph_new(&space);
}

/* ---- arrays ---- */

/* The array of an argument: a weft.Array, or anything that is one. *owner keeps it alive. */
static wf_array *array_argument(PyObject *object, bool writes, PyObject **owner)
{
    *owner = NULL;
    if (!wfpy_is_array(object)) {
        if (!(*owner = wfpy_as_array(object, WF_NONE)))
            return NULL;
        object = *owner;
    }
    wf_array *array = writes ? wfpy_array_to_write(object) : wfpy_array_of(object);
    if (!array) {
        Py_XDECREF(*owner);
        *owner = NULL;
    }
    return array;
}

static bool note_written(PyObject *self, const wf_array *array)
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

static PyObject *input(PyObject *self, PyObject *object)
{
    PyObject *owner;
    wf_graph *g = wfpy_graph_of(self);
    wf_array *array = g ? array_argument(object, false, &owner) : NULL;
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
    wf_array *array = g && wfpy_operand(value, self, &v) ? array_argument(object, true, &owner) : NULL;
    if (!array)
        return NULL;
    (wf_out)(g, array, v);
    bool noted = note_written(self, array);
    Py_XDECREF(owner);
    return noted ? done(self) : NULL;
}

static bool named(PyObject *name, const char *const *names, size_t n, const char *what, int *out)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    for (size_t i = 0; text && i < n; ++i)
        if (names[i] && strcmp(text, names[i]) == 0) {
            *out = (int)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "%R is no %s", name, what);
    return false;
}
static const char *const borders[] = { "none", "value", "clamp", "periodic", "mirror", "reflect" };
static const char *const joins[] = { "custom", "add", "mul", "min", "max", "and", "or", "xor", "exch", "inc" };
static const char *const modes[] = { "auto", "direct", "local", "expand", "no_conflict" };
static const char *const sections[] = { "call", "post", "join", "init", "deinit" };
#define NAMED(object, names, what, out) named(object, names, sizeof(names) / sizeof *(names), what, out)

static PyObject *graph_read(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "array", "index", "border", "other", NULL };
    PyObject *object, *key, *border_name = Py_None, *other = NULL, *owner;
    int border = WF_BORDER_NONE;
    wf_val index[MAX_INDICES], outside = { { 0, NULL } };
    wf_vals at;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO:read", names, &object, &key, &border_name, &other) ||
        (border_name != Py_None &&
         !NAMED(border_name, borders, "border mode (value, clamp, periodic, mirror, reflect)", &border)) ||
        !indices(self, key, index, &at) || (other && other != Py_None && !wfpy_operand(other, self, &outside)))
        return NULL;
    if (other && other != Py_None && border == WF_BORDER_NONE)
        border = WF_BORDER_VALUE;
    wf_array *array = array_argument(object, false, &owner);
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
    wf_array *array = array_argument(object, true, &owner);
    if (!array)
        return NULL;
    if (where != Py_None)
        wf_write_if_n(g, condition, array, v, at);
    else
        wf_write_n(g, array, v, at);
    bool noted = note_written(self, array);
    Py_XDECREF(owner);
    return noted ? done(self) : NULL;
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
        (join_name && !NAMED(join_name, joins, "join", &join)) ||
        (mode_name && !NAMED(mode_name, modes, "mode of accumulation", &mode)) || !indices(self, key, index, &at) ||
        !wfpy_operand(value, self, &v) || (where != Py_None && !wfpy_operand(where, self, &condition)))
        return NULL;
    wf_array *array = array_argument(object, true, &owner);
    if (!array)
        return NULL;
    if (where != Py_None)
        wf_accumulate_if_n(g, condition, (wf_join)join, (wf_mode)mode, array, v, at);
    else
        wf_accumulate_n(g, (wf_join)join, (wf_mode)mode, array, v, at);
    bool noted = note_written(self, array);
    Py_XDECREF(owner);
    return noted ? done(self) : NULL;
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
        (join_name && !NAMED(join_name, joins, "join", &join)) || !indices(self, key, index, &at) ||
        !wfpy_operand(value, self, &v) || (where != Py_None && !wfpy_operand(where, self, &condition)))
        return NULL;
    wf_array *array = array_argument(object, true, &owner);
    if (!array)
        return NULL;
    wf_val old = where != Py_None ? wf_atomic_if_n(g, condition, (wf_join)join, array, v, at)
                                  : wf_atomic_n(g, (wf_join)join, array, v, at);
    bool noted = note_written(self, array);
    Py_XDECREF(owner);
    return noted ? wfpy_value_new(self, old) : NULL;
}

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
            ? PyUnicode_AsUTF8AndSize(name, NULL)
            : NULL;
    if (!text || !has_names(self))
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
            ? PyUnicode_AsUTF8AndSize(name, NULL)
            : NULL;
    if (!text || !has_names(self))
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

/* ---- values ---- */

#define VALUE_OF_AXIS(name, f)                                                     \
    static PyObject *name(PyObject *self, PyObject *object)                        \
    {                                                                              \
        long axis = PyLong_AsLong(object);                                         \
        wf_graph *g = axis == -1 && PyErr_Occurred() ? NULL : wfpy_graph_of(self); \
        return g ? wfpy_value_new(self, f(g, (int)axis)) : NULL;                   \
    }
VALUE_OF_AXIS(index_of, wf_index)
VALUE_OF_AXIS(extent_of, wf_extent)
VALUE_OF_AXIS(thread_id, wf_thread_id)
VALUE_OF_AXIS(block_size, wf_block_size)
VALUE_OF_AXIS(block_id, wf_block_id)
VALUE_OF_AXIS(grid_size, wf_grid_size)

static PyObject *dim(PyObject *self, PyObject *args)
{
    PyObject *object, *owner;
    int axis;
    wf_graph *g = PyArg_ParseTuple(args, "Oi:dim", &object, &axis) ? wfpy_graph_of(self) : NULL;
    wf_array *array = g ? array_argument(object, false, &owner) : NULL;
    if (!array)
        return NULL;
    wf_val v = wf_dim(g, array, axis);
    Py_XDECREF(owner);
    return wfpy_value_new(self, v);
}

static PyObject *value(PyObject *self, PyObject *args)
{
    PyObject *object, *dtype_object = Py_None;
    wf_dtype dtype;
    wf_val v;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTuple(args, "O|O:value", &object, &dtype_object) ||
        (dtype_object != Py_None && !wfpy_dtype(dtype_object, &dtype)) || !wfpy_operand(object, self, &v))
        return NULL;
    double re, im;
    if (wf_val_number(v, &re, &im)) {
        if (dtype_object == Py_None)
            dtype = im != 0 ? WF_C128 : PyFloat_Check(object) ? WF_F64 : PyBool_Check(object) ? WF_BOOL : WF_I64;
        v = wf_dtype_kind(dtype) == WF_KIND_COMPLEX ? wf_const_complex(g, dtype, re, im) : wf_const(g, dtype, re);
    } else if (dtype_object != Py_None)
        v = (wf_cast)(v, dtype);
    return wfpy_value_new(self, v);
}

static PyObject *local(PyObject *self, PyObject *args)
{
    PyObject *initial, *dtype_object = Py_None;
    wf_dtype dtype = WF_NONE;
    wf_val v;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTuple(args, "O|O:local", &initial, &dtype_object) ||
        (dtype_object != Py_None && !wfpy_dtype(dtype_object, &dtype)) || !wfpy_operand(initial, self, &v))
        return NULL;
    if (dtype == WF_NONE)
        dtype = v.h.graph                  ? wf_val_dtype(v)
                : PyFloat_Check(initial)   ? WF_F64
                : PyBool_Check(initial)    ? WF_BOOL
                : PyComplex_Check(initial) ? WF_C128
                                           : WF_I64;
    return wfpy_variable_new(self, (wf_local)(g, dtype, v));
}

static PyObject *reduced(PyObject *self, PyObject *args)
{
    PyObject *initial, *dtype_object, *join_name;
    int join;
    wf_dtype dtype;
    wf_val v;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTuple(args, "OOO:reduced", &dtype_object, &initial, &join_name) ||
        !wfpy_dtype(dtype_object, &dtype) || !NAMED(join_name, joins, "join", &join) ||
        !wfpy_operand(initial, self, &v))
        return NULL;
    return wfpy_variable_new(self, (wf_reduced)(g, dtype, v, (wf_join)join));
}

static PyObject *iota(PyObject *self, PyObject *args)
{
    PyObject *shape_object;
    int axis;
    wf_shape shape;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !PyArg_ParseTuple(args, "Oi:iota", &shape_object, &axis) || !wfpy_shape(shape_object, false, &shape))
        return NULL;
    return wfpy_value_new(self, wf_iota(g, shape, axis));
}

/* ---- control flow ---- */

/* The source line of the calling Python code, for messages; "" if it is not known. */
static const char *here(void) { return "Python"; }

static PyObject *begin_if(PyObject *self, PyObject *condition)
{
    wf_val v;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !wfpy_operand(condition, self, &v))
        return NULL;
    wf_if_(g, here(), v);
    return done(self);
}
#define BLOCK(name, call)                                 \
    static PyObject *name(PyObject *self, PyObject *none) \
    {                                                     \
        wf_graph *g = wfpy_graph_of(self);                \
        (void)none;                                       \
        if (!g)                                           \
            return NULL;                                  \
        call;                                             \
        return done(self);                                \
    }
BLOCK(begin_else, wf_else_(g, here()))
BLOCK(begin_loop, wf_loop_(g, here()))
BLOCK(end, wf_end_(g, here()))
BLOCK(leave, wf_break(g))
BLOCK(next_turn, wf_continue(g))
BLOCK(barrier, wf_barrier(g))

static PyObject *begin_while(PyObject *self, PyObject *condition)
{
    wf_val v;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !wfpy_operand(condition, self, &v))
        return NULL;
    wf_while_(g, here(), v);
    return done(self);
}
static PyObject *begin_for(PyObject *self, PyObject *args)
{
    PyObject *lo, *hi, *step = NULL;
    wf_val low, high, by = { { 1, NULL } }, i;
    wf_graph *g = PyArg_ParseTuple(args, "OO|O:for_", &lo, &hi, &step) ? wfpy_graph_of(self) : NULL;
    if (!g || !wfpy_operand(lo, self, &low) || !wfpy_operand(hi, self, &high) ||
        (step && !wfpy_operand(step, self, &by)))
        return NULL;
    wf_for_(g, here(), &i, low, high, by);
    return wfpy_value_new(self, i);
}
static PyObject *section(PyObject *self, PyObject *name)
{
    int id;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !NAMED(name, sections, "section (call, post, join, init, deinit)", &id))
        return NULL;
    wf_section(g, (wf_section_id)id);
    return done(self);
}

/* ---- text, derivatives ---- */

static PyObject *fail(PyObject *self, PyObject *text)
{
    wf_graph *g = wfpy_graph_of(self);
    const char *why = g && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (!why)
        return g ? PyErr_Format(PyExc_TypeError, "fail takes a text") : NULL;
    wf_fail(g, WF_ERR_ARG, why);
    return wfpy_graph_fail(self);
}

/* ---- ending ---- */

static PyObject *run(PyObject *self, PyObject *none)
{
    wf_graph *g = wfpy_graph_to_end(self);
    (void)none;
    if (!g)
        return NULL;
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_run(g);
    wfpy_take_gil(r);
    return status == WF_OK && wfpy_warn() < 0 ? NULL : wfpy_done(status);
}
static PyObject *eval(PyObject *self, PyObject *none)
{
    wf_graph *g = wfpy_graph_of(self);
    (void)none;
    if (!g || (self_graph(self)->borrowed && !wfpy_graph_to_end(self)))
        return NULL;
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_eval(g);
    wfpy_take_gil(r);
    return status == WF_OK && wfpy_warn() < 0 ? NULL : wfpy_done(status);
}
static PyObject *drop(PyObject *self, PyObject *none)
{
    (void)none;
    if (self_graph(self)->borrowed) {
        (void)wfpy_graph_to_end(self); /* raises */
        return NULL;
    }
    wf_drop(self_graph(self)->graph);
    self_graph(self)->graph = NULL;
    Py_RETURN_NONE;
}
static PyObject *compile(PyObject *self, PyObject *args)
{
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !has_names(self))
        return NULL;
    PyObject *names = PyTuple_Size(args) ? PySequence_Tuple(args) : PyList_AsTuple(self_graph(self)->names);
    wf_kernel *kernel = (g = wfpy_graph_to_end(self)) ? wf_compile(g) : NULL;
    if (!g)
        Py_CLEAR(names);
    PyObject *made = names ? wfpy_kernel_new(kernel, names, self_graph(self)->written) : NULL;
    Py_XDECREF(names);
    return made;
}

static PyObject *get_status(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(self_graph(self)->graph != NULL);
}
static PyObject *get_indexed(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(wf_graph_indexed(self_graph(self)->graph));
}

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))
static PyGetSetDef properties[] = {
    { "is_open", get_status, NULL, "True until the recording has run, was compiled, dropped, or failed.", NULL },
    { "indexed", get_indexed, NULL, "True if values are those of one point.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef methods[] = {
    { "input", input, METH_O,
      "input(array)\n--\n\nThe element at the current point; in an array graph the whole array." },
    { "output", output, METH_VARARGS,
      "output(array, value)\n--\n\nAssigns to the element at the current point, or to the whole array." },
    { "read", KEYWORDS(graph_read), METH_VARARGS | METH_KEYWORDS,
      "read(array, index, border=None, other=None)\n--\n\nAn element by index. border: value, clamp, periodic, mirror or reflect; else the index must be in range." },
    { "write", KEYWORDS(graph_write), METH_VARARGS | METH_KEYWORDS,
      "write(array, index, value, where=None)\n--\n\nWrites an element by index. No two points may write one element." },
    { "accumulate", KEYWORDS(accumulate), METH_VARARGS | METH_KEYWORDS,
      "accumulate(array, index, value, join='add', where=None, mode='auto')\n--\n\narray[index] = join(array[index], value) for every point." },
    { "atomic", KEYWORDS(atomic), METH_VARARGS | METH_KEYWORDS,
      "atomic(array, index, value, join='add', where=None)\n--\n\nJoins a value into an element and returns what it held before." },
    { "formal", formal, METH_VARARGS, "formal(name, dtype, ndim)\n--\n\nAn array that each call of the kernel binds." },
    { "param", param, METH_VARARGS,
      "param(name, dtype, initial=0)\n--\n\nA number that each call of the kernel may change." },
    { "local_array", local_array, METH_VARARGS,
      "local_array(dtype, shape, initial=0, name='local')\n--\n\nUp to 256 elements of each point." },
    { "scratch", scratch, METH_VARARGS, "scratch(dtype, shape, zeroed=False)\n--\n\nMemory of the block of points." },
    { "index", index_of, METH_O, "index(axis)\n--\n\nThe index of the current point along an axis." },
    { "extent", extent_of, METH_O, "extent(axis)\n--\n\nThe extent of the space along an axis." },
    { "dim", dim, METH_VARARGS, "dim(array, axis)\n--\n\nThe extent of an array along an axis." },
    { "thread_id", thread_id, METH_O, "thread_id(axis)\n--\n\nThe thread of the block; -1: the linear index." },
    { "block_size", block_size, METH_O, "block_size(axis)\n--\n\nThe threads of the block; -1: in all." },
    { "block_id", block_id, METH_O, "block_id(axis)\n--\n\nThe block; -1: the linear index." },
    { "grid_size", grid_size, METH_O, "grid_size(axis)\n--\n\nThe number of blocks; -1: in all." },
    { "value", value, METH_VARARGS, "value(object, dtype=None)\n--\n\nA constant, or the value of an array." },
    { "local", local, METH_VARARGS, "local(initial, dtype=None)\n--\n\nA variable." },
    { "reduced", reduced, METH_VARARGS, "reduced(dtype, initial, join)\n--\n\nA reduced variable." },
    { "iota", iota, METH_VARARGS, "iota(shape, axis)\n--\n\nThe index along an axis, in an array graph." },
    { "if_", begin_if, METH_O, "if_(condition)\n--\n\nBegins a block of the points where the condition holds." },
    { "else_", begin_else, METH_NOARGS, "else_()\n--\n\nBegins the block of the other points." },
    { "loop", begin_loop, METH_NOARGS, "loop()\n--\n\nBegins a loop, which break_ leaves." },
    { "while_", begin_while, METH_O, "while_(condition)\n--\n\nLeaves the loop where the condition does not hold." },
    { "for_", begin_for, METH_VARARGS, "for_(lo, hi, step=1)\n--\n\nBegins a loop and returns its counter." },
    { "end", end, METH_NOARGS, "end()\n--\n\nEnds the innermost block." },
    { "break_", leave, METH_NOARGS, "break_()\n--\n\nLeaves the innermost loop." },
    { "continue_", next_turn, METH_NOARGS, "continue_()\n--\n\nGoes on with the next turn." },
    { "barrier", barrier, METH_NOARGS, "barrier()\n--\n\nThe threads of the block wait for each other." },
    { "section", section, METH_O,
      "section(name)\n--\n\nContinues in another section: call, post, join, init, deinit." },
    { "fail", fail, METH_O, "fail(text)\n--\n\nEnds the recording with an error." },
    { "run", run, METH_NOARGS, "run()\n--\n\nRuns the recording, and ends it." },
    { "eval", eval, METH_NOARGS, "eval()\n--\n\nRuns what has been recorded so far." },
    { "drop", drop, METH_NOARGS, "drop()\n--\n\nEnds the recording; nothing runs." },
    { "compile", compile, METH_VARARGS,
      "compile(*names)\n--\n\nPrepares the recording for calls; names: the order of the arguments." },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot slots[] = {
    { Py_tp_doc,
      "Graph(shape=None, *, reduce=None, elements=False, device=None, block=None, threads=0, name=None)\n--\n\n"
      "A recording. Without a shape values are whole arrays; with a shape they are those of one point." },
    { Py_tp_new, graph_new },
    { Py_tp_dealloc, graph_dealloc },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { 0, NULL },
};
static PyType_Spec spec = { "weft.Graph", sizeof(wfpy_graph), 0, Py_TPFLAGS_DEFAULT, slots };

int wfpy_add_graph(PyObject *module) { return (wfpy.graph = wfpy_add_type(module, &spec)) ? 0 : -1; }
