/* adjoint_reduce.c - derivatives of operators that reduce, by two operators without reductions:
 *
 *   the points        over the operator's space: what each point contributes to a reduced variable is added to an array
 *                     of the kept axes (adjoint_parts.c)
 *   the kept points   over the kept axes: section WF_SECTION_POST, which reads these arrays
 *
 * Between the two are the joins that the program records (adjoint_join.c).
 */
#include "ad/ad.h"
#include "ad/loops.h"
#include "launch/adjoint_reduce.h"

/* ---- the two operators ---- */
static wf_graph *points(const wf__split *s)
{
    wf_graph *g = wf__split_graph(s, &s->space, 0);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    wf__record_points(s, &a, true);
    wf__store_partials(s, &a);
    for (uint32_t i = 0; i < s->part_n && wf__is_recording(g); ++i) {
        const wf__contribution *of = &s->part[i];
        const wf__reduced *red = &s->red[of->red];
        uint32_t slot;
        if (!red->real || !wf__array_slot(g, red->target, false, true, s->d->function, &slot))
            continue;
        wf__ir *ir = wf__graph_ir(g);
        wf__ref value = a.map[of->value], when = of->when ? a.map[of->when] : 0;
        if (wf__is_extreme(red))
            when = wf__is_extreme_at(s, &a, of);
        else if (red->product)
            value = wf__by_factor(ir, value, wf__product_of_others(s, &a, of));
        value = wf__cast(ir, value, wf__update_dtype(red->dtype, WF_JOIN_ADD));
        wf__accum(ir, slot, wf__kept_tuple(s, ir), WF_JOIN_ADD, WF__MODE_AUTO, value, when);
        wf__note_store(g, slot);
    }
    wf__again_end(&a);
    return g;
}

/* The indices of the element of an array at a kept point. An array of fewer axes than the space has no reduced ones. */
static uint32_t post_tuple(const wf__split *s, wf__ir *ir, const wf_shape *shape)
{
    const bool drops = shape->rank < s->space.rank;
    wf__ref index[WF_MAX_RANK];
    for (int a = 0; a < shape->rank; ++a)
        index[a] = wf__const_bits(ir, WF_I64, 0);
    for (int d = s->space.rank - 1, a = shape->rank; d >= 0 && a > 0; --d) {
        if (drops && s->place[d] < 0)
            continue;
        --a;
        if (s->place[d] >= 0 && shape->dim[a] != 1)
            index[a] = wf__index(ir, s->place[d]);
    }
    return ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)shape->rank) : 0;
}

static void record_kept(const wf__split *s, wf__again *a, wf__ref r)
{
    wf__ir *ir = wf__graph_ir(a->g);
    const wf__node n = a->in->node[r];
    uint32_t slot;
    if (n.op == WF__PARAM && n.a >= s->p->param_n) {
        if (wf__array_slot(a->g, s->red[n.a - s->p->param_n].result, true, false, s->d->function, &slot))
            a->map[r] = wf__load(ir, slot, 0, WF_BORDER_NONE, 0);
    } else if (n.op == WF__INDEX)
        a->map[r] = s->place[n.a] >= 0 ? wf__index(ir, s->place[n.a]) : wf__const_bits(ir, WF_I64, 0);
    else if (n.op == WF__EXTENT)
        a->map[r] = wf__const_bits(ir, WF_I64, (uint64_t)s->space.dim[n.a]);
    else if (wf__op_names_slot(n.op) && a->in->slot[n.a].element) {
        const wf_array *array = s->array[a->in->slot[n.a].object];
        const bool store = n.op == WF__STORE, same = !array->shape.rank || wf__same_shape(&array->shape, &s->kept);
        if (!wf__array_slot(a->g, array, same, store, s->d->function, &slot))
            return;
        const uint32_t tuple = same ? 0 : post_tuple(s, ir, &array->shape);
        if (store) {
            wf__store(ir, slot, tuple, a->map[n.c], n.d ? a->map[n.d] : 0);
            wf__note_store(a->g, slot);
        } else
            a->map[r] = wf__load(ir, slot, tuple, WF_BORDER_NONE, 0);
    } else
        wf__again_node(a, r);
}

static wf_graph *kept_points(const wf__split *s)
{
    wf_graph *g = wf__split_graph(s, &s->kept, 0);
    wf__again a = { .g = g, .in = &s->p->rec.post, .to = s->array, .function = s->d->function };
    wf__again_begin(&a);
    for (wf__ref r = 1; r < a.in->n && wf__is_recording(g); ++r)
        record_kept(s, &a, r);
    wf__again_end(&a);
    return g;
}

/* ---- derivatives ---- */
typedef struct list { /* arrays and those of their derivatives */
    wf_array **at, **derivative;
    size_t n;
} list;

static void add(list *l, wf_array *array, wf_array *derivative)
{
    l->at[l->n] = array;
    l->derivative[l->n++] = derivative;
}

static bool uses(const wf__split *s, const wf__ir *ir, const wf_array *array, bool store)
{
    for (wf__ref r = 1; r < ir->n; ++r) {
        const unsigned op = ir->node[r].op;
        if (wf__op_names_slot(op) && s->array[ir->slot[ir->node[r].a].object] == array &&
            (store ? wf__op_is_store(op) : wf__op_gives_element(op)))
            return true;
    }
    return false;
}

static wf_status derive_part(const wf__split *s, wf_graph *g, const list *outs, const list *wrt)
{
    wf__derive d = { .function = s->d->function, .reverse = s->d->reverse };
    d.outs = (wf_arrays){ outs->at, outs->n };
    d.wrt = (wf_arrays){ wrt->at, wrt->n };
    d.seeds = d.reverse ? (wf_arrays){ outs->derivative, outs->n } : (wf_arrays){ wrt->derivative, wrt->n };
    d.results = d.reverse ? (wf_arrays){ wrt->derivative, wrt->n } : (wf_arrays){ outs->derivative, outs->n };
    return wf__derive_updates(g, &d);
}

static wf_graph *begin_graph_of_arrays(const wf__split *s)
{
    return wf_begin_with(s->ctx, &(wf_space){ .size = sizeof(wf_space), .stream = s->g->stream });
}

/* Divides the derivatives of minima and maxima by the number of contributions that share them. */
static wf_status share(const wf__split *s)
{
    wf_graph *g = begin_graph_of_arrays(s);
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k) {
        wf_array *to = s->red[k].derivative;
        if (wf__is_extreme(&s->red[k]))
            (wf_out)(g, to, (wf_div)(wf_in(g, to), (wf_max)(wf_in(g, s->red[k].count), (wf_val){ { 1, NULL } })));
    }
    return wf__run_recorded(g);
}

static wf_status clear(const wf__split *s)
{
    wf_graph *g = begin_graph_of_arrays(s);
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k)
        if (s->red[k].real)
            (wf_out)(g, s->red[k].derivative, (wf_val){ { 0, NULL } });
    return wf__run_recorded(g);
}

/* Adds the derivatives of what WF_SECTION_POST reads. */
static wf_status add_derivatives(const wf__split *s, wf_array *const *more)
{
    wf_graph *g = begin_graph_of_arrays(s);
    for (size_t i = 0; i < s->d->wrt.n; ++i)
        if (more[i])
            (wf_out)(g, s->d->results.at[i], (wf_add)(wf_in(g, s->d->results.at[i]), wf_in(g, more[i])));
    return wf__run_recorded(g);
}

static wf_status derive_both(const wf__split *s)
{
    const wf__derive *d = s->d;
    const wf__recording *rec = &s->p->rec;
    const size_t outs = d->outs.n + rec->ir.red_n, wrts = d->wrt.n + rec->ir.red_n;
    wf_array **room = wf__alloc0((4 * outs + 5 * wrts + 1) * sizeof *room);
    if (!room)
        return wf__split_no_memory(s);
    list point_outs = { room, room + outs, 0 }, kept_outs = { room + 2 * outs, room + 3 * outs, 0 };
    list point_wrt = { room + 4 * outs, room + 4 * outs + wrts, 0 };
    list kept_wrt = { point_wrt.at + 2 * wrts, point_wrt.at + 3 * wrts, 0 };
    wf_array **more = point_wrt.at + 4 * wrts;
    for (uint32_t k = 0; k < rec->ir.red_n; ++k)
        if (s->red[k].real) {
            const bool custom = s->red[k].join == WF_JOIN_CUSTOM;
            add(&point_outs, custom ? wf__point_partial(s, k) : s->red[k].target,
                custom ? wf__point_derivative(s, k) : s->red[k].derivative);
            add(&kept_wrt, s->red[k].result, s->red[k].derivative);
        }
    wf_status status = WF_OK;
    for (size_t i = 0; i < d->outs.n; ++i) {
        const bool post = uses(s, &rec->post, d->outs.at[i], true);
        if (post && uses(s, &rec->ir, d->outs.at[i], true))
            status = wf__error(s->ctx, WF_ERR_UNSUPPORTED, "%s: output %zu is stored in two sections", d->function, i);
        add(post ? &kept_outs : &point_outs, d->outs.at[i], d->reverse ? d->seeds.at[i] : d->results.at[i]);
    }
    for (size_t i = 0; i < d->wrt.n && status == WF_OK; ++i) {
        wf_array *derivative = d->reverse ? d->results.at[i] : d->seeds.at[i];
        add(&point_wrt, d->wrt.at[i], derivative);
        if (!uses(s, &rec->post, d->wrt.at[i], false))
            continue;
        if (d->reverse) {
            more[i] =
                wf__array_make(s->ctx, d->function, derivative->dtype, &derivative->shape, NULL, derivative->device);
            status = more[i] ? WF_OK : wf_last_status(s->ctx);
        }
        add(&kept_wrt, d->wrt.at[i], d->reverse ? more[i] : derivative);
    }
    if (status == WF_OK)
        status = d->reverse ? derive_part(s, kept_points(s), &kept_outs, &kept_wrt) : clear(s);
    if (status == WF_OK && d->reverse)
        status = share(s);
    if (status == WF_OK && d->reverse)
        status = wf__derive_levels(s);
    if (status == WF_OK)
        status = derive_part(s, points(s), &point_outs, &point_wrt);
    if (status == WF_OK && !d->reverse)
        status = share(s);
    if (status == WF_OK && !d->reverse)
        status = wf__derive_levels(s);
    if (status == WF_OK)
        status = d->reverse ? add_derivatives(s, more) : derive_part(s, kept_points(s), &kept_outs, &kept_wrt);
    for (size_t i = 0; i < d->wrt.n; ++i)
        wf_release(more[i]);
    wf__free(room);
    return status;
}

/* ---- beginning and end ---- */
static bool find_axes(wf__split *s)
{
    if (!wf__derive_space(s->g, &s->space))
        return false;
    s->axes = s->p->rec.options.reduce & ((1u << s->space.rank) - 1);
    for (int d = 0; d < s->space.rank; ++d) {
        s->place[d] = s->axes >> d & 1 ? -1 : s->kept.rank;
        if (s->place[d] >= 0)
            s->kept.dim[s->kept.rank++] = s->space.dim[d];
    }
    if (!s->kept.rank) /* one point */
        s->kept = (wf_shape){ .rank = 1, .dim = { 1 } };
    return true;
}

static wf_status begin(wf__split *s)
{
    const wf__recording *rec = &s->p->rec;
    if (!find_axes(s))
        return wf_last_status(s->ctx);
    wf__ir_init(&s->call, s->space.rank, rec->ir.flags | WF_FLAG_FOLD | WF_FLAG_VALUE_NUMBERING);
    const uint32_t n = rec->ir.red_n;
    s->red = wf__alloc0((n + 1) * sizeof *s->red);
    s->array = wf__alloc0((s->p->object_n + 1) * sizeof(wf_array *));
    if (!s->red || !s->array)
        return wf__split_no_memory(s);
    for (uint32_t i = 0; i < s->p->object_n; ++i)
        s->array[i] = s->p->object[i].array;
    for (uint32_t k = 0; k < n; ++k) {
        const wf__reduction *of = &rec->ir.red[k];
        s->red[k] = (wf__reduced){ .dtype = of->dtype, .join = of->join, .real = wf__has_adjoint(of->dtype) };
    }
    if (wf__straighten(&rec->ir, &s->call, s->d->function)) {
        s->n = s->call.n;
        s->chain = wf__alloc0(2 * (size_t)s->n);
        s->reached = s->chain ? s->chain + s->n : NULL;
        s->when = wf__alloc0(s->n * sizeof *s->when);
        if (!s->chain || !s->when)
            return wf__split_no_memory(s);
        wf__find_contributions(s);
    }
    if (s->call.status != WF_OK)
        wf__program_error(s->ctx, s->p, s->call.status, s->call.error, WF_SECTION_CALL, &(wf__culprit){ 0 });
    return s->call.status;
}

static void end(wf__split *s)
{
    wf__levels_end(s);
    for (uint32_t k = 0; s->red && k < s->p->rec.ir.red_n; ++k) {
        wf_release(s->red[k].result);
        wf_release(s->red[k].target);
        wf_release(s->red[k].derivative);
        wf_release(s->red[k].count);
        wf_release(s->red[k].product);
    }
    wf__ir_free(&s->call);
    wf__free(s->chain);
    wf__free(s->when);
    wf__free(s->part);
    wf__free(s->red);
    wf__free(s->array);
}

static wf_status derive_reducing(wf_graph *graph, const wf__derive *d)
{
    wf__split s = { .d = d, .g = graph, .p = &graph->program, .ctx = graph->ctx };
    wf_status status = begin(&s);
    if (status == WF_OK)
        status = wf__make_reduced(&s);
    if (status == WF_OK)
        status = wf__levels_begin(&s);
    if (status == WF_OK)
        status = derive_both(&s);
    end(&s);
    return status;
}

static wf_status derive(wf_graph *graph, const wf__derive *d)
{
    if (!graph)
        return WF_ERR_ARG;
    return graph->reducing ? wf__derive_by(graph, d, derive_reducing) : wf__derive_updates(graph, d);
}

wf_status wf_adjoint(wf_graph *graph, wf_arrays outs, wf_arrays upstream, wf_arrays wrt, wf_arrays grads)
{
    return derive(graph, &(wf__derive){ "wf_adjoint", true, outs, wrt, upstream, grads });
}

wf_status wf_tangent(wf_graph *graph, wf_arrays wrt, wf_arrays directions, wf_arrays outs, wf_arrays tangents)
{
    return derive(graph, &(wf__derive){ "wf_tangent", false, outs, wrt, directions, tangents });
}
