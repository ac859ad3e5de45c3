/* lazy.c - lazy arrays: in `with weft.lazy()` operations on arrays are recorded, fused, and run when an element is needed,
 * or when the block ends. Each thread has one recording of its own.
 *
 * A lazy array is in the list of the recording that will compute it. Computing one of them leaves the others lazy. A write
 * to any array computes all of the thread's lazy arrays first, since they may read it. */
#include "weft_python.h"

static _Thread_local struct {
    PyObject *graph; /* of the outermost block */
    int depth;
} lazy;

enum { MOST_ARRAYS = 4096 }; /* lazy arrays of a recording; more are computed */

PyObject *wfpy_lazy_graph(void) { return lazy.depth ? lazy.graph : NULL; }

void wfpy_lazy_forget(wfpy_array *a)
{
    if (!a->value)
        return;
    wfpy_graph *g = (wfpy_graph *)((wfpy_value *)a->value)->graph;
    if (a->before)
        a->before->after = a->after;
    else
        g->lazy = a->after;
    if (a->after)
        a->after->before = a->before;
    a->before = a->after = NULL;
    --g->lazy_n;
    Py_DECREF(a->value);
    a->value = NULL;
}

/* Keeps the lazy array's value, and takes it out of the list. */
static bool keep(wfpy_array *a)
{
    wfpy_value *v = (wfpy_value *)a->value;
    if (!wfpy_graph_of(v->graph))
        return false;
    wf_array *array = (wf_keep)(v->val);
    if (!array) {
        wfpy_graph_fail(v->graph);
        return false;
    }
    wfpy_lazy_forget(a);
    a->array = array;
    return true;
}

static bool run(PyObject *graph)
{
    wf_graph *g = wfpy_graph_of(graph);
    if (!g)
        return false;
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_eval(g);
    wfpy_take_gil(r);
    if (status != WF_OK)
        wfpy_raise();
    return status == WF_OK && wfpy_warn() == 0;
}

bool wfpy_lazy_compute(wfpy_array *a)
{
    if (!a->value) {
        wfpy_raise_status(WF_ERR_ARG, "the array is the block of a distributed array that has ended: "
                                      "`with array.block() as block:` gives it for the statements within");
        return false;
    }
    PyObject *graph = Py_NewRef(((wfpy_value *)a->value)->graph);
    bool computed = keep(a) && run(graph);
    Py_DECREF(graph);
    return computed;
}

static bool keep_all(wfpy_graph *g)
{
    while (g->lazy)
        if (!keep(g->lazy))
            return false;
    return true;
}

static bool compute_all(PyObject *graph)
{
    wfpy_graph *g = (wfpy_graph *)graph;
    return !g->lazy || (keep_all(g) && run(graph));
}

/* Computes all lazy arrays, and ends the recording. */
static bool finish(wfpy_graph *g)
{
    bool any = g->lazy != NULL;
    if (!g->graph || !any || !keep_all(g)) {
        wf_drop(g->graph);
        g->graph = NULL;
        return !PyErr_Occurred();
    }
    wf_graph *graph = g->graph;
    g->graph = NULL;
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_run(graph);
    wfpy_take_gil(r);
    if (status != WF_OK)
        wfpy_raise();
    return status == WF_OK && wfpy_warn() == 0;
}

bool wfpy_lazy_compute_all(void) { return !lazy.graph || compute_all(lazy.graph); }

PyObject *wfpy_lazy_array(PyObject *value)
{
    if (!Py_IS_TYPE(value, wfpy.value)) /* a number */
        return Py_NewRef(value);
    wfpy_graph *g = (wfpy_graph *)((wfpy_value *)value)->graph;
    if (g->lazy_n >= MOST_ARRAYS && !compute_all((PyObject *)g))
        return NULL;
    wfpy_array *made = PyObject_New(wfpy_array, wfpy.array);
    if (!made)
        return NULL;
    made->array = NULL;
    made->value = Py_NewRef(value);
    made->weak = NULL;
    made->before = NULL;
    made->after = g->lazy;
    if (g->lazy)
        g->lazy->before = made;
    g->lazy = made;
    ++g->lazy_n;
    return (PyObject *)made;
}

static PyObject *enter(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    if (!lazy.depth && !(lazy.graph = wfpy_graph_new(&(wf_space){ .size = sizeof(wf_space) })))
        return NULL;
    ++lazy.depth;
    Py_RETURN_NONE;
}

static PyObject *leave(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    if (!lazy.depth || --lazy.depth)
        Py_RETURN_NONE;
    bool computed = finish((wfpy_graph *)lazy.graph);
    Py_DECREF(lazy.graph);
    lazy.graph = NULL;
    if (!computed)
        return NULL;
    Py_RETURN_NONE;
}

/* eval(*arrays): computes lazy arrays in one run. */
static PyObject *eval(PyObject *self, PyObject *args)
{
    PyObject *graph = lazy.graph;
    (void)self;
    if (PyTuple_Size(args) == 0)
        return wfpy_lazy_compute_all() ? Py_NewRef(Py_None) : NULL;
    bool any = false;
    for (Py_ssize_t i = 0, n = PyTuple_Size(args); i < n; ++i) {
        PyObject *object = PyTuple_GetItem(args, i);
        if (!wfpy_is_array(object))
            return PyErr_Format(PyExc_TypeError, "weft.eval takes arrays of weft, not %R", object);
        wfpy_array *a = (wfpy_array *)object;
        if (a->value) {
            if (!keep(a))
                return NULL;
            any = true;
        }
    }
    return !any || run(graph) ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef functions[] = {
    { "_enter_lazy", enter, METH_NOARGS, NULL },
    { "_leave_lazy", leave, METH_NOARGS, NULL },
    { "eval", eval, METH_VARARGS,
      "eval(*arrays)\n--\n\nComputes lazy arrays in one run; without arguments all of the thread." },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_lazy(PyObject *module) { return PyModule_AddFunctions(module, functions); }
