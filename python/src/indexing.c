/* indexing.c - array[key] with arrays of integers and masks, by NumPy's rules, in memory of the host.
 *
 * Slices, None and Ellipsis of the key give a view, in which each axis that an array, a mask or a number beside one names
 * is whole. The named axes become one list of offsets of elements; the view's other axes are the rest. The result's axes
 * are those of the indices where they stand side by side in the key, else they come first.
 *
 * What these functions do not take is for the functions of Python (weft/_indexing.py), which use kernels: memory of GPUs,
 * launches that a tape or a frozen sequence notes, many single elements, which several threads gather faster, and every
 * mistake, for which they have the messages. */
#include <stdlib.h>
#include <string.h>

#include "weft_python.h"

enum { MOST_PARTS = 2 * WF_MAX_RANK + 2, MANY = 1 << 18, SHORT_RUN = 16, AS_THEY_ARE = -1, SLACK = 64 };

typedef struct part { /* something of a key that names axes of the view */
    PyObject *owner;  /* its array, else it is `number` */
    int64_t number;
    int axis, axes; /* of the view */
    int place;      /* in the key */
    bool mask;
    const char *data; /* of the array in memory */
    wf_shape shape;
    int64_t strides[WF_MAX_RANK];
    int64_t n_true; /* elements of a mask */
} part;
typedef struct rest { /* axes of the view that the key does not name, with neighbours joined */
    int n;
    int64_t count, dim[WF_MAX_RANK], stride[WF_MAX_RANK];
} rest;
typedef struct indexing {
    PyObject *basic; /* the key of the view */
    wf_array *view;
    int64_t strides[WF_MAX_RANK]; /* of the view */
    part part[WF_MAX_RANK];
    int n;
    wf_shape shape;     /* to which the indices broadcast */
    int64_t n_offsets;  /* elements of that shape */
    int64_t *offset;    /* of the first element of each, in elements */
    rest before, after; /* the rest before and after the axes of the indices in the result */
    wf_shape made;      /* shape of the result */
    int64_t count;      /* elements of the result */
    bool one_mask;      /* one mask names all axes */
} indexing;
typedef enum outcome { DONE, NOT_HERE, RAISED } outcome;

static void end_indexing(indexing *x)
{
    for (int i = 0; i < x->n; ++i)
        Py_XDECREF(x->part[i].owner);
    Py_XDECREF(x->basic);
    wf_release(x->view);
    free(x->offset);
}

static bool is_of_host(const wf_array *array)
{
    return wf_array_device(array) == WF_CPU || wf_array_device(array) == WF_INTERP;
}

/* Waits for queued work, and maps an array. */
static bool map(const wf_array *array, char **data, int64_t *strides)
{
    void *at = NULL;
    wfpy_released r = wfpy_release_gil(false);
    wf_status status = wf_map(array, &at, strides);
    wfpy_take_gil(r);
    *data = at;
    if (status != WF_OK)
        wfpy_raise();
    return status == WF_OK;
}

/* ---- keys ---- */

/* Converts what is neither a slice nor None nor Ellipsis to an array of i64, a mask, or a number. */
static outcome convert(PyObject *object, part *p)
{
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        p->number = PyLong_AsLongLong(object);
        if (!PyErr_Occurred())
            return DONE;
        PyErr_Clear(); /* more than 64 bits, which is out of range */
        return NOT_HERE;
    }
    if (!wfpy_is_array(object) && !(wfpy_has_buffer(object) && !PyBytes_Check(object)) && !wfpy_is_list(object))
        return NOT_HERE;
    p->owner = wfpy_as_array(object, WF_NONE);
    wf_array *array = p->owner ? wfpy_array_of(p->owner) : NULL;
    if (!array)
        return RAISED;
    const wf_kind kind = wf_dtype_kind(wf_array_dtype(array));
    p->mask = kind == WF_KIND_BOOL;
    if (!p->mask && wf_array_shape(array).rank == 0 && PyIndex_Check(object)) { /* a number of NumPy */
        Py_CLEAR(p->owner);
        p->number = PyNumber_AsSsize_t(object, PyExc_IndexError);
        return PyErr_Occurred() ? RAISED : DONE;
    }
    if (!is_of_host(array) || wf_array_dist(array) ||
        !(p->mask || kind == WF_KIND_SIGNED || kind == WF_KIND_UNSIGNED) || wf_array_shape(array).rank == 0 ||
        wf_array_dtype(array) == WF_U64)
        return NOT_HERE;
    if (p->mask || wf_array_dtype(array) == WF_I64)
        return DONE;
    PyObject *wide = wfpy_array_new(wf_array_cast(array, WF_I64));
    Py_DECREF(p->owner);
    p->owner = wide;
    return wide ? DONE : RAISED;
}

static bool put_part(PyObject *basic, Py_ssize_t *at, PyObject *object)
{
    return PyTuple_SetItem(basic, (*at)++, Py_NewRef(object)) == 0;
}

/* Splits the key in parts and the key of the view. */
static outcome split(indexing *x, wf_array *array, PyObject *key)
{
    const Py_ssize_t n = PyTuple_Check(key) ? PyTuple_Size(key) : 1;
    const int rank = wf_array_shape(array).rank;
    PyObject *object[MOST_PARTS], *whole = NULL;
    part *of[MOST_PARTS];
    bool any = false; /* arrays */
    int named = 0, parts = 0, ellipses = 0;
    if (n > MOST_PARTS - 1)
        return NOT_HERE;
    for (Py_ssize_t i = 0; i < n; ++i) {
        object[i] = PyTuple_Check(key) ? PyTuple_GetItem(key, i) : key;
        of[i] = NULL;
        ellipses += object[i] == Py_Ellipsis;
        named += PySlice_Check(object[i]) != 0;
        if (object[i] == Py_None || object[i] == Py_Ellipsis || PySlice_Check(object[i]))
            continue;
        if (x->n == WF_MAX_RANK)
            return NOT_HERE;
        part *p = of[i] = &x->part[x->n++];
        *p = (part){ .place = (int)i, .axes = 1 };
        outcome done = convert(object[i], p);
        if (done != DONE)
            return done;
        if (p->mask)
            p->axes = wf_array_shape(wfpy_array_of(p->owner)).rank;
        named += p->axes;
        any = any || p->owner;
    }
    if (!any || ellipses > 1 || named > rank)
        return NOT_HERE;
    for (int i = 0; i < x->n; ++i)
        parts += x->part[i].axes - 1;
    x->basic = PyTuple_New(n + parts + !ellipses);
    whole = PySlice_New(NULL, NULL, NULL);
    Py_ssize_t at = 0;
    int axis = 0;
    bool right = x->basic && whole;
    for (Py_ssize_t i = 0; right && i < n; ++i) {
        if (!of[i]) {
            right = put_part(x->basic, &at, object[i]);
            axis += object[i] == Py_Ellipsis ? rank - named : 1;
            continue;
        }
        of[i]->axis = axis;
        axis += of[i]->axes;
        for (int k = 0; right && k < of[i]->axes; ++k)
            right = put_part(x->basic, &at, whole);
    }
    if (right && !ellipses)
        right = put_part(x->basic, &at, Py_Ellipsis);
    Py_XDECREF(whole);
    x->one_mask = x->n == 1 && x->part[0].mask && x->part[0].axes == rank;
    return right ? DONE : RAISED;
}

/* ---- offsets ---- */

/* The places of a mask's true elements, or only their number if `offset` is NULL. There is room for more places than
 * that number, by SLACK: another thread may have written to the mask after they were counted. */
static int64_t offsets_of_mask(const char *data, const wf_shape *shape, const int64_t *strides, const int64_t *to,
                               int64_t *offset, int64_t room)
{
    int64_t index[WF_MAX_RANK] = { 0 }, n = 0, count = 1, base = 0;
    const int last = shape->rank - 1;
    for (int d = 0; d < last; ++d)
        count *= shape->dim[d];
    for (int64_t k = 0; k < count && shape->dim[last]; ++k) {
        const int64_t step = strides[last], by = to[last];
        if (!offset)
            for (int64_t i = 0; i < shape->dim[last]; ++i)
                n += data[i * step] != 0;
        for (int64_t i = 0; offset && i < shape->dim[last] && n < room;) {
            const int64_t left = shape->dim[last] - i, end = i + (left < room - n ? left : room - n);
            for (; i < end; ++i) { /* without a branch on the mask */
                offset[n] = base + i * by;
                n += data[i * step] != 0;
            }
        }
        for (int d = last - 1; d >= 0; --d) {
            data += strides[d];
            base += to[d];
            if (++index[d] < shape->dim[d])
                break;
            data -= index[d] * strides[d];
            base -= index[d] * to[d];
            index[d] = 0;
        }
    }
    return n;
}

/* Adds the offsets of one array of indices, which broadcasts to `shape`. False: an index is out of range. AS_THEY_ARE in
 * place of the extent: they are offsets, which may be negative. */
static bool add_offsets(int64_t *offset, const wf_shape *shape, const int64_t *index, const wf_shape *own,
                        const int64_t *strides, int64_t extent, int64_t stride)
{
    int64_t step[WF_MAX_RANK] = { 0 }, at[WF_MAX_RANK] = { 0 }, count = 1;
    const int last = shape->rank - 1;
    for (int d = 0; d < own->rank; ++d)
        step[shape->rank - own->rank + d] = own->dim[d] > 1 ? strides[d] : 0;
    for (int d = 0; d < last; ++d)
        count *= shape->dim[d];
    const int64_t n = last < 0 ? 1 : shape->dim[last], by = last < 0 ? 0 : step[last];
    bool right = true;
    for (int64_t k = 0; k < count; ++k, offset += n) {
        for (int64_t i = 0; i < n; ++i) {
            int64_t place = index[i * by];
            place += place < 0 && extent > 0 ? extent : 0;
            right &= extent == AS_THEY_ARE || (place >= 0 && place < extent);
            /* unsigned, since an index out of range may be of any size */
            offset[i] = (int64_t)((uint64_t)offset[i] + (uint64_t)place * (uint64_t)stride);
        }
        if (!right)
            return false;
        for (int d = last - 1; d >= 0; --d) {
            index += step[d];
            if (++at[d] < shape->dim[d])
                break;
            index -= at[d] * step[d];
            at[d] = 0;
        }
    }
    return true;
}

/* Joins a shape with the one to which indices broadcast. */
static bool join_shape(wf_shape *all, const wf_shape *own)
{
    const int rank = own->rank > all->rank ? own->rank : all->rank;
    wf_shape made = { .rank = rank };
    for (int d = 0; d < rank; ++d) {
        const int a = d - (rank - all->rank), b = d - (rank - own->rank);
        const int64_t p = a < 0 ? 1 : all->dim[a], q = b < 0 ? 1 : own->dim[b];
        if (p != q && p != 1 && q != 1)
            return false;
        made.dim[d] = p == 1 ? q : p;
    }
    *all = made;
    return true;
}

/* Maps the arrays, and finds the shape to which the indices broadcast. */
static outcome find_shape(indexing *x)
{
    const wf_shape view = wf_array_shape(x->view);
    x->n_offsets = 1;
    for (int i = 0; i < x->n; ++i) {
        part *p = &x->part[i];
        char *data;
        if (!p->owner) {
            if (p->number < -view.dim[p->axis] || p->number >= view.dim[p->axis])
                return NOT_HERE;
            continue;
        }
        const wf_array *array = wfpy_array_of(p->owner);
        if (!map(array, &data, p->strides))
            return RAISED;
        p->data = data;
        p->shape = wf_array_shape(array);
        if (p->mask) {
            for (int d = 0; d < p->axes; ++d)
                if (p->shape.dim[d] != view.dim[p->axis + d])
                    return NOT_HERE;
            p->n_true = offsets_of_mask(p->data, &p->shape, p->strides, x->strides + p->axis, NULL, 0);
        }
        const wf_shape places = p->mask ? (wf_shape){ .rank = 1, .dim = { p->n_true } } : p->shape;
        if (!join_shape(&x->shape, &places))
            return NOT_HERE;
    }
    for (int d = 0; d < x->shape.rank; ++d)
        if (__builtin_mul_overflow(x->n_offsets, x->shape.dim[d], &x->n_offsets))
            return NOT_HERE;
    return DONE;
}

/* Finds the first element of each position of that shape, in the view. */
static outcome find_offsets(indexing *x)
{
    const wf_shape view = wf_array_shape(x->view);
    x->offset = calloc((size_t)x->n_offsets + SLACK, sizeof *x->offset);
    bool right = x->offset != NULL;
    for (int i = 0; right && i < x->n; ++i) {
        const part *p = &x->part[i];
        const int64_t extent = view.dim[p->axis], *to = x->strides + p->axis, one = 1;
        if (!p->owner)
            right = add_offsets(x->offset, &x->shape, &p->number, &(wf_shape){ 0 }, &one, extent, *to);
        else if (!p->mask)
            right = x->n_offsets ? add_offsets(x->offset, &x->shape, (const int64_t *)(const void *)p->data, &p->shape,
                                               p->strides, extent, *to)
                                 : wf_array_count(wfpy_array_of(p->owner)) == 0; /* others may be out of range */
        else if (x->n == 1)
            offsets_of_mask(p->data, &p->shape, p->strides, to, x->offset, p->n_true + SLACK);
        else {
            const wf_shape places = { .rank = 1, .dim = { p->n_true } };
            int64_t *own = calloc((size_t)p->n_true + SLACK, sizeof *own);
            right = own != NULL;
            if (own) {
                offsets_of_mask(p->data, &p->shape, p->strides, to, own, p->n_true + SLACK);
                right = add_offsets(x->offset, &x->shape, own, &places, &one, AS_THEY_ARE, 1);
            }
            free(own);
        }
    }
    if (!x->offset)
        PyErr_NoMemory();
    return right ? DONE : PyErr_Occurred() ? RAISED : NOT_HERE;
}

static void add_rest(rest *r, int64_t dim, int64_t stride)
{
    r->count *= dim;
    if (dim == 1)
        return;
    if (r->n && r->stride[r->n - 1] == stride * dim) {
        r->dim[r->n - 1] *= dim;
        r->stride[r->n - 1] = stride;
        return;
    }
    r->dim[r->n] = dim;
    r->stride[r->n++] = stride;
}

/* Prepares all but the offsets of the elements that a key names. *data: the view's first element. `simple`: for a large
 * mask of all elements there is a function of the library. */
static outcome begin(indexing *x, wf_array *array, PyObject *key, bool simple, char **data)
{
    *x = (indexing){ .n = 0 };
    if (!is_of_host(array) || wf_array_dist(array) || wf_is_freezing(wfpy.context) || wf_is_taped(array))
        return NOT_HERE;
    outcome done = split(x, array, key);
    if (done == DONE && simple && x->one_mask && wf_array_count(array) >= WFPY_LONG)
        done = NOT_HERE;
    if (done != DONE)
        return done;
    x->view = wfpy_view_of(array, x->basic);
    if (!x->view || !map(x->view, data, x->strides))
        return RAISED;
    done = find_shape(x);
    if (done != DONE)
        return done;
    const wf_shape view = wf_array_shape(x->view);
    bool named[WF_MAX_RANK] = { false }, together = true;
    for (int i = 0; i < x->n; ++i) {
        for (int k = 0; k < x->part[i].axes; ++k)
            named[x->part[i].axis + k] = true;
        together = together && x->part[i].place == x->part[0].place + i;
    }
    x->before.count = x->after.count = 1;
    wf_shape before = { 0 }, after = { 0 };
    for (int d = 0; d < view.rank; ++d) {
        if (named[d])
            continue;
        const bool first = together && d < x->part[0].axis;
        wf_shape *to = first ? &before : &after;
        to->dim[to->rank++] = view.dim[d];
        add_rest(first ? &x->before : &x->after, view.dim[d], x->strides[d]);
    }
    if (before.rank + x->shape.rank + after.rank > WF_MAX_RANK)
        return NOT_HERE;
    x->made = before;
    for (int d = 0; d < x->shape.rank; ++d)
        x->made.dim[x->made.rank++] = x->shape.dim[d];
    for (int d = 0; d < after.rank; ++d)
        x->made.dim[x->made.rank++] = after.dim[d];
    x->count = 1;
    for (int d = 0; d < x->made.rank; ++d)
        if (__builtin_mul_overflow(x->count, x->made.dim[d], &x->count))
            return NOT_HERE;
    return DONE;
}

/* ---- elements ---- */

/* Moves n elements of a size that is a constant where this is called. */
static inline void move(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, size_t size)
{
    char one[16];
    if (from_step == 0 && to_step == 1) {
        memcpy(one, from, size);
        for (int64_t i = 0; i < n; ++i)
            memcpy(to + (size_t)i * size, one, size);
        return;
    }
    for (int64_t i = 0; i < n; ++i)
        memcpy(to + (size_t)(i * to_step) * size, from + (size_t)(i * from_step) * size, size);
}
static void move_run(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, size_t size)
{
    if (to_step == 1 && from_step == 1)
        memcpy(to, from, (size_t)n * size);
    else if (size == 1)
        move(to, to_step, from, from_step, n, 1);
    else if (size == 2)
        move(to, to_step, from, from_step, n, 2);
    else if (size == 4)
        move(to, to_step, from, from_step, n, 4);
    else if (size == 8)
        move(to, to_step, from, from_step, n, 8);
    else
        move(to, to_step, from, from_step, n, 16);
}
static inline void pick(char *to, const char *from, const int64_t *offset, int64_t n, size_t size)
{
    for (int64_t i = 0; i < n; ++i)
        memcpy(to + (size_t)i * size, from + offset[i] * (int64_t)size, size);
}
static void pick_elements(char *to, const char *from, const int64_t *offset, int64_t n, size_t size)
{
    switch (size) {
    case 1:
        pick(to, from, offset, n, 1);
        break;
    case 2:
        pick(to, from, offset, n, 2);
        break;
    case 4:
        pick(to, from, offset, n, 4);
        break;
    case 8:
        pick(to, from, offset, n, 8);
        break;
    default:
        pick(to, from, offset, n, 16);
    }
}
static inline void lay(char *to, const int64_t *offset, const char *from, int64_t step, int64_t n, size_t size)
{
    for (int64_t i = 0; i < n; ++i)
        memcpy(to + offset[i] * (int64_t)size, from + (size_t)(i * step) * size, size);
}
static void lay_elements(char *to, const int64_t *offset, const char *from, int64_t step, int64_t n, size_t size)
{
    switch (size) {
    case 1:
        lay(to, offset, from, step, n, 1);
        break;
    case 2:
        lay(to, offset, from, step, n, 2);
        break;
    case 4:
        lay(to, offset, from, step, n, 4);
        break;
    case 8:
        lay(to, offset, from, step, n, 8);
        break;
    default:
        lay(to, offset, from, step, n, 16);
    }
}

/* The offset of the next position of a rest's first n axes, in C order. */
static int64_t next_of(const rest *r, int n, int64_t *index, int64_t offset)
{
    for (int d = n - 1; d >= 0; --d) {
        offset += r->stride[d];
        if (++index[d] < r->dim[d])
            break;
        offset -= index[d] * r->stride[d];
        index[d] = 0;
    }
    return offset;
}

/* Moves between the elements at `data` that the key names and `packed`, which holds them in the order of the result; for
 * `step` 0 it holds one for all. */
static void move_all(const indexing *x, char *data, char *packed, int64_t step, bool reads, size_t size)
{
    const rest *r = &x->after;
    const int64_t run = r->n ? r->dim[r->n - 1] : 1, by = r->n ? r->stride[r->n - 1] : 1,
                  runs = run ? r->count / run : 0;
    int64_t outer[WF_MAX_RANK] = { 0 }, first = 0;
    for (int64_t k = 0; k < x->before.count; ++k, first = next_of(&x->before, x->before.n, outer, first)) {
        char *base = data + first * (int64_t)size;
        if (!r->n) {
            if (reads)
                pick_elements(packed, base, x->offset, x->n_offsets, size);
            else
                lay_elements(base, x->offset, packed, step, x->n_offsets, size);
            packed += (size_t)(x->n_offsets * step) * size;
            continue;
        }
        for (int64_t b = 0; b < x->n_offsets; ++b) {
            int64_t inner[WF_MAX_RANK] = { 0 }, at = x->offset[b];
            for (int64_t j = 0; j < runs; ++j, at = next_of(r, r->n - 1, inner, at)) {
                char *element = base + at * (int64_t)size;
                if (reads)
                    move_run(packed, 1, element, by, run, size);
                else
                    move_run(element, by, packed, step, run, size);
                packed += (size_t)(run * step) * size;
            }
        }
    }
}

/* True if so many single elements are read that kernels on several threads are faster. */
static bool is_for_kernels(const indexing *x)
{
    const rest *r = &x->after;
    const bool short_runs = !r->n || r->stride[r->n - 1] != 1 || r->dim[r->n - 1] < SHORT_RUN;
    return short_runs && x->count >= MANY;
}

static PyObject *ended(indexing *x, outcome done, PyObject *result)
{
    end_indexing(x);
    if (done == DONE)
        return result;
    Py_XDECREF(result);
    if (done == NOT_HERE)
        wf_clear_error(wfpy.context);
    return NULL;
}

PyObject *wfpy_index_get(PyObject *self, PyObject *key)
{
    indexing x;
    char *data, *packed;
    wf_array *array = wfpy_array_of(self);
    if (!array)
        return NULL;
    outcome done = begin(&x, array, key, true, &data);
    if (done == DONE)
        done = is_for_kernels(&x) ? NOT_HERE : find_offsets(&x);
    if (done != DONE)
        return ended(&x, done, NULL);
    const wf_dtype dtype = wf_array_dtype(array);
    const wf_place place = { .size = sizeof place, .device = wf_array_device(array) };
    PyObject *made = wfpy_array_new(wf_empty_with(wfpy.context, dtype, x.made, &place));
    if (!made || !map(wfpy_array_of(made), &packed, NULL))
        return ended(&x, RAISED, made);
    wfpy_released r = wfpy_release_gil(x.count >= WFPY_LONG);
    move_all(&x, data, packed, 1, true, wf_dtype_size(dtype));
    wfpy_take_gil(r);
    return ended(&x, DONE, made);
}

/* The value in the dtype and shape of the elements, or one element for all. NULL without an exception: not here. */
static wf_array *elements_of(const indexing *x, const wf_array *value)
{
    const wf_dtype dtype = wf_array_dtype(x->view);
    wf_shape shape = wf_array_shape(value);
    if (!is_of_host(value) || wf_is_taped(value) || shape.rank > x->made.rank ||
        (wf_dtype_kind(wf_array_dtype(value)) == WF_KIND_COMPLEX && wf_dtype_kind(dtype) != WF_KIND_COMPLEX))
        return NULL;
    wf_array *cast = wf_array_dtype(value) == dtype ? wf_array_copy(value) : wf_array_cast(value, dtype);
    if (!cast || wf_array_count(cast) == 1)
        return cast;
    wf_array *broadcast = wf_view_broadcast(cast, x->made), *packed = broadcast ? wf_array_contiguous(broadcast) : NULL;
    wf_release(broadcast);
    wf_release(cast);
    return packed;
}

int wfpy_index_set(PyObject *self, PyObject *key, PyObject *value)
{
    indexing x;
    char *data, *packed;
    wf_array *array = wfpy_array_to_write(self);
    PyObject *given = array ? wfpy_as_array(value, WF_NONE) : NULL;
    wf_array *own = given ? wfpy_array_of(given) : NULL, *elements = NULL;
    if (!own) {
        Py_XDECREF(given);
        return -1;
    }
    outcome done = begin(&x, array, key, wf_array_count(own) == 1, &data);
    if (done == DONE)
        done = find_offsets(&x);
    if (done == DONE && !(elements = elements_of(&x, own)))
        done = NOT_HERE;
    if (done == DONE && !map(elements, &packed, NULL))
        done = RAISED;
    if (done == DONE) {
        const int64_t step = wf_array_count(elements) != 1;
        wfpy_released r = wfpy_release_gil(x.count >= WFPY_LONG);
        move_all(&x, data, packed, step, false, wf_dtype_size(wf_array_dtype(array)));
        wfpy_take_gil(r);
    }
    wf_release(elements);
    Py_DECREF(given);
    ended(&x, done, NULL);
    return done == DONE ? 1 : done == NOT_HERE ? 0 : -1;
}
