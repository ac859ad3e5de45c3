/* errors.c - exceptions by status, and tracebacks without the frames of the package. An exception is a weft.Error and the
 * class that Python uses for the same mistake. */
#include <string.h>

#include "weft_python.h"

static const struct {
    wf_status status;
    const char *name, *doc;
    PyObject **also;
} classes[] = {
    { WF_ERR_ARG, "ArgumentError", "An argument is invalid.", &PyExc_ValueError },
    { WF_ERR_SHAPE, "ShapeError", "Shapes do not fit.", &PyExc_ValueError },
    { WF_ERR_DTYPE, "DtypeError", "Dtypes do not fit.", &PyExc_TypeError },
    { WF_ERR_DEVICE, "DeviceError", "There is no such device, or the array is not in its memory.",
      &PyExc_RuntimeError },
    { WF_ERR_MEMORY, "OutOfMemoryError", "Memory ran out.", &PyExc_MemoryError },
    { WF_ERR_CONTRACT, "ContractError", "An operator breaks a rule of recordings.", &PyExc_RuntimeError },
    { WF_ERR_BOUNDS, "BoundsError", "An index is out of range.", &PyExc_IndexError },
    { WF_ERR_BACKEND, "BackendError", "The compiler or driver failed.", &PyExc_RuntimeError },
    { WF_ERR_IO, "FileError", "A file cannot be read or written.", &PyExc_OSError },
    { WF_ERR_UNSUPPORTED, "UnsupportedError", "This is not supported.", &PyExc_NotImplementedError },
    { WF_ERR_SYNTAX, "TextError", "The operator text has a mistake.", &PyExc_SyntaxError },
    { WF_ERR_CANCELLED, "CancelledError", "The work was cancelled.", &PyExc_RuntimeError },
};

PyObject *wfpy_message(const char *text)
{
    static const struct {
        const char *in_c, *in_python;
    } functions[] = {
        { "wf_array_block_end", "Array.block" },
        { "wf_array_block", "Array.block" },
        { "wf_array_collect", "Array.collect" },
        { "wf_array_redistribute", "Array.redistribute" },
    };
    PyObject *message = PyUnicode_FromString(text);
    for (size_t i = 0; message && i < sizeof functions / sizeof *functions; ++i) {
        if (!strstr(text, functions[i].in_c))
            continue;
        PyObject *in_c = PyUnicode_FromString(functions[i].in_c);
        PyObject *in_python = in_c ? PyUnicode_FromString(functions[i].in_python) : NULL;
        PyObject *translated = in_python ? PyUnicode_Replace(message, in_c, in_python, -1) : NULL;
        Py_XDECREF(in_c);
        Py_XDECREF(in_python);
        Py_DECREF(message);
        message = translated;
    }
    return message;
}

PyObject *wfpy_raise_status(wf_status status, const char *text)
{
    bool known = status > WF_OK && status <= WF_ERR_CANCELLED;
    PyObject *message = wfpy_message(text);
    if (message)
        PyErr_SetObject(wfpy.error[known ? status : 0], message);
    Py_XDECREF(message);
    return NULL;
}

/* The folder of the package with its separator; NULL, without an exception, if it is not known. */
static PyObject *package_folder(void)
{
    static PyObject *folder;
    if (folder)
        return folder;
    PyObject *file = PyModule_GetFilenameObject(wfpy.self);
    Py_ssize_t slash = file ? PyUnicode_FindChar(file, '/', 0, PyUnicode_GetLength(file), -1) : -1;
    if (slash >= 0)
        folder = PyUnicode_Substring(file, 0, slash + 1);
    Py_XDECREF(file);
    PyErr_Clear();
    return folder;
}

static bool is_of_package(PyObject *entry, PyObject *folder)
{
    PyObject *frame = PyObject_GetAttrString(entry, "tb_frame");
    PyObject *code = frame ? PyObject_GetAttrString(frame, "f_code") : NULL;
    PyObject *file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
    bool is = file && PyUnicode_Tailmatch(file, folder, 0, PyUnicode_GetLength(file), -1) == 1;
    Py_XDECREF(frame);
    Py_XDECREF(code);
    Py_XDECREF(file);
    return is;
}

PyObject *wfpy_hide_frames(PyObject *result)
{
    PyObject *folder, *type, *value, *traceback;
    if (result || (wf_get_flags(wfpy.context) & WF_FLAG_DEBUG))
        return result;
    PyErr_Fetch(&type, &value, &traceback);
    if (traceback && (folder = package_folder()) != NULL) {
        PyObject *first = NULL, *last = NULL, *entry = Py_NewRef(traceback);
        while (entry && entry != Py_None) {
            PyObject *next = PyObject_GetAttrString(entry, "tb_next");
            if (is_of_package(entry, folder))
                Py_DECREF(entry);
            else if (!last)
                first = last = entry;
            else {
                PyObject_SetAttrString(last, "tb_next", entry);
                Py_DECREF(entry);
                last = entry;
            }
            entry = next;
        }
        Py_XDECREF(entry);
        if (last)
            PyObject_SetAttrString(last, "tb_next", Py_None);
        Py_DECREF(traceback);
        traceback = first;
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
    return NULL;
}

/* weft._Hiding: the base class of functions in Python that call functions of the program. A call is one of the method _run. */
static PyObject *hiding_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *run = wfpy_context() ? PyObject_GetAttrString(self, "_run") : NULL;
    PyObject *made = run ? PyObject_Call(run, args, keywords) : NULL;
    Py_XDECREF(run);
    return wfpy.context ? wfpy_hide_frames(made) : made;
}
static PyType_Slot hiding_slots[] = {
    { Py_tp_doc, "The base class of functions whose exceptions have no frames of the package, except in debug mode." },
    { Py_tp_call, hiding_call },
    { 0, NULL },
};
static PyType_Spec hiding_spec = { "weft._Hiding", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                   hiding_slots };

PyObject *wfpy_raise(void)
{
    wf_status status = wf_last_status(wfpy.context);
    if (PyErr_Occurred()) { /* an exception of Python is the cause */
    } else if (status == WF_OK)
        PyErr_SetString(wfpy.error[0], "the library failed and gave no reason");
    else
        wfpy_raise_status(status, wf_last_message(wfpy.context));
    wf_clear_error(wfpy.context);
    return NULL;
}

PyObject *wfpy_done(wf_status status)
{
    if (status != WF_OK)
        return wfpy_raise();
    return Py_NewRef(Py_None);
}

int wfpy_add_errors(PyObject *module)
{
    wfpy.error[0] =
        PyErr_NewExceptionWithDoc("weft.Error", "A mistake that the library has found.", PyExc_Exception, NULL);
    if (!wfpy.error[0] || PyModule_AddObjectRef(module, "Error", wfpy.error[0]) < 0)
        return -1;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i) {
        char name[64] = "weft.";
        strcat(name, classes[i].name);
        PyObject *bases = PyTuple_Pack(2, wfpy.error[0], *classes[i].also);
        PyObject *made = bases ? PyErr_NewExceptionWithDoc(name, classes[i].doc, bases, NULL) : NULL;
        Py_XDECREF(bases);
        if (!made)
            return -1;
        wfpy.error[classes[i].status] = made;
        if (PyModule_AddObjectRef(module, classes[i].name, made) < 0)
            return -1;
    }
    return wfpy_add_type(module, &hiding_spec) ? 0 : -1;
}
