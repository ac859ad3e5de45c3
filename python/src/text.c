/* text.c - operator text. The first call with arguments of some layout records and runs the text; the second one prepares
 * it; later ones find the kernel by the text's identity and the arguments' layouts, and launch it. Numbers are constants of
 * the kernel, because a number takes the dtype of the operand beside it; with other numbers the text is recorded again. */
#include <stdlib.h>
#include <string.h>

#include "weft_python.h"

enum { MOST_ARGUMENTS = 32, MOST_RESULTS = 16, ENTRIES = 64 };

/* What a prepared kernel depends on, of one argument. */
typedef struct layout {
    int32_t kind; /* wf_arg_kind */
    wf_dtype dtype;
    wf_device device;
    wf_shape shape;
    bool distributed;
    wf_arg number; /* of an argument that is no array: it is a constant of the kernel */
} layout;
typedef enum state { SEEN_ONCE, PREPARED, NOT_PREPARABLE } state;
typedef struct entry {
    PyObject *text, *names, *out; /* names: a tuple; out: a tuple of the names of results that are wanted, or NULL */
    int n, results;
    const char *name[MOST_ARGUMENTS]; /* of `names` */
    layout layout[MOST_ARGUMENTS];
    state state;
    int users; /* calls that use the entry now: the first one has the slots, and none of them may find it freed */
    wf_kernel *kernel;
    wf_device device;
    uint32_t flags;
    struct {
        char name[64];
        wf_dtype dtype;
        wf_shape shape;
        bool distributed;
    } result[MOST_RESULTS];
    wfpy_slot slot[MOST_ARGUMENTS];
} entry;
static entry *entries[ENTRIES]; /* the one used last comes first */

static void free_entry(entry *e)
{
    if (!e)
        return;
    Py_XDECREF(e->text);
    Py_XDECREF(e->names);
    Py_XDECREF(e->out);
    wf_kernel_free(e->kernel);
    for (int i = 0; i < e->n; ++i)
        wfpy_slot_free(&e->slot[i]);
    PyMem_Free(e);
}

/* ---- arguments ---- */

typedef struct arguments {
    int n, held;
    wf_arg arg[MOST_ARGUMENTS];
    Py_buffer buffer[MOST_ARGUMENTS];
    PyObject *owner[MOST_ARGUMENTS]; /* converted arguments */
    bool is_long;
} arguments;

static void end_arguments(arguments *a)
{
    for (int i = 0; i < a->held; ++i)
        PyBuffer_Release(&a->buffer[i]);
    for (int i = 0; i < a->n; ++i)
        Py_XDECREF(a->owner[i]);
}

/* Converts arguments as arrays and numbers, without an entry. */
static bool convert(arguments *a, PyObject *names, PyObject *const *values, int n)
{
    a->n = a->held = 0;
    a->is_long = false;
    for (int i = 0; i < n; ++i) {
        wf_arg *arg = &a->arg[i];
        a->owner[i] = NULL;
        a->n = i + 1;
        *arg = (wf_arg){ .name = wfpy_utf8(PyTuple_GetItem(names, i)), .kind = WF_ARG_ARRAY };
        if (!arg->name)
            return false;
        if (wfpy_number_argument(values[i], arg))
            continue;
        if (PyErr_Occurred() || !(a->owner[i] = wfpy_as_array(values[i], WF_NONE)) ||
            !(arg->as.array = wfpy_array_of(a->owner[i])))
            return false;
        a->is_long = a->is_long || wfpy_is_long(arg->as.array);
    }
    return true;
}

static void describe(const wf_arg *arg, layout *l)
{
    *l = (layout){ .kind = arg->kind, .number = *arg };
    if (arg->kind == WF_ARG_ARRAY) {
        l->dtype = wf_array_dtype(arg->as.array);
        l->device = wf_array_device(arg->as.array);
        l->shape = wf_array_shape(arg->as.array);
        l->distributed = wf_array_dist(arg->as.array) != NULL;
    }
}

/* ---- finding an entry ---- */

static bool same_names(PyObject *a, PyObject *b) { return a == b || PyObject_RichCompareBool(a, b, Py_EQ) == 1; }

/* True if an argument has the layout that the entry was made for. A buffer stays held in `a`. *equal becomes false if it is
 * another number. */
static bool fits(entry *e, int i, PyObject *value, arguments *a, bool *equal)
{
    const layout *l = &e->layout[i];
    wf_arg *arg = &a->arg[i];
    *arg = (wf_arg){ .name = e->name[i], .kind = WF_ARG_ARRAY };
    if (wfpy_number_argument(value, arg)) {
        *equal = *equal && memcmp(&arg->as, &l->number.as, sizeof(double)) == 0;
        return l->kind == arg->kind;
    }
    if (PyErr_Occurred() || l->kind != WF_ARG_ARRAY)
        return false;
    if (wfpy_is_array(value)) {
        arg->as.array = wfpy_array_of(value);
        if (!arg->as.array)
            return false;
    } else {
        const bool by_buffer = wfpy_has_buffer(value);
        if (!by_buffer && !wfpy_has_dlpack(value))
            return false;
        a->buffer[a->held].obj = NULL;
        if (!by_buffer || e->users > 1 || wfpy_in_stream()) {
            a->owner[i] = by_buffer ? wfpy_from_buffer(value) : wfpy_from_dlpack(value, Py_None);
            arg->as.array = a->owner[i] ? wfpy_array_of(a->owner[i]) : NULL;
        } else {
            arg->as.array = wfpy_slot_begin(&e->slot[i], value, NULL, &a->buffer[a->held]);
            a->held += a->buffer[a->held].obj != NULL;
        }
        if (!arg->as.array)
            return false;
    }
    a->is_long = a->is_long || wfpy_is_long(arg->as.array);
    if (wf_array_dtype(arg->as.array) != l->dtype || wf_array_device(arg->as.array) != l->device ||
        (wf_array_dist(arg->as.array) != NULL) != l->distributed)
        return false;
    wf_shape shape = wf_array_shape(arg->as.array);
    return shape.rank == l->shape.rank && memcmp(shape.dim, l->shape.dim, sizeof *shape.dim * (size_t)shape.rank) == 0;
}

static int place_of(const entry *e)
{
    int at = 0;
    while (at < ENTRIES && entries[at] != e)
        ++at;
    return at;
}
static void move_to_front(entry *e)
{
    memmove(entries + 1, entries, sizeof *entries * (size_t)place_of(e));
    entries[0] = e;
}

/* The entry for a text and its arguments, moved to the front; `a` then holds the arguments. NULL: there is none; *near
 * becomes one that differs in numbers alone and was used once, if there is one. The caller ends the use of the entry. */
static entry *find(PyObject *text, PyObject *names, PyObject *out, PyObject *const *values, int n, wf_device device,
                   arguments *a, entry **near)
{
    *near = NULL;
    for (int at = 0; at < ENTRIES && entries[at]; ++at) {
        entry *e = entries[at];
        if ((e->text != text && PyUnicode_Compare(e->text, text) != 0) || e->n != n || e->device != device ||
            !same_names(e->names, names) || (e->out != out && !(e->out && out && same_names(e->out, out))) ||
            e->flags != wf_get_flags(wfpy.context))
            continue;
        a->n = n;
        a->held = 0;
        a->is_long = false;
        memset(a->owner, 0, sizeof *a->owner * (size_t)n);
        bool right = true, equal = true;
        ++e->users;
        for (int i = 0; right && i < n; ++i)
            right = fits(e, i, values[i], a, &equal);
        if (right && !equal && e->state == SEEN_ONCE)
            *near = e;
        if (right && equal) {
            move_to_front(e);
            return e;
        }
        --e->users;
        end_arguments(a);
        if (PyErr_Occurred())
            PyErr_Clear(); /* the slow way finds the mistake again */
    }
    return NULL;
}

/* Puts an entry first, in place of the one that was used longest ago. */
static void add_entry(entry *e)
{
    int last = ENTRIES - 1;
    while (last >= 0 && entries[last] && entries[last]->users)
        --last;
    if (last < 0) {
        free_entry(e);
        return;
    }
    free_entry(entries[last]);
    memmove(entries + 1, entries, sizeof *entries * (size_t)last);
    entries[0] = e;
}

/* Removes an entry from the list and returns it; NULL if a call still uses the entry. */
static entry *take(entry *e)
{
    int at = e ? place_of(e) : ENTRIES;
    if (at == ENTRIES || e->users)
        return NULL;
    memmove(entries + at, entries + at + 1, sizeof *entries * (size_t)(ENTRIES - 1 - at));
    entries[ENTRIES - 1] = NULL;
    return e;
}

/* ---- running ---- */

static PyObject *results_object(wf_array **made, int n, PyObject *out)
{
    if (n == 1 && !out)
        return wfpy_array_new(made[0]);
    PyObject *all = PyTuple_New(n);
    for (int i = 0; i < n; ++i) {
        PyObject *array = all ? wfpy_array_new(made[i]) : NULL;
        if (!all)
            wf_release(made[i]);
        else if (!array || PyTuple_SetItem(all, i, array) < 0) {
            Py_DECREF(all);
            all = NULL;
        }
    }
    return all;
}

/* The names of results: those in `out`, or the last one that the text assigns. */
static int wanted(PyObject *text, PyObject *out, char name[][64])
{
    const char *source = wfpy_utf8(text);
    if (!source)
        return -1;
    if (!out) {
        if (wf_text_target(wfpy.context, source, WF_LAST_TARGET, name[0], 64))
            return 1;
        wf_clear_error(wfpy.context);
        strcpy(name[0], "out"); /* recording the text finds the mistake */
        return 1;
    }
    Py_ssize_t n = PyTuple_Size(out);
    if (n > MOST_RESULTS || n < 1) {
        PyErr_Format(PyExc_ValueError, "a text has 1 to %d results, not %zd", MOST_RESULTS, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *item = PyTuple_GetItem(out, i);
        const char *result = PyUnicode_Check(item) ? wfpy_utf8(item) : NULL;
        if (!result && PyErr_Occurred())
            return -1;
        if (!result || strlen(result) > 63) {
            PyErr_Format(PyExc_TypeError, "%R is no name of a result", item);
            return -1;
        }
        strcpy(name[i], result);
    }
    return (int)n;
}

/* An entry for arguments and results, in place of `old` if that is not NULL. */
static void note(entry *old, PyObject *text, PyObject *names, PyObject *out, const arguments *a, wf_device device,
                 char name[][64], wf_array *const *made, int results)
{
    entry *e = PyMem_Calloc(1, sizeof *e);
    free_entry(old);
    if (!e)
        return;
    e->text = Py_NewRef(text);
    e->names = Py_NewRef(names);
    e->out = out ? Py_NewRef(out) : NULL;
    e->n = a->n;
    e->results = results;
    e->device = device;
    e->flags = wf_get_flags(wfpy.context);
    for (int i = 0; i < a->n; ++i) {
        e->name[i] = a->arg[i].name;
        describe(&a->arg[i], &e->layout[i]);
    }
    for (int i = 0; i < results; ++i) {
        strcpy(e->result[i].name, name[i]);
        e->result[i].dtype = wf_array_dtype(made[i]);
        e->result[i].shape = wf_array_shape(made[i]);
        e->result[i].distributed = wf_array_dist(made[i]) != NULL;
    }
    add_entry(e);
}

/* Records and runs the text. */
static PyObject *record_and_run(PyObject *text, PyObject *names, PyObject *out, PyObject *const *values, int n,
                                wf_device device, bool notes, entry *near)
{
    arguments a;
    wf_array *made[MOST_RESULTS];
    const char *want[MOST_RESULTS];
    char name[MOST_RESULTS][64];
    int results = wanted(text, out, name);
    near = notes ? take(near) : NULL;
    PyObject *object = NULL;
    if (results < 0) {
        free_entry(near);
        return NULL;
    }
    if (convert(&a, names, values, n)) {
        for (int i = 0; i < results; ++i)
            want[i] = name[i];
        wfpy_released r = wfpy_release_gil(true);
        wf_status status = wf_text_create(wfpy.context, wfpy_utf8(text), (wf_args){ a.arg, (size_t)n }, device, want,
                                          (size_t)results, made);
        wfpy_take_gil(r);
        if (status != WF_OK)
            wfpy_raise();
        else {
            if (notes)
                note(near, text, names, out, &a, device, name, made, results);
            near = NULL;
            object = results_object(made, results, out);
        }
    }
    free_entry(near);
    end_arguments(&a);
    return object && wfpy_warn() < 0 ? (Py_DecRef(object), NULL) : object;
}

/* Prepares the entry's text for launches: arguments and results become formals, numbers parameters. */
static void prepare(entry *e, const arguments *a)
{
    wf_arg arg[MOST_ARGUMENTS + MOST_RESULTS];
    const char *source = wfpy_utf8(e->text);
    e->state = NOT_PREPARABLE;
    for (int i = 0; i < e->n; ++i) {
        arg[i] = a->arg[i];
        for (int k = 0; k < e->results; ++k)
            if (strcmp(arg[i].name, e->result[k].name) == 0)
                return; /* the text reads what it assigns */
    }
    wf_graph *g = wf_text_begin(wfpy.context, source, (wf_args){ arg, (size_t)e->n }, NULL);
    for (int i = 0; g && i < e->n; ++i)
        if (e->layout[i].kind == WF_ARG_ARRAY)
            arg[i].as.array = wf_formal(g, arg[i].name, e->layout[i].dtype, e->layout[i].shape.rank);
    for (int i = 0; g && i < e->results; ++i)
        arg[e->n + i] =
            (wf_arg){ e->result[i].name,
                      WF_ARG_ARRAY,
                      0,
                      { .array = wf_formal(g, e->result[i].name, e->result[i].dtype, e->result[i].shape.rank) } };
    wf_text_record_n(g, source, (wf_args){ arg, (size_t)(e->n + e->results) });
    e->kernel = wf_compile(g);
    if (e->kernel)
        e->state = PREPARED;
    wf_clear_error(wfpy.context);
}

static PyObject *again(entry *e, arguments *a)
{
    wf_array *made[MOST_RESULTS] = { NULL };
    wf_arg arg[MOST_ARGUMENTS + MOST_RESULTS];
    const wf_array *from[MOST_ARGUMENTS];
    const wf_device device = e->device ? e->device : e->layout[0].device;
    bool right = true;
    int n = 0;
    for (int i = 0; i < e->n; ++i) {
        if (a->arg[i].kind != WF_ARG_ARRAY)
            continue;
        from[n] = a->arg[i].as.array;
        arg[n++] = a->arg[i];
    }
    const size_t arrays = (size_t)n;
    for (int i = 0; right && i < e->results; ++i) {
        made[i] = wfpy_empty_result(from, e->result[i].distributed ? arrays : 0, 0, e->result[i].dtype,
                                    &e->result[i].shape, device);
        right = made[i] != NULL;
        arg[n++] = (wf_arg){ e->result[i].name, WF_ARG_ARRAY, 0, { .array = made[i] } };
    }
    wf_status status = WF_ERR_MEMORY;
    if (right) {
        wfpy_released r = wfpy_release_gil(a->is_long);
        status = wf_launch(e->kernel, ((wf_args){ arg, (size_t)n }));
        wfpy_take_gil(r);
    }
    if (status == WF_OK)
        return results_object(made, e->results, e->out);
    for (int i = 0; i < e->results; ++i)
        wf_release(made[i]);
    return wfpy_raise();
}

static PyObject *run_text(PyObject *text, PyObject *names, PyObject *out, PyObject *const *values, int n,
                          wf_device device)
{
    arguments a;
    if (!wfpy_context())
        return NULL;
    for (int i = 0; i < n; ++i)
        if (wfpy_is_array(values[i]) && !wfpy_array_of(values[i]))
            return NULL;
    entry *near, *e = find(text, names, out, values, n, device, &a, &near);
    if (!e)
        return record_and_run(text, names, out, values, n, device, true, near);
    if (e->state == SEEN_ONCE)
        prepare(e, &a);
    const bool prepared = e->state == PREPARED;
    PyObject *object = prepared ? again(e, &a) : NULL;
    end_arguments(&a);
    --e->users;
    return prepared ? object : record_and_run(text, names, out, values, n, device, false, NULL);
}

/* _text(text, names, values, out, device): names, values and out are tuples; out may be None. */
static PyObject *text_tuples(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    PyObject *values[MOST_ARGUMENTS];
    wf_device device;
    (void)self;
    if (count != 5 || !PyUnicode_Check(args[0]) || !PyTuple_Check(args[1]) || !PyTuple_Check(args[2]) ||
        PyTuple_Size(args[1]) != PyTuple_Size(args[2]) || !(args[3] == Py_None || PyTuple_Check(args[3])) ||
        PyTuple_Size(args[1]) > MOST_ARGUMENTS)
        return PyErr_Format(PyExc_TypeError, "a text has at most %d arguments", MOST_ARGUMENTS);
    if (!wfpy_device(args[4], &device))
        return NULL;
    Py_ssize_t n = PyTuple_Size(args[1]);
    for (Py_ssize_t i = 0; i < n; ++i)
        values[i] = PyTuple_GetItem(args[2], i);
    return run_text(args[0], args[1], args[3] == Py_None ? NULL : args[3], values, (int)n, device);
}

/* text(source, results, **arguments): the hot way, without a dict of the keywords. */
static PyObject *text(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    (void)self;
    if (n < 1 || n > 2 || !PyUnicode_Check(args[0]) || (n == 2 && !PyTuple_Check(args[1])) || named > MOST_ARGUMENTS)
        return PyErr_Format(
            PyExc_TypeError,
            "weft.text takes a text, a tuple of the names of results or none, and at most %d arguments by name",
            MOST_ARGUMENTS);
    PyObject *none = names ? NULL : PyTuple_New(0);
    PyObject *made = run_text(args[0], names ? names : none, n == 2 ? args[1] : NULL, args + n, (int)named, 0);
    Py_XDECREF(none);
    return made;
}

static PyObject *text_names(PyObject *self, PyObject *text)
{
    const char *source = PyUnicode_Check(text) ? wfpy_utf8(text) : NULL;
    char name[64];
    (void)self;
    PyObject *list = source && wfpy_context() ? PyList_New(0) : NULL;
    for (size_t i = 0; list && wf_text_target(wfpy.context, source, i, name, sizeof name); ++i) {
        PyObject *item = PyUnicode_FromString(name);
        if (!item || PyList_Append(list, item) < 0) {
            Py_DECREF(list);
            list = NULL;
        }
        Py_XDECREF(item);
    }
    if (list)
        wf_clear_error(wfpy.context);
    return list || PyErr_Occurred() ? list : PyErr_Format(PyExc_TypeError, "%R is no text", text);
}

static PyMethodDef functions[] = {
    { "text", WFPY_KEYWORDS(text),
      "text(source, results=None, /, **arguments)\n--\n\n"
      "Runs operator text with arrays and numbers by name, and returns the value of its last statement, or a tuple of the\n"
      "arrays that the names in `results` are assigned.\n"
      "Example: weft.text('a*s + b', a=a, s=3, b=b)" },
    { "_text", WFPY_FUNCTION(text_tuples), METH_FASTCALL, NULL },
    { "_text_targets", text_names, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_text(PyObject *module) { return PyModule_AddFunctions(module, functions); }
