/* control.c - conditions and loops of an array graph.
 *
 * The results of an outermost block are the last values of its states, and its effects. A SCATTER in a block is a
 * result, too: the sum over all turns. Results of one shape are a part of the block. The stage of a part has the loop,
 * with what the results need of it, and also the values before and after the loop that fit the stage. Each part computes
 * the states and guards of other shapes again, but not the effects of other parts. So parts must not see each other's
 * effects.
 *
 * In a block, each point runs by itself, as in an index space. Effects happen in the block, not at the end of the stage.
 *
 * Local memory is that of a stage. A block whose local memory another one uses, the tape of a derivative, is no part of its
 * own: the stage of the other block computes it, too.
 */
#include "plan/split/split.h"

bool wf__split_find_blocks(splitter *s)
{
    const wf__ir *ir = s->ir;
    s->block = wf__alloc0(ir->n * sizeof *s->block);
    if (!s->block)
        return false;
    wf__find_blocks(ir, s->block);
    return true;
}

bool wf__split_find_leaves(splitter *s)
{
    const wf__ir *ir = s->ir;
    s->leaves = wf__alloc0(2 * (size_t)ir->n);
    s->tape = s->leaves ? s->leaves + ir->n : NULL;
    for (wf__ref r = 1; s->leaves && r < ir->n; ++r) {
        wf__ref operand[WF__MAX_OPERANDS];
        uint32_t count = s->live[r] ? wf__operands(ir, &ir->node[r], operand) : 0;
        for (uint32_t i = 0; i < count; ++i) {
            const wf__ref from = s->block[operand[i]];
            bool leaves = from && from != s->block[r];
            s->leaves[operand[i]] |= leaves;
            s->tape[from] |= leaves && wf__local_of(ir, operand[i]);
        }
    }
    return s->leaves != NULL;
}

/* True if the state's value, or what is scattered, is used after the block, and computed at points of that shape. */
static bool leaves_at(splitter *s, wf__ref r, const wf_shape *shape)
{
    wf_shape points;
    return s->leaves[r] && wf__split_points(s, r, &points) && wf__same_shape(&points, shape);
}

static bool is_effect(const splitter *s, wf__ref r) { return s->live[r] && wf__op_is_effect(s->ir->node[r].op); }

static uint32_t object_of(const splitter *s, wf__ref r) { return s->ir->slot[s->ir->node[r].a].object; }

static bool refuse(splitter *s, wf__ref effect, const char *why)
{
    const wf__bind *b = &s->bind[object_of(s, effect)];
    char called[WF__CALLED];
    return wf__plan_fail_at(s->plan, WF_SECTION_CALL, s->ir, effect, WF_ERR_UNSUPPORTED,
                            "%s: a block of control flow writes %s %s", wf__function_of(&s->ir->node[effect]),
                            wf__bind_called(b, called), why);
}

/* True if this part sees only its own effects, and runs each effect for the effect's own points. Else sets the plan's
 * error. */
static bool stands_alone(splitter *s, const wf_shape *shape)
{
    for (wf__ref e = s->in; e <= s->last; ++e) {
        if (!is_effect(s, e))
            continue;
        bool own = wf__same_shape(&s->shape[e], shape);
        if (s->cone[e] && !own)
            return refuse(s, e,
                          "by an atomic operation whose result is used with another shape; broadcast its indices");
        for (wf__ref r = 1; r <= s->last; ++r) {
            if (!s->cone[r] || s->ir->node[r].op != WF__LOAD)
                continue;
            wf__overlap o = wf__split_access_overlap(s, e, r);
            bool shifted =
                o == WF__PARTIAL && s->block[r] == s->in && !s->ir->node[r].b && !wf__by_index(&s->ir->node[e]);
            if (!own && o != WF__APART)
                return refuse(s, e, "and reads it with another shape; use two blocks");
            if (own && shifted && e < wf__turns_end(s->ir, r))
                return refuse(s, e,
                              "in a loop that reads it elsewhere, as whole arrays; read by index, or from a copy");
        }
    }
    return true;
}

/* Marks the effects of that shape and the states with this shape that are used after the block, and sets their home. */
static void mark_part(splitter *s, const wf_shape *shape)
{
    ++s->era;
    memset(s->cone, 0, s->ir->n);
    for (wf__ref r = s->in; r <= s->last; ++r)
        if (leaves_at(s, r, shape) || (is_effect(s, r) && wf__same_shape(&s->shape[r], shape)))
            s->cone[r] = WF__DIRECT;
    wf__split_spread(s);
}

static bool place_part(splitter *s, const wf_shape *shape)
{
    mark_part(s, shape);
    if (!stands_alone(s, shape))
        return false;
    uint32_t bound = wf__split_bound(s);
    for (wf__ref r = s->in; r <= s->last; ++r)
        if (s->cone[r] && is_effect(s, r))
            bound = wf__split_effect_bound(s, r, bound);
    for (wf__ref r = s->in; r <= s->last; ++r)
        if (s->cone[r] && s->ir->node[r].op == WF__SCATTER && !wf__split_begin_scatter(s, r, &bound))
            return false;
    uint32_t g = wf__split_choose(s, bound, shape, 0);
    g = g == UINT32_MAX ? g : wf__split_record(s, g);
    for (wf__ref r = 1; g != UINT32_MAX && r <= s->last; ++r) {
        bool load = s->ir->node[r].op == WF__LOAD && s->redirect[r] == UINT32_MAX, effect = is_effect(s, r);
        if (!s->cone[r])
            continue;
        if (s->block[r] == s->in && (effect || leaves_at(s, r, shape)))
            s->home[r] = g;
        const touch t = { .group = g,
                          .node = r,
                          .store = effect,
                          .early = effect,
                          .object = load || effect ? object_of(s, r) : 0,
                          .gather = effect ? wf__by_index(&s->ir->node[r]) : wf__split_gathers(s, r) };
        if ((load || effect) && !wf__split_touch(s, &t))
            return false;
    }
    return g != UINT32_MAX;
}

bool wf__split_block(splitter *s, wf__ref loop)
{
    s->root = 0;
    s->in = loop;
    s->last = wf__loop_end(s->ir, loop);
    for (wf__ref r = s->tape[loop] ? s->last + 1 : loop; r <= s->last; ++r) {
        wf_shape shape;
        if ((s->leaves[r] || is_effect(s, r)) && s->home[r] == UINT32_MAX &&
            (!wf__split_points(s, r, &shape) || !place_part(s, &shape)))
            return false;
    }
    return true;
}
