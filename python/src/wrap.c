/* wrap.c - conversions for the generated wrappers of the library's functions (wrap.h), but of values: wrap_values.c. */
#include <limits.h>
#include <string.h>

#include "wrap.h"

/* ---- arguments by place and name ---- */
static bool bind_keyword(const wfpy_signature *s, PyObject *name, PyObject *object, PyObject **at)
{
    const char *text = wfpy_utf8(name);
    for (int i = 0; text && i < s->n; ++i)
        if (strcmp(text, s->names[i]) == 0) {
            if (at[i]) {
                PyErr_Format(PyExc_TypeError, "%s() got several values for argument '%s'", s->name, text);
                return false;
            }
            at[i] = object;
            return true;
        }
    if (text)
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%s'", s->name, text);
    return false;
}

bool wfpy_bind(const wfpy_signature *s, PyObject *const *args, Py_ssize_t n, PyObject *keywords, PyObject **at)
{
    if (n > s->positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes %d arguments by place, and %zd were given", s->name, s->positional,
                     n);
        return false;
    }
    for (int i = 0; i < s->n; ++i)
        at[i] = i < n ? args[i] : NULL;
    for (Py_ssize_t k = 0, count = keywords ? PyTuple_Size(keywords) : 0; k < count; ++k)
        if (!bind_keyword(s, PyTuple_GetItem(keywords, k), args[n + k], at))
            return false;
    for (int i = 0; i < s->required; ++i)
        if (!at[i]) {
            PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", s->name, s->names[i]);
            return false;
        }
    return wfpy_context() != NULL;
}

PyObject *wfpy_of_recorded(const wfpy_signature *s, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    PyObject *name = PyUnicode_FromString(s->name);
    PyObject *done = name ? wfpy_call_function(wfpy.of_recorded, name, args, n, keywords) : NULL;
    Py_XDECREF(name);
    return done;
}

/* ---- what a call owns ---- */
/* Takes an object or memory; NULL after an exception. */
static wfpy_owned *own(wfpy_call *call, PyObject *object, void *memory)
{
    if (call->n_own == call->room) {
        size_t room = call->room ? 2 * call->room : 8;
        wfpy_owned *grown = PyMem_Realloc(call->own, room * sizeof *grown);
        if (!grown) {
            Py_XDECREF(object);
            PyMem_Free(memory);
            PyErr_NoMemory();
            return NULL;
        }
        call->own = grown;
        call->room = room;
    }
    call->own[call->n_own] = (wfpy_owned){ .object = object, .memory = memory };
    return &call->own[call->n_own++];
}

PyObject *wfpy_call_end(wfpy_call *call, PyObject *result)
{
    for (size_t i = 0; i < call->n_own && result; ++i)
        if (call->own[i].foreign && !wfpy_check_stored(call->signature->name, call->own[i].target))
            Py_CLEAR(result);
    for (size_t i = call->n_own; i-- > 0;) {
        Py_XDECREF(call->own[i].object);
        PyMem_Free(call->own[i].memory);
    }
    PyMem_Free(call->own);
    if (call->graph && call->mode == WFPY_AT_ONCE) {
        wf_drop(((wfpy_graph *)call->graph)->graph);
        ((wfpy_graph *)call->graph)->graph = NULL;
    }
    Py_XDECREF(call->graph);
    if (wfpy.context)
        wf_clear_error(wfpy.context); /* what went wrong is an exception now */
    return result;
}

void *wfpy_call_memory(wfpy_call *call, size_t bytes)
{
    void *memory = PyMem_Calloc(1, bytes ? bytes : 1);
    if (!memory)
        PyErr_NoMemory();
    return memory && own(call, NULL, memory) ? memory : NULL;
}

void wfpy_call_begin(wfpy_call *call) { call->released = wfpy_release_gil(call->is_long); }
void wfpy_call_return(wfpy_call *call) { wfpy_take_gil(call->released); }

/* ---- arrays ---- */
static bool is_left_out(PyObject *object) { return !object || object == Py_None; }

/* The object, or the array that one of a traced function stands for. NULL: an exception. The caller owns it. */
static PyObject *untraced(const wfpy_call *call, PyObject *object)
{
    if (!object || Py_TYPE(object) != wfpy.traced_array)
        return Py_XNewRef(object);
    PyObject *prefix = PyObject_GetAttrString(object, "prefix");
    Py_ssize_t n = prefix ? PyTuple_Size(prefix) : -1;
    Py_XDECREF(prefix);
    if (n > 0)
        PyErr_Format(PyExc_TypeError, "%s() takes an array of a traced function as a whole, not a row of it",
                     call->signature->name);
    return n == 0 ? PyObject_GetAttrString(object, "array") : NULL;
}

bool wfpy_take_array(wfpy_call *call, PyObject *object, bool optional, const wf_array **array)
{
    *array = NULL;
    if (is_left_out(object) && optional)
        return true;
    if (wfpy_is_value(object)) {
        PyErr_Format(PyExc_TypeError, "%s() takes arrays, not a value of a recording", call->signature->name);
        return false;
    }
    PyObject *whole = untraced(call, object), *made = whole ? wfpy_as_array(whole, WF_NONE) : NULL;
    Py_XDECREF(whole);
    if (!made || !own(call, made, NULL))
        return false;
    *array = wfpy_array_of(made);
    call->is_long = call->is_long || (*array && wfpy_is_long(*array));
    return *array != NULL;
}

/* True if a weft.Array can share the memory of the object, and write to it. */
static bool shares_memory(PyObject *object)
{
    if (!wfpy_has_buffer(object))
        return PyObject_HasAttrString(object, "__dlpack__");
    Py_buffer buffer;
    wf_dtype dtype;
    wf_shape shape;
    int64_t strides[WF_MAX_RANK];
    bool fits = false;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_RECORDS) < 0)
        return false;
    bool known = wfpy_describe(&buffer, &dtype, &shape, strides, &fits);
    PyBuffer_Release(&buffer);
    return known && fits;
}

bool wfpy_take_target(wfpy_call *call, PyObject *object, bool optional, wf_array **array, PyObject **owner)
{
    *array = NULL;
    *owner = NULL;
    if (is_left_out(object) && optional)
        return true;
    PyObject *whole = untraced(call, object), *made = NULL;
    if (!whole && PyErr_Occurred())
        return false;
    const bool foreign = whole && !wfpy_is_array(whole);
    if (whole && !foreign)
        made = Py_NewRef(whole);
    else if (whole && shares_memory(whole))
        made = wfpy_as_array(whole, WF_NONE);
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s() writes to an array, or to memory of other objects, and %R is neither",
                     call->signature->name, is_left_out(object) ? Py_None : object);
    Py_XDECREF(whole);
    *array = made ? wfpy_array_to_write(made) : NULL;
    wfpy_owned *owned = made ? own(call, made, NULL) : NULL;
    if (!owned)
        return false;
    owned->target = *array;
    owned->foreign = foreign;
    *owner = made;
    call->is_long = call->is_long || (*array && wfpy_is_long(*array));
    return *array != NULL;
}

bool wfpy_take_targets(wfpy_call *call, PyObject *object, wf_arrays *arrays)
{
    PyObject *items = PySequence_Check(object) && !wfpy_is_array(object) && !wfpy_has_buffer(object)
                          ? PySequence_Tuple(object)
                          : NULL;
    PyErr_Clear();
    Py_ssize_t n = items ? PyTuple_Size(items) : 1;
    wf_array **at = wfpy_call_memory(call, (size_t)n * sizeof *at);
    bool done = at != NULL;
    PyObject *owner;
    for (Py_ssize_t i = 0; done && i < n; ++i)
        done = wfpy_take_target(call, items ? PyTuple_GetItem(items, i) : object, false, &at[i], &owner);
    Py_XDECREF(items);
    *arrays = (wf_arrays){ at, (size_t)n };
    return done;
}

bool wfpy_take_out(wfpy_call *call, PyObject *object, const wf_array *x, wf_array **array, PyObject **owner)
{
    if (!is_left_out(object))
        return wfpy_take_target(call, object, false, array, owner);
    if (!x) {
        PyErr_Format(PyExc_TypeError, "%s() needs the argument 'out'", call->signature->name);
        return false;
    }
    wf_dtype dtype = wf_array_dtype(x);
    if (wf_dtype_kind(dtype) < WF_KIND_FLOAT)
        dtype = wf_dtype_size(dtype) < 4 ? WF_F32 : WF_F64;
    *owner = wfpy_array_new(wf_empty_like(x, dtype, wf_array_shape(x)));
    if (!*owner || !own(call, *owner, NULL))
        return false;
    *array = wfpy_array_of(*owner);
    return true;
}

/* A list or tuple of the items of a sequence; owned by the call. */
PyObject *wfpy_call_items(wfpy_call *call, PyObject *object)
{
    PyObject *tuple = PySequence_Tuple(object);
    return tuple && own(call, tuple, NULL) ? tuple : NULL;
}

bool wfpy_take_arrays(wfpy_call *call, PyObject *object, wf_arrays *arrays)
{
    bool one = wfpy_is_array(object) || (wfpy_has_buffer(object) && !PyBytes_Check(object));
    PyObject *items = one ? NULL : wfpy_call_items(call, object);
    Py_ssize_t n = one ? 1 : items ? PyTuple_Size(items) : -1;
    const wf_array **at = n < 0 ? NULL : wfpy_call_memory(call, (size_t)n * sizeof *at);
    for (Py_ssize_t i = 0; at && i < n; ++i)
        if (!wfpy_take_array(call, one ? object : PyTuple_GetItem(items, i), false, &at[i]))
            return false;
    *arrays = (wf_arrays){ (wf_array *const *)(void *)at, (size_t)n };
    return at != NULL;
}

int wfpy_rank(const wf_array *array) { return wf_array_shape(array).rank; }

int wfpy_axes_count(wf_axes axes, const wf_array *array)
{
    int n = 0;
    for (int d = 0, rank = wfpy_rank(array); d < rank; ++d)
        n += (int)(axes >> d & 1u);
    return n;
}

bool wfpy_take_axes(wfpy_call *call, PyObject *object, const wf_array *array, wf_axes *axes)
{
    (void)call;
    return wfpy_axes(object, wfpy_rank(array), axes);
}

bool wfpy_take_axis(wfpy_call *call, PyObject *object, const wf_array **array, int *axis)
{
    if (object && object != Py_None)
        return wfpy_take_int(call, object, axis);
    if (!object && *axis != INT_MIN)
        return true;
    wf_array *packed = wf_array_contiguous(wf_retain(*array)), *flat = NULL;
    wf_release(*array);
    if (packed)
        flat = wf_view_reshape(packed, (wf_shape){ .rank = 1, .dim = { -1 } });
    if (packed && !flat && wf_array_count(packed) == 0) {
        wf_clear_error(wfpy.context);
        flat = wf_view_reshape(packed, (wf_shape){ .rank = 1 });
    }
    wf_release(packed);
    PyObject *owner = wfpy_array_new(flat);
    if (!owner || !own(call, owner, NULL))
        return false;
    *array = flat;
    *axis = 0;
    return true;
}

bool wfpy_default_axis(int axis, const wf_array *array, wf_axes *axes)
{
    int rank = wfpy_rank(array), d = axis < 0 ? axis + rank : axis;
    if (d < 0 || d >= rank) {
        PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "there is no axis %d in an array of %d axes", axis, rank);
        return false;
    }
    *axes = 1u << d;
    return true;
}

/* ---- numbers, texts, names ---- */
bool wfpy_take_int64(wfpy_call *call, PyObject *object, int64_t *value)
{
    (void)call;
    if (!object)
        return true;
    PyObject *whole = PyNumber_Index(object);
    long long number = whole ? PyLong_AsLongLong(whole) : -1;
    Py_XDECREF(whole);
    if (number == -1 && PyErr_Occurred())
        return false;
    *value = number;
    return true;
}

bool wfpy_take_uint64(wfpy_call *call, PyObject *object, uint64_t *value)
{
    (void)call;
    if (!object)
        return true;
    PyObject *whole = PyNumber_Index(object);
    unsigned long long number = whole ? PyLong_AsUnsignedLongLong(whole) : 0;
    Py_XDECREF(whole);
    if (PyErr_Occurred())
        return false;
    *value = number;
    return true;
}

bool wfpy_take_int(wfpy_call *call, PyObject *object, int *value)
{
    int64_t wide = *value;
    if (!wfpy_take_int64(call, object, &wide))
        return false;
    if (wide < INT_MIN || wide > INT_MAX) {
        PyErr_Format(PyExc_OverflowError, "%s(): %lld is too large", call->signature->name, (long long)wide);
        return false;
    }
    *value = (int)wide;
    return true;
}

bool wfpy_take_int32(wfpy_call *call, PyObject *object, int32_t *value)
{
    int number = *value;
    if (!wfpy_take_int(call, object, &number))
        return false;
    *value = number;
    return true;
}

bool wfpy_take_double(wfpy_call *call, PyObject *object, double *value)
{
    (void)call;
    if (!object)
        return true;
    double number = PyFloat_AsDouble(object);
    if (number == -1 && PyErr_Occurred())
        return false;
    *value = number;
    return true;
}

bool wfpy_take_bool(wfpy_call *call, PyObject *object, bool *value)
{
    (void)call;
    int holds = object ? PyObject_IsTrue(object) : *value;
    *value = holds > 0;
    return holds >= 0;
}

bool wfpy_take_text(wfpy_call *call, PyObject *object, const char **text)
{
    if (!object)
        return true;
    *text = PyUnicode_Check(object) ? wfpy_utf8(object) : NULL;
    if (*text)
        return true;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s() takes a text, not %R", call->signature->name, object);
    return false;
}

bool wfpy_take_dtype(wfpy_call *call, PyObject *object, wf_dtype *dtype)
{
    (void)call;
    return is_left_out(object) || wfpy_dtype(object, dtype);
}

bool wfpy_take_shape(wfpy_call *call, PyObject *object, bool optional, wf_shape *shape)
{
    (void)call;
    if (is_left_out(object) && optional) {
        *shape = (wf_shape){ 0 };
        return true;
    }
    return wfpy_shape(object, false, shape);
}

bool wfpy_take_name(wfpy_call *call, PyObject *object, const wfpy_name *names, int *value)
{
    return is_left_out(object) || wfpy_find_name(call->signature->name, object, names, value);
}

/* Converts a sequence of exactly n numbers, or one for all, to numbers of the size of an element. */
static const void *take_numbers(wfpy_call *call, PyObject *object, int64_t n, size_t size,
                                bool (*store)(wfpy_call *, PyObject *, void *))
{
    const bool one = PyNumber_Check(object) && !PySequence_Check(object);
    PyObject *items = one ? NULL : wfpy_call_items(call, object);
    if (!one && !items)
        return NULL;
    if (!one && PyTuple_Size(items) != n) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "%s(): %lld numbers are needed, and %zd were given",
                     call->signature->name, (long long)n, PyTuple_Size(items));
        return NULL;
    }
    char *numbers = wfpy_call_memory(call, (size_t)n * size);
    for (int64_t i = 0; numbers && i < n; ++i)
        if (!store(call, one ? object : PyTuple_GetItem(items, (Py_ssize_t)i), numbers + (size_t)i * size))
            return NULL;
    return numbers;
}
static bool store_int(wfpy_call *call, PyObject *object, void *to) { return wfpy_take_int(call, object, to); }
static bool store_int64(wfpy_call *call, PyObject *object, void *to) { return wfpy_take_int64(call, object, to); }
static bool store_double(wfpy_call *call, PyObject *object, void *to) { return wfpy_take_double(call, object, to); }

bool wfpy_take_ints(wfpy_call *call, PyObject *object, int64_t n, const int **numbers)
{
    *numbers = is_left_out(object) ? NULL : take_numbers(call, object, n, sizeof(int), store_int);
    return *numbers || is_left_out(object);
}
bool wfpy_take_int64s(wfpy_call *call, PyObject *object, int64_t n, const int64_t **numbers)
{
    *numbers = is_left_out(object) ? NULL : take_numbers(call, object, n, sizeof(int64_t), store_int64);
    return *numbers || is_left_out(object);
}
bool wfpy_take_doubles(wfpy_call *call, PyObject *object, int64_t n, const double **numbers)
{
    *numbers = is_left_out(object) ? NULL : take_numbers(call, object, n, sizeof(double), store_double);
    return *numbers || is_left_out(object);
}
bool wfpy_take_list(wfpy_call *call, PyObject *object, int64_t *n, const double **numbers)
{
    PyObject *items = wfpy_call_items(call, object);
    *n = items ? (int64_t)PyTuple_Size(items) : 0;
    return items && wfpy_take_doubles(call, items, *n, numbers);
}
bool wfpy_same_int64s(wfpy_call *call, int64_t value, int64_t n, const int64_t **numbers)
{
    int64_t *same = wfpy_call_memory(call, (size_t)n * sizeof *same);
    for (int64_t i = 0; same && i < n; ++i)
        same[i] = value;
    *numbers = same;
    return same != NULL;
}
bool wfpy_take_member(wfpy_call *call, PyObject *object, int64_t n, int most, double *numbers)
{
    const double *taken;
    if (is_left_out(object))
        return true;
    if (n < 0 || n > most)
        n = most; /* the function says what is wrong */
    if (!(taken = take_numbers(call, object, n, sizeof(double), store_double)))
        return false;
    memcpy(numbers, taken, (size_t)n * sizeof *taken);
    return true;
}

int64_t wfpy_mask_axes(const wf_array *array, const wf_mask *mask)
{
    return mask->axes ? mask->axes : wfpy_rank(array);
}
int64_t wfpy_mask_lengths(const wf_array *array, const wf_mask *mask, int shape)
{
    return shape == WF_MASK_SPHERE ? 1 : shape == WF_MASK_CYLINDER ? 2 : wfpy_mask_axes(array, mask);
}

/* Returns the rows of a matrix [n, n] one after another, or the object itself if it has other elements than n sequences. */
static PyObject *joined_rows(wfpy_call *call, PyObject *object, int64_t n)
{
    PyObject *rows = is_left_out(object) ? NULL : wfpy_call_items(call, object), *joined = NULL;
    if (!rows || PyTuple_Size(rows) != n || !PySequence_Check(PyTuple_GetItem(rows, 0)))
        return PyErr_Occurred() ? NULL : object;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *row = wfpy_call_items(call, PyTuple_GetItem(rows, i));
        joined = !row ? NULL : joined ? PySequence_Concat(joined, row) : Py_NewRef(row);
        if (!joined || !own(call, joined, NULL))
            return NULL;
    }
    return joined;
}

bool wfpy_take_mask_rotation(wfpy_call *call, PyObject *object, const wf_array *array, wf_mask *mask)
{
    const int64_t axes = wfpy_mask_axes(array, mask);
    if (axes < 1 || axes > 3) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "%s(): a mask has 1 to 3 axes", call->signature->name);
        return false;
    }
    PyObject *numbers = joined_rows(call, object, axes);
    return !PyErr_Occurred() && wfpy_take_doubles(call, numbers, axes * axes, &mask->rotation);
}

bool wfpy_take_spectrum(wfpy_call *call, PyObject *object, wf_spectrum *spectrum)
{
    static const wfpy_name layouts[] = {
        { "h", WF_LAYOUT_H }, { "hc", WF_LAYOUT_HC }, { "f", WF_LAYOUT_F }, { "fc", WF_LAYOUT_FC }, { NULL, 0 }
    };
    PyObject *size = object, *layout = NULL, *dtype = NULL;
    *spectrum = (wf_spectrum){ 0 };
    if (PyTuple_Check(object) && PyTuple_Size(object) > 0 && PyTuple_Size(object) <= 3 &&
        PySequence_Check(PyTuple_GetItem(object, 0))) {
        size = PyTuple_GetItem(object, 0);
        layout = PyTuple_Size(object) > 1 ? PyTuple_GetItem(object, 1) : NULL;
        dtype = PyTuple_Size(object) > 2 ? PyTuple_GetItem(object, 2) : NULL;
    }
    wf_shape shape;
    int number = WF_LAYOUT_H;
    wf_dtype real = WF_NONE;
    if (!wfpy_shape(size, false, &shape) || !wfpy_take_name(call, layout, layouts, &number) ||
        !wfpy_take_dtype(call, dtype, &real))
        return false;
    if (shape.rank > 3) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "%s(): a spectrum has 1 to 3 axes", call->signature->name);
        return false;
    }
    spectrum->layout = (wf_layout)number;
    spectrum->dtype = real;
    spectrum->rank = shape.rank;
    for (int i = 0; i < shape.rank; ++i)
        spectrum->size[i] = shape.dim[i];
    return true;
}
