/* kernel.c - weft.Kernel: a prepared recording, called with arrays and numbers. What costs time is kept from call to call:
 * the array that stands for the memory of a buffer is used again when the next call gives the same memory. */
#include <stdlib.h>
#include <string.h>

#include "weft_python.h"

/* ---- arrays for the time of a call ---- */

bool wfpy_slot_holds(const wfpy_slot *s, const Py_buffer *b)
{
    if (!s->array || s->data != b->buf || s->shape.rank != b->ndim || (size_t)b->itemsize != wf_dtype_size(s->dtype))
        return false;
    for (int i = 0; i < b->ndim; ++i)
        if (s->shape.dim[i] != b->shape[i] || (s->shape.dim[i] > 1 && s->stride[i] != b->strides[i]))
            return false;
    return b->format && wfpy_dtype_of_format(b->format, b->itemsize) == s->dtype;
}

static wf_array *array_of_buffer(wfpy_slot *slot, Py_buffer *buffer)
{
    const bool queued = wfpy_in_stream();
    if (!queued && wfpy_slot_holds(slot, buffer))
        return slot->array;
    wf_dtype dtype;
    wf_shape shape;
    wf_place place = { .size = sizeof place, .device = WF_CPU };
    int64_t strides[WF_MAX_RANK];
    bool fits;
    if (!wfpy_describe(buffer, &dtype, &shape, strides, &fits))
        return NULL;
    if (!fits) {
        wfpy_raise_status(WF_ERR_ARG,
                          "the memory of an argument is not aligned to its elements; a copy of it can be passed");
        return NULL;
    }
    if (queued) {
        wf_array *held = wfpy_wrap_buffer(buffer, dtype, &shape, strides);
        wf_release(slot->array);
        *slot = (wfpy_slot){ .array = held, .held = true };
        return held;
    }
    place.strides = strides;
    wf_array *array = wf_wrap_with(wfpy.context, buffer->buf, dtype, shape, &place, NULL, NULL);
    if (!array) {
        wfpy_raise();
        return NULL;
    }
    wf_release(slot->array);
    *slot = (wfpy_slot){ .array = array, .data = buffer->buf, .shape = shape, .dtype = dtype };
    for (int i = 0; i < shape.rank; ++i)
        slot->stride[i] = buffer->strides[i];
    return array;
}

/* True, with an exception, if an argument that is written cannot be. */
static bool is_locked(const char *written, bool read_only)
{
    if (written && read_only)
        PyErr_Format(wfpy.error[WF_ERR_ARG], "argument '%s' is written, and its memory is read-only", written);
    return written && read_only;
}

wf_array *wfpy_slot_begin(wfpy_slot *slot, PyObject *object, const char *written, Py_buffer *buffer)
{
    buffer->obj = NULL;
    if (wfpy_is_array(object)) {
        wf_array *array = ((wfpy_array *)object)->array;
        if (!written)
            return array ? array : wfpy_array_of(object);
        return is_locked(written, array && wf_array_is_read_only(array)) ? NULL : wfpy_array_to_write(object);
    }
    if (!wfpy_has_buffer(object) && wfpy_has_dlpack(object)) {
        PyObject *own = wfpy_from_dlpack(object, Py_None);
        wf_array *array = own && !is_locked(written, wfpy_is_read_only(own)) ? wfpy_array_of(own) : NULL;
        wf_release(slot->array);
        *slot = (wfpy_slot){ .array = wf_retain(array), .held = true };
        Py_XDECREF(own);
        return slot->array;
    }
    if (PyObject_GetBuffer(object, buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) {
        buffer->obj = NULL;
        return NULL;
    }
    return is_locked(written, buffer->readonly) ? NULL : array_of_buffer(slot, buffer);
}

void wfpy_slot_free(wfpy_slot *slot)
{
    wf_release(slot->array);
    *slot = (wfpy_slot){ .array = NULL };
}

void wfpy_slot_end(wfpy_slot *slot, Py_buffer *buffer)
{
    if (slot->held)
        wfpy_slot_free(slot);
    PyBuffer_Release(buffer);
}

/* ---- kernels ---- */

enum { MOST_ARGUMENTS = WFPY_MOST_ARGUMENTS };
typedef struct argument {
    const char *name;
    bool written;
    wfpy_slot slot;
} argument;
typedef struct kernel_object {
    PyObject_HEAD wf_kernel *kernel;
    PyObject *names;   /* a tuple */
    PyObject *foreign; /* as that of wfpy_graph */
    int n;
    bool busy; /* a call is using the slots; another one makes its own */
    argument *argument;
} kernel_object;

static kernel_object *self_kernel(PyObject *self) { return (kernel_object *)self; }

PyObject *wfpy_kernel_new(wf_kernel *kernel, PyObject *names, PyObject *written, PyObject *foreign)
{
    if (!kernel)
        return wfpy_raise();
    Py_ssize_t n = PyTuple_Size(names);
    kernel_object *made = n <= MOST_ARGUMENTS ? PyObject_New(kernel_object, wfpy.kernel) : NULL;
    if (!made) {
        wf_kernel_free(kernel);
        return n <= MOST_ARGUMENTS ? NULL
                                   : PyErr_Format(PyExc_TypeError, "a kernel has at most %d arguments", MOST_ARGUMENTS);
    }
    made->kernel = kernel;
    made->names = Py_NewRef(names);
    made->foreign = Py_XNewRef(foreign);
    made->n = (int)n;
    made->busy = false;
    made->argument = PyMem_Calloc((size_t)n + 1, sizeof *made->argument);
    for (int i = 0; made->argument && i < n; ++i) {
        PyObject *name = PyTuple_GetItem(names, i);
        made->argument[i].name = wfpy_utf8(name);
        int writes = PySet_Contains(written, name);
        made->argument[i].written = writes > 0;
        if (!made->argument[i].name || writes < 0) {
            Py_DECREF(made);
            return NULL;
        }
    }
    if (!made->argument) {
        Py_DECREF(made);
        return PyErr_NoMemory();
    }
    return (PyObject *)made;
}

static void kernel_dealloc(PyObject *self)
{
    kernel_object *k = self_kernel(self);
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; k->argument && i < k->n; ++i)
        wfpy_slot_free(&k->argument[i].slot);
    PyMem_Free(k->argument);
    wf_kernel_free(k->kernel);
    Py_XDECREF(k->names);
    Py_XDECREF(k->foreign);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* The array of an argument, for the time of a call. NULL: an exception. */
static wf_array *array_argument(const argument *a, wfpy_slot *slot, wfpy_given *given)
{
    const char *written = a->written ? a->name : NULL;
    if (given->buffer.obj)
        return is_locked(written, given->buffer.readonly) ? NULL : array_of_buffer(slot, &given->buffer);
    if (!wfpy_is_array(given->object) && !wfpy_has_buffer(given->object) && !wfpy_has_dlpack(given->object)) {
        PyErr_Format(PyExc_TypeError, "argument '%s' is %R, which is no array and no number", a->name, given->object);
        return NULL;
    }
    return wfpy_slot_begin(slot, given->object, written, &given->buffer);
}

/* True if the arrays of these arguments, all of which are given, are as large as the space. */
static bool covers_space(const kernel_object *k, const wf_arg *list, uint64_t covers, const wf_shape *space)
{
    for (int i = 0; covers; ++i, covers >>= 1) {
        if (!(covers & 1))
            continue;
        const wf_shape shape = wf_array_shape(list[i].as.array);
        for (int axis = 0; axis < space->rank; ++axis)
            if (shape.rank != space->rank || shape.dim[axis] < space->dim[axis]) {
                char own[160], wanted[160];
                wf_shape_text(&shape, own, sizeof own);
                wf_shape_text(space, wanted, sizeof wanted);
                PyErr_Format(wfpy.error[WF_ERR_SHAPE],
                             "argument '%s' has shape %s, and its element at every point of %s is used",
                             k->argument[i].name, own, wanted);
                return false;
            }
    }
    return true;
}

PyObject *wfpy_kernel_launch(PyObject *kernel, wfpy_given *const *given, wf_launch_opts *opts, int space,
                             uint64_t covers)
{
    kernel_object *k = self_kernel(kernel);
    wf_arg list[MOST_ARGUMENTS];
    wfpy_slot own[MOST_ARGUMENTS];
    int n = 0;
    bool is_long = false, right = true;
    const bool shares = !k->busy; /* the slots are this call's */
    k->busy = true;
    if (!shares)
        memset(own, 0, sizeof *own * (size_t)k->n);
    for (int i = 0; right && i < k->n; ++i) {
        if (!given[i]->object)
            continue;
        wf_arg *arg = &list[n];
        *arg = (wf_arg){ .name = k->argument[i].name, .kind = WF_ARG_ARRAY };
        if (given[i]->buffer.obj || !wfpy_number_argument(given[i]->object, arg)) {
            arg->as.array = PyErr_Occurred()
                                ? NULL
                                : array_argument(&k->argument[i], shares ? &k->argument[i].slot : &own[i], given[i]);
            right = arg->as.array != NULL;
            if (right) {
                is_long = is_long || wfpy_is_long(arg->as.array);
                if (i == space)
                    opts->shape = wf_array_shape(arg->as.array);
            }
        }
        ++n;
    }
    right = right && (!covers || covers_space(k, list, covers, &opts->shape));
    wf_status status = WF_ERR_ARG;
    if (right) {
        wfpy_released r = wfpy_release_gil(is_long);
        status = wf_launch_with(k->kernel, (wf_args){ list, (size_t)n }, opts);
        wfpy_take_gil(r);
        if (status == WF_OK && wfpy_notes()) {
            for (int i = 0; right && i < k->n; ++i)
                if (given[i]->foreign && k->argument[i].written)
                    right = wfpy_check_stored(k->argument[i].name, (shares ? k->argument[i].slot : own[i]).array);
            right = right && wfpy_check_all_stored("a kernel", k->foreign);
        }
    }
    for (int i = 0; i < k->n; ++i)
        wfpy_slot_end(shares ? &k->argument[i].slot : &own[i], &given[i]->buffer);
    if (shares)
        k->busy = false;
    else
        for (int i = 0; i < k->n; ++i)
            wfpy_slot_free(&own[i]);
    if (!right)
        return NULL;
    if (status != WF_OK)
        return wfpy_raise();
    if (wfpy_warn() < 0)
        return NULL;
    Py_RETURN_NONE;
}

const wfpy_slot *wfpy_kernel_slot(PyObject *kernel, int i)
{
    static const wfpy_slot none = { 0 };
    kernel_object *k = self_kernel(kernel);
    return i < k->n ? &k->argument[i].slot : &none;
}

/* Launches with args[i], which may be NULL for parameters that keep their value. */
static PyObject *launch(kernel_object *k, PyObject *const *args, const wf_launch_opts *opts, uint64_t covers)
{
    wfpy_given given[MOST_ARGUMENTS], *list[MOST_ARGUMENTS];
    wf_launch_opts own = *opts;
    for (int i = 0; i < k->n; ++i) {
        given[i].object = args[i];
        given[i].foreign = args[i] && !wfpy_is_array(args[i]);
        given[i].buffer.obj = NULL;
        list[i] = &given[i];
    }
    return wfpy_kernel_launch((PyObject *)k, list, &own, -1, covers);
}

static const wf_launch_opts no_options = { .size = sizeof(wf_launch_opts) };

static int place_of(kernel_object *k, PyObject *name)
{
    for (int i = 0; i < k->n; ++i) {
        PyObject *own = PyTuple_GetItem(k->names, i);
        if (own == name || PyUnicode_Compare(own, name) == 0)
            return i;
    }
    return -1;
}

static PyObject *kernel_call(PyObject *self, PyObject *positional, PyObject *keywords)
{
    kernel_object *k = self_kernel(self);
    PyObject *args[MOST_ARGUMENTS] = { NULL };
    Py_ssize_t n = PyTuple_Size(positional), at = 0;
    if (n > k->n)
        return PyErr_Format(PyExc_TypeError, "the kernel has %d arguments, and %zd were given", k->n, n);
    for (Py_ssize_t i = 0; i < n; ++i)
        args[i] = PyTuple_GetItem(positional, i);
    PyObject *name, *value;
    while (keywords && PyDict_Next(keywords, &at, &name, &value)) {
        int i = place_of(k, name);
        if (i < 0 || args[i])
            return PyErr_Format(PyExc_TypeError, i < 0 ? "the kernel has no argument %R" : "argument %R is given twice",
                                name);
        args[i] = value;
    }
    return launch(k, args, &no_options, 0);
}

static PyObject *kernel_fast(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    kernel_object *k = self_kernel(self);
    PyObject *all[MOST_ARGUMENTS];
    if (n == k->n)
        return launch(k, args, &no_options, 0);
    if (n > k->n)
        return PyErr_Format(PyExc_TypeError, "the kernel has %d arguments, and %zd were given", k->n, n);
    for (int i = 0; i < k->n; ++i)
        all[i] = i < n ? args[i] : NULL;
    return launch(k, all, &no_options, 0);
}

/* launch(args, shape=None, threads=0): as a call, with other options. */
static PyObject *kernel_launch(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "args", "shape", "threads", "covers", NULL };
    unsigned long long covers = 0;
    kernel_object *k = self_kernel(self);
    PyObject *sequence, *shape = Py_None, *all[MOST_ARGUMENTS] = { NULL };
    wf_launch_opts opts = no_options;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|Oi$K:launch", names, &PyTuple_Type, &sequence, &shape,
                                     &opts.threads, &covers) ||
        (shape != Py_None && !wfpy_shape(shape, false, &opts.shape)))
        return NULL;
    Py_ssize_t n = PyTuple_Size(sequence);
    if (n > k->n)
        return PyErr_Format(PyExc_TypeError, "the kernel has %d arguments, and %zd were given", k->n, n);
    for (Py_ssize_t i = 0; i < n; ++i)
        all[i] = PyTuple_GetItem(sequence, i);
    return launch(k, all, &opts, n == k->n ? covers : 0);
}

static PyObject *dump(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *parameters[] = { "what", "args", NULL };
    static const char *const names[] = { "trace", "kernels", "llvm", "asm", "dot", "ptx", "passes", "plan" };
    kernel_object *k = self_kernel(self);
    const char *what = "trace";
    PyObject *given = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|sO!:dump", parameters, &what, &PyTuple_Type, &given))
        return NULL;
    int kind = -1;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); ++i)
        kind = strcmp(what, names[i]) == 0 ? i : kind;
    if (kind < 0)
        return PyErr_Format(PyExc_ValueError,
                            "there is no dump '%s': trace, kernels, llvm, asm, dot, ptx, passes, plan", what);
    wf_arg list[MOST_ARGUMENTS];
    PyObject *owner[MOST_ARGUMENTS];
    int n = 0, owned = 0;
    bool right = true;
    for (Py_ssize_t i = 0, count = given ? PyTuple_Size(given) : 0; right && i < count && i < k->n; ++i, ++n) {
        PyObject *object = PyTuple_GetItem(given, i);
        list[n] = (wf_arg){ .name = k->argument[i].name, .kind = WF_ARG_ARRAY };
        if (wfpy_number_argument(object, &list[n]))
            continue;
        owner[owned] = PyErr_Occurred() ? NULL : wfpy_as_array(object, WF_NONE);
        list[n].as.array = owner[owned] ? wfpy_array_of(owner[owned]) : NULL;
        right = list[n].as.array != NULL;
        owned += owner[owned] != NULL;
    }
    size_t length = 0;
    PyObject *text = NULL;
    const wf_args arguments = { list, (size_t)n };
    if (right && wf_kernel_dump(k->kernel, arguments, (wf_dump)kind, NULL, 0, &length) == WF_OK) {
        char *bytes = PyMem_Malloc(length + 1);
        if (bytes && wf_kernel_dump(k->kernel, arguments, (wf_dump)kind, bytes, length + 1, &length) == WF_OK)
            text = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)length, "replace");
        PyMem_Free(bytes);
    }
    while (owned)
        Py_DECREF(owner[--owned]);
    return text || PyErr_Occurred() ? text : wfpy_raise();
}

static PyObject *get_names(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(self_kernel(self)->names);
}
static PyMethodDef fast_function = { "kernel", WFPY_FUNCTION(kernel_fast), METH_FASTCALL, NULL };
static PyObject *get_fast(PyObject *self, void *closure)
{
    (void)closure;
    return PyCFunction_NewEx(&fast_function, self, NULL);
}
static PyGetSetDef properties[] = {
    { "names", get_names, NULL, "The names of the arguments, in order.", NULL },
    { "fast", get_fast, NULL, "The kernel as a function of arguments by position, which costs the least to call.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef methods[] = {
    { "launch", WFPY_FUNCTION(kernel_launch), METH_VARARGS | METH_KEYWORDS,
      "launch(args, shape=None, threads=0)\n--\n\nCalls with a tuple of arguments, over another index space or with fewer threads." },
    { "dump", WFPY_FUNCTION(dump), METH_VARARGS | METH_KEYWORDS,
      "dump(what='trace', args=())\n--\n\nA text about the kernel: trace, kernels, llvm, asm, dot, ptx, passes or plan." },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot slots[] = {
    { Py_tp_doc, "Kernel\n--\n\nA prepared recording. A call takes its arrays and parameters by position or name." },
    { Py_tp_dealloc, kernel_dealloc },
    { Py_tp_call, kernel_call },
    { Py_tp_methods, methods },
    { Py_tp_getset, properties },
    { 0, NULL },
};
static PyType_Spec spec = { "weft.Kernel", sizeof(kernel_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };

int wfpy_add_kernel(PyObject *module) { return (wfpy.kernel = wfpy_add_type(module, &spec)) ? 0 : -1; }
