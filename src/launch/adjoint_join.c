/* adjoint_join.c - derivatives of joins that the program records.
 *
 * Level 0 has the partial result of each point alone. An element of the next level joins up to FANOUT elements that
 * lie apart along one of the reduced axes, and the last level has the results. Reverse mode computes all levels and
 * goes back from the last one: the adjoints of the joins of one element give the derivatives of the elements that it has
 * joined, and of no others. Forward mode goes on from level 0. Nothing is accumulated, so the bits do not depend on
 * threads.
 */
#include "ad/ad.h"
#include "launch/adjoint_reduce.h"

enum { FANOUT = 8, MOST_LEVELS = 24 * WF_MAX_RANK };

struct wf__level {
    wf_shape shape; /* of rank split.space.rank */
    int axis;       /* of the elements that the next level joins */
    /* [reductions] one block; NULL = the variable has no custom join, or no derivatives */
    wf_array **value, **derivative;
};

static bool is_custom(const wf__split *s, uint32_t k) { return s->red[k].join == WF_JOIN_CUSTOM; }

/* ---- arrays ---- */
static int64_t joined_extent(int64_t extent) { return extent > FANOUT ? (extent + FANOUT - 1) / FANOUT : 1; }

static uint32_t find_shapes(const wf__split *s, wf__level *level)
{
    uint32_t n = 0;
    level[0].shape = s->space;
    for (int d = 0; d < s->space.rank; ++d)
        while (s->place[d] < 0 && level[n].shape.dim[d] != 1 && n + 1 < MOST_LEVELS) {
            level[n].axis = d;
            level[n + 1].shape = level[n].shape;
            level[n + 1].shape.dim[d] = joined_extent(level[n].shape.dim[d]);
            ++n;
        }
    return n + 1;
}

static bool make_arrays(const wf__split *s, wf__level *level, bool last)
{
    const uint32_t n = s->p->rec.ir.red_n;
    level->value = wf__alloc0(2 * (size_t)n * sizeof(wf_array *));
    if (!level->value)
        return wf__split_no_memory(s) == WF_OK;
    level->derivative = level->value + n;
    for (uint32_t k = 0; k < n; ++k) {
        const wf__reduced *red = &s->red[k];
        if (!is_custom(s, k))
            continue;
        level->value[k] =
            last ? wf_view_reshape(red->result, level->shape) : wf__split_array(s, red->dtype, &level->shape);
        if (red->real)
            level->derivative[k] =
                last ? wf_view_reshape(red->derivative, level->shape) : wf__split_array(s, red->dtype, &level->shape);
        if (!level->value[k] || (red->real && !level->derivative[k]))
            return false;
    }
    return true;
}

wf_array *wf__point_partial(const wf__split *s, uint32_t red) { return s->level[0].value[red]; }
wf_array *wf__point_derivative(const wf__split *s, uint32_t red) { return s->level[0].derivative[red]; }

/* ---- recordings ---- */
/* A kernel over the points of a level, each of which joins elements of the level below. */
typedef struct joining {
    const wf__split *s;
    const wf__level *from, *to;
    wf_graph *g;
    wf__ref *in;                    /* [reductions][FANOUT] partial results that are read */
    wf__ref *all;                   /* [reductions] joined; 0 = initial */
    wf__ref *out, *seed, *wrt, *of; /* lists of a task */
    uint32_t tuple[FANOUT];         /* indices of the elements of `from` */
    wf__ref inside[FANOUT];         /* where there is such an element; 0 = everywhere */
    uint32_t n;                     /* elements */
} joining;

/* Reads element i of those that are joined; where there is none, `other`, as bits. */
static wf__ref load(const joining *j, const wf_array *array, uint32_t i, uint64_t other)
{
    uint32_t slot;
    if (!wf__array_slot(j->g, array, false, false, j->s->d->function, &slot))
        return 0;
    wf__ir *ir = wf__graph_ir(j->g);
    if (!j->inside[i])
        return wf__load(ir, slot, j->tuple[i], WF_BORDER_NONE, 0);
    return wf__load(ir, slot, j->tuple[i], WF_BORDER_VALUE, wf__const_bits(ir, array->dtype, other));
}

static wf__ref load_own(const joining *j, const wf_array *array)
{
    uint32_t slot;
    if (!wf__array_slot(j->g, array, true, false, j->s->d->function, &slot))
        return 0;
    return wf__load(wf__graph_ir(j->g), slot, 0, WF_BORDER_NONE, 0);
}

/* Sets the indices of the elements that a point joins. */
static void find_elements(joining *j)
{
    wf__ir *ir = wf__graph_ir(j->g);
    const int axis = j->from->axis, rank = j->to->shape.rank;
    const int64_t extent = j->from->shape.dim[axis], apart = j->to->shape.dim[axis];
    wf__ref index[WF_MAX_RANK];
    for (int d = 0; d < rank; ++d)
        index[d] = wf__index(ir, d);
    const wf__ref own = index[axis];
    for (j->n = 0; j->n < FANOUT && j->n * apart < extent; ++j->n) {
        const int64_t start = j->n * apart;
        index[axis] = wf__op2(ir, WF__OP_add, own, wf__const_bits(ir, WF_I64, (uint64_t)start));
        j->tuple[j->n] = ir->status == WF_OK ? wf__tuple(ir, index, (uint32_t)rank) : 0;
        if (start + apart > extent)
            j->inside[j->n] = wf__op2(ir, WF__OP_lt, index[axis], wf__const_bits(ir, WF_I64, (uint64_t)extent));
    }
}

/* Records the join of what is joined so far and element i. */
static void record_join(joining *j, uint32_t i)
{
    const wf__split *s = j->s;
    const wf__ir *join = &s->p->rec.join;
    const uint32_t n = s->p->rec.ir.red_n;
    wf__again a = { .g = j->g, .in = join, .to = s->array, .function = s->d->function };
    wf__again_begin(&a);
    for (wf__ref r = 1; r < join->n && wf__is_recording(j->g); ++r) {
        const wf__node *of = &join->node[r];
        if (of->op == WF__ARG)
            a.map[r] = of->a < n ? j->all[of->a] : j->in[(of->a - n) * FANOUT + i];
        else if (of->op != WF__SETRED)
            wf__again_node(&a, r);
    }
    for (wf__ref r = 1; r < join->n && wf__is_recording(j->g); ++r) {
        const wf__node *of = &join->node[r];
        wf__ir *ir = wf__graph_ir(j->g);
        if (of->op != WF__SETRED)
            continue;
        wf__ref joined = a.map[of->c];
        if (j->inside[i])
            joined = wf__op3(ir, WF__OP_select, j->inside[i], joined, j->all[of->a]);
        j->all[of->a] = joined;
    }
    wf__again_end(&a);
}

static bool begin_joining(joining *j)
{
    const wf__split *s = j->s;
    const uint32_t n = s->p->rec.ir.red_n;
    j->g = wf__split_graph(s, &j->to->shape, 0);
    j->in = wf__alloc0((size_t)n * (3 * FANOUT + 3) * sizeof *j->in);
    if (!j->g || !j->in) {
        wf__poison(j->g, WF_ERR_MEMORY, "%s: out of memory", s->d->function);
        return false;
    }
    j->wrt = j->in + (size_t)n * FANOUT;
    j->of = j->wrt + (size_t)n * FANOUT;
    j->all = j->of + (size_t)n * FANOUT;
    j->out = j->all + n;
    j->seed = j->out + n;
    if (!wf__is_recording(j->g))
        return false;
    find_elements(j);
    for (uint32_t k = 0; k < n; ++k)
        for (uint32_t i = 0; is_custom(s, k) && i < j->n && wf__is_recording(j->g); ++i)
            j->in[k * FANOUT + i] = load(j, j->from->value[k], i, s->p->rec.initial[k]);
    for (uint32_t k = 0; k < n && wf__is_recording(j->g); ++k)
        if (is_custom(s, k))
            j->all[k] =
                j->n ? j->in[k * FANOUT] : wf__const_bits(wf__graph_ir(j->g), s->red[k].dtype, s->p->rec.initial[k]);
    for (uint32_t i = 1; i < j->n; ++i)
        record_join(j, i);
    return wf__is_recording(j->g);
}

static wf_status end_joining(joining *j)
{
    wf__free(j->in);
    return wf__run_recorded(j->g);
}

static wf_status join_values(const wf__split *s, uint32_t l)
{
    joining j = { .s = s, .from = &s->level[l], .to = &s->level[l + 1] };
    if (begin_joining(&j))
        for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k)
            if (is_custom(s, k))
                wf__store_to_array(j.g, s->d->function, j.to->value[k], 0, j.all[k], 0);
    return end_joining(&j);
}

/* Reverse mode: from the derivatives of level l + 1 to those of level l. */
static void record_back(joining *j)
{
    const wf__split *s = j->s;
    wf__ir *ir = wf__graph_ir(j->g);
    wf__ad_task task = { .function = s->d->function, .out = j->out, .wrt = j->wrt, .seed = j->seed };
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k) {
        if (!is_custom(s, k) || !s->red[k].real)
            continue;
        j->out[task.outs] = j->all[k];
        j->seed[task.outs++] = load_own(j, j->to->derivative[k]);
        for (uint32_t i = 0; i < j->n; ++i)
            j->wrt[task.wrts++] = j->in[k * FANOUT + i];
    }
    if (!wf__is_recording(j->g) || !wf__ad_reverse(ir, &task, j->of))
        return;
    uint32_t next = 0;
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k)
        for (uint32_t i = 0; is_custom(s, k) && s->red[k].real && i < j->n; ++i)
            wf__store_to_array(j->g, s->d->function, j->from->derivative[k], j->tuple[i], j->of[next++], j->inside[i]);
}

/* Forward mode: from the derivatives of level l to those of level l + 1. */
static void record_on(joining *j)
{
    const wf__split *s = j->s;
    wf__ir *ir = wf__graph_ir(j->g);
    wf__ad_task task = { .function = s->d->function, .out = j->out, .wrt = j->wrt, .seed = j->of };
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k) {
        if (!is_custom(s, k) || !s->red[k].real)
            continue;
        j->out[task.outs++] = j->all[k];
        for (uint32_t i = 0; i < j->n; ++i) {
            j->of[task.wrts] = load(j, j->from->derivative[k], i, 0);
            j->wrt[task.wrts++] = j->in[k * FANOUT + i];
        }
    }
    if (!wf__is_recording(j->g) || !wf__ad_forward(ir, &task, j->seed))
        return;
    uint32_t next = 0;
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k)
        if (is_custom(s, k) && s->red[k].real)
            wf__store_to_array(j->g, s->d->function, j->to->derivative[k], 0, j->seed[next++], 0);
}

wf_status wf__derive_levels(const wf__split *s)
{
    wf_status status = WF_OK;
    for (uint32_t step = 1; step < s->level_n && status == WF_OK; ++step) {
        const uint32_t l = s->d->reverse ? s->level_n - 1 - step : step - 1;
        joining j = { .s = s, .from = &s->level[l], .to = &s->level[l + 1] };
        if (begin_joining(&j))
            (s->d->reverse ? record_back : record_on)(&j);
        status = end_joining(&j);
    }
    return status;
}

/* ---- level 0 ---- */
void wf__store_partials(const wf__split *s, wf__again *a)
{
    for (uint32_t k = 0; s->level && k < s->p->rec.ir.red_n && wf__is_recording(a->g); ++k) {
        const wf__reduced *red = &s->red[k];
        if (!is_custom(s, k))
            continue;
        wf__ref partial =
            red->partial ? a->map[red->partial] : wf__const_bits(wf__graph_ir(a->g), red->dtype, s->p->rec.initial[k]);
        wf__store_to_array(a->g, s->d->function, s->level[0].value[k], 0, partial, 0);
    }
}

static wf_status find_partials(const wf__split *s)
{
    wf_graph *g = wf__split_graph(s, &s->space, 0);
    wf__again a = { .g = g, .in = &s->call, .to = s->array, .function = s->d->function };
    wf__record_points(s, &a, false);
    wf__store_partials(s, &a);
    wf__again_end(&a);
    return wf__run_recorded(g);
}

wf_status wf__levels_begin(wf__split *s)
{
    bool any = false;
    for (uint32_t k = 0; k < s->p->rec.ir.red_n; ++k)
        any = any || is_custom(s, k);
    if (!any)
        return WF_OK;
    s->level = wf__alloc0(MOST_LEVELS * sizeof *s->level);
    if (!s->level)
        return wf__split_no_memory(s);
    s->level_n = find_shapes(s, s->level);
    for (uint32_t l = 0; l < s->level_n; ++l)
        if (!make_arrays(s, &s->level[l], l + 1 == s->level_n))
            return wf_last_status(s->ctx);
    wf_status status = find_partials(s);
    for (uint32_t l = 0; l + 1 < s->level_n && status == WF_OK; ++l)
        status = join_values(s, l);
    return status;
}

void wf__levels_end(wf__split *s)
{
    for (uint32_t l = 0; l < s->level_n; ++l)
        for (uint32_t k = 0; s->level[l].value && k < s->p->rec.ir.red_n; ++k) {
            wf_release(s->level[l].value[k]);
            wf_release(s->level[l].derivative[k]);
        }
    for (uint32_t l = 0; l < s->level_n; ++l)
        wf__free(s->level[l].value);
    wf__free(s->level);
}
