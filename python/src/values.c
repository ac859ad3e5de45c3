/* values.c - weft.Value and weft.Variable: values of a recording, made of operations, reads and parts of other values. */
#include <string.h>

#include "weft_python.h"

static wfpy_value *self_value(PyObject *self) { return (wfpy_value *)self; }

static PyObject *make(PyTypeObject *type, PyObject *graph, wf_val val)
{
    wfpy_value *made = PyObject_New(wfpy_value, type);
    if (made) {
        made->val = val;
        made->graph = Py_NewRef(graph);
        made->weak = WF_KIND_NONE;
    }
    return (PyObject *)made;
}

PyObject *wfpy_value_new(PyObject *graph, wf_val val)
{
    double re, im;
    if (wf_val_number(val, &re, &im))
        return im == 0 ? PyFloat_FromDouble(re) : PyComplex_FromDoubles(re, im);
    if (val.h.num != 0)
        return make(wfpy.value, graph, val);
    return wfpy_graph_fail(graph);
}

PyObject *wfpy_value_weak(PyObject *graph, wf_val val)
{
    PyObject *made = wfpy_value_new(graph, val);
    if (made && Py_TYPE(made) == wfpy.value) {
        wf_kind kind = wf_dtype_kind(wf_val_dtype(val));
        self_value(made)->weak = kind == WF_KIND_BOOL ? WF_KIND_NONE : kind;
    }
    return made;
}

PyObject *wfpy_variable_new(PyObject *graph, wf_var var)
{
    if (!var.graph || var.num == 0)
        return wfpy_graph_fail(graph);
    return make(wfpy.variable, graph, (wf_val){ var });
}

static void value_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self_value(self)->graph);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* The value while its recording is open. */
static bool open_value(PyObject *self, wf_val *val)
{
    *val = self_value(self)->val;
    return wfpy_graph_of(self_value(self)->graph) != NULL;
}
static PyObject *result(PyObject *self, wf_val val) { return wfpy_value_new(self_value(self)->graph, val); }

static PyObject *get_dtype(PyObject *self, void *closure)
{
    wf_val v;
    (void)closure;
    return open_value(self, &v) ? wfpy_dtype_object(wf_val_dtype(v)) : NULL;
}
static PyObject *get_shape(PyObject *self, void *closure)
{
    wf_val v;
    (void)closure;
    if (!open_value(self, &v))
        return NULL;
    wf_shape shape = wf_val_shape(v);
    return wfpy_shape_object(&shape);
}
static PyObject *get_ndim(PyObject *self, void *closure)
{
    wf_val v;
    (void)closure;
    return open_value(self, &v) ? PyLong_FromLong(wf_val_shape(v).rank) : NULL;
}
static PyObject *get_weak(PyObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(self_value(self)->weak != WF_KIND_NONE);
}
static PyObject *get_graph(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(self_value(self)->graph);
}
static PyObject *get_transposed(PyObject *self, void *closure)
{
    wf_val v;
    int axes[WF_MAX_RANK];
    (void)closure;
    if (!open_value(self, &v))
        return NULL;
    for (int i = 0, n = wf_val_shape(v).rank; i < n; ++i)
        axes[i] = n - 1 - i;
    return result(self, (wf_permute)(v, axes));
}

static PyObject *value_repr(PyObject *self)
{
    wfpy_value *v = self_value(self);
    const char *kind = Py_TYPE(self) == wfpy.variable ? "Variable" : "Value";
    if (!((wfpy_graph *)v->graph)->graph)
        return PyUnicode_FromFormat("<weft.%s of a recording that has ended>", kind);
    wf_shape shape = wf_val_shape(v->val);
    char text[160];
    wf_shape_text(&shape, text, sizeof text);
    return PyUnicode_FromFormat("<weft.%s %s %s>", kind, wf_dtype_name(wf_val_dtype(v->val)), text);
}

static int value_bool(PyObject *self)
{
    (void)self;
    PyErr_SetString(
        PyExc_TypeError,
        "a value is not known while it is recorded, so Python cannot branch on it; `if`, `while`, `in`, `min`, "
        "`max`, `any` and `all` of a traced function record it, as weft.where and `with g.if_(...)` do; assert, "
        "match and functions such as sorted cannot");
    return -1;
}
static PyObject *value_float(PyObject *self)
{
    (void)self;
    PyErr_SetString(PyExc_TypeError,
                    "a value is not known while it is recorded; weft.f32(x) and the like convert values");
    return NULL;
}
static PyObject *value_iter(PyObject *self)
{
    (void)self;
    PyErr_SetString(PyExc_TypeError, "a value of a recording cannot be iterated over");
    return NULL;
}

/* ---- methods ---- */

static PyObject *astype(PyObject *self, PyObject *object)
{
    wf_dtype dtype;
    return wfpy_dtype(object, &dtype) ? wfpy_cast(self, dtype) : NULL;
}
static PyObject *bitcast(PyObject *self, PyObject *object)
{
    wf_val v;
    wf_dtype dtype;
    return wfpy_dtype(object, &dtype) && open_value(self, &v) ? result(self, (wf_bitcast)(v, dtype)) : NULL;
}
static PyObject *weak(PyObject *self, PyObject *none)
{
    wf_val v;
    (void)none;
    return open_value(self, &v) ? wfpy_value_weak(self_value(self)->graph, v) : NULL;
}
static PyObject *label(PyObject *self, PyObject *text)
{
    wf_val v;
    const char *name = wfpy_utf8(text);
    if (!name || !open_value(self, &v))
        return NULL;
    wf_label(v, name);
    return Py_NewRef(self);
}
static PyObject *reshape(PyObject *self, PyObject *args)
{
    wf_val v;
    wf_shape shape;
    PyObject *extents = wfpy_sequence_of(args);
    bool right = wfpy_shape(extents, true, &shape) && open_value(self, &v);
    Py_DECREF(extents);
    return right ? result(self, (wf_reshape)(v, shape)) : NULL;
}
static PyObject *transpose(PyObject *self, PyObject *args)
{
    wf_val v;
    wf_shape order = { 0 };
    int axes[WF_MAX_RANK];
    if (PyTuple_Size(args) == 0)
        return get_transposed(self, NULL);
    PyObject *sequence = wfpy_sequence_of(args);
    bool right = wfpy_shape(sequence, false, &order) && open_value(self, &v);
    Py_DECREF(sequence);
    if (!right)
        return NULL;
    if (order.rank != wf_val_shape(v).rank)
        return PyErr_Format(wfpy.error[WF_ERR_ARG], "transpose: %d axes are named, and the value has %d", order.rank,
                            wf_val_shape(v).rank);
    for (int i = 0; i < order.rank; ++i)
        axes[i] = (int)order.dim[i];
    return result(self, (wf_permute)(v, axes));
}
static PyObject *broadcast_to(PyObject *self, PyObject *object)
{
    wf_val v;
    wf_shape shape;
    return wfpy_shape(object, false, &shape) && open_value(self, &v) ? result(self, (wf_broadcast)(v, shape)) : NULL;
}

/* A reduction, which drops the axes unless `keepdims`. */
static PyObject *reduce_by(PyObject *self, PyObject *args, PyObject *keywords, wf_join join)
{
    static char *names[] = { "axis", "keepdims", NULL };
    PyObject *axis = Py_None;
    int keepdims = 0;
    wf_val v;
    wf_axes axes;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$p", names, &axis, &keepdims) || !open_value(self, &v) ||
        !wfpy_axes(axis, wf_val_shape(v).rank, &axes))
        return NULL;
    wf_shape shape = wf_val_shape(v), kept = { 0 };
    v = (wf_reduce)(join, v, axes);
    for (int i = 0; i < shape.rank; ++i)
        if (!(axes & 1u << i))
            kept.dim[kept.rank++] = shape.dim[i];
    return result(self, keepdims || kept.rank == shape.rank ? v : (wf_reshape)(v, kept));
}
#define REDUCTION(name, join)                                                 \
    static PyObject *name(PyObject *self, PyObject *args, PyObject *keywords) \
    {                                                                         \
        return reduce_by(self, args, keywords, join);                         \
    }
REDUCTION(sum, WF_JOIN_ADD)
REDUCTION(prod, WF_JOIN_MUL)
REDUCTION(min, WF_JOIN_MIN)
REDUCTION(max, WF_JOIN_MAX)
REDUCTION(all, WF_JOIN_AND)
REDUCTION(any, WF_JOIN_OR)

/* The elements so far along an axis, joined. */
static PyObject *scan_by(PyObject *self, PyObject *args, PyObject *keywords, wf_join join)
{
    static char *names[] = { "axis", "exclusive", "reversed", NULL };
    int axis = -1, exclusive = 0, reversed = 0;
    wf_val v;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|i$pp", names, &axis, &exclusive, &reversed) ||
        !open_value(self, &v))
        return NULL;
    axis += axis < 0 ? wf_val_shape(v).rank : 0;
    return result(self, (wf_scan)(join, v, axis, exclusive, reversed));
}
#define SCAN(name, join)                                                      \
    static PyObject *name(PyObject *self, PyObject *args, PyObject *keywords) \
    {                                                                         \
        return scan_by(self, args, keywords, join);                           \
    }
SCAN(cumsum, WF_JOIN_ADD)
SCAN(cumprod, WF_JOIN_MUL)

static PyObject *keep(PyObject *self, PyObject *none)
{
    wf_val v;
    (void)none;
    if (!open_value(self, &v))
        return NULL;
    wf_array *array = (wf_keep)(v);
    return array ? wfpy_array_new(array) : wfpy_graph_fail(self_value(self)->graph);
}

/* Operands of a value's recording from a tuple. False: an exception. */
static bool operands_of(PyObject *self, PyObject *tuple, wf_val *at, Py_ssize_t most)
{
    const Py_ssize_t n = PyTuple_Size(tuple);
    if (n > most)
        PyErr_Format(PyExc_TypeError, "%zd values, and at most %zd are possible", n, most);
    for (Py_ssize_t i = 0; i < n && n <= most; ++i)
        if (!wfpy_operand(PyTuple_GetItem(tuple, i), self_value(self)->graph, &at[i]))
            return false;
    return n <= most;
}

/* _gather(indices): one index for each axis. */
static PyObject *gather(PyObject *self, PyObject *indices)
{
    wf_val v, at[WF_MAX_RANK];
    if (!PyTuple_Check(indices) || !open_value(self, &v) || !operands_of(self, indices, at, WF_MAX_RANK))
        return NULL;
    return result(self, wf_gather_n(v, (wf_vals){ at, (size_t)PyTuple_Size(indices) }));
}

/* _concat(values, axis): values of one dtype, after each other; the value itself says which recording. */
static PyObject *concat(PyObject *self, PyObject *args)
{
    enum { MOST = 256 };
    wf_val v, at[MOST];
    PyObject *values;
    int axis;
    if (!PyArg_ParseTuple(args, "O!i", &PyTuple_Type, &values, &axis) || !open_value(self, &v) ||
        !operands_of(self, values, at, MOST))
        return NULL;
    return result(self, wf_concat_n((wf_vals){ at, (size_t)PyTuple_Size(values) }, axis));
}

/* value[key] of an array graph: numbers, slices, None and Ellipsis; weft._values does other keys. */
static PyObject *get_item(PyObject *self, PyObject *key)
{
    wf_val v;
    if (!open_value(self, &v))
        return NULL;
    const bool tuple = PyTuple_Check(key);
    Py_ssize_t n = tuple ? PyTuple_Size(key) : 1;
    wf_shape from = wf_val_shape(v), shape = { 0 };
    int axis = 0, named = 0;
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *part = tuple ? PyTuple_GetItem(key, i) : key;
        named += part != Py_None && part != Py_Ellipsis;
    }
    if (named > from.rank)
        return PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "%d indices for a value of %d axes", named, from.rank);
    for (Py_ssize_t i = 0; i <= n; ++i) {
        PyObject *part = i == n ? Py_Ellipsis : tuple ? PyTuple_GetItem(key, i) : key;
        int64_t extent = axis < from.rank ? from.dim[axis] : 0;
        int64_t added = -2; /* no axis of the result */
        if (part == Py_Ellipsis) {
            for (int skip = from.rank - named; skip > 0 && shape.rank < WF_MAX_RANK; --skip)
                shape.dim[shape.rank++] = from.dim[axis++];
            named = from.rank;
        } else if (part == Py_None)
            added = 1;
        else if (PySlice_Check(part)) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(part, &start, &stop, &step) < 0)
                return NULL;
            Py_ssize_t count = PySlice_AdjustIndices((Py_ssize_t)extent, &start, &stop, step);
            if (count != extent || step != 1)
                v = (wf_slice)(v, axis, count ? start : 0,
                               !count                 ? 0
                               : step < 0 && stop < 0 ? WF_END_INDEX
                                                      : stop,
                               count ? step : 1);
            added = count;
            ++axis;
        } else if (PyIndex_Check(part) && !wfpy_is_array(part)) {
            Py_ssize_t at = PyNumber_AsSsize_t(part, PyExc_IndexError);
            if (at == -1 && PyErr_Occurred()) {
                if (!PyErr_ExceptionMatches(PyExc_TypeError))
                    return NULL;
                PyErr_Clear(); /* an array of NumPy */
                return PyObject_CallMethod(self, "_take", "(O)", key);
            }
            if (at < -extent || at >= extent)
                return PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "index %zd of axis %d, which has %lld elements", at,
                                    axis, (long long)extent);
            at += at < 0 ? (Py_ssize_t)extent : 0;
            v = (wf_slice)(v, axis, at, at + 1, 1);
            ++axis;
        } else
            return PyObject_CallMethod(self, "_take", "(O)", key);
        if (added >= 0) {
            if (shape.rank == WF_MAX_RANK)
                return PyErr_Format(wfpy.error[WF_ERR_SHAPE], "a value has at most %d axes", WF_MAX_RANK);
            shape.dim[shape.rank++] = added;
        }
    }
    return result(self, (wf_reshape)(v, shape));
}

/* ---- variables ---- */

static PyObject *set(PyObject *self, PyObject *value)
{
    wf_val v, to;
    if (!open_value(self, &to) || !wfpy_operand(value, self_value(self)->graph, &v))
        return NULL;
    (wf_set)(to.h, v);
    if (wf_graph_status(to.h.graph) != WF_OK)
        return wfpy_graph_fail(self_value(self)->graph);
    Py_RETURN_NONE;
}
static PyObject *get(PyObject *self, PyObject *none)
{
    wf_val v;
    (void)none;
    return open_value(self, &v) ? result(self, wf_get(v.h)) : NULL;
}
static PyObject *other(PyObject *self, PyObject *none)
{
    wf_val v;
    (void)none;
    return open_value(self, &v) ? wfpy_variable_new(self_value(self)->graph, wf_other(v.h)) : NULL;
}

static PyGetSetDef properties[] = {
    { "dtype", get_dtype, NULL, "The dtype, known while recording.", NULL },
    { "shape", get_shape, NULL, "The shape in an array graph; () in an index space.", NULL },
    { "ndim", get_ndim, NULL, "The number of axes.", NULL },
    { "graph", get_graph, NULL, "The recording.", NULL },
    { "is_weak", get_weak, NULL, "True if the dtype gives way to that of an operand beside it.", NULL },
    { "T", get_transposed, NULL, "The value with the axes in reverse order.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
#define REDUCE_METHOD(name, what)                                                                                     \
    {                                                                                                                 \
#name, WFPY_FUNCTION(name), METH_VARARGS | METH_KEYWORDS, #name "(axis=None, *, keepdims=False)\n--\n\n" what \
    }
#define SHARED_METHODS                                                                                       \
    { "astype", astype, METH_O, "astype(dtype)\n--\n\nThe value converted." },                               \
        { "bitcast", bitcast, METH_O, "bitcast(dtype)\n--\n\nThe same bits as a dtype of the same size." },  \
    {                                                                                                        \
        "label", label, METH_O, "label(text)\n--\n\nNames the value for dumps and messages, and returns it." \
    }
static PyMethodDef value_methods[] = {
    SHARED_METHODS,
    { "weak", weak, METH_NOARGS,
      "weak()\n--\n\nThe value with a dtype that gives way to that of an operand beside it, as a Python number's." },
    { "reshape", reshape, METH_VARARGS, "reshape(*shape)\n--\n\nAnother shape, elements in C order." },
    { "transpose", transpose, METH_VARARGS, "transpose(*axes)\n--\n\nAxis d of the result is axes[d]." },
    { "broadcast_to", broadcast_to, METH_O, "broadcast_to(shape)\n--\n\nBroadcasts by NumPy's rule." },
    REDUCE_METHOD(sum, "The sum over axes."),
    REDUCE_METHOD(prod, "The product over axes."),
    REDUCE_METHOD(min, "The smallest element over axes."),
    REDUCE_METHOD(max, "The largest element over axes."),
    REDUCE_METHOD(all, "True where all are true."),
    REDUCE_METHOD(any, "True where any is true."),
    { "cumsum", WFPY_FUNCTION(cumsum), METH_VARARGS | METH_KEYWORDS,
      "cumsum(axis=-1, *, exclusive=False, reversed=False)\n--\n\nThe sum of the elements so far along an axis." },
    { "cumprod", WFPY_FUNCTION(cumprod), METH_VARARGS | METH_KEYWORDS,
      "cumprod(axis=-1, *, exclusive=False, reversed=False)\n--\n\nThe product of the elements so far along an axis." },
    { "_gather", gather, METH_O, NULL },
    { "_concat", concat, METH_VARARGS, NULL },
    { "keep", keep, METH_NOARGS, "keep()\n--\n\nThe value as an array, which is ready after the recording has run." },
    { NULL, NULL, 0, NULL },
};
static PyMethodDef variable_methods[] = {
    SHARED_METHODS,
    { "set", set, METH_O, "set(value)\n--\n\nAssigns, and converts to the variable's dtype." },
    { "get", get, METH_NOARGS, "get()\n--\n\nThe value that the variable has here." },
    { "other", other, METH_NOARGS, "other()\n--\n\nThe other partial result, in the section that joins." },
    { NULL, NULL, 0, NULL },
};
#define COMMON_SLOTS                                                                            \
    { Py_tp_dealloc, value_dealloc }, { Py_tp_repr, value_repr }, { Py_tp_getset, properties }, \
        { Py_nb_bool, value_bool }, { Py_nb_float, value_float }, { Py_nb_int, value_float },   \
    {                                                                                           \
        Py_tp_iter, value_iter                                                                  \
    }
static const PyType_Slot value_slots[] = {
    { Py_tp_doc, "Value\n--\n\nA value of a recording: of one point, or of a whole lazy array." },
    { Py_tp_methods, value_methods },
    { Py_mp_subscript, get_item },
    COMMON_SLOTS,
    { 0, NULL },
};
static const PyType_Slot variable_slots[] = {
    { Py_tp_doc, "Variable\n--\n\nA variable of a recording. Every use reads it; x += 1 and x.set(value) assign." },
    { Py_tp_methods, variable_methods },
    COMMON_SLOTS,
    { 0, NULL },
};

int wfpy_add_values(PyObject *module)
{
    PyType_Slot slots[96];
    wfpy_join_slots(value_slots, slots, sizeof slots / sizeof *slots);
    PyType_Spec value = { "weft.Value", sizeof(wfpy_value), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          slots };
    if (!(wfpy.value = wfpy_add_type(module, &value)))
        return -1;
    wfpy_join_slots(variable_slots, slots, sizeof slots / sizeof *slots);
    PyType_Spec variable = { "weft.Variable", sizeof(wfpy_value), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };
    if (!(wfpy.variable = wfpy_add_type(module, &variable)))
        return -1;
    return wfpy_add_operations(module);
}
