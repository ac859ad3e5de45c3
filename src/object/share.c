/* share.c - copies on write. A copy borrows the memory of what it was copied from until either is written.
 *
 * The memory of an array that borrows nothing never moves. A write to it first moves the borrowers to memory of their
 * own (own_lender). A write to a borrower first moves that borrower (own_borrower), unless it is the only user of the
 * memory, which is then its own. Handles that move together, a copy and its views, have one `group`; other handles have
 * 0. Handles that move get new ids, so that no memo of a launch fits them. Memory does not move while readers through
 * borrowers run; they are counted. All of this is under the context's share lock, which is not taken while there is no
 * borrower.
 */
#include "object/object.h"

/* ---- the list of a buffer's borrowers; all under the lock ---- */
static void link_borrower(wf_array *a)
{
    wf__buffer *b = a->buffer;
    a->next = b->borrower;
    a->prev = NULL;
    if (a->next)
        a->next->prev = a;
    b->borrower = a;
}

static void unlink_borrower(wf_array *a)
{
    *(a->prev ? &a->prev->next : &a->buffer->borrower) = a->next;
    if (a->next)
        a->next->prev = a->prev;
    a->next = a->prev = NULL;
}

/* Changes the number of borrowers of the context. A thread that reads 0 uses its arrays without the lock. So a borrower
 * is counted before other threads know it, and until its memory and group are final. */
static void count_borrowers(wf_context *ctx, int64_t change) { atomic_fetch_add(&ctx->borrowers, change); }

/* Returns the number of borrowers of a group (0 = all groups), and the addresses that they span. */
static int64_t span_of(const wf__buffer *b, uint64_t group, const char **lo, const char **hi)
{
    int64_t n = 0;
    for (const wf_array *a = b->borrower; a; a = a->next) {
        if (group && a->group != group)
            continue;
        *lo = !n || a->lo < *lo ? a->lo : *lo;
        *hi = !n || a->hi > *hi ? a->hi : *hi;
        ++n;
    }
    return n;
}

static bool several_groups(const wf__buffer *b)
{
    for (const wf_array *a = b->borrower; a; a = a->next)
        if (a->group != b->borrower->group)
            return true;
    return false;
}

/* Moves the borrowers of a group (0 = all groups) to a copy of the memory that they span. If they are one group, they
 * own the copy; else they borrow it. */
static bool move_group(wf_context *ctx, wf__buffer *b, uint64_t group)
{
    const char *lo = NULL, *hi = NULL;
    int64_t n = span_of(b, group, &lo, &hi);
    wf__buffer *to = wf__buffer_of(ctx, b, lo, (size_t)(hi - lo));
    if (!to)
        return false;
    atomic_store(&to->fault, atomic_load(&b->fault));
    atomic_store(&to->refs, n);
    bool lend = !group && several_groups(b);
    for (wf_array *a = b->borrower, *next; a; a = next) {
        next = a->next;
        if (group && a->group != group)
            continue;
        int64_t from = a->base - lo, low = a->lo - lo, high = a->hi - lo;
        unlink_borrower(a);
        a->buffer = to;
        a->base = to->data + from;
        a->lo = to->data + low;
        a->hi = to->data + high;
        a->id = wf__new_array_id(ctx);
        if (lend)
            link_borrower(a);
        else
            a->group = 0;
    }
    if (!lend)
        count_borrowers(ctx, -n);
    atomic_fetch_sub_explicit(&b->refs, n, memory_order_acq_rel); /* the lender, or another group, is left */
    return true;
}

static void wait_for_readers(wf_context *ctx, wf__buffer *b)
{
    while (b->readers)
        wf__cond_wait(&ctx->unread, &ctx->share_lock);
}

static bool own_borrower(wf_array *a)
{
    wf__buffer *b = a->buffer;
    const char *lo, *hi;
    int64_t n = span_of(b, a->group, &lo, &hi);
    if (n != atomic_load_explicit(&b->refs, memory_order_acquire))
        return move_group(a->ctx, b, a->group);
    for (wf_array *x = b->borrower, *next; x; x = next) { /* the group is the only user of the memory */
        next = x->next;
        unlink_borrower(x);
        x->group = 0;
    }
    count_borrowers(a->ctx, -n);
    return true;
}

static bool own_lender(wf_array *a)
{
    wf__buffer *b = a->buffer;
    if (!b || !b->borrower)
        return true;
    wait_for_readers(a->ctx, b);
    return !b->borrower || move_group(a->ctx, b, 0);
}

static bool own(wf_array *a, const char *function) /* under the lock */
{
    if (a->group ? own_borrower(a) : own_lender(a))
        return true;
    wf__error(a->ctx, WF_ERR_MEMORY, "%s: out of memory to separate an array from its copies", function);
    return false;
}

/* ---- reading and waiting ---- */
wf__buffer *wf__array_pin(const wf_array *a)
{
    wf__buffer *b = NULL;
    if (!wf__sharing(a->ctx))
        return NULL;
    wf__mutex_lock(&a->ctx->share_lock);
    if (a->group) {
        b = a->buffer;
        ++b->readers;
    }
    wf__mutex_unlock(&a->ctx->share_lock);
    return b;
}

void wf__array_unpin(wf_context *ctx, wf__buffer *b)
{
    if (!b)
        return;
    wf__mutex_lock(&ctx->share_lock);
    if (--b->readers == 0)
        wf__cond_broadcast(&ctx->unread);
    wf__mutex_unlock(&ctx->share_lock);
}

static bool is_idle(void *buffer) { return atomic_load(&((wf__buffer *)buffer)->pending) == 0; }

void wf__array_wait(const wf_array *a)
{
    wf__buffer *pinned = wf__array_pin(a), *b = a->buffer;
    bool waits = b && !is_idle(b);
    /* A reference replaces the pin: moving memory waits for pins, and the work waited for may move it. */
    if (pinned && waits)
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    wf__array_unpin(a->ctx, pinned);
    if (waits)
        wf__progress_wait(&a->ctx->progress, is_idle, b);
    if (pinned && waits)
        wf__buffer_release(a->ctx, b);
}

/* ---- writing ---- */
bool wf__array_own(wf_array *a, const char *function)
{
    if (!wf__sharing(a->ctx))
        return true;
    wf__array_wait(a); /* queued work on the memory comes before what may be copied of it */
    wf__mutex_lock(&a->ctx->share_lock);
    bool ok = own(a, function);
    wf__mutex_unlock(&a->ctx->share_lock);
    return ok;
}

bool wf__arrays_begin(wf_context *ctx, wf_array *const *arrays, uint32_t n, const bool *written, wf__buffer **pinned,
                      const char *function)
{
    bool ok = true, sharing = wf__sharing(ctx);
    /* Owns before it pins, so that two launches never wait for each other. */
    for (uint32_t i = 0; i < n && ok && sharing; ++i)
        ok = !written[i] || wf__array_own(arrays[i], function);
    for (uint32_t i = 0; i < n; ++i)
        pinned[i] = ok && sharing ? wf__array_pin(arrays[i]) : NULL;
    return ok;
}

void wf__arrays_end(wf_context *ctx, uint32_t n, wf__buffer *const *pinned)
{
    for (uint32_t i = 0; i < n; ++i)
        wf__array_unpin(ctx, pinned[i]);
}

/* ---- handles ---- */
static void share_memory(wf_array *to, const wf_array *of)
{
    to->base = of->base;
    to->lo = of->lo;
    to->hi = of->hi;
    to->buffer = of->buffer;
    atomic_fetch_add_explicit(&to->buffer->refs, 1, memory_order_relaxed);
}

void wf__view_begin(wf_array *view, const wf_array *of)
{
    wf_context *ctx = of->ctx;
    bool sharing = wf__sharing(ctx);
    if (sharing)
        wf__mutex_lock(&ctx->share_lock);
    share_memory(view, of);
    view->group = of->group;
    if (view->group) {
        count_borrowers(ctx, 1);
        link_borrower(view);
        ++view->buffer->readers;
    }
    if (sharing)
        wf__mutex_unlock(&ctx->share_lock);
}

wf_array *wf__view_end(wf_array *view)
{
    wf__array_span(view);
    if (view->group)
        wf__array_unpin(view->ctx, view->buffer);
    return view;
}

void wf__array_leave(wf_array *a)
{
    if (!wf__sharing(a->ctx))
        return;
    wf__mutex_lock(&a->ctx->share_lock);
    if (a->group) {
        unlink_borrower(a);
        count_borrowers(a->ctx, -1);
    }
    wf__mutex_unlock(&a->ctx->share_lock);
}

bool wf__array_expose(wf_array *a)
{
    if (!wf__array_own(a, "wf_map"))
        return false;
    if (a->buffer)
        atomic_store(&a->buffer->exposed, true);
    return true;
}

bool wf__array_may_meet(const wf_array *a, const wf_array *b)
{
    if (!wf__sharing(a->ctx))
        return wf__array_overlap(a, b) != WF__APART;
    wf__mutex_lock(&a->ctx->share_lock);
    bool meet = a->group == b->group && wf__array_overlap(a, b) != WF__APART;
    wf__mutex_unlock(&a->ctx->share_lock);
    return meet;
}

wf_array *wf_copy(const wf_array *array)
{
    if (!array || !wf__array_usable(array, "wf_copy"))
        return NULL;
    wf_context *ctx = array->ctx;
    if (ctx->services->copies(ctx)) /* a replay copies again, and a tape notes the copy */
        return ctx->services->copy(array);
    size_t bytes = (size_t)wf_array_count(array) * wf_dtype_size(array->dtype);
    wf__mutex_lock(&ctx->share_lock);
    const wf__buffer *b = array->buffer;
    bool lends = bytes && b->bytes && !atomic_load(&b->exposed) && (size_t)(array->hi - array->lo) == bytes;
    wf_array *copy = lends ? wf__array_handle(ctx, array->dtype, &array->shape) : NULL;
    if (copy) {
        memcpy(copy->stride, array->stride, sizeof array->stride);
        copy->device = array->device;
        share_memory(copy, array);
        copy->group = copy->id;
        count_borrowers(ctx, 1);
        link_borrower(copy);
    }
    wf__mutex_unlock(&ctx->share_lock);
    return lends ? copy : ctx->services->copy(array);
}

uint64_t wf_array_data_id(const wf_array *a)
{
    if (!a)
        return 0;
    wf__mutex_lock(&a->ctx->share_lock);
    uint64_t id = a->buffer && !a->scratch ? a->buffer->id : 0;
    wf__mutex_unlock(&a->ctx->share_lock);
    return id;
}

bool wf_shares(const wf_array *a, const wf_array *b)
{
    return a && b && a->ctx == b->ctx && wf_array_data_id(a) && wf_array_data_id(a) == wf_array_data_id(b);
}
