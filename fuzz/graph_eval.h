/* graph_eval.h - for fuzz_graph.c: recordings of whole arrays that are run in turns, by wf_eval and whatever calls it,
 * and go on.
 *
 * IN_TURNS runs a recording so. AT_ONCE makes the same recording and runs it once. Work on arrays between two turns is
 * recorded there (a kept array, like a copy, becomes an assigned one) or left out (nothing is released before the end).
 * The kind of each turn is drawn from the end of the input, backwards, so that all ways agree on the other decisions.
 *
 * After a turn, values that would read overwritten memory are out of use. Only the library knows exactly which:
 * IN_TURNS notes them, and AT_ONCE follows the notes. A check confirms that the library had a reason: the value may
 * have been read from an array that the turn has written.
 */
#ifndef WEFT_GRAPH_EVAL_H
#define WEFT_GRAPH_EVAL_H
#include "launch/launch.h"
#include "graph_blocks.h"
#include "graph_memory.h"
#include "graph_views.h"

static void made(recorder *r, const void *what) { check(r, what ? WF_OK : wf_last_status(r->ctx)); }

/* ---- after a turn ---- */
static bool is_gone(const recorder *r, wf_val v)
{
    const wf__ir *ir = &r->g->program.rec.ir;
    wf__ref ref = wf__node_of(r->g, v.h.num);
    return ref >= ir->n || wf__is_closed(ir, ref);
}

static bool is_gone_from(const recorder *r, wf_var var)
{
    return r->g->program.rec.ir.node[wf__variable_of(var)->value].op == WF__NOP;
}

/* IN_TURNS notes `gone`; AT_ONCE returns what was noted. */
static bool noted(recorder *r, bool gone)
{
    fz_notes *n = r->notes;
    if (r->how == AT_ONCE && n->at == n->n)
        abort();
    if (r->how == AT_ONCE)
        return n->gone[n->at++];
    if (n->n == n->cap) {
        n->cap = 2 * n->cap + 256;
        n->gone = realloc(n->gone, n->cap * sizeof *n->gone);
        if (!n->gone)
            abort();
    }
    return n->gone[n->n++] = gone;
}

/* Ends a turn. The number that all recordings begin with replaces values that are out of use. */
static void end_turn(recorder *r)
{
    bool runs = r->how == IN_TURNS;
    for (int i = 0; i < r->n; ++i) {
        value *v = &r->pool[i];
        bool gone = noted(r, runs && is_gone(r, v->val));
        if (gone && (i == 0 || v->kept || !(v->reads & r->written))) {
            fprintf(stderr, "value %d (%.0f) is out of use, for no reason%s: made of %#x, written %#x\n", i,
                    v->val.h.num, v->kept ? ", though kept" : "", v->reads, r->written);
            abort();
        }
        v->reads |= r->written; /* buffers that may hold the value from now on */
        v->kept = false;
        if (gone)
            *v = r->pool[0];
    }
    for (int v = 0; v < r->vars; ++v) {
        if (!noted(r, runs && is_gone_from(r, r->var[v])))
            continue;
        wf_set(r->var[v], cast_to(use(r, 0), r->var_dtype[v]));
        r->var_value[v] = 0;
        r->var_shape[v] = r->pool[0].shape;
    }
    for (int k = 0; k < r->set.arrays; ++k)
        r->set.array[k].lazy = false;
    r->vars_read |= r->written;
    r->written = 0;
}

/* ---- running ---- */
/* Returns the last array that is not computed yet, or -1. */
static int last_lazy(const recorder *r)
{
    int k = r->set.arrays - 1;
    while (k >= 0 && !r->set.array[k].lazy)
        --k;
    return k;
}

static void download(recorder *r, const wf_array *a)
{
    size_t bytes = (size_t)wf_array_count(a) * wf_dtype_size(wf_array_dtype(a));
    char *data = malloc(bytes + 1);
    if (!data)
        abort();
    check(r, wf_download(a, data, bytes));
    free(data);
}

/* Reads the array in another recording, which is dropped. */
static void read_elsewhere(recorder *r, const wf_array *a)
{
    wf_graph *other = wf_begin(r->ctx, .stream = r->stream);
    wf_in(other, a);
    wf_drop(other);
}

static void trace_turn(const recorder *r)
{
    wf__str text = { 0 };
    if (!getenv("WEFT_FUZZ_TRACE"))
        return;
    wf__print(&r->g->program.rec.ir, &text);
    fprintf(stderr, "-- %s\n%svalues:", r->how == IN_TURNS ? "turn" : "no turn", wf__str_get(&text));
    for (int i = 0; i < r->n; ++i)
        fprintf(stderr, " %%%u", (unsigned)wf__node_of(r->g, r->pool[i].val.h.num));
    fprintf(stderr, "\n\n");
    wf__str_free(&text);
}

/* Evaluates the recording in one of several ways, which all run everything that is pending. */
static void evaluate(recorder *r)
{
    unsigned how = take(r, 5);
    int k = last_lazy(r);
    trace_turn(r);
    if (r->how == AT_ONCE)
        ;
    else if (how == 1 && k >= 0)
        download(r, r->set.array[k].a);
    else if (how == 2 && k >= 0)
        read_elsewhere(r, r->set.array[k].a);
    else
        check(r, wf_eval(r->g));
    if (r->how == IN_TURNS && how == 3)
        check(r, wf_eval(r->g)); /* nothing is pending */
    end_turn(r);
}

/* ---- arrays that come and go ---- */
static bool room(const recorder *r) { return r->set.buffers < MOST_BUFFERS && r->set.arrays < MOST_ARRAYS; }

/* Adds an array to those from which operands are drawn. */
static fz_array *add_array(recorder *r, wf_array *a, int buffer)
{
    fz_array *new = &r->set.array[r->set.arrays++];
    made(r, a);
    *new = (fz_array){ .a = a, .dtype = wf_array_dtype(a), .shape = wf_array_shape(a), .buffer = buffer };
    fz_place(new, &r->set);
    return new;
}

static fz_array *add_memory(recorder *r, wf_array *a)
{
    fz_array *new = add_array(r, a, r->set.buffers);
    r->set.buffer[r->set.buffers++] = (fz_buffer){ .whole = wf_retain(a), .dtype = new->dtype, .shape = new->shape };
    return new;
}

static wf_array *empty(recorder *r, wf_dtype dtype, wf_shape shape)
{
    wf_array *a = wf_empty_with(r->ctx, dtype, shape, NULL);
    made(r, a);
    return a;
}

/* Adds a new array that holds a value: a kept or, equivalently, an assigned one. */
static void add_holder(recorder *r, int i)
{
    value *v = &r->pool[i];
    bool keeps = take(r, 3);
    if (!room(r))
        return;
    if (keeps && r->how == IN_TURNS)
        add_memory(r, wf_keep(use(r, i)))->lazy = true;
    else {
        wf_array *a = add_memory(r, empty(r, v->dtype, v->shape))->a;
        r->set.array[r->set.arrays - 1].lazy = keeps;
        wf_out(r->g, a, use(r, i));
    }
    r->written |= 1u << (r->set.buffers - 1);
    v->kept = true;
}

static void release(recorder *r, wf_array *a)
{
    if (r->how == IN_TURNS)
        wf_release(a);
    else
        r->released[r->released_n] = a;
    ++r->released_n;
}

/* Releases the last array that was added, before or after the recorded work on it has run. */
static void drop_array(recorder *r)
{
    if (r->set.arrays == r->first_arrays || r->released_n + 2 > MOST_RELEASED)
        return;
    int buffer = r->set.array[--r->set.arrays].buffer;
    bool used = false;
    release(r, r->set.array[r->set.arrays].a);
    for (int k = 0; k < r->set.arrays; ++k)
        used = used || r->set.array[k].buffer == buffer;
    if (!used)
        release(r, r->set.buffer[--r->set.buffers].whole);
    for (int i = 0; i < r->n; ++i)
        r->pool[i].kept = false; /* the turn does not need the array any more */
}

/* Copies an array after a turn; AT_ONCE records an assignment. */
static void add_copy(recorder *r)
{
    const wf_array *a = r->set.array[take(r, (unsigned)r->set.arrays)].a;
    if (!room(r))
        return;
    evaluate(r);
    if (r->how == IN_TURNS)
        add_memory(r, wf_copy(a));
    else
        wf_out(r->g, add_memory(r, empty(r, wf_array_dtype(a), wf_array_shape(a)))->a, wf_in(r->g, a));
}

static wf_array *view_of(recorder *r, wf_array *a)
{
    wf_shape shape = wf_array_shape(a);
    int axis = (int)take(r, (unsigned)shape.rank);
    unsigned form = take(r, 3);
    if (form == 0)
        return wf_view_slice(a, axis, WF_END_INDEX, WF_END_INDEX, -1);
    if (form == 1)
        return wf_view_slice(a, axis, take(r, 3), WF_END_INDEX, 1 + take(r, 2));
    return wf_view_at(a, axis, shape.dim[axis] - 1);
}

/* Releases array k, but keeps the last array, which is a view of its memory. */
static void keep_view_only(recorder *r, int k)
{
    fz_array *a = &r->set.array[k], view = r->set.array[r->set.arrays - 1];
    fz_buffer *b = &r->set.buffer[a->buffer];
    if (k < r->first_arrays || b->whole != a->a || r->released_n + 2 > MOST_RELEASED)
        return;
    release(r, a->a);
    release(r, b->whole);
    b->whole = wf_retain(view.a);
    *a = view;
    --r->set.arrays;
}

/* Adds a view of an array; a lazy array is computed first. */
static void add_array_view(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    if (!room(r) || !a->shape.rank || !fz_points(&a->shape))
        return;
    bool lazy = a->lazy;
    add_array(r, view_of(r, a->a), a->buffer);
    if (lazy)
        end_turn(r);
    if (take(r, 2))
        keep_view_only(r, k);
}

/* ---- turns ---- */
static void keep_some(recorder *r)
{
    for (unsigned n = 1 + take(r, 3); n > 0; --n)
        add_holder(r, pick(r));
    if (take(r, 4))
        evaluate(r);
}

/* Sets `index` to reach each element once, along each axis forwards or backwards. */
static void all_positions(recorder *r, const wf_shape *shape, wf_val *index)
{
    for (int d = 0; d < shape->rank; ++d) {
        wf_val forward = wf_iota(r->g, *shape, d);
        index[d] = take(r, 2) ? forward : wf_sub((double)(shape->dim[d] - 1), forward);
    }
}

/* Reads a stored value back: as a whole, which is the value itself, or by index, from memory. */
static void read_back(recorder *r, int k)
{
    const fz_array *a = &r->set.array[k];
    wf_val index[WF_MAX_RANK];
    if (take(r, 2) || !a->shape.rank) {
        emit(r, wf_in(r->g, named(r, k)), a->shape);
        return;
    }
    all_positions(r, &a->shape, index);
    emit(r, wf_read_n(r->g, named(r, k), (wf_vals){ index, (size_t)a->shape.rank }), a->shape);
}

/* Stores a value in an array, reads it back, and releases the array. */
static void pass_through(recorder *r)
{
    int arrays = r->set.arrays;
    add_holder(r, pick(r));
    if (r->set.arrays == arrays)
        return;
    if (take(r, 3))
        read_back(r, arrays);
    if (take(r, 4))
        drop_array(r);
    else
        add_array_view(r);
    if (take(r, 2))
        evaluate(r);
}

/* Writes an array by index, each element once, while a value read from it before is not computed yet. */
static void overtake(recorder *r)
{
    int k = (int)take(r, (unsigned)r->set.arrays);
    const fz_array *a = &r->set.array[k];
    wf_val index[WF_MAX_RANK];
    wf_shape both = a->shape;
    if (!a->shape.rank || !fz_points(&a->shape))
        return;
    int old = emit(r, own_element(r, k), a->shape), i = pick(r);
    if (!fz_broadcast(&both, &r->pool[i].shape) || !fz_same_shape(&both, &a->shape))
        i = old;
    all_positions(r, &a->shape, index);
    wf_vals at = { index, (size_t)a->shape.rank };
    wf_val v = cast_to(use(r, i), a->dtype);
    if (take(r, 2))
        wf_write_n(r->g, written(r, k), v, at);
    else
        wf_write_if_n(r->g, wf_and(index[0], 1), written(r, k), v, at);
    if (take(r, 2))
        add_holder(r, old);
    evaluate(r);
}

/* Passes a value from one turn of a chain to the next: in array k, in a new array, or not at all. */
static void carry(recorder *r, int k, unsigned form)
{
    const fz_array *a = &r->set.array[k];
    int last = r->n - 1;
    wf_shape both = a->shape;
    if (form == 0) {
        bool fits = fz_broadcast(&both, &r->pool[last].shape) && fz_same_shape(&both, &a->shape);
        wf_val v = fits ? use(r, last) : wf_eq(wf_in(r->g, named(r, k)), 0);
        wf_out(r->g, written(r, k), cast_to(v, a->dtype));
    } else if (form == 1) {
        if (r->set.arrays > k + 1)
            drop_array(r);
        add_holder(r, last);
    }
}

/* Drops the values of this turn; those of variables stay. */
static void forget_values(recorder *r, int n, int vars)
{
    r->n = n;
    r->vars = vars;
    for (int v = 0; v < vars; ++v) {
        r->reads = r->pool[r->var_value[v]].reads;
        r->var_value[v] = emit(r, wf_get(r->var[v]), r->var_shape[v]);
    }
}

/* turns: each adds arrays for the variables of loops, and the parameters of a kernel are limited */
enum { MOST_ON_GPU = 8 };

/* Records unused values, so many that a graph drops them within some tens of turns (compact.c). */
static void litter(recorder *r, int k)
{
    wf_val zero = wf_eq(wf_in(r->g, named(r, k)), 0);
    for (size_t t = 0; t < FZ_COUNT(dtypes); ++t)
        cast_to(zero, dtypes[t]);
}

/* Records values of many kinds for later use. */
static void put_by(recorder *r)
{
    void (*const add[])(recorder *) = { add_reduce, add_view, add_scan, add_cast };
    for (size_t i = 0; i < FZ_COUNT(add); ++i) {
        r->reads = 0;
        add[i](r);
    }
}

/* Records the same steps again and again, and then uses values from before. */
static void add_chain(recorder *r)
{
    unsigned turns = take(r, 3) ? 2 + take(r, 8) : 24 + take(r, 60), steps = 1 + take(r, 5), form = take(r, 4) % 3;
    int first = r->n, vars = r->vars, k = (int)take(r, (unsigned)r->set.arrays);
    if (fz_on_gpu && turns > MOST_ON_GPU)
        turns = MOST_ON_GPU;
    if (first + (int)steps + 2 * MOST_VARS + 8 >= MOST_VALUES)
        return;
    put_by(r);
    int n = r->n;
    fz_reader start = r->in;
    for (unsigned t = 0; t < turns; ++t) {
        r->in = start;
        r->reads = 0;
        emit(r, wf_in(r->g, named(r, k)), r->set.array[k].shape);
        litter(r, k);
        add_steps(r, steps);
        carry(r, k, form);
        evaluate(r);
        forget_values(r, n, vars);
    }
    for (int i = first; i < n; ++i)
        add_holder(r, i);
    evaluate(r);
}

static void add_turn(recorder *r)
{
    switch (take(r, 16)) {
    case 1:
    case 2:
        evaluate(r);
        break;
    case 3:
    case 4:
    case 5:
        keep_some(r);
        break;
    case 6:
        pass_through(r);
        break;
    case 7:
        drop_array(r);
        break;
    case 8:
        add_copy(r);
        break;
    case 9:
        add_array_view(r);
        break;
    case 10:
        overtake(r);
        break;
    case 11:
        add_chain(r);
        break;
    default: /* no change */
        break;
    }
}

static void exchange_readers(recorder *r)
{
    fz_reader in = r->in;
    r->in = r->turns;
    r->turns = in;
}

static void take_turn(recorder *r)
{
    if (r->blocks || r->turning || r->n + 4 >= MOST_VALUES)
        return;
    exchange_readers(r);
    r->turning = true;
    r->reads = 0;
    for (int i = 0; i < r->n; ++i)
        r->pool[i].kept = false; /* the array that held it may have been overwritten */
    add_turn(r);
    r->turning = false;
    exchange_readers(r);
}
#endif
