/* graph.c - weft.Graph: a recording. Its methods are those of record.h, control.h, reduce.h and block.h
 * (access.c has those of arrays). The first mistake
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
    made->names = made->formals = made->written = made->foreign = NULL;
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
    Py_XDECREF(self_graph(self)->foreign);
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
    made->names = made->formals = made->written = made->foreign = NULL;
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

bool wfpy_graph_has_names(PyObject *self)
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

PyObject *wfpy_graph_done(PyObject *self)
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
        !wfpy_dtype(dtype_object, &dtype) || !wfpy_find_name("reduced", join_name, wfpy_joins, &join) ||
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
    return wfpy_graph_done(self);
}
#define BLOCK(name, call)                                 \
    static PyObject *name(PyObject *self, PyObject *none) \
    {                                                     \
        wf_graph *g = wfpy_graph_of(self);                \
        (void)none;                                       \
        if (!g)                                           \
            return NULL;                                  \
        call;                                             \
        return wfpy_graph_done(self);                     \
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
    return wfpy_graph_done(self);
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
static const wfpy_name sections[] = { { "call", WF_SECTION_CALL },     { "post", WF_SECTION_POST },
                                      { "join", WF_SECTION_JOIN },     { "init", WF_SECTION_INIT },
                                      { "deinit", WF_SECTION_DEINIT }, { NULL, 0 } };
static PyObject *section(PyObject *self, PyObject *name)
{
    int id;
    wf_graph *g = wfpy_graph_of(self);
    if (!g || !wfpy_find_name("section", name, sections, &id))
        return NULL;
    wf_section(g, (wf_section_id)id);
    return wfpy_graph_done(self);
}

/* ---- text, derivatives ---- */

static PyObject *fail(PyObject *self, PyObject *text)
{
    wf_graph *g = wfpy_graph_of(self);
    const char *why = g && PyUnicode_Check(text) ? wfpy_utf8(text) : NULL;
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
    if (status == WF_OK && !wfpy_check_all_stored("a recording", self_graph(self)->foreign))
        return NULL;
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
    if (status == WF_OK && !wfpy_check_all_stored("a recording", self_graph(self)->foreign))
        return NULL;
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
    if (!g || !wfpy_graph_has_names(self))
        return NULL;
    PyObject *names = PyTuple_Size(args) ? PySequence_Tuple(args) : PyList_AsTuple(self_graph(self)->names);
    wf_kernel *kernel = (g = wfpy_graph_to_end(self)) ? wf_compile(g) : NULL;
    if (!g)
        Py_CLEAR(names);
    PyObject *made =
        names ? wfpy_kernel_new(kernel, names, self_graph(self)->written, self_graph(self)->foreign) : NULL;
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

static PyGetSetDef properties[] = {
    { "is_open", get_status, NULL, "True until the recording has run, was compiled, dropped, or failed.", NULL },
    { "indexed", get_indexed, NULL, "True if values are those of one point.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef methods[] = {
    { "index", index_of, METH_O, "index(axis)\n--\n\nThe index of the current point along an axis." },
    { "extent", extent_of, METH_O, "extent(axis)\n--\n\nThe extent of the space along an axis." },
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

int wfpy_add_graph(PyObject *module)
{
    static PyMethodDef all[WFPY_METHODS];
    for (PyType_Slot *s = slots; s->slot; ++s)
        if (s->slot == Py_tp_methods)
            s->pfunc = wfpy_join_methods(all, methods, wfpy_access_methods);
    return (wfpy.graph = wfpy_add_type(module, &spec)) ? 0 : -1;
}
