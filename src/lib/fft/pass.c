/* pass.c - passes over arrays: their kernels and tables, which are kept with the context, and launches. */
#include "pass_kernel.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SCRATCH_BYTES = 1 << 20 }; /* as much scratch as stays with a worker (wf_scratch) */

/* ---- what is kept with a context ---- */
typedef struct wfl_prepared {
    struct wfl_prepared *next;
    wfl_pass pass;
    wf_kernel *kernel;
    wf_array *table, *twist; /* see wfl_pass_compile; NULL = none */
} entry;

/* The scratch that a pass needs. */
typedef struct need {
    struct need *next;
    wfl_pass pass; /* without its chirp, on which it does not depend */
    int64_t pairs;
} need;

typedef struct store {
    _Atomic(entry *) first;
    _Atomic(need *) first_need;
    atomic_int count, needs;
    int32_t vector_bits; /* of the processor */
} store;

enum { MOST_KEPT = 512 };

static void free_entry(entry *e)
{
    wf_kernel_free(e->kernel);
    wf_release(e->table);
    wf_release(e->twist);
    free(e);
}

static int32_t vector_bits(wf_context *ctx)
{
    wf_info info = { .size = offsetof(wf_info, cache_bytes) }; /* without the fields that take long */
    return wf_get_info(ctx, false, &info) == WF_OK ? info.vector_bits : 0;
}

static void *make_store(wf_context *ctx)
{
    store *s = calloc(1, sizeof *s);
    if (s)
        s->vector_bits = vector_bits(ctx);
    return s;
}

static void free_store(void *object)
{
    store *s = object;
    for (entry *e = atomic_load(&s->first), *next; e; e = next) {
        next = e->next;
        free_entry(e);
    }
    for (need *n = atomic_load(&s->first_need), *next; n; n = next) {
        next = n->next;
        free(n);
    }
    free(s);
}

static store *store_of(wf_context *ctx)
{
    static const char key;
    return wf_context_object(ctx, &key, make_store, free_store);
}

int64_t wfl_pass_lanes(wf_context *ctx, wf_dtype part, wf_device device)
{
    enum { LEAST = 8, OF_WARP = 32 };
    if (device >= WF_GPU(0))
        return OF_WARP;
    const store *s = store_of(ctx);
    int64_t lanes = (s ? s->vector_bits : vector_bits(ctx)) / (8 * (int64_t)wf_dtype_size(part));
    return lanes < LEAST ? LEAST : lanes;
}

/* Pairs of all scratch of a pass. To find them takes longer than a small transform, so they are kept. */
static int64_t pairs_of(store *s, const wfl_pass *pass)
{
    wfl_pass key = *pass;
    key.chirp = (wfl_chirp){ 0 };
    for (const need *n = s ? atomic_load(&s->first_need) : NULL; n; n = n->next)
        if (!memcmp(&n->pass, &key, sizeof key))
            return n->pairs;
    wfl_lengths l = wfl_lengths_of(pass);
    int64_t pairs = l.steps + (wfl_pass_needs_other(pass) ? wfl_other_room(&l) : 0) + wfl_largest_looped(&l.radices);
    need *n = s && atomic_fetch_add(&s->needs, 1) < MOST_KEPT ? malloc(sizeof *n) : NULL;
    if (n) {
        n->pass = key;
        n->pairs = pairs;
        n->next = atomic_load(&s->first_need);
        while (!atomic_compare_exchange_weak(&s->first_need, &n->next, n)) {
        }
    }
    return pairs;
}

bool wfl_pass_fits(wf_context *ctx, const wfl_pass *pass)
{
    if (pass->n > SCRATCH_BYTES || pass->results > SCRATCH_BYTES)
        return false;
    int64_t each =
        2 * (int64_t)wf_dtype_size((wf_dtype)pass->part) * wfl_pass_lanes(ctx, (wf_dtype)pass->part, pass->device);
    return pairs_of(store_of(ctx), pass) <= SCRATCH_BYTES / each;
}

/* ---- making ---- */
/* Returns an array of the pass's part dtype with these values, which become that dtype. */
static wf_array *array_of(wf_context *ctx, const wfl_pass *pass, wf_shape shape, double *values)
{
    wf_dtype part = (wf_dtype)pass->part;
    wf_array *array = wf_empty(ctx, part, shape, .device = pass->device >= WF_GPU(0) ? pass->device : WF_CPU);
    size_t n = (size_t)wf_array_count(array);
    for (size_t i = 0; i < n && part == WF_F32; ++i)
        ((float *)values)[i] = (float)values[i];
    if (array && wf_upload(array, values, n * wf_dtype_size(part)) == WF_OK)
        return array;
    wf_release(array);
    return NULL;
}

static wf_array *make_table(wf_context *ctx, const wfl_pass *pass, const wfl_lengths *l, const wfl_table *at)
{
    void *values;
    wf_array *room = wfl_array_scratch(ctx, at->pairs + wfl_table_room(l), 2 * sizeof(double), &values);
    if (!room)
        return NULL;
    wfl_table_fill(l, at, values);
    wf_array *table = array_of(ctx, pass, WF_SHAPE(2 * (int64_t)at->pairs), values);
    wf_release(room);
    return table;
}

static wf_array *make_twist(wf_context *ctx, const wfl_pass *pass)
{
    int64_t lines = pass->twist, all = pass->n * lines;
    void *values;
    wf_array *room = wfl_array_scratch(ctx, all, 2 * sizeof(double), &values);
    for (int64_t k = 0; k < pass->n && room; ++k)
        for (int64_t i = 0; i < lines; ++i) {
            double *at = (double *)values + 2 * k * lines + i;
            wfl_fft_root(k * i, all, &at[0], &at[lines]);
            at[lines] = -at[lines];
        }
    wf_array *twist = room ? array_of(ctx, pass, WF_SHAPE(2 * all), values) : NULL;
    wf_release(room);
    return twist;
}

static entry *make_entry(wf_context *ctx, const wfl_pass *pass, const wfl_filter *filter, const char *function)
{
    wfl_lengths l = wfl_lengths_of(pass);
    wfl_table at = wfl_table_of(&l);
    entry *e = calloc(1, sizeof *e);
    if (!e) {
        wf_error(ctx, WF_ERR_MEMORY, "out of memory for a Fourier transform");
        return NULL;
    }
    e->pass = *pass;
    int32_t lanes = (int32_t)wfl_pass_lanes(ctx, (wf_dtype)pass->part, pass->device);
    e->kernel = wfl_pass_compile(ctx, pass, lanes, &at, filter, function);
    e->table = e->kernel && at.pairs ? make_table(ctx, pass, &l, &at) : NULL;
    e->twist = e->kernel && pass->twist ? make_twist(ctx, pass) : NULL;
    if (e->kernel && (e->table || !at.pairs) && (e->twist || !pass->twist))
        return e;
    free_entry(e);
    return NULL;
}

/* Returns the entry of the pass; *kept: it belongs to the store, else to the caller. NULL: an error. */
static entry *find(wf_context *ctx, const wfl_pass *pass, const char *function, bool *kept)
{
    store *s = store_of(ctx);
    *kept = true;
    for (entry *e = s ? atomic_load(&s->first) : NULL; e; e = e->next)
        if (!memcmp(&e->pass, pass, sizeof *pass))
            return e;
    entry *e = make_entry(ctx, pass, NULL, function);
    *kept = e && s && atomic_fetch_add(&s->count, 1) < MOST_KEPT;
    if (*kept) {
        e->next = atomic_load(&s->first);
        while (!atomic_compare_exchange_weak(&s->first, &e->next, e)) {
        }
    }
    return e;
}

/* ---- launching ---- */
typedef struct bound {
    wf_arg arg[8];
    wf_array *view[8];
    size_t n;
    bool failed;
} bound;

static void bind(bound *b, const char *name, wf_array *array)
{
    if (!array) {
        b->failed = true;
        return;
    }
    b->view[b->n] = array;
    b->arg[b->n++] = wf__arg_array(name, array);
}

/* Binds an array. Rows are bound as two views: whole chunks, and the elements after them. */
static void bind_lines(bound *b, const wfl_pass *pass, bool rows, bool pairs, wf_array *array, const char *name,
                       const char *rest_name)
{
    wf_shape shape = wf_array_shape(array);
    int64_t chunk = wfl_pass_chunk(wf_array_dtype(array)), n = shape.dim[2], whole = n / chunk * chunk;
    if (!rows) {
        bind(b, name,
             !pass->inner ? wf_retain(array)
             : pairs      ? wf_view_reshape(array, WF_SHAPE(shape.dim[0], n * shape.dim[1] / 2, 2))
                          : wf_view_reshape(array, WF_SHAPE(shape.dim[0], n * shape.dim[1])));
        return;
    }
    if (whole) {
        wf_array *part = whole < n ? wf_view_slice(array, 2, 0, whole, 1) : wf_retain(array);
        bind(b, name, part ? wf_view_reshape(part, WF_SHAPE(shape.dim[0], shape.dim[1], whole / chunk, chunk)) : NULL);
        wf_release(part);
    }
    if (whole < n)
        bind(b, rest_name, wf_view_slice(array, 2, whole, n, 1));
}

static wf_status launch_bound(const entry *e, wf_context *ctx, bound *b, wf_shape shape, wfl_with with)
{
    size_t n = b->n;
    if (e->pass.scaled)
        b->arg[n++] = wf__arg_num("fft scale", with.scale);
    if (e->pass.filtered)
        b->arg[n++] = wf__arg_i64("fft first", with.first);
    wf_launch_opts how = { .size = sizeof how, .shape = shape };
    wf_args args = { b->arg, n };
    wf_status status = b->failed ? wfl_array_error(ctx) : wf_launch_with(e->kernel, args, &how);
    for (size_t i = 0; i < b->n; ++i)
        wf_release(b->view[i]);
    return status;
}

/* x and y: [lines, elements] */
static wf_status launch_tangled(const entry *e, wf_array *y, const wf_array *x)
{
    wf_shape shape = wf_array_shape(y);
    bound b = { .n = 0 };
    bind(&b, "y", wf_retain(y));
    bind(&b, "x", wf_retain((wf_array *)x));
    bind(&b, "table", wf_view_reshape(e->table, WF_SHAPE(e->pass.n / 2 + 1, 2)));
    return launch_bound(e, wf_array_context(y), &b, shape, (wfl_with){ .scale = 1 });
}

static wf_status launch(const entry *e, wf_array *y, const wf_array *x, wfl_with with)
{
    const wfl_pass *pass = &e->pass;
    wf_shape shape = wf_array_shape(x);
    bound b = { .n = 0 };
    if (wfl_pass_is_tangled(pass))
        return launch_tangled(e, y, x);
    bind_lines(&b, pass, pass->rows_out, pass->pairs_out, y, "y", "y_rest");
    if (!pass->in_place)
        bind_lines(&b, pass, pass->rows_in, pass->pairs_in, (wf_array *)x, "x", "x_rest");
    if (e->table)
        bind(&b, "table", wf_retain(e->table));
    if (e->twist)
        bind(&b, "twist", wf_retain(e->twist));
    if (pass->started)
        bind(&b, "start", wf_retain((wf_array *)with.start));
    int64_t inner = pass->inner ? pass->inner : shape.dim[pass->rows_in ? 1 : 2];
    return launch_bound(e, wf_array_context(y), &b, WF_SHAPE(shape.dim[0], inner), with);
}

wf_status wfl_pass_run(const wfl_pass *pass, wf_array *y, const wf_array *x, wfl_with with, const char *function)
{
    wf_context *ctx = wf_array_context(y);
    bool kept;
    entry *e = find(ctx, pass, function, &kept);
    if (!e)
        return wfl_array_error(ctx);
    wf_status status = launch(e, y, x, with);
    if (!kept)
        free_entry(e);
    return status;
}

wfl_prepared *wfl_pass_prepare(wf_context *ctx, const wfl_pass *pass, const wfl_filter *filter, const char *function)
{
    return make_entry(ctx, pass, filter, function);
}

wf_status wfl_prepared_run(const wfl_prepared *prepared, wf_array *y, double scale, int64_t first)
{
    return launch(prepared, y, y, (wfl_with){ .scale = scale, .first = first });
}

void wfl_prepared_free(wfl_prepared *prepared)
{
    if (prepared)
        free_entry(prepared);
}
