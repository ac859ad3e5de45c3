/* graph_frozen.h - for fuzz_graph.c: a function of several launches is frozen and replayed with other inputs, between
 * other work on the same arrays. Its results are compared with those of the function itself in the interpreter.
 *
 * The function consists of recordings over its arrays and over earlier results, run at once, by wf_eval and as kernels;
 * of views, copies, and functions of the library. Its inputs are all arrays; or the memory that they are in, so that
 * the arrays are views; or some arrays, while the others are the same in each replay.
 */
#ifndef WEFT_GRAPH_FROZEN_H
#define WEFT_GRAPH_FROZEN_H
#include "graph_launch.h"

/* ---- the function ---- */
enum { MOST_TEMPORARIES = MOST_ARRAYS };

typedef struct temporaries { /* the arrays that the function leaves */
    wf_array *at[MOST_TEMPORARIES];
    bool own[MOST_TEMPORARIES]; /* not a view of an argument: each call or replay writes all of it */
    int n;
} temporaries;

static void begin_step(recorder *r, fz_reader start, unsigned skip)
{
    r->in = start;
    while (skip-- > 0)
        take(r, 2);
    r->n = r->vars = r->params = 0;
    memset(r->formal, 0, sizeof r->formal);
    for (int b = 0; b < r->set.buffers; ++b)
        r->set.buffer[b].writer = r->set.buffer[b].read = 0;
}

/* Adds the results as arrays. */
static void take_results(recorder *r)
{
    for (int k = 0; k < r->kept_n; ++k)
        if (room(r))
            add_memory(r, r->kept[k]);
        else
            wf_release(r->kept[k]);
    r->kept_n = 0;
}

static void run_step(recorder *r, unsigned form)
{
    r->how = form == 0 ? KERNEL : LAZY;
    begin(r);
    record(r);
    trace_turn(r);
    if (form == 1 && r->set.kind == KIND_ARRAYS) { /* and then more recordings over its results */
        check(r, wf_eval(r->g));
        r->n = r->vars = 0;
        record(r);
        trace_turn(r);
    }
    if (r->how == KERNEL) {
        fz_args args;
        wf_kernel *k = wf_compile(r->g);
        made(r, k);
        bind(&args, r, &r->set, r->kept);
        check(r, wf_launch_with(k, args_of(&args),
                                &(wf_launch_opts){ .size = sizeof(wf_launch_opts), .stream = r->stream }));
        wf_kernel_free(k);
    } else
        check(r, wf_run(r->g));
    take_results(r);
}

static void drop_last(recorder *r)
{
    const fz_array *a = &r->set.array[r->set.arrays - 1];
    if (r->set.arrays == r->first_arrays)
        return;
    wf_release(a->a);
    if (r->set.buffer[r->set.buffers - 1].whole == a->a)
        wf_release(r->set.buffer[--r->set.buffers].whole);
    --r->set.arrays;
}

static bool may_assign(const fz_array *to, const fz_array *from)
{
    wf_shape both = to->shape;
    bool fits = to->shape.rank >= from->shape.rank && fz_broadcast(&both, &from->shape);
    return fits && fz_same_shape(&both, &to->shape) && !to->a->read_only &&
           (to->dtype == from->dtype || !(wf__is_complex(to->dtype) || wf__is_complex(from->dtype)));
}

/* Calls functions of the library that consist of launches. */
static void call_library(recorder *r, fz_reader *plan)
{
    unsigned form = fz_take(plan, 7);
    const fz_array *a = &r->set.array[fz_take(plan, (unsigned)r->set.arrays)],
                   *b = &r->set.array[fz_take(plan, (unsigned)r->set.arrays)];
    bool elements = a->shape.rank && fz_points(&a->shape);
    if (form == 0 && !a->a->read_only)
        check(r, wf_array_fill(a->a, 1));
    else if (form == 1 && may_assign(a, b))
        check(r, wf_array_assign(a->a, b->a));
    else if (form == 2 && room(r))
        add_memory(r, wf_copy(a->a));
    else if (form == 3 && room(r))
        add_memory(r, wf_full(r->ctx, a->dtype, a->shape, 1));
    else if (form == 4 && room(r) && elements)
        add_memory(r, wf_array_cumsum(a->a, -1, false));
    else if (form == 5 && room(r) && elements)
        add_memory(r, wf_array_sum(a->a, WF_AXES(0)));
    else if (form == 6 && room(r) && elements) {
        exchange_readers(r);
        add_array(r, view_of(r, a->a), a->buffer);
        exchange_readers(r);
    }
}

static void perform(recorder *r, fz_reader plan, fz_reader start)
{
    unsigned steps = 1 + fz_take(&plan, 4);
    for (unsigned i = 0; i < steps; ++i) {
        unsigned form = fz_take(&plan, 10);
        if (getenv("WEFT_FUZZ_TRACE"))
            fprintf(stderr, "-- step %u: form %u, %d arrays\n", i, form, r->set.arrays);
        r->turns = plan; /* views draw from it */
        if (form < 6) {
            begin_step(r, start, fz_take(&plan, 24));
            run_step(r, form);
        } else if (form == 6)
            drop_last(r);
        else
            call_library(r, &plan);
    }
}

/* Calls the function with a side's arrays. */
static void call(launches *w, const fz_both *both, int side, fz_reader plan, temporaries *t)
{
    fz_again again = { .literal = side == ORACLE && w->again.literal };
    recorder *r = recorder_over(&both->side[side], LAZY, w->start, &again);
    r->stream = side == TESTED ? w->stream : NULL;
    perform(r, plan, w->start);
    w->known.any_overlap = r->set.kind == KIND_ARRAYS && !r->whole_blocks;
    t->n = 0;
    for (int k = r->first_arrays; k < r->set.arrays; ++k) {
        t->own[t->n] = r->set.array[k].buffer >= both->side[side].set.buffers;
        t->at[t->n++] = r->set.array[k].a;
    }
    for (int b = both->side[side].set.buffers; b < r->set.buffers; ++b)
        wf_release(r->set.buffer[b].whole);
    free(r);
}

static void free_temporaries(temporaries *t)
{
    for (int i = 0; i < t->n; ++i)
        wf_release(t->at[i]);
    t->n = 0;
}

/* ---- frozen ---- */
typedef struct sequence {
    launches *w;
    fz_reader plan;
    wf_frozen *frozen;
    temporaries left;  /* by the tested side, whose replays leave them too */
    bool wholes;       /* the inputs are whole buffers */
    uint32_t external; /* buffers that are no inputs */
} sequence;

static uint32_t inputs_of(const sequence *q, const fz_setup *set, wf_array **at)
{
    uint32_t n = 0;
    for (int b = 0; q->wholes && b < q->w->shapes.buffers; ++b)
        at[n++] = set->buffer[b].whole;
    for (int k = 0; !q->wholes && k < set->arrays; ++k)
        if (!(q->external >> set->array[k].buffer & 1))
            at[n++] = set->array[k].a;
    return n;
}

static void expect_left_same(const sequence *q, const temporaries *want)
{
    fz_result a = { 0 }, b = { 0 };
    for (int i = 0; i < q->left.n; ++i) {
        if (!q->left.own[i])
            continue;
        fz_collect(q->w->ctx[ORACLE], &a, want->at[i]);
        fz_collect(q->w->ctx[TESTED], &b, q->left.at[i]);
    }
    fz_expect_same(&a, &b, "a frozen sequence's results and the function's");
    fz_result_free(&a);
    fz_result_free(&b);
}

/* Calls the function in the oracle, and compares. */
static void call_and_compare(sequence *q, fz_both *both)
{
    temporaries want;
    q->w->again.literal = decide(q->w, 3) == 0;
    call(q->w, both, ORACLE, q->plan, &want);
    expect_both_same(both, "a frozen sequence and the function");
    expect_left_same(q, &want);
    free_temporaries(&want);
}

static void freeze(sequence *q)
{
    launches *w = q->w;
    fz_both *both = &w->both[0];
    wf_array *in[MOST_ARRAYS];
    unsigned form = decide(w, 6);
    q->wholes = w->contents_only = form == 1 || form == 2;
    q->external = form == 3 ? decide(w, 16) : form == 4 ? ~0u : 0;
    w->known = (fz_known){ .set = &w->shapes };
    for (int b = 0; b < w->shapes.buffers; ++b)
        w->shapes.buffer[b].writer = 1; /* any array may be written */
    q->plan = w->in;
    for (unsigned skip = 12; skip > 0; --skip)
        decide(w, 2);
    uint32_t n = inputs_of(q, &both->side[TESTED].set, in);
    must(w->ctx[TESTED], wf_freeze_begin(w->ctx[TESTED], (wf_arrays){ in, n }) == WF_OK);
    call(w, both, TESTED, q->plan, &q->left);
    q->frozen = wf_freeze_end(w->ctx[TESTED]);
    must(w->ctx[TESTED], q->frozen != NULL);
    call_and_compare(q, both);
}

/* ---- replays ---- */
/* Makes all sets share the buffers of the first one that are no inputs. */
static void take_externals(const sequence *q, fz_both *both)
{
    for (int s = 0; s < SIDES; ++s) {
        fz_setup *to = &both->side[s].set;
        const fz_setup *from = &q->w->both[0].side[s].set;
        for (int k = 0; k < to->arrays; ++k)
            if (q->external >> to->array[k].buffer & 1)
                put(&to->array[k], wf_retain(from->array[k].a));
        for (int b = 0; b < from->buffers; ++b)
            if (q->external >> b & 1) {
                wf_release(to->buffer[b].whole);
                to->buffer[b].whole = wf_retain(from->buffer[b].whole);
            }
    }
}

static bool are_resized(const sequence *q, const fz_both *both)
{
    wf_array *in[MOST_ARRAYS];
    uint32_t n = inputs_of(q, &both->side[TESTED].set, in), i = 0;
    for (int b = 0; q->wholes && b < (int)n; ++b) {
        wf_shape was = fz_whole_shape(&q->w->shapes.buffer[b]), is = wf_array_shape(in[b]);
        if (!fz_same_shape(&was, &is))
            return true;
    }
    for (int k = 0; !q->wholes && k < q->w->shapes.arrays; ++k)
        if (!(q->external >> q->w->shapes.array[k].buffer & 1)) {
            wf_shape is = wf_array_shape(in[i++]);
            if (!fz_same_shape(&q->w->shapes.array[k].shape, &is))
                return true;
        }
    return false;
}

static void trace_replay(const sequence *q, const fz_both *both, wf_status status)
{
    if (getenv("WEFT_FUZZ_TRACE"))
        fprintf(stderr, "-- replay with set %d%s%s: %s %s\n", (int)(both - q->w->both),
                both->alike ? "" : ", of another kind", both->resized ? ", other extents" : "", wf_status_name(status),
                wf_last_message(q->w->ctx[TESTED]));
}

static void replay(sequence *q, fz_both *both)
{
    wf_context *ctx = q->w->ctx[TESTED];
    wf_array *in[MOST_ARRAYS];
    bool resized_inputs = are_resized(q, both);
    if (both->resized && !resized_inputs)
        return; /* the sequence does not depend on it */
    wf_status status = wf_frozen_replay(q->frozen, (wf_arrays){ in, inputs_of(q, &both->side[TESTED].set, in) });
    trace_replay(q, both, status);
    if (status == WF_OK ? resized_inputs : both->alike) {
        fprintf(stderr, "a replay with inputs %s: %s, %s\n", both->alike ? "like the first" : "of other extents",
                wf_status_name(status), wf_last_message(ctx));
        abort();
    }
    if (status == WF_OK)
        call_and_compare(q, both);
    else {
        wf_clear_error(ctx);
        expect_both_same(both, "what a replay left that failed");
    }
}

static void replay_wrongly(sequence *q, fz_both *both)
{
    wf_context *ctx = q->w->ctx[TESTED];
    wf_array *in[MOST_ARRAYS + 1], *misfit = NULL;
    uint32_t n = inputs_of(q, &both->side[TESTED].set, in), at = decide(q->w, n);
    unsigned form = decide(q->w, 4);
    in[n] = both->side[TESTED].set.array[0].a;
    if (form == 0)
        ++n;
    else if (!n)
        return;
    else if (form == 1)
        in[at] = NULL;
    else
        in[at] = misfit = misfit_of(ctx, in[at], form == 2);
    if (wf_frozen_replay(q->frozen, (wf_arrays){ in, n }) == WF_OK) {
        fprintf(stderr, "a replay with inputs that do not fit (%u)\n", form);
        abort();
    }
    wf_clear_error(ctx);
    wf_release(misfit);
    expect_both_same(both, "what a replay left that failed");
}

static fz_both *choose_inputs(sequence *q)
{
    fz_both *both = choose_set(q->w, true);
    if (both != &q->w->both[0] && q->external)
        take_externals(q, both);
    return both;
}

static void compare_frozen(wf_context *oracle, wf_context *tested, const uint8_t *data, size_t size)
{
    sequence q = { .w = new_launches(oracle, tested, data, size) };
    freeze(&q);
    if (!q.external && decide(q.w, 3) == 0)
        free_both(&q.w->both[0]);
    unsigned n = fz_on_gpu ? 2 + decide(q.w, 4) : 3 + decide(q.w, 20);
    fz_both *both = choose_inputs(&q);
    for (unsigned i = 0; i < n; ++i) {
        both = decide(q.w, 2) ? both : choose_inputs(&q);
        replay(&q, both);
        for (unsigned k = decide(q.w, 3); k > 0; --k)
            disturb(both, &q.w->in, q.w->stream, !q.wholes && !q.external);
        if (q.left.n && decide(q.w, 4) == 0) {
            unsigned k = decide(q.w, (unsigned)q.left.n);
            if (q.left.own[k])
                flip(tested, q.w->stream, q.left.at[k]); /* the next replay writes it */
        }
        if (decide(q.w, 4) == 0)
            replay_wrongly(&q, both);
        if (decide(q.w, 8) == 7)
            free_temporaries(&q.left);
    }
    free_temporaries(&q.left);
    wf_frozen_free(q.frozen);
    free_launches(q.w);
}
#endif
