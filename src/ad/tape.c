/* tape.c - reverse mode through a loop whose turns are not written out: a number of turns that each point decides, or
 * many turns. Memory is bounded for any number of turns.
 *
 * Two loops are recorded. The first repeats the loop and counts its turns. At the start of a turn it puts the states
 * into local memory, the tape. The second loop goes from the last turn to the first. It finds the states of a turn,
 * computes the turn once more, and walks over it in reverse. Adjoints of states are its own states. Values from before the
 * loop that the turns use have sums, which are states, too.
 *
 * A tape of C turns holds more than C by a stride. Turn t is saved if it is a multiple of the stride 2^j, the least
 * stride by which C turns reach up to t. As the stride doubles, every other saved turn is overwritten: turn t has place
 * t >> j, rotated by j bits, which is where a turn was that the wider stride does not need.
 *
 * A turn between two saved ones is computed from the earlier one. The turns on the way are saved on a second tape, a
 * stack, in up to half of its free places, at a stride of their own. The walk needs them next. So a loop of C^2/2 turns
 * computes each turn twice before the walk does, and longer loops a few times more.
 *
 * Only those states are kept that the walk needs: what is not read from a tape is dead, and lowering removes it.
 *
 * What the loop contributes to the adjoint of one of its inputs is an output (outputs.c), with the derivative that second.c
 * computes.
 *
 * Source of the idea: Griewank and Walther, Evaluating Derivatives (SIAM 2008), chapter 12; the rotation is Weft's own.
 */
#include "ad/tape.h"
#include "ad/copies.h"
#include "ad/outputs.h"
#include "ir/thresholds.h"

typedef struct tape { /* of one loop */
    wf__sweep *s;
    wf__ir *ir;
    wf__turn turn;
    uint32_t states;    /* of the loop */
    uint32_t log_turns; /* log2 of C */
    bool strided;       /* there may be more than C turns */
    uint32_t shape;     /* array graphs: of the points. One stage has them all, so tapes and sums have this shape */
    bool open;          /* its extents are not known */
    wf__ref turns;      /* number of turns of the point */
    wf__ref all_turns;  /* of all points in whose steps it goes, by the same number: at least `turns` */
    wf__ref stride;     /* log2 of the last stride */
    wf__ref *saved;     /* [states] the tape of each state */
    wf__ref *stack;     /* [states + 1] the second tape, and the numbers of its turns */
    wf__ref *next;      /* [states + 1] the second tape after a turn of the walk */
    wf__ref *value;     /* [states] at the start of a turn */
    wf__ref *given;     /* [states] the same, as a copy of the turn gets them */
    wf__ref *adjoint;   /* [states] 0 = not active */
    wf__ref *sum;       /* [turn.outers] contributions to the adjoints of values from before the loop; 0 = none */
    wf__ref *last;      /* [states] adjoints after the loop; 0 = not active */
    wf__ref *scatter;   /* [scatters] SCATTERs in the loop, whose values all turns make together */
    wf__ref *scattered; /* [scatters] their adjoints after the loop */
    uint32_t scatters;
    wf__ref *alone; /* [nodes of the loop] wf__sweep.alone of its effects */
    struct {        /* next values of the states of the loop that ends next */
        wf__ref state, value;
    } * later;
    uint32_t later_n;
} tape;

/* ---- numbers of turns: u32 ---- */
static wf__ref number(wf__ir *ir, uint32_t n) { return wf__const_bits(ir, WF_U32, n); }
static wf__ref plus(wf__ir *ir, wf__ref a, uint32_t n) { return wf__op2(ir, WF__OP_add, a, number(ir, n)); }
static wf__ref less(wf__ir *ir, wf__ref a, uint32_t n) { return wf__op2(ir, WF__OP_sub, a, number(ir, n)); }
static wf__ref select(wf__ir *ir, wf__ref c, wf__ref a, wf__ref b) { return wf__op3(ir, WF__OP_select, c, a, b); }
/* The number of bits without leading zeros. */
static wf__ref length(wf__ir *ir, wf__ref a)
{
    return wf__op2(ir, WF__OP_sub, number(ir, 32), wf__op1(ir, WF__OP_clz, a));
}
/* True if a is a multiple of 2^log. */
static wf__ref is_multiple(wf__ir *ir, wf__ref a, wf__ref log)
{
    wf__ref below = less(ir, wf__op2(ir, WF__OP_shl, number(ir, 1), log), 1);
    return wf__op2(ir, WF__OP_eq, wf__op2(ir, WF__OP_and, a, below), number(ir, 0));
}

/* log2 of the stride at turn t. */
static wf__ref stride_at(const tape *p, wf__ref t)
{
    return length(p->ir, wf__op2(p->ir, WF__OP_shr, t, number(p->ir, p->log_turns)));
}

/* The place on the tape of turn t, a multiple of the stride 2^log. */
static wf__ref place_of(const tape *p, wf__ref t, wf__ref log)
{
    wf__ir *ir = p->ir;
    const uint32_t bits = p->log_turns;
    _Static_assert(WF__TAPE_TURNS == 256, "their logarithm is a power of two");
    if (!p->strided)
        return t;
    wf__ref at = wf__op2(ir, WF__OP_shr, t, log), by = wf__both(ir, log, number(ir, bits - 1));
    wf__ref high = wf__op2(ir, WF__OP_shl, at, by);
    wf__ref low = wf__op2(ir, WF__OP_shr, at, wf__op2(ir, WF__OP_sub, number(ir, bits), by));
    return wf__op2(ir, WF__OP_or, high, low); /* PUT and GET leave off higher bits */
}

/* ---- loops that are recorded ---- */
static void set_later(tape *p, wf__ref state, wf__ref value)
{
    p->later[p->later_n].state = state;
    p->later[p->later_n++].value = value;
}

static void end_loop(tape *p, wf__ref loop)
{
    for (uint32_t i = 0; i < p->later_n; ++i)
        wf__next(p->ir, p->later[i].state, p->later[i].value);
    p->later_n = 0;
    wf__end(p->ir, loop);
}

static unsigned dtype_of(const tape *p, uint32_t i) { return wf__turn_state(&p->turn, i)->dtype; }
static bool is_guard(const tape *p, uint32_t i) { return wf__turn_state(&p->turn, i)->aux; }

/* Copies the body for the points whose turn it is. */
static wf__ref copy_running_turn(tape *p, wf__ref mine)
{
    memcpy(p->given, p->value, p->states * sizeof *p->given);
    return wf__turn_copy(&p->turn, p->given, mine);
}

/* Drops the effects of the copy that was recorded last. first: its first node. */
static void drop_effects(tape *p, wf__ref first) { wf__drop_effects(p->ir, first, p->ir->n); }

/* ---- the first loop ---- */
static void record_first(tape *p)
{
    wf__ir *ir = p->ir;
    wf__ref zero = p->open ? number(ir, 0) : wf__broadcast_to(ir, number(ir, 0), p->shape);
    for (uint32_t i = 0; i < p->states; ++i)
        p->saved[i] = wf__local(ir, dtype_of(p, i), 1u << p->log_turns, p->shape);
    wf__ref loop = wf__loop(ir, false);
    for (uint32_t i = 0; i < p->states; ++i)
        p->value[i] = wf__state(ir, loop, wf__turn_state(&p->turn, i)->b, is_guard(p, i));
    for (uint32_t i = 0; i < p->states; ++i)
        p->saved[i] = wf__state(ir, loop, p->saved[i], false);
    wf__ref turns = wf__state(ir, loop, zero, false), turn = wf__state(ir, loop, zero, false),
            after = plus(ir, turn, 1);
    drop_effects(p, wf__turn_copy(&p->turn, p->value, 0));
    wf__ref runs = wf__turn_runs(&p->turn, p->value), log = p->strided ? stride_at(p, turn) : 0;
    wf__ref place = place_of(p, turn, log), save = p->strided ? is_multiple(ir, turn, log) : 0;
    for (uint32_t i = 0; i < p->states; ++i) {
        set_later(p, p->saved[i], wf__put(ir, p->saved[i], place, p->value[i], save));
        set_later(p, p->value[i], wf__turn_next(&p->turn, i));
    }
    set_later(p, turns, select(ir, runs, after, turns));
    set_later(p, turn, after);
    end_loop(p, loop);
    p->turns = turns;
    p->all_turns = turn;
    p->stride = p->strided ? stride_at(p, less(ir, turn, 1)) : 0;
}

/* ---- the second loop: states of a turn ---- */
/* Sets p->value to the states of the latest turn that is saved, up to `turn`, and returns its number. height: the number of
 * entries of the second tape. */
static wf__ref find_saved(tape *p, wf__ref turn, wf__ref height)
{
    wf__ir *ir = p->ir;
    wf__ref any = wf__op2(ir, WF__OP_gt, height, number(ir, 0));
    wf__ref top = less(ir, wf__op2(ir, WF__OP_max, height, number(ir, 1)), 1);
    wf__ref saved = wf__op2(ir, WF__OP_shl, wf__op2(ir, WF__OP_shr, turn, p->stride), p->stride);
    wf__ref from = select(ir, any, wf__get(ir, p->stack[p->states], top), saved), place = place_of(p, saved, p->stride);
    for (uint32_t i = 0; i < p->states; ++i)
        p->value[i] = select(ir, any, wf__get(ir, p->stack[i], top), wf__get(ir, p->saved[i], place));
    return from;
}

/* log2 of the stride of the turns that are saved on a way of that many turns: fewer than half of the free places. */
static wf__ref stride_of_way(const tape *p, wf__ref way, wf__ref height)
{
    wf__ir *ir = p->ir;
    wf__ref room = length(ir, wf__op2(ir, WF__OP_sub, number(ir, 1u << p->log_turns), height));
    room = less(ir, wf__op2(ir, WF__OP_max, room, number(ir, 2)), 2);
    return wf__op2(ir, WF__OP_sub, wf__op2(ir, WF__OP_max, length(ir, way), room), room);
}

/* Sets p->value to the states of a turn, computed from the latest turn that is saved, and p->next to the second tape
 * afterwards. height: the number of its entries. Returns that number afterwards. */
static wf__ref find_states(tape *p, wf__ref turn, wf__ref height)
{
    wf__ir *ir = p->ir;
    const uint32_t n = p->states;
    wf__ref from = find_saved(p, turn, height), way = wf__op2(ir, WF__OP_sub, turn, from);
    wf__ref log = stride_of_way(p, way, height), some = wf__op2(ir, WF__OP_lt, from, turn);

    wf__ref loop = wf__loop(ir, false), go = wf__state(ir, loop, some, true);
    wf__ref at = wf__state(ir, loop, from, false), count = wf__state(ir, loop, height, false);
    for (uint32_t i = 0; i < n; ++i)
        p->value[i] = wf__state(ir, loop, p->value[i], false);
    for (uint32_t i = 0; i <= n; ++i)
        p->next[i] = wf__state(ir, loop, p->stack[i], false);
    drop_effects(p, copy_running_turn(p, wf__op2(ir, WF__OP_lt, at, p->turns)));
    wf__ref after = plus(ir, at, 1), goes_on = wf__op2(ir, WF__OP_lt, after, turn);
    wf__ref save = wf__both(ir, goes_on, is_multiple(ir, wf__op2(ir, WF__OP_sub, after, from), log));
    for (uint32_t i = 0; i < n; ++i) {
        wf__ref value = wf__turn_next(&p->turn, i);
        set_later(p, p->next[i], wf__put(ir, p->next[i], count, value, save));
        set_later(p, p->value[i], value);
    }
    set_later(p, p->next[n], wf__put(ir, p->next[n], count, after, save));
    set_later(p, count, select(ir, save, plus(ir, count, 1), count));
    set_later(p, at, after);
    set_later(p, go, goes_on);
    end_loop(p, loop);
    /* The turn itself was on top of the second tape: the walk needs it once. */
    wf__ref on_top =
        wf__both(ir, wf__op2(ir, WF__OP_gt, height, number(ir, 0)), wf__op2(ir, WF__OP_eq, way, number(ir, 0)));
    return select(ir, on_top, less(ir, count, 1), count);
}

/* ---- the second loop: adjoints ---- */
/* Hands what a turn contributes to the contents of arrays to the sweep around the loop. */
static void give_arrays(const tape *p, const wf__sweep *turn)
{
    for (uint32_t object = 0; object < turn->route.objects; ++object)
        for (uint32_t i = turn->array[object].first; i; i = turn->part[i].next)
            wf__add_part(p->s, &p->s->array[object], turn->part[i].adjoint);
}

/* Hands the SCATTERs among the contributions to an outer value, each the sum over all turns, to the sweep around the loop, and
 * takes them off the list. */
static void give_scatters(const tape *p, wf__sweep *turn, uint32_t k)
{
    const wf__ref r = p->turn.outer[k];
    if (!p->ir->arrays || wf__turn_reads(&p->turn, k))
        return;
    wf__sum *list = &turn->node[r];
    const wf__sum all = *list;
    *list = (wf__sum){ 0 };
    for (uint32_t i = all.first; i; i = turn->part[i].next) {
        const wf__adjoint a = turn->part[i].adjoint;
        if (p->ir->node[a.value].op == WF__SCATTER)
            wf__add_part(p->s, &p->s->node[r], a);
        else
            wf__add_part(turn, list, a);
    }
}

/* Hands the points that have an effect alone to the walk over a turn. */
static bool set_alone(const tape *p, wf__sweep *turn)
{
    turn->alone = wf__alloc0((turn->route.n + 1) * sizeof *turn->alone);
    if (!turn->alone) {
        wf__ir_fail(p->ir, WF_ERR_MEMORY, "%s: out of memory", p->s->task->function);
        return false;
    }
    for (wf__ref r = p->turn.loop.loop; r < p->turn.loop.end; ++r)
        if (p->alone[r - p->turn.loop.loop])
            turn->alone[p->turn.map[r]] = p->alone[r - p->turn.loop.loop];
    return true;
}

/* Walks over the copy of a turn, the nodes from `first` on, at the points whose turn it is. Sets adjoint[] to those of its
 * states before the turn, and sum[] to the contributions to the values that are the same in all turns; 0 = none. */
static void reverse_turn(tape *p, wf__ref first, wf__ref mine, wf__ref *adjoint, wf__ref *sum)
{
    wf__ir *ir = p->ir;
    const wf__ad_task none = wf__turn_task(&p->turn);
    wf__sweep turn = { .ir = ir, .task = &none, .walk = p->s->walk, .pointwise = true, .after = p->s->after };
    turn.on = wf__both(ir, p->s->on, mine);
    if (wf__turn_route(&p->turn, p->given, p->adjoint, first, &turn.route) && wf__sweep_begin(&turn) &&
        set_alone(p, &turn)) {
        for (uint32_t i = 0; i < p->states; ++i)
            if (p->adjoint[i])
                wf__give(&turn, wf__turn_next(&p->turn, i), (wf__adjoint){ .value = p->adjoint[i] }, 0);
        for (uint32_t k = 0; k < p->scatters; ++k)
            wf__add_part(&turn, &turn.node[p->turn.map[p->scatter[k]]], (wf__adjoint){ .value = p->scattered[k] });
        turn.walk(&turn, first, turn.route.last);
        for (uint32_t i = 0; i < p->states; ++i)
            adjoint[i] = p->adjoint[i] ? wf__masked(ir, wf__take_sum(&turn, &turn.node[p->given[i]])) : 0;
        for (uint32_t k = 0; k < p->turn.outers; ++k)
            give_scatters(p, &turn, k);
        for (uint32_t k = 0; k < p->turn.outers; ++k)
            sum[k] = wf__masked(ir, wf__take_sum(&turn, wf__outer_sum(&p->turn, &turn, k)));
        give_arrays(p, &turn);
        wf__drop_effects(ir, first, turn.route.n);
    }
    wf__sweep_end(&turn);
    wf__free(turn.alone);
}

static wf__ref zero_of(const tape *p, unsigned dtype) { return wf__const_f64(p->ir, wf__adjoint_dtype(dtype), 0); }

/* Returns the value at all points. Open extents are those of the variables: as the first loop leaves them, which is in the
 * stage of the second one, or as the loop itself does. */
static wf__ref at_all(const tape *p, wf__ref value, bool of_loop)
{
    wf__ir *ir = p->ir;
    if (!ir->arrays || p->s->pointwise)
        return value;
    if (!p->open)
        return wf__broadcast_to(ir, value, p->shape);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->states; ++i)
        if (!wf__local_of(ir, p->turn.first + i))
            p->given[n++] = of_loop ? p->turn.first + i : p->value[i];
    return wf__broadcast_with(ir, value, p->given, n);
}

/* Sets index[] to the index of each point along each axis. */
static void own_indices(const tape *p, wf__ref index[WF_MAX_RANK])
{
    wf__ir *ir = p->ir;
    const wf_shape points = ir->shape[p->shape];
    if (!p->open) {
        wf__own_indices(ir, &points, index);
        return;
    }
    wf__ref one = at_all(p, wf__const_bits(ir, WF_I64, 1), true);
    for (int d = 0; d < points.rank; ++d)
        index[d] = wf__scanned(ir, WF_JOIN_ADD, one, d, WF__EXCLUSIVE);
}

/* True at one of the points that share an element of this shape; 0 = they share none. */
static wf__ref first_of_sharers(tape *p, uint32_t own)
{
    wf__ir *ir = p->ir;
    const wf_shape points = ir->shape[p->shape], shape = ir->shape[own];
    wf__ref index[WF_MAX_RANK], first = 0;
    own_indices(p, index);
    for (int d = 0; d < points.rank && ir->status == WF_OK; ++d) {
        const int axis = d - (points.rank - shape.rank);
        if (points.dim[d] != 1 && (axis < 0 || shape.dim[axis] == 1))
            first = wf__both(ir, first, wf__index_op(ir, WF__OP_eq, index[d], 0));
    }
    return first;
}

/* The adjoint of state i after the loop, as a sum over all points: one point alone has that of an element that several
 * points share. */
static wf__ref at_points(tape *p, uint32_t i, wf__adjoint given)
{
    wf__ir *ir = p->ir;
    wf__ref value = given.value ? wf__masked(ir, given) : zero_of(p, dtype_of(p, i));
    if (!ir->arrays || p->s->pointwise)
        return value;
    const uint32_t own = wf__turn_state(&p->turn, i)->shape;
    wf__ref first = given.value && own != p->shape ? first_of_sharers(p, own) : 0;
    return wf__masked(ir, (wf__adjoint){ at_all(p, value, false), first });
}

/* True for what the turns change, and for SCATTERs, which all of them make together, on the way. */
static bool is_effect(const tape *p, wf__ref r)
{
    const wf__node *n = &p->turn.in.node[r];
    return n->op == WF__SCATTER ? wf__is_active(p->s, r)
                                : wf__op_is_store(n->op) && p->turn.effects[wf__object_of(p->ir, n)];
}

static uint32_t points_of_effect(const tape *p, wf__ref r)
{
    const wf__node *n = &p->turn.in.node[r];
    return !is_effect(p, r) ? 0 : n->op == WF__SCATTER ? wf__update_of_scatter(p->ir, n).points : n->shape;
}

/* Finds the points that have an effect alone: an effect with a smaller shape than that of all points takes place once for
 * the points that share its place. */
static void find_alone(tape *p)
{
    for (wf__ref r = p->turn.loop.loop; r < p->turn.loop.end && p->ir->arrays && p->ir->status == WF_OK; ++r) {
        const uint32_t shape = points_of_effect(p, r);
        wf__ref *alone = &p->alone[r - p->turn.loop.loop];
        if (p->s->pointwise)
            *alone = p->s->alone ? p->s->alone[r] : 0;
        else if (shape != p->shape && is_effect(p, r))
            *alone = first_of_sharers(p, shape);
    }
}

/* True if the body uses an outer value at its points. Where it gathers elements of it, SCATTERs have the contributions. */
static bool is_summed(const tape *p, uint32_t k)
{
    const wf__ir *in = &p->turn.in;
    wf__ref operand[WF__AD_OPERANDS];
    for (wf__ref r = p->turn.loop.loop; r < p->turn.loop.end && !wf__turn_reads(&p->turn, k); ++r) {
        const wf__node *n = &in->node[r];
        const bool gathers = n->op == WF__VIEW && n->aux == WF__VIEW_GATHER && n->a == p->turn.outer[k];
        const uint32_t count = gathers ? 0 : wf__ad_operands(in, r, false, operand);
        for (uint32_t i = 0; i < count; ++i)
            if (operand[i] == p->turn.outer[k])
                return true;
    }
    return wf__turn_reads(&p->turn, k);
}

static void take_scatters(tape *p)
{
    wf__ir *ir = p->ir;
    for (wf__ref r = p->turn.loop.loop; r < p->turn.loop.end && ir->status == WF_OK; ++r) {
        if (p->turn.in.node[r].op != WF__SCATTER || !p->s->node[r].first)
            continue;
        p->scatter[p->scatters] = r;
        p->scattered[p->scatters++] = wf__masked(ir, wf__take_sum(p->s, &p->s->node[r]));
    }
}

/* given: [states] the adjoints of the states after the loop. */
static void record_second(tape *p, const wf__adjoint *given)
{
    wf__ir *ir = p->ir;
    const uint32_t n = p->states;
    wf__ref height = 0, height_next = 0, *adjoint = wf__alloc0((n + p->turn.outers + 1) * sizeof *adjoint);
    if (!adjoint) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", p->s->task->function);
        return;
    }
    for (uint32_t i = 0; i < n; ++i)
        if (wf__is_active(p->s, p->turn.first + i))
            p->adjoint[i] = p->last[i] = at_points(p, i, given[i]);
    take_scatters(p);
    find_alone(p);
    for (uint32_t k = 0; k < p->turn.outers; ++k)
        p->sum[k] = is_summed(p, k) ? at_all(p, zero_of(p, wf__dtype(ir, p->turn.outer[k])), false) : 0;
    wf__ref zero = number(ir, 0), some = wf__op2(ir, WF__OP_gt, p->all_turns, zero);
    for (uint32_t i = 0; p->strided && i <= n; ++i) {
        const unsigned dtype = i < n ? dtype_of(p, i) : WF_U32;
        p->stack[i] = wf__local(ir, dtype, 1u << p->log_turns, p->shape);
        p->stack[i] = wf__put(ir, p->stack[i], zero, wf__const_f64(ir, dtype, 0), 0); /* find_states looks at it */
    }

    wf__ref loop = wf__loop(ir, false), on = wf__state(ir, loop, some, true);
    wf__ref left = wf__state(ir, loop, p->all_turns, false);
    for (uint32_t i = 0; i < n; ++i)
        p->adjoint[i] = p->adjoint[i] ? wf__state(ir, loop, p->adjoint[i], false) : 0;
    for (uint32_t k = 0; k < p->turn.outers; ++k)
        p->sum[k] = p->sum[k] ? wf__state(ir, loop, p->sum[k], false) : 0;
    height = p->strided ? wf__state(ir, loop, zero, false) : 0;
    for (uint32_t i = 0; p->strided && i <= n; ++i)
        p->stack[i] = wf__state(ir, loop, p->stack[i], false);
    wf__ref turn = less(ir, left, 1), mine = wf__op2(ir, WF__OP_lt, turn, p->turns);
    if (p->strided)
        height_next = find_states(p, turn, height);
    else
        for (uint32_t i = 0; i < n; ++i)
            p->value[i] = wf__get(ir, p->saved[i], turn);
    wf__ref first = copy_running_turn(p, mine);
    reverse_turn(p, first, mine, adjoint, adjoint + n);
    for (uint32_t i = 0; i < n; ++i)
        if (p->adjoint[i]) {
            wf__ref now = adjoint[i] ? adjoint[i] : zero_of(p, dtype_of(p, i));
            set_later(p, p->adjoint[i], select(ir, mine, now, p->adjoint[i]));
        }
    for (uint32_t k = 0; k < p->turn.outers; ++k) {
        if (!p->sum[k])
            continue;
        wf__ref more = adjoint[n + k] ? wf__op2(ir, WF__OP_add, p->sum[k], adjoint[n + k]) : p->sum[k];
        set_later(p, p->sum[k], select(ir, mine, more, p->sum[k]));
    }
    for (uint32_t i = 0; p->strided && i <= n; ++i)
        set_later(p, p->stack[i], p->next[i]);
    if (p->strided)
        set_later(p, height, height_next);
    set_later(p, left, turn);
    set_later(p, on, wf__op2(ir, WF__OP_gt, turn, zero));
    end_loop(p, loop);
    wf__free(adjoint);
}

/* ---- the whole ---- */
static bool begin(tape *p, const wf__region *loop)
{
    wf__ir *ir = p->ir;
    if (!wf__turn_begin(ir, p->s->task, &p->s->route, loop, &p->turn))
        return false;
    const uint32_t n = p->states = p->turn.states, outers = p->turn.outers, turns = loop->most;
    uint32_t scatters = 0;
    for (wf__ref r = loop->loop; r < loop->end; ++r)
        scatters += p->turn.in.node[r].op == WF__SCATTER;
    p->saved = wf__alloc0((7 * ((size_t)n + 1) + outers + 2 * (size_t)scatters) * sizeof *p->saved);
    p->alone = wf__alloc0((loop->end - loop->loop) * sizeof *p->alone);
    p->later = wf__alloc((3 * (size_t)n + outers + 8) * sizeof *p->later);
    if (!p->saved || !p->alone || !p->later) {
        wf__ir_fail(ir, WF_ERR_MEMORY, "%s: out of memory", p->s->task->function);
        return false;
    }
    wf__ref **list[] = { &p->stack, &p->next, &p->value, &p->given, &p->adjoint, &p->last };
    for (size_t k = 0; k < WF__COUNT(list); ++k)
        *list[k] = p->saved + (k + 1) * (n + 1);
    p->sum = p->saved + 7 * (n + 1);
    p->scatter = p->sum + outers;
    p->scattered = p->scatter + scatters;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; ++i)
        bytes += wf__size(dtype_of(p, i));
    p->strided = !turns || (turns > WF__TAPE_TURNS && turns * bytes > WF__TAPE_BYTES);
    while ((1u << p->log_turns) < (p->strided ? (uint32_t)WF__TAPE_TURNS : turns))
        ++p->log_turns;
    for (uint32_t i = 0; i < n && ir->arrays; ++i)
        p->shape = wf__broadcast_id(ir, wf__turn_state(&p->turn, i), p->shape, wf__turn_state(&p->turn, i)->shape);
    const uint32_t of_states = p->shape;
    for (wf__ref r = loop->loop; r < loop->end && ir->arrays; ++r) {
        const wf__node *effect = &p->turn.in.node[r];
        const uint32_t shape = points_of_effect(p, r);
        if (shape)
            p->shape = wf__broadcast_id(ir, effect, p->shape, shape);
    }
    p->open = ir->arrays && ir->status == WF_OK && !wf__shape_known(ir, p->shape);
    if (p->open && p->shape != of_states)
        wf__ir_fail_at(
            ir, &ir->node[loop->loop], WF_ERR_UNSUPPORTED,
            "%s: a loop that stays a loop, and stores or accumulates at more points than its variables have, "
            "needs arrays whose extents are known; record it with arrays in place of formals",
            p->s->task->function);
    return ir->status == WF_OK;
}

/* True if a result may depend on a state of the loop, on what it scatters or on what it stores. */
static bool has_adjoint(const wf__sweep *s, const wf__region *loop, const wf__adjoint *given)
{
    const wf__ir *ir = s->ir;
    bool any = false;
    for (wf__ref r = loop->loop; r < loop->end; ++r)
        any = any || wf__op_is_store(ir->node[r].op) || (ir->node[r].op == WF__SCATTER && s->node[r].first);
    for (uint32_t i = 0; i < wf__loop_body(ir, loop->loop) - (loop->loop + 1); ++i)
        any = any || given[i].value;
    return any;
}

void wf__reverse_loop(wf__sweep *s, const wf__region *loop, const wf__adjoint *given)
{
    tape p = { .s = s, .ir = s->ir };
    wf__ir *ir = s->ir;
    if (!has_adjoint(s, loop, given))
        return;
    const bool outermost = ir->arrays && !s->pointwise;
    if (begin(&p, loop) && (!outermost || wf__effects_begin(s, loop))) {
        record_first(&p);
        record_second(&p, given);
        if (ir->status == WF_OK)
            wf__give_outputs(&(wf__outputs){ .s = s,
                                             .turn = &p.turn,
                                             .walk = p.turns,
                                             .last = p.last,
                                             .adjoint = p.adjoint,
                                             .sum = p.sum,
                                             .scatter = p.scatter,
                                             .scattered = p.scattered,
                                             .scatters = p.scatters });
    }
    if (outermost) {
        wf__effects_end(s, loop);
        if (ir->status == WF_OK)
            wf__replace_effects(&p.turn);
    }
    wf__turn_free(&p.turn);
    wf__free(p.saved);
    wf__free(p.alone);
    wf__free(p.later);
}
