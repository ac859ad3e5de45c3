/* graph_arrays.h - for fuzz_graph.c: decisions from bytes, and arrays of every dtype and layout (padded, permuted,
 * reversed, stepped, broadcast, overlapping). Each way of computing gets new arrays with the same contents.
 */
#ifndef WEFT_GRAPH_ARRAYS_H
#define WEFT_GRAPH_ARRAYS_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ir/ir.h"

#define FZ_COUNT(a) (sizeof(a) / sizeof *(a))
/* Numbers of buffers: at the beginning of a recording, and made while it goes on (graph_eval.h). */
enum { FIRST_BUFFERS = 4, MOST_LATER = 8, MOST_BUFFERS = FIRST_BUFFERS + MOST_LATER };
enum { MOST_ARRAYS = 2 * FIRST_BUFFERS + MOST_LATER };

typedef struct fz_reader {
    const uint8_t *p;
    size_t n;
    uint64_t random; /* the state of random contents, which take no bytes of the input */
    bool back;       /* the bytes are taken from the last to the first */
} fz_reader;

static uint64_t fz_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static fz_reader fz_open(const uint8_t *data, size_t size)
{
    fz_reader r = { .p = data, .n = size, .random = size };
    for (size_t i = 0; i < size && i < 4; ++i)
        r.random = r.random * 257 + data[i];
    return r;
}

/* Opens the bytes for other decisions, from the end backwards. */
static fz_reader fz_open_back(const uint8_t *data, size_t size)
{
    fz_reader r = fz_open(data, size);
    r.random = ~r.random;
    r.back = true;
    return r;
}

/* Returns a choice below `below`; 0 after the last byte. */
static unsigned fz_take(fz_reader *r, unsigned below)
{
    if (r->n == 0 || below < 2)
        return 0;
    --r->n;
    return (r->back ? r->p[r->n] : *r->p++) % below;
}

/* ---- shapes ---- */
static bool fz_same_shape(const wf_shape *a, const wf_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

/* Broadcasts *a and *b into *a, by NumPy's rule; false if they do not broadcast. */
static bool fz_broadcast(wf_shape *a, const wf_shape *b)
{
    wf_shape out = a->rank >= b->rank ? *a : *b;
    const wf_shape *other = a->rank >= b->rank ? b : a;
    for (int d = 0, skip = out.rank - other->rank; d < other->rank; ++d) {
        if (out.dim[d + skip] == 1)
            out.dim[d + skip] = other->dim[d];
        else if (other->dim[d] != 1 && other->dim[d] != out.dim[d + skip])
            return false;
    }
    *a = out;
    return true;
}

static int64_t fz_points(const wf_shape *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->rank; ++d)
        n *= s->dim[d];
    return n;
}

/* ---- contents ---- */
static void fz_element(uint64_t *state, wf_dtype t, uint64_t *out)
{
    static const double special[] = { 0,    -0.0,    1,      -1,    0.5,    -0.5,    2,        3,      255,
                                      256,  32767.5, -32769, 65536, 0x1p31, -0x1p31, 0x1.8p52, 0x1p63, -0x1p63,
                                      1e10, 1e30,    -1e-30, 1e-40, 0x1p64, 0.1,     -3.5,     2.5,    4e38 };
    uint64_t bits = fz_next(state);
    unsigned how = (unsigned)(bits >> 59);
    int64_t small = (int64_t)(fz_next(state) % 41) - 20;
    double x = how < 4 ? INFINITY * (how & 1 ? -1 : 1) : how < 6 ? NAN : special[bits % FZ_COUNT(special)];
    *out = 0;
    if (wf__is_complex(t)) { /* out has room for two */
        unsigned part = wf__part_dtype(t);
        uint64_t re, im;
        fz_element(state, (wf_dtype)part, &re);
        fz_element(state, (wf_dtype)part, &im);
        memcpy(out, &re, wf__size(part));
        memcpy((char *)out + wf__size(part), &im, wf__size(part));
        return;
    }
    if (t == WF_BOOL)
        *out = bits & 1;
    else if (how < 20 && t < WF_F16)
        wf__eval_cast(t, WF_I64, out, &small, 1);
    else if (how < 16 && t >= WF_F16)
        wf__eval_cast(t, WF_F64, out, &x, 1);
    else if (how < 28 && t >= WF_F16) {
        x = (double)small + (double)(bits & 0xffff) / 65536;
        wf__eval_cast(t, WF_F64, out, &x, 1);
    } else
        memcpy(out, &bits, wf_dtype_size(t));
}

/* ---- arrays ---- */
typedef struct fz_buffer {
    wf_array *whole, *old; /* `old`: a copy with the first contents */
    wf_dtype dtype;
    int order[WF_MAX_RANK]; /* axis k of `whole` is axis order[k] of the arrays in it */
    wf_shape shape;         /* the shape of the arrays in it */
    int64_t step[WF_MAX_RANK], pad[WF_MAX_RANK];
    int writer; /* the array that is written, plus 1; 0: none */
    bool read;  /* true: read by an index or as a whole */
} fz_buffer;

typedef struct fz_array {
    wf_array *a, *old;
    wf_dtype dtype;
    wf_shape shape;
    int buffer;
    bool fits; /* broadcasts to the space */
    bool full; /* has an element for every point, `offset` away */
    bool same; /* of the space's shape */
    bool lazy; /* kept, and not computed yet */
    int64_t offset[WF_MAX_RANK];
    int64_t start[WF_MAX_RANK]; /* in its buffer */
    bool back[WF_MAX_RANK];
} fz_array;

typedef enum fz_kind { KIND_ARRAYS, KIND_SPACE, KIND_SPACE_REDUCE, KIND_ELEMENTS_REDUCE } fz_kind;

typedef struct fz_setup {
    fz_kind kind;
    wf_shape space;
    wf_axes reduce; /* of KIND_SPACE_REDUCE */
    fz_buffer buffer[MOST_BUFFERS];
    fz_array array[MOST_ARRAYS];
    int buffers, arrays;
} fz_setup;

static bool fz_on_gpu; /* the GPU is compared with the interpreter */
static bool fz_debug;  /* contexts are in debug mode, where an index outside is an error */
static bool fz_arrays; /* all recordings are of whole arrays */

/* Chooses a space of more than one block, box or part of a reduction. This is rare: it takes as long as fifty others.
 */
static void fz_choose_large_space(const fz_reader *in, fz_setup *set)
{
    static const wf_shape large[] = { { .rank = 2, .dim = { 3, 30011 } },
                                      { .rank = 2, .dim = { 9001, 5 } },
                                      { .rank = 3, .dim = { 5, 700, 3 } },
                                      { .rank = 3, .dim = { 2, 130, 131 } },
                                      { .rank = 4, .dim = { 2, 3, 520, 2 } } };
    set->space = large[fz_on_gpu ? in->random / 8 % FZ_COUNT(large) : 0];
}

static void fz_choose_space(fz_reader *in, fz_setup *set)
{
    static const uint8_t dims[] = {
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 65, 100, 130, 0, 3, 2, 1, 4
    };
    static const uint8_t kinds[] = { KIND_ARRAYS,       KIND_SPACE, KIND_ARRAYS,
                                     KIND_SPACE_REDUCE, KIND_SPACE, KIND_ELEMENTS_REDUCE };
    unsigned kind = kinds[fz_take(in, FZ_COUNT(kinds))];
    *set = (fz_setup){ .kind = fz_arrays ? KIND_ARRAYS : (fz_kind)kind };
    unsigned rank = fz_take(in, 12);
    bool small = fz_take(in, 2);
    int64_t most = small ? 48 : 1500;
    set->space.rank = rank > 8 ? 2 : rank > 6 ? 1 : (int)rank;
    for (int d = 0; d < set->space.rank; ++d) {
        int64_t n = dims[fz_take(in, FZ_COUNT(dims))];
        set->space.dim[d] = n > 1 && n > most ? 2 : n;
        most /= n > 1 ? n : 1;
    }
    if (rank == 11 && !small && set->kind != KIND_ARRAYS && in->random % 8 == 0)
        fz_choose_large_space(in, set);
    set->reduce = WF_ALL_AXES;
    if (set->kind == KIND_SPACE_REDUCE && set->space.rank && fz_take(in, 3))
        set->reduce = 1 + fz_take(in, (1u << set->space.rank) - 1);
}

static wf_shape fz_whole_shape(const fz_buffer *b)
{
    wf_shape shape = { .rank = b->shape.rank };
    for (int k = 0; k < shape.rank; ++k)
        shape.dim[k] = b->shape.dim[b->order[k]] * b->step[k] + b->pad[k];
    return shape;
}

/* Removes steps and pads of the first axes if there are many axes: they multiply, and the unused elements take time. */
static void fz_bound_gaps(fz_buffer *b)
{
    enum { MOST_ELEMENTS = 16384 };
    for (int k = 0; k < b->shape.rank; ++k) {
        wf_shape whole = fz_whole_shape(b);
        if (fz_points(&whole) <= MOST_ELEMENTS)
            return;
        b->step[k] = 1;
        b->pad[k] = 0;
    }
}

/* Gives the buffer its memory, twice with the same random contents. */
static void fz_fill(wf_context *ctx, fz_buffer *b, uint64_t random)
{
    wf_shape shape = fz_whole_shape(b);
    size_t size = wf_dtype_size(b->dtype), n = (size_t)fz_points(&shape);
    char *data = malloc(n * size + 1);
    if (!data)
        abort();
    for (size_t i = 0; i < n; ++i) {
        uint64_t bits[2];
        fz_element(&random, b->dtype, bits);
        memcpy(data + i * size, bits, size);
    }
    wf_array **both[] = { &b->whole, &b->old };
    for (int k = 0; k < 2; ++k) {
        *both[k] = wf_empty_with(ctx, b->dtype, shape, NULL);
        if (!*both[k] || wf_upload(*both[k], data, n * size) != WF_OK) {
            fprintf(stderr, "%s\n", wf_last_message(ctx));
            abort();
        }
    }
    free(data);
}

/* Returns an array inside a buffer: axes permuted, each axis from `start` forwards or backwards. */
static wf_array *fz_inside(const fz_buffer *b, wf_array *whole, const int64_t *start, const bool *back)
{
    int axes[WF_MAX_RANK];
    for (int k = 0; k < b->shape.rank; ++k)
        axes[b->order[k]] = k;
    wf_array *v = wf_view_permute(whole, axes);
    for (int d = 0; v && d < b->shape.rank; ++d) {
        int64_t n = b->shape.dim[d], step = b->step[axes[d]], first = start[d], last = first + (n - 1) * step;
        wf_array *w = n == 0    ? wf_view_slice(v, d, 0, 0, 1)
                      : back[d] ? wf_view_slice(v, d, last, first == 0 ? WF_END_INDEX : first - 1, -step)
                                : wf_view_slice(v, d, first, last + 1, step);
        wf_release(v);
        v = w;
    }
    if (!v || fz_points(&b->shape) != wf_array_count(v))
        abort();
    return v;
}

/* Chooses the layout of the arrays of a buffer. */
static void fz_choose_layout(fz_reader *in, fz_buffer *b)
{
    bool plain = fz_take(in, 3) == 0;
    for (int k = 0; k < b->shape.rank; ++k) {
        b->order[k] = k;
        b->step[k] = plain || fz_take(in, 4) ? 1 : 2;
        b->pad[k] = plain ? 0 : fz_take(in, 4);
    }
    fz_bound_gaps(b);
    if (!plain && b->shape.rank > 1 && fz_take(in, 2)) {
        unsigned k = fz_take(in, (unsigned)b->shape.rank - 1);
        b->order[k] = (int)k + 1;
        b->order[k + 1] = (int)k;
    }
}

static void fz_new_buffer(wf_context *ctx, fz_reader *in, fz_setup *set)
{
    static const wf_dtype types[] = { WF_F32, WF_F32, WF_F64, WF_I32, WF_U8,   WF_I64, WF_BOOL, WF_I8,  WF_I16,
                                      WF_U16, WF_U32, WF_U64, WF_F16, WF_BF16, WF_F32, WF_C32,  WF_C64, WF_C128 };
    fz_buffer *b = &set->buffer[set->buffers++];
    b->dtype = types[fz_take(in, FZ_COUNT(types))];
    b->shape = set->space;
    unsigned form = fz_take(in, 8);
    if (form == 0 && b->shape.rank) { /* fewer axes */
        int drop = 1 + (int)fz_take(in, (unsigned)b->shape.rank);
        b->shape.rank -= drop;
        memmove(b->shape.dim, b->shape.dim + drop, (size_t)b->shape.rank * sizeof *b->shape.dim);
    } else if (form == 1) /* repeated along some axes */
        for (int d = 0; d < b->shape.rank; ++d)
            b->shape.dim[d] = fz_take(in, 2) ? 1 : b->shape.dim[d];
    else if (form == 2 && set->kind != KIND_ARRAYS && set->kind != KIND_ELEMENTS_REDUCE) /* larger */
        for (int d = 0; d < b->shape.rank; ++d)
            b->shape.dim[d] += fz_take(in, 3);
    fz_choose_layout(in, b);
    fz_fill(ctx, b, fz_next(&in->random));
}

/* Copies the array to the host and back, which must not change it, nor the memory between its elements. */
static void fz_move(wf_context *ctx, wf_array *array)
{
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(wf_array_dtype(array));
    char *data = malloc(bytes + 1);
    if (!data || wf_download(array, data, bytes) != WF_OK || wf_upload(array, data, bytes) != WF_OK) {
        fprintf(stderr, "%s\n", wf_last_message(ctx));
        abort();
    }
    free(data);
}

/* Describes how the array lies in the space. */
static void fz_place(fz_array *a, const fz_setup *set)
{
    wf_shape space = set->space;
    a->fits = fz_broadcast(&space, &a->shape) && fz_same_shape(&space, &set->space);
    a->same = fz_same_shape(&a->shape, &set->space);
}

/* Chooses the place of the array in its buffer. */
static void fz_choose_start(fz_reader *in, const fz_buffer *b, fz_array *a)
{
    for (int k = 0; k < b->shape.rank; ++k) {
        int64_t room = b->pad[k] + (b->step[k] - 1);
        int d = b->order[k];
        a->start[d] = b->shape.dim[d] ? fz_take(in, (unsigned)room + 1) : 0;
        a->back[d] = b->pad[k] && fz_take(in, 3) == 0;
    }
}

static void fz_new_array(wf_context *ctx, fz_reader *in, fz_setup *set, int buffer)
{
    fz_array *a = &set->array[set->arrays++];
    const fz_buffer *b = &set->buffer[buffer];
    *a = (fz_array){ .dtype = b->dtype, .shape = b->shape, .buffer = buffer };
    fz_choose_start(in, b, a);
    a->a = fz_inside(b, b->whole, a->start, a->back);
    if (fz_on_gpu)
        fz_move(ctx, a->a);
    a->old = fz_inside(b, b->old, a->start, a->back);
    fz_place(a, set);
    a->full = a->shape.rank == set->space.rank;
    for (int d = 0; a->full && d < a->shape.rank; ++d) {
        int64_t room = a->shape.dim[d] - set->space.dim[d];
        a->full = room >= 0;
        a->offset[d] = room > 0 ? fz_take(in, (unsigned)room + 1) : 0;
    }
}

/* Draws the space and the arrays of a recording, and makes them. */
static void fz_make_arrays(wf_context *ctx, fz_reader *in, fz_setup *set)
{
    fz_choose_space(in, set);
    int buffers = 1 + (int)fz_take(in, FIRST_BUFFERS);
    for (int i = 0; i < buffers; ++i) {
        fz_new_buffer(ctx, in, set);
        fz_new_array(ctx, in, set, i);
        if (fz_take(in, 3) == 0)
            fz_new_array(ctx, in, set, i);
    }
}

static void fz_free_arrays(fz_setup *set)
{
    for (int i = 0; i < set->arrays; ++i) {
        wf_release(set->array[i].a);
        wf_release(set->array[i].old);
    }
    for (int i = 0; i < set->buffers; ++i) {
        wf_release(set->buffer[i].whole);
        wf_release(set->buffer[i].old);
    }
}

/* ---- results ---- */
typedef struct fz_result {
    unsigned char *at;
    size_t n, cap;
    bool inexact;
    bool whole_blocks; /* there are blocks, so the naive way is left out */
} fz_result;

/* Appends an array's elements, each in 8 bytes, all NaNs alike. */
static void fz_collect(wf_context *ctx, fz_result *out, wf_array *array)
{
    wf_dtype t = wf_array_dtype(array);
    size_t size = wf_dtype_size(t), n = (size_t)wf_array_count(array);
    if (wf__is_complex(t)) { /* as its parts */
        t = (wf_dtype)wf__part_dtype(t);
        size /= 2;
        n *= 2;
    }
    char *data = malloc(n * size + 1);
    if (!data || wf_download(array, data, n * size) != WF_OK) {
        fprintf(stderr, "%s\n", wf_last_message(ctx)); /* an earlier launch may have failed */
        abort();
    }
    if (out->n + n * 8 > out->cap) {
        out->cap = 2 * (out->n + n * 8);
        out->at = realloc(out->at, out->cap);
        if (!out->at)
            abort();
    }
    for (size_t i = 0; i < n; ++i) {
        uint64_t bits = 0;
        double x = 0;
        memcpy(&bits, data + i * size, size);
        if (t >= WF_F16)
            wf__eval_cast(WF_F64, t, &x, &bits, 1);
        if (x != x)
            bits = 0x7fc0;
        memcpy(out->at + out->n + 8 * i, &bits, 8);
    }
    out->n += n * 8;
    free(data);
}

static void fz_result_free(fz_result *r) { free(r->at); }

/* Compares, and empties `got`. */
static void fz_expect_same(const fz_result *want, fz_result *got, const char *what)
{
    size_t at = 0;
    while (at < want->n && at < got->n && !memcmp(want->at + at, got->at + at, 8))
        at += 8;
    if (want->n != got->n || at != want->n) {
        uint64_t a = 0, b = 0;
        if (at < want->n && at < got->n) {
            memcpy(&a, want->at + at, 8);
            memcpy(&b, got->at + at, 8);
        }
        fprintf(stderr, "%s differ: element %zu of %zu (%zu): %#llx, %#llx\n", what, at / 8, want->n / 8, got->n / 8,
                (unsigned long long)a, (unsigned long long)b);
        abort();
    }
    got->n = 0;
}
#endif
