/* tape_grad.c - derivatives through the launches on a tape, from the last to the first. A noted recording is recorded
 * again on the contents from before its launch, followed by its derivative: of an array graph by wf_vjp, of an operator
 * over an index space by wf_adjoint.
 */
#include "ad/ad.h"
#include "launch/tape.h"
#include "base/floats.h"

typedef struct backward {
    wf_tape *t;
    const wf__noted *s; /* the launch */
    wf_array **to;      /* [s->n] contents from before, in place of the arrays */
} backward;

/* True if the derivative of the loss with respect to array i of the launch may not be 0. */
static bool has_adjoint(const backward *b, uint32_t i)
{
    return b->s->memory[i] && b->t->memory[b->s->memory[i] - 1].adjoint;
}

static wf_dtype dtype_of_adjoint(const wf_array *a) { return (wf_dtype)wf__adjoint_dtype(a->dtype); }

/* Returns the derivatives of an array of this memory, as a view; NULL = the context's error is set. Axes along which the array
 * repeats elements have extent 1 in it. Makes the derivatives of the memory, as zeros, if there are none. */
static wf_array *adjoint_view(const backward *b, wf__tape_memory *m, int64_t at, const wf_array *like)
{
    wf_context *ctx = b->t->ctx;
    const wf_dtype dtype = dtype_of_adjoint(like);
    wf_shape shape = like->shape;
    for (int d = 0; d < shape.rank; ++d)
        if (!like->stride[d] && shape.dim[d])
            shape.dim[d] = 1;
    if (!m->adjoint)
        m->adjoint = wf_full(ctx, dtype, (wf_shape){ .rank = 1, .dim = { m->count } }, 0);
    wf_array *view = m->adjoint ? wf__array_handle(ctx, dtype, &shape) : NULL;
    if (!view)
        return NULL;
    memcpy(view->stride, like->stride, sizeof view->stride);
    view->device = m->adjoint->device;
    wf__view_begin(view, m->adjoint);
    view->base += at * (int64_t)wf_dtype_size(dtype);
    return wf__view_end(view);
}

static wf__tape_memory *memory_of(const backward *b, uint32_t i) { return &b->t->memory[b->s->memory[i] - 1]; }

static wf_array *adjoint_at(const backward *b, uint32_t i)
{
    return adjoint_view(b, memory_of(b, i), b->s->at[i], b->s->array[i]);
}

/* True if array i has all elements of its memory, in their order. */
static bool is_whole(const backward *b, uint32_t i)
{
    const wf_array *a = b->s->array[i];
    return !b->s->at[i] && wf_array_is_packed(a) && wf_array_count(a) == memory_of(b, i)->count;
}

/* As adjoint_at. *first: the memory has had no derivatives, and the caller sets all elements of the view in place of adding
 * to them. */
static wf_array *adjoint_to_add(const backward *b, uint32_t i, bool *first)
{
    wf__tape_memory *m = memory_of(b, i);
    *first = !b->s->stored[i] && !m->adjoint && is_whole(b, i);
    if (*first)
        m->adjoint = wf_empty_with(b->t->ctx, dtype_of_adjoint(b->s->array[i]), WF_SHAPE(m->count), NULL);
    return *first && !m->adjoint ? NULL : adjoint_at(b, i);
}

/* Adds the derivatives by the elements of an array of this shape to those of its memory. An element that the array repeats
 * gets the sum. */
static void add_to(wf_graph *g, wf_array *view, const wf_shape *shape, wf_val grad)
{
    wf_axes repeated = 0;
    for (int d = 0; view && d < shape->rank; ++d) /* NULL: no memory, and the recording is poisoned */
        repeated |= view->shape.dim[d] != shape->dim[d] ? 1u << d : 0;
    (wf_out)(g, view, (wf_add)(wf_in(g, view), repeated ? (wf_reduce)(WF_JOIN_ADD, grad, repeated) : grad));
}

/* True if a section stores the elements of array i at all its points. */
static bool stores_elements(const wf__ir *ir, uint32_t i)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op == WF__STORE && ir->slot[n->a].object == i && !n->b && !n->d)
            return true;
    }
    return false;
}

/* True if the launch, an array graph, gives all elements of the memory of array i new contents, and does not use the old ones:
 * the derivatives of these are 0. */
static bool is_replaced(const backward *b, uint32_t i)
{
    return !b->s->before[i] && stores_elements(&b->s->kept.ir, i) && is_whole(b, i);
}

static void drop_adjoint(const backward *b, uint32_t i)
{
    wf_release(memory_of(b, i)->adjoint);
    memory_of(b, i)->adjoint = NULL;
}

/* An array graph: its reads of whole arrays at the beginning are wanted, and those at the end have the adjoints. */
static wf_status back_through_graph(const backward *b)
{
    enum { MOST = 256 };
    const wf__noted *s = b->s;
    wf_val first[MOST], last[MOST], seed[MOST], grad[MOST];
    wf_array *view[MOST];
    bool is_first[MOST];
    uint32_t of[MOST], wanted = 0, outs = 0;
    wf_graph *g = wf__recorded_begin(b->t->ctx, &s->kept);
    for (uint32_t i = 0; i < s->n && wanted < MOST; ++i)
        if (s->varies[i] || has_adjoint(b, i)) {
            view[wanted] = adjoint_to_add(b, i, &is_first[wanted]);
            if (!view[wanted])
                wf__poison(g, wf_last_status(b->t->ctx), "wf_tape_grad: no memory for derivatives");
            first[wanted] = wf_in(g, b->to[i]);
            of[wanted++] = i;
        }
    if (wanted == MOST)
        wf__poison(g, WF_ERR_UNSUPPORTED, "wf_tape_grad: a launch of more than %d arrays", (int)MOST - 1);
    wf__recorded_again(&s->kept, g, b->to, "wf_tape_grad");
    for (uint32_t k = 0; k < wanted; ++k)
        if (s->stored[of[k]]) {
            last[outs] = wf_in(g, b->to[of[k]]);
            seed[outs++] = wf_in(g, view[k]);
        }
    wf_vjp_n((wf_vals){ last, outs }, (wf_vals){ seed, outs }, (wf_vals){ first, wanted }, grad);
    /* First the arrays that the launch stored: what was stored has taken its derivative, and that of the contents from
     * before replaces it. */
    for (int stored = 1; stored >= 0; --stored)
        for (uint32_t k = 0; k < wanted; ++k)
            if (s->stored[of[k]] ? stored && !is_replaced(b, of[k]) : !stored && is_first[k])
                (wf_out)(g, view[k], grad[k]);
            else if (!s->stored[of[k]] && !stored)
                add_to(g, view[k], &s->array[of[k]]->shape, grad[k]);
    wf_status status = wf_run(g);
    for (uint32_t k = 0; k < wanted; ++k) {
        wf_release(view[k]);
        if (s->stored[of[k]] && is_replaced(b, of[k]))
            drop_adjoint(b, of[k]);
    }
    return status;
}

/* True if each run of the operator stores all elements of array i. */
static bool stores_all(const wf__noted *s, uint32_t i)
{
    return stores_elements(&s->kept.post, i) ||
           (stores_elements(&s->kept.ir, i) &&
            (s->kept.kind == WF__ELEMENTS || wf__same_shape(&s->array[i]->shape, &s->kept.space)));
}

typedef struct arrays { /* of an operator or a rule, and its adjoint */
    wf_array **out, **up, **wrt;
    wf_array **grad, **view;      /* view: NULL where grad has been set as the derivatives of the memory themselves */
    uint32_t *of_out, *of_wanted; /* numbers among the arrays of the step */
    uint32_t outs, wanted;
    void *lists;
} arrays;

/* Makes the lists of a step. False: the context's error is set. */
static bool arrays_begin(const backward *b, arrays *l)
{
    const size_t n = (size_t)b->s->n + 1;
    wf_array **list = wf__alloc0(n * (5 * sizeof(wf_array *) + 2 * sizeof(uint32_t)));
    uint32_t *of = (void *)(list ? list + 5 * n : NULL);
    if (!list)
        wf__error(b->t->ctx, WF_ERR_MEMORY, "wf_tape_grad: out of memory");
    else
        *l = (arrays){ list, list + n, list + 2 * n, list + 3 * n, list + 4 * n, of, of + n, 0, 0, list };
    return list != NULL;
}

static void arrays_end(const arrays *l)
{
    for (uint32_t k = 0; k < l->outs; ++k)
        wf_release(l->up[k]);
    for (uint32_t k = 0; k < l->wanted; ++k) {
        wf_release(l->grad[k]);
        wf_release(l->view[k]);
    }
    wf__free(l->lists);
}

/* Adds array i to those whose derivatives are wanted. zeros: `grad` is to hold zeros. False: the context's error is set. */
static bool want(const backward *b, arrays *l, uint32_t i, bool zeros)
{
    const wf_array *a = b->s->array[i];
    const wf_dtype dtype = dtype_of_adjoint(a);
    const uint32_t k = l->wanted++;
    bool first = zeros && !memory_of(b, i)->adjoint && is_whole(b, i);
    wf_array *view = zeros ? adjoint_at(b, i) : adjoint_to_add(b, i, &first);
    l->of_wanted[k] = i;
    if (first) {
        l->grad[k] = view;
        return view != NULL;
    }
    l->view[k] = view;
    l->grad[k] = zeros ? wf_full(b->t->ctx, dtype, a->shape, 0)
                       : wf__array_make(b->t->ctx, "wf_tape_grad", dtype, &a->shape, NULL, b->to[i]->device);
    return l->view[k] && l->grad[k];
}

static wf_status choose_arrays(const backward *b, arrays *l)
{
    const wf__noted *s = b->s;
    for (uint32_t i = 0; i < s->n; ++i)
        if (s->stored[i] && has_adjoint(b, i)) {
            l->out[l->outs] = b->to[i];
            l->of_out[l->outs] = i;
            if (!(l->up[l->outs++] = adjoint_at(b, i)))
                return wf_last_status(b->t->ctx);
        }
    for (uint32_t i = 0; i < s->n; ++i)
        if (s->stored[i] ? s->memory[i] && (s->before[i] || (has_adjoint(b, i) && !stores_all(s, i))) : s->varies[i]) {
            l->wrt[l->wanted] = b->to[i];
            if (!want(b, l, i, false))
                return wf_last_status(b->t->ctx);
        }
    return WF_OK;
}

/* True if all derivatives of the memory of array i, which the step stores, are those of what it stores there. */
static bool is_all_stored(const backward *b, const arrays *l, uint32_t i)
{
    const wf__noted *s = b->s;
    for (uint32_t k = 0; k < l->wanted; ++k)
        if (s->memory[l->of_wanted[k]] == s->memory[i])
            return false;
    return is_whole(b, i);
}

/* Takes the derivatives of what was stored, and adds those of what was read. */
static wf_status update_adjoints(const backward *b, const arrays *l)
{
    wf_graph *g = NULL;
    for (uint32_t k = 0; k < l->outs; ++k) {
        const uint32_t i = l->of_out[k];
        if (!b->s->memory[i] || !has_adjoint(b, i))
            continue;
        if (is_all_stored(b, l, i)) {
            drop_adjoint(b, i);
            continue;
        }
        g = g ? g : wf_begin_with(b->t->ctx, NULL);
        (wf_out)(g, l->up[k], (wf_val){ { 0, NULL } });
    }
    for (uint32_t k = 0; k < l->wanted; ++k)
        if (l->view[k]) {
            g = g ? g : wf_begin_with(b->t->ctx, NULL);
            add_to(g, l->view[k], &l->grad[k]->shape, wf_in(g, l->grad[k]));
        }
    return g ? wf_run(g) : WF_OK;
}

/* An operator over an index space. */
static wf_status back_through_space(const backward *b)
{
    arrays l;
    if (!arrays_begin(b, &l))
        return WF_ERR_MEMORY;
    wf_status status = choose_arrays(b, &l);
    if (status == WF_OK) {
        wf_graph *g = wf__recorded_begin(b->t->ctx, &b->s->kept);
        wf__recorded_again(&b->s->kept, g, b->to, "wf_tape_grad");
        status = wf_adjoint(g, (wf_arrays){ l.out, l.outs }, (wf_arrays){ l.up, l.outs },
                            (wf_arrays){ l.wrt, l.wanted }, (wf_arrays){ l.grad, l.wanted });
    }
    if (status == WF_OK)
        status = update_adjoints(b, &l);
    arrays_end(&l);
    return status;
}

/* A call of a rule for arrays: its inputs have the derivatives that its .vjp sets. */
static wf_status back_through_rule(const backward *b)
{
    const wf__noted *s = b->s;
    wf_context *ctx = b->t->ctx;
    const uint32_t outs = s->n - s->ins;
    wf_status status = WF_OK;
    arrays l;
    if (!arrays_begin(b, &l))
        return WF_ERR_MEMORY;
    for (uint32_t i = s->ins; i < s->n && status == WF_OK; ++i) { /* zeros, where there are no derivatives yet */
        const wf_array *a = s->array[i];
        wf_dtype t = wf__has_adjoint(a->dtype) ? dtype_of_adjoint(a) : WF_F32;
        l.of_out[l.outs] = i;
        l.up[l.outs] = s->memory[i] ? adjoint_at(b, i) : wf_full(ctx, t, a->shape, 0);
        status = l.up[l.outs++] ? WF_OK : wf_last_status(ctx);
    }
    for (uint32_t i = 0; i < s->ins && status == WF_OK; ++i)
        if (s->varies[i]) {
            status = want(b, &l, i, true) ? WF_OK : wf_last_status(ctx);
            l.wrt[i] = l.grad[l.wanted - 1]; /* by inputs here; NULL = not wanted */
        }
    if (status == WF_OK && l.wanted && !s->rule.vjp)
        status = wf__error(ctx, WF_ERR_UNSUPPORTED, "wf_tape_grad: the rule '%s' has no .vjp", s->kept.name);
    else if (status == WF_OK && l.wanted)
        status = s->rule.vjp(s->rule.user, (wf_arrays){ s->before, s->ins }, (wf_arrays){ s->after, outs },
                             (wf_arrays){ l.up, outs }, (wf_arrays){ l.wrt, s->ins });
    if (status == WF_OK)
        status = update_adjoints(b, &l);
    arrays_end(&l);
    return status;
}

static bool begin_step(backward *b)
{
    const wf__noted *s = b->s;
    b->to = wf__alloc0(((size_t)s->n + 1) * sizeof *b->to);
    bool ok = b->to != NULL;
    for (uint32_t i = 0; ok && i < s->n; ++i) {
        b->to[i] = s->before[i] && !s->stored[i] ? wf_retain(s->before[i])
                   : s->before[i]                ? wf_copy(s->before[i])
                                                 : wf_like(s->array[i]);
        ok = b->to[i] != NULL;
    }
    return ok;
}

static wf_status step_back(backward *b)
{
    const wf__noted *s = b->s;
    bool any = false;
    for (uint32_t i = 0; i < s->n; ++i)
        any = any || (s->stored[i] && has_adjoint(b, i));
    if (!any)
        return WF_OK;
    if (s->rule.size)
        return back_through_rule(b);
    if (s->blocks)
        return wf__error(
            b->t->ctx, WF_ERR_UNSUPPORTED,
            "wf_tape_grad: %s has WF_SECTION_INIT, WF_SECTION_DEINIT or scratch, and no derivative; say it as an array "
            "graph",
            s->kept.name);
    wf_status status = begin_step(b) ? WF_OK : wf__error(b->t->ctx, WF_ERR_MEMORY, "wf_tape_grad: out of memory");
    if (status == WF_OK)
        status = s->kept.kind == WF__ARRAYS ? back_through_graph(b) : back_through_space(b);
    for (uint32_t i = 0; b->to && i < s->n; ++i)
        wf_release(b->to[i]);
    wf__free(b->to);
    b->to = NULL;
    return status;
}

/* Copies the derivatives to the caller's arrays. */
static wf_status hand_over(const backward *b, wf_arrays wrt, wf_arrays grads)
{
    wf_graph *g = wf_begin_with(b->t->ctx, NULL);
    for (size_t i = 0; i < wrt.n; ++i) {
        int64_t at;
        uint32_t m = wf__tape_memory_of(b->t, wrt.at[i], &at);
        bool some = m && b->t->memory[m - 1].adjoint;
        wf_array *view = some ? adjoint_view(b, &b->t->memory[m - 1], at, wrt.at[i]) : NULL;
        if (some && !view)
            wf__poison(g, wf_last_status(b->t->ctx), "wf_tape_grad: no memory for derivatives");
        (wf_out)(g, grads.at[i], view ? wf_in(g, view) : (wf_val){ { 0, NULL } });
        wf_release(view);
    }
    return wf_run(g);
}

/* Sets the derivative with respect to the loss itself, 1. */
static wf_status begin_loss(const backward *b, const wf_array *loss)
{
    int64_t at;
    uint32_t m = wf__tape_memory_of(b->t, loss, &at);
    wf__tape_memory *memory = &b->t->memory[m - 1];
    if (memory->count == 1) {
        memory->adjoint = wf_full(b->t->ctx, dtype_of_adjoint(loss), WF_SHAPE(1), 1);
        return memory->adjoint ? WF_OK : wf_last_status(b->t->ctx);
    }
    wf_array *view = adjoint_view(b, memory, at, loss);
    if (!view)
        return wf_last_status(b->t->ctx);
    wf_graph *g = wf_begin_with(b->t->ctx, NULL);
    (wf_out)(g, view, (wf_val){ { 1, NULL } });
    wf_release(view);
    return wf_run(g);
}

static wf_status check(wf_tape *t, const wf_array *loss, wf_arrays wrt, wf_arrays grads)
{
    int64_t at;
    if (t->status != WF_OK)
        return wf__error(t->ctx, t->status, "wf_tape_grad: %s", t->text);
    if (!loss || !wf__is_float(loss->dtype) || wf_array_count(loss) != 1)
        return wf__error(t->ctx, WF_ERR_SHAPE, "wf_tape_grad: the loss must be an array of one real number");
    if (!wf__tape_memory_of(t, loss, &at))
        return wf__error(
            t->ctx, WF_ERR_ARG,
            "wf_tape_grad: no launch on the tape computes the loss from a watched array; launches are noted "
            "between wf_tape_begin and wf_tape_end, on the thread of the tape");
    if (!wf__is_given(t->ctx, wrt.at, wrt.n, "wf_tape_grad") ||
        !wf__is_given(t->ctx, grads.at, grads.n, "wf_tape_grad"))
        return WF_ERR_ARG;
    if (wrt.n != grads.n)
        return wf__error(t->ctx, WF_ERR_ARG, "wf_tape_grad: each wanted array needs one for its derivative");
    for (size_t i = 0; i < wrt.n; ++i) {
        if (!wrt.at[i] || !grads.at[i] || !wf__same_shape(&wrt.at[i]->shape, &grads.at[i]->shape))
            return wf__error(t->ctx, WF_ERR_SHAPE, "wf_tape_grad: derivative %zu has another shape than its array", i);
        const uint32_t m = wf__tape_memory_of(t, wrt.at[i], &at);
        if (!m || !t->memory[m - 1].watched)
            return wf__error(t->ctx, WF_ERR_ARG, "wf_tape_grad: wanted array %zu is not one that the tape watches", i);
    }
    return WF_OK;
}

wf_status wf_tape_grad(wf_tape *t, const wf_array *loss, wf_arrays wrt, wf_arrays grads)
{
    if (!t)
        return WF_ERR_ARG;
    wf__floats floats = wf__floats_begin();
    backward b = { .t = t };
    bool was_busy = t->busy;
    t->busy = true; /* the tape does not note its own launches */
    wf_status status = check(t, loss, wrt, grads);
    if (status == WF_OK)
        status = begin_loss(&b, loss);
    for (uint32_t i = t->step_n; i-- > 0 && status == WF_OK;) {
        b.s = &t->step[i];
        status = step_back(&b);
    }
    if (status == WF_OK)
        status = hand_over(&b, wrt, grads);
    for (uint32_t i = 0; i < t->memory_n; ++i) {
        wf_release(t->memory[i].adjoint);
        t->memory[i].adjoint = NULL;
    }
    t->busy = was_busy;
    wf__floats_end(floats);
    return status;
}
