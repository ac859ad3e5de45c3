/* derivatives.c - derivatives of values, of recorded operators, and of what a tape has noted. */
#include "wrap.h"

/* ---- derivatives of values ---- */

/* Derivatives with respect to one value, or a list of them. */
static PyObject *derivatives(wfpy_call *call, const wf_val *out, size_t n, PyObject *wanted)
{
    if (wf_graph_status(call->g) != WF_OK)
        return wfpy_graph_fail(call->graph);
    return wfpy_finish(call, wfpy_values(call, out, wfpy_is_list(wanted) ? (int)n : -1));
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
    TRY_LAZILY(grad)
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
    TRY_LAZILY(vjp)
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
    TRY_LAZILY(jvp)
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

/* Runs the adjoint or tangent, `derive`, of a recording, which it ends: at[0] is the weft.Graph, at[1] to at[3] are arrays
 * that are read, at[4] those that are written. The first two lists have one length, and so have the last
 * two. */
typedef wf_status derive_function(wf_graph *graph, wf_arrays a, wf_arrays b, wf_arrays c, wf_arrays d);
static PyObject *derive_operator(wfpy_call *call, PyObject *const *at, derive_function *derive)
{
    wf_arrays a[4];
    if (Py_TYPE(at[0]) != wfpy.graph)
        return PyErr_Format(PyExc_TypeError, "a weft.Graph is needed, not %R", at[0]);
    if (!wfpy_take_arrays(call, at[1], &a[0]) || !wfpy_take_arrays(call, at[2], &a[1]) ||
        !wfpy_take_arrays(call, at[3], &a[2]) || !wfpy_take_targets(call, at[4], &a[3]) ||
        !same_number(call, a[0].n, a[1].n) || !same_number(call, a[2].n, a[3].n))
        return NULL;
    wf_graph *g = wfpy_graph_to_end(at[0]);
    if (!g)
        return NULL;
    wfpy_call_begin(call);
    wf_status status = derive(g, a[0], a[1], a[2], a[3]);
    wfpy_call_return(call);
    return wfpy_done(status);
}
static PyObject *adjoint(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("adjoint", 5, 5, 5, "graph", "outs", "upstream", "wrt", "grads")
    if (wfpy_bind(&signature, args, n, keywords, at))
        result = derive_operator(&call, at, wf_adjoint);
    END;
}
static PyObject *tangent(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    BEGIN("tangent", 5, 5, 5, "graph", "wrt", "directions", "outs", "tangents")
    if (wfpy_bind(&signature, args, n, keywords, at))
        result = derive_operator(&call, at, wf_tangent);
    END;
}

static _Thread_local int tapes; /* of this thread, within their blocks */
bool wfpy_notes(void) { return tapes > 0; }

static bool is_followed(const wf_array *array) { return tapes > 0 && wf_is_taped(array); }

bool wfpy_check_lent(const wf_array *array)
{
    if (!is_followed(array))
        return true;
    wfpy_raise_status(
        WF_ERR_UNSUPPORTED,
        "the array depends on one that a tape or weft.grad differentiates, and neither numbers of Python nor "
        "arrays of other libraries have a derivative; x.item(), x.tolist() and x.numpy() give constants");
    return false;
}

bool wfpy_check_stored(const char *name, const wf_array *array)
{
    if (!is_followed(array))
        return true;
    char text[400];
    PyOS_snprintf(
        text, sizeof text,
        "%s: memory of another library has been written, with what depends on an array that a tape or weft.grad "
        "differentiates; derivatives pass through arrays of weft, such as those of weft.empty",
        name);
    wfpy_raise_status(WF_ERR_UNSUPPORTED, text);
    return false;
}

bool wfpy_check_all_stored(const char *name, PyObject *arrays)
{
    for (Py_ssize_t i = 0, n = arrays && tapes > 0 ? PyList_Size(arrays) : 0; i < n; ++i)
        if (!wfpy_check_stored(name, wfpy_array_of(PyList_GetItem(arrays, i))))
            return false;
    return true;
}

PyObject *wfpy_apart(PyObject *array, const wf_array *to)
{
    wf_array *from = wfpy_notes() ? wfpy_array_of(array) : NULL;
    if (PyErr_Occurred())
        return NULL;
    return from && from != to && wf_shares(from, to) ? wfpy_array_new(wf_array_copy(from)) : Py_NewRef(array);
}

bool wfpy_is_same_view(const wf_array *a, const wf_array *b)
{
    const wf_shape one = wf_array_shape(a), other = wf_array_shape(b);
    int64_t steps[WF_MAX_RANK], others[WF_MAX_RANK];
    void *first, *second;
    if (!wfpy_notes() || !wf_shares(a, b) || wf_array_dtype(a) != wf_array_dtype(b) || one.rank != other.rank)
        return false;
    if (wf_map((wf_array *)a, &first, steps) != WF_OK || wf_map((wf_array *)b, &second, others) != WF_OK) {
        wf_clear_error(wfpy.context); /* memory of a GPU */
        return false;
    }
    bool same = first == second;
    for (int d = 0; same && d < one.rank; ++d)
        same = one.dim[d] == other.dim[d] && (one.dim[d] == 1 || steps[d] == others[d]);
    return same;
}

static PyObject *notes(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    return PyBool_FromLong(wfpy_notes());
}

static PyObject *check_lent(PyObject *self, PyObject *array)
{
    (void)self;
    if (!wfpy_is_array(array))
        return PyErr_Format(PyExc_TypeError, "%R is no array of weft", array);
    const wf_array *lent = wfpy_array_of(array);
    return lent && wfpy_check_lent(lent) ? Py_NewRef(Py_None) : NULL;
}

/* check_stored(name, array) */
static PyObject *check_stored(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *array;
    (void)self;
    if (!PyArg_ParseTuple(args, "sO!", &name, wfpy.array, &array))
        return NULL;
    const bool is_lazy = wfpy_is_lazy(array);
    return is_lazy || wfpy_check_stored(name, wfpy_array_of(array)) ? Py_NewRef(Py_None) : NULL;
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
        tapes += result != NULL;
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
    --tapes;
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

static PyMethodDef functions[] = {
    { "grad", WFPY_KEYWORDS(grad),
      "grad(loss, wrt)\n--\n\n"
      "The derivative of a value of one element with respect to a value, or a list of them for a list." },
    { "vjp", WFPY_KEYWORDS(vjp),
      "vjp(outs, seeds, wrt)\n--\n\nThe sum over k of the derivative of outs[k] by wrt, transposed, times seeds[k]." },
    { "jvp", WFPY_KEYWORDS(jvp),
      "jvp(outs, wrt, directions)\n--\n\nThe derivative of outs in the direction in which each of wrt changes." },
    { "depends", WFPY_KEYWORDS(depends),
      "depends(value, on)\n--\n\nTrue if derivatives of the value with respect to one of the others need not be 0." },
    { "adjoint", WFPY_KEYWORDS(adjoint),
      "adjoint(graph, outs, upstream, wrt, grads)\n--\n\n"
      "Runs the adjoint of a recorded operator: grads[i] becomes the derivative of a loss by wrt[i], from upstream[k],\n"
      "that by outs[k], which the operator stores. The operator itself does not run; the recording ends." },
    { "tangent", WFPY_KEYWORDS(tangent),
      "tangent(graph, wrt, directions, outs, tangents)\n--\n\n"
      "Runs the forward derivative of a recorded operator: tangents[k] becomes that of outs[k] in the direction in which\n"
      "each wrt[i] changes by directions[i]. The recording ends." },
    { "is_taped", WFPY_KEYWORDS(is_taped),
      "is_taped(array)\n--\n\nTrue if the thread has a tape that notes, and the array depends on one that it watches." },
    { "_notes", notes, METH_NOARGS, NULL },
    { "_check_lent", check_lent, METH_O, NULL },
    { "_check_stored", check_stored, METH_VARARGS, NULL },
    { "_tape_begin", WFPY_KEYWORDS(tape_begin), NULL },
    { "_tape_end", tape_end, METH_O, NULL },
    { "_tape_grad", WFPY_KEYWORDS(tape_grad), NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_derivatives(PyObject *module)
{
    (void)module;
    return wfpy_add_functions("weft._c_gradients", functions);
}
