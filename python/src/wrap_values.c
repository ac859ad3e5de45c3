/* wrap_values.c - values among the arguments and results of the generated wrappers (wrap.h). */
#include <math.h>

#include "wrap.h"

static PyObject *find_graph(PyObject *object, int depth)
{
    if (object && wfpy_is_value(object))
        return ((wfpy_value *)object)->graph;
    if (object && Py_TYPE(object) == wfpy.graph)
        return object;
    PyObject *found = NULL;
    if (object && Py_TYPE(object) == wfpy.traced_array) {
        found = PyObject_GetAttrString(object, "graph");
        Py_XDECREF(found); /* the trace keeps it */
        return found;
    }
    if (object && depth < 3 && (PyTuple_Check(object) || PyList_Check(object)))
        for (Py_ssize_t i = 0; !found && i < PySequence_Size(object); ++i) {
            PyObject *item = PySequence_GetItem(object, i);
            found = item ? find_graph(item, depth + 1) : NULL;
            Py_XDECREF(item); /* the list keeps it */
        }
    return found;
}

static _Thread_local PyObject *trial;
wf_graph *wfpy_trial(void) { return trial ? ((wfpy_graph *)trial)->graph : NULL; }

bool wfpy_try_lazily(wfpy_function *function, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    const Py_ssize_t all = n + (keywords ? PyTuple_Size(keywords) : 0);
    if (trial || !wfpy_lazy_graph())
        return true;
    for (Py_ssize_t i = 0; i < all; ++i)
        if (find_graph(args[i], 0))
            return true; /* a function of values of another recording */
    if (PyErr_Occurred() || !(trial = wfpy_graph_new(&(wf_space){ .size = sizeof(wf_space) })))
        return false;
    PyObject *own = trial, *made = function(NULL, args, n, keywords);
    trial = NULL;
    Py_DECREF(own);
    Py_XDECREF(made);
    return made != NULL;
}

bool wfpy_call_graph(wfpy_call *call, PyObject *const *at, int n)
{
    PyObject *found = NULL;
    for (int i = 0; !found && i < n; ++i)
        found = find_graph(at[i], 0);
    if (!found && trial)
        found = trial;
    if (!found && (found = wfpy_lazy_graph()))
        call->mode = WFPY_LAZY;
    if (found)
        call->graph = Py_NewRef(found);
    else if (!PyErr_Occurred()) {
        call->graph = wfpy_graph_new(&(wf_space){ .size = sizeof(wf_space) });
        call->mode = WFPY_AT_ONCE;
    }
    call->g = call->graph ? wfpy_graph_of(call->graph) : NULL;
    for (size_t i = 0; call->g && i < call->n_own; ++i)
        if (call->own[i].target && !wfpy_note_written(call->graph, call->own[i].target))
            return false;
    return call->g != NULL;
}

static bool is_nan(PyObject *object)
{
    if (PyComplex_Check(object))
        return isnan(PyComplex_RealAsDouble(object)) || isnan(PyComplex_ImagAsDouble(object));
    bool found = PyFloat_Check(object) && isnan(PyFloat_AsDouble(object));
    for (Py_ssize_t i = 0; PyList_Check(object) && !found && i < PyList_Size(object); ++i)
        found = is_nan(PyList_GetItem(object, i));
    return found;
}

/* The numbers among the operands of a call for wfpy_check_numbers, and which of them becomes a constant of the recording; -1:
 * none. */
static _Thread_local int numbers_taken, number_recorded = -1;

PyObject *wfpy_check_numbers(wfpy_function *function, PyObject *const *args, Py_ssize_t n, PyObject *keywords,
                             PyObject *made)
{
    if (!made || trial || !is_nan(made))
        return made;
    bool right = true;
    for (int k = 0; right && (k == 0 || k < numbers_taken); ++k) {
        PyObject *own = trial = wfpy_graph_new(&(wf_space){ .size = sizeof(wf_space) });
        numbers_taken = 0;
        number_recorded = k;
        PyObject *again = own ? function(NULL, args, n, keywords) : NULL;
        right = again != NULL;
        trial = NULL;
        number_recorded = -1;
        Py_XDECREF(own);
        Py_XDECREF(again);
    }
    if (!right)
        Py_CLEAR(made);
    return made;
}

static bool take_operand(const wfpy_call *call, PyObject *object, wf_val *value)
{
    double re, im;
    if (!wfpy_operand(object, call->graph, value))
        return false;
    if (number_recorded >= 0 && wf_val_number(*value, &re, &im) && numbers_taken++ == number_recorded)
        *value = im == 0 ? wf_const(call->g, WF_F64, re) : wf_const_complex(call->g, WF_C128, re, im);
    return true;
}

bool wfpy_take_value(wfpy_call *call, PyObject *object, wf_val *value)
{
    return !object || take_operand(call, object, value);
}

bool wfpy_take_values(wfpy_call *call, PyObject *object, wf_vals *values)
{
    PyObject *items = PyTuple_Check(object) || PyList_Check(object) ? wfpy_call_items(call, object) : NULL;
    if (PyErr_Occurred())
        return false;
    Py_ssize_t n = items ? PyTuple_Size(items) : 1;
    wf_val *at = wfpy_call_memory(call, (size_t)n * sizeof *at);
    for (Py_ssize_t i = 0; at && i < n; ++i)
        if (!take_operand(call, items ? PyTuple_GetItem(items, i) : object, &at[i]))
            return false;
    *values = (wf_vals){ at, (size_t)n };
    return at != NULL;
}

static bool store_matrix(wfpy_call *call, PyObject *object, wf_val *values, int64_t n, int64_t *at)
{
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        wf_val value;
        if (!take_operand(call, object, &value))
            return false;
        if (*at < n)
            values[*at] = value;
        ++*at;
        return true;
    }
    PyObject *items = wfpy_call_items(call, object);
    for (Py_ssize_t i = 0; items && i < PyTuple_Size(items); ++i)
        if (!store_matrix(call, PyTuple_GetItem(items, i), values, n, at))
            return false;
    return items != NULL;
}

bool wfpy_take_matrix(wfpy_call *call, PyObject *object, int64_t n, const wf_val **values)
{
    if (n < 0 || n > 16 * WF_MAT_MOST) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "%s(): matrices have 1 to %d rows and columns", call->signature->name,
                     WF_MAT_MOST);
        return false;
    }
    wf_val *made = wfpy_call_memory(call, (size_t)n * sizeof *made);
    int64_t count = 0;
    if (!made || !store_matrix(call, object, made, n, &count))
        return false;
    if (count != n) {
        PyErr_Format(wfpy.error[WF_ERR_SHAPE], "%s(): %lld values are needed, and %lld were given",
                     call->signature->name, (long long)n, (long long)count);
        return false;
    }
    *values = made;
    return true;
}

/* Runs the recording of a call without values, whose results were kept in `arrays`. */
static bool run_at_once(wfpy_call *call)
{
    wf_graph *g = call->g;
    ((wfpy_graph *)call->graph)->graph = NULL;
    wfpy_call_begin(call);
    wf_status status = wf_run(g);
    wfpy_call_return(call);
    if (status != WF_OK)
        wfpy_raise();
    return status == WF_OK && wfpy_warn() == 0;
}

static PyObject *one_value(wfpy_call *call, wf_val value)
{
    double re, im;
    if (wf_val_number(value, &re, &im))
        return im == 0 ? PyFloat_FromDouble(re) : PyComplex_FromDoubles(re, im);
    if (call->mode == WFPY_AT_ONCE) {
        wf_array *kept = (wf_keep)(value);
        call->kept = call->kept || kept;
        return kept ? wfpy_array_new(kept) : wfpy_graph_fail(call->graph);
    }
    PyObject *made = wfpy_value_new(call->graph, value);
    if (call->mode == WFPY_RECORDED || !made)
        return made;
    PyObject *lazy = wfpy_lazy_array(made);
    Py_DECREF(made);
    return lazy;
}

PyObject *wfpy_values(wfpy_call *call, const wf_val *values, int n)
{
    PyObject *made = n < 0 ? one_value(call, values[0]) : PyList_New(n);
    for (int i = 0; made && i < n; ++i) {
        PyObject *item = one_value(call, values[i]);
        if (!item || PyList_SetItem(made, i, item) < 0) {
            Py_DECREF(made);
            made = NULL;
        }
    }
    return made;
}

PyObject *wfpy_finish(wfpy_call *call, PyObject *made)
{
    if (made && call->kept && !run_at_once(call)) {
        Py_DECREF(made);
        made = NULL;
    }
    return made;
}

PyObject *wfpy_recorded(wfpy_call *call)
{
    if (wf_graph_status(call->g) != WF_OK)
        return wfpy_graph_fail(call->graph);
    if (call->mode == WFPY_AT_ONCE && !run_at_once(call))
        return NULL;
    Py_RETURN_NONE;
}

PyObject *wfpy_tuple(PyObject *const *parts, int n)
{
    PyObject *tuple = PyTuple_New(n);
    bool right = tuple != NULL;
    for (int i = 0; i < n; ++i) {
        right = right && parts[i];
        if (!tuple || !parts[i])
            Py_XDECREF(parts[i]);
        else if (PyTuple_SetItem(tuple, i, parts[i]) < 0)
            right = false;
    }
    if (!right)
        Py_CLEAR(tuple);
    return tuple;
}
