/* array.c - arrays: reference-counted handles over reference-counted memory. */
#include "api/api.h"

void wf__c_order(const wf_shape *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int d = shape->rank - 1; d >= 0; --d) {
        stride[d] = step;
        step *= shape->dim[d] > 0 ? shape->dim[d] : 1;
    }
}

/* Smallest and largest element offsets; false on overflow. */
static bool reach(const wf_shape *shape, const int64_t *stride, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int d = 0; d < shape->rank; ++d) {
        int64_t far;
        if (shape->dim[d] == 0) {
            *lo = 0, *hi = -1;
            return true;
        }
        if (!wf__mul_i64(shape->dim[d] - 1, stride[d], &far) ||
            __builtin_add_overflow(far < 0 ? *lo : *hi, far, far < 0 ? lo : hi))
            return false;
    }
    return true;
}

static bool acceptable(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape, int64_t *count)
{
    if (!ctx)
        return false;
    if (!wf__computable(dtype)) {
        wf__error(ctx, WF_ERR_ARG, "%s: there are no arrays of dtype %s", function, wf_dtype_name(dtype));
        return false;
    }
    if (shape->rank < 0 || shape->rank > WF_MAX_RANK) {
        wf__error(ctx, WF_ERR_SHAPE, "%s: rank %d is not between 0 and %d", function, (int)shape->rank, WF_MAX_RANK);
        return false;
    }
    if (!wf__shape_count(shape, count)) {
        char text[256];
        wf__shape_text(shape, text, sizeof text);
        wf__error(ctx, WF_ERR_SHAPE, "%s: shape %s has a negative extent or too many elements", function, text);
        return false;
    }
    return true;
}

wf_array *wf__array_handle(wf_context *ctx, wf_dtype dtype, const wf_shape *shape)
{
    wf_array *a = wf__alloc0(sizeof *a);
    if (!a) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for an array handle");
        return NULL;
    }
    atomic_init(&a->refs, 1);
    atomic_init(&a->state, WF_READY);
    a->id = wf__new_array_id(ctx);
    a->ctx = ctx;
    a->device = WF_CPU;
    a->dtype = dtype;
    a->shape.rank = shape->rank;
    memcpy(a->shape.dim, shape->dim, (size_t)shape->rank * sizeof *shape->dim);
    wf__context_retain(ctx);
    return a;
}

wf__buffer *wf__buffer_new(wf_context *ctx, size_t bytes)
{
    wf__buffer *b = wf__alloc0(sizeof *b);
    if (b && bytes)
        b->data = wf__mem_alloc(wf__engine_memory(ctx->engine), bytes);
    if (!b || (bytes && !b->data)) {
        wf__free(b);
        return NULL;
    }
    atomic_init(&b->refs, 1);
    b->bytes = bytes;
    b->id = wf__new_array_id(ctx);
    return b;
}

static void drop_handle(wf_array *a)
{
    wf_context *ctx = a->ctx;
    wf__free(a->name);
    wf__free(a);
    wf__context_release(ctx);
}

static void release_buffer(wf_context *ctx, wf__buffer *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (b->bytes && b->gpu)
        wf__gpu_free(b->gpu, b->data, b->bytes);
    else if (b->bytes)
        wf__mem_free(wf__engine_memory(ctx->engine), b->data, b->bytes);
    else if (b->release) {
        if (b->gpu) /* launches may be under way */
            wf__gpu_settle(b->gpu);
        b->release(b->user);
    }
    wf__free(b);
}

static wf__buffer *gpu_buffer(wf_context *ctx, wf__gpu *gpu, size_t bytes, wf__failure *f)
{
    wf__buffer *b = wf__buffer_new(ctx, 0);
    if (!b)
        return NULL;
    b->gpu = gpu;
    b->bytes = bytes;
    b->data = wf__gpu_alloc(gpu, bytes, f);
    if (b->data)
        return b;
    wf__free(b);
    return NULL;
}

wf__buffer *wf__buffer_of(wf_context *ctx, const wf__buffer *like, const char *from, size_t bytes)
{
    wf__failure ignored = { 0 };
    wf__buffer *b = like->gpu ? gpu_buffer(ctx, like->gpu, bytes, &ignored) : wf__buffer_new(ctx, bytes);
    if (b && !b->gpu)
        memcpy(b->data, from, bytes);
    else if (b && !wf__gpu_copy(b->gpu, b->data, from, bytes, &ignored)) {
        release_buffer(ctx, b);
        b = NULL;
    }
    wf__str_free(&ignored.text);
    return b;
}

/* Memory of a new array; a->device says where. */
static bool make_buffer(wf_array *a, const char *function, size_t bytes)
{
    char text[256];
    wf__failure failure = { .status = WF_ERR_MEMORY };
    wf__gpu *gpu = wf__is_gpu(a->device) ? wf__gpu_of(a->ctx, function, a->device) : NULL;
    if (wf__is_gpu(a->device) && !gpu)
        return false;
    a->buffer = gpu ? gpu_buffer(a->ctx, gpu, bytes, &failure) : wf__buffer_new(a->ctx, bytes);
    if (a->buffer)
        return true;
    wf__shape_text(&a->shape, text, sizeof text);
    wf__error(a->ctx, failure.status, "%s: %s %s %s (%llu bytes)%s%s", function,
              failure.status == WF_ERR_MEMORY ? "out of memory for" : "no memory for", wf_dtype_name(a->dtype), text,
              (unsigned long long)bytes, failure.text.len ? ": " : "", wf__str_get(&failure.text));
    wf__str_free(&failure.text);
    return false;
}

wf_array *wf__array_make(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                         const int64_t *strides, wf_device device)
{
    int64_t count, lo, hi;
    size_t bytes;
    if (!acceptable(ctx, function, dtype, shape, &count))
        return NULL;
    wf_array *a = wf__array_handle(ctx, dtype, shape);
    if (!a)
        return NULL;
    if (strides)
        memcpy(a->stride, strides, (size_t)shape->rank * sizeof *strides);
    else
        wf__c_order(&a->shape, a->stride);
    bool sized = reach(&a->shape, a->stride, &lo, &hi) && lo >= 0 && hi < INT64_MAX &&
                 wf__mul_size((size_t)(hi + 1), wf_dtype_size(dtype), &bytes) && bytes < SIZE_MAX / 4;
    if (!sized) {
        char text[256];
        wf__shape_text(shape, text, sizeof text);
        wf__error(ctx, WF_ERR_SHAPE, "%s: shape %s with these strides needs negative or too much memory", function,
                  text);
        drop_handle(a);
        return NULL;
    }
    bytes = bytes ? bytes : 1;
    a->device = wf__memory_of(device ? device : ctx->device);
    if (!make_buffer(a, function, bytes)) {
        drop_handle(a);
        return NULL;
    }
    a->base = a->buffer->data;
    wf__array_span(a);
    return a;
}

wf_array *wf__array_planned(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                            wf_device device)
{
    int64_t count;
    wf_array *a = acceptable(ctx, function, dtype, shape, &count) ? wf__array_handle(ctx, dtype, shape) : NULL;
    if (a && !(a->buffer = wf__buffer_new(ctx, 0))) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for an array handle");
        drop_handle(a);
        return NULL;
    }
    if (a) {
        wf__c_order(&a->shape, a->stride);
        a->device = wf__memory_of(device);
    }
    return a;
}

wf_array *wf__formal_new(wf_context *ctx, const char *name, wf_dtype dtype, int rank)
{
    wf_shape shape = { .rank = rank };
    for (int d = 0; d < rank; ++d)
        shape.dim[d] = -1;
    wf_array *a = wf__array_handle(ctx, dtype, &shape);
    if (a && !(a->name = wf__strdup(name))) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for a formal");
        drop_handle(a);
        return NULL;
    }
    if (a) {
        a->device = 0;
        atomic_store(&a->state, WF_FORMAL);
    }
    return a;
}

static bool known_device(wf_context *ctx, const char *function, const wf_place *place)
{
    if (!place || place->device == 0 || place->device == WF_CPU || place->device == WF_INTERP ||
        (wf__is_gpu(place->device) && wf__gpu_of(ctx, function, place->device)))
        return true;
    if (wf__is_gpu(place->device))
        return false;
    wf__error(ctx, WF_ERR_DEVICE, "%s: there is no device %d here", function, (int)place->device);
    return false;
}

wf_array *wf_empty_with(wf_context *ctx, wf_dtype dtype, wf_shape shape, const wf_place *place)
{
    if (!ctx || !known_device(ctx, "wf_empty", place))
        return NULL;
    return wf__array_make(ctx, "wf_empty", dtype, &shape, place ? place->strides : NULL, place ? place->device : 0);
}

wf_array *wf_like(const wf_array *array)
{
    return array ? wf__array_make(array->ctx, "wf_like", array->dtype, &array->shape, NULL, array->device) : NULL;
}

/* Is what an array wraps memory of this GPU? Then it is the array's device. */
static bool is_there(wf_array *a, wf_device device)
{
    wf__failure f = { 0 };
    wf__gpu *gpu = wf__gpu_of(a->ctx, "wf_wrap", device);
    bool ok = gpu && (a->lo == a->hi || wf__gpu_reaches(gpu, a->lo, a->hi, &f));
    if (gpu && !ok)
        wf__error(a->ctx, f.status, "wf_wrap: %s", wf__str_get(&f.text));
    wf__str_free(&f.text);
    a->device = device;
    a->buffer->gpu = gpu;
    return ok;
}

wf_array *wf_wrap_with(wf_context *ctx, void *data, wf_dtype dtype, wf_shape shape, const wf_place *place,
                       void (*release)(void *user), void *user)
{
    int64_t count, lo, hi;
    wf_array *a = NULL;
    if (ctx && known_device(ctx, "wf_wrap", place) && acceptable(ctx, "wf_wrap", dtype, &shape, &count)) {
        if (!data && count)
            wf__error(ctx, WF_ERR_ARG, "wf_wrap: data is NULL");
        else if ((uintptr_t)data % wf_dtype_size(dtype))
            wf__error(ctx, WF_ERR_ARG, "wf_wrap: data is not aligned for %s", wf_dtype_name(dtype));
        else
            a = wf__array_handle(ctx, dtype, &shape);
    }
    if (a && place && place->strides)
        memcpy(a->stride, place->strides, (size_t)shape.rank * sizeof *place->strides);
    else if (a)
        wf__c_order(&a->shape, a->stride);
    if (a && !reach(&a->shape, a->stride, &lo, &hi)) {
        wf__error(ctx, WF_ERR_SHAPE, "wf_wrap: the strides reach beyond the address space");
        drop_handle(a);
        a = NULL;
    }
    if (a && !(a->buffer = wf__buffer_new(ctx, 0))) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for an array handle");
        drop_handle(a);
        a = NULL;
    }
    if (a) {
        a->buffer->data = a->base = data;
        wf__array_span(a);
    }
    if (a && place && wf__is_gpu(place->device) && !is_there(a, place->device)) {
        release_buffer(ctx, a->buffer);
        drop_handle(a);
        a = NULL;
    }
    if (!a) {
        if (release)
            release(user);
        return NULL;
    }
    a->buffer->release = release;
    a->buffer->user = user;
    return a;
}

wf_array *wf_retain(const wf_array *array)
{
    wf_array *a = (wf_array *)array;
    if (a)
        atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void wf_release(const wf_array *array)
{
    wf_array *a = (wf_array *)array;
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1)
        return;
    wf__array_leave(a);
    release_buffer(a->ctx, a->buffer);
    drop_handle(a);
}

wf_context *wf_array_context(const wf_array *a) { return a ? a->ctx : NULL; }
wf_device wf_array_device(const wf_array *a) { return a ? a->device : 0; }
wf_dtype wf_array_dtype(const wf_array *a) { return a ? a->dtype : WF_NONE; }
wf_shape wf_array_shape(const wf_array *a) { return a ? a->shape : (wf_shape){ 0 }; }

/* Of an array that its handle calls ready. */
static bool never_came(const wf_array *a) { return a->buffer && atomic_load(&a->buffer->fault) == WF__NEVER_CAME; }
static bool is_coming(const wf_array *a) { return a->buffer && atomic_load(&a->buffer->coming) > 0; }

wf_state wf__array_promised(const wf_array *a)
{
    wf_state state = a ? (wf_state)atomic_load(&((wf_array *)a)->state) : WF_LAZY;
    return state == WF_READY && never_came(a) && !is_coming(a) ? WF_LAZY : state;
}

wf_state wf_array_state(const wf_array *a)
{
    wf_state state = wf__array_promised(a);
    return state == WF_READY && is_coming(a) ? WF_LAZY : state;
}

int64_t wf_array_count(const wf_array *a)
{
    int64_t n;
    return a && wf__shape_count(&a->shape, &n) ? n : 0;
}

void wf__array_span(wf_array *a)
{
    int64_t lo, hi, size = (int64_t)wf_dtype_size(a->dtype);
    a->lo = a->hi = a->base;
    if (reach(&a->shape, a->stride, &lo, &hi)) {
        a->lo += lo * size;
        a->hi += (hi + 1) * size;
    }
}

void wf__array_bind(const wf_array *a, wf__bind *out)
{
    out->base = a->base;
    out->lo = a->lo;
    out->hi = a->hi;
    out->dtype = (uint8_t)a->dtype;
    out->rank = (uint8_t)a->shape.rank;
    out->name = a->name;
    memcpy(out->dim, a->shape.dim, (size_t)a->shape.rank * sizeof *out->dim);
    memcpy(out->stride, a->stride, (size_t)a->shape.rank * sizeof *out->stride);
}

wf__overlap wf__array_meeting(const wf_array *a, const wf_array *b)
{
    wf__bind x, y;
    wf__array_bind(a, &x);
    wf__array_bind(b, &y);
    return wf__bind_meeting(&x, &y);
}

bool wf__array_usable(const wf_array *a, const char *function)
{
    if (!a)
        return false;
    wf_state state = wf__array_promised(a);
    if (state == WF_LAZY && a->graph) { /* its recording is open: now it is wanted */
        wf_status status = wf_eval(a->graph);
        return status == WF_OK;
    }
    if (state == WF_FORMAL)
        wf__error(a->ctx, WF_ERR_ARG, "%s: '%s' is a formal, which has no contents", function, a->name);
    else if (state == WF_LAZY)
        wf__error(a->ctx, WF_ERR_ARG, "%s: the array was never computed: its recording did not run", function);
    return state == WF_READY;
}

/* ---- host access ---- */
static bool is_idle(void *buffer) { return atomic_load(&((wf__buffer *)buffer)->pending) == 0; }

void wf__array_wait(const wf_array *a)
{
    if (a->buffer && !is_idle(a->buffer))
        wf__progress_wait(&a->ctx->progress, is_idle, a->buffer);
}

bool wf__array_arrived(const wf_array *a, const char *function)
{
    if (!wf__array_usable(a, function)) /* which may queue what is wanted */
        return false;
    wf__array_wait(a);
    if (!wf__array_usable(a, function))
        return false;
    int lost = WF__LOST;
    if (!atomic_compare_exchange_strong(&a->buffer->fault, &lost, WF__SOUND))
        return true;
    wf__error(a->ctx, WF_ERR_ARG,
              "%s: queued work that was to write the array failed or was dropped; the report of its stream says why",
              function);
    return false;
}

/* Copies the elements, the first at `base`, in C order to or from packed memory. */
static void walk(const wf_array *a, char *base, char *packed, bool to_array)
{
    size_t size = wf_dtype_size(a->dtype);
    int rank = a->shape.rank;
    int64_t index[WF_MAX_RANK] = { 0 }, n = rank ? a->shape.dim[rank - 1] : 1, step = rank ? a->stride[rank - 1] : 1;
    if (wf_array_count(a) == 0)
        return;
    for (;;) {
        int64_t offset = 0;
        for (int d = 0; d + 1 < rank; ++d)
            offset += index[d] * a->stride[d];
        char *row = base + offset * (int64_t)size;
        if (step == 1) {
            memcpy(to_array ? row : packed, to_array ? packed : row, (size_t)n * size);
        } else {
            for (int64_t i = 0; i < n; ++i) {
                char *p = row + i * step * (int64_t)size, *q = packed + (size_t)i * size;
                memcpy(to_array ? p : q, to_array ? q : p, size);
            }
        }
        packed += (size_t)n * size;
        int d = rank - 2;
        while (d >= 0 && ++index[d] == a->shape.dim[d])
            index[d--] = 0;
        if (d < 0)
            return;
    }
}

bool wf_array_is_packed(const wf_array *a)
{
    int64_t step = 1;
    bool packed = a != NULL;
    for (int d = packed ? a->shape.rank - 1 : -1; d >= 0; --d) {
        packed = packed && (a->stride[d] == step || a->shape.dim[d] < 2);
        step *= a->shape.dim[d];
    }
    return packed || (a && !step);
}

/* The same of an array in a GPU's memory; with strides by way of all the bytes that it spans. */
static wf_status walk_gpu(const wf_array *a, const char *function, char *packed, bool to_array)
{
    wf__gpu *gpu = a->buffer->gpu;
    size_t bytes = (size_t)(a->hi - a->lo);
    wf__failure f = { .status = WF_ERR_MEMORY };
    char *span = NULL;
    bool ok, direct = wf_array_is_packed(a);
    if (wf_array_count(a) == 0)
        return WF_OK;
    if (direct)
        ok = to_array ? wf__gpu_upload(gpu, a->base, packed, bytes, &f)
                      : wf__gpu_download(gpu, packed, a->base, bytes, &f);
    else {
        span = wf__alloc(bytes);
        ok = span && wf__gpu_download(gpu, span, a->lo, bytes, &f);
        if (ok)
            walk(a, span + (a->base - a->lo), packed, to_array);
        ok = ok && (!to_array || wf__gpu_upload(gpu, (char *)(uintptr_t)a->lo, span, bytes, &f));
    }
    wf_status status =
        ok ? WF_OK
           : wf__error(a->ctx, f.status, "%s: %s", function, span || direct ? wf__str_get(&f.text) : "out of memory");
    wf__free(span);
    wf__str_free(&f.text);
    return status;
}

static bool exact_bytes(const wf_array *a, const void *p, size_t bytes, const char *function)
{
    size_t want = (size_t)wf_array_count(a) * wf_dtype_size(a->dtype);
    if (bytes == want && (p || !bytes))
        return true;
    wf__error(a->ctx, WF_ERR_ARG, "%s: %llu bytes given for an array of %llu", function, (unsigned long long)bytes,
              (unsigned long long)want);
    return false;
}

wf_status wf_upload(wf_array *array, const void *src, size_t bytes)
{
    if (!array)
        return WF_ERR_ARG;
    if (wf_array_state(array) == WF_FORMAL)
        return wf__error(array->ctx, WF_ERR_ARG, "wf_upload: '%s' is a formal, which has no contents", array->name);
    if (!exact_bytes(array, src, bytes, "wf_upload"))
        return WF_ERR_ARG;
    if (array->read_only)
        return wf__error(array->ctx, WF_ERR_ARG, "wf_upload: a broadcast view is read-only");
    wf__array_wait(array);
    if (!wf__array_own(array, "wf_upload"))
        return WF_ERR_MEMORY;
    wf_status status = WF_OK;
    if (wf__is_gpu(array->device))
        status = walk_gpu(array, "wf_upload", (char *)(uintptr_t)src, true);
    else
        walk(array, array->base, (char *)(uintptr_t)src, true);
    if (status != WF_OK)
        return status;
    atomic_store(&array->state, WF_READY);
    atomic_store(&array->buffer->fault, WF__SOUND);
    return WF_OK;
}

wf_status wf_download(const wf_array *array, void *dst, size_t bytes)
{
    if (!array)
        return WF_ERR_ARG;
    if (!wf__array_arrived(array, "wf_download") || !exact_bytes(array, dst, bytes, "wf_download"))
        return WF_ERR_ARG;
    wf__buffer *pinned = wf__array_pin(array);
    wf_status status = WF_OK;
    if (wf__is_gpu(array->device))
        status = walk_gpu(array, "wf_download", dst, false);
    else
        walk(array, array->base, dst, false);
    wf__array_unpin(array->ctx, pinned);
    return status;
}

static void give_map(const wf_array *array, void **data, int64_t *strides)
{
    *data = array->base;
    if (strides)
        memcpy(strides, array->stride, (size_t)array->shape.rank * sizeof *strides);
}

wf_status wf_map(const wf_array *array, void **data, int64_t *strides)
{
    if (!array || !data)
        return array ? wf__error(array->ctx, WF_ERR_ARG, "wf_map: data is NULL") : WF_ERR_ARG;
    if (!wf__array_arrived(array, "wf_map"))
        return WF_ERR_ARG;
    char device[32];
    if (wf__is_gpu(array->device))
        return wf__error(array->ctx, WF_ERR_DEVICE,
                         "wf_map: the array is in the memory of %s; say wf_download, wf_copy_to or wf_map_device",
                         wf__device_name(array->device, device));
    if (!wf__array_expose((wf_array *)array))
        return WF_ERR_MEMORY;
    give_map(array, data, strides);
    return WF_OK;
}

wf_status wf_map_device(const wf_array *array, void **data, int64_t *strides)
{
    if (!array || !data)
        return array ? wf__error(array->ctx, WF_ERR_ARG, "wf_map_device: data is NULL") : WF_ERR_ARG;
    if (!wf__array_arrived(array, "wf_map_device"))
        return WF_ERR_ARG;
    if (!wf__is_gpu(array->device))
        return wf__error(array->ctx, WF_ERR_DEVICE,
                         "wf_map_device: the array is in the processor's memory; say wf_map");
    wf__failure f = { 0 };
    if (!wf__array_expose((wf_array *)array))
        return WF_ERR_MEMORY;
    if (!wf__gpu_finish(array->buffer->gpu, &f)) {
        wf_status status = wf__error(array->ctx, f.status, "wf_map_device: %s", wf__str_get(&f.text));
        wf__str_free(&f.text);
        return status;
    }
    give_map(array, data, strides);
    return WF_OK;
}

static bool copied_there(const wf_array *array, const wf_array *copy)
{
    wf__failure f = { 0 };
    wf__buffer *pinned = wf__array_pin(array);
    bool ok = wf__gpu_copy(copy->buffer->gpu, copy->base, array->base, copy->buffer->bytes, &f);
    wf__array_unpin(array->ctx, pinned);
    if (!ok)
        wf__error(array->ctx, f.status, "wf_copy_to: %s", wf__str_get(&f.text));
    wf__str_free(&f.text);
    return ok;
}

/* By way of packed elements of the processor, but for packed ones that stay on a GPU. */
wf_array *wf_copy_to(const wf_array *array, wf_device device)
{
    if (!array || !wf__array_usable(array, "wf_copy_to"))
        return NULL;
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(array->dtype);
    wf_array *copy = wf_empty_with(array->ctx, array->dtype, array->shape,
                                   &(wf_place){ .size = sizeof(wf_place), .device = device });
    bool host = copy && !wf__is_gpu(copy->device);
    if (copy && !host && copy->device == array->device && bytes && wf_array_is_packed(array)) {
        if (wf__array_arrived(array, "wf_copy_to") && copied_there(array, copy))
            return copy;
        wf_release(copy);
        return NULL;
    }
    char *packed = !copy ? NULL : host ? copy->base : wf__alloc(bytes + 1);
    bool ok = copy && packed && wf_download(array, packed, bytes) == WF_OK &&
              (host || wf_upload(copy, packed, bytes) == WF_OK);
    if (copy && !packed)
        wf__error(array->ctx, WF_ERR_MEMORY, "wf_copy_to: out of memory");
    if (!host)
        wf__free(packed);
    if (ok)
        return copy;
    wf_release(copy);
    return NULL;
}
