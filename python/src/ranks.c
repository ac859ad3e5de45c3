/* ranks.c - weft.Ranks: groups of ranks, which are the processes of an MPI job, or this process alone.
 *
 * To free a group is collective, and the interpreter frees objects when it likes. So groups stay until the process ends,
 * after the interpreter and with it all arrays are gone. A group also keeps an array without elements: what its ranks have
 * agreed on in the library lasts as long as the group has an array, and must last equally long on all ranks. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weft_python.h"

typedef struct group {
    wf_ranks *ranks;
    wf_array *keeper;
    PyObject *object; /* weft.Ranks */
    pid_t process;
    struct group *next; /* the one that was made before */
} group;
typedef struct ranks_object {
    PyObject_HEAD group *group;
} ranks_object;

static group *groups;
static PyTypeObject *ranks_type;
static _Atomic bool several; /* a group has several ranks */

bool wfpy_has_ranks(void) { return atomic_load_explicit(&several, memory_order_relaxed); }

/* Called after the end of the interpreter. In the child of a fork the groups are those of the parent. The barrier fails, or
 * ends the job, where a rank has gone before; to free a group may wait for it without end. */
static void free_groups(void)
{
    for (group *g = groups, *next; g; g = next) {
        next = g->next;
        if (g->process == getpid()) {
            wf_release(g->keeper);
            wf_ranks_set_timeout(g->ranks, 0); /* others may compute for long */
            if (wf_ranks_barrier(g->ranks) == WF_OK)
                wf_ranks_free(g->ranks);
        }
        free(g);
    }
    groups = NULL;
}

/* ---- a group of this process alone, without MPI: nothing is sent ---- */

static wf_status refuse(wf_ranks_error *error)
{
    *error = (wf_ranks_error){ WF_ERR_UNSUPPORTED, -1, "a group of one rank sends no messages" };
    return error->status;
}
static wf_status start_none(void *user, wf_request *request, wf_ranks_error *error)
{
    (void)user, (void)request;
    return refuse(error);
}
static wf_status wait_none(void *user, wf_request *const *requests, size_t n, wf_ranks_how how, const char *doing,
                           size_t *index, wf_ranks_error *error)
{
    (void)user, (void)requests, (void)n, (void)how, (void)doing, (void)index;
    return refuse(error);
}
static void drop_none(void *user, wf_request *request) { (void)user, (void)request; }
static wf_status split_none(void *user, const wf_ranks_parts *parts, wf_ranks_group *out, wf_ranks_error *error)
{
    (void)user, (void)parts, (void)out;
    return refuse(error);
}
static wf_status counter_none(void *user, uint32_t number, void **counter, wf_ranks_error *error)
{
    (void)user, (void)number, (void)counter;
    return refuse(error);
}
static wf_status add_none(void *user, void *counter, int64_t more, int64_t *before, wf_ranks_error *error)
{
    (void)user, (void)counter, (void)more, (void)before;
    return refuse(error);
}
static void free_none(void *user, void *counter) { (void)user, (void)counter; }
static void end_process(void *user, int code, const char *text)
{
    (void)user;
    if (*text)
        fprintf(stderr, "%s\n", text);
    _Exit(code);
}
static void close_none(void *user) { (void)user; }

static const wf_ranks_ops alone = {
    .size = sizeof alone,
    .start = start_none,
    .wait = wait_none,
    .drop = drop_none,
    .split = split_none,
    .counter_new = counter_none,
    .counter_add = add_none,
    .counter_free = free_none,
    .abort = end_process,
    .close = close_none,
};

static wf_status open_alone(wf_ranks **out, wf_ranks_error *error)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    const wf_ranks_group one = { .size = sizeof one, .ranks = 1, .library = "one process", .host = host };
    return wf_ranks_new(&alone, &one, out, error);
}

/* ---- making groups ---- */

static PyObject *add_group(wf_ranks *ranks)
{
    wf_dist dist;
    group *g = malloc(sizeof *g);
    ranks_object *made = g ? PyObject_New(ranks_object, ranks_type) : NULL;
    if (!made) {
        free(g);
        wf_ranks_free(ranks);
        return PyErr_NoMemory();
    }
    wf_array *keeper = wf_dist_make(&(wf_shape){ .rank = 1 }, wf_ranks_size(ranks), NULL, &dist) == WF_OK
                           ? wf_empty_distributed(wfpy.context, WF_U8, ranks, &dist)
                           : NULL;
    *g = (group){ ranks, keeper, Py_NewRef((PyObject *)made), getpid(), groups };
    made->group = g;
    groups = g; /* also if it is of no use: the others have the group, too */
    if (wf_ranks_size(ranks) > 1)
        atomic_store(&several, true);
    if (keeper)
        return (PyObject *)made;
    Py_DECREF(made);
    return wfpy_raise();
}

/* _open_ranks(by_mpi, address): a new group, of the processes of MPI_COMM_WORLD, or of the communicator at an address. */
static PyObject *open_ranks(PyObject *self, PyObject *args)
{
    static bool freed_at_exit;
    PyObject *address;
    int by_mpi;
    wf_ranks_mpi_options options = { .size = sizeof options };
    wf_ranks *ranks = NULL;
    wf_ranks_error error = { .status = WF_OK };
    (void)self;
    if (!PyArg_ParseTuple(args, "pO", &by_mpi, &address) || !wfpy_context())
        return NULL;
    if (address != Py_None && !(options.communicator = PyLong_AsVoidPtr(address)))
        return PyErr_Occurred() ? NULL : wfpy_raise_status(WF_ERR_ARG, "weft.ranks: the communicator has no address");
    if (!freed_at_exit && Py_AtExit(free_groups) < 0)
        return wfpy_raise_status(WF_ERR_UNSUPPORTED, "weft.ranks: the interpreter has no room for another function "
                                                     "that it calls at its end");
    freed_at_exit = true;
    wfpy_released r = wfpy_release_gil(true);
    const wf_status status = by_mpi ? wf_ranks_open_mpi(&options, &ranks, &error) : open_alone(&ranks, &error);
    wfpy_take_gil(r);
    return status == WF_OK ? add_group(ranks) : wfpy_raise_status(status, error.text);
}

static PyObject *launched(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyLong_FromLong(wf_ranks_launched());
}

/* ---- groups as arguments ---- */

/* The group of an object; NULL: this process is the child of a fork. */
static wf_ranks *ranks_of(PyObject *self)
{
    const group *g = ((ranks_object *)self)->group;
    if (g->process == getpid())
        return g->ranks;
    PyErr_SetString(wfpy.error[WF_ERR_CONTRACT], "the group of ranks belongs to the process that was forked");
    return NULL;
}

bool wfpy_take_ranks(const char *function, PyObject *object, wf_ranks **ranks)
{
    if (!Py_IS_TYPE(object, ranks_type)) {
        PyErr_Format(PyExc_TypeError, "%s(): ranks is a group, such as weft.ranks(), not %R", function, object);
        return false;
    }
    return (*ranks = ranks_of(object)) != NULL;
}

PyObject *wfpy_ranks_object(const wf_ranks *ranks)
{
    for (const group *g = groups; g && ranks; g = g->next)
        if (g->ranks == ranks)
            return Py_NewRef(g->object);
    return Py_NewRef(Py_None);
}

/* ---- weft.Ranks ---- */

static void ranks_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}
static PyObject *get_rank(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(wf_ranks_rank(((ranks_object *)self)->group->ranks));
}
static PyObject *get_size(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(wf_ranks_size(((ranks_object *)self)->group->ranks));
}
static PyObject *get_library(PyObject *self, void *closure)
{
    (void)closure;
    const char *name = wf_ranks_library(((ranks_object *)self)->group->ranks);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}
static PyObject *get_timeout(PyObject *self, void *closure)
{
    (void)closure;
    return PyFloat_FromDouble(wf_ranks_get_timeout(((ranks_object *)self)->group->ranks));
}
static int set_timeout(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    wf_ranks *ranks = ((ranks_object *)self)->group->ranks;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "the timeout of a group cannot be deleted; 0 is none");
        return -1;
    }
    const double seconds = PyFloat_AsDouble(value);
    if (seconds == -1 && PyErr_Occurred())
        return -1;
    if (wf_ranks_set_timeout(ranks, seconds) == WF_OK)
        return 0;
    PyErr_Format(wfpy.error[WF_ERR_ARG], "Ranks.timeout: %R is no number of seconds", value);
    return -1;
}
static PyObject *host(PyObject *self, PyObject *number)
{
    const wf_ranks *ranks = ((ranks_object *)self)->group->ranks;
    const Py_ssize_t rank = PyNumber_AsSsize_t(number, PyExc_OverflowError);
    if (rank == -1 && PyErr_Occurred())
        return NULL;
    if (rank < 0 || rank >= wf_ranks_size(ranks))
        return PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "Ranks.host: there is no rank %zd among %d", rank,
                            wf_ranks_size(ranks));
    const char *name = wf_ranks_host(ranks, (int)rank);
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}
static PyObject *barrier(PyObject *self, PyObject *none)
{
    (void)none;
    wf_ranks *ranks = ranks_of(self);
    if (!ranks)
        return NULL;
    wfpy_released r = wfpy_release_gil(true);
    const wf_status status = wf_ranks_barrier(ranks);
    wfpy_take_gil(r);
    if (status != WF_OK)
        return wfpy_raise_status(status, wf_ranks_message(ranks));
    return PyErr_CheckSignals() < 0 ? NULL : Py_NewRef(Py_None);
}
static PyObject *end_all(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "code", "text", NULL };
    int code = EXIT_FAILURE;
    const char *text = "";
    wf_ranks *ranks =
        PyArg_ParseTupleAndKeywords(args, keywords, "|is:abort", names, &code, &text) ? ranks_of(self) : NULL;
    if (!ranks)
        return NULL;
    if (wf_ranks_size(ranks) > 1 && *text)
        fprintf(stderr, "%s\n", text); /* MPI prints none */
    fflush(stderr);
    wf_ranks_abort(ranks, code, text);
    Py_RETURN_NONE;
}
static PyObject *ranks_repr(PyObject *self)
{
    const wf_ranks *ranks = ((ranks_object *)self)->group->ranks;
    return PyUnicode_FromFormat("<weft.Ranks: rank %d of %d, %s>", wf_ranks_rank(ranks), wf_ranks_size(ranks),
                                wf_ranks_library(ranks));
}

static PyGetSetDef properties[] = {
    { "rank", get_rank, NULL, "The number of this process in the group, from 0.", NULL },
    { "size", get_size, NULL, "The number of ranks.", NULL },
    { "library", get_library, NULL, "Name and version of what connects the ranks.", NULL },
    { "timeout", get_timeout, set_timeout,
      "How many seconds a call may wait without any of its messages being done, before it raises; 0: without end.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef methods[] = {
    { "host", host, METH_O, "host(rank, /)\n--\n\nThe name of the machine of a rank." },
    { "barrier", barrier, METH_NOARGS, "barrier()\n--\n\nWaits until all ranks have come here." },
    { "abort", WFPY_FUNCTION(end_all), METH_VARARGS | METH_KEYWORDS,
      "abort(code=1, text='')\n--\n\nPrints a text and ends the processes of all ranks, with this exit code." },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot slots[] = {
    { Py_tp_doc,
      "A group of ranks, processes that run the same program and share distributed arrays; see weft.ranks." },
    { Py_tp_dealloc, ranks_dealloc },
    { Py_tp_repr, ranks_repr },
    { Py_tp_getset, properties },
    { Py_tp_methods, methods },
    { 0, NULL },
};
static PyType_Spec spec = { "weft.Ranks", sizeof(ranks_object), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };
static PyMethodDef functions[] = {
    { "_open_ranks", open_ranks, METH_VARARGS, NULL },
    { "_launched", launched, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_ranks(PyObject *module)
{
    ranks_type = wfpy_add_type(module, &spec);
    return ranks_type ? PyModule_AddFunctions(module, functions) : -1;
}
