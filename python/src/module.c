/* module.c - the module weft._weft: its context, the GIL, and warnings of the library. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "weft_python.h"

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

/* Lets Python handle signals while work takes long. True, with an exception set, if a handler has raised, as after
 * Ctrl-C: then the work is cancelled. */
static bool is_interrupted(void *user)
{
    (void)user;
    if (!released)
        return wfpy_has_gil() && PyErr_CheckSignals() < 0;
    PyEval_RestoreThread(released);
    bool raised = PyErr_CheckSignals() < 0;
    PyEval_SaveThread();
    return raised;
}

wf_context *wfpy_context(void)
{
    if (!wfpy.context) {
        wf_config config = { .size = sizeof config, .log = note_message, .poll = is_interrupted };
        wfpy.context = wf_context_new(&config);
        if (!wfpy.context)
            PyErr_NoMemory();
    }
    return wfpy.context;
}

wfpy_released wfpy_release_gil(bool when)
{
    wfpy_released r = { NULL };
    if (when)
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

PyTypeObject *wfpy_add_type(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, type) < 0) {
        Py_DECREF(type);
        return NULL;
    }
    return type;
}

/* ---- functions of the module ---- */

static PyObject *get_threads(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return wfpy_context() ? PyLong_FromLong(wf_get_threads(wfpy.context)) : NULL;
}

static PyObject *set_threads(PyObject *self, PyObject *number)
{
    (void)self;
    long n = PyLong_AsLong(number);
    if ((n == -1 && PyErr_Occurred()) || !wfpy_context())
        return NULL;
    if (n < 0 || n > 1024)
        return wfpy_raise_status(WF_ERR_ARG, "weft.set_threads: 0 to 1024 threads");
    wf_set_threads(wfpy.context, (int)n);
    Py_RETURN_NONE;
}

static const struct {
    const char *name;
    uint32_t flag;
} flags[] = {
    { "fold", WF_FLAG_FOLD },
    { "value_numbering", WF_FLAG_VALUE_NUMBERING },
    { "no_disk_cache", WF_FLAG_NO_DISK_CACHE },
    { "loop_opt", WF_FLAG_LOOP_OPT },
    { "packets", WF_FLAG_PACKETS },
    { "fast_math", WF_FLAG_FAST_MATH },
    { "debug", WF_FLAG_DEBUG },
    { "trap_nan", WF_FLAG_TRAP_NAN },
    { "history", WF_FLAG_HISTORY },
    { "call_opt", WF_FLAG_CALL_OPT },
    { "dead_code", WF_FLAG_DEAD_CODE },
    { "tiered", WF_FLAG_TIERED },
    { "interpret_first", WF_FLAG_INTERPRET_FIRST },
};

/* set_flag(name, on): returns what it was. */
static PyObject *set_flag(PyObject *self, PyObject *args)
{
    (void)self;
    const char *name;
    int on;
    if (!PyArg_ParseTuple(args, "sp", &name, &on) || !wfpy_context())
        return NULL;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i)
        if (strcmp(name, flags[i].name) == 0) {
            bool was = wf_get_flags(wfpy.context) & flags[i].flag;
            wf_set_flags(wfpy.context, on ? flags[i].flag : 0, on ? 0 : flags[i].flag);
            return PyBool_FromLong(was);
        }
    PyErr_Format(wfpy.error[WF_ERR_ARG], "weft.set_flag: there is no flag '%s'", name);
    return NULL;
}

static PyObject *info(PyObject *self, PyObject *open_llvm)
{
    (void)self;
    int open = PyObject_IsTrue(open_llvm);
    wf_info i = { .size = sizeof i };
    if (open < 0 || !wfpy_context())
        return NULL;
    if (wf_get_info(wfpy.context, open, &i) != WF_OK)
        return wfpy_raise();
    return Py_BuildValue("{s:s,s:s,s:i,s:i,s:s,s:i,s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:s}", "version", wf_version(), "isa",
                         i.isa, "vector_bits", i.vector_bits, "threads", i.threads, "llvm_path", i.llvm_path,
                         "llvm_major", i.llvm_major, "cache_dir", i.cache_dir, "cache_bytes",
                         (unsigned long long)i.cache_bytes, "cache_entries", (unsigned long long)i.cache_entries,
                         "compiled", (unsigned long long)i.compiled, "memory_hits", (unsigned long long)i.memory_hits,
                         "disk_hits", (unsigned long long)i.disk_hits, "evaluated", (unsigned long long)i.evaluated,
                         "cache_problem", i.cache_problem);
}

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

static PyMethodDef functions[] = {
    { "get_threads", get_threads, METH_NOARGS,
      "get_threads()\n--\n\nThe number of threads that work, the calling one included." },
    { "set_threads", set_threads, METH_O,
      "set_threads(n)\n--\n\nSets the number of threads; 0: all cores. Results do not depend on it." },
    { "_set_flag", set_flag, METH_VARARGS,
      "_set_flag(name, on)\n--\n\nSets a flag of the context and returns what it was." },
    { "_info", info, METH_O, NULL },
    { "_set_wide_index", set_wide_index, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static int exec_module(PyObject *module)
{
    if (wfpy.self) {
        PyErr_SetString(PyExc_ImportError, "weft._weft can be imported by one interpreter of a process");
        return -1;
    }
    wfpy.self = module;
    if (PyModule_AddStringConstant(module, "__version__", wf_version()) < 0 || wfpy_add_errors(module) < 0 ||
        wfpy_add_dtypes(module) < 0 || wfpy_add_array(module) < 0 || wfpy_add_dlpack(module) < 0 ||
        wfpy_add_values(module) < 0 || wfpy_add_graph(module) < 0 || wfpy_add_kernel(module) < 0 ||
        wfpy_add_text(module) < 0 || wfpy_add_lazy(module) < 0 || wfpy_add_functions(module) < 0 ||
        wfpy_add_files(module) < 0 || wfpy_add_star(module) < 0 || wfpy_add_hooks(module) < 0 ||
        wfpy_add_dispatch(module) < 0 || wfpy_add_frozen(module) < 0 || wfpy_add_rules(module) < 0)
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
