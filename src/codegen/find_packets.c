/* find_packets.c - finds accesses that are emitted as one: packets.
 *
 * Loads, stores and accumulations of one array that differ only in a constant last index access a record. One vector
 * access per lane, and a transposition in registers, are cheaper than an access per element (emit_packet.c). The rows
 * of a tile are records in the same sense where neighbours in memory lie along rows and lanes lie apart: so arrays are
 * transposed.
 *
 * Packets are found in the order of emission. Loads move to the first of them, stores and accumulations to the last
 * one. Invariant: a packet moves only if no access in between could observe the difference.
 */
#include "codegen/phases.h"

enum { MOST_OPEN = 256 }; /* packets */

typedef struct span { /* positions of a packet in in->order */
    uint32_t first, last;
} span;

/* The index axis in which the parts of a record differ. */
static uint32_t part_axis(const wf__ir *ir, const wf__node *n)
{
    const wf__slot *slot = &ir->slot[n->a];
    return wf__tuple_len(ir, n->b) - (slot->record && slot->spread < 2 ? 1 : 2);
}

int64_t wf__packet_part(const wf__ir *ir, const wf__node *n)
{
    wf__ref index = wf__tuple_at(ir, n->b)[part_axis(ir, n)];
    int axis;
    int64_t part = 0;
    if (ir->slot[n->a].record)
        return (int64_t)wf__bits(wf__at(ir, index));
    wf__as_offset(ir, index, &axis, &part);
    return part;
}

/* True for an element of a row of the tile, where the elements of the lanes lie apart. */
static bool is_of_row(const wf__instance *in, const wf__node *n)
{
    const wf__slot *slot = &in->ir->slot[n->a];
    int axis = -1, row = in->ir->rank - 2;
    int64_t part = -1;
    if (in->kind == WF__BORDER || in->kernel->rows < 2 || !wf__is_crossed(slot) || n->op == WF__ACCUM ||
        (n->op == WF__LOAD && n->aux != WF_BORDER_NONE) || in->kernel->body->flags & WF_FLAG_DEBUG)
        return false;
    return wf__as_offset(in->ir, wf__tuple_at(in->ir, n->b)[row], &axis, &part) && axis == row && part >= 0;
}

/* True if node n is an access to a part of a record that may move together with the others. */
static bool is_part(const wf__instance *in, const wf__node *n)
{
    const wf__ir *ir = in->ir;
    if (n->op != WF__LOAD && n->op != WF__STORE && n->op != WF__ACCUM)
        return false;
    const wf__slot *slot = &ir->slot[n->a];
    if (in->g->width < 2)
        return false;
    if (!slot->record)
        return is_of_row(in, n);
    if (n->op == WF__ACCUM && (!(in->g->options->single_thread || wf__node_mode(n) == WF__MODE_EXPAND) ||
                               wf__is_complex(n->dtype) || wf__update_dtype(n->dtype, wf__node_join(n)) != n->dtype))
        return false;
    uint32_t place = part_axis(ir, n);
    const wf__ref *index = wf__tuple_at(ir, n->b);
    if (wf__at(ir, index[place])->op != WF__CONST || wf__packet_part(ir, n) < 0 ||
        wf__packet_part(ir, n) >= slot->record)
        return false;
    bool varies = false;
    for (uint32_t k = 0; k < place; k++) {
        bool unit = slot->step[k] == WF__STEP_UNIT || slot->step[k] == WF__STEP_BACK;
        if (in->vary[index[k]].kind == WF__AFFINE && unit)
            return false; /* its lanes are neighbours in memory, so plain vectors suffice */
        varies |= in->vary[index[k]].kind != WF__UNIFORM && slot->step[k] != WF__STEP_ZERO;
    }
    return varies;
}

/* True if the value outside is known before the first load of the packet. */
static bool is_early(const wf__instance *in, wf__ref other, wf__ref first)
{
    return !other || other == first || wf__at(in->ir, other)->op == WF__CONST || in->level[other] < in->kernel->rank;
}

static bool belongs_to(const wf__instance *in, const wf__packet *p, const wf__node *n)
{
    const wf__ir *ir = in->ir;
    const wf__node *first = wf__at(ir, p->part[0]);
    uint32_t place = part_axis(ir, n), all = wf__tuple_len(ir, n->b);
    bool other_kind =
        n->op != WF__STORE && n->aux != first->aux; /* aux of a store is an epoch: may_move keeps the order */
    if (p->n == WF__MOST_PARTS || n->op != first->op || n->a != first->a || other_kind || n->d != first->d ||
        (n->op == WF__LOAD && (n->when != first->when || !is_early(in, n->c, first->c))))
        return false;
    for (uint32_t k = 0; k < all && (k < place || !ir->slot[n->a].record); k++)
        if (k != place && wf__tuple_at(ir, n->b)[k] != wf__tuple_at(ir, first->b)[k])
            return false;
    for (uint32_t i = 0; i < p->n; i++)
        if (wf__packet_part(ir, wf__at(ir, p->part[i])) == wf__packet_part(ir, n))
            return false;
    return true;
}

/* True if two nodes may touch the same memory. */
static bool may_alias(const wf__ir *ir, const wf__node *a, const wf__node *b)
{
    return a->a == b->a || (ir->slot[a->a].may_alias && ir->slot[b->a].may_alias);
}

/* True if two packets of stores, which may be one record, keep the order of equal parts. */
static bool keeps_order(const wf__instance *in, const wf__packet *p, const wf__packet *q, const span *x, const span *y,
                        const uint32_t *place)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < q->n; k++)
            if (wf__packet_part(in->ir, wf__at(in->ir, p->part[i])) ==
                    wf__packet_part(in->ir, wf__at(in->ir, q->part[k])) &&
                (place[p->part[i]] < place[q->part[k]]) != (x->last < y->last))
                return false;
    return true;
}

/* True if the parts of packet p may move together. place: the position of each node in in->order. stays: packets that
 * may not move. */
static bool may_move(const wf__instance *in, uint32_t p, const span *at, const uint32_t *packet, const uint32_t *place,
                     const bool *stays)
{
    const wf__ir *ir = in->ir;
    const wf__packet *own = &in->packets.all[p];
    const wf__node *first = wf__at(ir, own->part[0]);
    for (uint32_t i = at[p].first + 1; i < at[p].last; i++) {
        wf__ref r = in->order[i];
        const wf__node *n = wf__at(ir, r);
        bool reads = n->op == WF__LOAD, writes = wf__op_is_effect(n->op) && n->op != WF__SETRED && n->op != WF__BARRIER;
        if ((!reads && !writes) || packet[r] == p + 1 || (reads && first->op == WF__LOAD) || !may_alias(ir, n, first))
            continue;
        const wf__packet *other = packet[r] ? &in->packets.all[packet[r] - 1] : NULL;
        if (!other || stays[packet[r] - 1] || n->a != first->a || n->op != first->op ||
            !keeps_order(in, own, other, &at[p], &at[packet[r] - 1], place))
            return false;
    }
    return true;
}

static wf__packet *find_packet(wf__instance *in, const wf__node *n, uint32_t from)
{
    for (uint32_t k = in->packets.n; k-- > from;)
        if (belongs_to(in, &in->packets.all[k], n))
            return &in->packets.all[k];
    if (in->packets.n == MOST_OPEN)
        return NULL;
    in->packets.all[in->packets.n] = (wf__packet){ .n = 0 };
    return &in->packets.all[in->packets.n++];
}

static void gather_parts(wf__instance *in, span *at, uint32_t *packet, uint32_t *place)
{
    uint32_t from = 0; /* packets before it belong to another region of a loop */
    for (uint32_t i = 0; i < in->order_n; i++) {
        wf__ref r = in->order[i];
        const wf__node *n = wf__at(in->ir, r);
        place[r] = i;
        if (wf__is_loop_op(n->op) && n->op != WF__STATE && n->op != WF__NEXT)
            from = in->packets.n;
        wf__packet *p = is_part(in, n) ? find_packet(in, n, from) : NULL;
        if (!p)
            continue;
        uint32_t id = (uint32_t)(p - in->packets.all);
        if (!p->n)
            at[id] = (span){ i, i };
        at[id].last = i;
        p->part[p->n++] = r;
        packet[r] = id + 1;
    }
}

bool wf__find_packets(wf__instance *in)
{
    bool records = false, rows = in->kind != WF__BORDER && in->kernel->rows > 1;
    for (uint32_t s = 0; s < in->ir->slot_n; s++)
        records |= in->ir->slot[s].record || (rows && wf__is_crossed(&in->ir->slot[s]));
    if (!records || in->g->width < 2)
        return true;
    size_t n = in->ir->n;
    in->packets.all = wf__alloc(MOST_OPEN * sizeof *in->packets.all);
    in->packets.of = wf__alloc0(n * sizeof *in->packets.of);
    uint32_t *place = wf__alloc0(n * sizeof *place), *packet = wf__alloc0(n * sizeof *packet);
    span *at = wf__alloc(MOST_OPEN * sizeof *at);
    bool ok = in->packets.all && in->packets.of && place && packet && at;
    if (ok)
        gather_parts(in, at, packet, place);
    bool stays[MOST_OPEN] = { false }, again = ok;
    while (again) {
        again = false;
        for (uint32_t p = 0; p < in->packets.n; p++)
            if (!stays[p] && in->packets.all[p].n > 1 && !may_move(in, p, at, packet, place, stays))
                stays[p] = again = true;
    }
    for (uint32_t p = 0; ok && p < in->packets.n; p++) {
        wf__packet *own = &in->packets.all[p];
        own->at = in->order[wf__at(in->ir, own->part[0])->op == WF__LOAD ? at[p].first : at[p].last];
        for (uint32_t i = 0; i < own->n && own->n > 1 && !stays[p]; i++)
            in->packets.of[own->part[i]] = p + 1;
    }
    wf__free(place);
    wf__free(packet);
    wf__free(at);
    return ok;
}
