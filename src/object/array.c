/* array.c - arrays: reference-counted handles over reference-counted memory. */
#include "object/object.h"

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

/* Is some element found under several indices, for a stride of 0? */
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

wf_array *wf__array_handle(wf_context *ctx, wf_dtype dtype, const wf_shape *shape)
{
    wf_array *a = wf__alloc0(sizeof *a);
    if (!a) {
        wf__error(ctx, WF_ERR_MEMORY, "out of memory for an array handle");
        return NULL;
    }
    atomic_init(&a->refs, 1);
    atomic_init(&a->state, WF_STATE_READY);
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

void wf__buffer_release(wf_context *ctx, wf__buffer *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (b->bytes && b->gpu)
        wf__gpu_free(b->gpu, b->data, b->bytes, b->use);
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
    b->data = wf__gpu_alloc(gpu, bytes, &b->use, f);
    if (b->data)
        return b;
    wf__free(b);
    return NULL;
}

wf__buffer *wf__buffer_of(wf_context *ctx, wf__buffer *like, const char *from, size_t bytes)
{
    wf__failure ignored = { 0 };
    wf__buffer *b = like->gpu ? gpu_buffer(ctx, like->gpu, bytes, &ignored) : wf__buffer_new(ctx, bytes);
    if (b && !b->gpu && bytes)
        memcpy(b->data, from, bytes);
    else if (b && b->gpu && !wf__gpu_copy(b->gpu, b->data, &b->use, from, &like->use, bytes, &ignored)) {
        wf__buffer_release(ctx, b);
        b = NULL;
    }
    wf__str_free(&ignored.text);
    return b;
}

typedef struct shared { /* memory of a GPU's driver that the processor reaches */
    wf__gpu *gpu;
    char *at;
    bool managed;
} shared;

static void free_shared(void *user)
{
    shared *s = user;
    wf__gpu_free_shared(s->gpu, s->at, s->managed);
    wf__free(s);
}

/* As memory of the caller's. */
static wf__buffer *shared_buffer(wf_context *ctx, wf__gpu *gpu, bool managed, size_t bytes, wf__failure *f)
{
    shared *s = wf__alloc0(sizeof *s);
    wf__buffer *b = s ? wf__buffer_new(ctx, 0) : NULL;
    char *at = b ? wf__gpu_alloc_shared(gpu, bytes, managed, f) : NULL;
    if (!at) {
        wf__free(s);
        wf__free(b);
        return NULL;
    }
    *s = (shared){ gpu, at, managed };
    b->data = at;
    b->release = free_shared;
    b->user = s;
    return b;
}

/* Whose driver makes shared memory. */
static wf_device maker_of(const wf_array *a)
{
    return wf__is_gpu(a->device) ? a->device : wf__is_gpu(a->ctx->device) ? a->ctx->device : WF_GPU(0);
}

/* Memory of a new array; a->device says where. */
static bool make_buffer(wf_array *a, const char *function, wf_memory memory, size_t bytes)
{
    char text[256];
    wf__failure failure = { .status = WF_ERR_MEMORY };
    bool driver = memory != WF_MEMORY_DEVICE, there = wf__is_gpu(a->device);
    wf__gpu *gpu = driver || there ? wf__gpu_of(a->ctx, function, maker_of(a)) : NULL;
    if ((driver || there) && !gpu)
        return false;
    a->buffer = driver ? shared_buffer(a->ctx, gpu, memory == WF_MEMORY_MANAGED, bytes, &failure)
                : gpu  ? gpu_buffer(a->ctx, gpu, bytes, &failure)
                       : wf__buffer_new(a->ctx, bytes);
    if (a->buffer)
        a->buffer->gpu = there ? gpu : NULL;
    if (a->buffer)
        return true;
    wf_shape_text(&a->shape, text, sizeof text);
    wf__error(a->ctx, failure.status, "%s: %s %s %s (%llu bytes)%s%s", function,
              failure.status == WF_ERR_MEMORY ? "out of memory for" : "no memory for", wf_dtype_name(a->dtype), text,
              (unsigned long long)bytes, failure.text.len ? ": " : "", wf__str_get(&failure.text));
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
    bool sized = reach(&a->shape, a->stride, &lo, &hi) && lo >= 0 && hi < INT64_MAX &&
                 wf__mul_size((size_t)(hi + 1), wf_dtype_size(dtype), &bytes) && bytes < SIZE_MAX / 4;
    if (!sized) {
        char text[256];
        wf_shape_text(shape, text, sizeof text);
        wf__error(ctx, WF_ERR_SHAPE, "%s: shape %s%s %s", function, text, strides ? " with these strides" : "",
                  lo < 0 ? "has elements before the first one, which is for wf_wrap" : "needs too much memory");
        drop_handle(a);
        return NULL;
    }
    bytes = bytes ? bytes : 1;
    a->device = wf__memory_of(device ? device : ctx->device);
    if (!make_buffer(a, function, memory, bytes)) {
        drop_handle(a);
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
        drop_handle(a);
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
        drop_handle(a);
        return NULL;
    }
    if (a) {
        a->device = 0;
        atomic_store(&a->state, WF_STATE_FORMAL);
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
    wf_place given = { 0 };
    if (place) /* an older caller's struct may be shorter */
        memcpy(&given, place, place->size < sizeof given ? place->size : sizeof given);
    if (!ctx || !known_device(ctx, "wf_empty", &given))
        return NULL;
    if ((unsigned)given.memory > WF_MEMORY_MANAGED) {
        wf__error(ctx, WF_ERR_ARG, "wf_empty: there is no kind of memory %d", (int)given.memory);
        return NULL;
    }
    return make(ctx, "wf_empty", dtype, &shape, given.strides, given.device, given.memory);
}

wf_array *wf_like(const wf_array *array)
{
    if (!array || !wf__array_holds(array, "wf_like"))
        return NULL;
    return wf__array_make(array->ctx, "wf_like", array->dtype, &array->shape, NULL, array->device);
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
        a->read_only = repeats(&a->shape, a->stride);
        wf__array_span(a);
    }
    if (a && place && wf__is_gpu(place->device) && !is_there(a, place->device)) {
        wf__buffer_release(ctx, a->buffer);
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
    if (a->shown)
        a->ctx->services->free_shown(a->ctx, a->shown);
    wf__buffer_release(a->ctx, a->buffer);
    drop_handle(a);
}

wf_context *wf_array_context(const wf_array *a) { return a ? a->ctx : NULL; }
wf_device wf_array_device(const wf_array *a) { return a ? a->device : 0; }
wf_dtype wf_array_dtype(const wf_array *a) { return a ? a->dtype : WF_NONE; }
wf_shape wf_array_shape(const wf_array *a) { return a ? a->shape : (wf_shape){ 0 }; }

/* Of an array that its handle calls ready: are its contents being computed, or (came) will they never be? Another
 * thread may give a borrower other memory meanwhile. */
static bool is_coming(const wf_array *a, bool *came)
{
    bool sharing = wf__sharing(a->ctx);
    if (sharing)
        wf__mutex_lock(&a->ctx->share_lock);
    bool coming = a->buffer && atomic_load(&a->buffer->coming) > 0;
    *came = coming || !a->buffer || atomic_load(&a->buffer->fault) != WF__NEVER_CAME;
    if (sharing)
        wf__mutex_unlock(&a->ctx->share_lock);
    return coming;
}

static wf_state state_of(const wf_array *a, bool promised)
{
    wf_state state = a ? (wf_state)atomic_load(&((wf_array *)a)->state) : WF_STATE_LAZY;
    bool came = true, coming = state == WF_STATE_READY && is_coming(a, &came);
    return state == WF_STATE_READY && (!came || (coming && !promised)) ? WF_STATE_LAZY : state;
}

wf_state wf__array_promised(const wf_array *a) { return state_of(a, true); }
wf_state wf_array_state(const wf_array *a) { return state_of(a, false); }

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

bool wf__array_settle(const wf_array *a, const wf_graph *by)
{
    return !a->graph || a->graph == by || wf__array_promised(a) != WF_STATE_LAZY ||
           a->ctx->services->evaluate(a->graph) == WF_OK;
}

bool wf__array_holds(const wf_array *a, const char *function)
{
    if (atomic_load(&((wf_array *)a)->state) != WF_STATE_FORMAL)
        return true;
    if (a->local)
        wf__error(a->ctx, WF_ERR_ARG, "%s: a local array has no contents outside its recording", function);
    else if (a->name)
        wf__error(a->ctx, WF_ERR_ARG, "%s: '%s' is a formal, which has no contents", function, a->name);
    else
        wf__error(a->ctx, WF_ERR_ARG, "%s: the array is scratch, which has no contents outside its recording",
                  function);
    return false;
}

bool wf__array_usable(const wf_array *a, const char *function)
{
    if (!a)
        return false;
    if (!wf__array_settle(a, NULL))
        return false;
    wf_state state = wf__array_promised(a);
    if (wf__array_holds(a, function) && state == WF_STATE_LAZY)
        wf__error(a->ctx, WF_ERR_ARG, "%s: the array was never computed: its recording did not run", function);
    return state == WF_STATE_READY;
}
