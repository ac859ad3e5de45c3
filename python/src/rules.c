/* rules.c - functions whose derivatives the program gives in Python: of values, of arrays, and limits of iterations.
 *
 * Derivatives may be asked for as long as recordings and tapes live that used a rule, which nothing tells. So a rule, once
 * made, is kept until the process ends. */
#include <string.h>

#include <weft/optimize.h>

#include "wrap.h"

typedef struct rule {
    wf_rule values;
    wf_array_rule arrays;
    wf_iteration iteration;
    PyObject *call, *vjp, *jvp;
    int n_in, n_out;
} rule;

static const char kind[] = "weft.rule";

static bool is_function(PyObject *object) { return object && object != Py_None; }

/* ---- values ---- */

static PyObject *tuple_of(PyObject *graph, const wf_val *values, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; ++i) {
        PyObject *value = wfpy_value_new(graph, values[i]);
        if (!value || PyTuple_SetItem(tuple, i, value) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Sets result[n] from a value, or a tuple or list of n of them; None: it stays. */
static bool take_results(PyObject *made, PyObject *graph, wf_val *result, int n)
{
    const bool several = PyTuple_Check(made) || PyList_Check(made);
    if ((several ? PySequence_Size(made) : 1) != n) {
        PyErr_Format(PyExc_ValueError, "the function of a rule gives %zd results, and %d are needed",
                     several ? PySequence_Size(made) : 1, n);
        return false;
    }
    for (int i = 0; i < n; ++i) {
        PyObject *item = several ? PySequence_GetItem(made, i) : Py_NewRef(made);
        bool right = item && (item == Py_None || wfpy_operand(item, graph, &result[i]));
        Py_XDECREF(item);
        if (!right)
            return false;
    }
    return true;
}

/* Calls function(*in), or function(in, out or directions, ...), which records the results. */
static void record(const wf_rule_site *site, PyObject *function, bool plain, const wf_val *second, int n_second,
                   const wf_val *third, int n_third, int n_result)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *graph = PyErr_Occurred() ? NULL : wfpy_graph_borrow(site->graph), *args = NULL, *made = NULL;
    if (graph) {
        PyObject *in = tuple_of(graph, site->in, site->n_in);
        if (plain)
            args = in;
        else {
            PyObject *parts[3] = { in, tuple_of(graph, second, n_second),
                                   third ? tuple_of(graph, third, n_third) : NULL };
            args = wfpy_tuple(parts, third ? 3 : 2);
        }
        made = args ? PyObject_CallObject(function, args) : NULL;
    }
    bool right = made && take_results(made, graph, site->result, n_result);
    Py_XDECREF(made);
    Py_XDECREF(args);
    if (graph) {
        ((wfpy_graph *)graph)->graph = NULL;
        Py_DECREF(graph);
    }
    if (!right)
        wf_fail(site->graph, WF_ERR_ARG, "a function of Python raised an exception");
    PyGILState_Release(state);
}
static void call_values(const wf_rule_site *s) { record(s, ((rule *)s->user)->call, true, NULL, 0, NULL, 0, s->n_out); }
static void vjp_values(const wf_rule_site *s)
{
    record(s, ((rule *)s->user)->vjp, false, s->out, s->n_out, s->seed, s->n_out, s->n_in);
}
static void jvp_values(const wf_rule_site *s)
{
    record(s, ((rule *)s->user)->jvp, false, s->seed, s->n_in, NULL, 0, s->n_out);
}

/* ---- arrays ---- */

static PyObject *tuple_of_arrays(wf_arrays arrays, bool read_only)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)arrays.n);
    for (size_t i = 0; tuple && i < arrays.n; ++i) {
        wf_array *at = arrays.at[i];
        wf_array *given = at && read_only ? wf_view_broadcast(at, wf_array_shape(at)) : wf_retain(at);
        PyObject *array = at ? wfpy_array_new(given) : Py_NewRef(Py_None);
        if (!array || PyTuple_SetItem(tuple, (Py_ssize_t)i, array) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static wf_status call_function(PyObject *function, PyObject **parts, int n)
{
    PyObject *args = wfpy_tuple(parts, n), *made = args ? PyObject_CallObject(function, args) : NULL;
    wf_status status = made ? WF_OK : wf_error(wfpy.context, WF_ERR_ARG, "a function of Python raised an exception");
    Py_XDECREF(args);
    Py_XDECREF(made);
    return status;
}
static wf_status call_arrays(void *user, wf_arrays in, wf_arrays out)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *parts[] = { tuple_of_arrays(in, true), tuple_of_arrays(out, false) };
    wf_status status = call_function(((rule *)user)->call, parts, 2);
    PyGILState_Release(state);
    return status;
}
static wf_status vjp_arrays(void *user, wf_arrays in, wf_arrays out, wf_arrays upstream, wf_arrays grads)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *parts[] = { tuple_of_arrays(in, true), tuple_of_arrays(out, true), tuple_of_arrays(upstream, true),
                          tuple_of_arrays(grads, false) };
    wf_status status = call_function(((rule *)user)->vjp, parts, 4);
    PyGILState_Release(state);
    return status;
}

/* ---- making and calling rules ---- */

static rule *rule_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, kind); }

/* _rule(name, call, vjp, jvp, outs, tolerance, turns) */
static PyObject *make_rule(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *call, *vjp, *jvp;
    double tolerance = 0;
    int outs = 1, turns = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "sOOO|idi:custom", &name, &call, &vjp, &jvp, &outs, &tolerance, &turns))
        return NULL;
    if (!PyCallable_Check(call) || (is_function(vjp) && !PyCallable_Check(vjp)) ||
        (is_function(jvp) && !PyCallable_Check(jvp)) || outs < 1 || outs > 15)
        return PyErr_Format(PyExc_TypeError, "a rule is made of functions, and has 1 to 15 results");
    rule *r = PyMem_Calloc(1, sizeof *r + strlen(name) + 1);
    if (!r)
        return PyErr_NoMemory();
    char *copy = (char *)(r + 1);
    strcpy(copy, name);
    r->call = Py_NewRef(call);
    r->vjp = Py_NewRef(vjp);
    r->jvp = Py_NewRef(jvp);
    r->n_out = outs;
    r->values = (wf_rule){ .size = sizeof r->values,
                           .name = copy,
                           .call = call_values,
                           .vjp = is_function(vjp) ? vjp_values : NULL,
                           .jvp = is_function(jvp) ? jvp_values : NULL,
                           .user = r,
                           .outs = outs };
    r->arrays = (wf_array_rule){ .size = sizeof r->arrays,
                                 .name = copy,
                                 .call = call_arrays,
                                 .vjp = is_function(vjp) ? vjp_arrays : NULL,
                                 .user = r };
    r->iteration = (wf_iteration){
        .size = sizeof r->iteration, .step = call_values, .user = r, .tolerance = tolerance, .turns = turns
    };
    return PyCapsule_New(r, kind, NULL);
}
enum { MOST = 15 };

static PyObject *results_of(wfpy_call *call, const wf_val *out, int n)
{
    if (PyErr_Occurred() || wf_graph_status(call->g) != WF_OK)
        return wfpy_graph_fail(call->graph);
    return wfpy_finish(call, wfpy_values(call, out, n));
}

static PyObject *apply_rule(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("custom", 2, 2, 2, "rule", "inputs")
    wf_vals in;
    wf_val out[MOST] = { 0 };
    rule *r = NULL;
    TRY_LAZILY(apply_rule)
    if (wfpy_bind(&signature, args, n, keywords, at) && (r = rule_of(at[0])) != NULL && wfpy_call_graph(&call, at, 2) &&
        wfpy_take_values(&call, at[1], &in)) {
        if (in.n < 1 || in.n > MOST)
            PyErr_SetString(PyExc_ValueError, "a rule has 1 to 15 inputs");
        else {
            wf_custom_n(&r->values, in, out);
            result = results_of(&call, out, r->n_out == 1 ? -1 : r->n_out);
        }
    }
    END;
}

static PyObject *apply_fixed_point(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("fixed_point", 3, 3, 3, "rule", "start", "params")
    wf_vals start, params;
    wf_val out[MOST] = { 0 };
    rule *r = NULL;
    TRY_LAZILY(apply_fixed_point)
    if (wfpy_bind(&signature, args, n, keywords, at) && (r = rule_of(at[0])) != NULL && wfpy_call_graph(&call, at, 3) &&
        wfpy_take_values(&call, at[1], &start) && wfpy_take_values(&call, at[2], &params)) {
        if (start.n < 1 || 2 * start.n + params.n > MOST)
            PyErr_SetString(PyExc_ValueError, "an iteration has at most 15 values: twice the unknowns, and the params");
        else {
            wf_fixed_point(call.g, &r->iteration, start, params, out);
            result = results_of(&call, out, PyTuple_Check(at[1]) || PyList_Check(at[1]) ? (int)start.n : -1);
        }
    }
    END;
}

static PyObject *apply_to_arrays(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("custom_arrays", 3, 3, 3, "rule", "inputs", "outputs")
    wf_arrays in, out;
    rule *r = NULL;
    PyObject *owner;
    if (wfpy_bind(&signature, args, n, keywords, at) && (r = rule_of(at[0])) != NULL &&
        wfpy_take_arrays(&call, at[1], &in)) {
        PyObject *items = PySequence_Tuple(at[2]);
        Py_ssize_t count = items ? PyTuple_Size(items) : 0;
        wf_array **targets = items ? wfpy_call_memory(&call, (size_t)count * sizeof *targets) : NULL;
        bool right = targets != NULL;
        for (Py_ssize_t i = 0; right && i < count; ++i)
            right = wfpy_take_target(&call, PyTuple_GetItem(items, i), false, &targets[i], &owner);
        out = (wf_arrays){ targets, (size_t)count };
        if (right && wf_custom_arrays(wfpy.context, &r->arrays, in, out) == WF_OK && !PyErr_Occurred())
            result = Py_NewRef(Py_None);
        else if (right)
            wfpy_raise();
        Py_XDECREF(items);
    }
    END;
}

static PyMethodDef functions[] = {
    { "make_rule", make_rule, METH_VARARGS, NULL },
    { "apply_rule", WFPY_KEYWORDS(apply_rule), NULL },
    { "apply_fixed_point", WFPY_KEYWORDS(apply_fixed_point), NULL },
    { "apply_to_arrays", WFPY_KEYWORDS(apply_to_arrays), NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_rules(PyObject *module)
{
    (void)module;
    return wfpy_add_functions("weft._c_rules", functions);
}
