/* hooks.c - functions of the library that call functions of Python: filters of spectra, minimization, checks of gradients;
 * and derivatives, tapes and the history.
 *
 * A function that records gets values of the library's own recording, which a weft.Graph borrows for the time of the call.
 * An exception of it fails the recording, and is raised when the library returns. */
#include <string.h>

#include <weft/device.h>
#include <weft/history.h>
#include <weft/optimize.h>

#include "wrap.h"

#define BEGIN(title, count, place, least, ...)                                             \
    static const char *const names[] = { __VA_ARGS__ };                                    \
    static const wfpy_signature signature = { "weft." title, names, count, place, least }; \
    PyObject *at[count] = { 0 }, *result = NULL;                                           \
    wfpy_call call = { .signature = &signature };                                          \
    (void)self;
#define END               \
    wfpy_call_end(&call); \
    return result

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
    bool right = made && wfpy_operand(made, graph, &v);
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

/* The arrays of a list, to write. */
static bool take_targets(wfpy_call *call, PyObject *object, wf_arrays *arrays)
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
        take_targets(&call, at[1], &params) && wfpy_take_name(&call, at[2], methods, &method) &&
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

/* ---- derivatives of values ---- */

static bool is_list(PyObject *object) { return PyTuple_Check(object) || PyList_Check(object); }

/* Derivatives with respect to one value, or a list of them. */
static PyObject *derivatives(wfpy_call *call, const wf_val *out, size_t n, PyObject *wanted)
{
    if (wf_graph_status(call->g) != WF_OK)
        return wfpy_graph_fail(call->graph);
    return wfpy_finish(call, wfpy_values(call, out, is_list(wanted) ? (int)n : -1));
}

static bool same_number(const wfpy_call *call, size_t a, size_t b)
{
    if (a != b)
        PyErr_Format(PyExc_ValueError, "%s(): lists of %zu and %zu values", call->signature->name, a, b);
    return a == b;
}

static PyObject *grad(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("grad", 2, 2, 2, "loss", "wrt")
    wf_val loss, *out;
    wf_vals wrt;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_call_graph(&call, at, 2) &&
        wfpy_take_value(&call, at[0], &loss) && wfpy_take_values(&call, at[1], &wrt) &&
        (out = wfpy_call_memory(&call, wrt.n * sizeof *out)) != NULL) {
        wf_grad_n(loss, wrt, out);
        result = derivatives(&call, out, wrt.n, at[1]);
    }
    END;
}
static PyObject *vjp(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("vjp", 3, 3, 3, "outs", "seeds", "wrt")
    wf_val *out;
    wf_vals outs, seeds, wrt;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_call_graph(&call, at, 3) &&
        wfpy_take_values(&call, at[0], &outs) && wfpy_take_values(&call, at[1], &seeds) &&
        wfpy_take_values(&call, at[2], &wrt) && same_number(&call, outs.n, seeds.n) &&
        (out = wfpy_call_memory(&call, wrt.n * sizeof *out)) != NULL) {
        wf_vjp_n(outs, seeds, wrt, out);
        result = derivatives(&call, out, wrt.n, at[2]);
    }
    END;
}
static PyObject *jvp(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("jvp", 3, 3, 3, "outs", "wrt", "directions")
    wf_val *out;
    wf_vals outs, wrt, directions;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_call_graph(&call, at, 3) &&
        wfpy_take_values(&call, at[0], &outs) && wfpy_take_values(&call, at[1], &wrt) &&
        wfpy_take_values(&call, at[2], &directions) && same_number(&call, wrt.n, directions.n) &&
        (out = wfpy_call_memory(&call, outs.n * sizeof *out)) != NULL) {
        wf_jvp_n(outs, wrt, directions, out);
        result = derivatives(&call, out, outs.n, at[0]);
    }
    END;
}
static PyObject *depends(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("depends", 2, 2, 2, "value", "on")
    wf_val value;
    wf_vals on;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_call_graph(&call, at, 2) &&
        wfpy_take_value(&call, at[0], &value) && wfpy_take_values(&call, at[1], &on))
        result = PyBool_FromLong(wf_depends_n(value, on));
    END;
}

/* ---- derivatives of operators and of launches ---- */

/* Runs the adjoint or tangent of a recording, which it ends. */
static PyObject *derive_operator(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords, bool forward)
{
    BEGIN("adjoint", 5, 5, 5, "graph", "outs", "upstream", "wrt", "grads")
    wf_arrays a[4];
    wf_graph *g;
    bool bound = wfpy_bind(&signature, args, n, keywords, at);
    if (bound && Py_TYPE(at[0]) != wfpy.graph)
        PyErr_Format(PyExc_TypeError, "a weft.Graph is needed, not %R", at[0]);
    else if (bound && wfpy_take_arrays(&call, at[1], &a[0]) && wfpy_take_arrays(&call, at[2], &a[1]) &&
             wfpy_take_arrays(&call, at[3], &a[2]) && take_targets(&call, at[4], &a[3]) &&
             (forward ? same_number(&call, a[0].n, a[1].n) && same_number(&call, a[2].n, a[3].n)
                      : same_number(&call, a[0].n, a[1].n) && same_number(&call, a[2].n, a[3].n)) &&
             (g = wfpy_graph_to_end(at[0])) != NULL) {
        wfpy_call_begin(&call);
        wf_status status = forward ? wf_tangent(g, a[0], a[1], a[2], a[3]) : wf_adjoint(g, a[0], a[1], a[2], a[3]);
        wfpy_call_return(&call);
        result = wfpy_done(status);
    }
    END;
}
static PyObject *adjoint(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    return derive_operator(self, args, n, keywords, false);
}
static PyObject *tangent(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    return derive_operator(self, args, n, keywords, true);
}

static const char tape_kind[] = "weft.tape";
static void free_tape(PyObject *capsule) { wf_tape_free(PyCapsule_GetPointer(capsule, tape_kind)); }

static PyObject *tape_begin(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("tape", 1, 1, 1, "watched")
    wf_arrays watched;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_arrays(&call, at[0], &watched)) {
        wf_tape *tape = wf_tape_begin(wfpy.context, watched);
        result = tape ? PyCapsule_New(tape, tape_kind, free_tape) : wfpy_raise();
    }
    END;
}
static PyObject *tape_end(PyObject *self, PyObject *capsule)
{
    wf_tape *tape = PyCapsule_GetPointer(capsule, tape_kind);
    (void)self;
    if (!tape)
        return NULL;
    wf_tape_end(tape);
    Py_RETURN_NONE;
}
static PyObject *tape_grad(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("tape.grad", 3, 3, 3, "tape", "loss", "wrt")
    const wf_array *loss;
    wf_arrays wrt;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_array(&call, at[1], false, &loss) &&
        wfpy_take_arrays(&call, at[2], &wrt)) {
        wf_tape *tape = PyCapsule_GetPointer(at[0], tape_kind);
        wf_array **grads = tape ? wfpy_call_memory(&call, wrt.n * sizeof *grads) : NULL;
        PyObject *list = grads ? PyList_New((Py_ssize_t)wrt.n) : NULL;
        for (size_t i = 0; list && i < wrt.n; ++i) {
            grads[i] = wf_like(wrt.at[i]);
            PyObject *grown = wfpy_array_new(grads[i]);
            if (!grown || PyList_SetItem(list, (Py_ssize_t)i, grown) < 0)
                Py_CLEAR(list);
        }
        if (list) {
            wfpy_call_begin(&call);
            wf_status status = wf_tape_grad(tape, loss, wrt, (wf_arrays){ grads, wrt.n });
            wfpy_call_return(&call);
            result = status == WF_OK ? Py_NewRef(list) : wfpy_raise();
        }
        Py_XDECREF(list);
    }
    END;
}
static PyObject *is_taped(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("is_taped", 1, 1, 1, "array")
    const wf_array *array;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_array(&call, at[0], false, &array))
        result = PyBool_FromLong(wf_is_taped(array));
    END;
}

/* ---- random numbers of values, textures ---- */

static bool to_pcg(wfpy_call *call, PyObject *const *at, wf_pcg32 *rng)
{
    return wfpy_take_value(call, at[0], &rng->state) && wfpy_take_value(call, at[1], &rng->increment);
}
static PyObject *pcg_seed(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("random.Pcg32", 3, 3, 3, "graph", "seed", "stream")
    wf_val seed, stream;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_call_graph(&call, at, 3) &&
        wfpy_take_value(&call, at[1], &seed) && wfpy_take_value(&call, at[2], &stream)) {
        wf_pcg32 rng = (wf_pcg32_seed)(call.g, seed, stream);
        result = wfpy_finish(&call, wfpy_values(&call, (wf_val[]){ rng.state, rng.increment }, 2));
    }
    END;
}
/* _pcg_next(state, increment, kind): [number, state] */
static PyObject *pcg_next(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    static const wfpy_name kinds[] = { { "u32", 0 }, { "f32", 1 }, { "f64", 2 }, { NULL, 0 } };
    BEGIN("random.Pcg32", 3, 3, 3, "state", "increment", "kind")
    wf_pcg32 rng;
    int kind = 0;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_call_graph(&call, at, 2) && to_pcg(&call, at, &rng) &&
        wfpy_take_name(&call, at[2], kinds, &kind)) {
        wf_val x = kind == 0 ? wf_pcg32_u32(&rng) : kind == 1 ? wf_pcg32_f32(&rng) : wf_pcg32_f64(&rng);
        result = wfpy_finish(&call, wfpy_values(&call, (wf_val[]){ x, rng.state }, 2));
    }
    END;
}
static PyObject *pcg_advance(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("random.Pcg32.advance", 3, 3, 3, "state", "increment", "n")
    wf_pcg32 rng;
    wf_val by;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_call_graph(&call, at, 3) && to_pcg(&call, at, &rng) &&
        wfpy_take_value(&call, at[2], &by)) {
        rng = (wf_pcg32_advance)(rng, by);
        result = wfpy_finish(&call, wfpy_values(&call, &rng.state, -1));
    }
    END;
}
static PyObject *texture_read(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    static const wfpy_name filters[] = {
        { "nearest", WF_FILTER_NEAREST }, { "linear", WF_FILTER_LINEAR }, { "cubic", WF_FILTER_CUBIC }, { NULL, 0 }
    };
    static const wfpy_name borders[] = { { "value", WF_BORDER_VALUE },       { "clamp", WF_BORDER_CLAMP },
                                         { "periodic", WF_BORDER_PERIODIC }, { "mirror", WF_BORDER_MIRROR },
                                         { "reflect", WF_BORDER_REFLECT },   { NULL, 0 } };
    BEGIN("texture_read", 6, 6, 2, "array", "position", "channels", "filter", "wrap", "pixels")
    wf_texture t = { 0 };
    wf_vals position;
    int filter = WF_FILTER_LINEAR, wrap = WF_BORDER_CLAMP;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_array(&call, at[0], false, &t.array) &&
        wfpy_take_int32(&call, at[2], &t.channels) && wfpy_take_name(&call, at[3], filters, &filter) &&
        wfpy_take_name(&call, at[4], borders, &wrap) && wfpy_take_bool(&call, at[5], &t.pixels) &&
        wfpy_call_graph(&call, at, 6) && wfpy_take_values(&call, at[1], &position)) {
        wf_val out[64] = { 0 };
        t.filter = (wf_filter)filter;
        t.wrap = (wf_border)wrap;
        if (t.channels < 0 || t.channels > 64)
            PyErr_SetString(PyExc_ValueError, "weft.texture_read(): 0 to 64 channels");
        else {
            wf_texture_read(call.g, &t, position, out);
            result = wfpy_finish(&call, wfpy_values(&call, out, t.channels ? t.channels : -1));
        }
    }
    END;
}

/* ---- history, devices ---- */

static PyObject *kernel_facts(const wf_kernel_info *k)
{
    static const char *const codes[] = { "none", "ready", "memory", "disk", "compiled", "library" };
    return Py_BuildValue(
        "{s:s,s:s,s:K,s:K,s:i,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I,s:N,s:N,s:N,s:N,s:N,s:s,s:i,s:i,s:i,s:i,s:i,s:L,s:d,s:d,s:d,"
        "s:d}",
        "name", k->name, "why", k->why, "launch", (unsigned long long)k->launch, "hash", (unsigned long long)k->hash,
        "device", (int)k->device, "stage", (int)k->stage, "stages", (int)k->stages, "merged", k->merged, "ops", k->ops,
        "folded", k->folded, "numbered", k->numbered, "dead", k->dead, "nodes", k->nodes, "plan_hit",
        PyBool_FromLong(k->plan_hit), "nontemporal", PyBool_FromLong(k->nontemporal), "single_thread",
        PyBool_FromLong(k->single_thread), "baseline", PyBool_FromLong(k->baseline), "fused", PyBool_FromLong(k->fused),
        "code", (size_t)k->code < sizeof codes / sizeof *codes ? codes[k->code] : "", "threads", (int)k->threads,
        "rows", (int)k->rows, "columns", (int)k->columns, "lanes", (int)k->lanes, "copies", (int)k->copies, "points",
        (long long)k->points, "record_s", k->record_s, "plan_s", k->plan_s, "compile_s", k->compile_s, "run_s",
        k->run_s);
}

static PyObject *history(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    const size_t cap = wfpy_context() ? wf_history(wfpy.context, NULL, 0) : 0;
    wf_kernel_info *info = PyMem_Calloc(cap + 1, sizeof *info);
    if (!info)
        return PyErr_NoMemory();
    info[0].size = sizeof *info;
    size_t n = wfpy.context ? wf_history(wfpy.context, info, cap) : 0;
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; ++i) {
        PyObject *facts = kernel_facts(&info[i]);
        if (!facts || PyList_SetItem(list, (Py_ssize_t)i, facts) < 0)
            Py_CLEAR(list);
    }
    PyMem_Free(info);
    return list;
}

static PyObject *device_count(PyObject *self, PyObject *name)
{
    wf_device device;
    (void)self;
    if (!wfpy_device(name, &device) || !wfpy_context())
        return NULL;
    return PyLong_FromLong(wf_device_count(wfpy.context, device ? device : WF_CPU));
}
static PyObject *device_info(PyObject *self, PyObject *name)
{
    wf_device device;
    wf_device_info i = { .size = sizeof i };
    (void)self;
    if (!wfpy_device(name, &device) || !wfpy_context())
        return NULL;
    if (wf_get_device_info(wfpy.context, device, &i) != WF_OK)
        return wfpy_raise();
    return Py_BuildValue("{s:s,s:i,s:i,s:i,s:K,s:K,s:K,s:K}", "name", i.name, "processors", (int)i.processors,
                         "capability", (int)i.capability, "driver", (int)i.driver, "memory_bytes",
                         (unsigned long long)i.memory_bytes, "memory_free", (unsigned long long)i.memory_free,
                         "memory_kept", (unsigned long long)i.memory_kept, "block_memory",
                         (unsigned long long)i.block_memory);
}

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f)), METH_FASTCALL | METH_KEYWORDS
static PyMethodDef functions[] = {
    { "spectrum_filter", KEYWORDS(spectrum_filter),
      "spectrum_filter(x, spectrum, response, out=None)\n--\n\n"
      "Multiplies a spectrum by response(*k), a function of values that gets the frequency in cycles/pixel, one value\n"
      "for each axis, and returns a real or complex factor. It is called once, to record. x None: `out` becomes the\n"
      "factor itself." },
    { "image_filter", KEYWORDS(image_filter),
      "image_filter(x, response, rank=2, out=None)\n--\n\n"
      "Real images, the last `rank` axes of x, transformed, multiplied by response(*k), and transformed back." },
    { "filter", KEYWORDS(fft_filter),
      "filter(x, function, axis=None, out=None)\n--\n\n"
      "Real arrays, transformed along axes, with each element of the half spectrum replaced by function(element, *index),\n"
      "and transformed back. The function is called once, to record." },
    { "minimize", KEYWORDS(minimize),
      "minimize(loss, params, method='lbfgs', *, iterations=0, gradient_tolerance=0.0, loss_tolerance=0.0, history=0, "
      "rate=0.0, beta1=0.0, beta2=0.0, epsilon=0.0, weight_decay=0.0, momentum=0.0, each=None)\n--\n\n"
      "Changes the contents of params, arrays of f32 or f64, so that loss(*values) is least nearby, and returns a dict:\n"
      "loss, gradient, iterations, evaluations, reason. loss gets values of a recording of whole arrays and returns one;\n"
      "it is called once. method: 'lbfgs', 'adam' or 'descent'. 0 means the default: 1000 iterations, tolerance 1e-5 of\n"
      "the gradient. each(dict) is called before each step; it ends the minimization if it returns False." },
    { "check_gradient", KEYWORDS(check_gradient),
      "check_gradient(loss, params, *, tolerance=0.0, step=0.0, directions=0, elements=0, seed=0)\n--\n\n"
      "Compares the gradient of loss(*values) with differences and returns the worst comparison, a dict: differs, text,\n"
      "gradient, forward, difference, array, element." },
    { "grad", KEYWORDS(grad),
      "grad(loss, wrt)\n--\n\n"
      "The derivative of a value of one element with respect to a value, or a list of them for a list. Values are those\n"
      "of a weft.Graph; lazy arrays are values, too." },
    { "vjp", KEYWORDS(vjp),
      "vjp(outs, seeds, wrt)\n--\n\nThe sum over k of the derivative of outs[k] by wrt, transposed, times seeds[k]." },
    { "jvp", KEYWORDS(jvp),
      "jvp(outs, wrt, directions)\n--\n\nThe derivative of outs in the direction in which each of wrt changes." },
    { "depends", KEYWORDS(depends),
      "depends(value, on)\n--\n\nTrue if derivatives of the value with respect to one of the others need not be 0." },
    { "adjoint", KEYWORDS(adjoint),
      "adjoint(graph, outs, upstream, wrt, grads)\n--\n\n"
      "Runs the adjoint of a recorded operator: grads[i] becomes the derivative of a loss by wrt[i], from upstream[k],\n"
      "that by outs[k], which the operator stores. The operator itself does not run; the recording ends." },
    { "tangent", KEYWORDS(tangent),
      "tangent(graph, wrt, directions, outs, tangents)\n--\n\n"
      "Runs the forward derivative of a recorded operator: tangents[k] becomes that of outs[k] in the direction in which\n"
      "each wrt[i] changes by directions[i]. The recording ends." },
    { "is_taped", KEYWORDS(is_taped),
      "is_taped(array)\n--\n\nTrue if the thread has a tape that notes, and the array depends on one that it watches." },
    { "texture_read", KEYWORDS(texture_read),
      "texture_read(array, position, channels=0, filter='linear', wrap='clamp', pixels=False)\n--\n\n"
      "An array read between its elements, at one value for each axis, in the order (y, x): element k of n is at\n"
      "(k + 0.5) / n or, with `pixels`, at k. With channels, of the last axis: a list of so many." },
    { "history", history, METH_NOARGS,
      "history()\n--\n\n"
      "The kernels that ran since the last call, at most 4096, oldest first: dicts with name, run_s, compile_s, code,\n"
      "points, threads and others. Noted within weft.flags(history=True)." },
    { "device_count", device_count, METH_O,
      "device_count(name, /)\n--\n\nThe number of devices of a kind: 'cuda', 'cuda-emu', 'cpu'." },
    { "device_info", device_info, METH_O,
      "device_info(name, /)\n--\n\nA dict about a device: name, processors, memory_bytes and others." },
    { "_tape_begin", KEYWORDS(tape_begin), NULL },
    { "_tape_end", tape_end, METH_O, NULL },
    { "_tape_grad", KEYWORDS(tape_grad), NULL },
    { "_pcg_seed", KEYWORDS(pcg_seed), NULL },
    { "_pcg_next", KEYWORDS(pcg_next), NULL },
    { "_pcg_advance", KEYWORDS(pcg_advance), NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_hooks(PyObject *module)
{
    (void)module;
    PyObject *space = PyImport_AddModule("weft._c_hooks");
    return space ? PyModule_AddFunctions(space, functions) : -1;
}
