/* packet.c - reads, writes and accumulations of one array that differ in a constant last index alone, as operations on
 * records: one vector load or store for each lane (more for records larger than a piece of 32 bytes), and a
 * transposition in registers between pieces of records and vectors of lanes. The same for the rows of a tile, where
 * neighbours in memory lie along rows and lanes lie apart: so arrays are transposed.
 *
 * What belongs together is found in the order of emission, tiles and all. Loads go where the first of them stood,
 * stores and accumulations where the last one did, if nothing in between touches the same memory in a way that would be
 * seen.
 */
#include "codegen/update.h"

enum { PIECE = 32 /* bytes of a record, where vectors have them */, ROW_PIECE = 16 /* of rows */, MOST_OPEN = 256 };

/* ---- finding ---- */
typedef struct span { /* of a packet, in in->order */
    uint32_t first, last;
} span;

/* The index in which parts of a record differ. */
static uint32_t part_place(const wf__ir *ir, const wf__node *n)
{
    const wf__slot *slot = &ir->slot[n->a];
    return wf__tuple_len(ir, n->b) - (slot->record && slot->spread < 2 ? 1 : 2);
}

static int64_t part_of(const wf__ir *ir, const wf__node *n)
{
    wf__ref index = wf__tuple_at(ir, n->b)[part_place(ir, n)];
    int axis;
    int64_t part = 0;
    if (ir->slot[n->a].record)
        return (int64_t)wf__bits(wf__at(ir, index));
    wf__as_offset(ir, index, &axis, &part);
    return part;
}

/* Is it the element of a row of the tile, where lanes lie apart? */
static bool is_of_row(const wf__inst *in, const wf__node *n)
{
    const wf__slot *slot = &in->ir->slot[n->a];
    int axis = -1, row = in->ir->rank - 2;
    int64_t part = -1;
    if (in->safe || in->f->rows < 2 || !wf__is_crossed(slot) || n->op == WF__ACCUM ||
        (n->op == WF__LOAD && n->aux != WF_BORDER_NONE) || in->f->body->flags & WF_FLAG_DEBUG)
        return false;
    return wf__as_offset(in->ir, wf__tuple_at(in->ir, n->b)[row], &axis, &part) && axis == row && part >= 0;
}

/* Is it a part of a record that may be moved as one? */
static bool is_part(const wf__inst *in, const wf__node *n)
{
    const wf__ir *ir = in->ir;
    if (n->op != WF__LOAD && n->op != WF__STORE && n->op != WF__ACCUM)
        return false;
    const wf__slot *slot = &ir->slot[n->a];
    if (in->g->width < 2)
        return false;
    if (!slot->record)
        return is_of_row(in, n);
    if (n->op == WF__ACCUM && (!(in->g->options->alone || wf__node_mode(n) == WF__MODE_EXPAND) ||
                               wf__is_complex(n->dtype) || wf__update_dtype(n->dtype, wf__node_join(n)) != n->dtype))
        return false;
    uint32_t place = part_place(ir, n);
    const wf__ref *index = wf__tuple_at(ir, n->b);
    if (wf__at(ir, index[place])->op != WF__CONST || part_of(ir, n) < 0 || part_of(ir, n) >= slot->record)
        return false;
    bool varies = false;
    for (uint32_t k = 0; k < place; k++) {
        bool unit = slot->step[k] == WF__STEP_UNIT || slot->step[k] == WF__STEP_BACK;
        if (in->vary[index[k]].kind == WF__AFFINE && unit)
            return false; /* vectors of neighbours */
        varies |= in->vary[index[k]].kind != WF__UNIFORM && slot->step[k] != WF__STEP_ZERO;
    }
    return varies;
}

/* The value outside, where there is one, must be there before the first load is. */
static bool early(const wf__inst *in, wf__ref other, wf__ref first)
{
    return !other || other == first || wf__at(in->ir, other)->op == WF__CONST || in->level[other] < in->f->rank;
}

static bool belongs(const wf__inst *in, const wf__packet *p, const wf__node *n)
{
    const wf__ir *ir = in->ir;
    const wf__node *first = wf__at(ir, p->part[0]);
    uint32_t place = part_place(ir, n), all = wf__tuple_len(ir, n->b);
    bool other_kind = n->op != WF__STORE && n->aux != first->aux; /* of a store it is an epoch: may_move keeps order */
    if (p->n == WF__MOST_PARTS || n->op != first->op || n->a != first->a || other_kind || n->d != first->d ||
        (n->op == WF__LOAD && (n->when != first->when || !early(in, n->c, first->c))))
        return false;
    for (uint32_t k = 0; k < all && (k < place || !ir->slot[n->a].record); k++)
        if (k != place && wf__tuple_at(ir, n->b)[k] != wf__tuple_at(ir, first->b)[k])
            return false;
    for (uint32_t i = 0; i < p->n; i++)
        if (part_of(ir, wf__at(ir, p->part[i])) == part_of(ir, n))
            return false;
    return true;
}

/* May what two nodes touch be the same? */
static bool may_meet(const wf__ir *ir, const wf__node *a, const wf__node *b)
{
    return a->a == b->a || (ir->slot[a->a].meets && ir->slot[b->a].meets);
}

/* Is the order of emission right for parts of two records of stores that may be one record? */
static bool in_turn(const wf__inst *in, const wf__packet *p, const wf__packet *q, const span *x, const span *y,
                    const uint32_t *place)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < q->n; k++)
            if (part_of(in->ir, wf__at(in->ir, p->part[i])) == part_of(in->ir, wf__at(in->ir, q->part[k])) &&
                (place[p->part[i]] < place[q->part[k]]) != (x->last < y->last))
                return false;
    return true;
}

/* Can the parts of packet p be moved together? place: of each node in in->order; stays: packets that cannot. */
static bool may_move(const wf__inst *in, uint32_t p, const span *at, const uint32_t *packet, const uint32_t *place,
                     const bool *stays)
{
    const wf__ir *ir = in->ir;
    const wf__packet *own = &in->packet[p];
    const wf__node *first = wf__at(ir, own->part[0]);
    for (uint32_t i = at[p].first + 1; i < at[p].last; i++) {
        wf__ref r = in->order[i];
        const wf__node *n = wf__at(ir, r);
        bool reads = n->op == WF__LOAD, writes = wf__op_is_effect(n->op) && n->op != WF__SETRED && n->op != WF__BARRIER;
        if ((!reads && !writes) || packet[r] == p + 1 || (reads && first->op == WF__LOAD) || !may_meet(ir, n, first))
            continue;
        const wf__packet *other = packet[r] ? &in->packet[packet[r] - 1] : NULL;
        if (!other || stays[packet[r] - 1] || n->a != first->a || n->op != first->op ||
            !in_turn(in, own, other, &at[p], &at[packet[r] - 1], place))
            return false;
    }
    return true;
}

static wf__packet *open_packet(wf__inst *in, const wf__node *n, uint32_t from)
{
    for (uint32_t k = in->packet_n; k-- > from;)
        if (belongs(in, &in->packet[k], n))
            return &in->packet[k];
    if (in->packet_n == MOST_OPEN)
        return NULL;
    in->packet[in->packet_n] = (wf__packet){ .n = 0 };
    return &in->packet[in->packet_n++];
}

static void gather_parts(wf__inst *in, span *at, uint32_t *packet, uint32_t *place)
{
    uint32_t from = 0; /* packets before it are in another part of a loop, or outside */
    for (uint32_t i = 0; i < in->order_n; i++) {
        wf__ref r = in->order[i];
        const wf__node *n = wf__at(in->ir, r);
        place[r] = i;
        if (wf__is_loop_op(n->op) && n->op != WF__STATE && n->op != WF__NEXT)
            from = in->packet_n;
        wf__packet *p = is_part(in, n) ? open_packet(in, n, from) : NULL;
        if (!p)
            continue;
        uint32_t id = (uint32_t)(p - in->packet);
        if (!p->n)
            at[id] = (span){ i, i };
        at[id].last = i;
        p->part[p->n++] = r;
        packet[r] = id + 1;
    }
}

bool wf__find_packets(wf__inst *in)
{
    bool records = false, rows = !in->safe && in->f->rows > 1;
    for (uint32_t s = 0; s < in->ir->slot_n; s++)
        records |= in->ir->slot[s].record || (rows && wf__is_crossed(&in->ir->slot[s]));
    if (!records || in->g->width < 2)
        return true;
    size_t n = in->ir->n;
    in->packet = wf__alloc(MOST_OPEN * sizeof *in->packet);
    in->packet_of = wf__alloc0(n * sizeof *in->packet_of);
    uint32_t *place = wf__alloc0(n * sizeof *place), *packet = wf__alloc0(n * sizeof *packet);
    span *at = wf__alloc(MOST_OPEN * sizeof *at);
    bool ok = in->packet && in->packet_of && place && packet && at;
    if (ok)
        gather_parts(in, at, packet, place);
    bool stays[MOST_OPEN] = { false }, again = ok;
    while (again) {
        again = false;
        for (uint32_t p = 0; p < in->packet_n; p++)
            if (!stays[p] && in->packet[p].n > 1 && !may_move(in, p, at, packet, place, stays))
                stays[p] = again = true;
    }
    for (uint32_t p = 0; ok && p < in->packet_n; p++) {
        wf__packet *own = &in->packet[p];
        own->at = in->order[wf__at(in->ir, own->part[0])->op == WF__LOAD ? at[p].first : at[p].last];
        for (uint32_t i = 0; i < own->n && own->n > 1 && !stays[p]; i++)
            in->packet_of[own->part[i]] = p + 1;
    }
    wf__free(place);
    wf__free(packet);
    wf__free(at);
    return ok;
}

/* ---- pieces ---- */
typedef struct moving { /* a packet in emission, its parts in ascending order */
    wf__inst *in;
    wf__gen *g;
    wf__packet p;
    int64_t part[WF__MOST_PARTS];
    unsigned dtype, size;
    val pointer[WF__LANES]; /* of part[0], in every lane */
} moving;

static moving move(wf__inst *in, const wf__packet *p)
{
    moving m = { .in = in, .g = in->g, .p = *p, .dtype = wf__at(in->ir, p->part[0])->dtype };
    m.size = wf__size(m.dtype);
    for (uint32_t i = 0; i < p->n; i++) {
        wf__ref r = p->part[i];
        int64_t part = part_of(in->ir, wf__at(in->ir, r));
        uint32_t k = i;
        for (; k > 0 && m.part[k - 1] > part; k--) {
            m.part[k] = m.part[k - 1];
            m.p.part[k] = m.p.part[k - 1];
        }
        m.part[k] = part;
        m.p.part[k] = r;
    }
    return m;
}

typedef struct piece { /* of a record: `held` elements from part `first` on, the wanted ones among them `n` parts */
    uint32_t first, n;
    int held; /* a power of two */
    bool masked;
} piece;

static bool is_wanted(const moving *m, const piece *c, int k)
{
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (m->part[i] == m->part[c->first] + k)
            return true;
    return false;
}

/* Or of rows of a tile, whose lines stay in the nearest cache meanwhile? */
static bool in_record(const moving *m) { return m->in->ir->slot[wf__at(m->in->ir, m->p.part[0])->a].record > 0; }

/* The piece that begins with part `first`. `spare`: elements below this one may be touched, wanted or not; -1: none. */
static piece cut(const moving *m, uint32_t first, int64_t spare, bool masks)
{
    int bytes = m->g->options->target->vector_bits / 8, most_bytes = in_record(m) ? PIECE : ROW_PIECE;
    int held_most = (bytes < most_bytes ? bytes : most_bytes) / (int)m->size;
    int most = held_most < m->g->width ? held_most : m->g->width;
    int64_t begin = m->part[first];
    piece c = { .first = first, .n = 1, .held = 1 };
    for (int held = 2; held <= most; held *= 2) {
        uint32_t n = 1;
        bool all = true;
        while (first + n < m->p.n && m->part[first + n] < begin + held) {
            all = all && m->part[first + n] == begin + n;
            n++;
        }
        bool whole = all && n == (uint32_t)held, free = begin + held <= spare;
        if (n > c.n && (whole || free || masks))
            c = (piece){ first, n, held, !whole && !free };
    }
    return c;
}

static val piece_mask(const moving *m, const piece *c)
{
    val lane[PIECE];
    for (int k = 0; k < c->held; k++)
        lane[k] = wf__gen_int(m->g, m->g->i1, 1, is_wanted(m, c, k));
    return m->g->L->ConstVector(lane, (unsigned)c->held);
}

static val piece_pointer(const moving *m, const piece *c, int l)
{
    int64_t bytes = (m->part[c->first] - m->part[0]) * m->size;
    return bytes ? g_gep(m->g, m->g->i8, m->pointer[l], g_i64(m->g, bytes)) : m->pointer[l];
}

static val load_piece(const moving *m, const piece *c, val p)
{
    wf__gen *g = m->g;
    LLVMTypeRef type = wf__gen_memory_type(g, m->dtype, c->held);
    if (c->masked)
        return wf__load_masked(g, type, p, wf__align(m->dtype), piece_mask(m, c), g->L->ConstNull(type));
    val v = g_load(g, type, p);
    g->L->SetAlignment(v, wf__align(m->dtype));
    return v;
}

static void store_piece(const moving *m, const piece *c, val p, val v)
{
    wf__gen *g = m->g;
    if (c->masked)
        wf__store_masked(g, v, p, wf__align(m->dtype), piece_mask(m, c));
    else
        g->L->SetAlignment(g->L->BuildStore(g->b, v, p), wf__align(m->dtype));
}

/* ---- transposition ---- A register has blocks of `held` elements. Before, block q of vector k is the piece of lane
 * q * held + k; after, element e of block q of vector k is element k of lane q * held + e. The same network does
 * both ways: log2(held) times, vector k and vector k + held/2 are interleaved, low halves of blocks and high halves. */
static val interleave(wf__gen *g, val a, val b, int lanes, int held, bool high)
{
    val lane[WF__LANES];
    for (int e = 0; e < lanes; e++) {
        int start = e / held * held, within = e % held;
        lane[e] = g_i32(g, start + within / 2 + (high ? held / 2 : 0) + (within % 2 ? lanes : 0));
    }
    return g->L->BuildShuffleVector(g->b, a, b, g->L->ConstVector(lane, (unsigned)lanes), "");
}

static void transpose(wf__gen *g, val *v, int lanes, int held)
{
    val w[PIECE];
    for (int s = 1; s < held; s *= 2) {
        for (int k = 0; k < held / 2; k++) {
            w[2 * k] = interleave(g, v[k], v[k + held / 2], lanes, held, false);
            w[2 * k + 1] = interleave(g, v[k], v[k + held / 2], lanes, held, true);
        }
        memcpy(v, w, (size_t)held * sizeof *v);
    }
}

/* `n` vectors of `each` elements, a power of two of them, as one. */
static val concatenate(wf__gen *g, val *v, int n, int each)
{
    val lane[WF__LANES];
    for (; n > 1; n /= 2, each *= 2) {
        for (int e = 0; e < 2 * each; e++)
            lane[e] = g_i32(g, e);
        for (int k = 0; k < n / 2; k++)
            v[k] = g->L->BuildShuffleVector(g->b, v[2 * k], v[2 * k + 1], g->L->ConstVector(lane, (unsigned)(2 * each)),
                                            "");
    }
    return v[0];
}

static val slice(wf__gen *g, val v, int from, int n, int of)
{
    val lane[WF__LANES];
    if (n == of)
        return v;
    for (int e = 0; e < n; e++)
        lane[e] = g_i32(g, from + e);
    return g->L->BuildShuffleVector(g->b, v, g->L->GetPoison(g->L->TypeOf(v)), g->L->ConstVector(lane, (unsigned)n),
                                    "");
}

/* Lanes that are transposed together: what a register holds. */
static int lanes_together(const moving *m, int held)
{
    int lanes = m->g->options->target->vector_bits / 8 / (int)m->size;
    lanes = lanes > held ? lanes : held;
    return lanes < m->g->width ? lanes : m->g->width;
}

/* From pieces, one for each lane, to vectors of all lanes: out[k]: element k of the piece. */
static void to_lanes(const moving *m, int held, const val *piece_of, val *out)
{
    wf__gen *g = m->g;
    int w = g->width, lanes = lanes_together(m, held), parts = w / lanes;
    val vector[PIECE][WF__LANES];
    for (int part = 0; part < parts; part++) {
        val v[PIECE];
        for (int k = 0; k < held; k++) {
            val row[WF__LANES];
            for (int q = 0; q < lanes / held; q++)
                row[q] = piece_of[part * lanes + q * held + k];
            v[k] = concatenate(g, row, lanes / held, held);
        }
        transpose(g, v, lanes, held);
        for (int k = 0; k < held; k++)
            vector[k][part] = v[k];
    }
    for (int k = 0; k < held; k++)
        out[k] = concatenate(g, vector[k], parts, lanes);
}

/* The other way. in[k] may be NULL: anything. */
static void to_pieces(const moving *m, int held, const val *in, val *piece_of)
{
    wf__gen *g = m->g;
    int w = g->width, lanes = lanes_together(m, held);
    for (int from = 0; from < w; from += lanes) {
        val v[PIECE];
        for (int k = 0; k < held; k++)
            v[k] = in[k] ? slice(g, in[k], from, lanes, w) : g->L->GetPoison(wf__gen_memory_type(g, m->dtype, lanes));
        transpose(g, v, lanes, held);
        for (int k = 0; k < held; k++)
            for (int q = 0; q < lanes / held; q++)
                piece_of[from + q * held + k] = slice(g, v[k], q * held, held, lanes);
    }
}

/* Values as they are in memory; those that are not wanted NULL. */
static void values_of(const moving *m, const piece *c, const val *value, val out[PIECE])
{
    for (int k = 0; k < c->held; k++)
        out[k] = NULL;
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        out[m->part[i] - m->part[c->first]] = value[i];
}

/* ---- loads and stores ---- */
/* The same place, `bytes` further. */
static wf__where further(const moving *m, const wf__where *at, uint32_t part)
{
    wf__where r = *at;
    r.base = g_gep(m->g, m->g->i8, at->base, g_i64(m->g, (m->part[part] - m->part[0]) * m->size));
    return r;
}

void wf__emit_packet_load(wf__inst *in, const wf__packet *packet)
{
    wf__gen *g = in->g;
    moving m = move(in, packet);
    const wf__node *n = wf__at(in->ir, m.p.part[0]);
    val mapped[WF_MAX_RANK], piece_of[WF__LANES], out[PIECE];
    bool wide[WF_MAX_RANK] = { false };
    wf__guard guard = { 0 };
    bool bordered = n->aux != WF_BORDER_NONE;
    if (bordered)
        wf__border(in, n, &guard, mapped, wide);
    val mask = wf__load_mask(in, n, &guard), nowhere = mask ? wf__frame_nowhere(in->f) : NULL;
    wf__where at = wf__address(in, n->a, n->b, bordered ? mapped : NULL, wide);
    bool ready = false;
    for (uint32_t i = 0; i < m.p.n;) {
        piece c = cut(&m, i, in->ir->slot[n->a].record, wf__has_masked(g, m.dtype));
        if (c.held > 1) {
            if (!ready)
                wf__far_pointers(in, m.dtype, &at, mask, m.pointer);
            ready = true;
            for (int l = 0; l < g->width; l++)
                piece_of[l] = load_piece(&m, &c, piece_pointer(&m, &c, l));
            to_lanes(&m, c.held, piece_of, out);
        }
        for (; i < c.first + c.n; i++) {
            wf__ref r = m.p.part[i];
            val other = mask ? wf__outside(in, wf__at(in->ir, r)) : NULL, v;
            wf__where own = further(&m, &at, i);
            v = c.held > 1 ? out[m.part[i] - m.part[c.first]] : wf__load_vector(g, m.dtype, &own, mask, other, nowhere);
            if (mask && c.held > 1)
                v = g_select(g, mask, v, other);
            in->vector[r] = wf__from_memory(g, m.dtype, g->width, v);
        }
    }
}

void wf__emit_packet_store(wf__inst *in, const wf__packet *packet)
{
    wf__gen *g = in->g;
    moving m = move(in, packet);
    const wf__node *n = wf__at(in->ir, m.p.part[0]);
    val value[WF__MOST_PARTS], piece_of[WF__LANES], v[PIECE], mask = wf__effect_mask(in, n->d);
    for (uint32_t i = 0; i < m.p.n; i++)
        value[i] = wf__to_memory(g, m.dtype, g->width, wf__inst_vector(in, wf__at(in->ir, m.p.part[i])->c));
    wf__where at = wf__address(in, n->a, n->b, NULL, NULL);
    bool ready = false;
    for (uint32_t i = 0; i < m.p.n;) {
        piece c = cut(&m, i, -1, wf__has_masked(g, m.dtype));
        if (c.held == 1) {
            wf__where own = further(&m, &at, i);
            wf__store_vector(in, m.dtype, &own, mask, value[i]);
        } else {
            if (!ready)
                wf__far_pointers(in, m.dtype, &at, mask, m.pointer);
            ready = true;
            values_of(&m, &c, value, v);
            to_pieces(&m, c.held, v, piece_of);
            for (int l = 0; l < g->width; l++)
                store_piece(&m, &c, piece_pointer(&m, &c, l), piece_of[l]);
        }
        i += c.n;
    }
}

/* ---- accumulation: nobody else is there, lanes come one after the other ---- */
static void change_pointers(moving *m, wf__change *u)
{
    wf__inst *in = m->in;
    wf__gen *g = m->g;
    if (!in->ir->slot[u->n->a].spread) {
        u->at = wf__address(in, u->n->a, u->n->b, NULL, NULL);
        wf__far_pointers(in, m->dtype, &u->at, u->mask, m->pointer);
        return;
    }
    val base, offset = wf__private_offsets(u, &base);
    if (u->mask)
        offset = g_select(g, u->mask, offset, wf__gen_int(g, g->i32, g->width, 0));
    for (int l = 0; l < g->width; l++)
        m->pointer[l] = wf__private_lane(u, base, offset, l);
}

void wf__emit_packet_update(wf__inst *in, const wf__packet *packet)
{
    wf__gen *g = in->g;
    moving m = move(in, packet);
    wf__change u = wf__change_of(in, m.p.part[0]);
    val value[WF__MOST_PARTS], piece_of[WF__LANES], v[PIECE];
    for (uint32_t i = 0; i < m.p.n; i++) {
        val x = wf__inst_vector(in, wf__at(in->ir, m.p.part[i])->c);
        value[i] = wf__to_memory(g, m.dtype, g->width, wf__neutral_where_off(&u, u.mask, x));
    }
    bool ready = false;
    for (uint32_t i = 0; i < m.p.n;) {
        piece c = cut(&m, i, -1, false);
        if (c.held == 1) {
            wf__emit_update(in, m.p.part[i]);
        } else {
            if (!ready)
                change_pointers(&m, &u);
            ready = true;
            values_of(&m, &c, value, v);
            to_pieces(&m, c.held, v, piece_of);
            for (int l = 0; l < g->width; l++) {
                val p = piece_pointer(&m, &c, l), x = wf__from_memory(g, m.dtype, c.held, piece_of[l]);
                store_piece(&m, &c, p, wf__joined(g, u.join, m.dtype, c.held, load_piece(&m, &c, p), x));
            }
        }
        i += c.n;
    }
}
