/* wrap.h - conversions for the wrappers of the library's functions, which python/generate writes: arguments by name, and one
 * function for each kind of parameter. What a conversion makes belongs to the call, and ends with it. */
#ifndef WEFT_PYTHON_WRAP_H
#define WEFT_PYTHON_WRAP_H
#include "weft_python.h"

#include <weft/derivative.h>
#include <weft/fft.h>
#include <weft/linalg.h>
#include <weft/project.h>
#include <weft/signal.h>
#include <weft/traced.h>
#include <weft/xform.h>

typedef struct wfpy_signature {
    const char *name; /* for messages */
    const char *const *names;
    int n, positional, required; /* parameters; those that may be given by place; the first ones, that must be given */
} wfpy_signature;
/* Sets at[n] to the arguments, borrowed; NULL: left out. */
bool wfpy_bind(const wfpy_signature *signature, PyObject *const *args, Py_ssize_t n, PyObject *keywords, PyObject **at);

/* True for a value of a recording, and for an array in a traced function. */
static inline bool wfpy_is_recorded(PyObject *object)
{
    return wfpy_is_value(object) || Py_TYPE(object) == wfpy.traced_array;
}
/* A call of a function of arrays whose first argument is one of these, which weft/_runtime.py does. */
PyObject *wfpy_of_recorded(const wfpy_signature *signature, PyObject *const *args, Py_ssize_t n, PyObject *keywords);

typedef struct wfpy_owned {
    PyObject *object; /* or */
    void *memory;
    const wf_array *target; /* of the object, where the call writes to it */
    bool foreign;           /* the target's memory was given as an object of another library */
} wfpy_owned;
typedef struct wfpy_call {
    const wfpy_signature *signature;
    wfpy_owned *own;
    size_t n_own, room;
    bool is_long;    /* an array of the call is: the GIL is given up */
    PyObject *graph; /* weft.Graph of the values; owned */
    wf_graph *g;     /* its recording */
    bool kept;       /* results are arrays that the recording has not computed yet */
    int mode;        /* how the values of the call are recorded: wfpy_mode */
    wfpy_released released;
} wfpy_call;
typedef enum wfpy_mode { WFPY_RECORDED, WFPY_LAZY, WFPY_AT_ONCE } wfpy_mode;
/* Returns `result`, or NULL with an exception if a tape finds that a target cannot be written as it was given. */
PyObject *wfpy_call_end(wfpy_call *call, PyObject *result);
/* Memory of the call, zeroed. NULL: MemoryError. */
void *wfpy_call_memory(wfpy_call *call, size_t bytes);
/* The elements of a sequence as a tuple of the call, borrowed. NULL: an exception. */
PyObject *wfpy_call_items(wfpy_call *call, PyObject *object);
/* The GIL is given up between these two if an array of the call is long. */
void wfpy_call_begin(wfpy_call *call);
void wfpy_call_return(wfpy_call *call);

/* An array to read; `optional`: None and an argument left out are NULL. */
bool wfpy_take_array(wfpy_call *call, PyObject *object, bool optional, const wf_array **array);
/* An array to write: a weft.Array, or memory that is shared with one. *owner becomes the weft.Array, borrowed. */
bool wfpy_take_target(wfpy_call *call, PyObject *object, bool optional, wf_array **array, PyObject **owner);
/* Arrays to write: a sequence of them, or one. */
bool wfpy_take_targets(wfpy_call *call, PyObject *object, wf_arrays *arrays);
/* The result of a function that writes into `out`: the argument, or a new array like x. */
bool wfpy_take_out(wfpy_call *call, PyObject *object, const wf_array *x, wf_array **array, PyObject **owner);
bool wfpy_take_arrays(wfpy_call *call, PyObject *object, wf_arrays *arrays);
bool wfpy_take_axes(wfpy_call *call, PyObject *object, const wf_array *array, wf_axes *axes);
/* The axis that is meant where none is given. */
bool wfpy_default_axis(int axis, const wf_array *array, wf_axes *axes);
/* An axis; None: the array becomes its elements in C order, along axis 0. */
bool wfpy_take_axis(wfpy_call *call, PyObject *object, const wf_array **array, int *axis);
bool wfpy_take_int(wfpy_call *call, PyObject *object, int *value);
bool wfpy_take_int32(wfpy_call *call, PyObject *object, int32_t *value);
bool wfpy_take_int64(wfpy_call *call, PyObject *object, int64_t *value);
bool wfpy_take_uint64(wfpy_call *call, PyObject *object, uint64_t *value);
bool wfpy_take_double(wfpy_call *call, PyObject *object, double *value);
bool wfpy_take_bool(wfpy_call *call, PyObject *object, bool *value);
bool wfpy_take_text(wfpy_call *call, PyObject *object, const char **text);
bool wfpy_take_dtype(wfpy_call *call, PyObject *object, wf_dtype *dtype);
/* A shape; `optional`: None has rank 0. */
bool wfpy_take_shape(wfpy_call *call, PyObject *object, bool optional, wf_shape *shape);
/* A member of an enum by its name. */
bool wfpy_take_name(wfpy_call *call, PyObject *object, const wfpy_name *names, int *value);
/* n numbers: a sequence of as many, or one number for all. NULL where `object` is NULL or None. */
bool wfpy_take_ints(wfpy_call *call, PyObject *object, int64_t n, const int **numbers);
bool wfpy_take_int64s(wfpy_call *call, PyObject *object, int64_t n, const int64_t **numbers);
bool wfpy_take_doubles(wfpy_call *call, PyObject *object, int64_t n, const double **numbers);
/* A sequence of any length, which becomes *n. */
bool wfpy_take_list(wfpy_call *call, PyObject *object, int64_t *n, const double **numbers);
/* n numbers, all `value`. */
bool wfpy_same_int64s(wfpy_call *call, int64_t value, int64_t n, const int64_t **numbers);
/* n numbers of a member of a struct that has room for `most`: a sequence of as many, or one number for all. Nothing is stored
 * where `object` is NULL or None. */
bool wfpy_take_member(wfpy_call *call, PyObject *object, int64_t n, int most, double *numbers);
/* A spectrum: its logical extents, or a tuple (size, layout, dtype), such as weft.signal.Spectrum. */
bool wfpy_take_spectrum(wfpy_call *call, PyObject *object, wf_spectrum *spectrum);
/* The number of axes of a mask, and of lengths of its shape. */
int64_t wfpy_mask_axes(const wf_array *array, const wf_mask *mask);
int64_t wfpy_mask_lengths(const wf_array *array, const wf_mask *mask, int shape);
/* The rotation of a mask, [axes, axes], or its rows one after another. */
bool wfpy_take_mask_rotation(wfpy_call *call, PyObject *object, const wf_array *array, wf_mask *mask);
/* The number of axes of an array, and of a set. */
int wfpy_rank(const wf_array *array);
int wfpy_axes_count(wf_axes axes, const wf_array *array);

/* ---- values ---- */

/* Finds the recording of the values among the arguments, also in lists. Without one the function is computed at once, or
 * becomes lazy. */
bool wfpy_call_graph(wfpy_call *call, PyObject *const *at, int n);
/* A function of values within weft.lazy() is called once more before, to record into a recording of its own, with constants
 * in place of lazy arrays: a mistake raises there, and does not end the recording of the lazy arrays. False: it raised. */
typedef PyObject *wfpy_function(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords);
bool wfpy_try_lazily(wfpy_function *function, PyObject *const *args, Py_ssize_t n, PyObject *keywords);
#define TRY_LAZILY(function)                           \
    if (!wfpy_try_lazily(function, args, n, keywords)) \
        return NULL;
/* Returns `made`, the result of a function of values, which it takes over. A function of numbers alone has no recording that
 * could keep its mistakes, and returns NaN. If there is one in `made`, the function is called once more for each number, with
 * a constant of a recording in its place: so the others are checked. NULL: it raised. */
PyObject *wfpy_check_numbers(wfpy_function *function, PyObject *const *args, Py_ssize_t n, PyObject *keywords,
                             PyObject *made);
bool wfpy_take_value(wfpy_call *call, PyObject *object, wf_val *value);
bool wfpy_take_values(wfpy_call *call, PyObject *object, wf_vals *values);
/* n values of nested lists, row by row. */
bool wfpy_take_matrix(wfpy_call *call, PyObject *object, int64_t n, const wf_val **values);
/* The results of the call: values, arrays or numbers. A list of n, or, with n = -1, the only one. */
PyObject *wfpy_values(wfpy_call *call, const wf_val *values, int n);
/* Ends the recording of the results, which it runs if they are arrays; takes over and returns them. */
PyObject *wfpy_finish(wfpy_call *call, PyObject *made);
/* None, or the mistake of the recording. */
PyObject *wfpy_recorded(wfpy_call *call);

/* A wrapper that is written by hand: BEGIN declares `at`, the arguments, `call` and `result`; END returns the result. */
#define BEGIN(title, count, place, least, ...)                                             \
    static const char *const names[] = { __VA_ARGS__ };                                    \
    static const wfpy_signature signature = { "weft." title, names, count, place, least }; \
    PyObject *at[count] = { 0 }, *result = NULL;                                           \
    wfpy_call call = { .signature = &signature };                                          \
    (void)self;
#define END return wfpy_call_end(&call, result)
/* A tuple of n results, which it takes over; NULL if one of them is. */
PyObject *wfpy_tuple(PyObject *const *parts, int n);
/* The functions of a module, weft._c_fft and so on, which module.c makes. */
typedef struct wfpy_namespace {
    const char *name;
    PyMethodDef *functions;
} wfpy_namespace;
extern const wfpy_namespace wfpy_namespaces[]; /* ends with NULL; generated */
#endif
