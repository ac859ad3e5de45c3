/* handle.c - properties in the handle of an array: its dtype and shape, the memory that it spans, and whether it has
 * contents. array.c makes and frees arrays.
 */
#include "object/object.h"

void wf__c_order(const wf_shape *shape, int64_t *stride)
{
    int64_t step = 1;
    for (int d = shape->rank - 1; d >= 0; --d) {
        stride[d] = step;
        step *= shape->dim[d] > 0 ? shape->dim[d] : 1;
    }
}

bool wf__reach(const wf_shape *shape, const int64_t *stride, int64_t *lo, int64_t *hi)
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

void wf__array_drop_handle(wf_array *a)
{
    wf_context *ctx = a->ctx;
    wf__free(a->name);
    wf__free(a);
    wf__context_release(ctx);
}

wf_context *wf_array_context(const wf_array *a) { return a ? a->ctx : NULL; }
wf_device wf_array_device(const wf_array *a) { return a ? a->device : 0; }
bool wf_array_is_read_only(const wf_array *a) { return a && a->read_only; }
wf_dtype wf_array_dtype(const wf_array *a) { return a ? a->dtype : WF_NONE; }
wf_shape wf_array_shape(const wf_array *a) { return a ? a->shape : (wf_shape){ 0 }; }

int64_t wf_array_count(const wf_array *a)
{
    int64_t n;
    return a && wf__shape_count(&a->shape, &n) ? n : 0;
}

/* ---- memory ---- */
void wf__array_span(wf_array *a)
{
    int64_t lo, hi, size = (int64_t)wf_dtype_size(a->dtype);
    a->lo = a->hi = a->base;
    if (wf__reach(&a->shape, a->stride, &lo, &hi)) {
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
    out->dist = a->distributed ? &a->distributed->dist : NULL;
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

/* ---- contents ---- */
/* True if queued work will compute the contents of an array whose state is ready. Sets *failed if that work has failed,
 * so that the array has no contents. The share lock is held, since another thread may give a borrower other memory. */
static bool is_queued(const wf_array *a, bool *failed)
{
    bool sharing = wf__sharing(a->ctx);
    if (sharing)
        wf__mutex_lock(&a->ctx->share_lock);
    bool queued = a->buffer && atomic_load(&a->buffer->computing) > 0;
    *failed = !queued && a->buffer && atomic_load(&a->buffer->fault) == WF__NOT_COMPUTED;
    if (sharing)
        wf__mutex_unlock(&a->ctx->share_lock);
    return queued;
}

static wf_state state_of(const wf_array *a, bool promised)
{
    wf_state state = a ? (wf_state)atomic_load(&((wf_array *)a)->state) : WF_STATE_LAZY;
    bool failed = false, queued = state == WF_STATE_READY && is_queued(a, &failed);
    return state == WF_STATE_READY && (failed || (queued && !promised)) ? WF_STATE_LAZY : state;
}

wf_state wf__array_promised(const wf_array *a) { return state_of(a, true); }
wf_state wf_array_state(const wf_array *a) { return state_of(a, false); }

bool wf__is_given(wf_context *ctx, const void *list, size_t n, const char *function)
{
    if (list || !n)
        return true;
    wf__error(ctx, WF_ERR_ARG, "%s: a list of %llu entries is NULL", function, (unsigned long long)n);
    return false;
}

bool wf__array_evaluate(const wf_array *a, const wf_graph *by)
{
    return !a->graph || a->graph == by || wf__array_promised(a) != WF_STATE_LAZY ||
           a->ctx->services->evaluate(a->graph) == WF_OK;
}

bool wf__array_holds(const wf_array *a, const char *function)
{
    if (a->distributed) {
        wf__error(a->ctx, WF_ERR_ARG,
                  "%s: the array is distributed, so that this rank has its block alone "
                  "(wf_array_block, wf_array_collect)",
                  function);
        return false;
    }
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

bool wf__array_computed(const wf_array *a, const char *function)
{
    if (!wf__array_evaluate(a, NULL))
        return false;
    if (wf__array_promised(a) != WF_STATE_LAZY)
        return true;
    wf__error(a->ctx, WF_ERR_ARG, "%s: the array was never computed: its recording did not run", function);
    return false;
}

bool wf__array_usable(const wf_array *a, const char *function)
{
    return a && wf__array_evaluate(a, NULL) && wf__array_holds(a, function) && wf__array_computed(a, function);
}
