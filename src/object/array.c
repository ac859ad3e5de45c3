/* array.c - makes and frees arrays: new ones, wrapped memory, formals. */
#include "object/object.h"

/* True if several indices name one element, because a stride is 0. */
static bool repeats(const wf_shape *shape, const int64_t *stride)
{
    bool repeated = false, empty = false;
    for (int d = 0; d < shape->rank; ++d) {
        repeated = repeated || (shape->dim[d] > 1 && stride[d] == 0);
        empty = empty || shape->dim[d] == 0;
    }
    return repeated && !empty;
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
        wf_shape_text(shape, text, sizeof text);
        wf__error(ctx, WF_ERR_SHAPE, "%s: shape %s has a negative extent or too many elements", function, text);
        return false;
    }
    return true;
}

/* Returns the GPU whose driver makes the shared memory of the array. */
static wf_device maker_of(const wf_array *a)
{
    return wf__is_gpu(a->device) ? a->device : wf__is_gpu(a->ctx->device) ? a->ctx->device : WF_GPU(0);
}

/* Allocates the memory of a new array, on a->device. */
static bool make_buffer(wf_array *a, const char *function, wf_memory memory, size_t bytes)
{
    char text[256];
    wf__failure failure = { .status = WF_ERR_MEMORY };
    bool driver = memory != WF_MEMORY_DEVICE, there = wf__is_gpu(a->device);
    wf__gpu *gpu = driver || there ? wf__gpu_of(a->ctx, function, maker_of(a)) : NULL;
    if ((driver || there) && !gpu)
        return false;
    a->buffer = driver ? wf__buffer_shared(a->ctx, gpu, memory == WF_MEMORY_MANAGED, bytes, &failure)
                : gpu  ? wf__buffer_on_gpu(a->ctx, gpu, bytes, &failure)
                       : wf__buffer_new(a->ctx, bytes);
    if (a->buffer)
        a->buffer->gpu = there ? gpu : NULL;
    if (a->buffer)
        return true;
    if (!gpu)
        wf__mem_reason(wf__engine_memory(a->ctx->engine), &failure.text);
    wf_shape_text(&a->shape, text, sizeof text);
    wf__error(a->ctx, failure.status, "%s: %s %s %s (%llu bytes)%s%s", function,
              failure.status == WF_ERR_MEMORY ? "out of memory for" : "no memory for", wf_dtype_name(a->dtype), text,
              (unsigned long long)bytes, gpu && failure.text.len ? ": " : "", wf__str_get(&failure.text));
    wf__str_free(&failure.text);
    return false;
}

static wf_array *make(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                      const int64_t *strides, wf_device device, wf_memory memory)
{
    int64_t count, lo = 0, hi = 0;
    size_t bytes;
    if (!acceptable(ctx, function, dtype, shape, &count))
        return NULL;
    if (strides && repeats(shape, strides)) {
        wf__error(ctx, WF_ERR_SHAPE, "%s: strides of 0 are for memory that wf_wrap is given, and that is read",
                  function);
        return NULL;
    }
    wf_array *a = wf__array_handle(ctx, dtype, shape);
    if (!a)
        return NULL;
    if (strides)
        memcpy(a->stride, strides, (size_t)shape->rank * sizeof *strides);
    else
        wf__c_order(&a->shape, a->stride);
    bool sized = wf__reach(&a->shape, a->stride, &lo, &hi) && lo >= 0 && hi < INT64_MAX &&
                 wf__mul_size((size_t)(hi + 1), wf_dtype_size(dtype), &bytes) && bytes < SIZE_MAX / 4;
    if (!sized) {
        char text[256];
        wf_shape_text(shape, text, sizeof text);
        wf__error(ctx, WF_ERR_SHAPE, "%s: shape %s%s %s", function, text, strides ? " with these strides" : "",
                  lo < 0 ? "has elements before the first one, which is for wf_wrap" : "needs too much memory");
        wf__array_drop_handle(a);
        return NULL;
    }
    bytes = bytes ? bytes : 1;
    a->device = wf__memory_of(device ? device : ctx->device);
    if (!make_buffer(a, function, memory, bytes)) {
        wf__array_drop_handle(a);
        return NULL;
    }
    a->base = a->buffer->data;
    wf__array_span(a);
    return a;
}

wf_array *wf__array_make(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                         const int64_t *strides, wf_device device)
{
    return make(ctx, function, dtype, shape, strides, device, WF_MEMORY_DEVICE);
}

wf_array *wf__array_planned(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                            wf_device device)
{
    int64_t count;
    wf_array *a = acceptable(ctx, function, dtype, shape, &count) ? wf__array_handle(ctx, dtype, shape) : NULL;
    if (a && !(a->buffer = wf__buffer_new(ctx, 0))) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for an array handle");
        wf__array_drop_handle(a);
        return NULL;
    }
    if (a) {
        wf__c_order(&a->shape, a->stride);
        a->device = wf__memory_of(device);
        atomic_store(&a->state, WF_STATE_FORMAL);
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
        wf__array_drop_handle(a);
        return NULL;
    }
    if (a) {
        a->device = 0;
        atomic_store(&a->state, WF_STATE_FORMAL);
    }
    return a;
}

/* Sets *given to the options of a caller. False with an error. */
static bool take_place(wf_context *ctx, const char *function, const wf_place *place, wf_place *given)
{
    *given = (wf_place){ .size = sizeof *given };
    const bool taken = wf__take_options(given, sizeof *given, place);
    if (!taken)
        wf__error(ctx, WF_ERR_ARG, "%s: " WF__WRONG_SIZE, function);
    return taken && wf__device_known(ctx, function, given->device);
}

wf_array *wf_empty_with(wf_context *ctx, wf_dtype dtype, wf_shape shape, const wf_place *place)
{
    wf_place given;
    if (!ctx || !take_place(ctx, "wf_empty", place, &given))
        return NULL;
    if ((unsigned)given.memory > WF_MEMORY_MANAGED) {
        wf__error(ctx, WF_ERR_ARG, "wf_empty: there is no kind of memory %d", (int)given.memory);
        return NULL;
    }
    return make(ctx, "wf_empty", dtype, &shape, given.strides, given.device, given.memory);
}

wf_array *wf__array_beside(wf_context *ctx, const char *function, wf_dtype dtype, const wf_shape *shape,
                           const wf__beside *as, wf_device device)
{
    int64_t count;
    if (!as->like)
        return wf__array_make(ctx, function, dtype, shape, NULL, device);
    return acceptable(ctx, function, dtype, shape, &count) ? ctx->services->like_distributed(as->like, dtype, &as->dist)
                                                           : NULL;
}

/* Makes an array beside a distributed one. All ranks do so; one without memory for it ends the group, since the others will
 * wait for it. */
static wf_array *make_distributed_like(const wf_array *like, const char *function, wf_dtype dtype,
                                       const wf_shape *shape)
{
    wf__beside as;
    like->ctx->services->beside_operands(&like, 1, 0, shape, &as);
    wf_array *out = wf__array_beside(like->ctx, function, dtype, shape, &as, like->device);
    if (!out && wf_last_status(like->ctx) == WF_ERR_MEMORY)
        like->ctx->services->end_group(like, wf_last_message(like->ctx));
    return out;
}

/* Makes an array where another one is. */
static wf_array *make_like(const wf_array *like, const char *function, wf_dtype dtype, const wf_shape *shape)
{
    if (like->distributed)
        return make_distributed_like(like, function, dtype, shape);
    return wf__array_holds(like, function) ? wf__array_make(like->ctx, function, dtype, shape, NULL, like->device)
                                           : NULL;
}

wf_array *wf_like(const wf_array *array)
{
    return array ? make_like(array, "wf_like", array->dtype, &array->shape) : NULL;
}

wf_array *wf_empty_like(const wf_array *like, wf_dtype dtype, wf_shape shape)
{
    return like ? make_like(like, "wf_empty_like", dtype, &shape) : NULL;
}

/* Makes the GPU the device of an array that wraps memory. Fails if the GPU does not reach the memory. */
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

/* True if all bytes of the elements have addresses. */
static bool has_addresses(const wf_shape *shape, const int64_t *stride, wf_dtype dtype, const void *data)
{
    int64_t lo, hi, size = (int64_t)wf_dtype_size(dtype);
    uintptr_t base = (uintptr_t)data, end;
    return wf__reach(shape, stride, &lo, &hi) && hi < INT64_MAX && wf__mul_i64(lo, size, &lo) &&
           wf__mul_i64(hi + 1, size, &hi) && base >= -(uintptr_t)lo &&
           !__builtin_add_overflow(base, (uintptr_t)hi, &end);
}

wf_array *wf_wrap_with(wf_context *ctx, void *data, wf_dtype dtype, wf_shape shape, const wf_place *place,
                       void (*release)(void *user), void *user)
{
    int64_t count;
    wf_array *a = NULL;
    wf_place given = { .size = 0 };
    if (ctx && take_place(ctx, "wf_wrap", place, &given) && acceptable(ctx, "wf_wrap", dtype, &shape, &count)) {
        if (!data && count)
            wf__error(ctx, WF_ERR_ARG, "wf_wrap: data is NULL");
        else if ((uintptr_t)data % wf_dtype_size(dtype))
            wf__error(ctx, WF_ERR_ARG, "wf_wrap: data is not aligned for %s", wf_dtype_name(dtype));
        else
            a = wf__array_handle(ctx, dtype, &shape);
    }
    if (a && given.strides)
        memcpy(a->stride, given.strides, (size_t)shape.rank * sizeof *given.strides);
    else if (a)
        wf__c_order(&a->shape, a->stride);
    if (a && !has_addresses(&a->shape, a->stride, dtype, data)) {
        wf__error(ctx, WF_ERR_SHAPE, "wf_wrap: the strides reach beyond the address space");
        wf__array_drop_handle(a);
        a = NULL;
    }
    if (a && !(a->buffer = wf__buffer_new(ctx, 0))) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for an array handle");
        wf__array_drop_handle(a);
        a = NULL;
    }
    if (a) {
        a->buffer->data = a->base = data;
        a->read_only = given.read_only || repeats(&a->shape, a->stride);
        wf__array_span(a);
    }
    if (a && wf__is_gpu(given.device) && !is_there(a, given.device)) {
        wf__buffer_release(ctx, a->buffer);
        wf__array_drop_handle(a);
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
    if (a->shown)
        a->ctx->services->free_shown(a->ctx, a->shown);
    if (a->distributed)
        a->ctx->services->free_distributed(a->ctx, a->distributed);
    wf__buffer_release(a->ctx, a->buffer);
    wf__array_drop_handle(a);
}
