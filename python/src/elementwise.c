/* elementwise.c - weft.ewise and weft.reduce: from a function and options to the operator that was made of them.
 *
 * A function made anew of the same text and with the same closure counts as the same. A call that is not known goes to
 * Python (weft/_operators.py), which makes the operator, a weft.Dispatcher, and notes it here. */
#include <string.h>

#include "weft_python.h"

enum { KNOWN = 64, WAYS = 8, OPTIONS = 7 };
typedef struct known {
    PyObject *code, *cells; /* of the function; code: the object itself if it is no function of Python */
    PyObject *options;      /* a tuple */
    PyObject *operator;
    Py_ssize_t n; /* arrays */
} known;
static known table[KNOWN];
static unsigned next_way;
static PyObject *slow_ewise, *slow_reduce,
    *names[4]; /* Python functions; __code__, __closure__, __defaults__, cell_contents */
static PyTypeObject *function_type;

/* ---- what counts as the same ---- */

static bool is_same(PyObject *a, PyObject *b);

/* The contents of cells and the defaults of a function, a new tuple. NULL, without an exception: it has none, or *right is
 * false. */
static PyObject *cells_of(PyObject *function, bool *right)
{
    PyObject *closure = PyObject_GetAttr(function, names[1]), *defaults = PyObject_GetAttr(function, names[2]);
    const Py_ssize_t n = closure && closure != Py_None ? PyTuple_Size(closure) : 0;
    PyObject *made = NULL;
    *right = closure && defaults;
    if (*right && (n || defaults != Py_None)) {
        made = PyTuple_New(n + 1);
        for (Py_ssize_t i = 0; made && i < n; ++i) {
            PyObject *content = PyObject_GetAttr(PyTuple_GetItem(closure, i), names[3]);
            if (!content || PyTuple_SetItem(made, i, content) < 0)
                Py_CLEAR(made);
        }
        if (made)
            PyTuple_SetItem(made, n, Py_NewRef(defaults));
        *right = made != NULL;
    }
    Py_XDECREF(closure);
    Py_XDECREF(defaults);
    if (!*right)
        PyErr_Clear();
    return made;
}

static bool are_same(PyObject *a, PyObject *b)
{
    const Py_ssize_t n = PyTuple_Size(a);
    bool same = n == PyTuple_Size(b);
    for (Py_ssize_t i = 0; same && i < n; ++i)
        same = is_same(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i));
    return same;
}

static bool are_same_functions(PyObject *a, PyObject *b)
{
    PyObject *code = PyObject_GetAttr(a, names[0]), *other = PyObject_GetAttr(b, names[0]);
    bool same = code && code == other, right[2] = { false, false };
    PyObject *cells[2] = { NULL, NULL };
    if (same) {
        cells[0] = cells_of(a, &right[0]);
        cells[1] = cells_of(b, &right[1]);
        same = right[0] && right[1] && !cells[0] == !cells[1] && (!cells[0] || are_same(cells[0], cells[1]));
    }
    Py_XDECREF(code);
    Py_XDECREF(other);
    Py_XDECREF(cells[0]);
    Py_XDECREF(cells[1]);
    PyErr_Clear();
    return same;
}

/* Numbers and texts by type and value, tuples and functions by their parts, all else by identity. */
static bool is_same(PyObject *a, PyObject *b)
{
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) {
        int same = PyObject_RichCompareBool(a, b, Py_EQ);
        PyErr_Clear();
        return same == 1;
    }
    if (PyTuple_CheckExact(a))
        return are_same(a, b);
    return Py_TYPE(a) == function_type && are_same_functions(a, b);
}

/* ---- the table ---- */

static unsigned bucket(PyObject *code, Py_ssize_t n) { return (unsigned)(((uintptr_t)code >> 4) + (uintptr_t)n); }

/* A function as a key: its code, and *cells. A new reference; NULL, without an exception: it cannot be one. */
static PyObject *key_of(PyObject *function, PyObject **cells)
{
    bool right = true;
    *cells = NULL;
    if (Py_TYPE(function) != function_type)
        return Py_NewRef(function);
    PyObject *code = PyObject_GetAttr(function, names[0]);
    if (code)
        *cells = cells_of(function, &right);
    if (!right)
        Py_CLEAR(code);
    PyErr_Clear();
    return code;
}

static bool is_known(const known *k, PyObject *code, PyObject *cells, PyObject *const *options, Py_ssize_t n)
{
    if (k->code != code || k->n != n || !k->cells != !cells || (cells && !are_same(k->cells, cells)))
        return false;
    for (int i = 0; i < OPTIONS; ++i)
        if (!is_same(PyTuple_GetItem(k->options, i), options[i]))
            return false;
    return true;
}

/* The results of a known operator; NULL, with or without an exception. */
static PyObject *call_known(PyObject *const *options, PyObject *const *args, Py_ssize_t n)
{
    PyObject *cells, *code = function_type ? key_of(args[0], &cells) : NULL, *made = NULL;
    if (!code)
        return NULL;
    for (unsigned way = 0, at = bucket(code, n); way < WAYS && !made && !PyErr_Occurred(); ++way) {
        const known *k = &table[(at + way) % KNOWN];
        if (k->code && is_known(k, code, cells, options, n)) {
            PyObject *operator= Py_NewRef(k->operator);
            made = wfpy_dispatch_natural(operator, args + 1, n - 1);
            Py_DECREF(operator);
        }
    }
    Py_DECREF(code);
    Py_XDECREF(cells);
    return made;
}

/* Stores the result of a known element-wise operator in `out`, and returns that; NULL, with or without an exception. */
static PyObject *store_known(PyObject *const *options, PyObject *const *args, Py_ssize_t n, PyObject *out)
{
    PyObject *cells, *code = function_type ? key_of(args[0], &cells) : NULL, *done = NULL;
    if (!code)
        return NULL;
    for (unsigned way = 0, at = bucket(code, n); way < WAYS && !done && !PyErr_Occurred(); ++way) {
        const known *k = &table[(at + way) % KNOWN];
        if (!k->code || !is_known(k, code, cells, options, n) || wfpy_dispatch_outs(k->operator) != 1)
            continue;
        PyObject *operator= Py_NewRef(k->operator), *all = PyTuple_New(n);
        for (Py_ssize_t i = 1; all && i <= n; ++i)
            PyTuple_SetItem(all, i - 1, Py_NewRef(i < n ? args[i] : out));
        done = all ? PyObject_Call(operator, all, NULL) : NULL;
        Py_XDECREF(all);
        Py_DECREF(operator);
    }
    Py_DECREF(code);
    Py_XDECREF(cells);
    Py_XDECREF(done);
    return done ? Py_NewRef(out) : NULL;
}

/* _note_operator(operator, options, function, n): an operator whose results have the dtypes that the function gives. */
static PyObject *note_operator(PyObject *self, PyObject *args)
{
    PyObject *operator, * options, *function, *cells;
    Py_ssize_t n;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO!On", &operator, & PyTuple_Type, &options, &function, &n))
        return NULL;
    if (PyTuple_Size(options) != OPTIONS)
        return PyErr_Format(PyExc_TypeError, "an operator has %d options", OPTIONS);
    PyObject *code = key_of(function, &cells);
    if (!code)
        Py_RETURN_NONE;
    const unsigned at = bucket(code, n + 1);
    known *k = NULL, old;
    for (unsigned way = 0; way < WAYS; ++way) {
        known *here = &table[(at + way) % KNOWN];
        if (here->operator== operator)
            k = here;
        else if (!here->code && !k)
            k = here;
    }
    k = k ? k : &table[(at + next_way++ % WAYS) % KNOWN];
    old = *k;
    *k = (known){ code, cells, Py_NewRef(options), Py_NewRef(operator), n + 1 };
    Py_XDECREF(old.code);
    Py_XDECREF(old.cells);
    Py_XDECREF(old.options);
    Py_XDECREF(old.operator);
    Py_RETURN_NONE;
}

/* ---- calls ---- */

static PyObject *call_slow(PyObject *slow, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    PyObject *given = PyTuple_New(n), *named = keywords ? PyDict_New() : NULL, *made = NULL;
    bool right = given && (named || !keywords);
    for (Py_ssize_t i = 0; right && i < n; ++i)
        right = PyTuple_SetItem(given, i, Py_NewRef(args[i])) == 0;
    for (Py_ssize_t k = 0, count = keywords ? PyTuple_Size(keywords) : 0; right && k < count; ++k)
        right = PyDict_SetItem(named, PyTuple_GetItem(keywords, k), args[n + k]) == 0;
    if (right)
        made = PyObject_Call(slow, given, named);
    Py_XDECREF(given);
    Py_XDECREF(named);
    return wfpy_context() ? wfpy_hide_frames(made) : made;
}

static PyObject *ewise(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    PyObject *options[OPTIONS];
    const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    PyObject *out =
        named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keywords, 0), "out") == 0 ? args[n] : Py_None;
    (void)self;
    if (n > 1 && n < WFPY_MOST_ARGUMENTS / 2 && (!named || (out != Py_None && !wfpy_is_list(out)))) {
        for (int i = 0; i < OPTIONS; ++i)
            options[i] = Py_Ellipsis; /* which no option of weft.reduce is */
        PyObject *made = named ? store_known(options, args, n, out) : call_known(options, args, n);
        if (made || PyErr_Occurred())
            return made;
    }
    return call_slow(slow_ewise, args, n, keywords);
}

static PyObject *reduce(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    static const char *const options_of[OPTIONS] = { "axis", "init", "join", "post", "keepdims", "indices", "out" };
    static PyObject *option_name[OPTIONS], *zero, *add;
    (void)self;
    for (int i = 0; i < OPTIONS && !option_name[i]; ++i)
        if (!(option_name[i] = PyUnicode_InternFromString(options_of[i])))
            return NULL;
    if ((!zero && !(zero = PyLong_FromLong(0))) || (!add && !(add = PyUnicode_InternFromString("add"))))
        return NULL;
    PyObject *options[OPTIONS] = { Py_None, zero, add, Py_None, Py_False, Py_False, Py_None };
    bool fits = n > 1 && n < WFPY_MOST_ARGUMENTS / 2;
    for (Py_ssize_t k = 0, count = keywords ? PyTuple_Size(keywords) : 0; fits && k < count; ++k) {
        int at = 0;
        while (at < OPTIONS && option_name[at] != PyTuple_GetItem(keywords, k))
            ++at;
        fits = at < OPTIONS;
        if (fits)
            options[at] = args[n + k];
    }
    if (fits && options[OPTIONS - 1] == Py_None) {
        PyObject *made = call_known(options, args, n);
        if (made || PyErr_Occurred())
            return made;
    }
    return call_slow(slow_reduce, args, n, keywords);
}

/* _set_operators(ewise, reduce, type of functions): what makes operators. */
static PyObject *set_operators(PyObject *self, PyObject *args)
{
    static const char *const texts[] = { "__code__", "__closure__", "__defaults__", "cell_contents" };
    PyObject *type;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOO!", &slow_ewise, &slow_reduce, &PyType_Type, &type))
        return NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        if (!(names[i] = PyUnicode_InternFromString(texts[i])))
            return NULL;
    Py_INCREF(slow_ewise);
    Py_INCREF(slow_reduce);
    function_type = (PyTypeObject *)Py_NewRef(type);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    { "ewise", WFPY_KEYWORDS(ewise),
      "ewise(function, /, *arrays, out=None)\n--\n\n"
      "Calls a function of elements for all elements of arrays, which broadcast; with `out`, stores the results there.\n\n"
      "Control flow of the function is recorded as that of a kernel. Numbers may take part. A function that returns a tuple\n"
      "has several results." },
    { "reduce", WFPY_KEYWORDS(reduce),
      "reduce(function, /, *arrays, axis=None, init=0, join='add', post=None, keepdims=False, out=None, indices=False)\n"
      "--\n\n"
      "Reduces the values of a function of elements over axes of arrays, which broadcast.\n\n"
      "`join`: 'add', 'mul', 'min', 'max', 'and', 'or', 'xor', or a function of two partial results, which is associative\n"
      "and commutative up to rounding and has `init` as neutral element. A function that returns a tuple has several\n"
      "results: then `init` is a tuple, `join` a name, a tuple of names or a function of two tuples. `post`: a function of\n"
      "the results whose values are stored instead of them. `indices`: the function gets the indices of the point first.\n"
      "`function` None: the elements themselves. Results of f32 are added in f64." },
    { "_set_operators", set_operators, METH_VARARGS, NULL },
    { "_note_operator", note_operator, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_elementwise(PyObject *module) { return PyModule_AddFunctions(module, functions); }
