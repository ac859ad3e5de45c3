/* frozen.c - weft.freeze: the launches of a function of Python, noted at its first call and repeated at later ones. A
 * sequence is for arrays of the same dtypes and layouts, and for the same other arguments; each call looks for one that
 * fits. */
#include <string.h>

#include "weft_python.h"

enum { ARGUMENTS = 32, SEQUENCES = 16 };
typedef struct layout {
    bool is_array, read_only;
    wf_dtype dtype;
    wf_shape shape;
    PyObject *constant; /* if it is no array */
} layout;
typedef struct sequence {
    wf_frozen *frozen;
    PyObject *result;
    int n;
    layout at[ARGUMENTS];
} sequence;
typedef struct freezer {
    PyObject_HEAD PyObject *function;
    sequence *sequence[SEQUENCES];
    int n, next, last;
    wfpy_slot slot[ARGUMENTS];
    bool busy; /* a call is using the slots */
} freezer;

static void sequence_free(sequence *s)
{
    if (!s)
        return;
    wf_frozen_free(s->frozen);
    Py_XDECREF(s->result);
    for (int i = 0; i < s->n; ++i)
        Py_XDECREF(s->at[i].constant);
    PyMem_Free(s);
}

static PyObject *clear(PyObject *self, PyObject *none)
{
    freezer *f = (freezer *)self;
    (void)none;
    for (int i = 0; i < f->n; ++i)
        sequence_free(f->sequence[i]);
    f->n = f->next = f->last = 0;
    Py_RETURN_NONE;
}

static PyObject *freezer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *function;
    static char *names[] = { "function", NULL };
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:freeze", names, &function))
        return NULL;
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "weft.freeze: %R cannot be called", function);
    freezer *made = (freezer *)PyType_GenericNew(type, args, keywords);
    if (made)
        made->function = Py_NewRef(function);
    return (PyObject *)made;
}

static void freezer_dealloc(PyObject *self)
{
    freezer *f = (freezer *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(clear(self, NULL));
    for (int i = 0; i < ARGUMENTS; ++i)
        wfpy_slot_free(&f->slot[i]);
    Py_XDECREF(f->function);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static bool is_array(PyObject *object)
{
    return wfpy_is_array(object) || (wfpy_has_buffer(object) && !PyBytes_Check(object) && !PyFloat_Check(object)) ||
           wfpy_has_dlpack(object);
}

/* ---- the first call: the function runs and is noted ---- */

static sequence *note(const freezer *f, PyObject *args)
{
    wf_array *input[ARGUMENTS];
    sequence *s = PyMem_Calloc(1, sizeof *s);
    const Py_ssize_t n = PyTuple_Size(args);
    PyObject *given = s ? PyTuple_New(n) : NULL;
    int inputs = 0;
    if (!given) {
        PyMem_Free(s);
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *object = PyTuple_GetItem(args, i);
        layout *at = &s->at[s->n++];
        *at = (layout){ .is_array = is_array(object) };
        PyObject *own = at->is_array ? wfpy_as_array(object, WF_NONE) : Py_NewRef(object);
        wf_array *array = own && at->is_array ? wfpy_array_of(own) : NULL;
        if (!own || (at->is_array && !array)) {
            Py_XDECREF(own);
            Py_DECREF(given);
            sequence_free(s);
            return NULL;
        }
        if (at->is_array) {
            at->dtype = wf_array_dtype(array);
            at->shape = wf_array_shape(array);
            at->read_only = wf_array_is_read_only(array);
            input[inputs++] = array;
        } else
            at->constant = Py_NewRef(object);
        PyTuple_SetItem(given, i, own);
    }
    if (wf_freeze_begin(wfpy.context, (wf_arrays){ input, (size_t)inputs }) == WF_OK) {
        s->result = PyObject_CallObject(f->function, given);
        s->frozen = wf_freeze_end(wfpy.context);
        if (!s->result)
            wf_clear_error(wfpy.context); /* the exception says more */
        else if (!s->frozen)
            wfpy_raise();
    } else
        wfpy_raise();
    Py_DECREF(given);
    if (s->result && s->frozen)
        return s;
    sequence_free(s);
    return NULL;
}

/* ---- later calls ---- */

static bool same_shape(const wf_shape *a, const wf_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

typedef struct given {
    wf_array *array[ARGUMENTS]; /* NULL: no array */
    bool read_only[ARGUMENTS];
    Py_buffer buffer[ARGUMENTS];
    int n;
} given;

/* True if a sequence is for these arguments, as far as that is known before a replay; -1: an exception. */
static int fits(const sequence *s, PyObject *args, const given *g)
{
    if (s->n != g->n)
        return false;
    for (int i = 0; i < g->n; ++i) {
        const layout *at = &s->at[i];
        if (at->is_array != (g->array[i] != NULL))
            return false;
        if (!at->is_array) {
            int same = wfpy_is_same(PyTuple_GetItem(args, i), at->constant, true);
            if (same <= 0)
                return same;
            continue;
        }
        const wf_shape shape = wf_array_shape(g->array[i]);
        if (at->dtype != wf_array_dtype(g->array[i]) || at->read_only != g->read_only[i] ||
            !same_shape(&at->shape, &shape))
            return false;
    }
    return true;
}

/* Replays a sequence. 1: done, 0: it does not fit, -1: an exception. */
static int replay(const sequence *s, const given *g)
{
    wf_array *input[ARGUMENTS];
    size_t n = 0;
    bool is_long = false;
    for (int i = 0; i < g->n; ++i)
        if (g->array[i]) {
            is_long = is_long || wfpy_is_long(g->array[i]);
            input[n++] = g->array[i];
        }
    wfpy_released r = wfpy_release_gil(is_long);
    wf_status status = wf_frozen_replay(s->frozen, (wf_arrays){ input, n });
    wfpy_take_gil(r);
    if (status == WF_OK)
        return wfpy_warn() < 0 ? -1 : 1;
    if (status == WF_ERR_ARG || status == WF_ERR_DEVICE) { /* other strides, overlaps or memory */
        wf_clear_error(wfpy.context);
        return 0;
    }
    wfpy_raise();
    return -1;
}

static int find(freezer *f, PyObject *args, PyObject **result)
{
    given g = { .n = 0 };
    int done = 0, held = 0;
    const Py_ssize_t n = PyTuple_Size(args);
    for (; held < n && done == 0; ++held) {
        PyObject *object = PyTuple_GetItem(args, held);
        g.array[held] = NULL;
        g.buffer[held].obj = NULL;
        if (!is_array(object))
            continue;
        g.array[held] = wfpy_slot_begin(&f->slot[held], object, NULL, &g.buffer[held]);
        g.read_only[held] =
            g.buffer[held].obj ? g.buffer[held].readonly : g.array[held] && wf_array_is_read_only(g.array[held]);
        if (!g.array[held])
            done = -1;
    }
    g.n = (int)n;
    for (int k = 0; done == 0 && k < f->n; ++k) {
        const int at = (f->last + k) % f->n;
        sequence *s = f->sequence[at];
        done = fits(s, args, &g);
        if (done > 0)
            done = replay(s, &g);
        if (done > 0) {
            f->last = at;
            *result = Py_NewRef(s->result);
        }
    }
    for (; held; --held)
        wfpy_slot_end(&f->slot[held - 1], &g.buffer[held - 1]);
    return done;
}

static PyObject *freezer_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    freezer *f = (freezer *)self;
    PyObject *result = NULL;
    if (keywords && PyDict_Size(keywords))
        return PyErr_Format(PyExc_TypeError, "a frozen function takes no keyword arguments");
    if (PyTuple_Size(args) > ARGUMENTS)
        return PyErr_Format(PyExc_TypeError, "a frozen function takes at most %d arguments", ARGUMENTS);
    if (!wfpy_context())
        return NULL;
    if (f->busy || wf_is_freezing(wfpy.context) || wfpy_notes()) /* a tape notes launches, not replays */
        return PyObject_CallObject(f->function, args);
    if (!wfpy_lazy_compute_all()) /* before their arrays are written */
        return NULL;
    f->busy = true;
    int done = find(f, args, &result);
    f->busy = false;
    if (done < 0 && !PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(wfpy.error[WF_ERR_ARG]))
        return NULL;
    if (done > 0)
        return result;
    PyErr_Clear();
    sequence *s = note(f, args);
    if (!s)
        return NULL;
    if (f->n < SEQUENCES)
        f->next = f->n++;
    else {
        f->next = (f->next + 1) % SEQUENCES;
        sequence_free(f->sequence[f->next]);
    }
    f->sequence[f->next] = s;
    f->last = f->next;
    return Py_NewRef(s->result);
}

static PyObject *get_sequences(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((freezer *)self)->n);
}
static PyObject *get_function(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((freezer *)self)->function);
}
static PyGetSetDef properties[] = {
    { "sequences", get_sequences, NULL, "The number of sequences that are kept.", NULL },
    { "__wrapped__", get_function, NULL, "The function.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef methods[] = {
    { "clear", clear, METH_NOARGS, "clear()\n--\n\nForgets all sequences." },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot slots[] = {
    { Py_tp_doc,
      "freeze(function)\n--\n\n"
      "A decorator: the launches of the function's first call are noted, and later calls repeat them.\n\n"
      "The function itself does not run again for arrays of the same dtypes and layouts and equal other arguments; its\n"
      "result, and the arrays that it made, are those of the first call, written again." },
    { Py_tp_new, freezer_new },
    { Py_tp_dealloc, freezer_dealloc },
    { Py_tp_call, freezer_call },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { 0, NULL },
};
static PyType_Spec spec = { "weft.freeze", sizeof(freezer), 0, Py_TPFLAGS_DEFAULT, slots };

int wfpy_add_frozen(PyObject *module) { return wfpy_add_type(module, &spec) ? 0 : -1; }
