/* reduce.c - reductions of array graphs: dtypes of accumulators, places of results, and the stages that follow. A product
 * of complex numbers is two reductions, of the real and the imaginary part, with a custom join.
 */
#include "plan/split/split.h"

/* Returns the dtype of the accumulator: f64 for sums and products of f32, and f32 for every join of f16 and bf16. */
static unsigned accumulates_in(unsigned dtype, unsigned join)
{
    bool wide = dtype == WF_F32 && (join == WF_JOIN_ADD || join == WF_JOIN_MUL);
    return wide ? WF_F64 : wf__is_half(dtype) ? WF_F32 : dtype;
}

/* Returns the result of a reduction of no points: the neutral element, but +0 for sums, which begin with -0. */
static uint64_t result_of_nothing(wf_join join, unsigned dtype)
{
    return join == WF_JOIN_ADD ? 0 : wf__join_neutral(join, dtype);
}

/* Returns the dtype of the result of one reduction: of a part, for complex numbers. */
static unsigned own_dtype(const splitter *s, wf__ref root)
{
    unsigned t = s->ir->node[root].dtype;
    return wf__is_complex(t) ? wf__part_dtype(t) : t;
}
static bool is_second(const group *g, uint32_t k) { return k && g->reduce[k - 1] == g->reduce[k]; }

static bool add_reduction(splitter *s, group *g, wf__ref root, unsigned dtype, wf_join join)
{
    if (!wf__grow(&g->reduce, &g->reduce_cap, g->reduce_n + 1, sizeof *g->reduce))
        return wf__plan_no_memory(s->plan);
    g->reduce[g->reduce_n++] = root;
    wf__red_new(&g->ir, dtype, join);
    return g->ir.status == WF_OK || wf__plan_no_memory(s->plan);
}

bool wf__split_reduce(splitter *s, wf__ref root, uint32_t at)
{
    const wf__node *n = &s->ir->node[root];
    group *g = &s->group[at];
    bool pairs = wf__is_complex(n->dtype);
    unsigned own = own_dtype(s, root), dtype = accumulates_in(own, n->b);
    wf_join join = pairs ? WF_JOIN_CUSTOM : (wf_join)n->b;
    uint32_t k = g->ir.red_n;
    s->home[root] = at;
    s->wide[root] = (uint8_t)dtype;
    wf__plan_because(s->plan, "split", "reduction %%%u accumulates in %s%s; its results are %s", (unsigned)root,
                     wf_dtype_name((wf_dtype)dtype), pairs ? " pairs with a custom join" : "",
                     wf__has_one_point(&s->shape[root]) ? "one element, which a later stage stores"
                                                        : "an array, because it keeps axes");
    for (int p = 0; p <= pairs; ++p) {
        uint32_t temp = wf__plan_add_temp(s->plan, wf__has_one_point(&s->shape[root]) ? own : dtype, &s->shape[root]);
        if (temp == UINT32_MAX || !add_reduction(s, g, root, dtype, join))
            return wf__plan_no_memory(s->plan);
        s->result[root] = temp - (uint32_t)p;
    }
    g->axes = n->c;
    wf__ref value = wf__cast(&g->ir, g->map[n->a], pairs ? wf__complex_dtype(dtype) : dtype);
    if (pairs) {
        g->ir.red[k].start = wf__join_neutral(WF_JOIN_MUL, dtype);
        g->ir.red[k + 1].start = 0;
        wf__red_times(&g->ir, k, value);
    } else
        wf__setred(&g->ir, k, 0, wf__op2(&g->ir, wf__join_op(join), wf__red(&g->ir, k, 0), value));
    return g->ir.status == WF_OK || wf__plan_no_memory(s->plan);
}

bool wf__split_result(splitter *s, group *g, wf__ref r, uint32_t frame, wf__ref *out)
{
    const wf__node *n = &s->ir->node[r];
    bool keeps = !wf__has_one_point(&s->shape[r]), pairs = wf__is_complex(n->dtype);
    unsigned own = own_dtype(s, r), dtype = keeps ? s->wide[r] : own;
    wf__ref part[2];
    for (uint32_t p = 0; p <= pairs; ++p) {
        if (keeps && !wf__has_points(&s->shape[n->a]))
            part[p] = wf__const_bits(&g->ir, dtype, p ? 0 : result_of_nothing((wf_join)n->b, dtype));
        else if (!wf__group_element(s, g, s->result[r] + p, dtype, &s->shape[r], frame, &part[p]))
            return false;
        part[p] = wf__cast(&g->ir, part[p], own);
    }
    *out = pairs ? wf__complex(&g->ir, part[0], part[1]) : part[0];
    return true;
}

/* ---- groups become stages ---- */
/* Sets the temporaries of results, if axes are kept. */
static bool finish_kept(splitter *s, const group *g, wf__stage *stage)
{
    stage->reduce.axes = g->axes;
    stage->reduce.result = wf__alloc(g->reduce_n * sizeof *stage->reduce.result);
    for (uint32_t k = 0; stage->reduce.result && k < g->reduce_n; ++k)
        stage->reduce.result[k] = s->result[g->reduce[k]] + is_second(g, k);
    return stage->reduce.result || wf__plan_no_memory(s->plan);
}

static bool finish_all(splitter *s, const group *g, wf__stage *stage)
{
    const wf__ir *body = &stage->recorded;
    stage->reduce.initial = wf__alloc(g->reduce_n * sizeof *stage->reduce.initial);
    if (!stage->reduce.initial)
        return wf__plan_no_memory(s->plan);
    for (uint32_t k = 0; k < g->reduce_n; ++k) {
        const wf__reduction *red = &body->red[k];
        bool own = red->join == WF_JOIN_CUSTOM || wf__has_points(&g->shape);
        stage->reduce.initial[k] = own ? wf__red_start(red) : result_of_nothing((wf_join)red->join, red->dtype);
    }
    wf__stage *post = wf__plan_add_stage(s->plan, s->plan->stage_n); /* adding may move the other stages */
    if (!post)
        return false;
    body = &s->plan->stage[s->plan->stage_n - 2].recorded;
    wf__ir *ir = &post->recorded;
    wf__ir_init(ir, 0, s->ir->flags);
    for (uint32_t p = 0; p < s->ir->param_n; ++p)
        wf__param(ir, s->ir->param[p]);
    for (uint32_t k = 0; k < g->reduce_n; ++k) {
        wf__ref root = g->reduce[k];
        unsigned dtype = own_dtype(s, root);
        wf__ref value = wf__cast(ir, wf__param(ir, body->red[k].dtype), dtype);
        uint32_t slot = wf__slot_new(ir, dtype, s->shape[root].rank, true, s->result[root] + is_second(g, k));
        if (ir->status != WF_OK)
            return wf__plan_no_memory(s->plan);
        wf__store(ir, slot, 0, value, 0);
    }
    return ir->status == WF_OK || wf__plan_no_memory(s->plan);
}

/* Adds the joiner of products of complex numbers, if there are any. */
static bool add_joiner(splitter *s, const group *g, wf__stage *stage)
{
    wf__ir join;
    wf__ir_init(&join, 0, s->ir->flags);
    bool any = false;
    for (uint32_t k = 0; k < g->reduce_n; ++k)
        wf__red_new(&join, stage->recorded.red[k].dtype, (wf_join)stage->recorded.red[k].join);
    for (uint32_t k = 0; k < g->reduce_n && join.status == WF_OK; ++k)
        if (is_second(g, k)) {
            any = true;
            wf__join_product(&join, k - 1);
        }
    bool ok = join.status == WF_OK || wf__plan_no_memory(s->plan);
    if (ok && any)
        stage->recorded.joiner = stage->join = wf__plan_joiner(s->plan, &join);
    wf__ir_free(&join);
    return ok && (!any || stage->join);
}

bool wf__split_reduced(splitter *s, const group *g)
{
    wf__stage *stage = &s->plan->stage[s->plan->stage_n - 1];
    return add_joiner(s, g, stage) &&
           (wf__has_one_point(&s->shape[g->reduce[0]]) ? finish_all(s, g, stage) : finish_kept(s, g, stage));
}
