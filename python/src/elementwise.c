/* elementwise.c - weft.ewise and weft.reduce: from a function and options to the operator that was made of them.
 *
 * Functions and options count as the same by the rules of same.c. A call that is not known goes to Python
 * (weft/_operators.py), which makes the operator, a weft.Dispatcher, and notes it here. */
#include "weft_python.h"

enum { KNOWN = 64, WAYS = 8, OPTIONS = 7 };
typedef struct key {
    PyObject *function, *option[OPTIONS]; /* snapshots */
    Py_ssize_t n;                         /* the function and the arrays */
} key;
typedef struct known {
    key key;
    PyObject *dispatcher; /* NULL: the place is free */
} known;
static known table[KNOWN];
static unsigned next_way;
static PyObject *slow_ewise, *slow_reduce; /* Python functions */

/* ---- the table ---- */

static void key_end(key *k)
{
    Py_XDECREF(k->function);
    for (int i = 0; i < OPTIONS; ++i)
        Py_XDECREF(k->option[i]);
}

static bool key_begin(key *k, PyObject *function, PyObject *const *options, Py_ssize_t n)
{
    *k = (key){ .function = wfpy_snapshot(function), .n = n };
    bool right = k->function != NULL;
    for (int i = 0; right && i < OPTIONS; ++i)
        right = (k->option[i] = wfpy_snapshot(options[i])) != NULL;
    if (!right)
        key_end(k);
    return right;
}

static bool is_same_key(const key *a, const key *b)
{
    bool same = a->n == b->n && wfpy_is_same(a->function, b->function, false) > 0;
    for (int i = 0; same && i < OPTIONS; ++i)
        same = wfpy_is_same(a->option[i], b->option[i], false) > 0;
    return same;
}

/* The first of the WAYS places where operators of a key may be. */
static unsigned first_place(const key *k)
{
    PyObject *code = PyTuple_CheckExact(k->function) ? PyTuple_GetItem(k->function, 0) : k->function;
    return (unsigned)(((uintptr_t)code >> 4) + (uintptr_t)k->n);
}

/* The next operator of a key, a new reference; *way counts, from 0. NULL, with or without an exception: no more. */
static PyObject *next_known(const key *k, unsigned *way)
{
    const unsigned first = first_place(k);
    while (*way < WAYS && !PyErr_Occurred()) {
        const known *here = &table[(first + (*way)++) % KNOWN];
        if (here->dispatcher && is_same_key(&here->key, k))
            return Py_NewRef(here->dispatcher);
    }
    return NULL;
}

/* Calls an operator with arguments and `out`, and returns that. NULL, with or without an exception: it does not fit. */
static PyObject *store(PyObject *dispatcher, PyObject *const *args, Py_ssize_t n, PyObject *out)
{
    if (wfpy_dispatch_outs(dispatcher) != 1)
        return NULL;
    PyObject *all = PyTuple_New(n + 1);
    for (Py_ssize_t i = 0; all && i <= n; ++i)
        PyTuple_SetItem(all, i, Py_NewRef(i < n ? args[i] : out));
    PyObject *done = all ? PyObject_Call(dispatcher, all, NULL) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(done);
    return done ? Py_NewRef(out) : NULL;
}

/* The results of a known operator, or `out` with its result; args[0] is the function. NULL, with or without an exception:
 * there is none. */
static PyObject *call_known(PyObject *const *options, PyObject *const *args, Py_ssize_t n, PyObject *out)
{
    key k;
    if (!key_begin(&k, args[0], options, n))
        return NULL;
    PyObject *dispatcher, *made = NULL;
    for (unsigned way = 0; !made && (dispatcher = next_known(&k, &way)) != NULL;) {
        made = out ? store(dispatcher, args + 1, n - 1, out) : wfpy_dispatch_natural(dispatcher, args + 1, n - 1);
        Py_DECREF(dispatcher);
    }
    key_end(&k);
    return made;
}

/* _note_operator(operator, options, function, n): an operator whose results have the dtypes that the function gives. */
static PyObject *note_operator(PyObject *self, PyObject *args)
{
    PyObject *dispatcher, *options, *function, *option[OPTIONS];
    Py_ssize_t n;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO!On", &dispatcher, &PyTuple_Type, &options, &function, &n))
        return NULL;
    if (PyTuple_Size(options) != OPTIONS)
        return PyErr_Format(PyExc_TypeError, "an operator has %d options", OPTIONS);
    for (int i = 0; i < OPTIONS; ++i)
        option[i] = PyTuple_GetItem(options, i);
    known made = { .dispatcher = dispatcher }, old;
    if (!key_begin(&made.key, function, option, n + 1))
        return NULL;
    const unsigned first = first_place(&made.key);
    known *place = NULL;
    for (unsigned way = 0; way < WAYS; ++way) {
        known *here = &table[(first + way) % KNOWN];
        if (here->dispatcher == dispatcher)
            place = here;
        else if (!here->dispatcher && !place)
            place = here;
    }
    place = place ? place : &table[(first + next_way++ % WAYS) % KNOWN];
    old = *place;
    Py_INCREF(dispatcher);
    *place = made;
    if (old.dispatcher) {
        key_end(&old.key);
        Py_DECREF(old.dispatcher);
    }
    Py_RETURN_NONE;
}

/* ---- calls ---- */

static PyObject *call_slow(PyObject *slow, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    PyObject *made = wfpy_call_function(slow, NULL, args, n, keywords);
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
        PyObject *made = call_known(options, args, n, named ? out : NULL);
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
        PyObject *made = call_known(options, args, n, NULL);
        if (made || PyErr_Occurred())
            return made;
    }
    return call_slow(slow_reduce, args, n, keywords);
}

/* _set_operators(ewise, reduce): what makes operators. */
static PyObject *set_operators(PyObject *self, PyObject *args)
{
    (void)self;
    if (!PyArg_ParseTuple(args, "OO", &slow_ewise, &slow_reduce))
        return NULL;
    Py_INCREF(slow_ewise);
    Py_INCREF(slow_reduce);
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
