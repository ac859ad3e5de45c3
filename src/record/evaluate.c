/* evaluate.c - runs the pending effects of an array graph that stays open.
 *
 * The part that runs is a recording of its own: the nodes that the pending effects need, numbered as if nothing had
 * been recorded before them. So a loop of evaluations finds the same plan each time. Afterwards the effects are
 * removed from the graph. A value that an array holds becomes a read of the array. A value that would read overwritten
 * memory is out of use.
 */
#include "record/record.h"
#include "ir/pass/pass.h"

typedef struct evaluation {
    wf_graph *g;
    uint32_t n;     /* number of nodes of the graph, including stores of kept results */
    uint8_t *live;  /* [n] needed by an effect; afterwards: GONE, HIDDEN or 0 */
    uint32_t *held; /* [n] 1 + slot of the array that holds the value; 0 = none */
    wf__ref *map;   /* [n] node of the part; afterwards: list of the effects */
    uint32_t effects;
    uint32_t *slot;   /* [slot] 1 + its number in the part; 0 = none */
    uint32_t *object; /* [object] the same */
    wf__node *node;   /* nodes of the graph, with slots of the part */
    wf_array **array; /* arrays of the part's objects */
    uint64_t *param;
    wf__program part;
} evaluation;

/* True for nodes that are computed once and kept, however many nodes use the value. */
static bool is_result(const wf__node *n) { return wf__op_is(n->op, WF__IS_ONCE); }
static bool is_made_once(const wf__node *n) { return n->op == WF__STATE || is_result(n); }

/* ---- results get arrays of their own ---- */
static void mark(const wf__ir *ir, uint8_t *live)
{
    for (wf__ref r = 1; r < ir->n; ++r)
        live[r] = wf__op_is_effect(ir->node[r].op);
    wf__mark_live(ir, live);
}

static bool meet(const wf_graph *g, uint32_t slot_a, uint32_t slot_b)
{
    const wf__slot *slot = g->program.rec.ir.slot;
    const wf_array *a = g->program.object[slot[slot_a].object].array, *b = g->program.object[slot[slot_b].object].array;
    return a == b || wf__array_may_meet(a, b);
}

/* True if the node stores a whole value, as it is, to an array of the same dtype and shape. */
static bool assigns_all(const wf__ir *ir, const wf__node *n)
{
    if (n->op != WF__STORE || n->b || n->d)
        return false;
    const wf__node *v = &ir->node[n->c];
    const wf__slot *slot = &ir->slot[n->a];
    return v->dtype == slot->dtype && v->shape == slot->shape;
}

static bool is_overwritten(const wf_graph *g, wf__ref store)
{
    const wf__ir *ir = &g->program.rec.ir;
    for (wf__ref r = store + 1; r < ir->n; ++r)
        if (wf__op_is_effect(ir->node[r].op) && meet(g, ir->node[store].a, ir->node[r].a))
            return true;
    return false;
}

static bool keep_result(wf_graph *g, wf__ref result)
{
    wf_array *a = wf__keep_value(g, result, "wf_eval");
    wf_release(a);
    return a != NULL;
}

/* Keeps the final values of all variables that a loop changes, if an effect needs any, because the loop itself is
 * removed. Variables that no turn changes have their value from before the loop. */
static bool keep_states(wf_graph *g, wf__ref loop, const uint8_t *stored)
{
    const wf__ir *ir = &g->program.rec.ir;
    bool ok = true;
    for (wf__ref next = wf__loop_end(ir, loop) - 1; ir->node[next].op == WF__NEXT && ok; --next) {
        wf__ref s = ir->node[next].a;
        if (s != ir->node[next].b && !ir->node[s].aux && !stored[s])
            ok = keep_result(g, s);
    }
    return ok;
}

/* Keeps the results that effects need and no array holds. False without memory: wf_last_message says so, and the
 * recording stays valid. */
static bool keep_results(wf_graph *g)
{
    wf__ir *ir = &g->program.rec.ir;
    uint32_t n = ir->n;
    uint8_t *live = wf__alloc0(2 * (size_t)n);
    if (!live)
        return false;
    uint8_t *stored = live + n;
    mark(ir, live);
    for (wf__ref r = 1; r < n; ++r)
        if (assigns_all(ir, &ir->node[r]) && is_made_once(&ir->node[ir->node[r].c]) && !is_overwritten(g, r))
            stored[ir->node[r].c] = 1;
    bool ok = true;
    for (wf__ref r = 1; r < n && ok && ir->status == WF_OK; ++r) {
        if (live[r] && ir->node[r].op == WF__LOOP) {
            ok = keep_states(g, r, stored);
            r = wf__loop_end(ir, r);
        } else if (live[r] && is_result(&ir->node[r]) && !stored[r])
            ok = keep_result(g, r);
    }
    wf__free(live);
    return ok && ir->status == WF_OK;
}

/* ---- the part that runs ---- */
static bool prepare(evaluation *e)
{
    const wf__program *p = &e->g->program;
    const wf__ir *ir = &p->rec.ir;
    e->n = ir->n;
    e->live = wf__alloc0(e->n);
    e->held = wf__alloc0(e->n * sizeof *e->held);
    e->map = wf__alloc0(e->n * sizeof *e->map);
    e->slot = wf__alloc0((ir->slot_n + 1) * sizeof *e->slot);
    e->object = wf__alloc0((p->object_n + 1) * sizeof *e->object);
    e->node = wf__alloc(e->n * sizeof *e->node);
    e->array = wf__alloc((p->object_n + 1) * sizeof(wf_array *));
    e->param = wf__alloc((p->param_n + 1) * sizeof *e->param);
    e->part.object = wf__alloc0((p->object_n + 1) * sizeof *e->part.object);
    bool ok = e->live && e->held && e->map && e->slot && e->object && e->node && e->array && e->param && e->part.object;
    /* room for the ranges out of use, so that nothing can fail after the run */
    return ok && wf__grow(&e->g->program.rec.ir.closed, &e->g->program.rec.ir.closed_cap, e->n + 1, sizeof *ir->closed);
}

/* Returns the part's slot for slot s of the graph. Makes it on first use. */
static uint32_t part_slot(evaluation *e, uint32_t s)
{
    const wf__program *p = &e->g->program;
    const wf__slot *from = &p->rec.ir.slot[s];
    wf__ir *to = &e->part.rec.ir;
    if (e->slot[s])
        return e->slot[s] - 1;
    if (!e->object[from->object]) {
        wf_array *a = p->object[from->object].array;
        e->array[e->part.object_n] = a;
        e->part.object[e->part.object_n].array = a; /* borrowed */
        e->object[from->object] = ++e->part.object_n;
    }
    uint32_t shape = wf__shape_id(to, &p->rec.ir.shape[from->shape]);
    uint32_t at = wf__slot_new(to, from->dtype, from->rank, from->element, e->object[from->object] - 1);
    if (to->status != WF_OK)
        return 0;
    to->slot[at].shape = shape;
    wf__copy_label(&p->rec.ir, wf__array_ref(s), to, wf__array_ref(at));
    e->slot[s] = at + 1;
    return at;
}

static wf__ref record_node(wf__rewriter *w, wf__ref r)
{
    wf__ir *to = w->out;
    wf__ref next = to->n, image = wf__copy_between(w->in, r, w->map, to);
    return !image && to->n > next ? next : image; /* an effect: only messages name its node */
}

static bool record_part(evaluation *e)
{
    const wf__program *p = &e->g->program;
    const wf__ir *ir = &p->rec.ir;
    wf__recording *rec = &e->part.rec;
    wf__ir *to = &rec->ir;
    rec->options.kind = WF__ARRAYS;
    rec->options.expand_bytes = p->rec.options.expand_bytes;
    rec->options.columns = p->rec.options.columns;
    e->part.device = p->device;
    e->part.name = p->name; /* borrowed */
    e->part.here = p->here;
    e->part.whole = p;
    e->part.part_of = e->map;
    e->part.record_s = p->record_s;
    wf__ir_init(to, 0, ir->flags);
    wf__set_target(rec, p->device);
    to->arrays = true;
    to->folded = ir->folded;
    to->numbered = ir->numbered;
    for (uint32_t i = 0; i < p->param_n; ++i) {
        wf__param(to, ir->param[i]);
        e->param[i] = p->param[i].initial;
    }
    e->part.param_n = p->param_n;
    mark(ir, e->live);
    memcpy(e->node, ir->node, e->n * sizeof *e->node);
    for (wf__ref r = 1; r < e->n && to->status == WF_OK; ++r)
        if (e->live[r] && wf__op_names_slot(ir->node[r].op))
            e->node[r].a = part_slot(e, ir->node[r].a);
    wf__ir view = *ir;
    view.node = e->node;
    if (to->status == WF_OK)
        wf__rewrite_nodes(
            &(wf__rewriter){ .in = &view, .out = to, .visit = record_node, .live = e->live, .map = e->map });
    rec->options.objects = e->part.object_n;
    return to->status == WF_OK;
}

static wf_status run_part(evaluation *e)
{
    wf_graph *g = e->g;
    const wf__ir *to = &e->part.rec.ir;
    if (!record_part(e))
        return wf__error(g->ctx, to->status, "%s", to->error);
    return g->ctx->services->run_part(g, &e->part, e->array, e->param);
}

/* ---- afterwards ---- */
/* True if an effect after node r (`any`: any effect) may change memory of the slot. */
static bool changed(const evaluation *e, uint32_t slot, wf__ref r, bool any)
{
    const wf__ir *ir = &e->g->program.rec.ir;
    for (uint32_t i = e->effects; i-- > 0 && (any || e->map[i] > r);)
        if (meet(e->g, slot, ir->node[e->map[i]].a))
            return true;
    return false;
}

static bool is_number(const wf__node *n) { return n->op == WF__CONST || n->op == WF__PARAM; }

/* True if the value is computed again instead of read from an array, which might be overwritten. */
static bool is_cheap(const wf__ir *ir, wf__ref r)
{
    const wf__node *n = &ir->node[wf__as_literal(ir, r)];
    bool pair = n->op == WF__OP_complex && is_number(&ir->node[n->a]) && is_number(&ir->node[n->b]);
    return is_number(n) || pair || n->op == WF__IOTA;
}

/* True if the array of the slot was made to hold a value. */
static bool is_kept(const evaluation *e, uint32_t slot)
{
    const wf__program *p = &e->g->program;
    return p->object[p->rec.ir.slot[slot].object].array->kept;
}

/* True if the node reads a value that was kept before, in an array that no later effect changes. */
static bool is_held(const evaluation *e, wf__ref r)
{
    const wf__node *n = &e->g->program.rec.ir.node[r];
    return n->op == WF__LOAD && !n->b && is_kept(e, n->a) && !changed(e, n->a, r, false);
}

/* Finds an array that holds each value. Prefers arrays made for the value, as the program overwrites others sooner. */
static void find_holders(evaluation *e)
{
    const wf__ir *ir = &e->g->program.rec.ir;
    for (wf__ref w = 1; w < e->n; ++w) {
        const wf__node *n = &ir->node[w];
        bool holds = assigns_all(ir, n) && !is_cheap(ir, n->c) && !changed(e, n->a, w, false);
        if (holds && (is_kept(e, n->a) || !(e->held[n->c] || is_held(e, n->c))))
            e->held[n->c] = n->a + 1;
    }
}

enum { GONE = 1, HIDDEN }; /* HIDDEN: in the body of a loop that stays */

/* True if the node is an effect, reads overwritten memory, or depends on a node that is gone. Unless `done`, memory
 * that any effect was to change counts as overwritten. */
static bool is_lost(const evaluation *e, wf__ref r, bool done)
{
    const wf__ir *ir = &e->g->program.rec.ir;
    const wf__node *n = &ir->node[r];
    wf__ref operand[WF__MAX_OPERANDS];
    if (n->op == WF__NOP || wf__op_is_effect(n->op) || (n->op == WF__LOAD && changed(e, n->a, r, !done)))
        return true;
    uint32_t count = wf__operands(ir, n, operand);
    for (uint32_t i = 0; i < count; ++i)
        if (e->live[operand[i]] == GONE)
            return true;
    return false;
}

/* Marks a loop, which stays or goes as a whole. A loop that stays may have NOPs in place of bodies that wf_switch
 * merged. Returns its END. */
static wf__ref mark_loop(evaluation *e, wf__ref loop, bool done)
{
    const wf__ir *ir = &e->g->program.rec.ir;
    wf__ref end = wf__loop_end(ir, loop), body = wf__loop_body(ir, loop);
    bool goes = false;
    for (wf__ref r = loop; r <= end && !goes; ++r)
        goes = e->held[r] || (ir->node[r].op != WF__NOP && is_lost(e, r, done));
    for (wf__ref r = loop; r <= end; ++r)
        e->live[r] = goes ? !e->held[r] : r >= body ? HIDDEN : 0;
    return end;
}

/* Removes the nodes that are gone, and replaces those that an array holds by reads of the array. */
static void rewrite(evaluation *e)
{
    wf__ir *ir = &e->g->program.rec.ir;
    ir->loops = 0;
    for (wf__ref r = 1; r < e->n; ++r) {
        wf__node *n = &ir->node[r];
        if (e->held[r])
            *n = (wf__node){ .op = WF__LOAD, .dtype = n->dtype, .a = e->held[r] - 1, .shape = n->shape };
        else if (e->live[r] == GONE)
            *n = (wf__node){ 0 };
        else if (n->op == WF__LOAD)
            n->d = 0;
        ir->loops += n->op == WF__LOOP;
    }
    for (uint32_t s = 0; s < ir->slot_n; ++s) {
        ir->slot[s].epoch = ir->slot[s].last_store = 0;
        ir->slot[s].written = false;
    }
}

/* Closes the ranges of nodes that are gone or hidden. Unless `any`, only effects are gone, which no value names. Then
 * nothing is closed, and recording stays fast. */
static void close_ranges(evaluation *e, bool any)
{
    wf__ir *ir = &e->g->program.rec.ir;
    ir->closed_n = 0;
    for (wf__ref r = 1; any && r < e->n; ++r) {
        if (!e->live[r])
            continue;
        if (r == 1 || !e->live[r - 1])
            ir->closed[2 * ir->closed_n++] = r;
        ir->closed[2 * ir->closed_n - 1] = r;
    }
}

/* Removes the effects from the graph. `done`: they have run. Otherwise values that read memory they were to change go
 * out of use, too. */
static void forget_effects(evaluation *e, bool done)
{
    wf__ir *ir = &e->g->program.rec.ir;
    bool any = ir->closed_n > 0;
    memset(e->live, 0, e->n);
    for (wf__ref r = 1; r < e->n; ++r)
        if (wf__op_is_effect(ir->node[r].op))
            e->map[e->effects++] = r;
    for (uint32_t i = 0; i < e->effects && done; ++i)
        e->g->program.object[ir->slot[ir->node[e->map[i]].a].object].made = true;
    if (done)
        find_holders(e);
    for (wf__ref r = 1; r < e->n; ++r) {
        if (ir->node[r].op == WF__LOOP) {
            any = true;
            r = mark_loop(e, r, done);
            continue;
        }
        e->live[r] = !e->held[r] && is_lost(e, r, done) ? GONE : 0;
        any = any || (e->live[r] && ir->node[r].op != WF__NOP && wf__op_has_value(ir->node[r].op));
    }
    rewrite(e);
    close_ranges(e, any);
    wf__compact(e->g);
    wf__renumber(ir);
}

static void finish(evaluation *e, bool done)
{
    wf_graph *g = e->g;
    forget_effects(e, done);
    wf__release_kept(g);
    g->evaluated = true;
}

static void clear(evaluation *e)
{
    wf__ir_free(&e->part.rec.ir);
    wf__free(e->part.object);
    wf__free(e->live);
    wf__free(e->held);
    wf__free(e->map);
    wf__free(e->slot);
    wf__free(e->object);
    wf__free(e->node);
    wf__free(e->array);
    wf__free(e->param);
}

wf_status wf__graph_evaluate(wf_graph *g)
{
    evaluation e = { .g = g };
    wf__drop_unseen(g, true);
    bool kept = keep_results(g), ready = prepare(&e);
    wf_status status =
        kept && ready ? run_part(&e) : wf__cannot_begin(g->ctx, &g->program, "out of memory for an evaluation");
    if (ready)
        finish(&e, status == WF_OK);
    clear(&e);
    return status;
}

wf_status wf_eval(wf_graph *g)
{
    if (!g)
        return WF_ERR_ARG;
    if (!wf__may_end(g, "wf_eval"))
        return WF_ERR_CONTRACT;
    const wf__ir *ir = &g->program.rec.ir;
    if (g->program.rec.options.kind != WF__ARRAYS)
        return wf__error(g->ctx, WF_ERR_UNSUPPORTED, "wf_eval: only array graphs can be run and stay open");
    if (ir->status != WF_OK)
        return wf__graph_failure(g, ir);
    if (g->block_n)
        return wf__error(g->ctx, WF_ERR_UNSUPPORTED, "wf_eval: not inside a block; say it before or after");
    if (!wf__graph_launchable(g, "wf_eval"))
        return WF_ERR_ARG;
    bool pending = false;
    for (wf__ref r = 1; r < ir->n; ++r)
        pending = pending || wf__op_is_effect(ir->node[r].op);
    if (g->begun > 0)
        g->program.record_s = wf__now() - g->begun;
    wf_status status = pending ? wf__graph_evaluate(g) : WF_OK;
    if (g->begun > 0)
        g->begun = wf__now();
    return status;
}
