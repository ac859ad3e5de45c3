/* hooks.c - functions of the library that call functions of Python: filters of spectra, minimization, checks of gradients.
 *
 * A function that records gets values of the library's own recording, which a weft.Graph borrows for the time of the call.
 * An exception of it fails the recording, and is raised when the library returns. */
#include <string.h>

#include <weft/optimize.h>

#include "wrap.h"

typedef struct hook {
    PyObject *function, *each;
    wfpy_released released; /* the GIL, which the hook takes for its time */
} hook;

/* Ends the borrowing. True if an exception of the function must fail the recording; mistakes of the recording have a
 * better message, which the library gives. */
static bool give_back(PyObject *graph, bool right)
{
    const bool failed = ((wfpy_graph *)graph)->graph == NULL;
    ((wfpy_graph *)graph)->graph = NULL;
    if (failed && !right && PyErr_Occurred())
        PyErr_Clear();
    Py_DECREF(graph);
    return !right && !failed;
}

static PyObject *call_with(PyObject *function, PyObject *graph, const wf_val *values, size_t n)
{
    PyObject *args = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; args && i < n; ++i) {
        PyObject *value = wfpy_value_new(graph, values[i]);
        if (!value || PyTuple_SetItem(args, (Py_ssize_t)i, value) < 0)
            Py_CLEAR(args);
    }
    PyObject *made = args ? PyObject_CallObject(function, args) : NULL;
    Py_XDECREF(args);
    return made;
}

/* The value that a function of values records; poison if it fails. */
static wf_val record(hook *h, wf_graph *g, const wf_val *values, size_t n)
{
    wf_val v = { { 0, NULL } };
    if (PyErr_Occurred())
        return v;
    PyObject *graph = wfpy_graph_borrow(g);
    PyObject *made = graph ? call_with(h->function, graph, values, n) : NULL;
    if (made == Py_None)
        PyErr_Format(PyExc_TypeError, "%R returned None; it has to return a value", h->function);
    bool right = made && made != Py_None && wfpy_operand(made, graph, &v);
    Py_XDECREF(made);
    if (!graph || give_back(graph, right))
        wf_fail(g, WF_ERR_ARG, "a function of Python raised an exception");
    return right ? v : (wf_val){ { 0, NULL } };
}

/* ---- filters ---- */

static wf_val respond(wf_graph *g, wf_vals k, void *user) { return record(user, g, k.at, k.n); }

static bool take_function(wfpy_call *call, PyObject *object)
{
    if (PyCallable_Check(object))
        return true;
    PyErr_Format(PyExc_TypeError, "%s() takes a function, not %R", call->signature->name, object);
    return false;
}

static PyObject *filtered(wf_status status, PyObject *owner)
{
    return status == WF_OK && !PyErr_Occurred() ? Py_NewRef(owner) : wfpy_raise();
}

static PyObject *spectrum_filter(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("signal.spectrum_filter", 4, 4, 3, "x", "spectrum", "response", "out")
    const wf_array *x;
    wf_array *out;
    wf_spectrum spectrum;
    PyObject *owner;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_array(&call, at[0], true, &x) &&
        wfpy_take_out(&call, at[3], x, &out, &owner) && wfpy_take_spectrum(&call, at[1], &spectrum) &&
        take_function(&call, at[2])) {
        hook h = { .function = at[2] };
        result = filtered(wf_spectrum_filter(out, x, &spectrum, respond, &h), owner);
    }
    END;
}

static PyObject *image_filter(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("signal.image_filter", 4, 4, 2, "x", "response", "rank", "out")
    const wf_array *x;
    wf_array *out;
    int rank = 2;
    PyObject *owner;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_array(&call, at[0], false, &x) &&
        wfpy_take_out(&call, at[3], x, &out, &owner) && wfpy_take_int(&call, at[2], &rank) &&
        take_function(&call, at[1])) {
        hook h = { .function = at[1] };
        result = filtered(wf_image_filter(out, x, rank, respond, &h), owner);
    }
    END;
}

static void filter_element(const wf_site *site)
{
    wf_val values[1 + WF_MAX_RANK];
    values[0] = (wf_get)(site->in[0]);
    for (int i = 0; i < site->rank && i < WF_MAX_RANK; ++i)
        values[1 + i] = site->index[i];
    (wf_set)(site->out[0], record(site->user, site->graph, values, 1 + (size_t)site->rank));
}

static PyObject *fft_filter(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("fft.filter", 4, 4, 2, "x", "function", "axis", "out")
    const wf_array *x;
    wf_array *out;
    wf_axes axes;
    PyObject *owner;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_array(&call, at[0], false, &x) &&
        wfpy_take_out(&call, at[3], x, &out, &owner) && wfpy_take_axes(&call, at[2], x, &axes) &&
        take_function(&call, at[1])) {
        hook h = { .function = at[1] };
        result = filtered(wf_fft_filter(out, x, axes, filter_element, &h), owner);
    }
    END;
}

/* ---- minimization ---- */

static wf_val loss_of(wf_graph *g, const wf_val *params, hook *h, size_t n)
{
    wfpy_take_gil(h->released);
    wf_val v = record(h, g, params, n);
    h->released = wfpy_release_gil(true);
    return v;
}
typedef struct descent {
    hook hook;
    size_t n;
} descent;
static wf_val descend(wf_graph *g, const wf_val *params, void *user)
{
    descent *d = user;
    return loss_of(g, params, &d->hook, d->n);
}

static const wfpy_name reasons[] = {
    { "gradient", WF_END_GRADIENT },
    { "loss", WF_END_LOSS },
    { "iterations", WF_END_ITERATIONS },
    { "search", WF_END_SEARCH },
    { "not_finite", WF_END_NOT_FINITE },
    { "callback", WF_END_CALLBACK },
    { NULL, 0 },
};
static PyObject *minimum_of(const wf_minimum *m)
{
    const char *reason = "";
    for (const wfpy_name *r = reasons; r->name; ++r)
        if (r->value == (int)m->reason)
            reason = r->name;
    return Py_BuildValue("{s:d,s:d,s:L,s:L,s:s}", "loss", m->loss, "gradient", m->gradient, "iterations",
                         (long long)m->iterations, "evaluations", (long long)m->evaluations, "reason", reason);
}

static bool each_step(void *user, const wf_minimum *now)
{
    descent *d = user;
    wfpy_take_gil(d->hook.released);
    PyObject *facts = PyErr_Occurred() ? NULL : minimum_of(now);
    PyObject *answer = facts ? PyObject_CallFunctionObjArgs(d->hook.each, facts, NULL) : NULL;
    bool goes_on = answer && answer != Py_False;
    Py_XDECREF(facts);
    Py_XDECREF(answer);
    d->hook.released = wfpy_release_gil(true);
    return goes_on;
}

static PyObject *minimize(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    static const wfpy_name methods[] = {
        { "lbfgs", WF_MINIMIZE_LBFGS }, { "adam", WF_MINIMIZE_ADAM }, { "descent", WF_MINIMIZE_DESCENT }, { NULL, 0 }
    };
    BEGIN("minimize", 14, 3, 2, "loss", "params", "method", "iterations", "gradient_tolerance", "loss_tolerance",
          "history", "rate", "beta1", "beta2", "epsilon", "weight_decay", "momentum", "each")
    int method = WF_MINIMIZE_LBFGS;
    descent d = { 0 };
    wf_arrays params;
    wf_minimum found = { .size = sizeof found };
    wf_minimize_options o = { .size = sizeof o, .user = &d };
    if (wfpy_bind(&signature, args, n, keywords, at) && take_function(&call, at[0]) &&
        wfpy_take_targets(&call, at[1], &params) && wfpy_take_name(&call, at[2], methods, &method) &&
        wfpy_take_int64(&call, at[3], &o.iterations) && wfpy_take_double(&call, at[4], &o.gradient_tolerance) &&
        wfpy_take_double(&call, at[5], &o.loss_tolerance) && wfpy_take_int32(&call, at[6], &o.history) &&
        wfpy_take_double(&call, at[7], &o.rate) && wfpy_take_double(&call, at[8], &o.beta1) &&
        wfpy_take_double(&call, at[9], &o.beta2) && wfpy_take_double(&call, at[10], &o.epsilon) &&
        wfpy_take_double(&call, at[11], &o.weight_decay) && wfpy_take_double(&call, at[12], &o.momentum) &&
        (!at[13] || at[13] == Py_None || take_function(&call, at[13]))) {
        o.method = (wf_minimizer)method;
        d.hook.function = at[0];
        d.hook.each = at[13];
        d.n = params.n;
        o.each = at[13] && at[13] != Py_None ? each_step : NULL;
        d.hook.released = wfpy_release_gil(true);
        wf_status status = wf_minimize_with(wfpy.context, params, descend, &d, &found, &o);
        wfpy_take_gil(d.hook.released);
        result = status == WF_OK && !PyErr_Occurred() ? minimum_of(&found) : wfpy_raise();
    }
    END;
}

static PyObject *check_gradient(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("check_gradient", 7, 2, 2, "loss", "params", "tolerance", "step", "directions", "elements", "seed")
    descent d = { 0 };
    wf_arrays params;
    wf_gradient_finding worst = { .size = sizeof worst };
    wf_gradient_options o = { .size = sizeof o };
    if (wfpy_bind(&signature, args, n, keywords, at) && take_function(&call, at[0]) &&
        wfpy_take_arrays(&call, at[1], &params) && wfpy_take_double(&call, at[2], &o.tolerance) &&
        wfpy_take_double(&call, at[3], &o.step) && wfpy_take_int32(&call, at[4], &o.directions) &&
        wfpy_take_int32(&call, at[5], &o.elements) && wfpy_take_int64(&call, at[6], &o.seed)) {
        d.hook.function = at[0];
        d.n = params.n;
        d.hook.released = wfpy_release_gil(true);
        wf_status status = wf_check_gradient_with(wfpy.context, params, descend, &d, &worst, &o);
        wfpy_take_gil(d.hook.released);
        result =
            status == WF_OK && !PyErr_Occurred()
                ? Py_BuildValue("{s:N,s:n,s:L,s:N,s:d,s:d,s:d,s:d,s:s}", "differs", PyBool_FromLong(worst.differs),
                                "array", (Py_ssize_t)worst.array, "element", (long long)worst.element, "imaginary",
                                PyBool_FromLong(worst.imaginary), "gradient", worst.gradient, "forward", worst.forward,
                                "difference", worst.difference, "beyond", worst.beyond, "text", worst.text)
                : wfpy_raise();
    }
    END;
}

static PyMethodDef functions[] = {
    { "spectrum_filter", WFPY_KEYWORDS(spectrum_filter),
      "spectrum_filter(x, spectrum, response, out=None)\n--\n\n"
      "Multiplies a spectrum by response(*k), a function of values that gets the frequency in cycles/pixel, one value\n"
      "for each axis, and returns a real or complex factor. It is called once, to record. x None: `out` becomes the\n"
      "factor itself." },
    { "image_filter", WFPY_KEYWORDS(image_filter),
      "image_filter(x, response, rank=2, out=None)\n--\n\n"
      "Real images, the last `rank` axes of x, transformed, multiplied by response(*k), and transformed back." },
    { "filter", WFPY_KEYWORDS(fft_filter),
      "filter(x, function, axis=None, out=None)\n--\n\n"
      "Real arrays, transformed along axes, with each element of the half spectrum replaced by function(element, *index),\n"
      "and transformed back. The function is called once, to record." },
    { "minimize", WFPY_KEYWORDS(minimize),
      "minimize(loss, params, method='lbfgs', *, iterations=0, gradient_tolerance=0.0, loss_tolerance=0.0, history=0, "
      "rate=0.0, beta1=0.0, beta2=0.0, epsilon=0.0, weight_decay=0.0, momentum=0.0, each=None)\n--\n\n"
      "Changes the contents of params, arrays of f32 or f64, so that loss(*values) is least nearby, and returns a dict:\n"
      "loss, gradient, iterations, evaluations, reason. loss gets values of a recording of whole arrays and returns one;\n"
      "it is called once. method: 'lbfgs', 'adam' or 'descent'. 0 means the default: 1000 iterations, tolerance 1e-5 of\n"
      "the gradient. each(dict) is called before each step; it ends the minimization if it returns False." },
    { "check_gradient", WFPY_KEYWORDS(check_gradient),
      "check_gradient(loss, params, *, tolerance=0.0, step=0.0, directions=0, elements=0, seed=0)\n--\n\n"
      "Compares the gradient of loss(*values) with differences and returns the worst comparison, a dict: differs, text,\n"
      "gradient, forward, difference, array, element." },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_hooks(PyObject *module)
{
    (void)module;
    return wfpy_add_functions("weft._c_hooks", functions);
}
