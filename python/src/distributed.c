/* distributed.c - weft.Dist, how indices are divided among ranks, and what arrays have that are distributed so. */
#include <limits.h>
#include <string.h>

#include "weft_python.h"

/* ---- weft.Dist ---- */

typedef struct dist_object {
    PyObject_HEAD wf_dist dist;
} dist_object;
static PyTypeObject *dist_type;

static const wf_dist *dist_of(PyObject *self) { return &((dist_object *)self)->dist; }

static PyObject *dist_new(const wf_dist *dist)
{
    dist_object *made = PyObject_New(dist_object, dist_type);
    if (made)
        made->dist = *dist;
    return (PyObject *)made;
}

static void dist_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* A number for each axis, at most `most`, of an int or a sequence of ints; None leaves them 0. */
static bool take_numbers(const char *function, const char *name, PyObject *object, int rank, int64_t most, int64_t *to)
{
    if (!object || object == Py_None)
        return true;
    const bool one = PyIndex_Check(object);
    const Py_ssize_t n = one ? 1 : PySequence_Check(object) ? PySequence_Size(object) : -1;
    if (n < 0) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s(): %s is an int or a sequence of ints, not %R", function, name, object);
        return false;
    }
    if (n != rank) {
        PyErr_Format(wfpy.error[WF_ERR_ARG], "%s(): %s %R has %zd numbers for a shape of %d axes", function, name,
                     object, n, rank);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject *item = one ? Py_NewRef(object) : PySequence_GetItem(object, i);
        to[i] = item ? PyNumber_AsSsize_t(item, PyExc_OverflowError) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return false;
        if (to[i] < 0 || to[i] > most) {
            PyErr_Format(wfpy.error[WF_ERR_ARG], "%s(): %s %R has a number that is negative or too large", function,
                         name, object);
            return false;
        }
    }
    return true;
}

/* The distribution by a grid, which is None, or has a number of ranks for each axis. */
static bool make_dist(const char *function, const wf_shape *shape, int ranks, PyObject *grid, wf_dist_options *options,
                      wf_dist *dist)
{
    int64_t along[WF_MAX_RANK] = { 0 };
    if (!take_numbers(function, "grid", grid, shape->rank, INT_MAX, along))
        return false;
    options->size = sizeof *options;
    for (int d = 0; d < shape->rank; ++d)
        options->grid[d] = (int32_t)along[d];
    const wf_status status = wf_dist_make(shape, ranks, options, dist);
    if (status == WF_ERR_ARG)
        PyErr_Format(wfpy.error[WF_ERR_ARG], "%s(): no grid of %d ranks over %d axes has the numbers %R", function,
                     ranks, (int)shape->rank, grid ? grid : Py_None);
    else if (status != WF_OK)
        wfpy_raise_status(status, "there is no memory for a distribution");
    return status == WF_OK;
}

static bool same_shape(const wf_shape *a, const wf_shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

bool wfpy_take_dist(const char *function, PyObject *grid, const wf_shape *shape, int ranks, wf_dist *dist)
{
    wf_dist_options options = { 0 };
    if (!grid || !Py_IS_TYPE(grid, dist_type))
        return make_dist(function, shape, ranks, grid, &options, dist);
    const wf_dist *given = dist_of(grid);
    if (given->ranks != ranks || given->shape.rank != shape->rank) {
        PyErr_Format(wfpy.error[WF_ERR_ARG], "%s(): grid is %R, for a shape of %d axes and %d ranks", function, grid,
                     (int)shape->rank, ranks);
        return false;
    }
    *dist = same_shape(&given->shape, shape) ? *given : wf_dist_resize(given, shape);
    return true;
}

/* Dist(shape, ranks, grid=None, *, unit=None, halo=None) */
static PyObject *dist_make(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "shape", "ranks", "grid", "unit", "halo", NULL };
    PyObject *shape_object, *ranks_object, *grid = NULL, *unit = NULL, *halo = NULL;
    wf_shape shape;
    wf_dist dist;
    wf_dist_options options = { 0 };
    wf_ranks *group;
    long ranks;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|O$OO:Dist", names, &shape_object, &ranks_object, &grid, &unit,
                                     &halo) ||
        !wfpy_shape(shape_object, false, &shape))
        return NULL;
    if (!PyIndex_Check(ranks_object)) {
        if (!wfpy_take_ranks("weft.Dist", ranks_object, &group))
            return NULL;
        ranks = wf_ranks_size(group);
    } else {
        ranks = (long)PyNumber_AsSsize_t(ranks_object, PyExc_OverflowError);
        if (PyErr_Occurred())
            return NULL;
    }
    if (ranks < 1 || ranks > INT_MAX)
        return PyErr_Format(wfpy.error[WF_ERR_ARG], "weft.Dist(): ranks is %R, not a number of ranks", ranks_object);
    if (!take_numbers("weft.Dist", "unit", unit, shape.rank, INT64_MAX, options.unit) ||
        !take_numbers("weft.Dist", "halo", halo, shape.rank, INT64_MAX, options.halo) ||
        !make_dist("weft.Dist", &shape, (int)ranks, grid, &options, &dist))
        return NULL;
    return dist_new(&dist);
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    (void)closure;
    return wfpy_shape_object(&dist_of(self)->shape);
}
static PyObject *get_grid(PyObject *self, void *closure)
{
    wf_shape grid = { .rank = dist_of(self)->shape.rank };
    (void)closure;
    for (int d = 0; d < grid.rank; ++d)
        grid.dim[d] = dist_of(self)->grid[d];
    return wfpy_shape_object(&grid);
}
static PyObject *get_unit(PyObject *self, void *closure)
{
    wf_shape unit = { .rank = dist_of(self)->shape.rank };
    (void)closure;
    memcpy(unit.dim, dist_of(self)->unit, sizeof unit.dim);
    return wfpy_shape_object(&unit);
}
static PyObject *get_size(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(dist_of(self)->ranks);
}

/* (lo, hi) */
static PyObject *range_of(const wf_dist *dist, int rank)
{
    wf_shape lo = { .rank = dist->shape.rank }, hi = lo;
    wf_dist_range(dist, rank, lo.dim, hi.dim);
    PyObject *first = wfpy_shape_object(&lo), *end = first ? wfpy_shape_object(&hi) : NULL;
    PyObject *both = end ? PyTuple_Pack(2, first, end) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(end);
    return both;
}

static bool take_rank(const wf_dist *dist, PyObject *object, int *rank)
{
    const Py_ssize_t number = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (number == -1 && PyErr_Occurred())
        return false;
    if (number < 0 || number >= dist->ranks) {
        PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "Dist.range: there is no rank %zd among %d", number, (int)dist->ranks);
        return false;
    }
    *rank = (int)number;
    return true;
}
static PyObject *dist_range(PyObject *self, PyObject *number)
{
    int rank;
    return take_rank(dist_of(self), number, &rank) ? range_of(dist_of(self), rank) : NULL;
}

static PyObject *owner(PyObject *self, PyObject *index)
{
    const wf_dist *dist = dist_of(self);
    wf_shape at;
    if (!wfpy_shape(index, false, &at))
        return NULL;
    bool inside = at.rank == dist->shape.rank;
    for (int d = 0; inside && d < at.rank; ++d)
        inside = at.dim[d] < dist->shape.dim[d];
    if (!inside)
        return PyErr_Format(wfpy.error[WF_ERR_BOUNDS], "Dist.owner: %R is no index of %R", index, self);
    return PyLong_FromLong(wf_dist_owner(dist, at.dim));
}

static PyObject *dist_repr(PyObject *self)
{
    PyObject *shape = get_shape(self, NULL), *grid = shape ? get_grid(self, NULL) : NULL, *unit = NULL, *text = NULL;
    bool units = false;
    for (int d = 0; d < dist_of(self)->shape.rank; ++d)
        units = units || dist_of(self)->unit[d] != 1;
    if (grid && units)
        unit = get_unit(self, NULL);
    if (unit)
        text = PyUnicode_FromFormat("weft.Dist(%R, %d, %R, unit=%R)", shape, (int)dist_of(self)->ranks, grid, unit);
    else if (grid && !units)
        text = PyUnicode_FromFormat("weft.Dist(%R, %d, %R)", shape, (int)dist_of(self)->ranks, grid);
    Py_XDECREF(shape);
    Py_XDECREF(grid);
    Py_XDECREF(unit);
    return text;
}

static PyObject *dist_compare(PyObject *self, PyObject *other, int how)
{
    if (!Py_IS_TYPE(other, dist_type) || (how != Py_EQ && how != Py_NE))
        return Py_NewRef(Py_NotImplemented);
    const wf_dist *a = dist_of(self), *b = dist_of(other);
    bool same = same_shape(&a->shape, &b->shape) && a->ranks == b->ranks;
    for (int d = 0; same && d < a->shape.rank; ++d)
        same = a->grid[d] == b->grid[d] && a->unit[d] == b->unit[d];
    return PyBool_FromLong(same == (how == Py_EQ));
}

static PyGetSetDef dist_properties[] = {
    { "shape", get_shape, NULL, "The extents of all indices.", NULL },
    { "grid", get_grid, NULL, "The number of ranks along each axis.", NULL },
    { "unit", get_unit, NULL, "Blocks begin at multiples of these numbers.", NULL },
    { "size", get_size, NULL, "The number of ranks.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};
static PyMethodDef dist_methods[] = {
    { "range", dist_range, METH_O,
      "range(rank, /)\n--\n\n(lo, hi): the block of a rank has the indices from lo to below hi." },
    { "owner", owner, METH_O, "owner(index, /)\n--\n\nThe rank whose block has an index." },
    { NULL, NULL, 0, NULL },
};
static PyType_Slot dist_slots[] = {
    { Py_tp_doc,
      "Dist(shape, ranks, grid=None, *, unit=None, halo=None)\n--\n\n"
      "How the indices of a shape are divided into blocks, one for each of a number of ranks. grid: the ranks along each\n"
      "axis; 0, and None for all axes: chosen such that ranks need few elements of each other, `halo` along each axis.\n"
      "unit: blocks begin at multiples of it." },
    { Py_tp_new, dist_make },
    { Py_tp_dealloc, dist_dealloc },
    { Py_tp_repr, dist_repr },
    { Py_tp_richcompare, dist_compare },
    { Py_tp_hash, PyObject_HashNotImplemented },
    { Py_tp_getset, dist_properties },
    { Py_tp_methods, dist_methods },
    { 0, NULL },
};
static PyType_Spec dist_spec = { "weft.Dist", sizeof(dist_object), 0, Py_TPFLAGS_DEFAULT, dist_slots };

/* ---- making arrays ---- */

wf_array *wfpy_empty_distributed(const char *function, wf_dtype dtype, const wf_shape *shape, PyObject *ranks_object,
                                 PyObject *grid)
{
    wf_ranks *ranks;
    wf_dist dist;
    if (!wfpy_take_ranks(function, ranks_object, &ranks) ||
        !wfpy_take_dist(function, grid, shape, wf_ranks_size(ranks), &dist))
        return NULL;
    wfpy_released r = wfpy_release_gil(false);
    wf_array *made = wf_empty_distributed(wfpy.context, dtype, ranks, &dist);
    wfpy_take_gil(r);
    if (!made)
        wfpy_raise();
    return made;
}

wf_array *wfpy_empty_result(const wf_array *const *from, size_t n, wf_axes reduced, wf_dtype dtype,
                            const wf_shape *shape, wf_device device)
{
    return wf_empty_beside(wfpy.context, dtype, *shape, .operand = from, .operands = n, .reduced = reduced,
                           .device = device);
}

/* _empty_beside(shape, dtype, device, arrays, reduced axes=(), keepdims=False): an array for what is computed from arrays;
 * in place of them a recording, for what is computed from all that it has read. */
static PyObject *empty_beside(PyObject *self, PyObject *args)
{
    PyObject *shape_object, *dtype_object, *device_object, *arrays, *axes = NULL;
    wf_axes reduced = 0;
    int keeps = 0;
    wf_shape shape;
    wf_dtype dtype;
    wf_device device;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOO|Op", &shape_object, &dtype_object, &device_object, &arrays, &axes, &keeps) ||
        (axes && !wfpy_axes(axes, WF_MAX_RANK, &reduced)) || !wfpy_shape(shape_object, false, &shape) ||
        !wfpy_dtype(dtype_object, &dtype) || !wfpy_device(device_object, &device) || !wfpy_context())
        return NULL;
    reduced |= reduced && !keeps ? WF_DROP_AXES : 0;
    if (PyObject_TypeCheck(arrays, wfpy.graph)) {
        wf_graph *g = wfpy_graph_of(arrays);
        return g ? wfpy_array_new(wf_empty_beside(wfpy.context, dtype, shape, .graph = g, .device = device)) : NULL;
    }
    PyObject *items = PySequence_Tuple(arrays);
    const size_t n = items ? (size_t)PyTuple_Size(items) : 0;
    const wf_array **from = items ? PyMem_Calloc(n + 1, sizeof *from) : NULL;
    if (items && !from)
        PyErr_NoMemory();
    for (size_t i = 0; i < n && !PyErr_Occurred(); ++i) {
        PyObject *item = PyTuple_GetItem(items, (Py_ssize_t)i);
        from[i] = wfpy_is_array(item) ? wfpy_array_of(item) : NULL;
    }
    PyObject *made =
        PyErr_Occurred() ? NULL : wfpy_array_new(wfpy_empty_result(from, n, reduced, dtype, &shape, device));
    PyMem_Free(from);
    Py_XDECREF(items);
    return made;
}

/* ---- what distributed arrays have ---- */

/* The distribution of an array; NULL: it has none, or an exception is set. */
static const wf_dist *dist_of_array(PyObject *self, const char *function)
{
    const wf_array *array = wfpy_array_of(self);
    const wf_dist *dist = wf_array_dist(array);
    if (array && !dist && function)
        PyErr_Format(wfpy.error[WF_ERR_ARG], "%s: the array is not distributed", function);
    return dist;
}

PyObject *wfpy_get_ranks(PyObject *self, void *closure)
{
    const wf_array *array = wfpy_array_of(self);
    (void)closure;
    return array ? wfpy_ranks_object(wf_array_ranks(array)) : NULL;
}
PyObject *wfpy_get_dist(PyObject *self, void *closure)
{
    const wf_dist *dist = dist_of_array(self, NULL);
    (void)closure;
    if (dist)
        return dist_new(dist);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
static int own_rank(PyObject *self) { return wf_ranks_rank(wf_array_ranks(((wfpy_array *)self)->array)); }
PyObject *wfpy_get_block_range(PyObject *self, void *closure)
{
    const wf_dist *dist = dist_of_array(self, "Array.block_range");
    (void)closure;
    return dist ? range_of(dist, own_rank(self)) : NULL;
}
PyObject *wfpy_get_block_slices(PyObject *self, void *closure)
{
    int64_t lo[WF_MAX_RANK], hi[WF_MAX_RANK];
    const wf_dist *dist = dist_of_array(self, "Array.block_slices");
    PyObject *slices = dist ? PyTuple_New(dist->shape.rank) : NULL;
    (void)closure;
    if (slices)
        wf_dist_range(dist, own_rank(self), lo, hi);
    for (int d = 0; slices && d < dist->shape.rank; ++d) {
        PyObject *first = PyLong_FromLongLong(lo[d]), *end = first ? PyLong_FromLongLong(hi[d]) : NULL;
        PyObject *slice = end ? PySlice_New(first, end, NULL) : NULL;
        Py_XDECREF(first);
        Py_XDECREF(end);
        if (!slice || PyTuple_SetItem(slices, d, slice) < 0)
            Py_CLEAR(slices);
    }
    return slices;
}

static PyObject *redistribute(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "grid", NULL };
    PyObject *grid = NULL;
    wf_dist dist;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O:redistribute", names, &grid))
        return NULL;
    const wf_dist *own = dist_of_array(self, "Array.redistribute");
    if (!own || !wfpy_take_dist("Array.redistribute", grid, &own->shape, own->ranks, &dist))
        return NULL;
    const wf_array *from = ((wfpy_array *)self)->array;
    wfpy_released r = wfpy_release_gil(false);
    wf_array *to = wf_empty_distributed(wfpy.context, wf_array_dtype(from), wf_array_ranks(from), &dist);
    const bool done = to && wf_array_redistribute(to, from) == WF_OK;
    wfpy_take_gil(r);
    if (done)
        return wfpy_array_new(to);
    wf_release(to);
    return wfpy_raise();
}

wf_array *wfpy_collect(const wf_array *array)
{
    wfpy_released r = wfpy_release_gil(false);
    wf_array *all = wf_array_collect(array);
    wfpy_take_gil(r);
    return all;
}
static PyObject *collect(PyObject *self, PyObject *none)
{
    (void)none;
    const wf_array *array = wfpy_array_of(self);
    if (!array)
        return NULL;
    if (!wf_array_dist(array))
        return Py_NewRef(self);
    return wfpy_array_new(wfpy_collect(array));
}

PyMethodDef wfpy_distributed_methods[] = {
    { "redistribute", WFPY_FUNCTION(redistribute), METH_VARARGS | METH_KEYWORDS,
      "redistribute(grid=None)\n--\n\n"
      "A copy of a distributed array that is divided in another way; grid as in weft.empty. All ranks call it." },
    { "collect", collect, METH_NOARGS,
      "collect()\n--\n\n"
      "An array with all elements, on every rank; the array itself if it is not distributed. All ranks call it." },
    { NULL, NULL, 0, NULL },
};

/* ---- blocks ---- */

/* _block_begin(array): a view of this rank's block, which _block_end ends. */
static PyObject *block_begin(PyObject *self, PyObject *object)
{
    (void)self;
    if (!wfpy_is_array(object))
        return PyErr_Format(PyExc_TypeError, "Array.block is for arrays of weft, not %R", object);
    wf_array *array = wfpy_array_to_write(object);
    if (!array)
        return NULL;
    wf_array *view = wf_array_block(array);
    PyObject *made = wfpy_array_new(view);
    if (!made && wf_array_dist(array)) { /* an array without an object was released, so that no view is left */
        wf_array_block_end(array, NULL);
        wf_clear_error(wfpy.context);
    }
    return made;
}

/* _block_end(array, block) */
static PyObject *block_end(PyObject *self, PyObject *args)
{
    PyObject *object, *block;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!O!", wfpy.array, &object, wfpy.array, &block) || !wfpy_lazy_compute_all())
        return NULL;
    wf_array *array = wfpy_array_of(object), *view = array ? wfpy_array_of(block) : NULL;
    if (!view)
        return NULL;
    if (!wf_array_dist(array) || object == block || !wf_shares(array, view))
        return wfpy_raise_status(WF_ERR_ARG, "Array.block: this is no view of the array's block");
    ((wfpy_array *)block)->array = NULL;
    if (wf_array_block_end(array, view) == WF_OK)
        Py_RETURN_NONE;
    wf_clear_error(wfpy.context);
    return wfpy_raise_status(
        WF_ERR_ARG, "Array.block: arrays that share the memory of the block are still in use at its end; `del` "
                    "ends an array of numpy.asarray(block), and numpy.array(block) is a copy");
}

static PyMethodDef functions[] = {
    { "_empty_beside", empty_beside, METH_VARARGS, NULL },
    { "_block_begin", block_begin, METH_O, NULL },
    { "_block_end", block_end, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

int wfpy_add_distributed(PyObject *module)
{
    dist_type = wfpy_add_type(module, &dist_spec);
    return dist_type ? PyModule_AddFunctions(module, functions) : -1;
}
