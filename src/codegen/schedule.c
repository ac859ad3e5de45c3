/* schedule.c - the order in which INTERIOR's innermost loop is emitted.
 *
 * Problem: a tile lists each node for all its points (unless `by_column`). This interleaves independent chains,
 * but where points share loads, as in a stencil, it keeps far too many values alive.
 *
 * Idea: a second order is driven by data. It emits a load, then every node whose operands are complete, then the next
 * load; preferably a load that completes all its users, so that its value dies at once. For a convolution this is the
 * hand-written order: load a vector of an input row, and use it in every output row that it belongs to.
 *
 * The first order is kept if it fits into the registers, or if the second needs no fewer. If it fits, nodes are sorted
 * by the cycle in which their operands are complete, as far as there are registers for that: chains that do not depend
 * on each other then run side by side, and hide each other's latency. Otherwise divisions and square roots alone move
 * up: they occupy their unit for many cycles, which the nodes between them and their users hide.
 *
 * A branch around a rare path would end the basic block between such chains. With mask registers it moves to the place
 * where its condition is complete (instance.h, `early_cold`). As LLVM orders nodes within blocks only, chains then run
 * side by side even if that takes somewhat more registers than there are: storing a vector and loading it again costs
 * less than a chain that waits.
 *
 * The body of a loop is ordered chain by chain if it is short and has no accesses: its columns are independent, and the
 * window of the processor holds all of them. This keeps fewer values alive than node by node for all columns.
 *
 * Requirement: accesses may change order only if none may alias, which may_reorder tests.
 */
#include "codegen/phases.h"
#include "ir/cost.h"
#include <stdlib.h>

enum { MOST_READ = 64 }; /* values that one node's code reads */

enum state { OUTSIDE, WAITING, DONE }; /* OUTSIDE = not a varying value of the loop */

typedef struct heap { /* of node numbers, the least key on top */
    uint32_t *at, n;
    const uint32_t *key;
} heap;

typedef struct sorter {
    const wf__instance *in;
    const wf__ir *ir;
    uint32_t n;              /* nodes of the IR */
    uint32_t *user, *first;  /* users of r: user[first[r] .. first[r + 1]] */
    uint32_t *missing;       /* number of distinct varying operands that are not placed yet */
    uint32_t *ripe;          /* of each source: number of users that wait for nothing else */
    uint32_t *last_user;     /* the highest user of each node: the key of sources */
    uint8_t *state, *source; /* source: loads, and values without varying operands */
    heap all, some;          /* sources with all users ripe, or some; entries may be DONE */
    uint32_t *stack, *order; /* order: the result */
    uint32_t order_n, first_waiting;
} sorter;

/* ---- heaps ---- */
static void push_heap(heap *h, uint32_t r)
{
    uint32_t i = h->n++;
    for (; i && h->key[h->at[(i - 1) / 2]] > h->key[r]; i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = r;
}

static uint32_t pop_heap(heap *h)
{
    uint32_t top = h->at[0], last = h->at[--h->n], i = 0;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= h->n)
            break;
        if (child + 1 < h->n && h->key[h->at[child + 1]] < h->key[h->at[child]])
            child++;
        if (h->key[h->at[child]] >= h->key[last])
            break;
        h->at[i] = h->at[child];
        i = child;
    }
    h->at[i] = last;
    return top;
}

/* ---- operands ---- */
/* The distinct varying operands of r. */
static uint32_t varying_operands(const sorter *s, wf__ref r, wf__ref out[WF__MAX_OPERANDS])
{
    wf__ref all[WF__MAX_OPERANDS];
    uint32_t n = wf__operands(s->ir, wf__at(s->ir, r), all), kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool skip = s->state[all[i]] == OUTSIDE;
        for (uint32_t k = 0; k < kept && !skip; k++)
            skip = out[k] == all[i];
        if (!skip)
            out[kept++] = all[i];
    }
    return kept;
}

/* Uniform values of the loop are placed right before their first user. */
static void place_uniform_operands(sorter *s, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t n = wf__operands(s->ir, wf__at(s->ir, r), operand);
    for (uint32_t i = 0; i < n; i++) {
        wf__ref a = operand[i];
        bool uniform = s->in->vary[a].kind == WF__UNIFORM;
        if (s->in->vary[a].kind == WF__VARYING || s->in->level[a] != s->in->kernel->rank || s->state[a] == DONE)
            continue;
        s->state[a] = uniform ? DONE : OUTSIDE;
        place_uniform_operands(s, a);
        if (uniform)
            s->order[s->order_n++] = a;
    }
}

/* User r waits for one value only. If this value is a source, r is ripe for it. */
static void note_ripe(sorter *s, wf__ref r)
{
    wf__ref operand[WF__MAX_OPERANDS];
    uint32_t n = varying_operands(s, r, operand);
    for (uint32_t i = 0; i < n; i++) {
        wf__ref a = operand[i];
        if (s->state[a] != WAITING)
            continue;
        if (!s->source[a])
            return;
        s->ripe[a]++;
        if (s->ripe[a] == s->first[a + 1] - s->first[a])
            push_heap(&s->all, a);
        else if (s->ripe[a] == 1)
            push_heap(&s->some, a);
        return;
    }
}

/* Places r and every node that it completes. */
static void place_from(sorter *s, wf__ref r)
{
    uint32_t depth = 0;
    s->stack[depth++] = r;
    while (depth) {
        wf__ref top = s->stack[--depth];
        place_uniform_operands(s, top);
        s->state[top] = DONE;
        s->order[s->order_n++] = top;
        for (uint32_t i = s->first[top + 1];
             i-- > s->first[top];) { /* in descending order, so that the lowest user is on top of the stack */
            wf__ref user = s->user[i];
            uint32_t left = --s->missing[user];
            if (left == 0 && !s->source[user])
                s->stack[depth++] = user;
            else if (left == 1)
                note_ripe(s, user);
        }
    }
}

static bool is_ready(const sorter *s, wf__ref r) { return s->state[r] == WAITING && s->source[r] && !s->missing[r]; }

static wf__ref next_source(sorter *s)
{
    heap *const heaps[2] = { &s->all, &s->some };
    for (int h = 0; h < 2; h++)
        while (heaps[h]->n) {
            wf__ref r = pop_heap(heaps[h]);
            if (is_ready(s, r))
                return r;
        }
    while (s->first_waiting < s->n && s->state[s->first_waiting] != WAITING)
        s->first_waiting++;
    for (wf__ref r = s->first_waiting; r < s->n; r++)
        if (is_ready(s, r))
            return r;
    return 0;
}

/* ---- setting up ---- */
static bool init_sorter(sorter *s, wf__instance *in)
{
    uint32_t n = in->ir->n, edges = 0;
    *s = (sorter){ .in = in, .ir = in->ir, .n = n, .first_waiting = 1 };
    s->state = wf__alloc0(n);
    s->source = wf__alloc0(n);
    s->missing = wf__alloc0(n * sizeof *s->missing);
    s->ripe = wf__alloc0(n * sizeof *s->ripe);
    s->last_user = wf__alloc0(n * sizeof *s->last_user);
    s->first = wf__alloc0((n + 2) * sizeof *s->first);
    s->stack = wf__alloc(n * sizeof *s->stack);
    s->order = wf__alloc(n * sizeof *s->order);
    s->all.at = wf__alloc(n * sizeof *s->all.at);
    s->some.at = wf__alloc(n * sizeof *s->some.at);
    if (!s->state || !s->source || !s->missing || !s->ripe || !s->last_user || !s->first || !s->stack || !s->order ||
        !s->all.at || !s->some.at)
        return false;
    for (uint32_t i = 0; i < in->order_n; i++)
        if (in->vary[in->order[i]].kind == WF__VARYING && s->ir->node[in->order[i]].op != WF__SETRED)
            s->state[in->order[i]] = WAITING;
    wf__ref operand[WF__MAX_OPERANDS];
    for (wf__ref r = 1; r < n; r++) {
        if (s->state[r] != WAITING)
            continue;
        s->missing[r] = varying_operands(s, r, operand);
        s->source[r] = !s->missing[r] || s->ir->node[r].op == WF__LOAD;
        edges += s->missing[r];
        for (uint32_t i = 0; i < s->missing[r]; i++)
            s->first[operand[i] + 2]++;
    }
    for (wf__ref r = 2; r < n + 2; r++)
        s->first[r] += s->first[r - 1];
    s->user = wf__alloc((edges + 1) * sizeof *s->user);
    if (!s->user)
        return false;
    for (wf__ref r = 1; r < n; r++) {
        uint32_t count = s->state[r] == WAITING ? varying_operands(s, r, operand) : 0;
        for (uint32_t i = 0; i < count; i++)
            s->user[s->first[operand[i] + 1]++] = s->last_user[operand[i]] = r;
    }
    s->all.key = s->some.key = s->last_user;
    return true;
}

static void free_sorter(sorter *s)
{
    wf__free(s->state);
    wf__free(s->source);
    wf__free(s->missing);
    wf__free(s->ripe);
    wf__free(s->last_user);
    wf__free(s->first);
    wf__free(s->user);
    wf__free(s->stack);
    wf__free(s->order);
    wf__free(s->all.at);
    wf__free(s->some.at);
}

/* ---- registers ---- */
static bool is_early_cold(const wf__instance *in, wf__ref r)
{
    return wf__at(in->ir, r)->op == WF__COLD && in->vary[r].kind == WF__VARYING;
}

/* Finds what the code of node r reads, and returns how many. With `early_cold` the users of a COLD node read its
 * `otherwise`, which the node itself does not. */
static uint32_t read_by(const wf__instance *in, wf__ref r, bool early_cold, wf__ref out[MOST_READ])
{
    wf__ref operand[WF__MAX_OPERANDS];
    const wf__node *node = wf__at(in->ir, r);
    uint32_t count = wf__operands(in->ir, node, operand), n = 0;
    bool skips = early_cold && is_early_cold(in, r);
    for (uint32_t k = 0; k < count; k++) {
        wf__ref a = operand[k];
        if (skips && a == node->b) {
            skips = false; /* an argument may be the same node */
            continue;
        }
        out[n++] = a;
        for (; early_cold && is_early_cold(in, a) && n < MOST_READ - WF__MAX_OPERANDS; n++)
            out[n] = a = wf__at(in->ir, a)->b;
    }
    return n;
}

/* The largest number of vector registers that are live at once in this order. last: [ir.n], zeros. */
static uint32_t count_live(const wf__instance *in, const uint32_t *order, bool early_cold, uint32_t *last)
{
    uint32_t live = 0, most = 0, n = in->order_n;
    const unsigned bytes = (unsigned)in->g->options->target->vector_bits / 8;
    wf__ref operand[MOST_READ];
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t count = read_by(in, order[i], early_cold, operand), k = 0; k < count; k++)
            last[operand[k]] = i + 1;
    for (uint32_t i = 0; i < n; i++) {
        const wf__node *node = wf__at(in->ir, order[i]);
        uint32_t count = read_by(in, order[i], early_cold, operand);
        for (uint32_t k = 0; k < count; k++) {
            wf__ref a = operand[k];
            if (last[a] != i + 1 || in->vary[a].kind != WF__VARYING || wf__dtype(in->ir, a) == WF_BOOL)
                continue;
            last[a] = 0; /* freed only once */
            live -= ((unsigned)in->g->width * wf__size(wf__dtype(in->ir, a)) + bytes - 1) / bytes;
        }
        if (!last[order[i]] || node->dtype == WF_BOOL || in->vary[order[i]].kind != WF__VARYING)
            continue;
        live += ((unsigned)in->g->width * wf__size(node->dtype) + bytes - 1) / bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* True if loads and stores cannot alias, and no memory is stored to twice. */
static bool may_reorder(const wf__instance *in)
{
    for (uint32_t i = 0; i < in->ir->slot_n; i++) {
        const wf__slot *slot = &in->ir->slot[i];
        if (slot->epoch > 1 || (slot->read && slot->written) || slot->may_alias)
            return false;
    }
    return true;
}

/* True if the body has updates: what a column computes runs beside the updates of the columns before it. */
static bool updates_memory(const wf__instance *in)
{
    for (uint32_t i = 0; i < in->order_n; i++)
        if (wf__op_is_update(wf__at(in->ir, in->order[i])->op))
            return true;
    return false;
}

static bool has_rare_paths(const wf__instance *in)
{
    bool has = false;
    for (uint32_t i = 0; i < in->order_n; i++)
        has = has || is_early_cold(in, in->order[i]);
    return has;
}

static uint32_t uniform_vectors(const wf__instance *in)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < in->ir->n; i++)
        n += in->live[i] && in->vary[i].kind == WF__UNIFORM && in->level[i] < in->kernel->rank &&
             wf__is_float(in->ir->node[i].dtype) && in->ir->node[i].op != WF__CONST;
    return n;
}

/* ---- chains side by side; divisions and roots ---- */
/* Finds the keys by which nodes are sorted; nodes with equal keys keep their order. key: [ir.n], zeros at first. work:
 * likewise, for what the function needs. */
typedef void find_keys(const wf__instance *in, bool early_cold, uint32_t *key, uint32_t *work);

/* Returns the cycle in which a value is complete. An affine value, which is not in the order, is as its operands; its key is
 * used to remember that. */
static uint32_t cycle_of(const wf__instance *in, wf__ref r, uint32_t *key, const uint32_t *done)
{
    wf__ref operand[WF__MAX_OPERANDS];
    if (in->vary[r].kind != WF__AFFINE)
        return done[r];
    if (!key[r]) {
        uint32_t most = 0;
        for (uint32_t n = wf__operands(in->ir, wf__at(in->ir, r), operand), k = 0; k < n; k++) {
            uint32_t cycle = cycle_of(in, operand[k], key, done);
            most = cycle > most ? cycle : most;
        }
        key[r] = most + 1;
    }
    return key[r] - 1;
}

/* The key of a node is the cycle in which its operands are complete. Accumulators and effects keep their order, and so
 * do loads if they may read what is stored. work: becomes the cycle in which each value is complete. */
static void find_cycles(const wf__instance *in, bool early_cold, uint32_t *key, uint32_t *work)
{
    uint32_t *done = work, before = 0;
    bool free_loads = may_reorder(in);
    wf__ref operand[MOST_READ];
    for (uint32_t i = 0; i < in->order_n; i++) {
        wf__ref r = in->order[i];
        const wf__node *node = wf__at(in->ir, r);
        for (uint32_t n = read_by(in, r, early_cold, operand), k = 0; k < n; k++) {
            uint32_t cycle = cycle_of(in, operand[k], key, done);
            key[r] = cycle > key[r] ? cycle : key[r];
        }
        if (wf__op_is_effect(node->op) || node->op == WF__RED || (node->op == WF__LOAD && !free_loads))
            before = key[r] = before > key[r] ? before : key[r];
        done[r] = key[r] + wf__cost_of(node)->cycles;
    }
}

/* The key of a node is its position, but a division or root follows the last of its operands and of the divisions and
 * roots before it. */
static void find_raised(const wf__instance *in, bool early_cold, uint32_t *key, uint32_t *work)
{
    uint32_t busy = 0;
    wf__ref operand[WF__MAX_OPERANDS];
    WF__UNUSED(early_cold);
    WF__UNUSED(work);
    for (uint32_t i = 0; i < in->order_n; i++) {
        wf__ref r = in->order[i];
        key[r] = i + 1;
        if (!wf__cost_of(wf__at(in->ir, r))->is_long || in->vary[r].kind != WF__VARYING)
            continue;
        for (uint32_t count = wf__operands(in->ir, wf__at(in->ir, r), operand), k = 0; k < count; k++)
            busy = key[operand[k]] > busy ? key[operand[k]] : busy;
        key[r] = busy;
    }
}

static int compare_keys(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Takes the order of these keys if it fits into the registers. */
static bool take_order(wf__instance *in, find_keys *find, bool early_cold, uint32_t limit)
{
    size_t nodes = in->ir->n;
    uint32_t *key = wf__alloc0(3 * nodes * sizeof *key), *order = wf__alloc(in->order_n * sizeof *order);
    uint64_t *sorted = wf__alloc(in->order_n * sizeof *sorted);
    bool fits = key && order && sorted;
    if (fits) {
        find(in, early_cold, key, key + nodes);
        for (uint32_t i = 0; i < in->order_n; i++)
            sorted[i] = (uint64_t)key[in->order[i]] << 32 | i;
        qsort(sorted, in->order_n, sizeof *sorted, compare_keys);
        for (uint32_t i = 0; i < in->order_n; i++)
            order[i] = in->order[(uint32_t)sorted[i]];
        fits = count_live(in, order, early_cold, key + 2 * nodes) <= limit;
    }
    if (fits) {
        memcpy(in->order, order, in->order_n * sizeof *order);
        in->early_cold = early_cold;
    }
    wf__free(key);
    wf__free(order);
    wf__free(sorted);
    return fits;
}

/* ---- bodies of loops ---- */
static wf__ref root_of(wf__ref *parent, wf__ref r)
{
    while (parent[r] != r)
        r = parent[r] = parent[parent[r]];
    return r;
}

static void unite(wf__ref *parent, wf__ref a, wf__ref b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    parent[a > b ? a : b] = a < b ? a : b;
}

static bool is_varying(const wf__instance *in, wf__ref r) { return in->vary[r].kind == WF__VARYING; }

/* Finds the chains of an innermost loop: nodes that depend on each other, in this turn or by a state. parent: [ir.n];
 * nodes of one chain get one root. */
static void find_chains(const wf__instance *in, wf__ref loop, wf__ref end, wf__ref *parent)
{
    const wf__ir *ir = in->ir;
    wf__ref operand[WF__MAX_OPERANDS], body = wf__loop_body(ir, loop);
    for (wf__ref r = loop; r < end; r++)
        parent[r] = r;
    for (wf__ref r = body; r < end; r++) {
        const wf__node *n = wf__at(ir, r);
        uint32_t count = is_varying(in, r) ? wf__operands(ir, n, operand) : 0;
        for (uint32_t k = 0; k < count; k++)
            if (operand[k] > loop && is_varying(in, operand[k]))
                unite(parent, r, operand[k]);
        if (n->op == WF__NEXT && n->b > loop && is_varying(in, n->a) && is_varying(in, n->b))
            unite(parent, n->a, n->b);
    }
}

/* Puts order[from .. to), the body of an innermost loop, chain by chain, and uniform nodes first. */
static void order_by_chain(wf__instance *in, uint32_t from, uint32_t to, wf__ref loop, wf__ref *parent)
{
    uint32_t sorted[WF__CHAINS_OF_LOOP], n = 0;
    wf__ref end = wf__loop_end(in->ir, loop);
    for (uint32_t i = from; i < to; i++)
        if (!wf__op_is_pure(wf__at(in->ir, in->order[i])->op))
            return;
    find_chains(in, loop, end, parent);
    for (uint32_t i = from; i < to; i++)
        if (!is_varying(in, in->order[i]))
            sorted[n++] = in->order[i];
    for (wf__ref root = loop; root < end && n < to - from; root++)
        for (uint32_t i = from; i < to && parent[root] == root; i++)
            if (is_varying(in, in->order[i]) && root_of(parent, in->order[i]) == root)
                sorted[n++] = in->order[i];
    if (n == to - from)
        memcpy(in->order + from, sorted, n * sizeof *sorted);
}

static void order_loops(wf__instance *in)
{
    const wf__ir *ir = in->ir;
    wf__ref *parent = wf__alloc(ir->n * sizeof *parent), loop = 0;
    for (uint32_t i = 0, from = 0; parent && i < in->order_n; i++) {
        const wf__node *n = wf__at(ir, in->order[i]);
        if (n->op == WF__LOOP) {
            loop = n->aux ? 0 : in->order[i];
            from = i + 1;
        } else if (n->op == WF__STATE) {
            from = i + 1;
        } else if ((n->op == WF__NEXT || n->op == WF__END) && loop) {
            if (i - from <= WF__CHAINS_OF_LOOP)
                order_by_chain(in, from, i, loop, parent);
            loop = 0;
        }
    }
    wf__free(parent);
}

/* Takes the order that is driven by data, unless it needs no fewer registers than `now`. last: [ir.n]. */
static void order_by_sources(wf__instance *in, uint32_t now, uint32_t *last)
{
    sorter s = { 0 };
    if (may_reorder(in) && init_sorter(&s, in)) {
        for (wf__ref r = 1; r < s.n; r++)
            if (s.state[r] == WAITING && s.missing[r] == 1 && !s.source[r])
                note_ripe(&s, r);
        for (wf__ref r = next_source(&s); r; r = next_source(&s))
            place_from(&s, r);
        for (uint32_t i = 0; i < in->order_n; i++)
            if (in->ir->node[in->order[i]].op == WF__SETRED)
                s.order[s.order_n++] = in->order[i];
        memset(last, 0, in->ir->n * sizeof *last);
        if (s.order_n == in->order_n && count_live(in, s.order, false, last) < now)
            memcpy(in->order, s.order, in->order_n * sizeof *in->order);
    }
    free_sorter(&s);
}

void wf__schedule_nodes(wf__instance *in, int registers)
{
    if (in->ir->loops) {
        order_loops(in);
        return;
    }
    uint32_t *last = wf__alloc0(in->ir->n * sizeof *last);
    if (!last)
        return;
    uint32_t limit = (uint32_t)registers - 2, held = uniform_vectors(in);
    limit = held < limit / 2 ? limit - held : limit / 2;
    const uint32_t now = count_live(in, in->order, false, last);
    const bool early_cold = in->g->isa == WF__ISA_AVX512 && in->order_n <= WF__LONG_BODY;
    const bool in_place = in->g->by_column || updates_memory(in);
    const uint32_t most = early_cold && has_rare_paths(in) ? limit + limit / 2 : limit;
    const bool in_cycles = !in_place && now <= most && take_order(in, find_cycles, early_cold, most);
    if (!in_cycles && now > limit)
        order_by_sources(in, now, last);
    else if (!in_cycles)
        take_order(in, find_raised, false, limit);
    wf__free(last);
}
