/* weft_python.h - what the files of the extension weft._weft share. It stands on the public headers and on CPython's
 * limited API alone, so that one build serves every CPython from 3.11 on.
 *
 *   module.c    the module, the GIL and warnings
 *   context.c   threads, flags, devices, what ran
 *   errors.c    exceptions by status, tracebacks
 *   dtypes.c    the dtypes and what Python calls them
 *   array.c     arrays: making, properties, contents
 *   views.c     views of arrays, and assignment to them
 *   indexing.c  indexing by arrays and masks
 *   numbers.c   numbers and lists of Python
 *   exchange.c  memory of others: the buffer protocol
 *   dlpack.c    memory of others: DLPack, and addresses
 *   values.c    values and variables of recordings
 *   operands.c  the table of operations, and the dtypes in which operands meet (operands.h)
 *   operations.c  operations on values, arrays and numbers, and Python's operators
 *   graph.c     recordings
 *   access.c    access to arrays in recordings
 *   lazy.c      arrays that are computed when they are needed
 *   kernel.c    prepared kernels
 *   dispatch.c  traced functions: the kernel of a call's arguments
 *   same.c      which constants and functions count as the same
 *   elementwise.c  weft.ewise and weft.reduce: the operator of a function
 *   frozen.c    frozen sequences of launches
 *   stream.c    queues of launches
 *   text.c      operator text
 *   files.c     files of arrays
 *   ranks.c     groups of ranks
 *   distributed.c  distributions, distributed arrays
 *   star.c      STAR files
 *   hooks.c     functions of the library that call functions of Python
 *   derivatives.c  derivatives of values and operators, tapes
 *   rules.c     functions whose derivatives the program gives
 *   traced.c    generators of random numbers, textures
 *   names.c     members of enums by name; str objects as texts of C
 *   wrap.c      conversions for the functions of the library, whose wrappers python/generate writes (wrap.h)
 *   wrap_values.c  values among the arguments and results of these functions
 *
 * Functions return NULL or -1 with a Python exception set. All of them need the GIL. */
#ifndef WEFT_PYTHON_H
#define WEFT_PYTHON_H
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <structmember.h>

#include <weft/block.h>
#include <weft/context.h>
#include <weft/distributed.h>
#include <weft/functions.h>
#include <weft/text.h>
#include <weft/weft.h>

/* ---- module.c ------------------------------------------------------------------------------------------------- */

/* The objects of the module. An interpreter that is not the first one cannot import the module. */
typedef struct wfpy_module {
    PyObject *self; /* the module */
    wf_context *context;
    PyTypeObject *array, *value, *variable, *graph, *kernel, *dtype;
    PyObject *error[WF_ERR_CANCELLED + 1]; /* by wf_status; [0] is weft.Error */
    PyObject *dtypes[WF_C128 + 1];
    PyObject *wide_index, *wide_assign; /* Python functions of array[...] with arrays and masks */
    PyObject *of_recorded;              /* the Python function of wfpy_of_recorded */
    PyTypeObject *traced_array;         /* arrays in traced functions */
} wfpy_module;
extern wfpy_module wfpy;

/* The context of the interpreter, made at the first call. NULL: MemoryError. */
wf_context *wfpy_context(void);
/* Issues the warnings of the library that have arrived meanwhile. -1: a warning was turned into an exception. */
int wfpy_warn(void);
/* Work of at least so many elements is done without the GIL. */
enum { WFPY_LONG = 1 << 14 };
/* The thread gives up the GIL between these two, if `when` holds, and while there are streams or several ranks, for whose
 * work a call may have to wait. */
typedef struct wfpy_released {
    PyThreadState *state;
} wfpy_released;
wfpy_released wfpy_release_gil(bool when);
void wfpy_take_gil(wfpy_released released);
/* True if the calling thread holds the GIL, as far as this module knows. */
bool wfpy_has_gil(void);
/* Adds the types and functions of a file to the module; one such function for each file. */
int wfpy_add_errors(PyObject *module);
int wfpy_add_dtypes(PyObject *module);
int wfpy_add_array(PyObject *module);
int wfpy_add_dlpack(PyObject *module);
int wfpy_add_values(PyObject *module);
int wfpy_add_graph(PyObject *module);
int wfpy_add_kernel(PyObject *module);
int wfpy_add_text(PyObject *module);
int wfpy_add_lazy(PyObject *module);
int wfpy_add_files(PyObject *module);
int wfpy_add_star(PyObject *module);
int wfpy_add_hooks(PyObject *module);
int wfpy_add_rules(PyObject *module);
int wfpy_add_derivatives(PyObject *module);
int wfpy_add_traced(PyObject *module);
int wfpy_add_context(PyObject *module);
int wfpy_add_stream(PyObject *module);
int wfpy_add_ranks(PyObject *module);
int wfpy_add_distributed(PyObject *module);
/* Adds functions to a module by its name, which is made if it is not there. */
int wfpy_add_functions(const char *module, PyMethodDef *functions);
/* Calls a function of Python with the arguments of a call by METH_FASTCALL, after `first` unless that is NULL. */
PyObject *wfpy_call_function(PyObject *function, PyObject *first, PyObject *const *args, Py_ssize_t n,
                             PyObject *keywords);
/* Joins the methods of a type from two files in `all`, which has room for WFPY_METHODS. */
enum { WFPY_METHODS = 64 };
PyMethodDef *wfpy_join_methods(PyMethodDef *all, const PyMethodDef *own, const PyMethodDef *others);
/* Makes a type of the module from a specification and adds it under its name. */
PyTypeObject *wfpy_add_type(PyObject *module, PyType_Spec *spec);

/* ---- errors.c ------------------------------------------------------------------------------------------------- */

/* Raises the exception of the calling thread's error in the library, and forgets that error. Returns NULL. */
PyObject *wfpy_raise(void);
/* Raises the exception of a status with a text. Returns NULL. */
PyObject *wfpy_raise_status(wf_status status, const char *text);
/* A message of the library, with Python's names of the functions that it advises. A new reference. */
PyObject *wfpy_message(const char *text);
/* Returns `result`. If it is NULL, frames of the package are taken out of the exception's traceback, except in debug mode:
 * what remains are lines of the program. */
PyObject *wfpy_hide_frames(PyObject *result);
/* None, or the exception of the thread's error. */
PyObject *wfpy_done(wf_status status);

/* ---- dtypes.c ------------------------------------------------------------------------------------------------- */

/* Converts what names a dtype: weft.f32, "f32", "float32", a NumPy dtype or scalar type, float, int, bool, complex. */
bool wfpy_dtype(PyObject *object, wf_dtype *dtype);
/* A new reference to the dtype object. */
PyObject *wfpy_dtype_object(wf_dtype dtype);
/* The dtype of an item of a buffer, WF_NONE if there is none. */
wf_dtype wfpy_dtype_of_format(const char *format, Py_ssize_t itemsize);
/* The format of the dtype in the buffer protocol; NULL for bf16 and c32, which have none. */
const char *wfpy_format_of_dtype(wf_dtype dtype);

/* The function of an entry of a PyMethodDef, and that with the flags of a function that wfpy_bind gives its arguments. */
#define WFPY_FUNCTION(f) ((PyCFunction)(void (*)(void))(f))
#define WFPY_KEYWORDS(f) WFPY_FUNCTION(f), METH_FASTCALL | METH_KEYWORDS

/* ---- array.c -------------------------------------------------------------------------------------------------- */

/* weft.Array. `array` is NULL while the array is lazy: then `value` is the weft.Value that it will hold. Both are NULL in
 * the block of a distributed array that has ended. */
typedef struct wfpy_array {
    PyObject_HEAD wf_array *array;
    PyObject *value;
    struct wfpy_array *before, *after; /* neighbours in the list of lazy arrays of value's recording */
    PyObject *weak;
} wfpy_array;
static inline bool wfpy_is_array(PyObject *object) { return Py_TYPE(object) == wfpy.array; }
static inline bool wfpy_is_lazy(PyObject *array) { return ((wfpy_array *)array)->value != NULL; }
/* A new weft.Array. Owns `array`, also on failure. NULL: raises the library's error. */
PyObject *wfpy_array_new(wf_array *array);
/* True if the array cannot be written. A lazy array can. */
static inline bool wfpy_is_gpu(wf_device device) { return device >= WF_GPU(0); }
static inline bool wfpy_is_read_only(PyObject *object) { return wf_array_is_read_only(((wfpy_array *)object)->array); }
/* The array of a weft.Array, computed if it is lazy; borrowed. */
wf_array *wfpy_array_of(PyObject *object);
/* The same for writing: raises if it is read-only, and computes lazy arrays that may read it. */
wf_array *wfpy_array_to_write(PyObject *object);
/* Converts anything that is an array, or lists of numbers, to a weft.Array; shares memory where that can be. A new
 * reference. `dtype` WF_NONE: as it is. */
PyObject *wfpy_as_array(PyObject *object, wf_dtype dtype);
/* Converts an int, or a sequence of ints. `open` allows -1. */
bool wfpy_shape(PyObject *object, bool open, wf_shape *shape);
/* A tuple of the extents. */
PyObject *wfpy_shape_object(const wf_shape *shape);
/* A device by name ("cpu", "cuda:0") or None, which is 0. */
bool wfpy_device(PyObject *object, wf_device *device);
/* The name of a device. */
PyObject *wfpy_device_object(wf_device device);
/* An axis, an iterable of axes, or None, which is all of them, of an array of that rank. */
bool wfpy_axes(PyObject *object, int rank, wf_axes *axes);
/* True for an array of at least WFPY_LONG elements. */
bool wfpy_is_long(const wf_array *array);
/* The dtype and the shape of a weft.Array, which may be lazy. */
wf_dtype wfpy_array_dtype(PyObject *object);
wf_shape wfpy_array_shape(PyObject *object);
/* The arguments of a method that takes ints, or one sequence of them. A new reference. */
PyObject *wfpy_sequence_of(PyObject *args);

/* ---- numbers.c ------------------------------------------------------------------------------------------------ */

/* The element at an address as a Python number. */
PyObject *wfpy_element(wf_dtype dtype, const void *at);
/* True for lists, tuples and ranges. */
bool wfpy_is_list(PyObject *object);
/* An array of a number, or of nested lists of numbers. */
PyObject *wfpy_from_lists(PyObject *object);
/* Converts a number to an argument, which needs no array. False, without an exception, if it is none. */
bool wfpy_number_argument(PyObject *object, wf_arg *arg);

/* ---- exchange.c ----------------------------------------------------------------------------------------------- */

/* Memory of others that arrays use: the first member of a struct of the one who holds it. */
typedef struct wfpy_held {
    void (*give_back)(struct wfpy_held *held); /* called with the GIL; frees the struct */
    struct wfpy_held *next;
} wfpy_held;
/* The `release` of wf_wrap for a wfpy_held, called by any thread: gives back at once if the thread has the GIL, else as
 * soon as one has it. After the end of the interpreter nothing is given back. */
void wfpy_let_go(void *held);
/* Gives back now what other threads have let go. A pending exception stays. */
void wfpy_give_back(void);
/* An array over the memory of a buffer, which the call takes over, also if it fails: `obj` of the buffer is NULL afterwards.
 * NULL: an exception. */
wf_array *wfpy_wrap_buffer(Py_buffer *buffer, wf_dtype dtype, const wf_shape *shape, const int64_t *strides);
/* True if the object offers its memory by the buffer protocol. */
static inline bool wfpy_has_buffer(PyObject *object) { return PyObject_CheckBuffer(object); }
/* Describes a buffer. False, with a TypeError, if its elements have no dtype; *fits is false if the library cannot take
 * it as it is (bytes between elements that are no whole elements, or an odd address). */
bool wfpy_describe(const Py_buffer *buffer, wf_dtype *dtype, wf_shape *shape, int64_t *strides, bool *fits);
/* A weft.Array over the memory of a buffer, or of a copy if the library cannot take it as it is. */
PyObject *wfpy_from_buffer(PyObject *object);
int wfpy_get_buffer(PyObject *self, Py_buffer *view, int flags);
/* _memoryview(): a memoryview, also of an array whose memory other libraries do not get (wfpy_check_lent). */
PyObject *wfpy_memoryview(PyObject *self, PyObject *none);
void wfpy_release_buffer(PyObject *self, Py_buffer *view);

/* ---- dlpack.c ------------------------------------------------------------------------------------------------- */

extern PyMethodDef wfpy_dlpack_methods[];
/* True if the object is an array of another library that offers its memory by DLPack. */
bool wfpy_has_dlpack(PyObject *object);
/* A weft.Array over the memory of an object that has __dlpack__; copy: as in its method, or None. */
PyObject *wfpy_from_dlpack(PyObject *object, PyObject *copy);

/* ---- views.c -------------------------------------------------------------------------------------------------- */

PyObject *wfpy_get_item(PyObject *self, PyObject *key);
int wfpy_set_item(PyObject *self, PyObject *key, PyObject *value);
PyObject *wfpy_sequence_item(PyObject *self, Py_ssize_t i);
PyObject *wfpy_iterate(PyObject *self);
/* The indices along the axes of the element at an index in C order. */
PyObject *wfpy_indices_of(PyObject *self, PyObject *place);
PyObject *wfpy_get_transposed(PyObject *self, void *closure);
extern PyMethodDef wfpy_view_methods[];
/* The view that a key of numbers, slices, None and Ellipsis means; the caller releases it. NULL: an exception. */
wf_array *wfpy_view_of(wf_array *array, PyObject *key);

/* ---- indexing.c ----------------------------------------------------------------------------------------------- */

/* array[key] for keys with arrays and masks. NULL, without an exception: it is for wfpy.wide_index. */
PyObject *wfpy_index_get(PyObject *self, PyObject *key);
/* array[key] = value. 1: done; 0: it is for wfpy.wide_assign; -1: an exception. */
int wfpy_index_set(PyObject *self, PyObject *key, PyObject *value);

/* ---- ranks.c -------------------------------------------------------------------------------------------------- */

/* True if there is a group of several ranks. */
bool wfpy_has_ranks(void);
/* The group of a weft.Ranks. False: an exception that names the function. */
bool wfpy_take_ranks(const char *function, PyObject *object, wf_ranks **ranks);
/* The weft.Ranks of a group; None for NULL. A new reference. */
PyObject *wfpy_ranks_object(const wf_ranks *ranks);

/* ---- distributed.c --------------------------------------------------------------------------------------------- */

/* The distribution of a shape by `grid`: None, numbers of ranks along the axes, or a weft.Dist. */
bool wfpy_take_dist(const char *function, PyObject *grid, const wf_shape *shape, int ranks, wf_dist *dist);
/* A new distributed array. NULL: an exception that names the function. */
wf_array *wfpy_empty_distributed(const char *function, wf_dtype dtype, const wf_shape *shape, PyObject *ranks,
                                 PyObject *grid);
/* Returns a new array for what is computed from n arrays, NULLs among them, distributed as wf_empty_beside says. `reduced`:
 * the axes of their common space that are reduced. */
wf_array *wfpy_empty_result(const wf_array *const *from, size_t n, wf_axes reduced, wf_dtype dtype,
                            const wf_shape *shape, wf_device device);
/* All elements of a distributed array. NULL: the library's error. */
wf_array *wfpy_collect(const wf_array *array);
PyObject *wfpy_get_ranks(PyObject *self, void *closure);
PyObject *wfpy_get_dist(PyObject *self, void *closure);
PyObject *wfpy_get_block_range(PyObject *self, void *closure);
PyObject *wfpy_get_block_slices(PyObject *self, void *closure);
extern PyMethodDef wfpy_distributed_methods[];

/* ---- names.c -------------------------------------------------------------------------------------------------- */

/* The characters of a str, which owns them. NULL: an exception, also for a str with a NUL. */
const char *wfpy_utf8(PyObject *text);

typedef struct wfpy_name {
    const char *name;
    int value;
} wfpy_name;
/* The value of a name in a table that ends with NULL. False: an exception that names the function and lists the table. */
bool wfpy_find_name(const char *function, PyObject *object, const wfpy_name *names, int *value);
extern const wfpy_name wfpy_borders[], wfpy_joins[];

/* ---- values.c ------------------------------------------------------------------------------------------------- */

/* weft.Value and weft.Variable, which belong to a recording. `weak`: the dtype gives way to that of an operand beside it,
 * as that of a Python number of this kind; else WF_KIND_NONE. */
typedef struct wfpy_value {
    PyObject_HEAD wf_val val;
    PyObject *graph;
    wf_kind weak;
} wfpy_value;
static inline bool wfpy_is_value(PyObject *object)
{
    return Py_TYPE(object) == wfpy.value || Py_TYPE(object) == wfpy.variable;
}
/* A new value. A number becomes a Python number; poison raises the mistake of the recording. */
PyObject *wfpy_value_new(PyObject *graph, wf_val val);
/* The same with a weak dtype, unless it is bool. */
PyObject *wfpy_value_weak(PyObject *graph, wf_val val);
PyObject *wfpy_variable_new(PyObject *graph, wf_var var);

/* ---- operations.c --------------------------------------------------------------------------------------------- */

/* Adds the operations of the table, as functions of weft.ops. */
int wfpy_add_operations(PyObject *module);
/* Converts an operand for a recording: a value or variable of it, a number, or anything that is an array. */
bool wfpy_operand(PyObject *object, PyObject *graph, wf_val *val);
/* Notes that a recording writes to an array, for the kernels that take a formal one. False: an exception. */
bool wfpy_note_written(PyObject *graph, const wf_array *array);
/* Notes a weft.Array over memory of another library that the recording writes. */
bool wfpy_note_foreign(PyObject *graph, PyObject *array);
/* An operation of the table by number, on values, arrays and numbers. */
PyObject *wfpy_apply(int op, PyObject *const *args, Py_ssize_t n);
/* Copies the slots `own`, then those of Python's operators, into `slots`, which has room for `room`. */
void wfpy_join_slots(const PyType_Slot *own, PyType_Slot *slots, size_t room);
/* A cast of a value or an array. */
PyObject *wfpy_cast(PyObject *object, wf_dtype dtype);

/* ---- graph.c -------------------------------------------------------------------------------------------------- */

/* weft.Graph. `graph` is NULL once the recording has run. */
typedef struct wfpy_graph {
    PyObject_HEAD wf_graph *graph;
    bool borrowed; /* from the library, which ends it */
    unsigned long thread;
    wfpy_array *lazy; /* list of the lazy arrays that it will compute */
    int64_t lazy_n;
    PyObject *names;   /* a list of the names of formals and parameters, in the order in which they were made */
    PyObject *formals; /* a dict from addresses of formals to their names */
    PyObject *written; /* a set of the names of the formals that are written */
    PyObject *foreign; /* NULL, or a list of weft.Arrays over memory of other libraries that the recording writes */
} wfpy_graph;
/* The open recording of a weft.Graph; NULL: it has ended, or another thread asks. */
wf_graph *wfpy_graph_of(PyObject *graph);
PyObject *wfpy_graph_new(const wf_space *space);
/* A weft.Graph for a recording of the library, until its `graph` is set to NULL. */
PyObject *wfpy_graph_borrow(wf_graph *graph);
/* The open recording of a weft.Graph that is ended by the caller. NULL: as wfpy_graph_of, or it is borrowed. */
wf_graph *wfpy_graph_to_end(PyObject *graph);
/* None, or the mistake of the recording. */
PyObject *wfpy_graph_done(PyObject *graph);
/* Makes the lists of names, which few recordings need. */
bool wfpy_graph_has_names(PyObject *graph);
extern PyMethodDef wfpy_access_methods[];
/* Raises the mistake of a recording, and drops it. Returns NULL. */
PyObject *wfpy_graph_fail(PyObject *graph);

/* ---- lazy.c --------------------------------------------------------------------------------------------------- */

/* The calling thread's recording of lazy arrays, borrowed; NULL, without an exception, outside of weft.lazy(). */
PyObject *wfpy_lazy_graph(void);
/* The recording in which the thread tries a function of values (wrap.h); NULL: none. */
wf_graph *wfpy_trial(void);
/* A lazy array that holds a value. Steals nothing. */
PyObject *wfpy_lazy_array(PyObject *value);
/* Computes one lazy array. */
bool wfpy_lazy_compute(wfpy_array *array);
/* Computes all lazy arrays of the calling thread, as before a write. */
bool wfpy_lazy_compute_all(void);
/* Takes a lazy array out of its list, when it is freed or computed. */
void wfpy_lazy_forget(wfpy_array *array);

/* ---- kernel.c ------------------------------------------------------------------------------------------------- */

/* An array for the time of a call: that of a weft.Array, or one over the memory of a buffer, kept for the next call that
 * gives the same memory. In a stream it is `held`: the queued work keeps the buffer, and the slot nothing. */
typedef struct wfpy_slot {
    wf_array *array;
    const void *data;
    Py_ssize_t stride[WF_MAX_RANK]; /* in bytes */
    wf_shape shape;
    wf_dtype dtype;
    bool held;
} wfpy_slot;
/* Borrows the array of `object` until wfpy_slot_end. `buffer` is filled if `object` is a buffer; its `obj` is NULL if it is
 * none, and in a stream. `written` is the name of an argument that is written, else NULL. */
wf_array *wfpy_slot_begin(wfpy_slot *slot, PyObject *object, const char *written, Py_buffer *buffer);
void wfpy_slot_end(wfpy_slot *slot, Py_buffer *buffer);
void wfpy_slot_free(wfpy_slot *slot);
/* True if the slot's array is over this buffer's memory, of this dtype, shape and strides. */
bool wfpy_slot_holds(const wfpy_slot *slot, const Py_buffer *buffer);
/* `foreign`: as that of wfpy_graph. */
PyObject *wfpy_kernel_new(wf_kernel *kernel, PyObject *names, PyObject *written, PyObject *foreign);
enum { WFPY_MOST_ARGUMENTS = 64 };
/* An argument; buffer.obj is NULL if its buffer has not been asked for. A NULL object: a parameter keeps its value. */
typedef struct wfpy_given {
    PyObject *object;
    bool foreign; /* the program gave an object of another library */
    Py_buffer buffer;
} wfpy_given;
/* Launches with as many arguments as the kernel has, and releases their buffers. `space`: the argument whose shape is
 * the index space, or -1. `covers`: bit i is set for an array that must not be smaller than the space. */
PyObject *wfpy_kernel_launch(PyObject *kernel, wfpy_given *const *given, wf_launch_opts *opts, int space,
                             uint64_t covers);
/* The slot of an argument of a kernel. */
const wfpy_slot *wfpy_kernel_slot(PyObject *kernel, int i);

/* ---- dispatch.c ----------------------------------------------------------------------------------------------- */

/* weft.Dispatcher, the base class of traced functions. */
int wfpy_add_dispatch(PyObject *module);
/* Calls an operator that makes its results. NULL: an exception, or none if the signature is not known. */
PyObject *wfpy_dispatch_natural(PyObject *dispatcher, PyObject *const *args, Py_ssize_t n);
/* The number of results of an operator. */
int wfpy_dispatch_outs(PyObject *dispatcher);

/* ---- same.c --------------------------------------------------------------------------------------------------- */

int wfpy_add_same(PyObject *module);
/* True for constants that are the same: numbers, texts and bytes by type and value, tuples by their parts, all else by
 * identity, or if `by_value` holds by type and ==. -1: an exception of ==. */
int wfpy_is_same(PyObject *a, PyObject *b, bool by_value);
/* What stands for a function in a table that outlives a change of its closure or defaults: a code object, or a tuple. In
 * tuples functions are replaced so; all else is itself. A new reference. */
PyObject *wfpy_snapshot(PyObject *object);

/* ---- elementwise.c -------------------------------------------------------------------------------------------- */

/* weft.ewise and weft.reduce. */
int wfpy_add_elementwise(PyObject *module);

/* ---- derivatives.c -------------------------------------------------------------------------------------------- */

/* True if a tape of the calling thread notes. */
bool wfpy_notes(void);
/* False, with an exception, if a tape of the thread notes and the array depends on one that it watches: for an array whose
 * memory other libraries get, and for memory of other libraries in which a launch has stored. */
bool wfpy_check_lent(const wf_array *array);
bool wfpy_check_stored(const char *name, const wf_array *array);
/* The same for a list of weft.Arrays, or NULL. */
bool wfpy_check_all_stored(const char *name, PyObject *arrays);
/* What a launch that stores `to` reads in place of a weft.Array: a copy, if a tape notes and both share memory, as a launch on
 * a tape must not use two views that meet. A new reference; NULL: an exception. */
PyObject *wfpy_apart(PyObject *array, const wf_array *to);
/* True if a tape notes and both arrays have the same elements in the same places. */
bool wfpy_is_same_view(const wf_array *a, const wf_array *b);

/* ---- frozen.c ------------------------------------------------------------------------------------------------- */

/* weft.freeze. */
int wfpy_add_frozen(PyObject *module);

/* ---- stream.c ------------------------------------------------------------------------------------------------- */

/* True if the calling thread is in a block `with stream:`, so that its launches may be queued. */
bool wfpy_in_stream(void);
/* True if there are streams. */
bool wfpy_has_streams(void);
#endif
