/* star.c - STAR files: a file is a list of tables (name, rows, columns), rows None for names with single values; a column is
 * a list of texts or an array. weft/star.py has the functions that users call. */
#include <string.h>

#include <weft/star.h>

#include "wrap.h"

/* Numbers with a point or an exponent, or unknown, make a column f64, others i64; texts stay. */
static wf_dtype dtype_of_texts(const char *const *texts, int64_t rows)
{
    bool whole = true;
    for (int64_t i = 0; i < rows; ++i) {
        const char *t = texts[i];
        if ((strcmp(t, ".") == 0 || strcmp(t, "?") == 0) && rows > 1) {
            whole = false;
            continue;
        }
        char *end = NULL;
        double x = PyOS_string_to_double(t, &end, NULL);
        if (!*t || (x == -1 && PyErr_Occurred()) || *end) {
            PyErr_Clear();
            return WF_NONE;
        }
        whole = whole && t[strspn(t, "+-0123456789")] == 0 && strlen(t) < 19;
    }
    return rows ? whole ? WF_I64 : WF_F64 : WF_NONE;
}

static PyObject *column_of(const wf_star *star, int table, const char *name, bool as_text)
{
    const int64_t rows = wf_star_rows(star, table);
    const char *const *texts = wf_star_texts(star, table, name);
    if (!texts && rows)
        return wfpy_raise();
    wf_dtype dtype = as_text ? WF_NONE : dtype_of_texts(texts, rows);
    if (dtype != WF_NONE) {
        wf_array *array = wf_star_values(star, table, name, dtype);
        if (array)
            return wfpy_array_new(array);
        wf_clear_error(wfpy.context);
    }
    PyObject *list = PyList_New((Py_ssize_t)rows);
    for (int64_t i = 0; list && i < rows; ++i) {
        PyObject *text = PyUnicode_DecodeUTF8(texts[i], (Py_ssize_t)strlen(texts[i]), "surrogateescape");
        if (!text || PyList_SetItem(list, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *table_of(const wf_star *star, int table, bool as_text)
{
    PyObject *columns = PyDict_New();
    for (int c = 0; columns && c < wf_star_columns(star, table); ++c) {
        const char *name = wf_star_column(star, table, c);
        PyObject *column = column_of(star, table, name, as_text);
        if (!column || PyDict_SetItemString(columns, name, column) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(column);
    }
    PyObject *rows = !columns                       ? NULL
                     : wf_star_is_loop(star, table) ? PyLong_FromLongLong(wf_star_rows(star, table))
                                                    : Py_NewRef(Py_None);
    return rows ? Py_BuildValue("(sNN)", wf_star_name(star, table), rows, columns) : NULL;
}

/* load(path, as_text): a list of tables. */
static PyObject *load(PyObject *self, PyObject *args)
{
    PyObject *path = NULL;
    int as_text;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&p:load", PyUnicode_FSConverter, &path, &as_text))
        return NULL;
    wf_star *star = wfpy_context() ? wf_star_load(wfpy.context, PyBytes_AsString(path)) : NULL;
    Py_DECREF(path);
    if (!star)
        return wfpy_raise();
    PyObject *tables = PyList_New(0);
    for (int t = 0; tables && t < wf_star_tables(star); ++t) {
        PyObject *table = table_of(star, t, as_text);
        if (!table || PyList_Append(tables, table) < 0)
            Py_CLEAR(tables);
        Py_XDECREF(table);
    }
    wf_star_free(star);
    return tables;
}

static bool set_texts(wf_star *star, int table, const char *name, PyObject *list, int64_t rows)
{
    PyObject *items = PySequence_Tuple(list);
    Py_ssize_t n = items ? PyTuple_Size(items) : -1;
    if (n >= 0 && n != rows)
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "the column %s has %zd values, and the table %lld rows", name, n,
                     (long long)rows);
    const char **texts = n == rows ? PyMem_Calloc((size_t)n + 1, sizeof *texts) : NULL;
    bool done = texts != NULL;
    for (Py_ssize_t i = 0; done && i < n; ++i) {
        PyObject *text = PyTuple_GetItem(items, i);
        if (!PyUnicode_Check(text)) {
            PyErr_Format(PyExc_TypeError, "the column %s holds %R, which is no text", name, text);
            done = false;
        } else
            done = (texts[i] = wfpy_utf8(text)) != NULL;
    }
    if (done && wf_star_set_texts(star, table, name, texts) != WF_OK) {
        wfpy_raise();
        done = false;
    }
    PyMem_Free((void *)texts);
    Py_XDECREF(items);
    return done;
}

static bool set_column(wf_star *star, int table, PyObject *name_object, PyObject *column, int64_t rows)
{
    const char *name = PyUnicode_Check(name_object) ? wfpy_utf8(name_object) : NULL;
    if (!name) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "the name of a column is a text, not %R", name_object);
        return false;
    }
    if ((PyList_Check(column) || PyTuple_Check(column)) && PySequence_Size(column) > 0) {
        PyObject *first = PySequence_GetItem(column, 0);
        bool text = first && PyUnicode_Check(first);
        Py_XDECREF(first);
        if (text)
            return set_texts(star, table, name, column, rows);
    }
    PyObject *owner = wfpy_as_array(column, WF_NONE);
    wf_array *array = owner ? wfpy_array_of(owner) : NULL;
    bool done = array && wf_star_set(star, table, name, array) == WF_OK;
    if (array && !done)
        wfpy_raise();
    Py_XDECREF(owner);
    return done;
}

static bool add_table(wf_star *star, PyObject *item)
{
    PyObject *rows_object, *columns;
    const char *name;
    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "sOO!", &name, &rows_object, &PyDict_Type, &columns)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a table is a tuple (name, rows, columns)");
        return false;
    }
    int64_t rows = rows_object == Py_None ? WF_STAR_PAIRS : PyLong_AsLongLong(rows_object);
    if (PyErr_Occurred())
        return false;
    int table = wf_star_add(star, name, rows);
    if (table < 0) {
        wfpy_raise();
        return false;
    }
    PyObject *items = PyDict_Items(columns);
    bool done = items != NULL;
    for (Py_ssize_t i = 0; done && i < PyList_Size(items); ++i) {
        PyObject *pair = PyList_GetItem(items, i);
        done = set_column(star, table, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), rows < 0 ? 1 : rows);
    }
    Py_XDECREF(items);
    return done;
}

/* save(path, tables) */
static PyObject *save(PyObject *self, PyObject *args)
{
    PyObject *path = NULL, *list;
    (void)self;
    if (!PyArg_ParseTuple(args, "O&O!:save", PyUnicode_FSConverter, &path, &PyList_Type, &list))
        return NULL;
    wf_star *star = wfpy_context() ? wf_star_new(wfpy.context) : NULL;
    bool done = star != NULL;
    if (!done)
        wfpy_raise();
    for (Py_ssize_t i = 0; done && i < PyList_Size(list); ++i)
        done = add_table(star, PyList_GetItem(list, i));
    PyObject *result = done ? wfpy_done(wf_star_save(star, PyBytes_AsString(path))) : NULL;
    wf_star_free(star);
    Py_DECREF(path);
    return result;
}

static PyMethodDef functions[] = {
    { "load", load, METH_VARARGS, NULL },
    { "save", save, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_star(PyObject *module)
{
    (void)module;
    return wfpy_add_functions("weft._c_star", functions);
}
