/* files.c - files of arrays: loading, saving, parts, movies. weft/files.py has the functions that users call; here metadata
 * is a dict with the fields of wf_meta. */
#include <string.h>

#include <weft/io.h>

#include "wrap.h"

/* ---- metadata ---- */

static PyObject *numbers(const double *at, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; ++i)
        PyTuple_SetItem(tuple, i, PyFloat_FromDouble(at[i]));
    return tuple;
}
static PyObject *integers(const int32_t *at, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; ++i)
        PyTuple_SetItem(tuple, i, PyLong_FromLong(at[i]));
    return tuple;
}

static PyObject *dict_of(const wf_meta *m)
{
    PyObject *labels = PyList_New(0);
    for (int i = 0; labels && i < WF_MRC_LABELS; ++i) {
        PyObject *text =
            m->labels[i][0] ? PyUnicode_DecodeLatin1(m->labels[i], (Py_ssize_t)strlen(m->labels[i]), NULL) : NULL;
        if (text && PyList_Append(labels, text) < 0)
            Py_CLEAR(labels);
        Py_XDECREF(text);
    }
    if (!labels)
        return NULL;
    return Py_BuildValue(
        "{s:z,s:z,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:N,s:i,s:i,s:s,s:i,s:i,s:N}", "format",
        wf_format_name(m->format), "stored", wf_stored_name(m->stored), "spacing", numbers(m->spacing, 3), "origin",
        numbers(m->origin, 3), "angles", numbers(m->angles, 3), "is_stack", PyBool_FromLong(m->is_stack), "lzw",
        PyBool_FromLong(m->lzw), "deflate", PyBool_FromLong(m->deflate), "zstd", PyBool_FromLong(m->zstd), "labels",
        labels, "extent", integers(m->extent, 3), "cell", integers(m->cell, 3), "start", integers(m->start, 3),
        "space_group", (int)m->space_group, "extended_bytes", (int)m->extended_bytes, "extended_type", m->extended_type,
        "channels", (int)m->channels, "levels", (int)m->levels, "level", PyUnicode_DecodeFSDefault(m->level));
}

typedef struct source {
    wfpy_call *call;
    PyObject *dict;
} source;
/* The entry of a dict, borrowed; NULL: there is none, or it is None. */
static PyObject *entry(const source *s, const char *name)
{
    PyObject *key = PyUnicode_FromString(name), *found = key ? PyDict_GetItemWithError(s->dict, key) : NULL;
    Py_XDECREF(key);
    return found == Py_None ? NULL : found;
}
static bool take_int32s(const source *s, const char *name, int32_t *to)
{
    double wide[3] = { 0 };
    if (!wfpy_take_member(s->call, entry(s, name), 3, 3, wide))
        return false;
    for (int i = 0; i < 3; ++i) {
        if (!(wide[i] >= INT32_MIN && wide[i] <= INT32_MAX)) {
            PyErr_Format(PyExc_OverflowError, "%s() takes meta with a number of %s that is too large",
                         s->call->signature->name, name);
            return false;
        }
        to[i] = (int32_t)wide[i];
    }
    return true;
}
static bool take_named(const source *s, const char *field, const char *(*name_of)(int), int *to)
{
    const char *text = NULL;
    PyObject *object = entry(s, field);
    if (!wfpy_take_text(s->call, object, &text))
        return false;
    if (!text)
        return true;
    for (int i = 1; i < 64; ++i) {
        const char *name = name_of(i);
        if (name && PyOS_mystricmp(text, name) == 0) {
            *to = i;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "%s(): %R is no %s", s->call->signature->name, object, field);
    return false;
}
static const char *format_name(int i) { return wf_format_name((wf_format)i); }
static const char *stored_name(int i) { return wf_stored_name((wf_stored)i); }

static bool take_labels(const source *s, wf_meta *m)
{
    PyObject *labels = entry(s, "labels"), *items = labels ? PySequence_Tuple(labels) : NULL;
    if (labels && !items)
        return false;
    for (Py_ssize_t i = 0, n = items ? PyTuple_Size(items) : 0; i < n && i < WF_MRC_LABELS; ++i) {
        const char *text = NULL;
        if (!wfpy_take_text(s->call, PyTuple_GetItem(items, i), &text)) {
            Py_DECREF(items);
            return false;
        }
        strncpy(m->labels[i], text, sizeof m->labels[i] - 1);
    }
    Py_XDECREF(items);
    return true;
}

/* Fills `m` from a dict or None. */
static bool take_meta(wfpy_call *call, PyObject *dict, wf_meta *m)
{
    const source s = { call, dict };
    *m = (wf_meta){ .size = sizeof *m };
    if (!dict || dict == Py_None)
        return true;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "%s() takes meta as a dict", call->signature->name);
        return false;
    }
    int format = 0, stored = 0, store_as = 0;
    bool done =
        take_named(&s, "format", format_name, &format) && take_named(&s, "stored", stored_name, &stored) &&
        take_named(&s, "store_as", stored_name, &store_as) &&
        wfpy_take_member(call, entry(&s, "spacing"), 3, 3, m->spacing) &&
        wfpy_take_member(call, entry(&s, "origin"), 3, 3, m->origin) &&
        wfpy_take_member(call, entry(&s, "angles"), 3, 3, m->angles) &&
        wfpy_take_bool(call, entry(&s, "is_stack"), &m->is_stack) && wfpy_take_bool(call, entry(&s, "lzw"), &m->lzw) &&
        wfpy_take_bool(call, entry(&s, "deflate"), &m->deflate) && wfpy_take_bool(call, entry(&s, "zstd"), &m->zstd) &&
        wfpy_take_bool(call, entry(&s, "durable"), &m->durable) && take_int32s(&s, "extent", m->extent) &&
        take_int32s(&s, "cell", m->cell) && take_int32s(&s, "start", m->start) &&
        wfpy_take_int32(call, entry(&s, "space_group"), &m->space_group) &&
        wfpy_take_text(call, entry(&s, "extended_from"), &m->extended_from) && take_labels(&s, m) &&
        wfpy_take_bool(call, entry(&s, "pyramid"), &m->pyramid) &&
        wfpy_take_int32(call, entry(&s, "coarsest"), &m->coarsest);
    m->format = (wf_format)format;
    m->stored = (wf_stored)stored;
    m->store_as = (wf_stored)store_as;
    return done && !PyErr_Occurred();
}

/* ---- whole files ---- */

/* A path: a text, or what os.fspath makes one of. Borrowed from the call. */
static bool take_path(wfpy_call *call, PyObject *object, const char **path)
{
    PyObject *text = PyOS_FSPath(object), *bytes = NULL;
    if (!text)
        return false;
    int done = PyUnicode_FSConverter(text, &bytes);
    Py_DECREF(text);
    if (!done)
        return false;
    const char *from = PyBytes_AsString(bytes);
    char *copy = wfpy_call_memory(call, (size_t)PyBytes_Size(bytes) + 1);
    if (copy)
        memcpy(copy, from, (size_t)PyBytes_Size(bytes));
    Py_DECREF(bytes);
    *path = copy;
    return copy != NULL;
}

/* Reading and writing take time, so the calls are long: they give up the GIL. */
typedef PyObject *function(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords);

static bool is_given(PyObject *object) { return object && object != Py_None; }

/* The distribution of the array in a file by `grid`, if that is given. All ranks find the same, or all raise. */
static bool take_file_dist(const char *path, wf_ranks *ranks, PyObject *grid, wf_dist *dist)
{
    wf_shape shape;
    wf_ranks_error error;
    if (!is_given(grid))
        return true;
    if (!ranks) {
        PyErr_Format(wfpy.error[WF_ERR_ARG], "weft.load(): grid %R needs the argument 'ranks'", grid);
        return false;
    }
    wfpy_released r = wfpy_release_gil(true);
    const wf_status own = wf_probe(wfpy.context, path, NULL, NULL, &shape);
    const wf_status all = wf_ranks_agree(ranks, own, wf_last_message(wfpy.context), &error);
    wfpy_take_gil(r);
    if (own != WF_OK)
        wfpy_raise();
    else if (all != WF_OK)
        wfpy_raise_status(all, error.text);
    return all == WF_OK && own == WF_OK && wfpy_take_dist("weft.load", grid, &shape, wf_ranks_size(ranks), dist);
}

/* (array, meta) */
static PyObject *load(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("load", 5, 5, 1, "path", "offset", "shape", "ranks", "grid")
    call.is_long = true;
    wf_ranks *ranks = NULL;
    wf_dist dist;
    const char *path;
    wf_shape offset, shape;
    wf_meta meta = { .size = sizeof meta };
    if (wfpy_bind(&signature, args, n, keywords, at) && take_path(&call, at[0], &path) &&
        wfpy_take_shape(&call, at[1], true, &offset) && wfpy_take_shape(&call, at[2], true, &shape) &&
        (!is_given(at[3]) || wfpy_take_ranks("weft.load", at[3], &ranks)) &&
        take_file_dist(path, ranks, at[4], &dist)) {
        wfpy_call_begin(&call);
        wf_array *made = is_given(at[1]) ? wf_load_region(wfpy.context, path, offset, shape, &meta)
                         : ranks ? wf_load_distributed(wfpy.context, path, ranks, is_given(at[4]) ? &dist : NULL, &meta)
                                 : wf_load(wfpy.context, path, &meta);
        wfpy_call_return(&call);
        PyObject *parts[] = { wfpy_array_new(made), made ? dict_of(&meta) : NULL };
        result = wfpy_tuple(parts, 2);
    }
    END;
}

static PyObject *facts(const wf_meta *meta, wf_dtype dtype, const wf_shape *shape)
{
    PyObject *parts[] = { wfpy_dtype_object(dtype), wfpy_shape_object(shape), dict_of(meta) };
    return wfpy_tuple(parts, 3);
}

/* (dtype, shape, meta) */
static PyObject *probe(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("probe", 2, 2, 1, "path", "level")
    call.is_long = true;
    const char *path;
    int32_t level = -1;
    wf_shape shape;
    wf_dtype dtype;
    wf_meta meta = { .size = sizeof meta };
    if (wfpy_bind(&signature, args, n, keywords, at) && take_path(&call, at[0], &path) &&
        (!is_given(at[1]) || wfpy_take_int32(&call, at[1], &level))) {
        wfpy_call_begin(&call);
        wf_status status = is_given(at[1]) ? wf_probe_level(wfpy.context, path, level, &meta, &dtype, &shape)
                                           : wf_probe(wfpy.context, path, &meta, &dtype, &shape);
        wfpy_call_return(&call);
        result = status == WF_OK ? facts(&meta, dtype, &shape) : wfpy_raise();
    }
    END;
}

static PyObject *store(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords,
                       wf_status (*write)(const wf_array *, const char *, const wf_meta *))
{
    BEGIN("save", 3, 3, 2, "path", "array", "meta")
    call.is_long = true;
    const char *path;
    const wf_array *array;
    wf_meta meta;
    if (wfpy_bind(&signature, args, n, keywords, at) && take_path(&call, at[0], &path) &&
        wfpy_take_array(&call, at[1], false, &array) && take_meta(&call, at[2], &meta)) {
        call.is_long = true;
        wfpy_call_begin(&call);
        wf_status status = write(array, path, &meta);
        wfpy_call_return(&call);
        result = wfpy_done(status);
    }
    END;
}
static wf_status save_array(const wf_array *array, const char *path, const wf_meta *meta)
{
    return wf_array_dist(array) ? wf_save_distributed(array, path, meta) : wf_save(array, path, meta);
}
static PyObject *save(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    return store(self, args, n, keywords, save_array);
}
static PyObject *append(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    return store(self, args, n, keywords, wf_append);
}

/* ---- files that are open ---- */

static const char kind[] = "weft.file";
static void free_file(PyObject *capsule) { wf_file_free(PyCapsule_GetPointer(capsule, kind)); }
/* The capsule's context says that the file is closed. */
static wf_file *file_of(PyObject *capsule)
{
    if (!capsule || !PyCapsule_CheckExact(capsule)) {
        PyErr_SetString(PyExc_ValueError, "the file is closed");
        return NULL;
    }
    return PyCapsule_GetPointer(capsule, kind);
}
static PyObject *capsule_of(wf_file *file)
{
    PyObject *made = file ? PyCapsule_New(file, kind, free_file) : wfpy_raise();
    if (file && !made)
        wf_file_free(file);
    return made;
}
/* (file, dtype, shape, meta) */
static PyObject *opened(wf_file *file, const wf_meta *meta, wf_dtype dtype, const wf_shape *shape)
{
    PyObject *parts[] = { capsule_of(file), NULL, NULL, NULL };
    if (!parts[0])
        return NULL;
    parts[1] = wfpy_dtype_object(dtype);
    parts[2] = wfpy_shape_object(shape);
    parts[3] = dict_of(meta);
    return wfpy_tuple(parts, 4);
}

static PyObject *open_file(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("open_file", 1, 1, 1, "path")
    call.is_long = true;
    const char *path;
    wf_shape shape = { 0 };
    wf_dtype dtype = WF_NONE;
    wf_meta meta = { .size = sizeof meta };
    if (wfpy_bind(&signature, args, n, keywords, at) && take_path(&call, at[0], &path)) {
        wfpy_call_begin(&call);
        wf_file *file = wf_file_open(wfpy.context, path, &meta, &dtype, &shape);
        wfpy_call_return(&call);
        result = opened(file, &meta, dtype, &shape);
    }
    END;
}
static PyObject *open_movie(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("open_movie", 7, 7, 1, "path", "gain", "divide", "factor", "group", "gain_rotation", "gain_flip")
    call.is_long = true;
    const char *path, *gain = NULL;
    wf_movie how = { .size = sizeof how };
    wf_shape shape = { 0 };
    wf_dtype dtype = WF_NONE;
    wf_meta meta = { .size = sizeof meta };
    if (wfpy_bind(&signature, args, n, keywords, at) && take_path(&call, at[0], &path) &&
        (!at[1] || at[1] == Py_None || take_path(&call, at[1], &gain)) && wfpy_take_bool(&call, at[2], &how.divide) &&
        wfpy_take_int32(&call, at[3], &how.factor) && wfpy_take_int64(&call, at[4], &how.group) &&
        wfpy_take_int32(&call, at[5], &how.gain_rotation) && wfpy_take_int32(&call, at[6], &how.gain_flip)) {
        how.gain = gain;
        wfpy_call_begin(&call);
        wf_file *file = wf_movie_open(wfpy.context, path, &how, &meta, &dtype, &shape);
        wfpy_call_return(&call);
        result = opened(file, &meta, dtype, &shape);
    }
    END;
}
static PyObject *create_file(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("create_file", 4, 4, 3, "path", "shape", "dtype", "meta")
    call.is_long = true;
    const char *path;
    wf_shape shape;
    wf_dtype dtype;
    wf_meta meta;
    if (wfpy_bind(&signature, args, n, keywords, at) && take_path(&call, at[0], &path) &&
        wfpy_take_shape(&call, at[1], false, &shape) && wfpy_dtype(at[2], &dtype) && take_meta(&call, at[3], &meta)) {
        wfpy_call_begin(&call);
        wf_file *file = wf_file_create(wfpy.context, path, dtype, shape, &meta);
        wfpy_call_return(&call);
        result = capsule_of(file);
    }
    END;
}
static PyObject *read_file(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("File.read", 3, 3, 3, "file", "offset", "shape")
    call.is_long = true;
    wf_file *file;
    wf_shape offset, shape;
    if (wfpy_bind(&signature, args, n, keywords, at) && (file = file_of(at[0])) != NULL &&
        wfpy_take_shape(&call, at[1], false, &offset) && wfpy_take_shape(&call, at[2], false, &shape))
        result = wfpy_array_new(wf_file_read(file, offset, shape)); /* with the GIL: one thread uses a file */
    END;
}
static PyObject *write_file(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("File.write", 3, 3, 3, "file", "array", "offset")
    call.is_long = true;
    wf_file *file;
    const wf_array *array;
    wf_shape offset;
    if (wfpy_bind(&signature, args, n, keywords, at) && (file = file_of(at[0])) != NULL &&
        wfpy_take_array(&call, at[1], false, &array) && wfpy_take_shape(&call, at[2], false, &offset))
        result = wfpy_done(wf_file_write(file, array, offset));
    END;
}
static PyObject *map_file(PyObject *self, PyObject *capsule)
{
    wf_file *file = file_of(capsule);
    (void)self;
    return file ? wfpy_array_new(wf_file_map(file)) : NULL;
}
static PyObject *finish_file(PyObject *self, PyObject *capsule)
{
    wf_file *file = file_of(capsule);
    (void)self;
    return file ? wfpy_done(wf_file_finish(file)) : NULL;
}
static PyObject *format_named(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("format_named", 1, 1, 1, "path")
    call.is_long = true;
    const char *path;
    wf_format format;
    if (wfpy_bind(&signature, args, n, keywords, at) && take_path(&call, at[0], &path))
        result = wf_format_named(wfpy.context, path, &format) == WF_OK ? PyUnicode_FromString(wf_format_name(format))
                                                                       : wfpy_raise();
    END;
}

static PyMethodDef functions[] = {
    { "load", WFPY_KEYWORDS(load), NULL },
    { "probe", WFPY_KEYWORDS(probe), NULL },
    { "save", WFPY_KEYWORDS(save), NULL },
    { "append", WFPY_KEYWORDS(append), NULL },
    { "open_file", WFPY_KEYWORDS(open_file), NULL },
    { "open_movie", WFPY_KEYWORDS(open_movie), NULL },
    { "create_file", WFPY_KEYWORDS(create_file), NULL },
    { "read_file", WFPY_KEYWORDS(read_file), NULL },
    { "write_file", WFPY_KEYWORDS(write_file), NULL },
    { "map_file", map_file, METH_O, NULL },
    { "finish_file", finish_file, METH_O, NULL },
    { "format_named", WFPY_KEYWORDS(format_named), NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_files(PyObject *module)
{
    (void)module;
    return wfpy_add_functions("weft._c_files", functions);
}
