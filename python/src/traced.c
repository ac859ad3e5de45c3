/* traced.c - functions of traced.h that keep a state or need a struct: generators of random numbers, and textures. */
#include "wrap.h"

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
    BEGIN("texture_read", 6, 6, 2, "array", "position", "channels", "filter", "wrap", "pixels")
    wf_texture t = { 0 };
    wf_vals position;
    int filter = WF_FILTER_LINEAR, wrap = WF_BORDER_CLAMP;
    if (wfpy_bind(&signature, args, n, keywords, at) && wfpy_take_array(&call, at[0], false, &t.array) &&
        wfpy_take_int32(&call, at[2], &t.channels) && wfpy_take_name(&call, at[3], filters, &filter) &&
        wfpy_take_name(&call, at[4], wfpy_borders, &wrap) && wfpy_take_bool(&call, at[5], &t.pixels) &&
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

static PyMethodDef functions[] = {
    { "texture_read", WFPY_KEYWORDS(texture_read),
      "texture_read(array, position, channels=0, filter='linear', wrap='clamp', pixels=False)\n--\n\n"
      "An array read between its elements, at one value for each axis, in the order (y, x): element k of n is at\n"
      "(k + 0.5) / n or, with `pixels`, at k. With channels, of the last axis: a list of so many." },
    { "_pcg_seed", WFPY_KEYWORDS(pcg_seed), NULL },
    { "_pcg_next", WFPY_KEYWORDS(pcg_next), NULL },
    { "_pcg_advance", WFPY_KEYWORDS(pcg_advance), NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_traced(PyObject *module)
{
    (void)module;
    return wfpy_add_functions("weft._c_traced", functions);
}
