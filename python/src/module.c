/* module.c - the module weft._weft: its context, the GIL, and warnings of the library. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "weft_python.h"
#include "wrap.h"

wfpy_module wfpy;

/* ---- warnings: the library's log may speak on any thread, Python only with the GIL ---- */

enum { MESSAGES = 8, MESSAGE = 512 };
static struct {
    atomic_flag lock;
    _Atomic int n;
    char text[MESSAGES][MESSAGE];
} messages = { .lock = ATOMIC_FLAG_INIT };

static void lock_messages(void)
{
    while (atomic_flag_test_and_set_explicit(&messages.lock, memory_order_acquire)) {
    }
}
static void unlock_messages(void) { atomic_flag_clear_explicit(&messages.lock, memory_order_release); }

static void note_message(int level, const char *text, void *user)
{
    (void)user;
    if (level > 1)
        return;
    lock_messages();
    int n = atomic_load(&messages.n);
    if (n < MESSAGES) {
        strncpy(messages.text[n], text, MESSAGE - 1);
        messages.text[n][MESSAGE - 1] = 0;
        atomic_store(&messages.n, n + 1);
    }
    unlock_messages();
}

int wfpy_warn(void)
{
    if (!atomic_load_explicit(&messages.n, memory_order_relaxed))
        return 0;
    char text[MESSAGES][MESSAGE];
    lock_messages();
    int n = atomic_exchange(&messages.n, 0);
    memcpy(text, messages.text, sizeof text);
    unlock_messages();
    for (int i = 0; i < n; ++i)
        if (PyErr_WarnEx(PyExc_RuntimeWarning, text[i], 2) < 0)
            return -1;
    return 0;
}

/* ---- context and GIL ---- */

static _Thread_local PyThreadState *released; /* of a thread that has given up the GIL for work of the library */

/* Calls a function that may raise, with the GIL, while work of the thread goes on. True, with an exception set: the work is
 * cancelled. */
static bool raises(bool (*function)(double part), double part)
{
    PyThreadState *mine = released;
    if (!mine)
        return wfpy_has_gil() && function(part);
    released = NULL;
    PyEval_RestoreThread(mine);
    bool raised = function(part);
    released = PyEval_SaveThread();
    return raised;
}

/* Lets Python handle signals, as that of Ctrl-C. */
static bool handle_signals(double part)
{
    (void)part;
    return PyErr_Occurred() || PyErr_CheckSignals() < 0;
}
static bool is_interrupted(void *user)
{
    (void)user;
    return raises(handle_signals, 0);
}

/* The function of weft.set_progress; NULL: none. */
static PyObject *_Atomic progress;

static bool tell_function(double part)
{
    PyObject *function = atomic_load(&progress);
    if (!function)
        return false;
    if (PyErr_Occurred())
        return true;
    Py_INCREF(function);
    PyObject *done = PyObject_CallFunction(function, "d", part);
    Py_DECREF(function);
    Py_XDECREF(done);
    return !done;
}
static bool tell_progress(double part, void *user)
{
    (void)user;
    return atomic_load_explicit(&progress, memory_order_relaxed) && raises(tell_function, part);
}

static PyObject *set_progress(PyObject *self, PyObject *function)
{
    (void)self;
    if (function != Py_None && !PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "weft.set_progress takes a function or None, not %R", function);
    PyObject *before = atomic_exchange(&progress, function == Py_None ? NULL : Py_NewRef(function));
    return before ? before : Py_NewRef(Py_None);
}

wf_context *wfpy_context(void)
{
    if (!wfpy.context) {
        wf_config config = {
            .size = sizeof config, .log = note_message, .poll = is_interrupted, .progress = tell_progress
        };
        wfpy.context = wf_context_new(&config);
        if (!wfpy.context)
            PyErr_NoMemory();
    }
    return wfpy.context;
}

wfpy_released wfpy_release_gil(bool when)
{
    wfpy_released r = { NULL };
    if (when || wfpy_has_streams() || wfpy_has_ranks())
        released = r.state = PyEval_SaveThread();
    return r;
}

void wfpy_take_gil(wfpy_released r)
{
    if (r.state) {
        PyEval_RestoreThread(r.state);
        released = NULL;
    }
}

bool wfpy_has_gil(void) { return !released && PyGILState_GetThisThreadState() != NULL; }

int wfpy_add_functions(const char *module, PyMethodDef *functions)
{
    PyObject *space = PyImport_AddModule(module);
    return space ? PyModule_AddFunctions(space, functions) : -1;
}

/* The modules of wrapped functions. */
static int add_wrappers(PyObject *module)
{
    (void)module;
    for (const wfpy_namespace *n = wfpy_namespaces; n->name; ++n)
        if (wfpy_add_functions(n->name, n->functions) < 0)
            return -1;
    return 0;
}

PyObject *wfpy_call_function(PyObject *function, PyObject *first, PyObject *const *args, Py_ssize_t n,
                             PyObject *keywords)
{
    const Py_ssize_t ahead = first != NULL;
    PyObject *given = PyTuple_New(ahead + n), *named = keywords ? PyDict_New() : NULL, *done = NULL;
    bool right = given && (named || !keywords);
    if (right && first)
        right = PyTuple_SetItem(given, 0, Py_NewRef(first)) == 0;
    for (Py_ssize_t i = 0; right && i < n; ++i)
        right = PyTuple_SetItem(given, ahead + i, Py_NewRef(args[i])) == 0;
    for (Py_ssize_t k = 0, count = keywords ? PyTuple_Size(keywords) : 0; right && k < count; ++k)
        right = PyDict_SetItem(named, PyTuple_GetItem(keywords, k), args[n + k]) == 0;
    if (right)
        done = PyObject_Call(function, given, named);
    Py_XDECREF(given);
    Py_XDECREF(named);
    return done;
}

PyMethodDef *wfpy_join_methods(PyMethodDef *all, const PyMethodDef *own, const PyMethodDef *others)
{
    size_t n = 0;
    for (; own->ml_name && n + 1 < WFPY_METHODS; ++own)
        all[n++] = *own;
    for (; others->ml_name && n + 1 < WFPY_METHODS; ++others)
        all[n++] = *others;
    all[n] = (PyMethodDef){ NULL, NULL, 0, NULL };
    return all;
}

PyTypeObject *wfpy_add_type(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, type) < 0) {
        Py_DECREF(type);
        return NULL;
    }
    return type;
}

/* ---- making the module ---- */

static PyObject *set_wide_index(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *get, *set;
    if (!PyArg_ParseTuple(args, "OO", &get, &set))
        return NULL;
    Py_XDECREF(wfpy.wide_index);
    Py_XDECREF(wfpy.wide_assign);
    wfpy.wide_index = Py_NewRef(get);
    wfpy.wide_assign = Py_NewRef(set);
    Py_RETURN_NONE;
}

/* _set_of_recorded(function, type of arrays in traced functions) */
static PyObject *set_of_recorded(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *function, *type;
    if (!PyArg_ParseTuple(args, "OO!", &function, &PyType_Type, &type))
        return NULL;
    Py_XDECREF(wfpy.of_recorded);
    Py_XDECREF((PyObject *)wfpy.traced_array);
    wfpy.of_recorded = Py_NewRef(function);
    wfpy.traced_array = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    { "_set_wide_index", set_wide_index, METH_VARARGS, NULL },
    { "_set_of_recorded", set_of_recorded, METH_VARARGS, NULL },
    { "set_progress", set_progress, METH_O,
      "set_progress(function, /)\n--\n\n"
      "Sets the function that long work on the processor calls every 50 ms with the part of a launch that is done, above 0\n"
      "and at last 1, or None. Returns the function that was set before. An exception of the function ends the work. The\n"
      "function must not use weft." },
    { NULL, NULL, 0, NULL },
};

static int exec_module(PyObject *module)
{
    if (wfpy.self) {
        PyErr_SetString(PyExc_ImportError, "weft._weft can be imported by one interpreter of a process");
        return -1;
    }
    wfpy.self = module;
    static int (*const parts[])(PyObject * module) = {
        wfpy_add_errors,      wfpy_add_dtypes, wfpy_add_context, wfpy_add_array,       wfpy_add_dlpack,
        wfpy_add_values,      wfpy_add_graph,  wfpy_add_kernel,  wfpy_add_text,        wfpy_add_lazy,
        add_wrappers,         wfpy_add_files,  wfpy_add_star,    wfpy_add_hooks,       wfpy_add_rules,
        wfpy_add_derivatives, wfpy_add_traced, wfpy_add_same,    wfpy_add_dispatch,    wfpy_add_frozen,
        wfpy_add_elementwise, wfpy_add_stream, wfpy_add_ranks,   wfpy_add_distributed,
    };
    if (PyModule_AddStringConstant(module, "__version__", wf_version()) < 0)
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        if (parts[i](module) < 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    { Py_mod_exec, exec_module },
    { 0, NULL },
};
static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "weft._weft",
    .m_doc = "The C part of the package weft.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__weft(void);
PyMODINIT_FUNC PyInit__weft(void) { return PyModuleDef_Init(&definition); }
