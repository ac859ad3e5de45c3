/* adjoint.c - runs the derivative of an operator over an index space. Forward mode is one kernel over the operator's
 * space. Reverse mode has up to three kinds of kernels:
 *
 *   gather      over the elements of a wanted array: each looks up the points that read it
 *   sums        over the operator's space: elements that all points read, some at a time. Each point of the kernel adds
 *               up a few rows before it joins their sums to those of f64, which costs more than the products of a stencil
 *   accumulate  over the operator's space: all other contributions, by index
 */
#include "ad/index.h"
#include "ad/space.h"
#include "ir/pass/pass.h"
#include "ir/thresholds.h"
#include "launch/adjoint.h"
#include "base/floats.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct adjoint {
    wf_graph *g; /* the operator */
    wf_arrays outs, wrt;
    wf_arrays seeds, results; /* upstream arrays and derivatives of wrt; or directions and derivatives of outs */
    bool reverse;
    wf__ad_operator of;
    wf__ad_space space;
    uint32_t *object; /* [outs + wrts] numbers of the arrays in the operator */
    wf_shape *shape;  /* [objects] */
    wf_graph *to;     /* the kernel that is being recorded */
    const char *function;
} adjoint;

/* ---- checks ---- */
static bool fail(const adjoint *a, wf_status status, const char *what, size_t k)
{
    wf__error(a->g->ctx, status, "%s: %s %zu %s", a->function, what, k,
              status == WF_ERR_DTYPE ? "is not of a float dtype" : "has another shape than the array it belongs to");
    return false;
}

static bool fits(const adjoint *a, const wf_array *array, const wf_array *like, const char *what, size_t k)
{
    if (!array || !like || !wf__has_adjoint(array->dtype) || !wf__has_adjoint(like->dtype))
        return fail(a, WF_ERR_DTYPE, what, k);
    return wf__same_shape(&array->shape, &like->shape) || fail(a, WF_ERR_SHAPE, what, k);
}

/* Returns the number of an array in the operator; UINT32_MAX = the operator does not name it. */
static uint32_t object_of(const adjoint *a, const wf_array *array)
{
    const wf__program *p = &a->g->program;
    for (uint32_t i = 0; i < p->object_n; ++i)
        if (p->object[i].array == array)
            return i;
    return UINT32_MAX;
}

static bool check(const adjoint *a)
{
    const wf__recording *rec = &a->g->program.rec;
    wf_context *ctx = a->g->ctx;
    const char *why = rec->options.kind == WF__ARRAYS ? "an array graph; say wf_vjp or wf_jvp there"
                      : rec->init.n > 1               ? "a recording with WF_SECTION_INIT"
                      : rec->deinit.n > 1             ? "a recording with WF_SECTION_DEINIT"
                                                      : NULL;
    if (why) {
        char text[160];
        snprintf(text, sizeof text, "%s: not for %s", a->function, why);
        wf__program_error(ctx, &a->g->program, WF_ERR_UNSUPPORTED, text, WF_SECTION_CALL, &(wf__culprit){ 0 });
        return false;
    }
    const wf_arrays *given = a->reverse ? &a->outs : &a->wrt, *wanted = a->reverse ? &a->wrt : &a->outs;
    if (given->n != a->seeds.n || wanted->n != a->results.n) {
        wf__error(ctx, WF_ERR_ARG, "%s: each %s, and each %s one for its derivative", a->function,
                  a->reverse ? "output needs an upstream array" : "wanted array needs a direction",
                  a->reverse ? "wanted array" : "output");
        return false;
    }
    for (size_t k = 0; k < given->n; ++k)
        if (!fits(a, a->seeds.at[k], given->at[k], a->reverse ? "upstream" : "direction", k))
            return false;
    for (size_t k = 0; k < wanted->n; ++k)
        if (!fits(a, a->results.at[k], wanted->at[k], "the derivative of array", k))
            return false;
    return true;
}

/* The derivative of an array counts what is read and stored through the array itself, not through another one that has
 * some of its memory. */
static bool are_apart(const adjoint *a)
{
    const wf__program *p = &a->g->program;
    for (size_t k = 0; k < a->outs.n + a->wrt.n; ++k) {
        const uint32_t object = a->object[k];
        for (uint32_t i = 0; object != UINT32_MAX && i < p->object_n; ++i) {
            const wf_array *other = p->object[i].array;
            if (i == object || !wf__has_adjoint(other->dtype) || !wf__array_may_meet(other, p->object[object].array))
                continue;
            wf__error(
                a->g->ctx, WF_ERR_UNSUPPORTED,
                "%s: the operator uses an array and another one that shares its memory; read and store it through "
                "one of them",
                a->function);
            return false;
        }
    }
    return true;
}

static bool begin(adjoint *a)
{
    const wf__program *p = &a->g->program;
    a->object = wf__alloc((a->outs.n + a->wrt.n + 1) * (sizeof *a->object + 2));
    a->shape = wf__alloc((p->object_n + 1) * sizeof *a->shape);
    if (!a->object || !a->shape) {
        wf__error(a->g->ctx, WF_ERR_MEMORY, "%s: out of memory", a->function);
        return false;
    }
    uint8_t *dtype = (uint8_t *)(a->object + a->outs.n + a->wrt.n);
    for (size_t k = 0; k < a->seeds.n; ++k)
        dtype[k] = (uint8_t)a->seeds.at[k]->dtype;
    uint8_t *result = dtype + a->seeds.n;
    for (size_t k = 0; k < a->results.n; ++k)
        result[k] = (uint8_t)a->results.at[k]->dtype;
    for (size_t k = 0; k < a->outs.n; ++k) {
        a->object[k] = object_of(a, a->outs.at[k]);
        if (a->object[k] == UINT32_MAX || !wf__program_writes(p, a->object[k])) {
            wf__error(a->g->ctx, WF_ERR_ARG, "%s: the operator does not store output %zu", a->function, k);
            return false;
        }
    }
    for (size_t k = 0; k < a->wrt.n; ++k)
        a->object[a->outs.n + k] = object_of(a, a->wrt.at[k]);
    if (!are_apart(a) || !wf__derive_space(a->g, &a->of.space))
        return false;
    for (uint32_t i = 0; i < p->object_n; ++i)
        a->shape[i] = p->object[i].array->shape;
    a->of = (wf__ad_operator){ .function = a->function,
                               .ir = &p->rec.ir,
                               .space = a->of.space,
                               .shape = a->shape,
                               .objects = p->object_n,
                               .out = a->object,
                               .wrt = a->object + a->outs.n,
                               .seed = dtype,
                               .result = result,
                               .outs = (uint32_t)a->outs.n,
                               .wrts = (uint32_t)a->wrt.n,
                               .record = wf__record_custom,
                               .user = a->g };
    if (a->reverse ? wf__ad_space_begin(&a->of, &a->space) : wf__ad_tangents_begin(&a->of, &a->space))
        return true;
    const wf__ir *ir = &a->space.ir;
    wf__program_error(a->g->ctx, p, ir->status, ir->error, WF_SECTION_CALL, &(wf__culprit){ 0 });
    return false;
}

/* ---- kernels ---- */
static uint32_t slot(void *user, uint32_t object, bool element)
{
    const adjoint *a = user;
    const wf__program *p = &a->g->program;
    const uint32_t results = p->object_n + (uint32_t)a->seeds.n;
    const bool result = object >= results;
    const wf_array *array = result                 ? a->results.at[object - results]
                            : object < p->object_n ? p->object[object].array
                                                   : a->seeds.at[object - p->object_n];
    uint32_t s = 0;
    if (wf__array_slot(a->to, array, element, result, a->function, &s) && result)
        wf__note_store(a->to, s);
    return s;
}

/* Begins a kernel, with the operator's parameters under their numbers. */
static wf__emitter begin_kernel(adjoint *a, const wf_shape *shape, wf_axes reduce, bool own)
{
    const wf__program *p = &a->g->program;
    const wf_space space = { .size = sizeof space,
                             .here = a->g->here,
                             .name = "adjoint",
                             .shape = *shape,
                             .indexed = true,
                             .reduce = reduce,
                             .device = p->placed ? p->device : 0,
                             .stream = a->g->stream };
    a->to = wf_begin_with(a->g->ctx, &space);
    wf__emitter e = { .from = &a->space, .slot = slot, .user = a, .own = own };
    wf__params_again(a->to, p->param, p->rec.ir.param, p->param_n);
    e.to = a->to ? wf__graph_ir(a->to) : NULL;
    for (int d = 0; own && a->to && d < shape->rank; ++d)
        e.index[d] = wf__index(e.to, d);
    if (!a->to || !wf__emitter_begin(&e))
        wf__poison(a->to, WF_ERR_MEMORY, "%s: out of memory", a->function);
    return e;
}

static wf_status run_kernel(adjoint *a, wf__emitter *e)
{
    wf__free(e->map);
    e->map = NULL;
    return a->to ? wf_run(a->to) : WF_ERR_MEMORY;
}

/* Returns a bit for each kind of read of a wanted array. */
static unsigned kinds_of(const adjoint *a, size_t k)
{
    unsigned kinds = 0;
    for (uint32_t i = 0; i < a->space.access_n; ++i)
        if (a->space.access[i].object == a->of.wrt[k])
            kinds |= 1u << a->space.access[i].kind;
    return kinds & ~(1u << WF__READ_NOTHING);
}

static bool is_of(const adjoint *a, const wf__ad_access *read, size_t k, wf__read_kind kind)
{
    return read->object == a->of.wrt[k] && read->kind == kind;
}

/* Sets a derivative to the contributions of SHIFTED reads, or to 0. */
static wf_status gather(adjoint *a, size_t k)
{
    wf__emitter e = begin_kernel(a, &a->wrt.at[k]->shape, 0, false);
    wf__ref sum = 0;
    for (uint32_t i = 0; e.map && i < a->space.access_n; ++i) {
        const wf__ad_access *read = &a->space.access[i];
        if (!is_of(a, read, k, WF__READ_SHIFTED))
            continue;
        memset(e.map, 0, a->space.ir.n * sizeof *e.map);
        wf__ref value = wf__emit_shifted(&e, read);
        sum = sum && value ? wf__op2(e.to, WF__OP_add, sum, value) : value;
    }
    if (a->to)
        (wf_out)(a->to, a->results.at[k], sum ? wf__value(a->to, sum) : (wf_val){ { 0, NULL } });
    return run_kernel(a, &e);
}

/* Returns the number of the output that a wanted array is; UINT32_MAX = none. */
static uint32_t output_of(const adjoint *a, size_t k)
{
    for (uint32_t i = 0; i < a->of.outs; ++i)
        if (a->of.out[i] == a->of.wrt[k])
            return i;
    return UINT32_MAX;
}

/* Sets the derivative with respect to the contents from before of an array that the operator stores: what it does not
 * store keeps the upstream derivative. */
static wf_status leave(adjoint *a, size_t k)
{
    const wf__ir *ir = &a->space.ir;
    wf_array *grad = a->results.at[k];
    wf_graph *g = wf_begin_with(a->g->ctx, NULL);
    (wf_out)(g, grad, wf_in(g, a->seeds.at[output_of(a, k)]));
    wf_status status = wf_run(g);
    if (status != WF_OK)
        return status;
    wf__emitter e = begin_kernel(a, &a->of.space, 0, true);
    e.zeroed = a->of.wrt[k] + 1;
    e.zeros = a->of.objects + (uint32_t)(a->seeds.n + k);
    for (wf__ref r = 1; e.map && r < ir->n; ++r) {
        const wf__node *n = &ir->node[r];
        uint32_t s;
        if (n->op != WF__STORE || ir->slot[n->a].object != a->of.wrt[k] || e.loop[r])
            continue;
        wf__ref when = wf__emit(&e, n->d);
        uint32_t tuple = wf__emit_tuple(&e, n->b);
        if (!wf__array_slot(a->to, grad, !n->b, true, a->function, &s))
            break;
        wf__store(e.to, s, tuple, wf__const_f64(e.to, grad->dtype, 0), when);
        wf__note_store(a->to, s);
    }
    if (e.map)
        wf__emit_effects(&e);
    return run_kernel(a, &e);
}

/* ---- sums: elements that all points read ---- */
typedef struct sum_read { /* a read of such an element */
    uint32_t access;
    int64_t index[WF_MAX_RANK]; /* of the element */
} sum_read;

typedef struct sums { /* sums of one kernel, over some rows of the space, whose axis is the one before the last */
    size_t k;         /* the wanted array */
    const sum_read *read;
    uint32_t n;
    int64_t first, points; /* the first row; points of the kernel along the axis of rows */
    int rows;              /* rows that a point of the kernel adds up */
    bool continues;        /* an earlier kernel has set the element of read[0] */
} sums;

static bool is_same_element(const sum_read *x, const sum_read *y)
{
    return !memcmp(x->index, y->index, sizeof x->index);
}

static int compare_reads(const void *x, const void *y)
{
    const sum_read *a = x, *b = y;
    for (int d = WF_MAX_RANK - 1; d >= 0; --d)
        if (a->index[d] != b->index[d])
            return a->index[d] < b->index[d] ? -1 : 1;
    return (a->access > b->access) - (a->access < b->access);
}

/* Finds the reads of wanted array k, in the order of the last index, then of those before it: neighbouring sums then use
 * what other rows have loaded. Returns how many. read: [accesses]. */
static uint32_t find_sums(const adjoint *a, size_t k, sum_read *read)
{
    const wf__ir *ir = &a->space.ir;
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->space.access_n; ++i) {
        const wf__ad_access *access = &a->space.access[i];
        if (!is_of(a, access, k, WF__READ_UNIFORM))
            continue;
        read[n] = (sum_read){ .access = i };
        for (uint32_t d = 0; d < wf__tuple_len(ir, access->tuple); ++d)
            read[n].index[d] = (int64_t)wf__bits(&ir->node[wf__tuple_at(ir, access->tuple)[d]]);
        ++n;
    }
    qsort(read, n, sizeof *read, compare_reads);
    return n;
}

/* The rows that a point adds up before it joins their sum, which is as wide as the values, to one of f64: a divisor of the
 * number of rows, if there is one. live: [nodes], zeros. */
static int rows_of_sums(const adjoint *a, const sum_read *read, uint32_t n, uint8_t *live)
{
    const wf__ir *ir = &a->space.ir;
    const int rank = a->of.space.rank;
    const int64_t all = rank > 1 ? a->of.space.dim[rank - 2] : 1;
    uint32_t nodes = 1;
    int rows = all < WF__ROWS_OF_SUM ? (int)all : WF__ROWS_OF_SUM;
    if (ir->loops || rows < 2)
        return 1;
    for (uint32_t i = 0; i < n && i < WF__SUMS_OF_ROW * WF__ROWS_OF_SUM; ++i)
        live[a->space.access[read[i].access].derivative] = 1;
    wf__mark_live(ir, live);
    for (wf__ref r = 1; r < ir->n; ++r)
        nodes += live[r];
    while (rows > 1 && (uint32_t)rows * nodes > WF__MOST_CODE_WRITTEN)
        --rows;
    for (int divisor = rows; 2 * divisor > rows; --divisor)
        if (all % divisor == 0)
            return divisor;
    return rows;
}

/* Returns the sum and the value. A product is rounded with the sum. */
static wf__ref add_to_sum(wf__ir *ir, wf__ref sum, wf__ref value)
{
    if (!sum || !value)
        return value;
    const wf__node n = ir->node[value];
    return n.op == WF__OP_mul && wf__is_float(n.dtype) ? wf__op3(ir, WF__OP_fma, n.a, n.b, sum)
                                                       : wf__op2(ir, WF__OP_add, sum, value);
}

/* Records the sums over the rows of a point, one after the other, so that few values are needed at once. value: [s->n]. */
static void add_rows(const adjoint *a, wf__emitter *e, const sums *s, wf__ref *value)
{
    const int axis = a->of.space.rank - 2;
    const size_t nodes = a->space.ir.n;
    wf__ref *const map = e->map, *const maps = wf__alloc0((size_t)s->rows * nodes * sizeof *map);
    if (!maps)
        wf__poison(a->to, WF_ERR_MEMORY, "%s: out of memory", a->function);
    wf__ref index[WF__ROWS_OF_SUM] = { 0 };
    e->own = s->rows == 1 && !s->first;
    for (int row = 0; row < s->rows && !e->own; ++row)
        index[row] =
            wf__index_op(e->to, WF__OP_add, wf__index_op(e->to, WF__OP_mul, e->index[axis], s->rows), s->first + row);
    for (uint32_t i = 0; i < s->n && maps; ++i)
        for (int row = 0; row < s->rows && e->to->status == WF_OK; ++row) {
            e->map = maps + (size_t)row * nodes;
            if (!e->own)
                e->index[axis] = index[row];
            value[i] = add_to_sum(e->to, value[i], wf__emit(e, a->space.access[s->read[i].access].derivative));
        }
    e->map = map;
    wf__free(maps);
}

/* Returns an element of an array, as an array. */
static wf_array *element_of(wf_array *array, const int64_t *index)
{
    wf_array *view = wf_retain(array);
    for (int d = 0; view && d < array->shape.rank; ++d) {
        wf_array *part = wf_view_at(view, 0, index[d]);
        wf_release(view);
        view = part;
    }
    return view;
}

/* True if the next read of the kernel is one of the same element. */
static bool has_neighbour(const sums *s, uint32_t i)
{
    return i + 1 < s->n && is_same_element(&s->read[i], &s->read[i + 1]);
}

/* Runs a kernel of sums. The rows from the first one on set elements of the derivative, later ones add to them. Reads of one
 * element, as of two blocks, are neighbours, of which the last one gets the sum of all. */
static wf_status run_sums(adjoint *a, const sums *s)
{
    wf_shape space = a->of.space;
    wf__ref value[WF__SUMS_OF_ROW * WF__ROWS_OF_SUM] = { 0 };
    wf_var sum[WF__SUMS_OF_ROW * WF__ROWS_OF_SUM];
    if (space.rank > 1)
        space.dim[space.rank - 2] = s->points;
    wf__emitter e = begin_kernel(a, &space, WF_ALL_AXES, true);
    if (e.map)
        add_rows(a, &e, s, value);
    for (uint32_t i = 0; i < s->n && e.map; ++i) {
        if (i && is_same_element(&s->read[i - 1], &s->read[i]))
            value[i] = wf__op2(e.to, WF__OP_add, value[i - 1], value[i]);
        if (has_neighbour(s, i))
            continue;
        wf_dtype wide = wf__is_complex(wf__dtype(e.to, value[i])) ? WF_C128 : WF_F64;
        sum[i] = (wf_reduced)(a->to, wide, (wf_val){ { 0, NULL } }, WF_JOIN_ADD);
        (wf_inc)(sum[i], wf__value(a->to, value[i]));
    }
    if (a->to)
        wf_section(a->to, WF_SECTION_POST);
    for (uint32_t i = 0; i < s->n && e.map; ++i) {
        if (has_neighbour(s, i))
            continue;
        const bool adds = s->first || (s->continues && is_same_element(s->read, &s->read[i]));
        wf_array *to = element_of(a->results.at[s->k], s->read[i].index);
        wf_val all = { sum[i] };
        if (!to)
            wf__poison(a->to, wf_last_status(a->g->ctx), "%s: out of memory", a->function);
        else
            (wf_out)(a->to, to, adds ? (wf_add)(wf_in(a->to, to), all) : all);
        wf_release(to);
    }
    return run_kernel(a, &e);
}

/* Sets the elements of the derivative with respect to wanted array k that all points read. */
static wf_status set_sums(adjoint *a, size_t k)
{
    sum_read *read = wf__alloc(a->space.access_n * sizeof *read + 1);
    uint8_t *live = wf__alloc0(a->space.ir.n);
    wf_status status = read && live ? WF_OK : wf__error(a->g->ctx, WF_ERR_MEMORY, "%s: out of memory", a->function);
    if (status == WF_OK) {
        const int rank = a->of.space.rank;
        const uint32_t n = find_sums(a, k, read);
        const int rows = rows_of_sums(a, read, n, live);
        const int64_t all = rank > 1 ? a->of.space.dim[rank - 2] : 1, rest = all % rows;
        const uint32_t most = (uint32_t)(WF__SUMS_OF_ROW * rows);
        for (uint32_t i = 0; i < n && status == WF_OK; i += most) {
            sums s = { k, read + i, n - i < most ? n - i : most, 0, all / rows, rows, false };
            s.continues = i && is_same_element(&read[i - 1], &read[i]);
            status = run_sums(a, &s);
            s.first = all - rest;
            s.points = 1;
            s.rows = (int)rest;
            if (rest && status == WF_OK)
                status = run_sums(a, &s);
        }
    }
    wf__free(read);
    wf__free(live);
    return status;
}

/* ---- accumulations ---- */
static bool accumulates_in_loops(const adjoint *a)
{
    bool any = false;
    for (uint32_t s = 0; s < a->space.ir.slot_n; ++s)
        any = any || (a->space.ir.slot[s].written && a->space.ir.slot[s].object >= a->of.objects);
    return any;
}

/* Adds the contributions that are accumulated, to the derivatives of all arrays. */
static wf_status accumulate(adjoint *a, const uint8_t *as_sums)
{
    wf__emitter e = begin_kernel(a, &a->of.space, 0, true);
    e.accumulates = true;
    for (uint32_t i = 0; e.map && i < a->space.access_n; ++i) {
        const wf__ad_access *read = &a->space.access[i];
        for (size_t k = 0; k < a->wrt.n && wf__is_recording(a->to); ++k) {
            bool uniform = is_of(a, read, k, WF__READ_UNIFORM) && !as_sums[k];
            uint32_t s;
            if (!uniform && !is_of(a, read, k, WF__READ_ANY))
                continue;
            wf_array *grad = a->results.at[k];
            wf__ref value = wf__emit(&e, read->derivative), inside = wf__emit(&e, read->inside);
            uint32_t tuple = wf__emit_tuple(&e, read->tuple);
            if (!value || !wf__array_slot(a->to, grad, grad->shape.rank == 0, true, a->function, &s))
                break;
            value = wf__cast(e.to, value, wf__update_dtype(grad->dtype, WF_JOIN_ADD));
            wf__accum(e.to, s, tuple, WF_JOIN_ADD, WF__MODE_AUTO, value, inside);
            wf__note_store(a->to, s);
        }
    }
    if (e.map)
        wf__emit_effects(&e);
    return run_kernel(a, &e);
}

static wf_status run(adjoint *a)
{
    uint8_t *as_sums = wf__alloc0(a->wrt.n + 1);
    bool rest = accumulates_in_loops(a);
    wf_status status = as_sums ? WF_OK : wf__error(a->g->ctx, WF_ERR_MEMORY, "%s: out of memory", a->function);
    for (size_t k = 0; k < a->wrt.n && status == WF_OK; ++k) {
        unsigned kinds = kinds_of(a, k);
        as_sums[k] = kinds == 1u << WF__READ_UNIFORM;
        rest = rest || kinds & 1u << WF__READ_ANY || (kinds & 1u << WF__READ_UNIFORM && !as_sums[k]);
        status = output_of(a, k) == UINT32_MAX ? gather(a, k) : leave(a, k);
        if (as_sums[k] && status == WF_OK)
            status = set_sums(a, k);
    }
    if (rest && status == WF_OK)
        status = accumulate(a, as_sums);
    wf__free(as_sums);
    return status;
}

/* ---- forward mode ---- */
/* Records the kernel. twice: it may be differentiated. */
static void record_forward(adjoint *a, bool twice)
{
    wf__emitter e = begin_kernel(a, &a->of.space, 0, true);
    const wf__ir *ir = &a->space.ir;
    e.accumulates = true;
    e.twice = twice;
    for (uint32_t i = 0; e.map && i < a->space.access_n; ++i) {
        const wf__ad_access *store = &a->space.access[i];
        const wf__node *n = &ir->node[store->node];
        uint32_t k = 0, s;
        while (a->of.out[k] != store->object)
            ++k;
        const wf_array *to = a->results.at[k];
        wf__ref value = wf__emit(&e, store->derivative), when = wf__emit(&e, n->d);
        uint32_t tuple = wf__emit_tuple(&e, n->b);
        if (!value || !wf__array_slot(a->to, to, !n->b, true, a->function, &s))
            break;
        if (n->op == WF__STORE)
            wf__store(e.to, s, tuple, wf__cast(e.to, value, to->dtype), when);
        else
            wf__accum(e.to, s, tuple, WF_JOIN_ADD, WF__MODE_AUTO,
                      wf__cast(e.to, value, wf__update_dtype(to->dtype, WF_JOIN_ADD)), when);
        wf__note_store(a->to, s);
    }
    if (e.map)
        wf__emit_effects(&e);
    wf__free(e.map);
}

/* ---- for the public functions ---- */
bool wf__derive_space(const wf_graph *g, wf_shape *out)
{
    const wf__program *p = &g->program;
    const wf__ir *ir = &p->rec.ir;
    *out = p->rec.space;
    for (uint32_t s = 0; p->rec.options.kind == WF__ELEMENTS && s < ir->slot_n; ++s)
        if (ir->slot[s].element && !wf__broadcast(out, &p->object[ir->slot[s].object].array->shape, out)) {
            wf__program_error(g->ctx, p, WF_ERR_SHAPE, "the shapes of the operands do not broadcast", WF_SECTION_CALL,
                              &(wf__culprit){ 0 });
            return false;
        }
    return true;
}

static adjoint derivative_of(wf_graph *g, const wf__derive *d)
{
    return (adjoint){ .g = g,
                      .outs = d->outs,
                      .wrt = d->wrt,
                      .seeds = d->seeds,
                      .results = d->results,
                      .reverse = d->reverse,
                      .function = d->function };
}

bool wf__derive_check(wf_graph *g, const wf__derive *d)
{
    adjoint a = derivative_of(g, d);
    return check(&a);
}

wf_status wf__derive_by(wf_graph *graph, const wf__derive *d, wf_status (*work)(wf_graph *graph, const wf__derive *d))
{
    if (!wf__may_end(graph, d->function))
        return WF_ERR_CONTRACT;
    const wf_arrays lists[] = { d->outs, d->wrt, d->seeds, d->results };
    for (size_t i = 0; i < WF__COUNT(lists); ++i)
        if (!wf__is_given(graph->ctx, lists[i].at, lists[i].n, d->function)) {
            wf__graph_retire(graph);
            return WF_ERR_ARG;
        }
    wf__floats floats = wf__floats_begin();
    wf_status status = wf__graph_finish(graph);
    if (status == WF_OK && !wf__graph_launchable(graph, d->function))
        status = WF_ERR_ARG;
    if (status == WF_OK)
        status = wf__derive_check(graph, d) ? work(graph, d) : wf_last_status(graph->ctx);
    wf__graph_retire(graph);
    wf__floats_end(floats);
    return status;
}

static void end(adjoint *a)
{
    wf__ad_space_free(&a->space);
    wf__free(a->object);
    wf__free(a->shape);
}

wf_status wf__derive_run(wf_graph *graph, const wf__derive *d)
{
    adjoint a = derivative_of(graph, d);
    wf_status status = begin(&a) ? WF_OK : wf_last_status(graph->ctx);
    if (status == WF_OK && a.reverse)
        status = run(&a);
    else if (status == WF_OK) {
        record_forward(&a, wf__tapes(graph->ctx));
        status = a.to ? wf_run(a.to) : WF_ERR_MEMORY;
    }
    end(&a);
    return status;
}

wf_graph *wf__tangent_kernel(wf_graph *graph, const wf__derive *d)
{
    adjoint a = derivative_of(graph, d);
    if (begin(&a))
        record_forward(&a, true);
    end(&a);
    return a.to;
}
