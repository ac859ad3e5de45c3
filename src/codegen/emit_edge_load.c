/* emit_edge_load.c - loads of BORDER along a row, with a border mode that maps indices.
 *
 * The lanes inside the array, those before the row and those behind it are loaded by a masked load each: their elements
 * are runs in memory, or one element. This holds where no lane is further than the length of the row beyond an end.
 * Where the index is the lane index plus a constant, this is tested once for the row. The masks are made once for each
 * vector and constant, so that a stencil's loads have no branches. If the test fails, as where a small array is read
 * periodically, the index of lane 0 is shifted by periods of the border mode, and a vector has no more active lanes
 * than the array has elements along the row.
 *
 * With every mode but WF_BORDER_PERIODIC, the elements of all lanes are neighbours of each other: they lie in one vector.
 * Where the processor permutes lanes, that vector is loaded and permuted, in two instructions. Its place, its mask and
 * the permutation are made once for each vector of points and constant, too.
 *
 * Other loads test each vector. If all lanes are inside, a plain masked load suffices. Otherwise a function loads the
 * three parts, or maps each lane's index. There is one function per dtype and border mode.
 */
#include "codegen/emit.h"

/* What the edge function gets. */
typedef struct edge {
    unsigned dtype, border;
    val row, base, dim; /* address of the row, index of lane 0, length of the row */
    val count, other;   /* number of active lanes; the value of the others */
    val dummy;
} edge;

static val lanes_between(wf__gen *g, val first, val end)
{
    val below = wf__lanes_below(g, first), no = wf__gen_int(g, g->i1, g->width, 0);
    return g_select(g, below, no, wf__lanes_below(g, end));
}

/* Loads neighbours, of which `first` is the index of lane 0, into the lanes of the mask. */
static val load_run(wf__gen *g, const edge *e, wf__lane_pattern pattern, val first, val mask, val other)
{
    wf__address at = { .pattern = pattern, .base = g_gep(g, wf__gen_memory_type(g, e->dtype, 1), e->row, first) };
    return wf__load_vector(g, e->dtype, &at, mask, other, e->dummy);
}

/* Loads one element into the lanes of the mask. any: whether there are such lanes. Without them the element may not be in
 * memory: a rank holds a part of a row. */
static val repeat_element(wf__gen *g, const edge *e, val index, val any, val mask, val other)
{
    LLVMTypeRef element = wf__gen_memory_type(g, e->dtype, 1);
    val v = g_load(g, element, g_select(g, any, g_gep(g, element, e->row, index), e->dummy));
    g->L->SetAlignment(v, wf__align(e->dtype));
    return g_select(g, mask, wf__gen_splat(g, v, g->width), other);
}

/* True if the elements of the lanes before the row, and of those behind it, lie in a run of neighbours: no lane is further
 * than the length of the row beyond one of its ends. If all lanes beyond an end have the same element, any index will do
 * that does not wrap. */
static val is_near(wf__gen *g, const edge *e)
{
    const int64_t far = INT64_C(1) << 60;
    bool clamps = e->border == WF_BORDER_CLAMP;
    val low = clamps ? g_i64(g, -far) : g_sub(g, g_i64(g, 0), e->dim);
    val high = clamps ? g_i64(g, far) : g_sub(g, g_add(g, e->dim, e->dim), g_i64(g, g->width));
    val some = g_icmp(g, LLVMIntSGT, e->dim, g_i64(g, 0));
    return g_and(g, some, g_and(g, g_icmp(g, LLVMIntSGT, e->base, low), g_icmp(g, LLVMIntSLT, e->base, high)));
}

static val among(wf__gen *g, val lane, val count) { return g_smaller(g, g_larger(g, lane, g_i64(g, 0)), count); }

/* Splits the active lanes, of which lane 0 has index `base`, into those before a row of `dim` elements, inside and behind. */
static void split_lanes(wf__gen *g, wf__edge_run *r, val dim)
{
    r->first = among(g, g_sub(g, g_i64(g, 0), r->base), r->count);
    r->end = among(g, g_sub(g, dim, r->base), r->count);
    r->before = wf__lanes_below(g, r->first);
    r->inside = lanes_between(g, r->first, r->end);
    r->behind = lanes_between(g, r->end, r->count);
    r->some_before = g_icmp(g, LLVMIntSGT, r->first, g_i64(g, 0));
    r->some_behind = g_icmp(g, LLVMIntSLT, r->end, r->count);
}

/* True if the elements of all lanes lie in one vector, which one instruction permutes. */
static bool has_window(const wf__gen *g, unsigned dtype, unsigned border)
{
    return border != WF_BORDER_PERIODIC && wf__has_permutation(g, dtype);
}

/* The element of an index i before the row, and of one behind it, with the modes that turn round at its ends. The element
 * at an end is repeated with one of them. */
static val mirrored_before(wf__gen *g, unsigned border, val i)
{
    return g_sub(g, g_i64(g, border == WF_BORDER_REFLECT ? 0 : -1), i);
}

static val mirrored_behind(wf__gen *g, unsigned border, val i, val dim)
{
    return g_sub(g, g_sub(g, g_add(g, dim, dim), g_i64(g, border == WF_BORDER_REFLECT ? 2 : 1)), i);
}

/* The element that the border mode finds for index i, which is at most the length of the row beyond an end. */
static val near_element(wf__gen *g, unsigned border, val i, val dim)
{
    const val last = g_sub(g, dim, g_i64(g, 1)), zero = g_i64(g, 0);
    if (border == WF_BORDER_CLAMP)
        return g_smaller(g, g_larger(g, i, zero), last);
    const val near = g_select(g, g_icmp(g, LLVMIntSGT, i, last), mirrored_behind(g, border, i, dim), i);
    const val before = mirrored_before(g, border, i);
    return g_select(g, g_icmp(g, LLVMIntSLT, i, zero), before, near);
}

/* Which element of the window each lane gets. low, high: the indices of the first and the last element of the window. */
static val lanes_of_window(wf__gen *g, const wf__edge_run *r, val dim, val low, val high)
{
    const val lane = wf__gen_iota(g, g->i32, g->width, 0, 1);
    if (r->border == WF_BORDER_CLAMP) {
        const val width = g_i64(g, g->width), shift = g_sub(g, r->base, low);
        const val near = g_smaller(g, g_larger(g, shift, g_i64(g, -g->width)), width);
        val at = g_add(g, lane, wf__gen_splat(g, g->L->BuildTrunc(g->b, near, g->i32, ""), g->width));
        val most = wf__gen_splat(g, g->L->BuildTrunc(g->b, g_sub(g, high, low), g->i32, ""), g->width);
        return g_smaller(g, g_larger(g, at, wf__gen_int(g, g->i32, g->width, 0)), most);
    }
    val at[3]; /* of lane 0, were it inside, before or behind the row */
    at[0] = r->base;
    at[1] = mirrored_before(g, r->border, r->base);
    at[2] = mirrored_behind(g, r->border, r->base, dim);
    for (int i = 0; i < 3; i++) {
        at[i] = wf__gen_splat(g, g->L->BuildTrunc(g->b, g_sub(g, at[i], low), g->i32, ""), g->width);
        at[i] = i == 0 ? g_add(g, at[i], lane) : g_sub(g, at[i], lane);
    }
    return g_select(g, r->before, at[1], g_select(g, r->behind, at[2], at[0]));
}

/* Finds the vector of memory that has the elements of all active lanes, and which of its elements each lane gets. */
static void find_window(wf__gen *g, wf__edge_run *r, unsigned dtype, val dim)
{
    const val zero = g_i64(g, 0), one = g_i64(g, 1), last = g_sub(g, dim, one);
    const val b = r->base, e = g_sub(g, g_add(g, b, r->count), one); /* the indices of the first and the last lane */
    val low = near_element(g, r->border, b, dim), high = near_element(g, r->border, e, dim);
    if (r->border != WF_BORDER_CLAMP) { /* indices turn round at the ends of the row */
        const val from_left = g_and(g, g_icmp(g, LLVMIntSLE, b, zero), g_icmp(g, LLVMIntSGE, e, zero));
        const val to_right = g_and(g, g_icmp(g, LLVMIntSLE, b, last), g_icmp(g, LLVMIntSGE, e, last));
        const val least = g_smaller(g, low, high), most = g_larger(g, low, high);
        low = g_select(g, from_left, zero, least);
        high = g_select(g, to_right, last, most);
    }
    const val some = g_icmp(g, LLVMIntSGT, r->count, zero);
    r->window = low;
    r->loaded = wf__lanes_below(g, g_select(g, some, g_add(g, g_sub(g, high, low), one), zero));
    r->permutation = wf__permutation(g, dtype, lanes_of_window(g, r, dim, low, high));
}

_Static_assert(WF__BORDERS == 6, "how each border mode maps the indices before and behind a row");
/* The elements inside, those before the row and those behind it: each is a run in memory, or one element for all lanes. */
static val load_runs(wf__gen *g, const edge *e, const wf__edge_run *r)
{
    /* indices of lanes are not negative, and stay so where they are shifted by whole rows */
    const bool any_before = r->constant < 0 || e->border == WF_BORDER_MIRROR || e->border == WF_BORDER_REFLECT;
    if (r->window)
        return wf__permute_lanes(g, e->dtype, load_run(g, e, WF__ASCENDING, r->window, r->loaded, e->other),
                                 r->permutation);
    val v = load_run(g, e, WF__ASCENDING, e->base, r->inside, e->other);
    if (e->border == WF_BORDER_CLAMP) {
        if (any_before)
            v = repeat_element(g, e, g_i64(g, 0), r->some_before, r->before, v);
        return repeat_element(g, e, g_sub(g, e->dim, g_i64(g, 1)), r->some_behind, r->behind, v);
    }
    if (e->border == WF_BORDER_PERIODIC) {
        if (any_before)
            v = load_run(g, e, WF__ASCENDING, g_add(g, e->base, e->dim), r->before, v);
        return load_run(g, e, WF__ASCENDING, g_sub(g, e->base, e->dim), r->behind, v);
    }
    if (any_before)
        v = load_run(g, e, WF__DESCENDING, mirrored_before(g, e->border, e->base), r->before, v);
    return load_run(g, e, WF__DESCENDING, mirrored_behind(g, e->border, e->base, e->dim), r->behind, v);
}

static val load_scattered(wf__gen *g, const edge *e)
{
    val index = g_add(g, wf__gen_splat(g, e->base, g->width), wf__gen_iota(g, g->i64, g->width, 0, 1));
    wf__address at = { .pattern = WF__SCATTERED, .base = e->row, .scaled = true };
    at.offset = wf__map_index(g, e->border, index, e->dim, g->width);
    return wf__load_vector(g, e->dtype, &at, wf__lanes_below(g, e->count), e->other, e->dummy);
}

/* Makes the function vector edge(row, index of lane 0, dim, number of active lanes, value outside). */
static val make_edge_function(wf__gen *g, unsigned dtype, unsigned border)
{
    LLVMTypeRef vector = wf__gen_memory_type(g, dtype, g->width);
    LLVMTypeRef params[5] = { g->ptr, g->i64, g->i64, g->i64, vector };
    bb back = g->L->GetInsertBlock(g->b);
    val around = g->function, f = wf__gen_function(g, "edge", vector, params, 5, true);
    g->function = f;
    wf__gen_at(g, wf__gen_bb(g, "edge"));
    const edge e = { .dtype = dtype,
                     .border = border,
                     .row = g->L->GetParam(f, 0),
                     .base = g->L->GetParam(f, 1),
                     .dim = g->L->GetParam(f, 2),
                     .count = g->L->GetParam(f, 3),
                     .other = g->L->GetParam(f, 4),
                     .dummy = g->L->BuildAlloca(g->b, g->L->ArrayType(g->i64, 2), "") };
    if (wf__has_masked(g, dtype)) {
        bb near = wf__gen_bb(g, "near"), far = wf__gen_bb(g, "far");
        wf__gen_unlikely(g, g->L->BuildCondBr(g->b, g_xor(g, is_near(g, &e), wf__gen_int(g, g->i1, 1, 1)), far, near));
        wf__gen_at(g, near);
        wf__edge_run r = { .constant = -1, .base = e.base, .count = e.count };
        split_lanes(g, &r, e.dim);
        g->L->BuildRet(g->b, load_runs(g, &e, &r));
        wf__gen_at(g, far);
    }
    g->L->BuildRet(g->b, load_scattered(g, &e));
    g->function = around;
    wf__gen_at(g, back);
    return f;
}

/* The index that ascends with the lanes by 1, if all others are uniform; else -1. */
static int lane_axis(const wf__instance *in, const wf__node *n)
{
    int axis = -1;
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, n->b); k++) {
        const wf__vary *v = &in->vary[wf__tuple_at(in->ir, n->b)[k]];
        if (v->kind == WF__UNIFORM)
            continue;
        if (axis >= 0 || v->kind != WF__AFFINE || v->coef != 1 || in->ir->slot[n->a].step[k] != WF__STEP_UNIT)
            return -1;
        axis = (int)k;
    }
    return axis;
}

/* True if all active lanes are inside. */
static val is_inside(wf__instance *in, val base, val dim)
{
    wf__gen *g = in->g;
    val r = wf__find_cached(in, WF__CACHED_INSIDE, base, dim, NULL);
    if (r)
        return r;
    val last = g_sub(g, dim, in->lanes.count);
    r = g_and(g, g_icmp(g, LLVMIntSGE, base, g_i64(g, 0)), g_icmp(g, LLVMIntSLE, base, last));
    return wf__cache_value(in, WF__CACHED_INSIDE, base, dim, NULL, r);
}

static val emit_either(wf__instance *in, const wf__node *n, val row, val base, val dim, val exists)
{
    wf__gen *g = in->g;
    val *function = &g->edge[n->dtype][n->aux], other = wf__load_outside(in, n);
    val count = g_select(g, exists, in->lanes.count, g_i64(g, 0)), inside = is_inside(in, base, dim);
    if (!*function)
        *function = make_edge_function(g, n->dtype, n->aux);
    val dummy = wf__get_dummy(in->kernel);
    bb rare = wf__gen_bb(g, "edge"), plain = wf__gen_bb(g, "inside"), next = wf__gen_bb(g, "next");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, g_xor(g, inside, wf__gen_int(g, g->i1, 1, 1)), rare, plain));
    wf__gen_at(g, rare);
    val args[5] = { row, base, dim, count, other };
    val a = g->L->BuildCall2(g->b, g->L->GlobalGetValueType(*function), *function, args, 5, "");
    g->L->SetInstructionCallConv(a, LLVMFastCallConv);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, plain);
    wf__address at = { .pattern = WF__ASCENDING, .base = g_gep(g, wf__gen_memory_type(g, n->dtype, 1), row, base) };
    val b = wf__load_vector(g, n->dtype, &at, wf__lanes_below(g, count), other, dummy);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, next);
    val r = g->L->BuildPhi(g->b, g->L->TypeOf(a), "");
    g->L->AddIncoming(r, (val[]){ a, b }, (bb[]){ rare, plain }, 2);
    return r;
}

/* Maps a uniform index, once per row if it is known there. */
static val map_uniform_index(wf__instance *in, const wf__node *n, wf__ref r, val dim)
{
    wf__gen *g = in->g;
    val i = wf__get_scalar(in, r), kept = wf__find_cached(in, WF__CACHED_MAPPED + n->aux, i, dim, NULL);
    if (kept)
        return kept;
    bb back = g->L->GetInsertBlock(g->b);
    if (in->level[r] < in->kernel->rank)
        wf__gen_at(g, in->row);
    kept = wf__map_index(g, n->aux, i, dim, 1);
    wf__gen_at(g, back);
    return wf__cache_value(in, WF__CACHED_MAPPED + n->aux, i, dim, NULL, kept);
}

/* ---- loads without a test for each vector ---- */

/* The axis of the slot along the row if the load is one of BORDER with a mode that maps indices; else -1. */
static int edge_axis(const wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    const bool mapped = in->kind == WF__BORDER && n->op == WF__LOAD && n->aux > WF_BORDER_VALUE && !n->when;
    return mapped && in->vary[r].kind == WF__VARYING ? lane_axis(in, n) : -1;
}

/* Returns the lanes of this load's row, or NULL. add: makes them, unless there are too many. */
static wf__edge_run *find_run(wf__instance *in, const wf__node *n, int axis, bool add)
{
    enum { FAR_OFF = 1 << 30 }; /* of constants: their sums with indices and extents do not wrap */
    int64_t coef, constant;
    if (!wf__match_lane_index(in, wf__tuple_at(in->ir, n->b)[axis], &coef, &constant) || coef != 1 ||
        constant <= -FAR_OFF || constant >= FAR_OFF)
        return NULL;
    for (uint32_t i = 0; i < in->edges.n; i++) {
        wf__edge_run *r = &in->edges.run[i];
        if (r->slot == n->a && r->axis == axis && r->border == n->aux && r->constant == constant)
            return r;
    }
    if (!add || in->edges.n == WF__MOST_EDGE_RUNS)
        return NULL;
    wf__edge_run *r = &in->edges.run[in->edges.n++];
    *r = (wf__edge_run){
        .slot = n->a, .axis = axis, .rank = (int)wf__tuple_len(in->ir, n->b), .border = n->aux, .constant = constant
    };
    return r;
}

val wf__find_edge_runs(wf__instance *in, val lo, val hi, val *step)
{
    wf__gen *g = in->g;
    val near = NULL, width = g_i64(g, g->width), least = width;
    in->edges.n = 0;
    for (uint32_t i = 0; i < in->order_n && !in->kernel->body->red_n; i++) {
        int axis = edge_axis(in, in->order[i]);
        if (axis >= 0 && wf__has_masked(g, wf__at(in->ir, in->order[i])->dtype))
            find_run(in, wf__at(in->ir, in->order[i]), axis, true);
    }
    for (uint32_t i = 0; i < in->edges.n; i++) {
        const wf__edge_run *r = &in->edges.run[i];
        if (r->border == WF_BORDER_CLAMP) /* all lanes beyond an end have the same element */
            continue;
        val dim = wf__load_dim(in->kernel, r->slot, r->axis), skip = g_i64(g, r->border == WF_BORDER_REFLECT);
        val furthest = g_sub(g, dim, skip), c = g_i64(g, r->constant);
        val low = g_icmp(g, LLVMIntSGE, g_add(g, g_add(g, lo, c), furthest), g_i64(g, 0));
        val high = g_icmp(g, LLVMIntSLE, g_add(g, hi, c), g_add(g, dim, furthest));
        val both = g_and(g, low, high);
        near = near ? g_and(g, near, both) : both;
        least = g_smaller(g, least, dim);
    }
    *step = near ? g_select(g, near, width, g_larger(g, least, g_i64(g, 1))) : width;
    return near;
}

void wf__place_edge_runs(wf__instance *in, val near)
{
    wf__gen *g = in->g;
    val shifted[WF__MOST_EDGE_RUNS], lane = in->index[in->kernel->rank - 1];
    for (uint32_t i = 0; i < in->edges.n; i++)
        in->edges.run[i].base = g_add(g, lane, g_i64(g, in->edges.run[i].constant));
    if (!near)
        return;
    bb from = g->L->GetInsertBlock(g->b), far = wf__gen_bb(g, "far"), next = wf__gen_bb(g, "near");
    wf__gen_unlikely(g, g->L->BuildCondBr(g->b, g_xor(g, near, wf__gen_int(g, g->i1, 1, 1)), far, next));
    wf__gen_at(g, far);
    for (uint32_t i = 0; i < in->edges.n; i++) {
        const wf__edge_run *r = &in->edges.run[i];
        shifted[i] = wf__shift_index(g, r->border, r->base, wf__load_dim(in->kernel, r->slot, r->axis));
    }
    bb end = g->L->GetInsertBlock(g->b);
    g->L->BuildBr(g->b, next);
    wf__gen_at(g, next);
    for (uint32_t i = 0; i < in->edges.n; i++) {
        wf__edge_run *r = &in->edges.run[i];
        val base = g->L->BuildPhi(g->b, g->i64, "base");
        g->L->AddIncoming(base, (val[]){ r->base, shifted[i] }, (bb[]){ from, end }, 2);
        r->base = base;
    }
    in->inner = next;
}

/* True if the array has elements. */
static val has_elements(wf__instance *in, uint32_t slot, int rank)
{
    wf__gen *g = in->g;
    val exists = NULL;
    for (int k = 0; k < rank; k++) {
        val some = g_icmp(g, LLVMIntSGT, wf__load_dim(in->kernel, slot, k), g_i64(g, 0));
        exists = exists ? g_and(g, exists, some) : some;
    }
    return exists;
}

void wf__mask_edge_runs(wf__instance *in)
{
    wf__gen *g = in->g;
    for (uint32_t i = 0; i < in->edges.n; i++) {
        wf__edge_run *r = &in->edges.run[i];
        val exists = has_elements(in, r->slot, r->rank);
        r->count = g_select(g, exists, in->lanes.count, g_i64(g, 0));
        const val dim = wf__load_dim(in->kernel, r->slot, r->axis);
        const unsigned dtype = in->ir->slot[r->slot].dtype;
        split_lanes(g, r, dim);
        r->window = NULL;
        if (has_window(g, dtype, r->border))
            find_window(g, r, dtype, dim);
    }
}

bool wf__emit_edge_load(wf__instance *in, wf__ref r)
{
    wf__gen *g = in->g;
    const wf__node *n = wf__at(in->ir, r);
    int axis = edge_axis(in, r);
    if (axis < 0)
        return false;
    val mapped[WF_MAX_RANK];
    bool wide[WF_MAX_RANK] = { false };
    for (uint32_t k = 0; k < wf__tuple_len(in->ir, n->b); k++) {
        mapped[k] = g_i64(g, 0);
        if ((int)k != axis)
            mapped[k] = map_uniform_index(in, n, wf__tuple_at(in->ir, n->b)[k], wf__load_dim(in->kernel, n->a, (int)k));
    }
    const wf__edge_run *run = find_run(in, n, axis, false);
    val dim = wf__load_dim(in->kernel, n->a, axis);
    val base = run ? run->base : wf__get_scalar(in, wf__tuple_at(in->ir, n->b)[axis]);
    wf__address row = wf__make_address(in, n->a, n->b, mapped, wide);
    if (run) {
        const edge e = { .dtype = n->dtype,
                         .border = n->aux,
                         .row = row.base,
                         .base = base,
                         .dim = dim,
                         .count = run->count,
                         .other = wf__load_outside(in, n),
                         .dummy = wf__get_dummy(in->kernel) };
        in->vector[r] = load_runs(g, &e, run);
    } else
        in->vector[r] =
            emit_either(in, n, row.base, base, dim, has_elements(in, n->a, (int)wf__tuple_len(in->ir, n->b)));
    return true;
}
