/* loops.c - the blocks on the way of a derivative.
 *
 * Conditions and short loops become straight code, which the sweeps differentiate like all other nodes. The states of a
 * block change by selects on the lanes that take part, so a turn in which no point takes part changes nothing. Turns are
 * copied until the guard folds to false. It does where the number of turns is a constant, with break, continue and other
 * conditions of points inside, and at once for a condition.
 *
 * Other loops are kept, and the sweeps go through them as loops (tape.c, forward.c). In array graphs, so are all loops that
 * accumulate by minimum, maximum or product: what they accumulate becomes a sum over all turns (sums.c).
 */
#include "ad/loops.h"
#include "ad/before.h"
#include "ad/copies.h"
#include "ad/count.h"
#include "ad/hoist.h"
#include "ad/sums.h"
#include "ir/pass/pass.h"
#include "ir/thresholds.h"

typedef struct writer {
    wf__ir *ir;
    wf__ir in;     /* the recording as it was: nodes and lists that do not move */
    wf__ref *map;  /* [in.n] node -> its copy in the current turn; nodes outside of the block are their own */
    wf__ref *next; /* [in.n] the values of states in the next turn */
    const char *function;
    const wf__ad_task *task;    /* NULL in wf__straighten */
    const wf__activity *active; /* effects on arrays that are not active are not copied; NULL = all are copied */
    wf__ref *before; /* [objects] values with the contents of arrays from before the block (before.h); NULL = none */
    wf__sums sums;
    bool replaces; /* reads that are copied take their values from before[] */
} writer;

static void copy_nodes(writer *w, wf__ref first, wf__ref end);

/* True if the bool is false for all points: false itself, or a conjunction with it. (Where shapes may still grow, the
 * builder does not fold conjunctions with constants.) */
static bool is_false(const wf__ir *ir, wf__ref r, int depth)
{
    const wf__node *n = &ir->node[wf__as_literal(ir, r)];
    return (n->op == WF__CONST && !wf__bits(n)) ||
           (n->op == WF__OP_and && depth && (is_false(ir, n->a, depth - 1) || is_false(ir, n->b, depth - 1)));
}

/* True for an effect on an array on the way. */
static bool is_on_way(const wf__ir *in, const wf__activity *active, const wf__node *n)
{
    return in->arrays && active->array[wf__object_of(in, n)] == WF__ACTIVE;
}

static bool may_go_on(writer *w, wf__ref loop)
{
    for (wf__ref s = loop + 1; w->in.node[s].op == WF__STATE; ++s)
        if (w->in.node[s].aux)
            return w->ir->status == WF_OK && !is_false(w->ir, w->map[s], 8);
    return false;
}

static void copy_node(writer *w, wf__ref r)
{
    const wf__node *n = &w->in.node[r];
    const wf__ref before = w->before && wf__op_names_slot(n->op) ? w->before[wf__object_of(&w->in, n)] : 0;
    bool left_out = w->active && wf__op_is_store(n->op) && !before && !is_on_way(&w->in, w->active, n);
    if (before && n->op == WF__LOAD && w->replaces)
        w->map[r] = wf__read_before(&w->in, r, w->map, w->ir, before);
    else if (!left_out)
        wf__copy_as_is(&w->in, r, r + 1, 0, w->map, w->ir);
}

/* Copies a block turn by turn. Afterwards map[] of its states has their last values. */
static void copy_block(writer *w, wf__ref loop, wf__ref end)
{
    const wf__ref body = wf__loop_body(&w->in, loop);
    wf__ref first_next = end;
    while (w->in.node[first_next - 1].op == WF__NEXT)
        --first_next;
    for (wf__ref s = loop + 1; s < body; ++s)
        w->map[s] = w->map[w->in.node[s].b];
    while (may_go_on(w, loop)) {
        copy_nodes(w, body, first_next);
        for (wf__ref r = first_next; r < end; ++r)
            w->next[w->in.node[r].a] = w->map[w->in.node[r].b];
        for (wf__ref s = loop + 1; s < body; ++s)
            w->map[s] = w->next[s];
    }
}

static void copy_nodes(writer *w, wf__ref first, wf__ref end)
{
    for (wf__ref r = first; r < end && w->ir->status == WF_OK; ++r) {
        const wf__node *n = &w->in.node[r];
        if (n->op == WF__LOOP) {
            wf__ref last = wf__loop_end(&w->in, r);
            copy_block(w, r, last);
            r = last;
        } else
            copy_node(w, r);
    }
}

/* Returns the first read in the block that is on the way, or any read if there are no marks; 0 = none. */
static wf__ref read_in(const wf__ir *in, const wf__activity *active, wf__ref loop)
{
    for (wf__ref r = loop; in->node[r].op != WF__END || in->node[r].a != loop; ++r) {
        const wf__node *n = &in->node[r];
        if (n->op == WF__LOAD && wf__has_adjoint(n->dtype) && (!active || active->node[r] == WF__ACTIVE))
            return r;
    }
    return 0;
}

/* True if the block changes an array that it reads. */
static bool reads_what_it_writes(const writer *w, wf__ref loop, wf__ref end)
{
    for (wf__ref r = loop; r < end && w->before; ++r)
        if (wf__op_is_store(w->in.node[r].op) && w->before[wf__object_of(&w->in, &w->in.node[r])])
            return true;
    return false;
}

/* wf__straighten: true if outputs of the adjoint of the loop name its states. */
static bool has_outputs(const writer *w, wf__ref loop)
{
    const wf__ir *in = &w->in;
    for (wf__ref r = wf__loop_end(in, loop); !w->task && in->derived && r < in->n; ++r)
        if (wf__is_of_loop(&in->node[r]) && wf__tuple_at(in, in->node[r].b)[1] == loop + 1)
            return true;
    return false;
}

/* True for a loop that is kept although it may be short. A loop that reads what it writes is: its variables carry that
 * (hoist.c). So is one whose accumulations become sums, one with SCATTERs, which have values that leave it, and one whose
 * adjoint has outputs. */
static bool stays_loop(const writer *w, wf__ref loop)
{
    const wf__ref end = wf__loop_end(&w->in, loop);
    bool stays = (w->task && w->task->stays) || reads_what_it_writes(w, loop, end) || has_outputs(w, loop) ||
                 (w->active && wf__has_join_updates(&w->in, loop, end, w->active));
    for (wf__ref r = loop; r < end && !stays; ++r)
        stays = w->in.node[r].op == WF__SCATTER && wf__has_adjoint(w->in.node[r].dtype);
    return stays;
}

/* Sets *most to 0 if the block is to be straight code, else to the most turns of a loop that is kept; UINT32_MAX = there
 * may be any number. Straight code may be longer where each turn reads an array that is differentiated: a kept loop
 * accumulates what it contributes to such an array, one turn after the other. */
static bool find_length(writer *w, const wf__activity *active, wf__ref loop, uint32_t *most)
{
    wf__turns turns;
    if (!wf__count_turns(&w->in, loop, WF__MOST_DERIVED_LOOP, &turns)) {
        wf__ir_fail(w->ir, WF_ERR_MEMORY, "%s: out of memory", w->function);
        return false;
    }
    bool is_short =
        turns.known && turns.exact && (turns.nodes <= WF__MOST_DERIVED_CODE || read_in(&w->in, active, loop));
    is_short = is_short && (w->in.node[loop].aux || !stays_loop(w, loop));
    *most = is_short ? 0 : turns.known ? turns.turns : w->in.node[loop].aux ? 1 : UINT32_MAX;
    return true;
}

/* True if a read in a condition finds what the array held before the condition: no store to the array comes before the read,
 * nor in an earlier turn of a loop around the read. */
static bool is_before_stores(const wf__ir *in, wf__ref read, wf__ref condition)
{
    wf__ref last = read;
    for (wf__ref q = wf__loop_around(in, read, condition + 1); q; q = wf__loop_around(in, q, condition + 1))
        last = in->node[q].aux ? last : wf__loop_end(in, q);
    return !wf__writes(in, condition, last, wf__object_of(in, &in->node[read]));
}

/* Sets before[] for a read of an array that the block or a later operation changes. */
static bool find_before(writer *w, wf__ref read, wf__ref loop)
{
    const wf__node *n = &w->in.node[read];
    const uint32_t object = wf__object_of(&w->in, n);
    if (w->ir->arrays && !w->task->turn && !w->before &&
        !(w->before = wf__alloc0(wf__objects_of(w->ir) * sizeof *w->before))) {
        wf__ir_fail(w->ir, WF_ERR_MEMORY, "%s: out of memory", w->function);
        return false;
    }
    if (w->before)
        w->before[object] = wf__contents_before(&w->in, loop, object);
    if (w->before && w->before[object])
        return true;
    wf__ir_fail_at(w->ir, n, WF_ERR_UNSUPPORTED,
                   "%s: a block reads an array that it or a later operation writes, and its derivative needs the "
                   "contents from before; %s",
                   w->function,
                   w->ir->arrays ? "say wf_in of the array before the block" : "record it as an operator or a launch");
    return false;
}

/* True if the copies compute the same as the block: what it reads is still there, or before[] has it. In the derivative of an
 * operator it is there, as its kernels store nothing that it reads (space.c). */
static bool can_copy(writer *w, const wf__activity *active, wf__ref loop, wf__ref end)
{
    const wf__ir *in = &w->in;
    for (wf__ref r = loop; r <= end; ++r) {
        const wf__node *n = &in->node[r];
        const bool sum = (n->op == WF__ACCUM && wf__node_join(n) == WF_JOIN_ADD) ||
                         (in->arrays && !w->task->turn && wf__is_join_update(n));
        if (wf__op_is_effect(n->op) && n->op != WF__STORE && !sum && (n->op != WF__ACCUM || is_on_way(in, active, n))) {
            wf__no_derivative(w->ir, w->task, n, " in a block that also computes what is differentiated, but for sums");
            return false;
        }
    }
    for (wf__ref r = loop; r <= end && !w->task->derivative; ++r)
        if (in->node[r].op == WF__LOAD &&
            wf__writes(in, w->task->turn ? end + 1 : loop, in->n, wf__object_of(in, &in->node[r])) &&
            !find_before(w, r, loop))
            return false;
    return true;
}

void wf__no_second_of_changed(wf__ir *ir, wf__ref loop, const char *function)
{
    wf__ir_fail_at(ir, &ir->node[loop], WF_ERR_UNSUPPORTED,
                   "%s: the second derivative of a loop needs the arrays that it reads as they were, and a later "
                   "operation changes one; ask for the derivatives before that",
                   function);
}

/* False, and the ir has failed, if a block that takes the contents of arrays from before cannot. straight: it becomes straight
 * code. */
static bool can_take_before(writer *w, wf__ref loop, wf__ref end, bool straight)
{
    const wf__ir *in = &w->in;
    const bool reads = straight && reads_what_it_writes(w, loop, end);
    for (wf__ref r = loop; r < end && w->before; ++r) {
        const wf__node *n = &in->node[r];
        if (n->op == WF__SCATTER && wf__has_adjoint(n->dtype)) { /* a value that leaves the block and is no state */
            wf__no_second_of_changed(w->ir, loop, w->function);
            return false;
        }
        if (reads && n->op == WF__LOAD && !is_before_stores(in, r, loop)) {
            wf__ir_fail_at(w->ir, n, WF_ERR_UNSUPPORTED,
                           "%s: a condition reads an array after it has changed it; keep the value in a variable",
                           w->function);
            return false;
        }
    }
    return true;
}

/* True for a variable that its loop leaves alone, and that nothing names. */
static bool is_left_alone(const writer *w, wf__ref state)
{
    const wf__ir *in = &w->in;
    return !in->node[state].aux && wf__next_value(in, state) == state && !has_outputs(w, in->node[state].a);
}

/* Array graphs: true if some loop in the block has a variable that it leaves alone and that does not fit the others. */
static bool has_other_shapes(const wf__ir *in, wf__ref loop, wf__ref end)
{
    for (wf__ref r = loop; r < end && in->arrays; ++r) {
        wf_shape all = { 0 };
        for (wf__ref s = r + 1; in->node[r].op == WF__LOOP && in->node[s].op == WF__STATE; ++s)
            if (!wf__broadcast(&all, &in->shape[in->node[s].shape], &all))
                return true;
    }
    return false;
}

/* Copies a loop with the short blocks inside it as straight code, without variables that it leaves alone. */
static void copy_kept(writer *w, wf__ref loop, wf__ref end)
{
    const wf__ir *in = &w->in;
    wf__ref body = wf__loop_body(in, loop), last = end;
    uint32_t most;
    while (in->node[last - 1].op == WF__NEXT)
        --last;
    wf__copy_as_is(in, loop, loop + 1, 0, w->map, w->ir);
    for (wf__ref s = loop + 1; s < body; ++s)
        if (is_left_alone(w, s))
            w->map[s] = w->map[in->node[s].b];
        else
            wf__copy_as_is(in, s, s + 1, 0, w->map, w->ir);
    for (wf__ref r = body; r < last && w->ir->status == WF_OK; ++r) {
        const wf__ref inner = in->node[r].op == WF__LOOP ? wf__loop_end(in, r) : r;
        if (inner == r)
            copy_node(w, r);
        else if (find_length(w, NULL, r, &most) && most)
            copy_kept(w, r, inner);
        else if (w->ir->status == WF_OK)
            copy_block(w, r, inner);
        r = inner;
    }
    for (wf__ref r = last; r <= end; ++r)
        if (in->node[r].op != WF__NEXT || !is_left_alone(w, in->node[r].a))
            wf__copy_as_is(in, r, r + 1, 0, w->map, w->ir);
}

static bool writes_on_way(const wf__ir *in, const wf__activity *active, wf__ref loop, wf__ref end)
{
    bool any = false;
    for (wf__ref r = loop; r < end; ++r)
        any = any || (wf__op_is_store(in->node[r].op) && is_on_way(in, active, &in->node[r]));
    return any;
}

static wf__region *new_block(writer *w, wf__loops *out)
{
    if (wf__grow(&out->block, &out->block_cap, out->block_n + 1, sizeof *out->block))
        return &out->block[out->block_n++];
    wf__ir_fail(w->ir, WF_ERR_MEMORY, "%s: out of memory", w->function);
    return NULL;
}

/* Array graphs: records a loop that is kept once more, with its stores to arrays on the way moved to after it as far as possible,
 * and adds it. */
static void add_storing_loop(writer *w, wf__ref loop, wf__ref end, wf__region *b, wf__loops *out)
{
    wf__ir *ir = w->ir, in;
    wf__ref *map = NULL;
    const wf__region of = *b;
    const uint32_t at = out->block_n - 1;
    w->replaces = false;
    wf__const_bits(ir, WF_I64, 0); /* the index that the element of an array of rank 0 has in a SCATTER (outputs.c) */
    copy_kept(w, loop, end);
    const wf__ref flat = ir->status == WF_OK ? w->map[loop] : 0, flat_end = ir->n;
    if (!flat || !wf__ir_copy(ir, &in)) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", w->function);
        return;
    }
    map = wf__alloc(in.n * sizeof *map);
    if (map) {
        for (wf__ref r = 0; r < in.n; ++r)
            map[r] = r;
        if (wf__hoist_stores(&in, flat, flat_end, map, ir, w->before, w->function)) {
            wf__ref *sums;
            const wf__ref first = wf__record_sums(&w->sums, ir, &of, flat_end, &sums);
            const wf__ref kept = sums ? sums[map[flat]] : map[flat], kept_end = wf__loop_end(ir, kept);
            for (wf__ref r = kept; r < kept_end && ir->status == WF_OK; ++r)
                if (ir->node[r].op == WF__STORE && wf__has_adjoint(ir->node[r].dtype))
                    wf__check_store(ir, r, kept, kept_end, w->function);
            out->block[at] = (wf__region){ loop, end, .first = first, .last = ir->n - 1 };
            b = new_block(w, out);
            if (b)
                *b = (wf__region){ kept, kept_end, .kept = true, .most = of.most };
            for (wf__ref s = loop + 1; s < wf__loop_body(&w->in, loop) && b; ++s)
                out->final[s] = w->map[s] = sums ? sums[map[w->map[s]]] : map[w->map[s]];
            wf__free(sums);
        }
    } else
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", w->function);
    wf__ir_free_copy(&in);
    wf__free(map);
}

/* Closes the bodies of loops among the copies, after what is closed was set. */
static void close_copies(writer *w)
{
    wf__ir *ir = w->ir;
    for (wf__ref r = w->in.n; r < ir->n && ir->status == WF_OK; ++r)
        if (ir->node[r].op == WF__LOOP) {
            const wf__ref body = wf__loop_body(ir, r);
            r = wf__loop_end(ir, r);
            wf__close_range(ir, body, r);
        }
}

static bool add_block(writer *w, const wf__activity *active, wf__ref loop, wf__ref end, wf__loops *out)
{
    wf__ir *ir = w->ir;
    uint32_t most;
    wf__free(w->before);
    w->before = NULL;
    w->active = active;
    if (!can_copy(w, active, loop, end) || !find_length(w, active, loop, &most) ||
        !can_take_before(w, loop, end, !most))
        return false;
    wf__region *b = new_block(w, out);
    if (!b)
        return false;
    *b = (wf__region){ loop, end, .first = ir->n, .kept = most > 0, .most = most < UINT32_MAX ? most : 0 };
    const bool stores = b->kept && !w->task->turn &&
                        (w->before || writes_on_way(&w->in, active, loop, end) || has_other_shapes(&w->in, loop, end));
    if (b->kept && !stores)
        return true;
    /* The sweeps walk over the copies when they reach the block. No copy may be one of the recorded nodes after it,
     * which they have passed by then. */
    if (end + 1 < w->in.n)
        wf__close_range(ir, end + 1, w->in.n - 1);
    close_copies(w);
    if (stores)
        add_storing_loop(w, loop, end, b, out);
    else {
        w->replaces = true;
        copy_block(w, loop, end);
        wf__ref *sums;
        b->first = wf__record_sums(&w->sums, ir, b, b->first, &sums);
        for (wf__ref s = loop + 1; s < wf__loop_body(&w->in, loop) && sums; ++s)
            w->map[s] = sums[w->map[s]];
        wf__free(sums);
        b->last = ir->n - 1;
    }
    ir->closed_n = w->in.closed_n;
    memcpy(ir->closed, w->in.closed, 2 * (size_t)w->in.closed_n * sizeof *ir->closed);
    close_copies(w);
    for (wf__ref s = loop + 1; !stores && w->in.node[s].op == WF__STATE && w->in.node[s].a == loop; ++s)
        out->final[s] = w->map[s];
    return ir->status == WF_OK;
}

/* True if a block computes on the way from the wanted values to the results, also by SCATTERs, or changes arrays on the way. */
static bool is_needed(const wf__ir *ir, const wf__ad_task *task, const wf__activity *active, wf__ref loop, wf__ref end)
{
    for (wf__ref r = loop; r < end; ++r) {
        const wf__node *n = &ir->node[r];
        if (n->op == WF__SCATTER && active->node[r] == WF__ACTIVE && wf__has_adjoint(n->dtype))
            return true;
        if (wf__op_is_store(n->op) &&
            (is_on_way(ir, active, n) ||
             (task->effects && task->effects[wf__object_of(ir, n)] && active->node[r] == WF__ACTIVE)))
            return true;
    }
    for (wf__ref s = loop + 1; ir->node[s].op == WF__STATE && ir->node[s].a == loop; ++s)
        if (active->node[s] == WF__ACTIVE && wf__has_adjoint(ir->node[s].dtype))
            return true;
    return false;
}

static bool begin(writer *w, wf__loops *out)
{
    const wf__ir *ir = w->ir;
    bool copied = wf__ir_copy(ir, &w->in);
    w->map = wf__alloc(2 * (size_t)ir->n * sizeof *w->map);
    out->final = wf__alloc0(ir->n * sizeof *out->final);
    if (!copied || !w->map || !out->final) {
        wf__ir_fail(w->ir, WF_ERR_MEMORY, "%s: out of memory", w->function);
        return false;
    }
    w->next = w->map + ir->n;
    for (wf__ref r = 0; r < ir->n; ++r)
        w->map[r] = r;
    out->n = ir->n;
    return true;
}

static void add_blocks(writer *w, const wf__activity *active, wf__ref first, wf__loops *out)
{
    for (wf__ref r = first; r < w->in.n && w->ir->status == WF_OK; ++r) {
        if (w->in.node[r].op != WF__LOOP)
            continue;
        wf__ref end = wf__loop_end(&w->in, r);
        if (!end) /* the caller is inside the block: its states are like other values */
            continue;
        if (is_needed(&w->in, w->task, active, r, end) && !add_block(w, active, r, end, out))
            return;
        r = end;
    }
}

/* Finds the outermost blocks whose states lie between the wanted values and the results, and appends straight code for the
 * short ones: turn after turn, until the guard is false for all points. */
static bool find_blocks(wf__ir *ir, const wf__ad_task *task, wf__ref first, wf__loops *out)
{
    wf__activity active = { 0 };
    writer w = { .ir = ir, .function = task->function, .task = task, .sums = { &active, task->function, NULL, 0, 0 } };
    if (!ir->loops || ir->status != WF_OK)
        return ir->status == WF_OK;
    if (wf__find_active(ir, task, NULL, &active) && begin(&w, out)) {
        add_blocks(&w, &active, first, out);
        for (uint32_t s = 0; s < w.in.slot_n; ++s) { /* copies of reads have set these back */
            ir->slot[s].epoch = w.in.slot[s].epoch;
            ir->slot[s].last_store = w.in.slot[s].last_store;
        }
    }
    wf__activity_free(&active);
    wf__ir_free_copy(&w.in);
    wf__free(w.map);
    wf__free(w.before);
    wf__free(w.sums.known);
    return ir->status == WF_OK;
}

bool wf__find_route(wf__ir *ir, const wf__ad_task *task, wf__ref first, wf__route *out)
{
    *out = (wf__route){ .last = ir->n - 1, .objects = wf__objects_of(ir) };
    if (ir->status != WF_OK || !find_blocks(ir, task, first, &out->loops) ||
        !wf__find_active(ir, task, &out->loops, &out->active) || !wf__check_shared(ir, task, &out->active))
        return false;
    out->n = ir->n;
    return true;
}

void wf__route_free(wf__route *route)
{
    wf__activity_free(&route->active);
    wf__free(route->loops.block);
    wf__free(route->loops.final);
}

/* Records `out` once more, with the stores of its loops moved to after them as far as possible. */
static bool hoist_all(wf__ir *out, const char *function)
{
    wf__ir in = *out;
    wf__ref *map = wf__alloc0(in.n * sizeof *map);
    wf__ir_init(out, in.rank, in.flags);
    if (!map)
        wf__ir_fail(out, WF_ERR_MEMORY, "%s: out of memory", function);
    if (map && wf__copy_tables(&in, out))
        wf__hoist_stores(&in, 1, in.n, map, out, NULL, function);
    wf__ir_free(&in);
    wf__free(map);
    return out->status == WF_OK;
}

bool wf__straighten(const wf__ir *in, wf__ir *out, const char *function)
{
    writer w = { .ir = out, .in = *in, .function = function };
    w.map = wf__alloc0(2 * (size_t)in->n * sizeof *w.map);
    if (!w.map) {
        wf__ir_fail(out, WF_ERR_MEMORY, "%s: out of memory", function);
        return false;
    }
    w.next = w.map + in->n;
    bool ok = wf__copy_tables(in, out);
    for (wf__ref r = 1; r < in->n && ok; ++r) {
        wf__ref end = in->node[r].op == WF__LOOP ? wf__loop_end(in, r) : r;
        uint32_t most = 0;
        ok = end == r || find_length(&w, NULL, r, &most);
        if (ok && most && wf__stores_in_loops(in, r, end))
            copy_kept(&w, r, end);
        else if (ok && most)
            wf__copy_as_is(in, r, end + 1, 0, w.map, out);
        else if (ok)
            copy_nodes(&w, r, end + 1);
        r = end;
    }
    wf__free(w.map);
    if (out->status == WF_OK && wf__stores_in_loops(out, 1, out->n))
        return hoist_all(out, function);
    return out->status == WF_OK;
}

const wf__region *wf__region_at(const wf__loops *loops, wf__ref end)
{
    for (uint32_t i = 0; i < loops->block_n; ++i)
        if (loops->block[i].end == end)
            return &loops->block[i];
    return NULL;
}
