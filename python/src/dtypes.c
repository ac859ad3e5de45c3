/* dtypes.c - the dtypes and what Python, NumPy and the buffer protocol call them. */
#include <string.h>

#include "weft_python.h"

typedef struct dtype_object {
    PyObject_HEAD wf_dtype dtype;
} dtype_object;

/* Names beside wf_dtype_name: NumPy's, which the array API standard has, too, and the format of the buffer protocol. */
static const struct {
    const char *numpy, *format;
} names[WF_C128 + 1] = {
    [WF_BOOL] = { "bool", "?" },        [WF_I8] = { "int8", "b" },        [WF_U8] = { "uint8", "B" },
    [WF_I16] = { "int16", "h" },        [WF_U16] = { "uint16", "H" },     [WF_I32] = { "int32", "i" },
    [WF_U32] = { "uint32", "I" },       [WF_I64] = { "int64", "q" },      [WF_U64] = { "uint64", "Q" },
    [WF_F16] = { "float16", "e" },      [WF_BF16] = { "bfloat16", NULL }, [WF_F32] = { "float32", "f" },
    [WF_F64] = { "float64", "d" },      [WF_C32] = { "complex32", NULL }, [WF_C64] = { "complex64", "Zf" },
    [WF_C128] = { "complex128", "Zd" },
};

const char *wfpy_format_of_dtype(wf_dtype dtype) { return names[dtype].format; }

wf_dtype wfpy_dtype_of_format(const char *format, Py_ssize_t itemsize)
{
    if (!format)
        return itemsize == 1 ? WF_U8 : WF_NONE;
    if (*format == '>' || *format == '!')
        return itemsize == 1 ? wfpy_dtype_of_format(format + 1, itemsize) : WF_NONE;
    format += *format == '@' || *format == '=' || *format == '<';
    if (format[0] == 'Z' && format[1] && !format[2])
        return itemsize == 8 ? WF_C64 : itemsize == 16 && format[1] == 'd' ? WF_C128 : WF_NONE;
    if (!format[0] || format[1])
        return WF_NONE;
    switch (format[0]) { /* the letters of integers mean other sizes on other systems */
    case '?':
        return itemsize == 1 ? WF_BOOL : WF_NONE;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
        return itemsize == 1 ? WF_I8 : itemsize == 2 ? WF_I16 : itemsize == 4 ? WF_I32 : WF_I64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
        return itemsize == 1 ? WF_U8 : itemsize == 2 ? WF_U16 : itemsize == 4 ? WF_U32 : WF_U64;
    case 'e':
        return WF_F16;
    case 'f':
        return WF_F32;
    case 'd':
        return WF_F64;
    default:
        return WF_NONE;
    }
}

static wf_dtype named(const char *name)
{
    const char *dot = strrchr(name, '.'); /* str(torch.float32) is "torch.float32" */
    name = dot ? dot + 1 : name;
    const bool typestr = *name == '<' || *name == '=' || *name == '|'; /* of NumPy, which counts bytes: "<i8" */
    name += typestr;
    for (int d = WF_BOOL; !typestr && d <= WF_C128; ++d)
        if (strcmp(name, names[d].numpy) == 0 || strcmp(name, wf_dtype_name((wf_dtype)d)) == 0)
            return (wf_dtype)d;
    static const struct {
        const char *name;
        wf_dtype dtype;
    } others[] = { { "bool_", WF_BOOL },
                   { "float", WF_F64 },
                   { "int", WF_I64 },
                   { "complex", WF_C128 },
                   { "half", WF_F16 },
                   { "single", WF_F32 },
                   { "double", WF_F64 },
                   { "b1", WF_BOOL },
                   { "i1", WF_I8 },
                   { "u1", WF_U8 },
                   { "i2", WF_I16 },
                   { "u2", WF_U16 },
                   { "i4", WF_I32 },
                   { "u4", WF_U32 },
                   { "f2", WF_F16 },
                   { "f4", WF_F32 },
                   { "f8", WF_F64 },
                   { "c8", WF_C64 },
                   { "c16", WF_C128 },
                   { "i8", WF_I64 },
                   { "u8", WF_U64 },
                   { "?", WF_BOOL },
                   { "b", WF_I8 },
                   { "B", WF_U8 },
                   { "h", WF_I16 },
                   { "H", WF_U16 },
                   { "i", WF_I32 },
                   { "I", WF_U32 },
                   { "q", WF_I64 },
                   { "Q", WF_U64 },
                   { "e", WF_F16 },
                   { "f", WF_F32 },
                   { "d", WF_F64 },
                   { "F", WF_C64 },
                   { "D", WF_C128 },
                   { "l", sizeof(long) == 8 ? WF_I64 : WF_I32 },
                   { "L", sizeof(long) == 8 ? WF_U64 : WF_U32 } };
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (strcmp(name, others[i].name) == 0)
            return others[i].dtype;
    return WF_NONE;
}

static wf_dtype dtype_of_text(PyObject *text)
{
    const char *name = text && PyUnicode_Check(text) ? wfpy_utf8(text) : NULL;
    return name ? named(name) : WF_NONE;
}

bool wfpy_dtype(PyObject *object, wf_dtype *dtype)
{
    if (Py_TYPE(object) == wfpy.dtype) {
        *dtype = ((dtype_object *)object)->dtype;
        return true;
    }
    wf_dtype found = WF_NONE;
    if (PyUnicode_Check(object))
        found = dtype_of_text(object);
    else {
        PyObject *name = NULL;
        if (PyType_Check(object))
            name = PyObject_GetAttrString(object, "__name__");
        else if (!(name = PyObject_GetAttrString(object, "name"))) {
            PyErr_Clear();
            name = PyObject_Str(object);
        }
        found = dtype_of_text(name);
        Py_XDECREF(name);
        PyErr_Clear();
    }
    if (found == WF_NONE) {
        PyErr_Format(wfpy.error[WF_ERR_DTYPE], "%R is no dtype of weft", object);
        return false;
    }
    *dtype = found;
    return true;
}

PyObject *wfpy_dtype_object(wf_dtype dtype) { return Py_NewRef(dtype == WF_NONE ? Py_None : wfpy.dtypes[dtype]); }

static wf_dtype self_dtype(PyObject *self) { return ((dtype_object *)self)->dtype; }
static PyObject *dtype_repr(PyObject *self) { return PyUnicode_FromFormat("weft.%s", wf_dtype_name(self_dtype(self))); }
static PyObject *dtype_str(PyObject *self) { return PyUnicode_FromString(wf_dtype_name(self_dtype(self))); }
static PyObject *dtype_name(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(names[self_dtype(self)].numpy);
}
static PyObject *dtype_itemsize(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromSize_t(wf_dtype_size(self_dtype(self)));
}
static PyObject *dtype_kind(PyObject *self, void *closure)
{
    static const char letters[] = "?biufc";
    (void)closure;
    return PyUnicode_FromStringAndSize(letters + wf_dtype_kind(self_dtype(self)), 1);
}
static PyObject *dtype_part(PyObject *self, void *closure)
{
    (void)closure;
    return wfpy_dtype_object(wf_dtype_part(self_dtype(self)));
}
static PyObject *dtype_numpy(PyObject *self, void *closure)
{
    (void)closure;
    const bool bfloat = self_dtype(self) == WF_BF16;
    PyObject *module = PyImport_ImportModule(bfloat ? "ml_dtypes" : "numpy");
    PyObject *type = module ? PyObject_GetAttrString(module, names[self_dtype(self)].numpy) : NULL;
    Py_XDECREF(module);
    PyObject *numpy = type ? PyImport_ImportModule("numpy") : NULL;
    PyObject *made = numpy ? PyObject_CallMethod(numpy, "dtype", "O", type) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(numpy);
    return made;
}
static PyObject *dtype_compare(PyObject *self, PyObject *other, int op)
{
    wf_dtype dtype;
    if (op != Py_EQ && op != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    bool equal = other != Py_None && wfpy_dtype(other, &dtype) && dtype == self_dtype(self);
    PyErr_Clear();
    return PyBool_FromLong(equal == (op == Py_EQ));
}
static Py_hash_t dtype_hash(PyObject *self) { return 1000 + (Py_hash_t)self_dtype(self); }
static PyObject *dtype_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *object;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "a dtype takes no keyword arguments");
        return NULL;
    }
    return PyArg_ParseTuple(args, "O", &object) ? wfpy_cast(object, self_dtype(self)) : NULL;
}
static PyObject *dtype_reduce(PyObject *self, PyObject *none)
{
    (void)none;
    return dtype_str(self); /* pickle finds the name in the module */
}

static PyGetSetDef dtype_properties[] = {
    { "name", dtype_name, NULL, "NumPy's name, such as \"float32\".", NULL },
    { "itemsize", dtype_itemsize, NULL, "Bytes of an element.", NULL },
    { "kind", dtype_kind, NULL, "NumPy's letter: b, i, u, f or c.", NULL },
    { "part", dtype_part, NULL, "The dtype of the parts of complex numbers; else the dtype itself.", NULL },
    { "dtype", dtype_numpy, NULL, "The same as a numpy.dtype, so that NumPy's functions take dtypes of weft.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef dtype_methods[] = {
    { "__reduce__", dtype_reduce, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot dtype_slots[] = {
    { Py_tp_doc, "DType\n--\n\nA type of elements. A call converts: weft.f32(x) is x.astype(weft.f32)." },
    { Py_tp_repr, dtype_repr },
    { Py_tp_str, dtype_str },
    { Py_tp_hash, dtype_hash },
    { Py_tp_richcompare, dtype_compare },
    { Py_tp_call, dtype_call },
    { Py_tp_getset, dtype_properties },
    { Py_tp_methods, dtype_methods },
    { 0, NULL },
};
static PyType_Spec dtype_spec = { "weft.DType", sizeof(dtype_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots };

int wfpy_add_dtypes(PyObject *module)
{
    if (!(wfpy.dtype = wfpy_add_type(module, &dtype_spec)))
        return -1;
    for (int d = WF_BOOL; d <= WF_C128; ++d) {
        dtype_object *made = PyObject_New(dtype_object, wfpy.dtype);
        if (!made)
            return -1;
        made->dtype = (wf_dtype)d;
        wfpy.dtypes[d] = (PyObject *)made;
        const char *name = d == WF_BOOL ? "bool_" : wf_dtype_name((wf_dtype)d);
        if (PyModule_AddObjectRef(module, name, wfpy.dtypes[d]) < 0)
            return -1;
    }
    return 0;
}
