/* graph_blocks.h - for fuzz_graph.c: variables, blocks, switches. */
#ifndef WEFT_GRAPH_BLOCKS_H
#define WEFT_GRAPH_BLOCKS_H
#include "graph_values.h"

static void add_steps(recorder *r, unsigned steps);

enum { MOST_BLOCKS = 3 };

static void add_variable(recorder *r)
{
    wf_shape shape = { 0 };
    int v = (int)take(r, MOST_VARS);
    if (v >= r->vars) {
        if (r->vars == MOST_VARS)
            return;
        v = r->vars++;
        r->var_dtype[v] = any_dtype_of(r, WF__OP_add);
        int i = pick(r);
        if (r->how == EAGER)
            r->var_value[v] = emit(r, cast_to(use(r, i), r->var_dtype[v]), r->pool[i].shape);
        else {
            r->var[v] = wf_local(r->g, r->var_dtype[v], cast_to(use(r, i), r->var_dtype[v]));
            r->var_value[v] = emit(r, wf_get(r->var[v]), r->pool[i].shape);
        }
        r->var_shape[v] = r->pool[i].shape;
        r->vars_read |= r->reads;
        return;
    }
    if (in_whole_block(r) && !has_space(r, &r->var_shape[v]))
        return;
    int i = pick(r);
    shape = r->pool[i].shape;
    wf_shape both = shape;
    bool fits = fz_broadcast(&both, &r->pool[r->var_value[v]].shape) && few_points(&both), inc = take(r, 2) && fits;
    if (inc)
        shape = both;
    if (in_whole_block(r))
        shape = r->set.space; /* the shape of the lanes */
    r->var_shape[v] = shape;
    if (r->how == EAGER) {
        wf_val x = cast_to(use(r, i), r->var_dtype[v]);
        r->var_value[v] = emit(r, inc ? wf_add(use(r, r->var_value[v]), x) : x, shape);
        return;
    }
    if (inc)
        wf_inc(r->var[v], cast_to(use(r, i), r->var_dtype[v]));
    else
        wf_set(r->var[v], cast_to(use(r, i), r->var_dtype[v]));
    r->reads |= r->pool[r->var_value[v]].reads;
    r->vars_read |= r->reads;
    r->var_value[v] = emit(r, wf_get(r->var[v]), shape);
}

static wf_val local_index(recorder *r, int n, wf_shape *shape)
{
    wf_val at = wf_sub(wf_and(cast_to(operand(r, WF_I64, false, shape), WF_I64), 15), 3);
    return fz_debug ? wf_clamp(at, 0, n - 1) : at;
}

/* Records a local array, and writes and reads of it: at several indices, inside and outside, and in a loop. */
static void add_local(recorder *r)
{
    wf_shape shape = { 0 };
    if (r->set.kind == KIND_ARRAYS)
        return;
    wf_dtype t = any_dtype_of(r, WF__CAST);
    int n = 1 + (int)take(r, 9);
    wf_array *w = wf_local_array(r->g, NULL, t, WF_SHAPE(n), cast_to(operand(r, t, false, &shape), t));
    for (unsigned k = 1 + take(r, 3); k > 0; --k) {
        wf_val at = local_index(r, n, &shape);
        wf_val v = cast_to(operand(r, t, true, &shape), t);
        if (take(r, 2))
            wf_write_if(r->g, operand(r, WF_BOOL, true, &shape), w, v, at);
        else
            wf_write(r->g, w, v, at);
    }
    if (take(r, 2) && r->blocks < MOST_BLOCKS) {
        wf_val i;
        wf_for_(r->g, "local", &i, (wf_val){ { 0, NULL } }, (wf_val){ { n, NULL } }, (wf_val){ { 1, NULL } });
        wf_write(r->g, w, wf_read(r->g, w, wf_sub(n - 1, i)), wf_add(i, take(r, 2) && !fz_debug));
        wf_end_(r->g, "local");
    }
    wf_val at = local_index(r, n, &shape);
    wf_border border = (wf_border)take(r, 6);
    emit(r, wf_read_border(r->g, w, border, wf_const(r->g, t, 0), at), shape);
}

/* Records a break or continue for some points. */
static void add_leave(recorder *r)
{
    wf_shape shape = { 0 };
    if (!r->loops || r->n + 4 >= MOST_VALUES)
        return;
    wf_if_(r->g, "leave", operand(r, WF_BOOL, false, &shape));
    if (take(r, 2))
        wf_break(r->g);
    else
        wf_continue(r->g);
    wf_end_(r->g, "leave");
}

static void enter_block(recorder *r)
{
    r->reads |= r->vars_read;
    if (!r->blocks++)
        memset(r->use, 0, sizeof r->use);
    r->whole_blocks = r->whole_blocks || r->set.kind == KIND_ARRAYS;
}

static void leave_block(recorder *r, int n, int vars)
{
    --r->blocks;
    r->n = n;
    r->vars = vars;
    r->vars_read |= r->reads;
    bool arrays = r->set.kind == KIND_ARRAYS;
    for (int v = 0; v < vars; ++v) { /* the variables after the block */
        if (arrays && r->set.space.rank && fz_same_shape(&r->var_shape[v], &r->set.space)) {
            /* a variable set to its own value still has its old shape */
            wf_val lanes = wf_ge(wf_iota(r->g, r->set.space, 0), 0);
            wf_set(r->var[v], wf_select(lanes, wf_get(r->var[v]), wf_get(r->var[v])));
        }
        r->var_value[v] = emit(r, wf_get(r->var[v]), arrays ? r->var_shape[v] : (wf_shape){ 0 });
    }
}

/* Returns a value that differs between points; of whole arrays, one of the space's shape. */
static wf_val here(recorder *r)
{
    if (!r->set.space.rank || (r->set.kind != KIND_ARRAYS && !indexed(r)))
        return (wf_val){ { 0, NULL } };
    int axis = (int)take(r, (unsigned)r->set.space.rank);
    return r->set.kind == KIND_ARRAYS ? wf_iota(r->g, r->set.space, axis) : position(r, axis);
}

static void add_block(recorder *r)
{
    wf_shape shape = { 0 };
    if (r->blocks == MOST_BLOCKS || open_arrays(r))
        return;
    int n = r->n, vars = r->vars;
    unsigned form = take(r, 4);
    enter_block(r);
    wf_val i, cond = form < 2 ? operand(r, WF_BOOL, false, &shape)
                              : wf_and(cast_to(operand(r, WF_I64, true, &shape), WF_I64), 7);
    if (r->set.kind == KIND_ARRAYS && r->set.space.rank) /* the lanes have the space's shape */
        cond = form < 2 ? wf_or(cond, wf_lt(here(r), 0)) : wf_add(cond, wf_and(here(r), 1));
    if (form < 2)
        wf_if_(r->g, "if", cond);
    else {
        double step = 1 + (double)take(r, 2);
        wf_for_(r->g, "for", &i, form == 2 ? (wf_val){ { 0, NULL } } : cond, form == 2 ? cond : (wf_val){ { 0, NULL } },
                (wf_val){ { form == 2 ? step : -step, NULL } });
        ++r->loops;
        emit(r, i, r->set.kind == KIND_ARRAYS ? r->set.space : shape);
    }
    add_steps(r, 1 + take(r, 6));
    if (form == 1) {
        r->n = n;
        r->vars = vars;
        wf_else_(r->g, "else");
        add_steps(r, 1 + take(r, 6));
    }
    wf_end_(r->g, "end");
    r->loops -= form >= 2;
    leave_block(r, n, vars);
}

/* A function of a table. It makes its own decisions, because not every way records all functions. */
typedef struct function {
    recorder *r;
    fz_reader start;
    unsigned skip;
} function;

static void record_function(const wf_site *site)
{
    const function *f = site->user;
    recorder *r = f->r;
    int n = r->n, vars = r->vars;
    r->in = f->start;
    for (unsigned i = 0; i < f->skip; ++i)
        take(r, 251);
    ++r->calls;
    add_steps(r, 1 + take(r, 5));
    wf_set(site->out[0], cast_to(use(r, pick(r)), wf_val_dtype(wf_get(site->out[0]))));
    r->vars_read |= r->reads;
    --r->calls;
    r->n = n;
    r->vars = vars;
}

static void add_switch(recorder *r)
{
    enum { MOST_FUNCTIONS = 4 };
    wf_shape shape = { 0 };
    if (r->blocks == MOST_BLOCKS || open_arrays(r) || (r->set.kind == KIND_ARRAYS && !r->set.space.rank))
        return;
    int n = r->n, vars = r->vars, v = vars ? (int)take(r, (unsigned)vars) : -1;
    unsigned size = 1 + take(r, MOST_FUNCTIONS);
    if (v < 0 || (r->set.kind == KIND_ARRAYS && !has_space(r, &r->var_shape[v])))
        return;
    enter_block(r);
    wf_val index = wf_sub(wf_and(wf_add(cast_to(operand(r, WF_I64, false, &shape), WF_I64), here(r)), 3), take(r, 2));
    function f[MOST_FUNCTIONS];
    wf_function table[MOST_FUNCTIONS];
    for (unsigned k = 0; k < size; ++k) {
        f[k] = (function){ .r = r, .start = r->in };
        f[k].skip = take(r, 3);
        table[k] = (wf_function){ record_function, &f[k] };
    }
    fz_reader after = r->in;
    r->var_shape[v] = r->set.space;
    wf_switch(r->g, index, ((wf_functions){ table, size }), WF_NO_VALS, WF_VARS(r->var[v]));
    r->in = after;
    leave_block(r, n, vars);
}
#endif
