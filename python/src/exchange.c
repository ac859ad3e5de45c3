/* exchange.c - memory that belongs to others, and the buffer protocol in both directions. Nothing is copied unless the
 * library cannot take the memory as it is. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "weft_python.h"

/* ---- memory of others, which they get back when its last use has ended ---- */

static _Atomic(wfpy_held *) unused; /* last used on threads without the GIL; the next one that has it gives them back */

void wfpy_give_back(void)
{
    PyObject *type, *value, *traceback;
    wfpy_held *h = atomic_exchange(&unused, NULL), *next;
    if (!h)
        return;
    PyErr_Fetch(&type, &value, &traceback); /* code of Python may run */
    for (; h; h = next) {
        next = h->next;
        h->give_back(h);
    }
    PyErr_Restore(type, value, traceback);
}
static int give_back(void *none)
{
    (void)none;
    wfpy_give_back();
    return 0;
}

void wfpy_let_go(void *user)
{
    wfpy_held *h = user;
    if (!Py_IsInitialized())
        return;
    h->next = atomic_load(&unused);
    while (!atomic_compare_exchange_weak(&unused, &h->next, h)) {
    }
    if (wfpy_has_gil())
        wfpy_give_back();
    else
        Py_AddPendingCall(give_back, NULL);
}

typedef struct held_buffer {
    wfpy_held held; /* comes first */
    Py_buffer buffer;
} held_buffer;

static void release_buffer(wfpy_held *held)
{
    held_buffer *h = (held_buffer *)held;
    PyBuffer_Release(&h->buffer);
    free(h);
}

/* ---- from buffers ---- */

bool wfpy_describe(const Py_buffer *buffer, wf_dtype *dtype, wf_shape *shape, int64_t *strides, bool *fits)
{
    *dtype = wfpy_dtype_of_format(buffer->format, buffer->itemsize);
    if (*dtype == WF_NONE) {
        const char *format = buffer->format ? buffer->format : "B";
        const bool swapped =
            (*format == '>' || *format == '!') && wfpy_dtype_of_format(format + 1, buffer->itemsize) != WF_NONE;
        PyErr_Format(wfpy.error[WF_ERR_DTYPE], "elements of format '%s' and %zd bytes have no dtype in weft%s", format,
                     buffer->itemsize,
                     swapped
                         ? ": they are in the byte order of other machines, and x.astype(x.dtype.newbyteorder('=')) of "
                           "NumPy gives them in this one's"
                         : "");
        return false;
    }
    if (buffer->ndim > WF_MAX_RANK) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "an array has at most %d axes, not %d", WF_MAX_RANK, buffer->ndim);
        return false;
    }
    *shape = (wf_shape){ .rank = buffer->ndim };
    int64_t size = buffer->itemsize, packed = 1;
    *fits = (uintptr_t)buffer->buf % (uintptr_t)size == 0;
    for (int i = buffer->ndim - 1; i >= 0; --i) {
        shape->dim[i] = buffer->shape ? buffer->shape[i] : buffer->len / size;
        int64_t step = buffer->strides ? buffer->strides[i] : packed * size;
        if (step % size != 0)
            *fits = *fits && shape->dim[i] <= 1;
        strides[i] = shape->dim[i] > 1 ? step / size : packed;
        packed *= shape->dim[i];
    }
    return true;
}

wf_array *wfpy_wrap_buffer(Py_buffer *buffer, wf_dtype dtype, const wf_shape *shape, const int64_t *strides)
{
    const wf_place place = {
        .size = sizeof place, .device = WF_CPU, .strides = strides, .read_only = buffer->readonly
    };
    held_buffer *h = malloc(sizeof *h);
    if (h)
        *h = (held_buffer){ { .give_back = release_buffer }, *buffer };
    else
        PyBuffer_Release(buffer);
    buffer->obj = NULL;
    wf_array *made = h ? wf_wrap_with(wfpy.context, h->buffer.buf, dtype, *shape, &place, wfpy_let_go, h) : NULL;
    if (!h)
        PyErr_NoMemory();
    else if (!made)
        wfpy_raise();
    return made;
}

/* Returns the elements of an array of ml_dtypes.bfloat16, which has no buffers, as one of uint16. NULL, with the
 * exception that was there: the object is no such array. */
static PyObject *bits_of_bf16(PyObject *object)
{
    PyObject *type, *value, *trace, *bits = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *dtype = PyObject_GetAttrString(object, "dtype"),
             *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    if (name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0)
        bits = PyObject_CallMethod(object, "view", "s", "uint16");
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    if (!bits) {
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return bits;
}

PyObject *wfpy_from_buffer(PyObject *object)
{
    Py_buffer buffer;
    if (!wfpy_context())
        return NULL;
    bool is_bf16 = false;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) {
        PyObject *bits = bits_of_bf16(object);
        is_bf16 = bits && PyObject_GetBuffer(bits, &buffer, PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0;
        Py_XDECREF(bits);
        if (!is_bf16)
            return NULL;
    }
    wf_dtype dtype;
    wf_place place = { .size = sizeof place, .device = WF_CPU };
    wf_shape shape;
    int64_t strides[WF_MAX_RANK];
    bool fits, described = wfpy_describe(&buffer, &dtype, &shape, strides, &fits);
    if (is_bf16 && described && dtype == WF_U16)
        dtype = WF_BF16;
    if (described && fits) {
        wf_array *array = wfpy_wrap_buffer(&buffer, dtype, &shape, strides);
        return array ? wfpy_array_new(array) : NULL;
    }
    wf_array *made = described ? wf_empty_with(wfpy.context, dtype, shape, &place) : NULL;
    void *data;
    if (described && (!made || wf_map(made, &data, NULL) != WF_OK))
        wfpy_raise();
    else if (described && PyBuffer_ToContiguous(data, &buffer, buffer.len, 'C') == 0) {
        PyBuffer_Release(&buffer);
        return wfpy_array_new(made);
    }
    wf_release(made);
    PyBuffer_Release(&buffer);
    return NULL;
}

/* ---- as buffers ---- */

static _Thread_local bool detached; /* the buffer that is asked for is for the program itself */

PyObject *wfpy_memoryview(PyObject *self, PyObject *none)
{
    (void)none;
    detached = true;
    PyObject *made = PyMemoryView_FromObject(self);
    detached = false;
    return made;
}

/* What a view of an array points to. The array's memory stays while there are views, also if it is the block of a
 * distributed array, which ends. */
typedef struct lent {
    wf_array *array;
    Py_ssize_t shape[WF_MAX_RANK], strides[WF_MAX_RANK];
} lent;

int wfpy_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    wf_array *array = wfpy_array_of(self);
    if (!array || (!detached && !wfpy_check_lent(array)))
        return -1;
    wf_dtype dtype = wf_array_dtype(array);
    wf_shape shape = wf_array_shape(array);
    const char *format = wfpy_format_of_dtype(dtype);
    int64_t strides[WF_MAX_RANK];
    void *data;
    const bool read_only = wf_array_is_read_only(array);
    if (!format) {
        const bool complex = wf_dtype_kind(dtype) == WF_KIND_COMPLEX;
        PyErr_Format(PyExc_BufferError, "buffers have no format for %s; x.astype(%s) has one%s", wf_dtype_name(dtype),
                     complex ? "weft.c64" : "weft.f32", complex ? "" : ", and __dlpack__ carries it");
        return -1;
    }
    wfpy_released r = wfpy_release_gil(false);
    wf_status status = wf_map(array, &data, strides);
    wfpy_take_gil(r);
    if (status != WF_OK) {
        PyObject *message = wfpy_message(wf_last_message(wfpy.context));
        if (message)
            PyErr_SetObject(PyExc_BufferError, message);
        Py_XDECREF(message);
        wf_clear_error(wfpy.context);
        return -1;
    }
    if (read_only && (flags & PyBUF_WRITABLE)) {
        PyErr_SetString(PyExc_BufferError, "the array is read-only");
        return -1;
    }
    const bool c_order = wf_array_is_packed(array);
    bool f_order = true;
    int64_t packed = 1;
    for (int i = 0; i < shape.rank; ++i) {
        f_order = f_order && (shape.dim[i] == 1 || strides[i] == packed);
        packed *= shape.dim[i];
    }
    const bool wants_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || (flags & PyBUF_STRIDES) != PyBUF_STRIDES,
               wants_f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS,
               wants_any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    if ((wants_c && !c_order) || (wants_f && !f_order) || (wants_any && !c_order && !f_order)) {
        PyErr_SetString(PyExc_BufferError, "the elements do not lie side by side in the order that is asked for");
        return -1;
    }
    lent *l = PyMem_Malloc(sizeof *l);
    if (!l) {
        PyErr_NoMemory();
        return -1;
    }
    const Py_ssize_t size = (Py_ssize_t)wf_dtype_size(dtype);
    l->array = wf_retain(array);
    for (int i = 0; i < shape.rank; ++i) {
        l->shape[i] = (Py_ssize_t)shape.dim[i];
        l->strides[i] = (Py_ssize_t)strides[i] * size;
    }
    *view = (Py_buffer){ .buf = data,
                         .obj = Py_NewRef(self),
                         .len = (Py_ssize_t)wf_array_count(array) * size,
                         .itemsize = size,
                         .readonly = read_only,
                         .ndim = shape.rank,
                         .format = flags & PyBUF_FORMAT ? (char *)format : NULL,
                         .shape = flags & PyBUF_ND ? l->shape : NULL,
                         .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? l->strides : NULL,
                         .internal = l };
    return 0;
}

void wfpy_release_buffer(PyObject *self, Py_buffer *view)
{
    (void)self;
    wf_release(((lent *)view->internal)->array);
    PyMem_Free(view->internal);
}
