/* dispatch.c - weft.Dispatcher, the base class of traced functions: from the arguments of a call to the kernel of their
 * signature. A call with a known signature makes no Python objects. Others go to the method _miss of the subclass, which
 * records a kernel and adds it by _add.
 *
 * A signature has a part for each argument: an array by dtype, axes and device; a number by its class; a number of NumPy
 * by its dtype; anything else by its value. The flags of the context belong to it, too. */
#include <string.h>

#include "weft_python.h"

typedef enum part_kind { ARRAY, TYPED, BOOL, INT, FLOAT, STATIC } part_kind;
typedef struct part {
    part_kind kind;
    wf_dtype dtype;
    int rank;
    wf_device device;
    PyObject *constant;
} part;
typedef struct entry {
    PyObject *kernel;
    uint32_t flags;
    int space;    /* the argument of the kernel whose shape is the space; -1: none */
    bool natural; /* the last arguments have the dtypes that the function gives */
    uint64_t covers;
    part *part;
} entry;
enum { ENTRIES = 16, NO_SPACE = -2 };
typedef struct dispatcher {
    PyObject_HEAD PyObject *defaults; /* a tuple: the last defaults of the arguments */
    PyTypeObject *constant;           /* weft.static */
    entry entry[ENTRIES];
    int n, space; /* arguments; the one whose shape is the space, -1: the call gives it, or NO_SPACE */
    int n_entries, next, last;
    int outs; /* of operators: the last arguments are the results */
    bool reduces, keeps;
    wf_axes axes; /* that it reduces */
} dispatcher;
static dispatcher *self_dispatcher(PyObject *self) { return (dispatcher *)self; }

static _Thread_local bool tracing;

/* ---- entries ---- */

static void forget(dispatcher *d, entry *e)
{
    for (int i = 0; e->part && i < d->n; ++i)
        Py_XDECREF(e->part[i].constant);
    PyMem_Free(e->part);
    Py_XDECREF(e->kernel);
    *e = (entry){ 0 };
}

static PyObject *clear(PyObject *self, PyObject *none)
{
    dispatcher *d = self_dispatcher(self);
    (void)none;
    for (int i = 0; i < d->n_entries; ++i)
        forget(d, &d->entry[i]);
    d->n_entries = d->next = d->last = 0;
    Py_RETURN_NONE;
}

static void dispatcher_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(clear(self, NULL));
    Py_XDECREF(self_dispatcher(self)->defaults);
    Py_XDECREF((PyObject *)self_dispatcher(self)->constant);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* _setup(arguments, defaults, space, static, outs=0, reduced axes=None, keepdims=False) */
static PyObject *setup(PyObject *self, PyObject *args)
{
    dispatcher *d = self_dispatcher(self);
    PyObject *defaults, *constant, *axes = Py_None;
    int n, space, outs = 0, keeps = 0;
    if (!PyArg_ParseTuple(args, "iO!iO!|iOp", &n, &PyTuple_Type, &defaults, &space, &PyType_Type, &constant, &outs,
                          &axes, &keeps) ||
        (axes != Py_None && !wfpy_axes(axes, WF_MAX_RANK, &d->axes)))
        return NULL;
    d->outs = outs;
    d->reduces = axes != Py_None;
    d->keeps = keeps;
    if (n < 0 || n > WFPY_MOST_ARGUMENTS || space >= n || PyTuple_Size(defaults) > n)
        return PyErr_Format(PyExc_TypeError, "a kernel has at most %d arguments", WFPY_MOST_ARGUMENTS);
    Py_XDECREF(clear(self, NULL));
    Py_XDECREF(d->defaults);
    Py_XDECREF((PyObject *)d->constant);
    d->defaults = Py_NewRef(defaults);
    d->constant = (PyTypeObject *)Py_NewRef(constant);
    d->n = n;
    d->space = space;
    Py_RETURN_NONE;
}

/* One part from its description: ("array", dtype, axes, device), ("typed", dtype), ("number", class), ("static", x). */
static bool read_part(PyObject *object, part *p)
{
    PyObject *first, *second = NULL, *device = Py_None;
    int rank = 0;
    if (!PyArg_ParseTuple(object, "OO|iO", &first, &second, &rank, &device))
        return false;
    const char *kind = wfpy_utf8(first);
    if (!kind)
        return false;
    p->rank = rank;
    if (strcmp(kind, "array") == 0 || strcmp(kind, "typed") == 0) {
        p->kind = kind[0] == 'a' ? ARRAY : TYPED;
        return wfpy_dtype(second, &p->dtype) && (p->kind == TYPED || wfpy_device(device, &p->device));
    }
    if (strcmp(kind, "number") == 0) {
        p->kind = second == (PyObject *)&PyBool_Type ? BOOL : second == (PyObject *)&PyLong_Type ? INT : FLOAT;
        return true;
    }
    p->kind = STATIC;
    p->constant = PyObject_GetAttrString(second, "value");
    return p->constant != NULL;
}

/* _add(kernel, parts, covers, rank): a kernel for a signature, with a space of this rank; see wfpy_kernel_launch. The oldest
 * of many is forgotten. */
static PyObject *add(PyObject *self, PyObject *args)
{
    dispatcher *d = self_dispatcher(self);
    PyObject *kernel, *parts;
    unsigned long long covers = 0;
    int rank = -1;
    if (!PyArg_ParseTuple(args, "O!O!|Ki", wfpy.kernel, &kernel, &PyTuple_Type, &parts, &covers, &rank))
        return NULL;
    if (PyTuple_Size(parts) != d->n)
        return PyErr_Format(PyExc_TypeError, "a signature has a part for each argument");
    entry e = { .kernel = Py_NewRef(kernel), .flags = wf_get_flags(wfpy.context), .space = -1, .covers = covers };
    e.part = PyMem_Calloc((size_t)d->n + 1, sizeof *e.part);
    if (!e.part) {
        Py_DECREF(kernel);
        return PyErr_NoMemory();
    }
    for (int i = 0, at = 0; i < d->n; ++i) {
        if (!read_part(PyTuple_GetItem(parts, i), &e.part[i])) {
            forget(d, &e);
            return NULL;
        }
        if (i == d->space && e.part[i].kind == ARRAY && (rank < 0 || e.part[i].rank == rank))
            e.space = at;
        at += e.part[i].kind != STATIC;
    }
    if (d->n_entries < ENTRIES)
        d->next = d->n_entries++;
    else {
        d->next = (d->next + 1) % ENTRIES;
        forget(d, &d->entry[d->next]);
    }
    d->entry[d->next] = e;
    d->last = d->next;
    Py_RETURN_NONE;
}

/* ---- calls ---- */

/* The kind of an argument, whose buffer stays held. An array that comes by DLPack takes the argument's place, and *own is
 * its reference, else NULL. */
static part_kind kind_of(wfpy_given *given, PyObject **own)
{
    PyObject *object = given->object;
    Py_buffer *buffer = &given->buffer;
    buffer->obj = NULL;
    *own = NULL;
    given->foreign = !wfpy_is_array(object);
    if (!given->foreign)
        return ARRAY;
    if (PyFloat_Check(object))
        return FLOAT;
    if (PyLong_Check(object))
        return PyBool_Check(object) ? BOOL : INT;
    if (!PyObject_CheckBuffer(object) && wfpy_has_dlpack(object)) {
        *own = wfpy_from_dlpack(object, Py_None);
        PyErr_Clear(); /* the slow way says what is wrong */
        given->object = *own ? *own : object;
        return *own ? ARRAY : STATIC;
    }
    if (!PyObject_CheckBuffer(object) || PyBytes_Check(object))
        return STATIC;
    if (PyObject_GetBuffer(object, buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        buffer->obj = NULL;
        return STATIC;
    }
    return buffer->ndim == 0 && buffer->readonly ? TYPED : ARRAY;
}

/* True if an argument is of the part; -1: an exception. */
static int fits(const dispatcher *d, const part *p, part_kind kind, const wfpy_given *given, const wfpy_slot *slot)
{
    if (kind != p->kind)
        return false;
    const Py_buffer *b = &given->buffer;
    switch (kind) {
    case ARRAY:
        if (b->obj)
            return wfpy_slot_holds(slot, b) || (b->ndim == p->rank && p->device == WF_CPU && b->format &&
                                                wfpy_dtype_of_format(b->format, b->itemsize) == p->dtype);
        wf_array *array = wfpy_array_of(given->object);
        return !array ? -1
                      : wf_array_dtype(array) == p->dtype && wf_array_shape(array).rank == p->rank &&
                            wf_array_device(array) == p->device;
    case TYPED:
        return b->format && wfpy_dtype_of_format(b->format, b->itemsize) == p->dtype;
    case STATIC: {
        PyObject *value = Py_TYPE(given->object) == d->constant ? PyObject_GetAttrString(given->object, "value")
                                                                : Py_NewRef(given->object);
        int same = value ? wfpy_is_same(value, p->constant, true) : -1;
        Py_XDECREF(value);
        return same;
    }
    case BOOL:
    case INT:
    case FLOAT:
        break;
    }
    return true;
}

/* The entry whose first n arguments are these, and if `natural` one whose results have the dtypes that the function gives;
 * NULL, with or without an exception: none. */
static entry *find(dispatcher *d, const part_kind *kind, const wfpy_given *given, int n, bool natural)
{
    const uint32_t flags = wf_get_flags(wfpy.context);
    for (int k = 0; k < d->n_entries; ++k) {
        const int at = (d->last + k) % d->n_entries;
        entry *e = &d->entry[at];
        int same = e->flags == flags && (e->natural || !natural);
        for (int i = 0, slot = 0; same > 0 && i < n; ++i) {
            same = fits(d, &e->part[i], kind[i], &given[i], wfpy_kernel_slot(e->kernel, slot));
            slot += kind[i] != STATIC;
        }
        if (same < 0)
            return NULL;
        if (same) {
            d->last = at;
            return e;
        }
    }
    return NULL;
}

/* Ends the arguments of a call that did not become a launch. */
static void end_arguments(wfpy_given *given, PyObject *const *own, int n)
{
    for (int i = 0; i < n; ++i) {
        PyBuffer_Release(&given[i].buffer);
        Py_XDECREF(own[i]);
    }
}

static PyObject *miss(PyObject *self, PyObject *const *args, int n, const wf_shape *shape)
{
    PyObject *tuple = PyTuple_New(n), *space = shape ? wfpy_shape_object(shape) : Py_NewRef(Py_None), *done = NULL;
    for (int i = 0; tuple && i < n; ++i)
        PyTuple_SetItem(tuple, i, Py_NewRef(args[i]));
    if (tuple && space)
        done = PyObject_CallMethod(self, "_miss", "OO", tuple, space);
    Py_XDECREF(tuple);
    Py_XDECREF(space);
    return wfpy_hide_frames(done);
}

static PyObject *call(PyObject *self, PyObject *positional, PyObject *keywords, const wf_shape *shape)
{
    dispatcher *d = self_dispatcher(self);
    PyObject *args[WFPY_MOST_ARGUMENTS], *own[WFPY_MOST_ARGUMENTS];
    wfpy_given given[WFPY_MOST_ARGUMENTS];
    part_kind kind[WFPY_MOST_ARGUMENTS];
    const Py_ssize_t n = PyTuple_Size(positional), missing = d->n - n;
    if ((keywords && PyDict_Size(keywords)) || tracing || !d->defaults || missing < 0 ||
        missing > PyTuple_Size(d->defaults)) {
        PyObject *space = shape ? wfpy_shape_object(shape) : Py_NewRef(Py_None);
        PyObject *done =
            space ? PyObject_CallMethod(self, "_bind", "OOO", positional, keywords ? keywords : Py_None, space) : NULL;
        Py_XDECREF(space);
        return wfpy_hide_frames(done);
    }
    for (int i = 0; i < d->n; ++i) {
        args[i] =
            i < n ? PyTuple_GetItem(positional, i) : PyTuple_GetItem(d->defaults, i - d->n + PyTuple_Size(d->defaults));
        given[i].object = args[i];
        kind[i] = kind_of(&given[i], &own[i]);
    }
    entry *e = find(d, kind, given, d->n, false);
    if (!e || (!shape && e->space < 0 && d->space != NO_SPACE)) {
        end_arguments(given, own, d->n);
        return PyErr_Occurred() ? NULL : miss(self, args, d->n, shape);
    }
    wfpy_given *list[WFPY_MOST_ARGUMENTS];
    for (int i = 0, at = 0; i < d->n; ++i)
        if (kind[i] != STATIC)
            list[at++] = &given[i];
    PyObject *kernel = Py_NewRef(e->kernel); /* a warning may run code that forgets the entry */
    const uint64_t covers = e->covers;
    wf_launch_opts opts = { .size = sizeof opts };
    if (shape)
        opts.shape = *shape;
    PyObject *done = wfpy_kernel_launch(kernel, list, &opts, shape ? -1 : e->space, covers);
    for (int i = 0; i < d->n; ++i)
        Py_XDECREF(own[i]);
    Py_DECREF(kernel);
    return done;
}

/* ---- operators that make their results ---- */

static wf_shape shape_of(const wfpy_given *given)
{
    const Py_buffer *b = &given->buffer;
    if (!b->obj)
        return wf_array_shape(wfpy_array_of(given->object));
    wf_shape shape = { 0 };
    for (; shape.rank < b->ndim && shape.rank < WF_MAX_RANK; ++shape.rank)
        shape.dim[shape.rank] = b->shape[shape.rank];
    return shape;
}

/* The shape to which the arrays among n arguments broadcast. False: they do not. */
static bool broadcast_shape(const part_kind *kind, const wfpy_given *given, int n, wf_shape *shape)
{
    *shape = (wf_shape){ 0 };
    for (int d = 0; d < WF_MAX_RANK; ++d)
        shape->dim[d] = 1;
    for (int i = 0; i < n; ++i) {
        const int32_t rank = kind[i] == ARRAY ? shape_of(&given[i]).rank : 0;
        shape->rank = rank > shape->rank ? rank : shape->rank;
    }
    for (int i = 0; i < n; ++i) {
        const wf_shape own = kind[i] == ARRAY ? shape_of(&given[i]) : (wf_shape){ 0 };
        for (int d = 0; d < own.rank; ++d) {
            int64_t *extent = &shape->dim[shape->rank - own.rank + d];
            if (own.dim[d] != 1 && *extent != 1 && own.dim[d] != *extent)
                return false;
            *extent = own.dim[d] != 1 ? own.dim[d] : *extent;
        }
    }
    return true;
}

static wf_shape result_shape(const dispatcher *d, const wf_shape *shape)
{
    wf_shape made = { 0 };
    if (!d->reduces)
        return *shape;
    for (int axis = 0; axis < shape->rank; ++axis)
        if (!(d->axes & 1u << axis))
            made.dim[made.rank++] = shape->dim[axis];
        else if (d->keeps)
            made.dim[made.rank++] = 1;
    return made;
}

PyObject *wfpy_dispatch_natural(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    dispatcher *d = self_dispatcher(self);
    wfpy_given given[WFPY_MOST_ARGUMENTS], *list[WFPY_MOST_ARGUMENTS];
    PyObject *own[WFPY_MOST_ARGUMENTS];
    part_kind kind[WFPY_MOST_ARGUMENTS];
    wf_shape shape, made_shape;
    if (tracing || n < 1 || n + d->outs != d->n)
        return NULL;
    for (int i = 0; i < n; ++i) {
        given[i].object = args[i];
        kind[i] = kind_of(&given[i], &own[i]);
    }
    entry *e = find(d, kind, given, (int)n, true);
    if (!e || !broadcast_shape(kind, given, (int)n, &shape)) {
        end_arguments(given, own, (int)n);
        return NULL;
    }
    PyObject *kernel = Py_NewRef(e->kernel), *result = NULL; /* a warning may run code that forgets the entry */
    made_shape = result_shape(d, &shape);
    const wf_array *from[WFPY_MOST_ARGUMENTS];
    int at = 0, made = 0;
    for (int i = 0; i < n; ++i) {
        if (kind[i] != STATIC)
            list[at++] = &given[i];
        from[i] = kind[i] == ARRAY && wfpy_is_array(given[i].object) ? ((wfpy_array *)given[i].object)->array : NULL;
    }
    const wf_axes reduced = d->reduces ? d->axes | (d->keeps ? 0 : WF_DROP_AXES) : 0;
    for (; made < d->outs; ++made) {
        const part *p = &e->part[n + made];
        wfpy_given *out = &given[n + made];
        out->buffer.obj = NULL;
        out->foreign = false;
        out->object = wfpy_array_new(wfpy_empty_result(from, (size_t)n, reduced, p->dtype, &made_shape, p->device));
        if (!out->object)
            break;
        list[at++] = out;
    }
    if (made == d->outs) {
        wf_launch_opts opts = { .size = sizeof opts };
        if (d->reduces)
            opts.shape = shape;
        result = wfpy_kernel_launch(kernel, list, &opts, -1, 0);
    } else
        for (int i = 0; i < n; ++i)
            PyBuffer_Release(&given[i].buffer);
    for (int i = 0; i < n; ++i)
        Py_XDECREF(own[i]);
    Py_DECREF(kernel);
    if (result) {
        Py_DECREF(result);
        result = made == 1 ? Py_NewRef(given[n].object) : PyTuple_New(made);
        for (int i = 0; result && made > 1 && i < made; ++i)
            PyTuple_SetItem(result, i, Py_NewRef(given[n + i].object));
    }
    while (made)
        Py_DECREF(given[n + --made].object);
    return result;
}

int wfpy_dispatch_outs(PyObject *self) { return self_dispatcher(self)->outs; }

/* _is_natural(): the results of the last call have the dtypes that the function gives. */
static PyObject *is_natural(PyObject *self, PyObject *none)
{
    dispatcher *d = self_dispatcher(self);
    (void)none;
    if (d->n_entries)
        d->entry[d->last].natural = true;
    Py_RETURN_NONE;
}

static PyObject *dispatcher_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    return call(self, args, keywords, NULL);
}

/* ---- f[shape]: a call over another space ---- */

typedef struct spaced {
    PyObject_HEAD PyObject *dispatcher;
    wf_shape shape;
} spaced;
static PyTypeObject *spaced_type;

static PyObject *subscript(PyObject *self, PyObject *key)
{
    wf_shape shape;
    if (!wfpy_shape(key, false, &shape))
        return NULL;
    spaced *made = PyObject_New(spaced, spaced_type);
    if (made) {
        made->dispatcher = Py_NewRef(self);
        made->shape = shape;
    }
    return (PyObject *)made;
}
static PyObject *spaced_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    spaced *s = (spaced *)self;
    return call(s->dispatcher, args, keywords, &s->shape);
}
static void spaced_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((spaced *)self)->dispatcher);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* _set_tracing(on): while a thread traces, its calls go to _bind, which refuses them. Returns what it was. */
static PyObject *set_tracing(PyObject *self, PyObject *on)
{
    (void)self;
    bool was = tracing;
    tracing = on == Py_True;
    return PyBool_FromLong(was);
}

static PyMethodDef methods[] = {
    { "_setup", setup, METH_VARARGS, NULL },
    { "_add", add, METH_VARARGS, NULL },
    { "_clear", clear, METH_NOARGS, NULL },
    { "_is_natural", is_natural, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot slots[] = {
    { Py_tp_doc, "The base class of traced functions, which finds the kernel of a call's arguments." },
    { Py_tp_dealloc, dispatcher_dealloc },
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_call, dispatcher_call },
    { Py_mp_subscript, subscript },
    { Py_tp_methods, methods },
    { 0, NULL },
};
static PyType_Spec spec = { "weft.Dispatcher", sizeof(dispatcher), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots };
static PyType_Slot spaced_slots[] = {
    { Py_tp_doc, "A traced function with the shape of a space." },
    { Py_tp_dealloc, spaced_dealloc },
    { Py_tp_call, spaced_call },
    { 0, NULL },
};
static PyType_Spec spaced_spec = { "weft.Spaced", sizeof(spaced), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, spaced_slots };
/* _flags(): the flags of the context, as a number. */
static PyObject *flags_of_context(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return wfpy_context() ? PyLong_FromUnsignedLong(wf_get_flags(wfpy.context)) : NULL;
}

static PyMethodDef functions[] = {
    { "_set_tracing", set_tracing, METH_O, NULL },
    { "_flags", flags_of_context, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_dispatch(PyObject *module)
{
    if (!wfpy_add_type(module, &spec) || !(spaced_type = wfpy_add_type(module, &spaced_spec)))
        return -1;
    return PyModule_AddFunctions(module, functions);
}
