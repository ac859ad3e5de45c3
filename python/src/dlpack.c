/* dlpack.c - exchange of memory by DLPack 1.x, on the processor and on GPUs, and by addresses. Methods of Python exchange
 * capsules. A table of functions that is an attribute of a type does the same for programs in C, without capsules.
 * Source: the structs and names are those of dmlc.github.io/dlpack, version 1.3. */
#include <stdlib.h>
#include <string.h>

#include "weft_python.h"

enum { ON_CPU = 1, ON_CUDA = 2, ON_CUDA_HOST = 3, ON_CUDA_MANAGED = 13 };
enum { CODE_INT, CODE_UINT, CODE_FLOAT, CODE_BFLOAT = 4, CODE_COMPLEX, CODE_BOOL };
enum { FLAG_READ_ONLY = 1, FLAG_IS_COPIED = 2 };
enum { MAJOR = 1, MINOR = 3 };
typedef struct tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides in elements */
    uint64_t byte_offset;
} tensor;
typedef struct managed { /* before version 1 */
    tensor tensor;
    void *owner;
    void (*deleter)(struct managed *self);
} managed;
typedef struct versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *owner;
    void (*deleter)(struct versioned *self);
    uint64_t flags;
    tensor tensor;
} versioned;
static const char name_managed[] = "dltensor", name_versioned[] = "dltensor_versioned",
                  name_table[] = "dlpack_exchange_api", attribute_table[] = "__dlpack_c_exchange_api__";
typedef struct table { /* functions give 0, or -1 with an exception */
    struct {
        uint32_t major, minor;
        const struct table *older;
    } header;
    int (*allocate)(tensor *like, versioned **out, void *user,
                    void (*fail)(void *user, const char *kind, const char *message));
    int (*lend)(void *object, versioned **out);
    int (*take)(versioned *from, void **object);
    int (*look)(void *object, tensor *out); /* may be NULL */
    int (*stream_of)(int32_t device_type, int32_t device, void **stream);
} table;

/* ---- to others ---- */

typedef struct lent {
    union {
        managed managed;
        versioned versioned;
    } as; /* comes first: its address is that of the struct */
    wf_array *array;
    int64_t shape[WF_MAX_RANK], strides[WF_MAX_RANK];
} lent;

static void end_lent(lent *l)
{
    wf_release(l->array);
    free(l);
}
static void delete_managed(managed *self) { end_lent((lent *)self); }
static void delete_versioned(versioned *self) { end_lent((lent *)self); }

/* Frees the tensor of a capsule, unless a consumer has taken it and renamed the capsule. */
static void end_capsule(PyObject *capsule)
{
    const char *name = PyCapsule_GetName(capsule);
    if (name && strcmp(name, name_managed) == 0)
        delete_managed(PyCapsule_GetPointer(capsule, name));
    else if (name && strcmp(name, name_versioned) == 0)
        delete_versioned(PyCapsule_GetPointer(capsule, name));
}

static PyObject *buffer_error(const char *text)
{
    PyErr_SetString(PyExc_BufferError, text);
    return NULL;
}

static bool describe_dtype(wf_dtype dtype, tensor *t)
{
    static const uint8_t codes[] = { [WF_KIND_BOOL] = CODE_BOOL,
                                     [WF_KIND_SIGNED] = CODE_INT,
                                     [WF_KIND_UNSIGNED] = CODE_UINT,
                                     [WF_KIND_FLOAT] = CODE_FLOAT,
                                     [WF_KIND_COMPLEX] = CODE_COMPLEX };
    t->dtype.code = dtype == WF_BF16 ? CODE_BFLOAT : codes[wf_dtype_kind(dtype)];
    t->dtype.bits = (uint8_t)(8 * wf_dtype_size(dtype));
    t->dtype.lanes = 1;
    return dtype != WF_C32;
}

static bool is_emulated(wf_device device) { return device >= WF_GPU_EMU(0); }

static PyObject *dlpack_device(PyObject *self, PyObject *none)
{
    wf_array *array = wfpy_array_of(self);
    (void)none;
    if (!array)
        return NULL;
    wf_device device = wf_array_device(array);
    if (is_emulated(device))
        return buffer_error("an array of an emulated GPU has no device in DLPack");
    return wfpy_is_gpu(device) ? Py_BuildValue("ii", ON_CUDA, device - WF_GPU(0)) : Py_BuildValue("ii", ON_CPU, 0);
}

/* The array that is lent: `array`, retained, or a copy of it; NULL with an exception. */
static wf_array *array_to_lend(wf_array *array, PyObject *where, PyObject *copy, bool *copied)
{
    if (!wfpy_check_lent(array))
        return NULL;
    wf_device device = wf_array_device(array);
    wf_array *made = NULL;
    int type = wfpy_is_gpu(device) ? ON_CUDA : ON_CPU, id = wfpy_is_gpu(device) ? device - WF_GPU(0) : 0;
    if (where != Py_None && !PyArg_ParseTuple(where, "ii", &type, &id))
        return NULL;
    const wf_device wanted = type == ON_CPU ? WF_CPU : type == ON_CUDA ? WF_GPU(id) : 0;
    const bool moves = wanted != (wfpy_is_gpu(device) ? device : WF_CPU);
    const int copies = copy == Py_None ? -1 : PyObject_IsTrue(copy);
    if (PyErr_Occurred())
        return NULL;
    *copied = moves || copies == 1;
    if (!wanted || (moves && wanted != WF_CPU))
        buffer_error("the array cannot be lent on that device");
    else if (moves && copies == 0)
        buffer_error("the array is on another device, and copy is False");
    else if (!moves && is_emulated(device))
        buffer_error("an array of an emulated GPU has no device in DLPack");
    else if (!*copied)
        made = wf_retain(array);
    else if (!(made = moves ? wf_copy_to(array, WF_CPU) : wf_array_copy(array)))
        wfpy_raise();
    return made;
}

/* A tensor of `from`, whose reference it takes; NULL with an exception. */
static lent *lend(wf_array *from, bool is_versioned, bool copied)
{
    lent *l = calloc(1, sizeof *l);
    if (!l) {
        wf_release(from);
        PyErr_NoMemory();
        return NULL;
    }
    l->array = from;
    tensor *t = is_versioned ? &l->as.versioned.tensor : &l->as.managed.tensor;
    wf_shape shape = wf_array_shape(from);
    const wf_device device = wf_array_device(from);
    const bool read_only = wf_array_is_read_only(from);
    /* Both wait for queued work, so the consumer's stream has nothing to wait for. */
    wfpy_released r = wfpy_release_gil(false);
    wf_status status =
        wfpy_is_gpu(device) ? wf_map_device(from, &t->data, l->strides) : wf_map(from, &t->data, l->strides);
    wfpy_take_gil(r);
    if (status != WF_OK)
        wfpy_raise();
    else if (!describe_dtype(wf_array_dtype(from), t))
        buffer_error("DLPack has no complex numbers of two f16");
    else if (read_only && !is_versioned)
        buffer_error("the array is read-only, which DLPack before version 1 cannot say");
    else {
        for (int i = 0; i < shape.rank; ++i)
            l->shape[i] = shape.dim[i];
        t->ndim = shape.rank;
        t->shape = l->shape;
        t->strides = l->strides;
        t->device.type = wfpy_is_gpu(device) ? ON_CUDA : ON_CPU;
        t->device.id = wfpy_is_gpu(device) ? device - WF_GPU(0) : 0;
        if (is_versioned) {
            l->as.versioned.version.major = MAJOR;
            l->as.versioned.version.minor = MINOR;
            l->as.versioned.deleter = delete_versioned;
            l->as.versioned.flags = (read_only ? FLAG_READ_ONLY : 0) | (copied ? FLAG_IS_COPIED : 0);
        } else
            l->as.managed.deleter = delete_managed;
        return l;
    }
    end_lent(l);
    return NULL;
}

static PyObject *dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "stream", "max_version", "dl_device", "copy", NULL };
    PyObject *stream = Py_None, *version = Py_None, *where = Py_None, *copy = Py_None;
    unsigned major = 0, minor = 0;
    bool copied;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$OOOO:__dlpack__", names, &stream, &version, &where, &copy) ||
        (version != Py_None && !PyArg_ParseTuple(version, "II", &major, &minor)))
        return NULL;
    wf_array *array = wfpy_array_of(self), *from = array ? array_to_lend(array, where, copy, &copied) : NULL;
    lent *l = from ? lend(from, major > 0, copied) : NULL;
    PyObject *capsule = l ? PyCapsule_New(l, major ? name_versioned : name_managed, end_capsule) : NULL;
    if (l && !capsule)
        end_lent(l);
    return capsule;
}

/* ---- from others ---- */

typedef struct held_tensor {
    wfpy_held held; /* comes first */
    managed *managed;
    versioned *versioned;
} held_tensor;

static void give_back(wfpy_held *held)
{
    held_tensor *h = (held_tensor *)held;
    if (h->versioned && h->versioned->deleter)
        h->versioned->deleter(h->versioned);
    if (h->managed && h->managed->deleter)
        h->managed->deleter(h->managed);
    free(h);
}

static wf_dtype dtype_of(const tensor *t)
{
    for (int d = WF_BOOL; d <= WF_C128; ++d) {
        tensor own = { 0 };
        if (describe_dtype((wf_dtype)d, &own) && own.dtype.code == t->dtype.code && own.dtype.bits == t->dtype.bits &&
            t->dtype.lanes == 1)
            return (wf_dtype)d;
    }
    return WF_NONE;
}

/* A weft.Array over a tensor that `h` owns, which is given back with the array or now. */
static PyObject *from_tensor(const tensor *t, held_tensor *h, bool read_only)
{
    wf_dtype dtype = dtype_of(t);
    wf_shape shape = { .rank = t->ndim };
    int64_t strides[WF_MAX_RANK], packed = 1;
    wf_place place = { .size = sizeof place, .strides = strides, .device = WF_CPU, .read_only = read_only };
    char *data = t->data ? (char *)t->data + t->byte_offset : NULL;
    bool aligned = true;
    if (t->device.type == ON_CUDA || t->device.type == ON_CUDA_MANAGED)
        place.device = WF_GPU(t->device.id);
    else if (t->device.type != ON_CPU && t->device.type != ON_CUDA_HOST)
        PyErr_Format(PyExc_BufferError, "weft has no device of DLPack's type %d", t->device.type);
    if (dtype == WF_NONE)
        PyErr_Format(PyExc_BufferError, "elements of DLPack's type (%d, %d bits, %d lanes) have no dtype in weft",
                     t->dtype.code, t->dtype.bits, t->dtype.lanes);
    else if (t->ndim < 0 || t->ndim > WF_MAX_RANK)
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "an array has at most %d axes, not %d", WF_MAX_RANK, t->ndim);
    if (!PyErr_Occurred()) {
        aligned = (uintptr_t)data % wf_dtype_size(dtype) == 0;
        for (int i = t->ndim - 1; i >= 0; --i) {
            shape.dim[i] = t->shape[i];
            strides[i] = t->strides && shape.dim[i] > 1 ? t->strides[i] : packed;
            packed *= shape.dim[i];
        }
        if (!aligned && packed)
            buffer_error("the memory is not aligned to its elements");
    }
    if (PyErr_Occurred()) {
        give_back(&h->held);
        return NULL;
    }
    if (!packed) { /* no elements: the address means nothing */
        give_back(&h->held);
        return wfpy_array_new(
            wf_empty_with(wfpy.context, dtype, shape, &(wf_place){ .size = sizeof(wf_place), .device = place.device }));
    }
    return wfpy_array_new(wf_wrap_with(wfpy.context, data, dtype, shape, &place, wfpy_let_go, h));
}

/* Takes the memory out of a capsule. */
static PyObject *from_capsule(PyObject *capsule)
{
    const char *name = PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : NULL;
    held_tensor *h = name ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return name ? PyErr_NoMemory()
                    : PyErr_Format(PyExc_TypeError, "__dlpack__ gave %R, which is no capsule of DLPack", capsule);
    h->held.give_back = give_back;
    const tensor *t = NULL;
    bool read_only = false;
    if (strcmp(name, name_versioned) == 0) {
        h->versioned = PyCapsule_GetPointer(capsule, name_versioned);
        if (h->versioned->version.major != MAJOR)
            PyErr_Format(PyExc_BufferError, "version %u of DLPack is not known", h->versioned->version.major);
        read_only = h->versioned->flags & FLAG_READ_ONLY;
        t = &h->versioned->tensor;
    } else if (strcmp(name, name_managed) == 0) {
        h->managed = PyCapsule_GetPointer(capsule, name_managed);
        t = &h->managed->tensor;
    } else
        PyErr_Format(PyExc_BufferError, "a capsule named '%s' holds no memory, or it has been taken", name);
    if (PyErr_Occurred()) {
        free(h);
        return NULL;
    }
    PyCapsule_SetName(capsule, h->versioned ? "used_dltensor_versioned" : "used_dltensor");
    PyCapsule_SetDestructor(capsule, NULL);
    return from_tensor(t, h, read_only);
}

/* Calls object.__dlpack__ as the newest version, and as producers before version 1 understand it. */
static PyObject *ask(PyObject *object, PyObject *copy)
{
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *none = method ? PyTuple_New(0) : NULL;
    PyObject *keywords = !none             ? NULL
                         : copy == Py_None ? Py_BuildValue("{s:(ii)}", "max_version", MAJOR, MINOR)
                                           : Py_BuildValue("{s:(ii),s:O}", "max_version", MAJOR, MINOR, "copy", copy);
    PyObject *capsule = keywords ? PyObject_Call(method, none, keywords) : NULL;
    if (!capsule && keywords && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(method);
    Py_XDECREF(none);
    Py_XDECREF(keywords);
    return capsule;
}

/* The table of a type, in a new capsule; its context is not NULL if objects of the type may ask for gradients. NULL, with or
 * without an exception: the type has none. */
static PyObject *find_table(PyTypeObject *type)
{
    static bool yes = true;
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, attribute_table);
    const table *t =
        capsule && PyCapsule_IsValid(capsule, name_table) ? PyCapsule_GetPointer(capsule, name_table) : NULL;
    Py_XDECREF(capsule);
    PyErr_Clear();
    while (t && t->header.major != MAJOR)
        t = t->header.older;
    if (!t || !t->lend || !(capsule = PyCapsule_New((void *)(uintptr_t)t, name_table, NULL)))
        return NULL;
    PyCapsule_SetContext(capsule, PyObject_HasAttrString((PyObject *)type, "requires_grad") ? &yes : NULL);
    return capsule;
}

/* What is known of a type, borrowed: the capsule of find_table, True if it has __dlpack__ alone, or None. It is looked up once;
 * types that are known are not freed. NULL: no memory. */
static PyObject *known_of(PyTypeObject *type)
{
    enum { MOST = 256 };
    static PyObject *known; /* by type */
    if (!known && !(known = PyDict_New())) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *found = PyDict_GetItemWithError(known, (PyObject *)type);
    if (found)
        return found;
    found = find_table(type);
    if (!found)
        found = Py_NewRef(PyObject_HasAttrString((PyObject *)type, "__dlpack__") ? Py_True : Py_None);
    if (PyDict_Size(known) >= MOST)
        PyDict_Clear(known);
    const bool kept = PyDict_SetItem(known, (PyObject *)type, found) == 0;
    Py_DECREF(found);
    PyErr_Clear();
    return kept ? found : NULL;
}

/* A tensor of an object by the table of its type; NULL without an exception if __dlpack__ has to be asked: there is no
 * table, or the method refuses what the table does not tell (gradients that are wanted, conjugates that are still to be
 * computed), or the memory is on a GPU, where the method orders streams. */
static versioned *ask_table(PyObject *object)
{
    versioned *made = NULL;
    PyObject *found = known_of(Py_TYPE(object));
    const table *t = found && PyCapsule_CheckExact(found) ? PyCapsule_GetPointer(found, name_table) : NULL;
    PyObject *wanted = t && PyCapsule_GetContext(found) ? PyObject_GetAttrString(object, "requires_grad") : NULL;
    const bool asks = wanted && PyObject_IsTrue(wanted) != 0;
    Py_XDECREF(wanted);
    if (!t || asks || t->lend(object, &made) != 0)
        made = NULL;
    PyErr_Clear(); /* the method says what is wrong */
    const tensor *m = made ? &made->tensor : NULL;
    if (!m || (m->device.type == ON_CPU && m->dtype.code != CODE_COMPLEX && made->version.major == MAJOR))
        return made;
    if (made->deleter)
        made->deleter(made);
    return NULL;
}

/* A weft.Array over a tensor that is taken. */
static PyObject *take_versioned(versioned *from)
{
    held_tensor *h = calloc(1, sizeof *h);
    if (!h) {
        if (from->deleter)
            from->deleter(from);
        return PyErr_NoMemory();
    }
    h->held.give_back = give_back;
    h->versioned = from;
    return from_tensor(&from->tensor, h, from->flags & FLAG_READ_ONLY);
}

bool wfpy_has_dlpack(PyObject *object)
{
    if (wfpy_is_array(object) || PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
        PyType_Check(object))
        return false;
    PyObject *found = known_of(Py_TYPE(object));
    return found && found != Py_None;
}

PyObject *wfpy_from_dlpack(PyObject *object, PyObject *copy)
{
    if (!wfpy_context())
        return NULL;
    versioned *made = copy == Py_None ? ask_table(object) : NULL;
    if (made)
        return take_versioned(made);
    PyObject *capsule = ask(object, copy), *array = capsule ? from_capsule(capsule) : NULL;
    Py_XDECREF(capsule);
    return array;
}

static PyObject *from_dlpack(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "x", "device", "copy", NULL };
    PyObject *object, *device_object = Py_None, *copy = Py_None;
    wf_device device;
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OO:from_dlpack", names, &object, &device_object, &copy) ||
        !wfpy_device(device_object, &device) || !wfpy_context())
        return NULL;
    PyObject *made = wfpy_from_dlpack(object, copy);
    wf_array *array = made ? wfpy_array_of(made) : NULL;
    if (!array || !device || device == wf_array_device(array))
        return made;
    const int copies = copy == Py_None ? 1 : PyObject_IsTrue(copy);
    if (copies <= 0) {
        Py_DECREF(made);
        return copies < 0 ? NULL : PyErr_Format(PyExc_ValueError, "the array is on another device, and copy is False");
    }
    PyObject *moved = wfpy_array_new(wf_copy_to(array, device));
    Py_DECREF(made);
    return moved;
}

/* ---- the table of weft.Array ---- */

static int table_lend(void *object, versioned **out)
{
    wf_array *array = wfpy_array_of(object);
    if (array && is_emulated(wf_array_device(array)))
        buffer_error("an array of an emulated GPU has no device in DLPack");
    else if (array && wfpy_check_lent(array)) {
        lent *l = lend(wf_retain(array), true, false);
        *out = l ? &l->as.versioned : NULL;
        return l ? 0 : -1;
    }
    return -1;
}

static int table_take(versioned *from, void **object)
{
    *object = wfpy_context() ? take_versioned(from) : NULL;
    return *object ? 0 : -1;
}

/* Allocates an array for a program that may not have the GIL, and gives a failure to its function. */
static int table_allocate(tensor *like, versioned **out, void *user,
                          void (*fail)(void *user, const char *kind, const char *message))
{
    PyGILState_STATE state = PyGILState_Ensure();
    wf_place place = { .size = sizeof place,
                       .device = like->device.type == ON_CUDA ? WF_GPU(like->device.id) : WF_CPU };
    wf_dtype dtype = dtype_of(like);
    wf_shape shape = { .rank = like->ndim };
    lent *l = NULL;
    if (like->device.type != ON_CUDA && like->device.type != ON_CPU)
        PyErr_Format(PyExc_BufferError, "weft has no device of DLPack's type %d", like->device.type);
    else if (dtype == WF_NONE || like->ndim < 0 || like->ndim > WF_MAX_RANK)
        PyErr_Format(PyExc_BufferError, "weft has no array of %d axes and DLPack's type (%d, %d bits, %d lanes)",
                     like->ndim, like->dtype.code, like->dtype.bits, like->dtype.lanes);
    else if (wfpy_context()) {
        for (int i = 0; i < shape.rank; ++i)
            shape.dim[i] = like->shape[i];
        wf_array *made = wf_empty_with(wfpy.context, dtype, shape, &place);
        if (!made)
            wfpy_raise();
        else
            l = lend(made, true, false);
    }
    *out = l ? &l->as.versioned : NULL;
    if (!l) {
        PyObject *type, *value, *traceback, *text;
        PyErr_Fetch(&type, &value, &traceback);
        text = value ? PyObject_Str(value) : NULL;
        PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
        fail(user, PyErr_GivenExceptionMatches(type, PyExc_MemoryError) ? "MemoryError" : "BufferError",
             bytes ? PyBytes_AsString(bytes) : "weft cannot allocate the array");
        Py_XDECREF(bytes);
        Py_XDECREF(text);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        PyErr_Clear();
    }
    PyGILState_Release(state);
    return l ? 0 : -1;
}

/* Work on memory that is lent has ended, so any stream will do: the legacy default stream. */
static int table_stream_of(int32_t device_type, int32_t device, void **stream)
{
    (void)device_type;
    (void)device;
    *stream = NULL;
    return 0;
}

static const table own_table = {
    .header = { .major = MAJOR, .minor = MINOR },
    .allocate = table_allocate,
    .lend = table_lend,
    .take = table_take,
    .stream_of = table_stream_of,
};

/* ---- by address ---- */

typedef struct held_object {
    wfpy_held held; /* comes first */
    PyObject *owner;
} held_object;

static void release_owner(wfpy_held *held)
{
    Py_DECREF(((held_object *)held)->owner);
    free(held);
}

static PyObject *from_address(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "address", "shape", "dtype", "strides", "device", "owner", "read_only", NULL };
    PyObject *number, *shape_object, *dtype_object, *strides_object = Py_None, *device_object = Py_None,
                                                    *owner = Py_None;
    int read_only = 0;
    wf_shape shape, steps = { 0 };
    wf_dtype dtype;
    wf_place place = { .size = sizeof place };
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO|OOOp:from_address", names, &number, &shape_object,
                                     &dtype_object, &strides_object, &device_object, &owner, &read_only) ||
        !wfpy_shape(shape_object, false, &shape) || !wfpy_dtype(dtype_object, &dtype) ||
        !wfpy_device(device_object, &place.device) || !wfpy_context())
        return NULL;
    void *address = PyLong_AsVoidPtr(number);
    if (PyErr_Occurred())
        return NULL;
    if (strides_object != Py_None) {
        Py_ssize_t n = PySequence_Size(strides_object);
        if (n < 0)
            return NULL;
        if (n != shape.rank)
            return PyErr_Format(wfpy.error[WF_ERR_SHAPE], "%zd strides for %d axes", n, shape.rank);
        for (int i = 0; i < shape.rank; ++i) {
            PyObject *step = PySequence_GetItem(strides_object, i);
            Py_ssize_t bytes = step ? PyNumber_AsSsize_t(step, PyExc_OverflowError) : 0,
                       size = (Py_ssize_t)wf_dtype_size(dtype);
            Py_XDECREF(step);
            if (PyErr_Occurred())
                return NULL;
            if (bytes % size)
                return PyErr_Format(wfpy.error[WF_ERR_ARG],
                                    "a stride of %zd bytes is no whole number of elements of %zd bytes", bytes, size);
            steps.dim[i] = bytes / size;
        }
        place.strides = steps.dim;
    }
    held_object *h = malloc(sizeof *h);
    if (!h)
        return PyErr_NoMemory();
    *h = (held_object){ .held = { .give_back = release_owner }, .owner = Py_NewRef(owner) };
    place.read_only = read_only != 0;
    return wfpy_array_new(wf_wrap_with(wfpy.context, address, dtype, shape, &place, wfpy_let_go, h));
}

/* Raises AttributeError on the processor, so that libraries for GPUs see that the array is none of theirs. */
static PyObject *cuda_array_interface(PyObject *self, PyObject *none)
{
    wf_array *array = wfpy_array_of(self);
    int64_t strides[WF_MAX_RANK];
    void *data;
    (void)none;
    if (!array)
        return NULL;
    if (!wfpy_is_gpu(wf_array_device(array)) || is_emulated(wf_array_device(array))) {
        PyErr_SetString(PyExc_AttributeError, "the array is not in the memory of a GPU");
        return NULL;
    }
    if (wf_map_device(array, &data, strides) != WF_OK)
        return wfpy_raise();
    wf_dtype dtype = wf_array_dtype(array);
    wf_shape shape = wf_array_shape(array), bytes = shape;
    for (int i = 0; i < shape.rank; ++i)
        bytes.dim[i] = strides[i] * (int64_t)wf_dtype_size(dtype);
    static const char letters[] = "?biufc";
    PyObject *extents = wfpy_shape_object(&shape), *steps = wfpy_shape_object(&bytes), *made = NULL;
    PyObject *type = PyUnicode_FromFormat("<%c%zu", letters[wf_dtype_kind(dtype)], wf_dtype_size(dtype));
    if (extents && steps && type)
        made = Py_BuildValue("{s:O,s:O,s:O,s:(KO),s:i}", "shape", extents, "strides", steps, "typestr", type, "data",
                             (unsigned long long)(uintptr_t)data, wf_array_is_read_only(array) ? Py_True : Py_False,
                             "version", 3);
    Py_XDECREF(extents);
    Py_XDECREF(steps);
    Py_XDECREF(type);
    return made;
}

PyMethodDef wfpy_dlpack_methods[] = {
    { "__dlpack__", WFPY_FUNCTION(dlpack), METH_VARARGS | METH_KEYWORDS, NULL },
    { "__dlpack_device__", dlpack_device, METH_NOARGS, NULL },
    { "_cuda_array_interface", cuda_array_interface, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};
static PyMethodDef functions[] = {
    { "from_dlpack", WFPY_FUNCTION(from_dlpack), METH_VARARGS | METH_KEYWORDS,
      "from_dlpack(x, *, device=None, copy=None)\n--\n\nAn array over the memory of an object that has __dlpack__, without a copy." },
    { "from_address", WFPY_FUNCTION(from_address), METH_VARARGS | METH_KEYWORDS,
      "from_address(address, shape, dtype, strides=None, device=None, owner=None, read_only=False)\n--\n\n"
      "An array over memory at an address, which `owner` keeps alive. Strides are in bytes; None: C order." },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_dlpack(PyObject *module)
{
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&own_table, name_table, NULL);
    const int failed = capsule ? PyObject_SetAttrString((PyObject *)wfpy.array, attribute_table, capsule) : -1;
    Py_XDECREF(capsule);
    return failed ? failed : PyModule_AddFunctions(module, functions);
}
