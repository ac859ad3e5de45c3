/* emit_reduce.c - the accumulators of reductions, in exactly the order of plan/kernel.h: lane j of a row joins virtual
 * accumulator j % WF__LANES.
 *
 * Instance i of a reduction is the vector of virtual accumulators i*w .. i*w + w-1. INTERIOR keeps all instances in
 * registers; BORDER loads the instance of its lanes from the stack. If axes are kept, each point of them begins with
 * neutral elements and ends by storing its results. If the lane axis is kept, lanes are not joined: the results in
 * memory are the accumulators, and instance i is the vector of column i.
 */
#include "codegen/emit.h"

static val accumulator_address(wf__kernel_emitter *kernel, uint32_t red, val instance)
{
    return g_gep(kernel->g, wf__gen_memory_type(kernel->g, kernel->body->red[red].dtype, kernel->g->width),
                 kernel->accumulator[red], instance);
}

static val load_accumulator(wf__kernel_emitter *kernel, uint32_t red, val instance)
{
    unsigned dtype = kernel->body->red[red].dtype;
    return wf__from_memory(kernel->g, dtype, kernel->g->width,
                           g_load(kernel->g, wf__gen_memory_type(kernel->g, dtype, kernel->g->width),
                                  accumulator_address(kernel, red, instance)));
}

static void store_accumulator(wf__kernel_emitter *kernel, uint32_t red, val instance, val v)
{
    kernel->g->L->BuildStore(kernel->g->b, wf__to_memory(kernel->g, kernel->body->red[red].dtype, kernel->g->width, v),
                             accumulator_address(kernel, red, instance));
}

bool wf__make_accumulators(wf__kernel_emitter *kernel)
{
    wf__gen *g = kernel->g;
    if (!kernel->body->red_n)
        return true;
    kernel->accumulator = wf__alloc0(kernel->body->red_n * sizeof *kernel->accumulator);
    kernel->result = wf__alloc0(kernel->body->red_n * sizeof *kernel->result);
    if (!kernel->accumulator || !kernel->result)
        return false;
    for (uint32_t i = 0; i < kernel->body->red_n; i++) {
        LLVMTypeRef type =
            g->L->ArrayType(wf__gen_memory_type(g, kernel->body->red[i].dtype, g->width), (unsigned)kernel->instances);
        if (!kernel->body->kept_lane)
            kernel->accumulator[i] = g->L->BuildAlloca(g->b, type, "accumulator");
        if (kernel->body->kept || kernel->body->kept_lane)
            kernel->result[i] = g_load(g, g->ptr, g_gep(g, g->i64, kernel->acc, g_i64(g, i)));
    }
    return true;
}

void wf__clear_accumulators(wf__kernel_emitter *kernel)
{
    wf__gen *g = kernel->g;
    for (uint32_t i = 0; i < kernel->body->red_n; i++) {
        const wf__reduction *red = &kernel->body->red[i];
        val neutral = wf__gen_const(g, red->dtype, g->width, wf__red_start(red));
        for (int k = 0; k < kernel->instances; k++)
            store_accumulator(kernel, i, g_i64(g, k), neutral);
    }
}

/* ---- results in memory ---- */
/* The number, in C order, of a point of the kept axes without the lane axis. */
static val point_number(wf__kernel_emitter *kernel, const val *index)
{
    val at = NULL;
    for (int d = 0; d < kernel->body->kept; d++)
        at = at ? g_add(kernel->g, g_mul(kernel->g, at, wf__load_extent(kernel, d)), index[d]) : index[d];
    return at;
}

static val result_address(wf__kernel_emitter *kernel, uint32_t red, val at)
{
    return at ? g_gep(kernel->g, wf__gen_memory_type(kernel->g, kernel->body->red[red].dtype, 1), kernel->result[red],
                      at)
              : kernel->result[red];
}

void wf__locate_results(wf__instance *in)
{
    wf__kernel_emitter *kernel = in->kernel;
    if (!wf__keeps_lane(kernel))
        return;
    val at = point_number(kernel, in->index);
    if (at)
        at = g_mul(kernel->g, at, wf__load_extent(kernel, kernel->rank - 1));
    for (uint32_t i = 0; i < kernel->body->red_n; i++)
        in->red.row[i] = result_address(kernel, i, at);
}

/* Returns the address of the results of the vector `column` steps after the current one. */
static wf__address lane_results_address(wf__instance *in, uint32_t red, uint32_t column)
{
    wf__gen *g = in->g;
    LLVMTypeRef element = wf__gen_memory_type(g, in->kernel->body->red[red].dtype, 1);
    val p = g_gep(g, element, in->red.row[red], in->index[in->kernel->rank - 1]);
    return (wf__address){ .pattern = WF__ASCENDING,
                          .base = column ? g_gep(g, element, p, g_i64(g, (int64_t)column * g->width)) : p };
}

static val load_lane_results(wf__instance *in, uint32_t red, uint32_t column)
{
    wf__gen *g = in->g;
    unsigned dtype = in->kernel->body->red[red].dtype;
    wf__address at = lane_results_address(in, red, column);
    val mask = in->kind == WF__BORDER ? in->lanes.mask : NULL;
    val other = mask ? wf__gen_const(g, dtype == WF_BOOL ? WF_U8 : dtype, g->width, 0) : NULL;
    val v = wf__load_vector(g, dtype, &at, mask, other, mask ? wf__get_dummy(in->kernel) : NULL);
    return wf__from_memory(g, dtype, g->width, v);
}

static void store_lane_results(wf__instance *in, uint32_t red, uint32_t column, val v)
{
    unsigned dtype = in->kernel->body->red[red].dtype;
    wf__address at = lane_results_address(in, red, column);
    wf__store_vector(in, dtype, &at, in->kind == WF__BORDER ? in->lanes.mask : NULL,
                     wf__to_memory(in->g, dtype, in->g->width, v));
}

/* ---- INTERIOR's inner loop ---- */
void wf__enter_loop_accumulators(wf__instance *in, bb before, bb loop)
{
    wf__gen *g = in->g;
    if (wf__keeps_lane(in->kernel))
        return;
    for (uint32_t i = 0; i < in->ir->red_n; i++)
        for (int k = 0; k < in->kernel->instances; k++) {
            uint32_t at = i * (uint32_t)in->kernel->instances + (uint32_t)k;
            wf__gen_at(g, before);
            val first = load_accumulator(in->kernel, i, g_i64(g, k));
            wf__gen_at(g, loop);
            in->red.phi[at] = in->red.current[at] = g->L->BuildPhi(g->b, g->L->TypeOf(first), "");
            g->L->AddIncoming(in->red.phi[at], &first, &before, 1);
        }
}

void wf__close_loop_accumulators(wf__instance *in, bb latch)
{
    for (uint32_t at = 0; at < in->ir->red_n * (uint32_t)in->kernel->instances; at++)
        if (!wf__keeps_lane(in->kernel))
            in->g->L->AddIncoming(in->red.phi[at], &in->red.current[at], &latch, 1);
        else if (in->red.current[at])
            store_lane_results(in, at / (uint32_t)in->kernel->instances, at % (uint32_t)in->kernel->instances,
                               in->red.current[at]);
}

void wf__leave_loop_accumulators(wf__instance *in)
{
    if (wf__keeps_lane(in->kernel))
        return;
    for (uint32_t i = 0; i < in->ir->red_n; i++)
        for (int k = 0; k < in->kernel->instances; k++)
            store_accumulator(in->kernel, i, g_i64(in->g, k),
                              in->red.current[i * (uint32_t)in->kernel->instances + (uint32_t)k]);
}

/* BORDER: the instance of the current lanes. */
static val current_instance(wf__instance *in)
{
    wf__gen *g = in->g;
    val j = in->index[in->kernel->rank - 1];
    int shift = 0;
    while (1 << shift < g->width)
        shift++;
    return g_and(g, g->L->BuildLShr(g->b, j, g_i64(g, shift), ""), g_i64(g, in->kernel->instances - 1));
}

void wf__emit_red(wf__instance *in, wf__ref r)
{
    const wf__node *n = wf__at(in->ir, r);
    if (wf__keeps_lane(in->kernel))
        in->vector[r] = load_lane_results(in, n->a, n->b);
    else if (in->kind == WF__BORDER)
        in->vector[r] = load_accumulator(in->kernel, n->a, current_instance(in));
    else
        in->vector[r] = in->red.current[n->a * (uint32_t)in->kernel->instances + n->b];
}

void wf__emit_setred(wf__instance *in, const wf__node *n)
{
    val v = wf__get_vector(in, n->c);
    if (in->kind != WF__BORDER) {
        in->red.current[n->a * (uint32_t)in->kernel->instances + n->b] = v;
        return;
    }
    if (wf__keeps_lane(in->kernel)) {
        store_lane_results(in, n->a, 0, v);
        return;
    }
    val instance = current_instance(in), old = load_accumulator(in->kernel, n->a, instance);
    store_accumulator(in->kernel, n->a, instance, g_select(in->g, in->lanes.mask, v, old));
}

/* a[k] = join(a[k], b[k]) for every reduction k. value: room for the nodes of the custom join and its arguments. */
static void join_reductions(wf__kernel_emitter *kernel, int w, val *a, const val *b, val *value)
{
    wf__gen *g = kernel->g;
    const wf__ir *body = kernel->body, *joiner = body->joiner;
    val *arg = value + (joiner ? joiner->n : 0);
    for (uint32_t k = 0; k < body->red_n; k++) {
        const wf__reduction *red = &body->red[k];
        arg[k] = a[k];
        arg[body->red_n + k] = b[k];
        if (red->join != WF_JOIN_CUSTOM)
            a[k] = wf__gen_op(g, wf__join_op((wf_join)red->join), red->dtype, w, (val[3]){ a[k], b[k], NULL }, NULL);
    }
    if (!joiner)
        return;
    wf__gen_pure_nodes(g, joiner, arg, w, value);
    for (uint32_t i = 1; i < joiner->n; i++)
        if (joiner->node[i].op == WF__SETRED)
            a[joiner->node[i].a] = value[joiner->node[i].c];
}

/* Joins the lanes of every reduction pairwise, to scalars in v[0 .. red_n-1]. v has room for all instances. */
static void join_lanes(wf__kernel_emitter *kernel, val *v, val *value)
{
    wf__gen *g = kernel->g;
    uint32_t n = kernel->body->red_n;
    for (int k = 0; k < kernel->instances; k++)
        for (uint32_t i = 0; i < n; i++)
            v[(uint32_t)k * n + i] = load_accumulator(kernel, i, g_i64(g, k));
    for (int s = kernel->instances / 2; s; s /= 2)
        for (int k = 0; k < s; k++)
            join_reductions(kernel, g->width, v + (uint32_t)k * n, v + (uint32_t)(k + s) * n, value);
    for (int s = g->width / 2; s; s /= 2) {
        for (uint32_t i = 0; i < n; i++) {
            val both = v[i];
            v[i] = wf__gen_half(g, both, s, false);
            v[n + i] = wf__gen_half(g, both, s, true);
        }
        join_reductions(kernel, s, v, v + n, value);
    }
}

void wf__store_results(wf__kernel_emitter *kernel, const val *index)
{
    wf__gen *g = kernel->g;
    const wf__ir *body = kernel->body;
    val at = index ? point_number(kernel, index) : NULL;
    size_t rows = (size_t)(kernel->instances > 1 ? kernel->instances : 2), nodes = body->joiner ? body->joiner->n : 0;
    val *all = body->red_n ? wf__alloc0(((rows + 2) * body->red_n + nodes) * sizeof *all) : NULL;
    if (!all) {
        if (body->red_n)
            wf__gen_fail(g, "code generator: out of memory");
        return;
    }
    join_lanes(kernel, all, all + rows * body->red_n);
    for (uint32_t i = 0; i < kernel->body->red_n; i++) {
        unsigned dtype = kernel->body->red[i].dtype;
        val v = all[i];
        if (at) {
            g->L->BuildStore(g->b, wf__to_memory(g, dtype, 1, v), result_address(kernel, i, at));
            continue;
        }
        if (wf__is_float(dtype))
            v = g_bits(g, v, dtype == WF_F32 ? g->i32 : g->i64);
        if (wf__size(dtype) < 8)
            v = g->L->BuildZExt(g->b, v, g->i64, "");
        g->L->BuildStore(g->b, v, g_gep(g, g->i64, kernel->acc, g_i64(g, i)));
    }
    wf__free(all);
}
