/* stream.c - weft.Stream and weft.Event: queues of launches. `with stream:` makes a stream the thread's current one, into
 * which the library puts what the thread launches.
 *
 * Queued work holds its arrays. The memory of a buffer that is given to a launch would not be held, so the array over it
 * gets an owner then (wfpy_slot_begin), which gives the buffer back when the work is done (wfpy_let_go). */
#include <stdatomic.h>

#include "weft_python.h"

typedef struct stream_object {
    PyObject_HEAD wf_stream *stream;
    wf_device device;
    int forks; /* at the time when it was made */
} stream_object;
typedef struct event_object {
    PyObject_HEAD wf_event *event;
} event_object;
/* A block `with stream:` of a thread, inside of `outer`. */
typedef struct block {
    struct block *outer;
    stream_object *stream;
} block;
static _Thread_local block *innermost;

static PyTypeObject *event_type;
static _Atomic int streams, forks;

bool wfpy_has_streams(void) { return atomic_load_explicit(&streams, memory_order_relaxed) > 0; }
bool wfpy_in_stream(void) { return innermost && innermost->stream->forks == atomic_load(&forks); }

/* The stream of an object. NULL: a mistake. */
static wf_stream *stream_of(PyObject *object)
{
    stream_object *s = (stream_object *)object;
    if (s->forks == atomic_load(&forks))
        return s->stream;
    PyErr_SetString(wfpy.error[WF_ERR_CONTRACT], "the stream belongs to the process of which this one is a fork");
    return NULL;
}

/* None, or the exception of a status. Memory that the work has used is given back. */
static PyObject *waited(wf_status status)
{
    PyObject *done = wfpy_done(status);
    wfpy_give_back();
    return done;
}

/* ---- streams ---- */

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "device", "cuda_stream", NULL };
    PyObject *device_object = Py_None, *cuda = Py_None;
    wf_device device;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$O:Stream", names, &device_object, &cuda) ||
        !wfpy_device(device_object, &device))
        return NULL;
    device = device ? device : WF_CPU;
    void *address = cuda == Py_None ? NULL : PyLong_AsVoidPtr(cuda);
    if (PyErr_Occurred() || !wfpy_context())
        return NULL;
    wf_stream *stream =
        cuda == Py_None ? wf_stream_new(wfpy.context, device) : wf_stream_wrap(wfpy.context, device, address);
    if (!stream)
        return wfpy_raise();
    stream_object *made = (stream_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!made) {
        wf_stream_free(stream);
        return NULL;
    }
    made->stream = stream;
    made->device = device;
    made->forks = atomic_load(&forks);
    atomic_fetch_add(&streams, 1);
    return (PyObject *)made;
}

static void stream_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    wfpy_released r = wfpy_release_gil(true); /* it waits */
    wf_stream_free(((stream_object *)self)->stream);
    wfpy_take_gil(r);
    atomic_fetch_sub(&streams, 1);
    wfpy_give_back();
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* Sets the thread's current stream of a device to that of its innermost block. */
static wf_status choose(wf_device device)
{
    const block *b = innermost;
    while (b && (b->stream->device != device || b->stream->forks != atomic_load(&forks)))
        b = b->outer;
    return wf_set_stream(wfpy.context, device, b ? b->stream->stream : NULL);
}

static PyObject *enter(PyObject *self, PyObject *none)
{
    (void)none;
    block *b = stream_of(self) ? PyMem_Malloc(sizeof *b) : NULL;
    if (!b)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    *b = (block){ innermost, (stream_object *)Py_NewRef(self) };
    innermost = b;
    if (choose(b->stream->device) == WF_OK)
        return Py_NewRef(self);
    innermost = b->outer;
    Py_DECREF(self);
    PyMem_Free(b);
    return wfpy_raise();
}

static PyObject *leave(PyObject *self, PyObject *args)
{
    (void)args;
    block **at = &innermost;
    while (*at && (PyObject *)(*at)->stream != self)
        at = &(*at)->outer;
    block *b = *at;
    if (!b)
        return wfpy_raise_status(WF_ERR_CONTRACT, "the thread has not begun a block `with` this stream");
    *at = b->outer;
    PyMem_Free(b);
    wf_status status = choose(((stream_object *)self)->device);
    Py_DECREF(self); /* the caller has another reference */
    return wfpy_done(status);
}

static PyObject *sync_stream(PyObject *self, PyObject *none)
{
    (void)none;
    wf_stream *stream = stream_of(self);
    if (!stream)
        return NULL;
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_stream_sync(stream);
    wfpy_take_gil(r);
    return waited(status);
}

static PyObject *record(PyObject *self, PyObject *none)
{
    (void)none;
    wf_stream *stream = stream_of(self);
    event_object *made = stream ? PyObject_New(event_object, event_type) : NULL;
    if (!made)
        return NULL;
    made->event = wf_event_record(stream);
    if (made->event)
        return (PyObject *)made;
    Py_DECREF(made);
    return wfpy_raise();
}

static PyObject *await(PyObject *self, PyObject *event)
{
    wf_stream *stream = stream_of(self);
    if (!stream)
        return NULL;
    if (!Py_IS_TYPE(event, event_type))
        return PyErr_Format(PyExc_TypeError, "a stream waits for an event of Stream.record(), not for %R", event);
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_stream_wait(stream, ((event_object *)event)->event);
    wfpy_take_gil(r);
    return wfpy_done(status);
}

static PyObject *get_device(PyObject *self, void *closure)
{
    (void)closure;
    return wfpy_device_object(((stream_object *)self)->device);
}

static PyMethodDef stream_methods[] = {
    { "__enter__", enter, METH_NOARGS, "Makes the stream the thread's current one until the block ends." },
    { "__exit__", leave, METH_VARARGS, "Makes the stream of the enclosing block the current one again." },
    { "sync", sync_stream, METH_NOARGS,
      "sync()\n--\n\nWaits for the work that has been queued, and raises the exception of work that failed." },
    { "record", record, METH_NOARGS,
      "record()\n--\n\nAn event, which the stream reaches when the work that has been queued is done." },
    { "wait", await, METH_O, "wait(event, /)\n--\n\nLets work that is queued later wait for an event of any stream." },
    { NULL, NULL, 0, NULL },
};
static PyGetSetDef stream_properties[] = {
    { "device", get_device, NULL, "The device: 'cpu', 'cuda:0'.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyType_Slot stream_slots[] = {
    { Py_tp_doc,
      "Stream(device=None, *, cuda_stream=None)\n--\n\n"
      "A queue of launches, which are done one after the other while the program goes on.\n\n"
      "Within `with stream:` what the thread launches on the device is queued. `sync` waits, and raises the exceptions of\n"
      "the work. The end of the block does not wait. Reading the contents of an array waits for the work on the array. The\n"
      "memory of other libraries must not be read, changed or moved before `sync` if the work writes there, and not\n"
      "changed if the work reads there. `cuda_stream` is the address of a CUDA stream of the program, which must live as\n"
      "long as this object." },
    { Py_tp_new, stream_new },
    { Py_tp_dealloc, stream_dealloc },
    { Py_tp_methods, stream_methods },
    { Py_tp_getset, stream_properties },
    { 0, NULL },
};
static PyType_Spec stream_spec = { "weft.Stream", sizeof(stream_object), 0, Py_TPFLAGS_DEFAULT, stream_slots };

/* ---- events ---- */

static void event_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    wf_event_free(((event_object *)self)->event);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *sync_event(PyObject *self, PyObject *none)
{
    (void)none;
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_event_sync(((event_object *)self)->event);
    wfpy_take_gil(r);
    return waited(status);
}

static PyObject *elapsed(PyObject *self, PyObject *later)
{
    double seconds = 0;
    if (!Py_IS_TYPE(later, event_type))
        return PyErr_Format(PyExc_TypeError, "%R is no event of Stream.record()", later);
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_event_elapsed(((event_object *)self)->event, ((event_object *)later)->event, &seconds);
    wfpy_take_gil(r);
    return status == WF_OK ? PyFloat_FromDouble(seconds) : wfpy_raise();
}

static PyMethodDef event_methods[] = {
    { "sync", sync_event, METH_NOARGS,
      "sync()\n--\n\nWaits until the event is reached, also if work before it failed." },
    { "elapsed", elapsed, METH_O,
      "elapsed(later, /)\n--\n\nThe seconds from this event to a later one; waits until both are reached." },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot event_slots[] = {
    { Py_tp_doc, "A point in the work of a stream, made by Stream.record()." },
    { Py_tp_dealloc, event_dealloc },
    { Py_tp_methods, event_methods },
    { 0, NULL },
};
static PyType_Spec event_spec = { "weft.Event", sizeof(event_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, event_slots };

/* ---- the module ---- */

static PyObject *sync_all(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    if (!wfpy.context)
        Py_RETURN_NONE;
    wfpy_released r = wfpy_release_gil(true);
    wf_status status = wf_sync(wfpy.context);
    wfpy_take_gil(r);
    return waited(status);
}

static PyObject *current_stream(PyObject *self, PyObject *args)
{
    PyObject *name = Py_None;
    wf_device device;
    (void)self;
    if (!PyArg_ParseTuple(args, "|O:current_stream", &name) || !wfpy_device(name, &device) || !wfpy_context())
        return NULL;
    wf_stream *current = wf_get_stream(wfpy.context, device);
    for (const block *b = innermost; current && b; b = b->outer)
        if (b->stream->stream == current && b->stream->forks == atomic_load(&forks))
            return Py_NewRef((PyObject *)b->stream);
    Py_RETURN_NONE;
}

/* Called in the child of a fork, in which the streams' threads do not exist. */
static PyObject *after_fork(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    atomic_fetch_add(&forks, 1);
    for (const block *b = innermost; b; b = b->outer)
        if (wf_set_stream(wfpy.context, b->stream->device, NULL) != WF_OK)
            return wfpy_raise();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    { "sync", sync_all, METH_NOARGS,
      "sync()\n--\n\nWaits for the work of all streams and GPUs, and raises the exception of the first that failed." },
    { "current_stream", current_stream, METH_VARARGS,
      "current_stream(device=None, /)\n--\n\nThe stream of a device into which the thread's launches go, or None." },
    { "_after_fork", after_fork, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_stream(PyObject *module)
{
    if (!wfpy_add_type(module, &stream_spec) || !(event_type = wfpy_add_type(module, &event_spec)))
        return -1;
    return PyModule_AddFunctions(module, functions);
}
