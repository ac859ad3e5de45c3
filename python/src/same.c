/* same.c - which constants count as the same: arguments of kernels and frozen functions, and functions of weft.ewise.
 *
 * Numbers are the same if type and value are, where -0.0 is not 0.0; tuples are by their parts. A function that is made
 * anew of the same text is the same if its closure and its defaults hold the same. These may change while the function
 * lives, so tables keep a snapshot of a function. */
#include <string.h>

#include "weft_python.h"

static PyTypeObject *function_type, *method_type;
enum { CODE, CLOSURE, DEFAULTS, KEYWORD_DEFAULTS, CONTENTS, SELF, FUNCTION, NAMES };
static PyObject *name[NAMES];

/* ---- comparison ---- */

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

int wfpy_is_same(PyObject *a, PyObject *b, bool by_value)
{
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyFloat_Check(a))
        return same_bits(PyFloat_AsDouble(a), PyFloat_AsDouble(b));
    if (PyComplex_Check(a))
        return same_bits(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b)) &&
               same_bits(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b));
    if (PyTuple_Check(a)) {
        const Py_ssize_t n = PyTuple_Size(a);
        int same = n == PyTuple_Size(b);
        for (Py_ssize_t i = 0; same > 0 && i < n; ++i)
            same = wfpy_is_same(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i), by_value);
        return same;
    }
    if (by_value || PyLong_Check(a) || PyUnicode_Check(a) || PyBytes_Check(a))
        return PyObject_RichCompareBool(a, b, Py_EQ);
    return false;
}

/* _is_same(a, b): as two constants of a kernel; objects of other types are if they are equal. */
static PyObject *is_same(PyObject *self, PyObject *args)
{
    PyObject *a, *b;
    (void)self;
    const int same = PyArg_ParseTuple(args, "OO", &a, &b) ? wfpy_is_same(a, b, true) : -1;
    return same < 0 ? NULL : PyBool_FromLong(same);
}

/* ---- snapshots ---- */

enum { DEEPEST = 4 }; /* functions within closures of functions; those below count by identity */
typedef struct inside {
    PyObject *function;
    int depth;
    const struct inside *outer;
} inside;
static PyObject *snapshot(PyObject *object, const inside *outer);

static PyObject *snapshots(PyObject *tuple, const inside *outer)
{
    const Py_ssize_t n = PyTuple_Size(tuple);
    PyObject *made = PyTuple_New(n);
    for (Py_ssize_t i = 0; made && i < n; ++i) {
        PyObject *part = snapshot(PyTuple_GetItem(tuple, i), outer);
        if (!part || PyTuple_SetItem(made, i, part) < 0)
            Py_CLEAR(made);
    }
    return made;
}

/* What the cells of a closure hold; an empty cell stands for itself. */
static PyObject *contents_of(PyObject *closure)
{
    const Py_ssize_t n = PyTuple_Size(closure);
    PyObject *made = PyTuple_New(n);
    for (Py_ssize_t i = 0; made && i < n; ++i) {
        PyObject *cell = PyTuple_GetItem(closure, i), *content = PyObject_GetAttr(cell, name[CONTENTS]);
        if (!content) {
            PyErr_Clear();
            content = Py_NewRef(cell);
        }
        if (PyTuple_SetItem(made, i, content) < 0)
            Py_CLEAR(made);
    }
    return made;
}

static PyObject *items_of(PyObject *dict)
{
    PyObject *items = PyDict_Items(dict), *made = items ? PyList_AsTuple(items) : NULL;
    Py_XDECREF(items);
    return made;
}

/* The code of a function, or (code, contents of the closure, defaults, defaults by keyword) if it has one of these. */
static PyObject *snapshot_of_function(PyObject *function, const inside *outer)
{
    const inside here = { function, outer ? outer->depth + 1 : 0, outer };
    PyObject *code = PyObject_GetAttr(function, name[CODE]), *closure = PyObject_GetAttr(function, name[CLOSURE]),
             *defaults = PyObject_GetAttr(function, name[DEFAULTS]),
             *by_keyword = PyObject_GetAttr(function, name[KEYWORD_DEFAULTS]), *whole = NULL, *made = NULL;
    if (code && closure && defaults && by_keyword) {
        bool recurs = false;
        for (const inside *in = outer; in && !recurs; in = in->outer)
            recurs = in->function == function;
        if (recurs || (closure == Py_None && defaults == Py_None && by_keyword == Py_None))
            made = Py_NewRef(code);
        else if (here.depth > DEEPEST)
            made = Py_NewRef(function);
        else
            whole = PyTuple_New(4);
    }
    if (whole) {
        PyObject *parts[4] = { Py_NewRef(code), closure == Py_None ? Py_NewRef(Py_None) : contents_of(closure),
                               Py_NewRef(defaults), by_keyword == Py_None ? Py_NewRef(Py_None) : items_of(by_keyword) };
        bool right = true;
        for (int i = 0; i < 4; ++i) {
            right = right && parts[i];
            PyTuple_SetItem(whole, i, parts[i]);
        }
        made = right ? snapshots(whole, &here) : NULL;
    }
    Py_XDECREF(code);
    Py_XDECREF(closure);
    Py_XDECREF(defaults);
    Py_XDECREF(by_keyword);
    Py_XDECREF(whole);
    return made;
}

static PyObject *snapshot(PyObject *object, const inside *outer)
{
    if (PyTuple_CheckExact(object))
        return snapshots(object, outer);
    if (Py_TYPE(object) == function_type)
        return snapshot_of_function(object, outer);
    if (Py_TYPE(object) != method_type)
        return Py_NewRef(object);
    PyObject *function = PyObject_GetAttr(object, name[FUNCTION]), *self = PyObject_GetAttr(object, name[SELF]);
    PyObject *whose = function ? snapshot(function, outer) : NULL;
    PyObject *made = whose && self ? PyTuple_Pack(2, self, whose) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(self);
    Py_XDECREF(whose);
    return made;
}

PyObject *wfpy_snapshot(PyObject *object) { return snapshot(object, NULL); }

static PyObject *snapshot_of(PyObject *self, PyObject *object)
{
    (void)self;
    return wfpy_snapshot(object);
}

static PyMethodDef functions[] = {
    { "_is_same", is_same, METH_VARARGS, NULL },
    { "_snapshot", snapshot_of, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_same(PyObject *module)
{
    static const char *const texts[NAMES] = { "__code__",      "__closure__", "__defaults__", "__kwdefaults__",
                                              "cell_contents", "__self__",    "__func__" };
    PyObject *types = PyImport_ImportModule("types");
    function_type = (PyTypeObject *)(types ? PyObject_GetAttrString(types, "FunctionType") : NULL);
    method_type = (PyTypeObject *)(types ? PyObject_GetAttrString(types, "MethodType") : NULL);
    Py_XDECREF(types);
    if (!function_type || !method_type)
        return -1;
    for (int i = 0; i < NAMES; ++i)
        if (!(name[i] = PyUnicode_InternFromString(texts[i])))
            return -1;
    return PyModule_AddFunctions(module, functions);
}
